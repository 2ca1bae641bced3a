//! The triggers of a table whose changes are tracked: they write the keys of changed rows into its log.
//!
//! The condition of such a trigger names the log, as in `'items_log'::regclass IS NOT NULL`, and a constraint of the log names the table
//! likewise. So PostgreSQL keeps both right when something is renamed, dumps them, and does not drop the log alone. With the rights of
//! the log's owner, whoever changes the table, rows are written into the log, and nothing else.
//!
//! Who reads the log also clears it, with the rights of its owner.

use std::{
    ffi::{CStr, c_char, c_int},
    ptr,
};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{
        self, BoolExpr, Const, Datum, FunctionCallInfo, HeapTuple, Node, NodeTag, NullTest, Oid, Relation,
        TriggerData,
    },
};

use crate::{
    pg::{
        datum::Timestamp,
        errors::{Error, guard, raise},
        fmgr::functions,
        nodes::{nodes, primary_key},
        raw,
        rights::{as_role, owner_of},
        spi,
    },
    sno::feed::{
        ledger::{Feed, oid, text},
        plans::{plan, writes_alone},
        query::{Sees, query},
    },
};

functions! {
    /// `sno_log_changes() → trigger`: logs a row that was changed, or those of a table that is truncated.
    sno_log_changes: log_changes;
}

/// The constraint of a log that names its table.
const CONSTRAINT: &CStr = c"sno_log";

/// PostgreSQL's limit.
const MAX_KEYS: usize = pg_sys::INDEX_MAX_KEYS as usize;

/// What the calls of one trigger in one statement have in common.
struct Logged {
    log: Oid,
    /// Of the log.
    owner: Oid,
    /// How many columns the primary key has, their numbers, and their types.
    count: usize,
    columns: [c_int; MAX_KEYS],
    types: [Oid; MAX_KEYS],
}

unsafe fn log_changes(fcinfo: FunctionCallInfo) -> Datum {
    let data = guard(|| trigger_data(fcinfo));
    let extra = &mut (*(*fcinfo).flinfo).fn_extra;
    if extra.is_null() {
        let memory = (*(*fcinfo).flinfo).fn_mcxt;
        let logged = raw::MemoryContextAlloc(memory, size_of::<Logged>()).cast::<Logged>();
        logged.write(Logged::of(data));
        *extra = logged.cast();
    }
    let logged = &*extra.cast::<Logged>();
    let (row, new_row) = (data.tg_trigtuple, data.tg_newtuple);
    spi::connect();
    match data.tg_event & pg_sys::TRIGGER_EVENT_OPMASK {
        pg_sys::TRIGGER_EVENT_TRUNCATE => {
            let regclass = |relation: Oid| (pg_sys::REGCLASSOID, Some(Datum::from(relation)));
            let params = [regclass((*data.tg_relation).rd_id), regclass(logged.log)];
            as_role(logged.owner, || {
                query(c"SELECT sno_internal.log_truncated($1, $2)", params, Sees::Now);
            });
        }
        pg_sys::TRIGGER_EVENT_UPDATE => {
            logged.log(data.tg_relation, row);
            if !logged.is_same(data.tg_relation, row, new_row) {
                logged.log(data.tg_relation, new_row);
            }
        }
        _ => logged.log(data.tg_relation, row),
    }
    spi::finish();
    Datum::null()
}

/// The data of a call by a trigger as `sno_track_changes()` creates it.
fn trigger_data<'a>(fcinfo: FunctionCallInfo) -> Result<&'a TriggerData, Error> {
    // SAFETY: PostgreSQL's call, whose context has the type that its tag says.
    let data = unsafe {
        let context = (*fcinfo).context;
        let is_trigger = !context.is_null() && (*context).type_ == NodeTag::T_TriggerData;
        is_trigger.then(|| &*context.cast::<TriggerData>())
    };
    let is_of_row = |data: &&TriggerData| {
        let is_truncate = data.tg_event & pg_sys::TRIGGER_EVENT_OPMASK == pg_sys::TRIGGER_EVENT_TRUNCATE;
        let timing = data.tg_event & (pg_sys::TRIGGER_EVENT_ROW | pg_sys::TRIGGER_EVENT_TIMINGMASK);
        is_truncate || timing == pg_sys::TRIGGER_EVENT_ROW | pg_sys::TRIGGER_EVENT_AFTER
    };
    data.filter(is_of_row).ok_or_else(|| {
        let message =
            "function \"sno_log_changes\" must be called by a trigger that sno_track_changes() has created";
        Error::new(SqlState::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, message)
    })
}

