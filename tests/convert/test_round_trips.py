"""Programs that are converted and read again have the same facts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from deltalog import KnowledgeBase
from deltalog.core.terms import Literal
from deltalog.functions.souffle_functors import RECORD, fields_of
from deltalog.languages.load_program import read_documents
from deltalog.languages.registry import converted

sys.path.insert(0, str(Path(__file__).parent.parent / "property"))
from programs import INTEGERS, Example, Features, examples
from spelling import spell_fact

CASES = Path(__file__).parent.parent / "souffle" / "cases"
SAID = ("bodies", "components", "equivalence", "inlined", "preprocessor", "ranges", "records", "types")


def facts(kb: KnowledgeBase) -> dict[str, set[tuple[Any, ...]]]:
    found = {name: {tuple(map(plain, row)) for row in kb.facts(name)} for name in kb.predicates}
    return {name.replace("/", "_"): rows for name, rows in found.items() if rows and not name.startswith("aux")}


def plain(value: Any) -> Any:
    """A record as a tuple, as it is in our own language."""
    return tuple(map(plain, fields_of(value))) if isinstance(value, Literal) and value.datatype == RECORD else value


@pytest.mark.parametrize("case", SAID)
def test_souffle_programs_in_our_language(case: str) -> None:
    program = CASES / case / f"{case}.dl"
    there = converted(read_documents([program]), "deltalog")
    assert not there.lost
    assert facts(KnowledgeBase(there.text, language="deltalog")) == facts(KnowledgeBase(program))


def test_what_has_no_counterpart_is_named() -> None:
    there = converted(read_documents([CASES / "choice" / "choice.dl"]), "deltalog")
    assert {each.message for each in there.lost} == {"what this rule derives depends on the order of derivation"}
    there = converted(read_documents(['.decl p(x : number)\np(ord("a")).\np(x + 1) :- p(x), x < 9.']), "deltalog")
    assert [each.message for each in there.lost] == ["`ord` of Soufflé has no counterpart"]
    assert [str(each).partition(":")[0] for each in there.notes] == ["note"]
    there = converted(read_documents([".decl p(x : number)\n.input p\n.output p"]), "deltalog")
    assert [each.message for each in there.lost] == [".input p at <text>:2:8 is left out"]
    assert [each.message for each in there.notes] == [".output p at <text>:3:9 is left out"]


@pytest.mark.parametrize("target", ["deltalog", "souffle", "rdfox"])
def test_files_of_nemo_programs_are_named(target: str) -> None:
    text = '@import p :- csv{resource = "p.csv"} . @export q :- csv{} . q(?x) :- p(?x) .'
    there = converted(read_documents([text], "nemo"), target)
    assert [each.message for each in there.lost] == [
        "@import reads and writes other cells",
        "@export reads and writes other cells",
    ]


def test_souffle_programs_in_souffle_are_the_same() -> None:
    case = CASES / "records" / "records.dl"
    there = converted(read_documents([case]), "souffle")
    assert (there.text, there.lost) == (case.read_text(), ())


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(examples(Features(INTEGERS, functions=False, nested=True)))
def test_our_programs_in_souffle(example: Example) -> None:
    written = [spell_fact(pred, row) for pred, rows in example.facts.items() for row in rows if pred.arity]
    text = "\n".join([*written, *map(str, example.rules)])
    there = converted(read_documents([text]), "souffle")
    if not there.lost:
        expected, found = facts(KnowledgeBase(text)), facts(KnowledgeBase(there.text, language="souffle"))
        assert {name: rows for name, rows in found.items() if name in expected} == expected, there.text


TRICKY = (
    "a(1, 2). p(?_x, ?v_x) :- a(?_x, ?v_x). r(?count, ?nil) :- a(?count, ?nil). q(?\u00e4) :- a(?\u00e4, _).",
    "a(1, 2). a(1, 3). a(2, 2). p(?out0, ?n) :- AGGREGATE(a(?out0, ?a) ON ?out0 BIND COUNT(?a) AS ?n).",
    "a(1, 5). a(2, 5). s(?y, ?n) :- AGGREGATE(a(_, ?y) ON ?y BIND COUNT(*) AS ?n).",
    "a(1e-7). a(1e20). p(?x) :- a(?x), ?x > 1.0.",
    "a(1), a(2).",
)


@pytest.mark.parametrize("target", ["souffle", "nemo"])
@pytest.mark.parametrize("text", TRICKY)
def test_names_and_constants(text: str, target: str) -> None:
    there = converted(read_documents([text]), target)
    assert not there.lost
    found, expected = facts(KnowledgeBase(there.text, language=target)), facts(KnowledgeBase(text))
    assert sorted(found) == sorted(expected)
    for name, rows in expected.items():  # floats of Soufflé have single precision
        assert [v for row in sorted(found[name]) for v in row] == pytest.approx(
            [v for row in sorted(rows) for v in row]
        )


def test_relations_with_one_name_stay_apart() -> None:
    there = converted(
        read_documents(["<a-b>(1). a_b(2). count(3). p(?x) :- <a-b>(?x). auxin(?x) :- a_b(?x)."]), "souffle"
    )
    found = facts(KnowledgeBase(there.text, language="souffle"))
    assert (found["p"], found["a_b"], found["count_2"]) == ({(1,)}, {(2,)}, {(3,)})
    assert {str(each) for each in there.notes} == {"note: <a-b> is called a_b_2", "note: <count> is called count_2"}
    assert ".output auxin" in there.text


def test_what_may_differ_is_noted() -> None:
    def notes(text: str, target: str) -> list[str]:
        return [each.message.partition(" ")[0] for each in converted(read_documents([text]), target).notes]

    assert notes("p(?y) :- a(?x), BIND(?x * ?x AS ?y).", "souffle") == ["integers"]
    assert notes("a(0.1).", "souffle") == ["floats"]
    assert notes("p(?x) :- a(?x, ?y), ?x = ?y.", "nemo") == ["`=`"]
    assert notes("p(?x) :- a(?x, ?y), ?x < ?y.", "nemo") == ["`<`"]
    assert notes('p(?x) :- a(?x, ?y), ?x < 5, ?y != "b".', "nemo") == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('p(?x) :- a(?x), ?x < "c".', "compare numbers alone"),
        ("p(?x) :- a(?x), NOT b(_).", "has no effect in Nemo"),
        ("p(?y) :- BIND(1 + 1 AS ?y).", "needs an atom that is not negated"),
        ("p(?x) :- a(?x), a(?x, ?y).", "several numbers of arguments"),
    ],
)
def test_what_nemo_cannot_say(text: str, wanted: str) -> None:
    assert any(wanted in each.message for each in converted(read_documents([text]), "nemo").lost)
