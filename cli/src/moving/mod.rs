//! `sno move`: moves the keys of tables to sno, or back, while the tables are in use (docs/moving.md). It
//! reads the catalogs into a model, and makes
//! the steps from that, which it runs, or writes as files for psql.

mod catalog;
mod check;
mod connect;
mod expression;
mod model;
mod objects;
mod sql;
mod state;
mod steps;
mod switch;
mod values;
mod wishes;

use std::fmt;
use std::fs;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, FromArgMatches as _, Subcommand, ValueEnum};
use postgres::error::SqlState;
use postgres::types::Oid;
use postgres::{Client, Config};

use model::Model;
use sql::{Name, Remark, sql};
use steps::{Piece, STEPS, Step};
pub use wishes::{Target, Wishes};

/// Where to connect to, and what to do there.
#[derive(Args, Debug)]
pub struct Move {
    /// A database, or a connection string. Without it, the variables PGHOST, PGDATABASE and so on, as for
    /// psql
    #[arg(short, long, global = true)]
    pub dbname: Option<String>,
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Action {
    /// Says what forbids a move, and what it will change. It only reads the catalogs
    Check {
        /// What is to move.
        #[command(flatten)]
        wishes: Wishes,
    },
    /// Writes the steps as files for psql into a folder
    Write {
        /// The folder
        folder: PathBuf,
        /// What is to move.
        #[command(flatten)]
        wishes: Wishes,
    },
    /// Runs a step. What an interrupted run has done is not done again
    Run {
        /// The step
        step: StepName,
        /// What is to move: for the first step.
        #[command(flatten)]
        wishes: Wishes,
    },
    /// Compares each old key and reference with its new one; after the switch also what hangs on the tables
    Verify,
    /// Undoes the switch, or, if that is not made, the steps before it
    Undo,
}

/// A step, in their order.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepName {
    /// Adds the new columns, which triggers fill in rows that are written.
    Columns,
    /// Fills them in rows that are there.
    Fill,
    /// Builds their indexes and constraints.
    Indexes,
    /// Gives them the names of the old columns.
    Switch,
    /// Drops the old columns.
    End,
}

/// What went wrong, for people, line by line.
#[derive(Debug)]
pub struct Failure(Vec<String>, Option<SqlState>);

