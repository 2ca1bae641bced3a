"""Masks of IDs, as `sno_mask` and `sno_unmask` make them in SQL. It needs the package cryptography."""

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sno import Sno

_HALF = 2**40


def mask(id: str, key: bytes, context: str = "") -> str:
    """The mask of an ID, with a key of 16, 24 or 32 bytes."""
    left, right = divmod(int.from_bytes(bytes(Sno(id)), "big"), _HALF)
    for number in range(10):
        left, right = right, (left + _round(number, right, key, context)) % _HALF
    return str(Sno.from_bytes((left * _HALF + right).to_bytes(10, "big")))


def unmask(masked: str, key: bytes, context: str = "") -> Sno:
    """The ID of a mask. A wrong key, context or mask gives the ID of another row, or of none."""
    left, right = divmod(int.from_bytes(bytes(Sno(masked)), "big"), _HALF)
    for number in reversed(range(10)):
        left, right = (right - _round(number, left, key, context)) % _HALF, left
    return Sno.from_bytes((left * _HALF + right).to_bytes(10, "big"))


def _round(number: int, half: int, key: bytes, context: str) -> int:
    """A round of FF1 (NIST SP 800-38G) with radix 32 and 16 numerals, so that each half is five bytes."""
    tweak = context.encode()
    head = bytes([1, 2, 1, 0, 0, 32, 10, 8, 0, 0, 0, 16]) + len(tweak).to_bytes(4, "big")
    zeros = bytes((-len(tweak) - 6) % 16)
    blocks = head + tweak + zeros + bytes([number]) + half.to_bytes(5, "big")
    encrypted = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor().update(blocks)
    # The number is the first 12 bytes of the last block.
    return int.from_bytes(encrypted[-16:-4], "big")
