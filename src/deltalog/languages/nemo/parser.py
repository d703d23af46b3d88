"""Words to statements, by recursive descent.

    program    = { directive | rule }
    directive  = "@prefix" name ":" iri  |  "@base" iri  |  "@parameter" $name [ "=" term ]
               | "@output" name { "," name }
               | ( "@import" | "@export" ) name ":-" format "{" [ attribute { "," attribute } ] "}" { "," literal }
    attribute  = name "=" term
    rule       = { "#[" name "(" terms ")" "]" } atom { "," atom } [ ":-" literal { "," literal } ]
    literal    = "~" atom  |  atom  |  term [ operator term ]     (an application is an atom, unless it is a function)
    term       = product { ( "+" | "-" ) product }
    product    = primary { ( "*" | "/" ) primary }
    primary    = variable | constant | "(" term { "," term } ")" | name "(" terms ")" | aggregate "(" terms ")"

A wrong statement is reported, and reading goes on after its dot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import count, pairwise

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Constant, Source, Span, Variable
from deltalog.core.terms import IRI, RDF, XSD, Literal, Value
from deltalog.functions.nemo_functions import finite, float32, literal_value
from deltalog.functions.signatures import in_words
from deltalog.languages.nemo import tree
from deltalog.languages.nemo.functions import AGGREGATES, NEMO, arguments
from deltalog.languages.nemo.lexer import MAX_DEPTH, term_end, words
from deltalog.languages.tokens import Cursor, Token, Unexpected

Statement = tree.Statement | tree.FileDirective | tree.Output | tree.ParameterDirective
ATTRIBUTES = ("name", "display")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
MAX_NESTING = 200  # of operations in a row
PREFIXES = {"xsd": XSD, "rdf": RDF}


class Parser(Cursor[Token]):
    """The statements of one text, or the term that a part of it is."""

    def __init__(self, source: Source, start: int = 0, end: int | None = None) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.prefixes: dict[str, str] = {}
        self.base = ""
        self.tokens = list(words(source, self.diagnostics, start, end))
        self.depth = 0
        self._anonymous = count()
        self._predicates = _derived(self.tokens)

    # Statements

    def statements(self) -> Iterator[Statement]:
        while self.next.kind != "end":
            self._anonymous = count()
            try:
                statement = self._statement()
                self.expect(".")
            except Unexpected as error:
                self.diagnostics.append(error.diagnostic)
                self._skip_statement()
                continue
            if statement is not None:
                yield statement

    def _statement(self) -> Statement | None:
        word = self.next
        if word.kind != "directive":
            return self._rule()
        self.at += 1
        match word.text:
            case "@prefix":
                self._prefix()
                return None
            case "@base":
                self.base = self.expect("iri").text[1:-1]
                return None
            case "@parameter":
                return self._parameter(word)
            case "@output":
                return self._output(word)
            case "@import" | "@export":
                return self._file(word)
        hint = "Directives are @prefix @base @parameter @import @export @output."
        if word.text in ("@source", "@declare"):
            hint = '@source and @declare are of old versions of Nemo. Write @import p :- csv{resource = "p.csv"} .'
        raise Unexpected(f"there is no directive {word.text}", word.span, hint)

    def _prefix(self) -> None:
        word = self.expect("prefixed")
        name, _, local = word.text.partition(":")
        if local:
            raise Unexpected("a prefix ends with a colon", word.span, f"Write @prefix {name}: <http://...> .")
        self.prefixes[name] = self.expect("iri").text[1:-1]

    def _parameter(self, start: Token) -> tree.ParameterDirective:
        name = self.expect("parameter")
        value = self._term() if self.accept("=") else None
        return tree.ParameterDirective(name.text[1:], value, self.since(start.span))

    def _output(self, start: Token) -> tree.Output:
        return tree.Output(self.separated(self._predicate), self.since(start.span))

    def _file(self, start: Token) -> tree.FileDirective:
        predicate = self._predicate()
        self.expect(":-")
        format = self.expect("name").text
        self.expect("{")
        attributes = () if self.next.kind == "}" else self.separated(self._attribute)
        self.expect("}")
        equations = self.separated(self._literal) if self.accept(",") else ()
        kind = start.text[1:]
        return tree.FileDirective(kind, predicate, format, attributes, equations, self.since(start.span))

    def _attribute(self) -> tuple[str, tree.Term]:
        name = self.expect("name").text
        self.expect("=")
        return name, self._term()

    def _rule(self) -> tree.Statement:
        while self.next.kind == "attribute":
            self._attributes()
        start = self.next
        heads = self.separated(self._atom)
        body = self.separated(self._literal) if self.accept(":-") else ()
        return tree.Statement(heads, body, self.since(start.span))

    def _attributes(self) -> None:
        """#[name("...")] and #[display("...")], which say nothing about facts."""
        self.at += 1
        while self.next.kind != "]":
            word = self.expect("name")
            if word.text not in ATTRIBUTES:
                hint = f"Attributes are {' '.join(ATTRIBUTES)}."
                raise Unexpected(f"there is no attribute `{word.text}` of rules", word.span, hint)
            self.expect("(")
            self._terms(")")
            if not self.accept(","):
                break
        self.expect("]")

    # Literals

    def _literal(self) -> tree.Literal:
        start = self.next
        if self.accept("~"):
            self._check_negated()
            return tree.Not(self._atom(), self.since(start.span))
        if self._is_atom():
            return self._atom()
        left = self._term()
        operator = next((sign for sign in COMPARISONS if self.next.kind == sign), None)
        if operator is None:
            return tree.Condition("", left, None, self.since(start.span))
        self.at += 1
        return tree.Condition(operator, left, self._term(), self.since(start.span))

    def _is_atom(self) -> bool:
        """Whether a predicate follows, and no function. The name of a function is a predicate if it is one in a head,
        and nothing is computed from it here."""
        word, after = self.next, self.after
        if word.kind not in ("iri", "prefixed", "name") or after.kind != "(":
            return False
        if word.kind == "name" and word.text.upper() in NEMO:
            return word.text in self._predicates and _after_brackets(self.tokens, self.at + 1).kind in (",", ".")
        return True

    def _check_negated(self) -> None:
        word = self.next
        if word.kind == "name" and word.text.upper() in NEMO and word.text not in self._predicates:
            raise Unexpected("~ stands before a predicate", word.span, f"Write NOT({word.text}(...)).")

    def _atom(self) -> tree.Atom:
        start = self.next
        name = self._predicate()
        self.expect("(")
        terms = self._terms(")")
        if not terms:
            hint = "Nemo's predicates have at least one argument."
            raise Unexpected(f"`{name}` has no arguments", start.span, hint)
        return tree.Atom(name, terms, self.since(start.span))

    def _predicate(self) -> str:
        word = self.next
        if word.kind not in ("name", "iri", "prefixed"):
            raise self.unexpected("a predicate")
        self.at += 1
        return str(self._iri(word))

    # Terms

    def _terms(self, close: str) -> tuple[tree.Term, ...]:
        found = []
        self._deeper()
        while self.next.kind != close:
            found.append(self._term())
            if not self.accept(","):
                break
        self.depth -= 1
        self.expect(close)
        return tuple(found)

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unexpected(f"more than {MAX_DEPTH} brackets in brackets", self.next.span)

    def _term(self) -> tree.Term:
        return self._operations(("+", "-"), self._product)

    def _product(self) -> tree.Term:
        return self._operations(("*", "/"), self._primary)

    def _operations(self, signs: tuple[str, ...], part: Callable[[], tree.Term]) -> tree.Term:
        start, left, many = self.next, part(), 0
        while sign := self.accept(*signs):
            many += 1
            if many > MAX_NESTING:
                hint = "Compute it in several steps, with ?y = ... ."
                raise Unexpected(f"more than {MAX_NESTING} operations in one term", start.span, hint)
            left = tree.Applied(sign.kind, (left, part()), self.since(start.span))
        return left

    def _primary(self) -> tree.Term:
        word = self.next
        self.at += 1
        match word.kind:
            case "variable":
                return Variable(word.text[1:], word.span)
            case "existential":
                return tree.Existential(word.text[1:], word.span)
            case "parameter":
                return tree.Parameter(word.text[1:], word.span)
            case "number":
                return Constant(self._number(word, word.text))
            case "+" | "-":
                return self._signed(word)
            case "string" | "long":
                return Constant(self._string(word))
            case "formatted":
                return self._formatted(word)
            case "name" if word.text == "_":
                return Variable(f"_#{next(self._anonymous)}", word.span)
            case "aggregate":
                return self._aggregate(word)
            case "name" | "iri" | "prefixed":
                return self._name(word)
            case "(":
                return self._bracket(word)
        self.at -= 1
        raise self.unexpected("a term")

    def _signed(self, sign: Token) -> Constant:
        number = self.next
        if number.kind != "number" or not number.joined:
            hint = "Nemo has no operator for that; write 0 - ?x."
            raise Unexpected(f"`{sign.text}` stands before a number only", sign.span, hint)
        self.at += 1
        return Constant(self._number(number, sign.text.replace("+", "") + number.text))

    def _number(self, word: Token, text: str) -> Value:
        try:
            return _number(text)
        except ValueError as error:
            raise Unexpected(str(error), word.span) from None

    def _name(self, word: Token) -> tree.Term:
        if self.next.kind != "(":
            is_boolean = word.text in ("true", "false")
            return Constant(word.text == "true") if is_boolean else Constant(self._iri(word))
        if word.kind != "name" or word.text.upper() not in NEMO:
            hint = f"Functions are {' '.join(sorted(NEMO))}."
            raise Unexpected(f"there is no function `{word.text}`", word.span, hint)
        self.expect("(")
        terms = self._terms(")")
        least, most = arguments(word.text.upper())
        if not least <= len(terms) <= most:
            wanted = in_words(least, most)
            raise Unexpected(f"{word.text} takes {wanted}, this has {len(terms)}", word.span)
        return tree.Applied(word.text.upper(), terms, self.since(word.span))

    def _aggregate(self, word: Token) -> tree.Aggregated:
        name = word.text[1:].lower()
        if name not in AGGREGATES:
            hint = f"Aggregates are {' '.join(f'#{each}' for each in AGGREGATES)}."
            raise Unexpected(f"there is no aggregate `{word.text}`", word.span, hint)
        self.expect("(")
        terms = self._terms(")")
        if not terms:
            raise Unexpected(f"{word.text} needs a term to aggregate", word.span)
        return tree.Aggregated(name, terms[0], terms[1:], self.since(word.span))

    def _bracket(self, word: Token) -> tree.Term:
        terms = self._terms(")")
        return terms[0] if len(terms) == 1 else tree.Tuple(terms, self.since(word.span))

    # Constants

    def _string(self, word: Token) -> Value:
        text = word.text[3:-3] if word.kind == "long" else word.text[1:-1]
        if self.accept("@"):
            return literal_value(text, None, self.expect("name").text + self._subtags())
        if self.next.kind == "directive" and self.next.joined:
            return literal_value(text, None, self.expect("directive").text[1:] + self._subtags())  # @en
        if not self.accept("^^"):
            return text
        datatype = self.next
        self.at += 1
        try:
            return literal_value(text, str(self._iri(datatype)))
        except ValueError as error:
            raise Unexpected(str(error), word.span) from None

    def _subtags(self) -> str:
        """The rest of a language such as en-GB, without spaces; `"a"@en - 1` has none."""
        found = ""
        while self.next.kind == "-" and self.next.joined and self.after.joined:
            self.at += 1
            found += "-" + self.expect("number" if self.next.kind == "number" else "name").text
        return found

    def _formatted(self, word: Token) -> tree.Term:
        """f"a {?x} b" joins texts and the texts of terms."""
        quotes = 3 if word.text.startswith('f"""') else 1
        start, end = word.span.start + 1 + quotes, word.span.end - quotes
        parts: list[tree.Term] = []
        for text, inner in _pieces(word.span.source.text, start, end):
            if inner is None:
                parts.append(Constant(text))
            else:
                parts.append(tree.Applied("STR", (self._inner(*inner),), word.span))
        return tree.Applied("CONCAT", tuple(parts) or (Constant(""),), word.span)

    def _inner(self, start: int, end: int) -> tree.Term:
        """The term of a piece of a formatted text."""
        if not self.source.text.startswith("}", end):
            raise Unexpected("this `{` is not closed", Span(self.source, start - 1, start))
        inside = Parser(self.source, start, end)
        inside.prefixes, inside.base, inside._anonymous = self.prefixes, self.base, self._anonymous
        inside.depth = self.depth
        try:
            inside._deeper()
            term = inside._term()
            if inside.next.kind != "end":
                raise inside.unexpected("`}`")
            return term
        finally:
            self.diagnostics += inside.diagnostics

    def _iri(self, word: Token) -> IRI:
        if word.kind == "iri":
            return IRI(word.text[1:-1])
        if word.kind == "name":
            return IRI(self.base + word.text)
        prefix, _, local = word.text.partition(":")
        if prefix == "_":  # Nemo has no blank nodes in programs
            return IRI(self.base + local)
        space = self.prefixes.get(prefix, PREFIXES.get(prefix))
        if space is None:
            hint = f"Declare it: @prefix {prefix}: <http://...> ."
            raise Unexpected(f"the prefix `{prefix}:` has not been declared", word.span, hint)
        return IRI(space + local)

    # Words

    def key(self, token: Token) -> str:
        return token.kind

    def named(self, key: str) -> str:
        return {"iri": "an <iri>", "name": "a name", "prefixed": "a prefix"}.get(key, f"`{key}`")

    @property
    def whole(self) -> str:
        return "program" if self.next.span.end == len(self.source.text) else "term"

    def _skip_statement(self) -> None:
        self.depth = 0
        while self.next.kind not in (".", "end"):
            self.at += 1
        self.accept(".")


