//! `sqlx`, with `sno-core`'s feature `sqlx`.

use std::env;
use std::error::Error;
use std::time::{Duration, SystemTime};

use sno_core::Sno;
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, FromRow, PgPool, Row as _};

#[derive(FromRow, Debug, PartialEq)]
struct Event {
    id: Sno,
    payload: Option<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = env::args().nth(1).ok_or("usage: sqlx postgres://…")?;
    let pool = PgPoolOptions::new().max_connections(2).connect(&server).await?;
    sqlx::raw_sql("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")
        .execute(&pool)
        .await?;

    let first = "INSERT INTO events (payload) VALUES ($1) RETURNING *";
    let event: Event = sqlx::query_as(first).bind("first").fetch_one(&pool).await?;
    let id = event.id;
    let query = "SELECT * FROM events WHERE id = $1 AND id = ANY($2)";
    let same: Event = sqlx::query_as(query).bind(id).bind(vec![id]).fetch_one(&pool).await?;

    assert_eq!((same.payload.as_deref(), id.metabyte()), (Some("first"), 1));
    assert_eq!(event, same);
    assert!(SystemTime::now().duration_since(id.tick().into())? < Duration::from_secs(60));
    // Without parameters and preparation the server answers as text.
    let row = sqlx::raw_sql("SELECT id, ARRAY[id, NULL] AS ids, NULL::sno AS none FROM events")
        .fetch_one(&pool)
        .await?;
    assert_eq!(row.try_get::<Sno, _>("id")?, id);
    assert_eq!(row.try_get::<Vec<Option<Sno>>, _>("ids")?, [Some(id), None]);
    assert_eq!(row.try_get::<Option<Sno>, _>("none")?, None);

    let old: Vec<Sno> = (0..5).map(|n| Sno::from_bytes([0, 0, 0, 0, 2, 7, 0, 0, 0, n])).collect();
    sqlx::query("INSERT INTO events SELECT id, 'old' FROM unnest($1) id").bind(&old).execute(&pool).await?;
    let all: Vec<Option<Sno>> = sqlx::query_scalar("SELECT array_agg(id ORDER BY id) || $1 FROM events")
        .bind(None::<Sno>)
        .fetch_one(&pool)
        .await?;
    assert_eq!(all, old.iter().copied().map(Some).chain([Some(id), None]).collect::<Vec<_>>());
    // Other types take the ID as what they hold.
    let (text, raw): (String, Vec<u8>) =
        sqlx::query_as("SELECT id::text, id::bytea FROM events WHERE id = $1::text::sno")
            .bind(id.to_string())
            .fetch_one(&pool)
            .await?;
    assert_eq!((text, raw), (id.to_string(), id.to_bytes().to_vec()));

    let (key, last) = (id.to_string(), old[4]);
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);

    let insert = sqlx::query_as("INSERT INTO events (payload) VALUES ($1) RETURNING *").bind("second");
    let event: Event = insert.fetch_one(&pool).await?;
    let lookup = sqlx::query_as("SELECT * FROM events WHERE id = $1").bind(key.parse::<Sno>()?);
    let found: Option<Event> = lookup.fetch_optional(&pool).await?;
    let bound = Sno::lower_bound(hour_ago.duration_since(SystemTime::UNIX_EPOCH)?.as_micros() as i64);
    let since = sqlx::query_as("SELECT * FROM events WHERE id >= $1 ORDER BY id").bind(bound);
    let recent: Vec<Event> = since.fetch_all(&pool).await?;
    let after = sqlx::query_as("SELECT * FROM events WHERE id > $1 ORDER BY id LIMIT 50").bind(last);
    let page: Vec<Event> = after.fetch_all(&pool).await?;

    assert_eq!(found.as_ref(), Some(&same));
    assert_eq!((&recent, &page), (&vec![same, event], &recent));
    sqlx::query("DELETE FROM events WHERE payload = 'second'").execute(&pool).await?;
    assert!("garbage".parse::<Sno>().is_err());

    // A kind's domain, and arrays of it.
    sqlx::raw_sql(
        "CREATE DOMAIN event_id AS sno CHECK (sno_metabyte(VALUE) = 1);
         CREATE TABLE kinds (id event_id PRIMARY KEY, others event_id[], plain sno[])",
    )
    .execute(&pool)
    .await?;
    let insert = sqlx::query("INSERT INTO kinds VALUES ($1, $2, $3)");
    insert.bind(id).bind(vec![Some(id), None]).bind(vec![id]).execute(&pool).await?;
    let query = "SELECT id, others, plain FROM kinds WHERE id = $1 AND others::sno[] = $2";
    let row = sqlx::query(query).bind(id).bind(vec![Some(id), None]).fetch_one(&pool).await?;
    assert_eq!(row.try_get::<Sno, _>(0)?, id);
    assert_eq!(row.try_get::<Vec<Option<Sno>>, _>(1)?, [Some(id), None]);
    assert_eq!(row.try_get::<Vec<Sno>, _>(2)?, [id]);

    // A column of another type is an error, not a guess.
    let row = sqlx::query("SELECT 1::bigint AS id").fetch_one(&pool).await?;
    assert!(row.try_get::<Sno, _>("id").is_err());

    elsewhere(&server, &pool, id).await
}

/// With the extension in a schema that is not searched, results are read all the same. A parameter needs the search path.
async fn elsewhere(server: &str, pool: &PgPool, id: Sno) -> Result<(), Box<dyn Error>> {
    let elsewhere = format!(
        "DROP TABLE events, kinds; DROP DOMAIN event_id; DROP EXTENSION sno; CREATE SCHEMA elsewhere; CREATE EXTENSION sno SCHEMA elsewhere;
         CREATE TABLE events (id elsewhere.sno, payload text); INSERT INTO events VALUES ('{id}', 'first')"
    );
    sqlx::raw_sql(AssertSqlSafe(elsewhere)).execute(pool).await?;
    let mut session = PgPoolOptions::new().connect(server).await?.acquire().await?;
    let query = "SELECT id, ARRAY[id] FROM events WHERE payload = 'first'";
    let found: (Sno, Vec<Sno>) = sqlx::query_as(query).fetch_one(&mut *session).await?;
    assert_eq!(found, (id, vec![id]));
    // A session that has read one knows the type.
    let mut session = PgPoolOptions::new().connect(server).await?.acquire().await?;
    let query = "SELECT id FROM events WHERE id = $1";
    let found = sqlx::query_scalar::<_, Sno>(query).bind(id).fetch_one(&mut *session).await;
    assert!(matches!(found, Err(sqlx::Error::TypeNotFound { .. })), "{found:?}");
    let mut session = PgPoolOptions::new().connect(server).await?.acquire().await?;
    sqlx::raw_sql("SET search_path = public, elsewhere").execute(&mut *session).await?;
    let found: Sno = sqlx::query_scalar(query).bind(id).fetch_one(&mut *session).await?;
    assert_eq!(found, id);
    Ok(())
}
