// Beside the code: which functions are traced, how often they were called, what the last call was given and gave back.

import * as vscode from "vscode";
import { defined, pattern, points, type Seen, seen } from "./beside";
import { debugged, type Host, languages } from "./host";
import type { Status } from "./shapes";

/** Traces are the patterns that launches get, kept with the workspace. */
export class Traces {
  private changed = new vscode.EventEmitter<void>();
  readonly onChanged = this.changed.event;

  constructor(private memory: vscode.Memento) {}

  get list(): string[] { return this.memory.get<string[]>("traces", []); }

  async set(list: string[]): Promise<void> {
    await this.memory.update("traces", [...new Set(list)]);
    this.changed.fire();
  }
}

export function annotations(host: Host, traces: Traces): vscode.Disposable[] {
  const lens = new Lenses(traces), beside = new Beside(host);
  return [beside,
    vscode.languages.registerCodeLensProvider(languages.map((language) => ({ scheme: "file", language })), lens),
    vscode.commands.registerCommand("strobe.trace", host.guard((p?: unknown) => toggle(host, traces, typeof p === "string" ? p : undefined))),
    vscode.commands.registerCommand("strobe.untrace", host.guard(() => forget(host, traces))),
  ];
}

async function toggle(host: Host, traces: Traces, given?: string): Promise<void> {
  const name = given ?? atCursor() ?? await vscode.window.showInputBox({ title: "Trace functions", prompt: "A pattern: a name, shop::*, @usercode" });
  if (!name) return;
  const on = !traces.list.includes(name);
  await traces.set(on ? [...traces.list, name] : traces.list.filter((t) => t !== name));
  await tell(host, on ? "add" : "remove", [name]);
}

async function forget(host: Host, traces: Traces): Promise<void> {
  const all = traces.list;
  await traces.set([]);
  if (all.length) await tell(host, "remove", all);
}

/** tell has a program that is debugged now traced, too. */
async function tell(host: Host, how: "add" | "remove", list: string[]): Promise<void> {
  const id = vscode.debug.activeDebugSession && debugged();
  if (!id) {
    vscode.window.setStatusBarMessage(how === "add" ? `Strobe: ${list.join(" ")} will be traced when a program is debugged` : "Strobe: no longer traced", 5000);
    return;
  }
  const r = await host.daemon.call<{ hookedFunctions: number; warnings?: string[] }>("debug_trace", { sessionId: id, [how]: list });
  const said = r.warnings?.length ? r.warnings.join(" ") : `${r.hookedFunctions} functions are traced`;
  if (r.warnings?.length) vscode.window.showWarningMessage(`Strobe: ${said}`);
  else vscode.window.setStatusBarMessage(`Strobe: ${said}`, 5000);
}

/** atCursor is the pattern of the function around the cursor. */
function atCursor(): string | undefined {
  const e = vscode.window.activeTextEditor;
  if (!e) return undefined;
  const text = e.document.getText(e.selection).trim();
  if (text && !/\s/.test(text)) return text;
  const above = defined(e.document.getText(), e.document.languageId).filter((f) => f.line <= e.selection.active.line + 1);
  const word = e.document.getText(e.document.getWordRangeAtPosition(e.selection.active));
  return above[above.length - 1]?.pattern ?? (word ? pattern(word, e.document.languageId) : undefined);
}

class Lenses implements vscode.CodeLensProvider {
  readonly onDidChangeCodeLenses: vscode.Event<void>;

  constructor(private traces: Traces) { this.onDidChangeCodeLenses = traces.onChanged; }

  provideCodeLenses(d: vscode.TextDocument): vscode.CodeLens[] {
    if (!vscode.workspace.getConfiguration("strobe").get("codeLens", true)) return [];
    const on = this.traces.list;
    return defined(d.getText(), d.languageId).map((f) => {
      const at = new vscode.Range(f.line - 1, 0, f.line - 1, 0), traced = on.includes(f.pattern);
      return new vscode.CodeLens(at, { command: "strobe.trace", arguments: [f.pattern], title: traced ? "$(record) Traced by Strobe" : "Trace with Strobe",
        tooltip: traced ? `${f.pattern}: a click ends it` : "Record every call of this function, with its arguments and result" });
    });
  }
}

/** Beside decorates the editors that are seen, from the session that is debugged, or was last. */
class Beside implements vscode.Disposable {
  private kind = vscode.window.createTextEditorDecorationType({ after: { margin: "0 0 0 2em", color: new vscode.ThemeColor("editorCodeLens.foreground") },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed });
  private timer: NodeJS.Timeout | undefined;
  private asked = "";
  private parts: vscode.Disposable[];

  constructor(private host: Host) {
    this.parts = [this.kind, vscode.window.onDidChangeVisibleTextEditors(() => this.soon(true)), host.onSessions(() => this.soon(false)),
      vscode.debug.onDidTerminateDebugSession(() => this.soon(true))];
  }

  private soon(anew: boolean): void {
    if (anew) this.asked = "";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.show().catch((e) => this.host.log.appendLine(String(e))), 300);
  }

  private async show(): Promise<void> {
    const id = debugged(), s = this.host.sessions.find((o) => o.sessionId === id);
    if (!id || !s || !vscode.workspace.getConfiguration("strobe").get("inlineValues", true)) return;
    const now = `${id} ${s.eventCount} ${s.status}`;
    if (now === this.asked) return;
    this.asked = now;
    const st = await this.host.daemon.call<Status>("debug_session", { action: "status", sessionId: id });
    for (const e of vscode.window.visibleTextEditors) {
      if (e.document.uri.scheme !== "file" || !languages.includes(e.document.languageId)) continue;
      const file = e.document.uri.fsPath, calls = await seen(this.host.daemon, id, file);
      this.draw(e, [...calls.seen, ...points(st, file)], id);
    }
  }

  private draw(e: vscode.TextEditor, all: Seen[], id: string): void {
    const lines = new Map<number, Seen[]>();
    for (const s of all) if (s.line <= e.document.lineCount) lines.set(s.line, [...lines.get(s.line) ?? [], s]);
    e.setDecorations(this.kind, [...lines].map(([line, of]) => {
      const hover = new vscode.MarkdownString(of.map((s) => s.detail).join("\n\n"));
      const event = of.find((s) => s.event)?.event;
      if (event) {
        hover.isTrusted = { enabledCommands: ["strobe.timeline"] };
        hover.appendMarkdown(`\n\n[Last call in the timeline](command:strobe.timeline?${encodeURIComponent(JSON.stringify([id, event]))})`);
      }
      return { range: e.document.lineAt(line - 1).range, hoverMessage: hover,
        renderOptions: { after: { contentText: of.map((s) => s.text).join(" · ") } } };
    }));
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const p of this.parts) p.dispose();
  }
}
