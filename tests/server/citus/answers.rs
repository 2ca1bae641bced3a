//! What a node answers, and what a horizon of all nodes follows from. What Citus would say is made up: these tests need no Citus.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, text};

/// A database in which the nodes answer what stands in a table. Each question to all of them takes the next of its answers, the last again and again.
fn database(server: &Server) -> Client {
    let mut client = server.connect();
    client.run(
        "CREATE FUNCTION pg_catalog.citus_backend_gpid() RETURNS bigint LANGUAGE sql RETURN 1;
         CREATE TABLE answers (question text, place integer, node integer, answer json);
         CREATE SEQUENCE asked MINVALUE 0;
         CREATE OR REPLACE FUNCTION sno_internal.ask_nodes(query text) RETURNS TABLE (node integer, answer text) LANGUAGE plpgsql VOLATILE AS $$
         DECLARE
             asked CONSTANT text := substring(query FROM 'sno_internal.(\\w+)');
             next CONSTANT integer := CASE asked WHEN 'open_on_node' THEN nextval('public.asked') ELSE 0 END;
         BEGIN
             RETURN QUERY SELECT a.node, a.answer::text FROM public.answers a
             WHERE a.question = asked AND a.place = (SELECT max(b.place) FROM public.answers b WHERE b.question = asked AND b.place <= next);
         END
         $$",
    );
    client
}

/// What two nodes have open, whose clocks are five seconds apart: a list of sessions, writers and prepared transactions for each.
fn open(client: &mut Client, place: i32, [first, second]: [[&str; 3]; 2]) {
    for (node, clock, [sessions, writers, prepared]) in [(1, "12:00:05", first), (2, "12:00:00", second)] {
        client.run(&format!(
            "INSERT INTO answers VALUES ('open_on_node', {place}, {node}, '{{\"clock\": \"2026-01-01 {clock}Z\", \"sessions\": {sessions},
                 \"writers\": {writers}, \"prepared\": {prepared}}}')"
        ));
    }
}

/// A process that writes for a session, `node` * 10,000,000,000 + its process; since when it does and its transaction began are of that node's clock.
fn writer(session: &str, since: &str, is_remote: bool) -> String {
    format!(
        "[{{\"pid\": 7, \"began\": \"then\", \"age\": \"10 s\", \"session\": {session}, \"since\": {since}, \"is_remote\": {is_remote}}}]"
    )
}

const NOTHING: [&str; 3] = ["[]", "[]", "[]"];

#[test]
fn what_is_open_on_all_nodes() {
    let server = Server::builder().start();
    let mut client = database(&server);
    let mut found = |open_on: [[&str; 3]; 2]| {
        client.run("TRUNCATE answers");
        open(&mut client, 0, open_on);
        text(
            &mut client,
            "SELECT concat_ws(', ', (clock AT TIME ZONE 'UTC')::time, writing_for, nullif(array_to_string(to_wait_for, ', '), '')) FROM sno_internal.open_on_nodes()",
        )
    };
    // The slowest clock.
    assert_eq!(found([NOTHING, NOTHING]), "12:00:00");
    // A writer for another node is as old as it is by the clock of that node; the oldest counts.
    let in_transaction = "[{\"pid\": 5, \"age\": \"11 s\"}]";
    let old = writer("10000000005", "\"2026-01-01 11:59:50Z\"", true);
    let young = writer("20000000005", "\"2026-01-01 11:59:58Z\"", false);
    assert_eq!(found([[in_transaction, &young, "[]"], ["[]", &old, "[]"]]), "12:00:00, 00:00:15");
    // Whose session has ended, or is in no transaction, or in a younger one, or was on a node that is gone, is waited for.
    let ended = "12:00:00, 00:00:15, node 2: process 7 since then, for a transaction that has ended";
    for sessions in ["[]", "[{\"pid\": 6, \"age\": \"11 s\"}]", "[{\"pid\": 5, \"age\": \"5 s\"}]"] {
        assert_eq!(found([[sessions, "[]", "[]"], ["[]", &old, "[]"]]), ended, "{sessions}");
    }
    let of_none = writer("30000000005", "null", true);
    assert_eq!(
        found([[in_transaction, "[]", "[]"], ["[]", &of_none, "[]"]]),
        ended.replace(", 00:00:15", "")
    );
    // A process that writes for its own client holds a horizon back itself.
    assert_eq!(found([["[]", &writer("10000000005", "null", false), "[]"], NOTHING]), "12:00:00");
    assert_eq!(
        found([NOTHING, ["[]", "[]", "[\"citus_1\"]"]]),
        "12:00:00, node 2: prepared transaction citus_1"
    );
}

