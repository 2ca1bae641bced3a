"""What type checkers make of the package: mypy. It is checked, not run."""

from datetime import datetime, timezone
from threading import Event

from psycopg import Connection, connect

from sno import Sno
from sno.consumer import consume
from sno.kind import Kind


class OrderId(Kind, name="order", metabyte=2):
    pass


class UserId(Kind, name="user", metabyte=3):
    pass


def show(id: OrderId) -> str:
    return id.tagged()


parsed: OrderId = OrderId.parse("order_9q7k4op82an2g222")
of_database: OrderId = OrderId("9q7k4op82an2g222")
of_bytes: OrderId = OrderId.from_bytes(bytes(of_database))
made: OrderId = OrderId.make(datetime.now(timezone.utc))
any_kind: Sno = parsed
bound: Sno = OrderId.lower_bound(datetime.now(timezone.utc))
show(parsed)
show(Sno("9q7k4op82an2g222"))  # type: ignore[arg-type]
show(UserId("9q7k4op82en2g222"))  # type: ignore[arg-type]
show("9q7k4op82an2g222")  # type: ignore[arg-type]


def bill(order: tuple[str], connection: "Connection[tuple[str]]") -> None:
    connection.execute("INSERT INTO invoices VALUES (%s)", order)


def run() -> None:
    consume(connect, "billing", "orders", bill, stop=Event(), batch_size=5)
    consume(connect, "billing", "orders", bill, stop=5)  # type: ignore[arg-type]
    consume(connect, "billing", "orders", show)  # type: ignore[arg-type]
