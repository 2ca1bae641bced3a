//! Others are at work while keys move, also those who would harm it: what they make, change and set is kept, or
//! stops the move, and never runs with the rights of who moves.

use std::fs;
use std::thread;

use sno_tests::{Random, Server, Sql as _, text, wait_until};

use super::{Life, STEPS, differs, dump, live, moving, nothing_is_left, take, try_moving};

/// What is made after step 1, how it goes again, and what the switch says of it.
#[rustfmt::skip]
const CHANGES: [(&str, &str, &str); 12] = [
    ("CREATE OR REPLACE FUNCTION item_name(items) RETURNS text LANGUAGE sql STABLE BEGIN ATOMIC SELECT 'new ' || $1.id; END",
     "CREATE OR REPLACE FUNCTION item_name(items) RETURNS text LANGUAGE sql STABLE BEGIN ATOMIC SELECT 'item ' || $1.id; END",
     "function item_name: until the switch, definition"),
    ("CREATE VIEW later AS SELECT id FROM items", "DROP VIEW later", "rule _RETURN on view public.later"),
    ("CREATE TABLE later (item bigint REFERENCES items (id))", "DROP TABLE later", "until the switch, what uses id"),
    ("ALTER TABLE notes ALTER item SET NOT NULL", "ALTER TABLE notes ALTER item DROP NOT NULL", "column item"),
    ("ALTER TABLE notes ALTER item SET DEFAULT 7", "ALTER TABLE notes ALTER item DROP DEFAULT", "until the switch, column item"),
    ("COMMENT ON RULE kept ON notes IS 'new'", "COMMENT ON RULE kept ON notes IS 'old'", "rule kept"),
    // What is gone would come back with the view.
    ("REVOKE SELECT ON kept FROM PUBLIC", "GRANT SELECT ON kept TO PUBLIC", "public.kept: rights of PUBLIC"),
    ("ALTER TABLE items ADD more text", "ALTER TABLE items DROP more", "column more"),
    ("CREATE POLICY later ON others USING (n IN (SELECT id FROM items))", "DROP POLICY later ON others",
     "until the switch, what uses id"),
    // What is made again would have more rights than before.
    ("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO pg_monitor", "ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM pg_monitor",
     "until the switch, default privileges"),
    ("ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO pg_monitor", "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM pg_monitor",
     "until the switch, default privileges"),
    ("ALTER TABLE notes DISABLE TRIGGER ALL", "ALTER TABLE notes ENABLE TRIGGER ALL", "constraint notes_item_fkey"),
];

/// Until a step waits for the lock of a table.
fn wait_for_a_step(server: &Server, table: &str) {
    let waits = format!(
        "SELECT count(*) > 0 FROM pg_locks JOIN pg_stat_activity USING (pid)
         WHERE application_name = 'sno move' AND NOT granted AND relation = '{table}'::regclass"
    );
    wait_until("a lock", || server.connect().one(&waits));
}

#[test]
fn what_changes_after_step_1_stops_the_switch() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE items (id bigserial PRIMARY KEY, CONSTRAINT again UNIQUE (id)); INSERT INTO items DEFAULT VALUES;
         CREATE TABLE notes (item bigint REFERENCES items (id)); INSERT INTO notes VALUES (1); CREATE TABLE others (n bigint);
         CREATE VIEW kept AS SELECT id FROM items; GRANT SELECT ON kept TO PUBLIC;
         CREATE RULE kept AS ON DELETE TO notes WHERE OLD.item IS NULL DO INSTEAD NOTHING; COMMENT ON RULE kept ON notes IS 'old';
         CREATE FUNCTION item_name(items) RETURNS text LANGUAGE sql STABLE BEGIN ATOMIC SELECT 'item ' || $1.id; END",
    );
    let before = dump(&server);
    for step in &STEPS[..3] {
        take(&server, step, &[]);
    }
    for (change, back, why) in CHANGES {
        live(&server, &[(change, "run switch", why), (back, "", "")]);
    }
    take(&server, "switch", &[]);
    let hint = "HINT:  Drop it before, and make it again after.";
    live(&server, &[("CREATE TABLE later (item sno REFERENCES items (id))", "undo", hint)]);
    server.run("DROP TABLE later");
    take(&server, "undo", &[]);
    for step in &STEPS[1..] {
        take(&server, step, &[]);
    }
    differs(&before, &dump(&server));
}

/// What is taken away after the switch, how it is given back, and what the undo says of it.
#[rustfmt::skip]
const TAKEN: [(&str, &str, &str); 5] = [
    ("REVOKE SELECT ON v FROM reader", "GRANT SELECT ON v TO reader", "public.v: rights of reader"),
    ("REVOKE SELECT (id) ON items FROM reader", "GRANT SELECT (id) ON items TO reader", "items\": rights of reader on id"),
    ("ALTER POLICY p ON items USING (id IS NOT NULL AND false)", "ALTER POLICY p ON items USING (id IS NOT NULL)", "items\": policy p"),
    ("CREATE OR REPLACE VIEW v AS SELECT id, NULL::text AS secret FROM items", "CREATE OR REPLACE VIEW v AS SELECT id, secret FROM items",
     "public.v: rule _RETURN"),
    ("CREATE OR REPLACE FUNCTION named(items) RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT 'hidden'; END",
     "CREATE OR REPLACE FUNCTION named(items) RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT $1.secret || $1.id; END",
     "function named: until the switch, definition"),
];

#[test]
fn an_undo_gives_nothing_back_unasked() {
    let server = Server::builder().start();
    server.run(
        "CREATE ROLE reader; CREATE TABLE items (id bigserial PRIMARY KEY, secret text); INSERT INTO items (secret) VALUES ('a');
         CREATE VIEW v AS SELECT id, secret FROM items; GRANT SELECT ON v TO reader; GRANT SELECT (id) ON items TO reader;
         CREATE FUNCTION named(items) RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT $1.secret || $1.id; END;
         CREATE POLICY p ON items USING (id IS NOT NULL); ALTER TABLE items ENABLE ROW LEVEL SECURITY",
    );
    let before = dump(&server);
    for step in ["columns", "fill", "indexes", "switch", "undo", "fill", "indexes", "switch"] {
        take(&server, step, &[]);
    }
    for (change, back, why) in TAKEN {
        live(&server, &[(change, "undo", why), (back, "", "")]);
    }
    let (revoke, grant, why) = TAKEN[0];
    let on_purpose =
        "DELETE FROM sno_move_before WHERE (object, property) = ('public.v', 'rights of reader')";
    live(&server, &[(revoke, "undo", why), (on_purpose, "undo", "")]);
    live(&server, &[("", "run fill; run indexes", ""), ("", "run switch", why)]);
    live(&server, &[(revoke, "run switch; undo; undo", "")]);
    server.run(grant);
    differs(&before, &dump(&server));
}

