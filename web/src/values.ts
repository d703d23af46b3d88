// Values as the server has them in JSON, their texts, and their order.

export type Value =
  | string | number | boolean
  | { iri: string } | { blank: string } | { text: string; language: string } | { text: string; datatype: string };
export type Cell = Value | null; // null: a variable of SPARQL without a value
export type Kind = "iri" | "blank" | "string" | "number" | "boolean" | "literal" | "none";
export interface Fact { predicate: string; values: Value[] }

export const XSD = "http://www.w3.org/2001/XMLSchema#";
const RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const COMMON: Record<string, string> = {
  rdf: "http://www.w3.org/1999/02/22-rdf-syntax-ns#", rdfs: "http://www.w3.org/2000/01/rdf-schema#",
  owl: "http://www.w3.org/2002/07/owl#", xsd: XSD,
};
const NUMERIC = /^(integer|decimal|double|float|int|long|short|byte|nonNegativeInteger|positiveInteger|unsigned\w+)$/;

export let prefixes: Record<string, string> = { ...COMMON };

export function setPrefixes(found: Record<string, string>): void {
  prefixes = { ...COMMON, ...found };
}

export function kindOf(value: Cell): Kind {
  if (value === null || value === undefined) return "none";
  if (typeof value === "string") return "string";
  if (typeof value === "number") return "number";
  if (typeof value === "boolean") return "boolean";
  if ("iri" in value) return "iri";
  if ("blank" in value) return "blank";
  return "datatype" in value && numeric(value.datatype) ? "number" : "literal";
}

const numeric = (datatype: string): boolean => datatype.startsWith(XSD) && NUMERIC.test(datatype.slice(XSD.length));

/** An IRI by the longest prefix that fits, else null. */
function prefixed(iri: string): string | null {
  let best: string | null = null, length = 0;
  for (const [prefix, start] of Object.entries(prefixes)) {
    const rest = iri.slice(start.length);
    if (start.length > length && iri.startsWith(start) && /^[\w][\w.-]*$/.test(rest) && !rest.endsWith(".")) {
      [best, length] = [`${prefix}:${rest}`, start.length];
    }
  }
  return best;
}

export const shortIri = (iri: string): string => prefixed(iri) ?? `<${iri}>`;

/** The name of a predicate as rules have it. */
export function predicateText(name: string): string {
  const bare = name.replace(/\/\d+$/, "");
  return isIri(bare) ? shortIri(bare) : /^[A-Za-z_]\w*$/.test(bare) ? bare : `<${bare}>`;
}

const isIri = (name: string): boolean => /^[A-Za-z][\w+.-]*:/.test(name);

const quoted = (text: string): string =>
  `"${text.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t")}"`;

/** A value in the rule language and in SPARQL; strings have quotes. */
export function termText(value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return quoted(value);
  if (typeof value !== "object") return String(value);
  if ("iri" in value) return shortIri(value.iri);
  if ("blank" in value) return `_:${value.blank}`;
  if ("language" in value) return `${quoted(value.text)}@${value.language}`;
  return `${quoted(value.text)}^^${shortIri(value.datatype)}`;
}

/** A value to look at: strings without quotes, IRIs without brackets, numbers without their datatype. */
export function label(value: Cell): string {
  if (typeof value === "string") return value;
  if (value !== null && typeof value === "object" && "iri" in value) return prefixed(value.iri) ?? value.iri;
  if (value !== null && typeof value === "object" && "text" in value) return value.text;
  return termText(value);
}

/** A label of at most so many characters; of a long IRI, its end. */
export function shortLabel(value: Cell, most: number): string {
  const whole = label(value);
  if (whole.length <= most) return whole;
  if (kindOf(value) !== "iri") return `${whole.slice(0, most - 1)}…`;
  const rest = whole.replace(/^\w+:\/\/(www\.)?/, "");
  return rest.length <= most ? rest : `…${rest.slice(1 - most)}`;
}

/** What a label leaves out: the language, or the datatype. */
export function note(value: Cell): string {
  if (value === null || typeof value !== "object") return "";
  if ("language" in value) return `@${value.language}`;
  return "datatype" in value ? shortIri(value.datatype) : "";
}

/** Strings that are names need no quotes in a fact. */
export const argumentText = (value: Value): string =>
  typeof value === "string" && /^[a-z]\w*$/.test(value) && value !== "true" && value !== "false" ? value : termText(value);

export function factText(fact: Fact): string {
  const name = predicateText(fact.predicate);
  return fact.values.length ? `${name}(${fact.values.map(argumentText).join(", ")})` : name;
}

/** The same in a text that can be asked for whatever the prefixes are. */
export const key = (value: Cell): string => JSON.stringify(value);

const RANK: Record<Kind, number> = { none: 0, blank: 1, iri: 2, boolean: 3, number: 4, string: 5, literal: 6 };
const collator = new Intl.Collator("en", { numeric: true });

export function compare(a: Cell, b: Cell): number {
  const [x, y] = [kindOf(a), kindOf(b)];
  if (x !== y) return RANK[x] - RANK[y];
  if (x === "number") return Number(label(a)) - Number(label(b));
  return collator.compare(label(a), label(b));
}

interface Binding { type: string; value: string; datatype?: string; "xml:lang"?: string }

/** A term of SPARQL's JSON results as a value of ours. */
export function fromSparql(found: Binding | undefined): Cell {
  if (!found) return null;
  if (found.type === "uri") return { iri: found.value };
  if (found.type === "bnode") return { blank: found.value };
  const language = found["xml:lang"];
  if (language) return { text: found.value, language };
  return typed(found.value, found.datatype ?? `${XSD}string`);
}

export function typed(text: string, datatype: string): Value {
  const name = datatype.startsWith(XSD) ? datatype.slice(XSD.length) : "";
  if (name === "string") return text;
  if (name === "boolean" && /^(true|false|0|1)$/.test(text)) return text === "true" || text === "1";
  if (name === "integer" && Number.isSafeInteger(Number(text))) return Number(text);
  if (name === "double" && Number.isFinite(Number(text)) && !Number.isInteger(Number(text))) return Number(text);
  return { text, datatype };
}

/** A triple as a fact: a class has one argument, a property two. */
export function tripleFact(subject: Value, predicate: Value, object: Value): Fact | null {
  if (typeof predicate !== "object" || !("iri" in predicate)) return null;
  if (predicate.iri === RDF_TYPE && typeof object === "object" && "iri" in object) {
    return { predicate: object.iri, values: [subject] };
  }
  return { predicate: predicate.iri, values: [subject, object] };
}
