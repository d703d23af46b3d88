"""Literals of data whose text is wrong for their datatype, such as "abc"^^xsd:integer: how many, and the first ones.

RDF allows them, and so does deltalog: they are values, but no numbers and no dates. Only values that have no kind of
their own in the dictionary can be wrong, and of many, only the first are looked at.
"""

from __future__ import annotations

import numpy as np

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import Diagnostic, warning
from deltalog.core.terms import XSD, Kind, Literal
from deltalog.program.lint_constants import is_well_typed

MAX_EXAMINED = 20_000  # about 0.1 s
MAX_NAMED = 3


def ill_typed_literals_of(dictionary: Dictionary, first: int) -> list[Diagnostic]:
    """A warning about literals from a first id on."""
    ids = first + np.flatnonzero(dictionary.kinds[first:] == Kind.TYPED)
    found = [value for value in dictionary.decode(ids[:MAX_EXAMINED]) if isinstance(value, Literal)]
    wrong = [value for value in found if not is_well_typed(value)]
    if not wrong:
        return []
    many = "at least " if len(ids) > MAX_EXAMINED else ""
    what = "literal has a text that is" if len(wrong) == 1 else "literals have texts that are"
    named = ", ".join(f'"{value.text:.40}"^^{value.datatype.replace(XSD, "xsd:")}' for value in wrong[:MAX_NAMED])
    message = f"{many}{len(wrong):,} {what} wrong for the datatype: {named}{', ...' * (len(wrong) > MAX_NAMED)}"
    return [warning(message, None, "They stay literals that are equal to no number and no date.")]
