//! `docs/leaving.md`: dumps and subscriptions of databases with the extension, on a server that does not have it, with
//! `sql/stand-in.sql` in its place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, error, give_to_server, plan, program, sql_file, text, wait_until};
use tempfile::TempDir;

use crate::docs::{blocks, page, psql};
use crate::dumps::{objects, own_tables};
use crate::upgrades::{FILL, difference, folder};

/// A copy of the server's files without those of the extension, in a folder that goes with it.
struct Without {
    files: TempDir,
    programs: PathBuf,
}

impl Without {
    fn new() -> Self {
        let parts = ["--bindir", "--pkglibdir", "--sharedir"].map(|option| folder(&program(""), option));
        // The copy has to keep the places of its folders to each other.
        let root = parts[0].ancestors().find(|root| parts.iter().all(|part| part.starts_with(root))).unwrap();
        let files =
            tempfile::Builder::new().prefix("without").tempdir_in(std::env::var("SNO_TMP").unwrap()).unwrap();
        give_to_server(files.path());
        for part in &parts {
            let place = files.path().join(part.strip_prefix(root).unwrap());
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            let copied = Command::new("cp").arg("-aLT").args([part, &place]).status().unwrap();
            assert!(copied.success());
        }
        let copied = |part: &Path| files.path().join(part.strip_prefix(root).unwrap());
        for place in [copied(&parts[1]), copied(&parts[2]).join("extension")] {
            for file in std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap()) {
                if file.file_name().to_str().unwrap().starts_with("sno") {
                    std::fs::remove_file(file.path()).unwrap();
                }
            }
        }
        let programs = copied(&parts[0]);
        Self { files, programs }
    }

    /// A server that cannot have the extension.
    fn server(&self) -> Server {
        let initdb = ["--no-sync", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"];
        let server =
            Server::builder().extension(false).preload(false).programs(&self.programs, &initdb[..0]).start();
        assert_eq!(code(&mut server.connect(), "CREATE EXTENSION sno"), "0A000");
        server
    }

    /// A database with the stand-in, created by the role that owns the database.
    fn database(&self, server: &Server, name: &str, role: &str, sql: &str) -> Client {
        server.run(&format!("CREATE DATABASE {name} OWNER {role}"));
        let file = self.files.path().join(format!("{name}.sql"));
        std::fs::write(&file, sql_file("stand-in.sql") + sql).unwrap();
        give_to_server(&file);
        let output = run(
            server,
            "psql",
            &[
                "-X",
                "-q",
                "-1",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                role,
                "-d",
                name,
                "-f",
                file.to_str().unwrap(),
            ],
        );
        assert!(output.status.success(), "{output:?}");
        server.connect_to(name)
    }
}

fn run(server: &Server, program: &str, arguments: &[&str]) -> Output {
    server.command(program).args(arguments).output().unwrap()
}

