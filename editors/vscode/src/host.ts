// What all parts of the extension share: the binary, the daemon, the log, the list of sessions.

import * as vscode from "vscode";
import { type Binary, find } from "./binary";
import { Daemon, Failure } from "./daemon";
import type { Session } from "./shapes";

/** languages are those whose files are debugged and traced. */
export const languages = ["c", "cpp", "rust", "go", "python", "javascript", "typescript", "javascriptreact", "typescriptreact"];

const install = "https://github.com/strobe-debug/strobe#readme";

export class Host implements vscode.Disposable {
  readonly log = vscode.window.createOutputChannel("Strobe");
  readonly daemon = new Daemon(() => this.binary(), `vscode ${process.pid}`, (line) => this.log.appendLine(line));
  sessions: Session[] = [];
  private found: Promise<Binary> | null = null;
  private changed = new vscode.EventEmitter<void>();
  private timer: NodeJS.Timeout | undefined;
  private busyUntil = 0;
  private watchers = new Set<() => boolean>();
  readonly onSessions = this.changed.event;

  constructor() {
    vscode.commands.executeCommand("setContext", "strobe.languages", languages);
    vscode.workspace.onDidChangeConfiguration((e) => { if (e.affectsConfiguration("strobe.path")) this.again(); });
  }

  get folders(): string[] { return (vscode.workspace.workspaceFolders ?? []).filter((f) => f.uri.scheme === "file").map((f) => f.uri.fsPath); }

  /** again looks for the binary anew at the next question. What another one said is not shown any more: who looks asks. */
  again(): void {
    this.found = null;
    this.daemon.close();
    this.sessions = [];
    this.changed.fire();
  }

  /** binary is its path; the error says how to get one. */
  async binary(): Promise<string> {
    this.found ??= find(vscode.workspace.getConfiguration("strobe").get("path", ""), this.folders, process.env);
    const b = await this.found;
    if (b.path !== undefined) return b.path;
    this.found = null; // it may be there the next time
    this.log.appendLine(`${b.why}\n  ${b.tried.join("\n  ")}`);
    throw new Failure("NO_BINARY", b.why, "Install Strobe, or name the binary in the setting strobe.path.");
  }

  /** tell shows an error, with what can be done about it. */
  async tell(e: unknown): Promise<void> {
    const missing = e instanceof Failure && e.code === "NO_BINARY";
    const said = e instanceof Failure ? e.said : e instanceof Error ? e.message : String(e);
    this.log.appendLine(said);
    const actions = missing ? ["How to install", "Choose the binary…", "Where it was looked for"] : ["Show log"];
    const done = await vscode.window.showErrorMessage(`Strobe: ${said}`, ...actions);
    if (done === "How to install") vscode.env.openExternal(vscode.Uri.parse(install));
    else if (done === "Choose the binary…") await this.choose();
    else if (done) this.log.show(true);
  }

  async choose(): Promise<void> {
    const picked = await vscode.window.showOpenDialog({ title: "The strobe binary", canSelectMany: false });
    if (picked?.[0]) await vscode.workspace.getConfiguration("strobe").update("path", picked[0].fsPath, vscode.ConfigurationTarget.Global);
  }

  /** guard runs what a person asked for, and tells what went wrong. */
  guard<A extends unknown[]>(f: (...args: A) => unknown): (...args: A) => Promise<void> {
    return async (...args: A) => {
      try {
        await f(...args);
      } catch (e) {
        await this.tell(e);
      }
    };
  }

  /** watch has the list of sessions read every second while somebody looks at it. */
  watch(looking: () => boolean): void { this.watchers.add(looking); }

  /** soon has it read now, and for a while: something began. */
  soon(): void {
    this.busyUntil = Date.now() + 60_000;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tick(), 100);
  }

  private async tick(): Promise<void> {
    const wanted = () => Date.now() < this.busyUntil || [...this.watchers].some((w) => w());
    try {
      await this.refresh();
    } catch (e) {
      this.log.appendLine(e instanceof Failure ? e.said : String(e));
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => wanted() ? this.tick() : this.idle(wanted), 1000);
  }

  /** idle lets the daemon end, which it does some time after its last client. */
  private idle(wanted: () => boolean): void {
    if (!this.daemon.busy) this.daemon.close();
    this.timer = setTimeout(() => wanted() ? this.tick() : this.idle(wanted), 2000);
  }

  async refresh(): Promise<Session[]> {
    const was = JSON.stringify(this.sessions);
    const { sessions } = await this.daemon.call<{ sessions: Session[] }>("debug_session", { action: "list" });
    this.sessions = sessions.sort((a, b) => b.startedAt.localeCompare(a.startedAt) || b.sessionId.localeCompare(a.sessionId, "en", { numeric: true }));
    if (JSON.stringify(this.sessions) !== was) this.changed.fire();
    return this.sessions;
  }

  /** session is the one that is meant: given, debugged now, or picked. */
  async session(given?: { id?: string } | string): Promise<string | undefined> {
    const id = typeof given === "string" ? given : given?.id ?? debugged();
    if (id) return id;
    const all = await this.refresh();
    if (all.length === 0) throw new Failure("NO_SESSION", "No session is recorded yet", "Debug a program with Strobe, or run `strobe run`.");
    if (all.length === 1) return all[0]!.sessionId;
    const picked = await vscode.window.showQuickPick(all.map((s) => ({ label: s.sessionId, description: s.status, detail: s.command })),
      { title: "Which session?" });
    return picked?.label;
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.daemon.close();
    this.log.dispose();
  }
}

const sessionsOf = new Map<string, string>(); // of the editor's debug sessions

/** debugs notes which of the daemon's sessions one of the editor's is. */
export function debugs(editors: string, daemons: string): void { sessionsOf.set(editors, daemons); }

/** debugged is the session that is debugged now, or was last. */
export function debugged(): string | undefined {
  const now = vscode.debug.activeDebugSession;
  return now ? sessionsOf.get(now.id) : [...sessionsOf.values()].pop();
}


/** goTo opens a file at a line. */
export async function goTo(file: string, line: number, column: vscode.ViewColumn = vscode.ViewColumn.One): Promise<void> {
  const at = new vscode.Position(Math.max(0, line - 1), 0);
  await vscode.window.showTextDocument(vscode.Uri.file(file), { viewColumn: column, selection: new vscode.Range(at, at) });
}

/** show opens a view of a session as text. */
export async function show(host: Host, sessionId: string, view: "tree" | "summary"): Promise<void> {
  const r = await host.daemon.call<{ tree?: string; text?: string; hint?: string }>("debug_query", { sessionId, view, maxTokens: 20000 });
  const content = [r.tree ?? r.text ?? "", r.hint ?? ""].filter(Boolean).join("\n");
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content, language: "plaintext" }));
}
