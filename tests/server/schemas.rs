//! Schemas whose owners have put something in before the extension comes: both are trusted, so whoever may create in a
//! database chooses the schema, and what the superuser's script finds there must not become part of it.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, error, plan, sql_file, text};

use crate::planted::names;

/// Types of the arguments of what scripts call, each of which could be written instead of another one.
pub(crate) const TYPES_OF_SCRIPTS: &str = r#"{oid,regclass,regtype,regrole,regnamespace,text,name,varchar,"\"char\"",bpchar,
    timestamptz,timestamp,date,interval,time,int8,int4,int2,numeric,float8,bool}"#;

/// The same of the files without the extension.
const TYPES_OF_FILES: &str =
    "{oid,regclass,regproc,text,name,varchar,timestamptz,interval,int8,int4,numeric,float8,uuid,bool,bytea}";

/// Puts into a schema a better match than PostgreSQL's own for every function and operator of the script in `test.script`, wherever the
/// types are not exactly those of its arguments: all that could be written instead of a type, one argument at a time, or instead of any
/// type. And the same as PostgreSQL's own, for paths in which the schema comes first. All have one body.
const TRAPS: &str = r#"
    CREATE TEMP TABLE types AS SELECT unnest('TG_TYPES'::regtype[]) AS type;
    DO $do$
    DECLARE
        words text[] := regexp_split_to_array(current_setting('test.script'), '[^a-z0-9_]+');
        body text := 'LANGUAGE plpgsql AS $$BEGIN TG_BODY; END$$';
        planted integer := 0;
        trap record;
    BEGIN
        FOR trap IN
            SELECT format('%I(%s)', proname, new) AS name, min(prorettype::regtype::text) AS result
            FROM pg_proc p, generate_subscripts(proargtypes, 1) place, types instead,
                LATERAL (SELECT string_agg(CASE WHEN i = place THEN instead.type ELSE t END::regtype::text, ', ' ORDER BY i) AS new
                         FROM unnest(proargtypes) WITH ORDINALITY a(t, n), LATERAL (SELECT n - 1 AS i) i) changed
            WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND NOT proretset
                AND proargtypes[place] IN (TABLE types) AND proname = ANY (words)
                AND NOT EXISTS (SELECT FROM pg_type t WHERE t.oid = ANY (prorettype || proargtypes::oid[]) AND typtype = 'p')
            GROUP BY 1
            UNION ALL
            SELECT DISTINCT format('%I(%s)', p.proname, new), CASE WHEN t.typtype = 'p' THEN 'text' ELSE t.oid::regtype::text END
            FROM pg_proc p JOIN pg_type t ON t.oid = p.prorettype, types instead, LATERAL (
                SELECT string_agg(CASE WHEN y.typname IN ('anyarray', 'anycompatiblearray') THEN instead.type || '[]'
                    WHEN y.typname LIKE 'any%' THEN instead.type::text ELSE format_type(y.oid, NULL) END, ', ' ORDER BY n) AS new
                FROM unnest(p.proargtypes) WITH ORDINALITY a(t, n) JOIN pg_type y ON y.oid = a.t
            ) changed
            WHERE p.pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND proname = ANY (words) AND new <> ''
                AND EXISTS (SELECT FROM pg_type y WHERE y.oid = ANY (p.proargtypes) AND typname LIKE 'any%')
                AND NOT EXISTS (SELECT FROM pg_type y WHERE y.oid = ANY (p.proargtypes) AND (typname LIKE '%range' OR typname IN ('internal', 'anyenum')))
        LOOP
            EXECUTE format('CREATE OR REPLACE FUNCTION TG_SCHEMA.%s RETURNS %s %s', trap.name, trap.result, body);
            planted := planted + 1;
        END LOOP;
        -- With more arguments of any type.
        FOR trap IN SELECT array_to_string(array_fill(type, ARRAY[n]), ', ') AS types FROM types, generate_series(1, 6) n LOOP
            EXECUTE format('CREATE OR REPLACE FUNCTION TG_SCHEMA.format(text, %s) RETURNS text %s', trap.types, body);
        END LOOP;
        FOR trap IN
            SELECT DISTINCT o.oprname AS name, l.type AS l, r.type AS r,
                CASE o.oprresult WHEN 'boolean'::regtype THEN 'boolean' WHEN 'text'::regtype THEN 'text' ELSE l.type::text END AS result
            FROM types l, types r, pg_operator o
            WHERE o.oprname = ANY ('{=,<>,<,<=,>,>=,||,+,-,~,!~,~~,*,/,%,&,|,<<,>>,->,->>,@>,&&}') AND o.oprcode IN (SELECT p.oid FROM pg_proc p WHERE p.proname IN
                ('int4eq', 'int4ne', 'int4lt', 'int4le', 'int4gt', 'int4ge', 'textcat', 'int4pl', 'int4mi', 'textregexeq', 'textregexne',
                    'textlike', 'json_object_field', 'json_object_field_text', 'arraycontains', 'arrayoverlap', 'int4mul', 'int4div', 'int4mod',
                    'int4and', 'int4or', 'int4shl', 'int4shr'))
        LOOP
            EXECUTE format('CREATE OR REPLACE FUNCTION TG_SCHEMA.caught_%s(%s, %s) RETURNS %4$s %s',
                CASE WHEN trap.result IN ('boolean', 'text') THEN trap.result ELSE 'left' END, trap.l, trap.r, trap.result, body);
            EXECUTE format('CREATE OPERATOR TG_SCHEMA.%s (FUNCTION = TG_SCHEMA.caught_%s, LEFTARG = %s, RIGHTARG = %s)',
                trap.name, CASE WHEN trap.result IN ('boolean', 'text') THEN trap.result ELSE 'left' END, trap.l, trap.r);
            planted := planted + 1;
        END LOOP;
        ASSERT planted > 1000, planted;
    END
    $do$;
    -- What exists for any types.
    CREATE OR REPLACE FUNCTION TG_SCHEMA.num_nonnulls(regclass, text) RETURNS integer LANGUAGE plpgsql AS 'BEGIN TG_BODY; END';"#;

