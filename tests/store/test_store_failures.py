"""Failures and crashes at every write, flush and rename of a store's files.

A failure is an error of the system, ENOSPC or EIO. A crash ends the process at once; with it, what was not flushed is
gone: files are cut to what was flushed, and names that their folder was not flushed with are as they were before.
"""

from __future__ import annotations

import errno
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from stored_contents import MEMORY, Contents, contents, exit_code, opened, small_store

from deltalog import DataError, KnowledgeBase
from deltalog.core.tuning import Tuning
from deltalog.extensions.store import files
from deltalog.extensions.store.verify import verify

CALLS = ("create", "write", "extend", "sync", "sync_data", "sync_folder", "rename")
ACKNOWLEDGING = 2  # calls of an update before its snapshot: the version is written, and flushed
CRASHED = 9
AT_ONCE = Tuning(store_max_changes=1, store_kept_snapshots=1)


class Shim:
    """Counts calls of `files`, and does something at one of them instead."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int, act: Callable[[], None]) -> None:
        self.calls, self._at, self._act = 0, at, act
        for name in CALLS:
            patch.setattr(files, name, self._counted(name, getattr(files, name)))

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self.calls += 1
            if self.calls == self._at:
                self._act()
            result = call(*arguments)
            self.note(name, arguments, result)
            return result

        return counted

    def note(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        """What a call has done."""


# What can fail.


def compact(kb: KnowledgeBase, _: Path) -> None:
    kb.compact()


def save(kb: KnowledgeBase, place: Path) -> None:
    kb.save(place / "deep" / "er" / "t")


def save_here(kb: KnowledgeBase, place: Path) -> None:
    (place / "t").mkdir()
    kb.save(place / "t")


def update(kb: KnowledgeBase, _: Path) -> None:
    """With a snapshot."""
    kb.update(add={"node": [("new",)]})


ACTIONS = (compact, save, save_here, update)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder with a store."""
    with TemporaryDirectory(dir=MEMORY) as folder:
        with small_store(Path(folder) / "first" / "s") as kb:
            kb.update(add={"edge": [("x", "y")]})
        yield Path(folder) / "first"


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)
def test_failures(place: Path, action: Callable[[KnowledgeBase, Path], None]) -> None:
    at, failed = 0, 0
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        while True:
            at += 1
            code = (errno.ENOSPC, errno.EIO)[at % 2]
            folder = shutil.copytree(place, place.parent / f"{action.__name__}-{at}")
            kb = KnowledgeBase.open(folder / "s", tuning=AT_ONCE if action is update else None)
            before, problem = contents(kb), ""

            def fail(code: int = code) -> None:
                raise OSError(code, os.strerror(code))

            with pytest.MonkeyPatch.context() as patch:
                shim = Shim(patch, at, fail)
                try:
                    action(kb, folder)
                except DataError as raised:
                    problem = str(raised)
            done = shim.calls < at
            failed += bool(problem)
            after = contents(kb)
            if action is update:
                assert ("the change was made as version 3" in problem) == (at <= ACKNOWLEDGING), problem
                assert after.version == 3
                expected = max(0, (at - 1 if done else at) - ACKNOWLEDGING)
                assert len(warned) == expected, at  # a snapshot that fails is a warning, as the change is made
            elif not done:
                assert os.strerror(code) in problem, (at, problem)
                assert after == before
                assert not list((folder / "s" / "snapshots").glob("*.unfinished"))
                check_after(kb, folder, problem)
            kb.update(add={"node": [("after it",)]})
            kb.close()
            shutil.rmtree(folder)
            if done:
                break
    assert at > 10
    assert action is update or failed == at - 1


def check_after(kb: KnowledgeBase, folder: Path, problem: str) -> None:
    """After a failure the store is sound, and the same can be done again."""
    assert opened(folder / "s") == contents(kb)
    assert verify(folder / "s").is_sound
    kb.compact()
    assert opened(folder / "s") == contents(kb)
    assert ".partial" not in problem
    if not (folder / "t").exists() or not any((folder / "t").iterdir()):
        version = kb.version
        kb.save(folder / "t")
        assert (version, kb.version) == (2, 1)


class Disk(Shim):
    """What of the files is on disk. `lose` throws the rest away."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int, with_names: bool) -> None:
        super().__init__(patch, at, self._crash)
        self._with_names = with_names
        self._flushed: dict[Path, int] = {}
        self._new: list[Path] = []  # names that are not on disk
        self._moved: list[tuple[Path, Path]] = []

    def note(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        if name == "create":
            self._flushed[arguments[0]] = 0
            self._new.append(arguments[0])
        elif name in ("sync", "sync_data"):
            path = Path(os.readlink(f"/proc/self/fd/{arguments[0].fileno()}"))
            self._flushed[path] = path.stat().st_size
        elif name == "sync_folder":
            self._new = [path for path in self._new if path.parent != arguments[0]]
            self._moved = [(old, new) for old, new in self._moved if new.parent != arguments[0]]
        elif name == "rename":
            old, new = arguments
            self._moved.append((old, new))
            moved = {path: size for path, size in self._flushed.items() if path.is_relative_to(old)}
            self._flushed.update({new / path.relative_to(old): size for path, size in moved.items()})

    def _crash(self) -> None:
        for path, size in self._flushed.items():
            if path.exists() and path.stat().st_size > size:
                os.truncate(path, size)
        if self._with_names:
            for path in filter(Path.exists, self._new):
                path.unlink()
            for old, new in self._moved:
                os.rename(new, old)
        os._exit(CRASHED)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the names of open files are not known")
@pytest.mark.parametrize("with_names", [False, True], ids=["files", "names"])
@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)
def test_crashes(place: Path, action: Callable[[KnowledgeBase, Path], None], with_names: bool) -> None:
    before, at = opened(place / "s"), 0
    while True:
        at += 1
        folder = shutil.copytree(place, place.parent / f"{action.__name__}-{at}")

        def act(folder: Path = folder, at: int = at) -> None:
            kb = KnowledgeBase.open(folder / "s", tuning=AT_ONCE if action is update else None)
            with pytest.MonkeyPatch.context() as patch:
                Disk(patch, at, with_names)
                action(kb, folder)

        code = exit_code(act)
        assert code in (0, CRASHED)
        check_recovered(folder, action, before)
        shutil.rmtree(folder)
        if code == 0:
            break
    assert at > 10


def check_recovered(folder: Path, action: Callable[[KnowledgeBase, Path], None], before: Contents) -> None:
    """The store opens by itself, and has what it had; a change was on disk before its snapshot was begun."""
    assert verify(folder / "s").is_sound
    with KnowledgeBase.open(folder / "s") as kb:
        found = contents(kb)
        if action is update:
            assert found.version == 3
            assert found.explicit["node/1"] > before.explicit["node/1"]
        else:
            assert found == before
        kb.update(add={"node": [("after it",)]})
        kb.compact()
        found = contents(kb)
    assert opened(folder / "s") == found
    assert len(list((folder / "s" / "snapshots").iterdir())) == 1
    for saved in (folder / "t", folder / "deep" / "er" / "t"):
        if (saved / "catalog.db").exists():
            assert verify(saved).is_sound
            assert opened(saved)[1:] == before[1:]
