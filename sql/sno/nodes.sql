--
-- The nodes of a Citus cluster
--

-- A horizon speaks for the transactions of one server. Rows of a table of Citus are committed by several, so a feed of such rows goes up to a
-- horizon of all nodes. Nothing here needs Citus to be there, and nothing is asked where it is not.
--
-- What is Citus' has its schema before its name: where Citus is not there, the name alone would be that of a caller's temporary table.

CREATE FUNCTION sno_internal.sno_first(timestamptz, exclusive boolean) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_first(timestamptz, boolean) IS 'internal: sno_first()';

-- Distributed and reference tables, those in the metadata, and the shards of all of them.
CREATE FUNCTION sno_internal.is_of_citus(relation oid) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    result boolean;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = $1)
        OR pg_catalog.relation_is_a_known_shard($1)' INTO result USING relation;
    RETURN result;
END
$$;
COMMENT ON FUNCTION sno_internal.is_of_citus(oid) IS 'internal: whether a table is one of Citus, or a shard of one';

-- The answers of all nodes, this one included, to a query that returns one value. A node that is disabled is asked, too, since it can have clients;
-- clones are standbys, which have none that write. A node that does not answer is an error.
CREATE FUNCTION sno_internal.ask_nodes(query text) RETURNS TABLE (node integer, answer text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp SET jit = off SET citus.remote_task_check_interval = 1
AS $$
DECLARE
    here record;
    other record;
BEGIN
    EXECUTE 'SELECT g.groupid AS own_group, EXISTS (SELECT FROM pg_catalog.pg_dist_node n WHERE n.groupid = 0) AS has_coordinator,
            (SELECT n.nodeid FROM pg_catalog.pg_dist_node n WHERE n.groupid = g.groupid AND n.noderole = ''primary'') AS nodeid
        FROM pg_catalog.pg_dist_local_group g' INTO here;
    IF here.own_group <> 0 AND NOT here.has_coordinator THEN
        RAISE EXCEPTION 'coordinator is not in the list of nodes' USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'What it commits would not be waited for.', HINT = 'Call citus_set_coordinator_host() on the coordinator.';
    END IF;
    FOR other IN EXECUTE $q$
        WITH others AS (
            SELECT array_agg(n.nodeid) AS ids, array_agg(n.nodename) AS names, array_agg(n.nodeport) AS ports, array_agg($1) AS queries
            FROM pg_catalog.pg_dist_node n
            WHERE n.noderole = 'primary' AND n.groupid <> $2 AND to_jsonb(n) ->> 'nodeisclone' IS DISTINCT FROM 'true'
        )
        SELECT o.ids[r.ordinality] AS nodeid, r.node_name, r.node_port, r.success, r.result
        FROM others o, pg_catalog.master_run_on_worker(o.names, o.ports, o.queries, true) WITH ORDINALITY r
        WHERE o.ids IS NOT NULL
        $q$ USING query, here.own_group
    LOOP
        IF NOT other.success THEN
            RAISE EXCEPTION 'no answer from node % of the cluster, %:%', other.nodeid, other.node_name, other.node_port
                USING ERRCODE = 'connection_failure', DETAIL = other.result;
        END IF;
        node := other.nodeid;
        answer := other.result;
        RETURN NEXT;
    END LOOP;
    node := coalesce(here.nodeid, 0);
    EXECUTE query INTO answer;
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION sno_internal.ask_nodes(text) IS 'internal: the answers of all nodes to a query';

-- The horizon of a node, and what its IDs have that no other node may have.
CREATE FUNCTION sno_internal.horizon_of_node(margin interval) RETURNS json
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    result json;
BEGIN
    EXECUTE format('SELECT json_build_object(''horizon'', sno_internal.sno_horizon($1), ''prefix'', g.prefix, ''bits'', g.prefix_bits,
        ''lower'', g.sequence_lower, ''upper'', g.sequence_upper) FROM %s.sno_generator() g', sno_internal.schema()) INTO result USING margin;
    RETURN result;
END
$$;
COMMENT ON FUNCTION sno_internal.horizon_of_node(interval) IS 'internal: the horizon and the server number of a node';

-- The least of the horizons of all nodes. Who asks for it is warned if two nodes have one number, or the number of one contains that of the other.
CREATE FUNCTION sno_internal.least_horizon(margin interval) RETURNS sno
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    result sno_internal.feed_positions.position%TYPE;
    equal text;
BEGIN
    -- The texts of IDs are in their order.
    WITH nodes AS MATERIALIZED (
        SELECT n.node, j.horizon, j.prefix, j.bits, j.lower, j.upper
        FROM sno_internal.ask_nodes(format('SELECT sno_internal.horizon_of_node(%L)', margin)) n,
            json_to_record(n.answer::json) j(horizon text, prefix integer, bits integer, lower integer, upper integer)
    )
    SELECT min(n.horizon COLLATE "C"), (
        SELECT format('nodes %s and %s', a.node, b.node)
        FROM nodes a JOIN nodes b ON a.node < b.node AND a.lower <= b.upper AND b.lower <= a.upper
            AND a.prefix >> (a.bits - least(a.bits, b.bits)) = b.prefix >> (b.bits - least(a.bits, b.bits)) LIMIT 1
    ) INTO result, equal
    FROM nodes n;
    IF equal IS NOT NULL THEN
        RAISE WARNING '% of the cluster have one server number', equal USING DETAIL = 'Their IDs can be equal.',
            HINT = 'Set "sno.partition_prefix" to another number on each node.';
    END IF;
    RETURN result;
END
$$;
COMMENT ON FUNCTION sno_internal.least_horizon(interval) IS 'internal: the least of the horizons of all nodes';

-- What a node is still to commit, but for the distributed transaction of one session: its clock; its processes that are in a transaction; those that
-- write for a distributed transaction or for another node; what is prepared. In this order, since what writes may be prepared in between.
CREATE FUNCTION sno_internal.open_on_node(but_for bigint) RETURNS json
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    sessions json;
    writers json;
    prepared json;
BEGIN
    -- Sessions are looked at once in a transaction otherwise.
    PERFORM pg_stat_clear_snapshot();
    SELECT json_agg(json_build_object('pid', s.pid, 'age', clock_timestamp() - s.xact_start)) INTO sessions
    FROM pg_stat_activity s WHERE s.xact_start IS NOT NULL;
    EXECUTE $q$
        SELECT json_agg(json_build_object('pid', s.pid, 'began', s.xact_start, 'age', clock_timestamp() - s.xact_start, 'session', a.global_pid,
            'since', CASE WHEN a.transaction_number <> 0 THEN a.transaction_stamp END, 'is_remote', a.worker_query))
        FROM pg_catalog.get_all_active_transactions() a JOIN pg_catalog.pg_stat_activity s ON s.pid = a.process_id
        WHERE s.backend_xid IS NOT NULL AND s.datname = current_database() AND (a.transaction_number <> 0 OR a.worker_query)
            AND (a.global_pid <> $1 OR a.transaction_number = 0)
        $q$ INTO writers USING but_for;
    SELECT json_agg(p.gid) INTO prepared FROM pg_prepared_xacts p WHERE p.database = current_database() AND p.gid LIKE 'citus\_%';
    RETURN json_build_object('clock', clock_timestamp(), 'sessions', sessions, 'writers', coalesce(writers, '[]'), 'prepared', coalesce(prepared, '[]'));
END
$$;
COMMENT ON FUNCTION sno_internal.open_on_node(bigint) IS 'internal: what a node of the cluster is still to commit';

-- The same of all nodes. `writing_for` is the age of the oldest distributed transaction that writes, by the clock of the node that began it, and `clock`
-- is the slowest one. `to_wait_for` are those of which nothing else holds a horizon back: what is prepared, and processes that write for a transaction
-- which has ended: its session has ended, too, or is in no transaction, or in one that is younger by more than the question takes.
CREATE FUNCTION sno_internal.open_on_nodes(OUT clock timestamptz, OUT writing_for interval, OUT to_wait_for text[])
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    session bigint;
    asked timestamptz;
BEGIN
    EXECUTE 'SELECT pg_catalog.citus_backend_gpid()' INTO session;
    asked := clock_timestamp();
    -- The number of a session is that of its node, and then that of its process with ten digits.
    WITH nodes AS MATERIALIZED (
        SELECT n.node, n.answer::json AS found FROM sno_internal.ask_nodes(format('SELECT sno_internal.open_on_node(%s)', session)) n
    ), writers AS (
        SELECT n.node, w.pid, w.began, w.since, w.is_remote, o.clock,
            coalesce(s.age + (clock_timestamp() - asked) >= w.age, false) AS has_transaction
        FROM nodes n CROSS JOIN LATERAL json_to_recordset(n.found -> 'writers') w(pid integer, began text, age interval, session bigint, since timestamptz, is_remote boolean)
        LEFT JOIN LATERAL (
            SELECT (m.found ->> 'clock')::timestamptz AS clock, m.found FROM nodes m WHERE m.node = w.session / 10000000000
        ) o ON true
        LEFT JOIN LATERAL (
            SELECT r.age FROM json_to_recordset(o.found -> 'sessions') r(pid bigint, age interval) WHERE r.pid = w.session % 10000000000
        ) s ON true
    )
    SELECT min((n.found ->> 'clock')::timestamptz),
        (SELECT max(w.clock - w.since) FROM writers w),
        ARRAY(
            SELECT format('node %s: prepared transaction %s', n.node, p) FROM nodes n, json_array_elements_text(n.found -> 'prepared') p
            UNION ALL
            SELECT format('node %s: process %s since %s, for a transaction that has ended', w.node, w.pid, w.began)
            FROM writers w WHERE w.is_remote AND NOT w.has_transaction
        )
    INTO clock, writing_for, to_wait_for
    FROM nodes n;
END
$$;
COMMENT ON FUNCTION sno_internal.open_on_nodes() IS 'internal: what the nodes of the cluster are still to commit';

-- A horizon for rows of tables of Citus: below it, each transaction that has generated an ID has ended on all nodes, and none will generate one; but not
-- before what was read, up to an ID. Null if that takes more than a second.
--
-- First the horizons of all nodes: below the least, each transaction has ended where it generated its IDs. It may not have ended where its rows are:
--
-- * Citus commits in two phases: all is prepared before anything ends. So what is prepared after the horizons is waited for. What is not prepared yet
--   has not ended where its IDs were generated.
-- * It commits in one phase, on all nodes at once, if one of them has all rows. So the horizon is not after the start of what writes then, by the slowest
--   of the clocks. Whatever writes later has not ended where its IDs were generated. What had not written when the feed was read before has no IDs
--   before its position, for the same reason.
-- * The transaction that generated the IDs can have ended, by a cancel or since its process died, while another node still commits its rows. That is
--   waited for.
CREATE FUNCTION sno_internal.horizon_of_nodes(margin interval, after sno) RETURNS sno
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    horizon sno_internal.feed_positions.position%TYPE := sno_internal.least_horizon(margin);
    began timestamptz;
    until timestamptz := clock_timestamp() + '1 s';
    found record;
    left_over text[];
BEGIN
    LOOP
        began := clock_timestamp();
        SELECT * INTO found FROM sno_internal.open_on_nodes();
        IF left_over IS NULL THEN
            IF found.writing_for IS NOT NULL THEN
                horizon := least(horizon, greatest(
                    sno_internal.sno_first(found.clock - found.writing_for - (clock_timestamp() - began) - margin, false),
                    sno_internal.sno_first(after::timestamptz, true)));
            END IF;
            left_over := found.to_wait_for;
        ELSE
            left_over := ARRAY(SELECT unnest(left_over) INTERSECT SELECT unnest(found.to_wait_for));
        END IF;
        EXIT WHEN cardinality(left_over) = 0;
        IF clock_timestamp() > until THEN
            RAISE DEBUG 'feed waits for other nodes' USING DETAIL = array_to_string(left_over, '; ');
            RETURN NULL;
        END IF;
        PERFORM pg_sleep(0.005);
    END LOOP;
    RETURN horizon;
END
$$;
COMMENT ON FUNCTION sno_internal.horizon_of_nodes(interval, sno) IS 'internal: a horizon for rows of tables of Citus';
REVOKE EXECUTE ON FUNCTION sno_internal.ask_nodes(text), sno_internal.horizon_of_node(interval), sno_internal.least_horizon(interval),
    sno_internal.open_on_node(bigint), sno_internal.open_on_nodes(), sno_internal.horizon_of_nodes(interval, sno) FROM PUBLIC;
CREATE FUNCTION sno_internal.sno_horizon_of_nodes(margin interval, after sno) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_on_nodes' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_internal.sno_horizon_of_nodes(interval, sno) IS 'internal: horizon_of_nodes() for all roles';