#[test]
fn a_horizon_of_all_nodes() {
    let server = Server::builder().start();
    let mut client = database(&server);
    let horizons = |client: &mut Client, times: [&str; 2]| {
        client.run("TRUNCATE answers; ALTER SEQUENCE asked RESTART");
        for (node, time) in [(1, times[0]), (2, times[1])] {
            client.run(&format!(
                "INSERT INTO answers SELECT 'horizon_of_node', 0, {node}, json_build_object('horizon', sno_lower('2026-01-01 {time}Z'),
                     'prefix', {node}, 'bits', 8, 'lower', 0, 'upper', 65535)"
            ));
        }
    };
    let found = |client: &mut Client, after: &str| {
        let query = format!(
            "SELECT coalesce((date_trunc('second', sno_time(h) + '0.9 s') AT TIME ZONE 'UTC')::time::text, 'none')
             FROM sno_internal.horizon_of_nodes('1 s', {after}) h"
        );
        text(client, &query)
    };
    // The least.
    for times in [["11:59:59", "11:59:58"], ["11:59:58", "11:59:59"]] {
        horizons(&mut client, times);
        open(&mut client, 0, [NOTHING, NOTHING]);
        assert_eq!(found(&mut client, "NULL"), "11:59:58");
    }
    // Not after the start of what writes, by the slowest clock, less the margin; but after what was read.
    let in_transaction = "[{\"pid\": 5, \"age\": \"1 h\"}]";
    let old = writer("10000000005", "\"2026-01-01 11:59:50Z\"", true);
    horizons(&mut client, ["11:59:59", "11:59:58"]);
    open(&mut client, 0, [[in_transaction, "[]", "[]"], ["[]", &old, "[]"]]);
    assert_eq!(found(&mut client, "NULL"), "11:59:44");
    assert_eq!(found(&mut client, "sno_lower('2026-01-01 11:59:52Z')"), "11:59:52");
    assert_eq!(found(&mut client, "sno_lower('2026-01-01 12:59:52Z')"), "11:59:58");
    // What is prepared after the horizons is waited for, and nothing that is prepared later.
    let prepared = |name| ["[]", "[]", name];
    horizons(&mut client, ["11:59:59", "11:59:58"]);
    open(&mut client, 0, [prepared("[\"citus_1\", \"citus_2\"]"), NOTHING]);
    open(&mut client, 1, [prepared("[\"citus_2\"]"), prepared("[\"citus_1\"]")]);
    open(&mut client, 2, [prepared("[\"citus_1\", \"citus_3\"]"), NOTHING]);
    assert_eq!(found(&mut client, "NULL"), "11:59:58");
    assert_eq!(text(&mut client, "SELECT nextval('asked')"), "3");
    // But not for long.
    horizons(&mut client, ["11:59:59", "11:59:58"]);
    open(&mut client, 0, [prepared("[\"citus_1\"]"), NOTHING]);
    assert_eq!(found(&mut client, "NULL"), "none");
}

#[test]
fn what_is_open_on_a_node() {
    let server = Server::builder().conf("max_prepared_transactions", "10").start();
    server.run("CREATE DATABASE other");
    let mut client = server.connect();
    client.run(
        "CREATE TABLE active (process_id integer, worker_query boolean, transaction_number bigint, transaction_stamp timestamptz, global_pid bigint);
         CREATE FUNCTION pg_catalog.get_all_active_transactions() RETURNS SETOF public.active LANGUAGE sql AS 'TABLE public.active'",
    );
    let begin = |database: &str, statement: &str| {
        let mut session = server.connect_to(database);
        session.run(&format!("BEGIN; {statement}"));
        let pid: i32 = session.one("SELECT pg_backend_pid()");
        (session, pid)
    };
    let (_writing, writer) = begin("postgres", "SELECT pg_current_xact_id()");
    let (_reading, reader) = begin("postgres", "SELECT 1");
    let (_elsewhere, other) = begin("other", "SELECT pg_current_xact_id()");
    // A process that writes for a distributed transaction or for another node, but not for that of the session that asks.
    let mut found = |pid: i32, worker_query: bool, number: i32, session: i32| {
        client.run(&format!(
            "TRUNCATE active; INSERT INTO active VALUES ({pid}, {worker_query}, {number}, '2026-01-01Z', {session})"
        ));
        text(
            &mut client,
            "SELECT coalesce(string_agg(concat_ws(' ', w ->> 'session', w ->> 'is_remote', left(w ->> 'since', 10)), ''), 'none')
             FROM json_array_elements(sno_internal.open_on_node(99) -> 'writers') w",
        )
    };
    assert_eq!(found(writer, true, 0, 5), "5 true");
    assert_eq!(found(writer, false, 7, 5), "5 false 2026-01-01");
    assert_eq!(found(writer, false, 0, 5), "none");
    assert_eq!(found(writer, false, 7, 99), "none");
    assert_eq!(found(writer, true, 0, 99), "99 true");
    for pid in [reader, other] {
        assert_eq!(found(pid, true, 7, 5), "none");
    }
    // Whatever is in a transaction, and what Citus has prepared in this database.
    for (database, name) in [("postgres", "citus_1"), ("postgres", "citus"), ("other", "citus_2")] {
        begin(database, &format!("SELECT pg_current_xact_id(); PREPARE TRANSACTION '{name}'"));
    }
    let open = format!(
        "SELECT concat_ws(' ', found ->> 'prepared', (SELECT count(*) FROM json_array_elements(found -> 'sessions') s
             WHERE (s ->> 'pid')::integer IN ({writer}, {reader}, {other}) AND (s ->> 'age')::interval BETWEEN '0' AND '1 hour'))
         FROM sno_internal.open_on_node(99) found"
    );
    assert_eq!(text(&mut client, &open), "[\"citus_1\"] 3");
}
