"""The names of functions, and how many arguments each takes.

`deltalog.functions.scalar` defines their meaning; this module is for the parser. `ANY_NUMBER` stands for any number.
docs/functions.md lists them, with those of SPARQL.
"""

from __future__ import annotations

from difflib import get_close_matches

from deltalog.core.terms import XSD

ANY_NUMBER = 10**6
CASTS = tuple(XSD + name for name in ("string", "integer", "decimal", "double", "float", "boolean", "date", "dateTime"))
# Shorter names of casts, by the names of our values: a float is an xsd:double.
ALIASES = {
    "int": XSD + "integer",
    "float": XSD + "double",
    "decimal": XSD + "decimal",
    "string": XSD + "string",
    "boolean": XSD + "boolean",
    "date": XSD + "date",
    "datetime": XSD + "dateTime",
}
# Functions that SPARQL has under the same names, with the same meaning.
_OF_SPARQL: dict[str, tuple[int, int]] = {
    "regex": (2, 3),
    "strbefore": (2, 2),
    "strafter": (2, 2),
    "encode_for_uri": (1, 1),
    "lang": (1, 1),
    "langmatches": (2, 2),
    "strlang": (2, 2),
    "strdt": (2, 2),
    "iri": (1, 1),
    "uri": (1, 1),
    "isuri": (1, 1),
    "isnumeric": (1, 1),
    **dict.fromkeys(("year", "month", "day", "hours", "minutes", "seconds", "timezone", "tz"), (1, 1)),
    **dict.fromkeys(("md5", "sha1", "sha256", "sha384", "sha512"), (1, 1)),
    **dict.fromkeys(CASTS, (1, 1)),
}

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
    "replace": (3, 4),
    "if": (3, 3),
    "coalesce": (1, ANY_NUMBER),
    "skolem": (1, ANY_NUMBER),
    "isiri": (1, 1),
    "isblank": (1, 1),
    "isliteral": (1, 1),
    "datatype": (1, 1),
    "hasdatatype": (2, 2),
    "sameterm": (2, 2),
    "date_add": (2, 2),
    "date_diff": (2, 2),
    "time_diff": (2, 2),
    **_OF_SPARQL,
    **dict.fromkeys(ALIASES, (1, 1)),
}
FROM_SPARQL = tuple(_OF_SPARQL)

# Functions of SPARQL whose result is another one each time: what would follow from it today does not follow tomorrow.
NOT_IN_RULES = {
    "now": "Add the time as a fact, and read it from there.",
    "rand": "Add random numbers as facts, and read them from there.",
    "uuid": "SKOLEM(?x, ...) is a blank node that depends on nothing but its arguments.",
    "struuid": "str(SKOLEM(?x, ...)) is a text that depends on nothing but its arguments.",
    "bnode": "SKOLEM(?x, ...) is a blank node that depends on nothing but its arguments.",
}

# Names that people also give to their predicates.
ORDINARY_WORDS = frozenset(
    ("year", "month", "day", "hours", "minutes", "seconds", "timezone", "tz", "lang", "iri", "uri", *ALIASES)
)

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
    "isstring": "isliteral",
    "matches": "regex",
    "tonumber": "float",
    "to_number": "float",
    "to_float": "float",
    "double": "float",
    "integer": "int",
    "toint": "int",
    "to_int": "int",
    "bool": "boolean",
    "numeric": "decimal",
    "timestamp": "datetime",
    "to_date": "date",
    "to_datetime": "datetime",
    "datediff": "date_diff",
    "dateadd": "date_add",
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

# Functions of other languages with a meaning of their own: rules print with them, so our language has them, too.
FOREIGN: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("nemo_sqrt", "nemo_sin", "nemo_cos", "nemo_tan", "nemo_round", "nemo_not"), (1, 1)),
    **dict.fromkeys(("nemo_int", "nemo_double", "nemo_float", "nemo_str", "nemo_fullstr", "nemo_iri"), (1, 1)),
    **dict.fromkeys(("nemo_datatype", "nemo_lang", "nemo_strlen", "nemo_strrev", "nemo_ucase", "nemo_lcase"), (1, 1)),
    **dict.fromkeys(("nemo_uriencode", "nemo_uridecode", "nemo_isstring", "nemo_isinteger"), (1, 1)),
    **dict.fromkeys(("nemo_isfloat", "nemo_isdouble", "nemo_isnumeric"), (1, 1)),
    **dict.fromkeys(("nemo_div", "nemo_rem", "nemo_pow", "nemo_log"), (2, 2)),
    **dict.fromkeys(("nemo_bitshl", "nemo_bitshr", "nemo_bitshru"), (2, 2)),
    **dict.fromkeys(("nemo_strbefore", "nemo_strafter", "nemo_strstarts", "nemo_strends"), (2, 2)),
    **dict.fromkeys(("nemo_contains", "nemo_compare", "nemo_regex", "nemo_levenshtein"), (2, 2)),
    "nemo_substr": (2, 3),
    **dict.fromkeys(("nemo_sum", "nemo_product", "nemo_min", "nemo_max", "nemo_luka"), (1, ANY_NUMBER)),
    **dict.fromkeys(("nemo_bitand", "nemo_bitor", "nemo_bitxor"), (1, ANY_NUMBER)),
    **dict.fromkeys(("nemo_concat", "nemo_and", "nemo_or"), (1, ANY_NUMBER)),
}

AGGREGATES = ("count", "sum", "min", "max", "avg", "med")
COMPARISONS = frozenset(("=", "!=", "<", "<=", ">", ">="))


def is_function(name: str) -> bool:
    return name in FUNCTIONS or name in FOREIGN


def arguments_of(name: str) -> tuple[int, int]:
    """The least and the greatest number of arguments of a function."""
    return FUNCTIONS[name] if name in FUNCTIONS else FOREIGN[name]


def nearest(name: str) -> str | None:
    """The function that was most likely meant."""
    if name.lower() in ELSEWHERE:
        return ELSEWHERE[name.lower()]
    matches = get_close_matches(name.lower(), [spelled(function) for function in FUNCTIONS], n=1, cutoff=0.7)
    return matches[0] if matches else None


def spelled(name: str) -> str:
    """The name of a function as people write it."""
    return f"xsd:{name.removeprefix(XSD)}" if name in CASTS else name


def arguments_wanted(name: str) -> str:
    """How many arguments a function takes, in words."""
    return in_words(*arguments_of(name))


def in_words(least: int, most: int) -> str:
    """A number of arguments."""
    if most == ANY_NUMBER:
        return f"at least {counted(least)}"
    return counted(least) if least == most else f"{least} or {counted(most)}"


def counted(n: int) -> str:
    return f"{n} argument{'' if n == 1 else 's'}"
