// Requests to the server that this page came from: the token, errors as exceptions, and streams of events.

import type { Cell, Fact, Value } from "./values";

export interface Diagnostic {
  severity: "error" | "warning"; message: string; hint: string | null;
  line: number | null; column: number | null; end_line: number | null; end_column: number | null;
}
export interface Health { readonly?: boolean; token?: boolean; version?: number }
export interface Predicate { name: string; label: string; arity: number; facts: number; explicit: number; derived: number }
export interface Predicates { version: number; prefixes: Record<string, string>; predicates: Predicate[] }
export interface Answers {
  version: number; columns: string[]; rows: Cell[][]; total: number; complete: boolean; cut_off?: string;
  method: string; reason: string; seconds: number; failures?: Failure[];
}
export interface Failure { rule: { id: string; text: string }; place: string; expression: string; reason: string; count: number }
export interface Rule {
  id: string; text: string; heads: string[]; reads: string[]; file: string | null; line: number | null; column: number | null;
  hyper_node: number | null; stratum: number | null; recursive: boolean; scheme: string | null;
}
export interface HyperNode {
  id: number; stratum: number; recursive: boolean; predicates: string[]; rules: string[]; schemes: string[];
  facts: number | null; new: number | null; rounds: number | null; seconds: number | null;
}
export interface RuleEdge { from: number; to: number; kind: "positive" | "negative" | "aggregate" }
export interface RuleGraph { version: number; nodes: HyperNode[]; edges: RuleEdge[] }
export interface Plan {
  version: number; text: string; method?: string; reason?: string; seconds?: number;
  nodes?: { id: number; text: string; facts: number | null; new: number | null; rounds: number | null; seconds: number | null }[];
}
export interface Side { [predicate: string]: { count: number; rows: Value[][]; complete: boolean } }
export interface Difference {
  version: number; dry_run?: boolean; durable?: boolean; seconds?: number; added: Side; removed: Side;
  added_rules?: Record<string, string>; removed_rules?: Record<string, string>; time?: string;
  added_quads?: Side[string]; removed_quads?: Side[string]; notes?: string[]; failures?: Failure[]; // quads: of named graphs
}
export interface Change {
  add?: Record<string, Value[][]>; remove?: Record<string, Value[][]>; add_rules?: string; remove_rules?: string[]; expect?: number;
}
export interface Version {
  version: number; time: string | null; added_facts: number; removed_facts: number; added_rules: number; removed_rules: number;
  recent: boolean;
}
export interface Neighbours {
  version: number; groups: { predicate: string; label: string; position: number; total: number; rows: Value[][] }[];
}
export interface Completions {
  predicates: { name: string; label: string; arity: number }[]; prefixes: Record<string, string>;
  functions: string[]; keywords: string[];
}

/** What the server answered instead of a result, or why it did not answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number, readonly code: string, message: string,
    readonly diagnostics: Diagnostic[] = [], readonly limit: string | null = null,
  ) {
    super(message);
  }
}

const TOKEN = "deltalog-token";
export const token = {
  get: (): string | null => sessionStorage.getItem(TOKEN),
  set: (text: string): void => sessionStorage.setItem(TOKEN, text),
  clear: (): void => sessionStorage.removeItem(TOKEN),
};

/** Asks the user for a token; set by the page. False: the user has none. */
let askForToken: (wrong: boolean) => Promise<boolean> = async () => false;
export function onToken(ask: typeof askForToken): void {
  askForToken = ask;
}

function headersOf(init: RequestInit): Headers {
  const headers = new Headers(init.headers);
  const known = token.get();
  if (known) headers.set("Authorization", `Bearer ${known}`);
  return headers;
}

async function send(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  const had = token.get();
  try {
    response = await fetch(path, { ...init, headers: headersOf(init), cache: "no-store" });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The server does not answer. Is it still running?");
  }
  if (response.ok) return response;
  const error = await errorOf(response);
  if (response.status === 401 && (await askForToken(had !== null))) return send(path, init);
  throw error;
}

async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const { code, message, diagnostics, limit } = JSON.parse(text).error;
    return new ApiError(response.status, code, message, diagnostics ?? [], limit ?? null);
  } catch {
    return new ApiError(response.status, "http", text.slice(0, 500) || `${response.status} ${response.statusText}`);
  }
}

