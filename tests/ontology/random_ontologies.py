"""Random ontologies within OWL 2 RL, with facts, as Turtle."""

from __future__ import annotations

from random import Random

PREFIXES = """@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
CLASSES = [f":C{n}" for n in range(6)]
PROPERTIES = [f":p{n}" for n in range(4)]
INDIVIDUALS = [f":i{n}" for n in range(7)]
DECLARATIONS = "".join(f"{name} a owl:ObjectProperty .\n" for name in PROPERTIES)


class RandomOntology:
    """Axioms and facts from a seed; `equality`: also axioms that make individuals the same."""

    def __init__(self, seed: int, equality: bool) -> None:
        self.random, self.equality = Random(seed), equality

    def axioms(self, count: int) -> list[str]:
        return [self.axiom() for _ in range(count)]

    def facts(self, count: int) -> list[str]:
        return [self.fact() for _ in range(count)]

    def fact(self) -> str:
        if self.random.random() < 0.4:
            return f"{self.individual()} a {self.name()} ."
        return f"{self.individual()} {self.property()} {self.individual()} ."

    def name(self) -> str:
        return self.random.choice(CLASSES)

    def property(self) -> str:
        return self.random.choice(PROPERTIES)

    def individual(self) -> str:
        return self.random.choice(INDIVIDUALS)

    # Class expressions of OWL 2 RL: to the left and to the right of subclass axioms.

    def left(self, depth: int = 2) -> str:
        kind = self.random.randrange(8) if depth else 0
        match kind:
            case 0 | 1 | 2:
                return self.name()
            case 3:
                return f"[ owl:intersectionOf ( {self.left(depth - 1)} {self.left(depth - 1)} ) ]"
            case 4:
                return f"[ owl:unionOf ( {self.left(depth - 1)} {self.left(depth - 1)} ) ]"
            case 5:
                return f"[ owl:oneOf ( {self.individual()} {self.individual()} ) ]"
            case 6:
                filler = "owl:Thing" if self.random.random() < 0.3 else self.left(depth - 1)
                return f"[ owl:onProperty {self.property()} ; owl:someValuesFrom {filler} ]"
        return f"[ owl:onProperty {self.property()} ; owl:hasValue {self.individual()} ]"

    def right(self, depth: int = 2) -> str:
        kind = self.random.randrange(9 if self.equality else 8) if depth else 0
        match kind:
            case 0 | 1 | 2:
                return self.name()
            case 3:
                return f"[ owl:intersectionOf ( {self.right(depth - 1)} {self.right(depth - 1)} ) ]"
            case 4:
                return f"[ owl:onProperty {self.property()} ; owl:allValuesFrom {self.right(depth - 1)} ]"
            case 5:
                return f"[ owl:onProperty {self.property()} ; owl:hasValue {self.individual()} ]"
            case 6:
                return f"[ owl:complementOf {self.left(depth - 1)} ]"
            case 7:
                return self.at_most(0)
        return self.at_most(1)

    def at_most(self, number: int) -> str:
        if self.random.random() < 0.5:
            return f"[ owl:onProperty {self.property()} ; owl:maxCardinality {number} ]"
        return (
            f"[ owl:onProperty {self.property()} ; owl:maxQualifiedCardinality {number} ; owl:onClass {self.name()} ]"
        )

    def axiom(self) -> str:
        kind = self.random.randrange(18 if self.equality else 14)
        p, q = self.property(), self.property()
        match kind:
            case 0 | 1 | 2:
                return f"{self.left()} rdfs:subClassOf {self.right()} ."
            case 3:
                value = f"[ owl:onProperty {p} ; owl:hasValue {self.individual()} ]"
                return f"{self.name()} owl:equivalentClass [ owl:intersectionOf ( {self.name()} {value} ) ] ."
            case 4:
                return f"{p} rdfs:domain {self.right()} ."
            case 5:
                return f"{p} rdfs:range {self.right()} ."
            case 6:
                return f"{p} rdfs:subPropertyOf {q} ."
            case 7:
                return f"{p} owl:inverseOf {q} ."
            case 8:
                return f"{p} owl:propertyChainAxiom ( {self.property()} {q} ) ."
            case 9:
                kind_of_property = self.random.choice(["Symmetric", "Transitive", "Asymmetric", "Irreflexive"])
                return f"{p} a owl:{kind_of_property}Property ."
            case 10:
                return f"{self.left(1)} owl:disjointWith {self.left(1)} ."
            case 11:
                return f"{p} owl:propertyDisjointWith {q} ."
            case 12:
                return f"{self.individual()} a {self.right()} ."
            case 13:
                return f"{p} owl:equivalentProperty {q} ."
            case 14:
                return f"{p} a owl:{self.random.choice(['Functional', 'InverseFunctional'])}Property ."
            case 15:
                return f"{self.name()} owl:hasKey ( {p} {q} ) ."
            case 16:
                return f"{self.individual()} owl:sameAs {self.individual()} ."
        return f"[] a owl:AllDifferent ; owl:members ( {self.individual()} {self.individual()} ) ."


def turtle(*parts: list[str]) -> str:
    """A document of axioms and facts."""
    return PREFIXES + DECLARATIONS + "\n".join(line for part in parts for line in part) + "\n"
