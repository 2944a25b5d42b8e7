// Test runs: how many tests passed, which failed and where, how long each took, and what is stuck.

import * as api from "./api";
import type { Run, Stuck, Test } from "./api";
import { copyButton, count, fill, h, plural, say, time } from "./dom";
import { drawWaits } from "./waits";

const ms = (n: number) => time(n * 1e6);
const most = 300; // rows of tests

/** states are the parts of the bar: a word, how many, and its look. */
function states(run: Run): [string, number, string][] {
  const s = run.status.result?.summary, p = run.status.progress;
  if (!s) return p ? [["passed", p.passed, "good"], ["failed", p.failed, "bad"], ["skipped", p.skipped, "off"]] : [];
  return [["passed", s.passed, "good"], ["failed", s.failed, "bad"], ["stuck", s.stuck ?? 0, "stuck"], ["unexpectedly passed", s.unexpectedPasses ?? 0, "stuck"],
    ["failed as expected", s.expectedFailures ?? 0, "off"], ["skipped", s.skipped, "off"], ["to do", s.todo ?? 0, "off"]];
}

function bar(run: Run): HTMLElement {
  const all = states(run).filter(([, n]) => n > 0), sum = all.reduce((n, [, k]) => n + k, 0);
  const strip = h("div", { class: "strip", "aria-hidden": "true" }, all.map(([, , look]) => h("span", { class: look })));
  all.forEach(([, n], i) => { (strip.children[i] as HTMLElement).style.flexGrow = String(Math.max(n, sum / 100)); });
  return h("div", {}, strip, h("p", { class: "counts" }, sum === 0 ? "no test" : all.map(([what, n, look]) =>
    h("span", {}, h("span", { class: `dot ${look}`, "aria-hidden": "true" }), `${count(n)} ${what}`))));
}

function place(t: Test): string { return t.file ? `${t.file}${t.line ? `:${t.line}` : ""}` : ""; }

function failure(t: Test, rerun?: string): HTMLElement {
  return h("article", { class: "failed" }, h("h3", {}, t.suite ? `${t.suite} › ${t.name}` : t.name),
    h("p", { class: "sub" }, [t.kind ?? t.status, ms(t.durationMs), place(t)].filter(Boolean).join(" · ")),
    t.message ? h("pre", { class: "output", tabindex: 0, role: "group", "aria-label": `Message of ${t.name}` }, t.message) : null,
    t.expected || t.actual ? h("dl", {}, h("dt", {}, "Expected"), h("dd", {}, h("code", {}, t.expected || "nothing")),
      h("dt", {}, "Actual"), h("dd", {}, h("code", {}, t.actual || "nothing"))) : null,
    t.also ? h("p", { class: "sub" }, `${plural(t.also, "further failure")} of this test`) : null,
    rerun ? h("p", { class: "row" }, h("code", {}, rerun), copyButton(() => rerun)) : null);
}

function stuckPart(s: Stuck, waits: api.Wait[] | undefined): HTMLElement {
  return h("article", { class: "failed" }, h("h3", {}, s.name ?? "a test"),
    h("p", { class: "warn" }, s.diagnosis), h("p", { class: "sub" }, `after ${ms(s.elapsedMs)}${s.ended ? "; ended for that" : ""}`),
    waits?.length ? drawWaits(waits) : null,
    (s.threads ?? []).length ? h("details", {}, h("summary", {}, `Stacks of ${plural(s.threads!.length, "thread")}`), s.threads!.map((t) =>
      h("div", {}, h("strong", {}, t.name), h("ol", { class: "path" }, t.stack.map((f) => h("li", {}, h("code", {}, f))))))) : null);
}

function tests(run: Run): HTMLElement {
  const all = run.tests ?? [], longest = Math.max(1, ...all.map((t) => t.durationMs));
  const col = (name: string, c = "") => h("th", { scope: "col", class: c }, name);
  const rest = (run.of ?? 0) - Math.min(most, all.length);
  return h("section", {}, h("h2", {}, "Tests"), h("div", { class: "tablebox", tabindex: 0, role: "region", "aria-label": "Table of tests" },
    h("table", {}, h("thead", {}, h("tr", {}, col("State"), col("Test"), col("Took", "n"), col("Where"))), h("tbody", {}, all.slice(0, most).map((t) => {
      const took = h("td", { class: "n" }, ms(t.durationMs)), share = h("span", { class: "bar-of", "aria-hidden": "true" }, h("span"));
      (share.firstChild as HTMLElement).style.width = `${Math.round(100 * t.durationMs / longest)}%`;
      took.append(share);
      return h("tr", {}, h("td", {}, h("span", { class: `pill ${t.fails ? "crashed" : t.status === "passed" ? "exited" : ""}` }, t.status)),
        h("td", { class: "what", title: t.suite }, t.suite ? `${t.suite} › ${t.name}` : t.name), took, h("td", { class: "what" }, place(t)));
    })))), rest > 0 ? h("p", { class: "sub" }, `${plural(rest, "test")} more, which passed faster.`) : null);
}