/// What the stand-in computes, for all IDs whose fields are known, and for times around theirs.
#[test]
fn functions_return_what_those_of_the_extension_do() {
    let without = Without::new();
    let (server, other) = (Server::builder().start(), without.server());
    other.run(&sql_file("stand-in.sql"));
    let vectors = include_str!("../../core/tests/vectors/sno.tsv");
    let ids: Vec<&str> = vectors.lines().skip(1).map(|line| line.split('\t').nth(1).unwrap()).collect();
    let fill = format!(
        "CREATE TABLE ids (n serial, id sno); INSERT INTO ids (id) VALUES ('{}')",
        ids.join("'), ('")
    );
    let queries = [
        "SELECT n, id, sno_time(id), sno_tick_tock(id), sno_metabyte(id), sno_partition(id), sno_sequence(id), sno_inspect(id),
             sno_to_uuidv7(id), uuidv7_to_sno(sno_to_uuidv7(id)), sno_with_metabyte(id, 255), sno_with_metabyte(id, n % 256),
             sno_make(sno_time(id), sno_metabyte(id), sno_partition(id), sno_sequence(id), sno_tick_tock(id)),
             sno_make(sno_time(id) + '3999 us'::interval, 0, 65535, n), sno_between(id, sno_time(id), sno_time(id) + '4 ms'::interval),
             sno_between(id, NULL, now()), min(id) OVER w, max(id) OVER w, count(*) OVER (ORDER BY id)
         FROM ids WINDOW w AS (ORDER BY n ROWS 9 PRECEDING) ORDER BY id, n",
        "SELECT n, t, sno_lower(t), sno_upper(t)
         FROM ids, unnest('{-4 ms, -1 us, 0, 1 us, 3999 us, 4 ms}'::interval[]) i, LATERAL (SELECT sno_time(id) + i) x(t) ORDER BY n, t",
        "SELECT t, sno_lower(t), sno_upper(t)
         FROM unnest('{-infinity, infinity, 0044-03-15 BC, 2009-12-31 23:59:59.999999Z, 2079-09-07 15:47:35.548001Z, 2079-09-07 15:47:35.552Z,
                       294276-01-01}'::timestamptz[]) t",
    ];
    let answer = |server: &Server| {
        let mut client = server.connect();
        client.run(&fill);
        queries
            .map(|query| text(&mut client, &format!("SELECT string_agg(r::text, chr(10)) FROM ({query}) r")))
    };
    let (expected, seen) = (answer(&server), answer(&other));
    for (expected, seen) in expected.iter().zip(&seen) {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
        assert_eq!(difference(&lines(expected), &lines(seen)), "");
    }
    let (mut client, mut other) = (server.connect(), other.connect());
    for query in [
        "SELECT sno_make('2009-12-31 23:59:59.999999Z', 0, 0, 0)",
        "SELECT sno_make('2079-09-07 15:47:35.552Z', 0, 0, 0)",
        "SELECT sno_make(now(), 256, 0, 0)",
        "SELECT sno_make(now(), 0, 65536, 0)",
        "SELECT sno_make(now(), 0, 0, -1)",
        "SELECT sno_with_metabyte('2222222222222222', 256)",
        "SELECT uuidv7_to_sno('01a1fd71-2dcd-7009-940e-000000000000')",
        "SELECT uuidv7_to_sno('00000000-0000-0000-0000-000000000000')",
        "SELECT uuidv7_to_sno('ffffffff-ffff-ffff-ffff-ffffffffffff')",
    ] {
        assert_eq!(code(&mut client, query), code(&mut other, query), "{query}");
    }
    for text in [
        "",
        "9q7k4op826n2g22",
        "9q7k4op826n2g2222",
        "9q7k4op826n2g22y",
        "9Q7K4OP826N2G222",
        "1111111111111111",
    ] {
        assert_eq!(code(&mut other, &format!("SELECT '{text}'::sno")), "23514");
    }
    for query in [
        "sno_new()",
        "sno_new(1)",
        "sno_new(1, now())",
        "sno_horizon()",
        "sno_mask('9q7k4op826n2g222', 'key')",
        "sno_unmask('9q7k4op826n2g222', 'key')",
    ] {
        let error = error(&mut other, &format!("SELECT {query}"));
        assert!(
            error.code().code() == "0A000" && error.message().ends_with("without the extension sno"),
            "{error:?}"
        );
    }
}

/// All objects that a dump brings, and what every table has, by the texts of its rows.
fn inventory(client: &mut Client) -> BTreeSet<String> {
    let query = "
        WITH own(classid, objid) AS (
            SELECT 'pg_class'::regclass, oid FROM pg_class WHERE relnamespace = 'public'::regnamespace
            UNION ALL SELECT 'pg_proc', oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND NOT proname ~ '^(sno|uuidv7)_'
            EXCEPT SELECT classid, objid FROM pg_depend WHERE deptype = 'e'
        ), own_class AS (
            SELECT c.* FROM own JOIN pg_class c ON classid = 'pg_class'::regclass AND c.oid = objid
        )
        SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(o.oid))
        FROM pg_constraint o JOIN own_class c ON c.oid = conrelid WHERE contype <> 'n'
        UNION ALL
        SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN own_class ON oid = indrelid
        UNION ALL
        SELECT format('%s %s %s', c.relkind, c.oid::regclass, string_agg(format('%s %s %s', attname, format_type(atttypid, atttypmod),
            pg_get_expr(adbin, adrelid)), ', ' ORDER BY attnum))
        FROM own_class c JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0
        LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
        WHERE relkind IN ('r', 'p', 'v', 'm') GROUP BY c.relkind, c.oid
        UNION ALL
        SELECT format('%s %s', oid::regclass, pg_get_expr(relpartbound, oid)) FROM own_class WHERE relispartition AND relkind <> 'I'
        UNION ALL
        SELECT format('%s %s', tgrelid::regclass, tgname) FROM pg_trigger JOIN own_class c ON c.oid = tgrelid WHERE NOT tgisinternal
        UNION ALL
        SELECT pg_describe_object(classid, objid, 0) FROM own WHERE classid = 'pg_proc'::regclass";
    let mut all: BTreeSet<String> = client.query(query, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    for table in own_tables(client) {
        let rows = format!(
            "SELECT concat(count(*), ' ', md5(string_agg(r::text, ',' ORDER BY r::text))) FROM {table} r"
        );
        let answer =
            client.query_one(&rows, &[]).map_or_else(|_| "cannot be read".to_owned(), |row| row.get(0));
        all.insert(format!("{table}: {answer}"));
    }
    all
}

