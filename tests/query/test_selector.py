"""The estimate, the goals to learn from, models and their files, and the choice of a method."""

from __future__ import annotations

import json
import sys
import time
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conftest import goal_evaluator

from deltalog import KnowledgeBase, UsageError
from deltalog.core.errors import DataError, LimitReached
from deltalog.core.rule_text import print_literal
from deltalog.core.tuning import Tuning
from deltalog.engines.local.point_lookup import TableLookup
from deltalog.evaluation.goals import choose_method, estimate
from deltalog.evaluation.goals.choose_method import MethodChoice
from deltalog.evaluation.goals.estimate import Features
from deltalog.evaluation.goals.goal import as_goal
from deltalog.evaluation.goals.selector import Model, load
from deltalog.evaluation.plan.work_counter import GivenUp
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.fit_model import CLASSIFIERS, ClassifierScore, cross_validated, judged, train
from deltalog.knowledge_base.training_goals import Example, goals, multigraph, read_examples, write_examples
from deltalog.languages.deltalog.parser import parse_goal

EXAMPLE = "q(X, Z) :- p(X, Y), p(Z, Y). p(X, Y) :- s(Y, X). s(u, a). s(v, b)."
CHAIN = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z)."


def chain(length: int, program: str = CHAIN, **thresholds: Any) -> KnowledgeBase:
    kb = KnowledgeBase(program, tuning=Tuning(**thresholds))
    kb.add("edge", [(i, i + 1) for i in range(length)])
    return kb


def test_example_2_of_paper_001() -> None:
    kb = KnowledgeBase(EXAMPLE)
    facts = {"s": [("u", "a"), ("v", "b")]}
    arcs = multigraph(kb.rules)
    assert {pred.name: len(found) for pred, found in arcs.items()} == {"q": 2, "p": 1}
    made = {print_literal(goal) for goal in goals(kb.rules, lambda pred, n: facts.get(pred.name, [])[:n], Random(0))}
    # p(a, u) and q(X, a) are in the paper; q(a, X) is the same by the other arc of rule (1).
    one = {"p(a, u)", "q(?X0, a)", "q(a, ?X0)"}
    assert made == one | {"p(b, v)", "q(?X0, b)", "q(b, ?X0)"}


def test_the_estimate_counts_facts_rules_and_subqueries() -> None:
    found = KnowledgeBase(EXAMPLE).training.estimate("p(a, ?y)")
    assert (found.facts, found.applications, found.rules) == (1, 1, 1)
    assert found.subqueries == 2  # p(a, Y), s(Y, a)
    assert KnowledgeBase(EXAMPLE).training.estimate("q(a, ?y)").rules == 2


def test_the_estimate_grows_with_what_is_asked() -> None:
    kb = chain(1_000)
    one, all_ = kb.training.estimate("path(5, ?x)"), kb.training.estimate("path(?x, ?y)")
    assert all_.facts > 100 * one.facts and all_.substitutions > one.substitutions
    assert kb.training.estimate("path(nowhere, ?x)").facts < one.facts


def test_the_estimate_of_a_program_with_thousands_of_rules_is_bounded() -> None:
    rules = [
        f"p{i}(X, Z) :- p{(i * 7 + k) % 500}(X, Y), p{(i * 3 + k) % 500}(Y, Z)." for i in range(500) for k in range(6)
    ]
    kb = KnowledgeBase("".join(rules) + "".join(f"p{i}(a, b)." for i in range(500)))
    kb.training.estimate("p0(a, ?x)")
    estimator = goal_evaluator(kb)._estimators
    (one,) = estimator.values()
    assert one.looked_at <= estimate.MAX_RULES + 1
    started = time.process_time()
    for i in range(20):
        kb.training.estimate(f"p{i}(a, ?x)")
        assert one.looked_at <= estimate.MAX_RULES + 1
    assert time.process_time() - started < 20 * 0.2


def examples() -> list[Example]:
    """Small goals are for QSQ-R, large ones for magic sets."""
    sizes = [10.0 * 1.3**i for i in range(40)]
    return [
        Example(f"p({i})", Features(2 * n, n, n / 5, 3.0, 2.0), n / 1e5, 0.01 + n / 1e7, 1e-4)
        for i, n in enumerate(sizes)
    ]


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_training_saving_and_loading(classifier: str, tmp_path: Path) -> None:
    model = train(examples(), classifier, "a program")
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again == model and again.trained_for == "a program" and again.goals == 40
    assert again.accuracy >= 0.8
    assert again.choose(Features(10, 5, 1, 1, 1)) == "qsqr"
    assert again.choose(Features(1e6, 5e5, 1e5, 3, 2)) == "magic"


