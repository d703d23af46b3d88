"""Programs from texts and files, with all their errors.

A statement with a syntax error hides no other error: all other rules, of the same file and of others, are checked too.
A program with Soufflé's directives is read as Soufflé's language, a file whose name ends with .rls as Nemo's, and one
with .rif as RIF/XML, unless another language is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path

from deltalog.core.arguments import check_choice, checked_text, path_text, told
from deltalog.core.errors import Diagnostic, ProgramError, SyntaxProblem, UsageError
from deltalog.core.rules import Pred, Rule
from deltalog.formats.named_file import NamedFile
from deltalog.languages.deltalog.parser import Document, parse_document
from deltalog.languages.nemo.program import NemoProgram
from deltalog.languages.settings import LANGUAGES, Preprocessing
from deltalog.languages.souffle.detect import is_souffle
from deltalog.languages.souffle.directives import Directive
from deltalog.languages.souffle.program_text import ProgramText
from deltalog.languages.souffle.rules import souffle_rules
from deltalog.program.magic_request import MagicRequest
from deltalog.program.program import analyse
from deltalog.program.stages import OrderedStage

Sources = str | Path | Iterable[str | Path]
IncludeDirs = str | PathLike[str] | Iterable[str | PathLike[str]]
_BY_SUFFIX = {".rls": "nemo", ".rif": "rif"}
READY_MADE = Path(__file__).with_name("rule_sets")
MAX_PATH = 1_000  # characters
_FILE_NAME = re.compile(
    r"""[^\s()\[\]<>"',:;]*[^\s()\[\]<>"',:;./\\]\.(?i:dl|dlog|datalog|rules|rls|rif|txt|ttl|owl|nt)
    |(?:[A-Za-z]:)?[^\s()\[\]<>"',:;]*[/\\][^\s()\[\]<>"',:;]*\w""",
    re.VERBOSE,
)
_RULE_ID = re.compile(r"r[0-9]+")
_READY_MADE_NAME = re.compile(r"\s*@([A-Za-z0-9-]+)\s*")


@dataclass(frozen=True)
class Documents(Document):
    """What several texts and files say together: rules, prefixes, files and columns, directives of Soufflé's language,
    and the programs of Nemo's language among them. `souffle` has the texts of all programs if they are Soufflé's, and
    `warnings` those about their texts, which rules do not tell."""

    directives: tuple[Directive, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    stages: tuple[OrderedStage, ...] = ()
    nemo: tuple[NemoProgram, ...] = ()
    souffle: tuple[str, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    programs: tuple[ProgramText, ...] = ()  # of Soufflé's language
    magic: tuple[MagicRequest, ...] = ()  # of those of them that ask for magic sets


def ready_made(source: str | Path) -> Path | None:
    """The file of a program that comes with deltalog, such as `@rdfs`; None for other sources."""
    found = _READY_MADE_NAME.fullmatch(str(source))
    if found is None or (isinstance(source, Path) and source.exists()):
        return None
    path = READY_MADE / f"{found[1]}.dl"
    if not path.exists():
        names = ", ".join(sorted(f"@{each.stem}" for each in READY_MADE.glob("*.dl")))
        raise UsageError(f"there are no ready-made rules {str(source).strip()}; choose one of {names}")
    return path


def read_rules(
    sources: Iterable[str | Path],
    language: str = "auto",
    includes: bool = True,
    preprocessing: Preprocessing | None = None,
) -> list[Rule]:
    """The rules of texts and files, in order; SyntaxProblem has the errors of all of them."""
    return list(read_documents(sources, language, includes, preprocessing).rules)


def read_removals(sources: Iterable[str | Path]) -> tuple[list[str], tuple[Rule, ...]]:
    """Rules to remove, which are given by id, text or file: the ids, and the rules (and facts) of the others."""
    names, texts = [], list[str | Path]()
    for source in sources:
        if isinstance(source, str) and _RULE_ID.fullmatch(source.strip()):
            names.append(source.strip())
        else:
            texts.append(source)
    document = read_documents(texts, includes=False)
    if document.stages:
        raise UsageError(
            "rules with choice-domain, subsumption, .limitsize, autoinc() or the like cannot be removed; make a "
            "new KnowledgeBase with the other rules"
        )
    return names, document.rules


def as_sources(program: Sources) -> list[str | Path]:
    """One text or file, or several, as a list; UsageError for anything else."""
    if isinstance(program, str | PathLike):
        return [_source(program)]
    if isinstance(program, bytes | Mapping) or not isinstance(program, Iterable):
        raise _no_program(program)
    return list(map(_source, program))


def _source(source: object) -> str | Path:
    if isinstance(source, str):
        return _checked_text(source)
    if isinstance(source, PathLike) and isinstance(path := fspath(source), str):
        return source if isinstance(source, Path) else Path(path)
    raise _no_program(source)


def _no_program(given: object) -> UsageError:
    hint = "; str() of a Rule is its text" if isinstance(given, Rule) else ""
    return UsageError(
        f'expected rules as text, or the path of a file as Path("rules.dl"), or a list of these, and not '
        f"{told(given)}{hint}"
    )


def _checked_text(text: str) -> str:
    """A text, unless it is the name of a file: no program of one word has a slash or ends like a file."""
    text = checked_text(text, "rules as text")
    word = text.strip()
    if len(word) < MAX_PATH and _FILE_NAME.fullmatch(word):
        raise UsageError(
            f'{word!r} is the name of a file, and not the text of a program; for the file, pass Path("{word}") from '
            "pathlib"
        )
    return text


def as_preprocessing(include_dirs: object, macros: object) -> Preprocessing:
    """Folders and macros as users give them, checked."""
    folders = [include_dirs] if isinstance(include_dirs, str | PathLike) else include_dirs
    if not isinstance(folders, Iterable) or isinstance(folders, bytes | Mapping):
        raise UsageError(f"expected folders for include_dirs, such as ['include'], and not {told(include_dirs)}")
    if not isinstance(macros, Mapping):
        raise UsageError(f"expected the values of macros by name, such as {{'N': '4'}}, and not {told(macros)}")
    given: dict[str, str] = {}
    for name, value in macros.items():
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise UsageError(f"{told(name)} is no name of a macro")
        given[name] = checked_text(value, f"a text for the macro {name}, such as '4'")
    return Preprocessing(tuple(Path(path_text(folder)) for folder in folders), given)


def read_documents(
    sources: Iterable[str | Path],
    language: str = "auto",
    includes: bool = True,
    preprocessing: Preprocessing | None = None,
) -> Documents:
    """The rules, and all declared prefixes; a prefix is known only in its own text or file. includes: whether texts may
    include files; those that others send, as to a server, may not."""
    check_choice("language", language, LANGUAGES)
    nemo: list[NemoProgram] = []
    rules: list[Rule] = []
    directives: list[Directive] = []
    notes: list[Diagnostic] = []
    stages: list[OrderedStage] = []
    prefixes: dict[str, str] = {}
    wrong: list[Diagnostic] = []
    names: dict[str, int] = {}
    files: list[NamedFile] = []
    columns: dict[Pred, tuple[str, ...]] = {}
    souffle: list[str] = []
    warnings: list[Diagnostic] = []
    programs: list[ProgramText] = []
    magic: list[MagicRequest] = []
    sources = list(sources)
    for number, source in enumerate(sources, 1):
        name = str(source) if isinstance(source, Path) else "<text>" if len(sources) == 1 else f"<text {number}>"
        names.setdefault(name, number)
        try:
            document = _parsed(source, name, language, includes, preprocessing)
        except SyntaxProblem as problem:
            wrong += problem.diagnostics
            rules += problem.rules
        else:
            rules += document.rules
            prefixes.update(document.prefixes)
            directives += document.directives
            notes += document.notes
            stages += document.stages
            nemo += document.nemo
            souffle += document.souffle
            warnings += document.warnings
            programs += document.programs
            magic += document.magic
            files += document.files
            columns = {**document.columns, **columns}
    wrong += _written_twice(files)
    if wrong:
        raise SyntaxProblem(sorted([*wrong, *_also_wrong(rules)], key=lambda d: _place(d, names)))
    every = tuple(directives), tuple(notes), tuple(stages), tuple(nemo)
    texts = tuple(souffle) if len(souffle) == len(sources) else ()
    said = texts, tuple(warnings), tuple(programs), tuple(magic)
    return Documents(tuple(rules), prefixes, tuple(files), columns, *every, *said)


def _written_twice(files: Iterable[NamedFile]) -> Iterator[Diagnostic]:
    """Outputs that would replace other ones."""
    first: dict[Path, NamedFile] = {}
    for file in (file for file in files if file.kind == "output"):
        other = first.setdefault(file.place.absolute(), file)
        if (other.predicate, other.options) != (file.predicate, file.options):
            message = f"another @output writes this file already, the one of {other.predicate}"
            yield Diagnostic(message, file.span, "A file has one predicate; name another file.")


def language_of(source: str | Path, language: str) -> str:
    """The language that is asked for, or that the name of a file says."""
    return _BY_SUFFIX.get(source.suffix, language) if language == "auto" and isinstance(source, Path) else language


def _parsed(
    source: str | Path, name: str, language: str, includes: bool, preprocessing: Preprocessing | None
) -> Documents:
    known = ready_made(source)
    source = known or source
    text = source if isinstance(source, str) else _text(source)
    language = language_of(source, language)
    if language == "nemo":
        from deltalog.languages.nemo.lower import read_nemo

        nemo = read_nemo(text, name, None if isinstance(source, str) else source.parent)
        return Documents(nemo.rules, nemo.prefixes, nemo=(nemo,))
    if language == "rif":
        from deltalog.languages.rif.read_document import read_rif

        return Documents(read_rif(text, name), {})
    if language == "souffle" or (language == "auto" and is_souffle(text)):
        from deltalog.languages.souffle.lint import lint_souffle
        from deltalog.languages.souffle.program import read_program

        place, may_include = (Path(), includes) if isinstance(source, str) else (source.parent, True)
        program = read_program(text, name, place, may_include, preprocessing)
        rules, stages = souffle_rules(program)
        for stage in stages:
            analyse(stage.rules)  # NotStratified, if it negates what it derives
        said = program.columns, program.directives, program.notes, stages
        read = (), (text,), lint_souffle(program.statements), (program.text,)
        return Documents(rules, {}, (), *said, *read, (program.magic,) if program.magic else ())
    document = parse_document(text, name, ready_made=known is not None)
    folder = None if isinstance(source, str) else source.parent
    files = tuple(replace(file, folder=folder) for file in document.files)
    return Documents(document.rules, document.prefixes, files, document.columns)


def _text(source: Path) -> str:
    try:
        return source.read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read the program {source}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the program {source} is not UTF-8 text (byte {error.start}); if it was saved in another encoding, "
            "save it as UTF-8"
        ) from None


def _also_wrong(rules: list[Rule]) -> tuple[Diagnostic, ...]:
    try:
        analyse(rules)
    except ProgramError as error:
        return error.diagnostics
    return ()


def _place(diagnostic: Diagnostic, names: dict[str, int]) -> tuple[int, str, int]:
    """Files in their order, included ones at the end, by their names."""
    span = diagnostic.span
    if span is None:
        return len(names) + 1, "", 0
    return names.get(span.source.name, len(names)), span.source.name, span.start
