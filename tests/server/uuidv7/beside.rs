//! The file beside the extension.

use sno_tests::{Server, Sql as _, sql_file};

use super::{none, start_with};

/// Each is the other's inverse, field by field, and the bounds are the same. Both are in one schema, whichever came first.
#[test]
fn ids_and_bounds_are_those_of_the_extension() {
    let server = start_with(Server::builder().extension(false));
    let mut client = server.connect();
    client.run("CREATE EXTENSION sno; CREATE EXTENSION sno_compat");
    client.run(&sql_file("uuidv7.sql"));
    client.run(
        "CREATE TABLE a (id uuid PRIMARY KEY DEFAULT sno_uuid(1)); CREATE TABLE b (id sno PRIMARY KEY DEFAULT sno_new(1));
         INSERT INTO a DEFAULT VALUES; INSERT INTO b DEFAULT VALUES;
         SELECT sno_horizon(), uuidv7_horizon('a'), sno_time('9q7k4op826n2g222'), sno_lower('2026-01-01Z');
         SELECT max(a.id), max(b.id) FROM a, b",
    );
    for number in [0, 7, 42, 255] {
        client.run(&format!(
            "CREATE OR REPLACE FUNCTION sno_uuid_server() RETURNS integer LANGUAGE SQL STABLE RETURN {number};
             SELECT setval('sno_uuid_counter', 16777216 * 5 + 16777000)"
        ));
        none(
            &mut client,
            &format!(
                "SELECT * FROM (SELECT n, sno_uuid(n % 256) AS id FROM generate_series(0, 2559) n OFFSET 0) ids,
                     uuidv7_to_sno(id) sno, sno_inspect(sno) i
                 WHERE sno_to_uuidv7(sno) <> id OR i.time <> uuidv7_time(id) OR i.tick_tock
                    OR i.metabyte <> n % 256 OR i.metabyte <> sno_uuid_metabyte(id)
                    OR i.partition >> 8 <> {number} OR i.partition >> 8 <> sno_uuid_server(id)
                    OR (i.partition % 256 << 16) + i.sequence <> (16777001 + n) % 16777216"
            ),
        );
    }
    client.run(
        "CREATE TABLE ids AS
         SELECT sno_make(at, m, p, s, tt) AS sno
         FROM unnest('{2010-01-01Z,2026-11-21 09:30:15.372Z,2079-09-07 15:47:35.548Z}'::timestamptz[]) at,
             unnest('{0,1,127,128,255}'::integer[]) m, unnest('{0,1,255,256,10759,65535}'::integer[]) p,
             unnest('{0,65535}'::integer[]) s, unnest('{f,t}'::boolean[]) tt;
         CREATE TABLE times AS
         SELECT at + us * interval '1 us' AS t
         FROM (SELECT DISTINCT sno_time(sno) AS at FROM ids) a, unnest('{-4000,-3999,-1000,-1,0,1,999,1000,3999,4000}'::integer[]) us
         UNION ALL SELECT unnest('{-infinity,infinity}'::timestamptz[])",
    );
    none(
        &mut client,
        "SELECT * FROM ids, sno_to_uuidv7(sno) id
         WHERE uuidv7_time(id) <> sno_time(sno) OR sno_uuid_metabyte(id) <> sno_metabyte(sno)
            OR sno_uuid_server(id) <> sno_partition(sno) >> 8",
    );
    // But for those at which the bounds of sno end.
    none(
        &mut client,
        "SELECT * FROM ids, times, sno_to_uuidv7(sno) id
         WHERE ((id >= uuidv7_lower(t)) <> (sno >= sno_lower(t)) OR (id <= uuidv7_upper(t)) <> (sno <= sno_upper(t)))
           AND sno NOT IN ('2222222222222222', 'xxxxxxxxxxxxxxxx')",
    );
}
