//! Nobody's name, function or text runs with another's rights.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, error, next_tick, stored, text};

/// What a tenant puts into tables. Whatever runs as another role than the tenant, or becomes another one, takes a number of `others`, whatever runs as
/// the tenant one of `own`; numbers stay when a statement fails.
const TENANT: &str = r#"
    CREATE FUNCTION ten.note() RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
        way_out text;
    BEGIN
        PERFORM nextval('public.own');
        FOREACH way_out IN ARRAY ARRAY['SELECT 1', 'RESET ROLE', 'SET ROLE NONE', 'SET ROLE postgres', 'SET SESSION AUTHORIZATION DEFAULT',
            'SET LOCAL SESSION AUTHORIZATION postgres', 'RESET ALL', 'DISCARD ALL'] LOOP
            BEGIN
                EXECUTE way_out;
            EXCEPTION WHEN OTHERS THEN
            END;
            IF current_user <> 'tenant' THEN
                PERFORM nextval('public.others');
            END IF;
        END LOOP;
    END
    $$;
    CREATE FUNCTION ten.pass(anyelement) RETURNS anyelement IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM ten.note(); RETURN $1; END';
    CREATE FUNCTION ten.noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM ten.note(); RETURN coalesce(NEW, OLD); END';
    CREATE DOMAIN ten.checked AS integer CHECK (ten.pass(VALUE) > 0);
    CREATE TABLE ten."o'n$$e%I\
" (id ten.checked PRIMARY KEY, n ten.checked DEFAULT ten.pass(1), g integer GENERATED ALWAYS AS (ten.pass(2)) STORED,
        CHECK (ten.pass(id) > 0 AND ten.pass(1) = 1), EXCLUDE (id WITH =));
    CREATE TABLE ten.log (id sno DEFAULT sno_new(), n ten.checked DEFAULT ten.pass(1), g integer GENERATED ALWAYS AS (ten.pass(2)) STORED,
        CHECK (ten.pass(n) > 0 AND ten.pass(1) = 1), PRIMARY KEY (id)) PARTITION BY RANGE (id);
    CREATE TABLE ten."r'e$$st" PARTITION OF ten.log (CHECK (ten.pass(n) > 0)) DEFAULT;
    CREATE INDEX ON ten.log (ten.pass(n)) WHERE ten.pass(n) > 0;
    ALTER TABLE ten.log ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON ten.log USING (ten.pass(true)) WITH CHECK (ten.pass(true));
    CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON ten.log EXECUTE FUNCTION ten.noted()"#;

/// A server with these, a superuser and the tenant.
fn server_of_tenant() -> (Server, Client, Client) {
    let server = Server::builder().start();
    let mut superuser = server.connect();
    superuser.run(
        "CREATE ROLE tenant LOGIN; CREATE SCHEMA ten AUTHORIZATION tenant; CREATE SEQUENCE others; CREATE SEQUENCE own;
         GRANT USAGE ON SEQUENCE others, own TO PUBLIC",
    );
    let mut tenant = server.connect_as("tenant");
    tenant.run(TENANT);
    (server, superuser, tenant)
}

