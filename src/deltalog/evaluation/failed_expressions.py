"""Failed expressions as users see them: the rule, the place, the reason, and the values of the first ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltalog.core.rule_text import print_aggregate_call, print_expression, print_value
from deltalog.core.rules import (
    TRIPLES,
    TYPES,
    Aggregate,
    AggregateCall,
    Bind,
    BodyLiteral,
    Call,
    Disjunction,
    Filter,
    NegatedBody,
    Pred,
    Rule,
    Span,
)
from deltalog.core.terms import Value
from deltalog.functions.failures import ExampleValues, FailureLog, Fallible, span_of


@dataclass(frozen=True, slots=True)
class FailedExpression:
    """An expression of a rule that had no value for some rows, so that the rule did not apply to them.

    `rule_id` and `rule` are "" and None for an expression of a goal, `place` is "" for a rule that no text was read
    for. `count` is the number of rows. `examples` are the values of the variables in the first of them (for an
    aggregate, those of its group); `reason` is that of the first one.
    """

    rule_id: str
    rule: Rule | None
    place: str
    expression: str
    reason: str
    count: int
    examples: tuple[ExampleValues, ...]

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        which = f" of rule {self.rule_id}" if self.rule_id else ""
        times = "" if self.count == 1 else f" {self.count:,} times"
        mark = "" if self.rule is not None and self.rule.is_rewritten else "?"
        shown = ", ".join(f"{mark}{name} = {_shown(value)}" for name, value in self.examples[0].items())
        first = "" if not shown else f"; for {shown}" if self.count == 1 else f"; first for {shown}"
        return f"{where}{self.expression}{which} failed{times}: {self.reason}{first}"

    @property
    def as_json(self) -> dict[str, Any]:
        examples = [{name: print_value(value) for name, value in example.items()} for example in self.examples]
        rule = {"id": self.rule_id, "text": "" if self.rule is None else str(self.rule)}
        found = {"rule": rule, "place": self.place, "expression": self.expression, "reason": self.reason}
        return {**found, "count": self.count, "examples": examples}


SHOWN = 3  # expressions in a warning


def warning_of_failures(failures: Sequence[FailedExpression], what: str) -> str:
    """The expressions that failed, in a few lines; "" if none did. `what` says what follows from it."""
    if not failures:
        return ""
    some, more = failures[:SHOWN], failures[SHOWN:]
    count = sum(each.count for each in failures)
    instances = f"{count:,} rule instances" if count > 1 else "1 rule instance"
    lines = [f"warning: {instances} did not apply because an expression failed{what}", *(f"  {each}" for each in some)]
    return "\n".join([*lines, f"  and {len(more)} more expressions"] if more else lines)


def failed_expressions(log: FailureLog, rules: Mapping[str, Rule]) -> list[FailedExpression]:
    """The failures of a log, the most frequent first, with the rules by id that the expressions belong to."""
    found = []
    for (expression, span), tally in log.tallies.items():
        rule_id = _owner(expression, span, rules)
        rule = rules.get(rule_id)
        place = span if rule is None else rule.span and (span or rule.span)
        text = _printed(expression) if span is None else " ".join(span.source.text[span.start : span.end].split())
        shown = "" if place is None else str(place)
        examples = tuple(map(_written, tally.examples)) if rule is not None and rule.is_rewritten else tally.examples
        found.append(FailedExpression(rule_id, rule, shown, text, tally.reason, tally.count, examples))
    return sorted(found, key=lambda each: (-each.count, each.place))


def reached_rules(preds: Collection[Pred], rules: Iterable[Rule]) -> set[Rule]:
    """The rules that some predicates depend on; all of them where variables stand for predicates."""
    every, needed = list(rules), set(preds)
    if not needed.isdisjoint((TRIPLES, TYPES)) or any(
        head.pred in (TRIPLES, TYPES) for rule in every for head in rule.heads
    ):
        return set(every)
    found: set[Rule] = set()
    while more := {r for r in every if r not in found and any(head.pred in needed for head in r.heads)}:
        found |= more
        needed.update(pred for rule in more for pred in rule.reads)
    return found


def _written(example: ExampleValues) -> ExampleValues:
    """The values of variables that a program names: those of an aggregate got other names, such as `x#1`."""
    named = ((name.partition("#")[0], value) for name, value in example.items())
    return {name: value for name, value in named if name not in ("", "_")}


def _printed(expression: Fallible) -> str:
    return print_aggregate_call(expression) if isinstance(expression, AggregateCall) else print_expression(expression)


def _owner(expression: Fallible, span: Span | None, rules: Mapping[str, Rule]) -> str:
    """The id of the rule that has an expression: at its place, or one that has an equal expression."""
    if span is not None:
        for name, rule in rules.items():
            if _within(span, rule.span) if rule.span else span in _spans(rule):
                return name
    return next((name for name, rule in rules.items() if expression in _expressions(rule.body)), "")


def _spans(rule: Rule) -> set[Span | None]:
    """The places of expressions in a rule without a place: its text was stored."""
    return {span_of(each) for each in _expressions(rule.body)}


def _within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end and inner.source == outer.source


def _expressions(body: tuple[BodyLiteral, ...]) -> Iterator[Fallible]:
    for literal in body:
        match literal:
            case Filter(condition):
                yield condition
            case Bind(expression, variable):
                yield from (expression, Call("sameterm", (variable, expression)))
            case Aggregate(inner, _, calls):
                yield from _expressions(inner)
                yield from (each for call in calls for each in (call, call.argument) if each is not None)
            case NegatedBody(inner):
                yield from _expressions(inner)
            case Disjunction(alternatives):
                yield from (each for inner in alternatives for each in _expressions(inner))


MOST_CHARACTERS = 60  # of a value in a message


def _shown(value: Value) -> str:
    text = print_value(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."
