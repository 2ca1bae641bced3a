-- Skip scans over sno: PostgreSQL 18 and later.

SELECT current_setting('server_version_num')::int < 180000 AS unsupported \gset
\if :unsupported
\quit
\endif

-- A condition on the second column alone: the scan jumps from one ID of the first to the next.
CREATE TABLE visits (event sno, visitor integer);
INSERT INTO visits
    SELECT sno_make('2026-11-21 09:00Z', 1, 0, e), v FROM generate_series(1, 5) e, generate_series(1, 20000) v;
CREATE INDEX ON visits (event, visitor);
VACUUM ANALYZE visits;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT * FROM visits WHERE visitor = 777;
--> QUERY PLAN
--> Index Only Scan using visits_event_visitor_idx on visits (actual rows=5.00 loops=1)
-->   Index Cond: (visitor = 777)
-->   Heap Fetches: 0
-->   Index Searches: 7
SELECT count(*) FROM visits WHERE visitor = 777;
--> count
--> 5
SELECT count(*) FROM visits WHERE visitor = 777
    AND event BETWEEN sno_make('2026-11-21 09:00Z', 1, 0, 2) AND sno_make('2026-11-21 09:00Z', 1, 0, 4);
--> count
--> 3

-- The neighbours of an ID, from end to end.
INSERT INTO visits VALUES ('2222222222222222', 777), ('xxxxxxxxxxxxxxxx', 777), (NULL, 777);
SET enable_seqscan = off;
SELECT event FROM visits WHERE visitor = 777 ORDER BY event;
--> event
--> 2222222222222222
--> 9q7j92c226222223
--> 9q7j92c226222224
--> 9q7j92c226222225
--> 9q7j92c226222226
--> 9q7j92c226222227
--> xxxxxxxxxxxxxxxx
-->
SELECT event FROM visits WHERE visitor = 777 AND event > '2222222222222222' AND event < 'xxxxxxxxxxxxxxxx' ORDER BY event DESC;
--> event
--> 9q7j92c226222227
--> 9q7j92c226222226
--> 9q7j92c226222225
--> 9q7j92c226222224
--> 9q7j92c226222223
RESET ALL;
DROP TABLE visits;
