-- Soft errors of text input: PostgreSQL 16 and later.

SELECT current_setting('server_version_num')::int < 160000 AS unsupported \gset
\if :unsupported
\quit
\endif

SELECT input, pg_input_is_valid(input, 'sno') AS valid, error.*
FROM unnest(ARRAY['9q7k4op826n2g222', '9q7k4op826n2g22y', '', '\x00', '\x3e0b215ae6012a070000', '2026-11-01'])
         WITH ORDINALITY AS list(input, place),
     pg_input_error_info(input, 'sno') AS error
ORDER BY place;
SELECT string_agg(concat(type, ' ', pg_input_is_valid('x', type), ' ', pg_input_is_valid(id, type)), ', ') AS valid
FROM (VALUES ('uid60', 'AZI9gACAQD'), ('uniqueid', 'cb54ecf284000000'), ('gid', '5rLWQQkJdm-2dVseX433Zwhy')) v(type, id);
