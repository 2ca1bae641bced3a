"""SQLAlchemy 2, with psycopg 3."""

from datetime import datetime, timedelta, timezone

from alembic.autogenerate import produce_migrations, render_python_code
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Column, MetaData, Table, create_engine, func, inspect, select, text
from sqlalchemy.dialects.postgresql import ARRAY, array_agg
from sqlalchemy.exc import StatementError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from sno import Sno
from sno.sqlalchemy import SnoType


class Base(DeclarativeBase):
    type_annotation_map = {Sno: SnoType}


class Event(Base):
    __tablename__ = "events"
    id: Mapped[Sno] = mapped_column(primary_key=True, server_default=text("sno_new(1)"))
    payload: Mapped[str | None]
    others: Mapped[list[Sno] | None] = mapped_column(ARRAY(SnoType()))


# The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
engine = create_engine("postgresql+psycopg://")
Base.metadata.create_all(engine)

with Session(engine) as session:
    first = Event(payload="first")
    session.add(first)
    session.commit()
    key, last = str(first.id), first.id
    hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)

    event = Event(payload="second")
    session.add(event)
    session.commit()
    found = session.get(Event, Sno(key))
    recent = select(Event).where(Event.id >= Sno.lower_bound(hour_ago)).order_by(Event.id)
    page = select(Event).where(Event.id > last).order_by(Event.id).limit(50)

    assert found is first and session.get(Event, Sno("x" * 16)) is None
    id = event.id
    assert isinstance(id, Sno) and id.fields.metabyte == 1, id
    assert abs(datetime.now(timezone.utc) - id.time) < timedelta(minutes=1), id.time

    old = [Sno.make(datetime(2010, 1, 2, tzinfo=timezone.utc), sequence=number) for number in range(5)]
    session.add_all(Event(id=each, payload="old") for each in old)
    session.commit()
    session.expunge_all()

    assert session.get(Event, id).payload == "second"
    some = session.scalars(select(Event.id).where(Event.id.in_([id, old[0]])).order_by(Event.id)).all()
    assert some == [old[0], id], some
    assert session.scalar(select(func.min(Event.id, type_=SnoType))) == old[0]

    assert [event.id for event in session.scalars(recent)] == [key, id]
    assert [event.id for event in session.scalars(page)] == [id]

    # Arrays of IDs; a kind's domain, and arrays of it.
    session.get(Event, id).others = [id, Sno(key)]
    session.commit()
    session.expunge_all()
    assert session.get(Event, id).others == [id, key] and isinstance(session.get(Event, id).others[0], Sno)
    assert session.scalars(select(Event.id).where(Event.others.contains([id]))).all() == [id]
    assert session.scalar(select(array_agg(Event.id)).where(Event.id == id)) == [id]

    # What is no ID is an error before the server is asked.
    for query in lambda: Sno("garbage"), lambda: session.get(Event, id.upper()):
        try:
            query()
            raise AssertionError("an invalid ID was taken")
        except (ValueError, StatementError):
            pass

# Reflection.
metadata = MetaData()
metadata.reflect(engine)
assert isinstance(metadata.tables["events"].c.id.type, SnoType), metadata.tables

# A kind's domain, and arrays of it: in tables that SQL has created.
with engine.begin() as connection:
    connection.execute(text("CREATE DOMAIN event_id AS sno CHECK (sno_metabyte(VALUE) = 1)"))
    connection.execute(text("CREATE TABLE kinds (id event_id PRIMARY KEY, others event_id[])"))
engine.dispose()
kinds = Table("kinds", MetaData(), Column("id", SnoType(), primary_key=True), Column("others", ARRAY(SnoType())))
with engine.begin() as connection:
    connection.execute(kinds.insert().values(id=id, others=[id]))
    assert connection.execute(select(kinds)).all() == [(id, [id])]

# Alembic: a migration that it writes runs, with the imports that script.py.mako needs.
template = """
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from alembic import op
import sno.sqlalchemy
from sno.sqlalchemy import SnoType

def upgrade():
    """
metadata = MetaData()
Table("migrated", metadata, Column("id", SnoType(), primary_key=True), Column("others", ARRAY(SnoType())))
with engine.begin() as connection:
    options = {"include_name": lambda name, kind, parents: kind != "table" or name == "migrated"}
    context = MigrationContext.configure(connection, opts=options)
    names: dict = {}
    exec(template + render_python_code(produce_migrations(context, metadata).upgrade_ops), names)
    with Operations.context(context):
        names["upgrade"]()
    columns = {column["name"]: column["type"] for column in inspect(connection).get_columns("migrated")}
assert isinstance(columns["id"], SnoType) and isinstance(columns["others"].item_type, SnoType), columns
