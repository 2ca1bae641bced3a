"""A consumer of a feed, with psycopg 3: it waits, reads, connects again, stops; the application handles rows.

    consume(connect, "mail", "orders", lambda order, connection: send(order))
"""

import asyncio
import inspect
import logging
import queue
import random
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from sno import Sno

__all__ = ["Unreadable", "consume", "consume_async"]

# The SQLSTATEs, or their classes, of errors that do not come again for ever, as in states.tsv beside the packages.
_AGAIN = "08 25006 25P03 25P04 40 53 55P03 57014 57P"
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_SEEK = "SELECT sno_seek_feed(%s, after => %s::sno) FROM sno_feeds WHERE feed = %s AND position >= %s::sno"
# No longer than the server lets a statement take.
_WAIT = """CALL sno_wait_feed(%s, least(%s::interval, 0.8 * nullif(current_setting('statement_timeout')::interval, '0'),
    0.8 * nullif(current_setting('transaction_timeout', true)::interval, '0')))"""
_SERVER = """SELECT format('as role "%%s" in database "%%s" of the server at %%s, port %%s', current_user, current_database(),
    coalesce(host(inet_server_addr()), 'a socket'), current_setting('port'))"""
# How many seconds an answer may take: a statement beyond the length of a wait; after the stop signal.
_PATIENCE, _PATIENCE_AFTER_STOP = 10.0, 5.0


class Unreadable(dict[str, Any]):
    """A row that the driver or the row factory could not read: its columns as the server sent them."""


class _Stopped(BaseException):
    """The stop signal came, and nothing is left to be done."""


class _Failed(Exception):
    """The handler, or the commit of its work, failed at `rows` of the batch. The first row with their key is `first`."""

    def __init__(self, error: Exception, first: int, rows: range) -> None:
        self.error, self.first, self.rows = error, first, rows


class _Lost(Exception):
    """The handler failed together with its connection or transaction, and not because of the row."""


def consume(
    connect: Callable[[], psycopg.Connection[Any]],
    feed: str,
    source: str,
    handler: Callable[[Any, psycopg.Connection[Any]], object],
    *,
    key: str = "id",
    batch_size: int = 100,
    batches: bool = False,
    attempts: int = 5,
    on_poison: Callable[[Any, Exception, psycopg.Connection[Any]], object] | None = None,
    timeout: float = 2.0,
    stop: threading.Event | None = None,
    logger: logging.Logger = logging.getLogger("sno"),
) -> None:
    """Calls `handler(row, connection)` for each new row of a feed, until `stop` is set.

    `connect()` returns a new connection, which the consumer closes. `source` is the table or the view of the feed, as SQL writes it.
    What the handler writes with the connection is committed together with the feed's position, after it has returned, once
    for up to `batch_size` rows. With `batches`, `handler(rows, connection)` gets them together.

    A row that fails `attempts` times is poison: the rows before it are committed, then the error is raised, or `on_poison(row, error,
    connection)` is called in the transaction that passes the row. A row that could not be read is an `Unreadable` there. `key` is the
    column by which the feed is read. `timeout` is how many seconds a wait for new rows lasts; the server
    goes on with a wait whose consumer has ended.
    """
    taker = _Taker(stop)
    options = key, batch_size, batches, attempts, on_poison, timeout, stop, logger
    try:
        # It never waits for anything but the taker, which returns with the result.
        _Consumer(taker.take, connect, feed, source, handler, *options).run().send(None)
    except StopIteration:
        pass
    finally:
        taker.calls.put(None)


async def consume_async(
    connect: Callable[[], Awaitable[psycopg.AsyncConnection[Any]]],
    feed: str,
    source: str,
    handler: Callable[[Any, psycopg.AsyncConnection[Any]], Awaitable[object]],
    *,
    key: str = "id",
    batch_size: int = 100,
    batches: bool = False,
    attempts: int = 5,
    on_poison: Callable[[Any, Exception, psycopg.AsyncConnection[Any]], Awaitable[object]] | None = None,
    timeout: float = 2.0,
    stop: asyncio.Event | None = None,
    logger: logging.Logger = logging.getLogger("sno"),
) -> None:
    """`consume` for asyncio. `await connect()` is a new connection, the handler is a coroutine. A cancelled task rolls back."""
    stopping = asyncio.ensure_future((stop or asyncio.Event()).wait())
    options = key, batch_size, batches, attempts, on_poison, timeout, stop, logger
    try:
        await _Consumer(_AsyncTaker(stopping).take, connect, feed, source, handler, *options).run()
    finally:
        stopping.cancel()