/** Runs is a page of one test run, which renews itself until it has ended. */
export class TestRun {
  readonly root = h("section", { class: "run", "aria-label": "Test run" });
  private timer = 0;
  private gone = false;
  private was = "";

  constructor(private id: string, private open: (session: string) => void) { this.load(); }

  stop(): void { this.gone = true; clearTimeout(this.timer); }

  private async load(): Promise<void> {
    try {
      const run = await api.run(this.id);
      if (this.gone) return;
      const text = JSON.stringify(run);
      if (text !== this.was) this.show(run);
      this.was = text;
      if (run.status.status === "running") this.timer = window.setTimeout(() => this.load(), 1000);
      else say(`The run has ${run.status.status}`);
    } catch (e) {
      const f = e as api.Failure;
      fill(this.root, h("div", { class: "empty", role: "alert" }, h("h2", {}, "This cannot be shown"), h("p", {}, f.message), h("p", {}, f.hint ?? "")));
    }
  }

  private show(run: Run): void {
    const s = run.status, r = s.result, p = s.progress, ids = s.sessionIds ?? (s.sessionId ? [s.sessionId] : []);
    const again = new Map((r?.failures ?? []).map((f) => [f.name, f.rerun?.command]));
    const failed = (run.tests ?? []).filter((t) => t.fails), stuck = r?.stuck ?? p?.stuck ?? [];
    fill(this.root, h("h2", {}, `${s.framework ?? "Tests"}: `, h("span", { class: `pill ${s.status === "running" ? "running" : s.status === "completed" && !failed.length && !stuck.length ? "exited" : "crashed"}` }, s.status)),
      bar(run), h("p", { class: "sub" }, r ? `in ${ms(r.summary.durationMs)}` : p ? `${p.phase}${p.doing ? `: ${p.doing}` : ""}, for ${ms(p.elapsedMs)}` : ""),
      s.error ? h("p", { class: "failure", role: "alert" }, s.error) : null, run.lack ? h("p", { class: "warn" }, run.lack) : null,
      ids.length ? h("p", {}, "Recorded: ", ids.map((id) => h("button", { type: "button", class: "link", onclick: () => this.open(id) }, id))) : null,
      p?.currentTests?.length ? h("section", {}, h("h2", {}, "Running"), h("ul", {}, p.currentTests.map((t) =>
        h("li", {}, `${t.name}, for ${ms(t.elapsedMs)}${t.baselineMs ? `, usually ${ms(t.baselineMs)}` : ""}`)))) : null,
      stuck.length ? h("section", {}, h("h2", {}, "Stuck"), stuck.map((one, i) => stuckPart(one, i === 0 ? run.waits : undefined))) : null,
      failed.length ? h("section", {}, h("h2", {}, "Failures"), failed.slice(0, 100).map((t) => failure(t, again.get(t.name))),
        failed.length > 100 ? h("p", { class: "sub" }, `${count(failed.length - 100)} more in the table.`) : null) : null,
      run.tests?.length ? tests(run) : null,
      r?.notes?.length ? h("section", {}, h("h2", {}, "Notes"), h("ul", {}, r.notes.map((n) => h("li", {}, n)))) : null);
  }
}

/** runList is the runs that the daemon remembers. */
export function runList(runs: api.RunRow[], open: (id: string) => void): HTMLElement | null {
  if (runs.length === 0) return null;
  const col = (name: string, c = "") => h("th", { scope: "col", class: c }, name);
  return h("section", { "aria-label": "Test runs" }, h("h2", {}, "Test runs"), h("table", {}, h("thead", {}, h("tr", {}, col("Run"), col("State"), col("Project"),
    col("Framework"), col("Passed", "n"), col("Failed", "n"), col("Took", "n"))), h("tbody", {}, runs.map((r) => h("tr", {},
    h("td", {}, h("a", { href: `#run=${encodeURIComponent(r.testRunId)}`, onclick: (e: MouseEvent) => {
      if (e.ctrlKey || e.metaKey || e.shiftKey) return;
      e.preventDefault();
      open(r.testRunId);
    } }, r.testRunId)), h("td", {}, h("span", { class: `pill ${r.status === "running" ? "running" : r.status === "completed" ? "exited" : "crashed"}` }, r.status)),
    h("td", { class: "what", title: r.projectRoot }, r.projectRoot), h("td", {}, r.framework), h("td", { class: "n" }, r.summary ? count(r.summary.passed) : ""),
    h("td", { class: "n" }, r.summary ? count(r.summary.failed) : ""), h("td", { class: "n" }, r.summary ? ms(r.summary.durationMs) : ""))))));
}
