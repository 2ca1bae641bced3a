//! The errors after which a consumer connects again: one list in all languages, each error as a server raises it.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use sno_tests::postgres::{Client, Config, NoTls};
use sno_tests::{Server, Sql as _, major_version, text, wait_until};

use super::bouncer::Bouncer;
use super::{LOSE, PASSWORD};

const SOURCES: [&str; 4] =
    ["python/sno/consumer.py", "js/consumer.js", "go/snopgx/consumer.go", "rust/src/consumer.rs"];

/// The lines of `states.tsv`.
fn states() -> Vec<Vec<String>> {
    let file = fs::read_to_string(packages().join("states.tsv")).unwrap();
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').map(Into::into).collect()).collect()
}

fn packages() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("packages")
}

#[test]
fn the_same_in_all_languages() {
    let again: Vec<String> = states()
        .into_iter()
        .filter(|line| line[2] == "again" && line[0] != "0A000")
        .map(|line| line[0].clone())
        .collect();
    let statements = [
        format!("\"{}\"", again.join(" ")),
        "SELECT sno_advance_feed(?, ?::sno, ?::regclass)".into(),
        "SELECT sno_fail_feed(?, ?::sno, ?, ?::sno, source => ?::regclass)".into(),
        "CALL sno_wait_feed(?, least(?::interval, 0.8 * nullif(current_setting('statement_timeout')::interval, '0'), \
         0.8 * nullif(current_setting('transaction_timeout', true)::interval, '0')), source => ?::regclass)"
            .into(),
        "format('as role \"%s\" in database \"%s\" of the server at %s, port %s', current_user, current_database(), \
         coalesce(host(inet_server_addr()), 'a socket'), current_setting('port'))"
            .into(),
    ];
    for source in SOURCES {
        let code = fs::read_to_string(packages().join(source)).unwrap().replace("::text", "");
        let mut code = code
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace("'08", "\"08")
            .replace("57P'", "57P\"");
        code = code.replace("%%s", "%s");
        for parameter in ["$1", "$2", "$3", "$4", "$5"] {
            code = code.replace(parameter, "?");
        }
        let is_python = source.ends_with(".py");
        for statement in &statements {
            let statement = if is_python && !statement.contains("format(") {
                statement.replace('?', "%s")
            } else {
                statement.clone()
            };
            assert!(code.contains(&statement), "{source} does not have: {statement}");
        }
    }
}

/// A server's sessions, by themselves or as PgBouncer hands them on.
struct Door<'a> {
    server: &'a Server,
    bouncer: Option<&'a Bouncer>,
}

impl Door<'_> {
    fn connect(&self) -> Client {
        let Some(bouncer) = self.bouncer else { return self.server.connect() };
        let mut config = Config::new();
        config.host_path(bouncer.folder.path()).port(Bouncer::PORT).user("postgres").dbname("postgres");
        config.connect(NoTls).unwrap()
    }
}

/// The SQLSTATE of statements that fail; that of a connection which ends without one is of class 08.
fn raised(client: &mut Client, sql: &str) -> String {
    let error = client.batch_execute(sql).expect_err(sql);
    error.code().map_or("08006", |code| code.code()).to_owned()
}

/// Something that a session does, whose end comes from elsewhere.
fn raised_after(client: &mut Client, begin: &str, change: impl FnOnce()) -> String {
    client.run(begin);
    change();
    thread::sleep(Duration::from_millis(400));
    raised(client, "SELECT 1")
}

