"""A consumer of a feed, with psycopg 3: it waits, reads, connects again, stops; the application handles rows.

    consume(connect, "mail", "orders", lambda order, connection: send(order))
"""

import asyncio
import inspect
import logging
import random
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from typing import Any, NamedTuple

import psycopg
from psycopg.pq import TransactionStatus

from sno import Sno

__all__ = ["consume", "consume_async"]

# The SQLSTATEs, or their classes, of errors that do not come again for ever: lost connections, standbys, lack of space, conflicts.
_TRY_AGAIN = ("08", "25006", "25P03", "25P04", "40", "53", "55P03", "57P")


class _Stopped(BaseException):
    """The stop signal came while the consumer could stop at once."""


class _Step(NamedTuple):
    """What is to be done next: a call, or a pause. Only where `is_stoppable` does the stop signal interrupt it."""

    call: Callable[[], Any] | None
    connection: Any = None
    is_stoppable: bool = False
    seconds: float | None = None


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
    timeout: float = 30.0,
    stop: threading.Event | None = None,
    logger: logging.Logger = logging.getLogger("sno"),
) -> None:
    """Calls `handler(row, connection)` for each new row of a feed, until `stop` is set.

    `connect()` returns a new connection, which the consumer closes. `source` is the table or the view of the feed, as SQL writes it.
    What the handler writes with the connection is committed together with the feed's position, after it has returned, once
    for up to `batch_size` rows. With `batches`, `handler(rows, connection)` gets them together.

    A row at which the handler raises `attempts` times is poison: the rows before it are committed, then the error is
    raised, or `on_poison(row, error, connection)` is called in the transaction that passes the row. `key` is the column by which
    the feed is read. `timeout` is how many seconds a wait for new rows lasts.
    """
    steps = _steps(connect, feed, source, handler, key, batch_size, batches, attempts, on_poison, timeout, stop, logger)
    with _Watch(stop) as watch:
        send, value = steps.send, None
        while True:
            try:
                step = send(value)
            except StopIteration:
                return
            try:
                send, value = steps.send, watch.run(step)
            except BaseException as error:
                send, value = steps.throw, error


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
    timeout: float = 30.0,
    stop: asyncio.Event | None = None,
    logger: logging.Logger = logging.getLogger("sno"),
) -> None:
    """`consume` for asyncio. `await connect()` is a new connection, the handler is a coroutine. A cancelled task rolls back."""
    stop = stop or asyncio.Event()
    steps = _steps(connect, feed, source, handler, key, batch_size, batches, attempts, on_poison, timeout, stop, logger)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        send, value = steps.send, None
        while True:
            try:
                step = send(value)
            except StopIteration:
                return
            try:
                send, value = steps.send, await _run_async(step, stopping)
            except BaseException as error:
                send, value = steps.throw, error
    finally:
        stopping.cancel()


