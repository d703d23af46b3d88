"""A decomposition of a rule as rules for the relations of its tree.

For every node p that joins more than one atom there is a relation of its own,

    #node_p(χ(p)) <- λ(p), the atoms and conditions inside of χ(p)                          in-node evaluation

which holds inst_p of Zhang et al.: it is stored between rounds and between updates, and has a DELTA in semi-naive
evaluation like any other relation. Beyond the paper, variables of χ(p) that nothing outside of p reads are omitted,
unless the instantiations are `whole`; but one of them is kept where it takes no space (four columns take as much as
three), since it makes it cheaper to check whether a row still holds. With `reduced`, instantiations that join with no
instantiation of a child are omitted, too (the children's nodes are atoms of p's rule). A leaf is not reduced by its
parent. The columns that other nodes share come first, so that neighbours are joined in their sort order. The cross-node
evaluation is one relation for a pair of neighbours p, q of the tree,

    #message_pq(χ(p) ∩ χ(q), ...) <- #node_p(χ(p)), #message_rp(...) for all other neighbours r of p

the instantiations of p that join with everything on p's side of the tree: the semi-joins of the full reducer from the
leaves to the root. A leaf's message is its node. A head is derived at the node that has most of its variables,

    h <- #node_p(χ(p)), #message_rp(...) for all neighbours r of p

so each head has its own root, and these are the semi-joins of the other direction. What Zhang et al. projects the
cross-node join to, "χ(p) and the head's variables", is in the dots: variables that h needs and p does not
have travel in the messages. These are ordinary rules, so rounds (L+), deletions (L-), rederivation and rule changes
work as for any rule: the labels of Zhang et al. are OLD, DELTA and ALL of these relations. The plan of a change starts
with the DELTA and looks up its partners by index, which is the reducer's first traversal, from the DELTA.

A condition is placed in a node that has its variables, or else in the lowest message that brings them together. A BIND
is computed with the heads, and wherever a condition needs its value.

The name of a relation is derived from its definition, so rules share the relations of common parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha1
from math import prod

from deltalog.core.rules import (
    Aggregate,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Expression,
    Filter,
    HiddenName,
    Negation,
    Rule,
    Variable,
    variables,
)
from deltalog.evaluation.plan.hypertree.decompose import TreeNode, joined_in

NODE, MESSAGE = "#node ", "#message "


class TreeRelation(HiddenName):
    """The name of a relation of a tree: a node, or a message."""

    __slots__ = ()


def atoms_of(rule: Rule) -> list[Atom]:
    """The positive atoms of the body, which are decomposed."""
    return [literal for literal in rule.body if isinstance(literal, Atom)]


def why_not(rule: Rule) -> str | None:
    """Why the body of a rule cannot be decomposed; empty if it can."""
    joined = {v for atom in atoms_of(rule) for v in variables(atom)}
    if not joined:
        return "no variables"
    if any(isinstance(literal, Aggregate) for literal in rule.body):
        return "an aggregate"
    if any(isinstance(literal, Bind) and literal.variable in joined for literal in rule.body):
        return "a BIND whose value is joined"
    return None


def rewritten(
    rule: Rule, root: TreeNode, values: Mapping[Variable, float] | None = None, reduced: bool = False
) -> tuple[Rule, ...]:
    """Equivalent rules over the relations of the tree; for a tree of one node the rule itself. `values`: the estimated
    number of values of each variable; without, nodes have all of χ. `reduced`: nodes are reduced by their children."""
    if not root.children:
        return (rule,)
    return tuple(dict.fromkeys(_Rewriting(rule, root, values, reduced).rules()))


@dataclass(slots=True)
class _Rewriting:
    rule: Rule
    root: TreeNode
    values: Mapping[Variable, float] | None
    reduced: bool
    atoms: list[Atom] = field(init=False)
    binds: dict[Variable, Bind] = field(init=False)
    places: dict[Variable, int] = field(init=False)  # the first occurrence of a variable: the order of columns
    used: frozenset[Variable] = field(init=False)  # variables that occur more than once
    neighbours: dict[int, list[TreeNode]] = field(init=False)
    inside: dict[int, list[BodyLiteral]] = field(init=False)  # the conditions of each node
    spanning: list[BodyLiteral] = field(init=False)  # conditions that no node has all variables of
    read_at: dict[int, frozenset[Variable]] = field(init=False)  # the variables that are read outside of each node
    made: dict[TreeRelation, Rule] = field(default_factory=dict)
    nodes: dict[int, Atom] = field(default_factory=dict)  # the atom of each node

    def __post_init__(self) -> None:
        self.atoms = atoms_of(self.rule)
        self.binds = {}
        for literal in self.rule.body:
            if isinstance(literal, Bind):
                self.binds.setdefault(literal.variable, literal)
        order = dict.fromkeys(v for atom in self.atoms for v in variables(atom))
        self.places = {v: i for i, v in enumerate(order)}
        counts = Counter(v for literal in (*self.rule.heads, *self.rule.body) for v in variables(literal))
        self.used = frozenset(v for v, count in counts.items() if count > 1)
        self.neighbours = {id(node): list(node.children) for node in self.root}
        for node in self.root:
            for child in node.children:
                self.neighbours[id(child)].append(node)
        self._place_conditions()

    def _place_conditions(self) -> None:
        """Conditions in the lowest node that has their variables."""
        self.inside, self.spanning = {id(node): [] for node in self.root}, []
        lowest_first = list(self.root)[::-1]
        for literal in self.rule.body:
            if isinstance(literal, Atom | Bind):
                continue
            needed = self.needs(literal)
            node = next((node for node in lowest_first if needed <= node.chi), None)
            (self.spanning if node is None else self.inside[id(node)]).append(literal)
        self._note_readers()

    def _note_readers(self) -> None:
        """The variables that heads, BINDs, conditions over several nodes, or other nodes have."""
        last = [*self.rule.heads, *self.spanning, *self.binds.values()]
        read = self._base(v for literal in last for v in self._variables(literal))
        self.read_at = {
            id(node): read.union(*(other.chi for other in self.root if other is not node)) for node in self.root
        }

    # The variables of conditions.

    def _variables(self, literal: BodyLiteral) -> Iterator[Variable]:
        """Without those that are existential in a negation."""
        return (v for v in variables(literal) if v in self.places or v in self.binds)

    def needs(self, literal: BodyLiteral) -> frozenset[Variable]:
        return self._base(self._variables(literal))

    def _base(self, needed: Iterable[Variable]) -> frozenset[Variable]:
        """The variables of atoms that give values to these, through BINDs."""
        found: set[Variable] = set()
        for v in needed:
            found |= {v} if v in self.places else self._base(variables(self.binds[v].expression))
        return frozenset(found)

    def with_binds(self, literals: Sequence[BodyLiteral]) -> list[BodyLiteral]:
        """Conditions after the BINDs that they need."""
        needed: dict[BodyLiteral, None] = {}

        def add(v: Variable) -> None:
            if v in self.binds and self.binds[v] not in needed:
                for inner in variables(self.binds[v].expression):
                    add(inner)
                needed[self.binds[v]] = None

        for literal in literals:
            for v in self._variables(literal):
                add(v)
        return [*needed, *literals]

    # The rules.

    def rules(self) -> list[Rule]:
        heads = [self._derivation(group) for group in self._groups()]
        return [*self.made.values(), *heads]

    def _groups(self) -> list[list[Atom]]:
        """Each head alone, so that it is derived at the node of its variables; heads with BINDs together."""
        bound = [head for head in self.rule.heads if any(v in self.binds for v in variables(head))]
        others = [[head] for head in self.rule.heads if head not in bound]
        return [*([bound] if bound else []), *others]

    def _derivation(self, heads: list[Atom]) -> Rule:
        """h <- #node_p, #message_rp for all neighbours r of p; p is the node with the most variables of h."""
        binds = [literal for literal in self.rule.body if isinstance(literal, Bind)]
        needed = self._base([*(v for h in heads for v in variables(h)), *(v for b in binds for v in variables(b))])
        at = min(self.root, key=lambda node: (len(needed - node.chi), node.rows))
        journey = _Journey(self, needed)
        body = journey.body(at, None)
        last = self.with_binds(journey.waiting)
        body += [*last, *(bind for bind in binds if bind not in last)]
        return Rule(tuple(heads), tuple(body), self.rule.span)

    def node(self, node: TreeNode) -> Atom:
        """The atom of a node: that of its relation, or its only atom."""
        if id(node) not in self.nodes:
            self.nodes[id(node)] = self._node(node)
        return self.nodes[id(node)]

    def _node(self, node: TreeNode) -> Atom:
        joined = joined_in(node, self.atoms)
        conditions = self.inside[id(node)]
        if len(joined) == 1 and not conditions and node.chi == set(variables(joined[0])):
            return joined[0]
        below = [self.node(child) for child in node.children] if self.reduced else []
        others = frozenset[Variable]().union(*(other.chi for other in self.root if other is not node))
        return self.relation(NODE, self._columns(node), others, [*joined, *below, *self.with_binds(conditions)])

    def _columns(self, node: TreeNode) -> list[Variable]:
        """The variables of χ that occur more than once; or those that are read elsewhere, and another one if their
        number is odd, unless it is estimated to increase the rows."""
        columns = [v for v in node.chi if v in self.used]
        if self.values is None:
            return columns
        read = [v for v in columns if v in self.read_at[id(node)]]
        spare = max((v for v in columns if v not in read), key=lambda v: (self.values[v], v.name), default=None)  # type: ignore[index]
        many = 2 * prod(self.values[v] for v in read) > node.rows
        return [*read, spare] if spare is not None and len(read) % 2 and many else read

    def relation(
        self, kind: str, columns: Iterable[Variable], first: frozenset[Variable], body: Sequence[BodyLiteral]
    ) -> Atom:
        """The atom of a relation with these columns and this body; adds its rule."""
        terms = tuple(sorted(columns, key=lambda v: (v not in first, self.places[v])))
        rule = _canonical(terms, body)
        name = TreeRelation(kind + sha1(str(rule).encode(), usedforsecurity=False).hexdigest()[:10])
        self.made[name] = replace(rule, heads=(replace(rule.heads[0], name=name),))
        return Atom(name, terms)


