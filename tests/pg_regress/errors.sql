-- Errors: SQLSTATE, message, DETAIL and HINT of each that a session can meet on a server in order.
SET timezone = 'UTC';

-- Texts that are no sno. Those that are like a time get a HINT, which quotes them as they are.
SELECT input, answer(format('SELECT %L::sno', input)) AS answer FROM unnest(ARRAY[
    '', '9q7k4op826n2g22', '9q7k4op826n2g2222', ' 9q7k4op826n2g222', '9Q7K4OP826N2G222', '1q7k4op826n2g222', '9q7k4op826n2g22y',
    '9q7k4op826n2g2é', '日本語日本語日本語日本語日本語日', '\x', '\x3e0b215ae6012a070000ff', '\x+e0b215ae6012a070000',
    '\X3e0b215ae6012a070000', '3e0b215ae6012a070000', '00000000-0000-0000-0000-000000000000',
    '2026-11-01', '2026-11-01 12:30', '2026-11-01T12:30:00.123456Z', '2026/11/1', '1.11.2026',
    '2026-11-01 12:30:00.123456 America/Belem', 'now', 'Today', '-infinity', '2026-11', '2026-Nov-01', '192.168.1.1',
    '2026-11-01''; DROP TABLE x', '2026-11-01 ' || repeat(' ', 40), '2026-11-01é', '-', '1d4f6a7e-2026-11-01'
]) WITH ORDINALITY AS list(input, place) ORDER BY place;
--> input|answer
--> |22P02: invalid input syntax for type sno: "" / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> 9q7k4op826n2g22|22P02: invalid input syntax for type sno: "9q7k4op826n2g22" / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> 9q7k4op826n2g2222|22P02: invalid input syntax for type sno: "9q7k4op826n2g2222" / A sno is 16 characters, or \x and 20 hexadecimal digits.
-->  9q7k4op826n2g222|22P02: invalid input syntax for type sno: " 9q7k4op826n2g222" / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> 9Q7K4OP826N2G222|22P02: invalid input syntax for type sno: "9Q7K4OP826N2G222" / Character 2 is not one of 2-9 and a-x. / The letters of a sno are in lower case.
--> 1q7k4op826n2g222|22P02: invalid input syntax for type sno: "1q7k4op826n2g222" / Character 1 is not one of 2-9 and a-x.
--> 9q7k4op826n2g22y|22P02: invalid input syntax for type sno: "9q7k4op826n2g22y" / Character 16 is not one of 2-9 and a-x.
--> 9q7k4op826n2g2é|22P02: invalid input syntax for type sno: "9q7k4op826n2g2é" / Character 15 is not one of 2-9 and a-x.
--> 日本語日本語日本語日本語日本語日|22P02: invalid input syntax for type sno: "日本語日本語日本語日本語日本語日" / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> \x|22P02: invalid input syntax for type sno: "\x" / After \x a sno has 20 hexadecimal digits.
--> \x3e0b215ae6012a070000ff|22P02: invalid input syntax for type sno: "\x3e0b215ae6012a070000ff" / After \x a sno has 20 hexadecimal digits.
--> \x+e0b215ae6012a070000|22P02: invalid input syntax for type sno: "\x+e0b215ae6012a070000" / After \x a sno has 20 hexadecimal digits.
--> \X3e0b215ae6012a070000|22P02: invalid input syntax for type sno: "\X3e0b215ae6012a070000" / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> 3e0b215ae6012a070000|22P02: invalid input syntax for type sno: "3e0b215ae6012a070000" / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> 00000000-0000-0000-0000-000000000000|22P02: invalid input syntax for type sno: "00000000-0000-0000-0000-000000000000" / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> 2026-11-01|22P02: invalid input syntax for type sno: "2026-11-01" / A sno is 16 characters, or \x and 20 hexadecimal digits. / To compare with a time, write its type: timestamptz '2026-11-01'.
--> 2026-11-01 12:30|22P02: invalid input syntax for type sno: "2026-11-01 12:30" / Character 2 is not one of 2-9 and a-x. / To compare with a time, write its type: timestamptz '2026-11-01 12:30'.
--> 2026-11-01T12:30:00.123456Z|22P02: invalid input syntax for type sno: "2026-11-01T12:30:00.123456Z" / A sno is 16 characters, or \x and 20 hexadecimal digits. / To compare with a time, write its type: timestamptz '2026-11-01T12:30:00.123456Z'.
--> 2026/11/1|22P02: invalid input syntax for type sno: "2026/11/1" / A sno is 16 characters, or \x and 20 hexadecimal digits. / To compare with a time, write its type: timestamptz '2026/11/1'.
--> 1.11.2026|22P02: invalid input syntax for type sno: "1.11.2026" / A sno is 16 characters, or \x and 20 hexadecimal digits. / To compare with a time, write its type: timestamptz '1.11.2026'.
--> 2026-11-01 12:30:00.123456 America/Belem|22P02: invalid input syntax for type sno: "2026-11-01 12:30:00.123456 America/Belem" / A sno is 16 characters, or \x and 20 hexadecimal digits. / To compare with a time, write its type: timestamptz '2026-11-01 12:30:00.123456 America/Belem'.
--> now|22P02: invalid input syntax for type sno: "now" / A sno is 16 characters, or \x and 20 hexadecimal digits. / To compare with a time, write its type: timestamptz 'now'.
--> Today|22P02: invalid input syntax for type sno: "Today" / A sno is 16 characters, or \x and 20 hexadecimal digits. / To compare with a time, write its type: timestamptz 'Today'.
--> -infinity|22P02: invalid input syntax for type sno: "-infinity" / A sno is 16 characters, or \x and 20 hexadecimal digits. / To compare with a time, write its type: timestamptz '-infinity'.
--> 2026-11|22P02: invalid input syntax for type sno: "2026-11" / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> 2026-Nov-01|22P02: invalid input syntax for type sno: "2026-Nov-01" / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> 192.168.1.1|22P02: invalid input syntax for type sno: "192.168.1.1" / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> 2026-11-01'; DROP TABLE x|22P02: invalid input syntax for type sno: "2026-11-01'; DROP TABLE x" / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> 2026-11-01                                         |22P02: invalid input syntax for type sno: "2026-11-01                                         " / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> 2026-11-01é|22P02: invalid input syntax for type sno: "2026-11-01é" / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> -|22P02: invalid input syntax for type sno: "-" / A sno is 16 characters, or \x and 20 hexadecimal digits.
--> 1d4f6a7e-2026-11-01|22P02: invalid input syntax for type sno: "1d4f6a7e-2026-11-01" / A sno is 16 characters, or \x and 20 hexadecimal digits.
-- A quoted text is as long as one in PostgreSQL's messages for COPY.
SELECT split_part(answer(format('SELECT %L::sno', input)), ' / ', 1) AS answer FROM unnest(ARRAY[repeat('2', 100), repeat('é', 51)]) input;
--> answer
--> 22P02: invalid input syntax for type sno: "2222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222"
--> 22P02: invalid input syntax for type sno: "éééééééééééééééééééééééééééééééééééééééééééééééééé..."
CREATE TABLE dated (id sno);
SELECT * FROM dated WHERE id BETWEEN '2026-11-01 00:00Z' AND '2026-11-02 00:00Z';
--> ERROR:  invalid input syntax for type sno: "2026-11-01 00:00Z"
--> LINE 1: SELECT * FROM dated WHERE id BETWEEN '2026-11-01 00:00Z' AND...
-->                                              ^
--> DETAIL:  A sno is 16 characters, or \x and 20 hexadecimal digits.
--> HINT:  To compare with a time, write its type: timestamptz '2026-11-01 00:00Z'.
DROP TABLE dated;

