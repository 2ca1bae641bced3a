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
--> made|again
--> events_20260101 events_20260201 events_20260301|
SELECT arguments, made($$'events', $$ || arguments) FROM unnest(ARRAY[
    $$'1 week', '2026-03-30Z', '2026-04-10Z'$$, $$'1 month', '2026-04-01Z', '2026-04-02Z'$$,
    $$'6 hours', '2026-05-01 00:00Z', '2026-05-01 12:00Z'$$, $$'3 months', '2026-06-01Z', '2026-06-02Z'$$]) arguments;
--> arguments|made
--> '1 week', '2026-03-30Z', '2026-04-10Z'|events_20260401 events_20260406
--> '1 month', '2026-04-01Z', '2026-04-02Z'|events_20260413
--> '6 hours', '2026-05-01 00:00Z', '2026-05-01 12:00Z'|events_20260501_0000 events_20260501_0600
--> '3 months', '2026-06-01Z', '2026-06-02Z'|events_20260501_1200
SELECT * FROM sno_partitions('events');
--> partition|since|until
--> events_20260101|2026-01-01 00:00:00+00|2026-02-01 00:00:00+00
--> events_20260201|2026-02-01 00:00:00+00|2026-03-01 00:00:00+00
--> events_20260301|2026-03-01 00:00:00+00|2026-04-01 00:00:00+00
--> events_20260401|2026-04-01 00:00:00+00|2026-04-06 00:00:00+00
--> events_20260406|2026-04-06 00:00:00+00|2026-04-13 00:00:00+00
--> events_20260413|2026-04-13 00:00:00+00|2026-05-01 00:00:00+00
--> events_20260501_0000|2026-05-01 00:00:00+00|2026-05-01 06:00:00+00
--> events_20260501_0600|2026-05-01 06:00:00+00|2026-05-01 12:00:00+00
--> events_20260501_1200|2026-05-01 12:00:00+00|2026-07-01 00:00:00+00
INSERT INTO events (id, n) SELECT sno_make('2026-01-15 00:00Z'::timestamptz + n * interval '1 day', 1, 1, n), n FROM generate_series(1, 70) n;
SELECT tableoid::regclass, count(*), min(at), max(at) FROM events GROUP BY 1 ORDER BY 1;
--> tableoid|count|min|max
--> events_20260101|16|2026-01-16 00:00:00+00|2026-01-31 00:00:00+00
--> events_20260201|28|2026-02-01 00:00:00+00|2026-02-28 00:00:00+00
--> events_20260301|26|2026-03-01 00:00:00+00|2026-03-26 00:00:00+00
\d events_20260101
--> Table "public.events_20260101"
--> Column|Type|Collation|Nullable|Default
--> id|sno||not null|sno_new(1)
--> n|integer|||
--> at|timestamp with time zone|||generated always as (sno_time(id)) stored
--> Partition of: events FOR VALUES FROM ('9d5ve82222222222') TO ('9edsjci222222222')
--> Indexes:
-->     "events_20260101_pkey" PRIMARY KEY, btree (id)
-->     "events_20260101_n_idx" btree (n)
--> Check constraints:
-->     "events_n_check" CHECK (n > 0)

-- Spans start at midnight UTC, on Mondays, or with the month, in every time zone.
CREATE TABLE span (id sno) PARTITION BY RANGE (id);
SET timezone = 'America/New_York';
SELECT sno_create_partitions('span', width, time, time + '1 hour')
FROM unnest('{1 day,1 week,1 month,3 months,1 year,90 minutes}'::interval[]) WITH ORDINALITY w(width, n),
    LATERAL (SELECT '2019-11-21 00:00Z'::timestamptz + n * interval '1 year') t(time) \g /dev/null
