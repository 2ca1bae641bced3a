//! A library that is replaced while sessions go on: some have the old one, some that of the next version, and none gets
//! an ID that another has. The first test runs with `make test-update`, which derives the next version.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sno_tests::postgres::Client;
use sno_tests::{Mode, Server, Sql as _, error, major_version, program, text};

use crate::upgrades::{folder, install_next};

const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 5000)";
const ONLY_NEXT: &str = "SELECT sno_next(sno_new(1))";

/// Puts a library in place as packages do: under another name first.
fn install(library: &Path) {
    let place = folder(&program(""), "--pkglibdir");
    fs::copy(library, place.join("sno.so.next")).unwrap();
    fs::rename(place.join("sno.so.next"), place.join("sno.so")).unwrap();
}

/// A statement that is planned once and run many times.
fn prepare(client: &mut Client) {
    client
        .run("SET plan_cache_mode = force_generic_plan;
             PREPARE fill AS INSERT INTO event (n) SELECT generate_series(1, 100);
             PREPARE recent(timestamptz) AS SELECT count(*) FROM event WHERE id >= $1 AND sno_metabyte(id) = 1;");
    run(client);
}

#[track_caller]
fn run(client: &mut Client) {
    client.run("EXECUTE fill");
    let counts: i64 = text(client, "EXECUTE recent(now() - interval '1 hour')").parse().unwrap();
    assert_eq!(counts, text(client, "SELECT count(*) FROM event").parse::<i64>().unwrap());
}

#[test]
#[ignore = "needs the library of the next version: make test-update"]
fn sessions_of_both_versions_make_different_ids() {
    let next = env::var_os("SNO_LIBRARY_NEXT").expect("SNO_LIBRARY_NEXT is not set: run make test-update");
    let old = folder(&program(""), "--pkglibdir").join("sno.so.old");
    fs::copy(old.with_extension(""), &old).unwrap();
    install_next(&program(""), "sno_next_wrapper");
    for preload in [false, true] {
        install(&old);
        let server =
            Server::builder().preload(preload).faketime(true).conf("sno.partition_prefix", "3/16").start();
        let mut ids = server.ids();
        let mut old = server.connect();
        old.run("CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)");
        ids.query(&mut old, DRAW).unwrap();
        prepare(&mut old);

        // The files of the next version: sessions that have loaded the old library keep it, and the old SQL goes with
        // both.
        install(Path::new(&next));
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
            let error = error(client, "ALTER EXTENSION sno UPDATE TO 'next'");
            assert_eq!(error.code().code(), "42883", "{error}");
            assert!(error.message().contains("could not find function"), "{error}");
        }
        if preload {
            server.restart(Mode::Fast);
            (old, new) = (server.connect(), server.connect());
            prepare(&mut old);
            prepare(&mut new);
        }
        new.run("ALTER EXTENSION sno UPDATE TO 'next'");
        for client in [&mut old, &mut new, &mut server.connect()] {
            ids.query(client, DRAW).unwrap();
        }
        run(&mut old);
        run(&mut new);
        // What the new SQL has and the old library has not.
        let result = old.batch_execute(ONLY_NEXT).map_err(|error| error.code().unwrap().code().to_owned());
        assert_eq!(result, if preload { Ok(()) } else { Err("42883".into()) });
        // IDs go on above those of before.
        server.restart(Mode::Fast);
        ids.query(&mut server.connect(), DRAW).unwrap();
        server.run(ONLY_NEXT);
        ids.assert_distinct();
    }
}

/// Writes another number over that of the layout, as if another version of the library had created the shared memory.
fn change_layout(server: &Server) {
    let mut client = server.connect();
    if major_version(&mut client) >= 17 {
        // A segment of its own, in a file. The number comes first, and then that the generators are ready.
        let is_ours = |path: &PathBuf| fs::read(path).unwrap().starts_with(&[1, 0, 0, 0, 1]);
        let files = fs::read_dir(server.data().join("pg_dynshmem")).unwrap().map(|file| file.unwrap().path());
        let [file] = &files.filter(is_ours).collect::<Vec<_>>()[..] else { panic!("no segment of sno") };
        return fs::File::options().write(true).open(file).unwrap().write_all(&[99]).unwrap();
    }
    let place: i64 = client.one("SELECT off FROM pg_shmem_allocations WHERE name = 'sno generators'");
    let file = fs::read_to_string(server.data().join("postmaster.pid")).unwrap();
    let segment = file.lines().nth(6).unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    // SAFETY: the server's main segment, and the place of a number in it.
    unsafe {
        let start = libc::shmat(segment, std::ptr::null(), 0);
        assert_ne!(start.addr() as isize, -1, "shmat");
        start.byte_offset(place as isize).cast::<u32>().write_volatile(99);
        libc::shmdt(start);
    }
}

#[test]
fn memory_of_another_layout_waits_for_a_restart() {
    let server = Server::builder()
        .conf("sno.partition_prefix", "3/16")
        .conf("shared_memory_type", "sysv")
        .conf("dynamic_shared_memory_type", "mmap")
        .start();
    let mut ids = server.ids();
    let mut before = server.connect();
    ids.query(&mut before, DRAW).unwrap();
    change_layout(&server);
    let mut after = server.connect();
    for _ in 0..2 {
        let error = error(&mut after, "SELECT sno_new(1)");
        assert_eq!(error.code().code(), "55000", "{error}");
        assert!(error.message().ends_with("was laid out by another version of the library"), "{error}");
        assert!(error.hint().unwrap().contains("Restart"), "{error}");
    }
    // What needs no generator works, and sessions of before go on.
    assert_eq!(text(&mut after, "SELECT sno_metabyte(sno '9q7k4op826n2g222')"), "1");
    ids.query(&mut before, DRAW).unwrap();
    server.restart(Mode::Fast);
    ids.query(&mut server.connect(), DRAW).unwrap();
    ids.assert_distinct();
}
