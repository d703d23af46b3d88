"""KnowledgeBase: the public methods. Each takes its turn (`knowledge_base.calls`) and works on a `Session`.

    parse     text -> rules                          deltalog.languages
    analyse   rules -> program, hyper-nodes          deltalog.program
    load      files, rows, frames -> tables of ids   deltalog.formats, deltalog.core.dictionary
    plan      rules -> algebra                       deltalog.evaluation.plan
    run       algebra -> new facts, to the fixpoint  deltalog.evaluation on deltalog.engines
    change    state, request -> state, delta         deltalog.evaluation.state, with deltalog.extensions
    query     goals, SPARQL -> answers               deltalog.evaluation.goals
    explain   facts -> proofs, missing premises      deltalog.extensions.explain
    read      tables of ids -> values                deltalog.evaluation.facts
    keep      changes -> log and snapshots           deltalog.extensions.store

Explicit facts (EDB) and rules are what the user gave. The materialisation, explicit and derived facts (IDB), is made
when it is first needed. From then on `update`, `add_rules` and `remove_rules` maintain it; `add` and `load` are for the
beginning, and drop it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from deltalog.core.arguments import check_choice
from deltalog.core.concurrency.interrupts import shielded
from deltalog.core.limits import Limits
from deltalog.core.rules import Rule
from deltalog.core.table_options import TableKeywords
from deltalog.formats.documents import Files
from deltalog.knowledge_base import topics
from deltalog.knowledge_base.calls import exclusive, limited
from deltalog.knowledge_base.checked_program import CheckedProgram
from deltalog.knowledge_base.settings import ENGINES, OntologyPaths, SettingKeywords, Settings
from deltalog.languages.load_program import Sources

if TYPE_CHECKING:
    from deltalog.core.errors import Diagnostic
    from deltalog.core.render.notebook_text import PlainText, SvgText
    from deltalog.evaluation.change import Change
    from deltalog.evaluation.facts import Facts
    from deltalog.evaluation.goals.goal_evaluator import Answers
    from deltalog.evaluation.report import Report
    from deltalog.extensions.explain.model import Explanation
    from deltalog.extensions.ontology.inconsistencies import Inconsistency
    from deltalog.extensions.ontology.state import Ontology
    from deltalog.extensions.store.store import Dropped
    from deltalog.knowledge_base.changes import GivenFacts, GraphName
    from deltalog.knowledge_base.session import Session
    from deltalog.knowledge_base.training import Training
    from deltalog.languages.sparql.graphs import Dataset
    from deltalog.languages.sparql.solutions import Solutions
    from deltalog.program import Program


Made = TypeVar("Made", bound="KnowledgeBase")


class KnowledgeBase:
    """Facts and rules, and everything that follows from them.

    Args:
        program: rules as text, a Path to a file of them, several of either, or none yet.
        language: of the program; "auto" tells it from the names of files and from directives in texts. What a
            program names by `@input` or `@import` is loaded.
        engine: "local" (this process), "spark" (the SparkSession `spark`, or the active one, or a new one on
            `master`), "auto" (in Spark's driver by the local engine while facts fit its budget, else in Spark's
            executors), or "naive" (slow and obvious, for comparisons).
        timeout: seconds that a call may take that derives facts or answers. At this and the next two limits it
            raises LimitReached, and the knowledge base is as it was. `limits` has all three, and they may be
            changed there.
        max_facts: the number of facts that a call may leave.
        memory: what a call may add to the memory of the process, such as "8GB".
        ontology: ontology files whose axioms become rules, of a `profile`; see `load_ontology`.
        settings: how it evaluates and maintains, such as Settings(equality="axioms"); each of the `Settings` may also
            be given by its name.

    Threads may share a knowledge base: calls take turns. What they return does not change any more, and any thread may
    read it at any time. See docs/concurrency.md.
    """

    @shielded
    def __init__(
        self,
        program: Sources = "",
        *,
        language: str = "auto",
        engine: str = "local",
        timeout: float | None = None,
        max_facts: int | None = None,
        memory: str | int | None = None,
        master: str | None = None,
        spark: Any = None,
        ontology: OntologyPaths = (),
        profile: str | None = None,
        settings: Settings | None = None,
        **more: Unpack[SettingKeywords],
    ) -> None:
        check_choice("engine", engine, ENGINES)
        chosen, limits = Settings.of(settings, more), (timeout, max_facts, memory)
        checked = CheckedProgram.of(program, language, chosen.preprocessing)  # a wrong program is refused at once
        spark_session, ontologies = (master, spark), (ontology, profile)
        self._session = topics.opening.new_session(checked, engine, limits, chosen, spark_session, ontologies)

    def __repr__(self) -> str:
        session = self._session
        state = f"{self.report.facts_total:,} facts" if session.state.is_complete else "not materialised"
        given = f"{len(session.rules):,} rules, {session.explicit_facts:,} explicit facts"
        return f"<KnowledgeBase: {given}, {state}, {session.engine} engine>"

    @shielded
    def _repr_html_(self) -> str:
        return topics.reading.html(self._session, repr(self)[1:-1])

    # Load: facts in.

    @exclusive
    def add(self, predicate: str, data: Any, *, graph: GraphName | None = None) -> None:
        """Adds facts of a predicate: rows (tuples), or an Arrow, pandas, polars or Spark table. `graph`: a named graph
        that they are in, instead of the unnamed one."""
        topics.changes.add(self._session, predicate, data, graph)

    @exclusive
    def remove(self, predicate: str, data: Any, *, graph: GraphName | None = None) -> None:
        """Removes explicit facts of a predicate, as `add` adds them. Facts that were not given stay as they are."""
        topics.changes.remove(self._session, predicate, data, graph)

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
        documents = {"base": base, "shared_blank_nodes": shared_blank_nodes, "strict": strict, "graphs": graphs}
        files = Files.of(*paths, **documents, predicate=predicate, **table)  # type: ignore[arg-type]
        topics.changes.load(self._session, files, graph)

    @exclusive
    def load_inputs(self, *folders: str | PathLike[str], missing: str = "error", only_needed: bool = False) -> None:
        """Adds the facts that `.input` directives of Soufflé programs name: files in these folders (default: the
        program's). missing: "error" or "ignore" where there is no such file; the file of a relation that no output
        needs may always be missing. only_needed: such files are not opened at all, and `report.skipped_inputs` names
        the relations."""
        topics.programs.load_inputs(self._session, folders, missing, only_needed)

    @limited
    def load_ontology(
        self, *paths: str | PathLike[str], profile: str | None = None, base: str | None = None
    ) -> Change | None:
        """Adds the axioms of ontology files (Turtle, RDF/XML, N-Triples) as rules, and their facts.

        profile: "owl2rl" (the default) or "rdfs" compile axioms to rules of their own; "owl2rl-rdf" takes the OWL 2
        RL/RDF rules as they are, and the axioms as facts. One knowledge base has one profile.
        Documents that the files import (owl:imports) are read, too, if they are found without the network; for each one
        that is not, there is a warning, and `ontology.missing_imports` has it.
        Returns the change, if there is a materialisation.
        """
        return topics.ontologies.load_ontology(self._session, paths, profile, base)

    @limited
    def remove_ontology(self, *paths: str | PathLike[str]) -> Change | None:
        """Removes the axioms and facts of ontology files, or of folders of them, that were loaded. Returns the change,
        if there is a materialisation."""
        return topics.ontologies.remove_ontology(self._session, paths)

    # Materialise: to the fixpoint.

    @exclusive
    def materialise(self, *, partial: bool = False, progress: bool = False) -> Report:
        """Derives everything that follows. At a limit: raises LimitReached and keeps nothing, or with `partial` keeps
        what has been derived, which is right but incomplete, and says so in the report. With `progress`, a bar shows
        what goes on, on a terminal or in a notebook (`deltalog.progress()` is the same for any calls)."""
        from deltalog.knowledge_base.progress_bar import progress as shown

        with shown() if progress else nullcontext():
            self._session.materialise_if_needed(partial)
        self._session.warn_of_data()
        return self._session.report()

    @exclusive
    def materialise_outputs(self, *, partial: bool = False) -> Report:
        """Derives what the outputs of Soufflé programs need, by magic sets, if the programs ask for them; otherwise
        everything that follows, as `materialise` does. `report.magic_sets` says what was restricted, and what was not.

        Other relations keep their meaning: reading one derives everything. partial: as for `materialise`."""
        topics.outputs.materialise_outputs(self._session, partial)
        self._session.warn_of_data()
        return self._session.report()

    # Change: facts and rules come and go.

    @exclusive
    def update(self, add: GivenFacts = None, remove: GivenFacts = None, *, graph: GraphName | None = None) -> Change:
        """Adds and removes explicit facts (predicate -> rows or a table, or `Files`) and what follows, or no longer
        follows.

        A fact that is in both is added. Removing a fact that was not given does nothing: if it is derived, it stays.
        graph: the named graph to add to and to remove from. Without it facts are added to the unnamed graph, and
        removed from the default graph: if that is the union, from all graphs.
        """
        return topics.changes.change(self._session, "update", (add, remove, (), (), graph))

    @exclusive
    def add_rules(self, rules: Sources) -> Change:
        """Adds rules (and facts) and what follows."""
        return topics.changes.change(self._session, "add_rules", (None, None, rules, (), None))

    @exclusive
    def remove_rules(self, rules: Sources) -> Change:
        """Removes rules (and facts): by their text, or by their ids (see `rule_ids`)."""
        return topics.changes.change(self._session, "remove_rules", (None, None, (), rules, None))

    @exclusive
    def change(
        self,
        add: GivenFacts = None,
        remove: GivenFacts = None,
        add_rules: Sources = (),
        remove_rules: Sources = (),
        *,
        graph: GraphName | None = None,
    ) -> Change:
        """`update`, `add_rules` and `remove_rules` in one. Additions win over removals."""
        return topics.changes.change(self._session, "change", (add, remove, add_rules, remove_rules, graph))

    @exclusive
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
        return topics.changes.what_if(self._session, (add, remove, add_rules, remove_rules, graph))

    @limited
    def sparql_update(
        self,
        request: str,
        *,
        load_from: Iterable[str | PathLike[str]] = (),
        dry_run: bool = False,
        dataset: Dataset | None = None,
        base: str | None = None,
    ) -> Change:
        """Carries out a SPARQL Update request: all of its operations, as one change, or nothing.

        An operation sees what those before it have done, with all that follows. What is deleted and still follows from
        rules stays; `change.notes` says so.
        load_from: the folders that LOAD may read files from. dry_run: says what would change, and changes nothing.
        dataset: the graphs that patterns are matched in, as USING and USING NAMED say it, which the request may not.
        base: what relative IRIs are resolved against, unless they name a predicate or the request has a BASE.
        """
        return topics.graphs.sparql_update(self._session, request, load_from, dry_run, dataset, base)

    # Query and explain.

    @limited
    def query(self, goal: str, method: str = "auto", *, timeout: float | None = None) -> Answers[Any]:
        """The answers of a goal such as `path(a, ?x)`, or several separated by commas: one row per binding of its
        variables, in the order in which they occur. Prefixes are those of the program. `timeout` is for this goal.

        method: "materialised" looks them up among all that follows; "magic" and "qsqr" derive only what the goal needs,
        by magic sets (bottom-up, for goals that need much) or QSQ-R (top-down, for goals that need little); "auto"
        looks them up if everything is known, and chooses otherwise. The answers say which it was, and why.
        """
        return topics.queries.query(self._session, goal, method, timeout)

    @shielded
    def sparql(
        self, query: str, method: str = "auto", *, dataset: Dataset | None = None, base: str | None = None
    ) -> Solutions | bool:
        """The solutions of a SPARQL SELECT, whether an ASK has one, or the triples of a CONSTRUCT or DESCRIBE. `method`
        is as for `query`.

        A class is a predicate of one argument, a property one of two; predicates with bare names go as `<name>`.
        Prefixes are those of the query and the program, and rdf, rdfs, owl and xsd.
        dataset: the graphs to ask (`languages.sparql.graphs.Dataset`), instead of those of FROM and FROM NAMED.
        base: what relative IRIs are resolved against, unless they name a predicate or the query has a BASE.
        """
        solutions = self.solve(query, method, dataset=dataset, base=base)
        return len(solutions) > 0 if solutions.ask else solutions

    @limited
    def solve(
        self, query: str, method: str = "auto", *, dataset: Dataset | None = None, base: str | None = None
    ) -> Solutions:
        """As `sparql`, but an ASK, too, has solutions, which say how they came about: `method`, `reason`, `seconds`."""
        return topics.queries.solve(self._session, query, method, dataset, base)

    @limited
    def explain(self, fact: Any, values: Any = None, *, all: int = 1, depth: int | None = None) -> Explanation:
        """Why a fact holds, or why it does not: `kb.explain("path(a, d)")` or `kb.explain("path", ("a", "d"))`.

        The first proof is of least height; `all` asks for up to so many different ones. `depth` is the number of levels
        that are shown of a proof; for a fact that does not hold, how far missing premises are explained in turn.
        """
        return topics.explanations.explain(self._session, fact, values, all, depth)

    @shielded
    def consequences(self, fact: Any, values: Any = None) -> Change:
        """The facts that would go if an explicit fact went, and itself, unless it is derived, too; and those that would
        come, by rules with negations or aggregates. The knowledge base stays as it is."""
        with self._session.lock.held:
            asked = topics.explanations.explicit_fact(self._session, fact, values)
        name = asked.pred.name if ":" in asked.pred.name else str(asked.pred)
        return self.what_if(remove={name: [asked.values]})

    @limited
    def plan(self) -> PlainText:
        """How the rules would be evaluated over the present facts: hyper-nodes, join orders, decompositions."""
        return topics.reading.plan(self._session)

    @limited
    def plan_goal(self, goal: str) -> PlainText:
        """The rules that magic sets makes for a goal, after the fact that asks it."""
        return topics.reading.plan_goal(self._session, goal)

    @exclusive
    def draw(self) -> SvgText:
        """The dependency graph of the rules, and the hypertree decompositions of those that have one, as SVG."""
        return topics.reading.draw(self._session)

    @property
    @shielded
    def training(self) -> Training:
        """Training of the choice between methods for goals."""
        return topics.training.Training(self)

    # Read: facts and figures out.

    @exclusive
    def facts(self, predicate: str) -> Facts[Any]:
        """The facts of a predicate, derived ones included."""
        return topics.outputs.contents_with(self._session, predicate).facts(predicate)

    @exclusive
    def derived(self, predicate: str) -> Facts[Any]:
        """The facts of a predicate that were not given but derived."""
        return topics.outputs.contents_with(self._session, predicate).facts(predicate, derived=True)

    @exclusive
    def count(self, predicate: str) -> int:
        """How many facts a predicate has."""
        return len(self.facts(predicate))

    def __getitem__(self, predicate: str) -> Facts[Any]:
        """`kb["path"]` is `kb.facts("path")`."""
        return self.facts(predicate)

    def __iter__(self) -> Iterator[str]:
        """The names of the predicates, as of a mapping."""
        return iter(self.predicates)

    def __contains__(self, predicate: object) -> bool:
        """Whether rules or facts speak of a predicate."""
        return isinstance(predicate, str) and str.__str__(predicate) in self.predicates

    def _ipython_key_completions_(self) -> list[str]:
        """The predicates, for completion of `kb["`."""
        return self.predicates

    @property
    @exclusive
    def predicates(self) -> list[str]:
        """The names of all predicates that rules or facts speak of, sorted; `name/arity` where a name has several."""
        return list(self._session.names().by_name)

    @exclusive
    def arity(self, predicate: str) -> int:
        """How many arguments a predicate has; UsageError if there is none of that name."""
        return self._session.predicate(predicate).arity

    @property
    @exclusive
    def graphs(self) -> dict[GraphName, int]:
        """The named graphs, and how many triples each has. A graph without triples does not exist."""
        return topics.graphs.graphs(self._session)

    @exclusive
    def graph(self, name: GraphName) -> Facts[Any]:
        """The triples that were given for a named graph: subjects, predicates and objects."""
        return topics.graphs.graph(self._session, name)

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
        topics.reading.write(self._session, folder, format, only, derived, header)

    @exclusive
    def write_outputs(self, folder: str | PathLike[str] | None = None) -> list[Path]:
        """Writes what programs name: files of @output; and of `.output` and `.printsize` directives of Soufflé programs
        files to a folder, if there is one, and the rest to standard output. The files that were written."""
        return topics.programs.write_outputs(self._session, folder)

    @exclusive
    def write_exports(self, folder: str | PathLike[str]) -> list[Path]:
        """Writes what Nemo programs export to a folder; all derived predicates if they say nothing. The files."""
        return topics.programs.write_exports(self._session, folder)

    @property
    @exclusive
    def report(self) -> Report:
        """What the last materialisation did, with the present numbers of facts."""
        return self._session.report()

    @property
    @exclusive
    def explicit_facts(self) -> int:
        """How many facts were given."""
        return self._session.explicit_facts

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in the order in which they were given."""
        return self._session.rules

    @property
    @exclusive
    def rule_ids(self) -> dict[str, Rule]:
        """The rules by their ids: r1, r2, ... in the order in which they were first given; an id never changes."""
        return dict(self._session.state.rule_set.ids)

    @property
    @exclusive
    def program(self) -> Program:
        """The rules, checked, as hyper-nodes in the order of evaluation."""
        return self._session.program

    @property
    def prefixes(self) -> Mapping[str, str]:
        """The prefixes of programs and of files of ontologies."""
        return self._session.prefixes

    @property
    def limits(self) -> Limits:
        """The limits of each call; they may be changed."""
        return self._session.limits

    @property
    @exclusive
    def warnings(self) -> list[Diagnostic]:
        """What is most likely not meant: in the rules, and in how rules and present facts fit together."""
        return self._session.warnings.present(self._session)

    @property
    @shielded
    def ontology(self) -> Ontology | None:
        """The ontology: `.rules` that it became, `.compiled.outside` with the axioms of which something is lost."""
        return topics.reading.ontology(self._session)

    @property
    @limited
    def inconsistencies(self) -> list[Inconsistency]:
        """Contradictions between facts and the ontology: each has an individual, an axiom, a rule, and facts. They do
        not make everything follow: the materialisation stays usable."""
        return topics.reading.inconsistencies(self._session)

    @exclusive
    def metrics(self) -> dict[str, int]:
        """Spark's jobs, stages, tasks and shuffles so far, of this knowledge base; empty on the other engines."""
        metrics = self._session.backend.capabilities.metrics
        return {} if metrics is None else metrics.snapshot()

    # Keep: states for readers, and stores.

    @exclusive
    def frozen(self) -> Self:
        """A knowledge base with the present facts and rules, for reading. Changes of this one do not change it, and
        neither waits for calls of the other. It shares all tables, so it takes no time and no memory to speak of."""
        return knowledge_base_of(topics.frozen.frozen(self._session), type(self))

    @limited
    def save(self, folder: str | PathLike[str]) -> None:
        """Creates a store in a folder that is new or empty. From here on every change is durable when it returns."""
        topics.stores.save(self._session, folder)

    @classmethod
    @shielded
    def open(
        cls, folder: str | PathLike[str], *, readonly: bool = False, version: int | None = None, **settings: Any
    ) -> Self:
        """The knowledge base of a store. `settings` are those of `KnowledgeBase`; others are as they were saved.

        readonly: changes nothing, and does not keep others from changing the store; see `refresh`.
        version: a version before the newest one; it is open for reading.
        """
        return topics.opening.open_session(cls, folder, readonly, version, settings)

    @property
    def version(self) -> int | None:
        """The number of the version of the store that this is; None without a store."""
        return self._session.version

    @limited
    def refresh(self) -> int | None:
        """Takes a knowledge base that is open for reading to the newest version; its number."""
        return topics.stores.refresh(self._session)

    @limited
    def compact(self, keep: int = 1) -> Dropped:
        """Writes a snapshot, which makes opening fast, and drops all but the last `keep` snapshots with the changes
        before them; what was dropped."""
        return topics.stores.compact(self._session, keep)

    @exclusive
    def close(self) -> None:
        """Closes the store. The knowledge base can still be read, but not be changed any more."""
        topics.stores.close(self._session)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def knowledge_base_of(session: Session, cls: type[Made]) -> Made:
    """A knowledge base with a session."""
    made = object.__new__(cls)
    made._session = session
    return made
