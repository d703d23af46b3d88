"""The methods of a knowledge base that read facts, predicates and plans: a base class of `KnowledgeBase`, as
`query.methods` is, over its contents at the time of a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from deltalog.core.concurrency.locks import exclusive
from deltalog.core.naming import Names
from deltalog.core.render.notebook_text import PlainText, SvgText
from deltalog.core.rules import Pred
from deltalog.evaluation.facts import Facts
from deltalog.knowledge_base.output_methods import OutputMethods

if TYPE_CHECKING:
    from deltalog.evaluation.goals.contents import Contents
    from deltalog.program import Program


class ReadMethods(OutputMethods):
    """A knowledge base as far as readers see it."""

    prefixes: Mapping[str, str]
    _cyclic: str

    @property
    def program(self) -> Program:
        """The rules, checked, as hyper-nodes in the order of evaluation."""
        raise NotImplementedError

    def _contents(self) -> Contents[Any]:
        """The present rules and facts, for one call."""
        raise NotImplementedError

    def _contents_for_goal(self, timeout: float | None = None) -> Contents[Any]:
        """The same for a goal: what depends on the order of derivation is derived before."""
        raise NotImplementedError

    @exclusive
    def facts(self, predicate: str) -> Facts[Any]:
        """The facts of a predicate, derived ones included."""
        return self._contents_with(predicate).facts(predicate)

    def __getitem__(self, predicate: str) -> Facts[Any]:
        """`kb["path"]` is `kb.facts("path")`."""
        return self.facts(predicate)

    def __iter__(self) -> Iterator[str]:
        """The names of the predicates, as of a mapping."""
        return iter(self.predicates)

    def __contains__(self, predicate: object) -> bool:
        """Whether rules or facts speak of a predicate."""
        return isinstance(predicate, str) and str.__str__(predicate) in self.predicates

    def _ipython_key_completions_(self) -> list[str]:
        """The predicates, for completion of `kb["`."""
        return self.predicates

    @exclusive
    def derived(self, predicate: str) -> Facts[Any]:
        """The facts of a predicate that were not given but derived."""
        return self._contents_with(predicate).facts(predicate, derived=True)

    @exclusive
    def count(self, predicate: str) -> int:
        """How many facts a predicate has."""
        return len(self.facts(predicate))

    @exclusive
    def plan(self) -> PlainText:
        """How the rules would be evaluated over the present facts: hyper-nodes, join orders, decompositions."""
        from deltalog.evaluation.plan.explain import explain, explain_stages

        self._warn_of_data()
        ordinary = explain(self.program, self._contents().statistics(self.program), self.prefixes, self._cyclic)
        outputs = "".join(f"{line}\n" for line in self._plan_of_outputs())
        return PlainText(outputs + explain_stages(self._stages) + ordinary)

    @exclusive
    def draw(self) -> SvgText:
        """The dependency graph of the rules, and the hypertree decompositions of those that have one, as SVG."""
        from deltalog.evaluation.plan.rule_graph_svg import draw

        return SvgText(draw(self.program, self.prefixes, self._contents().statistics(self.program), self._cyclic))

    @property
    @exclusive
    def predicates(self) -> list[str]:
        """The names of all predicates that rules or facts speak of, sorted; `name/arity` where a name has several."""
        return list(self._names().by_name)

    @exclusive
    def predicate(self, predicate: str) -> Pred:
        """The predicate of a name, with its arity; UsageError if there is none of that name."""
        return self._names().find(predicate)

    def arity(self, predicate: str) -> int:
        """How many arguments a predicate has; UsageError if there is none of that name."""
        return self.predicate(predicate).arity

    @property
    @exclusive
    def names_are_known(self) -> bool:
        """False where a rule with a variable for a predicate or a class may derive facts of one yet unheard of."""
        return (contents := self._contents()).state is not None or not contents.has_wildcard_heads

    @exclusive
    def _names(self, others: Iterable[Pred] = ()) -> Names:
        """What the predicates, and others, are called."""
        return self._contents().names(others)
