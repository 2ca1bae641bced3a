//! The life of a consumer.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use log::{info, warn};
use sno_core::Sno;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Row};

use crate::{Error, Options, Tls};

/// The SQLSTATEs, or their classes, of errors that do not come again for ever, as in states.tsv beside the packages.
const AGAIN: &str = "08 25006 25P03 25P04 40 53 55P03 57014 57P";
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
const ADVANCE: &str = "SELECT sno_advance_feed($1, $2::sno, $3::regclass)";
const FAIL: &str = "SELECT sno_fail_feed($1, $2::sno, $3, $4::sno, source => $5::regclass)";
/// No longer than the server lets a statement take.
const WAIT: &str =
    "CALL sno_wait_feed($1, least($2::interval, 0.8 * nullif(current_setting('statement_timeout')::interval, '0'),
    0.8 * nullif(current_setting('transaction_timeout', true)::interval, '0')), source => $3::regclass)";
const SERVER: &str = r#"SELECT format('as role "%s" in database "%s" of the server at %s, port %s', current_user, current_database(),
    coalesce(host(inet_server_addr()), 'a socket'), current_setting('port'))"#;
/// How long an answer may take: a statement beyond the length of a wait; after the stop.
const PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE_AFTER_STOP: Duration = Duration::from_secs(5);
const HIDDEN: &str = "the handler went on after an error of the server";
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// With their types, so that nothing is prepared, which a statement of PgBouncer's transaction mode could not have.
type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// Why a transaction, or a wait, has ended.
enum Trouble {
    Stopped,
    Silent,
    Server(tokio_postgres::Error),
    /// The handler has failed together with its connection or transaction, and not because of the row.
    Lost(Error),
    /// The handler, or the commit of its work, has failed at rows from one key up to another.
    Failed(Error, [Sno; 2]),
    Final(Error),
}

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Server(error)
    }
}

/// A client, and the task that reads from its connection.
struct Session {
    client: Client,
    connection: JoinHandle<Option<tokio_postgres::Error>>,
}

/// The end of the connection rolls back an open transaction.
impl Drop for Session {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

struct Consumer<'a, T, H> {
    config: &'a Config,
    tls: T,
    feed: &'a str,
    source: &'a str,
    handler: H,
    is_batches: bool,
    options: Options,
    stop: watch::Receiver<bool>,
    pause: Duration,
    has_connected: bool,
    is_begun: bool,
    has_rows: bool,
    /// Whether the last error was another one than those of [`AGAIN`].
    has_other_error: bool,
    /// The key that has failed too often, and why.
    poison: Option<(Sno, Error)>,
}

