"""The server under load, on this machine alone: how fast it answers, and whether every answer is right.

    python -m benchmarks.server compare [--lubm 1] [--clients 16] [--seconds 5]
    python -m benchmarks.server soak [--lubm 1] [--clients 200] [--seconds 60]

`compare` asks deltalog's server and Oxigraph's (`oxigraph serve`, from the wheel of that name, in the group `bench`)
the same SPARQL over the same facts: LUBM(n) with program L, materialised by deltalog for both. Bound look-ups ask for
the courses of one student after the other; then LUBM's 14 queries, one after the other. Clients keep their
connections, and all run in one process, which takes its share of the cores from either server.

`soak` has clients that ask while one changes facts. Every answer is checked: look-ups against the answers before the
load, and a relation that moves on with each change against the version that the answer claims. Nothing but a limit
that the server states may fail, and the memory of the server is shown as it goes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from benchmarks.datasets import lubm
from benchmarks.registry import PROGRAMS, UNIVERSITY
from deltalog import KnowledgeBase

QUERIES = Path(__file__).parents[1] / "tests" / "query" / "lubm"
LOOKUP = "SELECT ?c WHERE {{ <{}> <" + UNIVERSITY + "takesCourse> ?c }}"
STUDENTS = 500
MOVING = 5  # edges of the relation that moves on
READY_SECONDS = 60.0
FIGURES = ("process_resident_memory_bytes", "deltalog_version", "deltalog_values")


# Clients: HTTP/1.1 as far as two servers need it, without the cost of a library.


class Answer(NamedTuple):
    status: int
    version: int
    body: bytes

    @property
    def rows(self) -> frozenset[str]:
        found = json.loads(self.body)["results"]["bindings"]
        return frozenset(json.dumps(binding, sort_keys=True) for binding in found)


class Connection:
    """One connection, and one request at a time."""

    def __init__(self, host: str, port: int) -> None:
        self._address, self._host = (host, port), f"{host}:{port}".encode()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: bytes = b"", media_type: str = "") -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        kind = f"content-type: {media_type}\r\ncontent-length: {len(body)}\r\n" if media_type else ""
        head = f"{method} {path} HTTP/1.1\r\nhost: ".encode() + self._host + b"\r\n"
        writer.write(head + b"accept: application/sparql-results+json, */*;q=0.1\r\n" + kind.encode() + b"\r\n" + body)
        return await self._read(reader)

    async def _read(self, reader: asyncio.StreamReader) -> Answer:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        status = int(head.split(" ", 2)[1])
        version = re.search(r"deltalog-version: (\d+)", head)
        length = re.search(r"content-length: (\d+)", head)
        body = await reader.readexactly(int(length[1])) if length else b"".join([c async for c in _chunks(reader)])
        if "connection: close" in head:
            self.close()
        return Answer(status, int(version[1]) if version else 0, body)

    async def query(self, text: str) -> Answer:
        return await self.ask("GET", f"/{self.path}?query={quote(text)}")

    path = "sparql"

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int(await reader.readuntil(b"\r\n"), 16):
        yield await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)


@dataclass
class Times:
    """The times of requests of one kind."""

    seconds: list[float] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1e3

    def shown(self, elapsed: float) -> str:
        if not self.seconds:
            return "none"
        quantiles = [f"{self.quantile(share):8.1f}" for share in (0.5, 0.99)] + [f"{max(self.seconds) * 1e3:8.1f}"]
        return f"{len(self.seconds) / elapsed:10,.0f}/s  {'  '.join(quantiles)} ms (median, 99 %, longest)"


# Servers.


@contextmanager
def process(command: Sequence[str], port: int | None) -> Iterator[int]:
    """A server, and the port that it answers at: the one given, or the one that it prints."""
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        if port is None:
            assert running.stdout is not None
            port = int(running.stdout.readline().strip().rstrip("/").rpartition(":")[2])
        asyncio.run(_ready(port))
        yield port
    finally:
        running.terminate()
        running.wait()


async def _ready(port: int) -> None:
    until = time.monotonic() + READY_SECONDS
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            await asyncio.sleep(0.05)


def ours(store: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "deltalog", "serve", str(store), "--port", "0", *options]


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@contextmanager
def oxigraph(facts: Path, folder: Path) -> Iterator[int]:
    """Oxigraph's server over facts in N-Triples."""
    program = Path(sys.executable).parent / "oxigraph"
    place, port = folder / "oxigraph", free_port()
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([program, "load", "--location", place, "--file", facts], check=True, capture_output=True)
    with process([str(program), "serve", "--location", str(place), "--bind", f"127.0.0.1:{port}"], port):
        yield port


