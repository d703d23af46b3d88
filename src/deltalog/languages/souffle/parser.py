"""Tokens to statements, by recursive descent.

    program    = { statement }
    statement  = ".decl" names "(" attributes ")" qualifiers [ "choice-domain" keys ]
               | ".type" name ( "<:" type | "=" type { "|" type } | "=" "[" attributes "]" | "=" branches )
               | ( ".input" | ".output" | ".printsize" | ".limitsize" ) relations [ "(" parameters ")" ]
               | ".comp" component { ":" component } "{" { statement } "}"  |  ".init" name "=" component
               | ".override" name  |  ".pragma" string [ string ]
               | atom { "," atom } [ ":-" body ] "." [ ".plan" ... ]  |  atom "<=" atom ":-" body "."
    body       = conjunct { ";" conjunct };   conjunct = term { "," term }
    term       = atom | "!" term | "(" body ")" | argument comparison argument | "match" | "contains" | "true" | "false"
    argument   = operators over constants, variables, records, branches, functors and aggregates

Statements have no separator, so a hand-written parser recovers from errors best: it skips to the next `.` or directive,
and reports every wrong statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Source, Span
from deltalog.functions import registry
from deltalog.functions.function import ANY_NUMBER, SOUFFLE
from deltalog.languages.souffle import tree
from deltalog.languages.souffle.tokens import Preprocessor, unescaped
from deltalog.languages.tokens import Cursor, Token, Unexpected

T = TypeVar("T")

AGGREGATES = tuple(registry.aggregates_named(SOUFFLE))
_CONVERSIONS = ("to_float", "to_number", "to_string", "to_unsigned")
FUNCTORS = {  # how many arguments each takes
    **{name: (each.least, each.most) for name, each in registry.named(SOUFFLE).items()},
    **{"range": (2, 3), **dict.fromkeys(_CONVERSIONS, (1, 1))},
}
QUALIFIERS = (
    *("overridable", "inline", "no_inline", "magic", "no_magic", "brie", "btree", "btree_delete", "eqrel", "output"),
    *("btree_min", "btree_max", "input", "printsize"),
)
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_BINARY: tuple[dict[str, str], ...] = (  # from the weakest on
    {"lor": "||"},
    {"lxor": "^^"},
    {"land": "&&"},
    {"bor": "|"},
    {"bxor": "^"},
    {"band": "&"},
    {"bshl": "<<", "bshr": ">>", "bshru": ">>>"},
    {"+": "+", "-": "-"},
    {"*": "*", "/": "/", "%": "%"},
)
_OTHERS = ("match", "contains", "true", "false", "nil", "as", "autoinc", "recursive_iteration_cnt", "_")
WORDS = frozenset((*FUNCTORS, *AGGREGATES, *_OTHERS, *(word for level in _BINARY for word in level)))
_IO = ("input", "output", "printsize", "limitsize")


def parse(
    preprocessor: Preprocessor, source: Source, folder: Path | None
) -> tuple[list[tree.Statement], list[Diagnostic]]:
    """The statements of a text that could be read, and what is wrong with the others. Without all of its files, a
    program is not read: most errors would only say that."""
    tokens = list(preprocessor.tokens(source, folder))
    if preprocessor.is_incomplete:
        return [], preprocessor.diagnostics
    parser = Parser(tokens, Span(source, len(source.text), len(source.text)))
    statements = list(parser.statements(inside=False))
    return statements, [*preprocessor.diagnostics, *parser.diagnostics]


class Parser(Cursor[Token]):
    """The statements of tokens."""

    def __init__(self, tokens: Sequence[Token], end: Span) -> None:
        self.tokens = [*tokens, Token("end", "", end)]
        self.diagnostics: list[Diagnostic] = []
        self.functors: set[str] = set()  # user-defined ones that were refused

    # Tokens

    def key(self, token: Token) -> str:
        return token.text if token.kind in ("op", "name", "directive") else ""

    def name(self, what: str = "a name") -> Token:
        if self.next.kind != "name" or self.next.text == "_":
            raise self.unexpected(what)
        return self.take()

    def qualified(self, what: str = "a name", joined: bool = False) -> str:
        """A name with dots; joined: only without spaces, where a dot may be the end of a rule."""
        parts = [self.name(what).text]
        while self.sees(".") and self.after.kind == "name" and (not joined or self._is_joined()):
            self.take()
            parts.append(self.take().text)
        return ".".join(parts)

    def _is_joined(self) -> bool:
        """Whether this dot has no space before it and behind it."""
        return self.next.joined and self.after.joined

    def string(self) -> str:
        if self.next.kind != "string":
            raise self.unexpected("a string")
        return unescaped(self.take(), self._complain)

    def _complain(self, message: str, span: Span) -> None:
        self.diagnostics.append(Diagnostic(message, span))

    def annotations(self) -> None:
        """Goes behind annotations `@[key = ...]` and `@![key ...]`, which change nothing."""
        while self.sees("@") and self._after_at() is not None:
            self.at = self._after_at() or self.at
            self.name("the key of an annotation")
            depth = 1
            while depth and self.next.kind != "end":
                depth += self.sees("[", "(", "{") - self.sees("]", ")", "}")
                self.take()

    def _after_at(self) -> int | None:
        """The place behind the opening bracket of an annotation."""
        at = self.at + 1 + (self.after.text == "!")
        return at + 1 if self.tokens[at].text == "[" else None

    def annotated(self, one: Callable[[], T]) -> Callable[[], T]:
        """Reads something behind its annotations."""

        def read() -> T:
            self.annotations()
            return one()

        return read

    # Statements

    def statements(self, inside: bool) -> Iterator[tree.Statement]:
        while True:
            self.annotations()
            if self.next.kind == "end" or (inside and self.sees("}")):
                return
            yield from self.next_statement()

    def next_statement(self) -> Iterator[tree.Statement]:
        before = self.at
        try:
            yield from self.statement()
        except Unexpected as error:
            self.diagnostics.append(error.diagnostic)
            self.recover(before)

    def recover(self, before: int) -> None:
        """Goes to where the next statement seems to begin."""
        self.at = max(self.at, before + 1)
        while self.next.kind not in ("end", "directive"):
            if self.take().text == "." and self.tokens[self.at - 1].kind == "op":
                return

    def statement(self) -> Iterator[tree.Statement]:
        start = self.next
        if start.kind != "directive":
            yield self.clause()
            return
        self.take()
        word = start.text[1:]
        if word in _IO:
            yield from self.io(word, start.span)
        elif word == "decl":
            yield from self.relations(start.span)
        elif word == "functor":
            self.functor(start.span)
        elif word == "lattice":
            raise Unexpected(_REFUSED[word][0], start.span, _REFUSED[word][1])
        else:
            yield getattr(self, f"_{word}")(start.span)

    def functor(self, start: Span) -> None:
        """Refuses the declaration of a functor, and goes on behind it."""
        self.refuse_functor(self.name("the name of a functor").text, start)
        self.expect("(")
        while not self.accept(")") and self.next.kind != "end":
            self.take()
        self.expect(":")
        self.qualified("a type")
        self.accept("stateful")

    def refuse_functor(self, name: str, start: Span) -> None:
        """Reports a user-defined functor, once."""
        if name not in self.functors:
            self.functors.add(name)
            message, hint = _REFUSED["functor"]
            self.diagnostics.append(Diagnostic(f"{message}: {name}", self.since(start), hint))

    def relations(self, start: Span) -> Iterator[tree.Statement]:
        names = [self.name("the name of a relation")]
        while self.accept(","):
            names.append(self.name("the name of a relation"))
        source: str | None = None
        attributes: tuple[tree.Attribute, ...] = ()
        if self.accept("="):
            source = self.debug_delta()
        else:
            self.expect("(")
            attributes = self.listed(self.attribute, ")")
        qualifiers = self.qualifiers()
        choice = self.separated(self.choice_key) if self.accept("choice-domain") else ()
        for name in names:
            yield tree.RelationDeclaration(name.span, name.text, attributes, qualifiers, choice, source)
            for word in set(qualifiers).intersection(_IO):
                yield tree.DirectiveNode(name.span, word, name.text, {})

    def qualifiers(self) -> tuple[str, ...]:
        found: list[str] = []
        while self.sees(*QUALIFIERS):
            found.append(self.take().text)
        begins_rule = self.after.text in ("(", ".")
        if self.next.kind == "name" and not begins_rule and not self.sees("choice-domain"):
            known = ", ".join((*QUALIFIERS, "choice-domain"))
            raise Unexpected(f"there is no qualifier {self.next.text}", self.next.span, f"There are {known}.")
        return tuple(found)

    def debug_delta(self) -> str:
        """The relation whose deltas are kept."""
        self.expect("debug_delta")
        self.expect("(")
        source = self.qualified("the name of a relation")
        self.expect(")")
        return source

    def choice_key(self) -> tuple[str, ...]:
        if self.accept("("):
            return self.listed(lambda: self.name("an attribute").text, ")")
        return (self.name("an attribute").text,)

    def attribute(self) -> tree.Attribute:
        self.annotations()
        name = self.name("an attribute such as x:number")
        self.expect(":")
        span = self.next.span
        type_ = self.qualified("a type")
        if self.sees("<"):
            raise Unexpected(_REFUSED["lattice"][0], self.next.span, _REFUSED["lattice"][1])
        return tree.Attribute(self.since(span), name.text, type_)

    def _type(self, start: Span) -> tree.Statement:
        name = self.name("the name of a type")
        if self.accept("<:"):
            return tree.TypeDeclaration(name.span, name.text, "subtype", (self.qualified("a type"),))
        if not self.accept("="):
            return tree.TypeDeclaration(name.span, name.text, "subtype", ("symbol",))
        if self.accept("["):
            return tree.TypeDeclaration(name.span, name.text, "record", attributes=self.listed(self.attribute, "]"))
        self.annotations()
        if self.after.text == "{":
            branches = self.separated(self.annotated(self.branch), "|")
            return tree.TypeDeclaration(name.span, name.text, "adt", branches=branches)
        types = self.separated(lambda: self.qualified("a type"), "|")
        return tree.TypeDeclaration(name.span, name.text, "union", types)

    def branch(self) -> tree.BranchDeclaration:
        name = self.name("a branch such as Leaf {}")
        self.expect("{")
        self.annotations()
        return tree.BranchDeclaration(name.span, name.text, self.listed(self.attribute, "}"))

    def _number_type(self, start: Span) -> tree.Statement:
        name = self.name("the name of a type")
        return tree.TypeDeclaration(name.span, name.text, "subtype", ("number",))

    def _symbol_type(self, start: Span) -> tree.Statement:
        name = self.name("the name of a type")
        return tree.TypeDeclaration(name.span, name.text, "subtype", ("symbol",))

    def io(self, word: str, start: Span) -> Iterator[tree.Statement]:
        names: list[tuple[str, Span]] = []
        while True:
            place = self.next.span
            name = self.qualified("the name of a relation")
            names.append((name, self.since(place)))
            if not self.accept(","):
                break
        parameters = dict(self.listed(self.parameter, ")")) if self.accept("(") else {}
        for name, span in names:
            yield tree.DirectiveNode(span, word, name, parameters)

    def parameter(self) -> tuple[str, str]:
        key = self.name("a parameter such as filename=...").text
        if self.accept("-"):  # output-dir
            key += f"-{self.name().text}"
        self.expect("=")
        if self.next.kind == "string":
            return key, self.string()
        if self.next.kind not in ("name", "number"):
            raise self.unexpected("a value")
        return key, self.take().text

    def component_type(self) -> tree.ComponentType:
        name = self.name("the name of a component")
        parameters: tuple[str, ...] = ()
        if self.accept("<"):
            parameters = self.listed(lambda: self.qualified("a type"), ">")
        return tree.ComponentType(name.span, name.text, parameters)

    def _comp(self, start: Span) -> tree.Statement:
        type_ = self.component_type()
        bases: list[tree.ComponentType] = []
        while self.accept(":") or self.accept(","):
            bases.append(self.component_type())
        self.expect("{")
        statements = tuple(self.statements(inside=True))
        self.expect("}")
        return tree.Component(type_.span, type_, tuple(bases), statements)

    def _init(self, start: Span) -> tree.Statement:
        name = self.name("a name such as c = Component")
        self.expect("=")
        return tree.Init(name.span, name.text, self.component_type())

    def _override(self, start: Span) -> tree.Statement:
        name = self.name("the name of a relation")
        return tree.Override(name.span, name.text)

    def _pragma(self, start: Span) -> tree.Statement:
        key = self.string()
        value = self.string() if self.next.kind == "string" else None
        return tree.Pragma(self.since(start), key, value)

    def _plan(self, start: Span) -> tree.Statement:
        while True:
            self.take()
            self.expect(":")
            self.expect("(")
            self.listed(self.take, ")")
            if not self.accept(","):
                return tree.Ignored(self.since(start), ".plan")

    # Rules

    def clause(self) -> tree.Statement:
        start = self.next.span
        heads = [self.atom()]
        if self.accept("<="):
            greater = self.atom()
            self.expect(":-")
            body = self.annotated(self.body)()
            self.expect(".")
            return tree.Subsumption(self.since(start), heads[0], greater, body)
        while self.accept(","):
            heads.append(self.annotated(self.atom)())
        body_ = self.annotated(self.body)() if self.accept(":-") else None
        self.expect(".", None if body_ is not None else "Expected `:-`, `,` or `.` after an atom.")
        return tree.Clause(self.since(start), tuple(heads), body_)

    def atom(self) -> tree.AtomNode:
        start = self.next.span
        name = self.qualified("an atom such as p(x)")
        self.expect("(", "Expected `(`: a relation without arguments is written p().")
        return tree.AtomNode(self.since(start), name, self.listed(self.argument, ")"))

    def body(self) -> tree.BodyNode:
        start = self.next.span
        parts = self.separated(self.conjunction, ";")
        return parts[0] if len(parts) == 1 else tree.OrNode(self.since(start), tuple(parts))

    def conjunction(self) -> tree.BodyNode:
        start = self.next.span
        parts = self.separated(self.term, ",")
        return parts[0] if len(parts) == 1 else tree.AndNode(self.since(start), tuple(parts))

    def term(self) -> tree.BodyNode:
        start = self.next
        if self.accept("!"):
            operand = self.term()
            return tree.NotNode(self.since(start.span), operand)
        if self.sees("true", "false"):
            return tree.Truth(self.take().span, start.text == "true")
        if self.sees("match", "contains"):
            self.take()
            self.expect("(")
            left = self.argument()
            self.expect(",")
            right = self.argument()
            self.expect(")")
            return tree.Comparison(self.since(start.span), start.text, left, right)
        if self.sees("("):
            return self.one_of(self.comparison, self.parenthesis)
        return self.atom() if self._is_atom() else self.comparison()

    def _is_atom(self) -> bool:
        if self.next.kind != "name" or self.next.text in WORDS:
            return False
        i = self.at + 1
        while self.tokens[i].text == "." and self.tokens[i + 1].kind == "name":
            i += 2
        return self.tokens[i].text == "(" and self.tokens[i].kind == "op"

    def one_of(self, first: Callable[[], tree.BodyNode], second: Callable[[], tree.BodyNode]) -> tree.BodyNode:
        """What one of two ways reads; if both fail, the error of the one that came further."""
        start = self.at
        try:
            return first()
        except Unexpected as error:
            reached = self.at
            self.at = start
            try:
                return second()
            except Unexpected as other:
                raise other if self.at >= reached else error from None

    def parenthesis(self) -> tree.BodyNode:
        self.expect("(")
        body = self.body()
        self.expect(")")
        return body

    def comparison(self) -> tree.BodyNode:
        start = self.next.span
        left = self.argument()
        if not self.sees(*COMPARISONS):
            raise self.unexpected("a comparison", "Expected an atom such as p(x), or a comparison: = != < <= > >=")
        operator = self.take().text
        right = self.argument()
        return tree.Comparison(self.since(start), operator, left, right)

    # Arguments

    def argument(self, level: int = 0) -> tree.Argument:
        if level == len(_BINARY):
            return self.unary()
        start = self.next.span
        left = self.argument(level + 1)
        while self.sees(*_BINARY[level]):
            operator = _BINARY[level][self.take().text]
            right = self.argument(level + 1)
            left = tree.Functor(self.since(start), operator, (left, right))
        return left

    def unary(self) -> tree.Argument:
        start = self.next
        if self.sees("-"):
            self.take()
            inner = self.unary()
            if isinstance(inner, tree.NumberNode) and not inner.text.startswith("-"):
                return tree.NumberNode(self.since(start.span), "-" + inner.text, inner.fixed)
            return tree.Functor(self.since(start.span), "neg", (inner,))
        if self.sees("bnot", "lnot"):
            name = "~" if self.take().text == "bnot" else "!"
            return tree.Functor(self.since(start.span), name, (self.unary(),))
        base = self.primary()
        if self.accept("^"):
            return tree.Functor(self.since(start.span), "**", (base, self.unary()))
        return base

    def primary(self) -> tree.Argument:
        token = self.next
        if token.kind == "string":
            return tree.Text(token.span, self.string())
        if token.kind in ("number", "unsigned", "float"):
            self.take()
            text = token.text.removesuffix("u") if token.kind == "unsigned" else token.text
            return tree.NumberNode(token.span, text, None if token.kind == "number" else token.kind)
        if token.kind == "name":
            return self.word()
        if self.accept("("):
            inner = self.argument()
            self.expect(")")
            return inner
        if self.accept("["):
            arguments = self.listed(self.argument, "]")
            return tree.RecordNode(self.since(token.span), arguments)
        if self.accept("$"):
            return self.dollar(token.span)
        if self.accept("@"):
            return self.user_defined(token.span)
        raise self.unexpected("a variable, a constant or an expression")

    def user_defined(self, start: Span) -> tree.Argument:
        """Refuses a functor, or an aggregate (`@@`), and goes on behind its arguments."""
        aggregates = self.accept("@")
        self.refuse_functor(self.name("the name of a functor").text, start)
        if aggregates:
            raise Unexpected(_REFUSED["functor"][0], start)
        self.expect("(")
        self.listed(self.argument, ")")
        return tree.Unnamed(self.since(start))

    def dollar(self, start: Span) -> tree.Argument:
        if self.next.kind != "name":
            return tree.Counter(start)
        name = self.qualified(joined=True)
        arguments = self.listed(self.argument, ")") if self.accept("(") else ()
        return tree.Branch(self.since(start), name, arguments)

    def word(self) -> tree.Argument:
        token = self.next
        if token.text in AGGREGATES:
            return self.aggregate()
        self.take()
        match token.text:
            case "_":
                return tree.Unnamed(token.span)
            case "nil":
                return tree.Nil(token.span)
            case "autoinc":
                self.expect("(")
                self.expect(")")
                return tree.Counter(token.span)
            case "recursive_iteration_cnt":
                self.expect("(")
                self.expect(")")
                return tree.Iteration(token.span)
            case "as":
                return self.cast(token.span)
        if self.sees("("):
            return self.call(token)
        return tree.VariableNode(token.span, token.text)

    def cast(self, start: Span) -> tree.Argument:
        self.expect("(")
        argument = self.argument()
        self.expect(",")
        type_ = self.qualified("a type")
        self.expect(")")
        return tree.Cast(self.since(start), argument, type_, isinstance(argument, tree.NumberNode))

    def call(self, name: Token) -> tree.Argument:
        if name.text not in FUNCTORS:
            known = ", ".join(sorted(FUNCTORS))
            raise Unexpected(f"there is no functor {name.text}", name.span, f"There are {known}.")
        self.expect("(")
        arguments = self.listed(self.argument, ")")
        least, most = FUNCTORS[name.text]
        if not least <= len(arguments) <= most:
            wanted = (
                str(least) if least == most else f"at least {least}" if most == ANY_NUMBER else f"{least} to {most}"
            )
            raise Unexpected(f"{name.text} takes {wanted} arguments", self.since(name.span), "Check the arguments.")
        return tree.Functor(self.since(name.span), {"lnot": "!", "bnot": "~"}.get(name.text, name.text), arguments)

    def aggregate(self) -> tree.Argument:
        token = self.take()
        if self.sees("(") and token.text in ("min", "max"):
            start = self.at
            self.take()
            try:
                arguments = self.listed(self.argument, ")")
            except Unexpected:
                arguments = ()
            if len(arguments) > 1:
                return tree.Functor(self.since(token.span), token.text, arguments)
            self.at = start
        argument = None if self.sees(":") else self.argument()
        if argument is None and token.text != "count":
            raise self.unexpected(f"what to take the {token.text} of")
        self.expect(":")
        if self.accept("{"):
            body = self.body()
            self.expect("}")
        else:
            body = self.atom()
        return tree.AggregateNode(self.since(token.span), token.text, argument, body)


_REFUSED = {
    "functor": (
        "user-defined functors are not supported",
        "They are C++ code in a library of their own. Compute the values before, and read them as facts.",
    ),
    "lattice": ("lattices are not supported", "Use an aggregate, or a subsumptive rule: p(x, a) <= p(x, b) :- a <= b."),
}