pub(crate) async fn run<T: Tls>(
    config: &Config,
    tls: T,
    [feed, source]: [&str; 2],
    handler: impl AsyncFnMut(&Client, &[Row]) -> Result<(), Error>,
    is_batches: bool,
    options: Options,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Error> {
    if options.batch_size == 0 || options.attempts == 0 || options.timeout.is_zero() {
        return Err("batch size, attempts and timeout must be positive".into());
    }
    let (sender, receiver) = watch::channel(false);
    let mut consumer = Consumer {
        config,
        tls,
        feed,
        source,
        handler,
        is_batches,
        options,
        stop: receiver,
        pause: FIRST_PAUSE,
        has_connected: false,
        is_begun: false,
        has_rows: false,
        has_other_error: false,
        poison: None,
    };
    let stopping = tokio::spawn(async move {
        stop.await;
        sender.send_replace(true);
        sender.closed().await;
    });
    let result = consumer.run().await;
    stopping.abort();
    result
}

/// The SQLSTATE of an error, or that of what it comes from.
fn state<'a>(mut error: &'a (dyn std::error::Error + 'static)) -> &'a str {
    loop {
        if let Some(error) = error.downcast_ref::<tokio_postgres::Error>() {
            return error.code().map_or("", |code| code.code());
        }
        match error.source() {
            Some(source) => error = source,
            None => return "",
        }
    }
}

fn is_listed(state: &str) -> bool {
    AGAIN.split(' ').any(|prefix| state.starts_with(prefix))
}

fn typed<'a>(text: &'a &str) -> (&'a (dyn ToSql + Sync), Type) {
    (text, Type::TEXT)
}

/// With its causes, of which `tokio_postgres` shows none.
fn shown(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

impl<T: Tls, H: AsyncFnMut(&Client, &[Row]) -> Result<(), Error>> Consumer<'_, T, H> {
    async fn run(&mut self) -> Result<(), Error> {
        let mut session = None;
        loop {
            (self.is_begun, self.has_rows) = (false, false);
            let Err(trouble) = self.work(&mut session).await else { continue };
            let reason = match &mut session {
                Some(Session { client, connection }) if client.is_closed() => connection.await.ok().flatten(),
                _ => None,
            };
            let is_lost = session.as_ref().is_none_or(|session: &Session| session.client.is_closed());
            match trouble {
                Trouble::Stopped => return Ok(()),
                Trouble::Final(error) => return Err(error),
                Trouble::Silent => self.check("the server does not answer".into(), None, true)?,
                Trouble::Lost(error) | Trouble::Failed(error, _) => self.check(error, reason, true)?,
                Trouble::Server(error) => {
                    let is_lost = is_lost && error.code().is_none();
                    self.check(error.into(), reason, is_lost)?;
                }
            }
            session = None;
            let pause = self.pause.mul_f64(0.5 + fastrand::f64() / 2.0);
            if timeout(pause, self.stop.wait_for(|is_stopped| *is_stopped)).await.is_ok() {
                return Ok(());
            }
            self.pause = (self.pause * 2).min(MAX_PAUSE);
        }
    }

    /// A statement of the consumer's own. Unless it is stoppable, the stop leaves it some time.
    async fn own<R>(
        &self,
        is_stoppable: bool,
        statement: impl Future<Output = Result<R, tokio_postgres::Error>>,
    ) -> Result<R, Trouble> {
        let (mut statement, mut stop) = (pin!(statement), self.stop.clone());
        if is_stoppable && *stop.borrow() {
            return Err(Trouble::Stopped);
        }
        tokio::select! {
            biased;
            result = &mut statement => return Ok(result?),
            () = sleep(self.options.timeout + PATIENCE) => return Err(Trouble::Silent),
            _ = stop.wait_for(|is_stopped| *is_stopped) => {}
        }
        if is_stoppable {
            return Err(Trouble::Stopped);
        }
        timeout(PATIENCE_AFTER_STOP, statement).await.map_err(|_| Trouble::Stopped)?.map_err(Into::into)
    }

    async fn open(&mut self) -> Result<Session, Trouble> {
        let (client, connection) = self.own(true, self.config.connect(self.tls.clone())).await?;
        let session = Session { client, connection: tokio::spawn(async { connection.await.err() }) };
        // The driver looks up types that it does not know, which it cannot in a transaction that has failed by then. It prepares
        // statements for that: through PgBouncer they need a transaction, and names that no other client has left on the server.
        let types = format!("SELECT (NULL::{}).*", self.source);
        self.own(true, session.client.batch_execute("BEGIN; DEALLOCATE ALL")).await?;
        // In PgBouncer's statement mode, the first BEGIN is an error.
        self.has_connected = true;
        self.own(true, session.client.query_typed(&types, &[])).await?;
        self.own(true, session.client.batch_execute("COMMIT")).await?;
        let rows = self.own(true, session.client.query_typed(SERVER, &[])).await?;
        let (feed, source, size, server) =
            (self.feed, self.source, self.options.batch_size, rows[0].try_get::<_, &str>(0)?);
        info!("feed {feed}: reads {source} in batches of {size}, {server}");
        Ok(session)
    }

    async fn work(&mut self, session: &mut Option<Session>) -> Result<(), Trouble> {
        if session.is_none() {
            *session = Some(self.open().await?);
        }
        let Some(Session { client, .. }) = session else { unreachable!("it was opened") };
        match self.batch(client).await {
            Err(Trouble::Failed(error, keys)) => self.fail(client, error, keys).await,
            result => result,
        }
    }

    /// The rows of one call; or a wait, if there are none.
    async fn batch(&mut self, client: &Client) -> Result<(), Trouble> {
        if !self.options.autocommit {
            self.own(true, client.batch_execute(BEGIN)).await?;
        }
        self.is_begun = true;
        let (feed, limit) = (self.feed, i32::from(self.options.batch_size));
        let query = format!("SELECT * FROM sno_peek_feed($1, NULL::{}, $2)", self.source);
        let parameters: Parameters<'_> = &[(&feed, Type::TEXT), (&limit, Type::INT4)];
        let rows = self.own(true, client.query_typed(&query, parameters)).await?;
        self.has_rows = !rows.is_empty();
        let keys = self.keys(&rows)?;
        let done = self.handle(client, &rows, &keys).await?;
        self.acknowledge(client, done, &keys).await?;
        self.poison.take_if(|(key, _)| done >= Some(*key));
        self.pause = FIRST_PAUSE;
        if rows.is_empty() {
            let seconds = format!("{} s", self.options.timeout.as_secs_f64());
            let texts = [feed, &seconds, self.source];
            self.own(true, client.query_typed(WAIT, &texts.each_ref().map(typed))).await?;
        }
        self.has_other_error = false;
        if *self.stop.borrow() { Err(Trouble::Stopped) } else { Ok(()) }
    }

    fn keys(&self, rows: &[Row]) -> Result<Vec<Sno>, Trouble> {
        let Some(first) = rows.first() else { return Ok(Vec::new()) };
        let place = first.columns().iter().position(|column| column.name() == self.options.key);
        let place = place.ok_or_else(|| {
            Trouble::Final(format!("the rows have no column \"{}\"", self.options.key).into())
        })?;
        rows.iter()
            .map(|row| row.try_get(place))
            .collect::<Result<_, _>>()
            .map_err(|error| Trouble::Final(error.into()))
    }

    /// Calls the handler for the rows, and returns the last key that is done.
    async fn handle(&mut self, client: &Client, rows: &[Row], keys: &[Sno]) -> Result<Option<Sno>, Trouble> {
        let (mut done, count) = (None, if self.is_batches { rows.len().max(1) } else { 1 });
        for (rows, part) in rows.chunks(count).zip(keys.chunks(count)) {
            let [first, last] = [part[0], part[part.len() - 1]];
            // The rest is for the next consumer. The rows of one key, of which a table can have several, belong together.
            if *self.stop.borrow() && done != Some(first) {
                break;
            }
            let is_poison = self.poison.as_ref().is_some_and(|(key, _)| [first, last] == [*key, *key]);
            if is_poison && self.options.on_poison.is_none() {
                match self.poison.take_if(|_| done.is_none()) {
                    Some((_, error)) => return Err(Trouble::Final(error)),
                    None => break,
                }
            }
            if let Some(done) = done.filter(|&done| self.options.autocommit && done != first) {
                self.advance(client, done).await?;
            }
            if let Err(error) = self.call(client, rows, is_poison).await {
                let state = state(&*error);
                if client.is_closed() || is_listed(state) && state != "57014" {
                    return Err(Trouble::Lost(error));
                }
                if state == "25P02" && !self.options.autocommit {
                    // It was in one of the rows before.
                    return Err(Trouble::Failed(HIDDEN.into(), [keys[0], last]));
                }
                return Err(Trouble::Failed(error, [first, last]));
            }
            done = Some(last);
        }
        if done.is_none() && *self.stop.borrow() { Err(Trouble::Stopped) } else { Ok(done) }
    }

    async fn call(&mut self, client: &Client, rows: &[Row], is_poison: bool) -> Result<(), Error> {
        match (&self.poison, &mut self.options.on_poison) {
            (Some((_, error)), Some(pass)) if is_poison => {
                for row in rows {
                    pass(client, row, error).await?;
                }
                Ok(())
            }
            _ => (self.handler)(client, rows).await,
        }
    }

    async fn advance(&self, client: &Client, done: Sno) -> Result<(), Trouble> {
        let texts = [self.feed, &done.to_string(), self.source];
        let rows = self.own(false, client.query_typed(ADVANCE, &texts.each_ref().map(typed))).await?;
        if self.options.autocommit && !rows[0].get::<_, bool>(0) {
            return Err(Trouble::Lost("another consumer has sent the same rows".into()));
        }
        Ok(())
    }

    /// Rows up to a key are done, in one transaction with the work, if there is one.
    async fn acknowledge(&self, client: &Client, done: Option<Sno>, keys: &[Sno]) -> Result<(), Trouble> {
        let is_transaction = !self.options.autocommit;
        let acknowledged = async {
            if let Some(done) = done {
                if is_transaction {
                    // An error if the handler has ended the transaction, or hidden an error of the server.
                    self.own(false, client.batch_execute("SAVEPOINT sno; RELEASE sno")).await?;
                }
                self.advance(client, done).await?;
            }
            if is_transaction { self.own(false, client.batch_execute("COMMIT")).await } else { Ok(()) }
        };
        match (acknowledged.await, done) {
            (Err(Trouble::Server(error)), Some(done))
                if is_transaction && !client.is_closed() && !is_listed(state(&error)) =>
            {
                let error = match state(&error) {
                    "25P01" => return Err(Trouble::Final("the handler ended the transaction".into())),
                    "25P02" => HIDDEN.into(),
                    _ => error.into(),
                };
                // It is one of these rows, for example by a constraint that is deferred.
                Err(Trouble::Failed(error, [keys[0], done]))
            }
            (result, _) => result,
        }
    }

    /// Has the server count a failure, and remembers what has failed too often.
    async fn fail(&mut self, client: &Client, error: Error, keys: [Sno; 2]) -> Result<(), Trouble> {
        if !self.options.autocommit {
            self.own(false, client.batch_execute("ROLLBACK")).await?;
        }
        let [first, last] = keys.map(|key| key.to_string());
        let texts = [self.feed, &first, &shown(&*error), &last, self.source];
        let rows = self.own(false, client.query_typed(FAIL, &texts.each_ref().map(typed))).await?;
        let tries: i32 = rows[0].try_get(0)?;
        warn!("feed {}: failure {tries} at {first}: {}", self.feed, shown(&*error));
        // What the handler has returned, and not on_poison.
        let is_known = self.poison.as_ref().is_some_and(|(key, _)| *key == keys[0]);
        if tries.unsigned_abs() >= self.options.attempts && !is_known {
            self.poison = Some((keys[0], error));
        }
        Ok(())
    }

    /// Returns an error that does not go away: of the first connection, or another one than those of [`AGAIN`], if it comes twice in a row.
    fn check(
        &mut self,
        error: Error,
        reason: Option<tokio_postgres::Error>,
        is_lost: bool,
    ) -> Result<(), Error> {
        let is_standby = !self.is_begun && state(&*error) == "0A000";
        let is_other = !is_lost && !is_standby && !is_listed(state(&*error));
        if !self.has_connected || is_other && self.has_other_error {
            return Err(error);
        }
        self.has_other_error |= is_other;
        let error = reason.map_or(error, Into::into);
        let is_slow = self.has_rows && matches!(state(&*error), "25P03" | "25P04");
        let advice = if is_slow { " (the handler takes too long: take smaller batches)" } else { "" };
        warn!("feed {}: {}, connecting again in {:?}{advice}", self.feed, shown(&*error), self.pause);
        Ok(())
    }
}
