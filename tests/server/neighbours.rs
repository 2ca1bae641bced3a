//! Beside other libraries that take part in planning or watch queries: the same rows and plans as without them, whichever
//! library comes first in `shared_preload_libraries`, and if the other is loaded in the middle of a session. `make
//! test-neighbours` installs the libraries.

use std::{env, fs, path::PathBuf, process::Command};

use sno_tests::{
    Mode, Random, Server, Sql as _,
    postgres::{Client, SimpleQueryMessage},
    skip, text,
};

use crate::created_at;

/// Chosen once, so that a failure comes again.
const SEED: u64 = 20_260_103;
const QUERIES: usize = 1000;

/// Another library, and what shows that it works.
struct Neighbour {
    library: &'static str,
    /// Also while the server is without the library.
    settings: &'static [(&'static str, &'static str)],
    /// Whether a session can load it when the server has started.
    late: bool,
    /// What the server's log has of it.
    logs: &'static str,
    /// Each statement has to return what stands beside it: as a value, or within a plan.
    works: &'static [(&'static str, &'static str)],
}

const NEIGHBOURS: &[Neighbour] = &[
    Neighbour {
        library: "pg_stat_statements",
        settings: &[("pg_stat_statements.track", "all"), ("compute_query_id", "on")],
        late: false,
        logs: "",
        works: &[
            ("CREATE EXTENSION IF NOT EXISTS pg_stat_statements", ""),
            ("SELECT (calls > 0)::text FROM pg_stat_statements WHERE query ~ 'sno_feed' LIMIT 1", "true"),
        ],
    },
    Neighbour {
        library: "auto_explain",
        settings: &[
            ("auto_explain.log_min_duration", "0"),
            ("auto_explain.log_analyze", "on"),
            ("auto_explain.log_nested_statements", "on"),
        ],
        late: true,
        logs: "Query Text: ",
        works: &[],
    },
    Neighbour {
        library: "hypopg",
        settings: &[],
        late: true,
        logs: "",
        works: &[
            ("CREATE EXTENSION IF NOT EXISTS hypopg", ""),
            ("SELECT count(*)::text FROM hypopg_create_index('CREATE INDEX ON heap (id)')", "1"),
            ("EXPLAIN SELECT FROM heap WHERE sno_time(id) > '2026-04-10Z'", "btree_heap_id"),
            ("EXPLAIN SELECT FROM heap ORDER BY sno_time(id) LIMIT 1", "btree_heap_id"),
            ("SELECT hypopg_reset()::text", ""),
            ("SELECT count(*)::text FROM hypopg_create_index('CREATE INDEX ON heap (sno_time(id))')", "1"),
            ("EXPLAIN SELECT FROM heap WHERE sno_time(id) > '2026-04-10Z'", "Index Cond: (sno_time(id) >"),
            ("SELECT hypopg_reset()::text", ""),
            // Its predicates live as long as the session.
            (
                "SELECT count(*)::text FROM hypopg_create_index('CREATE INDEX ON heap (n) WHERE sno_time(id) IS NOT NULL AND (n < 5 OR sno_time(id) > ''2026-04-10Z'')')",
                "1",
            ),
            ("EXPLAIN SELECT FROM heap WHERE n = 5 AND sno_time(id) > '2026-04-10Z'", "btree_heap_n"),
            ("EXPLAIN SELECT FROM heap WHERE n = 6 AND sno_time(id) > '2026-04-10Z'", "btree_heap_n"),
            (
                "SELECT hypopg_get_indexdef(indexrelid) FROM hypopg_list_indexes",
                "WHERE ((sno_time(id) IS NOT NULL) AND ((n < 5) OR (sno_time(id) > '2026",
            ),
            ("SELECT hypopg_reset()::text", ""),
        ],
    },
    Neighbour {
        library: "pgaudit",
        settings: &[("pgaudit.log", "all"), ("pgaudit.log_relation", "on")],
        late: false,
        logs: "AUDIT: ",
        works: &[("CREATE EXTENSION IF NOT EXISTS pgaudit", "")],
    },
    Neighbour {
        library: "pg_qualstats",
        settings: &[
            ("pg_qualstats.sample_rate", "1"),
            ("pg_qualstats.resolve_oids", "on"),
            // 2.0.4 dereferences the first child of a MergeAppend, also if all are pruned.
            ("enable_partition_pruning", "off"),
        ],
        late: true,
        logs: "",
        works: &[
            ("CREATE EXTENSION IF NOT EXISTS pg_qualstats", ""),
            ("SELECT (count(*) > 0)::text FROM pg_qualstats()", "true"),
        ],
    },
    Neighbour {
        library: "pg_wait_sampling",
        settings: &[("pg_wait_sampling.profile_period", "1")],
        late: false,
        logs: "",
        works: &[
            ("CREATE EXTENSION IF NOT EXISTS pg_wait_sampling", ""),
            ("SELECT (count(*) >= 0)::text FROM pg_wait_sampling_profile", "true"),
        ],
    },
    Neighbour {
        library: "pg_hint_plan",
        settings: &[],
        late: true,
        logs: "",
        works: &[
            ("/*+ IndexScan(e e_n_idx) */ EXPLAIN SELECT FROM e WHERE n = 5", "e_n_idx"),
            ("/*+ SeqScan(e) */ EXPLAIN SELECT FROM e WHERE sno_time(id) = '2026-04-10Z'", "Seq Scan"),
            ("/*+ SeqScan(e) */ EXPLAIN SELECT FROM e ORDER BY sno_time(id) LIMIT 5", "Seq Scan"),
            (
                "/*+ IndexScan(e e_pkey) */ EXPLAIN SELECT FROM e WHERE sno_time(id) > '2026-01-10Z'",
                "Index Cond: (id >=",
            ),
            (
                "/*+ Rows(e people #10) */ EXPLAIN SELECT FROM e JOIN people USING (person) WHERE sno_time(id) > '2026-04-10Z'",
                "rows=10",
            ),
            (
                "/*+ HashJoin(a b) Leading((b a)) */ EXPLAIN SELECT FROM e a JOIN e b USING (n) WHERE sno_time(a.id) > '2026-04-10Z'",
                "Hash Join",
            ),
        ],
    },
    // Of PostgreSQL 19.
    Neighbour {
        library: "pg_plan_advice",
        settings: &[("pg_plan_advice.always_store_advice_details", "on")],
        late: true,
        logs: "",
        works: &[
            (
                "EXPLAIN (PLAN_ADVICE) SELECT FROM e WHERE sno_time(id) > '2026-04-10Z'",
                "Generated Plan Advice",
            ),
            ("SET pg_plan_advice.advice = 'SEQ_SCAN(e)'", ""),
            ("EXPLAIN SELECT FROM e WHERE sno_time(id) = '2026-04-10Z'", "Seq Scan"),
            ("SET pg_plan_advice.advice = 'INDEX_SCAN(e public.e_pkey)'", ""),
            ("EXPLAIN SELECT FROM e WHERE sno_time(id) > '2026-01-10Z'", "Index Cond: (id >="),
            ("RESET pg_plan_advice.advice", ""),
        ],
    },
    Neighbour {
        library: "citus_columnar",
        settings: &[],
        late: true,
        logs: "",
        works: &[
            ("CREATE EXTENSION IF NOT EXISTS citus_columnar", ""),
            (
                "CREATE TABLE IF NOT EXISTS columns (id sno PRIMARY KEY DEFAULT sno_new(1), n int) USING columnar",
                "",
            ),
            ("INSERT INTO columns (n) SELECT generate_series(1, 1000)", ""),
            ("SELECT (count(*) > 0)::text FROM columns WHERE n = 5", "true"),
            ("SELECT (count(*) > 0)::text FROM columns WHERE sno_time(id) < now()", "true"),
            (
                "SELECT (count(*) > 0)::text FROM (SELECT FROM columns ORDER BY sno_time(id) DESC LIMIT 5) c",
                "true",
            ),
        ],
    },
    Neighbour {
        library: "timescaledb",
        settings: &[("timescaledb.telemetry_level", "off")],
        late: false,
        logs: "",
        works: &[
            ("CREATE EXTENSION IF NOT EXISTS timescaledb", ""),
            ("CREATE TABLE IF NOT EXISTS hyper (id sno PRIMARY KEY DEFAULT sno_new(), device integer)", ""),
            (
                "SELECT (count(*) >= 0)::text FROM create_hypertable('hyper', by_range('id', INTERVAL '1 day', partition_func => 'sno_time'), if_not_exists => true)",
                "true",
            ),
            (
                "INSERT INTO hyper SELECT sno_new(0, now() - n * interval '1 hour'), n FROM generate_series(1, 100) n ON CONFLICT DO NOTHING",
                "",
            ),
            (
                "SELECT (count(*) > 0)::text FROM hyper WHERE sno_time(id) >= now() - interval '2 days'",
                "true",
            ),
            ("SELECT (count(*) > 0)::text FROM hyper WHERE id >= now() - interval '2 days'", "true"),
            (
                "SELECT (count(*) = 5)::text FROM (SELECT FROM hyper ORDER BY sno_time(id) DESC LIMIT 5) h",
                "true",
            ),
        ],
    },
];

