//! The processes that run SQL, and their transactions.

use std::{
    ffi::{CStr, c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, AtomicU32, Ordering::Acquire},
};

use pgrx::pg_sys::{self, PGPROC};

/// A process that runs SQL, or the place of one.
#[derive(Clone, Copy)]
pub struct Process(*mut PGPROC);

impl Process {
    /// How many there can be. Known when shared memory is requested.
    pub fn count() -> usize {
        // SAFETY: reads a number that is set once.
        unsafe { pg_sys::MaxBackends as usize }
    }

    /// All of them, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        // SAFETY: PostgreSQL allocates as many, and processes of other purposes follow.
        (0..Self::count()).map(|number| Self(unsafe { (*pg_sys::ProcGlobal).allProcs.add(number) }))
    }

    /// This backend.
    pub fn own() -> Self {
        // SAFETY: reads a variable of this backend.
        Self(unsafe { pg_sys::MyProc })
    }

    /// Whether this backend is a parallel worker, which runs a part of its leader's statement.
    pub fn is_parallel_worker() -> bool {
        // SAFETY: as above.
        unsafe { pg_sys::ParallelWorkerNumber >= 0 }
    }

    /// Its number, from 0 up to the [count](Self::count).
    pub fn number(self) -> usize {
        // SAFETY: all are in one array.
        unsafe { self.0.offset_from_unsigned((*pg_sys::ProcGlobal).allProcs) }
    }

    /// The number of its top-level transaction, which differs from that of the transaction before it; 0 if there is
    /// none. On PostgreSQL 15 and 16, the next process in the same place can come to the same numbers.
    ///
    /// It is that of the lock which a transaction has on itself, and is set to 0 when all locks are released: after the
    /// commit has become visible and what it changed in catalogs was sent to all backends. So whoever has seen it
    /// change gets both, by the next snapshot and by `AcceptInvalidationMessages()`.
    pub fn transaction(self) -> u32 {
        // SAFETY: a place in the array of processes. PostgreSQL writes the number in one step.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.0).fpLocalTransactionId) }.load(Acquire)
    }

    /// The OID of its database; 0 if it has none, or not yet. It has it before its first transaction, and until it
    /// ends.
    pub fn database(self) -> u32 {
        // SAFETY: a place in an array of processes. PostgreSQL writes the OID in one step.
        unsafe { AtomicU32::from_ptr((&raw mut (*self.0).databaseId).cast()) }.load(Acquire)
    }

    /// Whether it, or the prepared transaction that has this place, holds a lock.
    fn holds_locks(self) -> bool {
        // SAFETY: a place in an array of processes, and its lists, which begin with two pointers: to themselves if they
        // are empty.
        unsafe {
            let lists = &raw mut (*self.0).myProcLocks;
            (0..(*lists).len()).any(|number| {
                let list = (&raw mut (*lists)[number]).cast::<*mut c_void>();
                let first = AtomicPtr::from_ptr(list).load(Acquire);
                !first.is_null() && first != list.cast()
            })
        }
    }

    /// The process ID, or 0.
    pub fn id(self) -> i32 {
        // SAFETY: the places stay where they are. It may change at any time.
        unsafe { ptr::read_volatile(&raw const (*self.0).pid) }
    }
}

/// How many transactions can be prepared at a time on this server.
fn most_prepared() -> usize {
    unsafe extern "C" {
        // A setting that pgrx does not bind.
        static max_prepared_xacts: c_int;
    }

    // SAFETY: reads a number that is set once.
    unsafe { max_prepared_xacts as usize }
}

/// The numbers of all prepared transactions and the OIDs of their databases. PostgreSQL has one in progress before the
/// [transaction](Process::transaction) of its process ends, and until its commit is visible. Then it sends what the
/// transaction changed in catalogs, and after that releases its locks: one that has some is listed, too.
///
/// A place keeps the number of a transaction that has ended. Once that is 2³¹ transactions old, it counts as one in
/// progress until the place is used again. This can do no harm.
pub fn all_prepared() -> impl Iterator<Item = (u32, u32)> {
    (0..most_prepared()).filter_map(|place| {
        // SAFETY: PostgreSQL has an array of as many places.
        unsafe {
            let process = pg_sys::PreparedXactProcs.add(place);
            let number = AtomicU32::from_ptr((&raw mut (*process).xid).cast()).load(Acquire);
            let process = Process(process);
            let is_prepared =
                number != 0 && (pg_sys::TransactionIdIsInProgress(number.into()) || process.holds_locks());
            is_prepared.then(|| (number, process.database()))
        }
    })
}

/// The OID of the database of this backend.
pub fn own_database() -> u32 {
    // SAFETY: reads a variable of this backend.
    unsafe { pg_sys::MyDatabaseId }.to_u32()
}

/// The name of the database of this backend.
pub fn own_database_name() -> String {
    // SAFETY: a copy of the name in memory of the present call, or null.
    unsafe {
        let name = pg_sys::get_database_name(pg_sys::MyDatabaseId);
        if name.is_null() { String::new() } else { CStr::from_ptr(name).to_string_lossy().into_owned() }
    }
}
