//! The mutants.

/// A program of tests, and the start of the names of its tests: `Suite("faults", "restarts::")`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Suite(pub(crate) &'static str, pub(crate) &'static str);

/// A change that some test has to notice.
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

const CONNECTIONS: Suite = Suite("faults", "connections::a_process_id");
const RESTARTS: Suite = Suite("faults", "restarts::");
const KILLS: Suite = Suite("faults", "kills::");
const DISK: Suite = Suite("faults", "disk::");
const MARKS: Suite = Suite("faults", "marks_file::");
const STANDBY: Suite = Suite("faults", "standby::");
const CLOCK: Suite = Suite("faults", "clock::");
const WAITS: Suite = Suite("faults", "waits::");
const SETTINGS: Suite = Suite("server", "settings::");
const REGRESS: Suite = Suite("server", "regress::");
const ESTIMATES: Suite = Suite("server", "estimates::");
const CREATED_AT: Suite = Suite("server", "created_at::");
const INDEXES: Suite = Suite("server", "indexes::");
const UNIQUENESS: Suite = Suite("server", "uniqueness::");
const STARTS: Suite = Suite("server", "restarts::");
const UPGRADES: Suite = Suite("server", "upgrades::");
const LAYOUT: Suite = Suite("server", "live_update::memory_of");
const PARTITIONS: Suite = Suite("server", "partitions::");
const HORIZON: Suite = Suite("server", "horizon::");
const LOOM: Suite = Suite("loom", "");
const LOOM_HORIZON: Suite = Suite("loom_horizon", "");
const CORE: Suite = Suite("core", "");

pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "marks are ignored at a start",
        file: "core/src/server/marks_file.rs",
        from: "shared.marks.restore(limits, record.current);",
        to: "shared.marks.restore(limits.map(|_| T::MIN), record.current);",
        suites: &[RESTARTS, KILLS, DISK, MARKS, STANDBY, CLOCK],
    },
    Mutant {
        name: "marks are never written",
        file: "core/src/server/marks_file.rs",
        from: "        self.write_record(file, &record)?;\n",
        to: "        let _ = file;\n",
        suites: &[RESTARTS, MARKS],
    },
    Mutant {
        name: "marks are written and not synced",
        file: "src/generator/backend.rs",
        from: "    // SAFETY: a descriptor that is open.\n",
        to: "    return Ok(());\n    #[allow(unreachable_code)]\n    // SAFETY: a descriptor that is open.\n",
        suites: &[DISK],
    },
    Mutant {
        name: "the folder of the marks is not synced",
        file: "src/generator/backend.rs",
        from: "        sync(pg_sys::pg_fsync, &File::open(\".\")?)",
        to: "        Ok(())",
        suites: &[DISK],
    },
    Mutant {
        name: "marks are raised in memory before they are on disk",
        file: "core/src/server/marks_file.rs",
        from: "        self.write_record(file, &record)?;\n",
        to: "        shared.marks.raise(record.limits);\n        self.write_record(file, &record)?;\n",
        suites: &[DISK, MARKS],
    },
    Mutant {
        name: "marks are written two seconds too low",
        file: "core/src/server/marks_file.rs",
        from: "        self.write_record(file, &record)?;\n",
        to: "        let low = record.limits.map(|l| T::from_bits(l.get() - Marks::<T>::AHEAD));\n        self.write_record(file, &Record { limits: low, ..record.clone() })?;\n",
        suites: &[RESTARTS, DISK],
    },
    Mutant {
        name: "marks are renewed only when they are reached",
        file: "src/generator/session.rs",
        from: "        if self.shared().marks.due(stamp.tick_tock(), stamp.tick()) {",
        to: "        if false {",
        suites: &[DISK],
    },
    Mutant {
        name: "the lock of the marks file is not taken",
        file: "src/generator/backend.rs",
        from: "            Err(TryLockError::WouldBlock) => Ok(false),",
        to: "            Err(TryLockError::WouldBlock) => Ok(true),",
        suites: &[KILLS, WAITS],
    },
    Mutant {
        name: "generators are in the memory of their backends",
        file: "src/generator/session.rs",
        from: "        Ok(Self { slot: shared.slot(number),",
        to: "        Ok(Self { slot: Box::leak(Box::default()),",
        suites: &[CONNECTIONS],
    },
    Mutant {
        name: "generators from number 16 on start at zero",
        file: "core/src/server/marks_file.rs",
        from: "        for slot in &shared.slots {",
        to: "        for slot in shared.slots.iter().take(16) {",
        suites: &[RESTARTS, KILLS, CLOCK],
    },
    Mutant {
        name: "marks of another cluster are trusted",
        file: "core/src/server/marks_file.rs",
        from: "            (record.serial == 0 || !is_own).then_some(now),",
        to: "            (record.serial == 0).then_some(now),",
        suites: &[MARKS],
    },
    Mutant {
        name: "a marks file of any kind is opened",
        file: "src/generator/backend.rs",
        from: "if file.metadata()?.is_file() { Ok(file) } else",
        to: "if true { Ok(file) } else",
        suites: &[Suite("faults", "marks_file::no_regular")],
    },
    Mutant {
        name: "a standby generates",
        file: "src/generator/session.rs",
        from: "    if is_in_recovery() { Err",
        to: "    if false && is_in_recovery() { Err",
        suites: &[STANDBY],
    },
    Mutant {
        name: "the last replayed commit is ignored after a promotion",
        file: "src/generator/backend.rs",
        from: "        (time.0 != 0).then(",
        to: "        (time.0 == 1).then(",
        suites: &[STANDBY],
    },
    Mutant {
        name: "the last commit in the log counts as the latest",
        file: "core/src/server/marks_file.rs",
        from: "const COMMIT_SKEW_US: i64 = 2_000_000;",
        to: "const COMMIT_SKEW_US: i64 = 0;",
        suites: &[STANDBY],
    },
    Mutant {
        name: "what is known of the old primary is not written",
        file: "core/src/server/marks_file.rs",
        from: "        if limits != record.limits {\n",
        to: "        if record.serial == 0 && old_primary.is_none() {\n",
        suites: &[STANDBY],
    },
    Mutant {
        name: "a promotion raises the mark of the current side only",
        file: "core/src/server/marks_file.rs",
        from: "        let limits = record.limits.map(|limit| floor.iter().flatten().fold(limit, |a, b| a.max(*b)));",
        to: "        let mut limits = record.limits;\n        let limit = &mut limits[record.current as usize];\n        *limit = floor.iter().flatten().fold(*limit, |a, b| a.max(*b));",
        suites: &[STANDBY],
    },
    Mutant {
        name: "serial numbers of records begin at zero after a start",
        file: "core/src/server/marks_file.rs",
        from: "shared.serial.store(serial, Relaxed);",
        to: "shared.serial.store(serial * 0, Relaxed);",
        suites: &[MARKS],
    },
    Mutant {
        name: "whoever waited for the first session sets the generators again",
        file: "core/src/server/marks_file.rs",
        from: "            backoff.wait(host);\n        }\n        if shared.is_ready() {",
        to: "            backoff.wait(host);\n        }\n        if false {",
        suites: &[STARTS],
    },
    Mutant {
        name: "the postmaster keeps its memory of before a crash",
        file: "src/generator/shared.rs",
        from: "        self.address.store(self.map()?, Relaxed);",
        to: "        if self.address.load(Relaxed).is_null() {\n            self.address.store(self.map()?, Relaxed);\n        }",
        suites: &[STARTS],
    },
    Mutant {
        name: "a record is replaced that may be the only one on disk",
        file: "core/src/server/marks_file.rs",
        from: "        if serial > 0 {\n",
        to: "        if false {\n",
        suites: &[DISK],
    },
    Mutant {
        name: "a claim is not one atomic step",
        file: "core/src/slot.rs",
        from: "        self.word.compare_exchange(old.0, new.0, AcqRel, Relaxed).is_ok()",
        to: "        self.word.load(Acquire) == old.0 && {\n            self.word.store(new.0, Release);\n            true\n        }",
        suites: &[LOOM, UNIQUENESS],
    },
    Mutant {
        name: "the tick of the side that is left is not noted",
        file: "core/src/slot.rs",
        from: "            self.departed[this as usize].fetch_max(tick.get(), AcqRel);",
        to: "",
        suites: &[CORE, LOOM, CLOCK],
    },
    Mutant {
        name: "the tick of the side that is left is noted after the change",
        file: "core/src/slot.rs",
        from: "        if change {\n            self.departed[this as usize].fetch_max(tick.get(), AcqRel);\n        }\n        let next = Word::new(now, to, range.lower());\n        if !self.swap(word, next) {\n            return Ok(None);\n        }\n",
        to: "        let next = Word::new(now, to, range.lower());\n        if !self.swap(word, next) {\n            return Ok(None);\n        }\n        if change {\n            self.departed[this as usize].fetch_max(tick.get(), AcqRel);\n        }\n",
        suites: &[LOOM],
    },
    Mutant {
        name: "the clock is read before the state",
        file: "core/src/slot.rs",
        from: "            let word = self.word();\n            let tick = word.tick();\n            let departed = self.departed(!word.tick_tock());\n            let now = match clock.now() {",
        to: "            let now = clock.now();\n            let word = self.word();\n            let tick = word.tick();\n            let departed = self.departed(!word.tick_tock());\n            let now = match now {",
        suites: &[LOOM],
    },
    Mutant {
        name: "the clock believes its tick for 100 ms",
        file: "core/src/tick_clock.rs",
        from: "const TICK: u64 = 1000 * Tick::MICROS;",
        to: "const TICK: u64 = 25_000 * Tick::MICROS;",
        suites: &[UNIQUENESS],
    },
    Mutant {
        name: "a wait can't be cancelled",
        file: "src/pg/wait.rs",
        from: "    check_for_interrupts!();\n",
        to: "",
        suites: &[WAITS],
    },
    Mutant {
        name: "what was waited already does not count",
        file: "src/generator/session.rs",
        from: "        if waited + micros > max_clock_wait() {",
        to: "        if waited.min(0) + micros > max_clock_wait() {",
        suites: &[WAITS],
    },
    Mutant {
        name: "a reload does not reach a session that generates",
        file: "src/pg/settings.rs",
        from: "    GENERATION.fetch_add(1, Relaxed);\n",
        to: "",
        suites: &[SETTINGS],
    },
    Mutant {
        name: "a setting of a session counts",
        file: "src/pg/settings.rs",
        from: ".and_then(|record| session_value(record)) } {",
        to: ".and_then(|record| session_value(record)).filter(|_| false) } {",
        suites: &[SETTINGS],
    },
    Mutant {
        name: "a value that makes no sense is the default",
        file: "src/sno/settings.rs",
        from: "let prefix = match PREFIX.get()? {",
        to: "let prefix = match PREFIX.get().unwrap_or(PrefixSetting::Auto) {",
        suites: &[SETTINGS],
    },
    Mutant {
        name: "IDs of given times are in a live partition",
        file: "src/sno/generate.rs",
        from: "prefix.reserved().ok_or_else(|| no_reserved_partition(prefix))?",
        to: "prefix.reserved().map(|_| prefix.partition(0)).ok_or_else(|| no_reserved_partition(prefix))?",
        suites: &[UNIQUENESS, REGRESS],
    },
    Mutant {
        name: "the default prefix leaves out the process ID in the system identifier",
        file: "core/src/partition.rs",
        from: "        let mut hash = identifier;",
        to: "        let mut hash = identifier & !0xfff;",
        suites: &[Suite("core", "partition::")],
    },
    Mutant {
        name: "the hash has another seed",
        file: "src/fixed/hash.rs",
        from: "T::LENGTH as c_int, seed as u64)",
        to: "T::LENGTH as c_int, seed as u64 ^ 1)",
        suites: &[REGRESS],
    },
    Mutant {
        name: "abbreviated keys are in another order",
        file: "core/src/abbreviation.rs",
        from: "since << 16 | low as u64",
        to: "since << 16 | (low ^ 1) as u64",
        suites: &[CORE, INDEXES],
    },
    Mutant {
        name: "abbreviated keys have 4 bytes",
        file: "src/fixed/sort.rs",
        from: "    let number = value.key(*sort.abbreviation.get_or_insert_with(|| value.anchor()));",
        to: "    let number = value.key(*sort.abbreviation.get_or_insert_with(|| value.anchor())) >> 32 << 32;",
        suites: &[INDEXES],
    },
    Mutant {
        name: "abbreviated keys are always given up",
        file: "src/fixed/sort.rs",
        from: "in_memory >= 10_000 && sort.counting && distinct < sort.count / 2000 + 1;",
        to: "in_memory >= 10_000 && distinct <= sort.count;",
        suites: &[INDEXES],
    },
    Mutant {
        name: "the estimate is a constant",
        file: "src/sno/planner/selectivity.rs",
        from: "        let mut args = Args::new(fcinfo);\n",
        to: "        if true {\n            return pg_sys::DEFAULT_INEQ_SEL.into_datum();\n        }\n        let mut args = Args::new(fcinfo);\n",
        suites: &[REGRESS, ESTIMATES],
    },
    Mutant {
        name: "two bounds of a range are independent",
        file: "src/sno/planner/selectivity.rs",
        from: "            if !clause.is_constant() {",
        to: "            if true || !clause.is_constant() {",
        suites: &[REGRESS, ESTIMATES],
    },
    Mutant {
        name: "a known bound is estimated given an unknown one",
        file: "src/sno/planner/selectivity.rs",
        from: "(value == Value::Unknown, clause.is_upper())",
        to: "(value != Value::Unknown, clause.is_upper())",
        suites: &[REGRESS, ESTIMATES],
    },
    Mutant {
        name: "planner support does nothing",
        file: "src/sno/planner/support.rs",
        from: "        if (*request).type_ != NodeTag::T_SupportRequestSimplify {",
        to: "        if true || (*request).type_ != NodeTag::T_SupportRequestSimplify {",
        suites: &[REGRESS],
    },
    Mutant {
        name: "NULL is a time",
        file: "src/sno/planner/operators.rs",
        from: "(!time.constisnull).then(",
        to: "true.then(",
        suites: &[REGRESS],
    },
    Mutant {
        name: "a view's time is less than a bound and equal to it",
        file: "src/sno/planner/rewrite.rs",
        from: "let exclusive = !operator.is_inclusive();",
        to: "let exclusive = false;",
        suites: &[CREATED_AT],
    },
    Mutant {
        name: "a view's time is compared with a value of the same row by its ID",
        file: "src/sno/planner/rewrite.rs",
        from: "raw::contain_volatile_functions(time) || raw::bms_is_member(self.number as i32, tables)",
        to: "raw::contain_volatile_functions(time)",
        suites: &[REGRESS],
    },
    Mutant {
        name: "an order by a view's time and something else is one by ID and something else",
        file: "src/sno/planner/rewrite.rs",
        from: "match nodes(query.sortClause).get(place + 1) {",
        to: "match None::<&*mut Node> {",
        suites: &[REGRESS, CREATED_AT],
    },
    Mutant {
        name: "an index on the time of an ID is not used any more",
        file: "src/sno/planner/rewrite.rs",
        from: "(!by_time && may_call",
        to: "((!by_time || true) && may_call",
        suites: &[REGRESS, CREATED_AT],
    },
    Mutant {
        name: "a function is replaced by one that the user may not call",
        file: "src/sno/planner/operators.rs",
        from: "(is_function(found, is) && may_call(found))",
        to: "is_function(found, is)",
        suites: &[REGRESS],
    },
    Mutant {
        name: "a function is not parallel safe any more",
        file: "sql/sno.sql",
        from: "DEFAULT 0) RETURNS sno\n    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;",
        to: "DEFAULT 0) RETURNS sno\n    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;",
        suites: &[REGRESS, UPGRADES],
    },
    Mutant {
        name: "shared memory of another layout is used",
        file: "src/generator/shared.rs",
        from: "if (*address).layout.load(Relaxed) != LAYOUT {",
        to: "if false {",
        suites: &[LAYOUT],
    },
    Mutant {
        name: "the retention is counted in the time zone of the session",
        file: "sql/sno.sql",
        from: "(today - retention) AT TIME ZONE 'UTC'",
        to: "now() - retention",
        suites: &[PARTITIONS],
    },
    Mutant {
        name: "upkeep does not lock the default partition beforehand",
        file: "sql/sno.sql",
        from: "FROM pg_partitioned_table WHERE partrelid = parent\n",
        to: "FROM pg_partitioned_table WHERE false\n",
        suites: &[PARTITIONS],
    },
    Mutant {
        name: "a drop of partitions locks referenced tables only as a detach does",
        file: "sql/sno.sql",
        from: "SELECT 5, confrelid, false, CASE change WHEN 'drop' THEN 'ACCESS EXCLUSIVE' ELSE 'SHARE ROW EXCLUSIVE' END",
        to: "SELECT 5, confrelid, false, 'SHARE ROW EXCLUSIVE'",
        suites: &[Suite("server", "partitions::upkeep_gives_way")],
    },
    Mutant {
        name: "the first partition begins in the time zone of the session",
        file: "sql/sno.sql",
        from: "    start timestamp := since AT TIME ZONE 'UTC';",
        to: "    start timestamp := since::timestamp;",
        suites: &[Suite("server", "partitions::the_time_ahead")],
    },
    Mutant {
        name: "the expiry of partitions looks for names in the schemas of the session",
        file: "sql/sno.sql",
        from: "    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    own regnamespace := (SELECT extnamespace FROM pg_extension WHERE extname = 'sno');
    child record;",
        to: "    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
AS $$
DECLARE
    own regnamespace := (SELECT extnamespace FROM pg_extension WHERE extname = 'sno');
    child record;",
        suites: &[Suite("server", "schemas::names_in")],
    },
    Mutant {
        name: "the view takes the memory of schemes that nobody uses",
        file: "src/compat/views.rs",
        from: "    if !std::fs::exists(S::MARKS).unwrap_or(false) {",
        to: "    if false {",
        suites: &[Suite("server", "compat::settings::the_view")],
    },
    Mutant {
        name: "a transaction passes no fence after its announcement",
        file: "core/src/horizon.rs",
        from: "        word.lower(transaction, tick);\n        fence(SeqCst);",
        to: "        word.lower(transaction, tick);",
        suites: &[LOOM_HORIZON],
    },
    Mutant {
        name: "a reader passes no fence after it has raised the floor",
        file: "core/src/horizon.rs",
        from: ".max(to.get());\n        fence(SeqCst);",
        to: ".max(to.get());",
        suites: &[LOOM_HORIZON],
    },
    Mutant {
        name: "the floor is not loaded again after the announcement",
        file: "core/src/horizon.rs",
        from: "        tick.max(self.floor())",
        to: "        tick",
        suites: &[LOOM_HORIZON],
    },
    Mutant {
        name: "words are loaded before the floor is raised",
        file: "core/src/horizon.rs",
        from: "        let floor = self.floor.fetch_max(",
        to: "        let found = open();\n        let open = || found;\n        let floor = self.floor.fetch_max(",
        suites: &[LOOM_HORIZON],
    },
    Mutant {
        name: "a worker raises the tick that its leader has announced",
        file: "core/src/horizon.rs",
        from: ".map_or(new, |_| new.min(old))",
        to: ".map_or(new, |_| new)",
        suites: &[LOOM_HORIZON],
    },
    Mutant {
        name: "the tick of an earlier transaction stays",
        file: "core/src/horizon.rs",
        from: "unpack(old, transaction).map_or(new, |_| new.min(old))",
        to: "if old == 0 { new } else { new.min(old) }",
        suites: &[LOOM_HORIZON],
    },
    Mutant {
        name: "a word says nothing about earlier transactions",
        file: "core/src/horizon.rs",
        from: "fetch_update(Release, Relaxed, lowered",
        to: "fetch_update(Relaxed, Relaxed, lowered",
        suites: &[LOOM_HORIZON],
    },
    Mutant {
        name: "a cleared word says nothing about its transaction",
        file: "core/src/horizon.rs",
        from: "self.0.store(0, Release)",
        to: "self.0.store(0, Relaxed)",
        suites: &[LOOM_HORIZON],
    },
    Mutant {
        name: "who reads a word learns nothing else",
        file: "core/src/horizon.rs",
        from: "self.0.load(Acquire)",
        to: "self.0.load(Relaxed)",
        suites: &[LOOM_HORIZON],
    },
    Mutant {
        name: "the highest horizon says nothing about transactions",
        file: "core/src/horizon.rs",
        from: "fetch_max(least, AcqRel)",
        to: "fetch_max(least, Relaxed)",
        suites: &[LOOM_HORIZON],
    },
    Mutant {
        name: "a claim reads an earlier tick than was announced",
        file: "core/src/slot.rs",
        from: "            if now < low {",
        to: "            if low == T::MAX {",
        suites: &[LOOM_HORIZON],
    },
    Mutant {
        name: "a claim stays in an earlier tick than was announced",
        file: "core/src/slot.rs",
        from: "if tick >= low && clock",
        to: "if low != T::MAX && clock",
        suites: &[LOOM_HORIZON],
    },
    Mutant {
        name: "the floor is ignored",
        file: "core/src/horizon.rs",
        from: "        tick.max(self.floor())",
        to: "        now",
        suites: &[LOOM_HORIZON, HORIZON],
    },
    Mutant {
        name: "a word is cleared before the commit is visible",
        file: "src/sno/horizon/transaction.rs",
        from: "XactEvent::XACT_EVENT_COMMIT |",
        to: "XactEvent::XACT_EVENT_PRE_COMMIT |",
        suites: &[HORIZON],
    },
    Mutant {
        name: "a parallel worker announces for itself",
        file: "src/pg/process.rs",
        from: "if leader.is_null() { pg_sys::MyProc }",
        to: "if true { pg_sys::MyProc }",
        suites: &[HORIZON],
    },
    Mutant {
        name: "words end only when they are cleared",
        file: "core/src/horizon.rs",
        from: "word != 0 && transaction != 0 && word == pack(tick, transaction)",
        to: "word != 0 && transaction | 1 != 0",
        suites: &[HORIZON],
    },
    Mutant {
        name: "prepared transactions are forgotten",
        file: "src/sno/horizon/transaction.rs",
        from: "        XactEvent::XACT_EVENT_PRE_PREPARE => unsafe { guard(before_prepare) },",
        to: "        XactEvent::XACT_EVENT_PRE_PREPARE => (),",
        suites: &[HORIZON],
    },
    Mutant {
        name: "a transaction holds the horizon by a word that a reader has not seen",
        file: "core/src/horizon.rs",
        from: "        announced && self.floor() <= tick",
        to: "        announced",
        suites: &[CORE, LOOM_HORIZON],
    },
    Mutant {
        name: "a transaction does not know what its workers hold",
        file: "src/sno/horizon/transaction.rs",
        from: "    if !process.has_led() {\n        return Ok(false);",
        to: "    if true {\n        return Ok(false);",
        suites: &[HORIZON],
    },
    Mutant {
        name: "locks are read before words",
        file: "core/src/horizon.rs",
        from: "[open(), prepared()]",
        to: "{ let locks = prepared(); [open(), locks] }",
        suites: &[CORE, LOOM_HORIZON],
    },
    Mutant {
        name: "the floor is above the horizon that is returned",
        file: "core/src/horizon.rs",
        from: "        let to = held().map_or(to, |tick| tick.min(to));\n",
        to: "",
        suites: &[CORE, HORIZON],
    },
    Mutant {
        name: "what a transaction was allowed is forgotten",
        file: "core/src/horizon.rs",
        from: "tick.max(self.floor()).min(earlier)",
        to: "tick.max(self.floor())",
        suites: &[CORE],
    },
    Mutant {
        name: "after a restart the floor counts as the horizon",
        file: "core/src/horizon.rs",
        from: "        self.floor.store(floor.get(), Relaxed);",
        to: "        self.floor.store(floor.get(), Relaxed);\n        self.highest.store(floor.get(), Relaxed);",
        suites: &[CORE],
    },
    Mutant {
        name: "the lock table is looked at though nothing is prepared",
        file: "src/sno/horizon/reader.rs",
        from: "    if is_any_prepared() {",
        to: "    if true {",
        suites: &[HORIZON],
    },
    Mutant {
        name: "what is prepared without IDs needs shared memory",
        file: "src/sno/horizon/transaction.rs",
        from: "    if announced() == Tick::MAX && !process.has_led() {",
        to: "    if false {",
        suites: &[SETTINGS],
    },
    Mutant {
        name: "the word of the process before in the same place stays",
        file: "src/sno/horizon/transaction.rs",
        from: "        words[process.number()].clear_unless(process.transaction());",
        to: "        let _ = (process, words);",
        suites: &[HORIZON],
    },
    Mutant {
        name: "a prepared transaction leaves its tick to the next one",
        file: "src/sno/horizon/transaction.rs",
        from: " | XactEvent::XACT_EVENT_PREPARE =>",
        to: " =>",
        suites: &[HORIZON],
    },
    Mutant {
        name: "a transaction that was rolled back leaves its tick to the next one",
        file: "src/sno/horizon/transaction.rs",
        from: "XactEvent::XACT_EVENT_COMMIT | XactEvent::XACT_EVENT_ABORT |",
        to: "XactEvent::XACT_EVENT_COMMIT |",
        suites: &[HORIZON],
    },
    Mutant {
        name: "background workers have no place",
        file: "src/pg/process.rs",
        from: "pg_sys::MaxBackends as usize",
        to: "pg_sys::MaxConnections as usize",
        suites: &[HORIZON],
    },
    Mutant {
        name: "sno_horizon() lowers a mark that is ahead of the clock",
        file: "core/src/server/marks_file.rs",
        from: "limits.map(|limit| limit.max(now))",
        to: "limits.map(|_| now)",
        suites: &[HORIZON, Suite("faults", "horizon::")],
    },
    Mutant {
        name: "an early renewal does without the lock",
        file: "core/src/server/marks_file.rs",
        from: "self.try_lock(&file)? && marks.due(",
        to: "(self.try_lock(&file)? || true) && marks.due(",
        suites: &[MARKS],
    },
    Mutant {
        name: "a raised record has the serial of the one before",
        file: "core/src/server/marks_file.rs",
        from: "            serial += 1;\n",
        to: "",
        suites: &[DISK],
    },
    Mutant {
        name: "after an error without room for the memory nothing can be cancelled",
        file: "src/pg/versions.rs",
        from: "            pg_sys::InterruptHoldoffCount += 1;",
        to: "            let _ = ();",
        suites: &[SETTINGS],
    },
    Mutant {
        name: "the view does not know what is waited for",
        file: "src/sno/views.rs",
        from: "state.safe.max(floor)",
        to: "state.safe",
        suites: &[HORIZON],
    },
    Mutant {
        name: "the marks are not at the horizon",
        file: "src/sno/horizon/reader.rs",
        from: "    session.keep_marks_above(tick, now.max(tick))?;",
        to: "        let _ = now;",
        suites: &[HORIZON],
    },
    Mutant {
        name: "one mark is not at the horizon",
        file: "core/src/server/marks_file.rs",
        from: "limits.iter().any(|limit| *limit < tick)",
        to: "limits.iter().all(|limit| *limit < tick)",
        suites: &[HORIZON],
    },
];
