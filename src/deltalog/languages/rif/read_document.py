"""From the elements of a RIF document to rules.

    Frame   s[p -> o]       the triple [s, p, o], which is p(s, o)
    Member  s # C           the triple [s, rdf:type, C], which is C(s)
    Atom    p(a b c)        p(a, b, c), for any number of arguments
    Or, Equal, External     alternatives, an equality, a condition
    Exists                  variables with names of their own

A constant of rif:iri is an IRI, one of rif:local the blank node of that name; as the name of a predicate it is bare.
A list is a tuple. Each sentence is read on its own, so that one with an error hides no other error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count

from deltalog.core.errors import Diagnostic, SyntaxProblem
from deltalog.core.flatten import flattened
from deltalog.core.rules import (
    Atom,
    BodyLiteral,
    Call,
    Constant,
    Disjunction,
    Expression,
    Filter,
    Rule,
    Variable,
    triple,
)
from deltalog.core.terms import IRI, RDF, RDF_TYPE, XSD, BlankNode, Value, literal
from deltalog.functions.datatypes import in_value_space
from deltalog.functions.scalar import ExpressionFails, evaluate
from deltalog.functions.skolem import skolem
from deltalog.languages.rif.built_ins import NoBuiltIn, condition, value
from deltalog.languages.rif.elements import RIF, Element, NotRifCore, read_elements

Declared = Mapping[str, Variable]  # the variables that are declared, by their names in the document

_BEYOND = "deltalog reads RIF Core; this is of another dialect, or no RIF."
_IMPORT = "Name RIF files beside this one on the command line, and RDF files with --data or --ontology."
_LISTED = "docs/ontologies.md lists the built-ins that there are."


def read_rif(text: str, name: str = "<text>") -> tuple[Rule, ...]:
    """The rules and facts of a document; SyntaxProblem has all errors."""
    rules: list[Rule] = []
    wrong: list[Diagnostic] = []
    document = read_elements(text, name)
    if document.name != "Document":
        hint = f'A RIF document is <Document xmlns="{RIF}">.'
        raise SyntaxProblem([Diagnostic(f"<{document.name}> is no RIF document", document.span, hint)])
    for sentence in _sentences(document):
        try:
            sentence.check()
            rules += _Sentence().rules(sentence, {})
        except NotRifCore as refused:
            wrong.append(refused.diagnostic)
    if wrong:
        raise SyntaxProblem(wrong, rules)
    return tuple(rules)


def _sentences(element: Element) -> Iterator[Element]:
    for part in element.parts:
        if part.name in ("payload", "Group", "sentence", "directive") and not part.text.strip():
            yield from _sentences(part)
        else:
            yield part


class _Sentence:
    """A rule or a fact, and the names that its variables have so far."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def rules(self, element: Element, scope: Declared) -> list[Rule]:
        match element.name:
            case "Forall":
                return self.rules(element.one("formula"), self._declared(element, scope))
            case "Implies":
                body = self._body(element.one("if"), scope)
                heads = self._heads(element.one("then"), scope)
            case "Import":
                raise element.refused("imports are not followed", _IMPORT)
            case _:
                heads, body = self._heads(element, scope), ()
        return [_computed(Rule(heads, body, element.span))] if heads else []

    def _declared(self, element: Element, scope: Declared) -> Declared:
        return {**scope, **{each.text.strip(): self._new(each) for each in element.all("declare")}}

    def _new(self, declared: Element) -> Variable:
        """A variable with a name that no other variable of the sentence has."""
        base = re.sub(r"\W", "_", declared.text.strip())
        base = base if base[:1].isalpha() else f"v{base}"
        name = next(name for i in count(1) if (name := base if i == 1 else f"{base}_{i}") not in self._used)
        self._used.add(name)
        return Variable(name)

    # Formulas

    def _heads(self, element: Element, scope: Declared) -> tuple[Atom, ...]:
        match element.name:
            case "And":
                return tuple(atom for part in element.all("formula") for atom in self._heads(part, scope))
            case "Atom" | "Frame" | "Member":
                return tuple(self._atoms(element, scope))
            case "Equal":
                raise element.refused("an equality cannot be concluded", "Conclude a frame with owl:sameAs.")
            case _:
                raise element.refused(f"<{element.name}> can be neither a sentence nor a conclusion", _BEYOND)

    def _body(self, element: Element, scope: Declared) -> tuple[BodyLiteral, ...]:
        match element.name:
            case "And":
                return tuple(each for part in element.all("formula") for each in self._body(part, scope))
            case "Or":
                bodies = (self._body(part, scope) for part in element.all("formula"))
                alternatives = tuple(body or (Filter(Constant(True)),) for body in bodies)
                return (Disjunction(alternatives, element.span) if alternatives else Filter(Constant(False)),)
            case "Exists":
                return self._body(element.one("formula"), self._declared(element, scope))
            case "Atom" | "Frame" | "Member":
                return tuple(self._atoms(element, scope))
            case "Equal":
                sides = (self._term(element.one("left"), scope), self._term(element.one("right"), scope))
                return (Filter(Call("=", sides, element.span), element.span),)
            case "External":
                called = self._external(element, "Atom", scope)
                return tuple(Filter(each, element.span) for each in _conjuncts(called))
            case _:
                raise element.refused(f"<{element.name}> is no condition", _BEYOND)

    def _atoms(self, element: Element, scope: Declared) -> Iterator[Atom]:
        """The atoms of an Atom, a Member or a Frame; their arguments may be expressions until the rule is flattened."""
        if element.name == "Atom":
            yield Atom(_predicate(element), self._arguments(element, scope), element.span)  # type: ignore[arg-type]
        elif element.name == "Member":
            member, group = (self._term(element.one(part), scope) for part in ("instance", "class"))
            yield triple(member, Constant(RDF_TYPE), group, element.span)  # type: ignore[arg-type]
        else:
            thing = self._term(element.one("object"), scope)
            for slot in (part for part in element.parts if part.name == "slot"):
                if len(slot.parts) != 2:
                    raise slot.refused("a slot has a name and a value")
                key, filler = (self._term(each, scope) for each in slot.parts)
                if isinstance(key, Constant):
                    key = Constant(IRI(_name(slot.parts[0])))
                yield triple(thing, key, filler, slot.span)  # type: ignore[arg-type]

    # Terms

    def _term(self, element: Element, scope: Declared) -> Expression:
        match element.name:
            case "Var":
                return self._variable(element, scope)
            case "Const":
                return Constant(_constant(element))
            case "List":
                return self._list(element, scope)
            case "External":
                return self._external(element, "Expr", scope)
            case "Expr":
                raise element.refused("functions other than built-ins are not supported", _BEYOND)
            case _:
                raise element.refused(f"<{element.name}> is no term", _BEYOND)

    def _variable(self, element: Element, scope: Declared) -> Variable:
        name = element.text.strip()
        if name not in scope:
            raise element.refused(f"the variable {name} is not declared", "Declare it in <Forall> or <Exists>.")
        return Variable(scope[name].name, element.span)

    def _list(self, element: Element, scope: Declared) -> Expression:
        if any(element.all("rest")):
            raise element.refused("a list with a <rest> is not supported")
        items = tuple(self._term(each, scope) for each in element.all("items"))
        return _folded(Call("tuple", items, element.span))

    def _arguments(self, element: Element, scope: Declared) -> tuple[Expression, ...]:
        if any(part.name == "slot" for part in element.parts):
            raise element.refused("arguments with names are not supported", _BEYOND)
        return tuple(self._term(each, scope) for each in element.all("args"))

    def _external(self, element: Element, kind: str, scope: Declared) -> Expression:
        """The expression of a built-in predicate (an Atom) or function (an Expr)."""
        called = element.one("content")
        if called.name != kind:
            raise called.refused(f"<{called.name}> is not supported in <External> here; <{kind}> is")
        arguments = self._arguments(called, scope)
        try:
            return (condition if kind == "Atom" else value)(_predicate(called), arguments)
        except NoBuiltIn as problem:
            raise called.one("op").refused(str(problem), _LISTED) from None


