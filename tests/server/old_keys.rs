//! `sno_refuse_old_keys()`: rows that a feed would miss are refused.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, error, major_version, next_tick, text};

use crate::changes::ddl::told;

/// A new feed has rows refused that it would miss, if its role may; else it is told.
#[test]
fn a_new_feed_guards_its_keys() {
    let server = Server::builder().start();
    server.run(
        "CREATE ROLE bob; GRANT CREATE ON SCHEMA public TO bob; CREATE TABLE own (id sno PRIMARY KEY DEFAULT sno_new());
         CREATE TABLE declined (id sno PRIMARY KEY); CREATE TABLE \"No \"\"key\" (id sno PRIMARY KEY);
         CREATE TABLE two (\"a b\" sno PRIMARY KEY, c sno NOT NULL UNIQUE, n integer);
         CREATE TABLE parts (id sno PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE part PARTITION OF parts DEFAULT;
         CREATE TABLE of_bob PARTITION OF parts FOR VALUES FROM ('9222222222222222') TO ('x222222222222222'); ALTER TABLE of_bob OWNER TO bob;
         GRANT SELECT ON ALL TABLES IN SCHEMA public TO bob; CREATE TABLE tracked (id integer PRIMARY KEY);
         CREATE TABLE uuids (id uuid PRIMARY KEY DEFAULT sno_to_uuidv7(sno_new()), key sno NOT NULL GENERATED ALWAYS AS (uuidv7_to_sno(id)) STORED);
         CREATE INDEX ON uuids (key)",
    );
    let told = |role: &str, call: &str| {
        let output = server.psql(&format!("SET ROLE {role}; SELECT sno_create_feed({call})"));
        assert!(output.status.success(), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        let lines = told.lines().filter(|line| ["NOTICE", "WARNIN", "HINT: "].contains(&&line[..6]));
        lines.map(str::trim_end).collect::<Vec<_>>().join("\n")
    };
    let created = |table: &str| {
        format!(
            "NOTICE:  triggers on \"{table}\" refuse rows whose keys were not generated in their transaction"
        )
    };
    let missed = |table: &str, call: &str| {
        format!(
            "WARNING:  rows of \"{table}\" with keys from earlier transactions would be missed
HINT:  Have the owner of the table call public.sno_refuse_old_keys({call})."
        )
    };
    for (role, call, expected) in [
        ("bob", "'early', 'own'", missed("public.own", "'public.own', 'id'")),
        ("postgres", "'own', 'own'", created("public.own")),
        (
            "postgres",
            "'own', 'own', if_not_exists => true",
            "NOTICE:  feed \"own\" already exists, skipping".into(),
        ),
        ("postgres", "'again', 'own'", String::new()),
        ("bob", "'bob', 'own'", String::new()),
        (
            "postgres",
            "'declined', 'declined', refuse_old_keys => false",
            missed("public.declined", "'public.declined', 'id'"),
        ),
        ("postgres", "'guarded', 'own', refuse_old_keys => false", String::new()),
        ("postgres", "'quoted', '\"No \"\"key\"'", created("public.\"No \"\"key\"")),
        ("postgres", "'two', 'two'", created("public.two")),
        ("postgres", "'other', 'two', key => 'c'", created("public.two")),
        ("postgres", "'both', 'two', key => 'a b'", String::new()),
        ("bob", "'bobs', 'parts'", missed("public.parts", "'public.parts', 'id'")),
        ("postgres", "'parts', 'parts'", created("public.parts")),
        ("postgres", "'uuids', 'uuids', key => 'key', margin => '0'", created("public.uuids")),
    ] {
        assert_eq!(told(role, call), expected, "{role}: {call}");
    }
    let mut client = server.connect();
    client.run("SELECT sno_track_changes('tracked')");
    assert_eq!(told("postgres", "'changes', 'tracked_changes', key => 'changed'"), "");
    let old: String = client.one("SELECT sno_new()::text");
    next_tick();
    for (table, columns) in [
        ("own", "id"),
        ("\"No \"\"key\"", "id"),
        ("two", "c, \"a b\""),
        ("two", "\"a b\", c"),
        ("of_bob", "id"),
        ("parts", "id"),
    ] {
        let values = if columns.contains(',') { format!("'{old}', sno_new()") } else { format!("'{old}'") };
        let error = error(&mut client, &format!("INSERT INTO {table} ({columns}) VALUES ({values})"));
        assert_eq!(
            (error.code().code(), error.column()),
            ("23514", columns.split(',').next().map(|name| name.trim_matches('"'))),
            "{table}"
        );
    }
    client.run(&format!(
        "INSERT INTO declined VALUES ('{old}'); INSERT INTO two VALUES (sno_new(), sno_new(), 1)"
    ));
    // A generated column is as good a key.
    client.run("INSERT INTO uuids DEFAULT VALUES; SELECT pg_sleep(0.008)");
    assert_eq!(
        text(
            &mut client,
            "SELECT count(*) FROM sno_peek_feed('uuids', NULL::uuids) WHERE key = uuidv7_to_sno(id)"
        ),
        "1"
    );
    let refused = error(&mut client, &format!("INSERT INTO uuids VALUES (sno_to_uuidv7('{old}'))"));
    assert_eq!((refused.code().code(), refused.column()), ("23514", Some("key")));
    // With the names that the columns have by then.
    client.run("ALTER TABLE two RENAME c TO d; UPDATE two SET n = 2, d = d");
    let error = error(&mut client, &format!("UPDATE two SET d = '{old}'"));
    assert_eq!((error.code().code(), error.column()), ("23514", Some("d")));
    // A trigger that does not fire guards nothing.
    for state in ["DISABLE", "ENABLE REPLICA"] {
        client.run(&format!("ALTER TABLE own {state} TRIGGER sno_own_keys"));
        let call = format!("'{state}', 'own', since => now()");
        assert_eq!(told("postgres", &call), created("public.own"), "{state}");
        assert_eq!(code(&mut client, &format!("INSERT INTO own VALUES ('{old}')")), "23514", "{state}");
    }
}

/// What a feed will not return, whoever inserts it, is said when it is created.
#[test]
fn a_new_feed_says_what_it_misses() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(), due timestamptz, n integer);
         CREATE TABLE items (\"a b\" integer, c text, PRIMARY KEY (c, \"a b\")); INSERT INTO items VALUES (1, 'x');
         CREATE TABLE empty (id integer PRIMARY KEY); CREATE TABLE parts (id integer PRIMARY KEY) PARTITION BY LIST (id);
         CREATE TABLE part PARTITION OF parts DEFAULT; INSERT INTO parts VALUES (1);
         SELECT sno_track_changes('items'), sno_track_changes('empty'), sno_track_changes('parts');
         ALTER TABLE items RENAME c TO d; SELECT sno_create_feed('there', 'events')",
    );
    let told = |call: &str| {
        let output = server.psql(&format!("SELECT sno_create_feed({call}, if_not_exists => true)"));
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap().trim_end().to_owned()
    };
    let lacks = |table: &str, statement: &str| {
        format!(
            "WARNING:  rows that \"public.{table}\" has already are not in its log of changes
HINT:  To have them returned, too, say as its owner: {statement}"
        )
    };
    for (call, expected) in [
        ("'due', 'events'", String::new()),
        ("'due', 'events'", "NOTICE:  feed \"due\" already exists, skipping".to_owned()),
        (
            "'items', 'items_changes', key => 'changed'",
            lacks(
                "items",
                "INSERT INTO public.items_log (c, \"a b\") SELECT t.d, t.\"a b\" FROM ONLY public.items t",
            ),
        ),
        ("'empty', 'empty_changes'", String::new()),
        (
            "'parts', 'parts_log'",
            lacks("parts", "INSERT INTO public.parts_log (id) SELECT t.id FROM public.parts t"),
        ),
    ] {
        assert_eq!(told(call), expected, "{call}");
    }
    // As it says.
    let mut client = server.connect();
    client.run(
        "INSERT INTO public.items_log (c, \"a b\") SELECT t.d, t.\"a b\" FROM ONLY public.items t; SELECT pg_sleep(0.2)",
    );
    let found = "SELECT (record).d FROM sno_peek_feed('items', NULL::items_changes)";
    assert_eq!(text(&mut client, found), "x");
}

/// What stores no new row is no matter of its key.
#[test]
fn rows_that_are_there_already() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(), n integer); SELECT sno_create_feed('events', 'events');
         CREATE TABLE lists (id sno DEFAULT sno_new(), state integer, PRIMARY KEY (id, state)) PARTITION BY LIST (state);
         CREATE TABLE done (state integer, id sno DEFAULT sno_new(), PRIMARY KEY (id, state)); SELECT sno_create_feed('done', 'done');
         ALTER TABLE lists ATTACH PARTITION done FOR VALUES IN (2); CREATE TABLE open PARTITION OF lists FOR VALUES IN (1);
         CREATE INDEX ON ONLY lists (state);
         SELECT sno_create_feed('lists', 'lists'); CREATE ROLE bob; GRANT INSERT ON lists TO bob",
    );
    let old: String = client.one("INSERT INTO events (n) VALUES (1) RETURNING id::text");
    next_tick();
    client.run(&format!(
        "INSERT INTO events VALUES ('{old}', 2) ON CONFLICT DO NOTHING;
         INSERT INTO events VALUES ('{old}', 3) ON CONFLICT (id) DO UPDATE SET id = excluded.id, n = excluded.n"
    ));
    // A row that moves between partitions.
    client.run("INSERT INTO lists (state) VALUES (1)");
    client.run("UPDATE lists SET state = 2");
    client.run("UPDATE lists SET state = 1, id = id");
    for sql in [
        format!("INSERT INTO lists VALUES ('{old}', 2)"),
        format!("UPDATE lists SET state = 2, id = '{old}'"),
        format!("UPDATE lists SET id = '{old}'"),
        // One that is copied stays where it was.
        "INSERT INTO lists (id, state) SELECT id, 2 FROM lists".to_owned(),
        "WITH d AS (DELETE FROM lists RETURNING *) INSERT INTO lists (id, state) SELECT id, n FROM d, generate_series(1, 2) n".to_owned(),
        format!("SET ROLE bob; INSERT INTO lists VALUES ('{old}', 2)"),
    ] {
        assert_eq!(code(&mut client, &sql), "23514", "{sql}");
    }
    // One that is deleted and inserted by one statement moves, too.
    client.run(
        "RESET ROLE; WITH d AS (DELETE FROM lists RETURNING *) INSERT INTO lists (id, state) SELECT id, 2 FROM d",
    );
    assert_eq!(text(&mut client, "SELECT string_agg(state::text, ' ') FROM lists"), "2");
    // The order of a restore by several jobs: the triggers of a table come before the data of its last partition.
    client.run(
        "RESET ROLE; CREATE TABLE restored (id sno NOT NULL, n integer NOT NULL) PARTITION BY LIST (n); CREATE TABLE one PARTITION OF restored DEFAULT;
         ALTER TABLE ONLY restored ADD CONSTRAINT restored_pkey PRIMARY KEY (id, n); SELECT sno_refuse_old_keys('restored', 'id')",
    );
    let insert = format!("INSERT INTO one SELECT '{old}', n FROM generate_series(1, 2) n");
    client.run(&insert);
    client.run(
        "ALTER TABLE one ADD CONSTRAINT one_pkey PRIMARY KEY (id, n); ALTER INDEX restored_pkey ATTACH PARTITION one_pkey; DELETE FROM one",
    );
    assert_eq!(code(&mut client, &insert), "23514");
}

