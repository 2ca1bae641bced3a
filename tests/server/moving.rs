//! `sno move`, which says what moving the keys of a database will meet, and takes the steps of `docs/moving.md` there and back, while
//! applications insert, update and delete, also rows that were there before.

#[path = "moving/meanwhile.rs"]
mod meanwhile;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use sno_cli::moving;
use sno_tests::postgres::Client;
use sno_tests::{Random, Server, Sql as _, Stop, sql_file, text};

/// A schema that has each thing once.
const ALL: &str = include_str!("moving/all.sql");

/// What the DBA says of it.
const SAID: [&str; 16] = [
    "--reference",
    "notes.subject_id orders.id subject_type = 'Order'",
    "--reference",
    "notes.subject_id customers.id subject_type = 'Customer'",
    "--reference",
    "notes.order_ids orders.id",
    "--reference",
    "notes.author customers.id",
    "--reference",
    "payments.customer_id customers.id",
    "--reference",
    "\"item notes\".\"item no\" \"line item\".\"key no\"",
    "--time",
    "tags greatest(\"createdAt\", '2010-01-01')",
    "--function",
    "current_account()",
];

/// The names of what a row refers to, as it has them, and as its keys say.
const REFERENCES: [&str; 17] = [
    "SELECT o.customer, c.name FROM orders o LEFT JOIN customers c ON c.id = o.customer_id",
    "SELECT o.account, a.name FROM orders o LEFT JOIN accounts a ON a.id = o.account_id",
    "SELECT o.tag_name, t.name FROM orders o LEFT JOIN tags t ON t.id = o.tag",
    "SELECT o.replaced, r.name FROM orders o LEFT JOIN orders r ON r.id = o.replaces WHERE o.replaces IS NOT NULL",
    "SELECT l.of, o.name FROM lines l LEFT JOIN orders o ON (o.customer_id, o.id) = (l.customer_id, l.order_id)",
    "SELECT p.of, l.of FROM parts p LEFT JOIN lines l USING (order_id, n)",
    "SELECT k.of, o.name FROM clicks k LEFT JOIN orders o ON o.id = k.order_id WHERE order_id IS NOT NULL",
    "SELECT k.customer, c.name FROM clicks k LEFT JOIN customers c ON c.id = k.customer_id",
    "SELECT of, name FROM order_notes LEFT JOIN orders USING (id)",
    "SELECT of, name FROM bookings LEFT JOIN orders ON id = order_id",
    "SELECT of, name FROM notes JOIN (SELECT 'Order' AS subject_type, id, name FROM orders UNION ALL SELECT 'Customer', id, name FROM customers) s
     ON s.id = subject_id AND s.subject_type = notes.subject_type",
    "SELECT of_orders[i], name FROM notes, generate_series(1, 3) i JOIN orders ON true WHERE id = order_ids[i]",
    "SELECT i.of || of_code || i.of, o.name || s.name || p.name FROM \"line item\" i LEFT JOIN orders o ON o.id = \"order\" LEFT JOIN sno s ON s.id = code
         LEFT JOIN orders p ON p.id = order_id",
    "SELECT n.of, i.name FROM \"item notes\" n JOIN \"line item\" i ON \"key no\" = \"item no\"",
    "SELECT of_author, name FROM notes JOIN customers ON id = author",
    "SELECT of, name FROM payments LEFT JOIN customers ON id = customer_id",
    "SELECT e.of, o.name FROM events e LEFT JOIN orders o ON o.id = order_id
     UNION ALL SELECT m.of, e.of FROM event_marks m LEFT JOIN events e ON (id, created_at) = (event_id, event_time)",
];

/// Says `sno move` and these words. What it printed, or its error.
fn try_moving(server: &Server, user: &str, words: &[&str]) -> Result<String, String> {
    let connection = server.connection_string().replace("user=postgres", &format!("user={user}"));
    let words: Vec<_> = ["-d", &connection].iter().chain(words).copied().collect();
    let mut out = Vec::new();
    let what = moving::parse(words).map_err(|error| error.to_string())?;
    let result = moving::run(&what, &mut out).map_err(|error| error.to_string());
    let result = result.map(|_| String::from_utf8(out).unwrap());
    // Whatever names are in it: a terminal would obey.
    let (Ok(said) | Err(said)) = &result;
    assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
    result
}