class Data(NamedTuple):
    store: Path
    facts: Path  # all of them, in N-Triples
    students: list[str]
    queries: dict[str, str]


def prepared(universities: int, folder: Path) -> Data:
    data, store = folder / f"lubm-{universities}.nt", folder / f"store-{universities}"
    if not data.exists():
        lubm(universities, folder)
    shutil.rmtree(store, ignore_errors=True)
    shutil.rmtree(folder / "facts", ignore_errors=True)
    kb = KnowledgeBase([PROGRAMS / "lubm_l.dl", "moved(X, Z) :- moving(X, Y), moving(Y, Z)."])
    kb.load(data)
    kb.write(folder / "facts", "nt")
    kb.add("moving", list(zip(range(MOVING), range(1, MOVING + 1), strict=True)))
    students = [str(x) for x, _ in kb.query(f"<{UNIVERSITY}takesCourse>(?x, ?y)").page(0, 40 * STUDENTS)]
    kb.save(store)
    print(f"LUBM({universities}): {kb.report.facts_total:,} facts")
    kb.close()
    chosen = random.Random(1).sample(sorted(set(students)), STUDENTS)
    paths = sorted(QUERIES.glob("q*.rq"), key=lambda path: int(path.stem[1:]))
    return Data(store, folder / "facts" / "facts.nt", chosen, {path.stem: path.read_text() for path in paths})


# Side by side.


async def load(port: int, path: str, texts: Sequence[str], clients: int, seconds: float) -> tuple[Times, float]:
    """Clients that ask one text after the other, each from a place of its own."""
    times, started = Times(), time.perf_counter()

    async def client(number: int) -> None:
        connection = Connection("127.0.0.1", port)
        connection.path = path
        while time.perf_counter() - started < seconds:
            before = time.perf_counter()
            answer = await connection.query(texts[number % len(texts)])
            times.seconds.append(time.perf_counter() - before)
            assert answer.status == 200, answer.body[:500]
            number += clients
        connection.close()

    await asyncio.gather(*(client(i) for i in range(clients)))
    return times, time.perf_counter() - started


async def answers(port: int, path: str, texts: Sequence[str]) -> list[frozenset[str]]:
    connection = Connection("127.0.0.1", port)
    connection.path = path
    found = [(await connection.query(text)).rows for text in texts]
    connection.close()
    return found


def compare(data: Data, folder: Path, clients: int, seconds: float) -> None:
    lookups = [LOOKUP.format(student) for student in data.students]
    texts = [*lookups[:50], *data.queries.values()]
    with process(ours(data.store, "--readonly"), None) as port, oxigraph(data.facts, folder) as other:
        same = asyncio.run(answers(port, "sparql", texts)) == asyncio.run(answers(other, "query", texts))
        print(f"answers of both are {'the same' if same else 'DIFFERENT'}")
        kinds = {"look-ups": lookups, **{name: [text] for name, text in data.queries.items()}}
        for kind, asked in kinds.items():
            for name, place, path in (("deltalog", port, "sparql"), ("Oxigraph", other, "query")):
                for count in (1, clients) if kind == "look-ups" else (1,):
                    times, elapsed = asyncio.run(load(place, path, asked, count, seconds if count > 1 else seconds / 2))
                    print(f"  {kind:8}  {name:8}  {count:3} clients  {times.shown(elapsed)}", flush=True)


# Under changes, for long.


