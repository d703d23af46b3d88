"""From grammar productions to rules: lark calls these methods while it parses.

Each method of `Builder` is called for one production with its parts: words, or the results of other methods. Words know
their place in the text, so the builder itself has no state, and one parser serves all threads.

Ambiguous syntax is resolved by its context. `name(...)` is an `Application`, which becomes an atom when it stands alone
in a body and a function call inside of an expression; a bare name is an atom without arguments or a string; `!` negates
an atom or a condition; `[...]` is a triple or a tuple; brackets have an expression or literals inside. `literals` and
`expression` are the two ways to decide.

Atoms may have expressions as arguments here; `deltalog.core.flatten` puts them into the body.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from deltalog.core.flatten import flattened, flattened_body
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
    Rule,
    Span,
    Term,
    Variable,
    triple,
)
from deltalog.core.terms import IRI, RDF_TYPE, XSD, BlankNode
from deltalog.functions.signatures import (
    AGGREGATES,
    ALIASES,
    CASTS,
    FUNCTIONS,
    NOT_IN_RULES,
    arguments_of,
    arguments_wanted,
    counted,
    is_function,
    nearest,
    spelled,
)
from deltalog.languages.deltalog.lexer import Word


@dataclass(slots=True)
class Application:
    """`name(...)`, not yet an atom or a function call."""

    name: Word
    arguments: list[SyntaxNode]
    end: int

    @property
    def start(self) -> int:
        return self.name.start


@dataclass(slots=True)
class Triple:
    """`[...]`"""

    open: Word
    arguments: list[SyntaxNode]
    end: int

    @property
    def start(self) -> int:
        return self.open.start


@dataclass(slots=True)
class Not:
    """`!` before something, not yet a negated atom or a negated condition."""

    bang: Word
    operand: SyntaxNode

    @property
    def start(self) -> int:
        return self.bang.start

    @property
    def end(self) -> int:
        return extent(self.operand)[1]


@dataclass(slots=True)
class Parenthesis:
    """`( ... )`, or a number with its sign: a unit."""

    content: SyntaxNode
    start: int
    end: int


@dataclass(slots=True)
class BodyNode:
    """`a, b ; c`: alternatives, of parts that are nodes or literals already."""

    alternatives: list[list[SyntaxNode | BodyLiteral]]


@dataclass(slots=True)
class BodyGroup:
    """`( ... )` around literals."""

    open: Word
    body: BodyNode
    end: int

    @property
    def start(self) -> int:
        return self.open.start


# Inside of arguments, applications are Calls already.
SyntaxNode = Word | Application | Triple | Not | Parenthesis | BodyGroup | Call


def extent(node: SyntaxNode) -> tuple[int, int]:
    if isinstance(node, Call):
        assert node.span is not None
        return node.span.start, node.span.end
    return node.start, node.end


class Builder:
    """The meaning of each production of grammar.lark, under its name there."""

    # Statements

    def statement(self, parts: list[Any]) -> Rule:
        rule: Rule = parts[0]
        return rule

    def prefix(self, parts: list[Word]) -> None:
        _, name, iri = parts
        name.reading.prefixes[name.value] = str(iri.value)

    def base(self, parts: list[Word]) -> None:
        parts[0].reading.base = str(parts[1].value)

    def goal(self, parts: list[Any]) -> tuple[BodyLiteral, ...]:
        return flattened_body(literals(parts[1]))

    def rule(self, parts: list[Any]) -> Rule:
        heads, body = parts[0], () if parts[1] is None else literals(parts[1])
        first, last = heads[0].span, (body or heads)[-1].span
        assert last is not None
        return flattened(Rule(heads, body, Span(first.source, first.start, last.end)))

    def heads(self, parts: list[SyntaxNode]) -> tuple[Atom, ...]:
        return tuple(atom(node) for node in parts)

    def body(self, parts: list[Any]) -> BodyNode:
        return BodyNode(parts)

    def conjuncts(self, parts: list[Any]) -> list[Any]:
        return parts

    # Literals

    def condition(self, parts: list[SyntaxNode]) -> SyntaxNode:
        return parts[0]

    def negation(self, parts: list[Any]) -> Not:
        return Not(*parts)

    def negation_of_one(self, parts: list[Any]) -> Not:
        """`NOT EXISTS p(?x, ?y)`, which is `NOT p(?x, ?y)`."""
        keyword, _, node = parts
        return Not(keyword, node)

    def not_exists(self, parts: list[Any]) -> NegatedBody:
        body, close = parts[-2:]
        return NegatedBody(literals(body), span(parts[0], close.end))

    def filter(self, parts: list[Any]) -> Filter:
        keyword, node, close = parts
        if isinstance(node, Triple):
            hint = "A triple stands in the body, without FILTER."
            complain("a tuple is neither true nor false", node.open, hint, node.end)
        return Filter(expression(node), span(keyword, close.end))

    def bind(self, parts: list[Any]) -> Bind:
        keyword, node, variable, close = parts
        return Bind(expression(node), variable.value, span(keyword, close.end))

    def comp(self, parts: list[Any]) -> Filter:
        keyword, left, operator, right, close = parts
        where = span(keyword, close.end)
        return Filter(Call(operator.value, (expression(left), expression(right)), where), where)

    def aggregate(self, parts: list[Any]) -> Aggregate:
        keyword, body = parts[0], literals(parts[1])
        on, per = next((part for part in parts if isinstance(part, tuple)), ((), False))
        calls = tuple(part for part in parts if isinstance(part, AggregateCall))
        end = max(calls[-1].span.end, parts[-1].end if isinstance(parts[-1], Word) else 0)  # type: ignore[union-attr]
        return Aggregate(body, on, calls, span(keyword, end), per)

    def on(self, parts: list[Word]) -> tuple[tuple[Variable, ...], bool]:
        return tuple(dict.fromkeys(word.value for word in parts)), False

    def per(self, parts: list[Word]) -> tuple[tuple[Variable, ...], bool]:
        return self.on(parts)[0], True

    def call(self, parts: list[Any]) -> AggregateCall:
        name, distinct, argument, _, variable = parts
        function = name.value.lower()
        if function not in AGGREGATES:
            hint = f"Aggregates are {' '.join(AGGREGATES).upper()}."
            complain(f"`{name.value}` is not an aggregate", name, hint)
        star = isinstance(argument, Word) and argument.type == "STAR"
        if star and function != "count":
            complain(f"`{name.value}(*)` has no meaning", name, f"Write what to aggregate: {name.value}(?x)")
        value = None if star else expression(argument)
        return AggregateCall(function, value, variable.value, distinct is not None, span(name, variable.end))

    # Expressions

    def binary(self, parts: list[Any]) -> Call:
        left, operator, right = parts
        where = Span(operator.reading.source, extent(left)[0], extent(right)[1])
        return Call(operator.value, (expression(left), expression(right)), where)

    def among(self, parts: list[Any]) -> Call:
        """`?x IN (a, b)` is `?x = a || ?x = b`, and with a NOT before IN its opposite."""
        left, negation, keyword, listed, close = parts
        where = Span(keyword.reading.source, extent(left)[0], close.end)
        value = expression(left)
        tests = [Call("=", (value, expression(other)), where) for other in listed or []]
        if not tests:
            return Call("!", (Constant(negation is None),), where)
        found = connected("||", tests, where)
        return found if negation is None else Call("!", (found,), where)

    def unary(self, parts: list[Any]) -> SyntaxNode:
        operator, operand = parts
        if operator.type == "BANG":
            return Not(operator, computed(operand) if isinstance(operand, Not) else operand)
        end = extent(operand)[1]
        if isinstance(operand, Word) and operand.type == "CONSTANT" and type(operand.value) in (int, float):
            negative = Word("CONSTANT", -operand.value, operator.start, end, operator.reading)
            return Parenthesis(negative, operator.start, end)
        return Call("-", (expression(operand),), span(operator, end))

    def group(self, parts: list[Any]) -> Parenthesis | BodyGroup:
        open_, body, close = parts
        content = body.alternatives[0][0]
        if len(body.alternatives) > 1 or len(body.alternatives[0]) > 1 or not isinstance(content, SyntaxNode):
            return BodyGroup(open_, body, close.end)
        return Parenthesis(content.content if isinstance(content, Parenthesis) else content, open_.start, close.end)

    def application(self, parts: list[Any]) -> Application:
        name, arguments, close = parts
        return Application(name, arguments or [], close.end)

    def triple(self, parts: list[Any]) -> Triple:
        open_, arguments, close = parts
        return Triple(open_, arguments or [], close.end)

    def arguments(self, parts: list[Any]) -> list[SyntaxNode]:
        return [computed(part) for part in parts]


def span(first: Word, end: int) -> Span:
    return Span(first.reading.source, first.start, end)


def complain(message: str, word: Word, hint: str | None = None, end: int | None = None) -> None:
    word.reading.complain(message, word.start, end or word.end, hint)


# Literals


def literals(body: BodyNode) -> tuple[BodyLiteral, ...]:
    """The literals of a body; alternatives are one literal."""
    alternatives = tuple(tuple([each for node in nodes for each in _literals(node)]) for nodes in body.alternatives)
    if len(alternatives) == 1:
        return alternatives[0]
    first, last = alternatives[0][0].span, alternatives[-1][-1].span
    assert first is not None and last is not None
    return (Disjunction(alternatives, Span(first.source, first.start, last.end)),)


def _literals(node: SyntaxNode | BodyLiteral) -> tuple[BodyLiteral, ...]:
    """The literals of a part of a body: those in brackets are several."""
    while isinstance(node, Parenthesis):
        node = node.content
    if isinstance(node, BodyGroup):
        return literals(node.body)
    return (literal(node) if isinstance(node, SyntaxNode) else node,)


def literal(node: SyntaxNode) -> BodyLiteral:
    """A literal of a body."""
    match node:
        case Not() if (inner := _inside(node.operand)) is not None:
            return NegatedBody(literals(inner.body), span(node.bang, inner.end))
        case Application() | Triple():
            return atom(node)
        case Not() if negates_an_atom(node):
            return Negation(atom(node.operand), span(node.bang, node.end))
        case Word(type="NAME" | "IRI"):
            return atom(node)
        case Word() | Not(operand=Word()):
            _complain_unless_boolean(node.operand if isinstance(node, Not) else node)
    condition = expression(node)
    return Filter(condition, node.span if isinstance(node, Call) else span(first_word(node), extent(node)[1]))


def _inside(node: SyntaxNode) -> BodyGroup | None:
    """The literals in brackets."""
    while isinstance(node, Parenthesis):
        node = node.content
    return node if isinstance(node, BodyGroup) else None


def _complain_unless_boolean(node: SyntaxNode) -> None:
    if isinstance(node, Word) and not isinstance(node.value, bool):
        hint = "A body has atoms such as `p(?x)`, comparisons, FILTER, BIND, NOT and AGGREGATE."
        complain(f"`{node.text}` alone is no condition", node, hint)


def first_word(node: SyntaxNode) -> Word:
    match node:
        case Word():
            return node
        case Not():
            return node.bang
    raise AssertionError(node)


def negates_an_atom(node: Not) -> bool:
    while isinstance(node.operand, Parenthesis):
        node.operand = node.operand.content
    operand = node.operand
    return isinstance(operand, Application | Triple) or (isinstance(operand, Word) and operand.type in ("NAME", "IRI"))


def atom(node: SyntaxNode) -> Atom:
    match node:
        case Word():
            return Atom(str(node.value), (), span(node, node.end))
        case Application():
            terms = tuple([term(argument) for argument in node.arguments])
            where = span(node.name, node.end)
            name = node.name.value
            if len(terms) == 2 and isinstance(name, IRI) and name == RDF_TYPE:
                return triple(terms[0], Constant(RDF_TYPE), terms[1], where)
            return Atom(str(name), terms, where)
        case Triple():
            return triple_atom(node)
    raise AssertionError(node)


def triple_atom(node: Triple) -> Atom:
    terms = [term(argument) for argument in node.arguments]
    where = span(node.open, node.end)
    if len(terms) != 3:
        hint = "Write [subject, predicate, object], or a name before the bracket."
        complain(f"a triple has three parts, this has {len(terms)}", node.open, hint, node.end)
        return Atom("", tuple(terms), where)
    predicate = terms[1]
    if isinstance(predicate, Constant) and (
        isinstance(predicate.value, BlankNode) or not isinstance(predicate.value, str)
    ):
        start, end = extent(node.arguments[1])
        node.open.reading.complain("the predicate of a triple is an IRI, a name or a variable", start, end)
    return triple(terms[0], predicate, terms[2], where)


def term(node: SyntaxNode) -> Term:
    """An argument of an atom: a variable or a constant, or an expression until the rule is flattened."""
    return cast(Term, expression(node))


# Expressions


def connected(operator: str, sides: list[Call], where: Span) -> Call:
    """`&&` or `||` of several conditions, as a tree of little depth."""
    if len(sides) == 1:
        return sides[0]
    middle = len(sides) // 2
    halves = (connected(operator, sides[:middle], where), connected(operator, sides[middle:], where))
    return Call(operator, halves, where)


def computed(node: SyntaxNode) -> SyntaxNode:
    """A nested expression is no atom: applications are functions, and `!` negates a condition."""
    if isinstance(node, Not):
        return Call("!", (expression(node.operand),), span(node.bang, node.end))
    return function(node) if isinstance(node, Application) else node


def expression(node: SyntaxNode) -> Expression:
    """An expression."""
    match node:
        case Word(value=Variable() as variable):
            return variable
        case Word():
            return Constant(node.value)
        case Parenthesis():
            return expression(node.content)
        case Call():
            return node
        case Not() | Application():
            return expression(computed(node))
        case Triple():
            return made_tuple(tuple(map(expression, node.arguments)), span(node.open, node.end))
        case BodyGroup():
            hint = "Atoms, NOT, `,` and `;` connect literals of a body. In expressions write && and || and !."
            complain("literals cannot be computed with", node.open, hint, node.end)
            return Constant("")


def made_tuple(elements: tuple[Expression, ...], where: Span) -> Constant | Call:
    """`[a, b]`: a constant if its elements are."""
    if all(isinstance(element, Constant) for element in elements):
        return Constant(tuple(element.value for element in elements if isinstance(element, Constant)))
    return Call("tuple", elements, where)


def function(node: Application) -> Call:
    given = str(node.name.value)
    name = given if node.name.type == "IRI" else ALIASES.get(given.lower(), given.lower())
    arguments = tuple([expression(argument) for argument in node.arguments])
    if not is_function(name) or (node.name.type == "IRI" and name not in CASTS):
        _complain_about_name(node.name, given)
    elif not arguments_of(name)[0] <= len(arguments) <= arguments_of(name)[1]:
        message = f"`{spelled(name)}` takes {arguments_wanted(name)}, this has {counted(len(arguments))}"
        complain(message, node.name, None, node.end)
    return Call(name, arguments, span(node.name, node.end))


def _complain_about_name(word: Word, name: str) -> None:
    if name.lower() in NOT_IN_RULES:
        message = f"`{name}` has another value each time, so what follows from it would not stay true"
        complain(message, word, NOT_IN_RULES[name.lower()])
        return
    near = nearest(f"xsd:{name.removeprefix(XSD)}" if name.startswith(XSD) else name)
    hint = f"Did you mean `{near}`?" if near else f"Functions are {' '.join(map(spelled, FUNCTIONS))}."
    complain(f"there is no function `{name}`", word, hint)
