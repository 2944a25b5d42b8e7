// What is shown, as it stands in the address: a link shows another person the same.

export const views = ["timeline", "events", "stats", "flame"] as const;
export type View = (typeof views)[number];

export interface State {
  session: string;
  run: string; // a test run, where no session is shown
  view: View;
  from: number; // nanoseconds; to 0: all
  to: number;
  event: number; // 0: none is selected
  search: string;
  filter: Record<string, unknown>; // of a debug_query
  by: "time" | "count"; // the flame graph
  path: string[]; // names down to the call that it is zoomed to
  against: string; // the session that it is compared with; "": none
}

export const state: State = read();

function read(): State {
  const p = new URLSearchParams(location.hash.slice(1));
  const number = (name: string) => { const n = Number(p.get(name)); return Number.isFinite(n) && n > 0 ? n : 0; };
  const json = (name: string): unknown => {
    try { return JSON.parse(p.get(name) ?? ""); } catch { return null; } // none, or a link that was cut
  };
  const filter = json("filter"), path = json("path");
  return {
    session: p.get("s") ?? "", run: p.get("run") ?? "", view: views.find((v) => v === p.get("view")) ?? "timeline",
    from: number("from"), to: number("to"), event: number("event"), search: p.get("find") ?? "",
    filter: filter && typeof filter === "object" && !Array.isArray(filter) ? filter as Record<string, unknown> : {},
    by: p.get("by") === "count" ? "count" : "time", path: Array.isArray(path) ? path.map(String) : [], against: p.get("against") ?? "",
  };
}

/** address is the state as the part of a link behind #. */
export function address(of: State): string {
  const p = new URLSearchParams();
  if (of.session) p.set("s", of.session);
  else if (of.run) p.set("run", of.run);
  if (of.session && of.view !== "timeline") p.set("view", of.view);
  if (of.to > 0) { p.set("from", String(Math.floor(of.from))); p.set("to", String(Math.ceil(of.to))); }
  if (of.event) p.set("event", String(of.event));
  if (of.search) p.set("find", of.search);
  if (Object.keys(of.filter).length > 0) p.set("filter", JSON.stringify(of.filter));
  if (of.view === "flame") {
    if (of.by !== "time") p.set("by", of.by);
    if (of.path.length > 0) p.set("path", JSON.stringify(of.path));
    if (of.against) p.set("against", of.against);
  }
  return "#" + p.toString();
}

let timer = 0;

/** kept writes the state into the address; a moment later, since browsers limit how often that is done. */
export function kept(): void {
  clearTimeout(timer);
  timer = window.setTimeout(() => history.replaceState(null, "", address(state)), 150);
}

/** go changes the state so that the browser's back button returns. */
export function go(change: Partial<State>): void {
  clearTimeout(timer);
  history.replaceState(null, "", address(state));
  Object.assign(state, change);
  history.pushState(null, "", address(state));
  changed();
}

let changed = () => {};

/** whenChanged is called when the state is another than what is shown. */
export function whenChanged(f: () => void): void {
  changed = f;
  window.addEventListener("popstate", () => {
    Object.assign(state, read());
    f();
  });
}
