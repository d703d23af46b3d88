"""Axioms to rules, one small function for each kind of axiom.

    SubClassOf(:Student :Person)                       :Person[?x] :- :Student[?x] .
    SubClassOf(:A AllValuesFrom(:p :B))                :B[?y] :- :A[?x], :p[?x, ?y] .
    FunctionalProperty(:p)                             owl:sameAs[?y, ?z] :- :p[?x, ?y], :p[?x, ?z], ?y != ?z .
    DisjointClasses(:A :B)                             inconsistent(?x, "DisjointClasses(:A :B)") :- :A[?x], :B[?x] .

What is derived is what the OWL 2 RL/RDF rules derive about individuals, classes and properties with names. Schema
triples (rdfs:subClassOf and so on) are not derived; members of classes without a name are not, either.

Rules for owl:sameAs are there only if something can derive or state it. They replace individuals in every class and
property of the whole program: of facts, of axioms, and of the user's rules (`KnownPredicates`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations, permutations
from typing import Any

from deltalog.core.rules import TRIPLES, TYPES, Atom, Call, Constant, Filter, Pred, Rule, Variable
from deltalog.core.terms import IRI, Value
from deltalog.evaluation.equality import recognise as equality
from deltalog.extensions.ontology.axioms import (
    Axiom,
    Characteristic,
    ClassAssertion,
    ClassExpression,
    ClassName,
    DatatypeDefinition,
    DifferentIndividuals,
    DisjointClasses,
    DisjointProperties,
    DisjointUnion,
    EquivalentClasses,
    EquivalentProperties,
    HasKey,
    InverseProperties,
    Malformed,
    NegativePropertyAssertion,
    Property,
    PropertyChain,
    PropertyDomain,
    PropertyRange,
    Short,
    SubClassOf,
    SubPropertyOf,
    SwrlRule,
    UnionOf,
    names_in,
)
from deltalog.extensions.ontology.compile_expressions import Conclusions, Context, PartialBody, link
from deltalog.extensions.ontology.existentials import Existentials
from deltalog.extensions.ontology.graph import RdfGraph
from deltalog.extensions.ontology.known_predicates import KnownPredicates
from deltalog.extensions.ontology.load import OntologyFile
from deltalog.extensions.ontology.profile import NOT_RDFS, REFLEXIVE, Loss, inconclusive
from deltalog.extensions.ontology.read_axioms import Stated, read_axioms
from deltalog.extensions.ontology.read_expressions import Expressions
from deltalog.extensions.ontology.replaced_triples import REPLACED_MEMBER, REPLACED_OBJECT, REPLACED_SUBJECT
from deltalog.extensions.ontology.swrl import compile_swrl
from deltalog.extensions.ontology.vocabulary import (
    ALL_DIFFERENT,
    DIFFERENT_FROM,
    INCONSISTENT,
    MEMBER_OF,
    NOTHING,
    OBJECT_PROPERTY,
    SAME_AS,
    TOP_PROPERTIES,
    is_reserved,
)
from deltalog.program.triple_bridges import is_rdf

# More disjoint classes have an auxiliary relation instead of rules for each pair; nine have 36 pairs:
_PAIRED_CLASSES = 8
_MAX_HOLDERS = 64  # classes that count as tests of an existential restriction; with more, none does


@dataclass(frozen=True, slots=True)
class Entry:
    """An axiom and what becomes of it."""

    group: str
    axiom: str  # its text
    subject: IRI | None  # the name that the axiom is about
    rules: tuple[Rule, ...]
    losses: tuple[Loss, ...] = ()
    is_axiom: bool = True  # and not rules that several axioms share

    def place(self, files: Sequence[OntologyFile]) -> str:
        """Where the axiom is, as far as that can be seen: file and line."""
        about = [file for file in files if self.subject is None or file.mentions(self.subject)] or list(files)
        return about[0].place(self.subject) if about else "facts"


@dataclass(frozen=True, slots=True)
class CompiledOntology:
    """Rules, by the axioms that they come from."""

    entries: tuple[Entry, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, and facts among them, each once."""
        return tuple(dict.fromkeys(rule for entry in self.entries for rule in entry.rules))

    @property
    def axioms(self) -> int:
        """The number of axioms."""
        return sum(entry.is_axiom for entry in self.entries)

    @property
    def outside(self) -> tuple[Entry, ...]:
        """What is lost."""
        return tuple(entry for entry in self.entries if entry.losses)