SELECT partition, since AT TIME ZONE 'UTC' AS since, until AT TIME ZONE 'UTC' AS until FROM sno_partitions('span');
--> partition|since|until
--> span_20201121|2020-11-21 00:00:00|2020-11-22 00:00:00
--> span_20211115|2021-11-15 00:00:00|2021-11-22 00:00:00
--> span_20221101|2022-11-01 00:00:00|2022-12-01 00:00:00
--> span_20231001|2023-10-01 00:00:00|2024-01-01 00:00:00
--> span_20240101|2024-01-01 00:00:00|2025-01-01 00:00:00
--> span_20251121_0000|2025-11-21 00:00:00|2025-11-21 01:30:00
RESET timezone;
DROP TABLE span;

-- Old ones are detached, and keep their rows; dropped they are only if the call says so.
SELECT sno_expire_partitions('events', '2026-02-15 00:00Z'), (SELECT count(*) FROM events_20260101);
--> sno_expire_partitions|count
--> public.events_20260101|16
SELECT made($$'events', '1 month', '2026-01-15Z', '2026-01-16Z'$$);
--> made
--> 42P07: relation "events_20260101" already exists / It is not the partition of "events" from 2026-01-01 00:00:00+00 to 2026-02-01 00:00:00+00. / It may have been detached: attach it again, or rename it.
SELECT sno_expire_partitions('events', '2026-03-01 00:00Z', drop_expired => true);
--> sno_expire_partitions
--> public.events_20260201
SELECT to_regclass('events_20260201'), count(*), (SELECT count(*) FROM sno_expire_partitions('events', '2026-03-01 00:00Z', true)) AS again FROM events;
--> to_regclass|count|again
--> |26|0

-- Upkeep in one call, for any scheduler. All is done, however few of its rows are taken.
CREATE TABLE log (id sno DEFAULT sno_new(1)) PARTITION BY RANGE (id);
SELECT action, count(*), bool_and(partition ~ '^public.log_\d{8}$') FROM sno_maintain_partitions('log', '1 day') GROUP BY 1;
--> action|count|bool_and
--> created|4|t
INSERT INTO log DEFAULT VALUES;
SELECT count(*) FROM (SELECT sno_create_partitions('log', '1 day', now() - interval '5 days', now()) LIMIT 1) s;
--> count
--> 1
SELECT action, count(*) FROM sno_maintain_partitions('log', '1 day', ahead => 4, retention => '3 days') GROUP BY 1 ORDER BY 1;
--> action|count
--> created|1
--> detached|2
SELECT count(*) FROM sno_create_partitions('log', '1 week', now() - interval '20 weeks', now() - interval '10 weeks');
--> count
--> 11
SELECT count(*) FROM (SELECT sno_maintain_partitions('log', '1 day', ahead => 4, retention => '3 days', drop_expired => true) LIMIT 1) s;
--> count
--> 1
SELECT count(*), (SELECT count(*) FROM sno_maintain_partitions('log', '1 day', ahead => 0)) AS "ahead is enough",
    (SELECT count(*) FROM pg_class WHERE relname ~ '^log_' AND NOT relispartition) AS detached FROM sno_partitions('log');
--> count|ahead is enough|detached
--> 8|0|2

-- Other schemas, odd names, other search paths: the setting is the caller's again.
CREATE SCHEMA "My Schema";
CREATE TABLE "My Schema"."My ""Log" (id sno) PARTITION BY RANGE (id);
SELECT sno_create_partitions('"My Schema"."My ""Log"', '1 day', '2026-01-01 00:00Z', '2026-01-02 00:00Z');
--> sno_create_partitions
--> "My Schema"."My ""Log_20260101"
SET search_path = "My Schema";
SELECT public.sno_create_partitions('"My ""Log"', '1 day', '2026-01-02 00:00Z', '2026-01-03 00:00Z'), (SELECT count(*) FROM public.sno_partitions('"My ""Log"'));
--> sno_create_partitions|count
--> "My ""Log_20260102"|1
SELECT public.sno_expire_partitions('"My ""Log"', '2026-01-02 00:00Z', true), current_setting('search_path');
--> sno_expire_partitions|current_setting
--> "My Schema"."My ""Log_20260101"|"My Schema"
RESET search_path;

