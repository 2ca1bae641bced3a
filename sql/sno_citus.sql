-- The SQL objects of the extension sno_citus: what feeds of tables of Citus need to know of the nodes of a cluster.

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION sno_citus" to load this file. \quit

-- The schema that the extension goes to is searched before the schema of the extension sno, and may belong to anyone:
-- the library's functions must not be declared with another type of that name.
DO $$
BEGIN
    IF 'sno'::pg_catalog.regtype::pg_catalog.oid OPERATOR(pg_catalog.<>) sno_internal.id_type() THEN
        RAISE EXCEPTION 'type "sno" of the chosen schema does not belong to the extension sno'
            USING ERRCODE = 'duplicate_object', HINT = 'Create the extension in another schema.';
    END IF;
END
$$;

-- What is Citus' has its schema before its name. All runs with the rights of a superuser, which
-- sno_internal.sno_scope_horizon() and sno_scope_read() take on.

-- Since when this node generates IDs in this cluster: for each timeline of its WAL, since a standby that takes its
-- place may have another clock, the ID after which its first one comes. A node without a row has no such ID.
CREATE TABLE sno_internal.node_starts (
    timeline integer PRIMARY KEY,
    since sno
);
COMMENT ON TABLE sno_internal.node_starts IS 'internal: after which ID a node has begun to generate';
-- Whatever ALTER DEFAULT PRIVILEGES has granted.
DO $$
DECLARE
    role pg_catalog.text;
BEGIN
    FOR role IN
        SELECT DISTINCT CASE WHEN a.grantee OPERATOR(pg_catalog.=) '0'::pg_catalog.oid THEN 'PUBLIC'
            ELSE a.grantee::pg_catalog.regrole::pg_catalog.text END
        FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a
        WHERE c.oid OPERATOR(pg_catalog.=) 'sno_internal.node_starts'::pg_catalog.regclass::pg_catalog.oid
            AND a.grantee OPERATOR(pg_catalog.<>) c.relowner
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON sno_internal.node_starts FROM %s', role);
    END LOOP;
END
$$;

CREATE FUNCTION sno_internal.timeline() RETURNS integer
    LANGUAGE SQL VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer
$$;
COMMENT ON FUNCTION sno_internal.timeline() IS 'internal: the timeline of the WAL';

-- Notes the present timeline. A server that was a standby generates after the last commit that it has replayed.
CREATE FUNCTION sno_internal.note_start(since sno) RETURNS void
    LANGUAGE SQL VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO sno_internal.node_starts AS s VALUES (sno_internal.timeline(), since) ON CONFLICT DO NOTHING
$$;
COMMENT ON FUNCTION sno_internal.note_start(sno) IS 'internal: notes since when this node generates IDs';

-- A node that Citus is just adding may have no server number yet, and so no horizon.
DO $$
DECLARE
    horizon sno_internal.feed_positions.position%TYPE;
BEGIN
    BEGIN
        horizon := sno_internal.sno_horizon('0');
    EXCEPTION WHEN object_not_in_prerequisite_state OR invalid_parameter_value THEN
    END;
    PERFORM sno_internal.note_start(horizon);
END
$$;

-- The groups of the nodes that can commit rows: not clones, which are standbys.
CREATE FUNCTION sno_internal.groups() RETURNS integer[]
    LANGUAGE SQL VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(array_agg(n.groupid ORDER BY n.groupid), '{}') FROM pg_catalog.pg_dist_node n
    WHERE n.noderole = 'primary' AND to_jsonb(n) ->> 'nodeisclone' IS DISTINCT FROM 'true'
$$;
COMMENT ON FUNCTION sno_internal.groups() IS 'internal: groups of the nodes of the cluster';

