//! The steps of `docs/compat.md` and `docs/moving-back.md`, while the tables are written all the time.

use sno_tests::text;

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
