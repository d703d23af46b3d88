"""Subscriptions: what each change did to the answers, against answers that are computed anew."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import Event, client, events, knowledge_base, post, running

from deltalog import IRI, KnowledgeBase
from deltalog.apps.server.errors import HTTPError
from deltalog.apps.server.settings import ServerSettings
from deltalog.apps.server.subscriptions import GoalDeltas, Watched
from deltalog.apps.server.versions import Versions

GOALS = (
    "path(a, ?x)",
    "path(?x, ?x)",
    "edge(?x, ?y)",
    "path(a, b)",
    "edge(a, _)",
    "path(?x, ?y), NOT path(?y, ?x)",
    "path(?x, ?y), edge(?y, ?z), ?x != ?z",
    "degree(?x, ?n), ?n > 1",
    "end(?x)",
    "[?x, ?p, ?y]",
)
KNOWS = "http://e.org/knows"
Rows = set[tuple[Any, ...]]


def random_change(rng: random.Random) -> dict[str, Any]:
    """Facts and rules that come and go."""

    def edge() -> tuple[str, str]:
        return rng.choice("abcde"), rng.choice("abcde")

    def person() -> tuple[IRI, ...]:
        return tuple(IRI(f"http://e.org/{name}") for name in edge())

    asked: dict[str, Any] = {"add": {"edge": [edge() for _ in range(rng.randrange(3))], KNOWS: [person()]}}
    asked["remove"] = {"edge": [edge() for _ in range(rng.randrange(4))], KNOWS: [person(), person()]}
    if rng.random() < 0.2:
        asked[rng.choice(("add_rules", "remove_rules"))] = "path(X, Y) :- path(Y, X)."
    return asked


def in_json(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts as requests have them."""
    return {
        name: [[{"iri": value} if isinstance(value, IRI) else value for value in row] for row in rows]
        for name, rows in facts.items()
    }


def make(kb: KnowledgeBase, asked: dict[str, Any]) -> Any:
    if "remove_rules" in asked and asked["remove_rules"] not in [f"{rule}"[:-2] + "." for rule in kb.rules]:
        asked = {name: value for name, value in asked.items() if name != "remove_rules"}
    return kb.change(**asked)


def answers(kb: KnowledgeBase, watched: Watched) -> Rows:
    return set(kb.facts(watched.text)) if watched.predicate is not None else set(kb.query(watched.text))


@pytest.mark.parametrize("seed", range(4))
def test_differences_are_exact(seed: int) -> None:
    rng = random.Random(seed)
    versions = Versions(knowledge_base(), ServerSettings())
    deltas, kb = GoalDeltas(versions), versions.kb
    watched = [*(Watched.of_goal(goal, kb) for goal in GOALS), Watched.of_predicate("path", kb)]
    known = {each.text: answers(kb, each) for each in watched}
    for _ in range(25):
        before = versions.present.number
        asked = random_change(rng)
        versions.change(lambda kb, asked=asked: make(kb, asked))
        steps = versions.since(before)
        assert steps is not None and len(steps) <= 1
        for each in watched:
            now = answers(kb, each)
            added, removed = (set(), set()) if not steps else map(set, deltas.of(steps[0], each))
            assert added == now - known[each.text] and removed == known[each.text] - now, each.text
            known[each.text] = now


def test_programs_in_stages_have_differences() -> None:
    versions = Versions(
        KnowledgeBase("""
            .decl edge(x : symbol, y : symbol, w : number)
            .decl dist(x : symbol, d : number)
            dist("a", 0).
            dist(y, d + w) :- dist(x, d), edge(x, y, w), d < 20.
            dist(x, a) <= dist(x, b) :- b < a.
        """),
        ServerSettings(),
    )
    deltas, kb = GoalDeltas(versions), versions.kb
    watched = [Watched.of_goal("dist(?x, ?d), ?d > 1", kb), Watched.of_predicate("dist", kb)]
    versions.change(lambda kb: kb.update(add={"edge": [("a", "b", 3)]}))
    versions.change(lambda kb: kb.update(add={"edge": [("a", "b", 2)]}))
    steps = versions.since(1) or []
    for each in watched:
        assert [tuple(map(list, deltas.of(step, each))) for step in steps] == [
            ([("b", 3)], []),
            ([("b", 2)], [("b", 3)]),
        ]


