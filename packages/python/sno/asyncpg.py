"""asyncpg: values of the type sno are `Sno`, in binary."""

from asyncpg import Connection

from sno import Sno


async def register(connection: Connection) -> None:
    """Teaches a connection the type; the `init` of a pool."""
    query = "SELECT nspname FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace WHERE t.oid = 'sno'::regtype"
    await connection.set_type_codec(
        "sno",
        schema=await connection.fetchval(query),
        encoder=lambda id: bytes(Sno(id)),
        decoder=Sno.from_bytes,
        format="binary",
    )
