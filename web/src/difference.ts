// What a change adds and removes: rules, then facts by predicate.

import type { Difference, Side } from "./api";
import { count, counted, h } from "./dom";
import { factText, termText, type Value } from "./values";
import { predicateView } from "./value_view";

const SHOWN = 12;

export function size(difference: Difference): { added: number; removed: number; rules: number } {
  const sum = (side: Side): number => Object.values(side).reduce((total, { count }) => total + count, 0);
  const rules = Object.keys(difference.added_rules ?? {}).length + Object.keys(difference.removed_rules ?? {}).length;
  return { added: sum(difference.added), removed: sum(difference.removed), rules };
}

/** `+3 −1`, with the words for a screen reader. */
export function badge(difference: Difference): HTMLElement {
  const { added, removed, rules } = size(difference);
  return h("span", { class: "delta" },
    h("span", { class: "plus", "aria-label": `${counted(added, "fact")} added` }, `+${count(added)}`), " ",
    h("span", { class: "minus", "aria-label": `${counted(removed, "fact")} removed` }, `−${count(removed)}`),
    rules > 0 && h("span", { class: "dim" }, ` ${counted(rules, "rule")}`));
}

export function differenceView(difference: Difference): HTMLElement {
  const names = [...new Set([...Object.keys(difference.added), ...Object.keys(difference.removed)])].sort();
  const rules = [
    ...Object.entries(difference.removed_rules ?? {}).map(([id, text]) => line("minus", "−", `${text}`, id)),
    ...Object.entries(difference.added_rules ?? {}).map(([id, text]) => line("plus", "+", `${text}`, id)),
  ];
  const quads = quadsPart(difference);
  if (!names.length && !rules.length && !quads) return h("p", { class: "quiet" }, "Nothing changes: every fact and rule is as it was.");
  return h("div", { class: "difference" },
    rules.length > 0 && h("section", {}, h("h4", {}, "Rules"), rules),
    names.map((name) => predicatePart(name, difference)), quads,
    (difference.notes ?? []).map((note) => h("p", { class: "dim" }, note)));
}

/** Triples of named graphs. */
function quadsPart({ added_quads: plus, removed_quads: minus }: Difference): HTMLElement | null {
  if (!plus?.count && !minus?.count) return null;
  const lines = (found: Side[string] | undefined, kind: string, sign: string): HTMLElement[] =>
    (found?.rows ?? []).map((values) => line(kind, sign, quadText(values)));
  return h("details", { open: true },
    h("summary", {}, "named graphs ", h("span", { class: "delta" }, h("span", { class: "plus" }, `+${count(plus?.count ?? 0)} `), h("span", { class: "minus" }, `−${count(minus?.count ?? 0)}`))),
    lines(minus, "minus", "−"), lines(plus, "plus", "+"));
}

function predicatePart(name: string, { added, removed }: Difference): HTMLElement {
  const [plus, minus] = [added[name], removed[name]];
  return h("details", { open: true },
    h("summary", {}, predicateView(name), " ",
      h("span", { class: "delta" },
        plus && h("span", { class: "plus" }, `+${count(plus.count)} `), minus && h("span", { class: "minus" }, `−${count(minus.count)}`))),
    minus && side(name, minus, "minus", "−"), plus && side(name, plus, "plus", "+"));
}

function side(predicate: string, found: Side[string], kind: string, sign: string): HTMLElement {
  const rows = found.rows.map((values) => line(kind, sign, factText({ predicate, values })));
  const left = found.count - found.rows.length;
  const first = rows.slice(0, SHOWN), rest = rows.slice(SHOWN);
  return h("div", { class: "side" }, first,
    rest.length > 0 && h("details", {}, h("summary", { class: "dim" }, `${count(rest.length)} more`), rest),
    left > 0 && h("p", { class: "dim" }, `and ${counted(left, "fact")} that the server left out of its answer`));
}

const line = (kind: string, sign: string, text: string, id?: string): HTMLElement =>
  h("div", { class: `diff ${kind}` }, h("span", { class: "sign" }, sign), h("code", {}, text), id && h("span", { class: "dim" }, ` ${id}`));

const quadText = ([graph, ...triple]: Value[]): string => `${termText(graph)} { ${triple.map(termText).join(" ")} }`;
