//! The consumer in Rust.

use super::{OfFile, consumer};

#[rustfmt::skip]
pub(super) const MUTANTS: &[OfFile] = &[
    ("packages/rust/src/consumer.rs", &[
        ("a lost connection in the handler counts for the row", &[consumer("consumers::errors_to_try_again_after::rust")],
            "client.is_closed() || is_listed(state)", "false && is_listed(state)"),
        ("a consumer waits for ever for a server that is silent", &[consumer("consumers::a_network_that_goes_silent::rust")],
            "sleep(self.options.timeout + PATIENCE)", "sleep(self.options.timeout + PATIENCE * 1000)"),
        ("a changed column ends a consumer", &[consumer("consumers::ddl_beside_a_batch::rust")],
            "is_other && self.has_other_error", "is_other"),
        ("of the rows of an ID that are poison, one is passed", &[consumer("consumers::several_rows_of_one_id::rust")],
            "for row in rows {\n                    pass(", "for row in &rows[..1] {\n                    pass("),
        ("an error of the COMMIT ends a consumer", &[consumer("consumers::an_error_of_the_commit::rust")],
            "if is_transaction && !client.is_closed()", "if false && !client.is_closed()"),
        ("a handler that ends the transaction goes unnoticed", &[consumer("consumers::a_transaction_that_the_handler_ends::rust")],
            "batch_execute(\"SAVEPOINT sno; RELEASE sno\")", "batch_execute(\"SELECT\")"),
        ("a consumer that stops leaves rows of an ID", &[consumer("consumers::several_rows_of_one_id::rust")],
            "if *self.stop.borrow() && done != Some(first) {", "if *self.stop.borrow() {"),
    ]),
];
