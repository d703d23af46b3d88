"""Equality by representatives, against its axioms."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from deltalog import IRI, KnowledgeBase
from deltalog.evaluation.equality.recognise import recognise_equality
from deltalog.evaluation.equality.rewrite import rewrite
from deltalog.knowledge_base.calls import session_of
from tests.ontology.closures import lines
from tests.ontology.equality_histories import EX, SAME_AS, History
from tests.ontology.random_ontologies import PREFIXES, RandomOntology, turtle

MAINTENANCE = ("auto", "dred", "bf", "counting")
SCHEMES = ("auto", "standard", "module", "scheme")
CYCLIC = ("combined", "standard", "hypertree")


def e(name: str) -> IRI:
    return IRI(EX + name)


def ontology(folder: Path, text: str) -> Path:
    path = folder / "ontology.ttl"
    path.write_text(PREFIXES + text)
    return path


def pair(folder: Path, text: str, rules: str = "") -> list[KnowledgeBase]:
    """Knowledge bases by axioms and by representatives."""
    path = ontology(folder, text)
    return [KnowledgeBase(rules, ontology=path, equality=each) for each in ("axioms", "representatives")]


def facts(kb: KnowledgeBase) -> dict[str, set[Any]]:
    return {name: set(kb.facts(name)) for name in kb.predicates}


def sizes(difference: Any) -> dict[str, int]:
    return {name.removeprefix(EX): len(rows) for name, rows in difference.items()}


# Against the axioms, and the naive engine.


@pytest.mark.parametrize("seed", range(30))
def test_histories(seed: int, tmp_path: Path) -> None:
    history = History(seed, tmp_path)
    for _ in range(6):
        history.step()
    history.close()


@pytest.mark.parametrize("seed", range(12))
def test_histories_with_other_settings(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    chosen = {"maintenance": MAINTENANCE, "schemes": SCHEMES, "cyclic": CYCLIC}
    history = History(500 + seed, tmp_path, **{name: random.choice(values) for name, values in chosen.items()})
    for _ in range(5):
        history.step()
    history.close()


@pytest.mark.parametrize("seed", range(8))
def test_the_naive_engine_agrees(seed: int, tmp_path: Path) -> None:
    made = RandomOntology(2_000 + seed, equality=True)
    path = tmp_path / "ontology.ttl"
    path.write_text(turtle(made.axioms(8), made.facts(14)))
    assert lines(KnowledgeBase(ontology=path)) == lines(KnowledgeBase(ontology=path, engine="naive"))


# Many names.

FUNCTIONAL = """
:p a owl:ObjectProperty, owl:FunctionalProperty . :q rdfs:subPropertyOf :r . :r rdfs:domain :A .
:A rdfs:subClassOf :B ; owl:disjointWith :D .
"""


@pytest.mark.parametrize("by", ["sameAs", "functional"])
def test_a_clique_is_linear(by: str, tmp_path: Path) -> None:
    n = 2_000
    names = [e(f"i{k}") for k in range(n)]
    links = {SAME_AS: list(pairwise(names))}
    links = links if by == "sameAs" else {EX + "p": [(e("x"), name) for name in names]}
    last = {pred: rows[-1:] for pred, rows in links.items()}
    kb = KnowledgeBase(ontology=ontology(tmp_path, FUNCTIONAL), max_facts=10 * n)
    kb.update(add={**links, EX + "q": [(name, e(f"o{k}")) for k, name in enumerate(names)]})
    assert len(kb.facts(SAME_AS)) == len(kb.facts(EX + "r")) == n * n
    assert len(kb.facts(EX + "B")) == n
    assert (names[7], e("o1999")) in kb.facts(EX + "r")
    assert len(list(kb.query(":r[?x, :o5]"))) == n
    change = kb.update(remove=last)
    expected = {"q": 2 * n - 2, "r": 2 * n - 2, SAME_AS: 2 * n - 1}  # two classes: n - 1 names, and one
    expected |= {"p": 1} if by == "functional" else {}
    assert sizes(change.removed) == expected
    assert sizes(kb.update(add=last).added) == expected


# Deletions.


def test_classes_that_justify_each_other_are_taken_apart(tmp_path: Path) -> None:
    text = ":p a owl:ObjectProperty, owl:FunctionalProperty . :q a owl:ObjectProperty, owl:FunctionalProperty ."
    kbs = pair(tmp_path, text)
    given = {
        EX + "p": [(e("x1"), e("a")), (e("x2"), e("b"))],
        EX + "q": [(e("a"), e("x1")), (e("b"), e("x2"))],
        SAME_AS: [(e("a"), e("b"))],
    }
    for kb in kbs:
        kb.update(add=given)
        assert (e("x1"), e("x2")) in kb.facts(SAME_AS)
        kb.update(remove={SAME_AS: given[SAME_AS]})
        assert len(kb.facts(SAME_AS)) == 0
    assert facts(kbs[0]) == facts(kbs[1])


def test_another_reason_keeps_a_class(tmp_path: Path) -> None:
    kb = pair(tmp_path, FUNCTIONAL)[1]
    kb.update(add={EX + "p": [(e("x"), e("a")), (e("x"), e("b")), (e("y"), e("a")), (e("y"), e("b"))]})
    change = kb.update(remove={EX + "p": [(e("x"), e("b"))]})
    assert sizes(change.removed) == {}
    assert sizes(kb.update(remove={EX + "p": [(e("y"), e("b"))]}).removed) == {"p": 2, SAME_AS: 4}


def test_a_removal_that_no_link_depends_on_takes_nothing_apart(tmp_path: Path) -> None:
    kb = pair(tmp_path, FUNCTIONAL)[1]
    kb.update(add={EX + "p": [(e("x"), e("a")), (e("x"), e("b"))], EX + "q": [(e("a"), e("c"))]})
    classes = session_of(kb).state.materialised.equal.classes  # type: ignore[union-attr]
    kb.update(remove={EX + "q": [(e("a"), e("c"))]})
    assert session_of(kb).state.materialised.equal.classes is classes  # type: ignore[union-attr]


# Names.


def test_rules_that_see_names(tmp_path: Path) -> None:
    rules = f"""PREFIX : <{EX}>
    other(?x, ?y) :- :A[?x], :A[?y], ?x != ?y .
    count(?n) :- AGGREGATE(:A[?x] BIND COUNT(?x) AS ?n) .
    text(?s) :- :A[?x], BIND(STR(?x) AS ?s) .
    adult(?x) :- :age[?x, ?a], ?a >= 18 .
    :A[?x] :- said(?x) .
    unsaid(?x) :- :A[?x], NOT said(?x) .
    """
    kbs = pair(tmp_path, FUNCTIONAL, rules)
    for kb in kbs:
        kb.update(add={SAME_AS: [(e("a"), e("b"))], "said": [(e("b"),)], EX + "age": [(e("a"), 20), (e("c"), 3)]})
        assert set(kb.facts("other")) == {(e("a"), e("b")), (e("b"), e("a"))}
        assert set(kb.facts("count")) == {(2,)}
        assert set(kb.facts("adult")) == {(e("a"),), (e("b"),)}
        assert set(kb.facts("unsaid")) == {(e("a"),)}
    assert facts(kbs[0]) == facts(kbs[1])


def test_a_key_of_names_joins_only_what_has_the_same_name(tmp_path: Path) -> None:
    rules = f"""PREFIX : <{EX}> PREFIX owl: <http://www.w3.org/2002/07/owl#>
    owl:sameAs[?y, ?z] :- given(?k, ?y), given(?k, ?z), :A[?k], ?y != ?z .
    """
    kbs = pair(tmp_path, FUNCTIONAL, rules)
    given = [(e("k1"), e("y1")), (e("k2"), e("y2")), (e("k2"), e("y3"))]
    for kb in kbs:
        kb.update(add={SAME_AS: [(e("k1"), e("k2"))], EX + "A": [(e("k1"),)], "given": given})
        assert (e("y2"), e("y3")) in kb.facts(SAME_AS)
        assert (e("y1"), e("y2")) not in kb.facts(SAME_AS)
    assert facts(kbs[0]) == facts(kbs[1])


def test_literals_and_wildcards_are_evaluated_by_axioms(tmp_path: Path) -> None:
    kbs = pair(tmp_path, FUNCTIONAL)
    for kb in kbs:
        kb.update(add={EX + "p": [(e("x"), "one"), (e("x"), "two")]})
    assert facts(kbs[0]) == facts(kbs[1])
    assert "a literal is the same as something else" in kbs[1].report.equality
    kbs[1].update(remove={EX + "p": [(e("x"), "one")]})
    assert len(kbs[1].facts(SAME_AS)) == 0
    wild = pair(tmp_path, FUNCTIONAL, "about(?x, ?p) :- [?x, ?p, ?y] .")
    for kb in wild:
        kb.update(add={SAME_AS: [(e("a"), e("b"))], EX + "q": [(e("a"), e("c"))]})
    assert "variable in the place of a predicate" in wild[1].report.equality
    assert facts(wild[0]) == facts(wild[1])


def test_equality_may_come_and_go(tmp_path: Path) -> None:
    kbs = pair(tmp_path, ":A rdfs:subClassOf :B .")
    link = {SAME_AS: [(e("a"), e("b"))]}
    for kb in kbs:
        kb.update(add={EX + "A": [(e("a"),)]})
        assert kb.report.equality == ""
        assert sizes(kb.update(add=link).added) == {"A": 1, "B": 1, SAME_AS: 4}
        assert kb.report.equality
        assert sizes(kb.update(remove=link).removed) == {"A": 1, "B": 1, SAME_AS: 4}
    assert facts(kbs[0]) == facts(kbs[1])


# With everything else.


def test_queries_explanations_and_files(tmp_path: Path) -> None:
    kbs = pair(tmp_path, FUNCTIONAL)
    found = []
    for number, kb in enumerate(kbs):
        kb.update(add={EX + "p": [(e("x"), e("a")), (e("x"), e("b"))], EX + "q": [(e("a"), e("c"))]})
        sparql = f"SELECT ?s ?p ?o WHERE {{ ?s ?p ?o . ?s a <{EX}B> }}"
        methods = ("auto", "magic", "qsqr")
        goals = [sorted(map(str, kb.query(":r[?x, ?y]", method=method))) for method in methods]
        solved = [sorted(map(str, kb.sparql(sparql, method=method))) for method in methods]
        what_if = sizes(kb.what_if(add={SAME_AS: [(e("b"), e("d"))]}).added)
        kb.write(tmp_path / str(number))
        files = {path.name: sorted(path.read_text().splitlines()) for path in (tmp_path / str(number)).iterdir()}
        derived = set(kb.derived(EX + "q"))
        found.append((goals, solved, what_if, files, derived, str(kb.explain(f"<{EX}B>(<{EX}b>)"))))
    assert found[0] == found[1]
    assert "owl:sameAs(:a, :b)" in found[1][-1]


def test_contradictions_have_all_names(tmp_path: Path) -> None:
    kbs = pair(tmp_path, FUNCTIONAL + "[] a owl:AllDifferent ; owl:members ( :a :b ) .")
    for kb in kbs:
        kb.update(add={EX + "p": [(e("x"), e("a")), (e("x"), e("b"))], EX + "A": [(e("a"),)], EX + "D": [(e("b"),)]})
    first, second = (sorted(map(str, kb.inconsistencies)) for kb in kbs)
    assert first == second
    assert len(first) == 4


def test_contradictions_of_many_names_are_linear(tmp_path: Path) -> None:
    n, text = 5_000, FUNCTIONAL + ":i1 owl:differentFrom :i2 . :q a owl:AsymmetricProperty ."
    kb = pair(tmp_path, text)[1]
    names = [e(f"i{k}") for k in range(n)]
    kb.update(add={EX + "p": [(e("x"), name) for name in names], EX + "q": [(e("i3"), e("i4"))]})
    found = kb.inconsistencies
    assert len(found) == 2 * n
    for each in (found[0], found[-1]):
        assert each.rule is not None
        assert each.facts
        assert all(fact in kb.facts(name) for name, fact in each.facts)


def test_goals_materialise(tmp_path: Path) -> None:
    kb = pair(tmp_path, FUNCTIONAL)[1]
    kb.add(SAME_AS, [(e("a"), e("b"))])
    kb.add(EX + "A", [(e("a"),)])
    answers = kb.query(":B[?x]")
    assert (answers.method, len(list(answers))) == ("materialised", 2)
    assert "representatives" in answers.reason


def test_a_store_keeps_equality(tmp_path: Path) -> None:
    kb = pair(tmp_path, FUNCTIONAL)[1]
    kb.update(add={EX + "p": [(e("x"), e("a")), (e("x"), e("b"))], EX + "A": [(e("a"),)]})
    kb.save(tmp_path / "store")
    kb.update(add={SAME_AS: [(e("b"), e("d"))]})
    kept = facts(kb)
    kb.close()
    for settings in ({}, {"equality": "axioms"}):
        with KnowledgeBase.open(tmp_path / "store", **settings) as opened:
            assert facts(opened) == kept
            assert opened.report.equality.startswith(settings.get("equality", "representatives"))
            change = opened.update(remove={EX + "p": [(e("x"), e("b"))]})
            assert sizes(change.removed)[SAME_AS] == 5
            opened.compact()
            opened.update(add={EX + "p": [(e("x"), e("b"))]})


def test_a_limit_leaves_everything_as_it_was(tmp_path: Path) -> None:
    from deltalog import LimitReached

    kb = KnowledgeBase(ontology=ontology(tmp_path, FUNCTIONAL), max_facts=12)
    kb.update(add={EX + "p": [(e("x"), e("a")), (e("x"), e("b"))], EX + "q": [(e("a"), e("c"))]})
    before = facts(kb)
    with pytest.raises(LimitReached):
        kb.update(add={EX + "q": [(e("b"), e(f"d{k}")) for k in range(20)]})
    assert facts(kb) == before


def test_what_a_limit_stops_is_kept_by_axioms(tmp_path: Path) -> None:
    for limit, complete in ((None, True), (12, False)):
        kb = KnowledgeBase(ontology=ontology(tmp_path, FUNCTIONAL), max_facts=limit)
        kb.add(SAME_AS, [(e("a"), e("b"))])
        kb.add(EX + "q", [(e("a"), e(f"d{k}")) for k in range(10)])
        report = kb.materialise(partial=True)
        assert report.complete is complete
        assert report.equality.startswith("representatives" if complete else "axioms")


# Rules.


def hubs(folder: Path, text: str) -> tuple[int, int]:
    """The numbers of hubs, and of links that are not by hubs."""
    equality = recognise_equality(KnowledgeBase(ontology=ontology(folder, text)).rules)
    assert equality is not None
    found = rewrite(equality, 6)
    return len(found.hubs), sum(rule.heads[0].name == "#link" for rule in found.rules)


@pytest.mark.parametrize(
    "axiom",
    [
        ":p a owl:ObjectProperty, owl:FunctionalProperty .",
        ":p a owl:InverseFunctionalProperty .",
        ":p a owl:FunctionalProperty .",
        ":p a owl:ObjectProperty . :A rdfs:subClassOf [ owl:onProperty :p ; owl:maxCardinality 1 ] .",
        ":A owl:hasKey ( :p :q ) .",
        "[ owl:unionOf ( :A :B ) ] rdfs:subClassOf [ owl:onProperty :p ; owl:maxCardinality 1 ] .",
    ],
)
def test_axioms_of_equality_have_hubs(axiom: str, tmp_path: Path) -> None:
    found, others = hubs(tmp_path, axiom)
    assert found >= 1
    assert others == 0


# All predicates of the program.


@pytest.mark.parametrize("settings", [{}, {"equality": "axioms"}, {"engine": "naive"}])
@pytest.mark.parametrize("late", [False, True])
def test_rules_of_users_derive_equality_and_properties(settings: dict[str, Any], late: bool, tmp_path: Path) -> None:
    rules = (
        f"PREFIX : <{EX}> PREFIX owl: <http://www.w3.org/2002/07/owl#>\n"
        + """
    owl:sameAs[?x, ?y] :- alias(?x, ?y) .
    :likes[?x, ?y] :- given(?x, ?y) .
    [?x, ?p, ?y] :- said(?x, ?p, ?y) .
    """
    )
    path = ontology(tmp_path, ":A rdfs:subClassOf :B .")
    kb = KnowledgeBase("" if late else rules, ontology=path, **settings)
    given = {"alias": [(e("a"), e("b"))], "given": [(e("x"), e("a"))], "said": [(e("a"), e("q"), e("c"))]}
    kb.update(add={**given, EX + "A": [(e("a"),)]})
    if late:
        kb.add_rules(rules)
    assert set(kb.facts(EX + "B")) == {(e("a"),), (e("b"),)}
    assert set(kb.facts(EX + "likes")) == {(e("x"), e("a")), (e("x"), e("b"))}
    assert set(kb.facts(EX + "q")) == {(e("a"), e("c")), (e("b"), e("c"))}
    assert set(kb.facts("alias")) == {(e("a"), e("b"))}, "a bare name is not a property"
    kb.remove_rules(f"<{SAME_AS}>(?x, ?y) :- alias(?x, ?y) .")
    assert set(kb.facts(EX + "B")) == {(e("a"),)}
    assert len(kb.facts(EX + "likes")) == 1


def test_parts_of_rules_are_explained(tmp_path: Path) -> None:
    rules = f"""PREFIX : <{EX}>
    size(?x, ?n) :- :C[?x], AGGREGATE(:q[?x, ?y] PER ?x BIND COUNT(?y) AS ?n) .
    alone(?x) :- :C[?x], NOT (:q[?x, ?y], :C[?y]) .
    """
    kbs = pair(tmp_path, FUNCTIONAL, rules)
    for kb in kbs:
        kb.update(add={EX + "C": [(e("a"),), (e("b"),)], EX + "q": [(e("b"), e("c"))], SAME_AS: [(e("b"), e("d"))]})
    for name, row in [
        ("size", (e("a"), 0)),
        ("size", (e("b"), 1)),
        ("size", (e("d"), 1)),
        ("alone", (e("d"),)),
        ("size", (e("a"), 3)),
    ]:
        first, second = (kb.explain(name, row) for kb in kbs)
        for shown in (first, second):
            for text in (str(shown), repr(shown.to_dict()), shown.to_svg(), shown.to_html(), shown.to_mermaid()):
                assert not any(
                    hidden in text for hidden in ("#per", "#not", "#given", "#some", "{per", "{not", "{given", "{some")
                )
        assert str(first).splitlines()[0] == str(second).splitlines()[0]
