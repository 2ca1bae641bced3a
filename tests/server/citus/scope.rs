//! Feeds of rows that several servers commit: none without an extension that knows these servers, and what follows from what it says. These tests need
//! no Citus.

use std::time::{Duration, Instant};

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, assert_soon, code, error, next_tick, stored, text, wait_until};

use super::made_up;

const TABLE: &str = "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)";
const DISTRIBUTE: &str =
    "INSERT INTO pg_dist_partition VALUES ('items'); ALTER TABLE items SET (fillfactor = 90)";

/// A scope that says what stands in a table.
const SCOPE: &str = "
    CREATE TABLE public.says (horizon text, servers text, since text, partitions int4multirange, known text);
    CREATE FUNCTION sno_internal.scope_horizon(margin interval, after sno, known text, OUT horizon sno, OUT servers text, OUT since sno, OUT partitions int4multirange)
        RETURNS record LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE public.says s SET known = coalesce(scope_horizon.known, 'none');
        SELECT coalesce(s.horizon::public.sno, sno_internal.sno_horizon(margin)), s.servers, s.since::public.sno, s.partitions FROM public.says s
        INTO horizon, servers, since, partitions;
    END $$;
    CREATE FUNCTION sno_internal.scope_read(source regclass) RETURNS sno LANGUAGE sql AS $$SELECT sno_internal.sno_last('2026-01-01Z', true)$$";

fn scope(client: &mut Client) {
    made_up::install("scope", "requires = 'sno'", SCOPE);
    client.run("CREATE EXTENSION scope VERSION 'made'");
}

/// With the scope, which knows a server, and a table of several servers.
fn distributed(server: &Server) -> Client {
    let mut client = server.connect();
    made_up::database(&mut client);
    scope(&mut client);
    client.run(TABLE);
    client.run(DISTRIBUTE);
    client.run("INSERT INTO says (servers) VALUES ('a')");
    client
}

#[test]
fn no_feed_without_an_extension_that_knows_the_servers() {
    let server = Server::builder().start();
    let mut client = server.connect();
    made_up::database(&mut client);
    client.run(TABLE);
    client.run("SELECT sno_create_feed('f', 'items', margin => '0'); INSERT INTO items (n) VALUES (1)");
    wait_until("the row comes", || {
        client.query("SELECT FROM sno_peek_feed('f', NULL::items)", &[]).unwrap().len() == 1
    });
    client.run(DISTRIBUTE);
    let statements = [
        "SELECT FROM sno_peek_feed('f', NULL::items)",
        &stored("SELECT FROM sno_feed('f', NULL::items)"),
        "SELECT sno_create_feed('g', 'items')",
        "SELECT sno_seek_feed('f', '-infinity')",
        "SELECT sno_read_by_all('items')",
        "SELECT sno_advance_feed('f', (SELECT max(id) FROM items))",
        "CALL sno_wait_feed('f', '20 s')",
    ];
    let mut refused = |why: &str| {
        for statement in statements {
            let failed = error(&mut client, statement);
            assert_eq!(failed.code().code(), "0A000", "{why}: {statement}: {failed}");
            assert_eq!(failed.hint(), Some("CREATE EXTENSION sno_citus"), "{why}: {statement}");
            client.run("ROLLBACK");
        }
    };
    refused("no scope");
    // The functions of anybody else are none: a superuser's that belong to no extension, or another role's that do.
    server.run(SCOPE);
    server.run("INSERT INTO says DEFAULT VALUES");
    refused("no extension");
    server.run(
        "DROP TABLE says; DROP FUNCTION sno_internal.scope_horizon, sno_internal.scope_read; CREATE ROLE mallory;
         GRANT CREATE, USAGE ON SCHEMA sno_internal TO mallory",
    );
    scope(&mut server.connect());
    server.run(
        "INSERT INTO says (servers) VALUES ('a');
         ALTER FUNCTION sno_internal.scope_horizon OWNER TO mallory; ALTER FUNCTION sno_internal.scope_read OWNER TO mallory",
    );
    refused("no superuser");
    server.run("ALTER FUNCTION sno_internal.scope_horizon OWNER TO postgres; ALTER FUNCTION sno_internal.scope_read OWNER TO postgres");
    let mut client = server.connect();
    client.run("SELECT sno_create_feed('g', 'items'); SELECT sno_seek_feed('f', '-infinity'); SELECT sno_read_by_all('items')");
    assert_eq!(client.query("SELECT FROM sno_peek_feed('f', NULL::items)", &[]).unwrap().len(), 1);
    client.run("SELECT sno_advance_feed('f', (SELECT max(id) FROM items))");
    client.run("CALL sno_wait_feed('f', '1 ms')");
}

