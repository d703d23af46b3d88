"""Records that are built to be looked up, and where they are joined by their fields instead."""

from __future__ import annotations

from deltalog import KnowledgeBase
from deltalog.core.rules import Bind, Call, Rule
from deltalog.languages.load_program import read_documents

DECLARED = """
.type R = [a : number, b : number]
.type S = [r : R, n : number]
.type T = A { r : R, n : number } | B { n : number }
.decl p(r : R)
.decl n(x : number)
.decl m(x : number)
.decl pair(x : number, y : number)
.decl out(x : number, y : number)
n(1). n(2). n(3). m(3). m(4). pair(1, 3). pair(3, 4). pair(5, 5).
"""


def rules_for(text: str, head: str = "out") -> list[Rule]:
    rules = read_documents([DECLARED + text], language="souffle").rules
    return [rule for rule in rules if rule.heads[0].name == head and rule.body]


def builds(rule: Rule) -> bool:
    binds = (literal.expression for literal in rule.body if isinstance(literal, Bind))
    return any(isinstance(each, Call) and each.function == "souffle:record" for each in binds)


def test_fields_of_several_atoms_are_joined() -> None:
    [rule] = rules_for("out(x, y) :- n(x), m(y), p([x, y]).")
    assert not builds(rule)


def test_fields_of_one_atom_are_built() -> None:
    [rule] = rules_for("out(x, y) :- pair(x, y), p([x, y]).")
    assert builds(rule)


def test_fields_of_one_atom_are_joined_if_a_relation_of_fields_is_there() -> None:
    first, second = rules_for("out(x, y) :- pair(x, y), p([x, y]). out(x, 0) :- p([x, y]), y > x.")
    assert not builds(first) and not builds(second)
    assert first.reads & second.reads >= {pred for pred in first.reads if pred.hidden}


def test_fields_in_a_recursion_are_joined() -> None:
    [rule] = rules_for("p([y, x]) :- pair(x, y), p([x, y]).", "p")
    assert sum(isinstance(literal, Bind) for literal in rule.body) == 1  # for the head


def test_relations_in_order_keep_their_rules() -> None:
    documents = read_documents(
        [DECLARED + ".decl c(x : number, y : number) choice-domain x\nc(x, y) :- n(x), m(y), p([x, y])."],
        language="souffle",
    )
    [rule] = [rule for stage in documents.stages for rule in stage.rules if rule.body]
    assert builds(rule)


def test_results() -> None:
    text = """
    p([x, y]) :- n(x), m(y), x < y.
    .decl s(s : S)
    s([r, a]) :- p(r), r = [a, _].
    .decl t(t : T)
    t($A(r, 1)) :- p(r).
    t($B(x)) :- n(x).
    .decl nested(x : number, y : number)
    nested(x, y) :- n(x), m(y), s([[x, y], x]).
    .decl computed(x : number, y : number)
    computed(x, y) :- n(x), m(y), p([x + 1, y + 1]).
    .decl constant(x : number)
    constant(x) :- n(x), m(y), s([[x, 3], x]), p([x, y]).
    .decl branch(x : number, y : number)
    branch(x, y) :- n(x), m(y), t($A([x, y], 1)), t($B(x)).
    .decl all(x : number, y : number)
    all(x, y) :- n(x), m(y), p([x, y]), ! p([y, x]), s([[x, y], _]).
    """
    expected = {
        "nested": {(1, 3), (1, 4), (2, 3), (2, 4), (3, 4)},
        "computed": {(1, 3), (2, 3)},
        "constant": {(1,), (2,)},
        "branch": {(1, 3), (1, 4), (2, 3), (2, 4), (3, 4)},
        "all": {(1, 3), (1, 4), (2, 3), (2, 4), (3, 4)},
    }
    for engine in ("local", "naive"):
        kb = KnowledgeBase(DECLARED + text, language="souffle", engine=engine)
        assert {name: set(kb.facts(name)) for name in expected} == expected
