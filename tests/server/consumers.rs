//! The consumers of the libraries, each through the same cases: whatever fails, and wherever, the receiver's table equals the source
//! in the end, with each row once, in order. `consumers/` has a program for each library, which does to a row what its payload says.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use std::{env, mem, thread};

use sno_tests::postgres::Client;
use sno_tests::{Mode, Server, Sql as _, text, wait_until};

use super::pgbouncer::Bouncer;
use Language::{Go, Node, Python, PythonAsync};

const PASSWORD: &str = "correct-horse";

const SETUP: &str = "
    CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text);
    CREATE TABLE copy (id sno, payload text, place bigint GENERATED ALWAYS AS IDENTITY);
    CREATE TABLE failures (id sno, error text);
    SELECT sno_create_feed('feed', 'events', margin => '0');";

/// Ends the sessions of all others, which come back.
const LOSE: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";

/// Missing rows, rows that came twice, and rows that came before an earlier one.
const DIFFERENCE: &str = "
    SELECT concat_ws(' ', (SELECT count(*) FROM (SELECT id, payload FROM events EXCEPT ALL SELECT id, payload FROM copy) missing),
        (SELECT count(*) FROM (SELECT id, payload FROM copy EXCEPT ALL SELECT id, payload FROM events) additional),
        (SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY place) AS before FROM copy) ordered WHERE id < before))";

#[derive(Clone, Copy, PartialEq, Debug)]
enum Language {
    Python,
    PythonAsync,
    Node,
    Go,
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("server/consumers")
}

impl Language {
    fn command(self) -> Command {
        match self {
            Python | PythonAsync => {
                let mut command = Command::new(env::var_os("PYTHON").expect("PYTHON, from dev/test-drivers"));
                command.arg(programs().join("consumer.py"));
                if self == PythonAsync {
                    command.arg("async");
                }
                command
            }
            Node => {
                let mut command = Command::new("node");
                command.arg(programs().join("consumer.js"));
                command
            }
            Go => {
                static BUILT: OnceLock<PathBuf> = OnceLock::new();
                Command::new(BUILT.get_or_init(|| {
                    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("consumer");
                    let source = programs().join("consumer.go");
                    let built = Command::new("go").arg("build").arg("-o").arg(&program).arg(source).status();
                    assert!(built.unwrap().success());
                    program
                }))
            }
        }
    }
}

/// A server with the tables, and what a consumer needs to find it.
struct Case {
    server: Server,
    language: Language,
    port: AtomicU16,
    count: AtomicUsize,
}

impl Case {
    fn new(language: Language) -> Self {
        let server = Server::builder().tcp(true).start();
        server.run(SETUP);
        server.run(&format!("ALTER ROLE postgres PASSWORD '{PASSWORD}'"));
        let port = AtomicU16::new(server.port());
        Self { server, language, port, count: AtomicUsize::new(0) }
    }

    /// Inserts a row for each of these, and 30 plain ones around them.
    fn insert(&self, payloads: &[&str]) {
        let plain = "SELECT 'plain' FROM generate_series(1, 30)";
        let rows =
            payloads.iter().map(|payload| format!("UNION ALL SELECT '{payload}' ")).collect::<String>();
        self.server.run(&format!("INSERT INTO events (payload) {plain} {rows} UNION ALL {plain}"));
    }

