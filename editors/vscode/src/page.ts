// The page of `strobe ui`, for a webview: its files, and requests that the webview may not send itself. The cookie stays here.

import { type ChildProcess, spawn } from "node:child_process";
import { type IncomingMessage, request } from "node:http";
import { createInterface } from "node:readline";
import { Failure } from "./daemon";

export interface Reply { status: number; type: string; body: Buffer }

/** Page is one server, which ends with close. */
export class Page {
  private constructor(private child: ChildProcess, private origin: URL, private cookie: string) {}

  /** open starts a server, and is the browser to which its link is given. */
  static async open(binary: string, log: (line: string) => void): Promise<Page> {
    const child = spawn(binary, ["ui", "--json"], { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    child.stderr.on("data", (b: Buffer) => { said = (said + b).slice(-2000); log(String(b).trimEnd()); });
    const line = await new Promise<string>((done, fail) => {
      createInterface({ input: child.stdout }).once("line", done);
      child.once("error", fail);
      child.once("close", () => fail(new Failure("ENGINE_FAILED", said.trim() || "strobe ui ended")));
    });
    const link = new URL((JSON.parse(line) as { url: string }).url);
    const r = await ask(link, "GET", "", "");
    r.resume();
    const cookie = r.headers["set-cookie"]?.[0]?.split(";")[0];
    if (!cookie) {
      child.kill();
      throw new Failure("ENGINE_FAILED", `the page's server answers ${r.statusCode} to its own link`);
    }
    return new Page(child, new URL(link.origin), cookie);
  }

  get running(): boolean { return this.child.exitCode === null && this.child.signalCode === null; }

  /** get answers a request for a file or of the page. */
  async get(path: string, method = "GET", body = ""): Promise<Reply> {
    const r = await ask(this.at(path), method, body, this.cookie), parts: Buffer[] = [];
    for await (const part of r) parts.push(part as Buffer);
    return { status: r.statusCode ?? 0, type: r.headers["content-type"] ?? "", body: Buffer.concat(parts) };
  }

  /** listen hears server-sent events until stopped or over. */
  listen(path: string, heard: (name: string, data: string) => void, over: () => void): () => void {
    let stopped = false, stream: IncomingMessage | null = null;
    ask(this.at(path), "GET", "", this.cookie).then((r) => {
      stream = r;
      if (stopped) { r.destroy(); return; }
      let name = "message";
      const lines = createInterface({ input: r });
      lines.on("line", (line) => {
        if (stopped) return;
        if (line.startsWith("event: ")) name = line.slice(7);
        else if (line.startsWith("data: ")) heard(name, line.slice(6));
        else if (line === "") name = "message";
      });
      lines.on("close", over);
      r.on("error", over);
    }, over);
    return () => { stopped = true; stream?.destroy(); };
  }

  close(): void { this.child.kill(); }

  /** at keeps requests at this server, whatever a path says. */
  private at(path: string): URL {
    const u = new URL(this.origin);
    const cut = path.indexOf("?");
    u.pathname = cut < 0 ? path : path.slice(0, cut);
    u.search = cut < 0 ? "" : path.slice(cut);
    return u;
  }
}

function ask(at: URL, method: string, body: string, cookie: string): Promise<IncomingMessage> {
  return new Promise((done, fail) => {
    const r = request(at, { method, headers: cookie ? { cookie } : {} }, done);
    r.on("error", fail);
    r.end(body);
  });
}
