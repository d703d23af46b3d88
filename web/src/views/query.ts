// Queries and goals: the editor, the predicates, and the answers as a table, as a graph, and with their plan.

import { ApiError, api } from "../api";
import { button, count, counted, fill, h, seconds, tabs } from "../dom";
import { createEditor, type Editor } from "../editor";
import { kindOfText, type TextKind } from "../language";
import { differenceView } from "../difference";
import { errorBox, load, note, toast } from "../message";
import { closePanel, showPanel, showProofs } from "../panel";
import { explanationView } from "../proof";
import { goalOf, run, type Answer, type Preview, type Table, type Truth } from "../run";
import { changed, follow, loadPredicates, session, whyReadonly } from "../session";
import { forget, past, remember } from "../store";
import { resultTable, type Row } from "../table";
import { predicateText, tripleFact, type Cell, type Fact, type Value } from "../values";
import type { Predicate } from "../api";

const NAMES: Record<TextKind, string> = { sparql: "SPARQL", update: "SPARQL Update", goal: "Goal", rules: "Rules" };
const VERBS: Record<TextKind, string> = { sparql: "Run", update: "Preview", goal: "Run", rules: "Preview" };
const GRAPH_ROWS = 60, GRAPH_VALUES = 40; // of which the graph begins with as many as are readable
const HINT = "path(a, ?x)   or   SELECT ?x WHERE { … }   or   p(?x) :- q(?x) .      Ctrl+Enter runs it";

export function queryView(parameters: URLSearchParams): HTMLElement {
  return new QueryView(parameters.get("q") ?? "").element;
}

class QueryView {
  readonly element: HTMLElement;
  private readonly editor: Editor;
  private readonly chip = h("span", { class: "chip", "aria-live": "polite" });
  private readonly runButton = button("Run", () => void this.run(), { class: "primary", title: "Ctrl+Enter" });
  private readonly results = h("section", { class: "results", "aria-label": "Results" });
  private readonly stale = h("div", { class: "stale" });
  private readonly following = h("input", { type: "checkbox" });
  private answer: Answer | null = null;
  private running: AbortController | null = null;

  constructor(text: string) {
    this.editor = createEditor({ label: "Query, goal or rules", hint: HINT, text, run: () => void this.run(), changed: (now) => this.edited(now), check: (now) => this.check(now) });
    const toolbar = h("div", { class: "toolbar row" }, this.runButton, this.chip, h("span", { class: "grow" }),
      h("label", { class: "check", title: "Run again whenever the knowledge base changes, and mark what is new and what is gone" }, this.following, "follow"),
      button("History", () => this.history(), { title: "Queries that were run in this browser" }),
      button("Share", () => void this.share(), { title: "Copy a link to this query" }));
    const main = h("div", { class: "query-main" }, h("div", { class: "card editor-card" }, this.editor.element, toolbar), this.stale, this.results);
    this.element = h("div", { class: "query-view" }, this.predicates(), main);
    this.edited(text);
    follow(this.element, () => this.versionChanged());
    if (text && kindOfText(text) !== "update") void this.run();
    else if (!text) fill(this.results, this.welcome());
    setTimeout(() => matchMedia("(min-width: 700px)").matches && this.editor.focus());
  }

  private edited(text: string): void {
    const kind = kindOfText(text);
    fill(this.chip, text.trim() ? NAMES[kind] : "");
    fill(this.runButton, VERBS[kind]);
  }

  private async check(text: string): Promise<import("../api").Diagnostic[]> {
    const kind = kindOfText(text);
    return (await api.check(kind === "goal" ? text.replace(/\.\s*$/, "") : text, kind === "update" ? "sparql" : kind)).diagnostics;
  }

  // Predicates

