//! Generators, and what of PostgreSQL they rest on: processes, shared memory, settings, versions.

use super::{
    CORE, DISK, HORIZON, LOOM, MONITORING, NEIGHBOURS, OfFile, PRELOAD, REGRESS, RESTARTS, SETTINGS, SIM,
    STANDBY, STARTS, Suite, UNIQUENESS, UPGRADES, WAITING, WAITS,
};

#[rustfmt::skip]
pub(super) const MUTANTS: &[OfFile] = &[
    ("shared/src/generator/backend.rs", &[
        ("of a write in many parts, the first is enough", &[DISK],
            "        file.write_all_at(bytes, position)", "        file.write_at(bytes, position).map(|_| ())"),
        ("a lock that fails is held by another process", &[DISK],
            "Err(TryLockError::Error(error)) => Err(error),", "Err(TryLockError::Error(_)) => Ok(false),"),
        ("marks are written and not synced", &[DISK],
            "    // SAFETY: a descriptor that is open.\n",
            "    return Ok(());\n    #[allow(unreachable_code)]\n    // SAFETY: a descriptor that is open.\n"),
        ("the folder of the marks is not synced", &[DISK],
            "        sync(pg_sys::pg_fsync, &File::open(\".\")?)", "        Ok(())"),
        ("the lock of the marks file is not taken", &[WAITS],
            "            Err(TryLockError::WouldBlock) => Ok(false),", "            Err(TryLockError::WouldBlock) => Ok(true),"),
        ("a marks file of any kind is opened", &[Suite("faults", "marks_file::no_regular")],
            "if file.metadata()?.is_file() { Ok(file) } else", "if true { Ok(file) } else"),
        ("the last replayed commit is ignored after a promotion", &[STANDBY],
            "        (time.0 != 0).then(", "        (time.0 == 1).then("),
    ]),
    ("shared/src/generator/backend_session.rs", &[
        ("a standby generates", &[STANDBY],
            "    if is_in_recovery() { Err", "    if false && is_in_recovery() { Err"),
        ("a reload does not reach a session that generates", &[SETTINGS],
            "(state.read == server_setting::last_read())", "(state.read == state.read)"),
    ]),
    ("core/src/generation/slot.rs", &[
        ("the newest ID is that of the present side", &[CORE],
            "word.tick().max(self.departed(false)).max(self.departed(true))", "word.tick()"),
        ("a claim is not one atomic step", &[LOOM, UNIQUENESS],
            "        self.word.compare_exchange(old.0, new.0, AcqRel, Relaxed).is_ok()",
            "        self.word.load(Acquire) == old.0 && {\n            self.word.store(new.0, Release);\n            true\n        }"),
        ("the tick of the side that is left is not noted", &[CORE, LOOM, RESTARTS],
            "            self.departed[this as usize].fetch_max(tick.get(), AcqRel);", ""),
        ("the tick of the side that is left is noted after the change", &[LOOM],
            "        if change {\n            self.departed[this as usize].fetch_max(tick.get(), AcqRel);\n        }\n        let next = Word::new(now, to, range.lower());\n        if !self.swap(word, next) {\n            return Ok(None);\n        }\n",
            "        let next = Word::new(now, to, range.lower());\n        if !self.swap(word, next) {\n            return Ok(None);\n        }\n        if change {\n            self.departed[this as usize].fetch_max(tick.get(), AcqRel);\n        }\n"),
        ("a claim within the tick takes a number twice", &[LOOM, SIM],
            "let is_taken = now == word.tick() && now >= low && self.swap(word, next);",
            "self.word.store(next.0, Release);\n        let is_taken = now == word.tick() && now >= low;"),
        ("the clock is read before the state", &[LOOM],
            "            let word = self.word();\n            let tick = word.tick();\n            let departed = self.departed(!word.tick_tock());\n            let now = match clock.now() {",
            "            let now = clock.now();\n            let word = self.word();\n            let tick = word.tick();\n            let departed = self.departed(!word.tick_tock());\n            let now = match now {"),
    ]),
    ("shared/src/pg/wait.rs", &[
        ("a wait can't be cancelled", &[WAITS],
            "    check_for_interrupts!();\n", ""),
        ("a wait for rows can't be cancelled", &[WAITING],
            "        raw::check_for_interrupts();\n", ""),
        ("who waits outlives the postmaster", &[WAITING],
            "    let wake = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;\n    // SAFETY: the backend's own latch; no",
            "    let wake = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT;\n    // SAFETY: the backend's own latch; no"),
    ]),
    ("shared/src/pg/server_setting.rs", &[
        ("a misspelt name means the default", &[SETTINGS],
            "undefined_settings().find(is_like_it)", "undefined_settings().find(is_like_it).filter(|_| false)"),
        ("by a clock that stands still, a second reload counts for nothing", &[SETTINGS],
            "    ASSIGNED.fetch_add(1, Relaxed);\n", ""),
    ]),
    ("shared/src/pg/versions.rs", &[
        ("a misspelt name that was corrected stays unknown", &[SETTINGS],
            "        let has_value = (*record).source != pg_sys::GucSource::PGC_S_DEFAULT;", "        let has_value = true;"),
        ("another library's hook is not called", &[NEIGHBOURS],
            "                next(root, table, has_children, relation);", "                let _ = (next, table, has_children);"),
    ]),
    ("shared/src/pg/server.rs", &[
        ("a server without the settings generates by the defaults", &[PRELOAD],
            "    if is_preloaded() { Ok(()) }", "    if is_preloaded() || true { Ok(()) }"),
    ]),
    ("src/lib.rs", &[
        ("a backend that loads the library late gets the settings and hooks, too", &[PRELOAD],
            "            if pg::server::is_being_preloaded(\"sno\") {", "            if pg::server::is_being_preloaded(\"sno\") || true {"),
    ]),
    ("shared/src/generator/shared.rs", &[
        ("shared memory has no place for background workers", &[PRELOAD],
            "size_of::<P>() * Process::count()", "size_of::<P>() * unsafe { pg_sys::MaxConnections as usize }"),
        ("the request of a library that is preloaded before is not made", &[PRELOAD],
            "            call(REQUEST);\n", ""),
        ("the postmaster keeps its memory of before a crash", &[STARTS],
            "        let mut found = false;\n",
            "        let mut found = false;\n        if !self.address.load(Relaxed).is_null() {\n            return;\n        }\n"),
    ]),
    ("src/sno/settings.rs", &[
        ("a value that makes no sense is the default", &[SETTINGS],
            "let setting = PREFIX.get()?;", "let setting = PREFIX.get().unwrap_or(PrefixSetting::Auto);"),
    ]),
    ("src/sno/generate.rs", &[
        ("IDs of given times are in a live partition", &[UNIQUENESS, REGRESS],
            "prefix.reserved().ok_or_else(|| no_reserved_partition(prefix))?",
            "prefix.reserved().map(|_| prefix.partition(0)).ok_or_else(|| no_reserved_partition(prefix))?"),
    ]),
    ("sql/sno/generation.sql", &[
        ("a function is parallel safe that was not", &[REGRESS, UPGRADES],
            "DEFAULT 0) RETURNS sno\n    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;",
            "DEFAULT 0) RETURNS sno\n    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;"),
    ]),
    ("shared/src/pg/wait.rs", &[
        ("a wait that was woken up once does not sleep any more", &[WAITING],
            "        raw::ResetLatch(pg_sys::MyLatch);\n", ""),
    ]),
    ("src/sno/views.rs", &[
        ("the view does not know what is waited for", &[HORIZON],
            "state.safe.max(floor)", "state.safe"),
        ("the view knows what is waited for in its own database only", &[MONITORING],
            "shared.horizons.highest_floor()", "shared.horizons.find(crate::pg::process::own_database()).floor()"),
    ]),
];
