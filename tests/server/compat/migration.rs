//! The recipe in `docs/compat.md` and `docs/moving.md`, step by step, while the table is read and written all the time;
//! and that values survive dumps, copies and soft errors.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Duration,
};

use sno_tests::postgres::{Client, SimpleQueryMessage};
use sno_tests::{Sql as _, Stop, major_version};

use super::{builder, start};
use crate::docs::{blocks, page, run_step, section};

/// The steps: those of `docs/moving.md`, with what `docs/compat.md` says that is different.
fn steps() -> Vec<String> {
    let [moving, compat] = ["moving.md", "compat.md"].map(page);
    let compat = section(&compat, "Moving a table to `sno`");
    let step = |part: &str| {
        let blocks = blocks(&moving, "sql");
        blocks.iter().find(|block| block.sql.contains(part)).expect(part).sql.to_owned()
    };
    let differences = blocks(compat, "postgresql");
    let [updates, defaults] = differences[..] else { panic!("{differences:?}") };

    let fill = step("CREATE PROCEDURE fill_orders");
    let (start, rest) = fill.split_once("        UPDATE orders").expect("the batch");
    let (_, end) = rest.split_once("        COMMIT").expect("the end of the batch");
    let start = start.replace("bigint := 0", "uid60 := uid60_lower('-infinity')").replace("bigint", "uid60");
    let fill = format!("{start}{}        COMMIT{end}", updates.sql);
    // Its tables have nothing that refers to another order, no second column in a key, no other index.
    let step = |part: &str| {
        let step = step(part).replace(
            "UNIQUE INDEX CONCURRENTLY lines_order_sno ON lines (order_sno, n)",
            "INDEX CONCURRENTLY lines_order_sno ON lines (order_sno)",
        );
        let kept = step.split_inclusive(";\n").filter(|statement| {
            !["replaces", "customer", "lines_pkey"].iter().any(|word| statement.contains(word))
        });
        kept.collect::<String>()
    };
    let switch = step("DROP IDENTITY");
    let switch = switch.lines().map(|line| if line.contains("DROP IDENTITY") { defaults.sql } else { line });
    let switch = switch.collect::<Vec<_>>().join("\n");
    let clean_up = step("DROP COLUMN old_id");

    let own = blocks(compat, "sql").into_iter().map(|block| block.sql.to_owned());
    let same = [fill, step("CREATE UNIQUE INDEX"), step("NOT VALID"), switch, clean_up];
    own.chain(same).collect()
}

/// Inserts and looks up by what it got back, as an application does that knows nothing of the move.
fn write(client: &mut Client, done: &AtomicBool, writer: usize) -> usize {
    let mut count = 0;
    while !done.load(Relaxed) {
        let item = format!("{writer}-{count}");
        let insert = format!(
            "WITH o AS (INSERT INTO orders (item) VALUES ('{item}') RETURNING id)
             INSERT INTO lines (order_id, product) SELECT id, '{item}' FROM o RETURNING order_id::text"
        );
        let row = client.query_one(&insert, &[]).unwrap();
        let id: String = row.get(0);
        let read = client.simple_query(&format!("SELECT item FROM orders WHERE id = '{id}'"));
        match read {
            Ok(rows) => {
                assert!(rows.iter().any(
                    |row| matches!(row, SimpleQueryMessage::Row(row) if row.get(0) == Some(item.as_str()))
                ))
            }
            // The key was an old one and the switch came between: then it is found as the page says.
            Err(error) => {
                assert_eq!(error.code().unwrap().code(), "22P02", "{error}");
                let row = client
                    .query_one(&format!("SELECT item FROM orders WHERE id = uid60_to_sno('{id}', 200)"), &[]);
                assert_eq!(row.unwrap().get::<_, String>(0), item);
            }
        }
        count += 1;
        thread::sleep(Duration::from_millis(2));
    }
    count
}

