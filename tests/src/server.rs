//! A PostgreSQL server that belongs to one test and ends with it.

use std::io::Write;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{fs, thread};

use postgres::{Client, Config, NoTls};
use sno_core::{Prefix, record::Record};
use tempfile::TempDir;

use crate::{Ids, Sql as _, system, wait_until, witness::Witness};

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Ends sessions, writes a checkpoint.
    Fast,
    /// Drops everything; the next start recovers from the log.
    Immediate,
    /// `kill -9` for every process of the server: what a crash of the machine looks like.
    Crash,
}

/// The longest that anything may take here before the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The library that stands between a server and its clock and its disk. Cargo puts it beside the tests.
fn preloaded_library() -> PathBuf {
    let tests = std::env::current_exe().expect("this program");
    tests.parent().expect("its folder").join(sno_tests_preload::LIBRARY)
}

/// What a server is to be like.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    settings: Vec<(String, String)>,
    faketime: bool,
    disk: bool,
    extension: bool,
    preload: bool,
    /// Empty for those that `dev/staged` has prepared.
    programs: PathBuf,
    initdb: Vec<String>,
    arguments: Vec<String>,
    tcp: bool,
    environment: Vec<(String, String)>,
    under: Vec<String>,
}

impl Builder {
    /// A line of `postgresql.conf`; the last one for a name counts.
    #[must_use]
    pub fn conf(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// A variable of the server's environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Whether `shared_preload_libraries` names the extension.
    #[must_use]
    pub fn preload(mut self, preload: bool) -> Self {
        self.preload = preload;
        self
    }

    /// Whether [`Server::set_clock`] can move the server's clock.
    #[must_use]
    pub fn faketime(mut self, faketime: bool) -> Self {
        self.faketime = faketime;
        self
    }

    /// Whether the marks are on a disk of their own kind, with `fsync` on: [`Server::disk_calls`] tells what is done to
    /// it,
    /// [`Server::fail_disk`] makes it fail, and [`Mode::Crash`] loses what was not synced.
    #[must_use]
    pub fn disk(mut self, disk: bool) -> Self {
        self.disk = disk;
        self.conf("fsync", if disk { "on" } else { "off" })
    }

    /// Whether the first start is followed by `CREATE EXTENSION sno` in the database `postgres`.
    #[must_use]
    pub fn extension(mut self, extension: bool) -> Self {
        self.extension = extension;
        self
    }

    /// The folder of another server's programs than `dev/staged` has prepared, with the options of `initdb` that
    /// they need.
    #[must_use]
    pub fn programs(mut self, folder: impl Into<PathBuf>, initdb: &[&str]) -> Self {
        self.programs = folder.into();
        self.initdb = initdb.iter().map(ToString::to_string).collect();
        self
    }

    /// An argument of the server's program, at each start: `"-csno.partition_prefix=42"`.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// A program that runs the server, with its arguments: `valgrind`.
    #[must_use]
    pub fn under(mut self, program: &[&str]) -> Self {
        self.under = program.iter().map(ToString::to_string).collect();
        self
    }

    /// Whether clients can connect by TCP, too: from this machine, and with a password. The port is
    /// [`Server::port`].
    #[must_use]
    pub fn tcp(mut self, tcp: bool) -> Self {
        self.tcp = tcp;
        self
    }

    /// Makes the server's data folder and starts it.
    #[must_use]
    #[track_caller]
    pub fn start(self) -> Server {
        let postgres = system::program(self.programs.join("postgres"));
        assert!(postgres.exists(), "there is no {}", postgres.display());
        let mut server = Server::new(self);
        let options = server.options.clone();
        let template = system::temporary().join("template");
        let mut make = if template.is_dir() && options.programs.as_os_str().is_empty() {
            let mut copy = std::process::Command::new("cp");
            copy.arg("-a").arg(&template).arg(&server.data).current_dir("/");
            if let Some((user, group)) = system::server_identity() {
                copy.uid(user).gid(group);
            }
            copy
        } else {
            let mut initdb = system::server_command(options.programs.join("initdb"));
            initdb.args([
                "--no-sync",
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
            ]);
            initdb.args(&options.initdb).arg("--pgdata").arg(&server.data);
            initdb
        };
        let output = make.output().expect("initdb");
        assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));

