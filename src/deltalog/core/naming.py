"""Names of predicates: the bare name, or `name/arity` where a name has several arities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from deltalog.core.arguments import short_repr
from deltalog.core.concurrency.cached import cached_property
from deltalog.core.errors import UsageError
from deltalog.core.prefixes import PREFIXES
from deltalog.core.rules import Pred


class Names:
    """The names of some predicates. No two have the same, and no name is also the `name/arity` of another one.

    A predicate of those that are `given` keeps its name if rules with a variable for a predicate or a class derive
    facts of another arity."""

    def __init__(
        self, preds: Iterable[Pred], prefixes: Mapping[str, str] = PREFIXES, given: Iterable[Pred] = ()
    ) -> None:
        self._preds, self._prefixes, self._given = frozenset(preds), prefixes, frozenset(given)

    @cached_property
    def by_name(self) -> dict[str, Pred]:
        """The predicates by their displayed names, sorted."""
        taken = set(map(str, self._preds))
        plain = {pred for pred in (self._alone(self._preds) | self._alone(self._given)) if pred.name not in taken}
        return {pred.name if pred in plain else str(pred): pred for pred in sorted(self._preds)}

    def _alone(self, preds: frozenset[Pred]) -> set[Pred]:
        """The predicates whose names no others of some have."""
        times = Counter(pred.name for pred in preds)
        return {pred for pred in preds & self._preds if times[pred.name] == 1}

    def find(self, predicate: str) -> Pred:
        """The predicate of a name, or of `name/arity`; UsageError if there is none, or if the name has several."""
        predicate = predicate_name(predicate)
        if predicate in self.by_name:
            return self.by_name[predicate]
        if (full := expanded(predicate, self._prefixes)) in self.by_name:
            return self.by_name[full]
        found = [p for p in self._preds if p.name == predicate] or [p for p in self._preds if p == split(predicate)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"{predicate!r} has several arities; say which: {', '.join(map(str, sorted(found)))}")
        raise unknown_predicate(predicate, [pred.name for pred in self._preds])

    def for_rows(self, predicate: str, arity: int) -> Pred:
        """The predicate that facts with so many values are of, known or new. `p/2` is p with two arguments, and an IRI
        that ends in a number is itself, unless a predicate is called so."""
        name, given = split(predicate)
        whole, part = Pred(predicate, arity), Pred(name, arity)
        known = self.by_name.get(predicate)
        if known is not None and known.arity == arity:
            return known
        if whole in self._preds or (":" in predicate and not (part in self._preds and given == arity)):
            return whole
        if given != arity:
            raise UsageError(f"{predicate!r} is a predicate of {given} arguments, and the facts have {arity}")
        return part


def split(predicate: str) -> tuple[str, int | None]:
    """`name/arity` as a name and an arity."""
    name, slash, arity = predicate.rpartition("/")
    return (name, int(arity)) if slash and arity.isdigit() and len(arity) < 4 else (predicate, None)


class UnknownPredicate(UsageError, KeyError):
    """There is no predicate of that name. A KeyError, too, so that facts by predicate behave as mappings do."""

    __module__ = "deltalog"
    __str__ = Exception.__str__


def unknown_predicate(predicate: str, known: Iterable[str]) -> UnknownPredicate:
    from difflib import get_close_matches

    names = sorted(known)
    local = local_name(predicate).casefold()
    same = [name for name in names if local_name(name).casefold() == local]
    near = same[:3] or get_close_matches(predicate, names, 3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "kb.predicates lists them"
    return UnknownPredicate(f"there is no predicate {short_repr(predicate)}; {hint}")


def predicate_name(predicate: str) -> str:
    """The name of a predicate, checked, as a plain string."""
    if not isinstance(predicate, str):
        raise UsageError(f"expected the name of a predicate, such as 'edge', and not {short_repr(predicate)}")
    if predicate.startswith("<") and predicate.endswith(">"):
        raise UsageError(f"there is no predicate {predicate!r}: write the IRI without <>, {predicate[1:-1]!r}")
    return str.__str__(predicate)


def expanded(predicate: str, prefixes: Mapping[str, str]) -> str:
    """`:Dog` and `ex:Dog` as full IRIs, where the prefix is declared; other names as they are."""
    prefix, colon, local = predicate.partition(":")
    if not colon or local.startswith("//"):
        return predicate
    space = prefixes.get(prefix) or PREFIXES.get(prefix)
    return predicate if space is None else space + local


def full_name(predicate: str, prefixes: Mapping[str, str]) -> str:
    """The same, of a predicate that may be new: UsageError if it has the empty prefix, and that is not declared."""
    full = expanded(predicate, prefixes)
    if full.startswith(":"):
        raise UsageError(
            f"the prefix of {predicate!r} is not declared; write PREFIX : <...> in the program, or pass the full IRI"
        )
    return full


def local_name(name: str) -> str:
    """The name of an IRI without its namespace; other names as they are."""
    return name[max(name.rfind(sign) for sign in "#/:") + 1 :] if ":" in name else name
