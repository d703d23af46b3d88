// The graph of the rules as it is drawn. Every rule that is not recursive has a hyper-node of its own; those that derive
// the same predicates are one node here.

import type { HyperNode, RuleEdge, RuleGraph } from "./api";

export interface MergedNode extends HyperNode { parts: number[] } // the hyper-nodes in it
export interface MergedGraph { version: number; nodes: MergedNode[]; edges: RuleEdge[]; home: Map<number, MergedNode> }

const STRICTNESS: Record<RuleEdge["kind"], number> = { positive: 0, negative: 1, aggregate: 2 };

export function merged(graph: RuleGraph): MergedGraph {
  const byKey = new Map<string, MergedNode>(), home = new Map<number, MergedNode>();
  for (const node of graph.nodes) {
    const key = node.recursive ? `#${node.id}` : node.predicates.join("\n"), known = byKey.get(key);
    const made = known ? join(known, node) : { ...node, parts: [node.id] };
    byKey.set(key, made);
    for (const part of made.parts) home.set(part, made);
  }
  return { version: graph.version, nodes: [...byKey.values()], edges: edges(graph.edges, home), home };
}

function join(one: MergedNode, other: HyperNode): MergedNode {
  const sum = (a: number | null, b: number | null): number | null => (a === null && b === null ? null : (a ?? 0) + (b ?? 0));
  return {
    ...one, parts: [...one.parts, other.id], stratum: Math.max(one.stratum, other.stratum), rules: [...one.rules, ...other.rules],
    schemes: [...new Set([...one.schemes, ...other.schemes])],
    new: sum(one.new, other.new), rounds: sum(one.rounds, other.rounds), seconds: sum(one.seconds, other.seconds),
  };
}

/** One edge between two nodes: the strictest of theirs. */
function edges(found: RuleEdge[], home: Map<number, MergedNode>): RuleEdge[] {
  const made = new Map<string, RuleEdge>();
  for (const { from, to, kind } of found) {
    const [source, target] = [home.get(from)!.id, home.get(to)!.id], key = `${source} ${target}`, known = made.get(key);
    if (source !== target && (!known || STRICTNESS[kind] > STRICTNESS[known.kind])) made.set(key, { from: source, to: target, kind });
  }
  return [...made.values()];
}