-- Whoever calls, the partitions belong to the owner of the table.
CREATE ROLE regress_sno_owner;
CREATE ROLE regress_sno_other;
GRANT CREATE ON SCHEMA public TO regress_sno_owner;
CREATE TABLE owned (id sno) PARTITION BY RANGE (id);
ALTER TABLE owned OWNER TO regress_sno_owner;
SELECT made($$'owned', '1 day', '2026-01-01Z', '2026-01-02Z'$$);
--> made
--> owned_20260101
SET ROLE regress_sno_owner;
SELECT made($$'owned', '1 day', '2026-01-02Z', '2026-01-03Z'$$);
--> made
--> owned_20260102
SET ROLE regress_sno_other;
SELECT made($$'owned', '1 day', '2026-01-03Z', '2026-01-04Z'$$), answer($$SELECT sno_expire_partitions('owned', '2026-01-03Z', true)$$);
--> made|answer
--> 42501: must be owner of table owned|42501: must be owner of table owned
RESET ROLE;
SELECT count(*), min(relowner::regrole::text), max(relowner::regrole::text) FROM pg_class WHERE relname LIKE 'owned%';
--> count|min|max
--> 3|regress_sno_owner|regress_sno_owner

-- What the table says of storage is that of its partitions.
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_sno_space LOCATION '';
CREATE TABLE stored (id sno, line text COMPRESSION pglz) PARTITION BY RANGE (id) TABLESPACE regress_sno_space;
ALTER TABLE stored ALTER line SET STORAGE EXTERNAL;
SELECT made($$'stored', '1 day', '2026-01-01Z', '2026-01-02Z'$$);
--> made
--> stored_20260101
SELECT relname, spcname, attstorage, attcompression
FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace JOIN pg_attribute a ON a.attrelid = c.oid AND attname = 'line'
WHERE relname LIKE 'stored%' ORDER BY 1;
--> relname|spcname|attstorage|attcompression
--> stored|regress_sno_space|e|p
--> stored_20260101|regress_sno_space|e|p
DROP TABLE stored;
DROP TABLESPACE regress_sno_space;

-- Bounds in the middle of a tick: what they leave of it gets a partition, too.
CREATE TABLE middle (id sno) PARTITION BY RANGE (id);
CREATE TABLE middle_20261001 PARTITION OF middle
    FOR VALUES FROM (sno_make('2026-10-01 00:00Z', 1, 0, 0)) TO (sno_make('2026-10-02 00:00Z', 7, 0, 0));
SELECT made($$'middle', '1 day', '2026-09-30Z', '2026-10-04Z'$$), made($$'middle', '1 day', '2026-09-30Z', '2026-10-04Z'$$) AS again;
--> made|again
--> middle_20260930 middle_9o5embi222222222 middle_20261002 middle_20261003|
INSERT INTO middle SELECT sno_make(at, metabyte, 0, 0) FROM (VALUES ('2026-10-01 00:00Z'::timestamptz), ('2026-10-02 00:00Z')) t(at), generate_series(0, 7, 7) metabyte;
SELECT p.*, string_agg(concat(sno_time(id), ' ', sno_metabyte(id)), ', ' ORDER BY id) AS rows
FROM sno_partitions('middle') p LEFT JOIN middle m ON m.tableoid = p.partition::regclass GROUP BY 1, 2, 3 ORDER BY 2, 3;
--> partition|since|until|rows
--> middle_20260930|2026-09-30 00:00:00+00|2026-10-01 00:00:00+00| 
--> middle_9o5embi222222222|2026-10-01 00:00:00+00|2026-10-01 00:00:00.004+00|2026-10-01 00:00:00+00 0
--> middle_20261001|2026-10-01 00:00:00+00|2026-10-02 00:00:00.004+00|2026-10-01 00:00:00+00 7, 2026-10-02 00:00:00+00 0
--> middle_20261002|2026-10-02 00:00:00+00|2026-10-03 00:00:00+00|2026-10-02 00:00:00+00 7
--> middle_20261003|2026-10-03 00:00:00+00|2026-10-04 00:00:00+00| 
DROP TABLE middle;

