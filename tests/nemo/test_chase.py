"""Existential rules have one meaning, the restricted chase: in every call, by every method, and after changes."""

from __future__ import annotations

import warnings
from pathlib import Path
from random import Random

import pytest

from deltalog import IRI, KnowledgeBase, ProgramError
from deltalog.apps.cli.main import main

RULES = (
    "q(?x, !v) :- p(?x, ?y) .",
    "q(?y, !v), s(!v) :- q(?x, ?y), p(?x, _) .",
    "p(?x, ?z) :- p(?x, ?y), p(?y, ?z) .",
    "q(?x, ?y) :- p(?x, ?y), s(?y) .",
    "s(?x) :- r(?x) .",
    "r(!w) :- t(?x) .",
    "t(?x) :- u(?x), ~p(?x, _) .",
    "w(?x, !a), w(?x, !b), pair(!a, !b) :- s(?x) .",
    "n(#count(?x)) :- s(?x) .",
    "z(?x, ?y) :- q(?x, ?y), ~s(?y) .",
    "y(?x, ?n, !m) :- q(?x, _), n(?n) .",
    "plain(?x) :- v(?x) .",
)
NAMES = tuple(map(IRI, "abcd"))
ARITIES = {"p": 2, "u": 1, "r": 1, "v": 1, "q": 2}
Rows = dict[str, set[tuple[object, ...]]]


def facts(kb: KnowledgeBase) -> dict[str, set[tuple[object, ...]]]:
    return {name: set(kb.facts(name)) for name in kb.predicates if len(kb.facts(name))}


def rows(random: Random) -> Rows:
    sizes = {name: random.choice((0, 1, 3)) for name in ARITIES}
    return {name: {tuple(random.choices(NAMES, k=ARITIES[name])) for _ in range(n)} for name, n in sizes.items()}


def loaded(program: str, given: Rows, engine: str = "local") -> KnowledgeBase:
    kb = KnowledgeBase(program, language="nemo", engine=engine)
    for name, each in given.items():
        kb.add(name, sorted(each)) if each else None
    return kb


@pytest.fixture(autouse=True)
def _no_warnings() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("seed", range(40))
def test_changes_lead_to_the_facts_of_a_fresh_run(seed: int) -> None:
    random = Random(seed)
    program = "\n".join(random.sample(RULES, random.randint(3, 8)))
    given = rows(random)
    kb = loaded(program, given)
    assert facts(kb) == facts(loaded(program, given, "naive"))
    for _ in range(4):
        add, remove = rows(random), rows(random)
        before = facts(kb)
        change = kb.update(add=add, remove=remove)
        given = {name: given[name] - remove[name] | add[name] for name in given}
        fresh = facts(loaded(program, given))
        assert facts(kb) == fresh
        after = {name: before.get(name, set()) - set(change.removed[name]) for name in change.removed}
        after |= {n: after.get(n, before.get(n, set())) | set(change.added[n]) for n in change.added}
        assert {n: each for n, each in (before | after).items() if each} == fresh
    [*_, last] = kb.rule_ids
    kb.remove_rules([last])
    program = "\n".join(program.splitlines()[:-1])
    assert facts(kb) == facts(loaded(program, given))


@pytest.mark.parametrize("seed", range(20))
def test_goals_by_every_method(seed: int) -> None:
    random = Random(seed)
    program, given = "\n".join(random.sample(RULES, 6)), rows(random)
    expected = facts(loaded(program, given, "naive"))
    for method in ("materialised", "magic", "qsqr", "auto"):
        kb = loaded(program, given)
        names = sorted(kb.predicates)
        asked = {name: ", ".join(f"?x{i}" for i in range(kb.arity(name))) for name in names}
        found = {name: set(kb.query(f"{name}({variables})", method=method)) for name, variables in asked.items()}
        assert {name: each for name, each in found.items() if each} == expected


KNOWS = "knows(alice, bob). person(alice). knows(?x, !y) :- person(?x)."


