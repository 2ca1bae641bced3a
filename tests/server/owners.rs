//! Whose a feed is: after restores under other roles, after roles and owners of tables have changed, and between tenants of a database.

use sno_tests::postgres::{Client, NoTls};
use sno_tests::{Server, Sql as _, code, give_to_server, next_tick, stored, text};

/// A table with a feed, and one whose changes are tracked, with a feed of these.
const TABLES: &str = "
    CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(), n integer);
    CREATE TABLE parts (id sno PRIMARY KEY DEFAULT sno_new(), n integer) PARTITION BY RANGE (id);
    CREATE TABLE all_parts PARTITION OF parts DEFAULT;
    CREATE TABLE items (id integer PRIMARY KEY, n integer);
    SELECT sno_track_changes('items');
    SELECT sno_create_feed('events', 'events', margin => '0'), sno_create_feed('parts', 'parts', margin => '0'),
        sno_create_feed('items', 'items_changes', key => 'changed', margin => '0');
    INSERT INTO events (n) VALUES (1), (2); INSERT INTO parts (n) VALUES (1), (2); INSERT INTO items VALUES (1, 1), (2, 2)";

/// What each feed returns.
const READ: [&str; 3] = [
    "SELECT string_agg(n::text, ' ') FROM sno_feed('events', NULL::events, 1)",
    "SELECT string_agg(n::text, ' ') FROM sno_feed('parts', NULL::parts, 1)",
    "SELECT string_agg(id::text, ' ') FROM sno_feed('items', NULL::items_changes, 1)",
];

/// Whoever this session is can read, move and drop all feeds, delete what was read, and stop to track the changes.
#[track_caller]
fn owns_all(client: &mut Client) {
    next_tick();
    for query in READ {
        assert_eq!(text(client, &stored(query)), "2", "{query}");
    }
    client.run("DELETE FROM events WHERE id <= sno_read_by_all('events'); DELETE FROM parts WHERE id <= sno_read_by_all('parts')");
    assert_eq!(text(client, "SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM parts)"), "0");
    assert_eq!(text(client, "SELECT sno_forget_changes('items')"), "2");
    client.run("SELECT sno_seek_feed(feed, '-infinity') FROM sno_feeds()");
    client.run("SELECT sno_drop_feed(feed, owner) FROM sno_feeds(); SELECT sno_untrack_changes('items')");
    assert_eq!(text(client, "SELECT count(*) FROM sno_feeds()"), "0");
}

/// A database of a role, with all that the tests need, of which the first row of each feed was read.
fn database(server: &Server, name: &str, role: &str) -> Client {
    server.run(&format!("CREATE DATABASE {name} OWNER {role}"));
    let mut client = session(server, name, role);
    client.run("CREATE EXTENSION sno");
    client.run(TABLES);
    next_tick();
    for query in READ {
        assert_eq!(text(&mut client, &stored(query)), "1", "{query}");
    }
    client
}

fn session(server: &Server, name: &str, role: &str) -> Client {
    server.config().user(role).dbname(name).connect(NoTls).unwrap()
}

