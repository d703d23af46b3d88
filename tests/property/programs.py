"""Random stratified programs that terminate, and random facts for them.

Predicates have levels. A rule whose head is of level n reads predicates up to level n, and negates or aggregates only
what is below n; so every program is stratified, and rules of one level may be recursive in any way. A rule that reads
its own level invents no values but in a bounded range; so every program terminates. Four variables and a handful of
values keep the results small.

An `Example` prints as a program with its facts, which can be saved as a case under tests/cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st
from spelling import SPELLINGS, Spelling, spell_fact, spell_rule

from deltalog.core.rules import (
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Disjunction,
    Expression,
    Filter,
    NegatedBody,
    Negation,
    Pred,
    Rule,
    Term,
    Variable,
    variables,
)
from deltalog.core.terms import IRI, XSD, Value
from deltalog.core.terms import Literal as RDFLiteral

T = TypeVar("T")
CASTS = ("int", "decimal", "float", "string", "boolean")  # as they are written
VARIABLES = tuple(map(Variable, "XYZW"))
STORED = (Pred("a", 1), Pred("b", 2), Pred("c", 2), Pred("d", 3), Pred("e", 4), Pred("f", 0))
INTEGERS: tuple[Value, ...] = (0, 1, 2, 3, 4, 5, 6, 7)
MIXED: tuple[Value, ...] = (
    *(0, 1, 2, 1.0, 2.5, True, "a", "b", "1", IRI("http://example.org/a"), RDFLiteral("1", XSD + "int")),
    *(RDFLiteral("a", language="en"), (1, "a"), ((1, 1.0), ())),
)
DECIMALS: tuple[Value, ...] = (0, 1, 2, 1.0, 2.5, Decimal(1), Decimal(2), Decimal("2.5"), Decimal("-0.25"), "a", "1.5")
SYMBOLS: tuple[Value, ...] = (0, 1, 2, 3, "a", "b", "c")


class Draw(Protocol):
    def __call__(self, strategy: st.SearchStrategy[Any]) -> Any: ...


@dataclass(frozen=True)
class Features:
    """What the rules of a program may use."""

    values: tuple[Value, ...] = INTEGERS
    order: bool = True  # < <= > >=
    functions: bool = True  # everything in expressions; otherwise + * and %
    aggregates: bool = True
    nested: bool = False  # alternatives, negated bodies, PER, aggregates inside of aggregates, tuples taken apart

    @property
    def decimals(self) -> bool:
        return any(isinstance(value, Decimal) for value in self.values)


@dataclass
class Example:
    rules: list[Rule]
    facts: dict[Pred, list[tuple[Value, ...]]]
    spelling: Spelling

    @property
    def program(self) -> str:
        return "".join(spell_rule(rule, self.spelling) + "\n" for rule in self.rules)

    def __repr__(self) -> str:
        facts = [spell_fact(pred, row) for pred, rows in self.facts.items() for row in rows]
        return "\n" + self.program + "\n".join(facts) + "\n"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How hypothesis shows it."""
        printer.text(repr(self))


@st.composite
def examples(draw: Draw, features: Features = Features()) -> Example:  # noqa: B008 (it is frozen)
    arities = [2, *draw(st.lists(st.sampled_from((2, 1, 3, 2, 0, 4)), min_size=1, max_size=4))]
    levels = {Pred(f"p{i}", arity): draw(st.integers(0, 2)) for i, arity in enumerate(arities)}
    rules = [_Maker(draw, features, levels).rule() for _ in range(draw(st.sampled_from(range(1, 13))))]
    random = Random(draw(st.integers(0, 2**20)))
    sizes = {pred: draw(st.sampled_from((0, 1, 2, 4, 8, 12, 20, 20, 12, 8))) for pred in STORED}
    sizes |= {pred: draw(st.sampled_from((0, 0, 2))) for pred in levels}
    facts = {pred: _rows(random, features, pred, size) for pred, size in sizes.items()}
    return Example(rules, facts, draw(st.sampled_from(SPELLINGS)))


