"""Programs whose rules have no text in deltalog's own language: a store keeps them as they were written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from deltalog.evaluation.state import State
from deltalog.knowledge_base.session import Session
from deltalog.languages.protocol import ProgramUnit
from deltalog.languages.stored_rules import KeptPrograms

PROGRAMS = "programs"  # in `State.kept`: the texts of programs in languages that may be stored as they were written
KEPT = "stored programs"  # in `State.kept`: those of them that a store has


def kept_programs(state: State[Any]) -> KeptPrograms:
    """The programs that a store has as they were written."""
    found: KeptPrograms = state.kept.get(KEPT, KeptPrograms())
    return found


def check_storable(session: Session) -> None:
    """UsageError if the rules cannot be kept in a store."""
    state = session.state
    kept = kept_programs(state).adding(state.kept.get(PROGRAMS, ()))
    kept.check_storable(state.rule_set.numbers)
    session.state = replace(state, kept={**state.kept, KEPT: kept})


def programs_with(session: Session, document: ProgramUnit) -> dict[str, Any]:
    """What is kept of the programs among rules that are to be added."""
    kept, programs = session.state.kept, document.programs
    if not programs:
        return {}
    if session.link is None:
        return {PROGRAMS: (*kept.get(PROGRAMS, ()), *programs)}
    stored = kept_programs(session.state).adding(programs)
    stored.check_storable(rule for rule in document.rules if not rule.is_fact)
    return {KEPT: stored}
