"""How explanations are shown: formats say everything once, are cut with a note, and values cannot attack them."""

from __future__ import annotations

import json
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import sha256
from html.parser import HTMLParser
from itertools import combinations
from typing import Any

import pytest
from drawn_proofs import (
    EVIL,
    chain,
    deeply_refuted,
    doubling,
    every_construct,
    explicit,
    holds,
    random_proof,
    refuted,
    widely_refuted,
)

from deltalog.core.errors import UsageError
from deltalog.core.render.text_width import columns, cut_end, cut_middle
from deltalog.core.terms import IRI, XSD, BlankNode, Literal, Value, key
from deltalog.extensions.explain.model import Explanation, Fact
from deltalog.formats.json_values import json_value, value_of

SVG = "{http://www.w3.org/2000/svg}"
FORMATS = ("text", "svg", "html", "notebook", "mermaid")

CHAIN = """\
path(n0, n3) holds: derived, height 3, 6 facts

path(n0, n3)
│  r2 (paths.dl:2)  path(?X, ?Z) :- path(?X, ?Y), edge(?Y, ?Z) .
│  ?X = n0, ?Y = n2, ?Z = n3
├─ path(n0, n2)
│  │  r2 (paths.dl:2): ?X = n0, ?Y = n1, ?Z = n2
│  ├─ path(n0, n1)
│  │  │  r1 (paths.dl:1)  path(?X, ?Y) :- edge(?X, ?Y) .
│  │  │  ?X = n0, ?Y = n1
│  │  └─ edge(n0, n1)   explicit, edge.csv
│  └─ edge(n1, n2)   explicit, edge.csv
└─ edge(n2, n3)   explicit, edge.csv
"""

REFUTED = """\
path(a, z) does not hold

near misses
≈ type: path(a, "z"@en) holds

rules that could derive it
r1 (paths.dl:1)  path(?X, ?Y) :- edge(?X, ?Y) .
│  ?X = a, ?Y = z
└─ ✗ edge(a, z)   needed: the fact edge(a, z)

r2 (paths.dl:2)  path(?X, ?Z) :- path(?X, ?Y), edge(?Y, ?Z) .
│  ?X = a, ?Y = b, ?Z = z
├─ ✓ path(a, b)   derived by r1, height 1
└─ ✗ edge(b, z)   needed: the fact edge(b, z)
   ├─ ≈ spelling: edge(b, zz) holds
   └─ no rule derives edge/2
"""


def shown(explanation: Explanation, form: str, **options: Any) -> str:
    match form:
        case "text":
            return explanation.text(**options)
        case "svg":
            return explanation.to_svg(**options)
        case "html":
            return explanation.to_html(**options)
        case "notebook":
            return explanation.to_html(notebook=True, **options)
        case _:
            return explanation.to_mermaid(**options)


def words(explanation: Explanation, form: str, **options: Any) -> str:
    """What a reader of a format sees (and the tooltips)."""
    text = shown(explanation, form, **options)
    match form:
        case "svg":
            return "\n".join(ElementTree.fromstring(text).itertext())
        case "html" | "notebook":
            return "".join(Page(text).seen)
        case "mermaid":
            return re.sub(r"#(\d+);", lambda m: chr(int(m[1])), text)
    return text


