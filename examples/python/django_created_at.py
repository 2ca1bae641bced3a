"""Django 5: a created_at that takes no space and no index; makemigrations has nothing to add to it."""

import os
from datetime import datetime, timedelta, timezone

import django
from django.conf import settings

settings.configure(
    # The server is that of the environment: PGHOST, PGUSER, ...
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
)
django.setup()

from django.apps import apps  # noqa: E402
from django.contrib.postgres.operations import CreateExtension  # noqa: E402
from django.db import connection, migrations, models  # noqa: E402
from django.db.migrations.autodetector import MigrationAutodetector  # noqa: E402
from django.db.migrations.graph import MigrationGraph  # noqa: E402
from django.db.migrations.state import ProjectState  # noqa: E402

from sno import Sno  # noqa: E402
from sno.django import CreatedAt, CreatedAtField, SnoField, SnoNew  # noqa: E402


class Event(models.Model):
    id = SnoField(primary_key=True, db_default=SnoNew())
    payload = models.TextField()
    created_at = CreatedAtField()

    class Meta:
        app_label = "example"


class Migration(migrations.Migration):
    operations = [
        CreateExtension("sno"),
        migrations.CreateModel("Event", [("id", SnoField(primary_key=True, db_default=SnoNew())), ("payload", models.TextField())]),
        migrations.AddField("event", "created_at", CreatedAtField()),
        CreatedAt("event"),
    ]


with connection.schema_editor() as editor:
    state = Migration("0001_initial", "example").apply(ProjectState(), editor)

event = Event.objects.create(payload="first")
assert abs(datetime.now(timezone.utc) - event.created_at) < timedelta(minutes=1), event.created_at
recent = Event.objects.filter(created_at__gte=datetime.now(timezone.utc) - timedelta(hours=1)).order_by("-created_at", "-id")
assert list(recent) == [event] and recent[0].created_at == event.id.time

# As for a column that the database generates.
at = datetime(2025, 7, 1, tzinfo=timezone.utc)
old = Event.objects.create(id=Sno.make(at, metabyte=1), payload="old")
assert old.created_at == at
assert Event.objects.filter(created_at__year=2025).update(payload="of 2025") == 1
old.refresh_from_db()
assert (old.payload, old.created_at) == ("of 2025", at)
old.payload = "saved"
old.save()
assert Event.objects.values_list("payload", "created_at").get(id=old.id) == ("saved", at)
# Before Django 6, objects of a bulk insert do not know their keys.
for made in Event.objects.bulk_create([Event(payload="one"), Event(payload="two")]):
    try:
        made.save()
        assert isinstance(made.id, Sno), made.id
    except ValueError as error:
        assert "read it again" in str(error), error
assert Event.objects.filter(payload__in=["one", "two"]).count() == 2

# No column and no index for it, and makemigrations finds what is there.
with connection.cursor() as cursor:
    columns = [column.name for column in connection.introspection.get_table_description(cursor, "example_event")]
    indexes = connection.introspection.get_constraints(cursor, "example_event")
    cursor.execute("INSERT INTO example_event (payload) SELECT 'many' FROM generate_series(1, 10000)")
    cursor.execute("ANALYZE example_event")
assert columns == ["id", "payload"] and len(indexes) == 1, (columns, indexes)
changes = MigrationAutodetector(state, ProjectState.from_apps(apps)).changes(graph=MigrationGraph())
assert not changes, [migration.operations for migration in changes["example"]]
newest = Event.objects.order_by("-created_at", "-id")[:5]
assert "Index Scan" in newest.explain(), newest.explain()