#[track_caller]
fn moving(server: &Server, words: &[&str]) -> String {
    try_moving(server, "postgres", words).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

/// Takes a step: `columns`, and so on, `verify` or `undo`. Rows that others have deleted meanwhile can be referred to.
#[track_caller]
fn take(server: &Server, step: &str, said: &[&str]) {
    let words = match step {
        "verify" | "undo" => vec![step],
        "columns" => [&["run", step, "--dangling-to-null", "--no-map"], said].concat(),
        _ => vec!["run", step],
    };
    for _ in 0..60 {
        match try_moving(server, "postgres", &words) {
            Ok(_) => return,
            Err(error) => assert!(error.starts_with("40P01"), "{words:?}: {error}"),
        }
    }
}

/// SQL, words of `sno move`, several or with the role `lead`, and their error; without one, there is none.
type Life<'a> = &'a [(&'a str, &'a str, &'a str)];

#[track_caller]
fn live(server: &Server, life: Life) {
    for (sql, words, why) in life {
        server.run(sql);
        for words in words.split("; ").filter(|words| !words.is_empty()) {
            let (role, own) = words.strip_prefix("as lead ").map_or(("postgres", words), |own| ("lead", own));
            let said = try_moving(server, role, &own.split(' ').collect::<Vec<_>>());
            // What a check prints is no error.
            let is_right = said.is_ok() == (why.is_empty() || words.starts_with("check"));
            let (Ok(said) | Err(said)) = said;
            assert!(is_right && said.contains(why), "{words} after {sql}: {said}");
        }
    }
}

/// The same by psql, from a file.
#[track_caller]
fn take_file(server: &Server, folder: &Path, step: &str) {
    let file = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let file = file.into_iter().find(|path| path.to_string_lossy().contains(step)).unwrap();
    let sql = fs::read_to_string(file).unwrap();
    for _ in 0..60 {
        let output = server.psql(&sql);
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            return;
        }
        let again = ["due to statement timeout", "due to lock timeout", "deadlock detected"];
        assert!(again.iter().any(|what| errors.contains(what)), "{step}: {errors}");
        thread::sleep(Duration::from_millis(20));
    }
    panic!("no lock: {step}");
}

/// Statements of an application, which takes keys as texts, whatever their types. The first of them returns the key of the new order.
fn statements(name: &str, writer: usize) -> [String; 3] {
    // Only one writer deletes an order and refers to it.
    let own = format!("WHERE abs(hashtext(name)) % 3 = {writer}");
    [
        format!(
            "INSERT INTO orders (customer_id, customer, account_id, account, tag, tag_name, replaces, replaced, name)
             SELECT c.id, c.name, a.id, a.name, t.id, t.name, o.id, o.name, '{name}' FROM (SELECT * FROM customers ORDER BY random() LIMIT 1) c, accounts a,
                 tags t, (SELECT * FROM orders {own} ORDER BY random() LIMIT 1) o ORDER BY random() LIMIT 1 RETURNING id::text"
        ),
        format!(
            "INSERT INTO lines (order_id, n, customer_id, item, of) SELECT id, 1, customer_id, 'item', name FROM orders WHERE id = '{{id}}';
             INSERT INTO parts (order_id, n, of) VALUES ('{{id}}', 1, '{name}');
             INSERT INTO clicks (click, of, customer, order_id, customer_id) SELECT name, name, customer, id, customer_id FROM orders WHERE id = '{{id}}';
             INSERT INTO order_notes (id, of) VALUES ('{{id}}', '{name}');
             INSERT INTO bookings (order_id, during, of) VALUES ('{{id}}', '[1, 5)', '{name}');
             INSERT INTO notes (subject_type, subject_id, order_ids, author, of, of_orders, of_author) SELECT 'Order', id, ARRAY[NULL, id], customer_id, name, ARRAY[NULL, name], customer
                 FROM orders WHERE id = '{{id}}';
             INSERT INTO \"line item\" (name, code, of_code, \"order\", order_id, of) SELECT o.name, s.id, s.name, o.id, o.id, o.name FROM orders o, sno s WHERE o.id = '{{id}}'
                 ORDER BY random() LIMIT 1;
             INSERT INTO releases (customer_id, kind, name) SELECT customer_id, 1 + length(name) % 2, name FROM orders WHERE id = '{{id}}';
             INSERT INTO payments (paid_at, customer_id, of, amount) SELECT now(), customer_id, customer, 1 FROM orders WHERE id = '{{id}}';
             WITH e AS (INSERT INTO events (order_id, of, page) VALUES ('{{id}}', '{name}', '/') RETURNING *)
                 SELECT id FROM e; INSERT INTO event_marks (event_id, event_time, of) SELECT id, created_at, of FROM events WHERE of = '{name}'"
        ),
        // Of rows that were there before: a reference to another row, to none, a row that goes with what refers to it, an update that touches no key.
        format!("WITH o AS (SELECT id, name FROM orders {own} ORDER BY random() LIMIT 1)
             UPDATE clicks SET order_id = o.id, of = o.name FROM o WHERE click = (SELECT click FROM clicks ORDER BY random() LIMIT 1);
         UPDATE orders SET replaces = NULL, replaced = NULL WHERE name = (SELECT name FROM orders {own} AND replaces IS NOT NULL ORDER BY random() LIMIT 1);
         UPDATE clicks SET order_id = NULL WHERE click = (SELECT click FROM clicks ORDER BY random() LIMIT 1);
         DELETE FROM orders WHERE name = (SELECT name FROM orders {own} ORDER BY random() LIMIT 1);
         UPDATE payments SET amount = amount + 1 WHERE paid_at = (SELECT paid_at FROM payments ORDER BY random() LIMIT 1)"),
    ]
}

/// Writes until it is told to stop. Only deadlocks may come, as between any two that write several rows.
fn write(client: &mut Client, done: &AtomicBool, written: &AtomicUsize, run: &str, writer: usize) {
    for count in 0.. {
        if done.load(Relaxed) {
            return;
        }
        let [insert, rest, old] = statements(&format!("written {run}-{writer}-{count}"), writer);
        let attempt = |client: &mut Client| {
            let mut transaction = client.transaction()?;
            let row = transaction.simple_query(&insert)?;
            let Some(sno_tests::postgres::SimpleQueryMessage::Row(row)) =
                row.into_iter().find(|m| matches!(m, sno_tests::postgres::SimpleQueryMessage::Row(_)))
            else {
                panic!("no row")
            };
            transaction.batch_execute(&rest.replace("{id}", row.get(0).unwrap()))?;
            transaction.commit()?;
            let mut transaction = client.transaction()?;
            transaction.batch_execute(&old)?;
            transaction.commit()
        };
        match attempt(client) {
            Ok(()) => _ = written.fetch_add(1, Relaxed),
            Err(error) => assert!(error.code().is_some_and(|code| code.code() == "40P01"), "{error:?}"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// No row refers to another one than its names say.
#[track_caller]
fn references_are_right(server: &Server) {
    let mut client = server.connect();
    for query in REFERENCES {
        let wrong: i64 = client
            .one(&format!("SELECT count(*) FROM ({query}) q(own, theirs) WHERE own IS DISTINCT FROM theirs"));
        let all: i64 = client.one(&format!("SELECT count(*) FROM ({query}) q"));
        assert!(wrong == 0 && all > 10, "{wrong} of {all}: {query}");
    }
}

/// What a dump of the schema says, but for what a move changes: types, defaults, and the trigger in place of the generated column.
fn dump(server: &Server) -> BTreeSet<String> {
    let dump = server.dump(&["-s"]);
    let statements = dump.split(";\n").map(|statement| {
        let lines = statement.lines().filter(|line| !line.starts_with("--") && !line.is_empty());
        let statement = lines
            .collect::<Vec<_>>()
            .join("\n")
            .replace("((order_id)::uuid)", "order_id")
            .replace("((\"order\")::uuid)", "\"order\"")
            .replace("(name, id)", "(id, name)")
            // What PostgreSQL shows of a domain and of varchar.
            .replace("(s.id)::text = (i.code)::text", "s.id = i.code")
            .replace("(b.\"key no\")::bigint = (a.\"key no\")::bigint", "b.\"key no\" = a.\"key no\"");
        ["\"public\".sno", "public.sno", "bigint", "uuid", "sno"]
            .iter()
            .fold(statement, |statement, name| statement.replace(name, "TYPE"))
            .replace("(old.id)::TYPE", "old.id")
            .replace("(new.id)::TYPE", "new.id")
    });
    let is_of_no_type = |statement: &String| {
        ![
            "CREATE TABLE",
            "SEQUENCE",
            "SET DEFAULT",
            "IDENTITY",
            "_generated",
            "_seq",
            "    RETURN NEW",
            "END\n$$",
            "SELECT pg_catalog.set",
            "\\",
        ]
        .iter()
        .any(|part| statement.contains(part))
    };
    statements.filter(is_of_no_type).collect()
}

/// Moves while others write, with these steps; each leaves the application working.
#[track_caller]
fn take_steps(server: &Server, run: &str, steps: &[&str], take: impl Fn(&str)) {
    let (done, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                scope.spawn({
                    let (done, written) = (&done, &written);
                    move || write(&mut server.connect(), done, written, run, writer)
                })
            })
            .collect();
        let stop = Stop(&done);
        for step in steps {
            take(step);
            let before = written.load(Relaxed);
            for _ in 0..1000 {
                thread::sleep(Duration::from_millis(10));
                if written.load(Relaxed) > before + 6 {
                    break;
                }
                assert!(!writers.iter().any(|writer| writer.is_finished()), "a writer failed after {step}");
            }
            assert!(written.load(Relaxed) > before + 6, "nothing is written after {step}");
        }
        drop(stop);
    });
    references_are_right(server);
    nothing_is_left(server);
}

#[track_caller]
fn nothing_is_left(server: &Server) {
    let own =
        "SELECT count(*) FROM (SELECT relname FROM pg_class UNION ALL SELECT proname FROM pg_proc) o(name)
               WHERE name ~ '^sno_move_|_(moving|moved)$'";
    assert_eq!(text(&mut server.connect(), own), "0");
}

/// Something of a schema that each of these tests moves.
fn start() -> Server {
    let server = Server::builder().conf("timezone", "America/New_York").start();
    server.run("ALTER DATABASE postgres SET search_path = \"Shop\", public");
    server.run(ALL);
    references_are_right(&server);
    server
}

/// The rows that a view's reader sees are those that its owner may see.
#[track_caller]
fn rights_are_as_before(server: &Server) {
    let mut client = server.connect();
    let few = text(&mut client, "SELECT count(*) FROM orders WHERE total < 5");
    client.run("SET ROLE analyst");
    assert_eq!(text(&mut client, "SELECT count(*) FROM customer_orders"), few);
    client.run("SET ROLE app");
    assert_eq!(text(&mut client, "SELECT count(*) FROM orders"), "0");
    client.run("RESET ROLE");
    let one = text(&mut client, "SELECT id::text FROM accounts WHERE name = 'account 7'");
    let own = text(&mut client, "SELECT count(*) FROM orders WHERE account = 'account 7'");
    client.run(&format!("SET app.account = '{one}'; SET ROLE app"));
    assert_eq!(text(&mut client, "SELECT count(*) FROM orders"), own);
}

#[track_caller]
fn differs_in(server: &Server, before: &BTreeSet<String>) {
    let after = dump(server);
    differs(before, &after);
    assert!(after.len() > 100, "{}", after.len());
}

#[track_caller]
fn differs(before: &BTreeSet<String>, after: &BTreeSet<String>) {
    let different: Vec<_> = before.symmetric_difference(after).collect();
    assert!(different.is_empty(), "{different:#?}");
}

const STEPS: [&str; 5] = ["columns", "fill", "indexes", "switch", "end"];

#[test]
fn a_schema_with_everything_moves_there_and_back_while_it_is_written() {
    let server = start();
    let before = dump(&server);
    // Undone at each point, and then to the end.
    let every = [
        &["columns", "undo", "columns", "fill", "undo", "columns", "fill", "indexes", "verify", "undo"][..],
        &["columns", "fill", "indexes", "switch", "verify", "undo", "undo"],
        &["columns", "fill", "indexes", "switch", "undo", "fill", "indexes", "switch", "end"],
    ];
    for steps in &every[..2] {
        take_steps(&server, &format!("there {}", steps.len()), steps, |step| take(&server, step, &SAID));
        differs_in(&server, &before);
    }
    take_steps(&server, "there", every[2], |step| take(&server, step, &SAID));
    differs_in(&server, &before);
    rights_are_as_before(&server);
    let mut client = server.connect();
    let wrong = "SELECT count(*) FROM (SELECT id, created_at FROM orders UNION ALL SELECT id, created_at AT TIME ZONE 'UTC' FROM customers) r
                 WHERE created_at < '2025-01-01' AND sno_time(id) <> created_at";
    assert_eq!(text(&mut client, wrong), "0");
    assert_eq!(text(&mut client, "SELECT count(*) FROM orders WHERE ref <> 'ORD-' || id::text"), "0");
    assert_eq!(text(&mut client, "SELECT pg_typeof(id) FROM orders LIMIT 1"), "public.sno");
    let back = [&["--back"][..], &SAID].concat();
    take_steps(&server, "back", every[2], |step| take(&server, step, &back));
    differs_in(&server, &before);
    rights_are_as_before(&server);
    assert_eq!(text(&mut client, "SELECT pg_typeof(id) FROM orders LIMIT 1"), "uuid");
    server.run("DROP EXTENSION sno");
}

/// To numbers, whose order is that of the IDs; by psql and the files.
#[test]
fn a_schema_with_everything_moves_to_bigint_while_it_is_written() {
    let server = start();
    let before = dump(&server);
    let by_files = |run: &str, said: &[&str]| {
        let before = dump(&server);
        let folder = server.socket_folder().join(run);
        let name = folder.to_str().unwrap().to_owned();
        moving(&server, &[&["write", &name, "--dangling-to-null", "--no-map"], said].concat());
        let steps = ["1_", "2_", "3_", "4_", "5_", "undo_switch", "undo_columns"];
        take_steps(&server, &format!("{run} undone"), &steps, |step| take_file(&server, &folder, step));
        differs_in(&server, &before);
        take_steps(&server, run, &["1_", "2_", "3_", "4_", "5_", "4_", "6_"], |step| {
            take_file(&server, &folder, step)
        });
    };
    by_files("there", &SAID);
    server.run("CREATE TABLE public.kept AS SELECT name, id AS old FROM orders");
    by_files("back", &[&["--back", "--to", "bigint"][..], &SAID].concat());
    let mut client = server.connect();
    assert_eq!(text(&mut client, "SELECT pg_typeof(id) FROM orders LIMIT 1"), "bigint");
    let wrong = "SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY old) AS last FROM orders JOIN kept USING (name)) o WHERE id <= last";
    assert_eq!(text(&mut client, wrong), "0");
    server.run("DROP TABLE public.kept");
    differs_in(&server, &before);
}

/// As docs/without-the-extension.md says: the new key is computed from the old one.
#[test]
fn keys_of_the_sql_file_move_to_the_ids_that_they_are() {
    let server = Server::builder().start();
    server.run(&sql_file("uuidv7.sql"));
    server.run(
        "CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT sno_uuid(), note text, replaces uuid REFERENCES orders);
         INSERT INTO orders (note) SELECT n FROM generate_series(1, 3000) n;
         UPDATE orders SET replaces = (SELECT o.id FROM orders o LIMIT 1); CREATE TABLE before AS TABLE orders",
    );
    for step in STEPS {
        take(&server, step, &["--key", "orders", "--value", "uuidv7_to_sno(id)"]);
        server.run("INSERT INTO orders (note) VALUES ('new')");
    }
    let same = "SELECT count(*) FROM before b JOIN orders o ON o.id = uuidv7_to_sno(b.id) AND o.replaces = uuidv7_to_sno(b.replaces) AND o.note = b.note";
    assert_eq!(text(&mut server.connect(), same), "3000");
    for step in STEPS {
        take(&server, step, &["--key", "orders.id", "--back"]);
    }
    let same = "SELECT count(*) FROM before b JOIN orders USING (id, replaces, note)";
    assert_eq!(text(&mut server.connect(), same), "3000");
}

/// What is not there, or wrong, is named, by whatever it came, and nothing is dropped.
#[rustfmt::skip]
const DIFFERENT: Life = &[
    ("", "run columns", "a move is under way"),
    // Who writes a reference need not read what it refers to.
    ("SET ROLE writer; INSERT INTO notes VALUES (1), (NULL)", "verify", "items.id, rows without a new key: 3"),
    ("", "run end", "the switch has not been made"),
    // Rows of one time can have one ID: such rows get others.
    ("UPDATE items SET sno = sno_make(created_at, 0, 1, 1)", "verify", "items.id, rows with the new key of another one: 2"),
    ("", "run fill", ""), ("", "run switch", "the step indexes has not been run"), ("", "run indexes", ""),
    ("INSERT INTO notes VALUES (2, 7)", "verify", "notes.said, references to rows that are gone, which become NULL: 1"),
    ("", "run switch", "references to rows that are gone"),
    ("DELETE FROM notes WHERE said = 7; ALTER TABLE notes DISABLE TRIGGER zz_moving;
      UPDATE notes SET item_sno = (SELECT max(sno) FROM items); ALTER TABLE notes ENABLE TRIGGER zz_moving", "verify",
     "notes.item, references to another row: 2"),
    ("", "run fill", ""),
    // What is new since step 1 would be lost.
    ("CREATE INDEX later ON notes (item)", "run switch", "notes\": index later"),
    ("DROP INDEX later", "run switch", ""),
    ("COMMENT ON INDEX said IS NULL", "run end", "public\".\"notes\": index said"),
    ("COMMENT ON INDEX said IS 'kept'; ALTER TABLE notes DISABLE TRIGGER zz_moved;
      UPDATE notes SET old_item = 1 + old_item; ALTER TABLE notes ENABLE TRIGGER zz_moved", "run end",
     "notes.item, references to another row: 1"),
    ("UPDATE notes SET old_item = NULL", "run end", ""),
];

#[test]
fn what_differs_stops_the_move_before_anything_is_dropped() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE items (id serial PRIMARY KEY, created_at timestamptz NOT NULL);
         INSERT INTO items (created_at) SELECT '2026-01-01Z' FROM generate_series(1, 3);
         CREATE TABLE notes (item integer REFERENCES items, said integer); CREATE INDEX said ON notes (said);
         CREATE ROLE writer; GRANT INSERT ON notes TO writer; COMMENT ON INDEX said IS 'kept'",
    );
    moving(&server, &["run", "columns", "--key", "items", "--reference", "notes.said items.id"]);
    live(&server, DIFFERENT);
    let map = "SELECT count(*) FROM items JOIN items_id_moved ON new = id WHERE old BETWEEN 1 AND 3";
    assert_eq!(text(&mut server.connect(), map), "3");
    // Any role can have the lock: it is named.
    server.run("CREATE ROLE \"a\x1b[2Jwriter\" LOGIN");
    let mut other = server.connect_as("a\x1b[2Jwriter");
    moving(&server, &["run", "columns", "--back", "--no-map"]);
    other.run("SELECT pg_advisory_lock(hashtext('sno move'))");
    let pid: i32 = other.one("SELECT pg_backend_pid()");
    let holder = format!(
        "another sno move is at work in this database: wait until it has ended
DETAIL:  Its lock has process {pid} of role a [2Jwriter"
    );
    live(&server, &[("", "run fill", &holder)]);
}

/// A table for each thing that the check says, and some that stay.
const SHOP: &str = "
    CREATE ROLE reader LOGIN; CREATE EXTENSION btree_gist;
    CREATE TABLE customers (id bigserial PRIMARY KEY, created_at timestamp, name text);
    CREATE TABLE orders (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, created_at timestamptz,
        customer_id bigint REFERENCES customers ON DELETE CASCADE, note text, ref text GENERATED ALWAYS AS ('O' || id::text) STORED);
    CREATE INDEX latest ON orders (created_at);
    CREATE TABLE lines (order_id bigint DEFAULT 0 REFERENCES orders DEFERRABLE, n integer, PRIMARY KEY (order_id, n));
    CREATE TABLE rooms (order_id bigint REFERENCES orders, during daterange, EXCLUDE USING gist (order_id WITH =, during WITH &&));
    CREATE TABLE comments (id uuid PRIMARY KEY, created_at timestamptz, subject_type text, subject_id bigint, customer bigint, order_ids bigint[]);
    CREATE TABLE events (id bigserial, inserted_at timestamptz, PRIMARY KEY (id, inserted_at)) PARTITION BY RANGE (inserted_at);
    CREATE TABLE payments (order_id bigint, paid date) PARTITION BY RANGE (paid); CREATE TABLE payments_1 PARTITION OF payments DEFAULT;
    ALTER TABLE payments_1 ADD FOREIGN KEY (order_id) REFERENCES orders;
    CREATE TABLE files (order_id bigint REFERENCES orders, name text) PARTITION BY HASH (order_id); CREATE VIEW file_names AS SELECT name FROM files;
    CREATE TABLE late_orders (PRIMARY KEY (id)) INHERITS (orders);
    CREATE VIEW sums WITH (security_barrier) AS SELECT order_id, count(*) FROM lines GROUP BY 1;
    CREATE MATERIALIZED VIEW large AS SELECT * FROM sums WHERE count > 10; CREATE PUBLICATION some_columns FOR TABLE lines (order_id, n);
    CREATE PUBLICATION some_lines FOR TABLE lines WHERE (n > 1), rooms WHERE (order_id > 5) WITH (publish = 'insert');
    CREATE VIEW days AS SELECT created_at::date FROM orders;
    CREATE FUNCTION least_id() RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
    ALTER TABLE orders ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON orders USING (customer_id > least_id());
    GRANT SELECT (customer_id) ON orders TO reader;
    CREATE FUNCTION newest() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT max(id) FROM customers); END $$;
    CREATE FUNCTION atomic(orders) RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT $1.id; END;
    CREATE TABLE of_it (id integer PRIMARY KEY); ALTER EXTENSION btree_gist ADD TABLE of_it;
    CREATE TABLE countries (code text PRIMARY KEY); CREATE TABLE parcels (id bigint PRIMARY KEY); CREATE TABLE rates (day date PRIMARY KEY, rate_id text);
    CREATE FUNCTION is_rate(n bigint) RETURNS boolean LANGUAGE sql AS 'SELECT n > 0'";

const FINDINGS: &str = "
    default of a reference|lines.order_id
    inheritance|public.late_orders of public.orders
    partition key|files.order_id
    creation time|customers.created_at
    deferred foreign key|lines_order_id_fkey of lines
    exclusion constraint|rooms_order_id_during_excl
    function by its type|public.atomic(public.orders)
    function by its type|public.least_id()
    function by its type|public.newest()
    function|public.newest()
    generated column|orders.ref
    index with a cast|rooms_order_id_during_excl
    materialized view|materialized view public.large
    published by a key|rooms.order_id by some_lines
    published|lines by some_columns
    published|lines by some_lines
    published|rooms by some_lines
    reference without a foreign key?|comments.customer bigint
    reference without a foreign key?|comments.order_ids bigint[]
    reference without a foreign key?|comments.subject_id bigint
    key that stays|countries.code
    key that stays|parcels.id
    partitioned table|events
    partitioned table|files
    partitioned table|payments
    uses keys|function public.atomic(public.orders)
    uses keys|policy own on table public.orders
    uses keys|publication of table public.lines in publication some_columns
    uses keys|publication of table public.rooms in publication some_lines
    uses keys|view public.sums";

/// What a check finds, and of what.
fn findings(printed: &str) -> BTreeSet<String> {
    let mut what = "";
    let mut found = BTreeSet::new();
    for line in printed.lines() {
        if let Some(object) = line.strip_prefix("    ") {
            found.insert(format!("{what}|{object}"));
        } else if let Some((head, _)) = line.strip_prefix("  ").and_then(|line| line.split_once(": ")) {
            what = head;
        }
    }
    found
}

#[test]
fn the_check_names_what_there_is_to_do_and_nothing_else() {
    let server = Server::builder().conf("wal_level", "logical").start();
    server.run(SHOP);
    let expected: BTreeSet<String> = FINDINGS.lines().skip(1).map(|line| line.trim().to_owned()).collect();
    let printed = moving(&server, &["check"]);
    let found = findings(&printed);
    assert_eq!(found, expected, "{:#?}", found.symmetric_difference(&expected));
    let keys =
        "orders.id bigint, 0 rows: lines.order_id, rooms.order_id, payments.order_id, files.order_id\n";
    assert!(printed.contains(keys), "{printed}");
    // On a standby, too; some keys alone; those of sno.
    let standby = server.standby();
    server.wait_replayed(&standby);
    assert_eq!(findings(&moving(&standby, &["check"])), expected);
    assert_eq!(findings(&moving(&server, &["check", "--key", "comments"])), BTreeSet::new());
    let parcels = findings(&moving(&server, &["check", "--key", "parcels.id"]));
    assert!(parcels.contains("key without a default|parcels.id"), "{parcels:#?}");
    // Whoever has not asked the check reads it, too.
    let folder = server.socket_folder().join("steps");
    let written = moving(&server, &["write", folder.to_str().unwrap(), "--key", "parcels.id"]);
    assert!(written.contains("  key without a default: "), "{written}");
    server.run("CREATE TABLE items (id sno PRIMARY KEY); CREATE VIEW few AS TABLE items");
    let back = findings(&moving(&server, &["check", "--back"]));
    assert_eq!(back, ["uses keys|view public.few".to_owned()].into());
    server.run("SELECT sno_create_feed('items', 'items')");
    let back = findings(&moving(&server, &["check", "--back"]));
    assert!(back.contains("key of a feed|items.id"), "{back:#?}");
    // A role without rights sees the same, but for its own.
    let stranger = try_moving(&server, "reader", &["check", "--key", "customers"]);
    assert!(stranger.is_ok_and(|text| text.contains("connect as the owner")));
}

/// Names, a comment and keys that would be statements, or commands of psql's.
const HOSTILE: &str = r#"
    CREATE TABLE victim (x integer); CREATE TABLE p (id uuid PRIMARY KEY DEFAULT gen_random_uuid());
    CREATE TABLE "a
\! kill $PPID
DROP TABLE victim; --" (id bigserial PRIMARY KEY, "{value} USING
DROP TABLE victim; --" text GENERATED ALWAYS AS ('$$; DROP TABLE victim; $move$' || id::text) STORED);
    CREATE INDEX "USING x; DROP TABLE victim; --" ON "a
\! kill $PPID
DROP TABLE victim; --" ("{value} USING
DROP TABLE victim; --");
    CREATE TABLE c (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), p_id uuid REFERENCES p);
    COMMENT ON COLUMN c.p_id IS E'\n\\! kill $PPID\n$move$; DROP TABLE victim; --';
    DO $do$ DECLARE evil text := E'x\n\\! kill $PPID\n"''; $move$; DROP TABLE victim; --'; BEGIN
        EXECUTE format('CREATE ROLE %I', evil); EXECUTE format('GRANT CREATE, USAGE ON SCHEMA public TO %I', evil);
        EXECUTE format('CREATE VIEW %I AS SELECT id AS %1$I, p_id FROM c; ALTER VIEW %1$I OWNER TO %1$I;
            COMMENT ON VIEW %1$I IS %2$L; COMMENT ON COLUMN %1$I.%1$I IS %2$L; GRANT SELECT ON %1$I TO %1$I;
            CREATE RULE %1$I AS ON INSERT TO %1$I DO INSTEAD NOTHING; COMMENT ON RULE %1$I ON %1$I IS %2$L;
            CREATE POLICY %1$I ON c TO %1$I USING (p_id IS NOT NULL); COMMENT ON POLICY %1$I ON c IS %2$L;
            ALTER TABLE c ADD CONSTRAINT %1$I CHECK (p_id IS NOT NULL); COMMENT ON CONSTRAINT %1$I ON c IS %2$L;
            CREATE STATISTICS %1$I ON id, p_id FROM c; COMMENT ON STATISTICS %1$I IS %2$L;
            CREATE PUBLICATION %1$I FOR TABLE c (id, p_id) WHERE (1 = 1) WITH (publish = ''insert'');
            CREATE TRIGGER %1$I AFTER UPDATE ON c FOR EACH ROW WHEN (NEW.p_id IS NULL)
                EXECUTE FUNCTION suppress_redundant_updates_trigger(); COMMENT ON TRIGGER %1$I ON c IS %2$L;
            ALTER TABLE c ENABLE ALWAYS TRIGGER %1$I;
            CREATE RULE %1$I AS ON DELETE TO c WHERE OLD.p_id IS NULL DO INSTEAD NOTHING; ALTER TABLE c ENABLE ALWAYS RULE %1$I;
            CREATE UNIQUE INDEX %3$I ON c (id); ALTER TABLE c REPLICA IDENTITY USING INDEX %3$I, CLUSTER ON %3$I;
            ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO %1$I; ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO %1$I;
            CREATE FUNCTION %1$I(c) RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT $1.id::text; END;
            COMMENT ON FUNCTION %1$I(c) IS %2$L; GRANT EXECUTE ON FUNCTION %1$I(c) TO %1$I', evil, evil, 'i' || evil);
    END $do$;
    CREATE TABLE pages (id text PRIMARY KEY); INSERT INTO pages VALUES ('{until}'), ('||$$$$; DROP TABLE victim; --');
    INSERT INTO p DEFAULT VALUES; INSERT INTO c SELECT gen_random_uuid(), id FROM p; INSERT INTO "a
\! kill $PPID
DROP TABLE victim; --" DEFAULT VALUES"#;

#[test]
fn no_name_comment_or_key_is_a_statement() {
    for by_files in [false, true] {
        let server = Server::builder().start();
        server.run(HOSTILE);
        let folder = server.socket_folder().join("steps");
        moving(&server, &["write", folder.to_str().unwrap()]);
        for (n, step) in STEPS.iter().enumerate() {
            if by_files {
                let file = ["1_", "2_", "3_", "5_", "6_"][n];
                take_file(&server, &folder, file);
                if *step == "switch" {
                    let early =
                        server.psql(&fs::read_to_string(folder.join("undo_columns.sql")).unwrap()).stderr;
                    assert!(String::from_utf8_lossy(&early).contains("the switch has been made"));
                }
            } else {
                take(&server, step, &[]);
            }
        }
        let kept = "SELECT count(*) + (SELECT count(*) FROM victim) FROM pages WHERE id IS NOT NULL";
        assert_eq!(text(&mut server.connect(), kept), "2");
    }
}

/// A schema, what the DBA says of it, and why nothing is written.
#[rustfmt::skip]
const REFUSED: &[(&str, &[&str], &str)] = &[
    ("CREATE TABLE docs (id bigint GENERATED BY DEFAULT AS IDENTITY, version int, PRIMARY KEY (id, version))", &[],
     "part of a key docs.id"),
    ("CREATE TABLE docs (id uuid DEFAULT gen_random_uuid(), version int, PRIMARY KEY (id, version)) PARTITION BY HASH (version);
      CREATE TABLE docs_1 PARTITION OF docs FOR VALUES WITH (MODULUS 1, REMAINDER 0);
      INSERT INTO docs SELECT gen_random_uuid(), 1; INSERT INTO docs SELECT id, 2 FROM docs", &[],
     "several rows of docs have the same \"id\""),
    ("CREATE TABLE orders (tenant int, id bigint GENERATED BY DEFAULT AS IDENTITY, PRIMARY KEY (tenant, id))", &[],
     "part of a key orders.id"),
    ("CREATE TABLE orders (id bigserial PRIMARY KEY); CREATE TABLE audit (object_type text, object_id text)",
     &["--reference", "audit.object_id orders.id object_type = 'Order'"], "reference of another type audit.object_id text"),
    ("CREATE TABLE orders (id bigserial PRIMARY KEY, shard bigint GENERATED ALWAYS AS (id % 16) STORED)", &[],
     "operator does not exist: public.sno %"),
    ("CREATE TABLE orders (id bigserial PRIMARY KEY); ALTER TABLE orders OWNER TO lead;
      ALTER TABLE orders ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY", &[], "forced row security orders"),
    ("CREATE TABLE orders (id bigserial PRIMARY KEY); ALTER TABLE orders OWNER TO lead", &[], "other owner orders of lead"),
    ("CREATE TABLE tags (id varchar(40) PRIMARY KEY); CREATE INDEX tags_like ON tags (id varchar_pattern_ops)", &[],
     "operator class or collation tags_like"),
    ("CREATE TABLE tags (id text PRIMARY KEY); CREATE INDEX tags_c ON tags (id COLLATE \"POSIX\")", &[],
     "operator class or collation tags_c"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY, created_at interval)", &[], "creation time a.created_at"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE b (n bigint DEFAULT nextval('a_id_seq'))", &[],
     "shared sequence a.id"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY, at tstzrange); CREATE INDEX gist ON a USING gist (at) INCLUDE (id)", &[],
     "INCLUDE of an ID gist"),
    ("CREATE TYPE ty AS (id bigint); CREATE TABLE a OF ty (PRIMARY KEY (id))", &["--key", "a.id"], "typed table a"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE b (id bigserial PRIMARY KEY);
      CREATE TABLE c (x bigint REFERENCES a REFERENCES b)", &[], "reference to two keys c.x"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE b () INHERITS (a)", &[], "inheritance public.b of public.a"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE c (x bigint DEFAULT 0 REFERENCES a)", &[],
     "default of a reference c.x"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE c (x bigint REFERENCES a, n integer) PARTITION BY LIST (n);
      CREATE TABLE c_1 PARTITION OF c DEFAULT; ALTER TABLE c_1 ALTER x SET DEFAULT 7", &[], "default of a reference c_1.x"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE c (x bigint REFERENCES a); ALTER TABLE c DISABLE TRIGGER ALL", &[],
     "foreign key c_x_fkey of public.c: has triggers that are disabled"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE c (x bigint REFERENCES a); DO $$ BEGIN EXECUTE (SELECT
      format('ALTER TABLE c ENABLE ALWAYS TRIGGER %I', tgname) FROM pg_trigger WHERE tgrelid = 'c'::regclass LIMIT 1); END $$", &[],
     "foreign key c_x_fkey of public.c: has triggers that are disabled or fire always"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE FUNCTION sno_new() RETURNS sno LANGUAGE sql AS $$ SELECT public.sno_new(0) $$", &[],
     "second function public.sno_new()"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE c (x bigint REFERENCES a) PARTITION BY HASH (x)", &[],
     "partition key c.x"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY, n int); CREATE INDEX i ON a ((n + 1), id);
      ALTER INDEX i ALTER COLUMN 1 SET STATISTICS 7", &[], "statistics target of an index i"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE VIEW v AS TABLE a;
      CREATE AGGREGATE agg (v) (sfunc = int8inc_any, stype = bigint, initcond = '0')", &[], "is an aggregate"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY, t text); CREATE MATERIALIZED VIEW v AS TABLE a;
      ALTER MATERIALIZED VIEW v ALTER t SET STORAGE EXTERNAL", &[], "materialized view public.v: has a tablespace, access method, STORAGE"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY)", &["--function", "f(bigint)"], "not found f(bigint)"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY)", &["--key", "a.idd", "--reference", "a.x a.id"], "not found a.idd: no such key"),
    ("CREATE TABLE parcels (id bigint PRIMARY KEY)", &[], "no key is found"),
    // Names with what a terminal would obey, in a refusal and in what the server says.
    ("DO $$ BEGIN EXECUTE format('CREATE TABLE %I (id bigserial, n integer, PRIMARY KEY (id, n))', E'a\x1b]0;\r\nx'); END $$", &[],
     "\npart of a key a ]0;  x.id: "),
    ("DO $$ BEGIN EXECUTE format('CREATE TABLE a (id bigserial PRIMARY KEY, n integer GENERATED ALWAYS AS (id %% 16) STORED);
      ALTER TABLE a RENAME TO %I', E'a\x1b]0;\rx'); END $$", &[], "operator does not exist: public.sno %"),
    ("DROP EXTENSION sno; CREATE TABLE a (id bigserial PRIMARY KEY)", &[], "say CREATE EXTENSION sno first"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
      CREATE TRIGGER zzz BEFORE INSERT ON a FOR EACH ROW EXECUTE FUNCTION t()", &[], "late trigger zzz on a"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
      ALTER FUNCTION t() OWNER TO lead; CREATE TRIGGER b AFTER INSERT ON a FOR EACH ROW EXECUTE FUNCTION t()", &[],
     "function of another role public.t() of a"),
    ("CREATE FUNCTION f(bigint) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT true'; ALTER FUNCTION f OWNER TO lead;
      CREATE TABLE a (id bigserial PRIMARY KEY CHECK (f(id)))", &[], "function of another role public.f(bigint) of a"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); ALTER SCHEMA public OWNER TO lead", &[], "schema of another role public of lead"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); GRANT ALL ON a TO lead", &[], "right to create triggers lead of a"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE FUNCTION f(anyelement) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1::text';
      CREATE INDEX i ON a (f(id)); GRANT CREATE ON SCHEMA public TO lead", &[],
     "function that others can overload public.f(anyelement) by lead"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE FUNCTION f(bigint) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1::text';
      CREATE VIEW v AS SELECT id FROM a; CREATE VIEW w AS SELECT f(id) FROM v; GRANT CREATE ON SCHEMA public TO lead", &[],
     "function that others can overload public.f(bigint) by lead"),
    ("CREATE OPERATOR === (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = int8eq);
      CREATE TABLE a (id bigserial PRIMARY KEY CHECK (id === id)); GRANT CREATE ON SCHEMA public TO lead", &[],
     "function that others can overload public.===(bigint,bigint) by lead"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE FUNCTION account() RETURNS bigint STABLE LANGUAGE sql AS 'SELECT 1::bigint';
      CREATE TABLE b (x integer CHECK (account() IS NOT NULL OR x > 0)); ALTER TABLE b OWNER TO lead", &["--function", "account()"],
     "constraint b_x_check on table public.b: is of a table of another role"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE VIEW v AS SELECT last_value FROM a_id_seq", &[],
     "shared sequence a.id with rule _RETURN on view public.v"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY, code text, UNIQUE (code) INCLUDE (id)); CREATE TABLE b (code text REFERENCES a (code))", &[],
     "foreign key by an index with an ID b_code_fkey of public.b"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE log (n integer, old a)", &[], "rows in a column public.log.old of a"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TYPE pair AS (x a[]); CREATE DOMAIN pairs AS pair;
      CREATE TABLE log (old pairs[])", &[], "rows in a column public.log.old of a"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE VIEW v AS TABLE a; CREATE TABLE b (x integer);
      CREATE FUNCTION f(v) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 1'; CREATE INDEX i ON b ((x + f(NULL::v)))", &[],
     "unknown object index public.i"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE VIEW v AS TABLE a; ALTER EXTENSION sno ADD VIEW v", &[],
     "belongs to an extension"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE b (x bigint REFERENCES a); ALTER EXTENSION sno ADD TABLE b", &[],
     "foreign key b_x_fkey: belongs to a table of an extension"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE FUNCTION f(a) RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT $1.id; END;
      ALTER FUNCTION f DEPENDS ON EXTENSION sno", &[], "DEPENDS ON EXTENSION"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); ALTER INDEX a_pkey DEPENDS ON EXTENSION sno", &[],
     "index that needs an extension a_pkey"),
    ("CREATE TABLE a (id text COLLATE \"C\" PRIMARY KEY); CREATE TABLE b (x text COLLATE \"POSIX\" REFERENCES a)", &[],
     "reference of another collation b.x"),
    ("CREATE DOMAIN of AS bigint NOT NULL; CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE b (x of REFERENCES a)", &[],
     "NOT NULL of a domain b.x"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE b (x bigint REFERENCES a, n integer) PARTITION BY LIST (n);
      CREATE TABLE b_1 PARTITION OF b DEFAULT; ALTER TABLE b_1 ALTER x SET NOT NULL", &[], "NOT NULL of a partition alone b_1.x"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); SET allow_system_table_mods = on;
      INSERT INTO pg_seclabel VALUES ('a'::regclass, 'pg_class'::regclass, 1, 'anon', 'MASKED')", &[], "security label a.id"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE RULE keep AS ON UPDATE TO a DO INSTEAD NOTHING", &[],
     "rule on UPDATE keep on a"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE b (x bigint REFERENCES a, n integer) PARTITION BY LIST (n);
      CREATE TABLE b_1 PARTITION OF b DEFAULT; CREATE PUBLICATION all_of_b FOR TABLE b", &[],
     "published without a replica identity b_1"),
    // The trigger would assign it as a text, and fail in the application.
    ("CREATE TABLE a (id bigserial PRIMARY KEY, g bigint GENERATED ALWAYS AS (id) STORED)", &[], "42804"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE sno_move_plan (); ALTER TABLE sno_move_plan OWNER TO lead", &[],
     "name of the steps sno_move_plan"),
    ("CREATE TABLE a (id bigserial PRIMARY KEY); CREATE TABLE a_id_moved ()", &[], "table with old and new keys a_id_moved"),
    ("CREATE TABLE a (id uuid PRIMARY KEY, name text); CREATE TABLE devices (uuid uuid, owner uuid);
      CREATE FUNCTION of(u uuid) RETURNS uuid STABLE LANGUAGE sql AS 'SELECT uuid FROM Devices WHERE owner = $1::uuid'",
     &["--function", "of(uuid)"], "name that is also a type column uuid of public.devices in public.of(uuid)"),
    ("CREATE TABLE a (id uuid PRIMARY KEY); CREATE FUNCTION same(uuid uuid) RETURNS uuid IMMUTABLE LANGUAGE sql AS 'SELECT $1'",
     &["--function", "same(uuid)"], "name that is also a type argument uuid in public.same(uuid)"),
];