-- Bounds made by hand, and a default partition, whose rows stand in the way.
CREATE TABLE hand (id sno) PARTITION BY RANGE (id);
CREATE TABLE hand_old PARTITION OF hand FOR VALUES FROM (MINVALUE) TO (sno_lower('2026-01-01 00:00Z'));
CREATE TABLE hand_middle PARTITION OF hand FOR VALUES FROM ('9dahau222222222a') TO ('9dahau22222222aa');
CREATE TABLE hand_new PARTITION OF hand FOR VALUES FROM (sno_lower('2027-01-01 00:00Z')) TO (MAXVALUE);
CREATE TABLE hand_rest PARTITION OF hand DEFAULT;
SELECT * FROM sno_partitions('hand');
--> partition|since|until
--> hand_old|-infinity|2026-01-01 00:00:00+00
--> hand_middle|2026-01-04 12:59:27.104+00|2026-01-04 12:59:27.108+00
--> hand_new|2027-01-01 00:00:00+00|infinity
INSERT INTO hand VALUES (sno_lower('2026-05-01 00:00Z'));
SELECT made($$'hand', '1 year', '2025-01-01Z', '2028-01-01Z'$$);
--> made
--> 23514: updated partition constraint for default partition "hand_rest" would be violated by some row / The default partition of "hand" has rows from 2026-01-04 12:59:27.104+00 to 2027-01-01 00:00:00+00. / In one transaction: detach it, repeat the call, move its rows into the table, and attach it again.
DELETE FROM hand;
SELECT made($$'hand', '1 year', '2025-01-01Z', '2028-01-01Z'$$);
--> made
--> hand_20260101 hand_20260104_125927104
DROP TABLE hand_middle;
SELECT made($$'hand', '1 year', '2025-01-01Z', '2028-01-01Z'$$), sno_expire_partitions('hand', '2026-01-01 00:00Z');
--> made|sno_expire_partitions
--> hand_9dahau222222222a|public.hand_old

-- Partitions that are on another server.
CREATE FOREIGN DATA WRAPPER regress_sno_wrapper;
CREATE SERVER regress_sno_server FOREIGN DATA WRAPPER regress_sno_wrapper;
CREATE TABLE far (id sno) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE far_2025 PARTITION OF far
    FOR VALUES FROM (sno_lower('2025-01-01 00:00Z')) TO (sno_lower('2026-01-01 00:00Z')) SERVER regress_sno_server;
