//! The files of `tests/pg_regress`: the SQL surface, as a reader of the documentation would try it out.
//!
//! A new file in `sql/` is run from then on; what it prints is compared with the file of the same name in
//! `expected/` (`name_1.out` for another version's output).

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use sno_tests::{Builder, Server, Sql as _, program};

/// Files that run before the others, which follow in the order of their names.
const FIRST: [&str; 1] = ["answer"];

#[test]
fn pg_regress() {
    run(&server().start());
}

/// The servers of all runs.
pub(crate) fn server() -> Builder {
    Server::builder().extension(false).conf("sno.partition_prefix", "0")
}

/// Runs all files on a server, and compares what they print.
#[track_caller]
pub(crate) fn run(server: &Server) {
    server.run("CREATE DATABASE regression");
    server.connect_to("regression").run("CREATE EXTENSION sno; CREATE EXTENSION sno_compat");

    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("pg_regress");
    let mut names: Vec<String> = fs::read_dir(input.join("sql"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        // SNO_REGRESS='type casts' runs these files only, and what others need.
        .filter(|name| {
            let only = env::var("SNO_REGRESS");
            only.map_or(true, |only| only.split(' ').chain(FIRST).any(|file| file == name))
        })
        .collect();
    names.sort_by_key(|name| {
        (FIRST.iter().position(|first| first == name).unwrap_or(usize::MAX), name.clone())
    });

    let pgxs = Command::new(program("pg_config")).arg("--pgxs").output().unwrap();
    let pgxs = Path::new(str::from_utf8(&pgxs.stdout).unwrap().trim()).to_owned();
    let runner = pgxs.ancestors().nth(2).unwrap().join("test/regress/pg_regress");
    let output = tempfile::tempdir().unwrap();
    let passed = Command::new(&runner)
        .arg("--use-existing")
        .arg("--dbname=regression")
        .arg("--user=postgres")
        .arg("--port=5432")
        // Times, dates and intervals as users see them; the runners have ideas of their own.
        .arg("--launcher=env PGTZ=UTC PGDATESTYLE=ISO,YMD PGOPTIONS=-cintervalstyle=postgres")
        .arg(format!("--host={}", server.socket_folder().display()))
        .arg(format!("--bindir={}", program("").display()))
        .arg(format!("--inputdir={}", input.display()))
        .arg(format!("--outputdir={}", output.path().display()))
        .args(&names)
        .env("LC_ALL", "C.UTF-8")
        .status()
        .unwrap_or_else(|e| panic!("{}: {e}", runner.display()))
        .success();
    if !passed {
        if let Some(folder) = env::var_os("SNO_RESULTS") {
            // To look at, and to copy to expected/ when it is right.
            let copied =
                Command::new("cp").arg("-R").arg(output.path().join("results")).arg(&folder).status();
            assert!(copied.unwrap().success());
        }
        panic!("{}", fs::read_to_string(output.path().join("regression.diffs")).unwrap_or_default());
    }
}
