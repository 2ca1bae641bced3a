//! Where PostgreSQL looks for an operator that no schema was named for: in `search_path`, which is empty while a dump is
//! restored and while a subscriber copies rows, and in functions as linters want them. Everything here works with a
//! built-in type.

use std::collections::BTreeSet;

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, give_to_server, plan, text};

use crate::upgrades::{FILL, content, difference};

/// Each type, with two of its IDs, the lower one first.
const TYPES: [(&str, &str, &str); 4] = [
    ("sno", "9q7k4op826n2g222", "9q7k4op826n2g223"),
    ("uid60", "gAAAAAAAAA", "AZI9gACAQD"),
    ("uniqueid", "8000000000000000", "CB54ECF284000000"),
    ("gid", "5rLWQQkJdm-2dVseX433Zwhy", "5rMH4TvfXM-4FzkJ37568tQv"),
];

/// Expressions that compare without an operator, true for two different IDs.
fn expressions(a: &str, b: &str) -> [(&'static str, String); 3] {
    [
        ("distinct", format!("{a} IS DISTINCT FROM {b}")),
        ("nullif", format!("NULLIF({a}, {b}) IS NOT NULL")),
        ("cases", format!("CASE {a} WHEN {b} THEN false ELSE true END")),
    ]
}

/// Every kind of object that can hold such an expression, for every type and expression; then joins and rows of values,
/// which name no operator either, or one for all columns.
pub(crate) fn objects() -> String {
    let mut sql = "CREATE EXTENSION IF NOT EXISTS sno_compat;".to_owned();
    for (of, low, high) in TYPES {
        for (index, (name, expression)) in expressions("a", "b").iter().enumerate() {
            let with = |a: &str, b: &str| expressions(a, b)[index].1.clone();
            let (in_domain, in_trigger, in_rule) =
                (with("VALUE", &format!("'{high}'::{of}")), with("NEW.a", "OLD.b"), with("OLD.a", "NEW.b"));
            let t = format!("{of}_{name}");
            sql += &format!(
                "CREATE TABLE {t} (a {of}, b {of}, n integer, generated boolean GENERATED ALWAYS AS ({expression}) STORED,
                     CHECK ({expression}));
                 INSERT INTO {t} SELECT '{low}', '{high}', n FROM generate_series(1, 10) n;
                 CREATE DOMAIN {t}_domain AS {of} CHECK ({in_domain});
                 CREATE TABLE {t}_with_domain (id {t}_domain);
                 INSERT INTO {t}_with_domain VALUES ('{low}');
                 CREATE VIEW {t}_view AS SELECT *, {expression} AS answer FROM {t} WHERE {expression};
                 CREATE MATERIALIZED VIEW {t}_materialized AS SELECT * FROM {t} WHERE {expression};
                 CREATE INDEX {t}_partial ON {t} (n) WHERE {expression};
                 CREATE INDEX {t}_expression ON {t} (({expression}));
                 CREATE STATISTICS {t}_statistics ON n, ({expression}) FROM {t};
                 CREATE POLICY {t}_policy ON {t} USING ({expression});
                 CREATE TRIGGER {t}_trigger BEFORE UPDATE ON {t} FOR EACH ROW WHEN ({in_trigger})
                     EXECUTE FUNCTION suppress_redundant_updates_trigger();
                 CREATE RULE {t}_rule AS ON UPDATE TO {t} WHERE {in_rule} DO ALSO NOTHING;
                 CREATE FUNCTION {t}_return(a {of}, b {of}) RETURNS boolean LANGUAGE sql RETURN {expression};
                 CREATE FUNCTION {t}_atomic(a {of}, b {of}) RETURNS boolean LANGUAGE sql BEGIN ATOMIC SELECT {expression}; END;"
            );
        }
        sql += &format!(
            "CREATE TABLE {of}_left (id {of} PRIMARY KEY, n integer);
             INSERT INTO {of}_left VALUES ('{low}', 1), ('{high}', 2);
             CREATE TABLE {of}_right AS TABLE {of}_left;
             CREATE VIEW {of}_using AS SELECT id, l.n FROM {of}_left l JOIN {of}_right r USING (id);
             CREATE VIEW {of}_natural AS SELECT * FROM {of}_left NATURAL JOIN {of}_right;
             CREATE VIEW {of}_row AS SELECT * FROM {of}_left WHERE (id, n) > ('{low}', 0) AND (n, id) <= (2, '{high}');
             CREATE VIEW {of}_rows AS SELECT * FROM {of}_left WHERE (id, n) IN (SELECT id, n FROM {of}_right);"
        );
    }
    sql + "CREATE VIEW sno_time_row AS SELECT * FROM sno_left WHERE (sno_time(id), id) < (now(), '9q7k4op826n2g223');
           SELECT sno_create_feed('unread', 'sno_left'), sno_create_feed('plain', 'sno_left');
           CREATE TEMP TABLE read_plain AS SELECT sno_feed('plain', NULL::sno_left)"
}

