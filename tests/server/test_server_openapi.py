"""Bodies of requests drawn from the schemas of the OpenAPI description: what it allows is accepted, what it excludes is
refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltalog.apps.server.app import ENDPOINTS
from deltalog.apps.server.endpoints import JSON, Endpoint
from deltalog.apps.server.errors import HTTPError
from deltalog.apps.server.fields import from_document, parse_json
from deltalog.apps.server.openapi import describe
from deltalog.apps.server.settings import ServerSettings

DESCRIBED = describe(ENDPOINTS, ServerSettings())
SCHEMAS = DESCRIBED["components"]["schemas"]
WITH_BODY = [endpoint for endpoint in ENDPOINTS if endpoint.body is not None]
Schema = dict[str, Any]


def body_schema(endpoint: Endpoint) -> Schema:
    path = endpoint.path.replace(":path}", "}")
    found = DESCRIBED["paths"][path][endpoint.method.lower()]["requestBody"]["content"][JSON]["schema"]
    assert isinstance(found, dict)
    return found


def drawn(schema: Schema) -> st.SearchStrategy[Any]:
    """What a schema allows."""
    if "$ref" in schema:
        return drawn(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return st.one_of([drawn(each) for each in schema[union]])
    least = schema.get("minimum")
    match schema["type"]:
        case "object":
            return drawn_object(schema)
        case "array":
            return st.lists(drawn(schema["items"]), max_size=3)
        case "string":
            return st.text(max_size=12)
        case "integer":
            whole = st.integers(least, schema.get("maximum"))
            return st.one_of(whole, whole.filter(lambda number: number < 2**53).map(float))
        case "number":
            below = schema.get("exclusiveMaximum")
            floats = st.floats(least, below, exclude_max=below is not None, allow_nan=False, allow_infinity=False)
            return st.one_of(floats, st.integers(least, None if below is None else int(below) - 1))
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    raise AssertionError(schema)


def drawn_object(schema: Schema) -> st.SearchStrategy[Any]:
    given = {name: drawn(each) for name, each in schema.get("properties", {}).items()}
    required = {name: given.pop(name) for name in schema.get("required", ())}
    known = st.fixed_dictionaries(required, optional=given)
    more = schema.get("additionalProperties", {"type": "null"})
    if more is False:
        return known
    others = st.dictionaries(st.text(max_size=6).filter(lambda name: name not in required), drawn(more), max_size=2)
    return st.tuples(others, known).map(lambda both: {**both[0], **both[1]})


def read(endpoint: Endpoint, document: Any) -> dict[str, Any]:
    assert endpoint.body is not None
    return from_document(endpoint.body, parse_json(json.dumps(document).encode()))


@settings(max_examples=300)
@given(st.sampled_from(WITH_BODY), st.data())
def test_what_the_schema_allows_is_accepted(endpoint: Endpoint, data: st.DataObject) -> None:
    read(endpoint, data.draw(drawn(body_schema(endpoint))))


WRONG = (None, True, -1, 1.5, 10**30, 1e308, "text", [], [1], [[1]], [None], {}, {"a": 1}, {"a": [[None]]}, {"iri": 1})


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=lambda endpoint: f"{endpoint.method} {endpoint.path}")
def test_what_the_schema_excludes_is_refused(endpoint: Endpoint) -> None:
    """Each field with values of every type, beside required ones that are right."""
    schema = body_schema(endpoint)
    fields = schema["properties"]
    right = {name: least(fields[name]) for name in schema["required"]}
    for name in fields:
        for value in WRONG:
            document = {**right, name: value}
            if allows(fields[name], value):
                read(endpoint, document)
            else:
                with pytest.raises(HTTPError):
                    read(endpoint, document)


def least(schema: Schema) -> Any:
    """A value that a schema allows."""
    return next(value for value in (*schema.get("enum", ()), *WRONG, 0) if allows(schema, value))


def allows(schema: Schema, value: Any) -> bool:
    """Whether a schema allows a value, by the definition of JSON Schema."""
    if "$ref" in schema:
        return allows(SCHEMAS[schema["$ref"].rpartition("/")[2]], value)
    if "anyOf" in schema and not any(allows(each, value) for each in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(allows(each, value) for each in schema["oneOf"]) != 1:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    return "type" not in schema or allows_type(schema, value)


def allows_type(schema: Schema, value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match schema["type"]:
        case "object":
            return isinstance(value, dict) and allows_members(schema, value)
        case "array":
            return isinstance(value, list) and all(allows(schema["items"], each) for each in value)
        case "integer" | "number" as type_:
            is_right = is_number and (type_ == "number" or value == int(value))
            least, most = schema.get("minimum", value), schema.get("maximum", value)
            return is_right and least <= value <= most and value < schema.get("exclusiveMaximum", float("inf"))
        case "string" | "boolean" as type_:
            return isinstance(value, str if type_ == "string" else bool)
    return value is None


def allows_members(schema: Schema, value: dict[str, Any]) -> bool:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    return set(schema.get("required", ())) <= value.keys() and all(
        allows(known.get(name, others or {}), each) and (name in known or others is not False)
        for name, each in value.items()
    )
