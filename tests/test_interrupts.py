"""Signals at any moment of a call: they are delivered, and leave nothing broken."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from deltalog import KnowledgeBase
from deltalog.core.concurrency import interrupts
from deltalog.core.concurrency.interrupts import check_interrupts, is_shielded, shielded

ROOT = Path(__file__).parent.parent
PATHS = "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z)."


class Stopped(Exception):
    """What the handler of these tests raises."""


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """The signals that a user's handler has got; it raises."""
    numbers: list[int] = []

    def handler(number: int, _: FrameType | None) -> None:
        numbers.append(number)
        raise Stopped

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGALRM)}
    yield numbers
    for number, old in before.items():
        assert signal.getsignal(number) is handler
        signal.signal(number, old)


class Context:
    """A context manager of this library, which must not be left in the middle."""

    entered = False

    def __enter__(self) -> None:
        signal.raise_signal(signal.SIGINT)
        self.entered = True

    def __exit__(self, *_: object) -> None:
        self.entered = False


def test_a_signal_is_delivered_at_once(heard: list[int]) -> None:
    @shielded
    def call() -> None:
        signal.raise_signal(signal.SIGALRM)
        raise AssertionError("the handler raises before")

    with pytest.raises(Stopped):
        call()
    assert heard == [signal.SIGALRM]


def test_a_signal_is_held_during_an_import(heard: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "signals_itself.py").write_text("import signal; signal.raise_signal(signal.SIGINT); whole = True")
    monkeypatch.syspath_prepend(tmp_path)
    found: list[Any] = []

    @shielded
    def call() -> None:
        import signals_itself  # type: ignore[import-not-found]

        found.extend((signals_itself.whole, list(heard)))
        check_interrupts()
        raise AssertionError("the check delivers the signal")

    with pytest.raises(Stopped):
        call()
    assert found == [True, []]
    assert heard == [signal.SIGINT]


def test_a_signal_is_held_while_a_context_is_entered(heard: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_PAIRED_MODULES", frozenset({__name__.partition(".")[0]}))
    context, entered = Context(), []

    @shielded
    def call() -> None:
        with context:
            entered.append(context.entered)

    with pytest.raises(Stopped):  # at the end of the call
        call()
    assert entered == [True] and not context.entered
    assert heard == [signal.SIGINT]


def test_a_handler_that_does_not_raise_is_called(heard: list[int]) -> None:
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(-number))
    shielded(signal.raise_signal)(signal.SIGINT)
    signal.signal(signal.SIGINT, before)
    assert heard == [-signal.SIGINT]


def test_a_handler_that_is_replaced_during_a_call_stays(heard: list[int]) -> None:
    before = signal.getsignal(signal.SIGINT)
    shielded(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))()
    assert signal.signal(signal.SIGINT, before) == signal.SIG_IGN


def test_nested_calls_are_one(heard: list[int]) -> None:
    inner = shielded(is_shielded)
    assert shielded(lambda: (inner(), is_shielded()))() == (True, True)
    assert not is_shielded()


def test_other_threads_have_no_shield(heard: list[int]) -> None:
    found: list[object] = []
    thread = threading.Thread(target=shielded(lambda: found.append(signal.getsignal(signal.SIGINT))))
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT)]


def test_a_destructor_loses_no_signal(heard: list[int]) -> None:
    class Dropped:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    @shielded
    def call() -> None:
        Dropped()

    with pytest.raises(Stopped):
        call()


def test_a_signal_inside_of_numba_is_held(heard: list[int]) -> None:
    """The handler of an event of Numba's runs inside of it, as code that compiles does."""
    from numba import njit
    from numba.core import event

    class Listener:
        def notify(self, _: object) -> None:
            signal.raise_signal(signal.SIGINT)

    event.Listener.register(Listener)
    results: list[int] = []

    @shielded
    def call() -> None:
        with event.install_listener("numba:compile", Listener()):  # type: ignore[arg-type]
            results.append(njit(lambda x: x + 1)(1))

    with pytest.raises(Stopped):
        call()
    assert results == [2]


# Whatever a public call imports is imported while it is shielded.


def save_and_open(kb: KnowledgeBase, folder: Path) -> None:
    kb.save(folder)
    kb.close()
    KnowledgeBase.open(folder).close()


CALLS: dict[str, Callable[[KnowledgeBase, Path], object]] = {
    "update": lambda kb, _: repr(kb.update(add={"edge": [(7, 8)]})),
    "difference": lambda kb, _: kb.update(add={"edge": [(8, 9)]})._repr_html_(),
    "rules": lambda kb, _: (kb.add_rules("q(X) :- edge(X, X)."), kb.remove_rules("q(X) :- edge(X, X).")),
    "facts": lambda kb, _: (list(kb.facts("path")), (1, 2) in kb.facts("path"), list(kb.facts("path").lines())),
    "tables": lambda kb, _: (kb.facts("path").to_arrow(), kb.facts("path")._repr_html_()),
    "goals": lambda kb, _: [list(kb.query("path(1, ?x)", how)) for how in ("auto", "magic", "qsqr", "materialised")],
    "sparql": lambda kb, _: kb.sparql("SELECT * {?x <edge> ?y} ORDER BY ?x").to_json(),  # type: ignore[union-attr]
    "sparql update": lambda kb, _: kb.sparql_update("INSERT DATA {<a> <edge> <b>}"),
    "explain": lambda kb, _: [kb.explain("path(1, 3)").to_svg(), str(kb.explain("path(3, 1)"))],
    "what if": lambda kb, _: (kb.what_if(add={"edge": [(5, 5)]}), kb.consequences("edge(1, 2)")),
    "plan": lambda kb, _: (kb.plan(), kb.draw(), kb.report, kb.warnings, kb._repr_html_()),
    "store": lambda kb, folder: save_and_open(kb, folder / "s"),
    "files": lambda kb, folder: (kb.write(folder / "o", format="parquet"), kb.load(folder / "o" / "edge.parquet")),
}


@pytest.mark.parametrize("name", CALLS)
def test_imports_are_shielded(name: str) -> None:
    command = [sys.executable, __file__, name]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=ROOT, check=False)
    assert (run.stdout, run.returncode) == ("", 0), run.stdout + run.stderr


def report_imports(name: str) -> None:
    """Prints the imports of a call that are not shielded."""
    from tempfile import TemporaryDirectory

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "import" and not is_shielded():
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and not frame.f_globals["__name__"].startswith("deltalog"):
                frame = frame.f_back
            if frame is not None:
                print(f"{arguments[0]} by {frame.f_globals['__name__']}.{frame.f_code.co_name}")

    sys.addaudithook(hear)
    kb = KnowledgeBase(PATHS)
    kb.add("edge", [(1, 2), (2, 3)])
    with TemporaryDirectory() as folder:
        CALLS[name](kb, Path(folder))


# A sample of `tests.campaigns.signals`, with signals after so many calls of functions.


@pytest.mark.parametrize("seed", range(3))
def test_signals_at_any_moment(seed: int) -> None:
    command = [sys.executable, "-m", "tests.campaigns.signal_history", str(seed), "100", "--by", "calls"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=1200, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout.split()[0]) >= 100


if __name__ == "__main__":
    report_imports(sys.argv[1])
