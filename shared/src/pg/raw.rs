//! PostgreSQL's functions without pgrx's wrappers, for code outside of the guard.
//!
//! A wrapper turns an ERROR into a panic, which takes longer than many of these functions, and an error of a user's
//! function loses its SQLSTATE and its context on the way. A raw call lets the error pass as a `longjmp`, so it has one
//! rule: **no frame from the call up to PostgreSQL has a destructor to run or a `catch_unwind`.** That is also why a
//! caller may not panic.
//!
//! | | outside of the guard | inside |
//! |---|---|---|
//! | where | what `functions!` and `finfo!` declare, hooks, callbacks, and all they call | [`guard`](crate::pg::errors::guard), `raise`, `warn`, and what `export!` declares |
//! | calls | the functions here | pgrx's, in `pg_sys` |
//! | an ERROR of PostgreSQL | passes through all frames | is a panic, which the guard raises again |
//! | an [`Error`](crate::pg::errors::Error) of our own | is raised by entering the guard | is returned |
//! | what may panic, allocate by Rust, or has something to drop | no | yes |
//!
//! Functions that raise no error, the last ones here, and `pg_sys`' functions that raise none, are for both.

#![allow(missing_docs, reason = "PostgreSQL documents its functions")]

use std::ffi::{c_char, c_int, c_long, c_void};

use pgrx::pg_sys::{
    self, AclResult, Bitmapset, CoercionForm, Const, Datum, DestReceiver, Expr, FmgrInfo, FuncExpr,
    FunctionCallInfo, GucAction, GucContext, GucSource, HeapTuple, IndexOptInfo, IndexPath, JoinType, Latch,
    List, MemoryContext, MemoryContextCallback, Node, NullTestType, ObjectType, Oid, ParamListInfo, Path,
    PlannerInfo, RegProcedure, RelOptInfo, Relation, SPIExecuteOptions, SPIPlanPtr, ScanDirection,
    ScanKeyData, Snapshot, SortGroupClause, SortSupport, SpecialJoinInfo, SysScanDesc, TargetEntry,
    TupleDesc, TupleTableSlot, Tuplestorestate, TypeCacheEntry, oidvector,
};

