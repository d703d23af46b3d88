"""KnowledgeBase: the whole pipeline.

    parse     text -> rules                          deltalog.syntax
    analyse   rules -> program, hyper-nodes          deltalog.program
    load      files, rows, frames -> tables of ids   deltalog.io, deltalog.dictionary
    plan      rules -> algebra                       deltalog.plan
    run       algebra -> new facts, to the fixpoint  deltalog.engine on deltalog.backends
    maintain  changes -> what is added and removed   deltalog.engine.maintenance
    read      tables of ids -> values                deltalog.facts

Explicit facts and rules are what the user gave. The materialisation is made from them when it is first needed. From
then on `update`, `add_rules` and `remove_rules` keep it right; `add` and `load` are for the beginning, and drop it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.change import Change, Difference
from deltalog.engine.report import Report, Round
from deltalog.errors import LimitReached, UsageError
from deltalog.facts import Facts
from deltalog.limits import Limits, parse_memory, peak_memory
from deltalog.plan.ir import Part
from deltalog.program import Program, analyse, changed, read_documents, read_rules
from deltalog.program.patterns import WAYS
from deltalog.syntax.ast import TRIPLES, TYPES, Constant, Literal, Pred, Rule
from deltalog.terms import Value

if TYPE_CHECKING:
    from deltalog.backends.base import Backend
    from deltalog.engine.materialisation import Evaluator, Materialisation
    from deltalog.engine.update import Update
    from deltalog.plan.statistics import Statistics
    from deltalog.query.answer import Answers, Derived, Questions
    from deltalog.query.choice import Choice
    from deltalog.query.estimate import Features
    from deltalog.query.goal import Goal
    from deltalog.query.selector import Model
    from deltalog.query.sparql.answer import Asked
    from deltalog.query.sparql.query import Query
    from deltalog.query.sparql.solutions import Solutions
    from deltalog.query.training import Example

Table = Any  # the backend's own handle
Rules = str | Path | Iterable[str | Path]

ENGINES = ("local", "spark", "auto", "naive")
LOCAL = ("local", "naive")  # engines whose facts are in this process
STRATEGIES = ("auto", "dred", "bf", "counting")
CYCLIC = ("combined", "standard", "hypertree")
METHODS = ("auto", "materialised", "magic", "qsqr")
INTERNAL = (TRIPLES, TYPES)


class KnowledgeBase:
    """Facts and rules, and everything that follows from them.

    program: rules as text, a Path to a file of them, several of either, or none yet.
    engine: "local" (this process), "spark" (the active SparkSession, or a new one on `master`), "auto" (facts in Spark,
        reasoning in its driver by the local engine while that fits, else in Spark), or "naive" (slow and obvious, for
        comparisons).
    timeout (seconds), max_facts, memory ("8GB"): limits of a materialisation; LimitReached is raised at one.
    maintenance: how rules lose facts: "dred" deletes and rederives, "bf" searches for other proofs first, "auto" does
        the first unless it would delete far too much, and then the second; "counting" deletes and rederives by counts
        of derivations, which it makes at the first change and keeps. All give the same facts.
    cyclic: how rules with cyclic bodies are evaluated: "standard" joins them like others, "hypertree" takes a hypertree
        decomposition for every rule, "combined" for cyclic ones where it is estimated to pay. All give the same facts.
    schemes: how relations that are transitive, symmetric, inverse to each other or unions are kept: "scheme" by their
        structure and not row by row, "module" as tables with rules of their own, "standard" as all others; "auto" is
        "scheme", but lists what is small. All give the same facts.
    observe: is called after every round of evaluation with a `Round`.
    """

    def __init__(
        self,
        program: Rules = "",
        *,
        engine: str = "local",
        timeout: float | None = None,
        max_facts: int | None = None,
        memory: str | int | None = None,
        threads: int | None = None,
        master: str | None = None,
        maintenance: str = "auto",
        cyclic: str = "combined",
        schemes: str = "auto",
        observe: Callable[[Round], None] | None = None,
    ) -> None:
        if engine not in ENGINES:
            raise _unknown_engine(engine)
        if maintenance not in STRATEGIES:
            raise UsageError(f"there is no way of maintenance {maintenance!r}; there are {', '.join(STRATEGIES)}")
        if cyclic not in CYCLIC:
            raise UsageError(f"there is no way {cyclic!r} for cyclic rules; there are {', '.join(CYCLIC)}")
        if schemes not in WAYS:
            raise UsageError(f"there is no way of schemes {schemes!r}; there are {', '.join(WAYS)}")
        document = read_documents(_sources(program))
        rules, self.prefixes = document.rules, document.prefixes
        self._mentioned = analyse(rules).preds  # a wrong program is refused at once
        self.engine = engine
        self._maintenance, self._cyclic = maintenance, cyclic
        self._schemes = schemes if engine != "naive" else "standard"
        self._report = Report(engine=engine)
        self._limits = Limits(timeout, max_facts, parse_memory(memory) if isinstance(memory, str) else memory)
        self._observe = observe or (lambda _: None)
        self._backend = _backend(engine, threads, master)
        self._backend.check = self._limits.check
        self._numbers: dict[Rule, int] = {}
        self._ids = self._numbered(rule for rule in rules if not rule.is_fact)
        self._rules = tuple(self._ids.values())
        self._note_numbers(self._ids)
        self._explicit: dict[Pred, Table] = {}
        self._program: Program | None = None
        self._state: Materialisation[Table] | None = None
        self._stopped: Materialisation[Table] | None = None  # by a limit
        self._asked: Questions[Table] | None = None
        self._queried: Asked[Table] | None = None
        self._selector: Model | None = None
        self.examples: list[Example] = []
        self._add(self._encode_facts(rules))

    # Facts and rules in.

    def add(self, predicate: str, data: Any) -> None:
        """Adds facts of a predicate: rows (tuples), or an Arrow, pandas, polars or Spark table."""
        started = time.perf_counter()
        self._add(self._encode({predicate: data}))
        self._spent("load", started)

    def load(self, *paths: str | PathLike[str]) -> None:
        """Adds the facts of files and folders: N-Triples, N-Quads, Turtle, RDF/XML, CSV, TSV, .facts, Parquet."""
        started = time.perf_counter()
        self._add(self._backend.read([Path(path) for path in paths]))
        self._spent("load", started)

    def _add(self, facts: Mapping[Pred, Table]) -> None:
        for pred, table in facts.items():
            present = self._explicit.get(pred)
            if present is not None:
                table = self._backend.merge(present, self._backend.minus(table, present))
            self._explicit[pred] = table
        self._state = None

    def _encode(self, facts: Mapping[str, Any]) -> dict[Pred, Table]:
        found: dict[Pred, Table] = {}
        for predicate, (arity, table) in self._backend.encode_all(facts).items():
            if self._backend.size(table):
                found[Pred(_split_name(predicate)[0], arity)] = table
        return found if found.keys().isdisjoint(INTERNAL) else self._by_predicate(found)

    def _by_predicate(self, facts: dict[Pred, Table]) -> dict[Pred, Table]:
        """Facts in which triples, and types whose class is an IRI, are under their own predicates."""
        from deltalog.engine.triples import distributed

        return distributed(facts, self._backend)

    def _encode_facts(self, rules: Iterable[Rule]) -> dict[Pred, Table]:
        """The facts among some rules."""
        rows: dict[Pred, list[tuple[Value, ...]]] = {}
        for head in (head for rule in rules if rule.is_fact for head in rule.heads):
            rows.setdefault(head.pred, []).append(tuple(t.value for t in head.terms if isinstance(t, Constant)))
        return {pred: self._backend.encode(values, pred.name)[1] for pred, values in rows.items()}

    def _numbered(self, rules: Iterable[Rule]) -> dict[str, Rule]:
        """Rules by their ids, each once; new ones would get the next."""
        ids, last = {}, len(self._numbers)
        for rule in dict.fromkeys(rules):
            number = self._numbers.get(rule)
            if number is None:
                number = last = last + 1
            ids[f"r{number}"] = rule
        return ids

    def _note_numbers(self, ids: Mapping[str, Rule]) -> None:
        """Nobody else gets these ids."""
        self._numbers.update((rule, int(name[1:])) for name, rule in ids.items())

    # The fixpoint.

    def materialise(self, *, partial: bool = False) -> Report:
        """Derives everything that follows. At a limit: raises LimitReached and keeps nothing, or with `partial` keeps
        what has been derived, which is right but incomplete, and says so in the report."""
        if self._state is None:
            self._materialise(partial)
        return self.report

    def _materialise(self, partial: bool) -> None:
        from deltalog.engine.materialisation import Materialisation, start

        report = Report(engine=self.engine, seconds={**self._report.seconds, "plan": 0.0, "evaluate": 0.0})
        started = time.perf_counter()
        program = self.program
        analysed, planned = time.perf_counter() - started, 0.0
        relations, evaluator = start(program.placed(self._explicit), self._backend), self._evaluator(report)
        self._limits.start()
        try:
            planned = evaluator.run(program, relations)
        except LimitReached as limit:
            if not partial:
                raise LimitReached(f"{limit}, and the answer is not complete") from None
            report.complete, report.why_incomplete = False, str(limit)
        self._state = Materialisation(program, self._explicit, relations, evaluator.trees)
        self._stopped = None if report.complete else self._state
        report.seconds["plan"] = analysed + planned
        report.seconds["evaluate"] = time.perf_counter() - started - report.seconds["plan"]
        report.peak_memory_bytes = peak_memory()
        if self.engine != "naive":
            report.engine, report.engine_reason = self._backend.reasoned_by
        report.pipeline = self._backend.name
        report.cyclic_rules = evaluator.trees.reported()
        self._report = report

    def _evaluator(self, report: Report) -> Evaluator[Table]:
        from deltalog.engine.hypertree import Trees
        from deltalog.engine.materialisation import Evaluator

        def observe(round_: Round) -> None:
            report.rounds.append(round_)
            self._observe(round_)

        naive = self.engine == "naive"
        trees = Trees("standard" if naive else self._cyclic)
        return Evaluator(self._backend, naive, self._maintenance, observe, self._limits.check_facts, trees)

    @property
    def program(self) -> Program:
        """The rules, checked, as hyper-nodes in the order of evaluation."""
        known = self._program
        if known is None or known.rules != self._rules or known.data != self._explicit.keys():
            known = self._program = analyse(self._rules, self._explicit, self._schemes)
        return known

    def plan(self) -> str:
        """How the rules would be evaluated over the present facts: hyper-nodes, join orders, decompositions."""
        from deltalog.plan.explain import explain

        program = self.program
        return explain(program, self._statistics(program), self.prefixes, self._cyclic)

    def draw(self) -> str:
        """The dependency graph of the rules, and the hypertree decompositions of those that have one, as SVG."""
        from deltalog.plan.svg import draw

        program = self.program
        return draw(program, self.prefixes, self._statistics(program), self._cyclic)

    def _statistics(self, program: Program) -> Statistics:
        """What is known of the data before anything is derived."""
        from deltalog.engine.materialisation import start
        from deltalog.plan.statistics import Partial

        return Partial(start(program.placed(self._explicit), self._backend))

    def plan_goal(self, goal: str) -> str:
        """The rules that magic sets makes for a goal, after the fact that asks it."""
        from deltalog.query.goal import as_goal
        from deltalog.query.magic import show
        from deltalog.syntax.parser import parse_goal

        literals = parse_goal(goal, "<goal>", self.prefixes)
        self._check_predicates(literals)
        asked = as_goal(literals)
        return show(self._questions().rewriting(asked).rewriting, asked.constants, self.prefixes)

    # Changes.

    def update(self, add: Mapping[str, Any] | None = None, remove: Mapping[str, Any] | None = None) -> Change:
        """Adds and removes explicit facts (predicate -> rows or a table) and what follows, or no longer follows.

        A fact that is in both is added. Removing a fact that was not given does nothing: if it is derived, it stays.
        """
        return self._change(self._ids, self._encode(add or {}), self._encode(remove or {}))

    def add_rules(self, rules: Rules) -> Change:
        """Adds rules (and facts) and what follows."""
        document = read_documents(_sources(rules))
        given = document.rules
        ids = self._numbered((*self._rules, *(rule for rule in given if not rule.is_fact)))
        change = self._change(ids if len(ids) > len(self._ids) else self._ids, self._encode_facts(given), {})
        self.prefixes = {**self.prefixes, **document.prefixes}
        return change

    def remove_rules(self, rules: Rules) -> Change:
        """Removes rules (and facts): by their text, or by their ids (see `rule_ids`)."""
        left, texts = dict(self._ids), []
        for source in _sources(rules):
            if isinstance(source, str) and source.strip() in self._ids:
                left.pop(source.strip(), None)
            else:
                texts.append(source)
        given = read_rules(texts) if texts else []
        for rule in given:
            name = f"r{self._numbers.get(rule)}"
            if not rule.is_fact and name not in self._ids:
                raise UsageError(f"there is no such rule to remove: {rule}")
            left.pop(name, None)
        return self._change(
            left if len(left) < len(self._ids) else self._ids, {}, self._encode_facts(given) if given else {}
        )

    @property
    def rule_ids(self) -> dict[str, Rule]:
        """The rules by their ids: r1, r2, ... in the order in which they were first given; an id never changes."""
        return dict(self._ids)

    def _change(self, ids: dict[str, Rule], add: dict[Pred, Table], remove: dict[Pred, Table]) -> Change:
        """The one way in which facts and rules (by their ids) change: all of it, or nothing."""
        old, rules = self._materialised(), tuple(ids.values())
        if ids is not self._ids and not add and not remove and self.engine != "naive":
            cut = old.without_leaves(rules)
            if cut is not None:
                return self._become(ids, *cut)
        from deltalog.engine.materialisation import ChangedFacts, updated

        facts = ChangedFacts.of(self._explicit, add, remove, self._backend)
        program = old.program
        depends_on_data = program.bridges or program.recognised
        if ids is not self._ids or (depends_on_data and not facts.explicit.keys() <= program.data):
            program = changed(program, rules, facts.explicit, self._schemes)
        self._limits.start()
        return self._become(ids, *updated(old, program, facts, self._evaluator(Report(engine=self.engine))))

    def _become(self, ids: dict[str, Rule], state: Materialisation[Table], update: Update[Table]) -> Change:
        """A new state takes the place of the old one, at once: nothing interrupts assignments."""
        change, rules = self._described(update), tuple(ids.values())
        mentioned = self._mentioned
        if len(ids) > len(self._ids):
            mentioned = mentioned | state.program.preds
            self._note_numbers(ids)
        if self._state is not None and state.program is not self._state.program:
            self._program = state.program
        self._state, self._explicit, self._mentioned = state, state.explicit, mentioned
        self._ids, self._rules = ids, rules if ids is not self._ids else self._rules
        return change

    def _described(self, update: Update[Table]) -> Change:
        late = update if update.unsettled else None  # and if not, nothing of the state before is held
        added, removed, none = update.added, update.removed, self._nothing
        return Change(
            Difference(lambda: self._shown(added, late), none),
            Difference(lambda: self._shown(removed, late), none),
            update.report,
        )

    def _shown(self, facts: Mapping[Pred, Table], late: Update[Table] | None) -> dict[str, Facts[Table]]:
        """What an update added, or removed, as a user sees it."""
        from deltalog.engine.triples import distributed

        if late is not None:
            late.ask()
        shown = distributed(facts, self._backend)
        return {pred.name: self._view(pred, table) for pred, table in shown.items() if not pred.hidden}

    def _nothing(self, predicate: str) -> Facts[Table]:
        pred = self._find(predicate)
        return self._view(pred, self._backend.empty(pred.arity))

    # Facts out.

    @property
    def report(self) -> Report:
        """What the last materialisation did, with the present numbers of facts."""
        report = self._report
        if self._state is not None:
            report.per_predicate = {name: self._backend.size(self._table(p)) for name, p in self._named().items()}
            report.facts_total = sum(report.per_predicate.values())
            report.failed_expressions = self._backend.failures
        report.facts_in = self.explicit_facts
        return report

    def tally(self) -> dict[str, int]:
        """What Spark has done so far: jobs, stages, tasks, shuffles; empty where there is none."""
        return self._backend.tally()

    @property
    def explicit_facts(self) -> int:
        """How many facts were given."""
        return sum(self._backend.size(table) for table in self._explicit.values())

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in the order in which they were given."""
        return self._rules

    @property
    def predicates(self) -> list[str]:
        """The names of all predicates that rules or facts speak of, sorted; `name/arity` where a name has several."""
        return list(self._named())

    def _named(self) -> dict[str, Pred]:
        """The predicates by what they are called."""
        preds = sorted(self._preds())
        times = Counter(pred.name for pred in preds)
        return {pred.name if times[pred.name] == 1 else str(pred): pred for pred in preds}

    def arity(self, predicate: str) -> int:
        """How many arguments a predicate has; UsageError if there is none of that name."""
        return self._find(predicate).arity

    @property
    def names_are_known(self) -> bool:
        """False where a rule with a variable for a predicate or a class may derive facts of one yet unheard of."""
        return self._state is not None or self.program.derived.isdisjoint(INTERNAL)

    def facts(self, predicate: str) -> Facts[Table]:
        """The facts of a predicate, derived ones included."""
        self._materialised()
        pred = self._find(predicate)
        return self._view(pred, self._table(pred))

    def count(self, predicate: str) -> int:
        """How many facts a predicate has."""
        self._materialised()
        return self._backend.size(self._table(self._find(predicate)))

    def query(self, goal: str, method: str = "auto", *, timeout: float | None = None) -> Answers[Table]:
        """The answers of a goal such as `path(a, ?x)`, or several separated by commas: one row per binding of its
        variables, in the order in which they occur. Prefixes are those of the program. `timeout` is for this goal.

        method: "materialised" looks them up among all that follows; "magic" and "qsqr" derive only what the goal needs,
        by magic sets (bottom-up, for goals that need much) or QSQ-R (top-down, for goals that need little); "auto"
        looks them up if everything is known, and chooses otherwise. The answers say which it was, and why.
        """
        from deltalog.query.answer import Answers, Derived, answer
        from deltalog.query.goal import as_goal
        from deltalog.syntax.parser import parse_goal

        self._check_method(method)
        literals = parse_goal(goal, "<goal>", self.prefixes)
        started = time.perf_counter()
        with self._limits.within(timeout):
            choice, complete = self._settled_choice(method), True
            if choice is None or choice.method != "materialised":
                self._check_predicates(literals)
                found = self._derived_answers(as_goal(literals), choice)
                choice = found.choice
            if choice.method == "materialised":
                facts = self._materialised().facts
                self._check_predicates(literals)
                found, complete = Derived(choice, answer(literals, facts)), self._report.complete
        return Answers(found, time.perf_counter() - started, complete)

    def _derived_answers(self, goal: Goal, choice: Choice | None) -> Derived[Table]:
        """Answers by deriving what a goal needs, in the way chosen or that is chosen here; no facts where that is to
        derive everything, which has happened then."""
        from deltalog.query.choice import choose, kind_of_goal

        started, questions = time.perf_counter(), self._questions()
        history, asking, check = questions.history, kind_of_goal(goal), self._limits.check_facts
        self._limits.start()
        found = questions.at_once(goal, check) if choice is None else None
        if found is None:
            if choice is None:
                features = questions.estimate(goal)
                choice = self._tried(lambda: choose(asking, features, self.selector, history))
            self._limits.start()
            found = questions.derive(goal, choice, check)
        history.note(asking, time.perf_counter() - started)
        return found

    def _settled_choice(self, method: str) -> Choice | None:
        """A choice for which nobody needs to look at the goal."""
        from deltalog.query.choice import Choice

        if method != "auto":
            return Choice(method, "as asked")
        if self._state is not None and self._report.complete:
            return Choice("materialised", "everything that follows is known already")
        if self.engine not in LOCAL:
            return Choice("magic", "there is no materialisation, and this is the way without one on Spark")
        return None

    def _tried(self, choose: Callable[[], Choice]) -> Choice:
        """A choice; if it is to derive everything, that is tried for the time that it may take."""
        choice, history = choose(), self._questions().history
        if choice.method == "materialised":
            with self._limits.within(history.allowed):
                try:
                    self._materialise(partial=False)
                except LimitReached:
                    history.tried = True
                    choice = choose()
        return choice

    def estimate(self, goal: str) -> Features:
        """About how much work a goal is (paper 001, Algorithm 2): what the choice of a method goes by."""
        from deltalog.query.goal import as_goal
        from deltalog.syntax.parser import parse_goal

        literals = parse_goal(goal, "<goal>", self.prefixes)
        self._check_predicates(literals)
        return self._questions().estimate(as_goal(literals))

    def learn(self, goal: str, *, timeout: float = 10.0) -> Example:
        """Asks a goal by magic sets and by QSQ-R, and notes in `examples` which was faster, to train a selector."""
        from deltalog.query.training import examples

        (example,) = examples(self, [goal], timeout)
        self.examples.append(example)
        return example

    def training_goals(self, most: int = 500, seed: int = 0) -> list[str]:
        """Goals to train a selector with, made from rules and facts (paper 001, Algorithm 3); kinds take turns."""
        from deltalog.query.training import training_goals

        return training_goals(self._rules, self._explicit, self._backend, most, seed)

    def test_goals(self, most: int = 250, seed: int = 0, without: Iterable[str] = ()) -> list[tuple[str, int]]:
        """Other goals, made from facts that follow in one step, two steps and so on, with that number of steps."""
        from deltalog.query.training import test_goals

        return test_goals(self._rules, self._explicit, self._backend, most, seed, without)

    @property
    def selector(self) -> Model:
        """The model that chooses the method of a goal: the one that came with deltalog, unless another is set."""
        from deltalog.query.selector import load

        if self._selector is None:
            self._selector = load()
        return self._selector

    @selector.setter
    def selector(self, model: Model | str | PathLike[str]) -> None:
        from deltalog.query.selector import Model, load

        self._selector = model if isinstance(model, Model) else load(Path(model))

    def _check_method(self, method: str) -> None:
        if method not in METHODS:
            raise UsageError(f"there is no method {method!r}; methods are {', '.join(METHODS)}")
        if method == "qsqr" and self.engine not in LOCAL:
            raise UsageError(
                "QSQ-R asks facts one small question after the other, which only the local engine can answer fast; "
                'ask with method="magic", or make the knowledge base with engine="local"'
            )

    def _check_predicates(self, literals: Sequence[Literal]) -> None:
        from deltalog.query.answer import predicates

        state = self._state.facts.parts if self._state is not None else {}
        for pred in predicates(literals):
            if not (pred in self._mentioned or pred in self._explicit or pred in INTERNAL or (pred, Part.ALL) in state):
                raise _unknown_predicate(str(pred), sorted(map(str, self._preds())))

    def _questions(self) -> Questions[Table]:
        """What goals are asked of, kept from one to the next."""
        from deltalog.query.answer import Questions

        settled = self._settled()
        facts = {**self._explicit, **settled}
        asked = self._asked
        if asked is None or asked.rules is not self._rules or asked.settled != settled.keys():
            asked = Questions(self._rules, facts, self._backend, settled)
        elif asked.facts != facts:
            asked = asked.changed(facts)
        self._asked = asked
        return asked

    def _settled(self) -> dict[Pred, Table]:
        """Of a materialisation that a limit has stopped: the predicates that were done with."""
        state = self._stopped
        if state is None or state is not self._state or self._backend.batches or state.program.stored:
            return {}
        reached = max((round_.hyper_node for round_ in self._report.rounds), default=0)
        nodes = state.program.hyper_nodes
        unsettled = {pred for node in nodes[reached:] for pred in node.heads}
        done = {pred for node in nodes[:reached] for pred in node.heads} - unsettled
        return {pred: state.relations.get(pred) for pred in done}

    def sparql(self, query: str, method: str = "auto") -> Solutions | bool:
        """The solutions of a SPARQL SELECT, or whether an ASK has one. `method` is as for `query`.

        A class is a predicate of one argument, a property one of two; predicates with bare names go as `<name>`.
        Prefixes are those of the query and the program, and rdf, rdfs, owl and xsd.
        """
        solutions = self.solve(query, method)
        return len(solutions) > 0 if solutions.ask else solutions

    def solve(self, query: str, method: str = "auto") -> Solutions:
        """As `sparql`, but an ASK, too, has solutions, which say how they came about: `method`, `reason`, `seconds`."""
        from deltalog.query.choice import kind
        from deltalog.query.sparql.query import translate

        self._check_method(method)
        translated = translate(query, self.prefixes)
        started = time.perf_counter()
        self._limits.start()
        choice = self._sparql_choice(translated, method)
        self._limits.start()
        solutions = self._sparql_asked(choice.method == "materialised").solve(translated, choice)
        solutions.seconds = time.perf_counter() - started
        if solutions.method != "materialised":
            self._questions().history.note(kind(translated.rules), solutions.seconds)
        return solutions

    def _sparql_choice(self, query: Query, method: str) -> Choice:
        from deltalog.query.choice import Choice

        choice = self._settled_choice(method)
        if choice is not None:
            return choice
        if self.engine == "naive":
            return Choice("materialised", "the naive engine derives everything")
        asked, history = self._sparql_asked(whole=False), self._questions().history
        return self._tried(lambda: asked.choose(query, self.selector, history))

    def _sparql_asked(self, whole: bool) -> Asked[Table]:
        """What queries are asked of, kept from one to the next."""
        from deltalog.query.sparql.answer import Asked

        rules = () if whole else self._rules
        facts = (
            {pred: table for (pred, _), table in self._materialised().facts.parts.items()} if whole else self._explicit
        )
        asked = self._queried
        if asked is None or asked.rules != rules or asked.whole != whole or asked.facts != facts:
            asked = Asked(dict(facts), rules, self._evaluator(Report(engine=self.engine)), whole)
        self._queried = asked
        return asked

    def derived(self, predicate: str) -> Facts[Table]:
        """The facts of a predicate that were not given but derived."""
        self._materialised()
        pred = self._find(predicate)
        explicit = self._explicit.get(pred)
        table = self._table(pred)
        return self._view(pred, table if explicit is None else self._backend.minus(table, explicit))

    def write(
        self, folder: str | PathLike[str], format: str = "csv", *, only: Iterable[str] = (), derived: bool = False
    ) -> None:
        """Writes facts to a folder that is new or empty: one file per predicate (csv, tsv, parquet) or facts.nt."""
        started = time.perf_counter()
        view = self.derived if derived else self.facts
        self._materialised()
        chosen = {self._find(name): view(name) for name in list(only) or self.predicates}
        facts = {pred: rows.table for pred, rows in chosen.items() if len(rows)}
        self._backend.write(Path(folder), facts, format)
        self._spent("write", started)

    def _materialised(self) -> Materialisation[Table]:
        if self._state is None:
            self._materialise(partial=False)
        assert self._state is not None
        return self._state

    def _view(self, pred: Pred, table: Table) -> Facts[Table]:
        return Facts([f"_{i}" for i in range(pred.arity)], table, self._backend)

    def _table(self, pred: Pred) -> Table:
        return self._materialised().facts.get(pred)

    def _preds(self) -> set[Pred]:
        """Predicates of rules and of facts; the internal ones only where they have facts of their own."""
        mentioned = set(self._mentioned) | set(self._explicit)
        own: set[Pred] = set()
        if self._state is not None:
            mentioned |= {pred for pred, _ in self._state.facts.parts}
            own = {pred for pred in INTERNAL if self._backend.size(self._table(pred))}
        return {pred for pred in mentioned - set(INTERNAL) if not pred.hidden} | own

    def _find(self, predicate: str) -> Pred:
        """The predicate of a name, or of `name/arity`."""
        name, arity = _split_name(predicate)
        preds = self._preds()
        found = [p for p in preds if p.name == predicate] or [p for p in preds if p == (name, arity)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"{predicate!r} has several arities; say which: {', '.join(map(str, sorted(found)))}")
        raise _unknown_predicate(predicate, [p.name for p in preds])

    def _spent(self, phase: str, started: float) -> None:
        self._report.seconds[phase] += time.perf_counter() - started


def _backend(engine: str, threads: int | None, master: str | None) -> Backend[Table]:
    """The backend of an engine; the naive engine keeps its facts in the local one."""
    if engine in ("spark", "auto"):
        from deltalog.backends.spark.session import session

        spark = session(master)  # first: the engine is imported while the JVM comes up
        from deltalog.backends.spark.backend import SparkBackend

        return SparkBackend(spark, driver_first=engine == "auto")
    from deltalog.backends.local import LocalBackend

    return LocalBackend(threads=threads)


def _sources(program: Rules) -> list[str | Path]:
    return [program] if isinstance(program, str | Path) else list(program)


def _split_name(predicate: str) -> tuple[str, int | None]:
    name, slash, arity = predicate.rpartition("/")
    return (name, int(arity)) if slash and arity.isdigit() and len(arity) < 4 else (predicate, None)


def _unknown_predicate(predicate: str, known: list[str]) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(predicate, known, 3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "kb.predicates lists them"
    return UsageError(f"there is no predicate {predicate!r}; {hint}")


def _unknown_engine(engine: str) -> Exception:
    return UsageError(f"there is no engine {engine!r}; engines are {', '.join(ENGINES)}")
