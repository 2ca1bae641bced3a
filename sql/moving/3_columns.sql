-- What is written, part 1: which new column takes the place of which old one, and how its value is found.

\if :{?write}
\if :{?to}
\else
    SELECT CASE :'from' WHEN 'sno' THEN 'uuid' ELSE 'sno' END AS to \gset
\endif
\if :{?value}
\else
    SELECT CASE WHEN :'from' = 'sno' AND :'to' = 'uuid' THEN 'sno_to_uuidv7(id)' ELSE '' END AS value \gset
\endif

CREATE TEMP TABLE refused AS WITH RECURSIVE :found
    SELECT * FROM refused_too
    UNION
    SELECT 'other owner', format('%s, of %s', rel::regclass, relowner::regrole), 'not with these steps: write and run them as the owner, whose functions they call'
    FROM mcol JOIN pg_class c ON c.oid = rel WHERE relowner <> current_user::regrole;
DO $$
BEGIN
    IF EXISTS (SELECT FROM refused) THEN
        RAISE EXCEPTION 'nothing is written, as some keys cannot move with these steps' USING ERRCODE = 'feature_not_supported',
            DETAIL = (SELECT string_agg(format('%s %s: %s', what, object, action), E'\n' ORDER BY what, object) FROM refused),
            HINT = 'Name the other keys in "keys".';
    END IF;
END
$$;

-- Names are resolved as the session sees them, and written with their schemas.
CREATE TEMP TABLE found_columns AS WITH RECURSIVE :found
    SELECT mcol.rel, mcol.relname, mcol.relkind, mcol.attnum, mcol.attname, is_key, mcol.attgenerated, mcol.attnotnull,
           CASE WHEN mcol.generated THEN 'its default' WHEN mcol.family IN ('uuid', 'sno') THEN mcol.family || ' without a default' END AS filled_as,
           birth.attname AS birth, birth.type AS birth_type, birth.attnotnull AS birth_notnull
    FROM mcol LEFT JOIN birth USING (rel);
-- No unique index of a partitioned table can say this.
DO $$
DECLARE
    key record;
    is_repeated boolean;
BEGIN
    FOR key IN SELECT rel, attname FROM found_columns WHERE is_key AND relkind = 'p' LOOP
        EXECUTE format('SELECT count(*) <> count(DISTINCT %I) FROM %s', key.attname, key.rel::regclass) INTO is_repeated;
        IF is_repeated THEN
            RAISE EXCEPTION 'nothing is written, as several rows have the same "%" in %', key.attname, key.rel::regclass USING ERRCODE = 'feature_not_supported';
        END IF;
    END LOOP;
END
$$;
CREATE TEMP TABLE found_lookups AS WITH RECURSIVE :found
    SELECT rel, attname, key_rel, key_name, NULL AS condition, 0 AS n
    FROM (SELECT DISTINCT ON (rel, attname) * FROM reached WHERE (rel, attname) NOT IN (SELECT rel, attname FROM said) ORDER BY rel, attname, key_rel) r
    WHERE (rel, attname) <> (key_rel, key_name)
    UNION ALL SELECT rel, attname, key_rel, key_name, condition, n FROM said WHERE (key_rel, key_name) IN (SELECT rel, attname FROM key);
CREATE TEMP TABLE found_objects AS WITH RECURSIVE :found
    SELECT classid, objid, max(level) AS level FROM needs GROUP BY 1, 2;
CREATE TEMP TABLE found_fkeys AS WITH RECURSIVE :found
    SELECT DISTINCT oid FROM fkey JOIN moved USING (rel, attname) JOIN moved k ON k.rel = key_rel AND k.attname = key_name;
CREATE TEMP TABLE said_times AS
    SELECT to_regclass(m[1])::oid AS rel, m[2] AS expression
    FROM regexp_split_to_table(:'times', E'\n') line, regexp_match(line, '^\s*(' || :'name' || ')\s+(.*)$') m WHERE m IS NOT NULL;
CREATE TEMP TABLE replaced_functions AS WITH RECURSIVE :found
    SELECT func FROM replaced WHERE func IS NOT NULL;
CREATE TEMP TABLE options AS
    SELECT quote_ident(nspname) || '.' AS schema, format_type(t.oid, NULL) AS type, CASE WHEN :'from' = 'sno' THEN '_new' ELSE '_sno' END AS suffix, :'from' AS source, t.oid AS type_oid,
           (SELECT format('%I.', nspname) FROM pg_proc p JOIN pg_namespace s ON s.oid = pronamespace
            WHERE proname = substring(:'value' FROM '^\w+') AND pg_function_is_visible(p.oid) LIMIT 1) || nullif(:'value', '') AS value
    FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
    JOIN pg_type t ON t.oid = CASE :'to' WHEN 'sno' THEN format('%I.sno', nspname) ELSE :'to' END::regtype WHERE extname = 'sno';