class Page(HTMLParser):
    """Elements, attributes and visible text of HTML; checks that elements are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.seen: list[str] = []
        self.bodies: dict[str, str] = {}
        self.deepest = 0
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "br"):
            self._open.append(tag)
        self.deepest = max(self.deepest, len(self._open))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("script", "style"):
            self.bodies[self._open[-1]] = self.bodies.get(self._open[-1], "") + data
        else:
            self.seen.append(data)


# Text


def test_a_tree() -> None:
    assert chain(3).text() == str(chain(3)) == CHAIN.rstrip()


def test_why_not() -> None:
    assert refuted().text() == REFUTED.rstrip()


def test_colour_is_an_addition() -> None:
    for explanation in (chain(3), refuted(), every_construct()):
        plain, coloured = explanation.text(), explanation.text(colour=True)
        assert "\x1b" not in plain
        assert coloured != plain
        assert re.sub(r"\x1b\[[0-9]+m", "", coloured) == plain


@pytest.mark.parametrize("form", FORMATS)
def test_every_construct_is_said(form: str) -> None:
    said = words(every_construct(), form)
    for part in ("COUNT(?p)", "group :sales", "9 more members of 12", "NOT :closed(:sales)", "no fact of :closed"):
        assert part in said, part
    for part in ("BIND(?n + 1 AS ?m)", "?m = 13", "r9 (rules/long.dl:71)", "data.ttl", ":Person(:p0)", "?X = :sales"):
        assert part in said, part
    for part in ("?t > 0", "1 > 0", "value 1", "漢"):
        assert part in said, part


@pytest.mark.parametrize("form", FORMATS)
def test_why_not_is_said(form: str) -> None:
    said = words(refuted(), form)
    for part in ("r1 (paths.dl:1)", "edge(a, z)", "✓ path(a, b)", "✗ edge(b, z)", "needed: the fact edge(b, z)"):
        assert part in said, part
    for part in ('type: path(a, "z"@en)', "spelling: edge(b, zz)", "no rule derives edge/2", "?Y = b"):
        assert part in said, part


def test_explicit_facts() -> None:
    both = Explanation(Fact("p", (1,)), True, (explicit("p", 1, source="p.csv"),))
    assert both.text() == "p(1) holds: explicit\n\np(1)   explicit, p.csv"
    for form in FORMATS:
        assert "p.csv" in words(both, form)


def test_a_reason_without_attempts() -> None:
    nothing = Explanation(Fact("p", ()), False, reason="no rule derives p/0")
    for form in FORMATS:
        assert "no rule derives p/0" in words(nothing, form)
    assert nothing.to_dict() == {
        "fact": {"predicate": "p", "values": []},
        "holds": False,
        "attempts": [],
        "near": [],
        "reason": "no rule derives p/0",
    }


@pytest.mark.parametrize("form", FORMATS)
def test_an_answer_without_any_reason_is_an_answer(form: str) -> None:
    assert "p() does not hold" in words(Explanation(Fact("p", ()), False), form)


# Shared parts and sizes


@pytest.mark.parametrize("form", FORMATS)
def test_shared_parts_are_said_once(form: str) -> None:
    said = shown(doubling(45), form)  # which would not end if they were not shared
    assert len(said) < 200_000
    rule = "?X = 43, ?Y = 44"
    assert len(re.findall(re.escape(rule), re.sub("<title>.*?</title>", "", words_of(said, form), flags=re.S))) == 1


def words_of(text: str, form: str) -> str:
    return text if form != "mermaid" else re.sub(r"#(\d+);", lambda m: chr(int(m[1])), text)


def test_shared_parts_are_said_once_in_json() -> None:
    found = json.loads(json.dumps(doubling(45).to_dict()))
    first, second = found["premises"]
    assert "premises" in first
    assert second["see"] == first["id"]
    assert "premises" not in second


@pytest.mark.parametrize("form", FORMATS)
def test_a_thousand_steps_are_cut_with_a_note(form: str) -> None:
    said = words(chain(500), form)
    hidden, total = re.findall(r"([\d,]+) facts of ([\d,]+) hidden; steps=1000", said)[0]
    assert total == "1,000"
    visible = {(int(a), int(b)) for a, b in re.findall(r"edge\(n(\d+), n(\d+)\)", said)}
    paths = {int(b) for b in re.findall(r"path\(n0, n(\d+)\)", said)}
    assert len(visible) + len(paths) == 1_000 - int(hidden.replace(",", ""))
    assert re.search(r"its proof is hidden: height \d+, \d+ facts", said)


@pytest.mark.parametrize("form", ["text", "svg", "html", "notebook"])
def test_all_of_it_on_request(form: str) -> None:
    said = words(chain(500), form, steps=1_000)
    assert "hidden" not in said
    assert {f"edge(n{i}, n{i + 1})" for i in range(500)} <= set(re.findall(r"edge\(\w+, \w+\)", said))
    assert {f"path(n0, n{i + 1})" for i in range(500)} <= set(re.findall(r"path\(\w+, \w+\)", said))


def test_mermaid_stays_below_its_limit() -> None:
    text = chain(3_000).to_mermaid(steps=6_000)
    assert len(text) < 50_000
    assert "hidden" in text


def test_indentation_is_bounded() -> None:
    assert max(len(line) - len(line.lstrip("│ ├└─")) for line in chain(2_000).text(steps=4_000).splitlines()) < 60
    assert Page(chain(2_000).to_html(steps=4_000)).deepest < 200  # parsers of browsers flatten what is deeper than 512


@pytest.mark.parametrize("depth", [0, 1, 2, 7])
def test_depth(depth: int) -> None:
    text = chain(20, depth=depth).text()
    assert len(re.findall(r"r2 \(paths", text)) == depth
    assert f"{40 - (2 * depth + 1)} facts of 40 hidden; the proof is shown to depth {depth}" in text
    found = chain(20, depth=depth).to_dict()
    assert found["hidden_facts"] == 40 - (2 * depth + 1)


def test_several_proofs() -> None:
    first, second = chain(3).proofs[0], chain(5).proofs[0]
    both = holds(first, second)
    text = both.text()
    assert "proof 1 of 2: height 3, 6 facts" in text
    assert "proof 2 of 2: height 5, 10 facts" in text
    found = both.to_dict()
    assert [found["height"], *(other["height"] for other in found["others"])] == [3, 5]


# JSON

ODD_VALUES: list[Value] = [
    *("", "a", EVIL, "漢字🎉", "1", "true", '{"iri": "x"}'),
    *(0, -1, 2**53, 2**53 + 1, -(2**63), 10**50, 10**3900, True, False),
    *(0.0, -0.5, 1.0, 1e300, 5e-324, float("inf"), float("-inf"), float("nan")),
    *(IRI("http://example.org/ä b"), IRI(""), BlankNode("b0"), date(2024, 2, 29), date(1, 1, 1)),
    *(datetime(2024, 1, 1, 12, 30, 0, 123456), datetime(2024, 1, 1, tzinfo=UTC)),
    *(Literal("x", language="en-GB"), Decimal("1.5"), Literal("abc", XSD + "integer")),
    *(Literal("", "http://example.org/type"), Literal("1", XSD + "int")),
]


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: repr(value)[:30] if not isinstance(value, int) else "n")
def test_values_come_back(value: Value) -> None:
    there = json.loads(json.dumps(json_value(value), allow_nan=False))
    assert key(value_of(there)) == key(value)


def test_what_is_no_value_is_refused() -> None:
    for wrong in (None, [], {"uri": "x"}, {"text": 1, "datatype": "x"}):
        with pytest.raises(UsageError, match="is no value; write"):
            value_of(wrong)


def test_json_of_a_proof() -> None:
    assert chain(2).to_dict() == {
        "fact": {"predicate": "path", "values": ["n0", "n2"]},
        "holds": True,
        "kind": "derived",
        "height": 2,
        "rule": {"id": "r2", "text": "path(?X, ?Z) :- path(?X, ?Y), edge(?Y, ?Z) .", "file": "paths.dl", "line": 2},
        "bindings": {"X": "n0", "Y": "n1", "Z": "n2"},
        "premises": [
            {
                "fact": {"predicate": "path", "values": ["n0", "n1"]},
                "holds": True,
                "kind": "derived",
                "height": 1,
                "rule": {"id": "r1", "text": "path(?X, ?Y) :- edge(?X, ?Y) .", "file": "paths.dl", "line": 1},
                "bindings": {"X": "n0", "Y": "n1"},
                "premises": [
                    {
                        "fact": {"predicate": "edge", "values": ["n0", "n1"]},
                        "holds": True,
                        "kind": "explicit",
                        "height": 0,
                        "source": "edge.csv",
                        "premises": [],
                    }
                ],
            },
            {
                "fact": {"predicate": "edge", "values": ["n1", "n2"]},
                "holds": True,
                "kind": "explicit",
                "height": 0,
                "source": "edge.csv",
                "premises": [],
            },
        ],
    }


def test_json_of_every_construct() -> None:
    found = json.loads(json.dumps(every_construct().to_dict()))
    group, second, absent, person, quoted, again, condition = found["premises"]
    assert group["aggregate"]["count"] == 12
    assert group["aggregate"]["key"] == [{"iri": "http://example.org/sales"}]
    assert group["aggregate"]["members"][0]["value"] == {"iri": "http://example.org/p0"}
    assert second["aggregate"]["members"][0]["premises"][1] == {"condition": {"text": "?t > 0", "value": "1 > 0"}}
    assert absent == {"absent": {"atom": ":closed(:sales)", "reason": "no fact of :closed"}}
    assert condition == {"condition": {"text": "BIND(?n + 1 AS ?m)", "value": "?m = 13"}}
    assert again["see"] == person["id"]
    assert quoted["fact"]["values"][1] == EVIL


def test_json_of_a_refutation() -> None:
    found = refuted().to_dict()
    assert found["holds"] is False
    first, second = found["attempts"]
    assert (first["satisfied"], first["failed"]) == ([], "edge(a, z)")
    assert second["satisfied"][0]["fact"] == {"predicate": "path", "values": ["a", "b"]}
    assert second["bindings"] == {"X": "a", "Y": "b", "Z": "z"}
    assert second["nested"][0]["reason"] == "no rule derives edge/2"
    assert found["near"] == [{"kind": "type", "text": 'path(a, "z"@en) holds'}]


def test_deep_json_can_be_read_and_is_complete() -> None:
    found = json.loads(json.dumps(chain(3_000).to_dict()))
    parts = {part["id"]: part for part in found["continued"]}
    step, length = found, 0
    while True:
        step = parts[step["see"]] if "see" in step else step
        if step["kind"] == "explicit":
            break
        step, length = step["premises"][0], length + 1
    assert length == 3_000


@pytest.mark.parametrize("form", FORMATS)
def test_deep_refutations_are_cut_with_a_note(form: str) -> None:
    said = words(deeply_refuted(2_000), form)
    assert "… the rest is hidden" in said
    assert re.search(r"explain\s+path\(n0,\s+n16\)\s+for\s+it", said)
    assert "path(n0, n17)" not in said


@pytest.mark.parametrize("form", FORMATS)
def test_many_attempts_are_cut_with_a_note(form: str) -> None:
    said = words(widely_refuted(40), form, steps=50)
    assert {f"outer{i}(1)" for i in range(40)} <= set(re.findall(r"outer\d+\(1\)", said))
    assert "… and 30 more rules" in said
    assert f"{40 * 40 - 10:,} attempts hidden" in said


def test_deep_refutations_in_json() -> None:
    found = json.loads(json.dumps(deeply_refuted(2_000).to_dict()))
    level = 1
    while "nested" in (attempt := found["attempts"][0]):
        found, level = attempt["nested"][0], level + 1
    assert level == 50
    assert attempt["hidden"] == {"nested": 1}


# Attacks


def test_text_has_no_characters_that_act() -> None:
    for explanation in (every_construct(), holds(explicit(EVIL, EVIL))):
        text = explanation.text()
        assert {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")} == {"\n"}
        text.encode()


@pytest.mark.parametrize("notebook", [False, True])
def test_html_runs_nothing_of_a_value(notebook: bool) -> None:
    for explanation in (every_construct(), holds(explicit(EVIL, EVIL))):
        page = Page(explanation.to_html(notebook=notebook))
        tags = [tag for tag, _ in page.elements]
        assert tags.count("script") == (0 if notebook else 1)
        assert not {"b", "img", "iframe", "object", "link", "base", "form"} & set(tags)
        for tag, attributes in page.elements:
            assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")]
            assert tag != "a" or str(attributes["href"]).startswith("#dlx-")
        assert "<script>alert(1)</script>" in "".join(page.seen)


def test_the_policy_of_the_page_names_its_script_and_its_style() -> None:
    page = Page(chain(3).to_html())
    policy = next(str(attributes["content"]) for tag, attributes in page.elements if "http-equiv" in attributes)
    for name in ("script", "style"):
        digest = b64encode(sha256(page.bodies[name].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "http:" not in chain(3).to_html() + chain(3).to_html().replace("http-equiv", "")


def test_links_of_the_page_lead_somewhere() -> None:
    page = Page(doubling(45).to_html())
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    links = [str(attributes["href"])[1:] for tag, attributes in page.elements if tag == "a"]
    assert links
    assert set(links) <= set(ids)
    assert len(ids) == len(set(ids))


def test_styles_of_a_notebook_apply_to_nothing_else() -> None:
    style = Page(chain(3)._repr_html_()).bodies["style"]
    selectors = [one.strip() for block in re.findall(r"([^{}]+)\{", style) for one in block.split(",")]
    assert selectors
    assert [one for one in selectors if not one.startswith(".dlx")] == []


def test_mermaid_lines_are_what_mermaid_reads() -> None:
    node = r'  \w+\["(?:[A-Za-z0-9.,()=?/ ]|[^\x00-\x7f]|#\d+;|<br/>)*"\]:::(explicit|derived|absent|failed|other)'
    for explanation in (every_construct(), refuted(), holds(explicit(EVIL, EVIL)), doubling(45), chain(500)):
        first, *lines = explanation.to_mermaid().splitlines()
        assert first == "flowchart TD"
        names = {line.split("[")[0].strip() for line in lines if "[" in line}
        for line in lines:
            if "-->" in line:
                assert set(line.split(" --> ")[0].split() + line.split(" --> ")[1].split()) <= names
            else:
                assert re.fullmatch(node, line) or re.fullmatch(r"  classDef \w+ [\w:#,]+", line), line


# SVG


Rectangle = tuple[float, float, float, float]  # left, top, right, bottom


def boxes(drawing: ElementTree.Element) -> Iterator[tuple[ElementTree.Element, Rectangle]]:
    for group in drawing.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        assert rect is not None
        x, y, width, height = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        yield group, (x, y, x + width, y + height)


def segments(drawing: ElementTree.Element) -> Iterator[tuple[tuple[float, float], Rectangle]]:
    """The straight parts of lines, each with the start of its line, which all lines of a box share."""
    for path in drawing.iter(f"{SVG}path"):
        x = y = 0.0
        start = (x, y)
        for command, *numbers in re.findall(r"([MVH])([\d.-]+)(?: ([\d.-]+))?", path.attrib["d"]):
            first, second = numbers
            if command == "M":
                start = x, y = float(first), float(second)
                continue
            after = (float(first), y) if command == "H" else (x, float(first))
            yield start, (min(x, after[0]), min(y, after[1]), max(x, after[0]), max(y, after[1]))
            x, y = after


def meet(a: Rectangle, b: Rectangle) -> bool:
    """Whether a rectangle, or a line, reaches into another one by more than rounding."""
    return a[0] < b[2] - 0.2 and b[0] + 0.2 < a[2] and a[1] < b[3] - 0.2 and b[1] + 0.2 < a[3]


@pytest.mark.parametrize(
    "explanation",
    [chain(3), chain(500), every_construct(), refuted(), doubling(45), *map(random_proof, range(40))],
    ids=lambda explanation: str(explanation.fact)[:20],
)
def test_nothing_overlaps_or_is_clipped(explanation: Explanation) -> None:
    drawing = ElementTree.fromstring(explanation.to_svg())
    width, height = float(drawing.attrib["width"]), float(drawing.attrib["height"])
    found = list(boxes(drawing))
    assert found
    for (_, a), (_, b) in combinations(found, 2):
        assert not meet(a, b)
    for group, (left, top, right, bottom) in found:
        assert min(left, top) >= 0 and right <= width and bottom <= height
        for text in group.iter(f"{SVG}text"):
            assert left < float(text.attrib["x"])
            assert float(text.attrib["x"]) + columns(text.text or "") * 7.2 < right
            assert top < float(text.attrib["y"]) < bottom
    lines = list(segments(drawing))
    for _, line in lines:
        for _, box in found:
            assert not meet(line, box)
    for (start, line), (other_start, other) in combinations(lines, 2):
        assert start == other_start or not touch(line, other)
    for text in drawing.findall(f"{SVG}text"):
        assert float(text.attrib["x"]) + columns(text.text or "") * 7.2 < width


def touch(a: Rectangle, b: Rectangle) -> bool:
    return a[0] <= b[2] and b[0] <= a[2] and a[1] <= b[3] and b[1] <= a[3]


def test_meeting_is_noticed() -> None:
    box = (10.0, 10.0, 20.0, 20.0)
    assert meet((15, 0, 15, 30), box) and meet((0, 15, 30, 15), box) and meet((19, 19, 30, 30), box)
    assert not meet((10, 0, 10, 30), box) and not meet((15, 0, 15, 10), box) and not meet((20, 10, 30, 20), box)


def test_shortened_labels_have_tooltips() -> None:
    drawing = ElementTree.fromstring(every_construct().to_svg())
    group = next(group for group, _ in boxes(drawing))
    tooltip, labels = group.findtext(f"{SVG}title"), [text.text or "" for text in group.iter(f"{SVG}text")]
    assert any("…" in label for label in labels)
    assert not any("segment/" * 40 in label for label in labels)
    assert tooltip is not None and "segment/" * 40 in tooltip


# Labels


@pytest.mark.parametrize("text", ["", "abc", "漢字漢字漢字", "e\u0301" * 20, "a" * 100, "漢a字b" * 30])
def test_cut_keeps_to_its_columns(text: str) -> None:
    for most in (1, 2, 3, 10, 64):
        for cut in (cut_end, cut_middle):
            assert columns(cut(text, most)) <= most
            assert cut(text, 1_000) == text
