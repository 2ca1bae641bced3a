//! Servers that never meet: three prefixes, or three sequence ranges of one prefix, and one collecting table.

use sno_tests::{Server, in_parallel};

use crate::{pick, tally};

#[test]
fn three_servers_fill_one_table() {
    let shared = |range: &str| {
        vec![("sno.partition_prefix", "5/16".to_owned()), ("sno.sequence_range", range.to_owned())]
    };
    let own = |prefix: &str| vec![("sno.partition_prefix", prefix.to_owned())];
    for settings in
        [[own("1"), own("2"), own("3")], [shared("0-999"), shared("1000-1999"), shared("2000-65535")]]
    {
        let servers = settings.map(|settings| {
            let mut builder = Server::builder();
            for (name, value) in settings {
                builder = builder.conf(name, &value);
            }
            builder.start()
        });
        let collector = Server::builder().start();
        collector.connect().batch_execute("CREATE TABLE collected (id sno PRIMARY KEY)").unwrap();
        let rows = pick(30_000, 500_000);
        in_parallel(6, |number| {
            use std::io::{Read as _, Write as _};

            let query =
                format!("COPY (SELECT sno_new(1) FROM generate_series(1, {rows})) TO STDOUT (FORMAT binary)");
            let mut source = servers[number % 3].connect();
            let mut target = collector.connect();
            let mut bytes = Vec::new();
            source.copy_out(&query).unwrap().read_to_end(&mut bytes).unwrap();
            // The primary key is the proof.
            let mut writer = target.copy_in("COPY collected FROM STDIN (FORMAT binary)").unwrap();
            writer.write_all(&bytes).unwrap();
            assert_eq!(writer.finish().unwrap(), rows);
        });
        let count: i64 = collector.connect().query_one("SELECT count(*) FROM collected", &[]).unwrap().get(0);
        assert_eq!(count as u64, 6 * rows);
        tally::count(6 * rows);
        tally::fault("three servers that fill one table");
    }
}
