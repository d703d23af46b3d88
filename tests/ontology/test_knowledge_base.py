"""Ontologies of a knowledge base: files and facts that bring axioms, contradictions, stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltalog import IRI, DataError, KnowledgeBase, UsageError
from deltalog.extensions.ontology.vocabulary import RDFS, SAME_AS

E = "http://example.org/"
SUB_CLASS = RDFS + "subClassOf"
PREFIXES = """@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""


def iri(name: str) -> IRI:
    return IRI(E + name)


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    path = tmp_path / "zoo.ttl"
    path.write_text(f"{PREFIXES}:Cat rdfs:subClassOf :Animal ; owl:disjointWith :Dog . :tom a :Cat .")
    return path


@pytest.fixture
def more(tmp_path: Path) -> Path:
    path = tmp_path / "more.ttl"
    path.write_text(f"{PREFIXES}:Animal rdfs:subClassOf :Being . :tom a :Cat . :eats rdfs:domain :Animal .")
    return path


def members(kb: KnowledgeBase, name: str) -> set[str]:
    return {str(row[0]).removeprefix(E) for row in kb.facts(E + name)} if E + name in kb.predicates else set()


def test_an_ontology_becomes_rules_and_facts(zoo: Path, engine: str) -> None:
    kb = KnowledgeBase(ontology=zoo, engine=engine)
    kb.add(E + "Cat", [(iri("kitty"),)])
    assert members(kb, "Animal") == {"tom", "kitty"}
    assert next(str(rule) for rule in kb.rules) == f"<{E}Animal>(?x) :- <{E}Cat>(?x) ."
    assert kb.query(":Animal[:tom]"), "prefixes of the ontology"
    assert kb.explicit_facts == 2, "axioms are no facts"


def test_an_ontology_and_a_program(zoo: Path) -> None:
    kb = KnowledgeBase("PREFIX : <http://example.org/>  :Pet[?x] :- :Animal[?x], :owner[?x, ?y] .", ontology=[zoo])
    kb.add(E + "owner", [(iri("tom"), iri("eve"))])
    assert members(kb, "Pet") == {"tom"}


def test_ontologies_come_and_go(zoo: Path, more: Path, engine: str) -> None:
    kb = KnowledgeBase(engine=engine)
    assert kb.load_ontology(zoo) is None, "nothing is materialised yet"
    kb.materialise()
    change = kb.load_ontology(more)
    assert change is not None
    assert {name: list(change.added[name]) for name in change.added} == {E + "Being": [(iri("tom"),)]}
    change = kb.remove_ontology(zoo)
    assert change is not None
    assert set(change.removed) == {E + "Animal", E + "Being"}
    assert members(kb, "Cat") == {"tom"}, "the other file says so, too"
    kb.remove_ontology(more)
    assert members(kb, "Cat") == set()
    assert kb.rules == ()


def test_rules_and_facts_of_the_user_stay(zoo: Path) -> None:
    rule = f"<{E}Animal>(?x) :- <{E}Cat>(?x) ."
    kb = KnowledgeBase(rule, ontology=zoo)
    kb.add(E + "Cat", [(iri("tom"),)])
    kb.materialise()
    kb.remove_ontology(zoo)
    assert [str(each) for each in kb.rules] == [rule]
    assert members(kb, "Animal") == {"tom"}


def test_facts_that_an_ontology_states_stay_as_long_as_it_does(zoo: Path) -> None:
    kb = KnowledgeBase(ontology=zoo)
    kb.update(remove={E + "Cat": [(iri("tom"),)]})
    assert members(kb, "Cat") == {"tom"}
    kb.update(add={E + "Cat": [(iri("tom"),)]})
    kb.remove_ontology(zoo)
    assert members(kb, "Cat") == {"tom"}


def test_axioms_among_facts(zoo: Path, engine: str) -> None:
    kb = KnowledgeBase(ontology=zoo, engine=engine)
    kb.materialise()
    assert kb.what_if(add={SUB_CLASS: [(iri("Cat"), iri("Pet"))]}).added[E + "Pet"]
    assert members(kb, "Pet") == set()
    change = kb.update(add={SUB_CLASS: [(iri("Cat"), iri("Pet"))]})
    assert list(change.added[E + "Pet"]) == [(iri("tom"),)]
    change = kb.update(remove={SUB_CLASS: [(iri("Cat"), iri("Pet"))]})
    assert list(change.removed[E + "Pet"]) == [(iri("tom"),)]
    assert members(kb, "Animal") == {"tom"}, "that axiom is of the file"


