"""`kb.report.failures`: which expression of which rule failed, where, why, how often, and for which values first."""

from __future__ import annotations

import pytest

from deltalog import KnowledgeBase, LimitReached
from deltalog.core.terms import Value
from deltalog.evaluation.failed_expressions import FailedExpression


def failures(program: str, rows: list[tuple[Value, ...]], **options: object) -> list[FailedExpression]:
    kb = KnowledgeBase(program, **options)  # type: ignore[arg-type]
    kb.add("n", rows)
    report = kb.materialise()
    assert report.failed_expressions == sum(each.count for each in report.failures)
    return report.failures


def test_rule_place_reason_and_examples() -> None:
    (failed,) = failures("p(X) :- n(X).\nm(X, Y) :- n(X),\n  Y = X + 1.", [(2**63 - 1,), (1,)])
    assert (failed.rule_id, str(failed.rule)) == ("r2", "m(?X, ?Y) :- n(?X), ?Y = ?X + 1 .")
    assert (failed.place, failed.expression) == ("<text>:3:7", "X + 1")
    assert (failed.reason, failed.count) == ("the result does not fit 64 bits", 1)
    assert failed.examples == ({"X": 2**63 - 1},)
    assert str(failed) == (
        "<text>:3:7: X + 1 of rule r2 failed: the result does not fit 64 bits; for ?X = 9223372036854775807"
    )


@pytest.mark.parametrize(
    ("expression", "value", "reason"),
    [
        ("X / 0", 1, "a division by zero"),
        ("X % 0", 1, "a division by zero"),
        ("X * 2", "a", "'a' is no number"),
        ("xsd:integer(X)", "a", "'a' is no integer"),
        ("sqrt(X)", -1, "math domain error"),
    ],
)
def test_reasons(expression: str, value: Value, reason: str) -> None:
    (failed,) = failures(f"m(Y) :- n(X), BIND({expression} AS Y) .", [(value,)])
    assert failed.reason.startswith(reason) or failed.reason.startswith("expected a nonnegative")
    assert failed.expression == expression


def test_each_expression_counts_apart() -> None:
    found = failures("p(Y) :- n(X), BIND(1 / X AS Y) .  q(Y) :- n(X), BIND(1 / X AS Y), m(X) .  m(0) .", [(0,), ("a",)])
    assert {(each.rule_id, each.count) for each in found} == {("r1", 2), ("r2", 1)}


def test_few_examples_of_many() -> None:
    (failed,) = failures("p(Y) :- n(X), BIND(X + 1 AS Y) .", [(f"v{i}",) for i in range(100)])
    assert failed.count == 100
    assert len(failed.examples) == 3


def test_parts_of_rules() -> None:
    """Negated bodies, alternatives, aggregates and BINDs of variables that have a value are rewritten."""
    rules = """
        a(X) :- n(X), NOT (n(Y), Y + X > 5) .
        b(X) :- n(X), (X + 1 > 1 ; X - 1 > 1) .
        c(S) :- AGGREGATE(n(X) BIND SUM(X * 1) AS S) .
        d(X) :- n(X), n(Y), BIND(X * 2 AS Y) .
        e(X, S) :- n(X), AGGREGATE(n(Y), Y + X > 3 PER X BIND COUNT(Y) AS S) .
    """
    found = failures(rules, [("a",), (1,)])
    texts = {(each.rule_id, each.expression) for each in found}
    assert {("r1", "Y + X > 5"), ("r2", "X + 1 > 1"), ("r2", "X - 1 > 1"), ("r3", "X * 1"), ("r4", "X * 2")} <= texts
    assert ("r5", "Y + X > 3") in texts


def test_aggregates_of_groups() -> None:
    kb = KnowledgeBase(
        "s(G, S) :- AGGREGATE(v(G, X) ON G BIND SUM(X) AS S) . m(M) :- AGGREGATE(w(X) BIND MAX(X) AS M) ."
    )
    kb.add("v", [("g", "a"), ("h", 1)])
    (failed,) = kb.report.failures if kb.count("s") == 1 else ()
    assert (failed.expression, failed.reason, failed.examples) == ("SUM(X) AS S", "'a' is no number", ({"G": "g"},))


def test_goals_explanations_and_stopped_calls_do_not_count() -> None:
    kb = KnowledgeBase("p(Y) :- n(X), BIND(X + 1 AS Y) . n(Y) :- m(Y), BIND(Y AS Z) .", max_facts=10)
    kb.add("n", [("a",)])
    assert kb.report.failures == []
    kb.materialise()
    before = kb.report.failures
    assert [each.count for each in before] == [1]
    list(kb.query("n(X), BIND(X + 2 AS Y)"))
    kb.explain("p(7)")
    kb.what_if(add={"n": [("b",)]})
    with pytest.raises(LimitReached):
        kb.update(add={"n": [(f"c{i}",) for i in range(20)]})
    assert kb.report.failures == before
    kb.update(add={"n": [("b",)]})
    assert [(each.count, each.examples) for each in kb.report.failures] == [(2, ({"X": "a"}, {"X": "b"}))]
    kb.add("n", [("c",)])
    assert [each.count for each in kb.materialise().failures] == [3]
