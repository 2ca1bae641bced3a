"""A feed that misses nothing: from one horizon to the next, each row once, also those that commit late. With psycopg 3."""

import time

import psycopg


def batch(connection, last):
    """The rows from the last horizon to the present one, which is the next to begin with."""
    # Two statements, each of which sees what was committed before it.
    horizon = connection.execute("SELECT sno_horizon('0.1 s')").fetchone()[0]
    rows = connection.execute(
        "SELECT id, payload FROM events WHERE id >= %s AND id < %s ORDER BY id", [last, horizon]
    ).fetchall()
    return rows, max(last, horizon)


with psycopg.connect(autocommit=True) as reader, psycopg.connect() as late, psycopg.connect(autocommit=True) as early:
    reader.execute("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")
    late.execute("INSERT INTO events (payload) VALUES ('first, commits late')")
    time.sleep(0.01)
    early.execute("INSERT INTO events (payload) VALUES ('second')")
    time.sleep(0.2)

    # Keep the horizon where the results of the rows are, in one transaction with them.
    rows, last = batch(reader, "2222222222222222")
    assert rows == [], rows
    late.commit()
    time.sleep(0.2)
    rows, last = batch(reader, last)
    assert [payload for _, payload in rows] == ["first, commits late", "second"], rows
    rows, last = batch(reader, last)
    assert rows == [], rows
