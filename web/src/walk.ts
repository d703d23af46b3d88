// Facts as a graph that one walks: values are nodes, facts are edges; a click on a node brings its neighbours from the server.

import { drag } from "d3-drag";
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type Simulation } from "d3-force";
import { select } from "d3-selection";
import { api } from "./api";
import { Canvas } from "./canvas";
import { button, counted, fill, h, s } from "./dom";
import { errorBox } from "./message";
import { factText, key, kindOf, label, predicateText, shortLabel, type Fact, type Value } from "./values";

interface Node { id: string; value: Value | null; text: string; kind: string; classes: string[]; expanded: boolean; x: number; y: number; fx?: number | null; fy?: number | null; shape: SVGGElement }
interface Edge { id: string; source: Node; target: Node; text: string; fact: Fact; bend: number; line: SVGPathElement; name: SVGTextElement }

const MOST_NODES = 400, LONGEST = 24, NEIGHBOURS = 6;

export interface WalkOptions { why: (fact: Fact) => void }

export class Walk {
  readonly element = h("div", { class: "walk" });
  private readonly canvas = new Canvas("The graph; Tab goes from node to node, Enter shows the neighbours of a node");
  private readonly edgeLayer = s("g");
  private readonly nodeLayer = s("g");
  private readonly side = h("div", { class: "walk-side", "aria-live": "polite" });
  private readonly nodes = new Map<string, Node>();
  private readonly edges = new Map<string, Edge>();
  private readonly simulation: Simulation<Node, Edge>;

  constructor(private readonly options: WalkOptions) {
    this.canvas.layer.append(this.edgeLayer, this.nodeLayer);
    this.canvas.svg.prepend(s("defs", {}, s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, s("path", { d: "M0,0 L8,4 L0,8 Z", class: "tip" }))));
    this.element.append(this.canvas.element, this.side);
    fill(this.side, h("p", { class: "dim" }, "Click a node for its neighbours, an edge for the proof of its fact."));
    this.simulation = forceSimulation<Node, Edge>([])
      .force("charge", forceManyBody<Node>().strength(-560).distanceMax(700))
      .force("link", forceLink<Node, Edge>([]).distance((edge) => 40 + 6.5 * edge.text.length + (widthOf(edge.source) + widthOf(edge.target)) / 2).strength(0.6))
      .force("x", forceX(0).strength(0.045)).force("y", forceY(0).strength(0.07))
      .force("collide", forceCollide<Node>((node) => 12 + 0.45 * widthOf(node)))
      .stop();
  }

  /** Adds facts; those with one value are written on their node. */
  add(facts: Fact[], from?: Node): void {
    for (const fact of facts) if (this.nodes.size < MOST_NODES) this.addFact(fact, from);
    this.layout();
  }

  /** Begins at a value, with its neighbours. */
  async start(value: Value): Promise<void> {
    await this.expand(this.node(value));
  }

  private addFact(fact: Fact, from?: Node): void {
    const [first, second, ...more] = fact.values;
    if (first === undefined) return;
    const source = this.node(first, from);
    if (second === undefined) {
      const name = predicateText(fact.predicate);
      if (!source.classes.includes(name)) source.classes.push(name);
      return this.dress(source);
    }
    const id = key([fact.predicate, ...fact.values].map((one) => one as Value) as never);
    if (this.edges.has(id)) return;
    const target = this.node(second, from);
    const note = more.length ? ` (${more.map(label).join(", ")})` : "";
    const parallel = [...this.edges.values()].filter((one) => (one.source === source && one.target === target) || (one.source === target && one.target === source)).length;
    const bend = source === target ? 0.5 : Math.ceil(parallel / 2) * (parallel % 2 ? 1 : -1);
    const line = s("path", { class: "edge", "marker-end": "url(#tip)" }), text = `${predicateText(fact.predicate)}${note}`;
    const name = s("text", { class: "edge-name" }, text);
    this.edgeLayer.append(s("g", { class: "edge-group", tabindex: 0, role: "button", "aria-label": `${factText(fact)}: why?`, onclick: () => this.options.why(fact), onkeydown: pressed(() => this.options.why(fact)) }, s("title", {}, factText(fact)), line, name));
    this.edges.set(id, { id, source, target, text, fact, bend, line, name });
  }

  private node(value: Value, from?: Node): Node {
    const id = key(value), known = this.nodes.get(id);
    if (known) return known;
    const text = shortLabel(value, LONGEST);
    const angle = 2.4 * this.nodes.size, distance = from ? 60 : 12 * Math.sqrt(this.nodes.size);
    const shape = s("g", { tabindex: 0, role: "button" });
    const made: Node = { id, value, text, kind: kindOf(value), classes: [], expanded: false, shape, x: (from?.x ?? 0) + distance * Math.cos(angle), y: (from?.y ?? 0) + distance * Math.sin(angle) };
    this.nodes.set(id, made);
    this.nodeLayer.append(shape);
    shape.addEventListener("click", () => void this.expand(made));
    shape.addEventListener("keydown", pressed(() => void this.expand(made)));
    select<SVGGElement, unknown>(shape).call(drag<SVGGElement, unknown>()
      .on("drag", (event) => { [made.fx, made.fy] = [event.x, event.y]; [made.x, made.y] = [event.x, event.y]; this.simulation.alphaTarget(0.08).restart(); })
      .on("end", () => { this.simulation.alphaTarget(0); [made.fx, made.fy] = [null, null]; })
      .subject(() => ({ x: made.x, y: made.y })));
    this.dress(made);
    return made;
  }

  private dress(node: Node): void {
    const classes = classesOf(node), width = widthOf(node), height = classes ? 38 : 26;
    node.shape.setAttribute("class", `node ${node.kind}${node.expanded ? " expanded" : ""}`);
    node.shape.setAttribute("aria-label", `${node.text}${classes ? `, ${classes}` : ""}: show neighbours`);
    fill(node.shape, s("title", {}, [label(node.value), ...node.classes].join("\n")),
      s("rect", { x: -width / 2, y: -height / 2, width, height, rx: node.kind === "iri" || node.kind === "string" ? 13 : 4 }),
      s("text", { y: classes ? -2 : 4.5 }, node.text), classes && s("text", { class: "class", y: 12 }, classes));
  }

  private async expand(node: Node, most = NEIGHBOURS): Promise<void> {
    node.expanded = true;
    this.dress(node);
    try {
      const { groups } = await api.neighbours(node.value!, most);
      const facts = groups.flatMap(({ predicate, rows }) => rows.map((values) => ({ predicate, values })));
      this.add(facts, node);
      this.describe(node, groups.map((group) => ({ ...group, shown: group.rows.length })), most);
    } catch (error) {
      fill(this.side, errorBox(error));
    }
  }

  private describe(node: Node, groups: { predicate: string; position: number; total: number; shown: number }[], most: number): void {
    const total = groups.reduce((sum, group) => sum + group.total, 0);
    fill(this.side, h("h4", {}, h("code", {}, label(node.value))), h("p", { class: "dim" }, counted(total, "fact")),
      h("ul", { class: "plain" }, groups.map((group) => h("li", {}, h("code", {}, predicateText(group.predicate)), " ",
        h("span", { class: "dim" }, group.shown < group.total ? `${group.shown} of ${group.total}` : String(group.total), group.position > 0 && ` · argument ${group.position + 1}`)))),
      this.nodes.size >= MOST_NODES && h("p", { class: "dim" }, `The graph has ${MOST_NODES} nodes and takes no more.`),
      groups.some((group) => group.shown < group.total) && this.nodes.size < MOST_NODES && button("More neighbours", () => void this.expand(node, 4 * most), { class: "small" }), " ",
      button("Only this node", () => this.only(node), { class: "small" }));
  }

  private only(node: Node): void {
    for (const other of this.nodes.values()) if (other !== node) other.shape.remove();
    this.nodes.clear();
    this.edges.clear();
    this.edgeLayer.replaceChildren();
    this.nodes.set(node.id, node);
    [node.x, node.y] = [0, 0];
    void this.expand(node);
  }

  // Layout

  private layout(): void {
    this.simulation.nodes([...this.nodes.values()]);
    this.simulation.force<ReturnType<typeof forceLink<Node, Edge>>>("link")!.links([...this.edges.values()]);
    this.simulation.on("tick", () => this.place()).alpha(1);
    const ticks = Math.min(260, 60_000 / Math.max(60, this.nodes.size));
    for (let i = 0; i < ticks; i++) this.simulation.tick();
    this.place();
    requestAnimationFrame(() => this.canvas.fit());
  }

  private place(): void {
    for (const { shape, x, y } of this.nodes.values()) shape.setAttribute("transform", `translate(${x.toFixed(1)},${y.toFixed(1)})`);
    for (const edge of this.edges.values()) placeEdge(edge);
  }
}

