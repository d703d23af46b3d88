"""Ontologies as an extension: axioms of files and axioms among facts are rules, which follow every change of either."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltalog.evaluation.backend import Backend
from deltalog.evaluation.state import ChangeRequest, State
from deltalog.extensions.graphs.extension import Graphs

if TYPE_CHECKING:
    from deltalog.extensions.ontology.state import Ontology

NAME = "ontology"


def ontology_of(state: State[Any]) -> Ontology | None:
    """The ontology that a state has."""
    found: Ontology | None = state.kept.get(NAME)
    return found


@dataclass(frozen=True)
class Ontologies:
    """Takes part in changes of knowledge bases that have an ontology, or get one by `ChangeRequest.kept`."""

    graphs: Graphs
    name: str = NAME

    def concerns(self, request: ChangeRequest[Any], state: State[Any]) -> bool:
        return NAME in state.kept or NAME in request.kept

    def rewrite(self, request: ChangeRequest[Any], state: State[Any], backend: Backend[Any]) -> ChangeRequest[Any]:
        from deltalog.extensions.ontology.rewrite_request import RequestRewriting

        return RequestRewriting(request, state, backend, self.graphs).rewritten()
