"""Records that a rule of Soufflé's language builds to look them up, joined by their fields instead.

If x and y have values, `p([x, y])` is lowered to a record that is built and looked up in p:

    q(x), r(y), BIND(souffle:record(x, y) AS v), p(v)

So no join begins with p or with its new facts, and all pairs of q and r are combined. As rules with other values take
records of a relation apart once, in a relation of its fields, the same rule can be

    q(x), r(y), p(v), #parts(v, x, y)          #parts(record, field0, field1) :- p(record), ...

Records are still built where this costs no more than what another atom has, outside of recursion: if all variables of
the record are in one atom. Relations that are evaluated in order (`deltalog.program.stages`) keep their rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from deltalog.core.rules import (
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    HiddenName,
    Pred,
    Rule,
    Term,
    Variable,
    variables,
)
from deltalog.functions.function import SOUFFLE_PREFIX as PREFIX
from deltalog.program.dependency import DependencyGraph

RECORD, FIELD, IS_RECORD, IS = (PREFIX + name for name in ("record", "field", "isrecord", "is"))
PartsKey = tuple[Pred, int, tuple[int, ...]]  # the relation of records, their column in it, positions of the fields


def joined_by_fields(rules: Sequence[Rule], others: Sequence[Rule] = ()) -> tuple[Rule, ...]:
    """The rules, with relations of fields where they are joined by these; `others` may have such relations already."""
    if not any(_builds(literal) for rule in rules for literal in rule.body):
        return tuple(rules)
    known = {key: rule.heads[0].pred for rule in (*rules, *others) if (key := _parts_key(rule)) is not None}
    changing = _RecordJoins(known, _components(rules))
    changed = [changing.rule(rule) for rule in rules]
    return (*changed, *changing.added)


def _builds(literal: BodyLiteral) -> bool:
    return isinstance(literal, Bind) and isinstance(literal.expression, Call) and literal.expression.function == RECORD


def _parts_key(rule: Rule) -> PartsKey | None:
    """Which records a relation has the fields of, if it is one of fields."""
    match rule.heads, rule.body:
        case ((head,), (Atom() as source, Filter(Call(function, (Variable() as record,))), *binds)) if (
            function == IS_RECORD and head.pred.hidden and record in source.terms
        ):
            positions = [_position(bind, record) for bind in binds]
            fields = [bind.variable for bind in binds if isinstance(bind, Bind)]
            if None not in positions and head.terms == (record, *fields):
                return source.pred, source.terms.index(record), tuple(each for each in positions if each is not None)
    return None


def _position(literal: BodyLiteral, record: Variable) -> int | None:
    match literal:
        case Bind(Call(function, (whole, Constant(int(at))))) if function == FIELD and whole == record:
            return at
    return None


def _components(rules: Sequence[Rule]) -> dict[Pred, int]:
    """The component of each predicate: those that are recursive with each other have the same one."""
    graph = DependencyGraph.of(rules)
    return {pred: graph.component[node] for pred, node in graph.preds.items()}


@dataclass
class _RecordJoins:
    known: dict[PartsKey, Pred]
    components: Mapping[Pred, int]
    added: list[Rule] = field(default_factory=list)

    def rule(self, rule: Rule) -> Rule:
        """The rule, in which records are built only where that is better."""
        fresh = (Variable(f"#field{number}") for number in count(1))
        heads = {self.components.get(head.pred) for head in rule.heads}
        body = list(rule.body)
        while (found := self._next(body, heads)) is not None:
            bind, source = found
            at = body.index(bind)
            body[at : at + 1] = self._by_fields(bind, source, fresh)
        return rule if body == list(rule.body) else replace(rule, body=tuple(body))

    def _next(self, body: Sequence[BodyLiteral], heads: set[int | None]) -> tuple[Bind, Atom] | None:
        atoms = [literal for literal in body if isinstance(literal, Atom)]
        for literal in body:
            if isinstance(literal, Bind) and _builds(literal):
                source = next((atom for atom in atoms if literal.variable in atom.terms), None)
                if source is not None and (
                    self._parts_of(literal, source) in self.known
                    or self.components.get(source.pred, -1) in heads
                    or not _one_atom_has(_given(literal, body), [atom for atom in atoms if atom is not source])
                ):
                    return literal, source
        return None

    def _parts_of(self, bind: Bind, source: Atom) -> PartsKey:
        assert isinstance(bind.expression, Call)
        return source.pred, source.terms.index(bind.variable), tuple(range(len(bind.expression.arguments)))

    def _by_fields(self, bind: Bind, source: Atom, fresh: Iterator[Variable]) -> list[BodyLiteral]:
        """The atom that joins records by their fields, after what computes these."""
        assert isinstance(bind.expression, Call)
        key = self._parts_of(bind, source)
        if key not in self.known:
            self._add(key)
        computed: list[BodyLiteral] = []
        terms: list[Term] = []
        for argument in bind.expression.arguments:
            if not isinstance(argument, Variable | Constant):
                computed.append(Bind(argument, variable := next(fresh), bind.span))
                argument = variable
            terms.append(argument)
        return [*computed, Atom(self.known[key].name, (bind.variable, *terms), bind.span)]

    def _add(self, key: PartsKey) -> None:
        pred, place, positions = key
        record = Variable("record")
        fields = {at: Variable(f"field{at}") for at in positions}
        head = Atom(HiddenName(f"#parts {pred.name}.{place} {len(positions)}"), (record, *fields.values()))
        source = Atom(pred.name, tuple(record if at == place else Variable(f"_#{at}") for at in range(pred.arity)))
        binds = (Bind(Call(FIELD, (record, Constant(at))), variable) for at, variable in fields.items())
        self.added.append(Rule((head,), (source, Filter(Call(IS_RECORD, (record,))), *binds)))
        self.known[key] = head.pred
        self.components = {**self.components, head.pred: self.components.get(pred, -1)}


def _given(bind: Bind, body: Sequence[BodyLiteral]) -> set[Variable]:
    """The variables that atoms must give values to before a record can be built."""
    computed: dict[Variable, Expression] = {each.variable: each.expression for each in body if isinstance(each, Bind)}
    found: set[Variable] = set()
    waiting = [*variables(bind.expression)]
    while waiting:
        variable = waiting.pop()
        if variable not in found:
            found.add(variable)
            waiting += variables(computed[variable]) if variable in computed else ()
    return found.difference(computed)


def _one_atom_has(wanted: set[Variable], atoms: Sequence[Atom]) -> bool:
    return not wanted or any(wanted.issubset(variables(atom)) for atom in atoms)
