"""What `-v` prints: who did what, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from deltalog.apps.cli.options import counted
from deltalog.core.rule_text import print_predicate
from deltalog.core.rules import Pred
from deltalog.evaluation.plan.iri_display import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltalog.evaluation.maintenance.update_state import UpdateReport
    from deltalog.evaluation.report import Report
    from deltalog.knowledge_base.facade import KnowledgeBase
    from deltalog.program import Program

SLOWEST = 5  # hyper-nodes


def details(kb: KnowledgeBase, report: Report) -> Iterator[str]:
    """How rules were evaluated: what was recognised, decompositions, and what took longest."""
    program = kb.program
    recursive = sum(node.recursive for node in program.hyper_nodes)
    nodes = f"{counted(len(program.hyper_nodes), 'hyper-node')}, {recursive:,} recursive"
    yield f"rules: {counted(len(kb.rules), 'rule')} in {nodes}"
    yield from () if report.magic_sets is None else report.magic_sets.lines
    if report.skipped_inputs:
        yield f"inputs not read, because no output needs them: {', '.join(report.skipped_inputs)}"
    yield from (f"scheme: {shortened(note, kb.prefixes)}" for note in program.recognised)
    for rule in report.cyclic_rules:
        yield f"cyclic rule by {_WAYS[rule.way]} ({rule.why}; width {rule.width}): {shortened(rule.rule, kb.prefixes)}"
    yield from _slowest(report, program, kb.prefixes)


_WAYS = {"hypertree": "a hypertree decomposition", "standard": "joins"}


def _slowest(report: Report, program: Program, prefixes: Mapping[str, str]) -> Iterator[str]:
    work = sorted(report.work.items(), key=lambda item: -item[1].seconds)[:SLOWEST]
    rules = {node.heads: sum(not program.is_bridge(rule) for rule in node.rules) for node in program.hyper_nodes}
    if work:
        yield f"slowest of {counted(len(report.work), 'hyper-node')}:"
    for heads, done in work:
        rounds, facts = counted(done.rounds, "round"), counted(done.new, "new fact")
        of = f" by {counted(rules[heads], 'rule')}" if heads in rules else ""
        yield f"  {done.seconds:.3f} s, {rounds}, {facts}{of}: {_named(heads, prefixes)}"


def decisions(report: UpdateReport, prefixes: Mapping[str, str]) -> Iterator[str]:
    """How each stratum followed a change, and why so."""
    yield from (f"{_named(preds, prefixes)}: {how}" for preds, how in report.decisions)
    yield from (note for note in report.notes if note.startswith("everything recomputed"))
    visited, skipped = counted(report.visited, "stratum").replace("stratums", "strata"), f"{report.skipped:,} skipped"
    facts = f"{report.overdeleted:,} overdeleted, {report.rederived:,} rederived, {report.inserted:,} inserted"
    yield f"{visited} visited, {skipped}, {report.recomputed:,} recomputed; facts {facts} in {report.seconds:.3f} s"


NAMES_SHOWN = 4


def _named(preds: Iterable[Pred], prefixes: Mapping[str, str]) -> str:
    names = sorted(shortened(print_predicate(pred.name), prefixes) for pred in preds if not pred.hidden)
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more if names else "hidden relations"
