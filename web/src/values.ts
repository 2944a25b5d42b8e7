// Values of the program as text and as trees.

import { Exact } from "./api";
import { h } from "./dom";

/** inline writes a value in one line. */
export function inline(v: unknown, room = 120): string {
  const text = write(v);
  return text.length > room ? `${text.slice(0, room - 1)}…` : text;
}

function write(v: unknown): string {
  if (v instanceof Exact) return v.text;
  if (typeof v === "string") return isMarker(v) ? v : JSON.stringify(v);
  if (Array.isArray(v)) return `[${v.map(write).join(", ")}]`;
  if (v && typeof v === "object") return `{${Object.entries(v).map(([k, e]) => `${k}: ${write(e)}`).join(", ")}}`;
  return String(v);
}

function isMarker(v: string): boolean {
  return /^<.*>$/.test(v) || /^0x[0-9a-f]+/.test(v);
}

/** pretty is JSON that keeps exact numbers. */
export function pretty(v: unknown): string {
  const exact: string[] = [];
  const text = JSON.stringify(v, (_, e) => e instanceof Exact ? `\u0000${exact.push(e.text) - 1}\u0000` : e, 2);
  return text.replace(/"\\u0000(\d+)\\u0000"/g, (_, n) => exact[Number(n)]!);
}

/** brief writes a value as debug_query shortens it: what has parts is text already. */
export function brief(v: unknown, room = 120): string {
  return typeof v === "string" && /^[[{]/.test(v) ? v : inline(v, room);
}

/** args is a call's arguments in one line. */
export function args(a: Record<string, unknown> | undefined, room = 120): string {
  if (!a) return "";
  const text = Object.entries(a).map(([k, v]) => `${k}=${brief(v, room)}`).join(", ");
  return text.length > room ? `${text.slice(0, room - 1)}…` : text;
}

/** tree is a value that can be opened part by part. */
export function tree(name: string, v: unknown, open = false): HTMLElement {
  const parts = v && typeof v === "object" && !(v instanceof Exact) ? Object.entries(v) : [];
  if (parts.length === 0) {
    return h("div", { class: "leaf" }, h("span", { class: "key" }, name), h("span", { class: `value ${kind(v)}` }, inline(v, 4000)));
  }
  const d = h("details", open ? { open: true } : {}, h("summary", {}, h("span", { class: "key" }, name),
    h("span", { class: "value" }, inline(v, 60))));
  let made = false;
  const make = () => {
    if (made) return;
    made = true;
    d.append(h("div", { class: "parts" }, parts.slice(0, 500).map(([k, e]) => tree(k, e)),
      parts.length > 500 && h("div", { class: "leaf" }, `and ${parts.length - 500} more`)));
  };
  if (open) make();
  d.addEventListener("toggle", make);
  return d;
}

function kind(v: unknown): string {
  if (v instanceof Exact || typeof v === "number") return "number";
  if (typeof v === "string") return isMarker(v) ? "marker" : "text";
  return "word";
}
