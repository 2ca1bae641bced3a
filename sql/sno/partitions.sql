--
-- Partitions by time
--

-- The functions in plpgsql see only pg_catalog, so that nobody can slip in a function of the same name. What they need
-- of the extension, they name with its schema. What changes a table is done as its owner: sno_as_owner() locks it
-- against other such calls, then calls the function in sno_internal whose name lacks the "sno_", as the owner.

CREATE FUNCTION sno_internal.partition_bounds(
        parent regclass, OUT partition regclass, OUT lower sno, OUT upper sno, OUT since timestamptz,
            OUT until timestamptz
    ) RETURNS SETOF record
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 100
BEGIN ATOMIC
    SELECT c.oid::regclass, i.lower, i.upper, coalesce(sno_time(i.lower), '-infinity'::timestamptz),
           -- With a bound in the middle of a tick, not all of the tick is before it.
           coalesce(sno_time(i.upper)
               + CASE WHEN i.upper > sno_lower(sno_time(i.upper)) THEN '4 ms'::interval ELSE '0'::interval END,
               'infinity'::timestamptz)
    FROM pg_partitioned_table p
    JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0] AND a.atttypid = 'sno'::regtype::oid
    JOIN pg_inherits h ON h.inhparent = p.partrelid
    JOIN pg_class c ON c.oid = h.inhrelid,
    regexp_match(pg_get_expr(c.relpartbound, c.oid),
        $re$^FOR VALUES FROM \((?:'([2-9a-x]{16})'|MINVALUE)\) TO \((?:'([2-9a-x]{16})'|MAXVALUE)\)$$re$::text
    ) b(parts),
    LATERAL (SELECT b.parts[1]::sno, b.parts[2]::sno) i(lower, upper)
    WHERE p.partrelid = parent::oid AND b.parts IS NOT NULL
    -- As text, which has the same order: pg_upgrade restores this before it knows how to sort a sno.
    ORDER BY b.parts[1] COLLATE pg_catalog."C" NULLS FIRST;
END;
COMMENT ON FUNCTION sno_internal.partition_bounds(regclass) IS
    'internal: partitions of a table that is partitioned by sno, with their bounds as IDs and as times, except the '
    'default one';

CREATE FUNCTION sno_partitions(
        parent regclass, OUT partition regclass, OUT since timestamptz, OUT until timestamptz
    ) RETURNS SETOF record
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 100
BEGIN ATOMIC
    SELECT b.partition, b.since, b.until FROM sno_internal.partition_bounds(parent) b;
END;
COMMENT ON FUNCTION sno_partitions(regclass)
    IS 'partitions of a table that is partitioned by sno, with the times that they are for, except the default one';

CREATE FUNCTION sno_internal.partition_gaps(
        parent regclass, start timestamp, stop timestamp, width interval, OUT lower sno, OUT upper sno
    ) RETURNS SETOF record
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT g.lower, g.upper
    FROM generate_series(start, stop, width) span(start), (
        SELECT lag(b.upper, 1, sno_lower('-infinity'::timestamptz)) OVER
            (ORDER BY b.lower::text COLLATE pg_catalog."C"), b.lower
        FROM (
            SELECT coalesce(p.lower, sno_lower('-infinity'::timestamptz)) AS lower,
                coalesce(p.upper, sno_lower('infinity'::timestamptz)) AS upper
            FROM sno_internal.partition_bounds(parent) p
            UNION ALL SELECT sno_lower('infinity'::timestamptz) AS lower, NULL::sno AS upper
        ) b
    ) free(lower, upper),
    LATERAL (SELECT greatest(free.lower, sno_lower(span.start AT TIME ZONE 'UTC'::text)),
                    least(free.upper, sno_lower((span.start + width) AT TIME ZONE 'UTC'::text))) g(lower, upper)
    WHERE span.start < stop AND free.lower < free.upper AND g.lower < g.upper
    ORDER BY g.lower::text COLLATE pg_catalog."C";
END;
COMMENT ON FUNCTION sno_internal.partition_gaps(regclass, timestamp, timestamp, interval)
    IS 'internal: what of each span of time is in no partition yet, in UTC: all of it, or what the others leave';

