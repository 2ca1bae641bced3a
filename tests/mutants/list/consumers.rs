//! The consumer in Rust.

use super::{OfFile, consumer};

#[rustfmt::skip]
pub(super) const MUTANTS: &[OfFile] = &[
    ("packages/rust/src/consumer.rs", &[
        ("a consumer ends on a standby", &[consumer("consumers::a_standby::rust")],
            "!self.is_begun && state(&*error) == \"0A000\"", "false"),
        ("a full disk ends a consumer", &[consumer("consumers::errors_to_try_again_after::rust")],
            "25P04 40 53 55P03", "25P04 40 55P03"),
        ("a lost connection in the handler counts for the row", &[consumer("consumers::errors_to_try_again_after::rust")],
            "client.is_closed() || is_listed(state)", "false && is_listed(state)"),
        ("a consumer waits for ever for a server that is silent", &[consumer("consumers::a_network_that_goes_silent::rust")],
            "sleep(self.options.timeout + PATIENCE)", "sleep(self.options.timeout + PATIENCE * 1000)"),
        ("a stop waits for ever for a server that is silent", &[consumer("consumers::a_network_that_goes_silent::rust")],
            "timeout(PATIENCE_AFTER_STOP, statement)", "timeout(PATIENCE_AFTER_STOP * 1000, statement)"),
        ("a changed column ends a consumer", &[consumer("consumers::ddl_beside_a_batch::rust")],
            "is_other && self.has_other_error", "is_other"),
        ("a consumer tries again for ever after any error", &[consumer("consumers::what_cannot_get_better::rust")],
            "is_other && self.has_other_error", "false"),
        ("pauses have no bound", &[consumer("consumers::pauses::rust")],
            "(self.pause * 2).min(MAX_PAUSE)", "self.pause * 2"),
        ("of the rows of an ID that are poison, one is passed", &[consumer("consumers::several_rows_of_one_id::rust")],
            "for row in rows {\n                    pass(", "for row in &rows[..1] {\n                    pass("),
        ("on_poison gets its own error", &[consumer("consumers::poison::rust")],
            " && !is_known", ""),
        ("a consumer does not say what has failed", &[consumer("consumers::poison::rust")],
            "Err(Trouble::Failed(error, keys)) => self.fail(client, error, keys).await,", "Err(Trouble::Failed(..)) => Ok(()),"),
        ("an error of the COMMIT ends a consumer", &[consumer("consumers::an_error_of_the_commit::rust")],
            "if is_transaction && !client.is_closed()", "if false && !client.is_closed()"),
        ("a handler that ends the transaction goes unnoticed", &[consumer("consumers::a_transaction_that_the_handler_ends::rust")],
            "batch_execute(\"SAVEPOINT sno; RELEASE sno\")", "batch_execute(\"SELECT\")"),
        ("a consumer that stops goes on with its batch", &[consumer("consumers::stops::rust")],
            "if *self.stop.borrow() && done != Some(first) {", "if false {"),
        ("a consumer that stops leaves rows of an ID", &[consumer("consumers::several_rows_of_one_id::rust")],
            "if *self.stop.borrow() && done != Some(first) {", "if *self.stop.borrow() {"),
        ("waits are longer than statement_timeout", &[consumer("consumers::limits_of_the_role::rust")],
            "0.8 * nullif(current_setting('statement_timeout')", "8 * nullif(current_setting('statement_timeout')"),
    ]),
];
