"""`deltalog update`: changes the facts and rules of a store, as one version."""

from __future__ import annotations

import json
import re
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from deltalog.apps.cli.options import (
    add_limits,
    add_reading,
    add_verbose,
    command_parser,
    counted,
    is_inside,
    local,
    reading_options,
    warnings_shown,
    wrong_usage,
)
from deltalog.core.errors import DataError
from deltalog.core.render.text_table import text_table
from deltalog.formats.formats import OUTPUT_FORMATS

if TYPE_CHECKING:
    from deltalog.apps.cli.progress import Progress
    from deltalog.evaluation.change import Change
    from deltalog.knowledge_base.facade import KnowledgeBase

ROWS_SHOWN = 20
_RULE_ID = re.compile(r"r[0-9]+")


def parser() -> ArgumentParser:
    made = command_parser(
        "update",
        "Add and remove facts and rules of a store, and everything that follows: one change, which is one version.\n"
        "With --sparql, the change is a SPARQL Update request.\n"
        "What is both added and removed is there afterwards. If a file has an error, nothing changes.",
    )
    add = made.add_argument
    add("store", metavar="STORE", type=local, help="the folder of a store")
    take = "a file or folder of facts to {}, as `deltalog run --data` takes it; may be repeated"
    add("--add", metavar="PATH", type=local, action="append", default=[], help=take.format("add"))
    add("--remove", metavar="PATH", type=local, action="append", default=[], help=take.format("remove"))
    add_reading(made)
    rules = "a file of rules (and facts) to add; may be repeated"
    add("--add-rules", metavar="FILE", type=Path, action="append", default=[], help=rules)
    rules = "a file of rules (and facts) to remove, or the id of a rule, such as r3 (`deltalog store rules` lists them)"
    add("--remove-rules", metavar="FILE|ID", type=rule_source, action="append", default=[], help=rules)
    graph = "the named graph to add to and to remove from (default: those of the quads, and the unnamed graph)"
    add("--graph", metavar="IRI", help=graph)
    request = "a file with a SPARQL Update request, or - for standard input: all of it is one change"
    add("--sparql", metavar="FILE|-", help=request)
    folder = "a folder that LOAD may read files from; may be repeated (default: LOAD is refused)"
    add("--load-from", metavar="DIR", type=local, action="append", default=[], help=folder)
    add("--dry-run", action="store_true", help="say what would change, and change nothing")
    changes = "write the facts that were added and removed to the folders `added` and `removed` in this one, which is "
    add("--changes", metavar="DIR", type=local, help=changes + "new or empty")
    add("--format", choices=OUTPUT_FORMATS, default="csv", help="the format of --changes (default: csv)")
    add_limits(made)
    add("--json", action="store_true", help="print the result as one JSON object")
    add_verbose(made, "the files that are read, and how each stratum followed the change and why,")
    return made


def rule_source(text: str) -> str | Path:
    """A rule by its id, or a file."""
    return text if _RULE_ID.fullmatch(text) else Path(text)


def run(options: Namespace) -> int:
    """Makes the change, or says what it would be; the exit code."""
    from deltalog.apps.cli.open_store import open_store
    from deltalog.apps.cli.progress import Progress
    from deltalog.core.watching import watching

    if wrong := _mismatch(options):
        return wrong_usage("update", wrong)
    if options.changes is not None:
        from deltalog.formats.write import check_output

        if is_inside(options.changes, options.store):
            return wrong_usage("update", f"--changes {options.changes} is inside of the store; choose another folder")
        check_output(options.changes)
    progress = Progress(lines=False, verbose=options.verbose)
    kb = open_store(options.store, options, readonly=options.dry_run)
    before = kb.version
    try:
        with progress, watching(progress), warnings_shown(), kb:
            done = _changed(kb, options, progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_after_interrupt(options.store, before)) from None
    print(json.dumps(done.as_json()) if options.json else done.text())
    return 0


def _mismatch(options: Namespace) -> str:
    """What is wrong with the options together, if anything."""
    others = options.add or options.remove or options.add_rules or options.remove_rules
    if not others and options.sparql is None:
        return "nothing to do; use --add, --remove, --add-rules, --remove-rules or --sparql"
    if options.sparql is not None and (others or options.graph is not None):
        return "--sparql is a change of its own; leave out --add, --remove, --add-rules, --remove-rules and --graph"
    if options.load_from and options.sparql is None:
        return "--load-from goes with --sparql"
    return ""