class _Consumer:
    """The life of a consumer. `take` does a step of it: a call, which has some seconds if it is not the application's, or a pause."""

    def __init__(
        self, take: Any, connect: Any, feed: str, source: str, handler: Any, key: str, batch_size: int, batches: bool, attempts: int,
        on_poison: Any, timeout: float, stop: Any, logger: logging.Logger,
    ) -> None:  # fmt: skip
        if batch_size < 1 or attempts < 1 or timeout <= 0:
            raise ValueError("batch size, attempts and timeout must be positive")
        self.take, self.connect, self.feed, self.source, self.handler, self.key = take, connect, feed, source, handler, key
        self.batch_size, self.batches, self.attempts, self.on_poison = batch_size, batches, attempts, on_poison
        self.timeout, self.stop, self.logger = timeout, stop, logger
        self.connection: Any = None
        self.has_connected, self.is_begun, self.has_other_error, self.pause = False, False, False, 0.1
        self.keys: list[str] = []
        # How often rows have failed and why, by the key and the place among its rows; and small batches, up to a key.
        self.failures: dict[tuple[str, int], tuple[int, Exception]] = {}
        self.careful_until, self.limit = "", batch_size

    async def run(self) -> None:
        try:
            while True:
                try:
                    if self.connection is None:
                        await self._open()
                    await self._batch()
                    continue
                except _Failed as failed:
                    self._note(failed)
                except (psycopg.Error, _Lost) as error:
                    self._check(error)
                await self._close()
                await self.take(None, self.pause * random.uniform(0.5, 1), True)
                self.pause = min(self.pause * 2, 10)
        except _Stopped:
            pass
        finally:
            await self._close()

    async def _own(self, call: Callable[[], Any], is_stoppable: bool = False) -> Any:
        return await self.take(call, self.timeout + _PATIENCE, is_stoppable, self.connection)

    async def _execute(self, query: str, *parameters: Any, is_stoppable: bool = False) -> Any:
        return await self._own(lambda: self.connection.execute(query, parameters), is_stoppable)

    def _is_stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()

    def _status(self) -> Any:
        return self.connection.info.transaction_status

    async def _open(self) -> None:
        self.keys = []
        self.connection = await self._own(self.connect, True)
        if self._status() != TransactionStatus.IDLE:
            raise ValueError("the new connection has an open transaction")
        await self.take(lambda: self.connection.set_autocommit(True))
        # In PgBouncer's transaction mode the next statement can go to another server.
        self.connection.prepare_threshold = None
        server = (await self._execute(_SERVER, is_stoppable=True)).pgresult.get_value(0, 0).decode()
        self.logger.info("feed %s: reads %s in batches of %s, %s", self.feed, self.source, self.batch_size, server)

    async def _close(self) -> None:
        """An open transaction is rolled back by it."""
        connection, self.connection = self.connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                await self.take(connection.close)

    async def _batch(self) -> None:
        """The rows of one transaction; or a wait, if there are none."""
        self.is_begun, self.keys = False, []
        await self._execute(_BEGIN, is_stoppable=True)
        self.is_begun = self.has_connected = True
        cursor = self.connection.cursor()
        query = f"SELECT * FROM sno_feed(%s, NULL::{self.source}, %s)"
        await self._own(lambda: cursor.execute(query, [self.feed, self.limit]), True)
        self.keys = _keys(cursor, self.key)
        last = await self._handle(cursor)
        try:
            if (await self._execute("COMMIT")).statusmessage != "COMMIT":
                raise RuntimeError("the server rolled back: a statement of the handler failed")
        except Exception as error:
            if not self.keys or _is_transient(error):
                raise
            # It is one of these rows, for example by a constraint that is deferred.
            raise _Failed(error, 0, range(len(self.keys))) from error
        self.pause = 0.1
        if last is None:
            await self._execute(_WAIT, self.feed, f"{self.timeout} s", is_stoppable=True)
        else:
            self.failures = {place: failure for place, failure in self.failures.items() if place[0] > last}
            self.limit = 1 if self.careful_until > last else self.batch_size
        self.has_other_error = False
        if self._is_stopped():
            raise _Stopped

    async def _handle(self, cursor: Any) -> str | None:
        """Calls the handler for the rows, and returns the last key that is done."""
        last, first, keys = None, 0, self.keys
        count = len(keys) if self.batches and keys else 1
        for index in range(0, len(keys), count):
            rows = range(index, index + count)
            if self._is_stopped() and last is None:
                raise _Stopped
            elif self._is_stopped() and last != keys[index] and first == index - 1:
                # The rest is given back to the next consumer, in the transaction that has read it. After several rows of one ID,
                # as a view can have them, the server refuses that.
                await self._execute(_SEEK, self.feed, last, self.feed, last)
                break
            if last != keys[index]:
                first = index
            failure: Exception | None = None
            try:
                await self._call(cursor, first, rows)
                if self._status() == TransactionStatus.INERROR:
                    raise psycopg.errors.InFailedSqlTransaction("the handler went on after an error of the server")
                last = keys[rows[-1]]
            except Exception as error:
                failure = error
            if self._status() == TransactionStatus.IDLE and not self.connection.closed:
                # If it was a COMMIT, the rest of the batch counts as read.
                await self._execute(_SEEK, self.feed, last or _previous(keys[0]), self.feed, keys[-1])
                raise RuntimeError("the handler ended the transaction") from failure
            elif failure is not None:
                # An error without a state can be that of another database.
                state = getattr(failure, "sqlstate", None) or ""
                is_lost = self.connection.closed or state != "57014" and state.startswith(tuple(_AGAIN.split()))
                raise _Lost(failure) if is_lost else _Failed(failure, first, rows) from failure
        return last

    async def _call(self, cursor: Any, first: int, indices: range) -> None:
        tries, error = self.failures.get((self.keys[indices[0]], indices[0] - first), (0, None))
        is_poison = self.on_poison is not None and tries >= self.attempts and self.keys[indices[0]] == self.keys[indices[-1]]
        rows: list[Any] = []
        for index in indices:
            await self.take(lambda: cursor.scroll(index, mode="absolute"))
            try:
                rows.append(await self.take(cursor.fetchone))
            except Exception:
                if not is_poison:
                    raise
                rows.append(Unreadable((column.name, _value(cursor, index, place)) for place, column in enumerate(cursor.description)))
        if not is_poison:
            await self.take(lambda: self.handler(rows if self.batches else rows[0], self.connection))
        else:
            for row in rows:
                await self.take(lambda: self.on_poison(row, error, self.connection))

    def _note(self, failed: _Failed) -> None:
        """Counts a failure, and raises its error if that is the end."""
        start, end, tries = self.keys[failed.rows[0]], self.keys[failed.rows[-1]], 0
        # A failure of several keys counts for none of them.
        for index in failed.rows if start == end else ():
            place = start, index - failed.first
            tries, error = self.failures.get(place, (0, failed.error))
            # What the handler has raised, and not on_poison.
            self.failures[place] = tries + 1, error if tries >= self.attempts else failed.error
        self.logger.warning("feed %s: failure %s at %s", self.feed, tries + 1, start, exc_info=failed.error)
        if tries + 1 >= self.attempts and failed.first == 0 and start == end and self.on_poison is None:
            raise failed.error
        # What is before it is committed by itself, then it is tried alone.
        self.careful_until, self.limit = max(self.careful_until, end), failed.first or 1

    def _check(self, error: Exception) -> None:
        """Raises an error that does not go away: of the first connection, or another one than those of _AGAIN, if it comes twice in a row."""
        cause = error.__cause__ if isinstance(error, _Lost) else error
        # In PgBouncer's statement mode, the first BEGIN is an error.
        self.has_connected = self.has_connected or self.connection is not None and _state(cause) != "08P01"
        is_standby = not self.is_begun and _state(cause) == "0A000"
        is_other = not (cause is not error or _is_transient(error) or is_standby)
        if not self.has_connected or is_other and self.has_other_error:
            raise error
        self.has_other_error = self.has_other_error or is_other
        is_slow = self.keys and _state(cause) in ("25P03", "25P04")
        advice = " (the handler takes too long: take smaller batches)" if is_slow else ""
        self.logger.warning("feed %s: %s, connecting again in %.1f s%s", self.feed, error, self.pause, advice)


