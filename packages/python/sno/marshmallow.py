"""marshmallow, also with SQLAlchemy: once this is imported, schemas know `Sno` and `SnoType`, and an invalid ID is a `ValidationError`."""

from marshmallow import Schema, fields

from sno import Sno


class SnoString(fields.String):
    """An ID, or one of a kind: `SnoString(kind=OrderId)`."""

    default_error_messages = {"invalid_id": "Not a valid ID."}

    def __init__(self, *, kind: type[Sno] = Sno, **options):
        super().__init__(**options)
        self.kind = kind

    def _deserialize(self, value, attr, data, **options):
        try:
            return self.kind(super()._deserialize(value, attr, data, **options))
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            raise self.make_error("invalid_id") from error


Schema.TYPE_MAPPING[Sno] = SnoString
