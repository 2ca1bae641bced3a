-- The type as the catalogs show it.

SELECT typlen, typalign, typstorage, typbyval FROM pg_type WHERE typname = 'sno';
-->  typlen | typalign | typstorage | typbyval 
--> --------+----------+------------+----------
-->      10 | c        | p          | f
--> (1 row)
-->

-- Ten bytes in a row, without header or padding.
SELECT pg_column_size('9q7k4op826n2g222'::sno) AS bytes;
-->  bytes 
--> -------
-->     10
--> (1 row)
-->
SELECT pg_column_size(ROW('9q7k4op826n2g222'::sno, '9q7k4op826n2g222'::sno))
     - pg_column_size(ROW('9q7k4op826n2g222'::sno)) AS bytes;
-->  bytes 
--> -------
-->     10
--> (1 row)
-->

-- Every operator class is complete and consistent.
SELECT am.amname, opc.opcname, opc.opcdefault AS "default", amvalidate(opc.oid) AS valid
FROM pg_opclass opc JOIN pg_am am ON am.oid = opc.opcmethod
WHERE opc.opcintype = 'sno'::regtype
ORDER BY 1, 2;
-->  amname |       opcname        | default | valid 
--> --------+----------------------+---------+-------
-->  brin   | sno_bloom_ops        | f       | t
-->  brin   | sno_minmax_multi_ops | f       | t
-->  brin   | sno_minmax_ops       | t       | t
-->  btree  | sno_ops              | t       | t
-->  hash   | sno_ops              | t       | t
--> (5 rows)
-->

-- The operators: what the planner may conclude from them, and whether they can leak what they see.
SELECT oprname, oprcom::regoper AS commutator, oprnegate::regoper AS negator,
       oprcanmerge AS merges, oprcanhash AS hashes, oprrest, oprjoin, proleakproof AS leakproof
FROM pg_operator JOIN pg_proc p ON p.oid = oprcode
WHERE oprleft = 'sno'::regtype AND oprright = 'sno'::regtype
ORDER BY 1;
-->  oprname |  commutator   |    negator    | merges | hashes |         oprrest          |           oprjoin            | leakproof 
--> ---------+---------------+---------------+--------+--------+--------------------------+------------------------------+-----------
-->  <       | pg_catalog.>  | pg_catalog.>= | f      | f      | sno_internal.sno_ineqsel | sno_internal.sno_ineqjoinsel | t
-->  <=      | pg_catalog.>= | pg_catalog.>  | f      | f      | sno_internal.sno_ineqsel | sno_internal.sno_ineqjoinsel | t
-->  <>      | pg_catalog.<> | pg_catalog.=  | f      | f      | neqsel                   | neqjoinsel                   | t
-->  =       | pg_catalog.=  | pg_catalog.<> | t      | t      | eqsel                    | eqjoinsel                    | t
-->  >       | pg_catalog.<  | pg_catalog.<= | f      | f      | sno_internal.sno_ineqsel | sno_internal.sno_ineqjoinsel | t
-->  >=      | pg_catalog.<= | pg_catalog.<  | f      | f      | sno_internal.sno_ineqsel | sno_internal.sno_ineqjoinsel | t
--> (6 rows)
-->

-- Volatility, strictness and parallel safety, where they are not immutable, strict and safe.
SELECT oid::regprocedure AS function, provolatile, proisstrict, proparallel
FROM pg_proc
WHERE (provolatile, proisstrict, proparallel) <> ('i', true, 's')
  AND oid IN (SELECT objid FROM pg_depend
              WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno')
                AND classid = 'pg_proc'::regclass AND prokind = 'f')
