//! What a role without rights plants under the names that the sources mention never runs as anybody else.
//!
//! The names are all that stand in the SQL files and in the texts of the library, those of statements that are executed as texts included. Under those
//! that stand where relations do, there are temporary views and tables; under those of PostgreSQL's types, domains; under those of its functions, and
//! for its operators, ones of the same and of similar arguments in a schema before `pg_catalog`. Whatever of it runs as another role than that of the
//! session takes a number of the sequence `ran`, which stays when the statement fails. Then all that the role may call is called.

use std::collections::BTreeSet;

use sno_tests::postgres::{Client, NoTls};
use sno_tests::{Mode, Server, Sql as _, sql_file, text};

use crate::schemas::plant_with;
use crate::{citus::made_up, files, root, sources};

/// The words in lower case of the SQL and of the texts in Rust, and those among them that stand where columns and relations do.
pub(crate) fn names() -> [Vec<String>; 3] {
    let is_remark = |line: &&str| line.trim_start().starts_with("--") || line.starts_with("COMMENT ON ");
    let sql = sources(".sql").into_iter();
    let sql =
        sql.map(|(_, text)| text.lines().filter(|line| !is_remark(line)).collect::<Vec<_>>().join("\n"));
    let rust = sources(".rs").into_iter();
    let rust = rust.map(|(_, text)| {
        text.replace("'\"'", "")
            .replace("\\\"", "")
            .split('"')
            .skip(1)
            .step_by(2)
            .collect::<Vec<_>>()
            .join(" ")
    });
    let mut found = [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()];
    for text in sql.chain(rust) {
        scan(&text, &mut found);
    }
    let [names, columns, relations] = &found;
    for name in ["pg_dist_node", "pg_stat_activity", "feed_failures", "own_key", "scope_horizon"] {
        assert!(names.contains(name), "{name}");
    }
    assert!(["feed_failures", "pg_dist_node"].iter().all(|name| relations.contains(*name)), "{relations:?}");
    assert!(["groupid", "noderole", "xact_start"].iter().all(|name| columns.contains(*name)), "{columns:?}");
    found.map(|set| set.into_iter().collect())
}

/// Of one text: names, columns and relations. Rather one too many: what stands after a comma in FROM can also be a column.
fn scan(text: &str, [names, columns, relations]: &mut [BTreeSet<String>; 3]) {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // The sign before the word, whether the word is in FROM, and whether a relation is to follow.
    let (mut before, mut is_in_from, mut is_relation) = (' ', false, false);
    for part in text.split_inclusive(|c: char| !is_of_word(c)) {
        let name = part.trim_end_matches(|c: char| !is_of_word(c));
        let after = part.chars().last().unwrap_or(' ');
        if name.len() > 1 && name == name.to_lowercase() && !name.starts_with(|c: char| c.is_ascii_digit()) {
            names.insert(name.to_owned());
            if before == '.' && after != '(' {
                columns.insert(name.to_owned());
            }
            if (is_relation || name.starts_with("pg_")) && after != '.' && after != '(' {
                relations.insert(name.to_owned());
            }
        }
        match name {
            "FROM" | "JOIN" | "INTO" | "UPDATE" | "TABLE" | "ONLY" => {
                (is_in_from, is_relation) = (true, true)
            }
            "SELECT" | "WHERE" | "SET" | "VALUES" | "GROUP" | "ORDER" | "HAVING" | "RETURNING" => {
                (is_in_from, is_relation) = (false, false);
            }
            // The name of a schema.
            _ if !name.is_empty() && after != '.' => is_relation = false,
            _ => {}
        }
        match after {
            ',' => is_relation = is_in_from,
            ';' => is_in_from = false,
            _ => {}
        }
        before = after;
    }
}

