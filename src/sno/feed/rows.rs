//! What becomes of the rows of a source, which are read once: receivers of a query's rows, of which one is the result of the call.

use std::{
    ffi::{c_char, c_int},
    ptr,
};

use pgrx::pg_sys::{
    self, DestReceiver, FunctionCallInfo, MemoryContext, NameData, Oid, ReturnSetInfo, TupleDesc,
    TupleTableSlot,
};
use sno_core::Sno;

use crate::{
    pg::{datum::Argument as _, raw},
    sno::feed::{ledger::Feed, range::check_type},
};

type Receive = unsafe extern "C-unwind" fn(*mut TupleTableSlot, *mut DestReceiver) -> bool;
type Start = unsafe extern "C-unwind" fn(*mut DestReceiver, c_int, TupleDesc);

fn receiver(receive: Receive, start: Start) -> DestReceiver {
    DestReceiver {
        receiveSlot: Some(receive),
        rStartup: Some(start),
        rShutdown: Some(nothing),
        rDestroy: Some(nothing),
        mydest: pg_sys::CommandDest::DestNone,
    }
}

unsafe extern "C-unwind" fn nothing(_: *mut DestReceiver) {}

/// The key of a source.
#[derive(Clone, Copy)]
struct Key {
    name: *const c_char,
    id_type: Oid,
}

impl Key {
    fn of(feed: Feed) -> Self {
        Self { name: feed.key.cast_mut_ptr::<NameData>().cast(), id_type: feed.id_type }
    }

    /// Its number among the columns of a query.
    unsafe fn column(self, columns: TupleDesc) -> c_int {
        let column = raw::SPI_fnumber(columns, self.name);
        let type_ = if column > 0 { raw::SPI_gettypeid(columns, column) } else { Oid::INVALID };
        check_type(type_, self.id_type, self.name);
        column
    }
}

/// The ID in a column. It was compared, so it is not null, unless a view was replaced just now by one that computes it anew: then what was
/// read does not count.
unsafe fn id(slot: *mut TupleTableSlot, column: c_int) -> Sno {
    if c_int::from((*slot).tts_nvalid) < column {
        raw::slot_getsomeattrs_int(slot, column);
    }
    let place = column as usize - 1;
    if *(*slot).tts_isnull.add(place) {
        return Sno::MIN;
    }
    Sno::from_datum(*(*slot).tts_values.add(place))
}

/// Receives the first row, and ends the query.
#[repr(C)]
pub(super) struct HasRow {
    base: DestReceiver,
    key: Key,
    pub(super) is_there: bool,
}

impl HasRow {
    pub(super) fn new(feed: Feed) -> Self {
        Self { base: receiver(receive_first, start_first), key: Key::of(feed), is_there: false }
    }
}

unsafe extern "C-unwind" fn start_first(this: *mut DestReceiver, _: c_int, columns: TupleDesc) {
    (*this.cast::<HasRow>()).key.column(columns);
}

unsafe extern "C-unwind" fn receive_first(_: *mut TupleTableSlot, this: *mut DestReceiver) -> bool {
    (*this.cast::<HasRow>()).is_there = true;
    false
}

/// Receives the rows of a batch into the result of a call: as many as are enough, with all of the last ID, of which partitions and a
/// key that is not unique can have several.
#[repr(C)]
pub(super) struct Batch {
    base: DestReceiver,
    call: FunctionCallInfo,
    key: Key,
    /// Of the key, in what the query returns.
    column: c_int,
    /// The receiver of the result, which PostgreSQL has for its own functions, once there is a row.
    result: *mut DestReceiver,
    memory: MemoryContext,
    pub(super) enough: usize,
    pub(super) count: usize,
    last: Sno,
    /// Up to which ID it has all rows, if that is known.
    pub(super) shown: Option<Sno>,
}

impl Batch {
    /// For a call for a set, after `SPI_connect`.
    pub(super) fn new(call: FunctionCallInfo, feed: Feed, enough: usize) -> Self {
        Self {
            base: receiver(receive_batch, start_batch),
            call,
            key: Key::of(feed),
            column: 0,
            result: ptr::null_mut(),
            // SAFETY: SPI's, which lives until `SPI_finish`.
            memory: unsafe { pg_sys::CurrentMemoryContext },
            enough,
            count: 0,
            last: Sno::MIN,
            shown: None,
        }
    }

    /// The last ID, if there are no more rows than enough.
    pub(super) fn end(&self) -> Option<Sno> {
        (self.count >= self.enough).then_some(self.last)
    }

    fn set(&self) -> *mut ReturnSetInfo {
        // SAFETY: a call for a set.
        unsafe { (*self.call).resultinfo.cast() }
    }

