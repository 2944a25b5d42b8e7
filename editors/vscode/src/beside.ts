// What was recorded of a source file: hits and last values, by line.

import type { Daemon } from "./daemon";
import type { Events, One, Stat, Status } from "./shapes";
import { args, brief, plural, time } from "./values";

/** Seen is what stands beside a line. */
export interface Seen { line: number; text: string; detail: string; event: number }

/** maxFunctions bounds the questions that one file costs: two for each function. */
const maxFunctions = 24;

/** seen asks what a session recorded of a file. The functions that were called most come first; more says how many are left out. */
export async function seen(d: Daemon, session: string, file: string): Promise<{ seen: Seen[]; more: number }> {
  const filter = { sourceFile: { equals: file } };
  const { rows } = await d.call<{ rows: Stat[] }>("debug_timeline",
    { action: "stats", sessionId: session, filter: JSON.stringify(filter) });
  rows.sort((a, b) => b.calls - a.calls);
  const shown = await Promise.all(rows.slice(0, maxFunctions).map((r) => last(d, session, r, filter)));
  return { seen: shown.filter((s) => s !== null), more: Math.max(0, rows.length - maxFunctions) };
}

async function last(d: Daemon, session: string, of: Stat, filter: object): Promise<Seen | null> {
  const ask = (offset: number) => d.call<Events>("debug_query", { sessionId: session, ...filter,
    eventType: "function_exit", function: { equals: of.function }, offset, limit: 1 });
  let found = (await ask(Math.max(0, of.calls - 1))).events[0];
  found ??= (await ask(0)).events[0]; // calls that have not returned have no exit
  if (!found?.line) return null;
  const one = await d.call<One>("debug_timeline", { action: "event", sessionId: session, id: found.id });
  const given = args(one.enter?.arguments ?? {}, 70), exit = one.exit;
  const end = exit?.exception !== undefined ? `threw ${brief(exit.exception, 50)}` : exit?.unwound ? "left by an exception" :
    exit?.returnValue !== undefined ? `→ ${brief(exit.returnValue, 50)}` : "";
  return {
    line: found.line, event: found.id,
    text: `${plural(of.calls, "call")}${of.errors ? `, ${plural(of.errors, "error")}` : ""} · last (${given}) ${end}`.trimEnd(),
    detail: `**${of.function}**\n\n${plural(of.calls, "call")}, ${plural(of.errors, "exception")}; median ${time(of.p50Ns)}, ` +
      `p99 ${time(of.p99Ns)}, in all ${time(of.totalNs)}\n\nLast call: (${args(one.enter?.arguments ?? {}, 800)}) ${end}`,
  };
}

/** points are the hits of a session's breakpoints and logpoints in a file. */
export function points(s: Status, file: string): Seen[] {
  return [...s.breakpoints, ...s.logpoints].filter((p) => typeof p !== "string").filter((p) => p.line && p.file && same(p.file, file)).map((p) => ({
    line: p.line!, event: 0, text: plural(p.hits, "hit"), detail: `${p.id}: ${plural(p.hits, "hit")}${p.message ? ` of logpoint “${p.message}”` : ""}`,
  }));
}

function same(a: string, b: string): boolean { return a === b || b.endsWith(`/${a}`); }

/** defined finds the functions that a text defines, by its lines, for languages whose functions begin in one. */
export function defined(text: string, language: string): { line: number; name: string; pattern: string }[] {
  const found: { line: number; name: string; pattern: string }[] = [];
  const scopes: { depth: number; name: string }[] = []; // classes and namespaces around a line, by indentation
  text.split("\n").forEach((l, line) => {
    const depth = l.search(/\S/);
    if (depth < 0) return;
    while (scopes.length && depth <= scopes[scopes.length - 1]!.depth && !/^\s*[})\]]/.test(l)) scopes.pop();
    const scope = /^\s*(?:export\s+)?(?:default\s+)?(?:abstract\s+)?(?:class|struct|impl(?:<[^>]*>)?|mod)\s+(?:\w+\s+for\s+)?(\w+)/.exec(l);
    if (scope && !/;\s*$/.test(l)) scopes.push({ depth, name: scope[1]! });
    const name = nameIn(l, language);
    if (!name || depth > 12) return;
    const separator = language === "cpp" || language === "c" || language === "rust" ? "::" : ".";
    const inner = scopes[scopes.length - 1];
    const whole = (inner && inner.depth < depth && !name.includes(separator) ? inner.name + separator : "") + name;
    found.push({ line: line + 1, name: whole, pattern: pattern(whole, language) });
  });
  return found;
}

/** pattern selects a function by the name that the source has. */
export function pattern(name: string, language: string): string {
  if (language === "c") return name;
  return `${language === "cpp" || language === "rust" ? "**::" : "**."}${name}`;
}

function nameIn(l: string, language: string): string {
  const words = /^(if|for|while|switch|return|else|do|catch|sizeof|new|delete|throw|case|function|constructor|await|typeof)$/;
  const m = language === "python" ? /^\s*(?:async\s+)?def\s+(\w+)/.exec(l) :
    language === "rust" ? /^\s*(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|async\s+|unsafe\s+)*fn\s+(\w+)/.exec(l) :
    language === "go" ? /^func\s+(?:\([^)]*\)\s*)?(\w+)/.exec(l) :
    language === "c" || language === "cpp" ? /^\s*(?:[\w:<>,*&~\[\]]+\s+)+[*&]*((?:\w+::)*~?\w+)\s*\([^;]*$/.exec(l) :
    /^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*(\w+)/.exec(l) ??
      /^\s*(?:export\s+)?const\s+(\w+)\s*=\s*(?:async\s*)?(?:\([^)]*\)|\w+)\s*(?::[^=]+)?=>/.exec(l) ??
      /^\s+(?:(?:public|private|protected|static|async|get|set)\s+)*(\w+)\s*\([^;]*\)\s*(?::[^{=]+)?\{\s*$/.exec(l);
  return m && !words.test(m[1]!) && !/^\s*(return|else|throw|case|delete|new)\b/.test(l) ? m[1]! : "";
}