  private predicates(): HTMLElement {
    const list = h("ul", { class: "plain predicates" }), filter = h("input", { type: "search", placeholder: "Filter predicates", "aria-label": "Filter predicates" });
    const title = h("span", {});
    const show = (): void => {
      const wanted = filter.value.toLowerCase();
      const found = session.predicates.filter((one) => one.label.toLowerCase().includes(wanted)).sort((a, b) => a.label.localeCompare(b.label));
      fill(title, `Predicates (${count(session.predicates.length)})`);
      fill(list, found.slice(0, 500).map((one) => this.predicate(one)), found.length > 500 && h("li", { class: "dim" }, `${count(found.length - 500)} more: filter`));
    };
    filter.addEventListener("input", show);
    const wide = matchMedia("(min-width: 900px)").matches;
    const box = h("details", { class: "sidebar", open: wide }, h("summary", {}, title), filter, list);
    show();
    follow(box, show);
    return box;
  }

  private predicate(one: Predicate): HTMLElement {
    const kind = one.derived ? (one.explicit ? "both" : "derived") : "explicit";
    const about = `${one.name}/${one.arity}: ${counted(one.explicit, "explicit fact")}, ${count(one.derived)} derived`;
    return h("li", { class: one.facts ? null : "empty" }, button([h("span", { class: `dot ${kind}`, "aria-hidden": "true" }), h("code", {}, one.label), h("span", { class: "number" }, count(one.facts))],
      () => this.show(goalFor(one)), { class: "predicate-row", title: about }));
  }

  private show(text: string): void {
    this.editor.setText(text);
    void this.run();
  }

  // Running

  private async run(): Promise<void> {
    const text = this.editor.text();
    if (!text.trim()) return this.editor.focus();
    this.running?.abort();
    const running = (this.running = new AbortController());
    history.replaceState(null, "", `#/query?q=${encodeURIComponent(text)}`);
    this.runButton.setAttribute("aria-busy", "true");
    const stop = setTimeout(() => fill(this.results, h("p", { class: "quiet", role: "status" }, "Running … ", button("Stop", () => running.abort()))), 250);
    const shown = await this.outcome(text, running.signal);
    clearTimeout(stop);
    if (this.running !== running) return;
    this.runButton.removeAttribute("aria-busy");
    fill(this.stale);
    fill(this.results, shown);
  }

  private async outcome(text: string, signal: AbortSignal): Promise<Node> {
    try {
      const before = this.answer;
      this.answer = await run(text, signal);
      remember(text, this.answer.form === "table" ? this.answer.rows.length : null);
      return this.answerView(this.answer, before);
    } catch (error) {
      if (signal.aborted) return note("info", "Stopped.");
      if (error instanceof ApiError && error.diagnostics.length) this.editor.show(error.diagnostics);
      return errorBox(error, () => void this.run());
    }
  }

  private answerView(answer: Answer, before: Answer | null): Node {
    if (answer.form === "truth") return this.truth(answer);
    if (answer.form === "preview") return this.preview(answer);
    const rows = this.following.checked && before?.form === "table" && before.text === answer.text ? compared(before, answer) : answer.rows.map((cells) => ({ cells }));
    return this.table(answer, rows);
  }