#[test]
fn what_cannot_move_is_refused_and_nothing_has_changed() {
    let server = Server::builder().start();
    server.run("CREATE ROLE lead");
    for (schema, said, why) in REFUSED {
        server.run(&format!(
            "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION sno; {schema}"
        ));
        let before = dump(&server);
        let error = try_moving(&server, "postgres", &[&["run", "columns"], *said].concat()).unwrap_err();
        assert!(error.contains(why), "{why}: {error}");
        differs(&before, &dump(&server));
    }
    // A view of another session, of which nobody else knows.
    server.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION sno; CREATE TABLE items (id bigserial PRIMARY KEY)");
    let mut other = server.connect();
    other.run("CREATE TEMPORARY VIEW mine AS SELECT id FROM items");
    live(&server, &[("", "run columns", "is temporary")]);
}

/// What a function could do with the rights of who runs the steps; and these belong to the tables' owner.
#[test]
fn a_move_runs_as_the_owner_and_leaves_nothing_of_others() {
    let server = Server::builder().start();
    server.run(
        "CREATE ROLE lead LOGIN; CREATE ROLE app; GRANT CREATE ON SCHEMA public TO lead; SET ROLE lead;
         ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO app; ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO app;
         CREATE FUNCTION f(uuid) RETURNS uuid IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN $1; END $$;
         CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
             g uuid GENERATED ALWAYS AS (f(id)) STORED, of uuid REFERENCES orders);
         CREATE FUNCTION f(sno) RETURNS uuid LANGUAGE plpgsql AS
             $$ BEGIN EXECUTE 'ALTER ROLE lead SUPERUSER'; RETURN NULL; END $$",
    );
    let folder = server.socket_folder().join("steps");
    let written = try_moving(&server, "lead", &["write", folder.to_str().unwrap()]);
    assert!(written.is_ok(), "{written:?}");
    let step = fs::read_to_string(folder.join("1_columns.sql")).unwrap();
    let errors = server.psql(&step).stderr;
    assert!(String::from_utf8_lossy(&errors).contains("must be run as the owner"));
    assert!(try_moving(&server, "postgres", &["run", "columns"]).unwrap_err().contains("other owner"));
    let columns = try_moving(&server, "lead", &["run", "columns"]);
    assert!(columns.is_ok(), "{columns:?}");
    let others = "SELECT count(*) FROM pg_proc WHERE proname ~ 'mov' AND proowner <> 'lead'::regrole
                  AND pronamespace = 'public'::regnamespace";
    assert_eq!(text(&mut server.connect(), others), "0");
    let written = "SELECT count(*) FROM pg_class WHERE relname LIKE 'sno_move%' AND has_table_privilege('app', oid, 'UPDATE')";
    assert_eq!(text(&mut server.connect(), written), "0");
    let fires = "SELECT has_table_privilege('app', 'orders_id_moved', 'SELECT')
                     AND NOT has_table_privilege('app', 'orders_id_moved', 'TRIGGER')";
    assert_eq!(text(&mut server.connect(), fires), "t");
    let called = "SELECT count(*) FROM pg_proc WHERE proname = 'orders_moving' AND NOT has_function_privilege('app', oid, 'EXECUTE')";
    assert_eq!(text(&mut server.connect(), called), "1");
    let insert = server.connect().batch_execute("INSERT INTO orders DEFAULT VALUES").unwrap_err();
    assert_eq!(insert.code().unwrap().code(), "42501", "{insert:?}");
    // What a tenant has that reads the keys, and only the tenant can make again.
    server
        .run("CREATE ROLE tenant; GRANT CREATE ON SCHEMA public TO tenant; GRANT SELECT ON orders TO tenant");
    for (make, shown) in [
        ("CREATE POLICY own ON notes USING (of IN (SELECT id FROM orders))", "policy own on table"),
        ("CREATE RULE own AS ON DELETE TO notes DO ALSO SELECT id FROM orders", "rule own on table"),
    ] {
        server.run(&format!("SET ROLE tenant; CREATE TABLE notes (of uuid); {make}"));
        let refused = try_moving(&server, "lead", &["check"]).unwrap();
        assert!(
            refused.contains(&format!(
                "belongs to a role that you are not: be a member of it, or have it dropped\n    {shown}"
            )),
            "{refused}"
        );
        server.run("DROP TABLE notes");
    }
    assert!(try_moving(&server, "postgres", &["undo"]).unwrap_err().contains("a move of another role"));
    assert!(try_moving(&server, "lead", &["undo"]).is_ok());
    nothing_is_left(&server);
}

