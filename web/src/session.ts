// What the whole page knows of the server, and follows while it changes.

import { ApiError, api, type Difference, type Health, type Predicate } from "./api";
import { setPrefixes } from "./values";

type Listener = () => void;

export const session = {
  health: {} as Health,
  predicates: [] as Predicate[],
  version: null as number | null,
  live: false, // whether the stream of changes is connected
  changes: [] as Difference[], // those seen since the page was opened, newest first
};

const listeners = new Set<Listener>();

/** Calls a listener on every change of the session, as long as an element is on the page. */
export function follow(element: Node, listener: Listener): void {
  const call = (): void => {
    if (element.isConnected) listener();
    else listeners.delete(call);
  };
  setTimeout(() => listeners.add(call));
}

function notify(): void {
  for (const listener of [...listeners]) listener();
}

export async function loadHealth(): Promise<void> {
  session.health = await api.health();
  session.version ??= session.health.version ?? null;
  notify();
}

export async function loadPredicates(): Promise<void> {
  const found = await api.predicates();
  session.predicates = found.predicates;
  setPrefixes(found.prefixes);
  see(found.version);
  notify();
}

const see = (version: number): void => {
  if (session.version === null || version > session.version) session.version = version;
};

/** Why nothing may be changed, or null. */
export const whyReadonly = (): string | null =>
  session.health.readonly ? "This server is read-only (deltalog serve --readonly): nothing can be changed." : null;

const MOST_CHANGES = 50, RETRY = 2000;

/** Follows the changes of the server for as long as the page is open. */
export async function followChanges(): Promise<never> {
  for (;;) {
    try {
      const since = session.version === null ? "" : `?since=${session.version}`;
      await api.events(`changes${since}`, new AbortController().signal, () => setLive(true), (event) => {
        if (event.name === "change") changed(JSON.parse(event.data) as Difference);
        if (event.name === "reset") void startOver(JSON.parse(event.data).version);
      });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) await new Promise(() => undefined); // no token, no changes
    }
    setLive(false);
    await new Promise((done) => setTimeout(done, RETRY));
  }
}

function setLive(live: boolean): void {
  if (session.live === live) return;
  session.live = live;
  notify();
}

async function startOver(version: number): Promise<void> {
  session.version = version;
  await loadPredicates();
}

/** A change that was made, here or by somebody else. */
export function changed(difference: Difference): void {
  if (session.changes.some((one) => one.version === difference.version)) return;
  session.changes = [difference, ...session.changes].slice(0, MOST_CHANGES);
  see(difference.version);
  void loadPredicates().catch(notify);
}
