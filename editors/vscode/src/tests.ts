// The test explorer, on debug_test.

import * as vscode from "vscode";
import { start } from "./debug";
import type { Host } from "./host";
import { command, details, found, isTests, type Result, type Run, type Test, words } from "./testmodel";
import { plural } from "./values";

const maxFiles = 500;

export function tests(host: Host): vscode.Disposable[] {
  const explorer = new Explorer(host);
  return [explorer.controller, ...explorer.parts];
}

class Explorer {
  readonly controller = vscode.tests.createTestController("strobe", "Strobe");
  readonly parts: vscode.Disposable[];
  private results = new Map<string, Result>(); // by folder: of the last run
  private ran = new Map<string, Test>(); // by item

  constructor(private host: Host) {
    const kinds = vscode.TestRunProfileKind, c = this.controller;
    c.resolveHandler = async (item) => { if (!item) await this.discover(); };
    c.refreshHandler = () => this.discover();
    const run = (traced: boolean) => (r: vscode.TestRunRequest, t: vscode.CancellationToken) => this.run(r, t, traced);
    this.parts = [
      c.createRunProfile("Run with Strobe", kinds.Run, run(false), true),
      c.createRunProfile("Run traced with Strobe", kinds.Run, run(true)),
      c.createRunProfile("Debug with Strobe", kinds.Debug, (r, t) => this.debug(r, t), true),
      vscode.workspace.onDidSaveTextDocument((d) => { if (isTests(d.uri.path)) this.read(d.uri, d.getText()); }),
      vscode.workspace.onDidOpenTextDocument((d) => { if (isTests(d.uri.path)) this.read(d.uri, d.getText()); }),
    ];
  }

  /** discover reads files that are called as tests are. The framework's own list comes with the first run. */
  private async discover(): Promise<void> {
    const files = await vscode.workspace.findFiles("**/*{test,Test,spec}*", "**/{node_modules,.venv,venv,target,build,out}/**", maxFiles);
    const more = await vscode.workspace.findFiles("**/tests/*.{rs,js,ts,mjs}", "**/{node_modules,target}/**", maxFiles);
    for (const uri of [...files, ...more]) {
      if (!isTests(uri.path)) continue;
      const b = await vscode.workspace.fs.readFile(uri);
      if (b.length < 1 << 20) this.read(uri, Buffer.from(b).toString());
    }
  }

  private read(uri: vscode.Uri, text: string): void {
    const folder = vscode.workspace.getWorkspaceFolder(uri), list = found(text, uri.path);
    if (!folder || uri.scheme !== "file" || list.length === 0) return;
    const file = this.file(uri);
    for (const t of list) if (!named(file, t.name)) this.add(file, t.name, t.name, uri, t.line);
  }

  private file(uri: vscode.Uri): vscode.TestItem {
    const id = uri.toString(), had = this.controller.items.get(id);
    if (had) return had;
    const item = this.controller.createTestItem(id, vscode.workspace.asRelativePath(uri, false), uri);
    this.controller.items.add(item);
    return item;
  }

