"""The harness: a wrong answer is a failure, whatever goes wrong is shown, and all tasks are measured and checked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks import measure, run
from benchmarks.measure import way
from benchmarks.registry import BENCHMARKS, PROGRAMS, Benchmark, Size
from benchmarks.run import Entry, Result
from benchmarks.tasks import ALL, FACTS, TASKS
from deltalog.apps.cli.bench import parser
from deltalog.core.errors import EngineError
from deltalog.languages.deltalog.parser import parse

needs_clingo = pytest.mark.skipif(way("clingo").version() is None, reason="clingo is not installed")


@pytest.fixture(autouse=True)
def planted_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    here = str(Path(__file__).parent)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")])))


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps as calls, not as processes: what they say of facts is tested here, and processes take seconds."""

    def ask(job: dict[str, Any], timeout: float) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(json.dumps(measure.answer(job)))
        return answer

    monkeypatch.setattr(run, "ask", ask)


def bench(tmp_path: Path, *words: str) -> tuple[int, dict[str, tuple[str, str]], str]:
    """Exit code, status and reason of each way, and the table."""
    folder = tmp_path / "report"
    tasks = () if "--tasks" in words else ("--tasks", "materialise")
    code = run.main([*words, "--sizes", "small", *tasks, "--json", str(tmp_path / "o.json"), "--report", str(folder)])
    results = json.loads((tmp_path / "o.json").read_text())["results"]
    return code, {r["way"]: (r["status"], r["why"]) for r in results}, (folder / "report.md").read_text()


@needs_clingo
def test_a_planted_wrong_answer_fails_and_whatever_goes_wrong_is_shown(tmp_path: Path) -> None:
    planted = "planted:OneFactShort,planted:Broken,planted:NotInstalled,planted:Endless"
    code, ways, table = bench(tmp_path, "tc_chain", "--timeout", "15", "--ways", f"clingo,{planted}")
    assert code == 1
    assert ways["clingo"] == ("ok", "")
    assert ways["planted:OneFactShort"] == ("wrong", "4,949 facts, and 4,950 are right")
    assert ways["planted:Broken"][0] == "failed" and "out of order" in ways["planted:Broken"][1]
    assert ways["planted:NotInstalled"] == ("missing", "not installed")
    assert ways["planted:Endless"] == ("timeout", "more than 15 s")
    assert "**wrong**" in table and "| materialise | clingo |" in table
    assert "| planted:NotInstalled | missing: not installed" in table and "timeout: more than 15 s" in table


@needs_clingo
@pytest.mark.usefixtures("in_this_process")
def test_changes_are_checked_against_from_scratch(tmp_path: Path) -> None:
    """After a change there are the facts that another engine finds over the changed data."""
    tasks = ("materialise", "small_deletion", "small_addition", "large_deletion", "rule_deletion", "rule_addition")
    entry = Entry(BENCHMARKS["tc_linear"], "small", (("deltalog", tasks), ("clingo", tasks)))
    results = run.measure(entry, 1, 60, tmp_path)
    found = {(r.task, r.way): r for r in results}
    assert set(found) == {(task, name) for task in tasks for name in ("deltalog", "clingo")}
    assert all(r.status == "ok" and r.runs for r in results)
    assert found["small_deletion", "deltalog"].facts < found["small_addition", "deltalog"].facts == 8_497
    assert found["large_deletion", "deltalog"].facts < found["small_deletion", "deltalog"].facts
    assert found["rule_deletion", "deltalog"].counts == {"path": 900}
    assert "update" in found["rule_addition", "deltalog"].runs[0]["seconds"]
    assert all(run["peak_memory"] > 0 for r in results for run in r.runs)


@pytest.mark.usefixtures("in_this_process")
def test_load_and_query_are_measured(tmp_path: Path) -> None:
    entry = Entry(BENCHMARKS["tc_linear"], "small", (("deltalog", ("load", "query")), ("scratch", ("query",))))
    found = {(r.task, r.way): r for r in run.measure(entry, 1, 60, tmp_path)}
    assert found["load", "deltalog"].counts == {"facts": 900}
    assert found["query", "deltalog"].counts == found["query", "scratch"].counts != {"answers": 0}
    assert {r.status for r in found.values()} == {"ok"}


@pytest.mark.usefixtures("in_this_process")
def test_an_engine_that_is_not_there_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **options: object) -> None:
        raise EngineError(f"there is no {options['engine']}")

    monkeypatch.setattr("deltalog.knowledge_base.facade.KnowledgeBase", refuse)
    (result,) = run.measure(Entry(BENCHMARKS["tc_chain"], "small", (("spark", ("materialise",)),)), 1, 60, tmp_path)
    assert (result.status, result.why) == ("missing", "not available: there is no spark")


