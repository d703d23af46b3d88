"""The description of all endpoints in OpenAPI 3.1, made from what they are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deltalog import __version__
from deltalog.apps.server.endpoints import JSON, Endpoint
from deltalog.apps.server.fields import VALUE, Field
from deltalog.apps.server.settings import ServerSettings

ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "diagnostics": {"type": "array", "items": {"$ref": "#/components/schemas/Diagnostic"}},
                "limit": {"type": "string"},
            },
        }
    },
}
DIAGNOSTIC = {
    "type": "object",
    "properties": {
        "severity": {"enum": ["error", "warning"]},
        "message": {"type": "string"},
        "hint": {"type": ["string", "null"]},
        **{name: {"type": ["integer", "null"]} for name in ("line", "column", "end_line", "end_column")},
    },
}
VERSION = {"Deltalog-Version": {"description": "The version that the answer is of.", "schema": {"type": "integer"}}}


def describe(endpoints: Sequence[Endpoint], settings: ServerSettings) -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = re.sub(r":path\}", "}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, settings)
    schemas = {"Value": VALUE, "Error": ERROR, "Diagnostic": DIAGNOSTIC}
    components: dict[str, Any] = {"schemas": schemas}
    if settings.token is not None:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    info = {"title": "deltalog", "version": __version__, "description": "docs/server.md says more."}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": components}


def _operation(endpoint: Endpoint, settings: ServerSettings) -> dict[str, Any]:
    parameters = [*_parameters(endpoint.path_fields, "path"), *_parameters(endpoint.fields, "query")]
    content: dict[str, Any] = {media_type: {"schema": {}} for media_type in endpoint.answers}
    statuses = {code: {"description": about} for code, about in endpoint.statuses.items()}
    failed = {"description": "An error.", "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}}
    answers = {200: {"description": "The answer.", "headers": VERSION, "content": content}, **statuses}
    return {
        "summary": endpoint.about,
        "parameters": parameters,
        **_body(endpoint),
        "responses": {**{str(code): answer for code, answer in answers.items()}, "default": failed},
        **({"security": [{"token": []}]} if settings.token is not None and _needs_token(endpoint, settings) else {}),
    }


def _needs_token(endpoint: Endpoint, settings: ServerSettings) -> bool:
    return settings.token_for_reading or endpoint.may_write


def _parameters(fields: Iterable[Field], place: str) -> list[Mapping[str, Any]]:
    return [
        {"name": f.name, "in": place, "required": f.required, "description": f.about, "schema": f.schema}
        for f in fields
    ]


def _body(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.body is not None:
        properties = {f.name: f.body_schema for f in endpoint.body}
        required = [f.name for f in endpoint.body if f.required]
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        return {"requestBody": {"required": bool(required), "content": {JSON: {"schema": schema}}}}
    if endpoint.media_types:
        return {"requestBody": {"content": {media_type: {"schema": {}} for media_type in endpoint.media_types}}}
    return {}
