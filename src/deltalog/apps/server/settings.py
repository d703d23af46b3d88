"""What the operator has said. Every limit of the server is here."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Limits and rights. A request that reaches a limit is told which one."""

    readonly: bool = False
    token: str | None = field(default=None, repr=False)  # for writing; None: whoever reaches the server may write
    token_for_reading: bool = False
    hosts: frozenset[str] | None = None  # names by which the server may be called; None: any
    origins: tuple[str, ...] = ()  # of pages elsewhere that may call it
    load_folder: Path | None = None  # files that LOAD may read

    seconds: float = 30.0  # for a query or a change
    waiting_seconds: float = 10.0  # for its turn
    header_seconds: float = 10.0  # for the header of a request to arrive
    body_seconds: float = 30.0  # for a body to arrive
    stopping_seconds: float = 10.0  # for requests to end when the server stops
    rows: int = 100_000  # of one answer
    body_bytes: int = 16 << 20  # after decompression
    url_bytes: int = 32 << 10
    connections: int = 1_000
    queries: int = 8  # at a time
    subscriptions: int = 500
    subscription_seconds: float = 15.0  # between two signs of life
    recent_versions: int = 16  # that are kept whole, for cursors and conjunctive goals
    recent_changes: int = 1_024  # whose facts are kept, for reconnecting clients
    recent_facts: int = 1_000_000  # in these changes
    follow_seconds: float = 1.0  # between two looks at a store that another process changes
