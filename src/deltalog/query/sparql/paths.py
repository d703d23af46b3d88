"""From property paths to rules.

    p / q     p(s, m), q(m, o)      m is hidden: it counts, and is not visible
    p | q     two rules
    ^p        p(o, s)
    p+        #c(x, y) <- p(x, y).   #c(x, z) <- #c(x, y), p(y, z).       the closure, a set
    p*, p?    the closure, or p, as a set; and every node with itself
    !(p|^q)   triples with another predicate; and with another one, backwards

A path of length zero leads from a constant to itself, in the graph or not, and otherwise from each node of the graph to
itself. Where another triple of the same pattern has a variable of the path as a subject or object, only the nodes of
that triple are considered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltalog.model.terms import IRI
from deltalog.query.sparql import algebra
from deltalog.query.sparql.algebra import AlternativePath, InversePath, NegatedPath, Path, RepeatedPath
from deltalog.syntax.ast import TRIPLE, Atom, BodyLiteral, Call, Constant, Filter, HiddenName, Term, Variable, triple

if TYPE_CHECKING:
    from deltalog.query.sparql.patterns import GeneratedRules

X, Y, Z = Variable("x"), Variable("y"), Variable("z")
NODE = Atom(HiddenName("#node"), (X,))


@dataclass(frozen=True)
class Steps:
    """The body of a path, and the variables of it that make its solutions different."""

    body: tuple[BodyLiteral, ...]
    hidden: tuple[Variable, ...] = ()


@dataclass(frozen=True)
class Paths:
    """Translates paths. `plain`: the other triples of the pattern."""

    rules: GeneratedRules
    plain: Sequence[Atom] = ()

    def between(self, path: Path, s: Term, o: Term) -> Steps:
        match path:
            case InversePath(inner):
                return self.between(inner, o, s)
            case algebra.SequencePath(parts):
                return self._sequence(parts, s, o)
            case AlternativePath(parts):
                return self._alternative([self.between(part, s, o) for part in parts], s, o)
            case RepeatedPath():
                return self._repeated(path, s, o)
            case NegatedPath():
                return self._negated(path, s, o)
            case _:
                return Steps((triple(s, Constant(path), o),))

    def _sequence(self, parts: Sequence[Path], s: Term, o: Term) -> Steps:
        middle = [self.rules.variable() for _ in parts[1:]]
        ends = [s, *middle, o]
        steps = [self.between(part, ends[i], ends[i + 1]) for i, part in enumerate(parts)]
        body = tuple(literal for step in steps for literal in step.body)
        return Steps(body, (*middle, *(v for step in steps for v in step.hidden)))

    def _alternative(self, sides: Sequence[Steps], s: Term, o: Term) -> Steps:
        which = self.rules.variable()
        hidden = [v for side in sides for v in side.hidden]
        name, ends = self.rules.fresh(), variables_of(s, o)
        for number, side in enumerate(sides):
            chosen = [v if v in side.hidden else Constant(False) for v in hidden]
            self.rules.add(Atom(name, (*ends, *chosen, Constant(number))), side.body)
        return Steps((Atom(name, (*ends, *hidden, which)),), (*hidden, which))

    def _negated(self, path: NegatedPath, s: Term, o: Term) -> Steps:
        """Forwards, backwards or both; `!()` is any predicate forwards."""
        ways = [self._another(path.forwards, s, o)] if path.forwards or not path.backwards else []
        ways += [self._another(path.backwards, o, s)] if path.backwards else []
        return ways[0] if len(ways) == 1 else self._alternative(ways, s, o)

    def _another(self, predicates: Sequence[IRI], s: Term, o: Term) -> Steps:
        """A triple with a predicate other than these."""
        p = self.rules.variable()
        others = [Filter(Call("!", (Call("sameterm", (p, Constant(iri))),))) for iri in predicates]
        return Steps((Atom(TRIPLE, (s, p, o)), *others), (p,))

    def _repeated(self, path: RepeatedPath, s: Term, o: Term) -> Steps:
        """p+, p* and p?: sets of pairs."""
        if path.modifier == "?":
            some = self._edge(path.path)
        else:
            some = self._closure(path.path, backwards=isinstance(o, Constant) and isinstance(s, Variable))
        if path.modifier == "+":
            return Steps((Atom(some.name, (s, o)),))
        return self._or_zero(some, path.path, s, o)

    def _edge(self, path: Path) -> Atom:
        """An atom over X and Y for one step of a path, as a set."""
        steps = Paths(self.rules).between(path, X, Y)  # X and Y are other variables than those of the pattern
        if len(steps.body) == 1 and isinstance(steps.body[0], Atom) and steps.body[0].terms == (X, Y):
            return steps.body[0]
        edge = Atom(self.rules.fresh(), (X, Y))
        self.rules.add(edge, steps.body)
        return edge

    def _closure(self, path: Path, backwards: bool) -> Atom:
        """The closure of a path; for one with a bound end, the recursion is in the other atom."""
        known = (path, backwards)
        if known not in self.rules.closures:
            edge, name = self._edge(path), self.rules.fresh()
            self.rules.closures[known] = name
            self.rules.add(Atom(name, (X, Y)), [edge])
            parts = (edge.name, name) if backwards else (name, edge.name)
            self.rules.add(Atom(name, (X, Z)), [Atom(parts[0], (X, Y)), Atom(parts[1], (Y, Z))])
        return Atom(self.rules.closures[known], (X, Y))

    def _or_zero(self, some: Atom, path: Path, s: Term, o: Term) -> Steps:
        result = Atom(self.rules.fresh(), variables_of(s, o))
        self.rules.add(result, [Atom(some.name, (s, o))])
        if isinstance(s, Variable) and isinstance(o, Variable):
            self._zero_of_nodes(result, path, s, o)
        elif s == o:
            self.rules.add(result, ())
        elif isinstance(s, Variable) or isinstance(o, Variable):
            self.rules.add(Atom(result.name, (o if isinstance(s, Variable) else s,)), ())
        return Steps((result,))

    def _zero_of_nodes(self, result: Atom, path: Path, s: Variable, o: Variable) -> None:
        for variable in (s, o):
            for atom in self.plain:
                if variable in node_terms(atom):
                    # result(v, v) <- the triple that has v
                    self.rules.add(Atom(result.name, (variable,) * len(result.terms)), [atom])
                    return
        self._nodes()
        everything = Atom(result.name, (X,) * len(result.terms))
        self.rules.add(everything, [NODE])
        edge = self._edge(path)  # predicates with bare names are no triples, and have nodes all the same
        self.rules.add(everything, [edge])
        self.rules.add(Atom(result.name, (Y,) * len(result.terms)), [edge])

    def _nodes(self) -> None:
        """#node(x): x is a subject or an object."""
        if not self.rules.nodes:
            self.rules.nodes = True
            self.rules.add(NODE, [Atom(TRIPLE, (X, Y, Z))])
            self.rules.add(NODE, [Atom(TRIPLE, (Z, Y, X))])


def variables_of(*terms: Term) -> tuple[Variable, ...]:
    return tuple(dict.fromkeys(t for t in terms if isinstance(t, Variable)))


def node_terms(atom: Atom) -> tuple[Term, ...]:
    """The subject and the object of a triple's atom."""
    return (atom.terms[0], atom.terms[2]) if len(atom.terms) == 3 else atom.terms
