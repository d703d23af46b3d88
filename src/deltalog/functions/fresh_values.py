"""RAND, UUID, STRUUID and BNODE: functions with a new value for each solution.

Rules have no order of evaluation, and an engine may evaluate an expression for a row twice, or for many rows at once.
So these functions have arguments that a query does not show: a random number of the execution of the query, the number
of the call in its text, and the values that make a solution different from all others. The result is a digest of
these: the same however often it is computed, and in every engine, and a new one for each solution, call and execution.
"""

from __future__ import annotations

import hashlib
import secrets
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime

from deltalog.core.terms import IRI, BlankNode, Value, key


@dataclass(frozen=True)
class Execution:
    """An execution of a query: its time, which NOW is, and its random number."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    seed: str = field(default_factory=lambda: secrets.token_hex(16))


def _digest(values: tuple[Value, ...]) -> bytes:
    text = "\x1f".join(repr(key(value)) for value in values)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def rand(*values: Value) -> float:
    """A double from 0 to below 1, with all of its 53 bits."""
    return (int.from_bytes(_digest(values)[:8]) >> 11) / 2**53


def struuid(*values: Value) -> str:
    """The text of a UUID of version 4."""
    return str(uuid.UUID(bytes=_digest(values), version=4))


def fresh_iri(*values: Value) -> IRI:
    """UUID()."""
    return IRI(f"urn:uuid:{struuid(*values)}")


def bnode(*values: Value) -> BlankNode:
    return BlankNode("b" + _digest(values).hex())
