//! By whose rights a feed is read, names, and one name of several roles.

use sno_tests::postgres::NoTls;
use sno_tests::{Server, Sql as _, code, error, stored, text};

use super::{INSERT, READ, next_tick, read, server};

/// By the caller's rights, and by membership in the role that created the feed.
#[test]
fn rights() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE carol LOGIN IN ROLE alice; CREATE ROLE lazy LOGIN NOINHERIT IN ROLE alice;
         GRANT SELECT, INSERT ON items TO alice; SELECT sno_drop_feed('feed');
         INSERT INTO items (n) SELECT generate_series(1, 6)",
    );
    let (mut alice, mut bob, mut carol) =
        (server.connect_as("alice"), server.connect_as("bob"), server.connect_as("carol"));
    alice.run("SELECT sno_create_feed('feed', 'items', margin => '0')");
    assert_eq!(read(&mut carol), "1 2 3 4 5 6");
    assert_eq!(text(&mut carol, "SELECT feed || ' ' || owner FROM sno_feeds()"), "feed alice");
    // Everybody sees where feeds are, and nobody else can move, lock or drop them.
    assert_eq!(text(&mut bob, "SELECT count(*) FROM sno_feeds() WHERE lag < '1 min'"), "1");
    for sql in [
        "UPDATE sno_internal.feed_positions SET position = NULL",
        "DELETE FROM sno_internal.feed_positions",
        "INSERT INTO sno_internal.feed_positions (feed, source, key) VALUES ('x', 'items', 'id')",
        "SELECT FROM sno_internal.feed_failures",
        "INSERT INTO sno_internal.feed_failures VALUES ('feed', 'alice', '2222222222222222', 1, now(), now(), '')",
        "SELECT sno_internal.restore_feed('feed', 'alice', 'items')",
        "SELECT FROM sno_peek_feed('feed', NULL::items)",
        "SELECT sno_advance_feed('feed', '2222222222222223')",
        "SELECT sno_fail_feed('feed', 'xxxxxxxxxxxxxxxx')",
        "SELECT sno_seek_feed('feed', after => '2222222222222222')",
        "SELECT sno_drop_feed('feed')",
        "CALL sno_wait_feed('feed', '0')",
        "SELECT FROM sno_internal.feed_positions FOR UPDATE",
        "LOCK sno_internal.feed_positions IN ROW EXCLUSIVE MODE",
        "TRUNCATE sno_internal.feed_positions",
    ] {
        let begin = if sql.starts_with("CALL") { "" } else { "BEGIN;" };
        assert_eq!(code(&mut bob, &format!("{begin} {sql}")), "42501", "{sql}");
        bob.run("ROLLBACK");
    }
    // A member who does not inherit the role's rights is one after SET ROLE.
    let mut lazy = server.connect_as("lazy");
    for call in [
        "sno_seek_feed('feed', now())",
        "sno_advance_feed('feed', '2222222222222223')",
        "sno_drop_feed('feed')",
    ] {
        assert_eq!(code(&mut lazy, &format!("SELECT {call}")), "42501", "{call}");
    }
    lazy.run("SET ROLE alice");
    lazy.run("SELECT sno_advance_feed('feed', '2222222222222223')");
    alice.run("INSERT INTO items (n) VALUES (8)");
    assert_eq!(read(&mut alice), "8");
    // What would make the times of all feeds an error.
    let wide = "SELECT sno_create_feed('wide', 'items', margin => '170000000 years')";
    assert_eq!(code(&mut alice, wide), "22023");
    // Whatever the margin of a feed, everybody sees what holds the others back.
    alice.run("SELECT sno_create_feed('wide', 'items', margin => '100 years')");
    alice.run("BEGIN; SELECT sno_new()");
    assert_eq!(text(&mut bob, "SELECT count(*) FROM sno_feeds()"), "2");
    alice.run("COMMIT");
    // Who may use the feed but not the table reads nothing.
    client.run("REVOKE SELECT ON items FROM alice");
    let block = &format!("BEGIN; {READ}");
    assert_eq!(code(&mut alice, block), "42501");
    alice.run("ROLLBACK");
    client.run("GRANT SELECT ON items TO bob");
    assert_eq!(code(&mut bob, READ), "42501");
    carol.run("SELECT sno_drop_feed('feed')");

    // A role whose name differs from another's in upper case alone.
    client.run(r#"CREATE ROLE "Bob" LOGIN; GRANT SELECT ON items TO "Bob""#);
    let mut upper = server.connect_as("Bob");
    upper.run("SELECT sno_create_feed('feed', 'items', margin => '0')");
    assert_eq!(read(&mut upper), "1 2 3 4 5 6 8");
    assert_eq!(code(&mut bob, READ), "42501");
    assert_eq!(code(&mut bob, "SELECT sno_seek_feed('feed', '-infinity')"), "42501");
    upper.run("SELECT sno_seek_feed('feed', '-infinity'), sno_drop_feed('feed')");
}

