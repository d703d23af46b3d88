// An explanation as a tree that folds: the marks and colours are those of `deltalog explain --format html`.

import { api, ApiError } from "./api";
import { button, counted, fill, h, type Children } from "./dom";
import { addToDraft } from "./draft";
import { errorBox, loading } from "./message";
import { whyReadonly } from "./session";
import { argumentText, factText, type Fact, type Value } from "./values";

interface RuleRef { id: string; text: string; file?: string; line?: number }
interface Proof {
  fact?: Fact; holds?: boolean; kind?: string; height?: number; rule?: RuleRef; bindings?: Record<string, Value>;
  premises?: Premise[]; source?: string; see?: number; id?: number; hidden?: { facts: number };
  also_explicit?: boolean; also_derived?: boolean;
}
interface Aggregate { text: string; function: string; key: Value[]; count: number; arithmetic: string; members: { premises: Premise[] }[] }
type Premise = Proof & {
  absent?: { atom: string; reason: string }; condition?: { text: string; value: string }; aggregate?: Aggregate;
};
interface Attempt {
  rule: RuleRef; satisfied: Premise[]; failed: string; needed: string; bindings: Record<string, Value>; nested?: Nested[];
}
interface Nested { atom: string; attempts?: Attempt[]; near?: Near[]; reason?: string }
interface Near { kind: string; text: string }
export interface Explanation extends Proof {
  attempts?: Attempt[]; near?: Near[]; reason?: string; others?: Proof[]; continued?: Proof[]; hidden_facts?: number; version?: number;
}

const OPEN_LEVELS = 4, DEPTH = 3, PROOFS = 3;

/** Asks the server, and shows the answer. */
export function explanationView(asked: { fact: string } | Fact): HTMLElement {
  const element = h("div", { class: "explanation" }, loading("Looking for a proof …"));
  void (async () => {
    try {
      let found = (await api.explain(asked, { all: PROOFS })) as unknown as Explanation;
      if (!found.holds) found = (await api.explain(asked, { depth: DEPTH })) as unknown as Explanation;
      fill(element, tree(found));
    } catch (error) {
      fill(element, errorBox(error instanceof ApiError ? error : new ApiError(0, "page", String(error))));
    }
  })();
  return element;
}

export function tree(found: Explanation): HTMLElement {
  const shown: HTMLElement = h("div", { class: "dlx" }, title(found));
  if (found.holds) shown.append(tools(shown));
  if (found.hidden_facts) shown.append(h("p", { class: "dlx-cut" }, `${counted(found.hidden_facts, "fact")} of the proof are not shown.`));
  for (const section of found.holds ? held(found) : refuted(found)) shown.append(section);
  shown.addEventListener("keydown", arrows);
  return shown;
}

function title(found: Explanation): HTMLElement {
  const answer = found.holds
    ? ` holds: ${found.kind}${found.kind === "derived" ? `, height ${found.height}` : ""}` : " does not hold";
  return h("h3", { class: "dlx-answer" }, h("code", {}, factText(found.fact!)), answer);
}

const tools = (root: HTMLElement): HTMLElement => {
  const all = (open: boolean) => () => root.querySelectorAll("details").forEach((one) => (one.open = open));
  return h("p", { class: "row" }, button("Unfold all", all(true), { class: "small" }), button("Fold all", all(false), { class: "small" }));
};

function* held(found: Explanation): Generator<Node> {
  yield h("ul", { class: "dlx-top" }, proofItem(found, 0));
  for (const part of found.continued ?? []) {
    yield h("h4", {}, `[${part.id ?? ""}] continued`);
    yield h("ul", { class: "dlx-top" }, proofItem(part, 1));
  }
  for (const [i, other] of (found.others ?? []).entries()) {
    yield h("h4", {}, `Another proof (${i + 2})`);
    yield h("ul", { class: "dlx-top" }, proofItem(other, OPEN_LEVELS));
  }
}

function* refuted(found: Explanation): Generator<Node> {
  if (found.reason) yield h("p", {}, found.reason);
  if (found.near?.length) {
    yield h("h4", {}, "Near misses");
    yield h("ul", { class: "dlx-top" }, found.near.map(nearItem));
  }
  if (found.attempts?.length) {
    yield h("h4", {}, "Rules that could derive it");
    yield h("ul", { class: "dlx-top" }, found.attempts.map((one) => attemptItem(one, 0)));
  }
}

// Items

function item(kind: string, line: Children, inside: Children[], children: Node[], level: number, id?: number): HTMLElement {
  const anchor = id ? `proof-${id}` : null;
  const content = inside.filter(Boolean);
  if (!content.length && !children.length) return h("li", { id: anchor }, h("div", { class: "dlx-leaf" }, mark(kind, line)));
  return h("li", { id: anchor }, h("details", { open: level < OPEN_LEVELS },
    h("summary", {}, mark(kind, line)), content, children.length > 0 && h("ul", {}, children)));
}

const mark = (kind: string, line: Children): HTMLElement => h("span", { class: `dlx-line dlx-${kind}` }, line);
const head = (text: string): HTMLElement => h("code", { class: "dlx-label" }, text);
const dim = (text: string): HTMLElement => h("span", { class: "dim" }, ` ${text}`);

