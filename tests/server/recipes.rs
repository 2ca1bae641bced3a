//! Recipes of the pages for tools that are not run here, with what the tools make of them.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _};

use crate::root;

/// The block of dbt in `docs/pipelines.md`, as dbt runs it: a query, and the model.
fn model(client: &mut Client, table: &str, is_incremental: bool) {
    let page = std::fs::read_to_string(root().join("docs/pipelines.md")).unwrap();
    let block = page.split("```jinja\n").nth(1).unwrap().split("```").next().unwrap();
    let query = block.split("run_query('").nth(1).unwrap().split('\'').next().unwrap();
    let horizon: String = client.one(&format!("SELECT ({query})::text"));
    let (mut sql, mut is_left_out) = (String::new(), false);
    for line in block.lines() {
        match line.trim() {
            "{% if is_incremental() %}" => is_left_out = !is_incremental,
            "{% endif %}" => is_left_out = false,
            line if line.starts_with("{{ config") || line.starts_with("{% set") || is_left_out => {}
            line => sql += &format!("{line}\n"),
        }
    }
    let sql = sql.replace("{{ horizon }}", &horizon).replace("{{ this }}", table);
    assert!(!sql.contains(['{', '}']), "{sql}");
    client.run(&match is_incremental {
        true => format!("INSERT INTO {table} {sql}"),
        false => format!("DROP TABLE IF EXISTS {table}; CREATE TABLE {table} AS {sql}"),
    });
}

#[test]
fn an_incremental_model_of_dbt_misses_no_row() {
    let server = Server::builder().start();
    let [mut client, mut late] = [(); 2].map(|()| server.connect());
    client.run("CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_new(), item integer); CREATE SCHEMA dev");
    late.run("BEGIN; INSERT INTO orders (item) VALUES (0)");
    client.run("INSERT INTO orders (item) SELECT generate_series(1, 1100); SELECT pg_sleep(0.2)");
    model(&mut client, "public.model", false);
    // It waits for the row that commits late, and for those after it.
    assert_eq!(client.one::<i64>("SELECT count(*) FROM model"), 0);
    late.run("COMMIT");
    for step in ["more", "full refresh", "another target"] {
        client.run("INSERT INTO orders (item) SELECT generate_series(1, 7); SELECT pg_sleep(0.2)");
        let table = if step == "another target" { "dev.model" } else { "public.model" };
        model(&mut client, table, step == "more");
        let differ = format!("SELECT count(*) FROM (TABLE orders EXCEPT ALL TABLE {table}) d");
        assert_eq!(client.one::<i64>(&differ), 0, "{step}");
        assert_eq!(
            client.one::<i64>(&format!("SELECT count(*) - count(DISTINCT id) FROM {table}")),
            0,
            "{step}"
        );
    }
    // A target of before goes on where it was.
    model(&mut client, "public.model", true);
    assert!(client.one::<bool>("SELECT count(*) = (SELECT count(*) FROM orders) FROM model"));
}