def test_a_value_that_fits_is_not_invented_again(tmp_path: Path) -> None:
    kb = KnowledgeBase(KNOWS, language="nemo")
    assert [*kb.facts("knows")] == [*kb.query("knows(?x, ?y)")] == [(IRI("alice"), IRI("bob"))]
    kb.save(tmp_path / "store")
    kb.close()
    with KnowledgeBase.open(tmp_path / "store") as opened:
        assert len(opened.facts("knows")) == 1
        change = opened.update(remove={"knows": [(IRI("alice"), IRI("bob"))]})
        assert (len(change.added["knows"]), len(change.removed["knows"])) == (1, 1)
    with KnowledgeBase.open(tmp_path / "store") as opened:
        [(_, null)] = opened.facts("knows")
        assert not isinstance(null, IRI)


def test_rules_with_new_values_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "new.rls").write_text("knows(?x, !y) :- person(?x).")
    kb = KnowledgeBase('person("ada"). friend(?x) :- knows(?x, ?y).')
    assert not kb.facts("friend")
    change = kb.add_rules(tmp_path / "new.rls")
    assert len(kb.facts("friend")) == len(change.added["friend"]) == 1
    [name] = [name for name, rule in kb.rule_ids.items() if "new#" in str(rule)]
    assert len(kb.explain("friend", ["ada"]).proofs) == 1
    kb.remove_rules([name])
    assert not kb.facts("friend")
    assert not kb.facts("knows")


def test_not_beside_stages(tmp_path: Path) -> None:
    (tmp_path / "s.dl").write_text(".decl c(x : number) choice-domain x\nc(1). c(x) :- c(x).\n")
    (tmp_path / "n.rls").write_text(KNOWS)
    with pytest.raises(ProgramError, match="existential rules cannot be evaluated together with"):
        KnowledgeBase([tmp_path / "s.dl", tmp_path / "n.rls"])
    with pytest.raises(ProgramError, match="existential rules cannot be evaluated together with"):
        KnowledgeBase(tmp_path / "s.dl").add_rules(tmp_path / "n.rls")


@pytest.mark.parametrize("limit", ["--max-facts 1000", "--timeout 0.5", "--memory 1MB"])
@pytest.mark.parametrize("command", ["run", "query"])
def test_limits_hold_in_a_chase_without_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, limit: str
) -> None:
    """--memory is that of the whole process, which holds more than that already."""
    program = tmp_path / "p.rls"
    program.write_text("person(a) .\nparent(?x, !y), person(!y) :- person(?x) .\n")
    goal = ["parent(?x, ?y)"] if command == "query" else []
    assert main([command, str(program), *goal, *limit.split()]) == 3
    name = {"--max-facts": "1,000 facts", "--timeout": "0.5", "--memory": "memory"}[limit.split()[0]]
    assert name in capsys.readouterr().err


def test_a_cycle_through_negation_and_a_new_value_is_refused(tmp_path: Path) -> None:
    """First of all rules, or of those that are added: neither a loop without end nor a change."""
    inventing, closing = "q(?x, !v) :- p(?x, _), ~s(?x) .", "s(?y) :- q(?x, ?y) ."
    with pytest.raises(ProgramError, match="depends on itself through a negation"):
        loaded(inventing + closing, {"p": {(IRI("a"), IRI("b"))}}).materialise()
    for first, then in ((inventing, closing), (closing, inventing)):
        kb = loaded(first, {"p": {(IRI("a"), IRI("b"))}})
        before, program = facts(kb), tmp_path / "then.rls"
        program.write_text(then)
        with pytest.raises(ProgramError, match="depends on itself through a negation"):
            kb.add_rules(program)
        assert facts(kb) == before


def test_a_rule_with_new_values_after_representatives(tmp_path: Path) -> None:
    """Facts and explanations are those of a knowledge base that had the rule from the beginning."""
    ontology, rule = tmp_path / "o.ttl", "@prefix : <http://e/> . :r(?x, !y) :- :B(?x) ."
    ontology.write_text(
        "@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . :a a :B ; owl:sameAs :c ."
    )
    (tmp_path / "new.rls").write_text(rule)
    size = "PREFIX : <http://e/>\nsize(?x, ?n) :- :B[?x], AGGREGATE(edge(?x, ?y) PER ?x BIND COUNT(?y) AS ?n) ."
    kb = KnowledgeBase(size, ontology=ontology)
    kb.materialise()
    kb.add_rules(tmp_path / "new.rls")
    (tmp_path / "size.dl").write_text(size)
    assert facts(kb) == facts(KnowledgeBase([tmp_path / "size.dl", tmp_path / "new.rls"], ontology=ontology))
    assert kb.explain("size", (IRI("http://e/a"), 0)).holds
