// The language's own functions, kept before the program can replace them: what the agent calls must neither run user
// code nor depend on it (polyfills, fake timers, mocks).
export const apply = Reflect.apply;
export const descriptor = Object.getOwnPropertyDescriptor;
export const prototypeOf = Object.getPrototypeOf;
export const keysOf = Object.keys;
export const ownKeys = Reflect.ownKeys;
export const namesOf = Object.getOwnPropertyNames;
export const stringify = JSON.stringify;
export const isArray = Array.isArray;
export const isView = ArrayBuffer.isView;
export const slice = Array.prototype.slice;
export const charCodeAt = String.prototype.charCodeAt;
export const promiseThen = Promise.prototype.then;
export const performanceNow = performance.now.bind(performance);
export const wait = Atomics.wait;
export const publish = Atomics.store;

const getter = (o, name) => descriptor(o, name).get;
const typedArray = prototypeOf(Uint8Array.prototype);
export const mapSize = getter(Map.prototype, 'size');
export const setSize = getter(Set.prototype, 'size');
export const mapEntries = Map.prototype.entries;
export const setValues = Set.prototype.values;
export const mapNext = prototypeOf(new Map().entries()).next;
export const setNext = prototypeOf(new Set().values()).next;
export const dateTime = Date.prototype.getTime;
export const dateISO = Date.prototype.toISOString;
export const regexpText = (() => {
  const source = getter(RegExp.prototype, 'source'), flags = getter(RegExp.prototype, 'flags');
  return v => `/${apply(source, v, [])}/${apply(flags, v, [])}`;
})();
export const typedLength = getter(typedArray, 'length');
export const typedTag = getter(typedArray, Symbol.toStringTag);
export const viewBuffer = v => apply(getter(isDataView(v) ? DataView.prototype : typedArray, 'buffer'), v, []);
export const viewOffset = v => apply(getter(isDataView(v) ? DataView.prototype : typedArray, 'byteOffset'), v, []);
export const viewBytes = v => apply(getter(isDataView(v) ? DataView.prototype : typedArray, 'byteLength'), v, []);
function isDataView(v) { return apply(typedTag, v, []) === undefined; }
export const bufferBytes = getter(ArrayBuffer.prototype, 'byteLength');
export const urlText = (() => {
  const href = getter(URL.prototype, 'href'), text = URLSearchParams.prototype.toString;
  return v => {
    try {
      return apply(href, v, []);
    } catch {
      return apply(text, v, []);
    }
  };
})();
