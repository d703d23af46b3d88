"""Follows the answers of a goal on a server: the present ones first, then what every change adds and removes.

python watch.py 'connection(oslo, ?to)' [http://127.0.0.1:8080]
"""

import json
import sys
from collections.abc import Iterator
from urllib.parse import urlencode
from urllib.request import urlopen


def watch(goal: str, server: str = "http://127.0.0.1:8080") -> Iterator[str]:
    with urlopen(f"{server}/query?{urlencode({'goal': goal})}") as answer:
        now = json.load(answer)
    yield f"version {now['version']}: {shown(now['rows'])}"
    with urlopen(f"{server}/changes?{urlencode({'goal': goal, 'since': now['version']})}") as stream:
        for line in stream:
            name, _, data = line.decode().partition(": ")
            if name == "data" and "added" in (change := json.loads(data)):
                yield f"version {change['version']}: + {shown(change['added'])} - {shown(change['removed'])}"


def shown(rows: list[list[object]]) -> str:
    return ", ".join(sorted(" ".join(map(str, row)) for row in rows)) or "nothing"


if __name__ == "__main__":
    for event in watch(*sys.argv[1:]):
        print(event, flush=True)
