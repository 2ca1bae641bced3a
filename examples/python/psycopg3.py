"""psycopg 3 with IDs as values of a class, in text and in binary."""

from datetime import datetime, timedelta, timezone

import psycopg

import sno.psycopg
from sno import Sno

with psycopg.connect(autocommit=True) as connection:
    connection.execute("CREATE DOMAIN event_id AS sno CHECK (sno_metabyte(VALUE) = 1)")
    sno.psycopg.register(connection)
    connection.execute("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")

    id = connection.execute("INSERT INTO events (payload) VALUES (%s) RETURNING id", ["first"]).fetchone()[0]
    connection.execute("SELECT payload FROM events WHERE id = %s", [id])
    connection.execute("SELECT payload FROM events WHERE id = ANY(%s)", [[id]])
    hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
    recent = connection.execute("SELECT id FROM events WHERE id >= %s", [Sno.lower_bound(hour_ago)]).fetchall()

    assert recent == [(id,)], recent
    assert isinstance(id, Sno) and id.fields.metabyte == 1, id
    assert abs(datetime.now(timezone.utc) - id.time) < timedelta(minutes=1), id.time
    others = [Sno("2" * 16), Sno("x" * 16)]
    connection.cursor().executemany("INSERT INTO events VALUES (%s, 'other')", [[other] for other in others])

    for binary in False, True:
        with connection.cursor(binary=binary) as cursor:
            # %b sends it in binary, %t as text, %s as the driver thinks best.
            for placeholder in "%s", "%t", "%b":
                query = f"SELECT id, id::text, id::bytea, payload FROM events WHERE id = {placeholder}"
                rows = cursor.execute(query, [id]).fetchall()
                assert rows == [(id, str(id), bytes(id), "first")], rows
                query = f"SELECT array_agg(id ORDER BY id), NULL::sno FROM events WHERE id = ANY({placeholder})"
                rows = cursor.execute(query, [[*others, id]]).fetchall()
                assert rows == [([others[0], id, others[1]], None)], rows
                assert cursor.execute(f"SELECT {placeholder}", [id]).fetchone()[0] == id
                assert cursor.execute(f"SELECT {placeholder}::sno[]", [[id, None]]).fetchone()[0] == [id, None]

    # A kind's domain, and arrays of it.
    connection.execute("CREATE TABLE kinds (id event_id PRIMARY KEY, others event_id[], plain sno[])")
    connection.execute("INSERT INTO kinds VALUES (%s, %s, %s)", [id, [id, None], [id, None]])
    for binary in False, True:
        row = connection.execute("SELECT * FROM kinds WHERE id = %s", [id], binary=binary).fetchone()
        assert row == (id, [id, None], [id, None]) and isinstance(row[1][0], Sno), row

    old = datetime(2010, 1, 2, tzinfo=timezone.utc)
    with connection.cursor() as cursor:
        with cursor.copy("COPY events FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["sno", "text"])
            for number in range(5):
                copy.write_row([Sno.make(old, sequence=number), f"old {number}"])

    # A range of time, with times or with bounds.
    since, until = datetime(2010, 1, 1, tzinfo=timezone.utc), datetime(2011, 1, 1, tzinfo=timezone.utc)
    query = "SELECT count(*) FROM events WHERE id >= %s AND id < %s"
    assert connection.execute(query, [since, until]).fetchone() == (6,)
    query = "SELECT count(*) FROM events WHERE id >= sno_lower(%s) AND id < sno_lower(%s)"
    assert connection.execute(query, [since, until]).fetchone() == (6,)
