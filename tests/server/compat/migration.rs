//! The steps of `docs/compat.md` and `docs/moving-back.md`, while the tables are written all the time; and that values survive
//! dumps, copies and soft errors.

use sno_tests::{Sql as _, major_version, text};

use super::{builder, start};
use crate::docs::page;
use crate::moving::{go, steps_back};

/// The steps of `docs/moving-back.md` with the changes that `docs/compat.md` lists.
#[test]
fn a_table_moves_to_sno_while_it_is_in_use() {
    let page = page("compat.md");
    for replaced in ["`sno_to_uuidv7(id)`", "`'2222222222222222'`", "`gen_random_uuid()`"] {
        assert!(page.contains(&format!("\n| {replaced} | `")), "{replaced}");
    }
    let arguments = ["id", "order_id", "NEW.id", "NEW.replaces", "NEW.order_id"];
    let steps = steps_back().into_iter().map(|step| {
        let computed = arguments.iter().fold(step.clone(), |step, id| {
            step.replace(&format!("sno_to_uuidv7({id})"), &format!("uid60_to_sno({id}, 200)"))
        });
        [
            ("sno_to_uuidv7('9q7k4op826n2g222')", "uid60_to_sno('AZI9gACAQD', 200)"),
            ("id sno PRIMARY KEY DEFAULT sno_new()", "id uid60 PRIMARY KEY DEFAULT uid60_new()"),
            ("order_id sno ", "order_id uid60 "),
            ("replaces sno ", "replaces uid60 "),
            ("since sno := '2222222222222222'", "since uid60 := uid60_lower('-infinity')"),
            ("until sno", "until uid60"),
            ("stop sno", "stop uid60"),
            ("new_id uuid", "new_id sno"),
            ("new_replaces uuid", "new_replaces sno"),
            ("new_order_id uuid", "new_order_id sno"),
            ("gen_random_uuid()", "sno_new(1)"),
        ]
        .iter()
        .fold(computed, |step, (from, to)| step.replace(from, to))
    });
    let server = start(builder());
    go(&server, &steps.collect::<Vec<_>>(), "sno");
    // Converted keys and new ones are told apart by their metabyte.
    let mut client = server.connect();
    let count = "SELECT count(*) FILTER (WHERE sno_metabyte(id) = 200) > 5000 AND count(*) FILTER (WHERE sno_metabyte(id) = 1) > 0
                 AND bool_and(sno_metabyte(id) IN (1, 200)) FROM orders";
    assert_eq!(text(&mut client, count), "t");
}

#[test]
fn copies_dumps_and_soft_errors() {
    let server = start(builder());
    let mut client = server.connect();
    client.run(
        "CREATE TABLE t (s bigint, u uid60, q uniqueid, g gid);
             INSERT INTO t SELECT snowflake_si_new(), uid60_new(), uniqueid_new(), gid_new('segment')
                 FROM generate_series(1, 1000);
             CREATE TABLE copied (LIKE t)",
    );
    for format in ["text", "csv", "binary"] {
        let mut bytes = Vec::new();
        let copy = format!("COPY t TO STDOUT (FORMAT {format})");
        std::io::Read::read_to_end(&mut client.copy_out(&copy).unwrap(), &mut bytes).unwrap();
        let mut copy = client.copy_in(&format!("COPY copied FROM STDIN (FORMAT {format})")).unwrap();
        std::io::Write::write_all(&mut copy, &bytes).unwrap();
        copy.finish().unwrap();
        let same =
            "SELECT (SELECT count(*) FROM copied), (SELECT count(*) FROM (TABLE t INTERSECT TABLE copied) i)";
        let row = client.query_one(same, &[]).unwrap();
        assert_eq!([0, 1].map(|column| row.get::<_, i64>(column)), [1000; 2], "{format}");
        client.run("TRUNCATE copied");
    }
    if major_version(&mut client) >= 16 {
        let row = client
            .query_one(
                "SELECT pg_input_is_valid('x', 'uid60'), pg_input_is_valid('x', 'uniqueid'),
                        pg_input_is_valid('x', 'gid'), pg_input_is_valid('AZI9gACAQD', 'uid60')",
                &[],
            )
            .unwrap();
        assert_eq!([0, 1, 2, 3].map(|column| row.get::<_, bool>(column)), [false, false, false, true]);
    }
}
