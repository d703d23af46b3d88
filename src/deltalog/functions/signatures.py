"""The functions of the rule language by the names that rules write, and the words of messages about them."""

from __future__ import annotations

from difflib import get_close_matches

from deltalog.core.operators import CASTS
from deltalog.core.terms import XSD
from deltalog.functions import registry
from deltalog.functions.function import ANY_NUMBER as ANY_NUMBER
from deltalog.functions.function import ELSEWHERE, NEMO_PREFIX, RULES, SPARQL, Function

ALIASES = {alias: function.name for alias, function in registry.named(RULES).items()}  # shorter names of casts


def _in_rules() -> dict[str, Function]:
    own = {name for name in registry.FUNCTIONS if name.isidentifier() and not name.startswith(NEMO_PREFIX)}
    words = {name: registry.FUNCTIONS[ALIASES.get(name, name)] for name in sorted({*own, *ALIASES})}
    return {**words, **{name: registry.FUNCTIONS[name] for name in CASTS}}


FUNCTIONS = _in_rules()
# Functions of Nemo with a meaning of their own: rules print with them, so our language has them, too.
FOREIGN = {name: each for name, each in registry.FUNCTIONS.items() if name.startswith(NEMO_PREFIX)}
# What rules do instead of functions of SPARQL whose result is another one each time: what would follow from it today
# does not follow tomorrow.
NOT_IN_RULES = {name.lower(): each.instead for name, each in registry.named(SPARQL).items() if each.instead}
# Names that people also give to their predicates.
ORDINARY_WORDS = frozenset(name for name, each in FUNCTIONS.items() if each.ordinary and name.isidentifier())
AGGREGATES = tuple(name for name in registry.AGGREGATES if name.isidentifier())


def is_function(name: str) -> bool:
    return name in FUNCTIONS or name in FOREIGN


def arguments_of(name: str) -> tuple[int, int]:
    """The least and the greatest number of arguments of a function."""
    function = registry.FUNCTIONS[ALIASES.get(name, name)]
    return function.least, function.most


def nearest(name: str) -> str | None:
    """The function that was most likely meant."""
    if (meant := registry.named(ELSEWHERE).get(name.lower())) is not None:
        return next(iter(meant.names.get(RULES, ())), meant.name)
    matches = get_close_matches(name.lower(), [spelled(function) for function in FUNCTIONS], n=1, cutoff=0.7)
    return matches[0] if matches else None


def spelled(name: str) -> str:
    """The name of a function as people write it."""
    return f"xsd:{name.removeprefix(XSD)}" if name in CASTS else name


def arguments_wanted(name: str) -> str:
    """How many arguments a function takes, in words."""
    return in_words(*arguments_of(name))


def in_words(least: int, most: int) -> str:
    """A number of arguments."""
    if most == ANY_NUMBER:
        return f"at least {counted(least)}"
    return counted(least) if least == most else f"{least} or {counted(most)}"


def counted(n: int) -> str:
    return f"{n} argument{'' if n == 1 else 's'}"
