--
-- Keys that were generated in an earlier transaction, or elsewhere: feeds can be past them
--

CREATE FUNCTION sno_internal.refuse_old_key() RETURNS trigger
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'key of a row of "%" was not generated in this transaction: "%"', TG_RELID::regclass,
        to_jsonb(NEW) ->> TG_ARGV[0]
        USING ERRCODE = 'check_violation', COLUMN = TG_ARGV[0],
        DETAIL = 'Feeds can be past this key, and would miss the row.',
            HINT = 'Have the default generate the key, or call sno_new() in the transaction that inserts the row.';
END
$$;
COMMENT ON FUNCTION sno_internal.refuse_old_key() IS 'internal: what the triggers of sno_refuse_old_keys() do';

-- By conditions of the triggers, which cost a tenth of what a function in PL/pgSQL costs for each row.
CREATE FUNCTION sno_refuse_old_keys(source regclass, key name DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    keys name[];
    is_old text;
BEGIN
    SELECT array_agg(a.attname) INTO keys
    FROM pg_attribute a
    WHERE a.attrelid = source AND a.attnum > 0 AND NOT a.attisdropped
        AND a.atttypid IN (SELECT sno_internal.id_types())
        AND CASE WHEN sno_refuse_old_keys.key IS NOT NULL THEN a.attname = sno_refuse_old_keys.key
            ELSE EXISTS (SELECT FROM pg_index i WHERE i.indrelid = source AND i.indisprimary
                AND a.attnum = ANY (i.indkey)) END;
    IF cardinality(keys) IS DISTINCT FROM 1 THEN
        RAISE EXCEPTION 'no single key of type sno in "%"', source USING ERRCODE = 'undefined_column',
            HINT = 'Name the column.';
    END IF;
    -- The type itself: for a domain over it, somebody may have another function of this name.
    is_old := format('NOT %1$s.sno_holds_horizon(NEW.%2$I::%1$s.sno)', sno_internal.schema(), keys[1]);
    EXECUTE format('CREATE OR REPLACE TRIGGER sno_own_keys BEFORE INSERT ON %s FOR EACH ROW WHEN (%s)
        EXECUTE FUNCTION sno_internal.refuse_old_key(%L)', source, is_old, keys[1]);
    EXECUTE format('CREATE OR REPLACE TRIGGER sno_changed_keys BEFORE UPDATE ON %s FOR EACH ROW
        WHEN (NEW.%I <> OLD.%2$I AND %s) EXECUTE FUNCTION sno_internal.refuse_old_key(%L)',
        source, keys[1], is_old, keys[1]);
END
$$;
COMMENT ON FUNCTION sno_refuse_old_keys(regclass, name)
    IS 'creates triggers that refuse rows whose keys were not generated in their transaction';

-- Not an error: who creates the feed is often not the owner, and cannot change the table.
CREATE FUNCTION sno_internal.warn_of_missed_rows(source regclass, key name) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    t record;
BEGIN
    FOR t IN
        SELECT o.source, o.key FROM sno_internal.origin(source, key) o
        JOIN pg_class c ON c.oid = o.source AND c.relkind IN ('r', 'p')
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = o.key AND NOT a.atthasdef
        JOIN pg_type y ON y.oid = a.atttypid AND y.typdefault IS NULL
        -- One that others have written may generate the key.
        WHERE NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = c.oid AND g.tgtype & 7 = 7 AND NOT g.tgisinternal)
    LOOP
        RAISE WARNING 'rows of "%" with keys from earlier transactions would be missed', t.source
            USING DETAIL = format('The column "%s" has no default that generates a key, and no trigger refuses others.',
            t.key),
                HINT = format('Have the owner of the table call sno_refuse_old_keys(%L).', t.source);
    END LOOP;
END
$$;
COMMENT ON FUNCTION sno_internal.warn_of_missed_rows(regclass, name)
    IS 'internal: warns of rows that a new feed would miss';
