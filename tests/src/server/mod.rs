//! A PostgreSQL server that belongs to one test and ends with it.

mod builder;
mod clock;
mod connections;
mod copies;
mod disk;
mod running;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, thread};

use sno_core::record::Record;
use tempfile::TempDir;

use crate::{Ids, system, witness::Witness};
pub use builder::Builder;
use clock::Clock;

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
