"""Which relations a program asks magic sets for: `.pragma "magic-transform"`, the qualifier `magic`, their opposites.

As in Soufflé, an exclusion wins, and a program that only excludes relations asks for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from deltalog.core.errors import Diagnostic
from deltalog.languages.souffle import tree
from deltalog.program.magic_request import ALL, MagicRequest

MAGIC, EXCLUDE = "magic-transform", "magic-transform-exclude"
PRAGMAS = (MAGIC, EXCLUDE)


def magic_request(
    statements: Sequence[tree.Statement], relations: Mapping[str, tree.RelationDeclaration]
) -> MagicRequest | None:
    """What a program asks for; None if it asks for nothing."""
    names = {name for pragma in _pragmas(statements, MAGIC) for name in pragma.names}
    names |= {name for name, each in relations.items() if "magic" in each.qualifiers}
    kept = {name: "it is an equivalence relation" for name in _declared_as("eqrel", relations)}
    kept |= {name: "it is declared as no_magic" for name in _declared_as("no_magic", relations)}
    excluded = (name for pragma in _pragmas(statements, EXCLUDE) for name in pragma.names)
    kept |= dict.fromkeys(excluded, f"{EXCLUDE} names it")
    return MagicRequest(frozenset(names), kept) if names else None


def unknown_names(
    statements: Sequence[tree.Statement], relations: Mapping[str, tree.RelationDeclaration]
) -> Iterator[Diagnostic]:
    """Notes on names in pragmas that are those of no relation."""
    for key in PRAGMAS:
        for pragma in _pragmas(statements, key):
            for name in pragma.names:
                if name not in relations and name != ALL:
                    yield Diagnostic(f"unknown relation {name} in .pragma {key}", pragma.span, None, "note")


def _pragmas(statements: Iterable[tree.Statement], key: str) -> Iterator[tree.Pragma]:
    return (each for each in statements if isinstance(each, tree.Pragma) and each.key == key)


def _declared_as(qualifier: str, relations: Mapping[str, tree.RelationDeclaration]) -> Iterator[str]:
    return (name for name, each in relations.items() if qualifier in each.qualifiers)