SELECT current_setting('search_path') AS path \gset
SET search_path = pg_catalog;
UPDATE options SET type = format_type(type_oid, NULL);
ALTER TABLE options ADD key_default text, ADD path text;
UPDATE options SET path = :'path', key_default =
    CASE WHEN :'to' = 'sno' THEN schema || 'sno_new()' WHEN to_regprocedure('uuidv7()') IS NOT NULL THEN 'uuidv7()' ELSE 'gen_random_uuid()' END;

-- A name of at most 63 bytes, with the number in it if it is cut or taken.
CREATE FUNCTION pg_temp.name(base text, suffix text, number bigint, is_taken boolean DEFAULT false) RETURNS text LANGUAGE sql IMMUTABLE
RETURN CASE WHEN octet_length(base || suffix) <= 63 AND NOT is_taken THEN base || suffix ELSE (
    SELECT left(base, n) || numbered FROM concat('_', number, suffix) numbered, generate_series(63, 0, -1) n WHERE octet_length(left(base, n) || numbered) <= 63 LIMIT 1) END;
-- The same for a new relation, quoted; without its schema, which is quoted here.
CREATE FUNCTION pg_temp.relation_name(schema text, base text, suffix text, number bigint) RETURNS text LANGUAGE sql STABLE
RETURN quote_ident(pg_temp.name(base, suffix, number, to_regclass(format('%s.%I', schema, base || suffix)) IS NOT NULL));

CREATE TEMP TABLE tables AS
    SELECT rel, format('%I.%I', nspname, f.relname) AS t, quote_ident(nspname) AS nsp, f.relname, f.relkind, bool_or(is_key) AS has_key,
           row_number() OVER (ORDER BY bool_or(is_key) DESC, rel) AS place
    FROM found_columns f JOIN pg_class ON pg_class.oid = rel JOIN pg_namespace n ON n.oid = relnamespace GROUP BY rel, nspname, f.relname, f.relkind;
CREATE FUNCTION pg_temp.has_column(of oid, name text) RETURNS boolean LANGUAGE sql STABLE
RETURN EXISTS (SELECT FROM pg_attribute WHERE attrelid = of AND attname = name AND NOT attisdropped);
CREATE TEMP TABLE columns AS
    WITH named AS (
        SELECT f.*, t, nsp, place, CASE WHEN source = 'sno' THEN 'new_' || attname WHEN is_key AND NOT is_second THEN 'sno'
            ELSE regexp_replace(attname, '(_id|Id)$', '') || '_sno' END AS wish
        FROM (SELECT *, 1 < row_number() OVER (PARTITION BY rel ORDER BY is_key DESC, attnum) AS is_second FROM found_columns) f JOIN tables USING (rel), options),
    chosen AS (
        SELECT n.*, pg_temp.name(wish, '', attnum, pg_temp.has_column(rel, wish) OR 1 < row_number() OVER (PARTITION BY rel, wish ORDER BY attnum)) AS new,
               pg_temp.name('old_' || attname, '', attnum, pg_temp.has_column(rel, 'old_' || attname)) AS old
        FROM named n)
    SELECT c.*, quote_ident(c.attname) AS c, quote_ident(new) AS n, quote_ident(old) AS o,
           format_type(atttypid, NULL) AS type, atttypid, atttypmod, attcollation, pg_get_expr(adbin, adrelid) AS expression, typelem <> 0 AND typlen = -1 AS is_array,
           -- Whether rows that are written after the switch have an old key, too.
           coalesce(NOT is_key OR filled_as IS NOT NULL, false) AS keeps_old
    FROM chosen c JOIN pg_attribute a ON a.attrelid = rel AND a.attnum = c.attnum JOIN pg_type ON pg_type.oid = atttypid
    LEFT JOIN pg_attrdef ON adrelid = rel AND adnum = c.attnum;
CREATE TEMP TABLE lookups AS
    SELECT l.*, k.t AS key_t, k.c AS key_c, k.n AS key_n, k.o AS key_o, k.keeps_old FROM found_lookups l JOIN columns k ON k.rel = key_rel AND k.attname = key_name;