def compile_graph(graph: RdfGraph, short: Short, profile: str, known: KnownPredicates) -> CompiledOntology:
    """The rules of a graph's axioms. `known` are the predicates of everything else."""
    entries = _entries(graph, read_axioms(graph), short, profile)
    if profile == "owl2rl":
        entries += _shared(entries)
        known = known.and_rules(rule for entry in entries for rule in entry.rules)
        entries += [*_equality(known), *_different_from(known), *_nothing(known)]
    order = {group: n for n, group in enumerate(GROUPS)}
    return CompiledOntology(tuple(sorted(entries, key=lambda entry: order[entry.group])))


def _entries(graph: RdfGraph, axioms: Iterable[Stated], short: Short, profile: str) -> list[Entry]:
    expressions, found = Expressions(graph), list[Entry]()
    axioms = list(axioms)
    objects = _object_properties(graph, axioms) - expressions.data_properties
    definitions = {str(a.datatype.iri): a.range for a, _ in axioms if isinstance(a, DatatypeDefinition)}
    existentials = Existentials((axiom for axiom, _ in axioms), _MAX_HOLDERS)
    for axiom, subject in axioms:
        text = axiom.text(short)
        context = Context(short, text, expressions.data_properties, objects, definitions, existentials)
        if isinstance(axiom, SwrlRule):
            group, made = "SWRL rules", compile_swrl(axiom, graph, expressions, context)
        else:
            group, compile_axiom = COMPILERS[type(axiom)]
            made = compile_axiom(axiom, context)
        if profile == "rdfs" and not _is_rdfs(axiom):
            made = [Loss(text, NOT_RDFS)]
        rules = tuple(dict.fromkeys(each for each in made if isinstance(each, Rule) and each.heads[0] not in each.body))
        losses = tuple(dict.fromkeys(each for each in made if isinstance(each, Loss)))
        found.append(Entry(group, text, _name(axiom, subject), rules, losses))
    return found


def _object_properties(graph: RdfGraph, axioms: Iterable[Stated]) -> frozenset[str]:
    """The properties that are declared as such, or that have an axiom which makes sense for individuals only."""
    found = {str(node) for node in graph.of_type(OBJECT_PROPERTY)}
    for axiom, _ in axioms:
        match axiom:
            case InverseProperties(first, second):
                found |= {str(first.iri), str(second.iri)}
            case Characteristic("Symmetric" | "Transitive" | "Asymmetric" | "Irreflexive", property):
                found.add(str(property.iri))
    return frozenset(found)


def _name(axiom: Axiom, subject: Value) -> IRI | None:
    if isinstance(subject, IRI):
        return subject
    return next((name for name in names_in(axiom) if not is_reserved(name)), None)


def _is_rdfs(axiom: Axiom) -> bool:
    match axiom:
        case SubClassOf(ClassName(), ClassName()) | PropertyDomain(_, ClassName()) | PropertyRange(_, ClassName()):
            return True
        case SubPropertyOf(Property(inverse=False), Property(inverse=False)):
            return True
    return False


# Classes.


def _sub_class(axiom: SubClassOf, context: Context) -> Conclusions:
    return _implied(axiom.sub, axiom.sup, context)


def _implied(sub: ClassExpression, sup: ClassExpression, context: Context) -> Conclusions:
    """The rules by which members of one class are members of another one."""
    if sub == sup:
        return []
    context = context.of_new_rule()
    x = context.fresh()
    return context.each(context.tests(sub, x), PartialBody(), lambda body: context.conclusions(sup, x, body))