-- The last group that Citus has given to a node; null where it gives none, and while a node is added: who adds one
-- takes the lock before the group. Clones have groups before they can commit. Whatever it is, after a crash of the
-- coordinator Citus leaves some groups out.
CREATE FUNCTION sno_internal.last_group() RETURNS integer
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    last CONSTANT integer := (
        SELECT pg_sequence_last_value('pg_catalog.pg_dist_groupid_seq') FROM pg_catalog.pg_dist_local_group l
        WHERE l.groupid = 0
    );
BEGIN
    IF last > (SELECT max(n.groupid) FROM pg_catalog.pg_dist_node n) AND EXISTS (
        SELECT FROM pg_locks l WHERE l.relation = 'pg_catalog.pg_dist_node'::regclass AND l.mode = 'ExclusiveLock'
            AND l.granted AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
    ) THEN
        RETURN NULL;
    END IF;
    RETURN least(last, (
        SELECT min(n.groupid) - 1 FROM pg_catalog.pg_dist_node n WHERE to_jsonb(n) ->> 'nodeisclone' = 'true'
    ));
END
$$;
COMMENT ON FUNCTION sno_internal.last_group() IS 'internal: the last group that Citus has given to a node';

-- The horizon of a node, what its IDs have that no other node may have, since when it generates them, and after which
-- ID it goes on if its horizons were lowered.
CREATE FUNCTION sno_internal.horizon_of_node(margin interval) RETURNS json
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    result json;
BEGIN
    IF NOT sno_internal.sno_joins_citus() THEN
        RAISE EXCEPTION 'this version of Citus is not supported by sno' USING ERRCODE = 'feature_not_supported',
            DETAIL = 'An INSERT of one row would not be in a transaction of Citus.', HINT = 'Upgrade sno.';
    END IF;
    IF NOT EXISTS (SELECT FROM sno_internal.node_starts s WHERE s.timeline = sno_internal.timeline())
        AND current_setting('transaction_read_only') = 'off' THEN
        PERFORM sno_internal.note_start(sno_internal.sno_first(pg_last_xact_replay_timestamp(), false));
    END IF;
    EXECUTE format('SELECT json_build_object(''group'', l.groupid, ''horizon'', sno_internal.sno_horizon($1),
        ''prefix'', g.prefix, ''bits'', g.prefix_bits, ''lower'', g.sequence_lower, ''upper'', g.sequence_upper,
        ''timeline'', sno_internal.timeline(),
        ''since'', (SELECT s.since FROM sno_internal.node_starts s WHERE s.timeline = sno_internal.timeline()),
        ''lowered'', nullif(sno_internal.sno_goes_on_after(''xxxxxxxxxxxxxxxx'', 0), ''xxxxxxxxxxxxxxxx''))
        FROM %s.sno_generator() g, pg_catalog.pg_dist_local_group l', sno_internal.schema()) INTO result USING margin;
    RETURN result;
END
$$;
COMMENT ON FUNCTION sno_internal.horizon_of_node(interval) IS 'internal: the horizon and the server number of a node';

-- What a node is still to commit, but for the distributed transaction of one session: its clock; its processes that are
-- in a transaction; those that write for a distributed transaction or for another node; what is prepared. In this
-- order, since what writes may be prepared in between.
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
    SELECT json_agg(json_build_object('pid', s.pid, 'began', s.xact_start, 'age', clock_timestamp() - s.xact_start,
        'since', CASE WHEN a.transaction_number <> 0 THEN a.transaction_stamp END, 'session', a.global_pid,
        'is_remote', a.worker_query)) INTO writers
    FROM pg_catalog.get_all_active_transactions() a JOIN pg_stat_activity s ON s.pid = a.process_id
    WHERE s.backend_xid IS NOT NULL AND s.datname = current_database() AND (a.transaction_number <> 0 OR a.worker_query)
        AND (a.global_pid <> but_for OR a.transaction_number = 0);
    SELECT json_agg(p.gid) INTO prepared
    FROM pg_prepared_xacts p WHERE p.database = current_database() AND p.gid LIKE 'citus\_%';
    RETURN json_build_object('clock', clock_timestamp(), 'sessions', sessions, 'writers', coalesce(writers, '[]'),
        'prepared', coalesce(prepared, '[]'));
