"""Masks of IDs, as `sno_mask` and `sno_unmask` make them in SQL. It needs the package cryptography."""

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sno import Sno

_ALPHABET = "23456789abcdefghijklmnopqrstuvwx"


def mask(id: str, key: bytes, context: str = "") -> str:
    """The mask of an ID, with a key of 16, 24 or 32 bytes."""
    return _convert(Sno(id), key, context, decrypt=False)


def unmask(masked: str, key: bytes, context: str = "") -> Sno:
    """The ID of a mask. A wrong key, context or mask gives the ID of another row, or of none."""
    return Sno(_convert(Sno(masked), key, context, decrypt=True))


def _convert(text: str, key: bytes, context: str, decrypt: bool) -> str:
    numerals = [_ALPHABET.index(character) for character in text]
    return "".join(_ALPHABET[numeral] for numeral in ff1(numerals, 32, key, context.encode(), decrypt))


def ff1(numerals: list[int], radix: int, key: bytes, tweak: bytes, decrypt: bool = False) -> list[int]:
    """FF1 of NIST SP 800-38G, by the letters of its algorithms 7 and 8."""
    aes = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update

    def num(digits: list[int]) -> int:
        value = 0
        for digit in digits:
            value = value * radix + digit
        return value

    n = len(numerals)
    u = n // 2
    v = n - u
    b = ((radix**v - 1).bit_length() + 7) // 8
    d = 4 * ((b + 3) // 4) + 4
    p = bytes([1, 2, 1]) + radix.to_bytes(3, "big") + bytes([10, u % 256])
    p += n.to_bytes(4, "big") + len(tweak).to_bytes(4, "big")
    left, right = numerals[:u], numerals[u:]
    for i in reversed(range(10)) if decrypt else range(10):
        if decrypt:
            left, right = right, left
        q = tweak + bytes((-len(tweak) - b - 1) % 16) + bytes([i]) + num(right).to_bytes(b, "big")
        r = bytes(16)
        for place in range(0, len(p + q), 16):
            r = aes(bytes(x ^ y for x, y in zip(r, (p + q)[place : place + 16])))
        s = r
        for j in range(1, (d + 15) // 16):
            s += aes(bytes(x ^ y for x, y in zip(r, j.to_bytes(16, "big"))))
        y = int.from_bytes(s[:d], "big")
        m = u if i % 2 == 0 else v
        c = (num(left) + (-y if decrypt else y)) % radix**m
        digits = []
        for _ in range(m):
            c, digit = divmod(c, radix)
            digits.insert(0, digit)
        left, right = (digits, right) if decrypt else (right, digits)
    return left + right
