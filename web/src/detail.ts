// One event with all around it: values, source, callers, callees.

import * as api from "./api";
import type { Event, One } from "./api";
import { byId, copyButton, count, exactTime, fill, h, plural, say, shortName, time } from "./dom";
import { markNames } from "./draw";
import { pretty, tree } from "./values";

export interface Actions {
  select(id: number): void;
  close(): void;
  caused(id: number): void; // events under a call
  same(name: string): void; // calls of a function
  focusTimeline(): void;
}

let turn = 0;

/** show loads an event into the panel, and returns it. */
export async function show(session: string, id: number, does: Actions): Promise<One | null> {
  const panel = byId("detail"), mine = ++turn;
  panel.hidden = false;
  try {
    const one = await api.event(session, id);
    if (mine !== turn) return null;
    fill(panel, head(one, does), ...body(session, id, one, does));
    const e = one.enter ?? one.exit ?? one.event;
    say(`Selected ${e?.function ?? markNames[e?.eventType ?? ""] ?? "event"}`);
    return one;
  } catch (e) {
    if (mine !== turn) return null;
    const f = e as api.Failure;
    fill(panel, h("div", { class: "head" }, h("h2", {}, `Event ${id}`), closer(does)),
      h("p", { class: "failure", role: "alert" }, `${f.message} ${f.hint ?? ""}`));
    return null;
  }
}

export function hide(): void {
  turn++;
  byId("detail").hidden = true;
  byId("detail").replaceChildren();
}

function closer(does: Actions): HTMLElement {
  return h("button", { type: "button", class: "close", "aria-label": "Close details", title: "Close details (Esc)",
    onclick: does.close }, "×");
}

function head(one: One, does: Actions): HTMLElement {
  const e = (one.enter ?? one.exit ?? one.event)!;
  const title = e.function ?? markNames[e.eventType] ?? e.eventType;
  return h("div", { class: "head" }, h("h2", { title }, shortName(title)), closer(does));
}

function row(name: string, ...value: (Node | string)[]): HTMLElement[] {
  return [h("dt", {}, name), h("dd", {}, ...value)];
}

function body(session: string, id: number, one: One, does: Actions): HTMLElement[] {
  const e = (one.enter ?? one.exit ?? one.event)!, parts: HTMLElement[] = [];
  const thread = e.threadName ? `${e.threadName} (${e.threadId})` : e.threadId ? String(e.threadId) : "none";
  const isCall = !one.event;
  parts.push(h("dl", {},
    ...row(isCall ? "Began" : "At", exactTime(isCall && one.exit && !one.enter ? one.exit.timestampNs - (one.exit.durationNs ?? 0) :
      e.timestampNs)),
    ...(isCall ? row("Took", one.exit ? time(one.exit.durationNs ?? 0, 6) : "has not returned") : []),
    ...row("Thread", thread), ...(e.pid ? row("Process", String(e.pid)) : []),
    ...row("Events", [one.enter?.id, one.exit?.id, one.event?.id].filter(Boolean).map((n) => `#${n}`).join(" to "))));
  if (one.exit?.unwound) parts.push(h("p", { class: "warn" }, "Left by an exception."));
  if (one.exit?.lost) parts.push(h("p", { class: "warn" }, "The record of its end was lost: there is no result."));
  if (isCall) {
    const a = Object.entries(one.enter?.arguments ?? {});
    parts.push(section("Arguments", a.length === 0 ? h("p", { class: "none" }, one.enter ? "none" : "not recorded") :
      h("div", { class: "values" }, a.map(([k, v]) => tree(k, v)))));
    const result = one.exit?.returnValue, thrown = one.exit?.exception;
    if (one.exit) {
      parts.push(section(thrown !== undefined ? "Exception" : "Result", h("div", { class: "values" },
        thrown !== undefined ? tree("exception", thrown, true) : result !== undefined ? tree("result", result, true) :
          h("p", { class: "none" }, one.exit.returnType === "void" ? "void" : "not recorded"))));
    }
    const watched = Object.entries({ ...one.enter?.watchValues, ...one.exit?.watchValues });
    if (watched.length) parts.push(section("Watches", h("div", { class: "values" }, watched.map(([k, v]) => tree(k, v)))));
  } else {
    parts.push(other(one.event!));
  }
  if (e.sourceFile) parts.push(source(session, id, e));
  const path = one.callers.map((c) => h("li", {}, link(c.function ?? "?", c.id, does), c.line ?
    h("span", { class: "sub" }, ` line ${c.line}`) : null));
  parts.push(section(isCall ? "Callers" : "In the call", path.length ? h("ol", { class: "path" }, path) :
    h("p", { class: "none" }, "none that is recorded")));
  if (isCall) parts.push(callees(one, does));
  parts.push(more(session, one, e, does));
  return parts;
}

