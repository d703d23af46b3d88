// A change of facts and rules: written, previewed, applied; and the changes that others make, as they happen.

import { ApiError, api, type Change, type Difference } from "../api";
import { badge, differenceView } from "../difference";
import { button, count, fill, h, seconds } from "../dom";
import { clearDraft, readDraft, writeDraft } from "../draft";
import { createEditor, type Editor } from "../editor";
import { FactError, byPredicate, checkFacts, parseFacts } from "../facts";
import { errorBox, note } from "../message";
import { changed, follow, session, whyReadonly } from "../session";

export function changeView(parameters: URLSearchParams): HTMLElement {
  return new ChangeView(parameters.has("preview")).element;
}

class ChangeView {
  readonly element: HTMLElement;
  private readonly add = this.facts("Facts to add", "add", "edge(a, b).  :knows[:kim, :lee] .");
  private readonly remove = this.facts("Facts to remove", "remove", "edge(b, c).");
  private readonly rules = createEditor({
    label: "Rules to add", hint: "path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .", text: readDraft().rules, run: () => void this.preview(),
    changed: (rules) => writeDraft({ ...readDraft(), rules }), check: async (text) => (await api.check(text, "rules")).diagnostics,
  });
  private readonly gone = h("div", { class: "row wrap" });
  private readonly outcome = h("section", { "aria-label": "Difference", "aria-live": "polite" });
  private readonly why = whyReadonly();

  constructor(previewNow: boolean) {
    const buttons = h("div", { class: "row" }, button("Preview", () => void this.preview(), { class: "primary", title: "Ctrl+Enter: shows the difference, and changes nothing" }),
      button("Apply", () => void this.apply(undefined), { disabled: this.why !== null, title: this.why }), button("Clear", () => this.clear()));
    const form = h("div", { class: "column" }, h("h1", {}, "Change facts and rules"), this.why && note("warn", this.why, " A preview is still possible."),
      field("Add facts", this.add), field("Remove facts", this.remove), field("Add rules", this.rules), h("div", { class: "field" }, h("h3", {}, "Remove rules"), this.gone), buttons, this.outcome);
    this.element = h("div", { class: "change-view" }, form, liveFeed());
    this.showGone();
    if (previewNow) queueMicrotask(() => void this.preview());
  }

  private facts(label: string, part: "add" | "remove", hint: string): Editor {
    return createEditor({ label, hint, text: readDraft()[part], run: () => void this.preview(), changed: (text) => writeDraft({ ...readDraft(), [part]: text }), check: checkFacts });
  }

  private showGone(): void {
    const ids = readDraft().removeRules;
    const drop = (id: string) => () => { writeDraft({ ...readDraft(), removeRules: ids.filter((one) => one !== id) }); this.showGone(); };
    fill(this.gone, ids.map((id) => h("span", { class: "chip" }, id, button("✕", drop(id), { class: "plain", "aria-label": `Keep ${id}` }))),
      !ids.length && h("span", { class: "dim" }, "none; choose them ", h("a", { href: "#/rules" }, "among the rules")));
  }

  private change(): Change {
    const arities = new Map<string, number>();
    for (const one of session.predicates) arities.set(one.name.replace(/\/\d+$/, ""), (arities.get(one.name.replace(/\/\d+$/, "")) ?? 0) + 1);
    const rules = this.rules.text().trim(), gone = readDraft().removeRules;
    return {
      add: byPredicate(parseFacts(this.add.text()), arities), remove: byPredicate(parseFacts(this.remove.text()), arities),
      ...(rules && { add_rules: rules }), ...(gone.length && { remove_rules: gone }),
    };
  }

  private async preview(): Promise<void> {
    await this.send(async (change) => {
      if (isEmpty(change)) return note("info", "There is nothing to change yet: write a fact or a rule, or choose a rule to remove.");
      const found = await api.update(change, true);
      const apply = button("Apply this", () => void this.apply(found.version), { class: "primary", disabled: this.why !== null, title: this.why });
      return h("div", { class: "card padded preview" }, h("h3", {}, "Before it is made: ", badge(found)), differenceView(found), h("div", { class: "row" }, apply, took(found)));
    });
  }

  private async apply(expect: number | undefined): Promise<void> {
    await this.send(async (change) => {
      if (isEmpty(change)) return note("info", "There is nothing to change yet.");
      const made = await api.update({ ...change, ...(expect !== undefined && { expect }) }, false);
      changed(made);
      this.clear();
      return h("div", { class: "card padded applied" }, note("good", `Version ${made.version} is made${made.durable ? " and durable" : ""}.`), h("h3", {}, "What it did: ", badge(made)), differenceView(made), took(made));
    });
  }

  private async send(make: (change: Change) => Promise<Node>): Promise<void> {
    try {
      fill(this.outcome, await make(this.change()));
    } catch (error) {
      const readable = error instanceof FactError ? new ApiError(0, "syntax", `A fact: ${error.message}`) : error;
      fill(this.outcome, errorBox(readable, () => void this.preview()));
    }
  }

  private clear(): void {
    clearDraft();
    for (const editor of [this.add, this.remove, this.rules]) editor.setText("");
    this.showGone();
    fill(this.outcome);
  }
}

const field = (title: string, editor: Editor): HTMLElement => h("div", { class: "field" }, h("h3", {}, title), h("div", { class: "card editor-card short" }, editor.element));

const took = (difference: Difference): HTMLElement | false => difference.seconds !== undefined && h("span", { class: "dim" }, `in ${seconds(difference.seconds)}`);

const isEmpty = ({ add, remove, add_rules, remove_rules }: Change): boolean =>
  !Object.keys(add ?? {}).length && !Object.keys(remove ?? {}).length && !add_rules && !remove_rules?.length;

/** What updates did while the page is open, whoever made them. */
function liveFeed(): HTMLElement {
  const list = h("ol", { class: "plain feed", reversed: true });
  const state = h("p", { class: "dim" });
  const open = new Set<number>();
  const show = (): void => {
    fill(state, session.live ? "Connected: changes appear here as they are made." : "Not connected; trying again.");
    fill(list, session.changes.map((one, i) => {
      const shown = h("details", { open: i === 0 || open.has(one.version) }, h("summary", {}, `version ${count(one.version)} `, badge(one)), differenceView(one));
      shown.addEventListener("toggle", () => (shown.open ? open.add(one.version) : open.delete(one.version)));
      return h("li", {}, shown);
    }), !session.changes.length && h("li", { class: "dim" }, "No change since this page was opened."));
  };
  const feed = h("section", { class: "card padded live", "aria-label": "Changes as they happen", "aria-live": "polite" }, h("h2", {}, "Live"), state, list);
  show();
  follow(feed, show);
  return feed;
}