-- What each change of partitions begins with.
CREATE FUNCTION sno_internal.check_partitioned(parent regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
        WHERE p.partrelid = parent AND p.partstrat = 'r' AND p.partnatts = 1 AND a.atttypid = sno_internal.id_type()
    ) THEN
        RAISE EXCEPTION 'table "%" is not partitioned by range of a single column of type sno',
            coalesce((SELECT relname FROM pg_class WHERE oid = parent), parent::text)
            USING ERRCODE = 'wrong_object_type', HINT = 'Create it with PARTITION BY RANGE (id).';
    END IF;
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'cannot change partitions in a transaction with isolation level %',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Use READ COMMITTED.',
                DETAIL = 'Such a transaction would not see partitions that others have created or removed since it '
                    'began.';
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.check_partitioned(regclass)
    IS 'internal: fails if the partitions of a table cannot be changed now';

-- While a statement waits for a lock, others queue behind it. So this one waits for each lock as long as the caller's
-- lock_timeout says, or half a second: less than deadlock_timeout, so that in a deadlock it is this one that gives way.
CREATE FUNCTION sno_internal.alter_partitions(command text) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    timeout text := current_setting('lock_timeout');
BEGIN
    IF timeout = '0' THEN
        PERFORM set_config('lock_timeout', '500ms', true);
    END IF;
    EXECUTE command;
    PERFORM set_config('lock_timeout', timeout, true);
EXCEPTION
    WHEN lock_not_available THEN
        RAISE EXCEPTION '%', SQLERRM USING ERRCODE = 'lock_not_available',
            DETAIL = format('Others use a table that "%s" needs.', command),
            HINT = 'Nothing was changed. Call it again later, or with a longer "lock_timeout".';
END
$$;
COMMENT ON FUNCTION sno_internal.alter_partitions(text)
    IS 'internal: run a statement that changes or locks partitions, with a limit for its waits';

-- The start of the first span: midnight UTC, a Monday, or the first of a month.
CREATE FUNCTION sno_internal.first_span(width interval, since timestamptz, until timestamptz) RETURNS timestamp
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    start timestamp := since AT TIME ZONE 'UTC';
    months integer;
BEGIN
    IF width IS NULL OR since IS NULL OR until IS NULL THEN
        RAISE EXCEPTION 'width and times of partitions must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF width BETWEEN '1 second' AND '100 years' THEN
        months := extract(year FROM width) * 12 + extract(month FROM width);
    END IF;
    IF months IS NULL OR months <> 0 AND width <> make_interval(months => months) THEN
        RAISE EXCEPTION 'invalid width of partitions: "%"', width USING ERRCODE = 'invalid_parameter_value',
            DETAIL = 'A width is a number of months, or of days, hours, minutes and seconds, of 1 second to 100 years.';
    END IF;
    IF since >= until THEN
        RAISE EXCEPTION 'partitions must start before they end: "%" to "%"', since, until
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF since < '2010-01-01 00:00Z' OR until > '2079-09-07 15:47:35.548Z' THEN
        RAISE EXCEPTION 'timestamp out of range for type sno: "%"', CASE WHEN since < '2010-01-01 00:00Z' THEN since
            ELSE until END
            USING ERRCODE = 'datetime_field_overflow',
                DETAIL = 'A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.';
    END IF;
    IF until AT TIME ZONE 'UTC' > start + width * 1000 THEN
        RAISE EXCEPTION 'more than 1000 partitions from "%" to "%"', since, until
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Use a larger width, or a shorter range of time.';
    END IF;
    IF months > 0 THEN
        RETURN '2010-01-01'::timestamp
            + width * (((extract(year FROM start) - 2010) * 12 + extract(month FROM start) - 1)::integer / months);
    END IF;
    RETURN date_bin(width, start, '2001-01-01');
END
$$;
COMMENT ON FUNCTION sno_internal.first_span(interval, timestamptz, timestamptz) IS
    'internal: start of the first of the spans of a width for a range of time, in UTC; an error if they cannot be';

