//! A whole schema, `schema.sql`, moves by the steps of `docs/moving.md` while it is written: the statements are the page's, repeated
//! for each key and each reference, with their names. What the page leaves to whoever takes the steps is `own.sql`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, Stop, sql_file, text};

use crate::docs::{blocks, page, run_step, section};

/// A table whose key moves: the page's `orders`.
struct Key {
    table: &'static str,
    /// Of the old key, and what is less than all of them.
    key_type: &'static str,
    least: &'static str,
    /// The time of a row, in place of the page's `created_at`.
    time: &'static str,
    /// Its columns in the index that becomes the primary key.
    index: &'static str,
}

/// A column that refers to a key: the page's `lines.order_id`.
struct Reference {
    table: &'static str,
    column: &'static str,
    target: &'static str,
    /// Of the foreign key what comes after the columns, or all of it.
    foreign_key: Option<&'static str>,
    /// The columns of the primary key, if the column is in it.
    primary_key: Option<&'static str>,
    is_nullable: bool,
}

const fn key(table: &'static str, key_type: &'static str, least: &'static str, time: &'static str) -> Key {
    Key { table, key_type, least, time, index: "(sno)" }
}

const UUID: &str = "'00000000-0000-0000-0000-000000000000'";

const KEYS: [Key; 14] = [
    key("accounts", "uuid", UUID, "created_at"),
    key("transfers", "uuid", UUID, "created_at"),
    key("sessions", "uuid", UUID, "created_at"),
    key("api_keys", "text", "''", "created_at"),
    key("customers", "bigint", "0", "greatest(created_at, '2010-01-01Z')"),
    key("categories", "bigint", "0", "coalesce(created_at, '2020-01-01Z')"),
    key("products", "bigint", "0", "created_at"),
    key("bookings", "bigint", "0", "created_at"),
    key("bundles", "integer", "0", "created_on"),
    key("orders", "bigint", "0", "created_at"),
    key("lines", "bigint", "0", "created_at"),
    key("invoices", "bigint", "0", "created_at"),
    key("comments", "bigint", "0", "to_timestamp(created_ms / 1000.0)"),
    Key { index: "(account_sno, sno)", ..key("documents", "uuid", UUID, "created_at") },
];

const fn reference(table: &'static str, column: &'static str, target: &'static str) -> Reference {
    Reference { table, column, target, foreign_key: Some(""), primary_key: None, is_nullable: false }
}

const REFERENCES: [Reference; 22] = [
    Reference {
        primary_key: Some("(account_sno)"),
        foreign_key: Some("ON DELETE CASCADE"),
        ..reference("account_settings", "account_id", "accounts")
    },
    reference("transfers", "sender", "accounts"),
    reference("transfers", "receiver", "accounts"),
    Reference { foreign_key: None, ..reference("sessions", "account_id", "accounts") },
    reference("api_keys", "account_id", "accounts"),
    reference("customers", "account_id", "accounts"),
    reference("comments", "author_id", "accounts"),
    reference("documents", "account_id", "accounts"),
    Reference { foreign_key: None, ..reference("document_versions", "account_id", "accounts") },
    reference("orders", "customer_id", "customers"),
    Reference { foreign_key: None, is_nullable: true, ..reference("audit", "customer_id", "customers") },
    Reference {
        foreign_key: Some("ON DELETE CASCADE"),
        ..reference("product_categories", "product_id", "products")
    },
    Reference {
        primary_key: Some("(product_sno, category_sno)"),
        ..reference("product_categories", "category_id", "categories")
    },
    reference("bookings", "product_id", "products"),
    reference("lines", "product_id", "products"),
    Reference { foreign_key: Some("ON DELETE CASCADE"), ..reference("lines", "order_id", "orders") },
    Reference { primary_key: Some("(order_sno, tag)"), ..reference("order_tags", "order_id", "orders") },
    Reference { primary_key: Some("(order_sno)"), ..reference("order_details", "order_id", "orders") },
    Reference {
        foreign_key: Some("FOREIGN KEY (detail_sno) REFERENCES order_details (order_sno)"),
        ..reference("shipments", "detail_id", "orders")
    },
    reference("invoices", "order_id", "orders"),
    Reference {
        foreign_key: Some("DEFERRABLE INITIALLY DEFERRED"),
        ..reference("payments", "invoice_id", "invoices")
    },
    Reference {
        primary_key: Some("(account_sno, document_sno, n)"),
        foreign_key: Some("FOREIGN KEY (account_sno, document_sno) REFERENCES documents (account_sno, sno)"),
        ..reference("document_versions", "document_id", "documents")
    },
];