/// A superuser maintains the tables of a tenant: what is in them runs as the tenant, and finds no way to be anybody else.
#[test]
fn maintenance_runs_what_is_in_a_table_as_its_owner() {
    let (server, mut superuser, mut tenant) = server_of_tenant();
    tenant.run("INSERT INTO ten.log (id) SELECT sno_new(0, now() - '3 days'::interval * n) FROM generate_series(1, 3) n");
    let one = r#"ten."o''n$$e%I\
""#;
    let log = r#"ten."o'n$$e%I\
_log""#;
    let triggers = |table: &str| {
        format!(
            "CREATE TRIGGER a BEFORE INSERT OR DELETE OR TRUNCATE ON {table} EXECUTE FUNCTION ten.noted();
            CREATE TRIGGER b AFTER INSERT OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION ten.noted()"
        )
    };
    let mut ran = |maintenance: &str, runs: bool| {
        superuser.run("ALTER SEQUENCE own RESTART");
        superuser.run(maintenance);
        assert_eq!(
            text(&mut superuser, "SELECT is_called FROM own"),
            if runs { "t" } else { "f" },
            "{maintenance}"
        );
        assert_eq!(text(&mut superuser, "SELECT is_called FROM others"), "f", "{maintenance}");
    };
    ran(&format!("SELECT sno_track_changes('{one}'), sno_track_changes('ten.log')"), false);
    tenant.run(&triggers(log));
    tenant.run(&triggers("ten.log_log"));
    tenant.run(&format!(
        "SELECT sno_create_feed('one', '{}', key => 'changed', margin => '0')",
        one.replace("\n\"", "\n_changes\"")
    ));
    tenant.run("SELECT sno_create_feed('log', 'ten.log_changes', key => 'changed', margin => '0')");
    tenant.run(&format!("INSERT INTO {} (id) VALUES (1)", one.replace("''", "'")));
    ran(
        "SELECT sno_create_partitions('ten.log', '1 day', now() - interval '20 days', now() - interval '15 days')",
        true,
    );
    ran("SELECT sno_maintain_partitions('ten.log', '1 day', 2)", true);
    tenant.run("INSERT INTO ten.log (id) SELECT sno_new(0, now() - '1 day'::interval * n) FROM generate_series(16, 19) n");
    for view in ["ten.log_changes".to_owned(), log.replace("_log", "_changes")] {
        next_tick();
        let feed = if view == "ten.log_changes" { "log" } else { "one" };
        tenant.run(&stored(&format!("SELECT changed FROM sno_feed('{feed}', NULL::{view})")));
    }
    ran("SELECT sno_read_by_all('ten.log'), sno_partitions('ten.log'), sno_readers('ten.log_log')", false);
    ran("SELECT sno_expire_partitions('ten.log', now() - interval '18 days')", true);
    ran("SELECT sno_maintain_partitions('ten.log', '1 day', 3, '16 days', drop_expired => true)", true);
    ran(&format!("SELECT sno_forget_changes('{one}'), sno_forget_changes('ten.log')"), true);
    // What would run when the superuser's transaction commits is refused, and nothing was done.
    tenant.run(&format!(
        "INSERT INTO {} (id) VALUES (2); CREATE CONSTRAINT TRIGGER c AFTER DELETE ON {log} INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ten.noted()",
        one.replace("''", "'")
    ));
    next_tick();
    tenant.run(&stored(&format!(
        "SELECT changed FROM sno_feed('one', NULL::{})",
        log.replace("_log", "_changes")
    )));
    let mut other = server.connect();
    assert_eq!(code(&mut other, &format!("SELECT sno_forget_changes('{one}')")), "42501");
    assert_eq!(text(&mut other, &format!("SELECT count(*) FROM {log}")), "1");
    tenant.run(&format!("DROP TRIGGER c ON {log}; SELECT sno_drop_feed('one'), sno_drop_feed('log')"));
    // The owner of the whole is still the one who owns the table, and nothing is left behind.
    let owners = "SELECT string_agg(DISTINCT pg_get_userbyid(o), ' ') FROM (
        SELECT relowner FROM pg_class WHERE relnamespace = 'ten'::regnamespace UNION SELECT proowner FROM pg_proc WHERE pronamespace = 'ten'::regnamespace) t(o)";
    assert_eq!(text(&mut other, owners), "tenant");
    // What was made for the log can be called by nobody else.
    let callable =
        "SELECT count(*) FROM pg_proc WHERE pronamespace = 'ten'::regnamespace AND proname LIKE '%\\_log'
        AND EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE grantee = 0)";
    assert_eq!(text(&mut other, callable), "0");
    ran(&format!("SELECT sno_untrack_changes('{one}'), sno_untrack_changes('ten.log')"), false);
    assert_eq!(
        text(
            &mut other,
            "SELECT count(*) FROM pg_class WHERE relname LIKE '%\\_log' OR relname LIKE '%\\_changes'"
        ),
        "0"
    );
}

