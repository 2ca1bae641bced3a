//! A random walk over everything that gives a setting a value, beside a model of what must come of it: in each
//! session generation goes by the server's own value, or fails and says why.
//!
//! One sequence is left out. After a `RESET` and a `SET LOCAL` in one transaction, PostgreSQL keeps the value of
//! then as one that the session has set, and goes by it even if the server's value changes.

use sno_tests::postgres::{Client, error::DbError};
use sno_tests::{Mode, Server, error};

use crate::random::Random;
use crate::{pick, tally};

/// A setting that belongs to the server.
struct Subject {
    name: &'static str,
    library: &'static str,
    /// An expression that loads the library.
    read: &'static str,
    /// An expression that generates an ID and shows what it went by.
    shown: &'static str,
    /// What that is by default.
    default: i32,
}

/// What somebody gave a setting; nothing is the default.
type Value = Option<&'static str>;

/// For the server; the last two mean nothing.
const SERVER: [&str; 5] = ["5", "9", "0", "x", ""];
/// For a session, a role, a database.
const FOREIGN: [&str; 4] = ["7", "5", "0", ""];

/// What stands before the server's own value in a session.
#[derive(Clone, Copy, Default)]
struct Before {
    /// By `SET`.
    set: Value,
    /// By `SET LOCAL`, until the transaction ends; it may be the server's own again.
    local: Option<Value>,
}

struct Session {
    client: Client,
    number: usize,
    /// Whether the library is loaded; and whether PostgreSQL knows the setting, and refuses to set it.
    loaded: bool,
    defined: bool,
    /// It came with the connection: from its options, the role, the database.
    came: Value,
    before: Before,
    /// How `before` was when the transaction and each of its savepoints began.
    saved: Vec<Before>,
    /// Whether there was a `RESET` in the transaction.
    reset: bool,
}

struct Walk {
    subject: Subject,
    server: Server,
    /// What makes PostgreSQL run queries in a worker.
    parallel: &'static str,
    random: Random,
    sessions: Vec<Session>,
    connected: usize,
    /// In `postgresql.conf`, and by `ALTER SYSTEM`.
    line: Value,
    altered: Value,
    /// What the server has read of both.
    own: Value,
    preloaded: bool,
    /// `ALTER ROLE alice`, `ALTER DATABASE other`.
    role: Value,
    database: Value,
}

/// What the subject's expression shows for a value of the server's; none if it means nothing.
fn number(own: Value, default: i32) -> Option<i32> {
    own.map_or(Some(default), |own| own.parse().ok())
}

impl Session {
    /// Each step shows if the walk fails.
    fn note(&self, what: &str) {
        println!("session {}: {what}", self.number);
    }

