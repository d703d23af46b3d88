"""Instances of rules that derive given facts: the rule read backward, a set of facts at a time.

    instances of h <- b for facts F     the bindings of b, #given(t1, ..., tn)     where h is p(t1, ..., tn), #given = F

All variables of the body are columns, so that an instance names its premises. An aggregate is computed only in the
groups of the given facts, where the head has group variables; its members are the instances of its own body for given
groups. Rules are the user's own, with BINDs for equalities: no scheme, decomposition or bridge is involved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Generic, NamedTuple, TypeVar

from deltalog.core.arrays import IdRow
from deltalog.core.concurrency.cached import cached_property
from deltalog.core.errors import LimitReached
from deltalog.core.rules import (
    TRIPLES,
    TYPES,
    Aggregate,
    Atom,
    Bind,
    BodyLiteral,
    Constant,
    HiddenName,
    Negation,
    Pred,
    Rule,
    Term,
    Variable,
    variables,
)
from deltalog.core.tuning import Tuning
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.delta_rules import SkolemColumn, skolem_columns
from deltalog.evaluation.plan.ir import Part, Plan
from deltalog.evaluation.plan.join_order import plan_body
from deltalog.evaluation.plan.statistics import Statistics
from deltalog.evaluation.seminaive import Relations
from deltalog.extensions.explain.terms import FactKey, ProofTerms

T = TypeVar("T")
EXPLICIT = Part.OLD  # the part under which explicit facts are read


@dataclass(frozen=True, slots=True)
class FewGiven:
    """Statistics of the materialisation, with a few given facts."""

    known: Statistics

    @property
    def tuning(self) -> Tuning:
        return self.known.tuning

    def size(self, pred: Pred, part: Part) -> float:
        return 1.0 if _is_given(pred) else self.known.size(pred, part)

    def distinct(self, pred: Pred, part: Part, column: int) -> float:
        return 1.0 if _is_given(pred) else self.known.distinct(pred, part, column)

    def heaviest(self, pred: Pred, part: Part, column: int) -> float:
        return 1.0 if _is_given(pred) else self.known.heaviest(pred, part, column)


GIVEN = "#given"


def _is_given(pred: Pred) -> bool:
    return pred.hidden and pred.name.startswith(GIVEN)


def getter(terms: Sequence[Term], columns: Sequence[Variable], terms_of: ProofTerms[T]) -> Callable[[IdRow], IdRow]:
    """From the values of columns to those of terms."""
    places = {variable: i for i, variable in enumerate(columns)}
    constants = tuple(terms_of.id(term.value) for term in terms if isinstance(term, Constant))
    following = iter(range(len(columns), len(columns) + len(constants)))
    wanted = [next(following) if isinstance(term, Constant) else places[term] for term in terms]
    if not wanted:
        return lambda _: ()
    pick = itemgetter(*wanted)
    if len(wanted) == 1:
        return lambda row: (pick(row + constants),)
    return (lambda row: pick(row + constants)) if constants else pick


class BodyPlan(Generic[T]):
    """A body with an atom for given rows: its columns, its premises and the plan of its instances."""

    def __init__(
        self,
        body: Sequence[BodyLiteral],
        given: Sequence[Term],
        terms: ProofTerms[T],
        kept: Sequence[Variable] = (),
        name: str = "",
    ) -> None:
        """`kept` are given variables that become columns whether the body has them or not. Bodies that are evaluated
        together have different names."""
        self.body, self.terms, self.given = tuple(body), terms, tuple(given)
        self.atom = Atom(HiddenName(GIVEN + name), self.given)
        literals = (literal for literal in body if not isinstance(literal, Negation))
        self.columns = tuple(dict.fromkeys((*kept, *(v for literal in literals for v in variables(literal)))))
        self._plans: dict[Part, Plan] = {}

    @cached_property
    def atoms(self) -> list[tuple[int, Pred, Callable[[IdRow], IdRow]]]:
        """The positive atoms: their places, their predicates, and how to read their rows from an instance."""
        return [
            (i, literal.pred, getter(literal.terms, self.columns, self.terms))
            for i, literal in enumerate(self.body)
            if isinstance(literal, Atom)
        ]

    @cached_property
    def aggregates(self) -> list[tuple[int, Members[T]]]:
        return [
            (i, Members(literal, self.columns, self.terms))
            for i, literal in enumerate(self.body)
            if isinstance(literal, Aggregate)
        ]

    @cached_property
    def is_plain(self) -> bool:
        """Whether all premises are atoms of predicates that are known by name."""
        wild = any(pred in (TRIPLES, TYPES) for _, pred, _ in self.atoms)
        return not wild and not any(isinstance(literal, Aggregate) for literal in self.body)

    @cached_property
    def keys(self) -> dict[int, tuple[Variable, ...]]:
        """The group variables of each aggregate that have given values."""
        given = set(self.given)
        found = {i: literal.on for i, literal in enumerate(self.body) if isinstance(literal, Aggregate)}
        return {i: keys for i, on in found.items() if (keys := tuple(v for v in on if v in given))}

    def plan(self, statistics: Statistics, part: Part = Part.ALL) -> Plan:
        """The plan of the instances, with atoms that read all facts or the explicit ones."""
        if part not in self._plans:
            body = [
                replace(literal, body=(*literal.body, Atom(self._keys_name(i), self.keys[i])))
                if i in self.keys and isinstance(literal, Aggregate)
                else literal
                for i, literal in enumerate(self.body)
            ]
            parts = {i: part for i, literal in enumerate(body) if isinstance(literal, Atom) and part is not Part.ALL}
            parts[len(body)] = Part.DELTA
            planned = plan_body((*body, self.atom), self.columns, FewGiven(statistics), parts).plan
            self._plans[part] = ir.Distinct(ir.Project(planned, tuple((v, v) for v in self.columns)))
        return self._plans[part]

    def tables(self, rows: Iterable[IdRow]) -> dict[tuple[Pred, Part], T]:
        """The given rows, and the keys of groups among them."""
        rows = list(rows)
        found = {(self.atom.pred, Part.DELTA): self.terms.table(rows, len(self.given))}
        for i, keys in self.keys.items():
            pick = getter(keys, [t for t in self.given if isinstance(t, Variable)], self.terms)
            places = [j for j, t in enumerate(self.given) if isinstance(t, Variable)]
            chosen = {pick(tuple(row[j] for j in places)) for row in rows}
            found[Pred(self._keys_name(i), len(keys)), Part.ALL] = self.terms.table(chosen, len(keys))
        return found

    def _keys_name(self, place: int) -> HiddenName:
        return HiddenName(f"{self.atom.name} groups {place}")

    def premises(self, row: IdRow) -> Iterator[FactKey]:
        """The facts of the positive atoms of an instance."""
        for _, pred, pick in self.atoms:
            yield self.terms.shown(pred, pick(row)) if pred in (TRIPLES, TYPES) else FactKey(pred, pick(row))


class Members(Generic[T]):
    """The members of an aggregate's groups: the bindings of its body for which no argument fails."""

    def __init__(self, literal: Aggregate, outer: Sequence[Variable], terms: ProofTerms[T]) -> None:
        self.literal = literal
        self.arguments = tuple(
            None if call.argument is None else Variable(f"#argument{i}") for i, call in enumerate(literal.calls)
        )
        binds = [
            Bind(call.argument, variable)
            for call, variable in zip(literal.calls, self.arguments, strict=True)
            if call.argument is not None and variable is not None
        ]
        self.plan = BodyPlan((*literal.body, *binds), literal.on, terms)
        self.group = getter(literal.on, outer, terms)  # of an instance of the rule
        self.key = getter(literal.on, self.plan.columns, terms)  # of a member


