// The timeline: what is seen of it, and how it is moved. Pictures are asked for as the view changes; until one comes,
// those that are there are stretched.

import * as api from "./api";
import type { Lane, Lanes, Picture } from "./api";
import { count, fill, h, plural, say, shortName, time } from "./dom";
import { type Hit, type Scene, draw, hit, newTheme, x } from "./draw";
import { Layout, axisHeight, maxLevels } from "./layout";
import { described, neighbour } from "./pick";
import { kept, state } from "./state";

const shortest = 40; // nanoseconds that the whole width may be
const keys = "Arrow keys move, plus and minus zoom, 0 shows all, N and P select the next and previous call of a row, " +
  "Shift with up and down the caller and the callee, Enter zooms to the selected call, Escape lets go of it.";

export interface Hooks {
  select(id: number): void;
  ranged(from: number, to: number): void;
}

export class Timeline {
  readonly root: HTMLElement;
  private canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "Timeline of calls",
    "aria-description": keys }) as HTMLCanvasElement;
  private gutter = h("div", { class: "gutter" });
  private labels = h("ul", { class: "labels", "aria-label": "Threads and tasks" });
  private inner = h("div", { class: "inner" });
  private scroller = h("div", { class: "scroller" });
  private tip = h("div", { class: "tip", hidden: true });
  private note = h("p", { class: "note" });
  private range = h("span", { class: "range" });
  private found = h("span", { class: "found", role: "status" });
  private search = h("input", { type: "search", id: "find", placeholder: "Find a function", "aria-label": "Find a function",
    autocomplete: "off", spellcheck: "false" }) as HTMLInputElement;
  private followBox = h("button", { type: "button", "aria-pressed": "false", title: "Stay at the newest (F)" }, "Follow");
  private lanesBox = h("button", { type: "button", "aria-pressed": "false" }, "");
  private layout = new Layout();
  private scene: Scene;
  private lanes: Lanes = { lanes: [], newest: 0, lastId: 0, over: true };
  private fine: Picture | null = null;
  private coarse: Picture | null = null;
  private asked: { lanes: Set<number>; bucket: number; lastId: number } | null = null;
  private busy: AbortController | null = null;
  private drawn = 0; // the frame that is asked for
  private gone = false;
  private following = false;
  private watch: ResizeObserver;
  frames = 0; // drawn so far, for those who measure
  firstAt = 0; // when the first picture was drawn, in milliseconds since the page was asked for

  constructor(private session: string, private hooks: Hooks) {
    this.scene = {
      // The first picture is asked for before the page is laid out, which takes a browser that has just begun a while.
      ctx: this.canvas.getContext("2d", { alpha: false })!, width: Math.max(300, innerWidth - 220), height: innerHeight,
      scroll: 0, from: 0, to: 1, layout: this.layout, pictures: [], selected: state.event, other: 0, hover: null,
      range: null, found: null, names: new Map(), newest: 0, live: false,
    };
    const button = (label: string, title: string, does: () => void) =>
      h("button", { type: "button", title, "aria-label": title, onclick: does }, label);
    this.search.value = state.search;
    this.root = h("section", { class: "timeline", "aria-label": "Timeline" },
      h("div", { class: "bar", role: "toolbar", "aria-label": "Timeline" },
        this.search, this.found, h("span", { class: "gap" }), this.range, this.lanesBox, this.followBox,
        h("span", { class: "group" }, button("−", "Zoom out", () => this.zoom(2)), button("+", "Zoom in", () => this.zoom(0.5)),
          button("All", "Show all (0)", () => this.showAll()))),
      this.scroller, this.note, this.tip);
    this.gutter.append(h("div", { class: "gutterhead" }, "Thread"), this.labels);
    this.inner.append(this.gutter, this.canvas);
    this.scroller.append(this.inner);
    this.listen();
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(this.scroller);
  }

  /** start shows the lanes that there are. */
  start(lanes: Lanes): void {
    this.grown(lanes, true);
    if (state.to > 0) this.view(state.from, state.to);
    else this.showAll();
    if (state.search) this.find();
  }

  /** grown takes what has come. */
  grown(lanes: Lanes, first = false): void {
    const wasAll = !first && this.atAll();
    const before = this.lanes.newest;
    this.lanes = lanes;
    this.scene.newest = lanes.newest;
    this.scene.live = !lanes.over;
    this.followBox.hidden = lanes.over;
    this.layout.set(lanes.lanes);
    this.placeLabels();
    if (first) {
      this.following = !lanes.over && state.to === 0;
    } else if (this.following && lanes.newest > before) {
      const span = this.scene.to - this.scene.from;
      if (wasAll) this.view(this.first(), lanes.newest);
      else this.view(lanes.newest - span, lanes.newest);
    }
    if (lanes.over) this.following = false;
    this.followBox.setAttribute("aria-pressed", String(this.following));
    this.note.textContent = this.noteText();
    this.note.hidden = this.note.textContent === "";
    if (!first) this.refresh();
  }

  private noteText(): string {
    const l = this.lanes;
    if (l.lanes.length === 0) return "Nothing is recorded yet. `strobe trace` adds functions while the program runs.";
    if (!l.lanes.some((o) => o.calls > 0)) {
      return "No calls are recorded, only other events: `strobe run --trace PATTERN` or `strobe trace` records them.";
    }
    if (l.evicted) return `The ${count(l.evicted)} oldest call events were dropped by the session's limit.`;
    return this.fine?.cut ?? "";
  }

  stop(): void {
    this.gone = true;
    this.watch.disconnect();
    this.busy?.abort();
  }

  /** select shows that an event is selected; id 0: none is. */
  select(id: number, other = 0): void {
    this.scene.selected = id;
    this.scene.other = other;
    this.paint();
  }

  /** reveal moves to a stretch of a lane. */
  reveal(from: number, to: number, lane: number): void {
    const s = this.scene, span = s.to - s.from, room = to > from ? Math.max(to - from, shortest) : span / 9;
    if (to < s.from || from > s.to || room < span / 60) this.view(from - room * 4, to + room * 4);
    const p = this.layout.of(lane);
    if (p && (p.top < s.scroll || p.top > s.scroll + s.height - 80)) this.scroller.scrollTop = Math.max(0, p.top - 60);
  }

  theme(): void { newTheme(); this.paint(); }
  private first(): number {
    return Math.min(...this.layout.places.map((p) => p.lane?.from ?? Infinity), this.lanes.newest);
  }

  private atAll(): boolean {
    return this.scene.from <= this.first() && this.scene.to >= this.lanes.newest;
  }

  private showAll(): void {
    const from = this.first(), room = Math.max(1000, (this.lanes.newest - from) * 0.005);
    this.view(Math.max(0, from - room), this.lanes.newest + room);
    state.from = state.to = 0;
    kept();
  }

  /** view shows a stretch of time. */
  private view(from: number, to: number): void {
    let span = Math.max(to - from, shortest);
    const end = Math.max(this.lanes.newest, 1000);
    span = Math.min(span, end * 1.5);
    const middle = Math.min(Math.max((from + to) / 2, 0), end);
    this.scene.from = middle - span / 2;
    this.scene.to = middle + span / 2;
    state.from = Math.max(0, this.scene.from);
    state.to = this.scene.to;
    this.range.textContent = `${time(Math.max(0, this.scene.from), 6)} to ${time(this.scene.to, 6)} (${time(span)})`;
    kept();
    this.paint();
    this.refresh();
  }

  private zoom(by: number, at = this.scene.width / 2): void {
    const s = this.scene, ns = s.from + at / s.width * (s.to - s.from);
    this.following = this.following && by > 1;
    this.view(ns - (ns - s.from) * by, ns + (s.to - ns) * by);
  }

  private pan(pixels: number): void {
    const s = this.scene, by = pixels / s.width * (s.to - s.from);
    this.following = false;
    this.followBox.setAttribute("aria-pressed", "false");
    this.view(s.from + by, s.to + by);
  }

  private resize(): void {
    const ratio = window.devicePixelRatio || 1;
    const width = this.scroller.clientWidth - this.gutter.offsetWidth, height = this.scroller.clientHeight;
    if (width <= 0 || height <= 0) return;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.scene.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.scene.width = width;
    this.scene.height = height;
    this.frame();
    this.refresh();
  }

  /** paint has the next frame drawn. */
  private paint(): void {
    if (!this.drawn && !this.gone) this.drawn = requestAnimationFrame(() => this.frame());
  }

  private frame(): void {
    cancelAnimationFrame(this.drawn);
    this.drawn = 0;
    if (this.scene.width <= 0) return;
    this.scene.pictures = [this.coarse, this.fine].filter((p): p is Picture => p !== null);
    draw(this.scene);
    this.frames++;
  }

  /** refresh asks for a picture, if those that are there do not show the view well enough. */
  private async refresh(): Promise<void> {
    const s = this.scene, span = s.to - s.from;
    if (this.busy || this.gone || s.width <= 0 || this.lanes.lanes.length === 0) return;
    const seen = this.layout.between(s.scroll - s.height / 2, s.scroll + s.height * 1.5).filter((p) => p.lane);
    const bucket = span / (s.width / 2);
    const p = this.fine, a = this.asked;
    const good = p && a && p.from <= Math.max(0, s.from) && (p.to >= s.to || p.to >= this.lanes.newest) &&
      a.bucket <= bucket * 1.2 && a.bucket >= bucket * 0.3 && seen.every((o) => a.lanes.has(o.lane!.lane)) &&
      (a.lastId === this.lanes.lastId || p.to < p.newest);
    if (good) return;
    const wanted = new Set(seen.map((o) => o.lane!.lane));
    const from = Math.max(0, s.from - span / 2), to = Math.max(from, s.to + span / 2);
    const asked = { lanes: wanted, bucket, lastId: this.lanes.lastId };
    this.busy = new AbortController();
    try {
      const fine = await api.picture(this.session, from, to, Math.min(4096, Math.max(1, Math.round((to - from) / bucket))),
        maxLevels, [...wanted], this.busy.signal);
      this.fine = fine;
      this.asked = asked;
      this.took(fine);
      if (!this.coarse || this.lanes.newest > this.coarse.newest * 1.2) {
        const all = this.lanes.lanes.filter((l) => l.calls > 0).slice(0, 64).map((l) => l.lane);
        this.coarse = await api.picture(this.session, 0, this.lanes.newest, 256, 8, all, this.busy.signal);
        this.took(this.coarse);
      }
    } catch (e) {
      if ((e as Error).name !== "AbortError") {
        this.note.hidden = false;
        this.note.textContent = e instanceof api.Failure ? `${e.message} ${e.hint}` : String(e);
        this.busy = null;
        return;
      }
    }
    this.busy = null;
    if (!this.gone) this.refresh();
  }

  private took(p: Picture): void {
    for (const f of p.functions) this.scene.names.set(f.id, f.name);
    if (this.layout.deepen(p.lanes, p.marks.some((m) => m.lane < 0))) this.placeLabels();
    if (this.scene.found) this.mark();
    this.note.textContent = this.noteText();
    this.note.hidden = this.note.textContent === "";
    this.frame();
    this.firstAt ||= performance.now();
  }

  private placeLabels(): void {
    const many = this.layout.hidden;
    this.lanesBox.hidden = many === 0 || many === this.lanes.lanes.length;
    this.lanesBox.textContent = `Show ${plural(many, "thread")} without calls`;
    this.lanesBox.setAttribute("aria-pressed", String(this.layout.all));
    this.inner.style.height = `${this.layout.height + axisHeight}px`;
    fill(this.labels, this.layout.places.flatMap((p) => {
      if (p.height === 0) return [];
      const li = h("li", { class: p.lane ? "lane" : "process" });
      li.style.top = `${axisHeight + p.top}px`;
      li.style.height = `${p.height}px`;
      if (!p.lane) li.append(p.pid ? `Process ${p.pid}` : "Of no thread");
      else li.append(this.label(p.lane, p.folded, p.height >= 37));
      return [li];
    }));
  }

  private label(l: Lane, folded: boolean, high: boolean): HTMLElement {
    const task = l.task ? / \((.*)\)$/.exec(l.name)?.[1] : undefined, calls = plural(l.calls, "call");
    const title = `${l.task ? "Task" : "Thread"} ${l.name}, ${l.threadId} of process ${l.pid}, ${calls}`;
    return h("button", { type: "button", class: `${task ? "task" : ""} ${high ? "high" : ""}`, "aria-expanded": String(!folded), title,
      onclick: () => { this.layout.fold(l.lane); this.placeLabels(); this.paint(); this.refresh(); } },
    h("span", { class: "name" }, task ?? (l.name || "thread")), h("span", { class: "sub" },
      task ? calls : l.calls ? `${l.threadId} · ${calls}` : String(l.threadId)));
  }

  private listen(): void {
    const c = this.canvas;
    this.scroller.addEventListener("scroll", () => {
      this.scene.scroll = this.scroller.scrollTop;
      this.frame();
      this.refresh();
    });
    c.addEventListener("wheel", (e) => {
      if (e.shiftKey && e.deltaY && !e.deltaX) { this.scroller.scrollTop += e.deltaY; e.preventDefault(); return; }
      e.preventDefault();
      const unit = e.deltaMode === 1 ? 16 : 1;
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.pan(e.deltaX * unit);
      else this.zoom(Math.exp(Math.max(-120, Math.min(120, e.deltaY * unit)) / 300), e.offsetX);
    }, { passive: false });
    this.drag();
    c.addEventListener("mousemove", (e) => { if (!e.buttons) this.hover(e); });
    c.addEventListener("mouseleave", () => this.hover(null));
    c.addEventListener("keydown", (e) => this.key(e));
    this.followBox.addEventListener("click", () => this.follow());
    this.lanesBox.addEventListener("click", () => {
      this.layout.all = !this.layout.all;
      this.layout.set(this.lanes.lanes);
      this.placeLabels();
      this.paint();
      this.refresh();
    });
    this.search.addEventListener("input", () => { state.search = this.search.value; kept(); this.find(); });
    this.search.addEventListener("keydown", (e) => {
      if (e.key === "Enter") this.next();
      else if (e.key === "Escape") { this.search.value = state.search = ""; kept(); this.find(); c.focus(); }
    });
  }

  private follow(): void {
    this.following = !this.following && !this.lanes.over;
    this.followBox.setAttribute("aria-pressed", String(this.following));
    if (this.following) {
      const span = this.scene.to - this.scene.from;
      this.view(this.lanes.newest - span, this.lanes.newest);
    }
  }

  /** drag moves the view; with Shift it measures. */
  private drag(): void {
    const c = this.canvas;
    c.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      c.setPointerCapture(e.pointerId);
      const measures = e.shiftKey, began = this.at(e.offsetX), startX = e.offsetX, startY = e.offsetY;
      let lastX = e.offsetX, lastY = e.offsetY, moved = false;
      const move = (m: PointerEvent) => {
        if (!moved && Math.abs(m.offsetX - startX) < 4 && Math.abs(m.offsetY - startY) < 4) return;
        moved = true;
        this.hover(null);
        if (measures) {
          this.scene.range = { from: began, to: this.at(m.offsetX) };
          this.paint();
          return;
        }
        c.classList.add("dragged");
        this.pan(lastX - m.offsetX);
        this.scroller.scrollTop += lastY - m.offsetY;
        lastX = m.offsetX;
        lastY = m.offsetY;
      };
      const up = (m: PointerEvent) => {
        c.removeEventListener("pointermove", move);
        c.classList.remove("dragged");
        if (!moved) {
          this.scene.range = null;
          this.click(hit(this.scene, m.offsetX, m.offsetY));
        } else if (measures && this.scene.range) {
          const r = this.scene.range;
          this.hooks.ranged(Math.round(Math.min(r.from, r.to)), Math.round(Math.max(r.from, r.to)));
        }
      };
      c.addEventListener("pointermove", move);
      c.addEventListener("pointerup", up, { once: true });
    });
  }

  private at(px: number): number {
    return this.scene.from + px / this.scene.width * (this.scene.to - this.scene.from);
  }

  private click(on: Hit | null): void {
    this.paint();
    if (!on) { this.hooks.select(0); return; }
    if (on.mark) {
      const room = (this.scene.to - this.scene.from) / 20;
      if (on.mark.count === 1) this.hooks.select(on.mark.id);
      else this.view(on.mark.timestampNs - room, on.mark.timestampNs + room);
      return;
    }
    const p = on.picture, i = on.span;
    if (p.calls[i]! > 1) {
      const room = Math.max(shortest, (p.end[i]! - p.begin[i]!) * 0.5);
      this.view(p.begin[i]! - room, p.end[i]! + room);
      say(`Zoomed in on ${plural(p.calls[i]!, "call")}`);
      return;
    }
    this.hooks.select(p.id[i]!);
  }

  private hover(e: MouseEvent | null): void {
    const on = e ? hit(this.scene, e.offsetX, e.offsetY) : null;
    const before = this.scene.hover;
    this.scene.hover = on;
    if (on?.span !== before?.span || on?.mark !== before?.mark || on?.picture !== before?.picture) this.paint();
    this.canvas.style.cursor = on ? "pointer" : "grab";
    this.tip.hidden = !on;
    if (!on || !e) return;
    fill(this.tip, ...described(on, this.scene.names));
    const box = this.root.getBoundingClientRect();
    const px = Math.min(e.clientX - box.left + 14, box.width - this.tip.offsetWidth - 8);
    let py = e.clientY - box.top + 18;
    if (py + this.tip.offsetHeight > box.height) py = e.clientY - box.top - this.tip.offsetHeight - 10;
    this.tip.style.left = `${Math.max(4, px)}px`;
    this.tip.style.top = `${py}px`;
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const s = this.scene, step = s.width / 6;
    const does: Record<string, () => void> = {
      ArrowLeft: () => this.pan(-step), ArrowRight: () => this.pan(step),
      ArrowUp: () => e.shiftKey ? this.step(0, -1) : this.scroller.scrollBy(0, -54),
      ArrowDown: () => e.shiftKey ? this.step(0, 1) : this.scroller.scrollBy(0, 54),
      "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6), _: () => this.zoom(1 / 0.6),
      "0": () => this.showAll(), Home: () => this.showAll(),
      n: () => this.step(1, 0), p: () => this.step(-1, 0), f: () => this.follow(),
      "/": () => this.search.focus(), Enter: () => this.zoomToSelected(),
      Escape: () => { s.range = null; this.hooks.select(0); },
    };
    const f = does[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!f) return;
    e.preventDefault();
    f();
  }

  /** selectedSpan is where the selected call stands in the fine picture, -1 where it does not. */
  private selectedSpan(): number {
    const p = this.fine, s = this.scene;
    return p && s.selected ? p.id.findIndex((id) => id === s.selected || id === s.other) : -1;
  }

  private zoomToSelected(): void {
    const i = this.selectedSpan(), p = this.fine;
    if (i < 0 || !p) return;
    const room = Math.max(shortest / 4, (p.end[i]! - p.begin[i]!) * 0.15);
    this.view(p.begin[i]! - room, p.end[i]! + room);
  }

  /** step selects the next call of a row, or one above or below. */
  private step(along: number, down: number): void {
    const p = this.fine;
    if (!p) return;
    const to = neighbour(p, this.selectedSpan(), this.scene, along, down);
    if (to < 0) { say("There is no other call in view"); return; }
    this.hooks.select(p.id[to]!);
    say(`${this.scene.names.get(p.fn[to]!)}, ${time(p.end[to]! - p.begin[to]!)}`);
  }

  /** mark finds the functions that the search is for among those that are drawn. */
  private mark(): void {
    const text = this.search.value.trim();
    this.scene.found = text === "" ? null : new Set([...this.scene.names].filter(([, n]) => n.includes(text)).map(([id]) => id));
  }

  private searching: AbortController | null = null;

  private async find(): Promise<void> {
    this.mark();
    this.paint();
    const text = this.search.value.trim();
    this.searching?.abort();
    this.found.textContent = "";
    if (text === "") return;
    const mine = this.searching = new AbortController();
    try {
      const r = await api.events({ sessionId: this.session, eventType: "function_enter", function: { contains: text }, limit: 1 },
        mine.signal);
      this.found.textContent = r.totalCount ? `${plural(r.totalCount, "call")} · Enter: next` : "no call";
    } catch (e) {
      if ((e as Error).name !== "AbortError") this.found.textContent = (e as Error).message;
    }
  }

  /** next goes to the first call that is found behind the selected one, else behind the middle of the view. */
  private async next(): Promise<void> {
    const text = this.search.value.trim();
    if (text === "") return;
    const q = { sessionId: this.session, eventType: "function_enter", function: { contains: text }, limit: 1 };
    const after = Math.max(this.scene.selected, this.scene.other);
    let r = await api.events({ ...q, ...(after ? { afterEventId: after } : { timeFrom: Math.max(1, Math.round(this.scene.from)) }) });
    if (r.events.length === 0) r = await api.events(q);
    const e = r.events[0];
    if (e) { say(`${shortName(e.function ?? "")} at ${time(e.timestampNs, 6)}`); this.hooks.select(e.id); }
  }

  /** place is where the middle of a call is on the page, for those who test. */
  place(id: number): { x: number; y: number } | null {
    const p = this.fine, i = p ? p.id.indexOf(id) : -1;
    if (!p || i < 0) return null;
    const lane = this.layout.of(p.lane[i]!), box = this.canvas.getBoundingClientRect(), s = this.scene;
    if (!lane) return null;
    const a = Math.max(0, x(s, p.begin[i]!)), b = Math.min(s.width, x(s, p.end[i]!));
    return { x: box.left + (a + b) / 2, y: box.top + axisHeight + lane.top - s.scroll + 14 + p.depth[i]! * 18 + 8 };
  }

  /** shown is the picture that is seen, for those who test. */
  shown(): { picture: Picture | null; from: number; to: number; busy: boolean } {
    return { picture: this.fine, from: this.scene.from, to: this.scene.to, busy: this.busy !== null };
  }
}
