// What the page remembers in this browser: the texts that were run.

export interface Past { text: string; time: number; rows: number | null }

const KEY = "deltalog-history", MOST = 100;

export function past(): Past[] {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "[]");
  } catch {
    return [];
  }
}

export function remember(text: string, rows: number | null): void {
  const entries = [{ text, time: Date.now(), rows }, ...past().filter((one) => one.text !== text)];
  try {
    localStorage.setItem(KEY, JSON.stringify(entries.slice(0, MOST)));
  } catch {
    // a browser that keeps nothing still runs queries
  }
}

export const forget = (): void => localStorage.removeItem(KEY);