def _equivalent_classes(axiom: EquivalentClasses, context: Context) -> Conclusions:
    return [each for sub, sup in permutations(axiom.classes, 2) for each in _implied(sub, sup, context)]


def _disjoint_classes(axiom: DisjointClasses, context: Context) -> Conclusions:
    if len(axiom.classes) > _PAIRED_CLASSES:
        return _members_of_disjoint(axiom, context)
    return [each for pair in combinations(axiom.classes, 2) for each in _disjoint(*pair, context)]


def _disjoint(first: ClassExpression, second: ClassExpression, context: Context) -> Conclusions:
    context = context.of_new_rule()
    x = context.fresh()
    return context.each(context.tests(first, x), PartialBody(), lambda body: context.excluded(second, x, body))


def _members_of_disjoint(axiom: DisjointClasses, context: Context) -> Conclusions:
    """Many classes: a relation of members and classes takes the place of a rule for every pair."""
    name = Constant(_digest(context.axiom))
    members = [each for part in axiom.classes for each in _member_of_disjoint(name, part, context)]
    x, y, z = (Variable(v) for v in "xyz")
    both = (Atom(MEMBER_OF, (name, x, y)), Atom(MEMBER_OF, (name, x, z)), Filter(Call("!=", (y, z))))
    return [*members, context.inconsistent(x, PartialBody(both))]


def _member_of_disjoint(name: Constant, part: ClassExpression, context: Context) -> Conclusions:
    context = context.of_new_rule()
    x = context.fresh()
    head = Atom(MEMBER_OF, (name, x, Constant(part.text(context.short))))
    return context.each(context.tests(part, x), PartialBody(), lambda body: [context.rule(head, body)])


def _disjoint_union(axiom: DisjointUnion, context: Context) -> Conclusions:
    parts = [each for part in axiom.parts for each in _implied(part, axiom.whole, context)]
    lost = context.loss(UnionOf(axiom.parts), inconclusive)
    return [lost, *parts, *_disjoint_classes(DisjointClasses(axiom.parts), context)]


def _key(axiom: HasKey, context: Context) -> Conclusions:
    x, y = context.fresh(), context.fresh()
    body = PartialBody()
    for property in axiom.properties:
        value = context.fresh()
        body = body.and_(link(property, x, value), link(property, y, value))
    body = body.and_(Filter(Call("!=", (x, y))))
    same = Atom(SAME_AS, (x, y))
    both = context.each(
        context.tests(axiom.members, x),
        PartialBody(),
        lambda first: context.each(
            context.tests(axiom.members, y),
            first,
            lambda second: [context.rule(same, PartialBody((*second.literals, *body.literals), second.fixed))],
        ),
    )
    return both


# Properties.


def _sub_property(axiom: SubPropertyOf, context: Context) -> Conclusions:
    return _copied(axiom.sub, axiom.sup, context)


def _copied(sub: Property, sup: Property, context: Context) -> Conclusions:
    if str(sup.iri) in TOP_PROPERTIES:
        return []
    x, y = Variable("x"), Variable("y")
    return [context.rule(link(sup, x, y), PartialBody((link(sub, x, y),)))]


def _chain(axiom: PropertyChain, context: Context) -> Conclusions:
    terms = [context.fresh() for _ in range(len(axiom.chain) + 1)]
    steps = tuple(link(each, terms[n], terms[n + 1]) for n, each in enumerate(axiom.chain))
    return [context.rule(link(axiom.sup, terms[0], terms[-1]), PartialBody(steps))]


def _equivalent_properties(axiom: EquivalentProperties, context: Context) -> Conclusions:
    return [each for sub, sup in permutations(axiom.properties, 2) for each in _copied(sub, sup, context)]


def _inverse(axiom: InverseProperties, context: Context) -> Conclusions:
    first, second = axiom.first, axiom.second
    turned = Property(first.iri, inverse=not first.inverse)
    return [*_copied(turned, second, context), *_copied(second, turned, context)]


