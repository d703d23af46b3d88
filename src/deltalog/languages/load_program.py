"""Programs from texts and files, with all their errors.

A statement with a syntax error hides no other error: all other rules, of the same file and of others, are checked too.
The language of a program is the one that is asked for, or that the program tells (`deltalog.languages.registry`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path

from deltalog.core.arguments import check_choice, checked_text, path_text, short_repr
from deltalog.core.errors import Diagnostic, ProgramError, SyntaxProblem, UsageError
from deltalog.core.rules import Rule
from deltalog.languages.deltalog.named_file import OwnFile
from deltalog.languages.protocol import Preprocessing, ProgramFile, ProgramUnit, ReadingContext, united
from deltalog.languages.registry import LANGUAGES, find_row
from deltalog.program.program import analyse

Sources = str | Path | Iterable[str | Path]
IncludeDirs = str | PathLike[str] | Iterable[str | PathLike[str]]
READY_MADE = Path(__file__).with_name("rule_sets")
MAX_PATH = 1_000  # characters
_FILE_NAME = re.compile(
    r"""[^\s()\[\]<>"',:;]*[^\s()\[\]<>"',:;./\\]\.(?i:dl|dlog|datalog|rules|rls|rif|txt|ttl|owl|nt)
    |(?:[A-Za-z]:)?[^\s()\[\]<>"',:;]*[/\\][^\s()\[\]<>"',:;]*\w""",
    re.VERBOSE,
)
_RULE_ID = re.compile(r"r[0-9]+")
_READY_MADE_NAME = re.compile(r"\s*@([A-Za-z0-9-]+)\s*")


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
        f"{short_repr(given)}{hint}"
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
        raise UsageError(f"expected folders for include_dirs, such as ['include'], and not {short_repr(include_dirs)}")
    if not isinstance(macros, Mapping):
        raise UsageError(f"expected the values of macros by name, such as {{'N': '4'}}, and not {short_repr(macros)}")
    given: dict[str, str] = {}
    for name, value in macros.items():
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise UsageError(f"{short_repr(name)} is no name of a macro")
        given[name] = checked_text(value, f"a text for the macro {name}, such as '4'")
    return Preprocessing(tuple(Path(path_text(folder)) for folder in folders), given)


def read_documents(
    sources: Iterable[str | Path],
    language: str = "auto",
    includes: bool = True,
    preprocessing: Preprocessing | None = None,
) -> ProgramUnit:
    """The rules, and all declared prefixes; a prefix is known only in its own text or file. includes: whether texts may
    include files; those that others send, as to a server, may not."""
    check_choice("language", language, LANGUAGES)
    units: list[ProgramUnit] = []
    wrong: list[Diagnostic] = []
    names: dict[str, int] = {}
    sources = list(sources)
    for number, source in enumerate(sources, 1):
        name = str(source) if isinstance(source, Path) else "<text>" if len(sources) == 1 else f"<text {number}>"
        names.setdefault(name, number)
        try:
            units.append(
                _read(source, language, ReadingContext(name, None, includes, preprocessing or Preprocessing()))
            )
        except SyntaxProblem as problem:
            wrong += problem.diagnostics
            units.append(ProgramUnit(tuple(problem.rules)))
    unit = united(units)
    wrong += _written_twice(unit.files)
    if wrong:
        raise SyntaxProblem(sorted([*wrong, *_also_wrong(unit.rules)], key=lambda d: _place(d, names)))
    return unit


def _written_twice(files: Iterable[ProgramFile]) -> Iterator[Diagnostic]:
    """Outputs that would replace other ones."""
    first: dict[Path, OwnFile] = {}
    for file in (file for file in files if isinstance(file, OwnFile) and file.kind == "output"):
        error = file.replaces(first.setdefault(file.place.absolute(), file))
        if error is not None:
            yield error


def _read(source: str | Path, language: str, reading: ReadingContext) -> ProgramUnit:
    known = ready_made(source)
    source = known or source
    text = source if isinstance(source, str) else _text(source)
    folder = None if isinstance(source, str) else source.parent
    row = find_row(source, text, language)
    return row.language.read(text, replace(reading, folder=folder, ready_made=known is not None))


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


def _also_wrong(rules: Sequence[Rule]) -> tuple[Diagnostic, ...]:
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
