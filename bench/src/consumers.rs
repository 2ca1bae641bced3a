//! Consumers of feeds: how long a row takes to reach one.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use sno_tests::Server;
use sno_tests::postgres::Client;
use sno_tests::postgres::fallible_iterator::FallibleIterator as _;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How a consumer learns that there may be rows. Table and feed have the way's name.
#[derive(Clone, Copy)]
enum Way {
    /// `sno_wait_feed`.
    Waits,
    /// `NOTIFY` by a statement trigger, then a look in each tenth of the margin until it is over.
    Notified,
    /// A look every 100 ms.
    Polls,
}

/// The median time from before the INSERT of a row, which commits it, until a consumer has the row; in seconds. One
/// writer inserts so many rows, seven a second.
pub(crate) fn latency(server: &Server, feed: &str, margin: &str, rows: usize) -> Result<f64> {
    let way = match feed {
        "waits" => Way::Waits,
        "notified" => Way::Notified,
        "polls" => Way::Polls,
        other => return Err(format!("there is no way {other}").into()),
    };
    let margin = Duration::from_secs_f64(margin.parse()?);
    let began = Instant::now();
    let mut consumer = server.connect();
    if let Way::Notified = way {
        consumer.batch_execute("LISTEN inserted")?;
    }
    let read = consumer
        .prepare(&format!("SELECT sent, id::text FROM sno_peek_feed('{feed}', NULL::{feed}, 1000)"))?;
    let advance = consumer.prepare(&format!("SELECT sno_advance_feed('{feed}', $1::text::sno)"))?;
    let mut latencies = Vec::new();
    let mut look = |consumer: &mut Client| -> Result<usize> {
        let batch = consumer.query(&read, &[])?;
        let now = began.elapsed().as_nanos() as i64;
        latencies.extend(batch.iter().map(|row| (now - row.get::<_, i64>(0)) as f64 / 1e9));
        if let Some(last) = batch.last() {
            consumer.execute(&advance, &[&last.get::<_, String>(1)])?;
        }
        Ok(latencies.len())
    };
    thread::scope(|scope| -> Result<()> {
        scope.spawn(|| {
            let mut writer = server.connect();
            let insert = writer.prepare(&format!("INSERT INTO {feed} (sent) VALUES ($1)")).expect("a table");
            for _ in 0..rows {
                // Not in step with anything that is counted in milliseconds.
                thread::sleep(Duration::from_micros(143_700));
                let sent = began.elapsed().as_nanos() as i64;
                writer.execute(&insert, &[&sent]).expect("an insert");
            }
        });
        let deadline =
            Instant::now() + Duration::from_millis(300 * rows as u64) + 5 * margin + Duration::from_secs(5);
        while look(&mut consumer)? < rows {
            if Instant::now() > deadline {
                return Err(format!("{feed}: rows did not arrive").into());
            }
            match way {
                Way::Waits => consumer.batch_execute(&format!("CALL sno_wait_feed('{feed}', '0.5 s')"))?,
                Way::Polls => thread::sleep(Duration::from_millis(100)),
                Way::Notified => {
                    let notified =
                        consumer.notifications().timeout_iter(Duration::from_millis(500)).next()?;
                    let until = Instant::now() + margin + Duration::from_millis(20);
                    while notified.is_some() && Instant::now() < until {
                        thread::sleep((margin / 10).max(Duration::from_millis(2)));
                        look(&mut consumer)?;
                    }
                }
            }
        }
        Ok(())
    })?;
    latencies.sort_by(f64::total_cmp);
    Ok(latencies[latencies.len() / 2])
}