/// Relations are seen wherever a statement reads them.
#[test]
fn relations_in_statements() {
    let mut found = [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()];
    scan(
        "SELECT x.col, other_col FROM one x, two y CROSS JOIN three, s.four z, of_function(five) WHERE y.key IN (SELECT FROM six,
         ONLY seven) ORDER BY eight, nine; DELETE FROM ten USING eleven, twelve",
        &mut found,
    );
    for name in ["one", "two", "three", "four", "six", "seven", "ten", "twelve"] {
        assert!(found[2].contains(name), "{name}: {found:?}");
    }
    for name in ["other_col", "eight", "nine", "of_function"] {
        assert!(!found[2].contains(name), "{name}: {found:?}");
    }
}

/// A function that notes who runs it, and what calls it.
const SEED: &str = r#"
    CREATE FUNCTION trap.note() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF current_user OPERATOR(pg_catalog.<>) 'mallory' THEN
            PERFORM pg_catalog.nextval('public.ran');
        END IF;
    END
    $$;
    CREATE FUNCTION trap.value() RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM trap.note(); RETURN NULL; END';
    -- What a statement is likely to compare a column of this name with.
    CREATE FUNCTION trap.kind(name text) RETURNS text LANGUAGE sql AS $$
        SELECT coalesce((
            SELECT format_type(min(a.atttypid), NULL) FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
            WHERE a.attname = $1 AND a.attnum > 0 AND t.typtype = 'b' AND t.typnamespace = 'pg_catalog'::regnamespace
        ), CASE WHEN $1 LIKE '%id' THEN 'integer' ELSE 'text' END)
    $$;
    CREATE FUNCTION trap.fired() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM trap.note(); RETURN NULL; END';
    CREATE FUNCTION trap.is(pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN PERFORM trap.note(); RETURN true; END';"#;

/// The types of what is planted for functions and operators.
const OPERANDS: &str = "{int4,int8,text,name,bool,oid,timestamptz,interval,json,jsonb,regclass,xid}";

/// Those that are no types: the row type of a table of its name would be found instead.
const RELATIONS: &str = "ARRAY(SELECT r FROM unnest(TG_FOUND) r WHERE NOT EXISTS (
    SELECT FROM pg_type t WHERE t.typname = r AND t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype <> 'c'))";

/// For a view of the name of each relation, the columns that some statement takes from a relation.
const VIEWS: &str = r#"
    DO $do$
    DECLARE
        name text;
        columns text := (SELECT string_agg(format('CAST(trap.value() AS %s) AS %I', trap.kind(c), c), ', ') FROM unnest(TG_COLUMNS) c);
        relations text[] := TG_RELATIONS;
    BEGIN
        FOREACH name IN ARRAY relations LOOP
            BEGIN
                EXECUTE format('CREATE TEMP VIEW %I AS SELECT %s', name, columns);
            EXCEPTION WHEN duplicate_table OR duplicate_object THEN
            END;
        END LOOP;
    END
    $do$"#;

/// A table under the name of each relation, whose triggers fire also where a statement finds no row.
const TABLES: &str = r#"
    DO $do$
    DECLARE
        name text;
        columns text := (SELECT string_agg(format('%I %s DEFAULT CAST(trap.value() AS %2$s)', c, trap.kind(c)), ', ') FROM unnest(TG_COLUMNS) c
            WHERE c NOT IN ('xmin', 'xmax', 'cmin', 'cmax', 'ctid', 'tableoid'));
        relations text[] := TG_RELATIONS;
    BEGIN
        FOREACH name IN ARRAY relations LOOP
            EXECUTE format('CREATE TEMP TABLE %I (%s)', name, columns);
            EXECUTE format('CREATE TRIGGER t BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %I EXECUTE FUNCTION trap.fired()', name);
        END LOOP;
    END
    $do$"#;

/// Domains instead of PostgreSQL's types.
const TYPES: &str = r#"
    DO $do$
    DECLARE
        name text;
    BEGIN
        FOR name IN
            SELECT typname FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype = 'b' AND typelem = 0 AND typname = ANY (TG_NAMES)
        LOOP
            EXECUTE format('CREATE DOMAIN pg_temp.%I AS pg_catalog.%1$I CHECK (trap.is(VALUE::pg_catalog.text))', name);
        END LOOP;
    END
    $do$"#;

