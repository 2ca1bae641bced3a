//! Diesel: a SQL type for IDs, with `Sno` as its value in Rust, sent as ten bytes.

use std::io::Write;
use std::time::{Duration, SystemTime};

use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::prelude::*;
use diesel::query_builder::QueryId;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::SqlType;

#[derive(SqlType, QueryId)]
#[diesel(postgres_type(name = "sno"))]
pub struct SnoSql;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, AsExpression, FromSqlRow)]
#[diesel(sql_type = SnoSql)]
struct Sno(sno_core::Sno);

impl FromSql<SnoSql, Pg> for Sno {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        Ok(Sno(sno_core::Sno::from_bytes(value.as_bytes().try_into()?)))
    }
}

impl ToSql<SnoSql, Pg> for Sno {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        out.write_all(self.0.as_bytes())?;
        Ok(IsNull::No)
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use super::SnoSql;

    events (id) {
        id -> SnoSql,
        payload -> Text,
    }
}

#[derive(Queryable, Selectable, Debug, Clone, PartialEq)]
#[diesel(table_name = events)]
struct Event {
    id: Sno,
    payload: String,
}

#[derive(Insertable)]
#[diesel(table_name = events)]
struct NewEvent<'a> {
    payload: &'a str,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).expect("the server's URL");
    let mut connection = PgConnection::establish(&url)?;
    // A migration's up.sql has this.
    diesel::sql_query("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text NOT NULL)")
        .execute(&mut connection)?;

    let new = ["first", "second", "third"].map(|payload| NewEvent { payload });
    let inserted: Vec<Event> = diesel::insert_into(events::table)
        .values(&new)
        .returning(Event::as_returning())
        .get_results(&mut connection)?;

    let new = NewEvent { payload: "fourth" };
    let event: Event = diesel::insert_into(events::table).values(&new).get_result(&mut connection)?;

    let (key, last) = (event.id.0.to_string(), inserted[0].id);
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);

    let micros = hour_ago.duration_since(SystemTime::UNIX_EPOCH)?.as_micros() as i64;
    let bound = Sno(sno_core::Sno::lower_bound(micros));
    let found: Event = events::table.find(Sno(key.parse()?)).first(&mut connection)?;
    let recent: Vec<Event> =
        events::table.filter(events::id.ge(bound)).order(events::id).load(&mut connection)?;
    let page: Vec<Event> =
        events::table.filter(events::id.gt(last)).order(events::id).limit(50).load(&mut connection)?;

    assert_eq!(found, event);
    assert_eq!(recent.len(), 4);
    assert_eq!(page, [&inserted[1..], &[event]].concat());
    // What is no ID is an error before the server is asked.
    assert!("garbage".parse::<sno_core::Sno>().is_err());
    Ok(())
}