/// A reference to its own table, the page's `orders.replaces`: table, column, what becomes of the foreign key.
const OWN: [[&str; 3]; 2] = [["orders", "replaces", ""], ["categories", "parent_id", "ON DELETE SET NULL"]];

/// `events` are partitioned: only the first two steps are those of other tables.
const PARTITIONED: Reference = Reference { is_nullable: true, ..reference("events", "order_id", "orders") };

/// The new column beside an old one.
fn sno(column: &str) -> String {
    format!("{}_sno", column.strip_suffix("_id").unwrap_or(column))
}

/// Several names at once, none within another's replacement.
fn replace(text: &str, names: &[(&str, &str)]) -> String {
    let marked = (0..)
        .zip(names)
        .fold(text.to_owned(), |text, (n, (from, _))| text.replace(from, &format!("\u{1}{n}\u{2}")));
    (0..).zip(names).fold(marked, |text, (n, (_, to))| text.replace(&format!("\u{1}{n}\u{2}"), to))
}

/// A statement about `orders`, for a key.
fn for_key(statement: &str, key: &Key) -> String {
    let identity = ["customers", "categories", "orders", "lines"].contains(&key.table);
    let least = format!("{} := {};", key.key_type, key.least);
    replace(
        statement,
        &[
            ("ON orders (sno)", &format!("ON {} {}", key.table, key.index)),
            ("orders", key.table),
            ("bigint := 0;", &least),
            ("bigint", key.key_type),
            ("DROP IDENTITY", if identity { "DROP IDENTITY" } else { "DROP DEFAULT" }),
            ("created_at", key.time),
        ],
    )
}

/// A statement about `lines`, for a reference; nothing if it is about what the reference does not have.
fn for_reference(statement: &str, reference: &Reference) -> String {
    let Reference { table, column, target, .. } = *reference;
    if statement.contains("_fkey") && reference.foreign_key.is_none()
        || statement.contains("lines_pkey") && reference.primary_key.is_none()
    {
        return String::new();
    }
    let mut statement = statement.to_owned();
    if reference.primary_key.is_none() {
        statement = statement.replace("UNIQUE INDEX", "INDEX");
    }
    if reference.is_nullable {
        statement = statement
            .replace("CHECK (order_sno IS NOT NULL)", "CHECK (order_sno IS NOT NULL OR order_id IS NULL)");
        if statement.contains("SET NOT NULL") {
            return String::new();
        }
    }
    let new = sno(column);
    let foreign_key = match reference.foreign_key {
        Some(whole) if whole.starts_with("FOREIGN") => whole.to_owned(),
        options => format!("FOREIGN KEY ({new}) REFERENCES {target} (sno) {}", options.unwrap_or_default()),
    };
    let key_columns = reference.primary_key.map_or(format!("({new})"), str::to_owned);
    replace(
        &statement,
        &[
            ("FOREIGN KEY (order_sno) REFERENCES orders (sno) ON DELETE CASCADE", &foreign_key),
            ("(order_sno, n)", &key_columns),
            (
                "public.orders",
                &format!("{}.{target}", if target == "invoices" { "billing" } else { "public" }),
            ),
            ("orders", target),
            ("lines", table),
            ("order_sno", &new),
            ("order_id", column),
        ],
    )
}

/// A statement about `orders.replaces`, for another table.
fn for_own(statement: &str, [table, column, options]: [&str; 3]) -> String {
    let new = sno(column);
    let statement = statement.replace("(sno) NOT VALID", &format!("(sno) {options} NOT VALID"));
    replace(&statement, &[("orders", table), ("replaces_sno", &new), ("replaces", column)])
}

/// The part of `own.sql` under this heading.
fn own(heading: &str) -> String {
    let parts = include_str!("own.sql").split("\n-- ");
    let mut parts = parts.filter_map(|part| part.split_once('\n')?.0.starts_with(heading).then_some(part));
    let (_, sql) = parts.next().expect(heading).split_once('\n').unwrap();
    format!("{sql}\n")
}

