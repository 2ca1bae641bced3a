"""django-filter: once this is imported, a `FilterSet` has a filter for each `SnoField`, to which an invalid ID is an error of the form."""

from django_filters import Filter
from django_filters.filterset import FILTER_FOR_DBFIELD_DEFAULTS

from sno.django import SnoField, SnoFormField


class SnoFilter(Filter):
    """Rows with this ID; of a kind: `SnoFilter(kind=OrderId)`."""

    field_class = SnoFormField


FILTER_FOR_DBFIELD_DEFAULTS[SnoField] = {"filter_class": SnoFilter, "extra": lambda field: {"kind": field.kind}}