function section(title: string, ...content: HTMLElement[]): HTMLElement {
  return h("section", {}, h("h3", {}, title), ...content);
}

function link(name: string, id: number, does: Actions): HTMLElement {
  return h("button", { type: "button", class: "link", title: name, onclick: () => does.select(id) }, shortName(name));
}

/** other is an event that is no call: its text, and what else it has. */
function other(e: Event): HTMLElement {
  if (e.text !== undefined) return section("Text", h("pre", { class: "output", tabindex: 0, role: "group", "aria-label": "Text" }, e.text));
  const known = new Set(["id", "timestampNs", "eventType", "threadId", "threadName", "pid", "parentEventId"]);
  const rest = Object.entries(e).filter(([k]) => !known.has(k));
  return section("What", rest.length ? h("div", { class: "values" }, rest.map(([k, v]) => tree(k, v, k === "backtrace"))) :
    h("p", { class: "none" }, "no more is known"));
}

function source(session: string, id: number, e: Event): HTMLElement {
  const code = h("div", { class: "code" }, h("p", { class: "none" }, "…"));
  const place = `${e.sourceFile}${e.line ? `:${e.line}` : ""}`;
  api.source(session, id).then((s) => {
    fill(code, h("pre", { tabindex: 0, role: "group", "aria-label": `Source of ${s.file}` }, s.lines.map((text, i) =>
      h("span", { class: s.first + i === s.line ? "line here" : "line" },
        h("span", { class: "no" }, String(s.first + i)), `${text}\n`))));
  }, (f: api.Failure) => fill(code, h("p", { class: "none" }, `${f.message}. ${f.hint ?? ""}`)));
  // An editor that shows the page opens the file.
  const open = (window as { openSource?: (file: string, line: number) => void }).openSource;
  return section("Source", open ? h("button", { type: "button", class: "link place", title: `Open ${place}`,
    onclick: () => open(e.sourceFile!, e.line ?? 1) }, place) : h("p", { class: "place", title: place }, place), code);
}

function callees(one: One, does: Actions): HTMLElement {
  if (one.callees.length === 0) return section("Callees", h("p", { class: "none" }, "none that is recorded"));
  const table = h("table", { class: "small" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Function"),
    h("th", { scope: "col", class: "n" }, "Calls"), h("th", { scope: "col", class: "n" }, "Total"))),
  h("tbody", {}, one.callees.slice(0, 50).map((c) => h("tr", {}, h("td", {}, link(c.function, c.longestId, does)),
    h("td", { class: "n" }, count(c.calls)), h("td", { class: "n" }, time(c.totalNs))))));
  const rest = one.callees.length > 50 ? `${plural(one.callees.length - 50, "function")} more. ` : "";
  return section("Callees", table, h("p", { class: "sub" }, `${rest}A name leads to the longest call. ${one.more ?? ""}`));
}

function more(session: string, one: One, e: Event, does: Actions): HTMLElement {
  const q = one.enter ? { sessionId: session, under: one.enter.id, view: "tree" } :
    { sessionId: session, afterEventId: e.id - 1, limit: 1, verbose: true };
  return section("For an agent", h("pre", { class: "query", tabindex: 0, role: "group", "aria-label": "Query" }, `debug_query ${pretty(q)}`),
    h("p", { class: "row" }, copyButton(() => JSON.stringify(q)),
      one.enter && h("button", { type: "button", class: "small", onclick: () => does.caused(one.enter!.id) }, "Events in this call"),
      e.function && h("button", { type: "button", class: "small", onclick: () => does.same(e.function!) }, "All calls of it")));
}
