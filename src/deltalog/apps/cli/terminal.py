"""What a terminal has room for, and text on standard output and in files."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import IO, Any

from deltalog.core.errors import UsageError

PLAIN = str.maketrans({"│": "|", "├": "+", "└": "`", "─": "-", "✓": "+", "✗": "x", "≈": "~", "…": "..."})


def terminal_width(stream: IO[Any]) -> int | None:
    """The columns of the terminal that a stream goes to; None if it goes elsewhere."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def has_colour() -> bool:
    """Whether a terminal may have colour (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_text(text: str) -> None:
    """Prints text; what the encoding of standard output does not have is spelled in ASCII, or escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = "".join(_escaped(each, encoding) for each in text.translate(PLAIN))
    print(text, end="")


def _escaped(character: str, encoding: str) -> str:
    """A character that an encoding has; others are escaped as in the rule language, and N-Triples."""
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        code = ord(character)
        return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
    return character


def write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
