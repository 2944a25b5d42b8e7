// A program of this window's folders that crashed is told of once.

import { basename } from "node:path";
import * as vscode from "vscode";
import { goTo, type Host, show } from "./host";
import type { Session, Status } from "./shapes";

export function crashes(host: Host): vscode.Disposable[] {
  const known = new Set<string>();
  let first = true;
  return [host.onSessions(host.guard(async () => {
    const here = host.sessions.filter((s) => s.status === "crashed" && host.folders.some((f) => `${s.projectRoot}/`.startsWith(`${f}/`) ||
      `${f}/`.startsWith(`${s.projectRoot}/`)));
    const fresh = here.filter((s) => !known.has(s.sessionId));
    for (const s of fresh) known.add(s.sessionId);
    const since = Date.now() - 60_000; // what crashed before the window was opened is no news
    for (const s of fresh) if (!first || Date.parse(s.endedAt ?? "") > since) tell(host, s).catch((e) => host.tell(e));
    first = false;
  }))];
}

async function tell(host: Host, s: Session): Promise<void> {
  const st = await host.daemon.call<Status>("debug_session", { action: "status", sessionId: s.sessionId });
  const c = st.crashInfo, file = c?.sourceFile;
  const place = file ? ` (${basename(file)}:${c.line})` : "";
  const what = c?.exceptionType ? `${c.exceptionType}: ${c.exceptionMessage ?? ""}` : c?.reason ?? c?.signal ?? st.signal ?? "";
  const actions = [...place ? ["Open the place"] : [], "Timeline", "Why"];
  const done = await vscode.window.showErrorMessage(`${basename(s.command)} crashed${c?.function ? ` in ${c.function}` : ""}${place}: ${what}`,
    ...actions);
  if (done === "Timeline") await vscode.commands.executeCommand("strobe.timeline", s.sessionId);
  else if (done === "Why") await show(host, s.sessionId, "summary");
  else if (done) await goTo(file!, c!.line ?? 1);
}