END
$$;
COMMENT ON FUNCTION sno_internal.open_on_node(bigint) IS 'internal: what a node of the cluster is still to commit';

-- What holds feeds back: transactions that have IDs, or write for a distributed transaction or another node, and what
-- is prepared.
CREATE FUNCTION sno_internal.holders_on_node() RETURNS json
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    result json;
BEGIN
    WITH holders AS (
        SELECT h.pid, NULL::text AS gid, h.since FROM sno_internal.sno_horizon_holders() h WHERE h.pid IS NOT NULL
        UNION ALL
        SELECT (w ->> 'pid')::integer, NULL, (w ->> 'began')::timestamptz
        FROM json_array_elements(sno_internal.open_on_node(0) -> 'writers') w
        UNION ALL
        SELECT NULL, p.gid, p.prepared FROM pg_prepared_xacts p WHERE p.database = current_database()
    )
    SELECT coalesce(json_agg(f), '[]') INTO result
    FROM (SELECT h.pid, h.gid, min(h.since) AS since FROM holders h GROUP BY h.pid, h.gid) f;
    RETURN result;
END
$$;
COMMENT ON FUNCTION sno_internal.holders_on_node() IS 'internal: what holds back feeds of tables of Citus on a node';

CREATE FUNCTION sno_internal.readers_on_node(source text) RETURNS json
    LANGUAGE SQL VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(json_agg(r.read), '[]') FROM sno_internal.readers(to_regclass(source)) r
$$;
COMMENT ON FUNCTION sno_internal.readers_on_node(text) IS
    'internal: IDs up to which the feeds of a node have read the rows of a table';

-- What this node answers to one of these questions.
CREATE FUNCTION sno_internal.own_answer(question text, argument text) RETURNS json
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE question
        WHEN 'horizon' THEN sno_internal.horizon_of_node(argument::interval)
        WHEN 'open' THEN sno_internal.open_on_node(argument::bigint)
        WHEN 'holders' THEN sno_internal.holders_on_node()
        WHEN 'readers' THEN sno_internal.readers_on_node(argument) END;
END
$$;
COMMENT ON FUNCTION sno_internal.own_answer(text, text) IS 'internal: the answer of this node to a question';

-- The same for another node, with the last group and then those that this one knows, or its error.
CREATE FUNCTION sno_internal.answer(question text, argument text) RETURNS json
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    state text;
    message text;
    detail text;
    hint text;
BEGIN
    RETURN json_build_object('last', sno_internal.last_group(), 'groups', sno_internal.groups(),
        'answer', sno_internal.own_answer(question, argument));
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN json_build_object('state', state, 'message', message, 'detail', detail, 'hint', hint);
END
$$;
COMMENT ON FUNCTION sno_internal.answer(text, text) IS 'internal: the answer of a node to a question';

-- The answers of all nodes, this one included. A node that is disabled is asked, too, since it can have clients. A node
-- that does not answer is an error, and so is a list of nodes that is not the coordinator's for a second: rows of a
-- node that is not asked would be missed. The coordinator's answer has the last group of before that list.
CREATE FUNCTION sno_internal.ask_nodes(question text, argument text, attempts integer DEFAULT 5)
    RETURNS TABLE (node integer, answer json, last integer) LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
    SET search_path = pg_catalog, pg_temp SET jit = off SET citus.remote_task_check_interval = 1
AS $$
DECLARE
    own CONSTANT integer := (SELECT l.groupid FROM pg_catalog.pg_dist_local_group l);
    own_last CONSTANT integer := sno_internal.last_group();
    groups CONSTANT integer[] := sno_internal.groups();
    other record;
    detail text;
