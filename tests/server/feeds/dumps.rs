//! Positions in dumps, whole and partial ones.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, error, give_to_server, stored, text};

use super::{INSERT, READ, SETUP, next_tick, read};

/// Positions are dumped with the rows, whoever dumps and whoever restores.
#[test]
fn dumps() {
    let (server, elsewhere) =
        (Server::builder().extension(false).start(), Server::builder().extension(false).start());
    server.run("CREATE ROLE alice LOGIN; CREATE ROLE dumper LOGIN IN ROLE pg_read_all_data");
    server.run("CREATE DATABASE source OWNER alice");
    let connect = |server: &Server, user: &str, database: &str| {
        server.config().user(user).dbname(database).connect(sno_tests::postgres::NoTls).unwrap()
    };
    let mut alice = connect(&server, "alice", "source");
    alice.run("CREATE EXTENSION sno");
    alice.run(SETUP);
    alice.run(
        "CREATE TABLE gone (id sno PRIMARY KEY); SELECT sno_create_feed('gone', 'gone'); DROP TABLE gone;
         CREATE TEMP TABLE passing (id sno PRIMARY KEY)",
    );
    // What no call creates.
    connect(&server, "postgres", "source").run(
        "INSERT INTO sno_internal.feed_positions (feed, owner, source, key, margin)
             SELECT relname, 'alice', oid, 'id', '1 s' FROM pg_class WHERE relname IN ('passing', 'items_pkey')",
    );
    alice.run(&format!("{INSERT} (1), (2)"));
    assert_eq!(read(&mut alice), "1 2");
    alice.run(&format!("{INSERT} (3)"));
    elsewhere.run("CREATE ROLE carol LOGIN");
    let folder = tempfile::Builder::new().prefix("dump").tempdir_in(server.socket_folder()).unwrap();
    give_to_server(folder.path());
    for (number, (dumper, restorer, server_to)) in [
        ("alice", "alice", &server),
        ("dumper", "alice", &server),
        ("postgres", "postgres", &server),
        ("postgres", "postgres", &elsewhere),
        ("dumper", "carol", &elsewhere),
    ]
    .into_iter()
    .enumerate()
    {
        let file = folder.path().join(number.to_string());
        let run = |server: &Server, user: &str, program: &str, arguments: &[&str]| {
            let output = server.command(program).env("PGUSER", user).args(arguments).output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() && errors.is_empty(),
                "{program} {arguments:?} by {user}: {errors}"
            );
        };
        let file = file.to_str().unwrap();
        run(&server, dumper, "pg_dump", &["-d", "source", "--format", "custom", "--file", file]);
        let target = format!("target{number}");
        server_to.run(&format!("CREATE DATABASE {target} OWNER {restorer}"));
        let mut arguments = vec!["-d", &target, "--exit-on-error", file];
        if !std::ptr::eq(server_to, &server) {
            arguments.extend(["--no-owner", "--no-privileges"]);
        }
        run(server_to, restorer, "pg_restore", &arguments);
        let mut client = connect(server_to, restorer, &target);
        assert_eq!(text(&mut client, "SELECT string_agg(feed, ' ') FROM sno_feeds()"), "feed");
        assert_eq!(read(&mut client), "3", "{dumper}, {restorer}");
        client.run("SELECT sno_drop_feed('feed')");
    }
}

/// The database `source` of a server, its dumps, and the databases that they are restored to.
struct Dumps {
    server: Server,
    folder: tempfile::TempDir,
    count: usize,
}

impl Dumps {
    fn new() -> Self {
        let server = Server::builder().extension(false).start();
        let folder = tempfile::Builder::new().prefix("dump").tempdir_in(server.socket_folder()).unwrap();
        give_to_server(folder.path());
        server.run("CREATE DATABASE source");
        Self { server, folder, count: 0 }
    }

