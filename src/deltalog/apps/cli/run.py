"""`deltalog run`: load, materialise, write, report; with progress on standard error."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from deltalog.apps.cli.options import (
    LIMIT_HIT,
    RULES,
    add_data,
    add_evaluation,
    add_language,
    add_limits,
    add_ontology,
    add_verbose,
    asks_for_outputs,
    command_parser,
    counted,
    is_inside,
    load_data,
    load_inputs,
    local,
    sort_out_ontologies,
    warnings_shown,
    wrong_usage,
)
from deltalog.apps.cli.show_facts import ROWS, is_shown, row_limit
from deltalog.formats.formats import OUTPUT_FORMATS
from deltalog.knowledge_base.calls import session_of

if TYPE_CHECKING:
    from deltalog.apps.cli.choose_engine import EngineChoice
    from deltalog.apps.cli.progress import Progress
    from deltalog.evaluation.report import Report
    from deltalog.extensions.ontology.state import Ontology
    from deltalog.knowledge_base.facade import KnowledgeBase


INCONSISTENCIES_SHOWN = 5


def parser() -> ArgumentParser:
    made = command_parser("run", "Derive everything that follows from the rules and the facts; write it, and count it.")
    made.add_argument("programs", metavar="PROGRAM", type=Path, nargs="*", help=RULES)
    add_ontology(made)
    add_data(made)
    add_language(made)
    add = made.add_argument
    out = "write the facts to this folder, which is new or empty; of a Soufflé or Nemo program, what it names itself"
    add("-D", "--out", metavar="DIR", type=local, help=out)
    add("--format", choices=OUTPUT_FORMATS, help="the format of --out (default: csv, or as the program says)")
    add("--out-header", action="store_true", help="CSV and TSV files of --out begin with the names of the columns")
    add("--only", metavar="PRED", action="append", default=[], help="write only this predicate; may be repeated")
    add("--derived", action="store_true", help="write only facts that were not in the input")
    show = "print the facts of this predicate on standard output; may be repeated (default: what a small run derives, "
    add(
        "--show", metavar="PRED", action="append", default=[], help=show + "without --out, --store, --json and --quiet)"
    )
    limit = f"print at most N facts of a predicate, or `all` (default: {ROWS}; all with --show, unless on a terminal)"
    add("--limit", metavar="N", type=row_limit, help=limit)
    add_evaluation(made)
    add_limits(made)
    add("--store", metavar="DIR", type=local, help="create a store in this folder, which is new or empty")
    add("--json", action="store_true", help="print the report as one JSON object on standard output")
    add("-q", "--quiet", action="store_true", help="no progress, no facts but those of --show, and no summary")
    add_verbose(made, "files, schemes, decompositions and the slowest hyper-nodes, and why each was chosen,")
    return made


def run(options: Namespace) -> int:
    """Runs it; the exit code."""
    sort_out_ontologies(options)
    if wrong := _mismatch(options):
        return wrong_usage("run", wrong)
    from deltalog.apps.cli.choose_engine import choose_engine
    from deltalog.apps.cli.progress import Progress, log_messages
    from deltalog.core.watching import watching

    for folder in filter(None, (None if "directives" in _out(options) else options.out, options.store)):
        from deltalog.formats.write import check_output

        check_output(folder)
    progress = Progress(lines=not options.quiet, bar=not options.quiet, verbose=options.verbose)
    with progress, watching(progress), log_messages(progress.say):
        choice = choose_engine(options.engine, options.master, options.data, options.memory)
        if options.store is not None and choice.engine == "spark":
            return wrong_usage(
                "run",
                f"--store needs the local engine ({choice.reason}); use --engine local, or a "
                "pipeline with a state (docs/pipelines.md)",
            )
        progress.detail(f"engine {choice.engine}: {choice.reason}")
        try:
            with warnings_shown(options.quiet):
                report = _run(choice, options, progress)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_written(options)) from None
    _show(report, options)
    _warn_of_inconsistencies(report)
    if report.complete:
        return 0
    where = f"; {options.out} has the facts derived so far" if options.out is not None else ""
    where += f"; {options.store} was not created" if options.store is not None else ""
    print(f"INCOMPLETE: {report.why_incomplete}; facts are missing from the result{where}", file=sys.stderr)
    return LIMIT_HIT


def _mismatch(options: Namespace) -> str:
    """What is wrong with the options together, if anything."""
    out, store = options.out, options.store
    if not (options.programs or options.ontology or options.profile):
        return "the following arguments are required: PROGRAM, or --ontology"
    if out is not None and store is not None and (is_inside(out, store) or is_inside(store, out)):
        return f"--store {store} and --out {out} are one inside of the other"
    if options.json and options.show:
        return "--show and --json both print on standard output; choose one of them"
    return ""


def _out(options: Namespace) -> set[str]:
    """What programs say that --out gets, before they are read: see `languages.registry.LanguageRow`."""
    from deltalog.languages.registry import find_row, row_of

    if options.language != "auto":
        return {row_of(options.language).out}
    files = (path for path in options.programs if path.is_file())
    return {find_row(path, path.read_text(errors="replace")).out for path in files}


def _out_of(kb: KnowledgeBase) -> set[str]:
    """The same of programs that were read."""
    from deltalog.languages.registry import row_of

    return {row_of(language).out for language in session_of(kb).document.languages}


def _written(options: Namespace) -> str:
    """What there is after an interrupt: a folder appears when it is complete."""
    folders = [folder for folder in (options.out, options.store) if folder is not None]
    return " and ".join(f"{folder} is complete" for folder in folders if folder.is_dir() and any(folder.iterdir()))


def _run(choice: EngineChoice, options: Namespace, progress: Progress) -> Report:
    """Loads, materialises and writes."""
    from deltalog.apps.cli.run_report import spark_by_phase
    from deltalog.apps.cli.verbose import details

    kb = _loaded(choice, options, progress)
    metrics = [kb.metrics()]
    report = (kb.materialise_outputs if asks_for_outputs(options) else kb.materialise)(partial=True)
    report.engine_reason = "; ".join(filter(None, [choice.reason, report.engine_reason]))
    _find_inconsistencies(kb, report)
    metrics.append(kb.metrics())
    for line in details(kb, report) if options.verbose else ():
        progress.detail(line)
    named = "directives" in _out_of(kb)
    if named:
        _write_named(kb, options, progress)
    elif written := kb.write_outputs():
        progress.say(f"wrote {', '.join(map(str, written))} in {kb.report.seconds['write']:.2f} s")
    if options.out is not None and (not named or options.format is not None):
        _write(kb, options)
        progress.say(f"wrote {options.out} in {report.seconds['write']:.2f} s")
    if options.store is not None and report.complete:
        started = time.perf_counter()
        kb.save(options.store)
        kb.close()
        progress.say(f"created the store {options.store} in {time.perf_counter() - started:.2f} s")
    if is_shown(options):
        _print_facts(kb, report, options, progress)
    report.spark = spark_by_phase([*metrics, kb.metrics()])
    return report


def _print_facts(kb: KnowledgeBase, report: Report, options: Namespace, progress: Progress) -> None:
    from deltalog.apps.cli.show_facts import shown_facts
    from deltalog.apps.cli.terminal import print_text

    text = shown_facts(kb, report, options)
    progress.end()
    print_text(text)
    sys.stdout.flush()


def _write(kb: KnowledgeBase, options: Namespace) -> None:
    """What programs export, unless a format or predicates are asked for; else all facts."""
    if "exports" in _out_of(kb) and options.format is None and not options.only:
        kb.write_exports(options.out)
    else:
        how = {"only": options.only, "derived": options.derived, "header": options.out_header}
        kb.write(options.out, options.format or "csv", **how)


def _write_named(kb: KnowledgeBase, options: Namespace, progress: Progress) -> None:
    """What .output and .printsize name; with --format, all facts are written in that format instead of the files."""
    folder = options.out if options.format is None else None
    if folder is not None and str(folder) != "-":
        folder.mkdir(parents=True, exist_ok=True)
    files, written = session_of(kb).document.files, kb.write_outputs(folder)
    if written:
        progress.say(f"wrote {counted(len(written), 'file')} to {folder} in {kb.report.seconds['write']:.2f} s")
    elif options.out is None and any(
        file.kind == "output" and file.names_file for file in session_of(kb).document.files
    ):
        progress.say("files of .output are written with --out DIR (or -D DIR)")
    elif folder is not None and all(file.kind == "input" for file in files):
        progress.say("the program has no .output, so nothing is written; --format csv writes all facts")


def _find_inconsistencies(kb: KnowledgeBase, report: Report) -> None:
    from deltalog.knowledge_base.reading import count_inconsistencies

    report.inconsistencies = count_inconsistencies(session_of(kb))
    if report.inconsistencies and report.complete:
        report.inconsistency_examples = [str(each) for each in kb.inconsistencies[:INCONSISTENCIES_SHOWN]]


def _loaded(choice: EngineChoice, options: Namespace, progress: Progress) -> KnowledgeBase:
    """The knowledge base with rules and facts; the names of --only are checked if they can be known yet."""
    from deltalog.apps.cli.choose_engine import prepare_spark
    from deltalog.apps.cli.open_store import knowledge_base
    from deltalog.apps.cli.show_facts import full_name
    from deltalog.knowledge_base import topics

    if choice.engine in ("spark", "auto"):
        prepare_spark(choice, options.data, progress.say)
    kb = knowledge_base(options.programs, options, engine=choice.engine)
    if kb.ontology is not None and not kb.ontology.is_generic:
        progress.say(_ontology_line(kb.ontology))
    if options.store is not None:
        topics.kept_programs.check_storable(session_of(kb))
    for note in session_of(kb).document.notes:
        progress.say(str(note))
    from deltalog.languages.deltalog.named_file import OwnFile

    if inputs := [
        str(file.place) for file in session_of(kb).document.files if isinstance(file, OwnFile) and file.kind == "input"
    ]:
        progress.say(f"read {kb.explicit_facts:,} facts, from {', '.join(inputs)}")
    if load_inputs(kb, options):
        progress.say(f"read {kb.explicit_facts:,} facts in {kb.report.seconds['load']:.2f} s")
    if options.data:
        progress.say(f"reading {', '.join(str(path) for path in options.data)}")
        load_data(kb, options)
        progress.say(f"read {kb.explicit_facts:,} facts in {kb.report.seconds['load']:.2f} s")
    if topics.reading.names_are_known(session_of(kb)):
        for name in (*options.only, *options.show):
            session_of(kb).predicate(full_name(name, kb.prefixes))
        topics.programs.check_outputs(session_of(kb))
    if options.store is None:  # which may get its facts later
        _warn_of_no_facts(kb)
    return kb


def _warn_of_no_facts(kb: KnowledgeBase) -> None:
    """A program without any facts derives nothing, unless a rule needs none."""
    from deltalog.program.body_atoms import needs_facts

    idle = (
        kb.rules
        and all(needs_facts(rule.body) for rule in kb.rules)
        and not ("exports" in _out_of(kb) or session_of(kb).state.depends_on_order)
    )
    if idle and not kb.explicit_facts:
        from deltalog.core.user_warnings import warn

        warn("no facts, so nothing can be derived; --data PATH names files of facts")


def _ontology_line(ontology: Ontology) -> str:
    outside = len(ontology.compiled.outside)
    lost = f"; parts of {counted(outside, 'axiom')} are lost, which `deltalog ontology` lists" if outside else ""
    rules, axioms = counted(len(ontology.rules), "rule"), counted(ontology.compiled.axioms, "axiom")
    return f"{rules} from {axioms}{lost}"


def _warn_of_inconsistencies(report: Report) -> None:
    """A loud line, in any case."""
    if report.inconsistencies:
        found = counted(report.inconsistencies, "contradiction")
        print(f"INCONSISTENT: {found} with the ontology", file=sys.stderr)
        for example in report.inconsistency_examples:
            print(f"  {example}", file=sys.stderr)


def _show(report: Report, options: Namespace) -> None:
    from deltalog.apps.cli.run_report import ROWS_SHOWN, TERMINAL_ROWS_SHOWN, as_json, summary
    from deltalog.evaluation.failed_expressions import warning_of_failures

    if options.json:
        print(json.dumps(as_json(report)))
    elif not options.quiet:
        rows = TERMINAL_ROWS_SHOWN if sys.stderr.isatty() else ROWS_SHOWN
        print(summary(report, rows), file=sys.stderr)
    if not options.quiet and (warning := warning_of_failures(report.failures, "")):
        print(warning, file=sys.stderr)
