"""SQLAlchemy 2: the type of a column, and of the elements of `postgresql.ARRAY(SnoType())`."""

from sqlalchemy import Engine, event
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.types import UserDefinedType

from sno import Sno


class SnoType(UserDefinedType[Sno]):
    """A column of the type sno, whose values are `Sno`, or of a kind: `SnoType(OrderId)`."""

    cache_ok = True

    def __init__(self, kind: type[Sno] = Sno):
        self.kind = kind

    def get_col_spec(self, **kw):
        return "sno"

    @property
    def python_type(self):
        return self.kind

    def __repr__(self):
        # As Alembic writes it: a migration needs no kind.
        return "SnoType()"

    def _checked(self, id):
        # A plain Sno is also a bound or a position, which has no kind.
        return id if id is None or type(id) is Sno else self.kind(id)

    def bind_processor(self, dialect):
        return self._checked

    def literal_processor(self, dialect):
        return lambda id: f"'{self._checked(id)}'"

    def result_processor(self, dialect, coltype):
        return lambda id: None if id is None else self.kind(id)


@event.listens_for(Engine, "connect")
def _register_arrays(connection, record):
    # Without it, psycopg returns an array of IDs as a str.
    driver = type(connection.driver_connection if hasattr(connection, "driver_connection") else connection)
    if driver.__module__.partition(".")[0] == "psycopg":
        from sno.psycopg import register_arrays, register_arrays_async

        if hasattr(connection, "run_async"):
            connection.run_async(register_arrays_async)
        else:
            register_arrays(connection)


# What is reflected from a database.
ischema_names["sno"] = SnoType
