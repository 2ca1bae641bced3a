//! `sno_refuse_old_keys()`: rows that a feed would miss are refused.

use sno_tests::{Server, Sql as _, code, error};

/// Who creates a feed is told of rows that it can miss.
#[test]
fn a_new_feed_warns() {
    let server = Server::builder().start();
    server.run(
        "CREATE DOMAIN generated AS sno DEFAULT sno_new(); CREATE FUNCTION key() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN NEW.id := sno_new(); RETURN NEW; END';
         CREATE TABLE given (id sno PRIMARY KEY); CREATE TABLE own (id sno PRIMARY KEY DEFAULT sno_new());
         CREATE TABLE domain (id generated PRIMARY KEY); CREATE TABLE refused (id sno PRIMARY KEY);
         SELECT sno_refuse_old_keys('refused'); CREATE TABLE by_trigger (id sno PRIMARY KEY);
         CREATE TRIGGER key BEFORE INSERT ON by_trigger FOR EACH ROW EXECUTE FUNCTION key();
         CREATE VIEW shown AS SELECT id AS key FROM given",
    );
    let told = |source: &str| {
        let output = server.psql(&format!("SELECT sno_create_feed('{source}', '{source}')"));
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let missed = "WARNING:  rows of \"public.given\" with keys from earlier transactions would be missed\n";
    for source in ["given", "shown"] {
        let told = told(source);
        assert!(
            told.starts_with(missed) && told.ends_with("call sno_refuse_old_keys('public.given').\n"),
            "{told}"
        );
    }
    for source in ["own", "domain", "refused", "by_trigger"] {
        assert_eq!(told(source), "", "{source}");
    }
    let output = server.psql(
        "SELECT sno_track_changes('own') \\g /dev/null\nSELECT sno_create_feed('changes', 'own_changes', key => 'changed')",
    );
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_key_of_another_transaction_is_refused() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE DOMAIN any_id AS sno; CREATE DOMAIN event_id AS any_id;
         CREATE TABLE events (id event_id PRIMARY KEY DEFAULT sno_new(1), of sno, n integer) PARTITION BY RANGE (id);
         CREATE TABLE part PARTITION OF events DEFAULT; CREATE TABLE \"No \"\"key\" (\"a b\" sno, c sno);
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