def test_models_agree_with_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    found = examples()
    x, y = [e.features.vector for e in found], [e.label == "magic" for e in found]
    from deltalog.knowledge_base.fit_model import _classified, _lesson

    lessons = [_lesson(e, e.seconds("qsqr")) for e in found]
    assert y == [lesson.magic for lesson in lessons]
    theirs = LogisticRegression(max_iter=5_000).fit(x, y, sample_weight=[lesson.weight for lesson in lessons])
    ours = _classified(found, lessons, "logistic", -1)
    assert [ours.choose(e.features) == "magic" for e in found] == theirs.predict(x).tolist()


def test_cross_validation_compares_with_the_ideal() -> None:
    evaluation = cross_validated(examples(), "tree")
    seconds = evaluation.seconds()
    assert evaluation.accuracy() >= 0.8
    assert seconds["ideal"] <= seconds["learned"] <= min(seconds["always QSQ-R"], seconds["always magic"])


def test_prediction_takes_microseconds_and_no_scikit_learn() -> None:
    model, features = load(), Features(100.0, 50.0, 3.0, 2.0, 2.0)
    started = time.process_time()
    for _ in range(1_000):
        model.choose(features)
    assert time.process_time() - started < 0.1  # 100 microseconds each, on a machine with much else to do


def test_without_scikit_learn_training_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(UsageError, match=r"pip install deltalog\[selector\]"):
        train(examples(), "tree")


def test_training_needs_goals_of_both_kinds() -> None:
    with pytest.raises(UsageError, match="nothing to choose"):
        train(examples()[:3], "tree")
    with pytest.raises(UsageError, match="there is no classifier 'forest'"):
        train(examples(), "forest")


WRONG = {
    "not JSON": "{",
    "a list": "[1]",
    "another format": '{"format": "other"}',
    "fields missing": '{"format": "deltalog selector 1"}',
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_files_that_are_no_models_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(DataError, match="is not a model"):
        load(tmp_path / "model.json")


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "forest"},
        {"parameters": {"tree": [9, 1.0, 0, 1]}},
        {"parameters": {"tree": [0, 1.0, 0]}},
        {"parameters": {"tree": 2}},
        {"rows": "many"},
        {"rows": [0, 1.0, 2.0]},
        {"rows": [0, 1.0, 2.0, 1e9]},
        {"rows": [5, 1.0, 2.0, 3.0]},
        {"parameters": None},
        {"kind": "linear", "parameters": {"weights": [1, 2], "bias": 0}},
        {"kind": "bayes", "parameters": {"magic": {}, "qsqr": {}}},
        {"accuracy": "high"},
        {"trained_for": 5},
    ],
)
def test_wrong_parameters_are_refused(change: dict[str, object], tmp_path: Path) -> None:
    train(examples(), "tree").save(tmp_path / "model.json")
    found = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**found, **change}))
    with pytest.raises(DataError, match="is not a model"):
        load(tmp_path / "model.json")


def test_a_knowledge_base_takes_a_model(tmp_path: Path) -> None:
    train(examples(), "tree").save(tmp_path / "model.json")
    kb = chain(10)
    kb.training.selector = tmp_path / "model.json"
    assert kb.training.selector.goals == 40
    with pytest.raises(DataError, match="cannot read the model"):
        kb.training.selector = tmp_path / "nothing.json"


def test_answers_say_how_they_came_about() -> None:
    kb = chain(50)
    answers = kb.query("path(5, ?x)")
    assert answers.method in ("magic", "qsqr") and "model predicts" in answers.reason and answers.features is not None
    assert kb.query("path(45, ?x)", "magic").reason == "as requested"
    kb.materialise()
    assert kb.query("path(45, ?x)").method == "materialised"
    assert "by materialised: already materialised" in repr(kb.query("path(45, ?x)"))


def test_answers_come_as_frames() -> None:
    answers = chain(5).query("path(3, ?x), path(?x, ?y)")
    assert answers.columns == ("x", "y")
    assert list(answers) == [(4, 5)] and answers.to_arrow().num_rows == 1
    assert answers.to_pandas().shape == (1, 2) and answers.to_polars().shape == (1, 2)


def test_many_goals_of_a_kind_materialise() -> None:
    kb = chain(60, materialisation_min_rows=0, magic_patience_factor=inf)
    methods = [kb.query(f"path({i}, ?x)").method for i in range(30)]
    assert "materialised" not in methods[: Tuning().goals_before_materialising] and methods[-1] == "materialised"
    assert session_of(kb).state.materialised is not None


def test_a_goal_that_needs_everything_materialises() -> None:
    answers = chain(60, goal_small_facts=10).query("path(?x, ?y)")
    assert answers.method == "materialised" and "most of the facts" in answers.reason
    assert len(answers) == 60 * 61 // 2


