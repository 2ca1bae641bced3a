//! What the event triggers add to DDL, and what others can add.

use std::time::{Duration, Instant};

use sno_tests::{Server, Sql as _, postgres::Client};

fn time(client: &mut Client, sql: &str) -> Duration {
    let began = Instant::now();
    client.run(sql);
    began.elapsed()
}

/// A table with a feed, and a row in each of its partitions.
fn partitioned() -> (Server, Client) {
    let server =
        Server::builder().conf("autovacuum", "off").conf("max_locks_per_transaction", "1000").start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE log (id sno DEFAULT sno_new(), n integer, PRIMARY KEY (id, n)) PARTITION BY LIST (n); SELECT sno_create_feed('log', 'log');
         DO $$ BEGIN FOR n IN 1..1000 LOOP EXECUTE format('CREATE TABLE log_%s PARTITION OF log FOR VALUES IN (%1$s)', n); END LOOP; END $$;
         INSERT INTO log (n) SELECT generate_series(1, 1000)",
    );
    (server, client)
}

/// Right after a migration has created them, when PostgreSQL knows nothing of the new rows in its catalogs.
#[test]
fn new_columns_of_many_new_partitions() {
    let (_server, mut client) = partitioned();
    let followed = time(&mut client, "ALTER TABLE log ADD COLUMN followed integer DEFAULT 1");
    client.run("ALTER EVENT TRIGGER sno_follow_ddl DISABLE");
    let alone = time(&mut client, "ALTER TABLE log ADD COLUMN alone integer DEFAULT 1");
    println!("{followed:?}, without the event trigger {alone:?}");
    assert!(followed < alone * 3 + Duration::from_millis(500), "{followed:?}, without {alone:?}");
}

/// When PostgreSQL knows of them, it does not compile a query of the catalogs for each question about another table.
#[test]
fn questions_beside_many_partitions() {
    let (_server, mut client) = partitioned();
    // As of 3,000 partitions.
    client.run(
        "ANALYZE; SET jit_inline_above_cost = 100000; SET jit_optimize_above_cost = 100000;
         CREATE TABLE events (id sno PRIMARY KEY); SELECT sno_create_feed('events', 'events')",
    );
    let asked = time(&mut client, "SELECT sno_read_by_all('events')");
    println!("{asked:?}");
    assert!(asked < Duration::from_millis(150), "{asked:?}");
}

/// A role without rights makes a chain of domains over the type, which lasts as long as its session.
#[test]
fn domains_of_others() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run("CREATE ROLE mallory LOGIN");
    let mut mallory = server.connect_as("mallory");
    mallory.run(
        "CREATE DOMAIN pg_temp.d0 AS sno;
         DO $$ BEGIN FOR n IN 1..4000 LOOP EXECUTE format('CREATE DOMAIN pg_temp.d%s AS pg_temp.d%s', n, n - 1); END LOOP; END $$",
    );
    let ours = time(
        &mut client,
        "CREATE TABLE log (n integer, id sno, PRIMARY KEY (n, id)) PARTITION BY LIST (n); CREATE INDEX ON log (id);
         SELECT sno_create_feed('log', 'log'); CREATE TABLE one PARTITION OF log DEFAULT; ALTER TABLE log DETACH PARTITION one",
    );
    println!("{ours:?}");
    assert!(ours < Duration::from_secs(1), "{ours:?}");
}
