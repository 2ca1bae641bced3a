-- WITHOUT OVERLAPS of PostgreSQL 18 takes columns only, so it takes a generated one.
SELECT current_setting('server_version_num')::int < 180000 AS unsupported \gset
\if :unsupported
\quit
\endif
CREATE EXTENSION btree_gist;
CREATE TABLE stays (
    room      sno,
    room_key  uuid GENERATED ALWAYS AS (room::uuid) STORED,
    during    tstzrange,
    PRIMARY KEY (room_key, during WITHOUT OVERLAPS)
);
INSERT INTO stays VALUES ('9q7k4op826n2g222', DEFAULT, '[2026-01-01 10:00Z, 2026-01-01 11:00Z)');
INSERT INTO stays VALUES ('9q7k4op826n2g222', DEFAULT, '[2026-01-01 11:00Z, 2026-01-01 12:00Z)');
INSERT INTO stays VALUES ('9q7k4op826n2g222', DEFAULT, '[2026-01-01 10:30Z, 2026-01-01 10:45Z)');
SELECT room, during FROM stays ORDER BY during;
-- A foreign key by PERIOD.
CREATE TABLE cleanings (
    room      sno,
    room_key  uuid GENERATED ALWAYS AS (room::uuid) STORED,
    during    tstzrange,
    FOREIGN KEY (room_key, PERIOD during) REFERENCES stays (room_key, PERIOD during)
);
INSERT INTO cleanings VALUES ('9q7k4op826n2g222', DEFAULT, '[2026-01-01 10:30Z, 2026-01-01 11:30Z)');
INSERT INTO cleanings VALUES ('9q7k4op826n2g222', DEFAULT, '[2026-01-01 11:30Z, 2026-01-01 12:30Z)');


DROP TABLE cleanings, stays;
DROP EXTENSION btree_gist;
