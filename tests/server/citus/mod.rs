//! A coordinator and workers of Citus: `make test-citus`, where Citus is at hand. `answers` and `scope` need no Citus.

mod answers;
mod feeds;
mod kinds;
mod losses;
pub(crate) mod made_up;
mod numbers;
mod page;
mod scope;
mod torture;

use std::fs;

use sno_tests::postgres::Client;
use sno_tests::{Server, text};

/// The number that each node takes from Citus.
const NUMBER: &str = "citus/8";

/// A server with Citus, which no cluster has added.
fn node(number: &str) -> Server {
    let server = server(number);
    server.run("CREATE EXTENSION citus");
    server
}

/// A server that could have Citus.
fn server(number: &str) -> Server {
    let server = Server::builder()
        .extension(false)
        .faketime(true)
        .conf("shared_preload_libraries", "citus, sno")
        .conf("wal_level", "logical")
        .conf("max_prepared_transactions", "100")
        .conf("max_connections", "200")
        .conf("citus.shard_count", "8")
        .conf("citus.recover_2pc_interval", "2s")
        // libpq looks for a certificate in the home of whoever runs the tests, and may not.
        .conf("citus.node_conninfo", "sslmode=disable")
        .conf("citus.enable_statistics_collection", "off")
        .conf("sno.partition_prefix", number)
        .tcp(true)
        .start();
    fs::write(
        server.data().join("pg_hba.conf"),
        "local all,replication all trust\nhost all,replication all 127.0.0.1/32 trust\n",
    )
    .unwrap();
    server.reload();
    server
}

/// A coordinator and its workers.
struct Cluster {
    coordinator: Server,
    workers: Vec<Server>,
}

impl Cluster {
    fn new(workers: usize) -> Self {
        let mut cluster = Self::of(node(NUMBER));
        for _ in 0..workers {
            cluster.add(node(NUMBER));
        }
        cluster.coordinator.run("CREATE EXTENSION sno_citus CASCADE");
        cluster
    }

    /// A server that becomes the coordinator of a cluster.
    fn of(coordinator: Server) -> Self {
        coordinator.run(&format!("SELECT citus_set_coordinator_host('127.0.0.1', {})", coordinator.port()));
        Self { coordinator, workers: Vec::new() }
    }

    /// Adds a server, which gets the extensions of the coordinator.
    fn add(&mut self, server: Server) {
        self.coordinator.run(&format!("SELECT citus_add_node('127.0.0.1', {})", server.port()));
        self.workers.push(server);
    }

    fn nodes(&self) -> impl Iterator<Item = &Server> {
        [&self.coordinator].into_iter().chain(&self.workers)
    }

    /// The server that listens on a port.
    fn at(&self, port: i32) -> &Server {
        self.nodes().find(|node| i32::from(node.port()) == port).expect("a node's port")
    }
}

/// Nothing that a role without rights plants runs as another one, also where Citus itself is.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn nothing_that_is_planted_runs() {
    crate::planted::nothing_runs_beside_citus(&server(NUMBER));
}

/// The texts in the first column of a query.
fn texts(client: &mut Client, query: &str) -> Vec<String> {
    let rows = client.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    rows.iter().map(|row| row.get(0)).collect()
}

/// The numbers of all nodes.
fn numbers(cluster: &Cluster) -> String {
    let query = "SELECT string_agg(result, ' ' ORDER BY result)
        FROM run_command_on_all_nodes('SELECT concat(prefix, ''/'', prefix_bits) FROM sno_generator()')";
    text(&mut cluster.coordinator.connect(), query)
}