ORDER BY 1;
-->                                                 function                                                | provolatile | proisstrict | proparallel 
--> --------------------------------------------------------------------------------------------------------+-------------+-------------+-------------
-->  sno_internal.sno_ineqsel(internal,oid,internal,integer)                                                | s           | t           | s
-->  sno_internal.sno_ineqjoinsel(internal,oid,internal,smallint,internal)                                  | s           | t           | s
-->  sno_internal.sno_in_range(sno,sno,interval,boolean,boolean)                                            | s           | t           | s
-->  sno_new(integer)                                                                                       | v           | t           | s
-->  sno_new(integer,timestamp with time zone)                                                              | v           | t           | s
-->  sno_horizon(interval)                                                                                  | v           | t           | s
-->  sno_holds_horizon(sno)                                                                                 | v           | t           | s
-->  sno_internal.sno_lower_horizons()                                                                      | v           | t           | u
-->  sno_internal.sno_goes_on_after(sno,bigint)                                                             | v           | t           | s
-->  sno_internal.sno_horizon_holders()                                                                     | v           | t           | s
-->  sno_horizon_holders()                                                                                  | v           | f           | s
-->  sno_lower_horizon()                                                                                    | v           | f           | u
-->  sno_generators()                                                                                       | v           | t           | s
-->  sno_generator()                                                                                        | v           | t           | r
-->  sno_first(timestamp without time zone,boolean)                                                         | s           | t           | s
-->  sno_first(date,boolean)                                                                                | s           | t           | s
-->  sno_last(timestamp without time zone,boolean)                                                          | s           | t           | s
-->  sno_last(date,boolean)                                                                                 | s           | t           | s
-->  sno_between(sno,timestamp with time zone,timestamp with time zone)                                     | i           | f           | s
-->  sno_internal.id_type()                                                                                 | i           | f           | s
-->  sno_internal.id_types()                                                                                | s           | f           | s
-->  sno_internal.schema()                                                                                  | s           | f           | s
-->  sno_internal.sno_new(integer)                                                                          | v           | t           | s
-->  sno_internal.sno_horizon(interval)                                                                     | v           | t           | s
-->  sno_internal.refuse_old_key()                                                                          | s           | f           | u
-->  sno_internal.guards(regclass)                                                                          | s           | f           | s
-->  sno_internal.unguarded(regclass,name)                                                                  | s           | f           | s
-->  sno_internal.create_guard(regclass,name)                                                               | v           | f           | u
-->  sno_refuse_old_keys(regclass,name)                                                                     | v           | f           | u
-->  sno_internal.guard_keys(regclass,regclass,name)                                                        | v           | f           | u
-->  sno_internal.partition_bounds(regclass)                                                                | s           | f           | s
-->  sno_partitions(regclass)                                                                               | s           | f           | s
-->  sno_internal.partition_gaps(regclass,timestamp without time zone,timestamp without time zone,interval) | s           | f           | s
-->  sno_internal.check_partitioned(regclass)                                                               | v           | f           | u
-->  sno_internal.alter_partitions(text)                                                                    | v           | f           | u
-->  sno_internal.first_span(interval,timestamp with time zone,timestamp with time zone)                    | s           | f           | s
-->  sno_internal.create_partition(regclass,text,sno,sno)                                                   | v           | f           | u
-->  sno_internal.create_partitions(regclass,interval,timestamp with time zone,timestamp with time zone)    | v           | f           | u
-->  sno_create_partitions(regclass,interval,timestamp with time zone,timestamp with time zone)             | v           | f           | u
-->  sno_internal.expire_partitions(regclass,timestamp with time zone,boolean,boolean)                      | v           | f           | u
-->  sno_expire_partitions(regclass,timestamp with time zone,boolean,boolean)                               | v           | f           | u
-->  sno_internal.maintain_partitions(regclass,interval,integer,interval,boolean,boolean)                   | v           | f           | u
-->  sno_maintain_partitions(regclass,interval,integer,interval,boolean,boolean)                            | v           | f           | u
-->  sno_internal.is_distributed(oid)                                                                       | s           | f           | s
-->  sno_internal.sno_scope_horizon(interval,sno,text)                                                      | v           | f           | u
-->  sno_internal.sno_scope_read(regclass)                                                                  | s           | f           | r
-->  sno_internal.feed_failures()                                                                           | v           | f           | u
-->  sno_internal.restore_feed(text,name,text)                                                              | v           | f           | u
-->  sno_internal.add_feed()                                                                                | v           | f           | u
-->  sno_feeds()                                                                                            | v           | f           | u
-->  sno_internal.base_relations(regclass)                                                                  | s           | f           | s
-->  sno_internal.check_origin(regclass,name)                                                               | s           | f           | s
-->  sno_internal.whose_horizon(regclass,name,interval)                                                     | s           | f           | s
-->  sno_internal.position_of(regclass,name,interval,sno,timestamp with time zone,sno)                      | v           | f           | u
-->  sno_internal.key_of(text,regclass,timestamp with time zone,name,interval)                              | v           | f           | u
-->  sno_create_feed(text,regclass,timestamp with time zone,name,interval,boolean,boolean)                  | v           | f           | u
-->  sno_seek_feed(text,timestamp with time zone,sno,regclass)                                              | v           | f           | u
-->  sno_drop_feed(text,name)                                                                               | v           | f           | u
-->  sno_feed(text,anyelement,integer,sno)                                                                  | s           | f           | u
-->  sno_peek_feed(text,anyelement,integer,sno)                                                             | s           | f           | u
-->  sno_advance_feed(text,sno,regclass)                                                                    | v           | f           | u
-->  sno_fail_feed(text,sno,text,sno,interval,regclass)                                                     | v           | f           | u
-->  sno_internal.sno_origin(regclass,integer)                                                              | s           | t           | s
-->  sno_internal.origin(regclass,name)                                                                     | s           | f           | s
-->  sno_internal.readers(regclass)                                                                         | s           | f           | s
-->  sno_readers(regclass)                                                                                  | s           | f           | s
-->  sno_internal.read_by_all(regclass)                                                                     | s           | f           | r
-->  sno_read_by_all(regclass)                                                                              | s           | f           | r
-->  sno_internal.sno_log_changes()                                                                         | v           | f           | u
-->  sno_internal.tracked(regclass)                                                                         | s           | f           | s
-->  sno_internal.is_logged(regclass,regclass,name)                                                         | s           | f           | s
-->  sno_internal.tracking_fault(regclass)                                                                  | s           | f           | s
-->  sno_internal.partitions(regclass)                                                                      | s           | f           | s
-->  sno_internal.logs_truncate(regclass)                                                                   | s           | f           | s
-->  sno_internal.has_key_of_log(regclass,regclass)                                                         | s           | f           | s
-->  sno_internal.idle_triggers(regclass)                                                                   | s           | f           | s
-->  sno_internal.check_changes(regclass)                                                                   | s           | f           | s
-->  sno_internal.log_rows(regclass,regclass,regclass)                                                      | v           | f           | u
-->  sno_internal.create_truncate_trigger(regclass,regclass,regclass[])                                     | v           | f           | u
-->  sno_internal.drop_truncate_trigger(regclass,regclass)                                                  | v           | f           | u
-->  sno_internal.follow_partitions(regclass,boolean)                                                       | v           | f           | u
-->  sno_internal.truncated(regclass)                                                                       | s           | f           | s
-->  sno_internal.log_truncated(regclass,regclass)                                                          | v           | f           | u
-->  sno_internal.key_of_log(regclass,regclass)                                                             | s           | f           | s
-->  sno_internal.alone(regclass)                                                                           | s           | f           | s
-->  sno_internal.create_log(regclass,integer,text,text,text)                                               | v           | f           | u
-->  sno_internal.track_changes(regclass,integer)                                                           | v           | f           | u
-->  sno_track_changes(regclass,integer)                                                                    | v           | f           | u
-->  sno_internal.forget_changes(regclass)                                                                  | v           | f           | u
-->  sno_forget_changes(regclass)                                                                           | v           | f           | u
-->  sno_internal.logs_below(regclass)                                                                      | s           | f           | s
-->  sno_internal.clear_log(regclass)                                                                       | v           | f           | u
-->  sno_internal.untrack_changes(regclass)                                                                 | v           | f           | u
-->  sno_untrack_changes(regclass)                                                                          | v           | f           | u
--> (94 rows)
-->

