"""SKOLEM: a blank node that depends on nothing but its arguments.

Its name is "sk" and a 128-bit BLAKE2b digest of their kinds and texts. Equal arguments give the same blank node in
every engine, process and machine.
"""

from __future__ import annotations

import hashlib
from typing import TypeGuard

from deltalog.core.rules import Call, Constant, Expression, Variable, variables
from deltalog.core.terms import BlankNode, Literal, Value, datatype, kind, lexical


def skolem(*values: Value) -> BlankNode:
    """The blank node that stands for these values, and for no others."""
    return skolem_of(b"".join(map(skolem_part, values)))


def skolem_part(value: Value) -> bytes:
    """What a value adds to the name of a skolem: its sort, its language and its text, each with its length."""
    language = value.language if isinstance(value, Literal) else None
    sort = datatype(value) or kind(value).name
    fields = [field.encode("utf-8", "surrogatepass") for field in (sort, language or "", lexical(value))]
    return b"".join(b"%d:%b," % (len(field), field) for field in fields)


def skolem_of(parts: bytes) -> BlankNode:
    return BlankNode("sk" + hashlib.blake2b(parts, digest_size=16).hexdigest())


SkolemForm = tuple[Constant | int, ...]  # a SKOLEM whose variables are numbers: equal for equal SKOLEM expressions


def is_plain_skolem(expression: Expression) -> TypeGuard[Call]:
    """Whether an expression is a SKOLEM of variables (at least one) and constants."""
    return (
        isinstance(expression, Call)
        and expression.function == "skolem"
        and all(isinstance(argument, Variable | Constant) for argument in expression.arguments)
        and any(isinstance(argument, Variable) for argument in expression.arguments)
    )


def skolem_form(call: Call) -> SkolemForm:
    numbers = {v: i for i, v in enumerate(dict.fromkeys(variables(call)))}
    return tuple(a if isinstance(a, Constant) else numbers[a] for a in call.arguments)  # type: ignore[index]
