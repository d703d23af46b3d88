"""`engine="auto"`: the state is in Spark's driver, maintained by the local engine, and in executors beyond a budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from conftest import as_sets

from deltalog import IRI, DataError, KnowledgeBase, LimitReached, UsageError
from deltalog.core.terms import BlankNode, Literal
from deltalog.core.tuning import Tuning
from deltalog.engines.spark import settings
from deltalog.engines.spark.io.collect import parse_files
from deltalog.engines.spark.residence import DriverResidence, decide, dictionary_bytes, table_bytes
from deltalog.formats.documents import Reading
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.session import Session
from tests.property.history_generator import history
from tests.property.history_player import run

pytestmark = pytest.mark.usefixtures("spark")

PROGRAM = """
path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z).
far(X, N) :- AGGREGATE(path(X, Y) ON X BIND COUNT(Y) AS N).
big(X) :- far(X, N), N > 3.  none(X) :- path(X, _), NOT big(X).
pair(X, Y, Z) :- edge(X, Y), edge(Y, Z), X != Z.
"""
EDGES = [(f"n{i}", f"n{i + 1}") for i in range(9)]
IN_EXECUTORS = Tuning(spark_driver_read_max_bytes=0)
ENDLESS = "n(X) :- s(X). n(Y) :- n(X), BIND(X + 1 AS Y)."


def everything(kb: KnowledgeBase) -> Any:
    kb.materialise()
    return as_sets({predicate: list(kb.facts(predicate)) for predicate in kb.predicates})


def right(edges: Any = EDGES, program: str = PROGRAM) -> Any:
    kb = KnowledgeBase(program, engine="naive")
    kb.add("edge", edges)
    return everything(kb)


@pytest.fixture
def at_rest(spark: Any) -> None:
    """Python workers have started, and no job runs."""
    spark.range(1).mapInArrow(lambda batches: batches, "id long").collect()
    while spark.sparkContext.statusTracker().getActiveJobsIds():
        time.sleep(0.01)


@pytest.fixture
def budget(spark: Any) -> Iterator[Callable[[object], None]]:
    """Sets the driver's budget of knowledge bases that are made from now on."""
    yield lambda size: spark.conf.set(settings.DRIVER_BUDGET, str(size))
    spark.conf.unset(settings.DRIVER_BUDGET)


def held(kb: KnowledgeBase) -> int:
    """The bytes that a knowledge base in the driver holds, as last counted."""
    residence: Any = session_of(kb).backend.capabilities.residence
    return int(residence.held)


def is_in_driver(kb: KnowledgeBase) -> bool:
    assert kb.report.pipeline == "spark"
    assert kb.report.engine == ("spark" if session_of(kb).backend.capabilities.residence is None else "local")
    return kb.report.engine == "local"


# In the driver.


@pytest.mark.usefixtures("at_rest")
def test_an_update_is_one_of_the_local_engine_and_runs_no_job() -> None:
    kb = KnowledgeBase(PROGRAM, engine="auto")
    kb.add("edge", EDGES)
    assert everything(kb) == right()
    assert is_in_driver(kb) and "not more than the driver's budget of" in kb.report.engine_reason
    before = kb.metrics()["jobs"]
    change = kb.update(add={"edge": [("n9", "n10"), ("n3", "n10")]}, remove={"edge": [("n4", "n5")]})
    after = right([edge for edge in EDGES if edge != ("n4", "n5")] + [("n9", "n10"), ("n3", "n10")])
    assert everything(kb) == after
    assert ("n3", "n10") in change.added["path"] and ("n0", "n9") in change.removed["path"]
    assert kb.query("path(n3, ?x)", "qsqr").method == "qsqr"
    assert kb.metrics()["jobs"] == before


def test_tuples_multiway_joins_and_virtual_relations_are_those_of_the_local_engine() -> None:
    kb, local = KnowledgeBase(engine="auto"), KnowledgeBase()
    for capability in ("tuple_maintenance", "small_rounds", "virtual_relations", "point_lookup", "skolem_inverse"):
        assert type(getattr(session_of(kb).backend.capabilities, capability)) is type(
            getattr(session_of(local).backend.capabilities, capability)
        )
    assert session_of(kb).backend.capabilities.multiway_joins


