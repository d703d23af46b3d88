"""Which atoms of a body are joined all at once, variable by variable, and in which order of variables.

Whatever the order of two-way joins of a cyclic body, there are relations for which one of them has far more rows than
the body: three stars of n edges each form at most n triangles, but any two of them join to n² rows. The generic join
(Ngo, Ré and Rudra 2014; paper 000 refers to it) binds one variable after the other to the values that all atoms of the
variable allow, and its time is within the greatest size that a result over relations of such sizes can have.

Joined so is the cyclic core: what GYO reduction leaves, with the atoms inside of its variables, and with the atom that
reads the DELTA, whose variables come first. What hangs on the core is joined to it in the ordinary way.

The textbook estimate takes every value for equally frequent, and cannot see the danger. So the choice is between two
bounds: how many rows the two-way joins have if they always meet the most frequent value (`most_rows`), and how many the
core has at most (`bound`, after Atserias, Grohe and Marx: for weights of the atoms that give every variable a weight of
at least 1, the product of the sizes to the power of the weights). If the first is far above the second, the two-way
joins may go wrong; otherwise they are better: they have less to do for a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod, sqrt

from deltalog.plan.hypertree.gyo import cyclic_part
from deltalog.plan.ir import Part
from deltalog.plan.statistics import Statistics
from deltalog.syntax.ast import Atom, Variable, variables

Atoms = Mapping[int, Atom]


def cyclic_core(atoms: Atoms) -> set[int]:
    """The atoms of the cyclic part of a body and those inside of its variables; none if the body is acyclic."""
    inside = frozenset[Variable]().union(*cyclic_part([frozenset(variables(atom)) for atom in atoms.values()]))
    return {i for i, atom in atoms.items() if inside.issuperset(variables(atom))} if inside else set()


def joined_at_once(atoms: Atoms, parts: Mapping[int, Part], statistics: Statistics) -> list[int]:
    """The atoms of a body for a multiway join, or none."""
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


def most_rows(steps: Iterable[tuple[Atom, Part, tuple[int, ...]]], statistics: Statistics) -> float:
    """The rows of two-way joins, one after the other, where each look-up (by the columns given) meets the most frequent
    value."""
    rows = most = 1.0
    for atom, part, known in steps:
        if not known:
            rows *= statistics.size(atom.pred, part)
        elif len(known) < len(atom.terms):
            rows *= min(statistics.heaviest(atom.pred, part, column) for column in known)
        most = max(most, rows)
    return most


def most_joined(atoms: Iterable[Atom], statistics: Statistics) -> float:
    """The same for atoms in an order in which each has as few as possible."""
    left, known, rows, most = list(atoms), set[Variable](), 1.0, 1.0
    while left:
        factor, i = min((_most_each(atom, known, statistics), i) for i, atom in enumerate(left))
        known |= set(variables(left.pop(i)))
        rows *= factor
        most = max(most, rows)
    return most


def _most_each(atom: Atom, known: Collection[Variable], statistics: Statistics) -> float:
    """At most how many facts match an atom for values of known variables."""
    columns = [i for i, t in enumerate(atom.terms) if not isinstance(t, Variable) or t in known]
    if len(columns) == len(atom.terms):
        return 1.0
    heaviest = (statistics.heaviest(atom.pred, Part.ALL, column) for column in columns)
    return min(heaviest, default=statistics.size(atom.pred, Part.ALL))


def bound(atoms: Sequence[Atom], parts: Sequence[Part], statistics: Statistics) -> float:
    """At most so many rows: every atom of a variable that has several with the weight 1/2, or some atoms with 1."""
    sizes = [max(1.0, statistics.size(atom.pred, part)) for atom, part in zip(atoms, parts, strict=True)]
    edges = [frozenset(variables(atom)) for atom in atoms]
    counts = Counter(v for edge in edges for v in edge)
    halves = prod(
        size if any(counts[v] < 2 for v in edge) else sqrt(size) for edge, size in zip(edges, sizes, strict=True)
    )
    return min(halves, _covered(edges, sizes))


def _covered(edges: Sequence[frozenset[Variable]], sizes: Sequence[float]) -> float:
    """The product of the sizes of atoms that have all variables, the smallest for each new variable first."""
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
    """First those of the DELTA, then always a variable that has an atom with one before it and the fewest values there;
    of like ones, those that nobody reads come `last`."""
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
    """Whether a variable is apart from those before it (unless it is the first); about how many values it then has."""
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