    #[track_caller]
    fn run(&mut self, sql: &str) {
        self.note(sql);
        self.client.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// Runs what must fail, and leaves the transaction as it was.
    #[track_caller]
    fn refused(&mut self, sql: &str) -> DbError {
        self.note(&format!("{sql}, which fails"));
        let inside = !self.saved.is_empty();
        if inside {
            self.client.batch_execute("SAVEPOINT refused").unwrap();
        }
        let error = error(&mut self.client, sql);
        if inside {
            self.client.batch_execute("ROLLBACK TO refused; RELEASE refused").unwrap();
        }
        error
    }

    /// The value that stands before the server's own.
    fn foreign(&self, own: Value) -> Value {
        self.came.or(self.before.local.unwrap_or(self.before.set).filter(|value| Some(*value) != own))
    }

    /// The library is loaded, unless it was already.
    fn load(&mut self, own: Value) {
        if !self.loaded {
            self.meet(own);
        }
    }

    /// The library looks at the setting. If nothing stands before the server's own value, nothing ever will.
    fn meet(&mut self, own: Value) {
        self.loaded = true;
        if self.foreign(own).is_none() {
            self.defined = true;
            self.before = Before::default();
            self.saved.fill(self.before);
        }
    }

    /// Gives the setting a value, or takes it back.
    #[track_caller]
    fn set(&mut self, sql: &str, value: Value, local: bool) {
        if self.defined {
            assert_eq!(self.refused(sql).code().code(), "55P02");
        } else if !local {
            self.run(sql);
            self.before = Before { set: value, local: None };
            self.reset |= value.is_none();
        } else if self.saved.is_empty() {
            self.run(sql);
        } else if !self.reset {
            self.run(sql);
            self.before.local = Some(value);
        }
    }

    /// Generation must do what the model says.
    #[track_caller]
    fn check(&mut self, subject: &Subject, own: Value) {
        self.meet(own);
        self.generate(subject, own, self.foreign(own));
    }

    /// The same in a parallel worker. The session itself loads the library only. The worker is told what the session
    /// has set, and not what else the server's own value would be.
    #[track_caller]
    fn check_worker(&mut self, subject: &Subject, own: Value, switch: &str) {
        self.load(own);
        self.run(&format!("SET {switch} = on"));
        self.generate(subject, own, self.before.local.unwrap_or(self.before.set).or(self.came));
        self.run(&format!("SET {switch} = off"));
    }

    #[track_caller]
    fn generate(&mut self, subject: &Subject, own: Value, foreign: Value) {
        let query = format!("SELECT {}", subject.shown);
        let message = match (foreign, number(own, subject.default)) {
            (Some(value), _) => format!("parameter \"{}\" could not be set to \"{value}\"", subject.name),
            (None, None) => {
                format!("invalid value for parameter \"{}\": \"{}\"", subject.name, own.unwrap_or(""))
            }
            (None, Some(number)) => {
                self.note(&format!("{query}, which is {number}"));
                let shown: i32 =
                    self.client.query_one(&query, &[]).unwrap_or_else(|e| panic!("{e:?}")).get(0);
                assert_eq!(shown, number);
                return;
            }
        };
        let error = self.refused(&query);
        assert_eq!((error.code().code(), error.message()), ("22023", message.as_str()));
    }

    fn begin(&mut self) {
        match self.saved.len() {
            0 => self.run("BEGIN"),
            depth => self.run(&format!("SAVEPOINT s{depth}")),
        }
        self.saved.push(self.before);
    }

    fn commit(&mut self) {
        match self.saved.len() {
            0 => return,
            1 => {
                self.run("COMMIT");
                self.before.local = None;
            }
            depth => self.run(&format!("RELEASE s{}", depth - 1)),
        }
        self.saved.pop();
        self.reset &= !self.saved.is_empty();
    }

    fn roll_back(&mut self) {
        let Some(before) = self.saved.pop() else { return };
        self.before = before;
        self.reset &= !self.saved.is_empty();
        match self.saved.len() {
            0 => self.run("ROLLBACK"),
            depth => self.run(&format!("ROLLBACK TO s{depth}; RELEASE s{depth}")),
        }
    }

    fn discard_all(&mut self) {
        while !self.saved.is_empty() {
            self.commit();
        }
        self.run("DISCARD ALL");
        self.before = Before::default();
        self.reset = false;
    }
}

impl Walk {
    fn new(server: Server, subject: Subject) -> Self {
        for command in ["CREATE EXTENSION sno_compat", "CREATE ROLE alice LOGIN", "CREATE DATABASE other"] {
            server.connect().batch_execute(command).unwrap();
        }
        server.connect_to("other").batch_execute("CREATE EXTENSION sno_compat CASCADE").unwrap();
        for database in ["postgres", "other"] {
            let function = format!(
                "CREATE FUNCTION with_seven() RETURNS integer LANGUAGE plpgsql SET {} = '7'
                 AS 'BEGIN RETURN {}; END'",
                subject.name, subject.shown
            );
            server.connect_to(database).batch_execute(&function).unwrap();
        }
        let query = "SELECT count(*) > 0 FROM pg_settings WHERE name = 'debug_parallel_query'";
        let renamed = server.connect().query_one(query, &[]).unwrap().get(0);
        Self {
            parallel: if renamed { "debug_parallel_query" } else { "force_parallel_mode" },
            subject,
            server,
            random: Random::seeded(),
            sessions: Vec::new(),
            connected: 0,
            line: None,
            altered: None,
            own: None,
            preloaded: false,
            role: None,
            database: None,
        }
    }

