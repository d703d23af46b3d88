"""Every route, as docs/server.md describes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import EDGES, client, knowledge_base, post
from starlette.testclient import TestClient

from deltalog import IRI, BlankNode, KnowledgeBase, Literal
from deltalog.apps.server.app import ENDPOINTS

PAGE = ("/", "/static/{name}")  # for people
DOCS = Path(__file__).parents[2] / "docs" / "server.md"


@pytest.fixture(scope="module")
def reader() -> Iterator[TestClient]:
    """A server that no test changes."""
    with client(readonly=True) as made:
        yield made


def get(client: TestClient, path: str, **parameters: Any) -> Any:
    answer = client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    assert answer.headers["deltalog-version"] == str(answer.json()["version"])
    return answer.json()


def test_health(reader: TestClient) -> None:
    found = reader.get("/health").json()
    assert found["status"] == "ok" and found["version"] == 1 and found["facts"] == 13 and found["readonly"]


@pytest.mark.parametrize("method", ["auto", "materialised", "magic", "qsqr"])
def test_a_goal(reader: TestClient, method: str) -> None:
    found = post(reader, "/query", {"goal": "path(a, ?x)", "method": method})
    assert found["columns"] == ["x"] and sorted(found["rows"]) == [["b"], ["c"], ["d"]]
    assert found["total"] == 3 and found["complete"] and "cut_off" not in found
    assert found["method"] == ("materialised" if method == "auto" else method)


def test_a_goal_that_is_cut_off(reader: TestClient) -> None:
    whole = get(reader, "/query", goal="path(?x, ?y)")["rows"]
    found = get(reader, "/query", goal="path(?x, ?y)", limit=2, offset=1)
    assert found["rows"] == whole[1:3] and found["total"] == 6 and not found["complete"]
    assert found["cut_off"] == "3 more rows are left out (limit=2); `offset` asks for them"


def test_a_goal_without_variables(reader: TestClient) -> None:
    assert get(reader, "/query", goal="path(a, d)")["rows"] == [[]]
    assert get(reader, "/query", goal="path(d, a)")["rows"] == []


def test_pages_fit_together_while_facts_change() -> None:
    kb = KnowledgeBase("p(X) :- q(X).")
    kb.add("q", [(i,) for i in range(50)])
    with client(kb, recent_versions=3) as made:
        page, rows = get(made, "/facts/p", limit=20), []
        while page["next"]:
            rows += page["rows"]
            post(made, "/update", {"remove": {"q": [[len(rows)]]}, "add": {"q": [[len(rows) + 1000]]}})
            page = get(made, "/facts/p", limit=20, cursor=page["next"])
            assert page["version"] == 1
        rows += page["rows"]
        assert sorted(rows) == [[i] for i in range(50)] and page["total"] == 50
        for i in range(4):
            post(made, "/update", {"add": {"q": [[2000 + i]]}})
        gone = made.get("/facts/p", params={"cursor": "1-20"})
        assert gone.status_code == 410 and gone.json()["error"]["code"] == "gone"


def test_derived_facts_and_offsets(reader: TestClient) -> None:
    found = get(reader, "/facts/path", derived=True, offset=4)
    assert found["total"] == 6 and len(found["rows"]) == 2 and found["next"] is None
    assert get(reader, "/facts/edge", derived="true")["total"] == 0


def test_names_of_predicates() -> None:
    kb = KnowledgeBase("PREFIX : <http://e.org/>\n[?x, :q, ?y] :- [?x, :p, ?y].  p(X) :- p(X, _).")
    kb.add("http://e.org/p", [(IRI("http://e.org/a"), 1)])
    kb.add("p/2", [("a", "b")])
    with client(kb) as made:
        listed = {each["name"]: each for each in get(made, "/predicates")["predicates"]}
        assert listed["http://e.org/q"]["label"] == ":q" and listed["http://e.org/q"]["derived"] == 1
        assert {"p/1", "p/2"} <= listed.keys()
        for name, each in listed.items():
            assert get(made, f"/facts/{name.replace('/', '%2F')}")["total"] == each["facts"]
        wrong = made.get("/facts/p")
        assert wrong.status_code == 400 and "several arities" in wrong.json()["error"]["message"]


VALUES = [
    "text", "", "ü𝄞", 1, -(2**53) - 1, 2**80, 1.5, 1.0, -0.0, 1e300, True, False, IRI("http://e.org/x"),
    BlankNode("b1"), Literal("Haus", language="de"), Literal("2026-01-01T00:00:00Z", "http://e.org/t"),
    float("inf"),
]  # fmt: skip


def test_values_come_back_as_they_were_sent() -> None:
    kb = KnowledgeBase("q(X, I) :- p(X, I).")
    kb.add("p", [(value, i) for i, value in enumerate(VALUES)])
    with client(kb) as made:
        rows = get(made, "/facts/q")["rows"]
        assert len(rows) == len(VALUES)
        as_javascript = json.loads(
            json.dumps(rows), parse_float=lambda t: int(float(t)) if float(t) % 1 == 0 else float(t)
        )
        gone = post(made, "/update", {"remove": {"p": as_javascript}})
        assert gone["removed"]["p"]["count"] == len(VALUES)
        assert post(made, "/update", {"add": {"p": rows}})["added"]["q"]["count"] == len(VALUES)
        assert sorted(map(json.dumps, get(made, "/facts/q")["rows"])) == sorted(map(json.dumps, rows))


def test_rules_and_their_graph(tmp_path: Path) -> None:
    path = tmp_path / "rules.dl"
    path.write_text(
        "a(X) :- b(X).\nb(X) :- c(X), NOT d(X).\nn(N) :- AGGREGATE(b(X) BIND COUNT(X) AS N).\nb(X) :- a(X), e(X).\n"
        "t(X, Z) :- t(X, Y), t(Y, Z).\nt(X, Y) :- s(X, Y).\nd(X) :- f(X).\n"
    )
    kb = KnowledgeBase(path)
    kb.add("c", [("x",), ("y",)])
    kb.add("s", [(i, i + 1) for i in range(20)])
    with client(kb) as made:
        rules = {each["id"]: each for each in get(made, "/rules")["rules"]}
        graph = get(made, "/rules/graph")
    assert rules["r2"]["file"] == str(path) and (rules["r2"]["line"], rules["r2"]["column"]) == (2, 1)
    assert rules["r1"]["hyper_node"] == rules["r4"]["hyper_node"] and rules["r1"]["recursive"]
    assert rules["r5"]["scheme"] and rules["r5"]["hyper_node"] == rules["r6"]["hyper_node"]
    assert sorted(name for node in graph["nodes"] for name in node["rules"]) == sorted(rules)
    by_rule = {name: node for node in graph["nodes"] for name in node["rules"]}
    kinds = {(edge["from"], edge["to"]): edge["kind"] for edge in graph["edges"]}
    assert kinds[by_rule["r7"]["id"], by_rule["r2"]["id"]] == "negative"
    assert kinds[by_rule["r1"]["id"], by_rule["r3"]["id"]] == "aggregate"
    assert by_rule["r5"]["facts"] == 210 and by_rule["r5"]["predicates"] == ["t"]
    assert by_rule["r2"]["new"] == 2 and by_rule["r2"]["seconds"] > 0


def test_the_work_of_rules_is_not_told_of_other_rules() -> None:
    with client() as made:
        assert all(node["rounds"] for node in get(made, "/rules/graph")["nodes"])
        post(made, "/update", {"remove_rules": "r4", "add_rules": "begin(X) :- edge(X, _), NOT edge(_, X)."})
        assert not any(node["rounds"] for node in get(made, "/rules/graph")["nodes"])


def test_a_change_and_its_dry_run() -> None:
    asked = {"add": {"edge": [["d", "e"]]}, "remove": {"edge": [["a", "b"]]}, "add_rules": "two(X) :- degree(X, 2)."}
    with client() as made:
        described = post(made, "/update?dry_run=true", asked)
        assert get(made, "/facts/edge")["total"] == 3 and described["version"] == 1 and described["dry_run"]
        done = post(made, "/update", asked)
        for name in ("added", "removed", "added_rules", "removed_rules"):
            assert done[name] == described[name]
        assert (
            done["version"] == 2 and done["added"]["path"]["count"] == 3 and done["removed"]["end"]["rows"] == [["d"]]
        )
        assert get(made, "/versions/2")["added"] == done["added"]
        row = get(made, "/versions")["versions"][-1]
        assert [row[name] for name in ("added_facts", "removed_facts", "added_rules", "recent")] == [1, 1, 1, True]


def test_a_change_of_nothing_is_no_version() -> None:
    with client() as made:
        assert post(made, "/update", {"add": {"edge": [["a", "b"]]}})["version"] == 1
        assert post(made, "/update", {"add": {"path": [["a", "b"]]}})["version"] == 2  # explicit now
        assert [row["added_facts"] for row in get(made, "/versions")["versions"]] == [3, 1]


def test_a_change_for_another_version() -> None:
    with client() as made:
        post(made, "/update", {"add": {"edge": [["x", "y"]]}, "expect": 1})
        late = made.post("/update", json={"add": {"edge": [["y", "z"]]}, "expect": 1})
        assert late.status_code == 409 and late.json()["error"]["present"] == 2
        assert made.post("/update?dry_run=1", json={"expect": 1}).status_code == 409


def test_a_wrong_change_changes_nothing() -> None:
    with client() as made:
        for asked in (
            {"add": {"edge": [["x", "y"], ["x"]]}},
            {"add": {"edge": [["x", "y"]]}, "add_rules": "p(X) :- q(Y)."},
            {"add": {"edge": [["x", "y"]]}, "remove_rules": "r77"},
            {"add": {"edge": [["x", {"irl": "x"}]]}},
            {"add": {"edge": "xy"}},
            {"ad": {}},
        ):
            assert made.post("/update", json=asked).status_code == 400
        assert (
            get(made, "/facts/edge")["rows"] == [list(edge) for edge in EDGES]
            and get(made, "/versions")["version"] == 1
        )


def test_rules_come_and_go() -> None:
    with client() as made:
        assert post(made, "/rules?dry_run=true", {"text": "x(X) :- end(X)."})["added_rules"] == {
            "r6": "x(?X) :- end(?X) ."
        }
        assert "r6" in post(made, "/rules", {"text": "x(X) :- end(X)."})["added_rules"]
        gone = made.delete("/rules/r6")
        assert gone.status_code == 200 and gone.json()["removed"] == {
            "x": {"count": 1, "rows": [["d"]], "complete": True}
        }
        assert made.delete("/rules/r6").status_code == 404


def test_explanations(reader: TestClient) -> None:
    kb = knowledge_base()
    assert get(reader, "/explain", fact="path(a, c)") | {"version": 0} == kb.explain("path(a, c)").to_dict() | {
        "version": 0
    }
    assert get(reader, "/explain", fact="path(c, a)")["near"]
    by_values = post(reader, "/explain", {"predicate": "path", "values": ["a", "c"], "depth": 1})
    assert by_values["holds"] and by_values["premises"][0]["hidden"]
    for wrong in ({}, {"fact": "path(a, c)", "predicate": "path"}, {"fact": "path(a, ?x)"}, {"predicate": "path"}):
        assert reader.post("/explain", json=wrong).status_code == 400


def test_plans(reader: TestClient) -> None:
    found = get(reader, "/plan")
    assert found["text"].rstrip() == knowledge_base().plan().rstrip()
    assert [node["text"].startswith(f"hyper-node {node['id']} of") for node in found["nodes"]] == [True] * len(
        found["nodes"]
    )
    assert get(reader, "/plan", goal="path(a, ?x)")["method"] == "materialised"


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        ("p(X) :- q(Y).", "rules", (1, 3, 1, 4)),
        ("path(a, ?x)", "goal", None),
        ("pth(a, ?x)", "goal", (None,) * 4),
        ("path(a ?x)", "goal", (1, 8, 1, 10)),
        ("SELECT * { ?x <edge> ?y }", "sparql", None),
        ("SELECT *\n{ ?x }", "sparql", (2, 6, 2, 7)),
        ("p(X) :- end(X), NOT p(X).", "rules", (1, 17, 1, 25)),
        ("edge(X, Y) :- end(X), edge(X, Y).", "rules", (None,) * 4),  # only with the rules that are there
    ],
)
def test_errors_in_place(reader: TestClient, text: str, kind: str, place: tuple[Any, ...] | None) -> None:
    found = post(reader, "/check", {"text": text})
    assert found["kind"] == kind
    names = ("line", "column", "end_line", "end_column")
    places = [tuple(each[name] for name in names) for each in found["diagnostics"] if each["severity"] == "error"]
    assert places[:1] == ([] if place is None else [place]), found


def test_warnings_of_souffle_programs(reader: TestClient) -> None:
    text = ".decl e(x : number, y : number)\n.decl p(x : number)\np(x) :- e(x, y)."
    (found,) = post(reader, "/check", {"text": text, "kind": "rules"})["diagnostics"]
    assert (found["severity"], found["line"], found["column"]) == ("warning", 3, 14)
    assert found["message"].startswith("y occurs only once")


def test_completion(reader: TestClient) -> None:
    found = get(reader, "/complete", prefix="E")
    assert [each["name"] for each in found["predicates"]][:2] == ["edge", "end"]
    assert "concat" in found["functions"] and found["prefixes"][""] == "http://e.org/"


def test_metrics(reader: TestClient) -> None:
    text = reader.get("/metrics").text
    line = r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+'
    assert all(re.fullmatch(line, each) for each in text.splitlines() if not each.startswith("# "))
    assert "deltalog_facts 13" in text.splitlines()


def test_the_description_is_true(reader: TestClient) -> None:
    described = reader.get("/openapi.json").json()["paths"]
    found = {(method.upper(), path) for path, methods in described.items() for method in methods}
    assert found == {(each.method, each.path.replace(":path}", "}")) for each in ENDPOINTS}
    shown = [route for route in reader.app.routes if route.path not in PAGE]  # type: ignore
    routes = {(method, route.path.replace(":path}", "}")) for route in shown for method in route.methods}
    assert routes - found <= {(method, path) for method in ("HEAD", "OPTIONS") for _, path in found}
    page = DOCS.read_text()
    for _, path in found:
        assert f"`{path}`" in page or path in page, path


def test_what_is_not_there(reader: TestClient) -> None:
    assert reader.get("/nothing").json()["error"]["code"] == "not_found"
    wrong = reader.put("/query", json={})
    assert wrong.status_code == 405 and "GET" in wrong.headers["allow"]
    assert reader.get("/query", params={"goal": "edge(?x, ?y)", "limt": 1}).status_code == 400
    assert reader.head("/health").status_code == 200


@pytest.mark.parametrize("text", ['.decl z(x : symbol)\n.input z(filename = "/z")\n', '@input z from "/z" .'])
def test_check_refuses_what_cannot_be_added(reader: TestClient, text: str) -> None:
    (found,) = post(reader, "/check", {"text": text, "kind": "rules"})["diagnostics"]
    assert found["severity"] == "error" and "name no files" in found["message"]
