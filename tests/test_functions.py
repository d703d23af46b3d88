"""docs/functions.md has every function of rules and of SPARQL, and says which of the two has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from deltalog.core.operators import CASTS
from deltalog.functions import registry
from deltalog.functions.function import SPARQL_PREFIX
from deltalog.functions.signatures import AGGREGATES, FUNCTIONS, NOT_IN_RULES, spelled
from deltalog.languages.sparql.parse_expressions import AGGREGATES as SPARQL_AGGREGATES
from deltalog.languages.sparql.parse_expressions import ARGUMENTS, FRESH

PAGE = Path(__file__).parents[1] / "docs" / "functions.md"
OPERATORS = {"+", "-", "*", "/", "=", "!=", "<", "<=", ">", ">=", "&&", "||", "!", "in", "not in"}
SPARQL_FORMS = {"bound", "exists", "not exists"}


def rows() -> Iterator[tuple[set[str], bool, bool]]:
    """The functions of each row, and whether rules and SPARQL have them."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and cells[1] in ("yes", "") and cells[2] in ("yes", "") and "`" in cells[0]:
            spellings = re.findall(r"`([^`]*)`", cells[0].replace("\\|", "|"))
            names = {spelling.partition("(")[0].lower() for spelling in spellings}
            yield {name.replace("xsd:datetime", "xsd:dateTime") for name in names}, cells[1] == "yes", cells[2] == "yes"


def documented(of_rules: bool) -> set[str]:
    return {name for names, rules, sparql in rows() if (rules if of_rules else sparql) for name in names}


def test_every_function_of_rules_is_in_the_table() -> None:
    operators = OPERATORS | {"%", "not exists"}
    assert documented(of_rules=True) == set(map(spelled, FUNCTIONS)) | set(AGGREGATES) | operators


def test_every_function_of_sparql_is_in_the_table() -> None:
    names = {name.lower() for name in (*ARGUMENTS, *FRESH, *SPARQL_AGGREGATES)} | set(map(spelled, CASTS))
    assert documented(of_rules=False) == names | OPERATORS | SPARQL_FORMS


def test_both_languages_have_the_same_functions() -> None:
    assert {name.lower() for name in FRESH} == set(NOT_IN_RULES)
    missing = {name.lower() for name in ARGUMENTS} - FUNCTIONS.keys() - NOT_IN_RULES.keys()
    assert missing == set()


def test_every_function_of_sparql_is_implemented() -> None:
    elsewhere = {"if", "coalesce", "sameterm"}  # by rules
    assert {SPARQL_PREFIX + name.lower() for name in (*ARGUMENTS, *FRESH)} <= registry.FUNCTIONS.keys() | {
        SPARQL_PREFIX + name for name in elsewhere
    }