/// What else a schema may have of the extension: kinds, arrays, times in each place, and what only the extension can do.
const MORE: &str = "
    CREATE DOMAIN order_id AS sno CHECK (sno_metabyte(VALUE) = 7);
    CREATE TABLE orders (
        id order_id PRIMARY KEY DEFAULT sno_new(7), replaces order_id REFERENCES orders, seen sno[],
        created_at timestamptz GENERATED ALWAYS AS (sno_time(id)) STORED,
        CHECK (sno_time(id) >= '2020-01-01Z'), CHECK (sno_partition(id) >= 0), EXCLUDE USING btree (id WITH =)
    );
    INSERT INTO orders (id) SELECT sno_make('2026-03-01Z'::timestamptz + n * interval '1 s', 7, n, n) FROM generate_series(1, 100) n;
    UPDATE orders SET replaces = id, seen = ARRAY[id, sno_lower('2026-03-01Z')];
    CREATE INDEX orders_time ON orders (sno_time(id)) INCLUDE (replaces) WHERE id > '9d5vf5bi2622g223';
    CREATE UNIQUE INDEX orders_day ON orders (date_trunc('day', sno_time(id) AT TIME ZONE 'UTC'), id);
    CREATE STATISTICS orders_statistics ON id, replaces FROM orders;
    CREATE POLICY recent ON orders USING (sno_between(id, '2026-01-01Z', '2027-01-01Z'));
    CREATE VIEW listed AS SELECT id, sno_time(id) AS created_at, (sno_inspect(id)).*, sno_to_uuidv7(id) AS uuid FROM orders;
    CREATE VIEW days AS SELECT sno_time(min(id)) AS first, max(id) AS last, count(*) FROM orders GROUP BY date_trunc('hour', sno_time(id), 'UTC');
    CREATE MATERIALIZED VIEW pages AS SELECT id, row_number() OVER (ORDER BY id) / 20 AS page FROM orders ORDER BY id;
    CREATE FUNCTION created_at(orders) RETURNS timestamptz LANGUAGE sql STABLE RETURN sno_time($1.id);
    CREATE VIEW masked AS SELECT sno_mask(id, 'a key of 16 byte', 'orders') AS id FROM orders;
    CREATE VIEW settled AS SELECT * FROM orders WHERE id < sno_horizon();
    CREATE VIEW raw AS SELECT id::bytea AS bytes FROM orders;
    CREATE VIEW cast_to_time AS SELECT id::timestamptz AS time, sno_time(id) AS same FROM orders;
    CREATE TABLE checked (id sno, CHECK (id >= '2020-01-01Z'::timestamptz));
    INSERT INTO checked SELECT id FROM orders;
    CREATE INDEX checked_partial ON checked (id) WHERE id < '2030-01-01Z'::timestamptz;
    CREATE VIEW last_minute AS SELECT count(*) OVER (ORDER BY id RANGE '1 min' PRECEDING) FROM orders;
    CREATE VIEW watched AS SELECT feed, lag FROM sno_feeds();";

/// What differs on a server with the stand-in, as the page says, by parts of the lines of an inventory: indexes, views of what there is not, of changes,
/// triggers, views that cannot be read; the greatest ID is a text; a text has another hash, and that of a uid60 another order.
const DIFFERENT: [&str; 17] = [
    "items_changes:",
    "items sno_log",
    " sno_own_keys",
    " sno_changed_keys",
    "event_multi",
    "event_bloom",
    "last_minute",
    "watched",
    "masked:",
    "settled:",
    "cast_to_time:",
    "raw:",
    "cast_to_time ",
    "v days ",
    "part_0:",
    "part_1:",
    "uid60_row:",
];

/// What only a superuser's stand-in lets a dump restore.
const OPERATORS: [&str; 2] = ["recent", "checked"];

/// A line of an inventory without what is printed in another way for a domain over text.
fn without_casts(line: &str) -> String {
    line.replace("::text", "").replace(['(', ')'], "")
}

