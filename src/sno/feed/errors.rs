//! The errors of calls that name a feed.

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Oid},
};
use sno_core::Sno;

use crate::{
    pg::errors::Error,
    sno::feed::{
        ledger::{Feed, shown, text},
        source::Source,
    },
};

/// Why a feed cannot be read. Inside the guard.
impl Feed {
    pub(super) fn no_source(self) -> Error {
        let message = format!("source of feed \"{}\" does not exist", shown(self.name));
        let (message, detail) = match self.source_name {
            // SAFETY: a text.
            Some(name) => unsafe {
                let name = text(pg_sys::text_to_cstring(name.cast_mut_ptr()));
                (format!("{message}: \"{name}\""), "The feed was restored without it.")
            },
            None => (message, "It was dropped."),
        };
        Error::new(SqlState::ERRCODE_UNDEFINED_TABLE, message)
            .detail(detail)
            .hint("Restore it. For a new table: note the feed's position, drop and create the feed, and lead it back by sno_seek_feed().")
    }

    /// Of a call with another type of rows than that of its source.
    pub(super) fn other_rows(self, source: Source, row_type: Oid, is_distributed: bool) -> Error {
        // SAFETY: a text.
        let (feed, name) = (shown(self.name), unsafe { text(source.quoted) });
        // SAFETY: a type.
        let other = unsafe { text(pg_sys::format_type_be_qualified(row_type)) };
        let error = Error::new(
            SqlState::ERRCODE_DATATYPE_MISMATCH,
            format!("feed \"{feed}\" returns rows of \"{name}\", not of \"{other}\""),
        );
        if is_distributed {
            // What is left of a table that was distributed can be a shard, which has the rows of before.
            return error
                .detail("If Citus has made another table of it, which has its name now, the feed has remained with the old one.")
                .hint("Note its position, create another feed, lead that there by sno_seek_feed(), then drop this one.");
        }
        error
            .detail(
                "If its table was dropped, lead a new feed to the position of this one by sno_seek_feed().",
            )
            .hint(format!("Use {}.", self.peek(source)))
    }

    /// The statement that peeks at it.
    pub(super) fn peek(self, source: Source) -> String {
        // SAFETY: texts.
        let (name, feed) = unsafe {
            let feed = pg_sys::quote_literal_cstr(pg_sys::text_to_cstring(self.name.cast_mut_ptr()));
            (text(source.quoted), text(feed))
        };
        format!("SELECT * FROM sno_peek_feed({feed}, NULL::{name})")
    }

    /// Of a statement that does not store all rows of `sno_feed()`.
    pub(super) fn loses_rows(self, source: Source) -> Error {
        Error::new(
            SqlState::ERRCODE_FEATURE_NOT_SUPPORTED,
            "sno_feed() can only be used in a statement that stores its rows",
        )
        .detail("It must be in FROM or WITH of what writes, as in INSERT INTO ... SELECT, without LIMIT, condition or inner join: all rows count as read. A temporary or unlogged table keeps them only in a transaction block.")
        .hint(format!(
            "Use {}, and then sno_advance_feed() with the ID of the last row that is done. Or use a logged table, or LEFT JOIN.",
            self.peek(source)
        ))
    }

    /// Of a statement that reads it once more.
    pub(super) fn read_again(self) -> Error {
        Error::new(
            SqlState::ERRCODE_T_R_SERIALIZATION_FAILURE,
            format!("statement cannot read feed \"{}\" again", shown(self.name)),
        )
        .hint("Call sno_feed() in FROM, once in a statement.")
    }

    /// Of an advance whose rows another consumer may have had, too.
    pub(super) fn not_peeked(self) -> Error {
        let message = format!("feed \"{}\" was not peeked at in this transaction", shown(self.name));
        Error::new(SqlState::ERRCODE_NO_ACTIVE_SQL_TRANSACTION, message)
            .detail("Work that is done in the transaction of the advance can be done twice.")
            .hint("Call sno_peek_feed() in the same transaction, or advance by a statement of its own, with autocommit.")
    }

    pub(super) fn moved_meanwhile(self) -> Error {
        let message =
            format!("feed \"{}\" was moved since this transaction has peeked at it", shown(self.name));
        Error::new(SqlState::ERRCODE_T_R_SERIALIZATION_FAILURE, message)
            .detail("Another consumer has got the same rows.")
            .hint("Repeat the transaction.")
    }

    /// Of an advance with autocommit.
    pub(super) fn done_before(self, upto: Sno) -> Error {
        let message = format!("rows of feed \"{}\" up to \"{upto}\" were done before", shown(self.name));
        Error::new(SqlState::ERRCODE_WARNING, message)
            .detail("Another consumer may have got the same rows, and done the same.")
            .hint("Without a transaction, start one consumer of a feed only.")
    }

    /// Of a feed whose position was ahead of the clock, since the horizons were lowered.
    pub(super) fn went_back(self, last: Sno) -> Error {
        let position = self.position().map_or_else(String::new, |position| position.to_string());
        let name = shown(self.name);
        let message = format!("feed \"{name}\" goes back from \"{position}\" to \"{last}\"");
        Error::new(SqlState::ERRCODE_WARNING, message)
            .detail("The clock is behind the one by which it was read: so that it misses no row, those between these IDs come again.")
            .hint("Have its consumer ignore the rows that it has. Programs that have stored a horizon go back, too.")
    }

