//! The SQL under "TimescaleDB" in docs/neighbours.md: `make test-timescaledb`, where TimescaleDB is at hand. What the
//! page says of wrong results is TimescaleDB's; if one of them is right at last, the page has to change.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, plan, text};

use crate::docs::{blocks, page, psql, section};

fn count(client: &mut Client, query: &str) -> usize {
    text(client, &format!("SELECT count(*) FROM ({query}) rows")).parse().unwrap()
}

#[test]
#[ignore = "needs TimescaleDB: make test-timescaledb"]
fn the_page_about_timescaledb() {
    let server = Server::builder()
        .extension(false)
        .conf("shared_preload_libraries", "timescaledb, sno")
        .conf("timescaledb.telemetry_level", "off")
        .start();
    let page = page("neighbours.md");
    let all = blocks(section(&page, "TimescaleDB"), "postgresql");
    let run = |sql: &str| {
        let printed = psql(&server, sql);
        assert!(printed.status.success(), "{sql}\n{}", String::from_utf8_lossy(&printed.stderr));
        String::from_utf8(printed.stdout).unwrap()
    };
    let [create, page_of_ids, newest, columnstore] =
        all.iter().map(|block| block.sql).collect::<Vec<_>>().try_into().expect("four blocks");
    run(create);
    let mut client = server.connect();

    let chunks = "SELECT show_chunks('events')";
    assert_eq!(count(&mut client, chunks), 30);
    let duplicate = "INSERT INTO events (id) SELECT min(id) FROM events";
    assert_eq!(code(&mut client, duplicate), "23505");
    assert_eq!(
        code(
            &mut client,
            "CREATE TABLE other (id sno PRIMARY KEY) WITH (tsdb.hypertable, tsdb.partition_column = 'id')"
        ),
        "42809"
    );
    let aggregate = "CREATE MATERIALIZED VIEW hours WITH (timescaledb.continuous) AS
        SELECT time_bucket('1 hour', sno_time(id)) AS hour, count(*) FROM events GROUP BY 1";
    assert_eq!(code(&mut client, aggregate), "0A000");

    assert_eq!(
        text(&mut client, "SELECT format('%s %s', first(value, id), last(value, id)) FROM events"),
        "0 4319"
    );
    assert_eq!(count(&mut client, "SELECT time_bucket('6 hours', sno_time(id)) FROM events GROUP BY 1"), 120);

    pruning(&mut client, newest);
    wrong_results(&mut client);
    wrong_results_with_uuidv7(&mut client);
    assert_eq!(run(page_of_ids).matches("9q").count(), 3);
    let (setting, _) = page_of_ids.split_once('\n').unwrap();
    let mut filtered_here = server.connect();
    filtered_here.run(setting);
    right_results(&mut filtered_here);

    run(columnstore);
    let before = text(&mut client, "SELECT md5(string_agg(e::text, ',' ORDER BY id)) FROM events e");
    run("CALL columnstore_old(0, '{\"table\": \"events\", \"after\": \"7 days\"}')");
    let compressed =
        "SELECT FROM timescaledb_information.chunks WHERE hypertable_name = 'events' AND is_compressed";
    assert!(count(&mut client, compressed) > 0);
    assert_eq!(text(&mut client, "SELECT md5(string_agg(e::text, ',' ORDER BY id)) FROM events e"), before);
    assert_eq!(code(&mut client, duplicate), "23505");
    client.run(
        "INSERT INTO events SELECT id, 0, 0 FROM events LIMIT 1 ON CONFLICT (id) DO UPDATE SET value = -1",
    );
    assert_eq!(count(&mut client, "SELECT FROM events WHERE value = -1"), 1);

    run("CALL add_columnstore_policy('events', after => INTERVAL '7 days')");
    let job = "SELECT job_id::text FROM timescaledb_information.jobs WHERE hypertable_name = 'events'";
    let job = text(&mut client, job);
    assert_eq!(code(&mut client, &format!("CALL run_job({job})")), "20000");
    run("CALL remove_columnstore_policy('events')");

    run("SELECT add_retention_policy('events', drop_after => INTERVAL '100 years')");
    run("SELECT drop_chunks('events', older_than => timestamptz '2026-11-08 00:00Z')");
    assert_eq!(count(&mut client, chunks), 23);
    assert_eq!(
        text(&mut client, "SELECT (min(sno_time(id)) AT TIME ZONE 'UTC')::text FROM events"),
        "2026-11-08 00:00:00"
    );
}

