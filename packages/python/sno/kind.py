"""Kinds of IDs, each with a name and a metabyte, written as `order_9q7k4op826n2g222`."""

import re
from datetime import datetime
from typing import ClassVar, TypeVar

from sno import Sno

__all__ = ["Kind", "WrongKind"]

K = TypeVar("K", bound="Kind")


class WrongKind(ValueError):
    """An ID is of another kind."""


class Kind(Sno):
    """The base of kinds: `class OrderId(Kind, name="order", metabyte=2): pass`. To the database it is a `Sno`."""

    __slots__ = ()
    name: ClassVar[str]
    metabyte: ClassVar[int]

    def __init_subclass__(cls, name: str, metabyte: int) -> None:
        if not re.fullmatch("[a-z]([a-z0-9_]*[a-z0-9])?", name) or not 0 <= metabyte <= 255:
            raise ValueError("a kind has a name of a-z, 0-9 and _, and a metabyte of 0 to 255")
        cls.name, cls.metabyte = name, metabyte

    def __new__(cls: type[K], text: str) -> K:
        """The ID of 16 characters, as the database has it; WrongKind if its metabyte is another one."""
        id = super().__new__(cls, text)
        if (found := id.fields.metabyte) != cls.metabyte:
            raise WrongKind(f"invalid {cls.name}: metabyte is {found} instead of {cls.metabyte}")
        return id

    @classmethod
    def from_bytes(cls: type[K], raw: bytes) -> K:
        return cls(Sno.from_bytes(raw))

    @classmethod
    def make(
        cls: type[K],
        time: datetime,
        metabyte: int | None = None,
        partition: int = 0,
        sequence: int = 0,
        tick_tock: bool = False,
    ) -> K:
        """The ID of these fields, with the metabyte of the kind. It is not generated: nothing makes it unique."""
        return super().make(time, cls.metabyte if metabyte is None else metabyte, partition, sequence, tick_tock)

    @classmethod
    def parse(cls: type[K], text: str) -> K:
        """Reads what `tagged` writes. Any other text is a ValueError, one of another kind WrongKind."""
        name, _, id = text.rpartition("_")
        if name != cls.name:
            raise (WrongKind if name else ValueError)(f"invalid {cls.name}: the text does not begin with {cls.name}_")
        return cls(id)

    def tagged(self) -> str:
        """The name and the ID: what people see."""
        return f"{self.name}_{self}"

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        """As a type of Pydantic and FastAPI it is the tagged text in JSON; in Python also an ID of this kind."""
        from pydantic_core import core_schema

        text = core_schema.str_schema(pattern=f"^{cls.name}_[2-9a-x]{{16}}$")
        read = core_schema.no_info_after_validator_function(cls.parse, text)
        either = core_schema.union_schema([core_schema.is_instance_schema(cls), read])
        write = core_schema.plain_serializer_function_ser_schema(cls.tagged)
        return core_schema.json_or_python_schema(read, either, serialization=write)
