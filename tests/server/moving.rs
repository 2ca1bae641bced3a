//! `sql/moving.sql`, which says what moving the keys of a database will meet, and writes the steps of `docs/moving.md` there and back: these
//! are taken while applications insert, update and delete, also rows that were there before.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, Stop, major_version, sql_file, text};

/// A schema that has each thing once.
const ALL: &str = include_str!("moving/all.sql");

/// What the DBA says of it.
const SAID: &str = r#"
\set references 'notes.subject_id orders.id subject_type = ''Order''\nnotes.subject_id customers.id subject_type = ''Customer''\nnotes.order_ids orders.id\nnotes.author customers.id\npayments.customer_id customers.id\n"item notes"."item no" "line item"."key no"'
\set times 'tags greatest("createdAt", ''2010-01-01'')'
\set functions 'current_account()'
"#;

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

/// The parts of `sql/moving.sql` as one stream.
fn program() -> String {
    let parts: Vec<_> = sql_file("moving.sql")
        .lines()
        .filter_map(|line| Some(sql_file(line.strip_prefix("\\ir ")?)))
        .collect();
    assert_eq!(parts.len(), 6);
    parts.concat()
}

/// Writes the steps into a folder of this server.
#[track_caller]
fn write_steps(server: &Server, settings: &str) -> PathBuf {
    let folder = server.socket_folder().join("steps");
    let _ = fs::remove_dir_all(&folder);
    let output =
        crate::docs::psql(server, &format!("{settings}\n\\set write '{}'\n{}", folder.display(), program()));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    let found: BTreeSet<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let expected = ["1_columns", "2_fill", "3_indexes", "4_check", "5_switch", "5u_undo", "6_end"]
        .map(|name| format!("{name}.sql"));
    assert_eq!(found, expected.into());
    folder
}

