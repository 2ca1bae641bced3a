//! Hot standbys: they don't generate, and after a promotion no ID of the old primary's comes again.

use std::thread;
use std::time::Duration;

use sno_tests::{Ids, Mode, Server, in_parallel};

use crate::{code, load, tally, text};

const FILL: &str = "INSERT INTO t (n) SELECT generate_series(1, 5000)";

/// One generator for everyone, on whichever server.
fn primary(faketime: bool) -> Server {
    let primary = Server::builder().faketime(faketime).conf("sno.partition_prefix", "3/16").start();
    primary
        .connect()
        .batch_execute("CREATE TABLE t (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)")
        .unwrap();
    primary
}

#[track_caller]
fn promote_and_prove(primary: &Server, standby: &Server) {
    let mut reader = standby.connect();
    for call in ["SELECT sno_new(1)", "SELECT sno_new(1, now())"] {
        assert_eq!(code(&mut reader, call), "25006");
    }
    assert_eq!(text(&mut reader, "SELECT count(*) FROM sno_generators"), "0");
    primary.wait_replayed(standby);
    primary.stop(Mode::Immediate);
    standby.promote();
    tally::fault("promotions");
    // In the session that was refused before, too.
    reader.batch_execute(FILL).unwrap();
    in_parallel(3, |_| standby.connect().batch_execute(FILL).unwrap());
    standby.restart(Mode::Immediate);
    standby.connect().batch_execute(FILL).unwrap();
    let mut ids = Ids::new();
    ids.query(&mut standby.connect(), "SELECT id FROM t").unwrap();
    tally::prove(ids);
}

#[test]
fn a_backup_from_before_the_first_id() {
    let primary = primary(false);
    let standby = primary.standby();
    assert!(!standby.marks().exists());
    primary.connect().batch_execute(FILL).unwrap();
    promote_and_prove(&primary, &standby);
}

#[test]
fn an_old_backup() {
    let primary = primary(false);
    primary.connect().batch_execute(FILL).unwrap();
    let standby = primary.standby();
    for _ in 0..5 {
        thread::sleep(Duration::from_millis(1000));
        primary.connect().batch_execute(FILL).unwrap();
    }
    promote_and_prove(&primary, &standby);
}

/// The marks are copied while they are being written.
#[test]
fn a_backup_under_load() {
    let primary = primary(false);
    let (ids, errors) = load::run(&primary, 3, load::DRAW, "", |load| {
        primary.connect().batch_execute(FILL).unwrap();
        for _ in 0..2 {
            let standby = primary.standby();
            // It has a whole record.
            let _ = standby.record();
            load.wait(1);
        }
    });
    load::only(&errors, &[]);
    tally::prove(ids);
    let standby = primary.standby();
    promote_and_prove(&primary, &standby);
}

/// What the old primary has committed counts, however far the new one's clock is behind.
#[test]
fn a_standby_whose_clock_is_behind() {
    let primary = primary(true);
    primary.connect().batch_execute(FILL).unwrap();
    let standby = primary.standby();
    thread::sleep(Duration::from_millis(3000));
    primary.connect().batch_execute(FILL).unwrap();
    standby.set_clock("-4");
    tally::fault("clock steps");
    promote_and_prove(&primary, &standby);
}