-- Casts, arguments, times.
SELECT command, answer('SELECT ' || command) FROM unnest(ARRAY[
    $$'00000000-0000-0000-0000-000000000000'::uuid::sno$$, $$'3971376b-346f-7038-3236-6e3267323279'::uuid::sno$$,
    $$''::bytea::sno$$, $$'\x3e0b215ae6012a070000ff'::bytea::sno$$,
    $$sno_new(-1)$$, $$sno_new(2147483647)$$, $$sno_new(256, '2020-01-01')$$, $$sno_with_metabyte('9q7k4op826n2g222', 256)$$,
    $$sno_make('2020-01-01', -1, 0, 0)$$, $$sno_make('2020-01-01', 0, -1, 0)$$, $$sno_make('2020-01-01', 0, 65536, 0)$$,
    $$sno_make('2020-01-01', 0, 0, -1)$$, $$sno_make('2020-01-01', 0, 0, 65536)$$,
    $$sno_new(1, '2009-12-31 23:59:59.999999Z')$$, $$sno_new(1, '2079-09-07 15:47:35.552Z')$$, $$sno_new(1, 'infinity')$$,
    $$sno_make('2009-12-31 23:59:59.999999Z', 0, 0, 0)$$, $$sno_make('2079-09-07 15:47:35.552Z', 0, 0, 0)$$,
    $$sno_make('-infinity', 0, 0, 0)$$
]) WITH ORDINALITY AS list(command, place) ORDER BY place;
--> command|answer
--> '00000000-0000-0000-0000-000000000000'::uuid::sno|22P02: uuid does not hold a sno: "00000000-0000-0000-0000-000000000000" / Byte 1 is not the code of one of the characters 2-9 and a-x.
--> '3971376b-346f-7038-3236-6e3267323279'::uuid::sno|22P02: uuid does not hold a sno: "3971376b-346f-7038-3236-6e3267323279" / Byte 16 is not the code of one of the characters 2-9 and a-x.
--> ''::bytea::sno|22P03: invalid length of a binary sno: 0 / A sno is 10 bytes long.
--> '\x3e0b215ae6012a070000ff'::bytea::sno|22P03: invalid length of a binary sno: 11 / A sno is 10 bytes long.
--> sno_new(-1)|22003: metabyte out of range: -1 / A metabyte is between 0 and 255.
--> sno_new(2147483647)|22003: metabyte out of range: 2147483647 / A metabyte is between 0 and 255.
--> sno_new(256, '2020-01-01')|22003: metabyte out of range: 256 / A metabyte is between 0 and 255.
--> sno_with_metabyte('9q7k4op826n2g222', 256)|22003: metabyte out of range: 256 / A metabyte is between 0 and 255.
--> sno_make('2020-01-01', -1, 0, 0)|22003: metabyte out of range: -1 / A metabyte is between 0 and 255.
--> sno_make('2020-01-01', 0, -1, 0)|22003: partition out of range: -1 / A partition is between 0 and 65535.
--> sno_make('2020-01-01', 0, 65536, 0)|22003: partition out of range: 65536 / A partition is between 0 and 65535.
--> sno_make('2020-01-01', 0, 0, -1)|22003: sequence out of range: -1 / A sequence is between 0 and 65535.
--> sno_make('2020-01-01', 0, 0, 65536)|22003: sequence out of range: 65536 / A sequence is between 0 and 65535.
--> sno_new(1, '2009-12-31 23:59:59.999999Z')|22008: timestamp out of range for type sno: "2009-12-31 23:59:59.999999+00" / A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.
--> sno_new(1, '2079-09-07 15:47:35.552Z')|22008: timestamp out of range for type sno: "2079-09-07 15:47:35.552+00" / A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.
--> sno_new(1, 'infinity')|22008: timestamp out of range for type sno: "infinity" / A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.
--> sno_make('2009-12-31 23:59:59.999999Z', 0, 0, 0)|22008: timestamp out of range for type sno: "2009-12-31 23:59:59.999999+00" / A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.
--> sno_make('2079-09-07 15:47:35.552Z', 0, 0, 0)|22008: timestamp out of range for type sno: "2079-09-07 15:47:35.552+00" / A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.
--> sno_make('-infinity', 0, 0, 0)|22008: timestamp out of range for type sno: "-infinity" / A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.

