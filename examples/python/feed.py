"""An outbox: new rows go to a queue, each at least once, over lost connections and kill -9. With psycopg 3."""

import json
import subprocess
import sys
import time

import psycopg


LOST = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE query LIKE '%sno_feed(''outbox''%' AND pid <> pg_backend_pid()"""


def consume(send):
    """Sends each new row, and tells the feed so afterwards."""
    connection = None
    while True:
        try:
            with psycopg.connect(autocommit=True) as connection:
                while True:
                    with connection.transaction():
                        rows = connection.execute("SELECT * FROM sno_feed('outbox', NULL::events, 100)").fetchall()
                        for row in rows:
                            send(row)
                    if not rows:
                        time.sleep(0.1)
        except psycopg.Error:
            # A connection that was lost, also by a timeout of the server: what was not committed comes again.
            if connection and not connection.broken:
                raise
            time.sleep(0.1)


if sys.argv[1:] == ["consume"]:
    consume(lambda row: print(json.dumps(row), flush=True))

with psycopg.connect(autocommit=True) as writer, psycopg.connect() as late:
    writer.execute("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")
    writer.execute("SELECT sno_create_feed('outbox', 'events', margin => '0.1 s')")
    queue = {}
    for round in range(5):
        writer.execute("INSERT INTO events (payload) SELECT n FROM generate_series(1, 1000) n")
        if round == 0:
            late.execute("INSERT INTO events (payload) VALUES ('commits late')")
        consumer = subprocess.Popen([sys.executable, __file__, "consume"], stdout=subprocess.PIPE, text=True)
        # The receiver ignores IDs that it has.
        for _ in range(300):
            id, payload = json.loads(consumer.stdout.readline())
            queue[id] = payload
            if len(queue) % 70 == 0:
                writer.execute(LOST)
            if round == 1:
                late.commit()
        consumer.kill()
        consumer.wait()
    stored = dict(writer.execute("SELECT id, payload FROM events").fetchall())
    consumer = subprocess.Popen([sys.executable, __file__, "consume"], stdout=subprocess.PIPE, text=True)
    while len(queue) < len(stored):
        id, payload = json.loads(consumer.stdout.readline())
        queue[id] = payload
    consumer.kill()
    assert queue == stored and "commits late" in queue.values(), (len(queue), len(stored))
