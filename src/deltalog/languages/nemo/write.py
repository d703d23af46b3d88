"""Nemo's language.

Our strings are its strings, so a bare name becomes a text in quotes. A rule with an aggregate is a rule whose body is
the aggregate alone (others get a predicate of their own); its other variables are what Nemo's aggregate counts as
distinct. `/` divides doubles, `%` is written with REM. `=` and `!=` compare values there: 1 = 1.0 does not hold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from deltalog.core.existential import ExistentialRule, existential_rules
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
    Rule,
    Term,
    Variable,
    variables,
)
from deltalog.core.terms import IRI, NUMERIC, BlankNode, Literal, Value, datatype, lexical
from deltalog.functions import registry
from deltalog.functions.function import NEMO
from deltalog.functions.nemo_functions import FLOAT
from deltalog.functions.registry import FUNCTIONS
from deltalog.languages import writer
from deltalog.languages.deltalog.named_file import OwnFile
from deltalog.languages.nemo.file_use import FileUse
from deltalog.languages.nemo.functions import NEMO as NAMES
from deltalog.languages.protocol import ProgramUnit
from deltalog.languages.rule_map import RuleMap, all_variables, new_names
from deltalog.languages.writer import CannotSay

_NOT_IN_IRI = re.compile(r'[<>\s"{}|^`\\]|^[=-]')
_NEMO_TYPES = {"string": "string", "int": "int", "float": "double"}
_AGGREGATES = tuple(registry.aggregates_named(NEMO).values())
_ORDER = "`<` and its like compare numbers alone in Nemo, and texts here, too"
_EQUALITY = "`=` and `!=` compare values in Nemo: 1 is not 1.0 there"


class NemoWriter(writer.Writer):
    language = "nemo"

    def __init__(self, unit: ProgramUnit) -> None:
        super().__init__(unit)
        self.existential = {rule.skolem: rule for rule in existential_rules(unit.rules)}
        written = [rule for rule in unit.rules if rule not in self.existential]
        self.rules = [*writer.plain_rules(written), *self.existential]
        self.uses = [file for file in unit.files if isinstance(file, FileUse)]
        self.is_own = self.language in unit.languages
        self.arities = writer.several_arities(self.rules)
        self.inputs = writer.said(unit, "input", _resource, self.lost)
        self.outputs = writer.said(unit, "output", _resource, self.lost)

    def before(self) -> Iterator[str]:
        yield from (_file(use) for use in self.uses if use.directive == "import")
        for file, resource in self.inputs:
            yield f"@import {_predicate(file.predicate or '')} :- {resource} ."

    def after(self) -> Iterator[str]:
        yield from (_file(use) for use in self.uses if use.directive == "export")
        outputs = list(dict.fromkeys(use.predicate for use in self.uses if use.directive == "output"))
        for file, resource in self.outputs:
            yield f"@export {_predicate(file.predicate or '')} :- {resource} ."
        if not self.is_own and not writer.own_files(self.unit, "output"):
            outputs = [pred.name for pred in self.outputs_said]
        if outputs:
            yield f"@output {', '.join(map(_predicate, outputs))} ."

    def statement(self, rule: Rule) -> str:
        for name in (pred.name for pred in (*(head.pred for head in rule.heads), *rule.reads)):
            if name in self.arities:
                raise CannotSay(f"`{name}` has several numbers of arguments, and a predicate of Nemo has one")
        if rule.body and not any(_has_atom(literal) for literal in rule.body):
            raise CannotSay("a rule of Nemo needs an atom that is not negated")
        if not self.is_own and any(_is_apart(literal, rule.body) for literal in rule.body):
            hint = "Give it a variable of the rule, by a predicate of its own."
            raise CannotSay("a negation that shares no variable with the rest of its rule has no effect in Nemo", hint)
        if rule in self.existential:
            return self._existential(self.existential[rule])
        for literal in rule.body:
            self.notes.update(dict.fromkeys(_differences(literal)))
        if len(rule.body) == 1 and isinstance(rule.body[0], Aggregate):
            return self._aggregate(rule, rule.body[0])
        if not rule.body:  # a fact of Nemo is one atom
            return "\n".join(f"{_atom(head)} ." for head in dict.fromkeys(rule.heads))
        return _rule(", ".join(map(_atom, rule.heads)), rule.body)

    def _existential(self, rule: ExistentialRule) -> str:
        heads = ", ".join(_atom(head, dict.fromkeys(rule.new, "!")) for head in rule.heads)
        return _rule(heads, rule.body)

    def _aggregate(self, rule: Rule, literal: Aggregate) -> str:
        if len(literal.calls) > 1:
            raise CannotSay("a rule of Nemo has one aggregate", "Write a rule for each.")
        call = literal.calls[0]
        if call.function not in _AGGREGATES:
            raise CannotSay(f"Nemo has no aggregate {call.function.upper()}")
        if not literal.on and call.function in ("count", "sum"):
            raise CannotSay(f"{call.function.upper()} of nothing is 0 here, and Nemo derives nothing for it")
        body, counted = _counted(_with_names(rule, literal))
        extra = () if call.distinct else tuple(v for v in counted if v not in literal.on and v != call.argument)
        argument = [] if call.argument is None else [_expression(call.argument)]
        shown = f"#{call.function}({', '.join([*argument, *map(_term, extra)]) or '1'})"
        heads = ", ".join(_atom(head, aggregate={call.variable: shown}) for head in rule.heads)
        return _rule(heads, body)


def _with_names(rule: Rule, literal: Aggregate) -> Aggregate:
    """An aggregate with names in the place of `_`, so that it can be over them."""
    counted = {v for one in literal.body if not isinstance(one, Negation) for v in all_variables(one) if v.anonymous}
    named = RuleMap(new_names(rule, counted.__contains__)).literal(literal)
    assert isinstance(named, Aggregate)
    return named


def _is_apart(literal: BodyLiteral, body: Sequence[BodyLiteral]) -> bool:
    """Whether a negation has only variables that no literal without a negation has."""
    if isinstance(literal, Aggregate):
        return any(_is_apart(inner, literal.body) for inner in literal.body)
    outside = writer.bound(body)
    return isinstance(literal, Negation) and all(
        isinstance(t, Variable) and t not in outside for t in literal.atom.terms
    )


def _has_atom(literal: BodyLiteral) -> bool:
    return isinstance(literal, Atom) or (isinstance(literal, Aggregate) and any(map(_has_atom, literal.body)))


def _differences(literal: BodyLiteral) -> Iterator[str]:
    """How comparisons may give another result; CannotSay if they certainly do."""
    match literal:
        case Aggregate(body):
            yield from (text for inner in body for text in _differences(inner))
        case Filter(Call("&&", sides)):
            yield from (text for side in sides for text in _differences(Filter(side)))
        case Filter(Call(("<" | "<=" | ">" | ">="), sides)) if not any(map(_is_number, sides)):
            if any(isinstance(side, Constant) for side in sides):
                raise CannotSay("`<` and its like compare numbers alone in Nemo")
            yield _ORDER
        case Filter(Call(("=" | "!="), sides)) if not any(map(_is_text, sides)):
            yield _EQUALITY
        case Filter(Call(_, arguments)) | Bind(Call(_, arguments)):
            yield from (text for each in arguments for text in _differences(Filter(each)))


def _is_number(side: Expression) -> bool:
    match side:
        case Constant(value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case Call(function):
            return FUNCTIONS[function].gives.is_number
    return False


def _is_text(side: Expression) -> bool:
    return isinstance(side, Constant) and isinstance(side.value, str)


def _counted(literal: Aggregate) -> tuple[tuple[BodyLiteral, ...], tuple[Variable, ...]]:
    """The body of an aggregate, and the variables whose combinations it is over: all that have values there. An
    aggregate over the groups of another one, whose result it does not see, is over those."""
    match literal.body:
        case (Aggregate(body, on, (AggregateCall("count", None, size),), per=False),) if size not in _seen(literal):
            return body, on
    found = (v for one in literal.body if not isinstance(one, Negation) for v in variables(one))
    return literal.body, tuple(dict.fromkeys(found))


def _seen(literal: Aggregate) -> tuple[object, ...]:
    return (*literal.on, *(call.argument for call in literal.calls))


def _rule(heads: str, body: Iterable[BodyLiteral]) -> str:
    literals = [text for literal in body for text in _literals(literal)]
    return f"{heads} :- {', '.join(literals)} ." if literals else f"{heads} ."


def _literals(literal: BodyLiteral) -> Iterator[str]:
    match literal:
        case Atom():
            yield _atom(literal)
        case Negation(atom):
            yield f"~{_atom(atom)}"
        case Filter(Call("&&", sides)):
            yield from (text for side in sides for text in _literals(Filter(side)))
        case Filter(Call(function, (left, right))) if function in COMPARISONS:
            yield f"{_expression(left)} {function} {_expression(right)}"
        case Filter(Call("!", (Call("sameterm", (left, right)),))):
            yield f"{_expression(left)} != {_expression(right)}"
        case Filter(condition):
            yield _expression(condition)
        case Bind(expression, variable):
            yield f"{_term(variable)} = {_expression(expression)}"
        case _:
            raise CannotSay("an aggregate inside of an aggregate")


def _atom(atom: Atom, marks: dict[Variable, str] | None = None, aggregate: dict[Variable, str] | None = None) -> str:
    if atom.name == TRIPLE:
        raise CannotSay("a variable in the place of a predicate", "Nemo's predicates have names.")
    if not atom.terms:
        raise CannotSay(f"`{atom.name}` has no arguments, and Nemo's predicates have at least one")
    terms = [
        (aggregate or {}).get(t) or _term(t, (marks or {}).get(t, "?")) if isinstance(t, Variable) else _term(t)
        for t in atom.terms
    ]
    return f"{_predicate(atom.name)}({', '.join(terms)})"


def _predicate(name: str) -> str:
    return name if writer.PLAIN_NAME.fullmatch(name) and name.upper() not in NAMES else _iri(name)


def _term(term: Term, mark: str = "?") -> str:
    if not isinstance(term, Variable):
        return _value(term.value)
    if term.anonymous:
        return "_"
    name = re.sub(r"\W", "_", term.name)
    return mark + (name if name[:1].isalpha() else f"v{name}")


def _expression(expression: Expression) -> str:
    if not isinstance(expression, Call):
        return _term(expression)
    arguments = [_expression(argument) for argument in expression.arguments]
    if expression.function == "!" and _is_comparison(expression.arguments[0]):
        return f"NOT({arguments[0]})"
    text = registry.written(NEMO, expression.function, arguments)
    if text is not None:
        return text
    raise CannotSay(f"Nemo has no `{expression.function}` that means the same")


def _is_comparison(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function in (*COMPARISONS, "sameterm")


def _value(value: Value) -> str:
    match value:
        case IRI():
            return _iri(value)
        case BlankNode():
            raise CannotSay("a blank node in a program", "Nemo's programs have none; load it from a file.")
        case str():
            return _string(value)
        case bool():
            return lexical(value)
        case int() if -(2**63) <= value < 2**63:
            return str(value)
        case float() if math.isfinite(value):
            return repr(value) if "e" in repr(value) or "." in repr(value) else f"{value!r}.0"
        case Literal(language=str(language)) if "-" not in language:
            return f"{_string(value.text)}@{language}"
        case Literal(language=None) if value.datatype not in NUMERIC or value.datatype == FLOAT:
            return f"{_string(value.text)}^^{_iri(value.datatype)}"
        case date():
            return f"{_string(lexical(value))}^^{_iri(datatype(value) or '')}"
    raise CannotSay(f"{lexical(value)} has no counterpart among Nemo's values")


def _iri(iri: str) -> str:
    if not iri or _NOT_IN_IRI.search(iri):
        raise CannotSay(f"Nemo has no IRI <{iri}>")
    return f"<{iri}>"


def _string(text: str) -> str:
    if '"' not in text and "\n" not in text:
        return f'"{text}"'
    if '"""' in text or text.endswith('"'):
        raise CannotSay(f"Nemo has no way to write the text {text!r}")
    return f'"""{text}"""'


