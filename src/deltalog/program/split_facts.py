"""The first pass: rules and facts of a program, each once."""

from __future__ import annotations

from deltalog.program.analysis import Analysis


def split_facts(analysis: Analysis) -> Analysis:
    """A pass: rules have a body; the heads of statements without one are facts."""
    rules = tuple(dict.fromkeys(rule for rule in analysis.statements if rule.body))
    facts = tuple(dict.fromkeys(head for rule in analysis.statements if not rule.body for head in rule.heads))
    return analysis.having(rules=rules, facts=facts)
