// From a file to the program that is debugged: what runs it, or which binary was made of it.

import { execFile } from "node:child_process";
import { open, readFile, readdir, stat } from "node:fs/promises";
import { basename, delimiter, dirname, extname, isAbsolute, join } from "node:path";
import { executable } from "./binary";

/** Launch is a configuration's part that says what runs. */
export interface Launch { program: string; args: string[]; cwd: string }

/** What became of a file: what to run, programs to choose from, how to build one, or why there is none. */
export type Resolved = { launch: Launch } | { choose: string[]; build?: string[]; makes: string } | { build: string[]; makes: string; why: string } |
  { why: string };

const scripts: Record<string, "python" | "node" | "typescript"> = {
  ".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "typescript", ".mts": "typescript", ".cts": "typescript",
};
const compiled = [".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".rs", ".go"];

/** debuggable reports a file that "Debug with Strobe" is for, by its name. */
export function debuggable(file: string): boolean {
  const end = extname(file).toLowerCase();
  return end in scripts || compiled.includes(end);
}

/** Options are what an editor knows. */
export interface Options { root: string; python?: string; env: NodeJS.ProcessEnv; given?: string[] }

/** resolve finds what debugging a file means. */
export async function resolve(file: string, o: Options): Promise<Resolved> {
  const end = extname(file).toLowerCase(), cwd = dirname(file), args = o.given ?? [];
  const script = scripts[end];
  if (script === "python") return { launch: { program: await python(o), args: [file, ...args], cwd: o.root || cwd } };
  if (script) return javascript(file, script === "typescript", { ...o, given: args });
  if (compiled.includes(end)) return native(file, o);
  if (await isProgram(file)) return { launch: { program: file, args, cwd: o.root || cwd } };
  return { why: `${basename(file)} is no program, and of no language that Strobe runs (C, C++, Rust, Go, Python, JavaScript, TypeScript).` };
}

async function inPath(name: string, env: NodeJS.ProcessEnv): Promise<string> {
  for (const dir of (env.PATH ?? "").split(delimiter)) {
    if (isAbsolute(dir) && await executable(join(dir, name))) return join(dir, name);
  }
  return "";
}

async function python(o: Options): Promise<string> {
  const own = [".venv/bin/python", "venv/bin/python"].map((p) => join(o.root, p));
  const given = o.python && o.python !== "python" ? o.python : "";
  let found = given;
  for (const path of o.root ? own : []) if (!found && await executable(path)) found = path;
  found ||= await inPath("python3", o.env) || await inPath("python", o.env) || "python3";
  // Where a version manager's script stands in for it, the interpreter knows where it is itself.
  const real = (await output(found, ["-c", "import sys; print(sys.executable)"])).trim();
  return isAbsolute(real) ? real : found;
}

async function javascript(file: string, types: boolean, o: Options): Promise<Resolved> {
  const cwd = o.root || dirname(file), run = (program: string, ...args: string[]) =>
    ({ launch: { program, args: [...args, file, ...o.given ?? []], cwd } });
  const node = await inPath("node", o.env);
  if (!types) return node ? run(node) : { why: "node is not in PATH." };
  const [major = 0, minor = 0] = node ? await version(node) : [];
  if (major > 23 || major === 23 && minor >= 6 || major === 22 && minor >= 18) return run(node);
  if (major >= 22 && minor >= 6) return run(node, "--experimental-strip-types");
  const bun = await inPath("bun", o.env), deno = await inPath("deno", o.env);
  if (bun) return run(bun);
  if (deno) return run(deno, "run", "-A");
  return { why: `TypeScript is run by node 22.6 or newer, bun or deno, and PATH has ${node ? `node ${major}.${minor}` : "none of them"}. ` +
    "A configuration in launch.json may name the compiled JavaScript file, which is debugged by its source map." };
}

async function version(node: string): Promise<number[]> {
  return (/^v(\d+)\.(\d+)/.exec(await output(node, ["--version"]))?.slice(1) ?? []).map(Number);
}

/** output is what a program says, "" where it fails. */
function output(program: string, args: string[]): Promise<string> {
  return new Promise((done) => execFile(program, args, { timeout: 10_000 }, (e, out) => done(e ? "" : out)));
}

/** native looks for the program that a source file is part of, by names: what was built last of the name is first. */
async function native(file: string, o: Options): Promise<Resolved> {
  const stem = basename(file, extname(file)), root = o.root || dirname(file);
  const all = await programs(root);
  const named = all.filter((p) => basename(p) === stem);
  if (named[0]) return { launch: { program: named[0], args: o.given ?? [], cwd: root } };
  const makes = join(dirname(file), stem), why = `No program that was built of ${basename(file)} is in ${root}.`;
  const build = await alone(file, root) ? await builder(file, makes, o.env) : null;
  if (all.length === 1 && !build) return { launch: { program: all[0]!, args: o.given ?? [], cwd: root } };
  if (all.length > 0) return { choose: all, build: build ?? undefined, makes };
  return build ? { build, makes, why } : { why: `${why} Build one with debug information (-g), then debug it.` };
}

/** alone reports a source file that is a program by itself: it has a main, and nothing says how the project is built. */
async function alone(file: string, root: string): Promise<boolean> {
  const built = /^(CMakeLists\.txt|Makefile|makefile|meson\.build|Cargo\.toml|go\.mod|build\.ninja|BUILD(\.bazel)?)$/;
  if ((await readdir(root).catch(() => [])).some((n) => built.test(n))) return false;
  return /\bmain\s*\(/.test(await readFile(file, "utf8"));
}

/** builder is how a source file that stands alone becomes a program; null where it is one of many. */
async function builder(file: string, makes: string, env: NodeJS.ProcessEnv): Promise<string[] | null> {
  const end = extname(file).toLowerCase();
  const [name, ...args] = end === ".c" ? ["gcc", "-g", "-O0", "-pthread"] : [".cc", ".cpp", ".cxx", ".c++"].includes(end) ?
    ["g++", "-g", "-O0", "-pthread"] : end === ".rs" ? ["rustc", "-g"] : end === ".go" ? ["go", "build", "-gcflags=all=-N -l"] : [];
  if (!name) return null;
  const with_ = await inPath(name, env);
  return with_ ? [with_, ...args, "-o", makes, file] : null;
}

/** isProgram reports an executable file that Strobe can launch: ELF that is no library alone, or a script. */
export async function isProgram(file: string): Promise<boolean> { return await kind(file) !== ""; }

async function kind(file: string): Promise<"elf" | "script" | ""> {
  if (!await executable(file)) return "";
  const f = await open(file, "r").catch(() => null);
  if (!f) return "";
  try {
    const head = Buffer.alloc(18), { bytesRead } = await f.read(head, 0, 18, 0);
    if (bytesRead > 2 && head.toString("latin1", 0, 2) === "#!") return "script";
    if (bytesRead < 18 || head.readUInt32BE(0) !== 0x7f454c46) return "";
    const type = head[5] === 2 ? head.readUInt16BE(16) : head.readUInt16LE(16);
    return type === 2 || type === 3 && !/\.so(\.|$)/.test(basename(file)) ? "elf" : ""; // ET_EXEC, ET_DYN
  } finally {
    await f.close();
  }
}

const skipped = /^(\..*|node_modules|CMakeFiles|deps|incremental|build-id|__pycache__|third_party|vendor)$/;
const maxLooked = 20_000;

/** programs are the binaries of a project, the newest first: of what a bounded look finds. */
export async function programs(root: string): Promise<string[]> {
  const found: { path: string; at: number }[] = [], dirs = [root];
  let looked = 0;
  for (let dir = dirs.shift(); dir !== undefined && looked < maxLooked && found.length < 100; dir = dirs.shift()) {
    const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
    for (const e of entries) {
      looked++;
      const path = join(dir, e.name);
      if (e.isDirectory() && !skipped.test(e.name)) dirs.push(path);
      // Scripts are debugged by themselves.
      if (e.isFile() && await kind(path) === "elf") found.push({ path, at: (await stat(path)).mtimeMs });
    }
  }
  return found.sort((a, b) => b.at - a.at).map((f) => f.path);
}
