//! The generators of a server, whose processes share memory and keep a file of high-water marks.
//!
//! This is the protocol of the PostgreSQL extension, without PostgreSQL: what its processes do to the memory that they
//! [share](Shared), to the [file](MarksFile) and to the clock, step by step. A [`Disk`] and a [`Host`] do the steps.
//!
//! # Shared memory
//!
//! The server has one [`Shared`] for each ID scheme, until it stops or restarts after a crash.
//!
//! | part | written by | when |
//! |---|---|---|
//! | `slots`, `marks`, `serial`, `horizon_mark`, `lowerings`, `last_lowering`, `resumed`, `number`, the floor of `horizons` | the first generation after a start | under the marks file's lock, before `ready` is set |
//! | `slots` | any process, by the protocol of [`Slot`] | when `ready` |
//! | `marks`, `serial`, `horizon_mark`, `lowerings`, `last_lowering` | a process that has written the marks file | under the marks file's lock |
//! | `renewing`, `scheme_counter` | any process | at any time |
//! | `horizons` | any process, by the protocol of [`Horizon`](crate::horizon::Horizon) | when `ready` |
//! | the entries of `horizons`, their era | a process that adds its database, or lowers the horizons | under the marks file's lock |
//!
//! A process can be killed at any point: each change is one atomic step, the kernel releases the file's lock, and a
//! lease in `renewing` expires.
//!
//! # When horizons hold no more
//!
//! Readers of two kinds have to know that: one in the middle of a computation, by the *era* in shared memory, and one that was
//! given a horizon before and has stored what it has read, by the *number of the last lowering*, which it has stored with it.
//!
//! | event | era | number of the last lowering |
//! |---|---|---|
//! | a clock was fast, and the horizons were lowered | the next one | a new one, in the file as `lowered` |
//! | the server begins in another place: it was promoted, restored or copied, or its marks were lost | 0, as after each start | a new one, in the file as `begun` |
//! | a restart, a crash | 0 | stays: no horizon is above its mark in the file |
//!
//! # Words
//!
//! Documents and messages use the words of the glossary in `docs/reference.md`. The source has a short word for each of
//! these, too:
//!
//! | word | what it is | in PostgreSQL's terms |
//! |---|---|---|
//! | scheme | a kind of ID with generators of its own: `sno`, Snowflake-SI, uid60, uniqueid | – |
//! | tick | the unit of time of a scheme: 4 ms for `sno` | – |
//! | side, tick-tock | one of the two sets of IDs of each tick; a generator changes sides when the clock steps back | – |
//! | slot | the state of one generator, one cache line in shared memory | not a replication slot |
//! | stamp | what a generator hands out for one ID: tick, side, sequence number | – |
//! | pool, range | the sequence numbers that a session may take | – |
//! | mark | the tick up to which a side may generate before the file is written again | `SEQ_LOG_VALS` of sequences |
//! | era | the time between two calls that lower the horizons | – |
//! | record | the marks and what they were written for, in one page of the file | like `pg_control` |
//! | announcement | of one process: the tick from which on its transaction takes IDs, and that transaction's number | `PGPROC.xmin` |
//! | number of a transaction | what distinguishes the transactions of one process | `lxid` |
//! | number of a process | the place of its announcement | index in `ProcGlobal->allProcs` |
//! | floor | the tick below which no transaction of a database may announce any more; a horizon raises it | – |
//! | horizon | the least of the floor and of all announcements: no ID below it is still to come | the oldest `xmin` |

mod marks_file;
pub mod record;
mod session;

use core::{
    fmt,
    sync::atomic::{
        self,
        Ordering::{Acquire, Relaxed, Release},
    },
    time::Duration,
};
use std::io;

pub use marks_file::MarksFile;
pub use session::Session;

