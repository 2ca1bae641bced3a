//! Input that wants to hurt: every function with every argument at and past its bounds. Nothing crashes, nothing panics,
//! every error is one that was meant. Binary `COPY` of wrong lengths is in `pg_regress/input.sql`.

use sno_tests::Server;

use crate::{code, text};

/// Values at and past the bounds of each type, with semicolons between them.
fn values(of: &str) -> impl Iterator<Item = &'static str> {
    let values = match of {
        "integer" => "NULL; -2147483648; -1; 0; 1; 255; 256; 65535; 65536; 2147483647",
        "oid" => "NULL; 0; 23; 4294967295",
        "bigint" => "NULL; -9223372036854775808; 0; 9223372036854775807",
        "boolean" => "NULL; false; true",
        "timestamptz" => {
            "NULL; '-infinity'; '4713-01-01 BC'; '2009-12-31 23:59:59.999999+00'; '2010-01-01 00:00+00';
             '2024-02-29 12:00+00'; '2079-09-07 15:47:35.551999+00'; '2079-09-07 15:47:35.552+00';
             '294276-12-31 23:59:59.999999+00'; 'infinity'"
        }
        "timestamp without time zone" => {
            "NULL; '-infinity'; '4713-01-01 BC'; '2010-01-01 00:00'; '294276-12-31 23:59:59.999999'; 'infinity'"
        }
        "date" => "NULL; '-infinity'; '4713-01-01 BC'; '2010-01-01'; '5874897-12-31'; 'infinity'",
        "sno" => {
            r"NULL; '2222222222222222'; '2222222222222223'; '9q7k4op826n2g222'; 'xxxxxxxxxxxxxxxw'; 'xxxxxxxxxxxxxxxx';
              '\x00000000000000000000'; '\xffffffffffffffffffff'"
        }
        "text" => {
            r"NULL; ''; ' '; '222222222222222'; '22222222222222222'; '222222222222222X'; '222222222222222y';
              ' 2222222222222222'; '222222222222222é'; 'éééééééé'; '\x'; '\x0000000000000000000'; '\x0000000000000000000g';
              '\x000000000000000000000'; '\X00000000000000000000'; repeat('x', 1000000); repeat('é', 1000000);
              chr(1) || repeat('2', 15)"
        }
        "bytea" => {
            r"NULL; ''; '\x00'; '\x000000000000000000'; '\x00000000000000000000'; '\x0000000000000000000000';
              decode(repeat('ff', 1000000), 'hex')"
        }
        "uuid" => {
            "NULL; '00000000-0000-0000-0000-000000000000'; 'ffffffff-ffff-ffff-ffff-ffffffffffff';
             '32323232-3232-3232-3232-323232323232'; '32323232-3232-3232-3232-323232323279';
             '78787878-7878-7878-7878-787878787878'"
        }
        "interval" => "NULL; '-1 us'; '0'; '4 ms'; '178000000 years'; '-178000000 years'",
        "pg_node_tree" => {
            "NULL; (SELECT ev_action FROM pg_rewrite LIMIT 1); (SELECT ev_qual FROM pg_rewrite LIMIT 1);
             (SELECT adbin FROM pg_attrdef LIMIT 1)"
        }
        other => panic!("no values of {other}"),
    };
    values.split(';').map(str::trim)
}

/// All combinations of one value for each argument.
fn calls(name: &str, types: &[String]) -> Vec<String> {
    let mut lists = vec![String::new()];
    for (place, of) in types.iter().enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        lists = lists
            .iter()
            .flat_map(|list| values(of).map(move |value| format!("{list}{comma}{value}::{of}")))
            .collect();
    }
    lists.into_iter().map(|list| format!("{name}({list})")).collect()
}

/// All functions of the extension that SQL can call, as the catalog has them. Those that make partitions, or as
/// many spans of time as they are told, are tried with care in `pg_regress/partitions.sql`.
#[test]
fn every_function_with_every_argument_at_its_bounds() {
    let server = Server::builder().start();
    let mut client = server.connect();
    let pid = text(&mut client, "SELECT pg_backend_pid()");
    let functions = client
        .query(
            "SELECT p.oid::regproc::text, ARRAY(SELECT format_type(t, NULL)
                                           FROM unnest(p.proargtypes) WITH ORDINALITY a (t, n) ORDER BY n)
             FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
             JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
             WHERE e.extname = 'sno' AND p.prokind = 'f'
               AND p.prolang <> (SELECT oid FROM pg_language WHERE lanname = 'plpgsql')
               AND NOT p.proargtypes::oid[] && '{internal, cstring, regclass, anyelement, name}'::regtype[]::oid[]",
            &[],
        )
        .unwrap();
    assert!(functions.len() > 25, "{} functions", functions.len());
    let (mut done, mut refused) = (0, 0);
    for row in functions {
        let types: Vec<String> = row.get::<_, Vec<String>>(1);
        let types: Vec<String> =
            types.iter().map(|of| of.replace("timestamp with time zone", "timestamptz")).collect();
        let mut calls = calls(row.get(0), &types);
        calls.dedup();
        // In one statement for each call, inside one that catches, so that many go in one round trip.
        for chunk in calls.chunks(500) {
            let list = chunk.iter().map(|call| format!("$q${call}$q$")).collect::<Vec<_>>().join(", ");
            let query = format!(
                "DO $$ DECLARE call text; code text; codes text[] := '{{}}'; BEGIN
                     FOREACH call IN ARRAY ARRAY[{list}]::text[] LOOP
                         BEGIN EXECUTE 'SELECT * FROM ' || call;
                         EXCEPTION WHEN OTHERS THEN
                             GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE;
                             codes := codes || code;
                             IF code NOT IN ('22003', '22008', '22P02', '22P03', '22013')
                                -- Where no extension has a scope for rows of other servers.
                                AND NOT (code = '0A000' AND call ~ 'sno_scope_')
                                -- Only triggers call these.
                                AND NOT (code = '42804' AND call ~ 'sno_log_changes')
                                AND NOT (code = '39P03' AND call ~ 'sno_altered')
                                AND NOT (code = '22023' AND call ~ '^(sno_internal[.])?sno_((un)?mask|horizon)') THEN
                                 RAISE EXCEPTION '%: % %', call, code, SQLERRM;
                             END IF;
                         END;
                     END LOOP;
                     PERFORM set_config('test.refused', cardinality(codes)::text, false);
                 END $$"
            );
            client.batch_execute(&query).unwrap_or_else(|e| panic!("{e:?}"));
            refused += text(&mut client, "SELECT current_setting('test.refused')").parse::<usize>().unwrap();
            done += chunk.len();
        }
    }
    // The casts from text, as the catalog has no arguments for them.
    for value in values("text").filter(|value| *value != "NULL") {
        assert_eq!(code(&mut client, &format!("SELECT ({value})::text::sno")), "22P02", "{value}");
        done += 1;
        refused += 1;
    }
    assert_eq!(text(&mut client, "SELECT pg_backend_pid()"), pid, "it is still the same backend");
    assert!(done > 2000 && refused > 500, "{done} calls, {refused} refused");
    assert!(!server.log().contains("panicked"), "{}", server.log());
}
