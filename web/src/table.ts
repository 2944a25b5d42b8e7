// The table of events, with the filters of debug_query, and the question as an agent would ask it.

import * as api from "./api";
import type { Event } from "./api";
import { copyButton, count, fill, h, plural, say, shortName, time } from "./dom";
import { kept, state } from "./state";
import { args, brief, pretty } from "./values";

export const kinds = ["function_enter", "function_exit", "stdout", "stderr", "crash", "exception", "pause", "logpoint",
  "condition_error", "variable_snapshot", "variable_write", "process", "yield", "data", "state", "dropped"];

type Filter = Record<string, unknown>;

/** Filters is the form that makes a debug_query. */
export class Filters {
  readonly root: HTMLElement;
  private query = h("pre", { class: "query", tabindex: 0, role: "group", "aria-label": "Query as JSON" });
  private fields: { read(f: Filter): void; write(f: Filter): void }[] = [];
  private timer = 0;

  constructor(private session: string, private changed: () => void, private view?: string) {
    const form = h("form", { class: "filters", "aria-label": "Filters" });
    const name = () => this.pair("Function", "function", ["contains", "equals", "matches"]);
    const times = () => [this.moment("From", "timeFrom"), this.moment("To", "timeTo")];
    if (view === "flame") { // of whole threads, not of single events
      form.append(name(), ...times(), this.number("Thread", "threadId"), this.pair("Thread name", "threadName", ["contains"]),
        this.number("Process", "pid"), this.pair("Source file", "sourceFile", ["contains", "equals"]));
    } else {
      form.append(this.choice(), name(), this.pair("Text", "text", ["contains", "matches"]), ...times(), this.rest());
    }
    form.addEventListener("submit", (e) => e.preventDefault());
    form.addEventListener("input", () => { clearTimeout(this.timer); this.timer = window.setTimeout(() => this.apply(), 250); });
    this.root = h("div", { class: "question" }, form, h("details", {}, h("summary", {}, "As a query for an agent"), this.query,
      h("p", { class: "row" }, copyButton(() => JSON.stringify(this.asked())),
        h("button", { type: "button", class: "small", onclick: () => this.reset() }, "Clear filters"))));
    this.show();
  }

  private rest(): HTMLElement {
    const more = h("details", { class: "more" }, h("summary", {}, "More filters"), h("div", { class: "filters" },
      this.number("Longer than, ns", "minDurationNs"), this.number("Shorter than, ns", "maxDurationNs"),
      this.pair("Thread name", "threadName", ["contains"]), this.number("Thread", "threadId"), this.number("Process", "pid"),
      this.pair("Source file", "sourceFile", ["contains", "equals"]), this.number("In call, event", "under"),
      this.value("Argument", "argument", true), this.value("Result", "returnValue", false)));
    const usual = ["eventType", "function", "text", "timeFrom", "timeTo"];
    if (Object.keys(state.filter).some((k) => !usual.includes(k))) more.setAttribute("open", "");
    return more;
  }

  /** asked is the question. */
  asked(): Filter {
    const own = this.view === "flame" ? state.against ? { view: "diff", against: state.against } : { view: "tree" } :
      this.view ? { view: this.view } : {};
    return { sessionId: this.session, ...(this.view === "flame" ? this.ofThreads() : state.filter), ...own };
  }

  /** ofThreads are the filters that select whole threads. */
  ofThreads(): Filter {
    const whole = ["function", "sourceFile", "threadId", "threadName", "pid", "timeFrom", "timeTo"];
    return Object.fromEntries(Object.entries(state.filter).filter(([k]) => whole.includes(k)));
  }

  show(): void {
    for (const f of this.fields) f.write(state.filter);
    this.query.textContent = `debug_query ${pretty(this.asked())}`;
  }

  private apply(): void {
    const f: Filter = {};
    for (const field of this.fields) field.read(f);
    state.filter = f;
    kept();
    this.query.textContent = `debug_query ${pretty(this.asked())}`;
    this.changed();
  }

  reset(): void {
    state.filter = {};
    kept();
    this.show();
    this.changed();
  }

