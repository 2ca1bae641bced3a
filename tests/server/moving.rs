//! The steps of `docs/moving.md` to `sno` keys, and of `docs/moving-back.md` out of them again, while the tables are
//! written all the time; and `sql/moving-check.sql`, which says what there is to do.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, Stop, sql_file, text};

use crate::docs::{blocks, page, run_step, section};

/// Every block of SQL of the way to `sno`.
fn steps() -> Vec<String> {
    blocks(&page("moving.md"), "sql").iter().map(|block| block.sql.to_owned()).collect()
}

/// The way back to `uuid`: its own blocks, of which the first one creates the tables, then those of the way there with other names.
fn steps_back() -> Vec<String> {
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
fn go(server: &Server, steps: &[String], key_type: &str) {
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

#[test]
fn tables_move_to_sno_while_they_are_written() {
    // Times without a zone are in UTC, whatever the zone of the session.
    let server = Server::builder().conf("timezone", "America/New_York").start();
    go(&server, &steps()[..9], "sno");
    let wrong = "SELECT count(*) FROM orders WHERE customer LIKE 'customer %' AND sno_time(id) <> created_at AT TIME ZONE 'UTC'";
    assert_eq!(text(&mut server.connect(), wrong), "0");
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

/// A table for each thing that the check says, and two that stay.
const SHOP: &str = "
    CREATE ROLE reader; CREATE EXTENSION btree_gist;
    CREATE TABLE customers (id bigserial PRIMARY KEY, created_at timestamp, name text);
    CREATE TABLE orders (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, created_at timestamptz,
        customer_id bigint REFERENCES customers ON DELETE CASCADE, note text);
    CREATE INDEX latest ON orders (created_at);
    CREATE TABLE lines (order_id bigint DEFAULT 0 REFERENCES orders, n integer, PRIMARY KEY (order_id, n));
    CREATE TABLE rooms (order_id bigint REFERENCES orders, during daterange, EXCLUDE USING gist (order_id WITH =, during WITH &&));
    CREATE TABLE comments (id uuid PRIMARY KEY, created_at timestamptz, subject_type text, subject_id bigint, order_ids bigint[]);
    CREATE TABLE events (id bigserial, inserted_at timestamptz, PRIMARY KEY (id, inserted_at)) PARTITION BY RANGE (inserted_at);
    CREATE VIEW sums AS SELECT order_id, count(*) FROM lines GROUP BY 1; CREATE VIEW large AS SELECT * FROM sums WHERE count > 10;
    CREATE VIEW days AS SELECT created_at::date FROM orders;
    ALTER TABLE orders ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON orders USING (customer_id > 0);
    GRANT SELECT (customer_id) ON orders TO reader;
    CREATE FUNCTION newest() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT max(id) FROM customers); END $$;
    CREATE FUNCTION atomic(orders) RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT $1.id; END;
    CREATE TABLE countries (code text PRIMARY KEY); CREATE TABLE rates (day date PRIMARY KEY, rate_id text);
    CREATE FUNCTION is_rate(n bigint) RETURNS boolean LANGUAGE sql AS 'SELECT n > 0'";

const TO_DO: &str = "
    0|partitioned table|events
    1|reference without a foreign key|comments.order_ids bigint[]
    1|reference without a foreign key|comments.subject_id bigint
    2|creation time|customers.created_at timestamp without time zone
    2|no index|orders.customer_id
    3|foreign key|orders_customer_id_fkey of orders
    3|index|INDEX rooms_order_id_during_excl ON public.rooms USING gist (order_id, during)
    3|index|UNIQUE INDEX lines_pkey ON public.lines USING btree (order_id, n)
    5|default|lines.order_id DEFAULT 0
    5|function|newest()
    5|grants on a column|orders.customer_id
    5|uses old columns|function atomic(orders)
    5|uses old columns|policy own on table orders
    5|uses old columns|view large
    5|uses old columns|view sums
    6|uses the creation time|INDEX latest ON public.orders USING btree (created_at)
    6|uses the creation time|view days";

#[test]
fn the_check_names_what_there_is_to_do_and_nothing_else() {
    let server = Server::builder().start();
    server.run(SHOP);
    let check = |before: &str| {
        let output = server.psql(&format!("{before}\n{}", sql_file("moving-check.sql")));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    // The rows under a heading, without the last column.
    let part = |printed: &str, heading: &str| -> BTreeSet<String> {
        let rows =
            printed.split("* ").find_map(|part| part.strip_prefix(heading)).expect(heading).lines().skip(1);
        rows.filter_map(|line| Some(line.rsplit_once('|')?.0.to_owned())).collect()
    };
    let all = check("");
    let expected: BTreeSet<String> = TO_DO.lines().skip(1).map(|line| line.trim().to_owned()).collect();
    let found = part(&all, "What there is to do");
    assert_eq!(found, expected, "{:#?}", found.symmetric_difference(&expected));
    assert_eq!(part(&all, "Keys that could move").len(), 4);
    assert!(all.contains("|created_at|lines.order_id, rooms.order_id\n"), "{all}");
    // A role without rights sees the same; some keys alone; those of sno.
    assert_eq!(part(&check("SET ROLE reader;"), "What there is to do"), expected);
    let some = part(&check("\\set keys 'comments'"), "What there is to do");
    assert!(some.is_empty(), "{some:#?}");
    server.run("CREATE TABLE items (id sno PRIMARY KEY); CREATE VIEW few AS TABLE items");
    let back = check("\\set from sno");
    assert_eq!(
        part(&back, "What there is to do").into_iter().collect::<Vec<_>>(),
        ["5|uses old columns|view few"]
    );
}
