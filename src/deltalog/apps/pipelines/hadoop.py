"""Files by URI, through the Hadoop file systems of a SparkSession: whatever Spark can read and write, such as `file:`,
`hdfs:` and `s3a:`.

PySpark has no public interface to Hadoop, so this is the one module that reaches its JVM for files.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalog.core.errors import DataError, UsageError


def escaped(path: str) -> str:
    """A path whose wildcards stand for themselves."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def is_hidden(name: str) -> bool:
    """Whether Spark skips a name: it begins with `_` or `.`, and is no partition such as `_version=1`."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file or folder: its whole URI, size in bytes, and time of last modification in milliseconds."""

    uri: str
    is_folder: bool
    size: int
    modified: int

    @property
    def name(self) -> str:
        return self.uri.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Hadoop:
    """The file systems that a session knows. Paths without a scheme belong to its default file system."""

    spark: Any

    def qualified(self, uri: str) -> str:
        """The whole URI of a path, with its scheme; UsageError if no file system has that scheme."""
        path = self._path(uri)
        return str(self._system(path, uri).makeQualified(path).toString())

    def exists(self, uri: str) -> bool:
        path = self._path(uri)
        with _failures(uri):
            return bool(self._system(path, uri).exists(path))

    def file_above(self, uri: str) -> str | None:
        """The file that a path is, or is below; None if it is a folder, or could become one."""
        path = self._path(uri)
        with _failures(uri):
            system = self._system(path, uri)
            while path is not None and not system.exists(path):
                path = path.getParent()
            return None if path is None or system.getFileStatus(path).isDirectory() else str(path.toString())

    def glob(self, uri: str) -> list[FileStatus]:
        """The files and folders that match a path with wildcards, sorted; none if nothing matches."""
        path = self._path(uri)
        with _failures(uri):
            return _statuses(self._system(path, uri).globStatus(path))

    def children(self, uri: str) -> list[FileStatus]:
        """The files and folders in a folder, sorted; none if there is no such folder."""
        return self._listed(uri) if self.exists(uri) else []

    def files(self, uri: str) -> Iterator[FileStatus]:
        """All data files of a path with wildcards, in folders too; hidden ones are skipped."""
        for status in self.glob(uri):
            yield from self.below(status)

    def below(self, status: FileStatus) -> Iterator[FileStatus]:
        """A file, or all data files in a folder and its folders; hidden ones are skipped."""
        if not status.is_folder:
            yield status
            return
        for child in self._listed(status.uri):
            if not is_hidden(child.name):
                yield from self.below(child)

    def _listed(self, uri: str) -> list[FileStatus]:
        path = self._path(uri)
        with _failures(uri):
            return _statuses(self._system(path, uri).listStatus(path))

    def make_folder(self, uri: str) -> None:
        path = self._path(uri)
        with _failures(uri):
            self._system(path, uri).mkdirs(path)

    def delete(self, uri: str) -> None:
        """Deletes a file, or a folder with all that it has; nothing if it does not exist."""
        path = self._path(uri)
        with _failures(uri):
            self._system(path, uri).delete(path, True)

    def read_text(self, uri: str) -> str:
        path = self._path(uri)
        jvm = self._jvm
        with _failures(uri):
            stream = self._system(path, uri).open(path)
            try:
                return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()

    def write_text(self, uri: str, text: str) -> None:
        """Writes a file as a whole: readers see the old text or the new one, and never a part."""
        path, temporary = self._path(uri), self._path(f"{uri}.tmp")
        with _failures(uri):
            system = self._system(path, uri)
            stream = system.create(temporary, True)
            stream.write(bytearray(text.encode()))
            stream.close()
            rename = getattr(self._jvm.org.apache.hadoop.fs, "Options$Rename")
            options = self.spark.sparkContext._gateway.new_array(rename, 1)
            options[0] = rename.OVERWRITE
            context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(path.toUri(), self._configuration)
            context.rename(system.makeQualified(temporary), system.makeQualified(path), options)

    def create_text(self, uri: str, text: str) -> bool:
        """Writes a file if there is none at the URI; whether that is so."""
        whole = self.qualified(uri)
        with _failures(uri):
            if whole.startswith("file:"):  # Hadoop's local file system looks first and creates then
                return _create_local(whole.removeprefix("file:"), text)
            path = self._path(whole)
            system = self._system(path, uri)
            try:
                stream = system.create(path, False)
            except Exception:
                if system.exists(path):
                    return False
                raise
            stream.write(bytearray(text.encode()))
            stream.close()
            return True

    def upload(self, file: str, uri: str) -> None:
        """Copies a file of this machine; what is at the URI is replaced."""
        path = self._path(uri)
        with _failures(uri):
            self._system(path, uri).copyFromLocalFile(False, True, self._path(f"file://{file}"), path)

    def download(self, uri: str, file: str) -> None:
        """Copies a file to this machine."""
        path = self._path(uri)
        with _failures(uri):
            self._system(path, uri).copyToLocalFile(False, path, self._path(f"file://{file}"), True)

    @property
    def _jvm(self) -> Any:
        return self.spark.sparkContext._jvm

    @property
    def _configuration(self) -> Any:
        return self.spark.sparkContext._jsc.hadoopConfiguration()

    def _path(self, uri: str) -> Any:
        try:
            return self._jvm.org.apache.hadoop.fs.Path(uri)
        except Exception as problem:
            raise UsageError(f"{uri!r} is not a path or URI: {_cause(problem)}") from None

    def _system(self, path: Any, uri: str) -> Any:
        try:
            return path.getFileSystem(self._configuration)
        except Exception as problem:
            scheme, cause = uri.partition(":")[0], _cause(problem)
            if "UnknownHostException" in cause:
                raise UsageError(f"{uri}: the host is not known ({cause}); check its name, and the network") from None
            raise UsageError(
                f"{uri}: Spark has no file system for {scheme}: ({cause}); add its jar "
                "(spark.jars.packages), or use a path that Spark can read"
            ) from None


def _create_local(file: str, text: str) -> bool:
    """The file appears with its text, in one step."""
    with tempfile.NamedTemporaryFile("w", dir=Path(file).parent, prefix=".") as temporary:
        temporary.write(text)
        temporary.flush()
        os.chmod(temporary.name, 0o644)  # other users may see who holds a lock
        try:
            os.link(temporary.name, file)
        except FileExistsError:
            return False
    return True


def _statuses(found: Any) -> list[FileStatus]:
    statuses = [
        FileStatus(str(one.getPath().toString()), bool(one.isDirectory()), int(one.getLen()), one.getModificationTime())
        for one in found or ()
    ]
    return sorted(statuses, key=lambda status: status.uri)


@contextmanager
def _failures(uri: str) -> Iterator[None]:
    """Failures of the file system as DataError."""
    try:
        yield
    except (DataError, UsageError):
        raise
    except Exception as problem:
        raise DataError(f"{uri}: {_cause(problem)}") from None


def _cause(problem: Exception) -> str:
    """The message of a Java exception in one line, without its trace."""
    java = getattr(problem, "java_exception", None)
    text = str(java.toString()) if java is not None else str(problem)
    return next((line.strip() for line in text.splitlines() if line.strip()), type(problem).__name__)