/// A connection that is lost, again and again, at any place; and locks that others have.
#[test]
fn a_move_goes_on_after_lost_connections_and_waits_for_locks() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE a (id bigserial PRIMARY KEY, n integer);
         INSERT INTO a (n) SELECT g FROM generate_series(1, 30000) g;
         CREATE TABLE b (id bigserial PRIMARY KEY, a_id bigint NOT NULL REFERENCES a, n integer);
         INSERT INTO b (a_id, n) SELECT id, n FROM a;
         CREATE VIEW pairs AS SELECT a.id, b.n FROM a JOIN b ON a.id = a_id",
    );
    let done = AtomicBool::new(false);
    // On a busy machine, a step takes longer than its connection lives: after some tries it is let through.
    let lets_through = AtomicBool::new(false);
    let until_done = |sql: &str, pause: u64| {
        let mut client = server.connect();
        while !done.load(Relaxed) {
            client.run(sql);
            thread::sleep(Duration::from_millis(pause));
        }
    };
    thread::scope(|scope| {
        let stop = Stop(&done);
        let ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE application_name = 'sno move' AND random() < 0.3";
        scope.spawn(|| {
            let mut client = server.connect();
            while !done.load(Relaxed) {
                if !lets_through.load(Relaxed) {
                    client.run(ends);
                }
                thread::sleep(Duration::from_millis(100));
            }
        });
        scope.spawn(|| until_done("BEGIN; SELECT FROM b LIMIT 1; SELECT pg_sleep(0.4); COMMIT", 100));
        scope.spawn(|| until_done("INSERT INTO b (a_id, n) SELECT id, n FROM a LIMIT 1", 20));
        for step in STEPS {
            for tries in 0.. {
                lets_through.store(tries > 20, Relaxed);
                let Err(error) = try_moving(&server, "postgres", &["run", step]) else { break };
                // It was lost after a step, or before.
                if step == "columns" && error.contains("under way")
                    || step == "end" && error.contains("no move is")
                {
                    break;
                }
                let is_lost = ["closed", "57P01", "Broken pipe", "reset by peer"];
                assert!(tries < 50 && is_lost.iter().any(|text| error.contains(text)), "{step}: {error}");
            }
        }
        drop(stop);
    });
    let wrong = "SELECT count(*) FROM b LEFT JOIN a ON a.id = a_id WHERE a.n IS DISTINCT FROM b.n";
    assert_eq!(text(&mut server.connect(), wrong), "0");
    let moved = "SELECT count(*) >= 30000 AND count(sno_time(id)) >= 30000 FROM a";
    assert_eq!(text(&mut server.connect(), moved), "t");
}

