"""Random rules, facts and goals of histories.

Programs are stratified and terminate by construction. Derived predicates have levels; a rule reads predicates up to the
level of its heads, and negates, aggregates or makes new values (SKOLEM, arithmetic) only over what is below, or in a
bounded range. Programs with triples have no such levels (see `history_generator`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any, TypeVar

from tests.property.questions import random_query

T = TypeVar("T")
STORED = (("a", 1), ("b", 2), ("c", 2), ("d", 3))
CLASSES, PROPERTIES = (":A", ":B", ":C", ":D"), (":r", ":s", ":t")
INTEGERS = ("1", "2", "3", "0")
MIXED = ("0", "1", "2", "1.0", "2.5", '"a"', '"1"', "<http://e.x/a>")
NODES = (":a", ":b", ":c", ":A", ":B", ":r", ":s")
VARIABLES = ("?x", "?y", "?z", "?w")
EQUAL_NUMBERS = ("1", "1.0", '"1"^^<http://www.w3.org/2001/XMLSchema#int>', "2", "2.5")
FUNCTIONS = ("COUNT", "SUM", "MIN", "MAX", "AVG", "MED")


class Programs:
    """Draws rules and facts: joins, chains, negation, BIND, FILTER, SKOLEM, several heads, cyclic bodies."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.values = random.choice((INTEGERS[:2], *(INTEGERS[:3],) * 3, INTEGERS, MIXED))
        self.stored = STORED[: random.choice((2, 3, 3, 4))]
        arities = (2, *(random.choice((1, 2, 2, 2, 3)) for _ in range(random.randint(0, 2))))
        levels = random.randint(0, 2)
        self.levels = {(f"p{i}", arity): random.randint(0, levels) for i, arity in enumerate(arities)}
        if random.random() < 0.2:
            self.levels[("p0", 1)] = random.randint(0, levels)
        self._use_level()

    def _use_level(self) -> None:
        self.level = self.random.choice(sorted(set(self.levels.values())))
        self.heads = [pred for pred, level in self.levels.items() if level == self.level]
        self.below = [*self.stored, *(pred for pred, level in self.levels.items() if level < self.level)]

    def pick(self, things: Sequence[T]) -> T:
        return self.random.choice(things)

    def one_in(self, n: int) -> bool:
        return self.random.randrange(n) == 0

    def fact(self) -> str:
        derived = self.one_in(4)
        name, arity = self.pick(sorted(self.levels) if derived else self.stored)
        return f"{name}({', '.join(self.pick(self.values) for _ in range(arity))})."

    def rule(self) -> str:
        self._use_level()
        return self.pick(self.makers())()

    def question(self) -> str:
        """A goal: one atom or two, now and then with a negation."""
        preds = [*self.levels, *self.stored]
        body = [self._asked(preds) for _ in range(self.pick((1, 1, 2)))]
        if self.one_in(4):
            body.append("NOT " + self._asked(preds))
        return ", ".join(body)

    def _asked(self, preds: Sequence[tuple[str, int]]) -> str:
        name, arity = self.pick(preds)
        return f"{name}({', '.join(self.pick((*VARIABLES, *VARIABLES, *self.values)) for _ in range(arity))})"

    def makers(self) -> Sequence[Callable[[], str]]:
        return self.join, self.join, self.chain, self.negated, self.computed, self.cycle, self.union, self.aggregated

    # Parts.

    def atom(self, preds: Sequence[tuple[str, int]], names: Sequence[str] = VARIABLES) -> str:
        name, arity = self.pick(preds)
        terms = self.random.sample(names, arity) if len(names) >= arity else [self.pick(names) for _ in range(arity)]
        if self.one_in(5):
            terms[self.random.randrange(arity)] = self.pick((self.pick(self.values), self.pick(names)))
        return f"{name}({', '.join(terms)})"

    def head(self, names: Sequence[str]) -> str:
        """A head over variables, mostly each at most once."""
        name, arity = self.pick(self.heads)
        terms = [*self.random.sample(names, min(arity, len(names)))]
        terms += [self.pick((*names, self.pick(self.values))) for _ in range(arity - len(terms))]
        return f"{name}({', '.join(terms)})"

    def stated(self, body: Sequence[str], names: Sequence[str]) -> str:
        heads = [self.head(names) for _ in range(2 if self.one_in(6) else 1)]
        return f"{', '.join(dict.fromkeys(heads))} :- {', '.join(body)}."

    def atoms(self, most: int, preds: Sequence[tuple[str, int]]) -> list[str]:
        return [self.atom(preds) for _ in range(self.random.randint(1, most))]

    # Rules.

    def join(self) -> str:
        body = self.atoms(3, [*self.below, *self.heads])
        if self.one_in(4):
            body.append(self.condition(names_of(body)))
        return self.stated(body, names_of(body))

    def chain(self) -> str:
        preds = [name for name, arity in [*self.heads, *self.heads, *self.below] if arity == 2]
        names = self.random.sample(VARIABLES, self.pick((2, 3, 3, 4)))
        body = [f"{self.pick(preds)}({one}, {other})" for one, other in pairwise(names)]
        return self.stated(body, (names[0], names[-1]))

    def cycle(self) -> str:
        preds = [name for name, arity in [*self.heads, *self.below] if arity == 2]
        names = self.random.sample(VARIABLES, self.pick((3, 4)))
        pairs = zip(names, (*names[1:], names[0]), strict=True)
        body = [f"{self.pick(preds)}({one}, {other})" for one, other in pairs]
        return self.stated(body, names[: self.pick((1, 2, 3))])

    def union(self) -> str:
        name, arity = self.pick(self.heads)
        alike = [other for other, size in [*self.below, *self.heads] if size == arity]
        names = list(VARIABLES[:arity])
        body = f"{self.pick(alike)}({', '.join(names)})" if alike else self.atom(self.below, names)
        if self.one_in(3):
            self.random.shuffle(names)
        head = f"{name}({', '.join(names)})"
        return f"{head} :- {body}." if set(names) <= set(names_of([body])) else self.join()

    def negated(self) -> str:
        body = self.atoms(2, [*self.below, *self.heads])
        names = names_of(body)
        body.append("NOT " + self.atom(self.below, [*names, "?e"] if self.one_in(3) or not names else names))
        return self.stated(body, names or VARIABLES[:0])

    def computed(self) -> str:
        recursive = self.one_in(2)
        body = self.atoms(2, [*self.below, *self.heads] if recursive else self.below)
        names = names_of(body)
        if not names:
            return self.stated(body, names)
        x, y = self.pick(names), self.pick(names)
        free = (f"{x} + {y}", f"SKOLEM({x}, {y})", f'SKOLEM("f", {x})', f"{x} * 2", f"concat({x}, {y})")
        ring = (f"({x} + {y}) % 4", f"({x} * 2) % (3)", f"min({x}, {y})")
        body.append(f"BIND({self.pick(ring if recursive else (*free, *ring))} AS ?v)")
        if self.one_in(4):
            body.append(self.condition(names))
        return self.stated(body, [*self.random.sample(names, min(1, len(names))), "?v"])

    def condition(self, names: Sequence[str]) -> str:
        one = self.pick(names) if names else "1"
        other = self.pick(names) if names and self.one_in(2) else self.pick(self.values)
        return f"FILTER({one} {self.pick(('=', '!=', '<', '>='))} {other})"

    # Aggregates.

    def aggregated(self) -> str:
        literal, names, results = self.aggregate()
        body = [literal]
        if self.one_in(3):
            body = [*self.atoms(2, [*self.below, *self.heads]), literal]
            self.random.shuffle(body)
        elif self.one_in(2):
            return self.stated(body, [*names, *results][:2])
        outer = list(dict.fromkeys((*results, *names, *names_of(b for b in body if b is not literal))))
        return self.stated(body, outer)

    def aggregate(self) -> tuple[str, list[str], list[str]]:
        """An aggregate over what is below, its groups, and its results."""
        body = self.atoms(self.pick((1, 1, 2)), self.below)
        inner = names_of(body)
        if inner and self.one_in(5):
            body.append("NOT " + self.atom(self.below, inner))
        elif inner and self.one_in(5):
            body.append(self.condition(inner))
        on = self.random.sample(inner, min(self.pick((0, 1, 1, 1, 2)), len(inner)))
        results = ["?n", "?m"][: self.pick((1, 1, 2))]
        literal = aggregate_text(body, on, [f"{self.call(inner)} AS {result}" for result in results])
        return self.outer_aggregate(literal, on, results) if self.one_in(4) else (literal, on, results)

    def outer_aggregate(self, inner: str, on: list[str], results: list[str]) -> tuple[str, list[str], list[str]]:
        """An aggregate over the groups of another one."""
        outer = on[: self.pick((0, 1, 2))]
        return aggregate_text([inner], outer, [f"{self.pick(FUNCTIONS)}({self.pick(results)}) AS ?k"]), outer, ["?k"]

    def call(self, inner: Sequence[str]) -> str:
        if not inner or self.one_in(8):
            return "COUNT(*)"
        distinct = "DISTINCT " if self.one_in(3) else ""
        return f"{self.pick(FUNCTIONS)}({distinct}{self.pick(inner)}{' + 1' if self.one_in(8) else ''})"


