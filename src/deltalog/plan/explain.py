"""Plans for people: hyper-nodes, the join order of each rule, and the indexes that the look-ups use."""

from __future__ import annotations

from collections.abc import Iterator

from deltalog.plan.body import Body, StepNote
from deltalog.plan.ir import Part
from deltalog.plan.rules import Variant, plan_variant, variants
from deltalog.plan.statistics import Statistics
from deltalog.program import HyperNode, Program
from deltalog.syntax.ast import Atom, Negation
from deltalog.syntax.printer import print_literal


def explain(program: Program, statistics: Statistics) -> str:
    """The plan of a whole program."""
    count = len(program.hyper_nodes)
    lines = [f"{len(program.rules)} rules in {count} hyper-nodes"]
    for number, hyper_node in enumerate(program.hyper_nodes, 1):
        lines += ["", *_hyper_node(number, count, hyper_node, statistics)]
    return "\n".join(lines)


def _hyper_node(number: int, count: int, node: HyperNode, statistics: Statistics) -> Iterator[str]:
    kind = "recursive, semi-naive to the fixpoint" if node.recursive else "applied once"
    yield f"hyper-node {number} of {count}, depth {node.depth}: {kind}"
    for rule in node.rules:
        yield f"  {rule}"
        chosen = list(variants(rule, node.heads)) if node.recursive else []
        for variant in chosen or [Variant(rule)]:
            yield from _variant(variant, plan_variant(variant, statistics))


def _variant(variant: Variant, body: Body) -> Iterator[str]:
    if variant.parts:
        yield f"    when {variant.delta.name} is new:"
    yield from _steps(body.notes, "    ")


def _steps(notes: tuple[StepNote, ...], indent: str) -> Iterator[str]:
    """The steps of a body; those of an aggregate's own body come before it, further to the right."""
    for step, note in enumerate(notes, 1):
        yield from _steps(note.inner, f"{indent}    ")
        yield f"{indent}{step:>2}. {describe(note)}"


def describe(note: StepNote) -> str:
    """One step: what is done, by which index, and about how many rows there are then."""
    literal = "columns that are not needed any more" if note.literal is None else print_literal(note.literal)
    part = f" [{note.part.value}]" if note.part in (Part.DELTA, Part.OLD) else ""
    return f"{note.action:<9} {literal}{part}{_index(note)}  ~{note.rows:,.0f} rows"


def _index(note: StepNote) -> str:
    atom = note.literal.atom if isinstance(note.literal, Negation) else note.literal
    if not isinstance(atom, Atom) or not note.bound:
        return ""
    rest = [i for i in range(len(atom.terms)) if i not in note.bound]
    order = ", ".join(str(i + 1) for i in (*note.bound, *rest))
    return f"  by index ({order}), {len(note.bound)} bound"
