//! Connections to a server, and its programs.

use std::io::Write;
use std::process::{Output, Stdio};

use postgres::{Client, Config, NoTls};
use sno_core::Prefix;

use super::{PATIENCE, Server};
use crate::{Sql as _, system};

impl Server {
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

    /// What `pg_dump` writes with these arguments, of the database `postgres` unless they name another one.
    #[must_use]
    #[track_caller]
    pub fn dump(&self, arguments: &[&str]) -> String {
        let output = self.command("pg_dump").args(arguments).output().expect("pg_dump");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("a dump in UTF-8")
    }

    /// The prefix that the server takes if it is given none, and that it has drawn with its first ID.
    #[must_use]
    #[track_caller]
    pub fn auto_prefix(&self) -> Prefix {
        self.record().number
    }
}
