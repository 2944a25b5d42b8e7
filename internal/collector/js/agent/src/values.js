// Values as docs/agentlink.md has them, written straight into the segment's memory. No user code runs: properties are
// read by their descriptors, built-in objects by the built-ins themselves, and of a Proxy only that it is one.
import util from 'node:util';
import * as js from './intrinsics.js';
import { fetchKind, inOrder } from './known.js';

const types = util.types;
const maxPayload = 16 << 10, maxText = 1024, maxItems = 100, maxName = 200, maxBigint = 1n << 4096n;
// What closes the containers around a value that ends at the limit.
const closers = 640;
// No payload writes more than this behind its beginning: the last text before the limit, in its longest form.
export const payloadRoom = maxPayload + 2 * maxText;

let bytes = new Uint8Array(0), buffer = Buffer.alloc(0), at = 0, limit = 0;
let items = maxItems, textFloor = 0, left = 0;   // textFloor: bytes of a text behind the limit; left: what was left out
let qualified = () => '';   // a function's name as its calls have it, or ''
const enclosing = [];   // the objects around the value that is being written
const scratch = new Uint8Array(maxText), encoder = new TextEncoder();

// use says where payloads go; buffer is a Buffer over the same memory as bytes.
export function use(newBytes, newBuffer) { bytes = newBytes; buffer = newBuffer; }
export function useNames(f) { qualified = f; }
export function begin(position) { at = position; limit = position + maxPayload - closers; items = maxItems; textFloor = 0; enclosing.length = 0; }
// beginBrief bounds what is written from here on; endBrief says whether anything was left out for that.
export function beginBrief(most, mostItems) { limit = Math.min(limit, at + most); items = mostItems; textFloor = 96; left = 0; }
export function endBrief() {
  items = maxItems;
  textFloor = 0;
  return left > 0;
}
export function position() { return at; }

// text is what was written since begin(0).
export function text() { return buffer.utf8Slice(0, at); }

// constant makes bytes of a text that is written often.
export function constant(text) { return encoder.encode(text); }

export function writeConstant(c) {
  for (let i = 0; i < c.length; i++) bytes[at + i] = c[i];
  at += c.length;
}

const asConstant = {};
for (const [name, text] of Object.entries({
  undefined: '{"$":"name","v":"undefined"}', null: 'null', true: 'true', false: 'false', unreadable: '{"$":"unreadable"}',
  list: '{"$":"list","v":[', dict: '{"$":"dict","v":[', object: '{"$":"obj","t":', plain: '{"$":"obj","t":"Object","v":{', fields: ',"v":{', more: ',"more":',
  text: '{"$":"text","v":', name: '{"$":"name","v":', repr: '{"$":"repr","v":', shape: '{"$":"shape","t":', valued: ',"v":',
  base64: '{"$":"bytes","v":"', depth: '{"$":"depth","t":', cycle: '{"$":"cycle","a":"0x',
})) asConstant[name] = constant(text);

// writeRaw writes text that is ASCII, as it is.
export function writeRaw(text) {
  const n = text.length;
  if (n < 40) for (let i = 0; i < n; i++) bytes[at + i] = text.charCodeAt(i);
  else buffer.latin1Write(text, at, n);
  at += n;
}

// writeString writes text of any kind and bounded length as a JSON string.
export function writeString(text) {
  const n = text.length;
  if (n < 64) {
    let p = at;
    bytes[p++] = 34;
    let i = 0;
    for (; i < n; i++) {
      const c = text.charCodeAt(i);
      if (c < 32 || c > 126 || c === 34 || c === 92) break;
      bytes[p++] = c;
    }
    if (i === n) {
      bytes[p++] = 34;
      at = p;
      return;
    }
  }
  // JSON.stringify writes a lone surrogate as an escape, which UTF-8 has not.
  const quoted = js.stringify(text);
  at += buffer.utf8Write(quoted, at, quoted.length * 3);
}

function writeText(text) {
  // Escapes make a byte six: where that may pass the limit, the text's share is what surely fits.
  let most = maxText;
  if (at + 6 * Math.min(text.length, maxText) > limit) most = Math.max(textFloor, Math.min(maxText, Math.floor((limit - at) / 6)));
  if (text.length * 3 <= most) return writeString(text);
  const whole = Buffer.byteLength(text);
  if (whole <= most) return writeString(text);
  const cut = encoder.encodeInto(text.length > most ? text.slice(0, most) : text, most === maxText ? scratch : scratch.subarray(0, most));
  writeConstant(asConstant.text);
  writeString(text.slice(0, cut.read));
  writeMore(whole - cut.written);
}

