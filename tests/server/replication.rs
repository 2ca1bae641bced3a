//! Several servers that write, and where their rows meet: a primary key on the ID alone, and no conflict ever.

use sno_tests::{Ids, Server, Sql as _, in_parallel, major_version, skip, text, wait_until};

const TABLE: &str = "CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)";

/// A server with a prefix of its own that sends and takes changes.
fn server(prefix: u8) -> Server {
    let server = Server::builder()
        .conf("sno.partition_prefix", &prefix.to_string())
        .conf("wal_level", "logical")
        .conf("track_commit_timestamp", "on")
        .conf("shared_preload_libraries", if pglogical() { "pglogical, sno" } else { "sno" })
        .start();
    server.run(TABLE);
    if pglogical() {
        trust_output_plugin(&server, "pglogical_output");
    }
    server
}

/// The minor releases of August 2026 use other plugins than PostgreSQL's own only if a setting names them.
fn trust_output_plugin(server: &Server, plugin: &str) {
    let known = "SELECT count(*)::text FROM pg_settings WHERE name = 'output_plugin_libraries'";
    let mut client = server.connect();
    if text(&mut client, known) == "1" {
        let set = format!("ALTER SYSTEM SET output_plugin_libraries = pgoutput, test_decoding, {plugin}");
        client.run(&set);
        server.reload();
    }
}

/// Whether this is `make test-replication`, which has seen to it that pglogical is there.
fn pglogical() -> bool {
    std::env::var_os("SNO_PGLOGICAL").is_some()
}

/// Everything in a table, in one line.
fn content(server: &Server) -> String {
    text(
        &mut server.connect(),
        "SELECT concat(count(*), ' ', md5(string_agg(concat(id, n), ',' ORDER BY id))) FROM event",
    )
}

/// Waits until a query says what it should.
#[track_caller]
fn wait(server: &Server, query: &str, expected: &str) {
    let mut client = server.connect();
    wait_until(&format!("{expected} from {query}"), || text(&mut client, query) == expected);
}

fn insert(server: &Server, rows: u32) {
    in_parallel(2, |_| {
        let insert = format!("INSERT INTO event (n) SELECT generate_series(1, {rows} / 2)");
        server.run(&insert);
    });
}

#[track_caller]
fn subscribe(subscriber: &Server, publisher: &Server, name: &str, options: &str) {
    publisher.run("CREATE PUBLICATION everything FOR TABLE event");
    let source = publisher.connection_string();
    // Not in a transaction: it makes a replication slot.
    subscriber.run(&format!(
        "CREATE SUBSCRIPTION {name} CONNECTION '{source}' PUBLICATION everything WITH ({options})"
    ));
}

/// Two servers that write at once and replicate each other: each has the rows of both, and changes of them.
#[track_caller]
fn assert_each_has_all(first: &Server, second: &Server) {
    in_parallel(2, |number| insert([first, second][number], 10_000));
    for server in [first, second] {
        wait(server, "SELECT count(*) FROM event", "20000");
    }
    first.run("UPDATE event SET n = -1 WHERE sno_partition(id) >> 8 = 2 AND n <= 10");
    wait(second, "SELECT count(*) FROM event WHERE n = -1", "20");
    assert_eq!(content(first), content(second));
}

#[test]
fn two_writers_with_two_prefixes_and_one_subscriber() {
    let (first, second, all) = (server(1), server(2), server(3));
    insert(&first, 1000);
    // What is there is copied, what comes later is sent: as text, and as the ten bytes.
    subscribe(&all, &first, "first", "binary = true");
    subscribe(&all, &second, "second", "binary = false");
    in_parallel(3, |number| insert([&first, &second, &all][number], 10_000));
    wait(&all, "SELECT count(*) FROM event", "31000");
    let mut ids = Ids::new();
    ids.query(&mut all.connect(), "SELECT id FROM event").unwrap();
    ids.assert_distinct();
    let by_prefix = "SELECT string_agg(concat(prefix, ': ', count), ', ' ORDER BY prefix)
        FROM (SELECT sno_partition(id) >> 8, count(*) FROM event GROUP BY 1) counts(prefix, count)";
    assert_eq!(text(&mut all.connect(), by_prefix), "1: 11000, 2: 10000, 3: 10000");
    // Rows are found again by their IDs.
    first.run("UPDATE event SET n = -1 WHERE n % 2 = 0");
    second.run("DELETE FROM event WHERE n > 10");
    first.run("UPDATE event SET id = sno_with_metabyte(id, 9) WHERE n = 1");
    wait(&all, "SELECT count(*) FROM event WHERE sno_partition(id) >> 8 = 2", "20");
    wait(
        &all,
        "SELECT count(*) FILTER (WHERE n = -1) || ' ' || count(*) FILTER (WHERE sno_metabyte(id) = 9) FROM event",
        "5500 4",
    );
}

/// Two-way replication is part of PostgreSQL from 16 on; for 15 there is pglogical, below.
#[test]
fn two_writers_that_replicate_each_other() {
    let (first, second) = (server(1), server(2));
    let version = major_version(&mut first.connect());
    if version < 16 {
        return skip("two-way replication came with PostgreSQL 16");
    }
    subscribe(&first, &second, "other", "origin = none, copy_data = false");
    subscribe(&second, &first, "other", "origin = none, copy_data = false");
    assert_each_has_all(&first, &second);
}