impl Failure {
    fn new(line: &str) -> Self {
        Self(vec![line.to_owned()], None)
    }
    fn and(mut self, line: String) -> Self {
        self.0.push(line);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(|line| sql::one_line(line)).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Failure {}

impl From<postgres::Error> for Failure {
    fn from(error: postgres::Error) -> Self {
        let Some(found) = error.as_db_error() else {
            let cause =
                std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
            return Self(vec![format!("{error}{cause}")], error.code().cloned());
        };
        let mut text = format!("{}: {}", found.code().code(), found.message());
        for (head, more) in [("DETAIL", found.detail()), ("HINT", found.hint()), ("CONTEXT", found.where_())]
        {
            if let Some(more) = more {
                // PostgreSQL's is to say CASCADE.
                let is_in_use = head == "HINT" && *found.code() == SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
                let more = if is_in_use { "Drop it before, and make it again after." } else { more };
                text.push_str(&format!("\n{head}:  {more}"));
            }
        }
        Self(text.lines().map(str::to_owned).collect(), Some(found.code().clone()))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(&error.to_string())
    }
}

/// What the words after `sno move` say.
///
/// # Errors
///
/// What clap says of them.
pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Move, clap::Error> {
    let command = Move::augment_args(clap::Command::new("sno move").no_binary_name(true));
    Move::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// Does it. What it says goes to `out`; what happens meanwhile, to standard error. Whether a move is
/// possible, for a check.
///
/// # Errors
///
/// What forbids it, or what the server says.
pub fn run(what: &Move, out: &mut impl Write) -> Result<bool, Failure> {
    let config = connect::config(what.dbname.as_deref())?;
    let mut session = Session::open(config)?;
    match &what.action {
        Action::Check { wishes } => {
            let model = session.model(wishes)?;
            out.write_all(check::report(&model).as_bytes())?;
            return Ok(model.refusals().is_empty());
        }
        Action::Write { folder, wishes } => {
            let steps = session.steps(wishes)?;
            out.write_all(session.to_do.as_bytes())?;
            write_files(folder, &steps, &session.head)?;
            writeln!(out, "{} files are written into {}", steps.len(), folder.display())?;
        }
        Action::Run { step: StepName::Columns, wishes } => {
            let steps = session.steps(wishes)?;
            let first = steps.iter().find(|step| step.name == "columns");
            out.write_all(session.to_do.as_bytes())?;
            session.run(&first.ok_or_else(|| session.under_way())?.pieces)?;
            writeln!(out, "done; next: sno move run fill")?;
        }
        Action::Run { step, .. } => {
            let (name, next) = match step {
                StepName::Columns | StepName::Fill => ("fill", "next: sno move run indexes"),
                StepName::Indexes => ("indexes", "next: sno move verify"),
                StepName::Switch => ("switch", "next: sno move run end, or sno move undo"),
                StepName::End => ("end", "nothing of the move is left but the tables with old and new keys"),
            };
            let pieces = session.stored(name)?;
            session.run(&pieces)?;
            writeln!(out, "done; {next}")?;
        }
        Action::Verify => {
            let pieces = session.stored("verify")?;
            session.run(&pieces)?;
            writeln!(out, "nothing differs")?;
        }
        Action::Undo => {
            let columns = session.stored("undo columns")?;
            let is_switched = match columns.last().and_then(|piece| piece.unless.as_deref()) {
                Some(unless) => session.is_true(unless)?,
                None => false,
            };
            let pieces = if is_switched { session.stored("undo switch")? } else { columns };
            session.run(&pieces)?;
            let next = if is_switched {
                "the switch is undone; next: sno move run fill, or sno move undo"
            } else {
                "nothing of the move is left"
            };
            writeln!(out, "{next}")?;
        }
    }
    Ok(true)
}

struct Session {
    client: Client,
    config: Config,
    head: String,
    /// What is for the DBA to do, before a new move.
    to_do: String,
}

/// Of each session, line by line. What the server deparses in one of them is run in another: both have to read
/// strings, dates and names in the same way, whatever a role or a database sets.
const SETTINGS: &str = "\
SET search_path = pg_catalog, pg_temp;
SET row_security = off;
SET jit = off;
SET standard_conforming_strings = on;
SET quote_all_identifiers = off;
SET datestyle = iso;
SET intervalstyle = postgres;
SET extra_float_digits = 3;
SET array_nulls = on;
SET xmloption = content;
SET transform_null_equals = off;
SET default_tablespace = '';
SET default_transaction_isolation = 'read committed';
SET lock_timeout = 0;
SET statement_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_min_messages = warning;
DO $$ BEGIN
    PERFORM set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout';
END $$;
";

impl Session {
    fn open(mut config: Config) -> Result<Self, Failure> {
        config.notice_callback(|notice| tell(notice.message()));
        let client = connect::connect(&config)?;
        Ok(Self { client, config, head: String::new(), to_do: String::new() })
    }

    fn model(&mut self, wishes: &Wishes) -> Result<Model, Failure> {
        let mut transaction = self.client.build_transaction().read_only(true).start()?;
        let catalog = catalog::read(&mut transaction, wishes, SETTINGS)?;
        let reached = model::reach(&catalog, wishes);
        let parts: Vec<_> = reached.parts(&catalog).map(|column| (column.rel, column.attnum)).collect();
        let functions: Vec<Oid> = catalog.named_functions.iter().filter_map(|(_, oid)| *oid).collect();
        let objects = objects::read(&mut transaction, &parts, &functions)?;
        let mut model = Model::new(&catalog, wishes, &reached, objects);
        model.findings.extend(check::read(&mut transaction, &model, &reached)?);
        model.findings.sort();
        model.findings.dedup();
        transaction.rollback()?;
        self.client.batch_execute(SETTINGS)?;
        Ok(model)
    }

    fn is_true(&mut self, condition: &str) -> Result<bool, Failure> {
        Ok(self.client.query_one(&format!("SELECT {condition}"), &[])?.get(0))
    }

    fn under_way(&self) -> Failure {
        Failure::new("a move is under way: go on with sno move run, or say sno move undo")
    }

    /// The steps of the move that is under way, or of a new one.
    fn steps(&mut self, wishes: &Wishes) -> Result<Vec<Step>, Failure> {
        self.client.batch_execute(SETTINGS)?;
        if self.plan()?.is_some() {
            self.head = "a move that is under way".to_owned();
            let later = STEPS[1..].iter();
            return later.map(|(name, ..)| Ok(Step { name, pieces: self.stored(name)? })).collect();
        }
        self.client.batch_execute("RESET search_path")?;
        let model = self.model(wishes)?;
        let refusals = model.refusals();
        if !refusals.is_empty() {
            let head = Failure::new("nothing is written, as some keys cannot move");
            let lines = refusals.iter().map(|f| format!("{} {}: {}", f.what, f.object, f.action));
            return Err(lines.fold(head, Failure::and));
        }
        self.to_do = check::to_do(&model);
        for key in model.keys().filter(|key| model.table(key).relation.kind == "p") {
            self.is_unique(&model, key)?;
        }
        let fingerprint: String =
            self.client.query_one(state::fingerprint(&state::query(&model)).as_str(), &[])?.get(0);
        let later = vec![
            model.fill_step(),
            model.indexes_step(),
            model.verify_step(),
            model.switch_step(),
            model.end_step(),
            model.undo_switch_step(),
            model.undo_columns_step(),
        ];
        let mut counts = Vec::new();
        for key in model.keys().filter(|_| model.counts()) {
            let query = sql!("SELECT count(*) FROM {}", model.table(key).relation.name);
            counts.push(self.client.query_one(query.as_str(), &[])?.get(0));
        }
        let first = model.columns_step(&later, &fingerprint, &counts);
        let keys: Vec<_> = model
            .keys()
            .map(|key| format!("{}.{}", model.table(key).relation.name, key.column.name))
            .collect();
        self.head = format!("keys of the database {}: {}", model.catalog.session.database, keys.join(", "));
        Ok(std::iter::once(first).chain(later).collect())
    }

    /// No unique index of a partitioned table can say this.
    fn is_unique(&mut self, model: &Model, key: &model::Moved) -> Result<(), Failure> {
        let (table, name) = (&model.table(key).relation.name, &key.column.name);
        let row = self
            .client
            .query_one(sql!("SELECT count(*) <> count(DISTINCT {}) FROM {}", name, table).as_str(), &[])?;
        if row.get(0) {
            return Err(Failure::new(&format!(
                "nothing is written, as several rows of {table} have the same \"{name}\""
            )));
        }
        Ok(())
    }

    fn plan(&mut self) -> Result<Option<Name>, Failure> {
        let row = self.client.query_opt(catalog::PLAN, &[])?;
        Ok(row.map(|row| Name::new(row.get(0), "sno_move_plan")))
    }

    fn stored(&mut self, step: &str) -> Result<Vec<Piece>, Failure> {
        self.client.batch_execute(SETTINGS)?;
        let Some(plan) = self.plan()? else {
            let others = "EXISTS (SELECT FROM pg_class WHERE relname = 'sno_move_plan' AND relkind = 'r')";
            return Err(Failure::new(if self.is_true(others)? {
                "a move of another role is under way: connect as the owner of its tables"
            } else {
                "no move is under way: begin with sno move run columns"
            }));
        };
        let query = sql!("SELECT unless, sql FROM {} WHERE step = $1 ORDER BY place", plan);
        let rows = self.client.query(query.as_str(), &[&step])?;
        Ok(rows.iter().map(|row| Piece { unless: row.get("unless"), sql: row.get("sql") }).collect())
    }

    /// Settings, and the lock that says that a program is at work. One that was ended may have it for a moment.
    fn prepare(&mut self) -> Result<(), Failure> {
        self.client.batch_execute(SETTINGS)?;
        for _ in 0..20 {
            if self.is_true("pg_try_advisory_lock(hashtext('sno move'))")? {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(100));
        }
        // Any role can have it.
        let holder = "SELECT format('process %s of role %s (%s)', pid, usename, application_name)
            FROM pg_locks JOIN pg_stat_activity USING (pid)
            WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND datname = current_database()
                AND objid = hashtext('sno move')::bit(32)::bigint::oid LIMIT 1";
        let holder = self.client.query_opt(holder, &[])?.map_or_else(String::new, |row| row.get(0));
        let text = "another sno move is at work in this database: wait until it has ended";
        Err(Failure::new(text).and(format!("DETAIL:  Its lock has {holder}.")))
    }

    /// Runs what is not done yet. Waits for locks, and connects again.
    fn run(&mut self, pieces: &[Piece]) -> Result<(), Failure> {
        self.prepare()?;
        let began = Instant::now();
        for (n, piece) in pieces.iter().enumerate() {
            let mut tries = 0;
            while let Err(failure) = self.send(piece) {
                tries += 1;
                let is_locked = failure.1.as_ref().is_some_and(|code| {
                    [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED].contains(code)
                        || piece.is_transaction() && *code == SqlState::QUERY_CANCELED
                });
                if !(is_locked || self.client.is_closed()) || tries > 300 {
                    let is_gone = failure.1 == Some(SqlState::UNDEFINED_TABLE);
                    let hint = "HINT:  If it was renamed, give it back its name. If it was dropped, make an empty table of \
                                this name, with the columns that the steps ask for, and say sno move undo.";
                    return Err(if is_gone { failure.and(hint.to_owned()) } else { failure });
                }
                tell(&format!("{}; trying again ({tries})", failure.0[0]));
                // Others that were queued go first.
                thread::sleep(Duration::from_millis(200 + 100 * tries.min(18)));
                if self.client.is_closed() {
                    if let Ok(client) = connect::connect(&self.config) {
                        self.client = client;
                        if let Err(failure) = self.prepare()
                            && !self.client.is_closed()
                        {
                            return Err(failure);
                        }
                    }
                } else if piece.is_transaction() {
                    self.client.batch_execute("ROLLBACK")?;
                }
            }
            if began.elapsed() > Duration::from_secs(1) && io::stderr().is_terminal() {
                tell(&format!("{} of {} pieces", n + 1, pieces.len()));
            }
        }
        if io::stderr().is_terminal() {
            eprintln!();
        }
        Ok(())
    }

    fn send(&mut self, piece: &Piece) -> Result<(), Failure> {
        if let Some(unless) = &piece.unless
            && self.is_true(unless)?
        {
            return Ok(());
        }
        for sql in &piece.sql {
            self.client.batch_execute(sql)?;
        }
        Ok(())
    }
}

/// One line that changes, or lines of their own where that is no terminal.
fn tell(text: &str) {
    let text = sql::one_line(text);
    let mut err = io::stderr().lock();
    let _ = if err.is_terminal() { write!(err, "\r\x1b[K{text}") } else { writeln!(err, "{text}") };
    let _ = err.flush();
}

fn write_files(folder: &Path, steps: &[Step], head: &str) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    for step in steps {
        let found = STEPS.iter().find(|(name, ..)| *name == step.name);
        let (_, file, title) = found.expect("each step has a file");
        let mut text = sql!(
            "\\encoding UTF8\n{}\n{}\n{}\n\\set ON_ERROR_STOP on\n",
            Remark(format!("{file}: {title}.")),
            Remark(head.to_owned()),
            "-- For psql -X -f. Waits half a second for its locks: if it fails, run it again; what is done is not\n\
             -- done twice.",
        )
        .to_string();
        text.push_str(SETTINGS);
        for piece in &step.pieces {
            let sql = sql::for_psql(&piece.sql.join("\n"));
            match &piece.unless {
                Some(unless) => text.push_str(&format!(
                    "SELECT NOT ({unless}) AS is_to_do \\gset\n\\if :is_to_do\n{sql}\n\\endif\n"
                )),
                None => text.push_str(&format!("{sql}\n")),
            }
        }
        fs::write(folder.join(format!("{file}.sql")), text)?;
    }
    Ok(())
}
