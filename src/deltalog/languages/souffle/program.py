"""A Soufflé program: rules, and what its declarations and directives say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from deltalog.core.errors import Diagnostic, SyntaxProblem
from deltalog.core.rules import Atom, Constant, HiddenName, Pred, Rule, Source, Variable
from deltalog.languages.protocol import Preprocessing, ProgramUnit
from deltalog.languages.souffle import tree
from deltalog.languages.souffle.components import flattened
from deltalog.languages.souffle.directives import Directive
from deltalog.languages.souffle.inline import inlined
from deltalog.languages.souffle.lint import lint_souffle
from deltalog.languages.souffle.lower import Lowering
from deltalog.languages.souffle.magic_pragmas import PRAGMAS, magic_request, unknown_names
from deltalog.languages.souffle.normalise import Normaliser
from deltalog.languages.souffle.parser import parse
from deltalog.languages.souffle.program_text import ProgramText
from deltalog.languages.souffle.record_joins import joined_by_fields
from deltalog.languages.souffle.tokens import Preprocessor
from deltalog.languages.souffle.types import PRIMITIVE, Types, unknown_type
from deltalog.program.magic_request import MagicRequest
from deltalog.program.procedures import Procedures
from deltalog.program.program import analyse
from deltalog.program.stages import in_stages

IGNORED = ("brie", "btree", "btree_delete", "no_inline")


@dataclass(frozen=True)
class SouffleProgram:
    text: ProgramText
    rules: tuple[Rule, ...]
    directives: tuple[Directive, ...]
    notes: tuple[Diagnostic, ...]
    procedures: Procedures
    columns: Mapping[Pred, tuple[str, ...]]  # of all relations
    statements: tuple[tree.Statement, ...] = ()  # as they were written
    magic: MagicRequest | None = None

    @property
    def unit(self) -> ProgramUnit:
        """NotStratified, if a stage negates what it derives."""
        ordinary, stages = in_stages(self.rules, self.procedures)
        rules = joined_by_fields(ordinary, [rule for stage in stages for rule in stage.rules])
        for stage in stages:
            analyse(stage.rules)
        warnings, magic = lint_souffle(self.statements), (self.magic,) if self.magic else ()
        said = self.directives, self.columns, stages, self.notes, warnings, (self.text,), magic
        return ProgramUnit(rules, {}, *said, languages=("souffle",))


def read_program(
    text: str, name: str, folder: Path, includes: bool = True, given: Preprocessing | None = None
) -> SouffleProgram:
    """The program of a text; SyntaxProblem has all errors. includes: whether it may include files; given: where these
    may be besides, and macros."""
    return _read(text, name, folder, Preprocessor(given or Preprocessing()), includes)


def read_again(kept: ProgramText) -> SouffleProgram:
    """The program of texts, without its files."""
    preprocessor = Preprocessor(Preprocessing(macros=dict(kept.macros)), kept=iter(kept.included))
    return _read(kept.text, kept.name, Path(kept.name).parent, preprocessor)


def _read(text: str, name: str, folder: Path, preprocessor: Preprocessor, includes: bool = True) -> SouffleProgram:
    source = Source(name, text, rewritten=True)
    statements, diagnostics = parse(preprocessor, source, folder if includes else None)
    flat = flattened(statements, diagnostics)
    relations = _declared(flat, diagnostics)
    types = _types(flat, diagnostics)
    diagnostics += types.check()
    diagnostics += _check_relations(flat, relations, types)
    diagnostics += _check_counters(flat)
    lowering = Lowering(types, relations, _label(source), Normaliser(diagnostics), diagnostics)
    dominance: list[Rule] = []
    if not diagnostics:
        dominance = _lower(inlined(flat, relations, lowering.normaliser, diagnostics), relations, lowering)
    if diagnostics:
        distinct = {(each.message, str(each.span)): each for each in diagnostics}
        raise SyntaxProblem(sorted(distinct.values(), key=_place), ())
    lowering.rules += _ordinals(flat, lowering.ordinals)
    directives = tuple(_directives(flat, relations, types, folder, lowering.ordinals))
    deltas = {each.delta_of: name for name, each in relations.items() if each.delta_of is not None}
    procedures = Procedures(dict(_choices(relations)), dict(_limits(flat)), tuple(dominance), lowering.asked, deltas)
    said = (*_notes(flat), *unknown_names(flat, relations))
    notes = tuple(_together(dict.fromkeys(said)))  # each once, whatever the instances of a component
    columns = _columns(relations)
    kept = ProgramText(name, text, tuple(preprocessor.included), tuple(preprocessor.given.macros.items()))
    given = kept, tuple(lowering.rules), directives, notes, procedures, columns, tuple(statements)
    return SouffleProgram(*given, magic_request(flat, relations))


def _columns(relations: Mapping[str, tree.RelationDeclaration]) -> dict[Pred, tuple[str, ...]]:
    declared = (each for each in relations.values() if "inline" not in each.qualifiers)
    return {Pred(each.name, len(each.attributes)): tuple(a.name for a in each.attributes) for each in declared}


def _label(source: Source) -> str:
    return blake2b(f"{source.name}\0{source.text}".encode(), digest_size=4).hexdigest()


def _place(diagnostic: Diagnostic) -> tuple[str, int]:
    span = diagnostic.span
    return (span.source.name, span.start) if span else ("", 0)


def _declared(
    statements: Sequence[tree.Statement], diagnostics: list[Diagnostic]
) -> dict[str, tree.RelationDeclaration]:
    relations: dict[str, tree.RelationDeclaration] = {}
    for statement in statements:
        if isinstance(statement, tree.RelationDeclaration):
            if statement.name in relations:
                message = f"the relation {statement.name} is declared twice"
                diagnostics.append(Diagnostic(message, statement.span, "Remove one of the declarations."))
            relations[statement.name] = statement
    return {name: _with_attributes(each, relations, diagnostics) for name, each in relations.items()}


def _with_attributes(
    relation: tree.RelationDeclaration,
    relations: Mapping[str, tree.RelationDeclaration],
    diagnostics: list[Diagnostic],
) -> tree.RelationDeclaration:
    """A relation of deltas has the attributes of the other relation, and the number of the round."""
    if relation.delta_of is None:
        return relation
    if relation.delta_of not in relations:
        diagnostics.append(_unknown_relation(relation.delta_of, relation, relations))
        return relation
    attributes = relations[relation.delta_of].attributes
    return replace(relation, attributes=(*attributes, tree.Attribute(relation.span, "iteration", "unsigned")))


def _types(statements: Sequence[tree.Statement], diagnostics: list[Diagnostic]) -> Types:
    declared: dict[str, tree.TypeDeclaration] = {}
    for statement in statements:
        if isinstance(statement, tree.TypeDeclaration):
            if statement.name in PRIMITIVE:
                message = f"the type {statement.name} is predefined"
                diagnostics.append(Diagnostic(message, statement.span, "Give your type another name."))
                continue
            if statement.name in declared:
                message = f"the type {statement.name} is declared twice"
                diagnostics.append(Diagnostic(message, statement.span, "Remove one of the declarations."))
            declared[statement.name] = statement
    return Types(declared)


def _check_relations(
    statements: Sequence[tree.Statement], relations: Mapping[str, tree.RelationDeclaration], types: Types
) -> Iterator[Diagnostic]:
    for relation in relations.values():
        if relation.name in types.declared:
            message = f"{relation.name} is a type and a relation"
            yield Diagnostic(message, relation.span, "Rename one of them.")
        for attribute in relation.attributes:
            if not types.known(attribute.type):
                yield unknown_type(attribute.type, attribute.span)
        names = {attribute.name for attribute in relation.attributes}
        if len(names) < len(relation.attributes):
            yield Diagnostic(f"two attributes of {relation.name} have one name", relation.span, "Rename one of them.")
        if "eqrel" in relation.qualifiers and not _is_binary(relation):
            message = f"the equivalence relation {relation.name} needs two attributes of one type"
            yield Diagnostic(message, relation.span)
        for key in relation.choice:
            for name in sorted(names.symmetric_difference(key).difference(names)):
                yield Diagnostic(f"{relation.name} has no attribute {name} for choice-domain", relation.span)
    for statement in statements:
        if isinstance(statement, tree.DirectiveNode) and not _has_size(statement):
            yield Diagnostic(".limitsize needs a size", statement.span, "Write .limitsize p(n=1000).")
        if isinstance(statement, tree.DirectiveNode) and statement.relation not in relations:
            yield _unknown_relation(statement.relation, statement, relations)
        if isinstance(statement, tree.Subsumption) and statement.less.name != statement.greater.name:
            message = f"facts of {statement.less.name} are not subsumed by facts of {statement.greater.name}"
            yield Diagnostic(message, statement.span, "Both sides of `<=` are of one relation.")
        if isinstance(statement, tree.Clause):
            yield from (_derived_delta(head, relations) for head in statement.heads if _keeps_deltas(head, relations))
        for node in tree.walk(statement):
            if isinstance(node, tree.AtomNode):
                yield from _check_atom(node, relations)


def _check_counters(statements: Sequence[tree.Statement]) -> Iterator[Diagnostic]:
    """autoinc() in rules whose bodies depend on their heads: it would never stop counting."""
    clauses = [each for each in statements if isinstance(each, tree.Clause)]
    reads: dict[str, set[str]] = {}
    for clause in clauses:
        for head in clause.heads:
            reads.setdefault(head.name, set()).update(_relations_in(clause.body))
    for clause in clauses:
        counters = [node for node in tree.walk(clause) if isinstance(node, tree.Counter)]
        if counters and _reachable(_relations_in(clause.body), reads).intersection(h.name for h in clause.heads):
            hint = "Count in another rule, which reads the facts of this one."
            yield from (Diagnostic("autoinc() in a recursive rule", node.span, hint) for node in counters)


def _relations_in(node: tree.SouffleNode | None) -> set[str]:
    return {each.name for each in tree.walk(node) if isinstance(each, tree.AtomNode)} if node is not None else set()


def _reachable(start: Iterable[str], edges: Mapping[str, Iterable[str]]) -> set[str]:
    """These names, and all that edges lead to from them."""
    found: set[str] = set()
    pending = list(start)
    while pending:
        if (name := pending.pop()) not in found:
            found.add(name)
            pending += edges.get(name, ())
    return found


def _keeps_deltas(atom: tree.AtomNode, relations: Mapping[str, tree.RelationDeclaration]) -> bool:
    return atom.name in relations and relations[atom.name].delta_of is not None


def _derived_delta(head: tree.AtomNode, relations: Mapping[str, tree.RelationDeclaration]) -> Diagnostic:
    message = f"{head.name} has the deltas of {relations[head.name].delta_of}, and no rules of its own"
    return Diagnostic(message, head.span, "Derive facts of another relation.")


def _is_binary(relation: tree.RelationDeclaration) -> bool:
    return len(relation.attributes) == 2 and len({attribute.type for attribute in relation.attributes}) == 1


def _has_size(directive: tree.DirectiveNode) -> bool:
    return directive.kind != "limitsize" or directive.parameters.get("n", "").isdigit()


def _check_atom(atom: tree.AtomNode, relations: Mapping[str, tree.RelationDeclaration]) -> Iterator[Diagnostic]:
    relation = relations.get(atom.name)
    if relation is None:
        yield _unknown_relation(atom.name, atom, relations)
    elif len(relation.attributes) != len(atom.arguments):
        wanted = len(relation.attributes)
        message = f"the relation {atom.name} has {wanted} attributes, not {len(atom.arguments)}"
        yield Diagnostic(message, atom.span, f"It is declared at {relation.span}.")


def _unknown_relation(
    name: str, node: tree.SouffleNode, relations: Mapping[str, tree.RelationDeclaration]
) -> Diagnostic:
    from difflib import get_close_matches

    near = get_close_matches(name, list(relations), 1)
    hint = f"Did you mean {near[0]}?" if near else f"Declare it: .decl {name}(x : symbol)"
    return Diagnostic(f"the relation {name} is not declared", node.span, hint)


def _lower(
    statements: Sequence[tree.Statement], relations: Mapping[str, tree.RelationDeclaration], lowering: Lowering
) -> list[Rule]:
    """Adds the rules of statements, and gives those of subsumption."""
    dominance: list[Rule] = []
    for statement in statements:
        if isinstance(statement, tree.Clause):
            lowering.clause(statement)
        elif isinstance(statement, tree.Subsumption):
            dominance += lowering.dominance(statement)
    for relation in relations.values():
        if "eqrel" in relation.qualifiers:
            lowering.rules += _equivalence(relation)
        dominance += [rule for statement in _extremes(relation) for rule in lowering.dominance(statement)]
    return dominance


def _extremes(relation: tree.RelationDeclaration) -> Iterator[tree.Subsumption]:
    """What btree_min and btree_max mean: p(x, a) <= p(x, b) :- b < a, for the last attribute."""
    span = relation.span
    keys = tuple(tree.VariableNode(span, f"x{i}") for i in range(len(relation.attributes) - 1))
    a, b = tree.VariableNode(span, "a"), tree.VariableNode(span, "b")
    less, greater = (tree.AtomNode(span, relation.name, (*keys, last)) for last in (a, b))
    for word, operator in (("btree_min", "<"), ("btree_max", ">")):
        if word in relation.qualifiers and relation.attributes:
            yield tree.Subsumption(span, less, greater, tree.Comparison(span, operator, b, a))


def _equivalence(relation: tree.RelationDeclaration) -> Iterator[Rule]:
    """The rules of an equivalence relation: it is symmetric and transitive, and so reflexive."""
    x, y, z = map(Variable, "xyz")
    name = relation.name
    yield Rule((Atom(name, (y, x)),), (Atom(name, (x, y)),), relation.span)
    yield Rule((Atom(name, (x, z)),), (Atom(name, (x, y)), Atom(name, (y, z))), relation.span)


def _ordinals(statements: Sequence[tree.Statement], relation: HiddenName | None) -> Iterator[Rule]:
    """The symbols of a program as facts, with their numbers."""
    if relation is not None:
        texts = (node.value for statement in statements for node in tree.walk(statement) if isinstance(node, tree.Text))
        for number, text in enumerate(dict.fromkeys(texts)):
            yield Rule((Atom(relation, (Constant(text), Constant(number))),), ())


def _choices(
    relations: Mapping[str, tree.RelationDeclaration],
) -> Iterator[tuple[str, tuple[tuple[int, ...], ...]]]:
    """The keys of choice-domain, by position."""
    for name, relation in relations.items():
        places = {attribute.name: place for place, attribute in enumerate(relation.attributes)}
        if relation.choice:
            yield name, tuple(tuple(places[attribute] for attribute in key) for key in relation.choice)


def _limits(statements: Sequence[tree.Statement]) -> Iterator[tuple[str, int]]:
    for statement in statements:
        if isinstance(statement, tree.DirectiveNode) and statement.kind == "limitsize":
            yield statement.relation, int(statement.parameters["n"])


def _directives(
    statements: Sequence[tree.Statement],
    relations: Mapping[str, tree.RelationDeclaration],
    types: Types,
    folder: Path,
    ordinals: HiddenName | None,
) -> Iterator[Directive]:
    needed = _needed(statements, relations)
    for statement in statements:
        if isinstance(statement, tree.DirectiveNode) and statement.kind != "limitsize":
            attributes = tuple((a.name, a.type) for a in relations[statement.relation].attributes)
            given = (statement.kind, statement.relation, statement.parameters, attributes)
            is_needed = needed is None or statement.relation in needed
            yield Directive(*given, types, folder, str(statement.span), ordinals, is_needed)


def _needed(statements: Sequence[tree.Statement], relations: Mapping[str, tree.RelationDeclaration]) -> set[str] | None:
    """The relations that outputs depend on; None where the program has no outputs."""
    outputs = {s.relation for s in statements if isinstance(s, tree.DirectiveNode) and s.kind != "input"}
    reads = {name: {each.delta_of} for name, each in relations.items() if each.delta_of is not None}
    for statement in statements:
        if isinstance(statement, tree.Clause | tree.Subsumption):
            heads = statement.heads if isinstance(statement, tree.Clause) else (statement.less,)
            for head in heads:
                reads.setdefault(head.name, set()).update(_relations_in(statement))
    return _reachable(outputs, reads) if outputs else None


def _notes(statements: Sequence[tree.Statement]) -> Iterator[Diagnostic]:
    """What is accepted and changes nothing."""
    for statement in statements:
        if isinstance(statement, tree.Ignored):
            yield Diagnostic(f"{statement.what} changes nothing here", statement.span, None, "note")
        elif isinstance(statement, tree.Pragma) and statement.key not in PRAGMAS:
            what = " ".join(filter(None, (statement.key, statement.value)))
            yield Diagnostic(f".pragma {what} changes nothing here", statement.span, None, "note")
        elif isinstance(statement, tree.RelationDeclaration):
            words = [word for word in statement.qualifiers if word in IGNORED]
            if words:
                message = f"{', '.join(words)} changes nothing here"
                yield Diagnostic(message, statement.span, "Relations have one representation.", "note")


def _together(notes: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """One note for all that say the same, at the place of the first."""
    alike: dict[str, list[Diagnostic]] = {}
    for note in notes:
        alike.setdefault(note.message, []).append(note)
    for message, (first, *others) in alike.items():
        more = f" (and in {len(others)} more place{'s' if len(others) > 1 else ''})" if others else ""
        yield replace(first, message=message + more)
