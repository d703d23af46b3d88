"""A metamorphic campaign in the manner of Deopt and queryFuzz: programs are changed in ways that must not change what
follows, and evaluated by other engines, settings and orders of events.

python -m tests.property.metamorphic --programs 50000 --seed 0 --jobs 2      failing programs, each shrunk, and counts
python -m tests.property.metamorphic --programs 1 --seed 17 --show           prints a program and what it becomes

metamorphic_programs   random programs
metamorphic_changes    the changes
judge                  what a program means, by definition; the original program is compared with it, too
"""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from random import Random
from typing import Any

from deltalog import KnowledgeBase, UsageError
from deltalog.core.tuning import Tuning
from tests.property import judge
from tests.property.engine_facts import difference, large_facts, predicate, small, small_rows, typed
from tests.property.history_model import TUNINGS
from tests.property.metamorphic_changes import CHANGES, Changed, is_safe
from tests.property.metamorphic_programs import Drawn, Program
from tests.property.small_language import PREFIX, SPELLINGS, Row, Rule, is_iri, write_rule

SETTINGS: Mapping[str, Sequence[str]] = {
    "engine": ("local",) * 7 + ("naive",),
    "schemes": ("auto", "standard", "scheme", "module"),
    "cyclic": ("combined", "standard", "hypertree"),
    "maintenance": ("auto", "dred", "bf", "counting"),
}
METHODS = ("materialised", "magic", "qsqr", "auto")
ASKED = ("facts", "facts", "goals", "parts of goals")
Key = tuple[str, int]


class Disagreement(AssertionError):
    """A change of a program changed what follows."""


@dataclass(frozen=True)
class Trial:
    """A program, its changes (each with a seed), and how the changed program is evaluated and asked."""

    program: Program
    changes: tuple[tuple[str, int], ...]
    settings: Mapping[str, str]
    tuning: str
    spelling: int
    order: str
    asked: str
    method: str
    seed: int

    def changed(self) -> tuple[Changed, list[str]]:
        """What the program becomes, and the changes that applied."""
        made, applied = Changed(self.program, Random()), []
        for name, seed in self.changes:
            made.random = Random(seed)
            if CHANGES[name](made):
                applied.append(name)
        return made, applied

    def __str__(self) -> str:
        made, applied = self.changed()
        return (
            f"seed {self.seed}: {', '.join(applied) or 'no change'}; {dict(self.settings)}, tuning {self.tuning!r}, "
            f"{self.order}, {self.asked} by {self.method}\n{self.program}\n# becomes\n{made.program}\n"
        )


def trial(seed: int) -> Trial:
    """The trial of a seed, with one to four changes."""
    random = Random(seed)
    program = Drawn(random).program()
    names = [random.choice(sorted(CHANGES)) for _ in range(random.choice((1, 2, 2, 3, 4)))]
    settings = {name: random.choice(values) for name, values in SETTINGS.items()}
    return Trial(
        program,
        tuple((name, random.randrange(10**6)) for name in names),
        settings if random.random() < 0.8 else {"engine": "local"},
        random.choice(sorted(TUNINGS)) if random.random() < 0.5 else "defaults",
        random.randrange(len(SPELLINGS)),
        random.choice(sorted(ORDERS)),
        random.choice(ASKED),
        random.choice(METHODS),
        seed,
    )


# Orders of events that end in the same rules and facts.

Loaded = Callable[["Trial", Program], KnowledgeBase]


def _base(trial: Trial, rules: Sequence[Rule]) -> KnowledgeBase:
    text = PREFIX + "\n".join(write_rule(rule, SPELLINGS[trial.spelling]) for rule in rules)
    tuning = Tuning(**TUNINGS[trial.tuning])  # type: ignore[arg-type]
    return KnowledgeBase(text, tuning=tuning, **trial.settings)


def _with_facts(trial: Trial, rules: Sequence[Rule], facts: Sequence[Any]) -> KnowledgeBase:
    kb = _base(trial, rules)
    for name, rows in large_facts(facts).items():
        kb.add(name, rows)
    return kb


def at_once(trial: Trial, program: Program) -> KnowledgeBase:
    return _with_facts(trial, program.rules, program.facts)


def facts_in_two_updates(trial: Trial, program: Program) -> KnowledgeBase:
    half = len(program.facts) // 2
    kb = _with_facts(trial, program.rules, program.facts[:half])
    kb.materialise()
    kb.update(add=large_facts(program.facts[half:]))
    return kb


