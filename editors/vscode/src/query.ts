// The query panel: a debug_query by a form, its answer as a table that any column sorts.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { debugged, goTo, type Host } from "./host";
import { Failure } from "./daemon";

type Message = { ready: true } | { ask: Record<string, unknown>; view: "events" | "stats"; turn: number } |
  { open: string; line: number } | { event: number; session: string };

export function queries(host: Host, root: vscode.Uri): vscode.Disposable[] {
  let view: vscode.WebviewView | undefined, chosen: string | undefined;
  const list = () => view?.webview.postMessage({ sessions: host.sessions.map((s) => s.sessionId), chosen: chosen ?? debugged() });
  const provider: vscode.WebviewViewProvider = {
    resolveWebviewView(v) {
      view = v;
      v.webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(root, "dist"), vscode.Uri.joinPath(root, "media")] };
      v.webview.onDidReceiveMessage(host.guard(async (m: Message) => {
        if ("ready" in m) { await host.refresh(); list(); }
        else if ("open" in m) await goTo(m.open, m.line);
        else if ("event" in m) await vscode.commands.executeCommand("strobe.timeline", m.session, m.event);
        else await answer(host, v.webview, m);
      }));
      v.webview.html = html(v.webview, root);
      v.onDidDispose(() => { view = undefined; });
    },
  };
  host.watch(() => view?.visible ?? false);
  return [
    host.onSessions(list),
    vscode.debug.onDidChangeActiveDebugSession(() => { chosen = undefined; list(); }),
    vscode.window.registerWebviewViewProvider("strobe.query", provider, { webviewOptions: { retainContextWhenHidden: true } }),
    vscode.commands.registerCommand("strobe.ask", host.guard(async (of?: { id?: string } | string) => {
      chosen = await host.session(of);
      await vscode.commands.executeCommand("strobe.query.focus");
      list();
    })),
  ];
}

async function answer(host: Host, to: vscode.Webview, m: { ask: Record<string, unknown>; view: "events" | "stats"; turn: number }): Promise<void> {
  try {
    const { sessionId, ...filter } = m.ask;
    const got = m.view === "stats" ? await host.daemon.call<object>("debug_timeline", { action: "stats", sessionId, filter: JSON.stringify(filter) }) :
      await host.daemon.call<object>("debug_query", { ...m.ask, verbose: true, limit: 500 });
    // What JavaScript cannot hold goes as text.
    to.postMessage({ turn: m.turn, view: m.view, got: JSON.parse(JSON.stringify(got, (_, v) => v?.text !== undefined && Object.keys(v).length === 1 ? v.text : v)) });
  } catch (e) {
    to.postMessage({ turn: m.turn, failed: e instanceof Failure ? e.said : String(e) });
  }
}

function html(view: vscode.Webview, root: vscode.Uri): string {
  const nonce = randomBytes(16).toString("base64"), at = (...path: string[]) => view.asWebviewUri(vscode.Uri.joinPath(root, ...path));
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Query</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${view.cspSource}; script-src 'nonce-${nonce}'">
<link rel="stylesheet" href="${at("media", "panel.css")}"></head><body><main id="main"></main>
<script nonce="${nonce}" src="${at("dist", "panel.js")}"></script></body></html>`;
}
