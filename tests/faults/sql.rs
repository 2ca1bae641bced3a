//! `sno_new` in all the places that SQL has for a function.

use sno_tests::{Ids, Server, in_parallel, plan};

use crate::{code, pick, tally, text};

/// Proves the IDs of a table distinct: the primary key has, and this counts them too.
#[track_caller]
fn prove(server: &Server, tables: &[&str]) {
    let mut ids = server.ids();
    let query = tables.iter().map(|table| format!("SELECT id FROM {table}")).collect::<Vec<_>>();
    ids.query(&mut server.connect(), &query.join(" UNION ALL ")).unwrap();
    tally::prove(ids);
}

#[test]
fn in_triggers() {
    let server = Server::builder().conf("sno.partition_prefix", "3/16").start();
    server
        .connect()
        .batch_execute(
            "CREATE TABLE t (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
             CREATE TABLE log (id sno PRIMARY KEY, of sno NOT NULL);
             CREATE FUNCTION before() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN NEW.id := sno_new(2); RETURN NEW; END $$;
             CREATE FUNCTION after() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN INSERT INTO log VALUES (sno_new(3), NEW.id); RETURN NULL; END $$;
             CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.n % 2 = 0) EXECUTE FUNCTION before();
             CREATE CONSTRAINT TRIGGER a AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
                 FOR EACH ROW EXECUTE FUNCTION after()",
        )
        .unwrap();
    let rows = pick(5_000, 50_000);
    in_parallel(4, |_| {
        let query = format!("INSERT INTO t (n) SELECT generate_series(1, {rows})");
        server.connect().batch_execute(&query).unwrap();
    });
    let mut client = server.connect();
    assert_eq!(text(&mut client, "SELECT count(*) FROM t JOIN log ON log.of = t.id"), (4 * rows).to_string());
    assert_eq!(text(&mut client, "SELECT count(DISTINCT sno_metabyte(id)) FROM t"), "2");
    prove(&server, &["t", "log"]);
}

/// An aborted subtransaction takes back rows; the IDs that it drew were seen and never come again.
#[test]
fn in_subtransactions_that_abort() {
    let server = Server::builder().conf("sno.partition_prefix", "3/16").start();
    server
        .connect()
        .batch_execute(
            "CREATE FUNCTION draw(rounds integer) RETURNS SETOF sno LANGUAGE plpgsql AS $$
             DECLARE id sno; BEGIN
                 CREATE TEMP TABLE IF NOT EXISTS t (id sno);
                 FOR n IN 1..rounds LOOP
                     BEGIN
                         id := sno_new(1);
                         RETURN NEXT id;
                         INSERT INTO t VALUES (id);
                         id := sno_new(2);
                         RETURN NEXT id;
                         IF n % 2 = 0 THEN RAISE division_by_zero; END IF;
                         -- An error of the function's own in the midst of it.
                         IF n % 3 = 0 THEN PERFORM sno_new(256); END IF;
                     EXCEPTION WHEN division_by_zero OR numeric_value_out_of_range THEN
                         RETURN NEXT sno_new(3);
                     END;
                 END LOOP;
             END $$",
        )
        .unwrap();
    let ids: Ids = in_parallel(4, |_| {
        let mut ids = server.ids();
        ids.query(&mut server.connect(), &format!("SELECT * FROM draw({})", pick(3000, 30_000))).unwrap();
        ids
    })
    .into_iter()
    .collect();
    tally::prove(ids);
}

#[test]
fn in_prepared_statements() {
    let server = Server::builder().conf("sno.partition_prefix", "3/16").start();
    server
        .connect()
        .batch_execute("CREATE TABLE t (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)")
        .unwrap();
    in_parallel(4, |number| {
        let mut client = server.connect();
        // One for each call, never folded into the plan: custom plans first, a generic one later.
        let insert = client.prepare("INSERT INTO t (n) VALUES ($1)").unwrap();
        let explicit =
            client.prepare("INSERT INTO t SELECT sno_new($1), 0 FROM generate_series(1, 3)").unwrap();
        for round in 0..pick(200, 5000) {
            client.execute(&insert, &[&(round % 256)]).unwrap();
            client.execute(&explicit, &[&(number as i32)]).unwrap();
        }
    });
    prove(&server, &["t"]);
}