function writeMore(n) {
  if (n > 0) {
    left++;
    writeConstant(asConstant.more);
    writeRaw('' + n);
  }
  bytes[at++] = 125;
}

function writeForm(head, text) {
  writeConstant(head);
  writeString(text.length > maxName ? text.slice(0, maxName) + '…' : text);
  bytes[at++] = 125;
}

function writeShape(type, text) {
  writeConstant(asConstant.shape);
  writeString(type.length > maxName ? type.slice(0, maxName) + '…' : type);
  writeConstant(asConstant.valued);
  writeString(text);
  bytes[at++] = 125;
}

export function writeNumber(v) {
  if ((v | 0) === v && (v !== 0 || 1 / v > 0)) {
    let n = v;
    if (n < 0) {
      bytes[at++] = 45;
      n = -n;
    }
    let digits = 1;
    for (let p = 10; p <= n; p *= 10) digits++;
    at += digits;
    for (let p = at - 1; digits > 0; digits--, p--) {
      const rest = n % 10;
      bytes[p] = 48 + rest;
      n = (n - rest) / 10;
    }
  } else if (v - v === 0) writeRaw(v === 0 ? '-0.0' : '' + v);
  else writeRaw(`{"$":"float","v":"${v}"}`);
}

// write writes one value, containers in it down to depth.
export function write(v, depth) {
  switch (typeof v) {
    case 'number': return writeNumber(v);
    case 'string': return writeText(v);
    case 'boolean': return writeConstant(v ? asConstant.true : asConstant.false);
    case 'undefined': return writeConstant(asConstant.undefined);
    case 'bigint':
      if (v > maxBigint || v < -maxBigint) return writeShape('bigint', 'more than 4096 bits');
      return writeRaw(v.toString());
    case 'symbol': return writeForm(asConstant.name, v.toString());
    case 'function': return types.isProxy(v) ? writeShape('Proxy', '') : writeForm(asConstant.name, qualified(v) || nameOf(v) || '<anonymous>');
  }
  if (v === null) return writeConstant(asConstant.null);
  writeObject(v, depth);
}

function nameOf(f) {
  const d = js.descriptor(f, 'name');
  return d !== undefined && typeof d.value === 'string' ? d.value : '';
}

// What a prototype says of its objects: the name of the class, and which built-in it is of.
const classes = new WeakMap();
const builtins = new Map([[Array.prototype, 'array'], [Map.prototype, 'map'], [Set.prototype, 'set'], [Date.prototype, 'date'],
  [RegExp.prototype, 'regexp'], [Error.prototype, 'error'], [Promise.prototype, 'promise'], [ArrayBuffer.prototype, 'buffer'],
  [js.prototypeOf(Uint8Array.prototype), 'view'], [DataView.prototype, 'view'], [WeakMap.prototype, 'opaque'],
  [WeakSet.prototype, 'opaque'], [WeakRef.prototype, 'opaque'], [SharedArrayBuffer.prototype, 'opaque'],
  [URL.prototype, 'url'], [URLSearchParams.prototype, 'url'], [Number.prototype, 'boxed'], [String.prototype, 'boxed'], [Boolean.prototype, 'boxed']]);
const plain = { name: 'Object', kind: 'plain' };
classes.set(Object.prototype, plain);

function classOf(v) {
  const prototype = js.prototypeOf(v);
  if (prototype === null) return plain;
  let c = classes.get(prototype);
  if (c !== undefined) return c;
  if (types.isProxy(prototype)) return { name: 'Proxy', kind: 'instance' };
  let name = '', kind = '';
  for (let p = prototype; p !== null && !types.isProxy(p); p = js.prototypeOf(p)) {
    kind ||= builtins.get(p) || '';
    name ||= constructorName(p);
  }
  // Another realm (vm, jest) has built-ins of its own.
  if (kind === '') kind = foreignKind(v, prototype, name);
  if (kind === 'instance') kind = fetchKind(prototype) || kind;
  // Node's timers hold each other in a ring: nothing of the user's is in there.
  if (kind === 'instance' && (name === 'Timeout' || name === 'Immediate')) kind = 'opaque';
  c = { name: name || 'Object', kind };
  classes.set(prototype, c);
  return c;
}

