"""Adornments: which arguments of an atom are bound in a subquery.

An adorned predicate is a separate predicate: p^bf contains the facts of p that were asked for with the first argument
bound. Its name is an `AdornedName`, a string with the original name and the adornment as attributes, so names never
have to be parsed.
"""

from __future__ import annotations

from collections.abc import Collection

from deltalog.core.rules import Atom, Constant, HiddenName, Term, Variable

Adornment = tuple[bool, ...]  # for each argument, whether it is bound


class AdornedName(HiddenName):
    """The name of p^bf, or of its magic predicate mgc p^bf, whose facts are the subqueries of p^bf."""

    __slots__ = ("adornment", "base", "magic")
    base: str
    adornment: Adornment
    magic: bool

    def __new__(cls, base: str, adornment: Adornment, magic: bool = False) -> AdornedName:
        letters = "".join("b" if bound else "f" for bound in adornment)
        text = f"{base}^{letters}{' mgc' if magic else ''}"  # unambiguous, read from its end
        name = super().__new__(cls, text)
        name.base, name.adornment, name.magic = base, adornment, magic
        return name


def adorn(atom: Atom, bound: Collection[Variable]) -> Adornment:
    """The adornment of an atom when some variables are bound."""
    return tuple(isinstance(term, Constant) or term in bound for term in atom.terms)


def adorned(atom: Atom, adornment: Adornment) -> Atom:
    """The atom p^a(t) for p(t)."""
    return Atom(AdornedName(atom.name, adornment), atom.terms)


def magic(atom: Atom, adornment: Adornment) -> Atom:
    """The magic atom mgc p^a, with the bound arguments of p(t)."""
    return Atom(AdornedName(atom.name, adornment, magic=True), bound_terms(atom, adornment))


def bound_terms(atom: Atom, adornment: Adornment) -> tuple[Term, ...]:
    return tuple(term for term, bound in zip(atom.terms, adornment, strict=True) if bound)
