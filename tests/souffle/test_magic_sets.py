"""Outputs of Soufflé programs by magic sets: what is restricted and what is not, and the same outputs as without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from random_programs import GIVEN, Drawing, Facts, Printing, RandomProgram, evaluated
from test_random_programs import is_ungrounded, printed

from deltalog import KnowledgeBase
from deltalog.apps.cli.main import main
from deltalog.core.errors import LimitReached, SyntaxProblem
from deltalog.knowledge_base.calls import session_of

ALL = '.pragma "magic-transform" "*"\n'
GRAPH = """
.decl edge(x : number, y : number)
.decl path(x : number, y : number) {path}
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl out(y : number)
.output out
"""
PATH = GRAPH.format(path="")
EDGES = [(i, i + 1) for i in range(9)]


def over(program: str, edges: list[tuple[int, int]] = EDGES, **options: object) -> KnowledgeBase:
    kb = KnowledgeBase(program, language="souffle", **options)  # type: ignore[arg-type]
    kb.add("edge", edges)
    return kb


def use(kb: KnowledgeBase) -> tuple[dict[str, int], dict[str, str], str]:
    found = kb.materialise_outputs().magic_sets
    assert found is not None
    return found.restricted, found.excluded, found.unused


# What is restricted.


@pytest.mark.parametrize(
    "program",
    [
        ALL + PATH,
        '.pragma "magic-transform" "path,out"\n' + PATH,
        GRAPH.format(path="magic"),
        '.pragma "magic-transform-exclude" "out"\n' + GRAPH.format(path="magic"),
    ],
    ids=["all", "named", "qualifier", "other excluded"],
)
def test_relations_that_the_program_names_are_restricted(program: str) -> None:
    kb = over(program + "out(y) :- path(5, y).")
    assert use(kb)[0] == {"path": 4}
    assert sorted(kb.facts("out")) == [(6,), (7,), (8,), (9,)]
    assert kb.report.per_predicate == {"edge": 9, "out": 4}


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (ALL + GRAPH.format(path="no_magic"), "it is declared as no_magic"),
        (ALL + '.pragma "magic-transform-exclude" "edge, path"\n' + PATH, "magic-transform-exclude names it"),
        (ALL + GRAPH.format(path="eqrel"), "it is an equivalence relation"),
        (ALL + PATH + ".printsize path\n", "it is an output"),
        (ALL + PATH + "out(x) :- path(x, _).\n", "a rule reads it without a bound argument"),
        (ALL + PATH + "out(x) :- edge(x, _), !path(x, 9).\n", "a rule of out negates or aggregates it"),
        (
            ALL + PATH + ".decl end(x : number)\nend(x) :- path(x, 9).\nout(x) :- edge(x, _), !end(x).\n",
            "end needs it, and must be complete: a rule of out negates or aggregates it",
        ),
        (
            ALL + PATH + ".decl one(x : number, y : number) choice-domain x\none(x, y) :- path(x, y).\n"
            "out(y) :- one(1, y).\n",
            "relations that depend on the order of derivation need it",
        ),
    ],
)
def test_relations_that_are_not_restricted_have_a_reason(program: str, reason: str) -> None:
    kb = over(program + "out(y) :- path(5, y).")
    restricted, excluded, unused = use(kb)
    assert not restricted
    assert f"path: {reason}" in unused or excluded["path"] == reason
    assert set(kb.facts("out")) == set(over(program.replace(ALL, "") + "out(y) :- path(5, y).").facts("out"))


def test_relations_that_no_output_needs_are_not_derived() -> None:
    kb = over(ALL + PATH + ".decl other(x : number)\nother(x) :- path(x, _).\nout(y) :- path(5, y).")
    assert use(kb)[1]["other"] == "no output needs it"
    assert len(kb.facts("other")) == 9  # by the rules as they are
    assert use(kb)[2].startswith("all relations are derived")


def test_only_exclusions_ask_for_nothing() -> None:
    kb = over('.pragma "magic-transform-exclude" "out"\n' + GRAPH.format(path="no_magic") + "out(y) :- path(5, y).")
    assert kb.materialise_outputs().magic_sets is None
    assert kb.report.per_predicate["path"] == 45


def test_the_naive_engine_evaluates_the_rules_as_they_are() -> None:
    kb = over(ALL + PATH + "out(y) :- path(5, y).", engine="naive")
    assert "naive" in use(kb)[2]
    assert len(kb.facts("out")) == 4


def test_rules_of_other_languages_keep_all_facts() -> None:
    kb = over(ALL + PATH + "out(y) :- path(5, y).")
    kb.add_rules("far(?x) :- path(?x, ?y), edge(?y, ?z).")
    kb.add("edge", [(20, 21)])
    assert use(kb)[2] == "not all rules are those of Soufflé programs"


def test_unknown_relations_are_noted() -> None:
    kb = KnowledgeBase('.pragma "magic-transform" "paht"\n' + PATH, language="souffle")
    assert [note.message for note in session_of(kb).document.notes] == [
        "unknown relation paht in .pragma magic-transform"
    ]


def test_questions_are_finite() -> None:
    """A question of gen(0) must not ask for gen(1), gen(2) and so on."""
    kb = KnowledgeBase(
        ALL + ".decl seed(x : number)\n.decl valid(x : number)\n.decl gen(x : number)\n.decl query()\n.output query\n"
        "gen(x) :- seed(x).\ngen(x) :- gen(x + 1), valid(x).\nquery() :- gen(0).\nseed(3).\n",
        language="souffle",
        timeout=30,
    )
    kb.add("valid", [(i,) for i in range(3)])
    assert list(kb.facts("query")) == [()]


def test_facts_of_restricted_relations_count_towards_the_limit() -> None:
    kb = over(ALL + PATH + "out(y) :- path(0, y), path(y, 9).", max_facts=5)
    with pytest.raises(LimitReached):
        kb.materialise_outputs()
    assert not kb.materialise_outputs(partial=True).complete


# Reading, changes, commands.


def test_reading_other_relations_derives_everything() -> None:
    kb = over(ALL + PATH + "out(y) :- path(5, y).")
    assert len(kb.facts("out")) == 4
    assert kb.report.facts_derived == 8
    assert len(kb.facts("path")) == 45
    assert kb.report.per_predicate["path"] == 45


def test_updates_keep_all_relations_up_to_date() -> None:
    kb = over(ALL + PATH + "out(y) :- path(5, y).")
    kb.materialise_outputs()
    change = kb.update(add={"edge": [(9, 10)]}, remove={"edge": [(0, 1)]})
    assert {name: len(rows) for name, rows in change.added.items()} == {"edge": 1, "out": 1, "path": 9}
    assert len(kb.facts("path")) == 45
    kb.add("edge", [(10, 11)])
    assert use(kb)[0] == {"path": 6}
    assert len(kb.facts("out")) == 6


def test_run_reports_magic_sets_and_skipped_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "p.dl"
    program.write_text(ALL + PATH + ".input edge\n.decl other(x : number)\n.input other\nout(y) :- path(5, y).")
    (tmp_path / "edge.facts").write_text("".join(f"{x}\t{y}\n" for x, y in EDGES))
    assert main(["run", str(program), "-D", str(tmp_path / "out"), "--json", "-q"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["magic_sets"] == {"restricted": {"path": 4}, "excluded": {"out": "it is an output"}, "unused": ""}
    assert report["skipped_inputs"] == ["other"]
    assert (tmp_path / "out" / "out.csv").read_text().split() == ["6", "7", "8", "9"]
    assert main(["run", str(program), "-q", "--show", "path"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 45


def test_plan_shows_the_rewritten_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "p.dl"
    program.write_text(ALL + PATH + "edge(1, 2).\nout(y) :- path(1, y).")
    assert main(["plan", str(program)]) == 0
    assert capsys.readouterr().out.splitlines()[:4] == [
        "magic sets for outputs: path",
        "  not out: it is an output",
        "  mgc_path^bf(1) .",
        "  out(?y) :- path^bf(1, ?y) .",
    ]


# Random programs, with several outputs that ask for a part of a relation.


def questions(program: RandomProgram, printing: Printing, draw: Random) -> Iterator[tuple[str, str, int, int]]:
    """Rules that ask for the facts of a relation with a constant in one place, and the relation, place and value."""
    for name in draw.sample(sorted(program.rules), draw.randint(1, len(program.rules))):
        place, value = draw.randrange(program.arity[name]), draw.randint(0, 3)
        terms = [("number", value) if i == place else ("var", f"a{i}") for i in range(program.arity[name])]
        columns = ", ".join(f"c{i} : number" for i in range(program.arity[name]))
        head = ", ".join(str(term[1]) for term in terms)
        text = f".decl ask_{name}({columns})\n.output ask_{name}\nask_{name}({head}) :- {printing.atom(name, terms)}.\n"
        yield text, name, place, value


def check(kb: KnowledgeBase, asked: list[tuple[str, str, int, int]], facts: Facts) -> None:
    for _, name, place, value in asked:
        assert set(kb.facts(f"ask_{name}")) == {row for row in facts[name] if row[place] == value}


@pytest.mark.filterwarnings("ignore::deltalog.DeltalogWarning")
@pytest.mark.parametrize("seeds", [range(at, at + 20) for at in range(1000, 1120, 20)], ids=str)
def test_random_programs_have_the_same_outputs(seeds: range) -> None:
    for seed in seeds:
        draw = Random(seed)
        program = Drawing(draw).program()
        without = RandomProgram({name: set() for name in GIVEN}, program.arity, program.rules)
        form = {name: "plain" if name in GIVEN else draw.choice(("plain", "component")) for name in program.arity}
        printing = Printing(draw, form)
        asked = list(questions(program, printing, draw))
        text = ALL + printing.program(without) + "".join(each[0] for each in asked)
        try:
            kb = KnowledgeBase(text, language="souffle")
        except SyntaxProblem as problem:
            assert is_ungrounded(problem), text
            continue
        for name, rows in program.facts.items():
            kb.add(name, sorted(rows))
        check(kb, asked, evaluated(program))
        kb.add("e0", [(3, 0), (0, 1)])
        now = {**program.facts, "e0": program.facts["e0"] | {(3, 0), (0, 1)}}
        check(kb, asked, evaluated(RandomProgram(now, program.arity, program.rules)))
        kb.update(remove={"e0": [(3, 0)]}, add={"e1": [(2,)]})
        now = {**now, "e0": now["e0"] - {(3, 0)}, "e1": now["e1"] | {(2,)}}
        check(kb, asked, evaluated(RandomProgram(now, program.arity, program.rules)))


@pytest.mark.filterwarnings("ignore::deltalog.DeltalogWarning")
@pytest.mark.parametrize("seeds", [range(at, at + 20) for at in range(2000, 2080, 20)], ids=str)
def test_random_programs_in_all_forms(seeds: range) -> None:
    for seed in seeds:
        draw = Random(seed)
        program = Drawing(draw).program()
        outputs = "".join(f".output out_{name}\n" for name in program.arity if draw.random() < 0.5)
        text = ALL + printed(program, draw) + outputs
        try:
            kb = KnowledgeBase(text, language="souffle")
        except SyntaxProblem as problem:
            assert is_ungrounded(problem), text
            continue
        kb.materialise_outputs()
        found = {name: set(kb.facts(f"out_{name}")) for name in program.arity}
        assert found == evaluated(program), f"seed {seed}\n{text}"
