"""A process that gets signals at random moments of public calls, and checks after each that nothing is broken.

python -m tests.campaigns.signal_history SEED SIGNALS [--by timer|calls]

Every call is made again and again while signals come; each ends it or comes too late. Then the same call without
signals must succeed, and the facts must be those of a plain model of the change: made, or not made. There are two kinds
of signals: SIGINT, which raises KeyboardInterrupt, and SIGALRM, whose handler raises an ordinary exception, as those of
timeouts do.

`--by timer`: a timer of the system sends them, microseconds to milliseconds after the call has begun. `--by calls`: the
process sends them to itself after so many calls of functions, which does not depend on time: a history of a seed is
the same on each machine.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NamedTuple, Protocol

from deltalog import IRI, KnowledgeBase

NODES = 12
RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
reached(?x, ?c) :- AGGREGATE(path(?x, ?y) ON ?x BIND COUNT(?y) AS ?c) .
start(?x) :- edge(?x, ?y), NOT path(?y, ?x) .
tied(?x, ?y) :- [?x, <http://e/link>, ?y] .
"""
BACK = "back(?y, ?x) :- edge(?x, ?y) ."
ONTOLOGY = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://e/link> rdfs:domain <http://e/Linked> .
"""
BURST = 24  # signals before the facts are compared
WAIT_SECONDS = 60

Row = tuple[Any, ...]


class TimedOut(Exception):
    """What a user's handler of SIGALRM raises."""


class Broken(Exception):
    """Something is wrong after a signal."""


# The model.


@dataclass(frozen=True)
class Model:
    """What the user has stated."""

    edges: frozenset[tuple[int, int]] = frozenset()
    links: frozenset[tuple[str, str]] = frozenset()
    has_back: bool = False
    has_ontology: bool = False

    def facts(self) -> dict[str, set[Row]]:
        """All facts, by their definition."""
        path = closure(self.edges)
        found: dict[str, set[Row]] = {
            "edge": set(self.edges),
            "path": set(path),
            "reached": {(x, sum(1 for a, _ in path if a == x)) for x, _ in path},
            "start": {(x,) for x, y in self.edges if (y, x) not in path},
            "tied": {(IRI(x), IRI(y)) for x, y in self.links},
            "back": {(y, x) for x, y in self.edges} if self.has_back else set(),
            "http://e/Linked": {(IRI(x),) for x, _ in self.links} if self.has_ontology else set(),
        }
        return {name: rows for name, rows in found.items() if rows}


