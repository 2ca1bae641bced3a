-- The parts of the IDs of sno_compat, bounds, and the way into sno.

-- Snowflake-SI: the values of the original, by a base clock and bits of a site.
SELECT id, (snowflake_si_inspect(id, '2020-01-01Z', 4)).*, snowflake_si_machine(id, 4), snowflake_si_index(id, 4)
FROM unnest('{10113579063,1011358021633,8198144}'::bigint[]) id;
SELECT (snowflake_si_inspect(9007199254740991, '2020-01-01Z', 5)).*;
SELECT count(*), bool_and(snowflake_si_make(i.time, i.machine, i.index, '2020-01-01Z', bits) = id)
FROM unnest('{0,1,8198144,9007199254740991}'::bigint[]) id, unnest('{0,5,12}'::integer[]) bits, snowflake_si_inspect(id, '2020-01-01Z', bits) i;
SELECT snowflake_si_time(8198144, '2020-01-01Z'), snowflake_si_lower('2020-01-01 00:00:01Z', '2020-01-01Z'),
       snowflake_si_upper('2020-01-01 00:00:01Z', '2020-01-01Z'), snowflake_si_lower('-infinity', '2020-01-01Z'), snowflake_si_upper('infinity', '2020-01-01Z');
-- An index takes a base clock as an argument, not from the settings.
CREATE TABLE numbers (id bigint);
CREATE INDEX ON numbers (snowflake_si_time(id, base_clock => '2020-01-01Z'));
-- The message alone: PostgreSQL 19 adds the place.
DO $$ BEGIN
    CREATE INDEX ON numbers (snowflake_si_time(id));
EXCEPTION WHEN invalid_object_definition THEN RAISE NOTICE '%', SQLERRM;
END $$;
DROP TABLE numbers;
-- Without a base clock there is nothing to go by.
SELECT command, answer('SELECT ' || command)
FROM unnest(ARRAY[
    'sno_internal.snowflake_si_base_clock()', 'sno_internal.snowflake_si_machine_bits()', 'snowflake_si_new()', 'snowflake_si_time(1)',
    $q$snowflake_si_time(-1, '2020-01-01Z')$q$, $q$snowflake_si_time(9007199254740992, '2020-01-01Z')$q$,
    $q$snowflake_si_time(1, '2003-03-18 07:20:19.224Z')$q$, $q$snowflake_si_time(1, '2020-01-01 00:00:00.0001Z')$q$,
    $q$snowflake_si_time(1, 'infinity')$q$, 'snowflake_si_machine(1, 13)', 'snowflake_si_index(1, -1)',
    $q$snowflake_si_make('2019-12-31Z', 0, 0, '2020-01-01Z', 5)$q$,
    $q$snowflake_si_make('2021-12-31Z', 32, 0, '2020-01-01Z', 5)$q$,
    $q$snowflake_si_make('2021-12-31Z', 31, 256, '2020-01-01Z', 5)$q$,
    $q$snowflake_si_to_sno(9007199254740991, 7, '2050-01-01Z')$q$, $q$snowflake_si_to_sno(1, 256, '2050-01-01Z')$q$,
    $q$uid60_make('2018-02-28 23:59:59Z', 0, 0, 0)$q$, $q$uid60_make('2154-04-07 06:28:16Z', 0, 0, 0)$q$,
    $q$uid60_make('2020-01-01Z', 512, 0, 0)$q$, $q$uid60_make('2020-01-01Z', 0, 1024, 0)$q$,
    $q$uid60_make('2020-01-01Z', 0, 0, -1)$q$, $q$uid60_to_sno('__________', 1)$q$, $q$uid60_to_sno('gAAAAAAAAA', -1)$q$,
    $q$uniqueid_make('1969-12-31Z', 0, 0, 0, 'spread')$q$, $q$uniqueid_make('2020-01-01Z', 64, 0, 0, 'spread')$q$,
    $q$uniqueid_make('2020-01-01Z', 0, 2048, 0, 'spread')$q$, $q$uniqueid_make('2020-01-01Z', 0, 0, 16, 'spread')$q$,
    $q$uniqueid_make('2020-01-01Z', 0, 0, 0, 'Spread')$q$, $q$uniqueid_to_sno('cb54ecf2840a0015', 1)$q$,
    $q$uniqueid_to_sno('ffffffffffffefff', 1)$q$,
    $q$gid_new('file')$q$, $q$gid_make('log', '1969-12-31Z', '\x800000000000000000')$q$,
    $q$gid_make('log', '2020-01-01Z', '\x80')$q$, $q$gid_make('log', '2020-01-01Z', '\x7f0000000000000000')$q$,
    $q$gid_lower('', now())$q$
]) command;

