// Values, times and numbers in a few words.

import { Exact } from "./daemon";

/** brief writes a value in at most that many characters. */
export function brief(v: unknown, most = 60): string {
  const text = write(v, most, 0);
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

function write(v: unknown, most: number, depth: number): string {
  if (typeof v === "string") return /^(0x[0-9a-f]+|<.*>)$/.test(v) ? v : JSON.stringify(v);
  if (v instanceof Exact) return v.text;
  if (Array.isArray(v)) return depth > 3 ? "[…]" : `[${list(v.map((e) => [``, e]), most, depth)}]`;
  if (v && typeof v === "object") return depth > 3 ? "{…}" : `{${list(Object.entries(v), most, depth)}}`;
  return String(v);
}

function list(parts: [string, unknown][], most: number, depth: number): string {
  let out = "";
  for (const [k, v] of parts) {
    if (out.length > most) return out + "…";
    out += (out ? ", " : "") + (k ? `${k}: ` : "") + write(v, most, depth + 1);
  }
  return out;
}

/** args writes the arguments of a call. */
export function args(a: Record<string, unknown>, most = 60): string {
  const text = Object.entries(a).map(([k, v]) => `${k}=${brief(v, most)}`).join(", ");
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

/** time writes nanoseconds. */
export function time(ns: number): string {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]] as const) {
    if (ns >= size) return `${Number((ns / size).toPrecision(3))} ${unit}`;
  }
  return `${ns} ns`;
}

/** bytes writes a size. */
export function bytes(n: number): string {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]] as const) {
    if (n >= size) return `${Number((n / size).toPrecision(3))} ${unit}`;
  }
  return `${n} bytes`;
}

/** plural writes a number of things. */
export function plural(n: number, what: string): string { return `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`; }
