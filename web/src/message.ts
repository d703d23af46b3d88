// Errors and notes, readably: what happened, where, and what to do.

import { ApiError } from "./api";
import { button, h, type Children } from "./dom";

const WHAT_TO_DO: Record<string, string> = {
  token: "This needs a token of the server. Give one with the key in the upper right corner.",
  readonly: "The server was started with --readonly.",
  conflict: "Somebody else has changed the knowledge base since the preview. Preview again, then apply.",
  gone: "This version is no longer kept. Start again from the present one.",
  limit: "Ask for less: a more selective query, or LIMIT. The operator can raise the limit.",
  busy: "Too many requests at this moment. Try again in a few seconds.",
  stopping: "The server is shutting down. Try again when it is back.",
  too_large: "Send it in smaller parts, or load it with the command line.",
  not_supported: "Rewrite the query without this part.",
  unreachable: "Start it again with deltalog serve; this page connects by itself.",
  internal: "This is a defect of deltalog. The log of the server has the details; please report it.",
};
const TITLES: Record<string, string> = {
  syntax: "Not valid", usage: "Not possible", data: "Not possible", token: "A token is needed", readonly: "Read-only",
  conflict: "Changed in the meantime", gone: "No longer kept", limit: "Cut off by a limit", busy: "The server is busy",
  stopping: "The server is stopping", not_supported: "Not supported", unreachable: "No connection", internal: "Internal error",
};

export function errorBox(error: unknown, retry?: () => void): HTMLElement {
  const found = error instanceof ApiError ? error : new ApiError(0, "page", String((error as Error)?.message ?? error));
  const again = retry && /^(busy|unreachable|stopping|conflict|gone)$/.test(found.code);
  const shown = found.diagnostics.filter((one) => !found.message.includes(one.message));
  return h("div", { class: "note bad", role: "alert" },
    h("strong", {}, TITLES[found.code] ?? "Error"),
    h("pre", { class: "message" }, found.message),
    shown.length > 0 && h("ul", {}, shown.map((one) => h("li", {}, one.line && `line ${one.line}, column ${one.column}: `, one.message, one.hint && ` ${one.hint}`))),
    WHAT_TO_DO[found.code] && h("p", {}, WHAT_TO_DO[found.code], found.limit && ` (limit: ${found.limit})`),
    again && button("Try again", retry));
}

export const note = (kind: "info" | "warn" | "good" | "bad", ...children: Children[]): HTMLElement =>
  h("div", { class: `note ${kind}`, role: "status" }, children);

export const loading = (what = "Loading …"): HTMLElement => h("p", { class: "quiet", role: "status" }, what);

/** Shows what a promise gives in an element, or why it gives nothing. */
export async function load(into: HTMLElement, make: () => Promise<Node>): Promise<void> {
  const ticket = String(Math.random());
  into.dataset.ticket = ticket;
  const timer = setTimeout(() => into.dataset.ticket === ticket && into.replaceChildren(loading()), 150);
  let shown: Node;
  try {
    shown = await make();
  } catch (error) {
    shown = errorBox(error, () => void load(into, make));
  }
  clearTimeout(timer);
  if (into.dataset.ticket === ticket) into.replaceChildren(shown);
}

/** A short message that goes away by itself. */
export function toast(...children: Children[]): void {
  const shown = h("div", { class: "toast", role: "status" }, children);
  document.body.append(shown);
  setTimeout(() => shown.remove(), 3500);
}