        for (name, value) in [
            ("listen_addresses", ""),
            ("fsync", "off"),
            ("max_connections", "100"),
            ("shared_buffers", "32MB"),
            ("timezone", "UTC"),
            ("log_timezone", "UTC"),
            ("log_line_prefix", "%m [%p] %b %a: "),
            // What does not end fails.
            ("statement_timeout", "2min"),
        ] {
            server.configure(name, value);
        }
        if options.preload {
            server.configure("shared_preload_libraries", "sno");
        }
        for (name, value) in &options.settings {
            server.configure(name, value);
        }
        // For all servers of a run: SNO_CONF='debug_discard_caches=1'.
        for (name, value) in std::env::var("SNO_CONF")
            .iter()
            .flat_map(|conf| conf.split(','))
            .filter_map(|line| line.split_once('='))
        {
            server.configure(name, value);
        }
        if options.tcp {
            server.port = system::free_port();
            server.configure("listen_addresses", "127.0.0.1");
            let rules = "local all,replication all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
            fs::write(server.data.join("pg_hba.conf"), rules).expect("pg_hba.conf");
        }
        server.place_socket();
        server.start();
        if options.extension {
            server.run("CREATE EXTENSION sno");
        }
        server
    }
}

/// The clock of a server that has [`Builder::faketime`].
#[derive(Debug, Default)]
struct Clock {
    /// How far it is ahead of the machine's while it goes, in seconds.
    offset: f64,
    /// The time that it stands at, in Unix microseconds.
    held: Option<i64>,
}

impl Clock {
    /// How far the clock is ahead of the machine's at this moment, in seconds.
    fn offset(&self) -> f64 {
        self.held.map_or(self.offset, |held| (held - micros_now()) as f64 / 1e6)
    }
}

fn micros_now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that is set").as_micros() as i64
}

/// A PostgreSQL server of its own: own data folder, own socket, no network unless asked for. It stops when it is
/// dropped, when the test panics, and when the test process ends in whatever way.
///
/// The only superuser is `postgres`, and so is the database that clients get unless they say otherwise.
#[derive(Debug)]
pub struct Server {
    postmaster: Mutex<Option<Child>>,
    data: PathBuf,
    options: Builder,
    port: u16,
    witness: Arc<Witness>,
    clock: Mutex<Clock>,
    // Last, since fields are dropped in order: the folder goes after the server.
    home: TempDir,
}

impl Server {
    /// A server to be: set it up, then [`Builder::start`] it.
    #[must_use]
    pub fn builder() -> Builder {
        Builder { extension: true, preload: true, ..Builder::default() }
    }

    fn new(options: Builder) -> Self {
        system::raise_file_limit();
        // Nobody else on this machine can enter the folder, and so nobody can connect: everybody is trusted.
        let home =
            tempfile::Builder::new().prefix("s").tempdir_in(system::temporary()).expect("a temporary folder");
        system::give_to_server(home.path());
        let data = home.path().join("data");
        let server = Self {
            postmaster: Mutex::new(None),
            data,
            options,
            port: 5432,
            witness: Arc::default(),
            clock: Mutex::default(),
            home,
        };
        if server.options.faketime {
            fs::write(server.clock_path(), [0; 8]).expect("the clock");
            system::give_to_server(&server.clock_path());
            server.set_clock("+0");
        }
        server
    }

    /// Appends a line to `postgresql.conf`: it counts from the next start or [`reload`](Self::reload) on, unless
    /// there is an `ALTER SYSTEM` for the same name.
    #[track_caller]
    pub fn configure(&self, name: &str, value: &str) {
        let mut file = system::appending(&self.data.join("postgresql.conf"));
        writeln!(file, "{name} = '{}'", value.replace('\'', "''")).expect("postgresql.conf");
    }

    /// Removes a setting's lines from `postgresql.conf`, which counts from the next start or reload on.
    #[track_caller]
    pub fn unconfigure(&self, name: &str) {
        let path = self.data.join("postgresql.conf");
        let text = fs::read_to_string(&path).expect("postgresql.conf");
        let start = format!("{name} = ");
        let left = text.split_inclusive('\n').filter(|line| !line.starts_with(&start));
        fs::write(&path, left.collect::<String>()).expect("postgresql.conf");
    }

    /// The socket lives in the server's own folder, so that its number need not differ from anybody's.
    fn place_socket(&self) {
        self.configure("unix_socket_directories", &self.home.path().display().to_string());
        self.configure("port", &self.port.to_string());
    }