/// Each call that the role may make of functions of the extensions and of the scripts, several times, with values of the types of the arguments.
const CALLS: &str = r#"
    SELECT DISTINCT format(CASE prokind WHEN 'p' THEN 'CALL %I.%I(%s)' ELSE 'SELECT * FROM %I.%I(%s)' END, s.nspname, p.proname, coalesce((
            SELECT string_agg(CASE WHEN t = 'anyelement'::regtype THEN 'NULL::own.items' ELSE quote_nullable(v.samples -> format_type(t, NULL) ->> try) END, ', ' ORDER BY n)
            FROM unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY a(t, n)
            WHERE p.proargmodes IS NULL OR p.proargmodes[n] IN ('i', 'b') OR p.prokind = 'p'), ''))
    FROM pg_proc p JOIN pg_namespace s ON s.oid = p.pronamespace, generate_series(0, 3) try, (SELECT json_build_object(
        'regclass', '["own.items", "shop.items", "pg_class"]'::json, 'oid', json_build_array('own.items'::regclass::oid, 'shop.items'::regclass::oid, 1259),
        'text', '["own", "SELECT 1", "own.items"]'::json, 'name', '["id", "mallory", "x"]'::json, 'interval', '["0.1 s", "1 day", "0"]'::json,
        'timestamp with time zone', json_build_array(now(), now() - interval '1 day', '2026-01-01Z'),
        'timestamp without time zone', json_build_array(now()::timestamp, '2026-01-01', '2026-01-02'),
        'integer', '[1, 7, 0]'::json, 'bigint', '[1, 7, 99]'::json, 'smallint', '[1, 0, 7]'::json, 'boolean', '[true, false, null]'::json,
        'sno', json_build_array('2222222222222222', public.sno_lower(now())::text, 'xxxxxxxxxxxxxxxx'), 'uuid', json_build_array(gen_random_uuid(), gen_random_uuid()),
        'bytea', '["\\x0011", "\\x00112233445566778899aabbccddeeff"]'::json, 'cstring', '["2222222222222222", "x"]'::json,
        'json', '["{}", "[]"]'::json, 'uuid[]', '["{}"]'::json)) v(samples)
    WHERE p.prokind IN ('f', 'p') AND s.nspname IN ('public', 'sno_internal') AND has_function_privilege('mallory', p.oid, 'EXECUTE')
        AND p.prorettype NOT IN ('trigger'::regtype, 'internal'::regtype) AND NOT 'internal'::regtype = ANY (p.proargtypes::oid[])"#;

/// What the test would find, each as another role: a relation, an operator, a function and a type by their names alone.
const CONTROLS: [&str; 4] = [
    "CREATE FUNCTION public.control() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
         $$ BEGIN EXECUTE 'SELECT n.feed FROM feed_failures n WHERE n.owner = ''x'''; END $$",
    "CREATE FUNCTION public.control() RETURNS boolean LANGUAGE sql SECURITY DEFINER AS 'SELECT 1 OPERATOR(pg_catalog.=) 1 AND true = true AND 1 IN (1, 2)'",
    "CREATE FUNCTION public.control() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT lower(''X''::pg_catalog.text)'",
    "CREATE FUNCTION public.control() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$ DECLARE x timestamptz := '2026-01-01Z'; BEGIN RETURN true; END $$",
];

