"""Warnings: when they are given, once, at the user's line, and to whom they are not given."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from deltalog import IRI, DataWarning, DeltalogWarning, KnowledgeBase, UsageError
from deltalog.apps.cli.main import main

PATH = "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z)."
RDF = "PREFIX : <http://e.org/> big(X) :- :Dog(X), :owner(X, _)."


def given(act: Callable[[], object]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        act()
    return found


def of_data(rules: str, **facts: list[tuple[object, ...]]) -> list[str]:
    """The warnings of the first reading."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeltalogWarning)
        kb = KnowledgeBase(rules)
    for name, rows in facts.items():
        kb.add(name.replace("__", "://e.org/"), [tuple(map(IRI, row)) for row in rows] if "__" in name else rows)
    found = given(kb.materialise)
    assert given(kb.materialise) == [] and all(issubclass(each.category, DataWarning) for each in found)
    return [str(each.message) for each in found]


EDGE = [("a", "b")]


def test_a_warning_is_at_the_line_of_the_user() -> None:
    found = given(lambda: KnowledgeBase("p(X) :- q(X, Y), r(X)."))
    assert [each.filename for each in found] == [__file__] and found[0].category is DeltalogWarning
    assert str(found[0].message).startswith("<text>:1:14: Y occurs only once")


def test_of_many_the_first_are_shown_and_all_are_listed() -> None:
    rules = "\n".join(f"p{i}(X) :- q(X, Y), r(X)." for i in range(20))
    found = given(lambda: KnowledgeBase(rules))
    assert len(found) == 6 and "and 15 more" in str(found[-1].message)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kb = KnowledgeBase(rules)
    assert len(kb.warnings) == 20
    kb.remove_rules("r1")
    assert len(kb.warnings) == 19


def test_repeated_statements_are_told_with_the_first() -> None:
    found = given(lambda: KnowledgeBase("p(1). q(X) :- p(X). p(1). q(X) :- p(X)."))
    assert [str(each.message).splitlines()[::3] for each in found] == [
        ["<text>:1:21: this fact has been there before", "  It is also at <text>:1:1."],
        ["<text>:1:27: this rule has been there before", "  It is also at <text>:1:7."],
    ]


@pytest.mark.parametrize(
    ("rules", "facts", "said"),
    [
        (PATH, {"edge": EDGE}, None),
        (PATH, {}, None),  # nothing to compare with
        (PATH + " path(X, X) :- BIND(1 AS X).", {}, "there are no facts of `edge`"),  # there is something without facts
        (PATH + " none(1) :- NOT edge(1, 1).", {}, "<text>:1:15: there are no facts of `edge`"),
        ("few(N) :- AGGREGATE(q(X) BIND COUNT(*) AS N).  p(X) :- q(X).", {}, "<text>:1:56: there are no facts of `q`"),
        ("most(N) :- AGGREGATE(q(X) BIND MAX(X) AS N).  p(X) :- q(X).", {}, None),
        (PATH, {"Edge": EDGE}, "Did you mean `Edge`?"),
        (PATH, {"egde": EDGE}, "Did you mean `egde`?"),
        (PATH, {"http__edge": EDGE}, "Did you mean `http://e.org/edge`?"),
        (PATH, {"edge": [("a", "b", "c")]}, "with 3 arguments"),
        (PATH, {"other": EDGE}, "there are no facts of `edge`"),
        (PATH, {"edge": [], "other": EDGE}, None),  # given, and empty
        ("p(X) :- q1(X). q(X) :- q2(X).", {"q1": [(1,)], "q3": [(1,)]}, "If it is meant to be empty"),
        ("p(X) :- q(X), NOT r(X).", {"q": [(1,)]}, None),
        ("p(X) :- q(X), NOT rare(X).", {"q": [(1,)], "Rare": [(1,)]}, "Did you mean `Rare`?"),
        ("p(X) :- q(X), concat(X, X).", {"q": [(1,)]}, "FILTER(concat(...))"),
        (RDF, {"http__Dog": [("a",)]}, None),  # data rarely have all of a vocabulary
        (RDF, {"http__Dog": [("a",)], "http__Owner": EDGE}, "Did you mean `http://e.org/Owner`?"),
        (RDF, {"http__cat": [("a",)]}, "none of the classes and properties"),
        ("[?x, ?q, ?y] :- [?x, ?p, ?y], sub(?p, ?q). " + RDF, {"sub": EDGE}, None),  # any may be derived
    ],
)
def test_predicates_without_facts(rules: str, facts: dict[str, list[tuple[object, ...]]], said: str | None) -> None:
    found = of_data(rules, **facts)
    assert (len(found) == 0) if said is None else (len(found) == 1 and said in found[0]), found


