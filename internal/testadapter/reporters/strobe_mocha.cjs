'use strict';
// Tells Strobe what Mocha does, and prints as Mocha's own reporter does. It is made before tests run, so it can take out those that
// were not asked for.
const fs = require('node:fs');
const path = require('node:path');
const { settings, write, failure, Names, relative, bounded } = require('./strobe_common.cjs');

const root = fs.realpathSync(settings.root);

class StrobeReporter {
  constructor(runner, options) {
    this.runner = runner;
    this.names = new Names();
    this.attempts = new Map(); // ID -> failures of earlier attempts
    this.ended = new Set();
    this.lines = new Map(); // file -> its lines
    this.failedHooks = [];
    this.spec = printer(runner, options);
    this.whole = runner.suite && runner.suite.suites !== undefined && !options.parallel ? runner.suite : undefined;
    if (this.whole) {
      for (const test of tests(this.whole)) this.id(test); // numbers by order of declaration
      if (settings.test) this.select(settings.test);
    }
    this.begun = new Map(); // ID -> what is known
    runner.on('test', (test) => {
      const about = this.about(test);
      this.begun.set(about.id, about);
      write({ e: 'start', ...about });
    });
    runner.on('retry', (test) => this.retried(test));
    runner.on('pass', (test) => this.end(test, this.passed(test)));
    runner.on('pending', (test) => this.end(test, { status: this.announced(test) ? 'todo' : 'skipped' }));
    runner.on('fail', (test, error) => this.fail(test, error));
    runner.on('end', () => this.over());
  }

  done(failures, callback) {
    if (this.spec && this.spec.done) this.spec.done(failures, callback);
    else callback(failures);
  }

  // Names.

  original(test) {
    let at = test;
    for (let n = 0; n < 100 && at.retriedTest && at.retriedTest(); n++) at = at.retriedTest();
    return at;
  }

  id(test) {
    const first = this.original(test);
    return this.names.of(this.whole ? first : first.id || first.__mocha_id__ || first.fullTitle(), [this.file(test), ...titles(test)].join(' > '));
  }

  file(test) {
    for (let at = test; at; at = at.parent) if (at.file) return relative(at.file, root);
    return '';
  }

  about(test) {
    const all = titles(test);
    const file = this.file(test);
    return { id: this.id(test), name: all[all.length - 1], suite: [file, ...all.slice(0, -1)].filter(Boolean).join(' > '), file: file && path.resolve(root, file), line: this.line(test, file) };
  }

  // line is where a file names the test, which Mocha does not keep: the first line with its title in quotes, if there is but one.
  line(test, file) {
    if (!file) return 0;
    if (!this.lines.has(file)) {
      try {
        this.lines.set(file, fs.readFileSync(path.resolve(root, file), 'utf8').slice(0, 1 << 20).split('\n'));
      } catch {
        this.lines.set(file, []);
      }
    }
    const at = [];
    this.lines.get(file).forEach((line, i) => {
      if (['\'', '"', '`'].some((quote) => line.includes(quote + test.title + quote))) at.push(i + 1);
    });
    return at.length === 1 ? at[0] : 0;
  }

  // announced says whether a test has no function of its own: Mocha forgets the function of one that is skipped, so the source decides.
  announced(test) {
    const file = this.file(test);
    const line = this.line(test, file);
    return Boolean(this.whole) && !test.fn && line > 0 && !/\bskip\b|\bx(it|specify|describe|context)\b/.test(this.lines.get(file)[line - 1]) && !inSkipped(test);
  }

  // What was asked for.

  select(wanted) {
    const all = [...tests(this.whole)];
    const whole = wanted;
    const meant = wanted.replace(/ \(later\)$/, '').replace(/ > "(before|after) (all|each)" hook[^]*$/, ''); // a hook runs with its suite
    if (!all.some((t) => this.id(t) === whole)) wanted = meant;
    const dotted = (t) => titles(t).join(' > ');
    const ways = [
      (t) => this.id(t) === wanted,
      (t) => this.id(t).startsWith(`${wanted} > `),
      (t) => t.title === wanted || dotted(t) === wanted || dotted(t).endsWith(` > ${wanted}`),
      (t) => this.id(t).includes(wanted) || t.fullTitle().includes(wanted),
    ];
    let chosen = new Set();
    for (const way of ways) {
      chosen = new Set(all.filter(way));
      if (chosen.size) break;
    }
    prune(this.whole, chosen);
    this.runner.total = this.whole.total();
    if (!chosen.size) write({ e: 'none' });
  }

