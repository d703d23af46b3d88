"""The methods of a knowledge base for programs in other languages: a base class of `KnowledgeBase`.

load_inputs, write_outputs    files that a Soufflé program names
load_imports, write_exports   files that a Nemo program names
_run_stages                   what a Soufflé program derives in an order, as explicit facts
"""

from __future__ import annotations

import time
from itertools import count
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from deltalog.concurrency.locks import CallLock, exclusive
from deltalog.io.files import local_path
from deltalog.model.errors import Diagnostic, UsageError
from deltalog.model.facts import Facts
from deltalog.syntax.ast import Pred

if TYPE_CHECKING:
    from deltalog.backends.base import Backend
    from deltalog.kb import KnowledgeBase
    from deltalog.nemo.program import NemoProgram
    from deltalog.program.stages import OrderedStage
    from deltalog.query.contents import Contents
    from deltalog.souffle.directives import Directive


class OtherLanguageMethods:
    """A knowledge base as far as its programs are Soufflé's or Nemo's."""

    directives: tuple[Directive, ...]
    nemo: tuple[NemoProgram, ...]
    notes: tuple[Diagnostic, ...]
    imported_nulls: int = 0  # blank nodes that Nemo programs import, whose names are the numbers before
    _stages: tuple[OrderedStage, ...]
    _has_stages: bool
    _explicit: dict[Pred, Any]
    _backend: Backend[Any]
    _lock: CallLock

    @property
    def _own(self) -> KnowledgeBase:
        """The knowledge base that this is."""
        return cast("KnowledgeBase", self)

    @exclusive
    def load_imports(self) -> None:
        """Adds the facts that Nemo programs import (as a new knowledge base does for its programs)."""
        from deltalog.io.nemo_files import read_import

        nulls = count()
        for use in (use for program in self.nemo for use in program.imports):
            rows = read_import(use, nulls)
            if rows:
                self._own.add(use.predicate, rows)
        self.imported_nulls = next(nulls)

    @exclusive
    def load_inputs(self, *folders: str | PathLike[str], missing: str = "error") -> None:
        """Adds the facts that `.input` directives of Soufflé programs name: files in these folders (default: the
        program's). missing: "error" or "ignore" where there is no such file."""
        from deltalog.io.souffle_facts import read_input

        for directive in self.directives:
            if directive.kind == "input":
                facts = read_input(directive, [local_path(folder) for folder in folders], missing)
                if facts is not None:
                    self._own.add(directive.relation, facts)

    def _check_stages(self) -> None:
        """Facts of a program with stages change before it is evaluated, or not at all."""
        if self._has_stages and not self._stages:
            raise UsageError(
                "this Soufflé program has choice-domain, subsumption, .limitsize or autoinc(), so its facts cannot "
                "change once they are derived; make a new KnowledgeBase with all facts"
            )

    def check_storable(self) -> None:
        """UsageError if the rules cannot be kept in a store."""
        from deltalog.program.stored_rules import check_storable

        if self._has_stages:
            raise UsageError(
                "a Soufflé program with choice-domain or the like cannot be kept in a store; write its facts"
            )
        check_storable(self._own.rules)

    def _run_stages(self) -> None:
        """Derives what depends on the order of derivation, stage by stage, as explicit facts."""
        from deltalog.engine.encode_facts import encode_facts_of
        from deltalog.engine.run_stages import run_stages

        stages, self._stages = self._stages, ()
        before = self._explicit
        try:
            for facts in run_stages(stages, lambda: self._own._contents().materialised(), self._own.limits):
                self._own._add(encode_facts_of(facts, self._backend))
        except BaseException:
            self._own._assign(_stages=stages, _explicit=before, _state=None, _program=None)
            raise

    @exclusive
    def write_outputs(self, folder: str | PathLike[str] | None = None) -> list[Path]:
        """Writes what `.output` and `.printsize` directives of Soufflé programs name: files to a folder, if there is
        one, and the rest to standard output. The files that were written."""
        from deltalog.io.souffle_output import write_output

        started = time.perf_counter()
        contents = self._own._contents().materialised()
        target = None if folder is None else local_path(folder)
        written = [
            write_output(directive, self._relation(contents, directive), target) for directive in self.directives
        ]
        self._own._spent("write", started)
        return [path for path in written if path is not None]

    def _relation(self, contents: Contents[Any], directive: Directive) -> Facts[Any]:
        """The facts of a relation that a program declares."""
        pred = Pred(directive.relation, len(directive.attributes))
        return contents.view(pred, contents.table(pred))

    @exclusive
    def write_exports(self, folder: str | PathLike[str]) -> list[Path]:
        """Writes what Nemo programs export to a folder; all derived predicates if they say nothing. The files."""
        from deltalog.io.nemo_files import exports_of, write_export

        started = time.perf_counter()
        target = local_path(folder)
        target.mkdir(parents=True, exist_ok=True)
        uses = [use for program in self.nemo for use in exports_of(program)]
        known = set(self._own.predicates)
        names = [(use, f"{use.predicate}/{use.arity}" if use.arity is not None else use.predicate) for use in uses]
        rows = [(use, sorted(self._own.facts(name), key=repr) if use.predicate in known else []) for use, name in names]
        written = [write_export(use, facts, target) for use, facts in rows]
        self._own._spent("write", started)
        return written
