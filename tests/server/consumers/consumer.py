"""A consumer that does to each row what its payload says, for consumers.rs."""

import asyncio
import logging
import signal
import sys
import threading
import time
from concurrent.futures import Future

import psycopg

from sno.consumer import Unreadable, consume

options = sys.argv[1:]
is_autocommit = "autocommit" in options
seen: dict[str, int] = {}


class Failure(Exception):
    pass


def pause(id, payload):
    """How long the handler takes."""
    what, _, argument = payload.partition(" ")
    if what == "slow" or what == "idle" and id not in seen:
        print(payload, flush=True)
        return float(argument)
    return 0


def act(id, payload):
    """What to do with the connection: statements, one after the other; or an error."""
    seen[id] = seen.get(id, 0) + 1
    what, _, argument = payload.partition(" ")
    if what == "fail" and seen[id] <= int(argument) or what == "flaky" and seen[id] in (2, 3) or what == "poison":
        raise Failure(payload)
    if what == "exit":
        raise SystemExit(3)
    if what == "sqlstate" and seen[id] <= (1 if argument == "57014" else 3):
        return f"DO $$ BEGIN RAISE EXCEPTION SQLSTATE '{argument}'; END $$"
    return {"commit": "COMMIT", "rollback": "ROLLBACK"}.get(what)


CUT = "SELECT pg_terminate_backend(pg_backend_pid())"
COPY = "INSERT INTO copy (id, payload) VALUES (%s, %s)"
FAILURE = "INSERT INTO failures VALUES (%s, %s)"
DELETE = "DELETE FROM items_copy WHERE id = %s"
INSERT = "INSERT INTO items_copy SELECT (%s::items).*"


async def unawaited():
    pass


def result(id, payload):
    """What the handler returns, without an error that is raised."""
    what, _, argument = payload.partition(" ")
    if what not in RESULTS or seen[id] > int(argument):
        return None
    return RESULTS[what](Failure(payload))


def lazy(error):
    yield error


def pending(error):
    future = Future()
    threading.Timer(0.1, future.set_exception, [error]).start()
    return [future]


async def settled(error):
    async def fail():
        raise error

    return await asyncio.gather(asyncio.sleep(0), fail(), return_exceptions=True)


RESULTS = {"settled": lambda error: asyncio.run(settled(error)), "returned": lambda error: error, "pending": pending, "lazy": lazy}


def handle(rows, connection):
    results = []
    for row in rows if "batches" in options else [rows]:
        if not is_autocommit:
            connection.execute(COPY, row[:2])
        time.sleep(pause(*row[:2]))
        if row[1].startswith("cut ") and seen.get(row[0], 0) < int(row[1][4:]):
            seen[row[0]] = seen.get(row[0], 0) + 1
            try:
                connection.execute(CUT)
            except psycopg.Error:
                raise Failure(row[1]) from None
        if statement := act(*row[:2]):
            connection.execute(statement)
        if row[1] == "commit fail":
            raise Failure(row[1])
        if row[1] == "swallow" and seen[row[0]] == 1:
            try:
                connection.execute("SELECT 1/0")
            except psycopg.Error:
                pass
        if row[1] == "unawaited":
            return unawaited()
        # Without a transaction, what fails would stay.
        if is_autocommit:
            connection.execute(COPY, row[:2])
        results.append(result(*row[:2]))
    return results


def follow(row, connection):
    """What a copy does with a change."""
    connection.execute(DELETE, row[1:2])
    if not row[3]:
        connection.execute(INSERT, row[2:3])


def pass_poison(row, error, connection):
    if isinstance(row, Unreadable):
        connection.execute(FAILURE, [row["id"], str(error)])
        return
    if row[1] == "poison late" and row[1] not in seen:
        seen[row[1]] = 1
        raise Failure("late")
    connection.execute(FAILURE, [row[0], str(error)])


def connect():
    connection = psycopg.connect()
    if "open" in options:
        connection.execute("SELECT 1")
    return connection


logging.basicConfig(format="%(message)s", level=logging.INFO)
arguments = {"attempts": 1 if "once" in options else 3, "batch_size": 20, "timeout": 1 if "brief" in options else 20, "batches": "batches" in options, "autocommit": is_autocommit}
is_of_changes = "changes" in options
source = ("changes", "items_changes") if is_of_changes else ("feed", "events")
if is_of_changes:
    arguments["key"] = "changed"
if "on_poison" in options:
    arguments["on_poison"] = pass_poison
if "unknown" in options:
    arguments["batchSize"] = 1
try:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    consume(connect, *source, follow if is_of_changes else handle, stop=stop, **arguments)
except Exception as error:
    sys.exit(f"ended: {error}")
