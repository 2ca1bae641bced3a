//! Schemas whose owners have put something in before the extension comes: both are trusted, so whoever may create in a
//! database chooses the schema, and what the superuser's script finds there must not become part of it.

use sno_tests::{Server, Sql as _, error, plan, text};

/// A better match than PostgreSQL's own, wherever the types are not exactly those of its functions and operators.
const TRAPS: &str = "
    CREATE SCHEMA trap;
    CREATE FUNCTION trap.same(oid, regclass) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''trapped''; END';
    CREATE FUNCTION trap.same(oid, regtype) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''trapped''; END';
    CREATE OPERATOR trap.= (FUNCTION = trap.same, LEFTARG = oid, RIGHTARG = regclass);
    CREATE OPERATOR trap.= (FUNCTION = trap.same, LEFTARG = oid, RIGHTARG = regtype);
    CREATE FUNCTION trap.format(text, text, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''trapped''; END';
    CREATE FUNCTION trap.format(text, name, name) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''trapped''; END';
    CREATE FUNCTION trap.quote_ident(name) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''trapped''; END';
    CREATE FUNCTION trap.sno_lower(text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''trapped''; END';
    CREATE FUNCTION trap.sno_lock_partitions(regclass, boolean, text, boolean) RETURNS void LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''trapped''; END';";

#[test]
fn names_in_the_scripts_mean_what_they_mean_in_postgresql() {
    let server = Server::builder().extension(false).start();
    let mut client = server.connect();
    client.run(TRAPS);
    client.run("CREATE EXTENSION sno SCHEMA trap; CREATE EXTENSION sno_compat SCHEMA trap");
    // SQL bodies keep what their names were resolved to.
    let caught = "SELECT d.objid::regprocedure::text FROM pg_depend d
        WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'n'
          AND EXISTS (SELECT FROM pg_depend e WHERE e.classid = d.classid AND e.objid = d.objid AND e.deptype = 'e')
          AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
          AND NOT EXISTS (SELECT FROM pg_depend e
                          WHERE e.classid = d.refclassid AND e.objid = d.refobjid AND e.deptype = 'e')
          AND d.refobjid >= 16384";
    let caught: Vec<String> = client.query(caught, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(caught, [""; 0]);
    client.run(
        "CREATE TABLE log (id trap.sno) PARTITION BY RANGE (id);
         SELECT trap.sno_create_partitions('log', '1 day', '2026-01-01Z', '2026-01-03Z')",
    );
    // Where the traps come before what is PostgreSQL's own.
    client.run("SET search_path = trap, pg_catalog");
    let maintain = "SELECT string_agg(action, ' ' ORDER BY action)
        FROM trap.sno_maintain_partitions('public.log', '1 day', 1, now() - '2026-01-02Z', drop_expired => true)";
    assert_eq!(text(&mut client, maintain), "created created dropped");
    let expire = "SELECT trap.sno_expire_partitions('public.log', '2026-01-03Z')";
    assert_eq!(text(&mut client, expire), "public.log_20260102");
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
