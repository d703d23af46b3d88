"""Random values of every kind, for round trips."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

from deltalog.core.errors import DataError
from deltalog.core.terms import IRI, XSD, BlankNode, Value, literal
from deltalog.formats.triples import print_term

texts = st.one_of(
    st.sampled_from(["", "12", "-3", "007", "1.5", "-0", "1e5", "true", "<a>", "_:b", '"x"@en', '"x"^^<y>', "\ufeffa"]),
    st.text(st.sampled_from(list("ab01 .,;-_:<>@^#'\"\\\t\r\n\0\x1f\x7f\u0085\u2028éß漢😀\ufeff")), max_size=12),
    st.text(max_size=12),
)
iris = st.one_of(texts, st.sampled_from(["http://e.org/a", "http://e.org/a,b", "a b", "é"])).map(IRI)
blanks = st.one_of(
    st.from_regex(r"[A-Za-z0-9_]([A-Za-z0-9_.:-]*[A-Za-z0-9_])?", fullmatch=True), st.sampled_from(["é", "a-", "0"])
).map(BlankNode)
odd_blanks = texts.filter(bool).map(BlankNode)
zones = st.one_of(st.none(), st.just(UTC), st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m))))
numbers = st.one_of(
    st.integers(-100, 100),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**18, 10**17, 999999999999999999]),
    st.floats(),
    st.floats(-1000, 1000).map(lambda x: round(x, 3)),
)
plain = st.one_of(texts, numbers, st.booleans(), st.dates(), st.builds(datetime.replace, st.datetimes(), tzinfo=zones))
literals = st.one_of(
    st.builds(lambda text, tag: literal(text, language=tag), texts, st.sampled_from(["en", "DE-at", "x-1"])),
    st.builds(
        literal,
        texts,
        st.sampled_from(
            ["http://e.org/t", "t", "a,b<c>", "\\u0041", *(XSD + n for n in ["decimal", "int", "integer", "date"])]
        ),
    ),
    st.decimals(allow_nan=False, allow_infinity=False).map(lambda d: literal(format(d, "f"), XSD + "decimal")),
)
simple = st.one_of(plain, literals, iris, blanks)
tuples = st.lists(st.one_of(simple, st.lists(simple, max_size=2).map(tuple)), max_size=3).map(tuple)
values = st.one_of(simple, simple, simple, tuples)


def are_terms(row: Iterable[Value]) -> bool:
    """Whether values can be written as N-Triples."""
    try:
        return bool(list(map(print_term, row)))
    except DataError:
        return False