SELECT made($$'far', '1 year', '2024-01-01Z', '2027-01-01Z'$$);
--> made
--> far_20240101 far_20260101
SELECT sno_expire_partitions('far', '2026-01-01 00:00Z', drop_expired => true);
--> sno_expire_partitions
--> public.far_20240101
--> public.far_2025
DROP TABLE far;
DROP FOREIGN DATA WRAPPER regress_sno_wrapper CASCADE;
--> NOTICE:  drop cascades to server regress_sno_server

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
--> WARNING:  partition "public.events_20260301" is kept for now
--> DETAIL:  view public.april depends on table public.events_20260301
--> HINT:  The next call expires it, once nothing is in the way.
--> call|answer
--> create_partitions('plain', '1 day', now(), now() + '1 day')|42809: table "plain" is not partitioned by range of a single column of type sno / Create it with PARTITION BY RANGE (id).
--> create_partitions('by_time', '1 day', now(), now() + '1 day')|42809: table "by_time" is not partitioned by range of a single column of type sno / Create it with PARTITION BY RANGE (id).
--> create_partitions('by_two', '1 day', now(), now() + '1 day')|42809: table "by_two" is not partitioned by range of a single column of type sno / Create it with PARTITION BY RANGE (id).
--> create_partitions('by_hash', '1 day', now(), now() + '1 day')|42809: table "by_hash" is not partitioned by range of a single column of type sno / Create it with PARTITION BY RANGE (id).
--> create_partitions('by_expression', '1 day', now(), now() + '1 day')|42809: table "by_expression" is not partitioned by range of a single column of type sno / Create it with PARTITION BY RANGE (id).
--> create_partitions(NULL, '1 day', now(), now() + '1 day')|22004: table must not be null
--> create_partitions(0, '1 day', now(), now() + '1 day')|42P01: relation with OID 0 does not exist
--> create_partitions('log', NULL, now(), now() + '1 day')|22004: width and times of partitions must not be null
--> create_partitions('log', '1 month 1 day', now(), now() + '1 day')|22023: invalid width of partitions: "1 mon 1 day" / A width is a number of months, or of days, hours, minutes and seconds, of 1 second to 100 years.
--> create_partitions('log', '1 day', '2026-01-02Z', '2026-01-01Z')|22023: partitions must start before they end: "2026-01-02 00:00:00+00" to "2026-01-01 00:00:00+00"
--> create_partitions('log', '1 day', '2009-12-31Z', '2010-01-02Z')|22008: timestamp out of range for type sno: "2009-12-31 00:00:00+00" / A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.
--> create_partitions('log', '1 month', '2079-01-01Z', 'infinity')|22008: timestamp out of range for type sno: "infinity" / A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.
--> create_partitions('log', '1 month', '-infinity', '2079-01-01Z')|22008: timestamp out of range for type sno: "-infinity" / A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.
--> create_partitions('log', '1 second', '2026-01-01Z', '2027-01-01Z')|22023: more than 1000 partitions from "2026-01-01 00:00:00+00" to "2027-01-01 00:00:00+00" / Use a larger width, or a shorter range of time.
--> create_partitions('a_table_with_a_name_of_fifty_characters_or_even_more', '1 day', now(), now() + '1 day')|42622: name of table "a_table_with_a_name_of_fifty_characters_or_even_more" is too long for the names of its partitions / Each name is the name of the table and a time.
--> expire_partitions('plain', '2026-01-01Z')|42809: table "plain" is not partitioned by range of a single column of type sno / Create it with PARTITION BY RANGE (id).
--> expire_partitions('log', NULL)|22004: time and kind of expiry must not be null
--> expire_partitions('log', '2026-01-01Z', NULL)|22004: time and kind of expiry must not be null
--> expire_partitions('log', 'infinity', true)|22023: cannot expire partitions before "infinity" / The time is in the future.
--> expire_partitions('events', '2026-05-01Z', true)|public.events_20260401
--> maintain_partitions('log', '1 day', -1)|22023: invalid number of partitions ahead: -1
--> maintain_partitions('log', '1 day', NULL)|22023: invalid number of partitions ahead: null
--> maintain_partitions('log', '1 day', retention => '0')|22023: retention must be greater than zero: "00:00:00"
--> maintain_partitions('log', '1 day', drop_expired => true)|22023: cannot expire partitions without a retention / Give a retention, or leave out drop_expired and read_by_all.
--> maintain_partitions('log', '1 day', retention => '1 day', drop_expired => NULL)|22004: time and kind of expiry must not be null
-- Nor in a transaction that sees only what was there before: it would remove partitions that are in use again.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT answer('SELECT sno_' || call) FROM unnest(ARRAY[$$create_partitions('log', '1 day', '2026-01-01Z', '2026-01-03Z')$$,
    $$expire_partitions('log', '2026-01-02Z')$$, $$maintain_partitions('log', '1 day')$$]) call;
--> answer
--> 25000: cannot change partitions in a transaction with isolation level REPEATABLE READ / Such a transaction would not see partitions that others have created or removed since it began. / Use READ COMMITTED.
--> 25000: cannot change partitions in a transaction with isolation level REPEATABLE READ / Such a transaction would not see partitions that others have created or removed since it began. / Use READ COMMITTED.
--> 25000: cannot change partitions in a transaction with isolation level REPEATABLE READ / Such a transaction would not see partitions that others have created or removed since it began. / Use READ COMMITTED.
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT answer($$SELECT sno_maintain_partitions('log', '1 day')$$);
--> answer
--> 25000: cannot change partitions in a transaction with isolation level SERIALIZABLE / Such a transaction would not see partitions that others have created or removed since it began. / Use READ COMMITTED.
ROLLBACK;
-- Partitions ahead that would end after the last time.
CREATE TABLE log_long (id sno) PARTITION BY RANGE (id);
SELECT count(*) > 0 AS created, (SELECT count(*) FROM sno_partitions('events')) AS "are left" FROM sno_maintain_partitions('log_long', '30 years');
--> created|are left
--> t|4
DROP TABLE log_long;

