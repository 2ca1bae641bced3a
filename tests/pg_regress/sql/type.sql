-- The type as the catalogs show it.

SELECT typlen, typalign, typstorage, typbyval FROM pg_type WHERE typname = 'sno';

-- Ten bytes in a row, without header or padding.
SELECT pg_column_size('9q7k4op826n2g222'::sno) AS bytes;
SELECT pg_column_size(ROW('9q7k4op826n2g222'::sno, '9q7k4op826n2g222'::sno))
     - pg_column_size(ROW('9q7k4op826n2g222'::sno)) AS bytes;

-- Every operator class is complete and consistent.
SELECT am.amname, opc.opcname, opc.opcdefault AS "default", amvalidate(opc.oid) AS valid
FROM pg_opclass opc JOIN pg_am am ON am.oid = opc.opcmethod
WHERE opc.opcintype = 'sno'::regtype
ORDER BY 1, 2;

-- The operators: what the planner may conclude from them, and whether they can leak what they see.
SELECT oprname, oprcom::regoper AS commutator, oprnegate::regoper AS negator,
       oprcanmerge AS merges, oprcanhash AS hashes, oprrest, oprjoin, proleakproof AS leakproof
FROM pg_operator JOIN pg_proc p ON p.oid = oprcode
WHERE oprleft = 'sno'::regtype AND oprright = 'sno'::regtype
ORDER BY 1;

-- Volatility, strictness and parallel safety, where they are not immutable, strict and safe.
SELECT oid::regprocedure AS function, provolatile, proisstrict, proparallel
FROM pg_proc
WHERE (provolatile, proisstrict, proparallel) <> ('i', true, 's')
  AND oid IN (SELECT objid FROM pg_depend
              WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno')
                AND classid = 'pg_proc'::regclass AND prokind = 'f')
ORDER BY 1;

-- Leakproof is what can't fail. These can. (The functions of the planner and of sorts are never asked.)
SELECT oid::regprocedure AS function
FROM pg_proc
WHERE NOT proleakproof AND provolatile = 'i'
  AND NOT 'internal'::regtype = ANY (proargtypes)
  AND oid IN (SELECT objid FROM pg_depend
              WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno')
                AND classid = 'pg_proc'::regclass AND prokind = 'f')
ORDER BY 1;
-- Rows of those that return sets.
SELECT oid::regprocedure AS function, prorows
FROM pg_proc
WHERE proretset AND oid IN (SELECT objid FROM pg_depend
              WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno') AND classid = 'pg_proc'::regclass)
ORDER BY 1;

-- Casts are explicit. Those to and from text are PostgreSQL's own, as of every type.
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod
FROM pg_cast
WHERE 'sno'::regtype IN (castsource, casttarget)
ORDER BY castsource::regtype::text, casttarget::regtype::text;

-- Every object has a comment. The row type of a table or view and a rule have no place for one.
SELECT pg_describe_object(classid, objid, 0) AS without_comment
FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno')
  AND obj_description(objid, classid::regclass::name) IS NULL
  AND pg_describe_object(classid, objid, 0) !~ '^(type sno\[\]|type sno_[a-z_.]+(\[\])?$|rule )';

SELECT relocatable, trusted FROM pg_available_extension_versions WHERE name = 'sno' AND installed;
