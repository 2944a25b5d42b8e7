'use strict';
// What our reporters share: settings, the report file, names of tests, errors as data. Written beside each of them.

const fs = require('node:fs');
const path = require('node:path');
const util = require('node:util');

const settings = JSON.parse(fs.readFileSync(path.join(__dirname, 'strobe_config.json'), 'utf8'));
const LIMIT = 64 << 10; // of one text

let out;

// write appends one event, at once: a test may end the process.
function write(event) {
  try {
    if (out === undefined) out = fs.openSync(settings.report, 'a', 0o600);
    const data = Buffer.from(JSON.stringify(event) + '\n');
    for (let at = 0; at < data.length; ) at += fs.writeSync(out, data, at);
  } catch (e) {
    process.stderr.write(`strobe: the report cannot be written: ${e && e.message}\n`);
  }
}

function bounded(text) {
  text = String(text);
  return text.length > LIMIT ? text.slice(0, LIMIT) : text;
}

// shown is a value as node shows it; a string stays as it is, since frameworks hand over what they have shown already.
function shown(value) {
  if (typeof value === 'string') return bounded(value);
  try {
    return bounded(util.inspect(value, { depth: 6, colors: false, maxStringLength: 8192, maxArrayLength: 200 }));
  } catch (e) {
    return `<${typeof value} that cannot be shown>`;
  }
}

// failure is an error as data. A stack repeats the message; what Strobe reads of it are only its frames.
function failure(error, more) {
  const e = error === null || typeof error !== 'object' ? { message: `${shown(error)} was thrown`, stack: '' } : error;
  const f = { message: text(e), stack: frames(e), kind: /^(AssertionError|AssertionFailed)/.test(e.name || '') || e.code === 'ERR_ASSERTION' || /^AssertionError/.test(e.stack || '') ? 'assertion' : 'exception' };
  const empty = e.expected === 'undefined' && e.actual === 'undefined'; // Vitest 1 and 2 say so of any error
  if (!empty && (present(e, 'expected') || present(e, 'actual'))) {
    f.expected = shown(e.expected);
    f.actual = shown(e.actual);
  }
  return Object.assign(f, more);
}

function present(e, name) {
  return Object.prototype.hasOwnProperty.call(e, name) && e[name] !== undefined;
}

function text(e) {
  const message = e.message === undefined ? '' : String(e.message);
  const name = e.name && e.name !== 'Error' && !message.startsWith(e.name) && !/^(Assertion|JestAssertion)/.test(e.name) ? `${e.name}: ` : '';
  return bounded(name + message);
}

// frames are the lines of an error's stack and of its causes' that are places.
function frames(e) {
  let all = '';
  for (let n = 0; e && typeof e === 'object' && n < 5; n++, e = e.cause) {
    if (typeof e.stack === 'string') {
      const lines = e.stack.split('\n').filter((line) => /^\s*at /.test(line));
      if (all === '') all = lines.join('\n');
    }
  }
  return bounded(all);
}

// Names makes IDs: a second test of the same name in the same suite has a number, by order of declaration.
class Names {
  constructor() {
    this.used = new Map();
    this.known = new Map();
  }
  of(key, base) {
    if (this.known.has(key)) return this.known.get(key);
    const n = (this.used.get(base) || 0) + 1;
    this.used.set(base, n);
    const id = n === 1 ? base : `${base} #${n}`;
    this.known.set(key, id);
    return id;
  }
}

// relative is a file as IDs name it: below the folder where the framework was started.
function relative(file, root) {
  const rel = path.relative(root || settings.root, file);
  return rel.split(path.sep).join('/');
}

module.exports = { settings, write, bounded, shown, failure, frames, Names, relative };
