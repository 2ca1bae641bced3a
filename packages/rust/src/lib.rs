//! A consumer of a feed of the PostgreSQL extension `sno`, with `tokio-postgres`: it waits, reads, connects again, stops; the
//! application handles rows.
//!
//! ```no_run
//! use sno_consumer::{Error, Options, consume};
//! use tokio_postgres::{Client, NoTls, Row};
//!
//! async fn bill(client: &Client, order: &Row) -> Result<(), Error> {
//!     let id: sno_core::Sno = order.try_get("id")?;
//!     client.execute("INSERT INTO invoices (order_id) VALUES ($1)", &[&id]).await?;
//!     Ok(())
//! }
//!
//! # async fn example() -> Result<(), Error> {
//! let config = "host=localhost dbname=shop user=app connect_timeout=10".parse()?;
//! let stop = async { tokio::time::sleep(std::time::Duration::from_secs(60)).await };
//! consume(&config, NoTls, "billing", "orders", bill, Options::default(), stop).await
//! # }
//! ```

mod consumer;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config, Row, Socket};

/// Whatever a handler fails with.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The result of a handler that is a closure in a box.
pub type Handled<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

/// A closure that passes a row: [`Options::on_poison`] boxes it.
pub type OnPoison = Box<dyn for<'a> FnMut(&'a Client, &'a Row, &'a Error) -> Handled<'a> + Send>;

/// How a consumer works.
pub struct Options {
    /// The column by which the feed is read: `id` by default.
    pub key: String,
    /// How many rows are read in one transaction: 100 by default.
    pub batch_size: u16,
    /// Leaves no transaction open while the handler works, for what it sends elsewhere: the position is stored after it, and rows can
    /// come again. False by default.
    pub autocommit: bool,
    /// How often the handler may fail at a row before that is poison, which the server counts: 5 by default.
    pub attempts: u32,
    /// How long a wait for new rows lasts: 2 seconds by default. The server goes on with a wait whose consumer has ended.
    pub timeout: Duration,
    /// Called as the handler, and passes a row that is poison. Without it, the handler's error is returned.
    pub on_poison: Option<OnPoison>,
}

impl Default for Options {
    fn default() -> Self {
        let timeout = Duration::from_secs(2);
        Self { key: "id".into(), batch_size: 100, autocommit: false, attempts: 5, timeout, on_poison: None }
    }
}

impl Options {
    /// With this `on_poison`.
    #[must_use]
    pub fn on_poison<F>(mut self, pass: F) -> Self
    where
        F: for<'a> FnMut(&'a Client, &'a Row, &'a Error) -> Handled<'a> + Send + 'static,
    {
        self.on_poison = Some(Box::new(pass));
        self
    }
}

/// What [`consume`] needs of TLS, as `tokio_postgres::connect` does.
pub trait Tls:
    MakeTlsConnect<Socket, Stream: Send, TlsConnect: Send + TlsConnect<Socket, Future: Send>>
    + Clone
    + Send
    + 'static
{
}

impl<T> Tls for T where
    T: MakeTlsConnect<Socket, Stream: Send, TlsConnect: Send + TlsConnect<Socket, Future: Send>>
        + Clone
        + Send
        + 'static
{
}

/// Calls `handler` for each new row of a feed, until `stop` is ready: then it returns after the row that is being handled.
///
/// `source` is the table of the feed, or its view of changes, as SQL writes it. What the handler writes with the client, whose transaction is
/// open unless `autocommit` is set, is committed together with the feed's position, after it has returned `Ok`, once for up to
/// `batch_size` rows.
///
/// # Errors
///
/// That of the first connection; of the handler, if a row is poison and nobody passes it; of a handler that has ended the
/// transaction; any other one that connecting again does not end.
pub async fn consume<T: Tls>(
    config: &Config,
    tls: T,
    feed: &str,
    source: &str,
    mut handler: impl AsyncFnMut(&Client, &Row) -> Result<(), Error>,
    options: Options,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Error> {
    let one = async |client: &Client, rows: &[Row]| handler(client, &rows[0]).await;
    consumer::run(config, tls, [feed, source], one, false, options, stop).await
}

/// [`consume`] with a handler that gets all rows of a transaction at once.
///
/// # Errors
///
/// The same.
pub async fn consume_batches<T: Tls>(
    config: &Config,
    tls: T,
    feed: &str,
    source: &str,
    handler: impl AsyncFnMut(&Client, &[Row]) -> Result<(), Error>,
    options: Options,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Error> {
    consumer::run(config, tls, [feed, source], handler, true, options, stop).await
}
