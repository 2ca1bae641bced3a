"""A consumer of a feed, with psycopg 3: it waits, reads, connects again, stops; the application handles rows.

    consume(connect, "mail", "orders", lambda order, connection: send(order))
"""

import inspect
import logging
import queue
import random
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from sno import Sno

__all__ = ["Unreadable", "consume"]

# The SQLSTATEs, or their classes, of errors that do not come again for ever, as in states.tsv beside the packages.
_AGAIN = "08 25006 25P03 25P04 40 53 55P03 57014 57P"
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_ADVANCE = "SELECT sno_advance_feed(%s, %s::sno, %s::regclass)::text"
_FAIL = "SELECT sno_fail_feed(%s, %s::sno, %s, %s::sno, source => %s::regclass)"
# No longer than the server lets a statement take.
_WAIT = """CALL sno_wait_feed(%s, least(%s::interval, 0.8 * nullif(current_setting('statement_timeout')::interval, '0'),
    0.8 * nullif(current_setting('transaction_timeout', true)::interval, '0')), source => %s::regclass)"""
_SERVER = """SELECT format('as role "%%s" in database "%%s" of the server at %%s, port %%s', current_user, current_database(),
    coalesce(host(inet_server_addr()), 'a socket'), current_setting('port'))"""
_HIDDEN = "the handler went on after an error of the server"
# How many seconds an answer may take: a statement beyond the length of a wait; after the stop signal.
_PATIENCE, _PATIENCE_AFTER_STOP = 10.0, 5.0


class Unreadable(dict[str, Any]):
    """A row that the driver or the row factory could not read: its columns as the server sent them."""


class _Stopped(BaseException):
    """The stop signal came, and nothing is left to be done."""


class _Failed(Exception):
    """The handler, or the commit of its work, failed at rows from one key up to another."""

    def __init__(self, error: Exception, first: str, last: str) -> None:
        self.error, self.first, self.last = error, first, last


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
    autocommit: bool = False,
    attempts: int = 5,
    on_poison: Callable[[Any, Exception, psycopg.Connection[Any]], object] | None = None,
    timeout: float = 2.0,
    stop: threading.Event | None = None,
    logger: logging.Logger = logging.getLogger("sno"),
) -> None:
    """Calls `handler(row, connection)` for each new row of a feed, until `stop` is set.

    `connect()` returns a new connection, which the consumer closes. `source` is the table, or view of changes, of the feed, as SQL writes it.
    What the handler writes with the connection is committed together with the feed's position, after it has returned, once
    for up to `batch_size` rows. It has failed if it raises, or returns an exception, a future with one, or a list of such. With `batches`,
    `handler(rows, connection)` gets them together. With `autocommit`, no transaction is
    open while the handler works, for what it sends elsewhere: the position is stored after it, and rows can come again.

    A row that fails `attempts` times, which the server counts, is poison: the rows before it are committed, then the error is raised, or
    `on_poison(row, error, connection)` is called as the handler, and passes the row. A row that could not be read is an `Unreadable` there. `key` is the
    column by which the feed is read. `timeout` is how many seconds a wait for new rows lasts; the server
    goes on with a wait whose consumer has ended.
    """
    taker = _Taker(stop)
    options = key, batch_size, batches, autocommit, attempts, on_poison, timeout, stop, logger
    try:
        _Consumer(taker.take, connect, feed, source, handler, *options).run()
    finally:
        taker.calls.put(None)