/// Rows can move into a partition later, so it has no feed of its own, nor triggers but those of its table.
#[test]
fn partitions() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new()) PARTITION BY RANGE (id); CREATE TABLE part PARTITION OF log DEFAULT;
         CREATE TABLE later (id sno PRIMARY KEY); SELECT sno_create_feed('later', 'later', refuse_old_keys => false)",
    );
    for call in ["SELECT sno_create_feed('part', 'part')", "SELECT sno_refuse_old_keys('part')"] {
        assert_eq!(code(&mut client, call), "42809", "{call}");
    }
    client.run("ALTER TABLE log ATTACH PARTITION later FOR VALUES FROM (MINVALUE) TO ('9222222222222222')");
    let refused = error(&mut client, "SELECT FROM sno_peek_feed('later', NULL::later)");
    assert_eq!(refused.message(), "\"public.later\" cannot be the source of a feed");
}

/// A foreign key in the primary key is older than its row, so it is the key of nothing.
#[test]
fn a_primary_key_with_a_foreign_key() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE tenants (id sno PRIMARY KEY DEFAULT sno_new()); INSERT INTO tenants DEFAULT VALUES;
         CREATE TABLE items (tenant sno REFERENCES tenants, id sno DEFAULT sno_new(), PRIMARY KEY (tenant, id)); CREATE INDEX ON items (id);
         CREATE TABLE copy (LIKE items); SELECT sno_refuse_old_keys('items'), sno_create_feed('feed', 'items', margin => '0');
         INSERT INTO items SELECT id FROM tenants",
    );
    next_tick();
    client.run("INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items)");
    assert_eq!(text(&mut client, "SELECT sno_read_by_all('items') >= id FROM items"), "t");
}

