"""psycopg 3 with IDs as values of a class, in text and in binary."""

from datetime import datetime, timedelta, timezone

import psycopg
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

from sno import Sno


class SnoDumper(Dumper):
    def dump(self, id):
        return str(id).encode()


class SnoBinaryDumper(Dumper):
    format = Format.BINARY

    def dump(self, id):
        return id.raw


class SnoLoader(Loader):
    def load(self, data):
        return Sno.parse(bytes(data).decode())


class SnoBinaryLoader(Loader):
    format = Format.BINARY

    def load(self, data):
        return Sno(bytes(data))


def register_sno(connection):
    """Teaches a connection the type. Its OID is another one in each database."""
    info = TypeInfo.fetch(connection, "sno")
    info.register(connection)
    for dumper in SnoDumper, SnoBinaryDumper:
        connection.adapters.register_dumper(Sno, type(dumper.__name__, (dumper,), {"oid": info.oid}))
    for loader in SnoLoader, SnoBinaryLoader:
        connection.adapters.register_loader(info.oid, loader)


with psycopg.connect(autocommit=True) as connection:
    register_sno(connection)
    connection.execute("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")

    id = connection.execute("INSERT INTO events (payload) VALUES (%s) RETURNING id", ["first"]).fetchone()[0]
    connection.execute("SELECT payload FROM events WHERE id = %s", [id])
    connection.execute("SELECT payload FROM events WHERE id = ANY(%s)", [[id]])

    assert isinstance(id, Sno) and id.metabyte == 1, id
    assert abs(datetime.now(timezone.utc) - id.time) < timedelta(minutes=1), id.time
    others = [Sno(bytes(10)), Sno(b"\xff" * 10)]
    connection.cursor().executemany("INSERT INTO events VALUES (%s, 'other')", [[other] for other in others])

    for binary in False, True:
        with connection.cursor(binary=binary) as cursor:
            # %b sends it in binary, %t as text, %s as the driver thinks best.
            for placeholder in "%s", "%t", "%b":
                query = f"SELECT id, id::text, id::bytea, payload FROM events WHERE id = {placeholder}"
                rows = cursor.execute(query, [id]).fetchall()
                assert rows == [(id, str(id), id.raw, "first")], rows
                query = f"SELECT array_agg(id ORDER BY id), NULL::sno FROM events WHERE id = ANY({placeholder})"
                rows = cursor.execute(query, [[*others, id]]).fetchall()
                assert rows == [([others[0], id, others[1]], None)], rows
                assert cursor.execute(f"SELECT {placeholder}", [id]).fetchone()[0] == id
                assert cursor.execute(f"SELECT {placeholder}::sno[]", [[id, None]]).fetchone()[0] == [id, None]

    with connection.cursor() as cursor:
        with cursor.copy("COPY events FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["sno", "text"])
            for number in range(5):
                copy.write_row([Sno(bytes([0, 0, 0, 0, 2, 7, 0, 0, 0, number])), f"old {number}"])

    # A range of time, with times or with bounds.
    since, until = datetime(2010, 1, 1, tzinfo=timezone.utc), datetime(2011, 1, 1, tzinfo=timezone.utc)
    query = "SELECT count(*) FROM events WHERE id >= %s AND id < %s"
    assert connection.execute(query, [since, until]).fetchone() == (6,)
    query = "SELECT count(*) FROM events WHERE id >= sno_lower(%s) AND id < sno_lower(%s)"
    assert connection.execute(query, [since, until]).fetchone() == (6,)

    # Pages: the last ID of one is where the next one starts.
    page = "SELECT id FROM events WHERE id > %s ORDER BY id LIMIT 3"
    seen, last = [], Sno(bytes(10))
    while rows := connection.execute(page, [last]).fetchall():
        last = rows[-1][0]
        seen += [row[0] for row in rows]
    assert len(seen) == 7 and seen == sorted(seen) and seen[-2:] == [id, others[1]], seen