    /// Of a feed that was not moved since the server was promoted, restored or copied.
    pub(super) fn read_elsewhere(self) -> Error {
        let message = format!(
            "feed \"{}\" was not read since this server was promoted, restored, copied or upgraded",
            shown(self.name)
        );
        let after = self.position().map_or_else(String::new, |position| format!(" after \"{position}\""));
        Error::new(SqlState::ERRCODE_WARNING, message)
            .detail(format!("Rows{after} may have been read before: they come again, and receivers can have some that are lost here."))
            .hint("If this is a copy beside its original, stop its consumers before they send to the original's receivers. Otherwise have receivers ignore the IDs that they have.")
    }

    /// Of a feed that is led past a row that has failed.
    pub(super) fn passes_failure(self, failing: Sno, error: Option<String>) -> Error {
        let message = format!("feed \"{}\" passes the row \"{failing}\", which has failed", shown(self.name));
        let warning = Error::new(SqlState::ERRCODE_WARNING, message);
        let warning = error
            .into_iter()
            // Its first line: a consumer wrote it, and more lines would look like a HINT of this server's.
            .filter_map(|error| error.split(char::is_control).next().map(str::to_owned))
            .fold(warning, |warning, error| warning.detail(format!("Its last error: {error}")));
        warning.hint(match self.position() {
            Some(position) => {
                format!("If its work is not done, call sno_seek_feed() with after => '{position}'.")
            }
            None => "If its work is not done, call sno_seek_feed() with since => '-infinity'.".to_owned(),
        })
    }

    /// Of a feed that is led past rows that it has not returned, or may be.
    pub(super) fn passes_rows(self, last: Option<Sno>, is_known: bool) -> Error {
        let name = shown(self.name);
        let message = match is_known {
            true => format!("feed \"{name}\" passes rows that were not read"),
            false => format!("feed \"{name}\" may pass rows that were not read"),
        };
        let [position, last] =
            [self.position(), last].map(|id| id.map_or_else(String::new, |id| id.to_string()));
        Error::new(SqlState::ERRCODE_WARNING, message)
            .detail(format!("It does not return those after \"{position}\" and up to \"{last}\"."))
            .hint(format!("If they are to be read, call sno_seek_feed() with after => '{position}'."))
    }

    /// Of an advance over rows that this transaction was not shown.
    pub(super) fn beyond_batch(self, upto: Sno, peeked: Option<Sno>) -> Error {
        let message = format!("cannot advance feed \"{}\" to \"{upto}\"", shown(self.name));
        Error::new(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, message)
            .detail(match peeked {
                Some(peeked) => format!("This transaction has peeked at the rows up to \"{peeked}\"."),
                None => "This transaction has not peeked at rows up to there.".to_owned(),
            })
            .hint("Use the ID of the last row that is done.")
    }

    /// Of an advance with autocommit.
    pub(super) fn beyond_horizon(self, upto: Sno) -> Error {
        let message = format!("cannot advance feed \"{}\" to \"{upto}\"", shown(self.name));
        Error::new(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, message)
            .detail("Rows can still come before this ID: it is not before the horizon.")
            .hint("Use the ID of the last row that is done.")
    }

    /// Of an advance with autocommit, whose peek may have been before the horizons were lowered.
    pub(super) fn peeked_elsewhere(self, upto: Sno) -> Error {
        let message = format!("cannot advance feed \"{}\" to \"{upto}\"", shown(self.name));
        Error::new(SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .detail("This ID was ahead of the clock when horizons were lowered, and only the session that has peeked at it knows whether rows have come before it since.")
            .hint("Peek again, and advance in the same transaction or session.")
    }

    /// Of a failure of rows that nobody can have got.
    pub(super) fn not_shown(self, upto: Sno) -> Error {
        let message = format!("rows of feed \"{}\" up to \"{upto}\" cannot have failed", shown(self.name));
        Error::new(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, message)
            .detail("Rows can still come before this ID: no peek has returned them.")
            .hint("Use the IDs of the first and the last row that the work was for.")
    }

    /// Of a key that has another name by now, or is gone; another column may have its name.
    pub(super) fn other_key(self) -> Error {
        // SAFETY: a name.
        let key = unsafe { text(self.key.cast_mut_ptr()) };
        let message = format!("key \"{key}\" of feed \"{}\" does not exist", shown(self.name));
        Error::new(SqlState::ERRCODE_UNDEFINED_COLUMN, message)
            .detail("It was renamed or dropped.")
            .hint("Give it its name again, or use sno_drop_feed(), sno_create_feed() and sno_seek_feed().")
    }

    pub(super) fn passed(self, position: Sno) -> Error {
        let message = format!(
            "feed \"{}\" was read up to \"{position}\", and a server that was not asked then has rows before that",
            shown(self.name)
        );
        Error::new(SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .detail(
                "The server has joined since then, or has taken another's place, and its clock was behind.",
            )
            .hint("Call sno_seek_feed() with a time before such rows: what was read since then comes again.")
    }

    pub(super) fn no_progress(self, position: Sno, horizon: Sno) -> Error {
        let message = format!(
            "feed \"{}\" was read up to \"{position}\", which is not before the horizon \"{horizon}\"",
            shown(self.name)
        );
        Error::new(SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .detail("Rows that were not read can come before this position.")
            .hint("Check the clock. Then call sno_seek_feed() with a time before such rows: what was read since then comes again.")
    }
}
