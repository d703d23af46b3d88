"""From statements of Nemo's language to rules.

`?x = ?y` makes two variables one. `?x = e` is a BIND, so values are equal if they are one value (1 is not 1.0), and
`!=` is the opposite of that. `<` and its like compare numbers.

An aggregate in a head is over distinct values. The groups are the values of the other arguments of the head, and of
variables beside the aggregate (`?z * #sum(?y)`); where there is nothing, there is no group:

    p(f(?x), #sum(?y)) :- b .        p(?g, ?s) :- AGGREGATE(b, BIND(f(?x) AS ?g) ON ?g BIND SUM(DISTINCT ?y) AS ?s) .
    p(?x, #sum(?y, ?z)) :- b .       p(?x, ?s) :- AGGREGATE(AGGREGATE(b ON ?x ?y ?z BIND COUNT(*) AS ?n)
                                                            ON ?x BIND SUM(?y) AS ?s) .

A rule with new values becomes an existential one (`deltalog.core.existential`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from deltalog.core.errors import Diagnostic, SyntaxProblem
from deltalog.core.existential import with_new_values
from deltalog.core.flatten import flattened
from deltalog.core.operators import COMPARISONS
from deltalog.core.rules import (
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
    Rule,
    Source,
    Span,
    Term,
    Variable,
    atoms,
    variables,
)
from deltalog.core.terms import Value
from deltalog.functions.scalar import ExpressionFails, evaluate
from deltalog.languages.nemo import tree
from deltalog.languages.nemo.file_use import FileUse
from deltalog.languages.nemo.files import other_exports
from deltalog.languages.nemo.functions import NEMO
from deltalog.languages.nemo.parser import Parser, Statement
from deltalog.languages.protocol import ProgramUnit
from deltalog.languages.tokens import Unexpected


def read_nemo(text: str, name: str = "<text>", folder: Path | None = None) -> ProgramUnit:
    """The program of a text; SyntaxProblem has all errors."""
    parser = Parser(Source(name, text))
    lowering = _Lowering(parser.diagnostics, folder)
    for statement in _parameters_first(list(parser.statements())):
        lowering.add(statement)
    unit = lowering.unit(parser.prefixes)
    if parser.diagnostics:
        in_order = sorted(parser.diagnostics, key=lambda each: each.span.start if each.span else 0)
        raise SyntaxProblem(in_order, unit.rules)
    return unit


def _parameters_first(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Parameters come before everything else, and a parameter after those that its value names."""
    waiting = [each for each in statements if isinstance(each, tree.ParameterDirective)]
    while waiting:
        missing = {each.name for each in waiting}
        ready = [each for each in waiting if not missing.intersection(_parameter_names(each.value))] or waiting
        yield from ready
        waiting = [each for each in waiting if each not in ready]
    yield from (each for each in statements if not isinstance(each, tree.ParameterDirective))