UPDATE columns c SET keeps_old = false
WHERE NOT is_key AND EXISTS (SELECT FROM lookups l WHERE (l.rel, l.attname) = (c.rel, c.attname) AND NOT l.keeps_old);
UPDATE columns c SET keeps_old = false
WHERE attgenerated <> '' AND EXISTS (SELECT FROM columns o WHERE o.rel = c.rel AND NOT o.keeps_old);
-- Tables and their partitions.
CREATE TEMP TABLE parts AS
    SELECT rel, p.relid::oid AS part, p.isleaf, level, format('%I.%I', nspname, k.relname) AS t, quote_ident(nspname) AS nsp, k.relname, place
    FROM tables CROSS JOIN pg_partition_tree(rel) p JOIN pg_class k ON k.oid = p.relid JOIN pg_namespace n ON n.oid = k.relnamespace;
INSERT INTO parts SELECT rel, rel, true, 0, t, nsp, relname, place FROM tables WHERE rel NOT IN (SELECT part FROM parts);

-- An expression without casts of moved columns, also of views, that the new type does not have: those to the base type that PostgreSQL shows
-- for each use of a domain, and to text in comparisons of varchar, and those to uuid that a move to sno has put into indexes.
CREATE TEMP TABLE casts AS
    WITH used AS (
        SELECT atttypid, attname FROM columns UNION
        SELECT a.atttypid, a.attname FROM pg_attribute a JOIN found_objects ON classid = 'pg_class'::regclass AND attrelid = objid WHERE a.atttypid IN (SELECT atttypid FROM columns)),
    escaped AS (
        SELECT typtype, atttypid, format('((?:[[:alnum:]_]+\.|"[^"]+"\.)?%s)', regexp_replace(quote_ident(attname), '(\W)', '\\\1', 'g')) AS name,
               regexp_replace(format_type(typbasetype, NULL), '(\W)', '\\\1', 'g') AS base
        FROM used JOIN pg_type t ON t.oid = atttypid)
    SELECT format('\(%s\)::%s\M', name, base) AS pattern FROM escaped WHERE typtype = 'd'
    UNION SELECT format(p, name) FROM escaped, unnest(ARRAY['\(%s\)::text(?= (?:[=<>]+|(?:NOT )?IN) )', '(?<= [=<>]{1,2} )\(%s\)::text\M']) p WHERE atttypid = 'varchar'::regtype
    UNION SELECT format('\(\(%s\)::uuid\)', name) FROM escaped, options WHERE source = 'sno';
CREATE FUNCTION pg_temp.without_casts(expression text) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    found text;
BEGIN
    FOR found IN SELECT pattern FROM casts LOOP
        expression := regexp_replace(expression, found, '\1', 'g');
    END LOOP;
    RETURN expression;
END
$$;

