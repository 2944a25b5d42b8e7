// The query panel's own side, in its webview.

declare function acquireVsCodeApi(): { postMessage(m: object): void; getState(): Kept | undefined; setState(s: Kept): void };

type Row = Record<string, unknown>;
type Kept = Record<string, string>;
interface Column { name: string; of: (r: Row) => number | string; text?: (r: Row) => string; number?: boolean }

const vs = acquireVsCodeApi();

function h(tag: string, attributes: Record<string, unknown> = {}, ...children: (Node | string)[]): HTMLElement {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (typeof v === "function") e.addEventListener(k, v as EventListener);
    else if (v !== undefined && v !== false) e.setAttribute(k, v === true ? "" : String(v));
  }
  e.append(...children);
  return e;
}

function time(ns: number, digits = 4): string {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]] as const) if (ns >= size) return `${Number((ns / size).toPrecision(digits))} ${unit}`;
  return `${ns} ns`;
}

const duration = (ns: number) => time(ns);
const text = (v: unknown): string => v === undefined ? "" : typeof v === "string" ? v : JSON.stringify(v);
const number = (name: string, key: string, how: (n: number) => string = (n) => n.toLocaleString("en")): Column =>
  ({ name, number: true, of: (r) => r[key] as number ?? -1, text: (r) => r[key] === undefined ? "" : how(r[key] as number) });

const columns: Record<string, Column[]> = {
  events: [
    number("Time", "timestampNs", (ns) => time(ns, 8)), { name: "Event", of: (r) => text(r.eventType) },
    { name: "What", of: (r) => text(r.function ?? r.text ?? r.what ?? r.reason ?? r.message).trimEnd() },
    { name: "Values", of: (r) => r.arguments ? Object.entries(r.arguments).map(([k, v]) => `${k}=${text(v)}`).join(", ") :
      r.exception !== undefined ? `threw ${text(r.exception)}` : r.unwound ? "left by an exception" :
        r.returnValue !== undefined ? `→ ${text(r.returnValue)}` : "" },
    number("Took", "durationNs", duration), number("Thread", "threadId", String),
  ],
  stats: [
    { name: "Function", of: (r) => text(r.function) }, number("Calls", "calls"), number("Errors", "errors"), number("Total", "totalNs", duration),
    number("Self", "selfNs", duration), number("Median", "p50Ns", duration), number("p99", "p99Ns", duration),
    { name: "Results", of: (r) => ((r.returns ?? []) as { value: string; count: number }[]).map((v) => `${v.value} ×${v.count}`).join(", ") },
  ],
};

const kinds = ["", "function_exit", "function_enter", "stdout", "stderr", "crash", "exception", "pause", "logpoint", "variable_write", "process"];

function choice(name: string, values: string[], labels: string[] = values): HTMLSelectElement {
  return h("select", { name, "aria-label": name }, ...values.map((v, i) => h("option", { value: v }, labels[i]!))) as HTMLSelectElement;
}

const session = choice("Session", []), view = choice("View", ["events", "stats"], ["Events", "Statistics"]);
const kind = choice("Kind", kinds, kinds.map((k) => k || "every kind"));
const input = (name: string, placeholder: string, size: number) =>
  h("input", { name, "aria-label": name, placeholder, size, spellcheck: "false" }) as HTMLInputElement;
const fn = input("Function", "function contains", 18), words = input("Text", "text contains", 14);
const result = input("Result", "result, as < 0", 12), took = input("Longer than", "longer than, µs", 12);
const json = input("More filters as JSON", `more, as {"threadId": 7}`, 26);
const asked = h("code", { class: "asked", tabindex: 0 }), said = h("p", { class: "said", role: "status" });
const head = h("tr"), rows = h("tbody");
const fields = [session, view, kind, fn, words, result, took, json];

let turn = 0, shown: Row[] = [], by = 0, down = false, drawn = "events";

/** question is the debug_query of the form; it throws where the JSON is none. */
function question(): Row {
  const q: Row = { sessionId: session.value };
  if (kind.value && view.value === "events") q.eventType = kind.value;
  if (fn.value) q.function = { contains: fn.value };
  if (words.value) q.text = { contains: words.value };
  const m = /^\s*(<|>|=|!=)?\s*(.+?)\s*$/.exec(result.value);
  if (m) {
    const how = { "<": "lessThan", ">": "greaterThan", "!=": "notEquals" }[m[1] ?? "="] ?? "equals";
    let v: unknown = m[2];
    try { v = JSON.parse(m[2]!); } catch { /* a word */ }
    q.returnValue = { [how]: v };
  }
  if (took.value) q.minDurationNs = Math.round(Number(took.value) * 1000);
  return json.value ? { ...q, ...JSON.parse(json.value) } : q;
}