BEGIN
    IF own <> 0 AND NOT 0 = ANY (groups) THEN
        RAISE EXCEPTION 'coordinator is not in the list of nodes' USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'What it commits would not be waited for.',
            HINT = 'Call citus_set_coordinator_host() on the coordinator.';
    END IF;
    FOR other IN
        WITH others AS (
            -- The coordinator is the first, if it is another node.
            SELECT array_agg(n.nodeid ORDER BY n.groupid) AS ids, array_agg(n.groupid ORDER BY n.groupid) AS groupids,
                array_agg(n.nodename ORDER BY n.groupid) AS names, array_agg(n.nodeport ORDER BY n.groupid) AS ports,
                array_agg(format('SELECT sno_internal.answer(%L, %L)', question, argument)) AS queries
            FROM pg_catalog.pg_dist_node n
            WHERE n.noderole = 'primary' AND n.groupid <> own AND n.groupid = ANY (groups)
        )
        SELECT o.ids[r.ordinality] AS nodeid, o.groupids[r.ordinality] AS groupid, r.node_name, r.node_port,
            r.success, r.result
        FROM others o, pg_catalog.master_run_on_worker(o.names, o.ports, o.queries, true) WITH ORDINALITY r
        WHERE o.ids IS NOT NULL
    LOOP
        IF NOT other.success THEN
            RAISE EXCEPTION 'no answer from node % of the cluster, %:%', other.nodeid, other.node_name, other.node_port
                USING ERRCODE = 'connection_failure', DETAIL = other.result;
        END IF;
        node := other.nodeid;
        answer := other.result;
        IF answer ->> 'state' IS NOT NULL THEN
            detail := concat_ws(' ', nullif(answer ->> 'detail', ''),
                format('This is the answer of node %s of the cluster, %s:%s.', other.nodeid, other.node_name,
                    other.node_port));
            IF answer ->> 'hint' = '' THEN
                RAISE EXCEPTION USING ERRCODE = answer ->> 'state', MESSAGE = answer ->> 'message', DETAIL = detail;
            END IF;
            RAISE EXCEPTION USING ERRCODE = answer ->> 'state', MESSAGE = answer ->> 'message', DETAIL = detail,
                HINT = answer ->> 'hint';
        END IF;
        IF other.groupid = 0 AND ARRAY(SELECT json_array_elements_text(answer -> 'groups')::integer) <> groups THEN
            IF attempts > 0 THEN
                PERFORM pg_sleep(0.2);
                RETURN QUERY SELECT * FROM sno_internal.ask_nodes(question, argument, attempts - 1);
                RETURN;
            END IF;
            RAISE EXCEPTION 'this node does not have the coordinator''s list of nodes'
                USING ERRCODE = 'object_not_in_prerequisite_state',
                DETAIL = format('Its list has the groups %s, that of the coordinator %s.', to_json(groups),
                    answer -> 'groups'),
                HINT = 'If this node was disabled, use citus_activate_node().';
        END IF;
        last := answer ->> 'last';
        answer := answer -> 'answer';
        RETURN NEXT;
    END LOOP;
    last := own_last;
    node := coalesce((SELECT n.nodeid FROM pg_catalog.pg_dist_node n
        WHERE n.groupid = own AND n.noderole = 'primary'), 0);
    -- Not by answer(), whose savepoint would hide errors of this session.
    answer := sno_internal.own_answer(question, argument);
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION sno_internal.ask_nodes(text, text, integer) IS 'internal: the answers of all nodes to a question';

