// The page: which session and which view is shown, and what a selected event changes.

import * as api from "./api";
import type { Lanes, Session } from "./api";
import { byId, bytes, count, fill, h, plural, say } from "./dom";
import * as detail from "./detail";
import { FlameGraph } from "./flame";
import { Renewer } from "./renew";
import { TestRun, runList } from "./runs";
import { type State, type View, address, go, kept, state, whenChanged } from "./state";
import { Statistics } from "./stats";
import { Table } from "./table";
import { Timeline } from "./timeline";

let timeline: Timeline | null = null;
let flame: FlameGraph | null = null;
let renewer: Renewer | null = null;
let run: TestRun | null = null;
let unfollow = () => {};
let loading = 0;
let status: api.Status | null = null;

const views: [View, string][] = [["timeline", "Timeline"], ["events", "Events"], ["stats", "Statistics"], ["flame", "Flame graph"]];

/** nothing is the state of a session that is opened anew. */
const nothing: Omit<State, "session"> = { run: "", view: "timeline", from: 0, to: 0, event: 0, search: "", filter: {}, by: "time", path: [], against: "" };

const actions: detail.Actions = {
  select, close: () => { select(0); },
  caused: (id) => go({ view: "events", filter: { under: id } }),
  same: (name) => go({ view: "events", filter: { eventType: "function_exit", function: { equals: name } } }),
  focusTimeline: () => timeline?.root.querySelector("canvas")?.focus(),
};

async function select(id: number): Promise<void> {
  state.event = id;
  kept();
  if (id === 0) {
    detail.hide();
    timeline?.select(0);
    return;
  }
  timeline?.select(id);
  const one = await detail.show(state.session, id, actions);
  if (!one || state.event !== id || !timeline) return;
  const at = one.exit ?? one.enter ?? one.event!;
  timeline.select(one.exit?.id ?? at.id, one.enter?.id ?? 0);
  const end = one.exit?.timestampNs ?? at.timestampNs;
  timeline.reveal(one.enter?.timestampNs ?? end - (one.exit?.durationNs ?? 0), end, one.lane);
}

function theme(): string {
  try { return localStorage.getItem("theme") ?? ""; } catch { return ""; }
}

function setTheme(name: string): void {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  try { localStorage.setItem("theme", name); } catch { /* no storage: until the page is closed */ }
  timeline?.theme();
  flame?.theme();
}

function themeButton(): HTMLElement {
  const label = () => ({ "": "Theme: system", light: "Theme: light", dark: "Theme: dark" })[theme()] ?? "Theme: system";
  const b = h("button", { type: "button", class: "theme" }, label());
  b.addEventListener("click", () => {
    setTheme({ "": "light", light: "dark", dark: "" }[theme()] ?? "");
    b.textContent = label();
  });
  return b;
}

function top(): void {
  const s = state, home = h("a", { class: "home", href: "#", onclick: (e: Event) => {
    e.preventDefault();
    go({ ...nothing, session: "" });
  } }, h("img", { src: "icon.svg", alt: "", width: 22, height: 22 }), "Strobe");
  const tabs = s.session ? h("nav", { "aria-label": "Views" }, views.map(([v, label]) => h("a", {
    href: address({ ...s, view: v } as State), "aria-current": s.view === v ? "page" : null, onclick: (e: MouseEvent) => {
      if (e.ctrlKey || e.metaKey || e.shiftKey) return;
      e.preventDefault();
      if (s.view !== v) go({ view: v });
    } }, label))) : null;
  fill(byId("top"), home, s.session ? h("h1", { title: s.session }, s.session) : s.run ? h("h1", { title: s.run }, s.run) : h("h1", { class: "unseen" }, "Sessions"),
    h("span", { class: "status", id: "status" }), h("span", { class: "gap" }), tabs, themeButton());
  showStatus();
}

function showStatus(lanes?: Lanes): void {
  const e = document.getElementById("status");
  if (!e || !status) return;
  const events = lanes ? lanes.lastId : Object.values(status.eventCount).reduce((a, b) => a + b, 0);
  const how = status.status === "exited" && status.exitCode !== undefined ? `exited with ${status.exitCode}` : status.signal ?
    `${status.status} by ${status.signal}` : status.status;
  fill(e, h("span", { class: `pill ${status.status}` }, how), h("span", { class: "sub" }, `${plural(events, "event")} · ${status.runtime}`,
    status.droppedEvents ? ` · ${plural(status.droppedEvents, "event")} lost` : ""));
}