function ask(): void {
  vs.setState(Object.fromEntries(fields.map((f) => [f.name, f.value])));
  if (!session.value) { said.textContent = "No session is recorded yet."; return; }
  try {
    const q = question();
    asked.textContent = `debug_query ${JSON.stringify(view.value === "stats" ? { ...q, view: "stats" } : q)}`;
    vs.postMessage({ ask: q, view: view.value, turn: ++turn });
  } catch (e) {
    said.textContent = `The further filters are no JSON: ${(e as Error).message}`;
  }
}

function draw(): void {
  const all = columns[drawn]!, c = all[by]!;
  shown.sort((a, b) => {
    const x = c.of(a), y = c.of(b), order = typeof x === "number" ? x - (y as number) : x.localeCompare(String(y));
    return down ? -order : order;
  });
  head.replaceChildren(...all.map((col, i) => h("th", { scope: "col", class: col.number && "n", "aria-sort": i === by ? down ? "descending" : "ascending" : "none" },
    h("button", { type: "button", click: () => { down = i === by ? !down : !!col.number; by = i; draw(); } }, col.name, i === by ? down ? " ▾" : " ▴" : ""))));
  rows.replaceChildren(...shown.map((r) => h("tr", {}, ...all.map((col, i) => {
    const t = col.text?.(r) ?? String(col.of(r));
    return h("td", { class: col.number && "n", title: t }, i === 0 ? h("button", { type: "button", class: "link", click: () => open(r),
      title: drawn === "events" ? "Show in the timeline" : "Its calls" }, t) :
      col.name === "What" && r.sourceFile ? h("button", { type: "button", class: "link", title: `${r.sourceFile}:${r.line}`,
        click: () => vs.postMessage({ open: r.sourceFile, line: r.line ?? 1 }) }, t) : t);
  }))));
}

function open(r: Row): void {
  if (drawn === "events") { vs.postMessage({ event: r.id, session: session.value }); return; }
  view.value = "events";
  kind.value = "function_exit";
  fn.value = text(r.function);
  ask();
}

function heard(m: { sessions?: string[]; chosen?: string; turn?: number; view: string; got: Row; failed?: string }): void {
  if (m.sessions) {
    const had = m.chosen && m.sessions.includes(m.chosen) ? m.chosen : session.value;
    const same = had === session.value && m.sessions.length === session.options.length;
    session.replaceChildren(...m.sessions.map((s) => h("option", { value: s }, s)));
    if (m.sessions.includes(had)) session.value = had;
    if (!same) ask();
    return;
  }
  if (m.turn !== turn) return;
  said.classList.toggle("failed", m.failed !== undefined);
  if (m.failed !== undefined) { said.textContent = m.failed; shown = []; draw(); return; }
  if (m.view !== drawn) { drawn = m.view; by = drawn === "stats" ? 3 : 0; down = drawn === "stats"; }
  shown = (drawn === "stats" ? m.got.rows : m.got.events) as Row[];
  const total = (drawn === "stats" ? m.got.of : m.got.totalCount) as number, what = drawn === "stats" ? "functions" : "events";
  said.textContent = shown.length === 0 ? text(m.got.hint) || `No ${what} match.` :
    `${shown.length.toLocaleString("en")} of ${total.toLocaleString("en")} ${what}${total > shown.length ? ", the first" : ""}`;
  draw();
}

const form = h("form", { "aria-label": "Query", submit: (e: Event) => { e.preventDefault(); ask(); } }, ...fields, h("button", {}, "Ask"));
for (const f of [session, view, kind]) f.addEventListener("change", ask);
document.getElementById("main")!.append(form, h("details", {}, h("summary", {}, "As a query for an agent"), asked), said,
  h("div", { class: "box", tabindex: 0, role: "region", "aria-label": "Answer" }, h("table", {}, h("thead", {}, head), rows)));
for (const [name, value] of Object.entries(vs.getState() ?? {})) {
  const f = fields.find((o) => o.name === name);
  if (f && f !== session) f.value = value;
}
addEventListener("message", (e) => heard(e.data));
vs.postMessage({ ready: true });
