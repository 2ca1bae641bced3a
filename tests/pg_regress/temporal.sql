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
--> ERROR:  conflicting key value violates exclusion constraint "stays_pkey"
--> DETAIL:  Key (room_key, during)=(3971376b-346f-7038-3236-6e3267323232, ["2026-01-01 10:30:00+00","2026-01-01 10:45:00+00")) conflicts with existing key (room_key, during)=(3971376b-346f-7038-3236-6e3267323232, ["2026-01-01 10:00:00+00","2026-01-01 11:00:00+00")).
SELECT room, during FROM stays ORDER BY during;
--> room|during
--> 9q7k4op826n2g222|["2026-01-01 10:00:00+00","2026-01-01 11:00:00+00")
--> 9q7k4op826n2g222|["2026-01-01 11:00:00+00","2026-01-01 12:00:00+00")
-- A foreign key by PERIOD.
CREATE TABLE cleanings (
    room      sno,
    room_key  uuid GENERATED ALWAYS AS (room::uuid) STORED,
    during    tstzrange,
    FOREIGN KEY (room_key, PERIOD during) REFERENCES stays (room_key, PERIOD during)
);
INSERT INTO cleanings VALUES ('9q7k4op826n2g222', DEFAULT, '[2026-01-01 10:30Z, 2026-01-01 11:30Z)');
INSERT INTO cleanings VALUES ('9q7k4op826n2g222', DEFAULT, '[2026-01-01 11:30Z, 2026-01-01 12:30Z)');
--> ERROR:  insert or update on table "cleanings" violates foreign key constraint "cleanings_room_key_during_fkey"
--> DETAIL:  Key (room_key, during)=(3971376b-346f-7038-3236-6e3267323232, ["2026-01-01 11:30:00+00","2026-01-01 12:30:00+00")) is not present in table "stays".


DROP TABLE cleanings, stays;
DROP EXTENSION btree_gist;
