"""The page of a report, and the drawing of the lineage in it. No Spark is started here."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from deltalog.apps.pipelines.lineage import lineage
from deltalog.apps.pipelines.lineage_svg import draw_lineage
from deltalog.apps.pipelines.report import PipelineReport, Transfer, Violation
from deltalog.apps.pipelines.report_html import as_html
from deltalog.apps.pipelines.spec import SinkSpec
from deltalog.core.rules import Pred
from deltalog.languages.deltalog.parser import parse

RULES = parse("p(X, Y) :- e(X, Y).  p(X, Z) :- q(X, Y), e(Y, Z).  q(X, Y) :- p(X, Y).  alone(X) :- f(X), NOT p(X, _).")
SOURCES = {"edges & more": [Pred("e", 2)], "f": [Pred("f", 1), Pred("unread", 1)]}
SINKS = [(SinkSpec("p", "p"), Pred("p", 2)), (SinkSpec("lonely", "alone"), Pred("alone", 1))]
LINEAGE = lineage(SOURCES, RULES, (), SINKS)
SVG = "{http://www.w3.org/2000/svg}"


def test_lineage() -> None:
    assert [one["sources"] for one in LINEAGE["sinks"]] == [["edges & more"], ["edges & more", "f"]]
    assert LINEAGE["rules"][3]["reads"] == ["f", "p"]
    assert LINEAGE["sources"][1] == {"source": "f", "predicates": ["f", "unread"]}


def test_the_drawing() -> None:
    root = ElementTree.fromstring(draw_lineage(LINEAGE))
    boxes = {
        box.findtext(f"{SVG}title"): float(box.find(f"{SVG}rect").attrib["x"])  # type: ignore[union-attr]
        for box in root.iter(f"{SVG}g")
    }
    assert boxes.keys() == {
        *("source edges & more", "source f", "sink p", "sink lonely"),
        *("predicate e", "predicate f", "predicate p", "predicate q", "predicate alone"),
    }
    assert boxes["source f"] < boxes["predicate f"] < boxes["predicate alone"] < boxes["sink lonely"]
    assert boxes["predicate e"] < boxes["predicate p"]
    assert boxes["sink p"] == boxes["sink lonely"]
    assert len(list(root.iter(f"{SVG}path"))) == 9


def test_many_predicates_are_drawn_soon() -> None:
    """Circles of rules take no exponential time."""
    names = [f"p{i}" for i in range(60)]
    rules = parse("  ".join(f"{a}(X) :- {b}(X)." for a in names for b in names if a != b))
    drawn = draw_lineage(lineage({"s": [Pred("p0", 1)]}, rules, (), [(SinkSpec("p9", "p9"), Pred("p9", 1))]))
    assert drawn.count("<g ") == 62


def test_the_page() -> None:
    report = PipelineReport(
        "trains <1>",
        engine="local",
        sources=[Transfer("link", "file:///in", ["link"], 3, 1234, 0.5)],
        sinks=[Transfer("path", "file:///out", ["path"], 6, None, 1.25)],
        facts={"link": 3, "path": 6000},
        facts_in=3,
        seconds={"read": 1.0},
        spark={"read": {"jobs": 7}},
        violations=[Violation("loop", "loop", 2, 0, "warn", ("X",), (("<a>",),))],
        lineage=LINEAGE,
    )
    page = as_html(report)
    assert "<h1>trains &lt;1&gt;</h1>" in page and "6,003 facts, 6,000 of them derived" in page
    assert re.search('text-align:right">1,234</td><td style="[^"]*text-align:right">0.50</td>', page)
    assert 'text-align:left">&lt;a&gt;</td>' in page and ">7</td>" in page
    assert re.findall(r"<h2>(\w+)", page) == ["Lineage", "Sources", "Sinks", "Constraints", "Stages", "Facts", "Rules"]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
