"""The methods of a knowledge base that explain facts: a base class of `KnowledgeBase`, as `query.methods` is.

The work is done by an `Explainer`, which is made for a materialisation when it is first asked, and kept as long as the
materialisation is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deltalog.core.concurrency.interrupts import shielded
from deltalog.core.concurrency.locks import exclusive
from deltalog.core.errors import UsageError
from deltalog.core.limits import count, limited, within_budget
from deltalog.core.rules import Rule
from deltalog.evaluation.change import Change
from deltalog.knowledge_base.query_methods import QueryMethods
from deltalog.languages.load_program import Sources

if TYPE_CHECKING:
    from deltalog.evaluation.maintenance.materialisation import Materialisation
    from deltalog.extensions.explain.asked_fact import AskedFact
    from deltalog.extensions.explain.explainer import Explainer
    from deltalog.extensions.explain.model import Explanation, Fact


class ExplainMethods(QueryMethods):
    """A knowledge base as far as explanations see it."""

    _explainer: Explainer[Any] | None = None

    def _source(self, fact: Fact) -> str | None:
        """The file that an explicit fact came from, where it is known."""
        raise NotImplementedError

    def what_if(
        self,
        add: Mapping[str, Any] | None = None,
        remove: Mapping[str, Any] | None = None,
        add_rules: Sources = "",
        remove_rules: Sources = "",
    ) -> Change:
        """What a change of facts and rules would add and remove."""
        raise NotImplementedError

    @property
    def rule_ids(self) -> dict[str, Rule]:
        """The rules by their ids."""
        raise NotImplementedError

    def _completed(self) -> Materialisation[Any]:
        """The complete materialisation, made if there is none."""
        raise NotImplementedError

    @exclusive
    @limited
    @within_budget
    def explain(self, fact: Any, values: Any = None, *, all: int = 1, depth: int | None = None) -> Explanation:
        """Why a fact holds, or why it does not: `kb.explain("path(a, d)")` or `kb.explain("path", ("a", "d"))`.

        The first proof is of least height; `all` asks for up to so many different ones. `depth` is the number of levels
        that are shown of a proof; for a fact that does not hold, how far missing premises are explained in turn.
        """
        most = count(all, "all", least=1)
        levels = None if depth is None else count(depth, "depth", least=1)
        explainer = self._explaining(self._completed())
        self._warn_of_data()
        with self._backend.failures.apart():  # expressions that fail in the search are not the materialisation's
            return explainer.explain(self._asked(fact, values), most, levels, lambda: self._contents().preds)

    @shielded
    def consequences(self, fact: Any, values: Any = None) -> Change:
        """The facts that would go if an explicit fact went, and itself, unless it is derived, too; and those that would
        come, by rules with negations or aggregates. The knowledge base stays as it is."""
        asked = self._explicit_fact(fact, values)
        name = asked.pred.name if ":" in asked.pred.name else str(asked.pred)
        return self.what_if(remove={name: [asked.values]})

    @exclusive
    def _explicit_fact(self, fact: Any, values: Any) -> AskedFact:
        asked = self._asked(fact, values)
        table = self._contents().explicit.get(asked.pred)
        if table is None or not self._backend.codec.contains(table, asked.values):
            raise UsageError(
                f"{asked.shown.text(self.prefixes)} is not an explicit fact, so it cannot be removed; "
                "explain() names the explicit facts that a derived one rests on"
            )
        return asked

    def _asked(self, fact: Any, values: Any) -> AskedFact:
        from deltalog.extensions.explain.asked_fact import asked_fact

        return asked_fact(fact, values, self.prefixes, self._names())

    def _explaining(self, state: Materialisation[Any]) -> Explainer[Any]:
        from deltalog.extensions.explain.explainer import Explainer

        known = self._explainer
        if known is None or known.state is not state:
            known = self._explainer = Explainer(state, self.rule_ids, self.prefixes, self._source)
        return known
