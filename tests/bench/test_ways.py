"""Every way to run a benchmark gives the same facts on small programs; what it cannot express it says."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from benchmarks.measure import ways
from benchmarks.peers import CannotExpress
from deltalog.languages.deltalog.parser import parse

WAYS = [name for name in ways() if not name.startswith("spark")]  # it takes long to start, and has tests of its own


@dataclass(frozen=True)
class Case:
    program: str
    files: dict[str, str]
    facts: dict[str, set[tuple[str, ...]]]
    cannot: frozenset[str] = field(default_factory=frozenset)


def pairs(text: str) -> set[tuple[str, ...]]:
    """`a b, c d` as rows of strings."""
    return {tuple(f'"{cell}"' for cell in row.split()) for row in text.split(",")}


OWL = frozenset({"reasonable", "owlrl"})
CHAINS = frozenset({"reasonable"})  # it has no property chains

CASES = {
    "recursion": Case(
        "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), path(Y, Z).",
        {"edge.csv": "1,2\n2,3\n3,1\n4,1\n4,1\n"},
        {"path": {(a, b) for a in "1234" for b in "123"}},
    ),
    "given and derived facts of one predicate": Case(
        "pc(X, Y) :- cw(X, Z1), ca(X, Z2), pc(Z1, Y), pc(Z2, Y).",
        {"cw.csv": "a,b\ne,a\n", "ca.csv": "a,c\ne,a\n", "pc.csv": "b,d\nc,d\nc,f\n"},
        {"pc": pairs("b d, c d, c f, a d, e d")},
        cannot=OWL,
    ),
    "mutual recursion": Case(
        "even(Y) :- zero(X), next(X, Z), odd(Z), next(Z, Y).  even(X) :- zero(X).\n"
        "even(Y) :- odd(X), next(X, Y).  odd(Y) :- even(X), next(X, Y).",
        {"zero.csv": "0\n", "next.csv": "0,1\n1,2\n2,3\n3,4\n"},
        {"even": {("0",), ("2",), ("4",)}, "odd": {("1",), ("3",)}},
    ),
    "constants, repeated variables, several heads, facts": Case(
        "loop(X), seen(X, X) :- edge(X, X).  from_a(Y) :- edge(a, Y).  loop(z).  two(X) :- edge(X, b), edge(X, a).",
        {"edge.csv": "a,a\na,b\nb,c\n"},
        {"loop": pairs("a, z"), "seen": pairs("a a"), "from_a": pairs("a, b"), "two": pairs("a")},
        cannot=OWL,
    ),
    "equality": Case(
        "other(X, Y) :- edge(X, Y), X != Y.",
        {"edge.csv": "a,a\na,b\n"},
        {"other": pairs("a b")},
        cannot=OWL,
    ),
    "order of integers": Case(
        "up(X, Y) :- edge(X, Y), X < Y.  big(X) :- edge(X, _), X >= 3.",
        {"edge.csv": "1,2\n2,2\n3,1\n-5,3\n"},
        {"up": {("1", "2"), ("-5", "3")}, "big": {("3",)}},
        cannot=OWL,
    ),
    "negation": Case(
        "lonely(X) :- person(X), NOT knows(X, Y).  calm(X) :- person(X), NOT lonely(X).",
        {"person.csv": "a\nb\n", "knows.csv": "a,b\n"},
        {"lonely": pairs("b"), "calm": pairs("a")},
        cannot=OWL | {"egglog"},
    ),
    "no facts at all": Case(
        "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z). other(X) :- nothing(X).",
        {"edge.csv": "1,2\n"},
        {"path": {("1", "2")}, "other": set()},
        cannot=CHAINS,
    ),
    "three columns": Case(
        "swapped(C, A, B) :- row(A, B, C), key(B).",
        {"row.csv": "1,2,3\n4,5,6\n", "key.csv": "5\n"},
        {"swapped": {("6", "4", "5")}},
        cannot=OWL,
    ),
    "RDF": Case(
        "PREFIX : <http://x.org/>\n:Person[?x] :- :knows[?x, ?y] .  :Person[?y] :- :knows[?x, ?y] .\n"
        ":friend[?x, ?z] :- :knows[?x, ?y], :knows[?y, ?z] .",
        {
            "data.nt": "<http://x.org/a> <http://x.org/knows> <http://x.org/b> .\n"
            "<http://x.org/b> <http://x.org/knows> <http://x.org/c> .\n"
            "<http://x.org/d> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://x.org/Person> .\n"
            '<http://x.org/d> <http://x.org/name> "a name" .\n'
        },
        {
            "http://x.org/Person": {(f"<http://x.org/{x}>",) for x in "abcd"},
            "http://x.org/friend": {("<http://x.org/a>", "<http://x.org/c>")},
        },
        cannot=CHAINS,
    ),
    "an ontology": Case(
        "above(X, Y) :- parent(X, Y).  above(X, Z) :- above(X, Y), above(Y, Z).  near(X, Y) :- parent(X, Y).\n"
        "near(X, Y) :- near(Y, X).  child(X, Y) :- parent(Y, X).  mother(X, Y) :- childOf(Y, X).\n"
        "childOf(X, Y) :- mother(Y, X).  mortal(X) :- human(X).  human(X) :- parent(X, Y).  human(Y) :- parent(X, Y).\n"
        "proud(X) :- human(X), parent(Y, X), doctor(Y).  happy(X) :- proud(X), mortal(X).  ours(X) :- parent(X, eve).\n"
        "deep(X) :- parent(X, Y), parent(Y, Z), proud(Z).  doctor(kim).",
        {"parent.csv": "a,b\nb,eve\n", "doctor.csv": "b\n", "mother.csv": "u,v\n", "childOf.csv": "v,w w\n"},
        {
            "above": pairs("a b, a eve, b eve"),
            "near": pairs("a b, b a, b eve, eve b"),
            "child": pairs("b a, eve b"),
            "mother": {('"u"', '"v"'), ('"w w"', '"v"')},
            "childOf": {('"v"', '"u"'), ('"v"', '"w w"')},
            "human": pairs("a, b, eve"),
            "mortal": pairs("a, b, eve"),
            "proud": pairs("eve"),
            "happy": pairs("eve"),
            "ours": pairs("b"),
            "deep": pairs("a"),
            "doctor": pairs("b, kim"),
        },
    ),
    "chains of properties": Case(
        "sg(X, Y) :- parent(X, P), parent(Y, P).  sg(X, Y) :- parent(X, A), sg(A, B), parent(Y, B).",
        {"parent.csv": "1,0\n2,0\n3,1\n4,2\n5,2\n"},
        {"sg": {(a, b) for ages in ("12", "345") for a in ages for b in ages}},
        cannot=CHAINS,
    ),
}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_all_ways_give_the_same_facts(name: str, case: Case, tmp_path: Path) -> None:
    way = ways()[name]
    if way.version() is None:
        pytest.skip(f"{name} is not installed")
    files = []
    (tmp_path / "data").mkdir()
    for file, text in case.files.items():
        files.append(tmp_path / "data" / file)
        files[-1].write_text(text)
    if name in case.cannot:
        with pytest.raises(CannotExpress):
            way.prepare(parse(case.program), files, tmp_path / "work")
        return
    way.prepare(parse(case.program), files, tmp_path / "work")
    outcome = way.run(tmp_path / "work", keep=True)
    assert outcome.facts == case.facts
    assert outcome.counts == {pred: len(rows) for pred, rows in case.facts.items()}
    assert outcome.seconds["evaluate"] >= 0


def test_vlog_gets_given_and_derived_facts_apart(tmp_path: Path) -> None:
    """The translation alone: few machines have VLog."""
    (tmp_path / "path.csv").write_text("a,b\n")
    rules = parse("path(X, Z) :- path(X, Y), path(Y, Z), NOT cut(Z, X).")
    ways()["vlog"].prepare(rules, [tmp_path / "path.csv"], tmp_path / "work")
    assert (tmp_path / "work" / "program.vlog").read_text().splitlines() == [
        "p0(V0,V1) :- ep0(V0,V1)",
        "p0(V_X,V_Z) :- p0(V_X,V_Y),p0(V_Y,V_Z),~p1(V_Z,V_X)",
    ]
    assert (tmp_path / "work" / "ep0.csv").read_text() == "0,1\n"
    assert "EDB0_predname=ep0" in (tmp_path / "work" / "edb.conf").read_text()


def test_souffle_gets_a_program_of_integers(tmp_path: Path) -> None:
    """The translation alone: few machines have Soufflé."""
    (tmp_path / "knows.csv").write_text("a,b\nb,c\n")
    rules = parse("far(X, Z) :- knows(X, Y), knows(Y, Z), X != Z, NOT knows(X, Z), NOT hates(X, W).")
    ways()["souffle"].prepare(rules, [tmp_path / "knows.csv"], tmp_path / "work")
    lines = (tmp_path / "work" / "program.souffle").read_text().splitlines()
    assert '.input p1(IO=file, filename="p1.tsv")' in lines and ".printsize p0" in lines
    assert lines[-1] == "p0(v_X, v_Z) :- p1(v_X, v_Y), p1(v_Y, v_Z), !p1(v_X, v_Z), !p2(v_X, _), v_X != v_Z."
    assert (tmp_path / "work" / "p1.tsv").read_text() == "0\t1\n1\t2\n"


@pytest.mark.parametrize(
    "rule",
    [
        "p(X, Y) :- q(X, Y), r(X, Y).",
        "p(X, Y) :- q(X, Z), r(Z, X), r(X, Y).",
        "p(X, Y) :- q(X, Y), r(Y, Z).",
        "p(X, Y) :- q(X, Z), c(Z), r(Z, Y).",
        "p(X, Y) :- q(X, a), r(a, Y).",
        "p(X, Y) :- q(X, X), r(X, Y).",
        "p(X, X) :- c(X).",
        "p(X, a) :- c(X).",
        "d(X) :- q(X, X).",
        "d(X) :- q(X, Y), r(X, Y).",
        "d(X) :- q(X, Y), r(Y, X).",
        "d(X) :- c(X), q(Y, Z).",
    ],
)
def test_rules_that_are_no_axioms_are_said(rule: str, tmp_path: Path) -> None:
    with pytest.raises(CannotExpress):
        ways()["owlrl"].prepare(parse(rule), [], tmp_path)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("p(X, N) :- q(X, Y), BIND(Y + 1 AS N).", "BIND"),
        ("p(N) :- AGGREGATE(q(X, Y) BIND COUNT(X) AS N).", "aggregate"),
        ("[?x, ?p, ?z] :- [?x, ?p, ?y], q(?y, ?z).", "variable in the place of a predicate"),
        ("p(X) :- q(X, Y), FILTER(X + Y > 3).", "condition"),
        ("p(X) :- q(X, Y), X < Y.", "order"),
    ],
)
def test_what_peers_cannot_express_is_said(program: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("a,1\n")
    with pytest.raises(CannotExpress, match=why):
        ways()["clingo"].prepare(parse(program), [tmp_path / "q.csv"], tmp_path / "work")
