"""A full disk: what is said, and that the knowledge base is as it was and can be used afterwards."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stored_contents import contents, in_child, opened, small_store

from deltalog import DataError, KnowledgeBase
from deltalog.extensions.store.verify import verify

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
MUCH = [(f"a rather long name of a node, number {i}", i) for i in range(20_000)]


def limited(size: int, call: Callable[[], object]) -> str:
    """Calls a function while no file may become larger than so many bytes; what is wrong."""
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, unlimited[1]))
    try:
        call()
    except DataError as problem:
        return str(problem)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    return ""


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    def check() -> None:
        kb = small_store(tmp_path / "s")
        failed = 0
        for size in (0, 1000, 4096, 10_000, 40_000, 100_000, 300_000):
            before = contents(kb)
            problem = limited(size, lambda size=size: kb.update(add={"edge": [(a, b + size) for a, b in MUCH]}))  # type: ignore[misc]
            failed += bool(problem)
            if problem:
                assert f"{tmp_path / 's'} cannot be written (" in problem
                assert "the change was not made" in problem
                assert contents(kb) == before
                assert opened(tmp_path / "s") == before
            kb.update(add={"node": [(f"after {size}",)]})
            assert opened(tmp_path / "s") == contents(kb)
        assert failed >= 6
        for call in (kb.compact, lambda: kb.save(tmp_path / "t")):
            for size in (0, 16, 5000, 100_000):
                problem = limited(size, call)
                assert "cannot be written" in problem, size
                assert ".partial" not in problem
                assert opened(tmp_path / "s") == contents(kb)
                assert not (tmp_path / "t").exists()
        kb.compact()
        assert opened(tmp_path / "s") == contents(kb)
        assert verify(tmp_path / "s").is_sound

    in_child(check)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(place: Path, but: int) -> Path:
    """Fills a disk, but for so many bytes."""
    free = shutil.disk_usage(place).free - but
    (place / "filler").write_bytes(bytes(max(free, 0)))
    return place / "filler"


def test_a_disk_that_is_full(small_disk: Path) -> None:
    def check() -> None:
        kb = small_store(small_disk / "s")
        for but in (0, 4096, 50_000):
            before, filler = contents(kb), fill(small_disk, but)
            with pytest.raises(DataError, match=r"cannot be written \(.*full.*\); the change was not made"):
                kb.update(add={"edge": MUCH})
            assert contents(kb) == before
            assert opened(small_disk / "s") == before
            with pytest.raises(DataError, match=r"cannot be written \(No space left on device\)"):
                kb.compact()
            with pytest.raises(DataError, match=r"t: cannot be written \(No space left on device\)"):
                kb.save(small_disk / "t")
            kb.close()
            with KnowledgeBase.open(small_disk / "s") as again:  # also while the disk is full
                assert contents(again) == before
            filler.unlink()
            kb = KnowledgeBase.open(small_disk / "s")
            kb.update(add={"node": [(f"after {but}",)]})
            kb.compact()
            assert opened(small_disk / "s") == contents(kb)
            assert verify(small_disk / "s").is_sound
        kb.close()

    in_child(check)
