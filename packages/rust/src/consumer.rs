//! The life of a consumer.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use log::{info, warn};
use sno_core::Sno;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, IsolationLevel, Row, Transaction};

use crate::{Error, Options, Tls};

/// The SQLSTATEs, or their classes, of errors that do not come again for ever, as in states.tsv beside the packages.
const AGAIN: &str = "08 25006 25P03 25P04 40 53 55P03 57014 57P";
const SEEK: &str =
    "SELECT sno_seek_feed($1, after => $2::sno) FROM sno_feeds WHERE feed = $1 AND position >= $3::sno";
/// No longer than the server lets a statement take.
const WAIT: &str =
    "CALL sno_wait_feed($1, least($2::interval, 0.8 * nullif(current_setting('statement_timeout')::interval, '0'),
    0.8 * nullif(current_setting('transaction_timeout', true)::interval, '0')))";
const SERVER: &str = r#"SELECT format('as role "%s" in database "%s" of the server at %s, port %s', current_user, current_database(),
    coalesce(host(inet_server_addr()), 'a socket'), current_setting('port'))"#;
/// How long an answer may take: a statement beyond the length of a wait; after the stop.
const PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE_AFTER_STOP: Duration = Duration::from_secs(5);
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
    /// The handler, or the commit of its work, has failed at rows of the batch: the key and the number of the first among its
    /// rows, how many there are, the last key, and how many rows of other keys are before them.
    Failed {
        error: Error,
        start: Sno,
        number: usize,
        count: usize,
        end: Sno,
        before: usize,
    },
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
    /// How often rows have failed and why, by the key and the number among its rows; and small batches, up to a key.
    failures: HashMap<(Sno, usize), (u32, Arc<Error>)>,
    careful_until: Option<Sno>,
    limit: usize,
}