#[test]
fn rows_of_servers_that_were_not_known() {
    let server = Server::builder().conf("sno.partition_prefix", "7/8").start();
    let mut client = distributed(&server);
    client.run("SELECT sno_create_feed('f', 'items', '-infinity', margin => '0')");
    let known = |client: &mut Client| text(client, "SELECT known FROM says");
    assert_eq!(known(&mut client), "none");
    client.run("INSERT INTO items (n) VALUES (1)");
    let peek = "SELECT n::text FROM sno_peek_feed('f', NULL::items)";
    let advance = "SELECT sno_advance_feed('f', (SELECT max(id) FROM items))";
    let is_read = |client: &mut Client, n: &str| {
        wait_until("the row comes", || {
            let rows = client.query(peek, &[]).unwrap();
            rows.len() == 1 && rows[0].get::<_, String>(0) == n
        });
        client.run(advance);
    };
    is_read(&mut client, "1");
    // What it was told when it was created comes back.
    assert_eq!(known(&mut client), "a");
    // Without rows of the other server before the position, it is known from then on.
    client.run(
        "UPDATE says SET servers = 'a b', partitions = '{[2048,2304)}'; INSERT INTO items (n) VALUES (2)",
    );
    is_read(&mut client, "2");
    assert_eq!(text(&mut client, "SELECT servers FROM sno_internal.feed_positions"), "a b");
    client.query(peek, &[]).unwrap();
    client.run("INSERT INTO items (n) VALUES (3)");
    is_read(&mut client, "3");
    assert_eq!(known(&mut client), "a b");
    // With one, reading fails, and nothing moves, until it goes back.
    client.run(
        "INSERT INTO items SELECT sno_make(sno_time(min(id)) - interval '1 s', 1, 2050, 0), 4 FROM items;
         UPDATE says SET servers = 'a b c'; INSERT INTO items (n) VALUES (5)",
    );
    for statement in [peek, advance, &stored("SELECT FROM sno_feed('f', NULL::items)")] {
        wait_until("it fails", || client.batch_execute(statement).is_err());
        client.run("ROLLBACK");
        let failed = error(&mut client, statement);
        client.run("ROLLBACK");
        assert_eq!(failed.code().code(), "55000", "{statement}: {failed}");
        assert!(
            failed.message().ends_with("and a server that was not asked then has rows before that"),
            "{failed}"
        );
    }
    // It has begun after all of them, or has another number.
    client.run("UPDATE says SET since = (SELECT min(id)::text FROM items)");
    assert!(client.query(peek, &[]).is_ok());
    client.run("UPDATE says SET servers = 'a b d', since = NULL, partitions = '{[0,256)}'");
    assert!(client.query(peek, &[]).is_ok());
    client.run("UPDATE says SET servers = 'a b e', partitions = '{[2048,2304)}'; SELECT pg_sleep(0.06)");
    assert_eq!(code(&mut client, peek), "55000");
    client.run("SELECT sno_seek_feed('f', since => '2026-01-01Z')");
    wait_until("all come", || client.query(peek, &[]).unwrap().len() == 5);
    // A dump has none of it: what is restored is another cluster.
    client.run("SELECT sno_seek_feed('f', after => (SELECT max(id) FROM items WHERE n < 5))");
    assert_eq!(text(&mut client, "SELECT servers FROM sno_internal.feed_positions"), "a b e");
    let dump = server.command("pg_dump").arg("postgres").output().unwrap();
    let dump = String::from_utf8(dump.stdout).unwrap();
    assert!(dump.contains("feed_positions") && !dump.contains("a b e"), "{dump}");
}

/// An idle call asks nobody.
#[test]
fn servers_are_asked_if_there_is_a_row() {
    let server = Server::builder().start();
    let mut client = distributed(&server);
    client.run("SELECT sno_create_feed('f', 'items', margin => '0'); UPDATE says SET known = 'not asked'");
    let peek = "SELECT FROM sno_peek_feed('f', NULL::items)";
    for statement in
        [peek, &stored("SELECT FROM sno_feed('f', NULL::items)"), peek, "CALL sno_wait_feed('f', '50 ms')"]
    {
        client.run(statement);
    }
    assert_eq!(text(&mut client, "SELECT known FROM says"), "not asked");
    assert_eq!(code(&mut client, "SELECT FROM sno_feed('f', NULL::items)"), "0A000");
    client.run("INSERT INTO items (n) VALUES (1)");
    wait_until("it comes", || client.query(peek, &[]).unwrap().len() == 1);
    assert_eq!(text(&mut client, "SELECT known FROM says"), "a");
    // For a moment, one answer serves all feeds, those after a position that is not before it left out.
    client.run("INSERT INTO items (n) VALUES (2); SELECT sno_create_feed('g', 'items', margin => '0')");
    let told = |client: &mut Client, statement: &str| {
        client.run(&format!("SELECT pg_sleep(0.06); {peek}; UPDATE says SET known = 'not asked'; {statement}; SELECT FROM sno_peek_feed('g', NULL::items)"));
        text(client, "SELECT known FROM says")
    };
    client.run("SELECT FROM sno_peek_feed('g', NULL::items)");
    wait_until("the answer is used", || told(&mut client, "SELECT") == "not asked");
    for other in [
        "SELECT pg_sleep(0.06)",
        "UPDATE sno_internal.feed_positions SET margin = '1 ms' WHERE feed = 'g'",
        "UPDATE sno_internal.feed_positions SET margin = '0', servers = 'b' WHERE feed = 'g'",
    ] {
        assert_ne!(told(&mut client, other), "not asked", "{other}");
    }
    // A position that is ten seconds old is stored again.
    client.run("SELECT pg_sleep(0.06); UPDATE says SET known = 'not asked'; DELETE FROM items; UPDATE sno_internal.feed_positions SET moved = '2026-01-01Z'");
    client.run(peek);
    assert_eq!(text(&mut client, "SELECT known FROM says"), "a");
}

