//! Hot standbys: they don't generate, and after a promotion no ID of the old primary's comes again.

use std::collections::HashSet;

use sno_tests::sno_core::Tick;
use sno_tests::{Ids, Mode, Server, Sql as _, in_parallel};

use crate::{code, tally, text};

const FILL: &str = "INSERT INTO t (n) SELECT generate_series(1, 5000)";

/// One generator for everyone, on whichever server.
fn primary() -> Server {
    let primary = Server::builder().faketime(true).conf("sno.partition_prefix", "3/16").start();
    primary.run("CREATE TABLE t (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)");
    primary
}

/// The IDs of the table.
fn stored(server: &Server) -> Ids {
    let mut ids = Ids::new();
    ids.query(&mut server.connect(), "SELECT id FROM t").unwrap();
    ids
}

/// The highest tick of each side.
fn highest(ids: &Ids) -> [Option<Tick>; 2] {
    [false, true].map(|side| ids.iter().filter(|id| id.tick_tock() == side).map(|id| id.tick()).max())
}

/// Promotes the standby, whose clock is behind: the primary's ticks are still to come there.
#[track_caller]
fn promote_and_prove(primary: &Server, standby: &Server) {
    let mut reader = standby.connect();
    for call in ["SELECT sno_new(1)", "SELECT sno_new(1, now())"] {
        assert_eq!(code(&mut reader, call), "25006");
    }
    reader.run("SELECT * FROM sno_generator()");
    assert_eq!(text(&mut reader, "SELECT count(*) FROM sno_generators"), "0");
    primary.wait_replayed(standby);
    primary.stop(Mode::Immediate);
    let before = stored(standby);
    standby.set_clock("-4");
    tally::fault("clock steps");
    standby.promote();
    tally::fault("promotions");
    // In the session that was refused before, too.
    reader.run(FILL);
    let floor = highest(&before);
    let before: HashSet<_> = before.iter().collect();
    let fresh: Vec<_> = stored(standby).iter().filter(|id| !before.contains(id)).collect();
    assert_eq!(fresh.len(), 5000);
    assert!(fresh.iter().all(|id| Some(id.tick()) > floor[id.tick_tock() as usize]), "{floor:?}");
    in_parallel(3, |_| standby.run(FILL));
    standby.restart(Mode::Immediate);
    standby.run(FILL);
    tally::prove(stored(standby));
}

#[test]
fn a_backup_from_before_the_first_id() {
    let primary = primary();
    let standby = primary.standby();
    assert!(!standby.marks().exists());
    primary.run(FILL);
    promote_and_prove(&primary, &standby);
}

#[test]
fn an_old_backup() {
    let primary = primary();
    primary.run(FILL);
    let standby = primary.standby();
    // On both sides, of which the marks of the backup know little.
    for seconds in [1.0, -0.5, 1.0, 1.0] {
        primary.advance_clock(seconds);
        primary.run(FILL);
    }
    promote_and_prove(&primary, &standby);
}

/// A commit that is the last one in the log and not the latest one: of a backend that was held up, or after a clock
/// that stepped back a little.
#[test]
fn commits_out_of_order() {
    let primary = primary();
    let standby = primary.standby();
    primary.set_clock("+1.5");
    primary.run(FILL);
    primary.set_clock("+0");
    primary.run("CREATE TABLE last ()");
    promote_and_prove(&primary, &standby);
}
