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
from collections.abc import Iterator
from itertools import count, pairwise

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Constant, Source, Span, Variable
from deltalog.core.terms import IRI, RDF, XSD, Literal, Value
from deltalog.functions.nemo_functions import finite, float32, literal_value
from deltalog.functions.signatures import in_words
from deltalog.languages.nemo import tree
from deltalog.languages.nemo.functions import AGGREGATES, NEMO, arguments
from deltalog.languages.nemo.lexer import MAX_DEPTH, Word, term_end, words

Statement = tree.Statement | tree.FileDirective | tree.Output | tree.ParameterDirective
ATTRIBUTES = ("name", "display")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
MAX_NESTING = 200  # of operations in a row
PREFIXES = {"xsd": XSD, "rdf": RDF}


class _Wrong(Exception):
    """A statement cannot be read; the diagnostic is there already."""


class Parser:
    """The statements of one text, or the term that a part of it is."""

    def __init__(self, source: Source, start: int = 0, end: int | None = None) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.prefixes: dict[str, str] = {}
        self.base = ""
        self.words = list(words(source, self.diagnostics, start, end))
        self.at = self.depth = 0
        self._anonymous = count()
        self._predicates = _derived(self.words)

    # Statements

    def statements(self) -> Iterator[Statement]:
        while self._word.kind != "end":
            self._anonymous = count()
            try:
                statement = self._statement()
                self._expect(".")
            except _Wrong:
                self._skip_statement()
                continue
            if statement is not None:
                yield statement

    def _statement(self) -> Statement | None:
        word = self._word
        if word.kind != "directive":
            return self._rule()
        self.at += 1
        match word.text:
            case "@prefix":
                self._prefix()
                return None
            case "@base":
                self.base = self._expect("iri").text[1:-1]
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
        raise self._wrong(f"there is no directive {word.text}", word, hint)

    def _prefix(self) -> None:
        word = self._expect("prefixed")
        name, _, local = word.text.partition(":")
        if local:
            raise self._wrong("a prefix ends with a colon", word, f"Write @prefix {name}: <http://...> .")
        self.prefixes[name] = self._expect("iri").text[1:-1]

    def _parameter(self, start: Word) -> tree.ParameterDirective:
        name = self._expect("parameter")
        value = self._term() if self._accept("=") else None
        return tree.ParameterDirective(name.text[1:], value, self._since(start))

    def _output(self, start: Word) -> tree.Output:
        names = [self._predicate()]
        while self._accept(","):
            names.append(self._predicate())
        return tree.Output(tuple(names), self._since(start))

    def _file(self, start: Word) -> tree.FileDirective:
        predicate = self._predicate()
        self._expect(":-")
        format = self._expect("name").text
        self._expect("{")
        attributes = [] if self._word.kind == "}" else [self._attribute()]
        while self._accept(","):
            attributes.append(self._attribute())
        self._expect("}")
        equations = []
        while self._accept(","):
            equations.append(self._literal())
        kind = start.text[1:]
        return tree.FileDirective(kind, predicate, format, tuple(attributes), tuple(equations), self._since(start))

    def _attribute(self) -> tuple[str, tree.Term]:
        name = self._expect("name").text
        self._expect("=")
        return name, self._term()

    def _rule(self) -> tree.Statement:
        while self._word.kind == "attribute":
            self._attributes()
        start = self._word
        heads = [self._atom()]
        while self._accept(","):
            heads.append(self._atom())
        body: list[tree.Literal] = []
        if self._accept(":-"):
            body.append(self._literal())
            while self._accept(","):
                body.append(self._literal())
        return tree.Statement(tuple(heads), tuple(body), self._since(start))

    def _attributes(self) -> None:
        """#[name("...")] and #[display("...")], which say nothing about facts."""
        self.at += 1
        while self._word.kind != "]":
            word = self._expect("name")
            if word.text not in ATTRIBUTES:
                hint = f"Attributes are {' '.join(ATTRIBUTES)}."
                raise self._wrong(f"there is no attribute `{word.text}` of rules", word, hint)
            self._expect("(")
            self._terms(")")
            if not self._accept(","):
                break
        self._expect("]")

    # Literals

    def _literal(self) -> tree.Literal:
        start = self._word
        if self._accept("~"):
            self._check_negated()
            return tree.Not(self._atom(), self._since(start))
        if self._is_atom():
            return self._atom()
        left = self._term()
        operator = next((sign for sign in COMPARISONS if self._word.kind == sign), None)
        if operator is None:
            return tree.Condition("", left, None, self._since(start))
        self.at += 1
        return tree.Condition(operator, left, self._term(), self._since(start))

    def _is_atom(self) -> bool:
        """Whether a predicate follows, and no function. The name of a function is a predicate if it is one in a head,
        and nothing is computed from it here."""
        word, after = self._word, self.words[min(self.at + 1, len(self.words) - 1)]
        if word.kind not in ("iri", "prefixed", "name") or after.kind != "(":
            return False
        if word.kind == "name" and word.text.upper() in NEMO:
            return word.text in self._predicates and _after_brackets(self.words, self.at + 1).kind in (",", ".")
        return True

    def _check_negated(self) -> None:
        word = self._word
        if word.kind == "name" and word.text.upper() in NEMO and word.text not in self._predicates:
            raise self._wrong("~ stands before a predicate", word, f"Write NOT({word.text}(...)).")

    def _atom(self) -> tree.Atom:
        start = self._word
        name = self._predicate()
        self._expect("(")
        terms = self._terms(")")
        if not terms:
            hint = "Nemo's predicates have at least one argument."
            raise self._wrong(f"`{name}` has no arguments", start, hint)
        return tree.Atom(name, terms, self._since(start))

    def _predicate(self) -> str:
        word = self._word
        if word.kind not in ("name", "iri", "prefixed"):
            raise self._unexpected("a predicate")
        self.at += 1
        return str(self._iri(word))

    # Terms

    def _terms(self, close: str) -> tuple[tree.Term, ...]:
        found = []
        self._deeper()
        while self._word.kind != close:
            found.append(self._term())
            if not self._accept(","):
                break
        self.depth -= 1
        self._expect(close)
        return tuple(found)

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._wrong(f"more than {MAX_DEPTH} brackets in brackets", self._word)

    def _term(self) -> tree.Term:
        start, left = self._word, self._product()
        for many in count(1):
            if (sign := self._word).kind not in ("+", "-"):
                break
            self._check_nesting(many, start)
            self.at += 1
            left = tree.Applied(sign.kind, (left, self._product()), self._since(start))
        return left

    def _product(self) -> tree.Term:
        start, left = self._word, self._primary()
        for many in count(1):
            if (sign := self._word).kind not in ("*", "/"):
                break
            self._check_nesting(many, start)
            self.at += 1
            left = tree.Applied(sign.kind, (left, self._primary()), self._since(start))
        return left

    def _check_nesting(self, many: int, start: Word) -> None:
        if many > MAX_NESTING:
            hint = "Compute it in several steps, with ?y = ... ."
            raise self._wrong(f"more than {MAX_NESTING} operations in one term", start, hint)

    def _primary(self) -> tree.Term:
        word = self._word
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
        raise self._unexpected("a term")

    def _signed(self, sign: Word) -> Constant:
        number = self._word
        if number.kind != "number" or number.span.start != sign.span.end:
            hint = "Nemo has no operator for that; write 0 - ?x."
            raise self._wrong(f"`{sign.text}` stands before a number only", sign, hint)
        self.at += 1
        return Constant(self._number(number, sign.text.replace("+", "") + number.text))

    def _number(self, word: Word, text: str) -> Value:
        try:
            return _number(text)
        except ValueError as error:
            raise self._wrong(str(error), word) from None

    def _name(self, word: Word) -> tree.Term:
        if self._word.kind != "(":
            is_boolean = word.text in ("true", "false")
            return Constant(word.text == "true") if is_boolean else Constant(self._iri(word))
        if word.kind != "name" or word.text.upper() not in NEMO:
            hint = f"Functions are {' '.join(sorted(NEMO))}."
            raise self._wrong(f"there is no function `{word.text}`", word, hint)
        self._expect("(")
        terms = self._terms(")")
        least, most = arguments(word.text.upper())
        if not least <= len(terms) <= most:
            wanted = in_words(least, most)
            raise self._wrong(f"{word.text} takes {wanted}, this has {len(terms)}", word)
        return tree.Applied(word.text.upper(), terms, self._since(word))

    def _aggregate(self, word: Word) -> tree.Aggregated:
        name = word.text[1:].lower()
        if name not in AGGREGATES:
            hint = f"Aggregates are {' '.join(f'#{each}' for each in AGGREGATES)}."
            raise self._wrong(f"there is no aggregate `{word.text}`", word, hint)
        self._expect("(")
        terms = self._terms(")")
        if not terms:
            raise self._wrong(f"{word.text} needs a term to aggregate", word)
        return tree.Aggregated(name, terms[0], terms[1:], self._since(word))

    def _bracket(self, word: Word) -> tree.Term:
        terms = self._terms(")")
        return terms[0] if len(terms) == 1 else tree.Tuple(terms, self._since(word))

    # Constants

    def _string(self, word: Word) -> Value:
        text = word.text[3:-3] if word.kind == "long" else word.text[1:-1]
        if self._accept("@"):
            return literal_value(text, None, self._expect("name").text + self._subtags())
        if self._word.kind == "directive" and self._word.span.start == word.span.end:
            return literal_value(text, None, self._expect("directive").text[1:] + self._subtags())  # @en
        if not self._accept("^^"):
            return text
        datatype = self._word
        self.at += 1
        try:
            return literal_value(text, str(self._iri(datatype)))
        except ValueError as error:
            raise self._wrong(str(error), word) from None

    def _subtags(self) -> str:
        """The rest of a language such as en-GB, without spaces; `"a"@en - 1` has none."""
        found = ""
        while self._word.kind == "-" and self._is_joined(self.at) and self._is_joined(self.at + 1):
            self.at += 1
            found += "-" + self._expect("number" if self._word.kind == "number" else "name").text
        return found

    def _is_joined(self, at: int) -> bool:
        """Whether nothing is between a word and the one before."""
        return self.words[at].span.start == self.words[at - 1].span.end

    def _formatted(self, word: Word) -> tree.Term:
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
            self.diagnostics.append(Diagnostic("this `{` is not closed", Span(self.source, start - 1, start)))
            raise _Wrong
        inside = Parser(self.source, start, end)
        inside.prefixes, inside.base, inside._anonymous = self.prefixes, self.base, self._anonymous
        inside.depth = self.depth
        try:
            inside._deeper()
            term = inside._term()
            if inside._word.kind != "end":
                raise inside._unexpected("`}`")
            return term
        finally:
            self.diagnostics += inside.diagnostics

    def _iri(self, word: Word) -> IRI:
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
            raise self._wrong(f"the prefix `{prefix}:` has not been declared", word, hint)
        return IRI(space + local)

    # Words

    @property
    def _word(self) -> Word:
        return self.words[self.at]

    def _accept(self, kind: str) -> bool:
        if self._word.kind != kind:
            return False
        self.at += 1
        return True

    def _expect(self, kind: str) -> Word:
        word = self._word
        if word.kind != kind:
            raise self._unexpected({"iri": "an <iri>", "name": "a name", "prefixed": "a prefix"}.get(kind, f"`{kind}`"))
        self.at += 1
        return word

    def _unexpected(self, wanted: str) -> _Wrong:
        word = self._word
        what = f"did not expect `{word.text}` here"
        if word.kind == "end":
            whole = "program" if word.span.end == len(self.source.text) else "term"
            what = f"the {whole} ends too early"
        return self._wrong(what, word, f"Expected {wanted}.")

    def _wrong(self, message: str, word: Word, hint: str | None = None) -> _Wrong:
        self.diagnostics.append(Diagnostic(message, word.span, hint))
        return _Wrong()

    def _since(self, start: Word) -> Span:
        return Span(self.source, start.span.start, self.words[max(self.at - 1, 0)].span.end)

    def _skip_statement(self) -> None:
        self.depth = 0
        while self._word.kind not in (".", "end"):
            self.at += 1
        self._accept(".")


def _derived(program: list[Word]) -> set[str]:
    """The names before `(` in the heads of statements."""
    found, depth, in_head = set(), 0, True
    for word, after in pairwise(program):
        if word.kind == "name" and after.kind == "(" and in_head and not depth:
            found.add(word.text)
        depth += {"(": 1, ")": -1}.get(word.kind, 0)
        in_head = word.kind == "." or (in_head and word.kind not in (":-", "directive"))
        depth = 0 if word.kind == "." else depth
    return found


def _after_brackets(program: list[Word], at: int) -> Word:
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
