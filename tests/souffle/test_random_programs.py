"""Random Soufflé programs against an evaluator of their own (`random_programs`): aggregates inside of aggregates with
outer variables and witnesses, negation, disjunction, range and recursion, over relations in several forms."""

from __future__ import annotations

from random import Random

import pytest
from random_programs import GIVEN, Drawing, Printing, RandomProgram, evaluated

from deltalog import KnowledgeBase
from deltalog.core.errors import SyntaxProblem

FORMS = ("plain", "record", "branch", "component")
# A witness that only aggregates mention is none, so the other aggregate is refused; count and sum have no witnesses.
UNGROUNDED = ("nothing gives", "only the count gives", "only the sum gives")


def is_ungrounded(problem: SyntaxProblem) -> bool:
    return any(message in str(problem) for message in UNGROUNDED)


def printed(program: RandomProgram, draw: Random) -> str:
    may_be_inline = program.rules.keys() - program.recursive
    form = {name: draw.choice((*FORMS, "inline") if name in may_be_inline else FORMS) for name in program.arity}
    return Printing(draw, form).program(program)


@pytest.mark.filterwarnings("ignore::deltalog.DeltalogWarning")
@pytest.mark.parametrize("seeds", [range(at, at + 15) for at in range(0, 90, 15)], ids=str)
def test_random_program(seeds: range) -> None:
    for seed in seeds:
        program = Drawing(draw := Random(seed)).program()
        text = printed(program, draw)
        try:
            kb = KnowledgeBase(text, language="souffle")
        except SyntaxProblem as problem:
            assert is_ungrounded(problem), text
            continue
        found = {name: set(kb.facts(f"out_{name}")) for name in program.arity}
        assert found == evaluated(program), f"seed {seed}\n{text}"


@pytest.mark.filterwarnings("ignore::deltalog.DeltalogWarning")
@pytest.mark.parametrize("seed", range(100, 125))
def test_random_updates(seed: int) -> None:
    draw = Random(seed)
    program = Drawing(draw).program()
    without = RandomProgram({name: set() for name in GIVEN}, program.arity, program.rules)
    form = {name: "plain" if name in GIVEN else draw.choice(FORMS) for name in program.arity}
    try:
        kb = KnowledgeBase(Printing(draw, form).program(without), language="souffle")
    except SyntaxProblem as problem:
        assert is_ungrounded(problem)
        return
    now = {name: set[tuple[int, ...]]() for name in GIVEN}
    for _ in range(3):
        add = {name: {tuple(draw.randint(0, 3) for _ in range(n)) for _ in range(3)} for name, n in GIVEN.items()}
        remove = {name: {row for row in sorted(rows) if draw.random() < 0.4} for name, rows in now.items()}
        now = {name: rows - remove[name] | add[name] for name, rows in now.items()}
        kb.update(add={name: sorted(rows) for name, rows in add.items()}, remove=remove)
        found = {name: set(kb.facts(f"out_{name}")) for name in program.arity}
        assert found == evaluated(RandomProgram(now, program.arity, program.rules))