-- The least of the horizons of all nodes, who these are, and those of them that are not known. Who asks for it is
-- warned if two nodes have one number, or the number of one contains that of the other. A node that has left may
-- still have clients whose rows nobody waits for.
--
-- Who the nodes are is a text, 'GROUP:TIMELINE:SINCE:LOWERED ... LAST': for each node its group, its timeline, the
-- first ID of that, the ID to which its horizons were lowered, both empty if there is none; in the end the last group
-- that was given. If groups
-- are not known that were given since an earlier answer, nodes may have come and gone, whose numbers are these groups.
CREATE FUNCTION sno_internal.least_horizon(
        margin interval, known text, OUT horizon sno, OUT servers text, OUT since sno, OUT partitions int4multirange
    ) RETURNS record
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    own CONSTANT integer := (SELECT l.groupid FROM pg_catalog.pg_dist_local_group l);
    known_last CONSTANT integer := (
        SELECT coalesce(max(k::integer) FILTER (WHERE NOT k LIKE '%:%'),
            max(split_part(k, ':', 1)::integer)) FROM unnest(string_to_array(known, ' ')) k
    );
    equal text;
    gone text;
    passed integer;
BEGIN
    -- The texts of IDs are in their order.
    WITH nodes AS MATERIALIZED (
        SELECT n.node, format('%s:%s:%s:%s', j."group", j.timeline, j.since, j.lowered) AS server,
            CASE WHEN j.since IS NOT NULL THEN least(j.since COLLATE "C", j.lowered) END AS since, j."group",
            j.horizon, j.prefix, j.bits, j.lower, j.upper, n.last
        FROM sno_internal.ask_nodes('horizon', margin::text) n,
            json_to_record(n.answer) j("group" integer, horizon text, prefix integer, bits integer,
                lower integer, upper integer, timeline integer, since text, lowered text)
    ), others AS (
        SELECT n.* FROM nodes n
        WHERE n."group" <> own AND NOT n.server = ANY (string_to_array(coalesce(known, ''), ' '))
        UNION ALL
        SELECT NULL, NULL, NULL, g, NULL, g, n.bits, NULL, NULL, NULL
        FROM nodes n, generate_series(known_last + 1, (SELECT max(m.last) FROM nodes m)) g
        WHERE n."group" = own AND g NOT IN (SELECT m."group" FROM nodes m) AND g < 1 << n.bits
    )
    SELECT min(n.horizon COLLATE "C"),
        concat_ws(' ', string_agg(n.server, ' ' ORDER BY n."group"), coalesce(max(n.last), known_last)), (
        SELECT CASE WHEN count(*) = count(o.since) THEN min(o.since COLLATE "C") END FROM others o
    ), (
        SELECT range_agg(int4range(o.prefix << (16 - o.bits), (o.prefix + 1) << (16 - o.bits))) FROM others o
    ), (
        SELECT min(o."group") FROM others o WHERE o.node IS NULL
    ), (
        SELECT format('nodes %s and %s', a.node, b.node)
        FROM nodes a JOIN nodes b ON a.node < b.node AND a.lower <= b.upper AND b.lower <= a.upper
            AND a.prefix >> (a.bits - least(a.bits, b.bits)) = b.prefix >> (b.bits - least(a.bits, b.bits)) LIMIT 1
    ), (
        SELECT min(split_part(k, ':', 1)) FROM unnest(string_to_array(known, ' ')) k
        WHERE k LIKE '%:%' AND split_part(k, ':', 1)::integer NOT IN (SELECT m."group" FROM nodes m)
    ) INTO horizon, servers, since, partitions, passed, equal, gone
    FROM nodes n;
    IF gone IS NOT NULL THEN
        RAISE EXCEPTION 'node of group % has left the cluster since the feed was read', gone
            USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'Nobody waits for what its clients still write.',
            HINT = 'When it has no clients any more, call sno_seek_feed() with the position of the feed.';
    END IF;
    IF passed IS NOT NULL AND current_setting('sno.partition_prefix') NOT ILIKE 'citus%' THEN
        RAISE EXCEPTION 'node of group % may have come and gone since the feed was read', passed
            USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Its server number is not known.',
            HINT = 'If its clock was right, or there was none, call sno_seek_feed() with the position of the feed.';
    END IF;
    IF equal IS NOT NULL THEN
        RAISE WARNING '% of the cluster have one server number', equal USING DETAIL = 'Their IDs can be equal.',
            HINT = 'Set "sno.partition_prefix" to another number on each node.';
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.least_horizon(interval, text) IS 'internal: the least of the horizons of all nodes';

