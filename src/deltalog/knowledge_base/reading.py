"""Facts and figures of a session, as texts, drawings and files."""

from __future__ import annotations

import time
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING

from deltalog.core.arguments import names_of
from deltalog.core.render.notebook_text import PlainText, SvgText
from deltalog.core.watching import watcher
from deltalog.extensions.ontology.extension import ontology_of
from deltalog.formats.files import local_path
from deltalog.formats.formats import GRAPH_FORMATS, TRIPLE_FORMATS, OutputForm
from deltalog.knowledge_base.outputs import plan_of_outputs
from deltalog.knowledge_base.queries import query
from deltalog.knowledge_base.session import Session

if TYPE_CHECKING:
    from deltalog.extensions.ontology.inconsistencies import Inconsistency
    from deltalog.extensions.ontology.state import Ontology


def ontology(session: Session) -> Ontology | None:
    """The ontology, if there is one."""
    return ontology_of(session.state)


def html(session: Session, caption: str) -> str:
    """The predicates with the numbers of their facts, as a table."""
    from deltalog.core.render.html import html_preview

    counts = session.report().per_predicate if session.state.is_complete else {}
    rows = ((name, f"{n:,}") for name, n in sorted(counts.items(), key=lambda each: (-each[1], each[0])))
    return html_preview(("predicate", "facts") if counts else (), rows, len(counts), caption)


def plan(session: Session) -> PlainText:
    """How the rules would be evaluated over the present facts."""
    from deltalog.evaluation.plan.explain import explain, explain_stages

    session.warn_of_data()
    program = session.program
    ordinary = explain(program, session.contents().statistics(program), session.prefixes, session.settings.cyclic)
    outputs = "".join(f"{line}\n" for line in plan_of_outputs(session))
    return PlainText(outputs + explain_stages(session.state.ordered) + ordinary)


def plan_goal(session: Session, goal: str) -> PlainText:
    """The rules that magic sets makes for a goal."""
    return PlainText(session.queries.plan(session.contents_for_goal(), goal))


def draw(session: Session) -> SvgText:
    """The dependency graph of the rules, and the decompositions of those that have one."""
    from deltalog.evaluation.plan.rule_graph_svg import draw

    program = session.program
    statistics = session.contents().statistics(program)
    return SvgText(draw(program, session.prefixes, statistics, session.settings.cyclic))


def write(
    session: Session, folder: str | PathLike[str], format: str, only: Iterable[str], derived: bool, header: bool
) -> None:
    """Writes facts to a folder."""
    from deltalog.extensions.ontology.vocabulary import AUXILIARY

    started, wanted = time.perf_counter(), names_of(only, "only")
    contents = session.contents().materialised()
    watcher().phase("write")
    tables = contents.tables(wanted, derived)
    if isinstance(format, str) and format in TRIPLE_FORMATS and ontology_of(session.state) is not None and not wanted:
        tables = {pred: table for pred, table in tables.items() if pred not in AUXILIARY}
    if isinstance(format, str) and format in GRAPH_FORMATS and not derived:
        chosen = [contents.names().find(name) for name in wanted]
        tables = session.graphs.with_quads(tables, session.state.explicit, chosen, session.backend)
    columns = {pred: names for pred in tables if (names := session.columns.known(pred))}
    form = OutputForm(format, columns, header, session.prefixes)
    session.backend.codec.write(local_path(folder), tables, form)
    session.spent("write", started)


def inconsistencies(session: Session) -> list[Inconsistency]:
    """Contradictions between facts and the ontology."""
    from deltalog.extensions.ontology.inconsistencies import inconsistencies

    contents = session.contents().materialised()
    return inconsistencies(contents, session.rules, lambda goal: query(session, goal, "materialised"))


def count_inconsistencies(session: Session) -> int:
    """How many there are, without finding the facts of each."""
    from deltalog.extensions.ontology.inconsistencies import count_inconsistencies

    return count_inconsistencies(session.contents().materialised())


def names_are_known(session: Session) -> bool:
    """False where a rule with a variable for a predicate or a class may derive facts of one yet unheard of."""
    return (contents := session.contents()).state is not None or not contents.has_wildcard_heads