@dataclass(eq=False)
class HeadPlan(Generic[T]):
    """A head of a rule, and the plan of the instances that derive facts of it."""

    name: str  # the rule's id
    order: int  # in which heads were written
    rule: Rule
    head: Atom
    body: BodyPlan[T]
    skolems: tuple[SkolemColumn, ...] = ()
    inverse: BodyPlan[T] | None = None  # with arguments of SKOLEM that are read, and not computed

    @classmethod
    def of(cls, name: str, order: int, rule: Rule, directed: Rule, head: Atom, terms: ProofTerms[T]) -> HeadPlan[T]:
        body = BodyPlan(directed.body, head.terms, terms, name=f" {order}")
        skolems = tuple(skolem_columns(replace(directed, heads=(head,))))
        if not skolems:
            return cls(name, order, rule, head, body)
        atoms: dict[BodyLiteral, BodyLiteral] = {skolem.bind: skolem.atom for skolem in skolems}
        inverted = [atoms.get(literal, literal) for literal in directed.body]
        inverse = BodyPlan(inverted, head.terms, terms, name=f" {order}")
        inverse.columns = body.columns
        return cls(name, order, rule, head, body, skolems, inverse)

    @cached_property
    def fact(self) -> Callable[[IdRow], IdRow]:
        """The row of the head in an instance."""
        return getter(self.head.terms, self.body.columns, self.body.terms)


class InstanceRequest(NamedTuple, Generic[T]):
    """A body, the rows that are given, and tables that it reads besides those of facts."""

    body: BodyPlan[T]
    rows: Sequence[IdRow]
    others: Mapping[tuple[Pred, Part], T]


