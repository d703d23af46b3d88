"""docs/functions.md has every function of rules and of SPARQL, and says which of the two has it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from deltalog.core.operators import CASTS
from deltalog.functions import registry
from deltalog.functions.function import SPARQL_PREFIX
from deltalog.functions.signatures import AGGREGATES, FUNCTIONS, NOT_IN_RULES, spelled
from deltalog.languages.sparql.parse_expressions import AGGREGATES as SPARQL_AGGREGATES
from deltalog.languages.sparql.parse_expressions import ARGUMENTS, FRESH

PACKAGE = Path(__file__).parents[1] / "src" / "deltalog"
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


# Names that are words of messages, options, formats or other languages, too.
OTHER_WORDS = frozenset(
    (
        *(
            "arity",
            "band",
            "bnot",
            "bor",
            "bshl",
            "bshr",
            "bshru",
            "bxor",
            "coalesce",
            "concat",
            "contains",
            "datatype",
        ),
        *("if", "iri", "item", "lang", "max", "min", "nemo_div", "replace", "round", "sameterm", "seconds", "skolem"),
        *("str", "substr", "tuple", "uri", "year"),
    )
)


def names_in(module: Path) -> Iterator[str]:
    """The string constants of a module, but for those in expressions that it builds: `Call("strlen", ...)`."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    built = {id(node.args[0]) for node in calls if node.func.id == "Call"}  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in built:
            yield node.value.lower()


def test_a_function_is_named_in_one_module() -> None:
    names = {name for name in registry.FUNCTIONS if name.isidentifier()} - OTHER_WORDS
    assert len(names) >= 90
    modules: dict[str, set[str]] = {}
    for module in PACKAGE.rglob("*.py"):
        for name in names.intersection(names_in(module)):
            modules.setdefault(name, set()).add(str(module.relative_to(PACKAGE)))
    assert not {name: found for name, found in modules.items() if len(found) > 1}


NEW_FUNCTION = """
from deltalog.functions import strings
from deltalog.functions.function import function
strings.FUNCTIONS += (
    function("backwards", "text -> text", lambda s: s[::-1]).named(elsewhere="mirror").written_as(nemo="STRREV"),
)
from deltalog import KnowledgeBase, ProgramError
from deltalog.functions.registry import written
RULE = "q(?y) :- p(?x), BIND(backwards(?x) AS ?y)."
for engine in ("naive", "local"):
    print(list(KnowledgeBase('p("abc"). ' + RULE, engine=engine).facts("q")))
for wrong in (RULE.replace("(?x) AS", "(?x, 1) AS"), RULE.replace("backwards", "mirror")):
    try:
        KnowledgeBase(wrong)
    except ProgramError as error:
        print(error.diagnostics[0].message, error.diagnostics[0].hint)
print(written("nemo", "backwards", ["?x"]))
"""


def test_a_new_function_is_one_record() -> None:
    run = subprocess.run([sys.executable, "-c", NEW_FUNCTION], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "[('cba',)]",
        "[('cba',)]",
        "`backwards` takes 1 argument, this has 2 arguments None",
        "there is no function `mirror` Did you mean `backwards`?",
        "STRREV(?x)",
    ]
