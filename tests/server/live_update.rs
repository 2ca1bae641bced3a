//! An update while sessions go on: some have the library of before, some the new one, and none gets an ID that another has.
//! Run it with `make test-update`, which builds the library of 0.1.0.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sno_tests::postgres::Client;
use sno_tests::{Mode, Server, error, text};

const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 5000)";

/// The server whose library is replaced.
fn programs() -> PathBuf {
    env::var_os("SNO_PG_BIN_UPDATE").expect("SNO_PG_BIN_UPDATE is not set: run make test-update").into()
}

/// Puts a library in place as packages do: under another name first.
fn install(name: &str) {
    let library = env::var_os(name).unwrap_or_else(|| panic!("{name} is not set: run make test-update"));
    let folder = Command::new(programs().join("pg_config")).arg("--pkglibdir").output().unwrap();
    let folder = Path::new(str::from_utf8(&folder.stdout).unwrap().trim()).to_owned();
    fs::copy(library, folder.join("sno.so.next")).unwrap();
    fs::rename(folder.join("sno.so.next"), folder.join("sno.so")).unwrap();
}

/// A statement that is planned once and run many times.
fn prepare(client: &mut Client) {
    client
        .batch_execute(
            "SET plan_cache_mode = force_generic_plan;
             PREPARE fill AS INSERT INTO event (n) SELECT generate_series(1, 100);
             PREPARE recent(timestamptz) AS SELECT count(*) FROM event WHERE id >= $1 AND sno_metabyte(id) = 1;",
        )
        .unwrap();
    run(client);
}

#[track_caller]
fn run(client: &mut Client) {
    client.batch_execute("EXECUTE fill").unwrap();
    let counts: i64 = text(client, "EXECUTE recent(now() - interval '1 hour')").parse().unwrap();
    assert_eq!(counts, text(client, "SELECT count(*) FROM event").parse::<i64>().unwrap());
}

#[test]
#[ignore = "needs the library of 0.1.0: make test-update"]
fn sessions_of_both_versions_make_different_ids() {
    for preload in [false, true] {
        install("SNO_LIBRARY_OLD");
        let server = Server::builder()
            .programs(programs(), &[])
            .preload(preload)
            .faketime(true)
            .extension(false)
            .conf("sno.partition_prefix", "3/16")
            .start();
        let mut ids = server.ids();
        let mut old = server.connect();
        old.batch_execute(
            "CREATE EXTENSION sno VERSION '0.1.0';
             CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)",
        )
        .unwrap();
        ids.query(&mut old, DRAW).unwrap();
        prepare(&mut old);

        // The files of the new version: sessions that have loaded the old library keep it.
        install("SNO_LIBRARY_NEW");
        let mut new = server.connect();
        prepare(&mut new);
        for client in [&mut old, &mut new, &mut server.connect()] {
            ids.query(client, DRAW).unwrap();
        }
        // Sessions with the old library can't update; with the library preloaded, all have that until a restart.
        let mut refused = vec![&mut old];
        if preload {
            refused.push(&mut new);
        }
        for client in refused {
            let error = error(client, "ALTER EXTENSION sno UPDATE");
            assert_eq!(error.code().code(), "42883", "{error}");
            assert!(error.message().contains("could not find function"), "{error}");
        }
        if preload {
            server.restart(Mode::Fast);
            (old, new) = (server.connect(), server.connect());
            prepare(&mut old);
            prepare(&mut new);
        }
        new.batch_execute("ALTER EXTENSION sno UPDATE").unwrap();
        for client in [&mut old, &mut new, &mut server.connect()] {
            ids.query(client, DRAW).unwrap();
        }
        run(&mut old);
        run(&mut new);
        // What the new SQL has and the old library has not.
        let masked = old.batch_execute("SELECT sno_mask(sno_new(1), repeat('x', 16)::bytea)");
        assert_eq!(
            masked.map_err(|error| error.code().unwrap().code().to_owned()),
            if preload { Ok(()) } else { Err("42883".into()) }
        );
        // IDs go on above those of before.
        server.restart(Mode::Fast);
        ids.query(&mut server.connect(), DRAW).unwrap();
        server.connect().batch_execute("SELECT sno_mask(sno_new(1), repeat('x', 16)::bytea)").unwrap();
        ids.query(&mut server.connect(), DRAW).unwrap();
        ids.assert_distinct();
    }
}

#[test]
#[ignore = "needs the library of 0.1.0: make test-update"]
fn a_library_that_lays_its_memory_out_otherwise_waits_for_a_restart() {
    install("SNO_LIBRARY_NEW");
    let server = Server::builder()
        .programs(programs(), &[])
        .faketime(true)
        .conf("sno.partition_prefix", "3/16")
        .start();
    let mut ids = server.ids();
    let mut before = server.connect();
    ids.query(&mut before, DRAW).unwrap();
    install("SNO_LIBRARY_OTHER");
    let mut after = server.connect();
    for _ in 0..2 {
        let error = error(&mut after, "SELECT sno_new(1)");
        assert_eq!(error.code().code(), "55000", "{error}");
        assert_eq!(
            error.message(),
            "shared memory of the generators of sno was laid out by another version of the library"
        );
        assert!(error.hint().unwrap().contains("Restart"), "{error}");
    }
    // What needs no generator works, and sessions of before go on.
    assert_eq!(text(&mut after, "SELECT sno_metabyte(sno '9q7k4op826n2g222')"), "1");
    ids.query(&mut before, DRAW).unwrap();
    server.restart(Mode::Fast);
    ids.query(&mut server.connect(), DRAW).unwrap();
    ids.assert_distinct();
}