def _steps(
    connect: Any, feed: str, source: str, handler: Any, key: str, batch_size: int, batches: bool, attempts: int, on_poison: Any,
    timeout: float, stop: Any, logger: logging.Logger,
) -> Generator[_Step, Any, None]:  # fmt: skip
    """The life of a consumer, for `consume` and `consume_async`, which take the steps."""
    if batch_size < 1 or attempts < 1 or timeout <= 0:
        raise ValueError("batch size, attempts and timeout must be positive")
    connection: Any = None
    has_connected, pause = False, 0.1
    # After a failure: how often which row has failed in a row; smaller batches up to a row.
    failed, failures, careful_until, limit = None, 0, "", batch_size
    poison: Any = None

    def own(query: str, *parameters: Any, is_stoppable: bool = False) -> _Step:
        return _Step(lambda: connection.execute(query, parameters), connection, is_stoppable)

    def is_stopped() -> bool:
        return stop is not None and stop.is_set()

    def warn(error: Exception) -> None:
        is_slow = getattr(error, "sqlstate", None) in ("25P03", "25P04")
        advice = " (the handler takes too long: take smaller batches)" if is_slow else ""
        logger.warning("feed %s: %s, connecting again in %.1f s%s", feed, error, pause, advice)

    try:
        while True:
            failure: Any = None
            try:
                if connection is None:
                    connection = yield _Step(connect, None, True)
                    if connection.info.transaction_status != TransactionStatus.IDLE:
                        raise ValueError("the new connection has an open transaction")
                    yield _Step(lambda: connection.set_autocommit(True))
                    # In PgBouncer's transaction mode the next statement can go to another server.
                    connection.prepare_threshold = None
                    has_connected = True
                yield own("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", is_stoppable=True)
                cursor = connection.cursor(row_factory=_with_key(key))
                query = f"SELECT * FROM sno_feed(%s, NULL::{source}, %s)"
                yield _Step(lambda: cursor.execute(query, [feed, limit]), connection, True)
                rows = yield _Step(cursor.fetchall)
                last, before = None, 0
                for index, piece in enumerate([rows] if batches and rows else [[row] for row in rows]):
                    start, end = piece[0][0], piece[-1][0]
                    if is_stopped() and last is None:
                        return
                    elif is_stopped() and last != start and before == index - 1:
                        # The rest is given back to the next consumer, in the transaction that has read it. After several rows of
                        # one ID, as a view can have them, the server refuses that.
                        yield own("SELECT sno_seek_feed(%s, after => %s::sno)", feed, last)
                        break
                    if last != start:
                        before = index
                    place = start, end, index - before
                    try:
                        if place == failed and failures >= attempts:
                            for _, row in piece:
                                yield _Step(lambda: on_poison(row, poison, connection))
                        else:
                            argument = [row for _, row in piece] if batches else piece[0][1]
                            yield _Step(lambda: handler(argument, connection))
                        if connection.info.transaction_status == TransactionStatus.INERROR:
                            raise psycopg.errors.InFailedSqlTransaction("the handler went on after an error of the server")
                        last = end
                    except Exception as error:
                        failure = error
                    if connection.info.transaction_status == TransactionStatus.IDLE and not connection.closed:
                        # If it was a COMMIT, the rest of the batch counts as read.
                        after = last or Sno.from_bytes((int.from_bytes(bytes(Sno(rows[0][0])), "big") - 1).to_bytes(10, "big"))
                        seek = "SELECT sno_seek_feed(%s, after => %s::sno) FROM sno_feeds WHERE feed = %s AND position >= %s::sno"
                        try:
                            yield own(seek, feed, after, feed, rows[-1][0])
                        except psycopg.Error as error:
                            failure = error
                        raise RuntimeError("the handler ended the transaction") from failure
                    elif failure is not None:
                        break
                if failure is None:
                    committed = yield own("COMMIT")
                    if committed.statusmessage != "COMMIT":
                        raise RuntimeError("the server rolled back: a statement of the handler failed")
                    pause = 0.1
                    if last is None:
                        query = "CALL sno_wait_feed(%s, %s::interval)"
                        yield _Step(lambda: connection.execute(query, [feed, f"{timeout} s"]), connection, True, timeout + 10)
                        continue
                    if failed and failed[0] <= last:
                        failed, failures = None, 0
                    if careful_until <= last:
                        careful_until = ""
                    limit = 1 if careful_until else batch_size
                    if is_stopped():
                        return
                    continue
            except Exception as error:
                state = getattr(error, "sqlstate", None) or ("08" if isinstance(error, psycopg.OperationalError) else "")
                if not has_connected or connection is not None and not state.startswith((*_TRY_AGAIN, "57014")):
                    raise
                warn(error)
            if failure is not None and (connection.closed or (getattr(failure, "sqlstate", None) or "").startswith(_TRY_AGAIN)):
                warn(failure)
            elif failure is not None:
                failures = failures + 1 if place == failed else 1
                failed, poison = place, failure
                logger.warning("feed %s: failure %s at %s", feed, failures, start, exc_info=failure)
                if failures >= attempts and rows[0][0] == start == end and on_poison is None:
                    raise failure
                # What is before it is committed by itself, then it is tried alone.
                careful_until, limit = max(careful_until, end), before or 1
            yield from _close(connection)
            connection = None
            yield _Step(None, None, True, pause * random.uniform(0.5, 1))
            pause = min(pause * 2, 10)
    except _Stopped:
        pass
    finally:
        yield from _close(connection)


