-- sno_new, and what the generators show.

CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), note text);
INSERT INTO events (note) SELECT 'note ' || n FROM generate_series(1, 100000) n;
SELECT count(*), count(DISTINCT id) FROM events;
SELECT DISTINCT sno_metabyte(id) AS metabyte, sno_tick_tock(id) AS tick_tock,
       sno_partition(id) = pg_backend_pid() % 255 AS own_partition
FROM events;

-- Each is larger than the one before it, and its time is the clock's, to the tick.
SELECT count(*), bool_and(id > before) AS ascending
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before
      FROM (SELECT n, sno_new(2) AS id FROM generate_series(1, 100000) n) ids) pairs
WHERE before IS NOT NULL;
SELECT count(*) AS outside
FROM (SELECT clock_timestamp() AS earlier, sno_new() AS id, clock_timestamp() AS later
      FROM generate_series(1, 10000)) calls
WHERE sno_time(id) NOT BETWEEN earlier - interval '4 ms' AND later;

SELECT sno_metabyte(sno_new()) AS without, sno_metabyte(sno_new(0)) AS lowest, sno_metabyte(sno_new(255)) AS highest;

-- An ID of a given time: in the partition of all ones under the prefix, numbered on and on.
SET timezone = 'UTC';
SELECT (sno_inspect(id)).time, (sno_inspect(id)).tick_tock, (sno_inspect(id)).metabyte, (sno_inspect(id)).partition
FROM (VALUES (sno_new(7, '2010-01-01 00:00Z')), (sno_new(7, '2020-02-29 12:00:00.0055Z')),
             (sno_new(7, '2079-09-07 15:47:35.551999Z'))) v(id);
SELECT count(DISTINCT id), max(sno_sequence(id)) - min(sno_sequence(id)) AS span
FROM (SELECT sno_new(7, '2020-01-01') AS id FROM generate_series(1, 65536)) ids;

-- The session's own generator, and its row of the view.
SET intervalstyle = 'postgres';
SELECT generator = pg_backend_pid() % 255 AS generator, partition = generator AS partition, prefix, prefix_bits,
       prefix_auto, sequence_lower, sequence_upper, max_clock_wait
FROM sno_generator();
SELECT partition = generator AS partition, tick_tock, drifts,
       last_time > now() - interval '1 minute' AS last_time, safe_time <= last_time AS safe_time,
       sequence >= 0 AS sequence, overflows >= 0 AS overflows, waited >= interval '0' AS waited
FROM sno_generators JOIN sno_generator() USING (generator, partition);

-- In a subtransaction that aborts, in a prepared statement, in COPY with the default.
DO $$
DECLARE
    a sno;
    b sno;
BEGIN
    BEGIN
        a := sno_new(1);
        RAISE EXCEPTION 'undo';
    EXCEPTION WHEN OTHERS THEN
        b := sno_new(1);
    END;
    ASSERT a < b;
END $$;
PREPARE next AS SELECT sno_new($1) > (SELECT max(id) FROM events) AS later;
EXECUTE next(1);
EXECUTE next(2);
COPY events (note) FROM stdin;
one
two
\.
SELECT count(*), count(DISTINCT id) FROM events WHERE note IN ('one', 'two');

DROP TABLE events;
