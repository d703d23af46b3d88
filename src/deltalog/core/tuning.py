"""Tuning: the measured costs and the thresholds of evaluation, maintenance and goals, in one place.

A backend has a `tuning`, as it has `limits`, and what evaluates reads it there. Names end in their unit. A field is a
cost that was measured on the benchmarks, or a threshold that nothing else implies; its comment says by which benchmark,
or what it weighs against what. Whatever follows from a field is a property, and its docstring is the derivation. What
only one module reads and nobody would change (sizes of caches, waiting times) is a constant there. Tests pass a
`Tuning` with costs so low, or so high, that small data cross the thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """Costs and thresholds; the defaults are those of a machine with a few cores."""

    # Costs in rows. A plan goes through 20 to 50 million rows a second (LUBM(1) with L and with OWL 2 RL):
    planning_cost_rows: int = 5_000  # rows that take as long as planning a rule of two or three atoms (0.2 ms)
    running_cost_rows: int = 1_500  # rows that take as long as running a plan over a few facts (0.05 ms)
    qsqr_row_cost_rows: int = 20  # rows of a plan that take as long as one row of QSQ-R
    lookup_cost_rows: int = 8  # rows that are scanned in the time of one look-up
    # Smaller tables are rewritten and have no tombstones; fewer rows are looked up by binary search, not direct access:
    small_table_rows: int = 1 << 10
    parallel_min_rows: int = 1 << 15  # fewer rows are not handed to other threads: that takes 50 microseconds
    morsel_rows: int = 1 << 21  # rows in flight for each thread
    kernel_call_max_matches: int = (
        1 << 17
    )  # matches of a tuple-at-a-time kernel between two checks of limits, some 10 ms
    nested_loop_max_leaf_rows: int = 1 << 11  # plans with larger leaves are not run as nested loops

    # Plans.
    # Joins with this many times the estimated rows are planned again while they run; the textbook estimate is often off
    # by less, and then another plan is no better:
    misestimate_factor: float = 16.0
    # A multiway join is used where binary joins may have this many times its rows; 2 to 32 took 87 to 120 ms on random
    # graphs of skew 1 and 2, and 0 (always) took 50 times as long on one of them. YAGO rules: never took three times as
    # long; LUBM(10) L+C: always took four times as long:
    multiway_advantage_factor: float = 8.0
    tree_cost_margin: float = 4.0  # how many times the cost of the joins a tree may be estimated to cost
    # Joins are safe if their worst case costs at most this many times the tree (and their estimate half of that):
    tree_safe_join_factor: float = 8.0

    # Rounds over few facts (`python -m benchmarks.rounds thresholds`).
    rounds_max_new_facts: int = 1 << 9  # rounds with more new facts are evaluated by sets; both meet at about 1,000
    rounds_variants_per_round: int = 16  # compiling this many variants takes about as long as a round by sets

    # Maintenance: recompute or maintain (`python -m benchmarks.changes facts rules every`).
    # More of the explicit facts than this change: everything is recomputed:
    recompute_all_min_changed_share: float = 0.05
    recompute_min_facts: int = 1000  # changes and strata of fewer facts are always maintained
    # A stratum is recomputed when it loses more of its facts than this, or more of what it reads has changed: deleting
    # a fact costs several times deriving it:
    recompute_min_removed_share: float = 0.1
    # A change of more facts recomputes a stratum of which they are the better part, or that has a virtual relation in
    # its recursion:
    recompute_min_changed_inputs: int = 64
    # A recursive stratum is recomputed when a change has more than one in this many of its rule instances at once:
    # following one costs 25 times deriving it:
    recompute_spread_factor: float = 96

    # Maintenance: strategies.
    # A bounded attempt gives up beyond this many candidate deletions for each seed,:
    bounded_overdeletion_factor: int = 16
    bounded_overdeletion_min_facts: int = 1000  # or this many in all
    tuple_max_changed_facts: int = 1 << 12  # facts of a change that a stratum sees, for the tuple-at-a-time kernel
    tuple_max_facts: int = 1 << 16  # facts that it looks at
    tuple_max_matches: int = 1 << 13  # its matches in a stratum; more are found sooner by sets
    # A stratum where a change was too much is next tried with half as many changed facts. That limit grows with each
    # change beyond it by one in this many of its facts (`benchmarks.changes counts`: without a limit, changes that are
    # too much each time take up to twice as long):
    tuple_retry_divisor: int = 32

    # The local engine.
    # Runs are rewritten when more than one row in this many is a tombstone, or, with tombstones, is looked up at once:
    tombstone_max_divisor: int = 8
    # A row of a product takes 0.2 to 0.8 microseconds; with fewer candidates a row than this, they are sorted instead:
    product_min_candidates_per_row: int = 8
    bit_matrix_min_bits_per_word: int = 2  # from which on words beat pairs
    skolem_cache_names: int = 1 << 18  # names whose arguments are remembered
    closure_listed_max_facts: int = 1 << 16  # closures of fewer facts are stored as tables
    closure_listed_max_facts_per_edge: int = 2  # and so are those with at most this many facts for each edge
    max_listed_pairs: int = 1 << 26  # a difference of virtual relations with more pairs is not listed

    # Goals (`python -m benchmarks.queries`, `python -m benchmarks.choices`).
    goals_before_materialising: int = 20  # goals of one kind after which `auto` materialises
    # A goal that needs more of the facts and of the rules than this needs most of them:
    goal_most_of_program_share: float = 0.5
    goal_small_facts: int = 10_000  # with fewer facts (and few rules), a goal that needs everything is cheap anyhow
    # Estimated rows of a materialisation: LUBM(1) with L has 0.4 M for 57 rules and 100,000 facts:
    materialisation_rows_per_fact: int = 3
    materialisation_min_rows: int = 50_000  # for planning and the first rounds of the smallest programs
    # A materialisation that was tried is given up beyond this many times its estimate:
    materialisation_patience_factor: float = 4.0
    magic_patience_factor: float = 1.0  # and magic sets beyond this many times the estimate of a materialisation
    qsqr_first_attempt_rows: int = 1_000  # rows that QSQ-R may visit before anything is estimated, some 1 ms
    qsqr_chunk_rows: int = 1 << 14  # rows that go through a step of QSQ-R together

    # Explanations (`python -m benchmarks.explain`).
    explain_max_instances: int = 1 << 18  # rule instances that the search for a proof looks at
    explain_max_source_bytes: int = 1 << 21  # larger files are not read again to find where a fact came from

    # Spark.
    # Smaller input is parsed in the driver with `engine="auto"`: at 100 MB a second it is done before Python workers
    # have started, parsed, and sent what they found (LUBM(20), 443 MB, on two cores: in half of the time):
    spark_driver_read_max_bytes: int = 512 * 2**20
    spark_fetch_max_rows: int = 500_000  # DataFrames of up to this many rows are fetched as they are
    spark_driver_table_max_rows: int = 20_000  # smaller tables are kept in the driver
    # Smaller driver tables are literals of a plan, which Spark runs no job to broadcast:
    spark_literal_max_rows: int = 128
    spark_broadcast_max_rows: int = 200_000  # rows of ids that every executor may hold
    # Sides of joins up to this size are broadcast (200,000 pairs of ids), and no larger ones, whatever Spark believes:
    spark_broadcast_max_bytes: int = 4 * 2**20
    spark_frequent_share: float = 0.02  # ids of more of the rows are not sent to one task to be decoded
    # Steps that a stratum takes to follow a small change, each of them a job: seeds and checks:
    jobs_per_stratum: float = 2.0
    spark_archive_max_bytes: int = 600_000_000  # of all archives of classes; one has 160 to 200 MB

    # Stores, and states that a pipeline keeps between runs.
    # Opening reads the changes since the last complete version; they are compacted beyond this share of its rows:
    compact_delta_share: float = 0.5
    state_max_deltas: int = 16  # delta versions of a state before it is compacted; each of them has some files
    store_max_changes: int = 10_000  # changes of a store since its last snapshot; each takes about 0.2 ms to read
    store_kept_snapshots: int = 2  # the last ones: an older one and the log replace a damaged one
    # Space for new values in a mapped dictionary, before its arrays are copied; it is sparse, and takes no disk:
    store_spare_ids: int = 4_096
    store_part_bytes: int = 64 * 2**20  # of a change in one row of the log

    # Nested elements of RDF/XML (time grows with the square of the depth), objects and arrays of JSON-LD (5,000
    # overflow the parser's stack):
    rdf_max_depth: int = 2_000

    # What follows: plans.

    @property
    def distinct_min_rows(self) -> int:
        """Intermediate results with fewer rows are not made distinct: eight times what a nested loop starts from."""
        return 8 * self.nested_loop_max_leaf_rows

    @property
    def multiway_min_facts(self) -> int:
        """Bodies that read fewer facts are nested loops at most, and not joined variable by variable; 0 to 32,768 made
        no difference beyond noise."""
        return self.nested_loop_max_leaf_rows

    @property
    def multiway_check_min_facts(self) -> int:
        """This many candidate deletions or more are checked by multiway joins where bodies are cyclic: an eighth, as a
        check reads several facts for each."""
        return self.nested_loop_max_leaf_rows // 8

    @property
    def replan_min_rows(self) -> float:
        """A round may go through this many rows (0.1 s) before it is given up, so that planning again, some rules in
        0.2 ms each, takes a small part of it."""
        return 800.0 * self.planning_cost_rows

    @property
    def replan_growth_factor(self) -> float:
        """A plan is made again, and trees are reconsidered, when there is this many times more to read: half of the
        error for which a round is given up."""
        return self.misestimate_factor / 2

    @property
    def tree_exchange_factor(self) -> float:
        """A tree is exchanged for one that costs this many times less: a quarter of that error, as both costs are
        estimates over the same facts."""
        return self.misestimate_factor / 4

    @property
    def tree_growth_factor(self) -> float:
        """Choices of a hyper-node under evaluation are looked at when its facts have grown this many times: more often
        than an exchange can be due."""
        return self.tree_exchange_factor / 2

    @property
    def tree_min_rows(self) -> float:
        """Joins of fewer rows by estimate take less time than finding a tree and maintaining it, which costs as much as
        planning a few rules."""
        return 4.0 * self.planning_cost_rows

    @property
    def tree_min_worst_case_rows(self) -> float:
        """The same for the worst case of the joins, which they rarely come near."""
        return 100 * self.tree_min_rows

    @property
    def tree_cost_margin_when_safer(self) -> float:
        """The margin where the worst case of a tree has far fewer rows than that of the joins."""
        return 16 * self.tree_cost_margin

    # Tuple at a time.

    @property
    def nested_loop_max_facts(self) -> int:
        """Room for the results of one kernel call, which finds fewer facts than matches."""
        return self.kernel_call_max_matches // 8

    @property
    def batch_update_max_rows(self) -> int:
        """Explicit rows of many tables that are exchanged in one kernel call: a row counts as 16 matches."""
        return self.kernel_call_max_matches // 16

    @property
    def rounds_max_facts(self) -> int:
        """Room for the facts of one run of rounds, which has several kernel calls."""
        return 2 * self.kernel_call_max_matches

    @property
    def rounds_max_matches(self) -> int:
        """Matches that a round may have: eight full kernel calls, about 100 ms."""
        return 8 * self.kernel_call_max_matches

    @property
    def rounds_min_matches_per_call(self) -> int:
        """Matches of the first kernel call of a run; each call may have twice as many as the one before."""
        return max(1, self.kernel_call_max_matches // 32)

    @property
    def rounds_expressions_per_round(self) -> int:
        """Values computed one by one that take as long as a round by sets: one takes as long as compiling two
        variants."""
        return self.rounds_variants_per_round // 2

    # Recompute or maintain.

    @property
    def recompute_all_large_share(self) -> float:
        """A change of more of the explicit facts than this is a large one, also where they are few."""
        return 4 * self.recompute_all_min_changed_share

    @property
    def recompute_all_min_changed_facts_of_large_share(self) -> int:
        """The least change for which everything is recomputed if it is a large one: a twentieth of the usual one."""
        return self.recompute_min_facts // 20

    @property
    def recompute_spread_notice_factor(self) -> float:
        """Instances are estimated when more than one in this many of the facts that a stratum reads has changed:
        somewhat before they can be too many."""
        return self.recompute_spread_factor * 8 / 3

    @property
    def underivable_check_max_facts(self) -> int:
        """Up to this many overdeleted facts are checked for being mostly underivable before giving up: a quarter of
        what the kernel looks at, as a check reads several facts for each."""
        return self.tuple_max_facts // 4

    @property
    def jobs_per_recursive_stratum(self) -> float:
        """In a recursive stratum also the rounds of overdeletion, rederivation and insertion are jobs (8 facts removed
        from LUBM(5) with L: 8, a path of 10: 8)."""
        return 4 * self.jobs_per_stratum

    # Look-ups and scans of the local engine.

    @property
    def tombstone_scan_divisor(self) -> int:
        """Where more than one row in this many goes, the whole run is scanned: a row is looked up, and the rest
        moved."""
        return 2 * self.lookup_cost_rows

    @property
    def closure_point_lookup_factor(self) -> int:
        """This many times fewer vertices are looked up one by one: each is looked up in the graph and in its
        components."""
        return 2 * self.lookup_cost_rows

    @property
    def fence_min_rows(self) -> int:
        """Longer runs are searched by their fence, which has every 64th key."""
        return 4 * self.small_table_rows

    @property
    def product_min_left_rows(self) -> int:
        """Smaller left sides are joined row by row: a product looks at two tables."""
        return self.small_table_rows // 2

    @property
    def bit_matrix_min_pairs(self) -> int:
        """Smaller relations are not kept as bit matrices: as many pairs as fill 2,048 words."""
        return 2048 * self.bit_matrix_min_bits_per_word

    @property
    def product_max_listed_pairs(self) -> int:
        """Larger virtual relations are not listed for a product, which needs room for its own pairs, too."""
        return self.max_listed_pairs // 4

    @property
    def equality_listed_pairs(self) -> int:
        """Larger differences between relations over representatives stay virtual: they are shown with all names, which
        are many times more."""
        return self.max_listed_pairs // 64

    @property
    def skolem_cache_parts(self) -> int:
        """Encoded arguments of SKOLEM that are kept, by id: half of the names."""
        return self.skolem_cache_names // 2

    # Goals.

    @property
    def goal_cost_rows(self) -> int:
        """Rows that take as long as a goal, whatever it asks: it is a rule, and is analysed and planned."""
        return 2 * self.planning_cost_rows

    @property
    def qsqr_first_batch_rows(self) -> int:
        """Rows of a step of QSQ-R whose fan-out is not known yet: few enough for one of 256."""
        return self.qsqr_chunk_rows // 256

    # Explanations, Spark, stores and states.

    @property
    def explain_max_program_bytes(self) -> int:
        """Larger program files are not parsed again, which takes longer than reading data."""
        return self.explain_max_source_bytes // 2

    @property
    def spark_arrow_max_values(self) -> int:
        """Larger tables become DataFrames by ids, which executors decode: as many values as fetched rows of 16
        columns."""
        return 16 * self.spark_fetch_max_rows

    @property
    def spark_broadcast_max_terms(self) -> int:
        """A dictionary up to this size is fetched by the driver as a whole and broadcast; a larger one is joined. A
        worker keeps it for all jobs, and so it may be larger than the side of a join."""
        return 10 * self.spark_broadcast_max_rows

    @property
    def store_min_change_rows(self) -> int:
        """Stores with fewer rows of changes are opened quickly, however small the snapshot: as many as changes of ten
        rows."""
        return 10 * self.store_max_changes

    @property
    def store_unused_share(self) -> float:
        """Of the values of a dictionary, from which on a snapshot leaves them out: half of the share that makes one
        due."""
        return self.compact_delta_share / 2

    @property
    def state_kept_versions(self) -> int:
        """Versions of a state that are kept: the snapshots of a store, and one more, which readers may still have
        open."""
        return self.store_kept_snapshots + 1
