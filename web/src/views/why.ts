// Why a fact holds, or does not.

import { api } from "../api";
import { button, fill, h } from "../dom";
import { createEditor } from "../editor";
import { explanationView } from "../proof";

const goalText = (text: string): string => text.trim().replace(/\s*\.$/, "");

export function whyView(parameters: URLSearchParams): HTMLElement {
  const answer = h("section", { class: "answer", "aria-label": "Explanation" });
  const ask = (): void => {
    const fact = goalText(editor.text());
    if (!fact) return editor.focus();
    history.replaceState(null, "", `#/why?fact=${encodeURIComponent(fact)}`);
    fill(answer, h("div", { class: "card padded" }, explanationView({ fact })));
  };
  const editor = createEditor({
    label: "A fact", hint: "path(a, d)   or   :knows[:kim, :lee]", text: parameters.get("fact") ?? "", run: ask,
    check: async (text) => (await api.check(goalText(text), "goal")).diagnostics,
  });
  if (parameters.get("fact")) queueMicrotask(ask);
  setTimeout(() => editor.focus());
  return h("div", { class: "column" }, h("h1", {}, "Why, and why not"),
    h("p", { class: "dim" }, "A fact that holds has a proof. For one that does not, every rule that could derive it says what is missing."),
    h("div", { class: "card editor-card short" }, editor.element, h("div", { class: "toolbar row" }, button("Explain", ask, { class: "primary", title: "Ctrl+Enter" }))), answer);
}
