"""What register teaches psycopg, without a server. The driver itself: examples/python/psycopg3.py."""

import unittest
from importlib.util import find_spec

from sno import Sno


@unittest.skipUnless(find_spec("psycopg"), "needs the package psycopg")
class PsycopgTest(unittest.TestCase):
    def test_texts_bytes_and_arrays(self):
        from psycopg import postgres
        from psycopg.adapt import AdaptersMap, Transformer
        from psycopg.pq import Format
        from psycopg.types import TypeInfo
        from sno.psycopg import _register

        class Context:
            connection, adapters = None, AdaptersMap(postgres.adapters)

        _register([TypeInfo("sno", 101, 102), TypeInfo("order_id", 103, 104)], Context)
        values = Transformer(Context)
        id = Sno("9q7k4op826n2g222")
        for oid, text, expected in [(101, str(id), id), (102, f"{{{id},NULL}}", [id, None]), (104, f"{{{id}}}", [id])]:
            found = values.get_loader(oid, Format.TEXT).load(text.encode())
            self.assertEqual((found, type(found)), (expected, type(expected)))
        self.assertIs(type(values.get_loader(101, Format.BINARY).load(bytes(id))), Sno)


if __name__ == "__main__":
    unittest.main()