  private choice(): HTMLElement {
    const boxes = kinds.map((k) => h("input", { type: "checkbox", value: k }) as HTMLInputElement);
    const sum = h("summary", {}, "Every kind");
    const label = () => {
      const on = boxes.filter((b) => b.checked).map((b) => b.value);
      sum.textContent = on.length === 0 ? "Every kind" : on.length < 3 ? on.join(", ") : plural(on.length, "kind");
    };
    this.fields.push({
      read: (f) => {
        const on = boxes.filter((b) => b.checked).map((b) => b.value);
        if (on.length) f.eventType = on;
        label();
      },
      write: (f) => {
        const on = [f.eventType ?? []].flat();
        boxes.forEach((b) => { b.checked = on.includes(b.value); });
        label();
      },
    });
    return h("details", { class: "kinds" }, sum, h("div", { role: "group", "aria-label": "Kinds of events" },
      boxes.map((b) => h("label", {}, b, b.value))));
  }

  private pair(label: string, name: string, ways: string[]): HTMLElement {
    const way = h("select", { "aria-label": `${label}: how` }, ways.map((w) => h("option", {}, w))) as HTMLSelectElement;
    const text = h("input", { type: "text", "aria-label": label, size: 14, spellcheck: "false" }) as HTMLInputElement;
    this.fields.push({
      read: (f) => { if (text.value) f[name] = { [way.value]: text.value }; },
      write: (f) => {
        const had = f[name] as string | Record<string, string> | undefined;
        const [w, v] = typeof had === "string" ? ["equals", had] : Object.entries(had ?? {})[0] ?? [ways[0]!, ""];
        way.value = w;
        text.value = v;
      },
    });
    return h("span", { class: "field" }, h("span", { class: "label", "aria-hidden": "true" }, label),
      ways.length > 1 ? way : null, text);
  }

  private number(label: string, name: string): HTMLElement {
    const text = h("input", { type: "text", inputmode: "numeric", size: 8 }) as HTMLInputElement;
    this.fields.push({
      read: (f) => { const n = Number(text.value); if (text.value.trim() && Number.isFinite(n)) f[name] = n; },
      write: (f) => { text.value = f[name] === undefined ? "" : String(f[name]); },
    });
    return h("label", { class: "field" }, h("span", { class: "label" }, label), text);
  }

  private moment(label: string, name: string): HTMLElement {
    const text = h("input", { type: "text", size: 11, placeholder: "ns or -5s" }) as HTMLInputElement;
    this.fields.push({
      read: (f) => { const v = text.value.trim(); if (v) f[name] = /^\d+$/.test(v) ? Number(v) : v; },
      write: (f) => { text.value = f[name] === undefined ? "" : String(f[name]); },
    });
    return h("label", { class: "field" }, h("span", { class: "label" }, label), text);
  }

  private value(label: string, name: string, named: boolean): HTMLElement {
    const ways = ["equals", "notEquals", "greaterThan", "lessThan"];
    const which = h("input", { type: "text", size: 8, placeholder: "name", "aria-label": `${label}: name` }) as HTMLInputElement;
    const way = h("select", { "aria-label": `${label}: how` }, ways.map((w) => h("option", {}, w))) as HTMLSelectElement;
    const text = h("input", { type: "text", size: 10, "aria-label": `${label}: value` }) as HTMLInputElement;
    this.fields.push({
      read: (f) => {
        if (!text.value || named && !which.value) return;
        let v: unknown = text.value;
        try { v = JSON.parse(text.value); } catch { /* a word */ }
        f[name] = { ...(named ? { name: which.value } : {}), [way.value]: v };
      },
      write: (f) => {
        const had = (f[name] ?? {}) as Record<string, unknown>;
        which.value = String(had.name ?? "");
        const w = ways.find((o) => o in had);
        way.value = w ?? "equals";
        text.value = w === undefined ? "" : JSON.stringify(had[w]);
      },
    });
    return h("span", { class: "field" }, h("span", { class: "label", "aria-hidden": "true" }, label), named ? which : null, way, text);
  }
}

/** mostLive is how many rows a table has before it no longer grows by itself. */
const mostLive = 2000;

/** Table lists events. */
export class Table {
  readonly root: HTMLElement;
  private body = h("tbody");
  private sum = h("p", { class: "sum", role: "status" });
  private more = h("button", { type: "button" }, "Show more");
  private busy: AbortController | null = null;
  private last = 0;
  private shown = 0;
  private box: HTMLElement;
  private filters: Filters;

