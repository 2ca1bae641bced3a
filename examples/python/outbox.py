"""An outbox: what a transaction says is sent by HTTP if it commits. A message can arrive twice, with the same ID, by which the receiver
ignores it. No transaction is open while one is sent."""

import http.client
import json
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg
from psycopg.rows import dict_row

from sno.consumer import consume

SETUP = """
CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_new(2), item text);
CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_new(), topic text NOT NULL, body jsonb NOT NULL);
SELECT sno_create_feed('outbox', 'outbox')"""
RECEIVED: dict[str, object] = {}


class Receiver(BaseHTTPRequestHandler):
    """Somebody else's service, which fails at times."""

    failures = 3

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_failure = len(RECEIVED) % 10 == 5 and Receiver.failures > 0
        Receiver.failures -= is_failure
        # After its answer it has the message, and before it perhaps.
        RECEIVED[self.headers["Idempotency-Key"]] = body
        self.send_response(503 if is_failure else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


receiver = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()


def send(message, _connection):
    connection = http.client.HTTPConnection(*receiver.server_address, timeout=10)
    connection.request("POST", f"/{message['topic']}", json.dumps(message["body"]), {"Idempotency-Key": message["id"]})
    if (status := connection.getresponse().status) >= 300:
        raise RuntimeError(f"the receiver answers {status}")


def shop():
    with psycopg.connect(autocommit=True) as connection:
        for number in range(30):
            with connection.transaction():
                connection.execute("INSERT INTO orders (item) VALUES ('desk')")
                connection.execute("INSERT INTO outbox (topic, body) VALUES ('orders', jsonb_build_object('number', %s::int))", [number])
        while connection.execute("SELECT sno_read_by_all('outbox') >= max(id) FROM outbox").fetchone() != (True,):
            connection.execute("SELECT pg_sleep(0.1)")
        # As a job does, every minute.
        connection.execute("DELETE FROM outbox WHERE id <= sno_read_by_all('outbox')")
    signal.raise_signal(signal.SIGTERM)


# The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
with psycopg.connect(autocommit=True) as connection:
    connection.execute(SETUP)
threading.Thread(target=shop).start()
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
consume(lambda: psycopg.connect(row_factory=dict_row), "outbox", "outbox", send, autocommit=True, stop=stop)

assert sorted(body["number"] for body in RECEIVED.values()) == list(range(30)), RECEIVED
assert Receiver.failures == 0
