"""Libraries that choose by the class of a field or of a column's type: IDs are texts to them, and an invalid one is its sender's error."""

import json
import types
import unittest

ID = "9q7k4op826n2g222"

try:
    import django
    from django.conf import settings
    from django.core.exceptions import ValidationError

    if not settings.configured:
        settings.configure(
            INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "rest_framework"],
            DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "unused"}},
            REST_FRAMEWORK={"DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema"},
        )
        django.setup()
    from django.db import models
    from sno.django import SnoField, SnoFormField, SnoNew

    class Order(models.Model):
        id = SnoField(primary_key=True, db_default=SnoNew(1))
        customer = SnoField(null=True)

        class Meta:
            app_label = "shop"
except ImportError:
    Order = None


def needs(*modules):
    """Skips a test unless these are installed."""
    import importlib.util

    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


@needs("django", "rest_framework", "drf_spectacular")
class Django(unittest.TestCase):
    def test_a_form_field_refuses_what_is_no_id(self):
        field = Order._meta.get_field("customer").formfield()
        self.assertIsInstance(field, SnoFormField)
        self.assertEqual(field.clean(ID), ID)
        with self.assertRaises(ValidationError):
            field.clean("x" * 15)

    def test_the_column_is_a_sno_and_nothing_else(self):
        field = Order._meta.get_field("customer")
        self.assertEqual((field.db_type(None), field.cast_db_type(None)), ("sno", "sno"))
        self.assertEqual(field.check(), [])

    def test_rest_framework_and_its_openapi(self):
        from django.urls import include, path
        from drf_spectacular.generators import SchemaGenerator
        from rest_framework import routers, serializers, viewsets

        class OrderSerializer(serializers.ModelSerializer):
            class Meta:
                model = Order
                fields = ["id", "customer"]
                read_only_fields = ["id"]

        class Orders(viewsets.ModelViewSet):
            queryset = Order.objects.all()
            serializer_class = OrderSerializer

        self.assertTrue(OrderSerializer(data={"customer": ID}).is_valid())
        self.assertFalse(OrderSerializer(data={"customer": "none"}).is_valid())
        router = routers.DefaultRouter()
        router.register("orders", Orders)
        urls = types.ModuleType("urls")
        urls.urlpatterns = [path("", include(router.urls))]
        schema = json.dumps(SchemaGenerator(urlconf=urls).get_schema(request=None, public=True))
        self.assertIn('"customer": {"type": "string", "nullable": true}', schema)

    @needs("graphene_django")
    def test_graphene(self):
        import graphene
        from graphene_django import DjangoObjectType

        class OrderType(DjangoObjectType):
            class Meta:
                model = Order
                fields = "__all__"

        class Query(graphene.ObjectType):
            orders = graphene.List(OrderType)

        self.assertIn("customer: String\n", str(graphene.Schema(query=Query)))


if __name__ == "__main__":
    unittest.main()
