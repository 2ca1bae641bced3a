"""Django 5: a field for models, its default in the database, and a converter for URLs.

    class Event(models.Model):
        id = SnoField(primary_key=True, db_default=SnoNew(1))
"""

from django.core.exceptions import ValidationError
from django.db import connections, models
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate
from django.urls.converters import StringConverter

from sno import Sno


class SnoField(models.Field):
    """A column of the type sno, whose values are `Sno`, or of a kind: `SnoField(kind=OrderId)`."""

    description = "ID of the type sno"
    default_error_messages = {"invalid": "“%(value)s” is not a valid ID."}
    empty_strings_allowed = False

    def __init__(self, *args, kind=Sno, **options):
        super().__init__(*args, **options)
        self.kind = kind

    def deconstruct(self):
        name, path, args, options = super().deconstruct()
        return name, path, args, options if self.kind is Sno else {**options, "kind": self.kind}

    def db_type(self, connection):
        return "sno"

    def from_db_value(self, value, expression, connection):
        return None if value is None else self.kind(value)

    def to_python(self, value):
        if value is None:
            return None
        try:
            return self.kind(str(value))
        except ValueError:
            raise ValidationError(self.error_messages["invalid"], code="invalid", params={"value": value})

    def get_prep_value(self, value):
        value = super().get_prep_value(value)
        # A plain Sno is also a bound or a position, which has no kind.
        is_ready = value is None or type(value) is Sno or hasattr(value, "resolve_expression")
        return value if is_ready else self.kind(value)

    def formfield(self, **kwargs):
        # As with other keys that the database generates, forms leave it out.
        if self.primary_key and self.db_default is not models.NOT_PROVIDED:
            return None
        return super().formfield(**{"max_length": 16, "empty_value": None, **kwargs})


class SnoNew(models.Func):
    """The server generates the ID, with a metabyte: for `db_default`."""

    function = "sno_new"
    arity = 1
    output_field = SnoField()

    def __init__(self, metabyte=0, **extra):
        super().__init__(models.Value(metabyte), **extra)

    def __repr__(self):
        return f"SnoNew({self.source_expressions[0].value})"


class SnoConverter(StringConverter):
    """IDs in URLs, after `register_converter(SnoConverter, "sno")`: `path("events/<sno:id>/", view)`."""

    regex = "[2-9a-x]{16}"

    def to_python(self, value):
        return Sno(value)


def _register_arrays(connection=None, using=None, **kwargs):
    """Arrays of IDs are read as lists: by `ArrayField(SnoField())`, `ArrayAgg("id")`. After a migration, too, which may have created the type."""
    raw = (connection or connections[using]).connection
    if type(raw).__module__.partition(".")[0] == "psycopg":
        from sno.psycopg import register_arrays

        register_arrays(raw)


connection_created.connect(_register_arrays, dispatch_uid="sno")
post_migrate.connect(_register_arrays, dispatch_uid="sno")


def kind_converter(kind):
    """Of a kind in URLs, `register_converter(kind_converter(OrderId), "order")`: another kind is no match, and so a 404."""
    members = {"regex": kind.name + "_[2-9a-x]{16}", "to_python": lambda self, text: kind.parse(text)}
    return type("KindConverter", (StringConverter,), {**members, "to_url": lambda self, id: kind(id).tagged()})
