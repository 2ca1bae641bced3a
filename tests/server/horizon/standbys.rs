//! The horizon of a primary, on its standby and after the promotion.

use sno_tests::{Mode, Server, Sql as _, code, text, wait_until};

use super::{NOW, TABLE, holders, settled};

/// A feed was read up to the time of a primary whose clock was ahead. The standby is started again between its promotion and its first ID,
/// and so does not know the last commit: the rows of its slow clock are read nevertheless, and what was read since then comes again.
#[test]
fn a_promotion_with_a_slow_clock() {
    let server = Server::builder().faketime(true).start();
    let standby = server.standby();
    let mut writer = server.connect();
    writer.run(&format!(
        "{TABLE}; CREATE TABLE copy (LIKE items); SELECT sno_create_feed('copy', 'items', margin => '0')"
    ));
    let read = "INSERT INTO copy SELECT * FROM sno_feed('copy', NULL::items)";
    writer.run("INSERT INTO items VALUES (DEFAULT, 1)");
    server.advance_clock(1.0);
    assert_eq!(writer.execute(read, &[]).unwrap(), 1);
    server.wait_replayed(&standby);
    server.stop(Mode::Immediate);
    standby.set_clock("-20");
    standby.promote();
    standby.restart(Mode::Fast);
    let mut reader = standby.connect();
    reader.run("INSERT INTO items VALUES (DEFAULT, 2)");
    standby.set_clock("+20");
    wait_until("all rows", || {
        reader.run(read);
        reader.one("SELECT count(*) = 3 FROM copy")
    });
    assert_eq!(text(&mut reader, "SELECT string_agg(n::text, ',' ORDER BY n) FROM copy"), "1,1,2");
}

/// The horizon of a primary holds on its standby, once that is promoted.
#[test]
fn on_a_standby_and_after_its_promotion() {
    let server = Server::builder().conf("max_prepared_transactions", "9").start();
    let mut writer = server.connect();
    writer.run(TABLE);
    let standby = server.standby();
    writer.run("BEGIN; INSERT INTO items VALUES (DEFAULT, 1); PREPARE TRANSACTION 'open'");
    let mut reader = standby.connect();
    assert_eq!(code(&mut reader, "SELECT sno_horizon()"), "25006");
    let before = text(&mut writer, NOW);
    server.wait_replayed(&standby);
    server.stop(Mode::Immediate);
    standby.promote();
    reader.run("INSERT INTO items VALUES (DEFAULT, 2)");
    assert_eq!(holders(&mut reader), ["open"]);
    let horizon = text(&mut reader, NOW);
    reader.run("COMMIT PREPARED 'open'");
    assert!(
        reader.one::<bool>(&format!("SELECT min(id) >= greatest('{before}', '{horizon}'::sno) FROM items"))
    );
    assert!(settled(&mut reader));
}