def facts_removed_and_added_back(trial: Trial, program: Program) -> KnowledgeBase:
    kb = at_once(trial, program)
    kb.materialise()
    some = large_facts(program.facts[::2])
    kb.update(remove=some)
    kb.update(add=some)
    return kb


def other_facts_added_and_removed(trial: Trial, program: Program) -> KnowledgeBase:
    kb = at_once(trial, program)
    kb.materialise()
    others = {(name, tuple(reversed(row))) for name, row in program.facts} - set(program.facts)
    kb.update(add=large_facts(sorted(others, key=str)))
    kb.update(remove=large_facts(sorted(others, key=str)))
    return kb


def rules_added_later(trial: Trial, program: Program) -> KnowledgeBase:
    half = len(program.rules) // 2
    kb = _with_facts(trial, program.rules[:half], program.facts)
    kb.materialise()
    kb.add_rules(_text(trial, program.rules[half:]))
    return kb


def rules_removed_and_added_back(trial: Trial, program: Program) -> KnowledgeBase:
    kb = at_once(trial, program)
    kb.materialise()
    text = _text(trial, program.rules[::2])
    kb.remove_rules(text)
    kb.add_rules(text)
    return kb


def _text(trial: Trial, rules: Sequence[Rule]) -> str:
    return PREFIX + "\n".join(write_rule(rule, SPELLINGS[trial.spelling]) for rule in rules)


ORDERS: Mapping[str, Loaded] = {
    order.__name__.replace("_", " "): order
    for order in (
        at_once,
        facts_in_two_updates,
        facts_removed_and_added_back,
        other_facts_added_and_removed,
        rules_added_later,
        rules_removed_and_added_back,
    )
}


# Answers.


def run(trial: Trial) -> list[str]:
    """The changes that were made; a Disagreement if they changed something."""
    expected = judge.consequences(trial.program.rules, trial.program.facts)
    plain = replace(trial, settings={"engine": "local"}, tuning="defaults", spelling=0)
    original = at_once(plain, trial.program)
    keys = [*expected, ("p0", 2)]
    _compare("original", _facts(original, {key: key[0] for key in keys}), expected, trial)
    made, applied = trial.changed()
    kb = ORDERS[trial.order](trial, made.program)
    names = {key: made.names.get(key, key[0]) for key in keys}
    if trial.asked == "facts":
        _compare("facts", _facts(kb, names), expected, trial)
    else:
        _compare(trial.asked, _goals(kb, names, expected, trial), expected, trial)
    return applied


def _facts(kb: KnowledgeBase, names: Mapping[Key, str]) -> judge.Facts:
    kb.materialise()
    known = {(name.removesuffix(f"/{kb.arity(name)}"), kb.arity(name)): name for name in kb.predicates}
    found = {}
    for key, name in names.items():
        full = predicate(name, key[1]).removesuffix(f"/{key[1]}")
        if (full, key[1]) in known:
            found[key] = small_rows(kb.facts(known[full, key[1]]))
    return found


def _goals(kb: KnowledgeBase, names: Mapping[Key, str], expected: judge.Facts, trial: Trial) -> judge.Facts:
    found: judge.Facts = {}
    for key, name in names.items():
        terms = [f"?v{i}" for i in range(key[1])]
        if trial.asked == "goals":
            found[key] = _asked(kb, name, terms, trial.method)
            continue
        place = trial.seed % key[1]
        rows: set[Row] = set()
        for value in [*sorted({row[place] for row in expected.get(key, ())}, key=str), 77]:
            parts = _asked(kb, name, [*terms[:place], value, *terms[place + 1 :]], trial.method)
            rows |= {(*row[:place], value, *row[place:]) for row in parts}
        found[key] = rows
    return found


def _asked(kb: KnowledgeBase, name: str, terms: Sequence[Any], method: str) -> set[Row]:
    opening, closing = "[]" if is_iri(name) else "()"
    engine = "auto" if kb.report.engine == "naive" else method
    try:
        answers = kb.query(f"{name}{opening}{', '.join(map(str, terms))}{closing}", method=engine)
    except UsageError as refused:
        if "there is no predicate" not in str(refused):
            raise
        return set()
    return {tuple(map(small, row)) for row in answers} if any(str(t)[0] == "?" for t in terms) else _truth(answers)