def _rows(random: Random, features: Features, pred: Pred, size: int) -> list[tuple[Value, ...]]:
    """From a seed, not drawn cell by cell: quicker, and shrinking takes rows away all the same."""
    rows = [tuple(random.choice(features.values) for _ in range(pred.arity)) for _ in range(size)]
    return rows if pred.arity else rows[:1]


class _Maker:
    """Makes one rule: positive atoms first, then literals that use or bind more variables, then the heads."""

    def __init__(self, draw: Draw, features: Features, levels: dict[Pred, int]) -> None:
        self.draw = draw
        self.features = features
        self.level = draw(st.sampled_from(sorted(set(levels.values()))))
        self.heads = [pred for pred, level in levels.items() if level == self.level]
        self.binary = [pred for pred in self.heads if pred.arity == 2]
        self.below = [*STORED, *(pred for pred, level in levels.items() if level < self.level)]
        self.recursive = False
        self.negations = 0
        self.depth = 0  # of aggregates inside of others

    def one_in(self, n: int) -> bool:
        return bool(self.draw(st.integers(0, n - 1)) == n - 1)

    def pick(self, things: Sequence[T]) -> T:
        thing: T = self.draw(st.sampled_from(things))
        return thing

    def rule(self) -> Rule:
        if self.one_in(8):
            return self.meet()
        return self.chain() if self.binary and self.one_in(3) else self.free_rule()

    def meet(self) -> Rule:
        """p(X, Y) :- q(X, Y), r(X, Y): two sides of the same level, which may be new at once."""
        head = self.pick(self.heads)
        alike = [pred for pred in [*self.heads, *self.below] if pred.arity == head.arity]
        names = VARIABLES[: head.arity]
        body = tuple(Atom(self.pick(alike).name, names) for _ in range(self.pick((2, 2, 3))))
        return Rule((Atom(head.name, names),), body)

    def chain(self) -> Rule:
        """p(X, Z) :- q(X, Y), r(Y, Z): long recursions come from these."""
        preds = [*self.binary, *self.binary, *(pred for pred in self.below if pred.arity == 2)]
        names = self.draw(st.permutations(VARIABLES))[: self.pick((3, 2, 3, 4))]
        body: list[BodyLiteral] = [Atom(self.pick(preds).name, pair) for pair in pairwise(names)]
        self.recursive = True
        if self.one_in(3):
            body.extend(self.literals(names, inner=False))
        return Rule((Atom(self.pick(self.binary).name, (names[0], names[-1])),), tuple(body))

    def free_rule(self) -> Rule:
        atoms = [self.atom([*self.below, *self.heads], VARIABLES) for _ in range(self.pick((1, 1, 2, 2, 3, 0)))]
        self.recursive = any(atom.pred in self.heads for atom in atoms)
        body: list[BodyLiteral] = list(atoms)
        for _ in range(self.pick((0, 1, 0, 1, 2, 3))):
            body.extend(self.literals(_bound(body), inner=False))
        if self.one_in(3):
            body = list(self.draw(st.permutations(body)))
        heads = [self.head(self.pick(self.heads), body) for _ in range(self.pick((1, 1, 1, 2)))]
        return Rule(tuple(heads), tuple(body))

    def head(self, pred: Pred, body: Sequence[BodyLiteral]) -> Atom:
        """Mostly different variables, and what the body computed rather than what it read."""
        bound = _bound(body)
        computed = [variable for variable in bound if variable not in VARIABLES]
        names = list(dict.fromkeys([*computed, *bound] if self.one_in(2) else bound))
        if not names:
            return Atom(pred.name, tuple(self.term((), 1) for _ in range(pred.arity)))
        terms: list[Term] = [names[i % len(names)] for i in range(pred.arity)]
        if terms and self.one_in(3):
            terms[self.draw(st.integers(0, len(terms) - 1))] = self.term(bound, 3)
        return Atom(pred.name, tuple(terms))

    def atom(self, preds: Sequence[Pred], names: Sequence[Variable]) -> Atom:
        """Mostly different variables; now and then one again, or a constant."""
        pred = self.pick(preds)
        terms: list[Term] = list(self.draw(st.permutations(names)))[: pred.arity]
        terms += [self.term(names, 4) for _ in range(pred.arity - len(terms))]
        if terms and self.one_in(3):
            terms[self.draw(st.integers(0, len(terms) - 1))] = self.term(names, 2)
        return Atom(pred.name, tuple(terms))

    def term(self, names: Sequence[Variable], constants: int) -> Term:
        """A variable, or one time in `constants` a constant."""
        if not names or self.one_in(constants):
            return Constant(self.pick(self.features.values))
        variable: Variable = self.pick(names)
        return variable

    def literals(self, bound: Sequence[Variable], inner: bool) -> list[BodyLiteral]:
        makers = [self.negation, self.comparison, self.bind]
        if self.features.aggregates and not inner:
            makers.append(self.aggregate)
        if self.features.nested:
            makers.append(self.taken_apart)
        if self.features.nested and not (inner and self.recursive):  # a nested one may need values from outside
            makers += [self.alternatives, self.negated_body]
        made: list[BodyLiteral] = self.pick(makers)(bound)
        return made

    def negation(self, bound: Sequence[Variable]) -> list[BodyLiteral]:
        self.negations += 1
        existential = [Variable(f"E{self.negations}"), Variable(f"F{self.negations}")]
        return [Negation(self.atom(self.below, [*bound, *existential]))]

    def comparison(self, bound: Sequence[Variable]) -> list[BodyLiteral]:
        condition = self.condition(bound)
        if self.features.functions and self.one_in(5):
            condition = Call(self.pick(("&&", "||")), (condition, self.condition(bound)))
        if self.features.functions and self.one_in(8):
            condition = Call("!", (condition,))
        return [Filter(condition)]

    def condition(self, bound: Sequence[Variable]) -> Expression:
        operators = ("=", "!=", "<", "<=", ">", ">=") if self.features.order else ("=", "!=")
        left: Expression = self.term(bound, 12)
        if self.one_in(4):
            left = Call(self.pick("+*"), (left, Constant(self.pick((0, 1, 2)))))
        return Call(self.pick(operators), (left, self.term(bound, 3)))

    def bind(self, bound: Sequence[Variable]) -> list[BodyLiteral]:
        known = bool(bound) and self.one_in(7)
        target: Variable = self.pick(bound) if known else Variable(f"V{len(bound)}")
        if self.recursive and self.features.order and self.one_in(3):
            step = Bind(Call("+", (self.term(bound, 12), Constant(1))), target)
            return [step, Filter(Call("<", (target, Constant(5)))), Filter(Call(">", (target, Constant(-5))))]
        expression = self.bounded(bound) if self.recursive else self.free(bound)
        return [Bind(expression, target)]

    def bounded(self, bound: Sequence[Variable]) -> Expression:
        """An expression over finitely many values gives finitely many more, however often it is applied."""
        x, y = self.term(bound, 10), self.term(bound, 4)
        product = Call(self.pick("+*"), (x, y))
        if self.features.decimals:
            product = Call("round", (product,))  # otherwise decimals would have more and more digits
        ring = Call("%", (product, Constant(self.pick((2, 4)))))
        if not self.features.functions:
            return ring
        text = Call("substr", (Call("str", (x,)), Constant(1), Constant(1)))
        choice = Call("if", (self.condition(bound), x, y))
        return self.pick((ring, Call("min", (x, y)), Call("max", (x, y)), text, choice, Call("coalesce", (ring, y))))

    def free(self, bound: Sequence[Variable]) -> Expression:
        x, y = self.term(bound, 10), self.term(bound, 4)
        if not self.features.functions:
            return Call(self.pick("+*"), (x, y))
        one = Call(
            self.pick(("-", "abs", "ceil", "floor", "round", "sqrt", "str", "strlen", "ucase", "lcase", "isliteral")),
            (x,),
        )
        binary = (
            *"+-*/+-*%=",
            "pow",
            "min",
            "max",
            "concat",
            "contains",
            "skolem",
            "div",
            "rem",
            "band",
            "bxor",
            "bshl",
        )
        if self.features.decimals and self.one_in(4):
            one = Call(self.pick(CASTS), (x,))
        two = Call(self.pick((*binary, "tuple", "item")), (x, y))
        return self.pick((one, two, two, Call("coalesce", (two, one, y)), Call("if", (self.condition(bound), two, x))))

    def conjunction(self, bound: Sequence[Variable]) -> tuple[BodyLiteral, ...]:
        """An atom, and now and then something that uses its variables and those outside."""
        atom = self.atom(self.below, [*bound, *VARIABLES])
        outside = [] if self.recursive else bound  # what a negation needs from outside may not be recursive
        more = self.literals([*outside, *_bound([atom])], inner=True) if self.one_in(2) else []
        return (atom, *more)

    def alternatives(self, bound: Sequence[Variable]) -> list[BodyLiteral]:
        return [Disjunction(tuple(self.conjunction(bound) for _ in range(self.pick((2, 2, 3)))))]

    def negated_body(self, bound: Sequence[Variable]) -> list[BodyLiteral]:
        return [NegatedBody(self.conjunction(bound))]

    def taken_apart(self, bound: Sequence[Variable]) -> list[BodyLiteral]:
        elements = tuple(self.term([*bound, Variable(f"T{len(bound)}")], 5) for _ in range(2))
        if all(isinstance(element, Constant) for element in elements):
            return []
        return [Filter(Call("=", (self.term(bound, 20), Call("tuple", elements))))]

    def aggregate(self, bound: Sequence[Variable]) -> list[BodyLiteral]:
        body: list[BodyLiteral] = [self.atom(self.below, VARIABLES) for _ in range(self.pick((1, 1, 2)))]
        if self.one_in(4):
            body.extend(self.literals(_bound(body), inner=True))
        if self.features.nested and self.depth < 3 and self.one_in(2):
            body = self.inside(body)
        inner = _bound(body)
        on = tuple(dict.fromkeys(self.pick(inner) for _ in range(self.pick((0, 1, 1, 2))))) if inner else ()
        others = [variable for variable in inner if variable not in on] or inner
        calls = [self.call(others, Variable(f"N{i}_{self.depth}{len(bound)}")) for i in range(self.pick((1, 1, 2)))]
        outside = self.features.nested and not self.recursive and bool(on) and set(on) <= set(bound)
        per = outside and self.one_in(2)
        return [Aggregate(tuple(body), on, tuple(calls), per=per)]

    def inside(self, body: list[BodyLiteral]) -> list[BodyLiteral]:
        """An aggregate inside of another one, beside what that has, or instead of it."""
        self.depth += 1
        alone = self.one_in(2)
        nested = self.aggregate([] if alone else _bound(body))
        self.depth -= 1
        return nested if alone else [*body, *nested]

    def call(self, inner: Sequence[Variable], result: Variable) -> AggregateCall:
        if not inner:
            return AggregateCall("count", None, result)
        function = self.pick(("count", "sum", "min", "max", "avg", "med"))
        argument: Expression = self.pick(inner)
        if self.one_in(5):
            argument = Call("+", (argument, Constant(1)))
        return AggregateCall(function, argument, result, self.one_in(4))


def _bound(body: Sequence[BodyLiteral]) -> list[Variable]:
    """The variables that a body binds, in the order of writing."""
    binders = (literal for literal in body if isinstance(literal, Atom | Bind | Aggregate))
    return list(dict.fromkeys(variable for literal in binders for variable in variables(literal)))