def _conjuncts(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Call) and expression.function == "&&":
        yield from (each for side in expression.arguments for each in _conjuncts(side))
    else:
        yield expression


def _computed(rule: Rule) -> Rule:
    """A rule without expressions in its atoms; a fact whose arguments are computed is a fact."""
    if rule.body:
        return flattened(rule)
    heads = [Atom(head.name, tuple(map(_folded, head.terms)), head.span) for head in rule.heads]  # type: ignore[arg-type]
    return flattened(Rule(tuple(heads), (), rule.span))


def _folded(term: Expression) -> Expression:
    """The constant that an expression without variables is, if it has a value."""
    if not isinstance(term, Call):
        return term
    try:
        return Constant(evaluate(term, {}))
    except ExpressionFails:
        return term


def _predicate(element: Element) -> str:
    return _name(element.one("op"))


def _name(element: Element) -> str:
    """The name of a predicate, a function or a slot."""
    if element.name != "Const" or not isinstance(_constant(element), IRI | BlankNode):
        raise element.refused("the name of a predicate, a function or a slot is an IRI or a local name")
    return element.text.strip()


def _is_local(element: Element) -> bool:
    return element.attributes.get("type") == f"{RIF}local"


def _constant(element: Element) -> Value:
    datatype, text = element.attributes.get("type"), element.text
    if datatype is None or element.parts:
        raise element.refused("a <Const> has a type and a text", f'As in <Const type="{XSD}integer">1</Const>.')
    if datatype == f"{RIF}iri":
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|^`\\]*", text.strip()):
            raise element.refused(f"{text.strip()!r} is no absolute IRI")
        return IRI(text.strip())
    if _is_local(element):
        return BlankNode(text.strip()) if re.fullmatch(r"\w+", text.strip()) else skolem(text.strip())
    if datatype == f"{RDF}PlainLiteral":
        text, at, language = text.rpartition("@")
        if not at:
            raise element.refused("the text of an rdf:PlainLiteral ends with @ and a language, or with @")
        return literal(text, language=language)
    found = literal(text if datatype == f"{XSD}string" else text.strip(), datatype)
    if in_value_space(found, datatype) is False:
        raise element.refused(f"{text.strip()!r} is no value of <{datatype}>")
    return found
