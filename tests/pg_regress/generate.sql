-- sno_new, and what the generators show. Many sessions, orders and times: tests/server/uniqueness.rs.
SET timezone = 'UTC';
SET intervalstyle = 'postgres';
CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), note text);
INSERT INTO events (note) SELECT n FROM generate_series(1, 100000) n;
SELECT count(DISTINCT id), min(sno_metabyte(id)) AS metabyte, bool_or(sno_tick_tock(id)) AS tick_tock,
       bool_and(sno_partition(id) = pg_backend_pid() % 255) AS own_partition FROM events;
--> count|metabyte|tick_tock|own_partition
--> 100000|1|f|t
SELECT sno_metabyte(sno_new()) AS without, sno_metabyte(sno_new(0)) AS lowest, sno_metabyte(sno_new(255)) AS highest;
--> without|lowest|highest
--> 0|0|255

-- An ID of a given time: in the partition of all ones under the prefix, numbered on and on.
SELECT (sno_inspect(id)).time, (sno_inspect(id)).tick_tock, (sno_inspect(id)).metabyte, (sno_inspect(id)).partition
FROM (VALUES (sno_new(7, '2010-01-01 00:00Z')), (sno_new(7, '2020-02-29 12:00:00.0055Z')),
             (sno_new(7, '2079-09-07 15:47:35.551999Z'))) v(id);
--> time|tick_tock|metabyte|partition
--> 2010-01-01 00:00:00+00|f|7|255
--> 2020-02-29 12:00:00.004+00|f|7|255
--> 2079-09-07 15:47:35.548+00|f|7|255
SELECT count(DISTINCT id), max(sno_sequence(id)) - min(sno_sequence(id)) AS span
FROM (SELECT sno_new(7, '2020-01-01') AS id FROM generate_series(1, 65536)) ids;
--> count|span
--> 65536|65535

-- The session's own generator, and its row of the view.
SELECT generator = pg_backend_pid() % 255 AS generator, partition = generator AS partition, prefix, prefix_bits,
       prefix_auto, sequence_lower, sequence_upper, max_clock_wait
FROM sno_generator();
--> generator|partition|prefix|prefix_bits|prefix_auto|sequence_lower|sequence_upper|max_clock_wait
--> t|t|0|8|f|0|65535|00:00:10
SELECT partition = generator AS partition, tick_tock, drifts,
       last_time > now() - interval '1 minute' AS last_time, safe_time <= last_time AS safe_time,
       sequence >= 0 AS sequence, overflows >= 0 AS overflows, waited >= interval '0' AS waited
FROM sno_generators() JOIN sno_generator() USING (generator, partition);
--> partition|tick_tock|drifts|last_time|safe_time|sequence|overflows|waited
--> t|f|0|t|t|t|t|t

-- In a prepared statement, and in COPY with the default.
PREPARE next AS SELECT sno_new($1) > (SELECT max(id) FROM events) AS later;
EXECUTE next(2);
--> later
--> t
COPY events (note) FROM PROGRAM 'printf "one\ntwo\n"';
SELECT count(DISTINCT id) FROM events WHERE note IN ('one', 'two');
--> count
--> 2
DROP TABLE events;