/// Takes a step; if it got no lock, or was chosen to end a deadlock, again, as it says itself. What it printed.
#[track_caller]
fn take(server: &Server, folder: &Path, step: &str) -> String {
    let sql = fs::read_to_string(folder.join(format!("{step}.sql"))).unwrap();
    for _ in 0..60 {
        let output = server.psql(&sql);
        if output.status.success() {
            return String::from_utf8(output.stdout).unwrap();
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let again = ["due to statement timeout", "deadlock detected", "rows are left"]
            .iter()
            .any(|what| errors.contains(what));
        assert!(again, "{step}: {errors}");
        if errors.contains("rows are left") {
            take(server, folder, "2_fill");
        }
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
    let output = server.command("pg_dump").args(["-s", "postgres"]).output().unwrap();
    assert!(output.status.success());
    let dump = String::from_utf8(output.stdout).unwrap();
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
        ["public.sno", "bigint", "uuid", "sno"]
            .iter()
            .fold(statement, |statement, name| statement.replace(name, "TYPE"))
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
fn take_steps(server: &Server, run: &str, settings: &str, steps: &[&str]) {
    let folder = write_steps(server, settings);
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
            take(server, &folder, step);
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
    let own = text(&mut server.connect(), "SELECT count(*) FROM pg_class WHERE relname LIKE 'moving%'");
    assert_eq!(own, "0");
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
    let different: Vec<_> = before.symmetric_difference(&after).collect();
    assert!(different.is_empty(), "{different:#?}");
    assert!(after.len() > 100, "{}", after.len());
}

#[test]
fn a_schema_with_everything_moves_there_and_back_while_it_is_written() {
    let server = start();
    let before = dump(&server);
    let every = [
        "1_columns",
        "2_fill",
        "3_indexes",
        "4_check",
        "5_switch",
        "5u_undo",
        "2_fill",
        "3_indexes",
        "4_check",
        "5_switch",
        "6_end",
    ];
    take_steps(&server, "there", SAID, &every);
    differs_in(&server, &before);
    rights_are_as_before(&server);
    let mut client = server.connect();
    let wrong = "SELECT count(*) FROM (SELECT id, created_at FROM orders UNION ALL SELECT id, created_at AT TIME ZONE 'UTC' FROM customers) r
                 WHERE created_at < '2025-01-01' AND sno_time(id) <> created_at";
    assert_eq!(text(&mut client, wrong), "0");
    assert_eq!(text(&mut client, "SELECT count(*) FROM orders WHERE ref <> 'ORD-' || id::text"), "0");
    assert_eq!(text(&mut client, "SELECT pg_typeof(id) FROM orders LIMIT 1"), "public.sno");
    take_steps(&server, "back", &format!("{SAID}\\set from sno"), &every);
    differs_in(&server, &before);
    rights_are_as_before(&server);
    assert_eq!(text(&mut client, "SELECT pg_typeof(id) FROM orders LIMIT 1"), "uuid");
    server.run("DROP EXTENSION sno");
}

/// To numbers, whose order is that of the IDs.
#[test]
fn a_schema_with_everything_moves_to_bigint_while_it_is_written() {
    let server = start();
    let before = dump(&server);
    let steps = ["1_columns", "2_fill", "3_indexes", "4_check", "5_switch", "6_end"];
    take_steps(&server, "there", SAID, &steps);
    server.run("CREATE TABLE public.kept AS SELECT name, id AS old FROM orders");
    take_steps(&server, "back", &format!("{SAID}\\set from sno\n\\set to bigint"), &steps);
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
    let steps = ["1_columns", "2_fill", "3_indexes", "4_check", "5_switch", "6_end"];
    let folder = write_steps(&server, "\\set keys orders\n\\set value 'uuidv7_to_sno(id)'");
    for step in steps {
        take(&server, &folder, step);
        server.run("INSERT INTO orders (note) VALUES ('new')");
    }
    let same = "SELECT count(*) FROM before b JOIN orders o ON o.id = uuidv7_to_sno(b.id) AND o.replaces = uuidv7_to_sno(b.replaces) AND o.note = b.note";
    assert_eq!(text(&mut server.connect(), same), "3000");
    let folder = write_steps(&server, "\\set keys orders\n\\set from sno");
    for step in steps {
        take(&server, &folder, step);
    }
    let same = "SELECT count(*) FROM before b JOIN orders USING (id, replaces, note)";
    assert_eq!(text(&mut server.connect(), same), "3000");
}

/// Rows without a new key are told; those whose new keys are equal, as after more of one time than there are sequence numbers, get others.
#[test]
fn rows_that_are_left_and_rows_of_one_time() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE items (id serial PRIMARY KEY, created_at timestamptz NOT NULL);
         INSERT INTO items (created_at) SELECT '2026-01-01Z' FROM generate_series(1, 3);
         CREATE TABLE notes (item integer REFERENCES items); CREATE ROLE writer; GRANT INSERT ON notes TO writer",
    );
    let folder = write_steps(&server, "\\set keys items");
    take(&server, &folder, "1_columns");
    // Who writes a reference need not read what it refers to.
    server.run("SET ROLE writer; INSERT INTO notes VALUES (1)");
    let left = server.psql(&fs::read_to_string(folder.join("4_check.sql")).unwrap());
    assert!(String::from_utf8_lossy(&left.stderr).contains("rows are left: run step 2 again"), "{left:?}");
    server.run("UPDATE items SET sno = sno_make(created_at, 0, 1, 1)");
    for step in ["2_fill", "3_indexes", "4_check"] {
        take(&server, &folder, step);
    }
}

/// A table for each thing that the check says, and some that stay.
const SHOP: &str = "
    CREATE ROLE reader; CREATE EXTENSION btree_gist;
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
    CREATE VIEW days AS SELECT created_at::date FROM orders;
    CREATE FUNCTION least_id() RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
    ALTER TABLE orders ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON orders USING (customer_id > least_id());
    GRANT SELECT (customer_id) ON orders TO reader;
    CREATE FUNCTION newest() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT max(id) FROM customers); END $$;
    CREATE FUNCTION atomic(orders) RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT $1.id; END;
    CREATE TABLE countries (code text PRIMARY KEY); CREATE TABLE parcels (id bigint PRIMARY KEY); CREATE TABLE rates (day date PRIMARY KEY, rate_id text);
    CREATE FUNCTION is_rate(n bigint) RETURNS boolean LANGUAGE sql AS 'SELECT n > 0'";

const TO_DO: &str = "
    0|inheritance|late_orders of orders
    0|key without a default|parcels.id
    0|partition key|files.order_id
    0|partitioned table|events
    0|partitioned table|files
    0|partitioned table|payments
    0|published|lines by some_columns
    0|reads such a table|view file_names
    1|deferred foreign key|lines_order_id_fkey of lines
    1|generated column|orders.ref
    1|reference without a foreign key|comments.customer bigint
    1|reference without a foreign key|comments.order_ids bigint[]
    1|reference without a foreign key|comments.subject_id bigint
    2|creation time|customers.created_at timestamp without time zone
    3|foreign key|lines_order_id_fkey of lines
    3|foreign key|orders_customer_id_fkey of orders
    3|foreign key|payments_1_order_id_fkey of payments_1
    3|index|INDEX rooms_order_id_during_excl ON public.rooms USING gist (order_id, during)
    3|index|UNIQUE INDEX lines_pkey ON public.lines USING btree (order_id, n)
    5|default|lines.order_id DEFAULT 0
    5|function by its type|atomic(orders)
    5|function by its type|least_id()
    5|function|newest()
    5|grants on a column|orders.customer_id
    5|uses old columns|function atomic(orders)
    5|uses old columns|materialized view large, of postgres
    5|uses old columns|policy own on table orders
    5|uses old columns|publication of table lines in publication some_columns
    5|uses old columns|view sums, of postgres: security_barrier=true
    6|uses the creation time|INDEX latest ON public.orders USING btree (created_at)
    6|uses the creation time|view days";

