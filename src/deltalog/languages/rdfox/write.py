"""RDFox's language: triples, so predicates have one or two arguments and are IRIs.

An aggregate is RDFox's own. NOT over several literals is NOT EXISTS ... IN (...), and an alternative is a rule. SKOLEM
is a built-in relation whose last argument is the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from deltalog.core.errors import Diagnostic
from deltalog.core.rule_text import print_iri, print_value, quoted
from deltalog.core.rules import (
    TRIPLE,
    Aggregate,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Expression,
    Filter,
    Negation,
    Rule,
    Term,
    Variable,
    variables,
)
from deltalog.core.terms import IRI, BlankNode, Value
from deltalog.functions import registry
from deltalog.functions.function import RDFOX
from deltalog.languages import writer
from deltalog.languages.protocol import ProgramUnit
from deltalog.languages.writer import CannotSay

_AGGREGATES = tuple(registry.aggregates_named(RDFOX).values())


class RdfoxWriter(writer.Writer):
    language = "rdfox"

    def __init__(self, unit: ProgramUnit) -> None:
        super().__init__(unit)
        self.rules = writer.plain_rules(unit.rules)
        for file in (*writer.own_files(unit, "input"), *writer.own_files(unit, "output")):
            hint = "RDFox imports files by commands of its shell."
            self.lost.append(Diagnostic(f"a program of RDFox names no files, as @{file.kind} does", file.span, hint))

    def statement(self, rule: Rule) -> str:
        outside = writer.bound((*rule.heads, *rule.body))
        heads = ", ".join(map(_atom, rule.heads))
        return f"{heads} :- {', '.join(_literal(one, outside) for one in rule.body)} ." if rule.body else f"{heads} ."


def _literal(literal: BodyLiteral, outside: set[Variable]) -> str:
    match literal:
        case Atom():
            return _atom(literal)
        case Negation(atom):
            local = dict.fromkeys(v for v in variables(atom) if v not in outside)
            if not local:
                return f"NOT {_atom(atom)}"
            return f"NOT EXISTS {', '.join(map(_term, local))} IN ({_atom(atom)})"
        case Filter(condition):
            return f"FILTER({_expression(condition)})"
        case Bind(Call("skolem", arguments), variable):
            return f"SKOLEM({', '.join(map(_expression, arguments))}, {_term(variable)})"
        case Bind(expression, variable):
            return f"BIND({_expression(expression)} AS {_term(variable)})"
        case Aggregate():
            return _aggregate(literal)
    raise CannotSay("this literal has no counterpart in RDFox")


def _aggregate(literal: Aggregate) -> str:
    inside = writer.bound(literal.body)
    body = ", ".join(_literal(one, inside) for one in literal.body)
    on = f" ON {' '.join(map(_term, literal.on))}" if literal.on else ""
    return f"AGGREGATE({body}{on}{''.join(_calls(literal))})"


def _calls(literal: Aggregate) -> Iterator[str]:
    for call in literal.calls:
        if call.function not in _AGGREGATES:
            raise CannotSay(f"RDFox has no aggregate {call.function.upper()}")
        distinct = "DISTINCT " if call.distinct else ""
        argument = "*" if call.argument is None else distinct + _expression(call.argument)
        yield f" BIND {call.function.upper()}({argument}) AS {_term(call.variable)}"


def _atom(atom: Atom) -> str:
    terms = ", ".join(map(_term, atom.terms))
    if atom.name == TRIPLE and len(atom.terms) == 3:
        return f"[{terms}]"
    if len(atom.terms) not in (1, 2):
        raise CannotSay(f"`{atom.name}` has {len(atom.terms)} arguments, and RDFox's triples have room for one or two")
    return f"{print_iri(atom.name)}[{terms}]"


def _term(term: Term) -> str:
    if not isinstance(term, Variable):
        return _value(term.value)
    return f"?{term.name.replace('#', '_').replace('!', '_')}"


def _value(value: Value) -> str:
    if isinstance(value, tuple):
        raise CannotSay("RDFox has no tuples")
    if isinstance(value, str) and not isinstance(value, IRI | BlankNode):
        return quoted(value)
    return print_value(value)


def _expression(expression: Expression) -> str:
    if not isinstance(expression, Call):
        return _term(expression)
    arguments = [_expression(argument) for argument in expression.arguments]
    function = expression.function
    text = registry.written(RDFOX, function, arguments)
    if text is not None:
        return text
    raise CannotSay(f"RDFox has no `{function}` that means the same")