class _Lowering:
    """The rules and directives so far."""

    def __init__(self, diagnostics: list[Diagnostic], folder: Path | None) -> None:
        self.diagnostics, self.folder = diagnostics, folder
        self.rules: list[Rule] = []
        self.files: list[FileUse] = []
        self.outputs: list[str] = []
        self.parameters: dict[str, Value] = {}

    def unit(self, prefixes: Mapping[str, str]) -> ProgramUnit:
        arities = {atom.name: len(atom.terms) for rule in self.rules for atom in (*rule.heads, *atoms(rule.body))}
        files = [replace(use, arity=arities.get(use.predicate)) for use in self.files]
        exports = [use for use in files if use.directive == "export"]
        files += other_exports(self.rules, exports, list(dict.fromkeys(self.outputs)))
        return ProgramUnit(tuple(self.rules), dict(prefixes), tuple(files), languages=("nemo",))

    def add(self, statement: object) -> None:
        try:
            match statement:
                case tree.Statement():
                    self._rule(statement)
                case tree.FileDirective():
                    self._file(statement)
                case tree.Output(predicates=predicates):
                    self.outputs += predicates
                case tree.ParameterDirective():
                    self._parameter(statement)
        except Unexpected as error:
            self.diagnostics.append(error.diagnostic)

    # Directives

    def _parameter(self, statement: tree.ParameterDirective) -> None:
        if statement.value is None:
            hint = f"Give it a value: @parameter ${statement.name} = 5 ."
            raise Unexpected(f"the parameter ${statement.name} has no value", statement.span, hint)
        if statement.name in self.parameters:
            raise Unexpected(f"the parameter ${statement.name} has a value already", statement.span)
        self.parameters[statement.name] = self._value(statement.value, {}, statement.span)

    def _file(self, statement: tree.FileDirective) -> None:
        known: dict[Variable, Value] = {}
        for each in statement.equations:
            if not isinstance(each, tree.Condition) or each.operator != "=" or each.right is None:
                raise Unexpected("only equations such as ?x = 5 may follow a file", each.span)
            left, right = (each.left, each.right) if isinstance(each.left, Variable) else (each.right, each.left)
            if not isinstance(left, Variable):
                raise Unexpected("an equation gives a value to a variable", each.span)
            known[left] = self._value(right, known, each.span)
        pairs = statement.attributes
        parameters = {name: self._value(term, known, statement.span) for name, term in pairs}
        where = statement.span, None, self.folder
        self.files.append(FileUse(statement.predicate, statement.format, parameters, *where, statement.kind))

    def _value(self, term: tree.Term, known: Mapping[Variable, Value], span: Span) -> Value:
        """The value of a term without variables but known ones."""
        if isinstance(term, tree.Tuple):
            return tuple(self._value(element, known, span) for element in term.elements)
        try:
            return evaluate(self.expression(term), known)
        except ExpressionFails as error:
            raise Unexpected(f"this has no value: {error}", span) from None

    # Rules

    def _rule(self, statement: tree.Statement) -> None:
        for term in _existentials(part for literal in statement.body for part in _sides(literal)):
            hint = f"New values are in heads; write ?{term.name} here."
            raise Unexpected(f"!{term.name} is in the body of a rule", term.span, hint)
        body = _Body(self, statement)
        new = {term.name: term for head in statement.heads for term in _existentials(head.terms)}
        if new:
            self._existential_rule(statement, body)
            return
        heads = [head for head in statement.heads if not any(map(_aggregates, head.terms))]
        if 1 < len(statement.heads) != len(heads):
            body.compute(statement.heads)
        if heads:
            atoms = tuple(body.head(head) for head in heads)
            self.rules += self._folded(Rule(atoms, tuple(body.literals), statement.span))
        for head in statement.heads:
            if head not in heads:
                self.rules.append(body.aggregate(head))

    def _folded(self, rule: Rule) -> Iterator[Rule]:
        """A fact whose arguments are computed is a fact, and none if one of them has no value."""
        if rule.body:
            yield flattened(rule)
            return
        with suppress(ExpressionFails):
            yield replace(rule, heads=tuple(replace(h, terms=tuple(map(_constant, h.terms))) for h in rule.heads))

    def _existential_rule(self, statement: tree.Statement, body: _Body) -> None:
        flat = flattened(Rule(tuple(map(body.head, statement.heads)), tuple(body.literals), statement.span))
        new = dict.fromkeys(v for head in flat.heads for v in variables(head) if v in body.new)
        self.rules.append(with_new_values(flat, {v: _label(statement, v) for v in new}))

    # Terms

    def expression(self, term: tree.Term) -> Expression:
        match term:
            case Variable() | Constant():
                return term
            case tree.Parameter(name=name):
                if name not in self.parameters:
                    hint = f"Declare it: @parameter ${name} = 5 ."
                    raise Unexpected(f"there is no parameter ${name}", term.span, hint)
                return Constant(self.parameters[name])
            case tree.Applied(function=function, arguments=arguments):
                return self._applied(function, tuple(map(self.expression, arguments)), term.span)
            case tree.Existential():
                return Variable(f"_new_{term.name}", term.span)
            case tree.Aggregated():
                hint = "An aggregate is an argument of an atom in a head, or a part of one."
                raise Unexpected(f"#{term.function} has no place here", term.span, hint)
            case tree.Tuple():
                hint = "Nemo has no tuples yet; give each element an argument of its own."
                raise Unexpected("a tuple has no place here", term.span, hint)

    @staticmethod
    def _applied(function: str, arguments: tuple[Expression, ...], span: Span | None) -> Call:
        name = NEMO.get(function, function)
        if name in COMPARISONS:
            left, right = arguments
            return _compared(name, left, right, span)
        return Call(name, arguments, span)


