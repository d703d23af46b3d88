// The versions, newest first; a recent one with what it changed.

import { api, type Version } from "../api";
import { badge, differenceView } from "../difference";
import { button, count, fill, h } from "../dom";
import { errorBox, load } from "../message";
import { follow, session } from "../session";

const PAGE = 100;

export function versionsView(parameters: URLSearchParams): HTMLElement {
  const list = h("div", {});
  let version: number | null = null, most = PAGE;
  const show = (): Promise<void> => load(list, async () => {
    const found = await api.versions(most);
    version = found.version;
    const newest = [...found.versions].sort((a, b) => b.version - a.version);
    const more = button(`Show more of ${count(found.total)}`, () => { most += PAGE; void show(); }, { class: "small" });
    return h("div", {}, h("div", { class: "scroll" }, h("table", { class: "versions" }, h("thead", {}, h("tr", {}, ["Version", "Time", "Facts", "Rules", ""].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, newest.flatMap((one) => rows(one, parameters.get("v") === String(one.version)))))), newest.length < found.total && h("p", { class: "inset" }, more));
  });
  void show();
  follow(list, () => version !== null && session.version !== null && session.version > version && void show());
  return h("div", { class: "column wide" }, h("h1", {}, "Versions"), h("p", { class: "dim" }, "Every change makes a version. The numbers are of explicit facts; a recent version also has the facts that were derived or lost."), h("div", { class: "card" }, list));
}

function rows(one: Version, open: boolean): HTMLElement[] {
  const detail = h("tr", { class: "detail", hidden: true }, h("td", { colspan: 5 }));
  const look = button("Show", () => void toggle(), { class: "small", "aria-expanded": "false", disabled: !one.recent, title: one.recent ? "What it changed" : "This version is no longer kept in memory" });
  const toggle = async (): Promise<void> => {
    detail.hidden = !detail.hidden;
    look.setAttribute("aria-expanded", String(!detail.hidden));
    fill(look, detail.hidden ? "Show" : "Hide");
    if (detail.hidden) return;
    const cell = detail.firstElementChild!;
    try {
      const found = await api.version(one.version);
      fill(cell, h("p", {}, "With derived facts: ", badge(found)), differenceView(found));
    } catch (error) {
      fill(cell, errorBox(error));
    }
  };
  if (open && one.recent) void toggle();
  const pair = (added: number, removed: number): HTMLElement => h("span", { class: "delta" }, h("span", { class: added ? "plus" : "dim" }, `+${count(added)}`), " ", h("span", { class: removed ? "minus" : "dim" }, `−${count(removed)}`));
  const time = one.time ? new Date(one.time).toLocaleString() : "–";
  return [h("tr", {}, h("td", {}, h("strong", {}, count(one.version)), one.version === session.version && h("span", { class: "tag" }, "now")), h("td", { class: "dim" }, time), h("td", {}, pair(one.added_facts, one.removed_facts)), h("td", {}, pair(one.added_rules, one.removed_rules)), h("td", { class: "end" }, look)), detail];
}
