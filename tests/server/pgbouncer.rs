//! Clients that share a few server connections, transaction by transaction: generating, and reading a feed.

use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{fs, thread, time::Duration};

use sno_tests::postgres::{Config, NoTls};
use sno_tests::{Server, Sql as _, as_server, give_to_server, in_parallel, skip, text, wait_until};
use tempfile::TempDir;

/// With few connections, which last for a second. Ends with the test.
pub(crate) struct Bouncer {
    process: Child,
    pub(crate) folder: TempDir,
}

impl Bouncer {
    pub(crate) const PORT: u16 = 6432;

    /// In transaction mode. None if it is not installed.
    pub(crate) fn start(server: &Server) -> Option<Self> {
        Self::start_in(server, "transaction")
    }

    pub(crate) fn start_in(server: &Server, mode: &str) -> Option<Self> {
        let program = Path::new("/usr/sbin/pgbouncer");
        if !program.exists() {
            skip("PgBouncer is not installed");
            return None;
        }
        let folder = tempfile::Builder::new().prefix("b").tempdir_in(server.socket_folder()).unwrap();
        let (path, port) = (folder.path().display(), Self::PORT);
        let conf = format!(
            "[databases]\npostgres = host={} port={} user=postgres\n[pgbouncer]\npool_mode = {mode}\ndefault_pool_size = 3\n\
             server_lifetime = 1\nignore_startup_parameters = extra_float_digits,options\nauth_type = any\nlisten_addr =\n\
             listen_port = {port}\nunix_socket_dir = {path}\nlogfile = {path}/log\n",
            server.socket_folder().display(),
            server.port()
        );
        fs::write(folder.path().join("conf"), conf).unwrap();
        give_to_server(folder.path());
        let process = as_server(program).arg("-q").arg(folder.path().join("conf")).spawn().unwrap();
        wait_until("PgBouncer's socket", || folder.path().join(format!(".s.PGSQL.{port}")).exists());
        Some(Self { process, folder })
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn pgbouncer_in_transaction_mode() {
    let server = Server::builder().start();
    let Some(bouncer) = Bouncer::start(&server) else { return };
    server.run(
        "CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(), n integer);
         CREATE TABLE copied (LIKE events);
         SELECT sno_create_feed('export', 'events', margin => '0')",
    );
    let connect = || {
        let mut config = Config::new();
        config.host_path(bouncer.folder.path()).port(Bouncer::PORT).user("postgres").dbname("postgres");
        config.connect(NoTls).unwrap()
    };
    let (clients, each) = (12, 100);
    let working = AtomicUsize::new(clients);
    in_parallel(clients + 2, |number| {
        let mut client = connect();
        if number < clients {
            for n in 0..each {
                client.run(&format!(
                    "BEGIN; INSERT INTO events (n) VALUES ({number} * 1000 + {n}); SELECT sno_new(2); COMMIT"
                ));
            }
            working.fetch_sub(1, Relaxed);
        } else {
            while working.load(Relaxed) > 0 {
                client
                    .run("BEGIN; INSERT INTO copied SELECT * FROM sno_feed('export', NULL::events); COMMIT");
                thread::sleep(Duration::from_millis(5));
            }
        }
    });
    let mut client = server.connect();
    let sessions = "SELECT count(*) <= 3 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    assert_eq!(text(&mut client, sessions), "t");
    client.run("INSERT INTO copied SELECT * FROM sno_feed('export', NULL::events)");
    let rows = (clients * each) as i64;
    for query in [
        "SELECT count(DISTINCT n) FROM events",
        "SELECT count(*) FROM copied",
        "SELECT count(*) FROM (TABLE events INTERSECT TABLE copied) same",
    ] {
        assert_eq!(client.one::<i64>(query), rows, "{query}");
    }
}