@dataclass(slots=True)
class _Journey:
    """The messages to the node where a head is derived; `waiting` are the conditions that are not placed yet."""

    rewriting: _Rewriting
    needed: frozenset[Variable]
    waiting: list[BodyLiteral] = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = list(self.rewriting.spanning)

    def body(self, node: TreeNode, to: TreeNode | None) -> list[BodyLiteral]:
        """A node with the messages from all of its neighbours but one."""
        others = [other for other in self.rewriting.neighbours[id(node)] if other is not to]
        return [self.rewriting.node(node), *(self._message(other, node) for other in others)]

    def _message(self, node: TreeNode, to: TreeNode) -> Atom:
        body = self.body(node, to)
        present = {v for literal in body for v in variables(literal)}
        conditions = [literal for literal in self.waiting if self.rewriting.needs(literal) <= present]
        self.waiting = [literal for literal in self.waiting if literal not in conditions]
        if len(body) == 1 and not conditions and isinstance(body[0], Atom):
            return body[0]
        later = to.chi | self.needed | {v for literal in self.waiting for v in self.rewriting.needs(literal)}
        literals = [*body, *self.rewriting.with_binds(conditions)]
        return self.rewriting.relation(MESSAGE, present & later, to.chi, literals)


# Names.


def _canonical(columns: Sequence[Variable], body: Sequence[BodyLiteral]) -> Rule:
    """A rule with canonical names of variables."""
    names: dict[Variable, Variable] = {}

    def renamed(v: Variable) -> Variable:
        return names.setdefault(v, Variable(f"v{len(names)}"))

    literals = tuple(_renamed(literal, renamed) for literal in body)
    return Rule((Atom("columns", tuple(renamed(v) for v in columns)),), literals)


Renaming = Callable[[Variable], Variable]


def _renamed(literal: BodyLiteral, renamed: Renaming) -> BodyLiteral:
    match literal:
        case Atom(name, terms):
            return Atom(name, tuple(renamed(t) if isinstance(t, Variable) else t for t in terms))
        case Negation(Atom(name, terms)):
            return Negation(Atom(name, tuple(renamed(t) if isinstance(t, Variable) else t for t in terms)))
        case Filter(condition):
            return Filter(_expression(condition, renamed))
        case Bind(expression, variable):
            return Bind(_expression(expression, renamed), renamed(variable))
        case _:
            raise AssertionError(literal)


def _expression(expression: Expression, renamed: Renaming) -> Expression:
    match expression:
        case Variable():
            return renamed(expression)
        case Call(function, arguments, span):
            return Call(function, tuple(_expression(argument, renamed) for argument in arguments), span)
        case _:
            return expression