/// As on a server that has a staging copy beside production: the role of the dump exists.
#[test]
fn restores_under_another_role() {
    let server = Server::builder().start();
    server.run("CREATE ROLE alice LOGIN; CREATE ROLE staging LOGIN");
    database(&server, "production", "alice");
    let folder = tempfile::Builder::new().prefix("dump").tempdir_in(server.socket_folder()).unwrap();
    give_to_server(folder.path());
    let file = folder.path().join("dump").to_str().unwrap().to_owned();
    let run = |program: &str, arguments: &[&str]| {
        let output = server.command(program).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    run("pg_dump", &["-U", "alice", "-Fc", "-d", "production", "-f", &file]);
    for (copy, role) in [("other_role", "staging"), ("same_role", "alice")] {
        server.run(&format!("CREATE DATABASE {copy} OWNER {role}"));
        run("pg_restore", &["-U", role, "--no-owner", "--exit-on-error", "-d", copy, &file]);
        owns_all(&mut session(&server, copy, role));
    }
    // The role is not there, and the extension belongs to another role than the tables.
    server.run("CREATE ROLE tables LOGIN; ALTER ROLE alice RENAME TO former");
    server.run("CREATE DATABASE divided");
    let mut divided = server.connect_to("divided");
    divided.run("CREATE EXTENSION sno; GRANT ALL ON SCHEMA public TO tables; GRANT INSERT ON sno_internal.feed_positions TO tables");
    let output = server
        .command("pg_restore")
        .args(["-U", "tables", "--no-owner", "-d", "divided", &file])
        .output()
        .unwrap();
    assert_eq!(
        text(&mut divided, "SELECT count(*) FROM sno_feeds() WHERE owner = 'alice' AND source IS NOT NULL"),
        "3",
        "{output:?}"
    );
    owns_all(&mut session(&server, "divided", "tables"));
}

#[test]
fn roles_and_owners_that_change() {
    let server = Server::builder().start();
    server.run("CREATE ROLE alice LOGIN; CREATE ROLE next LOGIN");
    let cases = [
        ("reassigned", "REASSIGN OWNED BY alice TO next; DROP OWNED BY alice; ALTER DATABASE reassigned OWNER TO next; DROP ROLE alice", "next"),
        ("renamed", "ALTER ROLE alice RENAME TO alicia", "alicia"),
        ("owner", "ALTER TABLE events OWNER TO next; ALTER TABLE parts OWNER TO next; ALTER TABLE items OWNER TO next; ALTER TABLE items_log OWNER TO next;
            ALTER VIEW items_changes OWNER TO next", "next"),
    ];
    for (name, change, role) in cases {
        server.run("DO $$ BEGIN IF to_regrole('alice') IS NULL THEN CREATE ROLE alice LOGIN; END IF; END $$");
        drop(database(&server, name, "alice"));
        server.connect_to(name).run(change);
        owns_all(&mut session(&server, name, role));
    }
    // A table that has changed its owner alone: the error says what to change as well.
    server.run("DO $$ BEGIN IF to_regrole('alice') IS NULL THEN CREATE ROLE alice LOGIN; END IF; END $$");
    drop(database(&server, "alone", "alice"));
    server.connect_to("alone").run("ALTER TABLE items OWNER TO next");
    assert_eq!(code(&mut session(&server, "alone", "next"), "SELECT sno_untrack_changes('items')"), "55000");
    // The tables are gone with their role: who owns the extension drops the feeds.
    drop(database(&server, "dropped", "alice"));
    server.connect_to("dropped").run("ALTER DATABASE dropped OWNER TO next; REASSIGN OWNED BY next TO next");
    let mut dropped = server.connect_to("dropped");
    dropped.run("CREATE ROLE heir LOGIN; UPDATE pg_extension SET extowner = 'heir'::regrole WHERE extname = 'sno'; DROP TABLE items, events, parts CASCADE");
    session(&server, "dropped", "heir").run("SELECT sno_drop_feed(feed, owner) FROM sno_feeds()");
    assert_eq!(text(&mut dropped, "SELECT count(*) FROM sno_feeds()"), "0");
}

/// A feed of a table that a role cannot read is not created. Who owns the table sees those of others, and drops them.
#[test]
fn a_role_without_rights_holds_nothing_back() {
    let server = Server::builder().start();
    server.run(
        "CREATE ROLE owner1 LOGIN; CREATE ROLE tenant LOGIN; CREATE ROLE other LOGIN;
         CREATE SCHEMA o AUTHORIZATION owner1; CREATE SCHEMA ten AUTHORIZATION tenant; GRANT USAGE ON SCHEMA o TO tenant; GRANT USAGE ON SCHEMA ten TO other;
         ALTER ROLE owner1 SET search_path = o, public",
    );
    let (mut owner, mut tenant, mut other) =
        (server.connect_as("owner1"), server.connect_as("tenant"), server.connect_as("other"));
    owner.run(TABLES);
    next_tick();
    for read in
        ["SELECT FROM sno_feed('events', NULL::events)", "SELECT FROM sno_feed('items', NULL::items_changes)"]
    {
        owner.run(&stored(read));
    }
    for create in ["SELECT sno_create_feed('l', 'o.items_log')", "SELECT sno_create_feed('e', 'o.events')"] {
        assert_eq!(code(&mut tenant, create), "42501", "{create}");
    }
    owner.run("GRANT SELECT ON events, items_log TO tenant");
    tenant.run("SELECT sno_create_feed('l', 'o.items_log'), sno_create_feed('e', 'o.events')");
    // With the right to read them, it counts, and the owner of the table sees it.
    let read = "SELECT concat(sno_read_by_all('events') IS NULL, sno_forget_changes('items'), sno_read_by_all('items_log') IS NULL)";
    assert_eq!(text(&mut owner, read), "t0t");
    let readers = "SELECT string_agg(format('%s of %s %s', feed, owner, read IS NULL), ', ' ORDER BY feed) FROM sno_readers('events')";
    assert_eq!(text(&mut owner, readers), "e of tenant t, events of owner1 f");
    assert_eq!(
        text(&mut owner, "SELECT string_agg(feed, ' ' ORDER BY feed) FROM sno_readers('items_log')"),
        "items l"
    );
    // Neither another role, nor the owner of another table.
    for drop in [
        "SELECT sno_drop_feed('e')",
        "SELECT sno_drop_feed('e', 'tenant')",
        "SELECT sno_drop_feed('events', 'owner1')",
    ] {
        assert_eq!(code(&mut other, drop), "42501", "{drop}");
    }
    assert_eq!(code(&mut other, "SELECT sno_drop_feed('e', 'owner1')"), "42704");
    // Nor a member who does not inherit the owner's rights, before SET ROLE.
    server.run("CREATE ROLE lazy LOGIN NOINHERIT IN ROLE owner1");
    assert_eq!(code(&mut server.connect_as("lazy"), "SELECT sno_drop_feed('l', 'tenant')"), "42501");
    owner.run("SELECT sno_drop_feed('l')");
    assert_eq!(text(&mut owner, "SELECT sno_forget_changes('items')"), "2");
    // One that has lost the right is waited for, until it has it again or the owner of the table drops its feeds.
    owner.run("REVOKE SELECT ON events FROM tenant");
    assert_eq!(text(&mut owner, readers), "e of tenant t, events of owner1 f");
    assert_eq!(text(&mut owner, "SELECT sno_read_by_all('events') IS NULL"), "t");
    owner.run("SELECT sno_drop_feed('e', 'tenant')");
    assert_eq!(text(&mut owner, "SELECT sno_read_by_all('events') IS NULL"), "f");
    // Where several roles have a feed of the name, its owner is named.
    owner.run("GRANT USAGE ON SCHEMA o TO other; GRANT SELECT ON events TO other, tenant");
    tenant.run("SELECT sno_create_feed('o', 'o.events')");
    other.run("SELECT sno_create_feed('o', 'o.events')");
    assert_eq!(code(&mut owner, "SELECT sno_drop_feed('o')"), "42P09");
    owner.run("SELECT sno_drop_feed('o', 'tenant'), sno_drop_feed('o', 'other')");
    // No limit is passed where triggers of users do not fire.
    let mut replica = server.connect();
    replica.run("SET session_replication_role = replica");
    replica.run(
        "INSERT INTO sno_internal.feed_positions (feed, owner, source_name, key, margin)
             SELECT 'f' || n, 'postgres', 'none', 'id', '0' FROM generate_series(1, 1000) n",
    );
    assert_eq!(code(&mut replica, "SELECT sno_create_feed('one more', 'o.events')"), "53400");
}

/// Feeds of one name, a feed of a partitioned table, and one whose source a restore does not find, through two dumps.
#[test]
fn restored_feeds() {
    let server = Server::builder().start();
    server.run("CREATE ROLE alice; CREATE ROLE bob");
    let mut client = server.connect();
    let insert = "INSERT INTO sno_internal.feed_positions (feed, owner, source_name, key, margin) VALUES";
    client.run(&format!(
        "CREATE TABLE parts (id sno PRIMARY KEY) PARTITION BY RANGE (id); SELECT sno_create_feed('parts', 'parts');
         {insert} ('f', 'alice', 'items', 'id', '0'), ('f', 'bob', 'items', 'id', '0'), ('restored', 'postgres', 'public.items', 'id', '0')"
    ));
    let feeds = "SELECT string_agg(format('%s of %s: %s', feed, owner, source), ', ' ORDER BY feed, owner) FROM sno_feeds()";
    let expected = "f of alice: , f of bob: , parts of postgres: parts, restored of postgres: ";
    assert_eq!(text(&mut client, feeds), expected);
    let mut source = "postgres";
    for copy in ["first", "second"] {
        let dump = server.dump(&[source]);
        server.run(&format!("CREATE DATABASE {copy}"));
        let restored = server.psql(&format!("\\c {copy}\n{dump}"));
        assert!(restored.status.success(), "{restored:?}");
        assert_eq!(text(&mut server.connect_to(copy), feeds), expected, "{copy}");
        source = copy;
    }
    // The source comes later.
    client.run(
        "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer); INSERT INTO items (n) VALUES (1);
         SELECT sno_create_feed('read', 'items', margin => '0')",
    );
    next_tick();
    assert_eq!(client.take::<i64>("SELECT count(*) FROM sno_feed('read', NULL::items)"), 1);
    assert_eq!(text(&mut client, "SELECT sno_read_by_all('items') IS NULL"), "t");
    assert_eq!(text(&mut client, "CALL sno_wait_feed('restored', '1 s', NULL)"), "t");
    assert_eq!(text(&mut client, "SELECT n FROM sno_peek_feed('restored', NULL::items)"), "1");
    // A name in a schema that who asks may not use.
    client.run(&format!(
        "CREATE SCHEMA closed; {insert} ('lost', 'bob', 'closed.lost', 'id', '0'); SET ROLE alice; SELECT FROM sno_readers('items')"
    ));
}
