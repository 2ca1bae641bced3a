"""psycopg 3 without any preparation: IDs are strings."""

from datetime import datetime, timedelta, timezone

import psycopg

# The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
with psycopg.connect(autocommit=True) as connection:
    connection.execute("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")

    id = connection.execute("INSERT INTO events (payload) VALUES (%s) RETURNING id", ["first"]).fetchone()[0]
    connection.execute("SELECT payload FROM events WHERE id = %s", [id])
    connection.execute("SELECT payload FROM events WHERE id = ANY(%s)", [[id]])

    assert isinstance(id, str) and len(id) == 16, id
    for query, parameter in [("id = %s", id), ("id = ANY(%s)", [id, "2222222222222222"])]:
        rows = connection.execute(f"SELECT payload FROM events WHERE {query}", [parameter]).fetchall()
        assert rows == [("first",)], rows

    # In binary, the ten bytes; sent back, they need a cast, since bytes are a bytea.
    raw = connection.execute("SELECT id FROM events", binary=True).fetchone()[0]
    assert isinstance(raw, bytes) and len(raw) == 10, raw
    rows = connection.execute("SELECT id FROM events WHERE id = %s::sno", [raw]).fetchall()
    assert rows == [(id,)], rows
    # Without a cast an array is received as a string.
    array = connection.execute("SELECT array_agg(id) FROM events").fetchone()[0]
    assert array == "{" + id + "}", array
    array = connection.execute("SELECT array_agg(id)::text[] FROM events").fetchone()[0]
    assert array == [id], array

    # A kind's domain, and arrays of it.
    connection.execute("CREATE DOMAIN event_id AS sno CHECK (sno_metabyte(VALUE) = 1)")
    connection.execute("CREATE TABLE kinds (id event_id PRIMARY KEY, others event_id[], plain sno[])")
    connection.execute("INSERT INTO kinds VALUES (%s, %s, %s)", [id, [id], [id]])
    row = connection.execute("SELECT id, others::text[], plain::text[] FROM kinds WHERE id = %s", [id]).fetchone()
    assert row == (id, [id], [id]), row

    # A datetime is sent as a timestamptz, and needs no cast.
    hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
    rows = connection.execute("SELECT id FROM events WHERE id >= %s", [hour_ago]).fetchall()
    assert rows == [(id,)], rows

    try:
        connection.execute("SELECT id FROM events WHERE id = %s", ["9Q7K4OP826N2G222"])
        raise AssertionError("an invalid ID was taken")
    except psycopg.errors.InvalidTextRepresentation:
        pass