    fn start_with(&self, options: &[&str], environment: &[(&str, &str)]) -> Consumer<'_> {
        let log = self.server.socket_folder().join(format!("consumer{}", self.count.fetch_add(1, Relaxed)));
        let (out, errors) = (log.with_extension("out"), log.with_extension("log"));
        let mut command = self.language.command();
        command.args(options).env("PGHOST", "127.0.0.1").env("PGPORT", self.port.load(Relaxed).to_string());
        command
            .env("PGUSER", "postgres")
            .env("PGPASSWORD", PASSWORD)
            .env("PGDATABASE", "postgres")
            .env("PGSSLMODE", "disable");
        command.env("PGGSSENCMODE", "disable").envs(environment.iter().copied());
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&errors).unwrap());
        Consumer { case: self, child: command.spawn().unwrap(), out, errors, is_over: false }
    }

    fn start(&self, options: &[&str]) -> Consumer<'_> {
        self.start_with(options, &[])
    }

    fn client(&self) -> Client {
        self.server.connect()
    }

    fn difference(&self) -> String {
        text(&mut self.client(), DIFFERENCE)
    }

    /// Waits until the copy is as long as the source, and compares them.
    #[track_caller]
    fn assert_equal(&self) {
        let mut client = self.client();
        let missing = "SELECT ((SELECT count(*) FROM events) - (SELECT count(*) FROM copy))::text";
        wait_until("the copy has all rows", || text(&mut client, missing).parse::<i64>().unwrap() <= 0);
        assert_eq!(self.difference(), "0 0 0", "missing, additional and disordered rows");
    }
}

struct Consumer<'a> {
    case: &'a Case,
    child: Child,
    out: PathBuf,
    errors: PathBuf,
    is_over: bool,
}

impl Consumer<'_> {
    fn signal(&self, signal: i32) {
        // SAFETY: the child was not waited for, so the ID is its.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    fn errors(&self) -> String {
        fs::read_to_string(&self.errors).unwrap()
    }

    #[track_caller]
    fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the consumer ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        self.is_over = true;
        status.unwrap()
    }

    #[track_caller]
    fn assert_fails(mut self, with: &str) -> String {
        let status = self.wait();
        let errors = self.errors();
        assert!(!status.success() && errors.contains(with), "{status}\n{errors}");
        errors
    }

    /// Stops it, and returns how long that took.
    #[track_caller]
    fn stop(mut self) -> Duration {
        let begun = Instant::now();
        assert!(self.child.try_wait().unwrap().is_none(), "it has ended before\n{}", self.errors());
        self.signal(libc::SIGTERM);
        let status = self.wait();
        assert!(status.success(), "{status}\n{}", self.errors());
        begun.elapsed()
    }

    fn kill(&mut self) {
        self.signal(libc::SIGKILL);
        self.wait();
    }

    fn wait_for_output(&self, what: &str) {
        wait_until("the output of the consumer", || fs::read_to_string(&self.out).unwrap().contains(what));
    }
}

impl Drop for Consumer<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        if thread::panicking() {
            println!("{:?}:\n{}", self.case.language, self.errors());
        }
    }
}

/// A proxy that cuts every other connection before one of its messages, each time a later one; the connections between them last
/// for some batches, after which a consumer pauses only briefly again. The first connection is never cut. And it can stop passing
/// on what is sent by the connections up to now, without closing them.
struct Proxy {
    port: u16,
    ends: Arc<AtomicBool>,
    connections: Arc<AtomicUsize>,
    silent: Arc<AtomicUsize>,
}

impl Proxy {
    fn new(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (ends, connections) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let silent = Arc::new(AtomicUsize::new(0));
        let silenced = Arc::clone(&silent);
        let (is_over, count) = (Arc::clone(&ends), Arc::clone(&connections));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let number = if is_cancel(&client) { usize::MAX } else { count.fetch_add(1, Relaxed) };
                let left = match number {
                    0 | usize::MAX => usize::MAX,
                    _ if is_over.load(Relaxed) => usize::MAX,
                    number if number % 2 == 1 => 10 + number / 2,
                    _ => 150,
                };
                let left = Arc::new(AtomicUsize::new(left));
                for (from, to, is_client) in [(&client, &server, true), (&server, &client, false)] {
                    let (mut from, mut to, left) =
                        (from.try_clone().unwrap(), to.try_clone().unwrap(), Arc::clone(&left));
                    let silent = Arc::clone(&silenced);
                    thread::spawn(move || {
                        let _ = relay(&mut from, &mut to, is_client, &left, || number < silent.load(Relaxed));
                        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                    });
                }
            }
        });
        Self { port, ends, connections, silent }
    }
}

/// Whether a client asks for the end of another one's statement, which is a connection of its own.
fn is_cancel(client: &TcpStream) -> bool {
    let mut start = [0; 8];
    while matches!(client.peek(&mut start), Ok(1..8)) {
        thread::sleep(Duration::from_millis(1));
    }
    start[4..] == 80_877_102_u32.to_be_bytes()
}