class _Consumer:
    """The life of a consumer. `take` does a step of it: a call, which has some seconds if it is not the application's, or a pause."""

    def __init__(
        self, take: Any, connect: Any, feed: str, source: str, handler: Any, key: str, batch_size: int, batches: bool,
        autocommit: bool, attempts: int, on_poison: Any, timeout: float, stop: Any, logger: logging.Logger,
    ) -> None:  # fmt: skip
        if batch_size < 1 or attempts < 1 or timeout <= 0:
            raise ValueError("batch size, attempts and timeout must be positive")
        self.take, self.connect, self.feed, self.source, self.handler, self.key = take, connect, feed, source, handler, key
        self.batch_size, self.batches, self.autocommit, self.attempts = batch_size, batches, autocommit, attempts
        self.on_poison, self.timeout, self.stop, self.logger = on_poison, timeout, stop, logger
        self.connection: Any = None
        self.has_connected, self.is_begun, self.has_other_error, self.pause = False, False, False, 0.1
        self.keys: list[str] = []
        # The key that has failed too often, and why.
        self.poison: tuple[str, Exception] | None = None

    def run(self) -> None:
        try:
            while True:
                try:
                    if self.connection is None:
                        self._open()
                    try:
                        self._batch()
                    except _Failed as failed:
                        self._fail(failed)
                    continue
                except (psycopg.Error, _Lost) as error:
                    self._check(error)
                self._close()
                self.take(None, self.pause * random.uniform(0.5, 1), True)
                self.pause = min(self.pause * 2, 10)
        except _Stopped:
            pass
        finally:
            self._close()

    def _own(self, call: Callable[[], Any], is_stoppable: bool = False) -> Any:
        return self.take(call, self.timeout + _PATIENCE, is_stoppable, self.connection)

    def _execute(self, query: str, *parameters: Any, is_stoppable: bool = False) -> Any:
        return self._own(lambda: self.connection.execute(query, parameters), is_stoppable)

    def _is_stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()

    def _status(self) -> Any:
        return self.connection.info.transaction_status

    def _open(self) -> None:
        self.keys = []
        self.connection = self._own(self.connect, True)
        if self._status() != TransactionStatus.IDLE:
            raise ValueError("the new connection has an open transaction")
        self.take(lambda: self.connection.set_autocommit(True))
        # In PgBouncer's transaction mode the next statement can go to another server.
        self.connection.prepare_threshold = None
        server = (self._execute(_SERVER, is_stoppable=True)).pgresult.get_value(0, 0).decode()
        self.logger.info("feed %s: reads %s in batches of %s, %s", self.feed, self.source, self.batch_size, server)

    def _close(self) -> None:
        """An open transaction is rolled back by it."""
        connection, self.connection = self.connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                self.take(connection.close)

    def _batch(self) -> None:
        """The rows of one call; or a wait, if there are none."""
        self.is_begun, self.keys = False, []
        if not self.autocommit:
            self._execute(_BEGIN, is_stoppable=True)
            self.is_begun = self.has_connected = True
        cursor = self.connection.cursor()
        query = f"SELECT * FROM sno_peek_feed(%s, NULL::{self.source}, %s)"
        self._own(lambda: cursor.execute(query, [self.feed, self.batch_size]), True)
        self.keys, self.has_connected = _keys(cursor, self.key), True
        done = self._handle(cursor)
        self._acknowledge(done)
        if self.poison and done and done >= self.poison[0]:
            self.poison = None
        self.pause, self.has_other_error = 0.1, False
        if not self.keys:
            self._execute(_WAIT, self.feed, f"{self.timeout} s", self.source, is_stoppable=True)
        if self._is_stopped():
            raise _Stopped

    def _handle(self, cursor: Any) -> str | None:
        """Calls the handler for the rows, and returns the last key that is done."""
        done, keys = None, self.keys
        count = len(keys) if self.batches and keys else 1
        for first in range(0, len(keys), count):
            rows = range(first, first + count)
            # The rest is for the next consumer. The rows of one key, of which a table can have several, belong together.
            if self._is_stopped() and done != keys[first]:
                break
            poison = self.poison[1] if self.poison and keys[first] == keys[rows[-1]] == self.poison[0] else None
            if poison and not self.on_poison:
                if done:
                    break
                raise poison
            if self.autocommit and done and done != keys[first]:
                self._advance(done)
            try:
                self._call(cursor, rows, poison)
            except Exception as error:
                # An error without a state can be that of another database.
                state = getattr(error, "sqlstate", None) or ""
                if self.connection.closed or state != "57014" and state.startswith(tuple(_AGAIN.split())):
                    raise _Lost(error) from error
                if state == "25P02" and not self.autocommit:
                    # It was in one of the rows before.
                    raise _Failed(RuntimeError(_HIDDEN), keys[0], keys[rows[-1]]) from error
                raise _Failed(error, keys[first], keys[rows[-1]]) from error
            done = keys[rows[-1]]
        if done is None and self._is_stopped():
            raise _Stopped
        return done

    def _call(self, cursor: Any, indices: range, poison: Exception | None) -> None:
        rows: list[Any] = []
        for index in indices:
            self.take(lambda: cursor.scroll(index, mode="absolute"))
            try:
                rows.append(self.take(cursor.fetchone))
            except Exception:
                if not poison:
                    raise
                rows.append(Unreadable((column.name, _value(cursor, index, place)) for place, column in enumerate(cursor.description)))
        if not poison:
            self.take(lambda: _settle(self.handler(rows if self.batches else rows[0], self.connection)))
        else:
            for row in rows:
                self.take(lambda: _settle(self.on_poison(row, poison, self.connection)))

    def _advance(self, done: str) -> None:
        is_new = (self._execute(_ADVANCE, self.feed, done, self.source)).pgresult.get_value(0, 0) == b"true"
        if self.autocommit and not is_new:
            raise _Lost("another consumer has sent the same rows")

    def _acknowledge(self, done: str | None) -> None:
        """Rows up to a key are done, in one transaction with the work, if there is one."""
        try:
            if done and not self.autocommit and self._status() == TransactionStatus.IDLE and not self.connection.closed:
                raise RuntimeError("the handler ended the transaction")
            if done:
                self._advance(done)
            if not self.autocommit and (self._execute("COMMIT")).statusmessage != "COMMIT":
                raise psycopg.errors.InFailedSqlTransaction()
        except psycopg.Error as error:
            if done is None or self.autocommit or _is_transient(error):
                raise
            # It is one of these rows, for example by a constraint that is deferred.
            raise _Failed(RuntimeError(_HIDDEN) if _state(error) == "25P02" else error, self.keys[0], done) from error

    def _fail(self, failed: _Failed) -> None:
        """Has the server count a failure, and remembers what has failed too often."""
        if not self.autocommit:
            self._execute("ROLLBACK")
        parameters = self.feed, failed.first, str(failed.error), failed.last, self.source
        tries = int((self._execute(_FAIL, *parameters)).pgresult.get_value(0, 0))
        self.logger.warning("feed %s: failure %s at %s", self.feed, tries, failed.first, exc_info=failed.error)
        # What the handler has raised, and not on_poison.
        if tries >= self.attempts and not (self.poison and self.poison[0] == failed.first):
            self.poison = failed.first, failed.error

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


def _cut(connection: Any) -> None:
    """Whoever waits for an answer of this connection gets an error."""
    with suppress(AttributeError, OSError, psycopg.Error), socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as copy:
        copy.shutdown(socket.SHUT_RDWR)


def _checked(result: Any) -> Any:
    if inspect.isawaitable(result):
        getattr(result, "close", lambda: None)()
        raise TypeError("connect or the handler is asynchronous: beside asyncio, consume runs in a thread")
    return result


def _settle(result: Any) -> None:
    """Raises what a result of the handler shows as failed, as gather(return_exceptions=True) does. Futures in it are waited for."""
    if isinstance(result, (list, tuple, set)):
        for value in result:
            _settle(value)
    elif isinstance(result, Future):
        _settle(result.result())
    elif isinstance(result, BaseException):
        raise result if isinstance(result, Exception) else RuntimeError(repr(result))
    elif inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError("the handler is a generator, of which nothing has run")
    else:
        _checked(result)


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

    def take(self, call: Any, seconds: float | None = None, is_stoppable: bool = False, connection: Any = None) -> Any:
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