-- What all nodes are still to commit. `writing_for` is the age of the oldest distributed transaction that writes, by
-- the clock of the node that began it, and `clock` is the slowest one. `to_wait_for` are those of which nothing else
-- holds a horizon back: what is prepared, and processes that write for a transaction which has ended: its session has
-- ended, too, or is in no transaction, or in one that is younger by more than the question takes.
CREATE FUNCTION sno_internal.open_on_nodes(OUT clock timestamptz, OUT writing_for interval, OUT to_wait_for text[])
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    session CONSTANT bigint := pg_catalog.citus_backend_gpid();
    asked CONSTANT timestamptz := clock_timestamp();
BEGIN
    -- The number of a session is that of its node, and then that of its process with ten digits.
    WITH nodes AS MATERIALIZED (
        SELECT n.node, n.answer AS found FROM sno_internal.ask_nodes('open', session::text) n
    ), writers AS (
        SELECT n.node, w.pid, w.began, w.since, w.is_remote, o.clock,
            coalesce(s.age + (clock_timestamp() - asked) >= w.age, false) AS has_transaction
        FROM nodes n CROSS JOIN LATERAL json_to_recordset(n.found -> 'writers')
            w(pid integer, began text, age interval, session bigint, since timestamptz, is_remote boolean)
        LEFT JOIN LATERAL (
            SELECT (m.found ->> 'clock')::timestamptz AS clock, m.found FROM nodes m
            WHERE m.node = w.session / 10000000000
        ) o ON true
        LEFT JOIN LATERAL (
            SELECT r.age FROM json_to_recordset(o.found -> 'sessions') r(pid bigint, age interval)
            WHERE r.pid = w.session % 10000000000
        ) s ON true
    )
    SELECT min((n.found ->> 'clock')::timestamptz),
        (SELECT max(w.clock - w.since) FROM writers w),
        ARRAY(
            SELECT format('node %s: prepared transaction %s', n.node, p)
            FROM nodes n, json_array_elements_text(n.found -> 'prepared') p
            UNION ALL
            SELECT format('node %s: process %s since %s, for a transaction that has ended', w.node, w.pid, w.began)
            FROM writers w WHERE w.is_remote AND NOT w.has_transaction
        )
    INTO clock, writing_for, to_wait_for
    FROM nodes n;
END
$$;
COMMENT ON FUNCTION sno_internal.open_on_nodes() IS 'internal: what the nodes of the cluster are still to commit';

-- A horizon for rows of tables of Citus: below it, each transaction that has generated an ID has ended on all nodes,
-- and none will generate one; but not before what was read, up to an ID. Null if that takes more than a second.
--
-- First the horizons of all nodes: below the least, each transaction has ended where it generated its IDs. It may not
-- have ended where its rows are:
--
-- * Citus commits in two phases: all is prepared before anything ends. So what is prepared after the horizons is waited
--   for. What is not prepared yet has not ended where its IDs were generated.
-- * It commits in one phase, on all nodes at once, if one of them has all rows. So the horizon is not after the start
--   of what writes then, by the slowest of the clocks. Whatever writes later has not ended where its IDs were
--   generated. What had not written when the feed was read before has no IDs before its position, for the same reason.
-- * The transaction that generated the IDs can have ended, by a cancel or since its process died, while another node
--   still commits its rows. That is waited for. What that node has not begun to write by then, it never commits:
--   sno_new() has Citus begin a transaction there first, in which the other statements are, and which only the session
--   that generated the IDs commits.
CREATE FUNCTION sno_internal.scope_horizon(
        margin interval, after sno, known text, OUT horizon sno, OUT servers text, OUT since sno,
        OUT partitions int4multirange
    ) RETURNS record
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    began timestamptz;
    until CONSTANT timestamptz := clock_timestamp() + '1 s';
    pause double precision := 0.005;
    found record;
    left_over text[];