/// The relation that a condition of a trigger or a constraint names first.
unsafe fn named(condition: *const c_char) -> Oid {
    let mut node = raw::stringToNode(condition).cast::<Node>();
    if (*node).type_ == NodeTag::T_BoolExpr {
        let Some(&first) = nodes((*node.cast::<BoolExpr>()).args).first() else { return Oid::INVALID };
        node = first;
    }
    if (*node).type_ != NodeTag::T_NullTest {
        return Oid::INVALID;
    }
    let argument = (*node.cast::<NullTest>()).arg.cast::<Node>();
    if (*argument).type_ != NodeTag::T_Const {
        return Oid::INVALID;
    }
    let constant = &*argument.cast::<Const>();
    let is_relation = constant.consttype == pg_sys::REGCLASSOID && !constant.constisnull;
    if is_relation { Oid::from(constant.constvalue.value() as u32) } else { Oid::INVALID }
}

impl Logged {
    unsafe fn of(data: &TriggerData) -> Self {
        // The locks are released with the transaction, as those of a query.
        let table = data.tg_relation;
        let condition = (*data.tg_trigger).tgqual;
        let log = if condition.is_null() { Oid::INVALID } else { named(condition) };
        if raw::get_rel_name(log).is_null() {
            raise(|| incomplete(table, "The trigger names no log."));
        }
        let log = raw::table_open(log, pg_sys::RowExclusiveLock as c_int);
        if !is_log_of(log, table) {
            let detail = "The log has no constraint that names the table.";
            raise(|| incomplete(table, detail));
        }
        let mut this = Self {
            log: (*log).rd_id,
            owner: (*(*log).rd_rel).relowner,
            count: 0,
            columns: [0; MAX_KEYS],
            types: [Oid::INVALID; MAX_KEYS],
        };
        // A partition has the columns of its table by their names. Its primary key can be another one.
        let of_root = raw::table_open(root(table), pg_sys::AccessShareLock as c_int);
        let key = primary_key(of_root).unwrap_or(&[]);
        let (of_log, of_table) = ((*log).rd_att, (*table).rd_att);
        let (mut is_same, mut names_are_known) = (true, true);
        for number in 1..(*of_log).natts.min(MAX_KEYS as c_int + 1) {
            let in_log = raw::SPI_fname(of_log, number + 1);
            let name = match key.get(number as usize - 1) {
                Some(&column) => raw::SPI_fname((*of_root).rd_att, column.into()),
                // While a dump is restored, there is no primary key yet, and nothing has another name.
                None if key.is_empty() => in_log,
                None => break,
            };
            let column = raw::SPI_fnumber(of_table, name);
            if column <= 0 {
                break;
            }
            let type_ = raw::SPI_gettypeid(of_table, column);
            if raw::SPI_gettypeid(of_log, number + 1) != type_ {
                break;
            }
            is_same &= CStr::from_ptr(name) == CStr::from_ptr(in_log);
            names_are_known &= (2..=key.len() as c_int + 1).contains(&raw::SPI_fnumber(of_log, name));
            this.columns[this.count] = column;
            this.types[this.count] = type_;
            this.count += 1;
        }
        if this.count == 0 || this.count < key.len() {
            raise(|| other_key(table));
        }
        // Whether the columns have exchanged their names, or their places in the key, cannot be known.
        if !is_same && names_are_known {
            guard(|| -> Result<(), Error> {
                let detail = "Columns of the key have exchanged their names, or their places in the key.";
                Err(other_key(table).detail(detail))
            });
        }
        raw::table_close(of_root, pg_sys::NoLock as c_int);
        raw::table_close(log, pg_sys::NoLock as c_int);
        this
    }

