//! Starts, stops and crashes of a server, and what is checked with them.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use postgres::NoTls;

use super::{Mode, PATIENCE, Server};
use crate::{Sql as _, system, wait_until};

/// The library that stands between a server and its clock and its disk. Cargo puts it beside the tests.
fn preloaded_library() -> PathBuf {
    let tests = std::env::current_exe().expect("this program");
    tests.parent().expect("its folder").join(sno_tests_preload::LIBRARY)
}

impl Server {
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
        let killed: Vec<i32> = pids.into_iter().filter(kill).take(most).collect();
        if killed.is_empty() {
            return 0;
        }
        // All others get killed now, and nobody can connect yet.
        self.hold_clock();
        let began = Instant::now();
        let are_gone = || killed.iter().all(|pid| !system::works_in(*pid, &self.data));
        wait_until("the server has noticed", || {
            self.recoveries() > before || began.elapsed() > Duration::from_secs(20) && are_gone()
        });
        if self.recoveries() == before {
            // They were ending already.
            self.release_clock();
            return 0;
        }
        self.witness.ends(&self.marks(), highest);
        self.witness.starts();
        self.try_ready().unwrap_or_else(|error| panic!("{error}"));
        // For what others draw as soon as they can.
        thread::sleep(Duration::from_millis(20));
        self.release_clock();
        killed.len()
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
}
