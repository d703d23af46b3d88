"""Documentation that is run: blocks of a page, and console blocks with the output of their commands.

In a console block a line that begins with `$ ` is a command, and what follows is what it prints, on standard output and
standard error; `...` stands for anything, as in doctest. Starting a process takes seconds, so commands of deltalog run
in this process, and `python FILE` too; what stands after a `|`, and every other command, runs in a shell. A block that
begins with `# file: NAME` is a file, and one that begins with `# more of NAME` goes on with it.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from deltalog.apps.cli.main import main

ROOT = Path(__file__).parent.parent
NOISE = "compiling kernels for large data; this happens once and takes some seconds\n"
IN_A_SHELL = re.compile(r"[;<>&$`]")
EXIT_CODE = '; echo "exit code $?"'


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def sessions(block: str) -> list[tuple[str, str]]:
    """Commands and what they print."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def with_examples(folder: Path) -> Path:
    """The folder, with the examples in it."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("expected"))
    return folder


def check_console(text: str, folder: Path) -> None:
    """Writes the files and runs the commands of a text, in the folder; what they print must be what the text says."""
    with contextlib.chdir(folder):
        for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            write_file(block)
            for command, wanted in sessions(block) if language == "console" else ():
                said = output_of(command).replace(NOISE, "")
                assert doctest.OutputChecker().check_output(wanted, said, doctest.ELLIPSIS), f"$ {command}\n{said}"


def write_file(block: str) -> None:
    if given := re.match(r"# (file:|more of) (\S+)\n", block):
        with open(given[2], "w" if given[1] == "file:" else "a", encoding="utf-8") as file:
            file.write(block[given.end() :])


def output_of(command: str) -> str:
    told = command.endswith(EXIT_CODE)
    command = command.removesuffix(EXIT_CODE)
    first, *rest = outside_of_quotes(command).split("|", 1)
    words = shlex.split(command[: len(first)])
    if IN_A_SHELL.search(first) or words[0] not in ("deltalog", "python"):
        return in_a_shell(command)
    output, messages = stream(), stream()
    code = in_this_process(words, output if rest else messages, messages)
    said = text_of(messages) + (f"exit code {code}\n" if told else "")
    return said + in_a_shell(command[len(first) + 1 :], text_of(output)) if rest else said


def outside_of_quotes(command: str) -> str:
    """The command with blanks in the place of quoted text."""
    return re.sub(r"'[^']*'|\"[^\"]*\"", lambda quoted: " " * len(quoted[0]), command)


def stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def text_of(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def in_this_process(words: list[str], output: io.TextIOWrapper, messages: io.TextIOWrapper) -> int:
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(messages):
        return main(words[1:]) if words[0] == "deltalog" else run_script(words[1:])


def run_script(words: list[str]) -> int:
    given, sys.argv = sys.argv, words
    try:
        runpy.run_path(words[0], run_name="__main__")
    finally:
        sys.argv = given
    return 0


def in_a_shell(command: str, given: str | None = None) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(
        command,
        shell=True,
        text=True,
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        env=environment,
    )
    return run.stdout
