"""Options that several commands share, the checks of their values, and the exit codes."""

from __future__ import annotations

import sys
import warnings
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from deltalog.apps.cli.terminal import print_text
from deltalog.core.errors import DataWarning, DeltalogWarning, UsageError
from deltalog.evaluation.equality.settings import EQUALITY_SETTINGS
from deltalog.evaluation.plan.hypertree.settings import CYCLIC_SETTINGS
from deltalog.extensions.graphs.relations import DEFAULT_GRAPHS
from deltalog.extensions.ontology.profile_names import PROFILES
from deltalog.knowledge_base.calls import session_of
from deltalog.languages.registry import LANGUAGES

if TYPE_CHECKING:
    from deltalog.knowledge_base.facade import KnowledgeBase

T = TypeVar("T")
ERROR, USAGE, LIMIT_HIT = 1, 2, 3
RULES = "a file of rules, or ready-made ones: @rdfs, @rdfs-plus, @owl2rl, @skos"
EXIT_CODES = "Exit codes: 0 done; 1 an error in the input; 2 wrong usage; 3 a limit was hit, the answer is incomplete."


class CommandParser(ArgumentParser):
    """A parser that says which option was meant."""

    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ").split()
        if len(unknown) < len(message.split()):
            message += self._meant([word.partition("=")[0] for word in unknown if word.startswith("-")])
        super().error(message)

    def print_help(self, file: Any = None) -> None:
        if file is None:
            print_text(self.format_help())
        else:
            super().print_help(file)

    def _meant(self, words: list[str]) -> str:
        from difflib import get_close_matches

        known = [option for action in self._actions for option in action.option_strings]
        near = dict.fromkeys(name for word in words for name in get_close_matches(word, known, 1))
        return f"; did you mean {' or '.join(near)}?" if near else ""