/// A superuser looks at, leads, drops and dumps feeds of a tenant's table, whatever its indexes and names have. Only who names the table reads it.
#[test]
fn feeds_of_a_tenant_and_their_dump() {
    let (server, mut superuser, mut tenant) = server_of_tenant();
    let (table, feed) = ("ten.\"v'i$$e%I\\\nw\"", "f'$$%I\\.\n\\.\n\"");
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let (name, source) = (literal(feed), literal(table));
    tenant.run(&format!(
        "CREATE FUNCTION ten.stable(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM ten.note(); RETURN $1; END';
         CREATE TABLE {table} (id sno PRIMARY KEY DEFAULT sno_new(), n integer); CREATE INDEX ON {table} ((ten.stable(1) + n));
         INSERT INTO {table} SELECT FROM generate_series(1, 3);
         INSERT INTO ten.log (id) SELECT sno_new() FROM generate_series(1, 3);
         SELECT sno_create_feed('f', {source}, margin => '0'), sno_create_feed('log', 'ten.log', margin => '0')"
    ));
    next_tick();
    // As an old dump can have it: no new feed gets such a name.
    superuser.run(&format!("UPDATE sno_internal.feed_positions SET feed = {name} WHERE feed = 'f'"));
    tenant.run(&format!("SELECT sno_create_feed({name}, {source}, if_not_exists => true)"));
    let last = text(&mut tenant, &format!("SELECT min(id) FROM {table}"));
    superuser.run("ALTER SEQUENCE own RESTART; ALTER SEQUENCE others RESTART");
    let nothing_ran = |after: &str| {
        let ran = "SELECT concat(o.is_called, t.is_called) FROM others o, own t";
        assert_eq!(text(&mut server.connect(), ran), "ff", "{after}");
    };
    for call in [
        "SELECT * FROM sno_feeds()".to_owned(),
        "SELECT sno_readers('ten.log'), sno_read_by_all('ten.log'), sno_read_by_all('ten.r''e$$st')"
            .replace("ten.r''e$$st", "ten.\"r''e$$st\""),
        format!("SELECT sno_advance_feed({name}, '{last}')"),
        format!(
            "SELECT sno_fail_feed({name}, (SELECT '{last}'::sno), 'x'), sno_seek_feed({name}, '-infinity')"
        ),
        format!("SELECT sno_seek_feed({name}, after => '{last}')"),
        format!("CALL sno_wait_read({name}, '{last}', '0')"),
        "SELECT sno_advance_feed('log', '2222222222222223'), sno_seek_feed('log', now())".to_owned(),
    ] {
        superuser.run(&call);
        nothing_ran(&call);
    }
    for name in [&name, "'log'"] {
        assert_eq!(code(&mut superuser, &format!("CALL sno_wait_feed({name}, '0')")), "42501");
    }
    // Without indexes, whose functions would need what is granted in the end.
    let dump = server.dump(&["--section=pre-data", "--section=data"]);
    nothing_ran("pg_dump");
    server.run("CREATE DATABASE copy");
    let restored = server.psql(&format!("\\c copy\n{dump}"));
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    let positions =
        "SELECT array_agg(ROW(feed, owner, source::text, position)::text ORDER BY feed) FROM sno_feeds()";
    assert_eq!(text(&mut server.connect_to("copy"), positions), text(&mut superuser, positions));
    superuser.run(&format!("SELECT sno_drop_feed({name}, 'tenant'), sno_drop_feed('log')"));
    nothing_ran("drops");
    assert_eq!(text(&mut superuser, "SELECT count(*) FROM sno_feeds()"), "0");
}