CREATE FUNCTION sno_internal.create_partition(parent regclass, name text, lower sno, upper sno) RETURNS regclass
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    info record;
    child text;
    identity text;
BEGIN
    SELECT n.nspname AS schema, c.relname AS name, c.relreplident AS identity,
        coalesce(' USING ' || quote_ident(a.amname), '') || coalesce(' TABLESPACE ' || quote_ident(t.spcname), '')
            AS options
    INTO info
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_am a ON a.oid = c.relam LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace
    WHERE c.oid = parent;
    child := format('%I.%I', info.schema, name);
    IF to_regclass(child) IS NOT NULL THEN
        RAISE EXCEPTION 'relation "%" already exists', name
            USING ERRCODE = 'duplicate_table',
                DETAIL = format('It is not the partition of "%s" from %s to %s.', info.name, lower::timestamptz,
                upper::timestamptz),
                HINT = 'It may have been detached: attach it again, or rename it.';
    END IF;
    -- Not PARTITION OF, whose lock waits for all readers, and which new readers wait for.
    EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED '
        'INCLUDING STORAGE INCLUDING COMPRESSION)%s', child, parent, info.options);
    BEGIN
        PERFORM sno_internal.alter_partitions(
            format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)', parent, child, lower, upper));
    EXCEPTION WHEN check_violation THEN
        RAISE EXCEPTION '%', SQLERRM USING ERRCODE = 'check_violation',
            DETAIL = format('The default partition of "%s" has rows from %s to %s.', info.name, lower::timestamptz,
            upper::timestamptz),
            HINT = 'In one transaction: detach it, repeat the call, move its rows into the table, and attach it again.';
    END;
    -- Which ATTACH does not pass on: the index is the one that ATTACH has found or created for the table's.
    identity := CASE info.identity WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING' WHEN 'i' THEN 'USING INDEX ' || (
        SELECT quote_ident(c.relname)
        FROM pg_index x JOIN pg_inherits i ON i.inhparent = x.indexrelid
        JOIN pg_index y ON y.indexrelid = i.inhrelid JOIN pg_class c ON c.oid = y.indexrelid
        WHERE x.indrelid = parent AND x.indisreplident AND y.indrelid = child::regclass) END;
    IF identity IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %s REPLICA IDENTITY %s', child, identity);
    END IF;
    -- The log of changes is to know it: not others, which can be locked.
    PERFORM sno_internal.alter_partitions(format('SELECT sno_internal.log_new(%L, %L)', l.root, child))
    FROM (SELECT sno_internal.logged_as(child::regclass)) l(root) WHERE (sno_internal.tracked(l.root)).log IS NOT NULL;
    RETURN child::regclass;
END
$$;
COMMENT ON FUNCTION sno_internal.create_partition(regclass, text, sno, sno)
    IS 'internal: create a partition of a table';

CREATE FUNCTION sno_internal.create_partitions(
        parent regclass, width interval, since timestamptz, until timestamptz
    ) RETURNS SETOF regclass
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    start timestamp := sno_internal.first_span(width, since, until);
    parent_name text;
    gap record;
BEGIN
    PERFORM sno_internal.check_partitioned(parent);
    parent_name := (SELECT relname FROM pg_class WHERE oid = parent);
    FOR gap IN
        SELECT lower, upper, lower::timestamptz AS since, upper::timestamptz AS until
        FROM sno_internal.partition_gaps(parent, start, until AT TIME ZONE 'UTC', width)
    LOOP
        IF octet_length(parent_name) > 43 THEN
            RAISE EXCEPTION 'name of table "%" is too long for the names of its partitions', parent_name
                USING ERRCODE = 'name_too_long', DETAIL = 'Each name is the name of the table and a time.';
        END IF;
        -- After its time, or, if it is within one tick, after its first ID.
        RETURN NEXT sno_internal.create_partition(parent, parent_name || CASE
            WHEN gap.since = gap.until THEN '_' || gap.lower::text
            ELSE to_char(gap.since AT TIME ZONE 'UTC', CASE
                WHEN width >= '1 day' AND gap.since = date_trunc('day', gap.since, 'UTC') THEN '_YYYYMMDD'
                WHEN gap.since = date_trunc('minute', gap.since) THEN '_YYYYMMDD_HH24MI'
                ELSE '_YYYYMMDD_HH24MISSMS' END)
        END, gap.lower, gap.upper);
    END LOOP;
