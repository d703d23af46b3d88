"""The command line: options in, KnowledgeBase, results out. Messages go to standard error.

Exit codes: 0 done, 1 an error in the input, 2 wrong usage, 3 a limit was hit and the answer is incomplete.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from deltalog import __version__
from deltalog.errors import DeltalogError, UsageError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="deltalog: Datalog over RDF, CSV and Parquet. Try `deltalog run rules.dl --data facts.csv`.",
)

Programs = Annotated[list[Path], typer.Argument(metavar="PROGRAM...", help="Files of rules.")]
Data = Annotated[
    list[Path] | None,
    typer.Option(
        help="A file or folder of facts: .nt .nq .ttl .rdf .csv .tsv .facts .parquet, also .gz .bz2 .zst. "
        "The name of a table's file is the predicate. May be repeated."
    ),
]


class Engine(str, Enum):
    auto = "auto"
    local = "local"
    spark = "spark"
    naive = "naive"


class Format(str, Enum):
    csv = "csv"
    tsv = "tsv"
    nt = "nt"
    parquet = "parquet"


def _memory(text: str | None) -> int | None:
    from deltalog.limits import parse_memory

    try:
        return None if text is None else parse_memory(text)
    except UsageError as error:
        raise typer.BadParameter(str(error)) from None


@app.command()
def run(
    program: Programs,
    data: Data = None,
    out: Annotated[Path | None, typer.Option(help="Write results here: a folder that is new or empty.")] = None,
    format: Annotated[Format, typer.Option(help="The form of the results.")] = Format.csv,
    only: Annotated[list[str] | None, typer.Option(help="Write only this predicate. May be repeated.")] = None,
    derived: Annotated[bool, typer.Option("--derived", help="Write only facts that were not in the input.")] = False,
    engine: Annotated[Engine, typer.Option(help="Where to reason; auto is local while the data fit in memory, and spark beyond.")] = Engine.auto,
    master: Annotated[str | None, typer.Option(help="The Spark master, such as local[4] or spark://host:7077; implies --engine spark.")] = None,
    memory: Annotated[str | None, typer.Option(help="Stop beyond this much memory, such as 8GB.")] = None,
    timeout: Annotated[float | None, typer.Option(min=0, help="Stop after so many seconds.")] = None,
    max_facts: Annotated[int | None, typer.Option(min=0, help="Stop beyond so many facts.")] = None,
    store: Annotated[Path | None, typer.Option(help="Keep the materialisation (not in this version yet).")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")] = False,
) -> None:
    """Derive everything that follows from the rules and the facts, and write it."""
    from deltalog.cli_run import RunOptions, run_program

    if store is not None:
        raise typer.BadParameter("--store is not part of this version yet; use --out")
    options = RunOptions(
        programs=program,
        data=data or [],
        out=out,
        format=format.value,
        only=only or [],
        derived=derived,
        engine="spark" if engine is Engine.auto and master else engine.value,
        master=master,
        memory=_memory(memory),
        timeout=timeout,
        max_facts=max_facts,
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(_guarded(lambda: run_program(options)))


@app.command()
def check(program: Programs) -> None:
    """Report every error and warning of a program. Reads no data."""
    raise typer.Exit(_guarded(lambda: _check(program)))


def _check(programs: list[Path]) -> int:
    from deltalog.kb import parse_source
    from deltalog.program import analyse

    rules = [rule for path in programs for rule in parse_source(path)]
    program = analyse(rules)
    for warning in program.warnings:
        print(f"{warning}\n", file=sys.stderr)
    print(
        f"{len(program.rules)} rules and {len(program.facts)} facts in {len(program.hyper_nodes)} hyper-nodes: "
        f"no errors, {len(program.warnings)} warnings"
    )
    return 0


@app.command()
def plan(
    program: Programs,
    data: Data = None,
    svg: Annotated[Path | None, typer.Option(help="Also draw the dependency graph into this file.")] = None,
) -> None:
    """Show hyper-nodes, join orders and indexes; with --data they are planned for these facts."""
    raise typer.Exit(_guarded(lambda: _plan(program, data or [], svg)))


def _plan(programs: list[Path], data: list[Path], svg: Path | None) -> int:
    from deltalog.kb import KnowledgeBase
    from deltalog.plan.svg import draw

    kb = KnowledgeBase(programs)
    if data:
        kb.load(*data)
    print(kb.plan())
    if svg is not None:
        svg.write_text(draw(kb.program), "utf-8")
        print(f"the dependency graph is in {svg}", file=sys.stderr)
    return 0


def _guarded(command: Callable[[], int]) -> int:
    """Runs a command; what it raises on purpose becomes one readable message and an exit code."""
    try:
        return command()
    except DeltalogError as error:
        print(error if str(error).lstrip().startswith("error") else _with_prefix(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 1


def _with_prefix(error: DeltalogError) -> str:
    from deltalog.errors import ProgramError

    return str(error) if isinstance(error, ProgramError) else f"error: {error}"


def _version(value: bool) -> None:
    if value:
        print(f"deltalog {__version__}")
        raise typer.Exit()


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> Any:
    """The entry point."""
    return app()
