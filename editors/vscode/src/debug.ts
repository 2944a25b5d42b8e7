// The debug type: configurations that nobody writes, and the adapter `strobe dap`.

import { execFile } from "node:child_process";
import { basename } from "node:path";
import * as vscode from "vscode";
import type { Traces } from "./annotate";
import { debugs, type Host } from "./host";
import { debuggable, type Launch, programs, resolve } from "./program";

type Configuration = vscode.DebugConfiguration;

export function debugging(host: Host, traces: Traces): vscode.Disposable[] {
  const provider = new Provider(host, traces);
  const dynamic = vscode.DebugConfigurationProviderTriggerKind.Dynamic;
  return [
    vscode.debug.registerDebugConfigurationProvider("strobe", provider),
    vscode.debug.registerDebugConfigurationProvider("strobe", { provideDebugConfigurations: (f) => offered(f) }, dynamic),
    vscode.debug.registerDebugAdapterDescriptorFactory("strobe", {
      createDebugAdapterDescriptor: async () => new vscode.DebugAdapterExecutable(await host.binary(), ["dap"]),
    }),
    vscode.debug.registerDebugAdapterTrackerFactory("strobe", { createDebugAdapterTracker: (s) => new Tracker(host, s) }),
    vscode.commands.registerCommand("strobe.debugFile", host.guard((at?: vscode.Uri) => debugFile(host, at))),
    vscode.commands.registerCommand("strobe.debugFileWith", host.guard(async (at?: vscode.Uri) => {
      const line = await vscode.window.showInputBox({ title: "Arguments", placeHolder: "--input x.json" });
      if (line !== undefined) await debugFile(host, at, line.split(/\s+/).filter(Boolean));
    })),
    vscode.commands.registerCommand("strobe.attachTo", host.guard(async (of?: { id?: string }) => {
      const sessionId = await host.session(of);
      if (sessionId) await start({ type: "strobe", request: "attach", name: sessionId, sessionId });
    })),
  ];
}

/** start begins to debug; where that fails the editor has said why. */
export async function start(c: Configuration, folder?: vscode.WorkspaceFolder): Promise<boolean> {
  return vscode.debug.startDebugging(folder ?? vscode.workspace.workspaceFolders?.[0], c);
}

async function debugFile(host: Host, at?: vscode.Uri, given: string[] = []): Promise<void> {
  const uri = at ?? vscode.window.activeTextEditor?.document.uri;
  if (uri?.scheme !== "file") throw new Error("Open the file of a program first, or choose a binary in the explorer.");
  await vscode.workspace.textDocuments.find((d) => d.uri.fsPath === uri.fsPath && d.isDirty)?.save();
  const launch = await launchOf(uri, given);
  if (launch) await start(whole(launch), vscode.workspace.getWorkspaceFolder(uri));
}

function whole(l: Launch): Configuration {
  const name = basename(l.args.find((a) => a.startsWith("/") && debuggable(a)) ?? l.program);
  return { type: "strobe", request: "launch", name, ...l };
}

/** launchOf is what debugging a file means; a person is asked where that is not clear. */
async function launchOf(uri: vscode.Uri, given: string[] = []): Promise<Launch | undefined> {
  const folder = vscode.workspace.getWorkspaceFolder(uri), python = vscode.workspace.getConfiguration("python", uri);
  const o = { root: folder?.uri.fsPath ?? "", python: python.get<string>("defaultInterpreterPath"), env: process.env, given };
  const r = await resolve(uri.fsPath, o);
  if ("launch" in r) return r.launch;
  if ("choose" in r) {
    const items = r.choose.map((path) => ({ label: basename(path), description: vscode.workspace.asRelativePath(path), path }));
    if (r.build) items.unshift({ label: `$(tools) Build ${basename(uri.fsPath)}`, description: shown(r.build), path: "" });
    const picked = await vscode.window.showQuickPick(items, { title: `Which program is ${basename(uri.fsPath)} part of?` });
    if (!picked) return undefined;
    if (picked.path) return { program: picked.path, args: given, cwd: o.root };
    return built(r.build!, r.makes, given, o.root);
  }
  if (!("build" in r)) throw new Error(r.why);
  const yes = await vscode.window.showInformationMessage(r.why, { modal: true, detail: `Build it with debug information?\n\n${shown(r.build)}` },
    "Build and debug");
  return yes && built(r.build, r.makes, given, o.root);
}