/// After a call that maintains a table as its owner, and after one that fails, the session is what it was.
#[test]
fn the_caller_is_itself_again() {
    let server = Server::builder().start();
    server.run(
        "CREATE ROLE tenant LOGIN; CREATE ROLE member LOGIN IN ROLE tenant; CREATE ROLE lazy LOGIN NOINHERIT IN ROLE tenant; CREATE ROLE other LOGIN;
         CREATE SCHEMA ten AUTHORIZATION tenant; GRANT USAGE ON SCHEMA ten TO lazy, other",
    );
    let mut tenant = server.connect_as("tenant");
    tenant.run("CREATE TABLE ten.items (id integer PRIMARY KEY); CREATE TABLE ten.log (id sno) PARTITION BY RANGE (id)");
    for (who, may) in
        [("postgres", true), ("member", true), ("tenant", true), ("lazy", false), ("other", false)]
    {
        let mut client = server.connect_as(who);
        client.run("SET search_path = ten, public; SET lock_timeout = '7s'");
        let is_itself = |client: &mut sno_tests::postgres::Client, after: &str| {
            let state = "SELECT concat_ws(' ', current_user, current_setting('search_path'), current_setting('lock_timeout'))";
            assert_eq!(text(client, state), format!("{who} ten, public 7s"), "{after}");
            // Which no role may create that is another one for a while.
            client.run("CREATE TEMP TABLE t (n integer) ON COMMIT DROP");
        };
        if may {
            client
                .run("SELECT public.sno_track_changes('ten.items'), public.sno_forget_changes('ten.items')");
            is_itself(&mut client, "calls");
            client.run("SELECT public.sno_untrack_changes('ten.items')");
        }
        for (call, state) in [
            ("public.sno_track_changes('ten.log')", "42809"),
            ("public.sno_forget_changes('ten.items')", "55000"),
            ("public.sno_create_partitions('ten.log', '0 s', now(), now())", "22023"),
        ] {
            let state = if may { state } else { "42501" };
            assert_eq!(code(&mut client, &format!("SELECT {call}")), state, "{who}: {call}");
            is_itself(&mut client, call);
            // In a savepoint of PL/pgSQL's, the rest of the transaction as well.
            client.run("BEGIN");
            client.run(&format!("DO $$ BEGIN PERFORM {call}; EXCEPTION WHEN OTHERS THEN NULL; END $$"));
            is_itself(&mut client, call);
            client.run("COMMIT");
        }
    }
    // Nobody waits for a lock on what is not his, nor has one then.
    let mut holder = server.connect();
    holder.run("BEGIN; LOCK TABLE ten.items IN SHARE UPDATE EXCLUSIVE MODE");
    for (who, state) in [("other", "42501"), ("member", "55P03")] {
        let call = "SET lock_timeout = '100 ms'; SELECT sno_untrack_changes('ten.items')";
        assert_eq!(code(&mut server.connect_as(who), call), state, "{who}");
    }
}

