"""From typed clauses to rules.

A conjunction becomes atoms, BINDs and FILTERs. An argument of an atom that is an expression becomes a variable and a
BIND; a record with variables in it is built if they have values, and else taken apart. `settle` finds that out as
Soufflé does: atoms give values to variables, and an equality gives values to one side once the other has them.

An aggregate is grouped by the variables that the clause gives values to (`injected`). COUNT and SUM of nothing are 0,
so where a group may be missing there is a second rule for it:

    #total(x, n) :- AGGREGATE(p(x, y) ON x BIND COUNT(*) AS n).
    #total(x, 0) :- #context(x), NOT #some(x).

with the values that the clause asks for in #context, and the groups that are there in #some. A variable of the
aggregate that the clause uses without giving it a value is a witness: the body is joined again, with the result.

The condition of a subsumption is about facts that are new in a round: no relation of their fields has these yet, nor a
#context. There, records are taken apart in the rule itself, and aggregates are computed when they are asked for.

`ord(x)` is a relation as well: #ordinal has the symbols of the program and of its inputs, numbered in the order in
which they first occur, as Soufflé numbers them. A symbol that is computed gets a number of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from deltalog.core import rules as ast
from deltalog.core.errors import Diagnostic
from deltalog.core.rules import (
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    HiddenName,
    Negation,
    Pred,
    Rule,
    Span,
)
from deltalog.core.terms import Value
from deltalog.functions import registry
from deltalog.functions.function import SOUFFLE
from deltalog.functions.function import SOUFFLE_PREFIX as PREFIX
from deltalog.functions.ordered import COUNTER, ITERATION
from deltalog.functions.registry import FUNCTIONS
from deltalog.functions.scalar import ExpressionFails, evaluate
from deltalog.functions.souffle_functors import NIL, signed, single, unsigned
from deltalog.languages.souffle import tree
from deltalog.languages.souffle.normalise import Normaliser, grounded, replaced
from deltalog.languages.souffle.types import CONVERSIONS, LETTER, NUMERIC, Inference, Types, integer
from deltalog.program.procedures import AskedAggregate

_WRAPPED = ("sum", "mean")  # whose results may need more bits
AGGREGATES = registry.aggregates_named(SOUFFLE)


@dataclass
class Lowering:
    """The rules of a program so far."""

    types: Types
    relations: Mapping[str, tree.RelationDeclaration]
    label: str  # makes the names of hidden relations differ from those of other programs
    normaliser: Normaliser
    diagnostics: list[Diagnostic]
    rules: list[Rule] = field(default_factory=list)
    parts: dict[tuple[Pred, int, str, tuple[int, ...]], str] = field(default_factory=dict)  # hidden relations of fields
    asked: dict[Pred, AskedAggregate] = field(default_factory=dict)  # with a context
    ordinals: HiddenName | None = None  # the relation of symbols and their numbers, if `ord` is used
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    in_place: bool = False  # in the condition of a subsumption: no relations of facts that are new in a round

    def clause(self, clause: tree.Clause) -> None:
        """Adds the rules of a clause."""
        for each in self.normaliser.clauses(clause):
            inference = Inference(self.types, self.relations)
            inference.run(each)
            self.diagnostics += inference.diagnostics
            if not inference.diagnostics:
                self._rule(each, inference)

    def dominance(self, statement: tree.Subsumption) -> list[Rule]:
        """The rules by which facts go, with the atom that goes and the one that stays first in their bodies."""
        less = replaced(statement.less, lambda node: self._named(node))
        body = tree.AndNode(statement.span, (less, statement.greater, statement.body))
        before = len(self.rules)
        self.in_place = True
        self.clause(tree.Clause(statement.span, (less,), body))
        self.in_place = False
        found = [rule for rule in self.rules[before:] if rule.heads[0].name == less.name]
        self.rules[before:] = [rule for rule in self.rules[before:] if rule.heads[0].name != less.name]
        return found

    def _named(self, node: object) -> tree.VariableNode | None:
        return self.normaliser.fresh(node) if isinstance(node, tree.Unnamed) else None

    def _rule(self, clause: tree.Clause, inference: Inference) -> None:
        assert isinstance(clause.body, tree.AndNode)
        conjunction = Conjunction(self, inference, {name for head in clause.heads for name in tree.variables(head)})
        conjunction.add(clause.body.parts)
        heads = tuple(conjunction.head(head) for head in clause.heads)
        if not conjunction.failed:
            self.rules.append(Rule(heads, tuple(conjunction.body), clause.span))

    def hidden(self, what: str, terms: Sequence[ast.Term], body: Iterable[BodyLiteral], span: Span) -> ast.Atom:
        """The atom of a relation of its own, which the body defines."""
        atom = ast.Atom(HiddenName(f"#{what} {next(self.numbers)} {self.label}"), tuple(terms), span)
        self.rules.append(Rule((atom,), tuple(body), span))
        return atom


@dataclass
class Conjunction:
    """The literals of a rule, or of the body of an aggregate."""

    lowering: Lowering
    inference: Inference
    outside: set[str]  # the variables that something else mentions
    body: list[BodyLiteral] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)
    pending: list[tuple[tree.Argument, tree.Argument, Span]] = field(default_factory=list)
    aggregates: list[tuple[tree.VariableNode, tree.AggregateNode]] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)  # variables without a value
    failed: bool = False
    nested: bool = False  # inside of an aggregate or a negation

    def add(self, literals: Sequence[tree.BodyNode]) -> None:
        """Lowers literals: first what gives values, then what only checks."""
        checks: list[tree.BodyNode] = []
        for literal in literals:
            match literal:
                case tree.AtomNode():
                    self._atom(literal)
                case tree.Comparison(
                    operator="=", left=tree.VariableNode() as variable, right=tree.AggregateNode() as inner
                ):
                    self.aggregates.append((variable, inner))
                case tree.Comparison(operator="=", left=left, right=tree.AggregateNode() as inner):
                    result = self._typed(inner, self.inference.type_of(inner))
                    self.aggregates.append((result, inner))
                    self.pending.append((left, result, literal.span))
                case tree.Comparison(operator="=", left=left, right=right):
                    self.pending.append((left, right, literal.span))
                case _:
                    checks.append(literal)
        self._settle(literals)
        for literal in checks:
            self._check(literal)
        self._refuse_pending()

    # Atoms

    def _atom(self, atom: tree.AtomNode) -> None:
        attributes = self.lowering.relations[atom.name].attributes
        pairs = zip(atom.arguments, attributes, strict=True)
        terms = tuple(self._atom_term(argument, attribute.type) for argument, attribute in pairs)
        self.body.append(ast.Atom(atom.name, terms, atom.span))
        self.bound.update(term.name for term in terms if isinstance(term, ast.Variable))

    def _atom_term(self, argument: tree.Argument, type_: str) -> ast.Term:
        match argument:
            case tree.VariableNode(name=name):
                return ast.Variable(name, argument.span)
            case tree.Unnamed():
                return self._anonymous(argument.span)
        if self._is_constant(argument):
            value = self.expression(argument)
            if isinstance(value, Constant):
                return value
        variable = self._typed(argument, type_)
        self.pending.append((variable, argument, argument.span))
        return ast.Variable(variable.name, argument.span)

    def _typed(self, node: tree.SouffleNode, type_: str | None) -> tree.VariableNode:
        variable = self.lowering.normaliser.fresh(node)
        if type_ is not None:
            self.inference.of_variable[variable.name] = type_
        return variable

    def _anonymous(self, span: Span) -> ast.Variable:
        return ast.Variable(f"_#{next(self.lowering.numbers)}", span)

    # Equalities and aggregates: to the fixpoint.

    def _settle(self, literals: Sequence[tree.BodyNode]) -> None:
        while True:
            ready = next((i for i, (left, right, _) in enumerate(self.pending) if self._is_ready(left, right)), None)
            if ready is not None:
                self._equal(*self.pending.pop(ready))
            elif self.aggregates:
                self._aggregate(*self.aggregates.pop(self._next_aggregate()), literals)
            else:
                return

    def _is_ready(self, left: tree.Argument, right: tree.Argument) -> bool:
        if isinstance(right, tree.Functor) and right.name == "range":
            return all(map(self._has_value, right.arguments))
        if isinstance(left, tree.RecordNode | tree.Branch) and isinstance(right, tree.RecordNode | tree.Branch):
            return True
        return any(
            self._has_value(one)
            and (isinstance(other, tree.VariableNode | tree.RecordNode | tree.Branch) or self._has_value(other))
            for one, other in ((left, right), (right, left))
        )

    def _has_value(self, argument: tree.Argument) -> bool:
        unnamed = any(isinstance(node, tree.Unnamed) for node in tree.walk(argument))
        return not unnamed and self.bound.issuperset(tree.variables(argument))

    def _is_constant(self, argument: tree.Argument) -> bool:
        return not any(isinstance(node, tree.Unnamed | tree.VariableNode) for node in tree.walk(argument))

    def _equal(self, left: tree.Argument, right: tree.Argument, span: Span) -> None:
        if isinstance(right, tree.Functor) and right.name == "range":
            self._range(left, right, span)
        elif isinstance(left, tree.VariableNode) and self._has_value(right):
            self._bind(left.name, right, span)
        elif isinstance(right, tree.VariableNode) and self._has_value(left):
            self._bind(right.name, left, span)
        elif self._has_value(left) and self._has_value(right):
            self._filter(Call("=", (self.expression(left), self.expression(right)), span), span)
        elif isinstance(left, tree.RecordNode | tree.Branch) and isinstance(right, tree.RecordNode | tree.Branch):
            self._unify(left, right, span)
        elif self._has_value(left):
            self._take_apart(left, right, span)
        else:
            self._take_apart(right, left, span)

    def _bind(self, name: str, argument: tree.Argument, span: Span) -> None:
        self.body.append(Bind(self.expression(argument), ast.Variable(name, span), span))
        self.bound.add(name)

    def _filter(self, condition: Expression, span: Span) -> None:
        self.body.append(Filter(condition, span))

    def _unify(self, left: tree.RecordNode | tree.Branch, right: tree.RecordNode | tree.Branch, span: Span) -> None:
        same = type(left) is type(right) and len(left.arguments) == len(right.arguments)
        if not same or getattr(left, "name", "") != getattr(right, "name", ""):
            self._filter(Constant(False), span)
            return
        pairs = zip(left.arguments, right.arguments, strict=True)
        unnamed = tree.Unnamed
        self.pending += [(a, b, span) for a, b in pairs if not (isinstance(a, unnamed) or isinstance(b, unnamed))]

    def _take_apart(self, value: tree.Argument, pattern: tree.Argument, span: Span) -> None:
        """Gives values to the variables in a record by a value."""
        assert isinstance(pattern, tree.RecordNode | tree.Branch)
        whole = self.expression(value)
        if not isinstance(whole, ast.Variable | Constant):
            variable = ast.Variable(self.lowering.normaliser.fresh(pattern).name, span)
            self.body.append(Bind(whole, variable, span))
            whole = variable
        inner = [self._field_variable(argument, span) for argument in pattern.arguments]
        literals = list(self._fields_of(whole, pattern, inner, span))
        source = next((each for each in self.body if isinstance(each, ast.Atom) and whole in each.terms), None)
        if isinstance(whole, ast.Variable) and source is not None and not self.lowering.in_place:
            literals = [self._parts(source, whole, pattern, inner, span)]
        self.body += literals
        self.bound.update(variable.name for variable in inner if variable is not None)

    def _field_variable(self, inner: tree.Argument, span: Span) -> ast.Variable | None:
        """The variable of a field; what is no variable must be equal to one. None for `_`."""
        if isinstance(inner, tree.Unnamed):
            return None
        if not isinstance(inner, tree.VariableNode):
            variable = self._typed(inner, self.inference.type_of(inner))
            self.pending.append((variable, inner, span))
            inner = variable
        return ast.Variable(inner.name, span)

    def _parts(
        self,
        source: ast.Atom,
        whole: ast.Variable,
        pattern: tree.RecordNode | tree.Branch,
        inner: Sequence[ast.Variable | None],
        span: Span,
    ) -> ast.Atom:
        """A relation of the records of an atom and their fields: each is taken apart once, and can be joined by its
        fields. Rules that take the same records apart share it."""
        place = source.terms.index(whole)
        used = tuple(at for at, variable in enumerate(inner) if variable is not None)
        name = str(self.tag(pattern).value) if isinstance(pattern, tree.Branch) else ""
        key = (source.pred, place, name, used)
        if key not in self.lowering.parts:
            record = ast.Variable("record")
            fields = [ast.Variable(f"field{at}") if at in used else None for at in range(len(inner))]
            terms = tuple(record if at == place else self._anonymous(span) for at in range(len(source.terms)))
            body = (ast.Atom(source.name, terms, span), *self._fields_of(record, pattern, fields, span))
            head = (record, *(field for field in fields if field is not None))
            self.lowering.parts[key] = self.lowering.hidden("parts", head, body, span).name
        asked = (whole, *(variable for variable in inner if variable is not None))
        return ast.Atom(self.lowering.parts[key], asked, span)

    def _fields_of(
        self,
        whole: ast.Variable | Constant,
        pattern: tree.RecordNode | tree.Branch,
        variables: Sequence[ast.Variable | None],
        span: Span,
    ) -> Iterator[BodyLiteral]:
        """What gives the fields of a record, or of a branch, to variables."""
        if isinstance(pattern, tree.Branch):
            yield Filter(Call(PREFIX + "is", (whole, self.tag(pattern))), span)
        else:
            yield Filter(Call(PREFIX + "isrecord", (whole,)), span)
        for position, variable in enumerate(variables, int(isinstance(pattern, tree.Branch))):
            if variable is not None:
                yield Bind(Call(PREFIX + "field", (whole, Constant(position))), variable, span)

    def _refuse_pending(self) -> None:
        """What has no value, and with it everything that is computed from it."""
        for left, right, span in self.pending:
            computed = {side.name for side in (left, right) if isinstance(side, tree.VariableNode)}
            names = {*tree.variables(left), *tree.variables(right)} - self.bound
            for name in sorted(names - computed) or sorted(names):
                self._refuse_variable(name, span)
            self.refused |= names
        if self.pending and not self.failed:
            self.failed = True
            self.lowering.diagnostics.append(Diagnostic("this has no value", self.pending[0][2], _GROUND))

    def _refuse_variable(self, name: str, span: Span) -> None:
        """Reports a variable without a value, once."""
        self.failed = True
        if name not in self.refused:
            self.refused.add(name)
            shown = name.split("#")[0]
            self.lowering.diagnostics.append(Diagnostic(f"nothing gives {shown or 'this'} a value", span, _GROUND))

    # Checks

    def _check(self, literal: tree.BodyNode) -> None:
        match literal:
            case tree.NotNode(operand=tree.AtomNode() as atom):
                self._negation(atom, literal.span)
            case tree.Comparison(operator=operator, left=left, right=right):
                if self._all_bound(literal):
                    self._filter(self._comparison(operator, left, right, literal.span), literal.span)

    def _all_bound(self, node: tree.BodyNode) -> bool:
        unbound = [
            each for each in tree.walk(node) if isinstance(each, tree.VariableNode) and each.name not in self.bound
        ]
        for each in unbound:
            self._refuse_variable(each.name, each.span)
        return not unbound

    def _comparison(self, operator: str, left: tree.Argument, right: tree.Argument, span: Span) -> Expression:
        sides = (self.expression(left), self.expression(right))
        if operator.removeprefix("not-") in ("match", "contains"):
            call = Call(PREFIX + operator.removeprefix("not-"), sides, span)
            return Call("!", (call,), span) if operator.startswith("not-") else call
        return Call(operator, sides, span)

    def _negation(self, atom: tree.AtomNode, span: Span) -> None:
        if not self._all_bound(atom):
            return
        if any(isinstance(a, tree.RecordNode | tree.Branch) and not self._has_value(a) for a in atom.arguments):
            self.body.append(Negation(self._projected(atom), span))
            return
        attributes = self.lowering.relations[atom.name].attributes
        terms = [
            self._anonymous(argument.span) if isinstance(argument, tree.Unnamed) else self.head_term(argument)
            for argument, _ in zip(atom.arguments, attributes, strict=True)
        ]
        self.body.append(Negation(ast.Atom(atom.name, tuple(terms), atom.span), span))

    def _projected(self, atom: tree.AtomNode) -> ast.Atom:
        """A relation of the variables of an atom with a `_` inside of a record."""
        inner = Conjunction(self.lowering, self.inference, set(), nested=True)
        atom = replace(atom, arguments=tuple(map(self._computed, atom.arguments)))
        self.inference.retype([atom])
        inner.add([atom])
        names = sorted(set(tree.variables(atom)))
        terms = [ast.Variable(name, atom.span) for name in names]
        return self.lowering.hidden("matches", terms, inner.body, atom.span)

    def _computed(self, argument: tree.Argument) -> tree.Argument:
        """A pattern with variables of this body in place of the expressions in it."""
        if isinstance(argument, tree.VariableNode) or self._is_constant(argument):
            return argument
        if not self._has_value(argument):
            assert isinstance(argument, tree.Unnamed | tree.RecordNode | tree.Branch)
            if isinstance(argument, tree.Unnamed):
                return argument
            return replace(argument, arguments=tuple(map(self._computed, argument.arguments)))
        variable = self._typed(argument, self.inference.type_of(argument))
        self._bind(variable.name, argument, argument.span)
        return variable

    def head(self, atom: tree.AtomNode) -> ast.Atom:
        """An atom of values that are known."""
        return ast.Atom(atom.name, tuple(map(self.head_term, atom.arguments)), atom.span)

    def head_term(self, argument: tree.Argument) -> ast.Term:
        """A variable or a constant for an argument whose variables have values."""
        if isinstance(argument, tree.Unnamed):
            self.failed = True
            message = "`_` in a head has no value"
            self.lowering.diagnostics.append(Diagnostic(message, argument.span, _GROUND))
            return self._anonymous(argument.span)
        for node in tree.walk(argument):
            if isinstance(node, tree.VariableNode) and node.name not in self.bound:
                self._refuse_variable(node.name, node.span)
        value = self.expression(argument)
        if isinstance(value, ast.Variable | Constant):
            return value
        variable = ast.Variable(self.lowering.normaliser.fresh(argument).name, argument.span)
        self.body.append(Bind(value, variable, argument.span))
        return variable

    # Expressions

    def expression(self, argument: tree.Argument) -> Expression:
        """An argument as an expression; a constant if it is one."""
        match argument:
            case tree.VariableNode(name=name):
                return ast.Variable(name, argument.span)
            case tree.Text(value=text):
                return Constant(text)
            case tree.NumberNode():
                return Constant(number(argument.text, self.inference.base_of(argument)))
            case tree.Nil():
                return Constant(NIL)
            case tree.RecordNode(arguments=arguments):
                return self._call("record", arguments, argument.span)
            case tree.Branch(arguments=arguments):
                fields = (self.tag(argument), *map(self.expression, arguments))
                return _folded(Call(PREFIX + "record", fields, argument.span))
            case tree.Cast(argument=inner, type=type_):
                return self._cast(inner, type_, argument.span)
            case tree.Functor():
                return self._functor(argument)
            case tree.Counter():
                return Call(COUNTER, (), argument.span)
            case tree.Iteration():
                return Call(ITERATION, (), argument.span)
            case tree.Unnamed() | tree.AggregateNode():
                self.failed = True
                self.lowering.diagnostics.append(Diagnostic("`_` has no value here", argument.span, _GROUND))
                return Constant(0)

    def tag(self, branch: tree.Branch) -> Constant:
        """The first field of a value of an algebraic data type: the full name of its branch."""
        found = self.inference.types.branch(branch.name, self.inference.type_of(branch))
        return Constant(branch.name if found is None else found[1].name)

    def _call(self, name: str, arguments: Sequence[tree.Argument], span: Span) -> Expression:
        return _folded(Call(PREFIX + name, tuple(map(self.expression, arguments)), span))

    def _functor(self, functor: tree.Functor) -> Expression:
        name, arguments, span = functor.name, functor.arguments, functor.span
        if name in CONVERSIONS:
            return self._converted(arguments[0], *CONVERSIONS[name], span)
        if name.startswith("to_"):
            base = {"to_float": "float", "to_number": "number", "to_string": "symbol", "to_unsigned": "unsigned"}[name]
            return self._converted(arguments[0], self.inference.base_of(arguments[0]), base, span)
        if PREFIX + name in FUNCTIONS:
            return self._ordinal(arguments[0], span) if name == "ord" else self._call(name, arguments, span)
        base = self.inference.base_of(functor)
        if base == "symbol" and name == "+":
            return self._call("cat", arguments, span)
        if base not in LETTER or f"{PREFIX}{LETTER[base]}{name}" not in FUNCTIONS:
            self.failed = True
            message = f"there is no `{name}` for values of the type {base}"
            self.lowering.diagnostics.append(Diagnostic(message, span))
            return Constant(0)
        return self._call(LETTER[base] + name, arguments, span)

    def _converted(self, argument: tree.Argument, source: str, target: str, span: Span) -> Expression:
        inner = self.expression(argument)
        if source == target:
            return inner
        return _folded(Call(f"{PREFIX}{LETTER.get(source, 'i')}>{LETTER[target]}", (inner,), span))

    def _cast(self, inner: tree.Argument, type_: str, span: Span) -> Expression:
        """The same bits as another type; a symbol or record becomes its ordinal, a number a branch without fields."""
        source, target = self.inference.base_of(inner), self.inference.types.base(type_) or "number"
        if source == target:
            return self.expression(inner)
        if {source, target} == {"number", "unsigned"}:
            return self._converted(inner, source, target, span)
        if source in NUMERIC and target in NUMERIC:
            return self._call(f"{LETTER[source]}={LETTER[target]}", (inner,), span)
        if target in ("number", "unsigned"):
            return self._ordinal(inner, span)
        if source in ("number", "unsigned") and (names := self.inference.types.enumeration(type_)):
            return _folded(Call(PREFIX + "branch", (self.expression(inner), *map(Constant, names)), span))
        self.failed = True
        message = f"a cast from {source} to {target} is not supported"
        self.lowering.diagnostics.append(Diagnostic(message, span, "Its result is an address in Soufflé's memory."))
        return Constant(0)

    def _ordinal(self, argument: tree.Argument, span: Span) -> Expression:
        """The number of a symbol, from the relation of those that are known, or its own one."""
        base = self.inference.base_of(argument)
        if base == "adt" and (names := self.inference.types.enumeration(self.inference.type_of(argument))):
            return _folded(Call(PREFIX + "index", (self.expression(argument), *map(Constant, names)), span))
        if base != "symbol":
            return self.expression(argument) if base in NUMERIC else self._call("ord", (argument,), span)
        symbol = self.head_term(argument)
        lowering = self.lowering
        lowering.ordinals = lowering.ordinals or HiddenName(f"#ordinal {lowering.label}")
        number_, own = ast.Variable(lowering.normaliser.fresh(argument).name, span), ast.Variable("number")
        unknown = Negation(ast.Atom(lowering.ordinals, (symbol, self._anonymous(span)), span), span)
        computed = Bind(Call(PREFIX + "ord", (symbol,), span), own, span)
        found = lowering.hidden("number", (symbol, own), (*self.body, unknown, computed), span)
        lowering.rules.append(Rule((found,), (ast.Atom(lowering.ordinals, (symbol, own), span),), span))
        self.body.append(ast.Atom(found.name, (symbol, number_), span))
        self.bound.add(number_.name)
        return number_

    # range

    def _range(self, target: tree.Argument, functor: tree.Functor, span: Span) -> None:
        """range(a, b, step) as a relation of a, b, step and each value in between."""
        if self.lowering.in_place:
            self.failed = True
            message = "`range` in the condition of a subsumption is not supported"
            self.lowering.diagnostics.append(Diagnostic(message, span, "Compare with the first and the last value."))
            return
        base = self.inference.base_of(functor)
        letter = LETTER.get(base, "i")
        terms = [self.head_term(argument) for argument in functor.arguments]
        start, end, step, value = (ast.Variable(name) for name in ("start", "end", "step", "value"))
        given = self.lowering.hidden("ranges", terms, self.body, span)
        asked: tuple[ast.Variable, ...] = (start, end, step)[: len(terms)]
        step_value: Expression = step if len(terms) > 2 else Constant(1.0 if base == "float" else 1)
        if len(terms) == 2:  # downwards if the end is below
            back = Constant(-1.0 if base == "float" else -1)
            step_value = Call("if", (Call("<=", (start, end)), step_value, back))
        up = Call("&&", (Call(">", (step_value, Constant(0))), Call("<", (value, end))))
        down = Call("&&", (Call("<", (step_value, Constant(0))), Call(">", (value, end))))
        only = Call("&&", (Call("=", (step_value, Constant(0))), Call("!=", (value, end))))  # the start alone
        inside = Call("||", (Call("||", (up, down)), only))
        first = ast.Atom(given.name, asked)
        ranges = self.lowering.hidden("range", (*asked, value), (first, Bind(start, value), Filter(inside)), span)
        before = ast.Variable("before")
        following = Bind(Call(f"{PREFIX}{letter}+", (before, step_value)), value)
        recursive = ast.Atom(ranges.name, (*asked, before))
        self.lowering.rules.append(Rule((ranges,), (recursive, following, Filter(inside)), span))
        found = self._typed(functor, base)
        self.body.append(ast.Atom(ranges.name, (*terms, ast.Variable(found.name, span)), span))
        self.bound.add(found.name)
        self.pending.append((target, found, span))

    # Aggregates

    def _next_aggregate(self) -> int:
        """The aggregate with the fewest variables that have no value yet, and may get one by something else. What
        counts first are those that its own atoms give no values to, and its own result."""
        waiting = {name for left, right, _ in self.pending for side in (left, right) for name in tree.variables(side)}

        def missing(at: int) -> tuple[int, int]:
            variable, aggregate = self.aggregates[at]
            others = waiting.union(*(_mentioned(each) for each in self.aggregates if each[0] is not variable))
            found = (others | {variable.name}).intersection(tree.variables(aggregate)) - self.bound
            parts = aggregate.body.parts if isinstance(aggregate.body, tree.AndNode) else (aggregate.body,)
            lacking = found.difference(*map(grounded, parts)) | found.intersection((variable.name,))
            return len(lacking), len(found)

        return min(range(len(self.aggregates)), key=missing)

    def _aggregate(
        self, variable: tree.VariableNode, aggregate: tree.AggregateNode, literals: Sequence[tree.BodyNode]
    ) -> None:
        elsewhere = self._elsewhere(aggregate, literals) | {variable.name}
        witnesses = set(tree.variables(aggregate)) & elsewhere - self.bound
        if aggregate.function not in ("min", "max") and not self.nested:
            used = self.outside.union(*map(_variables_outside_aggregates, literals))
            self._refuse_witnesses(aggregate, (witnesses & used) - {variable.name})
        if witnesses and aggregate.argument is None:
            self._join_witnesses(aggregate, witnesses, None)
            witnesses = set()
        direct = variable.name not in self.bound | witnesses and aggregate.function not in _WRAPPED
        result = variable if direct else self._typed(aggregate, self.inference.type_of(aggregate))
        self._grouped(aggregate, ast.Variable(result.name, aggregate.span))
        self.bound.add(result.name)
        if not direct:
            self._result(variable, result, aggregate)
        if witnesses:
            self._join_witnesses(aggregate, witnesses, result)

    def _refuse_witnesses(self, aggregate: tree.AggregateNode, witnesses: set[str]) -> None:
        """Reports variables of the rule that a count, a sum or a mean alone would give values."""
        for name in sorted(witnesses & _variables_outside_aggregates(aggregate.body)):
            message = f"only the {aggregate.function} gives {name.split('#')[0]} a value"
            hint = "Give it a value in an atom of the rule; min and max alone have witnesses."
            self.lowering.diagnostics.append(Diagnostic(message, aggregate.span, hint))

    def _grouped(self, aggregate: tree.AggregateNode, result: ast.Variable) -> None:
        """Adds an aggregate, grouped by the variables that have values."""
        span = aggregate.span
        injected = sorted(set(tree.variables(aggregate)) & self.bound)
        inner, context = self._inner_body(aggregate, injected)
        self.failed |= inner.failed
        argument = None if aggregate.argument is None else inner.expression(aggregate.argument)
        call = ast.AggregateCall(AGGREGATES[aggregate.function], argument, result)
        on = tuple(ast.Variable(name, span) for name in injected)
        literal = ast.Aggregate(tuple(inner.counted(aggregate, on)), on, (call,), span)
        may_be_empty = bool(on) and aggregate.function in ("count", "sum")
        if context is None and not may_be_empty and not self.lowering.in_place:
            self.body.append(literal)
            return
        total = self.lowering.hidden("total", (*on, result), (literal,), span)
        self.body.append(total)
        helpers = [] if context is None else [context]
        if may_be_empty:
            helpers += self._empty_groups(total, inner, on, self._zero(aggregate), context)
        if context is not None or self.lowering.in_place:
            without = tuple(each for each in literal.body if each != context)
            asked = Rule((total,), (replace(literal, body=without),), span)
            self.lowering.asked[total.pred] = AskedAggregate(asked, tuple(helper.pred for helper in helpers))

    def counted(self, aggregate: tree.AggregateNode, on: Sequence[ast.Variable]) -> Sequence[BodyLiteral]:
        """The body of an aggregate, as a relation of its named variables where Soufflé makes one: if it has several
        atoms, another aggregate or a variable twice. So `_` does not multiply what is counted there."""
        assert isinstance(aggregate.body, tree.AndNode)
        atoms = [part for part in aggregate.body.parts if isinstance(part, tree.AtomNode)]
        nested = any(node is not aggregate and isinstance(node, tree.AggregateNode) for node in tree.walk(aggregate))
        twice = any(len(names := [*tree.variables(atom)]) > len(set(names)) for atom in atoms)
        unnamed = any(isinstance(node, tree.Unnamed) for atom in atoms for node in tree.walk(atom))
        if not unnamed or not (len(atoms) > 1 or nested or twice):
            return self.body
        own = [part for part in aggregate.body.parts if not _defines_aggregate(part)]
        named = {name for part in own for name in tree.variables(part)} & self.bound
        target = set() if aggregate.argument is None else set(tree.variables(aggregate.argument))
        names = sorted(named | target | {variable.name for variable in on})
        terms = [ast.Variable(name, aggregate.span) for name in names]
        return (self.lowering.hidden("counted", terms, self.body, aggregate.span),)

    def _elsewhere(self, aggregate: tree.AggregateNode, literals: Sequence[tree.BodyNode]) -> set[str]:
        names = set(self.outside)
        for literal in literals:
            if not any(node is aggregate for node in tree.walk(literal)):
                names.update(tree.variables(literal))
        return names

    def _inner_body(
        self, aggregate: tree.AggregateNode, injected: Sequence[str]
    ) -> tuple[Conjunction, ast.Atom | None]:
        """The body of an aggregate, and the context in it if only that gives a value to a variable."""
        assert isinstance(aggregate.body, tree.AndNode)
        target = () if aggregate.argument is None else tree.variables(aggregate.argument)
        outside = self.outside.union(injected, target)
        before, rules, parts = len(self.lowering.diagnostics), len(self.lowering.rules), dict(self.lowering.parts)
        inner = Conjunction(self.lowering, self.inference, set(outside), nested=True)
        if not self._reaches_inside(aggregate, injected):
            inner.add(aggregate.body.parts)
            if not inner.failed and inner.bound.issuperset(injected):
                return inner, None
        if not injected:
            return inner, None
        del self.lowering.diagnostics[before:], self.lowering.rules[rules:]
        self.lowering.parts = parts
        inner = Conjunction(self.lowering, self.inference, set(outside), nested=True)
        terms = [ast.Variable(name, aggregate.span) for name in injected]
        context = self.lowering.hidden("context", terms, self.body, aggregate.span)
        inner.body.append(context)
        inner.bound.update(injected)
        inner.add(aggregate.body.parts)
        return inner, context

    def _reaches_inside(self, aggregate: tree.AggregateNode, injected: Sequence[str]) -> bool:
        """Whether an aggregate inside of it uses a variable that has its value from outside."""
        nested = (node for node in tree.walk(aggregate.body) if isinstance(node, tree.AggregateNode))
        return any(not set(injected).isdisjoint(tree.variables(node)) for node in nested) or (
            bool(injected) and not any(isinstance(part, tree.AtomNode) for part in aggregate.body.parts)  # type: ignore[union-attr]
        )

    def _empty_groups(
        self,
        total: ast.Atom,
        inner: Conjunction,
        on: tuple[ast.Variable, ...],
        zero: Constant,
        context: ast.Atom | None,
    ) -> list[ast.Atom]:
        """Adds the rule for groups without members; the relations that it needs."""
        span = total.span
        assert span is not None
        some = self.lowering.hidden("some", on, inner.body, span)
        helpers = [some]
        if context is None:
            context = self.lowering.hidden("context", on, self.body[:-1], span)
            helpers.append(context)
        empty = ast.Atom(total.name, (*on, zero), span)
        self.lowering.rules.append(Rule((empty,), (context, Negation(some)), span))
        return helpers

    def _zero(self, aggregate: tree.AggregateNode) -> Constant:
        of_floats = aggregate.function == "sum" and self.inference.base_of(aggregate) == "float"
        return Constant(0.0 if of_floats else 0)

    def _result(self, variable: tree.VariableNode, result: tree.VariableNode, aggregate: tree.AggregateNode) -> None:
        """The result of an aggregate, of 32 bits, as the value of its variable."""
        base = self.inference.base_of(aggregate)
        found: Expression = ast.Variable(result.name, aggregate.span)
        if aggregate.function in _WRAPPED and base in ("number", "unsigned", "float"):
            found = Call(f"{PREFIX}{LETTER[base]}wrap", (found,), aggregate.span)
        self.body.append(Bind(found, ast.Variable(variable.name, aggregate.span), aggregate.span))
        self.bound.add(variable.name)

    def _join_witnesses(
        self, aggregate: tree.AggregateNode, witnesses: set[str], result: tree.VariableNode | None
    ) -> None:
        """Joins the body of an aggregate again, with its result: this gives values to the witnesses."""
        assert isinstance(aggregate.body, tree.AndNode)
        keep = witnesses | self.bound
        names = {name: self.lowering.normaliser.fresh(aggregate, name) for name in tree.variables(aggregate)}

        def change(node: object) -> object:
            if isinstance(node, tree.VariableNode) and node.name not in keep:
                fresh = names[node.name]
                if node.name in self.inference.of_variable:
                    self.inference.of_variable[fresh.name] = self.inference.of_variable[node.name]
                return fresh
            return None

        literals = [replaced(literal, change) for literal in aggregate.body.parts]
        if result is not None and aggregate.argument is not None:
            target = replaced(aggregate.argument, change)
            literals.append(tree.Comparison(aggregate.span, "=", result, target))
        self.inference.retype(literals)
        self.add(literals)


def _variables_outside_aggregates(node: tree.BodyNode) -> set[str]:
    nodes = tree.walk_outside_aggregates(node)
    return {each.name for each in nodes if isinstance(each, tree.VariableNode)}


def _mentioned(definition: tuple[tree.VariableNode, tree.AggregateNode]) -> Iterator[str]:
    yield definition[0].name
    yield from tree.variables(definition[1])


def _defines_aggregate(part: tree.BodyNode) -> bool:
    return isinstance(part, tree.Comparison) and isinstance(part.right, tree.AggregateNode)


_GROUND = "Mention it in an atom without negation, or give it a value with `=`."


def number(text: str, base: str) -> Value:
    """The value of a number as it was written."""
    if base == "float":
        return single(float(text) if "x" not in text and "b" not in text else float(integer(text)))
    if "." in text:
        return single(float(text))
    return unsigned(integer(text)) if base == "unsigned" else signed(integer(text))


def _folded(call: Call) -> Expression:
    """The value of a function of constants."""
    if call.arguments and all(isinstance(argument, Constant) for argument in call.arguments):
        try:
            return Constant(evaluate(call, {}))
        except ExpressionFails:
            return call
    return call
