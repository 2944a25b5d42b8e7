// The functions of a flame graph as a list: what each did, and where two sessions are compared, how much more or less.

import type { Flame, FlameSum } from "./api";
import { count, fill, h, keepingFocus, plural, shortName, time } from "./dom";
import { signed } from "./flamedraw";

type Column = { name: string; of: (s: FlameSum) => number; text: (s: FlameSum) => string };

const alone: Column[] = [
  { name: "Self", of: (s) => s.selfNs, text: (s) => time(s.selfNs) },
  { name: "Total", of: (s) => s.totalNs, text: (s) => time(s.totalNs) },
  { name: "Calls", of: (s) => s.calls, text: (s) => count(s.calls) },
];

function compared(f: Flame): Column[] {
  const both = (a: (s: FlameSum) => number, b: (s: FlameSum) => number | undefined, name: string, write: (n: number) => string): Column[] => {
    const by = (s: FlameSum) => (b(s) ?? 0) - a(s), as: Flame = { ...f, by: write === count ? "count" : "time" };
    return [{ name: `${name}, change`, of: (s) => Math.abs(by(s)), text: (s) => signed(as, by(s)) },
      { name: `${name} in a`, of: a, text: (s) => write(a(s)) }, { name: `${name} in b`, of: (s) => b(s) ?? 0, text: (s) => write(b(s) ?? 0) }];
  };
  return [...both((s) => s.selfNs, (s) => s.selfNsB, "Self", time), ...both((s) => s.calls, (s) => s.callsB, "Calls", count)];
}

const most = 200; // rows

export class Sums {
  readonly root: HTMLElement;
  private head = h("tr");
  private body = h("tbody");
  private more = h("p", { class: "sub" });
  private by = "";
  private down = true;
  private flame: Flame | null = null;

  constructor(private pick: (name: string) => void) {
    this.root = h("div", { class: "tablebox sums", tabindex: 0, role: "region", "aria-label": "Table of functions" },
      h("table", {}, h("thead", {}, this.head), this.body), this.more);
  }

  show(f: Flame): void {
    if (!!this.flame?.b !== !!f.b || this.flame?.by !== f.by) {
      this.by = f.b ? f.by === "count" ? "Calls, change" : "Self, change" : f.by === "count" ? "Calls" : "Self";
      this.down = true;
    }
    this.flame = f;
    keepingFocus(this.root, () => this.draw(f));
  }

  private draw(f: Flame): void {
    const columns = f.b ? compared(f) : alone, c = columns.find((o) => o.name === this.by);
    const rows = [...f.functions].sort((a, b) => (c ? c.of(b) - c.of(a) : b.function.localeCompare(a.function)) * (this.down ? 1 : -1));
    const heading = (name: string, right: boolean) => h("th", { scope: "col", class: right ? "n" : "",
      "aria-sort": this.by === name ? this.down ? "descending" : "ascending" : "none" },
    h("button", { type: "button", class: "sort", "data-key": `by ${name}`, onclick: () => {
      this.down = this.by === name ? !this.down : right;
      this.by = name;
      this.show(f);
    } }, name, h("span", { class: "arrow", "aria-hidden": "true" }, this.by === name ? this.down ? "▾" : "▴" : "")));
    fill(this.head, heading("Function", false), columns.map((o) => heading(o.name, true)));
    fill(this.body, rows.slice(0, most).map((s) => h("tr", {}, h("td", { class: "what" },
      h("button", { type: "button", class: "link", "data-key": s.function, title: s.function, onclick: () => this.pick(s.function) }, shortName(s.function))),
    columns.map((o) => h("td", { class: `n ${/^[+−]/.exec(o.text(s)) && o.name.endsWith("change") ? o.text(s)[0] === "+" ? "more-b" : "less-b" : ""}` }, o.text(s))))));
    this.more.textContent = f.of > Math.min(most, rows.length) ? `${plural(f.of - Math.min(most, rows.length), "function")} more.` : "";
  }
}