/// Feeds, waits, changes, partitions, prepared statements and cursors, in a database of their own; what was read.
fn use_features(server: &Server, connect: &dyn Fn(&str) -> Client) -> String {
    server.run("CREATE DATABASE features");
    let mut client = connect("features");
    client.run(
        "CREATE EXTENSION sno;
         CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer, state text DEFAULT 'open');
         CREATE VIEW items_by_time AS SELECT sno_time(id) AS created_at, * FROM items;
         CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(), n integer) PARTITION BY RANGE (id);
         SELECT sno_maintain_partitions('log', '1 day');
         SELECT sno_create_feed('rows', 'items', margin => '0'), sno_track_changes('items');
         SELECT sno_create_feed('changed', 'items_changes', key => 'changed', margin => '0');
         INSERT INTO items (n) SELECT generate_series(1, 1000); INSERT INTO log (n) SELECT generate_series(1, 1000);
         UPDATE items SET state = 'done' WHERE n % 2 = 0; DELETE FROM items WHERE n % 5 = 0;",
    );
    let mut read = Vec::new();
    for (feed, source) in [("rows", "items"), ("changed", "items_changes")] {
        let mut rows = 0;
        while client.one::<bool>(&format!("CALL sno_wait_feed('{feed}', '0.3 s')")) {
            let count = format!("SELECT count(*) FROM sno_feed('{feed}', NULL::{source}, 300)");
            rows += client.take::<i64>(&count) as usize;
        }
        read.push(format!("{feed} {rows}"));
    }
    client.run("PREPARE since(timestamptz) AS SELECT count(*) FROM items_by_time WHERE created_at >= $1");
    for _ in 0..7 {
        assert_eq!(text(&mut client, "EXECUTE since(now() - interval '1 hour')"), "800");
    }
    client.run(
        "BEGIN; DECLARE newest SCROLL CURSOR FOR SELECT * FROM items_by_time ORDER BY created_at DESC, id DESC;
         MOVE 700 FROM newest; FETCH 10 FROM newest; MOVE BACKWARD 5 FROM newest; COMMIT",
    );
    for query in [
        "SELECT count(*) FROM log WHERE sno_time(id) >= now() - interval '1 hour'",
        "SELECT count(*) FROM sno_partitions('log')",
        "SELECT sno_forget_changes('items')",
        "SELECT count(*) FROM items WHERE id < (SELECT sno_read_by_all('items'))",
        "SELECT count(*) FROM sno_feeds()",
        "SELECT sum(n) FROM (SELECT n FROM items_by_time ORDER BY created_at LIMIT 50) i",
    ] {
        read.push(format!("{query}: {}", text(&mut client, query)));
    }
    drop(client);
    server.run("DROP DATABASE features");
    read.join("\n")
}