fn plan_of(client: &mut Client, query: &str) -> String {
    plan(client, "COSTS off", query)
}

/// How many chunks a plan reads.
fn pruning(client: &mut Client, newest: &str) {
    let mut chunks = |query: &str| {
        let plan = plan_of(client, query);
        let mut names: Vec<&str> = plan
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| word.ends_with("_chunk"))
            .collect();
        names.sort();
        names.dedup();
        (names.len(), plan)
    };
    for condition in [
        "id >= timestamptz '2026-11-29Z'",
        "sno_between(id, '2026-11-01Z', '2026-11-03Z')",
        "id BETWEEN timestamptz '2026-11-10Z' AND timestamptz '2026-11-11 12:00Z'",
    ] {
        let (count, plan) = chunks(&format!("SELECT * FROM events WHERE {condition}"));
        assert_eq!(count, 2, "{condition}: {plan}");
    }
    let (count, plan) =
        chunks("SELECT * FROM events WHERE id >= timestamptz '2026-11-29Z' - (random() * interval '1 s')");
    assert_eq!(count, 30, "{plan}");
    let late = "SELECT * FROM events WHERE sno_time(id) >= now() + interval '50 years'";
    let (_, plan) = chunks(late);
    assert!(plan.contains("Chunks excluded during startup: 0") && plan.contains("Index Cond"), "{plan}");
    let (setting, newest) = newest.split_once("EXPLAIN (COSTS OFF) ").unwrap();
    client.run(setting);
    let late = plan_of(client, late);
    assert!(late.contains("Chunks excluded during startup: 30"), "{late}");
    let plan = plan_of(client, newest);
    client.run("RESET sno.enable_time_conditions");
    assert!(
        plan.contains("Order: events.id DESC") && plan.contains("Chunks excluded during startup"),
        "{plan}"
    );
}

/// Ten IDs in each of four ticks, of which the third one begins a chunk: the same in a hypertable and in a table.
const IDS: &str = "
    CREATE TABLE plain AS SELECT sno_make(timestamptz '2026-11-10Z' + tick * interval '4 ms', 0, 0, n) AS id
        FROM generate_series(-2, 1) tick, generate_series(1, 10) n;
    CREATE TABLE ids (id sno PRIMARY KEY);
    SELECT create_hypertable('ids', by_range('id', INTERVAL '1 day', partition_func => 'sno_time'));
    INSERT INTO ids SELECT id FROM plain";

/// What a condition finds in the table and in the hypertable.
fn both(client: &mut Client, condition: &str) -> [usize; 2] {
    ["plain", "ids"].map(|table| count(client, &format!("SELECT FROM {table} WHERE {condition}")))
}