/// Passes messages on until none is left. The first of a client has no byte for its type.
fn relay(
    from: &mut TcpStream,
    to: &mut TcpStream,
    mut is_first: bool,
    left: &AtomicUsize,
    is_silent: impl Fn() -> bool,
) -> io::Result<()> {
    loop {
        let mut message = vec![0; if is_first { 4 } else { 5 }];
        from.read_exact(&mut message)?;
        let length = u32::from_be_bytes(message[message.len() - 4..].try_into().unwrap()) as usize - 4;
        let start = message.len();
        message.resize(start + length, 0);
        from.read_exact(&mut message[start..])?;
        is_first = false;
        if is_silent() {
            continue;
        }
        if left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err() {
            return Ok(());
        }
        to.write_all(&message)?;
    }
}

/// A test for each library and each case.
macro_rules! cases {
    ($($case:ident)*) => {
        $(mod $case {
            cases!(of $case: python Python, python_async PythonAsync, node Node, go Go);
        })*
    };
    (of $case:ident: $($test:ident $language:ident),*) => {
        $(#[test]
        #[ignore = "needs its driver: make test-drivers"]
        fn $test() {
            super::$case(super::Language::$language);
        })*
    };
}

cases! {
    a_handler_that_fails
    poison
    errors_to_try_again_after
    lost_connections
    a_cut_at_each_message
    a_network_that_goes_silent
    ddl
    what_cannot_get_better
    another_isolation_level
    stops
    left_in_another_way
    a_transaction_that_the_handler_ends
    work_that_is_not_awaited
    several_rows_of_one_id
    nothing_to_read
    two_that_are_killed
    too_slow
    pgbouncer
    changes
}

fn a_handler_that_fails(language: Language) {
    let case = Case::new(language);
    for options in [&[][..], &["batches"]] {
        case.insert(&["flaky", "fail 2", "plain", "fail 1"]);
        let consumer = case.start(options);
        case.assert_equal();
        // It says so each time.
        assert!(consumer.errors().matches("failure ").count() >= 3, "{}", consumer.errors());
        // Later rows are read in whole batches again.
        case.insert(&[]);
        case.assert_equal();
        let last = "SELECT count(DISTINCT xmin::text)::text FROM (SELECT xmin FROM copy ORDER BY place DESC LIMIT 60) last";
        assert!(text(&mut case.client(), last).parse::<i32>().unwrap() < 20);
        consumer.stop();
    }
}

fn poison(language: Language) {
    for options in [&[][..], &["batches"]] {
        let case = Case::new(language);
        case.insert(&["poison", "plain", "poison late"]);
        // After a single failure, and after three.
        for (more, failures) in [("once", 1..=2), ("", 3..=4)] {
            let errors = case.start(&[options, &[more]].concat()).assert_fails("poison");
            let count = "SELECT count(*)::text FROM copy";
            assert_eq!(text(&mut case.client(), count), "30", "rows before the poison");
            assert!(failures.contains(&errors.matches("failure ").count()), "{errors}");
        }
        let consumer = case.start(&[options, &["on_poison"]].concat());
        wait_until("all are read", || text(&mut case.client(), "SELECT count(*)::text FROM copy") == "61");
        assert_eq!(case.difference(), "2 0 0");
        let passed =
            "SELECT count(*)::text FROM failures JOIN events USING (id) WHERE payload LIKE 'poison%'";
        assert_eq!(text(&mut case.client(), passed), "2");
        // Read once more, it is no poison any more.
        case.server.run(
            "BEGIN; UPDATE events SET payload = 'plain'; TRUNCATE copy;
             SELECT sno_seek_feed('feed', since => now() - interval '1 day'); COMMIT",
        );
        case.assert_equal();
        consumer.stop();
    }
}

