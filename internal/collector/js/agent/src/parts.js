// Values part by part, and in one line, without running code of the user's: properties are read by their descriptors,
// and of a Proxy only that it is one.
import util from 'node:util';
import * as js from './intrinsics.js';
import { classNameOf } from './values.js';

const { types } = util;
const maxLine = 200, maxString = 100, maxShown = 8;

// typeOf is the name of a value's type: of an object its class.
export function typeOf(v) {
  if (v === null) return 'null';
  if (typeof v !== 'object') return typeof v;
  return types.isProxy(v) ? 'Proxy' : classNameOf(v);
}

// elementsOf is {count, list}: how many parts a value has, and whether they are numbered.
export function elementsOf(v) {
  if (v === null || typeof v !== 'object' && typeof v !== 'function' || types.isProxy(v)) return { count: 0, list: false };
  if (js.isArray(v)) return { count: js.descriptor(v, 'length').value, list: true };
  if (types.isTypedArray(v)) return { count: js.apply(js.typedLength, v, []), list: true };
  if (types.isMap(v)) return { count: js.apply(js.mapSize, v, []), list: false };
  if (types.isSet(v)) return { count: js.apply(js.setSize, v, []), list: true };
  return { count: keysOf(v).length, list: false };
}

// keysOf: a function's own are name, length and prototype, which say nothing; an error's stack is text that user code
// may make.
function keysOf(v) {
  if (typeof v === 'function') return js.keysOf(v);
  const keys = js.ownKeys(v);
  return types.isNativeError(v) ? keys.filter(k => k !== 'stack') : keys;
}

// partsOf gives the parts from one on as {name, value, key, eval} or {name, getter}; only the one of a name, if it is given.
export function partsOf(v, expression, from, end, only) {
  const parts = [];
  if (v === null || typeof v !== 'object' && typeof v !== 'function' || types.isProxy(v)) return parts;
  const { count } = elementsOf(v), inside = text => expression ? expression + text : '';
  end = Math.min(end, count);
  if (types.isMap(v) || types.isSet(v)) {
    const map = types.isMap(v), all = map ? js.apply(js.mapEntries, v, []) : js.apply(js.setValues, v, []);
    for (let i = 0; i < end; i++) {
      const step = js.apply(map ? js.mapNext : js.setNext, all, []);
      if (step.done) break;
      if (i < from) continue;
      const access = expression ? `[...${expression}.values()][${i}]` : '';
      parts.push(map ? { name: lineOf(step.value[0]), value: step.value[1], eval: access, fixed: true } : { name: String(i), value: step.value, eval: access, fixed: true });
    }
    return only === undefined ? parts : parts.filter(p => p.name === only);
  }
  if (js.isArray(v) || types.isTypedArray(v)) {
    const one = only === undefined ? -1 : /^\[?(\d+)\]?$/.test(only) ? +/\d+/.exec(only)[0] : count;
    if (one >= 0) [from, end] = [one, Math.min(one + 1, count)];
    for (let i = from; i < end; i++) parts.push(partAt(v, i, String(i), inside(`[${i}]`)));
    return parts;
  }
  const keys = keysOf(v);
  for (let i = from; i < end; i++) {
    const key = keys[i], name = typeof key === 'symbol' ? key.toString() : key;
    if (only !== undefined && name !== only) continue;
    parts.push(partAt(v, key, name, typeof key === 'symbol' ? '' : inside(/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${js.stringify(key)}]`)));
  }
  return parts;
}

function partAt(v, key, name, expression) {
  const d = js.descriptor(v, key);
  if (d === undefined) return { name, value: undefined, key, eval: expression };
  if (!('value' in d)) return { name, getter: true, key, eval: expression, fixed: !d.set };
  return { name, value: d.value, key, eval: expression, fixed: !d.writable };
}

// lineOf is a value in one line; plain: a text without quotes.
export function lineOf(v, plain) {
  const line = plain && typeof v === 'string' ? v : short(v, 1);
  return line.length > maxLine && !plain ? line.slice(0, maxLine) + '…' : line;
}

function short(v, depth) {
  switch (typeof v) {
    case 'string': return js.stringify(v.length > maxString ? v.slice(0, maxString) + '…' : v);
    case 'bigint': return `${v}n`;
    case 'symbol': return v.toString();
    case 'number': return v === 0 && 1 / v < 0 ? '-0' : String(v);
    case 'function': {
      if (types.isProxy(v)) return 'Proxy';
      const d = js.descriptor(v, 'name'), name = d && typeof d.value === 'string' && d.value ? d.value : '<anonymous>';
      return `function ${name}`;
    }
    case 'object': break;
    default: return String(v);
  }
  if (v === null) return 'null';
  if (types.isProxy(v)) return 'Proxy';
  try {
    return shortObject(v, depth);
  } catch {
    return '<unreadable>';
  }
}

function shortObject(v, depth) {
  const name = classNameOf(v);
  if (types.isDate(v)) return isNaN(js.apply(js.dateTime, v, [])) ? 'Invalid Date' : js.apply(js.dateISO, v, []);
  if (types.isRegExp(v)) return js.regexpText(v);
  if (types.isNativeError(v)) {
    const message = js.descriptor(v, 'message');
    return message && typeof message.value === 'string' && message.value ? `${name}: ${message.value}` : name;
  }
  if (types.isNumberObject(v) || types.isStringObject(v) || types.isBooleanObject(v) || types.isBoxedPrimitive(v)) return `${name} object`;
  const { count, list } = elementsOf(v);
  const counted = list || types.isMap(v);
  const head = counted ? `${name}(${count})` : name === 'Object' ? '' : name;
  if (depth <= 0 || count === 0) return count > 0 ? head ? head : '{…}' : counted ? head : `${head}${head ? ' ' : ''}{}`;
  const parts = partsOf(v, '', 0, maxShown).map(p => {
    const value = p.getter ? '(getter)' : short(p.value, depth - 1);
    return list ? value : types.isMap(v) ? `${p.name} => ${value}` : `${p.name}: ${value}`;
  });
  if (count > parts.length) parts.push('…');
  const [open, close] = list ? ['[', ']'] : ['{', '}'];
  return `${head}${head ? ' ' : ''}${open}${parts.join(', ')}${close}`;
}
