"""Django 5: a field for models, its default in the database, and a converter for URLs.

    class Event(models.Model):
        id = SnoField(primary_key=True, db_default=SnoNew(1))
"""

from django import forms
from django.core.exceptions import ValidationError
from django.db import connections, models, router
from django.db.backends.signals import connection_created
from django.db.migrations.operations.base import Operation
from django.db.models.signals import post_migrate
from django.urls.converters import StringConverter

from sno import Sno


_INVALID = "“%(value)s” is not a valid ID."


class SnoFormField(forms.CharField):
    """A text that must be an ID: in forms, and in filters of django-filter."""

    default_error_messages = {"invalid": _INVALID}

    def __init__(self, *, kind=Sno, **kwargs):
        super().__init__(**{"max_length": 16, "empty_value": None, **kwargs})
        self.kind = kind

    def to_python(self, value):
        value = super().to_python(value)
        if value is None:
            return None
        try:
            return self.kind(value)
        except ValueError:
            raise ValidationError(self.error_messages["invalid"], code="invalid", params={"value": value})


class SnoField(models.CharField):
    """A column of the type sno, whose values are `Sno`, or of a kind: `SnoField(kind=OrderId)`.

    To libraries that choose by a field's class, such as Django REST framework, graphene-django and drf-spectacular, it is a text.
    """

    description = "ID of the type sno"
    default_error_messages = {"invalid": _INVALID}
    empty_strings_allowed = False

    def __init__(self, *args, kind=Sno, **options):
        super().__init__(*args, **options)
        self.kind = kind

    @property
    def validators(self):
        # Serializers of other libraries call these, and not to_python.
        return [self.to_python, *super().validators]

    def deconstruct(self):
        name, path, args, options = super().deconstruct()
        return name, path, args, options if self.kind is Sno else {**options, "kind": self.kind}

    def db_type(self, connection):
        return "sno"

    def cast_db_type(self, connection):
        return "sno"

    def _check_max_length_attribute(self, **kwargs):
        return []

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
        value = models.Field.get_prep_value(self, value)  # a CharField's calls to_python, whose errors are those of forms
        # A plain Sno is also a bound or a position, which has no kind.
        is_ready = value is None or type(value) is Sno or hasattr(value, "resolve_expression")
        return value if is_ready else self.kind(value)

    def pre_save(self, instance, add):
        value = super().pre_save(instance, add)
        # Before Django 6, bulk_create does not tell the objects what the database has generated.
        if add and hasattr(value, "resolve_expression") and not instance._state.adding:
            raise ValueError(f"the {self.attname} of this object is not known: read it again, or save() would insert it again")
        return value

    def formfield(self, **kwargs):
        # As with other keys that the database generates, forms leave it out.
        if self.primary_key and self.db_default is not models.NOT_PROVIDED:
            return None
        return models.Field.formfield(self, **{"form_class": SnoFormField, "kind": self.kind, **kwargs})


class SnoNew(models.Func):
    """The server generates the ID, with a metabyte: for `db_default`."""

    function = "sno_new"
    arity = 1
    output_field = SnoField()

    def __init__(self, metabyte=0, **extra):
        super().__init__(models.Value(metabyte), **extra)

    def __repr__(self):
        return f"SnoNew({self.source_expressions[0].value})"


class CreatedAtField(models.DateTimeField):
    """When the ID of a row was generated. It takes no column: conditions and orders use the index of the ID. A migration creates the
    model, and then the database's function that the field reads, by the operation `CreatedAt("event")`."""

    generated = True
    db_returning = True

    def __init__(self, *args, key="id", **options):
        super().__init__(*args, **{**options, "editable": False, "blank": True})
        self.key = key

    def deconstruct(self):
        name, path, args, options = super().deconstruct()
        del options["editable"], options["blank"]
        return name, path, args, options if self.key == "id" else {**options, "key": self.key}

    def db_type(self, connection):
        return None


class CreatedAt(Operation):
    """In a migration, after the model or its `CreatedAtField` was added: the function that the field of the model reads."""

    reversible = True

    def __init__(self, model_name, name="created_at"):
        self.model_name = model_name
        self.name = name

    def state_forwards(self, app_label, state):
        pass

    def _execute(self, app_label, editor, state, statement):
        model = state.apps.get_model(app_label, self.model_name)
        if not router.allow_migrate_model(editor.connection.alias, model):
            return
        field = model._meta.get_field(self.name)
        names = [field.column, model._meta.db_table, model._meta.get_field(field.key).column]
        editor.execute(statement.format(*map(editor.quote_name, names)), params=None)

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        self._execute(
            app_label,
            schema_editor,
            to_state,
            "CREATE FUNCTION {0}({1}) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN sno_time($1.{2})",
        )

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        self._execute(app_label, schema_editor, from_state, "DROP FUNCTION {0}({1})")

    def describe(self):
        return f"Function {self.name} of {self.model_name}"


def connect(using="default"):
    """A new connection by the settings of a database, for a consumer: `consume(connect, …)`."""
    import psycopg

    options = connections[using].get_connection_params()
    return psycopg.connect(**{name: value for name, value in options.items() if name not in ("context", "cursor_factory")})


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