/// Rows that take the place of others, and rows before those that they refer to.
#[rustfmt::skip]
const REPLACED: Life = &[
    ("DELETE FROM items WHERE id = '3333333333333333'; UPDATE notes SET item = (SELECT id FROM items WHERE name = 'b') WHERE n = 1;
      CREATE TEMP TABLE k AS SELECT * FROM items WHERE name = 'b'; DELETE FROM items WHERE name = 'b'; INSERT INTO items (id, name) SELECT id, 'b' FROM k",
     "undo; run end", "notes.item, references to another row: 1"),
    ("UPDATE notes SET old_item = NULL", "verify", ""),
    ("INSERT INTO notes (n, items) VALUES (2, ARRAY['3333333333333333'::sno])",
     "undo", "notes.items, references to rows that are gone, which become NULL: 1"),
    ("INSERT INTO items (id, name) VALUES ('3333333333333333', 'c')", "undo; run end", "notes.items, references to another row: 1"),
    ("UPDATE notes SET old_items = NULL; INSERT INTO notes (n, item) VALUES (3, '4444444444444444')",
     "undo", "notes.item, references to rows that are gone, which become NULL: 1"),
    ("DELETE FROM notes WHERE n = 3", "undo", ""),
];

#[test]
fn an_undo_loses_no_reference() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE items (id bigserial PRIMARY KEY, name text); INSERT INTO items (name) VALUES ('a'), ('b');
         CREATE TABLE notes (n integer, item bigint, items bigint[]); INSERT INTO notes VALUES (1, 1, '{1}')",
    );
    let said = ["--reference", "notes.item items.id", "--reference", "notes.items items.id"];
    moving(&server, &[&["run", "columns", "--no-map"], &said[..]].concat());
    live(&server, &[("", "run fill; run indexes; run switch", "")]);
    live(&server, REPLACED);
    let found = "SELECT string_agg(n || name, ' ' ORDER BY n, name) FROM notes JOIN items ON id = item OR id = ANY (items)";
    assert_eq!(text(&mut server.connect(), found), "1a 1b 2c");
}

/// What is verified before a wait for a lock can be wrong after it.
#[test]
fn a_switch_that_waits_verifies_again() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE items (id bigserial PRIMARY KEY); INSERT INTO items DEFAULT VALUES;
         CREATE TABLE notes (item bigint); INSERT INTO notes VALUES (1)",
    );
    moving(&server, &["run", "columns", "--no-map", "--reference", "notes.item items.id"]);
    live(&server, &[("", "run fill; run indexes", "")]);
    let mut other = server.connect();
    other.run("BEGIN; TABLE items");
    thread::scope(|scope| {
        let step = scope.spawn(|| try_moving(&server, "postgres", &["run", "switch"]));
        wait_for_a_step(&server, "items");
        server.run("DELETE FROM items; INSERT INTO items VALUES (1)");
        other.run("COMMIT");
        let failed = step.join().unwrap().unwrap_err();
        assert!(failed.contains("notes.item, references to another row: 1"), "{failed}");
    });
    live(&server, &[("", "run fill; run switch; run end", "")]);
}

/// A condition of a reference that waits while a test has the lock 7: what others do then, a verification does not see.
const WAITS: &str = "CREATE FUNCTION waits() RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN true; END $$";

/// What a step says when this happens while it verifies.
fn meanwhile(server: &Server, words: &[&str], sql: &str) -> Result<String, String> {
    let mut other = server.connect();
    other.run("SELECT pg_advisory_lock(7)");
    thread::scope(|scope| {
        let step = scope.spawn(|| try_moving(server, "postgres", words));
        let waits =
            "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted";
        wait_until("a verification", || server.connect().one(waits));
        server.run(sql);
        other.run("SELECT pg_advisory_unlock(7)");
        step.join().unwrap()
    })
}

#[test]
fn what_changes_while_a_step_verifies_is_not_lost() {
    let server = Server::builder().start();
    server.run(&format!(
        "{WAITS}; CREATE ROLE reader; CREATE TABLE items (id bigserial PRIMARY KEY, name text); INSERT INTO items (name) VALUES ('a');
         CREATE VIEW v AS TABLE items; GRANT SELECT ON v TO reader; CREATE TABLE notes (item bigint); INSERT INTO notes VALUES (1)"
    ));
    moving(&server, &["run", "columns", "--no-map", "--reference", "notes.item items.id public.waits()"]);
    live(&server, &[("", "run fill; run indexes", "")]);
    let is_right = || {
        let found = "SELECT count(*) FROM notes JOIN items ON id = item";
        assert_eq!(text(&mut server.connect(), found), "1");
    };
    // What refers to the row has the ID of the one before.
    let replace = "DELETE FROM items; INSERT INTO items VALUES (1, 'b')";
    let failed = meanwhile(&server, &["run", "switch"], replace).unwrap_err();
    let why = "notes.item, references to another row than the old ones: 1";
    assert!(failed.contains(why), "{failed}");
    live(&server, &[("", "run end", why), ("", "undo", "")]);
    is_right();
    live(&server, &[("", "run fill; run indexes; run switch", "")]);
    is_right();
    let failed = meanwhile(&server, &["undo"], "REVOKE SELECT ON v FROM reader").unwrap_err();
    assert!(failed.contains("public.v: rights of reader"), "{failed}");
    live(&server, &[("GRANT SELECT ON v TO reader", "run end", "")]);
    is_right();
}

/// Names that the steps would take for themselves.
#[test]
fn what_has_a_name_of_the_steps_is_kept() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE items (id bigserial PRIMARY KEY, name text); INSERT INTO items DEFAULT VALUES;
         CREATE FUNCTION items_moving() RETURNS int LANGUAGE sql AS 'SELECT 1';
         CREATE FUNCTION items_moved() RETURNS int LANGUAGE sql AS 'SELECT 1';
         CREATE FUNCTION items_generated() RETURNS int LANGUAGE sql AS 'SELECT 1';
         CREATE TABLE notes (item bigint, n integer, CONSTRAINT notes_item_fkey FOREIGN KEY (item) REFERENCES items,
             CONSTRAINT notes_item_fkey_sno CHECK (n > 0), CONSTRAINT notes_item_sno_set CHECK (n < 9));
         CREATE FUNCTION notes_moving() RETURNS int LANGUAGE sql AS 'SELECT 1';
         CREATE FUNCTION notes_moved() RETURNS int LANGUAGE sql AS 'SELECT 1';
         CREATE INDEX items_pkey_sno ON items (name); CREATE INDEX old_items_pkey ON items (name);
         INSERT INTO notes VALUES (1, 1); CREATE TABLE others (id bigserial PRIMARY KEY)",
    );
    // Also made later, where the steps have none.
    let later = "CREATE OR REPLACE FUNCTION others_moving() RETURNS int LANGUAGE sql AS 'SELECT 1';
                 CREATE OR REPLACE FUNCTION others_moved() RETURNS int LANGUAGE sql AS 'SELECT 1'";
    server.run(later);
    let before = dump(&server);
    server.run("DROP FUNCTION others_moving, others_moved");
    for steps in [&["columns", "fill", "indexes", "switch", "undo", "undo"][..], &STEPS] {
        for step in steps {
            take(&server, step, &[]);
            server.run(if *step == "columns" { later } else { "" });
        }
        differs(&before, &dump(&server));
        server.run("DROP FUNCTION others_moving, others_moved");
    }
}