/// What else the role may do: it writes a table of another role whose changes are tracked, reads the views and a feed, and has feeds of its own.
const ELSE: &[&str] = &[
    "INSERT INTO shop.items VALUES (7, 1)",
    "UPDATE shop.items SET n = 2",
    "UPDATE shop.items SET id = 8 WHERE id = 7",
    "DELETE FROM shop.items",
    "TRUNCATE shop.items",
    "SELECT * FROM shop.items_changes",
    "SELECT * FROM public.sno_feeds()",
    "SELECT * FROM public.sno_horizon_holders()",
    "SELECT * FROM public.sno_generators()",
    "SELECT public.sno_create_feed('mine', 'own.items')",
    "INSERT INTO own.items (n) VALUES (1)",
    "CALL public.sno_wait_feed('mine', '0.2 s', NULL)",
    "BEGIN; CREATE TEMP TABLE read AS SELECT * FROM public.sno_feed('mine', NULL::own.items); COMMIT",
    "SELECT public.sno_seek_feed('mine', '-infinity')",
    "BEGIN; INSERT INTO read SELECT * FROM public.sno_feed('mine', NULL::own.items); SELECT public.sno_seek_feed('mine', after => '2222222222222222'); COMMIT",
    "SELECT public.sno_track_changes('own.items')",
    "SELECT public.sno_forget_changes('own.items')",
    "SELECT public.sno_untrack_changes('own.items')",
    "SELECT public.sno_drop_feed('mine')",
    "SELECT public.sno_create_feed('spread', 'own.spread', margin => '0')",
    "INSERT INTO own.spread (n) VALUES (1)",
    "CALL public.sno_wait_feed('spread', '0.2 s', NULL)",
    "BEGIN; CREATE TEMP TABLE read_spread AS SELECT * FROM public.sno_feed('spread', NULL::own.spread); COMMIT",
    "SELECT public.sno_seek_feed('spread', '-infinity')",
    "SELECT * FROM public.sno_peek_feed('spread', NULL::own.spread)",
    "SELECT public.sno_read_by_all('own.spread')",
    "SELECT public.sno_drop_feed('spread')",
];

/// What a database has.
#[derive(Clone, Copy, PartialEq)]
enum Has {
    Extensions,
    StandIn,
}

/// A database in which a role has a table whose changes are tracked, and another role, without rights, may change it.
fn database(server: &Server, creator: &str, has: Has) -> String {
    let name = format!("of_{creator}_{}", has as u8);
    server.run(&format!("CREATE DATABASE {name} OWNER {creator}"));
    let session = |user: &str| server.config().user(user).dbname(&name).connect(NoTls).unwrap();
    if has == Has::Extensions {
        session(creator).run("CREATE EXTENSION sno; CREATE EXTENSION sno_compat");
        session(creator).run(&sql_file("uuidv7.sql"));
        if creator == "citus" {
            session(creator).run(&format!(
                "CREATE EXTENSION citus; SELECT citus_set_coordinator_host('127.0.0.1', {port});
                 SELECT citus_set_node_property('127.0.0.1', {port}, 'shouldhaveshards', true); CREATE EXTENSION sno_citus",
                port = server.port()
            ));
        } else if creator == "postgres" {
            // As if it were a node of Citus, where superusers ask the others.
            made_up::database(&mut session(creator));
            session(creator).run(&format!(
                "CREATE EXTENSION sno_citus; ALTER DATABASE {name} SET citus.use_secondary_nodes = 'never';
                 CREATE OR REPLACE FUNCTION sno_internal.sno_joins_citus() RETURNS boolean LANGUAGE sql RETURN true"
            ));
        }
    } else {
        session(creator).run(&sql_file("stand-in.sql"));
    }
    session("postgres").run(
        "CREATE SCHEMA trap AUTHORIZATION mallory; CREATE SCHEMA own AUTHORIZATION mallory; CREATE SCHEMA shop AUTHORIZATION shop;
         CREATE SEQUENCE ran; GRANT USAGE ON SEQUENCE ran TO PUBLIC",
    );
    session("shop").run(
        "CREATE TABLE shop.items (id integer PRIMARY KEY, n integer); GRANT USAGE ON SCHEMA shop TO mallory;
         GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON shop.items TO mallory",
    );
    let mut mallory = session("mallory");
    if has == Has::Extensions {
        session("shop")
            .run("SELECT sno_track_changes('shop.items'); GRANT SELECT ON shop.items_changes TO mallory");
        mallory.run("CREATE TABLE own.items (id public.sno PRIMARY KEY DEFAULT public.sno_new(), n integer)");
        mallory
            .run("CREATE TABLE own.spread (id public.sno PRIMARY KEY DEFAULT public.sno_new(), n integer)");
        if creator == "postgres" {
            session(creator).run("INSERT INTO pg_dist_partition VALUES ('own.spread')");
        } else if creator == "citus" {
            session(creator).run("SELECT create_distributed_table('own.spread', 'id')");
        }
    } else {
        mallory.run("CREATE TABLE own.items (id public.sno PRIMARY KEY, n integer)");
    }
    mallory.run(SEED);
    name
}

