// Values on the page: coloured by their kind, with the whole of what is shortened as a tooltip.

import { h } from "./dom";
import { factText, kindOf, label, note, predicateText, type Cell, type Fact } from "./values";

const LONGEST = 300;

export function valueView(value: Cell): HTMLElement {
  const kind = kindOf(value), text = label(value), more = kind === "number" ? "" : note(value);
  const whole = value !== null && typeof value === "object" && "iri" in value ? value.iri : text;
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  const type = kind === "number" ? note(value) : more;
  return h("span", { class: `value ${kind}`, title: type ? `${whole} ${type}` : whole },
    shown, more && h("span", { class: "type" }, more));
}

export const factView = (fact: Fact): HTMLElement =>
  h("code", { class: "fact" }, factText(fact));

export const predicateView = (name: string): HTMLElement =>
  h("code", { class: "predicate", title: name }, predicateText(name));
