// Elements from a tag, attributes and children; nothing is ever parsed as HTML.

type Child = Node | string | number | null | undefined | false;
export type Children = Child | Children[];
type Attributes = Record<string, unknown>;

/** An element. `onclick` and the like are listeners; `false` and `null` leave an attribute out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Children[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  set(made, attributes);
  append(made, children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function s<K extends keyof SVGElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Children[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG, tag) as SVGElementTagNameMap[K];
  set(made, attributes);
  append(made, children);
  return made;
}

function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name === "value") (element as HTMLInputElement).value = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

export function append(parent: Node, children: Children[]): void {
  for (const child of children.flat(Infinity as 1) as Child[]) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function fill(parent: Element, ...children: Children[]): void {
  parent.replaceChildren();
  append(parent, children);
}

/** A button; `title` also says what its shortcut is. */
export function button(label: Children, onclick: (event: MouseEvent) => void, attributes: Attributes = {}): HTMLButtonElement {
  return h("button", { type: "button", onclick, ...attributes }, label);
}

export const count = (n: number): string => n.toLocaleString("en");

/** `1 fact`, `2 facts`. */
export const counted = (n: number, noun: string): string => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value < 0.001) return `${Math.max(1, Math.round(value * 1e6))} µs`;
  if (value < 1) return `${(value * 1000).toPrecision(value < 0.01 ? 2 : 3)} ms`;
  return `${value.toFixed(value < 10 ? 2 : 1)} s`;
}

/** Tabs over panels that are made when they are first shown. */
export function tabs(label: string, panels: { name: string; make: () => Node }[], chosen = 0): HTMLElement {
  const body = h("div", { class: "tab-body", role: "tabpanel" });
  const made = new Map<number, Node>();
  const heads = panels.map((panel, i) => button(panel.name, () => show(i), { role: "tab" }));
  const show = (i: number): void => {
    heads.forEach((head, j) => {
      head.setAttribute("aria-selected", String(i === j));
      head.tabIndex = i === j ? 0 : -1;
    });
    if (!made.has(i)) made.set(i, panels[i].make());
    body.setAttribute("aria-label", panels[i].name);
    fill(body, made.get(i));
  };
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": label }, heads);
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (heads.indexOf(document.activeElement as HTMLButtonElement) + step + heads.length) % heads.length;
    show(next);
    heads[next].focus();
  });
  show(chosen);
  return h("div", { class: "tabbed" }, list, body);
}