/// Schemas by chance: undone, moved, and back; each row refers to the same rows, and the dump is that of before.
#[test]
fn schemas_by_chance_move_there_and_back() {
    let mut random = Random::seeded();
    let server = Server::builder().conf("wal_level", "logical").start();
    for _ in 0..6 {
        let (schema, said) = schema_by_chance(&mut random);
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        let back = [&["--back"][..], &said].concat();
        println!("{schema}");
        server.run(&format!(
            "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION sno; {schema}"
        ));
        let joined = || {
            let all =
                "SELECT string_agg(format('SELECT t.name, r.name FROM %s t LEFT JOIN %s r ON r.id = t.of AND coalesce(t.ofs[2]::text, t.of::text) = t.of::text',
                           relname, 't' || substr(relname, 2)::integer / 2), ' UNION ALL ')
                       FROM pg_class WHERE relname ~ '^t[0-9]+$'";
            let all = text(&mut server.connect(), all);
            let sum = format!(
                "SELECT count(*) || md5(string_agg(a || coalesce(b, '-'), ',' ORDER BY a)) FROM ({all}) j(a, b)"
            );
            text(&mut server.connect(), &sum)
        };
        let (before, rows) = (dump(&server), joined());
        let undone = &["columns", "fill", "indexes", "switch", "undo", "undo"][..];
        for (steps, said) in [(undone, &said), (&STEPS, &said), (&STEPS, &back)] {
            for step in steps {
                take(&server, step, said);
                assert_eq!(joined(), rows, "{step}");
            }
            differs(&before, &dump(&server));
        }
    }
}

