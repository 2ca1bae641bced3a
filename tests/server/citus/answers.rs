//! What a node answers, and what a horizon of all nodes follows from. What Citus would say is made up: these tests need no Citus.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, error, text, wait_until};

use super::{NUMBER, made_up};

/// A database in which the nodes answer what stands in a table. Each question to all of them takes the next of its answers, the last again and again.
fn database(server: &Server) -> Client {
    let mut client = server.connect();
    made_up::database(&mut client);
    client.run(
        "CREATE EXTENSION sno_citus;
         CREATE TABLE answers (question text, place integer, node integer, answer json);
         CREATE SEQUENCE asked MINVALUE 0;
         CREATE OR REPLACE FUNCTION sno_internal.ask_nodes(question text, argument text, attempts integer DEFAULT 5) RETURNS TABLE (node integer, answer json, last integer) LANGUAGE plpgsql VOLATILE AS $$
         DECLARE
             asked CONSTANT text := question;
             next CONSTANT integer := CASE asked WHEN 'open' THEN nextval('public.asked') ELSE 0 END;
         BEGIN
             RETURN QUERY SELECT a.node, a.answer, (a.answer ->> 'last')::integer FROM public.answers a
             WHERE a.question = asked AND a.place = (SELECT max(b.place) FROM public.answers b WHERE b.question = asked AND b.place <= next);
         END
         $$; SET citus.use_secondary_nodes = 'never'",
    );
    client
}

