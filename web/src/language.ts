// The rule language and SPARQL as an editor sees them: one tokenizer, as they share terms, and what a text is.

import { StreamLanguage, type StreamParser, type StringStream } from "@codemirror/language";

export type TextKind = "sparql" | "update" | "goal" | "rules";

const KEYWORDS = new Set(
  `select ask construct describe where from named graph optional union minus filter bind values as distinct reduced order by
   group having asc desc limit offset prefix base insert delete data load clear drop create add move copy into with using
   silent default all service not exists in undef aggregate on count sum min max avg sample group_concat separator and or
   skolem comp is true false a`.split(/\s+/),
);
const UPDATES = /^(insert|delete|load|clear|drop|create|add|move|copy|with)$/i;
const QUERIES = /^(select|ask|construct|describe)$/i;

interface State { closing: string | null } // the quotes of an open long string

const parser: StreamParser<State> = {
  name: "deltalog",
  startState: () => ({ closing: null }),
  token: (stream, state) => (state.closing ? longString(stream, state) : token(stream, state)),
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
};

function longString(stream: StringStream, state: State): string {
  while (!stream.eol()) {
    if (stream.match(state.closing!)) {
      state.closing = null;
      return "string";
    }
    stream.next();
  }
  return "string";
}

function token(stream: StringStream, state: State): string | null {
  if (stream.eatSpace()) return null;
  if (stream.match(/^(#|\/\/).*/) || (stream.peek() === "%" && /^\s*$|[.,]\s*$/.test(before(stream)) && stream.match(/^%.*/))) return "comment";
  if (stream.match('"""') || stream.match("'''")) {
    state.closing = stream.current();
    return "string";
  }
  if (stream.match(/^"([^"\\\n]|\\.)*"/) || stream.match(/^'([^'\\\n]|\\.)*'/)) return "string";
  if (stream.match(/^@[A-Za-z]+(-\w+)*/) || stream.match("^^")) return "meta";
  if (stream.match(/^<[^<>"{}|^`\\\s]*>/)) return "link";
  if (stream.match(/^[?$]\w+/) || stream.match(/^_(?![\w:])/)) return "variableName";
  if (stream.match(/^(:-|<-)/)) return "definitionOperator";
  if (stream.match(/^_:\w+/)) return "atom";
  if (stream.match(/^[A-Za-z][\w-]*(\.[\w-]+)*:([\w%-]+(\.[\w%-]+)*)?/) || stream.match(/^:([\w%-]+(\.[\w%-]+)*)?/)) return "propertyName";
  if (stream.match(/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?/)) return "number";
  if (stream.match(/^[A-Za-z_]\w*/)) return name(stream);
  stream.next();
  return /[()[\]{}]/.test(stream.current()) ? "bracket" : /[.,;]/.test(stream.current()) ? "punctuation" : "operator";
}

const before = (stream: StringStream): string => stream.string.slice(0, stream.pos);

function name(stream: StringStream): string {
  const word = stream.current();
  const called = stream.match(/^\s*[([]/, false);
  if (KEYWORDS.has(word.toLowerCase()) && word !== "_") return /^(true|false)$/i.test(word) ? "bool" : "keyword";
  if (called) return "propertyName";
  return /^[A-Z_]/.test(word) ? "variableName" : "string";
}

export const language = StreamLanguage.define(parser);

/** The text without comments, and with nothing in its strings and IRIs. */
function bare(text: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|<[^<>"{}|^`\\\s]*>|(?:#|\/\/|(?:^|\s)%).*/gm, (found) =>
    /^["'<]/.test(found) ? `${found[0]}${found.at(-1)}` : " ");
}

/** What a text is, by its first words and whether it has rules. */
export function kindOfText(text: string): TextKind {
  const rest = bare(text).replace(/(?<![\w:?$])@?(prefix\s+[\w.-]*:|base)\s*<>\s*\.?/gi, " ").trim();
  const first = /^\w+/.exec(rest)?.[0] ?? "";
  const called = /^\w+\s*\((?!\s*[?*])/.test(rest) && !/\{/.test(rest);
  if (QUERIES.test(first) && !called) return "sparql";
  if (UPDATES.test(first) && /[{<:]|\b(all|default|named)\b/i.test(rest) && !called) return "update";
  return /:-|<-/.test(rest) ? "rules" : "goal";
}
