"""Standard streams that are closed, full or broken: the one place that deals with them.

Standard error has progress, warnings and messages. Losing them is no failure of the command, so errors there are
ignored. Standard output has results: an error there is a `BrokenOutput`, which ends the command with a message.

A stream that is closed when the process begins gets a descriptor on which every call fails or is ignored. Otherwise the
next file that is opened would take its number, and receive what is meant for the stream.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


class BrokenOutput(OSError):
    """Standard output cannot be written."""


class _Output(io.FileIO):
    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as problem:
            raise BrokenOutput(problem.errno, problem.strerror) from None


class _Messages(io.FileIO):
    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(memoryview(data))


def prepare_streams() -> None:
    """Replaces the standard streams of the process."""
    for number in range(3):
        _reserve(number)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 (it stays open)
    sys.stdout = _stream(_Output(1, "w", closefd=False), sys.stdout, "strict")
    sys.stderr = _stream(_Messages(2, "w", closefd=False), sys.stderr, "backslashreplace")


def _reserve(number: int) -> None:
    """Opens a descriptor that is closed: for reading, so input is empty, and output fails."""
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free


def _stream(file: io.FileIO, before: TextIO | None, errors: str) -> TextIO:
    lines = before is not None and bool(getattr(before, "line_buffering", False))
    return io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding="utf-8" if before is None else before.encoding,
        errors=errors if before is None else before.errors,
        line_buffering=lines or errors != "strict",
    )


def discard_output() -> None:
    """Drops the rest of the buffer of standard output, so that nothing fails when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