/// Rows that row security hides do not count as read: neither the feed is created, nor one read over whose source a policy comes later.
#[test]
fn rows_that_row_security_hides() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE bob LOGIN; GRANT SELECT ON items TO bob; CREATE POLICY even ON items USING (n % 2 = 0);
         INSERT INTO items (n) VALUES (1), (2)",
    );
    let mut bob = server.connect_as("bob");
    let create = "SELECT sno_create_feed('items', 'items', margin => '0')";
    bob.run(create);
    bob.run("SELECT sno_seek_feed('items', after => '2222222222222223')");
    client.run("ALTER TABLE items ENABLE ROW LEVEL SECURITY");
    next_tick();
    let place =
        "SELECT string_agg(concat(position, moved), ' ' ORDER BY feed) FROM sno_internal.feed_positions";
    let before = text(&mut client, place);
    for call in [
        stored("SELECT FROM sno_feed('items', NULL::items)"),
        "SELECT FROM sno_peek_feed('items', NULL::items)".to_owned(),
        "CALL sno_wait_feed('items', '0', source => 'items')".to_owned(),
        create.replace("feed('", "feed('new "),
    ] {
        let refused = error(&mut bob, &call);
        assert_eq!(
            (refused.code().code(), refused.message()),
            ("42501", "query would be affected by row-level security policy for table \"items\""),
            "{call}"
        );
    }
    assert_eq!(text(&mut client, place), before);
    // Its owner is exempt.
    assert_eq!(read(&mut client), "1 2");
    client.run("ALTER TABLE items DISABLE ROW LEVEL SECURITY");
    assert_eq!(text(&mut bob, "SELECT count(*) FROM sno_peek_feed('items', NULL::items)"), "2");
    // The setting of a query is not that of the session.
    assert_eq!(text(&mut bob, "SHOW row_security"), "on");
}

