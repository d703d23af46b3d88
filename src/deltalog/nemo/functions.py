"""The functions of Nemo's language by their upper-case names, and ours for each.

Those that mean something else than ours of that name are `nemo_...` (`deltalog.expressions.nemo_functions`).
"""

from __future__ import annotations

from deltalog.syntax.functions import FOREIGN

NEMO: dict[str, str] = {
    "/": "nemo_div",
    "ABS": "abs",
    "CEIL": "ceil",
    "FLOOR": "floor",
    "ISIRI": "isiri",
    "ISNULL": "isblank",
    **{name.removeprefix("nemo_").upper(): name for name in FOREIGN if name != "nemo_div"},
}