/// What a trigger of the owner's sets ends with the call, for the whole session as well as for the transaction.
#[test]
fn what_an_owner_sets_does_not_stay() {
    let server = Server::builder().start();
    server.run("CREATE ROLE tenant LOGIN; CREATE SCHEMA ten AUTHORIZATION tenant");
    server.connect_as("tenant").run(
        "CREATE TABLE ten.items (id integer PRIMARY KEY); SELECT sno_track_changes('ten.items');
         CREATE FUNCTION ten.sets() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             PERFORM set_config('search_path', 'ten', false), set_config('ten.own', 'x', false), set_config('row_security', 'off', true);
             SET work_mem = '1MB'; SET LOCAL lock_timeout = '1 s'; SET default_transaction_read_only = on; RESET statement_timeout;
             RETURN NULL;
         END
         $$;
         CREATE TRIGGER sets BEFORE DELETE ON ten.items_log EXECUTE FUNCTION ten.sets()",
    );
    let mut client = server.connect();
    client.run("SET statement_timeout = '7 min'; BEGIN; SET LOCAL lock_timeout = '7 s'");
    let names = "search_path,ten.own,row_security,work_mem,lock_timeout,default_transaction_read_only,statement_timeout,role";
    let settings = format!(
        "SELECT string_agg(concat(current_setting(name, true)), '|') FROM unnest('{{{names}}}'::text[]) name"
    );
    let before = text(&mut client, &settings);
    for commit in ["SELECT 1", "COMMIT; BEGIN; SET LOCAL lock_timeout = '7 s'"] {
        client.run("SELECT sno_forget_changes('ten.items')");
        client.run(commit);
        assert_eq!(text(&mut client, &settings), before, "{commit}");
    }
    client.run("COMMIT");
    // Nor when the call is cancelled in there, alone or in a savepoint.
    server.connect_as("tenant").run(
        "CREATE OR REPLACE FUNCTION ten.sets() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN SET work_mem = '1MB'; PERFORM pg_sleep(60); RETURN NULL; END $$",
    );
    client.run("SET statement_timeout = '200 ms'");
    let before = text(&mut client, &settings);
    let who = "SELECT concat(current_user, ' ', session_user)";
    assert_eq!(code(&mut client, "SELECT sno_forget_changes('ten.items')"), "57014");
    assert_eq!((text(&mut client, &settings), text(&mut client, who)), (before, "postgres postgres".into()));
    client.run("BEGIN; SET LOCAL statement_timeout = 0; SAVEPOINT s; SET LOCAL statement_timeout = '200 ms'");
    assert_eq!(code(&mut client, "SELECT sno_forget_changes('ten.items')"), "57014");
    client.run("ROLLBACK TO s; CREATE TEMP TABLE own (n integer)");
    assert_eq!(text(&mut client, who), "postgres postgres");
    client.run("COMMIT");
}

/// A log that belongs to several roles is nobody's: who owns a part of it would choose what is replaced, dropped or read.
#[test]
fn logs_of_several_owners() {
    let server = Server::builder().start();
    server.run(
        "CREATE ROLE tenant LOGIN; CREATE ROLE other; CREATE SCHEMA ten AUTHORIZATION tenant; GRANT ALL ON SCHEMA ten TO other",
    );
    server
        .connect_as("tenant")
        .run("CREATE TABLE ten.items (id integer PRIMARY KEY); SELECT sno_track_changes('ten.items')");
    let mut client = server.connect();
    client.run("ALTER TABLE ten.items_log OWNER TO other");
    for call in ["sno_track_changes", "sno_forget_changes", "sno_untrack_changes"] {
        let refused = error(&mut client, &format!("SELECT {call}('ten.items')"));
        assert_eq!(
            (refused.code().code(), refused.detail()),
            ("55000", Some("\"ten.items_log\" is of \"other\"."))
        );
    }
    client.run("ALTER TABLE ten.items_log OWNER TO tenant; SELECT sno_forget_changes('ten.items')");
}

