//! Generators, and what of PostgreSQL they rest on: processes, shared memory, settings, versions.

use super::{
    CORE, DISK, LOOM, NEIGHBOURS, OfFile, PRELOAD, REGRESS, RESTARTS, SETTINGS, STANDBY, STARTS, UNIQUENESS,
    UPGRADES, WAITS,
};

#[rustfmt::skip]
pub(super) const MUTANTS: &[OfFile] = &[
    ("shared/src/generator/backend.rs", &[
        ("of a write in many parts, the first is enough", &[DISK],
            "        file.write_all_at(bytes, position)", "        file.write_at(bytes, position).map(|_| ())"),
        ("marks are written and not synced", &[DISK],
            "    // SAFETY: a descriptor that is open.\n",
            "    return Ok(());\n    #[allow(unreachable_code)]\n    // SAFETY: a descriptor that is open.\n"),
        ("the folder of the marks is not synced", &[DISK],
            "        sync(pg_sys::pg_fsync, &File::open(\".\")?)", "        Ok(())"),
        ("the lock of the marks file is not taken", &[WAITS],
            "            Err(TryLockError::WouldBlock) => Ok(false),", "            Err(TryLockError::WouldBlock) => Ok(true),"),
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
        ("a claim is not one atomic step", &[LOOM, UNIQUENESS],
            "        self.word.compare_exchange(old.0, new.0, AcqRel, Relaxed).is_ok()",
            "        self.word.load(Acquire) == old.0 && {\n            self.word.store(new.0, Release);\n            true\n        }"),
        ("the tick of the side that is left is not noted", &[CORE, LOOM, RESTARTS],
            "            self.departed[this as usize].fetch_max(tick.get(), AcqRel);", ""),
        ("the tick of the side that is left is noted after the change", &[LOOM],
            "        if change {\n            self.departed[this as usize].fetch_max(tick.get(), AcqRel);\n        }\n        let next = Word::new(now, to, range.lower());\n        if !self.swap(word, next) {\n            return Ok(None);\n        }\n",
            "        let next = Word::new(now, to, range.lower());\n        if !self.swap(word, next) {\n            return Ok(None);\n        }\n        if change {\n            self.departed[this as usize].fetch_max(tick.get(), AcqRel);\n        }\n"),
        ("the clock is read before the state", &[LOOM],
            "            let word = self.word();\n            let tick = word.tick();\n            let departed = self.departed(!word.tick_tock());\n            let now = match clock.now() {",
            "            let now = clock.now();\n            let word = self.word();\n            let tick = word.tick();\n            let departed = self.departed(!word.tick_tock());\n            let now = match now {"),
    ]),
    ("shared/src/pg/wait.rs", &[
        ("a wait can't be cancelled", &[WAITS],
            "    check_for_interrupts!();\n", ""),
    ]),
    ("shared/src/pg/server_setting.rs", &[
        ("a misspelt name means the default", &[SETTINGS],
            "undefined_settings().find(is_like_it)", "undefined_settings().find(is_like_it).filter(|_| false)"),
    ]),
    ("shared/src/pg/versions.rs", &[
        ("another library's hook is not called", &[NEIGHBOURS],
            "                next(root, table, has_children, relation);", "                let _ = (next, table, has_children);"),
    ]),
    ("shared/src/pg/server.rs", &[
        ("a server without the settings generates by the defaults", &[PRELOAD],
            "    if is_preloaded() { Ok(()) }", "    if is_preloaded() || true { Ok(()) }"),
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
];
