-- The type as the catalogs show it.

SELECT typlen, typalign, typstorage, typbyval FROM pg_type WHERE typname = 'sno';
--> typlen|typalign|typstorage|typbyval
--> 10|c|p|f

-- Ten bytes in a row, without header or padding.
SELECT pg_column_size('9q7k4op826n2g222'::sno) AS bytes;
--> bytes
--> 10
SELECT pg_column_size(ROW('9q7k4op826n2g222'::sno, '9q7k4op826n2g222'::sno))
     - pg_column_size(ROW('9q7k4op826n2g222'::sno)) AS bytes;
--> bytes
--> 10

-- Every operator class is complete and consistent.
SELECT am.amname, opc.opcname, opc.opcdefault AS "default", amvalidate(opc.oid) AS valid
FROM pg_opclass opc JOIN pg_am am ON am.oid = opc.opcmethod
WHERE opc.opcintype = 'sno'::regtype
ORDER BY 1, 2;
--> amname|opcname|default|valid
--> brin|sno_bloom_ops|f|t
--> brin|sno_minmax_multi_ops|f|t
--> brin|sno_minmax_ops|t|t
--> btree|sno_ops|t|t
--> hash|sno_ops|t|t

-- The operators: what the planner may conclude from them, and whether they can leak what they see.
SELECT oprname, oprcom::regoper AS commutator, oprnegate::regoper AS negator,
       oprcanmerge AS merges, oprcanhash AS hashes, oprrest, oprjoin, proleakproof AS leakproof
FROM pg_operator JOIN pg_proc p ON p.oid = oprcode
WHERE oprleft = 'sno'::regtype AND oprright = 'sno'::regtype
ORDER BY 1;
--> oprname|commutator|negator|merges|hashes|oprrest|oprjoin|leakproof
--> <|pg_catalog.>|pg_catalog.>=|f|f|sno_internal.sno_ineqsel|sno_internal.sno_ineqjoinsel|t
--> <=|pg_catalog.>=|pg_catalog.>|f|f|sno_internal.sno_ineqsel|sno_internal.sno_ineqjoinsel|t
--> <>|pg_catalog.<>|pg_catalog.=|f|f|neqsel|neqjoinsel|t
--> =|pg_catalog.=|pg_catalog.<>|t|t|eqsel|eqjoinsel|t
--> >|pg_catalog.<|pg_catalog.<=|f|f|sno_internal.sno_ineqsel|sno_internal.sno_ineqjoinsel|t
--> >=|pg_catalog.<=|pg_catalog.<|f|f|sno_internal.sno_ineqsel|sno_internal.sno_ineqjoinsel|t