/// Names that need quotes, and an extension that is in no path; what others put in front of PostgreSQL's names: `schemas.rs`.
#[test]
fn names_and_paths() {
    let server = Server::builder().extension(false).start();
    let mut client = server.connect();
    client.run(
        r#"CREATE SCHEMA "Ex t%s"; CREATE EXTENSION sno SCHEMA "Ex t%s"; CREATE SCHEMA "S '1 %1$s";
           SET search_path = "Ex t%s";
           CREATE TABLE "S '1 %1$s"."Ev""il; --" ("k ""e%I" sno PRIMARY KEY DEFAULT sno_new(1), n integer);
           RESET search_path"#,
    );
    let (table, feed) = (r#""S '1 %1$s"."Ev""il; --""#, "f''\"%1$s");
    let call = stored(&format!(
        r#"SELECT string_agg(n::text, ' ') FROM "Ex t%s".sno_feed('{feed}', NULL::{table})"#
    ));
    client.run(&format!("INSERT INTO {table} (n) VALUES (1), (2)"));
    let create = format!(
        r#"SELECT "Ex t%s".sno_create_feed('{feed}', '{}', margin => '0')"#,
        table.replace('\'', "''")
    );
    client.run(&create);
    next_tick();
    assert_eq!(text(&mut client, &call), "1 2");
    client.run(r#"UPDATE sno_internal.feed_positions SET moved = moved - interval '1 min'"#);
    client.run(&call);
    assert!(client.one::<bool>(
        r#"SELECT lag < '1 min' AND moved > now() - interval '1 min' FROM "Ex t%s".sno_feeds()"#
    ));
    client.run(&format!(r#"SELECT "Ex t%s".sno_seek_feed('{feed}', '-infinity')"#));
    assert_eq!(text(&mut client, &call.replace(&format!("{table})"), &format!("{table}, 1)"))), "1");
    client.run(&format!(r#"SELECT "Ex t%s".sno_drop_feed('{feed}')"#));
    client.run(&format!("DELETE FROM {table}"));
    // Others' functions in the schema of the extension, which fit calls with fewer arguments better.
    client.run(
        r#"CREATE FUNCTION "Ex t%s".sno_seek_feed(text, timestamptz) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$"#,
    );
    client.run(&format!(
        r#"SELECT "Ex t%s".sno_create_feed('typed', '{}', margin => '0'), "Ex t%s".sno_drop_feed('typed')"#,
        table.replace('\'', "''")
    ));
}

/// Two roles can have feeds of one name, and who is a member of both says which one is meant.
#[test]
fn one_name_of_several_roles() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE carol LOGIN IN ROLE alice, bob;
         GRANT SELECT ON items TO PUBLIC; GRANT INSERT ON items TO bob; SELECT sno_drop_feed('feed')",
    );
    let (mut alice, mut bob, mut carol) =
        (server.connect_as("alice"), server.connect_as("bob"), server.connect_as("carol"));
    let create = "SELECT sno_create_feed('feed', 'items', margin => '0')";
    alice.run(create);
    bob.run(&format!("{INSERT} (1)"));
    assert_eq!(read(&mut carol), "1");
    bob.run(create);
    for sql in [READ, "SELECT sno_seek_feed('feed', now())", "SELECT sno_drop_feed('feed')"] {
        let refused = error(&mut carol, sql);
        assert_eq!(
            (refused.code().code(), refused.message()),
            ("42P09", "several roles have a feed \"feed\"")
        );
    }
    carol.run("SET ROLE bob");
    assert_eq!(read(&mut carol), "1");
    carol.run("RESET ROLE");
    carol.run(create);
    assert_eq!(
        (read(&mut carol), read(&mut alice), read(&mut bob)),
        ("1".into(), String::new(), String::new())
    );
    carol.run("SELECT sno_drop_feed('feed')");
    assert_eq!(
        text(&mut client, "SELECT string_agg(owner, ' ' ORDER BY owner) FROM sno_feeds()"),
        "alice bob"
    );
    // Nobody fills the table.
    let many = "SELECT sno_create_feed('feed ' || n, 'items') FROM generate_series(1, 1000) n";
    let refused = error(&mut bob, many);
    assert_eq!((refused.code().code(), refused.message()), ("53400", "role \"bob\" has too many feeds"));
    bob.run(&many.replace("1000", "999"));
    assert_eq!(code(&mut bob, "SELECT sno_create_feed('another', 'items')"), "53400");
    alice.run("SELECT sno_create_feed('another', 'items')");
    // Columns that the role may not read.
    client.run("REVOKE SELECT ON items FROM PUBLIC; GRANT SELECT (id) ON items TO alice");
    let refused = error(&mut alice, "SELECT sno_create_feed('x', 'items')");
    assert_eq!((refused.code().code(), refused.message()), ("42501", "permission denied for table items"));
    client.run("GRANT SELECT (id, n) ON items TO alice");
    alice.run("SELECT sno_create_feed('x', 'items')");
}

/// A name without a table, where a role may use feeds of two tables by it.
#[test]
fn names_alone() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE team; CREATE ROLE member LOGIN IN ROLE team; CREATE SCHEMA s; GRANT ALL ON SCHEMA s TO team, member",
    );
    let mut member = server.connect_as("member");
    let create =
        "CREATE TABLE s.NAME (id sno PRIMARY KEY DEFAULT sno_new()); INSERT INTO s.NAME DEFAULT VALUES;
        SELECT sno_create_feed('mails', 's.NAME', margin => '0'); RESET ROLE";
    member.run(&create.replace("NAME", "own"));
    let advance = "SELECT sno_advance_feed('mails', '2222222222222223')";
    assert_eq!(text(&mut member, advance), "t");
    member.run(&format!("SET ROLE team; {}", create.replace("NAME", "ours")));
    for call in
        ["sno_advance_feed('mails', '2222222222222224')", "sno_fail_feed('mails', '2222222222222224')"]
    {
        let refused = error(&mut member, &format!("SELECT {call}"));
        assert_eq!(
            (refused.code().code(), refused.message()),
            ("42P09", "several roles have a feed \"mails\"")
        );
        member.run(&format!("SELECT {}", call.replace("')", "', source => 's.ours')")));
    }
    assert_eq!(
        text(
            &mut member,
            "SELECT string_agg(coalesce(position, '2222222222222222')::text, ' ' ORDER BY owner) FROM sno_internal.feed_positions WHERE feed = 'mails'"
        ),
        "2222222222222223 2222222222222224"
    );
    // Feeds that a superuser may use because it is one are no others.
    client.run("CREATE TABLE mails (id sno PRIMARY KEY); SELECT sno_create_feed('mails', 'mails')");
    assert_eq!(text(&mut client, advance), "t");
    // Nor does a superuser call functions of anybody who takes a name.
    member.run(
        "CREATE FUNCTION s.trap(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 1; END';
         CREATE TABLE s.trap (id sno PRIMARY KEY DEFAULT sno_new()); CREATE INDEX ON s.trap ((s.trap(1) + length(id::text)));
         SELECT sno_create_feed('trap', 's.trap', margin => '0');
         CREATE OR REPLACE FUNCTION s.trap(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE 'as %', current_user; END$$",
    );
    next_tick();
    for call in ["CALL sno_wait_feed('trap', '0')", "CALL sno_wait_feed('trap', '0', source => 'mails')"] {
        let refused = error(&mut client, call);
        assert_eq!(
            (refused.code().code(), refused.message()),
            ("42501", "source of feed \"trap\" of role \"member\" must be named"),
            "{call}"
        );
    }
    assert_eq!(
        error(&mut client, "CALL sno_wait_feed('trap', '0', source => 's.trap')").message(),
        "as postgres"
    );
}

/// The owner of the extension may use all feeds, too, and calls nobody's functions by a name alone; members of one's role, and what one owns
/// oneself, are trusted.
#[test]
fn names_that_the_owner_of_the_extension_uses() {
    let server = Server::builder().extension(false).start();
    server.run("CREATE ROLE owner1 LOGIN; CREATE ROLE team; CREATE ROLE member LOGIN IN ROLE team; CREATE ROLE mallory LOGIN IN ROLE team");
    server.run("CREATE DATABASE own OWNER owner1");
    let session = |user: &str| server.config().user(user).dbname("own").connect(NoTls).unwrap();
    let mut owner = session("owner1");
    owner.run(
        "CREATE EXTENSION sno; CREATE SCHEMA s; GRANT ALL ON SCHEMA s TO mallory, team;
         CREATE TABLE s.seen (n integer); GRANT ALL ON s.seen TO PUBLIC",
    );
    // The planner calls functions in the expressions of indexes.
    let create = "CREATE FUNCTION s.of_NAME(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 1; END';
        CREATE TABLE s.NAME (id sno PRIMARY KEY DEFAULT sno_new()); INSERT INTO s.NAME DEFAULT VALUES; GRANT SELECT ON s.NAME TO PUBLIC;
        CREATE INDEX ON s.NAME ((s.of_NAME(1) + length(id::text))); SELECT sno_create_feed('NAME', 's.NAME', margin => '0')";
    let trap = "CREATE OR REPLACE FUNCTION s.of_NAME(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE 'as %', current_user; END$$";
    owner.run(&create.replace("NAME", "own"));
    // What one owns, though another role's feed reads it.
    session("mallory").run(&format!(
        "{}; SELECT sno_create_feed('hers', 's.own', margin => '0'); {}",
        create.replace("NAME", "trap"),
        trap.replace("NAME", "trap")
    ));
    session("mallory").run(&format!(
        "SET ROLE team; {}; {}",
        create.replace("NAME", "ours"),
        trap.replace("NAME", "ours")
    ));
    owner.run(&trap.replace("NAME", "own"));
    next_tick();
    let wait = |name: &str| format!("CALL sno_wait_feed('{name}', '0')");
    let refused = error(&mut owner, &wait("trap"));
    assert_eq!(
        (refused.code().code(), refused.message()),
        ("42501", "source of feed \"trap\" of role \"mallory\" must be named")
    );
    let named = error(&mut owner, "CALL sno_wait_feed('trap', '0', source => 's.trap')");
    assert_eq!(named.message(), "as owner1");
    assert_eq!(code(&mut owner, &wait("ours")), "42501");
    assert_eq!(error(&mut owner, &wait("own")).message(), "as owner1");
    assert_eq!(error(&mut session("member"), &wait("ours")).message(), "as member");
    assert_eq!(error(&mut owner, &wait("hers")).message(), "as owner1");
}

/// What is granted on all tables that a role creates is not granted on those of the ledger.
#[test]
fn default_privileges() {
    let server = server();
    server.run("CREATE ROLE reporting");
    server.run("CREATE DATABASE granted");
    let mut client = server.connect_to("granted");
    client.run(
        "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC, reporting; CREATE EXTENSION sno;
         CREATE TABLE items (id sno PRIMARY KEY); SELECT sno_create_feed('feed', 'items'); SET ROLE reporting",
    );
    assert_eq!(text(&mut client, "SELECT count(*) FROM sno_internal.feed_positions"), "1");
    for sql in
        ["SELECT FROM sno_internal.feed_failures", "UPDATE sno_internal.feed_positions SET position = NULL"]
    {
        assert_eq!(code(&mut client, sql), "42501", "{sql}");
    }
}

/// Of a superuser's feed, whoever else writes its row gets one of their own: the superuser would call what it names.
#[test]
fn feeds_of_superusers_that_others_restore() {
    let server = server();
    server.run("CREATE ROLE tenant LOGIN");
    server.run("CREATE DATABASE tenant OWNER tenant");
    let mut tenant = server.config().user("tenant").dbname("tenant").connect(NoTls).unwrap();
    tenant.run(
        "CREATE EXTENSION sno; CREATE TABLE t (id sno PRIMARY KEY);
         INSERT INTO sno_internal.feed_positions (feed, owner, source_name, key, margin)
         VALUES ('x', 'postgres', 'public.t', 'id', '0'), ('y', 'tenant', 'public.t', 'id', '0'), ('z', 'gone', 'public.t', 'id', '0');
         INSERT INTO sno_internal.feed_positions (feed, owner, source, key, margin) VALUES ('w', 'postgres', 't', 'id', '0')",
    );
    let owners =
        "SELECT string_agg(feed || ' ' || owner, ', ' ORDER BY feed) FROM sno_internal.feed_positions";
    assert_eq!(text(&mut tenant, owners), "w tenant, x tenant, y tenant, z gone");
    // What is no name, nobody could look for.
    for name in ["public.t\"", "1t", "public..t", "\""] {
        let insert = "INSERT INTO sno_internal.feed_positions (feed, source_name, key, margin) VALUES ('v',";
        let code = code(&mut tenant, &format!("{insert} '{name}', 'id', '0')"));
        assert!(["22023", "42602"].contains(&&*code), "{name}: {code}");
    }
    tenant.run("SELECT sno_readers('t')");
}