/// What is asked, with its plan if it has one, and its rows.
struct Answer {
    query: String,
    plan: String,
    rows: String,
}

fn answers(client: &mut Client, queries: usize) -> Vec<Answer> {
    client.run("SET enable_seqscan = off");
    let mut random = Random(SEED);
    let mut answers = Vec::new();
    for _ in 0..queries {
        let (view, _) = random.one_of(&created_at::SOURCES);
        let query = created_at::query(&mut random);
        let arguments =
            format!("{}, {}", created_at::argument(&mut random), created_at::argument(&mut random));
        let rows = format!("{:?}", created_at::result(client, view, &query, &arguments));
        // What can't be executed can be planned, or the error is the same.
        let explained =
            client.simple_query(&format!("EXPLAIN (COSTS off) EXECUTE q({arguments})")).unwrap_or_default();
        let plan = explained.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        answers.push(Answer {
            query: query.replace("{x}", view),
            plan: format!("{arguments}\n{}", plan.collect::<Vec<_>>().join("\n")),
            rows,
        });
    }
    client.run("RESET enable_seqscan");
    answers
}

/// A server with the tables of the queries, and a large one.
fn server_with_tables(settings: &[(&str, &str)]) -> Server {
    let usual = [
        ("jit", "off"),
        ("max_parallel_workers_per_gather", "0"),
        ("random_page_cost", "1.1"),
        ("autovacuum", "off"),
    ];
    let server = usual
        .iter()
        .chain(settings)
        .fold(Server::builder(), |server, (name, value)| server.conf(name, value));
    let server = server.start();
    let mut client = server.connect();
    client.run(created_at::TABLES);
    client.run(
        "CREATE TABLE e AS SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '86.4 s', n % 7, 1, n % 65536) AS id, n, n % 500 AS person
             FROM generate_series(0, 99999) n;
         ALTER TABLE e ADD PRIMARY KEY (id); CREATE INDEX ON e (n);
         CREATE TABLE people AS SELECT n AS person FROM generate_series(0, 499) n; ALTER TABLE people ADD PRIMARY KEY (person)",
    );
    client.run("CREATE TABLE heap AS TABLE e");
    client.run("VACUUM ANALYZE");
    server
}

