"""Near misses: what holds, and resembles a fact that does not.

unknown predicate   there is none of this name; similar names are named
arity               the name has another number of arguments
empty predicate     it has no facts at all
type                the fact holds with a value of another type: 1, 1.0, "1", <1>
direction           the fact holds with its two values exchanged
spelling            the fact holds with a similar value
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from difflib import get_close_matches
from itertools import product
from typing import TYPE_CHECKING, Generic, TypeVar

from deltalog.core.errors import LimitReached
from deltalog.core.rules import TRIPLES, TYPES, Atom, Constant, Pred, Variable
from deltalog.core.terms import IRI, BlankNode, Literal, Value, key, lexical, literal, number
from deltalog.extensions.explain.model import Near

if TYPE_CHECKING:
    from deltalog.extensions.explain.explainer import Explainer

_MAX_NEAR_LOOKUPS = 1 << 8  # facts with values of other types that are looked up
_MAX_SIMILAR_VALUES = 1 << 13  # values that are compared with a misspelt one

T = TypeVar("T")
XSD = "http://www.w3.org/2001/XMLSchema#"


class NearMisses(Generic[T]):
    """Near misses among the facts of a materialisation. `known` are the predicates of rules and facts."""

    def __init__(self, explainer: Explainer[T], known: set[Pred]) -> None:
        self.explainer, self.wording, self.known = explainer, explainer.wording, known
        self.facts = explainer.state.facts
        self.backend, self.tuning = explainer.backend, explainer.tuning

    def of(self, atom: Atom) -> tuple[Near, ...]:
        """The near misses of an atom; only a fact has those of values."""
        found = list(self._predicate(atom.pred))
        values = tuple(term.value for term in atom.terms if isinstance(term, Constant))
        if self.facts.size(atom.pred) and len(values) == len(atom.terms):
            found += self._types(atom.pred, values)
            found += self._direction(atom.pred, values)
            found += self._spelling(atom.pred, values)
        return tuple({near.text: near for near in found}.values())

    # The predicate.

    def _predicate(self, pred: Pred) -> Iterator[Near]:
        if self.facts.size(pred) or pred in (TRIPLES, TYPES):
            return
        name = self.wording.predicate(pred)
        others = sorted(other.arity for other in self.known if other.name == pred.name and other != pred)
        if others:
            arities = " or ".join(f"{arity} argument{'s' * (arity != 1)}" for arity in others)
            yield Near("arity", f"{name.rpartition('/')[0]} has {arities}, and not {pred.arity}")
        if pred in self.known:
            yield Near("empty predicate", f"{name} has no facts")
            return
        names = sorted({other.name for other in self.known if not other.hidden} - {pred.name})
        for similar in get_close_matches(pred.name, names, 3) or _same_letters(pred.name, names):
            arity = next(other.arity for other in sorted(self.known) if other.name == similar)
            yield Near("spelling", f"there is no predicate {name}, but there is {self._shown(similar, arity)}")
        if not others:
            yield Near("unknown predicate", f"no rule and no fact mentions {name}")

    def _shown(self, name: str, arity: int) -> str:
        return self.wording.predicate(Pred(name, arity))

    # The values.

    def _types(self, pred: Pred, values: tuple[Value, ...]) -> Iterator[Near]:
        choices = [[value, *_other_types(value)] for value in values]
        for number_, other in enumerate(product(*choices)):
            if number_ > _MAX_NEAR_LOOKUPS:
                return
            if number_ and self._holds(pred, other):
                pairs = [(old, new) for old, new in zip(values, other, strict=True) if key(old) != key(new)]
                changed = [f"{self._typed(new)} is not {self._typed(old)}" for old, new in pairs]
                yield Near("type", f"{self._text(pred, other)} holds: {', '.join(changed)}")

    def _typed(self, value: Value) -> str:
        return f"{self.wording.value(value)} ({_type_name(value)})"

    def _direction(self, pred: Pred, values: tuple[Value, ...]) -> Iterator[Near]:
        if len(values) == 2 and key(values[0]) != key(values[1]) and self._holds(pred, values[::-1]):
            yield Near("direction", f"{self._text(pred, values[::-1])} holds, the other way round")

    def _spelling(self, pred: Pred, values: tuple[Value, ...]) -> Iterator[Near]:
        """Facts that differ in one value, and only a little."""
        for place, value in enumerate(values):
            if not isinstance(value, str | Literal):
                continue
            others = {
                lexical(other): other for other in self._others(pred, values, place) if type(other) is type(value)
            }
            others.pop(lexical(value), None)
            similar = get_close_matches(lexical(value), others, 2, 0.75) or _same_letters(lexical(value), others)
            for text in similar[:2]:
                fact = (*values[:place], others[text], *values[place + 1 :])
                yield Near("spelling", f"{self._text(pred, fact)} holds")

    def _others(self, pred: Pred, values: tuple[Value, ...], place: int) -> list[Value]:
        """The values of one place in facts that have the other values; none if there are very many."""
        other = Variable("#other")
        terms = tuple(other if i == place else Constant(value) for i, value in enumerate(values))
        if len(values) == 1 and self.facts.size(pred) > _MAX_SIMILAR_VALUES:
            return []
        finder = self.explainer.finder(shown=True)
        finder.most = _MAX_SIMILAR_VALUES
        plan = self.explainer.literal_plan(Atom(pred.name, terms), ())
        try:
            rows = finder.instances(plan, [()])
        except LimitReached as limit:
            if limit.reason != "explain_max_instances":
                raise
            return []
        self.explainer.terms.learn(row[0] for row in rows)
        return [self.explainer.terms.value(row[0]) for row in rows]

    def _holds(self, pred: Pred, values: tuple[Value, ...]) -> bool:
        return self.backend.codec.contains(self.facts.get(pred), values)

    def _text(self, pred: Pred, values: tuple[Value, ...]) -> str:
        return self.wording.atom(Atom(pred.name, tuple(map(Constant, values))))


def _same_letters(text: str, others: object) -> list[str]:
    """Texts that differ in capital letters or spaces only."""
    plain = "".join(text.split()).casefold()
    return [other for other in others if "".join(other.split()).casefold() == plain]  # type: ignore[attr-defined]


def _other_types(value: Value) -> list[Value]:
    """Values of other types that look alike."""
    text = lexical(value)
    found: list[Value] = [text, IRI(text), BlankNode(text)]
    found += [literal(text, XSD + name) for name in ("integer", "double", "boolean", "decimal", "date", "dateTime")]
    counted = number(value) if not isinstance(value, str) else number(literal(text, XSD + "double"))
    if counted is not None:
        if counted == counted and counted % 1 == 0:
            counted = int(counted)
        found += [counted, str(counted)]
        if -(2**1023) < counted < 2**1023:
            found += [float(counted), str(float(counted))]
        found += [literal(str(counted), XSD + name) for name in ("decimal", "int", "long", "float")]
    own = key(value)
    unlike = {key(other): other for other in found if not isinstance(other, Literal) or number(other) is not None}
    return [other for name, other in unlike.items() if name != own]


def _type_name(value: Value) -> str:
    match value:
        case IRI():
            return "an IRI"
        case BlankNode():
            return "a blank node"
        case str():
            return "a string"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a double"
        case Decimal():
            return "a decimal"
        case Literal():
            return value.datatype.rpartition("#")[2] if value.language is None else f"a text in {value.language}"
        case _:
            return type(value).__name__
