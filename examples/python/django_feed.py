"""Django's admin on a view that has created_at: an application that knows nothing of sno."""

import os
import re
import sys
from datetime import datetime, timedelta, timezone

import django
from django.conf import settings

# This file is the application "example" as well.
sys.modules["example"] = sys.modules[__name__]
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            # The server is that of the environment: PGHOST, PGUSER, ...
            "NAME": os.environ["PGDATABASE"],
        }
    },
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.messages",
        "django.contrib.sessions",
        "example",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
    ALLOWED_HOSTS=["testserver"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="no secret",
    USE_TZ=True,
    TIME_ZONE="UTC",
)
django.setup()

from django.contrib import admin  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext, setup_test_environment  # noqa: E402
from django.urls import path  # noqa: E402


class Feed(models.Model):
    id = models.CharField(primary_key=True, max_length=16)
    payload = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "feed"
        managed = False
        app_label = "example"


@admin.register(Feed)
class FeedAdmin(admin.ModelAdmin):
    list_display = ["id", "payload", "created_at"]
    date_hierarchy = "created_at"
    list_filter = ["created_at"]
    ordering = ["-created_at"]

    def has_add_permission(self, request):
        return False

    def has_change_permission(self, request, obj=None):
        return False


urlpatterns = [path("admin/", admin.site.urls)]

call_command("migrate", verbosity=0)
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")
    cursor.execute("CREATE VIEW feed AS SELECT sno_time(id) AS created_at, * FROM events")
    cursor.execute(
        "INSERT INTO events SELECT sno_make(now() - n * interval '1 hour', 1, 1, n), 'old' FROM generate_series(1, 20000) n"
    )
    cursor.execute("INSERT INTO events (payload) SELECT 'newest' FROM generate_series(1, 3)")
    cursor.execute("VACUUM ANALYZE events")

setup_test_environment()
client = Client()
client.force_login(User.objects.create_superuser("admin"))


def shown(**filters):
    """How many rows a list of the admin has, its HTML, and the plans of the statements behind it."""
    with CaptureQueriesContext(connection) as queries:
        response = client.get("/admin/example/feed/", filters)
    assert response.status_code == 200, response
    statements = [query["sql"] for query in queries if '"feed"' in query["sql"]]
    with connection.cursor() as cursor:
        plans = []
        for statement in statements:
            cursor.execute("EXPLAIN (COSTS OFF) " + statement)
            plans.append(statement + "\n" + "\n".join(line for line, in cursor.fetchall()))
    return response.context["cl"].result_count, response.content.decode(), plans


def has(plans, *parts):
    return any(all(part in plan for part in parts) for plan in plans)


# The newest first: from the index of the key, without a sort.
count, html, plans = shown()
assert count == 20003 and html.count("newest") >= 3, count
assert has(plans, "LIMIT 100", "Index Scan Backward using events_pkey"), plans

# The filters of a date read the rows of the date, and no others.
now = datetime.now(timezone.utc)
since = (now - timedelta(days=7)).replace(hour=0, minute=0, second=0, microsecond=0)
week = {"created_at__gte": since.isoformat(), "created_at__lt": (since + timedelta(days=7)).isoformat()}
count, html, plans = shown(**week)
assert count == 168, count
assert has(plans, "LIMIT 100", "Index Cond: ((id >= "), plans
assert not has(plans, "WHERE", "Seq Scan"), plans
day = now - timedelta(days=40)
count, html, plans = shown(created_at__year=day.year, created_at__month=day.month, created_at__day=day.day)
assert count == 24, count
assert not has(plans, "WHERE", "Seq Scan"), plans

# One row, by the link in the list.
id = Feed.objects.order_by("-created_at").first().id
assert re.fullmatch("[2-9a-x]{16}", id), id
assert client.get(f"/admin/example/feed/{id}/change/").status_code == 200
assert client.post(f"/admin/example/feed/{id}/change/", {"payload": "changed"}).status_code == 403
Feed.objects.filter(id=id).update(payload="changed")
assert Feed.objects.get(id=id).payload == "changed"