async function json<T>(path: string, init?: RequestInit): Promise<T> {
  return (await send(path, init)).json() as Promise<T>;
}

function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return json<T>(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

export interface SparqlAnswer { type: string; text: string; version: number | null; cutOff: string | null; seconds: number }

export const api = {
  health: () => json<Health>("health"),
  predicates: () => json<Predicates>("predicates"),
  query: (goal: string, limit: number, signal?: AbortSignal) => post<Answers>("query", { goal, limit }, signal),
  rules: () => json<{ version: number; rules: Rule[] }>("rules"),
  graph: () => json<RuleGraph>("rules/graph"),
  plan: (goal?: string) => json<Plan>(goal ? `plan?goal=${encodeURIComponent(goal)}` : "plan"),
  check: (text: string, kind: string, signal?: AbortSignal) =>
    post<{ kind: string; diagnostics: Diagnostic[] }>("check", { text, kind }, signal),
  complete: (prefix: string) => json<Completions>(`complete?limit=80&prefix=${encodeURIComponent(prefix)}`),
  update: (change: Change, dryRun: boolean) => post<Difference>(`update?dry_run=${dryRun}`, change),
  versions: (limit: number) => json<{ version: number; versions: Version[]; total: number }>(`versions?limit=${limit}`),
  version: (version: number) => json<Difference>(`versions/${version}`),
  explain: (asked: { fact: string } | Fact, more: object = {}) => post<Record<string, unknown>>("explain", { ...asked, ...more }),
  neighbours: (value: Value, limit = 12) => post<Neighbours>("neighbours", { value, limit }),
  support: (asked: { goal: string } | { sparql: string }, rows: Record<string, Value>[]) =>
    post<{ version: number; facts: Fact[][] }>("support", { ...asked, rows }),

  async sparql(query: string, accept: string, signal?: AbortSignal): Promise<SparqlAnswer> {
    const begun = performance.now();
    const headers = { "Content-Type": "application/sparql-query", Accept: accept };
    const response = await send("sparql", { method: "POST", headers, body: query, signal });
    const text = await response.text();
    const version = response.headers.get("Deltalog-Version");
    return {
      type: response.headers.get("Content-Type") ?? "", text, version: version ? Number(version) : null,
      cutOff: response.headers.get("Deltalog-Cut-Off"), seconds: (performance.now() - begun) / 1000,
    };
  },

  /** Whether the server describes SPARQL updates without making them; one that does not know `dry_run` would make it. */
  async previewsUpdates(): Promise<boolean> {
    const description = await json<{ paths: Record<string, { post?: { parameters?: { name: string }[] } }> }>("openapi.json");
    return (description.paths["/sparql"]?.post?.parameters ?? []).some(({ name }) => name === "dry_run");
  },

  async sparqlUpdate(text: string, dryRun: boolean): Promise<Difference | null> {
    const headers = { "Content-Type": "application/sparql-update", Accept: "application/json" };
    const response = await send(dryRun ? "sparql?dry_run=true" : "sparql", { method: "POST", headers, body: text });
    const found = await response.text();
    return found.trim() ? (JSON.parse(found) as Difference) : null;
  },

  /** Server-sent events by fetch, which unlike EventSource can send a token. Ends when the connection does. */
  async events(path: string, signal: AbortSignal, opened: () => void, seen: (event: ServerEvent) => void): Promise<void> {
    const response = await send(path, { headers: { Accept: "text/event-stream" }, signal });
    opened();
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).replace(/\r\n?/g, "\n").split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event) seen(event);
      }
    }
  },
};

export interface ServerEvent { name: string; id: string | null; data: string }

function parseEvent(block: string): ServerEvent | null {
  const event: ServerEvent = { name: "message", id: null, data: "" };
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [, field, value] = /^(\w+):? ?(.*)$/s.exec(line) ?? [];
    if (field === "event") event.name = value;
    else if (field === "id") event.id = value;
    else if (field === "data") data.push(value);
  }
  event.data = data.join("\n");
  return data.length ? event : null;
}
