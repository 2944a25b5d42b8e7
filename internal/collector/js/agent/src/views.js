// What a paused thread is looked into with, and what its points do, in that thread: loaded when there are points. No
// code of the user's runs but for conditions, messages and what is assigned.
import util from 'node:util';
import * as js from './intrinsics.js';
import * as values from './values.js';
import { elementsOf, lineOf, partsOf, typeOf } from './parts.js';

const maxMessage = 4096, pausedDepth = 2, maxObject = 64 << 10, pageSize = 100;

export function views(recorder) {
  const memory = new ArrayBuffer(values.payloadRoom + 4096);
  values.use(new Uint8Array(memory), Buffer.from(memory));
  return new Views(recorder);
}

// jsonOf is a value as docs/agentlink.md, Values has it.
function jsonOf(value, depth) {
  values.begin(0);
  values.write(value, depth);
  return values.text();
}


// objectOf is a JSON object of variables.
function objectOf(variables) {
  let out = '';
  for (const [name, value] of variables) out += `${out ? ',' : ''}${js.stringify(name)}:${jsonOf(value, out.length < maxObject ? pausedDepth : 0)}`;
  return `{${out}}`;
}

class Views {
  constructor(recorder) {
    this.recorder = recorder;
    this.refs = new Map();   // of what has parts: {value | names+scopes, eval}
    this.hitNow = [];        // [point, hit] that paused
  }

  thread() { return this.recorder.thread; }

  // hit decides whether a point pauses here. point: [slot, id, hitCount, function, file, line].
  hit(point, condition, message) {
    const { recorder } = this, [slot, id, hitCount] = point;
    if (recorder.busy) return false;
    recorder.busy = true;
    let what = 'condition';
    try {
      if (condition !== 0 && !condition()) return false;
      const n = recorder.numbers.hit(slot);
      if (hitCount !== 0 && n !== hitCount) return false;
      if (message === 0) {
        this.hitNow.push([id, n]);
        return true;
      }
      what = 'message';
      let said = '';
      for (const part of message()) said += typeof part === 'string' ? part : lineOf(part[0], true);
      this.log(point, { message: said.length > maxMessage ? said.slice(0, maxMessage) + '…' : said });
    } catch (error) {
      if (recorder.numbers.firstFailure(slot)) this.log(point, { condition: what === 'condition' ? condition.toString().slice(5, -2) : undefined, error: lineOf(error) });
    } finally {
      recorder.busy = false;
    }
    return false;
  }

  log(point, said) {
    const { recorder } = this, payload = js.stringify({ breakpointId: point[1], ...said, function: point[3], file: point[4], line: point[5] });
    recorder.log(payload.replace(/[^\x20-\x7e]/g, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')));
  }

  // paused tells of the innermost frame: names are its arguments, hidden are variables that are nobody's.
  paused(names, hidden, self, scopes) {
    const all = ownOf(self, scopes, hidden), wanted = new Set(names);
    const { outcome } = this.recorder, hits = this.hitNow;
    this.hitNow = [];
    this.recorder.outcome = null;
    return { hits, arguments: objectOf(all.filter(v => wanted.has(v[0]))), locals: objectOf(all.filter(v => !wanted.has(v[0]))), result: outcome ? jsonOf(outcome.value, pausedDepth) : undefined };
  }

  clear() {
    this.refs.clear();
    this.recorder.watched = 0;
  }

  ref(entry) {
    const ref = this.recorder.numbers.ref();
    this.refs.set(ref, entry);
    return ref;
  }

  // scopes lists a frame's: the first locals of scopes have its own variables, the next closures those around it.
  scopes(names, hidden, self, locals, closures, scopes) {
    const own = ownOf(self, scopes.slice(0, locals), hidden), named = new Set(names), out = [];
    const add = (kind, variables, slow) => {
      if (variables.length > 0) out.push({ kind, ref: this.ref({ variables }), count: variables.length, slow });
    };
    add('arguments', own.filter(v => named.has(v[0])));
    add('locals', own.filter(v => !named.has(v[0])));
    add('closure', [...variablesOf(scopes.slice(locals, locals + closures))]);
    add('globals', [...variablesOf(scopes.slice(locals + closures))], true);
    return out;
  }

  variables(ref, from, n) {
    const entry = this.refs.get(ref);
    if (!entry) return null;
    const end = from + (n || pageSize);
    if (entry.variables) return entry.variables.slice(from, end).map(([name, value]) => this.variable(name, value, name === 'this' || isName(name) ? name : '', name === 'this'));
    return partsOf(entry.value, entry.eval, from, end).map(p => p.getter ? { name: p.name, type: 'getter', value: '(getter)', fixed: true, eval: p.eval } : this.variable(p.name, p.value, p.eval, p.fixed));
  }

  variable(name, value, expression, fixed) {
    const parts = elementsOf(value);
    return { name, type: typeOf(value), value: lineOf(value), ref: parts.count > 0 ? this.ref({ value, eval: expression }) : 0, count: parts.count || undefined,
      list: parts.list || undefined, eval: expression || undefined, fixed: fixed || undefined };
  }

  evaluated(value, expression, depth) {
    return { variable: this.variable(expression, value, /^[\w$.[\]'"]+$/.test(expression) ? expression : `(${expression})`), value: jsonOf(value, depth) };
  }

  isScope(ref) {
    const entry = this.refs.get(ref);
    return !!entry && !!entry.variables;
  }

  // assigned: a variable of a scope has another value.
  assigned(ref, name, value) {
    const entry = this.refs.get(ref);
    for (const v of entry && entry.variables || []) if (v[0] === name) v[1] = value;
  }

  // assign gives a part of what ref is of another value.
  assign(ref, name, value) {
    const entry = this.refs.get(ref);
    if (!entry) return { code: 'not-paused' };
    const { value: owner } = entry;
    if (util.types.isProxy(owner)) return { code: 'cannot', message: 'a Proxy has no parts of its own' };
    const part = partsOf(owner, entry.eval, 0, Infinity, name)[0];
    if (!part || part.fixed || part.key === undefined) return { code: 'cannot', message: `${name} is no part that can be set` };
    if (!Reflect.set(owner, part.key, value)) return { code: 'cannot', message: `${name} cannot be written: the object is frozen or has no setter` };
    if (part.getter) return { variable: { name, type: 'getter', value: '(getter)' }, value: '{"$":"unreadable"}' };
    return { variable: this.variable(name, owner[part.key], part.eval), value: jsonOf(owner[part.key], pausedDepth) };
  }
}

// variablesOf is what scopes have, by name; the nearest counts, and what is the agent's is left out.
function variablesOf(scopes) {
  const all = new Map();
  for (const scope of scopes) {
    for (const name of js.namesOf(scope)) {
      if (name.startsWith('$strobe') || all.has(name)) continue;
      try {
        const d = js.descriptor(scope, name);
        if (d && 'value' in d) all.set(name, d.value);
      } catch {
        // It has no value before its declaration runs. Older engines say undefined.
      }
    }
  }
  return all;
}

// ownOf are a frame's own variables, with its this, where that is something of its own.
function ownOf(self, scopes, hidden) {
  const all = [...variablesOf(scopes)].filter(v => !hidden.includes(v[0]));
  if (self !== undefined && self !== globalThis && hidden.length === 0) all.unshift(['this', self]);
  return all;
}

function isName(name) { return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name); }
