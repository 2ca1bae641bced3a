//! Hot standbys: they don't generate, and after a promotion no ID of the old primary's comes again.

use std::collections::HashSet;

use sno_tests::sno_core::Tick;
use sno_tests::{Ids, Mode, Server, Sql as _, in_parallel};

use crate::{code, tally, text};

const FILL: &str = "INSERT INTO t (n) SELECT generate_series(1, 5000)";

/// One generator for everyone, on whichever server.
fn primary() -> Server {
    // The first backup follows when the second one is made.
    let builder = Server::builder().faketime(true).conf("wal_keep_size", "512MB");
    let primary = builder.conf("sno.partition_prefix", "3/16").start();
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
fn promote_and_prove(standby: &Server) {
    let mut reader = standby.connect();
    for call in ["SELECT sno_new(1)", "SELECT sno_new(1, now())"] {
        assert_eq!(code(&mut reader, call), "25006");
    }
    reader.run("SELECT * FROM sno_generator()");
    assert_eq!(text(&mut reader, "SELECT count(*) FROM sno_generators()"), "0");
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

/// One is older than the first ID, and so has no marks. Those of the other know little of what came on both sides since. The last commit in
/// the log is not the latest one: it is of a backend that was held up, or after a clock that stepped back a little.
#[test]
fn standbys_that_are_promoted() {
    let primary = primary();
    let new = primary.standby();
    assert!(!new.marks().exists());
    primary.run(FILL);
    let old = primary.standby();
    for seconds in [1.0, -0.5, 0.5, 1.5] {
        primary.advance_clock(seconds);
        primary.run(FILL);
    }
    primary.advance_clock(-1.5);
    primary.run("CREATE TABLE last ()");
    let standbys = [new, old];
    standbys.iter().for_each(|standby| primary.wait_replayed(standby));
    primary.stop(Mode::Immediate);
    in_parallel(2, |number| promote_and_prove(&standbys[number]));
}
