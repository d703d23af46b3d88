"""Small plans as nested loops, many of them in one kernel call: see `kernels.nested_loop`.

This covers plans over stored relations of up to two columns without conditions and expressions, which is most of what a
change of facts evaluates. It gives up where there are many matches: pipelines are faster there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from deltalog.core.arrays import Words
from deltalog.core.rules import Term, Variable
from deltalog.engines.local.addresses import TableAddresses
from deltalog.engines.local.body_code import KINDS, Registers, key_line, left_deep
from deltalog.engines.local.encoded_terms import EncodedTerms
from deltalog.engines.local.index_join import IndexJoin
from deltalog.engines.local.pipeline import Evaluation, Key
from deltalog.engines.local.sorted_runs import Keys, Order, sort_distinct
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Plan, columns
from deltalog.kernels import interpreter
from deltalog.kernels import nested_loop as kernel


@dataclass(frozen=True, slots=True)
class NestedLoops:
    """A plan as code of the kernel; `scans` are the relations of its steps, and how they are sorted."""

    code: Words
    scans: tuple[tuple[Key, Order], ...]
    constants: Words
    head: tuple[int, int]
    is_leaf: bool  # the head is what the first relation has


class LoopBatch:
    """Several plans in one call. Each has a number that says what it derives; plans of one number share their results.

    `scans` has each relation once; `lines` says which one each line of code reads.
    """

    def __init__(self, plans: Sequence[tuple[int, NestedLoops]]) -> None:
        places = {scan: i for i, scan in enumerate(dict.fromkeys(s for _, plan in plans for s in plan.scans))}
        self.plans, self.scans = plans, tuple(places)
        self.lines = np.array([places[scan] for _, plan in plans for scan in plan.scans], np.int64)
        self.code = np.concatenate([plan.code for _, plan in plans])
        self.starts = _starts([len(plan.code) for _, plan in plans])
        self.constants = np.concatenate([plan.constants for _, plan in plans])
        self.constant_starts = _starts([len(plan.constants) for _, plan in plans])
        self.heads = np.array([plan.head for _, plan in plans], np.int64)
        self.leaves = sorted({places[plan.scans[0]] for _, plan in plans})
        shared = [(number, places[plan.scans[0]]) if plan.is_leaf else None for number, plan in plans]
        self.shared = {key: i for i, key in enumerate(dict.fromkeys(key for key in shared if key))}
        self.known = np.array([self.shared[key] if key else -1 for key in shared], np.int64)

    def keys(self, evaluation: Evaluation) -> dict[int, list[Keys]] | None:
        """The rows of each number, plan by plan; None if the plans are too large for nested loops."""
        relations, tuning = [evaluation.table(key) for key, _ in self.scans], evaluation.tuning
        if not all([relation.is_stored for relation in relations]):
            return None
        if any(relations[i].size >= tuning.nested_loop_max_leaf_rows for i in self.leaves):
            return None
        tables, addresses = [relation.stored() for relation in relations], TableAddresses()
        scanned = zip(tables, self.scans, strict=True)
        offsets = [addresses.add(table, table.addresses(order)) for table, (_, order) in scanned]
        code = self.code.copy()
        code[:, interpreter.PLACE] = np.array(offsets, np.int64)[self.lines]
        known_starts = _starts([sum(map(len, tables[leaf].runs)) for _, leaf in self.shared])
        known = np.zeros(known_starts[-1], np.bool_)
        out, ends = np.empty(tuning.nested_loop_max_facts, np.uint64), np.empty(len(self.heads), np.int64)
        done = kernel.nested_loops(
            code,
            self.starts,
            addresses.words(),
            self.constants,
            self.constant_starts,
            self.heads,
            known,
            np.where(self.known < 0, -1, known_starts[self.known]),
            out,
            ends,
            tuning.kernel_call_max_matches,
        )
        return self._divided(out, ends) if done else None

    def _divided(self, out: Keys, ends: Words) -> dict[int, list[Keys]]:
        found: dict[int, list[Keys]] = {}
        start = 0
        for (number, _), end in zip(self.plans, ends.tolist(), strict=True):
            if end > start:
                found.setdefault(number, []).append(out[start:end])
            start = end
        return found


def distinct_keys(parts: Sequence[Keys]) -> Keys:
    """The results of several plans, sorted and distinct."""
    return sort_distinct(np.concatenate(parts))


def _starts(lengths: Sequence[int]) -> Words:
    return np.cumsum([0, *lengths], dtype=np.int64)


def nested_loops(body: Plan, head: EncodedTerms, ids: Callable[[Sequence[Term]], EncodedTerms]) -> NestedLoops | None:
    """A plan as nested loops, if it has that form."""
    steps = _steps(body)
    if steps is None or len(head) > 2:
        return None
    registers, code, scans, bound = Registers([]), [], [], frozenset[Variable]()
    for kind, scan in steps:
        join = IndexJoin.of(ids(scan.atom.terms), bound)
        code.append(key_line(kind, join, registers, 0))  # its place is filled in when there are tables
        scans.append(((scan.atom.pred, scan.part), join.order))
        bound |= set(columns(scan)) if kind == interpreter.JOIN else frozenset()
    places, leaf = registers.pair(head), steps[0][1].atom.terms
    is_leaf = head == leaf and len(set(leaf)) == len(leaf) > 0 and all(isinstance(t, Variable) for t in leaf)
    return NestedLoops(np.array(code, np.int64), tuple(scans), np.array(registers.values, np.int64), places, is_leaf)


def _steps(plan: Plan) -> list[tuple[int, ir.Scan]] | None:
    """The scans of a plan and how they are joined; None if there is anything else in it, or more than two columns."""
    nodes = left_deep(plan)
    steps = [_look_up(node) for node in nodes] if nodes else [None]
    found = [step for step in steps if step is not None and len(step[1].atom.terms) <= 2]
    return found if len(found) == len(steps) else None


def _look_up(node: Plan) -> tuple[int, ir.Scan] | None:
    match node:
        case ir.Scan():
            return interpreter.JOIN, node
        case ir.Join(_, ir.Scan() as scan) | ir.SemiJoin(_, ir.Scan() as scan) | ir.AntiJoin(_, ir.Scan() as scan):
            return KINDS[type(node)], scan
    return None
