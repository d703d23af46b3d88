"""The page in a real Chromium: every view, with the keyboard, in light and dark, on a narrow screen.

    ./uvw run --group page pytest tests/server/test_page.py

A visit fails on any error of a script, any violation of the content security policy, and any request to elsewhere.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from browsing import Visit, browser, railway, university
from serving import Running, running

STUDENTS = "SELECT ?student ?course WHERE {\n  ?student :takes ?course .\n  ?course :taughtBy :ada\n}"
Visits = Callable[..., Visit]
TOKEN = "a-token-for-the-tests-only"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as made:
        yield made


@pytest.fixture(scope="module")
def trains(chromium: Any) -> Iterator[Running]:
    """Servers that no test changes."""
    with running(railway()) as made:
        yield made


@pytest.fixture(scope="module")
def people(chromium: Any) -> Iterator[Running]:
    with running(university()) as made:
        yield made


@pytest.fixture
def visit(chromium: Any) -> Iterator[Visits]:
    made: list[Visit] = []

    def begin(server: Running, **options: Any) -> Visit:
        made.append(Visit(chromium, server.address, **options))
        return made[-1]

    yield begin
    for each in made:
        each.close()


def texts(page: Any, selector: str) -> list[str]:
    return [text.strip() for text in page.locator(selector).all_text_contents()]


def rows(page: Any) -> list[list[str]]:
    page.wait_for_selector("table[role=grid]")
    return [row.locator("td[role=gridcell]").all_inner_texts() for row in page.locator("tbody tr").all()]


# Queries


def test_the_first_view_says_what_there_is(trains: Running, visit: Visits) -> None:
    page = visit(trains).go("query")
    page.wait_for_selector(".version.live")
    assert texts(page, "dl.figures dd") == ["182", "163", "9", "1"]
    assert {"connection", "train"} <= set(texts(page, ".predicates code"))
    page.get_by_role("searchbox", name="Filter predicates").fill("rou")
    page.locator(".predicate-row").click()
    assert sorted(rows(page)) == [["berlin"], ["copenhagen"], ["hamburg"], ["malmo"]]


def test_a_goal_with_its_method_and_plan(trains: Running, visit: Visits) -> None:
    here = visit(trains)
    page = here.go("query")
    here.run("connection(oslo, ?x).")
    assert sorted(row for (row,) in rows(page)) == ["berlin", "copenhagen", "gothenburg", "hamburg", "malmo", "prague"]
    assert "6 answers" in page.inner_text(".summary") and "materialised" in page.inner_text(".summary")
    page.get_by_role("tab", name="Plan").click()
    assert "connection" in page.inner_text("pre.plan")


def test_sparql_shows_typed_values_that_sort(people: Running, visit: Visits) -> None:
    here = visit(people)
    page = here.go(
        "query", q="SELECT ?x ?n ?name { ?x :load ?n OPTIONAL { ?p :teaches ?c . ?x :takes ?c . ?p :name ?name } }"
    )
    before = rows(page)
    assert page.inner_text(".chip") == "SPARQL"
    page.locator("th .head").nth(1).click()
    numbers = [row[1] for row in rows(page)]
    assert numbers == sorted(numbers) and page.locator("th[aria-sort=ascending]").count() == 1
    page.locator("th .head").nth(1).click()
    assert [row[1] for row in rows(page)] == sorted(numbers, reverse=True)
    page.locator("th .head").nth(1).click()
    assert rows(page) == before
    assert any("@en" in row[2] for row in before)
    assert page.locator("td.number .value.number").count() == len(before) and page.locator("td.iri").count() == len(
        before
    )


def test_ask_and_construct(people: Running, visit: Visits) -> None:
    here = visit(people)
    page = here.go("query")
    here.run("ASK { :kim :takes :datalog101 }")
    assert page.inner_text(".verdict").startswith("Yes")
    here.run(":takes(:kim, :lambda301)")
    page.wait_for_selector(".verdict.no")
    page.wait_for_selector("text=does not hold")
    here.run("CONSTRUCT { ?p :knows ?s } WHERE { ?s :advisor ?p }")
    assert sorted(rows(page)) == [[":ada", ":knows", ":kim"], [":alonzo", ":knows", ":lee"]]


def test_pages_and_what_is_cut_off(chromium: Any, visit: Visits) -> None:
    kb = railway()
    kb.add("number", [(i,) for i in range(120)])
    with running(kb, rows=100) as server:
        here = visit(server)
        page = here.go("query", q="number(?n)")
        assert len(rows(page)) == 50 and "120 answers" in page.inner_text(".summary")
        assert "limit of 100 rows" in page.inner_text(".note.warn")
        page.get_by_role("button", name="Next page").click()
        assert "51–100 of 100" in page.inner_text(".pager")
        here.run("SELECT * { ?x <connection> ?y . ?y <connection> ?z . ?z <connection> ?u }")
        page.wait_for_selector("text=Cut off by a limit")
        assert "LIMIT" in page.inner_text(".note.bad")
        here.close()


def test_rows_are_downloaded_and_copied(people: Running, visit: Visits) -> None:
    here = visit(people, permissions=["clipboard-read", "clipboard-write"])
    page = here.go("query", q=STUDENTS)
    assert len(rows(page)) == 2
    found = {}
    for name in ("CSV", "JSON"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name).click()
        found[name] = Path(waiting.value.path()).read_text()
    iri = "http://example.org/university#"
    header, *lines = csv.reader(found["CSV"].splitlines())
    assert header == ["student", "course"] and sorted(lines)[0] == [f"{iri}kim", f"{iri}datalog101"]
    assert sorted(json.loads(found["JSON"])["rows"], key=str) == [
        [{"iri": f"{iri}{who}"}, {"iri": f"{iri}datalog101"}] for who in ("kim", "lee")
    ]
    page.get_by_role("button", name="Copy").click()
    page.wait_for_selector(".toast")
    assert f"{iri}kim\t{iri}datalog101" in page.evaluate("navigator.clipboard.readText()")


def test_the_editor_completes_and_marks_errors(people: Running, visit: Visits) -> None:
    here = visit(people)
    page = here.go("query")
    page.locator(".cm-content").click()
    page.keyboard.type("SELECT ?x { ?x :tau")
    page.wait_for_selector(".cm-tooltip-autocomplete li >> text=:taughtBy")
    page.wait_for_timeout(150)  # for which the editor takes no answer
    page.keyboard.press("Enter")
    assert ":taughtBy" in page.inner_text(".cm-content")
    page.keyboard.type(" }")
    page.wait_for_selector(".cm-lintRange-error")
    page.hover(".cm-lintRange-error")
    page.wait_for_selector(".cm-diagnostic >> text=expected")
    here.run("SELECT ?x { ?x :taughtBy }")
    page.wait_for_selector(".note.bad >> text=line 1, column 26")
    for text, kind in (
        ("p(?x) :- q(?x).", "Rules"),
        ("INSERT DATA { :a :b :c }", "SPARQL Update"),
        ("min(?x)", "Goal"),
    ):
        here.write(text)
        assert page.inner_text(".chip") == kind
    colours = page.eval_on_selector_all(
        ".cm-line span", "all => new Set(all.map(one => getComputedStyle(one).color)).size"
    )
    assert colours >= 2


def test_history_and_links(people: Running, visit: Visits) -> None:
    here = visit(people, permissions=["clipboard-read", "clipboard-write"])
    page = here.go("query")
    here.run(STUDENTS)
    assert len(rows(page)) == 2
    page.get_by_role("button", name="Share").click()
    page.wait_for_selector(".toast")
    link = page.evaluate("navigator.clipboard.readText()")
    here.run(":Busy(?x)")
    page.wait_for_selector("th >> text=x")
    page.get_by_role("button", name="History").click()
    page.locator(".past", has_text="SELECT").click()
    page.wait_for_selector("th >> text=student")
    other = here.context.new_page()
    other.goto(link)
    other.wait_for_selector("th >> text=student")
    assert len(rows(other)) == 2


# Graphs and proofs


def test_answers_are_a_graph_that_one_walks(people: Running, visit: Visits) -> None:
    page = visit(people).go("query", q=STUDENTS)
    page.get_by_role("tab", name="Graph").click()
    page.wait_for_selector(".node")
    assert set(texts(page, ".node text:first-of-type")) == {":kim", ":lee", ":datalog101", ":ada"}
    assert set(texts(page, ".edge-name")) == {":takes", ":taughtBy"}
    page.get_by_role("button", name=":kim: show neighbours").click()
    page.wait_for_selector(".node text >> text=:joins202")
    assert "11 facts" in page.inner_text(".walk-side")
    page.locator(".edge-group", has_text=":knowsWell").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel >> text=:knowsWell(:kim, :ada) holds")


def test_why_a_row_is_there(people: Running, visit: Visits) -> None:
    page = visit(people).go("query", q=STUDENTS)
    page.locator("tbody tr", has_text=":kim").get_by_role("button", name="Why row").click()
    page.wait_for_selector(".fold")
    assert texts(page, ".fold > summary") == [":takes(:kim, :datalog101)", ":taughtBy(:datalog101, :ada)"]
    page.locator(".fold > summary").nth(1).click()
    page.wait_for_selector(".panel .dlx-explicit >> text=:teaches(:ada, :datalog101)")
    page.keyboard.press("Escape")
    assert page.locator(".panel").count() == 0
    page.locator("td[role=gridcell]").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("w")
    page.wait_for_selector(".panel .fold")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel .node")


def test_a_proof_folds_with_the_keyboard(people: Running, visit: Visits) -> None:
    page = visit(people).go("why", fact=":Busy[:kim]")
    page.wait_for_selector("text=holds: derived, height 2")
    assert "group :kim: 2 members" in page.inner_text(".dlx")
    page.locator(".dlx summary").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    assert page.locator(".dlx >> text=group :kim").is_hidden()
    page.get_by_role("button", name="Unfold all").click()
    assert page.locator(".dlx >> text=group :kim").is_visible()


def test_why_not(trains: Running, visit: Visits) -> None:
    here = visit(trains)
    page = here.go("why")
    here.run('connection(oslo, "Prague")')
    page.wait_for_selector("text=does not hold")
    shown = page.inner_text(".dlx")
    assert "connection(oslo, prague) holds" in shown and "✗ train(gothenburg" in shown and "✓ connection(oslo" in shown
    here.run("no_such(a)")
    page.wait_for_selector("text=no_such(a)")
    assert "does not hold" in page.inner_text(".dlx-answer")


def test_rules_with_their_graph_plan_facts_and_time(trains: Running, visit: Visits) -> None:
    page = visit(trains).go("rules")
    page.wait_for_selector(".rule-node")
    assert page.locator(".rule-node.derived").count() == 9 and page.locator(".rule-node.explicit").count() == 2
    assert page.locator("path.edge.negative").count() and page.locator("path.edge.aggregate").count()
    assert page.locator("article.rule").count() == 9
    page.get_by_role("button", name="connection, stratum 1, recursive, 32 facts").focus()
    page.keyboard.press("Enter")
    assert "r2" in page.inner_text(".details") and "connection(?X, ?Y), train" in page.inner_text("pre.plan")
    assert texts(page, ".details dd")[0] == "32" and texts(page, ".details dd")[3].endswith("s")
    page.get_by_role("button", name="All rules").click()
    page.get_by_role("searchbox", name="Filter rules").fill("round_trip")
    assert page.locator("article.rule").count() == 1


def test_structures_that_are_kept(people: Running, visit: Visits) -> None:
    page = visit(people).go("rules")
    page.wait_for_selector(".rule-node .kept")
    page.locator(".rule-node", has_text="partOf").first.click()
    assert "closure" in page.inner_text(".details .tag.kept")


# Changes


def test_a_change_is_previewed_made_and_listed(chromium: Any, visit: Visits) -> None:
    with running(railway()) as server:
        here = visit(server)
        page = here.go("change")
        here.write("train(prague, vienna, 240).", 0)
        here.write("train(oslo, gothenburg, 230).", 1)
        here.write("far(?x, ?y) :- fewest(?x, ?y, ?n), ?n > 3 .", 2)
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".preview")
        preview = page.inner_text(".preview")
        assert "connection(prague, vienna)" in preview and "far(?x, ?y) :-" in preview
        assert server.server.versions.present.number == 1
        page.get_by_role("button", name="Apply this").click()
        page.wait_for_selector("text=Version 2 is made")
        assert "connection(prague, vienna)" in page.inner_text(".applied")
        page.wait_for_selector(".feed >> text=version 2")
        assert page.inner_text(".version").split() == ["version", "2", ",", "live"]
        page.get_by_role("link", name="Versions", exact=True).click()
        page.get_by_role("button", name="Show").first.click()
        page.wait_for_selector(".detail >> text=connection(oslo, prague)")
        here.close()


def test_the_page_follows_what_others_change(chromium: Any, visit: Visits) -> None:
    with running(railway()) as server:
        here = visit(server)
        page = here.go("query", q="connection(rome, ?x)")
        assert rows(page) == [["naples"]]
        page.wait_for_selector(".version.live")
        update(server, {"add": {"train": [["naples", "bari", 100]]}})
        page.wait_for_selector(".stale >> text=it is at 2")
        page.get_by_label("follow").check()
        page.get_by_role("button", name="Run again").click()
        page.wait_for_selector(".summary >> text=2 answers")
        update(server, {"add": {"train": [["bari", "lecce", 80]]}, "remove": {"train": [["rome", "naples", 70]]}})
        page.wait_for_selector("tr.removed")
        assert texts(page, "tr.removed td[role=gridcell]") == ["naples", "bari"]
        page.get_by_role("link", name="Change", exact=True).click()
        page.wait_for_selector(".feed details")
        assert texts(page, ".feed > li > details > summary")[0].startswith("version 3")
        here.close()


def update(server: Running, document: Any) -> None:
    answer = httpx2.post(f"{server.address}/update", json=document)
    assert answer.status_code == 200, answer.text


def test_rules_are_removed_and_added(chromium: Any, visit: Visits) -> None:
    with running(railway()) as server:
        here = visit(server)
        page = here.go("rules")
        page.locator("article.rule", has_text="round_trip").get_by_role("button", name="Remove").click()
        page.wait_for_selector(".preview")
        assert "round_trip(berlin)" in page.inner_text(".preview") and "r3" in texts(page, ".chip")[0]
        update(server, {"add": {"city": [["bari"]]}})  # in the meantime
        page.get_by_role("button", name="Apply this").click()
        page.wait_for_selector("text=Changed in the meantime")
        page.get_by_role("button", name="Try again").click()
        page.get_by_role("button", name="Apply this").click()
        page.wait_for_selector(".applied")
        page.get_by_role("link", name="Query", exact=True).click()
        here.run("back(?x) :- connection(?x, ?x).")
        page.wait_for_selector("text=What it would change")
        page.get_by_role("button", name="Apply").click()
        page.wait_for_selector(".note.good")
        assert "back" in {rule.heads[0].name for rule in server.server.versions.present.kb.rules}
        here.close()


def test_a_sparql_update_is_previewed_before_it_is_made(chromium: Any, visit: Visits) -> None:
    with running(university()) as server:
        here = visit(server)
        page = here.go("query")
        here.run("INSERT DATA { :noa :takes :joins202 } ;\nDELETE WHERE { :max :takes ?c }")
        page.wait_for_selector("text=What it would change")
        shown = page.inner_text(".results")
        assert ":taughtBy" not in shown and ":Idle(:max)" in shown and ":Idle(:noa)" in shown
        assert server.server.versions.present.number == 1
        page.get_by_role("button", name="Apply").click()
        page.wait_for_selector(".note.good >> text=version 2")
        assert server.server.versions.present.number == 2
        here.close()


def test_a_premise_is_taken_away_from_its_proof(trains: Running, visit: Visits) -> None:
    page = visit(trains).go("why", fact="connection(rome, naples)")
    page.get_by_role("button", name="what if not?").click()
    page.wait_for_selector(".preview >> text=connection(rome, naples)")


def test_facts_that_cannot_be_read_are_marked(trains: Running, visit: Visits) -> None:
    here = visit(trains)
    page = here.go("change")
    here.write("train(oslo, X, 1).", 0)
    page.wait_for_selector(".cm-lintRange-error")
    page.get_by_role("button", name="Preview").click()
    page.wait_for_selector(".note.bad >> text=no variables")


# Rights


def test_a_token_is_asked_for_and_kept_in_the_tab(chromium: Any, visit: Visits) -> None:
    with running(railway(), token=TOKEN, token_for_reading=True) as server:
        here = visit(server)
        page = here.page
        page.goto(server.address)
        page.wait_for_selector("dialog")
        page.get_by_label("Token", exact=True).fill("wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog >> text=does not accept")
        page.get_by_label("Token", exact=True).fill(TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector(".version.live")
        here.run("city(?x)")
        assert len(rows(page)) == 9
        kept = page.evaluate("[sessionStorage, localStorage].map(one => JSON.stringify(one))")
        assert TOKEN in kept[0] and TOKEN not in kept[1] and TOKEN not in page.url and not here.context.cookies()
        here.close()


def test_nothing_is_changed_on_a_server_for_reading(chromium: Any, visit: Visits) -> None:
    with running(railway(), readonly=True) as server:
        here = visit(server)
        page = here.go("change")
        page.wait_for_selector("text=read-only")
        here.write("city(bari).", 0)
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".preview >> text=city(bari)")
        assert page.get_by_role("button", name="Apply this").is_disabled()
        assert "read-only" in page.get_by_role("button", name="Apply this").get_attribute("title")
        here.close()


def test_a_server_that_is_gone_is_said_and_found_again(chromium: Any, visit: Visits) -> None:
    with running(railway()) as server:
        here = visit(server)
        page = here.go("query", q="city(?x)")
        page.wait_for_selector(".version.live")
    here.run("city(?y)")
    page.wait_for_selector(".note.bad >> text=does not answer")
    page.wait_for_selector(".version:not(.live)")


# Everyone


@pytest.mark.parametrize("view", ["query", "rules", "why", "change", "versions"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
def test_every_view_fits_and_has_names(trains: Running, visit: Visits, view: str, scheme: str, width: int) -> None:
    here = visit(trains, color_scheme=scheme, viewport={"width": width, "height": 844})
    parameters = {"query": {"q": "trains(?x, ?y, ?n)"}, "why": {"fact": "connection(oslo, prague)"}}.get(view, {})
    page = here.go(view, **parameters)
    page.wait_for_timeout(250)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    lightness = page.evaluate("getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(lightness) > 600) == (scheme == "light")
    unnamed = "all => all.filter(one => !(one.textContent || one.getAttribute('aria-label') || '').trim()).length"
    assert page.eval_on_selector_all("button, a, [role=button]", unnamed) == 0
    assert page.locator("nav a[aria-current=page]").count() == 1


def test_the_keyboard_reaches_everything(trains: Running, visit: Visits) -> None:
    page = visit(trains).go("query", q="city(?x)")
    rows(page)
    page.keyboard.press("Alt+2")
    page.wait_for_selector(".rule-node")
    page.keyboard.press("Alt+1")
    rows_seen, focused = set[str](), "document.activeElement.className + '|' + document.activeElement.innerText"
    page.locator(".brand").focus()
    for _ in range(60):
        page.keyboard.press("Tab")
        rows_seen.add(page.evaluate(focused))
    assert any("predicate-row" in one for one in rows_seen) and any("round" in one for one in rows_seen)
    page.locator(".brand").focus()
    page.keyboard.press("?")
    page.wait_for_selector(".panel >> text=Ctrl+Enter")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.className") == "brand"
    page.keyboard.press("Tab")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