#[test]
fn a_table_moves_to_sno_while_it_is_in_use() {
    let server = start(builder());
    let steps = steps();
    assert_eq!(steps.len(), 7);
    let run = |step: &str| run_step(&server, step);
    // The first step makes the table as it was; then the application starts.
    run(&steps[0]);
    let mut client = server.connect();
    let before: i64 = client.one("SELECT count(*) FROM orders");
    client.run("CREATE TABLE kept AS SELECT id::text AS old, item FROM orders");
    let done = AtomicBool::new(false);
    let written: usize = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (server, done) = (&server, &done);
                scope.spawn(move || write(&mut server.connect(), done, writer))
            })
            .collect();
        let stop = Stop(&done);
        for step in &steps[1..] {
            thread::sleep(Duration::from_millis(300));
            run(step);
        }
        thread::sleep(Duration::from_millis(300));
        drop(stop);
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert!(written > 100, "{written} rows written meanwhile");

    let one = |client: &mut Client, query: &str| -> i64 { client.one(query) };
    // No row is missing, none has lost its key, old and new keys are told apart by their metabyte.
    assert_eq!(one(&mut client, "SELECT count(*) FROM orders"), before + written as i64);
    assert_eq!(one(&mut client, "SELECT count(DISTINCT item) FROM orders"), before + written as i64);
    let found = "SELECT count(*) FROM kept k JOIN orders o ON o.id = uid60_to_sno(k.old::uid60, 200) AND o.item = k.item";
    assert_eq!(one(&mut client, found), before);
    let [old, new] = [200, 1].map(|byte| {
        one(&mut client, &format!("SELECT count(*) FROM orders WHERE sno_metabyte(id) = {byte}"))
    });
    assert!(old > before && new > 0, "{old} old keys, {new} new ones");
    assert_eq!(old + new, before + written as i64);
    // Each line has its order still.
    let lines = "SELECT count(*) FROM lines l JOIN orders o ON o.id = l.order_id AND l.product IN (o.item, 'a product')";
    assert_eq!(one(&mut client, lines), before + written as i64);
    assert_eq!(one(&mut client, "SELECT count(*) FROM lines"), before + written as i64);
    let valid = "SELECT count(*) FROM pg_constraint WHERE conrelid = 'lines'::regclass AND contype = 'f' AND convalidated";
    assert_eq!(one(&mut client, valid), 1);
    // What the table is now: the key is a sno, made by sno_new.
    let key = "SELECT format_type(a.atttypid, -1) || ' ' || pg_get_expr(d.adbin, d.adrelid)
               FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
               JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
               WHERE i.indrelid = 'orders'::regclass AND i.indisprimary";
    assert_eq!(client.one::<String>(key), "sno sno_new(1)");
}

#[test]
fn copies_dumps_and_soft_errors() {
    let server = start(builder());
    let mut client = server.connect();
    client.run(
        "CREATE TABLE t (s bigint, u uid60, q uniqueid, g gid);
             INSERT INTO t SELECT snowflake_si_new(), uid60_new(), uniqueid_new(), gid_new('segment')
                 FROM generate_series(1, 1000);
             CREATE TABLE copied (LIKE t)",
    );
    for format in ["text", "csv", "binary"] {
        let mut bytes = Vec::new();
        let copy = format!("COPY t TO STDOUT (FORMAT {format})");
        std::io::Read::read_to_end(&mut client.copy_out(&copy).unwrap(), &mut bytes).unwrap();
        let mut copy = client.copy_in(&format!("COPY copied FROM STDIN (FORMAT {format})")).unwrap();
        std::io::Write::write_all(&mut copy, &bytes).unwrap();
        copy.finish().unwrap();
        let same =
            "SELECT (SELECT count(*) FROM copied), (SELECT count(*) FROM (TABLE t INTERSECT TABLE copied) i)";
        let row = client.query_one(same, &[]).unwrap();
        assert_eq!([0, 1].map(|column| row.get::<_, i64>(column)), [1000; 2], "{format}");
        client.run("TRUNCATE copied");
    }
    if major_version(&mut client) >= 16 {
        let row = client
            .query_one(
                "SELECT pg_input_is_valid('x', 'uid60'), pg_input_is_valid('x', 'uniqueid'),
                        pg_input_is_valid('x', 'gid'), pg_input_is_valid('AZI9gACAQD', 'uid60')",
                &[],
            )
            .unwrap();
        assert_eq!([0, 1, 2, 3].map(|column| row.get::<_, bool>(column)), [false, false, false, true]);
    }
}