def test_axioms_in_data_files(more: Path) -> None:
    kb = KnowledgeBase(profile="owl2rl")
    kb.add(E + "eats", [(iri("a"), iri("b"))])
    kb.load(more)
    assert members(kb, "Being") == {"a"}


def test_equality_follows_the_data(tmp_path: Path) -> None:
    kb = KnowledgeBase(profile="owl2rl")
    kb.update(add={E + "p": [(iri("a"), 1)]})
    assert kb.rules == ()
    kb.update(add={SAME_AS: [(iri("a"), iri("b"))]})
    assert (iri("b"), 1) in kb.facts(E + "p")
    kb.update(add={E + "q": [(iri("b"), iri("a"))]})
    assert len(kb.facts(E + "q")) == 4
    kb.update(remove={SAME_AS: [(iri("a"), iri("b"))]})
    assert len(kb.facts(E + "q")) == 1


def test_inconsistencies(zoo: Path, engine: str) -> None:
    kb = KnowledgeBase(ontology=zoo, engine=engine)
    assert kb.inconsistencies == []
    kb.update(add={E + "Dog": [(iri("tom"),), (iri("rex"),)]})
    (found,) = kb.inconsistencies
    assert found.individual == iri("tom") and found.axiom == "DisjointClasses(:Cat :Dog)"
    assert found.facts == ((E + "Cat", (iri("tom"),)), (E + "Dog", (iri("tom"),)))
    assert found.rule in kb.rules
    assert found.fact[1] in kb.facts(found.fact[0])
    assert str(found) == f"<{E}tom> contradicts DisjointClasses(:Cat :Dog): <{E}Cat>(<{E}tom>), <{E}Dog>(<{E}tom>)"
    assert members(kb, "Animal") == {"tom"}, "the rest is as it was"
    kb.update(remove={E + "Dog": [(iri("tom"),)]})
    assert kb.inconsistencies == []


def test_contradictions_of_ready_made_rules(tmp_path: Path) -> None:
    skos = "http://www.w3.org/2004/02/skos/core#"
    kb = KnowledgeBase("@skos")
    kb.add(skos + "broader", [(iri("a"), iri("b")), (iri("b"), iri("c"))])
    kb.add(skos + "related", [(iri("c"), iri("a"))])
    assert {str(row[0]) for row in kb.facts(skos + "Concept")} == {E + name for name in "abc"}
    assert [each.axiom[:3] for each in kb.inconsistencies] == ["S27"]


def test_contradictions_of_rules_of_the_user() -> None:
    kb = KnowledgeBase('inconsistent(?x, "no loops") :- p(?x, _, ?x), q(_, ?y), ?y > 1 .')
    kb.add("p", [("a", 1, "a"), ("b", 1, "c")])
    kb.add("q", [(7, 2), (8, 1)])
    kb.add("inconsistent", [("z", "as given")])
    found = {each.individual: each for each in kb.inconsistencies}
    assert found["a"].facts == (("p", ("a", 1, "a")), ("q", (7, 2)))
    assert found["z"].rule is None and found["z"].axiom == "as given"
    assert len(found) == 2


def test_rdfs(tmp_path: Path) -> None:
    path = tmp_path / "mixed.ttl"
    path.write_text(
        f"{PREFIXES}:Cat rdfs:subClassOf :Animal . :p a owl:SymmetricProperty ; rdfs:range :Cat . :a :p :b ."
    )
    kb = KnowledgeBase(ontology=path, profile="rdfs")
    assert members(kb, "Animal") == {"b"}
    assert len(kb.facts(E + "p")) == 1
    assert kb.ontology is not None
    assert [entry.axiom for entry in kb.ontology.compiled.outside] == ["SymmetricProperty(:p)"]


def test_axioms_stay_facts_under_the_generic_rules(zoo: Path, more: Path) -> None:
    kb = KnowledgeBase(ontology=zoo, profile="owl2rl-rdf")
    assert (iri("Cat"), iri("Animal")) in kb.facts(SUB_CLASS)
    kb.load_ontology(more)
    assert (iri("Cat"), iri("Being")) in kb.facts(SUB_CLASS)
    assert members(kb, "Being") == {"tom"}