def test_an_estimate_that_is_far_too_high_is_noticed() -> None:
    kb = chain(50, qsqr_first_attempt_rows=1, goal_small_facts=10, goal_most_of_program_share=0.0)
    answers = kb.query("path(47, ?x)")
    assert answers.method == "qsqr" and "although the goal needs most" in answers.reason and len(answers) == 3
    assert session_of(kb).state.materialised is None
    assert kb.query("path(?x, ?y)").method == "materialised"


def test_qsqr_and_magic_sets_share_a_budget() -> None:
    both = MethodChoice("qsqr", "", patience=1_000, allowed=100_000)
    assert both.given_up(20).allowed == 100_000 - 1_000 * 20


def test_a_materialisation_that_takes_too_long_is_given_up() -> None:
    kb = chain(60, goal_small_facts=10, materialisation_patience_factor=0.0)
    assert kb.query("path(?x, ?y)").method in ("magic", "qsqr")
    assert session_of(kb).state.materialised is None and goal_evaluator(kb).history.tried


@pytest.mark.parametrize(("compiling", "attempts", "method"), [(1e9, 2, "materialised"), (0.0, 1, "magic")])
def test_the_time_of_compiling_kernels_does_not_count(
    compiling: float, attempts: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a first run the clock of a materialisation may run out while kernels are compiled: it is tried again."""
    from deltalog.kernels.compilations import COMPILATIONS

    kb, made = chain(60, goal_small_facts=10), list[None]()
    kb.training.selector = Model("tree", "tree", {"tree": 1}, None, "", 0, 0.0)  # else always magic sets
    session = session_of(kb)
    materialise = session.materialise

    def slow_at_first(*args: Any, **kwargs: Any) -> Any:
        made.append(None)
        if len(made) == 1:
            monkeypatch.setattr(COMPILATIONS, "seconds", COMPILATIONS.seconds + compiling)
            raise LimitReached("query stopped", "the time limit was reached")
        return materialise(*args, **kwargs)

    monkeypatch.setattr(session, "materialise", slow_at_first)
    answers = kb.query("path(?x, ?y)")
    assert answers.method == method and len(made) == attempts


def test_magic_sets_is_given_up_where_deriving_everything_should_be_less_work() -> None:
    kb = chain(60)
    kb.training.selector = Model("tree", "tree", {"tree": 1}, None, "", 0, 0.0)  # always magic sets
    history = goal_evaluator(kb).history
    assert kb.query("path(5, ?x)").method == "magic"
    history.tuning = Tuning(materialisation_min_rows=7)
    history.rules, history.facts = 0, 1  # deriving everything should be next to nothing
    answers = kb.query("path(6, ?x)")
    assert answers.method == "materialised" and "magic sets gave up after 10 rows" in answers.reason
    assert len(answers) == 54 and session_of(kb).state.materialised is not None


def test_what_is_given_up_both_ways_is_answered_by_magic_sets() -> None:
    kb = chain(60, materialisation_patience_factor=0.0, magic_patience_factor=0.0)
    answers = kb.query("path(5, ?x)")
    assert answers.method == "magic" and len(answers) == 55
    assert session_of(kb).state.materialised is None and goal_evaluator(kb).history.tried
    assert len(kb.solve("SELECT ?x { 5 <path> ?x }")) == 55 and session_of(kb).state.materialised is None


def test_labels_from_use(tmp_path: Path) -> None:
    kb = chain(30)
    example = kb.training.learn("path(3, ?x)")
    assert kb.training.examples == [example] and example.label in ("magic", "qsqr") and example.bound == "M"
    write_examples([example], tmp_path / "labels.jsonl")
    write_examples([example], tmp_path / "labels.jsonl")
    assert read_examples(tmp_path / "labels.jsonl") == [example, example]
    (tmp_path / "labels.jsonl").write_text("nothing\n")
    with pytest.raises(DataError, match="is no example"):
        read_examples(tmp_path / "labels.jsonl")


def test_goals_for_training_and_for_tests() -> None:
    kb = chain(30, CHAIN + "back(X, Y) :- path(Y, X).")
    trained = kb.training.goals(40)
    assert len(trained) == len(set(trained)) == 40
    assert "path(?X0, ?X1)" in trained and any(goal.startswith("back(") for goal in trained)
    tested = kb.training.test_goals(20, without=trained)
    assert not {goal for goal, _ in tested} & set(trained)
    assert {depth for _, depth in tested} > {1, 2}


def test_a_materialisation_that_was_stopped_serves_what_it_has() -> None:
    program = "low(X) :- edge(X, _). n(0). n(Y) :- n(X), BIND(X + 1 AS Y), Y < 900. high(X) :- n(X), low(X)."
    kb = chain(10, program, magic_patience_factor=inf)  # never materialised instead of magic sets
    kb.limits.max_facts = 300
    assert not kb.materialise(partial=True).complete
    kb.limits.max_facts = None
    whole = chain(10, program)
    for goal in ("low(?x)", "high(?x)", "n(500)", "high(7)"):
        answers = kb.query(goal)
        assert answers.method != "materialised" and answers.complete
        assert set(answers) == set(whole.query(goal, "materialised"))
    settled = {pred.name for pred in session_of(kb).queries.settled(session_of(kb).contents())}
    assert "low" in settled and "n" not in settled
    assert not kb.query("n(?x)", "materialised").complete


def test_qsqr_that_is_given_up_leaves_the_goal_to_magic_sets() -> None:
    kb = chain(200, magic_patience_factor=inf)
    for rows, method in ((5.0, "magic"), (20.0, "qsqr")):
        kb.training.selector = Model("tree", "tree", {"tree": 0}, rows, "", 0, 0.0)
        answers = kb.query("path(50, ?x)")
        assert answers.method == method and len(answers) == 150
        assert ("gave up after 148 rows" in answers.reason) == (method == "magic")
    assert kb.query("path(50, ?x)", "qsqr").method == "qsqr"  # as asked, however long it takes


def test_the_work_of_qsqr_is_counted_and_bounded() -> None:
    kb = chain(300)
    work = kb.query("path(250, ?x)", "qsqr").work
    assert work is not None and 50 < work < 10_000
    goal, evaluator = as_goal(parse_goal("path(250, ?x)")), goal_evaluator(kb)
    assert len(evaluator.by_qsqr(goal, patience=work)[0]) == 50
    with pytest.raises(GivenUp):
        evaluator.by_qsqr(goal, patience=work - 1)


def test_patience_is_learnt_from_what_it_costs() -> None:
    """Goals that look the same, of which a few are a thousand times the work: it pays to give up."""
    alike = Features(50.0, 20.0, 9.0, 3.0, 2.0)
    cheap = [Example(f"p({i})", alike, 1e-4, 2e-3, 0.0, 10.0, 100) for i in range(40)]
    dear = [Example(f"q({i})", alike, None, 5e-3, 0.0, 10.0) for i in range(8)]
    large = [Example(f"r({i})", Features(1e6, 1e6, 1e3, 9.0, 9.0), 1.0, 0.01, 0.0, 10.0, 10**6) for i in range(8)]
    model = train([*cheap, *dear, *large], "tree")
    assert model.choose(alike) == "qsqr" and 100 < model.patience(alike) < 50_000
    seconds = ClassifierScore("", (*cheap, *dear), judged(model, [*cheap, *dear])).seconds()
    assert seconds["learned"] < 3 * seconds["ideal"] < seconds["always QSQ-R"]


@pytest.mark.parametrize("method", ["magic", "qsqr", "materialised", "auto"])
def test_constants_that_are_nowhere_get_no_ids(method: str) -> None:
    kb = chain(20, CHAIN + "path(home, X) :- edge(X, _). odd(X, Y) :- edge(X, _), BIND(X + 1000 AS Y).")
    if method == "materialised":
        kb.materialise()
    goal_evaluator(kb).history.tried = True  # to materialise
    kb.query("path(3, ?x)", method)
    before = len(session_of(kb).backend.dictionary)
    assert [len(kb.query(f"path(n{i}, ?x)", method)) for i in range(50)] == [0] * 50
    assert len(session_of(kb).backend.dictionary) == before
    assert len(kb.query("path(home, ?x)", method)) == 20  # the constant of a rule
    assert set(kb.query("odd(?x, 1007)", method)) == {(7,)}  # a value that a rule computes
    assert len(kb.query("edge(3, ?x), NOT path(?x, nowhere)", method)) == 1


def test_a_handful_of_facts_is_less_work_than_a_choice() -> None:
    kb = chain(50)
    answers = kb.query("path(47, ?x)")
    assert answers.method == "qsqr" and answers.reason == choose_method.AT_ONCE.reason and answers.features is None
    assert answers.work is not None and answers.work <= Tuning().qsqr_first_attempt_rows and len(answers) == 3
    assert kb.query("path(5, ?x)").features is not None


def test_reading_a_whole_table_is_given_up_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = chain(50_000)
    assert len(kb.query("edge(?x, ?y)", "qsqr")) == 50_000
    monkeypatch.setattr(TableLookup, "__call__", lambda *_: pytest.fail("it was read"))
    assert goal_evaluator(kb).at_once(as_goal(parse_goal("edge(?x, ?y)"))) is None
