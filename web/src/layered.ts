// Hyper-nodes in layers, from what is read to what is derived.

import { graphlib, layout } from "@dagrejs/dagre";
import type { HyperNode, RuleEdge } from "./api";
import { Canvas } from "./canvas";
import { count, counted, s, seconds } from "./dom";
import { predicateText } from "./values";

export interface Box { id: string; lines: string[]; node: HyperNode | null } // without a node: a relation of explicit facts
export interface Arrow { from: string; to: string; kind: RuleEdge["kind"] }

const WIDTH = 7.1, LINE = 17, LONGEST = 34, LINES = 4;

export function boxOf(node: HyperNode): Box {
  const names = node.predicates.map(predicateText);
  const shown = names.slice(0, LINES).map(cut);
  if (names.length > LINES) shown.push(`… ${names.length - LINES} more`);
  return { id: `n${node.id}`, node, lines: shown };
}

const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/** The line below the names. */
const under = ({ node }: Box): string =>
  node ? [node.facts === null ? null : counted(node.facts, "fact"), node.seconds === null ? null : seconds(node.seconds)].filter(Boolean).join(" · ") : "";

type Room = { width: number; height: number };

/** Layers from top to bottom or from left to right, whichever is larger in the room that there is. */
function arranged(boxes: Box[], arrows: Arrow[], room: Room): graphlib.Graph {
  const scale = (graph: graphlib.Graph): number => Math.min(room.width / graph.graph().width!, room.height / graph.graph().height!);
  const [down, across] = ["TB", "LR"].map((rankdir) => laidOut(boxes, arrows, rankdir));
  return scale(across) > 1.25 * scale(down) && scale(down) < 0.8 ? across : down;
}

function laidOut(boxes: Box[], arrows: Arrow[], rankdir: string): graphlib.Graph {
  const graph = new graphlib.Graph({ multigraph: true }).setGraph({ rankdir, nodesep: rankdir === "TB" ? 22 : 12, ranksep: 46, marginx: 10, marginy: 10 }).setDefaultEdgeLabel(() => ({}));
  for (const box of boxes) graph.setNode(box.id, { ...sizeOf(box) });
  arrows.forEach(({ from, to }, i) => graph.setEdge(from, to, {}, String(i)));
  layout(graph);
  return graph;
}

export function layered(boxes: Box[], arrows: Arrow[], room: Room, choose: (box: Box) => void): { canvas: Canvas; select: (id: string) => void } {
  const canvas = new Canvas("Dependency graph of the rules; Tab goes from node to node, Enter shows its rules");
  const graph = arranged(boxes, arrows, room);
  canvas.svg.prepend(s("defs", {}, ["positive", "negative", "aggregate"].map((kind) =>
    s("marker", { id: `tip-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, s("path", { d: "M0,0 L8,4 L0,8 Z", class: `tip ${kind}` })))));
  for (const [i, arrow] of arrows.entries()) canvas.layer.append(drawArrow(graph.edge(arrow.from, arrow.to, String(i)).points, arrow));
  const shapes = new Map<string, SVGGElement>();
  for (const box of boxes) {
    const shape = drawBox(box, graph.node(box.id), choose);
    shapes.set(box.id, shape);
    canvas.layer.append(shape);
  }
  const select = (id: string): void => shapes.forEach((shape, own) => shape.classList.toggle("chosen", own === id));
  return { canvas, select };
}

function sizeOf(box: Box): { width: number; height: number } {
  const longest = Math.max(...box.lines.map((line) => line.length + (box.node?.recursive ? 3 : 0)), 0.88 * under(box).length, ...tags(box).map((tag) => 0.85 * tag.length));
  return { width: longest * WIDTH + 24, height: (box.lines.length + (under(box) ? 1 : 0) + tags(box).length) * LINE + 12 };
}

const tags = (box: Box): string[] => (box.node?.schemes ?? []).slice(0, 2).map((scheme) => `kept: ${cut(shortScheme(scheme))}`);

/** `path is the transitive closure of edge`: what it is. */
const shortScheme = (scheme: string): string => scheme.replace(/^.* is (the |an |a )?/, "").replace(/ of .*$/, "");

function drawBox(box: Box, at: { x: number; y: number; width: number; height: number }, choose: (box: Box) => void): SVGGElement {
  const { node } = box, top = at.y - at.height / 2 + LINE;
  const kind = node ? `derived${node.recursive ? " recursive" : ""}` : "explicit";
  const below = top + box.lines.length * LINE;
  const chosen = (): void => choose(box);
  const name = `${box.lines.join(", ")}${node ? `, stratum ${node.stratum}${node.recursive ? ", recursive" : ""}, ${count(node.facts ?? 0)} facts` : ""}`;
  const keys = (event: Event): void => {
    if (!["Enter", " "].includes((event as KeyboardEvent).key)) return;
    event.preventDefault();
    chosen();
  };
  return s("g", { class: `rule-node ${kind}`, tabindex: 0, role: "button", "aria-label": name, "data-id": box.id, onclick: chosen, onkeydown: keys },
    s("title", {}, [...(node?.predicates.map(predicateText) ?? box.lines), ...(node?.schemes ?? [])].join("\n")),
    s("rect", { x: at.x - at.width / 2, y: at.y - at.height / 2, width: at.width, height: at.height, rx: node ? 6 : 13 }),
    box.lines.map((line, i) => s("text", { x: at.x, y: top + i * LINE }, i === 0 && node?.recursive ? `↻ ${line}` : line)),
    under(box) && s("text", { class: "under", x: at.x, y: below }, under(box)),
    tags(box).map((tag, i) => s("text", { class: "kept", x: at.x, y: below + (i + 1) * LINE }, tag)));
}

function drawArrow(points: { x: number; y: number }[], { kind }: Arrow): SVGPathElement {
  const [first, ...rest] = points;
  let d = `M${first.x.toFixed(1)},${first.y.toFixed(1)}`;
  for (let i = 0; i < rest.length - 1; i++) {
    const [at, next] = [rest[i], rest[i + 1]], last = i === rest.length - 2;
    const end = last ? next : { x: (at.x + next.x) / 2, y: (at.y + next.y) / 2 };
    d += ` Q${at.x.toFixed(1)},${at.y.toFixed(1)} ${end.x.toFixed(1)},${end.y.toFixed(1)}`;
  }
  if (rest.length === 1) d += ` L${rest[0].x.toFixed(1)},${rest[0].y.toFixed(1)}`;
  return s("path", { d, class: `edge ${kind}`, "marker-end": `url(#tip-${kind})` });
}
