// The rules: how they depend on each other, and each with its plan, facts and time.

import { api, type Plan, type Rule } from "../api";
import { button, count, counted, fill, h, seconds, type Children } from "../dom";
import { addToDraft } from "../draft";
import type { Canvas } from "../canvas";
import type { Arrow, Box } from "../layered";
import { merged, type MergedGraph, type MergedNode } from "../merged";
import { load, note } from "../message";
import { follow, session, whyReadonly } from "../session";
import { predicateText } from "../values";

const MOST_BOXES = 160, MOST_EXPLICIT = 40;
const SHORTEST = 320, AROUND = 220, READABLE = 0.5, READABLE_NARROW = 0.7; // pixels, and scales

interface Found { rules: Rule[]; graph: MergedGraph; plan: Plan }

export function rulesView(parameters: URLSearchParams): HTMLElement {
  const element = h("div", { class: "rules-view" });
  let version = session.version;
  const show = (): Promise<void> => load(element, async () => {
    const [{ rules }, graph, plan] = await Promise.all([api.rules(), api.graph(), api.plan()]);
    version = graph.version;
    return new RulesView({ rules, graph: merged(graph), plan }, parameters.get("node")).element;
  });
  void show();
  follow(element, () => version !== session.version && session.changes[0]?.version === session.version && void show());
  return element;
}

class RulesView {
  readonly element: HTMLElement;
  private readonly details = h("section", { class: "card details", "aria-label": "Rules", "aria-live": "polite" });
  private readonly drawing = h("div", { class: "graph-box" });
  private readonly rules: Map<string, Rule>;
  private select: (id: string) => void = () => undefined;

  constructor(private readonly found: Found, chosen: string | null) {
    this.rules = new Map(found.rules.map((rule) => [rule.id, rule]));
    const nodes = found.graph.nodes;
    const node = nodes.find((one) => one.parts.some((part) => String(part) === chosen));
    this.element = h("div", { class: "split" },
      h("section", { class: "card graph-card", "aria-label": "Dependency graph" }, this.head(), this.drawing, legend()), this.details);
    if (!found.rules.length) {
      fill(this.element, h("div", { class: "card padded" }, note("info", "There are no rules. ", h("a", { href: "#/change" }, "Add some.")))); 
      return;
    }
    void this.draw(node ?? null);
    this.show(node ?? null);
  }

  private head(): HTMLElement {
    const { graph, rules } = this.found, strata = new Set(graph.nodes.map((one) => one.stratum)).size;
    const recursive = graph.nodes.filter((one) => one.recursive).length, kept = graph.nodes.filter((one) => one.schemes.length).length;
    return h("p", { class: "summary" }, h("strong", {}, counted(rules.length, "rule")),
      h("span", { class: "dim" }, ` · ${counted(strata, "stratum").replace("stratums", "strata")} · ${count(recursive)} recursive · ${counted(kept, "structure")} kept instead of tables`));
  }

  private async draw(about: MergedNode | null): Promise<void> {
    await load(this.drawing, async () => {
      const { layered, boxOf } = await import("../layered");
      const nodes = this.near(about), ids = new Set(nodes.map((one) => one.id));
      const boxes: Box[] = nodes.map(boxOf);
      const arrows: Arrow[] = this.found.graph.edges.filter((edge) => ids.has(edge.from) && ids.has(edge.to) && edge.from !== edge.to)
        .map((edge) => ({ from: `n${edge.from}`, to: `n${edge.to}`, kind: edge.kind }));
      this.addExplicit(nodes, boxes, arrows);
      const drawn = layered(boxes, arrows, this.room(), (box) => (box.node ? this.choose(this.found.graph.home.get(box.node.id)!) : (location.hash = `#/query?q=${encodeURIComponent(box.lines[0])}`)));
      this.select = drawn.select;
      if (about) drawn.select(`n${about.id}`);
      requestAnimationFrame(() => this.arrange(drawn.canvas));
      const left = this.found.graph.nodes.length - nodes.length;
      return h("div", {}, left > 0 && h("p", { class: "dim inset" }, `${counted(nodes.length, "node")} of ${count(this.found.graph.nodes.length)}: those around ${about ? "the chosen one" : "the first ones"}. Choose a rule to see others.`), drawn.canvas.element);
    });
  }

  /** The room that the graph needs, up to that of the window; what is written in it stays readable. */
  private arrange(canvas: Canvas): void {
    const least = matchMedia("(min-width: 640px)").matches ? READABLE : READABLE_NARROW;
    this.drawing.style.height = `${Math.max(SHORTEST, Math.min(canvas.wanted(least), innerHeight - AROUND))}px`;
    requestAnimationFrame(() => canvas.fit(least, canvas.layer.querySelector<SVGGElement>(".chosen") ?? undefined));
  }

  private room(): { width: number; height: number } {
    return { width: this.drawing.clientWidth || 600, height: Math.max(SHORTEST, innerHeight - AROUND) };
  }

  /** All nodes, or of a large graph those around one: breadth first, both ways. */
  private near(about: MergedNode | null): MergedNode[] {
    const { nodes, edges } = this.found.graph;
    if (nodes.length <= MOST_BOXES) return nodes;
    if (!about) return nodes.slice(0, MOST_BOXES / 2);
    const next = new Map<number, number[]>();
    for (const { from, to } of edges) {
      next.set(from, [...(next.get(from) ?? []), to]);
      next.set(to, [...(next.get(to) ?? []), from]);
    }
    const seen = new Set([about.id]);
    for (const id of seen) for (const other of next.get(id) ?? []) if (seen.size < MOST_BOXES / 4) seen.add(other);
    return nodes.filter((one) => seen.has(one.id));
  }

