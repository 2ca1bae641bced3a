"""IDs of the PostgreSQL type sno: 16 characters that sort by time."""

import base64
import re
from datetime import date, datetime, timedelta, timezone
from typing import NamedTuple, TypeVar

__all__ = ["Fields", "Sno"]

_EPOCH = datetime(2010, 1, 1, tzinfo=timezone.utc)
_TICK = timedelta(milliseconds=4)
_LAST_TICK = 2**39 - 1
# Five bits a character, as in base32hex, with other characters in the same order.
_TO_TEXT = bytes.maketrans(b"0123456789ABCDEFGHIJKLMNOPQRSTUV", b"23456789abcdefghijklmnopqrstuvwx")
_FROM_TEXT = bytes.maketrans(b"23456789abcdefghijklmnopqrstuvwx", b"0123456789ABCDEFGHIJKLMNOPQRSTUV")

S = TypeVar("S", bound="Sno")


class Fields(NamedTuple):
    """The fields of an ID."""

    time: datetime
    tick_tock: bool
    metabyte: int
    partition: int
    sequence: int


class Sno(str):
    """An ID. It is a `str`, so JSON, URLs, templates and database drivers take it as it is."""

    __slots__ = ()

    def __new__(cls: type[S], text: str) -> S:
        """The ID of a text; ValueError if the text is not 16 characters of 2-9 and a-x."""
        if isinstance(text, cls):
            return text
        if isinstance(text, date):
            raise TypeError("an ID is compared with Sno.lower_bound(time) or Sno.upper_bound(time), not with a time")
        if not isinstance(text, str):
            raise TypeError(f"an ID is a str, not {type(text).__name__}")
        if len(text) != 16:
            raise ValueError(f"invalid sno: length is {len(text)} instead of 16")
        if wrong := re.search("[^2-9a-x]", text):
            raise ValueError(f"invalid sno: character {wrong.start() + 1} is not one of 2-9 and a-x")
        return super().__new__(cls, text)

    @classmethod
    def from_bytes(cls: type[S], raw: bytes) -> S:
        """The ID of ten bytes."""
        if (size := memoryview(raw).nbytes) != 10:
            raise ValueError(f"invalid sno: {size} bytes instead of 10")
        return str.__new__(cls, base64.b32hexencode(raw).translate(_TO_TEXT).decode())

    def __bytes__(self) -> bytes:
        return base64.b32hexdecode(self.encode().translate(_FROM_TEXT))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({super().__repr__()})"

    @classmethod
    def make(
        cls: type[S], time: datetime, metabyte: int = 0, partition: int = 0, sequence: int = 0, tick_tock: bool = False
    ) -> S:
        """The ID of these fields. It is not generated: nothing makes it unique."""
        tick = _ticks(time)
        for name, value, most in [
            ("time", tick, _LAST_TICK),
            ("metabyte", metabyte, 255),
            ("partition", partition, 65535),
            ("sequence", sequence, 65535),
        ]:
            if not 0 <= value <= most:
                raise ValueError(f"{name} out of range")
        number = tick << 41 | bool(tick_tock) << 40 | metabyte << 32 | partition << 16 | sequence
        return cls.from_bytes(number.to_bytes(10, "big"))

    @property
    def fields(self) -> Fields:
        """All fields; the time is that of the start of a tick of 4 ms."""
        number = int.from_bytes(bytes(self), "big")
        return Fields(
            _EPOCH + (number >> 41) * _TICK,
            bool(number >> 40 & 1),
            number >> 32 & 255,
            number >> 16 & 65535,
            number & 65535,
        )

    @property
    def time(self) -> datetime:
        """When the ID was generated, to 4 ms, in UTC."""
        return self.fields.time

    @classmethod
    def lower_bound(cls, time: datetime) -> "Sno":
        """The smallest ID at or after a time: `id >= lower_bound(t)` is `sno_time(id) >= t`."""
        tick = -_ticks(time, -1)
        if tick > _LAST_TICK:
            return Sno("x" * 16)
        return Sno.from_bytes((max(tick, 0) << 41).to_bytes(10, "big"))

    @classmethod
    def upper_bound(cls, time: datetime) -> "Sno":
        """The largest ID at or before a time: `id <= upper_bound(t)` is `sno_time(id) <= t`."""
        tick = _ticks(time)
        if tick < 0:
            return Sno("2" * 16)
        return Sno.from_bytes(((min(tick, _LAST_TICK) + 1 << 41) - 1).to_bytes(10, "big"))

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        """Makes the class a type for Pydantic and FastAPI."""
        from pydantic_core import core_schema

        text = core_schema.str_schema(pattern="^[2-9a-x]{16}$")
        return core_schema.no_info_after_validator_function(cls, text)


def _ticks(time: datetime, sign: int = 1) -> int:
    """Ticks from the epoch to a time, times the sign, rounded down."""
    if not isinstance(time, datetime):
        raise TypeError(f"a datetime is required, not {type(time).__name__}")
    if time.tzinfo is None:
        raise ValueError("the time has no time zone")
    return sign * (time - _EPOCH) // _TICK
