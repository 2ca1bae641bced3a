"""A consumer that does to each row what its payload says, for consumers.rs."""

import asyncio
import logging
import signal
import sys
import threading
import time

import psycopg

from sno.consumer import consume, consume_async

options = sys.argv[1:]
is_async = "async" in options
seen: dict[str, int] = {}


class Failure(Exception):
    pass


def pause(id, payload):
    """How long the handler takes."""
    what, _, argument = payload.partition(" ")
    if what == "slow" or what == "idle" and id not in seen:
        print("slow", flush=True)
        return float(argument)
    return 0


def act(id, payload):
    """What to do with the connection: statements, one after the other; or an error."""
    seen[id] = seen.get(id, 0) + 1
    what, _, argument = payload.partition(" ")
    if what == "fail" and seen[id] <= int(argument) or what == "poison":
        raise Failure(payload)
    if what == "exit":
        raise SystemExit(3)
    if what == "sqlstate" and seen[id] == 1:
        return f"DO $$ BEGIN RAISE EXCEPTION SQLSTATE '{argument}'; END $$"
    return {"commit": "COMMIT", "rollback": "ROLLBACK"}.get(what)


COPY = "INSERT INTO copy (id, payload) VALUES (%s, %s)"
FAILURE = "INSERT INTO failures VALUES (%s, %s)"


def handle(rows, connection):
    for row in rows if "batches" in options else [rows]:
        connection.execute(COPY, row[:2])
        time.sleep(pause(*row[:2]))
        if statement := act(*row[:2]):
            connection.execute(statement)
        if row[1] == "swallow" and seen[row[0]] == 1:
            try:
                connection.execute("SELECT 1/0")
            except psycopg.Error:
                pass


async def handle_async(rows, connection):
    for row in rows if "batches" in options else [rows]:
        await connection.execute(COPY, row[:2])
        await asyncio.sleep(pause(*row[:2]))
        if statement := act(*row[:2]):
            await connection.execute(statement)
        if row[1] == "swallow" and seen[row[0]] == 1:
            try:
                await connection.execute("SELECT 1/0")
            except psycopg.Error:
                pass


def pass_poison(row, error, connection):
    return connection.execute(FAILURE, [row[0], str(error)])


def connect():
    connection = psycopg.connect()
    if "open" in options:
        connection.execute("SELECT 1")
    return connection


async def connect_async():
    connection = await psycopg.AsyncConnection.connect()
    if "open" in options:
        await connection.execute("SELECT 1")
    return connection


async def main(arguments):
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await consume_async(connect_async, "feed", "events", handle_async, stop=stop, **arguments)


logging.basicConfig(format="%(message)s")
arguments = {"attempts": 3, "batch_size": 20, "timeout": 1 if "brief" in options else 20, "batches": "batches" in options}
if "on_poison" in options:
    arguments["on_poison"] = pass_poison
if is_async:
    asyncio.run(main(arguments))
else:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    consume(connect, "feed", "events", handle, stop=stop, **arguments)
