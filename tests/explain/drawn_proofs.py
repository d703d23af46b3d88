"""Explanations made by hand, for the tests of their rendering: no engine takes part."""

from __future__ import annotations

import random

from deltalog.core.terms import IRI, Literal, Value
from deltalog.extensions.explain.model import (
    Absent,
    Condition,
    Explanation,
    Fact,
    Group,
    Member,
    Near,
    Premise,
    Proof,
    Refutation,
    RuleAttempt,
    RuleRef,
)

R1 = RuleRef("r1", "path(?X, ?Y) :- edge(?X, ?Y) .", "paths.dl", 1)
R2 = RuleRef("r2", "path(?X, ?Z) :- path(?X, ?Y), edge(?Y, ?Z) .", "paths.dl", 2)

# Everything that could end a string, an element, a line or a program of one of the formats.
EVIL = (
    "</script><script>alert(1)</script>\"'&<b onclick=x>\n\r\t\x00\x0b\x1b[31m\x9b\u202e\ufffe\ud800 %%{init}%%`x`#35;"
)
EVIL += " style a:b#quot; -->end]]></title></style>\\n\u2028"


def explicit(name: str, *values: Value, source: str | None = None) -> Proof:
    return Proof(Fact(name, values), "explicit", 0, source=source)


def derived(name: str, values: tuple[Value, ...], rule: RuleRef, premises: tuple[Premise, ...]) -> Proof:
    """A derived fact; height and steps are computed."""
    made = Proof(Fact(name, values), "derived", 0, rule, {"X": values[0]} if values else {}, premises)
    height = 1 + max((part.height for part in made.parts()), default=0)
    return Proof(made.fact, "derived", height, rule, made.bindings, premises, steps=len(facts_of(made)))


def facts_of(proof: Proof) -> set[Fact]:
    """The distinct facts of a proof."""
    found, stack = {proof.fact}, [proof]
    seen = {id(proof)}
    while stack:
        for part in stack.pop().parts():
            if id(part) not in seen:
                seen.add(id(part))
                found.add(part.fact)
                stack.append(part)
    return found


def holds(*proofs: Proof, depth: int | None = None, prefixes: dict[str, str] | None = None) -> Explanation:
    return Explanation(proofs[0].fact, True, proofs, depth=depth, prefixes=prefixes or {})


def chain(edges: int, depth: int | None = None) -> Explanation:
    """path(n0, nk), left linear: two facts for each edge."""
    path = Proof(Fact("path", ("n0", "n1")), "derived", 1, R1, {"X": "n0", "Y": "n1"}, (_edge(0),), steps=2)
    for i in range(1, edges):
        bindings = {"X": "n0", "Y": f"n{i}", "Z": f"n{i + 1}"}
        fact = Fact("path", ("n0", f"n{i + 1}"))
        path = Proof(fact, "derived", i + 1, R2, bindings, (path, _edge(i)), steps=2 * i + 2)
    return holds(path, depth=depth)


def _edge(i: int) -> Proof:
    return explicit("edge", f"n{i}", f"n{i + 1}", source="edge.csv")


def doubling(levels: int) -> Explanation:
    """d(k) rests on d(k - 1) twice: as a tree, it would have 2 ** levels leaves."""
    proof: Proof = explicit("d", 0)
    for i in range(1, levels + 1):
        rule = RuleRef("r1", "d(?Y) :- d(?X), d(?X), BIND(?X + 1 AS ?Y) .")
        proof = Proof(Fact("d", (i,)), "derived", i, rule, {"X": i - 1, "Y": i}, (proof, proof), steps=i + 1)
    return holds(proof)


