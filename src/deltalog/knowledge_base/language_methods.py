"""The methods of a knowledge base for files that programs name, and for programs in other languages: a base class of
`KnowledgeBase`.

load_imports                  inputs that are read with a program: `@input`, `@import`
load_inputs                   inputs that are read from folders: `.input`
write_outputs                 outputs to a place that the program names, or a folder: `@output`, `.output`
write_exports                 outputs to a folder of exports: `@export`
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from deltalog.core.concurrency.locks import CallLock, exclusive
from deltalog.core.errors import Diagnostic, ProgramError
from deltalog.core.rules import Atom, Constant, Pred, Rule
from deltalog.core.terms import BlankNode, Value
from deltalog.formats.files import local_path
from deltalog.languages.protocol import FactSink, FactSource
from deltalog.languages.stored_rules import KeptPrograms

if TYPE_CHECKING:
    from deltalog.evaluation.backend import Backend
    from deltalog.evaluation.maintenance.materialisation import Materialisation
    from deltalog.knowledge_base.facade import KnowledgeBase
    from deltalog.languages.protocol import KeptText, ProgramFile, Unit
    from deltalog.program.stages import OrderedStage

_ORDER = "rules with choice-domain, subsumption, .limitsize or autoinc() cannot be added to a knowledge base"
_WHOLE = "Make a new KnowledgeBase with the whole program."


def check_addable(document: Unit) -> None:
    """ProgramError if rules that are added name files, or depend on the order of derivation: only the programs of a new
    knowledge base may."""
    hint = "Load the facts of files by kb.load, or with --add or --data."
    message = "rules that are added to a knowledge base name no files"
    wrong = [error for file in document.files if (error := file.refused(message, hint)) is not None]
    wrong += [Diagnostic(_ORDER, rule.span, _WHOLE) for stage in document.stages for rule in stage.rules]
    if wrong:
        raise ProgramError(wrong)


class OtherLanguageMethods:
    """A knowledge base as far as its programs name inputs and outputs, or are in other languages."""

    files: tuple[ProgramFile, ...]
    _programs: tuple[KeptText, ...]  # that stores may have to keep
    _kept: KeptPrograms = KeptPrograms()  # those of them that the store has as they were written
    notes: tuple[Diagnostic, ...]
    _skipped_inputs: Sequence[str] = ()  # relations of inputs that were not read
    _imported_nulls: int = 0  # blank nodes with numbers that programs import
    _stages: tuple[OrderedStage, ...]  # relations whose facts depend on the order of derivation
    _explicit: dict[Pred, Any]
    _backend: Backend[Any]
    _lock: CallLock

    @property
    def _own(self) -> KnowledgeBase:
        """The knowledge base that this is."""
        return cast("KnowledgeBase", self)

    @property
    def has_stages(self) -> bool:
        """Whether facts of some relations depend on the order of derivation: of stages, or of existential rules."""
        return bool(self._stages) or len(self._own._rule_set.ordinary) < len(self._own.rules)

    def _facts_dominated(self, state: Materialisation[Any]) -> int:
        """How many given facts are left out, because others dominate them."""
        given = ((pred, state.explicit[pred]) for pred in state.in_order if pred in state.explicit)
        minus, size = self._backend.minus, self._backend.size
        return sum(size(minus(table, state.facts.get(pred))) for pred, table in given if not pred.hidden)

    @exclusive
    def load_imports(self) -> None:
        """Adds the facts that programs name by @input, and Nemo programs by @import (as a new knowledge base does for
        its programs)."""
        sink = self._sink
        for file in (file for file in self.files if file.kind == "input" and file.at_once):
            file.load(sink)
        self._imported_nulls = next(sink.blank_nodes)

    @exclusive
    def load_inputs(self, *folders: str | PathLike[str], missing: str = "error", only_needed: bool = False) -> None:
        """Adds the facts that `.input` directives of Soufflé programs name: files in these folders (default: the
        program's). missing: "error" or "ignore" where there is no such file; the file of a relation that no output
        needs may always be missing. only_needed: such files are not opened at all, and `report.skipped_inputs` names
        the relations."""
        inputs = [file for file in self.files if file.kind == "input" and not file.at_once]
        skipped = [file for file in inputs if only_needed and not self._is_needed(file)]
        self._skipped_inputs = list(dict.fromkeys(file.predicate or "" for file in skipped))
        places = [local_path(folder) for folder in folders]
        for file in (file for file in inputs if file.predicate not in self._skipped_inputs):
            file.load(self._sink, places, missing if self._is_needed(file) else "ignore")

    @property
    def _sink(self) -> FactSink:
        return FactSink(self._own.add, self._own._load, self._number)

    def _number(self, pred: Pred, values: Iterable[Value]) -> None:
        """Gives values the next numbers in a relation, unless they have one."""
        from deltalog.evaluation.encode_facts import encode_facts_of
        from deltalog.evaluation.facts import of_predicate

        given = self._explicit.get(pred)
        known = {row[0] for row in of_predicate(pred, given, self._backend)} if given is not None else set()
        fresh = dict.fromkeys(value for value in values if value not in known)
        numbered = [Atom(pred.name, (Constant(value), Constant(n))) for n, value in enumerate(fresh, len(known))]
        self._own._add(encode_facts_of([Rule(tuple(numbered), ())] if numbered else [], self._backend))

    def _is_needed(self, file: ProgramFile) -> bool:
        """Whether an output needs an input; rules of other programs may, whatever its own says."""
        others = (rule for rule in self._own.rules if rule.span is not None and not rule.is_rewritten)
        return file.needed or len(self._programs) > 1 or next(others, None) is not None

    def check_storable(self) -> None:
        """UsageError if the rules cannot be kept in a store."""
        kept = self._kept.adding(self._programs)
        kept.check_storable(self._own._rule_set.numbers)
        self._kept = kept

    def _keep_programs(self, document: Unit) -> None:
        """Keeps programs that are to be added, if they need it. They do no harm if their rules are refused."""
        if self._own._store is None:
            self._programs += document.programs
        else:
            self._kept = self._kept.adding(document.programs)
            self._kept.check_storable(rule for rule in document.rules if not rule.is_fact)

    @exclusive
    def write_outputs(self, folder: str | PathLike[str] | None = None) -> list[Path]:
        """Writes what programs name: files of @output; and of `.output` and `.printsize` directives of Soufflé programs
        files to a folder, if there is one, and the rest to standard output. The files that were written."""
        started = time.perf_counter()
        source = FactSource(self._own._contents_of_outputs(), self._exported)
        target = None if folder is None else local_path(folder)
        written = [file.write(source, target) for file in self._outputs_named]
        self._own._spent("write", started)
        return [path for path in written if path is not None]

    def check_outputs(self) -> None:
        """ProgramError if an @output names a predicate that there is not, or as many columns as it has not."""
        source = FactSource(self._own._contents(), self._exported)
        for file in self._outputs_named:
            file.check(source)

    @property
    def _outputs_named(self) -> list[ProgramFile]:
        """Outputs but exports: first those that say where they are."""
        outputs = [file for file in self.files if file.kind != "input" and not file.is_export]
        return sorted(outputs, key=lambda file: file.pred is not None)

    @exclusive
    def write_exports(self, folder: str | PathLike[str]) -> list[Path]:
        """Writes what Nemo programs export to a folder; all derived predicates if they say nothing. The files."""
        started = time.perf_counter()
        target = local_path(folder)
        target.mkdir(parents=True, exist_ok=True)
        source = FactSource(self._own._contents(), self._exported)
        exports = [file for file in self.files if file.kind != "input" and file.is_export]
        written = [file.write(source, target) for file in exports]
        self._own._spent("write", started)
        return [path for path in written if path is not None]

    def _exported(self, *names: str) -> list[tuple[Value, ...]]:
        """The facts of a predicate. Invented values have the numbers after those of blank nodes that were imported."""
        from deltalog.evaluation.chase import ChasedMaterialisation

        if set(self._own.predicates).isdisjoint(names):
            return []
        state, facts = self._own._state, self._own.facts(names[0])
        ages = state.nulls if isinstance(state, ChasedMaterialisation) else {}
        invented = {null: BlankNode(str(self._imported_nulls + age)) for null, age in ages.items()}
        return sorted((tuple(invented.get(value, value) for value in row) for row in facts), key=repr)