-- Volatility, strictness and parallel safety, where they are not immutable, strict and safe.
SELECT provolatile, proisstrict, proparallel, string_agg(oid::regprocedure::text, ' ' ORDER BY oid::regprocedure::text) AS functions
FROM pg_proc
WHERE (provolatile, proisstrict, proparallel) <> ('i', true, 's')
  AND oid IN (SELECT objid FROM pg_depend
              WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno')
                AND classid = 'pg_proc'::regclass AND prokind = 'f')
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
--> provolatile|proisstrict|proparallel|functions
--> i|f|s|sno_between(sno,timestamp with time zone,timestamp with time zone) sno_internal.id_type()
--> s|f|r|sno_internal.read_by_all(regclass) sno_internal.sno_scope_read(regclass) sno_read_by_all(regclass)
--> s|f|s|sno_internal.alone(regclass) sno_internal.check_changes(regclass) sno_internal.check_source(regclass,name) sno_internal.first_span(interval,timestamp with time zone,timestamp with time zone) sno_internal.guards(regclass) sno_internal.has_index(regclass,name) sno_internal.has_logged_key(regclass,regclass) sno_internal.idle_triggers(regclass) sno_internal.inheritors(regclass) sno_internal.is_distributed(oid) sno_internal.is_id_type(oid) sno_internal.log_id(regclass) sno_internal.log_key(regclass,regclass) sno_internal.log_read(regclass) sno_internal.logged_as(regclass) sno_internal.logging(regclass,regclass,text) sno_internal.named(regclass) sno_internal.new_values(regclass,smallint) sno_internal.partition_bounds(regclass) sno_internal.partition_gaps(regclass,timestamp without time zone,timestamp without time zone,interval) sno_internal.partitions(regclass) sno_internal.possible_keys(regclass,name) sno_internal.readers(regclass) sno_internal.schema() sno_internal.table_of(regclass) sno_internal.tracked(regclass) sno_internal.tracking_fault(regclass) sno_internal.truncated(regclass) sno_internal.was_there(regclass) sno_partitions(regclass) sno_readers(regclass)
--> s|f|u|sno_feed(text,anyelement,integer) sno_internal.check_drop(regclass) sno_internal.first_key(regclass,name,sno) sno_internal.refuse_old_key() sno_internal.tell_of_missed(text,regclass,timestamp with time zone) sno_internal.tell_of_publications() sno_internal.unread_by(regclass,regclass) sno_peek_feed(text,anyelement,integer)
--> s|t|s|sno_first(date,boolean) sno_first(timestamp without time zone,boolean) sno_internal.sno_in_range(sno,sno,interval,boolean,boolean) sno_internal.sno_ineqjoinsel(internal,oid,internal,smallint,internal) sno_internal.sno_ineqsel(internal,oid,internal,integer) sno_internal.sno_log_shown(pg_node_tree) sno_last(date,boolean) sno_last(timestamp without time zone,boolean)
--> v|f|s|sno_horizon_holders()
--> v|f|u|sno_advance_feed(text,sno,regclass) sno_create_feed(text,regclass,timestamp with time zone,name,interval,boolean,boolean) sno_create_partitions(regclass,interval,timestamp with time zone,timestamp with time zone) sno_drop_feed(text,name) sno_expire_partitions(regclass,timestamp with time zone,boolean,boolean) sno_fail_feed(text,sno,text,sno,interval,regclass) sno_feeds() sno_forget_changes(regclass) sno_internal.add_feed() sno_internal.after_command(regclass,regclass,smallint,boolean) sno_internal.after_rewrite(regclass,integer) sno_internal.after_switch(regclass) sno_internal.alter_partitions(text) sno_internal.check_partitioned(regclass) sno_internal.clear_log(regclass) sno_internal.create_changes(regclass,regclass,text,boolean) sno_internal.create_guard(regclass,name) sno_internal.create_log(regclass,integer,text,text,text) sno_internal.create_partition(regclass,text,sno,sno) sno_internal.create_partitions(regclass,interval,timestamp with time zone,timestamp with time zone) sno_internal.create_truncate_trigger(regclass,regclass) sno_internal.drop_truncate_trigger(regclass,regclass) sno_internal.expire_partitions(regclass,timestamp with time zone,boolean,boolean) sno_internal.feed_failures() sno_internal.follow_ddl() sno_internal.follow_publication() sno_internal.forget_changes(regclass) sno_internal.guard_keys(regclass,name,boolean) sno_internal.has_rows(regclass,name,sno,sno) sno_internal.keep_partitions(regclass) sno_internal.key_of(text,regclass,timestamp with time zone,name,interval) sno_internal.log_attached(regclass) sno_internal.log_changed_partitions(regclass,boolean) sno_internal.log_new(regclass,regclass) sno_internal.log_rows(regclass,regclass,regclass) sno_internal.log_truncated(regclass,regclass) sno_internal.maintain_partitions(regclass,interval,integer,interval,boolean,boolean) sno_internal.position_of(regclass,name,interval,sno,timestamp with time zone,sno) sno_internal.restore_dependency(oid) sno_internal.restore_feed(text,name,text) sno_internal.rows_of_key(regclass,name,sno) sno_internal.sno_altered() sno_internal.sno_first_key(regclass,name,sno) sno_internal.sno_log_changes() sno_internal.sno_log_new(regclass,regclass) sno_internal.sno_scope_horizon(interval,sno,text) sno_internal.track_changes(regclass,integer) sno_internal.untrack_changes(regclass) sno_internal.warn_of_lost_guard(regclass,oid) sno_internal.warn_of_new_values(regclass) sno_internal.warn_of_old_rows(regclass,name) sno_internal.warn_of_unread_rows(regclass,regclass) sno_lower_horizon() sno_maintain_partitions(regclass,interval,integer,interval,boolean,boolean) sno_refuse_old_keys(regclass,name) sno_seek_feed(text,timestamp with time zone,sno,regclass) sno_track_changes(regclass,integer) sno_untrack_changes(regclass)
--> v|t|r|sno_generator() sno_holds_horizon(sno) sno_horizon(interval) sno_internal.sno_horizon(interval) sno_internal.sno_new(integer) sno_new(integer)
--> v|t|s|sno_generators() sno_internal.sno_goes_on_after(sno,bigint) sno_internal.sno_horizon_holders() sno_new(integer,timestamp with time zone)
--> v|t|u|sno_internal.sno_depend(regclass,regclass,boolean) sno_internal.sno_give_horizon() sno_internal.sno_lower_horizons()