def command_parser(command: str, description: str, epilog: str = EXIT_CODES) -> ArgumentParser:
    """The parser of a command, without options yet."""
    return CommandParser(
        prog=f"deltalog {command}",
        description=description,
        epilog=epilog,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_programs(parser: ArgumentParser) -> None:
    parser.add_argument("programs", metavar="PROGRAM", type=Path, nargs="+", help=RULES)


def add_ontology(parser: ArgumentParser) -> None:
    """--ontology, --profile and --equality."""
    files = "an ontology (RDFS, OWL 2, SWRL) as .ttl, .owl, .rdf or .nt: its axioms become rules; may be repeated"
    parser.add_argument("--ontology", metavar="FILE", type=local, action="append", default=[], help=files)
    add_profile(parser)
    ways = "how to evaluate owl:sameAs: with facts about one of several equal individuals (representatives, the "
    ways += "default), or about each of them (axioms)"
    parser.add_argument("--equality", choices=EQUALITY_SETTINGS, default="representatives", help=ways)


def sort_out_ontologies(options: Namespace) -> None:
    """`--ontology a.owl b.owl`: RDF files among the programs are ontologies."""
    from deltalog.formats.files import name_of

    is_rdf = {path: name_of(path).format in ("turtle", "xml", "ntriples") for path in options.programs}
    if options.ontology:
        options.ontology += [path for path in options.programs if is_rdf[path]]
        options.programs = [path for path in options.programs if not is_rdf[path]]


def add_profile(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        default=None,
        help="what becomes of axioms: rules of their own by OWL 2 RL (owl2rl, the default) or RDFS (rdfs); or they "
        "stay facts, under the OWL 2 RL/RDF rules (owl2rl-rdf)",
    )


def add_data(parser: ArgumentParser) -> None:
    """--data, and how to read it."""
    parser.add_argument(
        "--data",
        metavar="PATH",
        type=local,
        action="append",
        default=[],
        help="a file or folder of facts: .nt .nq .ttl .trig .rdf .jsonld .csv .tsv .facts .parquet .jsonl, "
        "also .gz .bz2 .zst; the name of a table's file is the predicate; may be repeated",
    )
    add_reading(parser)


def add_reading(parser: ArgumentParser) -> None:
    """How to read files of facts."""
    add = parser.add_argument
    base_help = "the base of relative IRIs in Turtle and RDF/XML (default: the file's own IRI, file:///...)"
    add("--base", metavar="IRI", type=base, help=base_help)
    shared = "blank-node labels are shared by all RDF files instead of local to each: for the parts of one document"
    add("--shared-blank-nodes", action="store_true", help=shared)
    strict = "reject relative IRIs, bare numbers and booleans in N-Triples and N-Quads, as the standard does"
    add("--strict", action="store_true", help=strict)
    add_tables(parser)


def add_tables(parser: ArgumentParser) -> None:
    """How to read tables: CSV, TSV, Parquet."""
    group = parser.add_argument_group(
        "tables", "options of all tables; a .deltalog.toml beside the program has options by predicate, @input its own"
    )
    add = group.add_argument
    header = "the first row of tables has the names of their columns; auto finds out, false says that it is a fact"
    add("--header", metavar="true|false|auto", choices=("true", "false", "auto"), help=header)
    add("--delimiter", metavar="C", help="between cells, such as ';' or tab (default: a comma in .csv, else a tab)")
    add("--quote", metavar="C", help="around cells (default: \"); '' for none")
    add("--escape", metavar="C", help="before a quote in a quoted cell (default: quotes are doubled)")
    add("--encoding", metavar="NAME", help="of the text, such as latin-1 (default: utf-8)")
    add("--skip-lines", metavar="N", type=lines, help="lines before the table")
    add("--decimal-comma", action="store_true", help="floats and decimals have a comma: 1,5")
    chosen = "columns to read, by name or number from 1 on, and new names: from,to or src=from,dst=to"
    add("--columns", metavar="NAMES", type=column_list, help=chosen)
    types = "of columns: string,int or km=float; types are auto, string, int, float, decimal, bool, date, datetime, iri"
    add("--types", metavar="TYPES", type=type_list, help=types)
    nulls = "what becomes of a row with an empty cell: error, drop, or a text or number that takes its place"
    add("--nulls", metavar="WHAT", type=null_policy, help=nulls)
    texts = "a text that means null, instead of the empty one; may be repeated"
    add("--null-value", metavar="TEXT", action="append", help=texts)


def table_options(options: Namespace) -> dict[str, Any]:
    """The options of tables as `KnowledgeBase.load` takes them."""
    header = {"true": True, "false": False}.get(options.header, options.header)
    given = {name: getattr(options, name) for name in ("delimiter", "quote", "escape", "encoding", "columns", "types")}
    given |= {"header": header, "skip": options.skip_lines, "decimal": "," if options.decimal_comma else None}
    return given | {"nulls": options.nulls, "null_values": options.null_value}


def spelled_out(words: Sequence[str]) -> list[str]:
    """`--header` alone is `--header true`: it does not take the next word for its value."""
    values = ("true", "false", "auto")
    following = [*words[1:], ""]
    return [
        "--header=true" if word == "--header" and after not in values else word
        for word, after in zip(words, following, strict=False)
    ]


def add_limits(parser: ArgumentParser) -> None:
    """Limits of a command that changes or reads a knowledge base."""
    add = parser.add_argument
    add("--timeout", metavar="S", type=seconds, help="stop after this many seconds")
    add("--max-facts", metavar="N", type=count, help="stop when there are more facts than this")
    add("--memory", metavar="SIZE", type=memory, help="stop when the process uses more memory than this, such as 8GB")


def add_evaluation(parser: ArgumentParser) -> None:
    """Where and how rules are evaluated: --engine, --master, --schemes, --cyclic, --default-graph."""
    add = parser.add_argument
    engines = (
        "where to evaluate: auto (default) is local while the data should fit in memory, else spark. With a Spark "
        "master (from --master, spark-submit, PYSPARK_SUBMIT_ARGS, spark-defaults.conf or MASTER), or over 8 GB of "
        "input, auto reads and writes with Spark; otherwise it starts no JVM"
    )
    add("--engine", choices=("auto", "local", "spark", "naive"), default="auto", help=engines)
    master = (
        "the Spark master, such as local[4] or spark://host:7077: Spark reads and writes, and with --engine auto its "
        "driver evaluates the rules while that fits in memory"
    )
    add("--master", metavar="URL", help=master)
    add_schemes(parser)
    add_cyclic(parser)
    graph = (
        "what rules apply to, and queries outside of GRAPH: the union of all graphs (the default), or the unnamed one"
    )
    add("--default-graph", choices=DEFAULT_GRAPHS, default="union", help=graph)


def add_verbose(parser: ArgumentParser, what: str, *aliases: str) -> None:
    """-v, and what it says on standard error."""
    parser.add_argument("-v", "--verbose", *aliases, action="store_true", help=f"also print {what} on standard error")


def is_inside(one: Path, other: Path) -> bool:
    """Whether a folder is another one, or in it."""
    folder, whole = one.resolve(), other.resolve()
    return folder == whole or whole in folder.parents


@contextmanager
def warnings_shown(quiet: bool = False) -> Iterator[None]:
    """A context in which warnings of the library are lines on standard error; with `quiet`, those about data alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        if quiet:
            warnings.simplefilter("ignore", DeltalogWarning)
            warnings.simplefilter("always", DataWarning)
        warnings.showwarning = _show_warning
        yield


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    text = str(message.diagnostic) if isinstance(message, DeltalogWarning) else f"warning: {message}"
    print(text, file=sys.stderr)


def wrong_usage(command: str, message: str) -> int:
    """Says what is wrong with the options of a command; the exit code."""
    print(f"deltalog {command}: error: {message}", file=sys.stderr)
    return USAGE


def add_language(parser: ArgumentParser) -> None:
    """--language, --facts, and what is included and defined."""
    languages = (
        "the language of the programs (default: auto; a program with directives such as .decl is Soufflé's, "
        "a file whose name ends with .rls Nemo's, with .rif RIF)"
    )
    parser.add_argument("--language", choices=LANGUAGES, default="auto", help=languages)
    facts = "a folder of files that .input directives name (default: folders of --data, else the program's own)"
    parser.add_argument("-F", "--facts", metavar="DIR", type=local, action="append", default=[], help=facts)
    include = "a folder of files that Soufflé programs include, besides the program's own; may be repeated"
    parser.add_argument("-I", "--include-dir", metavar="DIR", type=local, action="append", default=[], help=include)
    macro = "a macro of Soufflé programs, as #define NAME VALUE; may be repeated"
    parser.add_argument(
        "-M", "--macro", metavar="NAME[=VALUE]", type=macro_value, action="append", default=[], help=macro
    )


def macro_value(text: str) -> tuple[str, str]:
    """The name and the value of a macro."""
    name, _, value = text.partition("=")
    return name, value


def preprocessing_of(options: Namespace) -> dict[str, Any]:
    """The settings of the preprocessor among the options of a command."""
    return {"include_dirs": getattr(options, "include_dir", []), "macros": dict(getattr(options, "macro", []))}


def load_inputs(kb: KnowledgeBase, options: Namespace, missing: str = "error") -> bool:
    """Loads what .input directives name; whether there are any. Folders of --data are places to look for it then."""
    if not any(file.kind == "input" and not file.at_once for file in session_of(kb).document.files):
        return False
    folders = [path for path in options.data if path.is_dir()]
    options.data = [path for path in options.data if not path.is_dir()]
    only_needed = missing == "error" and asks_for_outputs(options)
    kb.load_inputs(*getattr(options, "facts", []), *folders, missing=missing, only_needed=only_needed)
    return True


def asks_for_outputs(options: Namespace) -> bool:
    """Whether nothing but the outputs of a Soufflé program is asked for."""
    return not any(getattr(options, name, None) for name in ("format", "only", "show", "store"))


def load_data(kb: KnowledgeBase, options: Namespace) -> None:
    """Loads what --data names, if anything."""
    load_inputs(kb, options, "ignore")
    if options.data:
        with warnings_shown():
            kb.load(*options.data, **reading_options(options))


def reading_options(options: Namespace) -> dict[str, Any]:
    """How to read files, as `KnowledgeBase.load` takes it."""
    rdf = {"base": options.base, "shared_blank_nodes": options.shared_blank_nodes, "strict": options.strict}
    return rdf | table_options(options)


def add_cyclic(parser: ArgumentParser) -> None:
    ways = "how to evaluate rules with cyclic bodies: by joins (standard), by hypertree decompositions of all rules "
    ways += "(hypertree), or by decompositions of cyclic rules where that pays (combined, the default)"
    parser.add_argument("--cyclic", choices=CYCLIC_SETTINGS, default="combined", help=ways)


def add_schemes(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--schemes",
        choices=("auto", "standard", "module", "scheme"),
        default="auto",
        help="how to store transitive, symmetric and inverse relations and unions: as tables (standard), as tables "
        "with the rules of a module (module), as virtual relations (scheme), or as virtual relations where that saves "
        "something (auto, the default)",
    )


def counted(n: int, noun: str) -> str:
    """A number of things."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


# Values of options.


def base(text: str) -> str:
    from deltalog.formats.documents import Reading

    return _checked(lambda text: Reading(text).base or text, text)


def local(text: str) -> Path:
    from deltalog.formats.files import local_path

    return _checked(local_path, text)


def memory(text: str) -> int:
    from deltalog.core.limits import memory_bytes

    return _checked(memory_bytes, text)


def seconds(text: str) -> float:
    from deltalog.core.limits import seconds

    try:
        return _checked(seconds, float(text))
    except ValueError:
        return _checked(seconds, text)


def count(text: str) -> int:
    return _count(text, "facts")


def positive(text: str) -> int:
    if (number := count(text)) < 1:
        raise ArgumentTypeError(f"must be at least 1, got {text}")
    return number


def lines(text: str) -> int:
    return _count(text, "lines")


def column_list(text: str) -> list[Any]:
    """`from,to`, or `src=from,2=to`."""
    pairs = [part.partition("=") for part in text.split(",")]
    return [{"column": _name_or_number(old), **({"as": new} if new else {})} for old, _, new in pairs]


def type_list(text: str) -> Any:
    """`string,int`, or `km=float,1=string`."""
    pairs = [part.partition("=") for part in text.split(",")]
    by_column = [(_name_or_number(name), type) for name, equals, type in pairs if equals]
    if by_column and len(by_column) < len(pairs):
        raise ArgumentTypeError(f"give either a type for each column in order, or types of columns by name: {text}")
    return by_column or [name.strip() for name, _, _ in pairs]


def null_policy(text: str) -> Any:
    from deltalog.formats.csv_cells import parse_plain

    return parse_plain(text)


def _name_or_number(text: str) -> str | int:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() else text


def version(text: str) -> int:
    return _count(text, "a version", least=1)


def _count(text: str, what: str, least: int = 0) -> int:
    from deltalog.core.limits import count

    is_number = text.isascii() and text.replace("_", "").isdigit()
    number = int(text.replace("_", "")) if is_number else text
    return _checked(lambda value: count(value, what, least), number)


def _checked(check: Callable[[Any], T], value: Any) -> T:
    """The value of an option, if it passes the check."""
    try:
        return check(value)
    except UsageError as error:
        raise ArgumentTypeError(str(error)) from None
