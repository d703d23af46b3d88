"""Ontologies: RDFS, OWL 2 RL and SWRL as rules.

vocabulary           names of RDFS, OWL and SWRL
profile_names        names of profiles
graph                triples by subject and predicate; lists
axioms               class expressions and axioms as frozen values
read_expressions     a graph's class expressions and properties
read_axioms          a graph's axioms, and the facts beside them
profile              what rules cannot say, and why
existentials         existential restrictions to the right that imply others to the left
compile_expressions  class expressions as bodies and heads
compile              axioms to rules
swrl                 rules of SWRL
print_rules          compiled rules as a program
load                 ontology files
imports              documents that ontologies import, and catalogs of them
state                the ontology of a knowledge base
stored               the same in a store
inconsistencies      what contradicts an ontology
methods              the methods of a knowledge base
"""
