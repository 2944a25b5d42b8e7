// Tells Strobe what Node's test runner does. Files run in processes of their own, whose events arrive in order of declaration; only
// enqueue, dequeue and complete arrive as they happen.
import fs from 'node:fs';
import path from 'node:path';
import common from './strobe_common.cjs';

const { settings, write, failure, relative, bounded } = common;
const root = fs.realpathSync(settings.root);

// filtered is why tests are skipped whose names were not asked for, in Node before 22. Later ones do not tell of them.
const filtered = 'test name does not match pattern';

class Counter {
  constructor() {
    this.used = new Map();
  }
  of(base) {
    const n = (this.used.get(base) || 0) + 1;
    this.used.set(base, n);
    return n > 1 ? `${base} #${n}` : base;
  }
}

class State {
  constructor() {
    this.stacks = { dequeue: new Map(), start: new Map() }; // entry file -> open tests by nesting
    this.counters = { dequeue: new Counter(), start: new Counter() };
    this.errors = new Map(); // entry file -> what it wrote to standard error
    this.held = undefined; // an end that a diagnostic may still add to
    this.groups = { passed: 0, failed: 0 };
    this.filtered = 0;
    this.sources = new Map(); // file -> its lines
    this.types = new Map(); // entry file and number -> suite or test, which only enqueue says, since Node 24
    this.begun = new Set(); // IDs
    this.running = new Map(); // entry file and number or name -> what is known of a test that was dequeued
  }

  entry(data) {
    return data.entryFile || data.file || '';
  }

  isFile(data) {
    return data.nesting === 0 && data.file && path.resolve(data.name) === data.file && data.line === 1 && data.column === 1;
  }

  // open takes in that a test begins, and returns what is known of it.
  open(kind, data) {
    const entry = this.entry(data);
    if (!this.stacks[kind].has(entry)) this.stacks[kind].set(entry, []);
    const stack = this.stacks[kind].get(entry);
    stack.length = Math.min(stack.length, data.nesting);
    const parent = stack[data.nesting - 1];
    const file = relative(entry || data.file || '', root);
    const names = parent ? [...parent.names, data.name] : [data.name];
    const id = this.isFile(data) ? file : this.counters[kind].of(parent ? `${parent.id} > ${data.name}` : `${file} > ${data.name}`);
    const suite = [file, ...names.slice(0, -1)].join(' > ');
    const known = { id, names, parent: parent && !parent.isSuite ? parent.id : '', tests: 0, failed: 0, about: { id, name: this.isFile(data) ? file : data.name, suite: this.isFile(data) ? '' : suite, file: data.file || entry, line: this.isFile(data) ? 0 : data.line } };
    known.isSuite = data.testId === undefined ? this.describes(data) : this.types.get(`${entry} ${data.testId}`) === 'suite';
    if (known.parent) known.about.parent = known.parent;
    stack[data.nesting] = known;
    if (parent) parent.tests++;
    return known;
  }