def _state(error: Any) -> str:
    return getattr(error, "sqlstate", None) or ("08" if isinstance(error, psycopg.OperationalError) else "")


def _is_transient(error: Any) -> bool:
    return _state(error).startswith(tuple(_AGAIN.split()))


def _keys(cursor: Any, key: str) -> list[str]:
    names = [column.name for column in cursor.description]
    if key not in names:
        raise ValueError(f'the rows have no column "{key}"')
    values = [_value(cursor, index, names.index(key)) for index in range(cursor.pgresult.ntuples)]
    return [value if isinstance(value, str) else str(Sno.from_bytes(value)) for value in values]


def _value(cursor: Any, index: int, place: int) -> Any:
    """A value as the server sent it: a text, or bytes if the connection's cursors are binary."""
    value = cursor.pgresult.get_value(index, place)
    return value.decode(errors="replace") if value is not None and cursor.pgresult.fformat(place) == 0 else value


def _previous(key: str) -> str:
    """The ID before an ID."""
    return Sno.from_bytes(max(int.from_bytes(bytes(Sno(key)), "big") - 1, 0).to_bytes(10, "big"))


def _cut(connection: Any) -> None:
    """Whoever waits for an answer of this connection gets an error."""
    with suppress(AttributeError, OSError, psycopg.Error), socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as copy:
        copy.shutdown(socket.SHUT_RDWR)


