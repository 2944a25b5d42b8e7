// Where lanes stand: each has a line of marks and a row for each depth of calls.

import type { Lane } from "./api";

export const rowHeight = 18;
export const markHeight = 14;
export const lanePad = 5;
export const axisHeight = 26;
export const maxLevels = 48;
const headHeight = 22; // of a process

export interface Place {
  lane: Lane | null; // null: a process's heading, or the events of no thread
  pid: number; // of a heading
  top: number;
  height: number;
  rows: number;
  folded: boolean;
}

/** Layout knows where lanes stand. Depths only grow, so that nothing jumps. */
export class Layout {
  places: Place[] = [];
  height = 0;
  hidden = 0; // lanes without calls that are left out
  all = false;
  private byLane = new Map<number, Place>();
  private depths = new Map<number, number>();
  private folded = new Set<number>();
  private lanes: Lane[] = [];
  private loose = false; // there are events of no thread

  set(lanes: Lane[]): void {
    this.lanes = lanes;
    this.place();
  }

  /** deepen takes how deep lanes' calls are known to go, and whether events are of no thread; it reports a change. */
  deepen(depths: { lane: number; depth: number }[], loose: boolean): boolean {
    let grew = loose && !this.loose;
    this.loose ||= loose;
    for (const d of depths) {
      const depth = Math.min(d.depth, maxLevels);
      if (depth > (this.depths.get(d.lane) ?? 0)) {
        this.depths.set(d.lane, depth);
        grew = true;
      }
    }
    if (grew) this.place();
    return grew;
  }

  fold(lane: number): void {
    if (!this.folded.delete(lane)) this.folded.add(lane);
    this.place();
  }

  of(lane: number): Place | undefined { return this.byLane.get(lane); }

  private place(): void {
    const key = (l: Lane) => `${l.pid} ${l.threadId}`; // tasks belong to their thread
    const called = new Set(this.lanes.filter((l) => l.calls > 0).map(key));
    const withCalls = this.lanes.filter((l) => called.has(key(l)));
    const some = !this.all && withCalls.length > 0 ? withCalls : this.lanes;
    this.hidden = this.lanes.length - withCalls.length;
    const processes = new Set(some.map((l) => l.pid));
    this.places = [];
    this.byLane.clear();
    let top = 0, pid = -1;
    const loose = this.loose ? markHeight + lanePad + 3 : 0;
    this.places.push({ lane: null, pid: 0, top, height: loose, rows: 0, folded: false });
    top += loose;
    for (const lane of some) {
      if (processes.size > 1 && lane.pid !== pid) {
        pid = lane.pid;
        this.places.push({ lane: null, pid, top, height: headHeight, rows: 0, folded: false });
        top += headHeight;
      }
      const folded = this.folded.has(lane.lane);
      const rows = lane.calls === 0 ? 0 : folded ? 1 : Math.max(1, this.depths.get(lane.lane) ?? 1);
      const height = Math.max(22, markHeight + rows * rowHeight + lanePad);
      const p = { lane, pid: 0, top, height, rows, folded };
      this.places.push(p);
      this.byLane.set(lane.lane, p);
      top += height;
    }
    this.height = top + 12;
  }

  /** between returns the places that are seen. */
  between(top: number, bottom: number): Place[] {
    return this.places.filter((p) => p.top < bottom && p.top + p.height > top);
  }
}