class _Body:
    """The literals of a statement, with equal variables made one."""

    def __init__(self, lowering: _Lowering, statement: tree.Statement) -> None:
        self.lowering, self.statement = lowering, statement
        self.same: dict[Variable, Variable] = {}
        for literal in statement.body:
            match literal:
                case tree.Condition(operator="=", left=Variable() as left, right=Variable() as right):
                    self.same[self._first(right)] = self._first(left)
        names = {v.name for literal in (*statement.heads, *statement.body) for v in _tree_variables(literal)}
        self._fresh = (Variable(name) for i in count(1) if (name := f"_v{i}") not in names)
        self.new = {Variable(f"_new_{t.name}") for head in statement.heads for t in _existentials(head.terms)}
        self.literals = [each for literal in statement.body for each in self._literal(literal)]

    def _first(self, variable: Variable) -> Variable:
        while variable in self.same and self.same[variable] != variable:
            variable = self.same[variable]
        return variable

    def _expression(self, term: tree.Term) -> Expression:
        return self._renamed(self.lowering.expression(term))

    def _renamed(self, expression: Expression) -> Expression:
        match expression:
            case Variable():
                return self._first(expression)
            case Call():
                return replace(expression, arguments=tuple(map(self._renamed, expression.arguments)))
            case Constant():
                return expression

    def head(self, atom: tree.Atom) -> Atom:
        """An atom; its arguments may be expressions until the rule is flattened."""
        terms: tuple[Term, ...] = tuple(self._expression(term) for term in atom.terms)  # type: ignore[misc]
        return Atom(atom.name, terms, atom.span)

    def _literal(self, literal: tree.Literal) -> Iterator[BodyLiteral]:
        match literal:
            case tree.Atom():
                yield self.head(literal)
            case tree.Not(atom=atom):
                yield Negation(self.head(atom), literal.span)
            case tree.Condition(right=None):
                yield Filter(self._expression(literal.left), literal.span)
            case tree.Condition(operator="="):
                yield from self._equality(literal)
            case tree.Condition(operator=operator, left=left, right=right) if right is not None:
                compared = _compared(operator, self._expression(left), self._expression(right), literal.span)
                yield Filter(compared, literal.span)

    def _equality(self, literal: tree.Condition) -> Iterator[BodyLiteral]:
        assert literal.right is not None
        left, right = self._expression(literal.left), self._expression(literal.right)
        if isinstance(left, Variable) and isinstance(right, Variable):
            return
        if isinstance(right, Variable):
            left, right = right, left
        if isinstance(left, Variable):
            yield Bind(right, left, literal.span)
            return
        value = next(self._fresh)
        yield from (Bind(left, value, literal.span), Bind(right, value, literal.span))

    # Aggregates

    def compute(self, heads: Iterable[tree.Atom]) -> None:
        """Computes in the body what heads with and without aggregates have, so that all of them fail together."""
        for term in (term for head in heads for term in head.terms):
            found = _aggregates(term)
            for part in [each.argument for each in found] or [term]:
                if isinstance(part, tree.Applied):
                    self.literals.append(Bind(self._expression(part), next(self._fresh), part.span))

    def aggregate(self, head: tree.Atom) -> Rule:
        found = [each for term in head.terms for each in _aggregates(term)]
        if len(found) > 1:
            hint = "Write a rule for each, and join them."
            raise Unexpected("a rule has one aggregate", found[1].span, hint)
        aggregated, result = found[0], next(self._fresh)
        groups: dict[Variable, None] = {}
        inside: list[BodyLiteral] = list(self.literals)
        terms: list[Term] = []
        for term in head.terms:
            if _aggregates(term):
                expression = self._renamed(self.lowering.expression(_replaced(term, result)))
                groups.update(dict.fromkeys(v for v in variables(expression) if v != result))
                terms.append(expression)  # type: ignore[arg-type]
            else:
                terms.append(self._group(term, groups, inside))
        if not groups:  # no group where there is nothing
            groups[next(self._fresh)] = None
            inside.append(Bind(Constant(0), next(iter(groups)), head.span))
        literal = self._over(aggregated, tuple(groups), inside, result)
        return flattened(Rule((Atom(head.name, tuple(terms), head.span),), (literal,), self.statement.span))

    def _group(self, term: tree.Term, groups: dict[Variable, None], inside: list[BodyLiteral]) -> Term:
        expression = self._expression(term)
        if isinstance(expression, Constant):
            return expression
        if not isinstance(expression, Variable):
            variable = next(self._fresh)
            inside.append(Bind(expression, variable, expression.span))
            expression = variable
        groups[expression] = None
        return expression

    def _over(
        self, found: tree.Aggregated, groups: tuple[Variable, ...], body: list[BodyLiteral], result: Variable
    ) -> Aggregate:
        argument = next(self._fresh)
        inner = (*_flat(body), Bind(self._expression(found.argument), argument, found.span))
        if found.function == "sum":  # which ignores what is no number
            inner = (*inner, Filter(Call("nemo_isnumeric", (argument,)), found.span))
        distinct = tuple(v for term in found.distinct for v in variables(self._expression(term)))
        if not distinct:
            call = AggregateCall(found.function, argument, result, True, found.span)
            return Aggregate(inner, groups, (call,), found.span)
        keys = tuple(dict.fromkeys((*groups, argument, *distinct)))
        once = Aggregate(inner, keys, (AggregateCall("count", None, next(self._fresh)),), found.span)
        return Aggregate(
            (once,), groups, (AggregateCall(found.function, argument, result, False, found.span),), found.span
        )


