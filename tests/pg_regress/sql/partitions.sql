-- Partitions by time: made, looked at, kept up, expired. While others are at work: tests/server/partitions.rs.
\set SHOW_CONTEXT never
CREATE TABLE events (
    id sno PRIMARY KEY DEFAULT sno_new(1),
    n integer CHECK (n > 0),
    at timestamptz GENERATED ALWAYS AS (sno_time(id)) STORED
) PARTITION BY RANGE (id);
CREATE INDEX events_n ON events (n);

-- A month each; again, nothing is missing. Then another width: what lies between is filled.
CREATE FUNCTION made(arguments text) RETURNS text LANGUAGE SQL AS $$
    SELECT answer(format('SELECT string_agg(p::text, '' '') FROM sno_create_partitions(%s) p', arguments));
$$;
SELECT made($$'events', '1 month', '2026-01-15Z', '2026-04-01Z'$$), made($$'events', '1 month', '2026-01-15Z', '2026-04-01Z'$$) AS again;
SELECT arguments, made($$'events', $$ || arguments) FROM unnest(ARRAY[
    $$'1 week', '2026-03-30Z', '2026-04-10Z'$$, $$'1 month', '2026-04-01Z', '2026-04-02Z'$$,
    $$'6 hours', '2026-05-01 00:00Z', '2026-05-01 12:00Z'$$, $$'3 months', '2026-06-01Z', '2026-06-02Z'$$]) arguments;
SELECT * FROM sno_partitions('events');
INSERT INTO events (id, n) SELECT sno_make('2026-01-15 00:00Z'::timestamptz + n * interval '1 day', 1, 1, n), n FROM generate_series(1, 70) n;
SELECT tableoid::regclass, count(*), min(at), max(at) FROM events GROUP BY 1 ORDER BY 1;
\d events_20260101

-- Spans start at midnight UTC, on Mondays, or with the month, in every time zone.
CREATE TABLE span (id sno) PARTITION BY RANGE (id);
SET timezone = 'America/New_York';
SELECT sno_create_partitions('span', width, time, time + '1 hour')
FROM unnest('{1 day,1 week,1 month,3 months,1 year,90 minutes}'::interval[]) WITH ORDINALITY w(width, n),
    LATERAL (SELECT '2019-11-21 00:00Z'::timestamptz + n * interval '1 year') t(time) \g /dev/null
SELECT partition, since AT TIME ZONE 'UTC' AS since, until AT TIME ZONE 'UTC' AS until FROM sno_partitions('span');
RESET timezone;
DROP TABLE span;

-- Old ones are detached, and keep their rows; dropped they are only if the call says so.
SELECT sno_expire_partitions('events', '2026-02-15 00:00Z'), (SELECT count(*) FROM events_20260101);
SELECT made($$'events', '1 month', '2026-01-15Z', '2026-01-16Z'$$);
SELECT sno_expire_partitions('events', '2026-03-01 00:00Z', drop_expired => true);
SELECT to_regclass('events_20260201'), count(*), (SELECT count(*) FROM sno_expire_partitions('events', '2026-03-01 00:00Z', true)) AS again FROM events;

-- Upkeep in one call, for any scheduler. All is done, however few of its rows are taken.
CREATE TABLE log (id sno DEFAULT sno_new(1)) PARTITION BY RANGE (id);
SELECT action, count(*), bool_and(partition ~ '^public.log_\d{8}$') FROM sno_maintain_partitions('log', '1 day') GROUP BY 1;
INSERT INTO log DEFAULT VALUES;
SELECT count(*) FROM (SELECT sno_create_partitions('log', '1 day', now() - interval '5 days', now()) LIMIT 1) s;
SELECT action, count(*) FROM sno_maintain_partitions('log', '1 day', ahead => 4, retention => '3 days') GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM sno_create_partitions('log', '1 week', now() - interval '20 weeks', now() - interval '10 weeks');
SELECT count(*) FROM (SELECT sno_maintain_partitions('log', '1 day', ahead => 4, retention => '3 days', drop_expired => true) LIMIT 1) s;
SELECT count(*), (SELECT count(*) FROM sno_maintain_partitions('log', '1 day', ahead => 0)) AS "ahead is enough",
    (SELECT count(*) FROM pg_class WHERE relname ~ '^log_' AND NOT relispartition) AS detached FROM sno_partitions('log');

-- Other schemas, odd names, other search paths: the setting is the caller's again.
CREATE SCHEMA "My Schema";
CREATE TABLE "My Schema"."My ""Log" (id sno) PARTITION BY RANGE (id);
SELECT sno_create_partitions('"My Schema"."My ""Log"', '1 day', '2026-01-01 00:00Z', '2026-01-02 00:00Z');
SET search_path = "My Schema";
SELECT public.sno_create_partitions('"My ""Log"', '1 day', '2026-01-02 00:00Z', '2026-01-03 00:00Z'), (SELECT count(*) FROM public.sno_partitions('"My ""Log"'));
SELECT public.sno_expire_partitions('"My ""Log"', '2026-01-02 00:00Z', true), current_setting('search_path');
RESET search_path;

