// The sessions, the daemon's: an agent's too.

import { basename } from "node:path";
import * as vscode from "vscode";
import { debugged, goTo, type Host, show } from "./host";
import type { Session, Status } from "./shapes";
import { bytes, plural } from "./values";

type Node = { id: string; session: Session; row?: Row };
interface Row { label: string; description?: string; icon: string; at?: { file: string; line: number } }

const icons: Record<string, [string, string]> = {
  running: ["play-circle", "charts.blue"], paused: ["debug-pause", "charts.yellow"], crashed: ["flame", "charts.red"],
  exited: ["pass", "charts.green"],
};

class Tree implements vscode.TreeDataProvider<Node> {
  private changed = new vscode.EventEmitter<Node | undefined>();
  readonly onDidChangeTreeData = this.changed.event;

  constructor(private host: Host) { host.onSessions(() => this.changed.fire(undefined)); }

  async getChildren(of?: Node): Promise<Node[]> {
    if (of?.row) return [];
    try {
      if (!of) {
        const all = this.host.sessions.length ? this.host.sessions : await this.host.refresh();
        vscode.commands.executeCommand("setContext", "strobe.state", "ready");
        return all.map((session) => ({ id: session.sessionId, session }));
      }
      const st = await this.host.daemon.call<Status>("debug_session", { action: "status", sessionId: of.id });
      return rows(of.session, st).map((row) => ({ id: of.id, session: of.session, row }));
    } catch (e) {
      const code = (e as { code?: string }).code;
      if (!of) vscode.commands.executeCommand("setContext", "strobe.state", code === "NO_BINARY" ? "missing" : "failed");
      if (code !== "NO_BINARY") this.host.log.appendLine(String(e));
      return [];
    }
  }

  getTreeItem(n: Node): vscode.TreeItem {
    if (n.row) {
      const item = new vscode.TreeItem(n.row.label);
      item.description = n.row.description;
      item.tooltip = [n.row.label, n.row.description].filter(Boolean).join(" ");
      item.iconPath = new vscode.ThemeIcon(n.row.icon);
      if (n.row.at) item.command = { command: "strobe.goTo", title: "Go to", arguments: [n.row.at.file, n.row.at.line] };
      return item;
    }
    const s = n.session, item = new vscode.TreeItem(s.name ?? s.sessionId, vscode.TreeItemCollapsibleState.Collapsed);
    const [icon, color] = icons[s.status] ?? ["circle-outline", "foreground"];
    item.id = s.sessionId;
    item.description = `${s.status} · ${plural(s.eventCount, "event")}${s.sessionId === debugged() ? " · debugged" : ""}`;
    item.iconPath = new vscode.ThemeIcon(icon, new vscode.ThemeColor(color));
    item.contextValue = s.endedAt ? "ended" : "running";
    item.accessibilityInformation = { label: `${item.label}, ${item.description}` };
    item.tooltip = new vscode.MarkdownString(`**${s.sessionId}** ${s.status}\n\n\`${s.command}\`\n\nbegan ${new Date(s.startedAt).toLocaleString()}, ` +
      `process ${s.pid}, ${plural(s.eventCount, "event")}, ${bytes(s.sizeBytes)}`);
    return item;
  }
}

function rows(s: Session, st: Status): Row[] {
  const how = st.exitCode !== undefined ? `exited with ${st.exitCode}` : st.signal ? `${st.status} by ${st.signal}` : st.status;
  const list: Row[] = [{ label: how, description: st.runtime, icon: "info" },
    { label: basename(s.command), description: s.command, icon: "terminal" }];
  if (st.tracePatterns.length) list.push({ label: plural(st.hookedFunctions, "traced function"), description: st.tracePatterns.join(" "), icon: "symbol-method" });
  if (st.droppedEvents) list.push({ label: `${plural(st.droppedEvents, "event")} lost`, icon: "warning" });
  for (const p of st.pausedThreads) {
    list.push({ label: `${p.threadName ?? "thread"} ${p.threadId}`, description: `${p.reason ?? "paused"} in ${p.function ?? "?"}`, icon: "debug-pause",
      at: p.file && p.line ? { file: p.file, line: p.line } : undefined });
  }
  for (const [list_, icon] of [[st.breakpoints, "debug-breakpoint"], [st.logpoints, "debug-breakpoint-log"]] as const) {
    for (const p of list_) {
      if (typeof p === "string") { // of a session that has ended
        list.push({ label: p, icon });
        continue;
      }
      list.push({ label: p.function ?? `${basename(p.file ?? "")}:${p.line}`, description: plural(p.hits, "hit"), icon,
        at: p.file && p.line ? { file: p.file, line: p.line } : undefined });
    }
  }
  if (st.deadlocks?.length) list.push({ label: plural(st.deadlocks.length, "deadlock"), icon: "warning" });
  for (const [kind, n] of Object.entries(st.eventCount)) list.push({ label: kind, description: n.toLocaleString("en"), icon: "symbol-event" });
  return list;
}

export function sessions(host: Host): vscode.Disposable[] {
  const view = vscode.window.createTreeView("strobe.sessions", { treeDataProvider: new Tree(host), showCollapseAll: true });
  host.watch(() => view.visible);
  if (view.visible) host.soon();
  view.onDidChangeVisibility(() => { if (view.visible) host.soon(); });
  const change = (action: string, more: object, sure: string) => host.guard(async (n?: Node) => {
    const id = await host.session(n);
    if (!id) return;
    if (sure && await vscode.window.showWarningMessage(sure.replace("%", id), { modal: true }, "Yes") !== "Yes") return;
    await host.daemon.call("debug_session", { action, sessionId: id, ...more });
    await host.refresh();
  });
  return [view,
    vscode.commands.registerCommand("strobe.refresh", host.guard(() => host.refresh())),
    vscode.commands.registerCommand("strobe.stop", change("stop", { retain: true }, "")),
    vscode.commands.registerCommand("strobe.delete", change("delete", {}, "Delete the recording of %?")),
    vscode.commands.registerCommand("strobe.copyId", host.guard(async (n?: Node) => {
      const id = await host.session(n);
      if (id) await vscode.env.clipboard.writeText(id);
    })),
    vscode.commands.registerCommand("strobe.callTree", host.guard(async (n?: Node) => {
      const id = await host.session(n);
      if (id) await show(host, id, "tree");
    })),
    vscode.commands.registerCommand("strobe.choose", host.guard(() => host.choose())),
    vscode.commands.registerCommand("strobe.showLog", () => host.log.show()),
    vscode.commands.registerCommand("strobe.goTo", host.guard(goTo)),
  ];
}