use crate::generation::atomic::{AtomicBool, AtomicU64};
use crate::generation::marks::Marks;
use crate::generation::partition::Prefix;
use crate::generation::slot::Slot;
use crate::horizon::databases::WithHorizons;
use crate::id::tick::{Epoch, OutOfEpoch};
use crate::id::tick_type::TickType;
use crate::server::record::{Lowering, LoweringNumber, Lowerings, Machine, Place, Record};

/// The file system, in which the marks are one file.
pub trait Disk {
    /// An open file. It is closed when this is dropped, or when its process ends, which also releases its lock.
    type File;

    /// Opens the file to read and to write it, and creates it if there is none.
    ///
    /// # Errors
    ///
    /// The errors of the operating system, here and below.
    fn open(&self) -> io::Result<Self::File>;

    /// Locks the file, unless another process has locked it.
    fn try_lock(&self, file: &Self::File) -> io::Result<bool>;

    /// Which file it is, and its length.
    fn stat(&self, file: &Self::File) -> io::Result<Stat>;

    /// Reads at most so many bytes from the start.
    fn read(&self, file: &Self::File, length: u64) -> io::Result<Vec<u8>>;

    /// Writes all these bytes from a position on.
    fn write_at(&self, file: &Self::File, bytes: &[u8], position: u64) -> io::Result<()>;

    /// Waits until the bytes of the file are on disk.
    fn sync_data(&self, file: &Self::File) -> io::Result<()>;

    /// Waits until the bytes and the length of the file are on disk.
    fn sync_all(&self, file: &Self::File) -> io::Result<()>;

    /// Waits until the file's entry in its directory is on disk.
    fn sync_directory(&self) -> io::Result<()>;
}

/// What an operating system knows of a file.
#[derive(Clone, Copy, Debug)]
pub struct Stat {
    /// The number of the device that it is on.
    pub device: u64,
    /// Its inode number, on that device.
    pub inode: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// The server, and the process of it that runs.
pub trait Host<T: TickType> {
    /// The time from which ticks are counted.
    fn epoch(&self) -> Epoch;

    /// The system's clock: microseconds since 1970.
    fn unix_micros(&self) -> i64;

    /// The present tick.
    ///
    /// # Errors
    ///
    /// The clock is outside the times that ticks stand for.
    #[inline(always)]
    fn now(&self) -> Result<T, OutOfEpoch> {
        self.epoch().floor(self.unix_micros())
    }

    /// The time since a moment that does not change, by a clock that is never set.
    fn monotonic(&self) -> Duration;

    /// The longest that a call waits for a clock that went back or stands still, in microseconds.
    fn max_clock_wait(&self) -> u64;

    /// Waits for so many microseconds, or less. If the call is cancelled, this unwinds.
    fn nap(&self, wait: Wait, micros: u64);

    /// The identifier of the cluster.
    fn system_identifier(&self) -> u64;

    /// The timeline of the write-ahead log.
    fn wal_timeline(&self) -> u32;

    /// The machine that the server runs on.
    fn machine(&self) -> Machine;

    /// Random bits.
    ///
    /// # Errors
    ///
    /// The errors of the operating system.
    fn random(&self) -> io::Result<u64>;

    /// Whether a database exists.
    fn has_database(&self, database: u32) -> bool;

    /// The time of the last commit that recovery replayed before a promotion, in microseconds since 1970.
    fn last_replayed_commit(&self) -> Option<i64>;

    /// Writes to the server's log.
    fn log(&self, notice: Notice<T>);
}

/// What a process waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The next tick, after all sequence numbers of one are used up.
    Tick,
    /// A clock that went back to a tick that both tick-tock sides have passed.
    Clock,
    /// Another process that writes the high-water marks.
    Marks,
}

