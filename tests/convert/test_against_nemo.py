"""Programs and their conversions, in Nemo itself (of the dependency group `bench`): the same facts."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from deltalog import KnowledgeBase
from deltalog.core.terms import BlankNode, Value, literal
from deltalog.functions.nemo_functions import full_text
from deltalog.languages.load_program import read_documents
from deltalog.languages.protocol import ProgramUnit
from deltalog.languages.registry import converted

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "property"))
from nemo_programs import random_program
from programs import INTEGERS, Example, Features, examples
from spelling import spell_fact

from deltalog.knowledge_base.calls import session_of

pytestmark = pytest.mark.skipif(find_spec("nmo_python") is None, reason="Nemo is not installed")
_NULL = re.compile(r"_:\d+")


def in_nemo(text: str) -> dict[str, set[tuple[str, ...]]]:
    """What Nemo derives, with values as it writes them."""
    nemo = import_module("nmo_python")
    program = nemo.load_string(text)
    engine = nemo.NemoEngine(program)
    engine.reason()
    names = program.output_predicates()
    found = {name: {tuple(map(shown, row)) for row in engine.result(name)} for name in names}
    return {name: rows for name, rows in found.items() if rows}


def shown(value: Any) -> str:
    """A value of Nemo's interface: strings and IRIs are text already."""
    if isinstance(value, str):
        return _NULL.sub("_:", value)
    if not hasattr(value, "language"):
        return full_text(value)
    return full_text(literal(value.value(), value.datatype(), value.language()))


def ours(facts: Mapping[str, set[tuple[Value, ...]]], names: set[str]) -> dict[str, set[tuple[str, ...]]]:
    return {name: {tuple(map(our_text, row)) for row in rows} for name, rows in facts.items() if name in names and rows}


def our_text(value: Value) -> str:
    return "_:" if isinstance(value, BlankNode) else full_text(value)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(examples(Features(INTEGERS, functions=False, nested=True)))
def test_converted_programs_give_the_same_facts(example: Example) -> None:
    facts = [spell_fact(pred, row) for pred, rows in example.facts.items() for row in rows if pred.arity]
    rules = [str(rule) for rule in example.rules if not converted(ProgramUnit((rule,), {}), "nemo").lost]
    text = "\n".join([*rules, *facts])
    there = converted(read_documents([text]), "nemo")
    assert not there.lost
    if not rules:
        return
    try:
        found = in_nemo(there.text)
    except BaseException as error:
        if "PanicException" in type(error).__name__ or _refused(str(error)):
            return
        raise
    kb = KnowledgeBase(text)
    names = set(re.findall(r"\w+", there.text.rpartition("@output")[2]))
    assert found == ours({name: set(kb.facts(name)) for name in kb.predicates if "/" not in name}, names), there.text


def _refused(message: str) -> bool:
    """Whether Nemo refuses what it does not do (yet): no positive atoms, aggregates over group variables."""
    return any(part in message for part in ("without positive", "group-by", "unsafe", "unsupported", "arity"))


@pytest.mark.parametrize("seed", range(60))
def test_nemo_programs_give_the_same_facts(seed: int) -> None:
    text = random_program(seed)
    try:
        found = in_nemo(text)
    except BaseException as error:
        if "PanicException" in type(error).__name__ or _refused(str(error)):
            pytest.skip("Nemo refuses it")
        raise
    kb = KnowledgeBase(text, language="nemo")
    names = {file.predicate for file in session_of(kb).document.files if file.is_export and not file.implied}
    assert found == ours({name: set(kb.facts(name)) for name in kb.predicates if "/" not in name}, names), text