/// All objects of a database that are nobody's members, and how many rows each table has.
pub(crate) fn inventory(client: &mut Client) -> BTreeSet<String> {
    let query = "
        WITH objects(classid, objid) AS (
            SELECT 'pg_class'::regclass, oid FROM pg_class WHERE relnamespace = 'public'::regnamespace
            UNION ALL SELECT 'pg_proc', oid FROM pg_proc UNION ALL SELECT 'pg_type', oid FROM pg_type WHERE typtype = 'd'
            -- 18 has constraints for NOT NULL.
            UNION ALL SELECT 'pg_constraint', oid FROM pg_constraint WHERE contype <> 'n'
            UNION ALL SELECT 'pg_attrdef', oid FROM pg_attrdef UNION ALL SELECT 'pg_rewrite', oid FROM pg_rewrite
            UNION ALL SELECT 'pg_trigger', oid FROM pg_trigger WHERE NOT tgisinternal
            UNION ALL SELECT 'pg_policy', oid FROM pg_policy UNION ALL SELECT 'pg_statistic_ext', oid FROM pg_statistic_ext
        ), own AS (
            SELECT * FROM objects o WHERE objid >= 16384 AND NOT EXISTS (
                SELECT FROM pg_depend d WHERE d.classid = o.classid AND d.objid = o.objid AND d.deptype = 'e')
        )
        SELECT pg_describe_object(classid, objid, 0) FROM own
        UNION ALL
        SELECT format('feed %s of %s up to %s', feed, source, position) FROM sno_feeds()";
    let mut all: BTreeSet<String> = client.query(query, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    for table in own_tables(client) {
        let rows: i64 = client.one(&format!("SELECT count(*) FROM {table}"));
        all.insert(format!("{table}: {rows} rows"));
    }
    all
}

/// Its tables and views that are nobody's members.
pub(crate) fn own_tables(client: &mut Client) -> Vec<String> {
    let tables = "SELECT c.oid::regclass::text FROM pg_class c
                  WHERE relkind IN ('r', 'm', 'v', 'p') AND relnamespace = 'public'::regnamespace AND NOT EXISTS (
                      SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')";
    client.query(tables, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

/// Restores dumps of a database, in each format, in as many ways as there are; all of it must come back. Returns a
/// session in each copy.
fn restored(server: &Server, source: &mut Client) -> Vec<Client> {
    let expected = inventory(source);
    let folder = tempfile::Builder::new().prefix("dump").tempdir_in(server.socket_folder()).unwrap();
    give_to_server(folder.path());
    let run = |program: &str, arguments: &[&str]| {
        let output = server.command(program).args(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{program} {arguments:?}: {errors}");
    };
    let psql = ["-X", "-q", "-o", "/dev/null", "-v", "ON_ERROR_STOP=1", "-f"];
    let restore = ["--exit-on-error", "--jobs", "2"];
    let mut copies = Vec::new();
    for (name, dump, program, how) in [
        ("plain", &["-Fp"][..], "psql", &psql[..]),
        ("inserts", &["-Fp", "--inserts", "--rows-per-insert=1000"], "psql", &psql),
        ("custom", &["-Fc"], "pg_restore", &restore[..1]),
        ("parallel", &["-Fc"], "pg_restore", &restore),
    ] {
        let file = folder.path().join(name).to_str().unwrap().to_owned();
        run("pg_dump", &[&["-d", "postgres", "-f", &file], dump].concat());
        server.run(&format!("CREATE DATABASE {name}"));
        // psql takes the file as the value of its last option.
        run(program, &[&["-d", name], how, &[&file]].concat());
        let mut copy = server.connect_to(name);
        assert_eq!(difference(&expected, &inventory(&mut copy)), "", "{name}");
        // Safe paths of their own, from 17 on.
        copy.run("ANALYZE");
        copy.run("REINDEX SCHEMA public");
        let refresh = "SELECT string_agg(format('REFRESH MATERIALIZED VIEW %s;', oid::regclass), '')
                       FROM pg_class WHERE relkind = 'm'";
        let refresh = text(&mut copy, refresh);
        copy.run(&refresh);
        assert_eq!(difference(&expected, &inventory(&mut copy)), "", "{name}");
        copies.push(copy);
    }
    copies
}

#[test]
fn objects_that_name_no_operator_are_restored() {
    let server = Server::builder().compat().start();
    let mut source = server.connect();
    source.run(&objects());
    source.run(FILL);
    let (all, rows) = (inventory(&mut source), content(&mut source));
    assert!(
        all.len() > 250 && all.contains("sno_time_row: 2 rows") && all.contains("gid_cases: 10 rows"),
        "{all:?}"
    );
    for mut copy in restored(&server, &mut source) {
        assert_eq!(content(&mut copy), rows);
        // They do what they did.
        let logged = "SELECT count(*) || ' ' || count(record) FROM items_changes WHERE id IN (1, 2)";
        copy.run("UPDATE items SET n = 0 WHERE id = 1; DELETE FROM items WHERE id = 2");
        assert_eq!(text(&mut copy, logged), "4 2");
        for (of, _, high) in TYPES {
            for (name, _) in expressions("a", "b") {
                let t = format!("{of}_{name}");
                let query = format!(
                    "SELECT concat(count(*), bool_and(generated), bool_and(answer), bool_and({t}_return(a, b)), bool_and({t}_atomic(a, b)))
                     FROM {t}_view"
                );
                assert_eq!(text(&mut copy, &query), "10tttt");
                let insert = format!("INSERT INTO {t} VALUES ('{high}', '{high}')");
                assert_eq!(code(&mut copy, &insert), "23514");
                let insert = format!("INSERT INTO {t}_with_domain VALUES ('{high}')");
                assert_eq!(code(&mut copy, &insert), "23514");
            }
        }
    }
}

/// As linters ask of functions that are SECURITY DEFINER; and for sessions whose path lacks the extension's schema.
#[test]
fn with_an_empty_search_path() {
    let server = Server::builder().extension(false).start();
    let mut client = server.connect();
    client.run("CREATE SCHEMA ext; CREATE EXTENSION sno SCHEMA ext; CREATE EXTENSION sno_compat SCHEMA ext");
    for (of, low, high) in TYPES {
        client.run(&format!(
            "SET search_path = public, ext;
             CREATE TABLE {of}_keys (id {of} PRIMARY KEY, n integer);
             INSERT INTO {of}_keys VALUES ('{low}', 1), ('{high}', 2);
             SET search_path = ''"
        ));
        let table = format!("public.{of}_keys");
        for (query, expected) in [
            (format!("SELECT n FROM {table} WHERE id = '{high}'"), "2"),
            (format!("SELECT n FROM {table} WHERE id <> '{high}'"), "1"),
            (format!("SELECT n FROM {table} WHERE id > '{low}'"), "2"),
            (format!("SELECT n FROM {table} WHERE id <= '{low}'"), "1"),
            (format!("SELECT n FROM {table} WHERE id BETWEEN '{low}' AND '{low}'"), "1"),
            (format!("SELECT count(*) FROM {table} WHERE id IN ('{low}', '{high}')"), "2"),
            (format!("SELECT count(*) FROM {table} WHERE id IN (SELECT id FROM {table})"), "2"),
            (format!("SELECT count(*) FROM {table} a JOIN {table} b USING (id)"), "2"),
            (format!("SELECT count(*) FROM {table} WHERE id IS DISTINCT FROM '{low}'"), "1"),
            (format!("SELECT count(*) FROM {table} WHERE (id, n) > ('{low}', 1)"), "1"),
            (format!("SELECT min(id) FROM {table}"), low),
            (format!("SELECT max(id)::text FROM {table}"), high),
        ] {
            assert_eq!(text(&mut client, &query).to_lowercase(), expected.to_lowercase(), "{query}");
        }
        client.run("SET enable_seqscan = off");
        let by_key = plan(&mut client, "COSTS off", &format!("SELECT n FROM {table} WHERE id = '{low}'"));
        assert!(by_key.contains(&format!("Index Scan using {of}_keys_pkey")), "{by_key}");
        let highest = plan(&mut client, "COSTS off", &format!("SELECT max(id) FROM {table}"));
        assert!(highest.contains("Index Only Scan Backward"), "{highest}");
    }
    for query in [
        "SELECT n FROM public.sno_keys WHERE id >= now() - interval '1 hour'",
        "SELECT n FROM public.sno_keys WHERE now() <= id",
    ] {
        let plan = plan(&mut client, "COSTS off", query);
        assert!(plan.contains("Index Cond: (id >= "), "{plan}");
    }
    client.run(
        "CREATE FUNCTION public.item(ext.sno) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS
             $$BEGIN RETURN (SELECT n FROM public.sno_keys WHERE id = $1); END$$",
    );
    assert_eq!(text(&mut client, "SELECT public.item('9q7k4op826n2g223')"), "2");
}
