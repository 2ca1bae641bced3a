//! PostgreSQL's functions without pgrx's wrappers.
//!
//! A wrapper turns an ERROR into a panic, which takes longer than many of these functions, and an error of a user's
//! function loses its SQLSTATE and its context on the way. A raw call lets the error pass as a `longjmp`, so it has one
//! rule: **no frame from the call up to PostgreSQL has a destructor to run or a `catch_unwind`.** That is also why a
//! caller may not panic.

use std::ffi::{c_char, c_int, c_long, c_void};

use pgrx::pg_sys::{
    self, AclResult, Bitmapset, CoercionForm, Const, Datum, DestReceiver, Expr, FmgrInfo, FuncExpr,
    FunctionCallInfo, GucAction, GucContext, GucSource, HeapTuple, IndexOptInfo, IndexPath, JoinType, Latch,
    List, MemoryContext, MemoryContextCallback, Node, NullTestType, ObjectType, Oid, ParamListInfo, Path,
    PlannerInfo, RegProcedure, RelOptInfo, Relation, SPIExecuteOptions, SPIPlanPtr, ScanDirection, Snapshot,
    SortGroupClause, SortSupport, SpecialJoinInfo, TargetEntry, TupleDesc, TupleTableSlot, Tuplestorestate,
    TypeCacheEntry, oidvector,
};

