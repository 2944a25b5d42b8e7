// Drawing the timeline on its canvas.

import type { Mark, Picture } from "./api";
import { shortName, time } from "./dom";
import { type Layout, axisHeight, lanePad, markHeight, rowHeight } from "./layout";

/** Scene is all that a frame shows. */
export interface Scene {
  ctx: CanvasRenderingContext2D;
  width: number;
  height: number;
  scroll: number;
  from: number;
  to: number;
  layout: Layout;
  pictures: Picture[]; // a coarse one below a fine one
  selected: number; // exit or enter of the selected call, or an event
  other: number; // its other end
  hover: Hit | null;
  range: { from: number; to: number } | null; // measured
  found: Set<number> | null; // functions that the search is for
  names: Map<number, string>;
  newest: number;
  live: boolean;
}

/** Hit is what is at a place. */
export interface Hit {
  picture: Picture;
  span: number; // -1: mark
  mark: Mark | null;
}

interface Theme {
  ground: string; band: string; line: string; text: string; faint: string; strong: string; accent: string; range: string;
  fills: string[]; dim: string; onFill: string; marks: Record<string, string>;
}

let theme: Theme | null = null;

/** newTheme has colours read again from the style sheet. */
export function newTheme(): void { theme = null; }

function themed(): Theme {
  if (theme) return theme;
  const style = getComputedStyle(document.documentElement);
  const v = (name: string) => style.getPropertyValue(`--${name}`).trim();
  theme = {
    ground: v("ground"), band: v("band"), line: v("line"), text: v("text"), faint: v("faint"), strong: v("strong"),
    accent: v("accent"), range: v("range"), dim: v("fill-dim"), onFill: v("on-fill"),
    fills: Array.from({ length: 10 }, (_, i) => v(`fill${i}`)),
    marks: {
      stdout: v("faint"), stderr: v("mark-stderr"), crash: v("mark-crash"), exception: v("mark-exception"),
      pause: v("mark-pause"), logpoint: v("mark-logpoint"), dropped: v("mark-crash"),
    },
  };
  return theme;
}

/** markNames are what people call the kinds of marks. */
export const markNames: Record<string, string> = {
  stdout: "output", stderr: "error output", crash: "crash", exception: "exception", pause: "pause", logpoint: "logpoint",
  process: "process", dropped: "lost events", variable_snapshot: "sample", variable_write: "write", yield: "yield",
  data: "data", state: "state", condition_error: "condition failed",
};

/** colour spreads functions over the colours: those that were traced together, and call each other, have different ones. */
const colour = (fn: number) => fn * 3 % 10;

const font = '11px ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const maxLabels = 1500;

/** x is where a moment is on the canvas. */
export function x(s: { from: number; to: number; width: number }, ns: number): number {
  return (ns - s.from) / (s.to - s.from) * s.width;
}

export function draw(s: Scene): void {
  const t = themed(), c = s.ctx;
  c.fillStyle = t.ground;
  c.fillRect(0, 0, s.width, s.height);
  drawBands(s, t);
  c.save();
  c.beginPath();
  c.rect(0, axisHeight, s.width, s.height - axisHeight);
  c.clip();
  drawGrid(s, t, true);
  for (let i = 0; i < s.pictures.length; i++) {
    const p = s.pictures[i]!, fine = s.pictures[i + 1];
    c.save();
    if (fine) { // beside the finer one only
      const a = x(s, fine.from), b = x(s, fine.to);
      if (a <= 0 && b >= s.width) { c.restore(); continue; }
      c.beginPath();
      c.rect(0, 0, Math.max(0, a), s.height);
      c.rect(Math.min(s.width, b), 0, s.width, s.height);
      c.clip();
    }
    drawSpans(s, t, p);
    drawMarks(s, t, p);
    c.restore();
  }
  if (s.range) drawRange(s, t);
  c.restore();
  drawAxis(s, t);
}

function drawBands(s: Scene, t: Theme): void {
  const c = s.ctx;
  for (const p of s.layout.between(s.scroll, s.scroll + s.height)) {
    const y = axisHeight + p.top - s.scroll;
    if (p.height === 0) continue;
    if (p.pid) {
      c.fillStyle = t.band;
      c.fillRect(0, y, s.width, p.height);
    }
    c.fillStyle = t.line;
    c.fillRect(0, y + p.height - 1, s.width, 1);
  }
}

/** steps are where lines of the grid are. */
function steps(s: Scene): { first: number; step: number } {
  const want = (s.to - s.from) / Math.max(2, s.width / 130);
  const base = 10 ** Math.floor(Math.log10(Math.max(1, want)));
  const step = [1, 2, 5, 10].map((f) => f * base).find((f) => f >= want) ?? base * 10;
  return { first: Math.ceil(s.from / step) * step, step };
}

