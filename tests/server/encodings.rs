//! Messages as clients get them: in databases of every encoding, and without what is none of a client's business.

use sno_tests::postgres::Client;
use sno_tests::{Server, error, major_version};

/// A database of each kind of encoding, and a word that it can hold: one byte a character, several, any bytes.
const ENCODINGS: [(&str, &str); 4] =
    [("LATIN1", "été"), ("EUC_JP", "日本"), ("SQL_ASCII", "日本"), ("UTF8", "日本")];

fn database(server: &Server, encoding: &str) -> Client {
    server
        .connect()
        .batch_execute(&format!(
            "CREATE DATABASE \"{encoding}\" TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'"
        ))
        .unwrap();
    server.connect_to(encoding)
}

#[test]
fn the_extensions_work_in_every_encoding() {
    let server = Server::builder().extension(false).start();
    for (encoding, _) in ENCODINGS {
        let mut client = database(&server, encoding);
        for create in ["CREATE EXTENSION sno; DROP EXTENSION sno", "CREATE EXTENSION sno_compat CASCADE"] {
            client.batch_execute(create).unwrap_or_else(|e| panic!("{encoding}: {create}: {e:?}"));
        }
        client
            .batch_execute(
                "CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(1)) PARTITION BY RANGE (id);
                 SELECT sno_maintain_partitions('log', '1 day');
                 INSERT INTO log DEFAULT VALUES;
                 SELECT uid60_new(), gid_new('volume'), uniqueid_new()",
            )
            .unwrap_or_else(|e| panic!("{encoding}: {e:?}"));
        let query = "SELECT count(*) FROM pg_description WHERE description ~ '[^[:ascii:]]'";
        assert_eq!(client.query_one(query, &[]).unwrap().get::<_, i64>(0), 0, "{encoding}");
        let query = "SELECT obj_description('sno_partition_bounds(timestamptz, timestamptz)'::regprocedure)";
        let comment: String = client.query_one(query, &[]).unwrap().get(0);
        assert_eq!(
            comment,
            "partition bounds for a range of time, as ALTER TABLE ... ATTACH PARTITION takes them"
        );
    }
}

#[test]
fn errors_quote_a_text_as_it_is() {
    let server = Server::builder().extension(false).start();
    for (encoding, word) in ENCODINGS {
        let mut client = database(&server, encoding);
        client.batch_execute("CREATE EXTENSION sno_compat CASCADE").unwrap();
        for (query, message) in [
            (format!("SELECT '{word}'::sno"), format!("invalid input syntax for type sno: \"{word}\"")),
            (format!("SELECT '{word}'::uid60"), format!("invalid input syntax for type uid60: \"{word}\"")),
            (format!("SELECT gid_new('{word}')"), format!("invalid prefix: \"{word}\"")),
        ] {
            assert_eq!(error(&mut client, &query).message(), message, "{encoding}");
        }
        if major_version(&mut client) >= 16 {
            let query = format!("SELECT message, detail FROM pg_input_error_info('{word}', 'sno')");
            let row = client.query_one(&query, &[]).unwrap();
            assert_eq!(row.get::<_, String>(0), format!("invalid input syntax for type sno: \"{word}\""));
            assert_eq!(row.get::<_, String>(1), "A sno is 16 characters, or \\x and 20 hexadecimal digits.");
        }
        // A setting, in a session that has not loaded the library.
        let mut client = server.connect_to(encoding);
        client.batch_execute(&format!("SET sno.partition_prefix = '{word}'")).unwrap();
        let message = format!("parameter \"sno.partition_prefix\" could not be set to \"{word}\"");
        assert_eq!(error(&mut client, "SELECT sno_new()").message(), message, "{encoding}");
    }
    // A file has no encoding. What is none of the database's is not sent.
    server.configure("sno.partition_prefix", "日");
    server.reload();
    for (encoding, shown) in [("EUC_JP", "???"), ("UTF8", "日")] {
        let message = format!("invalid value for parameter \"sno.partition_prefix\": \"{shown}\"");
        assert_eq!(
            error(&mut server.connect_to(encoding), "SELECT sno_new()").message(),
            message,
            "{encoding}"
        );
    }
}

#[test]
fn no_client_sees_a_backtrace() {
    let server = Server::builder().env("RUST_BACKTRACE", "1").env("RUST_LIB_BACKTRACE", "full").start();
    let mut client = server.connect();
    client.batch_execute("CREATE EXTENSION sno_compat").unwrap();
    for (query, message, detail) in [
        // PostgreSQL's own errors, under functions of ours.
        (
            "SELECT count(*) OVER (ORDER BY id RANGE BETWEEN interval '-1 hour' PRECEDING AND CURRENT ROW)
             FROM (VALUES (sno_new())) v(id)",
            "invalid preceding or following size in window function",
            None,
        ),
        (
            "SET statement_timeout = '100ms'; ALTER SYSTEM SET sno.sequence_range = '0-3'; SELECT pg_reload_conf();
             SELECT count(sno_new()) FROM generate_series(1, 1000000)",
            "canceling statement due to statement timeout",
            None,
        ),
        // Ours.
        (
            "SELECT 'x'::sno",
            "invalid input syntax for type sno: \"x\"",
            Some("A sno is 16 characters, or \\x and 20 hexadecimal digits."),
        ),
        ("SELECT sno_new(256)", "metabyte out of range: 256", Some("A metabyte is between 0 and 255.")),
    ] {
        for query in query.split(';') {
            if let Err(error) = client.batch_execute(query) {
                let error = error.as_db_error().unwrap();
                assert_eq!((error.message(), error.detail()), (message, detail), "{query}");
            }
        }
    }
    assert!(!server.log().contains("stack backtrace"), "{}", server.log());
}