unsafe extern "C-unwind" {
    pub fn palloc(size: usize) -> *mut c_void;
    pub fn MemoryContextAlloc(context: MemoryContext, size: usize) -> *mut c_void;

    // Only their addresses are used: PostgreSQL calls them.
    pub fn ssup_datum_unsigned_cmp(x: Datum, y: Datum, ssup: SortSupport) -> c_int;
    pub fn in_range_timestamptz_interval(fcinfo: FunctionCallInfo) -> Datum;

    #[cfg(feature = "points")]
    pub fn LockAcquire(
        tag: *const pg_sys::LOCKTAG,
        mode: pg_sys::LOCKMODE,
        session: bool,
        dont_wait: bool,
    ) -> pg_sys::LockAcquireResult::Type;
    pub fn ProcessInterrupts();
    pub fn WaitLatch(latch: *mut Latch, events: c_int, millis: c_long, wait_event: u32) -> c_int;
    pub fn ResetLatch(latch: *mut Latch);
    pub fn stack_is_too_deep() -> bool;
    pub(super) fn enable_timeout_at(id: c_int, at: i64);
    pub(super) fn disable_timeout(id: c_int, keep_indicator: bool);
    pub(super) fn get_timeout_active(id: c_int) -> bool;
    pub(super) fn get_timeout_finish_time(id: c_int) -> i64;

    pub fn GetPortalByName(name: *const c_char) -> *mut pg_sys::PortalData;
    pub(super) fn SPI_connect() -> c_int;
    pub(super) fn SPI_finish() -> c_int;
    pub(super) fn SPI_prepare_cursor(
        query: *const c_char,
        nargs: c_int,
        types: *const Oid,
        options: c_int,
    ) -> SPIPlanPtr;
    pub(super) fn SPI_keepplan(plan: SPIPlanPtr) -> c_int;
    pub(super) fn SPI_freeplan(plan: SPIPlanPtr) -> c_int;
    pub fn SPI_plan_get_plan_sources(plan: SPIPlanPtr) -> *mut List;
    pub(super) fn SPI_execute(query: *const c_char, read_only: bool, count: c_long) -> c_int;
    pub(super) fn SPI_execute_plan(
        plan: SPIPlanPtr,
        values: *mut Datum,
        nulls: *const c_char,
        read_only: bool,
        count: c_long,
    ) -> c_int;
    pub(super) fn SPI_execute_plan_extended(plan: SPIPlanPtr, options: *const SPIExecuteOptions) -> c_int;
    pub fn SPI_getbinval(row: HeapTuple, columns: TupleDesc, column: c_int, is_null: *mut bool) -> Datum;
    pub fn SPI_fname(columns: TupleDesc, column: c_int) -> *mut c_char;
    pub fn SPI_gettypeid(columns: TupleDesc, column: c_int) -> Oid;
    pub fn getBaseType(type_: Oid) -> Oid;
    pub fn SPI_fnumber(columns: TupleDesc, name: *const c_char) -> c_int;
    pub fn makeParamList(count: c_int) -> ParamListInfo;
    pub fn NewGUCNestLevel() -> c_int;
    pub fn set_config_option(
        name: *const c_char,
        value: *const c_char,
        context: GucContext::Type,
        source: GucSource::Type,
        action: GucAction::Type,
        changes: bool,
        level: c_int,
        is_reload: bool,
    ) -> c_int;
    pub fn AtEOXact_GUC(is_commit: bool, level: c_int);
    pub fn GetActiveSnapshot() -> Snapshot;
    pub fn GetTransactionSnapshot() -> Snapshot;
    pub fn slot_getsomeattrs_int(slot: *mut TupleTableSlot, count: c_int);
    pub fn MakeSingleTupleTableSlot(
        columns: TupleDesc,
        kind: *const pg_sys::TupleTableSlotOps,
    ) -> *mut TupleTableSlot;
    pub fn InitMaterializedSRF(fcinfo: FunctionCallInfo, flags: u32);
    pub fn CreateTuplestoreDestReceiver() -> *mut DestReceiver;
    pub fn SetTuplestoreDestReceiverParams(
        receiver: *mut DestReceiver,
        rows: *mut Tuplestorestate,
        memory: MemoryContext,
        detoasts: bool,
        columns: TupleDesc,
        message: *const c_char,
    );
    pub fn tuplestore_gettupleslot(
        rows: *mut Tuplestorestate,
        forward: bool,
        copies: bool,
        slot: *mut TupleTableSlot,
    ) -> bool;
    pub fn tuplestore_putvalues(
        rows: *mut Tuplestorestate,
        columns: TupleDesc,
        values: *mut Datum,
        nulls: *mut bool,
    );
    pub fn tuplestore_rescan(rows: *mut Tuplestorestate);
    pub fn tuplestore_clear(rows: *mut Tuplestorestate);
    pub fn MemoryContextRegisterResetCallback(context: MemoryContext, callback: *mut MemoryContextCallback);
    pub fn AcceptInvalidationMessages();
    pub fn CallSyscacheCallbacks(cache: c_int, hash: u32);
    pub fn GetSysCacheHashValue(cache: c_int, key1: Datum, key2: Datum, key3: Datum, key4: Datum) -> u32;
    pub fn get_trigger_oid(table: Oid, name: *const c_char, missing_ok: bool) -> Oid;
    pub fn recordDependencyOn(
        depender: *const pg_sys::ObjectAddress,
        referenced: *const pg_sys::ObjectAddress,
        kind: pg_sys::DependencyType::Type,
    );
    pub fn deleteDependencyRecordsForSpecific(
        class: Oid,
        object: Oid,
        kind: c_char,
        referenced_class: Oid,
        referenced: Oid,
    ) -> c_long;
    pub fn makeRangeVarFromNameList(names: *const List) -> *mut pg_sys::RangeVar;
    pub fn get_rel_relispartition(relation: Oid) -> bool;
    pub fn get_rel_relkind(relation: Oid) -> c_char;
    pub fn get_extension_oid(name: *const c_char, missing_ok: bool) -> Oid;
    pub fn get_partition_parent(relation: Oid, even_if_detached: bool) -> Oid;
    pub fn GetLatestSnapshot() -> Snapshot;
    pub fn OidFunctionCall1Coll(function: Oid, collation: Oid, arg: Datum) -> Datum;
    pub fn standard_ProcessUtility(
        statement: *mut pg_sys::PlannedStmt,
        text: *const c_char,
        is_kept: bool,
        context: pg_sys::ProcessUtilityContext::Type,
        params: ParamListInfo,
        environment: *mut pg_sys::QueryEnvironment,
        receiver: *mut DestReceiver,
        completion: *mut pg_sys::QueryCompletion,
    );
    pub fn RangeVarGetRelidExtended(
        name: *const pg_sys::RangeVar,
        lock: c_int,
        flags: u32,
        callback: *const c_void,
        arg: *mut c_void,
    ) -> Oid;
    pub fn find_all_inheritors(parent: Oid, lock: c_int, counts: *mut *mut List) -> *mut List;
    pub fn psprintf(format: *const c_char, ...) -> *mut c_char;
    pub fn quote_identifier(name: *const c_char) -> *const c_char;
    pub fn quote_qualified_identifier(schema: *const c_char, name: *const c_char) -> *mut c_char;
    pub fn get_namespace_name(schema: Oid) -> *mut c_char;
    pub fn get_rel_name(relation: Oid) -> *mut c_char;
    pub fn get_rel_persistence(relation: Oid) -> c_char;
    pub fn get_rel_namespace(relation: Oid) -> Oid;
    pub fn get_relname_relid(name: *const c_char, schema: Oid) -> Oid;
    pub fn get_attnum(relation: Oid, name: *const c_char) -> i16;
    pub fn get_partition_ancestors(relation: Oid) -> *mut List;
    pub fn get_typlenbyval(type_: Oid, length: *mut i16, is_by_value: *mut bool);
    pub fn datum_image_eq(a: Datum, b: Datum, is_by_value: bool, length: c_int) -> bool;
    pub fn get_typ_typrelid(type_: Oid) -> Oid;
    pub fn get_fn_expr_argtype(info: *mut FmgrInfo, number: c_int) -> Oid;

    pub fn fmgr_info(function: Oid, info: *mut FmgrInfo);
    pub fn get_opcode(operator: Oid) -> RegProcedure;
    pub fn get_opfamily_member(family: Oid, left: Oid, right: Oid, strategy: i16) -> Oid;
    pub fn lookup_type_cache(type_: Oid, flags: i32) -> *mut TypeCacheEntry;

    pub fn stringToNode(text: *const c_char) -> *mut c_void;
    pub fn text_to_cstring(text: *const pg_sys::text) -> *mut c_char;
    pub fn equal(a: *const c_void, b: *const c_void) -> bool;
    pub fn exprType(node: *const Node) -> Oid;
    pub fn contain_var_clause(node: *mut Node) -> bool;
    pub fn contain_volatile_functions(node: *mut Node) -> bool;

    pub fn GetSysCacheOid(
        cache: c_int,
        column: i16,
        key1: Datum,
        key2: Datum,
        key3: Datum,
        key4: Datum,
    ) -> Oid;
    pub fn buildoidvector(oids: *const Oid, length: c_int) -> *mut oidvector;
    pub fn GetUserId() -> Oid;
    pub fn GetUserIdAndSecContext(role: *mut Oid, context: *mut c_int);
    pub fn SetUserIdAndSecContext(role: Oid, context: c_int);
    pub fn get_role_oid(name: *const c_char, missing_ok: bool) -> Oid;
    pub fn has_privs_of_role(member: Oid, role: Oid) -> bool;
    pub fn is_member_of_role_nosuper(member: Oid, role: Oid) -> bool;
    pub fn getExtensionOfObject(class: Oid, object: Oid) -> Oid;
    pub fn superuser_arg(role: Oid) -> bool;
    pub fn get_namespace_oid(name: *const c_char, missing_ok: bool) -> Oid;
    pub fn aclcheck_error(result: AclResult::Type, kind: ObjectType::Type, name: *const c_char);
    pub fn LockRelationOid(relation: Oid, lock: c_int);
    pub fn get_func_name(function: Oid) -> *mut c_char;
    pub fn get_func_signature(function: Oid, types: *mut *mut Oid, count: *mut c_int) -> Oid;

    pub fn lappend(list: *mut List, datum: *mut c_void) -> *mut List;
    pub fn copyObjectImpl(node: *const c_void) -> *mut c_void;
    pub fn make_andclause(clauses: *mut List) -> *mut Expr;
    pub fn make_opclause(
        operator: Oid,
        result: Oid,
        returns_set: bool,
        left: *mut Expr,
        right: *mut Expr,
        collation: Oid,
        input_collation: Oid,
    ) -> *mut Expr;
    pub fn makeConst(
        type_: Oid,
        typmod: i32,
        collation: Oid,
        length: c_int,
        value: Datum,
        is_null: bool,
        by_value: bool,
    ) -> *mut Const;
    pub fn makeFuncExpr(
        function: Oid,
        result: Oid,
        args: *mut List,
        collation: Oid,
        input_collation: Oid,
        format: CoercionForm::Type,
    ) -> *mut FuncExpr;

    pub fn makeBoolConst(value: bool, is_null: bool) -> *mut Node;
    pub fn makeTargetEntry(
        expression: *mut Expr,
        number: i16,
        name: *mut c_char,
        junk: bool,
    ) -> *mut TargetEntry;
    pub fn assignSortGroupRef(entry: *mut TargetEntry, list: *mut List) -> u32;
    pub fn tlist_member(expression: *mut Expr, list: *mut List) -> *mut TargetEntry;
    pub fn get_sortgroupclause_expr(clause: *const SortGroupClause, list: *mut List) -> *mut Node;
    pub fn get_op_opfamily_strategy(operator: Oid, family: Oid) -> c_int;
    pub fn contain_subplans(node: *mut Node) -> bool;
    pub fn pull_varnos(root: *mut PlannerInfo, node: *mut Node) -> *mut Bitmapset;
    pub fn canonicalize_ec_expression(expression: *mut Expr, type_: Oid, collation: Oid) -> *mut Expr;
    pub fn table_open(table: Oid, lock: c_int) -> Relation;
    pub fn table_close(table: Relation, lock: c_int);
    pub fn index_open(index: Oid, lock: c_int) -> Relation;
    pub fn index_close(index: Relation, lock: c_int);
    pub fn RelationGetIndexList(table: Relation) -> *mut List;
    pub fn ScanKeyEntryInitialize(
        key: *mut ScanKeyData,
        flags: c_int,
        column: i16,
        strategy: u16,
        subtype: Oid,
        collation: Oid,
        function: Oid,
        value: Datum,
    );
    pub fn systable_beginscan_ordered(
        table: Relation,
        index: Relation,
        snapshot: Snapshot,
        count: c_int,
        keys: *mut ScanKeyData,
    ) -> SysScanDesc;
    pub fn systable_getnext_ordered(scan: SysScanDesc, direction: ScanDirection::Type) -> HeapTuple;
    pub fn systable_endscan_ordered(scan: SysScanDesc);
    pub fn heap_copytuple(row: HeapTuple) -> HeapTuple;
    pub fn CreateTupleDescCopy(columns: TupleDesc) -> TupleDesc;
    pub fn PushActiveSnapshot(snapshot: Snapshot);
    pub fn PopActiveSnapshot();
    pub fn RelationGetIndexExpressions(index: Relation) -> *mut List;
    pub fn ChangeVarNodes(node: *mut Node, from: c_int, to: c_int, levels_up: c_int);
    pub fn list_copy_head(list: *const List, length: c_int) -> *mut List;
    pub fn bms_equal(a: *const Bitmapset, b: *const Bitmapset) -> bool;
    pub fn is_dummy_rel(relation: *mut RelOptInfo) -> bool;
    pub fn create_index_paths(root: *mut PlannerInfo, relation: *mut RelOptInfo);
    pub fn build_index_pathkeys(
        root: *mut PlannerInfo,
        index: *mut IndexOptInfo,
        direction: ScanDirection::Type,
    ) -> *mut List;
    pub fn cost_index(path: *mut IndexPath, root: *mut PlannerInfo, loops: f64, partial: bool);
    pub fn add_path(relation: *mut RelOptInfo, path: *mut Path);
    pub fn add_partial_path(relation: *mut RelOptInfo, path: *mut Path);
    pub fn bms_is_member(number: c_int, set: *const Bitmapset) -> bool;

    pub fn bms_get_singleton_member(set: *const Bitmapset, member: *mut c_int) -> bool;

    /// It may run users' code.
    pub fn OidFunctionCall4Coll(
        function: Oid,
        collation: Oid,
        arg1: Datum,
        arg2: Datum,
        arg3: Datum,
        arg4: Datum,
    ) -> Datum;
    pub fn nulltestsel(
        root: *mut PlannerInfo,
        test: NullTestType::Type,
        node: *mut Node,
        relid: c_int,
        join: JoinType::Type,
        special: *mut SpecialJoinInfo,
    ) -> f64;
}

unsafe extern "C" {
    // Functions that raise no error.
    pub fn hash_bytes(bytes: *const u8, length: c_int) -> u32;
    pub fn ItemPointerCompare(a: *const pg_sys::ItemPointerData, b: *const pg_sys::ItemPointerData) -> i32;
    pub fn SPI_unregister_relation(name: *const c_char) -> c_int;
    pub fn GetTopTransactionIdIfAny() -> u32;
    pub fn IsTransactionBlock() -> bool;
    pub fn TransactionIdIsCurrentTransactionId(transaction: u32) -> bool;
    pub fn hash_bytes_extended(bytes: *const u8, length: c_int, seed: u64) -> u64;

    /// Reads the system's clock, and raises no error.
    pub fn GetCurrentTimestamp() -> i64;
}

/// In loops that a query may keep long. The error of a cancelled query passes through.
#[allow(ffi_unwind_calls, reason = "by the rule of this module")]
pub unsafe fn check_for_interrupts() {
    // SAFETY: a variable of this process, which a signal sets.
    unsafe {
        if pg_sys::InterruptPending != 0 {
            ProcessInterrupts();
        }
    }
}
