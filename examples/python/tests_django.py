"""Tests of an application with Django 5: rows of any time, tests that roll back, and a consumer of a feed."""

import os
import sys
import threading
from datetime import datetime, timezone

import django
from django.conf import settings

# A database of its own, as Django makes it, would be of the role that tests; here it is that of the environment.
name = os.environ["PGDATABASE"]
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": name, "TEST": {"NAME": name}}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
)
django.setup()

from django.db import connection, migrations, models, transaction  # noqa: E402
from django.db.migrations.state import ProjectState  # noqa: E402
from django.test import TestCase, TransactionTestCase  # noqa: E402
from django.test.runner import DiscoverRunner  # noqa: E402

from sno import Sno  # noqa: E402
from sno.consumer import consume  # noqa: E402
from sno.django import CreatedAt, CreatedAtField, SnoField, SnoNew, connect  # noqa: E402


class Event(models.Model):
    id = SnoField(primary_key=True, db_default=SnoNew(1))
    payload = models.TextField()
    created_at = CreatedAtField()

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

    def test_objects_of_a_bulk_insert(self):
        events = Event.objects.bulk_create([Event(payload="one"), Event(payload="two")])
        for event in events:
            if isinstance(event.id, Sno):
                event.save()
            else:
                with self.assertRaisesMessage(ValueError, "read it again"), transaction.atomic():
                    event.save()
        self.assertEqual(Event.objects.filter(payload__in=["one", "two"]).count(), 2)

    def test_when_events_were_created(self):
        at = datetime(2025, 7, 1, tzinfo=timezone.utc)
        old = Event.objects.create(id=Sno.make(at, metabyte=1), payload="old")
        self.assertEqual(old.created_at, at)
        Event.objects.bulk_create([Event(id=Sno.make(at.replace(year=2024), metabyte=1), payload="older")])
        before = Event.objects.filter(created_at__lte=at).order_by("created_at")
        self.assertEqual([event.payload for event in before], ["older", "old"])
        of_2025 = Event.objects.filter(created_at__year=2025)
        self.assertEqual(of_2025.update(payload="of 2025"), 1)
        self.assertIn("Index Cond", Event.objects.filter(created_at__lt=at).order_by("created_at").explain())
        old.refresh_from_db()
        self.assertEqual((old.payload, old.created_at), ("of 2025", at))
        # As for a column that the database generates.
        old.payload = "saved"
        old.save()
        self.assertEqual(of_2025.values_list("payload", "created_at").get(), ("saved", at))


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

        consume(connect, "export", "example_event", handle, stop=stop)
        self.assertEqual(done, ["0", "1", "2"])


class Runner(DiscoverRunner):
    def setup_databases(self, **options):
        databases = super().setup_databases(**options)
        # In an application, a migration has these operations.
        state = ProjectState()
        fields = [(field.name, field.clone()) for field in Event._meta.local_fields]
        with connection.schema_editor() as editor:
            for operation in (migrations.CreateModel("Event", fields), CreatedAt("event")):
                before = state.clone()
                operation.state_forwards("example", state)
                operation.database_forwards("example", editor, before, state)
        execute("SELECT sno_create_feed('export', 'example_event')")
        return databases

    def build_suite(self, *arguments, **options):
        return self.test_loader.loadTestsFromModule(sys.modules[__name__])


sys.exit(Runner(keepdb=True, interactive=False).run_tests([]) and 1)