@dataclass
class InstanceFinder(Generic[T]):
    """Instances over a materialisation, up to a number of them."""

    relations: Relations[T]
    explicit: Mapping[Pred, T]
    terms: ProofTerms[T]
    found: int = 0
    most: int = 0  # instances that may be found

    def __post_init__(self) -> None:
        self.most = self.relations.backend.tuning.explain_max_instances

    def derive(
        self, asked: Mapping[HeadPlan[T], Sequence[IdRow]], from_explicit: bool
    ) -> Iterator[tuple[HeadPlan[T], list[IdRow]]]:
        """The instances that derive facts of some heads; with `from_explicit`, those whose premises are all explicit,
        as far as that is easy to tell."""
        part = EXPLICIT if from_explicit else Part.ALL
        due = {head: rows for head, rows in asked.items() if self._can_match(head, part)}
        if not self.relations.backend.batch_independent_plans:
            for head, rows in due.items():
                yield head, self.instances(*self._request(head, rows), part)
            return
        requests = {head: self._request(head, rows) for head, rows in due.items()}
        found = self._all_instances({str(head.order): request for head, request in requests.items()}, part)
        yield from ((head, found[str(head.order)]) for head in due)

    def _request(self, head: HeadPlan[T], rows: Sequence[IdRow]) -> InstanceRequest[T]:
        inverses = self._inverses(head, rows)
        if inverses is None or head.inverse is None:
            return InstanceRequest(head.body, rows, {})
        return InstanceRequest(head.inverse, rows, inverses)

    def members(self, members: Members[T], groups: Iterable[IdRow]) -> dict[IdRow, list[IdRow]]:
        """The members of some groups."""
        found: dict[IdRow, list[IdRow]] = {}
        for row in self.instances(members.plan, sorted(set(groups))):
            found.setdefault(members.key(row), []).append(row)
        return found

    def instances(
        self,
        body: BodyPlan[T],
        rows: Sequence[IdRow],
        others: Mapping[tuple[Pred, Part], T] | None = None,
        part: Part = Part.ALL,
    ) -> list[IdRow]:
        """The instances of a body for given rows; `others` are tables that it reads besides those of facts."""
        return self._all_instances({"": InstanceRequest(body, rows, others or {})}, part)[""]

    def _all_instances(self, requests: Mapping[str, InstanceRequest[T]], part: Part) -> dict[str, list[IdRow]]:
        """The same for several bodies at once."""
        backend, tables = self.relations.backend, dict(self.relations.parts)
        plans: dict[Pred, Plan] = {}
        for name, (body, rows, others) in requests.items():
            tables |= {**body.tables(rows), **others}
            if part is EXPLICIT:
                tables |= {(pred, EXPLICIT): self.explicit[pred] for _, pred, _ in body.atoms if pred in self.explicit}
            plans[Pred(HiddenName(f"#instances {name}"), len(body.columns))] = body.plan(self.relations, part)
        found = backend.run_all(plans, tables) if plans else {}
        for table in found.values():
            self._count(backend.size(table))
        listed = (self.terms.rows(table, pred.arity) for pred, table in found.items())
        return dict(zip(requests, listed, strict=True))

    def _count(self, more: int) -> None:
        self.found += more
        if self.found > self.most:
            raise LimitReached(
                f"the explanation needs more than {self.most:,} rule instances; explain one of the premises instead, "
                "or raise explain_max_instances: KnowledgeBase(..., tuning=Tuning(explain_max_instances=...))",
                "explain_max_instances",
            )

    def _can_match(self, head: HeadPlan[T], part: Part) -> bool:
        """Whether no atom reads an empty relation."""
        body = head.body
        if part is EXPLICIT:
            return not head.skolems and body.is_plain and all(pred in self.explicit for _, pred, _ in body.atoms)
        return all(self.relations.size(pred) for _, pred, _ in body.atoms)

    def _inverses(self, head: HeadPlan[T], rows: Sequence[IdRow]) -> dict[tuple[Pred, Part], T] | None:
        """The arguments of SKOLEM terms in the rows; None if there are none, or they are not known."""
        inverse = self.relations.backend.capabilities.skolem_inverse
        if inverse is None or not head.skolems:
            return None
        table = self.terms.table(rows, len(head.head.terms))
        found = {skolem.atom.pred: inverse.arguments(skolem.call, table, skolem.column) for skolem in head.skolems}
        return (
            {(pred, Part.ALL): made for pred, made in found.items() if made is not None}
            if all(made is not None for made in found.values())
            else None
        )
