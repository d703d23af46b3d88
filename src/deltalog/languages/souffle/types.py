"""Types: what is declared, and the type of every argument of a clause.

A type has a base: symbol, number, unsigned, float, record or adt. The base decides which function an operator is (`+`
of numbers wraps around at 32 bits, `+` of symbols concatenates) and what a constant such as `1` means. `Inference`
finds types as Soufflé does, by what surrounds an argument: attributes of atoms, operators, equalities, to the fixpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Span
from deltalog.functions import registry
from deltalog.functions.function import SOUFFLE, Sort
from deltalog.functions.function import SOUFFLE_PREFIX as PREFIX
from deltalog.languages.souffle import tree
from deltalog.languages.souffle.parser import COMPARISONS

PRIMITIVE = ("symbol", "number", "unsigned", "float")
NUMERIC = ("number", "unsigned", "float")
LETTER = {"symbol": "s", "number": "i", "unsigned": "u", "float": "f"}
_NAMES = {letter: type_ for type_, letter in LETTER.items()}
_FIXED = {  # functors with types of their own
    name: each for name, each in registry.named(SOUFFLE).items() if each.name == PREFIX + name
}
CONVERSIONS = {  # from what, to what
    name: (_NAMES[each.name[-3]], _NAMES[each.name[-1]])
    for name, each in registry.named(SOUFFLE).items()
    if each.name[-2] == ">"
}
_BASES = {Sort.TEXT: "symbol", Sort.INTEGER: "number"}
_TO = {"to_float": "float", "to_number": "number", "to_string": "symbol", "to_unsigned": "unsigned"}
_INTEGERS_ONLY = ("%", "&", "|", "^", "<<", ">>", ">>>", "&&", "||", "^^", "~", "!")


@dataclass(frozen=True)
class Types:
    """The declared types by name."""

    declared: Mapping[str, tree.TypeDeclaration]

    def known(self, name: str) -> bool:
        return name in PRIMITIVE or name in self.declared

    def base(self, name: str) -> str | None:
        """symbol, number, unsigned, float, record or adt; None if the name says nothing."""
        seen: set[str] = set()
        while name not in PRIMITIVE:
            declaration = self.declared.get(name)
            if declaration is None or name in seen:
                return None
            if declaration.kind in ("record", "adt"):
                return declaration.kind
            seen.add(name)
            name = declaration.types[0]
        return name

    def structure(self, name: str) -> tree.TypeDeclaration | None:
        """The record or algebraic data type that a type is, or is a subtype of."""
        for _ in range(len(self.declared) + 1):
            declaration = self.declared.get(name)
            if declaration is None or declaration.kind in ("record", "adt"):
                return declaration
            name = declaration.types[0]
        return None

    def enumeration(self, name: str | None) -> tuple[str, ...]:
        """The branches of an algebraic data type without fields, as Soufflé numbers them: by their names."""
        structure = self.structure(name) if name else None
        branches = structure.branches if structure else ()
        return () if any(each.attributes for each in branches) else tuple(sorted(each.name for each in branches))

    def branch(self, name: str, type_: str | None) -> tuple[str, tree.BranchDeclaration] | None:
        """The algebraic data type of a branch, in a given one if it is known, and its declaration."""
        structure = self.structure(type_) if type_ else None
        declarations = [structure] if structure else list(self.declared.values())
        branches = [(declaration.name, branch) for declaration in declarations for branch in declaration.branches]
        full = (found for found in branches if found[1].name == name)
        last = (found for found in branches if found[1].name.split(".")[-1] == name.split(".")[-1])
        return next(full, None) or next(last, None)

    def roots(self, name: str) -> frozenset[str]:
        """The types that a type is made of: those that are no unions and no other names."""
        declaration = self.declared.get(name)
        if declaration is None or declaration.kind != "union":
            return frozenset((name,))
        return frozenset().union(*(self.roots(each) for each in declaration.types if each != name))

    def is_subtype(self, name: str, other: str) -> bool:
        """Whether all values of a type belong to another."""
        return all(self._is_below(root, other) for root in self.roots(name))

    def _is_below(self, name: str, other: str) -> bool:
        above = self.roots(other)
        while name not in above:
            declaration = self.declared.get(name)
            if declaration is None or declaration.kind != "subtype":
                return False
            name = declaration.types[0]
            if not self.roots(name).isdisjoint(above):
                return True
            if len(self.roots(name)) > 1:
                return self.is_subtype(name, other)
        return True

    def check(self) -> Iterator[Diagnostic]:
        """What is wrong with the declarations."""
        for declaration in self.declared.values():
            for name in declaration.types:
                if not self.known(name):
                    yield unknown_type(name, declaration.span)
            if declaration.kind in ("subtype", "union"):
                bases = {self.base(name) for name in declaration.types if self.known(name)}
                if None in bases:
                    yield Diagnostic(f"the type {declaration.name} is defined by itself", declaration.span)
                elif len(bases) > 1:
                    kinds = " and ".join(sorted(map(str, bases)))
                    yield Diagnostic(f"the union {declaration.name} mixes {kinds}", declaration.span)
            if declaration.kind == "subtype" and (of := self._whole(declaration.types[0])) is not None:
                message = f"the type {declaration.name} is a subtype of the {of} {declaration.types[0]}"
                hint = f"Write .type {declaration.name} = {declaration.types[0]} for another name of it."
                yield Diagnostic(message, declaration.span, hint)
            attributes = [*declaration.attributes, *(a for b in declaration.branches for a in b.attributes)]
            for attribute in attributes:
                if not self.known(attribute.type):
                    yield unknown_type(attribute.type, attribute.span)

    def _whole(self, name: str) -> str | None:
        """ "record" or "union" if a type is one, which has no subtypes."""
        declaration = self.declared.get(name)
        if declaration is None or (declaration.kind == "union" and len(declaration.types) == 1):
            return None
        return declaration.kind if declaration.kind in ("record", "union") else None


def unknown_type(name: str, span: Span) -> Diagnostic:
    return Diagnostic(f"there is no type {name}", span, "Declare it: .type " + name + " <: symbol")


@dataclass
class Inference:
    """The types of the variables of one clause, and of the nodes of its arguments, as far as they are known.

    Variables of an aggregate are of its own if nothing outside mentions them, and names are distinct already.
    """

    types: Types
    relations: Mapping[str, tree.RelationDeclaration]
    of_variable: dict[str, str] = field(default_factory=dict)
    of_node: dict[int, str] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    changed: bool = False
    retyped: list[Sequence[tree.BodyNode]] = field(default_factory=list)  # kept: `of_node` has their identities

    def run(self, clause: tree.Clause) -> None:
        self._infer(clause)
        self._check(clause)

    def _infer(self, root: tree.SouffleNode) -> None:
        self.changed = True
        while self.changed:
            self.changed = False
            for node in tree.walk(root):
                if isinstance(node, tree.AtomNode):
                    self._atom(node)
                elif isinstance(node, tree.Comparison):
                    self._comparison(node)
                elif isinstance(node, tree.Functor | tree.Cast | tree.AggregateNode | tree.Branch | tree.RecordNode):
                    self.type_of(node)

    def retype(self, literals: Sequence[tree.BodyNode]) -> None:
        """Finds the types of more literals."""
        if literals:
            self.retyped.append(literals)
            self._infer(tree.AndNode(literals[0].span, tuple(literals)))

    def base_of(self, argument: tree.Argument, default: str = "number") -> str:
        """The base of an argument; a number if nothing says otherwise."""
        type_ = self.type_of(argument)
        return (self.types.base(type_) if type_ else None) or default

    # Down: an argument has a type.

    def expect(self, argument: tree.Argument, type_: str) -> None:
        match argument:
            case tree.VariableNode(name=name):
                self._variable(name, type_)
            case tree.NumberNode() | tree.Unnamed() | tree.Text() | tree.Counter() | tree.Nil():
                self._node(argument, type_)
            case tree.Functor():
                self._node(argument, type_)
                for inner in self._like_result(argument):
                    self.expect(inner, self._plain(type_))
            case tree.RecordNode(arguments=arguments):
                self._node(argument, type_)
                structure = self.types.structure(type_)
                if structure is not None and structure.kind == "record":
                    for inner, attribute in zip(arguments, structure.attributes, strict=False):
                        self.expect(inner, attribute.type)
            case tree.Branch(name=name, arguments=arguments):
                self._node(argument, type_)
                found = self.types.branch(name, type_)
                for inner, attribute in zip(arguments, found[1].attributes if found else (), strict=False):
                    self.expect(inner, attribute.type)
            case tree.AggregateNode(function="min" | "max" | "sum", argument=inner) if inner is not None:
                self.expect(inner, self._plain(type_))

    def _plain(self, type_: str) -> str:
        return self.types.base(type_) or type_

    def _variable(self, name: str, type_: str) -> None:
        known = self.of_variable.get(name)
        if known is None or (known != type_ and known in PRIMITIVE and self.types.base(type_) == known):
            self.of_variable[name] = type_
            self.changed = True

    def _node(self, node: tree.SouffleNode, type_: str) -> None:
        if id(node) not in self.of_node:
            self.of_node[id(node)] = type_
            self.changed = True

    # Up: what an argument is by itself.

    def type_of(self, argument: tree.Argument) -> str | None:
        match argument:
            case tree.VariableNode(name=name):
                return self.of_variable.get(name)
            case tree.Text():
                return self.of_node.get(id(argument), "symbol")
            case tree.NumberNode(fixed=fixed):
                return fixed or self.of_node.get(id(argument))
            case tree.Counter():
                return self.of_node.get(id(argument), "number")
            case tree.Iteration():
                return "unsigned"
            case tree.Cast(argument=inner, type=type_):
                if argument.of_number and self.types.base(type_) in NUMERIC:
                    self.expect(inner, type_)
                self.type_of(inner)
                return type_
            case tree.Branch(name=name):
                found = self.types.branch(name, self.of_node.get(id(argument)))
                if found is not None:
                    self.expect(argument, found[0])
                return found[0] if found else None
            case tree.AggregateNode(function=function, argument=inner):
                if function in ("count", "mean"):
                    return self.of_node.get(id(argument), "number" if function == "count" else "float")
                return self.type_of(inner) if inner is not None else None
            case tree.Functor():
                return self._functor(argument)
            case tree.RecordNode() | tree.Unnamed() | tree.Nil():
                return self.of_node.get(id(argument))

    def _functor(self, functor: tree.Functor) -> str | None:
        name = functor.name
        if name in _TO:
            return _TO[name]
        for argument, type_ in zip(functor.arguments, argument_types(functor), strict=False):
            self.expect(argument, type_)
        if name in CONVERSIONS:
            return CONVERSIONS[name][1]
        return _BASES[_FIXED[name].gives] if name in _FIXED else self._same_types(functor)

    def _same_types(self, functor: tree.Functor) -> str | None:
        """The type of an operator whose arguments have the type of its result."""
        same = list(self._like_result(functor))
        known = self.of_node.get(id(functor)) or next(filter(None, map(self.type_of, same)), None)
        if known is None:
            return None
        plain = self._plain(known)
        for argument in same:
            self.expect(argument, plain)
        return plain

    def _like_result(self, functor: tree.Functor) -> Sequence[tree.Argument]:
        if functor.name in _TO or functor.name in CONVERSIONS or functor.name in _FIXED:
            return ()
        return functor.arguments

    def _atom(self, atom: tree.AtomNode) -> None:
        relation = self.relations.get(atom.name)
        for argument, attribute in zip(atom.arguments, relation.attributes if relation else (), strict=False):
            self.expect(argument, attribute.type)

    def _comparison(self, comparison: tree.Comparison) -> None:
        left, right = comparison.left, comparison.right
        if comparison.operator not in COMPARISONS:
            self.expect(left, "symbol")
            self.expect(right, "symbol")
            return
        for one, other in ((left, right), (right, left)):
            type_ = self.type_of(one)
            if type_ is not None:
                self.expect(other, type_)

    # Checks

    def _check(self, clause: tree.Clause) -> None:
        cast = {id(node.argument) for node in tree.walk(clause) if isinstance(node, tree.Cast)}
        for node in tree.walk(clause):
            match node:
                case tree.AtomNode():
                    self._check_atom(node)
                case tree.Comparison(operator=operator, left=left, right=right):
                    self._check_comparison(operator, left, right, node.span)
                case tree.Functor():
                    self._check_functor(node)
                case tree.Branch():
                    self._check_branch(node)
                case tree.RecordNode():
                    self._check_record(node)
                case tree.NumberNode() if id(node) not in cast:
                    self._check_number(node)
                case tree.Cast(type=type_) if not self.types.known(type_):
                    self.diagnostics.append(unknown_type(type_, node.span))
        self._check_heads(clause)

    def _check_atom(self, atom: tree.AtomNode) -> None:
        relation = self.relations.get(atom.name)
        for argument, attribute in zip(atom.arguments, relation.attributes if relation else (), strict=False):
            self._fits(argument, attribute.type)

    def _fits(self, argument: tree.Argument, type_: str) -> None:
        """An argument where values of a type belong: it has the same base."""
        wanted, found = self.types.base(type_), self._own_base(argument)
        if wanted and found and wanted != found and not (found == "number" and self._is_open(argument, wanted)):
            what = f"{_written(argument)} is {_article(found)}, and {_article(wanted)} belongs here"
            self.diagnostics.append(Diagnostic(what, argument.span, f"The type of this place is {type_}."))

    def _is_open(self, argument: tree.Argument, wanted: str) -> bool:
        return isinstance(argument, tree.NumberNode | tree.Counter) and wanted in NUMERIC

    def _own_base(self, argument: tree.Argument) -> str | None:
        match argument:
            case tree.Text():
                return "symbol"
            case tree.NumberNode(fixed=None):
                base = self.types.base(self.of_node.get(id(argument), "number"))
                return base if base in NUMERIC else "number"
            case tree.Nil() | tree.RecordNode():
                return "record"
            case tree.Branch():
                return "adt"
            case tree.Unnamed():
                return None
        type_ = self.type_of(argument)
        return self.types.base(type_) if type_ else None

    def _check_comparison(self, operator: str, left: tree.Argument, right: tree.Argument, span: Span) -> None:
        bases = [self._own_base(side) for side in (left, right)]
        if None not in bases and bases[0] != bases[1]:
            first, second = _article(bases[0]), _article(bases[1])
            hint = f"{_written(left)} is {first}, {_written(right)} is {second}."
            self.diagnostics.append(Diagnostic(f"cannot compare {first} and {second}", span, hint))

    def _check_number(self, number: tree.NumberNode) -> None:
        """A number as it is written has 32 bits; what is computed from it wraps around."""
        base = self.base_of(number)
        least, most = (0, 2**32 - 1) if base == "unsigned" else (-(2**31), 2**31 - 1)
        if base in ("number", "unsigned") and "." not in number.text and not least <= integer(number.text) <= most:
            hint = f"It has 32 bits: from {least} to {most}."
            self.diagnostics.append(Diagnostic(f"{number.text} is no {base}", number.span, hint))

    def _check_functor(self, functor: tree.Functor) -> None:
        for argument, type_ in zip(functor.arguments, argument_types(functor), strict=False):
            self._fits(argument, type_)
        base = self.base_of(functor)
        same = self._like_result(functor)
        bases = {self._own_base(a) for a in same} - {None}
        if functor.name != "range" and same and len(bases) > 1:
            kinds = " and ".join(sorted(map(str, bases)))
            self.diagnostics.append(Diagnostic(f"`{functor.name}` of {kinds}", functor.span, _SAME))
        elif same and functor.name in _INTEGERS_ONLY and base not in ("number", "unsigned"):
            message = f"`{functor.name}` is for numbers, not for {_article(base)}"
            self.diagnostics.append(Diagnostic(message, functor.span))

    def _check_branch(self, branch: tree.Branch) -> None:
        found = self.types.branch(branch.name, self.of_node.get(id(branch)))
        if found is None:
            self.diagnostics.append(Diagnostic(f"there is no branch ${branch.name}", branch.span, _BRANCH))
        elif len(found[1].attributes) != len(branch.arguments):
            wanted = len(found[1].attributes)
            message = f"the branch ${branch.name} has {wanted} arguments, not {len(branch.arguments)}"
            self.diagnostics.append(Diagnostic(message, branch.span))
        else:
            for argument, attribute in zip(branch.arguments, found[1].attributes, strict=True):
                self._fits(argument, attribute.type)

    def _check_record(self, record: tree.RecordNode) -> None:
        type_ = self.of_node.get(id(record))
        structure = self.types.structure(type_) if type_ else None
        if structure is not None and structure.kind == "record":
            wanted = len(structure.attributes)
            if wanted != len(record.arguments):
                message = f"a record of the type {structure.name} has {wanted} fields, not {len(record.arguments)}"
                self.diagnostics.append(Diagnostic(message, record.span))
            for argument, attribute in zip(record.arguments, structure.attributes, strict=False):
                self._fits(argument, attribute.type)

    def _check_heads(self, clause: tree.Clause) -> None:
        """A variable in a head has values that belong there: a type of the body is a subtype of the head's."""
        sources = dict(self._types_in(clause.body)) if clause.body is not None else {}
        for head in clause.heads:
            relation = self.relations.get(head.name)
            for argument, attribute in zip(head.arguments, relation.attributes if relation else (), strict=False):
                if not isinstance(argument, tree.VariableNode) or argument.name not in sources:
                    continue
                found = sources[argument.name]
                same_base = {self.types.base(t) for t in found} == {self.types.base(attribute.type)}
                if same_base and not any(self._may_be(t, attribute.type) for t in found):
                    message = f"{argument.name} is of the type {found[0]}, and {attribute.type} belongs here"
                    hint = (
                        f"A {found[0]} need not be a {attribute.type}; as({argument.name}, {attribute.type}) casts it."
                    )
                    self.diagnostics.append(Diagnostic(message, argument.span, hint))

    def _may_be(self, type_: str, wanted: str) -> bool:
        return self.types.is_subtype(type_, wanted)

    def _types_in(self, body: tree.BodyNode) -> Iterable[tuple[str, list[str]]]:
        """The types that positive atoms give to variables; variables of equalities are left out."""
        found: dict[str, list[str]] = {}
        loose: set[str] = set()
        for node in tree.walk(body):
            if isinstance(node, tree.AtomNode):
                relation = self.relations.get(node.name)
                for argument, attribute in zip(node.arguments, relation.attributes if relation else (), strict=False):
                    if isinstance(argument, tree.VariableNode):
                        found.setdefault(argument.name, []).append(attribute.type)
            elif isinstance(node, tree.Comparison | tree.AggregateNode | tree.RecordNode | tree.Branch):
                loose.update(tree.variables(node))
        return [(name, types) for name, types in found.items() if name not in loose]


_SAME = "Both sides have the same type; to_number, to_float, to_string and others convert."
_BRANCH = "Declare it: .type T = Branch {x : number} | Other {}"


def integer(text: str) -> int:
    """The integer of a number as it was written."""
    return int(text, 16 if "x" in text else 2 if "0b" in text else 10)


def argument_types(functor: tree.Functor) -> tuple[str, ...]:
    """The types of the arguments of a functor, where they do not depend on those of others."""
    if (fixed := _FIXED.get(functor.name)) is not None and fixed.sort_of(0) in _BASES:
        return tuple(_BASES[fixed.sort_of(position)] for position in range(len(functor.arguments)))
    return CONVERSIONS[functor.name][:1] if functor.name in CONVERSIONS else ()


def _article(base: str | None) -> str:
    return f"{'an' if base in ('unsigned', 'adt') else 'a'} {base}"


def _written(argument: tree.Argument) -> str:
    text = argument.span.source.text[argument.span.start : argument.span.end]
    return text if len(text) < 40 else text[:37] + "..."