function proofItem(proof: Proof, level: number): HTMLElement {
  const line: Children[] = [head(factText(proof.fact!)), proof.id && dim(`[${proof.id}]`)];
  if (proof.see) {
    const target = `proof-${proof.see}`;
    return item("see", [line, " ", button(`see [${proof.see}]`, (event) => reveal(event, target), { class: "link" })], [], [], level);
  }
  const also = proof.also_explicit ? ", also explicit" : proof.also_derived ? ", also derived" : "";
  line.push(dim(proof.rule ? `${proof.kind} by ${place(proof.rule)}${also}` : `explicit${proof.source ? `, ${fileName(proof.source)}` : ""}${also}`));
  if (!proof.rule && proof.fact && !whyReadonly()) line.push(" ", removal(proof.fact));
  if (proof.hidden) line.push(dim(`(${counted(proof.hidden.facts, "fact")} not shown)`));
  return item(proof.kind ?? "derived", line, step(proof), (proof.premises ?? []).map((one) => premiseItem(one, level + 1)), level, proof.id);
}

const removal = (fact: Fact): HTMLElement =>
  button("what if not?", () => addToDraft({ remove: `${factText(fact)}.` }), { class: "link", title: "Put the removal of this fact into a change, and preview it" });

function premiseItem(premise: Premise, level: number): HTMLElement {
  if (premise.absent) return item("absent", [head(`NOT ${premise.absent.atom}`), dim(premise.absent.reason)], [], [], level);
  if (premise.condition) return item("condition", [head(premise.condition.text), dim(premise.condition.value)], [], [], level);
  if (premise.aggregate) return groupItem(premise.aggregate, level);
  return proofItem(premise, level);
}

function groupItem(group: Aggregate, level: number): HTMLElement {
  const members = group.members.flatMap((member) => member.premises.map((one) => premiseItem(one, level + 1)));
  const text = `group ${group.key.map(argumentText).join(", ")}: ${counted(group.count, "member")}${group.arithmetic ? `, ${group.arithmetic}` : ""}`;
  const left = group.count - group.members.length;
  return item("group", [head(group.text)], [h("div", { class: "dlx-step dim" }, text, left > 0 && ` (${left} more)`)], members, level);
}

const nearItem = (near: Near): HTMLElement => item("near", [head(`≈ ${near.text}`), dim(near.kind)], [], [], 0);

function attemptItem(attempt: Attempt, level: number): HTMLElement {
  const satisfied = attempt.satisfied.map((one) => satisfiedItem(one, level + 1));
  const failed = item("failed", [head(`✗ ${attempt.failed}`), attempt.needed && dim(`needed: ${attempt.needed}`)], [],
    (attempt.nested ?? []).flatMap((one) => (one.atom === attempt.failed ? nestedParts(one, level + 1) : [nestedItem(one, level + 2)])), level + 1);
  return item("attempt", [dim(place(attempt.rule))], step(attempt), [...satisfied, failed], level);
}

function satisfiedItem(premise: Premise, level: number): HTMLElement {
  const shown = premiseItem(premise, level);
  const line = shown.querySelector(".dlx-line");
  line?.classList.add("dlx-satisfied");
  line?.prepend("✓ ");
  return shown;
}

const nestedItem = (nested: Nested, level: number): HTMLElement =>
  item("failed", [head(nested.atom)], [], nestedParts(nested, level), level);

/** Why a premise that fails does not hold in turn. */
const nestedParts = (nested: Nested, level: number): HTMLElement[] => [
  ...(nested.reason ? [item("failed", [dim(nested.reason)], [], [], level)] : []),
  ...(nested.near ?? []).map(nearItem),
  ...(nested.attempts ?? []).map((one) => attemptItem(one, level + 1)),
];

function step({ rule, bindings }: { rule?: RuleRef; bindings?: Record<string, Value> }): Children[] {
  const values = Object.entries(bindings ?? {}).map(([name, value]) => `?${name} = ${argumentText(value)}`).join(", ");
  return [rule && h("div", { class: "dlx-step" }, h("code", {}, rule.text)), values && h("div", { class: "dlx-step dim" }, h("code", {}, values))];
}

const fileName = (path: string): string => path.split("/").pop()!;
const place = (rule: RuleRef): string => (rule.file ? `${rule.id} (${fileName(rule.file)}${rule.line ? `:${rule.line}` : ""})` : rule.id);

// Keys and links

function reveal(event: MouseEvent, target: string): void {
  const root = (event.target as Element).closest(".dlx")!;
  const found = root.querySelector(`#${target}`);
  for (let node = found as Element | null; node && node !== root; node = node.parentElement) if (node instanceof HTMLDetailsElement) node.open = true;
  found?.querySelector("details")?.setAttribute("open", "");
  found?.scrollIntoView({ block: "nearest" });
  found?.classList.add("flash");
  setTimeout(() => found?.classList.remove("flash"), 1500);
}

/** Up and down go from line to line, right and left unfold and fold. */
function arrows(event: KeyboardEvent): void {
  const here = document.activeElement;
  if (!(here instanceof HTMLElement) || here.tagName !== "SUMMARY") return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const open = { ArrowRight: true, ArrowLeft: false }[event.key];
  if (open !== undefined) (here.parentElement as HTMLDetailsElement).open = open;
  if (step) {
    const seen = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("summary")].filter((one) => one.offsetParent);
    (seen[seen.indexOf(here) + step] ?? here).focus();
  }
  if (step || open !== undefined) event.preventDefault();
}
