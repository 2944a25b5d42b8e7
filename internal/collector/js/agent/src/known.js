// What is known of the objects of libraries: which of their fields tell most, and which getters are the runtime's own.
import * as js from './intrinsics.js';

// Of what little is shown or kept of an object these come first: they tell what a request or an answer is. Names that are
// no one else's business (_events) come last.
const first = { __proto__: null, method: 1, originalUrl: 1, url: 1, path: 1, statusCode: 1, status: 1, params: 1, query: 1, body: 1 };
const group = key => first[key] || (key[0] === '_' ? 3 : 2);

export function inOrder(keys) {
  const n = keys.length;
  let i = 0, in1 = 0, in2 = 0;
  while (i < n && group(keys[i]) === 2) i++;
  if (i === n || n > 256) return keys;
  for (i = 0; i < n; i++) {
    const g = group(keys[i]);
    if (g === 1) in1++;
    else if (g === 2) in2++;
  }
  const ordered = js.apply(js.slice, keys, []), next = [0, 0, in1, in1 + in2];
  for (i = 0; i < n; i++) ordered[next[group(keys[i])]++] = keys[i];
  return ordered;
}

// Node loads the classes of fetch when they are first asked for: where an object is of one they are loaded.
const classes = { Request: ['method', 'url'], Response: ['status', 'url'] };
const globals = {};
for (const name in classes) globals[name] = js.descriptor(globalThis, name);

// fetchKind gives [name, getter] of what an object with this prototype tells, or undefined where it is not of fetch.
export function fetchKind(prototype) {
  for (let p = prototype; p !== null; p = js.prototypeOf(p)) {
    if (!js.descriptor(p, 'url')?.get || !js.descriptor(p, 'bodyUsed')) continue;
    for (const name in classes) {
      const d = globals[name], of = d && (d.get ? js.apply(d.get, globalThis, []) : d.value);
      if (of && js.descriptor(of, 'prototype').value === p) return classes[name].map(key => [key, js.descriptor(p, key).get]);
    }
  }
}
