"""Lint warnings about constants and conditions.

`path(x, y) :- edge(x, y)` has no variables: a bare name that starts with a small letter is a string. It looks like a
variable where a rule has no variables at all and the name is in its head and in its body, and elsewhere if it is a
letter such as x, or another variable in lower case. Only names without quotes are meant: `"x"` is a constant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from deltalog.core.datetimes import moment
from deltalog.core.errors import Diagnostic, warning
from deltalog.core.operators import COMPARISONS
from deltalog.core.rules import (
    Aggregate,
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
    Variable,
    atoms,
)
from deltalog.core.terms import XSD, Literal, Value
from deltalog.functions.datatypes import in_value_space
from deltalog.functions.function import Sort
from deltalog.functions.registry import FUNCTIONS
from deltalog.program.lint_variables import occurrences
from deltalog.program.safety import written

_LETTER = re.compile(r"[u-z][0-9]?")
_NAME = re.compile(r"[a-z][A-Za-z0-9_]*")
_DATES = {XSD + "date": True, XSD + "dateTime": False}
MAX_WRITTEN = 100  # characters of a rule that a hint repeats


# Names that look like variables.


def constants_like_variables(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """path(x, y) :- edge(x, y) has no variables."""
    for rule in rules:
        if rule.body and _has_constants(rule) and (names := _bare(_suspects(rule), rule)):
            quoted = [f"`{name}`" for name in names]
            what = " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))
            said = "are constants here, not variables" if len(names) > 1 else "is a constant here, not a variable"
            hint = f'{_corrected(rule, names)} For constants write "{names[0]}" with quotes.'
            yield warning(f"{what} {said}", rule.span, hint)


def _has_constants(rule: Rule) -> bool:
    """Whether an atom may have a constant: so it is with few rules."""
    for literal in (*rule.heads, *rule.body):
        if type(literal) is not Atom:
            if type(literal) not in (Filter, Bind):
                return True
        elif any([type(term) is Constant for term in literal.terms]):
            return True
    return False


def _suspects(rule: Rule) -> list[str]:
    places = Counter(name for atom in (*rule.heads, *atoms(rule.body)) for name in dict.fromkeys(_strings(atom)))
    if not places:
        return []
    times = Counter(occurrences(rule))
    if not times:
        heads = {name for head in rule.heads for name in _strings(head)}
        return [name for name, n in places.items() if n > 1] if any(places[name] > 1 for name in heads) else []
    alike = {v.name.casefold() for v, n in times.items() if n == 1 and written(v)[:1].isupper()}
    return [name for name, n in places.items() if (n > 1 and _LETTER.fullmatch(name)) or name in alike]


def _strings(atom: Atom) -> Iterator[str]:
    for term in atom.terms:
        if isinstance(term, Constant) and type(term.value) is str and _NAME.fullmatch(term.value):
            yield term.value


def _bare(names: Iterable[str], rule: Rule) -> list[str]:
    """Those names that stand in the rule without quotes."""
    return [name for name in names if re.search(_bare_name(name), _text(rule))]


def _bare_name(name: str) -> str:
    return rf"(?<![\w\"'?:<@./#]){name}(?![\w\"':(\[./])"


def _text(rule: Rule) -> str:
    assert rule.span is not None
    return rule.span.source.text[rule.span.start : rule.span.end]


def _corrected(rule: Rule, names: Sequence[str]) -> str:
    text, taken = _text(rule), {variable.name for variable in occurrences(rule)}
    for name in names:
        large = name[0].upper() + name[1:]
        variable = f"?{name}" if "?" in text or (large in taken and name not in map(str.lower, taken)) else large
        text = re.sub(_bare_name(name), variable, text)
    is_short = len(text) <= MAX_WRITTEN and "\n" not in text
    return f"Write {text}." if is_short else "A variable is written ?x, or with a capital letter."


# Literals.


def ill_typed_literals(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """ "abc"^^xsd:integer is no integer."""
    sources = {id(rule.span.source): rule.span.source for rule in rules if rule.span is not None}
    if not any("^^" in source.text for source in sources.values()):
        return
    for rule in rules:
        for value, span in _values(rule):
            if isinstance(value, Literal) and not is_well_typed(value):
                name = value.datatype.replace(XSD, "xsd:")
                message = f'"{value.text:.40}" is not a valid {name}'
                yield warning(message, span, "It stays a literal that is equal to no other value.")


def is_well_typed(value: Literal) -> bool:
    """Whether the text of a literal is right for its datatype, as far as the datatype is known."""
    if value.language is not None:
        return True
    if value.datatype in _DATES:
        return moment(value.text, _DATES[value.datatype]) is not None
    return in_value_space(value, value.datatype) is not False


def _has_expressions(rule: Rule) -> bool:
    return any([type(literal) is not Atom for literal in rule.body])


def _values(rule: Rule) -> Iterator[tuple[Value, Span | None]]:
    for head in rule.heads:
        yield from ((term.value, head.span) for term in head.terms if isinstance(term, Constant))
    yield from _body_values(rule.body)


def _body_values(body: Iterable[BodyLiteral]) -> Iterator[tuple[Value, Span | None]]:
    for atom in atoms(tuple(body)):
        yield from ((term.value, atom.span) for term in atom.terms if isinstance(term, Constant))
    for expression, span in _expressions(body):
        yield from ((value, span) for value in _constants(expression))


def _expressions(body: Iterable[BodyLiteral]) -> Iterator[tuple[Expression, Span | None]]:
    for literal in body:
        match literal:
            case Filter(condition=expression) | Bind(expression=expression):
                yield expression, literal.span
            case NegatedBody(body=inner) | Aggregate(body=inner):
                yield from _expressions(inner)
            case Disjunction(alternatives=alternatives):
                for inner in alternatives:
                    yield from _expressions(inner)
            case Atom() | Negation():
                pass


def _constants(expression: Expression) -> Iterator[Value]:
    match expression:
        case Constant(value=value):
            yield value
        case Call(arguments=arguments):
            for argument in arguments:
                yield from _constants(argument)
        case Variable():
            pass


# Comparisons.


def kinds_that_never_match(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """FILTER(?x + 1 > "3") compares a number with a string."""
    for rule in rules:
        for expression, span in _expressions(rule.body) if _has_expressions(rule) else ():
            for call in _comparisons(expression):
                kinds = {_kind(side) for side in call.arguments}
                if kinds == {"a number", "a string"} and call.function != "!=":
                    never = "is never true" if call.function == "=" else "always fails"
                    message = f"`{call.function}` of a number and a string {never}"
                    yield warning(message, call.span or span, "Write numbers without quotes, or compare texts.")


def _comparisons(expression: Expression) -> Iterator[Call]:
    if isinstance(expression, Call):
        if expression.function in COMPARISONS:
            yield expression
        for argument in expression.arguments:
            yield from _comparisons(argument)


def _kind(side: Expression) -> str | None:
    match side:
        case Constant(value=bool()):
            return None
        case Constant(value=int() | float()):
            return "a number"
        case Constant(value=value) if type(value) is str:
            return "a string"
        case Call(function=function):
            gives = FUNCTIONS[function].gives
            return "a number" if gives.is_number else "a string" if gives is Sort.TEXT else None
    return None
