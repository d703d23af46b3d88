"""Rules over names, as rules over representatives.

A column of a relation has names or representatives. A variable that occurs in columns of one kind only stays as it is.
One that occurs in both, or in columns of representatives and in an expression that tells names apart, stands for two:
the representative ?x and the name ?x'. A rule is copied, for individuals that are equal to others and for all others:

    big(?x) :- C[?x], ?x != ?y, D[?y] .      names:     #names(?x, ?x') relates representatives and names
    big(?x) :- C(?x), NOT #clustered(?x), ... ;  big(?x') :- C(?x), #names(?x, ?x'), ... ;  and the same for ?y

Rules that derive owl:sameAs make links, and links of many to many are avoided: in

    owl:sameAs[?y, ?z] :- p[?x, ?y], p[?x, ?z], ?y != ?z .          #hub(?x, ?y) :- p(?x, ?y) .

all ?y of one ?x are equal, so a hub is read by its keys (`equality.links`). That two variables differ is no condition
any more: an individual equals itself. Where a rule says so without the condition, it is true of individuals without
equals, too, and has a rule owl:sameAs(?y, ?y) beside its hub. A key whose names matter is a name: both sides are about
the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product

from deltalog.core.rules import (
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    HiddenName,
    Negation,
    Pred,
    Rule,
    Term,
    Variable,
    variables,
)
from deltalog.core.terms import IRI, BlankNode
from deltalog.evaluation.equality.recognise import SAME_AS, EqualityRules
from deltalog.evaluation.equality.tell_apart import is_literal_valued, told_apart

LINK = Pred(HiddenName("#link"), 2)  # (x, y): they are equal, and the fact x = x is not shown for it
NAMES = Pred(HiddenName("#names"), 2)  # (representative, name), of classes of several names
CLUSTERED = Pred(HiddenName("#clustered"), 1)  # the names of such classes
NameRenaming = Mapping[Variable, Variable]


class TooManyNames(Exception):
    """A rule has so many variables that stand for names that it would have too many copies."""


@dataclass(frozen=True)
class Hub:
    """Relations of keys and individuals: with a key that both have, all of its individuals are equal. The two may be
    the same relation."""

    left: Pred
    right: Pred


@dataclass(frozen=True)
class EqualityRewriting:
    """Rules over representatives. `columns` says which columns of a relation have these; others have names."""

    rules: tuple[Rule, ...]
    columns: Mapping[Pred, tuple[bool, ...]]
    hubs: tuple[Hub, ...]
    constants: frozenset[Constant]  # in columns of representatives

    @property
    def equating(self) -> frozenset[Pred]:
        """The relations that make individuals equal."""
        return frozenset((SAME_AS, LINK, *(pred for hub in self.hubs for pred in (hub.left, hub.right))))

    def over(self, representative: Mapping[Constant, Constant]) -> tuple[Rule, ...]:
        """The rules with representatives in the place of constants."""
        if not representative:
            return self.rules
        return tuple(_with_constants(rule, self.columns, representative) for rule in self.rules)

    def copies(self, rule: Rule, representative: Mapping[Constant, Constant]) -> Iterator[Rule]:
        """What a rule has become: one of those that were rewritten, with one head and no aggregates."""
        most = sum(len(tuple(variables(literal))) for literal in rule.body)  # no limit: it was checked before
        for copy in _copies(rule, self.columns, most):
            yield _with_constants(copy, self.columns, representative)


def rewrite(equality: EqualityRules, most_names: int) -> EqualityRewriting:
    """The rules that are not about equality itself, over representatives."""
    columns: dict[Pred, tuple[bool, ...]] = {pred: (True,) * pred.arity for pred in equality.preds}
    columns |= {LINK: (True, True), NAMES: (True, False), CLUSTERED: (False,)}
    hubs, rules = list[Hub](), list[Rule]()
    for rule in equality.others:
        for single in _single_heads(rule):
            rules += _linking(single, columns, hubs) if single.heads[0].pred == SAME_AS else [single]
    found = dict.fromkeys(new for rule in rules for new in _copies(rule, columns, most_names))
    return EqualityRewriting(tuple(found), columns, tuple(dict.fromkeys(hubs)), _constants(found, columns))


def _single_heads(rule: Rule) -> Iterator[Rule]:
    return (Rule((head,), rule.body) for head in rule.heads)


# Links.


def _linking(rule: Rule, columns: dict[Pred, tuple[bool, ...]], hubs: list[Hub]) -> list[Rule]:
    """The rules of a rule for owl:sameAs, with its hub if it has one."""
    y, z = rule.heads[0].terms
    if not isinstance(y, Variable) or not isinstance(z, Variable) or y == z:
        return [rule]
    body = tuple(literal for literal in rule.body if not _is_guard(literal, {y, z}))
    guarded = len(body) < len(rule.body)
    halves = _halves(body, y, z)
    if halves is None:
        return [Rule((Atom(LINK.name, (y, z)),), body) if guarded else rule]
    key, left, right = halves
    representatives, names = _places(rule, columns)
    name, kinds = _digest(rule), tuple(v in representatives and v not in names for v in key)
    first = _hub(f"#hub {name}", key, y, left)
    second = _hub(f"#hub {name} 2", key, z, right)
    if _shape(left, key, y) == _shape(right, key, z):
        second = first
    hubs.append(Hub(first.heads[0].pred, second.heads[0].pred))
    for hub in (first, second):
        columns[hub.heads[0].pred] = (*kinds, True)
    itself = Rule((Atom(SAME_AS.name, (y, y)),), tuple(_renamed(literal, {z: y}) for literal in body))
    return [*dict.fromkeys((first, second)), *([] if guarded else [itself])]


def _is_guard(literal: BodyLiteral, pair: set[Term]) -> bool:
    condition = literal.condition if isinstance(literal, Filter) else None
    return isinstance(condition, Call) and condition.function == "!=" and set(condition.arguments) == pair


def _hub(name: str, key: Sequence[Variable], value: Variable, body: tuple[BodyLiteral, ...]) -> Rule:
    return Rule((Atom(HiddenName(name), (*key, value)),), body)


Half = tuple[BodyLiteral, ...]


def _halves(body: Half, y: Variable, z: Variable) -> tuple[tuple[Variable, ...], Half, Half] | None:
    """A body as two that have only a key in common, one with each variable; None if it is not of that kind."""
    used = {literal: set(variables(literal)) for literal in body}
    if any({y, z} <= found or isinstance(literal, Bind | Aggregate) for literal, found in used.items()):
        return None
    sides: list[list[BodyLiteral]] = [[each for each in body if v in used[each]] for v in (y, z)]
    rest = [each for each in body if not {y, z} & used[each]]
    while True:
        seen = [set[Variable]().union(*(used[each] for each in side)) for side in sides]
        own = [[each for each in rest if used[each] & seen[i] and not used[each] & seen[1 - i]] for i in (0, 1)]
        if not any(own):
            break
        sides = [side + more for side, more in zip(sides, own, strict=True)]
        rest = [each for each in rest if each not in own[0] and each not in own[1]]
    others = set[Variable]().union(*(used[each] for each in rest))
    shared = (seen[0] & (seen[1] | others)) | (seen[1] & (seen[0] | others))
    key = tuple(dict.fromkeys(v for each in body for v in variables(each) if v in shared))
    left, right = (tuple(each for each in body if each in side or each in rest) for side in sides)
    return (key, left, right) if _binds(left, (*key, y)) and _binds(right, (*key, z)) else None


def _binds(body: Half, needed: Sequence[Variable]) -> bool:
    """Whether the atoms of a body give all of its variables a value."""
    bound = {v for literal in body if isinstance(literal, Atom) for v in variables(literal)}
    tested = {v for literal in body if isinstance(literal, Filter) for v in variables(literal)}
    return bound.issuperset(needed) and tested <= bound


def _shape(half: Half, key: Sequence[Variable], value: Variable) -> frozenset[BodyLiteral]:
    """A half with variables of its own named by their place."""
    found = dict.fromkeys(v for literal in half for v in variables(literal) if v not in key and v != value)
    names = {v: Variable(f"#{i}") for i, v in enumerate(found)} | {value: Variable("#")}
    return frozenset(_renamed(literal, names) for literal in half)


def _digest(what: object) -> str:
    return blake2b(repr(what).encode(), digest_size=8).hexdigest()


# Names.


def _copies(rule: Rule, columns: Mapping[Pred, tuple[bool, ...]], most: int) -> Iterator[Rule]:
    """The copies of a rule, for names that equal others and for names that do not."""
    preds = {rule.heads[0].pred, *rule.reads}
    if columns.keys().isdisjoint(preds):
        yield rule
        return
    helpers, body = list[Rule](), list[BodyLiteral]()
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            literal, helper = _over_helper(literal)
            helpers.append(helper)
        body.append(literal)
    for helper in helpers:
        yield from _copies(helper, columns, most)
    rule = Rule(rule.heads, tuple(body))
    representatives, names = _places(rule, columns)
    both = [v for v in representatives if v in names]
    if len(both) > most:
        raise TooManyNames(f"a rule has more than {most} variables for which names matter: {rule}")
    for several in product((False, True), repeat=len(both)):
        yield _copy(rule, dict(zip(both, several, strict=True)), columns)


def _places(rule: Rule, columns: Mapping[Pred, tuple[bool, ...]]) -> tuple[dict[Variable, None], dict[Variable, None]]:
    """The variables in columns of representatives, and those in columns of names or where names are told apart."""
    found: tuple[dict[Variable, None], dict[Variable, None]] = {}, {}
    for literal in (*rule.heads, *rule.body):
        match literal:
            case Atom() | Negation():
                atom = literal.atom if isinstance(literal, Negation) else literal
                for term, is_name in zip(atom.terms, _kinds(atom, columns), strict=True):
                    if isinstance(term, Variable):
                        found[not is_name][term] = None
            case Filter(condition):
                found[1].update(dict.fromkeys(told_apart(condition)))
            case Bind(expression, variable):
                found[1].update(dict.fromkeys(told_apart(expression)))
                if not is_literal_valued(expression):
                    found[1][variable] = None
            case Aggregate():
                found[1].update(dict.fromkeys(variables(literal)))
    return found


def _kinds(atom: Atom, columns: Mapping[Pred, tuple[bool, ...]]) -> tuple[bool, ...]:
    return columns.get(atom.pred) or (False,) * len(atom.terms)


def _over_helper(literal: Aggregate) -> tuple[Aggregate, Rule]:
    """An aggregate over one relation of names, and the rule of that relation."""
    inner = dict.fromkeys(v for each in literal.body if not isinstance(each, Negation) for v in variables(each))
    shown = {v: Variable(f"#{i}") if v.anonymous else v for i, v in enumerate(inner)}
    name = HiddenName(f"#aggregated {_digest((literal.body, literal.on))}")
    body = tuple(_renamed(each, shown) for each in literal.body)
    helper = Rule((Atom(name, tuple(shown.values())),), body)
    return Aggregate((Atom(name, tuple(inner)),), literal.on, literal.calls), helper


def name_of(representative: Variable) -> Variable:
    """The variable for a name, beside that for its representative."""
    return Variable(f"{representative.name}'")


def _copy(rule: Rule, several: Mapping[Variable, bool], columns: Mapping[Pred, tuple[bool, ...]]) -> Rule:
    """The copy in which some variables stand for a representative of several names and one of these, and others for an
    individual without equals."""
    names = {v: name_of(v) for v, clustered in several.items() if clustered}
    extra: list[BodyLiteral] = [
        Atom(NAMES.name, (v, names[v])) if clustered else Negation(Atom(CLUSTERED.name, (v,)))
        for v, clustered in several.items()
    ]
    body = [_named(literal, names, columns) for literal in rule.body]
    return Rule((_named_atom(rule.heads[0], names, columns),), (*body, *extra))


def _named(literal: BodyLiteral, names: NameRenaming, columns: Mapping[Pred, tuple[bool, ...]]) -> BodyLiteral:
    match literal:
        case Atom():
            return _named_atom(literal, names, columns)
        case Negation(atom):
            return Negation(_named_atom(atom, names, columns))
    return _renamed(literal, names)


def _named_atom(atom: Atom, names: NameRenaming, columns: Mapping[Pred, tuple[bool, ...]]) -> Atom:
    """An atom with names in its columns of names."""
    kinds = _kinds(atom, columns)
    return Atom(
        atom.name, tuple(t if rep else _renamed_term(t, names) for t, rep in zip(atom.terms, kinds, strict=True))
    )


def _renamed_term(term: Term, names: NameRenaming) -> Term:
    return names.get(term, term) if isinstance(term, Variable) else term


def _renamed(literal: BodyLiteral, names: NameRenaming) -> BodyLiteral:
    """A literal with other variables."""
    match literal:
        case Atom(name, terms):
            return Atom(name, tuple(_renamed_term(term, names) for term in terms))
        case Negation(Atom(name, terms)):
            return Negation(Atom(name, tuple(_renamed_term(term, names) for term in terms)))
        case Filter(condition):
            return Filter(_renamed_expression(condition, names))
        case Bind(expression, variable):
            return Bind(_renamed_expression(expression, names), names.get(variable, variable))
        case Aggregate(body, on, calls):
            renamed = tuple(_renamed(each, names) for each in body)
            return Aggregate(renamed, tuple(names.get(v, v) for v in on), tuple(_renamed_call(c, names) for c in calls))
    raise AssertionError(f"{literal} is not of the core language")


def _renamed_call(call: AggregateCall, names: NameRenaming) -> AggregateCall:
    argument = None if call.argument is None else _renamed_expression(call.argument, names)
    return AggregateCall(call.function, argument, names.get(call.variable, call.variable), call.distinct)


def _renamed_expression(expression: Expression, names: NameRenaming) -> Expression:
    match expression:
        case Variable():
            return names.get(expression, expression)
        case Call(function, arguments):
            return Call(function, tuple(_renamed_expression(each, names) for each in arguments))
    return expression


# Constants.


def _constants(rules: Iterable[Rule], columns: Mapping[Pred, tuple[bool, ...]]) -> frozenset[Constant]:
    """The individuals that rules name in columns of representatives."""
    found = set[Constant]()
    for rule in rules:
        for literal in (*rule.heads, *rule.body):
            atom = literal.atom if isinstance(literal, Negation) else literal
            if isinstance(atom, Atom):
                found |= {
                    term
                    for term, rep in zip(atom.terms, _kinds(atom, columns), strict=True)
                    if rep and isinstance(term, Constant) and isinstance(term.value, IRI | BlankNode)
                }
    return frozenset(found)


def _with_constants(
    rule: Rule, columns: Mapping[Pred, tuple[bool, ...]], representative: Mapping[Constant, Constant]
) -> Rule:
    def replaced(atom: Atom) -> Atom:
        terms = zip(atom.terms, _kinds(atom, columns), strict=True)
        return Atom(
            atom.name, tuple(representative.get(t, t) if rep and isinstance(t, Constant) else t for t, rep in terms)
        )

    body: list[BodyLiteral] = []
    for literal in rule.body:
        if isinstance(literal, Atom):
            literal = replaced(literal)
        elif isinstance(literal, Negation):
            literal = Negation(replaced(literal.atom))
        body.append(literal)
    new = Rule((replaced(rule.heads[0]),), tuple(body))
    return rule if new == rule else new
