// Statistics per function, sorted by any column.

import * as api from "./api";
import type { Stat } from "./api";
import { count, fill, h, keepingFocus, plural, shortName, time } from "./dom";
import { Filters } from "./table";

type Column = { name: string; of: (s: Stat) => number | string; text: (s: Stat) => string; title?: string };

const columns: Column[] = [
  { name: "Function", of: (s) => s.function, text: (s) => s.function },
  { name: "Calls", of: (s) => s.calls, text: (s) => count(s.calls) },
  { name: "Errors", of: (s) => s.errors, text: (s) => s.errors ? count(s.errors) : "", title: "Left by an exception" },
  { name: "Total", of: (s) => s.totalNs, text: (s) => time(s.totalNs) },
  { name: "Self", of: (s) => s.selfNs, text: (s) => time(s.selfNs), title: "Without recorded callees" },
  { name: "Median", of: (s) => s.p50Ns, text: (s) => time(s.p50Ns) },
  { name: "p99", of: (s) => s.p99Ns, text: (s) => time(s.p99Ns) },
  { name: "Results", of: (s) => s.returns?.length ?? 0, text: (s) => (s.returns ?? []).map((r) => `${r.value} ×${count(r.count)}`).join(", ") },
];

export class Statistics {
  readonly root: HTMLElement;
  private rows: Stat[] = [];
  private by = 3;
  private down = true;
  private sum = h("p", { class: "sum", role: "status" });
  private head = h("tr");
  private body = h("tbody");
  private busy: AbortController | null = null;
  private filters: Filters;

  constructor(session: string, private open: (name: string) => void) {
    this.filters = new Filters(session, () => this.load(), "stats");
    this.root = h("section", { class: "stats", "aria-label": "Statistics" }, this.filters.root, this.sum,
      h("div", { class: "tablebox", tabindex: 0, role: "region", "aria-label": "Table of functions" },
        h("table", {}, h("thead", {}, this.head), this.body)));
    this.load();
  }

  /** renew asks again; the order, and what has the focus, stay. */
  async renew(): Promise<void> {
    if (!this.busy) await this.load();
  }

  private async load(): Promise<void> {
    this.busy?.abort();
    const mine = this.busy = new AbortController();
    try {
      const r = await api.stats(this.filters.asked(), mine.signal);
      this.rows = r.rows;
      this.sum.classList.remove("failure");
      const text = r.rows.length ? `${plural(r.rows.length, "function")}${r.of > r.rows.length ? ` of ${count(r.of)}` : ""}` :
        r.hint || "No call matches.";
      if (this.sum.textContent !== text) fill(this.sum, text); // else a screen reader says it again
    } catch (e) {
      if ((e as Error).name === "AbortError") return;
      const f = e as api.Failure;
      this.rows = [];
      this.sum.classList.add("failure");
      fill(this.sum, `${f.message} ${f.hint ?? ""}`);
    }
    if (this.busy === mine) this.busy = null;
    this.show();
  }

  private show(): void { keepingFocus(this.root, () => this.draw()); }

  private draw(): void {
    const c = columns[this.by]!;
    const rows = [...this.rows].sort((a, b) => {
      const x = c.of(a), y = c.of(b);
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return this.down ? -order : order;
    });
    const most = Math.max(1, ...this.rows.map((r) => r.selfNs));
    fill(this.head, columns.map((col, i) => h("th", { scope: "col", class: i > 0 && i < 7 ? "n" : "",
      "aria-sort": i === this.by ? this.down ? "descending" : "ascending" : "none" },
    h("button", { type: "button", class: "sort", "data-key": col.name, title: col.title, onclick: () => {
      this.down = i === this.by ? !this.down : i > 0;
      this.by = i;
      this.show();
    } }, col.name, h("span", { class: "arrow", "aria-hidden": "true" }, i === this.by ? this.down ? "▾" : "▴" : "")))));
    fill(this.body, rows.map((r) => h("tr", {}, columns.map((col, i) => {
      if (i === 0) {
        return h("td", { class: "what" }, h("button", { type: "button", class: "link", "data-key": r.function, title: r.function,
          onclick: () => this.open(r.function) }, shortName(r.function)));
      }
      const td = h("td", { class: i < 7 ? "n" : "vals" }, col.text(r));
      if (col.name === "Self") td.append(bar(r.selfNs / most));
      return td;
    }))));
  }
}

function bar(share: number): HTMLElement {
  const b = h("span", { class: "bar-of", "aria-hidden": "true" }, h("span"));
  (b.firstChild as HTMLElement).style.width = `${Math.round(share * 100)}%`;
  return b;
}