END
$$;
COMMENT ON FUNCTION sno_internal.create_partitions(regclass, interval, timestamptz, timestamptz)
    IS 'internal: sno_create_partitions()';

CREATE FUNCTION sno_create_partitions(parent regclass, width interval, since timestamptz, until timestamptz)
    RETURNS SETOF regclass
    AS 'MODULE_PATHNAME', 'sno_as_owner' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION sno_create_partitions(regclass, interval, timestamptz, timestamptz)
    IS 'create the partitions that a table lacks for a range of time';

CREATE FUNCTION sno_internal.expire_partitions(
        parent regclass, before timestamptz, drop_expired boolean, read_by_all boolean
    ) RETURNS SETOF text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    child record;
    readers text;
    all_read timestamptz := 'infinity';
    reason text;
BEGIN
    IF num_nulls(before, drop_expired) > 0 THEN
        RAISE EXCEPTION 'time and kind of expiry must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF before > now() THEN
        RAISE EXCEPTION 'cannot expire partitions before "%"', before
            USING ERRCODE = 'invalid_parameter_value', DETAIL = 'The time is in the future.';
    END IF;
    PERFORM sno_internal.check_partitioned(parent);
    IF read_by_all IS NULL THEN
        readers := (SELECT string_agg(format('"%s" of role "%s"', r.feed, r.owner), ', ' ORDER BY r.feed, r.owner)
            FROM sno_internal.readers(parent) r);
    END IF;
    IF read_by_all OR readers IS NOT NULL THEN
        -- Null if one feed has read nothing.
        all_read := coalesce(sno_internal.read_by_all(parent)::timestamptz, '-infinity');
    END IF;
    FOR child IN
        SELECT p.partition, p.partition::text AS name, p.until, c.relkind,
            CASE WHEN c.relkind <> 'f' AND pg_has_role(c.relowner, 'USAGE') THEN ', ' || p.partition END AS and_itself
        FROM sno_internal.partition_bounds(parent) p JOIN pg_class c ON c.oid = p.partition
        WHERE p.until <= before
    LOOP
        -- Once the horizons are lowered, rows come below what was read. So it is asked again, when nobody writes.
        IF child.until <= all_read AND all_read < 'infinity' THEN
            PERFORM sno_internal.alter_partitions(format('LOCK ONLY %s%s', parent, child.and_itself));
            all_read := coalesce(sno_internal.read_by_all(parent)::timestamptz, '-infinity');
        END IF;
        IF child.until > all_read THEN
            IF readers IS NOT NULL THEN
                RAISE WARNING 'partition "%" is kept, since not all feeds have read its rows', child.partition
                    USING DETAIL = format('Feeds of "%s": %s.', parent, readers),
                    HINT = format('SELECT * FROM sno_readers(%L) shows how far each was read.', parent::text);
            END IF;
            CONTINUE;
        END IF;
        BEGIN
            -- First, since the rows of what goes are logged.
            SELECT format('view %s depends on table %s', r.ev_class::regclass, child.partition) INTO reason
            FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid
            WHERE drop_expired AND d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
                AND d.refobjid = child.partition LIMIT 1;
            IF FOUND THEN
                RAISE dependent_objects_still_exist USING DETAIL = reason;
            END IF;
            PERFORM sno_internal.alter_partitions(
                format('ALTER TABLE %s DETACH PARTITION %s', parent, child.partition));
            -- If the changes of the table are tracked, copies of its rows are to follow.
            PERFORM sno_internal.alter_partitions(format('SELECT sno_internal.log_changed_partitions(%L)',
                coalesce(pg_partition_root(parent), parent)));
            IF drop_expired THEN
                PERFORM sno_internal.alter_partitions(
                    format('DROP %s %s', CASE child.relkind WHEN 'f' THEN 'FOREIGN TABLE'
                        ELSE 'TABLE' END, child.partition));
            END IF;
        -- Also a foreign key of another role, which PostgreSQL searches as the owner of the table that it refers to.
        EXCEPTION WHEN dependent_objects_still_exist OR foreign_key_violation OR insufficient_privilege THEN
            GET STACKED DIAGNOSTICS reason = PG_EXCEPTION_DETAIL;
            RAISE WARNING 'partition "%" is kept for now', child.partition
                USING DETAIL = coalesce(nullif(reason, ''), SQLERRM),
                HINT = 'The next call expires it, once nothing is in the way.';
            CONTINUE;
        END;
        RETURN NEXT child.name;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sno_internal.expire_partitions(regclass, timestamptz, boolean, boolean)
    IS 'internal: sno_expire_partitions()';