/// A block of the page for all tables. Each of its statements comes for all of them before the next one.
fn for_all(block: &str) -> String {
    let tables: BTreeSet<&str> =
        REFERENCES.iter().map(|r| r.table).chain(KEYS.map(|key| key.table)).collect();
    // In the order in which the application writes.
    let first = ["accounts", "customers", "orders", "lines"];
    let tables: Vec<&str> =
        first.into_iter().chain(tables.into_iter().filter(|table| !first.contains(table))).collect();
    let mut all = String::new();
    for statement in block.split_inclusive(";\n") {
        if statement.contains("customer") {
            continue; // An index, which own.sql has.
        } else if statement.starts_with("LOCK") {
            writeln!(all, "LOCK TABLE {}, events IN ACCESS EXCLUSIVE MODE;", tables.join(", ")).unwrap();
        } else if statement.contains("replaces") {
            all.extend(OWN.map(|own| for_own(statement, own)));
        } else if statement.contains("lines") {
            all.extend(REFERENCES.iter().map(|reference| for_reference(statement, reference)));
        } else if statement.contains("orders") {
            all.extend(KEYS.iter().map(|key| for_key(statement, key)));
        } else {
            all += statement;
        }
    }
    all
}

/// The procedure that fills a key and what refers to it.
fn fill(block: &str, key: &Key) -> String {
    let mut all = String::new();
    for statement in block.split_inclusive(";\n") {
        if statement.contains("replaces") {
            all.extend(OWN.iter().filter(|own| own[0] == key.table).map(|own| for_own(statement, *own)));
        } else if statement.contains("UPDATE lines") {
            let references =
                REFERENCES.iter().chain([&PARTITIONED]).filter(|reference| reference.target == key.table);
            all.extend(references.map(|reference| for_reference(statement, reference)));
        } else {
            all += &for_key(statement, key);
        }
    }
    all
}

/// One transaction of an application that takes every key as a text. All names in it are the same.
fn write(client: &mut Client, name: &str, old: usize, longest: &AtomicUsize) {
    let mut transaction = client.transaction().unwrap();
    let mut insert = |table: &str, columns: &str, values: &str| -> String {
        let returning =
            if ["accounts", "customers", "orders", "products", "invoices", "documents"].contains(&table) {
                "id::text"
            } else {
                "''"
            };
        let began = Instant::now();
        let id = transaction
            .one(&format!("INSERT INTO {table} ({columns}) VALUES ({values}) RETURNING {returning}"));
        longest.fetch_max(began.elapsed().as_millis() as usize, Relaxed);
        id
    };
    let account = insert("accounts", "email", &format!("'{name}'"));
    let customer = insert("customers", "account_id, name", &format!("'{account}', '{name}'"));
    let order = insert("orders", "customer_id, note", &format!("'{customer}', '{name}'"));
    let replaced =
        insert("orders", "customer_id, replaces, note", &format!("'{customer}', '{order}', '{name}'"));
    let product = insert("products", "title", &format!("'{name}'"));
    insert("lines", "order_id, product_id, item", &format!("'{order}', '{product}', '{name}'"));
    insert("lines", "order_id, product_id, item", &format!("'{replaced}', '{product}', '{name}'"));
    insert("order_tags", "order_id, tag", &format!("'{order}', '{name}'"));
    insert("order_details", "order_id, address", &format!("'{order}', '{name}'"));
    insert("shipments", "detail_id, carrier", &format!("'{order}', '{name}'"));
    let invoice = insert("invoices", "order_id, total", &format!("'{order}', 1"));
    insert("payments", "invoice_id, amount", &format!("'{invoice}', 1"));
    insert(
        "comments",
        "subject_type, subject_id, author_id, body",
        &format!("'Order', '{order}', '{account}', '{name}'"),
    );
    insert("bundles", "product_ids", &format!("'{{{product}}}'"));
    insert("sessions", "account_id", &format!("'{account}'"));
    let document = insert("documents", "account_id, title", &format!("'{account}', '{name}'"));
    insert(
        "document_versions",
        "account_id, document_id, n, text",
        &format!("'{account}', '{document}', 1, '{name}'"),
    );
    insert("events", "order_id, kind", &format!("'{order}', '{name}'"));
    let began = Instant::now();
    // Its line goes with it.
    transaction.run(&format!("DELETE FROM orders WHERE id = '{replaced}'"));
    transaction.run(&format!("UPDATE customers SET name = name WHERE id = '{customer}'"));
    transaction.run(&format!("UPDATE events SET kind = kind WHERE kind = 'event {old}'"));
    transaction.commit().unwrap();
    longest.fetch_max(began.elapsed().as_millis() as usize, Relaxed);
}

