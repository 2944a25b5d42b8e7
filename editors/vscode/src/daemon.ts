// The daemon, asked through `strobe mcp`: the same operations that agents have. It is started by the first question.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Failure is what the daemon refused, with what to do. */
export class Failure extends Error {
  constructor(readonly code: string, message: string, readonly hint = "") { super(message); }

  /** said is all of it, for a person. */
  get said(): string { return this.hint ? `${this.message.replace(/\.?$/, ".")} ${this.hint}` : this.message; }
}

/** Exact is an integer as the program had it, which a JavaScript number cannot hold. */
export class Exact { constructor(readonly text: string) {} toString() { return this.text; } }

/** parse reads JSON; where the engine can, integers keep all of their digits. */
export function parse(text: string): unknown {
  return JSON.parse(text, ((_: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value) && context?.source
      ? new Exact(context.source) : value) as (key: string, value: unknown) => unknown);
}

type Answer = { of: unknown; resolve: (value: unknown) => void; reject: (e: Error) => void };

interface Message { id?: number; result?: unknown; error?: { message: string } }

export class Daemon {
  private child: ChildProcessWithoutNullStreams | null = null;
  private ready: Promise<void> = Promise.resolve();
  private waiting = new Map<number, Answer>();
  private last = 0;

  /** where gives the binary, or throws a Failure that says how to get one. */
  constructor(private where: () => Promise<string>, private name: string, private log: (line: string) => void) {}

  get busy(): boolean { return this.waiting.size > 0; }

  /** call runs an operation and returns its answer. */
  async call<T>(operation: string, args: object): Promise<T> {
    await this.connect();
    const r = await this.request("tools/call", { name: operation, arguments: args, _meta: { "strobe/textOnly": true } }) as
      { isError?: boolean; content?: { text?: string }[]; structuredContent?: { code?: string; message?: string; hint?: string } };
    const text = r.content?.find((c) => c.text !== undefined)?.text ?? "";
    if (!r.isError) return parse(text) as T;
    const f = r.structuredContent, cut = /^([A-Z_]+): ([^]*)$/.exec(text);
    throw new Failure(f?.code ?? cut?.[1] ?? "", f?.message ?? cut?.[2] ?? text, f?.hint);
  }

  close(): void {
    this.child?.stdin.end();
    this.child = null;
  }

  private async connect(): Promise<void> {
    if (!this.child) {
      const path = await this.where();
      if (!this.child) this.start(path);
    }
    return this.ready;
  }

  private start(path: string): void {
    const child = this.child = spawn(path, ["mcp"]);
    let said = "";
    child.stderr.on("data", (b: Buffer) => {
      said = (said + b).slice(-2000);
      this.log(String(b).trimEnd());
    });
    child.stdin.on("error", () => {}); // its end is told below
    createInterface({ input: child.stdout }).on("line", (line) => this.hear(line));
    const over = (why: string) => {
      if (this.child === child) this.child = null;
      const f = new Failure("ENGINE_FAILED", said.trim() || why, "Look at the output channel Strobe; the next question starts it again.");
      for (const [id, w] of this.waiting) {
        if (w.of !== child) continue; // of the next connection
        this.waiting.delete(id);
        w.reject(f);
      }
    };
    child.on("error", (e) => over(`${path} cannot be started: ${e.message}`));
    child.on("close", (code, signal) => over(`strobe mcp ended with ${signal ?? code}`));
    this.ready = this.request("initialize", { protocolVersion: "2025-06-18", capabilities: {},
      clientInfo: { name: this.name, version: "1" } }).then(() => this.send({ method: "notifications/initialized" }));
    this.ready.catch(() => {}); // who asked hears it
  }

  private send(message: object): void {
    this.child?.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }

  private request(method: string, params: object): Promise<unknown> {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { of: this.child, resolve, reject });
      this.send({ id, method, params });
    });
  }

  private hear(line: string): void {
    let m: Message;
    try {
      m = JSON.parse(line) as Message;
    } catch {
      this.log(`strobe mcp wrote what is no message: ${line.slice(0, 200)}`);
      return;
    }
    const w = this.waiting.get(m.id ?? -1);
    if (!w) return;
    this.waiting.delete(m.id!);
    if (m.error) w.reject(new Failure("", m.error.message));
    else w.resolve(m.result);
  }
}
