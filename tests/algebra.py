"""Plans of the algebra (`deltalog.evaluation.plan.ir`) that contain each other in every way, and what they mean, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from deltalog.core.rules import AggregateCall, Atom, Call, Constant, Pred, Variable
from deltalog.core.terms import Value, key
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Plan
from deltalog.functions import scalar

Row = dict[Variable, Value]
Relations = Mapping[Pred, Sequence[tuple[Value, ...]]]

X, Y, Z, N = map(Variable, "XYZN")
E, C = Pred("e", 2), Pred("c", 2)  # c is meant to be kept by its structure


def scan(pred: Pred, *terms: Variable) -> ir.Scan:
    return ir.Scan(Atom(pred.name, terms))


def _xy(plan: Plan, *terms: Variable) -> ir.Project:
    return ir.Project(plan, tuple(zip((X, Y), terms, strict=True)))


def _extended(plan: Plan, function: str, *arguments: Variable | Constant | Call) -> Plan:
    return _xy(ir.Extend(plan, Z, Call(function, arguments)), X, Z)


LEAVES: dict[str, Plan] = {
    "scan": scan(E, X, Y),
    "structure": scan(C, X, Y),
    "multiway": _xy(ir.MultiJoin((scan(E, X, Y), scan(E, Y, Z), scan(C, X, Z)), (X, Y, Z)), X, Z),
    "unit": ir.Extend(ir.Extend(ir.Unit(), X, Constant(1)), Y, Constant(2)),
}

# Each makes of a plan with the columns X and Y another one, in which an operator has it as an input.
OPERATORS: dict[str, Callable[[Plan], Plan]] = {
    "where": lambda p: ir.Where(p, Call("<", (X, Y))),
    "where, slowly": lambda p: ir.Where(p, Call("!=", (Call("str", (X,)), Call("str", (Y,))))),
    "extend": lambda p: _extended(p, "%", Call("+", (X, Y)), Constant(7)),
    "extend by skolem": lambda p: _extended(p, "skolem", Y, X),
    "extend by text": lambda p: _extended(p, "concat", Call("str", (X,)), Constant("-")),
    "join, left": lambda p: _xy(ir.Join(p, scan(E, Y, Z)), X, Z),
    "join, right": lambda p: _xy(ir.Join(scan(E, Z, X), p), Z, Y),
    "join, right, of a structure": lambda p: _xy(ir.Join(scan(C, Z, X), p), Z, Y),
    "semi-join, left": lambda p: ir.SemiJoin(p, scan(E, Y, Z)),
    "semi-join, right": lambda p: ir.SemiJoin(scan(E, X, Y), p),
    "anti-join, left": lambda p: ir.AntiJoin(p, scan(E, Y, X)),
    "anti-join, right": lambda p: ir.AntiJoin(scan(C, X, Y), p),
    "project": lambda p: _xy(p, Y, X),
    "union": lambda p: ir.Union((p, _xy(scan(E, X, Y), Y, X))),
    "distinct": ir.Distinct,
    "count": lambda p: _xy(ir.GroupBy(p, (X,), (AggregateCall("count", Y, N),)), X, N),
    "maximum": lambda p: _xy(ir.GroupBy(p, (Y,), (AggregateCall("max", X, N),)), Y, N),
    "median of all": lambda p: _xy(
        ir.GroupBy(p, (), (AggregateCall("med", X, N), AggregateCall("count", None, Z))), N, Z
    ),
    "counted": lambda p: _xy(ir.Counted((_xy(ir.Distinct(p), X, Y), _xy(scan(E, X, Y), X, Y)), N), X, N),
    "look-up of an aggregate": lambda p: _xy(
        ir.Join(scan(E, X, Y), ir.GroupBy(p, (X,), (AggregateCall("count", Y, N),))), Y, N
    ),
}


def nested(depth: int) -> Iterator[tuple[str, Plan]]:
    """All operators inside of each other, so many of them."""
    if depth == 0:
        yield from LEAVES.items()
        return
    for below, plan in nested(depth - 1):
        for name, operator in OPERATORS.items():
            yield f"{name}({below})", operator(plan)


def distinct_rows(plan: Plan, relations: Relations) -> set[tuple[tuple[type, object], ...]]:
    """What a plan gives, as a set in which 1, 1.0 and "1" are different."""
    columns = ir.columns(plan)
    return {tuple(key(row[v]) for v in columns) for row in rows(plan, relations)}


def rows(plan: Plan, relations: Relations) -> list[Row]:
    match plan:
        case ir.Unit():
            return [{}]
        case ir.Scan(atom):
            return [dict(zip(atom.terms, fact, strict=True)) for fact in relations[atom.pred]]  # type: ignore[arg-type]
        case ir.Where(input, condition):
            return [row for row in rows(input, relations) if _value(condition, row) == [True]]
        case ir.Extend(input, variable, expression):
            return [{**row, variable: v} for row in rows(input, relations) for v in _value(expression, row)]
        case ir.Join(left, right):
            others = rows(right, relations)
            return [{**a, **b} for a in rows(left, relations) for b in others if _agree(a, b)]
        case ir.SemiJoin(left, right) | ir.AntiJoin(left, right):
            others, wanted = rows(right, relations), isinstance(plan, ir.SemiJoin)
            return [a for a in rows(left, relations) if any(_agree(a, b) for b in others) is wanted]
        case ir.MultiJoin():
            return rows(plan.pairwise, relations)
        case ir.Project(input, columns):
            return [{v: row[t] for v, t in columns} for row in rows(input, relations)]  # type: ignore[index]
        case ir.Union(inputs):
            return [row for input in inputs for row in rows(input, relations)]
        case ir.Distinct(input):
            return _distinct(rows(input, relations))
        case ir.GroupBy():
            return list(_aggregated(plan, relations))
        case ir.Counted(inputs, variable):
            found = [row for input in inputs for row in rows(input, relations)]
            times = Counter(map(_identity, found))
            return [{**row, variable: times[_identity(row)]} for row in _distinct(found)]


def _aggregated(plan: ir.GroupBy, relations: Relations) -> Iterator[Row]:
    groups: dict[object, list[Row]] = {} if plan.on else {(): []}
    for row in _distinct(rows(plan.input, relations)):
        groups.setdefault(tuple(key(row[v]) for v in plan.on), []).append(row)
    for group in groups.values():
        try:
            calls = {call.variable: _aggregate(call, group) for call in plan.calls}
        except scalar.ExpressionFails:
            continue
        yield {**{v: group[0][v] for v in plan.on}, **calls}


def _aggregate(call: AggregateCall, group: Sequence[Row]) -> Value:
    if call.argument is None:
        return len(group)
    assert isinstance(call.argument, Variable)
    return scalar.aggregate(call.function, [row[call.argument] for row in group])


def _value(expression: Call | Variable | Constant, row: Row) -> list[Value]:
    """The value of an expression, or none."""
    try:
        return [scalar.evaluate(expression, row)]
    except scalar.ExpressionFails:
        return []


def _agree(a: Row, b: Row) -> bool:
    return all(key(a[v]) == key(b[v]) for v in a.keys() & b.keys())


def _identity(row: Row) -> object:
    return tuple((v, key(row[v])) for v in sorted(row, key=lambda v: v.name))


def _distinct(found: Sequence[Row]) -> list[Row]:
    return list({_identity(row): row for row in found}.values())
