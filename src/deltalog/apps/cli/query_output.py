"""How `deltalog query` prints answers: which format, where to, and what stands between several goals.

One goal is its answers in the format and nothing else. Several goals are told apart: by a comment with the goal before
the rows (csv, tsv, table), by a field `goal` (jsonl), or by a list of objects with the goal (json). The other formats
have room for one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from deltalog.apps.cli.terminal import print_text, terminal_width
from deltalog.core.errors import DataError, UsageError

if TYPE_CHECKING:
    from deltalog.evaluation.goals.goal_evaluator import Answers
    from deltalog.languages.sparql.solutions import Solutions

FORMATS = ("table", "csv", "tsv", "json", "jsonl", "parquet", "xml", "nt", "ttl")
DELIMITERS = {"csv": ",", "tsv": "\t"}
ENDINGS = {".txt": "table", ".ndjson": "jsonl", **{f".{name}": name for name in FORMATS}}


class GoalAnswers(NamedTuple):
    """A goal, or a query, with its answers."""

    goal: str
    answers: Answers[Any] | Solutions
    prefixes: Mapping[str, str]

    @property
    def in_sparql(self) -> bool:
        return hasattr(self.answers, "form")

    @property
    def results(self) -> Any:
        """What the writers of results take: a truth value where there are no columns."""
        return self.answers if self.answers.columns else len(self.answers) > 0

    @property
    def has_triples(self) -> bool:
        return bool(getattr(self.answers, "form", None) and self.answers.form.is_graph)  # type: ignore[union-attr]

    def format(self, asked: str | None, terminal: bool) -> str:
        """The format for it: the one that is asked for, or the one for its kind. `rows` is csv without a header."""
        if asked is not None:
            return "rows" if asked == "csv" and not self.in_sparql else asked
        if self.has_triples:
            return "ttl" if terminal else "nt"
        return "table" if terminal else "rows"


def format_of(asked: str | None, out: Path | None) -> str | None:
    """The format that is asked for, by --format or by the ending of --out."""
    if asked is not None or out is None:
        return asked
    if (found := ENDINGS.get(out.suffix.lower())) is None:
        raise UsageError(f"--out {out}: the ending does not say the format; choose one by --format")
    return found


class Output(NamedTuple):
    """A stream of bytes for answers; `width` is that of a terminal."""

    stream: Any
    width: int | None

    def write_all(self, answered: Sequence[GoalAnswers], asked: str | None) -> None:
        if asked == "parquet":
            self._parquet(answered)
        elif len(answered) == 1:
            self._put(_pieces(answered[0], answered[0].format(asked, self.width is not None), self.width))
        else:
            self._several(answered, asked or ("csv" if self.width is None else "table"))

    def _put(self, pieces: Iterator[str]) -> None:
        put = self.stream.write if self.width is None else print_text
        for piece in pieces:
            put(piece)

    def _several(self, answered: Sequence[GoalAnswers], format: str) -> None:
        if format == "json":
            documents = (json.dumps(_document(each), ensure_ascii=False) for each in answered)
            self._put(iter(["[\n", ",\n".join(documents), "\n]\n"]))
        elif format == "jsonl":
            for each in answered:
                self._put(_lines_with_goal(each))
        elif format in ("csv", "tsv", "table"):
            for each in answered:
                before = "" if each is answered[0] else "\n"
                self._put(iter([f"{before}# {each.goal}\n"]))
                self._put(_pieces(each, each.format(format, False), self.width))
        else:
            raise UsageError(f"{format} is a format for the answers of one goal, and there are {len(answered)}")

    def _parquet(self, answered: Sequence[GoalAnswers]) -> None:
        import pyarrow.parquet as parquet

        if len(answered) > 1:
            raise UsageError(f"parquet is a format for the answers of one goal, and there are {len(answered)}")
        if not answered[0].answers.columns:
            raise UsageError("a truth value cannot be written as parquet; choose json or csv")
        if self.width is not None:
            raise UsageError("parquet is not text; write it to a file with --out FILE")
        self.stream.flush()
        parquet.write_table(answered[0].answers.to_arrow(), self.stream.buffer)


def _pieces(answered: GoalAnswers, format: str, width: int | None) -> Iterator[str]:
    """The answers of one goal as text."""
    from deltalog.languages.sparql.results import pieces, table_lines

    answers = answered.answers
    if not answers.columns and (format in ("rows", *DELIMITERS, "table")):
        yield "true\n" if len(answers) else "false\n"
    elif format == "table":
        yield from (f"{line}\n" for line in table_lines(answers.columns, answers, answered.prefixes, width))
    elif format == "rows" or (format == "tsv" and not answered.in_sparql):
        yield from (f"{line}\n" for line in answers.lines(DELIMITERS.get(format, ",")))
    elif format == "json" and answers.failures:
        yield json.dumps(_fields(answered), ensure_ascii=False) + "\n"
    else:
        yield from pieces(answered.results, format)


def _document(answered: GoalAnswers) -> dict[str, Any]:
    return {"goal": answered.goal, **_fields(answered)}


def _fields(answered: GoalAnswers) -> dict[str, Any]:
    """SPARQL's results in JSON, and the expressions that failed, if there are any."""
    from deltalog.languages.sparql.results import text

    failures = [each.as_json for each in answered.answers.failures]
    return {**json.loads(text(answered.results, "json")), **({"failures": failures} if failures else {})}


def _lines_with_goal(answered: GoalAnswers) -> Iterator[str]:
    from deltalog.languages.sparql.results import pieces

    if not answered.answers.columns:
        yield json.dumps({"goal": answered.goal, "holds": len(answered.answers) > 0}, ensure_ascii=False) + "\n"
        return
    for line in pieces(answered.answers, "jsonl"):
        yield json.dumps({"goal": answered.goal, **json.loads(line)}, ensure_ascii=False) + "\n"


@contextmanager
def output(out: Path | None, ready: Callable[[], None]) -> Iterator[Output]:
    """Where answers go: standard output, once it is free, or a file, which appears when it is complete."""
    ready()
    if out is None:
        yield Output(sys.stdout, terminal_width(sys.stdout))
        return
    partial = out.with_name(f".{out.name}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="") as stream:
            yield Output(stream, None)
        partial.replace(out)
    except OSError as problem:
        raise DataError(f"{out}: cannot be written ({problem.strerror or problem})") from None
    finally:
        partial.unlink(missing_ok=True)
