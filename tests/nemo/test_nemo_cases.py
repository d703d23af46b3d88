"""Programs of Nemo's language and what they give: the files beside them were written by Nemo 0.10.1.

`operators.rls` has functions of a later version; its files are deltalog's own output, compared with Nemo's source.
"""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path

import pytest

from deltalog import DataError, KnowledgeBase, LimitReached, SyntaxProblem, UsageError
from deltalog.apps.cli.main import main

CASES = sorted((Path(__file__).parent / "cases").glob("*.rls"))


def lines(path: Path) -> Counter[str]:
    return Counter(path.read_text().splitlines())


def written(folder: Path) -> dict[str, Counter[str]]:
    """The files of a folder that are not empty; Nemo writes no others."""
    return {path.name: lines(path) for path in folder.iterdir() if path.stat().st_size}


@pytest.mark.parametrize("engine", ["local", "naive"])
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_case(case: Path, engine: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that are left out
        kb = KnowledgeBase(case, engine=engine)
    kb.write_exports(tmp_path)
    assert written(tmp_path) == written(case.with_suffix(""))


def test_on_the_command_line(tmp_path: Path) -> None:
    case = next(path for path in CASES if path.stem == "chase")
    assert main(["run", str(case), "--out", str(tmp_path / "out"), "-q"]) == 0
    assert written(tmp_path / "out") == written(case.with_suffix(""))


def test_a_format_is_of_all_facts(tmp_path: Path) -> None:
    case = next(path for path in CASES if path.stem == "recursion")
    assert main(["run", str(case), "--out", str(tmp_path / "out"), "--format", "tsv", "-q"]) == 0
    assert (tmp_path / "out" / "edge.tsv").exists()


def facts(text: str) -> dict[str, list[tuple[object, ...]]]:
    """What a text derives by the restricted chase."""
    kb = KnowledgeBase(text, language="nemo")
    return {name: sorted(kb.facts(name), key=repr) for name in kb.predicates}


def test_names_of_functions_are_predicates_where_they_are_derived() -> None:
    found = facts("max(1) . max(2) . a(?x) :- max(?x), ?x < MAX(1, 2) . b(?x) :- max(?x), ~min(?x) . min(1) .")
    assert (found["a"], found["b"]) == ([(1,)], [(2,)])


def test_existential_rules_are_applied_by_strata() -> None:
    found = facts(
        """
        a(1) . b(1) .
        p(?x, !v), q(?x, !v) :- a(?x), ~none(?x) .
        s(?x) :- b(?x), ~p(?x, _) .
        t(?x, !w) :- s(?x) .
        q(?x, ?y) :- t(?x, ?y) .
        """
    )
    assert not found["t"]
    assert len(found["p"]) == len(found["q"]) == 1


def test_what_is_exported_as_documents(tmp_path: Path) -> None:
    text = "p(<http://e/s>, <http://e/p>, 5) . @export p :- trig{} . @export p :- rdfxml{} . @export p :- turtle{} ."
    written_files = KnowledgeBase(text, language="nemo").write_exports(tmp_path)
    assert [path.name for path in written_files] == ["p.trig", "p.rdf", "p.ttl"]
    assert all("http://e/" in path.read_text() and "5" in path.read_text() for path in written_files)


def test_a_store_keeps_existential_rules(tmp_path: Path) -> None:
    program = tmp_path / "p.rls"
    program.write_text("person(ada) . parent(?x, !y) :- person(?x) .")
    assert main(["run", str(program), "--store", str(tmp_path / "store"), "-q"]) == 0
    with KnowledgeBase.open(tmp_path / "store") as kb:
        kb.add("person", [("bob",)])
        assert len(kb.facts("parent")) == 2


def test_limits_stop_the_chase() -> None:
    kb = KnowledgeBase("p(a, b) . p(?y, !z) :- p(?x, ?y) .", language="nemo", max_facts=20)
    with pytest.raises(LimitReached, match="materialise stopped: the limit of 20 facts"):
        kb.materialise()


def test_relative_names_and_formats_of_exports(tmp_path: Path) -> None:
    text = """
    t(a, b, c) . q(g, a, b, c) .
    @export t :- rdf{resource = "t.rdf"} . @export q :- trig{} . @output t, <http://e/t>, <http:_/e/t> .
    <http://e/t>(1) . <http:_/e/t>(2) .
    """
    KnowledgeBase(text, language="nemo").write_exports(tmp_path)
    assert "rdf:RDF" in (tmp_path / "t.rdf").read_text()
    assert "<g> {" in (tmp_path / "q.trig").read_text()
    assert [(tmp_path / name).read_text() for name in ("http___e_t.csv", "http___e_t-2.csv")] == ["1\n", "2\n"]
    with pytest.raises(UsageError, match="ntriples has triples; q has 4 arguments"):
        KnowledgeBase("q(g, a, b, c) . @export q :- ntriples{} .", language="nemo").write_exports(tmp_path)


@pytest.mark.parametrize("text", ['{"a": NaN}', "[" * 100_000])
def test_what_is_no_json(text: str, tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(text)
    (tmp_path / "p.rls").write_text('@import d :- json{resource = "d.json"} . p(?x) :- d(?x, _, _) .')
    with pytest.raises(DataError, match=r"d\.json"):
        KnowledgeBase(tmp_path / "p.rls")


@pytest.mark.parametrize("term", ["ABS(" * 5000 + "1" + ")" * 5000, "+".join(["1"] * 5000), 'f"{' * 500])
def test_deep_terms_are_refused(term: str) -> None:
    with pytest.raises(SyntaxProblem):
        KnowledgeBase(f"p({term}) .", language="nemo")


def test_programs_beside_existential_rules(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("1\n")
    (tmp_path / "new.rls").write_text("a(1) . a(2) . p(?x, !v) :- a(?x) . q(?x) :- p(?x, ?v), b(?x) .")
    (tmp_path / "own.dl").write_text('@input b from "b.csv" .\n@output q to "q.csv" .\n')
    (tmp_path / "souffle.dl").write_text(".decl c(x : number)\n.decl q(x : number)\nc(x * 2) :- q(x).\n.output c\n")
    programs = [str(tmp_path / name) for name in ("new.rls", "own.dl", "souffle.dl")]
    assert main(["run", *programs[:2], "-q"]) == 0
    assert (tmp_path / "q.csv").read_text() == "1\n"
    assert main(["run", *programs, "-q", "-D", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "c.csv").read_text() == "2\n"
    (tmp_path / "souffle.dl").write_text(".decl c(x : number) choice-domain x\nc(1). c(x) :- c(x).\n")
    assert main(["run", programs[0], programs[2], "-q"]) != 0


def test_triggers_are_not_in_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "new.rls").write_text("a(1) . p(?x, !v) :- a(?x) .")
    assert main(["run", str(tmp_path / "new.rls"), "-D", str(tmp_path / "out")]) == 0
    assert "deltalog trigger" not in capsys.readouterr().err


def test_each_arity_of_a_predicate_is_exported(tmp_path: Path) -> None:
    kb = KnowledgeBase("a(1). p(?x) :- a(?x). p(?x, ?x) :- a(?x).", language="nemo")
    kb.write_exports(tmp_path)
    assert written(tmp_path) == {"p.csv": Counter(["1"]), "p-2.csv": Counter(["1,1"])}
