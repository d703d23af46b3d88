"""All benchmarks: a benchmark is data, a program, sizes, tasks, and what the right answer is.

The small set (`deltalog bench`) are the benchmarks with `quick` tasks, at their size `small`. The whole set (`--full`)
are all of them with all of their tasks at their size `full`, and how deltalog alone grows over the sizes in `growth`.
Sizes beyond these, some of them the papers' own, are for whoever asks for them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks import datasets
from benchmarks.datasets import NoData
from benchmarks.tasks import ALL, FACTS, ONCE

__all__ = ["BENCHMARKS", "PROGRAMS", "Benchmark", "NoData", "Size"]

PROGRAMS = Path(__file__).parent / "programs"
PEERS = ("nemo", "clingo", "egglog", "duckdb", "souffle")
SKOS = "http://www.w3.org/2004/02/skos/core#"
TREES = ("standard", "hypertree")  # cyclic rules, as in Tables 2, 4.4 and 4.5
STRUCTURES = ("tables", "modules")  # closures and unions, as in Table 5.11
UNIVERSITY = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"


@dataclass(frozen=True)
class Size:
    """How to write the data of one size into a folder, and how many facts the derived predicates must have."""

    make: Callable[[Path], None]
    facts: int | None = None


@dataclass(frozen=True)
class Benchmark:
    """`rule` is the place of the rule that is taken out and put back, `goal` what is asked. The rule must have effect:
    without facts to apply to, or with others that derive the same, its deletion would be fast and say nothing.

    `ways` are measured, besides deltalog, for the materialisation alone, `settings` (deltalog with other settings) for
    every task of a full run, unless others are asked for.
    """

    name: str
    what: str
    program: Path | str  # ours, or the path of a published one in the folder of data
    sizes: Mapping[str, Size] = field(default_factory=dict)
    rule: int = -1
    goal: str | None = None
    tasks: tuple[str, ...] = ALL
    quick: tuple[str, ...] = ()
    ways: tuple[str, ...] = PEERS
    settings: tuple[str, ...] = ()
    growth: tuple[str, ...] = ()
    timeout: float | None = None

    @property
    def title(self) -> str:
        """What it is, without what comes after a colon."""
        return self.what.split(":")[0] if len(self.what) > 45 else self.what

    def program_path(self) -> Path:
        return self.program if isinstance(self.program, Path) else datasets.published(self.program)

    def files(self, size: str, folder: Path) -> list[Path]:
        """Make the data of a size; the files."""
        folder.mkdir(parents=True, exist_ok=True)
        self.sizes[size].make(folder)
        return sorted(folder.iterdir())


def _closure_sizes() -> dict[str, Size]:
    return {
        "small": Size(partial(datasets.dag, 300, 900, 0), facts=8_497),
        "1000": Size(partial(datasets.dag, 1_000, 5_000, 0)),
        "full": Size(partial(datasets.dag, 2_000, 10_000, 132), facts=413_733),
        "large": Size(partial(datasets.dag, 10_000, 100_000, 0), facts=22_247_851),
    }


def _lubm_sizes(known: Mapping[int, int]) -> dict[str, Size]:
    sizes = {str(n): Size(partial(datasets.lubm, n), known.get(n)) for n in (1, 5, 10, 20, 50, 100)}
    return sizes | {"small": sizes["1"], "full": sizes["10"]}


def _ontology_sizes() -> dict[str, Size]:
    return {
        "ontology": Size(datasets.ontology),
        "small": Size(partial(datasets.lubm_with_ontology, 0)),
        "full": Size(partial(datasets.lubm_with_ontology, 1)),
    }


def _wind_sizes() -> dict[str, Size]:
    return {
        "small": Size(partial(datasets.wind_relations, 200)),
        "400": Size(partial(datasets.wind_relations, 400)),
        "full": Size(partial(datasets.wind_relations, 800)),
    }


GRAPHS = (
    Benchmark(
        "tc_linear",
        "closure of a random DAG, linear",
        PROGRAMS / "tc_linear.dl",
        _closure_sizes(),
        goal="path(1, ?x)",
        quick=ALL,
        growth=("small", "1000"),
    ),
    Benchmark(
        "tc_nonlinear",
        "closure of a random DAG, nonlinear",
        PROGRAMS / "tc_nonlinear.dl",
        _closure_sizes(),
        tasks=ONCE,
    ),
    Benchmark(
        "tc_chain",
        "closure of a chain: a thousand tiny rounds",
        PROGRAMS / "tc_linear.dl",
        {
            "small": Size(partial(datasets.chain, 100), facts=4_950),
            "full": Size(partial(datasets.chain, 1_000), facts=499_500),
        },
        tasks=ONCE,
        ways=("clingo", "egglog", "duckdb", "souffle"),  # Nemo takes a minute
    ),
    Benchmark(
        "symmetric",
        "the symmetric and transitive closure of a chain: all pairs",
        PROGRAMS / "symmetric.dl",
        {
            "small": Size(partial(datasets.link, 100), facts=10_000),
            "full": Size(partial(datasets.link, 1_000), facts=1_000_000),
            "large": Size(partial(datasets.link, 4_000), facts=16_000_000),
        },
        tasks=(*ONCE, "small_deletion", "small_addition"),
        ways=("nemo", "clingo", "duckdb", "reasonable"),
    ),
    Benchmark(
        "same_generation",
        "same generation over a random tree",
        PROGRAMS / "same_generation.dl",
        {
            "small": Size(partial(datasets.tree, 500), facts=33_269),
            "full": Size(partial(datasets.tree, 4_640), facts=2_202_325),
        },
        goal="sg(7, ?x)",
        quick=ONCE,
    ),
    Benchmark(
        "categories",
        "a category graph like DBpedia's, with the rules of SKOS",
        PROGRAMS / "categories.dl",
        {
            "small": Size(partial(datasets.categories, 1_000)),
            "3000": Size(partial(datasets.categories, 3_000)),
            "full": Size(partial(datasets.categories, 10_000)),
            "large": Size(partial(datasets.categories, 100_000)),
            "dbpedia": Size(partial(datasets.categories, 1_500_000)),  # 3 M edges, 10 thousand million pairs
        },
        rule=7,  # semanticRelation, from broaderTransitive
        goal=f"<{SKOS}broaderTransitive>(<http://dbpedia.org/resource/Category:C900>, ?x)",
        ways=("nemo", "duckdb", "souffle"),
        settings=STRUCTURES,
    ),
)

PAPER_000 = (
    Benchmark(
        "lubm_l",
        "LUBM with program L, from N-Triples",
        PROGRAMS / "lubm_l.dl",
        _lubm_sizes({1: 55_272, 5: 329_679, 10: 668_475}),
        rule=-3,  # Student, from takesCourse
        goal=f"<{UNIVERSITY}Student>(?x), <{UNIVERSITY}advisor>(?x, ?y), <{UNIVERSITY}Chair>(?y)",
        quick=ALL,
        ways=("nemo", "clingo", "egglog", "duckdb", "souffle", "spark"),
        growth=("1", "5", "20"),
        timeout=120,  # Spark's start
    ),
    Benchmark(
        "lubm_owl",
        "the ontology of LUBM, for OWL reasoners, too: program L as axioms of OWL 2 RL",
        PROGRAMS / "lubm_l.dl",
        {"small": Size(datasets.lubm_department, facts=3_865), "full": Size(partial(datasets.lubm, 1), facts=55_272)},
        tasks=ONCE,
        quick=ONCE,
        ways=("reasonable", "owlrl", "nemo"),
    ),
    Benchmark(
        "lubm_lc",
        "LUBM with program L+C: sixteen cyclic rules more",
        "lubm/rules/LUBM_L-C.rdfox.dlog",
        _lubm_sizes({}),
        goal=f"<{UNIVERSITY}Chair>(?x)",
        tasks=FACTS,
        ways=("nemo", "duckdb"),
        settings=TREES,
    ),
    Benchmark(
        "motivating",
        "the cyclic rule of Zhang et al.",
        PROGRAMS / "motivating.dl",
        {
            "small": Size(partial(datasets.motivating, 30, 40), facts=3_640),
            "full": Size(partial(datasets.motivating, 100, 300), facts=90_300),
            "large": Size(partial(datasets.motivating, 300, 400), facts=360_400),
        },
        tasks=FACTS,
        settings=TREES,
        growth=("small", "large"),
    ),
    Benchmark(
        "exp",
        "Exp: expression trees that cyclic rules evaluate",
        PROGRAMS / "exp.dl",
        {
            "small": Size(partial(datasets.expressions, 20, 20)),
            "full": Size(partial(datasets.expressions, 100, 30)),
            "paper": Size(partial(datasets.expressions, 300, 300), facts=3 * 300 * (3_420 + 3_720)),
            "30x3000": Size(partial(datasets.expressions, 30, 3_000)),  # as many facts, in larger groups
            "60x1500": Size(partial(datasets.expressions, 60, 1_500)),
        },
        rule=0,
        goal="<http://example#isRootOf>(?n, ?x), <http://example#eval>(?n, ?e), <http://example#value>(?e, 0)",
        quick=ONCE,
        ways=(),  # none of the peers' adapters has BIND
        settings=TREES,
    ),
    Benchmark(
        "yago",
        "the 23 cyclic rules for YAGO: over a labelled graph with skewed degrees",
        "hypertree/YAGO/YAGO_rules.dlog",
        {
            "small": Size(partial(datasets.labelled, 2_000, 4_000)),
            "full": Size(partial(datasets.labelled, 100_000, 150_000)),
            "dense": Size(partial(datasets.labelled, 10_000, 70_000)),
            "denser": Size(partial(datasets.labelled, 10_000, 100_000)),
        },
        goal="<http://Q2x0x1>(?x, ?y)",
        ways=("nemo", "duckdb"),
        settings=TREES,
    ),
)

PAPER_002 = (
    Benchmark(
        "dag_r",
        "DAG-R: 100,000 edges, 22.8 M facts",
        PROGRAMS / "dag_r.dl",
        {"full": Size(partial(datasets.rdf, "multischeme/facts/DAG.ttl.bz2"), facts=22_786_066)},
        tasks=(*ONCE, "small_deletion", "small_addition"),
        settings=("tables",),
        ways=(),  # 10 thousand million derivations: peers would take the better part of an hour
        timeout=120,
    ),
    Benchmark(
        "tc_plus",
        "TC+: closures that are each other's reverse",
        PROGRAMS / "tc_plus.dl",
        {
            "small": Size(partial(datasets.tc_plus, 80, 880)),
            "full": Size(partial(datasets.tc_plus, 200, 2_200)),  # deletions cost the cube of it
            "paper": Size(partial(datasets.tc_plus, 2_000, 22_000)),
        },
        rule=3,
        goal="r(1, ?x)",
        ways=("clingo", "duckdb", "souffle"),
        settings=STRUCTURES,
        growth=("small", "paper"),
    ),
    Benchmark(
        "union",
        "U: the union of fourteen relations",
        PROGRAMS / "union.dl",
        {
            "small": Size(partial(datasets.union, 14_000), facts=14_000),
            "full": Size(partial(datasets.union, 700_000), facts=700_000),
            "paper": Size(partial(datasets.union, 7_000_000), facts=7_000_000),
        },
        goal="u(1, ?x)",
        tasks=FACTS,
        ways=("clingo", "duckdb", "souffle"),
        settings=STRUCTURES,
    ),
    Benchmark(
        "tcu",
        "TCU: a union with a closure in it",
        PROGRAMS / "tcu.dl",
        {
            "small": Size(partial(datasets.tcu, 80, 520)),
            "full": Size(partial(datasets.tcu, 800, 5_200)),
            "paper": Size(partial(datasets.tcu, 1_930, 13_000)),
        },
        goal="u(1, ?x)",
        ways=("clingo", "duckdb", "souffle"),
        settings=STRUCTURES,
        growth=("small", "paper"),
    ),
    Benchmark(
        "relations",
        "Relations: 1,513 rules of the OBO relation ontology",
        "multischeme/rules/Relations.dlog",
        {"full": Size(partial(datasets.rdf, "multischeme/facts/Relations.nt.bz2"))},
        tasks=ONCE,
        ways=(),
        timeout=240,
    ),
)

PAPER_004 = (
    Benchmark(
        "wind_rs1",
        "Rule Set 1: neighbours of turbines, medians of what they measure",
        PROGRAMS / "wind_rs1.dl",
        {
            "small": Size(partial(datasets.wind_neighbours, 50), facts=2_601),
            "200": Size(partial(datasets.wind_neighbours, 200)),
            "full": Size(partial(datasets.wind_neighbours, 400), facts=160_804),
        },
        rule=0,
        goal="sensorAnomaly(?x)",
        ways=(),  # none of the peers' adapters has aggregates
        growth=("small", "200"),
    ),
    Benchmark(
        "wind_rs2",
        "Rule Set 2: eighteen rules, negation of given facts",
        PROGRAMS / "wind_rs2.dl",
        _wind_sizes(),
        rule=5,
        goal="p30(1, ?x)",
        tasks=(*ONCE, "rule_deletion", "rule_addition"),
        ways=("clingo", "duckdb", "souffle"),
    ),
    Benchmark(
        "wind_rs3",
        "Rule Set 3: eighteen rules, negation of derived facts",
        PROGRAMS / "wind_rs3.dl",
        _wind_sizes(),
        rule=9,
        goal="p30(1, ?x)",
        quick=("load", "materialise", "rule_deletion", "rule_addition"),
        ways=("clingo", "duckdb", "souffle"),
    ),
)

WILDCARDS = (
    Benchmark(
        "owl2rl",
        "the rules of OWL 2 RL over LUBM and its ontology: variables for predicates and classes",
        "owl/owl2rl.dl",
        _ontology_sizes(),
        rule=-1,
        goal="<http://www.w3.org/2002/07/owl#Class>(?x)",
        ways=(),  # the peers' adapters have predicates by name
        settings=TREES,
        timeout=120,
    ),
    Benchmark(
        "rdfs",
        "the rules of RDFS over LUBM and its ontology",
        "owl/rdfs.dl",
        _ontology_sizes(),
        goal=f"<{UNIVERSITY}Course>(?x)",
        ways=(),
        settings=TREES,
    ),
)

PUBLISHED = (
    Benchmark(
        "wordnet",
        "the hypernyms of WordNet 3.0, closed",
        PROGRAMS / "tc_linear.dl",
        {"full": Size(datasets.hypernyms, facts=778_320)},
        goal="path(n02084071, ?x)",
        ways=("nemo", "clingo", "egglog", "duckdb", "souffle"),
    ),
    Benchmark(
        "gnutella",
        "the closure of p2p-Gnutella08, with a component of 2,068 nodes",
        PROGRAMS / "tc_linear.dl",
        {"full": Size(partial(datasets.snap, "snap/p2p-Gnutella08.txt.gz"))},
        tasks=ONCE,
        ways=("duckdb", "souffle"),
    ),
    Benchmark(
        "stw",
        "the thesaurus STW with the rules that Hu et al. has for DBpedia",
        "skos/DBpedia-SKOS.dlog",
        {"full": Size(partial(datasets.rdf, "skos/stw.nt.gz"))},
        tasks=ONCE,
        ways=("nemo", "duckdb"),
    ),
)

BENCHMARKS: dict[str, Benchmark] = {
    b.name: b for b in (*GRAPHS, *PAPER_000, *PAPER_002, *PAPER_004, *WILDCARDS, *PUBLISHED)
}
