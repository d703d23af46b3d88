"""The benchmarks are a package beside `src`, in the project's root; they are not installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