    /// Starts a server that was stopped, and waits until it takes connections.
    #[track_caller]
    pub fn start(&self) {
        if let Err(error) = self.try_start() {
            panic!("{error}");
        }
    }

    /// Starts a server that was stopped; the end of its log if it does not come up.
    pub fn try_start(&self) -> Result<(), String> {
        let mut postmaster = self.postmaster.lock().unwrap_or_else(|e| e.into_inner());
        assert!(postmaster.is_none(), "the server runs already");
        let log = system::appending(&self.log_path());
        let postgres = system::program(self.options.programs.join("postgres"));
        let mut program = self.options.under.iter().map(PathBuf::from).chain([postgres]);
        let mut command = system::server_command(program.next().expect("a program"));
        command
            .args(program)
            .arg("-D")
            .arg(&self.data)
            .args(&self.options.arguments)
            // Otherwise a client finds backtraces in the DETAIL of errors of PostgreSQL's.
            .env_remove("RUST_BACKTRACE")
            .envs(self.options.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log"))
            .stderr(log)
            // Ctrl-C is for the tests; the server hears of it when they end.
            .process_group(0);
        if self.options.faketime || self.options.disk {
            command.env("LD_PRELOAD", preloaded_library());
        }
        if self.options.faketime {
            command.env("SNO_CLOCK", self.clock_path());
        }
        if self.options.disk {
            command.env("SNO_DISK", "1");
        }
        // SIGQUIT is an immediate shutdown: quick, and nothing stays behind.
        let child = system::spawn_with_death_signal(command, libc::SIGQUIT).expect("postgres");
        let pid = child.id() as i32;
        *postmaster = Some(child);
        drop(postmaster);
        self.try_ready()?;
        // By this the harness knows whom it may kill.
        assert!(
            self.processes().contains(&pid),
            "/proc does not tell which folder the postmaster ({pid}) works in"
        );
        self.witness.starts();
        self.release_clock();
        Ok(())
    }

    fn try_ready(&self) -> Result<(), String> {
        let began = Instant::now();
        loop {
            let error = match self.config().connect(NoTls) {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            {
                let mut postmaster = self.postmaster.lock().unwrap_or_else(|e| e.into_inner());
                let ended = match postmaster.as_mut() {
                    Some(child) => child.try_wait().expect("the postmaster"),
                    None => return Err("the server is stopped".into()),
                };
                if let Some(status) = ended {
                    *postmaster = None;
                    return Err(format!("the server ended with {status}:\n{}", self.log_tail()));
                }
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("no connection after {PATIENCE:?}: {error}\n{}", self.log_tail()));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Stops the server and waits until it has ended.
    #[track_caller]
    pub fn stop(&self, mode: Mode) {
        let mut postmaster = self.postmaster.lock().unwrap_or_else(|e| e.into_inner());
        let mut child = postmaster.take().expect("a server that runs");
        let pid = child.id() as i32;
        let signal = match mode {
            Mode::Fast => libc::SIGINT,
            Mode::Immediate => libc::SIGQUIT,
            Mode::Crash => libc::SIGKILL,
        };
        system::send_signal(pid, signal);
        let began = Instant::now();
        while child.try_wait().expect("the postmaster").is_none() {
            if began.elapsed() > PATIENCE {
                *postmaster = Some(child);
                panic!("the server did not stop ({mode:?}):\n{}", self.log_tail());
            }
            thread::sleep(Duration::from_millis(5));
        }
        match mode {
            Mode::Crash => self.kill_all(),
            _ => self.ended(),
        }
    }

    /// Checks what holds at the end of a run, and stops the clock.
    #[track_caller]
    fn ended(&self) {
        // A second panic would hide the first.
        if thread::panicking() {
            return;
        }
        self.witness.ends(&self.marks(), self.witness.highest());
        self.hold_clock();
    }

    /// Leaves of the marks file what was synced, as a crash of the machine does.
    fn lose_what_was_not_synced(&self) {
        match fs::read(self.data.join(sno_tests_preload::DISK)) {
            // In place: its inode number stays.
            Ok(synced) => fs::write(self.marks(), synced).expect("sno.marks"),
            Err(_) => {
                let _ = fs::remove_file(self.marks());
            }
        }
    }

    /// What was done to the [disk](Builder::disk) so far, a line for each call.
    #[must_use]
    pub fn disk_calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.data.join(sno_tests_preload::CALLS)).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// Makes calls to the [disk](Builder::disk) fail from now on: `"fdatasync 5"`, `"pwrite64 28"`, `"pwrite64 short"`.
    /// Nothing fails with an empty text.
    #[track_caller]
    pub fn fail_disk(&self, faults: &str) {
        let path = self.data.join(sno_tests_preload::FAULT);
        fs::write(&path, faults).expect("the faults");
        system::give_to_server(&path);
    }

    /// For a test that damages or removes the marks file while the server runs: from now on, IDs may be above the
    /// mark on disk.
    pub fn excuse_marks(&self) {
        self.witness.excuse();
    }

    /// A collection for IDs that this server hands out now. The invariants of the guarantee are checked with each of
    /// them: it is above all of before the last start, and when the server ends, below the mark on disk.
    #[must_use]
    pub fn ids(&self) -> Ids {
        Ids::of(self.witness.clone())
    }

    /// Kills the postmaster with `kill -9`, and nothing else: its backends may live on until
    /// [`kill_all`](Self::kill_all).
    #[track_caller]
    pub fn kill_postmaster(&self) {
        let mut postmaster = self.postmaster.lock().unwrap_or_else(|e| e.into_inner());
        let mut child = postmaster.take().expect("a server that runs");
        child.kill().and_then(|()| child.wait()).expect("the postmaster");
    }

    /// The server's processes: with the postmaster, or what it has left behind.
    fn processes(&self) -> Vec<i32> {
        system::processes_in(&self.data)
    }

    /// `kill -9` for whatever is left of the server.
    pub fn kill_all(&self) {
        let began = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() || began.elapsed() > PATIENCE {
                break;
            }
            for pid in left {
                system::send_signal(pid, libc::SIGKILL);
            }
            thread::sleep(Duration::from_millis(5));
        }
        if self.options.disk {
            self.lose_what_was_not_synced();
        }
        self.ended();
    }

    /// Stops the server and starts it again. On a clock that can be moved, this takes no time.
    #[track_caller]
    pub fn restart(&self, mode: Mode) {
        self.stop(mode);
        self.start();
    }

    /// Has the server read its configuration again, and waits until new sessions see it. Sessions that are there
    /// already follow when they are idle.
    #[track_caller]
    pub fn reload(&self) {
        let mut client = self.connect();
        let query = "SELECT pg_conf_load_time()::text";
        let before: String = client.one(query);
        client.run("SELECT pg_reload_conf()");
        wait_until("a reload", || self.connect().one::<String>(query) != before);
    }

    /// Kills at most so many of these processes of the server's with `kill -9`, and waits until the server has
    /// recovered from that; how many of them were there. On a clock that can be moved, the recovery takes no time.
    #[track_caller]
    pub fn crash(&self, most: usize, pids: impl IntoIterator<Item = i32>) -> usize {
        let before = self.recoveries();
        let highest = self.witness.highest();
        // By now it may be another process that got a number.
        let kill = |pid: &i32| system::works_in(*pid, &self.data) && system::send_signal(*pid, libc::SIGKILL);
        let killed = pids.into_iter().filter(kill).take(most).count();
        if killed == 0 {
            return 0;
        }
        // All others get killed now, and nobody can connect yet.
        self.hold_clock();
        wait_until("the server has noticed", || self.recoveries() > before);
        self.witness.ends(&self.marks(), highest);
        self.witness.starts();
        self.try_ready().unwrap_or_else(|error| panic!("{error}"));
        // For what others draw as soon as they can.
        thread::sleep(Duration::from_millis(20));
        self.release_clock();
        killed
    }

    /// Kills one of the server's processes with `kill -9` and waits until the server has recovered from that.
    #[track_caller]
    pub fn crash_backend(&self, pid: i32) {
        assert_eq!(self.crash(1, [pid]), 1, "there is no process {pid}");
    }

    /// How often the server has started over because one of its processes crashed.
    #[must_use]
    pub fn recoveries(&self) -> usize {
        self.log().matches("all server processes terminated; reinitializing").count()
    }

    /// Moves the server's clock by so many seconds against the machine's: `"+1"`, `"-0.25"`, `"-3600"`. The
    /// change counts at once, for all of its processes. Needs [`Builder::faketime`].
    #[track_caller]
    pub fn set_clock(&self, offset: &str) {
        let mut clock = self.clock.lock().unwrap();
        *clock = Clock { offset: offset.parse().expect("seconds"), held: None };
        self.write_clock(&clock);
    }

    /// Moves the server's clock ahead by so many seconds from where it is, instead of a wait.
    #[track_caller]
    pub fn advance_clock(&self, seconds: f64) {
        let offset = self.clock.lock().unwrap().offset();
        self.set_clock(&format!("{:+.6}", offset + seconds));
    }

    #[track_caller]
    fn write_clock(&self, clock: &Clock) {
        assert!(self.options.faketime, "this server's clock is the machine's: say faketime(true)");
        let number = clock.held.map_or((clock.offset * 1e6) as i64 * 2, |held| held * 2 + 1);
        // In place, since the server's processes have it mapped, and in one step.
        let file = fs::File::options().write(true).open(self.clock_path());
        file.and_then(|file| file.write_all_at(&number.to_ne_bytes(), 0)).expect("the clock");
    }

    /// Has the clock stand at the server's last ID, so that the next one could equal it. It does nothing if the clock
    /// can't be moved.
    pub fn hold_clock(&self) {
        let mut clock = self.clock.lock().unwrap();
        if !self.options.faketime || clock.held.is_some() {
            return;
        }
        let held = self.witness.last().unwrap_or_else(|| micros_now() + (clock.offset * 1e6) as i64);
        clock.held = Some(held);
        self.write_clock(&clock);
    }

    /// Has the clock stand at so many microseconds since 1970, until the next start.
    pub fn stop_clock(&self, unix_micros: i64) {
        let mut clock = self.clock.lock().unwrap();
        clock.held = Some(unix_micros);
        self.write_clock(&clock);
    }

    /// Has the clock go on from where it [stands](Self::hold_clock), unless it was set since.
    fn release_clock(&self) {
        let mut clock = self.clock.lock().unwrap();
        if clock.held.is_some() {
            *clock = Clock { offset: clock.offset(), held: None };
            self.write_clock(&clock);
        }
    }

    fn clock_path(&self) -> PathBuf {
        self.home.path().join("clock")
    }

    /// The settings of a connection to this server, to be changed and connected by the caller.
    #[must_use]
    pub fn config(&self) -> Config {
        let mut config = Config::new();
        config
            .host_path(self.home.path())
            .port(self.port)
            .user("postgres")
            .dbname("postgres")
            .connect_timeout(PATIENCE);
        config
    }

    /// The connection string of this server, as libpq understands it.
    #[must_use]
    pub fn connection_string(&self) -> String {
        format!("host={} port={} user=postgres dbname=postgres", self.home.path().display(), self.port)
    }

    /// The port, of the socket's name and of [TCP](Builder::tcp).
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    #[track_caller]
    fn connected(&self, config: &Config) -> Client {
        config.connect(NoTls).unwrap_or_else(|e| panic!("no connection: {e:?}\n{}", self.log_tail()))
    }

    /// A connection of the superuser's.
    #[must_use]
    #[track_caller]
    pub fn connect(&self) -> Client {
        self.connected(&self.config())
    }

    /// A connection of another user's.
    #[must_use]
    #[track_caller]
    pub fn connect_as(&self, user: &str) -> Client {
        self.connected(self.config().user(user))
    }

    /// A connection to another database.
    #[must_use]
    #[track_caller]
    pub fn connect_to(&self, database: &str) -> Client {
        self.connected(self.config().dbname(database))
    }

    /// A connection with settings, as `PGOPTIONS` has them: `"-c sno.partition_prefix=7"`.
    #[must_use]
    #[track_caller]
    pub fn connect_with(&self, options: &str) -> Client {
        self.connected(self.config().options(options))
    }

    /// Runs SQL that has to succeed, in a session of its own.
    #[track_caller]
    pub fn run(&self, sql: &str) {
        self.connect().run(sql);
    }

    /// What `psql` makes of some SQL that is typed in: unaligned, rows only, stopping at the first error.
    #[must_use]
    pub fn psql(&self, sql: &str) -> Output {
        let mut psql = system::client_command(self.options.programs.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &self.connection_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("psql");
        // It may have gone already, after an error.
        let _ = psql.stdin.take().expect("a pipe").write_all(sql.as_bytes());
        psql.wait_with_output().expect("psql")
    }

    /// The prefix that the server takes if it is given none.
    #[must_use]
    #[track_caller]
    pub fn auto_prefix(&self) -> Prefix {
        let query = "SELECT system_identifier FROM pg_control_system()";
        let identifier: i64 = self.connect().one(query);
        Prefix::from_system_identifier(identifier as u64)
    }

    /// The data folder.
    #[must_use]
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The file of the marks.
    #[must_use]
    pub fn marks(&self) -> PathBuf {
        self.data.join("sno.marks")
    }

    /// What the file of the marks says.
    #[must_use]
    #[track_caller]
    pub fn record(&self) -> Record {
        let file = fs::read(self.marks()).expect("sno.marks");
        Record::newest(&file).expect("a record in sno.marks")
    }

    /// The folder of the server's socket.
    #[must_use]
    pub fn socket_folder(&self) -> &Path {
        self.home.path()
    }

    fn log_path(&self) -> PathBuf {
        self.home.path().join("log")
    }

    /// The server's log, from its first start on.
    #[must_use]
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.log_path()).unwrap_or_default()).into_owned()
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        format!("The end of the server's log:\n{}", lines[lines.len().saturating_sub(30)..].join("\n"))
    }