def _checked(result: Any) -> Any:
    if inspect.isawaitable(result):
        getattr(result, "close", lambda: None)()
        raise TypeError("connect or the handler is asynchronous: use consume_async")
    return result


class _Taker:
    """Takes the steps of `consume`. Its own calls run in a thread, so that one that does not return can be left behind."""

    def __init__(self, stop: threading.Event | None) -> None:
        self.stop = stop
        self._start()

    def _is_stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()

    def _start(self) -> None:
        self.calls: Any = queue.SimpleQueue()
        threading.Thread(target=self._work, args=[self.calls], name="sno-consumer", daemon=True).start()

    def _work(self, calls: Any) -> None:
        while (item := calls.get()) is not None:
            call, result = item
            try:
                result.set_result(call())
            except BaseException as error:
                result.set_exception(error)

    async def take(self, call: Any, seconds: float | None = None, is_stoppable: bool = False, connection: Any = None) -> Any:
        if seconds is None:
            return _checked(call())
        if is_stoppable and self._is_stopped():
            raise _Stopped
        future: Future[Any] = Future()
        if call:
            self.calls.put((call, future))
        until, is_stopped = time.monotonic() + seconds, False
        # The event is not waited for: a signal handler that sets it while its lock is held would wait for ever.
        while not wait([future], 0.05).done and time.monotonic() < until:
            if not is_stopped and self._is_stopped():
                is_stopped, until = True, min(until, time.monotonic() + (0 if is_stoppable else _PATIENCE_AFTER_STOP))
        if future.done():
            return _checked(future.result())
        if call:
            if connection is not None:
                _cut(connection)
                wait([future], 1)
            self.calls.put(None)
            self._start()
        if is_stopped:
            raise _Stopped
        if call:
            raise psycopg.OperationalError("the server does not answer")


class _AsyncTaker:
    """Takes the steps of `consume_async`."""

    def __init__(self, stopping: "asyncio.Future[Any]") -> None:
        self.stopping = stopping

    async def take(self, call: Any, seconds: float | None = None, is_stoppable: bool = False, connection: Any = None) -> Any:
        if seconds is None:
            result = call()
            return await result if inspect.isawaitable(result) else result
        if is_stoppable and self.stopping.done():
            raise _Stopped
        task = asyncio.ensure_future(call() if call else asyncio.sleep(seconds))
        try:
            # A pause is as long as it is.
            await asyncio.wait({task, self.stopping}, timeout=seconds if call else None, return_when=asyncio.FIRST_COMPLETED)
            if self.stopping.done() and not is_stoppable:
                await asyncio.wait({task}, timeout=_PATIENCE_AFTER_STOP)
        finally:
            if not task.done():
                # The driver asks the server to cancel. The connection is cut if it does not.
                task.cancel()
                if not (await asyncio.wait({task}, timeout=1))[0]:
                    _cut(connection)
        if task.done() and not task.cancelled():
            return task.result()
        if self.stopping.done():
            raise _Stopped
        raise psycopg.OperationalError("the server does not answer")