// An object that was made of another one (Object.create) is of that one's class.
function constructorName(prototype) {
  const constructor = js.descriptor(prototype, 'constructor');
  return constructor !== undefined && typeof constructor.value === 'function' && !types.isProxy(constructor.value) ? nameOf(constructor.value) : '';
}

// classNameOf is the name of the class of an object that is no Proxy.
export function classNameOf(v) { return classOf(v).name; }

function foreignKind(v, prototype, name) {
  if (js.isArray(v)) return 'array';
  if (types.isMap(v)) return 'map';
  if (types.isSet(v)) return 'set';
  if (types.isDate(v)) return 'date';
  if (types.isRegExp(v)) return 'regexp';
  if (types.isNativeError(v)) return 'error';
  if (types.isPromise(v)) return 'promise';
  if (js.isView(v)) return 'view';
  if (types.isAnyArrayBuffer(v)) return 'opaque';
  return name === 'Object' && js.prototypeOf(prototype) === null ? 'plain' : 'instance';
}

function writeObject(v, depth) {
  if (types.isProxy(v)) return writeShape('Proxy', '');
  if (v === globalThis) return writeForm(asConstant.name, 'globalThis');
  const c = classOf(v);
  const from = at;
  try {
    switch (c.kind) {
      case 'date': return writeForm(asConstant.repr, isNaN(js.apply(js.dateTime, v, [])) ? 'Invalid Date' : js.apply(js.dateISO, v, []));
      case 'regexp': return writeForm(asConstant.repr, js.regexpText(v));
      case 'promise': case 'opaque': return writeShape(c.name, '');
      case 'buffer': return writeBytes(new Uint8Array(v), js.apply(js.bufferBytes, v, []));
      case 'view': return writeView(v);
      case 'url': return writeForm(asConstant.repr, js.urlText(v));
      case 'boxed': return write(unboxed(v), depth);
    }
    const round = enclosing.indexOf(v);
    if (round >= 0) {
      writeConstant(asConstant.cycle);
      writeRaw((round + 1).toString(16));
      return writeRaw('"}');
    }
    if (depth <= 0) {
      left++;
      writeConstant(asConstant.depth);
      writeString(c.name.slice(0, maxName));
      bytes[at++] = 125;
      return;
    }
    enclosing.push(v);
    switch (c.kind) {
      case 'array': writeArray(v, depth - 1); break;
      case 'map': writeMap(v, depth - 1); break;
      case 'set': writeSet(v, depth - 1); break;
      case 'plain': writePlain(v, depth - 1); break;
      default: writeInstance(v, c, depth - 1);
    }
    enclosing.pop();
  } catch {
    // An object made with a built-in's prototype that is none, or a stack that ends here.
    enclosing.length = Math.max(0, enclosing.indexOf(v));
    bytes.fill(0, from, at);
    at = from;
    writeConstant(asConstant.unreadable);
  }
}

function unboxed(v) {
  if (types.isNumberObject(v)) return js.apply(Number.prototype.valueOf, v, []);
  if (types.isStringObject(v)) return js.apply(String.prototype.valueOf, v, []);
  if (types.isBooleanObject(v)) return js.apply(Boolean.prototype.valueOf, v, []);
  return undefined;
}

function writeProperty(owner, key, depth) {
  const d = js.descriptor(owner, key);
  if (d === undefined) return writeConstant(asConstant.undefined);
  if ('value' in d) return write(d.value, depth);
  writeConstant(asConstant.unreadable);   // a getter, which is the user's code
}

// counted is called behind a list or an object of which only some is shown: head takes the place of its first byte,
// and the count follows.
function counted(from, head, items, shown) {
  if (shown === items) return;
  bytes.copyWithin(from + head.length, from + 1, at);
  bytes.set(head, from);
  at += head.length - 1;
  writeMore(items - shown);
}

function writeArray(v, depth) {
  const size = js.descriptor(v, 'length').value, from = at;
  bytes[at++] = 91;
  let i = 0;
  for (; i < size && i < items && at < limit; i++) {
    if (i > 0) bytes[at++] = 44;
    writeProperty(v, i, depth);
  }
  bytes[at++] = 93;
  counted(from, asConstant.list, size, i);
}

