"""The last pass: the rules of evaluation as hyper-nodes in topological order."""

from __future__ import annotations

from deltalog.program.analysis import Analysis
from deltalog.program.dependency import DependencyGraph


def order_hyper_nodes(analysis: Analysis) -> Analysis:
    """A pass: `deltalog.program.dependency` has the order."""
    graph = analysis.graph
    if graph is None or graph.rules != analysis.evaluated:
        graph = DependencyGraph.of(analysis.evaluated)
    return analysis.having(hyper_nodes=graph.hyper_nodes)
