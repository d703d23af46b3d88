"""Facts and rules that come and go, and versions."""

from __future__ import annotations

from typing import Any

from deltalog.apps.server import documents
from deltalog.apps.server.documents import JsonDocument
from deltalog.apps.server.endpoints import Endpoint, HandlerWork, ReadingHandler, Request, RouteCall, Service
from deltalog.apps.server.errors import HTTPError, wrong
from deltalog.apps.server.fields import Field
from deltalog.evaluation.change import Change
from deltalog.knowledge_base.facade import KnowledgeBase

ROWS = 100
SHOWN = Field("rows", "count", "the rows of each predicate that are shown", ROWS)
DRY_RUN = Field("dry_run", "flag", "describe the change, and make none", False)
UPDATE = (
    Field("add", "facts", "facts to add, by predicate"),
    Field("remove", "facts", "facts to remove, by predicate"),
    Field("add_rules", "texts", "rules to add, as text", []),
    Field("remove_rules", "texts", "rules to remove, by id or as text", []),
    Field("expect", "count", "the version that the change is meant for"),
)
LISTED = (
    Field("limit", "count", "how many versions are listed, the newest of them", 1_000),
    Field("before", "count", "only versions before this one"),
)
CONFLICT = {409: "The present version is not the expected one."}


def _asked_change(request: Request, kb: KnowledgeBase, dry_run: bool) -> Change:
    make = kb.what_if if dry_run else kb.change
    return make(request["add"], request["remove"], request["add_rules"], request["remove_rules"])


def update(service: Service, request: Request) -> JsonDocument:
    versions = service.versions
    made = versions.change(lambda kb: _asked_change(request, kb, False), request["expect"])
    return documents.change(made, versions.present.kb, False, _shown(request, versions.settings.rows))


def describe(reading: ReadingHandler, request: Request) -> JsonDocument:
    """What an update would do."""
    if request["expect"] not in (None, reading.version):
        raise HTTPError(
            409, "conflict", f"the present version is {reading.version}; look again", present=reading.version
        )
    made = reading.versions.describe(reading.kb, reading.version, lambda kb: _asked_change(request, kb, True))
    return documents.change(made, reading.kb, True, _shown(request, reading.settings.rows))


def _shown(request: Request, most: int) -> int:
    return min(int(request["rows"]), most)


def choose_update(request: Request) -> RouteCall:
    return RouteCall(HandlerWork.READ, describe) if request["dry_run"] else RouteCall(HandlerWork.WRITE, update)


def choose_rules(request: Request) -> RouteCall:
    """Rules as a body of their own: an update of nothing else."""
    nothing: dict[str, Any] = {"add": None, "remove": None, "remove_rules": [], "expect": None}
    values = {**nothing, **request.values, "add_rules": request["text"]}
    call = choose_update(request)
    return RouteCall(call.work, lambda given, request: call.handle(given, Request(values, request.headers)))


def remove_rule(service: Service, request: Request) -> JsonDocument:
    versions, name = service.versions, request["id"]
    if name not in versions.present.kb.rule_ids:
        raise HTTPError(404, "not_found", f"unknown rule {name!r:.80}; /rules lists them")
    made = versions.change(lambda kb: kb.remove_rules(name))
    return documents.change(made, versions.present.kb, False, _shown(request, versions.settings.rows))


def versions(reading: ReadingHandler, request: Request) -> JsonDocument:
    recent, most = {step.number for step in list(reading.versions.steps)}, min(request["limit"], reading.settings.rows)
    last = reading.version if request["before"] is None else min(reading.version, request["before"] - 1)
    rows = [row for row in list(reading.versions.rows) if row.version <= last]
    listed = [row.listed() | {"recent": row.version in recent} for row in rows[max(0, len(rows) - most) :]]
    return {"versions": listed, "total": len(reading.versions.rows)}


def version(reading: ReadingHandler, request: Request) -> JsonDocument:
    text = request["version"]
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise wrong(f"expected a version number, got {text!r:.80}")
    if not any(row.version == int(text) for row in list(reading.versions.rows)):
        raise HTTPError(404, "not_found", f"unknown version {text}; /versions lists them")
    return documents.step(reading.versions.step(int(text)), reading.kb, _shown(request, reading.settings.rows))


ENDPOINTS = (
    Endpoint(
        "POST",
        "/update",
        "Facts and rules in one change.",
        choose_update,
        (DRY_RUN, SHOWN),
        UPDATE,
        statuses=CONFLICT,
    ),
    Endpoint(
        "POST",
        "/rules",
        "Adds rules.",
        choose_rules,
        (DRY_RUN, SHOWN),
        (Field("text", "texts", "rules, in the rule language", required=True),),
    ),
    Endpoint("DELETE", "/rules/{id}", "Removes a rule.", RouteCall(HandlerWork.WRITE, remove_rule), (SHOWN,)),
    Endpoint("GET", "/versions", "The versions.", RouteCall(HandlerWork.READ, versions), LISTED),
    Endpoint(
        "GET", "/versions/{version}", "What a recent version changed.", RouteCall(HandlerWork.READ, version), (SHOWN,)
    ),
)