unsafe extern "C-unwind" {
    pub(crate) fn palloc(size: usize) -> *mut c_void;
    pub(crate) fn MemoryContextAlloc(context: MemoryContext, size: usize) -> *mut c_void;

    // Only their addresses are used: PostgreSQL calls them.
    pub(crate) fn ssup_datum_unsigned_cmp(x: Datum, y: Datum, ssup: SortSupport) -> c_int;
    pub(crate) fn in_range_timestamptz_interval(fcinfo: FunctionCallInfo) -> Datum;

    #[cfg(feature = "points")]
    pub(crate) fn LockAcquire(
        tag: *const pg_sys::LOCKTAG,
        mode: pg_sys::LOCKMODE,
        session: bool,
        dont_wait: bool,
    ) -> pg_sys::LockAcquireResult::Type;
    pub(crate) fn ProcessInterrupts();
    pub(crate) fn WaitLatch(latch: *mut Latch, events: c_int, millis: c_long, wait_event: u32) -> c_int;
    pub(crate) fn ResetLatch(latch: *mut Latch);
    pub(crate) fn stack_is_too_deep() -> bool;

    pub(crate) fn SPI_connect() -> c_int;
    pub(crate) fn SPI_finish() -> c_int;
    pub(crate) fn SPI_prepare_cursor(
        query: *const c_char,
        nargs: c_int,
        types: *mut Oid,
        options: c_int,
    ) -> SPIPlanPtr;
    pub(crate) fn SPI_keepplan(plan: SPIPlanPtr) -> c_int;
    pub(crate) fn SPI_freeplan(plan: SPIPlanPtr) -> c_int;
    pub(crate) fn SPI_plan_get_plan_sources(plan: SPIPlanPtr) -> *mut List;
    pub(crate) fn SPI_execute(query: *const c_char, read_only: bool, count: c_long) -> c_int;
    pub(crate) fn SPI_execute_plan(
        plan: SPIPlanPtr,
        values: *mut Datum,
        nulls: *const c_char,
        read_only: bool,
        count: c_long,
    ) -> c_int;
    pub(crate) fn SPI_execute_plan_extended(plan: SPIPlanPtr, options: *const SPIExecuteOptions) -> c_int;
    pub(crate) fn SPI_getbinval(
        row: HeapTuple,
        columns: TupleDesc,
        column: c_int,
        is_null: *mut bool,
    ) -> Datum;
    pub(crate) fn SPI_gettypeid(columns: TupleDesc, column: c_int) -> Oid;
    pub(crate) fn getBaseType(type_: Oid) -> Oid;
    pub(crate) fn SPI_fnumber(columns: TupleDesc, name: *const c_char) -> c_int;
    pub(crate) fn makeParamList(count: c_int) -> ParamListInfo;
    pub(crate) fn NewGUCNestLevel() -> c_int;
    pub(crate) fn set_config_option(
        name: *const c_char,
        value: *const c_char,
        context: GucContext::Type,
        source: GucSource::Type,
        action: GucAction::Type,
        changes: bool,
        level: c_int,
        is_reload: bool,
    ) -> c_int;
    pub(crate) fn AtEOXact_GUC(is_commit: bool, level: c_int);
    pub(crate) fn GetActiveSnapshot() -> Snapshot;
    pub(crate) fn GetTransactionSnapshot() -> Snapshot;
    pub(crate) fn slot_getsomeattrs_int(slot: *mut TupleTableSlot, count: c_int);
    pub(crate) fn MakeSingleTupleTableSlot(
        columns: TupleDesc,
        kind: *const pg_sys::TupleTableSlotOps,
    ) -> *mut TupleTableSlot;
    pub(crate) fn InitMaterializedSRF(fcinfo: FunctionCallInfo, flags: u32);
    pub(crate) fn CreateTuplestoreDestReceiver() -> *mut DestReceiver;
    pub(crate) fn SetTuplestoreDestReceiverParams(
        receiver: *mut DestReceiver,
        rows: *mut Tuplestorestate,
        memory: MemoryContext,
        detoasts: bool,
        columns: TupleDesc,
        message: *const c_char,
    );
    pub(crate) fn tuplestore_gettupleslot(
        rows: *mut Tuplestorestate,
        forward: bool,
        copies: bool,
        slot: *mut TupleTableSlot,
    ) -> bool;
    pub(crate) fn tuplestore_putvalues(
        rows: *mut Tuplestorestate,
        columns: TupleDesc,
        values: *mut Datum,
        nulls: *mut bool,
    );
    pub(crate) fn tuplestore_rescan(rows: *mut Tuplestorestate);
    pub(crate) fn tuplestore_clear(rows: *mut Tuplestorestate);
    pub(crate) fn MemoryContextRegisterResetCallback(
        context: MemoryContext,
        callback: *mut MemoryContextCallback,
    );
    pub(crate) fn AcceptInvalidationMessages();
    pub(crate) fn CallSyscacheCallbacks(cache: c_int, hash: u32);
    pub(crate) fn GetSysCacheHashValue(
        cache: c_int,
        key1: Datum,
        key2: Datum,
        key3: Datum,
        key4: Datum,
    ) -> u32;
    pub(crate) fn find_all_inheritors(parent: Oid, lock: c_int, counts: *mut *mut List) -> *mut List;
    pub(crate) fn psprintf(format: *const c_char, ...) -> *mut c_char;
    pub(crate) fn quote_identifier(name: *const c_char) -> *const c_char;
    pub(crate) fn quote_qualified_identifier(schema: *const c_char, name: *const c_char) -> *mut c_char;
    pub(crate) fn get_namespace_name(schema: Oid) -> *mut c_char;
    pub(crate) fn get_rel_name(relation: Oid) -> *mut c_char;
    pub(crate) fn get_rel_namespace(relation: Oid) -> Oid;
    pub(crate) fn get_relname_relid(name: *const c_char, schema: Oid) -> Oid;
    pub(crate) fn get_attnum(relation: Oid, name: *const c_char) -> i16;
    pub(crate) fn get_typ_typrelid(type_: Oid) -> Oid;
    pub(crate) fn get_fn_expr_argtype(info: *mut FmgrInfo, number: c_int) -> Oid;

    pub(crate) fn fmgr_info(function: Oid, info: *mut FmgrInfo);
    pub(crate) fn get_opcode(operator: Oid) -> RegProcedure;
    pub(crate) fn get_opfamily_member(family: Oid, left: Oid, right: Oid, strategy: i16) -> Oid;
    pub(crate) fn lookup_type_cache(type_: Oid, flags: i32) -> *mut TypeCacheEntry;

    pub(crate) fn equal(a: *const c_void, b: *const c_void) -> bool;
    pub(crate) fn exprType(node: *const Node) -> Oid;
    pub(crate) fn contain_var_clause(node: *mut Node) -> bool;
    pub(crate) fn contain_volatile_functions(node: *mut Node) -> bool;

    pub(crate) fn GetSysCacheOid(
        cache: c_int,
        column: i16,
        key1: Datum,
        key2: Datum,
        key3: Datum,
        key4: Datum,
    ) -> Oid;
    pub(crate) fn buildoidvector(oids: *const Oid, length: c_int) -> *mut oidvector;
    pub(crate) fn GetUserId() -> Oid;
    pub(crate) fn GetUserIdAndSecContext(role: *mut Oid, context: *mut c_int);
    pub(crate) fn SetUserIdAndSecContext(role: Oid, context: c_int);
    pub(crate) fn get_role_oid(name: *const c_char, missing_ok: bool) -> Oid;
    pub(crate) fn has_privs_of_role(member: Oid, role: Oid) -> bool;
    pub(crate) fn is_member_of_role_nosuper(member: Oid, role: Oid) -> bool;
    pub(crate) fn superuser_arg(role: Oid) -> bool;
    pub(crate) fn get_namespace_oid(name: *const c_char, missing_ok: bool) -> Oid;
    pub(crate) fn aclcheck_error(result: AclResult::Type, kind: ObjectType::Type, name: *const c_char);
    pub(crate) fn LockRelationOid(relation: Oid, lock: c_int);
    pub(crate) fn get_func_name(function: Oid) -> *mut c_char;
    pub(crate) fn get_func_signature(function: Oid, types: *mut *mut Oid, count: *mut c_int) -> Oid;

    pub(crate) fn lappend(list: *mut List, datum: *mut c_void) -> *mut List;
    pub(crate) fn copyObjectImpl(node: *const c_void) -> *mut c_void;
    pub(crate) fn make_andclause(clauses: *mut List) -> *mut Expr;
    pub(crate) fn make_opclause(
        operator: Oid,
        result: Oid,
        returns_set: bool,
        left: *mut Expr,
        right: *mut Expr,
        collation: Oid,
        input_collation: Oid,
    ) -> *mut Expr;
    pub(crate) fn makeConst(
        type_: Oid,
        typmod: i32,
        collation: Oid,
        length: c_int,
        value: Datum,
        is_null: bool,
        by_value: bool,
    ) -> *mut Const;
    pub(crate) fn makeFuncExpr(
        function: Oid,
        result: Oid,
        args: *mut List,
        collation: Oid,
        input_collation: Oid,
        format: CoercionForm::Type,
    ) -> *mut FuncExpr;

    pub(crate) fn makeBoolConst(value: bool, is_null: bool) -> *mut Node;
    pub(crate) fn makeTargetEntry(
        expression: *mut Expr,
        number: i16,
        name: *mut c_char,
        junk: bool,
    ) -> *mut TargetEntry;
    pub(crate) fn assignSortGroupRef(entry: *mut TargetEntry, list: *mut List) -> u32;
    pub(crate) fn tlist_member(expression: *mut Expr, list: *mut List) -> *mut TargetEntry;
    pub(crate) fn get_sortgroupclause_expr(clause: *const SortGroupClause, list: *mut List) -> *mut Node;
    pub(crate) fn get_op_opfamily_strategy(operator: Oid, family: Oid) -> c_int;
    pub(crate) fn contain_subplans(node: *mut Node) -> bool;
    pub(crate) fn pull_varnos(root: *mut PlannerInfo, node: *mut Node) -> *mut Bitmapset;
    pub(crate) fn canonicalize_ec_expression(expression: *mut Expr, type_: Oid, collation: Oid) -> *mut Expr;
    pub(crate) fn table_open(table: Oid, lock: c_int) -> Relation;
    pub(crate) fn table_close(table: Relation, lock: c_int);
    pub(crate) fn index_open(index: Oid, lock: c_int) -> Relation;
    pub(crate) fn index_close(index: Relation, lock: c_int);
    pub(crate) fn RelationGetIndexList(table: Relation) -> *mut List;
    pub(crate) fn RelationGetIndexExpressions(index: Relation) -> *mut List;
    pub(crate) fn ChangeVarNodes(node: *mut Node, from: c_int, to: c_int, levels_up: c_int);
    pub(crate) fn list_copy_head(list: *const List, length: c_int) -> *mut List;
    pub(crate) fn bms_equal(a: *const Bitmapset, b: *const Bitmapset) -> bool;
    pub(crate) fn is_dummy_rel(relation: *mut RelOptInfo) -> bool;
    pub(crate) fn create_index_paths(root: *mut PlannerInfo, relation: *mut RelOptInfo);
    pub(crate) fn build_index_pathkeys(
        root: *mut PlannerInfo,
        index: *mut IndexOptInfo,
        direction: ScanDirection::Type,
    ) -> *mut List;
    pub(crate) fn cost_index(path: *mut IndexPath, root: *mut PlannerInfo, loops: f64, partial: bool);
    pub(crate) fn add_path(relation: *mut RelOptInfo, path: *mut Path);
    pub(crate) fn add_partial_path(relation: *mut RelOptInfo, path: *mut Path);
    pub(crate) fn bms_is_member(number: c_int, set: *const Bitmapset) -> bool;

    pub(crate) fn bms_get_singleton_member(set: *const Bitmapset, member: *mut c_int) -> bool;

    /// It may run users' code.
    pub(crate) fn OidFunctionCall4Coll(
        function: Oid,
        collation: Oid,
        arg1: Datum,
        arg2: Datum,
        arg3: Datum,
        arg4: Datum,
    ) -> Datum;
    pub(crate) fn nulltestsel(
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
    pub(crate) fn hash_bytes(bytes: *const u8, length: c_int) -> u32;
    pub(crate) fn SPI_unregister_relation(name: *const c_char) -> c_int;
    pub(crate) fn GetTopTransactionIdIfAny() -> u32;
    pub(crate) fn IsTransactionBlock() -> bool;
    pub(crate) fn InSecurityRestrictedOperation() -> bool;
    pub(crate) fn TransactionIdIsCurrentTransactionId(transaction: u32) -> bool;
    pub(crate) fn hash_bytes_extended(bytes: *const u8, length: c_int, seed: u64) -> u64;

    /// Reads the system's clock, and raises no error.
    pub(crate) fn GetCurrentTimestamp() -> i64;
}

/// In loops that a query may keep long. The error of a cancelled query passes through.
#[allow(ffi_unwind_calls, reason = "by the rule of this module")]
pub(crate) unsafe fn check_for_interrupts() {
    // SAFETY: a variable of this process, which a signal sets.
    unsafe {
        if pg_sys::InterruptPending != 0 {
            ProcessInterrupts();
        }
    }
}