/// What has been resolved to the traps: SQL bodies, views, defaults and constraints keep what their names meant.
const CAUGHT: &str = "
    SELECT pg_describe_object(d.classid, d.objid, 0) || ' has ' || pg_describe_object(d.refclassid, d.refobjid, 0)
    FROM pg_depend d LEFT JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
    JOIN pg_proc p ON p.oid = CASE d.refclassid WHEN 'pg_proc'::regclass THEN d.refobjid ELSE o.oprcode END
    WHERE d.classid IN ('pg_proc'::regclass, 'pg_rewrite'::regclass, 'pg_attrdef'::regclass, 'pg_constraint'::regclass)
        AND d.deptype = 'n' AND p.prosrc LIKE '%trapped%'";

/// Plants the traps for a script in a schema: functions that fail.
pub(crate) fn plant(client: &mut Client, schema: &str, script: &str, types: &str) {
    client.run(&format!("CREATE SCHEMA IF NOT EXISTS {schema}"));
    plant_with(client, schema, script, types, "RAISE EXCEPTION ''trapped''");
}

/// Plants functions that do something else.
pub(crate) fn plant_with(client: &mut Client, schema: &str, script: &str, types: &str, body: &str) {
    client.query("SELECT set_config('test.script', $1, false)", &[&script]).unwrap();
    client.run("SET search_path = pg_catalog, pg_temp");
    client.run(&TRAPS.replace("TG_TYPES", types).replace("TG_SCHEMA", schema).replace("TG_BODY", body));
    client.run("RESET search_path");
}