/// A feed never returns rows without a key: it is not created, nor read, where there can be some.
#[test]
fn rows_without_a_key() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run("CREATE TABLE posts (id integer PRIMARY KEY, key sno UNIQUE)");
    let create = "SELECT sno_create_feed('posts', 'posts', key => 'key', margin => '0')";
    let peek = "SELECT FROM sno_peek_feed('posts', NULL::posts)";
    let assert_refused = |client: &mut Client, call: &str| {
        let error = error(client, call);
        assert_eq!(
            (error.code().code(), error.message()),
            ("55000", "key \"key\" of \"public.posts\" can be null"),
            "{call}"
        );
    };
    assert_refused(&mut client, create);
    client.run(&format!("ALTER TABLE posts ALTER key SET NOT NULL; {create}; {peek}"));
    client.run("ALTER TABLE posts ALTER key DROP NOT NULL");
    assert_refused(&mut client, peek);
    assert_refused(&mut client, "CALL sno_wait_feed('posts', '0')");
    client.run(&format!("ALTER TABLE posts ALTER key SET NOT NULL; {peek}"));
    if major_version(&mut client) >= 18 {
        client.run(
            "ALTER TABLE posts ALTER key DROP NOT NULL; INSERT INTO posts VALUES (1); ALTER TABLE posts ADD CONSTRAINT later NOT NULL key NOT VALID",
        );
        assert_refused(&mut client, peek);
        client.run(&format!("DELETE FROM posts; ALTER TABLE posts ALTER key SET NOT NULL; {peek}"));
    }
}