/// Compares the answers beside a library with those without it. Only plans with nodes of the library's own may differ.
#[track_caller]
fn compare(order: &str, alone: &[Answer], beside: &[Answer]) {
    let differ = alone.iter().zip(beside).filter(|(alone, beside)| {
        alone.rows != beside.rows || alone.plan != beside.plan && !beside.plan.contains("Custom Scan (")
    });
    let differ: Vec<_> = differ
        .map(|(alone, Answer { plan, rows, .. })| {
            format!("{}\n{}{}\nbecomes\n{plan}{rows}", alone.query, alone.plan, alone.rows)
        })
        .collect();
    assert!(
        differ.is_empty(),
        "{order}: {} of {} differ:\n{}",
        differ.len(),
        alone.len(),
        differ.join("\n\n")
    );
}

/// Runs everything beside a library, in both orders, and loaded by the session if that is possible.
fn beside(neighbour: &Neighbour) {
    let Neighbour { library, settings, late, logs, works } = neighbour;
    let installed = sno_tests::program("pg_config");
    let folder = Command::new(installed).arg("--pkglibdir").output().unwrap().stdout;
    let folder = PathBuf::from(String::from_utf8(folder).unwrap().trim());
    if !folder.join(library).with_extension("so").exists() {
        return skip(&format!("{library} is not installed: dev/test-on says how to get it"));
    }
    let server = server_with_tables(settings);
    let alone = answers(&mut server.connect(), QUERIES);
    let features = use_features(&server, &|database| server.connect_to(database));
    let (first, second) = (format!("{library}, sno"), format!("sno, {library}"));
    let preloads = [(first.as_str(), false), (&second, false), ("sno", true)];
    for (preload, is_late) in preloads.into_iter().filter(|(_, is_late)| *late || !is_late) {
        server.configure("shared_preload_libraries", preload);
        server.restart(Mode::Fast);
        let connect = |database: &str| {
            let mut client = server.connect_to(database);
            if is_late {
                // When the library has planned already.
                client.run(&format!("SELECT '9q7k4op822n2g222'::text; LOAD '{library}'"));
            }
            client
        };
        let order = format!("{preload}{}", if is_late { ", LOAD" } else { "" });
        let mut client = connect("postgres");
        if is_late {
            client.run("SELECT count(*) FROM e WHERE sno_time(id) > now()");
        }
        compare(&order, &alone, &answers(&mut client, QUERIES));
        assert_eq!(features, use_features(&server, &connect), "{order}");
        for (statement, expected) in *works {
            let found = match statement.contains("EXPLAIN") {
                true => client.query(*statement, &[]).map(|rows| {
                    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
                }),
                false => client.simple_query(statement).map(|messages| {
                    let value = messages.iter().find_map(|message| match message {
                        SimpleQueryMessage::Row(row) => row.get(0),
                        _ => None,
                    });
                    value.unwrap_or_default().to_owned()
                }),
            };
            let found =
                found.unwrap_or_else(|error| panic!("{order}: {statement}: {error:?}\n{}", server.log()));
            assert!(found.contains(expected), "{order}: {statement}: {found}");
        }
        let log = server.log();
        assert!(log.contains(logs), "{order}: no {logs:?} in the log");
        assert_eq!(server.recoveries(), 0, "{order}: {log}");
    }
}

