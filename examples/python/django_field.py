"""Django 5, with a URL for each event."""

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
    INSTALLED_APPS=["django.contrib.contenttypes"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["testserver"],
    USE_TZ=True,
)
django.setup()

from django.contrib.contenttypes.fields import GenericRelation  # noqa: E402
from django.contrib.contenttypes.models import ContentType  # noqa: E402
from django.contrib.postgres.aggregates import ArrayAgg  # noqa: E402
from django.contrib.postgres.fields import ArrayField  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.forms import modelform_factory  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.shortcuts import get_object_or_404  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import path, register_converter, reverse  # noqa: E402

from sno import Sno  # noqa: E402
from sno.django import SnoConverter, SnoField, SnoNew  # noqa: E402


class Event(models.Model):
    id = SnoField(primary_key=True, db_default=SnoNew(1))
    payload = models.TextField()

    class Meta:
        app_label = "example"


class Order(models.Model):
    id = SnoField(primary_key=True, db_default=SnoNew(2))
    events = ArrayField(SnoField(), null=True)
    tags = GenericRelation("example.Tag")

    class Meta:
        app_label = "example"


class Tag(models.Model):
    """On an object of any model, whose key it has as a text."""

    content_type = models.ForeignKey("contenttypes.ContentType", on_delete=models.CASCADE)
    object_id = models.CharField(max_length=16)

    class Meta:
        app_label = "example"


class Comment(models.Model):
    event = models.ForeignKey(Event, on_delete=models.CASCADE)

    class Meta:
        app_label = "example"


with connection.schema_editor() as editor:
    editor.create_model(Event)
    editor.create_model(Comment)
    editor.create_model(ContentType)
    editor.create_model(Order)
    editor.create_model(Tag)

register_converter(SnoConverter, "sno")

last = Sno("2" * 16)

event = Event.objects.create(payload="first")


def show(request, id):
    found = get_object_or_404(Event, id=id)
    return JsonResponse({"id": found.id, "payload": found.payload})


urlpatterns = [path("events/<sno:id>/", show, name="event")]
hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
recent = Event.objects.filter(id__gte=Sno.lower_bound(hour_ago)).order_by("id")
page = Event.objects.filter(id__gt=last).order_by("id")[:50]

id = event.id
assert isinstance(id, Sno) and id.fields.metabyte == 1, id
assert abs(datetime.now(timezone.utc) - id.time) < timedelta(minutes=1), id.time
old = [Sno.make(datetime(2010, 1, 2, tzinfo=timezone.utc), sequence=number) for number in range(5)]
Event.objects.bulk_create([Event(id=each, payload="old") for each in old])
# Before Django 6 the objects that this returns lack the keys that the database generated.
Event.objects.bulk_create([Event(payload="many") for _ in range(2)])
made = list(Event.objects.filter(payload="many").order_by("id"))
assert len(made) == 2 and made[0].id > id, made

assert Event.objects.get(id=id).payload == Event.objects.get(id=str(id)).payload == "first"
found = list(Event.objects.filter(id__in=[id, old[0]]).order_by("id").values_list("id", flat=True))
assert found == [old[0], id], found
assert list(recent) == [event, *made]
assert [event.id for event in page] == [*old, id, *(event.id for event in made)], page
assert Event.objects.aggregate(models.Min("id"))["id__min"] == old[0]

# In a URL: what is no ID is no page either, and the server is not asked.
client = Client()
assert client.get(reverse("event", args=[id])).json() == {"id": id, "payload": "first"}
for missing in "x" * 16, "garbage", id.upper(), id + "2":
    assert client.get(f"/events/{missing}/").status_code == 404, missing

assert list(modelform_factory(Event, fields="__all__").base_fields) == ["payload"]
assert SnoField(null=True, blank=True).formfield().clean("") is None
event.payload = "changed"
event.save()
Comment.objects.create(event=event)
assert Comment.objects.get(event_id=id).event.payload == "changed"
assert event.comment_set.count() == 1

# Arrays of IDs are lists; generic relations, which compare an ID with a text, work all the same.
order = Order.objects.create(events=[id, old[0]])
order.refresh_from_db()
assert order.events == [id, old[0]] and isinstance(order.events[0], Sno), order.events
assert Order.objects.get(events__contains=[id]) == order
assert Event.objects.filter(id=id).aggregate(ids=ArrayAgg("id"))["ids"] == [id]
order.tags.create()
assert order.tags.count() == 1
assert Order.objects.filter(id__iexact=order.id).delete()[0] == 2
