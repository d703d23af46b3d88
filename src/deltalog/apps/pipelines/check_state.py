"""Mistakes of a pipeline file about state and streams; finding them needs no Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from deltalog.apps.pipelines.spec import PipelineProblem, SourceSpec, Spec


def check_state(spec: Spec) -> Iterator[PipelineProblem]:
    """Mistakes of a pipeline file with state or streams."""
    if spec.state is None:
        for source in spec.streams:
            message = 'a stream keeps its knowledge base between batches: say where, with state = "..."'
            yield spec.problem(f"{source.place}.stream", message)
        return
    yield from conflicts(spec)
    for source in spec.streams:
        wrong = {
            "format": source.is_rdf and 'RDF cannot be a stream; leave out stream, and set changes = "files"',
            "paths": len(source.paths) > 1 and "a stream has one path, which may have wildcards",
            "changes": source.changes.kind in ("files", "version")
            and "the rows of a stream are all new; leave out changes, or set { operation = ... }",
        }
        yield from (spec.problem(f"{source.place}.{key}", message) for key, message in wrong.items() if message)
    for sink in spec.all_sinks:
        if not sink.changes and sink.mode != "overwrite":
            message = (
                f"a pipeline with state writes its sinks again in every version, and the mode {sink.mode!r} does not; "
                'set mode = "overwrite", or changes = true'
            )
            yield spec.problem(f"{sink.place}.mode", message)


def conflicts(spec: Spec) -> Iterable[PipelineProblem]:
    """Sources whose facts cannot be told apart: a full difference would remove those of the other one."""
    whole = [one for one in spec.sources if one.changes.kind == "full" and not one.stream]
    parts = [one for one in spec.sources if one not in whole]
    for one in whole:
        other = next((part for part in parts if _may_share(one, part)), None)
        if other is not None:
            message = (
                f"a full difference would remove the facts of {other.place}, which has the same predicates and other "
                f"changes; set the same changes for both, or other predicates"
            )
            yield spec.problem(f"{one.place}.changes", message)


def _may_share(one: SourceSpec, other: SourceSpec) -> bool:
    if one.is_rdf and other.is_rdf:
        return True
    if one.is_rdf or other.is_rdf:
        return ":" in (other if one.is_rdf else one).predicate
    return one.predicate == other.predicate


def check_vanished(spec: Spec, offsets: Mapping[str, Any], streams: Mapping[str, Any]) -> Iterable[PipelineProblem]:
    """Sources of the last version that are no longer in the file, and whose facts are not known."""
    names = {source.name for source in spec.sources}
    for name in sorted(({n for n, offset in offsets.items() if offset.get("kind") != "full"} | {*streams}) - names):
        message = "is no longer in the file, and its facts are unknown; put it back, or use a new state"
        yield spec.problem(f"sources.{name}", message)