def _disjoint_properties(axiom: DisjointProperties, context: Context) -> Conclusions:
    x, y = Variable("x"), Variable("y")
    pairs = combinations(axiom.properties, 2)
    return [context.inconsistent(x, PartialBody((link(first, x, y), link(second, x, y)))) for first, second in pairs]


def _domain(axiom: PropertyDomain, context: Context) -> Conclusions:
    x, y = context.fresh(), context.fresh()
    return context.conclusions(axiom.domain, x, PartialBody((link(axiom.property, x, y),)))


def _range(axiom: PropertyRange, context: Context) -> Conclusions:
    x, y = context.fresh(), context.fresh()
    body = PartialBody((link(axiom.property, x, y), *context.individual(y, axiom.property, axiom.range)))
    return context.conclusions(axiom.range, y, body)


def _characteristic(axiom: Characteristic, context: Context) -> Conclusions:
    x, y, z = context.fresh(), context.fresh(), context.fresh()
    p = axiom.property
    match axiom.kind:
        case "Functional":
            return context.same(y, z, x, p, PartialBody((link(p, x, y), link(p, x, z))))
        case "InverseFunctional":
            differ = Filter(Call("!=", (y, z)))
            return [context.rule(Atom(SAME_AS, (y, z)), PartialBody((link(p, y, x), link(p, z, x), differ)))]
        case "Symmetric":
            return [context.rule(link(p, y, x), PartialBody((link(p, x, y),)))]
        case "Transitive":
            return [context.rule(link(p, x, z), PartialBody((link(p, x, y), link(p, y, z))))]
        case "Asymmetric":
            return [context.inconsistent(x, PartialBody((link(p, x, y), link(p, y, x))))]
        case "Irreflexive":
            return [context.inconsistent(x, PartialBody((link(p, x, x),)))]
    return [Loss(context.axiom, REFLEXIVE)]


# Individuals.


def _class_assertion(axiom: ClassAssertion, context: Context) -> Conclusions:
    context.fresh()  # so that the first variable is ?y, as with classes
    return context.conclusions(axiom.members, Constant(axiom.individual), PartialBody())


def _negative_assertion(axiom: NegativePropertyAssertion, context: Context) -> Conclusions:
    source = Constant(axiom.source)
    return [context.inconsistent(source, PartialBody((link(axiom.property, source, Constant(axiom.target)),)))]


def _different(axiom: DifferentIndividuals, context: Context) -> Conclusions:
    name = Constant(_digest(context.axiom))
    twice = [each for n, each in enumerate(axiom.individuals) if each in axiom.individuals[:n]]
    clashes = [context.inconsistent(Constant(each), PartialBody()) for each in dict.fromkeys(twice)]
    return [*(Rule((Atom(ALL_DIFFERENT, (name, Constant(each))),)) for each in axiom.individuals), *clashes]


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()


def _definition(axiom: DatatypeDefinition, context: Context) -> Conclusions:
    return []  # it takes the place of the datatype where that occurs


def _malformed(axiom: Malformed, context: Context) -> Conclusions:
    return [Loss(context.axiom, "it is not well-formed and left out")]


GROUPS = ("Classes", "Properties", "Domains and ranges", "Keys", "Individuals", "SWRL rules", "Equality", "Consistency")
COMPILERS: dict[type[Any], tuple[str, Callable[[Any, Context], Conclusions]]] = {
    SubClassOf: ("Classes", _sub_class),
    EquivalentClasses: ("Classes", _equivalent_classes),
    DisjointUnion: ("Classes", _disjoint_union),
    DisjointClasses: ("Consistency", _disjoint_classes),
    SubPropertyOf: ("Properties", _sub_property),
    PropertyChain: ("Properties", _chain),
    EquivalentProperties: ("Properties", _equivalent_properties),
    InverseProperties: ("Properties", _inverse),
    Characteristic: ("Properties", _characteristic),
    DisjointProperties: ("Consistency", _disjoint_properties),
    PropertyDomain: ("Domains and ranges", _domain),
    PropertyRange: ("Domains and ranges", _range),
    HasKey: ("Keys", _key),
    ClassAssertion: ("Individuals", _class_assertion),
    DifferentIndividuals: ("Individuals", _different),
    NegativePropertyAssertion: ("Consistency", _negative_assertion),
    DatatypeDefinition: ("Classes", _definition),
    Malformed: ("Classes", _malformed),
}


