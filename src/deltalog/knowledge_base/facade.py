"""KnowledgeBase: the whole pipeline.

    parse     text -> rules                          deltalog.languages.deltalog
    analyse   rules -> program, hyper-nodes          deltalog.program
    load      files, rows, frames -> tables of ids   deltalog.formats, deltalog.core.dictionary
    plan      rules -> algebra                       deltalog.evaluation.plan
    run       algebra -> new facts, to the fixpoint  deltalog.evaluation on deltalog.engines
    maintain  changes -> facts added and removed     deltalog.evaluation.maintenance
    query     goals, SPARQL -> answers               deltalog.evaluation.goals
    explain   facts -> proofs, missing premises      deltalog.extensions.explain
    ontology  axioms -> rules                        deltalog.extensions.ontology
    graphs    quads -> facts, SPARQL Update          deltalog.extensions.graphs
    convert   programs of Soufflé and Nemo           deltalog.knowledge_base.language_methods
    read      tables of ids -> values                deltalog.evaluation.facts
    keep      changes -> log and snapshots           deltalog.extensions.store

Explicit facts (EDB) and rules are what the user gave. The materialisation, explicit and derived facts (IDB), is made
when it is first needed. From then on `update`, `add_rules` and `remove_rules` maintain it; `add` and `load` are for the
beginning, and drop it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack

from deltalog.core.arguments import check_choice, check_type, names_of, told
from deltalog.core.concurrency.interrupts import shielded
from deltalog.core.concurrency.locks import CallLock, exclusive
from deltalog.core.errors import UsageError
from deltalog.core.limits import Limits, count, limited, memory_bytes, within_budget
from deltalog.core.naming import predicate_name
from deltalog.core.rules import Pred, Rule
from deltalog.core.table_options import TableKeywords
from deltalog.core.terms import Kind
from deltalog.core.tuning import Tuning
from deltalog.core.watching import watcher
from deltalog.evaluation.change import Change, Difference
from deltalog.evaluation.equality.settings import EQUALITY_SETTINGS
from deltalog.evaluation.facts import Facts, of_predicate
from deltalog.evaluation.failed_expressions import failed_expressions
from deltalog.evaluation.graph_relations import DEFAULT_GRAPHS, GRAPHS, without_graphs
from deltalog.evaluation.maintenance.ladders import LADDERS
from deltalog.evaluation.plan.hypertree.settings import CYCLIC_SETTINGS
from deltalog.evaluation.report import Report, Round, RoundSeries
from deltalog.extensions.explain.source_files import SourceFiles
from deltalog.extensions.ontology.planned import Planned, RequestedChange
from deltalog.extensions.ontology.vocabulary import AUXILIARY
from deltalog.formats.documents import Files
from deltalog.formats.files import local_path
from deltalog.formats.formats import GRAPH_FORMATS, TRIPLE_FORMATS, OutputForm
from deltalog.formats.table_settings import settings_beside
from deltalog.knowledge_base.column_methods import ColumnMethods
from deltalog.knowledge_base.explain_methods import ExplainMethods
from deltalog.knowledge_base.graph_methods import GraphMethods, GraphName, graph_name
from deltalog.knowledge_base.language_methods import OtherLanguageMethods, check_addable
from deltalog.knowledge_base.ontology_methods import (
    OntologyMethods,
    OntologyPaths,
    ontology_files,
    warn_of_notes,
)
from deltalog.knowledge_base.store_methods import StoreMethods
from deltalog.languages.load_program import (
    Documents,
    IncludeDirs,
    Sources,
    as_preprocessing,
    as_sources,
    read_documents,
    read_removals,
)
from deltalog.program import Program, analyse
from deltalog.program.column_names import NamedColumns
from deltalog.program.recognise import SCHEME_SETTINGS
from deltalog.program.rule_set import RuleSet
from deltalog.program.stages import check_stages

if TYPE_CHECKING:
    from deltalog.evaluation.backend import Backend
    from deltalog.evaluation.goals.contents import Contents
    from deltalog.evaluation.maintenance.materialisation import Evaluator, Materialisation
    from deltalog.evaluation.maintenance.snapshot import StoredProgram
    from deltalog.evaluation.maintenance.update_state import Update
    from deltalog.evaluation.staged import EvaluationSetting
    from deltalog.extensions.explain.model import Fact
    from deltalog.extensions.ontology.state import Ontology

AnyTable = Any  # the backend's own handle
GivenFacts = Mapping[str, Any] | Files | None  # rows and tables by predicate, or files

ENGINES = ("local", "spark", "auto", "naive")


class KnowledgeBase(ExplainMethods, OntologyMethods, GraphMethods, OtherLanguageMethods, ColumnMethods, StoreMethods):
    """Facts and rules, and everything that follows from them.

    Args:
        program: rules as text, a Path to a file of them, several of either, or none yet.
        language: "deltalog", "souffle", "nemo", "rif", or "auto": Soufflé's if a text has its directives
            (`.decl`), Nemo's for a file whose name ends with .rls, RIF for .rif. What a program names by `@input`, and
            what a Nemo program imports, is loaded.
        include_dirs: folders of the files that Soufflé programs include, besides those of the programs.
        macros: values of macros of Soufflé programs, by name, as `#define` gives them.
        engine: "local" (this process), "spark" (the SparkSession `spark`, or the active one, or a new one on
            `master`), "auto" (in Spark's driver by the local engine while facts fit its budget, else in Spark's
            executors), or "naive" (slow and obvious, for comparisons).
        timeout: seconds that a call may take that derives facts or answers. At this and the next two limits it
            raises LimitReached, and the knowledge base is as it was. `limits` has all three, and they may be
            changed there.
        max_facts: the number of facts that a call may leave.
        memory: what a call may add to the memory of the process, such as "8GB".
        maintenance: how derived facts are deleted: "dred" deletes and rederives, "bf" searches for other proofs
            first, "auto" chooses between them; "counting" deletes and rederives by counts of derivations. All
            give the same facts.
        cyclic: how rules with cyclic bodies are evaluated: "standard" joins them like others, "hypertree" takes
            a hypertree decomposition for every rule, "combined" for cyclic ones where it is estimated to pay.
            All give the same facts.
        schemes: how relations that are transitive, symmetric, inverse to each other or unions are stored:
            "scheme" as virtual relations, "module" as tables with rules of their own, "standard" like all
            others; "auto" is "scheme" with small ones as tables. All give the same facts.
        default_graph: what rules apply to, and queries outside of GRAPH: the "union" of all graphs, or the
            "unnamed" graph.
        ontology: ontology files whose axioms become rules, of a `profile`; see `load_ontology`.
        equality: how owl:sameAs is evaluated: "representatives" keeps facts about one of several equal
            individuals, "axioms" about each of them. Both give the same facts.
        observe: is called after every round of evaluation with a `Round`.
        tuning: thresholds (`deltalog.core.tuning`).

    Threads may share a knowledge base: calls take turns. What they return does not change any more, and any thread may
    read it at any time. See docs/concurrency.md.
    """

    @shielded
    def __init__(
        self,
        program: Sources = "",
        *,
        language: str = "auto",
        include_dirs: IncludeDirs = (),
        macros: Mapping[str, str] = MappingProxyType({}),
        engine: str = "local",
        timeout: float | None = None,
        max_facts: int | None = None,
        memory: str | int | None = None,
        threads: int | None = None,
        master: str | None = None,
        spark: Any = None,
        maintenance: str = "auto",
        cyclic: str = "combined",
        schemes: str = "auto",
        default_graph: str = "union",
        ontology: OntologyPaths = (),
        profile: str | None = None,
        equality: str = "representatives",
        observe: Callable[[Round], None] | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        check_choice("engine", engine, ENGINES)
        check_choice("maintenance strategy", maintenance, tuple(LADDERS))
        check_choice("option", cyclic, CYCLIC_SETTINGS, " for cyclic rules")
        check_choice("option", schemes, SCHEME_SETTINGS, " for schemes")
        check_choice("default graph", default_graph, DEFAULT_GRAPHS)
        check_type(Tuning() if tuning is None else tuning, Tuning, "a Tuning for tuning")
        if observe is not None and not callable(observe):
            raise UsageError(f"observe takes a function of a Round, and not {told(observe)}")
        check_choice("option", equality, EQUALITY_SETTINGS, " for equality")
        threads = None if threads is None else count(threads, "threads", least=1)
        sources = as_sources(program)
        document = read_documents(sources, language, preprocessing=as_preprocessing(include_dirs, macros))
        self.directives, self.notes, self._stages = document.directives, document.notes, document.stages
        self.nemo, self._programs, self._magic = document.nemo, document.programs, document.magic
        self.prefixes = document.prefixes
        self.files = document.files
        self._table_settings = settings_beside(sources)
        self._column_names: NamedColumns = dict(document.columns)
        self._declared_columns = frozenset(document.columns)
        checked = analyse(document.rules)  # a wrong program is refused at once
        check_stages(checked.rules, self._stages)
        self._mentioned = checked.preds | self._declared_columns
        self._rule_set = RuleSet().adding(document.rules)
        self._given_names, self._warned = set(), set()
        self.engine, self._lock = engine, CallLock()
        self._maintenance, self._cyclic = maintenance, cyclic
        self._default_graph, self._equality = default_graph, equality
        self._report = Report(engine=engine)
        self.limits = Limits(timeout, max_facts, None if memory is None else memory_bytes(memory))
        self._observe = observe
        from deltalog.engines.create import create_backend
        from deltalog.evaluation.encode_facts import encode_facts_of

        self._backend = create_backend(engine, self.limits, tuning or Tuning(), threads, master, spark)
        self._files = SourceFiles(self._backend.tuning)
        self._files.add_programs(sources)
        self._why_moved = ""  # from one backend to another
        has_schemes = engine != "naive" and self._backend.capabilities.virtual_relations is not None
        self._schemes = schemes if has_schemes else "standard"
        self._program: Program | None = None
        self._state: Materialisation[AnyTable] | None = None
        self._explicit: dict[Pred, AnyTable] = encode_facts_of(document.rules, self._backend)
        self._files.has_others = bool(self._explicit)
        self.examples = []
        files = ontology_files(ontology)
        if files or profile is not None:
            self.load_ontology(*files, profile=profile)
        self.load_imports()
        self._lints = self._warn_of_rules(document)

    def __repr__(self) -> str:
        state = f"{self.report.facts_total:,} facts" if self._is_complete else "not materialised"
        given = f"{len(self.rules):,} rules, {self.explicit_facts:,} explicit facts"
        return f"<KnowledgeBase: {given}, {state}, {self.engine} engine>"

    @shielded
    def _repr_html_(self) -> str:
        from deltalog.core.html_table import html_table

        counts = self.report.per_predicate if self._is_complete else {}
        rows = ((name, f"{n:,}") for name, n in sorted(counts.items(), key=lambda each: (-each[1], each[0])))
        return html_table(("predicate", "facts") if counts else (), rows, len(counts), repr(self)[1:-1])

    # Load: facts in.

    @exclusive
    def add(self, predicate: str, data: Any, *, graph: GraphName | None = None) -> None:
        """Adds facts of a predicate: rows (tuples), or an Arrow, pandas, polars or Spark table. `graph`: a named graph
        that they are in, instead of the unnamed one."""
        from deltalog.evaluation.encode_facts import listed_facts

        facts = listed_facts({predicate_name(predicate): data})
        with self._naming(facts):
            self.load_tables(lambda _: self._encoded(facts, graph))

    @exclusive
    def remove(self, predicate: str, data: Any, *, graph: GraphName | None = None) -> None:
        """Removes explicit facts of a predicate, as `add` adds them. Facts that were not given stay as they are."""
        from deltalog.evaluation.encode_facts import listed_facts

        facts = listed_facts({predicate_name(predicate): data})
        self._check_writable()
        self._add({}, self._encoded(facts, graph, adding=False))

    @exclusive
    def load(
        self,
        *paths: str | PathLike[str],
        base: str | None = None,
        shared_blank_nodes: bool = False,
        strict: bool = False,
        graphs: bool = True,
        graph: GraphName | None = None,
        predicate: str | None = None,
        **table: Unpack[TableKeywords],
    ) -> None:
        """Adds the facts of files and folders: N-Triples, N-Quads, Turtle, TriG, RDF/XML, JSON-LD, CSV, TSV,
        .facts, Parquet, JSON lines.

        base: the IRI against which relative IRIs in Turtle and RDF/XML are resolved (default: the file's own).
        shared_blank_nodes: a blank-node label means one node in all RDF files, not one in each.
        strict: relative IRIs, bare numbers and booleans in N-Triples and N-Quads are errors.
        graphs: the quads of N-Quads and TriG are in their graphs; if not, they are triples of the unnamed graph.
        graph: a named graph to put the triples into.
        predicate: the predicate of tables, instead of the one that the name of a file says.

        Of tables (docs/tables.md): header=True if the first row has the names of the columns, or "auto"; delimiter,
        quote, escape, encoding, skip (lines before the table), decimal="," for decimal commas; columns=["from", "to"],
        or {"src": "from"} to rename; types=["int", "string"], or {"km": "float"}, of auto, string, int, float, decimal,
        bool, date, datetime and iri; nulls="drop", "error" or a value, and null_values=["", "NA"].
        """
        reading = {"base": base, "shared_blank_nodes": shared_blank_nodes, "strict": strict, "graphs": graphs}
        files = Files.of(*paths, **reading, predicate=predicate, **table)  # type: ignore[arg-type]
        self._load(files, graph)

    def _load(self, files: Files, graph: GraphName | None = None) -> None:
        files = self._as_read(files)
        with self._files.loading(files), self._naming(files):
            self.load_tables(lambda _: self._encoded(files, graph))

    @exclusive
    @within_budget
    def load_tables(self, read: Callable[[Backend[Any]], Mapping[Pred, AnyTable]]) -> None:
        """Adds the facts that a reader makes tables of, with the backend of this knowledge base."""
        started = time.perf_counter()
        watcher().phase("load")
        self._check_writable()
        self._add(read(self._backend))
        self._files.has_others = True
        self._spent("load", started)

    def save(self, folder: str | PathLike[str]) -> None:
        """Creates a store in a folder that is new or empty. From here on every change is durable when it returns."""
        self.check_storable()
        super().save(folder)

    def _add(self, facts: Mapping[Pred, AnyTable], removed: Mapping[Pred, AnyTable] | None = None) -> None:
        """Adds and removes explicit facts, and drops what was derived."""
        if self._store is not None:  # a change like any other
            change, _ = self._change(self._rule_set, RequestedChange(facts, removed or {}))
            warn_of_notes(change.notes)
            return
        planned = self._planned_change(self._rule_set, RequestedChange(facts, removed or {}))
        explicit = self._united(self._less(self._explicit, planned.remove), planned.add)
        self._check_budget(explicit)
        rules = {"_rule_set": planned.rule_set, "_mentioned": self._mentioned | planned.rule_set.preds}
        after = rules if planned.rule_set is not self._rule_set else {}
        self._assign(_explicit=explicit, _state=None, _program=None, _ontology=planned.ontology, **after)
        warn_of_notes(planned.notes)

    def _check_budget(self, explicit: Mapping[Pred, AnyTable], state: Materialisation[AnyTable] | None = None) -> None:
        """Raises OverBudget if the backend has a budget, and facts and materialisation exceed it."""
        residence = self._backend.capabilities.residence
        if residence is not None:
            residence.check([*explicit.values(), *(state.tables if state is not None else ())])

    def _move(self, reason: str) -> None:
        """Moves the explicit facts to the backend without a budget; everything else is derived there again."""
        from deltalog.evaluation.capabilities import required

        moved = required(self._backend.capabilities.residence).move(self._explicit)
        after = dict[str, Any](_backend=moved.backend, _explicit=moved.tables, _state=None, _program=None)
        moved.backend.failures.back_to({})
        self._assign(**after, _why_moved=reason)
        self._forget_queries()

    def _assign(self, **attributes: Any) -> None:
        """Takes attributes over, all at once: no interrupt comes in between."""
        vars(self).update(attributes)

    def _encoded(
        self, facts: Mapping[str, Any] | Files, graph: GraphName | None = None, adding: bool = True
    ) -> dict[Pred, AnyTable]:
        """Facts as tables by predicate, or as quads of a graph; checked if they are to be added."""
        name = None if graph is None else graph_name(graph)
        self._note_names(facts.named_paths if isinstance(facts, Files) else facts)
        if isinstance(facts, Files):
            checked = facts.checking_subjects(self.prefixes) if adding else facts
            return self._in_graph(self._backend.codec.read(checked.paths, checked.reading), name)
        from deltalog.evaluation.encode_facts import encode_facts

        known = (self._mentioned, self._explicit)
        return self._in_graph(encode_facts(facts, self._backend, known, self.prefixes, adding), name) if facts else {}

    # Materialise: to the fixpoint.

    @exclusive
    def materialise(self, *, partial: bool = False, progress: bool = False) -> Report:
        """Derives everything that follows. At a limit: raises LimitReached and keeps nothing, or with `partial` keeps
        what has been derived, which is right but incomplete, and says so in the report. With `progress`, a bar shows
        what goes on, on a terminal or in a notebook (`deltalog.progress()` is the same for any calls)."""
        if self._state is None or not (partial or self._is_complete):
            from deltalog.knowledge_base.progress_bar import progress as shown

            with shown() if progress else nullcontext():
                self._materialise(partial)
        self._warn_of_data()
        return self.report

    @property
    def _is_complete(self) -> bool:
        """Whether there is a materialisation, and no limit has stopped it."""
        return self._state is not None and self._report.complete

    @limited
    @within_budget
    def _materialise(self, partial: bool = False) -> None:
        watcher().phase("plan")
        self._backend.failures.back_to({})
        report = Report(engine=self.engine, seconds={**self._report.seconds, "plan": 0.0, "evaluate": 0.0})
        how = self._setting
        state = how.materialise(lambda: self.program, self._explicit, self._evaluator(), report, partial)
        if report.complete:
            self._check_budget(self._explicit, state)
        report.engine_reason = self._engine_reason
        self._assign(_state=state, _report=report, _outputs=None)

    @property
    def _engine_reason(self) -> str:
        """Why the facts are where they are, where there is a choice."""
        residence = self._backend.capabilities.residence
        return self._why_moved if residence is None else residence.reason

    def _materialised(self) -> Materialisation[AnyTable]:
        """The materialisation, made if there is none; it may be one that a limit has stopped."""
        if self._state is None:
            self._materialise()
        assert self._state is not None
        return self._state

    def _completed(self) -> Materialisation[AnyTable]:
        """The materialisation, made if there is none, or made anew if a limit had stopped it."""
        if not self._is_complete:
            self._materialise()
        return self._materialised()

    def _restore(
        self,
        rules: RuleSet,
        explicit: dict[Pred, AnyTable],
        derived: Mapping[Pred, AnyTable],
        stored: StoredProgram,
        list_schemes: bool,
    ) -> bool:
        """Takes rules and facts over and, if the program still has the shape that they were stored with, what is
        derived; whether that is so. If not, it is derived when it is needed."""
        from deltalog.evaluation.maintenance.snapshot import restored, shape

        numbers = frozenset(map(Kind, stored.numbers))
        program = analyse(rules.rules, explicit, self._schemes, numbers=lambda _: numbers)
        same = shape(program) == stored.shape
        state = restored(program, explicit, derived, self._evaluator(), list_schemes) if same else None
        report = Report(self.engine, self._engine_reason, self._backend.name)
        after = {"_rule_set": rules, "_explicit": explicit, "_state": state, "_program": program, "_report": report}
        self._files.has_others = True
        mentioned = self._mentioned | program.preds | rules.preds
        self._assign(**after, _mentioned=mentioned, prefixes=dict(stored.prefixes))
        return same

    def _evaluator(self) -> Evaluator[AnyTable]:
        from deltalog.evaluation.hypertree import Trees
        from deltalog.evaluation.maintenance.materialisation import Evaluator

        naive = self.engine == "naive"
        trees = Trees("standard" if naive else self._cyclic, tuning=self._backend.tuning)
        observe = self._observe

        def observed(series: RoundSeries) -> None:
            watcher().rounds(series)
            if observe is not None:
                for round_ in series:
                    observe(round_)

        return Evaluator(self._backend, naive, self._maintenance, observed, trees)

    @property
    def _setting(self) -> EvaluationSetting:
        from deltalog.evaluation.staged import EvaluationSetting

        return EvaluationSetting(self._equality, self._schemes, self._stages)

    @property
    @exclusive
    def program(self) -> Program:
        """The rules, checked, as hyper-nodes in the order of evaluation."""
        if self._stages and self._state is not None:
            return self._state.program  # over the facts of stages
        known = self._program
        if known is None or known.rules != self.rules or known.data != self._explicit.keys():
            from deltalog.evaluation.maintenance.apply_change import number_kinds

            numbers = number_kinds(self._explicit, self._backend)
            known = self._program = analyse(self.rules, self._explicit, self._schemes, numbers=numbers)
        return known

    # Update: facts and rules come and go.

    @exclusive
    @limited
    def update(self, add: GivenFacts = None, remove: GivenFacts = None, *, graph: GraphName | None = None) -> Change:
        """Adds and removes explicit facts (predicate -> rows or a table, or `Files`) and what follows, or no longer
        follows.

        A fact that is in both is added. Removing a fact that was not given does nothing: if it is derived, it stays.
        graph: the named graph to add to and to remove from. Without it facts are added to the unnamed graph, and
        removed from the default graph: if that is the union, from all graphs.
        """
        return self.change(add, remove, graph=graph)

    @exclusive
    @limited
    def add_rules(self, rules: Sources) -> Change:
        """Adds rules (and facts) and what follows."""
        return self.change(add_rules=rules)

    @exclusive
    @limited
    def remove_rules(self, rules: Sources) -> Change:
        """Removes rules (and facts): by their text, or by their ids (see `rule_ids`)."""
        return self.change(remove_rules=rules)

    @exclusive
    @limited
    def change(
        self,
        add: GivenFacts = None,
        remove: GivenFacts = None,
        add_rules: Sources = (),
        remove_rules: Sources = (),
        *,
        graph: GraphName | None = None,
    ) -> Change:
        """`update`, `add_rules` and `remove_rules` in one. What is both added and removed is there afterwards."""
        return self._make(*_listed(add, remove, add_rules, remove_rules, graph))

    @exclusive
    @limited
    def what_if(
        self,
        add: GivenFacts = None,
        remove: GivenFacts = None,
        add_rules: Sources = (),
        remove_rules: Sources = (),
        *,
        graph: GraphName | None = None,
    ) -> Change:
        """What `change` would add and remove. The knowledge base stays as it is."""
        with self._backend.failures.apart():
            return self._describe(*_listed(add, remove, add_rules, remove_rules, graph))

    @within_budget
    def _make(self, add: Any, remove: Any, add_rules: Any, remove_rules: Any, graph: GraphName | None) -> Change:
        self._check_writable()  # first: it may take over what the store has
        add, remove = self._as_read(add), self._as_read(remove)
        with self._files.loading(add) if isinstance(add, Files) else nullcontext(), self._naming(add):
            rule_set, added, removed, document = self._wanted(add, remove, add_rules, remove_rules, graph)
            lints = self._warn_of_rules(document)
            self._keep_programs(document)
            change, _ = self._change(rule_set, RequestedChange(added, removed, document.rules), document.prefixes)
        self._files.add_programs(add_rules)
        if add_rules:
            self._lints = lints
            self._warn_of_data()
        return change

    @within_budget
    def _describe(self, add: Any, remove: Any, *asked: Any) -> Change:
        add, remove, names = self._as_read(add), self._as_read(remove), self._column_names
        try:
            with self._naming(add):
                rule_set, added, removed, document = self._wanted(add, remove, *asked)
                planned = self._planned_change(rule_set, RequestedChange(added, removed, document.rules))
                return self._described(planned, self._changed(*planned[:3])[1])
        finally:
            self._column_names = names

    def _wanted(
        self,
        add: Mapping[str, Any] | Files,
        remove: Mapping[str, Any] | Files,
        add_rules: Sequence[str | Path],
        remove_rules: Sequence[str | Path],
        graph: GraphName | None = None,
    ) -> tuple[RuleSet, dict[Pred, AnyTable], dict[Pred, AnyTable], Documents]:
        """A change: the rules after it, facts to add and to remove, and the statements that are added."""
        from deltalog.evaluation.encode_facts import encode_facts_of

        names, unwanted = read_removals(remove_rules)
        rule_set = self._rule_set.removing(names, unwanted)
        document = read_documents(add_rules, includes=False)
        check_addable(document)
        added = self._united(self._encoded(add, graph), encode_facts_of(document.rules, self._backend))
        removed = self._united(self._encoded(remove, graph, adding=False), encode_facts_of(unwanted, self._backend))
        return rule_set.adding(document.rules), added, removed, document

    def _change(
        self, rule_set: RuleSet, asked: RequestedChange, prefixes: Mapping[str, str] | None = None
    ) -> tuple[Change, Update[AnyTable]]:
        """The one way in which facts and rules change: all of it, or nothing."""
        return self._change_planned(self._planned_change(rule_set, asked), prefixes)

    def _change_planned(
        self, planned: Planned, prefixes: Mapping[str, str] | None = None
    ) -> tuple[Change, Update[AnyTable]]:
        """Makes a change that has the rules of axioms already."""
        self._check_writable()
        rule_set, add, remove, ontology, _ = planned
        state, update = self._changed(rule_set, add, remove)
        change = self._described(planned, update)
        become = partial(self._become, state, rule_set, prefixes or {}, ontology)
        self._journal(update, state, rule_set, prefixes or {}, ontology, become)
        self._files.has_others |= bool(add)
        self._snapshot_if_due()
        return change, update

    def _apply(
        self,
        rule_set: RuleSet,
        add: dict[Pred, AnyTable],
        remove: dict[Pred, AnyTable],
        prefixes: Mapping[str, str],
        version: int,
    ) -> None:
        """Makes a change that the store has already."""
        state, _ = self._changed(rule_set, add, remove)
        self._become(state, rule_set, prefixes, self._ontology, {"_version": version})

    def _changed(
        self, rule_set: RuleSet, add: dict[Pred, AnyTable], remove: dict[Pred, AnyTable]
    ) -> tuple[Materialisation[AnyTable], Update[AnyTable]]:
        """The materialisation after a change, which has not taken the place of the present one yet."""
        rules, how = None if rule_set is self._rule_set else rule_set.rules, self._setting
        state, update = how.apply_change(self._completed(), rules, add, remove, self._evaluator())
        self._check_budget(state.explicit, state)
        return state, update

    def _described(self, planned: Planned, update: Update[AnyTable]) -> Change:
        """A change before it is made."""
        added, removed, rule_set = *map(self._difference, update.differences()), planned.rule_set
        rules = rule_set.without(self._rule_set), self._rule_set.without(rule_set)
        new, old = map(self._quad_facts, (update.added_facts, update.removed_facts))
        return Change(added, removed, update.report, *rules, new, old, planned.notes)

    def _become(
        self,
        state: Materialisation[AnyTable],
        rule_set: RuleSet,
        prefixes: Mapping[str, str],
        ontology: Ontology | None,
        stored: Mapping[str, Any],
    ) -> None:
        """A new state takes the place of the old one, at once; `stored` is what its store knows of it."""
        after = dict[str, Any](_state=state, _explicit=state.explicit, _rule_set=rule_set, _ontology=ontology, **stored)
        if prefixes:
            after["prefixes"] = {**self.prefixes, **prefixes}
        if len(rule_set.numbers) > len(self._rule_set.numbers):
            after["_mentioned"] = self._mentioned | state.program.preds
        if self._state is not None and state.program is not self._state.program:
            after["_program"] = state.program
        self._assign(**after)

    def _difference(self, find: Callable[[], Mapping[Pred, AnyTable]]) -> Difference:
        backend = self._backend  # of the difference, even if the knowledge base moves later
        columns = self._columns.known

        def views() -> dict[Pred, Facts[AnyTable]]:
            with self._lock.held:
                return {pred: of_predicate(pred, table, backend, columns(pred)) for pred, table in find().items()}

        return Difference(views, self._names, backend, columns)

    # Freeze: the present state, for other threads.

    @exclusive
    def frozen(self) -> KnowledgeBase:
        """A knowledge base with the present facts and rules, for reading. Changes of this one do not change it, and
        neither waits for calls of the other. It shares all tables, so it takes no time and no memory to speak of."""
        from deltalog.knowledge_base.frozen import frozen

        return frozen(self)

    # Query: `query`, `sparql` and their relatives are in `QueryMethods`, over the contents at the time of a call.

    def _contents(self) -> Contents[AnyTable]:
        """The present rules and facts, for one call."""
        from deltalog.evaluation.goals.contents import Contents

        def materialised() -> Contents[AnyTable]:
            self._materialised()
            self._warn_of_data()
            return self._contents()

        given = self._rule_set.ordinary, without_graphs(self._explicit), self._mentioned, self.prefixes
        base = without_graphs(self._state.base) if self.has_stages and self._state is not None else None
        derive = self._evaluator, self._materialise, materialised, self._why_materialise
        quads = {pred: table for pred, table in self._explicit.items() if pred in GRAPHS}
        return Contents(self._backend, *given, self._state, self._report, *derive, quads, self._columns.known, base)

    def _contents_for_goal(self, timeout: float | None = None) -> Contents[AnyTable]:
        if self.has_stages:
            with self.limits.running("query", timeout):
                self._completed()
        return self._contents()

    def _why_materialise(self) -> str | None:
        return self._setting.why_materialise(self.rules, self._evaluator())

    # Explain: `explain` and `consequences` are in `ExplainMethods`.

    def _source(self, fact: Fact) -> str | None:
        """The file that an explicit fact came from, where it is known."""
        return self._files.find(fact)

    # Read: facts and figures out; `facts`, `predicates` and their relatives are in `ReadMethods`.

    @exclusive
    def write(
        self,
        folder: str | PathLike[str],
        format: str = "csv",
        *,
        only: Iterable[str] = (),
        derived: bool = False,
        header: bool = False,
    ) -> None:
        """Writes facts to a folder that is new or empty: one file per predicate (csv, tsv, parquet, jsonl), or all as
        triples in facts.nt or facts.ttl, or with the graphs of facts in facts.nq or facts.trig. header: CSV and TSV
        files begin with the names of columns."""
        started, wanted = time.perf_counter(), names_of(only, "only")
        contents = self._contents().materialised()
        watcher().phase("write")
        tables = contents.tables(wanted, derived)
        if isinstance(format, str) and format in TRIPLE_FORMATS and self.ontology is not None and not wanted:
            tables = {pred: table for pred, table in tables.items() if pred not in AUXILIARY}
        if isinstance(format, str) and format in GRAPH_FORMATS and not derived:
            tables = self._with_quads(tables, [contents.names().find(name) for name in wanted])
        columns = {pred: names for pred in tables if (names := self._columns.known(pred))}
        form = OutputForm(format, columns, header, self.prefixes)
        self._backend.codec.write(local_path(folder), tables, form)
        self._spent("write", started)

    @property
    @exclusive
    def report(self) -> Report:
        """What the last materialisation did, with the present numbers of facts."""
        report = self._report
        if self._state is not None:
            report.per_predicate = self._contents().counts()
            report.facts_total = sum(report.per_predicate.values())
            report.failures = failed_expressions(self._backend.failures, self._rule_set.ids)
            report.failed_expressions = sum(each.count for each in report.failures)
            report.equality = self._setting.described(self._state, self._evaluator())
            report.facts_dominated = self._facts_dominated(self._state)
            report.magic_sets = report.magic_sets or self._magic_sets_not_used
        report.facts_in, report.skipped_inputs = self.explicit_facts, list(self._skipped_inputs)
        return report

    @exclusive
    def metrics(self) -> dict[str, int]:
        """Spark's jobs, stages, tasks and shuffles so far, of this knowledge base; empty on the other engines."""
        metrics = self._backend.capabilities.metrics
        return {} if metrics is None else metrics.snapshot()

    @property
    @exclusive
    def explicit_facts(self) -> int:
        """How many facts were given."""
        given = without_graphs(self._explicit)
        return sum(self._backend.size(table) for pred, table in given.items() if not pred.hidden)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in the order in which they were given."""
        return self._rule_set.rules

    @property
    @exclusive
    def rule_ids(self) -> dict[str, Rule]:
        """The rules by their ids: r1, r2, ... in the order in which they were first given; an id never changes."""
        return dict(self._rule_set.ids)

    def _spent(self, phase: str, started: float) -> None:
        self._report.seconds[phase] += time.perf_counter() - started


def _listed(
    add: GivenFacts, remove: GivenFacts, add_rules: Sources, remove_rules: Sources, graph: GraphName | None
) -> tuple[Any, ...]:
    """What a change is asked to do, such that it can be read more than once."""
    from deltalog.evaluation.encode_facts import listed_facts

    facts = (given if isinstance(given, Files) else listed_facts(given) for given in (add, remove))
    return *facts, as_sources(add_rules), as_sources(remove_rules), graph
