"""An invoice for each order, exactly once, with psycopg 3: the program ends at SIGTERM, after the order that it is at."""

import signal
import threading

import psycopg

from sno.consumer import consume


def bill(order, connection):
    connection.execute("INSERT INTO invoices (order_id) VALUES (%s)", [order[0]])


def shop():
    """Orders are made while the consumer runs, and connections are lost; the end is when all are billed."""
    with psycopg.connect(autocommit=True) as connection:
        for _ in range(10):
            connection.execute("INSERT INTO orders (item) SELECT 'desk' FROM generate_series(1, 70)")
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ 'sno_|invoices' AND pid <> pg_backend_pid()"
            connection.execute(others)
            connection.execute("SELECT pg_sleep(0.1)")
        while connection.execute("SELECT count(*) FROM invoices").fetchone() < (700,):
            connection.execute("SELECT pg_sleep(0.1)")
    signal.raise_signal(signal.SIGTERM)


# The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
with psycopg.connect(autocommit=True) as connection:
    connection.execute("CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_new(2), item text)")
    connection.execute("CREATE TABLE invoices (order_id sno PRIMARY KEY REFERENCES orders)")
    connection.execute("SELECT sno_create_feed('billing', 'orders')")
threading.Thread(target=shop).start()

stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
consume(psycopg.connect, "billing", "orders", bill, stop=stop)

with psycopg.connect() as connection:
    assert connection.execute("SELECT count(*) FROM invoices").fetchone() == (700,)