def _truth(answers: Any) -> set[Row]:
    return {()} if len(list(answers)) else set()


def _compare(what: str, found: judge.Facts, expected: judge.Facts, trial: Trial) -> None:
    if typed(found) != typed(expected):
        surplus, missing = difference(found, expected), difference(expected, found)
        raise Disagreement(f"{what}: not expected {surplus}, missing {missing}\n{trial}")


# Smaller trials.


def failure(trial: Trial) -> str | None:
    try:
        run(trial)
    except Disagreement as wrong:
        return str(wrong).split(":")[0]
    except Exception as wrong:
        place = traceback.extract_tb(wrong.__traceback__)[-1]
        return f"{type(wrong).__name__} at {place.filename.rpartition('/')[2]}:{place.lineno}"
    return None


def smaller(trial: Trial) -> Iterator[Trial]:
    program = trial.program
    for i in range(len(trial.changes)):
        yield replace(trial, changes=trial.changes[:i] + trial.changes[i + 1 :])
    for rules in _left_out(program.rules):
        yield replace(trial, program=replace(program, rules=rules))
    for facts in _left_out(program.facts):
        yield replace(trial, program=replace(program, facts=facts))
    for i, rule in enumerate(program.rules):
        for body in _left_out(rule.body):
            less = Rule(rule.heads, body)
            rules = (*program.rules[:i], less, *program.rules[i + 1 :])
            if body and is_safe(less):
                yield replace(trial, program=replace(program, rules=rules))
    yield from (replace(trial, settings={**trial.settings, n: SETTINGS[n][0]}) for n in _unusual(trial))
    if trial.tuning != "defaults":
        yield replace(trial, tuning="defaults")
    if trial.order != "at once":
        yield replace(trial, order="at once")
    if trial.spelling:
        yield replace(trial, spelling=0)


def _unusual(trial: Trial) -> list[str]:
    return [name for name, value in trial.settings.items() if value != SETTINGS[name][0]]


def _left_out(lines: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    return (lines[:i] + lines[i + 1 :] for i in range(len(lines)))


def shrunk(trial: Trial) -> Trial:
    kind = failure(trial)
    while (less := next((one for one in smaller(trial) if _fails(one, kind)), None)) is not None:
        trial = less
    return trial


def _fails(trial: Trial, kind: str | None) -> bool:
    return failure(trial) == kind


def report(trial: Trial) -> str:
    try:
        run(trial)
    except Disagreement as wrong:
        return str(wrong)
    except Exception as wrong:
        return f"{failure(trial)}: {wrong}\n{trial}"
    return f"it failed once only\n{trial}"


# The campaign.


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Changes random programs in ways that must not change what follows.")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program; others have the numbers after it")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print programs, and do not evaluate them")
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args(arguments)
    seeds = range(options.seed, options.seed + options.programs)
    if options.show:
        print("\n".join(str(trial(seed)) for seed in seeds))
        return 0
    return _campaign(seeds, options.jobs, not options.no_shrink)


def _campaign(seeds: Sequence[int], jobs: int, shrink: bool) -> int:
    counts, failing = Counter[str](), list[int]()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(examined, seeds[i : i + 100], shrink) for i in range(0, len(seeds), 100)]
        for number, future in enumerate(futures):
            found, reports = future.result()
            counts += found
            failing += reports
            print(*reports.values(), sep="\n", end="", flush=True)
            done = min(len(seeds), 100 * (number + 1))
            print(f"{done} of {len(seeds)} programs, {len(failing)} failing", file=sys.stderr, flush=True)
    print("\n".join(f"{kind:45} {count:8,}" for kind, count in sorted(counts.items())))
    print(f"{len(seeds)} programs, {len(failing)} failing: {failing}")
    return 1 if failing else 0


def examined(seeds: Sequence[int], shrink: bool) -> tuple[Counter[str], dict[int, str]]:
    """How often each kind of change was tried, and reports of what failed."""
    warnings.simplefilter("ignore")
    counts, reports = Counter[str](), {}
    for seed in seeds:
        one = trial(seed)
        counts.update(f"change: {name}" for name in one.changed()[1])
        counts.update((f"order: {one.order}", f"asked: {one.asked}", f"engine: {one.settings['engine']}"))
        if failure(one) is not None:
            reports[seed] = report(shrunk(one) if shrink else one) + "\n"
    return counts, reports


if __name__ == "__main__":
    sys.exit(main())
