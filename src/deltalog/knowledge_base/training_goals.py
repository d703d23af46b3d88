"""Goals to learn from (Joshi et al., Algorithm 3), and which method answers each of them faster.

The dependency multigraph has an arc for every head and body atom of a rule that share a variable. Along each path of at
most five arcs, facts of the last atom are carried back to the heads: p(x, y) <- s(y, x) makes p(a, u) of s(u, a), and
q(x, z) <- p(z, y) makes q(X, a) of that. Every head on the way is a goal; equal ones, up to renaming, once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice, zip_longest
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from deltalog.core.errors import DataError, LimitReached
from deltalog.core.rules import TRIPLES, TYPES, Atom, Constant, Pred, Rule, Term, Variable, variables
from deltalog.core.terms import Value
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.goals.estimate import Features
from deltalog.evaluation.goals.immediate_consequences import rounds
from deltalog.program import analyse

if TYPE_CHECKING:
    from deltalog.knowledge_base.facade import KnowledgeBase

MAX_DEPTH = 5  # maxd
MAX_FACTS = 50  # maxs
MAX_PATHS = 20_000  # of a program with many rules, so many paths, chosen at random
DEEPEST = 8  # steps of a fact that a test is made from
TIMEOUT = 10.0  # seconds for a goal and a method
REPEAT, ENOUGH = 5, 0.2  # a goal is asked so often, or for so many seconds

T = TypeVar("T")
Sample = Callable[[Pred, int], Sequence[tuple[Value, ...]]]


class Arc(NamedTuple):
    """A dependency: a head, and an atom of the body with a variable of the head."""

    head: Atom
    body: Atom


def multigraph(rules: Iterable[Rule]) -> dict[Pred, list[Arc]]:
    """The arcs by the predicate of the head."""
    arcs: dict[Pred, dict[Arc, None]] = {}
    for rule in rules:
        for head in rule.heads:
            for atom in rule.body:
                if isinstance(atom, Atom) and set(variables(head)) & set(variables(atom)):
                    arcs.setdefault(head.pred, {})[Arc(head, atom)] = None
    return {pred: list(found) for pred, found in arcs.items()}


def paths(arcs: Mapping[Pred, Sequence[Arc]], random: Random, most: int = MAX_PATHS) -> list[list[Arc]]:
    """dfs of Algorithm 3, from every predicate: paths of at most maxd arcs; not more than `most` of each length."""
    found: list[list[Arc]] = []
    level = [[arc] for out in arcs.values() for arc in out]
    while level:
        level = level if len(level) <= most else random.sample(level, most)
        found += level
        longer = ([*path, arc] for path in level if len(path) < MAX_DEPTH for arc in arcs.get(path[-1].body.pred, ()))
        level = list(islice(longer, 4 * most))
    return found


def goals(rules: Iterable[Rule], sample: Sample, random: Random, facts: int = MAX_FACTS) -> Iterator[Atom]:
    """Algorithm 3: goal atoms, each once up to renaming. `sample` gives facts of a stored predicate."""
    seen: set[Atom] = set()
    for path in paths(multigraph(rules), random):
        for fact in sample(path[-1].body.pred, facts):
            goal = Atom(path[-1].body.name, tuple(map(Constant, fact)))
            for arc in reversed(path):  # lines 17 to 23
                carried = _carried(arc, goal)
                if carried is None:
                    break
                goal = carried
                if goal not in seen:
                    seen.add(goal)
                    yield goal


def _carried(arc: Arc, goal: Atom) -> Atom | None:
    """hσ, where bσ is the goal; variables by the places where they occur first, None where there is no such σ."""
    bindings: dict[Variable, Term] = {}
    for term, value in zip(arc.body.terms, goal.terms, strict=True):
        known = bindings.setdefault(term, value) if isinstance(term, Variable) else term
        if known != value and isinstance(known, Constant) and isinstance(value, Constant):
            return None
    names: dict[Term, Term] = {}
    terms = [bindings.get(t, t) if isinstance(t, Variable) else t for t in arc.head.terms]
    return Atom(
        arc.head.name,
        tuple(t if isinstance(t, Constant) else names.setdefault(t, Variable(f"X{len(names)}")) for t in terms),
    )


def free_goals(rules: Iterable[Rule]) -> Iterator[Atom]:
    """All facts of each derived predicate: goals that Algorithm 3 seldom makes, and for which magic sets is made."""
    for pred in dict.fromkeys(head.pred for rule in rules for head in rule.heads):
        yield Atom(pred.name, tuple(Variable(f"X{i}") for i in range(pred.arity)))


def in_turns(found: Iterable[Atom], most: int) -> list[str]:
    """Goals as texts, one of each predicate and adornment in turn, so that no kind crowds out the others."""
    from deltalog.core.rule_text import print_literal

    kinds: dict[tuple[Pred, tuple[bool, ...]], list[Atom]] = {}
    for goal in dict.fromkeys(islice(found, 400 * most)):
        kinds.setdefault((goal.pred, tuple(isinstance(t, Constant) for t in goal.terms)), []).append(goal)
    turns = (goal for turn in zip_longest(*kinds.values()) for goal in turn if goal is not None)
    return [print_literal(goal) for goal in islice(turns, most)]


# Labels


@dataclass(frozen=True)
class Example:
    """A goal, its features, and the seconds of each method (None: not within the time)."""

    goal: str
    features: Features
    qsqr: float | None
    magic: float | None
    estimating: float = 0.0
    timeout: float = TIMEOUT
    work: int | None = None  # rows that QSQ-R went through; None: it did not end

    @property
    def label(self) -> str:
        """The faster method; magic sets if neither ended in time."""
        if self.qsqr is None or (self.magic is not None and self.magic < self.qsqr):
            return "magic"
        return "qsqr"

    def seconds(self, method: str) -> float:
        """What a method takes; the timeout where it was stopped."""
        taken = self.qsqr if method == "qsqr" else self.magic
        return self.timeout if taken is None else taken

    @property
    def bound(self) -> str:
        """B: only constants; G: only variables; M: both (Joshi et al., section 6)."""
        from deltalog.languages.deltalog.parser import parse_goal

        terms = [t for literal in parse_goal(self.goal) if isinstance(literal, Atom) for t in literal.terms]
        kinds = {isinstance(t, Constant) for t in terms}
        return "B" if kinds == {True} else "G" if kinds == {False} else "M"


def examples(kb: KnowledgeBase, asked: Iterable[str], timeout: float = TIMEOUT) -> Iterator[Example]:
    """Runs goals by both methods, several times: what the first time makes and keeps counts for neither.

    Seconds are those of this process: what else the machine does must not decide which method is the better one.
    """
    for goal in asked:
        features = kb.training.estimate(goal)
        estimating, _ = timed(partial(kb.training.estimate, goal))
        qsqr, answers = timed(partial(kb.query, goal, "qsqr", timeout=timeout))
        magic, _ = timed(partial(kb.query, goal, "magic", timeout=timeout))
        work = None if answers is None else answers.work
        yield Example(goal, features, qsqr, magic, estimating or 0.0, timeout, work)


def timed(run: Callable[[], T]) -> tuple[float | None, T | None]:
    """The least seconds of several runs, and what came of the last one; None where a time limit was reached.

    The first run may compile kernels and sort tables, so it has a second chance, and does not count as time spent.
    """
    best, result, prepared = None, None, 0.0
    for number in range(REPEAT):
        started = time.process_time()
        try:
            result = run()
        except LimitReached:
            if number:
                break
            continue
        taken = time.process_time() - started
        best = taken if best is None else min(best, taken)
        if number and started + taken - prepared > ENOUGH:
            break
        prepared = prepared or started + taken
    return best, result


def write_examples(found: Iterable[Example], path: Any) -> None:
    """Appends examples to a file, a line each."""
    with open(path, "a", encoding="utf-8") as file:
        for example in found:
            file.write(json.dumps({**asdict(example), "features": list(example.features)}) + "\n")


def read_examples(path: Any) -> list[Example]:
    found = []
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                found.append(Example(**{**row, "features": Features(*row["features"])}))
    except OSError as error:
        raise DataError(f"cannot read the examples {path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError):
        raise DataError(f"{path}:{len(found) + 1}: this line is no example of a goal") from None
    return found


# Goals to test with: facts of P^1(I), P^2(I), ... with variables for some of their constants (Joshi et al., section 6).


def as_atom(pred: Pred, fact: Sequence[Value]) -> Atom:
    return Atom(pred.name, tuple(map(Constant, fact)))


def opened(fact: Atom, random: Random) -> Atom:
    """A fact with variables in the place of some, all or none of its constants."""
    share = random.choice((0.0, 0.5, 0.5, 1.0))
    terms = (Variable(f"X{i}") if random.random() < share else t for i, t in enumerate(fact.terms))
    return Atom(fact.name, tuple(terms))


def distinct(found: Iterable[tuple[Atom, int]], most: int, without: Iterable[str] = ()) -> list[tuple[str, int]]:
    """Goals as texts, each once and none of those given, with the depth that each came from."""
    from deltalog.core.rule_text import print_literal

    seen, kept = set(without), []
    for goal, depth in found:
        text = print_literal(goal)
        if text not in seen:
            seen.add(text)
            kept.append((text, depth))
    return kept[:most]


# Goals for the rules and facts of a knowledge base.


def training_goals(
    rules: Sequence[Rule], facts: Mapping[Pred, Any], backend: Backend[Any], most: int, seed: int
) -> list[str]:
    """Goals of Algorithm 3, and free ones; kinds take turns."""
    random = Random(seed)
    made = goals(rules, lambda pred, n: sample(facts.get(pred), backend, n, random), random)
    return in_turns(chain(free_goals(rules), made), most)


def test_goals(
    rules: Sequence[Rule],
    facts: Mapping[Pred, Any],
    backend: Backend[Any],
    most: int,
    seed: int,
    without: Iterable[str] = (),
) -> list[tuple[str, int]]:
    """Goals from the facts of P^1(I), P^2(I), ..., each with its depth."""
    random, found = Random(seed), []
    for depth, new in enumerate(islice(rounds(analyse(rules, facts), facts, backend), DEEPEST), 1):
        for pred in (pred for pred in new if not pred.hidden and pred not in (TRIPLES, TYPES)):
            some = sample(new[pred], backend, 4 + most // 20, random)
            found += [(opened(as_atom(pred, fact), random), depth) for fact in some]
    random.shuffle(found)
    return distinct(found, most, without)


def sample(table: Any, backend: Backend[Any], most: int, random: Random) -> list[tuple[Value, ...]]:
    """Some facts of a table, which may be None."""
    columns = () if table is None or not backend.size(table) else backend.rows(table)
    if not columns:
        return []
    size = backend.size(table)
    chosen = sorted(random.sample(range(size), min(most, size)))
    return list(zip(*(backend.codec.values(column[chosen]) for column in columns), strict=True))
