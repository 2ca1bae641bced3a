-- The parts of the IDs of sno_compat, bounds, and the way into sno.

-- Snowflake-SI: the values of the original, by a base clock and bits of a site.
SELECT id, (snowflake_si_inspect(id, '2020-01-01Z', 4)).*, snowflake_si_machine(id, 4), snowflake_si_index(id, 4)
FROM unnest('{10113579063,1011358021633,8198144}'::bigint[]) id;
--> id|time|machine|index|snowflake_si_machine|snowflake_si_index
--> 10113579063|2020-01-01 00:20:34.567+00|12|55|12|55
--> 1011358021633|2020-01-02 10:17:36.789+00|12|1|12|1
--> 8198144|2020-01-01 00:00:01+00|12|0|12|0
SELECT (snowflake_si_inspect(9007199254740991, '2020-01-01Z', 5)).*;
--> time|machine|index
--> 2054-11-03 19:53:47.775+00|31|255
SELECT count(*), bool_and(snowflake_si_make(i.time, i.machine, i.index, '2020-01-01Z', bits) = id)
FROM unnest('{0,1,8198144,9007199254740991}'::bigint[]) id, unnest('{0,5,12}'::integer[]) bits, snowflake_si_inspect(id, '2020-01-01Z', bits) i;
--> count|bool_and
--> 12|t
SELECT snowflake_si_time(8198144, '2020-01-01Z'), snowflake_si_lower('2020-01-01 00:00:01Z', '2020-01-01Z'),
       snowflake_si_upper('2020-01-01 00:00:01Z', '2020-01-01Z'), snowflake_si_lower('-infinity', '2020-01-01Z'), snowflake_si_upper('infinity', '2020-01-01Z');
--> snowflake_si_time|snowflake_si_lower|snowflake_si_upper|snowflake_si_lower|snowflake_si_upper
--> 2020-01-01 00:00:01+00|8192000|8200191|0|9007199254740991
-- An index takes a base clock as an argument, not from the settings.
CREATE TABLE numbers (id bigint);
CREATE INDEX ON numbers (snowflake_si_time(id, base_clock => '2020-01-01Z'));
-- The message alone: PostgreSQL 19 adds the place.
DO $$ BEGIN
    CREATE INDEX ON numbers (snowflake_si_time(id));
