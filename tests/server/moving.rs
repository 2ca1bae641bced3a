//! The steps of `docs/moving.md` to `sno` keys, and of `docs/moving-back.md` out of them again, while the tables are
//! written all the time: of a whole schema in `shop`, and here of keys from `sql/uuidv7.sql`.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, Stop, sql_file, text};

use crate::docs::{blocks, page, run_step, section};

mod shop;

/// Every block of SQL of the way to `sno`.
fn steps() -> Vec<String> {
    blocks(&page("moving.md"), "sql").iter().map(|block| block.sql.to_owned()).collect()
}

/// The way back to `uuid`: its own blocks, of which the first one creates the tables, then those of the way there with other names.
pub(crate) fn steps_back() -> Vec<String> {
    let page = page("moving-back.md");
    let to_uuid = section(&page, "To `uuid`");
    let there = steps();
    let there =
        ["CREATE UNIQUE INDEX CONCURRENTLY", "VALIDATE CONSTRAINT", "DROP IDENTITY", "DROP COLUMN old_id"]
            .map(|part| there.iter().find(|step| step.contains(part)).expect(part));
    let names = [("order_sno", "new_order_id"), ("replaces_sno", "new_replaces"), ("sno", "new_id")];
    let [default] = blocks(to_uuid, "postgresql")[..] else { panic!("{to_uuid}") };
    let renamed = there.map(|step| {
        let step = names.iter().fold(step.clone(), |step, (from, to)| step.replace(from, to));
        let lines = step
            .lines()
            .map(|line| if line.contains("DROP IDENTITY") { default.sql.trim_end() } else { line });
        lines.collect::<Vec<_>>().join("\n")
    });
    let own = blocks(to_uuid, "sql");
    own.iter().map(|block| block.sql.to_owned()).chain(renamed).collect()
}

/// Writes orders and lines as an application does that takes the key as a text, whatever its type; how many.
fn write(client: &mut Client, done: &AtomicBool, writer: usize) -> usize {
    let mut count = 0;
    while !done.load(Relaxed) {
        let name = format!("{writer}-{count}");
        let mut transaction = client.transaction().unwrap();
        let order = format!("INSERT INTO orders (customer) VALUES ('{name}') RETURNING id::text");
        let id: String = transaction.one(&order);
        let line = format!("INSERT INTO lines (order_id, n, item) VALUES ('{id}', {count}, '{name}')");
        // The switch may come between the two statements only if it did not wait for this transaction.
        transaction.run(&line);
        transaction.commit().unwrap();
        count += 1;
        thread::sleep(Duration::from_millis(5));
    }
    count
}

/// Takes these steps, of which the first one creates the tables, while they are written. Nothing is lost, and the key is of this type
/// then.
#[track_caller]
pub(crate) fn go(server: &Server, steps: &[String], key_type: &str) {
    let run = |step: &str| run_step(server, step);
    run(&steps[0]);
    let mut client = server.connect();
    let mut one = |query: &str| -> usize { text(&mut client, query).parse().unwrap() };
    let [orders, lines] = ["SELECT count(*) FROM orders", "SELECT count(*) FROM lines"];
    let before = [one(orders), one(lines)];
    let done = AtomicBool::new(false);
    let written: usize = thread::scope(|scope| {
        let done = &done;
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
    assert_eq!([one(orders), one(lines)], before.map(|count| count + written));
    // Each line has its order still, by the new key.
    let own = "SELECT count(*) FROM lines l JOIN orders o ON o.id = l.order_id
               WHERE l.item = o.customer OR l.item LIKE 'item%' AND o.customer LIKE 'customer %'";
    assert_eq!(one(own), one(lines));
    let key = format!(
        "SELECT count(*) FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attname = 'id' AND attnotnull
             AND atttypid = '{key_type}'::regtype"
    );
    assert_eq!(one(&key), 1);
}

/// As docs/without-the-extension.md says: the way back to `uuid` with the types exchanged, and then the way back itself.
#[test]
fn tables_move_from_the_sql_file_and_back_while_they_are_written() {
    let server = Server::builder().conf("sno.partition_prefix", "42").start();
    server.run(&sql_file("uuidv7.sql"));
    let back = steps_back();
    let there: Vec<String> = back
        .iter()
        .map(|step| {
            [
                (
                    "SELECT sno_to_uuidv7('9q7k4op826n2g222')",
                    "SELECT uuidv7_to_sno('01a1fd71-2dcc-7009-940e-000000000000')",
                ),
                ("'2222222222222222'", "'00000000-0000-0000-0000-000000000000'"),
                ("sno_to_uuidv7(", "uuidv7_to_sno("),
                ("gen_random_uuid()", "sno_new()"),
                ("id sno PRIMARY KEY DEFAULT sno_new()", "id uuid PRIMARY KEY DEFAULT sno_uuid()"),
                ("order_id sno ", "order_id uuid "),
                ("replaces sno ", "replaces uuid "),
                ("new_replaces uuid", "new_replaces sno"),
                ("since sno", "since uuid"),
                ("until sno", "until uuid"),
                ("stop sno", "stop uuid"),
                ("new_id uuid", "new_id sno"),
                ("new_order_id uuid", "new_order_id sno"),
            ]
            .iter()
            .fold(step.clone(), |step, (from, to)| step.replace(from, to))
        })
        .collect();
    go(&server, &there, "sno");
    server.run(
        "ALTER INDEX orders_customer_new_id RENAME TO orders_customer; ALTER INDEX orders_new_replaces RENAME TO orders_replaces",
    );
    let back: Vec<String> = back.iter().map(|step| step.replace("gen_random_uuid()", "sno_uuid()")).collect();
    let back = [&[String::from("SELECT 1")], &back[1..]].concat();
    go(&server, &back, "uuid");
    // The first ones are what they were.
    let first = "SELECT count(*) FROM orders WHERE sno_uuid_server(id) = 0 AND customer LIKE 'customer %'";
    assert_eq!(text(&mut server.connect(), first), "5000");
}
