// N-Triples, as the server writes the answers of CONSTRUCT and DESCRIBE.

import { XSD, typed, type Value } from "./values";

const TERM = /<([^>]*)>|_:(\S+)|"((?:[^"\\]|\\.)*)"(?:@([\w-]+)|\^\^<([^>]*)>)?/g;
const ESCAPES: Record<string, string> = { t: "\t", b: "\b", n: "\n", r: "\r", f: "\f", '"': '"', "'": "'", "\\": "\\" };

export const parseTriples = (text: string): Value[][] =>
  text.split("\n").filter((line) => line.trim() && !line.startsWith("#")).map((line) => [...line.matchAll(TERM)].slice(0, 3).map(term));

function term([, iri, blank, text, language, datatype]: RegExpMatchArray): Value {
  if (iri !== undefined) return { iri: unescape(iri) };
  if (blank !== undefined) return { blank };
  const value = unescape(text);
  return language ? { text: value, language } : typed(value, datatype ?? `${XSD}string`);
}

const unescape = (text: string): string =>
  text.replace(/\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|\\(.)/g, (_, four, eight, one) =>
    four || eight ? String.fromCodePoint(parseInt(four ?? eight, 16)) : (ESCAPES[one] ?? one));