function writeView(v) {
  if (v instanceof Buffer || types.isUint8Array(v) || js.apply(js.typedTag, v, []) === undefined) {
    const size = js.viewBytes(v);
    return writeBytes(new Uint8Array(js.viewBuffer(v), js.viewOffset(v), Math.min(size, maxText)), size);
  }
  const size = js.apply(js.typedLength, v, []), from = at;
  bytes[at++] = 91;
  let i = 0;
  for (; i < size && i < items && at < limit; i++) {
    if (i > 0) bytes[at++] = 44;
    write(v[i], 0);
  }
  bytes[at++] = 93;
  counted(from, asConstant.list, size, i);
}

function writeBytes(view, size) {
  const shown = Math.max(0, Math.min(size, maxText, Math.floor((limit - at) / 4) * 3));
  writeConstant(asConstant.base64);
  writeRaw(Buffer.from(view.buffer, view.byteOffset, shown).base64Slice(0, shown));
  bytes[at++] = 34;
  writeMore(size - shown);
}

function writeSet(v, depth) {
  const size = js.apply(js.setSize, v, []), from = at, values = js.apply(js.setValues, v, []);
  bytes[at++] = 91;
  let i = 0;
  for (; i < size && i < items && at < limit; i++) {
    const step = js.apply(js.setNext, values, []);
    if (step.done) break;
    if (i > 0) bytes[at++] = 44;
    write(step.value, depth);
  }
  bytes[at++] = 93;
  counted(from, asConstant.list, size, i);
}

function writeMap(v, depth) {
  const size = js.apply(js.mapSize, v, []), entries = js.apply(js.mapEntries, v, []);
  writeConstant(asConstant.dict);
  let i = 0;
  for (; i < size && i < items && at < limit; i++) {
    const step = js.apply(js.mapNext, entries, []);
    if (step.done) break;
    if (i > 0) bytes[at++] = 44;
    bytes[at++] = 91;
    write(step.value[0], depth);
    bytes[at++] = 44;
    write(step.value[1], depth);
    bytes[at++] = 93;
  }
  bytes[at++] = 93;
  writeMore(size - i);
}

function writePlain(v, depth) {
  const keys = js.keysOf(v);
  for (let i = 0; i < keys.length && i < items; i++) if (keys[i].charCodeAt(0) === 36) return writeDict(v, keys, depth);
  const from = at;
  bytes[at++] = 123;
  const i = writeFields(v, keys, depth, 0);
  bytes[at++] = 125;
  counted(from, asConstant.plain, keys.length, i);
}

function writeDict(v, keys, depth) {
  writeConstant(asConstant.dict);
  let i = 0;
  for (; i < keys.length && i < items && at < limit; i++) {
    if (i > 0) bytes[at++] = 44;
    bytes[at++] = 91;
    writeText(keys[i]);
    bytes[at++] = 44;
    writeProperty(v, keys[i], depth);
    bytes[at++] = 93;
  }
  bytes[at++] = 93;
  writeMore(keys.length - i);
}

function writeFields(v, keys, depth, written) {
  let i = 0;
  for (; i < keys.length && i < items && at < limit; i++) {
    if (i + written > 0) bytes[at++] = 44;
    writeString(keys[i].length > maxName ? keys[i].slice(0, maxName) : keys[i]);
    bytes[at++] = 58;
    writeProperty(v, keys[i], depth);
  }
  return i;
}

function writeInstance(v, c, depth) {
  writeConstant(asConstant.object);
  writeString(c.name.slice(0, maxName));
  writeConstant(asConstant.fields);
  let written = 0;
  if (c.kind === 'error') {
    for (const key of ['message', 'cause', 'errors', 'issues']) {   // as AggregateError and Zod's have them
      const d = js.descriptor(v, key);
      if (d === undefined || d.enumerable || !('value' in d)) continue;
      writeRaw(`${written++ > 0 ? ',' : ''}"${key}":`);
      write(d.value, depth);
    }
  }
  const read = typeof c.kind === 'object' ? c.kind : [];   // what fetch's objects tell by getters of the runtime's own
  for (const [name, get] of read) {
    writeRaw(`${written++ > 0 ? ',' : ''}"${name}":`);
    write(js.apply(get, v, []), depth);
  }
  const keys = inOrder(js.keysOf(v));
  const i = writeFields(v, keys, depth, written);
  bytes[at++] = 125;
  writeMore(keys.length - i);
}
