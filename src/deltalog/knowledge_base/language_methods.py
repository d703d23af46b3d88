"""The methods of a knowledge base for files that programs name, and for programs in other languages: a base class of
`KnowledgeBase`.

load_imports                  files that programs read by `@input`, or by Nemo's `@import`
load_inputs                   files that a Soufflé program reads, in the folders of its facts
write_outputs                 files that programs write by `@output`, or by Soufflé's `.output`
write_exports                 files that a Nemo program writes
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from deltalog.core.concurrency.locks import CallLock, exclusive
from deltalog.core.errors import Diagnostic, ProgramError, UsageError
from deltalog.core.rules import Atom, Constant, Pred, Rule
from deltalog.core.terms import BlankNode, Value
from deltalog.evaluation.facts import Facts
from deltalog.formats.documents import Files
from deltalog.formats.files import local_path
from deltalog.formats.named_file import NamedFile
from deltalog.languages.stored_rules import KeptPrograms

if TYPE_CHECKING:
    from deltalog.evaluation.backend import Backend
    from deltalog.evaluation.goals.contents import Contents
    from deltalog.evaluation.maintenance.materialisation import Materialisation
    from deltalog.knowledge_base.facade import KnowledgeBase
    from deltalog.languages.load_program import Documents
    from deltalog.languages.nemo.program import NemoProgram
    from deltalog.languages.souffle.directives import Directive
    from deltalog.languages.souffle.program_text import ProgramText
    from deltalog.program.stages import OrderedStage

_ORDER = "rules with choice-domain, subsumption, .limitsize or autoinc() cannot be added to a knowledge base"
_WHOLE = "Make a new KnowledgeBase with the whole program."


def check_addable(document: Documents) -> None:
    """ProgramError if rules that are added name files, or depend on the order of derivation: only the programs of a new
    knowledge base may."""
    hint = "Load the facts of files by kb.load, or with --add or --data."
    message = "rules that are added to a knowledge base name no files"
    wrong = [Diagnostic(message, file.span, hint) for file in document.files]
    wrong += [
        Diagnostic(f"{message}: .{use.kind} {use.relation} at {use.place}", None, hint)
        for use in document.directives
        if use.kind in ("input", "output")
    ]
    wrong += [Diagnostic(message, None, hint) for program in document.nemo if program.imports or program.exports]
    wrong += [Diagnostic(_ORDER, rule.span, _WHOLE) for stage in document.stages for rule in stage.rules]
    if wrong:
        raise ProgramError(wrong)


def output_names(pred: Pred, file: NamedFile, known: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns that an @output writes."""
    if file.options.columns is None:
        return tuple(known)
    if len(file.options.columns) != pred.arity:
        raise UsageError(f"{pred.name} has {pred.arity} columns, and {len(file.options.columns)} names are given")
    return tuple(str(column.name or column.source) for column in file.options.columns)


