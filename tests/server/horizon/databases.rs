//! The horizons of several databases.

use sno_tests::{Server, Sql as _, code, text, wait_until};

use super::{NOW, elsewhere};

/// A horizon without a margin takes the tolerance for backward steps from its own database, and from copies of it: they
/// have the positions of its readers. A database that is moved or renamed stays the same.
#[test]
fn a_horizon_of_another_database() {
    let server = Server::builder().faketime(true).start();
    server.set_clock("-3600");
    let (mut never_asked, mut here) = (server.connect(), elsewhere(&server, "here"));
    never_asked.run("SELECT sno_new(1)");
    server.set_clock("+0");
    never_asked.run("SELECT sno_new(1)");
    let position = text(&mut here, NOW);
    drop(here);
    wait_until("a copy", || {
        server.connect().batch_execute("CREATE DATABASE copy_of_here TEMPLATE here").is_ok()
    });
    let mut other = server.connect();
    other.run("SET allow_in_place_tablespaces = on");
    other.run("CREATE TABLESPACE elsewhere LOCATION ''");
    wait_until("a move", || other.batch_execute("ALTER DATABASE here SET TABLESPACE elsewhere").is_ok());
    other.run("ALTER DATABASE here RENAME TO there");
    server.set_clock("-30");
    never_asked.run("SET sno.max_clock_wait = 0; SELECT sno_new(1)");
    for database in ["copy_of_here", "there"] {
        let mut client = server.connect_to(database);
        client.run("SET sno.max_clock_wait = 0");
        assert_eq!(code(&mut client, "SELECT sno_new(1)"), "55000", "{database}");
        // The view says so before anybody has asked.
        let waits = "SELECT bool_and(safe_time > clock_timestamp()) FROM sno_generators()";
        assert!(client.one::<bool>(waits), "{database}");
        assert!(text(&mut client, NOW) >= position, "{database}");
    }
    never_asked.run("SELECT sno_new(1)");
}
