// Tests as the daemon tells of them, and how one is debugged.

import { readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";

/** Failure of one test. */
export interface TestFailure { message: string; expected?: string; actual?: string; file?: string; line?: number; stack: string[] }

/** Test is one that ran. */
export interface Test {
  id: string; name: string; suite: string; file: string; line: number; status: string; ms: number; failures: TestFailure[];
  output: string; command?: string;
}

/** Run is the answer of debug_test. */
export interface Run {
  testRunId?: string; status: string; framework?: string; sessionId?: string; error?: string; hint?: string; warnings?: string[];
  progress?: { passed?: number; failed?: number; running?: unknown[]; [more: string]: unknown };
  result?: {
    summary: { passed: number; failed: number; skipped: number; durationMs: number }; details?: string; noTests?: boolean;
    failures: { name: string; suite: string; rerun?: { test: string; command: string } }[]; output?: string;
  };
}

interface Detail {
  ID: string; Name: string; Suite: string; Group: boolean; Part: boolean; File: string; Line: number; Status: string; Duration: number;
  Output: string;
  Failures: { Message: string; Expected: string; Actual: string; File: string; Line: number; Stack: { Function: string; File: string; Line: number }[] | null }[] | null;
}

/** Result is every test of a run. */
export interface Result { tests: Test[]; framework: string; commands: string[]; root: string }

/** details reads the file with every test that a run names. */
export async function details(run: Run, root: string): Promise<Result> {
  const file = run.result?.details;
  if (!file) return { tests: [], framework: run.framework ?? "", commands: [], root };
  const d = JSON.parse(await readFile(file, "utf8")) as { framework: string; commands?: string[]; tests: Detail[] };
  const rerun = new Map((run.result?.failures ?? []).map((f) => [f.rerun?.test ?? "", f.rerun?.command]));
  const at = (path: string) => !path || isAbsolute(path) ? path : join(root, path);
  return {
    framework: d.framework, commands: d.commands ?? [], root,
    tests: (d.tests ?? []).filter((t) => !t.Group && !t.Part).map((t) => ({
      id: t.ID, name: t.Name, suite: t.Suite, file: at(t.File), line: t.Line, status: t.Status, ms: t.Duration / 1e6, output: t.Output,
      command: rerun.get(t.ID),
      failures: (t.Failures ?? []).map((f) => ({ message: f.Message, expected: f.Expected || undefined, actual: f.Actual || undefined,
        file: at(f.File), line: f.Line, stack: (f.Stack ?? []).map((s) => `${s.Function} (${s.File}:${s.Line})`) })),
    })),
  };
}

/** found are the tests in a file's text, for the explorer before the first run: by the words that frameworks have. */
export function found(text: string, file: string): { name: string; line: number }[] {
  const list: { name: string; line: number }[] = [];
  const end = /\.\w+$/.exec(file)?.[0] ?? "";
  const lines = text.split("\n");
  lines.forEach((l, i) => {
    const m = end === ".py" ? /^\s*(?:async\s+)?def\s+(test\w*)\s*\(/.exec(l) :
      end === ".go" ? /^func\s+(Test\w+)\s*\(\w+ \*testing\.T\)/.exec(l) :
      end === ".rs" ? /^\s*#\[(?:\w+::)?test\b/.test(lines[i - 1] ?? "") ? /\bfn\s+(\w+)/.exec(l) : null :
      /^\.(c|m)?(j|t)sx?$/.test(end) ? /^\s*(?:it|test)\s*(?:\.\w+)?\(\s*["'`](.+?)["'`]\s*,/.exec(l) :
      /^\s*TEST(?:_F|_P)?\s*\(\s*(\w+\s*,\s*\w+)/.exec(l) ?? /^\s*TEST_CASE\s*\(\s*"(.+?)"/.exec(l);
    if (m) list.push({ name: m[1]!.replace(/\s*,\s*/, "."), line: i + 1 });
  });
  return list;
}

/** isTests reports a file that holds tests, by its name, as frameworks look for them. */
export function isTests(file: string): boolean {
  return /(^|\/)(test_[^/]*|[^/]*_test)\.py$|_test\.go$|\.(test|spec)\.[cm]?[jt]sx?$|(^|\/)tests?\/[^/]+\.(rs|[cm]?[jt]sx?)$/.test(file) ||
    /(^|\/)([^/]*_)?(unit)?tests?(_[^/]*)?\.(cc|cpp|cxx)$/i.test(file);
}

/** words cuts a line of a POSIX shell that has quotes alone, and the variables set before the command. */
export function words(line: string): { env: Record<string, string>; dir: string; argv: string[] } | null {
  const list: string[] = [];
  let rest = line.trim();
  while (rest) {
    let word = "", m: RegExpExecArray | null = null;
    while (rest && (m = /^(?:'([^']*)'|"((?:[^"\\$`]|\\.)*)"|\\(.)|([^\s'"\\$`;|<>()]+))/.exec(rest))) {
      word += m[1] ?? m[2]?.replace(/\\(.)/g, "$1") ?? m[3] ?? m[4];
      rest = rest.slice(m[0].length);
    }
    if (rest && !/^\s/.test(rest)) return null; // what a shell alone can do
    list.push(word);
    rest = rest.trimStart();
  }
  let dir = "";
  if (list[0] === "cd" && list[2] === "&&") { dir = list[1]!; list.splice(0, 3); }
  if (list.includes("&&") || list.includes("&")) return null;
  const env: Record<string, string> = {};
  for (let m; (m = /^(\w+)=([^]*)$/.exec(list[0] ?? "")); list.shift()) env[m[1]!] = m[2]!;
  return list.length ? { env, dir, argv: list } : null;
}

/** command runs one test alone, as a line of a shell: what a failure says, else made of what ran all of them; "" where that is not known. */
export function command(t: { id: string; name: string; command?: string }, of: { framework: string; commands: string[] }): string {
  if (t.command) return t.command;
  const ran = words(of.commands[0] ?? "")?.argv ?? [], quoted = quote(t.id);
  switch (of.framework) {
    case "pytest": {
      const at = ran.indexOf("pytest");
      return `${(at > 0 ? ran.slice(0, at + 1) : ["python3", "-m", "pytest"]).map(quote).join(" ")} ${quoted}`;
    }
    case "unittest": return `${quote(ran[0] ?? "python3")} -m unittest ${quoted}`;
    case "gtest": return ran[0] ? `${quote(ran[0])} --gtest_filter=${quoted}` : "";
    case "doctest": return ran[0] ? `${quote(ran[0])} -tc=${quote(t.name)}` : "";
    case "catch2": return ran[0] ? `${quote(ran[0])} ${quote(t.name)}` : "";
    default: return "";
  }
}

function quote(word: string): string { return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`; }
