//! PgBouncer, whose clients share a few server connections.

use std::fs;
use std::path::Path;
use std::process::Child;

use sno_tests::{Server, as_server, give_to_server, skip, wait_until};
use tempfile::TempDir;

/// With few connections, which last for a second. Ends with the test.
pub(super) struct Bouncer {
    process: Child,
    pub(super) folder: TempDir,
}

impl Bouncer {
    pub(super) const PORT: u16 = 6432;

    /// In transaction mode. None if it is not installed.
    pub(super) fn start(server: &Server) -> Option<Self> {
        Self::start_in(server, "transaction")
    }

    pub(super) fn start_in(server: &Server, mode: &str) -> Option<Self> {
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

    pub(super) fn is_alive(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