class OtherLanguageMethods:
    """A knowledge base as far as its programs name files, or are Soufflé's or Nemo's."""

    files: tuple[NamedFile, ...]
    directives: tuple[Directive, ...]
    nemo: tuple[NemoProgram, ...]
    _programs: tuple[ProgramText, ...]  # of Soufflé's language
    _kept: KeptPrograms = KeptPrograms()  # those of them that the store has as they were written
    notes: tuple[Diagnostic, ...]
    _skipped_inputs: Sequence[str] = ()  # relations of `.input` that were not read
    _imported_nulls: int = 0  # blank nodes that Nemo programs import, whose names are the numbers before
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
        for file in (file for file in self.files if file.kind == "input"):
            if not file.place.exists():
                message = f"there is no file {file.place}"
                raise ProgramError([Diagnostic(message, file.span, "A path is relative to the folder of the program.")])
            self._own._load(Files.named(file))
        from deltalog.languages.nemo.files import read_import

        nulls = count()
        for use in (use for program in self.nemo for use in program.imports):
            rows = read_import(use, nulls)
            if rows:
                self._own.add(use.predicate, rows)
        self._imported_nulls = next(nulls)

    @exclusive
    def load_inputs(self, *folders: str | PathLike[str], missing: str = "error", only_needed: bool = False) -> None:
        """Adds the facts that `.input` directives of Soufflé programs name: files in these folders (default: the
        program's). missing: "error" or "ignore" where there is no such file; the file of a relation that no output
        needs may always be missing. only_needed: such files are not opened at all, and `report.skipped_inputs` names
        the relations."""
        from deltalog.languages.souffle.facts import read_input

        inputs = [directive for directive in self.directives if directive.kind == "input"]
        skipped = [use.relation for use in inputs if only_needed and not self._is_needed(use)]
        self._skipped_inputs = list(dict.fromkeys(skipped))
        for directive in inputs:
            if directive.relation not in skipped:
                missing_here = missing if self._is_needed(directive) else "ignore"
                facts = read_input(directive, [local_path(folder) for folder in folders], missing_here)
                if facts is not None:
                    self._own.add(directive.relation, facts)
                    self._number_symbols(directive, facts)

    def _is_needed(self, directive: Directive) -> bool:
        """Whether an output needs a relation; rules of other programs may, whatever its own says."""
        others = (rule for rule in self._own.rules if rule.span is not None and not rule.span.source.rewritten)
        return directive.needed or len(self._programs) > 1 or next(others, None) is not None

    def _number_symbols(self, directive: Directive, facts: Any) -> None:
        """Gives the symbols of an input the next numbers, if the program asks for them."""
        from deltalog.evaluation.encode_facts import encode_facts_of
        from deltalog.evaluation.facts import of_predicate
        from deltalog.languages.souffle.facts import symbols

        if directive.ordinals is None:
            return
        pred = Pred(directive.ordinals, 2)
        given = self._explicit.get(pred)
        known = {row[0] for row in of_predicate(pred, given, self._backend)} if given is not None else set()
        fresh = dict.fromkeys(symbol for symbol in symbols(directive, facts) if symbol not in known)
        numbered = [Atom(pred.name, (Constant(text), Constant(n))) for n, text in enumerate(fresh, len(known))]
        self._own._add(encode_facts_of([Rule(tuple(numbered), ())] if numbered else [], self._backend))

    def check_storable(self) -> None:
        """UsageError if the rules cannot be kept in a store."""
        kept = self._kept.adding(self._programs)
        kept.check_storable(self._own._rule_set.numbers)
        self._kept = kept

    def _keep_programs(self, document: Documents) -> None:
        """Keeps the Soufflé programs among rules that are to be added. They do no harm if the rules are refused."""
        if self._own._store is None:
            self._programs += document.programs
        else:
            self._kept = self._kept.adding(document.programs)
            self._kept.check_storable(rule for rule in document.rules if not rule.is_fact)

    @exclusive
    def write_outputs(self, folder: str | PathLike[str] | None = None) -> list[Path]:
        """Writes what programs name: files of @output; and of `.output` and `.printsize` directives of Soufflé programs
        files to a folder, if there is one, and the rest to standard output. The files that were written."""
        from deltalog.languages.souffle.output import write_output

        started = time.perf_counter()
        contents = self._own._contents_of_outputs()
        target = None if folder is None else local_path(folder)
        named = [self._write_named(file, contents) for file in self.files if file.kind == "output"]
        written = [
            write_output(directive, self._relation(contents, directive), target) for directive in self.directives
        ]
        self._own._spent("write", started)
        return [*named, *(path for path in written if path is not None)]

    def check_outputs(self) -> None:
        """ProgramError if an @output names a predicate that there is not, or as many columns as it has not."""
        contents = self._own._contents()
        for file in (file for file in self.files if file.kind == "output"):
            try:
                pred = contents.names().find(file.predicate or "")
                output_names(pred, file, ())
            except UsageError as problem:
                raise ProgramError([Diagnostic(str(problem), file.span)]) from None

    def _write_named(self, file: NamedFile, contents: Contents[Any]) -> Path:
        """Writes the file of an @output."""
        from deltalog.languages.named_output import write_named

        pred = contents.names().find(file.predicate or "")
        names = output_names(pred, file, self._own._columns.known(pred))
        return write_named(file, pred, contents.table(pred), names, self._backend, self._own.prefixes)

    def _relation(self, contents: Contents[Any], directive: Directive) -> Facts[Any]:
        """The facts of a relation that a program declares."""
        pred = Pred(directive.relation, len(directive.attributes))
        return contents.view(pred, contents.table(pred))

    @exclusive
    def write_exports(self, folder: str | PathLike[str]) -> list[Path]:
        """Writes what Nemo programs export to a folder; all derived predicates if they say nothing. The files."""
        from deltalog.languages.nemo.files import exports_of, write_export

        started = time.perf_counter()
        target = local_path(folder)
        target.mkdir(parents=True, exist_ok=True)
        uses = [use for program in self.nemo for use in exports_of(program)]
        known = set(self._own.predicates)
        written: list[Path] = []
        for use in uses:
            name = use.predicate if use.arity is None else f"{use.predicate}/{use.arity}"
            is_known = not known.isdisjoint((name, use.predicate))
            written.append(write_export(use, self._exported(name) if is_known else [], target))
        self._own._spent("write", started)
        return written

    def _exported(self, name: str) -> list[tuple[Value, ...]]:
        """The facts of a predicate, with invented values as Nemo calls them: by their numbers."""
        from deltalog.evaluation.chase import ChasedMaterialisation

        state, facts = self._own._state, self._own.facts(name)
        ages = state.nulls if isinstance(state, ChasedMaterialisation) else {}
        names = {null: BlankNode(str(self._imported_nulls + age)) for null, age in ages.items()}
        return sorted((tuple(names.get(value, value) for value in row) for row in facts), key=repr)
