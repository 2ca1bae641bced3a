//! An invoice for each order, exactly once, with `tokio-postgres`: the program ends at SIGTERM, after the order that it is at.

use std::env;
use std::time::Duration;

use sno_consumer::{Error, Options, consume};
use sno_core::Sno;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;
use tokio_postgres::{Client, Config, NoTls, Row};

async fn connect(config: &Config) -> Result<Client, Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn bill(client: &Client, order: &Row) -> Result<(), Error> {
    let id: Sno = order.try_get("id")?;
    client.execute("INSERT INTO invoices (order_id) VALUES ($1)", &[&id]).await?;
    Ok(())
}

async fn billed(client: &Client) -> Result<i64, Error> {
    Ok(client.query_one("SELECT count(*) FROM invoices", &[]).await?.try_get(0)?)
}

/// Orders are made while the consumer runs, and connections are lost; the end is when all are billed.
async fn shop(client: &Client) -> Result<(), Error> {
    for _ in 0..10 {
        client
            .batch_execute(
                "INSERT INTO orders (item) SELECT 'desk' FROM generate_series(1, 70);
                 SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE query ~ 'sno_|invoices' AND pid <> pg_backend_pid()",
            )
            .await?;
        sleep(Duration::from_millis(100)).await;
    }
    while billed(client).await? < 700 {
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let config: Config = env::args().nth(1).ok_or("usage: feed postgres://…")?.parse()?;
    let client = connect(&config).await?;
    client
        .batch_execute(
            "CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_new(2), item text);
             CREATE TABLE invoices (order_id sno PRIMARY KEY REFERENCES orders);
             SELECT sno_create_feed('billing', 'orders', margin => '0.1 s')",
        )
        .await?;
    let shopper = connect(&config).await?;
    let mut terminated = signal(SignalKind::terminate())?;

    let stop = async move {
        // This program ends when all is done; others at the signal alone.
        tokio::select! {
            _ = terminated.recv() => {}
            result = shop(&shopper) => result.expect("the shop"),
        }
    };
    consume(&config, NoTls, "billing", "orders", bill, Options::default(), stop).await?;

    assert_eq!(billed(&connect(&config).await?).await?, 700);
    Ok(())
}