/// What anybody may call about anything keeps no lock on it: its owner can change it while the caller's transaction goes on.
#[test]
fn nobody_locks_what_others_own() {
    let server = Server::builder().start();
    server.run(
        "CREATE ROLE mallory LOGIN; CREATE TABLE items (id sno PRIMARY KEY, n integer); 
         CREATE TABLE log (id sno PRIMARY KEY) PARTITION BY RANGE (id); SELECT sno_track_changes('items'); SELECT sno_create_feed('feed', 'items_changes')",
    );
    let mut mallory = server.connect_as("mallory");
    mallory.run("BEGIN");
    for name in ["items", "items_changes", "items_log", "log"] {
        for call in [
            "sno_internal.table_of('NAME')",
            "sno_internal.readers('NAME')",
            "sno_internal.inheritors('NAME')",
            "sno_internal.tracking_fault('NAME')",
            "sno_internal.key_of('f', 'items_changes', now(), NULL, '0.1 s')",
            "sno_readers('NAME')",
            "sno_read_by_all('NAME')",
            "sno_partitions('NAME')",
        ] {
            mallory.run(&format!("SELECT {}", call.replace("NAME", name)));
            let locked = "SELECT string_agg(relation::regclass::text, ' ') FROM pg_locks
                WHERE pid = pg_backend_pid() AND relation IN ('items'::regclass, 'items_changes'::regclass, 'items_log'::regclass, 'log'::regclass)";
            assert_eq!(mallory.one::<Option<String>>(locked), None, "{call} of {name}");
        }
    }
    server.run("DROP VIEW items_changes; ALTER TABLE items ADD m integer");
    // What PostgreSQL has stored of other things is no query of a view.
    for (event, command) in [
        ("INSERT", "NOTHING"),
        ("INSERT", "NOTIFY news"),
        ("UPDATE", "UPDATE log SET id = old.id"),
        ("DELETE", "DELETE FROM log"),
        ("INSERT", "(INSERT INTO log TABLE log; NOTIFY news)"),
    ] {
        server.run(&format!("CREATE TABLE \"{command}\" (id sno); CREATE RULE r AS ON {event} TO \"{command}\" DO ALSO {command}"));
    }
    server.run("CREATE FUNCTION nothing() RETURNS void LANGUAGE SQL BEGIN ATOMIC END");
    for (column, other) in [
        ("indexprs", "pg_index"),
        ("prosqlbody", "pg_proc"),
        ("adbin", "pg_attrdef"),
        ("ev_action", "pg_rewrite"),
        ("ev_qual", "pg_rewrite"),
        ("tgqual", "pg_trigger"),
        ("conbin", "pg_constraint"),
        ("relpartbound", "pg_class"),
        ("proargdefaults", "pg_proc"),
    ] {
        mallory.run(&format!("SELECT sno_internal.sno_log_shown({column}) FROM {other}"));
    }
    mallory.run("COMMIT");
}

/// The owner is the one of after the wait for the table: who calls it then has no more rights than that one gives.
#[test]
fn a_table_that_changes_its_owner_meanwhile() {
    let server = Server::builder().start();
    server.run(
        "CREATE ROLE tenant LOGIN; CREATE ROLE other; CREATE SCHEMA ten AUTHORIZATION tenant; GRANT ALL ON SCHEMA ten TO other",
    );
    server.connect_as("tenant").run("CREATE TABLE ten.items (id integer PRIMARY KEY)");
    for (who, state) in [("tenant", Some("42501")), ("postgres", None)] {
        let mut holder = server.connect();
        holder.run("BEGIN; ALTER TABLE ten.items OWNER TO other");
        let track = || server.connect_as(who).batch_execute("SELECT sno_track_changes('ten.items')");
        let result = crate::meanwhile(&server, track, || holder.run("COMMIT"));
        let code = result.err().map(|error| error.code().unwrap().code().to_owned());
        assert_eq!(code.as_deref(), state, "{who}");
        server.run("ALTER TABLE ten.items OWNER TO tenant");
    }
    let owner = "SELECT relowner::regrole FROM pg_class WHERE relname = 'items_log'";
    assert_eq!(text(&mut server.connect(), owner), "other");
}

