"""Recognition of schemes: transitive and symmetric relations, inverse pairs, unions.

Recognition is by meaning: variables may have any names, atoms any order, and other rules may derive the same relation.

    closure      R(x, z) <- R(x, y), R(y, z); or R(x, z) <- R(x, y), E(y, z) beside R(x, y) <- E(x, y) and nothing else
    components   the same beside R(x, y) <- R(y, x)
    inverse      R(x, y) <- S(y, x) and S(x, y) <- R(y, x) where one of the two is a closure (Zhang's thesis, 5.4.6)
    union        U(x, y) <- A(x, y), U(x, y) <- B(x, y), ...

A transitive rule may have the guard x != z (the rule sets of Xu and Curé): then it derives no R(x, x). Schemes compare
ids, and the guard compares values, so it is recognised only where equal values have the same id
(`program.value_kinds`).

The rules that a scheme implies are removed from the program. All other rules for R, and its explicit facts, go to the
backbone of R instead, a hidden relation (X_R in Hu et al.), and one rule remains for R, which has the inputs of the
scheme in its body. It is not evaluated as a rule: a backend has an operator for it.

With `schemes="module"` (Hu et al.) relations stay tables, and the remaining rules are the ones that the modules apply:
R(x, y) <- X(x, y) and R(x, z) <- X(x, y), R(y, z).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from deltalog.core.rules import TRIPLES, TYPES, Atom, Call, Filter, Pred, Rule, Variable
from deltalog.program.analysis import Analysis
from deltalog.program.schemes import Scheme, SchemeKind, X, Y, Z, atom, backbone, given
from deltalog.program.value_kinds import Numbers, Scope, no_numbers, scope

SCHEME_SETTINGS = ("auto", "standard", "module", "scheme")
BY_VALUE = "as numbers of different types can be equal in value, and its guard compares values"


@dataclass
class Recognition:
    """The schemes found so far, and the remaining rules."""

    rules: list[Rule]
    scheme_of: dict[Pred, Scheme] = field(default_factory=dict)
    stored: dict[Pred, Pred] = field(default_factory=dict)  # the relation that has the explicit facts of a predicate
    notes: list[str] = field(default_factory=list)
    scope: Scope = field(default_factory=Scope)  # of the guards; empty if there is none


def recognise_schemes(analysis: Analysis) -> Analysis:
    """A pass: schemes among the rules of evaluation and the bridges."""
    rules = (*analysis.evaluated, *analysis.bridges)
    found = recognise(rules, analysis.data, analysis.schemes, analysis.numbers)
    return analysis.having(
        evaluated=tuple(found.rules),
        scheme_of=found.scheme_of,
        stored=found.stored,
        recognised=tuple(found.notes),
        scope=found.scope,
    )


def recognise(
    rules: Iterable[Rule], data: Collection[Pred], setting: str, numbers: Numbers = no_numbers
) -> Recognition:
    """Finds schemes among rules, over explicit facts of some predicates, and removes the rules that they imply."""
    found = Recognition(list(rules))
    if setting == "standard":
        return found
    found.scope = scope({rule.heads[0].pred for rule in found.rules if _has_guard(rule)}, found.rules, numbers)
    for pass_ in (_inverses, _closures, _linear, _unions):
        pass_(found, data, setting)
    if setting == "module":
        _as_rules(found)
    else:
        found.rules += [scheme.rule for scheme in found.scheme_of.values()]
    return found


# The shapes of single rules.


def _split(rule: Rule) -> tuple[Atom, list[Atom], bool] | None:
    """The head, the atoms and whether there is a guard x != z on the variables of the head; None for any other rule."""
    if len(rule.heads) != 1:
        return None
    head = rule.heads[0]
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    others = [literal for literal in rule.body if not isinstance(literal, Atom)]
    if not all(isinstance(t, Variable) for a in (head, *atoms) for t in a.terms):
        return None
    if not all(isinstance(o, Filter) and _is_guard(o, head) for o in others):
        return None
    return head, atoms, bool(others)


def _is_guard(literal: Filter, head: Atom) -> bool:
    condition = literal.condition
    return isinstance(condition, Call) and condition.function == "!=" and set(condition.arguments) == set(head.terms)


def _chained(rule: Rule) -> tuple[Pred, Pred, bool] | None:
    """For h(x, z) <- p(x, y), q(y, z): p, q and whether there is a guard."""
    parts = _split(rule)
    if parts is None or len(parts[1]) != 2 or any(len(a.terms) != 2 for a in (parts[0], *parts[1])):
        return None
    (x, z), guarded = parts[0].terms, parts[2]
    for first, second in (parts[1], parts[1][::-1]):
        chained = (first.terms[0] == x, second.terms[1] == z, first.terms[1] == second.terms[0])
        if all(chained) and len({x, first.terms[1], z}) == 3:
            return first.pred, second.pred, guarded
    return None


def transitive(rule: Rule) -> bool | None:
    """Whether a transitive rule is guarded; None for any other rule."""
    chain = _chained(rule)
    return chain[2] if chain and chain[0] == chain[1] == rule.heads[0].pred else None


def linear(rule: Rule) -> tuple[Pred, bool] | None:
    """For t(x, z) <- t(x, y), e(y, z), or t(x, z) <- e(x, y), t(y, z): e, and whether there is a guard."""
    chain = _chained(rule)
    if chain is None or chain[0] == chain[1] or rule.heads[0].pred not in chain[:2]:
        return None
    return chain[1] if chain[0] == rule.heads[0].pred else chain[0], chain[2]


def copied(rule: Rule) -> tuple[Pred, bool] | None:
    """For u(x, y) <- a(x, y): a, False; for u(x, y) <- a(y, x): a, True."""
    if len(rule.heads) != 1 or len(rule.body) != 1 or not isinstance(rule.body[0], Atom):
        return None
    head, body = rule.heads[0], rule.body[0]
    if len(head.terms) != 2 or len(set(head.terms)) != 2 or not all(isinstance(t, Variable) for t in head.terms):
        return None
    if body.terms == head.terms:
        return body.pred, False
    return (body.pred, True) if body.terms == head.terms[::-1] else None


def symmetric(rule: Rule) -> bool | None:
    """Whether r(x, y) <- r(y, x) is guarded, which makes no difference to a scheme; None for any other rule."""
    parts = _split(rule)
    if parts is None or copied(replace(rule, body=tuple(parts[1]))) != (rule.heads[0].pred, True):
        return None
    return parts[2]


def _has_guard(rule: Rule) -> bool:
    """Whether a rule looks like part of a scheme, and has a guard."""
    if not any(isinstance(literal, Filter) for literal in rule.body):
        return False
    step = linear(rule)
    return bool(transitive(rule) or symmetric(rule) or (step and step[1]))


# The kinds of schemes, in the order in which they are searched.


def _closures(found: Recognition, data: Collection[Pred], setting: str) -> None:
    for pred, own in _by_head(found.rules).items():
        guards = [guard for rule in own if (guard := transitive(rule)) is not None]
        if not guards or pred in (TRIPLES, TYPES):
            continue
        if all(guards) and not found.scope.distinct:
            found.notes.append(f"{pred.name}: not a closure, {BY_VALUE}")
            continue
        mirrors = [guard for rule in own if (guard := symmetric(rule)) is not None]
        is_symmetric = bool(mirrors) and (found.scope.distinct or not all(mirrors))
        kind = SchemeKind.COMPONENTS if is_symmetric else SchemeKind.CLOSURE
        copies = {source[0] for rule in own if (source := copied(rule)) and not source[1]}
        implied = [
            rule
            for rule in own
            if transitive(rule) is not None
            or (is_symmetric and symmetric(rule) is not None)
            or _extends(rule, copies, all(guards))
        ]
        _take(found, pred, Scheme(pred, kind, (backbone(pred),), all(guards)), implied, setting)
        found.notes.append(f"{pred.name}: {_described(kind, all(guards))}")


def _extends(rule: Rule, copies: set[Pred], guarded: bool) -> bool:
    """r(x, z) <- r(x, y), e(y, z) where r(x, y) <- e(x, y): a transitive step, if it has the same guard."""
    step = linear(rule)
    return step is not None and step[0] in copies and (step[1] or not guarded)


def _linear(found: Recognition, data: Collection[Pred], setting: str) -> None:
    for pred, own in _by_head(found.rules).items():
        steps = [step for rule in own if (step := linear(rule))]
        if not steps or pred in found.scheme_of:
            continue
        guarded = all(guard for _, guard in steps)
        why = _not_linear(pred, own, steps, data) or (BY_VALUE if guarded and not found.scope.distinct else "")
        if why:
            found.notes.append(f"{pred.name}: not a closure, {why}")
            continue
        scheme = Scheme(pred, SchemeKind.CLOSURE, (steps[0][0],), guarded, listed=setting == "auto")
        found.scheme_of[pred] = scheme
        found.rules = [rule for rule in found.rules if not _derives(rule, pred)]
        found.notes.append(f"{pred.name}: {_described(SchemeKind.CLOSURE, scheme.guarded)}, by linear rules")


def _not_linear(pred: Pred, own: Sequence[Rule], steps: Sequence[tuple[Pred, bool]], data: Collection[Pred]) -> str:
    """Why linear rules do not define the closure of their edges; empty if they do."""
    edges = {edge for edge, _ in steps}
    if len(edges) > 1:
        return f"as it is extended by {' and '.join(sorted(edge.name for edge in edges))}"
    (edge,) = edges
    if not any(copied(rule) == (edge, False) for rule in own):
        return f"as no rule says that every {edge.name} is one"
    if len([rule for rule in own if linear(rule) is None]) > 1:
        return "as other rules derive it, too"
    return "as it has explicit facts" if pred in data else ""


def _inverses(found: Recognition, data: Collection[Pred], setting: str) -> None:
    """Of two inverse relations one is stored; rules for the other become rules for the first, with swapped columns."""
    copies = {(rule.heads[0].pred, *copy) for rule in found.rules if (copy := copied(rule))}
    recognised = (False, True) if found.scope.distinct else (False,)
    closed = [rule.heads[0].pred for rule in found.rules if transitive(rule) in recognised]
    dropped: set[Pred] = set()
    for pred in (pred for pred in dict.fromkeys(closed) if pred not in (TRIPLES, TYPES)):
        others = [b for a, b, swapped in copies if a == pred and swapped and b != pred and (b, pred, True) in copies]
        for other in sorted(others):
            if pred in dropped or other in dropped:
                continue
            dropped.add(other)
            _turn(found, other, pred)
            found.stored[other] = given(other)
            found.rules.append(Rule((atom(pred, X, Y),), (atom(given(other), Y, X),)))
            found.scheme_of[other] = Scheme(
                other, SchemeKind.INVERSE, (pred,), swapped=(True,), listed=setting == "auto"
            )
            found.notes.append(f"{other.name}: the inverse of {pred.name}")
    found.rules = list(dict.fromkeys(found.rules))


def _turn(found: Recognition, dropped: Pred, kept: Pred) -> None:
    """Rewrites the rules of one relation of a pair into rules for the other."""
    turned = (_turned(rule, dropped, kept) if _derives(rule, dropped, kept) else rule for rule in found.rules)
    found.rules = [rule for rule in turned if rule is not None]


def _turned(rule: Rule, dropped: Pred, kept: Pred) -> Rule | None:
    copy = copied(rule)
    if copy in ((dropped, True), (kept, True)) and {rule.heads[0].pred, copy[0]} == {dropped, kept}:  # type: ignore[index]
        return None
    if _derives(rule, dropped) and (transitive(rule) is not None or symmetric(rule) is not None):
        body = tuple(Atom(kept.name, b.terms) if isinstance(b, Atom) else b for b in rule.body)
        return Rule((Atom(kept.name, rule.heads[0].terms),), body)
    heads = tuple(Atom(kept.name, h.terms[::-1], h.span) if h.pred == dropped else h for h in rule.heads)
    return replace(rule, heads=heads)


def _unions(found: Recognition, data: Collection[Pred], setting: str) -> None:
    for pred, own in _by_head(found.rules).items():
        copies = {rule: copy for rule in own if (copy := copied(rule)) and copy[0] != pred}
        if pred in found.scheme_of or pred.hidden or pred in (TRIPLES, TYPES):
            continue
        virtual = any(source in found.scheme_of for source, _ in copies.values())
        if not virtual and (setting != "scheme" or len(copies) < 2):
            continue
        sources = tuple(dict.fromkeys(copies.values()))
        if any(_refers(found, source, pred) for source, _ in sources):
            found.notes.append(f"{pred.name}: not a union, as it is one of its own inputs")
            continue
        inputs = (*(source for source, _ in sources), backbone(pred))
        swapped = (*(turned for _, turned in sources), False)
        scheme = Scheme(pred, SchemeKind.UNION, inputs, swapped=swapped)
        _take(found, pred, scheme, list(copies), setting)
        found.notes.append(f"{pred.name}: the union of {', '.join(source.name for source, _ in sources)}")


def _refers(found: Recognition, pred: Pred, to: Pred) -> bool:
    """Whether a relation has another one as an input, through inverses and unions."""
    if pred == to:
        return True
    scheme = found.scheme_of.get(pred)
    if scheme is None or scheme.kind not in (SchemeKind.INVERSE, SchemeKind.UNION):
        return False
    return any(_refers(found, source, to) for source in scheme.inputs)


def _take(found: Recognition, pred: Pred, scheme: Scheme, implied: Sequence[Rule], setting: str) -> None:
    """Adds a scheme: removes the rules that it implies, and moves other rules and explicit facts to the backbone."""
    dropped, other = set(implied), backbone(pred)
    mine = [(rule, _derives(rule, pred)) for rule in found.rules]
    found.rules = [_renamed(rule, pred, other) if own else rule for rule, own in mine if not (own and rule in dropped)]
    found.scheme_of[pred] = replace(scheme, listed=setting == "auto")
    found.stored[pred] = other


def _renamed(rule: Rule, pred: Pred, other: Pred) -> Rule:
    if not _derives(rule, pred):
        return rule
    return replace(rule, heads=tuple(Atom(other.name, h.terms, h.span) if h.pred == pred else h for h in rule.heads))


def _by_head(rules: Iterable[Rule]) -> dict[Pred, list[Rule]]:
    """The rules of each binary predicate."""
    found: dict[Pred, list[Rule]] = {}
    for rule in rules:
        for pred in dict.fromkeys(head.pred for head in rule.heads if len(head.terms) == 2):
            found.setdefault(pred, []).append(rule)
    return found


def _derives(rule: Rule, *preds: Pred) -> bool:
    """Runs for every rule and every scheme, so rules of one head, the most common ones, have no loop."""
    if len(rule.heads) == 1:
        head = rule.heads[0]
        name, arity = head.name, len(head.terms)
        return (name, arity) in preds
    return any(head.pred in preds for head in rule.heads)


def _described(kind: SchemeKind, guarded: bool) -> str:
    text = "transitive" if kind is SchemeKind.CLOSURE else "symmetric and transitive"
    return text + (" (no pairs of one with itself, unless given)" if guarded else "")


# Modules: rules over tables instead of schemes.


def _as_rules(found: Recognition) -> None:
    found.rules += [rule for scheme in found.scheme_of.values() for rule in _applied(scheme)]
    found.scheme_of.clear()


def _applied(scheme: Scheme) -> Iterator[Rule]:
    pred, guard = scheme.pred, (Filter(Call("!=", (X, Z))),) if scheme.guarded else ()
    flags = scheme.swapped or (False,) * len(scheme.inputs)
    for source, swapped in zip(scheme.inputs, flags, strict=True):
        for turned in (False, True) if scheme.kind is SchemeKind.COMPONENTS else (swapped,):
            yield Rule((atom(pred, X, Y),), (atom(source, *((Y, X) if turned else (X, Y))),))
            if scheme.kind in (SchemeKind.CLOSURE, SchemeKind.COMPONENTS):
                step = atom(source, *((Y, X) if turned else (X, Y)))
                yield Rule((atom(pred, X, Z),), (step, atom(pred, Y, Z), *guard))
