"""Multiway joins: which atoms of a body are joined variable by variable, and in which order of variables.

Whatever the order of binary joins of a cyclic body, there are relations for which one of them has far more rows than
the body: three stars of n edges each form at most n triangles, but any two of them join to n² rows. The generic join
(Ngo, Ré and Rudra 2014; Zhang et al. refers to it) binds one variable after the other to the values that all its atoms
have in common. It is worst-case optimal: its time is within the largest result that relations of such sizes can have.

It joins the cyclic core: the atoms that GYO reduction leaves, the atoms inside of their variables, and the atom that
reads the DELTA, whose variables come first. All other atoms are joined to the core by binary joins.

The textbook estimate assumes a uniform distribution of values, and does not show the danger. So the choice compares two
upper bounds: the rows of the binary joins if every look-up meets the most frequent value (`worst_case_rows`), and the
size of the core (`agm_bound`, after Atserias, Grohe and Marx: for weights of the atoms that give every variable a
weight of at least 1, the product of the sizes to the power of the weights). Only if the first is far above the second,
a multiway join is used: binary joins do less work per row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod, sqrt

from deltalog.core.rules import Atom, Variable, variables
from deltalog.evaluation.plan.hypertree.gyo import cyclic_part
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.statistics import Statistics

Atoms = Mapping[int, Atom]


def cyclic_core(atoms: Atoms) -> set[int]:
    """The atoms of the cyclic part of a body and those inside of its variables; none if the body is acyclic."""
    inside = frozenset[Variable]().union(*cyclic_part([frozenset(variables(atom)) for atom in atoms.values()]))
    return {i for i, atom in atoms.items() if inside.issuperset(variables(atom))} if inside else set()


def multiway_core(atoms: Atoms, parts: Mapping[int, Part], statistics: Statistics) -> list[int]:
    """The atoms of a body to join by a multiway join, or none."""
    if len(atoms) < 3:
        return []
    core = cyclic_core(atoms)
    if not core:
        return []
    core |= {i for i in atoms if parts.get(i) is Part.DELTA}
    read = sum(statistics.size(atoms[i].pred, parts.get(i, Part.ALL)) for i in core)
    return (
        sorted(core) if read >= statistics.tuning.multiway_min_facts and all(_is_simple(atoms[i]) for i in core) else []
    )


def _is_simple(atom: Atom) -> bool:
    """At most two columns, and no variable twice."""
    names = list(variables(atom))
    return len(atom.terms) <= 2 and len(names) == len(set(names)) > 0


def worst_case_rows(steps: Iterable[tuple[Atom, Part, tuple[int, ...]]], statistics: Statistics) -> float:
    """The rows of binary joins in this order, if each look-up (by the columns given) meets the most frequent value."""
    rows = most = 1.0
    for atom, part, known in steps:
        if not known:
            rows *= statistics.size(atom.pred, part)
        elif len(known) < len(atom.terms):
            rows *= min(statistics.heaviest(atom.pred, part, column) for column in known)
        most = max(most, rows)
    return most


def worst_case_joined_rows(atoms: Iterable[Atom], statistics: Statistics) -> float:
    """The same for atoms in a greedy order."""
    left, known, rows, most = list(atoms), set[Variable](), 1.0, 1.0
    while left:
        factor, i = min((_most_each(atom, known, statistics), i) for i, atom in enumerate(left))
        known |= set(variables(left.pop(i)))
        rows *= factor
        most = max(most, rows)
    return most


def _most_each(atom: Atom, known: Collection[Variable], statistics: Statistics) -> float:
    """The maximum number of facts that match an atom for values of known variables."""
    columns = [i for i, t in enumerate(atom.terms) if not isinstance(t, Variable) or t in known]
    if len(columns) == len(atom.terms):
        return 1.0
    heaviest = (statistics.heaviest(atom.pred, Part.ALL, column) for column in columns)
    return min(heaviest, default=statistics.size(atom.pred, Part.ALL))


def agm_bound(atoms: Sequence[Atom], parts: Sequence[Part], statistics: Statistics) -> float:
    """An upper bound of the rows: with weight 1/2 for atoms that share all their variables, or weight 1 for a cover."""
    sizes = [max(1.0, statistics.size(atom.pred, part)) for atom, part in zip(atoms, parts, strict=True)]
    edges = [frozenset(variables(atom)) for atom in atoms]
    counts = Counter(v for edge in edges for v in edge)
    halves = prod(
        size if any(counts[v] < 2 for v in edge) else sqrt(size) for edge, size in zip(edges, sizes, strict=True)
    )
    return min(halves, _covered(edges, sizes))


def _covered(edges: Sequence[frozenset[Variable]], sizes: Sequence[float]) -> float:
    """The product of the sizes of atoms that cover all variables, chosen greedily by size per new variable."""
    left, product = frozenset[Variable]().union(*edges), 1.0
    while left:
        best = min(
            (i for i, edge in enumerate(edges) if edge & left), key=lambda i: sizes[i] ** (1 / len(edges[i] & left))
        )
        left, product = left - edges[best], product * sizes[best]
    return product


def variable_order(
    atoms: Sequence[Atom], parts: Sequence[Part], statistics: Statistics, last: frozenset[Variable]
) -> tuple[Variable, ...]:
    """First the variables of the DELTA, then always a variable that shares an atom with a bound one and has the fewest
    values there; variables in `last`, which are not read later, lose ties."""
    bound: list[Variable] = []
    waiting = dict.fromkeys(v for atom in atoms for v in variables(atom))
    delta = {v for atom, part in zip(atoms, parts, strict=True) if part is Part.DELTA for v in variables(atom)}
    while waiting:
        values = {v: _values(v, bound, atoms, parts, statistics) for v in waiting}
        best = min(waiting, key=lambda v: (v not in delta, values[v][0], v in last, values[v][1]))
        bound.append(best)
        del waiting[best]
    return tuple(bound)


def _values(
    variable: Variable, bound: Sequence[Variable], atoms: Sequence[Atom], parts: Sequence[Part], statistics: Statistics
) -> tuple[bool, float]:
    """Whether no atom connects a variable with a bound one (unless it is the first); its estimated number of values."""
    counts, apart = [], bool(bound)
    for atom, part in zip(atoms, parts, strict=True):
        if variable not in atom.terms:
            continue
        count = statistics.distinct(atom.pred, part, atom.terms.index(variable))
        for column, term in enumerate(atom.terms):
            if term != variable and (term in bound or not isinstance(term, Variable)):
                size, leads = statistics.size(atom.pred, part), statistics.distinct(atom.pred, part, column)
                count, apart = min(count, size / max(1.0, leads)), False
        counts.append(count)
    return apart, min(counts)
