"""Tests of an application with pytest and SQLAlchemy 2: rows of any time, tests that roll back, and a consumer of a feed."""

import sys
import threading
from datetime import datetime, timezone

import psycopg
import pytest
from sqlalchemy import create_engine, func, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, column_property, mapped_column

from sno import Sno
from sno.consumer import consume
from sno.sqlalchemy import SnoType


class Base(DeclarativeBase):
    type_annotation_map = {Sno: SnoType}


class Event(Base):
    __tablename__ = "events"
    id: Mapped[Sno] = mapped_column(primary_key=True, server_default=text("sno_new(1)"))
    payload: Mapped[str]
    created_at: Mapped[datetime] = column_property(func.sno_time(id))


# The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
engine = create_engine("postgresql+psycopg://")


@pytest.fixture(scope="session", autouse=True)
def tables():
    Base.metadata.create_all(engine)
    # In an application, a migration has created it.
    with engine.begin() as connection:
        connection.execute(text("SELECT sno_create_feed('export', 'events')"))


@pytest.fixture
def session():
    """What a test writes is rolled back, its commits too; the IDs are used up."""
    with engine.connect() as connection, Session(connection, join_transaction_mode="create_savepoint") as session:
        transaction = connection.begin()
        yield session
        transaction.rollback()


def test_an_event_of_last_year(session):
    at = datetime(2025, 1, 1, tzinfo=timezone.utc)
    session.add_all([Event(id=Sno.make(at, metabyte=1), payload="old"), Event(payload="new")])
    session.commit()
    old = session.scalars(select(Event).where(Event.created_at < datetime(2026, 1, 1, tzinfo=timezone.utc))).one()
    assert (old.payload, old.created_at) == ("old", at)


def test_each_event_once():
    # A feed returns rows that are committed.
    with Session(engine) as session:
        session.add_all([Event(payload=str(number)) for number in range(3)])
        session.commit()
        # The horizon is at the last event now, so that the test does not wait for the margin.
        session.execute(text("SELECT sno_horizon('0') FROM pg_sleep(0.01)"))
    done, stop = [], threading.Event()

    def handle(rows, connection):
        done.extend(row[1] for row in rows)
        stop.set()

    consume(psycopg.connect, "export", "events", handle, batches=True, stop=stop)
    assert sorted(done) == ["0", "1", "2"]


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