/// The tables' rows without any key: what they and the rows that they refer to are called.
const ROWS: &str = "
    SELECT concat_ws('|', 'setting', a.email, s.theme) AS row FROM account_settings s JOIN accounts a ON a.id = account_id
    UNION ALL SELECT concat_ws('|', 'transfer', a.email, b.email, amount) FROM transfers JOIN accounts a ON a.id = sender JOIN accounts b ON b.id = receiver
    UNION ALL SELECT concat_ws('|', 'session', a.email) FROM sessions s JOIN accounts a ON a.id = account_id
    UNION ALL SELECT concat_ws('|', 'api key', a.email) FROM api_keys s JOIN accounts a ON a.id = account_id
    UNION ALL SELECT concat_ws('|', 'customer', a.email, c.name) FROM customers c JOIN accounts a ON a.id = account_id
    UNION ALL SELECT concat_ws('|', 'audit', c.name) FROM audit JOIN customers c ON c.id = customer_id
    UNION ALL SELECT concat_ws('|', 'category', c.name, p.name) FROM categories c LEFT JOIN categories p ON p.id = c.parent_id
    UNION ALL SELECT concat_ws('|', 'product', p.title, c.name) FROM products p LEFT JOIN product_categories ON product_id = p.id LEFT JOIN categories c ON c.id = category_id
    UNION ALL SELECT concat_ws('|', 'booking', p.title, during) FROM bookings JOIN products p ON p.id = product_id
    UNION ALL SELECT concat_ws('|', 'bundle', (SELECT string_agg(title, ',' ORDER BY n) FROM unnest(product_ids) WITH ORDINALITY u(id, n) JOIN products p USING (id))) FROM bundles
    UNION ALL SELECT concat_ws('|', 'order', a.email, c.name, o.note, p.note) FROM orders o JOIN customers c ON c.id = o.customer_id JOIN accounts a ON a.id = c.account_id LEFT JOIN orders p ON p.id = o.replaces
    UNION ALL SELECT concat_ws('|', 'line', l.item, o.note, p.title) FROM lines l JOIN orders o ON o.id = order_id JOIN products p ON p.id = product_id
    UNION ALL SELECT concat_ws('|', 'tag', o.note, tag) FROM order_tags JOIN orders o ON o.id = order_id
    UNION ALL SELECT concat_ws('|', 'detail', o.note, address) FROM order_details JOIN orders o ON o.id = order_id
    UNION ALL SELECT concat_ws('|', 'shipment', o.note, carrier) FROM shipments JOIN orders o ON o.id = detail_id
    UNION ALL SELECT concat_ws('|', 'payment', o.note, total, amount) FROM payments JOIN invoices i ON i.id = invoice_id JOIN orders o ON o.id = order_id
    UNION ALL SELECT concat_ws('|', 'comment', a.email, body, o.note, p.title) FROM comments JOIN accounts a ON a.id = author_id
        LEFT JOIN orders o ON subject_type = 'Order' AND o.id = subject_id LEFT JOIN products p ON subject_type = 'Product' AND p.id = subject_id
    UNION ALL SELECT concat_ws('|', 'document', a.email, d.title, v.n, v.text) FROM documents d JOIN accounts a ON a.id = account_id
        JOIN document_versions v ON v.account_id = a.id AND v.document_id = d.id
    UNION ALL SELECT concat_ws('|', 'event', kind, o.note) FROM events LEFT JOIN orders o ON o.id = order_id
    UNION ALL SELECT concat_ws('|', 'sum', o.note, s.lines) FROM order_sums s JOIN orders o USING (id)";

/// What there is of each kind of row, apart from the application's, which has to have one name each.
fn rows(client: &mut Client) -> Vec<String> {
    let mut rows: Vec<String> = client.query(ROWS, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    rows.retain(|row| {
        let names: BTreeSet<&str> = row.split('|').filter(|name| name.starts_with("writer ")).collect();
        assert!(names.len() < 2, "{row}");
        names.is_empty()
    });
    rows.sort();
    rows
}

/// What `sql/moving-check.sql` prints after these commands, without what the server is.
fn check(server: &Server, before: &str) -> String {
    let output = server.psql(&format!("{before}\n{}", sql_file("moving-check.sql")));
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The rows under a heading of the check, without the heading.
fn part<'a>(printed: &'a str, heading: &str) -> BTreeSet<&'a str> {
    let (_, rest) = printed.split_once(&format!("* {heading}")).expect(heading);
    let rows = rest.split("\n* ").next().unwrap().lines().skip(1);
    rows.filter(|line| !line.is_empty()).collect()
}

