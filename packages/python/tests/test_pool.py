"""Pools: each ID once, in order, not too old, in threads, tasks and forked processes."""

import asyncio
import os
import subprocess
import sys
import threading
import time
import unittest

from sno.pool import AsyncPool, Pool


class Server:
    """Numbers as IDs; how often it was asked."""

    def __init__(self):
        self.numbers, self.calls, self.error, self.gate = 0, 0, None, threading.Event()
        self.gate.set()
        self.lock = threading.Lock()

    def fetch(self, count):
        with self.lock:
            self.calls += 1
        self.gate.wait()
        if self.error:
            raise self.error
        with self.lock:
            self.numbers += count
            return [str(number) for number in range(self.numbers - count, self.numbers)]

    async def fetch_async(self, count):
        await asyncio.sleep(0.001)
        return self.fetch(count)


def until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


class PoolTest(unittest.TestCase):
    def test_in_order_and_from_two_buffers(self):
        server = Server()
        pool = Pool(server.fetch, size=10, max_age=3600)
        self.assertEqual([pool.next() for _ in range(5)], ["0", "1", "2", "3", "4"])
        until(lambda: server.numbers == 20)
        # The second buffer is there, so nothing waits for the third.
        server.gate.clear()
        self.assertEqual([pool.next() for _ in range(15)], [str(number) for number in range(5, 20)])
        server.gate.set()
        self.assertEqual(pool.next(), "20")

    def test_threads_get_each_id_once(self):
        server = Server()
        pool = Pool(server.fetch, size=10)
        taken = [[] for _ in range(8)]
        threads = [threading.Thread(target=lambda l=l: l.extend(pool.next() for _ in range(1000))) for l in taken]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len({id for ids in taken for id in ids}), 8000)
        self.assertLessEqual(server.calls, 8000 // 10 + 2)

    def test_a_fetch_holds_nobody_up(self):
        server = Server()
        pool = Pool(server.fetch, size=10, max_age=3600)
        pool.next()
        server.gate.clear()
        taken = [pool.next() for _ in range(9)]
        self.assertEqual(taken, [str(number) for number in range(1, 10)])
        server.gate.set()

    def test_age(self):
        server = Server()
        pool = Pool(server.fetch, size=10, max_age=0.05)
        self.assertEqual(pool.next(), "0")
        time.sleep(0.06)
        self.assertEqual(pool.next(), "10")

    def test_an_error_is_raised_and_empties_it(self):
        server = Server()
        pool = Pool(server.fetch, size=10, max_age=3600)
        for _ in range(4):
            pool.next()
        server.error = OSError("the server is gone")
        pool.next()
        until(lambda: server.calls == 2 and not pool._buffers)
        with self.assertRaisesRegex(OSError, "the server is gone"):
            pool.next()
        server.error = None
        self.assertEqual(pool.next(), "10")
        with self.assertRaisesRegex(ValueError, "no ID"):
            Pool(lambda count: []).next()

    def test_what_is_fetched_while_it_is_cleared_is_dropped(self):
        server = Server()
        pool = Pool(server.fetch, size=10, max_age=3600)
        server.gate.clear()
        first = threading.Thread(target=pool.next)
        first.start()
        until(lambda: server.calls == 1)
        pool.clear()
        # The old thread hangs; another one asks.
        second = threading.Thread(target=pool.next)
        second.start()
        until(lambda: server.calls == 2)
        server.gate.set()
        first.join()
        second.join()
        self.assertEqual(len(pool._buffers), 1)

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_fork(self):
        pool = Pool(Server().fetch, size=10, max_age=3600)
        pool.next()
        # As another thread has it at the moment of the fork.
        with pool._lock:
            reader, writer = os.pipe()
            if (child := os.fork()) == 0:
                # The child's server starts anew, so it has 10 if IDs of the parent are gone.
                os.write(writer, f"{pool.next()}\n".encode())
                os._exit(0)
        os.waitpid(child, 0)
        self.assertEqual(os.read(reader, 9), b"10\n")
        self.assertEqual(pool.next(), "1")

    def test_a_process_ends_while_a_fetch_hangs(self):
        program = "import threading; from sno.pool import Pool; p = Pool(lambda n: threading.Event().wait()); p._take(p._start)"
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

    def test_what_is_no_pool(self):
        for options in {"size": 0}, {"max_age": 0}:
            with self.assertRaises(ValueError):
                Pool(Server().fetch, **options)


class AsyncPoolTest(unittest.TestCase):
    def test_tasks_get_each_id_once(self):
        server = Server()
        pool = AsyncPool(server.fetch_async, size=10)

        async def take(count):
            return [await pool.next() for _ in range(count)]

        async def main():
            return [id for ids in await asyncio.gather(*(take(100) for _ in range(20))) for id in ids]

        self.assertEqual(len(set(asyncio.run(main()))), 2000)
        # Another event loop.
        self.assertEqual(len(set(asyncio.run(main()))), 2000)
        self.assertEqual(len(set(asyncio.run(main()))), 2000)

    def test_a_cancelled_task_takes_the_refill_from_nobody(self):
        server = Server()
        pool = AsyncPool(server.fetch_async, size=10)

        async def main():
            first, second = asyncio.ensure_future(pool.next()), asyncio.ensure_future(pool.next())
            await asyncio.sleep(0)
            first.cancel()
            return await second

        self.assertEqual(asyncio.run(main()), "0")
        self.assertEqual(server.calls, 1)

    def test_a_refill_of_a_loop_that_is_closed(self):
        fetches = []

        async def fetch(count):
            fetches.append(count)
            if len(fetches) == 1:
                await asyncio.Event().wait()
            return ["1"] * count

        pool = AsyncPool(fetch)
        loop = asyncio.new_event_loop()
        with self.assertRaises(asyncio.TimeoutError):
            loop.run_until_complete(asyncio.wait_for(pool.next(), 0.01))
        hung = pool._refill
        loop.close()
        self.assertEqual(asyncio.run(pool.next()), "1")
        hung._log_destroy_pending = False

    def test_an_error_is_raised_and_empties_it(self):
        server = Server()
        pool = AsyncPool(server.fetch_async, size=2)

        async def main():
            await pool.next()
            server.error = OSError("the server is gone")
            while pool._buffers:
                await asyncio.sleep(0.001)
            with self.assertRaisesRegex(OSError, "the server is gone"):
                await pool.next()
            server.error = None
            return await pool.next()

        self.assertEqual(asyncio.run(main()), "2")


if __name__ == "__main__":
    unittest.main()
