//! Tables that span servers: `postgres_fdw`, partitions on two servers, and what sharding asks of a type.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, plan};

fn server(prefix: u8) -> Server {
    Server::builder().conf("sno.partition_prefix", &prefix.to_string()).start()
}

/// A foreign server by the name of `name`, whose comparisons of `sno` may run there if `shipped`.
fn link(client: &mut Client, name: &str, server: &Server, shipped: bool) {
    let host = server.socket_folder().display();
    let extensions = if shipped { ", extensions 'sno'" } else { "" };
    client
        .run(&format!(
            "CREATE EXTENSION IF NOT EXISTS postgres_fdw;
             CREATE SERVER {name} FOREIGN DATA WRAPPER postgres_fdw
                 OPTIONS (host '{host}', port '5432', dbname 'postgres'{extensions});
             CREATE USER MAPPING FOR CURRENT_USER SERVER {name} OPTIONS (user 'postgres', password_required 'false');"
        ));
}

/// A plan that shows what the other server is asked.
const REMOTE: &str = "VERBOSE, COSTS off";

fn number(client: &mut Client, query: &str) -> i64 {
    client.one(query)
}

#[test]
fn conditions_on_an_id_run_where_the_rows_are() {
    let (here, there) = (server(1), server(2));
    there.run(
            "CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
             INSERT INTO event SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '1 hour', n % 4, 1, 1), n
                 FROM generate_series(1, 1000) n;
             ANALYZE event;",
        );
    let mut client = here.connect();
    for (name, shipped) in [("there", true), ("unshipped", false)] {
        link(&mut client, name, &there, shipped);
        client
            .run(&format!(
                "CREATE SCHEMA {name}; IMPORT FOREIGN SCHEMA public LIMIT TO (event) FROM SERVER {name} INTO {name}"
            ));
    }
    let column =
        "SELECT count(*) FROM information_schema.columns WHERE table_name = 'event' AND udt_name = 'sno'";
    assert_eq!(number(&mut client, column), 2);
    for (condition, rows) in [
        ("id = sno_make('2026-01-01 03:00Z', 3, 1, 1)", 1),
        ("id >= '2026-01-02Z'::timestamptz AND id < '2026-01-03Z'::timestamptz", 24),
        ("sno_between(id, '2026-01-02Z', '2026-01-03Z')", 24),
        ("sno_metabyte(id) = 2", 250),
        ("id = sno_make('2026-01-01 03:00Z', 3, 1, 1) OR id = sno_make('2026-01-01 04:00Z', 0, 1, 1)", 2),
    ] {
        for (schema, shipped) in [("there", true), ("unshipped", false)] {
            let query = format!("SELECT count(*) FROM {schema}.event WHERE {condition}");
            assert_eq!(number(&mut client, &query), rows, "{query}");
            let plan = plan(&mut client, REMOTE, &format!("SELECT n FROM {schema}.event WHERE {condition}"));
            let remote = plan.lines().find(|line| line.contains("Remote SQL")).unwrap();
            assert_eq!(remote.contains("WHERE"), shipped, "{plan}");
            assert_eq!(plan.contains("Filter"), !shipped, "{plan}");
        }
    }
    // Conditions on sno_time(id) stay as they are: an older version there may lack what would take its place.
    let by_time = "SELECT n FROM there.event WHERE sno_time(id) >= '2026-01-02Z'";
    let remote = plan(&mut client, REMOTE, by_time);
    assert!(remote.contains("sno_time(id) >= "), "{remote}");
    // An array is of no extension, as postgres_fdw sees it: a list is filtered here.
    let list = "id IN (sno_make('2026-01-01 03:00Z', 3, 1, 1), sno_make('2026-01-01 04:00Z', 0, 1, 1))";
    assert_eq!(number(&mut client, &format!("SELECT count(*) FROM there.event WHERE {list}")), 2);
    // Order and limit go there, too, and the latest is found by that server's index.
    let plan = plan(&mut client, REMOTE, "SELECT id FROM there.event ORDER BY id DESC LIMIT 5");
    assert!(plan.contains("ORDER BY id DESC") && plan.contains("LIMIT 5"), "{plan}");
    // IDs of new rows are made where the statement runs, if the default is brought along.
    client.run(
        "CREATE SCHEMA defaults;
             IMPORT FOREIGN SCHEMA public LIMIT TO (event) FROM SERVER there INTO defaults
                 OPTIONS (import_default 'true');
             INSERT INTO defaults.event (n) VALUES (-1);",
    );
    let made_here = "SELECT count(*) FROM defaults.event WHERE n = -1 AND sno_partition(id) >> 8 = 1";
    assert_eq!(number(&mut client, made_here), 1);
}
