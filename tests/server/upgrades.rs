//! From one version of the extension to the next; `DROP EXTENSION`; and schemas to which `CREATE EXTENSION` can put it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sno_tests::postgres::{Client, NoTls};
use sno_tests::{Server, Sql as _, catalog, code, plan, program, stored, text};

/// A folder of a server, as its `pg_config` says.
pub(crate) fn folder(programs: &Path, option: &str) -> PathBuf {
    let output = Command::new(programs.join("pg_config")).arg(option).output().unwrap();
    str::from_utf8(&output.stdout).unwrap().trim_end().into()
}

/// Installs a next version of the extension, derived from this one: with one function more, of this symbol of the
/// library, and with another comment. Nothing gets it that does not ask for the version `next`.
pub(crate) fn install_next(programs: &Path, symbol: &str) {
    let (folder, now) = (folder(programs, "--sharedir").join("extension"), env!("CARGO_PKG_VERSION"));
    let changes = format!(
        "CREATE FUNCTION sno_next(sno) RETURNS integer
             AS 'MODULE_PATHNAME', '{symbol}' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
         COMMENT ON FUNCTION sno_next(sno) IS 'the next version has it';
         COMMENT ON FUNCTION sno_time(sno) IS 'another comment';"
    );
    let script = fs::read_to_string(folder.join(format!("sno--{now}.sql"))).unwrap();
    fs::write(folder.join("sno--next.sql"), script + &changes).unwrap();
    fs::write(folder.join(format!("sno--{now}--next.sql")), changes).unwrap();
}

#[track_caller]
fn database(server: &Server, name: &str) -> Client {
    server.run(&format!("CREATE DATABASE {name}"));
    server.connect_to(name)
}

/// What is in one set only, for people to read.
pub(crate) fn difference(old: &BTreeSet<String>, new: &BTreeSet<String>) -> String {
    let line = |sign: char| move |line: &String| format!("{sign} {line}\n");
    old.difference(new).map(line('-')).chain(new.difference(old).map(line('+'))).collect()
}

/// Tables that use all that the extension has: keys, every kind of index, partitions, defaults, views, functions.
pub(crate) const FILL: &str = "
    CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_new(1), parent sno REFERENCES event, n integer);
    INSERT INTO event (id, n) SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '1 minute', n % 5, 7, n), n
        FROM generate_series(1, 5000) n;
    INSERT INTO event (parent, n) SELECT id, -n FROM event;
    CREATE INDEX event_hash ON event USING hash (id);
    CREATE INDEX event_brin ON event USING brin (id) WITH (pages_per_range = 4);
    CREATE INDEX event_multi ON event USING brin (id sno_minmax_multi_ops) WITH (pages_per_range = 4);
    CREATE INDEX event_bloom ON event USING brin (id sno_bloom_ops) WITH (pages_per_range = 4);
    CREATE INDEX event_kind ON event (sno_metabyte(id), id);
    CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(), line text) PARTITION BY RANGE (id);
    SELECT sno_create_partitions('log', '1 month', '2026-01-01Z', '2026-05-01Z');
    SELECT sno_maintain_partitions('log', '1 month', ahead => 1);
    INSERT INTO log SELECT id, n FROM event;
    CREATE TABLE part (id sno) PARTITION BY HASH (id);
    CREATE TABLE part_0 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE part_1 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 1);
    INSERT INTO part SELECT id FROM event;
    CREATE VIEW recent AS SELECT * FROM event WHERE id >= '2026-01-02Z'::timestamptz;
    CREATE FUNCTION last_hour(sno) RETURNS boolean LANGUAGE SQL
        RETURN sno_between($1, now() - interval '1 hour', now() + interval '1 hour');
    SELECT sno_create_feed('events', 'event', '2026-01-02Z');
    CREATE TEMP TABLE read AS SELECT id FROM sno_feed('events', NULL::event, 100);
    CREATE TABLE items (id integer PRIMARY KEY, n integer);
    SELECT sno_track_changes('items');
    INSERT INTO items SELECT n, n FROM generate_series(1, 100) n;
    DELETE FROM items WHERE id > 50;
    ANALYZE event, log, part;";

/// The indexes of `event`, and what each is to find.
const INDEXES: [(&str, &str); 6] = [
    ("event_pkey", "id BETWEEN sno_lower('2026-01-01 06:00Z') AND sno_upper('2026-01-01 07:00Z')"),
    ("event_hash", "id = (SELECT id FROM event WHERE n = 77)"),
    ("event_brin", "id >= '2026-01-02Z'::timestamptz AND id < '2026-01-03Z'::timestamptz"),
    ("event_multi", "id >= '2026-01-02Z'::timestamptz AND id < '2026-01-03Z'::timestamptz"),
    ("event_bloom", "id = (SELECT id FROM event WHERE n = 77)"),
    ("event_kind", "sno_metabyte(id) = 3 AND id < '2026-01-02Z'::timestamptz"),
];

