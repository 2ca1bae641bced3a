"""IDs of the type sno in Python: ten bytes that sort by time, written as 16 characters."""

import base64
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

# Five bits a character, as in base32hex, with other characters in the same order.
TO_TEXT = bytes.maketrans(b"0123456789ABCDEFGHIJKLMNOPQRSTUV", b"23456789abcdefghijklmnopqrstuvwx")
FROM_TEXT = bytes.maketrans(b"23456789abcdefghijklmnopqrstuvwx", b"0123456789ABCDEFGHIJKLMNOPQRSTUV")


@dataclass(frozen=True, order=True)
class Sno:
    raw: bytes

    def __post_init__(self):
        if len(self.raw) != 10:
            raise ValueError(f"a sno is 10 bytes long, not {len(self.raw)}")

    @classmethod
    def parse(cls, text):
        if not re.fullmatch("[2-9a-x]{16}", text):
            raise ValueError(f"invalid sno: {text!r}")
        return cls(base64.b32hexdecode(text.encode().translate(FROM_TEXT)))

    def __str__(self):
        return base64.b32hexencode(self.raw).translate(TO_TEXT).decode()

    def __bytes__(self):
        return self.raw

    @property
    def time(self):
        ticks = int.from_bytes(self.raw[:5], "big") >> 1
        return datetime(2010, 1, 1, tzinfo=timezone.utc) + ticks * timedelta(milliseconds=4)

    @property
    def metabyte(self):
        return self.raw[5]
