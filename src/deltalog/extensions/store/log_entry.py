"""One change in the log of a store: explicit facts and rules that were added and removed, prefixes and settings.

    magic     a line, with the number of this format: 2 where there are Soufflé programs, 1 otherwise
    header    a line of JSON
    facts     two blocks (`fact_block`): added, removed; the header has their lengths

Facts are the net effect of the change. Rules are text, in the order in which they were given; removed ones are ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from deltalog.core.rules import Pred
from deltalog.evaluation.backend import Backend
from deltalog.extensions.store.fact_block import pack_facts, unpack_facts
from deltalog.extensions.versions import NewerFormat
from deltalog.languages.stored_rules import KeptPrograms
from deltalog.program.rule_set import RuleSet

T = TypeVar("T")
MAGIC = b"deltalog change 1\n"
MAGIC_OF_PROGRAMS = b"deltalog change 2\n"  # rules may be those of Soufflé programs (see `program.stored_rules`)
_ANY_MAGIC = re.compile(rb"deltalog change ([0-9]+)\n")


@dataclass(frozen=True, slots=True)
class RuleChange:
    """What leads from one rule set to the next."""

    added: tuple[str, ...] = ()  # texts
    removed: tuple[str, ...] = ()  # ids

    @classmethod
    def between(cls, old: RuleSet, new: RuleSet) -> RuleChange:
        return cls(tuple(map(str, new.without(old).values())), tuple(old.without(new)))

    def applied(self, rules: RuleSet, kept: KeptPrograms) -> RuleSet:
        if self.removed:
            rules = rules.removing(self.removed, ())
        return kept.completed(rules.adding(map(kept.rule, self.added))) if self.added else rules


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A change, with facts as blocks of bytes."""

    rules: RuleChange = field(default_factory=RuleChange)
    prefixes: Mapping[str, str] = field(default_factory=dict)  # all of them, if they have changed
    settings: Mapping[str, Any] = field(default_factory=dict)  # those that have changed
    added: bytes = b""
    removed: bytes = b""
    has_programs: bool = False  # whether there are Soufflé programs, whose rules may be added

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return self == LogEntry(has_programs=self.has_programs)

    def encoded(self) -> bytes:
        header = {
            "added_rules": self.rules.added,
            "removed_rules": self.rules.removed,
            "prefixes": dict(self.prefixes),
            "settings": dict(self.settings),
            "facts": [len(self.added), len(self.removed)],
        }
        magic = MAGIC_OF_PROGRAMS if self.has_programs else MAGIC
        return b"".join((magic, json.dumps(header).encode(), b"\n", self.added, self.removed))

    @classmethod
    def parse(cls, data: bytes) -> LogEntry:
        """ValueError if it is none, NewerFormat if it is of a later release."""
        magic = _ANY_MAGIC.match(data)
        if magic is None:
            raise ValueError("it does not begin like a change")
        if magic[0] not in (MAGIC, MAGIC_OF_PROGRAMS):
            raise NewerFormat("a later release of deltalog wrote this change; upgrade deltalog")
        end = data.index(b"\n", len(MAGIC))
        header = json.loads(data[len(MAGIC) : end])
        added, removed = header["facts"]
        facts = data[end + 1 :]
        if len(facts) != added + removed:
            raise ValueError(f"expected {added + removed} bytes of facts, got {len(facts)}")
        rules = RuleChange(tuple(header["added_rules"]), tuple(header["removed_rules"]))
        facts_of = facts[:added], facts[added:]
        return cls(rules, header["prefixes"], header["settings"], *facts_of, magic[0] == MAGIC_OF_PROGRAMS)


def packed(tables: Mapping[Pred, T], backend: Backend[T]) -> bytes:
    """Facts as a block; nothing for none."""
    return pack_facts(tables, backend) if any(map(backend.size, tables.values())) else b""


def unpacked(block: bytes, backend: Backend[T]) -> dict[Pred, T]:
    return unpack_facts(block, backend) if block else {}