def aggregate_text(body: Sequence[str], on: Sequence[str], calls: Sequence[str]) -> str:
    grouped = f" ON {' '.join(on)}" if on else ""
    return f"AGGREGATE({', '.join(body)}{grouped} {' '.join('BIND ' + call for call in calls)})"


class AggregatePrograms(Programs):
    """Mostly aggregates, of which several derive one predicate, beside recursion and unions."""

    def makers(self) -> Sequence[Callable[[], str]]:
        return self.aggregated, self.aggregated, self.aggregated, self.union, self.chain, self.join, self.negated


class ClosurePrograms(Programs):
    """Closures, components, inverses and unions; also over numbers of several types, which guards compare by value."""

    guards = 5  # one closure in so many has a guard

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        if self.one_in(4):
            self.values, self.guards = EQUAL_NUMBERS, 2

    def makers(self) -> Sequence[Callable[[], str]]:
        return (
            *(self.closure,) * 4,
            self.union,
            self.union,
            self.chain,
            self.cycle,
            self.join,
            self.negated,
            self.aggregated,
        )

    def closure(self) -> str:
        binary = [name for name, arity in self.heads if arity == 2]
        if not binary:
            return self.union()
        p, q = self.pick(binary), self.pick([name for name, arity in [*self.heads, *self.below] if arity == 2])
        guard = ", FILTER(?x != ?z)" if self.one_in(self.guards) else ""
        mirrored = ", FILTER(?x != ?y)" if self.one_in(2 * self.guards) else ""
        return self.pick(
            (
                f"{p}(?x, ?z) :- {p}(?x, ?y), {p}(?y, ?z){guard}.",
                f"{p}(?x, ?z) :- {p}(?x, ?y), {q}(?y, ?z){guard}.",
                f"{p}(?x, ?z) :- {q}(?x, ?y), {p}(?y, ?z){guard}.",
                f"{p}(?x, ?y) :- {p}(?y, ?x){mirrored}.",
                f"{p}(?x, ?y) :- {q}(?y, ?x).",
                f"{p}(?x, ?y) :- {q}(?x, ?y).",
                f"{q}(?x, ?y) :- {p}(?y, ?x)." if (q, 2) in self.heads else f"{p}(?x, ?y) :- {q}(?x, ?y).",
            )
        )