/// What a table by chance can have; its number is in the place of #.
const EXTRAS: [&str; 23] = [
    "CREATE INDEX ON t# (of, name) INCLUDE (kind)",
    "CREATE INDEX t#_part ON t# (id DESC) WHERE kind = 1",
    "CREATE INDEX t#_hash ON t# USING hash (of)",
    "CREATE INDEX t#_brin ON t# USING brin (id) WITH (pages_per_range = 7)",
    "CREATE UNIQUE INDEX t#_pair ON t# (name, of, kind) NULLS NOT DISTINCT",
    "CREATE VIEW v# WITH (security_barrier) AS SELECT id, of, name FROM t# WHERE name <> '';
     CREATE VIEW w# AS SELECT v.id FROM v# v; GRANT SELECT ON v# TO PUBLIC",
    "CREATE MATERIALIZED VIEW m# AS SELECT of, count(*) FROM t# GROUP BY of; CREATE INDEX m#_of ON m# (of)",
    "CREATE STATISTICS s# ON id, of FROM t#",
    "ALTER TABLE t# ENABLE ROW LEVEL SECURITY; CREATE POLICY p# ON t# USING (of IS NOT NULL OR id IS NOT NULL)",
    "COMMENT ON COLUMN t#.of IS E'of ''what''\\n\\\\'",
    "GRANT SELECT (id, of) ON t# TO PUBLIC",
    "ALTER TABLE t# ADD CONSTRAINT c# CHECK (of IS NOT NULL OR name IS NOT NULL)",
    "ALTER TABLE t# ALTER id SET STATISTICS 77",
    "CREATE TRIGGER g# AFTER UPDATE ON t# FOR EACH ROW WHEN (OLD.id <> NEW.id) EXECUTE FUNCTION tsvector_update_trigger()",
    "CREATE FUNCTION f#(t#) RETURNS text LANGUAGE sql STABLE BEGIN ATOMIC SELECT $1.id::text; END",
    "ALTER TABLE t# ADD CONSTRAINT u# UNIQUE (of, id, kind) DEFERRABLE",
    "CREATE RULE r# AS ON DELETE TO t# WHERE OLD.id IS NULL DO INSTEAD NOTHING",
    "CREATE VIEW \"x \"\"v #\" AS SELECT * FROM t# WHERE kind = 0",
    "CREATE UNIQUE INDEX t#_again ON t# (id, kind)",
    "ALTER TABLE t# ADD CONSTRAINT t#_twice UNIQUE (kind, id)",
    "CREATE VIEW y# AS SELECT of FROM t# WHERE name <> E'\\\\;\n\\! id' AND name <> '$move$:\"USER\" :''x'''",
    "CREATE TRIGGER h# BEFORE UPDATE OF of ON t# FOR EACH ROW WHEN (NEW.of IS NOT NULL) EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "ALTER TABLE t# ALTER of SET (n_distinct = -0.5); COMMENT ON CONSTRAINT t#_pkey ON t# IS '%s {} \\'",
];

