// The flame graph: merged call stacks of a session, or of two beside each other, and the functions in them as a list. The
// daemon merges; what is here is the largest of it, and more is asked for where it is zoomed to.

import * as api from "./api";
import type { Flame } from "./api";
import { count, fill, h, plural, say, shortName } from "./dom";
import { Boxes, type FlameScene, amount, drawFlame, row, signed } from "./flamedraw";
import { Sums } from "./flamelist";
import { kept, state } from "./state";
import { Filters } from "./table";

const keys = "Arrow keys go to callees, callers and what is beside, Enter zooms in, Escape zooms out, 0 shows all, slash " +
  "searches, N and P go to the next and previous that is found.";
const nodes = 4000; // what a screen shows; the rest is there when it is zoomed to

export class FlameGraph {
  readonly root: HTMLElement;
  private canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "Flame graph", "aria-description": keys }) as HTMLCanvasElement;
  private scroller = h("div", { class: "scroller" });
  private inner = h("div", { class: "flameinner" });
  private tip = h("div", { class: "tip", hidden: true });
  private path = h("nav", { class: "path-of", "aria-label": "Zoomed to" });
  private note = h("p", { class: "note", hidden: true });
  private sum = h("p", { class: "sum", role: "status" });
  private found = h("span", { class: "found", role: "status" });
  private search = h("input", { type: "search", placeholder: "Find a function", "aria-label": "Find a function",
    autocomplete: "off", spellcheck: "false" }) as HTMLInputElement;
  private other = h("select", { "aria-label": "Compare with session" }) as HTMLSelectElement;
  private ways = (["time", "count"] as const).map((by) => h("button", { type: "button", onclick: () => {
    state.by = by;
    this.ask();
  } }, by === "time" ? "By time" : "By calls"));
  private filters: Filters;
  private list: Sums;
  private scene: FlameScene;
  private flame: Flame | null = null;
  private busy: AbortController | null = null;
  private watch: ResizeObserver;

  constructor(private session: string) {
    this.filters = new Filters(session, () => { state.path = []; this.ask(); }, "flame");
    this.list = new Sums((name) => { this.search.value = name; this.searched(); });
    this.scene = { ctx: this.canvas.getContext("2d", { alpha: false })!, width: 0, height: 0, scroll: 0, boxes: null,
      picked: -1, hover: -1, found: null };
    this.search.value = state.search;
    this.other.append(h("option", { value: "" }, "no other session"));
    if (state.against) this.other.append(h("option", { value: state.against }, state.against));
    this.root = h("section", { class: "flame", "aria-label": "Flame graph" }, this.filters.root,
      h("div", { class: "bar", role: "toolbar", "aria-label": "Flame graph" }, this.search, this.found, h("span", { class: "gap" }),
        h("label", { class: "field" }, h("span", { class: "label" }, "Compare with"), this.other),
        h("span", { class: "group" }, this.ways)),
      this.path, this.sum, this.scroller, this.note, this.list.root, this.tip);
    this.inner.append(this.canvas);
    this.scroller.append(this.inner);
    this.listen();
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(this.scroller);
    this.ask();
    this.others();
  }

  stop(): void {
    this.watch.disconnect();
    this.busy?.abort();
  }

  theme(): void { this.paint(); }

  async renew(): Promise<void> { if (!this.busy) await this.ask(); }

  /** others offers the sessions that this one can be compared with. */
  private async others(): Promise<void> {
    const { sessions } = await api.sessions().catch(() => ({ sessions: [] }));
    fill(this.other, h("option", { value: "" }, "no other session"), sessions.filter((s) => s.sessionId !== this.session).map((s) =>
      h("option", { value: s.sessionId }, s.name ?? s.sessionId)));
    this.other.value = state.against;
  }

  /** ask gets the graph of what the state says. */
  private async ask(): Promise<void> {
    this.busy?.abort();
    const mine = this.busy = new AbortController();
    kept();
    this.filters.show();
    const q = { sessionId: this.session, by: state.by, path: state.path, nodes, ...this.filters.ofThreads(),
      ...(state.against ? { against: state.against } : {}) };
    try {
      this.took(await api.flame(q, mine.signal));
    } catch (e) {
      if ((e as Error).name === "AbortError") return;
      const f = e as api.Failure;
      this.flame = this.scene.boxes = null;
      this.sum.classList.add("failure");
      fill(this.sum, `${f.message} ${f.hint ?? ""}`);
      this.paint();
    }
    if (this.busy === mine) this.busy = null;
  }

  private took(f: Flame): void {
    const was = this.scene.boxes, picked = was && this.scene.picked >= 0 ? this.names(this.scene.picked).join("\n") : "";
    this.flame = f;
    const b = this.scene.boxes = new Boxes(f);
    this.scene.hover = -1;
    this.scene.picked = picked ? f.parent.findIndex((_, i) => this.names(i).join("\n") === picked) : -1;
    this.ways.forEach((w, i) => w.setAttribute("aria-pressed", String((i === 0) === (f.by === "time"))));
    const text = f.a.all + (f.b?.all ?? 0) === 0 ? "No call matches." : this.summed(f);
    this.sum.classList.remove("failure");
    if (this.sum.textContent !== text) this.sum.textContent = text;
    const cut = f.nodes - f.parent.length;
    this.note.textContent = [...cut > 0 ? [`The ${count(f.parent.length)} largest of ${plural(f.nodes, "stack")} are drawn; zoom to see more.`] : [],
      ...f.notes ?? []].join(" ");
    this.note.hidden = this.note.textContent === "";
    this.inner.style.height = `${b.levels * row}px`;
    this.crumbs();
    this.list.show(f);
    this.mark();
    this.resize();
  }

  private summed(f: Flame): string {
    const what = f.by === "time" ? "in calls" : "calls", of = plural(f.of, "function");
    if (!f.b) return `${amount(f, f.a.weight[0]!)} ${what}, ${of}`;
    return `${amount(f, f.a.weight[0]!)} ${what} here (a), ${amount(f, f.b.weight[0]!)} in ${state.against} (b): ` +
      `${signed(f, f.b.weight[0]! - f.a.weight[0]!)}. Red and + is more in b, blue and − is less.`;
  }

  private crumbs(): void {
    const to = (path: string[]) => () => { state.path = path; this.ask(); };
    this.path.hidden = state.path.length === 0;
    fill(this.path, h("button", { type: "button", class: "link", onclick: to([]) }, "All calls"), state.path.flatMap((name, i) => [" › ",
      h("button", { type: "button", class: "link", title: name, "aria-current": i === state.path.length - 1 ? "true" : null,
        onclick: to(state.path.slice(0, i + 1)) }, shortName(name))]));
  }

  /** names are the path of a node below the first. */
  private names(i: number): string[] {
    const out: string[] = [];
    for (; i > 0; i = this.flame!.parent[i]!) out.unshift(this.scene.boxes!.nameOf(i));
    return out;
  }

  private zoom(i: number): void {
    if (i < 0) return;
    if (i === 0) { this.up(); return; }
    state.path = [...state.path, ...this.names(i)];
    this.scene.picked = 0;
    say(`Zoomed to ${this.scene.boxes!.nameOf(i)}`);
    this.ask();
  }

  private up(): void {
    if (state.path.length === 0) return;
    state.path = state.path.slice(0, -1);
    this.scene.picked = 0;
    say(`Zoomed to ${state.path.at(-1) ?? "all calls"}`);
    this.ask();
  }

  private resize(): void {
    const ratio = window.devicePixelRatio || 1, width = this.scroller.clientWidth, height = this.scroller.clientHeight;
    if (width <= 0 || height <= 0) return;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.scene.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.scene.width = width;
    this.scene.height = height;
    this.paint();
  }

  private paint(): void { drawFlame(this.scene); }

  private listen(): void {
    const c = this.canvas;
    const under = (e: MouseEvent) => this.scene.boxes?.at(e.offsetX / this.scene.width, Math.floor((e.offsetY + this.scene.scroll) / row)) ?? -1;
    this.scroller.addEventListener("scroll", () => { this.scene.scroll = this.scroller.scrollTop; this.paint(); });
    c.addEventListener("click", (e) => this.zoom(under(e)));
    c.addEventListener("mousemove", (e) => this.hover(e, under(e)));
    c.addEventListener("mouseleave", (e) => this.hover(e, -1));
    c.addEventListener("keydown", (e) => this.key(e));
    this.search.addEventListener("input", () => this.searched());
    this.search.addEventListener("keydown", (e) => {
      if (e.key === "Enter") { this.step(1); c.focus(); }
      if (e.key === "Escape") { this.search.value = ""; this.searched(); c.focus(); }
    });
    this.other.addEventListener("change", () => { state.against = this.other.value; state.path = []; this.ask(); });
  }

  private hover(e: MouseEvent, i: number): void {
    if (i !== this.scene.hover) { this.scene.hover = i; this.paint(); }
    this.canvas.style.cursor = i >= 0 ? "pointer" : "default";
    this.tip.hidden = i < 0;
    if (i < 0) return;
    fill(this.tip, h("strong", {}, this.scene.boxes!.nameOf(i)), this.told(i).map((t) => h("span", {}, t)));
    const box = this.root.getBoundingClientRect();
    this.tip.style.left = `${Math.max(4, Math.min(e.clientX - box.left + 14, box.width - this.tip.offsetWidth - 8))}px`;
    const below = e.clientY - box.top + 18;
    this.tip.style.top = `${below + this.tip.offsetHeight > box.height ? below - this.tip.offsetHeight - 28 : below}px`;
  }

  /** told is what is known of a node, in lines. */
  private told(i: number): string[] {
    const f = this.flame!, side = (s: api.FlameSide) => `${amount(f, s.weight[i]!)}${s.all ? ` (${(100 * s.weight[i]! / s.all).toFixed(1)} % of all)` : ""}` +
      (f.name[i]! < 0 ? "" : `, ${plural(s.calls[i]!, "call")}${f.by === "time" ? `, itself ${amount(f, s.selfNs[i]!)}` : ""}`);
    if (!f.b) return [side(f.a)];
    return [signed(f, f.b.weight[i]! - f.a.weight[i]!) + ` in b`, `a: ${side(f.a)}`, `b: ${side(f.b)}`];
  }

  private pick(i: number): void {
    const b = this.scene.boxes;
    if (!b || i < 0) return;
    this.scene.picked = i;
    const y = b.depth[i]! * row;
    if (y < this.scroller.scrollTop) this.scroller.scrollTop = y;
    if (y + row > this.scroller.scrollTop + this.scene.height) this.scroller.scrollTop = y + row - this.scene.height;
    say([b.nameOf(i), ...this.told(i)].join(", "));
    this.paint();
  }

  private key(e: KeyboardEvent): void {
    const b = this.scene.boxes;
    if (!b || !this.flame || e.ctrlKey || e.metaKey || e.altKey) return;
    const at = this.scene.picked, beside = (by: number) => {
      const all = at > 0 ? b.kids[this.flame!.parent[at]!]! : [];
      this.pick(all[all.indexOf(at) + by] ?? -1);
    };
    const does: Record<string, () => void> = {
      ArrowDown: () => this.pick(at < 0 ? 0 : b.kids[at]![0] ?? -1), ArrowUp: () => this.pick(at > 0 ? this.flame!.parent[at]! : 0),
      ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), Enter: () => { if (at > 0) this.zoom(at); },
      Escape: () => this.up(), Backspace: () => this.up(), "0": () => { state.path = []; this.ask(); }, Home: () => { state.path = []; this.ask(); },
      "/": () => this.search.focus(), n: () => this.step(1), p: () => this.step(-1),
    };
    const f = does[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!f) return;
    e.preventDefault();
    e.stopPropagation();
    f();
  }

  private searched(): void {
    state.search = this.search.value;
    kept();
    this.mark();
    this.paint();
  }

  /** mark finds what the search is for, and says how much is in it: of what is in another that is found, nothing. */
  private mark(): void {
    const text = this.search.value.trim(), f = this.flame, s = this.scene;
    s.found = text && f ? new Set(f.names.flatMap((n, i) => n.includes(text) ? [i] : [])) : null;
    this.found.textContent = "";
    if (!s.found || !f || !s.boxes) return;
    let weight = 0, n = 0;
    const inside = new Uint8Array(f.parent.length);
    for (let i = 0; i < f.parent.length; i++) {
      const hit = s.found.has(f.name[i]!), up = i > 0 && inside[f.parent[i]!]! > 0;
      if (hit) n++;
      if (hit && !up) weight += s.boxes.weight(i);
      inside[i] = hit || up ? 1 : 0;
    }
    const all = s.boxes.weight(0), least = f.nodes > f.parent.length ? "at least " : "";
    this.found.textContent = n ? `${plural(n, "stack")}, ${least}${(100 * weight / Math.max(1, all)).toFixed(1)} %` : "no function";
  }

  private step(by: number): void {
    const f = this.flame, s = this.scene;
    if (!f || !s.found) return;
    for (let k = 1, n = f.parent.length; k <= n; k++) {
      const i = (Math.max(0, s.picked) + by * k + n * k) % n;
      if (s.found.has(f.name[i]!)) { this.pick(i); return; }
    }
  }

  /** shown is the graph that is seen, and place where a node is on the page, for those who test. */
  shown(): { flame: Flame | null; picked: number; found: number; busy: boolean } {
    return { flame: this.flame, picked: this.scene.picked, found: this.scene.found?.size ?? 0, busy: this.busy !== null };
  }

  place(i: number): { x: number; y: number } {
    const b = this.scene.boxes!, box = this.canvas.getBoundingClientRect();
    return { x: box.left + (b.from[i]! + b.to[i]!) / 2 * this.scene.width, y: box.top + b.depth[i]! * row - this.scene.scroll + row / 2 };
  }
}
