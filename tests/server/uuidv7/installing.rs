//! The file is installed, by whom and where; what is there stays; a dump brings it back.

use std::process::Output;

use sno_tests::{Server, Sql as _, code, error, give_to_server, next_tick, sql_file, text};

use super::{ITEMS, next, none, start};

/// The file by `psql -1 -f`, as some role.
fn install(server: &Server, role: &str) -> Output {
    let file = server.socket_folder().join("uuidv7.sql");
    std::fs::write(&file, sql_file("uuidv7.sql")).unwrap();
    give_to_server(&file);
    let mut psql = server.command("psql");
    psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", role, "-d", "postgres", "-1", "-f"]).arg(file);
    psql.output().unwrap()
}

#[test]
fn the_server_number_is_drawn() {
    let server = Server::builder().extension(false).start();
    let drawn = |_| {
        assert!(install(&server, "postgres").status.success());
        let number: i32 = server.connect().one("SELECT sno_uuid_server(sno_uuid())");
        server.run("DROP FUNCTION sno_uuid_server() CASCADE");
        number
    };
    let numbers = [0; 3].map(drawn);
    assert!(
        numbers != [numbers[0]; 3] && numbers.iter().all(|number| (0..256).contains(number)),
        "{numbers:?}"
    );
}

#[test]
fn it_is_installed_by_a_role_without_rights() {
    let server = Server::builder().extension(false).start();
    server.run(
        "CREATE ROLE owner LOGIN; CREATE ROLE app LOGIN; CREATE SCHEMA own AUTHORIZATION owner;
         GRANT USAGE ON SCHEMA own TO app; ALTER ROLE ALL SET search_path = own",
    );
    let output = install(&server, "owner");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let (mut client, mut app) = (server.connect(), server.connect_as("app"));
    none(
        &mut client,
        "SELECT oid::regprocedure::text FROM pg_proc
         WHERE pronamespace = 'own'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL
         UNION ALL SELECT oid::regclass::text FROM pg_class
         WHERE relnamespace = 'own'::regnamespace AND relkind IN ('r', 'S') AND obj_description(oid, 'pg_class') IS NULL",
    );
    // What applications need, without any further right.
    server.connect_as("owner").run(
        "CREATE TABLE items (id uuid PRIMARY KEY DEFAULT sno_uuid(1)); GRANT SELECT, INSERT ON items TO app",
    );
    app.run("INSERT INTO items DEFAULT VALUES");
    app.run("SELECT min(id), max(id), uuidv7_horizon('items') FROM items");
    assert_eq!(code(&mut app, "SELECT * FROM uuidv7_peek_feed('a', NULL::items)"), "42501");
    server.connect_as("owner").run(
        "GRANT SELECT, UPDATE ON uuidv7_feeds TO app; INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('a', 'items', '0')",
    );
    next_tick();
    let read =
        "SELECT count(*) || ' ' || uuidv7_advance_feed('a', max(id)) FROM uuidv7_peek_feed('a', NULL::items)";
    assert_eq!(text(&mut app, read), "1 true");
    // Once more: it leaves what it has no newer form of.
    server.connect_as("owner").run(
        "CREATE OR REPLACE FUNCTION sno_uuid_server() RETURNS integer LANGUAGE SQL STABLE RETURN 42;
         CREATE INDEX ON items (uuidv7_time(id)); CREATE VIEW latest AS SELECT max(id) FROM items",
    );
    let kept = "SELECT sno_uuid_server() || ' ' || last_value || ' ' || position || ' '
                    || (SELECT count(*) FROM pg_proc WHERE pronamespace = 'own'::regnamespace)
                FROM sno_uuid_counter, uuidv7_feeds";
    let before = text(&mut client, kept);
    let output = install(&server, "owner");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&mut client, kept), before);
    app.run("INSERT INTO items DEFAULT VALUES");
    next_tick();
    assert_eq!(text(&mut app, read), "1 true");
    // Whose start the owner may not see, holds all.
    app.run("BEGIN; INSERT INTO items DEFAULT VALUES");
    let mut owner = server.connect_as("owner");
    let hidden = error(&mut owner, "SELECT uuidv7_horizon('items')");
    assert_eq!(hidden.code().code(), "42501");
    assert_eq!(hidden.message(), "cannot see when a transaction started");
    client.run("GRANT pg_read_all_stats TO owner");
    owner.run("SELECT uuidv7_horizon('items')");
    app.run("COMMIT");
    client.run("SET track_activities = off; BEGIN; INSERT INTO items DEFAULT VALUES");
    assert_eq!(code(&mut owner, "SELECT uuidv7_horizon('items')"), "42501");
}

