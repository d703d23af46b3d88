"""From a clause to conjunctions that are simple enough to lower.

disjunctions and nested negations   become several clauses (negation is pushed down to atoms and comparisons)
aggregates, `range` and counters    stand alone, as `v = count : {...}`
variables of an aggregate           have names of their own, unless the clause mentions them elsewhere
x = y and x = 5                     are replaced: one variable, or the constant, everywhere
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count, product
from typing import Any

from deltalog.core.errors import Diagnostic
from deltalog.languages.souffle import tree

MAX_CONJUNCTIONS = 4096  # of one clause
OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
OPPOSITE |= {"match": "not-match", "not-match": "match", "contains": "not-contains", "not-contains": "contains"}

Literals = list[tree.BodyNode]


def conjunctions(body: tree.BodyNode | None, positive: bool = True) -> list[Literals]:
    """The disjunctive normal form of a body: any of these conjunctions of atoms, negated atoms and comparisons."""
    match body:
        case None:
            return [[]]
        case tree.Truth(value=value):
            return [[]] if value is positive else []
        case tree.NotNode(operand=operand):
            return conjunctions(operand, not positive)
        case tree.AndNode(parts=parts) | tree.OrNode(parts=parts):
            found = [conjunctions(part, positive) for part in parts]
            if isinstance(body, tree.AndNode) is positive:
                return [[literal for some in choice for literal in some] for choice in product(*found)]
            return [conjunction for some in found for conjunction in some]
        case tree.Comparison(operator=operator) if not positive:
            return [[replace(body, operator=OPPOSITE[operator])]]
        case tree.AtomNode() if not positive:
            return [[tree.NotNode(body.span, body)]]
    return [[body]]


def size(body: tree.BodyNode | None, positive: bool = True) -> int:
    """The number of those conjunctions."""
    match body:
        case tree.NotNode(operand=operand):
            return size(operand, not positive)
        case tree.AndNode(parts=parts) | tree.OrNode(parts=parts):
            sizes = [size(part, positive) for part in parts]
            if isinstance(body, tree.AndNode) is not positive:
                return sum(sizes)
            total = 1
            for each in sizes:
                total *= each
            return total
    return 1


@dataclass
class Normaliser:
    """Gives out names that no program can have."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def fresh(self, node: tree.SouffleNode, name: str = "") -> tree.VariableNode:
        return tree.VariableNode(node.span, f"{name}#{next(self.numbers)}")

    def clauses(self, clause: tree.Clause) -> Iterator[tree.Clause]:
        """The clauses with one conjunction each."""
        if size(clause.body) > MAX_CONJUNCTIONS:
            message = f"the disjunctions of this rule make more than {MAX_CONJUNCTIONS} rules"
            self.diagnostics.append(Diagnostic(message, clause.span, "Use a relation for one of them."))
            return
        for literals in conjunctions(clause.body):
            yield from self._normal(clause, literals)

    def _normal(self, clause: tree.Clause, literals: Literals) -> Iterator[tree.Clause]:
        n = len(clause.heads)
        heads = [tree.NotNode(head.span, head) for head in clause.heads]  # they give no values
        found = self._renamed_aggregates([*heads, *literals], frozenset())
        alone: Literals = []
        substituted = substitute([self._alone(each, alone) for each in found] + alone, n)
        if substituted is not None:
            new_heads = tuple(head.operand for head in substituted[:n])
            yield replace(clause, heads=new_heads, body=tree.AndNode(clause.span, tuple(substituted[n:])))

    def _renamed_aggregates(self, nodes: Sequence[Any], outside: frozenset[str]) -> list[Any]:
        """Nodes in which variables of an aggregate have names of their own: those that only aggregates mention, and
        those of which it takes the minimum or the like, if something else gives a value to one of that name."""
        around = outside.union(*(tree.variables(replaced(node, _nothing)) for node in nodes))
        given = outside.union(*map(grounded, nodes))

        def change(node: Any) -> Any:
            if not isinstance(node, tree.AggregateNode):
                return None
            target = set(tree.variables(node.argument)) if node.argument is not None else set()
            own = {name for name in tree.variables(node) if name not in around or name in target & given}
            names = {name: self.fresh(node, name).name for name in sorted(own)}
            return self._inner_renamed(tree.rewrite(node, lambda each: _renamed(each, names)), around)

        return [replaced(node, change) for node in nodes]

    def _inner_renamed(self, aggregate: tree.AggregateNode, outside: frozenset[str]) -> tree.AggregateNode:
        """An aggregate with the variables of those inside of it renamed."""
        parts = aggregate.body.parts if isinstance(aggregate.body, tree.AndNode) else (aggregate.body,)
        target = () if aggregate.argument is None else tree.variables(aggregate.argument)
        renamed = self._renamed_aggregates(parts, outside.union(target))
        return replace(aggregate, body=tree.AndNode(aggregate.body.span, tuple(renamed)))

    def _alone(self, node: Any, alone: Literals) -> Any:
        """A node with variables in place of aggregates and the like; `alone` gets their definitions."""
        match node:
            case tree.Comparison(operator="=", left=tree.VariableNode() as variable, right=right) if _stands_alone(
                right
            ):
                return replace(node, right=self._inner(right, alone))
            case tree.Comparison(operator="=", right=tree.VariableNode() as variable, left=left) if _stands_alone(left):
                return replace(node, left=variable, right=self._inner(left, alone))

        def change(each: Any) -> Any:
            if not _stands_alone(each):
                return None
            variable = self.fresh(each)
            alone.append(tree.Comparison(each.span, "=", variable, self._inner(each, alone)))
            return variable

        return replaced(node, change)

    def _inner(self, node: Any, alone: Literals) -> Any:
        """The definition of an aggregate with a normal body, or of a range or counter with plain arguments."""
        if not isinstance(node, tree.AggregateNode):
            if isinstance(node, tree.Functor):
                return replace(node, arguments=tuple(self._alone(each, alone) for each in node.arguments))
            return node
        found = conjunctions(node.body) or conjunctions(tree.rewrite(node.body, _as_comparison))
        if len(found) != 1:
            message = "a disjunction in an aggregate is not supported"
            self.diagnostics.append(Diagnostic(message, node.body.span, "Put it into a relation of its own."))
            found = found[:1]
        inner: Literals = []
        literals = [self._alone(each, inner) for each in found[0]]
        argument = node.argument
        if argument is not None:
            argument = self._alone(argument, inner)
        return replace(node, argument=argument, body=tree.AndNode(node.span, (*literals, *inner)))