/// What two nodes have open, whose clocks are five seconds apart: a list of sessions, writers and prepared transactions for each.
fn open(client: &mut Client, place: i32, [first, second]: [[&str; 3]; 2]) {
    for (node, clock, [sessions, writers, prepared]) in [(1, "12:00:05", first), (2, "12:00:00", second)] {
        client.run(&format!(
            "INSERT INTO answers VALUES ('open', {place}, {node}, '{{\"clock\": \"2026-01-01 {clock}Z\", \"sessions\": {sessions},
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
                "INSERT INTO answers SELECT 'horizon', 0, {node}, json_build_object('group', {node} - 1, 'horizon', sno_lower('2026-01-01 {time}Z'),
                     'prefix', {node}, 'bits', 8, 'lower', 0, 'upper', 65535)"
            ));
        }
    };
    let found = |client: &mut Client, after: &str| {
        let query = format!(
            "SELECT coalesce((date_trunc('second', sno_time(h) + '0.9 s') AT TIME ZONE 'UTC')::time::text, 'none')
             FROM sno_internal.scope_horizon('1 s', {after}, NULL) s, LATERAL (SELECT s.horizon) r(h)"
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

/// The least ID that feeds of any node have read; none, if one of them has read nothing.
#[test]
fn what_all_nodes_have_read() {
    let server = Server::builder().start();
    let mut client = database(&server);
    let [a, b] = ["2222222222222222", "3333333333333333"];
    for (first, second, read) in [
        ("[\"b\"]", "[\"b\", \"a\"]", a),
        ("[]", "[\"b\"]", b),
        ("[\"a\", null]", "[\"b\"]", ""),
        ("[]", "[]", ""),
    ] {
        let [first, second] = [first, second]
            .map(|answer| answer.replace("\"a\"", &format!("\"{a}\"")).replace("\"b\"", &format!("\"{b}\"")));
        client.run(&format!(
            "TRUNCATE answers; INSERT INTO answers VALUES ('readers', 0, 1, '{first}'), ('readers', 0, 2, '{second}')"
        ));
        assert_eq!(
            text(&mut client, "SELECT coalesce(sno_internal.scope_read('answers')::text, '')"),
            read,
            "{first} {second}"
        );
    }
}

#[test]
fn what_is_open_on_a_node() {
    let server = Server::builder().conf("max_prepared_transactions", "10").start();
    server.run("CREATE DATABASE other");
    let mut client = server.connect();
    made_up::database(&mut client);
    client.run("CREATE EXTENSION sno_citus");
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
            "TRUNCATE citus.active; INSERT INTO citus.active VALUES ({pid}, {worker_query}, {number}, '2026-01-01Z', {session})"
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
    // Also who has begun since the transaction that asks has asked before.
    client.run("BEGIN");
    assert_eq!(text(&mut client, &open), "[\"citus_1\"] 3");
    let (_late, late) = begin("postgres", "SELECT 1");
    let is_there = format!(
        "SELECT count(*) FROM json_array_elements(sno_internal.open_on_node(99) -> 'sessions') s WHERE (s ->> 'pid')::integer = {late}"
    );
    assert_eq!(text(&mut client, &is_there), "1");
}

/// Who was asked before, and is asked now.
#[test]
fn nodes_that_come_and_go() {
    let server = Server::builder().conf("sno.partition_prefix", NUMBER).start();
    let mut client = database(&server);
    let mut answers = |nodes: &[(i32, i32, i32, &str)]| {
        client.run("TRUNCATE answers");
        for (group, timeline, prefix, since) in nodes {
            client.run(&format!(
                "INSERT INTO answers SELECT 'horizon', 0, {group} + 1, json_build_object('group', {group}, 'horizon', sno_lower('2026-01-01Z'),
                     'prefix', {prefix}, 'bits', 8, 'lower', 0, 'upper', 65535, 'timeline', {timeline}, 'since', {since})"
            ));
        }
        client.run("TRUNCATE pg_dist_local_group; INSERT INTO pg_dist_local_group VALUES (0)");
    };
    let [first, second] = ["'4222222222222222'", "'5222222222222222'"];
    answers(&[(0, 1, 0, first), (1, 1, 1, first), (2, 3, 2, second)]);
    let mut client = server.connect();
    let mut said = |known: &str| {
        let query = format!(
            "SELECT concat_ws('; ', servers, coalesce(since::text, 'any'), coalesce(partitions::text, 'none')) FROM sno_internal.least_horizon('1 s', {known})"
        );
        text(&mut client, &query)
    };
    let all = "0:1:4222222222222222: 1:1:4222222222222222: 2:3:5222222222222222:";
    // All others are new to a feed that has asked nobody. This node's own horizon counted before, too.
    assert_eq!(said("NULL"), format!("{all}; 4222222222222222; {{[256,768)}}"));
    assert_eq!(said(&format!("'{all} 2'")), format!("{all} 2; any; none"));
    // A node that joins, a standby that has taken its place, a node that was set up again.
    for known in [
        "0:1:4222222222222222: 1:1:4222222222222222:",
        "1:1:4222222222222222: 2:2:5222222222222222:",
        "1:1:4222222222222222: 2:3:5222222222222223:",
    ] {
        assert_eq!(
            said(&format!("'{known} 2'")),
            format!("{all} 2; 5222222222222222; {{[512,768)}}"),
            "{known}"
        );
    }
    // The last group that was given. One that is not known may have had rows of its number, whatever the others say.
    client.run("UPDATE answers SET answer = jsonb_set(answer::jsonb, '{last}', '4')::json WHERE node = 1");
    let mut said_after = |known: &str| {
        let query = format!(
            "SELECT concat_ws('; ', servers, coalesce(since::text, 'any'), coalesce(partitions::text, 'none')) FROM sno_internal.least_horizon('1 s', '{known}')"
        );
        text(&mut client, &query).replace(all, "all")
    };
    assert_eq!(said_after(&format!("{all} 4")), "all 4; any; none");
    assert_eq!(said_after(&format!("{all} 3")), "all 4; any; {[1024,1280)}");
    assert_eq!(said_after(all), "all 4; any; {[768,1280)}");
    assert_eq!(said_after("0:1:4222222222222222: 1:1:4222222222222222:"), "all 4; any; {[512,1280)}");
    server.configure("sno.partition_prefix", "7/8");
    server.reload();
    wait_until("the setting is read", || {
        client.one("SELECT current_setting('sno.partition_prefix') = '7/8'")
    });
    let failed = error(&mut client, &format!("SELECT sno_internal.least_horizon('1 s', '{all} 3')"));
    assert_eq!(
        (failed.code().code(), failed.message()),
        ("55000", "node of group 4 may have come and gone since the feed was read")
    );
    // While another one is added, the last one is not known.
    client.run("UPDATE answers SET answer = (answer::jsonb - 'last')::json");
    let known =
        text(&mut client, &format!("SELECT servers FROM sno_internal.least_horizon('1 s', '{all} 3')"));
    assert_eq!(known, format!("{all} 3"));
    // A clock that was fast and was corrected.
    client.run("UPDATE answers SET answer = jsonb_set(answer::jsonb, '{lowered}', '\"4322222222222222\"')::json WHERE node = 3");
    let lowered = text(
        &mut client,
        &format!(
            "SELECT concat_ws('; ', servers, since, partitions) FROM sno_internal.least_horizon('1 s', '{all}')"
        ),
    );
    assert_eq!(lowered, format!("{all}4322222222222222 2; 4322222222222222; {{[512,768)}}"));
    client.run("UPDATE answers SET answer = (answer::jsonb - 'lowered')::json");
    // One of which is not known since when it generates.
    client
        .run("UPDATE answers SET answer = jsonb_set(answer::jsonb, '{since}', 'null')::json WHERE node = 3");
    let all = text(&mut client, "SELECT servers FROM sno_internal.least_horizon('1 s', NULL)");
    assert!(all.ends_with(" 2:3::"), "{all}");
    let query = "SELECT concat(since, partitions) FROM sno_internal.least_horizon('1 s', NULL)";
    assert_eq!(text(&mut client, query), "{[256,768)}");
    // A node that has left.
    client.run("DELETE FROM answers WHERE node = 2");
    let failed = error(&mut client, &format!("SELECT sno_internal.least_horizon('1 s', '{all}')"));
    assert_eq!(failed.code().code(), "55000");
    assert_eq!(failed.message(), "node of group 1 has left the cluster since the feed was read");
    assert_eq!(
        code(
            &mut client,
            "SET citus.use_secondary_nodes = 'always'; SELECT sno_internal.scope_horizon('1 s', NULL, NULL)"
        ),
        "55000"
    );
}

#[test]
fn answers_of_nodes() {
    let server = Server::builder().start();
    let mut client = server.connect();
    made_up::database(&mut client);
    client.run("CREATE EXTENSION sno_citus; INSERT INTO pg_dist_node VALUES (2, 1, 'there', 5433), (3, 2, 'there', 5434)");
    let mut answer = |success: bool, result: &str| {
        client.run("TRUNCATE citus.answers; INSERT INTO citus.answers VALUES (5434, 'open', true, '{\"groups\": [0], \"answer\": 2}')");
        client
            .execute("INSERT INTO citus.answers VALUES (5433, 'open', $1, $2)", &[&success, &result])
            .unwrap();
    };
    let ask = "SELECT string_agg(node || ' ' || left(answer::text, 8), ', ' ORDER BY node) FROM sno_internal.ask_nodes('open', '1')";
    answer(true, "{\"groups\": [0], \"answer\": 1}");
    let mut session = server.connect();
    assert_eq!(text(&mut session, ask), "1 {\"clock\", 2 1, 3 2");
    // The last group that the coordinator has given. While a node is added it is not known, unless it is a node's.
    let mut adding = server.connect();
    adding.run("INSERT INTO pg_dist_node VALUES (4, 4, 'there', 5435, 'secondary')");
    let last = "SELECT coalesce(sno_internal.last_group()::text, 'none')";
    assert_eq!(text(&mut session, last), "none");
    adding.run("SELECT setval('pg_dist_groupid_seq', 4)");
    adding.run("BEGIN; LOCK TABLE pg_dist_node IN EXCLUSIVE MODE");
    assert_eq!(text(&mut session, last), "4");
    adding.run("SELECT nextval('pg_dist_groupid_seq')");
    assert_eq!(text(&mut session, last), "none");
    adding.run("ROLLBACK");
    assert_eq!(text(&mut session, last), "5");
    adding.run("ALTER TABLE pg_dist_node ADD nodeisclone boolean; UPDATE pg_dist_node SET nodeisclone = true WHERE nodeid = 4");
    assert_eq!(text(&mut session, last), "3");
    adding.run("DELETE FROM pg_dist_node WHERE nodeid = 4");
    // Who has not answered, and the error of who has.
    answer(false, "ERROR: nobody there");
    let failed = error(&mut session, ask);
    assert_eq!(
        (failed.code().code(), failed.message()),
        ("08006", "no answer from node 2 of the cluster, there:5433")
    );
    for (hint, shown) in [("", None), ("do", Some("do"))] {
        answer(
            true,
            &format!("{{\"state\": \"42501\", \"message\": \"m\", \"detail\": \"d\", \"hint\": \"{hint}\"}}"),
        );
        let failed = error(&mut session, ask);
        assert_eq!((failed.code().code(), failed.message(), failed.hint()), ("42501", "m", shown));
        assert_eq!(failed.detail(), Some("d This is the answer of node 2 of the cluster, there:5433."));
    }
    // A worker whose list of nodes is not the coordinator's.
    client.run("UPDATE pg_dist_local_group SET groupid = 2; DELETE FROM pg_dist_node WHERE nodeid = 2;
                UPDATE citus.answers SET port = 5432, result = '{\"groups\": [0, 2], \"answer\": 1}' WHERE port = 5433");
    assert_eq!(text(&mut session, ask), "1 1, 3 {\"clock\"");
    for groups in ["[0]", "[0, 1, 2]", "[0, 2, 5]"] {
        client.run(&format!(
            "UPDATE citus.answers SET result = '{{\"groups\": {groups}, \"answer\": 1}}' WHERE port = 5432"
        ));
        let failed = error(&mut session, ask);
        assert_eq!(failed.code().code(), "55000");
        assert_eq!(failed.message(), "this node does not have the coordinator's list of nodes");
    }
}

/// Only superusers may ask, and only they can be asked to: what is asked runs as one.
#[test]
fn nobody_else_asks() {
    let server = Server::builder().start();
    let mut client = server.connect();
    made_up::database(&mut client);
    client.run("ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC; CREATE EXTENSION sno_citus; CREATE ROLE reader");
    let own = "FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'sno_citus'
        LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
        WHERE d.deptype = 'e'";
    let executable = format!(
        "SELECT concat_ws(' ', count(p.oid) > 10, bool_or(has_function_privilege('reader', p.oid, 'EXECUTE')), bool_or(p.prosecdef)) {own}"
    );
    assert_eq!(text(&mut client, &executable), "t f f");
    let writable = format!(
        "SELECT concat_ws(' ', count(c.oid) > 0, bool_or(has_table_privilege('reader', c.oid, 'SELECT, INSERT, UPDATE, DELETE'))) {own} AND c.relkind = 'r'"
    );
    assert_eq!(text(&mut client, &writable), "t f");
    // Who owns the database cannot create it.
    client.run("CREATE ROLE owner1 LOGIN");
    client.run("CREATE DATABASE own OWNER owner1");
    made_up::database(&mut server.connect_to("own"));
    let mut owner = server.config().user("owner1").dbname("own").connect(sno_tests::postgres::NoTls).unwrap();
    owner.run("CREATE EXTENSION sno");
    assert_eq!(code(&mut owner, "CREATE EXTENSION sno_citus"), "42501");
}

/// What a node says of itself.
#[test]
fn since_when_a_node_generates() {
    let server = Server::builder().faketime(true).conf("sno.partition_prefix", "7/8").start();
    let mut client = server.connect();
    made_up::database(&mut client);
    client.run("CREATE EXTENSION sno_citus");
    let said = "SELECT concat_ws(' ', h ->> 'group', h ->> 'prefix', h ->> 'bits', h ->> 'timeline',
        (h ->> 'since')::sno < sno_new(1), (h ->> 'lowered')::sno < sno_new(1)) FROM sno_internal.horizon_of_node('0') h";
    // Where Citus is not in the same process, nothing joins its transactions.
    assert_eq!(code(&mut client, said), "0A000");
    client.run(
        "CREATE OR REPLACE FUNCTION sno_internal.sno_joins_citus() RETURNS boolean LANGUAGE sql RETURN true",
    );
    assert_eq!(text(&mut client, said), "0 7 8 1 t");
    server.set_clock("+100");
    client.run("SELECT sno_new(1), sno_horizon('0')");
    server.set_clock("0");
    client.run("SELECT sno_lower_horizon()");
    assert_eq!(text(&mut client, said), "0 7 8 1 t t");
    // A standby that takes its place begins after what it has replayed.
    let standby = server.standby();
    client
        .run("BEGIN; CREATE TABLE replayed (id sno DEFAULT sno_new(1)); INSERT INTO replayed DEFAULT VALUES");
    server.advance_clock(0.01);
    client.run("COMMIT");
    server.wait_replayed(&standby);
    standby.promote();
    let mut promoted = standby.connect();
    assert_eq!(text(&mut promoted, "SELECT sno_internal.horizon_of_node('0') ->> 'timeline'"), "2");
    let starts = "SELECT string_agg(concat_ws(' ', timeline, since < sno_new(1), since > (SELECT id FROM replayed)), ', ' ORDER BY timeline) FROM sno_internal.node_starts";
    assert_eq!(text(&mut promoted, starts), "1 t f, 2 t t");
}

/// It goes with what it needs, and a dump creates it anew.
#[test]
fn the_extension() {
    let server = Server::builder().extension(false).start();
    let mut client = server.connect();
    made_up::database(&mut client);
    client.run("CREATE EXTENSION sno_citus CASCADE");
    let starts = "SELECT concat_ws(' ', timeline, since < sno_new(1), since > sno_lower(now() - interval '1 min')) FROM sno_internal.node_starts";
    assert_eq!(text(&mut client, starts), "1 t t");
    let dump = server.command("pg_dump").args(["--schema-only", "postgres"]).output().unwrap();
    let dump = String::from_utf8(dump.stdout).unwrap();
    assert!(
        dump.contains("CREATE EXTENSION IF NOT EXISTS sno_citus") && !dump.contains("node_starts"),
        "{dump}"
    );
    assert_eq!(code(&mut client, "DROP EXTENSION sno"), "2BP01");
    client.run("DROP EXTENSION sno_citus; CREATE EXTENSION sno_citus");
    client.run("DROP EXTENSION sno CASCADE");
    assert_eq!(text(&mut client, "SELECT count(*) FROM pg_extension WHERE extname LIKE 'sno%'"), "0");
    // Whatever has its names is not called.
    client.run("CREATE SCHEMA ids; CREATE EXTENSION sno SCHEMA ids; CREATE EXTENSION sno_citus; DROP EXTENSION sno_citus; CREATE DOMAIN public.sno AS text");
    assert_eq!(code(&mut client, "CREATE EXTENSION sno_citus"), "42710");
    client.run("CREATE EXTENSION sno_citus SCHEMA ids");
}
