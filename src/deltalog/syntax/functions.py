"""The names of functions, and how many arguments each takes.

`deltalog.expressions.scalar` defines their meaning; this module is for the parser. `ANY_NUMBER` stands for any number.
"""

from __future__ import annotations

from difflib import get_close_matches

ANY_NUMBER = 10**6

FUNCTIONS: dict[str, tuple[int, int]] = {
    "abs": (1, 1),
    "ceil": (1, 1),
    "floor": (1, 1),
    "round": (1, 1),
    "min": (1, ANY_NUMBER),
    "max": (1, ANY_NUMBER),
    "pow": (2, 2),
    "sqrt": (1, 1),
    "div": (2, 2),
    "rem": (2, 2),
    "band": (2, ANY_NUMBER),
    "bor": (2, ANY_NUMBER),
    "bxor": (2, ANY_NUMBER),
    "bnot": (1, 1),
    "bshl": (2, 2),
    "bshr": (2, 2),
    "bshru": (2, 2),
    "tuple": (0, ANY_NUMBER),
    "item": (2, 2),
    "arity": (1, 1),
    "concat": (1, ANY_NUMBER),
    "strlen": (1, 1),
    "substr": (2, 3),
    "str": (1, 1),
    "ucase": (1, 1),
    "lcase": (1, 1),
    "contains": (2, 2),
    "strstarts": (2, 2),
    "strends": (2, 2),
    "replace": (3, 3),
    "if": (3, 3),
    "coalesce": (1, ANY_NUMBER),
    "skolem": (1, ANY_NUMBER),
    "isiri": (1, 1),
    "isblank": (1, 1),
    "isliteral": (1, 1),
    "datatype": (1, 1),
    "hasdatatype": (2, 2),
}

# Names in other languages.
ELSEWHERE = {
    "length": "strlen",
    "upper": "ucase",
    "lower": "lcase",
    "substring": "substr",
    "startswith": "strstarts",
    "endswith": "strends",
    "ceiling": "ceil",
    "cat": "concat",
    "strcat": "concat",
    "power": "pow",
    "tostring": "str",
    "to_string": "str",
    "quotient": "div",
    "mod": "rem",
    "bitand": "band",
    "bitor": "bor",
    "bitxor": "bxor",
    "bitnot": "bnot",
    "shl": "bshl",
    "shr": "bshr",
    "nth": "item",
    "record": "tuple",
}

AGGREGATES = ("count", "sum", "min", "max", "avg", "med")
COMPARISONS = frozenset(("=", "!=", "<", "<=", ">", ">="))


def nearest(name: str) -> str | None:
    """The function that was most likely meant."""
    if name.lower() in ELSEWHERE:
        return ELSEWHERE[name.lower()]
    matches = get_close_matches(name.lower(), list(FUNCTIONS), n=1, cutoff=0.7)
    return matches[0] if matches else None


def arguments_wanted(name: str) -> str:
    """How many arguments a function takes, in words."""
    least, most = FUNCTIONS[name]
    if most == ANY_NUMBER:
        return f"at least {counted(least)}"
    return counted(least) if least == most else f"{least} or {counted(most)}"


def counted(n: int) -> str:
    return f"{n} argument{'' if n == 1 else 's'}"
