-- Text and binary input and output.

SELECT '2222222222222222'::sno AS first, 'xxxxxxxxxxxxxxxx'::sno AS last;
--> first|last
--> 2222222222222222|xxxxxxxxxxxxxxxx

-- \x and the ten bytes in hexadecimal, what drivers send for raw bytes; and in binary.
SELECT '\x3e0b215ae6012a070000'::sno, '\x3E0B215AE6012A070000'::sno, sno_internal.sno_send('9q7k4op826n2g222');
--> sno|sno|sno_send
--> 9q7k4op826n2g222|9q7k4op826n2g222|\x3e0b215ae6012a070000

-- Out and in again, text and binary, over random values and the ends.
CREATE TABLE sample AS
    SELECT decode(substr(md5(n::text) || md5((-n)::text), 1, 20), 'hex')::sno AS id
    FROM generate_series(1, 10000) n
    UNION ALL VALUES ('2222222222222222'::sno), ('xxxxxxxxxxxxxxxx'), (NULL);
CREATE TABLE same (LIKE sample);
-- (relative to the server's data directory, which goes away with it)
SELECT current_setting('data_directory') || '/sno_copy' AS file \gset
COPY sample TO :'file' (FORMAT binary);
COPY same FROM :'file' (FORMAT binary);
(TABLE sample EXCEPT ALL TABLE same) UNION ALL (TABLE same EXCEPT ALL TABLE sample);
--> id
TRUNCATE same;
COPY sample TO :'file';
COPY same FROM :'file';
(TABLE sample EXCEPT ALL TABLE same) UNION ALL (TABLE same EXCEPT ALL TABLE sample);
--> id

-- Binary fields of 9 and 11 bytes.
CREATE TABLE bytes (value bytea);
INSERT INTO bytes VALUES ('\x3e0b215ae6012a0700');
COPY bytes TO :'file' (FORMAT binary);
COPY same FROM :'file' (FORMAT binary);
--> ERROR:  invalid length of a binary sno: 9
--> DETAIL:  A sno is 10 bytes long.
--> CONTEXT:  COPY same, line 1, column id
\echo :LAST_ERROR_SQLSTATE
--> 22P03
UPDATE bytes SET value = '\x3e0b215ae6012a070000ff';
COPY bytes TO :'file' (FORMAT binary);
COPY same FROM :'file' (FORMAT binary);
--> ERROR:  invalid length of a binary sno: 11
--> DETAIL:  A sno is 10 bytes long.
--> CONTEXT:  COPY same, line 1, column id
\echo :LAST_ERROR_SQLSTATE
--> 22P03
-- Sixteen bytes are the text, if it is one of an ID.
TRUNCATE same;
UPDATE bytes SET value = '9q7k4op826n2g222';
COPY bytes TO :'file' (FORMAT binary);
COPY same FROM :'file' (FORMAT binary);
SELECT * FROM same WHERE id = '9q7k4op826n2g222';
--> id
--> 9q7k4op826n2g222
UPDATE bytes SET value = '9q7k4op826n2g2y2';
COPY bytes TO :'file' (FORMAT binary);
COPY same FROM :'file' (FORMAT binary);
--> ERROR:  invalid binary sno
--> DETAIL:  Character 15 is not one of 2-9 and a-x.
--> CONTEXT:  COPY same, line 1, column id
\echo :LAST_ERROR_SQLSTATE
--> 22P03
UPDATE bytes SET value = decode('018f2a3b4c5d7e6fff00112233445566', 'hex');
COPY bytes TO :'file' (FORMAT binary);
COPY same FROM :'file' (FORMAT binary);
--> ERROR:  invalid binary sno
--> DETAIL:  Character 1 is not one of 2-9 and a-x.
--> CONTEXT:  COPY same, line 1, column id
\echo :LAST_ERROR_SQLSTATE
--> 22P03

DROP TABLE sample, same, bytes;