    /// Writes the key of a row into the log.
    unsafe fn log(&self, table: Relation, row: HeapTuple) {
        let mut values = [Datum::null(); MAX_KEYS];
        for (value, &column) in values.iter_mut().zip(&self.columns[..self.count]) {
            // A primary key has no nulls, but PostgreSQL lets a DEFERRABLE one go.
            *value = spi::value(row, (*table).rd_att, column).unwrap_or_else(|| raise(|| other_key(table)));
        }
        // By the names of now: the lock on the log does not keep its schema from being renamed.
        let (schema, name) = (raw::get_rel_namespace(self.log), raw::get_rel_name(self.log));
        let quoted = raw::quote_qualified_identifier(raw::get_namespace_name(schema), name);
        let mut insert = raw::psprintf(c"INSERT INTO %s VALUES (DEFAULT".as_ptr(), quoted);
        for number in 1..=self.count as c_int {
            insert = raw::psprintf(c"%s, $%d".as_ptr(), insert, number);
        }
        insert = raw::psprintf(c"%s)".as_ptr(), insert);
        let is_of_log = as_role(self.owner, || {
            let plan = plan(insert, &self.types[..self.count], false);
            let is_of_log = writes_alone(plan, self.log);
            if is_of_log {
                spi::execute_plan(plan, values.as_mut_ptr(), ptr::null(), false);
            }
            is_of_log
        });
        if !is_of_log {
            raise(|| incomplete(table, "The log was renamed just now."));
        }
    }

    /// Whether two rows have the same key: the same bytes, since operators of others' types would be theirs.
    unsafe fn is_same(&self, table: Relation, a: HeapTuple, b: HeapTuple) -> bool {
        self.columns[..self.count].iter().zip(&self.types).all(|(&column, &type_)| {
            let [a, b] = [a, b].map(|row| spi::value(row, (*table).rd_att, column));
            let (mut length, mut is_by_value) = (0, false);
            raw::get_typlenbyval(type_, &mut length, &mut is_by_value);
            matches!((a, b), (Some(a), Some(b)) if raw::datum_image_eq(a, b, is_by_value, length.into()))
        })
    }
}

/// The table that a partition belongs to, or the table itself.
unsafe fn root(table: Relation) -> Oid {
    // From the parent to the root.
    if !(*(*table).rd_rel).relispartition {
        return (*table).rd_id;
    }
    let ancestors = raw::get_partition_ancestors((*table).rd_id);
    if ancestors.is_null() {
        return (*table).rd_id;
    }
    (*(*ancestors).elements.add((*ancestors).length as usize - 1)).oid_value
}

/// Whether the owner of a log has it written by a table: its constraint names the table.
/// Otherwise who may create a trigger on any table would write into those of others.
unsafe fn is_log_of(log: Relation, table: Relation) -> bool {
    let constraints = (*(*log).rd_att).constr;
    if constraints.is_null() {
        return false;
    }
    let checks = (0..usize::from((*constraints).num_check)).map(|number| &*(*constraints).check.add(number));
    checks
        .filter(|check| CStr::from_ptr(check.ccname) == CONSTRAINT)
        .any(|check| named(check.ccbin) == root(table))
}

/// The log that a feed of a source reads, if it reads one.
const LOG_READ: &CStr = c"SELECT l.log FROM sno_internal.log_read($1) l";

/// With the first move of a feed in a minute, deletes from the log that it reads what all feeds have read. Only if the feed is of a role
/// that could do this itself, by `sno_forget_changes()`.
/// The feed is as it was before it moved.
pub(super) unsafe fn clear(feed: Feed) {
    const MINUTE: i64 = 60_000_000;
    if feed.moved.value() as i64 / MINUTE == Timestamp::now().0 / MINUTE {
        return;
    }
    let reader = raw::get_role_oid(feed.owner.cast_mut_ptr(), true);
    let rows = query(LOG_READ, [(pg_sys::REGCLASSOID, Some(feed.source.into()))], Sees::Now);
    if rows.count == 0 || reader == Oid::INVALID {
        return;
    }
    let Some(log) = rows.row(0).value(1) else { return };
    let owner = owner_of(oid(log));
    if raw::has_privs_of_role(reader, owner) {
        let params = [(pg_sys::REGCLASSOID, Some(log))];
        as_role(owner, || {
            query(c"SELECT sno_internal.clear_log($1)", params, Sees::Now);
        });
    }
}

fn name(table: Relation) -> String {
    // SAFETY: inside the guard; a relation that is there has a name.
    unsafe { text(pg_sys::get_rel_name(root(table))) }
}

fn incomplete(table: Relation, detail: &str) -> Error {
    let message = format!("log of the changes of \"{}\" is incomplete", name(table));
    Error::new(SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .detail(detail)
        .hint("Use sno_track_changes().")
}

fn other_key(table: Relation) -> Error {
    let message = format!("primary key of \"{}\" differs from the columns of its log", name(table));
    Error::new(SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint(
        "Undo the change of the key; or drop the feeds, use sno_untrack_changes() and sno_track_changes(), create the feeds, and \
         fill the copies from the table.",
    )
}