    /// A server of the same programs, whose clock can be moved and whose disk is looked at if this one's are.
    fn sibling(&self) -> Server {
        let Builder { disk, faketime, programs, .. } = self.options.clone();
        Self::new(Builder { disk, faketime, programs, ..Builder::default() })
    }

    /// A hot standby of this server that follows it; it is up when this returns.
    #[must_use]
    #[track_caller]
    pub fn standby(&self) -> Server {
        let mut standby = self.sibling();
        if self.options.tcp {
            standby.port = system::free_port();
        }
        let output = system::server_command(self.options.programs.join("pg_basebackup"))
            .args(["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"])
            .args(["--dbname", &self.connection_string(), "--pgdata"])
            .arg(&standby.data)
            .output()
            .expect("pg_basebackup");
        assert!(output.status.success(), "pg_basebackup: {}", String::from_utf8_lossy(&output.stderr));
        standby.place_socket();
        standby.start();
        standby
    }

    /// A second server with a copy of this one's files, which is stopped; the copy is up when this returns.
    #[must_use]
    #[track_caller]
    pub fn copy(&self) -> Server {
        let copy = self.sibling();
        let output = std::process::Command::new("cp").arg("-a").args([&self.data, &copy.data]).output();
        let output = output.expect("cp");
        assert!(output.status.success(), "cp: {}", String::from_utf8_lossy(&output.stderr));
        copy.place_socket();
        copy.start();
        copy
    }

