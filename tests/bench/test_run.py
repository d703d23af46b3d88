"""The harness: a wrong answer is a failure, whatever goes wrong is shown, and the report has it all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks import run
from benchmarks.measure import way
from benchmarks.registry import BENCHMARKS, PROGRAMS, Benchmark, Size
from benchmarks.report import markdown, spread
from deltalog.syntax.parser import parse


@pytest.fixture(autouse=True)
def planted_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    here = str(Path(__file__).parent)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")])))


def bench(tmp_path: Path, *words: str) -> tuple[int, dict[str, tuple[str, str]], str]:
    """Exit code, status and reason of each way, and the table."""
    out = [str(tmp_path / name) for name in ("out.json", "out.md")]
    code = run.main([*words, "--size", "small", "--repeat", "1", "--json", out[0], "--markdown", out[1]])
    results = json.loads(Path(out[0]).read_text())["results"]
    return code, {r["way"]: (r["status"], r["why"]) for r in results}, Path(out[1]).read_text()


@pytest.mark.skipif(way("clingo").version() is None, reason="clingo is not installed")
def test_a_planted_wrong_answer_fails(tmp_path: Path) -> None:
    code, ways, table = bench(tmp_path, "tc_chain", "--ways", "clingo,planted:OneFactShort")
    assert code == 1
    assert ways["clingo"] == ("ok", "")
    assert ways["planted:OneFactShort"] == ("wrong", "4,949 facts, and 4,950 are right")
    assert "**wrong**" in table


@pytest.mark.skipif(way("clingo").version() is None, reason="clingo is not installed")
def test_what_fails_or_is_not_there_is_shown(tmp_path: Path) -> None:
    code, ways, table = bench(tmp_path, "tc_chain", "--ways", "clingo,planted:Broken,planted:NotInstalled")
    assert code == 1
    assert ways["clingo"] == ("ok", "")
    assert ways["planted:Broken"][0] == "failed" and "out of order" in ways["planted:Broken"][1]
    assert ways["planted:NotInstalled"] == ("missing", "not installed")
    assert "| clingo | 0." in table and "| planted:NotInstalled | missing: not installed" in table


def test_what_never_ends_is_ended(tmp_path: Path) -> None:
    code, ways, table = bench(tmp_path, "tc_chain", "--timeout", "3", "--ways", "planted:Endless")
    assert code == 0
    assert ways["planted:Endless"] == ("timeout", "more than 3 s")
    assert "timeout: more than 3 s" in table


def result(name: str, **counts: int) -> run.Result:
    return run.Result("tc_linear", "small", name, counts=counts)


def test_without_a_known_answer_the_majority_is_right() -> None:
    results = [result("a", path=3), result("b", path=3), result("c", path=4)]
    run.check(results, None)
    assert [r.status for r in results] == ["ok", "ok", "wrong"]
    assert results[2].why == "others gave other facts: path 4 here, 3 in a"


def test_two_that_disagree_are_both_wrong_until_one_knows_better() -> None:
    results = [result("a", path=3), result("b", path=4)]
    run.check(results, None)
    assert [r.status for r in results] == ["wrong", "wrong"]


def test_the_same_total_in_other_predicates_is_wrong() -> None:
    results = [result("a", p=3, q=1), result("b", p=3, q=1), result("c", p=1, q=3)]
    run.check(results, None)
    assert [r.status for r in results] == ["ok", "ok", "wrong"]


def test_the_table_divides_by_ours() -> None:
    def one(name: str, *seconds: float) -> dict[str, object]:
        runs = [{"seconds": {"load": 0.5, "evaluate": s}, "peak_memory": 2**21, "process": 1.0} for s in seconds]
        return {"benchmark": "b", "size": "s", "way": name, "status": "ok", "why": "", "runs": runs, "counts": {"p": 7}}

    ours, peer = one("deltalog", 0.3, 0.25), one("peer", 2.0)
    text = markdown(
        {
            "machine": run.machine(),
            "versions": {"deltalog": "1", "peer": None},
            "measures": {"deltalog": "x", "peer": "y"},
            "results": [ours, peer],
        }
    )
    assert "| peer | 0.500 | 0.000 | 2.000 | 2.500 | 0% | 8.0 | 3.3 | 2 | 7 |" in text
    assert "**peer** (not installed)" in text
    assert spread(ours) == pytest.approx(0.8 / 0.75 - 1)


@pytest.mark.parametrize("words", [["nothing"], ["tc_linear", "--size", "huge"], ["--ways", "nobody"]])
def test_wrong_usage_is_said(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        run.main(words)
    assert exit.value.code == 2
    assert "there are" in capsys.readouterr().err or "huge" in words


def test_published_data_that_are_not_there_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTALOG_DATA", str(tmp_path / "nowhere"))
    results = run.measure(BENCHMARKS["dag_r"], "full", ["deltalog"], 1, 60, tmp_path / "work")
    assert results[0].status == "missing" and "DELTALOG_DATA" in results[0].why


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.dl")), ids=lambda path: path.stem)
def test_programs_parse(path: Path) -> None:
    assert parse(path.read_text())


def test_the_registry_is_whole() -> None:
    for name, benchmark in BENCHMARKS.items():
        assert isinstance(benchmark, Benchmark) and benchmark.name == name
        assert benchmark.program.exists() and "full" in benchmark.sizes
        assert all(isinstance(size, Size) for size in benchmark.sizes.values())
