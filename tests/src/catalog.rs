//! What the catalogs say of an extension, for comparing one database's with another's.

use std::collections::BTreeSet;

use postgres::Client;

/// One line for each thing that the extension `sno` consists of, and `sno_compat` if it is there, with all that PostgreSQL knows of it but numbers
/// that differ from database to database: functions with their definitions and rights, operators, operator classes
/// and families with their members, types, casts, views, comments.
#[must_use]
#[track_caller]
pub fn catalog(client: &mut Client) -> BTreeSet<String> {
    // Casts, classes and families have no name that says all of them; each part adds what its catalog has.
    let query = "
        WITH members AS (
            SELECT d.classid, d.objid, i.type, i.identity
            FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid,
            pg_identify_object(d.classid, d.objid, 0) i
            WHERE d.deptype = 'e' AND e.extname IN ('sno', 'sno_compat')
        ), facts (classid, objid, fact) AS (
            SELECT 'pg_proc'::regclass, p.oid, jsonb_build_array(
                CASE WHEN prokind = 'a' THEN NULL ELSE pg_get_functiondef(p.oid) END,
                -- What the definition leaves out if it is the default, or an aggregate's.
                pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), prokind, provolatile, proparallel,
                proisstrict, proleakproof, prosecdef, procost, prorows, prosupport::text, proconfig, proacl::text,
                probin, l.lanname)
            FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
            UNION ALL
            SELECT 'pg_proc'::regclass, aggfnoid, to_jsonb(a) || jsonb_build_object('aggfnoid', NULL,
                'aggsortop', aggsortop::regoperator::text, 'aggtranstype', aggtranstype::regtype::text,
                'aggmtranstype', NULL)
            FROM pg_aggregate a
            UNION ALL
            SELECT 'pg_operator'::regclass, oid, jsonb_build_array(oprcode::text, oprrest::text, oprjoin::text,
                oprcom::regoperator::text, oprnegate::regoperator::text, oprcanmerge, oprcanhash, oprresult::regtype)
            FROM pg_operator
            UNION ALL
            SELECT 'pg_opclass'::regclass, c.oid, jsonb_build_array(opcdefault, opcintype::regtype,
                opckeytype::regtype, f.opfname)
            FROM pg_opclass c JOIN pg_opfamily f ON f.oid = c.opcfamily
            UNION ALL
            SELECT 'pg_opfamily'::regclass, amopfamily, jsonb_build_array('operator', amopstrategy, amoppurpose,
                amopopr::regoperator::text, amopsortfamily)
            FROM pg_amop
            UNION ALL
            SELECT 'pg_opfamily'::regclass, amprocfamily, jsonb_build_array('function', amprocnum,
                amproclefttype::regtype, amprocrighttype::regtype, amproc::regprocedure::text)
            FROM pg_amproc
            UNION ALL
            SELECT 'pg_type'::regclass, oid, to_jsonb(t) || jsonb_build_object('oid', NULL, 'typnamespace', NULL,
                'typarray', typarray::regtype::text, 'typelem', typelem::regtype::text, 'typrelid', NULL,
                'typowner', NULL)
            FROM pg_type t
            UNION ALL
            SELECT 'pg_cast'::regclass, oid, jsonb_build_array(castsource::regtype, casttarget::regtype,
                CASE castfunc WHEN 0 THEN NULL ELSE castfunc::regprocedure::text END, castcontext, castmethod)
            FROM pg_cast
            UNION ALL
            SELECT 'pg_class'::regclass, c.oid, jsonb_build_array(relkind, pg_get_viewdef(c.oid), relacl::text,
                reloptions)
            FROM pg_class c WHERE relkind = 'v'
            UNION ALL
            SELECT 'pg_class'::regclass, c.oid, jsonb_build_array(relkind, relacl::text, reloptions)
            FROM pg_class c WHERE relkind = 'r'
            UNION ALL
            SELECT 'pg_class'::regclass, conrelid, jsonb_build_array(conname, pg_get_constraintdef(oid))
            FROM pg_constraint WHERE conrelid <> 0
            UNION ALL
            SELECT 'pg_class'::regclass, adrelid, jsonb_build_array(adnum, pg_get_expr(adbin, adrelid))
            FROM pg_attrdef
            UNION ALL
            SELECT 'pg_class'::regclass, ev_class, jsonb_build_array(rulename, pg_get_ruledef(oid))
            FROM pg_rewrite WHERE rulename <> '_RETURN'
            UNION ALL
            SELECT 'pg_class'::regclass, dumped.relation, jsonb_build_array('dumped', dumped.condition)
            FROM pg_extension, unnest(extconfig, extcondition) dumped(relation, condition)
            UNION ALL
            SELECT 'pg_class'::regclass, attrelid, jsonb_build_array(attnum, attname, atttypid::regtype,
                col_description(attrelid, attnum), attacl::text)
            FROM pg_attribute
            UNION ALL
            SELECT classoid::regclass, objoid, jsonb_build_array('comment', objsubid, description)
            FROM pg_description
        )
        SELECT concat_ws(E'\\t', m.type, m.identity, f.fact)
        FROM members m LEFT JOIN facts f ON f.classid = m.classid AND f.objid = m.objid";
    let rows = client.query(query, &[]).unwrap_or_else(|e| panic!("{e:?}"));
    let lines: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(lines.len(), rows.len(), "each line once");
    lines
}
