"""`deltalog serve`: a knowledge base over HTTP."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from deltalog.apps.cli.options import (
    add_data,
    add_language,
    add_ontology,
    command_parser,
    count,
    load_data,
    local,
    memory,
    positive,
    seconds,
    warnings_shown,
    wrong_usage,
)
from deltalog.core.errors import UsageError
from deltalog.core.extras import extra_package
from deltalog.core.user_warnings import warn

if TYPE_CHECKING:
    from deltalog.apps.server.settings import ServerSettings
    from deltalog.knowledge_base.facade import KnowledgeBase

DESCRIPTION = """\
Answer SPARQL, goals and changes over HTTP, and show a page: docs/server.md has the paths.

  deltalog serve trains                              a store: every change is durable
  deltalog serve rules.dl --data facts.ttl           programs and data, in memory
  deltalog serve trains --host 0.0.0.0 --token-file token
"""
EPILOG = """\
The address is printed when the server is ready. SIGTERM and Ctrl-C end it: requests finish, or are refused.
Exit codes: 0 ended by a signal; 1 an error in the input; 2 wrong usage.
"""


def parser() -> ArgumentParser:
    made = command_parser("serve", DESCRIPTION, EPILOG)
    add = made.add_argument
    add("programs", metavar="STORE|PROGRAM", type=Path, nargs="+", help="a store, or files of rules")
    add_data(made)
    add_ontology(made)
    add_language(made)
    add("--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1, this machine alone)")
    add("--port", metavar="N", type=_port, default=8080, help="the port (default: 8080; 0: one that is free)")
    add("--readonly", action="store_true", help="refuse changes; a store is followed while another process changes it")
    add("--token-file", metavar="FILE", type=local, help="a file with the token that changes need")
    add("--token-for-reading", action="store_true", help="reading needs the token, too")
    add("--cors", metavar="ORIGIN", action="append", default=[], help="pages of this origin may call; may be repeated")
    add("--allow-load", metavar="DIR", type=local, help="LOAD may read the files in this folder (default: none)")
    _add_limits(made)
    made.set_defaults(at=None)
    return made


def _add_limits(made: ArgumentParser) -> None:
    add = made.add_argument
    add("--timeout", metavar="S", type=seconds, default=30.0, help="seconds for a query or a change (default: 30)")
    add("--rows", metavar="N", type=count, default=100_000, help="rows of an answer (default: 100,000)")
    add("--queries", metavar="N", type=positive, default=8, help="queries at a time (default: 8)")
    add("--connections", metavar="N", type=positive, default=1000, help="open connections (default: 1,000)")
    add("--body", metavar="SIZE", type=memory, default=16 << 20, help="size of a request (default: 16 MiB)")
    add("--max-facts", metavar="N", type=count, help="facts that a change may lead to")
    add("--memory", metavar="SIZE", type=memory, help="memory that a query or a change may add")


def run(options: Namespace) -> int:
    """Serves until a signal comes; the exit code."""
    from deltalog.apps.cli.open_store import mismatch

    if wrong := mismatch(options.programs, options):
        return wrong_usage("serve", wrong)
    for package in ("starlette", "uvicorn"):
        extra_package(package, "server", "`deltalog serve`")
    from deltalog.apps.server.run import serve
    from deltalog.apps.server.security import check_settings

    settings = _settings(options)
    check_settings(options.host, settings)
    with warnings_shown():
        _warn_of_readers(options.token_file)
    with warnings_shown(), _opened(options) as kb:
        serve(kb, settings, options.host, options.port)
    return 0


def _settings(options: Namespace) -> ServerSettings:
    from deltalog.apps.server.security import LOOPBACK_NAMES, check_origin, check_token, is_loopback
    from deltalog.apps.server.settings import ServerSettings

    token = None if options.token_file is None else check_token(_text(options.token_file), str(options.token_file))
    return ServerSettings(
        readonly=options.readonly,
        token=token,
        token_for_reading=options.token_for_reading,
        hosts=frozenset((*LOOPBACK_NAMES, options.host.strip("[]"))) if is_loopback(options.host) else None,
        origins=tuple(map(check_origin, options.cors)),
        load_folder=options.allow_load,
        seconds=options.timeout,
        rows=options.rows,
        queries=options.queries,
        connections=options.connections,
        body_bytes=options.body,
    )


def _warn_of_readers(token: Path | None) -> None:
    """Warns if other users of this machine can read the token."""
    if token is not None and os.name == "posix" and (mode := token.stat().st_mode) & 0o044:
        warn(f"{token} can be read by other users of this machine (mode {mode & 0o777:o}); `chmod 600 {token}`")


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"cannot read {path}: {getattr(problem, 'strerror', None) or 'it is not text'}") from None


def _opened(options: Namespace) -> KnowledgeBase:
    """What is served. The time limit is for requests, and not for this."""
    from deltalog.apps.cli.open_store import is_store, knowledge_base
    from deltalog.knowledge_base.facade import KnowledgeBase

    if is_store(options.programs):
        limits = {"max_facts": options.max_facts, "memory": options.memory}
        return KnowledgeBase.open(options.programs[0], readonly=options.readonly, **limits)
    kb = knowledge_base(options.programs, options, timeout=None)
    load_data(kb, options)
    kb.limits.held = None  # --memory is for each request
    return kb


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > 65535:
        raise ArgumentTypeError(f"{text!r} is not a port; write a number from 0 to 65535")
    return int(text)
