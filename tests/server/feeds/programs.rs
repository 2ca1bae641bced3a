//! Programs of clients at random, against a model of what counts as read: what was returned, unless its savepoint or its transaction was rolled
//! back or its connection lost. In the end each row has come once. `SNO_PROGRAMS` says how many programs there are; one that fails becomes
//! the shortest that does.

use std::collections::BTreeMap;
use std::env;

use sno_tests::postgres::{Client, Error, SimpleQueryMessage::Row};
use sno_tests::{Random, Server, Sql as _, in_parallel};

const SETUP: &str = "
    CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n serial); CREATE ROLE member; GRANT postgres TO member;
    CREATE TABLE copy (id sno, n integer, at serial); SELECT sno_create_feed('feed', 'items', margin => '0');
    CREATE VIEW next AS SELECT * FROM sno_feed('feed', NULL::items, 2);
    CREATE VIEW peeked AS SELECT * FROM sno_peek_feed('feed', NULL::items, 2);
    CREATE FUNCTION advanced() RETURNS SETOF items LANGUAGE plpgsql AS $$ DECLARE r items; BEGIN
        FOR r IN SELECT * FROM peeked LOOP
            IF sno_advance_feed('feed', r.id) THEN RETURN NEXT r; END IF;
        END LOOP; END $$;
    CREATE PROCEDURE work() LANGUAGE plpgsql AS $$ DECLARE last text; BEGIN
        FOR step IN 1..2 LOOP
            WITH p AS MATERIALIZED (SELECT * FROM sno_peek_feed('feed', NULL::items, 1)), i AS (INSERT INTO copy SELECT * FROM p)
            SELECT max(id::text) INTO last FROM p;
            IF last IS NOT NULL THEN PERFORM sno_advance_feed('feed', last::sno); END IF;
            COMMIT;
        END LOOP; END $$;
    CREATE FUNCTION loop() RETURNS SETOF items LANGUAGE plpgsql AS $$ DECLARE r items; BEGIN
        FOR r IN INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items, 2) RETURNING id, n LOOP RETURN NEXT r; END LOOP;
        FOR r IN INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items, 1) RETURNING id, n LOOP RETURN NEXT r; END LOOP; END $$;
    CREATE FUNCTION caught() RETURNS SETOF items LANGUAGE plpgsql AS $$ BEGIN
        BEGIN INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items, 2); RAISE 'caught'; EXCEPTION WHEN raise_exception THEN END;
        RETURN QUERY INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items, 1) RETURNING id, n; END $$;";