  private add(to: vscode.TestItem, id: string, label: string, uri?: vscode.Uri, line = 0): vscode.TestItem {
    const item = this.controller.createTestItem(id, label, uri);
    if (line > 0) item.range = new vscode.Range(line - 1, 0, line - 1, 0);
    to.children.add(item);
    return item;
  }

  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken, traced: boolean): Promise<void> {
    const run = this.controller.createTestRun(request);
    try {
      for (const folder of this.folders(request)) {
        const wanted = request.include ? leaves(request.include).filter((i) => inside(i, folder)) : undefined;
        for (const item of wanted ?? leaves(values(this.controller.items))) run.started(item);
        // One test is asked for by its name; of more the whole project runs, which costs one start of the framework.
        const one = wanted?.length === 1 ? wanted[0] : undefined;
        await this.ask(run, folder.uri.fsPath, one, traced, token, wanted);
      }
    } catch (e) {
      await this.host.tell(e);
    }
    run.end();
  }

  private folders(r: vscode.TestRunRequest): readonly vscode.WorkspaceFolder[] {
    const all = (vscode.workspace.workspaceFolders ?? []).filter((f) => f.uri.scheme === "file");
    return r.include ? all.filter((f) => leaves(r.include!).some((i) => inside(i, f))) : all;
  }

  private async ask(run: vscode.TestRun, root: string, one: vscode.TestItem | undefined, traced: boolean, token: vscode.CancellationToken,
    wanted?: vscode.TestItem[]): Promise<void> {
    const call = (args: object) => this.host.daemon.call<Run>("debug_test", args);
    const known = one && this.ran.get(one.id)?.id;
    let r = await call({ action: "run", projectRoot: root, ...one ? { test: known ?? one.id } : {}, ...traced ? { tracePatterns: ["@usercode"] } : {} });
    const cancel = token.onCancellationRequested(() => { call({ action: "cancel", testRunId: r.testRunId }).catch(() => {}); });
    while (r.testRunId && r.status === "running") r = await call({ action: "status", testRunId: r.testRunId, waitMs: 2000 });
    cancel.dispose();
    for (const w of r.warnings ?? []) run.appendOutput(`${w}\r\n`);
    if (r.error || r.result?.noTests || !r.result) {
      run.appendOutput(`${r.error ?? "No tests ran."} ${r.hint ?? ""}\r\n`);
      for (const i of wanted ?? []) run.errored(i, new vscode.TestMessage(`${r.error ?? "No tests ran."} ${r.hint ?? ""}`));
      return;
    }
    const all = await details(r, root);
    this.results.set(root, all);
    for (const t of all.tests) this.tell(run, t, root);
    const s = r.result.summary;
    run.appendOutput(`${r.framework}: ${s.passed} passed, ${s.failed} failed, ${s.skipped} skipped\r\n`);
    if (r.sessionId) {
      run.appendOutput(`Recorded as ${r.sessionId}\r\n`);
      this.host.soon();
      const open = await vscode.window.showInformationMessage(`Strobe recorded ${plural(all.tests.length, "test")} as ${r.sessionId}.`, "Timeline");
      if (open) await vscode.commands.executeCommand("strobe.timeline", r.sessionId);
    }
  }

  /** tell shows the end of a test, which has an item then. */
  private tell(run: vscode.TestRun, t: Test, root: string): void {
    const item = this.item(t, root);
    this.ran.set(item.id, t);
    if (t.output) run.appendOutput(t.output.replace(/\r?\n/g, "\r\n"), undefined, item);
    const messages = t.failures.map((f) => {
      const text = [f.message, ...f.stack.length > 1 ? [f.stack.join("\n")] : []].join("\n\n");
      const m = f.expected !== undefined && f.actual !== undefined ? vscode.TestMessage.diff(text, f.expected, f.actual) : new vscode.TestMessage(text);
      if (f.file && f.line) m.location = new vscode.Location(vscode.Uri.file(f.file), new vscode.Position(f.line - 1, 0));
      return m;
    });
    if (t.status === "passed") run.passed(item, t.ms);
    else if (t.status === "skipped") run.skipped(item);
    else if (t.status === "failed") run.failed(item, messages, t.ms);
    else run.errored(item, messages.length ? messages : [new vscode.TestMessage(t.status)], t.ms);
  }

  private item(t: Test, root: string): vscode.TestItem {
    const uri = t.file ? vscode.Uri.file(t.file) : undefined;
    const group = uri ? this.file(uri) : this.suite(t.suite || root);
    return group.children.get(t.id) ?? named(group, t.name) ?? this.add(group, t.id, t.name, uri, t.line);
  }

  private suite(name: string): vscode.TestItem {
    const had = this.controller.items.get(name);
    if (had) return had;
    const item = this.controller.createTestItem(name, name);
    this.controller.items.add(item);
    return item;
  }

  /** debug launches the command that runs one test alone. */
  private async debug(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const item = leaves(request.include ?? [])[0];
    const folder = item && this.folders({ ...request, include: [item] } as vscode.TestRunRequest)[0];
    if (!item || !folder) return;
    const root = folder.uri.fsPath;
    try {
      if (!this.ran.has(item.id)) { // its framework and its name in it are known by a run
        const run = this.controller.createTestRun(new vscode.TestRunRequest([item]), "before debugging", false);
        await this.ask(run, root, item, false, token);
        run.end();
      }
      const t = this.ran.get(item.id), of = this.results.get(root);
      const line = t && of ? command(t, of) : "", w = words(line);
      if (!w) throw new Error(`How ${item.label} is run alone is not known${of ? ` of ${of.framework}` : ""}: debug its program with a configuration in launch.json.`);
      const [program, ...args] = w.argv;
      const cwd = !w.dir ? root : w.dir.startsWith("/") ? w.dir : `${root}/${w.dir}`;
      await start({ type: "strobe", request: "launch", name: item.label, program, args, env: w.env, cwd, projectRoot: root }, folder);
    } catch (e) {
      await this.host.tell(e);
    }
  }
}

function values(c: vscode.TestItemCollection): vscode.TestItem[] {
  const list: vscode.TestItem[] = [];
  c.forEach((i) => list.push(i));
  return list;
}

function leaves(of: readonly vscode.TestItem[]): vscode.TestItem[] {
  return of.flatMap((i) => i.children.size ? leaves(values(i.children)) : [i]);
}

function inside(i: vscode.TestItem, f: vscode.WorkspaceFolder): boolean {
  return !i.uri || i.uri.fsPath.startsWith(`${f.uri.fsPath}/`);
}

function named(group: vscode.TestItem, name: string): vscode.TestItem | undefined {
  return values(group.children).find((i) => i.label === name);
}
