//! Feeds over tables of Citus, while all nodes write in all ways and crash: the oracle is the table at the end.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use sno_tests::postgres::{self, Client, SimpleQueryMessage};
use sno_tests::{Mode, Random, Server, Sql as _, Stop, wait_until};

use super::{Cluster, texts};

/// How a transaction writes its rows.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// By INSERT, one or several.
    Values,
    /// By INSERT … SELECT from a table that is distributed in the same way, or in another, so that the workers generate the keys.
    Select,
    /// By INSERT … SELECT whose rows the node of the client collects.
    Collect,
    /// By an INSERT at the end, of an ID that was generated at the start.
    Late,
}

struct Writer {
    node: usize,
    way: Way,
    /// How long its transactions are open, in milliseconds at most.
    open: usize,
}

const fn writer(node: usize, way: Way, open: usize) -> Writer {
    Writer { node, way, open }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// `kill -9` of all of a node.
    Crash(usize),
    /// A shard moves to the other worker.
    Move,
    /// All processes of a worker stop for a while.
    Stall(usize),
    /// A node joins, has a client, and is removed.
    Visit,
}

/// One life of a table: how it is distributed, which node reads, who writes, what happens meanwhile.
struct Life {
    distribute: &'static str,
    reader: usize,
    writers: &'static [Writer],
    faults: &'static [Fault],
}

const BY_ID: &str = "SELECT create_distributed_table('items', 'id', colocate_with => 'none')";
const BY_TENANT: &str = "SELECT create_distributed_table('items', 'tenant', colocate_with => 'sources')";
const REFERENCE: &str = "SELECT create_reference_table('items')";

const EVERYWHERE: [Writer; 8] = [
    writer(0, Way::Values, 100),
    writer(1, Way::Values, 100),
    writer(2, Way::Values, 2000),
    writer(2, Way::Late, 600),
    writer(0, Way::Select, 50),
    writer(1, Way::Select, 50),
    writer(0, Way::Select, 2000),
    writer(0, Way::Collect, 50),
];

