//! What is known of a column: what it shows, and what follows for the rows that it would be the key of.

use pgrx::pg_sys::{Oid, Query};

use crate::sno::feed::columns::query::Place;

/// A column of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) table: Oid,
    pub(super) number: i16,
}

#[derive(Clone, Copy)]
pub(super) struct Origin {
    pub(super) shows: Shows,
    /// If it is one of a view of changes.
    pub(super) of_change: Option<OfChange>,
    pub(super) rows: Rows,
}

/// What a column shows in the end.
#[derive(Clone, Copy)]
pub(super) enum Shows {
    Column(Column),
    /// Something else, or a column of several tables: with one of the columns that it reads, and its window, if it has them.
    Expression {
        reads: Option<Column>,
        window: Option<Window>,
    },
}

/// Which rows change what a window function returns for a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Window {
    /// Only those that are before it in ascending order of this column.
    Before(Column),
    Any,
}

/// What a column of a view of changes shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OfChange {
    /// The key of the change, or of the row: the log has it, and it stays.
    Key,
    /// The row, as it is now.
    Row,
}

/// Of rows with this key.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// Feeds return no row without a key.
    pub(super) can_be_null: bool,
    pub(super) fault: Option<Fault>,
    pub(super) passing: Option<Passing>,
}

/// What makes the rows of a view no feed.
#[derive(Clone, Copy)]
pub(super) struct Fault {
    pub(super) view: Oid,
    pub(super) kind: &'static Kind,
}

/// What is wrong with a view, and what to do, as messages say it.
pub(super) struct Kind {
    pub(super) what: &'static str,
    pub(super) hint: &'static str,
}

/// A view whose condition can become true of a row later.
#[derive(Clone, Copy)]
pub(super) struct Passing {
    pub(super) view: Oid,
    /// By an UPDATE of this column; without one, by what the time is, who asks, or which other rows there are.
    pub(super) by: Option<Column>,
}

/// A query of a view, and what the walk finds of the columns of its tables.
pub(super) struct Body<'a> {
    pub(super) view: Oid,
    pub(super) query: &'a Query,
    pub(super) origin: &'a dyn Fn(Place) -> Origin,
}

impl Kind {
    pub(super) fn of(&'static self, view: Oid) -> Fault {
        Fault { view, kind: self }
    }
}

impl Shows {
    pub(super) fn column(self) -> Option<Column> {
        match self {
            Self::Column(column) => Some(column),
            Self::Expression { .. } => None,
        }
    }

    pub(super) fn reads(self) -> Option<Column> {
        match self {
            Self::Column(column) => Some(column),
            Self::Expression { reads, .. } => reads,
        }
    }

    pub(super) fn window(self) -> Option<Window> {
        match self {
            Self::Column(_) => None,
            Self::Expression { window, .. } => window,
        }
    }
}

impl Origin {
    /// Of an expression: it cannot be null, as far as is known.
    pub(super) const EXPRESSION: Self = Self {
        shows: Shows::Expression { reads: None, window: None },
        of_change: None,
        rows: Rows { can_be_null: false, fault: None, passing: None },
    };

    pub(super) fn faulty(fault: Fault) -> Self {
        Self { rows: Rows { fault: Some(fault), ..Self::EXPRESSION.rows }, ..Self::EXPRESSION }
    }

    /// Of what is made of two columns: of a UNION, whose rows are those of both queries, or an expression.
    pub(super) fn and(self, other: Self) -> Self {
        let window = match (self.shows.window(), other.shows.window()) {
            (Some(one), Some(other)) if one != other => Some(Window::Any),
            (one, other) => one.or(other),
        };
        Self {
            shows: Shows::Expression { reads: self.shows.reads().or(other.shows.reads()), window },
            of_change: self.of_change.or(other.of_change),
            rows: Rows {
                can_be_null: self.rows.can_be_null || other.rows.can_be_null,
                fault: self.rows.fault.or(other.rows.fault),
                passing: Passing::graver(self.rows.passing, other.rows.passing),
            },
        }
    }
}

impl Passing {
    /// The one that more can change: by more than an UPDATE of a column, if one is so.
    pub(super) fn graver(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) if one.by.is_some() => Some(other),
            _ => one.or(other),
        }
    }
}
