"""Facts in order: whatever was indexed before, they are found as if they were sorted anew each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deltalog.evaluation.ordered_rows import OrderedRows, StageRow, ValueOrder

values = st.one_of(st.integers(0, 3), st.sampled_from("abcd"))
facts = st.tuples(st.integers(0, 3), st.sampled_from("abcd"), values)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), facts),
        st.tuples(st.just("remove"), facts),
        st.tuples(st.just("read"), st.sampled_from([(), (0,), (2,), (0, 1), (0, 1, 2)])),
    ),
    max_size=40,
)


def having(rows: list[StageRow], order: ValueOrder, places: tuple[int, ...], fact: StageRow) -> list[StageRow]:
    ordered = sorted(rows, key=order.key)
    return [row for row in ordered if all(row[place] == fact[place] for place in places)]


@given(steps, facts)
def test_lookups(given_steps: list[tuple[str, tuple[int, ...]]], fact: StageRow) -> None:
    found, expected = OrderedRows(ValueOrder()), dict[StageRow, None]()
    order = ValueOrder()
    for what, row in given_steps:
        if what == "add":
            found.add(row)
            expected[row] = None
        elif what == "remove":
            found.remove(row)
            expected.pop(row, None)
        else:
            wanted = tuple(fact[place] for place in row)
            if len(row) == 3:
                rows = found.alone(wanted)
            else:
                rows = found.having(row, wanted if len(row) > 1 else wanted[0]) if row else found.in_order()
            assert list(rows) == having(list(expected), order, row, fact)
            assert found.order.seen == order.seen
