//! Standbys and copies of a server.

use super::{Builder, Server};
use crate::{Sql as _, system, wait_until};

impl Server {
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
