// Ground facts in the rule language, as the update of the server takes them: `edge(a, b). :knows[:kim, :lee] .`

import type { Diagnostic } from "./api";
import { XSD, prefixes, tripleFact, typed, type Fact, type Value } from "./values";

const TOKEN = /\s+|(?:#|\/\/|%).*|"((?:[^"\\]|\\.)*)"(?:@([A-Za-z]+(?:-\w+)*)|\^\^(<[^<>\s]*>|[\w.-]*:[\w.-]*\w))?|<([^<>\s]*)>|_:(\w+)|([A-Za-z][\w-]*)?:(\w[\w.-]*\w|\w)|([+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?))|([A-Za-z_]\w*)|([()[\],.])/y;
const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", '"': '"', "\\": "\\", "'": "'" };

interface Token { at: number; text: string; value?: Value; name?: string }
export class FactError extends Error {
  constructor(readonly at: number, message: string) {
    super(message);
  }
}

export function parseFacts(text: string): Fact[] {
  const tokens = tokenize(text), facts: Fact[] = [];
  let i = 0;
  const peek = (): Token => tokens[i] ?? { at: text.length, text: "" };
  const take = (...expected: string[]): Token => {
    const token = peek();
    if (expected.length && !expected.includes(token.text)) throw new FactError(token.at, `expected ${expected.join(" or ")}${token.text ? `, found ${token.text}` : " at the end"}`);
    i++;
    return token;
  };
  const values = (closing: string): Value[] => {
    const found: Value[] = [];
    while (peek().text !== closing) {
      if (found.length) take(",");
      const token = take();
      if (token.value === undefined) throw new FactError(token.at, token.text ? `${token.text} is no constant; facts have no variables` : "the fact does not end");
      found.push(token.value);
    }
    take(closing);
    return found;
  };
  while (i < tokens.length) {
    facts.push(fact(peek, take, values));
    if (i < tokens.length) take(".");
  }
  return facts;
}

function fact(peek: () => Token, take: (...expected: string[]) => Token, values: (closing: string) => Value[]): Fact {
  const begin = take();
  if (begin.text === "[") {
    const [subject, predicate, object, ...more] = values("]");
    const found = object === undefined || more.length ? null : tripleFact(subject, predicate, object);
    if (!found) throw new FactError(begin.at, "a triple is [subject, predicate, object] with an IRI as its predicate");
    return found;
  }
  if (begin.name === undefined) throw new FactError(begin.at, `a fact begins with a predicate, not with ${begin.text}`);
  if (peek().text !== "(" && peek().text !== "[") return { predicate: begin.name, values: [] };
  const found = values(take("(", "[").text === "(" ? ")" : "]");
  return { predicate: begin.name, values: found };
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found) throw new FactError(at, /^[?$]/.test(text.slice(at)) ? "facts have no variables" : `unexpected ${text[at]}`);
    const token = tokenOf(found, at);
    if (token) tokens.push(token);
  }
  return tokens;
}

function tokenOf(found: RegExpExecArray, at: number): Token | null {
  const [whole, string, lang, datatype, iri, blank, prefix, local, number, bare, sign] = found;
  const token = (value?: Value, name?: string): Token => ({ at, text: whole, value, name });
  if (string !== undefined) return token(literal(unescape(string), lang, datatype, at));
  if (iri !== undefined) return token({ iri }, iri);
  if (blank !== undefined) return token({ blank });
  if (local !== undefined) return expanded(prefix ?? "", local, at, token);
  if (number !== undefined) return token(numberOf(number));
  if (bare !== undefined) return /^(true|false)$/.test(bare) ? token(bare === "true") : token(/^[A-Z_]/.test(bare) ? undefined : bare, bare);
  return sign === undefined ? null : token();
}

function expanded(prefix: string, local: string, at: number, token: (value?: Value, name?: string) => Token): Token {
  const iri = resolve(`${prefix}:${local}`, at);
  return token({ iri }, iri);
}

function resolve(name: string, at: number): string {
  if (name.startsWith("<")) return name.slice(1, -1);
  const colon = name.indexOf(":"), start = prefixes[name.slice(0, colon)];
  if (start === undefined) throw new FactError(at, `the prefix ${name.slice(0, colon)}: is not declared in the program; write the IRI in <>`);
  return start + name.slice(colon + 1);
}

function literal(text: string, language: string | undefined, datatype: string | undefined, at: number): Value {
  if (language) return { text, language };
  return datatype ? typed(text, resolve(datatype, at)) : text;
}

const numberOf = (text: string): Value => typed(text, /[.eE]/.test(text) ? `${XSD}double` : `${XSD}integer`);

const unescape = (text: string): string =>
  text.replace(/\\u([0-9a-fA-F]{4})|\\(.)/g, (_, hex, one) => (hex ? String.fromCharCode(parseInt(hex, 16)) : (ESCAPES[one] ?? one)));

/** Facts by predicate. A name with several arities has the arity with it. */
export function byPredicate(facts: Fact[], arities: Map<string, number>): Record<string, Value[][]> {
  const groups: Record<string, Value[][]> = {};
  for (const { predicate, values } of facts) {
    const name = (arities.get(predicate) ?? 1) > 1 ? `${predicate}/${values.length}` : predicate;
    (groups[name] ??= []).push(values);
  }
  return groups;
}

/** The errors of a text of facts, for an editor. */
export async function checkFacts(text: string): Promise<Diagnostic[]> {
  try {
    parseFacts(text);
    return [];
  } catch (error) {
    if (!(error instanceof FactError)) throw error;
    const lines = text.slice(0, error.at).split("\n");
    return [{ severity: "error", message: error.message, hint: null, line: lines.length, column: [...lines.at(-1)!].length + 1, end_line: null, end_column: null }];
  }
}
