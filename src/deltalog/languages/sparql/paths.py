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

In a graph whose name is a variable, the predicates of these rules have one more argument, the graph: the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltalog.core.rules import Atom, BodyLiteral, Call, Constant, Filter, Term, Variable
from deltalog.core.terms import IRI
from deltalog.languages.sparql import algebra
from deltalog.languages.sparql.algebra import AlternativePath, InversePath, NegatedPath, Path, RepeatedPath
from deltalog.languages.sparql.graphs import DEFAULT_GRAPH, ActiveGraph, node_terms

if TYPE_CHECKING:
    from deltalog.languages.sparql.patterns import GeneratedRules

G, X, Y, Z = Variable("g"), Variable("x"), Variable("y"), Variable("z")


@dataclass(frozen=True)
class Steps:
    """The body of a path, and the variables of it that make its solutions different."""

    body: tuple[BodyLiteral, ...]
    hidden: tuple[Variable, ...] = ()


@dataclass(frozen=True)
class Paths:
    """Translates paths in a graph. `plain`: the other triples of the pattern."""

    rules: GeneratedRules
    graph: ActiveGraph = DEFAULT_GRAPH
    plain: Sequence[Atom] = ()

    @property
    def own(self) -> Paths:
        """The same for rules of their own, over G, X, Y and Z: these are other variables than those of the pattern."""
        return Paths(self.rules, ActiveGraph(G) if self.graph.variables else self.graph)

    def atom(self, name: str, *terms: Term) -> Atom:
        """An atom of one of the predicates made here."""
        return Atom(name, (*self.graph.variables, *terms))

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
                return Steps((self.graph.triple(s, Constant(path), o),))

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
            self.rules.add(self.atom(name, *ends, *chosen, Constant(number)), side.body)
        return Steps((self.atom(name, *ends, *hidden, which),), (*hidden, which))

    def _negated(self, path: NegatedPath, s: Term, o: Term) -> Steps:
        """Forwards, backwards or both; `!()` is any predicate forwards."""
        ways = [self._another(path.forwards, s, o)] if path.forwards or not path.backwards else []
        ways += [self._another(path.backwards, o, s)] if path.backwards else []
        return ways[0] if len(ways) == 1 else self._alternative(ways, s, o)

    def _another(self, predicates: Sequence[IRI], s: Term, o: Term) -> Steps:
        """A triple with a predicate other than these."""
        p = self.rules.variable()
        others = [Filter(Call("!", (Call("sameterm", (p, Constant(iri))),))) for iri in predicates]
        return Steps((self.graph.triple(s, p, o), *others), (p,))

    def _repeated(self, path: RepeatedPath, s: Term, o: Term) -> Steps:
        """p+, p* and p?: sets of pairs."""
        if path.modifier == "?":
            some = self._edge(path.path)
        else:
            some = self._closure(path.path, backwards=isinstance(o, Constant) and isinstance(s, Variable))
        if path.modifier == "+":
            return Steps((self.atom(some, s, o),))
        return self._or_zero(some, path.path, s, o)

    def _edge(self, path: Path) -> str:
        """The predicate of one step of a path, as a set of pairs."""
        own = self.own
        steps = own.between(path, X, Y)
        if len(steps.body) == 1 and isinstance(atom := steps.body[0], Atom) and atom.terms == own.atom("", X, Y).terms:
            return atom.name
        name = self.rules.fresh()
        self.rules.add(own.atom(name, X, Y), steps.body)
        return name

    def _closure(self, path: Path, backwards: bool) -> str:
        """The predicate of the closure of a path; for one with a bound end, the recursion is in the other atom."""
        own = self.own
        known = (path, backwards, own.graph)
        if known not in self.rules.closures:
            edge, name = self._edge(path), self.rules.fresh()
            self.rules.closures[known] = name
            self.rules.add(own.atom(name, X, Y), [own.atom(edge, X, Y)])
            first, second = (edge, name) if backwards else (name, edge)
            self.rules.add(own.atom(name, X, Z), [own.atom(first, X, Y), own.atom(second, Y, Z)])
        return self.rules.closures[known]

    def _or_zero(self, some: str, path: Path, s: Term, o: Term) -> Steps:
        name, ends = self.rules.fresh(), variables_of(s, o)
        self.rules.add(self.atom(name, *ends), [self.atom(some, s, o)])
        if isinstance(s, Variable) and isinstance(o, Variable):
            self._zero_of_nodes(name, len(ends), path, s, o)
        elif s == o:
            self.rules.add(self.atom(name), self._any_graph)
        elif isinstance(s, Variable) or isinstance(o, Variable):
            self.rules.add(self.atom(name, o if isinstance(s, Variable) else s), self._any_graph)
        return Steps((self.atom(name, *ends),))

    @property
    def _any_graph(self) -> list[BodyLiteral]:
        return [self.rules.named_graph(graph) for graph in self.graph.variables]

    def _zero_of_nodes(self, name: str, width: int, path: Path, s: Variable, o: Variable) -> None:
        for variable in (s, o):
            for atom in self.plain:
                if variable in node_terms(atom):
                    # result(v, v) <- the triple that has v
                    self.rules.add(self.atom(name, *(variable,) * width), [atom])
                    return
        own, edge = self.own, self._edge(path)
        self.rules.add(own.atom(name, *(X,) * width), [own.atom(self._nodes(), X)])
        # predicates with bare names are no triples, and have nodes all the same
        self.rules.add(own.atom(name, *(X,) * width), [own.atom(edge, X, Y)])
        self.rules.add(own.atom(name, *(Y,) * width), [own.atom(edge, X, Y)])

    def _nodes(self) -> str:
        """#node(x): x is a subject or an object."""
        own = self.own
        if own.graph not in self.rules.nodes:
            name = self.rules.nodes[own.graph] = self.rules.fresh()
            self.rules.add(own.atom(name, X), [own.graph.triple(X, Y, Z)])
            self.rules.add(own.atom(name, X), [own.graph.triple(Z, Y, X)])
        return self.rules.nodes[own.graph]


def variables_of(*terms: Term) -> tuple[Variable, ...]:
    return tuple(dict.fromkeys(t for t in terms if isinstance(t, Variable)))
