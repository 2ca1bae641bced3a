//! What any user can ask of a server without taking it down, and without an error that is another one than
//! PostgreSQL's.

use std::fmt::Write as _;

use sno_tests::{Server, Sql as _, code, error, text};

/// Conditions within conditions, as deep as PostgreSQL itself reads them. With its own limit near that of the system,
/// what takes more stack than PostgreSQL's functions ends the server.
#[test]
fn deep_conditions() {
    let server = Server::builder().conf("max_stack_depth", "6MB").start();
    let mut client = server.connect();
    client.run("CREATE TABLE event (id sno)");
    let nested = |condition: &str| format!("{}{condition}{}", "(".repeat(3000), " IS TRUE)".repeat(3000));
    let mut query = format!("SELECT id, {} AS b FROM event", nested("(id >= now() - interval '1 day')"));
    for level in 0..3 {
        query = format!("SELECT id, {} AS b FROM ({query}) level{level}", nested("b"));
    }
    client.run(&format!("EXPLAIN SELECT FROM ({query}) whole WHERE b"));
    assert_eq!(server.recoveries(), 0, "{}", server.log());
}

/// A process that gets no memory any more: an error at most.
#[test]
fn long_texts_without_memory() {
    let server = Server::builder()
        .under(&["/usr/bin/prlimit", "--as=600000000"])
        .extension(false)
        .conf("shared_buffers", "16MB")
        .start();
    let mut client = server.connect();
    client.run("CREATE EXTENSION sno_compat CASCADE");
    for (call, bytes) in [
        ("x::sno", 150),
        ("x::uid60", 150),
        ("gid_new(x)", 150),
        ("gid_make('log', now(), x::bytea)", 75),
        ("sno_unmask(x, '\\x00112233445566778899aabbccddeeff', '')", 150),
        ("sno_mask(sno_new(1), '\\x00112233445566778899aabbccddeeff', x)", 150),
    ] {
        let query = format!(
            "SELECT {call} IS NULL FROM (SELECT repeat('2', {bytes}000000 + (random() * 0)::integer) x OFFSET 0) t"
        );
        let result = client.batch_execute(&query);
        assert_eq!(server.recoveries(), 0, "{call}: {}", server.log());
        if let Err(error) = result {
            let state = error.code().expect(call).code().to_owned();
            assert!(["22P02", "22P03", "22023", "53200", "54000"].contains(&&*state), "{call}: {error:?}");
        }
    }
}

/// A quoted text is as long as one in PostgreSQL's messages for COPY.
#[test]
fn long_texts_in_messages() {
    let server = Server::builder().start();
    let mut client = server.connect();
    for (given, shown) in [("2".repeat(100), "2".repeat(100)), ("é".repeat(51), "é".repeat(50) + "...")] {
        let error = error(&mut client, &format!("SELECT '{given}'::sno"));
        assert_eq!(error.message(), format!("invalid input syntax for type sno: \"{shown}\""));
    }
}

/// The planner calls functions of users for its estimates. Their errors arrive as they are.
#[test]
fn errors_of_users_functions_in_bounds() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client
        .run(
            "CREATE TABLE event (id sno DEFAULT sno_new(1), n integer);
             INSERT INTO event (n) SELECT generate_series(1, 1000); ANALYZE event;
             CREATE FUNCTION since(tenant text) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
                 BEGIN RAISE 'no such tenant' USING ERRCODE = tenant, CONSTRAINT = 'tenant_check', SCHEMA = 'app'; END $$",
        );
    let mut query = String::from("SELECT FROM event WHERE id >= since('UE123')");
    for _ in 0..2 {
        let error = error(&mut client, &query);
        assert_eq!((error.code().code(), error.message()), ("UE123", "no such tenant"));
        assert_eq!((error.constraint(), error.schema()), (Some("tenant_check"), Some("app")));
        assert!(error.where_().unwrap().starts_with("PL/pgSQL function since(text) line 2 at RAISE"));
        // Beside other conditions, and in the session that has had such an error.
        write!(query, " AND id < now() AND n > 5").unwrap();
    }
    assert_eq!(code(&mut client, "SELECT FROM event WHERE id < since('45000')"), "45000");
    assert_eq!(text(&mut client, "SELECT count(*) FROM event WHERE id >= now() - interval '1 hour'"), "1000");
}