  /** Relations that no rule derives, as sources of the graph. */
  private addExplicit(nodes: MergedNode[], boxes: Box[], arrows: Arrow[]): void {
    const derived = new Set(this.found.graph.nodes.flatMap((one) => one.predicates));
    const reads = new Map<string, Set<number>>();
    for (const node of nodes) for (const id of node.rules) for (const name of this.rules.get(id)?.reads ?? []) {
      if (!derived.has(name)) reads.set(name, (reads.get(name) ?? new Set()).add(node.id));
    }
    if (reads.size > MOST_EXPLICIT) return;
    for (const [name, readers] of reads) {
      const known = session.predicates.find((one) => one.name === name);
      boxes.push({ id: `e${name}`, node: null, lines: [`${predicateText(name)}${known ? `  ${count(known.facts)}` : ""}`] });
      for (const reader of readers) arrows.push({ from: `e${name}`, to: `n${reader}`, kind: "positive" });
    }
  }

  private choose(node: MergedNode): void {
    history.replaceState(null, "", `#/rules?node=${node.id}`);
    if (this.found.graph.nodes.length > MOST_BOXES) void this.draw(node);
    this.select(`n${node.id}`);
    this.show(node);
  }

  // The rules of a node, or of all

  private show(node: MergedNode | null): void {
    if (node) return fill(this.details, this.nodeDetails(node));
    const filter = h("input", { type: "search", placeholder: "Filter rules", "aria-label": "Filter rules" }), list = h("div", {});
    const show = (): void => {
      const wanted = filter.value.toLowerCase(), found = this.found.rules.filter((rule) => `${rule.id} ${rule.text}`.toLowerCase().includes(wanted));
      fill(list, found.slice(0, 200).map((rule) => this.rule(rule, true)), found.length > 200 && h("p", { class: "dim" }, `${count(found.length - 200)} more: filter`));
    };
    filter.addEventListener("input", show);
    show();
    fill(this.details, h("div", { class: "details-head row" }, h("h2", { class: "grow" }, "All rules"), filter), list);
  }

  private nodeDetails(node: MergedNode): Children {
    const plans = (this.found.plan.nodes ?? []).filter((one) => node.parts.includes(one.id));
    const figures = [["facts", node.facts === null ? "–" : count(node.facts)], ["new", node.new === null ? "–" : count(node.new)], ["rounds", node.rounds === null ? "–" : count(node.rounds)], ["time", seconds(node.seconds)], ["stratum", String(node.stratum)]];
    return [
      h("div", { class: "details-head row" }, h("h2", { class: "grow" }, node.predicates.slice(0, 4).map(predicateText).join(", ")), button("All rules", () => { this.select(""); history.replaceState(null, "", "#/rules"); this.show(null); }, { class: "small" })),
      h("dl", { class: "figures" }, figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      h("p", {}, node.recursive && h("span", { class: "tag" }, "↻ recursive"), node.schemes.map((scheme) => h("span", { class: "tag kept" }, scheme))),
      node.seconds === null && h("p", { class: "dim" }, "The facts came from a store, or with a change: there are no times of a materialisation."),
      node.rules.map((id) => this.rules.get(id)).map((rule) => rule && this.rule(rule, false)),
      plans.length > 0 && h("details", { open: true }, h("summary", {}, plans.length === 1 ? "Plan" : "Plans"), plans.map((one) => h("pre", { class: "plan" }, one.text))),
    ];
  }

  private rule(rule: Rule, chooses: boolean): HTMLElement {
    const why = whyReadonly();
    const place = rule.file ? `${rule.file.split("/").pop()}:${rule.line}` : "";
    const node = rule.hyper_node === null ? undefined : this.found.graph.home.get(rule.hyper_node);
    const remove = button("Remove …", () => addToDraft({ removeRules: [rule.id] }), { class: "small danger", disabled: why !== null, title: why ?? "Put its removal into a change, and preview it" });
    const show = chooses && node && button("Plan", () => this.choose(node), { class: "small", title: "Its plan, facts and time" });
    return h("article", { class: "rule" }, h("div", { class: "rule-head row" }, h("strong", {}, rule.id), h("span", { class: "dim grow" }, place, rule.recursive && " ↻", chooses && node?.facts !== null && node && ` · ${counted(node.facts ?? 0, "fact")} · ${seconds(node.seconds)}`), show, remove),
      h("code", {}, rule.text), chooses && rule.scheme && h("span", { class: "tag kept" }, rule.scheme));
  }
}

const legend = (): HTMLElement => h("ul", { class: "legend", "aria-label": "Legend" },
  h("li", {}, h("span", { class: "swatch explicit" }), "explicit facts"), h("li", {}, h("span", { class: "swatch derived" }), "derived"), h("li", {}, "↻ recursive"),
  h("li", {}, h("span", { class: "stroke positive" }), "reads"), h("li", {}, h("span", { class: "stroke negative" }), "negation"), h("li", {}, h("span", { class: "stroke aggregate" }), "aggregate"));
