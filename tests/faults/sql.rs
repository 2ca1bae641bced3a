//! `sno_new` in subtransactions that abort, and in parallel workers.

use sno_tests::{Ids, Server, Sql as _, in_parallel, plan};

use crate::{pick, tally};

/// An aborted subtransaction takes back rows; the IDs that it drew were seen and never come again.
#[test]
fn in_subtransactions_that_abort() {
    let server = Server::builder().conf("sno.partition_prefix", "3/16").start();
    server.run(
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
    );
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
fn in_parallel_workers() {
    let server =
        Server::builder().conf("max_parallel_workers", "8").conf("max_worker_processes", "8").start();
    let rows = pick(200_000, 2_000_000);
    let mut client = server.connect();
    client.run(&format!(
        "CREATE TABLE source AS SELECT generate_series(1, {rows}) n; ANALYZE source;
             ALTER TABLE source SET (parallel_workers = 4);
             SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
             SET max_parallel_workers_per_gather = 4"
    ));
    let query = "SELECT sno_new(1) AS id FROM source";
    let plan = plan(&mut client, "COSTS off", query);
    assert!(plan.contains("Workers Planned: 4"), "{plan}");
    // Workers and leader side by side with other connections.
    let mut all: Ids = in_parallel(3, |number| {
        let mut ids = server.ids();
        let mut client = server.connect();
        if number == 0 {
            client.run("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0");
            client.run("SET max_parallel_workers_per_gather = 4");
        }
        ids.query(&mut client, query).unwrap();
        ids
    })
    .into_iter()
    .collect();
    client.run(&format!("CREATE TABLE made AS {query}"));
    all.query(&mut client, "SELECT id FROM made").unwrap();
    assert_eq!(all.len(), 4 * rows as usize);
    tally::prove(all);
}