/// Dumps in both formats; what is restored is what was there, but for what the page lists.
#[test]
fn dumps_are_restored_with_all_rows() {
    let without = Without::new();
    let (server, other) = (Server::builder().start(), without.server());
    let mut source = server.connect();
    source.run(FILL);
    source.run(MORE);
    source.run(&objects());
    let expected = inventory(&mut source);
    let page = page("leaving.md");
    let ([left_out, ..], [compat]) = (&blocks(&page, "sql")[..], &blocks(&page, "postgresql")[..]) else {
        panic!()
    };
    let left_out: Vec<String> =
        source.query(left_out.sql, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    for object in [
        "constraint checked_id_check on table checked",
        "index checked_partial",
        "index event_bloom",
        "rule _RETURN on view recent",
        "rule _RETURN on view raw",
        "table part",
    ] {
        assert!(left_out.iter().any(|line| line == object), "{left_out:?}");
    }
    other.run("CREATE ROLE alice LOGIN");
    for (name, role, dump) in
        [("plain", "postgres", "-Fp"), ("custom", "alice", "-Fc"), ("complete", "postgres", "-Fc")]
    {
        let file = without.files.path().join(name).to_str().unwrap().to_owned();
        let output =
            run(&server, "pg_dump", &["-d", "postgres", "-f", &file, dump, "--load-via-partition-root"]);
        assert!(output.status.success(), "{output:?}");
        let mut copy = without.database(&other, name, role, compat.sql);
        let output = match dump {
            "-Fp" => {
                run(&other, "psql", &["-X", "-q", "-o", "/dev/null", "-U", role, "-d", name, "-f", &file])
            }
            _ => run(&other, "pg_restore", &["-U", role, "--no-owner", "-d", name, &file]),
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        let known = |line: &str| {
            DIFFERENT.iter().any(|part| line.contains(part))
                || role == "alice" && OPERATORS.iter().any(|part| line.contains(part))
        };
        let lines = |all: &BTreeSet<String>| {
            all.iter().filter(|line| !known(line)).map(|line| without_casts(line)).collect::<BTreeSet<_>>()
        };
        let (before, after) = (lines(&expected), lines(&inventory(&mut copy)));
        assert_eq!(difference(&before, &after), "", "{name}: {errors}");
        assert!(
            before.len() > 300 && before.len() + 30 > expected.len(),
            "{} of {}",
            before.len(),
            expected.len()
        );
        // It is readable, not writable.
        for (query, code_of) in [
            ("INSERT INTO event DEFAULT VALUES", "0A000"),
            ("SELECT * FROM masked", "0A000"),
            ("SELECT * FROM cast_to_time", "22007"),
            ("INSERT INTO event SELECT * FROM event", "23505"),
            ("INSERT INTO orders (id) VALUES ('no ID')", "23514"),
        ] {
            assert_eq!(code(&mut copy, query), code_of, "{name}: {query}");
        }
        copy.run("UPDATE items SET n = 0; DROP VIEW IF EXISTS items_changes; DROP TABLE items_log; UPDATE items SET n = 1");
        copy.run("CREATE TABLE log_2030 PARTITION OF log FOR VALUES FROM (sno_lower('2030-01-01Z')) TO (sno_lower('2030-02-01Z'))");
        copy.run("INSERT INTO log VALUES (sno_lower('2030-01-15Z'))");
        let deleted = "DELETE FROM log WHERE id = sno_lower('2030-01-15Z') RETURNING tableoid::regclass";
        assert_eq!(text(&mut copy, deleted), "log_2030");
        copy.run("SET enable_seqscan = off");
        let by_id = plan(
            &mut copy,
            "COSTS off",
            "SELECT * FROM event WHERE id > '9d5vf5bi2622g223' ORDER BY id LIMIT 20",
        );
        assert!(by_id.contains("Index Scan using event_pkey"), "{by_id}");
    }
    hash_partitions(&without, &server, &other);
    back(&without, &server, &other);
}

/// A dump that names the table partitions of a hash: their rows are in tables of their own.
#[track_caller]
fn hash_partitions(without: &Without, server: &Server, other: &Server) {
    let file = without.files.path().join("partitions").to_str().unwrap().to_owned();
    assert!(run(server, "pg_dump", &["-d", "postgres", "-f", &file, "-Fc", "-t", "part*"]).status.success());
    let mut copy = without.database(other, "partitions", "postgres", "");
    let restore =
        |section: &str| run(other, "pg_restore", &["-d", "partitions", "--section", section, &file]);
    restore("pre-data");
    copy.run("ALTER TABLE part DETACH PARTITION part_0; ALTER TABLE part DETACH PARTITION part_1");
    let output = restore("data");
    assert!(output.status.success(), "{output:?}");
    let rows = "SELECT string_agg(concat(t, id), ',' ORDER BY id, t) FROM (SELECT 0, id FROM part_0 UNION ALL SELECT 1, id FROM part_1) r(t, id)";
    assert_eq!(text(&mut copy, rows), text(&mut server.connect(), rows));
}

/// The rows of a database with the stand-in, into one with the extension: the schema is that of the first dump.
#[track_caller]
fn back(without: &Without, server: &Server, other: &Server) {
    server.run("CREATE DATABASE back");
    let dump = without.files.path().join("complete").to_str().unwrap().to_owned();
    let schema = |section: &str| {
        let output =
            run(server, "pg_restore", &["--exit-on-error", "-d", "back", "--section", section, &dump]);
        assert!(output.status.success(), "{output:?}");
    };
    schema("pre-data");
    let rows = run(other, "pg_dump", &["-d", "complete", "--data-only", "--load-via-partition-root"]);
    assert!(rows.status.success(), "{rows:?}");
    let restored = psql(server, &format!("\\c back\n{}", String::from_utf8(rows.stdout).unwrap()));
    assert!(restored.status.success(), "{restored:?}");
    schema("post-data");
    let (mut back, mut source) = (server.connect_to("back"), server.connect());
    for rows in [
        "SELECT concat(min(pg_typeof(id)::text), md5(string_agg(e::text, ',' ORDER BY id))) FROM event e",
        "SELECT concat(min(pg_typeof(id)::text), md5(string_agg(l::text, ',' ORDER BY id))) FROM listed l",
        "SELECT md5(string_agg(concat(tableoid::regclass, id, line), ',' ORDER BY id)) FROM log WHERE id < '2030-01-01Z'::timestamptz",
        "SELECT md5(string_agg(concat(tableoid::regclass, id), ',' ORDER BY id)) FROM part",
        "SELECT count(*)::text FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'f')",
    ] {
        assert_eq!(text(&mut back, rows), text(&mut source, rows), "{rows}");
    }
    back.run("INSERT INTO event (parent) SELECT min(id) FROM event");
}

/// A subscriber without the extension follows a publisher that has it; then its keys become uuids.
#[test]
fn a_subscription_leads_out() {
    let without = Without::new();
    let publisher = Server::builder().conf("wal_level", "logical").start();
    let subscriber = without.server();
    publisher.run(
        "CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_new(), customer text);
         CREATE TABLE lines (order_id sno REFERENCES orders, n integer, PRIMARY KEY (order_id, n));
         CREATE VIEW listed AS SELECT *, sno_time(id) AS created_at FROM orders;
         INSERT INTO orders (customer) SELECT n FROM generate_series(1, 100) n; INSERT INTO lines SELECT id, 1 FROM orders;
         CREATE PUBLICATION everything FOR TABLE orders, lines",
    );
    let mut copy = without.database(&subscriber, "target", "postgres", "");
    let dump = run(&publisher, "pg_dump", &["-d", "postgres", "--schema-only", "--no-publications"]);
    let restored = psql(
        &subscriber,
        &format!("\\c target\n\\set ON_ERROR_STOP 0\n{}", String::from_utf8(dump.stdout).unwrap()),
    );
    let connection = publisher.connection_string();
    copy.run(&format!("CREATE SUBSCRIPTION leaving CONNECTION '{connection}' PUBLICATION everything"));
    publisher.run(
        "INSERT INTO orders (customer) VALUES ('new'); INSERT INTO lines SELECT max(id), 2 FROM orders;
         UPDATE lines SET n = 3 WHERE order_id = (SELECT min(id) FROM orders)",
    );
    let rows = "SELECT concat(count(*), md5(string_agg(concat(id, customer, created_at, order_id, n), ',' ORDER BY id, n)))
                FROM listed JOIN lines ON order_id = id";
    let expected = text(&mut publisher.connect(), rows);
    wait_until("all rows", || text(&mut copy, rows) == expected);
    assert!(expected.starts_with("101"), "{expected} {restored:?}");
    copy.run("DROP SUBSCRIPTION leaving");
    copy.run("DROP VIEW listed");
    let page = page("leaving.md");
    let in_a_window =
        blocks(&page, "sql").into_iter().find(|block| block.sql.contains("TYPE uuid")).unwrap().sql;
    let output = psql(&subscriber, &format!("\\c target\nCREATE VIEW recent AS SELECT 1;\n{in_a_window}"));
    assert!(output.status.success(), "{output:?}");
    let uuids = "SELECT string_agg(id::text, ',' ORDER BY id) FROM orders";
    let ids = "SELECT string_agg(sno_to_uuidv7(id)::text, ',' ORDER BY id) FROM orders";
    assert_eq!(text(&mut copy, uuids), text(&mut publisher.connect(), ids));
    copy.run("INSERT INTO orders (customer) VALUES ('after')");
}
