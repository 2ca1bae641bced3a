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
--> input|valid|message|detail|hint|sql_error_code
--> 9q7k4op826n2g222|t||||
--> 9q7k4op826n2g22y|f|invalid input syntax for type sno: "9q7k4op826n2g22y"|Character 16 is not one of 2-9 and a-x.||22P02
--> |f|invalid input syntax for type sno: ""|A sno is 16 characters, or \x and 20 hexadecimal digits.||22P02
--> \x00|f|invalid input syntax for type sno: "\x00"|After \x a sno has 20 hexadecimal digits.||22P02
--> \x3e0b215ae6012a070000|t||||
--> 2026-11-01|f|invalid input syntax for type sno: "2026-11-01"|A sno is 16 characters, or \x and 20 hexadecimal digits.|To compare with a time, write its type: timestamptz '2026-11-01'.|22P02
SELECT string_agg(concat(type, ' ', pg_input_is_valid('x', type), ' ', pg_input_is_valid(id, type)), ', ') AS valid
FROM (VALUES ('uid60', 'AZI9gACAQD'), ('uniqueid', 'cb54ecf284000000'), ('gid', '5rLWQQkJdm-2dVseX433Zwhy')) v(type, id);
--> valid
--> uid60 f t, uniqueid f t, gid f t
