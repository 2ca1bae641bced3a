-- What all questions read: the tables and partitions ($1), their columns that move ($2 tables, $3 numbers, $4 whether
-- a key). The questions also have the indexes that read these ($5), the foreign keys between these ($6), whether a move
-- is under way ($7), names that move ($8), their types ($9), functions that objects call ($10) and that the DBA names
-- ($11). Each answers: how grave it is ('refused' forbids a move, 'to do' is for the DBA, 'note' is what the steps do),
-- what it is, of which object, and what to do.
WITH me AS (SELECT * FROM pg_roles WHERE rolname = current_user),
part AS (
    SELECT concat(nullif(nspname, 'public') || '.', relname) AS shown, nspname, nspowner, rolname AS owner,
        rolsuper OR rolbypassrls AS owner_sees_all, c.*
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace JOIN pg_roles o ON o.oid = relowner
    WHERE c.oid = ANY ($1::oid[])),
moved AS (
    SELECT concat(shown, '.', attname) AS name, relkind, relispartition, is_key, a.*
    FROM unnest($2::oid[], $3::int2[], $4::boolean[]) u(rel, n, is_key) JOIN part ON part.oid = rel
    JOIN pg_attribute a ON attrelid = rel AND attnum = n)
