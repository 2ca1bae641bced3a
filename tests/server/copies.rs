//! Copies of a server, which make its IDs if nobody gives them another prefix: what can be told of them, and what
//! they may and may not repeat.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use sno_tests::{Builder, Ids, Mode, Server, Sql as _, next_tick, text};

use crate::changes::ddl::told;

const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 5000)";
const PROMOTED: &str = "LOG:  server was promoted or restored after its last sno was generated";
const COPIED: &str = "LOG:  data directory was copied after its last sno was generated";
const CREATED: &str = "LOG:  file \"sno.marks\" was created";
const HINT: &str = "HINT:  If another server still generates with this \"sno.partition_prefix\", give one of the two \
                    another now: both generate the same IDs.";

fn builder() -> Builder {
    Server::builder().conf("sno.partition_prefix", "3/16")
}

/// How often the log says something.
fn count(server: &Server, text: &str) -> usize {
    server.log().matches(text).count()
}

#[track_caller]
fn draw(server: &Server, ids: &mut Ids) {
    ids.query(&mut server.connect(), DRAW).unwrap();
}

#[test]
fn a_promotion_is_logged_once() {
    let primary = builder().start();
    let mut ids = Ids::new();
    // The usual order of things: a standby that is older than the first ID, and so has no marks.
    let early = primary.standby();
    draw(&primary, &mut ids);
    primary.run("CREATE TABLE t AS SELECT sno_new() AS id");
    let standby = primary.standby();
    primary.wait_replayed(&standby);
    primary.wait_replayed(&early);
    assert!(!early.marks().exists());
    primary.stop(Mode::Fast);
    early.promote();
    draw(&early, &mut Ids::new());
    assert_eq!((count(&early, CREATED), count(&early, PROMOTED)), (1, 0), "{}", early.log());
    assert_eq!(count(&standby, CREATED), 0);
    standby.promote();
    assert_eq!(count(&standby, PROMOTED), 0, "nothing was generated yet");
    draw(&standby, &mut ids);
    assert_eq!((count(&standby, PROMOTED), count(&standby, HINT)), (1, 1), "{}", standby.log());
    let detail = "DETAIL:  File \"sno.marks\" was written on WAL timeline 1, and the server is on timeline 2. Programs that have stored a horizon go back to the time before.";
    assert_eq!(count(&standby, detail), 1, "{}", standby.log());
    standby.restart(Mode::Immediate);
    draw(&standby, &mut ids);
    assert_eq!((count(&standby, PROMOTED), count(&standby, COPIED)), (1, 0));
    ids.assert_distinct();
}

/// What was generated before is not known then, also after pg_upgrade. With a number that the server draws, it is another
/// one.
#[test]
fn a_file_of_marks_that_is_created_is_logged() {
    for (number, logged) in [("3", 1), ("auto", 0)] {
        let server = Server::builder().conf("sno.partition_prefix", number).start();
        let lines = || {
            server.run("SELECT sno_new(1)");
            (
                count(&server, CREATED),
                count(&server, "HINT:  If this or another server has generated IDs with this"),
            )
        };
        assert_eq!(lines(), (logged, logged), "{}", server.log());
        server.restart(Mode::Fast);
        assert_eq!(lines(), (logged, logged));
        for lose in [|marks: &Path| fs::remove_file(marks), |marks: &Path| fs::write(marks, "")] {
            let before = lines().0;
            server.stop(Mode::Fast);
            lose(&server.marks()).unwrap();
            server.start();
            assert_eq!(lines(), (before + logged, before + logged), "{}", server.log());
        }
    }
}

/// A server that nobody gave a number draws one, and so does each copy of it: never that of its original.
#[test]
fn copies_draw_numbers_of_their_own() {
    let primary = Server::builder().start();
    let mut ids = Ids::new();
    draw(&primary, &mut ids);
    let number = |server: &Server| {
        let (number, is_shown) =
            (server.record().number, "SELECT (prefix, prefix_bits) = ($1, 14) FROM sno_generator()");
        let value = i32::from(number.value());
        assert!(server.connect().query_one(is_shown, &[&value]).unwrap().get::<_, bool>(0));
        number
    };
    let original = number(&primary);
    let standby = primary.standby();
    primary.wait_replayed(&standby);
    let shown = "SELECT prefix IS NULL AND partition IS NULL AND prefix_auto FROM sno_generator()";
    assert!(standby.connect().one::<bool>(shown), "a standby does not know what it will draw");
    // Both go on, and neither knows.
    standby.promote();
    draw(&standby, &mut ids);
    draw(&primary, &mut ids);
    primary.stop(Mode::Fast);
    let copy = primary.copy();
    draw(&copy, &mut ids);
    primary.start();
    draw(&primary, &mut ids);
    assert_eq!(number(&primary), original);
    for (server, line) in [(&standby, PROMOTED), (&copy, COPIED)] {
        let drawn = number(server);
        assert_ne!(drawn, original);
        let told = format!("Its server number is {drawn} from now on.");
        assert_eq!(
            (count(server, line), count(server, &told), count(server, HINT)),
            (1, 1, 0),
            "{}",
            server.log()
        );
        for mode in [Mode::Fast, Mode::Crash] {
            server.restart(mode);
            draw(server, &mut ids);
            assert_eq!(number(server), drawn);
        }
        assert_eq!(count(server, line), 1, "{}", server.log());
    }
    assert_eq!((count(&primary, COPIED), count(&primary, PROMOTED)), (0, 0), "{}", primary.log());
    if number(&standby) != number(&copy) {
        ids.assert_distinct();
    }
}

