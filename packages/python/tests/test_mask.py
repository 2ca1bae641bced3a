"""Masks: FF1 held to the samples of the standard, masks to the vectors of the core."""

import csv
import unittest
from importlib.util import find_spec

from test_sno import VECTORS

# The samples of https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values
KEY = bytes.fromhex("2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A942B7E151628AED2A6ABF7158809CF4F3C")
SAMPLES = [
    (10, "", "0123456789", ["2433477484", "2830668132", "6657667009"]),
    (10, "39383736353433323130", "0123456789", ["6124200773", "2496655549", "1001623463"]),
    (36, "3737373770717273373737", "0123456789abcdefghi", ["a9tv40mll9kdu509eum", "xbj3kv35jrawxv32ysr", "xs8a0azh2avyalyzuwd"]),
]


@unittest.skipUnless(find_spec("cryptography"), "needs the package cryptography")
class MaskTest(unittest.TestCase):
    def test_samples_of_the_standard(self):
        from sno.mask import ff1

        for radix, tweak, plain, answers in SAMPLES:
            for size, answer in zip([16, 24, 32], answers):
                plain_numerals, masked = ([int(digit, 36) for digit in text] for text in (plain, answer))
                arguments = radix, KEY[:size], bytes.fromhex(tweak)
                self.assertEqual(ff1(plain_numerals, *arguments), masked)
                self.assertEqual(ff1(masked, *arguments, decrypt=True), plain_numerals)

    def test_vectors(self):
        from sno.mask import mask, unmask

        with open(VECTORS / "mask.tsv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        self.assertEqual(len(rows), 144)
        for row in rows:
            key = bytes.fromhex(row["key"])
            self.assertEqual(mask(row["sno"], key, row["context"]), row["masked"])
            self.assertEqual(unmask(row["masked"], key, row["context"]), row["sno"])


if __name__ == "__main__":
    unittest.main()
