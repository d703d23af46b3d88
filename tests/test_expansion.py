"""Classes of equal ids, and relations with all names of each, against their definition."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from deltalog.core.equality_classes import EqualityClasses
from deltalog.core.tuning import Tuning
from deltalog.engines.local.codec import load
from deltalog.engines.local.expansion import NameExpansion, expanded, mentioning, normalised
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.sorted_runs import pack
from deltalog.engines.local.virtual_relation import VirtualDifference

IDS = 12
Row = tuple[int, ...]


def ids(values: list[int]) -> np.ndarray:
    return np.array(values, np.uint32)


def partition(classes: EqualityClasses) -> list[int]:
    return [int(id) for id in classes.representative(ids(list(range(IDS))))]


def joined(before: list[int], pairs: list[tuple[int, int]]) -> list[int]:
    """The same by its definition."""
    least = list(before)
    for left, right in pairs:
        low, high = sorted((least[left], least[right]))
        least = [low if each == high else each for each in least]
    return least


def rows(table: Relation) -> set[Row]:
    return set(zip(*(column.tolist() for column in table.columns()), strict=True))


def some_classes(random: Random) -> EqualityClasses:
    pairs = [(random.randrange(IDS), random.randrange(IDS)) for _ in range(random.randrange(8))]
    return EqualityClasses().joined(ids([a for a, _ in pairs]), ids([b for _, b in pairs]))


def some_table(random: Random, arity: int, tuning: Tuning) -> Relation:
    found = [[random.randrange(IDS) for _ in range(arity)] for _ in range(random.randrange(15))]
    return load([ids([row[i] for row in found]) for i in range(arity)], arity, tuning)


@pytest.mark.parametrize("seed", range(40))
def test_classes(seed: int) -> None:
    random, classes = Random(seed), EqualityClasses()
    expected = list(range(IDS))
    for _ in range(6):
        if random.random() < 0.3 and len(classes):
            head = random.choice(classes.heads.tolist())
            classes = classes.without(ids([head]))
            expected = [i if each == head else each for i, each in enumerate(expected)]
        else:
            pairs = [(random.randrange(IDS), random.randrange(IDS)) for _ in range(random.randrange(4))]
            before = classes
            classes = classes.joined(ids([a for a, _ in pairs]), ids([b for _, b in pairs]))
            expected = joined(expected, pairs)
            differ = [i for i in range(IDS) if partition(before)[i] != partition(classes)[i]]
            assert before.differing(classes).tolist() == differ
        assert partition(classes) == expected
        heads = sorted({each for each in expected if expected.count(each) > 1})
        assert classes.heads.tolist() == heads
        some = ids([random.randrange(IDS) for _ in range(5)])
        members = [i for i in range(IDS) if expected[i] in {expected[id] for id in some.tolist()}]
        assert classes.class_of(some).tolist() == members


@pytest.mark.parametrize("arity", [1, 2])
@pytest.mark.parametrize("seed", range(40))
def test_expansions(seed: int, arity: int) -> None:
    random = Random(seed)
    tuning = Tuning(max_listed_pairs=random.choice([0, 1 << 26]), lookup_cost_rows=random.choice([0, 100]))
    classes, names = some_classes(random), some_table(random, arity, tuning)
    base = normalised(names, classes)
    least = partition(classes)
    assert rows(base) == {tuple(least[id] for id in row) for row in rows(names)}
    shown = expanded(base, classes)
    domain = [(a,) for a in range(IDS)] if arity == 1 else [(a, b) for a in range(IDS) for b in range(IDS)]
    expected = {row for row in domain if tuple(least[id] for id in row) in rows(base)}
    assert rows(shown) == expected
    assert shown.size == len(expected)
    keys = pack([ids([row[i] for row in domain]) for i in range(arity)], len(domain))
    assert [row for row, found in zip(domain, shown.contains(keys), strict=True) if found] == sorted(expected)
    asked = ids(sorted(random.sample(range(IDS), 4)))
    assert rows(mentioning(names, asked)) == {row for row in rows(names) if set(row) & set(asked.tolist())}
    if arity == 2:
        for forward in (True, False):
            left, found = shown.partners(asked, forward)
            pairs = {(asked[i], id) if forward else (id, asked[i]) for i, id in zip(left, found, strict=True)}
            column = 0 if forward else 1
            assert pairs == {row for row in expected if row[column] in asked}
            assert len(left) == len(pairs)
            assert shown.leads(column).tolist() == sorted({row[column] for row in expected})
    other = some_classes(random)
    known = expanded(normalised(names if random.random() < 0.5 else some_table(random, arity, tuning), other), other)
    left_over = shown.minus(known)
    assert rows(left_over) == expected - rows(known)
    assert left_over.size == len(expected - rows(known))


def test_a_large_difference_is_not_listed() -> None:
    n, tuning = 3_000, Tuning()
    names = np.arange(n, dtype=np.uint32)
    table = load([names[:1], names[:1]], 2, tuning)
    one, two = (EqualityClasses().joined(names[: n - k - 1], names[1 : n - k]) for k in (0, 1_500))
    difference = NameExpansion(table, one).minus(NameExpansion(table, two))
    assert isinstance(difference, VirtualDifference)
    assert difference.size == n * n - (n - 1_500) ** 2
    assert NameExpansion(table, two).minus(NameExpansion(table, one)).size == 0
