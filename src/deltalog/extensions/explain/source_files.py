"""Where explicit facts came from: the files that were loaded, read again when a proof names one of their facts.

Nothing is kept while facts are loaded but the names of the files. Files beyond a size are not read again. Where all
facts came from one file, nothing is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.core.concurrency.locks import CallLock, exclusive
from deltalog.core.errors import DeltalogError
from deltalog.core.rules import Constant, Pred
from deltalog.core.tuning import Tuning
from deltalog.extensions.explain.model import Fact
from deltalog.formats.documents import Files, Reading

if TYPE_CHECKING:
    from deltalog.engines.local.backend import LocalBackend


class SourceFiles:
    """The files that facts were loaded from, and the program files that state some."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning, self._lock = tuning, CallLock()
        self._files: dict[tuple[Path, Reading], None] = {}
        self._programs: dict[Path, None] = {}
        self.has_others = False  # whether there are facts from elsewhere
        self._read: dict[Any, dict[Pred, Any]] = {}
        self._stated: dict[Path, dict[tuple[Pred, tuple[Constant, ...]], int]] = {}
        self._backend: LocalBackend | None = None

    @contextmanager
    def loading(self, files: Files) -> Iterator[None]:
        """A context in which all facts that are added come from some files and folders."""
        others = self.has_others
        yield
        self.has_others = others
        self._files.update(dict.fromkeys((path, files.reading) for path in files.paths))

    def add_programs(self, sources: Sequence[str | Path]) -> None:
        """Those of a program's sources that are files."""
        self._programs.update(dict.fromkeys(source for source in sources if isinstance(source, Path)))

    @exclusive
    def find(self, fact: Fact) -> str | None:
        """The file that has a fact (for a program, `file:line`); None if it is in none of them."""
        pred = Pred(fact.predicate, len(fact.values))
        key = pred, tuple(map(Constant, fact.values))
        if len(self._files) == 1 and not self.has_others and not (path := next(iter(self._files))[0]).is_dir():
            return str(path)
        for path in self._programs:
            if line := self._stated_in(path).get(key):
                return f"{path}:{line}"
        for path, reading in self._files:
            for file in _parts(path):
                table = self._facts_of(file, reading).get(pred)
                if table is not None and self._scratch.codec.contains(table, fact.values):
                    return str(file)
        return None

    @property
    def _scratch(self) -> LocalBackend:
        """A backend of its own: reading a file again gives no ids to the knowledge base."""
        from deltalog.core.limits import Limits
        from deltalog.engines.local.backend import LocalBackend

        if self._backend is None:
            self._backend = LocalBackend(Limits())
        return self._backend

    def _facts_of(self, file: Path, reading: Reading) -> dict[Pred, Any]:
        """The facts of a file; none if it is too large, or not there any more."""
        if (file, reading) not in self._read:
            facts: dict[Pred, Any] = {}
            if _is_small(file, self._tuning.explain_max_source_bytes):
                try:
                    facts = self._scratch.codec.read([file], replace(reading, graphs=False))
                except (DeltalogError, OSError):
                    facts = {}
            self._read[file, reading] = facts
        return self._read[file, reading]

    def _stated_in(self, path: Path) -> dict[tuple[Pred, tuple[Constant, ...]], int]:
        """The lines of the facts that a program file states."""
        if path not in self._stated:
            self._stated[path] = _stated(path) if _is_small(path, self._tuning.explain_max_program_bytes) else {}
        return self._stated[path]


def _is_small(file: Path, most: int) -> bool:
    try:
        return file.stat().st_size <= most
    except OSError:
        return False


def _parts(path: Path) -> list[Path]:
    """The files of a folder, or the file itself."""
    return sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path]


def _stated(path: Path) -> dict[tuple[Pred, tuple[Constant, ...]], int]:
    from deltalog.languages.load_program import read_rules

    try:
        rules = read_rules([path])
    except DeltalogError:
        return {}
    return {
        (head.pred, tuple(t for t in head.terms if isinstance(t, Constant))): rule.span.line
        for rule in rules
        if rule.is_fact and rule.span is not None
        for head in rule.heads
    }
