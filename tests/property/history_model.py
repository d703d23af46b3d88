"""A history: a program, its facts and a list of changes, all of it text, so a failure prints as a script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from deltalog.core.rules import Constant, Rule
from deltalog.languages.deltalog.parser import parse

PREFIX = "PREFIX : <http://e.x/>\n"

# Thresholds so low that small data cross them, by name: fields of `Tuning`.
MAINTAINED = {"recompute_all_min_changed_share": 10.0}  # the change of a large part is maintained, too
BY_SETS = {**MAINTAINED, "tuple_max_changed_facts": -1}
TUNINGS: Mapping[str, Mapping[str, float]] = {
    "defaults": {},
    "by facts": MAINTAINED,
    "by facts, few": {
        **MAINTAINED,
        "bounded_overdeletion_min_facts": 2,
        "bounded_overdeletion_factor": 1,
        "tuple_max_facts": 16,
        "tuple_max_matches": 64,
    },
    "by sets": BY_SETS,
    "by sets, bounded": {**BY_SETS, "bounded_overdeletion_min_facts": 4, "bounded_overdeletion_factor": 2},
    "by columns": {**BY_SETS, "nested_loop_max_leaf_rows": 0},
    "recompute": {
        **BY_SETS,
        "recompute_min_facts": 0,
        "recompute_min_removed_share": 0.05,
        "recompute_min_changed_inputs": 1,
    },
    "spreading": {
        **BY_SETS,
        "recompute_min_facts": 0,
        "recompute_spread_factor": 1e9,
    },
    "wrong choices": {
        **MAINTAINED,
        "planning_cost_rows": 0,
        "misestimate_factor": 0.0,
        "tree_cost_margin": 1.0,
        "tree_safe_join_factor": 1.0,
        "magic_patience_factor": 0.0,
    },
    "wrong choices, twice": {
        "planning_cost_rows": 12,
        "misestimate_factor": 0.0,
        "magic_patience_factor": 0.01,
        "materialisation_patience_factor": 0.01,
    },
    "everything": {"recompute_min_facts": 0},
    "tombstones": {**MAINTAINED, "small_table_rows": 0, "tombstone_max_divisor": 3},
    "virtual relations": {
        **MAINTAINED,
        "closure_listed_max_facts": 4,
        "closure_listed_max_facts_per_edge": 0,
    },
}


@dataclass(frozen=True)
class Step:
    """One call: `update` (facts), `add_rules` or `remove_rules` (rules and facts). Lines are rules and facts."""

    kind: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True)
class History:
    options: Mapping[str, str]  # of the knowledge base
    tuning: str
    rules: tuple[str, ...]
    facts: tuple[str, ...]
    steps: tuple[Step, ...]
    counted: bool = False  # every stratum has counts from the beginning, and not when it first loses something
    questions: tuple[str, ...] = ()  # goals and SPARQL queries, asked before everything and after every step
    seed: int = field(default=-1, compare=False)

    def __str__(self) -> str:
        """A script that plays the history (but for its tuning)."""
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        lines = [
            f"# seed {self.seed}, tuning {self.tuning!r}{', counted' if self.counted else ''}",
            "from deltalog import IRI, KnowledgeBase",
            "",
        ]
        lines += [f'P = """{PREFIX}"""', f"kb = KnowledgeBase(P + {_quoted((*self.rules, *self.facts))}{options})"]
        lines += ["kb.materialise()", *map(_called, self.steps), *(f"# asked: {one}" for one in self.questions)]
        return "\n".join(lines)

    @property
    def lines(self) -> tuple[str, ...]:
        return (*self.rules, *self.facts, *(line for step in self.steps for line in (*step.add, *step.remove)))


def _quoted(lines: Sequence[str]) -> str:
    return '"""\n' + "\n".join(lines) + '\n"""'


def _called(step: Step) -> str:
    if step.kind == "update":
        return f"change = kb.update(add={rows(step.add)!r}, remove={rows(step.remove)!r})"
    return f"change = kb.{step.kind}(P + {_quoted(step.add or step.remove)})"


Rows = dict[str, list[tuple[object, ...]]]


def rows(facts: Iterable[str]) -> Rows:
    """Facts as `update` takes them."""
    found: Rows = {}
    for name, row in map(_row, facts):
        found.setdefault(name, []).append(row)
    return found


@cache
def _row(fact: str) -> tuple[str, tuple[object, ...]]:
    (head,) = parsed(fact).heads
    name = head.name if ":" in head.name else f"{head.name}/{len(head.terms)}"  # the latter is its own name for an IRI
    return name, tuple(term.value for term in head.terms if isinstance(term, Constant))


@cache
def parsed(line: str) -> Rule:
    (rule,) = parse(PREFIX + line)
    return rule


def is_rule(line: str) -> bool:
    return ":-" in line
