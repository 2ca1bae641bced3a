//! The consumers of the libraries, each through the same cases: whatever fails, and wherever, the receiver's table equals the source
//! in the end, with each row once, in order. `consumers/` has a program for each library, which does to a row what its payload says.

mod bouncer;
mod handlers;
mod proxy;
mod runs;
mod servers;
mod states;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{env, thread};

use sno_tests::postgres::Client;
use sno_tests::{Server, text, wait_until};

use Language::{Go, Node, Python, Ruby, Rust};

const PASSWORD: &str = "correct-horse";

const SETUP: &str = "
    CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text);
    CREATE TABLE copy (id sno, payload text, place bigint GENERATED ALWAYS AS IDENTITY);
    CREATE TABLE failures (id sno, error text);
    SELECT sno_create_feed('feed', 'events', margin => '0');";

/// Without a transaction rows can come again: the receiver ignores IDs that it has.
const IGNORE: &str = "
    CREATE FUNCTION ignore() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
        PERFORM pg_advisory_xact_lock(1);
        RETURN CASE WHEN NOT EXISTS (SELECT FROM copy WHERE id = NEW.id) THEN NEW END;
    END$$;
    CREATE TRIGGER ignore BEFORE INSERT ON copy FOR EACH ROW EXECUTE FUNCTION ignore();";

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
    Node,
    Go,
    Rust,
    /// That of the examples.
    Ruby,
}

/// A library, and which of its two ways: work and position in one transaction, or none open while the handler works.
#[derive(Clone, Copy, Debug)]
struct Way {
    language: Language,
    autocommit: bool,
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("server/consumers")
}

impl Language {
    fn command(self) -> Command {
        match self {
            Python => {
                let mut command = Command::new(env::var_os("PYTHON").expect("PYTHON, from dev/test-drivers"));
                command.arg(programs().join("consumer.py"));
                command
            }
            Node => {
                let mut command = Command::new("node");
                command.arg(programs().join("consumer.js"));
                command
            }
            Ruby => {
                let mut command = Command::new("/usr/bin/ruby");
                command.arg(programs().join("consumer.rb"));
                command
            }
            // Of another build: that of a mutant.
            Rust => Command::new(
                env::var_os("SNO_CONSUMER").unwrap_or_else(|| env!("CARGO_BIN_EXE_consumer").into()),
            ),
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
    way: Way,
    port: AtomicU16,
    count: AtomicUsize,
}

impl Case {
    fn new(way: Way) -> Self {
        let server = Server::builder().tcp(true).start();
        server.run(SETUP);
        if way.autocommit {
            server.run(IGNORE);
        }
        server.run(&format!("ALTER ROLE postgres PASSWORD '{PASSWORD}'"));
        let port = AtomicU16::new(server.port());
        Self { server, way, port, count: AtomicUsize::new(0) }
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
        let mut command = self.way.language.command();
        if self.way.autocommit {
            command.arg("autocommit");
        }
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
        let (_, last) = errors.rsplit_once("ended: ").unwrap_or(("", ""));
        assert!(!status.success() && last.contains(with), "{status}\n{errors}");
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
            println!("{:?}:\n{}", self.case.way, self.errors());
        }
    }
}

/// A test for each library and each case.
macro_rules! cases {
    ($autocommit:literal $($file:ident: $($case:ident)*;)*) => {
        $($(mod $case {
            cases!(of $file $case $autocommit: python Python, node Node, go Go);
            #[test]
            fn rust() {
                cases!(run $file $case $autocommit Rust);
            }
        })*)*
    };
    (of $file:ident $case:ident $autocommit:literal: $($test:ident $language:ident),*) => {
        $(#[test]
        #[ignore = "needs its driver: make test-drivers"]
        fn $test() {
            cases!(run $file $case $autocommit $language);
        })*
    };
    (run $file:ident $case:ident $autocommit:literal $language:ident) => {
        use crate::consumers::{$file, Language, Way};
        $file::$case(Way { language: Language::$language, autocommit: $autocommit });
    };
}

cases! {
    false
    handlers: a_handler_that_fails a_result_that_shows_a_failure poison errors_to_try_again_after rows_that_cannot_be_read
        an_error_of_the_commit a_transaction_that_the_handler_ends work_that_is_not_awaited several_rows_of_one_id too_slow;
    servers: lost_connections a_cut_at_each_message a_network_that_goes_silent ddl ddl_beside_a_batch another_isolation_level
        a_standby limits_of_the_role pauses pgbouncer;
    runs: options what_cannot_get_better stops left_in_another_way nothing_to_read two_that_are_killed changes;
}

/// The program of the examples is for readers who write their own: the cases that decide about rows.
mod ruby {
    macro_rules! ruby {
        ($($file:ident: $($case:ident)*;)*) => {
            $($(#[test]
            #[ignore = "needs its driver: make test-drivers"]
            fn $case() {
                cases!(run $file $case false Ruby);
            })*)*
        };
    }
    ruby! {
        handlers: a_handler_that_fails poison errors_to_try_again_after;
        servers: lost_connections a_standby;
        runs: two_that_are_killed;
    }
}

mod autocommit {
    cases! {
        true
        handlers: a_handler_that_fails a_result_that_shows_a_failure poison rows_that_cannot_be_read;
        servers: lost_connections a_cut_at_each_message ddl a_standby pgbouncer;
        runs: stops two_that_are_killed;
    }
}