def test_updates_wait_for_all_data_and_rules_are_compared() -> None:
    kb = KnowledgeBase("p(X) :- q(X), r(X).")
    assert given(lambda: kb.update(add={"q": [(1,)]})) == []
    assert given(lambda: kb.update(add={"r": [(1,)]})) == []
    assert given(lambda: kb.facts("p")) == []
    assert "Did you mean `q`" in str(given(lambda: kb.add_rules("s(X) :- Q(X)."))[0].message)
    assert given(lambda: kb.frozen().query("s(?x)")) == []


def test_rules_of_others_are_not_looked_at() -> None:
    kb = KnowledgeBase(Path("@rdfs"))
    kb.add("http://e.org/p", [tuple(map(IRI, row)) for row in EDGE])
    assert given(kb.materialise) == [] and kb.warnings == []


def test_ill_typed_literals_of_data_are_counted(tmp_path: Path) -> None:
    integer = "<http://www.w3.org/2001/XMLSchema#integer>"
    lines = [f'<http://e.org/{i}> <http://e.org/p> "x{i}"^^{integer} .' for i in range(5)]
    (tmp_path / "data.nt").write_text("\n".join(lines) + "\n")
    kb = KnowledgeBase("")
    kb.load(tmp_path)
    assert "5 literals have texts" in str(given(lambda: kb.facts("http://e.org/p"))[0].message)


def test_a_warning_that_is_an_error_stops_a_change() -> None:
    kb = KnowledgeBase("")
    with warnings.catch_warnings(), pytest.raises(DeltalogWarning):
        warnings.simplefilter("error")
        kb.add_rules("p(x) :- q(x).")
    assert kb.rules == ()


def test_names_of_predicates_have_prefixes() -> None:
    kb = KnowledgeBase(RDF)
    rex = IRI("http://e.org/rex")
    kb.add(":Dog", [(rex,)])
    kb.update(add={":owner": [(rex, "ann")]})
    assert kb.count(":Dog") == kb.count("http://e.org/Dog") == kb.count("big") == 1
    assert list(kb.explain(":Dog", (rex,)).fact.values) == [rex]
    with pytest.raises(UsageError, match="the prefix of ':Dog' is not declared"):
        KnowledgeBase("").add(":Dog", [(rex,)])
    with pytest.raises(UsageError, match=r"did you mean 'http://e\.org/Dog'"):
        kb.facts("ex:dog")


def test_rules_that_are_not_there() -> None:
    kb = KnowledgeBase(PATH)
    kb.remove_rules("r1")
    with pytest.raises(UsageError, match="there is no rule r1 any more; there are r2"):
        kb.remove_rules("r1")
    with pytest.raises(UsageError, match="did you mean r2"):
        kb.remove_rules("path(X, Z) :- path(X, Y), edge(Z, Y).")
    with pytest.raises(UsageError, match=r'pass Path\("rules.dl"\)'):
        KnowledgeBase("rules.dl")


def test_commands_show_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, data = tmp_path / "p.dl", tmp_path / "Edge.csv"
    program.write_text("path(X, Y) :- edge(X, Y), edge(Y, Z).")
    data.write_text("a,b\n")
    for command in (["run"], ["run", "-q"], ["query"], ["check"]):
        goal = ["path(a, ?x)"] if command == ["query"] else []
        assert main([*command, str(program), *goal, "--data", str(data)]) == 0
        said = capsys.readouterr().err
        assert ("Z occurs only once" in said) is ("-q" not in command) and "Did you mean `Edge`?" in said
    assert main(["run", str(program)]) == 0
    assert "no facts, so nothing can be derived" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run", str(program), "--dta", str(data)])
    assert "did you mean --data?" in capsys.readouterr().err