/// Other tables inherit neither keys nor triggers: rows of theirs would be read, and missed, otherwise.
#[test]
fn a_table_from_which_others_inherit() {
    let server = Server::builder().start();
    let mut client = server.connect();
    let (create, peek) = (
        "SELECT sno_create_feed('feed', 'events', margin => '0')",
        "SELECT FROM sno_peek_feed('feed', NULL::events)",
    );
    client.run(&format!("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new()); {create}; {peek}"));
    client.run("CREATE TABLE child () INHERITS (events)");
    for call in [create, peek, "CALL sno_wait_feed('feed', '0')"] {
        let error = error(&mut client, call);
        assert_eq!(
            (error.code().code(), error.message(), error.detail()),
            (
                "42809",
                "\"public.events\" cannot be the source of a feed",
                Some("Other tables inherit from it.")
            ),
            "{call}"
        );
    }
    client.run(&format!("ALTER TABLE child NO INHERIT events; {peek}"));
    client.run("CALL sno_wait_feed('feed', '0')");
}

/// As Prisma's migrations propose for a column whose type they do not know.
#[test]
fn a_key_with_a_feed_is_not_dropped() {
    let server = Server::builder().start();
    server.run("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1)); SELECT sno_create_feed('export', 'events')");
    let replace = "ALTER TABLE events DROP CONSTRAINT events_pkey, DROP COLUMN id,
        ADD COLUMN id TEXT NOT NULL DEFAULT sno_new(1), ADD CONSTRAINT events_pkey PRIMARY KEY (id)";
    assert_eq!(code(&mut server.connect(), replace), "2BP01");
}