pub(crate) async fn run<T: Tls>(
    config: &Config,
    tls: T,
    [feed, source]: [&str; 2],
    handler: impl AsyncFnMut(&Transaction<'_>, &[Row]) -> Result<(), Error>,
    is_batches: bool,
    options: Options,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Error> {
    if options.batch_size == 0 || options.attempts == 0 || options.timeout.is_zero() {
        return Err("batch size, attempts and timeout must be positive".into());
    }
    let (sender, receiver) = watch::channel(false);
    let limit = options.batch_size.into();
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
        failures: HashMap::new(),
        careful_until: None,
        limit,
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

/// The ID before an ID.
fn previous(id: Sno) -> Sno {
    let number = id.to_bytes().iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    let [.., a, b, c, d, e, f, g, h, i, j] = number.saturating_sub(1).to_be_bytes();
    Sno::from_bytes([a, b, c, d, e, f, g, h, i, j])
}

/// With its causes, of which `tokio_postgres` shows none.
fn shown(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

impl<T: Tls, H: AsyncFnMut(&Transaction<'_>, &[Row]) -> Result<(), Error>> Consumer<'_, T, H> {
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
                Trouble::Failed { error, start, number, count, end, before } => {
                    self.note(error, start, number, count, end, before)?;
                }
                Trouble::Silent => self.check("the server does not answer".into(), None, true)?,
                Trouble::Lost(error) => self.check(error, reason, true)?,
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

    /// The rows of one transaction; or a wait, if there are none.
    async fn work(&mut self, session: &mut Option<Session>) -> Result<(), Trouble> {
        if session.is_none() {
            *session = Some(self.open().await?);
        }
        let Some(Session { client, .. }) = session else { unreachable!("it was opened") };
        let begin =
            client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).read_only(false);
        let transaction = self.own(true, begin.start()).await?;
        self.is_begun = true;
        let (feed, limit) = (self.feed, self.limit as i32);
        let query = format!("SELECT * FROM sno_feed($1, NULL::{}, $2)", self.source);
        let parameters: Parameters<'_> = &[(&feed, Type::TEXT), (&limit, Type::INT4)];
        let rows = self.own(true, transaction.query_typed(&query, parameters)).await?;
        self.has_rows = !rows.is_empty();
        let keys = self.keys(&rows)?;
        let last = self.handle(&transaction, &rows, &keys).await?;
        let committed = async {
            // An error if the handler has ended the transaction, or hidden an error of the server.
            self.own(false, transaction.batch_execute("SAVEPOINT sno")).await?;
            self.own(false, transaction.commit()).await
        };
        match committed.await {
            Err(Trouble::Server(error))
                if !rows.is_empty() && !client.is_closed() && !is_listed(state(&error)) =>
            {
                return Err(self.uncommitted(client, error.into(), last, &keys).await);
            }
            result => result?,
        }
        self.pause = FIRST_PAUSE;
        if let Some(last) = last {
            self.failures.retain(|(key, _), _| *key > last);
            let is_careful = self.careful_until.is_some_and(|key| key > last);
            self.limit = if is_careful { 1 } else { self.options.batch_size.into() };
        } else {
            let seconds = format!("{} s", self.options.timeout.as_secs_f64());
            self.own(true, client.query_typed(WAIT, &[(&feed, Type::TEXT), (&seconds, Type::TEXT)])).await?;
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

    /// What an error of the COMMIT means, or one before it that tells of the transaction.
    async fn uncommitted(&self, client: &Client, error: Error, last: Option<Sno>, keys: &[Sno]) -> Trouble {
        let (first, end) = (keys[0], keys[keys.len() - 1]);
        let error = match state(&*error) {
            // If it was a COMMIT, the rest of the batch counts as read.
            "25P01" => match self.seek(client, last.unwrap_or_else(|| previous(first)), end).await {
                Ok(()) => return Trouble::Final("the handler ended the transaction".into()),
                Err(trouble) => return trouble,
            },
            "25P02" => "the handler went on after an error of the server".into(),
            _ => error,
        };
        // It is one of these rows, for example by a constraint that is deferred.
        Trouble::Failed { error, start: first, number: 0, count: keys.len(), end, before: 0 }
    }

    /// Gives back what is after a key, if the feed has read up to another one.
    async fn seek(&self, client: &Client, after: Sno, read: Sno) -> Result<(), Trouble> {
        let (after, read) = (after.to_string(), read.to_string());
        let parameters: Parameters<'_> =
            &[(&self.feed, Type::TEXT), (&after, Type::TEXT), (&read, Type::TEXT)];
        self.own(false, client.query_typed(SEEK, parameters)).await.map(drop)
    }

    /// Calls the handler for the rows, and returns the last key that is done.
    async fn handle(
        &mut self,
        transaction: &Transaction<'_>,
        rows: &[Row],
        keys: &[Sno],
    ) -> Result<Option<Sno>, Trouble> {
        let (mut last, mut first) = (None, 0);
        let count = if self.is_batches { rows.len().max(1) } else { 1 };
        for index in (0..rows.len()).step_by(count) {
            let (start, end) = (keys[index], keys[index + count - 1]);
            match last {
                None if *self.stop.borrow() => return Err(Trouble::Stopped),
                // The rest is given back to the next consumer, in the transaction that has read it. After several rows of one
                // ID, as a view can have them, the server refuses that.
                Some(done) if *self.stop.borrow() && done != start && first + 1 == index => {
                    self.seek(transaction.client(), done, done).await?;
                    break;
                }
                _ => {}
            }
            if last != Some(start) {
                first = index;
            }
            let number = index - first;
            let result =
                self.call(transaction, &rows[index..index + count], (start, number), start == end).await;
            let is_closed = transaction.client().is_closed();
            match result {
                Ok(()) => last = Some(end),
                Err(error) if is_closed || is_listed(state(&*error)) && state(&*error) != "57014" => {
                    return Err(Trouble::Lost(error));
                }
                Err(error) => {
                    return Err(self.failed(transaction, error, keys, last, [first, index, count]).await);
                }
            }
        }
        Ok(last)
    }

    /// An error of the handler; unless it has also ended the transaction.
    async fn failed(
        &self,
        transaction: &Transaction<'_>,
        error: Error,
        keys: &[Sno],
        last: Option<Sno>,
        [first, index, count]: [usize; 3],
    ) -> Trouble {
        let client = transaction.client();
        if state(&*error) == "25P02" {
            return self.uncommitted(client, error, last, keys).await;
        }
        match self.own(false, client.batch_execute("SAVEPOINT sno")).await {
            Err(Trouble::Server(ended)) if state(&ended) == "25P01" => {
                self.uncommitted(client, ended.into(), last, keys).await
            }
            // The handler can know of a lost connection before the client does.
            Err(Trouble::Server(lost)) if state(&lost) != "25P02" => Trouble::Lost(error),
            Err(trouble @ (Trouble::Stopped | Trouble::Silent)) => trouble,
            _ => {
                let (start, end) = (keys[index], keys[index + count - 1]);
                Trouble::Failed { error, start, number: index - first, count, end, before: first }
            }
        }
    }

    async fn call(
        &mut self,
        transaction: &Transaction<'_>,
        rows: &[Row],
        place: (Sno, usize),
        is_one: bool,
    ) -> Result<(), Error> {
        match (self.failures.get(&place), &mut self.options.on_poison) {
            (Some((tries, error)), Some(pass)) if *tries >= self.options.attempts && is_one => {
                let error = Arc::clone(error);
                for row in rows {
                    pass(transaction, row, &error).await?;
                }
                Ok(())
            }
            _ => (self.handler)(transaction, rows).await,
        }
    }

    /// Counts a failure, and returns its error if that is the end.
    fn note(
        &mut self,
        error: Error,
        start: Sno,
        number: usize,
        count: usize,
        end: Sno,
        before: usize,
    ) -> Result<(), Error> {
        let (error, mut tries) = (Arc::new(error), 1);
        // A failure of several keys counts for none of them.
        for number in number..number + if start == end { count } else { 0 } {
            let failure = self.failures.entry((start, number)).or_insert_with(|| (0, Arc::clone(&error)));
            // What the handler has returned, and not on_poison.
            if failure.0 < self.options.attempts {
                failure.1 = Arc::clone(&error);
            }
            failure.0 += 1;
            tries = failure.0;
        }
        warn!("feed {}: failure {tries} at {start}: {}", self.feed, shown(&**error));
        if tries >= self.options.attempts && before == 0 && start == end && self.options.on_poison.is_none() {
            self.failures.clear();
            return Err(Arc::into_inner(error).expect("nobody else has it"));
        }
        // What is before it is committed by itself, then it is tried alone.
        self.careful_until = self.careful_until.max(Some(end));
        self.limit = before.max(1);
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
