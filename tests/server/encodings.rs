//! Messages as clients get them, in databases of every encoding, and where the log says that they come from.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, error, major_version};

/// A database of each kind of encoding, a word that it can hold (one byte a character, several, any bytes), and how
/// messages quote it.
const ENCODINGS: [(&str, &str, &str); 4] = [
    ("LATIN1", "été", r"\xe9t\xe9"),
    ("EUC_JP", "日本", r"\xc6\xfc\xcb\xdc"),
    ("SQL_ASCII", "日本", r"\xe6\x97\xa5\xe6\x9c\xac"),
    ("UTF8", "日本", "日本"),
];

/// A new database of this encoding, and of its name.
pub(crate) fn database(server: &Server, encoding: &str) -> Client {
    server
        .run(&format!("CREATE DATABASE \"{encoding}\" TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'"));
    server.connect_to(encoding)
}

#[test]
fn errors_quote_a_text_so_that_clients_can_read_it() {
    let server = Server::builder().extension(false).start();
    for (encoding, word, shown) in ENCODINGS {
        let mut client = database(&server, encoding);
        client.run("CREATE EXTENSION sno_compat CASCADE");
        for (query, message) in [
            (format!("SELECT '{word}'::sno"), format!("invalid input syntax for type sno: \"{shown}\"")),
            (format!("SELECT '{word}'::uid60"), format!("invalid input syntax for type uid60: \"{shown}\"")),
            (format!("SELECT gid_new('{word}')"), format!("invalid prefix: \"{shown}\"")),
            (format!("SELECT sno_drop_feed('{word}')"), format!("feed \"{shown}\" does not exist")),
        ] {
            assert_eq!(error(&mut client, &query).message(), message, "{encoding}");
        }
        if major_version(&mut client) >= 16 {
            let query = format!("SELECT message, detail FROM pg_input_error_info('{word}', 'sno')");
            let row = client.query_one(&query, &[]).unwrap();
            assert_eq!(row.get::<_, String>(0), format!("invalid input syntax for type sno: \"{shown}\""));
            assert_eq!(row.get::<_, String>(1), "A sno is 16 characters, or \\x and 20 hexadecimal digits.");
        }
    }
    // A file has no encoding.
    server.configure("sno.partition_prefix", "日");
    server.reload();
    for (encoding, shown) in [("EUC_JP", r"\xe6\x97\xa5"), ("UTF8", "日")] {
        let message = format!("invalid value for parameter \"sno.partition_prefix\": \"{shown}\"");
        assert_eq!(
            error(&mut server.connect_to(encoding), "SELECT sno_new()").message(),
            message,
            "{encoding}"
        );
    }
}

#[test]
fn the_log_shows_the_file_and_line_of_an_error() {
    let server = Server::builder().conf("log_error_verbosity", "verbose").start();
    error(&mut server.connect(), "SELECT 'x'::sno");
    error(&mut server.connect(), "SELECT sno_with_metabyte(sno_new(), 256)");
    let log = server.log();
    assert_eq!(log.matches("LOCATION:  sno, errors.rs:").count(), 2, "{log}");
}