/// Each table refers to that with half of its number, by a foreign key where that is possible; else that is said.
fn schema_by_chance(random: &mut Random) -> (String, Vec<String>) {
    let (mut all, mut partitioned, mut said) = (String::new(), Vec::new(), Vec::new());
    let kind = random.below(3);
    all += "CREATE DOMAIN number AS bigint CHECK (VALUE > 0); CREATE SEQUENCE numbers;\n";
    for n in 0..2 + random.below(5) {
        let key = [
            random.one_of(&["bigserial", "bigint GENERATED BY DEFAULT AS IDENTITY"]),
            "uuid DEFAULT gen_random_uuid()",
            "number DEFAULT nextval('numbers')",
        ][kind];
        let action = random.one_of(&[
            "",
            " ON DELETE CASCADE",
            " ON DELETE SET NULL",
            " ON UPDATE CASCADE",
            " DEFERRABLE INITIALLY DEFERRED",
            " MATCH FULL",
        ]);
        let way = random.below(4);
        partitioned.push(way == 0);
        let primary =
            ["PRIMARY KEY (id, kind)", "PRIMARY KEY (kind, id), UNIQUE (id)", "PRIMARY KEY (id)"][way.min(2)];
        let mut of = ["bigint", "uuid", "number"][kind].to_owned();
        // Arrays of a domain are refused.
        let ofs = ["bigint[]", "uuid[]", "number[]"][kind];
        if kind < 2 {
            said.extend(["--reference".to_owned(), format!("t{n}.ofs t{}.id", n / 2)]);
        }
        if !partitioned[n / 2] {
            of += &format!(" REFERENCES t{} (id){action}", n / 2);
        } else {
            said.extend(["--reference".to_owned(), format!("t{n}.of t{}.id", n / 2)]);
        }
        let long = random.one_of(&[
            "",
            "long text GENERATED ALWAYS AS ('of ' || coalesce(of::text, '\\') || id::text) STORED, ",
        ]);
        let parts = if way == 0 { " PARTITION BY LIST (kind)" } else { "" };
        all += &format!(
            "CREATE TABLE t{n} (id {key}, kind integer DEFAULT 0, name text, of {of}, ofs {ofs}, at timestamptz, {long}{primary}){parts};\n"
        );
        if way == 0 {
            all += &format!(
                "CREATE TABLE t{n}_0 PARTITION OF t{n} FOR VALUES IN (0, 1) PARTITION BY LIST (kind); CREATE TABLE t{n}_1 PARTITION OF t{n} DEFAULT;
                 CREATE TABLE t{n}_00 PARTITION OF t{n}_0 FOR VALUES IN (0); CREATE TABLE t{n}_01 PARTITION OF t{n}_0 DEFAULT;\n"
            );
        }
        for extra in EXTRAS {
            let cannot = extra.starts_with("CREATE RULE")
                || extra.contains("DEFERRABLE")
                || extra.contains("BEGIN ATOMIC");
            if random.below(3) == 0 && !(way == 0 && cannot) {
                all += &format!("{};\n", extra.replace('#', &n.to_string()));
            }
        }
        let (of, from, group) = match n {
            0 => ("NULL".to_owned(), String::new(), ""),
            _ => (
                "(array_agg(r.id ORDER BY r.name))[1 + g % count(r.id)::integer]".to_owned(),
                format!(", t{} r", n / 2),
                " GROUP BY g",
            ),
        };
        all += &format!(
            "INSERT INTO t{n} (kind, name, of, at) SELECT g % 3, 't{n} ' || g, {of}, '2024-01-01Z'::timestamptz + g * interval '1 hour'
             FROM generate_series(1, 40) g{from}{group};\n"
        );
        if kind < 2 {
            all += &format!("UPDATE t{n} SET ofs = ARRAY[NULL, of];\n");
        }
    }
    (all, said)
}