fn wrong_results(client: &mut Client) {
    client.run(IDS);
    let mut id = |place: usize| {
        text(client, &format!("SELECT id::text FROM plain ORDER BY id OFFSET {place} LIMIT 1"))
    };
    // The sixth ID of the chunk's first tick, and two of its second one.
    let [x, a, z] = [25, 32, 37].map(&mut id);
    for (condition, found) in [
        (format!("id < '{x}'"), [25, 20]),
        (format!("id >= '{x}'"), [15, 20]),
        (format!("id > '{a}' AND id < '{z}'"), [4, 0]),
        (format!("id >= '{a}' AND id < '{z}'"), [5, 0]),
        (format!("id > '{a}' AND id <= '{z}'"), [5, 0]),
        // And these are right.
        (format!("id <= '{x}'"), [26, 26]),
        (format!("id > '{x}'"), [14, 14]),
        (format!("id = '{x}'"), [1, 1]),
        (format!("id IN ('{x}', '{a}')"), [2, 2]),
    ] {
        assert_eq!(both(client, &condition), found, "{condition}");
    }
    client.run("BEGIN");
    assert_eq!(client.execute(&format!("DELETE FROM ids WHERE id >= '{x}'"), &[]).unwrap(), 20);
    client.run("ROLLBACK");
    // Times, at and around the ends of ticks, as constants.
    for micros in (-12_000..=12_000).step_by(4_000).flat_map(|micros| [micros - 1, micros, micros + 1]) {
        let time = format!("SELECT (timestamptz '2026-11-10Z' + interval '{micros} us')::text");
        let time = format!("timestamptz '{}'", text(client, &time));
        for condition in [
            "id < T",
            "id <= T",
            "id > T",
            "id >= T",
            "sno_between(id, T, '2026-11-10 00:00:00.004Z')",
            "sno_time(id) < T",
            "sno_time(id) <= T",
            "sno_time(id) > T",
            "sno_time(id) >= T",
            "sno_time(id) = T",
        ] {
            let [plain, ids] = both(client, &condition.replace('T', &time));
            assert_eq!(plain, ids, "{condition} {micros}");
        }
    }
}

/// The same three with keys of version 7, which TimescaleDB splits by itself: ten in each of two milliseconds, of which
/// the second one begins a chunk.
fn wrong_results_with_uuidv7(client: &mut Client) {
    client
        .run("CREATE TABLE plain_v7 AS
                 SELECT (lpad(to_hex(1794268800000 + ms), 12, '0') || '70008000' || lpad(n::text, 12, '0'))::uuid AS id
                 FROM generate_series(-1, 0) ms, generate_series(1, 10) n;
             CREATE TABLE v7 (id uuid PRIMARY KEY);
             SELECT create_hypertable('v7', by_range('id', INTERVAL '1 day'));
             INSERT INTO v7 SELECT id FROM plain_v7");
    let mut id = |place: usize| {
        text(client, &format!("SELECT id::text FROM plain_v7 ORDER BY id OFFSET {place} LIMIT 1"))
    };
    let [x, z] = [14, 17].map(&mut id);
    for (condition, found) in [
        (format!("id < '{x}'"), [14, 10]),
        (format!("id >= '{x}'"), [6, 10]),
        (format!("id > '{x}' AND id < '{z}'"), [2, 0]),
    ] {
        let counts =
            ["plain_v7", "v7"].map(|table| count(client, &format!("SELECT FROM {table} WHERE {condition}")));
        assert_eq!(counts, found, "{condition}");
    }
}

/// What the page says that helps.
fn right_results(client: &mut Client) {
    let ids = client.query("SELECT id::text FROM plain ORDER BY id", &[]).unwrap();
    for (place, row) in ids.iter().enumerate() {
        let id: String = row.get(0);
        for (condition, found) in [
            ("id <= X AND id <> X", place),
            ("id >= X", 40 - place),
            ("id >= X AND id <> X", 39 - place),
            ("id < (SELECT X::sno) AND sno_time(id) <= sno_time(X)", place),
        ] {
            assert_eq!(
                both(client, &condition.replace('X', &format!("'{id}'"))),
                [found; 2],
                "{condition} {place}"
            );
        }
        for (other, row) in ids.iter().enumerate().skip(place) {
            let (condition, last): (_, String) = (format!("id >= '{id}' AND id <= "), row.get(0));
            assert_eq!(
                both(client, &format!("{condition}'{last}'")),
                [other - place + 1; 2],
                "{place} {other}"
            );
        }
    }
}
