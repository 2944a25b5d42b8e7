// Tells Strobe what Vitest does. Vitest 3 and later hand out objects of a public interface as tests are ready and end; versions 1 and 2
// hand out the tasks themselves, with packs of updates. Both are made the same here.
import fs from 'node:fs';
import common from './strobe_common.cjs';

const { settings, write, failure, bounded, Names, relative } = common;
const root = fs.realpathSync(settings.root);

export default class StrobeReporter {
  constructor() {
    this.names = new Names();
    this.ended = new Set();
    this.begun = new Map(); // key -> what is known of a test that has begun and not ended
    this.modern = false;
  }

  onInit(vitest) {
    this.vitest = vitest;
    for (const project of [vitest, ...(vitest.projects || [])]) {
      try {
        project.config.includeTaskLocation = true; // lines of tests
      } catch {
        // a version that does not let it be set: tests have no lines
      }
    }
  }

  // Vitest 3 and later.

  onTestModuleQueued(module) {
    this.modern = true;
    write({ e: 'file', file: module.moduleId });
  }

  onTestModuleCollected(module) {
    this.modern = true;
    for (const test of module.children.allTests()) this.name(fromCase(test)); // numbers by order of declaration
  }

  onTestCaseReady(test) {
    this.modern = true;
    this.start(fromCase(test));
  }

  onTestCaseResult(test) {
    this.modern = true;
    this.end(fromCase(test));
  }

  onTestModuleEnd(module) {
    this.modern = true;
    this.module(fromModule(module));
    write({ e: 'filedone', file: module.moduleId });
  }

  onTestRunEnd(modules, unhandled) {
    this.modern = true;
    this.over(modules.map(fromModule), unhandled);
  }

  // Vitest 1 and 2; 3 calls these as well.

  onCollected(files) {
    if (this.modern) return;
    for (const file of files || []) for (const task of tests(file)) this.name(fromTask(task, file));
  }

  onTaskUpdate(packs) {
    if (this.modern || !this.vitest) return;
    for (const [id, result] of packs) {
      const task = this.vitest.state.idMap.get(id);
      if (!task || (task.type !== 'test' && task.type !== 'custom')) continue;
      const view = fromTask(task, task.file || fileOf(task));
      if (result && result.state === 'run') this.start(view);
      else if (view.state !== 'pending' && (task.mode === 'run' || result)) this.end(view);
    }
  }

  onFinished(files, unhandled) {
    if (this.modern) return;
    this.over((files || []).map(fromFile), unhandled || []);
  }

  // Both.

  name(view) {
    const file = relative(view.file, root);
    const base = (view.project ? `[${view.project}] ` : '') + [file, ...view.path, view.name].join(' > ');
    const id = this.names.of(view.key, base);
    return { id, name: view.name, suite: [file, ...view.path].join(' > '), file: view.file, line: view.line };
  }

  start(view) {
    if (this.ended.has(view.key) || this.begun.has(view.key)) return;
    const known = this.name(view);
    this.begun.set(view.key, known);
    write({ e: 'start', ...known });
  }

  end(view) {
    if (this.ended.has(view.key) || view.state === 'pending') return;
    this.ended.add(view.key);
    this.begun.delete(view.key);
    const task = this.task(view.key);
    const hooks = view.hooks || (task && task.result && task.result.hooks);
    write({ e: 'end', ...this.name(view), ...judge({ ...view, hooks }) });
  }

  module(view) {
    for (const test of view.tests) this.end(test);
    for (const suite of view.suites) {
      const errors = suite.errors;
      if (!errors.length || this.ended.has(suite.key)) continue;
      this.ended.add(suite.key);
      const file = relative(suite.file, root);
      const id = (suite.project ? `[${suite.project}] ` : '') + [file, ...suite.path].join(' > ');
      const kind = suite.path.length || view.tests.length ? this.hook(suite) : 'collect';
      const failures = errors.map((e) => problem(e, kind));
      write({ e: 'end', id: this.names.of(suite.key, id), name: suite.path.at(-1) || file, suite: suite.path.length ? file : '', file: suite.file, status: 'error', fails: true, uncounted: true, failures });
    }
  }

