"""Regular expressions for which Python's `re` may take exponential time, against `re` where it does not."""

from __future__ import annotations

from random import Random

import pytest

from deltalog import KnowledgeBase, LimitReached
from deltalog.functions.regular_expressions import RegularExpression, compiled, replaced

SLOW = ("(a+)+b", "(a|a)*b", "(a|aa)+b", "(a*)*b", "a*a*a*a*a*b", "(a?){40}a{40}b", "(.*a){12}b", "(?:a+|a)+?b")


@pytest.mark.parametrize("pattern", SLOW)
def test_time_does_not_explode(pattern: str) -> None:
    text = "a" * 400
    assert not compiled(pattern).is_in(text)
    assert compiled(pattern).is_in(text + "b")
    assert replaced(text + "b!", pattern, "<>").endswith("<>!")


def test_a_reference_to_a_group_ends_at_the_limit_of_time() -> None:
    query = f"SELECT * {{ FILTER REGEX('{'a' * 60}', '(a*)(a*)(a*)(a*)(a*)(a*)\\\\1\\\\2\\\\3\\\\4\\\\5\\\\6b') }}"
    with pytest.raises(LimitReached):
        KnowledgeBase(timeout=0.5).sparql(query)


def random_pattern(random: Random, depth: int = 3) -> str:
    if depth == 0 or random.random() < 0.3:
        return random.choice(("a", "b", ".", "[ab]", "c", "^", "$", "a"))
    kind = random.randrange(6)
    if kind == 0:
        return "(" + "|".join(random_pattern(random, depth - 1) for _ in range(random.randint(1, 3))) + ")"
    if kind == 1:
        inner = random_pattern(random, depth - 1)
        inner = "(?:a)" if inner in "^$" else f"({inner})"
        return inner + random.choice(("*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{2,}", "{0,3}?"))
    return random_pattern(random, depth - 1) + random_pattern(random, depth - 1)


@pytest.mark.parametrize("seed", range(60))
def test_both_ways_match_the_same(seed: int) -> None:
    random = Random(seed)
    flags = random.choice(("", "i", "m", "s"))
    pattern = compiled(random_pattern(random), flags)
    for _ in range(10):
        text = "".join(random.choice("aabbcA\n") for _ in range(random.randrange(9)))
        found = pattern._quick.search(text)
        assert _whole(pattern, text) == (None if found is None else found.span()), (pattern._quick.pattern, text)


def _whole(pattern: RegularExpression, text: str) -> tuple[int, ...] | None:
    found = pattern._program.search(text)
    return None if found is None else found[:2]


def test_groups_are_those_of_the_match() -> None:
    pattern = compiled(r"(x+)-(y)?(z|w)\1")
    for text in ("xx-yzxx", "xxx-wx", "x-x", "xx-zxxx"):
        found = pattern._quick.search(text)
        spans = None if found is None else tuple(end for group in range(4) for end in found.span(group))
        assert pattern._program.search(text) == spans