async function show(): Promise<void> {
  const mine = ++loading, main = byId("main");
  unfollow();
  renewer?.stop();
  timeline?.stop();
  flame?.stop();
  run?.stop();
  timeline = flame = renewer = run = null;
  detail.hide();
  status = null;
  document.title = state.session ? `${state.session} · Strobe` : "Strobe";
  top();
  try {
    if (!state.session) {
      if (state.run) {
        run = new TestRun(state.run, (id) => go({ ...nothing, session: id }));
        fill(main, run.root);
        return;
      }
      const [all, tests] = await Promise.all([api.sessions(), api.runs()]);
      if (mine === loading) fill(main, h("div", { class: "home-lists" }, list(all.sessions), runList(tests.runs, (id) => go({ ...nothing, session: "", run: id }))));
      return;
    }
    const [got, lanes] = await Promise.all([api.status(state.session), api.lanes(state.session)]);
    if (mine !== loading) return;
    status = got;
    if (state.view === "timeline") {
      timeline = new Timeline(state.session, { select, ranged: (from, to) => {
        state.filter = { ...state.filter, timeFrom: from, timeTo: to };
        kept();
        say("The measured time is in the filters of events and statistics");
      } });
      fill(main, timeline.root);
      timeline.start(lanes);
      (window as unknown as { strobe: unknown }).strobe = timeline;
    } else if (state.view === "events") {
      const table = new Table(state.session, select);
      renewer = new Renewer(table);
      fill(main, table.root);
    } else if (state.view === "stats") {
      const stats = new Statistics(state.session, (name) => actions.same(name));
      renewer = new Renewer(stats);
      fill(main, stats.root);
    } else {
      flame = new FlameGraph(state.session);
      renewer = new Renewer(flame);
      fill(main, flame.root);
      (window as unknown as { flame: unknown }).flame = flame;
    }
    showStatus(lanes); // behind the view, which has asked for its picture then
    if (state.event) select(state.event);
    if (!lanes.over) live(mine);
  } catch (e) {
    if (mine !== loading) return;
    const f = e as api.Failure;
    fill(main, h("div", { class: "empty", role: "alert" }, h("h2", {}, "This cannot be shown"), h("p", {}, f.message),
      h("p", {}, f.hint ?? ""), h("p", {}, h("a", { href: "#", onclick: (c: Event) => {
        c.preventDefault();
        go({ session: "", event: 0 });
      } }, "All sessions"))));
  }
}

/** live follows a session that runs. */
function live(mine: number): void {
  const session = state.session;
  let asked = 0;
  unfollow = api.follow(session, (lanes) => {
    if (mine !== loading) return;
    showStatus(lanes);
    timeline?.grown(lanes);
    renewer?.grown();
    asked ||= window.setTimeout(async () => { // whether it is paused, once a second
      asked = 0;
      const now = await api.status(session).catch(() => null);
      if (mine !== loading || !now) return;
      status = now;
      showStatus();
    }, 1000);
  }, async () => {
    if (mine !== loading) return;
    status = await api.status(session).catch(() => status);
    showStatus();
  });
}

function list(sessions: Session[]): HTMLElement {
  if (sessions.length === 0) {
    return h("div", { class: "empty" }, h("h2", {}, "No session is recorded yet"),
      h("p", {}, "An agent that uses Strobe makes one, and so does a command:"),
      h("pre", {}, "strobe run --trace 'app::**' -- ./app"), h("p", {}, h("button", { type: "button", onclick: show }, "Look again")));
  }
  const col = (name: string, c = "") => h("th", { scope: "col", class: c }, name), warm = new Set<string>();
  const near = (s: Session) => { // it may be opened in a moment; what runs is another picture then
    if (!s.endedAt || warm.has(s.sessionId)) return;
    warm.add(s.sessionId);
    api.warm(s.sessionId);
  };
  near(sessions.reduce((a, b) => a.startedAt > b.startedAt ? a : b));
  return h("section", { class: "sessions", "aria-label": "Sessions" }, h("h2", {}, "Sessions"),
    h("table", {}, h("thead", {}, h("tr", {}, col("Session"), col("State"), col("Command"), col("Began"), col("Events", "n"),
      col("Size", "n"))), h("tbody", {}, sessions.map((s) => h("tr", {},
      h("td", {}, h("a", { href: `#s=${encodeURIComponent(s.sessionId)}`, onmouseenter: () => near(s), onfocus: () => near(s), onclick: (e: MouseEvent) => {
        if (e.ctrlKey || e.metaKey || e.shiftKey) return;
        e.preventDefault();
        go({ ...nothing, session: s.sessionId });
      } }, s.name ?? s.sessionId)),
      h("td", {}, h("span", { class: `pill ${s.status}` }, s.status)), h("td", { class: "what", title: s.command }, s.command),
      h("td", {}, new Date(s.startedAt).toLocaleString()), h("td", { class: "n" }, count(s.eventCount)),
      h("td", { class: "n" }, bytes(s.sizeBytes)))))));
}

document.addEventListener("keydown", (e) => {
  const at = e.target as HTMLElement;
  if (e.key === "Escape" && state.event && !["INPUT", "SELECT", "CANVAS"].includes(at.tagName)) {
    select(0);
    actions.focusTimeline();
  }
});
byId("skip").addEventListener("click", (e) => { e.preventDefault(); byId("main").focus(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { timeline?.theme(); flame?.theme(); });
if (theme()) setTheme(theme());
whenChanged(show);
show();
