"""`kb.explain` and `kb.consequences`: facts as users write them, sources, other proofs, why not, near misses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deltalog import IRI, KnowledgeBase, LimitReached, UsageError
from deltalog.core.terms import Literal
from deltalog.core.tuning import Tuning
from deltalog.extensions.explain.model import Absent, Condition, Fact, Group, Proof

PATHS = """
edge(a, b). edge(b, c). edge(c, d).
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).
"""
RDF = """
PREFIX : <http://e.x/>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
[?x, rdf:type, ?d] :- [?x, rdf:type, ?c], sub(?c, ?d).
[?y, ?q, ?x] :- [?x, ?p, ?y], inverse(?p, ?q).
:A[:i]. :p[:i, :j]. :age[:i, "7"^^<http://www.w3.org/2001/XMLSchema#int>].
sub(:A, :B). sub(:B, :C). inverse(:p, :q).
"""


def facts_of(proof: Proof) -> set[str]:
    return {str(proof.fact)}.union(*(facts_of(part) for part in proof.parts()))


# Facts as users write them.


def test_a_fact_in_all_spellings() -> None:
    kb = KnowledgeBase(PATHS)
    asked: list[tuple[Any, ...]] = [
        ("path(a, d)",),
        ("path(a, d).",),
        ("path", ("a", "d")),
        ("path", ["a", "d"]),
        (("path", ("a", "d")),),
        ("path/2", ("a", "d")),
        (Fact("path", ("a", "d")),),
    ]
    for one in asked:
        explanation = kb.explain(*one)
        assert (explanation.holds, explanation.kind, explanation.height) == (True, "derived", 3)
        assert str(explanation.fact) == "path(a, d)"


def test_triples_in_all_spellings() -> None:
    kb = KnowledgeBase(RDF)
    for text in ("[:i, rdf:type, :C]", ":C[:i]", "<http://e.x/C>(<http://e.x/i>)", "rdf:type[:i, :C]"):
        explanation = kb.explain(text)
        assert explanation.height == 2, text
        assert explanation.fact.text(kb.prefixes) == ":C(:i)"
        assert facts_of(explanation.proofs[0]) == {
            *("<http://e.x/C>(<http://e.x/i>)", "<http://e.x/B>(<http://e.x/i>)", "<http://e.x/A>(<http://e.x/i>)"),
            *("sub(<http://e.x/B>, <http://e.x/C>)", "sub(<http://e.x/A>, <http://e.x/B>)"),
        }
    assert kb.explain("[:j, :q, :i]").height == 1
    assert kb.explain("http://e.x/q", (IRI("http://e.x/j"), IRI("http://e.x/i"))).height == 1
    assert kb.explain(':age[:i, "7"^^<http://www.w3.org/2001/XMLSchema#int>]').kind == "explicit"
    assert not kb.explain(":age[:i, 7]").holds


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("path(a, ?x)",), "no variables"),
        (("path(a, b), path(b, c)",), "one fact"),
        (("?x > 3",), "one fact"),
        ((7,), "expected a fact"),
        (("path", "ad"), "as a tuple"),
        (("path", (None, "a")), "wrong value"),
        (("path/3", ("a", "b")), "3 arguments"),
    ],
)
def test_what_is_no_fact(asked: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        KnowledgeBase(PATHS).explain(*asked)


@pytest.mark.parametrize("options", [{"all": 0}, {"all": "many"}, {"depth": 0}])
def test_wrong_options(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        KnowledgeBase(PATHS).explain("path(a, d)", **options)


# Why.


def test_a_proof_and_its_parts(tmp_path: Path) -> None:
    program = tmp_path / "paths.dl"
    program.write_text(PATHS)
    (proof,) = KnowledgeBase(program).explain("path(a, c)").proofs
    assert proof.rule is not None
    assert (proof.rule.id, proof.rule.file, proof.rule.line) == ("r2", str(program), 4)
    assert proof.bindings == {"X": "a", "Y": "b", "Z": "c"}
    first, second = proof.premises
    assert isinstance(first, Proof) and isinstance(second, Proof)
    assert str(first.fact) == "path(a, b)"
    assert (second.kind, second.source) == ("explicit", f"{program}:2")
    assert proof.steps == 4


def test_the_files_of_facts(tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text("a,b\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "edge.csv").write_text("b,c\n")
    kb = KnowledgeBase("path(X, Y) :- edge(X, Y).")
    kb.load(tmp_path / "edge.csv")
    assert kb.explain("edge(a, b)").proofs[0].source == str(tmp_path / "edge.csv")
    kb.load(tmp_path / "more")
    kb.update(add={"edge": [("c", "d")]})
    sources = [kb.explain("edge", pair).proofs[0].source for pair in (("a", "b"), ("b", "c"), ("c", "d"))]
    assert sources == [str(tmp_path / "edge.csv"), str(tmp_path / "more" / "edge.csv"), None]
    large = KnowledgeBase("p(1).", tuning=Tuning(explain_max_source_bytes=1))
    large.load(tmp_path / "edge.csv")
    assert large.explain("edge(a, b)").proofs[0].source is None


def test_explicit_and_derived() -> None:
    kb = KnowledgeBase("p(1). q(1). r(1). p(X) :- q(X). q(X) :- p(X). r(X) :- s(X).")
    (explicit,) = kb.explain("p(1)").proofs
    assert (explicit.kind, explicit.height, explicit.also_derived) == ("explicit", 0, True)
    explicit, derived = kb.explain("p(1)", all=5).proofs
    assert (derived.kind, derived.height, derived.also_explicit) == ("derived", 1, True)
    (alone,) = kb.explain("r(1)", all=5).proofs
    assert not alone.also_derived
    kb.update(remove={"q": [(1,)]})  # now q(1) rests on p(1), and does not prove it
    (explicit,) = kb.explain("p(1)", all=5).proofs
    assert not explicit.also_derived


def test_several_proofs() -> None:
    kb = KnowledgeBase("p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), p(Y, Z).")
    kb.add("e", [("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("a", "x"), ("x", "y"), ("y", "d")])
    proofs = kb.explain("p(a, d)", all=10).proofs
    assert [proof.height for proof in proofs][:2] == [2, 2]
    assert max(proof.height for proof in proofs) == 3
    assert len({frozenset(str(p.fact) for p in proof.parts()) for proof in proofs}) >= 4
    assert len(kb.explain("p(a, d)", all=2).proofs) == 2
    assert len(kb.explain("p(a, d)").proofs) == 1


def test_other_proofs_below_the_root() -> None:
    kb = KnowledgeBase("a(1). b(1). p(X) :- a(X). p(X) :- b(X). q(X) :- p(X).")
    first, second = kb.explain("q(1)", all=3).proofs
    assert facts_of(first) == {"q(1)", "p(1)", "a(1)"}
    assert facts_of(second) == {"q(1)", "p(1)", "b(1)"}


def test_every_construct() -> None:
    kb = KnowledgeBase(
        """
        sale(ann, 2). sale(ann, 3). sale(bob, 5). gone(bob).
        total(X, N) :- AGGREGATE(sale(X, V) ON X BIND SUM(V) AS N).
        good(X, M), name(X, K) :- total(X, N), NOT gone(X), BIND(N * 2 AS M), FILTER(M > 3), BIND(SKOLEM("n", X) AS K).
        """
    )
    (proof,) = kb.explain("good(ann, 10)").proofs
    total, absent, bind, condition, skolem = proof.premises
    assert isinstance(total, Proof) and isinstance(total.premises[0], Group)
    group = total.premises[0]
    assert (group.function, group.key, group.count, group.arithmetic) == ("sum", ("ann",), 2, "2 + 3 = 5")
    assert sorted(member.value for member in group.members if isinstance(member.value, int)) == [2, 3]
    assert absent == Absent("gone(ann)", "the fact of gone/1 differs")
    assert bind == Condition("BIND(?N * 2 AS ?M)", "?M = 5 * 2 = 10")
    assert condition == Condition("?M > 3", "10 > 3")
    assert isinstance(skolem, Condition) and skolem.value.startswith("?K = skolem(n, ann) = _:sk")
    (named,) = kb.facts("name")
    assert kb.explain("name", named).height == 2


def test_large_groups_show_some_members() -> None:
    kb = KnowledgeBase("n(N) :- AGGREGATE(p(X) BIND COUNT(X) AS N).")
    kb.add("p", [(i,) for i in range(100)])
    (group,) = kb.explain("n(100)").proofs[0].premises
    assert isinstance(group, Group)
    assert (len(group.members), group.count) == (10, 100)
    assert group.arithmetic.endswith("...) = 100")


def test_names_that_users_did_not_write() -> None:
    kb = KnowledgeBase(
        """
        r(X, Z) :- r(X, Y), r(Y, Z). r(X, Y) :- r(Y, X). s(X, Y) :- r(Y, X). r(X, Y) :- e(X, Y).
        tri(X, Y, Z) :- e(X, Y), e(Y, Z), e(Z, X).
        u(X, Y) :- r(X, Y). u(X, Y) :- e(X, Y). n(X, N) :- e(X, _), AGGREGATE(u(X, Y) ON X BIND COUNT(Y) AS N).
        """,
        schemes="scheme",
        cyclic="hypertree",
    )
    kb.add("e", [(1, 2), (2, 3), (3, 1), (3, 4)])
    for name in ("r", "s", "tri", "u", "n"):
        for row in kb.facts(name):
            (proof,) = kb.explain(name, row).proofs
            waiting = [proof]
            while waiting:
                one = waiting.pop()
                assert "#" not in f"{one.fact} {one.rule} {one.bindings} {one.premises}"
                waiting += one.parts()


def test_limits_of_the_search() -> None:
    kb = KnowledgeBase("p(X) :- q(X, Y), r(Y). r(Y) :- q(_, Y).", tuning=Tuning(explain_max_instances=20))
    kb.add("q", [(1, i) for i in range(100)])
    with pytest.raises(LimitReached, match="more than 20 rule instances; explain one of the premises"):
        kb.explain("p(1)")
    assert kb.explain("r(5)").height == 1


def test_failed_expressions_of_a_search_do_not_count() -> None:
    kb = KnowledgeBase("v(1). v(0). v(2). w(Y) :- v(X), BIND(4 / X AS Y). w(9.0).")
    kb.materialise()
    failed = kb.report.failed_expressions
    assert failed == 1
    kb.explain("w(2.0)")
    kb.explain("w(7.0)")
    assert kb.report.failed_expressions == failed


def test_a_knowledge_base_that_is_not_materialised() -> None:
    assert KnowledgeBase(PATHS, max_facts=100).explain("path(a, d)").holds
    stopped = KnowledgeBase(PATHS, max_facts=4)
    stopped.materialise(partial=True)
    with pytest.raises(LimitReached):
        stopped.explain("path(a, d)")


# Why not.


def test_the_longest_part_of_a_body() -> None:
    kb = KnowledgeBase(
        """
        chair(X) :- person(X), heads(X, D), department(D).
        person(ann). heads(ann, math). person(bob). faculty(math).
        """
    )
    (attempt,) = kb.explain("chair(ann)").attempts
    assert [str(premise.fact) for premise in attempt.satisfied if isinstance(premise, Proof)] == [
        "person(ann)",
        "heads(ann, math)",
    ]
    assert (attempt.failed, attempt.bindings) == ("department(math)", {"X": "ann", "D": "math"})
    (attempt,) = kb.explain("chair(bob)").attempts
    assert attempt.failed == "heads(bob, ?D)"
    assert attempt.needed == "a fact heads(bob, ?D)"


def test_a_literal_in_the_middle_that_fails() -> None:
    kb = KnowledgeBase("h(X) :- p(X, Y), q(Y), r(Y), s(Y). p(1, 1). p(1, 2). q(1). r(2). s(2).")
    (attempt,) = kb.explain("h(1)").attempts
    assert attempt.failed == "q(2)"
    assert len(attempt.satisfied) == 3


def test_conditions_that_fail() -> None:
    kb = KnowledgeBase(
        """
        age(ann, 20). gone(ann). two(X) :- age(X, A), NOT gone(X). old(X) :- age(X, A), A > 30.
        next(X, B) :- age(X, A), BIND(A + 1 AS B). n(X, N) :- AGGREGATE(age(X, A) ON X BIND COUNT(A) AS N).
        """
    )
    found = {fact: kb.explain(fact).attempts[0] for fact in ("two(ann)", "old(ann)", "next(ann, 30)", "n(ann, 3)")}
    assert [(attempt.failed, attempt.needed) for attempt in found.values()] == [
        ("NOT gone(ann)", "no fact gone(ann)"),
        ("?A > 30", "other values: 20 > 30 is not true"),
        ("BIND(?A + 1 AS ?B)", "20 + 1 is 21, and 30 is needed"),
        ("AGGREGATE(age(?X, ?A) ON ?X BIND COUNT(?A) AS ?N)", "the group has ?N = 1, and ?N = 3 is needed"),
    ]


def test_missing_premises_in_turn() -> None:
    kb = KnowledgeBase("a(X) :- b(X). b(X) :- c(X), d(X). c(1). a(X) :- a(X).")
    first, second = kb.explain("a(1)").attempts
    assert first.nested == second.nested == ()
    first, second = kb.explain("a(1)", depth=3).attempts
    (nested,) = first.nested
    assert nested.atom == "b(1)"
    (below,) = nested.attempts
    assert (below.failed, below.nested[0].reason) == ("d(1)", "it is not explicit, and no rule derives d/1")
    assert second.nested[0].reason == "it would rest on itself: see above"


@pytest.mark.parametrize(
    ("fact", "kind", "text"),
    [
        ("pth(a, b)", "spelling", "there is no predicate pth/2, but there is path/2"),
        ("Path(a, b)", "spelling", "there is no predicate Path/2, but there is path/2"),
        ("qqq(a)", "unknown predicate", "no rule and no fact mentions qqq/1"),
        ("path(a)", "arity", "path has 2 arguments, and not 1"),
        ("none(a)", "empty predicate", "none/1 has no facts"),
        ("path(d, a)", "direction", "path(a, d) holds, the other way round"),
        ("path(a, gamme)", "spelling", "path(a, gamma) holds"),
        ('path(a, "GAMMA")', "spelling", "path(a, gamma) holds"),
        ("n(1)", "type", 'n("1") holds: "1" (a string) is not 1 (an integer)'),
        ("n(2.0)", "type", "n(2) holds: 2 (an integer) is not 2.0 (a double)"),
        ('n("2")', "type", 'n(2) holds: 2 (an integer) is not "2" (a string)'),
        ("n(3)", "type", "n(3.0) holds: 3.0 (a double) is not 3 (an integer)"),
        (
            "n(<http://e.x/a>)",
            "type",
            'n("http://e.x/a") holds: "http://e.x/a" (a string) is not <http://e.x/a> (an IRI)',
        ),
    ],
)
def test_near_misses(fact: str, kind: str, text: str) -> None:
    kb = KnowledgeBase(
        f'{PATHS} path(a, gamma). n("1"). n(2). n(3.0). n("http://e.x/a"). path(X, Y) :- none(X), path(X, Y).'
    )
    explanation = kb.explain(fact)
    assert not explanation.holds
    assert (kind, text) in [(near.kind, near.text) for near in explanation.near]


def test_typed_literals_are_near() -> None:
    kb = KnowledgeBase("q(1).")
    kb.add("p", [(Literal("7", "http://www.w3.org/2001/XMLSchema#int"),)])
    (near,) = kb.explain("p(7)").near
    assert near.kind == "type"
    assert near.text.endswith("(int) is not 7 (an integer)")


# What for.


def test_consequences_are_what_would_go() -> None:
    kb = KnowledgeBase(PATHS)
    change = kb.consequences("edge(b, c)")
    removed = {name: sorted(rows) for name, rows in change.removed.items()}
    assert removed == {"edge": [("b", "c")], "path": [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")]}
    assert kb.explain("path(a, d)").holds
    assert set(kb.update(remove={"edge": [("b", "c")]}).removed["path"]) == set(removed["path"])


def test_consequences_of_a_fact_that_is_derived_too() -> None:
    kb = KnowledgeBase("p(1). q(1). p(X) :- q(X). r(X) :- p(X).")
    assert not kb.consequences("p", (1,)).removed
    assert sorted(kb.consequences("q(1)").removed) == ["q"]


def test_consequences_of_a_triple() -> None:
    removed = KnowledgeBase(RDF).consequences("[<http://e.x/i>, rdf:type, :A]").removed
    assert sorted(removed) == ["http://e.x/A", "http://e.x/B", "http://e.x/C"]


@pytest.mark.parametrize("fact", ["path(a, d)", "edge(d, a)", "nothing(1)"])
def test_consequences_of_what_is_not_explicit(fact: str) -> None:
    with pytest.raises(UsageError, match="not an explicit fact"):
        KnowledgeBase(PATHS).consequences(fact)
