"""Rules to a checked program: safety, the dependency graph, hyper-nodes, bridges to triples."""

from deltalog.program.hyper_nodes import HyperNode
from deltalog.program.incremental_analysis import changed
from deltalog.program.program import Program, analyse, rewritten

__all__ = ["HyperNode", "Program", "analyse", "changed", "rewritten"]
