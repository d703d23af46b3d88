"""Text to algebra, by rdflib, and rdflib's terms to values.

Two things are mended on the way. rdflib forgets what `SELECT *` was, so the parse tree is asked. And it takes a blank
node of a pattern for a term; it is a variable that nobody sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from deltalog.errors import UsageError
from deltalog.syntax.ast import Constant, Term, Variable
from deltalog.terms import IRI, Value, literal

Node = Any  # rdflib's CompValue: a dictionary with a name, whose keys are attributes too

WELL_KNOWN = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "owl": "http://www.w3.org/2002/07/owl#",
}
OTHER_FORMS = {"ConstructQuery": "CONSTRUCT", "DescribeQuery": "DESCRIBE"}


@dataclass(frozen=True)
class Parsed:
    """A query's algebra; whether it is an ASK; and whether it selects `*`."""

    algebra: Node
    ask: bool
    star: bool


def is_sparql(text: str) -> bool:
    """Whether a text is a query in SPARQL, and no goal: it begins as one, and goals have no braces."""
    words = r"(?:\s|#[^\n]*\n)*(?:prefix|base|select|ask|construct|describe)\b"
    return re.match(words, text, re.IGNORECASE) is not None and ("{" in text or "describe" in text.lower())


def parse(text: str, prefixes: Mapping[str, str]) -> Parsed:
    """The algebra of a SELECT or an ASK. Prefixes of the text go before the ones given."""
    from pyparsing import ParseException
    from rdflib.plugins.sparql.algebra import translateQuery
    from rdflib.plugins.sparql.parser import parseQuery

    try:
        tree = parseQuery(text)
        _check(tree[1])
        star = not tree[1].projection
        query = translateQuery(tree, initNs={**WELL_KNOWN, **prefixes})
    except ParseException as error:
        raise _syntax_error(text, error) from None
    except UsageError:
        raise
    except Exception as error:  # rdflib raises plain ones, such as for an unknown prefix
        raise UsageError(f"the query cannot be read: {error}") from None
    return Parsed(query.algebra.p, query.algebra.name == "AskQuery", star)


def _syntax_error(text: str, error: Any) -> UsageError:
    line = text.splitlines()[error.lineno - 1] if text.strip() else ""
    caret = " " * (error.column - 1) + "^"
    return UsageError(
        f"line {error.lineno}, column {error.column} of the query: this is not SPARQL\n  {line}\n  {caret}"
    )


def _check(query: Node) -> None:
    """Refuses what rdflib's algebra would not show any more."""
    if query.name in OTHER_FORMS:
        refuse(OTHER_FORMS[query.name], "ask SELECT or ASK")
    if query.datasetClause:
        refuse("FROM", "there is one graph, of all facts; leave it out")
    for node in nodes(query):
        if node.name == "SubSelect" and not node.projection and node.valuesClause:
            refuse("SELECT * with VALUES after it, inside of a query,", "name the variables")


def nodes(tree: Any) -> Iterator[Node]:
    """Every node of a parse tree or an algebra."""
    if hasattr(tree, "name") and hasattr(tree, "values"):
        yield tree
        tree = list(tree.values())
    if not isinstance(tree, str) and hasattr(tree, "__iter__"):
        for inner in tree:
            yield from nodes(inner)


def refuse(what: str, instead: str) -> NoReturn:
    raise UsageError(f"{what} in SPARQL is not supported; {instead}")


# Terms


def value(term: Any) -> Value:
    """The value of an IRI or a literal."""
    from rdflib.term import Literal, URIRef

    if isinstance(term, URIRef):
        return IRI(str(term))
    assert isinstance(term, Literal), term
    datatype = None if term.datatype is None else str(term.datatype)
    return literal(str(term), datatype, term.language)


def term(given: Any) -> Term:
    """A term of a triple pattern; a blank node is a variable whose name no query can write."""
    from rdflib.term import BNode
    from rdflib.term import Variable as SparqlVariable

    if isinstance(given, SparqlVariable):
        return Variable(str(given))
    if isinstance(given, BNode):
        return Variable(f"#_:{given}")
    return Constant(value(given))


def variables_of(tree: Any) -> set[Variable]:
    """The variables that an algebra or an expression mentions."""
    return {Variable(str(leaf)) for leaf in _leaves(tree) if is_variable(leaf)}


def _leaves(tree: Any) -> Iterator[Any]:
    if hasattr(tree, "items"):
        tree = [part for name, part in tree.items() if name != "_vars"]
    if isinstance(tree, list | tuple):
        for inner in tree:
            yield from _leaves(inner)
    else:
        yield tree


def is_variable(given: Any) -> bool:
    from rdflib.term import Variable as SparqlVariable

    return isinstance(given, SparqlVariable)
