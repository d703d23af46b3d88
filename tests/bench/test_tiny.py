"""Every benchmark at a tiny size: the local engine has the facts of the naive one, before and after changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from benchmarks import datasets, states
from benchmarks.registry import BENCHMARKS
from deltalog import KnowledgeBase

TINY: dict[str, Callable[[Path], None]] = {
    "tc_linear": partial(datasets.dag, 12, 20, 0),
    "tc_nonlinear": partial(datasets.dag, 12, 20, 0),
    "tc_chain": partial(datasets.chain, 9),
    "symmetric": partial(datasets.link, 7),
    "same_generation": partial(datasets.tree, 14),
    "categories": partial(datasets.categories, 9),
    "motivating": partial(datasets.motivating, 3, 4),
    "exp": partial(datasets.expressions, 1, 2),
    "tc_plus": partial(datasets.tc_plus, 9, 44),
    "union": partial(datasets.union, 42),
    "tcu": partial(datasets.tcu, 9, 26),
    "wind_rs1": partial(datasets.wind_neighbours, 6),
    "wind_rs2": partial(datasets.wind_relations, 12),
    "wind_rs3": partial(datasets.wind_relations, 12),
}
SLICE = 40  # triples of LUBM


def _few_lines_of_lubm(folder: Path) -> None:
    from benchmarks.generators import lubm

    lines = sorted(lubm.department())
    (folder / "lubm.nt").write_text("".join(lines[:: len(lines) // SLICE]))


TINY |= {"lubm_l": _few_lines_of_lubm, "lubm_owl": _few_lines_of_lubm}
NOT_OURS_TO_SHIP = {
    "lubm_lc",
    "owl2rl",
    "rdfs",
    "yago",
    "dag_r",
    "relations",
    "wordnet",
    "gnutella",
    "stw",
}  # program or data


def test_no_benchmark_is_forgotten() -> None:
    assert set(TINY) | NOT_OURS_TO_SHIP == set(BENCHMARKS)
    assert not set(TINY) & NOT_OURS_TO_SHIP


@pytest.mark.parametrize("name", TINY)
def test_local_and_naive_agree(name: str, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    TINY[name](tmp_path / "full")
    benchmark = BENCHMARKS[name]
    made = states.write(tmp_path, benchmark.program_path(), benchmark.rule, None, {"minus_small", "minus_large"})
    local = _kb(made, "program.dl", "full", "local")
    assert _facts(local) == _facts(_kb(made, "program.dl", "full", "naive"))
    for part in ("small", "large"):
        rows = _given(made.files(part))
        local.update(remove=rows)
        assert _facts(local) == _facts(_kb(made, "program.dl", f"minus_{part}", "naive"))
        local.update(add=rows)
    rule = (tmp_path / "rule.dl").read_text()
    local.remove_rules(rule)
    assert _facts(local) == _facts(_kb(made, "minus_rule.dl", "full", "naive"))
    local.add_rules(rule)
    assert _facts(local) == _facts(_kb(made, "program.dl", "full", "naive"))


def _kb(made: states.States, program: str, facts: str, engine: str) -> KnowledgeBase:
    kb = KnowledgeBase(made.folder / program, engine=engine)
    kb.load(*made.files(facts))
    return kb


def _given(files: list[Path]) -> dict[str, list[tuple[object, ...]]]:
    kb = KnowledgeBase()
    kb.load(*files)
    return {name: list(kb.facts(name)) for name in kb.predicates}


def _facts(kb: KnowledgeBase) -> dict[str, set[tuple[object, ...]]]:
    found = {name: set(kb.facts(name)) for name in kb.predicates}
    return {name: rows for name, rows in found.items() if rows}
