// The page of `strobe ui` in a webview: the very files that the binary has, with its requests sent from here.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { goTo, type Host } from "./host";
import { Page } from "./page";

type Message = { id: number; path: string; method?: string; body?: string } | { listen: number; path: string } |
  { stop: number } | { open: string; line: number };

let panel: Panel | null = null;

export function timeline(host: Host): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand("strobe.timeline", host.guard(async (of?: { id?: string } | string, event?: number) => {
      const session = await host.session(of);
      if (!session) return;
      const state = `#s=${encodeURIComponent(session)}${event ? `&event=${event}` : ""}`;
      if (panel) panel.show(session, state);
      else panel = await Panel.open(host, session, state);
    })),
    vscode.commands.registerCommand("strobe.timelineInBrowser", host.guard(async (of?: { id?: string }) => {
      const session = await host.session(of), terminal = vscode.window.createTerminal("Strobe", await host.binary(), ["ui", ...session ? [session] : []]);
      terminal.show(); // the link is there, and the page ends with it
    })),
    { dispose: () => panel?.close() },
  ];
}

class Panel {
  private streams = new Map<number, () => void>();

  private constructor(private page: Page, private view: vscode.WebviewPanel) {
    view.onDidDispose(() => this.close());
  }

  static async open(host: Host, session: string, state: string): Promise<Panel> {
    const page = await Page.open(await host.binary(), (line) => host.log.appendLine(line));
    const view = vscode.window.createWebviewPanel("strobe.timeline", session, vscode.ViewColumn.Beside,
      { enableScripts: true, retainContextWhenHidden: true });
    const p = new Panel(page, view);
    view.webview.onDidReceiveMessage((m: Message) => p.hear(m).catch((e) => host.tell(e)));
    view.webview.html = await html(page, state);
    return p;
  }

  show(session: string, state: string): void {
    this.view.title = session;
    this.view.reveal(undefined, true);
    this.view.webview.postMessage({ state });
  }

  close(): void {
    for (const stop of this.streams.values()) stop();
    this.page.close();
    panel = null;
  }

  private async hear(m: Message): Promise<void> {
    const post = (o: object) => this.view.webview.postMessage(o);
    if ("open" in m) return goTo(m.open, m.line);
    if ("stop" in m) {
      this.streams.get(m.stop)?.();
      this.streams.delete(m.stop);
    } else if ("listen" in m) {
      this.streams.set(m.listen, this.page.listen(m.path, (name, data) => post({ of: m.listen, name, data }), () => this.streams.delete(m.listen)));
    } else {
      try {
        const r = await this.page.get(m.path, m.method, m.body);
        post({ id: m.id, status: r.status, type: r.type, body: new Uint8Array(r.body) });
      } catch {
        post({ id: m.id, status: 0 }); // the server is gone: the page says what that means
      }
    }
  }
}

/** bridge is what the page has instead of a server: fetch and EventSource by messages. */
function bridge(state: string): void {
  const vs = (globalThis as unknown as { acquireVsCodeApi(): { postMessage(m: object): void } }).acquireVsCodeApi();
  const waiting = new Map<number, (m: { status: number; type: string; body: Uint8Array }) => void>();
  const streams = new Map<number, EventTarget>();
  let last = 0;
  const go = (to: string) => history.replaceState(null, "", to);
  window.fetch = (path, init = {}) => new Promise((ok, fail) => {
    const id = ++last;
    init.signal?.addEventListener("abort", () => { waiting.delete(id); fail(new DOMException("", "AbortError")); });
    waiting.set(id, (m) => m.status ? ok(new Response(m.body as BodyInit, { status: m.status, headers: { "content-type": m.type } })) : fail(new TypeError()));
    vs.postMessage({ id, path: String(path), method: init.method, body: init.body });
  });
  class Stream extends EventTarget {
    private at = ++last;
    constructor(path: string) { super(); streams.set(this.at, this); vs.postMessage({ listen: this.at, path }); }
    close() { streams.delete(this.at); vs.postMessage({ stop: this.at }); }
  }
  Object.assign(window, { EventSource: Stream, openSource: (file: string, line: number) => vs.postMessage({ open: file, line }) });
  addEventListener("message", (e) => {
    const m = e.data;
    if (m.state) { go(m.state); dispatchEvent(new PopStateEvent("popstate")); }
    if (m.of) streams.get(m.of)?.dispatchEvent(new MessageEvent(m.name, { data: m.data }));
    if (m.id) { waiting.get(m.id)?.(m); waiting.delete(m.id); }
  });
  const theme = () => {
    const kind = document.body.className, name = /light/.test(kind) ? "light" : "dark";
    if (document.documentElement.dataset.theme !== name) document.documentElement.dataset.theme = name;
  };
  new MutationObserver(theme).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  localStorage.removeItem("theme"); // the editor's
  theme();
  go(state);
}

async function html(page: Page, state: string): Promise<string> {
  const file = async (name: string) => (await page.get(name)).body.toString();
  const [index, css, app, icon] = await Promise.all(["/", "/app.css", "/app.js", "/icon.svg"].map(file));
  const nonce = randomBytes(16).toString("base64"), picture = `data:image/svg+xml;base64,${Buffer.from(icon!).toString("base64")}`;
  const csp = `default-src 'none'; img-src data:; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'`;
  const script = (kind: string, text: string) => `<script${kind} nonce="${nonce}">${text.replace(/<\/script/gi, "<\\/script")}</script>`;
  const body = /<body>([^]*)<\/body>/.exec(index!)![1]!;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${csp}">
<title>Strobe</title><style nonce="${nonce}">${css}
body { padding: 0; } .home, .theme { display: none; } #top { min-height: 0; } #top h1 { border: 0; padding: 0; }</style></head><body>${body}
${script("", `(${bridge})(${JSON.stringify(state)})`)}
${script(' type="module"', app!.replaceAll('"icon.svg"', JSON.stringify(picture)))}</body></html>`;
}
