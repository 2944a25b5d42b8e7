// Calls that are picked in a picture: what is said of one, and which one is beside it.

import type { Picture } from "./api";
import { count, exactTime, h, plural, time } from "./dom";
import { type Hit, markNames } from "./draw";

/** described says what is under the mouse. */
export function described(on: Hit, names: Map<number, string>): HTMLElement[] {
  if (on.mark) {
    const what = markNames[on.mark.eventType] ?? on.mark.eventType;
    return [h("strong", {}, on.mark.count > 1 ? `${what}, ${count(on.mark.count)} times` : what),
      h("span", {}, `at ${exactTime(on.mark.timestampNs)}`)];
  }
  const p = on.picture, i = on.span, name = names.get(p.fn[i]!) ?? "?";
  if (p.calls[i]! > 1) {
    return [h("strong", {}, plural(p.calls[i]!, "call")), h("span", {}, `the longest of ${name}`),
      h("span", {}, "click to zoom in")];
  }
  const open = p.calls[i] === 0;
  return [h("strong", {}, name), h("span", {}, open ? "has not returned" : time(p.end[i]! - p.begin[i]!)),
    h("span", {}, `at ${exactTime(p.begin[i]!)}`)];
}

/** neighbour finds the call before or behind one in its row, or in the row above or below it; -1 where there is none. */
export function neighbour(p: Picture, at: number, view: { from: number; to: number }, along: number, down: number): number {
  let best = -1;
  for (let i = 0; i < p.count; i++) {
    if (i === at || p.end[i]! < view.from || p.begin[i]! > view.to) continue;
    if (at < 0) { // none is selected: the first of the outermost
      const outer = best < 0 || p.depth[i]! < p.depth[best]!;
      if (outer || p.depth[i] === p.depth[best] && p.begin[i]! < p.begin[best]!) best = i;
      continue;
    }
    if (p.lane[i] !== p.lane[at] || p.depth[i] !== p.depth[at]! + down) continue;
    const inside = p.begin[i]! <= p.end[at]! && p.end[i]! >= p.begin[at]!;
    const fits = down ? inside : along > 0 ? p.begin[i]! > p.begin[at]! : p.begin[i]! < p.begin[at]!;
    const nearer = best < 0 || (along < 0 ? p.begin[i]! > p.begin[best]! : p.begin[i]! < p.begin[best]!);
    if (fits && nearer) best = i;
  }
  return best;
}
