"""IDs and their fields, held to the vectors of the core."""

import copy
import csv
import json
import pickle
import unittest
from datetime import datetime, timedelta, timezone
from importlib.util import find_spec
from pathlib import Path

from sno import Fields, Sno

VECTORS = Path(__file__).parents[3] / "core/tests/vectors"
EPOCH = datetime(2010, 1, 1, tzinfo=timezone.utc)
FIRST, LAST = Sno("2" * 16), Sno("x" * 16)


class SnoTest(unittest.TestCase):
    def test_vectors(self):
        with open(VECTORS / "sno.tsv") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        self.assertEqual(len(rows), 122)
        for row in rows:
            id = Sno(row["text"])
            numbers = [int(row[name]) for name in ("metabyte", "partition", "sequence")]
            time = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=int(row["unix_ns"]) // 1000)
            self.assertEqual(id.fields, Fields(time, row["tick_tock"] == "1", *numbers))
            self.assertEqual(id.time, time)
            self.assertEqual(bytes(id).hex(), row["hex"])
            self.assertEqual(Sno.from_bytes(bytes.fromhex(row["hex"])), id)
            self.assertEqual(Sno.make(time, *numbers, tick_tock=row["tick_tock"] == "1"), id)
        texts = [row["text"] for row in rows]
        self.assertEqual(sorted(texts), sorted(texts, key=lambda text: bytes(Sno(text))))

    def test_a_time_is_no_id_and_a_date_no_time(self):
        with self.assertRaisesRegex(TypeError, "Sno.lower_bound"):
            Sno(EPOCH)
        for wrong in 5, None, b"9q7k4op826n2g222":
            with self.assertRaisesRegex(TypeError, f"^an ID is a str, not {type(wrong).__name__}$"):
                Sno(wrong)
        with self.assertRaisesRegex(TypeError, "a datetime is required, not date"):
            Sno.lower_bound(EPOCH.date())
        with self.assertRaisesRegex(ValueError, "no time zone"):
            Sno.upper_bound(datetime(2026, 1, 1))

    def test_is_a_string(self):
        id = Sno("9q7k4op826n2g222")
        self.assertEqual((json.dumps({"id": id}), f"/{id}"), ('{"id": "9q7k4op826n2g222"}', "/9q7k4op826n2g222"))
        self.assertEqual((repr(id), {id: 1}[str(id)]), ("Sno('9q7k4op826n2g222')", 1))
        for other in copy.deepcopy(id), pickle.loads(pickle.dumps(id)), Sno(id):
            self.assertIs(type(other), Sno)
            self.assertEqual(other, id)

    def test_what_is_no_id(self):
        for text, reason in [
            ("", "length is 0 instead of 16"),
            ("9q7k4op826n2g22", "length is 15 instead of 16"),
            ("9q7k4op826n2g222\n", "length is 17 instead of 16"),
            ("9Q7k4op826n2g222", "character 2 is not one of 2-9 and a-x"),
            ("9q7k4op826n2g22y", "character 16 is not one of 2-9 and a-x"),
            ("9q7k4op826n2g22\n", "character 16 is not one of 2-9 and a-x"),
            ("9q7k4op826n2g22２", "character 16 is not one of 2-9 and a-x"),
        ]:
            with self.assertRaisesRegex(ValueError, f"^invalid sno: {reason}$"):
                Sno(text)
        for raw in bytes(9), memoryview(bytes(20)).cast("H"):
            with self.assertRaisesRegex(ValueError, f"^invalid sno: {memoryview(raw).nbytes} bytes instead of 10$"):
                Sno.from_bytes(raw)
        with self.assertRaises(TypeError):
            Sno.from_bytes("0123456789")
        now = datetime.now(timezone.utc)
        for wrong in [(EPOCH - timedelta(microseconds=1),), (now, 256), (now, -1), (now, 0, 65536), (now, 0, 0, 65536)]:
            with self.assertRaises(ValueError):
                Sno.make(*wrong)
        self.assertEqual(Sno.make(now, tick_tock=2), Sno.make(now, tick_tock=True))
        with self.assertRaises(ValueError):
            Sno.lower_bound(datetime.now())

    def test_bounds(self):
        tick, micro = timedelta(milliseconds=4), timedelta(microseconds=1)
        time = datetime(2026, 11, 21, 9, 30, 15, 372000, timezone.utc)
        self.assertEqual(Sno.lower_bound(time), "9q7k4op822222222")
        self.assertEqual(Sno.lower_bound(time.astimezone(timezone(timedelta(hours=2)))), "9q7k4op822222222")
        self.assertEqual(Sno.lower_bound(time + micro), Sno.lower_bound(time + tick))
        self.assertLess(Sno.lower_bound(time), Sno.lower_bound(time + micro))
        self.assertEqual(Sno.upper_bound(time), "9q7k4op9xxxxxxxx")
        self.assertEqual(Sno.upper_bound(time + tick - micro), Sno.upper_bound(time))
        self.assertEqual(Sno.upper_bound(time - micro), Sno.upper_bound(time - tick))
        for before in EPOCH - micro, datetime.min.replace(tzinfo=timezone.utc):
            self.assertEqual((Sno.lower_bound(before), Sno.upper_bound(before)), (FIRST, FIRST))
        self.assertEqual((Sno.lower_bound(EPOCH), Sno.upper_bound(LAST.time)), (FIRST, LAST))
        self.assertEqual(Sno.lower_bound(LAST.time), "xxxxxxxw22222222")
        for after in LAST.time + micro, datetime.max.replace(tzinfo=timezone.utc):
            self.assertEqual((Sno.lower_bound(after), Sno.upper_bound(after)), (LAST, LAST))

    @unittest.skipUnless(find_spec("pydantic"), "needs the package pydantic")
    def test_pydantic(self):
        from pydantic import TypeAdapter, ValidationError

        adapter = TypeAdapter(Sno)
        id = adapter.validate_json('"9q7k4op826n2g222"')
        self.assertIs(type(id), Sno)
        self.assertEqual(adapter.dump_json(id), b'"9q7k4op826n2g222"')
        self.assertEqual(adapter.json_schema(), {"type": "string", "pattern": "^[2-9a-x]{16}$"})
        for wrong in '"9q7k4op826n2g22y"', '"short"', "5":
            with self.assertRaises(ValidationError):
                adapter.validate_json(wrong)


if __name__ == "__main__":
    unittest.main()