  // hook is which hook of a suite failed. Only the task behind it says.
  hook(suite) {
    const task = this.task(suite.key);
    const hooks = (task && task.result && task.result.hooks) || {};
    return open(hooks.afterAll) && !open(hooks.beforeAll) ? 'teardown' : 'setup';
  }

  task(key) {
    return this.vitest && this.vitest.state && this.vitest.state.idMap && this.vitest.state.idMap.get(key);
  }

  over(modules, unhandled) {
    for (const view of modules) this.module(view);
    // A worker that dies is told as an error outside of tests, beside tests that never end.
    const dead = unhandled.filter(died);
    let explained = false;
    for (const view of modules) explained = this.unfinished(view, dead[0]) || explained;
    let n = 0;
    for (const error of unhandled) {
      if (died(error) && explained) continue;
      n++;
      const id = n === 1 ? '(unhandled error)' : `(unhandled error) #${n}`;
      write({ e: 'end', id, status: 'error', fails: true, uncounted: true, failures: [problem(error, 'exception', error && error.type ? `${error.type}: ` : '')] });
    }
    write({ e: 'done' });
  }

  // unfinished tells of the tests of a file whose worker died: those that had begun, or else the first that had not ended, ran then.
  unfinished(view, error) {
    const left = view.tests.filter((t) => !this.ended.has(t.key));
    let running = left.filter((t) => this.begun.has(t.key));
    if (!running.length && error) running = left.slice(0, 1);
    const message = `the worker process ended while it ran${error ? `: ${cause(error)}` : ''}`;
    for (const test of left) {
      this.ended.add(test.key);
      const known = { e: 'end', ...this.name(test), uncounted: true };
      if (running.includes(test)) write({ ...known, status: 'crashed', fails: true, failures: [{ kind: 'crash', message, file: test.file, line: test.line }] });
      else write({ ...known, status: 'skipped', reason: 'it was not run' });
    }
    if (running.length || !error || view.tests.length || !['pending', 'queued'].includes(view.state)) return running.length > 0;
    const file = relative(view.file, root);
    write({ e: 'end', id: file, name: file, file: view.file, status: 'crashed', fails: true, uncounted: true, failures: [{ kind: 'crash', message, file: view.file }] });
    return true;
  }
}

function died(error) {
  return /worker .*(exited|terminated|crashed|emitted error)|exited unexpectedly|fork.* (exited|closed)|Channel closed/i.test(cause(error));
}

function cause(error) {
  const texts = [];
  for (let n = 0; error && n < 5; n++, error = error.cause) texts.push(String(error.message || error));
  return texts.join(': ');
}

// What is known of a test, from either interface.

function fromCase(test) {
  const result = test.result() || { state: 'pending' };
  const about = (test.diagnostic && test.diagnostic()) || {};
  const attempts = test.attempts ? test.attempts() : [];
  const last = attempts.length ? attempts[attempts.length - 1] : undefined;
  const options = test.options || {};
  return {
    key: test.id, file: test.module.moduleId, path: pathOf(test), name: test.name, line: test.location && test.location.line, project: projectOf(test.project),
    state: result.state, mode: options.mode, fails: options.fails, note: result.note,
    errors: (last && last.state === 'failed' && last.errors) || result.errors || [], retries: about.retryCount || 0, ms: about.duration || 0, logs: logs(test),
  };
}

function logs(test) {
  const list = (test.logs && test.logs()) || (test.task && test.task.logs) || [];
  return bounded(list.map((l) => l.content).join(''));
}

function pathOf(test) {
  const names = [];
  for (let at = test.parent; at && at.type === 'suite'; at = at.parent) names.unshift(at.name);
  return names;
}

function projectOf(project) {
  return (project && (project.name || (project.getName && project.getName()))) || '';
}

function fromModule(module) {
  const project = projectOf(module.project);
  const suites = [module, ...module.children.allSuites()].map((s) => ({
    key: s.id, file: module.moduleId, path: s.type === 'suite' ? [...pathOf(s), s.name] : [], project, errors: s.errors(),
  }));
  return { key: module.id, file: module.moduleId, state: module.state(), tests: [...module.children.allTests()].map(fromCase), suites };
}

function* tests(task) {
  for (const child of task.tasks || []) {
    if (child.type === 'suite') yield* tests(child);
    else yield child;
  }
}

