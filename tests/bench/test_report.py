"""The report renders whatever the results are, and a comparison tells a slowdown from noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.dom import minidom

import pytest

from benchmarks import compare, run
from benchmarks.page import html, plots
from benchmarks.papers import FILE, figures
from benchmarks.plots import COLUMN, MARGIN, Bar, Panel, panels
from benchmarks.registry import BENCHMARKS
from benchmarks.report import main, markdown, merged, spread, where, write
from benchmarks.tasks import TASKS
from deltalog.core.errors import UsageError


def one(way: str, *seconds: float, task: str = "materialise", size: str = "full", **more: Any) -> dict[str, Any]:
    phase = "evaluate" if way != "deltalog" else TASKS[task].phase
    runs = [{"seconds": {"load": 0.5, phase: s}, "peak_memory": 2**21} for s in seconds]
    known = {"benchmark": "tc_plus", "size": size, "task": task, "way": way, "status": "ok", "why": ""}
    return known | {"runs": runs, "counts": {"p": 7}} | more


def report(*results: dict[str, Any]) -> dict[str, Any]:
    ways = {r["way"] for r in results}
    known = {"versions": dict.fromkeys(ways, "1"), "measures": dict.fromkeys(ways, "a < b & c")}
    return {"machine": run.machine(), "results": list(results), **known}


def everything() -> dict[str, Any]:
    return report(
        one("deltalog", 0.3, 0.25),
        one("deltalog", 0.02, size="small", counts={"p": 3}),
        one("peer <&>", 2.0),
        one("late", status="timeout", why="more than 3 s", counts={}),
        one("odd", 1.0, status="wrong", why="7 facts, and <8> are right"),
        one("deltalog", 0.001, task="small_deletion"),
        one("scratch", 0.25, task="small_deletion"),
        one("deltalog", 0.0, task="rule_deletion"),
        one("scratch", 0.25, task="rule_deletion"),
        one("deltalog", 0.002, task="query"),
    )


def test_the_table_divides_by_ours() -> None:
    text = markdown(everything())
    assert "| materialise | peer <&> | 0.500 |  | 2.0000 | 0% | 8.0 | 2 | 7 |" in text
    assert "| small deletion | scratch | 0.500 |  | 0.2500 | 0% | 250.0 | 2 | 7 |" in text
    assert "**wrong**: 7 facts" in text and "timeout: more than 3 s" in text
    assert "Zhang's thesis" in text and "Dell R730" in text
    assert spread(one("deltalog", 0.3, 0.25)) == pytest.approx(0.2)


def test_the_report_is_a_page_with_plots(tmp_path: Path) -> None:
    write(everything(), tmp_path)
    page = minidom.parse(str(tmp_path / "report.html"))
    assert len(page.getElementsByTagName("svg")) == 6
    assert len(page.getElementsByTagName("table")) == 3
    for name in ("peers", "time", "memory", "speedup", "growth", "papers"):
        svg = minidom.parse(str(tmp_path / f"{name}.svg"))
        assert svg.documentElement is not None and svg.getElementsByTagName("text")
        assert f"({name}.svg)" in (tmp_path / "report.md").read_text()


def test_bars_are_as_long_as_times_are() -> None:
    """On one axis of two decades, ten times the time is half of the width more."""
    svg = minidom.parseString(plots(report(one("deltalog", 0.1), one("a", 1.0), one("b", 10.0)))["time"])
    found = [r for r in svg.getElementsByTagName("rect") if r.getElementsByTagName("title")]
    first, second, third = (float(r.getAttribute("width")) for r in found)
    assert third == pytest.approx(2 * second, rel=0.01) and first <= 1


def test_the_main_plot_has_the_size_that_most_ways_have_measured() -> None:
    alone = one("deltalog", 9.0, size="paper", counts={"p": 99})
    late = one("slow", status="timeout", why="more than 3 s", counts={})
    drawn = plots(report(one("deltalog", 0.5), one("peer", 2.0), alone, late))["peers"]
    texts = [node.firstChild.data for node in minidom.parseString(drawn).getElementsByTagName("text")]
    assert texts[2].endswith(": 7 facts")
    assert texts[3:] == ["deltalog", "0.5 s", "peer", "2 s (4 x)", "slow", "more than 3 s"]
    assert "prefers-color-scheme:dark" in drawn


def test_a_legend_takes_as_many_rows_as_it_needs() -> None:
    many = [one(f"a way with a long name {n}", 1.0) for n in range(12)]
    svg = minidom.parseString(plots(report(one("deltalog", 0.1), *many))["time"])
    names = [t for t in svg.getElementsByTagName("text") if "long name" in t.firstChild.data]
    assert max(float(t.getAttribute("x")) for t in names) < 800
    assert len({t.getAttribute("y") for t in names}) > 2


def test_parts_of_a_measurement_are_one_report(tmp_path: Path) -> None:
    skipped = one("deltalog", status="skipped", why="no time")
    first, second = report(one("deltalog", 1.0), one("peer", 2.0)), report(one("peer", 3.0), one("late", 4.0), skipped)
    for name, part in (("a", first), ("b", second)):
        (tmp_path / f"{name}.json").write_text(json.dumps(part))
    assert main([str(tmp_path / "a.json"), str(tmp_path / "b.json"), str(tmp_path / "out")]) == 0
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {r["way"]: r["runs"][0]["seconds"]["evaluate"] for r in found["results"] if r["way"] != "deltalog"} == {
        "peer": 3.0,
        "late": 4.0,
    }
    assert {r["status"] for r in found["results"]} == {"ok"}
    assert set(found["versions"]) == {"deltalog", "peer", "late"} and (tmp_path / "out" / "peers.svg").exists()
    second["machine"]["processor"] = "another"
    with pytest.raises(UsageError, match="different machines"):
        merged([first, second])


def test_load_is_reported() -> None:
    quiet, busy = report(one("deltalog", 1.0)), report(one("peer", 1.0))
    quiet["machine"] |= {"cores": 2, "load_average": 0.4}
    busy["machine"] |= {"cores": 2, "load_average": 7.1}
    assert "busy" not in where(quiet)
    assert where(merged([busy, quiet])).endswith("busy with other work (load 7.1)")


def test_a_report_of_nothing_renders() -> None:
    nothing = report(one("late", status="timeout", why="more than 3 s", counts={}))
    minidom.parseString(html(nothing, plots(nothing)))
    minidom.parseString(html(report(), plots(report())))


def test_a_long_title_ends_before_the_next_panel() -> None:
    drawn = [Panel("short", [Bar("deltalog", 1.0, "1 s")]), Panel("a title " * 9, [Bar("deltalog", 1.0, "1 s")])]
    texts = minidom.parseString(panels("all", "", drawn, ["deltalog"])).getElementsByTagName("text")
    heads = [text for text in texts if text.getAttribute("class") == "head"]
    assert [text.getAttribute("textLength") for text in heads] == ["", str(COLUMN - MARGIN)]


def test_a_planted_slowdown_is_found() -> None:
    old = report(one("deltalog", 1.0, 1.05, 1.02), one("deltalog", 0.5, 0.6, task="small_deletion"))
    new = report(one("deltalog", 1.4, 1.5, 1.45), one("deltalog", 0.52, 0.55, task="small_deletion"))
    (line,) = compare.compare(old, new)
    assert line == "tc_plus full materialise deltalog: 1.400 s, was 1.000 s (1.000 to 1.050)"
    assert compare.compare(new, old) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((1.0, 1.5, 1.2), (1.4, 1.6)),  # within what the old runs varied
        ((1.0, 1.01), (1.09, 1.2)),  # less than a tenth
        ((0.0010, 0.0011), (0.0025, 0.0026)),  # less than two milliseconds
        ((1.0,), (1.2,)),  # single runs: less than a quarter
        ((1.0, 1.1), (0.5, 0.6)),  # faster
    ],
)
def test_noise_is_no_slowdown(old: tuple[float, ...], new: tuple[float, ...]) -> None:
    assert compare.compare(report(one("deltalog", *old)), report(one("deltalog", *new))) == []


def test_an_answer_that_does_not_come_any_more_is_slower() -> None:
    late = one("deltalog", status="timeout", why="more than 3 s")
    gone = one("peer", status="missing", why="not installed")
    old = report(one("deltalog", 1.0), one("peer", 1.0))
    (line,) = compare.compare(old, report(late, gone, one("new", 1.0)))
    assert line.endswith("was right, now timeout: more than 3 s")


@pytest.mark.parametrize("text", [None, "no JSON", "[]", '{"a": 1}', '{"results": [{}]}', '{"results": [1]}'])
def test_what_is_no_file_of_results_is_said(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=r"old\.json"):
        compare.read(path)


def test_compare_makes_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.json"
    old.write_text(json.dumps(report(one("deltalog", 1.0, 1.1))))
    for seconds, code in ((1.0, 0), (3.0, 1)):
        monkeypatch.setattr(run, "results_of", lambda _, s=seconds: report(one("deltalog", s, s + 0.01)))
        assert run.main(["--compare", str(old)]) == code
    out = capsys.readouterr().out
    assert "nothing of 1 measurements got slower" in out and "slower: tc_plus full materialise deltalog: 3.000 s" in out


def test_what_cannot_be_compared_is_said() -> None:
    old, new = report(one("deltalog", 1.0, 1.1)), report(one("deltalog", 1.0, 1.1, task="small_deletion"))
    assert compare.conclusion(old, new).startswith("nothing to compare")
    assert compare.conclusion(old, old) == "nothing of 1 measurements got slower beyond the noise"
    elsewhere = report(one("deltalog", 9.0, 9.1))
    elsewhere["machine"] |= {"processor": "another"}
    assert compare.conclusion(old, elsewhere).startswith("1 of 1 measurements got slower beyond the noise; but the old")


def test_everything_that_can_be_asked_for_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--list"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("lubm_l ", "sizes: small, ", "rule_deletion", "ways: deltalog, ", "nemo"))


def test_the_papers_figures_are_of_benchmarks_that_there_are() -> None:
    found, papers = figures(), json.loads(FILE.read_text("utf-8"))["papers"]
    assert {f.benchmark for f in found} <= set(BENCHMARKS) and {f.task for f in found} <= set(TASKS)
    assert all(f.seconds > 0 and f.source.partition(",")[0] in papers and f.machine for f in found)
    dag_r = {
        (f.source.partition(",")[0], f.system): f for f in found if (f.benchmark, f.task) == ("dag_r", "materialise")
    }
    assert dag_r["Zhang's thesis", "multi-scheme"].seconds == 22.639
    assert dag_r["Zhang's thesis", "multi-scheme"].memory_bytes == 893_000_000
    assert dag_r["Hu et al.", "modular"].seconds == 29.6
