// The change that is being written, kept until it is applied; other views add to it.

export interface Draft { add: string; remove: string; rules: string; removeRules: string[] }

const KEY = "deltalog-draft";
const EMPTY: Draft = { add: "", remove: "", rules: "", removeRules: [] };

export function readDraft(): Draft {
  try {
    return { ...EMPTY, ...JSON.parse(sessionStorage.getItem(KEY) ?? "{}") };
  } catch {
    return { ...EMPTY };
  }
}

export function writeDraft(draft: Draft): void {
  sessionStorage.setItem(KEY, JSON.stringify(draft));
}

export const clearDraft = (): void => sessionStorage.removeItem(KEY);

/** Adds to the change, and goes there. */
export function addToDraft(more: Partial<Draft>): void {
  const draft = readDraft();
  const both = (old: string, text?: string): string =>
    !text || old.split("\n").includes(text) ? old : [old.trimEnd(), text].filter(Boolean).join("\n");
  writeDraft({
    add: both(draft.add, more.add), remove: both(draft.remove, more.remove), rules: both(draft.rules, more.rules),
    removeRules: [...new Set([...draft.removeRules, ...(more.removeRules ?? [])])],
  });
  if (location.hash.startsWith("#/change")) window.dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = "#/change?preview";
}
