//! The mutants: a sample of the faults that lose, repeat or reorder IDs or rows, give somebody a right, or crash a server. That all of
//! them are noticed says that these tests still see, and no more: whoever changes a room tries faults that are not here. In the core,
//! only what cargo-mutants does not try.

mod changes;
mod consumers;
mod feeds;
mod generation;
mod horizon;
mod marks;
mod moving;
mod partitions;
mod planner;
mod rights;
mod uuidv7;

/// A program of tests, and the start of the names of its tests: `Suite("faults", "restarts::")`; or `regress`, and files of pg_regress;
/// or `own`, and tests of a server that are built with the mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Suite(pub(crate) &'static str, pub(crate) &'static str);

/// A change that some test has to notice.
#[derive(Clone, Copy)]
pub(crate) struct Mutant {
    /// What is broken.
    pub(crate) name: &'static str,
    pub(crate) file: &'static str,
    /// A text that the file has once.
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    /// The tests that should notice.
    pub(crate) suites: &'static [Suite],
}

/// All mutants.
pub(crate) fn mutants() -> impl Iterator<Item = Mutant> {
    let of_file = |&(file, changes): &OfFile| {
        changes.iter().map(move |&(name, suites, from, to)| Mutant { name, file, from, to, suites })
    };
    ROOMS.iter().copied().flatten().flat_map(of_file)
}

/// A mutant of a file: its name, the tests that should notice it, the text and the one instead.
type Change = (&'static str, &'static [Suite], &'static str, &'static str);

/// A file, and its mutants.
type OfFile = (&'static str, &'static [Change]);

const ROOMS: &[&[OfFile]] = &[
    marks::MUTANTS,
    generation::MUTANTS,
    horizon::MUTANTS,
    planner::MUTANTS,
    partitions::MUTANTS,
    feeds::MUTANTS,
    changes::MUTANTS,
    rights::MUTANTS,
    uuidv7::MUTANTS,
    moving::MUTANTS,
    consumers::MUTANTS,
];

const RESTARTS: Suite = Suite("faults", "restarts::");
const DISK: Suite = Suite("faults", "disk::");
const STANDBY: Suite = Suite("faults", "standby::");
const WAITS: Suite = Suite("faults", "waits::");
const SETTINGS: Suite = Suite("server", "settings::");
const REGRESS: Suite = Suite("server", "regress::");
const TIMES: Suite = Suite("regress", "created_at time_orders time_ranges");
const CREATED_AT: Suite = Suite("server", "created_at::");
const FOREIGN: Suite = Suite("server", "postgres_fdw::");
const SCHEMAS: Suite = Suite("server", "schemas::");
const UNIQUENESS: Suite = Suite("server", "uniqueness::");
const STARTS: Suite = Suite("server", "restarts::");
const UPGRADES: Suite = Suite("server", "upgrades::");
const NEIGHBOURS: Suite = Suite("server", "neighbours::a_library");
const PRELOAD: Suite = Suite("server", "preload::");
const PARTITIONS: Suite = Suite("server", "partitions::");
const HORIZON: Suite = Suite("server", "horizon::");
const FEEDS: Suite = Suite("server", "feeds::");
const OLD_KEYS: Suite = Suite("server", "old_keys::");
const CATALOGS: Suite = Suite("server", "feeds::catalogs::");
const REFUSALS: Suite = Suite("server", "feeds::refusals::");
const VISIBILITY: Suite = Suite("server", "feeds::visibility::");
const LOWERED: Suite = Suite("server", "feeds::lowered::");
const PEEKS: Suite = Suite("server", "feeds::peeks::");
const READING: Suite = Suite("server", "feeds::reading::");
const FAILURES: Suite = Suite("server", "feeds::failures::");
const FEED_RIGHTS: Suite = Suite("server", "feeds::rights::");
const STATEMENTS: Suite = Suite("server", "feeds::statements::");
const FEED_PLANS: Suite = Suite("server", "feeds::plans::");
const WAITING: Suite = Suite("server", "waits::");
const NODES: Suite = Suite("server", "citus::answers");
const SCOPE: Suite = Suite("server", "citus::scope");
const PLANTED: Suite = Suite("server", "planted::rights_are");
const FILES: Suite = Suite("server", "schemas::names_in_the_files");
const RIGHTS: Suite = Suite("server", "rights::");
const OWNERS: Suite = Suite("server", "owners::");
const TRACKED: Suite = Suite("server", "tracked::");
const CHANGES: Suite = Suite("server", "changes::");
const CHANGES_TORTURE: Suite = Suite("faults", "changes::copies");
const TORTURE: Suite = Suite("faults", "horizon::readers");
const FAST_CLOCK: Suite = Suite("faults", "fast_clock::");
const CONSUMERS: Suite = Suite("faults", "feeds::");
/// Cases of the consumer in Rust, one by one.
const fn consumer(case: &'static str) -> Suite {
    Suite("consumer", case)
}
const LOOM: Suite = Suite("loom", "");
const LOOM_HORIZON: Suite = Suite("loom_horizon", "");
const LOOM_MARKS: Suite = Suite("marks_file", "");
const SIM: Suite = Suite("sim", "no_life");
const CORE: Suite = Suite("core", "");
const MOVING: Suite = Suite("own", "moving::");
const SQL_FILE: Suite = Suite("server", "uuidv7::");
const SQL_FILE_READERS: Suite = Suite("faults", "uuidv7::");