    /// A connection that has nothing to do with the settings of others.
    fn admin(&self, sql: &str) -> Result<(), sno_tests::postgres::Error> {
        println!("admin: {sql}");
        self.server.connect().batch_execute(sql)
    }

    fn connect(&mut self) {
        let mut config = self.server.config();
        let (alice, other) = (self.random.below(2) == 0, self.random.below(2) == 0);
        let option = (self.random.below(4) == 0).then(|| self.random.one(&FOREIGN));
        config.user(if alice { "alice" } else { "postgres" });
        config.dbname(if other { "other" } else { "postgres" });
        if let Some(option) = option {
            config.options(&format!("-c {}={option}", self.subject.name));
        }
        println!("session {}: alice {alice}, other {other}, options {option:?}", self.connected);
        let client = match config.connect(sno_tests::postgres::NoTls) {
            Ok(client) => client,
            Err(error) => {
                assert_eq!(error.code().map(|code| code.code()), Some("55P02"), "{error:?}");
                assert!(self.preloaded && option.is_some());
                return;
            }
        };
        assert!(!(self.preloaded && option.is_some()), "the library was there to refuse it");
        let stored = self.role.filter(|_| alice).or(self.database.filter(|_| other));
        self.sessions.push(Session {
            client,
            number: self.connected,
            loaded: self.preloaded,
            defined: self.preloaded,
            came: option.or(stored).filter(|_| !self.preloaded),
            before: Before::default(),
            saved: Vec::new(),
            reset: false,
        });
        self.connected += 1;
    }

    /// Something that one session does.
    fn session_step(&mut self) {
        let Self { random, subject, sessions, own, parallel, .. } = self;
        let place = random.below(sessions.len() as u64) as usize;
        let (name, value) = (subject.name, random.one(&FOREIGN));
        let session = &mut sessions[place];
        match random.below(21) {
            0 | 1 => session.set(&format!("SET {name} = '{value}'"), Some(value), false),
            2 | 3 => session.set(&format!("SET LOCAL {name} = '{value}'"), Some(value), true),
            4 => session.set(&format!("SELECT set_config('{name}', '{value}', true)"), Some(value), true),
            5 => session.set(&format!("RESET {name}"), None, false),
            6 => session.set(&format!("SET {name} TO DEFAULT"), None, false),
            7 => session.set(&format!("SET LOCAL {name} TO DEFAULT"), None, true),
            8 if random.below(2) == 0 => session.discard_all(),
            8 if session.defined => session.run("RESET ALL"),
            8 => session.set("RESET ALL", None, false),
            9 => {
                session.run(&format!("SELECT {}", subject.read));
                session.load(*own);
            }
            10..=12 => session.begin(),
            13 => session.commit(),
            14 => session.roll_back(),
            15 => {
                let state = if session.defined { "55P02" } else { "22023" };
                assert_eq!(session.refused("SELECT with_seven()").code().code(), state);
                session.loaded = true;
            }
            16 => {
                session.run(&format!(
                    "DO $$ BEGIN PERFORM set_config('{name}', '{value}', {local}); PERFORM {shown};
                     EXCEPTION WHEN OTHERS THEN NULL; END $$",
                    local = random.below(2) == 0,
                    shown = subject.shown,
                ));
                // It comes to an error, and is undone, unless the value is the server's own.
                if !session.defined {
                    let before = session.before;
                    session.before.local = Some(Some(value));
                    session.meet(*own);
                    if !session.defined {
                        session.before = before;
                    }
                }
            }
            17 => session.check_worker(subject, *own, parallel),
            18 => {
                session.check(subject, *own);
                sessions.swap_remove(place);
            }
            _ => session.check(subject, *own),
        }
    }

