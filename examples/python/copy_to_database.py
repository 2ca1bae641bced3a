"""A copy of a table in another database, by MERGE on the ID: rows that come again change nothing. Rows are inserted, not updated here:
for all changes, the feed is one of orders_changes."""

import threading

import psycopg

from sno.consumer import consume

MERGE = """
MERGE INTO orders USING unnest(%s::sno[], %s::text[]) AS new (id, item) ON orders.id = new.id
WHEN MATCHED THEN UPDATE SET item = new.item
WHEN NOT MATCHED THEN INSERT (id, item) VALUES (new.id, new.item)"""
TABLE = "CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_new(2), item text)"

# The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
with psycopg.connect(autocommit=True) as connection:
    other = f"{connection.info.dbname}_copy"
    connection.execute(TABLE)
    connection.execute("SELECT sno_create_feed('copy', 'orders')")
    connection.execute(f"CREATE DATABASE {other}")
    connection.execute("INSERT INTO orders (item) SELECT 'desk ' || n FROM generate_series(1, 250) n")
target = psycopg.connect(dbname=other, autocommit=True)
target.execute("CREATE EXTENSION sno")
target.execute(TABLE)

stop = threading.Event()
lost = [True]


def copy(orders, _connection):
    ids, items = zip(*orders)
    target.execute(MERGE, [list(ids), list(items)])
    if lost:
        # The batch has arrived, and its consumer does not know it.
        raise ConnectionError(lost.pop())
    if target.execute("SELECT count(*) FROM orders").fetchone() == (250,):
        stop.set()


consume(psycopg.connect, "copy", "orders", copy, batches=True, autocommit=True, stop=stop)

rows = "SELECT id::text, item FROM orders ORDER BY id"
with psycopg.connect() as connection:
    assert connection.execute(rows).fetchall() == target.execute(rows).fetchall()
target.close()