#[test]
#[ignore = "needs Citus: make test-citus"]
fn by_id() {
    Life { distribute: BY_ID, reader: 0, writers: &EVERYWHERE, faults: &[] }.run(12);
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn by_tenant() {
    Life { distribute: BY_TENANT, reader: 0, writers: &EVERYWHERE, faults: &[Fault::Move] }.run(12);
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn read_on_a_worker() {
    Life { distribute: BY_TENANT, reader: 1, writers: &EVERYWHERE, faults: &[] }.run(12);
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn a_reference_table() {
    Life { distribute: REFERENCE, reader: 0, writers: &EVERYWHERE[..4], faults: &[] }.run(10);
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn crashes() {
    let faults = &[Fault::Crash(1), Fault::Crash(0), Fault::Stall(2), Fault::Crash(2), Fault::Move];
    Life { distribute: BY_TENANT, reader: 0, writers: &EVERYWHERE, faults }.run(30);
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn visitors() {
    let faults = &[Fault::Visit, Fault::Stall(1), Fault::Move];
    Life { distribute: BY_TENANT, reader: 0, writers: &EVERYWHERE, faults }.run(20);
}

impl Life {
    fn run(&self, seconds: usize) {
        let cluster = Cluster::new(2);
        let nodes: Vec<&Server> = cluster.nodes().collect();
        cluster.coordinator.run(&format!(
            "CREATE TABLE sources (tenant integer PRIMARY KEY);
             SELECT create_distributed_table('sources', 'tenant');
             INSERT INTO sources SELECT generate_series(1, 40);
             CREATE TABLE items (id sno DEFAULT sno_new(1), tenant integer, PRIMARY KEY (id, tenant));
             {}",
            self.distribute
        ));
        let reader = nodes[self.reader];
        wait_until("the metadata is there", || {
            reader.connect().one("SELECT to_regclass('items') IS NOT NULL")
        });
        reader.run("CREATE TABLE copies (id sno); SELECT sno_create_feed('copy', 'items', key => 'id', margin => '0.2 s')");

        let seconds = seconds * std::env::var("SNO_CITUS_TIMES").map_or(1, |times| times.parse().unwrap());
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let stop = Stop(&done);
            for writer in self.writers {
                scope.spawn(|| writer.write(nodes[writer.node], &done));
            }
            scope.spawn(|| {
                let mut client = None;
                while !done.load(Relaxed) {
                    let _ = attempt(reader, &mut client, |client| copy(client).map(|_| ()));
                }
            });
            let end = Instant::now() + Duration::from_secs(seconds as u64);
            let mut random = Random::seeded();
            while Instant::now() < end {
                thread::sleep(Duration::from_millis(500 + random.below(1500) as u64));
                if !self.faults.is_empty() {
                    let fault = random.one_of(self.faults);
                    println!(
                        "{} {fault:?}",
                        cluster
                            .coordinator
                            .connect()
                            .one::<String>("SELECT sno_lower(clock_timestamp())::text")
                    );
                    fault.happen(&cluster, &mut random);
                }
            }
            drop(stop);
        });
        self.check(&cluster, reader);
    }

    /// Reads the rest, and compares.
    fn check(&self, cluster: &Cluster, reader: &Server) {
        wait_until("all is recovered", || {
            let prepared = "SELECT sum(result::integer) = 0
                FROM run_command_on_all_nodes('SELECT count(*) FROM pg_prepared_xacts')";
            cluster.coordinator.connect().one(prepared)
        });
        let mut client = reader.connect();
        // What is held back is late, what has been passed never comes.
        let until = Instant::now() + Duration::from_secs(60);
        let count = client.one::<i64>("SELECT count(*) FROM items");
        while client.one::<i64>("SELECT count(DISTINCT id) FROM copies") < count && Instant::now() < until {
            copy(&mut client).unwrap();
            thread::sleep(Duration::from_millis(100));
        }
        let rows: HashSet<String> = texts(&mut client, "SELECT id::text FROM items").into_iter().collect();
        let mut copies = HashMap::new();
        for id in texts(&mut client, "SELECT id::text FROM copies") {
            *copies.entry(id).or_insert(0) += 1;
        }
        let mut missed: Vec<&String> = rows.iter().filter(|id| !copies.contains_key(*id)).collect();
        missed.sort_unstable();
        let twice = copies.values().filter(|times| **times > 1).count();
        let unknown = copies.keys().filter(|id| !rows.contains(*id)).count();
        println!("{} rows of {}", rows.len(), self.distribute);
        assert!(missed.is_empty(), "missed {} of {} rows: {missed:?}", missed.len(), rows.len());
        assert_eq!((twice, unknown), (0, 0), "twice, unknown, of {} rows", rows.len());
        assert!(rows.len() > 300, "only {} rows", rows.len());
        // The keys come from all nodes.
        let numbers: HashSet<String> =
            texts(&mut client, "SELECT DISTINCT (sno_partition(id) >> 8)::text FROM items")
                .into_iter()
                .collect();
        assert!(numbers.len() >= 3, "{numbers:?}");
    }
}

/// One batch, and how many rows it had. The statement is a transaction: the rows are copied if the feed moves. It goes on
/// after a node that has left, whose client has ended.
fn copy(client: &mut Client) -> Result<u64, postgres::Error> {
    let messages = match client
        .simple_query("INSERT INTO copies SELECT id FROM sno_feed('copy', NULL::items, 500)")
    {
        Err(error)
            if error.as_db_error().is_some_and(|error| error.message().contains("has left the cluster")) =>
        {
            client.batch_execute("SELECT sno_seek_feed(feed, after => position) FROM sno_feeds()")?;
            return Ok(0);
        }
        result => result?,
    };
    Ok(messages
        .iter()
        .find_map(
            |message| {
                if let SimpleQueryMessage::CommandComplete(rows) = message { Some(*rows) } else { None }
            },
        )
        .unwrap_or_default())
}

/// Does something by a client, which is connected anew after an error.
fn attempt(
    server: &Server,
    client: &mut Option<Client>,
    work: impl FnOnce(&mut Client) -> Result<(), postgres::Error>,
) -> Result<(), postgres::Error> {
    let connected = match client {
        Some(connected) => connected,
        None => client.insert(server.config().connect(postgres::NoTls)?),
    };
    let result = work(connected);
    if result.is_err() {
        *client = None;
        thread::sleep(Duration::from_millis(50));
    }
    result
}

impl Writer {
    fn write(&self, server: &Server, done: &AtomicBool) {
        let (mut random, mut client) = (Random::seeded(), None);
        while !done.load(Relaxed) {
            let _ = attempt(server, &mut client, |client| self.transaction(client, &mut random));
        }
    }

    fn transaction(&self, client: &mut Client, random: &mut Random) -> Result<(), postgres::Error> {
        client.batch_execute("BEGIN")?;
        match self.way {
            Way::Values => {
                for _ in 0..=random.below(4) {
                    let tenant = random.below(1000);
                    client.batch_execute(&format!("INSERT INTO items (tenant) VALUES ({tenant})"))?;
                }
            }
            Way::Select => client.batch_execute("INSERT INTO items (tenant) SELECT tenant FROM sources")?,
            Way::Late => {
                let id: String = client.query_one("SELECT sno_new(1)::text", &[])?.get(0);
                thread::sleep(Duration::from_millis(random.below(self.open) as u64));
                let tenant = random.below(1000);
                client.batch_execute(&format!("INSERT INTO items VALUES ('{id}', {tenant})"))?;
            }
            Way::Collect => client.batch_execute(
                "INSERT INTO items (tenant) SELECT tenant FROM (SELECT tenant FROM sources ORDER BY 1 LIMIT 5) s",
            )?,
        }
        thread::sleep(Duration::from_millis(random.below(self.open) as u64));
        client.batch_execute(if random.below(14) == 0 { "ROLLBACK" } else { "COMMIT" })?;
        thread::sleep(Duration::from_millis(random.below(20) as u64));
        Ok(())
    }
}

impl Fault {
    fn happen(self, cluster: &Cluster, random: &mut Random) {
        let nodes: Vec<&Server> = cluster.nodes().collect();
        match self {
            Self::Crash(node) => {
                nodes[node].stop(Mode::Crash);
                thread::sleep(Duration::from_millis(random.below(1000) as u64));
                nodes[node].start();
            }
            Self::Stall(node) => {
                let stalled = super::feeds::Stalled::all_of(nodes[node]);
                thread::sleep(Duration::from_millis(random.below(1500) as u64));
                drop(stalled);
            }
            Self::Visit => {
                let visitor = super::node(super::NUMBER);
                let mut client = cluster.coordinator.connect();
                client.run(&format!("SELECT citus_add_node('127.0.0.1', {})", visitor.port()));
                let mut guest = visitor.connect();
                for _ in 0..20 {
                    guest.run(&format!("INSERT INTO items (tenant) VALUES ({})", random.below(1000)));
                }
                drop(guest);
                client.run(&format!("SELECT citus_remove_node('127.0.0.1', {})", visitor.port()));
            }
            // It fails while a node is down.
            Self::Move => {
                let ports = [&cluster.workers[0], &cluster.workers[1]].map(|worker| worker.port());
                let one = "SELECT shardid, nodeport FROM citus_shards WHERE table_name = 'items'::regclass
                    ORDER BY random() LIMIT 1";
                let Ok(mut client) = cluster.coordinator.config().connect(postgres::NoTls) else { return };
                let Ok(row) = client.query_one(one, &[]) else { return };
                let (shard, from): (i64, i32) = (row.get(0), row.get(1));
                let to = ports.into_iter().find(|port| i32::from(*port) != from).unwrap();
                let _ = client.batch_execute(&format!(
                    "SELECT citus_move_shard_placement({shard}, '127.0.0.1', {from}, '127.0.0.1', {to}, 'block_writes')"
                ));
            }
        }
    }
}
