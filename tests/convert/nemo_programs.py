"""Random programs of Nemo's language, with functions, aggregates and negation over values of all kinds."""

from __future__ import annotations

import re
from random import Random

ARITY = {"a": 1, "b": 2, "c": 2, "d": 3, "p": 2, "q": 1, "s": 2, "t": 3, "u": 2}
LEVEL = {"p": 1, "q": 1, "s": 2, "t": 2, "u": 3}
INTEGERS = ("0", "1", "2", "3", "7", "-4", "100")
VALUES = (
    *("1", "2", "3", "-5", "2.5", "1.0", "1.5f", "x", "y", "<http://e/a>", "true", "false"),
    *(
        '"s"',
        '"tt"',
        '""',
        '"a b"',
        '"12"',
        '"s"@en',
        '"t"@de',
        '"2020-01-01"^^<http://www.w3.org/2001/XMLSchema#date>',
    ),
)
UNARY = (
    *("ABS", "ROUND", "SQRT", "STR", "FULLSTR", "STRLEN", "UCASE", "STRREV", "ISNUMERIC", "ISSTRING", "ISIRI"),
    *("NOT", "INT", "DOUBLE", "LANG", "IRI", "URIENCODE"),
)
BINARY = (
    *("MIN", "MAX", "SUM", "PRODUCT", "REM", "POW", "CONCAT", "STRBEFORE", "STRAFTER", "CONTAINS", "STRSTARTS"),
    *("COMPARE", "REGEX", "LEVENSHTEIN", "AND", "OR", "BITOR", "BITXOR", "BITSHL"),
)


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.values = INTEGERS if seed % 2 else VALUES

    def program(self, existential: bool) -> str:
        rules = [self.rule(existential) for _ in range(self.random.randint(2, 8))]
        facts = [self.fact(name) for name in "abcd" for _ in range(self.random.randint(1, 6))]
        heads = sorted({name for rule in rules for name in re.findall(r"(?:^|\), )([a-z])\(", rule.partition(":-")[0])})
        return "\n".join([*facts, *rules, f"@output {', '.join(heads)} ."])

    def fact(self, name: str) -> str:
        return f"{name}({', '.join(self.random.choice(self.values) for _ in range(ARITY[name]))}) ."

    def expression(self, names: list[str], depth: int = 0) -> str:
        choice = self.random.random()
        if depth > 2 or choice < 0.55:
            return self.random.choice(names if choice < 0.45 else self.values)
        sides = [self.expression(names, depth + 1) for _ in range(2)]
        if choice < 0.7:
            return f"({sides[0]} {self.random.choice('+-*/')} {sides[1]})"
        if choice < 0.75:
            return f'f"<{{{sides[0]}}}|{{{{{{{self.random.choice(names)}}}>"'
        if choice < 0.85:
            return f"{self.random.choice(UNARY)}({sides[0]})"
        return f"{self.random.choice(BINARY)}({sides[0]}, {sides[1]})"

    def rule(self, existential: bool) -> str:
        head, names = self.random.choice(list(LEVEL)), ["?X"]
        known = [name for name in ARITY if LEVEL.get(name, 0) <= LEVEL[head]]
        body = [f"{self.random.choice([name for name in known if ARITY[name] == 1])}(?X)"]
        for name in self.random.choices(known, k=self.random.randint(0, 2)):
            terms = self.random.choices(["?X", "?Y", "?Z", "?W"], k=ARITY[name])
            body.append(f"{name}({', '.join(terms)})")
            names += terms
        below = all(LEVEL.get(each.partition("(")[0], 0) < LEVEL[head] for each in body)
        body += self.conditions(names, LEVEL[head])
        if below and self.random.random() < 0.3:
            body.append(f"?V = {self.expression(names)}")
            names.append("?V")
        terms = [self.expression(names) if below else self.random.choice(names) for _ in range(ARITY[head])]
        more = self.second_head(head, names) if below and self.random.random() < 0.2 else ""
        place = self.random.randrange(len(terms))
        used = set(re.findall(r"\?\w+", " ".join(terms[:place] + terms[place + 1 :])))
        if below and self.random.random() < 0.4 and (free := [name for name in names if name not in used]):
            terms[place] = self.aggregate(free)
        elif existential and self.random.random() < 0.4:
            terms[place] = "!v"
        return f"{head}({', '.join(terms)}){more} :- {', '.join(body)} ."

    def second_head(self, head: str, names: list[str]) -> str:
        """Another head of the same level, whose expressions may fail."""
        other = self.random.choice([name for name in LEVEL if LEVEL[name] == LEVEL[head]])
        return f", {other}({', '.join(self.expression(names) for _ in range(ARITY[other]))})"

    def conditions(self, names: list[str], level: int) -> list[str]:
        found = []
        if self.random.random() < 0.3:
            name = self.random.choice([name for name in ARITY if LEVEL.get(name, 0) < level])
            terms = ["?X", *self.random.choices([*names, "_"], k=ARITY[name] - 1)]
            found.append(f"~{name}({', '.join(terms)})")
        if self.random.random() < 0.5:
            sign = self.random.choice(["=", "!=", "<", "<=", ">"])
            found.append(f"{self.expression(names)} {sign} {self.expression(names)}")
        return found

    def aggregate(self, free: list[str]) -> str:
        one, other = self.random.choices(free, k=2)
        if self.values is VALUES:
            return f"#count({one}, {other})"
        choices = (f"#sum({one} * 2)", f"#sum({one}, {other})", f"#max({one})", f"#min({one} + 1) * 2")
        return self.random.choice([f"#count({one})", *choices])


def random_program(seed: int, existential: bool = False) -> str:
    return _Writer(seed).program(existential)