/// What a client does; before it, another one writes a row.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    /// A statement that changes nothing about what was read.
    Run(&'static str),
    /// One that returns rows, which have been read.
    Read(&'static str),
    /// One that stores them, and does not return them.
    Store(&'static str),
    Peek(&'static str),
    /// Up to the last that was peeked at, or one before it.
    Advance(bool),
    Begin,
    Commit,
    Rollback,
    Savepoint,
    RollbackTo,
    Release,
    /// The connection is lost: closed, or ended by the server.
    Lose,
    End,
    /// A row whose transaction stays open, and its end.
    Write,
}

const STEPS: [Step; 51] = [
    Step::Run("SELECT * FROM sno_feed('feed', NULL::items, 2)"),
    Step::Read("INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items, 3) RETURNING *"),
    Step::Read("INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items) RETURNING *"),
    Step::Read(
        "WITH r AS (SELECT * FROM sno_feed('feed', NULL::items, 1)), i AS (INSERT INTO copy TABLE r) TABLE r",
    ),
    Step::Read("INSERT INTO copy TABLE next RETURNING *"),
    Step::Read("EXECUTE read"),
    Step::Read("EXECUTE read"),
    Step::Read("SELECT * FROM loop()"),
    Step::Read("SELECT * FROM caught()"),
    Step::Read("SELECT * FROM advanced()"),
    Step::Read("SELECT * FROM sno_feed('feed', NULL::items, 3) LIMIT 1"),
    Step::Read(
        "INSERT INTO copy SELECT * FROM (SELECT * FROM sno_feed('feed', NULL::items, 3)) f LIMIT 1 RETURNING *",
    ),
    Step::Store("EXPLAIN ANALYZE INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items, 2)"),
    Step::Store("EXPLAIN ANALYZE EXECUTE read"),
    Step::Store("CALL work()"),
    Step::Run("CREATE TEMP TABLE IF NOT EXISTS t AS SELECT * FROM sno_peek_feed('feed', NULL::items)"),
    Step::Run("EXPLAIN ANALYZE SELECT * FROM sno_feed('feed', NULL::items)"),
    Step::Run("EXPLAIN ANALYZE SELECT * FROM peeked"),
    Step::Run("DECLARE h CURSOR WITH HOLD FOR SELECT * FROM sno_feed('feed', NULL::items, 2)"),
    Step::Run("DISCARD ALL"),
    Step::Read(
        "INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items, 1) UNION ALL SELECT * FROM sno_feed('feed', NULL::items, 1) RETURNING *",
    ),
    Step::Read(
        "INSERT INTO copy SELECT id, n + 0 / (n % 5) FROM sno_feed('feed', NULL::items, 2) RETURNING *",
    ),
    Step::Run("EXPLAIN INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items)"),
    Step::Run("PREPARE read AS INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items, 2) RETURNING *"),
    Step::Run("DISCARD PLANS"),
    Step::Run("SET ROLE member"),
    Step::Run("RESET ROLE"),
    Step::Run("SELECT 1 / 0"),
    Step::Run("SELECT * FROM sno_peek_feed('feed', NULL::items)"),
    Step::Peek("SELECT * FROM sno_peek_feed('feed', NULL::items, 1)"),
    Step::Peek("SELECT * FROM sno_peek_feed('feed', NULL::items)"),
    Step::Peek("SELECT * FROM peeked"),
    Step::Peek("SELECT * FROM sno_peek_feed('feed', NULL::items, 3) LIMIT 1"),
    Step::Peek("EXECUTE peek"),
    Step::Peek("SELECT * FROM items WHERE EXISTS (SELECT FROM peeked p WHERE p.id = items.id)"),
    Step::Advance(true),
    Step::Advance(true),
    Step::Advance(false),
    Step::Begin,
    Step::Begin,
    Step::Begin,
    Step::Commit,
    Step::Commit,
    Step::Rollback,
    Step::Savepoint,
    Step::Savepoint,
    Step::RollbackTo,
    Step::Release,
    Step::Lose,
    Step::End,
    Step::Write,
];

/// What a client prepares first; DISCARD ALL takes it away.
const PREPARE: &str =
    "PREPARE read AS INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items, 2) RETURNING *;
    PREPARE peek AS SELECT * FROM sno_peek_feed('feed', NULL::items, 2)";

/// A client: its transaction, as what was read in it and in each of its savepoints; and what it has peeked at, by IDs.
struct Session<'a> {
    server: &'a Server,
    client: Client,
    pid: i32,
    transaction: String,
    read: Vec<Vec<String>>,
    peeked: BTreeMap<String, String>,
}

type Rows = Vec<(String, String)>;

fn rows(client: &mut Client, sql: &str) -> Result<Rows, Error> {
    let messages = client.simple_query(sql)?;
    let value =
        |row: &sno_tests::postgres::SimpleQueryRow, column| row.get(column).unwrap_or_default().to_owned();
    Ok(messages
        .iter()
        .filter_map(
            |message| if let Row(row) = message { Some((value(row, 0), value(row, 1))) } else { None },
        )
        .collect())
}

impl<'a> Session<'a> {
    fn new(server: &'a Server) -> Self {
        let mut client = server.connect_with("-c lock_timeout=3ms");
        client.run(PREPARE);
        let pid = client.one("SELECT pg_backend_pid()");
        let (transaction, read, peeked) = (String::new(), vec![Vec::new()], BTreeMap::new());
        Self { server, client, pid, transaction, read, peeked }
    }

    /// As new, for the next program: most of a program's time would be its connections'.
    fn reset(&mut self) {
        self.client.run("ROLLBACK");
        self.client.run("DISCARD ALL");
        self.client.run(PREPARE);
        (self.read, self.peeked) = (vec![Vec::new()], BTreeMap::new());
    }

    fn is_in_block(&self) -> bool {
        self.read.len() > 1
    }

    /// Notes what was read: in a transaction that goes on, or for good.
    fn note(&mut self, rows: Rows, done: &mut Vec<String>) {
        let read = rows.into_iter().map(|(_, n)| n);
        if self.is_in_block() { self.read.last_mut().unwrap().extend(read) } else { done.extend(read) }
    }

    fn end(&mut self, command: &str, done: &mut Vec<String>) {
        let _ = self.client.batch_execute(command);
        // A transaction that has failed is rolled back.
        let status = format!("SELECT pg_xact_status('{}') = 'committed'", self.transaction);
        if self.client.one(&status) {
            done.extend(self.read.drain(..).flatten());
        }
        self.read = vec![Vec::new()];
        self.peeked.clear();
    }

    fn step(&mut self, step: Step, done: &mut Vec<String>) {
        let depth = self.read.len();
        match step {
            Step::Run(sql) => drop(self.client.simple_query(sql)),
            Step::Read(sql) => {
                if let Ok(rows) = rows(&mut self.client, sql) {
                    self.note(rows, done);
                }
            }
            Step::Store(sql) => {
                let before =
                    rows(&mut self.client, "SELECT last_value - (NOT is_called)::int, '' FROM copy_at_seq");
                drop(self.client.simple_query(sql));
                if let Ok(before) = before
                    && let Ok(rows) =
                        rows(&mut self.client, &format!("SELECT * FROM copy WHERE at > {}", before[0].0))
                {
                    self.note(rows, done);
                }
            }
            Step::Peek(sql) => {
                if let Ok(rows) = rows(&mut self.client, sql) {
                    self.peeked.extend(rows);
                }
            }
            Step::Advance(is_last) => self.advance(is_last, done),
            Step::Begin if !self.is_in_block() => {
                self.client.run("BEGIN");
                self.transaction = self.client.one("SELECT pg_current_xact_id()::text");
                self.read.push(Vec::new());
                self.peeked.clear();
            }
            Step::Commit if self.is_in_block() => self.end("COMMIT", done),
            Step::Rollback if self.is_in_block() => self.end("ROLLBACK", done),
            Step::Savepoint
                if self.is_in_block()
                    && depth < 5
                    && self.client.batch_execute(&format!("SAVEPOINT s{depth}")).is_ok() =>
            {
                self.read.push(Vec::new());
            }
            Step::RollbackTo if depth > 2 => {
                self.client.run(&format!("ROLLBACK TO s{}", depth - 1));
                self.read.last_mut().unwrap().clear();
            }
            Step::Release
                if depth > 2 && self.client.batch_execute(&format!("RELEASE s{}", depth - 1)).is_ok() =>
            {
                let read = self.read.pop().unwrap();
                self.read.last_mut().unwrap().extend(read);
            }
            Step::Lose => *self = Self::new(self.server),
            Step::End => {
                self.server.run(&format!("SELECT pg_terminate_backend({}, 10000)", self.pid));
                *self = Self::new(self.server);
            }
            _ => (),
        }
    }

    fn advance(&mut self, is_last: bool, done: &mut Vec<String>) {
        let Some(upto) = self.peeked.keys().rev().nth(usize::from(!is_last)).cloned() else { return };
        let from = "SELECT coalesce(position::text, ''), '' FROM sno_feeds() WHERE feed = 'feed'";
        let Ok(position) = rows(&mut self.client, from) else { return };
        if rows(&mut self.client, &format!("SELECT sno_advance_feed('feed', '{upto}'), ''"))
            .is_ok_and(|is_new| is_new[0].0 == "t")
        {
            let read = self.peeked.iter().filter(|(id, _)| **id > position[0].0 && **id <= upto);
            self.note(read.map(|(id, n)| (id.clone(), n.clone())).collect(), done);
        }
    }
}

/// Runs a program, and then reads what is left. The rows that came not at all or more than once.
fn wrong(
    sessions: &mut [Session; 2],
    [writer, late]: &mut [Client; 2],
    program: &[(usize, Step)],
) -> Vec<String> {
    let server = sessions[0].server;
    let first: i64 = writer.one("SELECT nextval('items_n_seq')");
    if first % 1000 < 30 {
        writer.run("TRUNCATE items, copy");
    }
    let mut done = Vec::new();
    let mut is_open = false;
    for &(number, step) in program {
        writer.run("INSERT INTO items DEFAULT VALUES");
        server.advance_clock(0.005);
        match step {
            Step::Write => {
                late.run(if is_open { "COMMIT" } else { "BEGIN; INSERT INTO items DEFAULT VALUES" });
                is_open = !is_open;
            }
            _ => sessions[number].step(step, &mut done),
        }
    }
    if is_open {
        late.run("COMMIT");
    }
    sessions.iter_mut().for_each(Session::reset);
    server.advance_clock(0.005);
    loop {
        let left =
            rows(writer, "INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items) RETURNING *").unwrap();
        if left.is_empty() {
            break;
        }
        done.extend(left.into_iter().map(|(_, n)| n));
    }
    let all = rows(writer, &format!("SELECT n, n FROM items WHERE n > {first}"));
    let mut all: Vec<String> = all.unwrap().into_iter().map(|(_, n)| n).collect();
    let mut wrong = Vec::new();
    for n in done {
        match all.iter().position(|other| *other == n) {
            Some(place) => drop(all.swap_remove(place)),
            None => wrong.push(format!("{n} twice")),
        }
    }
    wrong.extend(all.into_iter().map(|n| format!("{n} lost")));
    wrong
}

/// As many programs, on a server of their own; the shortest that fails, and what is wrong after it.
fn run(count: usize, random: &mut Random) -> Result<(), String> {
    // VACUUM would lock a table that it truncates, for longer than the sessions wait: what they have stored would not be noted.
    let server =
        Server::builder().faketime(true).conf("max_connections", "20").conf("autovacuum", "off").start();
    server.run(SETUP);
    let mut others = [server.connect_with("-c lock_timeout=10s"), server.connect()];
    let mut sessions = [0, 1].map(|_| Session::new(&server));
    for _ in 0..count {
        let length = 5 + random.below(30);
        let mut program: Vec<_> = (0..length).map(|_| (random.below(2), random.one_of(&STEPS))).collect();
        let mut found = wrong(&mut sessions, &mut others, &program);
        if found.is_empty() {
            continue;
        }
        let mut place = 0;
        while place < program.len() {
            let mut shorter = program.clone();
            shorter.remove(place);
            let still = wrong(&mut sessions, &mut others, &shorter);
            if still.is_empty() {
                place += 1;
            } else {
                (program, found) = (shorter, still);
            }
        }
        return Err(format!("{found:?} after {program:#?}"));
    }
    Ok(())
}

#[test]
fn programs_of_clients() {
    let count: usize = env::var("SNO_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(150);
    let random = Random::seeded();
    // A program mostly waits: for locks, connections and the clock.
    let servers = if count < 1000 { 1 } else { 6 };
    in_parallel(servers, |server| run(count.div_ceil(servers), &mut random.of_thread(server)).unwrap());
}