  // Results.

  passed(test) {
    const attempts = this.tries(test);
    return { status: 'passed', ms: test.duration || 0, attempts, flaky: attempts > 1 };
  }

  tries(test) {
    const n = typeof test.currentRetry === 'function' ? test.currentRetry() : test._currentRetry || test.currentRetry || 0;
    return (n || 0) + 1;
  }

  retried(test) {
    this.attempts.set(this.id(test), this.tries(test));
  }

  end(test, result) {
    const about = this.about(test);
    this.ended.add(about.id);
    write({ e: 'end', ...about, ...result });
  }

  fail(test, error) {
    if (test.type === 'hook') return this.hook(test, error);
    const f = problem(error);
    if (!this.ended.has(this.id(test)) || !this.whole) {
      return this.end(test, { status: f.kind === 'timeout' ? 'timeout' : 'failed', fails: true, ms: test.duration || 0, attempts: this.tries(test), failures: [f] });
    }
    // A second failure of one that has ended, as an error thrown later.
    const about = this.about(test);
    write({ e: 'end', ...about, id: `${about.id} (later)`, status: 'error', fails: true, failures: [f] });
  }

  // hook is a hook that failed: beforeEach is the failure of the test that it was for, others stand by themselves.
  hook(hook, error) {
    const kind = /^"before/.test(hook.title) ? 'setup' : 'teardown';
    const current = hook.ctx && hook.ctx.currentTest;
    const f = { ...problem(error), kind };
    if (/^"before each"/.test(hook.title) && current && current.type === 'test') {
      return this.end(current, { status: 'error', fails: true, failures: [f] });
    }
    const about = this.about(hook);
    const of = /^"before each".* hook for "([^]*)"$/.exec(hook.title);
    const test = of && this.begun.get([about.suite, of[1]].join(' > '));
    if (test && !this.ended.has(test.id)) {
      // Without the objects themselves, as in parallel mode.
      this.ended.add(test.id);
      write({ e: 'end', ...test, status: 'error', fails: true, failures: [f] });
      return;
    }
    write({ e: 'end', ...about, line: 0, status: 'error', fails: true, failures: [f] });
  }

  over() {
    if (this.whole) {
      for (const test of tests(this.whole)) {
        if (this.ended.has(this.id(test))) continue;
        write({ e: 'end', ...this.about(test), status: 'skipped', reason: 'not run: a hook failed, or the run was over, before', uncounted: true });
      }
    }
    const stats = this.runner.stats || {};
    write({ e: 'totals', passed: stats.passes || 0, failed: stats.failures || 0, skipped: stats.pending || 0 });
    write({ e: 'done' });
  }
}

// printer is Mocha's own reporter, for those who read the output.
function printer(runner, options) {
  try {
    const module = require(path.join(settings.mocha, 'lib', 'reporters', 'spec.js'));
    const Spec = module.default || module.Spec || module;
    return new Spec(runner, options);
  } catch {
    return undefined;
  }
}

function titles(test) {
  return test.titlePath().filter((title) => title !== '');
}

function* tests(suite) {
  yield* suite.tests;
  for (const child of suite.suites) yield* tests(child);
}

function inSkipped(test) {
  for (let at = test.parent; at; at = at.parent) if (at.pending) return true;
  return false;
}

function prune(suite, chosen) {
  suite.tests = suite.tests.filter((test) => chosen.has(test));
  for (const child of suite.suites) prune(child, chosen);
  suite.suites = suite.suites.filter((child) => child.total() > 0);
}

function problem(error) {
  const f = failure(error);
  if (error && error.code === 'ERR_MOCHA_TIMEOUT') f.kind = 'timeout';
  if (error && (error.code === 'ERR_MOCHA_INVALID_EXCEPTION' || error.multiple === undefined) && !f.message) f.message = bounded(error);
  return f;
}

module.exports = StrobeReporter;