#[test]
fn the_check_names_what_there_is_to_do_and_nothing_else() {
    let server = Server::builder().conf("wal_level", "logical").start();
    server.run(SHOP);
    let check = |server: &Server, before: &str| {
        let output = server.psql(&format!("{before}\n{}", program()));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    // The rows under a heading, without the last column.
    let part = |printed: &str, heading: &str| -> BTreeSet<String> {
        let rows =
            printed.split("* ").find_map(|part| part.strip_prefix(heading)).expect(heading).lines().skip(1);
        rows.filter_map(|line| Some(line.rsplit_once('|')?.0.to_owned())).collect()
    };
    let all = check(&server, "");
    let expected: BTreeSet<String> = TO_DO.lines().skip(1).map(|line| line.trim().to_owned()).collect();
    let found = part(&all, "What there is to do");
    assert_eq!(found, expected, "{:#?}", found.symmetric_difference(&expected));
    assert_eq!(part(&all, "Keys that could move").len(), 4);
    assert!(
        all.contains("|created_at|files.order_id, lines.order_id, payments.order_id, rooms.order_id\n"),
        "{all}"
    );
    // What cannot move is refused with its reason, and so is what is not found.
    let refused = |before: &str| {
        let output = server.psql(&format!("{before}\n\\set write -\n{}", program()));
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let errors = refused("");
    let reasons = "nothing is written, as some keys cannot move with these steps\n\
        DETAIL:  inheritance late_orders of orders: not with these steps: a key is unique in one table only, and triggers do not fire in the others\n\
        partition key files.order_id: not with these steps, as no row may change its partition: see Partitioned tables\n\
        HINT:  Name the other keys in \"keys\".";
    assert!(errors.contains(reasons), "{errors}");
    assert!(refused("\\set keys 'comments.idd'").contains("not found comments.idd: no such key"));
    if major_version(&mut server.connect()) >= 18 {
        server.run("CREATE TABLE stays (customer_id bigint REFERENCES customers, during daterange, PRIMARY KEY (customer_id, during WITHOUT OVERLAPS))");
        assert!(refused("\\set keys customers").contains("temporal key stays_pkey of stays: "));
        server.run("DROP TABLE stays");
    }
    // A role without rights sees the same, and a standby; some keys alone; those of sno.
    assert_eq!(part(&check(&server, "SET ROLE reader;"), "What there is to do"), expected);
    let standby = server.standby();
    server.wait_replayed(&standby);
    assert_eq!(part(&check(&standby, ""), "What there is to do"), expected);
    let some = part(&check(&server, "\\set keys 'comments'"), "What there is to do");
    assert!(some.is_empty(), "{some:#?}");
    let without = part(&check(&server, "\\set keys 'parcels.id'"), "What there is to do");
    assert!(without.contains("5|key without a default|parcels.id"), "{without:#?}");
    let none = part(
        &check(&server, "\\set keys 'comments.idd'\n\\set references 'comments.sub orders.id'"),
        "What there is to do",
    );
    assert_eq!(Vec::from_iter(none), ["0|not found|comments.idd", "0|not found|comments.sub orders.id"]);
    server.run("CREATE TABLE items (id sno PRIMARY KEY); CREATE VIEW few AS TABLE items");
    let back = check(&server, "\\set from sno");
    assert_eq!(
        part(&back, "What there is to do").into_iter().collect::<Vec<_>>(),
        ["5|uses old columns|view few, of postgres"]
    );
}

/// Names, a default and keys that would be statements, or commands of psql's.
const HOSTILE: &str = r#"
    CREATE TABLE victim (x integer); CREATE TABLE p (id uuid PRIMARY KEY DEFAULT gen_random_uuid());
    CREATE TABLE "a
\! kill $PPID
DROP TABLE victim; --" (id bigserial PRIMARY KEY, "{value}
DROP TABLE victim; --" text GENERATED ALWAYS AS ('$$; DROP TABLE victim; $$' || id::text) STORED);
    CREATE TABLE c (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), p_id uuid DEFAULT CASE WHEN current_user = 'x'
        THEN '00000000-0000-0000-0000-000000000001'::uuid END REFERENCES p);
    CREATE TABLE pages (id text PRIMARY KEY); INSERT INTO pages VALUES ('{until}'), ('||$$$$; DROP TABLE victim; --');
    INSERT INTO p DEFAULT VALUES; INSERT INTO c DEFAULT VALUES; INSERT INTO "a
\! kill $PPID
DROP TABLE victim; --" DEFAULT VALUES"#;

#[test]
fn no_name_default_or_key_is_a_statement() {
    let server = Server::builder().start();
    server.run(HOSTILE);
    let folder = write_steps(&server, "");
    for step in ["1_columns", "2_fill", "3_indexes", "4_check", "5_switch", "6_end"] {
        take(&server, &folder, step);
    }
    let kept = "SELECT count(*) + (SELECT count(*) FROM victim) FROM pages WHERE id IS NOT NULL";
    assert_eq!(text(&mut server.connect(), kept), "2");
}

/// A schema, what the DBA says of it, and why nothing is written.
const REFUSED: [(&str, &str, &str); 6] = [
    ("CREATE TABLE docs (id bigint GENERATED BY DEFAULT AS IDENTITY, version int, PRIMARY KEY (id, version))", "", "part of a key docs.id"),
    ("CREATE TABLE docs (id uuid DEFAULT gen_random_uuid(), version int, PRIMARY KEY (id, version)) PARTITION BY HASH (version);
      CREATE TABLE docs_1 PARTITION OF docs FOR VALUES WITH (MODULUS 1, REMAINDER 0); INSERT INTO docs SELECT gen_random_uuid(), 1;
      INSERT INTO docs SELECT id, 2 FROM docs", "", "several rows have the same \"id\" in docs"),
    ("CREATE TABLE orders (tenant int, id bigint GENERATED BY DEFAULT AS IDENTITY, PRIMARY KEY (tenant, id))", "", "part of a key orders.id"),
    ("CREATE TABLE orders (id bigserial PRIMARY KEY); CREATE TABLE audit (object_type text, object_id text)",
     "\\set references 'audit.object_id orders.id object_type = ''Order'''", "reference of another type audit.object_id text"),
    ("CREATE ROLE lead; CREATE TABLE orders (id bigserial PRIMARY KEY); ALTER TABLE orders OWNER TO lead;
      ALTER TABLE orders ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY", "", "forced row security orders"),
    ("CREATE TABLE orders (id bigserial PRIMARY KEY); ALTER TABLE orders OWNER TO lead", "", "other owner orders, of lead"),
];

#[test]
fn what_cannot_move_is_refused_before_anything_is_written() {
    let server = Server::builder().start();
    for (schema, said, why) in REFUSED {
        server.run(&format!(
            "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION sno; {schema}"
        ));
        let output = server.psql(&format!("{said}\n\\set write -\n{}", program()));
        assert!(String::from_utf8_lossy(&output.stderr).contains(why), "{why}: {output:?}");
    }
    // What a trigger could not evaluate fails the first step, not the application.
    server.run(
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION sno;
        CREATE TABLE orders (id bigserial PRIMARY KEY, shard bigint GENERATED ALWAYS AS (id % 16) STORED)",
    );
    let folder = write_steps(&server, "");
    let output = server.psql(&fs::read_to_string(folder.join("1_columns.sql")).unwrap());
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("operator does not exist: public.sno %"),
        "{output:?}"
    );
    server.run("INSERT INTO orders DEFAULT VALUES");
}

/// The functions that a move leaves belong to the table's owner, and who runs another one's steps is told to be it.
#[test]
fn a_move_runs_as_the_owner() {
    let server = Server::builder().start();
    server.run("CREATE ROLE lead LOGIN; GRANT CREATE ON SCHEMA public TO lead; SET ROLE lead; CREATE TABLE orders (id bigserial PRIMARY KEY, of bigint REFERENCES orders)");
    let folder = write_steps(&server, "SET ROLE lead;");
    let step = fs::read_to_string(folder.join("1_columns.sql")).unwrap();
    assert!(String::from_utf8_lossy(&server.psql(&step).stderr).contains("must be run as the owner"));
    assert!(server.psql(&format!("SET ROLE lead;\n{step}")).status.success());
    let others = "SELECT count(*) FROM pg_proc WHERE proname LIKE '%moving%' AND proowner <> 'lead'::regrole";
    assert_eq!(text(&mut server.connect(), others), "0");
}
