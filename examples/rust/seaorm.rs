//! SeaORM: an ID is a `String`, cast by the server on the way in and out.

use sea_orm::entity::prelude::*;
use sea_orm::sea_query::{Expr, Func};
use sea_orm::{ConnectionTrait, Database, NotSet, QueryOrder, QuerySelect, Set};
use sno_core::Sno;

mod event {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "events")]
    pub struct Model {
        #[sea_orm(
            primary_key,
            auto_increment = false,
            column_type = "custom(\"sno\")",
            select_as = "text",
            save_as = "sno"
        )]
        pub id: String,
        pub payload: String,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), DbErr> {
    let db = Database::connect(std::env::args().nth(1).expect("the server's URL")).await?;
    // What a migration executes.
    db.execute_unprepared(
        "CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text NOT NULL)",
    )
    .await?;

    let mut ids = Vec::new();
    for payload in ["first", "second", "third"] {
        let new = event::ActiveModel { id: NotSet, payload: Set(payload.to_owned()) };
        let event = new.insert(&db).await?;
        ids.push(event.id);
    }
    assert_eq!(ids[0].len(), 16);

    // The pool's connections are several sessions: within 4 ms their IDs are not in the order of the calls.
    let event = event::Entity::find_by_id(ids[0].clone()).one(&db).await?.expect("the row");
    ids.sort();
    let (key, last) = (event.id.clone(), ids[0].clone());

    let found = match key.parse::<Sno>() {
        Ok(_) => event::Entity::find_by_id(key).one(&db).await?,
        Err(_) => None,
    };
    let lower = Func::cust("sno_lower").arg(Expr::cust("now() - interval '1 hour'"));
    let recent = event::Entity::find().filter(Expr::col(event::Column::Id).gte(lower));
    let after = Expr::val(last).cast_as("sno");
    let page = event::Entity::find().filter(Expr::col(event::Column::Id).gt(after)).limit(50);

    assert_eq!(found.as_ref(), Some(&event));
    assert_eq!(recent.count(&db).await?, 3);
    let page = page.order_by_asc(event::Column::Id).all(&db).await?;
    assert_eq!(page.iter().map(|event| &event.id).collect::<Vec<_>>(), [&ids[1], &ids[2]]);
    Ok(())
}