def _file(use: FileUse) -> str:
    parameters = ", ".join(f"{name} = {_parameter(name, value)}" for name, value in use.parameters.items())
    return f"@{use.directive} {_predicate(use.predicate)} :- {use.format}{{{parameters}}} ."


def _parameter(name: str, value: Value) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(_parameter(name, each) for each in value)})"
    return str(value) if name == "format" else _value(value)


def _resource(file: OwnFile) -> str:
    """`csv{...}` of @import or @export."""
    options, delimiter = file.options, writer.table_delimiter(file)
    format = {",": "csv", "\t": "tsv"}.get(delimiter, "dsv")
    given = [f'resource = "{file.path}"']
    if format == "dsv":
        given.append(f'delimiter = "{delimiter}"')
    if file.kind == "output":
        if options.header:
            raise CannotSay("files that Nemo writes have no header")
        return f"{format}{{{', '.join(given)}}}"
    if options.columns is not None and options.header:
        raise CannotSay("Nemo chooses no columns by name", "Write a table with these columns alone.")
    types = options.types or ()
    if not types or any(not isinstance(each, str) or each not in _NEMO_TYPES for each in types):
        hint = "Give the types of all columns: types = [string, int, float]"
        raise CannotSay("cells without a type have other values in Nemo", hint)
    if options.header:
        given.append("ignore_headers = true")
    given.append(f"format = ({', '.join(_NEMO_TYPES[str(each)] for each in types)})")
    return f"{format}{{{', '.join(given)}}}"
