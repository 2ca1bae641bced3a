//! The files of `tests/pg_regress`: the SQL surface, as a reader of the documentation would try it out.
//!
//! A new file is run from then on. What stands after `-->` is what psql prints; a version that cannot run a file leaves it by `\quit`.

use std::process::Command;
use std::{env, fs};

use sno_tests::{Builder, Server, program};

#[test]
fn pg_regress() {
    run(&server().start());
}

/// The servers of all runs.
pub(crate) fn server() -> Builder {
    Server::builder().compat().extension(false).conf("sno.partition_prefix", "0")
}

/// Runs all files on a server, and compares what they print.
#[track_caller]
pub(crate) fn run(server: &Server) {
    let output = tempfile::tempdir().unwrap();
    let only = env::var("SNO_REGRESS").unwrap_or_default();
    let passed = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../dev/installcheck"))
        .args(only.split_whitespace())
        .env("PG_CONFIG", program("pg_config"))
        .env("PGHOST", server.socket_folder())
        .env("PGPORT", "5432")
        .env("PGUSER", "postgres")
        .env("OUTPUT", output.path())
        .status()
        .unwrap()
        .success();
    if !passed {
        if let Some(folder) = env::var_os("SNO_RESULTS") {
            // To look at, and to copy to tests/pg_regress when it is right.
            // Over those of an earlier run.
            let copied =
                Command::new("cp").arg("-RT").arg(output.path().join("results")).arg(&folder).status();
            assert!(copied.unwrap().success());
        }
        panic!(
            "{}\nIf this is right: SNO_RESULTS=FOLDER has the files written there as they should be in tests/pg_regress.",
            fs::read_to_string(output.path().join("regression.diffs")).unwrap_or_default()
        );
    }
}