/// Each of these errors, as the server raises it.
fn provoke(door: &Door<'_>, state: &str) -> String {
    let (mut one, mut other) = (door.connect(), door.connect());
    match state {
        "0A000" => raised(&mut one, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"),
        "25006" => raised(
            &mut one,
            "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT FROM sno_peek_feed('feed', NULL::events)",
        ),
        "25P03" => {
            raised_after(&mut one, "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '100ms'", || ())
        }
        "25P04" => raised_after(&mut one, "BEGIN; SET LOCAL transaction_timeout = '100ms'", || ()),
        "40001" => raised(
            &mut one,
            "BEGIN; CREATE TEMP TABLE t AS SELECT * FROM sno_feed('feed', NULL::events) UNION ALL SELECT * FROM sno_feed('feed', NULL::events)",
        ),
        "40P01" => {
            one.run("BEGIN; LOCK TABLE a");
            other.run("BEGIN; LOCK TABLE b");
            let waits = thread::spawn(move || one.batch_execute("LOCK TABLE b; COMMIT").err());
            let deadlock = other.batch_execute("LOCK TABLE a; COMMIT").err();
            drop(other);
            let error = deadlock.or(waits.join().unwrap()).expect("a deadlock");
            error.code().unwrap().code().to_owned()
        }
        "53300" => {
            let mut config = door.server.config();
            config.user("nobody").password(PASSWORD);
            config.connect(NoTls).err().unwrap().code().unwrap().code().to_owned()
        }
        "53400" => raised(
            &mut one,
            "BEGIN; SET LOCAL temp_file_limit = 0; SET LOCAL work_mem = 64; SELECT n FROM generate_series(1, 100000) n ORDER BY -n",
        ),
        "55P03" => {
            other.run("BEGIN; LOCK TABLE a");
            raised(&mut one, "BEGIN; SET LOCAL lock_timeout = '100ms'; LOCK TABLE a")
        }
        "57014" => raised(&mut one, "BEGIN; SET LOCAL statement_timeout = '100ms'; SELECT pg_sleep(9)"),
        "57P01" => raised_after(&mut one, "BEGIN", || door.server.connect().run(LOSE)),
        "57P02" => {
            let pid = text(&mut other, "SELECT pg_backend_pid()").parse().unwrap();
            raised_after(&mut one, "BEGIN", || door.server.crash_backend(pid))
        }
        "57P05" => raised_after(&mut one, "SET idle_session_timeout = '100ms'", || ()),
        _ => panic!("how {state} is raised"),
    }
}

#[test]
fn each_as_a_server_raises_it() {
    let server = Server::builder().tcp(true).start();
    server.run(&format!(
        "CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1)); INSERT INTO events DEFAULT VALUES; CREATE TABLE a (); CREATE TABLE b ();
         SELECT sno_create_feed('feed', 'events', margin => '0'); CREATE ROLE nobody LOGIN PASSWORD '{PASSWORD}' CONNECTION LIMIT 0"
    ));
    let list = states();
    let is_listed = |state: &str| list.iter().any(|line| !line[0].is_empty() && state.starts_with(&line[0]));
    let standby = server.standby();
    server.wait_replayed(&standby);
    for state in ["0A000", "25006"] {
        assert_eq!(provoke(&Door { server: &standby, bouncer: None }, state), state);
    }
    let mut states = vec!["25P03", "40001", "40P01", "53300", "53400", "55P03", "57014", "57P01", "57P02"];
    if major_version(&mut server.connect()) >= 17 {
        states.push("25P04");
    }
    // Its sessions are not idle for anybody else.
    assert_eq!(provoke(&Door { server: &server, bouncer: None }, "57P05"), "57P05");
    let bouncer = Bouncer::start(&server);
    for state in states {
        let ready = || server.config().connect(NoTls).is_ok();
        let raised = provoke(&Door { server: &server, bouncer: None }, state);
        // After a crash, the connection can end before its error comes.
        assert!(raised == state || state == "57P02" && is_listed(&raised), "{state} comes as {raised}");
        wait_until("the server is up", ready);
        if let Some(bouncer) = &bouncer {
            // It has errors of its own for connections that it has lost.
            let raised = provoke(&Door { server: &server, bouncer: Some(bouncer) }, state);
            assert!(is_listed(&raised), "{state} comes as {raised}");
            wait_until("the server is up", ready);
        }
    }
}
