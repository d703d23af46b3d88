"""Proofs of least height, searched backward from a fact over the materialised facts.

The height of an explicit fact is 0; that of a derived one is 1 + the largest height of its premises, least over all
instances of all rules. Members of an aggregate's group are premises; negated atoms and conditions count nothing.

    backward   level 0 is the fact; level k + 1 has the premises of all instances that derive a fact first met in level
               k. Explicit facts have no premises. A fact that a rule derives from explicit facts alone has height 1,
               and needs one such instance.
    forward    heights are propagated from premises to heads over the instances found (Knuth's generalisation of
               Dijkstra's algorithm)

A proof of height h has facts of levels up to h only. So when the first k levels are expanded and the fact has a height
of at most k, this is its least height, and the search stops. The search reads tables and keeps nothing: evaluation
and updates pay nothing for explanations.

Facts of transitive relations have a search of their own (`explain.closures`) in place of the instances of the
transitive rule.

Instances with the fact itself among their premises are left out: they are in no well-founded proof of it. So whatever
else has a height is proved without the fact, and all instances of the fact lead to proofs, not only the best one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isinf
from typing import Any, Generic, TypeVar

from deltalog.core.arrays import IdRow
from deltalog.core.rules import Pred
from deltalog.extensions.explain.closures import Closure, PathSearch
from deltalog.extensions.explain.instances import BodyPlan, HeadPlan, InstanceFinder, Members
from deltalog.extensions.explain.terms import FactKey

T = TypeVar("T")
ROOT = 0
COMPARED_INSTANCES = 64  # instances over explicit facts that are compared for the fewest premises


@dataclass(eq=False, slots=True)
class Instance:
    """A rule instance: its head, its premises (numbers of facts, each once), and the values of its variables."""

    head: int
    plan: HeadPlan[Any]
    row: IdRow
    premises: tuple[int, ...]


@dataclass(eq=False, slots=True)
class SearchedFact:
    """A fact of the search. `level` is the least number of steps back from the root."""

    fact: FactKey
    level: int
    explicit: bool = False
    height: float = inf
    expanded: bool = False
    instances: list[Instance] = field(default_factory=list)
    uses: list[Instance] = field(default_factory=list)  # the instances that have it as a premise


class BackwardSearch(Generic[T]):
    """The facts and instances that proofs of one fact may consist of, as far as they are known."""

    def __init__(
        self,
        heads: Mapping[Pred, Sequence[HeadPlan[T]]],
        closures: Mapping[Pred, Closure[T]],
        finder: InstanceFinder[T],
        root: FactKey,
    ) -> None:
        self.heads, self.closures, self.finder, self.terms = heads, closures, finder, finder.terms
        self.nodes: list[SearchedFact] = []
        self._numbers: dict[FactKey, int] = {}
        self._pending: dict[int, list[int]] = defaultdict(list)  # facts to expand, by level
        self._open: dict[int, PathSearch[T]] = {}  # facts that a transitive rule may derive
        self._given: dict[FactKey, bool] = {}  # whether edges that are not in the search are explicit
        self._recorded: set[tuple[int, int, IdRow]] = set()  # heads, rules and rows of instances
        self.horizon = 0  # levels below it are expanded
        self._add([root], 0)
        self.is_explicit, self.nodes[ROOT].explicit = self.nodes[ROOT].explicit, False
        self.nodes[ROOT].height = inf

    @property
    def root(self) -> SearchedFact:
        return self.nodes[ROOT]

    def number(self, fact: FactKey) -> int:
        """The number of a fact of the search."""
        return self._numbers[fact]

    @property
    def exhausted(self) -> bool:
        """Whether there is nothing left to expand."""
        return not any(self._pending.values()) and not self._open

    def deepen(self) -> None:
        """Expands one more level."""
        self.horizon += 1
        while self._expand_due() or self._search_paths() or self._weigh_paths():
            pass
        if self._has_only_paths_left() and not any(self._lowest(number, None) for number in self._open):
            self._open.clear()  # the edges that are missing would rest on the root

    def _has_only_paths_left(self) -> bool:
        return not any(self._pending.values()) and all(search.weighted for search in self._open.values())

    def _expand_due(self) -> bool:
        """Expands the facts below the horizon; whether there are any."""
        due = [number for level in range(self.horizon) for number in self._pending.pop(level, ())]
        if due:
            self._expand(due)
        return bool(due)

    def run(self) -> None:
        """Deepens until the height of the root is known to be the least."""
        while self.root.height > self.horizon and not self.exhausted:
            self.deepen()

    # Backward.

    def _add(self, facts: Collection[FactKey], level: int) -> None:
        """Adds facts; new ones are due in a level, unless they are explicit."""
        unknown = (fact for fact in dict.fromkeys(facts) if fact not in self._numbers)
        new = {fact: len(self.nodes) + i for i, fact in enumerate(unknown)}
        for fact in facts:
            if fact in self._numbers:
                self._raise(self._numbers[fact], level)
        explicit = self._explicit(new)
        for fact, number in new.items():
            self._numbers[fact] = number
            given = fact in explicit
            self.nodes.append(SearchedFact(fact, level, given, 0 if given else inf))
            if not given or number == ROOT:
                self._pending[level].append(number)

    def _raise(self, number: int, level: int) -> None:
        """Takes a fact, and what it rests on, to a level nearer to the root."""
        waiting = [(number, level)]
        while waiting:
            number, level = waiting.pop()
            node = self.nodes[number]
            if level >= node.level:
                continue
            if not node.expanded and not node.explicit:
                self._pending[node.level].remove(number)
                self._pending[level].append(number)
            node.level = level
            waiting += [(premise, level + 1) for instance in node.instances for premise in instance.premises]

    def _explicit(self, facts: Collection[FactKey]) -> set[FactKey]:
        """Those of the facts that are explicit."""
        rows: dict[Pred, dict[IdRow, FactKey]] = defaultdict(dict)
        for fact in facts:
            for pred, row in self.terms.forms(fact):
                if pred in self.finder.explicit:
                    rows[pred][row] = fact
        found: set[FactKey] = set()
        for pred, by_row in rows.items():
            backend = self.finder.relations.backend
            other = backend.minus(self.terms.table(by_row, pred.arity), self.finder.explicit[pred])
            absent = set(self.terms.rows(other, pred.arity))
            found.update(fact for row, fact in by_row.items() if row not in absent)
        return found

    def _expand(self, numbers: Sequence[int]) -> None:
        """Finds the instances that derive some facts, and their premises."""
        for number in numbers:
            self.nodes[number].expanded = True
        left = set(numbers)
        plain = [number for number in numbers if number != ROOT]
        left.difference_update(self._expand_by(plain, from_explicit=True))
        self._expand_by(sorted(left), from_explicit=False)
        for number in left:
            pred, row = self.nodes[number].fact
            closure = self.closures.get(pred)
            if closure is not None and closure.may_have(row):
                self._open[number] = PathSearch(closure, row)

    # Paths in transitive relations.

    def _search_paths(self) -> bool:
        """Searches paths for proofs within the horizon, and adds those that are best; whether anything changed."""
        changed = False
        for number, search in list(self._open.items()):
            node = self.nodes[number]
            if node.height <= search.bound:  # no path is better than this
                del self._open[number]
            elif search.path is None and not search.weighted:
                changed |= self._has_path(number, search)
            elif not search.weighted and self._is_proved(number, search, search.bound):
                del self._open[number]
                changed = True
        return changed

    def _has_path(self, number: int, search: PathSearch[T]) -> bool:
        """Searches a path that gives a proof within the horizon; whether there is one."""
        node = self.nodes[number]
        most = 1 << max(0, self.horizon - node.level - search.closure.least)
        if most <= search.searched:
            return False
        path = search.closure.path(node.fact.row, most, self.finder)
        search.searched = most
        if path == []:
            del self._open[number]
        elif path is not None:
            search.path = path
            self._add(search.edges, node.level + 1)
        return bool(path)

    def _is_proved(self, number: int, search: PathSearch[T], most: int) -> bool:
        """Adds the tree over a path, unless it is higher than that."""
        edges = [self.nodes[self._numbers[edge]] for edge in search.edges]
        if any(isinf(edge.height) for edge in edges):
            return False
        tree = search.tree([int(edge.height) for edge in edges])
        facts = {fact for step in tree for fact in step.facts}
        if tree[0].height > most or (number != ROOT and self.root.fact in facts):
            return False
        settled = [step.facts[0] for step in tree[1:] if step.height == search.closure.bound(step.edges)]
        known = len(self.nodes)
        self._add([step.facts[0] for step in tree[1:]], self.nodes[number].level + 1)
        for fact in settled:
            new = self._numbers[fact]
            if new >= known and not self.nodes[new].explicit:
                self.nodes[new].expanded = True
                self._pending[self.nodes[new].level].remove(new)
        rule = search.closure.rule
        self._record([(self._numbers[step.facts[0]], rule, step.row, list(step.facts[1:])) for step in tree])
        return True

    def _weigh_paths(self) -> bool:
        """For facts whose shortest path does not give the least height: the path of the lowest tree within the horizon,
        when nothing else is left to do there. Whether anything changed."""
        for search in self._open.values():
            search.weighted |= search.path is not None
        due = [number for number, search in self._open.items() if search.weighted]
        extended = [number for number in due if self._open[number].closure.extended]
        for number in extended:
            del self._open[number]
        self.expand_transitive(extended)
        return bool(extended) or any([self._weigh(number) for number in due if number in self._open])

    def _weigh(self, number: int) -> bool:
        """Proves a fact by the path of the lowest tree, or asks for the heights of its edges."""
        node, search = self.nodes[number], self._open[number]
        within = self.horizon - node.level
        path = self._lowest(number, 1 << within)
        if path is None:
            return False
        search.path = path
        edges = search.edges
        unknown = [edge for edge in edges if edge not in self._numbers]
        self._add(edges, node.level + 1)
        if unknown:
            return True
        del self._open[number]
        if not self._is_proved(number, search, within):
            self.expand_transitive([number])
        return True

    def _lowest(self, number: int, most: int | None) -> list[int] | None:
        """The path of the lowest tree of at most so many leaves; without a bound, a path without edges that have no
        height yet."""
        closure, row = self._open[number].closure, self.nodes[number].fact.row
        return closure.lowest(row, most, self.finder, lambda edges: self._edge_heights(closure, edges, most is None))

    def _edge_heights(self, closure: Closure[T], edges: Sequence[IdRow], known: bool) -> list[float]:
        """Heights of edges, or lower bounds where they are not known; `known`: of facts of the search, only heights."""
        facts = [FactKey(closure.pred, edge) for edge in edges]
        new = [fact for fact in facts if fact not in self._numbers and fact not in self._given]
        explicit = self._explicit(new) if new and not closure.least else set[FactKey]()
        self._given.update((fact, fact in explicit) for fact in new)
        return [self._least_height(fact, known) for fact in facts]

    def _least_height(self, fact: FactKey, known: bool) -> float:
        """The height of a fact, or a lower bound."""
        number = self._numbers.get(fact)
        if number is None:
            return 0 if self._given[fact] else 1
        node = self.nodes[number]
        if number == ROOT:
            return inf
        if known or node.height + node.level <= self.horizon:
            return node.height
        return self.horizon - node.level + 1

    def expand_transitive(self, numbers: Sequence[int]) -> None:
        """Finds the instances of transitive rules that derive some facts."""
        self._expand_by(numbers, from_explicit=False, transitive=True)

    # Instances.

    def _expand_by(self, numbers: Iterable[int], from_explicit: bool, transitive: bool = False) -> set[int]:
        """Adds instances over all facts or explicit ones; the facts that have any. Of relations with a search for
        paths, only those by transitive rules, or only the others."""
        asked: dict[HeadPlan[T], dict[IdRow, int]] = {}
        for number in numbers:
            for pred, row in self.terms.forms(self.nodes[number].fact):
                closure = self.closures.get(pred)
                for plan in self.heads.get(pred, ()):
                    by_path = closure is not None and plan in closure.rules
                    if from_explicit or by_path == transitive:
                        asked.setdefault(plan, {})[row] = number
        found: list[tuple[int, HeadPlan[T], IdRow, list[FactKey]]] = []
        for plan, rows in self.finder.derive({plan: list(by_row) for plan, by_row in asked.items()}, from_explicit):
            by_row = asked[plan]
            if from_explicit:
                rows = list(self._fewest(plan, rows))
            members = self._members(plan, rows)
            found += [(by_row[plan.fact(row)], plan, row, list(self._premises(plan, row, members))) for row in rows]
        self._record(found)
        return {number for number, *_ in found}

    def _fewest(self, plan: HeadPlan[T], rows: Sequence[IdRow]) -> Iterator[IdRow]:
        """For each head fact, an instance with the fewest premises, of the first ones."""
        best: dict[IdRow, tuple[int, IdRow]] = {}
        seen: dict[IdRow, int] = defaultdict(int)
        for row in rows:
            fact = plan.fact(row)
            seen[fact] += 1
            if seen[fact] <= COMPARED_INSTANCES:
                size = len(set(plan.body.premises(row)))
                best[fact] = min(best.get(fact, (size, row)), (size, row))
        return (row for _, row in best.values())

    def _members(self, plan: HeadPlan[T], rows: Sequence[IdRow]) -> list[dict[IdRow, list[FactKey]]]:
        """For each aggregate of a rule, the premises of its groups in some instances."""
        return [self._group_premises(members, rows) for _, members in plan.body.aggregates]

    def _group_premises(self, members: Members[T], rows: Sequence[IdRow]) -> dict[IdRow, list[FactKey]]:
        groups = self.finder.members(members, map(members.group, rows)) if rows else {}
        every = [row for found in groups.values() for row in found]
        inner = [self._group_premises(nested, every) for _, nested in members.plan.aggregates]
        premises: dict[IdRow, list[FactKey]] = {}
        for key, found in groups.items():
            facts: dict[FactKey, None] = {}
            for row in found:
                facts.update(dict.fromkeys(_premises(members.plan, row, inner)))
            premises[key] = list(facts)
        return premises

    def _premises(self, plan: HeadPlan[T], row: IdRow, members: list[dict[IdRow, list[FactKey]]]) -> Iterator[FactKey]:
        return _premises(plan.body, row, members)

    def _record(self, found: Sequence[tuple[int, HeadPlan[T], IdRow, list[FactKey]]]) -> None:
        """Adds instances to the search, with their premises, and propagates heights."""
        by_level: dict[int, list[FactKey]] = defaultdict(list)
        for head, _, _, facts in found:
            by_level[self.nodes[head].level + 1] += facts
        for level in sorted(by_level):
            self._add(by_level[level], level)
        changed: list[Instance] = []
        for head, plan, row, facts in found:
            premises = tuple(dict.fromkeys(self._numbers[fact] for fact in facts))
            if ROOT in premises or (head, plan.order, row) in self._recorded:
                continue
            self._recorded.add((head, plan.order, row))
            instance = Instance(head, plan, row, premises)
            self.nodes[head].instances.append(instance)
            for number in premises:
                self.nodes[number].uses.append(instance)
            changed.append(instance)
        self._propagate(changed)

    # Forward.

    def height_of(self, instance: Instance) -> float:
        """The height of its head by this instance."""
        return 1 + max((self.nodes[number].height for number in instance.premises), default=0)

    def _propagate(self, changed: list[Instance]) -> None:
        """Lowers heights until all agree with the instances."""
        while changed:
            instance = changed.pop()
            node, height = self.nodes[instance.head], self.height_of(instance)
            if height < node.height:
                node.height = height
                changed += node.uses


def _premises(body: BodyPlan[T], row: IdRow, members: list[dict[IdRow, list[FactKey]]]) -> Iterator[FactKey]:
    """The facts that an instance of a body rests on, those of its groups included."""
    yield from body.premises(row)
    for (_, each), premises in zip(body.aggregates, members, strict=True):
        yield from premises.get(each.group(row), ())
