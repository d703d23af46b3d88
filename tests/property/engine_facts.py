"""Facts of a knowledge base as values of the small language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from deltalog import IRI, BlankNode, KnowledgeBase
from deltalog.functions.skolem import skolem
from tests.property.judge import Facts
from tests.property.small_language import NAMESPACES, Fact, Row, is_iri

SHORTENED = sorted(((long, short) for short, long in NAMESPACES.items()), reverse=True)


def small(value: Any) -> Any:
    """A value of the engine in the small language."""
    if isinstance(value, IRI):
        return small_name(str(value))
    if isinstance(value, BlankNode):
        return f"_:{value}"
    return f'"{value}"' if isinstance(value, str) else value


def new_value(label: str, arguments: Iterable[Any]) -> str:
    """What the engine calls a new value of an existential rule."""
    return str(small(skolem(IRI(f"deltalog:new#{label}"), *map(large, arguments))))


def small_name(name: str) -> str:
    long, short = next(((long, short) for long, short in SHORTENED if name.startswith(long)), ("", ""))
    return short + name.removeprefix(long)


def small_rows(rows: Iterable[Iterable[Any]]) -> set[Row]:
    return {tuple(map(small, row)) for row in rows}


def large(value: Any) -> Any:
    """The opposite: a value that the engine takes."""
    if isinstance(value, str) and value.startswith("_:"):
        return BlankNode(value[2:])
    if is_iri(value):
        return IRI(large_name(value))
    return value.strip('"') if isinstance(value, str) else value


def large_name(name: str) -> str:
    prefix, colon, rest = name.partition(":")
    return NAMESPACES[prefix + colon] + rest if colon else name


def predicate(name: str, arity: int) -> str:
    """A predicate as calls take it: a bare name may have several arities."""
    return large_name(name) if is_iri(name) else f"{name}/{arity}"


def large_facts(facts: Iterable[Fact]) -> dict[str, list[tuple[Any, ...]]]:
    """Facts as `update` takes them."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for name, row in facts:
        found.setdefault(predicate(name, len(row)), []).append(tuple(map(large, row)))
    return found


def everything(kb: KnowledgeBase) -> Facts:
    """All facts, as a user reads them: a loop over the predicates."""
    return by_key({name: kb.facts(name) for name in kb.predicates})


def by_key(facts: Mapping[str, Iterable[Any]]) -> Facts:
    found: Facts = {}
    for name, rows in facts.items():
        for row in small_rows(rows):
            found.setdefault((small_name(name.removesuffix(f"/{len(row)}")), len(row)), set()).add(row)
    return found


def typed(facts: Facts) -> dict[Any, set[Any]]:
    """Facts in which 1 and 1.0 differ."""
    return {key: {tuple((type(value), value) for value in row) for row in rows} for key, rows in facts.items() if rows}


def difference(facts: Facts, others: Facts) -> Facts:
    left = {key: rows - others.get(key, set()) for key, rows in facts.items()}
    return {key: rows for key, rows in left.items() if rows}
