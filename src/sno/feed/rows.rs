//! The rows of a source: read once, into the result of the call.

use std::{
    ffi::{CStr, c_char, c_int},
    ptr, slice,
};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{
        self, Datum, DestReceiver, FunctionCallInfo, MemoryContext, NameData, Oid, ParamExternData,
        ReturnSetInfo, SPIExecuteOptions, SPIPlanPtr, TupleDesc, TupleTableSlot,
    },
};
use sno_core::Sno;

use crate::{
    pg::{
        datum::Argument as _,
        errors::{Error, guard, raise},
        raw, spi,
    },
    sno::feed::{
        ledger::{Feed, text},
        plans::plan,
        query::{Sees, execute, with_off},
        source::Source,
    },
};

/// What is off while a source is read: a scan of an index in the order of the keys reads only the batch, but with bad statistics the planner
/// would read and sort all rows that are left; and rows that row security hides would count as read.
const SETTINGS: &[&CStr] = &[c"enable_sort", c"jit", c"row_security"];

/// The query of a source's rows between two IDs, in their order, the first inclusive and the second exclusive.
#[derive(Clone, Copy)]
pub(super) struct Range {
    plan: SPIPlanPtr,
    id_type: Oid,
}

impl Range {
    pub(super) unsafe fn of(source: Source, id_type: Oid, is_custom: bool) -> Self {
        let text = raw::psprintf(
            c"SELECT * FROM %s WHERE %s OPERATOR(pg_catalog.>=) $1 AND %s OPERATOR(pg_catalog.<) $2 \
              ORDER BY %s USING OPERATOR(pg_catalog.<)"
                .as_ptr(),
            source.quoted,
            source.key,
            source.key,
            source.key,
        );
        Self { plan: plan(text, &[id_type; 2], is_custom), id_type }
    }

    /// The ID of the `count`th row of a source between two IDs, planned with their values: of distributed tables, all rows would be fetched
    /// otherwise, however few are wanted.
    pub(super) unsafe fn nth(
        source: Source,
        id_type: Oid,
        count: usize,
        [from, below]: [Sno; 2],
        sees: Sees,
    ) -> Option<Sno> {
        let text = raw::psprintf(
            c"SELECT %s FROM %s WHERE %s OPERATOR(pg_catalog.>=) $1 AND %s OPERATOR(pg_catalog.<) $2 \
              ORDER BY %s USING OPERATOR(pg_catalog.<) OFFSET %d LIMIT 1"
                .as_ptr(),
            source.key,
            source.quoted,
            source.key,
            source.key,
            source.key,
            count as c_int - 1,
        );
        let mut ids = [from, below];
        let params = ids.each_mut().map(|id| (id_type, Some(ptr::from_mut(id).into())));
        let mut rows = None;
        with_off(&[c"row_security"], || rows = Some(execute(text, params, sees, true)));
        let rows = rows.filter(|rows| rows.count > 0)?;
        check_type(rows.row(0).type_of(1), id_type, source.key);
        rows.row(0).value(1).map(|id| Sno::from_datum(id))
    }

    /// Hands the rows to a receiver, as they are under the snapshot of the calling statement or a fresh one.
    /// A receiver begins with a `DestReceiver`.
    pub(super) unsafe fn read<R>(self, mut from: Sno, mut below: Sno, receiver: &mut R, sees: Sees) {
        let values: [Datum; 2] = [(&raw mut from).into(), (&raw mut below).into()];
        let params = raw::makeParamList(values.len() as _);
        for (number, value) in values.into_iter().enumerate() {
            let pflags = pg_sys::PARAM_FLAG_CONST as _;
            let param = ParamExternData { value, isnull: false, pflags, ptype: self.id_type };
            (*params).params.as_mut_ptr().add(number).write(param);
        }
        let dest = ptr::from_mut(receiver).cast();
        let options =
            SPIExecuteOptions { params, read_only: sees == Sees::Statement, dest, ..Default::default() };
        with_off(SETTINGS, || spi::execute_plan_into(self.plan, &options));
    }
}

/// Whether a transaction has ended since the snapshot of the calling statement was taken.
/// In a statement.
pub(super) unsafe fn snapshot_has_changed() -> bool {
    // Nothing is kept of the snapshots.
    let (a, b) = (&*raw::GetActiveSnapshot(), &*raw::GetTransactionSnapshot());
    let open = |s: &pg_sys::SnapshotData| (s.xcnt > 0).then(|| slice::from_raw_parts(s.xip, s.xcnt as usize));
    (a.xmin, a.xmax, open(a)) != (b.xmin, b.xmax, open(b))
}

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

/// That the key is an ID: an ALTER TABLE can have made it a time, which is compared with IDs, too.
unsafe fn check_type(type_: Oid, id_type: Oid, key: *const c_char) {
    if type_ == Oid::INVALID || raw::getBaseType(type_) != id_type {
        guard(|| -> Result<(), Error> {
            let message = format!("key of the feed's source has another type: \"{}\"", text(key));
            Err(Error::new(SqlState::ERRCODE_DATATYPE_MISMATCH, message)
                .detail("It is no longer a column of type sno."))
        });
    }
}

/// The ID in a column. It was compared, so it is not null, unless a view has it computed again by a function that lies about its
/// volatility.
unsafe fn id(slot: *mut TupleTableSlot, column: c_int) -> Sno {
    if c_int::from((*slot).tts_nvalid) < column {
        raw::slot_getsomeattrs_int(slot, column);
    }
    let place = column as usize - 1;
    if *(*slot).tts_isnull.add(place) {
        raise(changing_key);
    }
    Sno::from_datum(*(*slot).tts_values.add(place))
}

/// Of IDs that are not those that were compared.
pub(super) fn changing_key() -> Error {
    let message = "key of the feed's source changes while it is read";
    Error::new(SqlState::ERRCODE_INVALID_OBJECT_DEFINITION, message)
        .detail("A view computes it by a function that is declared IMMUTABLE or STABLE and is not.")
        .hint("Have the view show a column of a table as its key.")
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

/// Receives the rows of a batch into the result of a call: as many as are enough, with all of the last ID, of which a view can have
/// several.
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
