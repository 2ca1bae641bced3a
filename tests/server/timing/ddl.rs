//! What the event triggers add to DDL of a table with many partitions.

use std::time::{Duration, Instant};

use sno_tests::{Server, Sql as _};

/// Right after a migration has created them, when PostgreSQL knows nothing of the new rows in its catalogs.
#[test]
fn new_columns_of_many_new_partitions() {
    let server =
        Server::builder().conf("autovacuum", "off").conf("max_locks_per_transaction", "1000").start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE log (id sno DEFAULT sno_new(), n integer, PRIMARY KEY (id, n)) PARTITION BY LIST (n); SELECT sno_refuse_old_keys('log');
         DO $$ BEGIN FOR n IN 1..1000 LOOP EXECUTE format('CREATE TABLE log_%s PARTITION OF log FOR VALUES IN (%1$s)', n); END LOOP; END $$;
         INSERT INTO log (n) SELECT generate_series(1, 1000)",
    );
    let mut add_column = |name: &str| {
        let began = Instant::now();
        client.run(&format!("ALTER TABLE log ADD COLUMN {name} integer DEFAULT 1"));
        began.elapsed()
    };
    let followed = add_column("followed");
    server.connect().run("ALTER EVENT TRIGGER sno_follow_ddl DISABLE");
    let alone = add_column("alone");
    println!("{followed:?}, without the event trigger {alone:?}");
    assert!(followed < alone * 3 + Duration::from_millis(500), "{followed:?}, without {alone:?}");
}