EXCEPTION WHEN invalid_object_definition THEN RAISE NOTICE '%', SQLERRM;
END $$;
--> NOTICE:  functions in index expression must be marked IMMUTABLE
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
--> command|answer
--> sno_internal.snowflake_si_base_clock()|22023: invalid value for parameter "sno_compat.snowflake_si_base_clock": "" / A site chooses its base clock before its first ID. / Correct it in the configuration of the server, and reload.
--> sno_internal.snowflake_si_machine_bits()|5
--> snowflake_si_new()|22023: invalid value for parameter "sno_compat.snowflake_si_base_clock": "" / A site chooses its base clock before its first ID. / Correct it in the configuration of the server, and reload.
--> snowflake_si_time(1)|22023: invalid value for parameter "sno_compat.snowflake_si_base_clock": "" / A site chooses its base clock before its first ID. / Correct it in the configuration of the server, and reload.
--> snowflake_si_time(-1, '2020-01-01Z')|22003: Snowflake-SI ID out of range: -1 / A Snowflake-SI ID is between 0 and 9007199254740991.
--> snowflake_si_time(9007199254740992, '2020-01-01Z')|22003: Snowflake-SI ID out of range: 9007199254740992 / A Snowflake-SI ID is between 0 and 9007199254740991.
--> snowflake_si_time(1, '2003-03-18 07:20:19.224Z')|22023: invalid base clock: "2003-03-18 07:20:19.224+00" / A base clock is after 2003-03-18T07:20:19.224Z.
--> snowflake_si_time(1, '2020-01-01 00:00:00.0001Z')|22023: invalid base clock: "2020-01-01 00:00:00.0001+00" / A base clock is exact to the millisecond, and no finer.
--> snowflake_si_time(1, 'infinity')|22023: invalid base clock: "infinity" / A base clock is after 2003-03-18T07:20:19.224Z.
--> snowflake_si_machine(1, 13)|22003: number of machine bits out of range: 13 / A number of machine bits is between 0 and 12.
--> snowflake_si_index(1, -1)|22003: number of machine bits out of range: -1 / A number of machine bits is between 0 and 12.
--> snowflake_si_make('2019-12-31Z', 0, 0, '2020-01-01Z', 5)|22008: timestamp out of range for type Snowflake-SI: "2019-12-31 00:00:00+00" / A Snowflake-SI ID holds times of 34 years and 10 months from its base clock on.
--> snowflake_si_make('2021-12-31Z', 32, 0, '2020-01-01Z', 5)|22003: machine out of range: 32 / A machine is between 0 and 31.
--> snowflake_si_make('2021-12-31Z', 31, 256, '2020-01-01Z', 5)|22003: index out of range: 256 / An index is between 0 and 255.
--> snowflake_si_to_sno(9007199254740991, 7, '2050-01-01Z')|22008: timestamp out of range for type sno: "2084-11-03 19:53:47.775+00" / A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.
--> snowflake_si_to_sno(1, 256, '2050-01-01Z')|22003: metabyte out of range: 256 / A metabyte is between 0 and 255.
--> uid60_make('2018-02-28 23:59:59Z', 0, 0, 0)|22008: timestamp out of range for type uid60: "2018-02-28 23:59:59+00" / A uid60 holds times from 2018-03-01 00:00:00 UTC to 2154-04-07 06:28:15.999999 UTC.
--> uid60_make('2154-04-07 06:28:16Z', 0, 0, 0)|22008: timestamp out of range for type uid60: "2154-04-07 06:28:16+00" / A uid60 holds times from 2018-03-01 00:00:00 UTC to 2154-04-07 06:28:15.999999 UTC.
--> uid60_make('2020-01-01Z', 512, 0, 0)|22003: worker out of range: 512 / A worker is between 0 and 511.
--> uid60_make('2020-01-01Z', 0, 1024, 0)|22003: sequence out of range: 1024 / A sequence is between 0 and 1023.
--> uid60_make('2020-01-01Z', 0, 0, -1)|22003: random part out of range: -1 / A random part is between 0 and 511.
--> uid60_to_sno('__________', 1)|22008: timestamp out of range for type sno: "2154-04-07 06:28:15+00" / A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.
--> uid60_to_sno('gAAAAAAAAA', -1)|22003: metabyte out of range: -1 / A metabyte is between 0 and 255.
--> uniqueid_make('1969-12-31Z', 0, 0, 0, 'spread')|22008: timestamp out of range for type uniqueid: "1969-12-31 00:00:00+00" / A uniqueid holds times from 1970-01-01 00:00:00 UTC to 2109-05-15 07:35:11.103999 UTC.
--> uniqueid_make('2020-01-01Z', 64, 0, 0, 'spread')|22003: sequence out of range: 64 / A sequence is between 0 and 63.
--> uniqueid_make('2020-01-01Z', 0, 2048, 0, 'spread')|22003: generator out of range: 2048 / A generator is between 0 and 2047.
--> uniqueid_make('2020-01-01Z', 0, 0, 16, 'spread')|22003: cluster out of range: 16 / A cluster is between 0 and 15.
--> uniqueid_make('2020-01-01Z', 0, 0, 0, 'Spread')|22023: invalid form: "Spread" / A form is "spread" or "time_sequential".
--> uniqueid_to_sno('cb54ecf2840a0015', 1)|22008: timestamp out of range for type sno: "1974-07-14 19:42:16.275+00" / A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.
--> uniqueid_to_sno('ffffffffffffefff', 1)|22008: timestamp out of range for type sno: "2109-05-15 07:35:11.103+00" / A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.
--> gid_new('file')|22023: invalid prefix: "file" / A prefix is "volume", "log" or "segment".
--> gid_make('log', '1969-12-31Z', '\x800000000000000000')|22008: timestamp out of range for type gid: "1969-12-31 00:00:00+00" / A gid holds times from 1970-01-01 00:00:00 UTC to 10889-08-02 05:31:50.655999 UTC.
--> gid_make('log', '2020-01-01Z', '\x80')|22P03: invalid length of a binary gid tail: 1 / A gid tail is 9 bytes long.
--> gid_make('log', '2020-01-01Z', '\x7f0000000000000000')|22023: invalid tail: "\x7f0000000000000000" / Byte 7 of a gid is at least 0x80.
--> gid_lower('', now())|22023: invalid prefix: "" / A prefix is "volume", "log" or "segment".

