//! An invoice for each order, exactly once, with `sqlx`: the loop that the libraries' consumers have, as any language can write it.

use std::env;
use std::error::Error;
use std::time::Duration;

use sno_core::Sno;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool};
use sqlx::{Connection as _, query, query_as, query_scalar, raw_sql};
use tokio::time::{sleep, timeout};

/// After these SQLSTATEs, or classes of them, it tries again without end.
const AGAIN: &str = "08 25006 25P03 25P04 40 53 55P03 57014 57P";

#[derive(sqlx::FromRow)]
struct Order {
    id: Sno,
}

async fn bill(order: &Order, connection: &mut PgConnection) -> sqlx::Result<()> {
    query("INSERT INTO invoices (order_id) VALUES ($1)").bind(order.id).execute(connection).await?;
    Ok(())
}

/// The rows of one transaction; or a wait, if there are none.
async fn batch(connection: &mut PgConnection, size: i32) -> sqlx::Result<()> {
    raw_sql("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").execute(&mut *connection).await?;
    let read = "SELECT * FROM sno_feed('billing', NULL::orders, $1)";
    let orders: Vec<Order> = query_as(read).bind(size).fetch_all(&mut *connection).await?;
    for order in &orders {
        bill(order, connection).await?;
    }
    raw_sql("COMMIT").execute(&mut *connection).await?;
    if orders.is_empty() {
        raw_sql("CALL sno_wait_feed('billing', '30 s')").execute(connection).await?;
    }
    Ok(())
}

async fn consume(options: &PgConnectOptions) -> sqlx::Result<()> {
    // With `persistent(false)` instead, `sqlx` loses its statement when it looks up the type `sno` (26000).
    let options = options.clone().statement_cache_capacity(0);
    let (mut connection, mut pause, mut failures) = (None, 0.1, 0);
    loop {
        let work = async {
            if connection.is_none() {
                connection = Some(PgConnection::connect_with(&options).await?);
            }
            // The last time, a row that fails is alone.
            let size = if failures == 0 { 100 } else { 1 };
            batch(connection.as_mut().expect("a connection"), size).await
        };
        // A server that is silent is left.
        let silent = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
        let Err(error) = timeout(Duration::from_secs(40), work).await.map_err(silent).flatten() else {
            (pause, failures) = (0.1, 0);
            continue;
        };
        let state = error.as_database_error().and_then(|error| error.code()).unwrap_or_default();
        let is_standby = state == "0A000" && error.to_string().contains("read-write mode");
        let is_lost = matches!(error, sqlx::Error::Io(_) | sqlx::Error::Protocol(_));
        if !is_lost && !is_standby && !AGAIN.split(' ').any(|prefix| state.starts_with(prefix)) {
            failures += 1;
            if failures == 5 {
                return Err(error);
            }
        }
        eprintln!("{error}, connecting again in {pause} s");
        // The transaction ends with its connection.
        connection = None;
        sleep(Duration::from_secs_f64(pause)).await;
        pause = f64::min(pause * 2.0, 10.0);
    }
}

/// Orders are made while the consumer runs, and connections are lost; the end is when all are billed.
async fn shop(pool: &PgPool) -> sqlx::Result<()> {
    for _ in 0..10 {
        raw_sql(
            "INSERT INTO orders (item) SELECT 'desk' FROM generate_series(1, 70);
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE query ~ 'sno_|invoices' AND pid <> pg_backend_pid()",
        )
        .execute(pool)
        .await?;
        sleep(Duration::from_millis(100)).await;
    }
    while query_scalar::<_, i64>("SELECT count(*) FROM invoices").fetch_one(pool).await? < 700 {
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let options: PgConnectOptions = env::args().nth(1).ok_or("usage: sqlx_feed postgres://…")?.parse()?;
    let pool = PgPool::connect_with(options.clone()).await?;
    raw_sql(
        "CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_new(2), item text);
         CREATE TABLE invoices (order_id sno PRIMARY KEY REFERENCES orders);
         SELECT sno_create_feed('billing', 'orders', margin => '0.1 s')",
    )
    .execute(&pool)
    .await?;

    // A stop drops the loop where it is: then the batch comes again.
    tokio::select! {
        result = consume(&options) => result?,
        result = shop(&pool) => result?,
    }
    assert_eq!(query_scalar::<_, i64>("SELECT count(*) FROM invoices").fetch_one(&pool).await?, 700);
    Ok(())
}