fn errors_to_try_again_after(language: Language) {
    let case = Case::new(language);
    let consumer = case.start(&[]);
    case.insert(&["sqlstate 40001", "sqlstate 40P01", "sqlstate 55P03", "sqlstate 57014"]);
    case.assert_equal();
    // Of the consumer's own statements.
    case.server.configure("statement_timeout", "1s");
    case.server.reload();
    wait_until("waits end", || consumer.errors().matches("statement timeout").count() >= 3);
    case.insert(&[]);
    case.assert_equal();
    consumer.stop();
}

fn lost_connections(language: Language) {
    let case = Case::new(language);
    let mut client = case.client();
    let consumer = case.start(&[]);
    case.insert(&[]);
    case.assert_equal();
    for _ in 0..20 {
        case.insert(&[]);
        client.run(LOSE);
        thread::sleep(Duration::from_millis(100));
    }
    case.assert_equal();
    // The pause between two tries, which grows up to ten seconds, is short again after each batch.
    let mut last = Duration::ZERO;
    for _ in 0..9 {
        client.run(LOSE);
        case.insert(&[]);
        let begun = Instant::now();
        case.assert_equal();
        last = begun.elapsed();
    }
    assert!(last < Duration::from_secs(4), "{last:?}");
    // Nor does it try without a pause.
    let tries = || consumer.errors().matches("connecting again").count();
    for mode in [Mode::Fast, Mode::Immediate] {
        drop(client);
        case.insert(&[]);
        let before = tries();
        case.server.stop(mode);
        thread::sleep(Duration::from_secs(2));
        case.server.start();
        client = case.client();
        assert!(tries() - before < 20, "{} tries in two seconds", tries() - before);
        case.insert(&[]);
        case.assert_equal();
    }
    consumer.stop();
}

fn a_cut_at_each_message(language: Language) {
    let case = Case::new(language);
    let proxy = Proxy::new(case.server.port());
    case.port.store(proxy.port, Relaxed);
    let consumer = case.start(&[]);
    case.insert(&[]);
    case.assert_equal();
    let mut client = case.client();
    client.run(LOSE);
    // Some twenty messages are for the connection, six to twelve for each statement: the cuts go through all of a batch.
    while proxy.connections.load(Relaxed) < 100 {
        client.run("INSERT INTO events (payload) VALUES ('plain'), ('plain')");
        case.assert_equal();
    }
    proxy.ends.store(true, Relaxed);
    case.assert_equal();
    consumer.stop();
}

fn a_network_that_goes_silent(language: Language) {
    let case = Case::new(language);
    let proxy = Proxy::new(case.server.port());
    proxy.ends.store(true, Relaxed);
    case.port.store(proxy.port, Relaxed);
    // A wait of a second: ten seconds later the server counts as gone.
    let consumer = case.start(&["brief"]);
    case.insert(&[]);
    case.assert_equal();
    thread::sleep(Duration::from_millis(300));
    proxy.silent.store(proxy.connections.load(Relaxed), Relaxed);
    case.insert(&[]);
    case.assert_equal();
    consumer.stop();
}

fn ddl(language: Language) {
    let case = Case::new(language);
    let consumer = case.start(&[]);
    case.insert(&[]);
    case.assert_equal();
    for change in ["ADD COLUMN more int", "DROP COLUMN more", "ALTER payload TYPE varchar(100)"] {
        case.server.run(&format!("ALTER TABLE events {change}"));
        case.insert(&[]);
        case.assert_equal();
    }
    case.server.run("ALTER TABLE events RENAME id TO key");
    case.insert(&[]);
    consumer.assert_fails("id");
    case.server.run("ALTER TABLE events RENAME key TO id");
    let consumer = case.start(&[]);
    case.assert_equal();
    consumer.stop();
}

