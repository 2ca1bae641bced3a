//! The consumer in Rust.

use super::{OfFile, consumer};

#[rustfmt::skip]
pub(super) const MUTANTS: &[OfFile] = &[
    ("packages/rust/src/consumer.rs", &[
        ("a consumer ends on a standby", &[consumer("consumers::a_standby::rust")],
            "!self.is_begun && state(&*error) == \"0A000\"", "false"),
        ("a full disk ends a consumer", &[consumer("consumers::errors_to_try_again_after::rust")],
            "25P04 40 53 55P03", "25P04 40 55P03"),
        ("a connection that is lost in the handler counts for the row", &[consumer("consumers::lost_connections::rust")],
            "!= \"25P02\" => Trouble::Lost(error)", "== \"\" => Trouble::Lost(error)"),
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
            "if failure.0 < self.options.attempts {", "if true {"),
        ("a consumer forgets no failure", &[consumer("consumers::poison::rust")],
            "self.failures.retain(|(key, _), _| *key > last);", ""),
        ("an error of the COMMIT ends a consumer", &[consumer("consumers::an_error_of_the_commit::rust")],
            "if !rows.is_empty() && !client.is_closed()", "if false && !client.is_closed()"),
        ("a consumer that stops commits the rest of its batch unread", &[consumer("consumers::stops::rust")],
            "self.seek(transaction.client(), done, done).await?;", ""),
        ("waits are longer than statement_timeout", &[consumer("consumers::limits_of_the_role::rust")],
            "0.8 * nullif(current_setting('statement_timeout')", "8 * nullif(current_setting('statement_timeout')"),
    ]),
];
