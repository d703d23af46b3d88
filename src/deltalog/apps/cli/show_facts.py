"""The facts that `deltalog run` prints on standard output.

On a terminal, each predicate is a table under its name, with the prefixes of the program. Elsewhere each fact is a line
in the rule language, so that what is printed can be read back as a program; what is left out is a comment. Both are
sorted, by predicate and by values.

By default these are the derived facts of a small run of the local engine; of a Soufflé or Nemo program, those of the
predicates that it names. `--show` asks for predicates, whatever the size.
"""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from deltalog.apps.cli.options import count, counted
from deltalog.knowledge_base.calls import session_of

if TYPE_CHECKING:
    from deltalog.core.rules import Pred
    from deltalog.core.terms import Value
    from deltalog.evaluation.facts import Facts
    from deltalog.evaluation.report import Report
    from deltalog.knowledge_base.facade import KnowledgeBase

SMALL_RUN = 1000  # derived facts
ROWS = 20  # of a predicate that are shown, unless another number is asked for
SORTED = 100_000  # rows: more are printed as they are stored
ALL = sys.maxsize


def row_limit(text: str) -> int:
    """The value of --limit."""
    if text == "all":
        return ALL
    try:
        return count(text)
    except ArgumentTypeError:
        raise ArgumentTypeError(f"expected a whole number, or all, got {text!r}") from None


class ShownFacts(NamedTuple):
    """Some facts of a predicate: the rows that are shown, and how many there are."""

    pred: Pred
    columns: Sequence[str]
    rows: list[tuple[Value, ...]]
    total: int
    prefixes: Mapping[str, str]

    @property
    def more(self) -> int:
        return self.total - len(self.rows)


def shown_facts(kb: KnowledgeBase, report: Report, options: Namespace) -> str:
    """What a run prints."""
    from deltalog.apps.cli.terminal import terminal_width

    width = terminal_width(sys.stdout)
    sections = _sections(kb, report, options, width is not None)
    lines = (_statements(each) if width is None else [*_table(each, width), ""] for each in sections)
    return "".join(f"{line}\n" for section in lines for line in section)


def is_shown(options: Namespace) -> bool:
    """Whether a run prints facts: it is asked to, or nothing else becomes of them."""
    if options.show:
        return True
    return not (options.out or options.store or options.json or options.quiet)


def _sections(kb: KnowledgeBase, report: Report, options: Namespace, terminal: bool) -> Iterator[ShownFacts]:
    """The predicates that are shown; those that are asked for, even if they have no facts."""
    limit = options.limit
    if limit is None:
        limit = ALL if options.show and not terminal else ROWS
    for name in options.show or _derived(kb, report, options):
        full = full_name(name, kb.prefixes)
        facts = kb.derived(full) if options.derived or not options.show else kb.facts(full)
        if len(facts) or options.show:
            yield ShownFacts(
                session_of(kb).predicate(full), facts.columns, _rows(facts, limit), len(facts), kb.prefixes
            )


def _derived(kb: KnowledgeBase, report: Report, options: Namespace) -> Iterable[str]:
    """The predicates of a small run, or those that a Soufflé program names."""
    if report.facts_derived > SMALL_RUN or report.engine == "spark":  # where each predicate takes jobs
        return []
    if options.only:
        return sorted(options.only)
    outputs = [file for file in session_of(kb).document.files if file.kind != "input"]
    if any(file.pred for file in outputs):  # others are printed already
        return sorted({file.predicate for file in outputs if file.predicate and file.pred and file.names_file})
    exports = {file.predicate for file in outputs if file.is_export and not file.implied}
    return sorted(name for name in report.per_predicate if not exports or name in exports)


def full_name(name: str, prefixes: Mapping[str, str]) -> str:
    """The name of a predicate, which may be written with a prefix of the program."""
    prefix, colon, local = name.partition(":")
    return prefixes[prefix] + local if colon and prefix in prefixes else name


def _rows(facts: Facts[Any], limit: int) -> list[tuple[Value, ...]]:
    if len(facts) > SORTED:
        return facts.page(0, min(limit, len(facts)))
    from deltalog.functions.order import sort_key

    return sorted(facts, key=lambda row: [sort_key(value) for value in row])[:limit]


def _table(section: ShownFacts, width: int) -> Iterator[str]:
    from deltalog.core.rule_text import print_predicate
    from deltalog.evaluation.plan.iri_display import shortened
    from deltalog.languages.sparql.results import table_lines

    name = shortened(print_predicate(section.pred.name), section.prefixes)
    yield f"{name}: {counted(section.total, 'fact')}"
    if section.columns:
        yield from table_lines(section.columns, section.rows, section.prefixes, width)
    if section.more:
        yield f"... and {section.more:,} more (--limit all shows them)"


def _statements(section: ShownFacts) -> Iterator[str]:
    from deltalog.core.rule_text import print_atom
    from deltalog.core.rules import Atom, Constant

    for row in section.rows:
        yield f"{print_atom(Atom(section.pred.name, tuple(map(Constant, row))))}."
    if section.more:
        yield f"# {counted(section.more, 'more fact')} of {section.pred} (--limit all shows them)"