fn what_cannot_get_better(language: Language) {
    let case = Case::new(language);
    case.insert(&[]);
    case.server.run(&format!("CREATE ROLE nobody LOGIN PASSWORD '{PASSWORD}'"));
    case.start_with(&[], &[("PGDATABASE", "missing")]).assert_fails("missing");
    case.start_with(&[], &[("PGPORT", "1")]).assert_fails("");
    case.start_with(&[], &[("PGUSER", "nobody")]).assert_fails("");
    case.server.run("ALTER TABLE copy ADD UNIQUE (payload) DEFERRABLE INITIALLY DEFERRED");
    case.start(&[]).assert_fails("unique");
    case.server.run("ALTER TABLE copy DROP CONSTRAINT copy_payload_key");
    // What fails later.
    let consumer = case.start(&[]);
    case.assert_equal();
    case.server.run("SELECT sno_drop_feed('feed')");
    consumer.assert_fails("does not exist");
    case.start(&[]).assert_fails("does not exist");
    // libpq has no SQLSTATE for a connection that is refused.
    if matches!(language, Node | Go) {
        case.server.run("SELECT sno_create_feed('feed', 'events', since => now())");
        let consumer = case.start(&[]);
        case.insert(&[]);
        wait_until("it reads", || text(&mut case.client(), "SELECT count(*)::text FROM copy") == "120");
        case.server.run("ALTER ROLE postgres PASSWORD 'another'");
        case.client().run(LOSE);
        consumer.assert_fails("password");
    }
}

fn another_isolation_level(language: Language) {
    let case = Case::new(language);
    case.server.configure("default_transaction_isolation", "repeatable read");
    case.insert(&[]);
    case.server.configure("default_transaction_read_only", "on");
    case.server.reload();
    let consumer = case.start(&[]);
    wait_until("the copy has all rows", || case.difference() == "0 0 0");
    consumer.stop();
    case.start(&["open"]).assert_fails("open transaction");
}

fn stops(language: Language) {
    let case = Case::new(language);
    // While it waits; while another consumer has the feed.
    let consumer = case.start(&[]);
    case.insert(&[]);
    case.assert_equal();
    thread::sleep(Duration::from_millis(300));
    let mut times = vec![consumer.stop()];
    case.insert(&[]);
    let mut other = case.client();
    other.run("BEGIN; SELECT FROM sno_feed('feed', NULL::events)");
    let consumer = case.start(&[]);
    let waits = "SELECT count(*)::text FROM pg_locks WHERE NOT granted";
    wait_until("it waits for the other one", || text(&mut case.client(), waits) == "1");
    times.push(consumer.stop());
    drop(other);
    // It is a tenth of a second, but the whole process has to end, and the machine has other work. The wait would last for 20 s.
    assert!(times.iter().all(|time| *time < Duration::from_secs(5)), "{times:?}");

    // In a handler: after this row, the rest is given back.
    case.server.run("TRUNCATE events, copy");
    case.server.run("INSERT INTO events (payload) SELECT CASE n WHEN 5 THEN 'slow 0.5' ELSE 'plain' END FROM generate_series(1, 20) n");
    let consumer = case.start(&[]);
    consumer.wait_for_output("slow");
    consumer.stop();
    assert_eq!(text(&mut case.client(), "SELECT count(*)::text FROM copy"), "5");
    // In one transaction with the work, or another consumer could read on from the wrong place.
    let same = "SELECT ((SELECT xmin::text FROM copy ORDER BY place DESC LIMIT 1) =
        (SELECT xmin::text FROM sno_internal.feed_positions))::text";
    assert_eq!(text(&mut case.client(), same), "true");
    let consumer = case.start(&[]);
    case.assert_equal();
    consumer.stop();
    // Killed in a handler: the batch comes again.
    case.insert(&["slow 30"]);
    let mut consumer = case.start(&[]);
    consumer.wait_for_output("slow");
    consumer.signal(libc::SIGTERM);
    consumer.kill();
    case.server.run("UPDATE events SET payload = 'plain' WHERE payload = 'slow 30'");
    let consumer = case.start(&[]);
    case.assert_equal();
    consumer.stop();
}

fn left_in_another_way(language: Language) {
    let case = Case::new(language);
    case.server.run("INSERT INTO events (payload) VALUES ('plain'), ('plain'), ('exit'), ('plain')");
    let mut consumer = case.start(&[]);
    assert!(!consumer.wait().success());
    assert_eq!(case.difference(), "4 0 0");
    case.server.run("UPDATE events SET payload = 'plain'");
    let consumer = case.start(&[]);
    case.assert_equal();
    consumer.stop();
}

