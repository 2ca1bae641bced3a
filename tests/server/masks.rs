//! Masks where more than one session, one database or one encoding is involved; what one session sees is in
//! `pg_regress/mask.sql`.

use sno_tests::{Server, Sql as _, code};

use crate::encodings::database;

/// A key whose bytes and digits would be seen anywhere.
const KEY: &[u8; 32] = b"a key that nobody else may see!!";
const DIGITS: &str = "61206b65792074686174206e6f626f6479";

/// The context is converted to UTF-8, so a mask can be passed from one database to another.
#[test]
fn they_are_the_same_in_every_encoding() {
    let server = Server::builder().extension(false).start();
    for encoding in ["UTF8", "LATIN1", "WIN1252", "EUC_JP", "SQL_ASCII"] {
        database(&server, encoding).run("CREATE EXTENSION sno");
    }
    let query = "SELECT sno_mask('9q7k4op826n2g222', $1, $2)";
    for (encodings, context) in
        [(&["UTF8", "LATIN1", "WIN1252"][..], "été"), (&["UTF8", "EUC_JP", "SQL_ASCII"], "日本")]
    {
        let masks: Vec<String> = encodings
            .iter()
            .map(|encoding| {
                let mut client = server.connect_to(encoding);
                let masked: String = client.query_one(query, &[&KEY.as_slice(), &context]).unwrap().get(0);
                let unmask = "SELECT sno_unmask($1, $2, $3)::text";
                let id: String =
                    client.query_one(unmask, &[&masked, &KEY.as_slice(), &context]).unwrap().get(0);
                assert_eq!(id, "9q7k4op826n2g222", "{encoding}");
                masked
            })
            .collect();
        assert!(masks.iter().all(|masked| *masked == masks[0]), "{encodings:?}: {masks:?}");
    }
    // Bytes that are no text in UTF-8, in a database that takes all: an error, and no crash.
    let mut client = server.connect_to("SQL_ASCII");
    client.run("SET client_encoding = 'SQL_ASCII'");
    let bytes = r"SELECT sno_mask('9q7k4op826n2g222', '0123456789abcdef', E'\xff\xfe')";
    assert_eq!(code(&mut client, bytes), "22021");
    assert_eq!(code(&mut client, "SELECT 1/0"), "22012");
}

/// A key that is a bind parameter is in no message and not in the log, by the default settings.
#[test]
fn a_bound_key_is_nowhere_to_be_seen() {
    let server = Server::builder().start();
    let mut client = server.connect();
    let masked = "SELECT sno_mask('9q7k4op826n2g222', $1, 'orders')";
    client.query_one(masked, &[&KEY.as_slice()]).unwrap();
    for length in [0, 31, 15] {
        let error = client.query_one(masked, &[&&KEY[..length]]).unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!(error.code().code(), "22023");
        let shown = format!("{error:?}");
        assert!(!shown.contains("nobody") && !shown.contains(DIGITS), "{shown}");
    }
    let log = server.log();
    assert!(log.contains("invalid length of a key for masks"), "{log}");
    assert!(!log.contains("nobody") && !log.contains(DIGITS), "{log}");
}
