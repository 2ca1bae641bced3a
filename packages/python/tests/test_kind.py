"""Kinds: names, metabytes, and what other packages make of them."""

import copy
import pickle
import unittest
from importlib.util import find_spec

from sno import Sno
from sno.kind import Kind, WrongKind


class EventId(Kind, name="event", metabyte=1):
    pass


class OrderId(Kind, name="order", metabyte=2):
    pass


PLAIN = "9q7k4op826n2g222"


class KindTest(unittest.TestCase):
    def test_there_and_back(self):
        id = EventId(PLAIN)
        self.assertEqual((id, str(id), id.tagged()), (Sno(PLAIN), PLAIN, f"event_{PLAIN}"))
        for other in EventId.parse(id.tagged()), EventId.from_bytes(bytes(id)), pickle.loads(pickle.dumps(id)), copy.copy(id):
            self.assertIs(type(other), EventId)
            self.assertEqual(other, id)
        self.assertIs(type(EventId.lower_bound(id.time)), Sno)
        self.assertIs(type(EventId.make(id.time, partition=10759)), EventId)
        self.assertEqual(EventId.make(id.time, partition=10759), id)

    def test_another_kind(self):
        order = OrderId.make(EventId(PLAIN).time, 2)
        for wrong in (
            lambda: EventId.parse(order.tagged()),
            lambda: EventId.parse(f"event_{order}"),
            lambda: EventId.parse(f"order_{PLAIN}"),
            lambda: EventId(order),
            lambda: EventId.from_bytes(bytes(order)),
            lambda: EventId.make(order.time, 2),
        ):
            self.assertRaises(WrongKind, wrong)
        with self.assertRaisesRegex(WrongKind, "^invalid event: metabyte is 2 instead of 1$"):
            EventId(order)
        with self.assertRaisesRegex(WrongKind, "^invalid event: the text does not begin with event_$"):
            EventId.parse(order.tagged())

    def test_what_is_no_id(self):
        for text in "", PLAIN, "event", "event_", f"_{PLAIN}", f"event_{PLAIN} ", f"event_{PLAIN.upper()}", "event_" + "x" * 15:
            with self.assertRaises(ValueError) as caught:
                EventId.parse(text)
            self.assertIs(caught.exception.__class__, ValueError, text)

    def test_what_is_no_kind(self):
        for name, metabyte in [("", 1), ("Order", 1), ("1st", 1), ("order_", 1), ("order", 256), ("order", -1)]:
            with self.assertRaises(ValueError):
                type("Wrong", (Kind,), {}, name=name, metabyte=metabyte)

    @unittest.skipUnless(find_spec("pydantic"), "needs the package pydantic")
    def test_pydantic(self):
        from pydantic import TypeAdapter, ValidationError

        adapter = TypeAdapter(EventId)
        id = adapter.validate_json(f'"event_{PLAIN}"')
        self.assertIs(type(id), EventId)
        self.assertEqual(adapter.dump_json(id), f'"event_{PLAIN}"'.encode())
        self.assertEqual(adapter.json_schema(), {"type": "string", "pattern": "^event_[2-9a-x]{16}$"})
        for wrong in f'"{PLAIN}"', f'"order_{PLAIN}"', '"event_9q7k4op82an2g222"', "5":
            with self.assertRaises(ValidationError):
                adapter.validate_json(wrong)
        # What a database has returned.
        self.assertIs(adapter.validate_python(id), id)
        self.assertEqual(adapter.dump_python(id), f"event_{PLAIN}")
        self.assertRaises(ValidationError, adapter.validate_python, PLAIN)

    @unittest.skipUnless(find_spec("sqlalchemy"), "needs the package sqlalchemy")
    def test_sqlalchemy(self):
        from sno.sqlalchemy import SnoType

        column = SnoType(EventId)
        self.assertIs(type(column.result_processor(None, None)(PLAIN)), EventId)
        self.assertIs(column.python_type, EventId)
        self.assertRaises(WrongKind, column.bind_processor(None), OrderId.make(EventId(PLAIN).time, 2))
        # The bound of a range has no kind.
        upper = EventId.upper_bound(EventId(PLAIN).time)
        self.assertIs(column.bind_processor(None)(upper), upper)
        self.assertEqual(column.literal_processor(None)(upper), f"'{upper}'")
        self.assertEqual(repr(column), "SnoType()")

    @unittest.skipUnless(find_spec("django"), "needs the package django")
    def test_django(self):
        from django.conf import settings

        if not settings.configured:
            settings.configure()
        from sno.django import SnoField, kind_converter

        field = SnoField(kind=EventId, primary_key=True)
        _, _, args, options = field.clone().deconstruct()
        self.assertEqual((args, options), ([], {"kind": EventId, "primary_key": True}))
        self.assertIs(type(field.from_db_value(PLAIN, None, None)), EventId)
        self.assertRaises(WrongKind, field.get_prep_value, OrderId.make(EventId(PLAIN).time, 2))
        upper = EventId.upper_bound(EventId(PLAIN).time)
        self.assertIs(field.get_prep_value(upper), upper)
        converter = kind_converter(EventId)()
        self.assertEqual(converter.to_url(converter.to_python(f"event_{PLAIN}")), f"event_{PLAIN}")
        self.assertRaises(ValueError, converter.to_python, "event_9q7k4op82an2g222")


if __name__ == "__main__":
    unittest.main()