-- Leakproof is what can't fail. These can. (The functions of the planner and of sorts are never asked.)
SELECT string_agg(oid::regprocedure::text, ' ' ORDER BY oid::regprocedure::text) AS functions
FROM pg_proc
WHERE NOT proleakproof AND provolatile = 'i'
  AND NOT 'internal'::regtype = ANY (proargtypes)
  AND oid IN (SELECT objid FROM pg_depend
              WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno')
                AND classid = 'pg_proc'::regclass AND prokind = 'f');
--> functions
--> sno_internal.id_type() sno_internal.sno_from_bytea(bytea) sno_internal.sno_from_uuid(uuid) sno_internal.sno_in(cstring) sno_make(timestamp with time zone,integer,integer,integer,boolean) sno_mask(sno,bytea,text) sno_unmask(text,bytea,text) sno_with_metabyte(sno,integer) uuidv7_to_sno(uuid)
-- Rows of those that return sets.
SELECT prorows, string_agg(oid::regprocedure::text, ' ' ORDER BY oid::regprocedure::text) AS functions
FROM pg_proc
WHERE proretset AND oid IN (SELECT objid FROM pg_depend
              WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno') AND classid = 'pg_proc'::regclass)
GROUP BY 1 ORDER BY 1;
--> prorows|functions
--> 1|sno_internal.idle_triggers(regclass) sno_internal.log_read(regclass) sno_internal.new_values(regclass,smallint) sno_internal.sno_altered()
--> 2|sno_internal.guards(regclass)
--> 10|sno_create_partitions(regclass,interval,timestamp with time zone,timestamp with time zone) sno_expire_partitions(regclass,timestamp with time zone,boolean,boolean) sno_feeds() sno_horizon_holders() sno_internal.create_partitions(regclass,interval,timestamp with time zone,timestamp with time zone) sno_internal.expire_partitions(regclass,timestamp with time zone,boolean,boolean) sno_internal.feed_failures() sno_internal.inheritors(regclass) sno_internal.maintain_partitions(regclass,interval,integer,interval,boolean,boolean) sno_internal.named(regclass) sno_internal.partition_gaps(regclass,timestamp without time zone,timestamp without time zone,interval) sno_internal.partitions(regclass) sno_internal.readers(regclass) sno_internal.sno_horizon_holders() sno_internal.truncated(regclass) sno_lower_horizon() sno_maintain_partitions(regclass,interval,integer,interval,boolean,boolean) sno_readers(regclass)
--> 50|sno_generators()
--> 100|sno_internal.partition_bounds(regclass) sno_partitions(regclass)
--> 1000|sno_feed(text,anyelement,integer) sno_peek_feed(text,anyelement,integer)

-- Casts are explicit. Those to and from text are PostgreSQL's own, as of every type.
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod
FROM pg_cast
WHERE 'sno'::regtype IN (castsource, casttarget)
ORDER BY castsource::regtype::text, casttarget::regtype::text;
--> castsource|casttarget|castcontext|castmethod
--> bytea|sno|e|f
--> sno|bytea|e|f
--> sno|timestamp with time zone|e|f
--> sno|uuid|e|f
--> timestamp with time zone|sno|e|f
--> uuid|sno|e|f

-- Every object has a comment. The row type of a table or view and a rule have no place for one.
SELECT pg_describe_object(classid, objid, 0) AS without_comment
FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno')
  AND obj_description(objid, classid::regclass::name) IS NULL
  AND pg_describe_object(classid, objid, 0) !~ '^(type sno\[\]|type sno_[a-z_.]+(\[\])?$|rule )';
--> without_comment

SELECT relocatable, trusted FROM pg_available_extension_versions WHERE name = 'sno' AND installed;
--> relocatable|trusted
--> f|t
