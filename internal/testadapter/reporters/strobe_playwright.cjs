'use strict';
// Tells Strobe what Playwright Test does. It prints nothing, so Playwright adds the reporter that it would use anyway.
const fs = require('node:fs');
const { settings, write, bounded, shown, relative } = require('./strobe_common.cjs');

const root = fs.realpathSync(settings.root);

class StrobeReporter {
  printsToStdio() {
    return false;
  }

  onBegin(config, suite) {
    this.suite = suite;
    this.problems = 0;
  }

  onTestBegin(test) {
    write({ e: 'start', ...about(test) });
  }

  onTestEnd(test, result) {
    const final = result.status === test.expectedStatus || result.status === 'skipped' || result.retry >= test.retries;
    write({ e: final ? 'end' : 'attempt', ...about(test), ...judge(test, result) });
  }

  // onError is what goes wrong outside of tests: a file that does not load, a global setup.
  onError(error) {
    this.problems = (this.problems || 0) + 1;
    const f = problem(error);
    if (/No tests found/.test(f.message)) {
      write({ e: 'none' });
      return;
    }
    const file = f.file ? relative(f.file, root) : '';
    const id = file || (this.problems > 1 ? `(error) #${this.problems}` : '(error)');
    write({ e: 'end', id, name: id, file: f.file || '', status: 'error', fails: true, uncounted: true, failures: [{ ...f, kind: 'collect' }] });
  }

  onEnd() {
    const counts = { expected: 0, flaky: 0, unexpected: 0, skipped: 0 };
    for (const test of this.suite ? this.suite.allTests() : []) {
      counts[test.outcome()]++;
      if (!test.results.length) write({ e: 'end', ...about(test), status: 'skipped', reason: 'not run: the run was over before' });
    }
    write({ e: 'totals', passed: counts.expected + counts.flaky, failed: counts.unexpected, skipped: counts.skipped });
    write({ e: 'done' });
  }
}

function about(test) {
  const titles = [];
  let file = test.location.file;
  let project = '';
  for (let at = test.parent; at; at = at.parent) {
    if (at.type === 'describe') titles.unshift(at.title);
    else if (at.type === 'file') file = (at.location && at.location.file) || file;
    else if (at.type === 'project') project = at.title;
  }
  const rel = relative(file, root);
  const again = test.repeatEachIndex ? ` #${test.repeatEachIndex + 1}` : '';
  const id = `${project ? `[${project}] ` : ''}${[rel, ...titles, test.title].join(' > ')}${again}`;
  return { id, name: test.title, suite: `${project ? `[${project}] ` : ''}${[rel, ...titles].join(' > ')}`, file: test.location.file, line: test.location.line };
}

function judge(test, result) {
  const ms = test.results.reduce((sum, one) => sum + Math.max(one.duration, 0), 0);
  const output = [...result.stdout, ...result.stderr].map((part) => part.toString()).join('');
  const all = { ms, attempts: result.retry + 1, output: bounded(output) };
  const marked = [...(result.annotations || test.annotations || [])].find((a) => ['skip', 'fixme', 'fail'].includes(a.type));
  const reason = (marked && marked.description) || '';
  if (result.status === 'skipped') return { ...all, status: 'skipped', reason };
  if (result.status === 'passed' && test.expectedStatus === 'passed') return { ...all, status: 'passed', flaky: result.retry > 0 };
  if (result.status === test.expectedStatus) return { ...all, status: 'expected-failure', reason };
  const failures = result.errors.map(problem);
  if (result.status === 'passed') {
    const message = `passed, although it is expected to fail${reason ? `: ${reason}` : ''}`;
    return { ...all, status: 'unexpected-pass', fails: true, reason, failures: [{ kind: 'assertion', message, file: test.location.file, line: test.location.line }] };
  }
  if (result.status === 'interrupted') return { ...all, status: 'skipped', reason: 'interrupted' };
  return { ...all, fails: true, ...blame(result, failures) };
}

// blame tells a test's own failure from a hook's, a fixture's and its process's.
function blame(result, failures) {
  const died = failures.find((f) => /worker process exited unexpectedly/.test(f.message));
  if (died) {
    const signal = /signal=(SIG\w+)/.exec(died.message);
    Object.assign(died, { kind: signal ? 'crash' : 'exit', signal: signal ? signal[1] : '' });
    return { status: 'crashed', failures };
  }
  if (result.status === 'timedOut') {
    for (const f of failures) if (/timeout of \d+ms exceeded/.test(f.message)) f.kind = 'timeout';
    return { status: 'timeout', failures };
  }
  const failed = (title) => result.steps.some((step) => step.category === 'hook' && step.title === title && broken(step));
  if (failed('Before Hooks')) return { status: 'error', failures: failures.map((f) => ({ ...f, kind: 'setup' })) };
  if (failed('After Hooks') || failed('Worker Cleanup')) {
    const last = failures[failures.length - 1];
    if (last) last.kind = 'teardown';
    return { status: failures.length > 1 ? 'failed' : 'error', failures };
  }
  return { status: 'failed', failures };
}

function broken(step) {
  return Boolean(step.error) || (step.steps || []).some(broken);
}

function plain(text) {
  return String(text || '').replace(/\u001b\[[0-9;]*m/g, '');
}

function problem(error) {
  const message = plain(error.message || error.value).replace(/^Error: /, '');
  const f = { kind: /^expect\(|^expect\./.test(message) || error.matcherResult || /^AssertionError/.test(message) ? 'assertion' : 'exception', message: bounded(message), stack: plain(error.stack) };
  if (error.location) Object.assign(f, { file: error.location.file, line: error.location.line, column: error.location.column });
  if (error.expected !== undefined || error.actual !== undefined) Object.assign(f, { expected: shown(error.expected), actual: shown(error.actual) });
  return f;
}

module.exports = StrobeReporter;