def every_construct() -> Explanation:
    """All kinds of premises, prefixes, a long IRI, other scripts, and a literal that attacks."""

    def iri(name: str) -> IRI:
        return IRI(f"http://example.org/{name}")

    staff = [explicit(iri("worksFor"), iri(f"p{i}"), iri("sales"), source="data.ttl") for i in range(3)]
    members = tuple(Member({"p": iri(f"p{i}")}, iri(f"p{i}"), (proof,)) for i, proof in enumerate(staff))
    aggregate = "AGGREGATE(:worksFor(?p, ?d) ON ?d BIND COUNT(?p) AS ?n)"
    group = Group(aggregate, "COUNT", (iri("sales"),), members, 12, "12 members")
    joined = Member({"p": iri("p0"), "t": 1}, 1, (staff[0], Condition("?t > 0", "1 > 0")))
    second = Group("AGGREGATE(:x(?p, ?t) BIND SUM(?t) AS ?s)", "SUM", (), (joined,), 1, "1 = 1")
    person = derived(iri("Person"), (iri("p0"),), RuleRef("r7", ":Person(?x) :- :worksFor(?x, ?y) ."), (staff[0],))
    says = explicit(iri("says"), iri("p0"), EVIL, source=f"{EVIL}.ttl")
    quoting = RuleRef("r8", f":quoted(?X, ?t) :- :Person(?X), :says(?X, ?t), ?t != {EVIL} .", EVIL, 70)
    quoted = derived(iri("quoted"), (iri("p0"), EVIL), quoting, (person, says))
    absent, condition = Absent(":closed(:sales)", "no fact of :closed"), Condition("BIND(?n + 1 AS ?m)", "?m = 13")
    long = IRI(f"http://very.long.example.com/{'segment/' * 40}end")
    values = (iri("sales"), 12, Literal("Vertrieb 漢字 🎉", language="de"), long)
    rule = RuleRef("r9", ":big(?X, ?n, ?l, ?i) :- ... .", "rules/long.dl", 71)
    return holds(
        derived(iri("big"), values, rule, (group, second, absent, person, quoted, person, condition)),
        prefixes={"": "http://example.org/"},
    )


def refuted() -> Explanation:
    """Why path(a, z) does not hold, with a nested refutation and near misses."""
    step = derived("path", ("a", "b"), R1, (explicit("edge", "a", "b", source="edge.csv"),))
    nested = Refutation("edge(b, z)", (), (Near("spelling", "edge(b, zz) holds"),), "no rule derives edge/2")
    attempts = (
        RuleAttempt(R1, {"X": "a", "Y": "z"}, (), "edge(a, z)", "the fact edge(a, z)"),
        RuleAttempt(R2, {"X": "a", "Y": "b", "Z": "z"}, (step,), "edge(b, z)", "the fact edge(b, z)", (nested,)),
    )
    return Explanation(Fact("path", ("a", "z")), False, (), attempts, (Near("type", 'path(a, "z"@en) holds'),))


def deeply_refuted(levels: int) -> Explanation:
    """path(n0, m) fails as path(n0, n1) does, and so on."""
    nested: tuple[Refutation, ...] = ()
    for i in range(levels, 0, -1):
        attempt = RuleAttempt(R2, {"X": "n0"}, (), f"path(n0, n{i})", "a path", nested)
        nested = (Refutation(f"path(n0, n{i - 1})", (attempt,), ()),)
    return Explanation(Fact("path", ("n0", "m")), False, (), nested[0].attempts)


def widely_refuted(rules: int) -> Explanation:
    """So many rules fail, and below each of them as many again."""
    refs = [RuleRef(f"r{i}", f"p(?X) :- q{i}(?X) .") for i in range(rules)]
    inner = tuple(RuleAttempt(ref, {"X": 1}, (), f"inner{i}(1)", "") for i, ref in enumerate(refs))
    nested = (Refutation("q(1)", inner, ()),)
    outer = tuple(RuleAttempt(ref, {"X": 1}, (), f"outer{i}(1)", "", nested) for i, ref in enumerate(refs))
    return Explanation(Fact("p", (1,)), False, (), outer)


def random_proof(seed: int) -> Explanation:
    """A proof of random shape, with shared parts, labels of random length and all kinds of premises."""
    draw = random.Random(seed)
    proofs: list[Proof] = [explicit("e", "v" * draw.randint(1, 90), i) for i in range(draw.randint(1, 8))]
    for i in range(draw.randint(1, 40)):
        chosen = draw.sample(proofs[-6:], min(len(proofs), 6, draw.randint(1, 5)))
        others: list[Premise] = [Absent("a(b)", "no fact"), Condition("?x > 3", "4 > 3")]
        premises = (*chosen, *others[: draw.randint(0, 2)])
        name = draw.choice(["p", "long_predicate_name", "漢字漢字"])
        proofs.append(derived(name, (i, "w" * draw.randint(0, 60)), draw.choice([R1, R2]), premises))
    return holds(proofs[-1])
