-- Which triggers and rules fire for what the steps write, or before it.
SELECT 'refused', 'late trigger', format('%s on %s', tgname, shown),
    'BEFORE EACH ROW, it could change a row after the trigger that fills it: rename it to a name before zz_generated'
FROM part JOIN pg_trigger ON tgrelid = part.oid
WHERE tgparentid = 0 AND NOT tgisinternal AND tgtype & 3 = 3 AND tgname::text COLLATE "C" > 'zz_generated'
UNION ALL SELECT 'to do', 'statement trigger', format('%s on %s', tgname, shown),
    'fires in the step fill with search_path = pg_catalog: ALTER FUNCTION ... SET search_path first'
FROM part JOIN pg_trigger ON tgrelid = part.oid JOIN pg_proc p ON p.oid = tgfoid
WHERE NOT tgisinternal AND tgtype & 3 = 2 AND tgtype & 16 > 0
    AND NOT EXISTS (SELECT FROM unnest(proconfig) u WHERE u LIKE 'search\_path=%')
UNION ALL SELECT 'refused', 'rule on UPDATE', format('%s on %s', rulename, shown),
    'the step fill would follow it: DISABLE RULE first, and enable it again after the move'
FROM part JOIN pg_rewrite ON ev_class = part.oid WHERE ev_type = '2' AND ev_enabled <> 'D'
UNION ALL SELECT 'to do', 'column that a trigger fills', format('%s on %s', tgname, shown),
    'has the old keys until its row is written again: UPDATE all rows after the switch'
FROM part JOIN pg_trigger ON tgrelid = part.oid WHERE tgname = 'zz_generated' AND tgparentid = 0
UNION ALL SELECT 'to do', 'event trigger', evtname,
    'fires for the statements of the steps: try them on a restored backup'
FROM pg_event_trigger e WHERE evtenabled <> 'D' AND NOT EXISTS (SELECT FROM pg_depend d
    WHERE d.classid = 'pg_event_trigger'::regclass AND d.objid = e.oid AND d.deptype = 'e')