fn a_transaction_that_the_handler_ends(language: Language) {
    let case = Case::new(language);
    for (payload, before) in [("commit", 2), ("rollback", 2), ("commit fail", 0)] {
        case.server.run(&format!(
            "INSERT INTO events (payload) SELECT CASE n WHEN {before} THEN '{payload}' ELSE 'plain' END
             FROM generate_series(0, 4) n"
        ));
        case.start(&[]).assert_fails("transaction");
        case.server.run("DELETE FROM copy WHERE payload = 'commit fail'");
        case.server.run(&format!("UPDATE events SET payload = 'plain' WHERE payload = '{payload}'"));
        case.server.run(&format!("UPDATE copy SET payload = 'plain' WHERE payload = '{payload}'"));
        let consumer = case.start(&[]);
        case.assert_equal();
        consumer.stop();
    }
    // An error of the server that the handler has hidden.
    case.insert(&["swallow"]);
    let consumer = case.start(&[]);
    case.assert_equal();
    assert!(consumer.errors().contains("went on after an error"), "{}", consumer.errors());
    consumer.stop();
}

/// A statement that nobody waits for, and an asynchronous handler in the library that blocks.
fn work_that_is_not_awaited(language: Language) {
    let with = match language {
        Python => "asynchronous",
        PythonAsync | Node => "rolled back",
        Go => return,
    };
    let case = Case::new(language);
    case.server.run("INSERT INTO events (payload) VALUES ('unawaited')");
    case.start(&[]).assert_fails(with);
    case.server.run("UPDATE events SET payload = 'plain'");
    let consumer = case.start(&[]);
    case.assert_equal();
    consumer.stop();
}

/// A view, which is left after an ID with a single row, and whose rows are poison one by one.
fn several_rows_of_one_id(language: Language) {
    let case = Case::new(language);
    case.server.run(
        "SELECT sno_drop_feed('feed'); ALTER TABLE events RENAME TO base;
         CREATE VIEW events AS SELECT id, part AS payload FROM base, unnest(string_to_array(payload, ',')) part;
         SELECT sno_create_feed('feed', 'events', margin => '0');
         INSERT INTO base (payload) SELECT CASE n WHEN 3 THEN 'plain,slow 0.5,plain' WHEN 5 THEN 'plain'
             WHEN 6 THEN 'plain,poison,plain' ELSE 'plain,plain' END FROM generate_series(1, 9) n",
    );
    let copied = || text(&mut case.client(), "SELECT count(*)::text FROM copy");
    let consumer = case.start(&["on_poison"]);
    consumer.wait_for_output("slow");
    consumer.stop();
    assert_eq!(copied(), "10");
    let consumer = case.start(&["on_poison"]);
    wait_until("all are read", || copied() == "18");
    assert_eq!(case.difference(), "1 0 0");
    assert_eq!(text(&mut case.client(), "SELECT count(*)::text FROM failures"), "1");
    consumer.stop();
}

fn nothing_to_read(language: Language) {
    let case = Case::new(language);
    let mut client = case.client();
    let consumer = case.start(&[]);
    case.insert(&[]);
    case.assert_equal();
    // No transaction of a consumer is open for longer than a call takes, so that it holds nobody up.
    thread::sleep(Duration::from_millis(1500));
    let open = "SELECT count(*)::text FROM pg_stat_activity
                WHERE state LIKE 'idle in transaction%' AND xact_start < clock_timestamp() - interval '1 s'";
    for _ in 0..10 {
        assert_eq!(text(&mut client, open), "0");
        thread::sleep(Duration::from_millis(50));
    }
    let calls = "SELECT xact_commit::text FROM pg_stat_database WHERE datname = 'postgres'";
    let mut commits = || {
        client.run("SELECT pg_sleep(1.2)");
        text(&mut client, calls).parse::<i64>().unwrap()
    };
    let before = commits();
    let made = commits() - before;
    assert!(made < 100, "{made} transactions in 1.2 s");
    // Nor while rows wait for an open transaction.
    let mut writer = case.client();
    writer.run("BEGIN; INSERT INTO events (payload) VALUES ('plain')");
    case.insert(&[]);
    let before = commits();
    let made = commits() - before;
    assert!(made < 100, "{made} transactions in 1.2 s");
    writer.run("COMMIT");
    case.assert_equal();
    consumer.stop();
    // A wait, which ends when it should.
    let consumer = case.start(&["brief"]);
    let age = "SELECT max(clock_timestamp() - query_start) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'CALL sno_wait%'";
    wait_until("it waits", || text(&mut client, &format!("SELECT (({age}) IS NOT NULL)::text")) == "true");
    thread::sleep(Duration::from_secs(4));
    assert_eq!(text(&mut client, &format!("SELECT coalesce(({age}) < '3 s', true)::text")), "true");
    consumer.stop();
}

