// The page: its bar, its views by the hash of the address, its shortcuts.

import { onToken, token } from "./api";
import { badge } from "./difference";
import { button, fill, h } from "./dom";
import { errorBox, toast } from "./message";
import { closePanel, panelIsOpen, showPanel } from "./panel";
import { follow, followChanges, loadHealth, loadPredicates, session } from "./session";
import { askForToken } from "./token_dialog";

type View = (parameters: URLSearchParams) => HTMLElement;

const VIEWS: { path: string; name: string; load: () => Promise<View> }[] = [
  { path: "query", name: "Query", load: async () => (await import("./views/query")).queryView },
  { path: "rules", name: "Rules", load: async () => (await import("./views/rules")).rulesView },
  { path: "why", name: "Why", load: async () => (await import("./views/why")).whyView },
  { path: "change", name: "Change", load: async () => (await import("./views/change")).changeView },
  { path: "versions", name: "Versions", load: async () => (await import("./views/versions")).versionsView },
];
const main = document.getElementById("main")!;

function route(): { view: (typeof VIEWS)[number]; parameters: URLSearchParams } {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { view: VIEWS.find((one) => one.path === path) ?? VIEWS[0], parameters: new URLSearchParams(query?.replaceAll("+", "%2B") ?? "") };
}

async function show(): Promise<void> {
  if (location.hash === "#main") return;
  const { view, parameters } = route();
  document.querySelectorAll("nav a").forEach((link) => (link.getAttribute("href") === `#/${view.path}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current")));
  document.title = `${view.name} – deltalog`;
  if (panelIsOpen()) closePanel(false);
  main.className = `view-${view.path}`;
  const [make] = await Promise.all([view.load(), rights]);
  if (route().view === view) fill(main, make(parameters));
}

// The bar

function bar(): void {
  const nav = h("nav", { "aria-label": "Views" }, VIEWS.map(({ path, name }, i) => h("a", { href: `#/${path}`, title: `${name} (Alt+${i + 1})` }, name)));
  const state = h("div", { class: "state" });
  document.getElementById("bar")!.append(nav, h("span", { class: "grow" }), state);
  let seen = session.changes[0];
  const update = (): void => {
    fill(state, session.health.readonly && h("span", { class: "tag", title: "Started with --readonly" }, "read-only"),
      session.health.token && button(token.get() ? "Token ✓" : "Token", () => void askForToken(false).then(update), { class: "small", title: "The token of this server, for this tab" }),
      session.version !== null && h("a", { class: `version ${session.live ? "live" : ""}`, href: "#/versions", title: session.live ? "Connected: changes are shown as they are made" : "Not connected" }, h("span", { class: "pulse", "aria-hidden": "true" }), `version ${session.version}`, h("span", { class: "hidden" }, session.live ? ", live" : ", not connected")),
      button("?", shortcuts, { class: "small round", "aria-label": "Keyboard shortcuts" }));
    if (session.changes[0] !== seen && session.changes[0]) {
      seen = session.changes[0];
      toast("version ", seen.version, " ", badge(seen));
    }
  };
  update();
  follow(state, update);
}

// Keys

const KEYS: [string, string][] = [
  ["Ctrl+Enter", "run, explain or preview what is in the editor"], ["Alt+1 … Alt+5", "the views"], ["Escape", "close the panel; in the editor, then Tab leaves it"],
  ["Ctrl+Space", "complete"], ["Arrow keys", "in a table: cells; in a proof: lines, unfold and fold"], ["Enter", "on a cell or a node: its neighbours"], ["w", "on a cell: why this row"], ["?", "this list"],
];

function shortcuts(): void {
  showPanel("Keyboard", h("dl", { class: "keys" }, KEYS.map(([keys, what]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what)])));
}

function keys(event: KeyboardEvent): void {
  const typing = (event.composedPath()[0] as Element)?.closest?.("input, textarea, [contenteditable]");
  if (event.key === "Escape" && panelIsOpen()) closePanel();
  else if (event.altKey && !event.ctrlKey && !event.metaKey && VIEWS[Number(event.key) - 1]) {
    event.preventDefault();
    location.hash = `#/${VIEWS[Number(event.key) - 1].path}`;
  } else if (event.key === "?" && !typing) shortcuts();
}

onToken(askForToken);
bar();
addEventListener("hashchange", () => void show());
addEventListener("keydown", keys);
const rights = loadHealth().catch(() => undefined); // what may be done here: views ask when they are made
void show().catch((error) => fill(main, errorBox(error)));
void loadPredicates().catch((error) => main.prepend(errorBox(error, () => location.reload()))).finally(() => void followChanges());
