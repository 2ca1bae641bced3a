//! The file of the marks: unwritable, no file, on a full disk, torn, missing, blank, another server's.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use sno_tests::postgres::error::DbError;
use sno_tests::sno_core::{
    TickType as _,
    record::{LENGTH, Record},
};
use sno_tests::{Ids, Mode, Server, Sql as _, give_to_server, wait_until};

use crate::{code, error, load, tally, within_a_minute};

const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 1000)";

/// One generator for all backends, so that what could come twice does.
fn server() -> Server {
    Server::builder().faketime(true).conf("sno.partition_prefix", "3/16").start()
}

/// With a disk that can be full.
fn disk() -> Server {
    Server::builder().disk(true).faketime(true).conf("sno.partition_prefix", "3/16").start()
}

/// A server, and its first IDs.
#[track_caller]
fn drawn(server: Server) -> (Server, Ids) {
    let mut ids = server.ids();
    ids.query(&mut server.connect(), DRAW).unwrap();
    (server, ids)
}

/// Draws until the marks run out; the error that comes then.
#[track_caller]
fn run_out(server: &Server, ids: &mut Ids) -> DbError {
    let mut client = server.connect();
    let began = Instant::now();
    loop {
        if let Err(error) = ids.query(&mut client, DRAW) {
            let took = began.elapsed();
            assert!(took < Duration::from_secs(5), "at the mark, two seconds ahead, not {took:?} later");
            return error.as_db_error().unwrap().clone();
        }
        assert!(began.elapsed() < Duration::from_secs(10), "no error");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Two writers at the same time could leave the older mark in the file: who renews a mark early needs the lock, too.
#[test]
fn an_early_renewal_without_the_lock() {
    let server = server();
    let mut client = server.connect();
    client.run("SET statement_timeout = '500ms'; SELECT sno_new(1)");
    let serial = server.record().serial;
    let file = fs::File::open(server.marks()).unwrap();
    file.lock().unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1700) {
        // On a busy machine it may be late, and then wait for the lock.
        let _ = client.batch_execute("SELECT sno_new(1)");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(server.record().serial, serial);
    file.unlock().unwrap();
    thread::sleep(Duration::from_millis(300));
    client.run("SELECT sno_new(1)");
    assert!(server.record().serial > serial);
}

/// Draws from a server that has started with a record: no ID may lie in time that the record covers.
#[track_caller]
fn draw_above(server: &Server, record: &Record, ids: &mut Ids) {
    let mut after = server.ids();
    after.query(&mut server.connect(), DRAW).unwrap();
    assert!(after.iter().all(|id| id.tick() > record.limits[id.tick_tock() as usize]), "{record}");
    ids.append(after);
}

#[test]
fn unwritable() {
    let (server, mut ids) = drawn(server());
    fs::set_permissions(server.marks(), Permissions::from_mode(0o400)).unwrap();
    tally::fault("marks that can't be written");
    let error = run_out(&server, &mut ids);
    assert_eq!(error.code().code(), "58030");
    assert_eq!(error.message(), "could not open file \"sno.marks\": Permission denied (os error 13)");
    assert_eq!(error.detail(), Some("Without it, IDs could repeat after a restart."));
    // Seen in the log before anyone felt it.
    assert!(server.log().contains("LOG:  could not open file \"sno.marks\""), "{}", server.log());
    // No restart helps, and nothing is made up.
    server.restart(Mode::Immediate);
    assert_eq!(code(&mut server.connect(), "SELECT sno_new(1)"), "58030");
    fs::set_permissions(server.marks(), Permissions::from_mode(0o600)).unwrap();
    ids.query(&mut server.connect(), DRAW).unwrap();

    // A folder in its place.
    server.excuse_marks();
    fs::remove_file(server.marks()).unwrap();
    fs::create_dir(server.marks()).unwrap();
    give_to_server(&server.marks());
    tally::fault("marks that can't be written");
    assert_eq!(run_out(&server, &mut ids).code().code(), "58030");
    fs::remove_dir(server.marks()).unwrap();
    ids.query(&mut server.connect(), DRAW).unwrap();
    tally::prove(ids);
}

/// A read from a pipe waits for ever, and what is written to a device is lost.
#[test]
fn no_regular_file() {
    let server = server();
    server.stop(Mode::Fast);
    for device in [None, Some("/dev/null"), Some("/dev/zero")] {
        match device {
            Some(device) => symlink(device, server.marks()).unwrap(),
            None => {
                let made = Command::new("mkfifo").arg(server.marks()).status().unwrap();
                assert!(made.success());
                give_to_server(&server.marks());
            }
        }
        tally::fault("marks that can't be written");
        server.start();
        let error = within_a_minute(&server, || error(&mut server.connect(), "SELECT sno_new(1)"));
        assert_eq!(error.code().code(), "58030", "{device:?}");
        assert_eq!(error.message(), "could not open file \"sno.marks\": not a regular file", "{device:?}");
        server.stop(Mode::Fast);
        fs::remove_file(server.marks()).unwrap();
    }
    server.start();
    let mut ids = server.ids();
    ids.query(&mut server.connect(), DRAW).unwrap();
    tally::prove(ids);
}

#[test]
fn a_full_disk_while_the_server_runs() {
    let (server, mut ids) = drawn(disk());
    server.fail_disk("pwrite64 28");
    tally::fault("disks that are full");
    let error = run_out(&server, &mut ids);
    assert_eq!(error.code().code(), "53100");
    assert_eq!(error.message(), "could not write file \"sno.marks\": No space left on device (os error 28)");
    server.restart(Mode::Immediate);
    assert_eq!(code(&mut server.connect(), "SELECT sno_new(1)"), "53100");
    server.fail_disk("");
    ids.query(&mut server.connect(), DRAW).unwrap();
    tally::prove(ids);
}

#[test]
fn a_full_disk_when_the_file_is_made() {
    let server = disk();
    // Room for one of two pages.
    server.fail_disk("room 4096");
    tally::fault("disks that are full");
    let mut ids = server.ids();
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(code(&mut client, "SELECT sno_new(1)"), "53100");
    }
    // What was left behind does no harm, neither as long as the disk is full nor afterwards.
    server.restart(Mode::Immediate);
    assert_eq!(code(&mut server.connect(), "SELECT sno_new(1)"), "53100");
    server.fail_disk("");
    ids.query(&mut server.connect(), DRAW).unwrap();
    server.restart(Mode::Crash);
    ids.query(&mut server.connect(), DRAW).unwrap();
    tally::prove(ids);
}

#[test]
fn a_write_that_was_torn() {
    // All within the line; the last one within its checksum.
    let tears: [fn(usize) -> usize; 3] = [|_| 40, |_| 100, |line| line - 6];
    for tear in tears {
        let (server, mut ids) = drawn(server());
        server.advance_clock(1.2);
        ids.query(&mut server.connect(), DRAW).unwrap();
        server.stop(Mode::Crash);
        // The next record, as a crash of the machine would leave it: in part.
        let old = server.record();
        let next = Record {
            serial: old.serial + 1,
            limits: old.limits.map(|tick| tick.saturating_add(500)),
            ..old.clone()
        };
        let next = (next.offset() as usize, next.encode());
        let length = tear(next.1.trim_ascii_end().len());
        let mut file = fs::read(server.marks()).unwrap();
        file[next.0..][..length].copy_from_slice(&next.1[..length]);
        assert!(<Record>::decode(&file[next.0..]).is_none(), "{length} bytes");
        fs::write(server.marks(), file).unwrap();
        assert_eq!(server.record(), old);
        tally::fault("marks that were torn");
        server.start();
        draw_above(&server, &old, &mut ids);
        tally::prove(ids);
    }
}

#[test]
fn no_whole_record_at_all() {
    let (server, mut ids) = drawn(server());
    server.stop(Mode::Fast);
    let mut torn = fs::read(server.marks()).unwrap();
    torn.retain(|byte| *byte != b'=');
    for damage in [&b"sno-marks 2 serial="[..], &torn, &[0xff; 2 * LENGTH]] {
        fs::write(server.marks(), damage).unwrap();
        tally::fault("marks that were torn");
        server.start();
        let error = error(&mut server.connect(), "SELECT sno_new(1)");
        assert_eq!(error.code().code(), "XX001");
        assert_eq!(error.message(), "file \"sno.marks\" holds no whole record");
        assert!(error.hint().unwrap().contains("remove the file"));
        // It stays as it is, for people to look at.
        assert_eq!(fs::read(server.marks()).unwrap(), damage);
        server.stop(Mode::Fast);
    }
    // As the hint says.
    fs::remove_file(server.marks()).unwrap();
    server.start();
    ids.query(&mut server.connect(), DRAW).unwrap();
    tally::prove(ids);
}

/// What is there when the first writer was killed before its first record was complete, so that nobody has
/// drawn an ID yet: nothing, blanks, zeros from a crash of the machine, and part of them.
#[test]
fn a_file_without_its_first_record() {
    let server = server();
    let mut ids = server.ids();
    for content in [
        vec![],
        vec![b' '; 1000],
        vec![b' '; LENGTH],
        vec![b' '; 2 * LENGTH],
        vec![0; LENGTH],
        vec![0; 2 * LENGTH],
    ] {
        fs::write(server.marks(), &content).unwrap();
        give_to_server(&server.marks());
        tally::fault("marks without a first record");
        ids.query(&mut server.connect(), DRAW).unwrap();
        server.restart(Mode::Crash);
        ids.query(&mut server.connect(), DRAW).unwrap();
        server.stop(Mode::Crash);
        fs::remove_file(server.marks()).unwrap();
        // Without a file, what the clock reads has to be after all IDs of before.
        server.advance_clock(0.1);
        server.start();
    }
    tally::prove(ids);
}

#[test]
fn a_first_write_that_was_torn() {
    for (blank, sector) in [0, b' '].into_iter().flat_map(|blank| [(blank, 0), (blank, LENGTH - 512)]) {
        let (server, mut ids) = drawn(server());
        server.stop(Mode::Crash);
        let record = server.record();
        let mut file = vec![blank; 2 * LENGTH];
        file[record.offset() as usize + sector..][..512].copy_from_slice(&record.encode()[sector..][..512]);
        fs::write(server.marks(), file).unwrap();
        tally::fault("marks that were torn");
        // Without the sector of the line, what the clock reads has to be after all IDs of before.
        server.advance_clock(0.1);
        server.start();
        ids.query(&mut server.connect(), DRAW).unwrap();
        tally::prove(ids);
    }
}

#[test]
fn missing() {
    let server = server();
    server.excuse_marks();
    let (ids, errors) = load::run(&server, 3, DRAW, "", |load| {
        for mode in [Mode::Immediate, Mode::Crash] {
            load.wait(1000);
            // Removed while it is in use: the next writer makes it anew, with all that it has to say.
            fs::remove_file(server.marks()).unwrap();
            tally::fault("marks that were removed");
            let length = || fs::metadata(server.marks()).map_or(0, |file| file.len());
            wait_until("the file is made anew", || length() == 2 * LENGTH as u64);
            server.restart(mode);
            load.wait(1000);
        }
        // Removed while the server is down: it starts from the present time.
        server.stop(Mode::Fast);
        fs::remove_file(server.marks()).unwrap();
        tally::fault("marks that were removed");
        server.advance_clock(0.1);
        server.start();
        load.wait(1000);
    });
    load::only(&errors, &load::DOWN);
    tally::prove(ids);
}

/// A file that was cut to its older record keeps it, whoever gets killed while it is mended.
#[test]
fn cut_to_one_record() {
    let (server, mut ids) = drawn(server());
    // The first record goes to the second place: of three, the older of the last two is at the beginning.
    server.advance_clock(1.2);
    ids.query(&mut server.connect(), DRAW).unwrap();
    server.stop(Mode::Fast);
    let record = server.record();
    let file = fs::read(server.marks()).unwrap();
    fs::write(server.marks(), &file[..LENGTH]).unwrap();
    let kept = <Record>::newest(&file[..LENGTH]).unwrap();
    assert!(kept.serial < record.serial, "{kept} is the older one, not {record}");
    tally::fault("marks that were torn");
    server.start();
    // What is read is written again in its place, and the next record beside it.
    draw_above(&server, &kept, &mut ids);
    let records = fs::read(server.marks()).unwrap();
    assert!(<Record>::newest(&records).unwrap().serial > kept.serial);
    assert_eq!(<Record>::newest(&records[..LENGTH]).map(|r| r.serial >= kept.serial), Some(true));
    tally::prove(ids);
}

/// Marks of another cluster say nothing of this one's IDs: they are kept to, and so is the time of the start.
#[test]
fn of_another_cluster() {
    let (server, mut ids) = drawn(server());
    for ahead in [-1_000_000_i64, 500] {
        server.advance_clock(2.1);
        ids.query(&mut server.connect(), DRAW).unwrap();
        server.stop(Mode::Fast);
        let ours = server.record();
        let limits = ours
            .limits
            .map(|tick| sno_tests::sno_core::Tick::new((tick.get() as i64 + ahead).max(0) as u64).unwrap());
        let theirs = Record {
            system_identifier: ours.system_identifier + 1,
            limits,
            serial: 1_000_000,
            ..ours.clone()
        };
        let mut file = vec![b' '; 2 * LENGTH];
        file[theirs.offset() as usize..][..LENGTH].copy_from_slice(&theirs.encode());
        fs::write(server.marks(), file).unwrap();
        tally::fault("marks of another server");
        server.start();
        draw_above(&server, &theirs, &mut ids);
        assert_eq!(server.record().system_identifier, ours.system_identifier, "and now they are its own");
        if ahead < 0 {
            // What this server made before its file was replaced is on neither side to be had again.
            server.advance_clock(-20.0);
            assert_eq!(
                code(&mut server.connect_with("-c sno.max_clock_wait=0"), "SELECT sno_new(1)"),
                "55000"
            );
            server.advance_clock(20.0);
        }
    }
    tally::prove(ids);
}

/// The group may read them where it may read the server's other files, as with `initdb --allow-group-access`.
#[test]
fn modes() {
    let server = server();
    for (folder, file) in [(0o700, 0o600), (0o750, 0o640)] {
        server.stop(Mode::Fast);
        fs::set_permissions(server.data(), Permissions::from_mode(folder)).unwrap();
        server.start();
        server.run("SELECT sno_new(1)");
        assert_eq!(fs::metadata(server.marks()).unwrap().permissions().mode() & 0o777, file);
        fs::remove_file(server.marks()).unwrap();
    }
}
