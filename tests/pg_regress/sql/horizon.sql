--
-- The horizon: below it no row is missing and none will come
--

CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
INSERT INTO items (n) SELECT generate_series(1, 3);
SELECT pg_sleep(1.1);

-- The present time less a margin of a second, or of what the argument says. It is the first ID of a tick, and never goes back.
SELECT clock_timestamp() - sno_time(sno_horizon()) BETWEEN '1 s' AND '2 s' AS a_second,
       clock_timestamp() - sno_time(sno_horizon('1 hour')) BETWEEN '0 s' AND '2 s' AS "does not go back";
SELECT sno_inspect(h) = sno_inspect(sno_lower(sno_time(h))) AS first_of_its_tick FROM sno_horizon() h;

-- A batch: two statements, in READ COMMITTED. The second has a snapshot of its own, so it sees all that is below.
SELECT pg_sleep(0.008);
SELECT sno_horizon('0') AS horizon \gset
SELECT n FROM items WHERE id > '2222222222222222' AND id < :'horizon' ORDER BY id;

-- Whoever has taken an ID holds it back until the transaction ends, and is shown.
BEGIN;
SELECT clock_timestamp() AS began \gset
INSERT INTO items (n) VALUES (4) RETURNING id \gset
SELECT pg_sleep(0.008);
SELECT sno_horizon('0') <= :'id' AS held;
SELECT pid = pg_backend_pid() AS own, gid, since BETWEEN date_bin('4 ms', :'began', '2010-01-01Z') AND sno_time(:'id') AS since_its_first_id FROM sno_horizon_holders;
ROLLBACK;
SELECT sno_horizon('0') > :'id' AS free;
SELECT * FROM sno_horizon_holders;

-- A key of the transaction and later ones are behind what it holds; keys of earlier transactions are not.
SELECT id FROM items WHERE n = 1 \gset
SELECT sno_holds_horizon(:'id') AS nothing_held;
BEGIN;
SELECT sno_holds_horizon(sno_new()) AS own, sno_holds_horizon(:'id') AS earlier,
       sno_holds_horizon(sno_new(0, now() - interval '1 hour')) AS past,
       sno_holds_horizon(sno_new(0, now() + interval '1 hour')) AS "to come", sno_holds_horizon(NULL) IS NULL AS null;
SELECT sno_holds_horizon(sno_upper(clock_timestamp())) AS until_the_end;
COMMIT;
SELECT sno_holds_horizon(sno_upper(clock_timestamp())) AS nothing_held;

-- Not where all statements have one snapshot, which is older than the horizon.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT sno_horizon();
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
SELECT sno_horizon();
ROLLBACK;

-- Margins
SELECT sno_horizon('-1 ms');
SELECT sno_horizon(NULL) IS NULL AS null;
SELECT sno_horizon('1000 years') >= :'horizon' AS "does not go back";

-- Everybody may ask, and see who holds it back.
CREATE ROLE somebody;
SET ROLE somebody;
SELECT sno_horizon() IS NOT NULL AS horizon, (SELECT count(*) FROM sno_horizon_holders) AS holders;
RESET ROLE;
DROP ROLE somebody;

DROP TABLE items;
