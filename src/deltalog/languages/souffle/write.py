"""Soufflé's language: every column has a type.

Types are found from constants, functions and aggregates, and spread over columns and variables that must agree; what
nothing says is a symbol. Strings and IRIs are symbols (an IRI by its text in `<>`), integers are numbers of 32 bits. A
column with both strings and numbers cannot be said. Predicates without rules and facts are inputs; those with rules are
outputs. Groups of an aggregate are the values that its body has outside of it:

    p(x, n) :- AGGREGATE(q(x, y) ON x BIND COUNT(y) AS n) .      p(x, n) :- q(x, _1), n = count : { q(x, y) }.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import count

from deltalog.core.operators import COMPARISONS
from deltalog.core.rules import (
    TRIPLE,
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    Negation,
    Pred,
    Rule,
    Span,
    Term,
    Variable,
)
from deltalog.core.terms import IRI, BlankNode, Value, lexical
from deltalog.functions import registry
from deltalog.functions.function import SOUFFLE, Sort
from deltalog.functions.registry import FUNCTIONS
from deltalog.languages import writer
from deltalog.languages.deltalog.named_file import OwnFile
from deltalog.languages.protocol import ProgramUnit
from deltalog.languages.rule_map import RuleMap, new_names
from deltalog.languages.souffle.parser import WORDS
from deltalog.languages.writer import CannotSay

TypedColumn = tuple[object, ...]
OTHER = "value of another kind"
_BITS = "integers have 32 bits in Soufflé, and 64 here: results beyond that wrap around there"
_PRECISION = "floats have single precision in Soufflé, and double here"
_LARGEST, _SMALLEST = 3.4028235e38, 1.1754944e-38  # of floats of 32 bits
_OTHER_WORDS = (  # of Soufflé's language that its reader here has no use for
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "sin", "sinh", "tan", "tanh"),
    *("inline", "eqrel", "brie", "btree", "overridable", "magic"),
)
RESERVED = frozenset((*WORDS, *_OTHER_WORDS))  # words of Soufflé's language, which name no relations and no variables
_AGGREGATES = {name: word for word, name in registry.aggregates_named(SOUFFLE).items()}
_TYPES = {Sort.INTEGER: "number", Sort.TEXT: "symbol"}


class ColumnTypes:
    """Classes of columns and variables that have one type."""

    def __init__(self) -> None:
        self.parent: dict[TypedColumn, TypedColumn] = {}
        self.types: dict[TypedColumn, dict[str, Span | None]] = {}
        self.computed: set[TypedColumn] = set()
        self.conflict: tuple[str, ...] = ()  # the types of a class that has several

    def root(self, node: TypedColumn) -> TypedColumn:
        while (above := self.parent.get(node, node)) != node:
            node = above
        return node

    def same(self, one: TypedColumn, other: TypedColumn) -> None:
        a, b = self.root(one), self.root(other)
        if a != b:
            self.parent[b] = a
            self.types.setdefault(a, {}).update(self.types.pop(b, {}))
            self._check(a)

    def give(self, node: TypedColumn, type_: str, span: Span | None) -> None:
        self.types.setdefault(self.root(node), {}).setdefault(type_, span)
        self._check(self.root(node))

    def _check(self, root: TypedColumn) -> None:
        if len(self.types.get(root, ())) > 1:
            self.conflict = tuple(self.types[root])

    def compute(self, node: TypedColumn) -> None:
        """The node is computed with, so it is a number unless something says more."""
        self.computed.add(node)

    def of(self, node: TypedColumn) -> str:
        root = self.root(node)
        default = "number" if any(self.root(each) == root for each in self.computed) else "symbol"
        return next((each for each in self.types.get(root, {}) if each != OTHER), default)


class SouffleWriter(writer.Writer):
    language = "souffle"

    def __init__(self, unit: ProgramUnit) -> None:
        super().__init__(unit)
        self.rules = writer.plain_rules(unit.rules, RESERVED)
        self.predicates = writer.predicates(self.rules)
        self.names = _names(self.predicates)
        self.arities = writer.several_arities(self.rules)
        self.inputs = writer.said(unit, "input", _parameters, self.lost)
        self.outputs = writer.said(unit, "output", _parameters, self.lost)
        self.types = ColumnTypes()
        self.wrong: dict[int, tuple[str, ...]] = {}  # the rules that would give a column another type
        for number, rule in enumerate(self.rules):
            self._infer(number, rule)
            if self.types.conflict:
                self.wrong[number], self.types = self.types.conflict, ColumnTypes()
                for earlier in range(number):
                    if earlier not in self.wrong:
                        self._infer(earlier, self.rules[earlier])
        for rule in self.rules:
            self.notes.update(dict.fromkeys(note for literal in rule.body for note in _differences(literal)))

    # Types

    def _infer(self, number: int, rule: Rule) -> None:
        for literal in (*rule.heads, *rule.body):
            self._infer_literal(number, literal)

    def _infer_literal(self, rule: int, literal: BodyLiteral) -> None:
        match literal:
            case Atom():
                for column, term in enumerate(literal.terms):
                    self._has(rule, term, (literal.pred, column), literal.span)
            case Negation(atom):
                self._infer_literal(rule, atom)
            case Bind(expression, variable):
                self._has(rule, expression, (rule, variable), literal.span)
            case Filter(condition):
                self._infer_condition(rule, condition, literal.span)
            case Aggregate(body, _, calls):
                for inner in body:
                    self._infer_literal(rule, inner)
                for call in calls:
                    self._infer_call(rule, call)

    def _infer_condition(self, rule: int, condition: Expression, span: Span | None) -> None:
        if isinstance(condition, Call) and condition.function in (*COMPARISONS, "sameterm"):
            side: TypedColumn = ("condition", rule, id(condition))
            for argument in condition.arguments:
                self._has(rule, argument, side, span)
        elif isinstance(condition, Call):
            for argument in condition.arguments:
                if condition.function == "contains":
                    self._has(rule, argument, ("text", rule, id(argument)), span)
                    self.types.give(("text", rule, id(argument)), "symbol", span)
                else:
                    self._infer_condition(rule, argument, span)

    def _infer_call(self, rule: int, call: AggregateCall) -> None:
        node: TypedColumn = (rule, call.variable)
        if call.function in ("count", "avg"):
            self.types.give(node, "number" if call.function == "count" else "float", call.span)
        elif call.argument is not None:
            self._has(rule, call.argument, node, call.span)

    def _has(self, rule: int, expression: Expression, node: TypedColumn, span: Span | None) -> None:
        """An expression has the type of a node."""
        match expression:
            case Variable():
                self.types.same((rule, expression), node)
            case Constant(value):
                self.types.give(node, _type(value), span)
            case Call(function, arguments):
                result = _result(function)
                if result is not None:
                    self.types.give(node, result, span)
                elif _is_operator(function):
                    self.types.compute(node)
                for position, argument in enumerate(arguments):
                    inner: TypedColumn = node
                    if result is not None:
                        inner = ("argument", rule, id(argument))
                        if (type_ := _argument(function, position)) is not None:
                            self.types.give(inner, type_, span)
                    self._has(rule, argument, inner, span)

    # Declarations

    def before(self) -> Iterator[str]:
        for pred, derived in self.predicates.items():
            if pred not in self.said:
                continue
            types = [self.types.of((pred, i)) for i in range(pred.arity)]
            yield f".decl {self.names[pred]}({', '.join(f'x{i}: {each}' for i, each in enumerate(types, 1))})"
            if "float" in types:
                self.notes[_PRECISION] = None
            if self.names[pred] != pred.name:
                self.notes[f"<{pred.name}> is called {self.names[pred]}"] = None
            named = [parameters for file, parameters in self.inputs if file.predicate == pred.name]
            if named:
                yield from (f".input {self.names[pred]}({parameters})" for parameters in named)
            elif not derived:
                yield f".input {self.names[pred]}"

    def after(self) -> Iterator[str]:
        if writer.own_files(self.unit, "output"):
            names = {pred.name: pred for pred in self.said}
            for file, parameters in self.outputs:
                if file.predicate in names:
                    yield f".output {self.names[names[file.predicate]]}({parameters})"
            return
        yield from (f".output {self.names[pred]}" for pred in self.outputs_said)

    # Statements

    def statement(self, rule: Rule) -> str:
        for name in (head.name for head in rule.heads):
            if name in self.arities:
                raise CannotSay(f"`{name}` has several numbers of arguments, and a relation of Soufflé has one")
        number = next(i for i, each in enumerate(self.rules) if each is rule)
        if number in self.wrong:
            kinds = " and ".join(f"{each}s" for each in self.wrong[number])
            raise CannotSay(f"with this, a column has {kinds}, and a column of Soufflé has one type")
        heads = ", ".join(map(self._atom, rule.heads))
        if not rule.body:
            return f"{heads}."
        return f"{heads} :- {', '.join(self._body(number, rule))}."

    def _body(self, number: int, rule: Rule) -> Iterator[str]:
        outside = writer.bound((*rule.heads, *rule.body))
        for literal in rule.body:
            if isinstance(literal, Aggregate):
                yield from self._aggregate(number, literal)
            else:
                yield from self._literal(number, literal, outside)

    def _aggregate(self, number: int, literal: Aggregate) -> Iterator[str]:
        inside = writer.bound(literal.body)
        body = [text for one in literal.body for text in self._literal(number, one, inside)]
        if literal.on:
            outer = RuleMap(new_names(self.rules[number], lambda v: v in inside and v not in literal.on, RESERVED))
            for one in map(outer.literal, literal.body):
                yield from self._literal(number, one, set(map(outer.variable, inside)))
        for call in literal.calls:
            if call.function not in _AGGREGATES or (call.distinct and call.function not in ("min", "max")):
                what = f"{call.function.upper()}{' DISTINCT' if call.distinct else ''}"
                raise CannotSay(f"Soufflé has no aggregate {what}")
            argument = "" if call.function == "count" else f" {self._expression(number, call.argument or Constant(1))}"
            yield f"{_variable(call.variable)} = {_AGGREGATES[call.function]}{argument} : {{ {', '.join(body)} }}"

    def _literal(self, number: int, literal: BodyLiteral, outside: set[Variable]) -> Iterator[str]:
        match literal:
            case Atom():
                yield self._atom(literal)
            case Negation(atom):
                yield f"!{self._atom(atom, outside)}"
            case Bind(expression, variable):
                yield f"{_variable(variable)} = {self._expression(number, expression)}"
            case Filter(Call("&&", sides)):
                for side in sides:
                    yield from self._literal(number, Filter(side), outside)
            case Filter(Call(function, (left, right))) if function in COMPARISONS:
                yield f"{self._expression(number, left)} {function} {self._expression(number, right)}"
            case Filter(Call("!", (Call("sameterm", (left, right)),))):
                yield f"{self._expression(number, left)} != {self._expression(number, right)}"
            case Filter(Call("contains", (text, part))):
                yield f"contains({self._expression(number, part)}, {self._expression(number, text)})"
            case Aggregate():
                raise CannotSay("an aggregate inside of an aggregate")
            case _:
                raise CannotSay("this condition has no counterpart in Soufflé")

    def _atom(self, atom: Atom, outside: set[Variable] | None = None) -> str:
        if atom.name == TRIPLE:
            raise CannotSay("a variable in the place of a predicate", "Soufflé's relations have names.")
        terms = [
            "_" if outside is not None and isinstance(t, Variable) and t not in outside else _term(t)
            for t in atom.terms
        ]
        return f"{self.names[atom.pred]}({', '.join(terms)})"

    def _expression(self, number: int, expression: Expression) -> str:
        if not isinstance(expression, Call):
            return _term(expression)
        arguments = [self._expression(number, argument) for argument in expression.arguments]
        text = registry.written(SOUFFLE, expression.function, arguments)
        if text is not None:
            return text
        raise CannotSay(f"Soufflé has no `{expression.function}` that means the same")


def _result(function: str) -> str | None:
    """The type of the result of a function, if it does not depend on those of its arguments."""
    record = FUNCTIONS[function]
    if not record.forms_in(SOUFFLE):
        return None
    return "number" if function == "%" else _TYPES.get(record.gives)


def _argument(function: str, position: int) -> str | None:
    """The type of an argument, which is that of the result where rules take any value."""
    sort = FUNCTIONS[function].sort_of(position)
    return _TYPES.get(sort) if sort in _TYPES else _result(function)


def _is_operator(function: str) -> bool:
    """Whether a function is an operator between two numbers, the result of which may need more than 32 bits."""
    return any(form.startswith("({0} ") and form.endswith(" {1})") for form in FUNCTIONS[function].forms_in(SOUFFLE))


def _type(value: Value) -> str:
    match value:
        case bool() | BlankNode() | tuple():
            return OTHER
        case int():
            return "number"
        case float():
            return "float"
        case str():
            return "symbol"
    return OTHER


def _names(predicates: Iterable[Pred]) -> dict[Pred, str]:
    """A name of letters and digits for every predicate, and for each another; several arities have been refused."""
    found = {pred: pred.name for pred in predicates if writer.PLAIN_NAME.fullmatch(pred.name)}
    found = {pred: name for pred, name in found.items() if name not in RESERVED}
    taken = set(found.values())
    for pred in (pred for pred in predicates if pred not in found):
        stem = re.sub(r"[^A-Za-z0-9_]", "_", pred.name)
        stem = stem if stem[:1].isalpha() else f"p{stem}"
        wanted = (stem if i == 1 else f"{stem}_{i}" for i in count(1))
        found[pred] = next(name for name in wanted if name not in taken and name not in RESERVED)
        taken.add(found[pred])
    return found


def _differences(literal: BodyLiteral) -> Iterator[str]:
    match literal:
        case Aggregate(body, _, calls):
            yield from (note for inner in body for note in _differences(inner))
            if any(call.function == "sum" for call in calls):
                yield _BITS
        case Filter(expression) | Bind(expression):
            if any(map(_is_operator, _functions(expression))):
                yield _BITS


def _functions(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Call):
        yield expression.function
        yield from (function for argument in expression.arguments for function in _functions(argument))


def _term(term: Term) -> str:
    return _variable(term) if isinstance(term, Variable) else _value(term.value)


def _variable(variable: Variable) -> str:
    if variable.anonymous:
        return "_"
    name = re.sub(r"\W", "_", variable.name)
    return name if name[:1].isalpha() else f"v{name}"


def _value(value: Value) -> str:
    match value:
        case IRI():
            return _quoted(f"<{lexical(value)}>")
        case bool() | BlankNode() | tuple():
            raise CannotSay(f"{lexical(value)} has no counterpart among Soufflé's values")
        case int() if -(2**31) <= value < 2**31:
            return str(value)
        case float() if abs(value) < _LARGEST and (not value or abs(value) > _SMALLEST):
            text = format(Decimal(repr(value)), "f")
            return text if "." in text else f"{text}.0"
        case str():
            return _quoted(value)
    raise CannotSay(f"{lexical(value)} has no counterpart among Soufflé's values")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def _parameters(file: OwnFile) -> str:
    """The parameters of `.input` or `.output`."""
    options = file.options
    given = {
        "filename": file.path,
        "delimiter": {"\t": "\\t"}.get(writer.table_delimiter(file), writer.table_delimiter(file)),
    }
    if options.header:
        given["headers"] = "true"
    if file.kind == "input" and options.columns is not None:
        if not all(isinstance(column.source, int) for column in options.columns) and options.header:
            raise CannotSay("columns of Soufflé are chosen by number", "Choose columns by their numbers, from 1 on.")
        if all(isinstance(column.source, int) for column in options.columns):
            given["columns"] = ":".join(str(int(column.source) - 1) for column in options.columns)
    return ", ".join(["IO=file", *(f'{name}="{value}"' for name, value in given.items())])
