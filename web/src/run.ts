// Runs what is in the editor, whatever it is, and gives the answer in one form.

import { api, type Difference, type Failure } from "./api";
import { kindOfText, type TextKind } from "./language";
import { parseTriples } from "./ntriples";
import { fromSparql, type Cell } from "./values";

export const ROWS = 10_000; // that a page holds at most

export interface Table {
  form: "table"; kind: TextKind; text: string; columns: string[]; rows: Cell[][]; version: number | null;
  total: number | null; cutOff: string | null; triples: boolean; remarks: string[]; seconds: number;
}
export interface Truth { form: "truth"; text: string; holds: boolean; version: number | null; seconds: number }
export interface Preview { form: "preview"; kind: "rules" | "update"; text: string; difference: Difference | null }
export type Answer = Table | Truth | Preview;

export function run(text: string, signal: AbortSignal): Promise<Answer> {
  const kind = kindOfText(text);
  if (kind === "goal") return runGoal(text, signal);
  if (kind === "sparql") return runSparql(text, signal);
  return preview(kind, text);
}

/** A goal without the dot that a statement ends with. */
export const goalOf = (text: string): string => text.trim().replace(/\s*\.$/, "");

async function runGoal(text: string, signal: AbortSignal): Promise<Answer> {
  const found = await api.query(goalOf(text), ROWS, signal);
  const { version, columns, rows, seconds } = found;
  if (!columns.length) return { form: "truth", text, holds: found.total > 0, version, seconds };
  const cutOff = found.complete ? null : (rows.length >= ROWS ? `the page holds at most ${ROWS.toLocaleString("en")} rows` : (found.cut_off ?? "the server left some out"));
  const remarks = [`method: ${found.method}`, found.reason, ...failures(found.failures ?? [])];
  return { form: "table", kind: "goal", text, columns, rows, version, total: found.total, cutOff, triples: false, remarks, seconds };
}

/** The expressions that failed: rows may be missing because of them. */
const failures = (failed: Failure[]): string[] =>
  failed.map(({ count, expression, rule, reason }) => `${count.toLocaleString("en")} × ${expression}${rule.id ? ` of rule ${rule.id}` : ""} failed: ${reason}; rows may be missing`);

const JSON_RESULTS = "application/sparql-results+json", N_TRIPLES = "application/n-triples";

async function runSparql(text: string, signal: AbortSignal): Promise<Answer> {
  const found = await api.sparql(text, `${JSON_RESULTS}, ${N_TRIPLES};q=0.9, application/json;q=0.5`, signal);
  const { version, seconds } = found;
  const table = { form: "table", kind: "sparql", text, version, total: null, cutOff: found.cutOff, remarks: [], seconds } as const;
  if (!found.type.includes("json")) {
    return { ...table, remarks: [], columns: ["subject", "predicate", "object"], rows: parseTriples(found.text), triples: true };
  }
  const results = JSON.parse(found.text);
  if (typeof results.boolean === "boolean") return { form: "truth", text, holds: results.boolean, version, seconds };
  const columns = results.head.vars as string[];
  const rows = results.results.bindings.map((row: Record<string, never>) => columns.map((name) => fromSparql(row[name])));
  return { ...table, remarks: [], columns, rows, triples: false };
}

/** Rules and updates are shown as the difference that they would make. */
async function preview(kind: "rules" | "update", text: string): Promise<Preview> {
  if (kind === "rules") return { form: "preview", kind, text, difference: await api.update({ add_rules: text }, true) };
  return { form: "preview", kind, text, difference: (await api.previewsUpdates()) ? await api.sparqlUpdate(text, true) : null };
}
