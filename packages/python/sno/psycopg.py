"""psycopg 3: results of the type sno are `Sno`, in text, in binary and in arrays, as are those of domains over it."""

from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.rows import tuple_row
from psycopg.types import TypeInfo

from sno import Sno


class _Dumper(Dumper):
    def dump(self, obj):
        return obj.encode()


class _BinaryDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj):
        return bytes(obj)


class _Loader(Loader):
    def load(self, data):
        return Sno(bytes(data).decode())


class _BinaryLoader(Loader):
    format = Format.BINARY

    def load(self, data):
        return Sno.from_bytes(bytes(data))


# The type and the domains over it, each with its array. Their OIDs are other ones in each database.
_TYPES = "SELECT oid::regtype::text, oid, typarray FROM pg_type WHERE to_regtype('sno') IN (oid, typbasetype) ORDER BY typbasetype"


def register(connection: Connection[Any]) -> None:
    """Teaches a connection the type; the `configure` of a pool."""
    _register(_fetch(connection), connection)


async def register_async(connection: AsyncConnection[Any]) -> None:
    """Teaches the type to an asynchronous connection; the `configure` of an asynchronous pool."""
    _register(await _fetch_async(connection), connection)


def register_arrays(connection: Connection[Any]) -> None:
    """Teaches a connection to read arrays of IDs as lists of `str`, and nothing else: for ORMs, whose fields convert the IDs."""
    for info in _fetch(connection):
        info.register(connection)


async def register_arrays_async(connection: AsyncConnection[Any]) -> None:
    """`register_arrays` of an asynchronous connection."""
    for info in await _fetch_async(connection):
        info.register(connection)


def _fetch(connection):
    with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
        return [TypeInfo(*row) for row in cursor.execute(_TYPES).fetchall()]


async def _fetch_async(connection):
    async with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(_TYPES)
        return [TypeInfo(*row) for row in await cursor.fetchall()]


def _register(types, connection):
    if not types:
        raise LookupError("the database has no type sno in its search path")
    for info in types:
        info.register(connection)
    info = types[0]
    for dumper in _Dumper, _BinaryDumper:
        connection.adapters.register_dumper(Sno, type(dumper.__name__, (dumper,), {"oid": info.oid}))
    for loader in _Loader, _BinaryLoader:
        for info in types:
            connection.adapters.register_loader(info.oid, loader)