def test_everything_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose materialisation takes too long is not asked for changes; what the budget has no time for is skipped."""
    asked = []

    def ask(job: dict[str, Any], timeout: float) -> dict[str, Any]:
        asked.append(job.get("what", "prepare"))
        if job["step"] == "prepare":
            return {"status": "ok", "heads": {}, "units": [{"status": "ok"}] * len(job["units"])}
        return {"status": "timeout", "why": "more than 15 s"}

    monkeypatch.setattr(run, "ask", ask)
    found = run.measure(Entry(BENCHMARKS["tc_linear"], "small", (("deltalog", ALL),)), 1, 3, tmp_path)
    assert asked == ["prepare", "materialise"]
    assert {(r.status, r.why) for r in found} == {("timeout", "more than 15 s")} and len(found) == len(ALL)
    code, ways, table = bench(tmp_path, "tc_chain", "--budget", "0", "--ways", "deltalog")
    assert (code, ways) == (0, {"deltalog": ("skipped", "the budget of 0 s was used up")}) and "skipped: " in table


def test_what_was_measured_before_an_interrupt_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(entry: Entry, *_: object) -> list[Result]:
        if entry.benchmark.name == "tc_linear":
            raise KeyboardInterrupt
        return [Result(entry.benchmark.name, entry.size, "materialise", "deltalog")]

    monkeypatch.setattr(run, "measure", measure)
    with pytest.raises(KeyboardInterrupt):
        run.main(["tc_chain", "tc_linear", "--sizes", "small", "--json", str(tmp_path / "new" / "o.json")])
    (kept,) = json.loads((tmp_path / "new" / "o.json").read_text())["results"]
    assert kept["benchmark"] == "tc_chain"
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["o.json"]


def result(name: str, **counts: int) -> Result:
    return Result("tc_linear", "small", "materialise", name, counts=counts)


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
    for facts in (None, 4):
        for r in results:
            r.status = "ok"
        run.check(results, facts)
        assert [r.status for r in results] == ["ok", "ok", "wrong"]


@pytest.mark.parametrize(
    "words", [["nothing"], ["tc_linear", "--sizes", "huge"], ["--ways", "nobody"], ["--tasks", "x"], ["--repeat", "0"]]
)
def test_wrong_usage_is_said(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        run.main(words)
    assert exit.value.code == 2
    assert words[-1] in capsys.readouterr().err


def test_without_a_checkout_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from deltalog.apps.cli import bench as command
    from deltalog.apps.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "__file__", str(tmp_path / "lib" / "deltalog" / "bench.py"))
    assert main(["bench"]) != 0
    assert "checkout" in capsys.readouterr().err


@pytest.mark.usefixtures("in_this_process")
def test_published_data_that_are_not_there_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTALOG_DATA", str(tmp_path / "nowhere"))
    entry = Entry(BENCHMARKS["dag_r"], "full", (("deltalog", ("materialise",)),))
    (found,) = run.measure(entry, 1, 60, tmp_path / "work")
    assert found.status == "missing" and "DELTALOG_DATA" in found.why


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.dl")), ids=lambda path: path.stem)
def test_programs_parse(path: Path) -> None:
    assert parse(path.read_text())


def test_the_registry_is_whole() -> None:
    for name, benchmark in BENCHMARKS.items():
        assert isinstance(benchmark, Benchmark) and benchmark.name == name
        assert isinstance(benchmark.program, str) or benchmark.program.exists()
        assert "full" in benchmark.sizes and set(benchmark.growth) <= set(benchmark.sizes)
        assert all(isinstance(size, Size) for size in benchmark.sizes.values())
        assert {*benchmark.tasks, *benchmark.quick} <= set(TASKS)
        assert {*benchmark.ways, *benchmark.settings} <= set(measure.ways())
        assert not benchmark.quick or "small" in benchmark.sizes


def test_plans() -> None:
    quick = run.plan(parser().parse_args([]))
    assert {e.size for e in quick} == {"small"} and len(quick) == sum(bool(b.quick) for b in BENCHMARKS.values())
    full = run.plan(parser().parse_args(["--full"]))
    assert {e.benchmark.name for e in full} == set(BENCHMARKS)
    assert len(full) == len(BENCHMARKS) + sum(len(b.growth) for b in BENCHMARKS.values())
    (one,) = run.plan(parser().parse_args(["wind_rs3", "--sizes", "400", "--ways", "deltalog,clingo"]))
    assert (one.size, one.tasks) == ("400", (("deltalog", ALL), ("clingo", ALL)))
    (cyclic, *_) = run.plan(parser().parse_args(["motivating", "--full"]))
    assert dict(cyclic.tasks)["hypertree"] == FACTS and dict(cyclic.tasks)["nemo"] == ("materialise",)
    (none,) = run.plan(parser().parse_args(["tc_chain", "--tasks", "load,query", "--ways", "deltalog"]))
    assert none.tasks == (("deltalog", ("load",)),)  # there is no goal to ask