#[test]
fn a_key_of_another_transaction_is_refused() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE DOMAIN any_id AS sno; CREATE DOMAIN event_id AS any_id;
         CREATE TABLE events (id event_id PRIMARY KEY DEFAULT sno_new(1), of sno, n integer) PARTITION BY RANGE (id);
         CREATE TABLE part PARTITION OF events DEFAULT; CREATE INDEX ON events (of); CREATE TABLE \"No \"\"key\" (\"a b\" sno, c sno);
         CREATE ROLE bob; GRANT ALL ON events TO bob;
         SELECT sno_refuse_old_keys('events'), sno_refuse_old_keys('events')",
    );
    let old: String = client.one("SELECT sno_new()::text");
    let other = server.connect().one::<String>("SELECT sno_new(1, now() + interval '1 hour')::text");
    for sql in [
        format!("INSERT INTO events (id) VALUES ('{old}')"),
        format!("INSERT INTO part (id) VALUES ('{old}')"),
        format!("INSERT INTO events VALUES ('{old}') ON CONFLICT DO NOTHING"),
        "INSERT INTO events SELECT sno_new(1, now() - interval '1 hour')".to_owned(),
    ] {
        let error = error(&mut client, &sql);
        assert_eq!(error.code().code(), "23514", "{sql}");
        assert!(error.message().contains("was not generated in this transaction"), "{error}");
        assert!(error.detail().is_some() && error.hint().is_some());
        assert_eq!(error.column(), Some("id"));
    }
    client.run("INSERT INTO events (n) SELECT generate_series(1, 3); INSERT INTO events VALUES (sno_new(7), NULL, 4)");
    client.run("WITH k AS (SELECT sno_new() AS id) INSERT INTO events SELECT id, NULL, 5 FROM k");
    client.run("UPDATE events SET n = n + 1; UPDATE events SET id = id; UPDATE events SET id = sno_new() WHERE n = 2");
    assert_eq!(code(&mut client, &format!("UPDATE events SET id = '{old}' WHERE n = 3")), "23514");
    // A later key is one that no horizon passes before this transaction ends.
    client.run(&format!("BEGIN; SELECT sno_new(); INSERT INTO events VALUES ('{other}'); ROLLBACK"));
    // The column is named, of a table without a primary key.
    let source = "'\"No \"\"key\"'";
    for key in ["NULL", "'d'"] {
        assert_eq!(code(&mut client, &format!("SELECT sno_refuse_old_keys({source}, {key})")), "42703");
    }
    client.run(&format!("SELECT sno_refuse_old_keys({source}, 'a b')"));
    client.run(&format!("INSERT INTO \"No \"\"key\" VALUES (sno_new(), '{old}'), (NULL, NULL)"));
    assert_eq!(code(&mut client, &format!("INSERT INTO \"No \"\"key\" VALUES ('{old}')")), "23514");
    assert_eq!(code(&mut client, "SET ROLE bob; SELECT sno_refuse_old_keys('events')"), "42501");
}