/// The calls, of which there are so many at least.
fn calls(superuser: &mut Client, least: usize) -> Vec<String> {
    let calls: Vec<String> = superuser.query(CALLS, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    assert!(calls.len() > least, "{}", calls.len());
    ELSE.iter().map(|&call| call.to_owned()).chain(calls).collect()
}

#[test]
fn nothing_that_is_planted_runs_as_another_role() {
    let server = Server::builder().extension(false).conf("max_locks_per_transaction", "2000").start();
    nothing_runs_as_another_role(
        &server,
        &[
            ("postgres", Has::Extensions, [300, 100]),
            ("owner1", Has::Extensions, [300, 100]),
            ("owner1", Has::StandIn, [50, 30]),
        ],
    );
}

/// The same on a server with Citus.
pub(crate) fn nothing_runs_beside_citus(server: &Server) {
    server.configure("max_locks_per_transaction", "2000");
    server.restart(Mode::Fast);
    server.run("CREATE ROLE citus LOGIN SUPERUSER");
    nothing_runs_as_another_role(server, &[("citus", Has::Extensions, [300, 100])]);
}

/// In databases that these roles have created, where so many calls there are at least, and so many work.
fn nothing_runs_as_another_role(server: &Server, databases: &[(&str, Has, [usize; 2])]) {
    let found = names();
    let script = found[0].join(" ");
    let [names, columns, relations] = found.map(|names| format!("ARRAY['{}']", names.join("','")));
    server.run("CREATE ROLE mallory LOGIN; CREATE ROLE owner1 LOGIN; CREATE ROLE shop LOGIN");
    for &(creator, has, least) in databases {
        let name = database(server, creator, has);
        let session = |user: &str| server.config().user(user).dbname(&name).connect(NoTls).unwrap();
        let mut superuser = session("postgres");
        let calls = calls(&mut superuser, least[0]);
        let plant = |client: &mut Client, what: &str| {
            client.run(
                &what
                    .replace("TG_NAMES", &names)
                    .replace("TG_COLUMNS", &columns)
                    .replace("TG_RELATIONS", RELATIONS)
                    .replace("TG_FOUND", &relations),
            )
        };
        let body = "PERFORM trap.note(); RETURN NULL";
        plant_with(&mut session("mallory"), "trap", &script, OPERANDS, body);
        let mut found = [false; CONTROLS.len()];
        for what in [VIEWS, TABLES, TYPES] {
            let mut mallory = session("mallory");
            plant(&mut mallory, what);
            mallory.run("SET search_path = trap, pg_catalog, public; SET statement_timeout = '1s'");
            for (control, found) in CONTROLS.iter().zip(&mut found) {
                superuser.run(control);
                let _ = mallory.batch_execute("SELECT * FROM public.control()");
                *found |= text(&mut superuser, "SELECT is_called FROM ran") == "t";
                superuser.run("DROP FUNCTION public.control; ALTER SEQUENCE ran RESTART");
            }
            let mut worked = 0;
            for call in &calls {
                worked += usize::from(mallory.batch_execute(call).is_ok());
                let _ = mallory.batch_execute("ROLLBACK");
                assert_eq!(text(&mut superuser, "SELECT is_called FROM ran"), "f", "{name}: {call}");
            }
            assert!(worked > least[1], "{worked}");
        }
        assert_eq!(found, [true; CONTROLS.len()]);
    }
}

/// What `SECURITY.md` says is all that runs as somebody else, and all that others may do.
#[test]
fn rights_are_those_of_the_page() {
    let page = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let (_, section) = page.split_once("## Code that runs with another's rights").unwrap();
    // No other file becomes another role.
    let becomes = ["SECURITY DEFINER", " as_role(", " call_as(", "SetUserIdAndSecContext("];
    let texts = ["sql", "src", "shared/src", "compat", "core/src", "cli/src"]
        .into_iter()
        .flat_map(|folder| files(folder, &|_| true));
    let found: BTreeSet<String> = texts
        .filter(|(path, text)| {
            !["shared/src/pg/raw.rs", "cli/src/moving/catalog/findings/rights.sql"].contains(&&**path)
                && becomes.iter().any(|way| text.contains(way))
        })
        .map(|(path, _)| path)
        .collect();
    let said = section.split('`').skip(1).step_by(2).filter(|word| word.contains('/'));
    assert_eq!(found, said.map(str::to_owned).collect());
    for file in ["cli/src/moving/values.rs", "sql/uuidv7.sql"] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        assert_eq!(text.matches("SECURITY DEFINER").count(), 1, "{file}");
    }
    // The functions that a role reaches this way, and none of the extensions is SECURITY DEFINER.
    let server = Server::builder().extension(false).start();
    server.run("CREATE ROLE owner1 LOGIN");
    server.run("CREATE DATABASE own OWNER owner1");
    let session = |user: &str| server.config().user(user).dbname("own").connect(NoTls).unwrap();
    session("owner1").run("CREATE EXTENSION sno; CREATE EXTENSION sno_compat");
    let mut superuser = session("postgres");
    let own = "FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'";
    assert_eq!(text(&mut superuser, &format!("SELECT count(*) {own} WHERE p.prosecdef")), "0");
    let doors = format!(
        "SELECT p.oid::regproc::text {own} WHERE p.prosrc IN ('sno_as_owner', 'sno_as_owner_concurrently', 'sno_in_scope')"
    );
    for row in superuser.query(&doors, &[]).unwrap() {
        let name: String = row.get(0);
        assert!(section.contains(&format!("`{name}`")), "{name}");
    }
    let rights = "
        WITH object(kind, id, name, acl, owner) AS (
            SELECT 'pg_class'::regclass, c.oid, c.oid::regclass::text, coalesce(c.relacl, acldefault('r', c.relowner)), c.relowner FROM pg_class c
            UNION ALL SELECT 'pg_class'::regclass, c.oid, c.oid::regclass || '.' || a.attname, a.attacl, c.relowner
                FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            UNION ALL SELECT 'pg_namespace'::regclass, n.oid, n.nspname, coalesce(n.nspacl, acldefault('n', n.nspowner)), n.nspowner FROM pg_namespace n
            UNION ALL SELECT 'pg_proc'::regclass, p.oid, p.oid::regprocedure::text, p.proacl, p.proowner FROM pg_proc p
            UNION ALL SELECT 'pg_type'::regclass, t.oid, t.oid::regtype::text, t.typacl, t.typowner FROM pg_type t
        )
        SELECT format('%s: %s on %s', CASE a.grantee WHEN 0 THEN 'PUBLIC' WHEN 'owner1'::regrole THEN 'who created the extension' ELSE a.grantee::text END,
            a.privilege_type, o.name)
        FROM object o JOIN pg_depend d ON d.classid = o.kind AND d.objid = o.id AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass, aclexplode(o.acl) a
        WHERE a.grantee <> o.owner AND NOT (a.grantee = 0 AND o.kind IN ('pg_proc'::regclass, 'pg_type'::regclass))
        UNION ALL
        SELECT format('not to use: %s', t.oid::regtype) FROM pg_type t JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
        WHERE NOT EXISTS (SELECT FROM aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) a WHERE a.grantee = 0)
        UNION ALL
        SELECT format('not to execute: %s', p.oid::regprocedure) FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
        WHERE NOT EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0)";
    let rights: BTreeSet<String> =
        superuser.query(rights, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    let block = section.split_once("```text\n").unwrap().1.split_once("```").unwrap().0;
    assert_eq!(rights, block.lines().map(str::to_owned).collect());
}
