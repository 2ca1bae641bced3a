//! The file of the marks: no regular file, torn, missing, and who may read it. Writes that fail are in `disk.rs`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use sno_tests::sno_core::record::LENGTH;
use sno_tests::{Mode, Server, give_to_server, wait_until};

use crate::{error, load, tally, within_a_minute};

const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 1000)";

/// One generator for all backends, so that what could come twice does.
fn server() -> Server {
    Server::builder().faketime(true).conf("sno.partition_prefix", "3/16").start()
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
fn no_whole_record_at_all() {
    let server = server();
    let mut ids = server.ids();
    ids.query(&mut server.connect(), DRAW).unwrap();
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
        assert!(error.hint().unwrap().contains("move the file away"));
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
