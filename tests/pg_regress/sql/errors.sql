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
CREATE TABLE dated (id sno);
SELECT * FROM dated WHERE id BETWEEN '2026-11-01 00:00Z' AND '2026-11-02 00:00Z';
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

-- Settings: the server's own can't be set for a session; a value that means nothing is refused where a command offers it.
SET sno.partition_prefix = 7;
\echo :LAST_ERROR_SQLSTATE
SET sno.sequence_range = '0-99';
ALTER SYSTEM SET sno.partition_prefix = '4096/12';
ALTER SYSTEM SET sno.partition_prefix = '1/7';
ALTER SYSTEM SET sno.partition_prefix = 'one';
ALTER SYSTEM SET sno.sequence_range = '0-65536';
ALTER SYSTEM SET sno.sequence_range = '100';
\set VERBOSITY sqlstate
SET sno.max_clock_wait = -1;
\set VERBOSITY default
-- It may be meant for one of these.
SET sno.no_such_setting = 1;
SELECT sno_new(1, now());
RESET sno.no_such_setting;