/// What other tools replicate is refused where a feed could miss it, also after a bulk load.
#[test]
fn keys_that_are_replicated() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE events (id sno PRIMARY KEY, n integer) PARTITION BY RANGE (id); CREATE TABLE part PARTITION OF events DEFAULT;
         CREATE TABLE plain (id sno PRIMARY KEY); INSERT INTO plain VALUES (sno_new());
         SELECT sno_create_feed('plain', 'plain'), sno_refuse_old_keys('events');
         SET session_replication_role = replica; INSERT INTO events VALUES ('2222222222222222'); UPDATE events SET id = '2222222222222223'; DELETE FROM events",
    );
    client.run("SELECT sno_create_feed('feed', 'events')");
    for loaded in [
        "",
        "ALTER TABLE events DISABLE TRIGGER ALL; INSERT INTO part VALUES ('2222222222222224'); ALTER TABLE events ENABLE TRIGGER ALL;
         ALTER TABLE plain DISABLE TRIGGER USER; ALTER TABLE plain ENABLE TRIGGER USER",
    ] {
        client.run(loaded);
        for sql in ["INSERT INTO events VALUES", "INSERT INTO part VALUES", "INSERT INTO plain VALUES", "UPDATE plain SET id ="] {
            let refused = error(&mut client, &format!("{sql} ('2222222222222222')"));
            assert_eq!(refused.code().code(), "23514", "{sql} {loaded}");
            assert!(refused.hint().unwrap().starts_with("Have its feeds"), "{refused:?}");
        }
    }
}

#[test]
fn triggers_that_are_disabled_are_said() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE events (id sno PRIMARY KEY, n integer); CREATE TABLE other (n integer);
         SELECT sno_refuse_old_keys('events')",
    );
    let (own, both) =
        ("ENABLE TRIGGER sno_own_keys", "ENABLE TRIGGER sno_changed_keys, ENABLE TRIGGER sno_own_keys");
    for (change, disabled) in [
        ("events DISABLE TRIGGER sno_own_keys", own),
        ("events ENABLE TRIGGER ALL", ""),
        ("events ENABLE REPLICA TRIGGER sno_own_keys", own),
        ("events DISABLE TRIGGER USER", both),
        ("events ENABLE ALWAYS TRIGGER sno_own_keys, ENABLE TRIGGER sno_changed_keys", ""),
        ("events DISABLE TRIGGER ALL", both),
        ("other DISABLE TRIGGER ALL", ""),
    ] {
        let expected = format!(
            "WARNING:  keys of earlier transactions are not refused in \"public.events\" now\n\
             DETAIL:  Feeds can miss rows with such keys.\nHINT:  Before others write it: ALTER TABLE public.events {disabled}"
        );
        let told = told(&server, &format!("ALTER TABLE {change}"));
        assert_eq!(told, if disabled.is_empty() { String::new() } else { expected }, "{change}");
    }
}

