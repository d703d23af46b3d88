"""The files that LOAD may read: those in folders that the caller allows, and nothing else. There is no network."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from urllib.parse import unquote, urlsplit

from deltalog.core.errors import DataError, UsageError
from deltalog.core.terms import IRI
from deltalog.formats.files import local_path, name_of

RDF_FORMATS = ("ntriples", "turtle", "trig", "xml")


class AllowedFiles:
    """Folders, with everything below them. Symbolic links count as what they lead to."""

    def __init__(self, folders: Iterable[str | PathLike[str]]) -> None:
        given = [folders] if isinstance(folders, str | PathLike) or not isinstance(folders, Iterable) else folders
        self._folders = [local_path(folder).resolve() for folder in given]

    def find(self, source: IRI) -> Path:
        """The file of a `file:` IRI, or of a path that is relative to one of the folders."""
        parts = urlsplit(source)
        if parts.scheme not in ("", "file") or parts.netloc not in ("", "localhost"):
            raise UsageError(f"LOAD <{source}> is refused: only files can be loaded, and nothing from a network")
        path = Path(unquote(parts.path))
        candidates = [path] if parts.scheme else [folder / path for folder in self._folders]
        for candidate in candidates:
            found = candidate.resolve()
            if any(found.is_relative_to(folder) for folder in self._folders) and found.is_file():
                return self._checked(found, source)
        allowed = ", ".join(map(str, self._folders)) or "none"
        raise UsageError(
            f"LOAD <{source}> is refused: no file in an allowed folder ({allowed}); "
            "sparql_update(..., load_from=...) and --load-from allow folders"
        )

    def _checked(self, path: Path, source: IRI) -> Path:
        if name_of(path).format not in RDF_FORMATS:
            raise DataError(
                f"LOAD <{source}>: the ending of the name says no format of RDF: .nt .nq .ttl .trig .rdf .owl"
            )
        return path
