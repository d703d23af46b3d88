"""What `deltalog pipeline check` says: `mistakes_in_data/NAME.toml` is a pipeline with mistakes that only the data, the
rules and the catalog show, `mistakes_in_data/NAME.stderr` all that is said about it.

`python tests/pipeline/test_spark_mistakes.py` writes the .stderr files anew; read the difference before you commit it.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from deltalog.spark import Pipeline

FOLDER = Path(__file__).parent / "mistakes_in_data"
PIPELINES = sorted(FOLDER.glob("*.toml"))


def prepare(folder: Path, spark: Any) -> Path:
    """A folder with a table of Parquet and a text."""
    schema = "src long, dst long, weight double, tags array<string>"
    spark.createDataFrame([(1, 2, 0.5, ["a"])], schema).coalesce(1).write.parquet(f"{folder}/edges")
    (folder / "readme.txt").write_text("This is no table.")
    return folder


def message(path: Path, folder: Path, spark: Any) -> str:
    """All that is said, without the names of temporary folders."""
    shutil.copy(path, folder)
    problems = Pipeline.from_file(folder / path.name).check(spark)
    text = "".join(f"{problem}\n" for problem in problems)
    return re.sub(rf"(file:(//)?)?{re.escape(str(folder))}/", "", text)


@pytest.fixture(scope="module")
def folder(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("mistakes"), spark)


@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: path.stem)
def test_mistake(path: Path, folder: Path, spark: Any) -> None:
    assert message(path, folder, spark) == path.with_suffix(".stderr").read_text(encoding="utf-8") != ""


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    from deltalog.engines.spark.startup.session import session

    with TemporaryDirectory() as temporary:
        prepared = prepare(Path(temporary), session("local[2]"))
        for pipeline in PIPELINES:
            said = message(pipeline, prepared, session("local[2]"))
            pipeline.with_suffix(".stderr").write_text(said, encoding="utf-8")
    sys.exit(0)