# Rules that belong to no axiom alone.


def _shared(entries: Iterable[Entry]) -> Iterator[Entry]:
    """What DifferentIndividuals axioms share."""
    if any(head.name == ALL_DIFFERENT for entry in entries for rule in entry.rules for head in rule.heads):
        k, x, y = (Variable(name) for name in ("axiom", "x", "y"))
        body = (Atom(ALL_DIFFERENT, (k, x)), Atom(ALL_DIFFERENT, (k, y)), Filter(Call("!=", (x, y))))
        head = Atom(INCONSISTENT, (x, Constant("DifferentIndividuals")))
        rule = Rule((head,), (Atom(SAME_AS, (x, y)), *body))
        yield Entry("Consistency", "DifferentIndividuals", None, (rule,), is_axiom=False)


def _equality(known: KnownPredicates) -> Iterator[Entry]:
    """Equality by axioms: owl:sameAs is symmetric and transitive, and equal individuals have the same facts."""
    if not known.may_have(equality.SAME_AS):
        return
    rules_of_same = equality.SYMMETRIC, equality.TRANSITIVE
    yield Entry("Equality", "owl:sameAs is symmetric and transitive", None, rules_of_same, is_axiom=False)
    replaced = tuple(_replacements(known))
    yield Entry("Equality", "equal individuals have the same facts", None, replaced, is_axiom=False)


def _replacements(known: KnownPredicates) -> Iterator[Rule]:
    """Replacement in every class and property. Rules with a variable in the place of a predicate derive facts of
    predicates that nobody has named, so there it is replacement in triples."""
    if TRIPLES in known.heads:
        yield from (REPLACED_SUBJECT, REPLACED_OBJECT)
    else:
        yield from (
            rule for pred in sorted(filter(_has_individuals, known.all)) for rule in equality.replacements(pred)
        )
    if not known.heads.isdisjoint((TRIPLES, TYPES)):
        yield REPLACED_MEMBER


def _has_individuals(pred: Pred) -> bool:
    if pred in (TRIPLES, TYPES, equality.SAME_AS) or not is_rdf(pred) or pred.arity not in (1, 2):
        return False
    return not is_reserved(pred.name) or pred == Pred(DIFFERENT_FROM, 2)


def _different_from(known: KnownPredicates) -> Iterator[Entry]:
    """Nothing differs from itself or from what it equals. Data of later runs may state differences, too."""
    if not (known.may_have(Pred(DIFFERENT_FROM, 2)) or known.may_have(equality.SAME_AS)):
        return
    x, y, label = Variable("x"), Variable("y"), Constant("DifferentIndividuals")
    different = [Rule((Atom(INCONSISTENT, (x, label)),), (Atom(DIFFERENT_FROM, (x, x)),))]
    if known.may_have(equality.SAME_AS):
        both = Atom(SAME_AS, (x, y)), Atom(DIFFERENT_FROM, (x, y))
        different.append(Rule((Atom(INCONSISTENT, (x, label)),), both))
    text = "owl:sameAs and owl:differentFrom exclude each other"
    yield Entry("Consistency", text, None, tuple(different), is_axiom=False)


def _nothing(known: KnownPredicates) -> Iterator[Entry]:
    nothing = Pred(str(NOTHING), 1)
    if known.may_have(nothing):
        x = Variable("x")
        rule = Rule((Atom(INCONSISTENT, (x, Constant("owl:Nothing"))),), (Atom(nothing.name, (x,)),))
        yield Entry("Consistency", "owl:Nothing has no members", None, (rule,), is_axiom=False)