BEGIN
    IF current_setting('citus.use_secondary_nodes') <> 'never' THEN
        RAISE EXCEPTION 'cannot read a feed while "citus.use_secondary_nodes" is "%"',
            current_setting('citus.use_secondary_nodes')
            USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'A secondary can be behind the horizon.',
                HINT = 'Connect with options = ''-c citus.use_secondary_nodes=never''.';
    END IF;
    SELECT * INTO horizon, servers, since, partitions FROM sno_internal.least_horizon(margin, known);
    LOOP
        began := clock_timestamp();
        SELECT * INTO found FROM sno_internal.open_on_nodes();
        IF left_over IS NULL THEN
            IF found.writing_for IS NOT NULL THEN
                horizon := least(horizon, greatest(
                    sno_internal.sno_first(
                        found.clock - found.writing_for - (clock_timestamp() - began) - margin, false),
                    sno_internal.sno_first(after::timestamptz, true)));
            END IF;
            left_over := found.to_wait_for;
        ELSE
            left_over := ARRAY(SELECT unnest(left_over) INTERSECT SELECT unnest(found.to_wait_for));
        END IF;
        EXIT WHEN cardinality(left_over) = 0;
        IF clock_timestamp() > until THEN
            RAISE DEBUG 'feed waits for other nodes' USING DETAIL = array_to_string(left_over, '; ');
            horizon := NULL;
            RETURN;
        END IF;
        PERFORM pg_sleep(pause);
        pause := least(2 * pause, 0.32);
    END LOOP;
END
$$;
COMMENT ON FUNCTION sno_internal.scope_horizon(interval, sno, text) IS
    'internal: a horizon for rows of tables of Citus';

-- Of the feeds on all nodes.
CREATE FUNCTION sno_internal.scope_read(source regclass) RETURNS sno
    LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    result sno_internal.feed_positions.position%TYPE;
BEGIN
    -- The texts of IDs are in their order.
    SELECT CASE WHEN count(*) = count(r.read) THEN min(r.read COLLATE "C") END INTO result
    FROM sno_internal.ask_nodes('readers', source::text) n
    CROSS JOIN LATERAL json_array_elements_text(n.answer) r(read);
    RETURN result;
END
$$;
COMMENT ON FUNCTION sno_internal.scope_read(regclass) IS
    'internal: ID up to which the feeds of all nodes have read the rows of a table';

CREATE FUNCTION sno_citus_holders(OUT node integer, OUT pid integer, OUT gid text, OUT since timestamptz)
    RETURNS SETOF record LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
    SELECT n.node, h.pid, h.gid, h.since
    FROM sno_internal.ask_nodes('holders', '') n,
        json_to_recordset(n.answer) h(pid integer, gid text, since timestamptz)
    WHERE h.pid IS DISTINCT FROM pg_backend_pid() ORDER BY h.since
$$;
COMMENT ON FUNCTION sno_citus_holders() IS 'what holds back feeds of tables of Citus, on all nodes';

CREATE FUNCTION sno_internal.sno_joins_citus() RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_joins_citus() IS
    'internal: whether transactions with IDs become transactions of Citus';

REVOKE EXECUTE ON FUNCTION sno_internal.timeline(), sno_internal.note_start(sno), sno_internal.groups(),
    sno_internal.last_group(), sno_internal.horizon_of_node(interval), sno_internal.open_on_node(bigint),
    sno_internal.holders_on_node(), sno_internal.readers_on_node(text), sno_citus_holders(),
    sno_internal.own_answer(text, text), sno_internal.answer(text, text),
    sno_internal.ask_nodes(text, text, integer), sno_internal.least_horizon(interval, text),
    sno_internal.open_on_nodes(), sno_internal.scope_horizon(interval, sno, text),
    sno_internal.scope_read(regclass), sno_internal.sno_joins_citus() FROM PUBLIC;