/// A migration runs it in a transaction of its own, in whatever schema. What others put there later is not called.
#[test]
fn it_works_in_a_schema_of_any_name() {
    let server = Server::builder().extension(false).start();
    let mut client = server.connect();
    client.run(r#"CREATE SCHEMA "Ev""il; --"; SET search_path = "Ev""il; --""#);
    let mut migration = client.transaction().unwrap();
    migration.run(&sql_file("uuidv7.sql"));
    migration.commit().unwrap();
    client.run(
        r#"CREATE TABLE "It's %I" ("K""ey" uuid PRIMARY KEY DEFAULT sno_uuid(), n integer);
           CREATE FUNCTION trap(oid, regclass) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
           CREATE FUNCTION trap(oid, regtype) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
           CREATE FUNCTION trap(regclass, oid) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
           CREATE OPERATOR = (FUNCTION = trap, LEFTARG = oid, RIGHTARG = regclass);
           CREATE OPERATOR = (FUNCTION = trap, LEFTARG = oid, RIGHTARG = regtype);
           CREATE OPERATOR <> (FUNCTION = trap, LEFTARG = regclass, RIGHTARG = oid);
           CREATE FUNCTION format(text, name, regclass) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
           CREATE FUNCTION pg_typeof("It's %I") RETURNS regtype LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
           INSERT INTO "It's %I" (n) VALUES (1), (2);
           INSERT INTO uuidv7_feeds (feed, source, key, margin) VALUES ('f', '"It''s %I"', 'K"ey', '0');
           SELECT pg_sleep(0.01); RESET search_path"#,
    );
    let read = r#"SELECT sum(n) || ' ' || "Ev""il; --".uuidv7_advance_feed('f', "Ev""il; --".max("K""ey"))
        FROM "Ev""il; --".uuidv7_peek_feed('f', NULL::"Ev""il; --"."It's %I")"#;
    assert_eq!(text(&mut client, read), "3 true");
    // The functions of feeds look into the schema by its name; the file gives them the new one.
    client.run(r#"ALTER SCHEMA "Ev""il; --" RENAME TO renamed; SET search_path = renamed"#);
    let read = r#"SELECT sum(n) FROM uuidv7_peek_feed('f', NULL::"It's %I")"#;
    assert_eq!(code(&mut client, read), "42P01");
    client.run(&sql_file("uuidv7.sql"));
    client.run(r#"INSERT INTO "It's %I" (n) VALUES (4); SELECT pg_sleep(0.01)"#);
    assert_eq!(text(&mut client, read), "4");
}

/// Somebody else's, or a later PostgreSQL's.
#[test]
fn aggregates_that_are_there_stay() {
    let server = Server::builder().extension(false).start();
    server.run("CREATE FUNCTION own(uuid, uuid) RETURNS uuid LANGUAGE SQL RETURN $1; CREATE AGGREGATE max(uuid) (SFUNC = own, STYPE = uuid)");
    server.run(&sql_file("uuidv7.sql"));
    let functions = "SELECT string_agg(aggtransfn::text, ' ' ORDER BY aggfnoid::text) FROM pg_aggregate
        WHERE aggfnoid IN ('min(uuid)'::regprocedure, 'max(uuid)'::regprocedure)";
    assert_eq!(text(&mut server.connect(), functions), "own uuidv7_smaller");
}

#[test]
fn a_dump_brings_it_back() {
    let server = start();
    server.run(ITEMS);
    server.run(
        "CREATE OR REPLACE FUNCTION sno_uuid_server() RETURNS integer LANGUAGE SQL STABLE RETURN 42;
         ALTER TABLE items ADD CHECK (uuidv7_time(id) > '2020-01-01Z'), ADD COLUMN latest uuid;
         CREATE INDEX ON items (uuidv7_time(id)); CREATE VIEW latest AS SELECT max(id) FROM items;
         INSERT INTO items SELECT FROM generate_series(1, 9); INSERT INTO items VALUES (DEFAULT, 1);
         INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0'); SELECT pg_sleep(0.01)",
    );
    server.run("SELECT uuidv7_advance_feed('f', max(id)) FROM uuidv7_peek_feed('f', NULL::items, 9)");
    server.run("CREATE DATABASE restored");
    let restored = server.psql(&format!("\\c restored\n{}", server.dump(&[])));
    assert!(restored.status.success(), "{restored:?}");
    let mut client = server.connect_to("restored");
    assert_eq!(next(&mut client, 9), Ok(vec![1]));
    client.run("INSERT INTO items VALUES (DEFAULT, 2); SELECT pg_sleep(0.01); SELECT * FROM latest");
    assert_eq!(next(&mut client, 9), Ok(vec![2]));
    assert_eq!(text(&mut client, "SELECT sno_uuid_server(max(id)) FROM items"), "42");
    none(
        &mut client,
        "SELECT FROM items a JOIN items b ON substr(a.id::text, 20) = substr(b.id::text, 20) AND a.id <> b.id",
    );
}
