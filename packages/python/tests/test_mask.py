"""Masks, held to the vectors of the core."""

import csv
import unittest
from importlib.util import find_spec

from test_sno import VECTORS


@unittest.skipUnless(find_spec("cryptography"), "needs the package cryptography")
class MaskTest(unittest.TestCase):
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
