"""Random questions about a program: goals and SPARQL queries, whose answers must not depend on how they are asked.

The answers of a goal are those that the naive engine derives when the goal is the body of a rule. The solutions of a
query are those that Oxigraph finds over the facts that the naive engine derives.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyoxigraph as ox

from deltalog import KnowledgeBase, UsageError
from deltalog.core.terms import RDF_TYPE, key
from deltalog.languages.sparql.solutions import Solutions

sys.path.append(str(Path(__file__).parents[1] / "query"))
from sparql_oracle import RandomQuery, bag

METHODS = ("auto", "magic", "qsqr", "materialised")
ANSWER = "the_answer"
UNKNOWN = "a predicate is unknown"
# The names of random queries, as names of random programs with triples.
RENAMED = {":p": ":r", ":q": ":s", ":v": ":t", ":C": ":A", ":D": ":B", ":d": ":A"}


def random_query(random: Random) -> str:
    return re.sub(r":[a-zA-Z]\b", lambda name: RENAMED.get(name[0], name[0]), RandomQuery(random).text())


def is_query(question: str) -> bool:
    return question.startswith(("SELECT", "ASK"))


def answers(kb: KnowledgeBase, prefixes: str, question: str, method: str) -> Any:
    """The answers of a goal as a set, or the solutions of a query as a bag; UNKNOWN if the goal is refused because
    neither rules nor facts have a predicate of it."""
    if not is_query(question):
        try:
            return {tuple(map(key, row)) for row in kb.query(question, method=method)}
        except UsageError as refused:
            assert "there is no predicate" in str(refused)
            return UNKNOWN
    found = kb.sparql(prefixes + question, method)
    return _by_name(found.columns, found) if isinstance(found, Solutions) else found


def _by_name(names: Sequence[str], rows: Any) -> Any:
    """Solutions as a bag, whatever the order of columns."""
    places = sorted(range(len(names)), key=lambda i: names[i])
    return bag([row[i] for i in places] for row in rows)


def right_answers(program: str, prefixes: str, facts: Mapping[tuple[str, int], Any], question: str) -> Any:
    """The right answers, over a program, and over all facts that follow from it."""
    return _solutions(prefixes, facts, question) if is_query(question) else _derived(program, question)


def _derived(program: str, goal: str) -> Any:
    names = dict.fromkeys(re.findall(r"\?\w+", re.sub(r"NOT [^ ]*(?:\([^)]*\)|\[[^\]]*\])", "", goal)))
    kb = KnowledgeBase(f"{program}\n{ANSWER}({', '.join(names)}) :- {goal} .", engine="naive")
    return {tuple(map(key, row)) for row in kb.facts(ANSWER)}


def _solutions(prefixes: str, facts: Mapping[tuple[str, int], Any], query: str) -> Any:
    store = ox.Store()
    for (name, arity), rows in facts.items():
        for row in rows if ":" in name and arity in (1, 2) else ():
            subject, *object = (ox.NamedNode(value) for _, value in row)
            triple = (ox.NamedNode(RDF_TYPE), ox.NamedNode(name)) if arity == 1 else (ox.NamedNode(name), *object)
            store.add(ox.Quad(subject, *triple))
    found = store.query(prefixes + query)
    return bool(found) if isinstance(found, ox.QueryBoolean) else _by_name([v.value for v in found.variables], found)