/// The other ID schemes go by numbers of their own: a machine, workers, a cluster.
#[test]
fn copies_with_other_numbers_are_nothing_to_tell() {
    let schemes = [
        ("Snowflake-SI", "snowflake_si_new()", "sno_compat.snowflake_si_machine", "12", "13"),
        ("uid60", "uid60_new()", "sno_compat.uid60_workers", "0-99", "100-199"),
        ("uniqueid", "uniqueid_new()", "sno_compat.uniqueid_cluster", "8", "9"),
    ];
    let mut server = builder().compat().conf("sno_compat.snowflake_si_base_clock", "2020-01-01T00:00:00Z");
    for (.., setting, number, _) in schemes {
        server = server.conf(setting, number);
    }
    let server = server.start();
    let generate = |server: &Server| {
        for (_, function, ..) in schemes {
            server.run(&format!("SELECT {function}"));
        }
    };
    server.run("CREATE EXTENSION sno_compat");
    generate(&server);
    server.stop(Mode::Fast);
    for other_numbers in [false, true] {
        let copy = server.copy();
        if other_numbers {
            for (.., setting, _, number) in schemes {
                copy.configure(setting, number);
            }
            copy.restart(Mode::Fast);
        }
        generate(&copy);
        for (name, _, setting, ..) in schemes {
            let copied = format!("LOG:  data directory was copied after its last {name} was generated");
            let hint = format!("still generates with this \"{setting}\", give one of the two another now");
            let expected = usize::from(!other_numbers);
            assert_eq!((count(&copy, &copied), count(&copy, &hint)), (expected, expected), "{}", copy.log());
        }
    }
}

/// A server's own marks say all there is to say of its IDs: other commits do not hold it up.
#[test]
fn a_commit_from_a_clock_far_ahead_does_not_count_after_a_crash() {
    let server = builder().faketime(true).start();
    draw(&server, &mut Ids::new());
    thread::sleep(Duration::from_millis(2100));
    server.set_clock("+3600");
    server.run("CREATE TABLE t (n integer)");
    server.set_clock("+0");
    server.restart(Mode::Crash);
    let mut client = server.connect_with("-c sno.max_clock_wait=0");
    client.run("SELECT sno_new(1) FROM t; SELECT sno_new(1)");
}

/// The first calls that read a feed after a promotion, a restore or a copy say that others may have had its rows; later ones do not, nor those on
/// the server where it was created.
#[test]
fn feeds_that_were_read_elsewhere() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(), n integer); CREATE TABLE copy (LIKE items);
         SELECT sno_create_feed(feed, 'items', margin => '0') FROM unnest('{a,b,c,d,e}'::text[]) feed; INSERT INTO items (n) VALUES (1)",
    );
    let peek = |feed: &str| format!("SELECT FROM sno_peek_feed('{feed}', NULL::items)");
    let read = |feed: &str| format!("INSERT INTO copy SELECT * FROM sno_feed('{feed}', NULL::items)");
    let warning = |server: &Server, feed: &str| {
        let position = text(
            &mut server.connect(),
            &format!(
                "SELECT coalesce(' after \"' || position || '\"', '') FROM sno_feeds() WHERE feed = '{feed}'"
            ),
        );
        format!(
            "WARNING:  feed \"{feed}\" was not read since this server was promoted, restored, copied or upgraded\n\
             DETAIL:  Rows{position} may have been read before: they come again, and receivers can have some that are lost here.\n\
             HINT:  If this is a copy beside its original, stop its consumers before they send to the original's receivers. \
             Otherwise have receivers ignore the IDs that they have."
        )
    };
    next_tick();
    for mode in [Mode::Fast, Mode::Crash] {
        assert_eq!(told(&server, &[peek("a"), read("b"), read("c")].join("; ")), "");
        server.stop(mode);
        server.start();
    }
    let standby = server.standby();
    server.wait_replayed(&standby);
    server.stop(Mode::Fast);
    let copy = server.copy();
    standby.promote();
    server.start();
    for server in [&copy, &standby] {
        // Until the feed is moved. One without rows is, by its first call.
        for (feed, call) in [("a", peek("a")), ("a", peek("a")), ("b", peek("b")), ("d", read("d"))] {
            let expected = warning(server, feed);
            assert_eq!(told(server, &call), expected, "{call}");
        }
        server.run("BEGIN; SELECT FROM sno_peek_feed('a', NULL::items); SELECT sno_advance_feed('a', max(id)) FROM items; COMMIT; INSERT INTO items (n) VALUES (2)");
        next_tick();
        for call in [peek("a"), peek("b"), read("d"), read("b")] {
            assert_eq!(told(server, &call), "", "{call}");
        }
        // Who says that rows are done that were peeked at elsewhere is told, too; who says where it goes on is not.
        let expected = warning(server, "c");
        assert_eq!(told(server, "SELECT sno_advance_feed('c', max(id)) FROM items"), expected);
        server.run("SELECT sno_seek_feed('e', '-infinity')");
        assert_eq!(told(server, &[read("c"), read("e")].join("; ")), "");
    }
    assert_eq!(told(&server, &["a", "b", "c", "d", "e"].map(peek).join("; ")), "");
}