@cache
def closure(edges: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    found = set(edges)
    while new := {(x, z) for x, y in found for a, z in edges if a == y} - found:
        found |= new
    return frozenset(found)


# Signals.


class Signals(Protocol):
    """Where signals come from, one at a time."""

    def arm(self, number: int) -> None:
        """Sends a signal at some moment from now on."""

    def disarm(self) -> None:
        """Sends none any more."""


class _Event(ctypes.Structure):
    _fields_ = [
        ("value", ctypes.c_void_p),
        ("signo", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("pad", ctypes.c_int * 12),
    ]


class _Times(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("every", "every_nanoseconds", "after", "after_nanoseconds")]


class TimerSignals:
    """Timers of POSIX, one a kind of signals, which need no thread and wait for no lock of Python."""

    def __init__(self, random: Random) -> None:
        self._random, self._libc = random, ctypes.CDLL(None, use_errno=True)
        self._timers: dict[int, ctypes.c_void_p] = {}

    def arm(self, number: int) -> None:
        seconds = 10 ** self._random.uniform(-4.7, -2.2)
        self._set(number, int(seconds * 1e9))

    def disarm(self) -> None:
        for number in self._timers:
            self._set(number, 0)

    def _set(self, number: int, nanoseconds: int) -> None:
        if number not in self._timers:
            timer = self._timers[number] = ctypes.c_void_p()
            if self._libc.timer_create(1, ctypes.byref(_Event(None, number, 0)), ctypes.byref(timer)):
                raise OSError(ctypes.get_errno(), "timer_create")
        times = _Times(0, 0, nanoseconds // 10**9, nanoseconds % 10**9)
        self._libc.timer_settime(self._timers[number], 0, ctypes.byref(times), None)


class CountedSignals:
    """Signals after so many calls and returns of functions."""

    def __init__(self, random: Random) -> None:
        self._random, self._left = random, 0

    def arm(self, number: int) -> None:
        self._left, self._number = int(10 ** self._random.uniform(0, 4.3)), number
        sys.setprofile(self._count)

    def disarm(self) -> None:
        sys.setprofile(None)

    def _count(self, _frame: FrameType, _event: str, _what: Any) -> None:
        self._left -= 1
        if not self._left:
            signal.raise_signal(self._number)


class Attempt(NamedTuple):
    """What became of a call."""

    result: Any
    is_done: bool


# Histories.


class Operation(NamedTuple):
    """A public call; the model after it; and what it must return, if that is compared."""

    name: str
    call: Callable[[], Any]
    after: Model
    expected: Any = None


@dataclass
class SignalHistory:
    """Calls of one knowledge base, and what must be true of it."""

    seed: int
    folder: Path
    signals: Signals
    count: int = 0  # signals whose handlers ran
    stopped: int = 0  # calls that a signal ended
    calls: int = 0
    model: Model = field(default_factory=Model)
    _armed: bool = False

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self._number = 0
        (self.folder / "axioms.ttl").write_text(ONTOLOGY)
        (self.folder / "in").mkdir()
        (self.folder / "in" / "edge.csv").write_text("0,1\n1,2\n")
        signal.signal(signal.SIGINT, self._handle)
        signal.signal(signal.SIGALRM, self._handle)
        self.kb = KnowledgeBase(RULES)

    def _handle(self, number: int, _: FrameType | None) -> None:
        self.count += 1
        if self._armed:
            self._armed = False
            raise KeyboardInterrupt if number == signal.SIGINT else TimedOut

    def play(self, signals: int) -> None:
        """Calls until so many signals have come."""
        while self.count < signals:
            self.step(self.random.choice(OPERATIONS)(self))

    def step(self, operation: Operation) -> None:
        """A call during which signals come, and then once more without them."""
        models, is_done = {self.model}, False
        for _ in range(BURST):
            attempt = self._attempt(operation)
            models.add(operation.after)
            if attempt.is_done:
                is_done = True
                self._check_result(operation, attempt.result)
                break
        self._compare(operation.name, {operation.after} if is_done else models)
        try:
            result = operation.call()
        except Exception as error:
            raise Broken(f"{operation.name}: a later call without a signal: {type(error).__name__}: {error}") from error
        self._check_result(operation, result)
        self._compare(operation.name, {operation.after})
        if not self.random.randrange(8):
            self._check_other_thread(operation.name)

    def _attempt(self, operation: Operation) -> Attempt:
        self.calls += 1
        number = self.random.choice((signal.SIGINT, signal.SIGALRM))
        try:
            self._armed = True
            self.signals.arm(number)
            result = operation.call()
            self._armed = False
            return Attempt(result, True)
        except (KeyboardInterrupt, TimedOut):
            self.stopped += 1
            return Attempt(None, False)
        except Exception as error:
            raise Broken(f"{operation.name}: in place of the signal's: {type(error).__name__}: {error}") from error
        finally:
            self._armed = False
            self.signals.disarm()
            self._check_handlers(operation.name)

    def _check_handlers(self, name: str) -> None:
        if signal.getsignal(signal.SIGINT) != self._handle or signal.getsignal(signal.SIGALRM) != self._handle:
            raise Broken(f"{name}: the handlers of the user are not back in place")

    def _check_result(self, operation: Operation, result: Any) -> None:
        if operation.expected is not None and result != operation.expected:
            raise Broken(f"{operation.name}: {result!r}, expected {operation.expected!r}")

    def _compare(self, name: str, models: Iterable[Model]) -> None:
        """The facts are those of one of the models, which is the present one from now on."""
        found = visible(self.kb)
        for model in models:
            if model.facts() == found:
                self.model = model
                return
        raise Broken(f"{name}: facts {found}, expected {[model.facts() for model in models]}")

    def _check_other_thread(self, name: str) -> None:
        """No lock is still held, and no deadline."""
        self.kb.limits.timeout = WAIT_SECONDS
        thread = threading.Thread(target=lambda: self.kb.count("edge"), daemon=True)
        thread.start()
        thread.join(WAIT_SECONDS)
        self.kb.limits.timeout = None
        if thread.is_alive():
            raise Broken(f"{name}: another thread waits for ever")

    def fresh(self, name: str) -> Path:
        self._number += 1
        return self.folder / f"{name}{self._number}"


def visible(kb: KnowledgeBase) -> dict[str, set[Row]]:
    """The facts by predicate, as far as the model has them."""
    names = ("edge", "path", "reached", "start", "tied", "back", "http://e/Linked")
    known = set(kb.predicates)
    return {name: rows for name in names if name in known and (rows := set(kb.facts(name)))}


# Operations: each draws a call.


def some_edges(history: SignalHistory) -> frozenset[tuple[int, int]]:
    random = history.random
    return frozenset((random.randrange(NODES), random.randrange(NODES)) for _ in range(random.randint(1, 4)))


def old_edges(history: SignalHistory) -> frozenset[tuple[int, int]]:
    edges = sorted(history.model.edges)
    return frozenset(history.random.sample(edges, min(len(edges), history.random.randint(1, 6))))


def update(history: SignalHistory) -> Operation:
    add, remove = some_edges(history), old_edges(history)
    after = replace(history.model, edges=(history.model.edges - remove) | add)
    return Operation("update", lambda: _none(history.kb.update(add={"edge": add}, remove={"edge": remove})), after)


def add(history: SignalHistory) -> Operation:
    edges = some_edges(history)
    after = replace(history.model, edges=history.model.edges | edges)
    return Operation("add", lambda: history.kb.add("edge", list(edges)), after)


def remove(history: SignalHistory) -> Operation:
    edges = old_edges(history)
    after = replace(history.model, edges=history.model.edges - edges)
    return Operation("remove", lambda: history.kb.remove("edge", list(edges)), after)


def load(history: SignalHistory) -> Operation:
    after = replace(history.model, edges=history.model.edges | {(0, 1), (1, 2)})
    return Operation("load", lambda: history.kb.load(history.folder / "in"), after)


def rules(history: SignalHistory) -> Operation:
    has = history.model.has_back
    change = history.kb.remove_rules if has else history.kb.add_rules

    def call() -> None:
        if ("back" in repr(history.kb.rules)) == has:
            change(BACK)

    return Operation("remove_rules" if has else "add_rules", call, replace(history.model, has_back=not has))


def ontology(history: SignalHistory) -> Operation:
    has = history.model.has_ontology
    change = history.kb.remove_ontology if has else history.kb.load_ontology

    def call() -> None:
        if ("Linked" in repr(history.kb.rules)) == has:
            change(history.folder / "axioms.ttl")

    return Operation("remove_ontology" if has else "load_ontology", call, replace(history.model, has_ontology=not has))


def sparql_update(history: SignalHistory) -> Operation:
    pair = tuple(f"http://e/{history.random.randrange(4)}" for _ in range(2))
    verb = history.random.choice(("INSERT", "DELETE"))
    links = history.model.links | {pair} if verb == "INSERT" else history.model.links - {pair}  # type: ignore[operator]
    text = f"{verb} DATA {{<{pair[0]}> <http://e/link> <{pair[1]}>}}"
    return Operation(
        "sparql_update", lambda: _none(history.kb.sparql_update(text)), replace(history.model, links=links)
    )


def materialise(history: SignalHistory) -> Operation:
    return Operation("materialise", lambda: _none(history.kb.materialise()), history.model)


def query(history: SignalHistory) -> Operation:
    node, method = history.random.randrange(NODES), history.random.choice(("auto", "magic", "qsqr", "materialised"))
    right = {(y,) for x, y in closure(history.model.edges) if x == node}
    return Operation(
        f"query {method}", lambda: set(history.kb.query(f"path({node}, ?y)", method)), history.model, right
    )


def sparql(history: SignalHistory) -> Operation:
    method = history.random.choice(("auto", "magic", "materialised"))
    text = "SELECT ?x ?y {?x <http://e/link>+ ?y} ORDER BY ?x"
    right = {(IRI(x), IRI(y)) for x, y in closure(history.model.links)}  # type: ignore[arg-type]
    return Operation(f"sparql {method}", lambda: set(history.kb.sparql(text, method)), history.model, right)  # type: ignore[arg-type]


def explain(history: SignalHistory) -> Operation:
    x, y = history.random.randrange(NODES), history.random.randrange(NODES)

    def call() -> bool:
        explanation = history.kb.explain(f"path({x}, {y})")
        return explanation.holds and bool(explanation.text())

    return Operation("explain", call, history.model, (x, y) in closure(history.model.edges))


def what_if(history: SignalHistory) -> Operation:
    edges = some_edges(history)
    right = closure(history.model.edges | edges) - closure(history.model.edges)
    return Operation(
        "what_if", lambda: set(history.kb.what_if(add={"edge": edges}).added.get("path", ())), history.model, set(right)
    )


def save_and_open(history: SignalHistory) -> Operation:
    """The store of a save that was stopped has the facts, or is not one."""

    def call() -> Any:
        folder = history.fresh("store")
        copy = history.kb.frozen()
        copy.save(folder)
        copy.close()
        with KnowledgeBase.open(folder) as kb:
            kb.update(add={"edge": [(0, 0)]})
            return set(kb.facts("edge"))

    return Operation("save and open", call, history.model, set(history.model.edges) | {(0, 0)})


def tables(history: SignalHistory) -> Operation:
    def call() -> set[Row]:
        table = history.kb.facts("edge").to_arrow()
        return set(zip(*(column.to_pylist() for column in table.columns), strict=True))

    return Operation("to_arrow", call, history.model, set(history.model.edges))


def write(history: SignalHistory) -> Operation:
    def call() -> int:
        folder = history.fresh("out")
        history.kb.write(folder, format=history.random.choice(("csv", "parquet")))
        kb = KnowledgeBase()
        kb.load(*(path for path in folder.iterdir() if path.name.startswith("edge.")))
        return kb.count("edge") if history.model.edges else 0

    return Operation("write and load", call, history.model, len(history.model.edges))


def plans(history: SignalHistory) -> Operation:
    def call() -> bool:
        return bool(history.kb.plan() and history.kb.draw() and history.kb._repr_html_() and history.kb.metrics)

    return Operation("plan", call, history.model, True)


def new(history: SignalHistory) -> Operation:
    def call() -> set[Row]:
        kb = KnowledgeBase(RULES)
        kb.add("edge", list(history.model.edges))
        return set(kb.facts("path"))

    return Operation("KnowledgeBase", call, history.model, set(closure(history.model.edges)))


OPERATIONS = (
    *(update,) * 6,
    *(query,) * 4,
    *(rules, sparql, sparql_update) * 2,
    *(add, remove, load, ontology, materialise, explain, what_if, save_and_open, tables, write, plans, new),
)


def _none(_: object) -> None:
    """The result of a change is not compared: the facts are."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Sends signals to this process, and checks what is left.")
    parser.add_argument("seed", type=int)
    parser.add_argument("signals", type=int)
    parser.add_argument("--by", choices=("timer", "calls"), default="timer")
    options = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    random = Random(-options.seed)
    with TemporaryDirectory() as folder:
        sender: Signals = TimerSignals(random) if options.by == "timer" else CountedSignals(random)
        history = SignalHistory(options.seed, Path(folder), sender)
        try:
            history.play(options.signals)
        finally:
            print(history.count, history.stopped, history.calls, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