def test_what_is_no_longer_known_is_not_told() -> None:
    versions = Versions(knowledge_base(), ServerSettings(recent_versions=2, recent_changes=4))
    deltas, kb = GoalDeltas(versions), versions.kb
    one, two = (Watched.of_goal(goal, kb) for goal in ("path(a, ?x)", "path(a, ?x), NOT end(?x)"))
    for i in range(6):
        versions.change(lambda kb, i=i: kb.update(add={"edge": [("a", i)]}))
    assert versions.since(2) is None and versions.since(99) is None and versions.since(7) == []
    steps = versions.since(3)
    assert steps is not None and [step.number for step in steps] == [4, 5, 6, 7]
    assert [deltas.of(step, one).added for step in steps] == [[(2,)], [(3,)], [(4,)], [(5,)]]
    with pytest.raises(HTTPError):
        deltas.of(steps[0], two)
    assert [sorted(deltas.of(step, two).added) for step in steps[2:]] == [[], []]


def test_changes_with_many_facts_are_not_kept() -> None:
    versions = Versions(knowledge_base(), ServerSettings(recent_facts=100))
    versions.change(lambda kb: kb.update(add={"edge": [("a", "x")]}))
    versions.change(lambda kb: kb.update(add={"big": [(i,) for i in range(200)]}))
    assert versions.since(1) is None and len(versions.since(2) or []) == 1


# Over HTTP.


@contextmanager
def stream(address: str, **parameters: Any) -> Iterator[Iterator[Event]]:
    headers = parameters.pop("headers", {})
    with httpx2.stream("GET", f"{address}/changes", params=parameters, headers=headers, timeout=300) as response:
        assert response.status_code == 200 and response.headers["content-type"].startswith("text/event-stream")
        yield events(response)


def applied(rows: Sequence[Any], found: Event) -> list[Any]:
    """Rows after an event, which fits them exactly."""
    assert all(row in rows for row in found.data["removed"]) and not any(row in rows for row in found.data["added"])
    return [row for row in rows if row not in found.data["removed"]] + found.data["added"]


def test_a_stream_from_an_answer_on() -> None:
    rng = random.Random(7)
    with running() as server, httpx2.Client(base_url=server.address, timeout=300) as made:
        start = made.get("/query", params={"goal": "path(a, ?x), NOT end(?x)"}).json()
        rows = start["rows"]
        changes = [random_change(rng) for _ in range(12)]
        with stream(server.address, goal="path(a, ?x), NOT end(?x)", since=start["version"]) as found:
            for asked in changes:
                post(made, "/update", {"add": in_json(asked["add"]), "remove": in_json(asked["remove"])})
            final = post(made, "/update", {"remove": {"edge": [[x, y] for x in "abcde" for y in "abcde"]}})
            final = post(made, "/update", {"add": {"edge": [["a", "z"], ["z", "b"]]}})
            for event in found:
                rows = applied(rows, event)
                if event.id == final["version"]:
                    break
        assert sorted(rows) == [["z"]]