    /// Runs a program that has nothing to complain of.
    fn run(&self, program: &str, arguments: &[&str]) {
        let output = self.server.command(program).args(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{program} {arguments:?}: {errors}");
    }

    /// Restores a dump to a new database with what `before` has put into it. Returns the name of the database and the file of the dump.
    fn restore(&mut self, dump: &[&str], before: &str, restore: &[&str]) -> (String, String) {
        self.count += 1;
        let target = format!("target{}", self.count);
        let file = self.folder.path().join(&target).to_str().unwrap().to_owned();
        self.run("pg_dump", &[&["-d", "source", "-F", "custom", "-f", &file], dump].concat());
        self.server.run(&format!("CREATE DATABASE {target}"));
        self.server.connect_to(&target).run(before);
        self.run("pg_restore", &[&["-d", &target, "--exit-on-error"], restore, &[&file]].concat());
        (target, file)
    }
}

/// Each feed is found again by the name that its source had when it was dumped, whatever else is missing.
#[test]
fn partial_restores() {
    let mut dumps = Dumps::new();
    let tables = "CREATE SCHEMA logs;
        CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
        CREATE TABLE logs.entries (LIKE items INCLUDING ALL);
        CREATE TABLE after (LIKE items INCLUDING ALL); CREATE TABLE \"Old 'one'\" (LIKE items INCLUDING ALL);
        CREATE TABLE swapped (LIKE items INCLUDING ALL)";
    // Feeds, with what they read now, and then.
    let feeds = [
        ("items", "items", "items"),
        ("entries", "logs.entries", "logs.entries"),
        ("renamed", "before", "after"),
        ("swapped", "swapped", "\"Old 'one'\""),
    ];
    let create = |feed: &str, source: &str, since: &str| {
        format!("SELECT sno_create_feed('{feed}', '{}'{since}, margin => '0');", source.replace('\'', "''"))
    };
    let mut client = dumps.server.connect_to("source");
    client.run("CREATE EXTENSION sno");
    // With the names of before.
    client.run(
        &tables
            .replace("TABLE after", "TABLE before")
            .replace("swapped", "n")
            .replace("\"Old 'one'\"", "swapped"),
    );
    client.run(
        "INSERT INTO items (n) VALUES (1), (2); INSERT INTO logs.entries TABLE items; INSERT INTO before TABLE items; INSERT INTO swapped TABLE items",
    );
    next_tick();
    for (feed, source, _) in feeds {
        client.run(&create(feed, source, ""));
        client.run(&stored(&format!("SELECT FROM sno_feed('{feed}', NULL::{source})")));
    }
    client.run(
        "INSERT INTO items (n) VALUES (3); INSERT INTO logs.entries SELECT * FROM items WHERE n = 3;
         INSERT INTO before SELECT * FROM items WHERE n = 3; INSERT INTO swapped SELECT * FROM items WHERE n = 3;
         ALTER TABLE before RENAME TO after;
         ALTER TABLE swapped RENAME TO \"Old 'one'\"; ALTER TABLE n RENAME TO swapped",
    );
    let migrations = |since: &str| {
        let feeds: String = feeds.iter().map(|(feed, _, source)| create(feed, source, since)).collect();
        format!("CREATE EXTENSION sno; {tables}; {feeds}")
    };
    // Rows that are restored alone do not have the keys of their transaction.
    let disabled: String = { feeds.iter() }
        .map(|(.., source)| format!("ALTER TABLE {source} DISABLE TRIGGER sno_own_keys;"))
        .collect();
    for (dump, before, restore, missing) in [
        (&[][..], String::new(), &[][..], false),
        (&[], String::new(), &["-j", "2"], false),
        (&["--rows-per-insert=2"], String::new(), &[], false),
        (&["-N", "logs"], String::new(), &[], true),
        (&["-T", "logs.entries"], String::new(), &[], true),
        (&[], String::new(), &["-N", "logs"], true),
        (&["-a"], migrations("") + &disabled, &[], false),
        (&["-a"], migrations(", now()") + &disabled, &[], false),
        (&["-a"], migrations(", refuse_old_keys => false"), &[], false),
        (&["-a"], format!("CREATE EXTENSION sno; {tables}"), &["--disable-triggers"], false),
    ] {
        let (target, file) = dumps.restore(dump, &before, restore);
        let mut client = dumps.server.connect_to(&target);
        if missing {
            assert_eq!(
                code(&mut client, "CREATE TABLE t (); SELECT FROM sno_feed('entries', NULL::t)"),
                "42P01"
            );
            assert_eq!(text(&mut client, "SELECT count(*) FROM sno_feeds() WHERE source IS NULL"), "1");
            // It goes on once it is there.
            dumps.run("pg_dump", &["-d", "source", "-F", "custom", "-f", &file, "-n", "logs"]);
            client.run("DROP SCHEMA IF EXISTS logs CASCADE");
            dumps.run("pg_restore", &["-d", &target, "--exit-on-error", &file]);
        }
        for (feed, _, source) in feeds {
            let call = format!("SELECT string_agg(n::text, ' ') FROM sno_feed('{feed}', NULL::{source})");
            assert_eq!(text(&mut client, &stored(&call)), "3", "{feed} {dump:?} {restore:?} {before}");
        }
    }
}

/// A dump of a table or a schema has the feed if the positions are named, too. Otherwise the first read says so, and who creates the feed again is
/// told that all rows come.
#[test]
fn dumps_of_single_tables() {
    let mut dumps = Dumps::new();
    let mut client = dumps.server.connect_to("source");
    let read = |client: &mut Client| {
        next_tick();
        text(client, &stored("SELECT string_agg(n::text, ' ') FROM sno_feed('feed', NULL::app.items)"))
    };
    client.run(
        "CREATE EXTENSION sno; CREATE SCHEMA app; CREATE TABLE app.items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
         SELECT sno_create_feed('feed', 'app.items', margin => '0'); INSERT INTO app.items (n) VALUES (1), (2)",
    );
    assert_eq!(read(&mut client), "1 2");
    client.run("INSERT INTO app.items (n) VALUES (3)");
    for (dump, before, has_feed) in [
        (&["-t", "app.items"][..], "CREATE EXTENSION sno; CREATE SCHEMA app", false),
        (&["-n", "app"], "CREATE EXTENSION sno", false),
        (
            &["-t", "app.items", "-t", "sno_internal.feed_positions"],
            "CREATE EXTENSION sno; CREATE SCHEMA app",
            true,
        ),
        (&["-n", "app", "-e", "sno"], "", true),
    ] {
        let (target, _) = dumps.restore(dump, before, &[]);
        let mut client = dumps.server.connect_to(&target);
        if has_feed {
            assert_eq!(read(&mut client), "3", "{dump:?}");
            continue;
        }
        let refused = error(&mut client, "SELECT * FROM sno_peek_feed('feed', NULL::app.items)");
        assert_eq!(refused.code().code(), "42704");
        assert!(refused.hint().unwrap().contains("lacks feeds"), "{refused:?}");
        let told = |call: &str| {
            let told = dumps.server.psql(&format!("\\c {target}\nSELECT sno_create_feed({call})"));
            String::from_utf8(told.stderr).unwrap()
        };
        let again = told("'feed', 'app.items', if_not_exists => true");
        let begins = "NOTICE:  feed \"feed\" begins with the rows that \"app.items\" has already";
        assert!(again.starts_with(begins), "{again}");
        assert_eq!(told("'next', 'app.items', since => now()"), "");
    }
}

/// Restores a dump to another database, of the same server or of another one. Returns what that tells.
fn to_target(server: &Server, restorer: &Server) -> String {
    let dumped = server.command("pg_dump").args(["-d", "postgres"]).output().unwrap();
    assert!(dumped.status.success());
    restorer.run("CREATE DATABASE target");
    let file = tempfile::Builder::new().tempfile_in(restorer.socket_folder()).unwrap();
    std::fs::write(file.path(), dumped.stdout).unwrap();
    give_to_server(file.path());
    let file = file.path().to_str().unwrap();
    let restored = restorer.command("psql").args(["-d", "target", "-q", "-f", file]).output().unwrap();
    String::from_utf8(restored.stderr).unwrap()
}

/// The clock is set back after a restore, and before the feed is read: inserts wait, as if it had been read, and no row is missed. On the same
/// server, since a new database begins where others were read; on another one by the restore alone.
#[test]
fn restored_before_the_clock_is_set_back() {
    let server = Server::builder().faketime(true).start();
    let mut client = server.connect();
    client.run(&format!("{SETUP} {INSERT} (0)"));
    server.advance_clock(60.0);
    client.run(&format!("{INSERT} (1)"));
    server.advance_clock(0.01);
    assert_eq!(text(&mut client, READ), "0 1");
    let elsewhere = Server::builder().faketime(true).start();
    elsewhere.run("SELECT sno_new()");
    elsewhere.advance_clock(61.0);
    for restorer in [&server, &elsewhere] {
        assert_eq!(to_target(&server, restorer), "");
        restorer.advance_clock(-30.0);
        let mut target = restorer.connect_to("target");
        assert_eq!(code(&mut target, &format!("{INSERT} (2)")), "55000");
        let told = restorer.psql("\\c target\nSELECT sno_lower_horizon()").stderr;
        let told = String::from_utf8(told).unwrap();
        assert!(told.starts_with("WARNING:  feed \"feed\" of role \"postgres\" goes back from \""), "{told}");
        target.run(&format!("{INSERT} (2)"));
        restorer.advance_clock(0.01);
        assert_eq!(text(&mut target, READ), "2");
    }
}

/// A position that is ahead of the clock of the server that restores it: no row is missed that is inserted there meanwhile.
#[test]
fn restored_by_a_clock_that_is_behind() {
    let server = Server::builder().faketime(true).start();
    let mut client = server.connect();
    client.run(SETUP);
    client.run("INSERT INTO items (n) VALUES (1); INSERT INTO items VALUES (sno_new(1) , 2)");
    assert_eq!(read(&mut client), "1 2");
    // As a server whose clock is a minute ahead would have it: longer than a restore takes on any machine.
    client.run(
        "UPDATE sno_internal.feed_positions SET position = sno_upper(clock_timestamp() + interval '1 min')",
    );
    let told = to_target(&server, &server);
    assert!(
        told.contains("WARNING:  feed \"feed\" of role \"postgres\" was read up to \"")
            && told.contains("which is ahead of the clock"),
        "{told}"
    );
    let mut target = server.connect_to("target");
    target.run(&format!("{INSERT} (3)"));
    assert_eq!(read(&mut target), "3");
    server.advance_clock(61.0);
    target.run(&format!("{INSERT} (4)"));
    assert_eq!(read(&mut target), "4");
}