-- Widths, the last moments that an ID can hold, a range without time, and names at their limits, which count in bytes.
CREATE TABLE last (id sno PRIMARY KEY) PARTITION BY RANGE (id);
SELECT made($$'last', '100 years', '2026-01-01Z', '2079-01-03Z'$$);
--> made
--> last_20100101
DROP TABLE last_20100101;
SELECT made($$'last', '1 day', '2079-09-06Z', '2079-09-07 15:47:35.548Z'$$), made($$'last', '1 day', '2079-09-06Z', '2079-09-07 15:47:35.548Z'$$) AS again;
--> made|again
--> last_20790906 last_20790907|
SELECT width, made(format($$'last', '%s', '2026-01-01Z', '2026-01-03Z'$$, width))
FROM unnest('{101 years,178956970 years,100000000 days,-1 day,0}'::text[]) width;
--> width|made
--> 101 years|22023: invalid width of partitions: "101 years" / A width is a number of months, or of days, hours, minutes and seconds, of 1 second to 100 years.
--> 178956970 years|22023: invalid width of partitions: "178956970 years" / A width is a number of months, or of days, hours, minutes and seconds, of 1 second to 100 years.
--> 100000000 days|22023: invalid width of partitions: "100000000 days" / A width is a number of months, or of days, hours, minutes and seconds, of 1 second to 100 years.
--> -1 day|22023: invalid width of partitions: "-1 days" / A width is a number of months, or of days, hours, minutes and seconds, of 1 second to 100 years.
--> 0|22023: invalid width of partitions: "00:00:00" / A width is a number of months, or of days, hours, minutes and seconds, of 1 second to 100 years.
-- Before 17, these are no intervals.
SELECT count(*) FROM unnest('{infinity,-infinity}'::text[]) width WHERE made(format($$'last', '%s', '2026-01-01Z', '2026-01-03Z'$$, width)) !~ '^(22023|22007)';
--> count
--> 0
SELECT made($$'last', '1 day', '2026-01-01 12:00Z', '2026-01-01 12:00Z'$$);
--> made
--> 22023: partitions must start before they end: "2026-01-01 12:00:00+00" to "2026-01-01 12:00:00+00"
CREATE TABLE äääääääääääääääääääääb (id sno) PARTITION BY RANGE (id);
CREATE TABLE ääääääääääääääääääääää (id sno) PARTITION BY RANGE (id);
SELECT made($$'äääääääääääääääääääääb', '1 day', '2026-01-01 12:00Z', '2026-01-02 12:00Z'$$), made($$'ääääääääääääääääääääää', '1 day', '2026-01-01 12:00Z', '2026-01-02 12:00Z'$$);
--> made|made
--> "äääääääääääääääääääääb_20260101" "äääääääääääääääääääääb_20260102"|42622: name of table "ääääääääääääääääääääää" is too long for the names of its partitions / Each name is the name of the table and a time.
DROP TABLE last, äääääääääääääääääääääb, ääääääääääääääääääääää;

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
--> relname|relreplident|index
--> sent_20260101|d|
--> sent_20260102|f|
--> sent_20260103|i|
--> sent_20260104|n|
--> sent_20260105|d|

DROP VIEW april;
DROP TABLE events, events_20260101, log, owned, hand, hand_old, sent, plain, by_time, by_two, by_hash, by_expression, a_table_with_a_name_of_fifty_characters_or_even_more;
DROP TABLE "My Schema"."My ""Log";
DROP SCHEMA "My Schema";
DO $$ DECLARE t text; BEGIN FOR t IN SELECT oid::regclass FROM pg_class WHERE relname ~ '^log_\d' LOOP EXECUTE 'DROP TABLE ' || t; END LOOP; END $$;
DROP FUNCTION made;
REVOKE CREATE ON SCHEMA public FROM regress_sno_owner;
DROP ROLE regress_sno_owner, regress_sno_other;
