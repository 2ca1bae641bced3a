"""A shop's day, with psycopg 3: kinds in URLs, an order with its lines, a retry, IDs in advance, pages, the last hour, a feed."""

import threading
import uuid
from datetime import datetime, timedelta, timezone

import psycopg

import sno.psycopg
from sno import Sno
from sno.consumer import consume
from sno.kind import Kind


class OrderId(Kind, name="order", metabyte=2):
    pass


class VisitId(Kind, name="visit", metabyte=3):
    pass


SCHEMA = """
    CREATE DOMAIN order_id AS sno CHECK (sno_metabyte(VALUE) = 2);
    CREATE TABLE orders (id order_id PRIMARY KEY DEFAULT sno_new(2), request uuid UNIQUE, customer text);
    CREATE TABLE lines (id sno PRIMARY KEY DEFAULT sno_new(), order_id order_id NOT NULL REFERENCES orders, item text);
    CREATE TABLE visits (id sno PRIMARY KEY, path text);
"""


def buy(connection, request, customer, items):
    """An order and its lines. With the same request again, the same order: the client repeats it if no answer came."""
    insert = "INSERT INTO orders (id, request, customer) VALUES (%s, %s, %s) ON CONFLICT (request) DO NOTHING"
    with connection.transaction():
        id = OrderId(connection.execute("SELECT sno_new(2)").fetchone()[0])
        if connection.execute(insert, [id, request, customer]).rowcount == 0:
            return OrderId(connection.execute("SELECT id FROM orders WHERE request = %s", [request]).fetchone()[0])
        lines = [(id, item) for item in items]
        connection.cursor().executemany("INSERT INTO lines (order_id, item) VALUES (%s, %s)", lines)
    return id


def show(connection, text):
    """The answer to /orders/TEXT: a status and a body."""
    try:
        id = OrderId.parse(text)
    except ValueError:
        return 404, None
    query = "SELECT item FROM lines WHERE order_id = %s ORDER BY id"
    items = [item for item, in connection.execute(query, [id])]
    return (200, {"id": id.tagged(), "items": items}) if items else (404, None)


def page(connection, after=None):
    """Up to two orders, the newest first, and the cursor of the next page."""
    last = OrderId.parse(after) if after else Sno("x" * 16)
    rows = connection.execute("SELECT id FROM orders WHERE id < %s ORDER BY id DESC LIMIT 2", [last]).fetchall()
    ids = [OrderId(id).tagged() for id, in rows]
    return ids, ids[-1] if ids else None


# The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
with psycopg.connect(autocommit=True) as connection:
    connection.execute(SCHEMA)
    sno.psycopg.register(connection)

    request = uuid.uuid4()
    first = buy(connection, request, "ann", ["desk", "chair"])
    assert buy(connection, request, "ann", ["desk", "chair"]) == first
    assert connection.execute("SELECT count(*) FROM lines").fetchone() == (2,)
    others = [buy(connection, uuid.uuid4(), "bob", ["lamp"]) for _ in range(4)]

    assert show(connection, first.tagged()) == (200, {"id": first.tagged(), "items": ["desk", "chair"]})

    # The IDs before the rows: in one round trip, in the transaction that inserts.
    with connection.transaction():
        ids = connection.execute("SELECT sno_new(3) FROM generate_series(1, 100)").fetchall()
        visits = [(VisitId(id), "/desks") for id, in ids]
        connection.cursor().executemany("INSERT INTO visits VALUES (%s, %s)", visits)
    assert connection.execute("SELECT count(*) FROM visits").fetchone() == (100,)

    # Another kind, another text: not found, and the server is not asked.
    for wrong in visits[0][0].tagged(), f"order_{visits[0][0]}", first, first.tagged().upper(), "", "order_":
        assert show(connection, wrong) == (404, None), wrong
    try:
        connection.execute("INSERT INTO orders (id) VALUES (%s)", [visits[0][0]])
        raise AssertionError("another kind was taken")
    except psycopg.errors.CheckViolation:
        pass

    seen, cursor = [], None
    while (answer := page(connection, cursor))[0]:
        seen, cursor = seen + answer[0], answer[1]
    assert seen == [id.tagged() for id in reversed([first, *others])], seen

    hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
    recent = "SELECT count(*) FROM orders WHERE id >= %s"
    assert connection.execute(recent, [OrderId.lower_bound(hour_ago)]).fetchone() == (5,)

    # A feed: each order once, in a transaction with what is done about it.
    connection.execute("SELECT sno_create_feed('invoices', 'orders')")
    billed, stop = [], threading.Event()

    def bill(order, connection):
        billed.append(OrderId(order[0]))
        if len(billed) == 5:
            stop.set()

    consume(psycopg.connect, "invoices", "orders", bill, stop=stop)
    assert billed == [first, *others], billed
