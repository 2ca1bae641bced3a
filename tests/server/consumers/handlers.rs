//! Handlers that fail, rows that cannot be read, transactions that handlers end.

use sno_tests::{next_tick, text, wait_until};

use super::Language::{Go, Node, Python, Ruby, Rust};
use super::{Case, Way};

pub(super) fn a_handler_that_fails(way: Way) {
    let case = Case::new(way);
    for options in [&[][..], &["batches"]] {
        case.insert(&["flaky", "fail 2", "plain", "fail 1"]);
        let consumer = case.start(options);
        case.assert_equal();
        // It says so each time.
        assert!(consumer.errors().matches("failure ").count() >= 3, "{}", consumer.errors());
        // Later rows are read in whole batches again.
        case.insert(&[]);
        case.assert_equal();
        // Each row has a transaction of its own there.
        if way.autocommit {
            consumer.stop();
            continue;
        }
        let last = "SELECT count(DISTINCT xmin::text)::text FROM (SELECT xmin FROM copy ORDER BY place DESC LIMIT 60) last";
        assert!(text(&mut case.client(), last).parse::<i32>().unwrap() < 20);
        consumer.stop();
    }
}

/// A failure that the handler returns, in the forms that its language has: the results of work that went on side by side; an error; what
/// has not ended; what has not begun.
pub(super) fn a_result_that_shows_a_failure(way: Way) {
    let case = Case::new(way);
    for options in [&[][..], &["batches"]] {
        case.insert(&["settled 2", "returned 1", "pending 1", "lazy 1"]);
        let consumer = case.start(options);
        case.assert_equal();
        let failures = if options.is_empty() { 5 } else { 2 };
        assert!(consumer.errors().matches("failure ").count() >= failures, "{}", consumer.errors());
        consumer.stop();
    }
}

pub(super) fn poison(way: Way) {
    for options in [&[][..], &["batches"]] {
        let case = Case::new(way);
        case.insert(&["poison", "plain", "poison late"]);
        // After a single failure, and after three, of all consumers. That of a whole batch counts for none of its rows.
        let is_batches = options.contains(&"batches") && way.language != Ruby;
        for (more, failures) in [("once", 1 + usize::from(is_batches)), ("", 2)] {
            let errors = case.start(&[options, &[more]].concat()).assert_fails("poison");
            let count = "SELECT count(*)::text FROM copy";
            assert_eq!(text(&mut case.client(), count), "30", "rows before the poison");
            assert_eq!(errors.matches("failure ").count(), failures, "{errors}");
        }
        let consumer = case.start(&[options, &["on_poison"]].concat());
        wait_until("all are read", || text(&mut case.client(), "SELECT count(*)::text FROM copy") == "61");
        assert_eq!(case.difference(), "2 0 0");
        // Each with its own error, also if on_poison has failed.
        let passed = "SELECT string_agg(error, ',' ORDER BY id) FROM failures JOIN events USING (id)";
        assert_eq!(text(&mut case.client(), passed), "poison,poison late");
        // Read once more, it is no poison any more.
        case.server.run(
            "BEGIN; UPDATE events SET payload = 'plain'; TRUNCATE copy;
             SELECT sno_seek_feed('feed', since => now() - interval '1 day'); COMMIT",
        );
        case.assert_equal();
        consumer.stop();
    }
}

/// As often as it takes: each fails as often as a row that is poison.
pub(super) fn errors_to_try_again_after(way: Way) {
    let case = Case::new(way);
    let consumer = case.start(&["on_poison"]);
    for state in [
        "08006", "25006", "25P03", "25P04", "40001", "40P01", "53100", "53200", "53300", "55P03", "57014",
        "57P01", "57P03", "57P05",
    ] {
        case.insert(&[&format!("sqlstate {state}")]);
        case.assert_equal();
    }
    consumer.stop();
}

/// A row at which the driver, or what the program has it do, fails before the handler is called.
pub(super) fn rows_that_cannot_be_read(way: Way) {
    for options in [&[][..], &["batches"]] {
        let case = Case::new(way);
        case.server.run("ALTER TABLE events ADD at timestamptz");
        case.insert(&[]);
        // Each in a tick of its own: within one, IDs of several sessions are in the order of their partitions.
        next_tick();
        case.server.run("INSERT INTO events (at) VALUES ('infinity')");
        next_tick();
        case.insert(&[]);
        let errors = case.start(options).assert_fails("");
        let copied = || text(&mut case.client(), "SELECT count(*)::text FROM copy");
        assert_eq!(copied(), "60", "rows before it\n{errors}");
        let consumer = case.start(&[options, &["on_poison"]].concat());
        wait_until("all are read", || copied() == "120");
        let passed = "SELECT count(*)::text FROM failures JOIN events USING (id) WHERE payload IS NULL";
        assert_eq!(text(&mut case.client(), passed), "1");
        consumer.stop();
    }
}