function drawGrid(s: Scene, t: Theme, lines: boolean): void {
  const { first, step } = steps(s), c = s.ctx;
  for (let at = first, n = 0; at <= s.to && n < 200; at += step, n++) {
    const px = Math.round(x(s, at));
    if (lines) {
      c.fillStyle = t.line;
      c.fillRect(px, axisHeight, 1, s.height);
    } else {
      c.fillStyle = t.faint;
      c.fillRect(px, axisHeight - 6, 1, 5);
      c.fillText(time(at, 7), px + 4, axisHeight / 2);
    }
  }
}

function drawAxis(s: Scene, t: Theme): void {
  const c = s.ctx;
  c.fillStyle = t.band;
  c.fillRect(0, 0, s.width, axisHeight);
  c.font = font;
  c.textBaseline = "middle";
  drawGrid(s, t, false);
  c.fillStyle = t.line;
  c.fillRect(0, axisHeight - 1, s.width, 1);
}

/** fitted is a name in so many characters: whole, or its last part, or that part's beginning. */
function fitted(name: string, room: number): string {
  if (name.length <= room) return name;
  const last = name.slice(Math.max(name.lastIndexOf("::") + 2, name.lastIndexOf(".") + 1, 0));
  if (last && last.length <= room) return last;
  return room < 3 ? "" : `${(last || name).slice(0, room - 1)}…`;
}

// Buffers of drawSpans, by colour: x, y, width, height of rectangles.
const batches: number[][] = Array.from({ length: 11 }, () => []);

function drawSpans(s: Scene, t: Theme, p: Picture): void {
  const c = s.ctx, scale = s.width / (s.to - s.from);
  const tops = new Map<number, { y: number; rows: number }>();
  for (const place of s.layout.between(s.scroll, s.scroll + s.height)) {
    if (place.lane) tops.set(place.lane.lane, { y: axisHeight + place.top + markHeight - s.scroll, rows: place.rows });
  }
  for (const b of batches) b.length = 0;
  const labels: number[] = [];
  const fills = new Map<number, number>();
  for (const f of p.functions) fills.set(f.id, s.found && !s.found.has(f.id) ? 10 : colour(f.id));
  let lastLane = -1, top: { y: number; rows: number } | undefined;
  const picked: number[] = [];
  for (let i = 0; i < p.count; i++) {
    if (p.lane[i] !== lastLane) top = tops.get(lastLane = p.lane[i]!);
    if (!top || p.depth[i]! >= top.rows) continue;
    const end = p.calls[i] === 0 ? Math.max(s.newest, p.end[i]!) : p.end[i]!;
    let a = (p.begin[i]! - s.from) * scale, b = (end - s.from) * scale;
    if (b < 0 || a > s.width) continue;
    a = Math.max(a, -2);
    b = Math.min(b, s.width + 2);
    let wide = b - a;
    const y = top.y + p.depth[i]! * rowHeight;
    let height = rowHeight - 2, from = y;
    if (p.calls[i]! > 1) { // how busy it is, as height
      height = Math.max(4, Math.round(height * Math.min(1, p.busy[i]! / 65535)));
      from = y + rowHeight - 2 - height;
    }
    if (wide > 4 && p.calls[i]! < 2) wide -= 1;
    batches[fills.get(p.fn[i]!) ?? 0]!.push(a, from, Math.max(1, wide), height);
    if (wide > 28 && labels.length < maxLabels) labels.push(i, Math.max(a, 0), y, Math.min(wide, s.width - Math.max(a, 0)));
    if (p.calls[i]! < 2 && s.selected && (p.id[i] === s.selected || p.id[i] === s.other)) {
      picked.push(a, y, Math.max(2, wide));
    }
    if (s.hover?.picture === p && s.hover.span === i) picked.push(a, y, Math.max(2, wide));
  }
  batches.forEach((b, n) => {
    c.fillStyle = n === 10 ? t.dim : t.fills[n]!;
    for (let i = 0; i < b.length; i += 4) c.fillRect(b[i]!, b[i + 1]!, b[i + 2]!, b[i + 3]!);
  });
  c.font = font;
  c.textBaseline = "middle";
  for (let k = 0; k < labels.length; k += 4) {
    const i = labels[k]!, room = Math.floor((labels[k + 3]! - 8) / 6.65);
    const name = p.calls[i]! > 1 ? `${p.calls[i]} calls` : shortName(s.names.get(p.fn[i]!) ?? "?");
    const text = fitted(name, room);
    c.fillStyle = s.found && !s.found.has(p.fn[i]!) ? t.faint : t.onFill;
    if (text) c.fillText(text, labels[k + 1]! + 4, labels[k + 2]! + rowHeight / 2 - 0.5);
  }
  c.strokeStyle = t.strong;
  c.lineWidth = 2;
  for (let k = 0; k < picked.length; k += 3) c.strokeRect(picked[k]!, picked[k + 1]!, picked[k + 2]!, rowHeight - 2);
}