def test_a_store_keeps_the_ontology(zoo: Path, more: Path, tmp_path: Path) -> None:
    kb = KnowledgeBase(f"<{E}Pet>(?x) :- <{E}Cat>(?x) .", ontology=zoo)
    kb.add(E + "Cat", [(iri("kitty"),)])
    kb.save(tmp_path / "store")
    kb.load_ontology(more)
    kb.close()
    zoo.unlink()
    with KnowledgeBase.open(tmp_path / "store") as kb:
        assert members(kb, "Being") == {"tom", "kitty"}
        kb.update(add={SUB_CLASS: [(iri("Being"), iri("Thing"))]})
        assert members(kb, "Thing") == {"tom", "kitty"}
        kb.remove_ontology(more)
        assert members(kb, "Being") == set()
    with KnowledgeBase.open(tmp_path / "store") as kb:
        assert members(kb, "Being") == set()
        kb.remove_ontology(zoo)
        assert members(kb, "Cat") == {"kitty"}
        assert members(kb, "Pet") == {"kitty"}
        assert [str(rule) for rule in kb.rules] == [
            f"<{E}Pet>(?x) :- <{E}Cat>(?x) .",
            f"<{E}Thing>(?x) :- <{E}Being>(?x) .",
        ]


def test_combinations_of_alternatives_are_limited(tmp_path: Path) -> None:
    path = tmp_path / "many.ttl"
    unions = " ".join(f"[ owl:unionOf ( {' '.join(f':C{n}_{m}' for m in range(10))} ) ]" for n in range(12))
    path.write_text(f"{PREFIXES}[ owl:intersectionOf ( {unions} ) ] rdfs:subClassOf :D . :A rdfs:subClassOf :B .")
    kb = KnowledgeBase(ontology=path)
    assert len(kb.rules) == 1
    assert kb.ontology is not None
    assert ["too many combinations" in str(entry.losses) for entry in kb.ontology.compiled.outside] == [True]