-- uid60
SELECT id, id::bigint, (uid60_inspect(id)).* FROM unnest('{gAAAAAAAAA,AZI9gACAQD,AXU9UAL___,__________}'::uid60[]) id;
--> id|id|time|worker|sequence|random
--> gAAAAAAAAA|268435456|2018-03-01 00:00:01+00|0|0|0
--> AZI9gACAQD|7815981485786115|2019-02-01 00:00:00+00|1|2|3
--> AXU9UAL___|48355318801891327|2023-11-14 22:13:20+00|5|1023|511
--> __________|1152921504606846975|2154-04-07 06:28:15+00|511|1023|511
SELECT bool_and((uid60_time(id), uid60_worker(id), uid60_sequence(id), uid60_random(id)) = (i.time, worker, sequence, random)
    AND uid60_make(i.time, worker, sequence, random) = id) AS same
FROM unnest('{gAAAAAAAAA,AZI9gACAQD,AXU9UAL___,__________}'::uid60[]) id, uid60_inspect(id) i;
--> same
--> t
-- All nine random bits are random.
SELECT bit_or(uid60_random(uid60_new())) FROM generate_series(1, 500);
--> bit_or
--> 511
SELECT (uid60_inspect(id)).* FROM unnest(ARRAY[uid60_lower('2020-01-01 00:00:00.5Z'), uid60_upper('2020-01-01 00:00:00.5Z')]) id;
--> time|worker|sequence|random
--> 2020-01-01 00:00:01+00|0|0|0
--> 2020-01-01 00:00:00+00|511|1023|511
SELECT uid60_lower('-infinity'), uid60_lower('infinity'), uid60_upper('-infinity'), uid60_upper('infinity');
--> uid60_lower|uid60_lower|uid60_upper|uid60_upper
--> AAAAAAAAAA|__________|AAAAAAAAAA|__________

-- uniqueid, of every form
SELECT id, (uniqueid_inspect(id)).* FROM unnest('{cb54ecf284000000,bfffffffc0000000,ffffffffffffefff,cb54ecf2840a0015,0853cdcab4ca1015,62f3f95a00003000}'::uniqueid[]) id;
--> id|time|sequence|generator|cluster|form
--> cb54ecf284000000|1974-07-14 19:42:16.275+00|0|0|0|spread
--> bfffffffc0000000|1970-07-18 20:11:09.181+00|0|0|0|spread
--> ffffffffffffefff|2109-05-15 07:35:11.103+00|63|2047|15|spread
--> cb54ecf2840a0015|1974-07-14 19:42:16.275+00|10|1|5|spread
--> 0853cdcab4ca1015|1974-07-14 19:42:16.275+00|10|1|5|time_sequential
--> 62f3f95a00003000|2023-11-14 22:13:20+00|0|256|0|time_sequential
SELECT bool_and((uniqueid_time(id), uniqueid_sequence(id), uniqueid_generator(id), uniqueid_cluster(id), uniqueid_form(id))
        = (i.time, sequence, generator, cluster, form) AND uniqueid_make(i.time, sequence, generator, cluster, form) = id) AS same