def test_reconnecting_clients() -> None:
    with running(recent_changes=3) as server, httpx2.Client(base_url=server.address, timeout=300) as made:
        with stream(server.address, predicate="edge") as found:
            assert next(found) == Event("start", 1, {"version": 1, "columns": ["_0", "_1"]})
        for i in range(5):
            post(made, "/update", {"add": {"edge": [[i, i]]}})
        seen = server.server.versions.mark(4)
        with stream(server.address, predicate="edge", headers={"last-event-id": seen}) as found:
            assert [next(found).data["added"] for _ in range(2)] == [[[3, 3]], [[4, 4]]]
        for other in ("4", "4.00000000"):  # of a store, or of another start of the server
            with stream(server.address, predicate="edge", headers={"last-event-id": other}) as found:
                assert next(found).name == "reset"
            assert made.get("/facts/edge", params={"cursor": f"{other}-1"}).status_code == 410
        with stream(server.address, predicate="edge", since=1) as found:
            reset = next(found)
            assert reset.name == "reset" and reset.id == 6 and "no longer kept" in reset.data["reason"]
            post(made, "/update", {"remove": {"edge": [[0, 0]]}})
            assert next(found) == Event("change", 7, {"version": 7, "added": [], "removed": [[0, 0]]})


def test_streams_end_when_the_server_stops() -> None:
    with running() as server, stream(server.address, goal="end(?x)") as found:
        assert next(found).name == "start"
        server.process.should_exit = True
        assert list(found) == []


def test_a_sign_of_life() -> None:
    with running(subscription_seconds=0.05) as server, ExitStack() as stack:
        address = f"{server.address}/changes?goal=end(?x)"
        lines = stack.enter_context(httpx2.stream("GET", address, timeout=300)).iter_lines()
        assert next(line for line in lines if line.startswith(":")) == ": still here"


def test_a_limited_number_of_streams() -> None:
    with running(subscriptions=1) as server, stream(server.address, goal="end(?x)") as found:
        next(found)
        refused = httpx2.get(f"{server.address}/changes", params={"goal": "end(?x)"})
        assert refused.status_code == 503 and refused.json()["error"]["limit"] == "subscriptions"


def test_wrong_subscriptions() -> None:
    with client() as made:
        wrong = [
            "goal=path(a",
            "goal=pth(a,?x)",
            "predicate=pth",
            "goal=end(?x)&since=x",
            "goal=end(?x)&predicate=end",
        ]
        for asked in wrong:
            assert made.get(f"/changes?{asked}").status_code == 400
        assert made.get("/changes?goal=end(?x)", headers={"last-event-id": "soon"}).status_code == 400
        assert made.head("/changes?goal=end(?x)").status_code == 200


def test_a_store_that_another_process_changes(tmp_path: Path) -> None:
    writer = knowledge_base()
    writer.save(tmp_path / "store")
    reader = KnowledgeBase.open(tmp_path / "store", readonly=True)
    with running(reader, readonly=True, follow_seconds=0.05) as server:
        with stream(server.address, goal="path(a, ?x)") as found:
            assert next(found).id == 1
            writer.update(add={"edge": [("d", "e")]})
            assert next(found) == Event("change", 2, {"version": 2, "added": [["e"]], "removed": []})
            writer.compact()
            writer.change(remove={"edge": [("a", "b")]}, add_rules="x(X) :- end(X).")
            assert next(found).data == {"version": 3, "added": [], "removed": [["b"], ["c"], ["d"], ["e"]]}
        made = httpx2.get(f"{server.address}/versions").json()
        assert [row["version"] for row in made["versions"]] == [1, 2, 3]
    writer.close()


def test_literals_as_subjects_and_prefixed_text() -> None:
    """A literal subject is refused and nothing is stored; text that looks like a prefixed name is noted."""
    kb = KnowledgeBase("PREFIX : <http://e.org/>\n:q[?x, ?y] :- :worksFor[?x, ?y].")
    with client(kb) as made:
        refused = made.post("/update", json={"add": {":worksFor": [[":zoe", ":acme"]]}})
        message = refused.json()["error"]["message"]
        assert refused.status_code == 400 and '{"iri": "http://e.org/zoe"} in JSON' in message
        assert kb.explicit_facts == 0
        row = [{"iri": "http://e.org/zoe"}, ":acme"]
        for path in ("/update?dry_run=true", "/update"):
            answer = made.post(path, json={"add": {":worksFor": [row]}})
            (note,) = answer.json()["notes"]
            assert answer.status_code == 200 and '{"iri": "http://e.org/acme"} in JSON' in note