  private truth(answer: Truth): HTMLElement {
    const fact = kindOfText(answer.text) === "goal" ? goalOf(answer.text) : null;
    return h("div", { class: "card padded" },
      h("p", { class: `verdict ${answer.holds ? "yes" : "no"}` }, answer.holds ? "Yes" : "No", h("span", { class: "dim" }, ` version ${answer.version} · ${seconds(answer.seconds)}`)),
      fact && !/\),|\],/.test(fact) && explanationView({ fact }));
  }

  private preview(answer: Preview): HTMLElement {
    const why = whyReadonly();
    const apply = button("Apply", () => void this.apply(answer), { class: "primary", disabled: why !== null, title: why });
    return h("div", { class: "card padded" }, h("h3", {}, "What it would change"),
      answer.difference ? differenceView(answer.difference) : h("p", {}, "The server does not preview SPARQL updates. Nothing has been changed yet."),
      h("div", { class: "row" }, apply, why && h("span", { class: "dim" }, why)));
  }

  private async apply({ kind, text, difference }: Preview): Promise<void> {
    await load(this.results, async () => {
      const made = kind === "rules" ? await api.update({ add_rules: text, expect: difference?.version }, false) : await api.sparqlUpdate(text, false);
      if (made) changed(made);
      return h("div", { class: "card padded" }, note("good", `Done${made ? `: version ${made.version}` : ""}.`), made && differenceView(made));
    });
  }

  // Answers

  private table(answer: Table, rows: Row[]): HTMLElement {
    const total = answer.total ?? answer.rows.length;
    const facts = h("p", { class: "summary", role: "status" }, h("strong", {}, counted(total, answer.triples ? "triple" : "answer")),
      h("span", { class: "dim" }, [` · ${seconds(answer.seconds)}`, answer.version !== null && ` · version ${answer.version}`, ...answer.remarks.map((one) => one && ` · ${one}`)].filter(Boolean).join("")));
    const cut = answer.cutOff && note("warn", h("strong", {}, "Not all answers are here. "), `${count(answer.rows.length)} of ${answer.total === null ? "more" : count(total)} rows: ${answer.cutOff}. Sorting and downloads are of these rows.`);
    const panels = [{ name: "Table", make: () => this.rows(answer, rows) }, { name: "Graph", make: () => this.graph(answer) }];
    if (answer.kind === "goal") panels.push({ name: "Plan", make: () => this.plan(answer) });
    return h("div", { class: "card" }, facts, cut, answer.rows.length || rows.length ? tabs("Results", panels) : h("p", { class: "quiet" }, "No answers. ", h("a", { href: "#/why" }, "Ask why a fact does not hold.")));
  }

  private rows(answer: Table, rows: Row[]): HTMLElement {
    const name = answer.kind === "goal" ? (/^[^([]+/.exec(goalOf(answer.text))?.[0].replace(/\W+/g, "") || "answers") : "answers";
    return resultTable({ columns: answer.columns, rows, name, why: (row) => void this.why(answer, row.cells), explore: (value) => void explore(value) });
  }

  private async why(answer: Table, cells: Cell[]): Promise<void> {
    try {
      const [facts] = await factsOf(answer, [cells]);
      if (facts?.length) showProofs(facts);
      else showPanel("Why?", note("info", "This row rests on no single facts: it is computed from a group, a path or a filter over all of them."));
    } catch (error) {
      showPanel("Why?", errorBox(error));
    }
  }

  private graph(answer: Table): HTMLElement {
    const element = h("div", { class: "graph-panel" });
    void load(element, async () => {
      const { Walk } = await import("../walk");
      const facts = readable(await factsOf(answer, answer.rows.slice(0, GRAPH_ROWS)));
      const walk = new Walk({ why: (fact) => showProofs([fact]) });
      setTimeout(() => walk.add(facts.flat()));
      const about = answer.rows.length > facts.length && h("p", { class: "dim inset" }, `The facts of the first ${facts.length} of ${count(answer.rows.length)} rows.`);
      return h("div", {}, about, walk.element);
    });
    return element;
  }

  private plan(answer: Table): HTMLElement {
    const element = h("div", { class: "inset" });
    void load(element, async () => {
      const found = await api.plan(goalOf(answer.text));
      return h("div", {}, h("p", {}, h("strong", {}, found.method ?? ""), h("span", { class: "dim" }, ` ${found.reason ?? ""}`)), h("pre", { class: "plan" }, found.text));
    });
    return element;
  }

  // Around it

  private versionChanged(): void {
    if (!this.answer || this.answer.form === "preview" || this.answer.version === null || session.version === null) return;
    if (session.version <= this.answer.version) return;
    if (this.following.checked) void this.run();
    else fill(this.stale, note("info", `The knowledge base has changed: these are answers of version ${this.answer.version}, and it is at ${session.version}. `, button("Run again", () => void this.run(), { class: "small" })));
  }

  private history(): void {
    const entries = past();
    const list = h("ul", { class: "plain history" }, entries.map((one) => h("li", {}, button([h("code", {}, one.text), h("span", { class: "dim" }, `${new Date(one.time).toLocaleString()}${one.rows === null ? "" : ` · ${counted(one.rows, "row")}`}`)], () => { closePanel(); this.show(one.text); }, { class: "past" }))));
    showPanel("History", entries.length ? list : h("p", { class: "quiet" }, "Nothing has been run yet in this browser."),
      button("Forget all", () => { forget(); closePanel(); }, { class: "small", disabled: !entries.length }));
  }

  private async share(): Promise<void> {
    history.replaceState(null, "", `#/query?q=${encodeURIComponent(this.editor.text())}`);
    try {
      await navigator.clipboard.writeText(location.href);
      toast("Copied a link to this query");
    } catch {
      showPanel("Share", h("p", {}, "Copy this link:"), h("textarea", { readonly: true, rows: 4, value: location.href }));
    }
  }

  private welcome(): HTMLElement {
    const element = h("div", { class: "welcome" });
    const show = (): void => {
      const facts = session.predicates.reduce((sum, one) => sum + one.facts, 0), derived = session.predicates.reduce((sum, one) => sum + one.derived, 0);
      const busiest = [...session.predicates].filter((one) => one.facts).sort((a, b) => b.derived - a.derived || b.facts - a.facts).slice(0, 4);
      fill(element, h("dl", { class: "figures" }, figure(count(facts), "facts"), figure(count(derived), "of them derived"), figure(count(session.predicates.length), "predicates"), figure(session.version === null ? "–" : count(session.version), "version")),
        busiest.length > 0 && h("p", { class: "dim" }, "Begin with one of these:"),
        h("ul", { class: "plain examples" }, busiest.map((one) => h("li", {}, button(h("code", {}, goalFor(one)), () => this.show(goalFor(one)), { class: "link" })))));
    };
    show();
    follow(element, show);
    if (!session.predicates.length) void loadPredicates().catch((error) => fill(element, errorBox(error)));
    return element;
  }
}

const figure = (value: string, name: string): HTMLElement => h("div", {}, h("dt", {}, name), h("dd", {}, value));

function goalFor({ name, arity }: Predicate): string {
  const names = ["?x", "?y", "?z", "?u", "?v", "?w"];
  return `${predicateText(name)}(${Array.from({ length: arity }, (_, i) => names[i] ?? `?x${i + 1}`).join(", ")})`;
}

/** The rows of an answer, marked by what an earlier one had; rows that are gone come first. */
function compared(before: Table, now: Table): Row[] {
  const old = new Set(before.rows.map((row) => JSON.stringify(row))), present = new Set(now.rows.map((row) => JSON.stringify(row)));
  const gone = before.rows.filter((row) => !present.has(JSON.stringify(row))).map((cells): Row => ({ cells, mark: "removed" }));
  const rows = now.rows.map((cells): Row => (old.has(JSON.stringify(cells)) ? { cells } : { cells, mark: "added" }));
  return [...gone, ...rows.filter((row) => row.mark), ...rows.filter((row) => !row.mark)];
}

/** The facts that rows rest on: of triples, themselves; of others, as the server finds them. */
async function factsOf(answer: Table, rows: Cell[][]): Promise<Fact[][]> {
  if (answer.triples) return rows.map(([s, p, o]) => [tripleFact(s!, p!, o!)].filter((fact) => fact !== null));
  const asked = answer.kind === "goal" ? { goal: goalOf(answer.text) } : { sparql: answer.text };
  const bound = rows.map((cells) => Object.fromEntries(answer.columns.map((name, i) => [name, cells[i]]).filter(([, value]) => value !== null && value !== undefined)));
  return (await api.support(asked, bound as Record<string, Value>[])).facts;
}

/** The facts of the first rows, as many as have a readable number of values. */
function readable(rows: Fact[][]): Fact[][] {
  const seen = new Set<string>();
  const end = rows.findIndex((facts) => {
    for (const { values } of facts) for (const value of values) seen.add(JSON.stringify(value));
    return seen.size > GRAPH_VALUES;
  });
  return end === -1 ? rows : rows.slice(0, Math.max(1, end));
}

async function explore(value: Cell): Promise<void> {
  if (value === null || getSelection()?.toString()) return;
  const { Walk } = await import("../walk");
  const walk = new Walk({ why: (fact) => showProofs([fact]) });
  showPanel("Neighbours", walk.element);
  await walk.start(value);
}

