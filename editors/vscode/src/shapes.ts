// The daemon's answers, as far as the extension reads them.

export interface Session {
  sessionId: string; name?: string; command: string; pid: number; projectRoot: string; startedAt: string; endedAt?: string;
  status: string; sizeBytes: number; eventCount: number;
}

export interface Paused { threadId: number; threadName?: string; reason?: string; function?: string; file?: string; line?: number }

export interface Point { id: string; function?: string; file?: string; line?: number; hits: number; message?: string }

export interface Crash {
  signal?: string; reason?: string; function?: string; sourceFile?: string; line?: number; exceptionType?: string;
  exceptionMessage?: string; stack?: string[];
}

export interface Status {
  sessionId: string; status: string; exitCode?: number; signal?: string; pid: number; runtime: string;
  eventCount: Record<string, number>; droppedEvents: number; hookedFunctions: number; tracePatterns: string[];
  breakpoints: (Point | string)[]; logpoints: (Point | string)[]; pausedThreads: Paused[]; crashInfo?: Crash;
  deadlocks?: unknown[]; capabilities?: Record<string, unknown>; warnings?: string[];
}

export interface Event {
  id: number; timestampNs: number; eventType: string; function?: string; sourceFile?: string; line?: number; durationNs?: number;
  arguments?: Record<string, unknown>; returnValue?: unknown; text?: string; threadId?: number; threadName?: string;
  enterEventId?: number; unwound?: boolean; exception?: unknown; [more: string]: unknown;
}

export interface Events { events: Event[]; totalCount: number; hasMore: boolean; lastEventId?: number; hint?: string }

export interface Stat { function: string; calls: number; errors: number; totalNs: number; p50Ns: number; p99Ns: number }

export interface One { event?: Event; enter?: Event; exit?: Event }