function* suitesOf(task) {
  yield task;
  for (const child of task.tasks || []) if (child.type === 'suite') yield* suitesOf(child);
}

function fileOf(task) {
  let at = task;
  while (at.suite && at.suite !== at && !at.filepath) at = at.suite;
  return at;
}

function taskPath(task, file) {
  const names = [];
  for (let at = task.suite; at && at !== file && at.name && !at.filepath; at = at.suite) names.unshift(at.name);
  return names;
}

function fromTask(task, file) {
  const result = task.result || {};
  const states = { pass: 'passed', fail: 'failed', skip: 'skipped', todo: 'skipped' };
  const state = task.mode === 'skip' || task.mode === 'todo' ? 'skipped' : states[result.state] || 'pending';
  return {
    key: task.id, file: file.filepath, path: taskPath(task, file), name: task.name, line: task.location && task.location.line, project: file.projectName || '',
    state, mode: task.mode, fails: task.fails, note: result.note, hooks: result.hooks, errors: result.errors || [], retries: result.retryCount || 0, ms: result.duration || 0,
    logs: bounded((task.logs || []).map((l) => l.content).join('')),
  };
}

function fromFile(file) {
  const suites = [...suitesOf(file)].map((s) => ({
    key: s.id, file: file.filepath, path: s === file ? [] : [...taskPath(s, file), s.name], project: file.projectName || '', errors: (s.result && s.result.errors) || [],
  }));
  const state = file.result && file.result.state && file.result.state !== 'run' ? file.result.state : 'pending';
  return { key: file.id, file: file.filepath, state, tests: [...tests(file)].map((t) => fromTask(t, file)), suites };
}

// What a result means.

// open is the state of a hook that failed: Vitest leaves it at run.
function open(state) {
  return state === 'run' || state === 'fail';
}

function judge(view) {
  const all = { ms: view.ms, output: view.logs, attempts: view.retries + 1 };
  if (view.state === 'skipped') return { ...all, status: view.mode === 'todo' ? 'todo' : 'skipped', reason: view.note || '' };
  if (view.state === 'passed') {
    return view.fails ? { ...all, status: 'expected-failure' } : { ...all, status: 'passed', flaky: view.retries > 0 };
  }
  const texts = new Set();
  const failures = [];
  for (const error of view.errors) {
    const key = `${error && error.message}`;
    if (!texts.has(key)) failures.push(problem(error));
    texts.add(key); // versions that keep the errors of all attempts
  }
  if (view.fails && failures.some((f) => /Expect test to fail/.test(f.message))) {
    return { ...all, status: 'unexpected-pass', fails: true, failures: failures.map((f) => ({ ...f, file: view.file, line: view.line })) };
  }
  let status = 'failed';
  const hooks = view.hooks || {};
  for (const [name, state] of Object.entries(hooks)) {
    if (!open(state) || status !== 'failed') continue;
    const kind = /^before/.test(name) ? 'setup' : 'teardown';
    if (kind === 'teardown' && failures.length > 1) failures[failures.length - 1].kind = kind;
    else {
      status = 'error';
      for (const f of failures) f.kind = kind;
    }
  }
  if (failures.some((f) => f.kind === 'timeout')) status = 'timeout';
  return { ...all, status, fails: true, failures };
}

function problem(error, kind, prefix) {
  const f = failure(error, kind ? { kind } : {});
  if (!f.stack && error && Array.isArray(error.stacks)) {
    f.stack = error.stacks.map((s) => `    at ${s.method || '<anonymous>'} (${s.file}:${s.line}:${s.column})`).join('\n');
  }
  if (/^(\w*Error: )?Test timed out in \d+ms/.test(f.message)) f.kind = 'timeout';
  if (/^(\w*Error: )?process\.exit unexpectedly called/.test(f.message)) f.kind = 'exit';
  if (prefix) f.message = prefix + f.message;
  if (error && error.showDiff === false && f.expected === 'undefined') delete f.expected; // an assertion without two sides
  const at = error && error.loc; // of a file that cannot be parsed
  if (kind === 'collect' && at && at.line > 0) Object.assign(f, { file: at.file || error.id, line: at.line, column: at.column || 0 });
  return f;
}
