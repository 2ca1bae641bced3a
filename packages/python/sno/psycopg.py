"""psycopg 3: results of the type sno are `Sno`, in text, in binary and in arrays."""

from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
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


def register(connection: Connection[Any]) -> None:
    """Teaches a connection the type; the `configure` of a pool. The type's OID is another one in each database."""
    _register(TypeInfo.fetch(connection, "sno"), connection)


async def register_async(connection: AsyncConnection[Any]) -> None:
    """Teaches the type to an asynchronous connection; the `configure` of an asynchronous pool."""
    _register(await TypeInfo.fetch(connection, "sno"), connection)


def _register(info, connection):
    if info is None:
        raise LookupError("the database has no type sno in its search path")
    info.register(connection)
    for dumper in _Dumper, _BinaryDumper:
        connection.adapters.register_dumper(Sno, type(dumper.__name__, (dumper,), {"oid": info.oid}))
    for loader in _Loader, _BinaryLoader:
        connection.adapters.register_loader(info.oid, loader)