FROM unnest('{cb54ecf284000000,bfffffffc0000000,ffffffffffffefff,cb54ecf2840a0015,0853cdcab4ca1015,62f3f95a00003000}'::uniqueid[]) id, uniqueid_inspect(id) i;
--> same
--> t
SELECT uniqueid_lower('2023-11-14 22:13:20Z'), uniqueid_upper('2023-11-14 22:13:20Z'),
       uniqueid_lower('-infinity'), uniqueid_upper('infinity');
--> uniqueid_lower|uniqueid_upper|uniqueid_lower|uniqueid_upper
--> 62f3f95a00001000|62f3f95a003fffff|0000000000001000|ffffffffffffffff

-- gid
SELECT id, (gid_inspect(id)).* FROM unnest('{5rLWQQkJdm-2dVseX433Zwhy,5rMH4TvfXM-4FzkJ37568tQv}'::gid[]) id;
--> id|prefix|time|tail
--> 5rLWQQkJdm-2dVseX433Zwhy|volume|1970-01-01 00:00:00+00|\x800000000000000000
--> 5rMH4TvfXM-4FzkJ37568tQv|volume|2023-11-14 22:13:20+00|\xffffffffffffffffff
SELECT bool_and((gid_prefix(id), gid_time(id), gid_tail(id)) = (prefix, i.time, tail) AND gid_make(prefix, i.time, tail) = id) AS same
FROM unnest('{5rLWQQkJdm-2dVseX433Zwhy,5rMH4TvfXM-4FzkJ37568tQv}'::gid[]) id, gid_inspect(id) i;
--> same
--> t
SELECT gid_lower('log', '2023-11-14 22:13:20Z')::bytea, gid_upper('segment', '2023-11-14 22:13:20Z')::bytea,
       gid_lower('volume', '-infinity')::bytea, gid_upper('volume', 'infinity')::bytea;
--> gid_lower|gid_upper|gid_lower|gid_upper
--> \xa0018bcfe56800800000000000000000|\xc0018bcfe56800ffffffffffffffffff|\x80000000000000800000000000000000|\x80ffffffffffffffffffffffffffffff
SELECT p, gid_prefix(gid_new(p)), gid_time(gid_new(p)) BETWEEN now() - interval '1 s' AND clock_timestamp(),
       substr(gid_new(p)::bytea, 8, 1) = substr(gid_new(p)::bytea, 1, 1) FROM unnest('{volume,log,segment}'::text[]) p;
--> p|gid_prefix|?column?|?column?
--> volume|volume|t|t
--> log|log|t|t
--> segment|segment|t|t

-- Into sno: the time, and every other bit, under the caller's metabyte.
SELECT (sno_inspect(id)).* FROM unnest(ARRAY[snowflake_si_to_sno(10113579063, 200, '2020-01-01Z'), uid60_to_sno('AXU9UAL___', 201),
    uniqueid_to_sno('62f3f95a00003000', 202), uniqueid_to_sno(uniqueid_make('2023-11-14 22:13:20.003Z', 63, 2047, 15, 'spread'), 202)]) id;
--> time|tick_tock|metabyte|partition|sequence
--> 2020-01-01 00:20:34.564+00|f|200|0|30775
--> 2023-11-14 22:13:20+00|f|201|47|65535
--> 2023-11-14 22:13:20+00|f|202|0|12288
--> 2023-11-14 22:13:20+00|f|202|255|61439
-- In the order of the IDs.
SELECT count(*) FROM (
    SELECT uid60_to_sno(id, 1) AS sno, lag(uid60_to_sno(id, 1)) OVER (ORDER BY id) AS before
    FROM (SELECT uid60_make('2020-01-01Z'::timestamptz + n % 7 * interval '1 s', n % 512, n % 1024, n % 511) AS id
          FROM generate_series(1, 5000) n) ids) s
WHERE before >= sno;
--> count
--> 0
