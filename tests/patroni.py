"""Changes of the primary by Patroni, under load: make test-patroni.

Three members, and a proxy that leads to the primary. Through it go writers, a consumer of a feed that copies in the same database,
another one that stores elsewhere, and a reader that remembers the last ID. Past it, for each member, goes a session that draws IDs
whenever this member takes itself for the primary. The members' configuration is that of docs/operation.md.
"""

import contextlib
import json
import os
import pathlib
import pwd
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import psycopg2
import yaml

USER = pwd.getpwnam(os.environ["SNO_SERVER_USER"])
# What sessions may see of members that stop being the primary; a lost connection has no code.
EXPECTED = {None, "25006", "57P01", "57P02", "57P03"}


def spawn(*command, **options):
    """Starts a program as the user of the servers, which is not root."""
    identity = {"user": USER.pw_uid, "group": USER.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    return subprocess.Popen(list(map(str, command)), cwd="/", stdin=subprocess.DEVNULL, **identity, **options)


def free_port(given=set()):
    """A port that nobody has, another one at each call."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    if port in given:
        return free_port()
    given.add(port)
    return port


def wait(what, found):
    """Waits until something is found. Patroni replaces a lost primary only after its ttl, of 20 seconds."""
    end = time.monotonic() + 180
    while time.monotonic() < end:
        if result := found():
            return result
        time.sleep(0.1)
    raise AssertionError(f"not after 180 s: {what}")


@contextlib.contextmanager
def session(port):
    connection = psycopg2.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres", connect_timeout=10)
    connection.autocommit = True
    with contextlib.closing(connection), connection.cursor() as cursor:
        yield cursor


def query(port, sql):
    """The rows of a query; none if the server can't be asked."""
    try:
        with session(port) as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []
    except psycopg2.Error as error:
        if error.pgcode not in EXPECTED:
            raise
        return []


class Member:
    """A server, and the Patroni that runs it."""

    def __init__(self, cluster, number):
        self.name, self.port, self.rest, self.patroni = f"p{number}", free_port(), free_port(), None
        self.folder = cluster.folder / self.name
        self.folder.mkdir()
        rest, server, folder = f"127.0.0.1:{self.rest}", f"127.0.0.1:{self.port}", str(self.folder)
        self.conf = {
            "scope": "shop",
            "name": self.name,
            "restapi": {"listen": rest, "connect_address": rest},
            "etcd3": {"hosts": f"127.0.0.1:{cluster.etcd}"},
            "bootstrap": {
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
                "pg_hba": [f"host {what} all 127.0.0.1/32 trust" for what in ("all", "replication")],
                "dcs": {"ttl": 20, "loop_wait": 2, "retry_timeout": 5, "maximum_lag_on_failover": 10**8, "primary_start_timeout": 0,
                        "synchronous_mode": True, "postgresql": {"use_pg_rewind": True, "parameters": {"shared_preload_libraries": "pg_stat_statements"}}},
            },
            "postgresql": {
                "listen": server, "connect_address": server, "data_dir": f"{folder}/data", "pgpass": f"{folder}/pgpass",
                "bin_dir": os.environ["SNO_PG_BIN"],
                "authentication": {who: {"username": who, "password": "x"} for who in ("superuser", "replication")},
                "parameters": {"fsync": "off", "shared_buffers": "32MB", "unix_socket_directories": folder},
            },
        }
        self.conf["postgresql"]["authentication"]["superuser"]["username"] = "postgres"
        (self.folder / "patroni.yml").write_text(yaml.safe_dump(self.conf))
        (self.folder / "clock").write_bytes(bytes(8))
        cluster.give(self.folder, *self.folder.iterdir())

    def set_clock(self, seconds):
        """Sets the clock of the member against the machine's, as tests/preload says."""
        with open(self.folder / "clock", "r+b") as file:
            file.write((seconds * 2_000_000).to_bytes(8, sys.byteorder, signed=True))

    def start(self):
        if self.patroni:
            self.patroni.wait()
        environment = {**os.environ, "LD_PRELOAD": os.environ["SNO_PRELOAD"], "SNO_CLOCK": str(self.folder / "clock"),
                       "SNO_HOST": self.name}
        with open(self.folder / "log", "a") as log:
            self.patroni = spawn("patroni", self.folder / "patroni.yml", env=environment, stdout=log, stderr=log)

    def server(self):
        """The processes of the server, the postmaster first."""
        try:
            postmaster = (self.folder / "data/postmaster.pid").read_text().split()[0]
        except (FileNotFoundError, IndexError):
            return []
        processes = [int(postmaster)]
        for status in pathlib.Path("/proc").glob("[0-9]*/status"):
            with contextlib.suppress(OSError):
                if f"\nPPid:\t{postmaster}\n" in status.read_text():
                    processes.append(int(status.parent.name))
        return processes

    def signal(self, number, server=True):
        processes = self.server() if server else []
        self.patroni.send_signal(number)
        for pid in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


class Cluster:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.give(self.folder)
        self.etcd, self.proxy = free_port(), free_port()
        self.members = [Member(self, number) for number in (1, 2, 3)]
        conf = self.folder / "haproxy.cfg"
        conf.write_text(
            "defaults\n mode tcp\n timeout connect 2s\n timeout check 2s\n timeout client 5m\n timeout server 5m\n"
            f"listen shop\n bind 127.0.0.1:{self.proxy}\n option httpchk OPTIONS /primary\n http-check expect status 200\n"
            " default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions\n"
            + "".join(f" server {each.name} 127.0.0.1:{each.port} check port {each.rest}\n" for each in self.members))
        client, peer = (f"http://127.0.0.1:{port}" for port in (self.etcd, free_port()))
        etcd = ["--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}", "--data-dir", self.folder / "etcd"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.others = [spawn("etcd", *etcd, **quiet), spawn("/usr/sbin/haproxy", "-f", conf, **quiet)]

    def give(self, *paths):
        for path in paths:
            os.chown(path, USER.pw_uid, USER.pw_gid)

    def start(self):
        for member in self.members:
            member.start()
            # The first one is the primary, which the others copy.
            wait(member.name, lambda: query(member.port, "SELECT 1"))
        wait("the proxy", lambda: query(self.proxy, "SELECT 1"))

    def stop(self):
        for member in self.members:
            if member.patroni:
                member.signal(signal.SIGKILL)
        for process in self.others:
            process.kill()

    def set_up(self):
        """As docs/operation.md says for a cluster that runs."""
        self.ctl("edit-config", "shop", "--pg", "shared_preload_libraries=pg_stat_statements, sno", "--force")
        self.set_number("p1=1, p2=2, p3=3")
        wait("the list of libraries", lambda: all(row.get("Pending restart") for row in self.list()))
        primary, _ = self.settled(True)
        for member in sorted(self.members, key=lambda member: member is primary):
            self.ctl("restart", "shop", member.name, "--force")
            self.settled(True)

    def set_number(self, number):
        """In the configuration that all members have."""
        self.ctl("edit-config", "shop", "--pg", f"sno.partition_prefix={number}", "--force")
        for member in self.members:
            wait(number, lambda: query(member.port, f"SELECT 1 WHERE current_setting('sno.partition_prefix', true) = '{number}'"))

    def list(self):
        return json.loads(self.ctl("list", "shop", "--format", "json"))

    def ctl(self, *arguments):
        command = ["patronictl", "-c", self.folder / "p1/patroni.yml", *arguments]
        program = spawn(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        output, errors = program.communicate()
        assert program.returncode == 0, f"patronictl {arguments}: {output}{errors}"
        return output

    def settled(self, synchronous):
        """The primary and the standby to follow it, once all members run on one timeline."""
        def found():
            rows = self.list()
            run = all(row["State"] in ("running", "streaming") for row in rows)
            if run and len(rows) == 3 and len({row.get("TL") for row in rows}) == 1:
                roles = {row["Role"]: self.members[int(row["Member"][1:]) - 1] for row in rows}
                pair = roles.get("Leader"), roles.get("Sync Standby" if synchronous else "Replica")
                return all(pair) and pair
        return wait("three members that run", found)


class Drill:
    """What is written and read while `changes` happen to a cluster, and what came of it."""

    def __init__(self, cluster, synchronous, changes):
        self.cluster, self.synchronous = cluster, synchronous
        self.stop, self.lock = threading.Event(), threading.Lock()
        self.ids, self.acknowledged, self.stored, self.naive = [], set(), set(), set()
        self.again, self.errors, self.committed, self.pause = 0, set(), time.monotonic(), 0
        query(cluster.proxy, "TRUNCATE items, copy")
        self.last = wait("the proxy", lambda: query(cluster.proxy, "SELECT sno_horizon()"))[0][0]
        work = [(each, cluster.proxy) for each in [self.write] * 4 + [self.copy, self.store, self.read]]
        work += [(self.draw, member.port) for member in cluster.members]
        threads = [threading.Thread(target=self.repeat, args=each, daemon=True) for each in work]
        for thread in threads:
            thread.start()
        changes(self)
        cluster.settled(synchronous)
        self.stop.set()
        for thread in threads:
            thread.join()
        self.check()

    def repeat(self, work, port):
        """Does some work again and again; after an error, with another connection."""
        while not self.stop.is_set():
            try:
                with session(port) as cursor:
                    while not self.stop.is_set():
                        work(cursor)
                        time.sleep(0.02)
            except psycopg2.Error as error:
                if error.pgcode not in EXPECTED:
                    self.errors.add(f"{work.__name__}: {error}")
                time.sleep(0.1)

    def rows(self, cursor, sql, *parameters):
        cursor.execute(sql, parameters)
        return [row[0] for row in cursor]

    def write(self, cursor):
        """A transaction of some rows; one in twenty is held open."""
        rows = self.rows(cursor, "BEGIN; INSERT INTO items SELECT FROM generate_series(1, %s) RETURNING id", random.randint(1, 4))
        self.ids += rows
        time.sleep(random.choice([0] * 19 + [0.5]))
        cursor.execute("COMMIT")
        with self.lock:
            self.acknowledged.update(rows)
            self.pause = max(self.pause, time.monotonic() - self.committed)
            self.committed = time.monotonic()

    def draw(self, cursor):
        self.ids += self.rows(cursor, "SELECT sno_new() FROM generate_series(1, 100) WHERE NOT pg_is_in_recovery()")

    def copy(self, cursor):
        cursor.execute("INSERT INTO copy SELECT * FROM sno_feed('copy', NULL::items, 500)")

    def store(self, cursor):
        """Stores rows elsewhere, then commits; one time in nine it fails before that."""
        rows = set(self.rows(cursor, "BEGIN; WITH f AS MATERIALIZED (SELECT id FROM sno_feed('elsewhere', NULL::items, 500)), "
                                     "i AS (INSERT INTO read TABLE f) TABLE f"))
        self.again += len(rows & self.stored)
        self.stored |= rows
        cursor.execute(random.choice(["COMMIT"] * 8 + ["ROLLBACK"]))

    def read(self, cursor):
        rows = self.rows(cursor, "SELECT id FROM items WHERE id > %s", self.last)
        self.naive.update(rows)
        self.last = max([self.last, *rows])

    def change(self, what, fault):
        """Lets `fault`, which gets the primary and the next one, change the primary; prints what came of it, and returns the pause."""
        old, following = self.cluster.settled(self.synchronous)
        with self.lock:
            self.committed, self.pause = time.monotonic(), 0
        ids, again = len(self.ids), self.again
        fault(old, following)
        new, _ = self.cluster.settled(self.synchronous)
        assert new is not old, f"{what}: {old.name} is still the primary"
        print(f"{what:<47} {old.name} -> {new.name}: {len(self.ids) - ids:6} IDs, inserts paused for {self.pause:4.1f} s, "
              f"{self.again - again:4} rows delivered again", flush=True)
        return self.pause

    def replaced(self, old):
        """Waits until another member than this one takes rows."""
        sql = f"SELECT 1 WHERE NOT pg_is_in_recovery() AND inet_server_port() <> {old.port}"
        wait("another primary", lambda: query(self.cluster.proxy, sql))
        before = len(self.acknowledged)
        wait("rows", lambda: len(self.acknowledged) > before + 50)

    def switch(self, old, following):
        self.cluster.ctl("switchover", "shop", "--leader", old.name, "--candidate", following.name, "--force")
        self.replaced(old)

    def kill_server(self, old, _):
        os.kill(old.server()[0], signal.SIGKILL)
        self.replaced(old)

    def kill(self, old, _):
        old.signal(signal.SIGKILL)
        self.replaced(old)
        old.start()

    def kill_patroni(self, old, _):
        """Nobody tells the old primary that it is replaced: for some seconds there are two."""
        old.signal(signal.SIGKILL, server=False)
        self.replaced(old)
        time.sleep(3)
        old.start()

    def pause_machine(self, old, _):
        """What was under way on the old primary goes on later. Patroni is killed: 3.0.2 would take the lock back."""
        old.signal(signal.SIGSTOP)
        try:
            self.replaced(old)
        finally:
            old.patroni.kill()
            old.signal(signal.SIGCONT)
        time.sleep(3)
        old.start()

    def copy_standbys(self, old, _):
        for member in self.cluster.members:
            if member is not old:
                self.cluster.ctl("reinit", "shop", member.name, "--force", "--wait")
                _, following = self.cluster.settled(self.synchronous)
        self.switch(old, following)

    def switch_to_slow_clock(self, old, following):
        following.set_clock(-5)
        self.switch(old, following)

    def kill_late(self, old, _):
        """The standbys lack what was committed in the last 2.5 seconds."""
        for sender, in query(old.port, "SELECT pid FROM pg_stat_replication"):
            os.kill(sender, signal.SIGSTOP)
        time.sleep(2.5)
        self.kill(old, _)

    def check(self):
        proxy = self.cluster.proxy
        wait("the horizon", lambda: query(proxy, "SELECT 1 WHERE sno_horizon() > (SELECT max(id) FROM items)"))
        with session(proxy) as cursor:
            while query(proxy, "SELECT 1 FROM sno_feeds() WHERE position < (SELECT max(id) FROM items)"):
                self.copy(cursor)
                self.store(cursor)
            items, copy = (self.rows(cursor, f"SELECT id FROM {table}") for table in ("items", "copy"))
        rows = set(items)
        self.repeated = len(self.ids) - len(set(self.ids))
        self.lost, self.gone = len(self.acknowledged - rows), len(self.stored - rows)
        self.missed = len(rows - self.stored), len(rows ^ set(copy)) + len(copy) - len(set(copy))
        print(f"{len(self.ids)} IDs, {self.repeated} of them twice. {len(items)} rows: {self.missed[0]} missed elsewhere, {self.missed[1]} "
              f"missed or twice in the copy; {len(rows - self.naive)} missed by a reader that remembers the last ID. Acknowledged and lost: "
              f"{self.lost}; delivered elsewhere and lost: {self.gone}.\n", flush=True)
        assert not self.errors, self.errors


def run(cluster):
    cluster.start()
    cluster.set_up()
    query(cluster.proxy, """
        CREATE EXTENSION sno;
        CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1));
        CREATE TABLE copy (LIKE items); CREATE TABLE read (LIKE items);
        SELECT sno_create_feed('copy', 'items'), sno_create_feed('elsewhere', 'items')""")
    for member in cluster.members:
        wait("the extension", lambda: query(member.port, "SELECT 1 FROM pg_extension WHERE extname = 'sno'"))

    def changes(drill):
        drill.change("switchover", drill.switch)
        drill.change("switchover", drill.switch)
        drill.change("kill -9 of the postmaster", drill.kill_server)
        drill.change("kill -9 of Patroni and PostgreSQL", drill.kill)
        drill.change("kill -9 of Patroni: two primaries", drill.kill_patroni)
        drill.change("a machine that stands still, then goes on", drill.pause_machine)
        drill.change("reinit of both standbys, switchover", drill.copy_standbys)
        # As docs/operation.md says.
        assert drill.change("switchover to a clock that is 5 s slow", drill.switch_to_slow_clock) > 5
        for member in cluster.members:
            member.set_clock(0)
    first = Drill(cluster, True, changes)
    assert (first.repeated, first.missed, first.lost, first.gone) == (0, (0, 0), 0, 0)

    cluster.ctl("edit-config", "shop", "--set", "synchronous_mode=false", "--force")
    wait("asynchronous replication", lambda: query(cluster.proxy, "SELECT 1 WHERE current_setting('synchronous_standby_names') = ''"))
    second = Drill(cluster, False, lambda drill: drill.change("asynchronous, 2.5 s behind: kill -9 of both", drill.kill_late))
    assert (second.repeated, second.missed) == (0, (0, 0)) and second.lost > 0 and second.gone > 0
    assert not set(first.ids) & set(second.ids)

    repeated = {}
    for number in "auto", "700/16":
        cluster.set_number(number)
        drill = Drill(cluster, False, lambda drill: drill.change(f"{number} for all: two primaries", drill.kill_patroni))
        repeated[number] = drill.repeated
    assert repeated["auto"] == 0 and repeated["700/16"] > 0, "IDs do not repeat where they can: this drill shows nothing"


# So that what was started is stopped.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
with tempfile.TemporaryDirectory(dir=os.environ["SNO_TMP"], ignore_cleanup_errors=True) as temporary:
    shop = Cluster(temporary)
    try:
        run(shop)
    except BaseException:
        for log in sorted(shop.folder.glob("p*/log")):
            print(log, *log.read_text().splitlines()[-25:], sep="\n", file=sys.stderr)
        raise
    finally:
        shop.stop()
