// Who waits for whom, drawn: threads, and arrows to the threads that have to act. A deadlock is a ring of them.

import type { Wait } from "./api";
import { h } from "./dom";

const boxWidth = 190, boxHeight = 46, wide = 760;

function svg(tag: string, props: Record<string, string | number>, ...children: (Node | string)[]): SVGElement {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(props)) e.setAttribute(k, String(v));
  e.append(...children);
  return e;
}

const called = (w: Wait) => w.name ? `${w.name} (${w.threadId})` : `thread ${w.threadId}`;
const cut = (text: string, room: number) => text.length > room ? `${text.slice(0, room - 1)}…` : text;

interface Place { wait: Wait; x: number; y: number }

/** places puts threads of circles on a ring, and the others in rows below it. */
function places(waits: Wait[]): { at: Map<number, Place>; height: number } {
  const ring = waits.filter((w) => w.circle), rest = waits.filter((w) => !w.circle), at = new Map<number, Place>();
  const tall = ring.length > 3 ? 150 : ring.length > 2 ? 100 : 0, middle = 60 + tall;
  ring.forEach((wait, i) => {
    const turn = 2 * Math.PI * i / Math.max(1, ring.length) + Math.PI;
    at.set(wait.threadId, { wait, x: wide / 2 + (ring.length > 1 ? 250 * Math.cos(turn) : 0), y: middle + tall * Math.sin(turn) });
  });
  const top = ring.length ? 2 * middle + 30 : 50;
  rest.forEach((wait, i) => at.set(wait.threadId, { wait, x: 120 + 260 * (i % 3), y: top + 110 * Math.floor(i / 3) }));
  return { at, height: rest.length ? top + 110 * Math.floor((rest.length - 1) / 3) + 50 : 2 * middle };
}

/** edge is where the line from the middle of a box to another point leaves it. */
function edge(p: Place, x: number, y: number): [number, number] {
  const dx = x - p.x, dy = y - p.y, by = Math.min(boxWidth / 2 / Math.max(1e-6, Math.abs(dx)), boxHeight / 2 / Math.max(1e-6, Math.abs(dy)));
  return [p.x + dx * by, p.y + dy * by];
}

function arrow(from: Place, to: Place): SVGElement[] {
  const bend = from === to ? 0 : 42, dx = to.x - from.x, dy = to.y - from.y, long = Math.max(1, Math.hypot(dx, dy));
  const mx = (from.x + to.x) / 2 - dy / long * bend, my = (from.y + to.y) / 2 + dx / long * bend;
  if (from === to) {
    const y = from.y - boxHeight / 2;
    return [svg("path", { class: "wait circle", d: `M ${from.x - 30} ${y} C ${from.x - 50} ${y - 45} ${from.x + 50} ${y - 45} ${from.x + 30} ${y}`,
      "marker-end": "url(#arrow)" })];
  }
  const a = edge(from, mx, my), b = edge(to, mx, my);
  return [svg("path", { class: from.wait.circle ? "wait circle" : "wait", d: `M ${a[0]} ${a[1]} Q ${mx} ${my} ${b[0]} ${b[1]}`, "marker-end": "url(#arrow)" }),
    svg("text", { class: "what", x: mx - dy / long * 4, y: my + dx / long * 4 + 4, "text-anchor": "middle" }, cut(from.wait.waitsFor, 40))];
}

/** told is a wait in words, for who does not see the picture. */
function told(w: Wait, names: Map<number, string>): string {
  const held = w.heldBy === w.threadId ? ", which it holds itself" : w.heldBy ? `${/^(join|child)/.test(w.waitsFor) ? " of" : ", held by"} ${names.get(w.heldBy) ?? `thread ${w.heldBy}`}` : "";
  return `${called(w)} waits for ${w.waitsFor}${held}${w.at ? `, in ${w.at}` : ""}`;
}

/** drawWaits is the picture and the same as a list. */
export function drawWaits(waits: Wait[]): HTMLElement {
  const { at, height } = places(waits), names = new Map(waits.map((w) => [w.threadId, called(w)]));
  const circle = waits.some((w) => w.circle), parts: SVGElement[] = [];
  for (const p of at.values()) {
    const to = p.wait.heldBy ? at.get(p.wait.heldBy) : undefined;
    if (to) parts.push(...arrow(p, to));
  }
  for (const { wait, x, y } of at.values()) {
    const lost = wait.heldBy && !at.has(wait.heldBy) ? ` of ${wait.heldBy}` : "", own = wait.heldBy && at.has(wait.heldBy);
    parts.push(svg("rect", { class: wait.circle ? "thread circle" : "thread", x: x - boxWidth / 2, y: y - boxHeight / 2, width: boxWidth, height: boxHeight, rx: 6 }),
      svg("text", { class: "name", x, y: y - 4, "text-anchor": "middle" }, cut(called(wait), 28)),
      svg("text", { class: "at", x, y: y + 13, "text-anchor": "middle" }, cut(own ? wait.at ?? "" : `waits for ${wait.waitsFor}${lost}`, 32)));
  }
  const picture = svg("svg", { class: "waits", viewBox: `0 0 ${wide} ${height}`, role: "img",
    "aria-label": circle ? "Threads that wait for each other in a circle; the list below says the same" : "Threads that wait; the list below says the same" },
  svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" },
    svg("path", { class: "head", d: "M 0 0 L 10 5 L 0 10 z" }))), ...parts);
  const box = h("div", { class: "waitbox" });
  box.append(picture, h("ul", {}, waits.map((w) => h("li", {}, w.circle ? h("strong", {}, "In the circle: ") : null, told(w, names)))));
  return box;
}
