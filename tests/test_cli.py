"""The command line: exit codes, what goes to standard output and what to standard error, and what is written.

Most tests call `main` in this process; those about the process itself (start-up, signals, pipes) start one.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from deltalog import KnowledgeBase, __version__
from deltalog.apps.cli.main import COMMANDS, main

PATHS = "path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z).\n"
NUMBERS = "n(0).  n(Y) :- n(X), BIND(X + 1 AS Y).\n"
RDF = """PREFIX : <http://example.org/>
:knows[?y, ?x] :- :knows[?x, ?y] .   :Person[?x] :- :knows[?x, ?y] .   :knows[:a, :b] .
"""

Outcome = tuple[int, str, str]
Run = Callable[..., Outcome]


@pytest.fixture
def deltalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in an empty folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as exit:  # argparse
            code = int(exit.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


@pytest.fixture
def paths(tmp_path: Path) -> None:
    (tmp_path / "paths.dl").write_text(PATHS)
    (tmp_path / "edge.csv").write_text("a,b\nb,c\nc,d\n")


def process(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deltalog", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload,no-any-return]


def lines(path: Path) -> list[str]:
    return sorted(path.read_text(encoding="utf-8").splitlines())


# The process itself.


def test_version_is_instant_and_loads_nothing() -> None:
    code = (
        "import sys; sys.argv = ['deltalog', '--version']; from deltalog.apps.cli.main import main; "
        "assert main() == 0; "
        "heavy = {'numpy', 'numba', 'lark', 'pyarrow', 'pyspark', 'deltalog.knowledge_base.facade'}; "
        "print(sorted(sys.modules.keys() & heavy))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [f"deltalog {__version__}", "[]"]


def test_a_wrong_program_is_told_before_numba_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "wrong.dl").write_text("p(X) :- q(Y).")
    code = (
        "import sys; from deltalog.apps.cli.main import main; assert main(['run', 'wrong.dl']) == 1; "
        "print(sorted(sys.modules.keys() & {'numpy', 'numba', 'pyarrow'}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert run.stdout.strip() == "[]"
    assert "wrong.dl:1:3: error" in run.stderr


@pytest.mark.usefixtures("paths")
def test_run_as_a_process(tmp_path: Path) -> None:
    run = process("run", "paths.dl", "--data", "edge.csv", "--json", "--out", "out", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["facts_total"] == 9
    assert lines(tmp_path / "out" / "path.csv") == ["a,b", "a,c", "a,d", "b,c", "b,d", "c,d"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupt_leaves_nothing(number: signal.Signals, code: int, tmp_path: Path) -> None:
    (tmp_path / "numbers.dl").write_text(NUMBERS)
    command = [sys.executable, "-m", "deltalog", "run", "numbers.dl", "--out", "out"]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    for line in running.stderr:  # until it reasons
        if "round" in line:
            break
    running.send_signal(number)
    _, err = running.communicate(timeout=60)
    assert running.returncode == code
    assert "interrupted; nothing was written" in err
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.dl"]


def test_an_interrupt_waits_until_a_kernel_is_loaded() -> None:
    """So does a second one: Numba crashes when it is left."""
    code = """
import signal
from deltalog.core.concurrency.interrupts import check_interrupts, raise_interrupts

numba = {"__name__": "numba.core.dispatcher", "signal": signal}
exec("def load(): signal.raise_signal(signal.SIGINT); return 'loaded'", numba)
raise_interrupts()
print(numba["load"]())
for call in (check_interrupts, numba["load"], check_interrupts):
    try:
        print(call())
    except KeyboardInterrupt:
        print("interrupted")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["loaded", "interrupted", "loaded", "interrupted"]


def test_an_interrupt_inside_of_a_destructor_is_not_lost(tmp_path: Path) -> None:
    code = """
import signal, sys
import deltalog.apps.cli.run
from deltalog.apps.cli.main import main

class HalfMade:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def interrupted(options, run=deltalog.apps.cli.run.run):
    HalfMade()
    return run(options)

sys.argv = ["deltalog", "run", "--quiet", "numbers.dl"]
deltalog.apps.cli.run.run = interrupted
sys.exit(main())
"""
    (tmp_path / "numbers.dl").write_text(NUMBERS)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert run.returncode == 130
    assert run.stderr == "interrupted; nothing was written\n"