/// What fails only at the COMMIT is found, too.
pub(super) fn an_error_of_the_commit(way: Way) {
    for options in [&[][..], &["batches"]] {
        let case = Case::new(way);
        case.server.run(
            "ALTER TABLE copy ADD UNIQUE (payload) DEFERRABLE INITIALLY DEFERRED;
             INSERT INTO events (payload) SELECT unnest(ARRAY['a', 'b', 'a', 'c'])",
        );
        let consumer = case.start(&[options, &["on_poison"]].concat());
        let copied = "SELECT concat_ws(' ', string_agg(payload, ',' ORDER BY place), (SELECT count(*) FROM failures)) FROM copy";
        wait_until("all are read", || text(&mut case.client(), copied) == "a,b,c 1");
        consumer.stop();
    }
}

pub(super) fn a_transaction_that_the_handler_ends(way: Way) {
    let case = Case::new(way);
    for (payload, before) in [("commit", 2), ("rollback", 2), ("commit fail", 0)] {
        case.server.run(&format!(
            "INSERT INTO events (payload) SELECT CASE n WHEN {before} THEN '{payload}' ELSE 'plain' END
             FROM generate_series(0, 4) n"
        ));
        case.start(&[]).assert_fails(if payload == "commit fail" { payload } else { "transaction" });
        case.server.run("DELETE FROM copy WHERE payload = 'commit fail'");
        case.server.run(&format!("UPDATE events SET payload = 'plain' WHERE payload = '{payload}'"));
        case.server.run(&format!("UPDATE copy SET payload = 'plain' WHERE payload = '{payload}'"));
        let consumer = case.start(&[]);
        // It is noticed after the batch, of which some rows were handled outside of a transaction.
        let is_read = "SELECT coalesce(position = (SELECT max(id) FROM events), false)::text FROM sno_internal.feed_positions";
        wait_until("all are read", || text(&mut case.client(), is_read) == "true");
        assert!(case.difference().starts_with("0 "), "{}", case.difference());
        consumer.stop();
        case.server.run("TRUNCATE events, copy");
    }
    // An error of the server that the handler has hidden.
    case.insert(&["swallow"]);
    let consumer = case.start(&[]);
    case.assert_equal();
    assert!(consumer.errors().contains("went on after an error"), "{}", consumer.errors());
    consumer.stop();
}

pub(super) fn work_that_is_not_awaited(way: Way) {
    let with = match way.language {
        Python => "asynchronous",
        Node => "went on after an error",
        Go | Ruby | Rust => return,
    };
    let case = Case::new(way);
    case.server.run("INSERT INTO events (payload) VALUES ('unawaited')");
    case.start(&[]).assert_fails(with);
    case.server.run("UPDATE events SET payload = 'plain'");
    let consumer = case.start(&[]);
    case.assert_equal();
    consumer.stop();
}

pub(super) fn several_rows_of_one_id(way: Way) {
    let case = Case::new(way);
    case.server.run(
        "SELECT sno_drop_feed('feed'); ALTER TABLE events RENAME TO base;
         CREATE TABLE events (id sno NOT NULL, payload text); CREATE INDEX ON events (id);
         CREATE FUNCTION split() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO events SELECT NEW.id, part FROM unnest(string_to_array(NEW.payload, ',')) part; RETURN NULL;
         END $$;
         CREATE TRIGGER split AFTER INSERT ON base FOR EACH ROW EXECUTE FUNCTION split();
         SELECT sno_create_feed('feed', 'events', key => 'id', margin => '0');
         INSERT INTO base (payload) SELECT CASE n WHEN 3 THEN 'plain,slow 0.5,plain' WHEN 5 THEN 'plain'
             WHEN 6 THEN 'plain,poison,plain' ELSE 'plain,plain' END FROM generate_series(1, 9) n",
    );
    let copied = || text(&mut case.client(), "SELECT count(*)::text FROM copy");
    let consumer = case.start(&["on_poison"]);
    consumer.wait_for_output("slow");
    consumer.stop();
    // The rest of the ID is done, too.
    assert_eq!(copied(), "7");
    let consumer = case.start(&["on_poison"]);
    wait_until("all are read", || copied() == "16");
    assert_eq!(case.difference(), "3 0 0");
    let failures = || text(&mut case.client(), "SELECT count(*)::text FROM failures");
    // All rows of the ID.
    assert_eq!(failures(), "3");
    case.server.run("INSERT INTO base (payload) VALUES ('poison,plain,poison'), ('plain')");
    wait_until("all are read", || copied() == "17");
    assert_eq!(failures(), "6");
    consumer.stop();
    let consumer = case.start(&["on_poison", "batches"]);
    case.server.run("INSERT INTO base (payload) VALUES ('plain'), ('plain,poison,plain'), ('plain')");
    wait_until("all are read", || copied() == "19");
    assert_eq!(failures(), "9");
    consumer.stop();
}

pub(super) fn too_slow(way: Way) {
    let case = Case::new(way);
    case.server.configure("idle_in_transaction_session_timeout", "200ms");
    case.server.reload();
    case.insert(&["idle 0.6"]);
    let consumer = case.start(&[]);
    case.assert_equal();
    assert!(consumer.errors().contains("smaller batches"), "{}", consumer.errors());
    consumer.stop();
}