  // describes says whether what begins is a suite by its source, where Node says so only at its end.
  describes(data) {
    if (!data.file || !data.line) return false;
    if (!this.sources.has(data.file)) {
      let lines = [];
      try {
        lines = fs.readFileSync(data.file, 'utf8').split('\n');
      } catch {
        // it is then taken for a test
      }
      this.sources.set(data.file, lines);
    }
    const at = (this.sources.get(data.file)[data.line - 1] || '').slice(Math.max(data.column - 1, 0));
    return /^(?:\(0, *)?(?:[\w$]+\.)*(?:describe|suite)\b/.test(at);
  }

  dequeue(data) {
    if (this.isFile(data)) return write({ e: 'file', file: data.file }); // its tests are told by themselves; it only where it dies
    const known = this.open('dequeue', data);
    this.running.set(this.key(data), known);
    if (known.isSuite) return;
    this.begun.add(known.id);
    write({ e: 'start', ...known.about });
  }

  key(data) {
    return `${this.entry(data)} ${data.testId === undefined ? `${data.nesting} ${data.name}` : data.testId}`;
  }

  // complete is a result as it happens. Its turn may come much later, behind other files', or never, where the run is ended: then this
  // is what is known.
  complete(data) {
    const details = data.details || {};
    if (this.isFile(data)) return write({ e: 'filedone', file: data.file });
    const key = this.key(data);
    const known = this.running.get(key);
    this.running.delete(key);
    if (data.skip === filtered || !known || known.isSuite || details.type === 'suite' || details.passed === undefined) return;
    const error = details.error;
    const end = { ...known.about, ms: details.duration_ms || 0, ...(details.passed ? this.passed(data) : this.failed(data, error, error && error.failureType)) };
    if (known.tests > 0 && !end.reason && end.status !== 'todo' && (details.passed || error.failureType === 'subtestsFailed')) end.group = true;
    write({ e: 'attempt', ...end });
  }

  end(data, passed) {
    const stack = this.stacks.start.get(this.entry(data)) || [];
    const known = stack[data.nesting] || this.open('start', data);
    stack.length = Math.min(stack.length, data.nesting);
    const parent = stack[data.nesting - 1];
    const details = data.details || {};
    if (data.skip === filtered) {
      if (details.type !== 'suite') this.filtered++;
      if (parent) parent.tests--;
      this.flush();
      return write({ e: 'forget', id: known.id });
    }
    const error = details.error;
    const kind = error && error.failureType;
    const end = { e: 'end', ...known.about, ms: details.duration_ms || 0, ...(passed ? this.passed(data) : this.failed(data, error, kind)) };
    if (end.fails && parent) parent.failed++;
    if (details.type === 'suite') {
      known.isSuite = true;
      if (kind === 'hookFailed' && end.status === 'error') end.uncounted = true;
      else if (this.begun.has(known.id)) end.group = true;
      else return this.flush();
    } else if (known.tests > 0 && !end.reason && (passed || kind === 'subtestsFailed') && end.status !== 'todo') {
      end.group = true;
      this.groups[passed ? 'passed' : 'failed']++;
    }
    if (this.isFile(data) && end.fails) this.file(data, end, error);
    this.flush();
    this.held = end;
  }

  passed(data) {
    if (data.skip !== undefined && data.skip !== false) return { status: 'skipped', reason: typeof data.skip === 'string' ? data.skip : '' };
    if (data.todo !== undefined && data.todo !== false) return { status: 'todo', reason: typeof data.todo === 'string' ? data.todo : '' };
    if (data.expectFailure !== undefined && data.expectFailure !== false) return { status: 'expected-failure', reason: typeof data.expectFailure === 'string' ? data.expectFailure : '' };
    return { status: 'passed' };
  }

  failed(data, error, kind) {
    if (data.todo !== undefined && data.todo !== false) return { status: 'todo', reason: typeof data.todo === 'string' ? data.todo : 'it fails' };
    if (data.skip !== undefined && data.skip !== false) return this.passed(data);
    const cause = error && error.cause !== undefined ? error.cause : error;
    const f = cause && typeof cause === 'object' ? failure(cause) : { kind: 'exception', message: bounded(cause), stack: '' };
    if (typeof cause === 'string' && kind === 'testCodeFailure') f.message = `${JSON.stringify(cause)} was thrown`;
    switch (kind) {
      case 'testTimeoutFailure':
        return { status: 'timeout', fails: true, failures: [{ ...f, kind: 'timeout' }] };
      case 'hookFailed':
        f.kind = /after/i.test(error.message) ? 'teardown' : 'setup';
        f.message = `${error.message}: ${f.message}`;
        return { status: 'error', fails: true, failures: [f] };
      case 'cancelledByParent':
      case 'testAborted':
        return { status: 'error', fails: true, failures: [{ ...f, kind: 'exit', message: f.message || 'cancelled, since what it is a part of ended before' }] };
      case 'expectedFailure':
        return { status: 'unexpected-pass', fails: true, failures: [f] };
    }
    if (/expected to fail/i.test(f.message) && data.expectFailure) return { status: 'unexpected-pass', fails: true, failures: [f] };
    return { status: 'failed', fails: true, failures: [f] };
  }

  // file is a file whose process ended by itself: it did not load, or a test took it away.
  file(data, end, error) {
    const output = this.errors.get(data.file) || '';
    const exit = error && error.signal ? { signal: error.signal, kind: 'crash' } : { kind: 'exit' };
    const code = error && error.exitCode;
    const thrown = /^(?:Uncaught )?((?:\w*Error\b|\[?\w*Error)[^\n]*)$/m.exec(output);
    end.group = false;
    if (exit.kind === 'exit' && thrown) {
      end.status = 'error';
      const at = /^(?:file:\/\/)?(\/[^\n]*):(\d+)$/m.exec(output); // where a file cannot be parsed
      end.failures = [{ kind: 'collect', message: thrown[1], stack: output, ...(at ? { file: at[1], line: Number(at[2]) } : {}) }];
      return;
    }
    const why = error && error.signal ? `the test process of this file died of ${error.signal}` : `the test process of this file left with code ${code}`;
    end.status = 'crashed';
    end.failures = [{ kind: exit.kind, message: why, signal: exit.signal, file: data.file }];
    write({ e: 'died', id: end.id, file: data.file });
  }

  flush() {
    if (this.held) write(this.held);
    this.held = undefined;
  }

  totals(counts) {
    const failed = counts.failed + counts.cancelled - this.groups.failed;
    write({ e: 'totals', passed: counts.passed - this.groups.passed, failed, skipped: counts.skipped + counts.todo - this.filtered });
  }
}

const words = { pass: 'passed', fail: 'failed', cancelled: 'cancelled', skipped: 'skipped', todo: 'todo' };

export default async function* strobe(source) {
  const state = new State();
  const counts = {};
  for await (const { type, data } of source) {
    if (type !== 'test:diagnostic' && type !== 'test:stdout' && type !== 'test:stderr' && type !== 'test:dequeue' && type !== 'test:enqueue' && type !== 'test:complete') state.flush();
    switch (type) {
      case 'test:enqueue':
        if (data.testId !== undefined) state.types.set(`${state.entry(data)} ${data.testId}`, data.type);
        break;
      case 'test:dequeue':
        state.dequeue(data);
        break;
      case 'test:complete':
        state.complete(data);
        break;
      case 'test:start':
        state.open('start', data);
        break;
      case 'test:pass':
        state.end(data, true);
        break;
      case 'test:fail':
        state.end(data, false);
        break;
      case 'test:stderr': {
        const file = path.resolve(data.entryFile || data.file || '');
        state.errors.set(file, bounded((state.errors.get(file) || '') + data.message));
        break;
      }
      case 'test:diagnostic': {
        const m = data.nesting === 0 && !data.file && /^(pass|fail|cancelled|skipped|todo) (\d+)$/.exec(data.message);
        if (m) counts[words[m[1]]] = Number(m[2]);
        else if (state.held && data.file) state.held.output = bounded((state.held.output || '') + data.message + '\n');
        break;
      }
    }
  }
  state.flush();
  if (counts.passed !== undefined) state.totals(counts);
  write({ e: 'done' });
  yield '';
}
