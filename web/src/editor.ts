// The editor. It lives in a shadow root, where CodeMirror adopts constructed style sheets: so the page's content
// security policy needs no exception for inline styles.

import {
  autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type Completion, type CompletionContext, type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { linter, lintKeymap, setDiagnostics, type Diagnostic as Mark } from "@codemirror/lint";
import { EditorState, type Text } from "@codemirror/state";
import { EditorView, drawSelection, highlightSpecialChars, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { api, type Diagnostic } from "./api";
import { h } from "./dom";
import { language } from "./language";

export interface Editor {
  element: HTMLElement;
  text(): string;
  setText(text: string): void;
  focus(): void;
  show(diagnostics: Diagnostic[]): void;
}

export interface EditorOptions {
  label: string;
  hint?: string;
  text?: string;
  run: () => void;
  changed?: (text: string) => void;
  check?: (text: string) => Promise<Diagnostic[]>;
}

const highlighting = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)", fontWeight: "600" },
  { tag: tags.comment, color: "var(--dim)", fontStyle: "italic" },
  { tag: [tags.string, tags.bool], color: "var(--string)" },
  { tag: tags.number, color: "var(--number)" },
  { tag: tags.variableName, color: "var(--variable)" },
  { tag: tags.propertyName, color: "var(--predicate)" },
  { tag: [tags.link, tags.atom], color: "var(--iri)" },
  { tag: [tags.definitionOperator, tags.operator], color: "var(--operator)" },
  { tag: tags.meta, color: "var(--dim)" },
]);

const theme = EditorView.theme({
  "&": { fontSize: "13.5px", backgroundColor: "var(--surface)", color: "var(--text)", maxHeight: "44vh" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", minHeight: "var(--editor-height, 7.5em)" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none", paddingLeft: "4px" },
  ".cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-placeholder": { color: "var(--faint)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "6px", overflow: "hidden" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "16em" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "inherit", opacity: ".65", fontStyle: "normal" },
  ".cm-diagnostic": { padding: "6px 10px", maxWidth: "60em", whiteSpace: "pre-wrap", fontFamily: "var(--sans)" },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--bad)" },
  ".cm-diagnostic-warning": { borderLeft: "4px solid var(--warn)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1.5px", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1.5px", textUnderlineOffset: "3px" },
});

const CHECK_DELAY = 350;

export function createEditor(options: EditorOptions): Editor {
  const element = h("div", { class: "editor" });
  const root = element.attachShadow({ mode: "open" });
  const run = (): boolean => (options.run(), true);
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.text ?? "",
      extensions: [
        keymap.of([{ key: "Ctrl-Enter", mac: "Cmd-Enter", run, preventDefault: true }]),
        lineNumbers(), history(), drawSelection(), highlightSpecialChars(), bracketMatching(), closeBrackets(),
        language, syntaxHighlighting(highlighting), theme, placeholder(options.hint ?? ""), EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": options.label, spellcheck: "false", autocapitalize: "off" }),
        autocompletion({ override: [complete], icons: false, maxRenderedOptions: 60 }),
        linter(async (current) => marks(current.state.doc, await checked(options, current.state.doc.toString())), { delay: CHECK_DELAY }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.changed?.(update.state.doc.toString());
        }),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
      ],
    }),
  });
  return {
    element,
    text: () => view.state.doc.toString(),
    setText: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    focus: () => view.focus(),
    show: (diagnostics) => view.dispatch(setDiagnostics(view.state, marks(view.state.doc, diagnostics))),
  };
}

async function checked(options: EditorOptions, text: string): Promise<Diagnostic[]> {
  if (!options.check || !text.trim()) return [];
  try {
    return await options.check(text);
  } catch {
    return []; // a check is a service; the errors of a run are shown where it runs
  }
}

/** Diagnostics at their places; one without a place is at the first line. */
function marks(doc: Text, diagnostics: Diagnostic[]): Mark[] {
  return diagnostics.map((one) => {
    const from = offset(doc, one.line ?? 1, one.column ?? 1);
    const to = one.end_line ? offset(doc, one.end_line, one.end_column ?? 1) : wordEnd(doc, from);
    const message = one.hint ? `${one.message}\n${one.hint}` : one.message;
    return { from: Math.min(from, doc.length), to: Math.max(from, to), severity: one.severity, message };
  });
}

// Columns count characters; the editor counts UTF-16 units.
function offset(doc: Text, line: number, column: number): number {
  const found = doc.line(Math.max(1, Math.min(line, doc.lines)));
  return found.from + [...found.text].slice(0, column - 1).join("").length;
}

function wordEnd(doc: Text, from: number): number {
  const line = doc.lineAt(Math.min(from, doc.length));
  return from + Math.max(1, /^[\w:?.-]*/.exec(line.text.slice(from - line.from))![0].length);
}

// Completion

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const variable = context.matchBefore(/[?$]\w*/);
  if (variable) return { from: variable.from, options: variables(context.state.doc.toString(), variable.text), validFor: /^[?$]\w*$/ };
  const word = context.matchBefore(/[A-Za-z_:][\w:.-]*/);
  if (!word && !context.explicit) return null;
  const found = await api.complete(word?.text ?? "");
  return {
    from: word?.from ?? context.pos,
    options: [
      ...found.predicates.map(({ label, name, arity }): Completion => ({
        label, type: "property", detail: `/${arity}`, info: label === name ? undefined : name, boost: 2,
      })),
      ...Object.entries(found.prefixes).map(([prefix, iri]): Completion => ({ label: `${prefix}:`, type: "namespace", detail: iri, boost: 1 })),
      ...found.functions.map((label): Completion => ({ label, type: "function" })),
      ...found.keywords.map((label): Completion => ({ label, type: "keyword" })),
    ],
  };
}

function variables(text: string, typing: string): Completion[] {
  const names = new Set(text.match(/[?$]\w+/g) ?? []);
  if (text.split(typing).length < 3) names.delete(typing);
  return [...names].map((label) => ({ label, type: "variable" }));
}