/** markAt is where a mark stands, null where it is not seen. */
export function markAt(s: Scene, m: Mark): { x: number; y: number } | null {
  const place = m.lane < 0 ? s.layout.places[0] : s.layout.of(m.lane);
  if (!place || place.height === 0) return null;
  return { x: x(s, m.timestampNs), y: axisHeight + place.top - s.scroll + lanePad / 2 + markHeight / 2 };
}

function drawMarks(s: Scene, t: Theme, p: Picture): void {
  const c = s.ctx;
  for (const m of p.marks) {
    const at = markAt(s, m);
    if (!at || at.x < -6 || at.x > s.width + 6 || at.y < 0 || at.y > s.height) continue;
    c.fillStyle = c.strokeStyle = t.marks[m.eventType] ?? t.accent;
    c.lineWidth = 2;
    const { x: px, y } = at, r = 4;
    c.beginPath();
    switch (m.eventType) {
      case "crash": case "dropped":
        c.moveTo(px - r, y - r); c.lineTo(px + r, y + r); c.moveTo(px + r, y - r); c.lineTo(px - r, y + r);
        c.stroke();
        break;
      case "pause":
        c.rect(px - 3, y - r, 2, 2 * r); c.rect(px + 1, y - r, 2, 2 * r);
        c.fill();
        break;
      case "exception": case "condition_error":
        c.moveTo(px, y - r - 1); c.lineTo(px + r + 1, y + r); c.lineTo(px - r - 1, y + r); c.closePath();
        c.fill();
        break;
      case "stdout": case "stderr":
        c.rect(px - 1, y - r, 2, 2 * r);
        c.fill();
        break;
      case "process":
        c.moveTo(px - 2, y - r); c.lineTo(px + r, y); c.lineTo(px - 2, y + r); c.closePath();
        c.fill();
        break;
      default:
        c.arc(px, y, 3, 0, 7);
        c.fill();
    }
    if (s.selected === m.id || s.hover?.mark === m) {
      c.strokeStyle = t.strong;
      c.strokeRect(px - 7, y - 7, 14, 14);
    }
  }
}

function drawRange(s: Scene, t: Theme): void {
  const c = s.ctx, a = x(s, Math.min(s.range!.from, s.range!.to)), b = x(s, Math.max(s.range!.from, s.range!.to));
  c.fillStyle = t.range;
  c.fillRect(a, axisHeight, b - a, s.height);
  c.fillStyle = t.strong;
  c.fillRect(a, axisHeight, 1, s.height);
  c.fillRect(b, axisHeight, 1, s.height);
  c.font = `600 12px system-ui, sans-serif`;
  c.textBaseline = "middle";
  const text = time(Math.abs(s.range!.to - s.range!.from), 5), wide = c.measureText(text).width + 12;
  const px = Math.min(s.width - wide, Math.max(0, (a + b) / 2 - wide / 2));
  c.fillStyle = t.strong;
  c.fillRect(px, axisHeight + 4, wide, 20);
  c.fillStyle = t.ground;
  c.fillText(text, px + 6, axisHeight + 14);
}

/** hit finds what is at a place of the canvas: marks before calls, the finest picture first. */
export function hit(s: Scene, px: number, py: number): Hit | null {
  for (let k = s.pictures.length - 1; k >= 0; k--) {
    const p = s.pictures[k]!;
    for (const m of p.marks) {
      const at = markAt(s, m);
      if (at && Math.abs(at.x - px) <= 5 && Math.abs(at.y - py) <= 7) return { picture: p, span: -1, mark: m };
    }
    const ns = s.from + px / s.width * (s.to - s.from), slack = 1.5 / s.width * (s.to - s.from);
    if (k > 0 && (ns < p.from || ns > p.to)) continue;
    const place = s.layout.between(s.scroll + py - axisHeight, s.scroll + py - axisHeight + 0.01).find((o) => o.lane);
    if (!place?.lane) return null;
    const depth = Math.floor((py - axisHeight + s.scroll - place.top - markHeight) / rowHeight);
    let best = -1, near = Infinity;
    for (let i = 0; i < p.count; i++) {
      if (p.lane[i] !== place.lane.lane || p.depth[i] !== depth || depth >= place.rows) continue;
      const end = p.calls[i] === 0 ? Math.max(s.newest, p.end[i]!) : p.end[i]!;
      const away = ns < p.begin[i]! ? p.begin[i]! - ns : ns > end ? ns - end : 0;
      if (away <= slack && away < near) { best = i; near = away; }
    }
    return best < 0 ? null : { picture: p, span: best, mark: null };
  }
  return null;
}