const TO_DO: &str = "What there is to do";
const NOT_SEEN: &str = "What this check could not see";

#[test]
fn the_check_names_what_there_is_to_do_and_nothing_else() {
    let server = Server::builder().conf("search_path", "public, billing").start();
    server.run("CREATE ROLE shop_reader");
    server.run(include_str!("schema.sql"));
    let all = check(&server, "");
    assert!(all.contains("|postgres|created|yes\n"), "{all}");
    let to_do = part(&all, TO_DO);
    let expected: BTreeSet<&str> = include_str!("to_do.txt").lines().collect();
    let differ: Vec<_> = to_do.symmetric_difference(&expected).collect();
    assert!(differ.is_empty(), "{differ:#?}");
    for no_problem in
        ["rates", "is_rate", "order_note", "countries", "regions", "stripe_id", "external_id", "email"]
    {
        let pattern = |line: &&&str| {
            line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == no_problem)
        };
        assert!(!to_do.iter().any(|line| pattern(&line)), "{no_problem}");
    }
    assert_eq!(part(&all, "Keys that could move").len(), 15);

    // Some keys only: what refers to them, and what uses these columns.
    let some = check(&server, "\\set keys 'orders'");
    let some = part(&some, TO_DO);
    assert!(some.len() > 20 && some.iter().any(|line| line.contains("order_tags_pkey")), "{some:#?}");
    assert!(
        !some
            .iter()
            .any(|line| ["accounts", "transfers", "categories"].iter().any(|other| line.contains(other))),
        "{some:#?}"
    );

    // A role without rights does not see the statistics; the rest is the same. So it is without the extension.
    let ordinary = check(&server, "SET ROLE shop_reader;");
    assert!(ordinary.contains("|shop_reader|created|not visible to this role\n"), "{ordinary}");
    let unseen: Vec<_> = to_do.difference(&part(&ordinary, TO_DO)).copied().collect();
    assert!(unseen.len() == 2 && unseen.iter().all(|line| line.contains("|rows ")), "{unseen:?}");
    let not_seen: Vec<_> = part(&ordinary, NOT_SEEN).difference(&part(&all, NOT_SEEN)).copied().collect();
    assert!(not_seen.len() == 1 && not_seen[0].starts_with("statistics of the times"), "{not_seen:?}");
    server.run("DROP EXTENSION sno");
    let without = check(&server, "");
    assert!(without.contains("|postgres|installed, not created in this database|yes\n"), "{without}");
    assert_eq!(part(&without, TO_DO), to_do);
    let empty = check(&server, "\\connect template1");
    assert!(part(&empty, TO_DO).is_empty() && part(&empty, "Keys that could move").is_empty(), "{empty}");
}