class UpdateDone(NamedTuple):
    """The result of an update."""

    version: int | None
    added: dict[str, int]
    removed: dict[str, int]
    rules_added: int
    rules_removed: int
    facts_total: int
    seconds: float
    durable: bool
    is_new: bool  # whether there is a new version
    quads: tuple[int, int] = (0, 0)  # of named graphs that were added and removed
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        own = ("is_new", "quads", "notes")
        shown = {name: value for name, value in self._asdict().items() if name not in own}
        graphs = {"quads_added": self.quads[0], "quads_removed": self.quads[1]} if any(self.quads) else {}
        return {**shown, "seconds": round(self.seconds, 6), **graphs, **({"notes": self.notes} if self.notes else {})}

    def text(self) -> str:
        """A table of the predicates with the largest changes, and a sentence."""
        counts = {name: (self.added.get(name, 0), self.removed.get(name, 0)) for name in self.added | self.removed}
        largest = sorted(counts.items(), key=lambda item: (-sum(item[1]), item[0]))
        header = "predicate", f"{'added':>11}", f"{'removed':>11}"
        rows = [(name, *(f"{count:,}" for count in pair)) for name, pair in largest[:ROWS_SHOWN]]
        lines = list(text_table(header, rows, (False, True, True), underlined=False)) if counts else []
        if len(counts) > ROWS_SHOWN:
            lines.append(f"... and {counted(len(counts) - ROWS_SHOWN, 'more predicate')}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes), self._sentence()])

    def _sentence(self) -> str:
        added, removed = sum(self.added.values()), sum(self.removed.values())
        what = f"{counted(added, 'fact')} added, {removed:,} removed; "
        if self.rules_added or self.rules_removed:
            what += f"{counted(self.rules_added, 'rule')} added, {self.rules_removed:,} removed; "
        if any(self.quads):
            what += f"{counted(self.quads[0], 'triple')} added to named graphs, {self.quads[1]:,} removed; "
        what += f"{counted(self.facts_total, 'fact')} in total ({self.seconds:.2f} s)"
        if not self.durable:
            return f"dry run, version {self.version} stays: {what}"
        return f"version {self.version}{'' if self.is_new else ' as before'}: {what}"


def _changed(kb: KnowledgeBase, options: Namespace, progress: Progress) -> UpdateDone:
    from deltalog.apps.cli.verbose import decisions

    started, before = time.perf_counter(), kb.version
    change = _by_files(kb, options) if options.sparql is None else _by_request(kb, options)
    seconds = time.perf_counter() - started
    for line in decisions(change.report, kb.prefixes) if options.verbose else ():
        progress.detail(line)
    if options.changes is not None:
        _write(change, kb, options)
    added, removed, total = change.added.counts(), change.removed.counts(), kb.report.facts_total
    if options.dry_run:
        total += sum(added.values()) - sum(removed.values())
    rules = len(change.added_rules), len(change.removed_rules)
    quads = len(change.added_quads), len(change.removed_quads)
    made = not options.dry_run, kb.version != before
    return UpdateDone(kb.version, added, removed, *rules, total, seconds, *made, quads, change.notes)


def _by_files(kb: KnowledgeBase, options: Namespace) -> Change:
    from deltalog.core.terms import IRI
    from deltalog.formats.documents import Files

    reading = reading_options(options)
    add, remove = (Files.of(*paths, **reading) if paths else None for paths in (options.add, options.remove))
    graph = None if options.graph is None else IRI(options.graph)
    change = kb.what_if if options.dry_run else kb.change
    return change(add, remove, options.add_rules, options.remove_rules, graph=graph)


def _by_request(kb: KnowledgeBase, options: Namespace) -> Change:
    return kb.sparql_update(_request(options.sparql), load_from=options.load_from, dry_run=options.dry_run)


def _request(source: str) -> str:
    """The text of a request: of a file, or from standard input."""
    if source == "-":
        return sys.stdin.read()
    try:
        return Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8 text"
        raise DataError(f"{source} cannot be read ({reason})") from None


def _write(change: Change, kb: KnowledgeBase, options: Namespace) -> None:
    try:
        change.write(options.changes, options.format)
    except DataError as problem:
        made = "" if options.dry_run else f"; the change itself is made, as version {kb.version}"
        raise DataError(f"{problem}{made}") from None


def _after_interrupt(folder: Path, before: int | None) -> str:
    """Which version a store is at."""
    from deltalog.apps.cli.open_store import catalog_of

    with catalog_of(folder) as catalog:
        newest = catalog.newest
    return f"{folder} is at version {newest}" + (" as before" if newest == before else ": the change was made")
