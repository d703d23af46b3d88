"""Facts and rules that come and go, and versions."""

from __future__ import annotations

from typing import Any

from deltalog.apps.server import documents
from deltalog.apps.server.documents import JsonDocument
from deltalog.apps.server.endpoints import Asked, Endpoint, HandlerWork, ReadingHandler, RouteCall, Service
from deltalog.apps.server.errors import Refused, wrong
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


def _asked_change(asked: Asked, kb: KnowledgeBase, dry_run: bool) -> Change:
    make = kb.what_if if dry_run else kb.change
    return make(asked["add"], asked["remove"], asked["add_rules"], asked["remove_rules"])


def update(service: Service, asked: Asked) -> JsonDocument:
    versions = service.versions
    made = versions.change(lambda kb: _asked_change(asked, kb, False), asked["expect"])
    return documents.change(made, versions.present.kb, False, _shown(asked, versions.settings.rows))


def describe(reading: ReadingHandler, asked: Asked) -> JsonDocument:
    """What an update would do."""
    if asked["expect"] not in (None, reading.version):
        raise Refused(409, "conflict", f"the present version is {reading.version}; look again", present=reading.version)
    made = reading.versions.describe(reading.kb, reading.version, lambda kb: _asked_change(asked, kb, True))
    return documents.change(made, reading.kb, True, _shown(asked, reading.settings.rows))


def _shown(asked: Asked, most: int) -> int:
    return min(int(asked["rows"]), most)


def choose_update(asked: Asked) -> RouteCall:
    return RouteCall(HandlerWork.READ, describe) if asked["dry_run"] else RouteCall(HandlerWork.WRITE, update)


def choose_rules(asked: Asked) -> RouteCall:
    """Rules as a body of their own: an update of nothing else."""
    nothing: dict[str, Any] = {"add": None, "remove": None, "remove_rules": [], "expect": None}
    values = {**nothing, **asked.values, "add_rules": asked["text"]}
    call = choose_update(asked)
    return RouteCall(call.work, lambda given, asked: call.handle(given, Asked(values, asked.headers)))


def remove_rule(service: Service, asked: Asked) -> JsonDocument:
    versions, name = service.versions, asked["id"]
    if name not in versions.present.kb.rule_ids:
        raise Refused(404, "not_found", f"there is no rule {name!r:.80}; /rules lists them")
    made = versions.change(lambda kb: kb.remove_rules(name))
    return documents.change(made, versions.present.kb, False, _shown(asked, versions.settings.rows))


def versions(reading: ReadingHandler, asked: Asked) -> JsonDocument:
    recent, most = {step.number for step in list(reading.versions.steps)}, min(asked["limit"], reading.settings.rows)
    last = reading.version if asked["before"] is None else min(reading.version, asked["before"] - 1)
    rows = [row for row in list(reading.versions.rows) if row.version <= last]
    listed = [row.listed() | {"recent": row.version in recent} for row in rows[max(0, len(rows) - most) :]]
    return {"versions": listed, "total": len(reading.versions.rows)}


def version(reading: ReadingHandler, asked: Asked) -> JsonDocument:
    text = asked["version"]
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise wrong(f"expected the number of a version, and not {text!r:.80}")
    if not any(row.version == int(text) for row in list(reading.versions.rows)):
        raise Refused(404, "not_found", f"there is no version {text}; /versions lists them")
    return documents.step(reading.versions.step(int(text)), reading.kb, _shown(asked, reading.settings.rows))


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
