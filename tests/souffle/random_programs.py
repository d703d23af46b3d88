"""Random Soufflé programs, and what they must give by an evaluator of their own: nested loops over a small tree.

A program is drawn as a tree, evaluated directly, and printed as Soufflé's text with literals in any order. A relation
may be printed in several forms that mean the same: plain, of records, of branches, in a component, or inline.

    term     ("var", x) | ("number", n) | ("_",) | (operator, term, term)
    literal  ("atom", relation, terms) | ("not", relation, terms) | ("compare", operator, term, term)
             ("let", x, term) | ("range", x, term, term) | ("or", bodies) | ("nand", body)
             ("aggregate", x, function, term or None, body, witnesses)
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

Term = tuple[Any, ...]
Literal = tuple[Any, ...]
Rule = tuple[list[Term], list[Literal]]
Bound = dict[str, int]
Facts = dict[str, set[tuple[int, ...]]]

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
COMPARISONS = {"<": operator.lt, "<=": operator.le, "=": operator.eq, "!=": operator.ne}
GIVEN = {"e0": 2, "e1": 1, "e2": 3}


@dataclass
class RandomProgram:
    facts: Facts
    arity: dict[str, int]
    rules: dict[str, list[Rule]]

    @property
    def recursive(self) -> set[str]:
        return {name for name, rules in self.rules.items() if any(name in map(_relation, body) for _, body in rules)}


def _relation(literal: Literal) -> str | None:
    return literal[1] if literal[0] == "atom" else None


# Meaning


def evaluated(program: RandomProgram) -> Facts:
    facts = {**program.facts}
    for name, rules in program.rules.items():
        facts[name] = set()
        while True:
            new = {_row(head, each) for head, body in rules for each in solutions(body, {}, facts)} - facts[name]
            if not new:
                break
            facts[name] |= new
    return facts


def _row(terms: Sequence[Term], bound: Bound) -> tuple[int, ...]:
    return tuple(value(term, bound) for term in terms)


def value(term: Term, bound: Bound) -> int:
    match term:
        case ("var", name):
            return bound[name]
        case ("number", number):
            return int(number)
    return int(OPERATORS[term[0]](value(term[1], bound), value(term[2], bound)))


def solutions(body: Sequence[Literal], bound: Bound, facts: Facts) -> Iterator[Bound]:
    if not body:
        yield bound
        return
    for each in _one(body[0], bound, facts):
        yield from solutions(body[1:], each, facts)


def _one(literal: Literal, bound: Bound, facts: Facts) -> Iterator[Bound]:
    match literal:
        case ("atom", name, terms):
            yield from (found for row in facts[name] if (found := _matched(terms, row, bound)) is not None)
        case ("not", name, terms):
            yield from [] if any(_matched(terms, row, bound) is not None for row in facts[name]) else [bound]
        case ("compare", sign, left, right):
            yield from [bound] if COMPARISONS[sign](value(left, bound), value(right, bound)) else []
        case ("let", name, term):
            yield {**bound, name: value(term, bound)}
        case ("range", name, first, last):
            start, end = value(first, bound), value(last, bound)
            yield from ({**bound, name: each} for each in range(start, end, 1 if start <= end else -1))
        case ("or", bodies):
            for body in bodies:
                yield from solutions(body, bound, facts)
        case ("nand", body):
            yield from [] if any(True for _ in solutions(body, bound, facts)) else [bound]
        case ("aggregate", *_):
            yield from _aggregated(literal, bound, facts)


def _matched(terms: Sequence[Term], row: tuple[int, ...], bound: Bound) -> Bound | None:
    found = dict(bound)
    for term, cell in zip(terms, row, strict=True):
        if term[0] == "var":
            if found.setdefault(term[1], cell) != cell:
                return None
        elif term[0] != "_" and value(term, found) != cell:
            return None
    return found


def _aggregated(literal: Literal, bound: Bound, facts: Facts) -> Iterator[Bound]:
    _, name, function, target, body, witnesses = literal
    found = list(solutions(body, bound, facts))
    if len(body) > 1 or function in ("min", "max"):  # of one atom, `_` counts
        own = sorted({each for part in body for each in _visible(part)})
        found = list({tuple(each[one] for one in own): each for each in found}.values())
    values = [] if target is None else [value(target, each) for each in found]
    if function in ("min", "max") and not values:
        return
    result = {"count": len(found), "sum": sum(values)}.get(function, 0)
    if function in ("min", "max"):
        result = min(values) if function == "min" else max(values)
    if bound.get(name, result) != result:
        return
    if not witnesses:
        yield {**bound, name: result}
    for each in {tuple(each[one] for one in witnesses) for each, v in zip(found, values, strict=False) if v == result}:
        if witnesses:
            yield {**bound, name: result, **dict(zip(witnesses, each, strict=True))}


def _visible(literal: Literal) -> set[str]:
    """The variables of a literal that others can use."""
    return {literal[1], *literal[5]} if literal[0] == "aggregate" else names(literal)


def names(part: Any) -> set[str]:
    """All variables in a tree."""
    if not isinstance(part, tuple | list):
        return set()
    if part and part[0] == "var":
        return {part[1]}
    own = {part[1]} if part and part[0] in ("let", "range", "aggregate") else set()
    return own.union(*map(names, part))


# Drawing


@dataclass
class Drawing:
    random: Random
    relations: dict[str, int] = field(default_factory=lambda: dict(GIVEN))
    fresh: int = 0

    def program(self) -> RandomProgram:
        draw = self.random
        facts = {
            name: {tuple(draw.randint(0, 3) for _ in range(arity)) for _ in range(draw.randint(0, 6))}
            for name, arity in GIVEN.items()
        }
        rules: dict[str, list[Rule]] = {}
        for name in [f"d{i}" for i in range(draw.randint(1, 4))]:
            arity = draw.randint(1, 3)
            rules[name] = [self.rule(arity) for _ in range(draw.randint(1, 2))]
            if draw.random() < 0.25:
                rules[name].append(self.recursion(name, arity))
            self.relations[name] = arity
        return RandomProgram(facts, dict(self.relations), rules)

    def rule(self, arity: int) -> Rule:
        body, bound = self.body(set(), 2)
        head = [self.term(bound) for _ in range(arity)]
        return head, _with_used_witnesses(body, names(head))

    def recursion(self, name: str, arity: int) -> Rule:
        own: list[Term] = [("var", f"k{i}") for i in range(arity)]
        other, width = self.random.choice(sorted(self.relations.items()))
        terms = [self.random.choice([*own, ("var", "m")]) for _ in range(width)]
        return [self.random.choice([*own, *terms]) for _ in own], [("atom", name, own), ("atom", other, terms)]

    def variable(self) -> str:
        self.fresh += 1
        return f"x{self.fresh}"

    def term(self, bound: set[str], deep: bool = True) -> Term:
        if deep and self.random.random() < 0.25:
            return (self.random.choice("+-*"), self.term(bound, False), self.term(bound, False))
        if bound and self.random.random() < 0.75:
            return ("var", self.random.choice(sorted(bound)))
        return ("number", self.random.randint(-1, 4))

    def atom(self, bound: set[str], unnamed: bool) -> Literal:
        name, arity = self.random.choice(sorted(self.relations.items()))
        terms: list[Term] = []
        for _ in range(arity):
            chance = self.random.random()
            if chance < 0.5:
                terms.append(("var", self.variable()))
            elif chance < 0.6 and unnamed:
                terms.append(("_",))
            else:
                terms.append(self.term(bound, deep=chance > 0.9))
        return ("atom", name, terms)

    def body(
        self, given: set[str], depth: int, unnamed: bool = True, nested: bool = False
    ) -> tuple[list[Literal], Any]:
        bound, body = set(given), list[Literal]()
        for _ in range(self.random.randint(1, 2)):
            body.append(self.atom(bound, unnamed))
            bound |= names(body[-1])
        for _ in range(self.random.randint(0, 3)):
            literal = self.literal(bound, depth, nested)
            body.append(literal)
            bound |= _visible(literal) if literal[0] in ("let", "range", "aggregate") else set()
        return body, bound

    def literal(self, bound: set[str], depth: int, nested: bool) -> Literal:
        chance = self.random.random()
        if chance < 0.2:
            return ("let", self.variable(), self.term(bound))
        if chance < 0.26:
            return ("range", self.variable(), self.term(bound, False), self.term(bound, False))
        if chance < 0.62 and depth:
            return self.aggregate(bound, depth)
        return self.check(bound, 0 if nested else 1)

    def aggregate(self, bound: set[str], depth: int) -> Literal:
        function = self.random.choice(["count", "sum", "min", "max"])
        ordered = function in ("min", "max")
        body, inside = self.body(bound, depth - 1, unnamed=ordered, nested=True)
        own = inside - bound
        target = None if function == "count" else self.term(own)
        result = self.random.choice(sorted(bound)) if bound and self.random.random() < 0.2 else self.variable()
        witnesses = sorted(each for each in own - names(target) if ordered and self.random.random() < 0.3)
        return ("aggregate", result, function, target, body, witnesses)

    def check(self, bound: set[str], depth: int) -> Literal:
        chance = self.random.random()
        if chance < 0.4:
            name, arity = self.random.choice(sorted(self.relations.items()))
            return ("not", name, [("_",) if self.random.random() < 0.25 else self.term(bound) for _ in range(arity)])
        if chance < 0.75 or not depth:
            return ("compare", self.random.choice(sorted(COMPARISONS)), self.term(bound), self.term(bound))
        checks = [[self.check(bound, 0) for _ in range(self.random.randint(1, 2))] for _ in range(2)]
        return ("or", checks) if chance < 0.88 else ("nand", checks[0])


def _with_used_witnesses(body: Sequence[Literal], outside: set[str]) -> list[Literal]:
    """A body in which only variables are witnesses that something else mentions."""
    found: list[Literal] = []
    for at, literal in enumerate(body):
        if literal[0] == "aggregate":
            _, name, function, target, inner, witnesses = literal
            around = outside | names([*body[:at], *body[at + 1 :]])
            kept = [each for each in witnesses if each in around]
            literal = ("aggregate", name, function, target, _with_used_witnesses(inner, around | names(target)), kept)
        found.append(literal)
    return found


# Printing


@dataclass
class Printing:
    random: Random
    form: dict[str, str]  # of relations

    def program(self, program: RandomProgram) -> str:
        lines = [line for name, arity in program.arity.items() for line in self.declaration(name, arity)]
        for name, rows in program.facts.items():
            lines += [f"{self.atom(name, [('number', cell) for cell in row])}." for row in sorted(rows)]
        for name, rules in program.rules.items():
            lines += [f"{self.atom(name, head)} :- {self.body(body)}." for head, body in rules]
        return "\n".join(lines) + "\n"

    def declaration(self, name: str, arity: int) -> Iterator[str]:
        columns = ", ".join(f"c{i} : number" for i in range(arity))
        match self.form[name]:
            case "record":
                yield f".type T_{name} = [{columns}]\n.decl {name}(r : T_{name})"
            case "branch":
                yield f".type T_{name} = None_{name} {{}} | Some_{name} {{{columns}}}\n.decl {name}(r : T_{name})"
            case "component":
                yield f".comp C_{name} {{ .decl r({columns}) }}\n.init i_{name} = C_{name}"
            case form:
                yield f".decl {name}({columns}){' inline' if form == 'inline' else ''}"
        terms: list[Term] = [("var", f"o{i}") for i in range(arity)]
        yield f".decl out_{name}({columns})"
        yield f"out_{name}({', '.join(map(self.term, terms))}) :- {self.atom(name, terms)}."

    def atom(self, name: str, terms: Sequence[Term]) -> str:
        inside = ", ".join(map(self.term, terms))
        forms = {"record": f"{name}([{inside}])", "branch": f"{name}($Some_{name}({inside}))"}
        return (forms | {"component": f"i_{name}.r({inside})"}).get(self.form[name], f"{name}({inside})")

    def body(self, body: Sequence[Literal]) -> str:
        return ", ".join(map(self.literal, self.random.sample(body, len(body))))

    def literal(self, literal: Literal) -> str:
        match literal:
            case ("atom", name, terms):
                return self.atom(name, terms)
            case ("not", name, terms):
                return f"!{self.atom(name, terms)}"
            case ("compare", sign, left, right):
                return f"{self.term(left)} {sign} {self.term(right)}"
            case ("let", name, term):
                return f"{name} = {self.term(term)}"
            case ("range", name, first, last):
                return f"{name} = range({self.term(first)}, {self.term(last)})"
            case ("or", bodies):
                return f"({' ; '.join(map(self.body, bodies))})"
            case ("nand", body):
                return f"!({self.body(body)})"
        _, name, function, target, body, _ = literal
        return f"{name} = {function} {'' if target is None else self.term(target)} : {{ {self.body(body)} }}"

    def term(self, term: Term) -> str:
        match term:
            case ("var", name) | ("number", name):
                return str(name)
            case ("_",):
                return "_"
        return f"({self.term(term[1])} {term[0]} {self.term(term[2])})"
