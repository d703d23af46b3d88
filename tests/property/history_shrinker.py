"""Shrinks a history that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from tests.property.history_model import History, Step, is_rule

T = TypeVar("T")


def shrunk(history: History, fails: Callable[[History], bool]) -> History:
    """A smaller history that fails, too: lines and steps are left out, one by one and in halves, while it does."""
    while True:
        smaller = next((one for one in _smaller(history) if fails(one)), None)
        if smaller is None:
            return history
        history = smaller


def _smaller(history: History) -> Iterator[History]:
    for i in range(len(history.steps) - 1, 0, -1):
        yield replace(history, steps=history.steps[:i])
    for steps in _left_out(history.steps):
        yield replace(history, steps=steps)
    for rules in _left_out(history.rules):
        yield _consistent(replace(history, rules=rules))
    for facts in _left_out(history.facts):
        yield replace(history, facts=facts)
    for i, step in enumerate(history.steps):
        for add in _left_out(step.add):
            yield _consistent(_with_step(history, i, replace(step, add=add)))
        for remove in _left_out(step.remove):
            yield _consistent(_with_step(history, i, replace(step, remove=remove)))
    for questions in _left_out(history.questions):
        yield replace(history, questions=questions)
    if history.counted:
        yield replace(history, counted=False)
    if history.tuning != "defaults":
        yield replace(history, tuning="defaults")
    for name, value in history.options.items():
        simplest = {"maintenance": "auto", "schemes": "standard", "cyclic": "standard"}[name]
        if value != simplest:
            yield replace(history, options={**history.options, name: simplest})


def _left_out(lines: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    size = len(lines) // 2
    while size:
        for i in range(0, len(lines), size):
            yield lines[:i] + lines[i + size :]
        size //= 2
    if len(lines) == 1:
        yield ()


def _with_step(history: History, number: int, step: Step) -> History:
    steps = (*history.steps[:number], step, *history.steps[number + 1 :])
    return replace(history, steps=tuple(step for step in steps if step.add or step.remove))


def _consistent(history: History) -> History:
    """A history in which no rule is removed that is not there."""
    rules, steps = set(history.rules), []
    for step in history.steps:
        step = replace(step, remove=tuple(line for line in step.remove if not is_rule(line) or line in rules))
        rules = (rules | set(filter(is_rule, step.add))) - set(step.remove)
        steps.append(step)
    return replace(history, steps=tuple(step for step in steps if step.add or step.remove))