-- Whoever calls, the partitions belong to the owner of the table.
CREATE ROLE regress_sno_owner;
CREATE ROLE regress_sno_other;
GRANT CREATE ON SCHEMA public TO regress_sno_owner;
CREATE TABLE owned (id sno) PARTITION BY RANGE (id);
ALTER TABLE owned OWNER TO regress_sno_owner;
SELECT made($$'owned', '1 day', '2026-01-01Z', '2026-01-02Z'$$);
SET ROLE regress_sno_owner;
SELECT made($$'owned', '1 day', '2026-01-02Z', '2026-01-03Z'$$);
SET ROLE regress_sno_other;
SELECT made($$'owned', '1 day', '2026-01-03Z', '2026-01-04Z'$$), answer($$SELECT sno_expire_partitions('owned', '2026-01-03Z', true)$$);
RESET ROLE;
SELECT count(*), min(relowner::regrole::text), max(relowner::regrole::text) FROM pg_class WHERE relname LIKE 'owned%';

-- What the table says of storage is that of its partitions.
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_sno_space LOCATION '';
CREATE TABLE stored (id sno, line text COMPRESSION pglz) PARTITION BY RANGE (id) TABLESPACE regress_sno_space;
ALTER TABLE stored ALTER line SET STORAGE EXTERNAL;
SELECT made($$'stored', '1 day', '2026-01-01Z', '2026-01-02Z'$$);
SELECT relname, spcname, attstorage, attcompression
FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace JOIN pg_attribute a ON a.attrelid = c.oid AND attname = 'line'
WHERE relname LIKE 'stored%' ORDER BY 1;
DROP TABLE stored;
DROP TABLESPACE regress_sno_space;

-- Bounds in the middle of a tick: what they leave of it gets a partition, too.
CREATE TABLE middle (id sno) PARTITION BY RANGE (id);
CREATE TABLE middle_20261001 PARTITION OF middle
    FOR VALUES FROM (sno_make('2026-10-01 00:00Z', 1, 0, 0)) TO (sno_make('2026-10-02 00:00Z', 7, 0, 0));
SELECT made($$'middle', '1 day', '2026-09-30Z', '2026-10-04Z'$$), made($$'middle', '1 day', '2026-09-30Z', '2026-10-04Z'$$) AS again;
INSERT INTO middle SELECT sno_make(at, metabyte, 0, 0) FROM (VALUES ('2026-10-01 00:00Z'::timestamptz), ('2026-10-02 00:00Z')) t(at), generate_series(0, 7, 7) metabyte;
SELECT p.*, string_agg(concat(sno_time(id), ' ', sno_metabyte(id)), ', ' ORDER BY id) AS rows
FROM sno_partitions('middle') p LEFT JOIN middle m ON m.tableoid = p.partition::regclass GROUP BY 1, 2, 3 ORDER BY 2, 3;
DROP TABLE middle;

-- Bounds made by hand, and a default partition, whose rows stand in the way.
CREATE TABLE hand (id sno) PARTITION BY RANGE (id);
CREATE TABLE hand_old PARTITION OF hand FOR VALUES FROM (MINVALUE) TO (sno_lower('2026-01-01 00:00Z'));
CREATE TABLE hand_middle PARTITION OF hand FOR VALUES FROM ('9dahau222222222a') TO ('9dahau22222222aa');
CREATE TABLE hand_new PARTITION OF hand FOR VALUES FROM (sno_lower('2027-01-01 00:00Z')) TO (MAXVALUE);
CREATE TABLE hand_rest PARTITION OF hand DEFAULT;
SELECT * FROM sno_partitions('hand');
INSERT INTO hand VALUES (sno_lower('2026-05-01 00:00Z'));
SELECT made($$'hand', '1 year', '2025-01-01Z', '2028-01-01Z'$$);
DELETE FROM hand;
SELECT made($$'hand', '1 year', '2025-01-01Z', '2028-01-01Z'$$);
DROP TABLE hand_middle;
SELECT made($$'hand', '1 year', '2025-01-01Z', '2028-01-01Z'$$), sno_expire_partitions('hand', '2026-01-01 00:00Z');

-- Partitions that are on another server.
CREATE FOREIGN DATA WRAPPER regress_sno_wrapper;
CREATE SERVER regress_sno_server FOREIGN DATA WRAPPER regress_sno_wrapper;
CREATE TABLE far (id sno) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE far_2025 PARTITION OF far
    FOR VALUES FROM (sno_lower('2025-01-01 00:00Z')) TO (sno_lower('2026-01-01 00:00Z')) SERVER regress_sno_server;
SELECT made($$'far', '1 year', '2024-01-01Z', '2027-01-01Z'$$);
SELECT sno_expire_partitions('far', '2026-01-01 00:00Z', drop_expired => true);
DROP TABLE far;
DROP FOREIGN DATA WRAPPER regress_sno_wrapper CASCADE;