/// Where there are no rows, other servers are not asked, and a peek has shown nothing; and a wait stores no position of another table.
#[test]
fn rows_that_were_not_read() {
    let server = Server::builder().start();
    let (mut client, mut other) = (distributed(&server), server.connect());
    client.run(
        "SELECT sno_create_feed('f', 'items', margin => '0'); CREATE TABLE other (LIKE items INCLUDING ALL)",
    );
    let peek = "SELECT FROM sno_peek_feed('f', NULL::items)";
    client.run("BEGIN");
    assert!(client.query(peek, &[]).unwrap().is_empty());
    other.run("INSERT INTO items (n) VALUES (1)");
    assert_eq!(code(&mut client, "SELECT sno_advance_feed('f', (SELECT max(id) FROM items))"), "22023");
    client.run("ROLLBACK; UPDATE sno_internal.feed_positions SET moved = moved - interval '1 min'");
    let wait = || server.connect().run("CALL sno_wait_feed('f', '0')");
    crate::at_point(&server, "source named", wait, || {
        other.run("ALTER TABLE items RENAME TO replaced; ALTER TABLE other RENAME TO items");
    });
    client.run("DROP TABLE items; ALTER TABLE replaced RENAME TO items");
    wait_until("the row comes", || client.query(peek, &[]).unwrap().len() == 1);
}

/// A look of a wait, which has a limit of its own, does not put off the statement_timeout of the session.
#[test]
fn a_look_ends_with_its_statement() {
    let server = Server::builder().start();
    let mut client = distributed(&server);
    client.run(
        "INSERT INTO items (n) VALUES (1); SELECT sno_create_feed('f', 'items', margin => '0'); SET statement_timeout = '1 s'",
    );
    let mut holder = server.connect();
    holder.run("BEGIN; LOCK items");
    let began = Instant::now();
    assert_eq!(code(&mut client, "CALL sno_wait_feed('f', '50 s')"), "57014");
    assert_soon(began.elapsed(), Duration::from_secs(10));
}

/// What takes the name of the table while rows of a server that was not known are looked for: it does not become known.
#[test]
fn what_takes_the_name_while_other_servers_become_known() {
    let server = Server::builder().conf("sno.partition_prefix", "7/8").start();
    let (mut client, mut other) = (distributed(&server), server.connect());
    client.run(
        "SELECT sno_create_feed('f', 'items', '-infinity', margin => '0');
         CREATE TABLE other (LIKE items INCLUDING ALL); INSERT INTO items (n) VALUES (1)",
    );
    let peek = "SELECT FROM sno_peek_feed('f', NULL::items)";
    wait_until("the row comes", || client.query(peek, &[]).unwrap().len() == 1);
    client.run("SELECT sno_advance_feed('f', (SELECT id FROM items))");
    client.run(
        "INSERT INTO items SELECT sno_make(sno_time(id) - interval '1 s', 1, 2050, 0), 2 FROM items;
         UPDATE says SET servers = 'a b', partitions = '{[2048,2304)}';
         UPDATE sno_internal.feed_positions SET moved = moved - interval '1 min'",
    );
    crate::at_point(
        &server,
        "source named",
        || server.connect().run(peek),
        || other.run("ALTER TABLE items RENAME TO replaced; ALTER TABLE other RENAME TO items"),
    );
    other.run("DROP TABLE items; ALTER TABLE replaced RENAME TO items; INSERT INTO items (n) VALUES (3)");
    wait_until("it fails", || client.batch_execute(peek).is_err());
    assert_eq!(code(&mut client, peek), "55000");
}

/// A session that was told a horizon of the future just before it was lowered does not read up to there.
#[test]
fn a_horizon_of_before_it_was_lowered() {
    let server = Server::builder().faketime(true).start();
    let mut client = distributed(&server);
    client.run("SELECT sno_create_feed('f', 'items', margin => '0'); INSERT INTO items (n) VALUES (1)");
    server.set_clock("+86400");
    let peek = "SELECT count(*)::text FROM sno_peek_feed('f', NULL::items)";
    client.run("BEGIN");
    assert_eq!(text(&mut client, peek), "1");
    server.set_clock("+0");
    next_tick();
    client.run("SELECT FROM sno_lower_horizon(); INSERT INTO items (n) VALUES (2)");
    assert_eq!(text(&mut client, peek), "1");
}
