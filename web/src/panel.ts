// The panel at the side: proofs, next to what they are about.

import { button, h } from "./dom";
import { explanationView } from "./proof";
import { factText, type Fact } from "./values";

let open: { element: HTMLElement; back: Element | null } | null = null;

export function showPanel(title: string, ...content: Node[]): void {
  const back = open?.back ?? document.activeElement;
  closePanel(false);
  const close = button("✕", () => closePanel(), { class: "plain", "aria-label": "Close (Escape)" });
  const element = h("aside", { class: "panel", role: "dialog", "aria-label": title }, h("div", { class: "panel-head" }, h("h2", {}, title), close), h("div", { class: "panel-body" }, content));
  open = { element, back };
  document.body.append(element);
  document.body.classList.add("with-panel");
  close.focus();
}

export function closePanel(restore = true): void {
  open?.element.remove();
  document.body.classList.remove("with-panel");
  if (restore && open?.back instanceof HTMLElement) open.back.focus();
  open = null;
}

export const panelIsOpen = (): boolean => open !== null;

/** The proofs of facts, each unfolded when it is the only one. */
export function showProofs(facts: Fact[], title = "Why?"): void {
  if (facts.length === 1) return showPanel(title, explanationView(facts[0]), link(facts[0]));
  const about = h("p", { class: "dim" }, "This row rests on these facts. Unfold one for its proof.");
  showPanel(title, about, ...facts.map(folded));
}

function folded(fact: Fact): HTMLElement {
  const details = h("details", { class: "fold" }, h("summary", {}, h("code", {}, factText(fact))));
  details.addEventListener("toggle", () => details.open && details.childElementCount === 1 && details.append(explanationView(fact), link(fact)));
  return details;
}

const link = (fact: Fact): HTMLElement =>
  h("p", {}, h("a", { href: `#/why?fact=${encodeURIComponent(factText(fact))}` }, "Open on its own"));