def _as_comparison(node: Any) -> Any:
    """`false` in an aggregate as a comparison that never holds; the atoms beside it give values to variables."""
    zero = tree.NumberNode(node.span, "0", "number")
    return tree.Comparison(node.span, "!=", zero, zero) if node == tree.Truth(node.span, False) else node


def _stands_alone(node: Any) -> bool:
    return isinstance(node, tree.AggregateNode | tree.Counter | tree.Iteration) or (
        isinstance(node, tree.Functor) and node.name == "range"
    )


def grounded(node: Any) -> Iterator[str]:
    """The variables that a literal may give values to, outside of aggregates."""
    if isinstance(node, tree.AtomNode):
        yield from (name for name in tree.variables(replaced(node, _nothing)))
    elif isinstance(node, tree.Comparison) and node.operator == "=":
        yield from (side.name for side in (node.left, node.right) if isinstance(side, tree.VariableNode))


def _nothing(node: Any) -> Any:
    return tree.Nil(node.span) if isinstance(node, tree.AggregateNode) else None


def _renamed(node: Any, names: dict[str, str]) -> Any:
    if isinstance(node, tree.VariableNode) and node.name in names:
        return replace(node, name=names[node.name])
    return node


def replaced(node: Any, change: Callable[[Any], Any]) -> Any:
    """A node with those below it replaced for which `change` gives something; it does not look into these."""
    new = change(node)
    return tree.with_children(node, lambda each: replaced(each, change)) if new is None else new


def substitute(nodes: list[Any], heads: int) -> list[Any] | None:
    """Heads and a conjunction without equalities of two variables, or of a variable and a constant. None if two
    constants differ that must be equal."""
    at = heads
    while at < len(nodes):
        match nodes[at]:
            case tree.Comparison(operator="=", left=tree.VariableNode(name=name), right=right) if _is_simple(right):
                pass
            case tree.Comparison(operator="=", left=left, right=tree.VariableNode(name=name)) if _is_simple(left):
                right = left
            case tree.Comparison(operator="=", left=left, right=right) if isinstance(left, tree.Unnamed) or isinstance(
                right, tree.Unnamed
            ):
                del nodes[at]
                continue
            case tree.Comparison(operator="=", left=tree.Text(value=one), right=tree.Text(value=other)):
                if one != other:
                    return None
                del nodes[at]
                continue
            case _:
                at += 1
                continue
        del nodes[at]
        if not (isinstance(right, tree.VariableNode) and right.name == name):
            put = partial(_with, name=name, value=right)
            nodes = [tree.rewrite(node, put) for node in nodes]
            at = heads
    return nodes


def _is_simple(node: Any) -> bool:
    return isinstance(node, tree.VariableNode | tree.Text | tree.Nil) or (
        isinstance(node, tree.NumberNode) and node.fixed is None
    )


def _with(node: Any, name: str, value: Any) -> Any:
    if isinstance(node, tree.VariableNode) and node.name == name:
        return replace(value, span=node.span)
    return node
