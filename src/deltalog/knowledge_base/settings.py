"""The settings of a knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from os import PathLike
from typing import Any, TypedDict

from deltalog.core.arguments import check_choice, check_type, short_repr
from deltalog.core.errors import UsageError
from deltalog.core.limits import count
from deltalog.core.tuning import Tuning
from deltalog.evaluation.equality.settings import EQUALITY_SETTINGS
from deltalog.evaluation.maintenance.ladders import LADDERS
from deltalog.evaluation.plan.hypertree.settings import CYCLIC_SETTINGS
from deltalog.evaluation.report import Round
from deltalog.extensions.graphs.relations import DEFAULT_GRAPHS
from deltalog.languages.load_program import IncludeDirs, as_preprocessing
from deltalog.languages.protocol import Preprocessing
from deltalog.program.recognise import SCHEME_SETTINGS

OntologyPaths = str | PathLike[str] | Iterable[str | PathLike[str]]
ENGINES = ("local", "spark", "auto", "naive")
STORED = ("maintenance", "cyclic", "schemes", "default_graph", "equality")  # what a store keeps of them


class SettingKeywords(TypedDict, total=False):
    """`Settings` as keyword arguments of `KnowledgeBase`."""

    maintenance: str
    cyclic: str
    schemes: str
    default_graph: str
    equality: str
    threads: int | None
    observe: Callable[[Round], None] | None
    tuning: Tuning | None
    include_dirs: IncludeDirs
    macros: Mapping[str, str]


@dataclass(frozen=True)
class Settings:
    """How a knowledge base evaluates and maintains. All settings of the first five give the same facts.

    Args:
        maintenance: how derived facts are deleted: "dred" deletes and rederives, "bf" searches for other proofs
            first, "auto" chooses between them; "counting" deletes and rederives by counts of derivations.
        cyclic: how rules with cyclic bodies are evaluated: "standard" joins them like others, "hypertree" takes
            a hypertree decomposition for every rule, "combined" for cyclic ones where it is estimated to pay.
        schemes: how relations that are transitive, symmetric, inverse to each other or unions are stored:
            "scheme" as virtual relations, "module" as tables with rules of their own, "standard" like all
            others; "auto" is "scheme" with small ones as tables.
        equality: how owl:sameAs is evaluated: "representatives" keeps facts about one of several equal
            individuals, "axioms" about each of them.
        default_graph: what rules apply to, and queries outside of GRAPH: the "union" of all graphs, or the
            "unnamed" graph.
        threads: of the local engine; by default all cores.
        observe: is called after every round of evaluation with a `Round`.
        tuning: thresholds (`deltalog.core.tuning`).
        include_dirs: folders of the files that programs include, besides those of the programs.
        macros: values of macros of programs, by name, as `#define` gives them.
    """

    maintenance: str = "auto"
    cyclic: str = "combined"
    schemes: str = "auto"
    default_graph: str = "union"
    equality: str = "representatives"
    threads: int | None = None
    observe: Callable[[Round], None] | None = None
    tuning: Tuning | None = None
    include_dirs: IncludeDirs = ()
    macros: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("maintenance strategy", self.maintenance, tuple(LADDERS))
        check_choice("option", self.cyclic, CYCLIC_SETTINGS, " for cyclic rules")
        check_choice("option", self.schemes, SCHEME_SETTINGS, " for schemes")
        check_choice("default graph", self.default_graph, DEFAULT_GRAPHS)
        check_type(self.thresholds, Tuning, "a Tuning for tuning")
        if self.observe is not None and not callable(self.observe):
            raise UsageError(f"observe takes a function of a Round, and not {short_repr(self.observe)}")
        check_choice("option", self.equality, EQUALITY_SETTINGS, " for equality")
        if self.threads is not None:
            count(self.threads, "threads", least=1)

    @property
    def thresholds(self) -> Tuning:
        return Tuning() if self.tuning is None else self.tuning

    @property
    def preprocessing(self) -> Preprocessing:
        return as_preprocessing(self.include_dirs, self.macros)

    @property
    def stored(self) -> dict[str, Any]:
        """What a store keeps of them."""
        return {name: getattr(self, name) for name in STORED}

    @classmethod
    def of(cls, settings: Settings | None, more: Mapping[str, Any]) -> Settings:
        """Settings, with others by name in their place. TypeError for names that there are not, as Python has it."""
        settings = cls() if settings is None else settings
        check_type(settings, cls, "Settings for settings")
        known = [each.name for each in fields(cls)]
        for name in more:
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f". Did you mean {near[0]!r}?" if near else ""
                raise TypeError(f"KnowledgeBase.__init__() got an unexpected keyword argument {name!r}{hint}")
        return replace(settings, **more)