-- Leakproof is what can't fail. These can. (The functions of the planner and of sorts are never asked.)
SELECT oid::regprocedure AS function
FROM pg_proc
WHERE NOT proleakproof AND provolatile = 'i'
  AND NOT 'internal'::regtype = ANY (proargtypes)
  AND oid IN (SELECT objid FROM pg_depend
              WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno')
                AND classid = 'pg_proc'::regclass AND prokind = 'f')
ORDER BY 1;
-->                               function                              
--> --------------------------------------------------------------------
-->  sno_internal.sno_in(cstring)
-->  sno_internal.sno_from_bytea(bytea)
-->  sno_make(timestamp with time zone,integer,integer,integer,boolean)
-->  sno_with_metabyte(sno,integer)
-->  sno_mask(sno,bytea,text)
-->  sno_unmask(text,bytea,text)
-->  sno_internal.id_type()
-->  sno_internal.sno_from_uuid(uuid)
-->  uuidv7_to_sno(uuid)
--> (9 rows)
-->
-- Rows of those that return sets.
SELECT oid::regprocedure AS function, prorows
FROM pg_proc
WHERE proretset AND oid IN (SELECT objid FROM pg_depend
              WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno') AND classid = 'pg_proc'::regclass)
ORDER BY 1;
-->                                                 function                                                | prorows 
--> --------------------------------------------------------------------------------------------------------+---------
-->  sno_internal.sno_horizon_holders()                                                                     |      10
-->  sno_horizon_holders()                                                                                  |      10
-->  sno_lower_horizon()                                                                                    |      10
-->  sno_generators()                                                                                       |      50
-->  sno_internal.id_types()                                                                                |       3
-->  sno_internal.guards(regclass)                                                                          |       2
-->  sno_internal.unguarded(regclass,name)                                                                  |       1
-->  sno_internal.partition_bounds(regclass)                                                                |     100
-->  sno_partitions(regclass)                                                                               |     100
-->  sno_internal.partition_gaps(regclass,timestamp without time zone,timestamp without time zone,interval) |      10
-->  sno_internal.create_partitions(regclass,interval,timestamp with time zone,timestamp with time zone)    |      10
-->  sno_create_partitions(regclass,interval,timestamp with time zone,timestamp with time zone)             |      10
-->  sno_internal.expire_partitions(regclass,timestamp with time zone,boolean,boolean)                      |      10
-->  sno_expire_partitions(regclass,timestamp with time zone,boolean,boolean)                               |      10
-->  sno_internal.maintain_partitions(regclass,interval,integer,interval,boolean,boolean)                   |      10
-->  sno_maintain_partitions(regclass,interval,integer,interval,boolean,boolean)                            |      10
-->  sno_internal.feed_failures()                                                                           |      10
-->  sno_feeds()                                                                                            |      10
-->  sno_internal.base_relations(regclass)                                                                  |      10
-->  sno_feed(text,anyelement,integer,sno)                                                                  |    1000
-->  sno_peek_feed(text,anyelement,integer,sno)                                                             |    1000
-->  sno_internal.readers(regclass)                                                                         |      10
-->  sno_readers(regclass)                                                                                  |      10
-->  sno_internal.partitions(regclass)                                                                      |      10
-->  sno_internal.idle_triggers(regclass)                                                                   |       1
-->  sno_internal.truncated(regclass)                                                                       |      10
-->  sno_internal.logs_below(regclass)                                                                      |       1
--> (27 rows)
-->

-- Casts are explicit. Those to and from text are PostgreSQL's own, as of every type.
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod
FROM pg_cast
WHERE 'sno'::regtype IN (castsource, casttarget)
ORDER BY castsource::regtype::text, casttarget::regtype::text;
-->         castsource        |        casttarget        | castcontext | castmethod 
--> --------------------------+--------------------------+-------------+------------
-->  bytea                    | sno                      | e           | f
-->  sno                      | bytea                    | e           | f
-->  sno                      | timestamp with time zone | e           | f
-->  sno                      | uuid                     | e           | f
-->  timestamp with time zone | sno                      | e           | f
-->  uuid                     | sno                      | e           | f
--> (6 rows)
-->

-- Every object has a comment. The row type of a table or view and a rule have no place for one.
SELECT pg_describe_object(classid, objid, 0) AS without_comment
FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno')
  AND obj_description(objid, classid::regclass::name) IS NULL
  AND pg_describe_object(classid, objid, 0) !~ '^(type sno\[\]|type sno_[a-z_.]+(\[\])?$|rule )';
-->  without_comment 
--> -----------------
--> (0 rows)
-->

SELECT relocatable, trusted FROM pg_available_extension_versions WHERE name = 'sno' AND installed;
-->  relocatable | trusted 
--> -------------+---------
-->  f           | t
--> (1 row)
-->