fn caught(client: &mut Client) -> Vec<String> {
    client.query(CAUGHT, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

/// Once the extensions are there: for each of their functions, whatever its schema, one of its name in the schema of the extensions, with
/// another type for one argument at a time. Returns how many there are.
const OWN_TRAPS: &str = r#"
    DO $do$
    DECLARE
        trap record;
        planted integer := 0;
    BEGIN
        FOR trap IN
            SELECT DISTINCT format('%s trap.%I(%s)%s', CASE prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, proname, new,
                CASE WHEN prokind <> 'p' THEN ' RETURNS ' || CASE WHEN t.typtype = 'p' THEN 'integer' ELSE t.oid::regtype::text END END) AS head
            FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
                JOIN pg_type t ON t.oid = p.prorettype,
                generate_subscripts(proargtypes, 1) place, types instead,
                LATERAL (SELECT string_agg(CASE WHEN i = place THEN instead.type ELSE a.t END::regtype::text, ', ' ORDER BY i) AS new
                         FROM unnest(proargtypes) WITH ORDINALITY a(t, n), LATERAL (SELECT n - 1 AS i) i) changed
            WHERE prokind IN ('f', 'p') AND pronamespace IN ('trap'::regnamespace, 'sno_internal'::regnamespace)
                AND NOT proargtypes::oid[] && '{internal, cstring}'::regtype[]::oid[]
        LOOP
            BEGIN
                EXECUTE 'CREATE ' || trap.head || ' LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION ''trapped''; END$$';
                planted := planted + 1;
            EXCEPTION WHEN duplicate_function OR invalid_function_definition THEN
                -- It is the function itself, or another one of its name.
            END;
        END LOOP;
        PERFORM set_config('test.planted', planted::text, false);
    END
    $do$"#;

/// Which functions in PL/pgSQL of the extension no call has entered.
const NOT_ENTERED: &str = "
    SELECT coalesce(string_agg(p.oid::regprocedure::text, ' '), '')
    FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
    JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'plpgsql'
    WHERE NOT EXISTS (SELECT FROM pg_stat_user_functions f WHERE f.funcid = p.oid)";

/// Types instead of PostgreSQL's.
const TYPES: &str = r#"
    CREATE FUNCTION trap.trap(anyelement) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''trapped''; END';
    CREATE DOMAIN trap.text AS pg_catalog.text CHECK (trap.trap(VALUE)); CREATE DOMAIN trap.bool AS pg_catalog.bool CHECK (trap.trap(VALUE));
    CREATE DOMAIN trap."interval" AS pg_catalog."interval" CHECK (trap.trap(VALUE)); CREATE TYPE trap.record AS (n pg_catalog.int4)"#;

/// The same of the files for servers without the extension, in whose schema others may create: nothing of theirs is called, neither when the
/// file is run, nor later.
#[test]
fn names_in_the_files_mean_what_they_mean_in_postgresql() {
    for (file, calls) in [
        (
            "uuidv7.sql",
            &[
                "SELECT uuidv7_version(), uuidv7_time(sno_uuid(1)), uuidv7_lower(now()), uuidv7_upper(now()), uuidv7_between(sno_uuid(), now(), now())",
                "SELECT sno_uuid_metabyte(sno_uuid(7)), sno_uuid_server(), sno_uuid_server(sno_uuid())",
                "CREATE TABLE public.events (id uuid PRIMARY KEY DEFAULT sno_uuid(1), n integer); INSERT INTO public.events (n) VALUES (1), (2)",
                "INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('export', 'public.events', '0'); SELECT pg_sleep(0.02)",
                "SELECT uuidv7_settled('public.events'), uuidv7_horizon('public.events', '1 s')",
                "DO $$ BEGIN ASSERT (SELECT n FROM uuidv7_peek_feed('export', NULL::public.events, 1)) OPERATOR(pg_catalog.=) 1; END $$",
            ][..],
        ),
        (
            "stand-in.sql",
            &[
                "SELECT sno_time('9q7k4op826n2g222'), sno_inspect('9q7k4op826n2g222'), sno_lower(now()), sno_upper(now())",
                "SELECT sno_make(now(), 1, 2, 3, true), sno_with_metabyte('9q7k4op826n2g222', 7), sno_between('9q7k4op826n2g222', now(), now())",
                "SELECT uuidv7_to_sno(sno_to_uuidv7('9q7k4op826n2g222')), '9q7k4op826n2g222'::sno OPERATOR(pg_catalog.<) now()",
            ],
        ),
    ] {
        let server = Server::builder().extension(false).start();
        let mut client = server.connect();
        let script = sql_file(file);
        plant(&mut client, "trap", &script, TYPES_OF_FILES);
        client.run("SET search_path = trap");
        if file == "uuidv7.sql" {
            // What is in the way is described.
            client.run(
                "CREATE ROLE other; GRANT ALL ON SCHEMA trap TO other; SET ROLE other;
                 CREATE FUNCTION uuidv7_version() RETURNS text LANGUAGE sql AS 'SELECT NULL'; RESET ROLE",
            );
            assert_eq!(code(&mut client, &script), "42501");
            client.run("DROP FUNCTION uuidv7_version()");
        }
        client.run(&script);
        for call in calls {
            client.run(call);
        }
        client.run("RESET search_path");
        assert_eq!(caught(&mut client), [""; 0], "{file}");
    }
}

/// Who owns the schema of the extension can put functions there that match a call better than PostgreSQL's, or the extension's own. Neither the
/// scripts mean any of them, nor does what a superuser calls, with exact types, also where they come before what is PostgreSQL's own.
#[test]
fn names_in_the_scripts_mean_what_they_mean_in_postgresql() {
    let server = Server::builder().compat().extension(false).conf("track_functions", "pl").start();
    let mut client = server.connect();
    plant(&mut client, "trap", &names()[0].join(" "), TYPES_OF_SCRIPTS);
    client.run("CREATE EXTENSION sno SCHEMA trap; CREATE EXTENSION sno_compat SCHEMA trap");
    assert_eq!(caught(&mut client), [""; 0]);
    client.run(OWN_TRAPS);
    let planted: i32 = text(&mut client, "SELECT current_setting('test.planted')").parse().unwrap();
    assert!(planted > 2500, "{planted}");
    client.run(TYPES);
    client.run(
        "CREATE TABLE log (id trap.sno PRIMARY KEY DEFAULT trap.sno_new(1::integer), n integer) PARTITION BY RANGE (id);
         CREATE TABLE items (id varchar(9), n integer, PRIMARY KEY (id, n));
         CREATE TABLE twice (LIKE log INCLUDING ALL);
         SET search_path = trap, pg_catalog",
    );
    // Each once: all functions for users that are not operators or conversions.
    for call in [
        "SELECT trap.sno_create_partitions('public.log'::regclass, '1 day'::interval, '2026-01-01Z'::timestamptz, '2026-01-03Z'::timestamptz)",
        "SELECT trap.sno_maintain_partitions('public.log'::regclass, '1 day'::interval, 1::integer, '1 day'::interval, true::boolean, false::boolean)",
        "SELECT trap.sno_partitions('public.log'::regclass)",
        "SELECT trap.sno_create_feed('log'::text, 'public.log'::regclass, '-infinity'::timestamptz, 'id'::name, '0'::interval, false::boolean)",
        "SELECT trap.sno_create_feed('twice'::text, 'public.twice'::regclass, '-infinity'::timestamptz, 'id'::name, '0'::interval, true::boolean)",
        "INSERT INTO public.log (n) SELECT generate_series(1::integer, 3::integer); INSERT INTO public.twice (n) VALUES (1::integer)",
        "CALL trap.sno_wait_feed('log'::text, '5 s'::interval, NULL::boolean, 'public.log'::regclass)",
        "CREATE TEMP TABLE read AS SELECT n FROM trap.sno_feed('log'::text, NULL::public.log, 1::integer); DROP TABLE read",
        "BEGIN; SELECT n FROM trap.sno_peek_feed('log'::text, NULL::public.log, 1::integer);
         SELECT trap.sno_advance_feed('log'::text, '2222222222222223'::trap.sno, 'public.log'::regclass); COMMIT",
        "SELECT trap.sno_fail_feed('log'::text, (SELECT pg_catalog.min(id) FROM public.log), 'error'::text, NULL::trap.sno, '0'::interval, 'public.log'::regclass)",
        "CALL trap.sno_wait_feed('twice'::text, '5 s'::interval, NULL::boolean, NULL::regclass)",
        "BEGIN; CREATE TEMP TABLE read AS SELECT n FROM trap.sno_feed('twice'::text, NULL::public.twice, 2::integer); DROP TABLE read;
         SELECT trap.sno_seek_feed('twice'::text, NULL::timestamptz, '2222222222222222'::trap.sno, NULL::regclass); COMMIT",
        "SELECT trap.sno_seek_feed('twice'::text, NULL::timestamptz, 'xxxxxxxxxxxxxxxx'::trap.sno, NULL::regclass)",
        "CALL trap.sno_wait_read('log'::text, '2222222222222222'::trap.sno, '1 s'::interval, NULL::boolean, 'public.log'::regclass)",
        "CALL trap.sno_wait_read('log'::text, 'xxxxxxxxxxxxxxxx'::trap.sno, '10 ms'::interval, NULL::boolean, NULL::regclass)",
        "SELECT trap.sno_seek_feed('log'::text, '-infinity'::timestamptz, NULL::trap.sno, 'public.log'::regclass)",
        "SELECT trap.sno_read_by_all('public.log'::regclass)",
        "CREATE TABLE public.keyed (id trap.sno PRIMARY KEY); SELECT trap.sno_refuse_old_keys('public.keyed'::regclass, NULL::name)",
        "DO 'BEGIN INSERT INTO public.keyed VALUES (''2222222222222222''::trap.sno); EXCEPTION WHEN check_violation THEN END'",
        "CREATE TABLE public.lists (id trap.sno DEFAULT trap.sno_new(), n integer, PRIMARY KEY (id, n)) PARTITION BY LIST (n);
         CREATE TABLE public.list_1 PARTITION OF public.lists FOR VALUES IN (1); CREATE TABLE public.list_2 PARTITION OF public.lists FOR VALUES IN (2);
         SELECT trap.sno_refuse_old_keys('public.lists'::regclass, NULL::name); INSERT INTO public.lists (n) VALUES (1)",
        "SELECT pg_catalog.pg_sleep(0.02); UPDATE public.lists SET n = 2::integer",
        "SELECT trap.sno_lower_horizon()",
        "SELECT trap.sno_create_partitions('public.log'::regclass, '1 day'::interval, '2026-01-01Z'::timestamptz, '2026-01-02Z'::timestamptz);
         SELECT trap.sno_expire_partitions('public.log'::regclass, '2026-01-02Z'::timestamptz, false::boolean, true::boolean);
         SELECT trap.sno_expire_partitions('public.log'::regclass, '2026-01-02Z'::timestamptz, false::boolean, false::boolean)",
        "SELECT trap.sno_track_changes('public.items'::regclass, 7::integer)",
        "SELECT trap.sno_track_changes('public.items'::regclass, NULL::integer)",
        "INSERT INTO public.items VALUES ('a'::varchar, 1::integer); UPDATE public.items SET n = 2::integer; TRUNCATE public.items",
        "SELECT trap.sno_create_feed('changes'::text, 'public.items_changes'::regclass, '-infinity'::timestamptz, 'changed'::name, '0'::interval, false::boolean)",
        "SELECT pg_catalog.pg_sleep(0.02)",
        "CREATE TEMP TABLE read AS SELECT id FROM trap.sno_feed('changes'::text, NULL::public.items_changes, 1000::integer); DROP TABLE read",
        "UPDATE sno_internal.feed_positions SET moved = '2026-01-01Z' WHERE feed OPERATOR(pg_catalog.=) 'changes'",
        "INSERT INTO public.items VALUES ('b'::varchar, 1::integer); SELECT pg_catalog.pg_sleep(0.02)",
        "CREATE TEMP TABLE read AS SELECT id FROM trap.sno_feed('changes'::text, NULL::public.items_changes, 1000::integer); DROP TABLE read",
        "SELECT trap.sno_forget_changes('public.items'::regclass)",
        "SELECT trap.sno_readers('public.items_log'::regclass)",
        "SELECT trap.sno_drop_feed('changes'::text, 'postgres'::name)",
        "SELECT trap.sno_untrack_changes('public.items'::regclass)",
        "CREATE TABLE public.parts (id integer PRIMARY KEY) PARTITION BY RANGE (id);
         CREATE TABLE public.part PARTITION OF public.parts FOR VALUES FROM (1) TO (2);
         SELECT trap.sno_track_changes('public.parts'::regclass, NULL::integer);
         CREATE TABLE public.part_2 PARTITION OF public.parts FOR VALUES FROM (2) TO (3); INSERT INTO public.parts VALUES (2::integer);
         ALTER TABLE public.parts ADD c double precision DEFAULT pg_catalog.random();
         SELECT trap.sno_untrack_changes('public.parts'::regclass)",
        "SELECT trap.sno_create_feed('keyed'::text, 'public.keyed'::regclass, '-infinity'::timestamptz, 'id'::name, '0'::interval, true::boolean)",
        "SELECT trap.sno_seek_feed('keyed'::text, NULL::timestamptz, '3222222222222222'::trap.sno, NULL::regclass)",
        "SELECT trap.sno_create_feed('lists'::text, 'public.lists'::regclass, '-infinity'::timestamptz, 'id'::name, '0'::interval, true::boolean);
         SELECT trap.sno_seek_feed('lists'::text, NULL::timestamptz, '3222222222222222'::trap.sno, NULL::regclass);
         ALTER TABLE public.lists DETACH PARTITION public.list_2; ALTER TABLE public.lists ATTACH PARTITION public.list_2 FOR VALUES IN (2);
         DROP TABLE public.list_1; CREATE PUBLICATION all_of_it FOR ALL TABLES",
        "SELECT trap.sno_horizon('0'::interval), trap.sno_holds_horizon('xxxxxxxxxxxxxxxx'::trap.sno), trap.sno_generator()",
        "SELECT * FROM trap.sno_feeds(); SELECT * FROM trap.sno_horizon_holders(); SELECT * FROM trap.sno_generators(); SELECT * FROM trap.sno_compat_generators()",
    ] {
        // Not the type of the trap.
        client.run(&call.replace("::text", "::pg_catalog.text"));
    }
    client.run("RESET search_path; SELECT pg_stat_force_next_flush()");
    assert_eq!(text(&mut client, NOT_ENTERED), "");
}

/// Functions that return another type than the library makes would hand out its memory.
#[test]
fn another_type_of_the_same_name() {
    let server = Server::builder().start();
    server.run("CREATE ROLE alice LOGIN; CREATE SCHEMA own AUTHORIZATION alice; GRANT CREATE ON DATABASE postgres TO alice");
    let mut client = server.connect_as("alice");
    client.run("CREATE DOMAIN own.sno AS text");
    let refused = error(&mut client, "CREATE EXTENSION sno_compat SCHEMA own");
    assert_eq!(refused.code().code(), "42710");
    assert_eq!(refused.message(), "type \"sno\" of the chosen schema does not belong to the extension sno");
    client.run("DROP DOMAIN own.sno; CREATE EXTENSION sno_compat SCHEMA own");
    client.run("SELECT own.uid60_to_sno('AZI9gACAQD', 0)");
}

/// Whoever may query a view need not be allowed to use the schema that the extension is in.
#[test]
fn conditions_on_time_for_users_without_the_schema() {
    let server = Server::builder().extension(false).start();
    server.run(
        "CREATE SCHEMA ext; CREATE EXTENSION sno SCHEMA ext;
             SET search_path = public, ext;
             CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(1));
             CREATE INDEX ON log (id) WHERE id >= '2026-01-01Z'::timestamptz;
             INSERT INTO log SELECT FROM generate_series(1, 100);
             CREATE VIEW recent AS SELECT * FROM log WHERE id >= now() - interval '1 hour';
             CREATE ROLE reader LOGIN;
             GRANT SELECT ON log, recent TO reader;",
    );
    let mut client = server.connect_as("reader");
    for query in ["SELECT count(*) FROM recent", "SELECT count(*) FROM log"] {
        assert_eq!(client.one::<i64>(query), 100, "{query}");
    }
    // The condition on time has become one on IDs, by functions of the schema.
    let plan = plan(&mut client, "COSTS off", "SELECT count(*) FROM recent");
    assert!(plan.contains("ext.sno_lower((now() "), "{plan}");
}

/// Text in a function is found by the path of the session in which it runs, which any role can put a type or an operator into, unless the function
/// says where it looks.
#[test]
fn every_function_says_where_it_looks() {
    let server = Server::builder().compat().start();
    let mut client = server.connect();
    client.run(&sql_file("uuidv7.sql"));
    let looking = "SELECT string_agg(p.oid::regprocedure::text, ', ' ORDER BY 1) FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
        WHERE (l.lanname = 'plpgsql' OR l.lanname = 'sql' AND p.prosqlbody IS NULL) AND p.oid >= 16384
            AND NOT EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c LIKE 'search_path=pg\\_catalog, %pg\\_temp')";
    // It finds tables by the names in the command, and says pg_catalog of all else.
    assert_eq!(text(&mut client, looking), "sno_internal.follow_ddl()");
}
