"""Files for a warehouse, of rows in the order of their IDs, each named by its first and its last ID: a program that ends at any moment
leaves no row out and none in two files."""

import json
import tempfile
import threading
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from sno.consumer import consume

folder = Path(tempfile.mkdtemp())
stop = threading.Event()


def write(events, _connection):
    first, last = events[0]["id"], events[-1]["id"]
    # Where the last batch was not acknowledged, this one begins with the same row, and can have more.
    for file in folder.glob(f"{first}-*"):
        file.unlink()
    file = folder / f"{first}-{last}.json"
    part = file.with_suffix(".part")
    part.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    part.rename(file)


def run(handler):
    consume(lambda: psycopg.connect(row_factory=dict_row), "files", "events", handler, batch_size=100, batches=True, autocommit=True, stop=stop)


def end_before_the_feed_moves(events, connection):
    write(events, connection)
    raise SystemExit


def write_all(events, connection):
    write(events, connection)
    if events[-1]["n"] == 350:
        stop.set()


# The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
with psycopg.connect(autocommit=True) as connection:
    connection.execute("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)")
    connection.execute("SELECT sno_create_feed('files', 'events')")
    connection.execute("INSERT INTO events (n) SELECT generate_series(1, 50)")
    try:
        run(end_before_the_feed_moves)
    except SystemExit:
        pass
    connection.execute("INSERT INTO events (n) SELECT generate_series(51, 350)")
    run(write_all)

lines = [json.loads(line) for file in sorted(folder.glob("*.json")) for line in file.read_text().splitlines()]
assert [event["n"] for event in lines] == list(range(1, 351)), lines
