"""Why a fact does not hold: how far each rule that could derive it gets.

For each rule whose head fits, the body is satisfied literal by literal under the values of the head, over all bindings
at once: conditions as soon as their variables have values, otherwise in the order of writing, and only literals that
share a variable with what is bound. A literal that no binding satisfies has failed; it is left out, and the others go
on. If the others are not all satisfied, the search is repeated with each literal in turn tried last, and the attempt
with the most satisfied literals is shown, with one of its bindings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from deltalog.core.arrays import IdRow
from deltalog.core.rules import (
    TRIPLE,
    TRIPLES,
    TYPES,
    Aggregate,
    Atom,
    Bind,
    BodyLiteral,
    Constant,
    Filter,
    Negation,
    Variable,
    variables,
)
from deltalog.core.terms import IRI, RDF_TYPE, Value
from deltalog.extensions.explain.backward_search import COMPARED_INSTANCES
from deltalog.extensions.explain.instances import HeadPlan, InstanceFinder
from deltalog.extensions.explain.model import Group, Near, Premise, Proof, Refutation, RuleAttempt
from deltalog.extensions.explain.terms import FactKey
from deltalog.extensions.explain.wording import Values, instance
from deltalog.program.triple_bridges import is_rdf

if TYPE_CHECKING:
    from deltalog.extensions.explain.explainer import Explainer

_KEPT_BINDINGS = 1 << 12  # of the satisfied part of a body, for a fact that does not hold

T = TypeVar("T")
HeadValues = dict[Variable, Constant]


def forms_of(atom: Atom) -> Iterator[Atom]:
    """The forms in which heads of rules can derive facts that match an atom."""
    yield atom
    if not is_rdf(atom.pred):
        return
    if len(atom.terms) == 1:
        atom = Atom(TYPES.name, (atom.terms[0], Constant(IRI(atom.name))))
        yield atom
    if len(atom.terms) == 2:
        name = RDF_TYPE if atom.pred == TYPES else IRI(atom.name)
        yield Atom(TRIPLE, (atom.terms[0], Constant(name), atom.terms[1]))


def fitted(head: Atom, atom: Atom) -> HeadValues | None:
    """The values that the constants of an atom give to the variables of a head; None if the head does not fit."""
    given: HeadValues = {}
    for term, wanted in zip(head.terms, atom.terms, strict=True):
        if isinstance(wanted, Constant):
            known = given.setdefault(term, wanted) if isinstance(term, Variable) else term
            if known != wanted:
                return None
    return given


class BindingRows(NamedTuple):
    """Rows of values for some variables."""

    columns: tuple[Variable, ...]
    rows: Sequence[IdRow]


@dataclass(frozen=True)
class SatisfiedPart:
    """How far a body got: literals by their places in it."""

    bindings: BindingRows
    satisfied: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()


class WhyNot(Generic[T]):
    """The attempts of rules to derive what does not hold."""

    def __init__(self, explainer: Explainer[T], near: Callable[[Atom], tuple[Near, ...]]) -> None:
        self.explainer, self.wording, self.terms = explainer, explainer.wording, explainer.terms
        self.finder: InstanceFinder[T] = explainer.finder()
        self.near = near
        self._proofs: dict[FactKey, Proof] = {}

    def refuted(self, atom: Atom, depth: int, above: tuple[str, ...] = ()) -> Refutation:
        """Why nothing matches an atom; premises that are missing are explained in turn, to a depth."""
        text = self.wording.atom(atom)
        if text in above:
            return Refutation(text, (), (), "it would rest on itself: see above")
        tried = [self._attempt(plan, given, depth, (*above, text)) for plan, given in self._heads(atom)]
        attempts = tuple(attempt for attempt in tried if attempt is not None)
        return Refutation(text, attempts, self.near(atom), "" if attempts else self._underivable(atom))

    def _heads(self, atom: Atom) -> Iterator[tuple[HeadPlan[T], HeadValues]]:
        for form in forms_of(atom):
            for plan in self.explainer.heads.get(form.pred, ()):
                given = fitted(plan.head, form)
                if given is not None:
                    yield plan, given

    def _underivable(self, atom: Atom) -> str:
        name = self.wording.predicate(atom.pred)
        if atom.pred in self.explainer.state.in_order:
            values = [term.value for term in atom.terms if isinstance(term, Constant)]
            if len(values) == atom.pred.arity and self.explainer.is_explicit(atom.pred, values):
                return "it is explicit, and another fact dominates it (subsumption)"
            return f"{name} is derived in an order (choice-domain, subsumption or the like), which is not explained"
        if any(self.explainer.heads.get(form.pred) for form in forms_of(atom)):
            return f"it is not explicit, and the head of no rule for {name} fits it"
        return f"it is not explicit, and no rule derives {name}"

    # One rule.

    def _attempt(self, plan: HeadPlan[T], given: HeadValues, depth: int, above: tuple[str, ...]) -> RuleAttempt | None:
        columns = tuple(given)
        start = BindingRows(columns, [tuple(self.terms.id(given[variable].value) for variable in columns)])
        body = plan.body.body
        best = self._satisfy(body, start, None)
        if len(best.satisfied) < len(body) - 1:
            others = [self._satisfy(body, start, place) for place in range(len(body))]
            best = max([best, *others], key=lambda progress: len(progress.satisfied))
        if not best.failed:  # an atom with variables: the rule derives others of its facts
            return None
        failed = min(best.failed)
        values = self._example(best.bindings, plan.rule.body[failed], above)
        return RuleAttempt(
            rule=self.explainer.rule_ref(plan.name),
            bindings={v.name: value for v, value in values.items() if not v.anonymous and not v.name.startswith("#")},
            satisfied=tuple(
                premise
                for place in sorted(best.satisfied)
                for premise in self._premises(body[place], plan.rule.body[place], values)
            ),
            failed=self._failed(plan.rule.body[failed], values),
            needed=self._needed(body[failed], plan.rule.body[failed], values, len(best.bindings.rows)),
            nested=self._nested(body[failed], values, depth, above),
        )

    def _example(self, bindings: BindingRows, failed: BodyLiteral, above: tuple[str, ...]) -> dict[Variable, Value]:
        """The first binding, if possible one for which the failed premise is not what is to be derived."""
        rows = sorted(bindings.rows)[:COMPARED_INSTANCES]
        self.terms.learn(id for row in rows for id in row)
        every = [dict(zip(bindings.columns, self.terms.values(row), strict=True)) for row in rows]
        return next((values for values in every if self._failed(failed, values) not in above), every[0])

    def _satisfy(self, body: Sequence[BodyLiteral], start: BindingRows, last: int | None) -> SatisfiedPart:
        """Satisfies as many literals as possible; one of them may be tried last."""
        bindings, satisfied, failed = start, list[int](), list[int]()
        waiting, later = [i for i in range(len(body)) if i != last], [] if last is None else [last]
        while True:
            place = self._next(body, waiting, bindings, bool(failed))
            if place is None and not later:
                break
            if place is None:
                waiting, later = [*waiting, *later], []
                continue
            waiting.remove(place)
            extended = self._extended(body[place], bindings)
            if extended.rows:
                bindings = extended
                satisfied.append(place)
            else:
                failed.append(place)
        return SatisfiedPart(bindings, tuple(satisfied), tuple(failed))

    def _next(
        self, body: Sequence[BodyLiteral], waiting: Sequence[int], bindings: BindingRows, has_failed: bool
    ) -> int | None:
        """The literal to try next: a condition that is ready, then a connected literal, then any if none has failed."""
        bound = set(bindings.columns)
        joined = {v for literal in body if not isinstance(literal, Negation) for v in variables(literal)}
        ready = [i for i in waiting if _is_ready(body[i], bound, joined)]
        if ready:
            return ready[0]
        relations = [i for i in waiting if isinstance(body[i], Atom | Aggregate)]
        connected = [i for i in relations if not (names := set(variables(body[i]))) or names & bound]
        others = [] if has_failed else relations
        return next(iter([*connected, *others]), None)

    def _extended(self, literal: BodyLiteral, bindings: BindingRows) -> BindingRows:
        """The bindings that satisfy a literal, too; at most so many."""
        plan = self.explainer.literal_plan(literal, bindings.columns)
        most = _KEPT_BINDINGS
        names = set(variables(literal))
        rows = sorted(bindings.rows)[: 1 if names and names.isdisjoint(bindings.columns) else most]
        return BindingRows(plan.columns, sorted(self.finder.instances(plan, rows))[:most])

    # Texts.

    def _premises(self, literal: BodyLiteral, written: BodyLiteral, values: Values) -> Iterator[Premise]:
        """A literal that holds."""
        match written:
            case Atom():
                yield self._proof(instance(written, values))
            case Negation(atom):
                yield self.wording.absent(atom, values)
            case Filter() | Bind():
                yield self.wording.condition(written, values)
            case Aggregate(on=on, calls=calls):
                key = tuple(values[variable] for variable in on)
                text = self.wording.literal(written)
                for call in calls:
                    result = f"{call.function} = {self.wording.value(values[call.variable])}"
                    yield Group(text, call.function, key, (), self._members(literal, values), result)

    def _members(self, literal: BodyLiteral, values: Values) -> int:
        """The number of members of a group."""
        assert isinstance(literal, Aggregate)
        members = self.explainer.members_of(literal)
        key = tuple(self.terms.id(values[variable]) for variable in literal.on)
        return len(self.finder.members(members, [key]).get(key, ()))

    def _proof(self, atom: Atom) -> Proof:
        row = tuple(self.terms.id(term.value) for term in atom.terms if isinstance(term, Constant))
        fact = self.terms.shown(atom.pred, row)
        if fact not in self._proofs:
            (self._proofs[fact],) = self.explainer.proofs_of(fact, 1)
        return self._proofs[fact]

    def _failed(self, literal: BodyLiteral, values: Values) -> str:
        match literal:
            case Atom():
                return self.wording.atom(literal, values)
            case Negation(atom):
                return f"NOT {self.wording.atom(atom, values)}"
            case _:
                return self.wording.literal(literal)

    def _needed(self, literal: BodyLiteral, written: BodyLiteral, values: Values, bindings: int) -> str:
        """What would satisfy a literal."""
        more = f" (or the like for another of {bindings:,} bindings of the satisfied part)" if bindings > 1 else ""
        match written:
            case Atom():
                return f"{'' if written.pred.hidden else 'a fact '}{self.wording.atom(written, values)}{more}"
            case Negation(atom):
                nothing = "nothing that matches" if atom.pred.hidden else "no fact"
                return f"{nothing} {self.wording.atom(atom, values)}{more}"
            case Filter(condition):
                return f"other values: {self.wording.expression(condition, values)} is not true{more}"
            case Bind(expression, variable):
                return self._other_result(self.wording.expression(expression, values), literal, values, variable)
            case Aggregate():
                return self._other_group(written, literal, values)
        raise AssertionError(f"not of the core language: {written}")

    def _other_result(self, text: str, literal: BodyLiteral, values: Values, variable: Variable) -> str:
        """What a BIND gives in place of the value that is needed."""
        found = self._alone(literal, {v: value for v, value in values.items() if v != variable}, (variable,))
        wanted = self.wording.value(values[variable]) if variable in values else "a value"
        if not found:
            return f"{text} has no value"
        return f"{text} is {self.wording.value(found[0][0])}, and {wanted} is needed"

    def _other_group(self, written: Aggregate, literal: BodyLiteral, values: Values) -> str:
        """What an aggregate gives in place of the results that are needed."""
        results = tuple(dict.fromkeys(call.variable for call in written.calls))
        groups = {v: value for v, value in values.items() if v in written.on}
        found = self._alone(literal, groups, results)
        named = ", ".join(f"?{v.name} = {self.wording.value(values[v])}" for v in results if v in values)
        if not found or len(groups) < len(written.on):
            return f"a group with {named or 'a result'}" if written.on else f"a result with {named}"
        shown = ", ".join(f"?{v.name} = {self.wording.value(x)}" for v, x in zip(results, found[0], strict=True))
        return f"the group has {shown}, and {named} is needed"

    def _alone(self, literal: BodyLiteral, values: Values, wanted: Sequence[Variable]) -> list[tuple[Value, ...]]:
        """The values that a literal gives to some variables under values of others."""
        plan = self.explainer.literal_plan(literal, tuple(values))
        rows = self.finder.instances(plan, [tuple(map(self.terms.id, values.values()))])
        places = [plan.columns.index(variable) for variable in wanted]
        return [tuple(self.terms.value(row[place]) for place in places) for row in sorted(rows)]

    def _nested(
        self, literal: BodyLiteral, values: Values, depth: int, above: tuple[str, ...]
    ) -> tuple[Refutation, ...]:
        """Why a missing premise is missing."""
        if depth <= 1 or not isinstance(literal, Atom):
            return ()
        return (self.refuted(shown_atom(instance(literal, values)), depth - 1, above),)


def shown_atom(atom: Atom) -> Atom:
    """An atom as users see its facts: a triple under its property or class."""
    if atom.pred == TRIPLES and _is_name(atom.terms[1]):
        atom = replace(atom, name=str(atom.terms[1].value), terms=(atom.terms[0], atom.terms[2]))  # type: ignore[union-attr]
    if atom.pred == TYPES and _is_name(atom.terms[1]):
        atom = replace(atom, name=str(atom.terms[1].value), terms=(atom.terms[0],))  # type: ignore[union-attr]
    return atom


def _is_name(term: object) -> bool:
    return isinstance(term, Constant) and isinstance(term.value, IRI) and ":" in term.value


def _is_ready(literal: BodyLiteral, bound: set[Variable], joined: set[Variable]) -> bool:
    """Whether a condition, a BIND or a negated atom has the values it needs."""
    match literal:
        case Filter(condition):
            return bound.issuperset(variables(condition))
        case Bind(expression):
            return bound.issuperset(variables(expression))
        case Negation(atom):
            return all(v in bound for v in variables(atom) if v in joined)
        case _:
            return False
