"""`%` in all positions: programs are drawn as tokens, with comments between them, so it is known what each `%` is.

The text with comments must have the rules of the tokens alone, or be refused; it must not be refused when comments
stand only where they always may: at the beginning of a line, and after a dot, a comma or an arrow. After a value, a
remark that starts like a number or a variable is a modulo by definition, so none is drawn there.
"""

from __future__ import annotations

import random

import pytest

from deltalog.core.errors import SyntaxProblem
from deltalog.languages.deltalog.parser import parse

REMARKS = (
    "",
    "2",
    "X",
    "X = 2",
    "different",
    "2 = 0",
    "(so)",
    "abs(3)",
    '"3"^^xsd:decimal .',
    "-1 < X.",
    "% 2",
    ". q(X).",
)
ATOM_END = " )"  # of an atom, not of a function call
HARMLESS = ("", "different", "% 2", ". q(X).")
OPERANDS = (["X"], ["?y"], ["7"], ["2.5"], ['"3"^^xsd:decimal'], ["abs(", "X", ")"], ["(", "X", "+", "1", ")"], ["- 2"])


def value(draw: random.Random, depth: int = 0) -> list[str]:
    tokens = draw.choice(OPERANDS)
    if depth < 2 and draw.random() < 0.4:
        return [*value(draw, depth + 1), draw.choice(("%", "%", "+", "*")), *tokens]
    return tokens


def literal(draw: random.Random) -> list[str]:
    match draw.randrange(6):
        case 0:
            return ["r(", "X", ",", "?y", ATOM_END]
        case 1:
            return ["FILTER(", *value(draw), "<", *value(draw), ATOM_END]
        case 2:
            return ["NOT", "s(", "X", ATOM_END]
        case 3:
            return ["t(", *value(draw), ATOM_END]
        case 4:
            return ["rainy"]
        case _:
            return [*value(draw), draw.choice(("=", "<", "!=")), *value(draw)]


def statement(draw: random.Random) -> list[str]:
    tokens = ["p(", "X", ",", "?y", ATOM_END, ":-", "q(", "X", ",", "?y", ATOM_END]
    for _ in range(draw.randrange(4)):
        tokens += [",", *literal(draw)]
    return [*tokens, "."]


def written(draw: random.Random, tokens: list[str], anywhere: bool) -> str:
    text, last = "", "."
    for token in tokens:
        free = text.endswith("\n  ") or last in (".", ",", ":-")
        if (free or anywhere) and "%" not in (token, last) and draw.random() < 0.15:
            text += f"% {draw.choice(REMARKS if free or last in (ATOM_END, 'rainy') else HARMLESS)}\n  "
        elif "%" not in (token, last) and draw.random() < 0.1:
            text += "\n  "  # indented, so that it goes on; a modulo has both sides on its line
        last = token
        text += token + draw.choice((" ", " ", "  "))
    return text + draw.choice(("", f"% {draw.choice(REMARKS)}\n"))


def rules(text: str) -> list[str] | None:
    try:
        return [str(rule) for rule in parse(text)]
    except SyntaxProblem:
        return None


@pytest.mark.parametrize("anywhere", [False, True])
def test_comments_and_modulos(anywhere: bool) -> None:
    refused = 0
    for seed in range(1500):
        draw = random.Random(seed)
        tokens = [token for _ in range(2) for token in statement(draw)]
        wanted, text = rules(" ".join(tokens)), written(draw, tokens, anywhere)
        assert wanted is not None, tokens
        got = rules(text)
        refused += got is None
        assert got in (wanted, None), text
        assert anywhere or got is not None, text
    assert refused < 1500