/// A test for each of [`NEIGHBOURS`].
macro_rules! neighbours {
    ($($library:ident)*) => {
        $(
            #[test]
            #[ignore = "needs other libraries: make test-neighbours"]
            fn $library() {
                let library = stringify!($library);
                beside(NEIGHBOURS.iter().find(|neighbour| neighbour.library == library).unwrap());
            }
        )*

        #[test]
        fn each_neighbour_has_a_test() {
            let tests = [$(stringify!($library)),*];
            assert_eq!(tests.to_vec(), NEIGHBOURS.iter().map(|neighbour| neighbour.library).collect::<Vec<_>>());
        }
    };
}

neighbours! {
    pg_stat_statements auto_explain hypopg pgaudit pg_qualstats pg_wait_sampling pg_hint_plan pg_plan_advice citus_columnar timescaledb
}

/// Builds a library, and returns its path.
fn library(server: &Server, source: &str) -> String {
    let folder = server.data().join("library");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("library.c"), source).unwrap();
    // The headers are where the server was copied from.
    let pg_config = env::var("PG_CONFIG").unwrap_or("pg_config".into());
    let include = Command::new(pg_config).arg("--includedir-server").output().unwrap().stdout;
    let include = String::from_utf8(include).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-I", include.trim(), "-o", "library.so", "library.c"])
        .current_dir(&folder)
        .status();
    assert!(built.unwrap().success());
    folder.join("library.so").display().to_string()
}

/// PostgreSQL has room for ten callbacks of this kind, and ends the process that finds none: that is not the feed of a session that has used
/// another library before, since the place for it is taken at the start.
#[test]
fn a_library_that_takes_callbacks() {
    let server = Server::builder().start();
    let mut client = server.connect();
    let library = library(
        &server,
        "#include <postgres.h>
         #include <fmgr.h>
         #include <utils/inval.h>
         PG_MODULE_MAGIC;
         static void nothing(Datum arg, Oid relation) {}
         void _PG_init(void) { for (int i = 0; i < 8; i++) CacheRegisterRelcacheCallback(nothing, 0); }",
    );
    client.run("SELECT 1 ORDER BY 1");
    assert!(client.batch_execute(&format!("LOAD '{library}'")).is_err());
    assert!(server.log().contains("FATAL:  out of relcache_callback_list slots"), "{}", server.log());
}

/// Whatever another library may read in the planner's hooks is complete, and its own hooks are called, whichever comes first.
#[test]
fn a_library_that_reads_all_that_hooks_are_shown() {
    let server = server_with_tables(&[]);
    let alone = answers(&mut server.connect(), QUERIES / 5);
    let reader = library(&server, include_str!("neighbours/reader.c"));
    for preload in [format!("sno, {reader}"), format!("{reader}, sno")] {
        server.configure("shared_preload_libraries", &preload);
        server.restart(Mode::Fast);
        let mut client = server.connect();
        compare(&preload, &alone, &answers(&mut client, QUERIES / 5));
        for hook in ["tables", "paths"] {
            let calls = |client: &mut Client| -> usize {
                text(client, &format!("SHOW reader.{hook}")).parse().unwrap()
            };
            let before = calls(&mut client);
            client.run("EXPLAIN SELECT FROM e WHERE sno_time(id) >= '2026-01-01Z' ORDER BY sno_time(id)");
            assert!(calls(&mut client) > before, "{preload}: {hook}");
        }
        assert_eq!(server.recoveries(), 0, "{preload}: {}", server.log());
    }
}
