"""Django, 3.2 and later."""

import os
from datetime import datetime, timedelta, timezone

import django
from django.conf import settings

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            # The server is that of the environment: PGHOST, PGUSER, ...
            "NAME": os.environ["PGDATABASE"],
        }
    },
    INSTALLED_APPS=[],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
)
django.setup()

from django.db import connection, models  # noqa: E402
from django.db.models.query_utils import DeferredAttribute  # noqa: E402

from sno import Sno  # noqa: E402


class SnoAttribute(DeferredAttribute):
    """What is assigned as text becomes a Sno; before version 4, so does the key of a new row."""

    def __set__(self, instance, value):
        value = Sno.parse(value) if isinstance(value, str) else value
        instance.__dict__[self.field.attname] = value


class SnoField(models.Field):
    """A column of the type sno; with a metabyte, one for which the server makes the value of a new row."""

    descriptor_class = SnoAttribute
    empty_strings_allowed = False

    def __init__(self, *args, metabyte=None, **kwargs):
        self.metabyte = metabyte
        super().__init__(*args, **kwargs)

    def deconstruct(self):
        name, path, args, kwargs = super().deconstruct()
        if self.metabyte is not None:
            kwargs["metabyte"] = self.metabyte
        return name, path, args, kwargs

    def db_type(self, connection):
        return "sno"

    @property
    def db_returning(self):
        return self.metabyte is not None

    def pre_save(self, model_instance, add):
        value = super().pre_save(model_instance, add)
        if value is None and add and self.metabyte is not None:
            return models.Func(models.Value(self.metabyte), function="sno_new", output_field=self)
        return value

    def from_db_value(self, value, expression, connection):
        return None if value is None else Sno.parse(value)

    def to_python(self, value):
        return value if value is None or isinstance(value, Sno) else Sno.parse(value)

    def get_prep_value(self, value):
        value = super().get_prep_value(value)
        return None if value is None else str(value)


class SnoLower(models.Func):
    """The first ID of a time."""

    function = "sno_lower"
    output_field = SnoField()


class Event(models.Model):
    id = SnoField(primary_key=True, metabyte=1)
    payload = models.TextField()

    class Meta:
        app_label = "example"


class Comment(models.Model):
    event = models.ForeignKey(Event, on_delete=models.CASCADE)

    class Meta:
        app_label = "example"


with connection.schema_editor() as editor:
    editor.create_model(Event)
    editor.create_model(Comment)

event = Event.objects.create(payload="first")
hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
recent = Event.objects.filter(id__gte=SnoLower(models.Value(hour_ago)))

id = event.id
assert isinstance(id, Sno) and id.metabyte == 1, id
assert abs(datetime.now(timezone.utc) - id.time) < timedelta(minutes=1), id.time
old = [Sno(bytes([0, 0, 0, 0, 2, 7, 0, 0, 0, number])) for number in range(5)]
Event.objects.bulk_create([Event(id=each, payload="old") for each in old])
made = Event.objects.bulk_create([Event(payload="many") for _ in range(2)])
assert all(event.id > id for event in made) and made[0].id < made[1].id, made

assert Event.objects.get(id=id).payload == Event.objects.get(id=str(id)).payload == "first"
found = list(Event.objects.filter(id__in=[id, old[0]]).order_by("id").values_list("id", flat=True))
assert found == [old[0], id], found
assert list(recent.order_by("id")) == [event, *made]
assert Event.objects.aggregate(models.Min("id"))["id__min"] == old[0]

event.payload = "changed"
event.save()
Comment.objects.create(event=event)
assert Comment.objects.get(event_id=id).event.payload == "changed"
assert event.comment_set.count() == 1

# Pages: the last ID of one is where the next one starts.
seen, last = [], Sno(bytes(10))
while page := list(Event.objects.filter(id__gt=last).order_by("id")[:3]):
    last = page[-1].id
    seen += [event.id for event in page]
assert seen == [*old, id, *(event.id for event in made)], seen