/// What the runbook tells a superuser to run in each database, where a tenant owns one of them.
#[test]
fn statements_of_the_runbook_in_databases_of_others() {
    let server = Server::builder().extension(false).start();
    server.run("CREATE ROLE tenant LOGIN");
    for name in ["ten", "\"port=1 dbname=postgres\"", "\"it's \\ a  \""] {
        server.run(&format!("CREATE DATABASE {name} OWNER tenant"));
    }
    server.connect_to("ten").run("CREATE SEQUENCE others; GRANT ALL ON SEQUENCE others TO PUBLIC");
    let session =
        |user| server.config().user(user).dbname("ten").connect(sno_tests::postgres::NoTls).unwrap();
    let mut tenant = session("tenant");
    tenant.run(
        "CREATE SCHEMA ten; CREATE EXTENSION sno SCHEMA ten;
         CREATE FUNCTION ten.note(name) RETURNS name LANGUAGE plpgsql AS $$
         BEGIN
             IF current_user <> 'tenant' THEN
                 PERFORM nextval('public.others');
             END IF;
             RETURN $1;
         END
         $$;
         CREATE FUNCTION ten.equal(name, name) RETURNS boolean LANGUAGE sql AS 'SELECT ten.note($1) OPERATOR(pg_catalog.=) $2';
         CREATE FUNCTION ten.equal(name, text) RETURNS boolean LANGUAGE sql AS 'SELECT ten.note($1) OPERATOR(pg_catalog.=) $2';
         CREATE FUNCTION ten.equal(oid, oid) RETURNS boolean LANGUAGE sql AS 'SELECT ten.note(NULL) IS NULL AND $1 OPERATOR(pg_catalog.=) $2';
         CREATE OPERATOR ten.= (FUNCTION = ten.equal, LEFTARG = name, RIGHTARG = name);
         CREATE OPERATOR ten.= (FUNCTION = ten.equal, LEFTARG = name, RIGHTARG = text);
         CREATE OPERATOR ten.= (FUNCTION = ten.equal, LEFTARG = oid, RIGHTARG = oid);
         CREATE FUNCTION ten.format(text, regnamespace) RETURNS text LANGUAGE sql AS 'SELECT ten.note(''SELECT 1'')::text';
         CREATE FUNCTION ten.format(text, text, name, regclass) RETURNS text LANGUAGE sql AS 'SELECT ten.note(''SELECT 1'')::text';
         CREATE FUNCTION ten.current_database() RETURNS name LANGUAGE sql AS 'SELECT ten.note(''mine'')';
         CREATE FUNCTION ten.sno_time(text) RETURNS timestamptz LANGUAGE sql AS 'SELECT ten.note(NULL)::text::timestamptz';
         CREATE VIEW ten.pg_extension AS SELECT ten.note(extname) AS extname, extnamespace FROM pg_catalog.pg_extension;
         CREATE VIEW ten.pg_attribute AS SELECT ten.note(attname) AS attname, attrelid, atttypid, attisdropped FROM pg_catalog.pg_attribute;
         CREATE TABLE ten.items (id ten.sno PRIMARY KEY DEFAULT ten.sno_new()); INSERT INTO ten.items DEFAULT VALUES;
         ALTER DATABASE ten SET search_path = ten, pg_catalog, public;
         ALTER DATABASE ten SET default_transaction_isolation = serializable",
    );
    let ran = "SELECT is_called FROM public.others";
    // It would be seen.
    session("postgres").run("SELECT FROM pg_extension WHERE extname = 'sno'");
    assert_eq!(text(&mut tenant, ran), "t");
    session("postgres").run("SELECT setval('public.others', 1, false)");
    // What is in an index runs as who reads the table: a superuser does not.
    tenant.run(
        "CREATE FUNCTION ten.in_index(integer) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
         BEGIN
             IF current_user = 'postgres' THEN
                 PERFORM nextval('public.others');
             END IF;
             RETURN true;
         END
         $$;
         CREATE INDEX ON ten.items (id) WHERE ten.in_index(1)",
    );
    server.run("CREATE ROLE reader LOGIN IN ROLE pg_read_all_data");
    session("postgres").run("SET search_path = pg_catalog; SELECT max(id) FROM ten.items");
    assert_eq!(text(&mut tenant, ran), "t");
    session("postgres").run("SELECT setval('public.others', 1, false)");
    let output = server.psql(&format!("\\c ten reader\n{}", crate::runbook::latest_ids()));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text(&mut tenant, ran), "f", "{printed}");
    assert!(printed.contains("ten.items.id|20"), "{printed} {}", String::from_utf8_lossy(&output.stderr));
}