def test_what_fails_after_an_interrupt_fails_because_of_it(tmp_path: Path) -> None:
    """A JVM that heard the signal, too, is gone, say, and a library that caught the interrupt complains of that."""
    code = """
import signal, sys
import deltalog.apps.cli.run
from deltalog.apps.cli.main import main

def interrupted(options):
    try:
        signal.raise_signal(signal.SIGTERM)
    except KeyboardInterrupt:
        raise ConnectionError("nobody there")

sys.argv = ["deltalog", "run", "--quiet", "numbers.dl"]
deltalog.apps.cli.run.run = interrupted
sys.exit(main())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert (run.returncode, run.stderr) == (143, "interrupted; nothing was written\n")


@pytest.mark.usefixtures("paths")
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    rules = "".join(f"p{i}(X) :- q{i}(X).\n" for i in range(3000))
    (tmp_path / "long.dl").write_text(rules)
    command = f"{sys.executable} -m deltalog plan long.dl | head -n 1"
    run = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert run.stdout == "3000 rules in 3000 hyper-nodes\n"
    assert run.stderr == ""


def test_the_first_compilation_is_announced_once(tmp_path: Path) -> None:
    (tmp_path / "fact.dl").write_text("p(a).  q(X) :- p(X).")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "DELTALOG_KERNELS": "compile"}
    runs = [process("run", "fact.dl", cwd=tmp_path, env=environment) for _ in range(2)]
    assert [run.stderr.count("compiling kernels") for run in runs] == [1, 0]


# Usage.


def test_help(deltalog: Run) -> None:
    code, out, _ = deltalog("--help")
    assert code == 0
    for command in COMMANDS:
        assert f"deltalog {command}" in out
        code, own, _ = deltalog(command, "--help")
        assert code == 0
        assert own.startswith(f"usage: deltalog {command}")
        assert "Exit codes" in own


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "usage: deltalog COMMAND"),
        (["rnu"], "did you mean `deltalog run`?"),
        (["run"], "the following arguments are required: PROGRAM"),
        (["run", "p.dl", "--format", "xml"], "invalid choice: 'xml'"),
        (["run", "p.dl", "--engine", "quantum"], "invalid choice: 'quantum'"),
        (["run", "p.dl", "--memory", "lots"], "'lots' is not an amount of memory"),
        (["run", "p.dl", "--timeout", "-1"], "-1.0 is not a number of seconds"),
        (["run", "p.dl", "--timeout", "nan"], "nan is not a number of seconds"),
        (["run", "p.dl", "--timeout", "soon"], "'soon' is not a number of seconds"),
        (["run", "p.dl", "--max-facts", "few"], "'few' is not a number of facts"),
        (["run", "p.dl", "--store", "s", "--out", "s/o"], "--store s and --out s/o are one inside of the other"),
        (["run", "p.dl", "--store", "s", "--engine", "spark"], "--store needs the local engine"),
        (["run", "p.dl", "--no-such-option"], "unrecognized arguments: --no-such-option"),
    ],
)
def test_wrong_usage(deltalog: Run, arguments: list[str], says: str) -> None:
    code, out, err = deltalog(*arguments)
    assert (code, out) == (2, "")
    assert says in err


@pytest.mark.usefixtures("paths")
def test_options_and_programs_in_any_order(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "more.dl").write_text("end(X) :- path(_, X), not edge(X, _).")
    code, out, _ = deltalog("run", "--json", "paths.dl", "--data", "edge.csv", "more.dl", "-q")
    assert code == 0
    assert json.loads(out)["per_predicate"] == {"edge": 3, "end": 1, "path": 6}


# What is wrong with the input.


@pytest.mark.parametrize("command", ["run", "check", "plan"])
def test_wrong_programs(deltalog: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "syntax.dl").write_text("p(X) :- q(X) r(X).\ns(X) :- t(Y).\n")
    (tmp_path / "cycle.dl").write_text("a(X) :- b(X), not a(X).")
    (tmp_path / "latin.dl").write_bytes("p(\u00e9).".encode("latin-1"))
    (tmp_path / "folder.dl").mkdir()
    code, out, err = deltalog(command, "syntax.dl", "cycle.dl")
    assert (code, out) == (1, "")
    places = ["syntax.dl:1:14: error", "syntax.dl:2:3: error", "cycle.dl:1:"]
    assert [err.index(place) for place in places] == sorted(err.index(place) for place in places)
    for name, says in [
        ("missing.dl", "cannot read the program missing.dl: No such file"),
        ("folder.dl", "cannot read the program folder.dl: Is a directory"),
        ("latin.dl", "the program latin.dl is not UTF-8 text"),
    ]:
        code, out, err = deltalog(command, name)
        assert (code, out) == (1, "")
        assert err.startswith(f"error: {says}")
        assert len(err.splitlines()) == 1


@pytest.mark.parametrize("command", ["run", "plan"])
@pytest.mark.usefixtures("paths")
def test_wrong_data(deltalog: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "ragged.csv").write_text("a,b\nc\n")
    (tmp_path / "broken.nt").write_text("<http://a> <http://b> .\n")
    (tmp_path / "notes.md").write_text("hello")
    for name, says in [
        ("ragged.csv", "ragged.csv:2"),
        ("broken.nt", "broken.nt:1"),
        ("no.csv", "no.csv"),
        ("notes.md", ".md"),
    ]:
        code, out, err = deltalog(command, "paths.dl", "--data", "edge.csv", "--data", name)
        assert (code, out) == (1, "")
        assert says in err.splitlines()[-1] or says in err


def test_empty_program_and_empty_data(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.dl").write_text("")
    (tmp_path / "edge.csv").write_text("")
    (tmp_path / "nothing.nt").write_text("")
    code, out, _ = deltalog("run", "empty.dl", "--data", "edge.csv", "--data", "nothing.nt", "--json", "--out", "out")
    assert code == 0
    report = json.loads(out)
    assert (report["facts_total"], report["complete"]) == (0, True)
    assert deltalog("check", "empty.dl")[:2] == (0, "0 rules and 0 facts in 0 hyper-nodes: no errors, 0 warnings\n")
    assert deltalog("plan", "empty.dl", "--svg", "empty.svg")[0] == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("rows", [1, 50_000])
def test_standard_output_that_cannot_be_written(tmp_path: Path, rows: int) -> None:
    (tmp_path / "p.dl").write_text("")
    (tmp_path / "p.csv").write_text("".join(f"{i}\n" for i in range(rows)))
    command = [sys.executable, "-m", "deltalog", "query", "p.dl", "p(X)", "--data", "p.csv"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "error: standard output cannot be written (No space left on device)\n")


NO_OUTPUT = "error: standard output cannot be written"
STREAMS = {  # redirections, with the arguments, the exit code and what standard error has
    "2>/dev/full": [("run p.dl --out o", 0, ""), ("run nowhere.dl", 1, ""), ("nonsense", 2, ""), ("run", 2, "")],
    "2>&-": [("run p.dl --out o", 0, ""), ("run nowhere.dl", 1, "")],
    ">&- 2>&-": [("run p.dl --out o", 0, ""), ("query p.dl 'p(X)'", 1, "")],
    ">&-": [("run p.dl --out o --quiet", 0, ""), ("query p.dl 'p(X)'", 1, NO_OUTPUT), ("--help", 1, NO_OUTPUT)],
    ">/dev/full": [("--help", 1, NO_OUTPUT), ("run --help", 1, NO_OUTPUT), ("--version", 1, NO_OUTPUT)],
    "<&-": [("run p.dl --out o --quiet", 0, "")],
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("redirection", STREAMS)
def test_streams_that_are_closed_or_full(tmp_path: Path, redirection: str) -> None:
    """Standard error may be lost; a broken standard output is an error, without a traceback."""
    (tmp_path / "p.dl").write_text("p(1).")
    for number, (words, code, message) in enumerate(STREAMS[redirection]):
        done = _shell(f"{words.replace('--out o', f'--out o{number}')} {redirection}", tmp_path)
        assert done.returncode == code, (words, done.stderr)
        assert done.stderr.startswith(message), words
        assert len(done.stderr.splitlines()) == bool(message), words
        assert ("--out" in words) == (tmp_path / f"o{number}" / "p.csv").exists()


@pytest.mark.parametrize("words", ["--help", "run --help", "--version"])
def test_nobody_reads_the_output(tmp_path: Path, words: str) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run(
        [sys.executable, "-m", "deltalog", *words.split()],
        stdout=writes,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writes)
    assert (done.returncode, done.stderr) == (1, "")


def test_an_encoding_that_lacks_characters(tmp_path: Path) -> None:
    """Text for people and facts of the rule language are escaped; answers, which have no escapes, are an error."""
    (tmp_path / "p.dl").write_text('q("caf\u00e9 \U0001f600").\np(X) :- q(X).\n', "utf-8")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    assert _shell("--help", tmp_path, ascii_only).returncode == 0
    assert "Souffl\\u00E9" in _shell("run --help", tmp_path, ascii_only).stdout
    shown = _shell("run p.dl --quiet --show p", tmp_path, ascii_only).stdout
    assert 'p("caf\\u00E9 \\U0001F600").' in shown
    assert set(KnowledgeBase(shown).facts("p")) == {("caf\u00e9 \U0001f600",)}
    done = _shell("query p.dl 'p(X)'", tmp_path, ascii_only)
    assert done.returncode == 1
    assert done.stderr.startswith("error: the encoding of standard output, ascii, does not have '\\xe9'; set PYTHONIO")


def _shell(words: str, folder: Path, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = f"{shlex.quote(sys.executable)} -m deltalog {words}"
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False, env=environment)


def test_an_unforeseen_error_is_one_line(deltalog: Run, paths: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltalog.knowledge_base.facade.KnowledgeBase.plan", lambda self: 1 / 0)
    code, _, err = deltalog("plan", "paths.dl")
    assert code == 1
    assert "internal error (ZeroDivisionError: division by zero)" in err
    monkeypatch.setenv("DELTALOG_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["plan", "paths.dl"])


# What run says and writes.

FIELDS = {
    "facts_in", "facts_total", "facts_derived", "per_predicate", "rounds", "seconds", "peak_memory_bytes", "engine",
    "engine_reason", "equality", "pipeline", "spark", "complete", "failed_expressions", "failures",
        "cyclic_rules", "inconsistencies", "inconsistency_examples", "magic_sets", "skipped_inputs",
}  # fmt: skip


@pytest.mark.parametrize("engine", ["auto", "local", "naive"])
@pytest.mark.usefixtures("paths")
def test_json(deltalog: Run, engine: str) -> None:
    code, out, _ = deltalog("run", "paths.dl", "--data", "edge.csv", "--json", "--engine", engine)
    report = json.loads(out)
    assert code == 0
    assert out.count("\n") == 1
    assert report.keys() == FIELDS
    assert report["seconds"].keys() == {"load", "plan", "evaluate", "write"}
    assert (report["facts_in"], report["facts_total"], report["facts_derived"]) == (3, 9, 6)
    assert report["per_predicate"] == {"edge": 3, "path": 6}
    assert report["engine"] == ("naive" if engine == "naive" else "local")
    assert report["complete"] is True
    assert report["peak_memory_bytes"] > 10_000_000


@pytest.mark.usefixtures("paths")
def test_progress_and_table_go_to_standard_error(deltalog: Run) -> None:
    code, out, err = deltalog("run", "paths.dl", "--data", "edge.csv", "--out", "out")
    assert (code, out) == (0, "")
    assert re.search(r"hyper-node 1/1, round 1: 6 new facts \([\d,]+/s\), 9 total", err)
    assert re.search(r"^path +6\nedge +3\n9 facts \(6 derived\) from 3 given\n", err, re.MULTILINE)
    assert re.search(r"^wrote out in ", err, re.MULTILINE)
    rounds, seconds, memory, engine = err.splitlines()[-4:]
    assert re.fullmatch(r"\d rounds? in 1 hyper-node", rounds)
    assert re.fullmatch(r"[\d.]+ s: load [\d.]+ s, plan [\d.]+ s, evaluate [\d.]+ s, write [\d.]+ s", seconds)
    assert re.fullmatch(r"peak memory [\d,]+ MB", memory)
    assert engine == "engine: local (input under 8 GB; use --engine spark to run on Spark)"


@pytest.mark.usefixtures("paths")
def test_the_engine_is_chosen_once(deltalog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run uses memory, so that the same choice after it might be another one."""
    available = iter([8 << 30])
    monkeypatch.setattr("deltalog.apps.cli.choose_engine.available_memory", lambda: next(available, 1))
    code, out, _ = deltalog("run", "paths.dl", "--data", "edge.csv", "--json")
    report = json.loads(out)
    assert (code, report["engine"]) == (0, "local")
    assert report["engine_reason"] == "input under 8 GB; use --engine spark to run on Spark"


