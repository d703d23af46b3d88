"""What is done in a benchmark: tasks, the states that they lead to, and the sessions that measure them.

A task leads from one state of data and program to another. Whoever cannot maintain a materialisation is measured from
scratch over the state that the task leads to; whoever can must then have the same facts.

    task              after it            session
    load              -                   materialise
    materialise       full                materialise
    query             query               materialise    from scratch: the program and a rule that has the goal as body
    small_deletion    minus_small         small          1,000 random facts of 100,000 or more, otherwise 100
    small_addition    full                small          the same facts again
    large_deletion    minus_large         large          25 % of the facts
    rule_deletion     minus_rule          rule
    rule_addition     full                rule           the same rule again

A session is one process. Tasks that undo each other share one and take turns, as in Zhang's thesis (100 facts out, and
in).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """`phase` is the one that is compared: the seconds of the task itself, apart from loading and planning."""

    after: str | None
    session: str
    phase: str
    title: str


TASKS = {
    "load": Task(None, "materialise", "load", "load"),
    "materialise": Task("full", "materialise", "evaluate", "materialise"),
    "query": Task("query", "materialise", "query", "query"),
    "small_deletion": Task("minus_small", "small", "update", "small deletion"),
    "small_addition": Task("full", "small", "update", "small addition"),
    "large_deletion": Task("minus_large", "large", "update", "large deletion (25 %)"),
    "rule_deletion": Task("minus_rule", "rule", "update", "rule deletion"),
    "rule_addition": Task("full", "rule", "update", "rule addition"),
}
ALL = tuple(TASKS)
ONCE = ("load", "materialise")
FACTS = (*ONCE, "small_deletion", "small_addition", "large_deletion")

# A state's file of rules and folder of facts.
STATES = {
    "full": ("program.dl", "full"),
    "minus_small": ("program.dl", "minus_small"),
    "minus_large": ("program.dl", "minus_large"),
    "minus_rule": ("minus_rule.dl", "full"),
    "query": ("query.dl", "full"),
}

ANSWER = "bench_answer"
