"""What stores and the states of pipelines say of a version in the same way."""

from __future__ import annotations

import json

import pytest

from deltalog.apps.pipelines.manifest import Manifest
from deltalog.core.errors import DataError
from deltalog.core.rules import HiddenName, Pred
from deltalog.extensions.versions import Growth, NewerFormat, RelationEntry

STORED = {
    "version": 3,
    "parent": 2,
    "created": "2026-01-01T00:00:00+00:00",
    "salt": 7,
    "rules": {"texts": ["p(?X) :- q(?X) ."], "present": [1]},
    "prefixes": {"": "http://e/"},
    "shape": "abc",
    "numbers": [1, 2],
    "relations": [
        {
            "number": 4,
            "kind": "explicit",
            "name": "q",
            "hidden": False,
            "arity": 1,
            "rows": 5,
            "added": 2,
            "removed": 0,
        },
        {"number": 5, "kind": "derived", "name": "#n", "hidden": True, "arity": 2, "rows": 1, "added": 0, "removed": 1},
    ],
    "next_relation": 6,
    "data": [{"version": 1, "rows": 4, "terms": 2}, {"version": 3, "rows": 3, "terms": 1}],
    "sources": {},
    "streams": {},
    "sinks": {},
    "format": 1,
}


def test_the_manifest_of_a_state_is_read_and_written_again() -> None:
    manifest = Manifest.parse(json.dumps(STORED), "s")
    assert [relation.pred for relation in manifest.relations] == [Pred("q", 1), Pred(HiddenName("#n"), 2)]
    assert (manifest.rules.present, manifest.numbers, manifest.growth) == ((1,), (1, 2), Growth(1, 3))
    assert json.loads(manifest.text()) == STORED


def test_a_manifest_of_a_later_release_is_not_damaged() -> None:
    with pytest.raises(NewerFormat, match=r"s: a later release of deltalog wrote this state .*; upgrade deltalog"):
        Manifest.parse(json.dumps({**STORED, "format": 2, "rules": "of another kind"}), "s")
    with pytest.raises(DataError, match="not the manifest"):
        Manifest.parse(json.dumps({**STORED, "rules": "of another kind"}), "s")


@pytest.mark.parametrize(
    ("growth", "due"), [((0, 0), ""), ((4, 9), "4 changes"), ((1, 51), "51 facts"), ((1, 50), ""), ((3, 11), "")]
)
def test_growth(growth: tuple[int, int], due: str) -> None:
    assert due in Growth(*growth).due(100, 4, 0.5)
    assert bool(Growth(*growth).due(100, 4, 0.5)) == bool(due)


def test_few_rows_are_never_too_many() -> None:
    assert not Growth(1, 60).due(100, 4, 0.5, least_rows=60) and Growth(1, 61).due(100, 4, 0.5, least_rows=60)


def test_relations_have_their_predicates() -> None:
    for pred in (Pred("p", 2), Pred(HiddenName("#p"), 0)):
        assert RelationEntry.of("derived", pred, 1).pred == pred
