"""For operators: health, metrics and the description of everything."""

from __future__ import annotations

import time
from typing import Any

from deltalog import __version__
from deltalog.apps.server.documents import JsonDocument
from deltalog.apps.server.endpoints import Endpoint, HandlerWork, Request, Response, RouteCall, Service
from deltalog.apps.server.metrics import MEDIA_TYPE
from deltalog.core.limits import resident_memory
from deltalog.knowledge_base.calls import session_of

STARTED = time.time()


def health(service: Service, _: Request) -> JsonDocument:
    versions = service.versions
    facts = sum(_sizes(service).values())
    return {
        "status": "ok",
        "deltalog": __version__,
        "version": versions.present.number,
        "facts": facts,
        "rules": len(versions.present.kb.rules),
        "readonly": versions.settings.readonly,
        "durable": versions.kb.version is not None,
        "token": versions.settings.token is not None,
    }


def _sizes(service: Service) -> dict[Any, int]:
    kb = service.versions.present.kb
    return {pred: session_of(kb).backend.size(table) for pred, table in session_of(kb).completed().facts.whole()}


def metrics(service: Service, _: Request) -> Response:
    versions = service.versions
    values = len(session_of(versions.present.kb).backend.dictionary)  # type: ignore[attr-defined]
    gauges: dict[str, tuple[str, float]] = {
        "deltalog_version": ("The present version.", versions.present.number),
        "deltalog_facts": ("Facts, explicit and derived.", sum(_sizes(service).values())),
        "deltalog_values": ("Distinct values in the dictionary.", values),
        "deltalog_kept_changes": ("Changes whose facts are kept.", len(versions.steps)),
        "process_resident_memory_bytes": ("Memory of the process.", resident_memory()),
        "process_cpu_seconds_total": ("CPU time of the process.", time.process_time()),
        "process_start_time_seconds": ("When the server was started.", STARTED),
    }
    return Response(service.metrics.text(gauges), MEDIA_TYPE)


def openapi(service: Service, _: Request) -> JsonDocument:
    return service.describe()


ENDPOINTS = (
    Endpoint(
        "GET", "/health", "Whether the server answers, and what it serves.", RouteCall(HandlerWork.AT_ONCE, health)
    ),
    Endpoint(
        "GET", "/metrics", "Figures for Prometheus.", RouteCall(HandlerWork.AT_ONCE, metrics), answers=("text/plain",)
    ),
    Endpoint("GET", "/openapi.json", "This description.", RouteCall(HandlerWork.AT_ONCE, openapi)),
)
