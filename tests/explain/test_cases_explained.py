"""The programs of `cases`: their facts are explained, and the checker looks at each proof."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from deltalog import KnowledgeBase
from deltalog.core.rules import Constant
from deltalog.knowledge_base.calls import session_of
from deltalog.languages.deltalog.parser import parse
from tests.explain.proof_checker import Key, World, key_of

CASES = Path(__file__).parents[1] / "cases"
BEYOND_THE_CHECKER = ("bodies", "tuples")  # it knows the core language only
PROGRAMS = [path for path in sorted(CASES.glob("*/*.dl")) if path.parent.name not in BEYOND_THE_CHECKER]
ASKED = 12
MANY = 400  # facts, with which nested loops take too long


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_facts_are_explained(program: Path) -> None:
    data = program.with_suffix("") / "data"
    kb, given = KnowledgeBase(program), KnowledgeBase()
    if data.is_dir():
        kb.load(data, shared_blank_nodes=True)
        given.load(data, shared_blank_nodes=True)
    if session_of(kb).document.files:  # what the program reads itself
        given = KnowledgeBase(program)
        given.remove_rules(list(given.rule_ids))
    kb.materialise()
    if kb.report.facts_total > MANY:
        pytest.skip("many facts")
    stated = {
        key_of(head.name, [term.value for term in head.terms if isinstance(term, Constant)])
        for rule in parse(program.read_text())
        if rule.is_fact
        for head in rule.heads
    }
    world = World(kb.rule_ids, stated | everything(given), everything(kb))
    random = Random(0)
    for name, row in random.sample(sorted(world.facts, key=repr), min(ASKED, len(world.facts))):
        values = tuple(constant.value for constant in row)
        named = name if ":" in name else f"{name}/{len(row)}"
        world.check(kb.explain(named, values, all=random.choice((1, 2))))
        absent = values[1:] + values[:1]
        world.check(kb.explain(named, absent))


def everything(kb: KnowledgeBase) -> set[Key]:
    return {key_of(name.removesuffix(f"/{kb.arity(name)}"), row) for name in kb.predicates for row in kb.facts(name)}