@dataclass
class Soak:
    """A server that is asked and changed at the same time, and what went wrong."""

    port: int
    data: Data
    expected: dict[str, frozenset[str]]
    until: float
    first: int = 0  # the version at step 0
    times: dict[str, Times] = field(default_factory=lambda: {"look-up": Times(), "moved": Times(), "change": Times()})
    wrong: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    @property
    def is_over(self) -> bool:
        return time.perf_counter() > self.until

    async def timed(self, kind: str, request: Awaitable[Answer]) -> Answer:
        started = time.perf_counter()
        answer = await request
        self.times[kind].seconds.append(time.perf_counter() - started)
        if answer.status != 200:
            code = json.loads(answer.body)["error"]["code"] if answer.body.startswith(b"{") else answer.body.decode()
            (self.refused if answer.status == 503 else self.wrong)[f"{answer.status} {code}"] += 1
        return answer

    async def reader(self, number: int) -> None:
        rng = random.Random(number)
        async with connection(self.port) as mine:
            while not self.is_over:
                await (self._look_up(mine, rng) if rng.random() < 0.8 else self._moved(mine))

    async def _look_up(self, mine: Connection, rng: random.Random) -> None:
        text = LOOKUP.format(rng.choice(self.data.students))
        answer = await self.timed("look-up", mine.query(text))
        if answer.status == 200 and answer.rows != self.expected[text]:
            self.wrong["a look-up has other answers than before"] += 1

    async def _moved(self, mine: Connection) -> None:
        answer = await self.timed("moved", mine.ask("GET", f"/query?goal={quote('moved(?x, ?y)')}"))
        if answer.status == 200:
            step = answer.version - self.first
            wanted = [[step + i, step + i + 2] for i in range(MOVING - 1)]
            if sorted(json.loads(answer.body)["rows"]) != wanted:
                self.wrong["the answers are not those of their version"] += 1

    async def writer(self, pause: float) -> None:
        step = 0
        async with connection(self.port) as mine:
            while not self.is_over:
                change = {
                    "add": {"moving": [[step + MOVING, step + MOVING + 1]]},
                    "remove": {"moving": [[step, step + 1]]},
                }
                body = json.dumps(change).encode()
                answer = await self.timed("change", mine.ask("POST", "/update", body, "application/json"))
                if answer.status == 200:
                    step += 1
                    if answer.version != self.first + step:
                        self.wrong["a change made another version than the next"] += 1
                await asyncio.sleep(pause)

    async def watcher(self, every: float, started: float) -> None:
        async with connection(self.port) as mine:
            while not self.is_over:
                mine.close()  # the server closes what is idle
                text = (await mine.ask("GET", "/metrics")).body.decode()
                memory, version, values = (_figure(name, text) for name in FIGURES)
                done = sum(len(times.seconds) for times in self.times.values())
                shown = f"{memory / 1e6:7.1f} MB  version {version:,.0f}  {values:,.0f} values  {done:,} requests"
                print(f"  {time.perf_counter() - started:6.0f} s  {shown}", flush=True)
                await asyncio.sleep(every)


def _figure(name: str, text: str) -> float:
    found = re.search(rf"^{name} (\S+)", text, re.MULTILINE)
    assert found is not None, name
    return float(found[1])


@asynccontextmanager
async def connection(port: int) -> AsyncIterator[Connection]:
    made = Connection("127.0.0.1", port)
    try:
        yield made
    finally:
        made.close()


async def soak(port: int, data: Data, clients: int, seconds: float, pause: float) -> bool:
    """Whether everything was right."""
    texts = [LOOKUP.format(student) for student in data.students]
    expected = dict(zip(texts, await answers(port, "sparql", texts), strict=True))
    started = time.perf_counter()
    run = Soak(port, data, expected, started + seconds)
    async with connection(port) as mine:
        run.first = (await mine.ask("GET", "/health")).version
    tasks: list[Callable[[], Awaitable[None]]] = [lambda i=i: run.reader(i) for i in range(clients)]  # type: ignore[misc]
    others = run.writer(pause), run.watcher(max(seconds / 12, 1.0), started)
    await asyncio.gather(*(task() for task in tasks), *others)
    elapsed = time.perf_counter() - started
    for kind, times in run.times.items():
        print(f"  {kind:8}  {times.shown(elapsed)}")
    print(f"  refused by a limit: {dict(run.refused) or 'none'}; wrong: {dict(run.wrong) or 'none'}")
    return not run.wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.server", description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("compare", "soak"))
    parser.add_argument("--lubm", type=int, default=1, help="universities (default: 1)")
    parser.add_argument("--clients", type=int, help="at a time (default: 16, or 200)")
    parser.add_argument("--seconds", type=float, help="for each measurement (default: 5), or in all (default: 60)")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between two changes (default: 0.05)")
    parser.add_argument("--folder", type=Path, help="where data and stores go (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        data = prepared(options.lubm, folder)
        if options.what == "compare":
            compare(data, folder, options.clients or 16, options.seconds or 5.0)
            return 0
        with process(ours(data.store), None) as port:
            clients, seconds = options.clients or 200, options.seconds or 60.0
            return 0 if asyncio.run(soak(port, data, clients, seconds, options.pause)) else 1


if __name__ == "__main__":
    sys.exit(main())