  constructor(session: string, private select: (id: number) => void) {
    this.filters = new Filters(session, () => this.load());
    this.more.addEventListener("click", () => this.next());
    const col = (name: string, c = "") => h("th", { scope: "col", class: c }, name);
    this.box = h("div", { class: "tablebox", tabindex: 0, role: "region", "aria-label": "Table of events" },
      h("table", {}, h("thead", {}, h("tr", {}, col("Time", "n"), col("Event"), col("What"), col("Values"), col("Took", "n"),
        col("Thread", "n"))), this.body));
    this.root = h("section", { class: "events", "aria-label": "Events" }, this.filters.root, this.sum, this.box, this.more);
    this.load();
  }

  async load(): Promise<void> {
    this.last = this.shown = 0;
    await this.next(true);
  }

  /** renew adds what has come where the end is shown, as far as a table is of use, and counts the rest. */
  async renew(): Promise<void> {
    if (this.busy) return;
    const grows = this.more.hidden && this.shown < mostLive, box = this.box;
    const atEnd = box.scrollTop > 0 && box.scrollTop + box.clientHeight >= box.scrollHeight - 40;
    await this.next(false, grows ? 200 : 1, grows);
    if (atEnd && grows) box.scrollTop = box.scrollHeight;
  }

  private async next(anew = false, limit = 200, take = true): Promise<void> {
    this.busy?.abort();
    const mine = this.busy = new AbortController();
    const q = { ...this.filters.asked(), limit, verbose: true, ...(anew ? {} : { afterEventId: this.last }) };
    try {
      const r = await api.events(q, mine.signal);
      if (anew) this.body.replaceChildren();
      const before = this.shown;
      if (take) {
        for (const e of r.events) this.body.append(this.row(e));
        this.last = r.lastEventId ?? this.last;
        this.shown += r.events.length;
      }
      this.more.hidden = take ? !r.hasMore : r.totalCount === 0;
      const total = before + r.totalCount;
      const text = total === 0 ? r.hint || "No event matches." : `${count(this.shown)} of ${plural(total, "event")}`;
      if (this.sum.textContent !== text) fill(this.sum, text);
      this.sum.classList.remove("failure");
    } catch (e) {
      if ((e as Error).name === "AbortError") return;
      const f = e as api.Failure;
      fill(this.sum, `${f.message} ${f.hint ?? ""}`);
      this.sum.classList.add("failure");
      if (anew) this.body.replaceChildren();
      this.more.hidden = true;
    } finally {
      if (this.busy === mine) this.busy = null;
    }
  }

  private row(e: Event): HTMLElement {
    const short = ["what", "reason", "signal", "message"].find((k) => typeof e[k] === "string");
    const name = e.function ? shortName(e.function) : e.text !== undefined ? e.text.trimEnd() : short ? String(e[short]) : "";
    const result = e.exception !== undefined ? `threw ${brief(e.exception, 90)}` : e.unwound ? "left by an exception" :
      e.returnValue !== undefined ? `→ ${brief(e.returnValue, 90)}` : "";
    const known = ["id", "timestampNs", "eventType", "pid", "threadId", "threadName", "parentEventId", short ?? ""];
    const parts = Object.entries(e).filter(([k]) => !known.includes(k));
    const rest = e.eventType.startsWith("function_") || e.text !== undefined ? "" : args(Object.fromEntries(parts), 140);
    return h("tr", { class: `kind-${e.eventType}`, onclick: () => this.select(e.id) },
      h("td", { class: "n" }, h("button", { type: "button", class: "link", "aria-label": `Event ${e.id} at ${time(e.timestampNs, 7)}`,
        onclick: (c: MouseEvent) => { c.stopPropagation(); this.select(e.id); say(`Event ${e.id}`); } }, time(e.timestampNs, 7))),
      h("td", {}, h("span", { class: "tag" }, e.eventType)), h("td", { class: "what", title: e.function ?? "" }, name),
      h("td", { class: "vals" }, e.arguments ? args(e.arguments, 140) : result || rest),
      h("td", { class: "n" }, e.durationNs === undefined ? "" : time(e.durationNs)),
      h("td", { class: "n", title: e.threadName }, e.threadId ? String(e.threadId) : ""));
  }
}
