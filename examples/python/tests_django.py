"""Tests of an application with Django 5: rows of any time, tests that roll back, and a consumer of a feed."""

import os
import sys
import threading
from datetime import datetime, timezone

import django
import psycopg
from django.conf import settings

# A database of its own, as Django makes it, would be of the role that tests; here it is that of the environment.
name = os.environ["PGDATABASE"]
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": name, "TEST": {"NAME": name}}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
)
django.setup()

from django.db import connection, models  # noqa: E402
from django.test import TestCase, TransactionTestCase  # noqa: E402
from django.test.runner import DiscoverRunner  # noqa: E402

from sno import Sno  # noqa: E402
from sno.consumer import consume  # noqa: E402
from sno.django import SnoField, SnoNew  # noqa: E402


class Event(models.Model):
    id = SnoField(primary_key=True, db_default=SnoNew(1))
    payload = models.TextField()

    class Meta:
        app_label = "example"


def execute(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


class TimeTests(TestCase):
    def test_an_event_of_last_year(self):
        at = datetime(2025, 1, 1, tzinfo=timezone.utc)
        old = Event.objects.create(id=Sno.make(at, metabyte=1), payload="old")
        Event.objects.create(payload="new")
        self.assertEqual(old.id.time, at)
        before = Sno.lower_bound(datetime(2026, 1, 1, tzinfo=timezone.utc))
        self.assertEqual(list(Event.objects.filter(id__lt=before)), [old])


class ConsumerTests(TransactionTestCase):
    def test_each_event_once(self):
        events = [Event.objects.create(payload=str(number)) for number in range(3)]
        # The horizon is at the last event now, so that the test does not wait for the margin.
        execute("SELECT sno_horizon('0') FROM pg_sleep(0.01)")
        done, stop = [], threading.Event()

        def handle(row, _):
            done.append(row[1])
            if row[0] == events[-1].id:
                stop.set()

        def connect():
            return psycopg.connect(dbname=connection.settings_dict["NAME"])

        consume(connect, "export", "example_event", handle, stop=stop)
        self.assertEqual(done, ["0", "1", "2"])


class Runner(DiscoverRunner):
    def setup_databases(self, **options):
        databases = super().setup_databases(**options)
        # In an application, migrations do both.
        with connection.schema_editor() as editor:
            editor.create_model(Event)
        execute("SELECT sno_create_feed('export', 'example_event')")
        return databases

    def build_suite(self, *arguments, **options):
        return self.test_loader.loadTestsFromModule(sys.modules[__name__])


sys.exit(Runner(keepdb=True, interactive=False).run_tests([]) and 1)
