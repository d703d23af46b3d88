// A table of answers: sorted and in pages, walked with arrow keys, copied and downloaded.

import { button, count, counted, fill, h } from "./dom";
import { toast } from "./message";
import { compare, kindOf, label, termText, type Cell } from "./values";
import { valueView } from "./value_view";

export interface Row { cells: Cell[]; mark?: "added" | "removed" }
export interface TableOptions {
  columns: string[];
  rows: Row[];
  name: string; // of files
  why?: (row: Row) => void;
  explore?: (value: Cell) => void;
}

const PAGE = 50;

export function resultTable(options: TableOptions): HTMLElement {
  const table = new Table(options);
  return table.element;
}

class Table {
  readonly element = h("div", { class: "results-table" });
  private readonly body = h("div", { class: "scroll", tabindex: "-1" });
  private readonly pager = h("div", { class: "pager" });
  private sort: { column: number; down: boolean } | null = null;
  private page = 0;
  private rows: Row[];

  constructor(private readonly options: TableOptions) {
    this.rows = options.rows;
    this.element.append(this.body, this.foot());
    this.show();
  }

  private foot(): HTMLElement {
    const { name } = this.options;
    const csv = (): string => toCsv(this.options.columns, this.rows), json = (): string => toJson(this.options.columns, this.rows);
    return h("div", { class: "foot row" }, this.pager, h("span", { class: "grow" }),
      button("Copy", () => void copy(toTsv(this.options.columns, this.rows), this.rows.length), { class: "small", title: "Copy all rows, with tabs between columns" }),
      button("CSV", () => download(`${name}.csv`, "text/csv", csv()), { class: "small", title: "Download all rows as CSV" }),
      button("JSON", () => download(`${name}.json`, "application/json", json()), { class: "small", title: "Download all rows as JSON, with their types" }));
  }

  private show(): void {
    const pages = Math.max(1, Math.ceil(this.rows.length / PAGE));
    this.page = Math.min(this.page, pages - 1);
    const shown = this.rows.slice(this.page * PAGE, (this.page + 1) * PAGE);
    fill(this.body, h("table", { role: "grid", "aria-rowcount": this.rows.length, onkeydown: (event: KeyboardEvent) => this.keys(event) },
      h("thead", {}, h("tr", {}, h("th", { class: "corner" }, h("span", { class: "hidden" }, "Why")), this.options.columns.map((name, i) => this.head(name, i)))),
      h("tbody", {}, shown.map((row, i) => this.row(row, this.page * PAGE + i)))));
    const first = this.body.querySelector<HTMLElement>("tbody td[role=gridcell]");
    if (first) first.tabIndex = 0;
    fill(this.pager, pages > 1 ? this.turn(pages, shown.length) : h("span", { class: "dim" }, counted(this.rows.length, "row")));
  }

  private turn(pages: number, shown: number): Node[] {
    const to = (page: number) => () => {
      this.page = page;
      this.show();
      this.body.scrollTop = 0;
    };
    const first = this.page * PAGE;
    return [
      button("‹", to(this.page - 1), { class: "small", disabled: this.page === 0, "aria-label": "Previous page" }),
      h("span", { class: "dim" }, ` ${count(first + 1)}–${count(first + shown)} of ${count(this.rows.length)} `),
      button("›", to(this.page + 1), { class: "small", disabled: this.page === pages - 1, "aria-label": "Next page" }),
    ];
  }

  private head(name: string, column: number): HTMLElement {
    const down = this.sort?.column === column ? this.sort.down : null;
    const sort = down === null ? "none" : down ? "descending" : "ascending";
    return h("th", { "aria-sort": sort, scope: "col" },
      button([name, h("span", { class: "arrow", "aria-hidden": "true" }, down === null ? "" : down ? " ↓" : " ↑")], () => this.sortBy(column), { class: "head", title: `Sort by ${name}` }));
  }

  private sortBy(column: number): void {
    const same = this.sort?.column === column;
    this.sort = same && this.sort!.down ? null : { column, down: same };
    const sign = this.sort?.down ? -1 : 1;
    this.rows = this.sort ? [...this.options.rows].sort((a, b) => sign * compare(a.cells[column], b.cells[column])) : this.options.rows;
    this.page = 0;
    this.show();
    this.body.querySelectorAll<HTMLElement>("th .head")[column]?.focus();
  }

  private row(row: Row, number: number): HTMLElement {
    const { why, explore } = this.options;
    return h("tr", { class: row.mark ?? null, "aria-rowindex": number + 1 },
      h("td", { class: "number" },
        why ? button([h("span", { class: "ordinal" }, count(number + 1)), h("span", { class: "ask" }, "why?")], () => why(row), { class: "why", "aria-label": `Why row ${number + 1}?`, tabindex: "-1" }) : count(number + 1)),
      row.cells.map((cell) => h("td", { role: "gridcell", tabindex: "-1", class: kindOf(cell), onclick: () => explore?.(cell) }, valueView(cell))));
  }

  private keys(event: KeyboardEvent): void {
    const cell = (event.target as Element).closest<HTMLTableCellElement>("td[role=gridcell]");
    if (!cell) return;
    const line = cell.parentElement as HTMLTableRowElement, lines = line.parentElement as HTMLTableSectionElement;
    const [row, column] = [[...lines.rows].indexOf(line), cell.cellIndex];
    const target: Record<string, [number, number]> = {
      ArrowDown: [row + 1, column], ArrowUp: [row - 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      Home: [row, 1], End: [row, line.cells.length - 1],
    };
    if (target[event.key]) {
      const next = lines.rows[target[event.key][0]]?.cells[target[event.key][1]];
      if (next?.getAttribute("role") === "gridcell") {
        cell.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      }
      event.preventDefault();
    } else if (event.key === "w" && this.options.why) {
      line.querySelector<HTMLButtonElement>("button.why")?.click();
    } else if (event.key === "Enter") cell.click();
  }
}

// Texts of rows

const plain = (cell: Cell): string => (cell !== null && typeof cell === "object" && "iri" in cell ? cell.iri : cell !== null && typeof cell === "object" && "blank" in cell ? termText(cell) : label(cell));
const csvCell = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export const toCsv = (columns: string[], rows: Row[]): string =>
  [columns, ...rows.map((row) => row.cells.map(plain))].map((line) => `${line.map(csvCell).join(",")}\r\n`).join("");

const toTsv = (columns: string[], rows: Row[]): string =>
  [columns, ...rows.map((row) => row.cells.map((cell) => plain(cell).replace(/[\t\n\r]/g, " ")))].map((line) => line.join("\t")).join("\n");

const toJson = (columns: string[], rows: Row[]): string => JSON.stringify({ columns, rows: rows.map((row) => row.cells) }, null, 1);

async function copy(text: string, rows: number): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied ${counted(rows, "row")}`);
  } catch {
    toast("The browser does not let the page copy; download the rows instead.");
  }
}

export function download(name: string, type: string, text: string): void {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

