"""Incremental maintenance against recomputation: `python -m benchmarks.changes [PART ...] [--json FILE]`.

    rules   Xu and Curé: rules of Rule Sets 1, 2 and 3 removed and added again, over data of the sizes of their Table 1
            (Figures 7, 8 and 9, Tables 2 and 3)
    facts   LUBM(1) to LUBM(50) with program L (`--lubm 5,100` for others): one fact and 1,000 facts removed and added
            again, and 25 % removed; also against a fresh start, which reads the files and materialises
    stream  a thousand small updates in a row: the time of early and late updates, and the memory
    every   every benchmark of the registry with such tasks: a few facts and 25 % of them removed, its rule removed and
            added
    counts  derivation counts (Hu et al.): overdeleted and rederived facts, and the share of a deletion spent on checks
            whether facts are still derivable, which counts make unnecessary. Then the same changes with
            `maintenance="counting"`: the first deletion, which creates the counts, later deletions, additions, and
            memory; compared with delete and rederive ("dred"), and with the same set at a time, as counting is ("sets")
    zodiac  the rule-change files of Xu and Curé, if available: adding rules later must give the same facts as starting
            with all rules (a check, not a measurement)

The time of a change is that of `KnowledgeBase.update`, `add_rules` (by text) or `remove_rules` (by id), from call to
return, encoding included. The time of a recomputation ("again") is that of `materialise()` of a new KnowledgeBase whose
rules are parsed and whose facts are loaded. Both are measured alternately in one process, several times, and the
minimum of each is reported, so both times of a ratio were measured under the same conditions. For the rules of Xu and
Curé there is also `materialise()` of all rules with relations as tables (`schemes="standard"`), as in their engine. The
delta of a recomputed relation is computed when it is read, which is not measured here.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.datasets import NoData
from benchmarks.registry import BENCHMARKS, PROGRAMS
from benchmarks.states import small
from deltalog.core.rules import Pred
from deltalog.engines.local.capabilities import LocalTupleMaintenance
from deltalog.engines.local.table import Table
from deltalog.evaluation.capabilities.tuple_maintenance import SmallResult
from deltalog.evaluation.facts import of_predicate
from deltalog.evaluation.maintenance.derivation_counts import Counts
from deltalog.evaluation.maintenance.dred import DRed
from deltalog.evaluation.state import ChangeRequest
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.facade import KnowledgeBase

Rows = dict[str, list[tuple[Any, ...]]]
TIMES = 5
CLOCK = [time.perf_counter]  # or, with --cpu, time.process_time
LUBM = (1, 2, 5, 10, 20, 50)
# The rules that are removed and added, by their numbers (from 1) in the appendices of the papers.
RULES = {
    "wind_rs1": (400, [[1], [2], [3], [4], [5], [6]]),
    "wind_rs2": (800, [[10, 15, 17], [10, 15, 18], [3], [4], [5], [6], [10], [15], [17], [18]]),
    "wind_rs3": (800, [[6], [10]]),
}
# Benchmark, size, schemes; mostly relations as tables, so that deletions go through rules.
COUNTED = (
    ("lubm_l", "5", "auto"),
    ("tc_linear", "1000", "standard"),
    ("tc_nonlinear", "small", "standard"),
    ("same_generation", "small", "standard"),
    ("wind_rs3", "small", "standard"),
    ("categories", "small", "standard"),
)
# The files of ZodiacEdge: rules, rules that are added later, data.
ZODIAC = (
    ("ManyRulesDeletion", "ManyRulesDeletion_adding_rules", "roadConnectionTest1000"),
    ("ManyRulesDeletion", "ManyRulesDeletion_deleting_rules", "roadConnectionTest1000"),
    ("aggregation_test_original_rules", "aggregation_test_extra_rules", "aggregation_test_data"),
    ("doubleNegationRules", "doubleNegationRules_extra", "vlog_data2"),
    ("roadConnectionTestRules", "roadConnectionTestRulesExtraRules", "roadConnectionTest1000"),
    (
        "roadConnectionTest_complicate_case_rules",
        "roadConnectionTest_complicate_case_extra_rules",
        "roadConnectionTest_complicate_case",
    ),
)


def seconds(call: Callable[[], object]) -> float:
    started = CLOCK[0]()
    call()
    return CLOCK[0]() - started


def made(program: Sequence[str], files: Sequence[Path], schemes: str = "auto") -> KnowledgeBase:
    kb = KnowledgeBase("\n".join(program), schemes=schemes)
    kb.load(*files)
    return kb


def again(program: Sequence[str], files: Sequence[Path], schemes: str = "auto") -> float:
    """The time of a recomputation."""
    kb = made(program, files, schemes)
    return seconds(kb.materialise)


def result(what: str, change: list[float], facts: int, **others: list[float]) -> dict[str, Any]:
    """Prints the time of a change, and the times of the alternatives with their ratios to it."""
    parts = [f"{what:36} {1e3 * min(change):9.2f} ms"]
    for name, times in others.items():
        parts.append(f"{name} {1e3 * min(times):8.2f} ms {min(times) / min(change):7.1f} x")
    print("  ".join(parts), flush=True)
    return {"what": what, "change": change, "facts": facts, **others}


# Xu and Curé.


def rules() -> Iterator[dict[str, Any]]:
    for name, (turbines, choices) in RULES.items():
        with tempfile.TemporaryDirectory() as folder:
            write = datasets.wind_neighbours if name == "wind_rs1" else datasets.wind_relations
            write(turbines, Path(folder))
            program = [str(rule) for rule in KnowledgeBase(PROGRAMS / f"{name}.dl").rules]
            files = sorted(Path(folder).iterdir())
            tables = [again(program, files, "standard") for _ in range(2)]
            for numbers in choices:
                yield from changed_rules(name, program, numbers, files, tables=tables)


def changed_rules(
    name: str, program: list[str], numbers: list[int], files: list[Path], **others: list[float]
) -> Iterator[dict[str, Any]]:
    chosen = [program[number - 1] for number in numbers]
    rest = [rule for rule in program if rule not in chosen]
    kb = made(program, files)
    kb.materialise()
    out, back, without, complete = [], [], [], []
    for _ in range(TIMES):
        ids = [name for name, rule in kb.rule_ids.items() if str(rule) in chosen]
        out.append(seconds(lambda ids=ids: kb.remove_rules(ids)))  # type: ignore[misc]
        without.append(again(rest, files))
        back.append(seconds(lambda: kb.add_rules(chosen)))
        complete.append(again(program, files))
    label, facts = f"{name} {', '.join(f'r{n}' for n in numbers)}", kb.report.facts_total
    yield result(f"{label} out", out, facts, again=without, **others)
    yield result(f"{label} in", back, facts, again=complete, **others)


# LUBM.


def facts(sizes: Sequence[int] = LUBM) -> Iterator[dict[str, Any]]:
    program = [str(rule) for rule in KnowledgeBase(PROGRAMS / "lubm_l.dl").rules]
    for universities in sizes:
        with tempfile.TemporaryDirectory() as folder:
            datasets.lubm(universities, Path(folder))
            yield from changed_facts(universities, program, sorted(Path(folder).iterdir()))


def changed_facts(universities: int, program: list[str], files: list[Path]) -> Iterator[dict[str, Any]]:
    over = [seconds(lambda: made(program, files).materialise()) for _ in range(2)]
    kb = made(program, files)
    kb.materialise()
    random = Random(universities)
    scratch = [seconds(alike(kb).materialise) for _ in range(TIMES)]
    given = kb.explicit_facts
    for count in (1, 1_000):
        out, back = [], []
        for _ in range(4 * TIMES):
            rows = drawn_rows(kb, count, random)
            out.append(seconds(lambda rows=rows: kb.update(remove=rows)))  # type: ignore[misc]
            back.append(seconds(lambda rows=rows: kb.update(add=rows)))  # type: ignore[misc]
        label = f"LUBM({universities}) {count:,} fact{'s' if count > 1 else ''}"
        yield result(f"{label} out", typical(out), given, again=scratch, over=over)
        yield result(f"{label} in", typical(back), given, again=scratch, over=over)
    gone = drawn(kb, given // 4, random)
    yield tables_out(f"LUBM({universities}) 25 % of the facts out", kb, gone, TIMES)


def typical(times: list[float]) -> list[float]:
    """The middle half: samples differ in the number of facts that depend on them."""
    cut = len(times) // 4
    return sorted(times)[cut : len(times) - cut]


def alike(kb: KnowledgeBase) -> KnowledgeBase:
    """A knowledge base with the same rules and explicit facts, without derived facts and indexes."""
    other = KnowledgeBase("\n".join(map(str, kb.rules)))
    session, new = session_of(kb), session_of(other)
    explicit = {p: session.backend.load(session.backend.rows(t), p.arity) for p, t in session.state.explicit.items()}
    new.backend, new.state = session.backend, replace(new.state, explicit=explicit)
    return other


def drawn(kb: KnowledgeBase, count: int, random: Random) -> dict[Pred, Any]:
    """A random sample of the explicit facts, as tables."""
    tables = {pred: session_of(kb).backend.rows(table) for pred, table in session_of(kb).state.explicit.items()}
    ends = np.cumsum([len(columns[0]) for columns in tables.values()])
    chosen = np.sort(np.array(random.sample(range(int(ends[-1])), count), np.int64))
    parts = np.split(chosen, np.searchsorted(chosen, ends)[:-1])
    places = zip(tables.items(), parts, [0, *ends], strict=False)
    found = {pred: [column[part - start] for column in columns] for (pred, columns), part, start in places if len(part)}
    return {pred: session_of(kb).backend.load(columns, pred.arity) for pred, columns in found.items()}


def drawn_rows(kb: KnowledgeBase, count: int, random: Random) -> Rows:
    """The same, as rows."""
    return {
        str(pred): list(of_predicate(pred, table, session_of(kb).backend))
        for pred, table in drawn(kb, count, random).items()
    }


def tables_out(what: str, kb: KnowledgeBase, gone: dict[Pred, Any], times: int) -> dict[str, Any]:
    """The removal of facts against a materialisation of the remaining ones; without encoding on both sides."""
    out, scratch = [], []
    for _ in range(times):
        whole = alike(kb)
        whole.materialise()
        session = session_of(whole)
        request: ChangeRequest[Any] = ChangeRequest(session.state.rule_set, remove=gone)
        out.append(seconds(partial(session.make, request)))
        scratch.append(seconds(alike(whole).materialise))
    return result(what, out, kb.report.facts_total, again=scratch)


# A stream.


def stream(universities: int = 5, updates: int = 1_000, few: int = 10) -> Iterator[dict[str, Any]]:
    """Many small updates in a row: each removes some facts and adds those that the previous update removed."""
    program = [str(rule) for rule in KnowledgeBase(PROGRAMS / "lubm_l.dl").rules]
    with tempfile.TemporaryDirectory() as folder:
        datasets.lubm(universities, Path(folder))
        kb = made(program, sorted(Path(folder).iterdir()))
    kb.materialise()
    random = Random(universities)
    samples = [drawn_rows(kb, few, random) for _ in range(updates)]
    size, held, times, back = kb.report.facts_total, [table_bytes(kb)], [], {}
    for rows in samples:
        times.append(seconds(lambda rows=rows, back=back: kb.update(add=back, remove=rows)))  # type: ignore[misc]
        held.append(table_bytes(kb))
        back = rows
    kb.update(add=back)
    assert kb.report.facts_total == size
    hundred = max(1, updates // 10)
    middle = [sorted(times[i : i + hundred])[hundred // 2] for i in range(hundred, updates, hundred)]
    label = f"LUBM({universities}), {updates:,} updates of {few} facts out, {few} in"
    print(
        f"{label}: {1e3 * middle[0]:.2f} ms in the second tenth, {1e3 * middle[-1]:.2f} ms in the last; tables of ",
        end="",
    )
    print(
        f"{held[hundred] / 1e6:.1f} MB after the first tenth, {max(held) / 1e6:.1f} MB at most, {held[-1] / 1e6:.1f} MB"
    )
    yield {"what": label, "change": times, "facts": size, "bytes": held[:: max(1, updates // 100)]}


def table_bytes(kb: KnowledgeBase) -> int:
    """The memory of all relations of a materialisation, indexes included; shared runs are counted once."""
    assert session_of(kb).state.materialised is not None
    tables = [
        table.stored()
        for table in (
            *session_of(kb).state.materialised.relations.parts.values(),
            *session_of(kb).state.explicit.values(),
        )
    ]
    runs = {
        id(run): run for table in tables for run in (*table.runs, *(table.tombstones.runs if table.tombstones else ()))
    }
    return sum(run.nbytes for run in runs.values())


# Every benchmark.


def every(names: Sequence[str] = tuple(BENCHMARKS)) -> Iterator[dict[str, Any]]:
    for name in names:
        benchmark = BENCHMARKS[name]
        with tempfile.TemporaryDirectory() as folder:
            try:
                files = benchmark.files("full", Path(folder))
                program = [str(rule) for rule in KnowledgeBase(benchmark.program_path()).rules]
            except NoData as reason:
                print(f"{name}: {reason}")
                continue
            if "large_deletion" in benchmark.tasks:
                yield from fewer_facts(name, program, files)
            if "rule_deletion" in benchmark.tasks:
                yield from changed_rules(name, program, [benchmark.rule % len(program) + 1], files)


def fewer_facts(name: str, program: list[str], files: list[Path]) -> Iterator[dict[str, Any]]:
    kb = made(program, files)
    given = kb.explicit_facts
    few = small(given)
    for what, count in ((f"{few:,} facts", few), ("25 % of the facts", given // 4)):
        yield tables_out(f"{name} {what} out", kb, drawn(kb, count, Random(count)), TIMES)


def sample(given: list[Any], count: int, random: Random) -> Rows:
    rows: Rows = {}
    for predicate, row in random.sample(given, count):
        rows.setdefault(predicate, []).append(row)
    return rows


# Counts.


def counts() -> Iterator[dict[str, Any]]:
    for name, size, schemes in COUNTED:
        benchmark = BENCHMARKS[name]
        with tempfile.TemporaryDirectory() as folder:
            files = benchmark.files(size, Path(folder))
            program = [str(rule) for rule in KnowledgeBase(benchmark.program_path()).rules]
            dred, counting = (
                KnowledgeBase("\n".join(program), schemes=schemes, maintenance=way) for way in ("dred", "counting")
            )
            for kb in (dred, counting):
                kb.load(*files)
                kb.materialise()
        given = [
            (str(pred), row)
            for pred, table in session_of(dred).state.explicit.items()
            for row in of_predicate(pred, table, session_of(dred).backend)
        ]
        for count in (1, small(len(given))):
            samples = [sample(given, count, Random(i)) for i in range(4 * TIMES)]
            label = f"{name} {size}, {count:,}"
            yield compared(label, dred, counting, samples) | asked(f"{label} out", dred, samples[: 2 * TIMES])


@contextmanager
def set_at_a_time() -> Iterator[None]:
    """A context without tuple-at-a-time maintenance."""
    tuple_at_a_time = LocalTupleMaintenance.maintain
    LocalTupleMaintenance.maintain = lambda *_: SmallResult()  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        LocalTupleMaintenance.maintain = tuple_at_a_time  # type: ignore[method-assign]


def compared(what: str, dred: KnowledgeBase, counting: KnowledgeBase, samples: list[Rows]) -> dict[str, Any]:
    """The CPU seconds of changes with and without derivation counts, measured alternately."""
    session = session_of(counting)
    session.state = replace(session.state, materialised=replace(session.state.materialised, counts={}))  # type: ignore[type-var]
    ways = (("dred", dred, nullcontext), ("sets", dred, set_at_a_time), ("counting", counting, nullcontext))
    cpu: dict[str, list[float]] = {}
    for rows in samples:
        for name, kb, within in ways:
            for way, change in (("out", {"remove": rows}), ("in", {"add": rows})):
                with within():
                    started = time.process_time()
                    kb.update(**change)
                    cpu.setdefault(f"{name} {way}", []).append(time.process_time() - started)
    first = {name: times[0] for name, times in cpu.items()}
    later = {name: 1e3 * sorted(times[1:])[len(times) // 2] for name, times in cpu.items()}
    tables = sum(table.nbytes for table in session_of(counting).state.materialised.relations.parts.values())  # type: ignore[union-attr]
    memory = sum(nbytes(kept) for kept in session_of(counting).state.materialised.counts.values())  # type: ignore[union-attr]
    shown = (
        f"{way}: counting {later[f'counting {way}']:6.2f} ms, dred {later[f'dred {way}']:6.2f}, "
        f"sets {later[f'sets {way}']:6.2f}"
        for way in ("out", "in")
    )
    print(
        f"{what:25} {'  '.join(shown)}  first out {1e3 * first['counting out']:6.1f} ms  "
        f"counts {memory / 1e6:4.1f} MB of {(memory + tables) / 1e6:5.1f}",
        flush=True,
    )
    return {"cpu": cpu, "bytes of counts": memory, "bytes of tables": tables}


def nbytes(counts: Counts[Table]) -> int:
    return sum(table.nbytes for kept in (counts.nonrecursive, counts.recursive) for table in kept.values())


def asked(what: str, kb: KnowledgeBase, samples: list[Rows]) -> dict[str, Any]:
    """The seconds of deletions, and the share of checks that counts would make unnecessary."""
    spent = [0.0]
    derivable = DRed.derivable

    def timed(*arguments: Any) -> Any:
        started = time.perf_counter()
        try:
            return derivable(*arguments)
        finally:
            spent[0] += time.perf_counter() - started

    deletions, shares, reports = [], [], []
    for rows in samples:
        spent[0], DRed.derivable = 0.0, timed  # type: ignore[method-assign]
        try:
            with set_at_a_time():
                started = time.perf_counter()
                reports.append(kb.update(remove=rows).report)
                deletions.append(time.perf_counter() - started)
        finally:
            DRed.derivable = derivable  # type: ignore[method-assign]
        shares.append(spent[0] / deletions[-1])
        kb.update(add=rows)
    overdeleted = sum(report.overdeleted for report in reports) / len(reports)
    rederived = sum(report.rederived for report in reports) / len(reports)
    share = sorted(shares)[len(shares) // 2]
    facts = kb.report.facts_total
    print(
        f"{what:28} {facts:9,} facts  {1e3 * min(deletions):8.2f} ms  overdeleted {overdeleted:9,.0f}  "
        f"rederived {rederived:9,.0f}  asking {share:4.0%}",
        flush=True,
    )
    row = {"overdeleted": overdeleted, "rederived": rederived, "asking": share, "facts": facts}
    return {"what": what, "change": deletions, **row}


# The files of ZodiacEdge.


def zodiac() -> Iterator[dict[str, Any]]:
    try:
        folder = datasets.published("zodiac")
    except NoData as reason:
        print(f"zodiac: {reason}")
        return
    for early, late, data in ZODIAC:
        rules = [str(rule) for rule in KnowledgeBase(folder / f"{early}.rules").rules]
        extra = [str(rule) for rule in KnowledgeBase(folder / f"{late}.rules").rules]
        whole = made(list(dict.fromkeys([*rules, *extra])), [folder / f"{data}.nt"])
        whole.materialise()
        kb = made([rule for rule in rules if rule not in extra], [folder / f"{data}.nt"])
        kb.materialise()
        taken = seconds(lambda kb=kb, extra=extra: kb.add_rules(extra))  # type: ignore[misc]
        agree = {p: sorted(map(str, kb.facts(p))) for p in kb.predicates} == {
            p: sorted(map(str, whole.facts(p))) for p in whole.predicates
        }
        print(f"{late:52} {kb.report.facts_total:8,} facts  {'equal' if agree else 'DIFFERENT'}", flush=True)
        yield {"what": f"{early} + {late}", "change": [taken], "facts": kb.report.facts_total, "equal": agree}


def as_markdown(rows: Sequence[dict[str, Any]]) -> str:
    """A table of the minimum times, with the ratios of the alternatives."""
    ways = [way for way in ("again", "over", "tables") if any(way in row for row in rows)]
    head = ["change", "facts", "ms", *(title for way in ways for title in (f"{way}, ms", "times"))]
    lines = [f"| {' | '.join(head)} |", "| --- " + "| ---: " * (len(head) - 1) + "|"]
    for row in rows:
        best, others = min(row["change"]), [row.get(way) for way in ways]
        cells = [f"{1e3 * min(way):.2f} | {min(way) / best:.1f}" if way else " | " for way in others]
        lines.append(f"| {row['what']} | {row['facts']:,} | {1e3 * best:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


PARTS: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "rules": rules,
    "facts": facts,
    "stream": stream,
    "every": every,
    "counts": counts,
    "zodiac": zodiac,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "parts",
        nargs="*",
        choices=[*PARTS, []],
        help="rules, facts, stream, every, counts, zodiac (default: all)",
    )
    parser.add_argument("--json", type=Path, help="write all times to this file")
    parser.add_argument("--markdown", type=Path, help="write a table of the minimum times to this file")
    parser.add_argument("--cpu", action="store_true", help="measure CPU time, for a machine with other load")
    parser.add_argument("--only", help="the benchmarks of `every`, separated by commas")
    parser.add_argument("--lubm", help="the sizes of LUBM for `facts`, separated by commas")
    arguments = parser.parse_args()
    if arguments.cpu:
        CLOCK[0] = time.process_time
    if arguments.only:
        PARTS["every"] = partial(every, arguments.only.split(","))
    if arguments.lubm:
        PARTS["facts"] = partial(facts, [int(size) for size in arguments.lubm.split(",")])
    found = {part: list(PARTS[part]()) for part in arguments.parts or PARTS}
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    if arguments.markdown:
        arguments.markdown.write_text(as_markdown([row for rows in found.values() for row in rows]), "utf-8")
    if any(not row.get("equal", True) for rows in found.values() for row in rows):
        raise SystemExit("rules that came late gave other facts")


if __name__ == "__main__":
    main()