    /// Something that happens to the server.
    fn server_step(&mut self) {
        let name = self.subject.name;
        let set = self.random.below(2) == 0;
        let foreign = set.then(|| self.random.one(&FOREIGN));
        match self.random.below(12) {
            0..=2 => {
                self.server.unconfigure(name);
                self.line = set.then(|| self.random.one(&SERVER));
                println!("postgresql.conf: {:?}", self.line);
                if let Some(value) = self.line {
                    self.server.configure(name, value);
                }
            }
            3 | 4 => {
                let value = set.then(|| self.random.one(&SERVER[..3]));
                let command =
                    value.map_or(format!("RESET {name}"), |value| format!("SET {name} = '{value}'"));
                println!("admin: ALTER SYSTEM {command}");
                let mut client = self.server.connect();
                // It has to be known to PostgreSQL 15.
                client.batch_execute(&format!("LOAD '{}'", self.subject.library)).unwrap();
                client.batch_execute(&format!("ALTER SYSTEM {command}")).unwrap();
                self.altered = value;
            }
            5..=8 => {
                println!("reload");
                self.server.reload();
                for session in &mut self.sessions {
                    // It reads the files before its next command.
                    session.client.batch_execute("SELECT 1").unwrap();
                }
                self.own = self.altered.or(self.line);
            }
            9 if self.random.below(3) == 0 => self.restart(),
            9 | 10 => {
                if self.store("ROLE alice", self.role, foreign) {
                    self.role = foreign;
                }
            }
            _ => {
                if self.store("DATABASE other", self.database, foreign) {
                    self.database = foreign;
                }
            }
        }
    }

    /// Whether it could be done; a library that is preloaded refuses it, the `RESET` as well.
    fn store(&self, whose: &str, stored: Value, value: Value) -> bool {
        let name = self.subject.name;
        let command = value.map_or(format!("RESET {name}"), |value| format!("SET {name} = '{value}'"));
        let result = self.admin(&format!("ALTER {whose} {command}"));
        assert_eq!(result.is_err(), self.preloaded && value.or(stored).is_some(), "{result:?}");
        result.is_ok()
    }

    fn restart(&mut self) {
        self.sessions.clear();
        self.preloaded = self.random.below(2) == 0;
        println!("restart, preloaded: {}", self.preloaded);
        let preload = if self.preloaded { self.subject.library } else { "" };
        self.server.configure("shared_preload_libraries", preload);
        self.server.restart(Mode::Fast);
        self.own = self.altered.or(self.line);
    }

    fn go(mut self, steps: usize) {
        for _ in 0..steps {
            tally::fault("steps of a random walk over settings");
            match self.random.below(10) {
                0 | 1 => self.server_step(),
                _ if self.sessions.is_empty() => self.connect(),
                2 if self.sessions.len() < 8 => self.connect(),
                _ => self.session_step(),
            }
        }
        // Whatever is open must come to a good end.
        for session in &mut self.sessions {
            session.discard_all();
            session.check(&self.subject, self.own);
        }
    }
}

/// With more workers than there are checks in a moment.
fn server() -> Server {
    Server::builder().conf("max_worker_processes", "64").start()
}

#[test]
fn no_sequence_of_commands_leads_to_another_prefix_or_to_none() {
    let server = server();
    let subject = Subject {
        name: "sno.partition_prefix",
        library: "sno",
        read: "sno_time('9q7k4op826n2g222')",
        shown: "sno_partition(sno_new()) >> 8",
        default: i32::from(*server.auto_prefix().partitions().start() >> 8),
    };
    Walk::new(server, subject).go(pick(400, 10_000));
}

#[test]
fn nor_to_another_number_of_sno_compat() {
    let server = server();
    let subject = Subject {
        name: "sno_compat.uniqueid_cluster",
        library: "sno",
        read: "uniqueid '0000000000000000'",
        shown: "uniqueid_cluster(uniqueid_new())",
        default: 0,
    };
    Walk::new(server, subject).go(pick(200, 5_000));
}
