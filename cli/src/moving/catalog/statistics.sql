SELECT nspname::text AS schema, stxname::text AS name, pg_get_statisticsobjdef(s.oid) AS definition,
    pg_get_userbyid(stxowner)::text AS owner, coalesce(stxstattarget, -1)::integer AS target,
       obj_description(s.oid, 'pg_statistic_ext') AS comment
FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = stxnamespace WHERE s.oid = $1
