//! What a server is to be like, and its data folder.

use std::{fs, os::unix::process::CommandExt, path::PathBuf};

use super::Server;
use crate::system;

/// What a server is to be like.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    pub(super) settings: Vec<(String, String)>,
    pub(super) faketime: bool,
    pub(super) disk: bool,
    pub(super) extension: bool,
    pub(super) preload: bool,
    /// Empty for those that `dev/staged` has prepared.
    pub(super) programs: PathBuf,
    pub(super) initdb: Vec<String>,
    pub(super) arguments: Vec<String>,
    pub(super) tcp: bool,
    pub(super) environment: Vec<(String, String)>,
    pub(super) under: Vec<String>,
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

    /// With the library of `sno_compat` preloaded beside it, and the numbers of a server that is alone.
    #[must_use]
    pub fn compat(self) -> Self {
        self.conf("shared_preload_libraries", "sno, sno_compat")
            .conf("sno_compat.snowflake_si_machine", "0/5")
            .conf("sno_compat.uid60_workers", "0-511")
            .conf("sno_compat.uniqueid_cluster", "0")
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
        crate::control::start();
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