/// A summary of every row, and what every index finds.
pub(crate) fn content(client: &mut Client) -> Vec<String> {
    let mut all = Vec::new();
    let query = |condition: &str| {
        format!(
            "SELECT concat(count(*), ' ', md5(string_agg(id::text, '' ORDER BY id))) FROM event WHERE {condition}"
        )
    };
    for (index, condition) in INDEXES {
        let query = query(condition);
        client.run("BEGIN; SET LOCAL enable_seqscan = off");
        // Alone, so that none does another's work.
        for (other, _) in INDEXES.iter().filter(|(other, _)| *other != index) {
            let command = match *other {
                "event_pkey" => "ALTER TABLE event DROP CONSTRAINT event_pkey CASCADE",
                other => &format!("DROP INDEX {other}"),
            };
            client.run(command);
        }
        let plan = plan(client, "COSTS off", &query);
        assert!(plan.contains(index), "{index}: {plan}");
        let found = text(client, &query);
        client.run(
            "SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off;
                 SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_bitmapscan = off",
        );
        assert_eq!(found, text(client, &query), "{index}");
        client.run("ROLLBACK");
        assert!(!found.starts_with("0 "), "{index}");
        all.push(found);
    }
    all.extend(["true", "last_hour(id)"].map(|condition| text(client, &query(condition))));
    for query in [
        "SELECT string_agg(format('%s %s %s %s', tableoid::regclass, id, line, sno_time(id)), ',' ORDER BY id) FROM log",
        "SELECT string_agg(format('%s %s', tableoid::regclass, id), ',' ORDER BY id) FROM part",
        "SELECT count(*) FROM recent",
        "SELECT string_agg(format('%s %s %s', changed, id, record), ',' ORDER BY changed) FROM items_changes",
        "SELECT count(*) FROM event JOIN event parent ON parent.id = event.parent",
        "SELECT string_agg(format('%s %s %s %s', feed, owner, position, margin), ' ' ORDER BY feed) FROM sno_feeds()",
    ] {
        let query = format!("SELECT md5(({query})::text)");
        all.push(text(client, &query));
    }
    all
}