/// Why nothing was generated.
#[derive(Debug)]
pub enum Error {
    /// The file of the marks could not be used.
    Io {
        /// What failed, as a verb: "could not … file".
        doing: &'static str,
        /// Why.
        error: io::Error,
    },
    /// The file holds neither a whole record nor blanks.
    NoRecord,
    /// No ID can hold the time of the clock.
    OutOfEpoch(OutOfEpoch),
    /// The clock went back, and would have to be waited for longer than the [host](Host::max_clock_wait) allows.
    ClockWentBack {
        /// The time that the next ID can have, in microseconds since 1970.
        until: i64,
        /// How far that is ahead of the clock.
        micros: u64,
        /// Whether the call waits since readers were given a horizon of that time, and not since the generator has
        /// passed the clock.
        is_for_horizon: bool,
    },
    /// All sequence numbers of a tick are used up, and the clock has not left it for longer than the
    /// [host](Host::max_clock_wait) allows.
    ClockStandsStill {
        /// How long it has stood still.
        micros: u64,
    },
}

impl Error {
    fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { doing, error }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, error } => write!(f, "could not {doing} the file of the marks: {error}"),
            Self::NoRecord => f.write_str("the file of the marks holds no whole record"),
            Self::OutOfEpoch(error) => error.fmt(f),
            Self::ClockWentBack { micros, .. } => write!(f, "the clock went back by {micros} microseconds"),
            Self::ClockStandsStill { micros } => {
                write!(f, "the clock has stood still for {micros} microseconds")
            }
        }
    }
}

impl core::error::Error for Error {}

/// What an operator should know, although nothing has failed.
#[derive(Debug)]
pub enum Notice<T> {
    /// The data directory was copied, promoted or restored after its last ID.
    Copied {
        /// Where the last record was written.
        from: Place,
        /// Where the next one will be.
        here: Place,
        /// The number that the server has drawn for itself. With one that it was given, it could generate the same IDs
        /// as its original.
        drawn: Option<Prefix>,
    },
    /// There were no marks of this cluster, and the server was given its number: so nothing is known of IDs that it, or
    /// another one with this number, has generated before.
    Created,
    /// While the server was down, the clock went back by this many microseconds or more.
    ClockWentBackWhileDown(i64),
    /// A mark was not renewed early. Another attempt follows before it is reached.
    NotRenewed(Error),
    /// The clock stepped back from one tick to another, and the generators switched sides.
    ClockSteppedBack {
        /// The highest tick before the step.
        from: T,
        /// What the clock reads.
        to: T,
    },
}

/// The memory that the processes of a server share, for one ID scheme. Zeros are a valid value.
#[derive(Debug)]
#[repr(C)]
pub struct Shared<T: WithHorizons, const SLOTS: usize> {
    /// Whether the generators have resumed at the marks.
    ready: AtomicBool,
    /// The high-water marks.
    pub marks: Marks<T>,
    /// The number of the last record in the file.
    serial: AtomicU64,
    /// The Unix time in milliseconds until which a process has leased the early renewal of a mark.
    renewing: AtomicU64,
    /// For `sno`, numbers the IDs of given times; for uid60, its leases.
    pub scheme_counter: atomic::AtomicU64,
    /// The generators.
    pub slots: [Slot<T>; SLOTS],
    /// The tick in which the generators resumed.
    resumed: AtomicU64,
    /// The number that the server has drawn.
    number: AtomicU64,
    /// The mark of the horizons in the file, as a word of their era.
    horizon_mark: AtomicU64,
    /// The [lowerings](crate::server::record::Lowerings) in the file, the number and the tick of each: first `last`, then
    /// `begun`.
    lowerings: [[AtomicU64; 2]; record::KEPT + 2],
    /// Their `from`.
    lowered_from: AtomicU64,
    /// The number of the last lowering that all horizons have.
    last_lowering: AtomicU64,
    /// For each database, the floor of its transactions and the highest horizon that its readers were given.
    pub horizons: T::Horizons,
}