#[test]
fn in_copy_with_the_default() {
    use std::io::Write as _;

    let server = Server::builder().conf("sno.partition_prefix", "3/16").start();
    server
        .connect()
        .batch_execute("CREATE TABLE t (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)")
        .unwrap();
    let rows = pick(20_000, 200_000);
    in_parallel(4, |_| {
        let mut client = server.connect();
        let mut writer = client.copy_in("COPY t (n) FROM STDIN").unwrap();
        for n in 0..rows {
            writeln!(writer, "{n}").unwrap();
        }
        assert_eq!(writer.finish().unwrap(), rows);
    });
    prove(&server, &["t"]);
}

#[test]
fn in_insert_on_conflict() {
    let server = Server::builder().conf("sno.partition_prefix", "3/16").start();
    server
        .connect()
        .batch_execute(
            "CREATE TABLE t (n integer PRIMARY KEY, id sno NOT NULL UNIQUE DEFAULT sno_new(1), version sno)",
        )
        .unwrap();
    // Everyone fights for the same few rows, in the same order.
    in_parallel(4, |_| {
        let mut client = server.connect();
        for _ in 0..pick(20, 400) {
            let query = "INSERT INTO t (n) SELECT generate_series(1, 100)
                         ON CONFLICT (n) DO UPDATE SET version = sno_new(2)";
            client.batch_execute(query).unwrap();
        }
    });
    let query = "SELECT count(DISTINCT id) || ' ' || count(DISTINCT version) FROM t";
    assert_eq!(text(&mut server.connect(), query), "100 100");
    prove(&server, &["t", "(SELECT version AS id FROM t) versions"]);
}

#[test]
fn in_parallel_workers() {
    let server =
        Server::builder().conf("max_parallel_workers", "8").conf("max_worker_processes", "8").start();
    let rows = pick(200_000, 2_000_000);
    let mut client = server.connect();
    client
        .batch_execute(&format!(
            "CREATE TABLE source AS SELECT generate_series(1, {rows}) n; ANALYZE source;
             ALTER TABLE source SET (parallel_workers = 4);
             SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
             SET max_parallel_workers_per_gather = 4"
        ))
        .unwrap();
    let query = "SELECT sno_new(1) AS id FROM source";
    let plan = plan(&mut client, "COSTS off", query);
    assert!(plan.contains("Workers Planned: 4"), "{plan}");
    // Workers and leader side by side with other connections.
    let mut all: Ids = in_parallel(3, |number| {
        let mut ids = server.ids();
        let mut client = server.connect();
        if number == 0 {
            client.batch_execute("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0").unwrap();
            client.batch_execute("SET max_parallel_workers_per_gather = 4").unwrap();
        }
        ids.query(&mut client, query).unwrap();
        ids
    })
    .into_iter()
    .collect();
    client.batch_execute(&format!("CREATE TABLE made AS {query}")).unwrap();
    all.query(&mut client, "SELECT id FROM made").unwrap();
    assert_eq!(all.len(), 4 * rows as usize);
    tally::prove(all);
}

#[test]
fn in_transactions_of_every_kind() {
    let server = Server::builder().conf("max_prepared_transactions", "10").start();
    let mut client = server.connect();
    client.batch_execute("CREATE TABLE t (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)").unwrap();
    // In a transaction that only reads, and one that was prepared.
    client.batch_execute("BEGIN READ ONLY; SELECT sno_new(1); COMMIT").unwrap();
    client
        .batch_execute(
            "BEGIN; INSERT INTO t (n) VALUES (1); PREPARE TRANSACTION 'p'; INSERT INTO t (n) VALUES (2)",
        )
        .unwrap();
    client.batch_execute("COMMIT PREPARED 'p'").unwrap();
    // In an aborted one nothing goes on, and afterwards everything does.
    client.batch_execute("BEGIN").unwrap();
    assert_eq!(code(&mut client, "SELECT sno_new(-1)"), "22003");
    assert_eq!(code(&mut client, "SELECT sno_new(1)"), "25P02");
    client.batch_execute("ROLLBACK; INSERT INTO t (n) VALUES (3)").unwrap();
    // As the default of a new column every row gets its own.
    client.batch_execute("ALTER TABLE t ADD other sno DEFAULT sno_new(2)").unwrap();
    assert_eq!(text(&mut client, "SELECT count(DISTINCT other) FROM t"), "3");
    prove(&server, &["t", "(SELECT other AS id FROM t) others"]);
}