@pytest.mark.parametrize("words", [["run", "--help"], ["query", "--help"], ["run", "p.dl", "--memory", "lots"]])
def test_help_and_wrong_usage_load_no_engine(words: list[str]) -> None:
    code = (
        f"import sys; from deltalog.apps.cli.main import main\ntry: main({words!r})\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'numba', 'lark', 'pyarrow', 'deltalog.knowledge_base.facade'}\n"
        "print('loaded:', sorted(sys.modules.keys() & heavy))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "loaded: []"


@pytest.mark.usefixtures("paths")
def test_quiet_is_silent(deltalog: Run) -> None:
    assert deltalog("run", "paths.dl", "--data", "edge.csv", "--out", "out", "--quiet") == (0, "", "")


@pytest.mark.usefixtures("paths")
def test_only_and_derived(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "path.csv").write_text("a,b\nx,y\n")
    data = ("--data", "edge.csv", "--data", "path.csv", "-q")
    assert deltalog("run", "paths.dl", *data, "--out", "only", "--only", "path")[0] == 0
    assert [path.name for path in (tmp_path / "only").iterdir()] == ["path.csv"]
    assert lines(tmp_path / "only" / "path.csv") == ["a,b", "a,c", "a,d", "b,c", "b,d", "c,d", "x,y"]
    assert deltalog("run", "paths.dl", *data, "--out", "derived", "--derived")[0] == 0
    assert lines(tmp_path / "derived" / "path.csv") == ["a,c", "a,d", "b,c", "b,d", "c,d"]
    assert not (tmp_path / "derived" / "edge.csv").exists()


@pytest.mark.usefixtures("paths")
def test_only_an_unknown_predicate(deltalog: Run, tmp_path: Path) -> None:
    code, _, err = deltalog("run", "paths.dl", "--data", "edge.csv", "--out", "out", "--only", "pahts")
    assert code == 1
    assert "there is no predicate 'pahts'; did you mean 'path'?" in err
    assert "round" not in err  # said before the work
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "nt"])
def test_what_is_written_can_be_read_back(deltalog: Run, tmp_path: Path, format: str) -> None:
    (tmp_path / "rdf.dl").write_text(RDF)
    (tmp_path / "nothing.dl").write_text("")
    assert deltalog("run", "rdf.dl", "--out", "out", "--format", format, "-q")[0] == 0
    names = {"predicates.tsv", f"Person.{format}", f"knows.{format}"} if format != "nt" else {"facts.nt"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    if format != "nt":
        mapping = ["Person\thttp://example.org/Person", "knows\thttp://example.org/knows"]
        assert lines(tmp_path / "out" / "predicates.tsv") == mapping
    _, out, _ = deltalog("run", "nothing.dl", "--data", "out", "--json", "-q")
    assert json.loads(out)["per_predicate"] == {"http://example.org/Person": 2, "http://example.org/knows": 2}


@pytest.mark.usefixtures("paths")
def test_an_existing_folder_is_refused_before_the_work(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("precious")
    code, _, err = deltalog("run", "paths.dl", "--data", "edge.csv", "--out", "out")
    assert code == 1
    assert err.startswith("error: out: exists and is not an empty folder")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_triples_of_other_arities_cannot_be_written(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "wide.dl").write_text("p(a, b, c).")
    code, _, err = deltalog("run", "wide.dl", "--out", "out", "--format", "nt")
    assert code == 1
    assert "p/3" in err
    assert [path.name for path in tmp_path.iterdir()] == ["wide.dl"]


def test_failed_expressions_are_counted(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "half.dl").write_text("n(0). n(1). n(word).  half(Y) :- n(X), BIND(1 / X AS Y).")
    _, out, err = deltalog("run", "half.dl", "--json")
    assert json.loads(out)["failed_expressions"] == 2
    _, _, err = deltalog("run", "half.dl")
    assert "warning: 2 rule instances did not apply because an expression failed" in err
    assert "half.dl:1:45: 1 / X of rule r1 failed 2 times: a division by zero; first for ?X = 0" in err
    assert "warning" not in deltalog("run", "half.dl", "--quiet")[2]


# Limits.


@pytest.mark.parametrize("engine", ["local", "naive"])
def test_max_facts(deltalog: Run, tmp_path: Path, engine: str) -> None:
    (tmp_path / "numbers.dl").write_text(NUMBERS)
    code, out, err = deltalog("run", "numbers.dl", "--max-facts", "100", "--json", "--out", "out", "--engine", engine)
    assert code == 3
    assert err.splitlines()[-1].startswith("INCOMPLETE: the limit of 100 facts was reached")
    report = json.loads(out)
    assert report["complete"] is False
    if engine == "local":
        assert report["facts_total"] >= 100
        assert len(lines(tmp_path / "out" / "n.csv")) == report["facts_total"]


@pytest.mark.parametrize("method", ["auto", "magic", "qsqr", "materialised"])
def test_a_goal_obeys_limits(deltalog: Run, tmp_path: Path, method: str) -> None:
    (tmp_path / "numbers.dl").write_text(NUMBERS)
    code, out, err = deltalog("query", "numbers.dl", "n(?x)", "--max-facts", "100", "--method", method)
    assert (code, out) == (3, "")
    assert err.startswith("error: query stopped: the limit of 100 facts was reached; the knowledge base is as it was.")


def test_timeout(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "numbers.dl").write_text(NUMBERS)
    code, _, err = deltalog("run", "numbers.dl", "--timeout", "1", "--out", "out", "--quiet")
    assert code == 3
    assert err.startswith("INCOMPLETE: the time limit of 1 s was reached")
    assert "0" in lines(tmp_path / "out" / "n.csv")


def test_timeout_inside_of_one_round(deltalog: Run, tmp_path: Path) -> None:
    facts = "\n".join(f"p({i})." for i in range(400))
    (tmp_path / "large.dl").write_text(f"{facts}\nq(A, B, C, D) :- p(A), p(B), p(C), p(D), A + B + C + D > 1590.\n")
    code, _, err = deltalog("run", "large.dl", "--timeout", "2", "--quiet")
    assert code == 3
    assert "INCOMPLETE" in err


def test_memory(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "numbers.dl").write_text(NUMBERS)
    code, _, err = deltalog("run", "numbers.dl", "--memory", "10MB", "--quiet")
    assert code == 3
    assert err.startswith("INCOMPLETE: the memory limit of 0.01 GB was reached")


# check and plan.


def test_check(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "doubt.dl").write_text("p(X) :- q(X, Why).\np(X) :- q(X, Why).\n")
    code, out, err = deltalog("check", "doubt.dl")
    assert (code, out) == (0, "1 rule and 0 facts in 1 hyper-node: no errors, 3 warnings\n")
    assert err.count("warning: ") == 3


@pytest.mark.usefixtures("paths")
def test_plan_draws_though_nobody_reads_it(tmp_path: Path) -> None:
    rules = "".join(f"p{i}(X, Y) :- edge(X, Y).\n" for i in range(400))  # more than a pipe holds
    (tmp_path / "many.dl").write_text(rules)
    command = [sys.executable, "-m", "deltalog", "plan", "many.dl", "--svg", "graph.svg"]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert running.stdout is not None
    running.stdout.readline()
    running.stdout.close()
    running.wait(120)
    assert (tmp_path / "graph.svg").exists()


@pytest.mark.usefixtures("paths")
def test_plan(deltalog: Run, tmp_path: Path) -> None:
    code, out, err = deltalog("plan", "paths.dl", "--data", "edge.csv", "--svg", "graph.svg")
    assert code == 0
    assert "recognised: path: transitive, by linear rules" in out
    assert "path is the closure of edge, kept by a scheme" in out
    assert "the dependency graph is in graph.svg" in err
    assert ElementTree.parse(tmp_path / "graph.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    _, out, _ = deltalog("plan", "paths.dl", "--data", "edge.csv", "--schemes", "standard")
    assert "2 rules in 2 hyper-nodes" in out
    assert "edge(?Y, ?Z)  by index (1, 2), 1 bound" in out
    code, _, err = deltalog("plan", "paths.dl", "--svg", "no/such/folder.svg")
    assert (code, err) == (1, "error: cannot write no/such/folder.svg: No such file or directory\n")


# Facts on standard output


@pytest.mark.usefixtures("paths")
def test_a_small_run_prints_what_it_derives(deltalog: Run, tmp_path: Path) -> None:
    code, out, err = deltalog("run", "paths.dl", "--data", "edge.csv")
    assert (code, out.splitlines()[:2], len(out.splitlines())) == (0, ["path(a, b).", "path(a, c)."], 6)
    assert "9 facts (6 derived)" in err
    (tmp_path / "again.dl").write_text(out)
    assert deltalog("query", "again.dl", "path(a, ?x)")[1].split() == ["b", "c", "d"]
    shown = ("run", "paths.dl", "--data", "edge.csv", "-q", "--show", "edge", "--show", "path", "--limit", "1")
    some = ["edge(a, b).", "# 2 more facts of edge/2 (--limit all shows them)", "path(a, b)."]
    assert deltalog(*shown)[1].splitlines()[:3] == some
    assert deltalog(*shown, "--derived")[1].splitlines()[0] == "path(a, b)."
    assert deltalog(*shown, "--json")[0] == deltalog(*shown[:-1], "few")[0] == 2
    code, _, err = deltalog("run", "paths.dl", "--data", "edge.csv", "--show", "pahts")
    assert code == 1 and "did you mean 'path'?" in err


@pytest.mark.usefixtures("paths")
def test_a_terminal_has_tables(deltalog: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ages.dl").write_text(
        "PREFIX : <http://e/> :age[:ada, 36]. :age[:bo, 4]. :old[?x, ?n] :- :age[?x, ?n]."
    )
    monkeypatch.setattr("deltalog.apps.cli.terminal.terminal_width", lambda _: 80)
    out = deltalog("run", "ages.dl", "-q", "--show", ":old")[1]
    assert out == ":old: 2 facts\nx      n\n----  --\n:ada  36\n:bo    4\n\n"


@pytest.mark.usefixtures("paths")
def test_verbose(deltalog: Run, tmp_path: Path) -> None:
    err = deltalog("run", "paths.dl", "--data", "edge.csv", "-v", "--store", "store")[2]
    for said in (
        "engine local: ",
        "read edge.csv: 3 facts, 12 bytes",
        "scheme: path: transitive",
        "slowest of 1 hyper",
    ):
        assert said in err
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "edge.csv").write_text("d,e\n")
    code, out, err = deltalog("update", "store", "--add", "new", "-v", "--json")
    assert (code, json.loads(out)["added"]) == (0, {"edge": 1, "path": 4})
    assert "path: a virtual relation, which follows its inputs" in err
    assert re.search(
        r"^materialised \(.*\), [\d.]+ ms$", deltalog("query", "store", "path(a, ?x)", "-v")[2], re.MULTILINE
    )


# Queries


@pytest.mark.usefixtures("paths")
def test_several_programs_and_goals(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "far.dl").write_text("far(X, Y) :- path(X, Y), NOT edge(X, Y).  describe(a).")
    asked = ("query", "paths.dl", "far.dl", "--data", "edge.csv")
    assert deltalog(*asked, "far(a, ?x)", "--engine", "local")[1].split() == ["c", "d"]
    assert deltalog(*asked, "describe(?x)")[1] == "a\n"
    (tmp_path / "goals.txt").write_text("# two\nfar(b, ?x).\npath(a,\n  d)\nPREFIX : <http://e/>\nedge(?x, :none)\n")
    code, out, _ = deltalog(*asked, "--file", "goals.txt")
    assert (code, out) == (0, "# far(b, ?x)\nd\n\n# path(a, d)\ntrue\n\n# edge(?x, :none)\n")
    lines = deltalog(*asked, "@goals.txt", "--format", "jsonl")[1].splitlines()
    assert [json.loads(line) for line in lines] == [
        {"goal": "far(b, ?x)", "x": "d"},
        {"goal": "path(a, d)", "holds": True},
    ]
    documents = json.loads(deltalog(*asked, "@goals.txt", "--format", "json")[1])
    assert [each["goal"] for each in documents] == ["far(b, ?x)", "path(a, d)", "edge(?x, :none)"]
    assert deltalog(*asked, "@goals.txt", "--format", "xml")[0] == 1
    (tmp_path / "goals.txt").write_text("far(b, ?x).\npath(a ?x).\n")
    assert "<goal>:2:8: error" in deltalog(*asked, "--file", "goals.txt")[2]


@pytest.mark.usefixtures("paths")
def test_answers_in_files(deltalog: Run, tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    asked = ("query", "paths.dl", "edge(a, ?x)", "--data", "edge.csv", "--out")
    assert deltalog(*asked, "x.parquet") == (0, "", "")
    assert parquet.read_table(tmp_path / "x.parquet").to_pydict() == {"x": ["b"]}
    assert deltalog(*asked, "x.jsonl")[0] == 0 and (tmp_path / "x.jsonl").read_text() == '{"x": "b"}\n'
    assert deltalog(*asked, "x.unknown")[0] == deltalog(*asked, "x.ttl")[0] == 1
    assert not list(tmp_path.glob("*.ttl")) and not list(tmp_path.glob(".x*"))


@pytest.mark.usefixtures("paths")
@pytest.mark.parametrize("method", ["auto", "magic", "materialised"])
def test_query(deltalog: Run, method: str) -> None:
    code, out, err = deltalog("query", "paths.dl", "path(b, ?x)", "--data", "edge.csv", "--method", method)
    assert (code, sorted(out.split()), err) == (0, ["c", "d"], "")


@pytest.mark.usefixtures("paths")
def test_query_prints_cells_that_can_be_read_back(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text('"1",<http://e/a>\n"a,b",2\n')
    code, out, _ = deltalog("query", "paths.dl", "edge(?x, ?y)", "--data", "edge.csv")
    assert (code, sorted(out.splitlines())) == (0, ['"1",<http://e/a>', '"a,b",2'])
    assert deltalog("query", "paths.dl", "edge(?x, 2)", "--data", "edge.csv", "--format", "tsv")[1] == '"a,b"\n'


@pytest.mark.usefixtures("paths")
def test_query_in_sparql(deltalog: Run) -> None:
    query = "SELECT ?x (COUNT(*) AS ?n) { ?x <path> ?y } GROUP BY ?x ORDER BY DESC(?n)"
    code, out, err = deltalog("query", "paths.dl", query, "--data", "edge.csv")
    assert (code, out, err) == (0, "a,3\nb,2\nc,1\n", "")
    assert deltalog("query", "paths.dl", "ask { 'd' <path> ?y }", "--data", "edge.csv")[:2] == (0, "false\n")
    code, out, err = deltalog("query", "paths.dl", "SELECT * { SERVICE <http://e/> {} }", "--data", "edge.csv")
    assert (code, out) == (1, "")
    assert err.startswith("error: SERVICE in SPARQL is not supported; ")


@pytest.mark.usefixtures("paths")
def test_queries_from_files_and_in_formats(deltalog: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "SELECT ?x ?y { ?x <edge> ?y } ORDER BY ?x LIMIT 1"
    (tmp_path / "query.rq").write_text(query)
    asked = ("query", "paths.dl", "--data", "edge.csv")
    for way in (("@query.rq",), ("--file", "query.rq"), ("-",)):
        monkeypatch.setattr("sys.stdin", io.StringIO(query))
        assert deltalog(*asked, *way)[:2] == (0, "a,b\n")
    outputs = {format: deltalog(*asked, query, "--format", format)[1] for format in ("csv", "tsv", "json", "table")}
    assert (outputs["csv"], outputs["tsv"]) == ("x,y\r\na,b\r\n", '?x\t?y\n"a"\t"b"\n')
    assert json.loads(outputs["json"])["head"] == {"vars": ["x", "y"]}
    assert outputs["table"] == "x  y\n-  -\na  b\n"
    assert deltalog(*asked, "edge(a, ?z)", "--format", "table")[1] == "z\n-\nb\n"
    construct = "CONSTRUCT { <http://e/a> <http://e/p> ?y } { 'a' <edge> ?y }"
    assert deltalog(*asked, construct)[1] == '<http://e/a> <http://e/p> "b" .\n'
    assert deltalog(*asked, query, "--format", "nt")[0] == 1
    assert deltalog(*asked)[0] == deltalog(*asked, query, "--file", "query.rq")[0] == 2
    assert deltalog(*asked, "@none.rq")[::2] == (1, "error: cannot read none.rq: No such file or directory\n")


@pytest.mark.usefixtures("paths")
def test_query_without_variables(deltalog: Run) -> None:
    assert deltalog("query", "paths.dl", "path(a, d)", "--data", "edge.csv")[:2] == (0, "true\n")
    assert deltalog("query", "paths.dl", "path(d, a)", "--data", "edge.csv")[:2] == (0, "false\n")


@pytest.mark.usefixtures("paths")
@pytest.mark.parametrize(
    ("goal", "says"), [("pth(a, ?x)", "did you mean"), ("path(a, ?x", "bracket"), ("NOT path(a, ?x), ?x > 1", "value")]
)
def test_query_wrong_goal(deltalog: Run, goal: str, says: str) -> None:
    code, out, err = deltalog("query", "paths.dl", goal, "--data", "edge.csv")
    assert (code, out) == (1, "")
    assert says in err


# Paths and URIs.


@pytest.mark.parametrize("option", ["--data", "--out"])
def test_a_uri_of_another_machine_needs_a_pipeline(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.dl").write_text("p(1).")
    with pytest.raises(SystemExit) as ended:
        main(["run", "p.dl", option, "s3a://bucket/out"])
    assert ended.value.code == 2
    assert "s3a://bucket/out: only files of this machine" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["p.dl"]


def test_a_file_uri_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("q(X) :- p(X).")
    (tmp_path / "p.csv").write_text("1\n")
    arguments = ["run", str(tmp_path / "p.dl"), "--data", f"file://{tmp_path}/p.csv", "--out", f"file://{tmp_path}/out"]
    assert main([*arguments, "--quiet"]) == 0
    assert (tmp_path / "out" / "q.csv").read_text() == "1\n"
