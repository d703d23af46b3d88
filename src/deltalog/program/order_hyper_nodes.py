"""The last pass: the rules of evaluation as hyper-nodes in topological order."""

from __future__ import annotations

from dataclasses import replace

from deltalog.program.analysis import Analysis
from deltalog.program.dependency import DependencyGraph


def order_hyper_nodes(analysis: Analysis) -> Analysis:
    """A pass: `deltalog.program.dependency` has the order."""
    return replace(analysis, hyper_nodes=DependencyGraph.of(analysis.evaluated).hyper_nodes)
