"""Tuning: every threshold of evaluation, maintenance and goals, in one place.

A backend has a `tuning`, as it has `limits`, and what evaluates reads it there; nothing imports a threshold as a
constant. Names end in their unit. Each value was measured on the benchmarks; the comment says by which, or what the
threshold weighs against what. Tests pass a `Tuning` with thresholds so low that small data cross them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """Thresholds; the defaults are those of a machine with a few cores."""

    # Evaluation: joins and plans.
    replan_growth_factor: float = 8  # a plan is made again when what it reads has grown this many times
    # Joins with this many times the estimated rows are planned again while they run; the textbook estimate is often off
    # by less, and then another plan is no better:
    replan_misestimate_factor: float = 16.0
    replan_min_rows: float = 4_000_000.0  # but not before this many rows, some 0.1 s
    join_order_tie_factor: float = 4.0  # join orders whose costs are within this factor count as equal
    distinct_min_rows: int = 1 << 14  # intermediate results with fewer rows are not made distinct
    # Bodies that read fewer facts are not joined variable by variable; 0 to 32,768 made no difference beyond noise:
    multiway_min_facts: int = 1 << 11
    # A multiway join is used where binary joins may have this many times its rows; 2 to 32 took 87 to 120 ms on random
    # graphs of skew 1 and 2, and 0 (always) took 50 times as long on one of them. YAGO rules: never took three times as
    # long; LUBM(10) L+C: always took four times as long:
    multiway_advantage_factor: float = 8.0
    # Rows that take as long as planning a rule of two or three atoms (0.2 ms; LUBM(1) with L and with OWL 2 RL, where
    # 20 to 50 million rows a second go through a step):
    planning_cost_rows: int = 5_000
    running_cost_rows: int = 1_500  # rows that take as long as running a plan over a few facts (0.05 ms, same data)

    # With this many hyper-nodes, independent ones are evaluated together (10,000 classes: 3.1 s instead of 3.6):
    batch_min_hyper_nodes: int = 1 << 9
    # Python looks for garbage in cycles after this many new objects, not after 700 (`concurrency.collector`):
    collector_min_objects: int = 100_000

    # Evaluation: hypertree decompositions.
    tree_reconsider_factor: float = 8.0  # trees are reconsidered when there is this many times more or less to read
    tree_exchange_factor: float = 4.0  # and exchanged for one that costs this many times less
    # Choices of a hyper-node under evaluation are looked at when its facts have grown this many times:
    tree_growth_factor: float = 2.0
    tree_cost_margin: float = 4.0  # how many times the cost of the joins a tree may be estimated to cost
    # The same where its worst case has far fewer rows than the worst case of the joins:
    tree_cost_margin_when_safer: float = 64.0
    tree_far_fewer_rows_factor: float = 1000.0  # what far fewer means there
    # Joins of fewer rows by estimate take less time than finding a tree (5 ms for six atoms), and than maintaining it:
    tree_min_rows: float = 20_000.0
    tree_min_worst_case_rows: float = 2_000_000.0  # the same for their worst case
    # Joins are safe if their worst case costs at most this many times the tree (and their estimate half of that):
    tree_safe_join_factor: float = 8.0
    tree_wider_advantage_factor: float = 2.0  # a wider tree is taken only if it costs this many times less
    tree_search_budget_atoms: int = 8000  # atoms in choices of λ that are compared before the first that works is taken

    # Evaluation: rounds over few facts (`python -m benchmarks.rounds thresholds`).
    rounds_max_new_facts: int = 1 << 9  # rounds with more new facts are evaluated by sets; both meet at about 1,000
    rounds_first_room_facts: int = 1 << 11  # room for this many facts takes no time to make
    rounds_room_per_fact: int = 8  # facts that may be found for each new one, at first
    rounds_room_growth_factor: int = 4  # when the room is full
    rounds_variants_per_round: int = 16  # compiling this many variants takes about as long as a round by sets
    rounds_max_backoff_rounds: int = 1 << 6  # rounds by sets after a round that was too large
    rounds_worthwhile_rounds: int = 8  # a run of this many rounds was worth its start
    rounds_max_facts: int = 1 << 18  # room for the facts of one run of rounds
    rounds_matches_per_fact: int = 16  # matches that a round may have for each of `rounds_max_new_facts`
    rounds_max_matches: int = 1 << 20  # but at most this many, about 100 ms
    rounds_expressions_per_round: int = 8  # values computed one by one take about as long as a round by sets
    # A kernel call does at least this many matches between two checks of limits:
    rounds_min_matches_per_call: int = 1 << 12
    rounds_max_matches_per_call: int = 1 << 17  # and at most this many, about 10 ms
    rounds_matches_per_expression: int = 1 << 8  # matches that take as long as one expression
    rounds_cached_results: int = 1 << 8  # results of expressions that are kept

    # Maintenance: recompute or maintain (`python -m benchmarks.changes facts rules every`).
    # More of the explicit facts than this change: everything is recomputed:
    recompute_all_min_changed_share: float = 0.05
    recompute_all_min_changed_facts: int = 1000  # but never for fewer changed facts than this
    recompute_all_large_share: float = 0.2  # unless they are more than this share,
    recompute_all_min_changed_facts_of_large_share: int = 50  # and more than this many facts
    recompute_min_facts: int = 1000  # strata with fewer facts to delete are always maintained
    # A stratum is recomputed when it loses more of its facts than this, or more of what it reads has changed: deleting
    # a fact costs several times deriving it:
    recompute_min_removed_share: float = 0.1
    # A change of more facts recomputes a stratum of which they are the better part, or that has a virtual relation in
    # its recursion:
    recompute_min_changed_inputs: int = 64
    # A recursive stratum is recomputed when a change has more than one in this many of its rule instances at once:
    # following one costs 25 times deriving it:
    recompute_spread_factor: float = 96
    # And that is estimated when more than one in this many of the facts it reads has changed:
    recompute_spread_notice_factor: float = 256

    # Maintenance: strategies.
    # A bounded attempt gives up beyond this many candidate deletions for each seed,:
    bounded_overdeletion_factor: int = 16
    bounded_overdeletion_min_facts: int = 1000  # or this many in all
    # This many candidates or more are checked by multiway joins where bodies are cyclic:
    multiway_check_min_facts: int = 1 << 8
    # Up to this many overdeleted facts are checked for being mostly underivable before giving up:
    underivable_check_max_facts: int = 1 << 14
    # Of the facts that may be overdeleted: beyond it, a delta that still grows gives up:
    overdeletion_growth_share: float = 0.3

    # Maintenance: tuple at a time, by the kernel of the local engine.
    tuple_max_changed_facts: int = 1 << 12  # facts of a change that a stratum sees
    tuple_max_facts: int = 1 << 16  # facts that are looked at
    tuple_max_matches: int = 1 << 13  # matches in a stratum; more are found sooner by sets
    # A stratum where a change was too much is next tried with half as many changed facts. That limit grows with each
    # change beyond it by one in this many of its facts (`benchmarks.changes counts`: without a limit, changes that are
    # too much each time take up to twice as long):
    tuple_retry_divisor: int = 32
    batch_update_max_rows: int = 1 << 13  # explicit rows of many tables that are exchanged in one kernel call
    nested_loop_max_leaf_rows: int = 1 << 11  # plans with larger leaves are not run as nested loops
    nested_loop_max_facts: int = 1 << 14  # room for the results of one kernel call
    nested_loop_max_matches: int = 1 << 17  # matches of one kernel call

    # The local engine: tables, indexes and operators.
    parallel_min_rows: int = 1 << 15  # fewer rows are not handed to other threads: that takes 50 microseconds
    morsel_rows: int = 1 << 21  # rows in flight for each thread
    tombstone_min_rows: int = 1 << 10  # smaller tables are rewritten and have no tombstones
    tombstone_scan_divisor: int = 16  # where more than one row in this many goes, the whole run is scanned
    tombstone_max_divisor: int = 8  # runs are rewritten when more than one row in this many is a tombstone
    speculative_sort_max_rows: int = 1 << 20  # more rows are not sorted for an attempt that may be given up
    fence_min_rows: int = 1 << 12  # longer runs are searched by their fence
    search_max_rows: int = 1 << 10  # this many rows are looked up by binary search and not by direct access
    # Tombstones are cleared when more than one in this many rows of a table is looked up:
    compact_lookup_divisor: int = 8
    lookup_sort_reads: int = 64  # an index for point look-ups is made when the run would have been scanned this often
    product_max_listed_pairs: int = 1 << 24  # larger virtual relations are not listed for a product
    product_min_left_rows: int = 1 << 9  # smaller left sides are joined row by row
    product_offsets_divisor: int = 8  # direct access by id pays with at least ids divided by this many candidates
    # A row of a product takes 0.2 to 0.8 microseconds; with fewer candidates a row than this, they are sorted instead:
    product_min_candidates_per_row: int = 8
    product_max_sorted_candidates: int = 1 << 20  # but not more of them than this
    bit_matrix_max_bytes: int = 1 << 28  # larger relations are not kept as bit matrices
    bit_matrix_min_pairs: int = 1 << 12  # nor smaller ones
    bit_matrix_min_bits_per_word: int = 2  # from which on words beat pairs
    plan_cache_entries: int = 1 << 13  # compiled plans that are kept
    reader_plan_cache_entries: int = 1 << 8  # the same for a reader: most of its plans are of one goal, some 4 kB each
    skolem_cache_names: int = 1 << 18  # names whose arguments are remembered
    skolem_cache_min_names: int = 1 << 6  # an entry costs as much memory as this many names, and one more for each name
    skolem_cache_parts: int = 1 << 17  # encoded arguments of SKOLEM that are kept, by id
    closure_listed_max_facts: int = 1 << 16  # closures of fewer facts are stored as tables
    closure_listed_max_facts_per_edge: int = 2  # and so are those with at most this many facts for each edge
    closure_max_listed_difference: int = 1 << 26  # larger differences of closures are not listed
    closure_point_lookup_factor: int = 16  # this many times fewer vertices are looked up one by one
    closure_max_walk_steps: int = 4  # ancestors up to this many steps away are found by walking up,
    closure_max_walked_vertices: int = 1 << 8  # from at most this many vertices
    closure_max_waste_factor: int = 3  # reachable sets are rewritten without gaps beyond this many times what they need

    # Goals (`python -m benchmarks.queries`, `python -m benchmarks.choices`).
    goals_before_materialising: int = 20  # goals of one kind after which `auto` materialises
    # A goal that needs more of the facts and of the rules than this needs most of them:
    goal_most_of_program_share: float = 0.5
    goal_small_facts: int = 10_000  # with fewer facts
    goal_small_rules: int = 50  # and fewer rules than these, a goal that needs everything is cheap by any method
    # Estimated rows of a materialisation: LUBM(1) with L has 0.4 M for 57 rules and 100,000 facts:
    materialisation_rows_per_fact: int = 3
    materialisation_min_rows: int = 50_000  # for planning and the first rounds of the smallest programs
    # A materialisation that was tried is given up beyond this many times its estimate:
    materialisation_patience_factor: float = 4.0
    magic_patience_factor: float = 1.0  # and magic sets beyond this many times the estimate of a materialisation
    qsqr_first_attempt_rows: int = 1_000  # rows that QSQ-R may visit before anything is estimated, some 1 ms
    qsqr_budget_share: float = 0.8  # of the budget of magic sets, at most, is for QSQ-R before it
    # Of the estimated work of a materialisation, for a trial of QSQ-R where estimates alone say to materialise:
    qsqr_trial_share: float = 0.25
    qsqr_row_cost_rows: int = 20  # rows of a plan that take as long as one row of QSQ-R
    goal_cost_rows: int = 10_000  # rows that take as long as a goal, whatever it asks
    # A slower materialisation is given up by the clock. Exp, with SKOLEM and BIND, has 1.7 M rows a second of CPU, and
    # other load on the machine should change no choice:
    materialisation_min_rows_per_second: float = 2e5
    # It is tried once more where compiling kernels took more than this share of the time (16 s of CPU in a first run):
    materialisation_compiling_share: float = 0.5
    qsqr_chunk_rows: int = 1 << 14  # rows that go through a step of QSQ-R together
    qsqr_first_batch_rows: int = 64  # of a step of QSQ-R whose fan-out is not known yet
    qsqr_batch_growth_factor: int = 16  # from one batch to the next, at most
    qsqr_rule_cost_rows: int = 100  # rows that take as long as preparing a rule, 0.2 ms
    prepared_queries_kept: int = 128  # queries whose preparation is kept

    # Explanations (`python -m benchmarks.explain`).
    explain_max_instances: int = 1 << 18  # rule instances that the search for a proof looks at
    explain_compared_instances: int = 64  # instances over explicit facts that are compared for the fewest premises
    explain_compared_facts: int = 1 << 10  # in proofs that are compared by their facts, and not by their size as trees
    explain_shown_members: int = 10  # members of an aggregate's group that a proof has
    explain_alternative_instances: int = 1 << 12  # that are looked at to see whether an explicit fact is derived, too
    explain_kept_bindings: int = 1 << 12  # of the satisfied part of a body, for a fact that does not hold
    explain_max_near_lookups: int = 1 << 8  # facts with values of other types that are looked up
    explain_max_similar_values: int = 1 << 13  # values that are compared with a misspelt one
    explain_max_source_bytes: int = 1 << 21  # larger files are not read again to find where a fact came from
    explain_max_program_bytes: int = 1 << 20  # the same for program files, which take longer to parse

    # Spark.
    # `--engine auto` without a master reads and writes with Spark from this much input on:
    spark_min_input_bytes: int = 8 * 2**30
    # Of the driver's memory, for tables and dictionary; sorting and joining them takes as much again for moments:
    spark_driver_budget_share: float = 0.4
    # Memory that a process may take beyond the budget while a call runs: kernels and modules that are loaded, morsels:
    spark_driver_overhead_bytes: int = 256 * 2**20
    # Bytes for each byte of keys, for indexes in other column orders; LUBM(20) with L has 1.4:
    spark_driver_index_factor: float = 2.0
    # Of the dictionary, beside the text: 49 to 98, as its arrays grow by doubling:
    spark_driver_bytes_per_term: int = 64
    spark_driver_text_factor: float = 1.5  # bytes of the dictionary for each byte of text, for the same reason
    # At least so many bytes for each byte of an (uncompressed) file; LUBM(20) as N-Triples has 0.3:
    spark_min_bytes_per_input_byte: float = 0.15
    # Smaller input is parsed in the driver with `engine="auto"`: at 100 MB a second it is done before Python workers
    # have started, parsed, and sent what they found (LUBM(20), 443 MB, on two cores: in half of the time):
    spark_driver_read_max_bytes: int = 512 * 2**20
    spark_fetch_max_rows: int = 500_000  # DataFrames of up to this many rows are fetched as they are
    spark_arrow_max_values: int = 8_000_000  # larger tables become DataFrames by ids, which executors decode
    spark_driver_table_max_rows: int = 20_000  # smaller tables are kept in the driver
    # Smaller driver tables are literals of a plan, which Spark runs no job to broadcast:
    spark_literal_max_rows: int = 128
    spark_broadcast_max_rows: int = 200_000  # rows of ids that every executor may hold
    # A dictionary up to this size is fetched by the driver as a whole and broadcast; a larger one is joined:
    spark_broadcast_max_terms: int = 2_000_000
    spark_frequent_share: float = 0.02  # ids of more of the rows are not sent to one task to be decoded
    spark_distinct_count_max_rows: int = 1_000_000  # rows of which the driver counts distinct values
    # Sides of joins up to this size are broadcast (200,000 pairs of ids), and no larger ones, whatever Spark believes:
    spark_broadcast_max_bytes: int = 4 * 2**20
    spark_measured_jobs: int = 32  # recent jobs whose median says how long one takes
    # Steps that a stratum takes to follow a small change, each of them a job: seeds and checks; in a recursive one also
    # the rounds of overdeletion, rederivation and insertion (8 facts removed from LUBM(5) with L: 8, a path of 10: 8):
    jobs_per_stratum: float = 2.0
    jobs_per_recursive_stratum: float = 8.0
    spark_max_segments: int = 4  # stored DataFrames that new rows are compared with one after the other
    # Segments of a table that differ in size by less than this are rewritten as one:
    spark_segment_size_factor: float = 2.0
    spark_partitions_per_core: int = 2  # of jobs that read, write or unite: cores that finish early take another task
    # A state that is kept between runs. Opening reads every delta version, and each has some files:
    state_max_deltas: int = 16  # a version with more delta versions before it is compacted
    state_max_delta_share: float = 0.5  # or one whose deltas have more rows than this share of its base
    state_kept_versions: int = 3  # the last versions, which readers may still have open
    state_rows_per_partition: int = 4_000_000  # that an executor writes to a file
    state_chunk_rows: int = 1 << 20  # rows that the driver writes or reads at a time
    # Ontologies. Rules for each pair of disjoint classes, before an auxiliary relation takes their place; nine classes
    # have 36 pairs:
    ontology_paired_classes: int = 8
    ontology_max_holders: int = 64  # classes that count as tests of an existential restriction; with more, none does
    ontology_max_alternatives: int = 1_000  # rules of an intersection of unions; with more, it is left out
    # Nested elements of RDF/XML (time grows with the square of the depth), objects and arrays of JSON-LD (5,000
    # overflow the parser's stack):
    rdf_max_depth: int = 2_000
    # Rows of a predicate whose objects are compared with prefixed names, for a warning:
    prefixed_text_sample: int = 1_000
    # Equality by representatives. Facts about changed names are found by look-ups if these are so many times fewer:
    equality_scan_factor: int = 8
    equality_listed_pairs: int = 1 << 20  # of a difference; a larger one stays virtual
    equality_max_names: int = 6  # variables of a rule that stand for names; a rule is copied for each set of them
    # Stores. A snapshot is taken when opening would have to repeat many changes:
    store_max_changes: int = 10_000  # since the last snapshot; each takes about 0.2 ms to read
    store_max_change_share: float = 0.5  # of the explicit facts, in rows of changes since the last snapshot
    store_min_change_rows: int = 100_000  # and at least so many rows
    store_kept_snapshots: int = 2  # the last ones: an older one and the log replace a damaged one
    store_unused_share: float = 0.25  # of the values of a dictionary, from which on a snapshot leaves them out
    # Space for new values in a mapped dictionary, before its arrays are copied; it is sparse, and takes no disk:
    store_spare_ids: int = 4_096
    store_spare_share: float = 0.125
    store_part_bytes: int = 64 * 2**20  # of a change in one row of the log
    store_busy_seconds: float = 30.0  # that a reader or writer waits for the catalog
    spark_watch_seconds: float = 0.1  # between two checks of the limits while Spark runs jobs
    spark_settle_seconds: float = (
        1.0  # in which Spark's status tracker hears of the end of a job; it takes milliseconds
    )
    spark_rest_timeout_seconds: float = 20.0  # for an answer of Spark's web UI
    # Scopes of jobs that wait to be counted; Spark remembers a thousand jobs, and a scope has a few:
    spark_max_uncounted_scopes: int = 64
    spark_archive_max_bytes: int = 600_000_000  # of all archives of classes; one has 160 to 200 MB
    spark_archive_unused_seconds: float = 60 * 24 * 3600  # after which an archive is deleted
