'use strict';
// Tells Strobe what Jest does. A file's report is final; while it runs, only tests that passed are known to have ended, since those
// that failed may be tried again.
const fs = require('node:fs');
const { settings, write, failure, bounded, shown, relative } = require('./strobe_common.cjs');

const root = fs.realpathSync(settings.root);

class StrobeReporter {
  constructor() {
    this.files = new Map(); // path -> state of a file that runs
    this.lost = 0; // tests that passed in a process that died later
  }

  project(test) {
    const name = test.context && test.context.config && test.context.config.displayName;
    return (name && (name.name || name)) || '';
  }

  state(test) {
    const key = `${this.project(test)}\n${test.path}`;
    if (!this.files.has(key)) this.files.set(key, { path: test.path, tag: this.project(test), bases: new Map(), open: new Map() });
    return this.files.get(key);
  }

  known(state, titles, n) {
    const file = relative(state.path, root);
    const base = (state.tag ? `[${state.tag}] ` : '') + [file, ...titles].join(' > ');
    return { id: n > 1 ? `${base} #${n}` : base, name: titles[titles.length - 1], suite: [file, ...titles.slice(0, -1)].join(' > '), file: state.path };
  }

  // While a file runs.

  onTestCaseStart(test, info) {
    const state = this.state(test);
    const titles = [...info.ancestorTitles, info.title];
    const base = JSON.stringify(titles);
    const seen = state.bases.get(base) || { ended: 0, failed: false };
    state.bases.set(base, seen);
    const known = this.known(state, titles, seen.ended + 1);
    state.open.set(base, known);
    write({ e: 'start', ...known });
  }

  onTestCaseResult(test, result) {
    const state = this.state(test);
    const base = JSON.stringify([...result.ancestorTitles, result.title]);
    const seen = state.bases.get(base);
    const known = state.open.get(base);
    if (!seen || !known) return;
    state.open.delete(base);
    const end = { ...known, ...judge(result, state.path) };
    if (result.status === 'passed' && !seen.failed) {
      seen.ended++;
      write({ e: 'end', ...end });
    } else {
      seen.failed = true;
      write({ e: 'attempt', ...end });
    }
  }

  // When it is over.

  onTestResult(test, report) {
    const state = this.state(test);
    const counts = new Map();
    for (const result of report.testResults) {
      const titles = [...result.ancestorTitles, result.title];
      const base = JSON.stringify(titles);
      const n = (counts.get(base) || 0) + 1;
      counts.set(base, n);
      write({ e: 'end', ...this.known(state, titles, n), ...judge(result, state.path) });
    }
    if (report.testExecError || (report.failureMessage && !report.testResults.some((r) => r.status === 'failed'))) this.broken(state, report);
    this.files.delete(`${state.tag}\n${state.path}`);
  }

  // broken is a file that did not load, or whose process died.
  broken(state, report) {
    const error = report.testExecError || {};
    const file = relative(state.path, root);
    const stack = plain(typeof error === 'string' ? error : error.stack || error.message || report.failureMessage);
    const text = plain(error.message || cut(stack) || report.failureMessage).replace(/ \(pid=\d+\)/, '');
    const died = /worker process.* was terminated|child process exceptions|worker.*(exited|crashed)/i.test(text);
    const signal = /signal=?\s*(SIG[A-Z0-9]+)/.exec(text);
    const open = [...state.open.values()];
    const kind = died ? (signal ? 'crash' : 'exit') : report.testResults.length ? 'teardown' : 'collect';
    const f = { kind, message: cut(text).replace(/^Error: /, ''), stack: /\n\s+at /.test(stack) ? stack : plain(report.failureMessage || '') };
    for (const seen of state.bases.values()) this.lost += died ? seen.ended : 0; // Jest forgets them
    if (died && open.length) {
      const message = `the worker process ended while this test ran: ${cut(text)}`;
      for (const known of open) write({ e: 'end', ...known, uncounted: true, status: 'crashed', fails: true, failures: [{ kind: f.kind, message, file: state.path }] });
      return;
    }
    const id = (state.tag ? `[${state.tag}] ` : '') + file;
    write({ e: 'end', id, name: file, file: state.path, uncounted: true, status: died ? 'crashed' : 'error', fails: true, failures: [f] });
  }

