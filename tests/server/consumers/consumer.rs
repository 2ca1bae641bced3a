//! A consumer that does to each row what its payload says, for `consumers.rs`.

use std::collections::HashMap;
use std::env;
use std::process::exit;
use std::sync::Mutex;
use std::time::Duration;

use sno_consumer::{Error, Options, consume, consume_batches};
use sno_tests::sno_core::Sno;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, NoTls, Row};

/// How often each row was handled.
static SEEN: Mutex<Option<HashMap<String, u32>>> = Mutex::new(None);

fn see(key: impl ToString) -> u32 {
    let mut seen = SEEN.lock().unwrap();
    let times = seen.get_or_insert_default().entry(key.to_string()).or_default();
    *times += 1;
    *times
}

fn has(option: &str) -> bool {
    env::args().any(|argument| argument == option)
}

/// Without a transaction, what fails would stay.
async fn act(client: &Client, row: &Row) -> Result<(), Error> {
    if has("autocommit") {
        act_by_payload(client, row).await?;
        return copy(client, row).await;
    }
    copy(client, row).await?;
    act_by_payload(client, row).await
}

async fn copy(client: &Client, row: &Row) -> Result<(), Error> {
    let (id, payload): (Sno, &str) = (row.try_get("id")?, row.try_get("payload")?);
    let copy = "INSERT INTO copy (id, payload) VALUES ($1::sno, $2)";
    client.execute_typed(copy, &[(&id.to_string(), Type::TEXT), (&payload, Type::TEXT)]).await?;
    Ok(())
}

async fn act_by_payload(client: &Client, row: &Row) -> Result<(), Error> {
    let (id, payload): (Sno, &str) = (row.try_get("id")?, row.try_get("payload")?);
    let times = see(id);
    let (what, argument) = payload.split_once(' ').unwrap_or((payload, ""));
    let number = argument.parse().unwrap_or(0.0);
    match what {
        "fail" if times <= number as u32 => return Err(payload.into()),
        "flaky" if times == 2 || times == 3 => return Err(payload.into()),
        "poison" => return Err(payload.into()),
        "settled" | "returned" | "pending" | "lazy" if times <= number as u32 => {
            return [Ok(()), Err(payload.into())].into_iter().collect();
        }
        "slow" | "idle" if what == "slow" || times == 1 => {
            println!("{payload}");
            sleep(Duration::from_secs_f64(number)).await;
        }
        "exit" => panic!("exit"),
        "sqlstate" if times <= if argument == "57014" { 1 } else { 3 } => {
            let raise = format!("DO $$ BEGIN RAISE EXCEPTION SQLSTATE '{argument}'; END $$");
            client.batch_execute(&raise).await?;
        }
        "cut" if times <= number as u32 => {
            let _ = client.batch_execute("SELECT pg_terminate_backend(pg_backend_pid())").await;
            return Err(payload.into());
        }
        "commit" | "rollback" => {
            client.batch_execute(what).await?;
            if argument == "fail" {
                return Err(payload.into());
            }
        }
        "swallow" if times == 1 => drop(client.batch_execute("SELECT 1/0").await),
        _ => {}
    }
    Ok(())
}

/// What a copy does with a change.
async fn follow(client: &Client, row: &Row) -> Result<(), Error> {
    let id: i32 = row.try_get("id")?;
    client.execute("DELETE FROM items_copy WHERE id = $1", &[&id]).await?;
    let copy = "INSERT INTO items_copy SELECT * FROM items WHERE id = $1";
    client.execute(copy, &[&id]).await?;
    Ok(())
}

async fn pass(client: &Client, row: &Row, error: &Error) -> Result<(), Error> {
    if row.try_get("payload").ok() == Some("poison late") && see("poison late") == 1 {
        return Err("late".into());
    }
    let id: Sno = row.try_get("id")?;
    let failure = "INSERT INTO failures VALUES ($1::sno, $2)";
    let text = [(&id.to_string() as _, Type::TEXT), (&error.to_string() as _, Type::TEXT)];
    client.execute_typed(failure, &text).await?;
    Ok(())
}

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("sno")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            eprintln!("{}", record.args());
        }
    }

    fn flush(&self) {}
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    log::set_logger(&Logger).unwrap();
    log::set_max_level(log::LevelFilter::Info);
    let variable = |name| env::var(name).unwrap();
    let mut config = Config::new();
    config.host(variable("PGHOST")).port(variable("PGPORT").parse().unwrap());
    config.user(variable("PGUSER")).password(variable("PGPASSWORD")).dbname(variable("PGDATABASE"));
    let mut options =
        Options { batch_size: 20, attempts: 3, timeout: Duration::from_secs(20), ..Options::default() };
    options.autocommit = has("autocommit");
    if has("once") {
        options.attempts = 1;
    }
    if has("brief") {
        options.timeout = Duration::from_secs(1);
    }
    if has("on_poison") {
        options = options.on_poison(|client, row, error| Box::pin(pass(client, row, error)));
    }
    let mut terminated = signal(SignalKind::terminate()).unwrap();
    let stop = async move { terminated.recv().await.unwrap() };
    let result = if has("changes") {
        options.key = "changed".into();
        consume(&config, NoTls, "changes", "items_changes", follow, options, stop).await
    } else if has("batches") {
        let all = async |client: &Client, rows: &[Row]| {
            for row in rows {
                act(client, row).await?;
            }
            Ok(())
        };
        consume_batches(&config, NoTls, "feed", "events", all, options, stop).await
    } else {
        consume(&config, NoTls, "feed", "events", act, options, stop).await
    };
    if let Err(error) = result {
        eprintln!("ended: {error} {error:?}");
        exit(1);
    }
}
