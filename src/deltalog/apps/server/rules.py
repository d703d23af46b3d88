"""Rules, and how they depend on each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from deltalog.apps.server.documents import JsonDocument
from deltalog.apps.server.endpoints import Endpoint, HandlerWork, ReadingHandler, Request, RouteCall
from deltalog.core.rules import Aggregate, Pred, Rule
from deltalog.evaluation.plan.iri_display import shortened
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.facade import KnowledgeBase
from deltalog.program import HyperNode, Program
from deltalog.program.body_atoms import negative


class RuleNode(NamedTuple):
    """A hyper-node with its number, from one on, in the order of evaluation."""

    number: int
    node: HyperNode


class RuleGraph:
    """The rules of a knowledge base among its hyper-nodes."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb, self.program = kb, session_of(kb).completed().program
        self.nodes = [RuleNode(number, node) for number, node in enumerate(self.program.hyper_nodes, 1)]
        self._by_head: dict[Pred, list[RuleNode]] = {}
        for node in self.nodes:
            for pred in node.node.heads:
                self._by_head.setdefault(pred, []).append(node)
        self._numbers = {id(node): number for number, node in self.nodes}
        self._names = {pred: name for name, pred in session_of(kb).names(self.program.preds).by_name.items()}

    def home(self, rule: Rule) -> RuleNode | None:
        """The hyper-node that evaluates a rule: as it is, by the scheme of its head, or with a separate aggregate."""
        known = self.program.home.get(rule)
        if known is not None:
            return self.nodes[self._numbers[id(known)] - 1] if id(known) in self._numbers else None
        heads = {head.pred for head in rule.heads}
        found = [node for pred in heads for node in self._by_head.get(pred, [])]
        reading = [node for node in found if any(rule.reads == each.reads for each in node.node.rules)]
        return next(iter(reading or found), None)

    def names(self, preds: Iterable[Pred]) -> list[str]:
        """The names of those predicates that users see."""
        return list(dict.fromkeys(self._names.get(pred, str(pred)) for pred in preds if not pred.hidden))

    def facts(self, number: int) -> int:
        """How many facts the predicates of a hyper-node have that users see."""
        contents, size = session_of(self.kb).contents(), session_of(self.kb).backend.size
        return sum(size(contents.table(pred)) for pred in self.nodes[number - 1].node.heads if not pred.hidden)

    def schemes(self, node: HyperNode) -> list[str]:
        found = (self.program.scheme_of.get(pred) for pred in sorted(node.heads))
        return [shortened(str(scheme), self.kb.prefixes) for scheme in found if scheme is not None]


def rules(reading: ReadingHandler, _: Request) -> JsonDocument:
    graph = RuleGraph(reading.kb)
    return {"rules": [_rule(name, rule, graph) for name, rule in reading.kb.rule_ids.items()]}


def _rule(name: str, rule: Rule, graph: RuleGraph) -> JsonDocument:
    span, home = rule.span, graph.home(rule)
    in_file = span is not None and not span.source.name.startswith("<")
    place = {"file": span.source.name, "line": span.line, "column": span.column} if span and in_file else {}
    schemes = [graph.program.scheme_of.get(head.pred) for head in rule.heads]
    return {
        "id": name,
        "text": shortened(str(rule), graph.kb.prefixes),
        "heads": graph.names(head.pred for head in rule.heads),
        "reads": graph.names(sorted(rule.reads)),
        "file": place.get("file"),
        "line": place.get("line"),
        "column": place.get("column"),
        "hyper_node": None if home is None else home.number,
        "stratum": None if home is None else home.node.depth,
        "recursive": home is not None and home.node.recursive,
        "scheme": next((shortened(str(each), graph.kb.prefixes) for each in schemes if each is not None), None),
    }


def rule_graph(reading: ReadingHandler, _: Request) -> JsonDocument:
    graph = RuleGraph(reading.kb)
    homes: dict[int, list[str]] = {}
    for name, rule in reading.kb.rule_ids.items():
        if (home := graph.home(rule)) is not None:
            homes.setdefault(home.number, []).append(name)
    done = work_of(reading)
    nodes = [_node(node, graph, homes.get(node.number, []), done) for node in graph.nodes]
    return {"nodes": nodes, "edges": list(_edges(graph.nodes))}


def _node(node: RuleNode, graph: RuleGraph, names: list[str], done: Mapping[int, JsonDocument]) -> JsonDocument:
    program: Program = graph.program
    return {
        "id": node.number,
        "stratum": node.node.depth,
        "recursive": node.node.recursive,
        "predicates": graph.names(sorted(node.node.heads)),
        "hidden": [shortened(f"<{p.name}>", graph.kb.prefixes) for p in sorted(node.node.heads) if p.hidden],
        "rules": names,
        "bridges": sum(map(program.is_bridge, node.node.rules)),
        "schemes": graph.schemes(node.node),
        "facts": graph.facts(node.number),
        **done.get(node.number, {"new": None, "rounds": None, "seconds": None}),
    }


def _edges(nodes: list[RuleNode]) -> Iterator[JsonDocument]:
    """From nodes that derive facts to those that read them."""
    for reader in nodes:
        for source in nodes[: reader.number - 1]:
            if shared := source.node.heads & reader.node.reads:
                yield {"from": source.number, "to": reader.number, "kind": _kind(shared, reader.node)}


def _kind(shared: frozenset[Pred], reader: HyperNode) -> str:
    """How a node reads some predicates: the strictest way of all."""
    found = (literal for rule in reader.rules for atom, literal in negative(rule.body) if atom.pred in shared)
    ways = {"aggregate" if isinstance(literal, Aggregate) else "negative" for literal in found}
    return min(ways, default="positive")


def work_of(reading: ReadingHandler) -> dict[int, JsonDocument]:
    """What the materialisation at the start did, by the number of the hyper-node; nothing if it came from a store, or
    the rules have changed since."""
    found: dict[int, JsonDocument] = {}
    if session_of(reading.kb).completed().program.hyper_nodes != reading.versions.evaluated.hyper_nodes:
        return found
    for number, node in enumerate(reading.versions.evaluated.hyper_nodes, 1):
        work = session_of(reading.kb).state.report.work.get(node.heads)
        if work is not None:
            found[number] = {"new": work.new, "rounds": work.rounds, "seconds": round(work.seconds, 6)}
    return found


ENDPOINTS = (
    Endpoint("GET", "/rules", "The rules, with their ids.", RouteCall(HandlerWork.READ, rules)),
    Endpoint("GET", "/rules/graph", "How rules depend on each other.", RouteCall(HandlerWork.READ, rule_graph)),
)