def test_refusals(zoo: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no profile 'owl3' of ontologies; choose one of owl2rl, rdfs, owl2rl-rdf"):
        KnowledgeBase(profile="owl3")
    with pytest.raises(DataError, match="no such file"):
        KnowledgeBase(ontology=tmp_path / "none.ttl")
    (tmp_path / "a.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="expected an ontology as RDF"):
        KnowledgeBase(ontology=tmp_path / "a.csv")
    kb = KnowledgeBase(ontology=zoo)
    with pytest.raises(UsageError, match="has the profile owl2rl"):
        kb.load_ontology(zoo, profile="rdfs")
    with pytest.raises(UsageError, match=r"no such ontology was loaded; loaded: .*zoo\.ttl"):
        kb.remove_ontology(tmp_path / "other.ttl")


def test_ready_made_rules() -> None:
    kb = KnowledgeBase("@rdfs")
    kb.add(SUB_CLASS, [(iri("A"), iri("B"))])
    kb.add(E + "A", [(iri("x"),)])
    assert kb.query(f"<{E}B>(?x)")
    with pytest.raises(UsageError, match="no ready-made rules @owl3; choose one of @owl2rl, "):
        KnowledgeBase("@owl3")


def test_eq_ref_is_a_choice() -> None:
    for rules, count in ((["@owl2rl"], 0), (["@owl2rl", "@owl2rl-eq-ref"], 1)):
        kb = KnowledgeBase(rules)
        kb.add(E + "p", [(iri("x"), 1)])
        assert len(kb.query(f"<{SAME_AS}>(<{E}x>, <{E}x>)")) == count


def test_datatypes_of_the_generic_rules(tmp_path: Path) -> None:
    path = tmp_path / "data.ttl"
    path.write_text(
        f"{PREFIXES}@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
        ":age rdfs:range xsd:byte . :a :age 5 . :b :age 500 .\n"
        ':c :p "x"^^xsd:int . :name a owl:FunctionalProperty . :d :name "x" , "y" . :e :name 1 , 1.0 .\n'
        ":f :q 2 . :g :r 2.0 . :Two owl:onProperty :q ; owl:someValuesFrom xsd:decimal ."
    )
    kb = KnowledgeBase(ontology=path, profile="owl2rl-rdf")
    assert {(str(each.individual).removeprefix(E), each.axiom) for each in kb.inconsistencies} == {
        ("b", "dt-not-type"),
        ("c", "dt-not-type"),
        ("d", "dt-diff"),
    }
    assert {repr(row[1]) for row in kb.facts(E + "q")} == {"2", "Decimal('2')"}
    assert members(kb, "Two") == {"f"}


def test_what_a_named_graph_has_stays_when_the_ontology_goes(tmp_path: Path) -> None:
    path = tmp_path / "ontology.ttl"
    path.write_text("@prefix : <http://example.org/> . :x a :A . :y a :A .")
    kb, name = KnowledgeBase(ontology=path), "http://example.org/A"
    x, y, graph = (IRI(f"http://example.org/{each}") for each in "xyg")
    kb.update(add={name: [(x,)]}, graph=graph)
    change = kb.remove_ontology(path)
    assert change is not None
    assert list(change.removed[name]) == [(y,)]
    assert list(kb.facts(name)) == [(x,)]
    kb.update(remove={name: [(x,)]}, graph=graph)
    assert list(kb.facts(name)) == []


def test_rules_in_the_place_of_as_many_others_bring_their_predicates(tmp_path: Path) -> None:
    path = tmp_path / "ontology.ttl"
    kb = KnowledgeBase()
    kb.materialise()
    for name in ("A", "C"):
        axiom = f":{name} <{RDFS}subClassOf> :{name}2 . :i <{SAME_AS}> :j ."
        path.write_text(f"@prefix : <http://example.org/> . {axiom}")
        kb.load_ontology(path)
        assert f"http://example.org/{name}" in kb.predicates
        assert list(kb.query(f":{name}[?x]")) == []


# What users and ontologies state, both.

GIVING = {
    "update": lambda kb: kb.update(add={E + "Cat": [(iri("tom"),)]}),
    "add": lambda kb: kb.add(E + "Cat", [(iri("tom"),)]),
    "rules": lambda kb: kb.add_rules(f"<{E}Cat>(<{E}tom>) ."),
    "INSERT DATA": lambda kb: kb.sparql_update(f"INSERT DATA {{ <{E}tom> a <{E}Cat> }}"),
    "INSERT WHERE": lambda kb: kb.sparql_update(f"INSERT {{ ?x a <{E}Cat> }} WHERE {{ ?x a <{E}Animal> }}"),
    "with another": lambda kb: kb.sparql_update(f"INSERT DATA {{ <{E}tom> a <{E}Cat> . <{E}kit> a <{E}Cat> }}"),
    "deleted before": lambda kb: kb.sparql_update(
        f"DELETE DATA {{ <{E}tom> a <{E}Cat> }} ; INSERT DATA {{ <{E}tom> a <{E}Cat> }}"
    ),
}


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("way", GIVING)
def test_what_the_user_states_outlives_the_ontology(way: str, stored: bool, zoo: Path, tmp_path: Path) -> None:
    kb = KnowledgeBase(ontology=zoo)
    kb.materialise()
    GIVING[way](kb)
    if stored:
        kb.save(tmp_path / "store")
        kb.close()
        kb = KnowledgeBase.open(tmp_path / "store")
    kb.remove_ontology(zoo)
    assert "tom" in members(kb, "Cat")
    kb.update(remove={E + "Cat": [(iri("tom"),)]})
    assert "tom" not in members(kb, "Cat")
    kb.close()


@pytest.mark.parametrize("way", ["update", "DELETE DATA"])
def test_a_fact_that_both_state_stays_the_ontology_s(way: str, zoo: Path) -> None:
    kb = KnowledgeBase(ontology=zoo)
    kb.update(add={E + "Cat": [(iri("tom"),)]})
    removing = {
        "update": lambda: kb.update(remove={E + "Cat": [(iri("tom"),)]}),
        "DELETE DATA": lambda: kb.sparql_update(f"DELETE DATA {{ <{E}tom> a <{E}Cat> }}"),
    }
    change = removing[way]()
    assert members(kb, "Cat") == {"tom"}
    assert any("the ontology states this" in note for note in change.notes)
    kb.remove_ontology(zoo)
    assert members(kb, "Cat") == set()


def test_rules_that_the_user_gives_outlive_the_ontology(zoo: Path) -> None:
    rule = f"<{E}Animal>(?x) :- <{E}Cat>(?x) ."
    kb = KnowledgeBase(ontology=zoo)
    kb.materialise()
    with pytest.raises(UsageError, match="is a rule of the ontology, SubClassOf"):
        kb.remove_rules(rule)
    kb.add_rules(rule)
    (note,) = kb.remove_rules(rule).notes
    assert "stays" in note
    assert members(kb, "Animal") == {"tom"}
    kb.add_rules(rule)
    kb.remove_ontology(zoo)
    assert [str(each) for each in kb.rules] == [rule]


REMOVING = {
    "update": lambda kb: kb.update(remove={SUB_CLASS: [(iri("Cat"), iri("Animal"))]}),
    "remove": lambda kb: kb.remove(SUB_CLASS, [(iri("Cat"), iri("Animal"))]),
    "DELETE DATA": lambda kb: kb.sparql_update(f"DELETE DATA {{ <{E}Cat> <{SUB_CLASS}> <{E}Animal> }}"),
    "DELETE, with graphs": lambda kb: kb.sparql_update(
        f"INSERT DATA {{ GRAPH <{E}g> {{ <{E}a> <{E}likes> <{E}b> }} }} ;"
        f"DELETE DATA {{ <{E}Cat> <{SUB_CLASS}> <{E}Animal> }}"
    ),
}


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("way", REMOVING)
def test_axioms_of_files_are_removed_as_facts(way: str, stored: bool, zoo: Path, tmp_path: Path) -> None:
    kb = KnowledgeBase(ontology=zoo)
    kb.materialise()
    if stored:
        kb.save(tmp_path / "store")
    REMOVING[way](kb)
    assert members(kb, "Animal") == set()
    assert members(kb, "Cat") == {"tom"}
    if stored:
        kb.close()
        kb = KnowledgeBase.open(tmp_path / "store")
        assert members(kb, "Animal") == set()
    (note,) = kb.update(remove={SUB_CLASS: [(iri("Cat"), iri("Animal"))]}).notes
    assert "no ontology file states this" in note
    kb.load_ontology(zoo)
    assert members(kb, "Animal") == {"tom"}
    kb.close()


def test_a_pattern_sees_that_an_axiom_was_deleted(zoo: Path) -> None:
    kb = KnowledgeBase(ontology=zoo)
    kb.sparql_update(
        f"DELETE DATA {{ <{E}Cat> <{SUB_CLASS}> <{E}Animal> }} ;"
        f"INSERT {{ ?x a <{E}Seen> }} WHERE {{ ?x a <{E}Animal> }}"
    )
    assert members(kb, "Seen") == set()


# Contradictions without a class of axioms.


@pytest.mark.parametrize(
    "text",
    [
        ":x owl:differentFrom :x .",
        ":a :p :b . [] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetIndividual :b .",
        ":a :p 5 . [] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetValue 5 .",
        "[] a owl:AllDifferent ; owl:members ( :a :b :a ) .",
        "[] a owl:AllDifferent ; owl:members ( :a ) ; owl:distinctMembers ( :b ) . :a owl:sameAs :b .",
    ],
)
@pytest.mark.parametrize("profile", ["owl2rl", "owl2rl-rdf"])
def test_contradictions(text: str, profile: str, tmp_path: Path, engine: str) -> None:
    if profile == "owl2rl-rdf" and "AllDifferent" in text:
        pytest.skip("the rules of the W3C compare lists of one kind, by owl:sameAs")
    path = tmp_path / "contradiction.ttl"
    path.write_text(PREFIXES + text)
    kb = KnowledgeBase(ontology=path, profile=profile, engine=engine)
    assert kb.inconsistencies


def test_differences_may_come_later(zoo: Path) -> None:
    kb = KnowledgeBase(
        "PREFIX owl: <http://www.w3.org/2002/07/owl#> owl:differentFrom[?x, ?y] :- apart(?x, ?y) .", ontology=zoo
    )
    kb.update(add={"apart": [(iri("a"), iri("a"))]})
    assert len(kb.inconsistencies) == 1