    /// The column of the key in the result, whose columns have the names from when the statement began, and there are those that were
    /// dropped: PostgreSQL puts the first column of the query into the first one that is left, and so on.
    unsafe fn column_of_result(&self) -> c_int {
        // The result has been begun.
        let columns = (*self.set()).setDesc;
        let is_left = |column: &c_int| raw::SPI_gettypeid(columns, *column) != Oid::INVALID;
        let column = (1..=(*columns).natts).filter(is_left).nth(self.column as usize - 1).unwrap_or(0);
        let type_ = if column > 0 { raw::SPI_gettypeid(columns, column) } else { Oid::INVALID };
        check_type(type_, self.key.id_type, self.key.name);
        column
    }

    /// Forgets the rows.
    pub(super) unsafe fn clear(&mut self) {
        if !(*self.set()).setResult.is_null() {
            raw::tuplestore_clear((*self.set()).setResult);
        }
        self.count = 0;
        self.shown = None;
    }

    /// Begins the result with the first row.
    unsafe fn begin(&mut self, slot: *mut TupleTableSlot) {
        let set = self.set();
        if (*set).setResult.is_null() {
            raw::InitMaterializedSRF(self.call, pg_sys::MAT_SRF_USE_EXPECTED_DESC);
        }
        let before = pg_sys::CurrentMemoryContext;
        pg_sys::CurrentMemoryContext = self.memory;
        self.result = raw::CreateTuplestoreDestReceiver();
        let message = c"rows of the feed's source have another type than the call".as_ptr();
        let (rows, columns) = ((*set).setResult, (*set).setDesc);
        raw::SetTuplestoreDestReceiverParams(self.result, rows, self.memory, false, columns, message);
        if let Some(start) = (*self.result).rStartup {
            start(self.result, pg_sys::CmdType::CMD_SELECT as _, (*slot).tts_tupleDescriptor);
        }
        pg_sys::CurrentMemoryContext = before;
    }
}

unsafe extern "C-unwind" fn start_batch(this: *mut DestReceiver, _: c_int, columns: TupleDesc) {
    // The result's receiver may need another map of columns.
    let this = &mut *this.cast::<Batch>();
    this.column = this.key.column(columns);
    this.result = ptr::null_mut();
}

unsafe extern "C-unwind" fn receive_batch(slot: *mut TupleTableSlot, this: *mut DestReceiver) -> bool {
    let this = &mut *this.cast::<Batch>();
    if this.count + 1 >= this.enough {
        let id = id(slot, this.column);
        if this.count >= this.enough && id != this.last {
            return false;
        }
        this.last = id;
    }
    this.count += 1;
    if this.result.is_null() {
        this.begin(slot);
    }
    match (*this.result).receiveSlot {
        Some(receive) => receive(slot, this.result),
        None => false,
    }
}

/// Merges two inputs in the order of their IDs, the rows that it receives and a batch, and stops at the first ID that the batch lacks.
#[repr(C)]
pub(super) struct FirstUnseen {
    base: DestReceiver,
    key: Key,
    column: c_int,
    set: *mut ReturnSetInfo,
    column_of_set: c_int,
    /// A slot for a row of the batch, its ID, and the last ID before it.
    row: *mut TupleTableSlot,
    seen: Option<Sno>,
    passed: Option<Sno>,
    is_found: bool,
}

impl FirstUnseen {
    pub(super) unsafe fn new(batch: &Batch) -> Self {
        let mut this = Self {
            base: receiver(receive_unseen, start_unseen),
            key: batch.key,
            column: 0,
            set: batch.set(),
            column_of_set: 0,
            row: ptr::null_mut(),
            seen: None,
            passed: None,
            is_found: false,
        };
        if !(*this.set).setResult.is_null() {
            this.column_of_set = batch.column_of_result();
        }
        this.seen = this.next();
        this
    }

    /// If one was found: the last ID of the batch before it.
    pub(super) unsafe fn found(self) -> Option<Option<Sno>> {
        // The caller reads the result from its start.
        if !self.row.is_null() {
            raw::tuplestore_rescan((*self.set).setResult);
        }
        self.is_found.then_some(self.passed)
    }

    /// Goes on to the next row of the batch, and returns its ID.
    unsafe fn next(&mut self) -> Option<Sno> {
        let set = self.set;
        if (*set).setResult.is_null() {
            return None;
        }
        if self.row.is_null() {
            self.row = raw::MakeSingleTupleTableSlot((*set).setDesc, &raw const pg_sys::TTSOpsMinimalTuple);
        }
        let is_there = raw::tuplestore_gettupleslot((*set).setResult, true, false, self.row);
        is_there.then(|| id(self.row, self.column_of_set))
    }
}

unsafe extern "C-unwind" fn start_unseen(this: *mut DestReceiver, _: c_int, columns: TupleDesc) {
    let this = &mut *this.cast::<FirstUnseen>();
    this.column = this.key.column(columns);
}

unsafe extern "C-unwind" fn receive_unseen(slot: *mut TupleTableSlot, this: *mut DestReceiver) -> bool {
    let this = &mut *this.cast::<FirstUnseen>();
    let found = id(slot, this.column);
    while let Some(id) = this.seen.filter(|&id| id < found) {
        this.passed = Some(id);
        this.seen = this.next();
    }
    this.is_found = this.seen != Some(found);
    !this.is_found
}
