"""Rules to a checked program: safety, the dependency graph, hyper-nodes, bridges to triples."""

from deltalog.program.dependency import HyperNode
from deltalog.program.leaves import changed
from deltalog.program.program import Program, analyse, rewritten
from deltalog.program.sources import read_documents, read_rules

__all__ = ["HyperNode", "Program", "analyse", "changed", "read_documents", "read_rules", "rewritten"]
