"""The rules and stages of a Soufflé program, as a knowledge base evaluates them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.core.rules import Rule
from deltalog.languages.souffle.record_joins import joined_by_fields
from deltalog.program.stages import OrderedStage, in_stages

if TYPE_CHECKING:
    from deltalog.languages.souffle.program import SouffleProgram


def souffle_rules(program: SouffleProgram) -> tuple[tuple[Rule, ...], tuple[OrderedStage, ...]]:
    """The ordinary rules (and facts), and the stages in the order of evaluation."""
    rules, stages = in_stages(program.rules, program.procedures)
    return joined_by_fields(rules, [rule for stage in stages for rule in stage.rules]), stages
