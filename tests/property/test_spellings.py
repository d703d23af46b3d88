"""A rule means the same in each spelling: what is read is what was meant."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from programs import MIXED, Example, Features, examples
from spelling import SPELLINGS

from deltalog.languages.deltalog.parser import parse


@pytest.mark.parametrize("number", range(len(SPELLINGS)))
def test_every_spelling_reads_as_the_same_rules(number: int) -> None:
    @settings(max_examples=max(50, settings().max_examples // 2))
    @given(examples(Features(MIXED, nested=True)))
    def check(example: Example) -> None:
        text = replace(example, spelling=SPELLINGS[number]).program
        assert list(parse(text, "random.dl")) == example.rules

    check()