def _close(connection: Any) -> Generator[_Step, Any, None]:
    """An open transaction is rolled back by it."""
    if connection is not None:
        try:
            yield _Step(connection.close)
        except psycopg.Error:
            pass


def _with_key(key: str) -> Any:
    """Rows as the connection makes them, each with its key."""

    def factory(cursor: Any) -> Any:
        make = cursor.connection.row_factory(cursor)
        names = [column.name for column in cursor.description or ()]
        if names and key not in names:
            raise ValueError(f'the rows have no column "{key}"')
        place = names.index(key) if names else 0
        return lambda values: (str(values[place]), make(values))

    return factory


class _Watch:
    """A thread that cancels a statement when the stop signal comes, and cuts a connection that is silent for too long."""

    def __init__(self, stop: Any) -> None:
        self.stop, self.lock, self.ended = stop, threading.Lock(), threading.Event()
        self.connection: Any = None
        self.deadline: float | None = None
        self.thread = threading.Thread(target=self._watch, name="sno-consumer", daemon=True)

    def __enter__(self) -> "_Watch":
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()

    def is_stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()

    def _watch(self) -> None:
        while not self.ended.wait(0.05):
            with self.lock:
                if self.connection is None:
                    continue
                try:
                    if self.deadline and time.monotonic() > self.deadline:
                        with socket.fromfd(self.connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as copy:
                            copy.shutdown(socket.SHUT_RDWR)
                    elif self.is_stopped():
                        self.connection.cancel_safe(timeout=1)
                except (OSError, psycopg.Error):
                    pass

    def run(self, step: _Step) -> Any:
        if step.is_stoppable and self.is_stopped():
            raise _Stopped
        if step.call is None:
            # Not by the event: a signal handler that sets it while its lock is held would wait for ever.
            until = time.monotonic() + (step.seconds or 0)
            while (left := until - time.monotonic()) > 0:
                time.sleep(min(left, 0.05))
                if self.is_stopped():
                    raise _Stopped
            return None
        if not step.is_stoppable or step.connection is None:
            result = step.call()
            if inspect.isawaitable(result):
                getattr(result, "close", lambda: None)()
                raise TypeError("connect or the handler is asynchronous: use consume_async")
            return result
        with self.lock:
            self.connection = step.connection
            self.deadline = time.monotonic() + step.seconds if step.seconds else None
        try:
            return step.call()
        except psycopg.errors.QueryCanceled:
            if self.is_stopped():
                raise _Stopped from None
            raise
        finally:
            with self.lock:
                self.connection = None


async def _run_async(step: _Step, stopping: "asyncio.Future[Any]") -> Any:
    if not step.is_stoppable:
        result = step.call() if step.call else None
        return await result if inspect.isawaitable(result) else result
    if stopping.done():
        raise _Stopped
    task = asyncio.ensure_future(step.call() if step.call else asyncio.sleep(step.seconds or 0))
    try:
        await asyncio.wait({task, stopping}, timeout=step.seconds if step.call else None, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not task.done():
            task.cancel()
            # The driver asks the server to cancel, which may be silent.
            await asyncio.wait({task}, timeout=1)
    if task.done() and not task.cancelled():
        if not (stopping.done() and isinstance(task.exception(), psycopg.errors.QueryCanceled)):
            return task.result()
    if stopping.done():
        raise _Stopped
    raise psycopg.OperationalError("the server is silent")
