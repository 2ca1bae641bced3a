//! The page about Citus, in its order.

use sno_tests::Sql as _;

use super::Cluster;
use crate::docs::{Block, blocks, page, psql};

#[test]
#[ignore = "needs Citus: make test-citus"]
fn the_page_about_citus() {
    let cluster = Cluster::new(2);
    let page = page("citus.md");
    let mut count = 0;
    for Block { sql, .. } in blocks(&page, "postgresql") {
        let printed = psql(&cluster.coordinator, sql);
        assert!(
            printed.status.success(),
            "{sql}\n{}\n{}",
            String::from_utf8_lossy(&printed.stderr),
            cluster.coordinator.log()
        );
        count += 1;
    }
    assert!(count >= 5, "{count} blocks");

    // Rows of a distributed table get their IDs on the workers if their values come from one, all others here.
    let mut client = cluster.coordinator.connect();
    client.run("CREATE TABLE copies (id sno PRIMARY KEY DEFAULT sno_new(2), n integer)");
    client.run("SELECT create_distributed_table('copies', 'id')");
    client.run("INSERT INTO copies (n) SELECT n FROM events");
    let numbers = |client: &mut _, table: &str| {
        let query = format!("SELECT string_agg(DISTINCT (sno_partition(id) >> 8)::text, ' ') FROM {table}");
        sno_tests::text(client, &query)
    };
    assert_eq!(numbers(&mut client, "events"), "0");
    assert_eq!(numbers(&mut client, "copies"), "1 2");
}
