"""`deltalog plan`: hyper-nodes, the join order of each rule, and the indexes of its look-ups.

Bridges between triples and predicates are as many as there are classes and properties, and only counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from deltalog.core.rule_text import print_literal
from deltalog.core.rules import Atom, Negation, Rule
from deltalog.evaluation.plan.hypertree.choose import TreeChoice, choose_tree
from deltalog.evaluation.plan.hypertree.decompose import TreeNode
from deltalog.evaluation.plan.hypertree.rewrite import atoms_of
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.iri_display import shortened
from deltalog.evaluation.plan.join_order import Body, StepNote
from deltalog.evaluation.plan.statistics import Statistics
from deltalog.evaluation.plan.variants import Variant, plan_variant, variants
from deltalog.program import HyperNode, Program
from deltalog.program.stages import OrderedStage


def explain(
    program: Program, statistics: Statistics, prefixes: Mapping[str, str] | None = None, cyclic: str = "standard"
) -> str:
    """The plan of a whole program, with a setting for cyclic rules (`plan.hypertree.choose`)."""
    count = len(program.hyper_nodes)
    lines = [f"{len(program.rules)} rules in {count} hyper-nodes"]
    lines += [f"  recognised: {note}" for note in program.recognised]
    for number, hyper_node in enumerate(program.hyper_nodes, 1):
        kind = "recursive, semi-naive to the fixpoint" if hyper_node.recursive else "applied once"
        lines += ["", f"hyper-node {number} of {count}, depth {hyper_node.depth}: {kind}"]
        lines += _hyper_node(program, hyper_node, statistics, cyclic)
    return shortened("\n".join(lines), prefixes or {})


def explain_stages(stages: Sequence[OrderedStage]) -> str:
    """What is evaluated before everything that reads it, because its facts depend on an order."""
    lines: list[str] = []
    for number, stage in enumerate(stages, 1):
        names = ", ".join(sorted(pred.name for pred in stage.preds if not pred.hidden))
        how = "subsumption, a set at a time" if stage.by_sets else "in the order of the text, tuple by tuple"
        lines += [f"stage {number} of {len(stages)}: {names}; {how}"]
        lines += [f"  {rule}" for rule in stage.rules if not rule.is_fact]
        for less, *others in (map(print_literal, rule.body) for rule in stage.procedures.dominance):
            lines.append(f"  {less} goes if {', '.join(others)}")
        lines += [""]
    return "\n".join(lines) + "\n" if lines else ""


def _hyper_node(program: Program, node: HyperNode, statistics: Statistics, cyclic: str) -> Iterator[str]:
    rules = [rule for rule in node.rules if not program.is_bridge(rule)]
    for rule in rules:
        scheme = program.scheme_of.get(rule.heads[0].pred)
        if scheme is not None:
            yield f"  {scheme}"
            continue
        yield f"  {rule}"
        choice = choose_tree(rule, statistics, cyclic, node.recursive)
        if choice.complex or choice.by_tree:
            yield from _tree(choice, statistics)
        if choice.by_tree:
            continue
        chosen = list(variants(rule, node.heads)) if node.recursive else []
        for variant in chosen or [Variant(rule)]:
            yield from _variant(variant, plan_variant(variant, statistics, cyclic != "standard"))
    if len(rules) < len(node.rules):
        yield f"  {bridges_noted(len(node.rules) - len(rules))}"


def _tree(choice: TreeChoice, statistics: Statistics) -> Iterator[str]:
    """How a rule with a decomposition is evaluated, and the decomposition: χ, λ and the estimate of each node."""
    found = choice.decomposition
    if found is None:
        yield f"    by joins ({choice.why})"
        return
    how = "hypertree decomposition" if choice.by_tree else "joins"
    wider = f", tree of width {found.width}" if found.width > found.least_width else ""
    yield f"    by {how} ({choice.why}); hypertree-width {found.least_width}{wider}"
    for depth, node in nested(found.root):
        yield f"      {'  ' * depth}{described(node, choice.rule)}"
    for rule in choice.rules if choice.by_tree else ():
        yield f"    {rule}"
        yield from _steps(plan_variant(Variant(rule), statistics, multiway=True).notes, "      ")


def nested(node: TreeNode, depth: int = 0) -> Iterator[tuple[int, TreeNode]]:
    yield depth, node
    for child in node.children:
        yield from nested(child, depth + 1)


def described(node: TreeNode, rule: Rule) -> str:
    atoms = atoms_of(rule)
    chi = ", ".join(f"?{v.name}" for v in sorted(node.chi, key=lambda v: v.name))
    lam = ", ".join(print_literal(atoms[i]) for i in node.lam)
    return f"χ {{{chi}}}  λ {{{lam}}}  ~{node.rows:,.0f} rows"


def bridges_noted(count: int) -> str:
    return f"+ {count} rule{'' if count == 1 else 's'} between triples and predicates"


def _variant(variant: Variant, body: Body) -> Iterator[str]:
    if variant.parts:
        name = variant.delta.name
        yield f"    when {f'<{name}>' if ':' in name else name} is new:"
    yield from _steps(body.notes, "    ")


def _steps(notes: tuple[StepNote, ...], indent: str) -> Iterator[str]:
    """The steps of a body; those of an aggregate's own body come before it, indented."""
    for step, note in enumerate(notes, 1):
        yield from _steps(note.inner, f"{indent}    ")
        yield f"{indent}{step:>2}. {describe(note)}"


def describe(note: StepNote) -> str:
    """One step: the operation, its index, and the estimated rows after it."""
    literal = "columns that are needed later" if note.literal is None else print_literal(note.literal)
    part = f" [{note.part.value}]" if note.part in (Part.DELTA, Part.OLD) else ""
    return f"{note.action:<9} {literal}{part}{_index(note)}  ~{note.rows:,.0f} rows"


def _index(note: StepNote) -> str:
    atom = note.literal.atom if isinstance(note.literal, Negation) else note.literal
    if not isinstance(atom, Atom) or not note.bound:
        return ""
    rest = [i for i in range(len(atom.terms)) if i not in note.bound]
    order = ", ".join(str(i + 1) for i in (*note.bound, *rest))
    return f"  by index ({order}), {len(note.bound)} bound"