  onRunComplete(contexts, results) {
    write({ e: 'totals', passed: results.numPassedTests + this.lost, failed: results.numFailedTests, skipped: results.numPendingTests + results.numTodoTests });
    if (results.runExecError) {
      write({ e: 'end', id: '(run)', status: 'error', fails: true, uncounted: true, failures: [failure(results.runExecError, { kind: 'collect' })] });
    }
    write({ e: 'done' });
  }
}

function plain(text) {
  return String(text).replace(/\u001b\[[0-9;]*m/g, '');
}

// cut takes the frames off a message that is a stack.
function cut(text) {
  const lines = plain(text).split('\n');
  const at = lines.findIndex((line) => /^\s+at .*[:)]/.test(line));
  return bounded((at > 0 ? lines.slice(0, at) : lines).join('\n').trim());
}

function judge(result, path) {
  const line = (result.location && result.location.line) || 0;
  const attempts = result.invocations || 1;
  const all = { line, ms: result.duration || 0, attempts };
  switch (result.status) {
    case 'passed':
      return result.failing ? { ...all, status: 'expected-failure' } : { ...all, status: 'passed', flaky: attempts > 1 };
    case 'todo':
      return { ...all, status: 'todo' };
    case 'pending':
    case 'skipped':
    case 'disabled':
      return { ...all, status: 'skipped' };
  }
  const details = result.failureDetails || [];
  const failures = (result.failureMessages || []).map((text, i) => problem(text, details[i] || {}));
  let status = 'failed';
  const hooks = failures.map((f) => hookOf(f.stack, path));
  failures.forEach((f, i) => {
    if (hooks[i]) f.kind = hooks[i];
  });
  if (failures.length && hooks.every(Boolean)) status = 'error';
  if (failures.some((f) => /^(thrown: )?"?Exceeded timeout of \d+ ms for a test/.test(f.message))) {
    status = 'timeout';
    for (const f of failures) f.kind = 'timeout';
  } else if (failures.some((f) => /Exceeded timeout of \d+ ms for a hook/.test(f.message))) {
    status = 'error';
    for (const f of failures) f.kind = 'setup';
  } else if (failures.some((f) => /^(Error: )?Failing test passed even though it was supposed to fail/.test(f.message))) {
    status = 'unexpected-pass';
    for (const f of failures) Object.assign(f, { file: path, line });
  }
  return { ...all, status, fails: true, failures };
}

// hookOf says whether an error comes out of a hook, which Jest does not tell: by what is called last before the outermost place in the
// file of the tests.
function hookOf(stack, path) {
  const places = plain(stack).split('\n').map((line) => /^\s+at .*?\(?([^()\s][^()]*):(\d+):(\d+)\)?$/.exec(line)).filter((m) => m && m[1] === path);
  const at = places[places.length - 1];
  if (!at) return '';
  let lines;
  try {
    lines = fs.readFileSync(path, 'utf8').split('\n').slice(0, Number(at[2]));
  } catch {
    return '';
  }
  lines.push((lines.pop() || '').slice(0, Number(at[3]) - 1));
  const calls = lines.join('\n').match(/\b(?:(?:before|after)(?:All|Each)\s*\(|(?:test|[fx]?it|xtest|describe|[fx]describe)\b[.\w]*\s*[(`])/g) || [];
  const last = calls[calls.length - 1] || '';
  return /^before/.test(last) ? 'setup' : /^after/.test(last) ? 'teardown' : '';
}

function problem(text, detail) {
  const message = cut(text).replace(/^(Error|JestAssertionError): /, '').replace(/^thrown: "(.*)"$/s, '$1');
  const side = detail.matcherResult || (detail.error && detail.error.matcherResult) || detail;
  const f = { kind: 'exception', message, stack: text };
  if (detail.matcherResult || /^(expect\(|assert\b)/.test(message) || /AssertionError/.test(text.slice(0, 200))) f.kind = 'assertion';
  if (side && (side.expected !== undefined || side.actual !== undefined)) Object.assign(f, { expected: shown(side.expected), actual: shown(side.actual) });
  return f;
}

module.exports = StrobeReporter;
