"""Short pieces of text that all formats share: values, bindings, places of rules, and characters that must not act.

A value comes from data that somebody else may have written. `visible` escapes what could change more of the output than
its own place: control characters of terminals, marks that reverse the direction of text, and what XML does not allow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from deltalog.core.render.text_width import cut_middle
from deltalog.core.rule_text import print_value
from deltalog.core.terms import Value
from deltalog.evaluation.plan.iri_display import shortened
from deltalog.extensions.explain.model import RuleRef

_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
    "|[\U000e0000-\U000e007f]"
)

LONGEST_VALUE = 200  # columns of a value in bindings


def visible(text: str) -> str:
    """The text with `\\uXXXX` for characters that act instead of being seen."""
    return _ACTING.sub(lambda m: f"\\u{ord(m[0]):04X}" if ord(m[0]) < 0x10000 else f"\\U{ord(m[0]):08X}", text)


def value_text(value: Value, prefixes: Mapping[str, str]) -> str:
    """A value in the rule language."""
    return visible(shortened(print_value(value), prefixes))


def bindings_text(bindings: Mapping[str, Value], prefixes: Mapping[str, str]) -> str:
    """The values of variables; long ones are shortened."""
    shown = {visible(name): cut_middle(value_text(value, prefixes), LONGEST_VALUE) for name, value in bindings.items()}
    return ", ".join(f"?{name} = {value}" for name, value in shown.items())


def place(rule: RuleRef) -> str:
    """The id of a rule, and where it was written."""
    line = "" if rule.line is None else str(rule.line)
    where = f"{rule.file}:{line}".rstrip(":") if rule.file is not None else f"line {line}" if line else ""
    return visible(f"{rule.id} ({where})" if where else rule.id)


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
