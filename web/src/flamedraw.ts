// Drawing a flame graph on its canvas: the outermost calls on top, each as wide as what is in it.

import type { Flame } from "./api";
import { count, shortName, time } from "./dom";

export const row = 20;
const font = '11px ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** Boxes are where the nodes of a graph stand: from and to as shares of the width. */
export class Boxes {
  readonly from: Float64Array;
  readonly to: Float64Array;
  readonly depth: Uint32Array;
  readonly kids: number[][];
  levels = 0;

  constructor(readonly of: Flame) {
    const n = of.parent.length;
    this.from = new Float64Array(n);
    this.to = new Float64Array(n);
    this.depth = new Uint32Array(n);
    this.kids = Array.from({ length: n }, () => []);
    for (let i = 1; i < n; i++) this.kids[of.parent[i]!]!.push(i);
    const whole = this.weight(0);
    this.to[0] = 1;
    for (let i = 0; i < n; i++) { // a parent stands before its children
      const kids = this.kids[i]!.sort((a, b) => this.weight(b) - this.weight(a));
      let at = this.from[i]!;
      this.levels = Math.max(this.levels, this.depth[i]! + 1);
      for (const k of kids) {
        this.depth[k] = this.depth[i]! + 1;
        this.from[k] = at;
        at = this.to[k] = at + (whole > 0 ? this.weight(k) / whole : 0);
      }
    }
  }

  weight(i: number): number { return this.of.a.weight[i]! + (this.of.b?.weight[i] ?? 0); }

  /** change is how much more the other session has, from -1 to 1. */
  change(i: number): number {
    const a = this.of.a.weight[i]!, b = this.of.b!.weight[i]!;
    return a + b > 0 ? (b - a) / (a + b) : 0;
  }

  nameOf(i: number): string { return this.of.name[i]! < 0 ? "all calls" : this.of.names[this.of.name[i]!]!; }

  /** at finds the node at a place, -1 where there is none. */
  at(x: number, depth: number): number {
    if (depth >= this.levels || this.of.parent.length === 0) return -1;
    for (let i = 0, d = 0; ; d++) {
      if (d === depth) return i;
      const next = this.kids[i]!.find((k) => x >= this.from[k]! && x < this.to[k]!);
      if (next === undefined) return -1;
      i = next;
    }
  }
}

/** amount writes a weight: time, or calls. */
export function amount(of: Flame, n: number): string { return of.by === "count" ? count(n) : time(n); }

/** signed writes a difference with its sign, for who does not see colours. */
export function signed(of: Flame, by: number): string {
  return by === 0 ? "=" : `${by > 0 ? "+" : "−"}${amount(of, Math.abs(by))}`;
}

export interface FlameScene {
  ctx: CanvasRenderingContext2D;
  width: number;
  height: number;
  scroll: number;
  boxes: Boxes | null;
  picked: number;
  hover: number;
  found: Set<number> | null; // names
}

function style(name: string): string { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }

/** hue gives a name the same colour in every graph. */
function hue(name: string): number {
  let sum = 0;
  for (let i = 0; i < name.length; i++) sum = (sum * 31 + name.charCodeAt(i)) >>> 0;
  return sum % 10;
}

export function drawFlame(s: FlameScene): void {
  const c = s.ctx, b = s.boxes, ground = style("ground");
  c.fillStyle = ground;
  c.fillRect(0, 0, s.width, s.height);
  if (!b) return;
  const fills = Array.from({ length: 10 }, (_, i) => style(`fill${i}`)), dim = style("fill-dim"), onFill = style("on-fill");
  const faint = style("faint"), strong = style("strong"), hues = b.of.names.map(hue);
  c.font = font;
  c.textBaseline = "middle";
  const box = (i: number): void => {
    const y = b.depth[i]! * row - s.scroll, x = b.from[i]! * s.width, wide = (b.to[i]! - b.from[i]!) * s.width;
    if (wide < 0.4 || y > s.height) return;
    if (y > -row) {
      const name = b.of.name[i]!, off = s.found && !s.found.has(name);
      c.fillStyle = off || name < 0 || b.of.b ? dim : fills[hues[name]!]!;
      c.fillRect(x, y, Math.max(0.6, wide - 1), row - 1);
      if (b.of.b && !off) {
        const by = b.change(i);
        c.globalAlpha = Math.min(1, Math.abs(by) * 1.5);
        c.fillStyle = by > 0 ? fills[7]! : fills[0]!;
        c.fillRect(x, y, Math.max(0.6, wide - 1), row - 1);
        c.globalAlpha = 1;
      }
      label(i, x, y, wide, off ? faint : onFill);
      if (i === s.picked || i === s.hover) {
        c.strokeStyle = strong;
        c.lineWidth = i === s.picked ? 2 : 1;
        c.strokeRect(x + 1, y + 1, Math.max(1, wide - 3), row - 3);
      }
    }
    for (const k of b.kids[i]!) box(k);
  };
  const label = (i: number, x: number, y: number, wide: number, colour: string): void => {
    const at = Math.max(0, x), room = Math.floor((Math.min(wide, s.width - at) - 8) / 6.65);
    if (room < 3) return;
    const by = b.of.b ? b.of.b.weight[i]! - b.of.a.weight[i]! : 0;
    const sign = b.of.b ? by > 0 ? "+ " : by < 0 ? "− " : "= " : "", name = sign + shortName(b.nameOf(i));
    const more = ` ${b.of.b ? signed(b.of, by) : amount(b.of, b.weight(i))}`;
    c.fillStyle = colour;
    c.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name.length + more.length <= room ? name + more : name, at + 4, y + row / 2);
  };
  if (b.of.parent.length > 0) box(0);
}
