//! What consumers of logical decoding see: "What other readers see" in docs/pipelines.md.

use sno_tests::{Server, Sql as _, text};

use crate::replication::trust_output_plugin;

/// A server with a table and a slot for it. The table's rows are of one transaction.
fn server(plugin: &str) -> Server {
    let server = Server::builder().conf("wal_level", "logical").start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_new(1), related sno[], n integer);
             CREATE PUBLICATION everything FOR TABLE event",
    );
    trust_output_plugin(&server, plugin);
    client.query("SELECT pg_create_logical_replication_slot('changes', $1::text::name)", &[&plugin]).unwrap();
    let insert = "INSERT INTO event VALUES ('9q7k4op826n2g222', '{9q7k4op826n2g222}', 1)";
    client.run(insert);
    client.run("UPDATE event SET n = 2; DELETE FROM event");
    server
}

/// Debezium and Kafka Connect, among others, decode by `pgoutput`.
#[test]
fn pgoutput_sends_texts_or_the_ten_bytes() {
    let server = server("pgoutput");
    let mut client = server.connect();
    let messages = |client: &mut sno_tests::postgres::Client, binary: &str| -> Vec<Vec<u8>> {
        let query = format!(
            "SELECT data FROM pg_logical_slot_peek_binary_changes('changes', NULL, NULL,
                 'proto_version', '1', 'publication_names', 'everything', 'binary', '{binary}')"
        );
        client.query(&query, &[]).unwrap().iter().map(|row| row.get(0)).collect()
    };
    let contains = |message: &[u8], part: &[u8]| message.windows(part.len()).any(|window| window == part);

    let texts = messages(&mut client, "false");
    // Begin, the type, its array, the relation, insert; update; delete.
    assert!(texts.iter().any(|message| message[0] == b'Y' && contains(message, b"public\0sno\0")));
    for kind in [b'I', b'U', b'D'] {
        let message = texts.iter().find(|message| message[0] == kind).unwrap();
        // A text of 16 characters, after its length.
        assert!(contains(message, b"t\0\0\0\x109q7k4op826n2g222"), "{}", kind as char);
    }
    let insert = texts.iter().find(|message| message[0] == b'I').unwrap();
    assert!(contains(insert, b"{9q7k4op826n2g222}"));

    let bytes = messages(&mut client, "true");
    let insert = bytes.iter().find(|message| message[0] == b'I').unwrap();
    assert!(contains(insert, b"b\0\0\0\x0a\x3e\x0b\x21\x5a\xe6\x01\x2a\x07\x00\x00"));
}

#[test]
#[ignore = "needs wal2json: make test-replication"]
fn wal2json_has_ids_as_strings() {
    let server = server("wal2json");
    let mut client = server.connect();
    let change = |client: &mut _, action: &str, path: &str| {
        text(
            client,
            &format!(
                "SELECT data::jsonb #>> '{path}' FROM pg_logical_slot_peek_changes('changes', NULL, NULL, 'format-version', '2')
                 WHERE data::jsonb ->> 'action' = '{action}'"
            ),
        )
    };
    assert_eq!(change(&mut client, "I", "{columns,0,type}"), "sno");
    assert_eq!(change(&mut client, "I", "{columns,0,value}"), "9q7k4op826n2g222");
    assert_eq!(change(&mut client, "I", "{columns,1,value}"), "{9q7k4op826n2g222}");
    assert_eq!(change(&mut client, "U", "{identity,0,value}"), "9q7k4op826n2g222");
    assert_eq!(change(&mut client, "D", "{identity,0,value}"), "9q7k4op826n2g222");
}