/// The same where a table has feeds, and one of its triggers is dropped, or another one takes its name.
#[test]
fn triggers_that_are_dropped_or_replaced_are_said() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice; GRANT CREATE ON SCHEMA public TO alice; CREATE SCHEMA \"A b\";
         CREATE TABLE \"A b\".events (id sno PRIMARY KEY, n integer) PARTITION BY RANGE (id); CREATE TABLE part PARTITION OF \"A b\".events DEFAULT;
         CREATE TABLE without (id sno PRIMARY KEY);
         SELECT sno_create_feed('feed', '\"A b\".events'), sno_create_feed('other', '\"A b\".events'), sno_refuse_old_keys('without');
         CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         SET ROLE alice; CREATE TABLE hers (id sno PRIMARY KEY); SELECT sno_create_feed('hers', 'hers')",
    );
    let warning = |table: &str, feeds: &[&str], role: &str| {
        let feeds: Vec<_> = feeds.iter().map(|feed| format!("\"{feed}\" of role \"{role}\"")).collect();
        format!(
            "WARNING:  keys of earlier transactions are not refused in \"{}\" now\n\
             DETAIL:  Rows with such keys can be missed by: {}.\n\
             HINT:  Before others write it, as its owner: SELECT public.sno_refuse_old_keys('{table}', 'id')",
            table,
            feeds.join(", ")
        )
    };
    let events = warning("\"A b\".events", &["feed", "other"], "postgres");
    let create = "CREATE OR REPLACE TRIGGER sno_own_keys AFTER INSERT ON \"A b\".events FOR EACH ROW";
    let guard = "EXECUTE FUNCTION sno_internal.refuse_old_key()";
    for (sql, expected) in [
        ("DROP TRIGGER sno_own_keys ON \"A b\".events".to_owned(), &*events),
        ("DROP TRIGGER IF EXISTS sno_own_keys ON \"A b\".events".into(), ""),
        ("SELECT sno_refuse_old_keys('\"A b\".events')".into(), ""),
        ("DO $$ BEGIN DROP TRIGGER sno_changed_keys ON \"A b\".events; END $$".into(), &events),
        ("SELECT sno_refuse_old_keys('\"A b\".events')".into(), ""),
        (format!("{create} EXECUTE FUNCTION own()"), &events),
        (format!("{create} WHEN (false) {guard}"), &events),
        (format!("{create} WHEN (NOT sno_holds_horizon(NEW.id)) {guard}"), ""),
        (
            "CREATE TRIGGER another AFTER INSERT ON \"A b\".events FOR EACH ROW EXECUTE FUNCTION own()"
                .into(),
            "",
        ),
        ("DROP TRIGGER another ON \"A b\".events".into(), ""),
        ("DROP TRIGGER sno_own_keys ON without; DROP TRIGGER sno_changed_keys ON without".into(), ""),
        (
            "CREATE TRIGGER sno_own_keys AFTER INSERT ON without FOR EACH ROW EXECUTE FUNCTION own()".into(),
            "",
        ),
        (
            "SET ROLE alice; DROP TRIGGER sno_own_keys ON hers".into(),
            &warning("public.hers", &["hers"], "alice"),
        ),
        ("DROP TABLE part".into(), ""),
    ] {
        assert_eq!(told(&server, &sql), expected, "{sql}");
    }
    // The statements of the hint guard each key that a feed reads by, also outside of the primary key.
    client.run(
        "CREATE TABLE named (a sno NOT NULL, b sno NOT NULL, n integer PRIMARY KEY); CREATE INDEX ON named (a); CREATE INDEX ON named (b);
         SELECT sno_create_feed('a', 'named', key => 'a'), sno_create_feed('b', 'named', key => 'b'); DROP TRIGGER sno_own_keys ON named",
    );
    let said = told(&server, "DROP TRIGGER sno_changed_keys ON named");
    client.run(said.split_once("as its owner: ").unwrap().1);
    let guards = "SELECT count(*) FROM sno_internal.guards('named')";
    assert_eq!(text(&mut client, guards), "4", "{said}");
    // It never keeps anybody from working.
    client.run("RESET ROLE; SELECT sno_refuse_old_keys('hers'); REVOKE USAGE ON SCHEMA sno_internal FROM PUBLIC; CREATE TABLE other (n integer)");
    client.run(
        "ALTER TABLE other OWNER TO alice; CREATE TRIGGER t AFTER INSERT ON other EXECUTE FUNCTION own()",
    );
    assert_eq!(told(&server, "SET ROLE alice; DROP TRIGGER t ON other"), "");
    assert_eq!(
        told(&server, "SET ROLE alice; DROP TRIGGER sno_own_keys ON hers"),
        "WARNING:  logs of changes and feeds may not know what \"DROP TRIGGER\" has done\nDETAIL:  SQLSTATE 42501\n\
         HINT:  Have the owner of the table call sno_track_changes(), or sno_refuse_old_keys()."
    );
}

/// Of a domain over the type, the owner of the extension's schema can have a function of the same name.
#[test]
fn functions_of_the_schemas_owner() {
    let server = Server::builder().extension(false).start();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE other; CREATE SCHEMA ext AUTHORIZATION other; CREATE EXTENSION sno SCHEMA ext; CREATE DOMAIN event_id AS ext.sno;
         CREATE TABLE events (id event_id PRIMARY KEY DEFAULT ext.sno_new());
         SET ROLE other; CREATE FUNCTION ext.sno_holds_horizon(event_id) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
         RESET ROLE; SELECT ext.sno_refuse_old_keys('events'); INSERT INTO events DEFAULT VALUES; UPDATE events SET id = ext.sno_new()",
    );
    assert_eq!(code(&mut client, "INSERT INTO events VALUES ('2222222222222222')"), "23514");
}