/// What the pages ask of catalogs, a superuser may run in the database of somebody who has put better matches than PostgreSQL's own functions and
/// operators into `public`.
#[test]
fn statements_of_the_pages_in_databases_of_others() {
    let server = Server::builder().start();
    let mut client = server.connect();
    let pages: Vec<String> =
        crate::files("docs", &|path| path.ends_with(".md")).into_iter().map(|(_, text)| text).collect();
    let asks =
        |sql: &str| ["FROM pg_", "JOIN pg_"].iter().any(|of| sql.contains(of)) && !sql.contains("CREATE ");
    let statements: Vec<String> = pages
        .iter()
        .flat_map(|page| crate::docs::blocks(page, "sql"))
        .map(|block| block.sql.replace("\\gexec", ""))
        .filter(|sql| asks(sql))
        .collect();
    assert!(statements.len() > 2, "{statements:?}");
    let types = crate::schemas::TYPES_OF_SCRIPTS.replace('{', "{regprocedure,");
    crate::schemas::plant(&mut client, "public", &statements.join(" "), &types);
    for sql in statements {
        let result = server.connect().batch_execute(&format!("BEGIN; {sql}"));
        assert!(!format!("{result:?}").contains("trapped"), "{sql}: {result:?}");
    }
}

/// What `uuidv7.sql` would replace keeps its owner, who could run anything as who calls it.
#[test]
fn functions_of_others_are_not_replaced() {
    let server = Server::builder().extension(false).start();
    server.run("CREATE ROLE \"A b\" LOGIN; CREATE SCHEMA \"A b\"; GRANT ALL ON SCHEMA \"A b\" TO PUBLIC; CREATE ROLE mallory LOGIN");
    let file = sno_tests::sql_file("uuidv7.sql");
    for planted in [
        "FUNCTION sno_uuid_server() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "FUNCTION uuidv7_lock_feed() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "TABLE uuidv7_feeds (feed text PRIMARY KEY)",
        "SEQUENCE sno_uuid_counter",
    ] {
        let mut mallory = server.connect_as("mallory");
        mallory.run(&format!("SET search_path = \"A b\"; CREATE {planted}"));
        for who in ["postgres", "A b"] {
            let mut client = server.connect_as(who);
            client.run("SET search_path = \"A b\", public");
            let refused = error(&mut client, &file);
            assert_eq!(refused.code().code(), "42501", "{planted}");
            assert!(
                refused.message().starts_with("another role owns what this file would replace: "),
                "{refused}"
            );
        }
        let kind = planted.split_whitespace().next().unwrap();
        mallory.run(&format!("DROP {kind} {}", planted.split([' ', '(']).nth(1).unwrap()));
    }
    for _ in 0..2 {
        let mut client = server.connect_as("A b");
        client.run("SET search_path = \"A b\", public");
        client.run(&file);
    }
    // Each object that it makes is looked for.
    let mut superuser = server.connect();
    let objects = "SELECT count(*), string_agg(DISTINCT name, ' ') FROM (
            SELECT proname, proowner::regrole FROM pg_proc WHERE pronamespace = '\"A b\"'::regnamespace AND prokind = 'f'
            UNION ALL SELECT relname, relowner::regrole FROM pg_class WHERE relnamespace = '\"A b\"'::regnamespace AND relkind IN ('r', 'S')
        ) o(name, owner)";
    let names = superuser.query_one(objects, &[]).unwrap().get::<_, String>(1);
    let looked_for = file.split_once("o.name IN (").unwrap().1.split_once(')').unwrap().0;
    for name in names.split(' ') {
        assert!(looked_for.contains(&format!("'{name}'")), "{name}");
    }
}
