"""The built-in predicates and functions of RIF (DTB) as expressions.

Outside of the domain of a built-in its result is unspecified in RIF; here it is what our functions say. Only Equal and
iri-string give values to variables, so the equalities of datatypes are written as `!(a != b)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from deltalog.core.operators import CASTS, COMPARISONS
from deltalog.core.rules import Call, Constant, Expression
from deltalog.core.terms import IRI, RDF, XSD
from deltalog.functions import registry
from deltalog.functions.datatypes import in_value_space
from deltalog.functions.function import ANY_NUMBER, RIF, Function

PREDICATE = "http://www.w3.org/2007/rif-builtin-predicate#"
FUNCTION = "http://www.w3.org/2007/rif-builtin-function#"
_GUARD, _NEGATIVE_GUARD = "is-literal-", "is-literal-not-"

Build = Callable[..., Expression]
BuiltIn = tuple[int, int, Build]  # the least and the greatest number of arguments, and what the built-in means


class NoBuiltIn(Exception):
    """A built-in that is not known, or not with so many arguments; the message says which."""


def _as(function: Function) -> BuiltIn:
    return function.least, function.most, lambda *arguments: Call(function.name, arguments)


def _equal(a: Expression, b: Expression) -> Expression:
    return Call("!", (Call("!=", (a, b)),))


def _both(a: Expression, b: Expression) -> Expression:
    return Call("&&", (a, b))


def _modulo(a: Expression, b: Expression) -> Expression:
    """XPath's remainder, which has the sign of the dividend."""
    positive = Call("%", (Call("abs", (a,)), Call("abs", (b,))))
    return Call("if", (Call("<", (a, Constant(0))), Call("-", (positive,)), positive))


def _compare(a: Expression, b: Expression) -> Expression:
    """-1, 0 or 1."""
    after = Call("if", (Call("<", (b, a)), Constant(1), Constant(0)))
    return Call("if", (Call("<", (a, b)), Constant(-1), after))


def _join(first: Expression, *rest: Expression) -> Expression:
    """Texts, and a separator at the end."""
    *others, separator = rest
    return Call("concat", (first, *(part for other in others for part in (separator, other))))


def _replace(text: Expression, pattern: Expression, new: Expression, *flags: Expression) -> Expression:
    return Call("replace", (text, pattern, new, *(flags or (Constant(""),))))


def _get(items: Expression, position: Expression) -> Expression:
    """Positions count from 0, and negative ones from the end."""
    from_end = Call("+", (Call("arity", (items,)), position))
    at = Call("if", (Call("<", (position, Constant(0))), from_end, position))
    return Call("item", (items, Call("+", (at, Constant(1)))))


def _not_identical(a: Expression, b: Expression) -> Expression:
    return _both(_both(Call("isliteral", (a,)), Call("isliteral", (b,))), Call("!=", (a, b)))


_COMPARED = ("numeric", "boolean", "date", "dateTime")
_OWN: dict[str, BuiltIn] = {
    "pred:equal": (2, 2, _equal),
    "pred:matches-language-range": (2, 2, lambda text, wanted: Call("langmatches", (Call("lang", (text,)), wanted))),
    "pred:literal-not-identical": (2, 2, _not_identical),
    "pred:iri-string": (2, 2, lambda iri, text: _both(Call("isiri", (iri,)), Call("=", (text, Call("str", (iri,)))))),
    "pred:is-list": (1, 1, lambda items: Call(">=", (Call("arity", (items,)), Constant(0)))),
    "func:numeric-mod": (2, 2, _modulo),
    "func:compare": (2, 2, _compare),
    "func:string-join": (2, ANY_NUMBER, _join),
    "func:replace": (3, 4, _replace),
    "func:get": (2, 2, _get),
}


def _built_ins(prefix: str) -> Iterator[tuple[str, BuiltIn]]:
    """The built-ins of a namespace by their names; a comparison is one for each type."""
    named = registry.named(RIF)
    for name, built_in in ({name: _as(each) for name, each in named.items()} | _OWN).items():
        space, _, local = name.partition(":")
        if space == prefix:
            compares = name in named and named[name].name in COMPARISONS
            yield from ((f"{type_}-{local}", built_in) for type_ in _COMPARED) if compares else [(local, built_in)]


PREDICATES, FUNCTIONS = dict(_built_ins("pred")), dict(_built_ins("func"))


def condition(name: str, arguments: tuple[Expression, ...]) -> Expression:
    """What an external predicate says; NoBuiltIn if there is no expression for it."""
    local = name.removeprefix(PREDICATE)
    found = (PREDICATES.get(local) or _guard(local)) if name.startswith(PREDICATE) else None
    return _built("predicate", name, found, arguments)


def value(name: str, arguments: tuple[Expression, ...]) -> Expression:
    """The value of an external function; NoBuiltIn if there is no expression for it."""
    found = FUNCTIONS.get(name.removeprefix(FUNCTION)) if name.startswith(FUNCTION) else None
    return _built("function", name, _as(registry.FUNCTIONS[name]) if name in CASTS else found, arguments)


def _guard(local: str) -> BuiltIn | None:
    """`is-literal-T` and `is-literal-not-T`, for the datatypes that are known."""
    if not local.startswith(_GUARD):
        return None
    negative = local.startswith(_NEGATIVE_GUARD)
    name = local.removeprefix(_NEGATIVE_GUARD if negative else _GUARD)
    datatype = (RDF if name == "PlainLiteral" else XSD) + name
    if in_value_space("", datatype) is None:
        return None

    def test(literal: Expression) -> Expression:
        has = Call("hasdatatype", (literal, Constant(IRI(datatype))))
        return _both(Call("isliteral", (literal,)), Call("!", (has,))) if negative else has

    return 1, 1, test


def _built(what: str, name: str, found: BuiltIn | None, arguments: tuple[Expression, ...]) -> Expression:
    shown = name.replace(PREDICATE, "pred:").replace(FUNCTION, "func:").replace(XSD, "xs:")
    if found is None:
        raise NoBuiltIn(f"the built-in {what} {shown} is not supported")
    least, most, build = found
    if not least <= len(arguments) <= most:
        wanted = least if least == most else f"at least {least}" if most == ANY_NUMBER else f"{least} or {most}"
        raise NoBuiltIn(f"{shown} takes {wanted} arguments, and here are {len(arguments)}")
    return build(*arguments)