impl<T: WithHorizons, const SLOTS: usize> Default for Shared<T, SLOTS> {
    fn default() -> Self {
        Self {
            ready: AtomicBool::new(false),
            marks: Marks::new([T::MIN; 2], false),
            serial: AtomicU64::new(0),
            renewing: AtomicU64::new(0),
            scheme_counter: atomic::AtomicU64::new(0),
            slots: core::array::from_fn(|_| Slot::default()),
            resumed: AtomicU64::new(0),
            number: AtomicU64::new(0),
            horizon_mark: AtomicU64::new(0),
            lowerings: core::array::from_fn(|_| [AtomicU64::new(0), AtomicU64::new(0)]),
            lowered_from: AtomicU64::new(0),
            last_lowering: AtomicU64::new(0),
            horizons: Default::default(),
        }
    }
}

impl<T: WithHorizons, const SLOTS: usize> Shared<T, SLOTS> {
    /// Whether the generators have resumed at the marks since the start.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Acquire)
    }

    /// Starts the generators at the marks of a record.
    fn start(&self, record: &Record<T>, now: T) {
        self.marks.restore(record.limits, record.current);
        T::resume(&self.horizons, record.horizon);
        self.note_horizon(record.horizon.get(), record.lowerings);
        self.last_lowering.store(record.lowerings.number().0, Relaxed);
        self.serial.store(record.serial, Relaxed);
        self.resumed.store(now.get(), Relaxed);
        self.number.store(record.number.value().into(), Relaxed);
        for slot in &self.slots {
            slot.resume(&self.marks);
        }
        self.ready.store(true, Release);
    }

    /// Notes what the file says of the horizons.
    fn note_horizon(&self, horizon_mark: u64, lowerings: Lowerings<T>) {
        self.horizon_mark.store(horizon_mark, Relaxed);
        self.lowered_from.store(lowerings.from.get(), Relaxed);
        for ([number, to], new) in
            self.lowerings.iter().zip(lowerings.last.into_iter().chain(lowerings.begun))
        {
            to.store(new.to.get(), Relaxed);
            number.store(new.number.0, Relaxed);
        }
    }

    /// How the horizons were lowered, for the process that has the lock.
    fn lowerings(&self) -> Lowerings<T> {
        let tick = |word: &AtomicU64| T::from_bits(word.load(Relaxed));
        let lowering = |place: usize| {
            let [number, to] = &self.lowerings[place];
            Lowering { number: LoweringNumber(number.load(Relaxed)), to: tick(to) }
        };
        let begun = core::array::from_fn(|place| lowering(record::KEPT + place));
        Lowerings { last: core::array::from_fn(lowering), from: tick(&self.lowered_from), begun }
    }

    /// The number of the last [lowering](crate::server::record::Lowering). A reader loads it before it reads a horizon,
    /// and stores it with what it has read: so that is of this number, or of a later one.
    pub fn last_lowering(&self) -> LoweringNumber {
        LoweringNumber(self.last_lowering.load(Acquire))
    }

    /// The number of the lowering at which the server has [begun](Lowerings::begun) in its place: the same until it stops.
    pub fn begun(&self) -> LoweringNumber {
        self.lowerings().begun[1].number
    }

    /// The generator of a number: a partition or a worker.
    pub fn slot(&self, number: u16) -> &Slot<T> {
        &self.slots[number as usize % SLOTS]
    }

    /// The number that the server has drawn, once its generators have resumed.
    pub fn number(&self) -> Prefix {
        Prefix::drawn(self.number.load(Relaxed), None)
    }

    /// The earliest reading of the clock at which no generator waits for the clock; a transaction may still wait for the
    /// horizon.
    pub fn safe(&self) -> T {
        self.slots.iter().map(|slot| slot.state().safe).max().unwrap_or(T::MIN)
    }

    /// What changes with each ID; and the latest tick of all IDs, or a later one.
    pub fn newest(&self) -> (u64, T) {
        self.slots.iter().map(Slot::newest).fold((0, T::MIN), |(seen, newest), (word, tick)| {
            ((seen ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29), newest.max(tick))
        })
    }

    /// The tick in which the generators resumed.
    pub fn resumed(&self) -> T {
        T::from_bits(self.resumed.load(Relaxed))
    }
}
