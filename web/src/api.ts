// The server's answers, with their shapes. Numbers that JavaScript cannot hold stay as they were written.

export interface Session {
  sessionId: string; name?: string; command: string; pid: number; projectRoot: string; startedAt: string;
  endedAt?: string; status: string; sizeBytes: number; eventCount: number;
}
export interface Status {
  sessionId: string; status: string; exitCode?: number; signal?: string; pid: number; runtime: string;
  eventCount: Record<string, number>; droppedEvents: number; tracePatterns: string[];
}
export interface Lane {
  lane: number; pid: number; threadId: number; name: string; task?: boolean; calls: number; events: number;
  from: number; to: number;
}
export interface Lanes { lanes: Lane[]; newest: number; lastId: number; evicted?: number; over: boolean }
export interface Mark { timestampNs: number; lane: number; eventType: string; id: number; count: number }
export interface Picture {
  from: number; to: number; newest: number; lastId: number; count: number; marks: Mark[];
  lanes: { lane: number; depth: number }[]; functions: { id: number; name: string }[]; cut?: string;
  begin: Float64Array; end: Float64Array; id: Float64Array; calls: Uint32Array; fn: Uint32Array; lane: Uint32Array;
  depth: Uint16Array; busy: Uint16Array;
}
export interface Event {
  id: number; timestampNs: number; eventType: string; function?: string; sourceFile?: string; line?: number;
  durationNs?: number; returnValue?: unknown; arguments?: Record<string, unknown>; text?: string; threadId?: number;
  threadName?: string; pid?: number; parentEventId?: number; enterEventId?: number; unwound?: boolean; lost?: boolean;
  exception?: unknown; watchValues?: Record<string, unknown>; sampled?: boolean; [more: string]: unknown;
}
export interface One {
  event?: Event; enter?: Event; exit?: Event; lane: number; callers: Event[];
  callees: { function: string; calls: number; totalNs: number; longestId: number }[]; more?: string;
}
export interface Page { events: Event[]; totalCount: number; hasMore: boolean; lastEventId?: number; hint?: string }
export interface Stat {
  function: string; calls: number; errors: number; totalNs: number; selfNs: number; p50Ns: number; p99Ns: number;
  sampled?: number; returns?: { value: string; count: number }[];
}
export interface FlameSide { all: number; weight: number[]; calls: number[]; totalNs: number[]; selfNs: number[] }
export interface FlameSum {
  function: string; calls: number; totalNs: number; selfNs: number; callsB?: number; totalNsB?: number; selfNsB?: number;
}
export interface Flame {
  by: "time" | "count"; names: string[]; parent: number[]; name: number[]; a: FlameSide; b?: FlameSide; nodes: number;
  functions: FlameSum[]; of: number; notes?: string[];
}
export interface Summary {
  passed: number; failed: number; skipped: number; stuck?: number; expectedFailures?: number; unexpectedPasses?: number;
  todo?: number; subtests?: number; durationMs: number;
}
export interface RunRow { testRunId: string; projectRoot: string; framework: string; status: string; summary?: Summary }
export interface Test {
  name: string; suite?: string; status: string; fails?: boolean; durationMs: number; file?: string; line?: number; kind?: string;
  message?: string; expected?: string; actual?: string; also?: number;
}
export interface Wait { threadId: number; name?: string; waitsFor: string; heldBy?: number; at?: string; circle?: boolean }
export interface Stuck {
  name?: string; elapsedMs: number; ended?: boolean; diagnosis: string; threads?: { name: string; stack: string[] }[];
}
export interface Run {
  status: {
    testRunId: string; status: string; framework?: string; sessionId?: string; sessionIds?: string[]; error?: string; hint?: string;
    progress?: {
      elapsedMs: number; phase: string; doing?: string; passed: number; failed: number; skipped: number; quietMs?: number;
      currentTests?: { name: string; elapsedMs: number; baselineMs?: number }[]; stuck?: Stuck[]; paused?: string[]; warnings?: string[];
    };
    result?: { summary: Summary; stuck: Stuck[]; slow?: { name: string; durationMs: number; usualMs: number }[]; flaky?: string[];
      notes?: string[]; failures: { name: string; rerun?: { command?: string } }[] };
  };
  tests?: Test[]; of?: number; waits?: Wait[]; lack?: string;
}
export interface Source { file: string; line: number; first: number; lines: string[] }

