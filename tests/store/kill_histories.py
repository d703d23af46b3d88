"""Random histories of a store whose writer is killed again and again.

A history is a list of actions, drawn from a seed: changes of facts and rules (as in `tests.property`), compactions,
reopenings with other settings, saves to another folder. A child process acts and acknowledges each action on a pipe;
the parent kills it with SIGKILL at a random moment, opens the store, and compares explicit and derived facts, rules
with their ids, and the version, with the naive engine on what was acknowledged, plus at most the one action that was
under way. Then the next child goes on from there. Now and then a copy of the store loses SQLite's log, or a part of it:
versions that were acknowledged must not go missing without a word.

`Ledger` is what the store should have, kept without deltalog's maintenance or its rule sets.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from deltalog import DataError, KnowledgeBase, ProgramError, UsageError
from deltalog.core.rules import Rule
from deltalog.core.terms import key
from deltalog.core.tuning import Tuning
from deltalog.evaluation.facts import of_predicate
from deltalog.extensions.store.verify import repair, verify
from deltalog.knowledge_base.calls import session_of
from deltalog.program import analyse
from tests.property.history_generator import CYCLIC, MAINTENANCE, SCHEMES, history
from tests.property.history_model import PREFIX, TUNINGS, Step, is_rule, parsed, rows
from tests.property.history_player import Facts, everything, from_scratch
from tests.store.stored_contents import MEMORY as MEMORY

STEPS = 400  # more than children live to see
PATIENCE_SECONDS = 60.0


class Action(NamedTuple):
    """`change`, `compact`, `reopen` or `save`."""

    kind: str
    step: Step | None = None
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Ledger:
    """A version, as it should be."""

    version: int = 1
    folder: int = 0  # the number of the folder
    rules: tuple[Rule, ...] = ()
    facts: frozenset[str] = frozenset()
    numbers: tuple[Rule, ...] = ()  # all rules there ever were

    def after(self, action: Action) -> Ledger:
        if action.kind == "save":
            return replace(self, folder=self.folder + 1, version=1)
        if action.step is None:
            return self
        return self._changed(action.step)

    def _changed(self, step: Step) -> Ledger:
        gone = [line for line in step.remove if line not in step.add]
        gone_rules = [parsed(line) for line in gone if is_rule(line)]
        if not set(gone_rules) <= set(self.rules):
            return self  # refused
        rules = [rule for rule in self.rules if rule not in gone_rules]
        rules += [r for r in dict.fromkeys(map(parsed, filter(is_rule, step.add))) if r not in rules]
        facts = self.facts.difference(gone) | {line for line in step.add if not is_rule(line)}
        if not _is_stratified(rules):
            return self
        if rules == list(self.rules) and facts == self.facts:
            return self
        numbers = tuple(dict.fromkeys((*self.numbers, *rules)))
        return replace(self, version=self.version + 1, rules=tuple(rules), facts=facts, numbers=numbers)

    @property
    def ids(self) -> dict[str, Rule]:
        return {f"r{self.numbers.index(rule) + 1}": rule for rule in self.rules}

    def expected(self) -> Facts:
        return from_scratch([str(rule) for rule in self.rules], self.facts)

    def explicit(self) -> Facts:
        found: Facts = {}
        for name, given in rows(self.facts).items():
            bare = name.removesuffix(f"/{len(given[0])}")
            found[bare, len(given[0])] = {tuple(map(key, row)) for row in given}  # type: ignore[arg-type]
        return found


def _is_stratified(rules: Sequence[Rule]) -> bool:
    try:
        analyse(rules)
    except ProgramError:
        return False
    return True


def _options(random: Random) -> tuple[tuple[str, Any], ...]:
    """Settings of one opening: others than those that were saved, now and then."""
    thresholds = {
        **TUNINGS[random.choice(sorted(TUNINGS))],
        "store_max_changes": random.choice((1, 2, 3, 5, 1000)),
        "store_kept_snapshots": random.choice((1, 2, 3)),
        "compact_delta_share": random.choice((0.0, 0.5, 2.0)),
        "store_spare_ids": random.choice((1, 4096)),
        "store_part_bytes": random.choice((100, 1000, 1 << 20)),
    }
    chosen: dict[str, Any] = {"tuning": Tuning(**thresholds)}  # type: ignore[arg-type]
    if random.random() < 0.4:
        chosen["maintenance"] = random.choice(MAINTENANCE)
        chosen["schemes"] = random.choice(SCHEMES)
        chosen["cyclic"] = random.choice(CYCLIC)
    if random.random() < 0.1:
        chosen["engine"] = "naive"
    return tuple(chosen.items())


@dataclass
class StoreHistory:
    """The history of a seed, in a folder. `play` kills so many children."""

    seed: int
    place: Path
    kills: int = 0
    versions: int = 0  # that were compared
    unacknowledged: int = 0  # actions under way that were found to be made
    done: int = 0  # actions that are sure
    lost_logs: int = 0  # that were noticed, in copies
    _ledgers: list[Ledger] = field(default_factory=list)  # after so many actions

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.history = history(self.seed, STEPS)
        self.actions = [action for step in self.history.steps for action in self._actions(step)]
        first = tuple(dict.fromkeys(map(parsed, self.history.rules)))
        self._ledgers.append(Ledger(rules=first, facts=frozenset(self.history.facts), numbers=first))

    def _actions(self, step: Step) -> Iterator[Action]:
        yield Action("change", step)
        choice = self.random.random()
        if choice < 0.12:
            yield Action("compact", options=(("keep", self.random.choice((1, 1, 2))),))
        elif choice < 0.2:
            yield Action("reopen", options=_options(self.random))
        elif choice < 0.22:
            yield Action("save")

    # The parent.

    def play(self, kills: int) -> None:
        self._create()
        while self.kills < kills:
            self._kill_one()
            self.kills += 1

    def _create(self) -> None:
        history = self.history
        kb = KnowledgeBase(PREFIX + "\n".join(history.rules), **history.options)  # type: ignore[arg-type]
        for predicate, found in rows(sorted(history.facts)).items():
            kb.add(predicate, found)
        kb.save(self._folder(0))
        kb.close()

    def _folder(self, number: int) -> Path:
        return self.place / f"store{number}"

    def _ledger(self, done: int) -> Ledger:
        while len(self._ledgers) <= done:
            self._ledgers.append(self._ledgers[-1].after(self.actions[len(self._ledgers) - 1]))
        return self._ledgers[done]

    def _kill_one(self) -> None:
        options = _options(self.random)
        reads, writes = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os.close(reads)
            _Child(self, writes, dict(options)).run()
        os.close(writes)
        try:
            acknowledged = self._wait(reads)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        acknowledged += _rest(reads)
        os.close(reads)
        self._compare(acknowledged)

    def _wait(self, reads: int) -> bytes:
        """What a child has acknowledged when its time has come."""
        lines, found = self.random.choice((0, 1, 1, 2, 3, 4, 6, 9)), b""
        until = time.monotonic() + PATIENCE_SECONDS
        while found.count(b"\n") < lines and time.monotonic() < until:
            part = os.read(reads, 1 << 16)
            if not part:
                break
            found += part
        time.sleep(self.random.choice((0.0, 0.0005, 0.002, 0.008, 0.03)) * self.random.random() * (1 if lines else 3))
        return found

    def _compare(self, acknowledged: bytes) -> None:
        assert not acknowledged.startswith(b"!"), self._wrong(acknowledged.decode())
        *lines, _ = acknowledged.decode().split("\n")
        trouble = [line for line in lines if line.startswith("!")]
        assert not trouble, self._wrong("\n".join(trouble).replace("\\n", "\n"))
        for line in filter(None, lines):
            done, version = map(int, line.split())
            assert done in (self.done, self.done + 1), self._wrong(f"{done} after {self.done}")
            self.done = done
            assert version == self._ledger(done).version, self._wrong(f"version {version} acknowledged")
        self._find()

    def _find(self) -> None:
        """Opens what is there, and compares it with what was acknowledged, or under way."""
        sure, perhaps = self._ledger(self.done), self._ledger(self.done + 1)
        saved = perhaps.folder != sure.folder and self._folder(perhaps.folder).exists()
        folder = self._folder(perhaps.folder if saved else sure.folder)
        self._lose_log(folder, perhaps if saved else sure)
        with KnowledgeBase.open(folder, **dict(_options(self.random))) as kb:  # type: ignore[arg-type]
            assert kb.version in (sure.version, perhaps.version), self._wrong(f"version {kb.version} found")
            made = saved or (perhaps.version != sure.version and kb.version == perhaps.version)
            self._same(kb, perhaps if made else sure)
        if made:
            self.done += 1
            self.unacknowledged += 1
        self._find_older(folder)
        report = verify(folder)
        assert report.is_sound, self._wrong(str(report))

    def _lose_log(self, folder: Path, sure: Ledger) -> None:
        """Removes the log of a copy, or cuts it: versions that were acknowledged are there, or said to be missing."""
        log = self.place / "copy" / "catalog.db-wal"
        if self.random.random() < 0.5 or not (folder / log.name).exists():
            return
        shutil.copytree(folder, log.parent)
        if self.random.random() < 0.3:
            log.unlink()
        else:
            os.truncate(log, self.random.randint(0, log.stat().st_size))
        try:
            with KnowledgeBase.open(log.parent, readonly=True) as kb:
                assert (kb.version or 0) >= sure.version, self._wrong(f"without its log, version {kb.version}")
                if kb.version == sure.version:
                    self._same(kb, sure)
        except DataError:
            self.lost_logs += 1
            assert not verify(log.parent).is_sound, self._wrong("it cannot be opened, but is sound")
            repaired = repair(log.parent)
            assert verify(log.parent).is_sound, self._wrong(str(repaired))
            with KnowledgeBase.open(log.parent) as kb:
                assert (kb.version or 0) >= sure.version, self._wrong(f"repaired to version {kb.version}")
        shutil.rmtree(log.parent)

    def _find_older(self, folder: Path) -> None:
        """One of the other versions that can be opened."""
        now = self._ledger(self.done)
        known = {one.version: one for one in self._ledgers[: self.done + 1] if one.folder == now.folder}
        version = self.random.choice(sorted(known))
        try:
            kb = KnowledgeBase.open(folder, version=version)
        except UsageError as problem:
            assert "has dropped those before" in str(problem), self._wrong(str(problem))
            return
        with kb:
            self._same(kb, known[version])

    def _same(self, kb: KnowledgeBase, ledger: Ledger) -> None:
        assert kb.version == ledger.version, self._wrong(f"version {kb.version}")
        assert kb.rule_ids == ledger.ids, self._wrong(f"rules {kb.rule_ids} and not {ledger.ids}")
        explicit = _explicit(kb)
        assert explicit == ledger.explicit(), self._wrong(f"explicit facts {explicit} and not {ledger.explicit()}")
        found, expected = everything(kb), ledger.expected()
        assert found == expected, self._wrong(f"facts {found} and not {expected}")
        self.versions += 1

    def _wrong(self, what: str) -> str:
        last = "\n".join(map(str, self.actions[max(0, self.done - 3) : self.done + 2]))
        return f"seed {self.seed}, kill {self.kills}, action {self.done}: {what}\n{last}\n{self.place}"


def _explicit(kb: KnowledgeBase) -> Facts:
    found: Facts = {}
    for pred, table in session_of(kb).state.explicit.items():
        given = {tuple(map(key, row)) for row in of_predicate(pred, table, session_of(kb).backend)}
        if given:
            found[pred.name, pred.arity] = given
    return found


def _rest(reads: int) -> bytes:
    found = b""
    while select.select([reads], [], [], 0)[0]:
        part = os.read(reads, 1 << 16)
        if not part:
            break
        found += part
    return found


class _Child:
    """The process that acts."""

    def __init__(self, history: StoreHistory, pipe: int, options: dict[str, Any]) -> None:
        self.history, self.pipe, self.options = history, pipe, options
        self.done = history.done
        self.folder = history._ledger(self.done).folder

    def run(self) -> None:
        try:
            warnings.simplefilter("ignore")
            self.kb = KnowledgeBase.open(self.history._folder(self.folder), **self.options)
            self._acknowledge()
            for action in self.history.actions[self.done :]:
                self._act(action)
                self.done += 1
                self._acknowledge()
            signal.pause()
        except BaseException:
            os.write(self.pipe, ("!" + traceback.format_exc().replace("\n", "\\n") + "\n").encode())
        finally:
            os._exit(1)

    def _acknowledge(self) -> None:
        os.write(self.pipe, f"{self.done} {self.kb.version}\n".encode())

    def _act(self, action: Action) -> None:
        if action.step is not None:
            self._change(action.step)
        elif action.kind == "compact":
            self.kb.compact(**dict(action.options))
        elif action.kind == "reopen":
            self.kb.close()
            self.kb = KnowledgeBase.open(self.history._folder(self.folder), **dict(action.options))
        else:
            self.folder += 1
            self.kb.save(self.history._folder(self.folder))

    def _change(self, step: Step) -> None:
        text = PREFIX + "\n".join(step.add or step.remove)
        try:
            if step.kind == "update":
                self.kb.update(rows(step.add), rows(step.remove))
            elif step.kind == "add_rules":
                self.kb.add_rules(text)
            else:
                self.kb.remove_rules(text)
        except (ProgramError, UsageError):
            pass  # refused: the parent finds that nothing has changed
