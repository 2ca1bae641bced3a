"""Masks of IDs in Python: what sno_mask and sno_unmask do in SQL. It needs the package cryptography.

Run as a program, it checks itself with the samples of NIST and prints core/tests/vectors/mask.tsv.
"""

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

ALPHABET = "23456789abcdefghijklmnopqrstuvwx"


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


def mask(sno: str, key: bytes, context: str = "", decrypt: bool = False) -> str:
    numerals = [ALPHABET.index(character) for character in sno]
    return "".join(ALPHABET[numeral] for numeral in ff1(numerals, 32, key, context.encode(), decrypt))


def unmask(masked: str, key: bytes, context: str = "") -> str:
    return mask(masked, key, context, decrypt=True)


# The samples of https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values
KEY = "2B7E151628AED2A6ABF7158809CF4F3C", "EF4359D8D580AA4F7F036D6F04FC6A94", "2B7E151628AED2A6ABF7158809CF4F3C"
SAMPLES = [
    (bits, radix, tweak, plain, masked)
    for radix, tweak, plain, answers in [
        (10, "", "0123456789", ["2433477484", "2830668132", "6657667009"]),
        (10, "39383736353433323130", "0123456789", ["6124200773", "2496655549", "1001623463"]),
        (36, "3737373770717273373737", "0123456789abcdefghi", ["a9tv40mll9kdu509eum", "xbj3kv35jrawxv32ysr", "xs8a0azh2avyalyzuwd"]),
    ]
    for bits, masked in zip([128, 192, 256], answers)
]


def main() -> None:
    key = bytes.fromhex("".join(KEY))
    keys = {128: key[:16], 192: key[:24], 256: key[:32]}
    for bits, radix, tweak, plain, masked in SAMPLES:
        numerals = [int(digit, 36) for digit in plain]
        answer = ff1(numerals, radix, keys[bits], bytes.fromhex(tweak))
        assert answer == [int(digit, 36) for digit in masked], (bits, radix, tweak)
        assert ff1(answer, radix, keys[bits], bytes.fromhex(tweak), decrypt=True) == numerals

    print("key", "context", "sno", "masked", sep="\t")
    ids = ["2222222222222222", "2222222222222223", "9q7k4op826n2g222", "9q7k4op826n2g223", "xxxxxxxxxxxxxxxx", "i3bx7wd2h9kq56vt"]
    for key in keys.values():
        # Lengths on both sides of a block's: five bytes of a number and one of a round go with the tweak.
        for context in ["", "a", "orders", "0123456789", "0123456789a", "0123456789abcdef", "日本語", "x" * 100]:
            for sno in ids:
                masked = mask(sno, key, context)
                assert unmask(masked, key, context) == sno
                print(key.hex(), context, sno, masked, sep="\t")


if __name__ == "__main__":
    main()