class TriplePrograms(Programs):
    """Classes and properties, and variables in their places; bare predicates beside them."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.values = NODES
        self.levels = {("p0", 1): 1, ("p1", 2): 1}
        self.wild = random.sample(("type", "triple"), random.randint(1, 2))

    def _use_level(self) -> None:
        self.heads, self.below = [], []

    def question(self) -> str:
        return random_query(self.random) if self.one_in(2) else super().question()

    def _asked(self, preds: Sequence[tuple[str, int]]) -> str:
        """Also of a class and a property that only a variable can derive, or nothing."""
        one, other, third = (self.pick((*VARIABLES, *VARIABLES, *NODES)) for _ in range(3))
        kinds = (f"{self.pick((*CLASSES, ':E'))}[{one}]", f"{self.pick((*PROPERTIES, ':u'))}[{one}, {other}]")
        return self.pick((*kinds, *kinds, f"[{one}, rdf:type, {other}]", f"[{one}, {third}, {other}]", f"p0({one})"))

    def makers(self) -> Sequence[Callable[[], str]]:
        return self.join, self.join, self.wildcard, self.wildcard, self.negated, self.aggregated, self.closure

    def fact(self) -> str:
        one, other = self.pick(NODES), self.pick(NODES)
        if self.one_in(3):
            return self.pick(
                (
                    f"sub({self.pick(CLASSES)}, {self.pick(CLASSES)}).",
                    f"subp({self.pick(PROPERTIES)}, {self.pick(PROPERTIES)}).",
                )
            )
        if self.one_in(8):
            return self.pick((f"p0({one}).", f"p1({one}, {other})."))
        return f"{self.pick(CLASSES)}({one})." if self.one_in(2) else f"{self.pick(PROPERTIES)}({one}, {other})."

    def atom(self, preds: Sequence[tuple[str, int]], names: Sequence[str] = VARIABLES) -> str:
        one, other, third = (self.pick(names) if names and not self.one_in(6) else self.pick(NODES) for _ in range(3))
        kinds = [f"{self.pick(CLASSES)}[{one}]"] * 2 + [f"{self.pick(PROPERTIES)}[{one}, {other}]"] * 2
        kinds += [f"p0({one})", f"p1({one}, {other})", f"sub({one}, {other})", f"subp({one}, {other})"]
        if not preds:
            kinds += [f"[{one}, rdf:type, {other}]"] * 2 * ("type" in self.wild)
            kinds += [f"[{one}, {third}, {other}]"] * 2 * ("triple" in self.wild)
        return self.pick(kinds)

    def head(self, names: Sequence[str]) -> str:
        one, other = (self.pick(names) if names else self.pick(NODES) for _ in range(2))
        kinds = [f"{self.pick(CLASSES)}[{one}]"] * 2 + [f"{self.pick(PROPERTIES)}[{one}, {other}]"] * 2
        return self.pick([*kinds, f"p0({one})", f"p1({one}, {other})"])

    def wildcard(self) -> str:
        rules = [
            "[?x, rdf:type, ?d] :- [?x, rdf:type, ?c], sub(?c, ?d).",
            "[?x, rdf:type, ?d] :- :A[?x], p1(?x, ?d).",
            "[?x, rdf:type, :D] :- p0(?x).",
            "p0(?c) :- [?x, rdf:type, ?c].",
            "p1(?x, ?c) :- [?x, rdf:type, ?c], :r[?x, ?y].",
        ] * ("type" in self.wild)
        rules += [
            "[?x, ?q, ?y] :- [?x, ?p, ?y], subp(?p, ?q).",
            "[?y, ?p, ?x] :- [?x, ?p, ?y], p0(?p).",
            "p1(?p, ?y) :- [?x, ?p, ?y].",
            "[?x, ?p, ?z] :- [?x, ?p, ?y], [?y, ?p, ?z].",
            "p0(?x) :- [?x, ?p, ?x].",
            "[?x, :t, ?y] :- p1(?x, ?y).",
        ] * ("triple" in self.wild)
        return self.pick(rules)

    def closure(self) -> str:
        p, q = self.random.sample(PROPERTIES, 2)
        return self.pick(
            (
                f"{p}[?x, ?z] :- {p}[?x, ?y], {p}[?y, ?z].",
                f"{p}[?x, ?y] :- {q}[?y, ?x].",
                f"{p}[?x, ?y] :- {q}[?x, ?y].",
                f"{p}[?x, ?y] :- {p}[?y, ?x].",
            )
        )


def names_of(body: Any) -> list[str]:
    """The variables of literals, in order."""
    found: dict[str, None] = {}
    for literal in body:
        for word in "".join(c if c.isalnum() or c == "?" else " " for c in literal).split():
            if word.startswith("?"):
                found[word] = None
    return list(found)
