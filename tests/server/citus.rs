//! The SQL under "Citus" in docs/tools.md, on a coordinator and two workers: `make test-citus`, where Citus is at
//! hand.

use std::fs;

use sno_tests::{Ids, Server, Sql as _, in_parallel, text};

use crate::docs::{Block, blocks, page, psql, section};

/// A node. All have the same process IDs to choose from, as containers do not: so a test can't show repeats.
fn node(number: u8) -> Server {
    let server = Server::builder()
        .extension(false)
        .conf("shared_preload_libraries", "citus, sno")
        .conf("wal_level", "logical")
        .conf("citus.shard_count", "8")
        .conf("sno.partition_prefix", &format!("{number}/8"))
        .tcp(true)
        .start();
    fs::write(server.data().join("pg_hba.conf"), "local all all trust\nhost all all 127.0.0.1/32 trust\n")
        .unwrap();
    server.reload();
    server.run("CREATE EXTENSION citus");
    server
}

/// A table whose rows come from a distributed one, so that the workers generate their IDs.
const COPIES: [&str; 3] = [
    "CREATE TABLE copies (id sno PRIMARY KEY DEFAULT sno_new(2), n integer)",
    "SELECT create_distributed_table('copies', 'id')",
    "INSERT INTO copies (n) SELECT n FROM events",
];

#[test]
#[ignore = "needs Citus: make test-citus"]
fn the_page_about_citus() {
    let [coordinator, first, second] = [1, 2, 3].map(node);
    let mut client = coordinator.connect();
    client
        .query("SELECT citus_set_coordinator_host('127.0.0.1', $1)", &[&i32::from(coordinator.port())])
        .unwrap();
    for worker in [&first, &second] {
        client.query("SELECT citus_add_node('127.0.0.1', $1)", &[&i32::from(worker.port())]).unwrap();
    }
    client.run("CREATE EXTENSION sno");

    let page = page("tools.md");
    let mut count = 0;
    for Block { sql, .. } in blocks(section(&page, "Citus"), "postgresql") {
        let printed = psql(&coordinator, sql);
        assert!(
            printed.status.success(),
            "{sql}\n{}\n{}",
            String::from_utf8_lossy(&printed.stderr),
            coordinator.log()
        );
        count += 1;
    }
    assert!(count >= 2, "{count} blocks");
    for statement in COPIES {
        client.run(statement);
    }

    let prefixes = "SELECT string_agg(result, ' ' ORDER BY result::integer)
        FROM run_command_on_all_nodes('SELECT prefix FROM sno_generator()')";
    assert_eq!(text(&mut client, prefixes), "1 2 3");
    // Rows of a distributed table get their IDs on the workers, all others here.
    let made_on = |client: &mut _, table: &str| {
        text(client, &format!("SELECT string_agg(DISTINCT (sno_partition(id) >> 8)::text, ' ') FROM {table}"))
    };
    assert_eq!(made_on(&mut client, "events"), "1");
    assert_eq!(made_on(&mut client, "copies"), "2 3");
    assert_eq!(
        text(&mut client, "SELECT count(*)::text FROM log WHERE id >= now() - interval '1 hour'"),
        "1000"
    );

    in_parallel(3, |number| {
        let node = [&coordinator, &first, &second][number];
        node.run("INSERT INTO events (n) SELECT generate_series(1, 50000)");
    });
    let mut ids = Ids::new();
    for table in ["events", "copies"] {
        ids.query(&mut client, &format!("SELECT id FROM {table}")).unwrap();
    }
    assert_eq!(ids.len(), 350_000);
    ids.assert_distinct();
}