#[test]
#[ignore = "needs pglogical: make test-replication"]
fn two_writers_that_replicate_each_other_with_pglogical() {
    assert!(pglogical(), "SNO_PGLOGICAL is not set");
    let (first, second) = (server(1), server(2));
    for (server, name) in [(&first, "first"), (&second, "second")] {
        let dsn = server.connection_string();
        server.run(&format!(
            "CREATE EXTENSION pglogical;
                 SELECT pglogical.create_node(node_name := '{name}', dsn := '{dsn}');
                 SELECT pglogical.replication_set_add_table('default', 'event');"
        ));
    }
    for (server, other) in [(&first, &second), (&second, &first)] {
        let dsn = other.connection_string();
        server.run(&format!(
            "SELECT pglogical.create_subscription(subscription_name := 'other', provider_dsn := '{dsn}',
                    synchronize_structure := false, synchronize_data := false, forward_origins := '{{}}')"
        ));
    }
    for server in [&first, &second] {
        wait(
            server,
            "SELECT string_agg(status, ' ') FROM pglogical.show_subscription_status()",
            "replicating",
        );
    }
    assert_each_has_all(&first, &second);
}

/// A move to another server, as the page has it: all feeds go along, with their owners, keys and positions.
#[test]
fn a_move_takes_the_feeds_along() {
    let (old, new) = (server(1), server(2));
    for server in [&old, &new] {
        server.run(
            "CREATE ROLE app; CREATE TABLE late (k sno PRIMARY KEY); ALTER TABLE late OWNER TO app; CREATE TABLE copied (LIKE event)",
        );
    }
    old.run(
        "SELECT sno_create_feed('export', 'event', margin => '0'); SET ROLE app;
         SELECT sno_create_feed('late', 'late', key => 'k', margin => '1 s')",
    );
    // As the dump of the schema does.
    new.run("SELECT sno_refuse_old_keys('event')");
    insert(&old, 100);
    old.run("SELECT pg_sleep(0.01)");
    old.run("INSERT INTO copied SELECT * FROM sno_feed('export', NULL::event, 30)");
    subscribe(&new, &old, "a_move", "copy_data");
    wait(&new, "SELECT count(*) FROM event", "100");
    insert(&old, 100);
    wait(&new, "SELECT count(*) FROM event", "200");
    new.run("DROP SUBSCRIPTION a_move");
    let arguments = ["--data-only", "--table=sno_internal.feed_positions", "postgres"];
    let restored = new.psql(&old.dump(&arguments));
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    let feeds = "SELECT string_agg(concat_ws(' ', feed, owner, key, margin, position), ', ' ORDER BY feed) FROM sno_internal.feed_positions";
    assert_eq!(text(&mut new.connect(), feeds), text(&mut old.connect(), feeds));
    new.run("INSERT INTO copied SELECT * FROM sno_feed('export', NULL::event)");
    let rest =
        "SELECT (SELECT count(*) FROM copied) || ' ' || (SELECT count(*) FROM event JOIN copied USING (id))";
    assert_eq!(text(&mut new.connect(), rest), "170 170");
}

/// Whoever publishes the positions of feeds, or creates a feed whose position is published, is told.
#[test]
fn positions_are_not_published_silently() {
    let server = server(1);
    let warns = |sql: &str| {
        let told = String::from_utf8(server.psql(sql).stderr).unwrap();
        told.contains("WARNING:  publication \"everything\" has the positions of feeds")
    };
    assert!(!warns("CREATE PUBLICATION everything FOR ALL TABLES; CREATE PUBLICATION one FOR TABLE event"));
    assert!(warns("SELECT sno_create_feed('export', 'event')"));
    assert!(warns("DROP PUBLICATION everything; CREATE PUBLICATION everything FOR ALL TABLES"));
    assert!(!warns("DROP PUBLICATION everything; CREATE PUBLICATION everything FOR TABLE event"));
    // Also while others have locked what it publishes.
    let mut client = server.connect();
    client.run("BEGIN; LOCK event");
    assert!(warns("SET lock_timeout = '1s'; ALTER PUBLICATION everything ADD TABLES IN SCHEMA sno_internal"));
}

/// "What other readers see" in docs/pipelines.md. PostgreSQL's own plugin sends what the subscribers above get.
#[test]
#[ignore = "needs wal2json: make test-replication"]
fn wal2json_has_ids_as_strings() {
    let server = Server::builder().conf("wal_level", "logical").start();
    let mut client = server.connect();
    client.run("CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_new(1), related sno[], n integer)");
    trust_output_plugin(&server, "wal2json");
    client.run("SELECT pg_create_logical_replication_slot('changes', 'wal2json')");
    client.run("INSERT INTO event VALUES ('9q7k4op826n2g222', '{9q7k4op826n2g222}', 1)");
    client.run("UPDATE event SET n = 2; DELETE FROM event");
    for (action, path, expected) in [
        ("I", "{columns,0,type}", "sno"),
        ("I", "{columns,0,value}", "9q7k4op826n2g222"),
        ("I", "{columns,1,value}", "{9q7k4op826n2g222}"),
        ("U", "{identity,0,value}", "9q7k4op826n2g222"),
        ("D", "{identity,0,value}", "9q7k4op826n2g222"),
    ] {
        let change = format!(
            "SELECT data::jsonb #>> '{path}' FROM pg_logical_slot_peek_changes('changes', NULL, NULL, 'format-version', '2')
             WHERE data::jsonb ->> 'action' = '{action}'"
        );
        assert_eq!(text(&mut client, &change), expected, "{action} {path}");
    }
}