/// What stores rows: a table or an index that is built has another file.
fn files(client: &mut Client) -> BTreeSet<u32> {
    let query = "SELECT pg_relation_filenode(oid) FROM pg_class WHERE relkind IN ('r', 'i')
                     AND relnamespace IN ('public'::regnamespace, 'billing'::regnamespace)";
    client.query(query, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

/// Each function works, and the counter that hides its errors has counted.
fn works(client: &mut Client) {
    client.run(
        "SELECT order_lines(id), lock_order(id), shard(id), lines_of(o) FROM orders o LIMIT 5;
         SELECT newest_customers(); TABLE large_orders; TABLE order_json",
    );
    let counted = "SELECT count(*) FROM orders o WHERE line_count <> (SELECT count(*) FROM lines WHERE order_id = o.id)";
    assert_eq!(client.one::<i64>(counted), 0);
}

/// After the way there: nothing is left to do; for the way back there is.
fn still_written(server: &Server) {
    works(&mut server.connect());
    let left = check(server, "");
    assert!(part(&left, TO_DO).is_empty(), "{left}");
    let back = check(server, "\\set from sno");
    let back = part(&back, TO_DO);
    for part in [
        "order_tags_pkey",
        "view order_sums",
        "policy own on table sessions",
        "orders_customer_new",
        "shard(sno)",
    ] {
        assert!(back.iter().any(|line| line.contains(part)), "{part}: {back:#?}");
    }
}

/// The steps to `uuid`: those of `docs/moving-back.md`, then those of the way there with other names for the columns.
fn steps_back([index, constraints, switch, clean_up]: [&str; 4]) -> Vec<(String, String)> {
    // The names of the way there, so that the same statements are repeated; what is no name of a column is marked.
    let page = page("moving-back.md");
    let to_uuid = section(&page, "To `uuid`");
    let there = |sql: &str| {
        replace(
            sql,
            &[
                ("new_id uuid, ADD", "sno uuid;\nALTER TABLE orders ADD"),
                ("sno_to_uuidv7", "\u{3}"),
                (" sno", " \u{4}"),
                ("new_order_id", "order_sno"),
                ("new_replaces", "replaces_sno"),
                ("new_id", "sno"),
            ],
        )
    };
    let back = |sql: &str| replace(sql, &[("sno", "uid"), ("\u{3}", "sno_to_uuidv7"), ("\u{4}", "sno")]);
    let own = |heading: &str| {
        let sql = replace(
            &own(heading),
            &[
                ("'2222222222222222'", UUID),
                ("_new ", "_back "),
                ("order_id sno", "order_id uuid"),
                ("line_id sno", "line_id uuid"),
                ("(bigint)", "(\u{4})"),
                (", last_order()", ""),
                ("(SELECT sno FROM public.orders WHERE id = NEW.subject_id)", "\u{3}(NEW.subject_id)"),
                ("(SELECT sno FROM public.products WHERE id = NEW.subject_id)", "\u{3}(NEW.subject_id)"),
                (
                    "SELECT sno FROM unnest(NEW.product_ids) WITH ORDINALITY u(id, n) JOIN public.products USING (id)",
                    "SELECT \u{3}(id) FROM unnest(NEW.product_ids) WITH ORDINALITY u(id, n)",
                ),
                ("subject_sno sno", "subject_sno uuid"),
                ("product_snos sno[]", "product_snos uuid[]"),
                ("SET search_path = pg_catalog, pg_temp", "SET search_path FROM CURRENT"),
            ],
        );
        let gone = ["events_order_id_fkey", "ON events;", "events_old", "events_order_sno", "fill_events"];
        sql.split_inclusive(";\n")
            .filter(|statement| !gone.iter().any(|name| statement.contains(name)))
            .collect::<String>()
    };
    // What the table with partitions has of a block; its foreign key can't be added without a scan.
    let events = |block: &str, wanted: fn(&str) -> bool| -> String {
        let statements = block
            .split_inclusive(";\n")
            .filter(|s| s.contains("lines") && !s.starts_with("LOCK") && wanted(s));
        statements.map(|statement| for_reference(statement, &PARTITIONED)).collect()
    };
    let others = || KEYS.iter().map(|key| key.table).filter(|table| OWN.iter().all(|own| own[0] != *table));
    let before_commit = |block: &mut String, sql: &str| block.insert_str(block.find("COMMIT;").unwrap(), sql);

    let [add, fill_step] = [1, 2].map(|n| there(blocks(to_uuid, "sql")[n].sql));
    let mut steps = vec![(
        "back: names".to_owned(),
        "ALTER TABLE events RENAME CONSTRAINT events_new_order_id_fkey TO events_order_id_fkey".to_owned(),
    )];
    let mut step = for_all(&add);
    before_commit(&mut step, &(events(&add, |_| true) + &own("1")));
    for table in others() {
        let key = format!(
            "CREATE FUNCTION {table}_key() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS
                 $$BEGIN NEW.sno := \u{3}(NEW.id); RETURN NEW; END$$;
             CREATE TRIGGER zz_key BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_key();\n"
        );
        before_commit(&mut step, &key);
    }
    steps.push(("back: 1".into(), back(&step)));
    for key in &KEYS {
        steps.push((format!("back: 2 {}", key.table), back(&fill(&fill_step, key))));
    }
    steps.push((
        "back: 2 own".into(),
        "UPDATE comments SET subject_id = subject_id; UPDATE bundles SET product_ids = product_ids".into(),
    ));
    steps.push(("back: 3 indexes".into(), back(&for_all(index))));
    steps.push(("back: 3 own".into(), back(&own("3"))));
    let mut step = for_all(constraints);
    before_commit(&mut step, &events(constraints, |s| s.contains("_set") && s.contains("ADD")));
    step += "BEGIN;\nSET LOCAL statement_timeout = '500ms';\nLOCK TABLE orders, events IN SHARE ROW EXCLUSIVE MODE;\nALTER TABLE events ADD CONSTRAINT events_order_sno_fkey FOREIGN KEY (order_sno) REFERENCES orders (sno);\nCOMMIT;\n";
    step += &events(constraints, |s| s.contains("VALIDATE") && s.contains("_set"));
    steps.push(("back: 3 constraints".into(), back(&step)));
    let default = there(blocks(to_uuid, "postgresql")[0].sql);
    let switch: String = switch
        .lines()
        .map(|line| if line.contains("DROP IDENTITY") { default.clone() } else { format!("{line}\n") })
        .collect();
    let mut step = for_all(&switch);
    let dropped: String = others().map(|table| format!("DROP TRIGGER zz_key ON {table};\n")).collect();
    let after_locks = step.find("MODE;\n").unwrap() + 6;
    let first: fn(&str) -> bool = |s| s.starts_with("DROP") || s.contains("DROP CONSTRAINT");
    step.insert_str(after_locks, &(dropped + &own("5: what") + &events(&switch, first)));
    before_commit(
        &mut step,
        &(events(&switch, |s| !(s.starts_with("DROP") || s.contains("DROP CONSTRAINT")))
            + &own("5: the same")),
    );
    steps.push(("back: 5 switch".into(), back(&step)));
    steps.push(("back: 5 after".into(), back(&own("5: after"))));
    // The column is in an expression of this one, so it does not vanish with it.
    let exclusion = "ALTER TABLE bookings DROP CONSTRAINT bookings_new;\n".to_owned();
    let functions: String = others().map(|table| format!("DROP FUNCTION {table}_key;\n")).collect();
    steps.push((
        "back: 6".into(),
        back(&(exclusion + &for_all(clean_up) + &events(clean_up, |_| true) + &own("6") + &functions)),
    ));
    steps
}

#[test]
fn a_schema_of_26_tables_moves_there_and_back_while_it_is_written() {
    let page = page("moving.md");
    let steps: Vec<&str> = blocks(&page, "sql").iter().map(|block| block.sql).collect();
    let [_, add, fill_step, same_ids, left, index, constraints, switch, clean_up, ..] = steps[..] else {
        panic!("{steps:?}")
    };
    let partitioned = blocks(section(&page, "Partitioned tables"), "sql");
    let [copy, rename] = [0, 1].map(|n| partitioned[n].sql);

    // Times without a zone are in UTC, whatever the zone of the session.
    let server =
        Server::builder().conf("timezone", "America/New_York").conf("search_path", "public, billing").start();
    server.run("CREATE ROLE shop_reader");
    server.run(include_str!("schema.sql"));
    let mut client = server.connect();
    let before = rows(&mut client);
    let start = text(&mut client, "SELECT now()");
    assert!(before.len() > 80_000, "{} rows", before.len());
    let (done, count, longest) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for writer in 0..2 {
            let (server, done, count, longest) = (&server, &done, &count, &longest);
            scope.spawn(move || {
                let mut client = server.connect();
                while !done.load(Relaxed) {
                    let n = count.fetch_add(1, Relaxed);
                    write(&mut client, &format!("writer {writer}-{n}"), 1 + n % 5000, longest);
                    thread::sleep(Duration::from_millis(50));
                }
            });
        }
        let stop = Stop(&done);
        let began = Instant::now();
        let run = |name: &str, step: &str| {
            longest.store(0, Relaxed);
            run_step(&server, step);
            println!(
                "{:5.1} s {name}: longest statement of a writer {} ms",
                began.elapsed().as_secs_f64(),
                longest.load(Relaxed)
            );
        };
        run("before", &own("before"));
        let partitioned_table = replace(
            copy.split_once("\n\n").unwrap().1,
            &[
                ("page text", "order_id sno REFERENCES orders (sno), kind text"),
                ("old_id, page", "old_id, order_id, kind"),
                ("NEW.page", "NEW.order_sno, NEW.kind"),
                ("created_at", "inserted_at"),
            ],
        );
        let mut add = for_all(add);
        let for_events: String = steps[1]
            .split_inclusive(";\n")
            .filter(|s| s.contains("lines") && !s.starts_with("LOCK"))
            .map(|s| for_reference(s, &PARTITIONED))
            .collect();
        add.insert_str(add.find("COMMIT;").unwrap(), &(for_events + &own("1")));
        run("1", &add);
        let fill_all = |keys: &[Key]| {
            for key in keys {
                run(&format!("2 {}", key.table), &fill(fill_step, key));
            }
        };
        fill_all(&KEYS);
        run("2 own", &own("2"));
        for key in &KEYS {
            let twice = format!("SELECT count(*) - count(DISTINCT sno) FROM {}", key.table);
            let mut client = server.connect();
            while client.one::<i64>(&twice) > 0 {
                run("2 same", &for_key(same_ids, key));
            }
            run("2 again", &format!("CALL fill_{}(1000)", key.table));
        }
        run("2 own again", &own("2"));
        run("3 indexes", &for_all(index));
        run("3 own", &own("3"));
        run("3 constraints", &for_all(constraints));
        run("partitioned table", &partitioned_table);
        fill_all(&[key("events", "bigint", "0", "inserted_at")]);

        // What is left, by the query of the page.
        let mut queries = String::new();
        for query in left.trim_end().trim_end_matches(';').split("UNION ALL ") {
            if query.contains("replaces") {
                queries.extend(OWN.map(|own| for_own(query, own) + ";\n"));
            } else if query.contains("lines") {
                queries.extend(REFERENCES.iter().map(|reference| for_reference(query, reference) + ";\n"));
            } else {
                let query = query.split_once(";\n").unwrap().1;
                queries.extend(KEYS.iter().map(|key| for_key(query, key) + ";\n"));
            }
        }
        let output = server.psql(&format!("SET TimeZone = 'UTC';\n{queries}"));
        let (output, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        println!("{output}{errors}");
        assert_eq!(output.lines().count(), KEYS.len() + REFERENCES.len() + OWN.len(), "{errors}");
        for line in output.lines() {
            assert_eq!(line.split('|').nth(1), Some("0"), "{line}");
        }

        let rename: String = rename
            .split_inclusive(";\n")
            .filter(|s| s.contains("events") && s.starts_with(['A', 'D']))
            .collect();
        let mut all = for_all(switch);
        all = all.replacen(", events IN ACCESS", ", events, events_new IN ACCESS", 1);
        let after_locks = all.find("MODE;\n").unwrap() + 6;
        all.insert_str(after_locks, &(own("5: what") + &rename));
        all.insert_str(all.find("COMMIT;").unwrap(), &own("5: the same"));
        let mut client = server.connect();
        let files_before = files(&mut client);
        run("5 switch", &all);
        // Far more than it takes, for machines that have much else to do: what follows is exact.
        assert!(longest.load(Relaxed) < 10_000, "{} ms", longest.load(Relaxed));
        assert!(files(&mut client).is_subset(&files_before), "the switch builds nothing");
        run("5 after", &own("5: after"));
        thread::sleep(Duration::from_millis(300));
        assert_eq!(rows(&mut client), before);
        // The rows from before have IDs of their times, which are in UTC.
        client.run("SET timezone = 'UTC'");
        for Key { table, time, .. } in &KEYS {
            let others = format!(
                "SELECT count(*) FROM {table} WHERE sno_time(id) < '{start}' AND sno_time(id) NOT BETWEEN {time} - interval '4 ms' AND {time}"
            );
            assert_eq!(client.one::<i64>(&others), 0, "{table}");
        }
        run("6", &(for_all(clean_up) + &own("6")));
        thread::sleep(Duration::from_millis(300));
        still_written(&server);
        for (name, step) in steps_back([index, constraints, switch, clean_up]) {
            let files_before = files(&mut client);
            run(&name, &step);
            let builds = name.contains("switch") && !files(&mut client).is_subset(&files_before);
            assert!(!builds, "the switch builds nothing");
        }
        thread::sleep(Duration::from_millis(300));
        drop(stop);
    });
    let written = count.load(Relaxed);
    println!("{written} transactions");
    assert!(written > 100, "{written}");
    assert_eq!(rows(&mut client), before);
    let key = "SELECT count(*) FROM pg_attribute WHERE attname = 'id' AND atttypid = 'uuid'::regtype AND attrelid::regclass::text = ANY ($1)";
    let tables = KEYS.map(|key| key.table).to_vec();
    assert_eq!(client.query_one(key, &[&tables]).unwrap().get::<_, i64>(0), KEYS.len() as i64);
    works(&mut client);
}
