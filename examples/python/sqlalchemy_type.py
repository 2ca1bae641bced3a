"""SQLAlchemy, 1.4 and later, with psycopg 2 or 3."""

import sys
from datetime import datetime, timedelta, timezone

from sqlalchemy import Column, Text, create_engine, func, select, text
from sqlalchemy.orm import Session, declarative_base
from sqlalchemy.types import UserDefinedType

from sno import Sno


class SnoType(UserDefinedType):
    cache_ok = True

    def get_col_spec(self, **kw):
        return "sno"

    def bind_processor(self, dialect):
        return lambda id: None if id is None else str(id)

    def result_processor(self, dialect, coltype):
        return lambda id: None if id is None else Sno.parse(id)


Base = declarative_base()


class Event(Base):
    __tablename__ = "events"
    id = Column(SnoType, primary_key=True, server_default=text("sno_new(1)"))
    payload = Column(Text)


# The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
engine = create_engine(sys.argv[1] if len(sys.argv) > 1 else "postgresql+psycopg2://")
Base.metadata.create_all(engine)

with Session(engine) as session:
    event = Event(payload="first")
    session.add(event)
    session.commit()

    id = event.id
    assert isinstance(id, Sno) and id.metabyte == 1, id
    assert abs(datetime.now(timezone.utc) - id.time) < timedelta(minutes=1), id.time

    old = [Sno(bytes([0, 0, 0, 0, 2, 7, 0, 0, 0, number])) for number in range(5)]
    session.add_all(Event(id=each, payload="old") for each in old)
    session.commit()
    session.expunge_all()

    assert session.get(Event, id).payload == "first"
    found = session.scalars(select(Event.id).where(Event.id.in_([id, old[0]])).order_by(Event.id)).all()
    assert found == [old[0], id], found
    assert session.scalar(select(func.min(Event.id, type_=SnoType))) == old[0]

    # A range of time.
    hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
    recent = select(Event).where(Event.id >= func.sno_lower(hour_ago)).order_by(Event.id)

    assert [event.id for event in session.scalars(recent)] == [id]

    # Pages: the last ID of one is where the next one starts.
    def page_after(last):
        return session.scalars(select(Event).where(Event.id > last).order_by(Event.id).limit(4)).all()

    seen, last = [], Sno(bytes(10))
    while page := page_after(last):
        last = page[-1].id
        seen += [event.id for event in page]
    assert seen == [*old, id], seen