function shown(argv: string[]): string { return argv.map((w) => /\s/.test(w) ? `'${w}'` : w).join(" "); }

/** built builds a program. */
async function built(argv: string[], program: string, args: string[], cwd: string): Promise<Launch> {
  await new Promise<void>((done, fail) => execFile(argv[0]!, argv.slice(1), { cwd: cwd || undefined }, (e, _, err) =>
    e ? fail(new Error(`${shown(argv)}: ${err.slice(0, 1000) || e.message}`)) : done()));
  return { program, args, cwd };
}

/** offered are the configurations of the picker of Run and Debug. */
async function offered(folder?: vscode.WorkspaceFolder): Promise<Configuration[]> {
  const list: Configuration[] = [{ type: "strobe", request: "launch", name: "Strobe: this file", program: "${file}" }];
  for (const path of folder ? (await programs(folder.uri.fsPath)).slice(0, 8) : []) {
    list.push({ type: "strobe", request: "launch", name: `Strobe: ${vscode.workspace.asRelativePath(path, false)}`, program: path, cwd: folder!.uri.fsPath });
  }
  return list;
}

class Provider implements vscode.DebugConfigurationProvider {
  constructor(private host: Host, private traces: Traces) {}

  provideDebugConfigurations(): Configuration[] {
    return [{ type: "strobe", request: "launch", name: "Debug with Strobe", program: "${file}" }];
  }

  /** What nobody wrote is the file that is open. */
  async resolveDebugConfiguration(_: vscode.WorkspaceFolder | undefined, c: Configuration): Promise<Configuration | undefined | null> {
    if (!c.type && !c.request && !c.name) {
      Object.assign(c, { type: "strobe", request: "launch", name: "Debug with Strobe", program: "${file}" });
    }
    if (c.request === "attach" && !c.sessionId && !c.pid && !c.processId) {
      c.sessionId = await this.host.session();
      if (!c.sessionId) return undefined;
    }
    if (c.request === "launch" && !c.program) c.program = "${file}";
    return c;
  }

  /** A source file stands for the program that it is. */
  async resolveDebugConfigurationWithSubstitutedVariables(_: vscode.WorkspaceFolder | undefined, c: Configuration): Promise<Configuration | undefined> {
    try {
      await this.host.binary();
      const trace = [...c.trace ?? [], ...this.traces.list];
      if (trace.length) c.trace = [...new Set(trace)];
      if (c.request === "launch" && debuggable(c.program) && !c.coreFile) {
        const l = await launchOf(vscode.Uri.file(c.program), c.args);
        return l && { ...c, ...l, cwd: c.cwd ?? l.cwd };
      }
      return c;
    } catch (e) {
      await this.host.tell(e);
      return undefined;
    }
  }
}

/** Tracker finds out which session of the daemon the editor's is. */
class Tracker implements vscode.DebugAdapterTracker {
  constructor(private host: Host, private session: vscode.DebugSession) {}

  onDidSendMessage(m: { type: string; event?: string; body?: { systemProcessId?: number } }): void {
    if (m.type === "event" && m.event === "process") this.began(m.body?.systemProcessId).catch((e) => this.host.log.appendLine(String(e)));
    if (m.type === "event" && ["stopped", "terminated", "exited"].includes(m.event ?? "")) this.host.soon();
  }

  private async began(pid?: number): Promise<void> {
    const given = this.session.configuration.sessionId as string | undefined;
    const all = await this.host.refresh();
    const id = given ?? all.find((s) => s.pid === pid)?.sessionId;
    if (id) debugs(this.session.id, id);
    this.host.soon();
  }

  onError(e: Error): void { this.host.log.appendLine(`strobe dap: ${e.message}`); }
}