/** Failure is what the server refused, with what to do. */
export class Failure extends Error {
  constructor(readonly code: string, message: string, readonly hint: string) { super(message); }
}

/** Exact is a number as the program had it, which a JavaScript number cannot hold. */
export class Exact { constructor(readonly text: string) {} }

function parse(text: string): unknown {
  return JSON.parse(text, ((_: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value) && context?.source
      ? new Exact(context.source) : value) as (key: string, value: unknown) => unknown);
}

async function request(path: string, init?: RequestInit): Promise<Response> {
  let r: Response;
  try {
    r = await fetch(path, init);
  } catch (e) {
    if ((e as Error).name === "AbortError") throw e;
    throw new Failure("GONE", "The page's server does not answer.", "Begin `strobe ui` again and open its new link.");
  }
  if (r.ok) return r;
  const text = await r.text();
  try {
    const f = JSON.parse(text);
    throw new Failure(f.code, f.message, f.hint);
  } catch (e) {
    if (e instanceof Failure) throw e;
    throw new Failure(String(r.status), text.trim(), "");
  }
}

function query(args: Record<string, string | number>): string {
  return new URLSearchParams(Object.entries(args).map(([k, v]) => [k, String(v)])).toString();
}

async function get<T>(path: string, args: Record<string, string | number>, signal?: AbortSignal): Promise<T> {
  return parse(await (await request(`/api/${path}?${query(args)}`, { signal })).text()) as T;
}

async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return parse(await (await request(`/api/${path}`, { method: "POST", body: JSON.stringify(body), signal })).text()) as T;
}

export const sessions = () => get<{ sessions: Session[] }>("sessions", {});
export const runs = () => get<{ runs: RunRow[] }>("runs", {});
export const run = (id: string) => get<Run>("run", { id });
export const status = (s: string) => get<Status>("session", { s });
export const lanes = (s: string) => get<Lanes>("lanes", { s });
export const event = (s: string, id: number) => get<One>("event", { s, id });
export const source = (s: string, id: number) => get<Source>("source", { s, id });
export const events = (q: object, signal?: AbortSignal) => post<Page>("query", q, signal);
export const stats = (q: object, signal?: AbortSignal) =>
  post<{ rows: Stat[]; of: number; hint?: string }>("stats", q, signal);

export const flame = (q: object, signal?: AbortSignal) => post<Flame>("flame", q, signal);

/** warm has the daemon draw a session that will be looked at soon: the first walk over all of its events is then over. */
export function warm(s: string): void {
  fetch(`/api/picture?${query({ s, lanes: 0, buckets: 1, levels: 1 })}`).catch(() => {}); // the page will say it
}

/** picture reads a picture: an object, and behind it the columns of the spans. */
export async function picture(s: string, from: number, to: number, buckets: number, levels: number, of: number[],
  signal?: AbortSignal): Promise<Picture> {
  const args = { s, from: Math.floor(from), to: Math.ceil(to), buckets, levels, lanes: of.join(",") };
  const b = await (await request(`/api/picture?${query(args)}`, { signal })).arrayBuffer();
  const size = new DataView(b).getUint32(0, true);
  const p = JSON.parse(new TextDecoder().decode(new Uint8Array(b, 4, size))) as Picture;
  let at = Math.ceil((4 + size) / 8) * 8;
  const n = p.count;
  const float = () => { const a = new Float64Array(b, at, n); at += 8 * n; return a; };
  const long = () => { const a = new Uint32Array(b, at, n); at += 4 * n; return a; };
  const short = () => { const a = new Uint16Array(b, at, n); at += 2 * n; return a; };
  p.begin = float(); p.end = float(); p.id = float();
  p.calls = long(); p.fn = long(); p.lane = long();
  p.depth = short(); p.busy = short();
  return p;
}

/** follow tells of a session that runs, until stopped. */
export function follow(s: string, grown: (l: Lanes) => void, over: () => void): () => void {
  const source = new EventSource(`/api/follow?${query({ s })}`);
  source.addEventListener("lanes", (e) => {
    const l = JSON.parse(e.data) as Lanes;
    grown(l);
    if (l.over) { source.close(); over(); }
  });
  source.addEventListener("failed", () => { source.close(); over(); });
  return () => source.close();
}