def files(folder: Path) -> Path:
    folder.mkdir()
    (folder / "edge.csv").write_text("".join(f"{a},{b}\n" for a, b in EDGES))
    (folder / "size.tsv").write_text('a\t1\nb\t2.5\nc\t"x"\nd\t<http://e.x/d>\ne\t123456789012345678901234567890\n')
    (folder / "more.nt").write_text(
        '<http://e.x/a> <http://e.x/p> "text" .\n_:b <http://e.x/p> "hallo"@de .\n'
        "<http://e.x/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e.x/C> .\n"
        '<http://e.x/b> <http://e.x/q> "2020-01-01"^^<http://www.w3.org/2001/XMLSchema#date> .\n'
    )
    (folder / "some.ttl").write_text("<http://e.x/s> <http://e.x/p> 1, 2.5, true, 1e3 .\n")
    return folder


@pytest.mark.usefixtures("at_rest")
@pytest.mark.parametrize("portion", [None, 1])
def test_files_parsed_by_executors(portion: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if portion is not None:
        monkeypatch.setattr(settings, "MOST_FETCHED", portion)
    folder = files(tmp_path / "data")
    local, kb = KnowledgeBase(PROGRAM), KnowledgeBase(PROGRAM, engine="auto", tuning=IN_EXECUTORS)
    before = kb.metrics()["jobs"]
    kb.load(folder)
    jobs = kb.metrics()["jobs"] - before
    assert jobs == (2 if portion is None else 1 + 4)  # parsing, and fetching all splits or each
    local.load(folder)
    assert everything(kb) == everything(local)
    assert is_in_driver(kb)


def test_nothing_of_a_bad_file_is_loaded(tmp_path: Path) -> None:
    folder = files(tmp_path / "data")
    (folder / "bad.nt").write_text("<http://e.x/a> <http://e.x/p> \n")
    messages = []
    for kb in (KnowledgeBase(), KnowledgeBase(engine="auto", tuning=IN_EXECUTORS)):
        with pytest.raises(DataError) as problem:
            kb.load(folder)
        messages.append(str(problem.value))
        assert not kb.explicit_facts
    assert messages[0] == messages[1]


def test_an_empty_folder(tmp_path: Path) -> None:
    kb = KnowledgeBase(engine="auto", tuning=IN_EXECUTORS)
    kb.load(tmp_path)
    assert not kb.explicit_facts


VALUES = [
    (1, 2.5, "a", IRI("http://e.x/a"), BlankNode("b"), True, date(2020, 1, 2), datetime(2020, 1, 2, tzinfo=UTC), 1),
    (2, 0.0, "", IRI("http://e.x/b"), BlankNode("c"), False, date(1, 1, 1), datetime(2021, 5, 6, tzinfo=UTC), "x"),
    (3, 1e9, "ü", IRI("http://e.x/a"), BlankNode("b"), True, date(2020, 1, 2), datetime(2020, 1, 2, tzinfo=UTC), 2.5),
    (
        4,
        1.0,
        "ü",
        IRI("http://e.x/c"),
        BlankNode("b"),
        True,
        date(2020, 1, 2),
        datetime(2020, 1, 2, tzinfo=UTC),
        10**30,
    ),
]


@pytest.mark.parametrize("tuning", [{}, {"spark_fetch_max_rows": 2}])
def test_data_frames_in_and_out(tuning: dict[str, int]) -> None:
    """By Arrow, or, as large ones, by ids: the DataFrames are those of the Spark engine, and come back as they were."""
    far, kb = KnowledgeBase(engine="spark"), KnowledgeBase(engine="auto", tuning=Tuning(**tuning))  # type: ignore[arg-type]
    for one in (far, kb):
        one.add("p", VALUES)
        one.add("lang", [(Literal("a", language="en"),)])
        one.add("flag", [()])
    for predicate in ("p", "lang", "flag"):
        frame, expected = kb.facts(predicate).to_spark(), far.facts(predicate).to_spark()
        assert frame.schema == expected.schema
        assert [field.metadata for field in frame.schema] == [field.metadata for field in expected.schema]
        assert sorted(frame.collect()) == sorted(expected.collect())
    again = KnowledgeBase("q(X) :- p(X, _, _, _, _, _, _, _, _).", engine="auto", tuning=Tuning(**tuning))  # type: ignore[arg-type]
    again.add("p", kb.facts("p").to_spark())
    again.add("p", kb.facts("p").to_spark().limit(0))
    assert everything(again) == as_sets({"p": VALUES, "q": [(i,) for i in range(1, 5)]})
    change = again.update(remove={"p": kb.facts("p").to_spark().where("_0 > 1")})
    assert sorted(change.removed["q"].to_spark().collect()) == [(2,), (3,), (4,)]
    assert is_in_driver(again)


def test_an_error_in_a_data_frame_is_the_same_however_it_is_fetched(spark: Any) -> None:
    frame = spark.createDataFrame([("a",), (None,), ("b",)], "x string")
    for most in (100, 1):
        kb = KnowledgeBase(engine="auto", tuning=Tuning(spark_fetch_max_rows=most))
        with pytest.raises(UsageError, match="column 'x': row"):
            kb.add("p", frame)


# The budget.


@pytest.mark.parametrize(
    ("text", "size"),
    [("4g", 4 << 30), ("512m", 512 << 20), ("100kb", 100 << 10), ("0", 0), ("123", 123), ("7 B", 7), ("1T", 1 << 40)],
)
def test_budgets_are_written_as_spark_writes_memory(text: str, size: int, budget: Any, spark: Any) -> None:
    budget(text)
    assert settings.driver_budget(spark) == size


@pytest.mark.parametrize("text", ["", "much", "-1", "4 gallons", "1.5g", "4gg"])
def test_nonsense_is_no_budget(text: str, budget: Any) -> None:
    budget(text)
    with pytest.raises(UsageError, match=r"spark\.deltalog\.driverBudget is .* like 4g or 512m"):
        KnowledgeBase(engine="auto")


def test_the_budget_is_a_share_of_the_drivers_memory(spark: Any) -> None:
    memory = spark.conf.get("spark.driver.memory")
    assert memory.endswith("m")
    assert settings.driver_budget(spark) == int(int(memory[:-1]) * 2**20 * 0.4)


def test_one_place_decides() -> None:
    assert decide(5 << 20, 8 << 20) == (True, "the facts need 5.0 MiB, not more than the driver's budget of 8.0 MiB")
    assert decide(9 << 30, 8 << 30) == (False, "the facts need 9.0 GiB, more than the driver's budget of 8.0 GiB")
    assert decide(0, 0) == (False, "the driver's budget is 0 (spark.deltalog.driverBudget)")


def test_without_a_budget_everything_is_in_executors(budget: Any, tmp_path: Path) -> None:
    budget(0)
    kb = KnowledgeBase(PROGRAM + "edge(n0, n1).", engine="auto")
    kb.load(files(tmp_path / "data") / "edge.csv")
    assert everything(kb) == right()
    assert not is_in_driver(kb)
    assert kb.report.engine_reason == "the driver's budget is 0 (spark.deltalog.driverBudget)"


def test_files_without_room_are_not_parsed_in_the_driver(budget: Any, tmp_path: Path) -> None:
    """Too large by their sizes, or by what executors have found in them."""
    (tmp_path / "edge.csv").write_text("".join(f"n{i},n{i}\n" for i in range(20_000)))
    for size, needed in ((20 << 10, "KiB"), (1 << 20, "MiB")):
        budget(size)
        kb = KnowledgeBase("loop(X) :- edge(X, X).", engine="auto", tuning=IN_EXECUTORS)
        kb.load(tmp_path)
        assert (
            len(session_of(kb).backend.codec.dictionary if hasattr(session_of(kb).backend.codec, "dictionary") else ())
            <= 1
        )
        assert kb.count("loop") == 20_000
        assert not is_in_driver(kb)
        assert f"{needed}, more than the driver's budget of" in kb.report.engine_reason


def test_estimates_are_near_what_is_held(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    lines = (f"<http://e.x/person{i}> <http://e.x/knows> <http://e.x/person{i * 7 % 9000}> .\n" for i in range(30_000))
    (folder / "people.nt").write_text("".join(lines))
    kb = KnowledgeBase(engine="auto", tuning=IN_EXECUTORS)
    parsed = parse_files([folder], Reading(), session_of(kb).backend.far)  # type: ignore[attr-defined]
    parsed.frame.unpersist()
    estimated = dictionary_bytes(parsed.terms, parsed.text)
    estimated += sum(table_bytes(rows, pred.arity) for pred, rows in parsed.facts)
    kb.load(folder)
    assert 0.6 < estimated / held(kb) < 1.7  # the dictionary grows by doubling


def test_a_data_frame_without_room(budget: Any, spark: Any) -> None:
    """Rows of iterators that come with it are not lost."""
    budget(300 << 10)
    kb = KnowledgeBase("p(X) :- q(X).  p(X) :- r(X).", engine="auto", tuning=Tuning(spark_fetch_max_rows=10))
    kb.update(add={"r": iter([(-1,), (-2,)])}, remove={"q": spark.range(20_000), "r": iter([(-2,), (5,)])})
    assert sorted(kb.facts("p")) == [(-2,), (-1,)]
    kb.update(add={"q": spark.range(20_000)})
    assert kb.count("p") == 20_002
    assert not is_in_driver(kb)


def test_the_move_while_facts_are_added(budget: Any) -> None:
    kb = KnowledgeBase(engine="auto")
    kb.add("edge", EDGES)
    budget(held(kb))
    kb = KnowledgeBase(PROGRAM, engine="auto")
    kb.add("edge", iter(EDGES))
    assert session_of(kb).backend.capabilities.residence is not None
    kb.add("other", ((i, i + 1) for i in range(20_000)))
    assert session_of(kb).backend.capabilities.residence is None
    kb.add("edge", [("n9", "n10")])
    assert kb.count("other") == 20_000
    assert set(kb.facts("path")) == {(f"n{i}", f"n{j}") for j in range(11) for i in range(j)}
    assert not is_in_driver(kb) and "more than the driver's budget" in kb.report.engine_reason


def far_too_long(budget: Any) -> tuple[KnowledgeBase, list[tuple[int, int]]]:
    """A knowledge base with room for its facts, but not for all paths; and edges that lead to paths without room."""
    chain = [(i, i + 1) for i in range(300)]
    kb = KnowledgeBase(PROGRAM, engine="auto", schemes="standard")
    kb.add("edge", chain)
    budget(held(kb) + (200 << 10))
    return KnowledgeBase(PROGRAM, engine="auto", schemes="standard"), chain


def test_the_move_while_facts_are_derived(budget: Any) -> None:
    kb, chain = far_too_long(budget)
    kb.add("edge", chain)
    kb.materialise()
    assert not is_in_driver(kb) and "more than the driver's budget" in kb.report.engine_reason
    assert kb.count("path") == 301 * 300 // 2


@pytest.mark.parametrize("way", ["update", "add_rules"])
def test_the_move_in_a_change(way: str, budget: Any) -> None:
    """The change is exact, and what was read before it is still there."""
    kb, chain = far_too_long(budget)
    kb.add("edge", [*chain[:10], *((i, -i) for i in range(1000, 1300))])
    kb.materialise()
    assert is_in_driver(kb)
    before, earlier = kb.facts("path"), kb.update(add={"edge": [(5000, 5001)]})
    assert is_in_driver(kb)
    if way == "update":
        change = kb.update(add={"edge": iter(chain)}, remove={"edge": iter([(0, 1), (5000, 5001)])})
        assert change.removed["edge"].to_arrow().num_rows == 1  # the other one is added, too
    else:
        lines = " ".join(f"edge({a}, {b})." for a, b in chain)
        change = kb.add_rules(f"{lines} twice(X, Z) :- path(X, Y), path(Y, Z).")
    assert not is_in_driver(kb) and "more than the driver's budget" in kb.report.engine_reason
    paths = {(i, j) for j in range(301) for i in range(j)}
    assert set(change.added["path"]) == {(i, j) for i, j in paths if j > 10}
    assert set(before) == {(i, j) for i, j in paths if j <= 10} | {(i, -i) for i in range(1000, 1300)}
    assert list(earlier.added["path"]) == [(5000, 5001)] and not earlier.removed["path"]
    assert kb.update(add={"edge": [(300, 301)]}).added["path"].to_spark().count() == 301


def test_a_goal_moves_too_and_keeps_the_selector(budget: Any) -> None:
    kb, chain = far_too_long(budget)
    kb.add("edge", chain)
    selector = kb.training.selector
    kb.training.selector = selector
    assert len(kb.query("path(0, ?x)", "materialised")) == 300
    assert session_of(kb).backend.capabilities.residence is None and kb.training.selector is selector
    assert len(kb.query("path(?x, 300)", "magic")) == 300


def test_memory_is_watched_while_a_call_runs() -> None:
    """The process grows by a terabyte at each look."""
    kb = KnowledgeBase("p(X, Y) :- a(X), b(Y), X < Y, Y < 3.", engine="auto")
    for predicate in ("a", "b"):
        kb.add(predicate, [(i,) for i in range(5_000)])
    readings = count(1)
    kb.limits.resident = lambda: next(readings) << 40
    kb.materialise()
    assert not is_in_driver(kb)
    assert kb.report.engine_reason.startswith("evaluation needs more than the driver's budget of ")
    assert next(readings) < 20
    assert sorted(kb.facts("p")) == [(0, 1), (0, 2), (1, 2)]
    assert kb.limits.ceiling is None


def test_memory_is_watched_in_what_executors_offload() -> None:
    kb = KnowledgeBase("p(X, Y) :- e(X, Y).  p(X, Z) :- p(X, Y), e(Y, Z).", engine="spark", schemes="standard")
    kb.add("e", [(i, i + 1) for i in range(40)])
    readings = count(1)
    kb.limits.resident = lambda: next(readings) << 40
    kb.materialise()
    assert kb.count("p") == 41 * 40 // 2
    assert next(readings) > 2 and kb.limits.ceiling is None


@pytest.mark.parametrize(("option", "most"), [("max_facts", 30), ("timeout", 30.0), ("memory", 1)])
def test_limits_of_the_user_are_errors_and_no_reason_to_move(option: str, most: float) -> None:
    kb = KnowledgeBase(ENDLESS + "s(0).", engine="auto")
    numbers = count()
    kb.limits.clock = lambda: float(next(numbers))
    setattr(kb.limits, option, most)
    with pytest.raises(LimitReached, match=f"^materialise stopped: .*`{option}`"):
        kb.materialise()
    assert session_of(kb).backend.capabilities.residence is not None


def test_the_time_limit_is_for_both_attempts(budget: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It suffices for either of them alone."""
    moved: list[float] = []
    move = Session._move

    def noted(kb: KnowledgeBase, reason: str) -> None:
        moved.append(kb.limits.clock())
        move(kb, reason)

    def ticking(timeout: float) -> KnowledgeBase:
        kb, chain = far_too_long(budget)
        kb.add("edge", chain)
        numbers = count()
        kb.limits.clock, kb.limits.timeout = lambda: float(next(numbers)), timeout
        return kb

    monkeypatch.setattr(Session, "_move", noted)
    ticking(1e6).materialise()  # the first jobs of a JVM take longer, and the clock is read while they run
    moved.clear()
    kb = ticking(1e6)
    kb.materialise()
    (first,), second = moved, kb.limits.clock() - moved[0]
    assert min(first, second) > 10
    kb = ticking(max(first, second) + 5)
    with pytest.raises(LimitReached, match="`timeout`"):
        kb.materialise()
    assert len(moved) == 2


# Histories.


def played(seed: int, steps: int) -> None:
    story = history(seed)
    run(replace(story, options={**story.options, "engine": "auto"}, steps=story.steps[:steps]))


@pytest.mark.parametrize("seed", range(40))
def test_histories_in_the_driver_agree_with_naive(seed: int) -> None:
    played(seed, 5)


@pytest.mark.parametrize("seed", [2, 3, 6, 9, 13, 17])
def test_histories_that_move_agree_with_naive(seed: int, budget: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget is a byte too small for what the history holds at some moment, such as after its last step."""
    held, moved = [], []
    check, move = DriverResidence.check, Session._move

    def noted(residence: DriverResidence, tables: Any) -> None:
        check(residence, tables)
        held.append(residence.held)

    monkeypatch.setattr(DriverResidence, "check", noted)
    monkeypatch.setattr(Session, "_move", lambda kb, reason: (moved.append(reason), move(kb, reason)))
    played(seed, 2)
    assert not moved
    budget(held[-1] - 1 if seed % 2 else held[len(held) // 2] - 1)
    played(seed, 2)
    assert len(moved) == 1