    /// One of the server's programs, to run as the server's user, with this server as the one it connects to:
    /// `pg_dump`, `pg_restore`.
    #[must_use]
    pub fn command(&self, program: &str) -> std::process::Command {
        let mut command = system::server_command(self.options.programs.join(program));
        command
            .env("PGHOST", self.home.path())
            .env("PGPORT", self.port.to_string())
            .env("PGUSER", "postgres");
        command
    }

    /// Waits until a standby has replayed everything that this server has written so far.
    #[track_caller]
    pub fn wait_replayed(&self, standby: &Server) {
        let position: String = self.connect().one("SELECT pg_current_wal_flush_lsn()::text");
        let query = format!("SELECT pg_last_wal_replay_lsn() >= '{position}'");
        let mut client = standby.connect();
        wait_until("the standby has followed", || client.one(&query));
    }

    /// Makes a standby a server of its own, and waits until it is.
    #[track_caller]
    pub fn promote(&self) {
        assert!(self.connect().one::<bool>("SELECT pg_promote(true, 60)"), "not promoted");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if thread::panicking() && self.log_path().exists() {
            eprintln!("{}", self.log_tail());
            if std::env::var("SNO_KEEP").is_ok_and(|keep| !keep.is_empty()) {
                self.home.disable_cleanup(true);
                let test = thread::current().name().unwrap_or("a test").to_owned();
                eprintln!("The log and the data folder of {test} are kept: {}", self.home.path().display());
            }
        }
        let postmaster = self.postmaster.get_mut().unwrap_or_else(|e| e.into_inner());
        if let Some(mut child) = postmaster.take() {
            system::send_signal(child.id() as i32, libc::SIGQUIT);
            let began = Instant::now();
            while matches!(child.try_wait(), Ok(None)) && began.elapsed() < Duration::from_secs(10) {
                thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        self.kill_all();
    }
}