fn two_that_are_killed(language: Language) {
    let case = Case::new(language);
    let mut consumers = [case.start(&[]), case.start(&["batches"])];
    for round in 0..12 {
        // Half of them are stopped, and give back the rest of their batch while the other consumer waits for it.
        case.server.run("INSERT INTO events (payload) SELECT 'slow 0.01' FROM generate_series(1, 60)");
        thread::sleep(Duration::from_millis(600));
        let next = case.start(if round % 4 < 2 { &[] } else { &["batches"] });
        let mut last = mem::replace(&mut consumers[round % 2], next);
        if round % 3 == 0 {
            last.kill();
        } else {
            // It may still be starting, and then has no handler of the signal.
            last.signal(libc::SIGTERM);
            last.wait();
        }
    }
    case.assert_equal();
    for consumer in consumers {
        consumer.stop();
    }
}

fn too_slow(language: Language) {
    let case = Case::new(language);
    case.server.configure("idle_in_transaction_session_timeout", "200ms");
    case.server.reload();
    case.insert(&["idle 0.6"]);
    let consumer = case.start(&[]);
    case.assert_equal();
    assert!(consumer.errors().contains("smaller batches"), "{}", consumer.errors());
    consumer.stop();
}

fn pgbouncer(language: Language) {
    let case = Case::new(language);
    let Some(bouncer) = Bouncer::start(&case.server) else { return };
    let (folder, port) = (bouncer.folder.path().to_str().unwrap(), Bouncer::PORT.to_string());
    let through = [("PGHOST", folder), ("PGPORT", &port)];
    let consumers =
        [&["pgbouncer"][..], &["pgbouncer", "batches"]].map(|options| case.start_with(options, &through));
    for _ in 0..20 {
        case.insert(&["fail 1"]);
        thread::sleep(Duration::from_millis(100));
    }
    case.assert_equal();
    consumers.into_iter().for_each(|consumer| {
        consumer.stop();
    });
}

/// A copy that follows updates and deletes, by a feed whose key has another name, while connections are lost.
fn changes(language: Language) {
    let case = Case::new(language);
    let mut client = case.client();
    client.run(
        "CREATE TABLE items (id integer PRIMARY KEY, n integer); CREATE TABLE items_copy (LIKE items);
         SELECT sno_track_changes('items'); SELECT sno_create_feed('changes', 'items_changes', key => 'changed', margin => '0')",
    );
    let consumer = case.start(&["changes"]);
    for n in 0..20 {
        client.run(&format!(
            "INSERT INTO items SELECT generate_series(10 * {n}, 10 * {n} + 9);
             UPDATE items SET n = {n} WHERE id % 3 = {n} % 3; DELETE FROM items WHERE id % 7 = {n} % 7"
        ));
        if n % 5 == 4 {
            client.run(LOSE);
        }
        thread::sleep(Duration::from_millis(50));
    }
    let wrong = "SELECT count(*)::text FROM
        ((TABLE items EXCEPT ALL TABLE items_copy) UNION ALL (TABLE items_copy EXCEPT ALL TABLE items)) wrong";
    wait_until("the copy is the table", || text(&mut client, wrong) == "0");
    assert_ne!(text(&mut client, "SELECT count(*)::text FROM items"), "0");
    consumer.stop();
}