-- Refused. A partition that others refer to stays, and so do all.
CREATE TABLE plain (id sno);
CREATE TABLE by_time (at timestamptz) PARTITION BY RANGE (at);
CREATE TABLE by_two (id sno, n integer) PARTITION BY RANGE (id, n);
CREATE TABLE by_hash (id sno) PARTITION BY HASH (id);
CREATE TABLE by_expression (id sno) PARTITION BY RANGE (sno_with_metabyte(id, 0));
CREATE TABLE a_table_with_a_name_of_fifty_characters_or_even_more (id sno) PARTITION BY RANGE (id);
CREATE VIEW april AS SELECT * FROM events_20260301;
SELECT call, answer('SELECT sno_' || call) FROM unnest(ARRAY[
    $$create_partitions('plain', '1 day', now(), now() + '1 day')$$, $$create_partitions('by_time', '1 day', now(), now() + '1 day')$$,
    $$create_partitions('by_two', '1 day', now(), now() + '1 day')$$, $$create_partitions('by_hash', '1 day', now(), now() + '1 day')$$,
    $$create_partitions('by_expression', '1 day', now(), now() + '1 day')$$, $$create_partitions(NULL, '1 day', now(), now() + '1 day')$$,
    $$create_partitions(0, '1 day', now(), now() + '1 day')$$, $$create_partitions('log', NULL, now(), now() + '1 day')$$,
    $$create_partitions('log', '1 month 1 day', now(), now() + '1 day')$$, $$create_partitions('log', '1 day', '2026-01-02Z', '2026-01-01Z')$$,
    $$create_partitions('log', '1 day', '2009-12-31Z', '2010-01-02Z')$$, $$create_partitions('log', '1 month', '2079-01-01Z', 'infinity')$$,
    $$create_partitions('log', '1 month', '-infinity', '2079-01-01Z')$$, $$create_partitions('log', '1 second', '2026-01-01Z', '2027-01-01Z')$$,
    $$create_partitions('a_table_with_a_name_of_fifty_characters_or_even_more', '1 day', now(), now() + '1 day')$$,
    $$expire_partitions('plain', '2026-01-01Z')$$, $$expire_partitions('log', NULL)$$, $$expire_partitions('log', '2026-01-01Z', NULL)$$,
    $$expire_partitions('log', 'infinity', true)$$, $$expire_partitions('events', '2026-05-01Z', true)$$,
    $$maintain_partitions('log', '1 day', -1)$$, $$maintain_partitions('log', '1 day', NULL)$$, $$maintain_partitions('log', '1 day', retention => '0')$$,
    $$maintain_partitions('log', '1 day', drop_expired => true)$$, $$maintain_partitions('log', '1 day', retention => '1 day', drop_expired => NULL)$$
]) WITH ORDINALITY AS list(call, place) ORDER BY place;
-- Partitions ahead that would end after the last time.
CREATE TABLE log_long (id sno) PARTITION BY RANGE (id);
SELECT count(*) > 0 AS created, (SELECT count(*) FROM sno_partitions('events')) AS "are left" FROM sno_maintain_partitions('log_long', '30 years');
DROP TABLE log_long;

-- New partitions have the table's replica identity, the index of their own in the place of the table's, if there is one.
CREATE TABLE sent (id sno PRIMARY KEY, id_text text NOT NULL) PARTITION BY RANGE (id);
CREATE UNIQUE INDEX sent_text ON sent (id_text, id);
DO $$
DECLARE
    identity text;
    day date := '2026-01-01';
BEGIN
    FOREACH identity IN ARRAY '{DEFAULT,FULL,USING INDEX sent_text,NOTHING,USING INDEX sent_text}'::text[] LOOP
        EXECUTE 'ALTER TABLE sent REPLICA IDENTITY ' || identity;
        IF day = '2026-01-05' THEN
            DROP INDEX sent_text;
        END IF;
        PERFORM sno_create_partitions('sent', '1 day', day, day + 1);
        day := day + 1;
    END LOOP;
END $$;
SELECT relname, relreplident, indexrelid::regclass AS index
FROM pg_class c LEFT JOIN pg_index ON indrelid = c.oid AND indisreplident
WHERE relispartition AND relname LIKE 'sent%' AND relkind = 'r' ORDER BY 1;

DROP VIEW april;
DROP TABLE events, events_20260101, log, owned, hand, hand_old, sent, plain, by_time, by_two, by_hash, by_expression, a_table_with_a_name_of_fifty_characters_or_even_more;
DROP TABLE "My Schema"."My ""Log";
DROP SCHEMA "My Schema";
DO $$ DECLARE t text; BEGIN FOR t IN SELECT oid::regclass FROM pg_class WHERE relname ~ '^log_\d' LOOP EXECUTE 'DROP TABLE ' || t; END LOOP; END $$;
DROP FUNCTION made;
REVOKE CREATE ON SCHEMA public FROM regress_sno_owner;
DROP ROLE regress_sno_owner, regress_sno_other;