def _compared(operator: str, left: Expression, right: Expression, span: Span | None) -> Call:
    """A comparison as Nemo means it: `=` and `!=` of values, others of numbers."""
    if operator not in ("=", "!="):
        return Call(operator, _numbers(left, right), span)
    same = Call("sameterm", (left, right), span)
    return same if operator == "=" else Call("!", (same,), span)


def _numbers(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """The sides of `<` and its like, which compare numbers: what is added to 0 is one."""
    if _is_number(left) or _is_number(right):
        return left, right
    return Call("+", (left, Constant(0))), right


def _is_number(expression: Expression) -> bool:
    """Whether the value of an expression is a number, if it has one."""
    match expression:
        case Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case Call(function=function):
            return function in ("+", "-", "*", "nemo_div")
    return False


def _flat(body: Sequence[BodyLiteral]) -> tuple[BodyLiteral, ...]:
    return flattened(Rule((), tuple(body))).body


def _constant(term: Term) -> Term:
    if isinstance(term, Variable):
        return term
    return Constant(evaluate(term, {}))


def _label(statement: tree.Statement, variable: Variable) -> str:
    """What distinguishes a new value from those of other variables and rules."""
    text = statement.span.source.text[statement.span.start : statement.span.end]
    return hashlib.blake2b(" ".join(text.split()).encode(), digest_size=8).hexdigest() + variable.name


# Parts of terms


def _parts(term: tree.Term) -> Iterator[tree.Term]:
    yield term
    match term:
        case tree.Applied(arguments=inner) | tree.Tuple(elements=inner):
            yield from (part for each in inner for part in _parts(each))
        case tree.Aggregated():
            yield from (part for each in (term.argument, *term.distinct) for part in _parts(each))


def _parameter_names(term: tree.Term | None) -> set[str]:
    return set() if term is None else {part.name for part in _parts(term) if isinstance(part, tree.Parameter)}


def _existentials(terms: Iterable[tree.Term]) -> Iterator[tree.Existential]:
    yield from (part for term in terms for part in _parts(term) if isinstance(part, tree.Existential))


def _aggregates(term: tree.Term) -> list[tree.Aggregated]:
    return [part for part in _parts(term) if isinstance(part, tree.Aggregated)]


def _replaced(term: tree.Term, result: Variable) -> tree.Term:
    """A term with the result in the place of its aggregate."""
    match term:
        case tree.Aggregated():
            return result
        case tree.Applied(arguments=inner):
            return replace(term, arguments=tuple(_replaced(each, result) for each in inner))
        case _:
            return term


def _tree_variables(literal: tree.Literal) -> Iterator[Variable]:
    yield from (part for term in _sides(literal) for part in _parts(term) if isinstance(part, Variable))


def _sides(literal: tree.Literal) -> tuple[tree.Term, ...]:
    """The arguments of an atom, or the sides of a comparison."""
    match literal:
        case tree.Atom(terms=terms) | tree.Not(atom=tree.Atom(terms=terms)):
            return terms
        case tree.Condition(left=left, right=right):
            return (left,) if right is None else (left, right)
