"""Pools of IDs that the server has generated: an ID before the insert, without a round trip."""

import asyncio
import os
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

__all__ = ["AsyncPool", "Pool"]

T = TypeVar("T", bound=str)
_pools: "weakref.WeakSet[_Pool[Any]]" = weakref.WeakSet()


class _Pool(Generic[T]):
    """A buffer in use, and the next one, which is fetched when half of the first is left."""

    def __init__(
        self, fetch: Callable[[int], Iterable[T] | Awaitable[Iterable[T]]], size: int = 100, max_age: float = 1.0
    ) -> None:
        if size < 1 or max_age <= 0:
            raise ValueError("a pool has a size of at least 1 and an age of more than 0 seconds")
        self._fetch: Any = fetch
        self._size, self._max_age = size, max_age
        self._begin()
        _pools.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Drops all IDs, and those that are being fetched: after an error that a failover causes."""
        with self._lock:
            self._buffers: list[tuple[float, list[T]]] = []
            self._refill: Any = None

    def _take(self, start: Callable[[list[Any]], Any]) -> T | None:
        now = time.monotonic()
        # In place: who refills a list that is no longer the pool's refills nothing.
        self._buffers[:] = [(until, ids) for until, ids in self._buffers if ids and now < until]
        taken = self._buffers[0][1].pop() if self._buffers else None
        left = sum(len(ids) for _, ids in self._buffers)
        if left <= self._size // 2 and (self._refill is None or self._refill.done()):
            self._refill = start(self._buffers)
        return taken

    def _put(self, buffers: list[Any], ids: Iterable[T]) -> None:
        fetched = list(ids)[::-1]
        if not fetched:
            raise ValueError("fetch returned no ID")
        buffers.append((time.monotonic() + self._max_age, fetched))


class Pool(_Pool[T]):
    """For threads, and for processes after a fork. `fetch(n)` returns n new IDs; a thread of the pool calls it."""

    def next(self) -> T:
        """An ID of the pool. It waits only if there is none, and raises what `fetch` raised."""
        while True:
            with self._lock:
                taken, refill = self._take(self._start), self._refill
            if taken is not None:
                return taken
            refill.result()

    def _start(self, buffers: list[Any]) -> "Future[None]":
        refill: Future[None] = Future()
        # One thread for each: an old one may wait for a server that is gone, and a process ends without it.
        threading.Thread(target=self._fill, args=(buffers, refill), name="sno-pool", daemon=True).start()
        return refill

    def _fill(self, buffers: list[Any], refill: "Future[None]") -> None:
        try:
            ids = self._fetch(self._size)
            with self._lock:
                self._put(buffers, ids)
            refill.set_result(None)
        except BaseException as error:
            with self._lock:
                buffers.clear()
            refill.set_exception(error)


class AsyncPool(_Pool[T]):
    """For the tasks of one event loop at a time. `await fetch(n)` returns n new IDs."""

    _loop: Any = None

    async def next(self) -> T:
        """An ID of the pool. It waits only if there is none, and raises what `fetch` raised."""
        if self._loop is not (loop := asyncio.get_running_loop()):
            self._loop = loop
            self.clear()
        while (taken := self._take(self._start)) is None:
            # The refill goes on if this task is cancelled.
            await asyncio.shield(self._refill)
        return taken

    def _start(self, buffers: list[Any]) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(self._fill(buffers))
        task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return task

    async def _fill(self, buffers: list[Any]) -> None:
        try:
            self._put(buffers, await self._fetch(self._size))
        except BaseException:
            buffers.clear()
            raise


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: [pool._begin() for pool in _pools])
