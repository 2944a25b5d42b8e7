// Where the strobe binary is.

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";

/** Binary is one that answered, or what was tried. */
export type Binary = { path: string; version: string } | { path?: undefined; why: string; tried: string[] };

/** places are where a binary is looked for, in this order: the setting alone where there is one. */
export function places(setting: string, folders: string[], env: NodeJS.ProcessEnv): string[] {
  if (setting) {
    const path = setting.replace(/^~(?=\/|$)/, homedir());
    return isAbsolute(path) ? [path] : folders.map((f) => join(f, path));
  }
  const home = homedir();
  const dirs = [...(env.PATH ?? "").split(delimiter).filter(isAbsolute), join(home, ".local/bin"), join(home, "bin"),
    join(home, "go/bin"), "/usr/local/bin", "/opt/strobe/bin", "/usr/bin"];
  const installed = folders.map((f) => join(f, "node_modules/.bin"));
  return [...new Set([...dirs, ...installed])].map((d) => join(d, "strobe"));
}

/** executable reports a file that may be run. */
export async function executable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** find looks for a binary and asks it what it is: another program may have the name. */
export async function find(setting: string, folders: string[], env: NodeJS.ProcessEnv): Promise<Binary> {
  const tried = places(setting, folders, env);
  let why = setting ? `The setting strobe.path names ${setting}, which is no program.` :
    "The strobe binary is not in PATH and not in the usual places.";
  for (const path of tried) {
    if (!await executable(path)) continue;
    const said = await ask(path);
    if (said.version) return { path, version: said.version };
    why = `${path} is not Strobe, or cannot run here: ${said.why}`;
  }
  return { why, tried };
}

function ask(path: string): Promise<{ version?: string; why: string }> {
  return new Promise((done) => {
    execFile(path, ["--version"], { timeout: 10_000 }, (error, out, err) => {
      const version = /^strobe\S* (?:version )?(\S.*)/m.exec(out)?.[1];
      done(version && !error ? { version, why: "" } : { why: (err || out || error?.message || "it says nothing").trim().slice(0, 300) });
    });
  });
}
