"""The built-ins of RIF, each with values for which the standard says what it is."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from itertools import count

import pytest

from deltalog import KnowledgeBase
from deltalog.core.terms import IRI, XSD, Literal, Value, datatype, key, lexical
from deltalog.functions.signatures import CASTS
from deltalog.languages.rif.built_ins import FUNCTION, FUNCTIONS, PREDICATE, PREDICATES
from deltalog.languages.rif.elements import RIF

HELLO = Literal("hello", language="en")
A, B = date(2026, 11, 16), date(2026, 11, 17)
MOMENT = Literal("2026-11-17T22:50:01.5Z", XSD + "dateTime")
VALUES: list[tuple[str, tuple[Value, ...], Value]] = [
    ("numeric-add", (1, 2), 3),
    ("numeric-add", (1, 0.5), 1.5),
    ("numeric-subtract", (1, 2), -1),
    ("numeric-multiply", (Literal("2", XSD + "int"), 3), 6),
    ("numeric-divide", (7, 2), 3.5),
    ("numeric-integer-divide", (-7, 2), -3),
    ("numeric-integer-mod", (-7, 2), -1),
    ("numeric-mod", (-7, 2), -1),
    ("numeric-mod", (7, -2), 1),
    ("numeric-mod", (4.5, 2), 0.5),
    ("not", (True,), False),
    ("compare", ("a", "b"), -1),
    ("compare", ("b", "b"), 0),
    ("compare", ("c", "b"), 1),
    ("concat", ("a", 1, "b"), "a1b"),
    ("string-join", ("a", "b", "c", ", "), "a, b, c"),
    ("string-join", ("a", ", "), "a"),
    ("substring", ("hello", 2), "ello"),
    ("substring", ("hello", 2, 3), "ell"),
    ("string-length", ("héllo",), 5),
    ("upper-case", ("a",), "A"),
    ("lower-case", ("A",), "a"),
    ("encode-for-uri", ("a b",), "a%20b"),
    ("substring-before", ("key=value", "="), "key"),
    ("substring-after", ("key=value", "="), "value"),
    ("replace", ("abracadabra", "a.", "*"), "*r***ra"),
    ("replace", ("aAb", "a", "x", "i"), "xxb"),
    ("year-from-date", (A,), 2026),
    ("month-from-date", (A,), 11),
    ("day-from-date", (A,), 16),
    ("year-from-dateTime", (MOMENT,), 2026),
    ("month-from-dateTime", (MOMENT,), 11),
    ("day-from-dateTime", (MOMENT,), 17),
    ("hours-from-dateTime", (MOMENT,), 22),
    ("minutes-from-dateTime", (MOMENT,), 50),
    ("seconds-from-dateTime", (MOMENT,), Decimal("1.5")),
    ("timezone-from-dateTime", (MOMENT,), Literal("PT0S", XSD + "dayTimeDuration")),
    ("PlainLiteral-from-string-lang", ("hello", "en"), HELLO),
    ("string-from-PlainLiteral", (HELLO,), "hello"),
    ("lang-from-PlainLiteral", (HELLO,), "en"),
    ("PlainLiteral-length", (HELLO,), 5),
    ("make-list", (1, "a"), (1, "a")),
    ("make-list", (), ()),
    ("count", ((1, "a"),), 2),
    ("get", ((1, 2, 3), 0), 1),
    ("get", ((1, 2, 3), -1), 3),
    (XSD + "string", (1,), "1"),
    (XSD + "integer", ("12",), 12),
    (XSD + "double", ("1.5",), 1.5),
    (XSD + "boolean", ("true",), True),
    (XSD + "date", ("2026-11-16",), A),
    (XSD + "decimal", (1,), Decimal("1")),
    (XSD + "float", (1,), Literal("1.0", XSD + "float")),
    (XSD + "dateTime", ("2026-11-17T22:50:01",), datetime(2026, 11, 17, 22, 50, 1)),
]
HOLDS: list[tuple[str, tuple[Value, ...], bool]] = [
    *((f"{kind}-equal", (low, low), True) for kind, low, _ in (("numeric", 1, 2), ("date", A, B))),
    *(
        (f"{kind}-{name}", pair, holds)
        for kind, low, high in (
            ("numeric", 1, 1.5),
            ("boolean", False, True),
            ("date", A, B),
            (
                "dateTime",
                Literal("2026-11-17T22:00:00Z", XSD + "dateTime"),
                Literal("2026-11-17T23:00:00Z", XSD + "dateTime"),
            ),
        )
        for name, pair, holds in (
            ("equal", (low, high), False),
            ("not-equal", (low, high), True),
            ("less-than", (low, high), True),
            ("less-than", (low, low), False),
            ("greater-than", (low, high), False),
            ("less-than-or-equal", (low, low), True),
            ("greater-than-or-equal", (low, high), False),
        )
    ),
    ("numeric-equal", (1, 1.0), True),
    ("contains", ("hello", "ell"), True),
    ("contains", ("hello", "elf"), False),
    ("starts-with", ("hello", "he"), True),
    ("starts-with", ("hello", "lo"), False),
    ("ends-with", ("hello", "lo"), True),
    ("ends-with", ("hello", "he"), False),
    ("matches", ("hello", "^h.l"), True),
    ("matches", ("hello", "^H", "i"), True),
    ("matches", ("hello", "x"), False),
    ("matches-language-range", (Literal("a", language="de-at"), "de"), True),
    ("matches-language-range", (HELLO, "de"), False),
    ("literal-not-identical", (1, "1"), True),
    ("literal-not-identical", (1, 1), False),
    ("literal-not-identical", (IRI("http://example.org/a"), 1), False),
    ("iri-string", (IRI("http://example.org/a"), "http://example.org/a"), True),
    ("iri-string", ("http://example.org/a", "http://example.org/a"), False),
    ("is-list", ((1, 2),), True),
    ("is-list", (1,), False),
    ("is-literal-integer", (1,), True),
    ("is-literal-integer", ("1",), False),
    ("is-literal-integer", (IRI("http://example.org/a"),), False),
    ("is-literal-not-integer", ("1",), True),
    ("is-literal-not-integer", (1,), False),
    ("is-literal-not-integer", (IRI("http://example.org/a"),), False),
    ("is-literal-PlainLiteral", (HELLO,), True),
    ("is-literal-string", (HELLO,), False),
    ("is-literal-date", (A,), True),
]


def term(value: Value) -> str:
    if isinstance(value, tuple):
        return f"<List><items ordered='yes'>{''.join(map(term, value))}</items></List>"
    if isinstance(value, Literal) and value.language:
        return f"<Const type='http://www.w3.org/1999/02/22-rdf-syntax-ns#PlainLiteral'>{value.text}@{value.language}</Const>"
    return f"<Const type='{datatype(value) or RIF + 'iri'}'>{lexical(value)}</Const>"


def called(kind: str, name: str, arguments: str) -> str:
    op = f"<op><Const type='{RIF}iri'>{name}</Const></op>"
    return f"<External><content><{kind}>{op}<args ordered='yes'>{arguments}</args></{kind}></content></External>"


def atom(name: str, arguments: str) -> str:
    return f"<Atom><op><Const type='{RIF}local'>{name}</Const></op><args ordered='yes'>{arguments}</args></Atom>"


def rule(if_: str, then: str, *names: str) -> str:
    declared = "".join(f"<declare><Var>{name}</Var></declare>" for name in names)
    implies = f"<Implies><if>{if_}</if><then>{then}</then></Implies>"
    return f"<sentence><Forall>{declared}<formula>{implies}</formula></Forall></sentence>"


def conjunction(*formulas: str) -> str:
    return f"<And>{''.join(f'<formula>{each}</formula>' for each in formulas)}</And>"


def document(*sentences: str) -> str:
    return f"<Document xmlns='{RIF}'><payload><Group>{''.join(sentences)}</Group></payload></Document>"


def functions_document() -> str:
    """For each value a fact with the arguments, and a rule that computes it from them."""
    sentences = []
    for number, (name, arguments, _) in zip(count(), VALUES):
        names = [f"x{i}" for i in range(len(arguments))]
        iri = name if name.startswith(XSD) else FUNCTION + name
        sentences.append(f"<sentence>{atom(f'given{number}', ''.join(map(term, arguments)))}</sentence>")
        variables = "".join(f"<Var>{each}</Var>" for each in names)
        equal = f"<Equal><left><Var>y</Var></left><right>{called('Expr', iri, variables)}</right></Equal>"
        body = conjunction(atom(f"given{number}", variables), equal)
        sentences.append(rule(body, atom(f"result{number}", "<Var>y</Var>"), *names, "y"))
    return document(*sentences)


@pytest.mark.parametrize("engine", ["local", "naive"])
def test_functions(engine: str) -> None:
    kb = KnowledgeBase(functions_document(), language="rif", engine=engine)
    kb.materialise()
    found = {(number, VALUES[number][0]): list(kb.facts(f"result{number}")) for number in range(len(VALUES))}
    wanted = {(number, name): [(result,)] for number, (name, _, result) in enumerate(VALUES)}
    assert {n: [key(row) for row in rows] for n, rows in found.items()} == {
        n: [key(row) for row in rows] for n, rows in wanted.items()
    }


@pytest.mark.parametrize("engine", ["local", "naive"])
def test_predicates(engine: str) -> None:
    """On constants, in rules without any atom in their bodies."""
    rules = [
        rule(called("Atom", PREDICATE + name, "".join(map(term, arguments))), atom(f"holds{number}", ""))
        for number, (name, arguments, _) in enumerate(HOLDS)
    ]
    kb = KnowledgeBase(document(*rules), language="rif", engine=engine)
    kb.materialise()
    found = [(name, arguments, bool(len(kb.facts(f"holds{n}")))) for n, (name, arguments, _) in enumerate(HOLDS)]
    assert found == HOLDS


def test_every_built_in_is_tested() -> None:
    assert {name for name, _, _ in VALUES} == {*FUNCTIONS, *CASTS}
    assert {name for name, _, _ in HOLDS} >= {*PREDICATES}


def test_iri_string_gives_the_string_its_value() -> None:
    given = f"<sentence>{atom('p', term(IRI('http://example.org/a')) + '')}</sentence>"
    body = conjunction(called("Atom", PREDICATE + "iri-string", "<Var>x</Var><Var>y</Var>"), atom("p", "<Var>x</Var>"))
    kb = KnowledgeBase(document(given, rule(body, atom("q", "<Var>y</Var>"), "x", "y")), language="rif")
    assert list(kb.facts("q")) == [("http://example.org/a",)]


def test_lists_are_made_and_taken_apart() -> None:
    given = f"<sentence>{atom('p', term((1, (2, 'a'))))}</sentence>"
    inner = "<List><items><Var>x</Var><List><items><Var>y</Var><Var>z</Var></items></List></items></List>"
    made = "<List><items><Var>z</Var><Var>x</Var></items></List>"
    kb = KnowledgeBase(
        document(given, rule(atom("p", inner), atom("q", made + "<Var>y</Var>"), *"xyz")), language="rif"
    )
    assert list(kb.facts("q")) == [(("a", 1), 2)]


def test_expressions_in_heads_and_facts() -> None:
    total = called("Expr", FUNCTION + "numeric-add", term(1) + term(2))
    more = called("Expr", FUNCTION + "numeric-add", "<Var>x</Var>" + term(1))
    text = document(f"<sentence>{atom('p', total)}</sentence>", rule(atom("p", "<Var>x</Var>"), atom("q", more), "x"))
    kb = KnowledgeBase(text, language="rif")
    assert (list(kb.facts("p")), list(kb.facts("q"))) == ([(3,)], [(4,)])
