"""Random programs of metamorphic campaigns: rules and facts of the small language.

Derived predicates have levels. A rule reads up to its own level, negates and aggregates what is below, and computes new
values only from what is below or in a bounded range, so programs are stratified and terminate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

from tests.property import judge
from tests.property.small_language import (
    TYPE,
    Aggregate,
    Atom,
    Bind,
    Call,
    Compare,
    Either,
    Fact,
    Not,
    Op,
    Rule,
    bound,
    write_fact,
    write_rule,
)

Key = tuple[str, int]
NAMES = ("?x", "?y", "?z", "?w")
STORED: tuple[Key, ...] = (("a", 1), ("b", 2), ("c", 2), ("d", 3))
TRIPLES: tuple[Key, ...] = ((":A", 1), (":B", 1), (":r", 2), (":s", 2))
NODES = (":a", ":b", ":c", ":A", ":r")
FUNCTIONS = ("COUNT", "SUM", "MIN", "MAX")


@dataclass(frozen=True)
class Program:
    rules: tuple[Rule, ...]
    facts: tuple[Fact, ...]

    def __str__(self) -> str:
        return "\n".join((*map(write_rule, self.rules), *map(write_fact, self.facts)))


class Drawn:
    """Draws a program."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.rdf = self.one_in(4)
        self.stored = [*STORED[: self.pick((2, 3, 4))], *(TRIPLES if self.rdf else ())]
        self.values: Sequence[Any] = NODES if self.rdf else self.pick(((0, 1), (0, 1, 2), (0, 1, 2), (0, 1, 2, 3)))
        top = self.random.randint(0, 2)
        count = self.pick((2, 3, 4))
        self.levels = {
            (f"p{i}", self.pick((1, 2, 2, 2, 3)) if i else 2): self.random.randint(0, top) for i in range(count)
        }
        if self.rdf:
            self.levels |= {(":r", 2): 0, (":C", 1): 0}

    def pick(self, things: Sequence[Any]) -> Any:
        return self.random.choice(things)

    def one_in(self, n: int) -> bool:
        return self.random.randrange(n) == 0

    def program(self) -> Program:
        rules: list[Rule] = []
        for _ in range(self.pick((2, 3, 4, 5, 6))):
            rule = self.rule()
            if rule not in rules and judge.is_stratified([*rules, rule]):
                rules.append(rule)
        facts = dict.fromkeys(self.fact() for _ in range(self.pick((4, 7, 10, 14))))
        return Program(tuple(rules), tuple(facts))

    def fact(self) -> Fact:
        name, arity = self.pick(self.stored if not self.one_in(8) else sorted(self.levels))
        return name, tuple(self.pick(self.values) for _ in range(arity))

    # Parts of rules.

    def rule(self) -> Rule:
        self.level = self.pick(sorted(set(self.levels.values())))
        self.heads = [key for key, level in self.levels.items() if level == self.level]
        self.below = [*self.stored, *(key for key, level in self.levels.items() if level < self.level)]
        if self.rdf:
            self.below = [key for key in self.below if key not in self.heads] or self.below
        makers = [self.join, self.join, self.chain, self.cycle, self.closure, self.closure, self.negated, self.either]
        makers += [self.computed, self.aggregated, self.per, self.negated_body]
        makers += [self.wildcard, self.wildcard] * self.rdf
        return self.pick(makers)()  # type: ignore[no-any-return]

    def atom(self, keys: Sequence[Key], names: Sequence[str] = NAMES) -> Atom:
        name, arity = self.pick(keys)
        terms = [self.pick(names) if not self.one_in(8) else self.pick(self.values) for _ in range(arity)]
        return Atom(name, tuple(terms))

    def atoms(self, most: int, keys: Sequence[Key]) -> list[Any]:
        return [self.atom(keys) for _ in range(self.random.randint(1, most))]

    def head(self, names: Sequence[str]) -> Atom:
        name, arity = self.pick(self.heads)
        terms = self.random.sample(list(names), min(arity, len(names)))
        terms += [self.pick((*names, self.pick(self.values))) for _ in range(arity - len(terms))]
        return Atom(name, tuple(terms))

    def stated(self, body: Sequence[Any], names: Sequence[str] | None = None) -> Rule:
        names = bound(body) if names is None else names
        heads = dict.fromkeys(self.head(names) for _ in range(2 if self.one_in(8) else 1))
        return Rule(tuple(heads), tuple(body))

    @property
    def readable(self) -> list[Key]:
        return [*self.below, *self.heads]

    def compared(self, names: Sequence[str]) -> Compare:
        one = self.pick(names) if names else self.pick(self.values)
        other = self.pick(names) if names and self.one_in(2) else self.pick(self.values)
        return Compare(self.pick(("=", "!=", "<", ">=") if not self.rdf else ("=", "!=")), one, other)

    # Rules.

    def join(self) -> Rule:
        body = self.atoms(3, self.readable)
        if self.one_in(3):
            body.append(self.compared(bound(body)))
        return self.stated(body)

    def binary(self, keys: Sequence[Key]) -> list[str]:
        return [name for name, arity in keys if arity == 2]

    def chain(self) -> Rule:
        names = self.random.sample(NAMES, self.pick((2, 3, 4)))
        body = [Atom(self.pick(self.binary(self.readable)), pair) for pair in pairwise(names)]
        return self.stated(body, (names[0], names[-1]))

    def cycle(self) -> Rule:
        names = self.random.sample(NAMES, self.pick((3, 4)))
        pairs = zip(names, (*names[1:], names[0]), strict=True)
        return self.stated([Atom(self.pick(self.binary(self.readable)), pair) for pair in pairs])

    def closure(self) -> Rule:
        heads = self.binary(self.heads)
        if not heads:
            return self.join()
        p, q, (x, y, z) = self.pick(heads), self.pick(self.binary(self.readable)), NAMES[:3]
        guard = (Compare("!=", x, z),) if self.one_in(6) else ()
        return self.pick(  # type: ignore[no-any-return]
            (
                Rule((Atom(p, (x, z)),), (Atom(p, (x, y)), Atom(p, (y, z)), *guard)),
                Rule((Atom(p, (x, z)),), (Atom(p, (x, y)), Atom(q, (y, z)), *guard)),
                Rule((Atom(p, (x, z)),), (Atom(q, (x, y)), Atom(p, (y, z)), *guard)),
                Rule((Atom(p, (x, y)),), (Atom(p, (y, x)),)),
                Rule((Atom(p, (x, y)),), (Atom(q, (y, x)),)),
                Rule((Atom(p, (x, y)),), (Atom(q, (x, y)),)),
            )
        )

    def negated(self) -> Rule:
        body = self.atoms(2, self.readable)
        names = bound(body)
        if not names:
            return self.negated()
        return self.stated([*body, Not((self.atom(self.below, [*names, "?e"] if self.one_in(3) else names),))], names)

    def negated_body(self) -> Rule:
        body = self.atoms(2, self.below)
        names = bound(body)
        if not names:
            return self.negated_body()
        inner = [self.atom(self.below, [*names, "?e"]), self.atom(self.below, [*names, "?e", "?f"])]
        if self.one_in(3):
            inner.append(self.compared([*names, *bound(inner)]))
        return self.stated([*body, Not(tuple(inner))], names)

    def either(self) -> Rule:
        first = self.atom(self.readable, NAMES[:2])
        names = bound([first])
        if not names:
            return self.either()
        alternatives = [(self.atom(self.readable, names),) for _ in range(2)]
        if self.one_in(3):
            alternatives[0] = (*alternatives[0], self.compared(names))
        return self.stated([first, Either(tuple(alternatives))], names)

    def computed(self) -> Rule:
        recursive = self.one_in(2)
        body = self.atoms(2, self.readable if recursive else self.below)
        names = bound(body)
        if not names:
            return self.computed()
        expression = Op(self.pick("+*"), self.pick(names), self.pick((*names, 1, 2)))
        if recursive or self.one_in(3):
            expression = Op("%", expression, self.pick((3, 4)))
        body.append(Bind(expression, "?v"))
        return self.stated(body, [*self.random.sample(names, 1), "?v"])

    def aggregate(self) -> Aggregate:
        body: list[Any] = self.atoms(2, self.below)
        inner = bound(body)
        if not inner:
            return self.aggregate()
        if self.one_in(5):
            body.append(self.pick((Not((self.atom(self.below, inner),)), self.compared(inner))))
        on = tuple(self.random.sample(inner, min(self.pick((0, 1, 1, 2)), len(inner))))
        functions = FUNCTIONS if not self.rdf else ("COUNT",)
        calls = [Call(self.pick(functions), self.pick(inner), "?n", self.one_in(3))]
        calls += [Call("COUNT", None, "?m")] * self.one_in(4)
        return Aggregate(tuple(body), on, tuple(calls))

    def aggregated(self) -> Rule:
        inner = self.aggregate()
        if self.one_in(4):
            outer = Call(self.pick(("COUNT", "SUM", "MAX")), "?n", "?k")
            on = inner.on[:1] if self.one_in(2) else ()
            return self.stated([Aggregate((inner,), on, (outer,))], [*on, "?k"])
        seen = [*inner.on, *(call.result for call in inner.calls)]
        if self.one_in(3):
            return self.stated([*self.atoms(1, self.readable), inner])
        return self.stated([inner], seen)

    def per(self) -> Rule:
        outside = self.atom(self.below, NAMES[:2])
        if not bound([outside]):
            return self.per()
        x = bound([outside])[0]
        inner = (self.atom(self.below, (x, "?u")), *([Compare("!=", "?u", x)] if self.one_in(4) else ()))
        if "?u" not in bound(inner):
            return self.per()
        if self.one_in(3):
            inner = (Atom("b", ("?u", "?t")), *inner)
        return self.stated([outside, Aggregate(inner, (x,), (Call("COUNT", "?u", "?n"),), True)], [x, "?n"])

    def wildcard(self) -> Rule:
        x, y, z, p = "?x", "?y", "?z", "?p"
        rules: list[Callable[[], Rule]] = [
            lambda: Rule((Atom(None, (y, p, x)),), (Atom(None, (x, p, y)), Atom("a", (p,)))),
            lambda: Rule((Atom(None, (x, p, z)),), (Atom(None, (x, p, y)), Atom(None, (y, p, z)))),
            lambda: self.stated([Atom(None, (x, p, y))]),
            lambda: self.stated([Atom(None, (x, TYPE, y)), self.atom(self.stored, (x, y))]),
            lambda: Rule((Atom(None, (x, TYPE, ":C")),), (Atom(None, (x, p, x)),)),
            lambda: Rule((Atom(None, (x, ":t", y)),), (self.atom(self.stored, (x,)), Atom("b", (x, y)))),
        ]
        return self.pick(rules)()  # type: ignore[no-any-return]
