"""The W3C's test suites of SPARQL 1.0 and 1.1, all query tests but those in `EXCEPTIONS`, which cannot pass.

What is evaluated runs on the local engine, by a method that changes from test to test, and on the naive engine.
Entailment regimes are the rules of RDFS and OWL 2 RL.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
from sparql_oracle import fact, same_rows, value
from w3c_suite import W3CTest, all_tests, expected, graph, is_refusal, read

from deltalog import IRI, BlankNode, KnowledgeBase, UsageError
from deltalog.core.terms import Value
from deltalog.languages.sparql.parse import parse
from deltalog.languages.sparql.solutions import Solutions

METHODS = ("auto", "magic", "qsqr", "materialised")

EXCEPTIONS = {
    "FROM and FROM NAMED mean the same graph, with the same blank nodes; 09b, 10b and 12b are these tests for that": """
        dawg-data-r2/dataset/dawg-dataset-09 dawg-data-r2/dataset/dawg-dataset-10 dawg-data-r2/dataset/dawg-dataset-12
    """,
    "SERVICE reaches other endpoints": """
        service/service1 service/service2 service/service3 service/service4a service/service5 service/service6
        service/service7
    """,
    "an entailment regime that we do not have: OWL 2 Direct Semantics": """
        entailment/paper-sparqldl-Q2 entailment/paper-sparqldl-Q3 entailment/sparqldl-11 entailment/sparqldl-12
        entailment/parent4 entailment/parent5 entailment/parent6 entailment/parent7 entailment/parent8
        entailment/parent9 entailment/parent10 entailment/simple1 entailment/simple2 entailment/simple3
        entailment/simple4 entailment/simple5 entailment/simple6 entailment/simple7 entailment/simple8
    """,
    "a blank node of a query that stands for several individuals is counted for each of them": """
        entailment/sparqldl-10
    """,
    "GROUP BY has no group where there is no solution (section 18.5.1); the result has one": """
        aggregates/agg-empty-group
    """,
    "numbers are values: terms with other digits and the same value are one": """
        dawg-data-r2/open-world/open-eq-01 dawg-data-r2/expr-builtin/dawg-str-1 dawg-data-r2/expr-builtin/dawg-str-2
        dawg-data-r2/expr-builtin/sameTerm-simple dawg-data-r2/expr-builtin/sameTerm-eq
        dawg-data-r2/expr-builtin/sameTerm-not-eq dawg-data-r2/expr-equals/eq-graph-1
        dawg-data-r2/expr-equals/eq-graph-2 dawg-data-r2/distinct/distinct-1 dawg-data-r2/distinct/distinct-9
    """,
    "RDF 1.1: a string without a datatype is an xsd:string, and one with a language an rdf:langString": """
        functions/strdt03 functions/strlang03 dawg-data-r2/expr-builtin/dawg-datatype-2
        dawg-data-r2/distinct/distinct-2
    """,
    "SPARQL 1.1 has no numbers that end with a dot": """
        dawg-data-r2/basic/term-6 dawg-data-r2/basic/term-7 dawg-data-r2/syntax-sparql1/syntax-lit-08
    """,
    "not approved, and the opposite of dawg-optional-filter-005-not-simplified": """
        dawg-data-r2/optional-filter/dawg-optional-filter-005-simplified
    """,
}
REASONS = {name: reason for reason, names in EXCEPTIONS.items() for name in names.split()}


def of_kind(*kinds: str) -> list[object]:
    """The tests of some kinds; those that cannot pass are expected to fail, so that the list stays right."""
    found = [test for test in all_tests() if test.kind in kinds]
    marks = {name: pytest.mark.xfail(reason=reason, strict=True) for name, reason in REASONS.items()}
    return [pytest.param(test, id=test.name, marks=marks.get(test.name, ())) for test in found]


@cache
def rules(regimes: frozenset[str]) -> Path | str:
    """The program of an entailment regime: where several are right, the one with the fewest rules."""
    if not regimes:
        return ""
    name = "rdfs.dl" if regimes & {"RDF", "RDFS", "D"} else "owl2rl.dl"
    return Path(str(files("deltalog") / "languages" / "rule_sets" / name))


def knowledge_base(test: W3CTest, engine: str) -> KnowledgeBase:
    kb = KnowledgeBase(rules(test.regimes), engine=engine, default_graph="unnamed")
    facts: dict[str, list[tuple[Value, ...]]] = {}
    for data in test.data:
        for triple in graph(data):
            name, row = fact(triple)
            facts.setdefault(name, []).append(row)
    for name, rows in facts.items():
        kb.add(name, rows)
    for file, name in test.graphs or named_by(test):
        kb.add("[]", list(triples(file)), graph=IRI(name))
    return kb


def triples(file: str) -> Iterator[tuple[Value, ...]]:
    """The triples of a file, whose blank nodes are its own."""
    for triple in graph(file):
        values = [value(term) for term in (triple.subject, triple.predicate, triple.object)]
        yield tuple(BlankNode(f"{file.rpartition('/')[2]}-{v}") if isinstance(v, BlankNode) else v for v in values)


def named_by(test: W3CTest) -> list[tuple[str, str]]:
    """The files that FROM and FROM NAMED name, which are graphs of these names."""
    dataset = parse(test.based, {}).dataset
    return [(str(name), str(name)) for name in dict.fromkeys([*(dataset.default or ()), *(dataset.named or ())])]


def check(test: W3CTest, found: Solutions) -> None:
    assert test.result is not None
    wanted = expected(test.result)
    if wanted.truth is not None:
        assert (len(found) > 0) is wanted.truth
        return
    assert found.form.is_graph is wanted.is_graph
    if not wanted.rows:
        assert len(found) == 0  # whose columns some results do not name
        return
    assert set(found.columns) == set(wanted.columns)
    places = [found.columns.index(name) for name in wanted.columns]
    rows = [tuple(row[place] for place in places) for row in found]
    assert same_rows(rows, wanted.rows, wanted.in_order), f"{rows}\nbut expected\n{wanted.rows}"


@pytest.mark.parametrize("test", of_kind("QueryEvaluationTest"))
def test_evaluation(test: W3CTest) -> None:
    method = "materialised" if test.regimes else METHODS[len(test.name) % len(METHODS)]
    check(test, knowledge_base(test, "local").solve(test.based, method))
    if not test.regimes:
        check(test, knowledge_base(test, "naive").solve(test.based))


@pytest.mark.parametrize("test", of_kind("CSVResultFormatTest"))
def test_results_as_csv(test: W3CTest) -> None:
    assert test.result is not None
    found = knowledge_base(test, "local").solve(test.based).serialize("csv")
    assert _rows(found) == _rows(read(test.result).decode())


def _rows(text: str) -> tuple[list[str], list[list[str]]]:
    """The header and the rows, in any order, blank nodes without their labels and doubles with the same digits."""
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    return header, sorted([_cell(cell) for cell in row] for row in rows)


def _cell(text: str) -> str:
    is_double = re.fullmatch(r"-?[0-9.]+E[0-9]+", text) is not None
    return str(float(text)) if is_double else re.sub("^_:.*", "_:", text)


@pytest.mark.parametrize("test", of_kind("PositiveSyntaxTest", "PositiveSyntaxTest11"))
def test_correct_syntax(test: W3CTest) -> None:
    parse(test.based, {})


@pytest.mark.parametrize("test", of_kind("NegativeSyntaxTest", "NegativeSyntaxTest11"))
def test_wrong_syntax(test: W3CTest) -> None:
    with pytest.raises(UsageError) as error:
        parse(test.based, {})
    assert not is_refusal(error.value)


def test_there_are_as_many_tests_as_the_suites_have() -> None:
    kinds = [test.kind for test in all_tests()]
    assert kinds.count("QueryEvaluationTest") == 502
    assert kinds.count("PositiveSyntaxTest") + kinds.count("PositiveSyntaxTest11") == 212
    assert kinds.count("NegativeSyntaxTest") + kinds.count("NegativeSyntaxTest11") == 93
    assert REASONS.keys() <= {test.name for test in all_tests()}