-- Settings: the server's own can't be set for a session; a value that means nothing is refused where a command offers it.
SET sno.partition_prefix = 7;
--> ERROR:  parameter "sno.partition_prefix" cannot be changed now
\echo :LAST_ERROR_SQLSTATE
--> 55P02
SET sno.sequence_range = '0-99';
--> ERROR:  parameter "sno.sequence_range" cannot be changed now
ALTER SYSTEM SET sno.partition_prefix = '4096/12';
--> ERROR:  invalid value for parameter "sno.partition_prefix": "4096/12"
--> DETAIL:  A prefix of 12 bits is at most 4095.
ALTER SYSTEM SET sno.partition_prefix = '1/7';
--> ERROR:  invalid value for parameter "sno.partition_prefix": "1/7"
--> DETAIL:  A prefix has 8 to 16 bits.
ALTER SYSTEM SET sno.partition_prefix = 'one';
--> ERROR:  invalid value for parameter "sno.partition_prefix": "one"
--> DETAIL:  Expected a number, or a number and its bits, as in "42/8", or "auto", or "citus/8", or a list of hosts.
ALTER SYSTEM SET sno.sequence_range = '0-65536';
--> ERROR:  invalid value for parameter "sno.sequence_range": "0-65536"
--> DETAIL:  A sequence number is at most 65535.
ALTER SYSTEM SET sno.sequence_range = '100';
--> ERROR:  invalid value for parameter "sno.sequence_range": "100"
--> DETAIL:  Expected the first and the last number, as in "0-65535".
\set VERBOSITY sqlstate
SET sno.max_clock_wait = -1;
--> ERROR:  22023
\set VERBOSITY default
-- It may be meant for one of these.
SET sno.no_such_setting = 1;
SELECT sno_new(1, now());
--> ERROR:  unrecognized configuration parameter "sno.no_such_setting"
--> DETAIL:  It may be a misspelt setting of sno, so no ID is generated.
--> HINT:  Correct it in postgresql.conf, or RESET it where a session, role or database sets it.
RESET sno.no_such_setting;