/// From each version whose SQL is there, which runs with the present library until then. By the owner of the
/// database, as for every trusted extension.
#[test]
fn an_update_with_all_that_uses_it() {
    let server = Server::builder().compat().extension(false).start();
    server.run("CREATE ROLE alice LOGIN");
    let own = |name: &str| {
        server.run(&format!("CREATE DATABASE \"{name}\" OWNER alice"));
        server.config().user("alice").dbname(name).connect(NoTls).unwrap()
    };
    let versions = "SELECT string_agg(version, ' ') FROM pg_available_extension_versions WHERE name = 'sno' AND version <> 'next'";
    for version in text(&mut server.connect(), versions).split(' ') {
        let mut client = own(version);
        client.run(&format!(
            "CREATE EXTENSION sno VERSION '{version}'; CREATE EXTENSION sno_compat VERSION '{version}'"
        ));
        client.run(FILL);
        let before = content(&mut client);
        // The new SQL, and the library of before.
        install_next(&program(""), "sno_absent");
        assert_eq!(code(&mut client, "ALTER EXTENSION sno UPDATE TO 'next'"), "42883");
        install_next(&program(""), "sno_metabyte");
        client.run("ALTER EXTENSION sno UPDATE TO 'next'; ALTER EXTENSION sno_compat UPDATE");
        for mut client in [client, server.connect_to(version)] {
            assert_eq!(content(&mut client), before);
            client
                .run("INSERT INTO event (n) SELECT generate_series(1, 1000);
                     DELETE FROM event WHERE n BETWEEN 1 AND 1000 AND parent IS NULL AND id >= now() - interval '1 hour';
                     SELECT sno_maintain_partitions('log', '1 month', ahead => 2);
                     INSERT INTO log (line) VALUES ('new');
                     DELETE FROM log WHERE line = 'new';
                     SELECT sno_track_changes('items');
                     INSERT INTO items VALUES (101, 1);
                     DELETE FROM items WHERE id = 101;
                     DELETE FROM items_log WHERE id = 101;");
            assert_eq!(code(&mut client, "ALTER EXTENSION sno UPDATE TO '1.0.0'"), "22023");
        }
        let mut client = server.connect_to(version);
        client.run(
            "CREATE EXTENSION amcheck;
                 SELECT bt_index_check('event_pkey', true), bt_index_check('event_kind', true)",
        );
        let mut fresh = own(&format!("instead of {version}"));
        fresh.run("CREATE EXTENSION sno VERSION 'next'; CREATE EXTENSION sno_compat");
        let (updated, fresh) = (catalog(&mut client), catalog(&mut fresh));
        assert!(fresh.len() > 200, "{} lines", fresh.len());
        assert!(
            updated == fresh,
            "an update leads elsewhere than CREATE EXTENSION:\n{}",
            difference(&updated, &fresh)
        );
    }
}

/// What sessions have planned and looked up, when another session drops the extension and creates it again, elsewhere.
#[test]
fn plans_of_other_sessions() {
    let server = Server::builder().start();
    let (mut admin, mut client, mut ids) = (server.connect(), server.connect(), server.ids());
    admin.run(
        "CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
             INSERT INTO event (n) SELECT generate_series(1, 1000); ANALYZE event",
    );
    client
        .run("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
             PREPARE fill AS INSERT INTO event (n) SELECT generate_series(1, 100);
             PREPARE recent(timestamptz) AS SELECT count(*) FROM event WHERE id >= $1 AND sno_metabyte(id) = 1;");
    let mut works = |client: &mut Client, rows: &str| {
        client.run("EXECUTE fill");
        assert_eq!(text(client, "EXECUTE recent(now() - interval '1 hour')"), rows);
        let plan = plan(client, "COSTS OFF", "EXECUTE recent(now() - interval '1 hour')");
        assert!(plan.contains("Index Cond: (id >= ") && plan.contains("sno_metabyte(id) = 1"), "{plan}");
        ids.query(
            client,
            "SELECT id FROM event WHERE id > (SELECT id FROM event ORDER BY id DESC OFFSET 100 LIMIT 1)",
        )
        .unwrap();
    };
    works(&mut client, "1100");

    admin.run("DROP EXTENSION sno CASCADE");
    assert_eq!(code(&mut client, "EXECUTE recent(now())"), "42703");
    client.run("EXECUTE fill");
    admin.run(
        "CREATE SCHEMA elsewhere; CREATE EXTENSION sno SCHEMA elsewhere;
             ALTER TABLE event ADD id elsewhere.sno PRIMARY KEY DEFAULT elsewhere.sno_new(1)",
    );
    // The default goes on. What a statement names is looked up again, as by PostgreSQL for all that is elsewhere.
    client.run("EXECUTE fill");
    assert_eq!(code(&mut client, "EXECUTE recent(now())"), "42883");
    client.run("SET search_path = public, elsewhere");
    works(&mut client, "1400");
    ids.assert_distinct();
}

/// The schema is chosen when the extension is created. Its name can need quotes.
#[test]
fn it_works_from_any_schema() {
    let server = Server::builder().extension(false).start();
    let mut client = server.connect();
    client.run("CREATE SCHEMA \"the IDs\"; CREATE EXTENSION sno SCHEMA \"the IDs\"; CREATE SCHEMA other");
    assert_eq!(code(&mut client, "ALTER EXTENSION sno SET SCHEMA other"), "0A000");
    // Where the search path leads there, and in a new session whose path doesn't.
    client.run("SET search_path = public, \"the IDs\"");
    client.run(FILL);
    content(&mut client);
    let mut client = server.connect();
    let mut estimate = |condition: &str| {
        let plan = plan(&mut client, "COSTS", &format!("SELECT * FROM event WHERE {condition}"));
        let rows: i64 = plan.split("rows=").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        (plan, rows)
    };
    let (plan, rows) = estimate("\"the IDs\".sno_between(id, '2026-01-01 06:00Z', '2026-01-01 07:00Z')");
    assert!((40..90).contains(&rows), "{rows} rows are expected of 60");
    // Two conditions in its place.
    assert!(plan.contains("(id >= ") && plan.contains("(id < "), "{plan}");
    assert!(plan.contains("Cond: ") && !plan.contains("sno_between"), "{plan}");
    let (plan, _) = estimate("id < '2026-01-01 01:00Z'::timestamptz");
    assert!(plan.contains("Index Cond") || plan.contains("Recheck Cond"), "{plan}");
    client.run(
        "SELECT \"the IDs\".sno_maintain_partitions('log', '1 month', ahead => 3, retention => '1 month');
             SELECT \"the IDs\".sno_create_partitions('log', '1 month', '2030-01-01Z', '2030-03-01Z');
             INSERT INTO log (line) VALUES ('new');
             INSERT INTO event (n) VALUES (0);",
    );
    let partitions =
        text(&mut client, "SELECT string_agg(partition::text, ' ') FROM \"the IDs\".sno_partitions('log')");
    assert!(partitions.contains("log_20300201") && !partitions.contains("log_20260101"), "{partitions}");

    // The same objects as in public, but for the name, which an empty path makes all of them show.
    let mut fresh = database(&server, "fresh");
    fresh.run("CREATE EXTENSION sno SCHEMA public; SET search_path = ''");
    client.run("SET search_path = ''");
    let moved = catalog(&mut client)
        .into_iter()
        .map(|line| line.replace("\\\"the IDs\\\"", "public").replace("\"the IDs\"", "public"));
    assert_eq!(difference(&moved.collect(), &catalog(&mut fresh)), "");
    // The script does not have the name of the schema in any text, so each name will do, also after a change.
    fresh.run("DROP EXTENSION sno");
    for name in ["a\"\"b", "a$b", "a'b", "a\\b"] {
        fresh.run(&format!(
            "CREATE SCHEMA \"{name}\"; CREATE EXTENSION sno SCHEMA \"{name}\"; SELECT \"{name}\".sno_new(); DROP EXTENSION sno"
        ));
    }
    fresh.run("CREATE SCHEMA \"a%sb\"; CREATE EXTENSION sno SCHEMA \"a%sb\"");
    fresh.run(
        "CREATE TABLE public.log (id \"a%sb\".sno PRIMARY KEY DEFAULT \"a%sb\".sno_new()) PARTITION BY RANGE (id);
             SELECT \"a%sb\".sno_maintain_partitions('public.log', '1 day', retention => '1 day')",
    );
}

/// What a dump of each version has is there after a restore, and goes on: `upgrades/` has, for each, the statements that make feeds,
/// changes and table partitions, and queries with what they print after a restore; and, once it is released, its dump.
#[test]
fn dumps_of_every_version() {
    let versions = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("upgrades")).unwrap();
    for version in versions.map(|entry| entry.unwrap().path()) {
        let (before, server) =
            (Server::builder().extension(false).start(), Server::builder().extension(false).start());
        let file = |name: &str| fs::read_to_string(version.join(name));
        let succeeded = |output: Output| {
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {error}", version.display());
            String::from_utf8(output.stdout).unwrap()
        };
        let dump = file("dump.sql").unwrap_or_else(|_| {
            succeeded(before.psql(&file("setup.sql").unwrap()));
            before.dump(&[])
        });
        succeeded(server.psql(&dump));
        assert_eq!(succeeded(server.psql(&file("queries.sql").unwrap())), file("queries.out").unwrap());
    }
}

/// The schema of the extension can be renamed while it is in use; users do it to keep what is there beside what comes.
#[test]
fn the_schema_is_renamed() {
    let server = Server::builder().extension(false).start();
    let mut client = server.connect();
    client.run(
        "CREATE SCHEMA ids; CREATE EXTENSION sno SCHEMA ids; SET search_path = public, ids;
         CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(1), n integer) PARTITION BY RANGE (id);
         SELECT sno_maintain_partitions('log', '1 day'); INSERT INTO log (n) VALUES (1);
         CREATE TABLE items (n integer PRIMARY KEY); SELECT sno_track_changes('items'); INSERT INTO items VALUES (1);
         SELECT sno_create_feed('log', 'log', margin => '0'); SELECT pg_sleep(0.01);
         ALTER SCHEMA ids RENAME TO renamed; CREATE SCHEMA ids",
    );
    let mut client = server.connect();
    client.run(
        "SET search_path = public, renamed;
         SELECT sno_create_feed('changes', 'items_changes', margin => '0'); SELECT sno_seek_feed('log', since => '-infinity');
         SELECT sno_maintain_partitions('log', '1 day', 5, '1 day', true, true);
         INSERT INTO items VALUES (2); SELECT sno_track_changes('items'); SELECT pg_sleep(0.01)",
    );
    client.run("CALL sno_wait_feed('log', '1 s')");
    assert_eq!(
        text(&mut client, "SELECT string_agg(n::text, ' ') FROM sno_peek_feed('log', NULL::log)"),
        "1"
    );
    assert_eq!(
        text(
            &mut client,
            &stored("SELECT string_agg(n::text, ' ') FROM sno_feed('changes', NULL::items_changes)")
        ),
        "1 2"
    );
    client.run("DO $$ DECLARE last renamed.sno := (SELECT max(id) FROM log); read boolean; BEGIN CALL renamed.sno_wait_read('log', last, '1 s', read); END $$");
    assert_eq!(client.one::<i64>("SELECT sno_forget_changes('items')"), 2);
    let dump = server.dump(&[]);
    assert!(dump.contains("sno_internal.feed_positions"), "{dump}");
    client.run("SELECT sno_drop_feed('changes'), sno_untrack_changes('items')");
}