CREATE FUNCTION sno_expire_partitions(
        parent regclass, before timestamptz, drop_expired boolean DEFAULT false, read_by_all boolean DEFAULT NULL
    ) RETURNS SETOF text
    AS 'MODULE_PATHNAME', 'sno_as_owner' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION sno_expire_partitions(regclass, timestamptz, boolean, boolean) IS
    'detach the partitions that end before a time, and drop them only if drop_expired is true; of a table with feeds, '
    'only those that all feeds have read, unless read_by_all is false';

CREATE FUNCTION sno_internal.maintain_partitions(
        parent regclass, width interval, ahead integer, retention interval, drop_expired boolean, read_by_all boolean,
        OUT action text, OUT partition text
    ) RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Days and months are in UTC, as the partitions are.
    today timestamp := now() AT TIME ZONE 'UTC';
    before timestamptz := (today - retention) AT TIME ZONE 'UTC';
    advice text;
BEGIN
    IF ahead IS NULL OR ahead < 0 THEN
        RAISE EXCEPTION 'invalid number of partitions ahead: %', coalesce(ahead::text, 'null')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF retention <= '0' THEN
        RAISE EXCEPTION 'retention must be greater than zero: "%"', retention
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (drop_expired OR read_by_all) AND retention IS NULL THEN
        RAISE EXCEPTION 'cannot expire partitions without a retention' USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Give a retention, or leave out drop_expired and read_by_all.';
    END IF;
    -- First, since it needs the stronger lock on the table. What keeps old partitions does not keep new ones from
    -- coming: without them, inserts would fail.
    IF before IS NOT NULL THEN
        BEGIN
            RETURN QUERY SELECT CASE WHEN drop_expired THEN 'dropped' ELSE 'detached' END, p
                FROM sno_internal.expire_partitions(parent, before, drop_expired, read_by_all) p;
        -- Also a WARNING with a name, say of another role's feed, that the client's encoding does not have.
        EXCEPTION WHEN lock_not_available OR object_not_in_prerequisite_state OR untranslatable_character THEN
            GET STACKED DIAGNOSTICS advice = PG_EXCEPTION_HINT;
            RAISE WARNING 'partitions of "%" are kept for now', parent USING DETAIL = SQLERRM,
                HINT = coalesce(nullif(advice, ''), 'Call it again later.');
        END;
    END IF;
    RETURN QUERY SELECT 'created', p::text
        FROM sno_internal.create_partitions(parent, width, now(),
            -- No partition ends later.
            least(greatest((today + width * ahead) AT TIME ZONE 'UTC', now() + '1 us'), '2079-09-07 15:47:35.548Z')) p;
END
$$;
COMMENT ON FUNCTION sno_internal.maintain_partitions(regclass, interval, integer, interval, boolean, boolean) IS
    'internal: sno_maintain_partitions()';

CREATE FUNCTION sno_maintain_partitions(
        parent regclass, width interval, ahead integer DEFAULT 3,
        retention interval DEFAULT NULL, drop_expired boolean DEFAULT false, read_by_all boolean DEFAULT NULL,
        OUT action text, OUT partition text
    ) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'sno_as_owner' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION sno_maintain_partitions(regclass, interval, integer, interval, boolean, boolean) IS
    'create the partitions for now and the time ahead, and detach or drop those that are entirely older than a '
    'retention; of a table with feeds, only those that all feeds have read, unless read_by_all is false';