-- An expression with other names, which are given as they are written in it: no part of a string, no function, type or schema.
CREATE FUNCTION pg_temp.renamed(expression text, names jsonb) RETURNS text LANGUAGE sql STABLE
RETURN (
    SELECT string_agg(CASE WHEN names ? token AND coalesce(before, '') NOT IN ('.', ':') AND coalesce(after, '') NOT IN ('.', '(') THEN names ->> token ELSE token END, '' ORDER BY n)
    FROM (SELECT m[1] AS token, n, lag(m[1]) OVER (ORDER BY n) AS before, lead(m[1]) OVER (ORDER BY n) AS after
          FROM regexp_matches(expression, $$'(?:[^']|'')*'|"(?:[^"]|"")*"|[[:alpha:]_][[:alnum:]_$]*|.|\n$$, 'g') WITH ORDINALITY r(m, n)) tokens);

-- All columns of a table, with the prefix of a row; moved ones by their new names, if they have them still.
CREATE FUNCTION pg_temp.row_names(of oid, prefix text, moved boolean) RETURNS jsonb LANGUAGE sql STABLE
RETURN (SELECT jsonb_object_agg(quote_ident(a.attname), prefix || CASE WHEN moved THEN coalesce(n, quote_ident(a.attname)) ELSE quote_ident(a.attname) END)
        FROM pg_attribute a LEFT JOIN columns c ON c.rel = attrelid AND c.attname = a.attname WHERE attrelid = of AND a.attnum > 0 AND NOT attisdropped);

-- A line of a file that says something: with line ends as spaces, for the rest of a name would be a statement, or a command of psql.
CREATE FUNCTION pg_temp.remark(said text) RETURNS text LANGUAGE sql IMMUTABLE
RETURN '-- ' || regexp_replace(said, '[\r\n]', ' ', 'g');

-- The value of a new column in a row (NEW or t); with back, that of an old column after the switch, when the names are exchanged.
CREATE FUNCTION pg_temp.value(of columns, prefix text, back boolean) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    computed text := (SELECT value FROM options WHERE NOT back);
    own text := prefix || of.c;
    cases text := '';
    found record;
    one text;
BEGIN
    IF of.attgenerated <> '' THEN
        RETURN pg_temp.renamed(pg_temp.without_casts(of.expression), pg_temp.row_names(of.rel, prefix, NOT back)
            || CASE WHEN prefix = 'NEW.' THEN '{}' ELSE (
                SELECT coalesce(jsonb_object_agg(c, pg_temp.value(columns, prefix, back)), '{}') FROM columns WHERE rel = of.rel AND attgenerated = '' AND NOT is_key) END);
    ELSIF computed IS NOT NULL AND of.is_array THEN
        RETURN format('CASE WHEN %1$s IS NOT NULL THEN ARRAY(SELECT %2$s FROM unnest(%1$s) WITH ORDINALITY u(e, n) ORDER BY n) END', own, pg_temp.renamed(computed, '{"id": "u.e"}'));
    ELSIF computed IS NOT NULL THEN
        RETURN pg_temp.renamed(computed, jsonb_build_object('id', own));
    END IF;
    FOR found IN SELECT *, CASE WHEN back THEN key_o ELSE key_n END AS target FROM lookups WHERE rel = of.rel AND attname = of.attname ORDER BY n LOOP
        one := CASE
            WHEN of.is_array THEN format('CASE WHEN %1$s IS NOT NULL THEN ARRAY(SELECT k.%2$s FROM unnest(%1$s) WITH ORDINALITY u(e, n) LEFT JOIN %3$s k ON k.%4$s = u.e ORDER BY n) END', own, found.target, found.key_t, found.key_c)
            ELSE format('(SELECT k.%s FROM %s k WHERE k.%s = %s)', found.target, found.key_t, found.key_c, own) END;
        IF found.key_rel = of.rel AND prefix = 'NEW.' AND NOT of.is_array THEN
            one := format('CASE WHEN %s = NEW.%s THEN NEW.%s ELSE %s END', own, found.key_c, found.target, one);
        END IF;
        IF found.condition IS NULL THEN
            RETURN one;
        END IF;
        cases := cases || format(' WHEN %s THEN %s', pg_temp.renamed(found.condition, pg_temp.row_names(of.rel, prefix, false)), one);
    END LOOP;
    RETURN format('CASE%s END', cases);
END
$$;

-- The trigger of a table and its function: zz_moving fills new columns until the switch, zz_moved the old ones after it, zz_generated goes on
-- doing what generated columns did. They are the last triggers to fire, since another one may change what they read.
CREATE FUNCTION pg_temp.trigger_name(of tables, kind text) RETURNS text LANGUAGE sql STABLE
RETURN of.nsp || '.' || quote_ident(pg_temp.name(of.relname, '_' || kind, of.rel::bigint));
CREATE FUNCTION pg_temp.create_trigger(of tables, kind text) RETURNS text LANGUAGE plpgsql STABLE AS $create$
DECLARE
    function text := pg_temp.trigger_name(of, kind);
    body text := (
        SELECT string_agg(format(E'    NEW.%s := %s;\n', CASE kind WHEN 'moving' THEN n WHEN 'moved' THEN o ELSE c END, pg_temp.value(columns, 'NEW.', kind <> 'moving')), '' ORDER BY attgenerated, attnum)
        FROM columns, options WHERE rel = of.rel AND CASE kind
            WHEN 'generated' THEN attgenerated <> ''
            WHEN 'moved' THEN attgenerated = '' AND NOT is_key
            ELSE NOT is_key OR value IS NOT NULL END);
BEGIN
    IF body IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN format($f$CREATE FUNCTION %1$s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS %2$L;
REVOKE EXECUTE ON FUNCTION %1$s FROM PUBLIC;
CREATE TRIGGER zz_%3$s BEFORE INSERT OR UPDATE ON %4$s FOR EACH ROW EXECUTE FUNCTION %1$s();
ALTER FUNCTION %1$s OWNER TO %5$s;$f$, function, E'\nBEGIN\n' || body || E'    RETURN NEW;\nEND\n', kind, of.t, (SELECT relowner::regrole FROM pg_class WHERE oid = of.rel));
END
$create$;
CREATE FUNCTION pg_temp.drop_trigger(of tables, kind text) RETURNS text LANGUAGE sql STABLE
RETURN format(E'DROP TRIGGER IF EXISTS zz_%s ON %s;\nDROP FUNCTION IF EXISTS %s;', kind, of.t, pg_temp.trigger_name(of, kind));
\endif
