//! An invoice for each order, exactly once, with `sqlx`: a consumer as any language can write it.

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::time::Duration;

use sno_core::Sno;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool};
use sqlx::{Connection as _, query, query_as, query_scalar, raw_sql};
use tokio::time::{sleep, timeout};

/// SQLSTATEs, or classes of them, after which it tries again without end.
const AGAIN: &str = "08 25006 25P03 25P04 40 53 55P03 57P";

/// So often the work for a row may fail before the row is passed over.
const ATTEMPTS: u32 = 5;

#[derive(sqlx::FromRow)]
struct Order {
    id: Sno,
    item: String,
}

async fn bill(order: &Order, connection: &mut PgConnection) -> sqlx::Result<()> {
    let insert = query("INSERT INTO invoices (order_id, item) VALUES ($1, $2)");
    insert.bind(order.id).bind(&order.item).execute(connection).await?;
    Ok(())
}

/// The rows of one transaction; or a wait, if there are none.
async fn batch(connection: &mut PgConnection, failures: &mut HashMap<Sno, u32>) -> sqlx::Result<()> {
    raw_sql("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").execute(&mut *connection).await?;
    let orders: Vec<Order> =
        query_as("SELECT * FROM sno_feed('billing', NULL::orders, 100)").fetch_all(&mut *connection).await?;
    let mut done = None;
    for order in &orders {
        raw_sql("SAVEPOINT work").execute(&mut *connection).await?;
        match bill(order, connection).await {
            Ok(()) => raw_sql("RELEASE work").execute(&mut *connection).await?,
            Err(error) if is_of_the_server(&error) => return Err(error),
            Err(error) => {
                raw_sql("ROLLBACK TO work").execute(&mut *connection).await?;
                let count = failures.entry(order.id).or_default();
                *count += 1;
                if *count < ATTEMPTS {
                    // What is done is kept, this row and those after it come again.
                    let Some(done) = done else { return Err(error) };
                    let seek = query("SELECT sno_seek_feed('billing', after => $1)");
                    seek.bind(done).execute(&mut *connection).await?;
                    raw_sql("COMMIT").execute(connection).await?;
                    return Ok(());
                }
                let store = query("INSERT INTO failures (order_id, error) VALUES ($1, $2)");
                store.bind(order.id).bind(error.to_string()).execute(&mut *connection).await?
            }
        };
        done = Some(order.id);
    }
    raw_sql("COMMIT").execute(&mut *connection).await?;
    failures.retain(|id, _| Some(*id) > done);
    if orders.is_empty() {
        raw_sql("CALL sno_wait_feed('billing', '30 s')").execute(connection).await?;
    }
    Ok(())
}

/// Whether an error is none of the work, and goes away by itself.
fn is_of_the_server(error: &sqlx::Error) -> bool {
    let state = error.as_database_error().and_then(|error| error.code()).unwrap_or_default();
    let is_standby = state == "0A000" && error.to_string().contains("read-write mode");
    let is_lost = matches!(error, sqlx::Error::Io(_) | sqlx::Error::Protocol(_));
    is_lost || is_standby || AGAIN.split(' ').any(|prefix| state.starts_with(prefix))
}

async fn consume(options: &PgConnectOptions) -> sqlx::Result<()> {
    // With `persistent(false)` instead, `sqlx` loses its statement when it looks up the type `sno` (26000).
    let options = options.clone().statement_cache_capacity(0);
    let (mut connection, mut failures) = (None, HashMap::new());
    let (mut pause, mut other_errors) = (0.1, 0);
    loop {
        let failed = failures.values().sum::<u32>();
        let work = async {
            if connection.is_none() {
                connection = Some(PgConnection::connect_with(&options).await?);
            }
            batch(connection.as_mut().expect("a connection"), &mut failures).await
        };
        // A server that is silent is left.
        let silent = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
        let Err(error) = timeout(Duration::from_secs(40), work).await.map_err(silent).flatten() else {
            (pause, other_errors) = (0.1, 0);
            continue;
        };
        // An error neither of the server nor of the work for a row: the feed is gone, a privilege is missing.
        let is_other = !is_of_the_server(&error) && failures.values().sum::<u32>() == failed;
        other_errors = if is_other { other_errors + 1 } else { 0 };
        if other_errors == 2 {
            return Err(error);
        }
        eprintln!("{error}, connecting again in {pause} s");
        // A transaction that is open ends with its connection.
        connection = None;
        sleep(Duration::from_secs_f64(pause)).await;
        pause = f64::min(pause * 2.0, 10.0);
    }
}

/// Orders are made while the consumer runs, and connections are lost; the end is when all are billed.
async fn shop(pool: &PgPool) -> sqlx::Result<()> {
    for round in 0..10 {
        // The work for three of them fails.
        let insert = "INSERT INTO orders (item) SELECT CASE n WHEN $1 THEN 'nothing' ELSE 'desk' END FROM generate_series(1, 70) n";
        query(insert).bind(if round < 3 { 40 } else { 0 }).execute(pool).await?;
        raw_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ 'sno_|invoices' AND pid <> pg_backend_pid()",
        )
        .execute(pool)
        .await?;
        sleep(Duration::from_millis(100)).await;
    }
    let handled = "SELECT (SELECT count(*) FROM invoices) + (SELECT count(*) FROM failures)";
    while query_scalar::<_, i64>(handled).fetch_one(pool).await? < 700 {
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
         CREATE TABLE invoices (order_id sno PRIMARY KEY REFERENCES orders, item text CHECK (item <> 'nothing'));
         CREATE TABLE failures (order_id sno PRIMARY KEY REFERENCES orders, error text);
         SELECT sno_create_feed('billing', 'orders', margin => '0.1 s')",
    )
    .execute(&pool)
    .await?;

    // A stop drops the loop where it is: then the batch comes again.
    tokio::select! {
        result = consume(&options) => result?,
        result = shop(&pool) => result?,
    }
    assert_eq!(query_scalar::<_, i64>("SELECT count(*) FROM invoices").fetch_one(&pool).await?, 697);
    Ok(())
}
