//! The steps of `docs/moving.md` to `sno` keys, and of `docs/moving-back.md` out of them again, while the tables are
//! written all the time.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, Stop, text};

use crate::docs::{blocks, page, run_step};

/// Every block of SQL; of the way back, those to `uuid` without its first one, whose tables are there already.
fn steps() -> Vec<String> {
    let [to, back] = ["moving.md", "moving-back.md"].map(page);
    let back = back.split("\n## To `bigint`").next().unwrap();
    let blocks = blocks(&to, "sql").into_iter().chain(blocks(back, "sql").into_iter().skip(1));
    blocks.map(|block| block.sql.to_owned()).collect()
}

/// Writes orders and lines as an application does that takes the key as a text, whatever its type; how many.
fn write(client: &mut Client, done: &AtomicBool, writer: usize) -> usize {
    let mut count = 0;
    while !done.load(Relaxed) {
        let name = format!("{writer}-{count}");
        let mut transaction = client.transaction().unwrap();
        let order = format!("INSERT INTO orders (customer) VALUES ('{name}') RETURNING id::text");
        let id: String = transaction.one(&order);
        let line = format!("INSERT INTO lines (order_id, item) VALUES ('{id}', '{name}')");
        // The switch may come between the two statements only if it did not wait for this transaction.
        transaction.run(&line);
        transaction.commit().unwrap();
        count += 1;
        thread::sleep(Duration::from_millis(5));
    }
    count
}

#[test]
fn tables_move_to_sno_and_out_again_while_they_are_written() {
    let server = Server::builder().start();
    let steps = steps();
    assert!(steps.len() >= 12, "{} steps found", steps.len());
    let run = |step: &str| run_step(&server, step);
    run(&steps[0]);
    let done = AtomicBool::new(false);
    let written: usize = thread::scope(|scope| {
        let (server, done) = (&server, &done);
        let writers: Vec<_> =
            (0..3).map(|writer| scope.spawn(move || write(&mut server.connect(), done, writer))).collect();
        let stop = Stop(done);
        for step in &steps[1..] {
            thread::sleep(Duration::from_millis(200));
            run(step);
            if step.contains("CALL fill_orders") {
                // As the page says of transactions that were open meanwhile.
                run("CALL fill_orders(1000)");
            }
        }
        thread::sleep(Duration::from_millis(200));
        drop(stop);
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert!(written > 100, "{written} orders written meanwhile");
    let mut client = server.connect();
    let mut one = |query: &str| -> usize { text(&mut client, query).parse().unwrap() };
    assert_eq!(one("SELECT count(*) FROM orders"), 5000 + written);
    assert_eq!(one("SELECT count(*) FROM lines"), 10_000 + written);
    // Each line has its order still, by the new key.
    let own = "SELECT count(*) FROM lines l JOIN orders o ON o.id = l.order_id
               WHERE l.item = o.customer OR l.item LIKE 'item %' AND o.customer LIKE 'customer %'";
    assert_eq!(one(own), 10_000 + written);
    let key = "SELECT count(*) FROM information_schema.columns
               WHERE table_name = 'orders' AND column_name = 'id' AND data_type = 'uuid' AND is_nullable = 'NO'";
    assert_eq!(one(key), 1);
}
