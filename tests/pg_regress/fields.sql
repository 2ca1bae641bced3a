-- The parts of an ID, IDs from their parts, and bounds.
SET timezone = 'UTC';

SELECT sno_time(id), sno_tick_tock(id), sno_metabyte(id), sno_partition(id), sno_sequence(id)
FROM (VALUES ('9q7k4op826n2g222'::sno), ('2222222222222222'), ('xxxxxxxxxxxxxxxx')) v(id);
--> sno_time|sno_tick_tock|sno_metabyte|sno_partition|sno_sequence
--> 2026-11-21 09:30:15.372+00|f|1|10759|0
--> 2010-01-01 00:00:00+00|f|0|0|0
--> 2079-09-07 15:47:35.548+00|t|255|65535|65535
SELECT * FROM sno_inspect('9q7k4op826n2g222');
--> time|tick_tock|metabyte|partition|sequence
--> 2026-11-21 09:30:15.372+00|f|1|10759|0

-- From its parts; a time within a tick is taken to the tick's start.
SELECT sno_make('2026-11-21 09:30:15.372Z', 1, 42 * 256 + 7, 0), sno_make('2026-11-21 09:30:15.375999Z', 1, 42 * 256 + 7, 0, false),
    sno_make(at => '2026-11-21 09:30:15.372Z', metabyte => 1, partition => 0, sequence => 65535, tick_tock => true),
    sno_make('2010-01-01 00:00Z', 0, 0, 0), sno_make('2079-09-07 15:47:35.551999Z', 255, 65535, 65535, true);
--> sno_make|sno_make|sno_make|sno_make|sno_make
--> 9q7k4op826n2g222|9q7k4op826n2g222|9q7k4op926223xxx|2222222222222222|xxxxxxxxxxxxxxxx

-- sno_make and sno_inspect are inverses: over random IDs, and over random parts.
SELECT count(*)
FROM (SELECT decode(substr(md5(n::text) || md5((-n)::text), 1, 20), 'hex')::sno AS id
      FROM generate_series(1, 20000) n) ids,
     sno_inspect(id) f
WHERE sno_make(f.time, f.metabyte, f.partition, f.sequence, f.tick_tock) <> id;
--> count
--> 0

SELECT setseed(0.5) \g /dev/null
SELECT count(*)
FROM (SELECT '2010-01-01 00:00Z'::timestamptz + floor(random() * ((1::bigint << 39) - 1)) * interval '4 ms' AS time,
             random() < 0.5 AS tick_tock, floor(random() * 256)::int AS metabyte,
             floor(random() * 65536)::int AS partition, floor(random() * 65536)::int AS sequence
      FROM generate_series(1, 20000)) p,
     sno_inspect(sno_make(time, metabyte, partition, sequence, tick_tock)) f
WHERE (f.time, f.tick_tock, f.metabyte, f.partition, f.sequence)
      IS DISTINCT FROM (p.time, p.tick_tock, p.metabyte, p.partition, p.sequence);
--> count
--> 0

-- Another metabyte, the same ID otherwise.
SELECT sno_with_metabyte('9q7k4op826n2g222', 255), sno_metabyte(sno_with_metabyte('9q7k4op826n2g222', 255));
--> sno_with_metabyte|sno_metabyte
--> 9q7k4op8xun2g222|255

-- Bounds: the smallest ID not before, the largest not after.
SELECT time, sno_lower(time), sno_upper(time)
FROM unnest('{2026-11-21 09:30:15.372Z,2026-11-21 09:30:15.372001Z,2026-11-21 09:30:15.375999Z,2026-11-21 09:30:15.376Z}'::timestamptz[]) time;
--> time|sno_lower|sno_upper
--> 2026-11-21 09:30:15.372+00|9q7k4op822222222|9q7k4op9xxxxxxxx
--> 2026-11-21 09:30:15.372001+00|9q7k4opa22222222|9q7k4op9xxxxxxxx
--> 2026-11-21 09:30:15.375999+00|9q7k4opa22222222|9q7k4op9xxxxxxxx
--> 2026-11-21 09:30:15.376+00|9q7k4opa22222222|9q7k4opbxxxxxxxx

-- They saturate.
SELECT time, sno_lower(time), sno_upper(time)
FROM (VALUES ('-infinity'::timestamptz), ('4713-01-01 00:00Z BC'), ('2009-12-31 23:59:59.999999Z'), ('2010-01-01 00:00Z'),
             ('2079-09-07 15:47:35.548Z'), ('2079-09-07 15:47:35.548001Z'), ('2079-09-07 15:47:35.552Z'),
             ('294276-12-31 23:59:59.999999Z'), ('infinity')) v(time);
--> time|sno_lower|sno_upper
--> -infinity|2222222222222222|2222222222222222
--> 4713-01-01 00:00:00+00 BC|2222222222222222|2222222222222222
--> 2009-12-31 23:59:59.999999+00|2222222222222222|2222222222222222
--> 2010-01-01 00:00:00+00|2222222222222222|22222223xxxxxxxx
--> 2079-09-07 15:47:35.548+00|xxxxxxxw22222222|xxxxxxxxxxxxxxxx
--> 2079-09-07 15:47:35.548001+00|xxxxxxxxxxxxxxxx|xxxxxxxxxxxxxxxx
--> 2079-09-07 15:47:35.552+00|xxxxxxxxxxxxxxxx|xxxxxxxxxxxxxxxx
--> 294276-12-31 23:59:59.999999+00|xxxxxxxxxxxxxxxx|xxxxxxxxxxxxxxxx
--> infinity|xxxxxxxxxxxxxxxx|xxxxxxxxxxxxxxxx

-- They are exact: in a range exactly if the time is.
WITH ids AS MATERIALIZED (
    SELECT decode(substr(md5(n::text) || md5((-n)::text), 1, 20), 'hex')::sno AS id
    FROM generate_series(1, 300) n
), times AS MATERIALIZED (
    SELECT sno_time(id) + d * interval '1 us' AS t FROM ids, unnest(ARRAY[0, 1, -1, 3999, 4000]) d
)
SELECT count(*)
FROM ids, times
WHERE (id >= sno_lower(t)) <> (sno_time(id) >= t) OR (id <= sno_upper(t)) <> (sno_time(id) <= t);
--> count
--> 0

-- Strict.
SELECT sno_time(NULL), sno_make('2026-01-01', 1, NULL, 1), sno_lower(NULL), sno_new(NULL), sno_new(1, NULL);
--> sno_time|sno_make|sno_lower|sno_new|sno_new
--> ||||
SELECT * FROM sno_inspect(NULL);
--> time|tick_tock|metabyte|partition|sequence
--> ||||