-- uid60
SELECT id, id::bigint, (uid60_inspect(id)).* FROM unnest('{gAAAAAAAAA,AZI9gACAQD,AXU9UAL___,__________}'::uid60[]) id;
SELECT bool_and((uid60_time(id), uid60_worker(id), uid60_sequence(id), uid60_random(id)) = (i.time, worker, sequence, random)
    AND uid60_make(i.time, worker, sequence, random) = id) AS same
FROM unnest('{gAAAAAAAAA,AZI9gACAQD,AXU9UAL___,__________}'::uid60[]) id, uid60_inspect(id) i;
-- All nine random bits are random.
SELECT bit_or(uid60_random(uid60_new())) FROM generate_series(1, 500);
SELECT (uid60_inspect(id)).* FROM unnest(ARRAY[uid60_lower('2020-01-01 00:00:00.5Z'), uid60_upper('2020-01-01 00:00:00.5Z')]) id;
SELECT uid60_lower('-infinity'), uid60_lower('infinity'), uid60_upper('-infinity'), uid60_upper('infinity');

-- uniqueid, of every form
SELECT id, (uniqueid_inspect(id)).* FROM unnest('{cb54ecf284000000,bfffffffc0000000,ffffffffffffefff,cb54ecf2840a0015,0853cdcab4ca1015,62f3f95a00003000}'::uniqueid[]) id;
SELECT bool_and((uniqueid_time(id), uniqueid_sequence(id), uniqueid_generator(id), uniqueid_cluster(id), uniqueid_form(id))
        = (i.time, sequence, generator, cluster, form) AND uniqueid_make(i.time, sequence, generator, cluster, form) = id) AS same
FROM unnest('{cb54ecf284000000,bfffffffc0000000,ffffffffffffefff,cb54ecf2840a0015,0853cdcab4ca1015,62f3f95a00003000}'::uniqueid[]) id, uniqueid_inspect(id) i;
SELECT uniqueid_lower('2023-11-14 22:13:20Z'), uniqueid_upper('2023-11-14 22:13:20Z'),
       uniqueid_lower('-infinity'), uniqueid_upper('infinity');

-- gid
SELECT id, (gid_inspect(id)).* FROM unnest('{5rLWQQkJdm-2dVseX433Zwhy,5rMH4TvfXM-4FzkJ37568tQv}'::gid[]) id;
SELECT bool_and((gid_prefix(id), gid_time(id), gid_tail(id)) = (prefix, i.time, tail) AND gid_make(prefix, i.time, tail) = id) AS same
FROM unnest('{5rLWQQkJdm-2dVseX433Zwhy,5rMH4TvfXM-4FzkJ37568tQv}'::gid[]) id, gid_inspect(id) i;
SELECT gid_lower('log', '2023-11-14 22:13:20Z')::bytea, gid_upper('segment', '2023-11-14 22:13:20Z')::bytea,
       gid_lower('volume', '-infinity')::bytea, gid_upper('volume', 'infinity')::bytea;
SELECT p, gid_prefix(gid_new(p)), gid_time(gid_new(p)) BETWEEN now() - interval '1 s' AND clock_timestamp(),
       substr(gid_new(p)::bytea, 8, 1) = substr(gid_new(p)::bytea, 1, 1) FROM unnest('{volume,log,segment}'::text[]) p;

-- Into sno: the time, and every other bit, under the caller's metabyte.
SELECT (sno_inspect(id)).* FROM unnest(ARRAY[snowflake_si_to_sno(10113579063, 200, '2020-01-01Z'), uid60_to_sno('AXU9UAL___', 201),
    uniqueid_to_sno('62f3f95a00003000', 202), uniqueid_to_sno(uniqueid_make('2023-11-14 22:13:20.003Z', 63, 2047, 15, 'spread'), 202)]) id;
-- In the order of the IDs.
SELECT count(*) FROM (
    SELECT uid60_to_sno(id, 1) AS sno, lag(uid60_to_sno(id, 1)) OVER (ORDER BY id) AS before
    FROM (SELECT uid60_make('2020-01-01Z'::timestamptz + n % 7 * interval '1 s', n % 512, n % 1024, n % 511) AS id
          FROM generate_series(1, 5000) n) ids) s
WHERE before >= sno;
