// What is shown, as it stands in the address: a link shows another person the same.

export type View = "timeline" | "events" | "stats";

export interface State {
  session: string;
  view: View;
  from: number; // nanoseconds; to 0: all
  to: number;
  event: number; // 0: none is selected
  search: string;
  filter: Record<string, unknown>; // of a debug_query
}

export const state: State = read();

function read(): State {
  const p = new URLSearchParams(location.hash.slice(1));
  const number = (name: string) => { const n = Number(p.get(name)); return Number.isFinite(n) && n > 0 ? n : 0; };
  let filter: Record<string, unknown> = {};
  try {
    const f = JSON.parse(p.get("filter") ?? "{}");
    if (f && typeof f === "object" && !Array.isArray(f)) filter = f;
  } catch { /* a link that was cut */ }
  const view = p.get("view");
  return {
    session: p.get("s") ?? "", view: view === "events" || view === "stats" ? view : "timeline",
    from: number("from"), to: number("to"), event: number("event"), search: p.get("find") ?? "", filter,
  };
}

/** address is the state as the part of a link behind #. */
export function address(of: State): string {
  const p = new URLSearchParams();
  if (of.session) p.set("s", of.session);
  if (of.session && of.view !== "timeline") p.set("view", of.view);
  if (of.to > 0) { p.set("from", String(Math.floor(of.from))); p.set("to", String(Math.ceil(of.to))); }
  if (of.event) p.set("event", String(of.event));
  if (of.search) p.set("find", of.search);
  if (Object.keys(of.filter).length > 0) p.set("filter", JSON.stringify(of.filter));
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
