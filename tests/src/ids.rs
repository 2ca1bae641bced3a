//! IDs by the million, and the proof that none came twice.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use postgres::Client;
use sno_core::Sno;

use crate::{server::PATIENCE, witness::Witness};

/// How the file format of binary `COPY` begins: its signature, no flags, no extension.
const COPY_HEADER: [u8; 19] = *b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// A collection of IDs, as the 10 bytes they are.
#[derive(Default, Clone)]
pub struct Ids {
    ids: Vec<[u8; 10]>,
    /// What the server's invariants are checked with, for IDs as they are handed out.
    witness: Option<Arc<Witness>>,
}

impl Ids {
    /// An empty collection, for IDs of any kind. Those that one server hands out belong in [`Server::ids`](crate::Server::ids).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn of(witness: Arc<Witness>) -> Self {
        Self { ids: Vec::new(), witness: Some(witness) }
    }

    /// Adds the IDs that a query returns, in its order; the query has one column of type `sno`. After an error,
    /// the rows that came before it are there: they were seen, so they count.
    pub fn query(&mut self, client: &mut Client, query: &str) -> Result<usize, postgres::Error> {
        let before = self.ids.len();
        // Before the query, so that it belongs to this run of the server or to an earlier one.
        let witness = self.witness.clone();
        let mut watch = witness.as_ref().map(|witness| witness.watch());
        let mut reader = client.copy_out(&format!("COPY ({query}) TO STDOUT (FORMAT binary)"))?;
        self.read(&mut reader, &mut |id| {
            if let Some(watch) = &mut watch {
                watch.see(id);
            }
        })
        .map_err(|error| {
            // Only the client's own errors can come out of its reader.
            *error
                .into_inner()
                .and_then(|inner| inner.downcast::<postgres::Error>().ok())
                .expect("an error of the server or of the connection")
        })?;
        Ok(self.ids.len() - before)
    }

    /// Reads the file format of binary `COPY`.
    fn read(&mut self, reader: &mut impl Read, see: &mut impl FnMut(Sno)) -> std::io::Result<()> {
        let mut header = [0; 19];
        reader.read_exact(&mut header)?;
        assert_eq!(header, COPY_HEADER, "not a binary COPY");
        loop {
            let mut columns = [0; 2];
            reader.read_exact(&mut columns)?;
            match i16::from_be_bytes(columns) {
                -1 => break,
                count => assert_eq!(count, 1, "one column expected"),
            }
            let mut field = [0; 14];
            reader.read_exact(&mut field)?;
            let (length, id) = field.split_at(4);
            assert_eq!(length, 10_i32.to_be_bytes(), "a value that is not 10 bytes long");
            let id = id.try_into().expect("10 bytes");
            see(Sno::from_bytes(id));
            self.ids.push(id);
        }
        // The end of the stream, where a late error of the server would be.
        reader.read_to_end(&mut Vec::new())?;
        Ok(())
    }

    /// Adds one ID.
    pub fn push(&mut self, id: [u8; 10]) {
        self.ids.push(id);
    }

    /// Adds another collection to this one.
    pub fn append(&mut self, mut other: Self) {
        self.ids.append(&mut other.ids);
    }

    /// How many there are, repeats included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The IDs in the order they came in.
    pub fn iter(&self) -> impl Iterator<Item = Sno> + '_ {
        self.ids.iter().map(|bytes| Sno::from_bytes(*bytes))
    }

    /// Every ID that is there more than once, and how often. Sorts the collection.
    pub fn duplicates(&mut self) -> Vec<(Sno, usize)> {
        // What one connection drew is mostly in order already, and this sort makes use of it.
        self.ids.sort();
        self.ids
            .chunk_by(|a, b| a == b)
            .filter(|chunk| chunk.len() > 1)
            .map(|chunk| (Sno::from_bytes(chunk[0]), chunk.len()))
            .collect()
    }

    /// Panics if an ID is there more than once, showing the first few of those; sorts the collection.
    #[track_caller]
    pub fn assert_distinct(&mut self) {
        let duplicates = self.duplicates();
        if !duplicates.is_empty() {
            let shown: Vec<String> = duplicates.iter().take(20).map(describe).collect();
            panic!(
                "{} of {} IDs are there more than once:\n{}",
                duplicates.len(),
                self.len(),
                shown.join("\n")
            );
        }
    }
}

fn describe((id, times): &(Sno, usize)) -> String {
    let hex: String = id.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "  {id}  {hex}  {times} times: tick {}, tick-tock {}, metabyte {}, partition {}, sequence {}",
        id.tick().get(),
        id.tick_tock(),
        id.metabyte(),
        id.partition(),
        id.sequence()
    )
}

impl FromIterator<Ids> for Ids {
    fn from_iter<T: IntoIterator<Item = Ids>>(collections: T) -> Self {
        let mut all = Self::new();
        for collection in collections {
            all.append(collection);
        }
        all
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ids({})", self.ids.len())
    }
}

/// Sets a flag when it is dropped: threads that go on until then also end when the one that holds this panics.
#[derive(Debug)]
pub struct Stop<'a>(pub &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Waits until something is so, and fails if that takes longer than a minute: generous, since machines can be busy.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "not after {PATIENCE:?}: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Does something `count` times at once, each in a thread of its own that gets its number, and returns what they
/// returned, in order.
pub fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                scope.spawn({
                    let work = &work;
                    move || work(number)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}