const classesOf = (node: Node): string => node.classes.slice(0, 2).join(", ") + (node.classes.length > 2 ? " …" : "");
const widthOf = (node: Node): number => 7.3 * Math.max(node.text.length, 0.85 * classesOf(node).length) + 22;

const pressed = (action: () => void) => (event: Event): void => {
  if ((event as KeyboardEvent).key !== "Enter" && (event as KeyboardEvent).key !== " ") return;
  event.preventDefault();
  action();
};

function placeEdge({ source, target, bend, line, name }: Edge): void {
  if (source === target) {
    const { x, y } = source;
    line.setAttribute("d", `M${x - 14},${y - 12} C${x - 40},${y - 62} ${x + 40},${y - 62} ${x + 14},${y - 14}`);
    return put(name, x, y - 54);
  }
  const [dx, dy] = [target.x - source.x, target.y - source.y], length = Math.hypot(dx, dy) || 1;
  const [nx, ny] = [(-dy / length) * 44 * bend, (dx / length) * 44 * bend];
  const [mx, my] = [(source.x + target.x) / 2 + nx, (source.y + target.y) / 2 + ny];
  const [start, end] = [border(source, mx, my), border(target, mx, my)];
  line.setAttribute("d", `M${start} Q${mx.toFixed(1)},${my.toFixed(1)} ${end}`);
  const along = (bend > 0 ? 14 : bend < 0 ? -14 : 0) * Math.sign(dy || 1); // names of parallel edges are not side by side
  put(name, (source.x + target.x) / 2 + nx / 2 + (dx / length) * along, (source.y + target.y) / 2 + ny / 2 - 3 + (dy / length) * along);
}

const put = (text: SVGTextElement, x: number, y: number): void => {
  text.setAttribute("x", x.toFixed(1));
  text.setAttribute("y", y.toFixed(1));
};

/** Where the line from a node to a point leaves its box. */
function border(node: Node, x: number, y: number): string {
  const half = widthOf(node) / 2 + 2, high = (node.classes.length ? 38 : 26) / 2 + 2;
  const [dx, dy] = [x - node.x, y - node.y], scale = 1 / Math.max(Math.abs(dx) / half, Math.abs(dy) / high, 1e-6);
  return `${(node.x + dx * Math.min(scale, 1)).toFixed(1)},${(node.y + dy * Math.min(scale, 1)).toFixed(1)}`;
}
