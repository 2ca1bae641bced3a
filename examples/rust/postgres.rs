//! The driver `postgres`, which is `tokio-postgres` behind a blocking face, with `sno-core`'s feature
//! `postgres-types`.

use std::env;
use std::error::Error;
use std::time::{Duration, SystemTime};

use postgres::{Client, NoTls};
use sno_core::Sno;

fn main() -> Result<(), Box<dyn Error>> {
    let server = env::args().nth(1).ok_or("usage: postgres 'host=localhost dbname=… user=…'")?;
    let mut client = Client::connect(&server, NoTls)?;
    client.batch_execute("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")?;

    let row = client.query_one("INSERT INTO events (payload) VALUES ($1) RETURNING id", &[&"first"])?;
    let id: Sno = row.get("id");
    client.query_one("SELECT payload FROM events WHERE id = $1", &[&id])?;
    client.query_one("SELECT payload FROM events WHERE id = ANY($1)", &[&vec![id]])?;

    assert_eq!(id.metabyte(), 1);
    assert!(SystemTime::now().duration_since(id.tick().into())? < Duration::from_secs(60));
    // As text and as bytea it goes both ways, too.
    let query =
        "SELECT id::text, id::bytea, NULL::sno FROM events WHERE id = $1::text::sno AND id = $2::bytea::sno";
    let row = client.query_one(query, &[&id, &id])?;
    assert_eq!((row.get::<_, Sno>(0), row.get::<_, Sno>(1)), (id, id));
    assert_eq!((row.get::<_, String>(0), row.get::<_, &[u8]>(1)), (id.to_string(), id.as_ref()));
    assert_eq!(row.get::<_, Option<Sno>>(2), None);

    let old: Vec<Sno> = (0..5).map(|n| Sno::from_bytes([0, 0, 0, 0, 2, 7, 0, 0, 0, n])).collect();
    client.execute("INSERT INTO events SELECT id, 'old' FROM unnest($1::sno[]) id", &[&old])?;
    let row = client.query_one("SELECT array_agg(id ORDER BY id) || NULL::sno FROM events", &[])?;
    let all: Vec<Option<Sno>> = row.get(0);
    assert_eq!(all, old.iter().copied().map(Some).chain([Some(id), None]).collect::<Vec<_>>());

    // A range of time, by times or by bounds.
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    let recent = client.query("SELECT id FROM events WHERE id >= $1::timestamptz", &[&hour_ago])?;
    assert_eq!(recent.iter().map(|row| row.get(0)).collect::<Vec<Sno>>(), [id]);
    let recent = client.query("SELECT id FROM events WHERE id >= sno_lower($1)", &[&hour_ago])?;
    assert_eq!(recent.iter().map(|row| row.get(0)).collect::<Vec<Sno>>(), [id]);

    // A kind's domain, and arrays of it.
    client.batch_execute(
        "CREATE DOMAIN event_id AS sno CHECK (sno_metabyte(VALUE) = 1);
         CREATE TABLE kinds (id event_id PRIMARY KEY, others event_id[], plain sno[])",
    )?;
    client.execute("INSERT INTO kinds VALUES ($1, $2, $3)", &[&id, &vec![Some(id), None], &vec![id]])?;
    let row = client.query_one(
        "SELECT id, others, plain FROM kinds WHERE id = $1 AND id = $2::event_id AND others = $3",
        &[&id, &id, &vec![Some(id), None]],
    )?;
    assert_eq!(row.get::<_, Sno>(0), id);
    assert_eq!((row.get(1), row.get(2)), (vec![Some(id), None], vec![id]));

    // Any other type is refused before anything is sent.
    assert!(client.query("SELECT $1::uuid", &[&id]).is_err());
    Ok(())
}