/// What is checked and filled after the COMMIT of a switch, a plan without that, and whether it was done.
const ENDED: &str = "CREATE TABLE items (id bigserial PRIMARY KEY); INSERT INTO items SELECT FROM generate_series(1, 9);
    CREATE TABLE notes (item bigint REFERENCES items CHECK (item IS NOT NULL)); INSERT INTO notes SELECT id FROM items;
    CREATE MATERIALIZED VIEW few AS TABLE notes";
const END_AFTER_COMMIT: &str = "DELETE FROM sno_move_plan p WHERE step ~ 'switch' AND place > (
    SELECT min(place) FROM sno_move_plan WHERE step = p.step AND sql[1] LIKE 'BEGIN;%')";
const IS_WHOLE: &str = "bool_and(convalidated) AND count(*) = 2 AND (SELECT count(*) = 9 FROM few)
    FROM pg_constraint WHERE conrelid = 'notes'::regclass AND contype IN ('f', 'c')";

/// What others have and do, and what is true in the end.
#[rustfmt::skip]
const LIVES: &[(Life, &str)] = &[
    // A column of the first name that the switch gives does not mean that it was made.
    (&[("CREATE TABLE items (id bigserial PRIMARY KEY); INSERT INTO items DEFAULT VALUES", "run columns", ""),
        ("", "run fill; run indexes", ""), ("ALTER TABLE items ADD old_id text", "run end", "the switch has not been made"),
        ("", "run switch", "old_id"), ("", "undo", "")],
     "NOT EXISTS (SELECT FROM pg_class WHERE relname ~ '^sno_move_')"),
    // What was dropped on purpose after the switch: an undo makes it again, as its HINT says.
    (&[("CREATE TABLE items (id bigserial PRIMARY KEY, n bigint, CONSTRAINT c CHECK (id IS NOT NULL)); CREATE VIEW v AS TABLE items;
         CREATE FUNCTION f(items) RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT $1.id::text; END; CREATE STATISTICS s ON id, n FROM items",
         "run columns --no-map; run fill; run indexes; run switch", ""),
        ("DROP FUNCTION f; DROP VIEW v; DROP STATISTICS s; ALTER TABLE items DROP CONSTRAINT c", "undo", "public.v: "),
        ("DELETE FROM sno_move_before WHERE object IN ('public.v', 'function f') OR property ~ ' (s|c)$'", "undo; undo", "")],
     "count(*) = 4 FROM (VALUES (to_regclass('v')::oid), (to_regproc('f')), ((SELECT oid FROM pg_statistic_ext WHERE stxname = 's')),
      ((SELECT oid FROM pg_constraint WHERE conname = 'c'))) o(oid) WHERE oid IS NOT NULL"),
    // A table that goes while it moves.
    (&[("CREATE TABLE items (id bigserial PRIMARY KEY); CREATE TABLE notes (item bigint REFERENCES items)", "run columns", ""),
        ("DROP TABLE notes", "run fill; undo", "If it was dropped, make an empty table of this name"),
        ("CREATE TABLE notes (item_sno sno)", "undo", "")],
     "NOT EXISTS (SELECT FROM pg_class WHERE relname ~ '^sno_move_')"),
    // A table of old and new keys for each move. Whoever could write there, by default privileges, says nothing.
    (&[("CREATE TABLE items (id bigserial PRIMARY KEY); INSERT INTO items DEFAULT VALUES",
         "run columns; run fill; run indexes; run switch; run end", ""), ("", "run columns --back", "table with old and new keys items_id_moved"),
        ("ALTER TABLE items_id_moved RENAME TO first", "run columns --back", ""),
        ("INSERT INTO items_id_moved SELECT id, gen_random_uuid() FROM items", "run fill; run indexes; run switch; run end", ""),
        ("ALTER TABLE items_id_moved RENAME TO second", "run columns --key items --value uuidv7_to_sno(id); undo", "")],
     "count(*) = 1 AND min(f.old) = 1 FROM items i JOIN second s ON s.new = i.id JOIN first f ON f.new = s.old"),
    // The default of the new column runs with the rights of who inserts.
    (&[("CREATE TABLE items (id bigserial PRIMARY KEY); REVOKE EXECUTE ON FUNCTION sno_new(integer) FROM PUBLIC", "check",
        "rights on a function: is the default from step 1 on")], "true"),
    // A function gets the new type, but not the place of another one.
    (&[("CREATE TABLE items (id bigserial PRIMARY KEY);
         CREATE FUNCTION f(bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
         CREATE FUNCTION f(sno) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT false';
         CREATE POLICY p ON items USING (f(id))", "run columns --function f(bigint); run fill; run indexes", ""),
        ("", "run switch", "42723"), ("", "undo", "")],
     "count(*) = 1 FROM pg_policy JOIN pg_depend ON objid = pg_policy.oid WHERE refobjid = 'f(bigint)'::regprocedure AND NOT f('2222222222222222'::sno)"),
    // Functions and operators that fit better than those of PostgreSQL, where the tables' own triggers search.
    (&[("CREATE ROLE evil; GRANT CREATE, USAGE ON SCHEMA public TO evil;
         CREATE TABLE kept (n bigint); CREATE TABLE codes (id varchar(9) PRIMARY KEY); INSERT INTO codes VALUES ('a');
         CREATE TABLE items (id bigserial PRIMARY KEY, code varchar(9) REFERENCES codes, n integer, at bigint,
             long varchar(20) GENERATED ALWAYS AS (code || 'x') STORED);
         INSERT INTO items (code) VALUES ('a');
         CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO kept VALUES (NEW.id); RETURN NEW; END $$;
         CREATE TRIGGER keep BEFORE UPDATE ON items FOR EACH ROW EXECUTE FUNCTION keep();
         CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON items DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION keep();
         SET ROLE evil;
         CREATE FUNCTION format(text, text, regclass) RETURNS text LANGUAGE plpgsql AS
             $$ BEGIN ALTER ROLE evil SUPERUSER; RETURN pg_catalog.format($1, $2, $3); END $$;
         CREATE FUNCTION format(text, text, regclass, text) RETURNS text LANGUAGE plpgsql AS
             $$ BEGIN ALTER ROLE evil SUPERUSER; RETURN pg_catalog.format($1, $2, $3, $4); END $$;
         CREATE FUNCTION format(text, bigint) RETURNS text LANGUAGE plpgsql AS
             $$ BEGIN ALTER ROLE evil SUPERUSER; RETURN pg_catalog.format($1, $2); END $$;
         CREATE FUNCTION same(varchar, varchar) RETURNS boolean LANGUAGE plpgsql AS
             $$ BEGIN ALTER ROLE evil SUPERUSER; RETURN $1::text = $2::text; END $$;
         CREATE OPERATOR = (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = same, COMMUTATOR = =)",
         "run columns --key items --key codes.id; run fill; run indexes; run switch; run end", "")],
     "NOT rolsuper AND (SELECT count(*) > 1 FROM kept) FROM pg_roles WHERE rolname = 'evil'"),
    // What can be made again only by a superuser, or by an owner who may create it there.
    (&[("CREATE ROLE views; CREATE ROLE lead LOGIN; GRANT views TO lead;
         GRANT CREATE, USAGE ON SCHEMA public TO lead; GRANT USAGE ON SCHEMA public TO views; SET ROLE lead;
         CREATE TABLE items (id bigserial PRIMARY KEY); CREATE VIEW v AS TABLE items; RESET ROLE; ALTER VIEW v OWNER TO views",
         "as lead run columns", "view public.v: could not be made again"),
        ("GRANT CREATE ON SCHEMA public TO views",
         "as lead run columns; as lead run fill; as lead run indexes; as lead run switch; as lead run end", "")],
     "relowner = 'views'::regrole FROM pg_class WHERE relname = 'v'"),
    // A function that names a constraint, a setting that only the old type has, columns that get another order.
    (&[("CREATE TABLE items (id text COMPRESSION pglz PRIMARY KEY, n integer); INSERT INTO items VALUES ('a', 1);
         CREATE FUNCTION add(integer) RETURNS void LANGUAGE sql
             BEGIN ATOMIC INSERT INTO items (n) VALUES ($1) ON CONFLICT ON CONSTRAINT items_pkey DO NOTHING; END;
         CREATE STATISTICS pair ON id, n FROM items",
         "run columns; run fill; run indexes; run switch; run end", ""),
        ("SELECT add(2)", "", "")], "count(*) = 2 FROM items"),
    // Columns with names that the statements of the steps have.
    (&[("CREATE TABLE items (number bigserial PRIMARY KEY, n integer, v text, e text, t text, k text, u text,
             ref text GENERATED ALWAYS AS (v || number::text) STORED);
         INSERT INTO items (n, v) VALUES (1, 'a'), (2, 'b');
         CREATE TABLE notes (v bigint REFERENCES items, n bigint[], of text); INSERT INTO notes VALUES (1, '{2,1}', 'a b a')",
         "run columns --reference notes.n\titems.number --no-map; run fill; run indexes; run switch; run end", ""),
        ("", "check --back --key items", "column that a trigger fills"),
        ("", "run columns --back --to bigint --reference notes.n\titems.number --no-map; run fill; run indexes; run switch; run end", "")],
     "count(*) = 1 FROM notes JOIN items a ON a.number = notes.v JOIN items b ON b.number = notes.n[1] JOIN items c ON c.number = notes.n[2]
      WHERE concat_ws(' ', a.v, b.v, c.v) = of"),
    // Whoever goes on after a switch, or an undo, that was ended after its COMMIT loses nothing of what follows that.
    (&[(ENDED, "run columns; run fill; run indexes", ""), (END_AFTER_COMMIT, "run switch; run end", "")], IS_WHOLE),
    (&[(ENDED, "run columns; run fill; run indexes; run switch", ""), (END_AFTER_COMMIT, "undo; undo", "")], IS_WHOLE),
    // Names that the steps would take when another one is taken.
    (&[("CREATE TABLE items (id bigserial PRIMARY KEY, old_id text, old_id_1 text, sno integer, sno_1 integer, name text);
         INSERT INTO items (old_id_1) VALUES ('kept'); CREATE INDEX items_pkey_sno ON items (name)",
         "run columns --no-map; run fill; run indexes; run switch; run end", "")], "old_id_1 = 'kept' AND pg_typeof(id)::text = 'sno' FROM items"),
    // Who may write to all tables does not say what the steps are.
    (&[("CREATE ROLE writer IN ROLE pg_write_all_data; CREATE TABLE items (id bigserial PRIMARY KEY)", "run columns", ""),
        ("DO $$ BEGIN SET ROLE writer; INSERT INTO sno_move_plan VALUES ('fill', -1, NULL, ARRAY['ALTER ROLE writer SUPERUSER']);
          EXCEPTION WHEN insufficient_privilege THEN END $$", "run fill", "")],
     "NOT rolsuper FROM pg_roles WHERE rolname = 'writer'"),
    // Who may insert only some columns needs the new default, too.
    (&[("CREATE ROLE inserter; CREATE TABLE items (id sno DEFAULT sno_new() PRIMARY KEY, name text);
         GRANT INSERT (name) ON items TO inserter", "run columns --back --to bigint", "")],
     "has_sequence_privilege('inserter', 'items_id_new_seq', 'USAGE')"),
    // A function that is made again, which not everybody may call.
    (&[("CREATE TABLE items (id bigserial PRIMARY KEY);
         CREATE FUNCTION secret(items) RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT $1.id::text; END;
         REVOKE EXECUTE ON FUNCTION secret FROM PUBLIC", "run columns; run fill; run indexes; run switch", "")],
     "NOT has_function_privilege('public', oid, 'EXECUTE') FROM pg_proc WHERE proname = 'secret'"),
    // An owner who has taken rights away from himself; columns with names that the server writes for something else.
    (&[("CREATE TABLE items (hash text PRIMARY KEY, year integer, day date,
             ref text GENERATED ALWAYS AS (hash || EXTRACT(year FROM day)::text) STORED);
         CREATE INDEX by_hash ON items USING hash (hash); CREATE VIEW v AS TABLE items; REVOKE INSERT ON v FROM postgres;
         CREATE FUNCTION f(items) RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT $1.hash::text; END;
         REVOKE EXECUTE ON FUNCTION f FROM postgres, PUBLIC",
         "run columns --key items.hash; run fill; run indexes; run switch; run end", "")],
     "count(*) = 0 FROM (SELECT relowner AS owner, x.* FROM pg_class, aclexplode(relacl) x WHERE oid = 'v'::regclass
      UNION ALL SELECT proowner, x.* FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) x WHERE oid = 'f'::regproc) r
      WHERE grantee = owner AND privilege_type IN ('INSERT', 'EXECUTE')"),
    // Columns with names that a step has, in an expression that the DBA names.
    (&[("CREATE TABLE items (id bigserial PRIMARY KEY, before timestamptz); INSERT INTO items (before) VALUES ('2024-01-01Z'), ('2024-01-01Z')",
         "run columns --time items\tbefore; run fill; verify", "")], "count(*) = 2 FROM items WHERE sno_time(sno) < '2024-01-02Z'"),
    // Columns with names that PL/pgSQL, or a step, has for something else.
    (&[("CREATE TABLE items (found bigserial PRIMARY KEY, created_at timestamptz DEFAULT '2024-01-01Z');
         CREATE TABLE others (row_number bigserial PRIMARY KEY, created_at timestamptz DEFAULT '2024-01-01Z', found bigint REFERENCES items);
         INSERT INTO items SELECT FROM generate_series(1, 9); INSERT INTO others (found) SELECT found FROM items",
         "run columns --key items.found --key others.row_number; run fill; run indexes; run switch; run end", "")],
     "count(DISTINCT row_number) = 9 FROM others JOIN items USING (found)"),
    // A cast that only the column of another object lets go, in a view and in a policy. Another role could make that one.
    (&[("CREATE DOMAIN price AS numeric; CREATE TABLE items (id bigserial PRIMARY KEY, amount integer, tenant integer);
         INSERT INTO items (amount) VALUES (3), (4); CREATE VIEW priced AS SELECT id, amount::price AS amount, ''::varchar AS tenant FROM items;
         CREATE POLICY own ON items USING (id IS NOT NULL AND tenant::text = current_setting('app.tenant'));
         CREATE VIEW shares AS SELECT a.id, a.amount::numeric / b.amount::numeric AS share FROM items a JOIN items b ON b.amount = 4",
         "run columns; run fill; run indexes; run switch; run end", "")], "count(*) = 2 FROM shares WHERE share IN (0.75, 1)"),
    // A cast among the arguments of a function is no index's.
    (&[("CREATE TABLE items (id sno DEFAULT sno_new() PRIMARY KEY); INSERT INTO items DEFAULT VALUES;
         CREATE VIEW bytes AS SELECT encode(uuid_send(id::uuid), 'hex') FROM items",
         "run columns --back; run fill; run indexes; run switch; run end", "")], "count(*) = 1 FROM bytes"),
    // A function of several rows of a view, and one that the index of a materialized view calls.
    (&[("CREATE TABLE items (id bigserial PRIMARY KEY); INSERT INTO items DEFAULT VALUES; CREATE VIEW v AS TABLE items;
         CREATE FUNCTION rows_of(v[]) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT cardinality($1)';
         CREATE MATERIALIZED VIEW m AS SELECT array_agg(v) AS all FROM v; CREATE INDEX i ON m (rows_of(\"all\"))",
         "run columns; run fill; run indexes; run switch; run end", "")],
     "rows_of(\"all\") = 1 AND to_regclass('i') IS NOT NULL FROM m"),
    // A right that another role than the owner has granted, too.
    (&[("CREATE ROLE one; CREATE ROLE two; CREATE TABLE items (id bigserial PRIMARY KEY); CREATE VIEW v AS TABLE items;
         CREATE FUNCTION f(v) RETURNS bigint LANGUAGE sql AS 'SELECT 1';
         GRANT SELECT (id) ON items TO one WITH GRANT OPTION; GRANT SELECT ON v TO one WITH GRANT OPTION; GRANT SELECT (id) ON items TO two;
         GRANT EXECUTE ON FUNCTION f TO one WITH GRANT OPTION; GRANT USAGE ON SCHEMA public TO one; SET ROLE one;
         GRANT SELECT (id) ON items TO two; GRANT SELECT ON v TO two; GRANT EXECUTE ON FUNCTION f TO two",
         "run columns; run fill; run indexes; run switch; run end", "")],
     "has_column_privilege('two', 'items', 'id', 'SELECT') AND has_table_privilege('two', 'v', 'SELECT')"),
    // An array that is no list.
    (&[("CREATE TABLE items (id bigserial PRIMARY KEY); INSERT INTO items SELECT FROM generate_series(1, 4);
         CREATE TABLE notes (items bigint[]); INSERT INTO notes VALUES ('{{1,2},{3,4}}'), ('[0:1]={1,2}'), ('{}')",
         "run columns --reference notes.items\titems.id --dangling-to-null; run fill; run indexes", ""),
        ("", "run switch", "notes.items, arrays that would become lists: 2"),
        ("UPDATE notes SET items = '{1,2}'", "run fill; run switch; run end", "")],
     "count(*) = 3 FROM notes WHERE array_dims(items) = '[1:2]'"),
    // What others make does not look like a move of one's own, and is not called.
    (&[("CREATE SCHEMA evil AUTHORIZATION evil; GRANT USAGE ON SCHEMA public TO evil; SET search_path = evil, public; SET ROLE evil;
         CREATE TABLE sno_move_plan (step text, place integer, unless text, sql text[]);
         INSERT INTO sno_move_plan VALUES ('fill', 0, NULL, ARRAY['ALTER ROLE evil SUPERUSER']);
         CREATE FUNCTION uuidv7_to_sno(uuid) RETURNS sno LANGUAGE plpgsql AS
             $$ BEGIN ALTER ROLE evil SUPERUSER; RETURN sno_new(); END $$;
         RESET ROLE; CREATE TABLE public.items (id uuid PRIMARY KEY); INSERT INTO items VALUES (sno_to_uuidv7(sno_new()));
         ALTER DATABASE postgres SET search_path = evil, public", "run fill", "a move of another role"),
        ("", "run columns --key items --value uuidv7_to_sno(id); run fill; run indexes; run switch; run end", "")],
     "count(*) = 0 FROM pg_roles WHERE rolname = 'evil' AND rolsuper"),
];

#[test]
fn what_others_have_and_do_meanwhile() {
    let server = Server::builder().start();
    for (life, is_true) in LIVES {
        server.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION sno");
        live(&server, life);
        assert_eq!(text(&mut server.connect(), &format!("SELECT {is_true}")), "t", "{is_true}");
    }
}

/// An owner with a name in need of quotes, and what another role makes at any time: it is not of the tables and their functions.
#[test]
fn nobody_else_can_stop_a_move() {
    let server = Server::builder().start();
    server.run(
        "CREATE ROLE \"The-Lead\" LOGIN; CREATE ROLE evil; GRANT CREATE, USAGE ON SCHEMA public TO \"The-Lead\", evil;
         SET ROLE \"The-Lead\"; CREATE TABLE items (id uuid PRIMARY KEY DEFAULT gen_random_uuid()); INSERT INTO items DEFAULT VALUES;
         CREATE FUNCTION item_name(items) RETURNS text LANGUAGE sql STABLE BEGIN ATOMIC SELECT 'item ' || $1.id; END;
         CREATE FUNCTION same(i uuid) RETURNS uuid IMMUTABLE LANGUAGE plpgsql AS 'DECLARE u uuid := i; BEGIN RETURN u; END'",
    );
    let run = |words: &str| {
        let words: Vec<_> = words.split(' ').collect();
        let done = try_moving(&server, "The-Lead", &words);
        assert!(done.is_ok(), "{words:?}: {done:?}");
    };
    // The function could read it: the check says so.
    server.run("SET ROLE evil; CREATE TABLE \"RETURN\" (uuid uuid)");
    let said = try_moving(&server, "The-Lead", &["check", "--function", "same(uuid)"]).unwrap();
    let (_, to_do) = said.split_once("This is for you to do, or to know:\n").unwrap();
    assert!(to_do.contains("    column uuid of public.\"RETURN\" in public.same(uuid)\n"), "{said}");
    run("run columns --no-map --function same(uuid)");
    server.run(
        "SET ROLE evil; CREATE FUNCTION item_name(text) RETURNS text LANGUAGE sql AS 'SELECT 1';
         CREATE FUNCTION same(text) RETURNS text LANGUAGE sql AS 'SELECT 1';
         CREATE FUNCTION sno_move_state(integer DEFAULT 1) RETURNS integer LANGUAGE sql AS 'SELECT 1';
         CREATE FUNCTION sno_move_report(integer DEFAULT 1) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    );
    for words in
        ["run fill", "run indexes", "run switch", "undo", "run fill", "run indexes", "run switch", "run end"]
    {
        run(words);
    }
}

const EVIL: &str = "DROP SCHEMA IF EXISTS public, evil CASCADE; CREATE SCHEMA public; CREATE EXTENSION sno;
    CREATE SCHEMA evil AUTHORIZATION evil; GRANT USAGE ON SCHEMA public TO evil;
    CREATE TABLE items (id bigserial PRIMARY KEY); INSERT INTO items DEFAULT VALUES; GRANT SELECT ON items TO evil;
    CREATE TYPE evil.own AS ENUM ('a'); SET ROLE evil;
    CREATE FUNCTION evil.harm(bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
        IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN ALTER ROLE evil SUPERUSER; END IF;
        RETURN true; END $$;
    CREATE DOMAIN evil.d AS bigint CHECK (evil.harm(value)); CREATE TABLE evil.t (d bigint);
    RESET ROLE; CREATE TYPE pair AS (x evil.d)";

/// What another role has that names keys, and what stops the move.
#[rustfmt::skip]
const OF_EVIL: [(&str, &str); 10] = [
    ("CREATE VIEW evil.v AS SELECT id, '{1}'::evil.d[] AS x FROM items", "view evil.v: is, or uses, function evil.harm(bigint)"),
    ("CREATE VIEW evil.v AS SELECT id, '(1)'::evil.t AS x FROM items", "view evil.v: is, or uses, table evil.t"),
    ("CREATE MATERIALIZED VIEW evil.v AS SELECT id, '{1}'::evil.d[] AS x FROM items", "materialized view evil.v"),
    ("CREATE MATERIALIZED VIEW evil.v AS SELECT id FROM items; CREATE INDEX ON evil.v (id) WHERE '{1}'::evil.d[] IS NOT NULL",
     "materialized view evil.v"),
    ("CREATE RULE r AS ON DELETE TO evil.t DO ALSO SELECT id, '{1}'::evil.d[] FROM items", "rule r on table evil.t"),
    ("CREATE POLICY p ON evil.t USING (d IN (SELECT id FROM items) AND '{1}'::evil.d[] IS NOT NULL)", "policy p on table evil.t"),
    ("CREATE VIEW evil.v AS SELECT id FROM items; ALTER VIEW evil.v ALTER id SET DEFAULT array_length('{1}'::evil.d[], 1)",
     "view evil.v"),
    ("CREATE FUNCTION evil.g(items) RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT $1.id FROM (SELECT '{1}'::evil.d[]) x; END",
     "function evil.g(public.items)"),
    // Types of a superuser: one with that of another role in it, and one that the schema's owner could exchange.
    ("CREATE VIEW evil.v AS SELECT id, '{(1)}'::pair[] AS x FROM items", "view evil.v: is, or uses, function evil.harm(bigint)"),
    ("CREATE VIEW evil.v AS SELECT id, 'a'::evil.own AS x FROM items", "view evil.v: is, or uses, schema evil"),
];

/// The switch makes again what another role has: no code of that role runs while PostgreSQL reads the statements.
#[test]
fn nothing_of_another_role_runs_when_it_is_made_again() {
    let server = Server::builder().start();
    server.run("CREATE ROLE evil");
    for (make, why) in OF_EVIL {
        server.run(&format!("{EVIL}; SET ROLE evil; {make}"));
        let done: Result<Vec<_>, _> =
            STEPS[..4].iter().map(|step| try_moving(&server, "postgres", &["run", step])).collect();
        let is_kept = "SELECT NOT rolsuper FROM pg_roles WHERE rolname = 'evil'";
        assert_eq!(text(&mut server.connect(), is_kept), "t", "{make}");
        let error = done.expect_err(make);
        let is_why = error.contains(why) && error.contains(" of evil, whose code could run with your rights");
        assert!(is_why, "{make}: {error}");
    }
    // What has only types and functions of PostgreSQL in it moves, also beside tables and columns of that role.
    server.run(&format!(
        "{EVIL}; SET ROLE evil; CREATE TABLE evil.u (d evil.d);
         CREATE VIEW evil.v AS SELECT id, u.d, lower('A') AS a FROM items LEFT JOIN evil.u ON u.d = 7"
    ));
    for step in &STEPS[..5] {
        moving(&server, &["run", step]);
    }
}

/// Relations of another role with names of the steps, made after these were written: nothing was done by that.
#[test]
fn a_name_that_another_role_takes_is_no_step_that_was_done() {
    let server = Server::builder().start();
    server.run(
        "CREATE ROLE evil; GRANT CREATE, USAGE ON SCHEMA public TO evil;
         CREATE TABLE items (id bigserial PRIMARY KEY); INSERT INTO items DEFAULT VALUES;
         CREATE TABLE parts (item bigint REFERENCES items, n integer) PARTITION BY LIST (n);
         CREATE TABLE parts_1 PARTITION OF parts DEFAULT; CREATE INDEX of_item ON parts (item)",
    );
    let folder = server.socket_folder().join("steps");
    moving(&server, &["write", folder.to_str().unwrap(), "--no-map"]);
    let step = |file: &str| {
        let output = server.psql(&fs::read_to_string(folder.join(file)).unwrap());
        String::from_utf8(output.stderr).unwrap()
    };
    let fails = |file: &str, why: &str| {
        let errors = step(file);
        assert!(errors.contains(why), "{file}: {errors}");
    };
    server.run(
        "SET ROLE evil; CREATE TABLE sno_move_plan ();
         CREATE FUNCTION harm() RETURNS text LANGUAGE plpgsql AS $$ BEGIN ALTER ROLE evil SUPERUSER; RETURN ''; END $$;
         CREATE VIEW sno_move_progress AS SELECT harm() AS part, '' AS last, 0::bigint AS done",
    );
    fails("1_columns.sql", "already exists");
    for file in ["2_fill.sql", "3_indexes.sql", "4_verify.sql", "5_switch.sql"] {
        fails(file, "no move is under way");
    }
    server.run("DROP TABLE sno_move_plan; DROP VIEW sno_move_progress");
    assert_eq!(step("1_columns.sql"), "");
    server.run("SET ROLE evil; CREATE TABLE others (n integer); CREATE INDEX of_item_sno ON others (n)");
    fails("3_indexes.sql", "\"of_item_sno\" already exists");
    assert_eq!(step("undo_columns.sql"), "");
    assert_eq!(step("1_columns.sql"), "");
    server.run(
        "SET ROLE evil; CREATE INDEX items_pkey_sno ON others (n); CREATE INDEX old_items_pkey ON others (n)",
    );
    fails("3_indexes.sql", "items_pkey_sno is not an index of items");
    assert_eq!(step("undo_columns.sql"), "");
    nothing_is_left(&server);
    let is_kept = "SELECT count(*) = 3 AND (SELECT NOT rolsuper FROM pg_roles WHERE rolname = 'evil')
                   FROM pg_index WHERE indrelid = 'others'::regclass";
    assert_eq!(text(&mut server.connect(), is_kept), "t");
}

/// Strings, dates and names that the server shows by the settings of one session, and another one reads.
#[test]
fn settings_of_roles_and_databases_change_nothing() {
    let server = Server::builder().start();
    server.run(
        r"CREATE TABLE victim (); CREATE TABLE items (id bigserial PRIMARY KEY, at timestamptz DEFAULT '2024-03-05Z', name text DEFAULT '',
              ref text GENERATED ALWAYS AS ('C:\' || id::text || '; DROP TABLE victim; --') STORED);
          INSERT INTO items DEFAULT VALUES; CREATE INDEX early ON items (id) WHERE at < '2024-02-01Z';
          CREATE VIEW few AS SELECT id, '\' AS a, '; DROP TABLE victim; --' AS b, at < '2024-02-01' AS c, interval '-1 day +2 hours' AS d FROM items;
          CREATE TABLE notes (item bigint REFERENCES items, of text[]); CREATE INDEX other ON notes (item) WHERE of <> '{NULL,\\}'",
    );
    let before = dump(&server);
    let odd = "ALTER DATABASE postgres SET datestyle = 'SQL, DMY'; ALTER DATABASE postgres SET standard_conforming_strings = off;
        ALTER DATABASE postgres SET intervalstyle = sql_standard; ALTER DATABASE postgres SET array_nulls = off;
        ALTER DATABASE postgres SET quote_all_identifiers = on; ALTER DATABASE postgres SET default_transaction_isolation = 'serializable';
        ALTER ROLE postgres SET lock_timeout = '1ms'";
    let plain = "ALTER DATABASE postgres RESET ALL; ALTER ROLE postgres RESET ALL";
    for (n, step) in ["columns", "fill", "indexes", "switch", "undo", "undo"].iter().chain(&STEPS).enumerate()
    {
        // Each step in another way than the one before.
        server.run(if n % 2 == 0 { odd } else { plain });
        take(&server, step, &[]);
        for setting in ["on", "off"] {
            server.run(&format!(
                "SET standard_conforming_strings = {setting}; INSERT INTO items DEFAULT VALUES"
            ));
        }
    }
    server.run(plain);
    differs(&before, &dump(&server));
    let wrong = r"SELECT count(*) FROM items WHERE ref <> 'C:\' || id::text || '; DROP TABLE victim; --'";
    assert_eq!(text(&mut server.connect(), wrong), "0");
}

/// Of a partitioned table, which cannot be built CONCURRENTLY.
#[test]
fn nobody_waits_while_an_index_of_a_partitioned_table_waits() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE items (id bigserial PRIMARY KEY);
         CREATE TABLE events (item bigint REFERENCES items, at date) PARTITION BY RANGE (at);
         CREATE TABLE events_1 PARTITION OF events DEFAULT; CREATE INDEX of_item ON events (item)",
    );
    take(&server, "columns", &[]);
    take(&server, "fill", &[]);
    let mut other = server.connect();
    other.run("BEGIN; LOCK TABLE ONLY events IN ROW EXCLUSIVE MODE");
    thread::scope(|scope| {
        let step = scope.spawn(|| try_moving(&server, "postgres", &["run", "indexes"]));
        wait_for_a_step(&server, "events");
        let mut writer = server.connect();
        writer.run("SET statement_timeout = '4s'");
        for _ in 0..3 {
            writer.run("INSERT INTO events VALUES (NULL, '2024-01-01')");
        }
        other.run("COMMIT");
        let done = step.join().unwrap();
        assert!(done.is_ok(), "{done:?}");
    });
}

/// A batch that waits for a row has locked the others.
#[test]
fn nobody_waits_while_a_batch_waits() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE items (id bigserial PRIMARY KEY); INSERT INTO items SELECT FROM generate_series(1, 9);
         CREATE TABLE notes (n integer, item bigint REFERENCES items); INSERT INTO notes SELECT id, 9 FROM items",
    );
    take(&server, "columns", &[]);
    for (table, key) in [("items", "id"), ("notes", "n")] {
        server.run("ALTER TABLE notes DISABLE TRIGGER zz_moving; UPDATE notes SET item_sno = NULL; ALTER TABLE notes ENABLE TRIGGER zz_moving");
        let mut other = server.connect();
        other.run(&format!("BEGIN; SELECT FROM {table} WHERE {key} = 9 FOR UPDATE"));
        thread::scope(|scope| {
            let step = scope.spawn(|| try_moving(&server, "postgres", &["run", "fill"]));
            let waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'sno move' AND wait_event_type = 'Lock'";
            wait_until("a lock", || server.connect().one(waits));
            let writer = server
                .connect()
                .batch_execute(&format!("SET statement_timeout = '4s'; DELETE FROM {table} WHERE {key} = 1"));
            other.run("COMMIT");
            let done = step.join().unwrap();
            assert!(writer.is_ok() && done.is_ok(), "{table}: {writer:?}, {done:?}");
        });
    }
}

/// A row before the row that it refers to, in one statement, which a foreign key allows.
#[test]
fn a_reference_to_a_later_row_is_found_again() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE nodes (id bigserial PRIMARY KEY, parent bigint REFERENCES nodes, name text, of text)",
    );
    let insert = |name: &str, id: &str, other: &str| {
        server.run(&format!(
            "INSERT INTO nodes (id, parent, name, of) VALUES ('{id}', '{other}', '{name}', '{name} 2'), ('{other}', NULL, '{name} 2', NULL);
             WITH n AS (INSERT INTO nodes (name) VALUES ('{name} 3') RETURNING id) INSERT INTO nodes (parent, name, of)
                 SELECT id, '{name} 4', '{name} 3' FROM n"
        ));
    };
    let wrong = "SELECT count(*) FROM nodes n LEFT JOIN nodes p ON p.id = n.parent WHERE p.name IS DISTINCT FROM n.of";
    insert("first", "1001", "1002");
    take(&server, "columns", &[]);
    insert("second", "1003", "1004");
    take(&server, "fill", &[]);
    take(&server, "indexes", &[]);
    insert("third", "1005", "1006");
    live(&server, &[("", "verify", "references")]);
    take(&server, "fill", &[]);
    take(&server, "switch", &[]);
    insert("fourth", "9q7k4op826n2g222", "9q7k4op826n2g223");
    assert_eq!(text(&mut server.connect(), wrong), "0");
    take(&server, "undo", &[]);
    assert_eq!(text(&mut server.connect(), wrong), "0");
    for step in &STEPS[1..4] {
        take(&server, step, &[]);
    }
    // Whoever says that references to rows that are gone become NULL, does not say so of others.
    server.run(
        "ALTER TABLE nodes DISABLE TRIGGER zz_moved; UPDATE nodes SET parent = NULL WHERE name = 'first';
         ALTER TABLE nodes ENABLE TRIGGER zz_moved",
    );
    live(&server, &[("", "run end", "references to another row than the old ones: 1")]);
    server.run("UPDATE nodes SET old_parent = NULL WHERE name = 'first'");
    insert("fifth", "9q7k4op826n2g224", "9q7k4op826n2g225");
    take(&server, "end", &[]);
    assert_eq!(text(&mut server.connect(), wrong), "1");
}

/// A foreign key of a part of a part, partitions that were made before, a trigger that some of them do not fire, indexes and
/// constraints that are alike, rules with comments and without effect.
const PARTITIONS: &str = "
    CREATE TABLE items (id bigserial PRIMARY KEY, name text); INSERT INTO items (name) SELECT n FROM generate_series(1, 9) n;
    CREATE TABLE events (id bigint GENERATED BY DEFAULT AS IDENTITY, kind integer NOT NULL, at date NOT NULL, item bigint NOT NULL, of text,
        CONSTRAINT again UNIQUE (id, kind, at)) PARTITION BY LIST (kind); ALTER TABLE events ADD PRIMARY KEY (id, kind, at);
    CREATE UNIQUE INDEX once_more ON events (id, kind, at); CREATE INDEX twice ON events (item); CREATE INDEX two ON events (item);
    CREATE TABLE events_1 PARTITION OF events FOR VALUES IN (1) PARTITION BY RANGE (at);
    CREATE TABLE events_1_old PARTITION OF events_1 FOR VALUES FROM ('2023-01-01') TO ('2024-01-01');
    CREATE TABLE events_1_new PARTITION OF events_1 DEFAULT;
    CREATE TABLE events_2 (of text, gone integer, item bigint CONSTRAINT own_item NOT NULL, at date NOT NULL, kind integer NOT NULL, id bigint NOT NULL,
        CONSTRAINT only_here CHECK (id IS NOT NULL OR item IS NOT NULL));
    ALTER TABLE events_2 DROP gone; ALTER TABLE events ATTACH PARTITION events_2 FOR VALUES IN (2);
    ALTER TABLE events_1 ADD CONSTRAINT of_a_part FOREIGN KEY (item) REFERENCES items ON DELETE CASCADE;
    CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
    CREATE TRIGGER t AFTER INSERT ON events FOR EACH ROW WHEN (NEW.id IS NOT NULL) EXECUTE FUNCTION f();
    ALTER TABLE events_2 DISABLE TRIGGER t; ALTER TABLE events_1_old ENABLE ALWAYS TRIGGER t;
    CREATE VIEW few AS SELECT id, item FROM events; CREATE RULE r AS ON INSERT TO few DO INSTEAD NOTHING;
    COMMENT ON RULE r ON few IS 'not now';
    CREATE MATERIALIZED VIEW never AS SELECT item FROM events WITH NO DATA;
    CREATE TABLE marks (event bigint, kind integer, at date, n integer, FOREIGN KEY (event, kind, at) REFERENCES events (id, kind, at));
    INSERT INTO events (kind, at, item, of) SELECT 1 + n % 2, date '2023-12-28' + n, id, name FROM items, generate_series(1, 9) n;
    INSERT INTO marks SELECT id, kind, at, 1 FROM events";

#[test]
fn parts_of_parts_and_what_hangs_on_them_move() {
    let server = Server::builder().start();
    server.run(PARTITIONS);
    let before = dump(&server);
    let said = ["--reference", "events.item items.id"];
    let back = ["--back", "--reference", "events.item items.id"];
    let undone = ["columns", "fill", "indexes", "switch", "verify", "undo", "undo"];
    for (steps, said) in [(&undone[..], &said[..]), (&STEPS, &said), (&undone, &back), (&STEPS, &back)] {
        for step in steps {
            take(&server, step, said);
            server.run("INSERT INTO events (kind, at, item, of) SELECT 1, date '2023-12-31' + n, id, name FROM items, generate_series(0, 1) n");
            let wrong = "SELECT count(*) FROM events LEFT JOIN items ON items.id = item WHERE name IS DISTINCT FROM of";
            assert_eq!(text(&mut server.connect(), wrong), "0");
        }
        differs(&before, &dump(&server));
    }
    assert_eq!(
        text(&mut server.connect(), "SELECT relispopulated FROM pg_class WHERE relname = 'never'"),
        "f"
    );
}

/// As many as an application has, each with what refers to it.
#[test]
fn three_hundred_tables_move() {
    let server = Server::builder().start();
    let mut random = Random::seeded();
    let mut schema = String::new();
    for n in 0..300 {
        let of = random.below(n.max(1));
        schema += &format!(
            "CREATE TABLE t{n} (id bigserial PRIMARY KEY, of bigint REFERENCES t{of}, name text); CREATE INDEX ON t{n} (of);
             INSERT INTO t{n} (name) VALUES ('{n}'); UPDATE t{n} SET of = (SELECT id FROM t{of} LIMIT 1);"
        );
    }
    server.run(&schema);
    let before = dump(&server);
    let printed = moving(&server, &["check"]);
    assert!(printed.matches("no creation time").count() == 1, "{printed}");
    for step in STEPS {
        take(&server, step, &[]);
    }
    differs(&before, &dump(&server));
}