def _derived(program: Sequence[Token]) -> set[str]:
    """The names before `(` in the heads of statements."""
    found, depth, in_head = set(), 0, True
    for word, after in pairwise(program):
        if word.kind == "name" and after.kind == "(" and in_head and not depth:
            found.add(word.text)
        depth += {"(": 1, ")": -1}.get(word.kind, 0)
        in_head = word.kind == "." or (in_head and word.kind not in (":-", "directive"))
        depth = 0 if word.kind == "." else depth
    return found


def _after_brackets(program: Sequence[Token], at: int) -> Token:
    """The word after the bracket that closes the one at a place."""
    depth = 0
    for word, after in pairwise(program[at:]):
        depth += {"(": 1, ")": -1}.get(word.kind, 0)
        if not depth:
            return after
    return program[-1]


def _number(text: str) -> Value:
    """An integer of 64 bits, or a double; a larger one in another base than 10 is no number. 1.5f has 32 bits."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    base = {"0b": 2, "0o": 8, "0x": 16}.get(digits[:2].lower(), 10)
    if base == 10 and digits.endswith("f") and not digits[:-1].isdigit():
        return float32(sign * float(digits[:-1]))
    digits = digits.rstrip("fd") if base == 10 else digits
    if base == 10 and not digits.isdigit():
        return finite(sign * float(digits))
    number = sign * int(digits[2:] if base != 10 else digits, base)
    if -(2**63) <= number < 2**63:
        return number
    return finite(_double(number)) if base == 10 else Literal(str(number), "xsd:integer")  # as Nemo has it


def _double(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[str, tuple[int, int] | None]]:
    """The parts of a formatted text: plain text, or the place of a term in it."""
    plain, at = "", start
    while at < end:
        if text[at : at + 2] in ("{{", "}}"):
            plain, at = plain + text[at], at + 2
        elif text[at] == "{":
            close = term_end(text, at + 1)
            close = close if 0 < close < end else end
            if plain:
                yield plain, None
            yield "", (at + 1, close)
            plain, at = "", close + 1
        else:
            plain, at = plain + text[at], at + 1
    if plain:
        yield plain, None
