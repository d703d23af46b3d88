"""Rules to a checked program: safety, the dependency graph, hyper-nodes, bridges to triples."""

from deltalog.languages.load_program import read_documents, read_rules
from deltalog.program.hyper_nodes import HyperNode
from deltalog.program.incremental_analysis import changed
from deltalog.program.program import Program, analyse, rewritten

__all__ = ["HyperNode", "Program", "analyse", "changed", "read_documents", "read_rules", "rewritten"]
