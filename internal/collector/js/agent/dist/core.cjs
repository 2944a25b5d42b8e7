var __create = Object.create;
var __defProp = Object.defineProperty;
var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __getProtoOf = Object.getPrototypeOf;
var __hasOwnProp = Object.prototype.hasOwnProperty;
var __export = (target, all2) => {
  for (var name in all2)
    __defProp(target, name, { get: all2[name], enumerable: true });
};
var __copyProps = (to, from, except, desc) => {
  if (from && typeof from === "object" || typeof from === "function") {
    for (let key of __getOwnPropNames(from))
      if (!__hasOwnProp.call(to, key) && key !== except)
        __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
  }
  return to;
};
var __toESM = (mod, isNodeMode, target) => (target = mod != null ? __create(__getProtoOf(mod)) : {}, __copyProps(
  // If the importer is in node compatibility mode or this is not an ESM
  // file that has been converted to a CommonJS file using a Babel-
  // compatible transform (i.e. "__esModule" has not been set), then set
  // "default" to the CommonJS "module.exports" for node compatibility.
  isNodeMode || !mod || !mod.__esModule ? __defProp(target, "default", { value: mod, enumerable: true }) : target,
  mod
));
var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

// src/core.js
var core_exports = {};
__export(core_exports, {
  Files: () => Files,
  Link: () => Link,
  Recorder: () => Recorder,
  Stream: () => Stream,
  clock: () => clock,
  keepStacks: () => keepStacks,
  keepText: () => keepText,
  kinds: () => kinds,
  namer: () => namer,
  useNames: () => useNames,
  watchCrashes: () => watchCrashes
});
module.exports = __toCommonJS(core_exports);

// src/files.js
var import_node_fs2 = __toESM(require("node:fs"), 1);
var import_node_path3 = __toESM(require("node:path"), 1);

// src/rules.js
var import_node_path = __toESM(require("node:path"), 1);
var defaultDepth = 3;
var maxDepth = 100;
function globOf(glob, separator) {
  const parts = [];
  let literal = "";
  const part = (kind) => {
    if (literal) parts.push(literal);
    literal = "";
    parts.push(kind);
  };
  for (let i = 0; i < glob.length; i++) {
    const c = glob[i], two = glob.startsWith("**", i);
    const begins = i === 0 ? separator === "/" : glob[i - 1] === separator;
    if (two && begins && glob[i + 2] === separator) {
      part(between);
      i += 2;
    } else if (two) {
      part(any);
      i++;
    } else if (c === "*") part(many);
    else if (c === "?") part(one);
    else literal += c;
  }
  if (literal) parts.push(literal);
  return (name) => matches(parts, name, separator);
}
var one = 1;
var many = 2;
var any = 3;
var between = 4;
function matches(parts, name, separator) {
  let at3 = /* @__PURE__ */ new Set([0]);
  for (const part of parts) {
    const next = /* @__PURE__ */ new Set();
    if (part === any || part === between) {
      if (part === between) for (const i of at3) next.add(i);
      for (let i = Math.min(...at3); i <= name.length; i++) {
        if (part === any) next.add(i);
        else if (name[i] === separator) next.add(i + 1);
      }
    } else {
      for (let i of at3) {
        if (part === one) {
          if (i < name.length && name[i] !== separator) next.add(i + 1);
        } else if (part === many) {
          for (; !next.has(i); i++) {
            next.add(i);
            if (i === name.length || name[i] === separator) break;
          }
        } else if (name.startsWith(part, i)) next.add(i + part.length);
      }
    }
    if (next.size === 0) return false;
    at3 = next;
  }
  return at3.has(name.length);
}
function isUserFile(file, root) {
  return file.startsWith(root.endsWith("/") ? root : root + "/") && !file.includes("/node_modules/", root.length);
}
function isMadeOfUserFiles(file) {
  return file.includes("/node_modules/.vite-temp/");
}
function moduleOf(file, root) {
  const packages = file.lastIndexOf("/node_modules/");
  const below = packages >= 0 ? file.slice(packages + 14) : isUserFile(file, root) ? import_node_path.default.relative(root, file) : import_node_path.default.basename(file);
  return below.replace(/\.[cm]?[jt]sx?$/, "").replaceAll("/", ".");
}
var asked = 16;
var Rules = class {
  constructor(set) {
    this.gen = set.gen || 0;
    this.root = set.root || "/";
    this.list = (set.rules || []).map((r) => ({ ...r, depth: Math.min(maxDepth, r.depth || defaultDepth), test: this.testOf(r) }));
  }
  testOf(rule) {
    switch (rule.on) {
      case "name": {
        const glob = globOf(rule.glob, ".");
        return (f, name) => glob(`${f.module}.${name}`) || glob(`${f.base}.${name}`) || glob(name) || f.main && glob(`__main__.${name}`);
      }
      case "path": {
        const glob = globOf(rule.glob, "/");
        return (f) => f.path.startsWith(this.root + "/") && glob(f.path.slice(this.root.length + 1));
      }
      case "contains":
        return (f) => f.path.includes(rule.glob);
      case "user":
        return (f) => isUserFile(f.path, this.root);
      default:
        return () => false;
    }
  }
  // depthOf is the depth of a function's values, with asked where somebody asked for it, 0 where no rule takes it. counts(id) is told each rule that does.
  depthOf(file, name, counts) {
    let depth = 0, out = false;
    for (const rule of this.list) {
      if (!rule.test(file, name)) continue;
      if (counts) counts(rule.id);
      if (rule.not) out = true;
      else if (rule.depth >= (depth & ~asked)) depth = rule.depth | (rule.given ? asked : 0);
    }
    return out ? 0 : depth;
  }
  // reaches says whether rules name files that are not the user's own: by their paths, or a package's by what its functions
  // are called.
  reaches(file) {
    return this.list.some((r) => !r.not && (r.on === "contains" || r.on === "path" && r.glob.includes("node_modules") ? r.test({ path: file }, "") : r.on === "name" && ofPackage(r.glob, file)));
  }
};
function ofPackage(glob, file) {
  const at3 = file.lastIndexOf("/node_modules/"), begins = /^[^*?]*/.exec(glob)[0];
  const name = at3 < 0 ? "" : /^(?:@[^/]*\/)?[^/]*/.exec(file.slice(at3 + 14))[0].replace("/", ".") + ".";
  if (!name || !begins.startsWith(name)) return false;
  const module2 = moduleOf(file, "/") + ".";
  return begins.startsWith(module2) || begins !== glob && module2.startsWith(begins);
}
function matchedFrom(names, from, bundled, root) {
  if (!from || from === names.path) return names;
  return bundled || isMadeOfUserFiles(names.path) ? matched(from, root, names.main) : { ...names, path: from };
}
function matched(file, root, main) {
  return { path: file, module: moduleOf(file, root), base: import_node_path.default.basename(file).replace(/\.[cm]?[jt]sx?$/, ""), main };
}

// src/scripts.js
var import_node_path2 = __toESM(require("node:path"), 1);
var import_node_url = require("node:url");
function fileOf(name) {
  if (typeof name !== "string") return "";
  try {
    if (name.startsWith("file:")) return (0, import_node_url.fileURLToPath)(name.split(/[?#]/)[0]);
  } catch {
    return "";
  }
  return import_node_path2.default.isAbsolute(name) ? name.split("?")[0] : "";
}
function compiled(file) {
  return file.replace(/\.([cm]?)ts(x?)$/, ".$1js$2");
}

// src/shared.js
var import_node_fs = __toESM(require("node:fs"), 1);

// src/threads.js
var threads = () => require("node:worker_threads");
var isMainThread = process.versions.bun ? Bun.isMainThread : threads().isMainThread;

// src/shared.js
var { readFileSync } = import_node_fs.default;
var maxFunctions = 1 << 20;
var maxWaiting = 64;
var at = { functions: 0, flags: 1, streams: 2, lanes: 3, gen: 4, control: 5, told: 6, points: 7, refs: 8, cut: 9, cutFunctions: 10, placed: 16, hits: 16 + maxWaiting };
function readSet(folder) {
  try {
    return JSON.parse(readFileSync(folder + "/start.json", "utf8"));
  } catch {
    return null;
  }
}

// src/values.js
var import_node_util = __toESM(require("node:util"), 1);

// src/intrinsics.js
var apply = Reflect.apply;
var descriptor = Object.getOwnPropertyDescriptor;
var prototypeOf = Object.getPrototypeOf;
var keysOf = Object.keys;
var stringify = JSON.stringify;
var isArray = Array.isArray;
var isView = ArrayBuffer.isView;
var slice = Array.prototype.slice;
var charCodeAt = String.prototype.charCodeAt;
var promiseThen = Promise.prototype.then;
var performanceNow = performance.now.bind(performance);
var wait = Atomics.wait;
var publish = Atomics.store;
var getter = (o, name) => descriptor(o, name).get;
var typedArray = prototypeOf(Uint8Array.prototype);
var mapSize = getter(Map.prototype, "size");
var setSize = getter(Set.prototype, "size");
var mapEntries = Map.prototype.entries;
var setValues = Set.prototype.values;
var mapNext = prototypeOf((/* @__PURE__ */ new Map()).entries()).next;
var setNext = prototypeOf((/* @__PURE__ */ new Set()).values()).next;
var dateTime = Date.prototype.getTime;
var dateISO = Date.prototype.toISOString;
var regexpText = (() => {
  const source = getter(RegExp.prototype, "source"), flags2 = getter(RegExp.prototype, "flags");
  return (v) => `/${apply(source, v, [])}/${apply(flags2, v, [])}`;
})();
var typedLength = getter(typedArray, "length");
var typedTag = getter(typedArray, Symbol.toStringTag);
var viewBuffer = (v) => apply(getter(isDataView(v) ? DataView.prototype : typedArray, "buffer"), v, []);
var viewOffset = (v) => apply(getter(isDataView(v) ? DataView.prototype : typedArray, "byteOffset"), v, []);
var viewBytes = (v) => apply(getter(isDataView(v) ? DataView.prototype : typedArray, "byteLength"), v, []);
function isDataView(v) {
  return apply(typedTag, v, []) === void 0;
}
var bufferBytes = getter(ArrayBuffer.prototype, "byteLength");
var urlText = (() => {
  const href = getter(URL.prototype, "href"), text = URLSearchParams.prototype.toString;
  return (v) => {
    try {
      return apply(href, v, []);
    } catch {
      return apply(text, v, []);
    }
  };
})();

// src/known.js
var first = { __proto__: null, method: 1, originalUrl: 1, url: 1, path: 1, statusCode: 1, status: 1, params: 1, query: 1, body: 1 };
var group = (key) => first[key] || (key[0] === "_" ? 3 : 2);
function inOrder(keys) {
  const n = keys.length;
  let i = 0, in1 = 0, in2 = 0;
  while (i < n && group(keys[i]) === 2) i++;
  if (i === n || n > 256) return keys;
  for (i = 0; i < n; i++) {
    const g = group(keys[i]);
    if (g === 1) in1++;
    else if (g === 2) in2++;
  }
  const ordered = apply(slice, keys, []), next = [0, 0, in1, in1 + in2];
  for (i = 0; i < n; i++) ordered[next[group(keys[i])]++] = keys[i];
  return ordered;
}
var classes = { Request: ["method", "url"], Response: ["status", "url"] };
var globals = {};
for (const name in classes) globals[name] = descriptor(globalThis, name);
function fetchKind(prototype) {
  for (let p = prototype; p !== null; p = prototypeOf(p)) {
    if (!descriptor(p, "url")?.get || !descriptor(p, "bodyUsed")) continue;
    for (const name in classes) {
      const d = globals[name], of = d && (d.get ? apply(d.get, globalThis, []) : d.value);
      if (of && descriptor(of, "prototype").value === p) return classes[name].map((key) => [key, descriptor(p, key).get]);
    }
  }
}

// src/values.js
var types = import_node_util.default.types;
var maxPayload = 16 << 10;
var maxText = 1024;
var maxItems = 100;
var maxName = 200;
var maxBigint = 1n << 4096n;
var closers = 640;
var payloadRoom = maxPayload + 2 * maxText;
var bytes = new Uint8Array(0);
var buffer = Buffer.alloc(0);
var at2 = 0;
var limit = 0;
var items = maxItems;
var textFloor = 0;
var left = 0;
var qualified = () => "";
var enclosing = [];
var scratch = new Uint8Array(maxText);
var encoder = new TextEncoder();
function use(newBytes, newBuffer) {
  bytes = newBytes;
  buffer = newBuffer;
}
function useNames(f) {
  qualified = f;
}
function begin(position2) {
  at2 = position2;
  limit = position2 + maxPayload - closers;
  items = maxItems;
  textFloor = 0;
  enclosing.length = 0;
}
function beginBrief(most, mostItems) {
  limit = Math.min(limit, at2 + most);
  items = mostItems;
  textFloor = 96;
  left = 0;
}
function endBrief() {
  items = maxItems;
  textFloor = 0;
  return left > 0;
}
function position() {
  return at2;
}
function constant(text) {
  return encoder.encode(text);
}
function writeConstant(c) {
  for (let i = 0; i < c.length; i++) bytes[at2 + i] = c[i];
  at2 += c.length;
}
var asConstant = {};
for (const [name, text] of Object.entries({
  undefined: '{"$":"name","v":"undefined"}',
  null: "null",
  true: "true",
  false: "false",
  unreadable: '{"$":"unreadable"}',
  list: '{"$":"list","v":[',
  dict: '{"$":"dict","v":[',
  object: '{"$":"obj","t":',
  plain: '{"$":"obj","t":"Object","v":{',
  fields: ',"v":{',
  more: ',"more":',
  text: '{"$":"text","v":',
  name: '{"$":"name","v":',
  repr: '{"$":"repr","v":',
  shape: '{"$":"shape","t":',
  valued: ',"v":',
  base64: '{"$":"bytes","v":"',
  depth: '{"$":"depth","t":',
  cycle: '{"$":"cycle","a":"0x'
})) asConstant[name] = constant(text);
function writeRaw(text) {
  const n = text.length;
  if (n < 40) for (let i = 0; i < n; i++) bytes[at2 + i] = text.charCodeAt(i);
  else buffer.latin1Write(text, at2, n);
  at2 += n;
}
function writeString(text) {
  const n = text.length;
  if (n < 64) {
    let p = at2;
    bytes[p++] = 34;
    let i = 0;
    for (; i < n; i++) {
      const c = text.charCodeAt(i);
      if (c < 32 || c > 126 || c === 34 || c === 92) break;
      bytes[p++] = c;
    }
    if (i === n) {
      bytes[p++] = 34;
      at2 = p;
      return;
    }
  }
  const quoted = stringify(text);
  at2 += buffer.utf8Write(quoted, at2, quoted.length * 3);
}
function writeText(text) {
  let most = maxText;
  if (at2 + 6 * Math.min(text.length, maxText) > limit) most = Math.max(textFloor, Math.min(maxText, Math.floor((limit - at2) / 6)));
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
    writeRaw("" + n);
  }
  bytes[at2++] = 125;
}
function writeForm(head, text) {
  writeConstant(head);
  writeString(text.length > maxName ? text.slice(0, maxName) + "\u2026" : text);
  bytes[at2++] = 125;
}
function writeShape(type, text) {
  writeConstant(asConstant.shape);
  writeString(type.length > maxName ? type.slice(0, maxName) + "\u2026" : type);
  writeConstant(asConstant.valued);
  writeString(text);
  bytes[at2++] = 125;
}
function writeNumber(v) {
  if ((v | 0) === v && (v !== 0 || 1 / v > 0)) {
    let n = v;
    if (n < 0) {
      bytes[at2++] = 45;
      n = -n;
    }
    let digits = 1;
    for (let p = 10; p <= n; p *= 10) digits++;
    at2 += digits;
    for (let p = at2 - 1; digits > 0; digits--, p--) {
      const rest = n % 10;
      bytes[p] = 48 + rest;
      n = (n - rest) / 10;
    }
  } else if (v - v === 0) writeRaw(v === 0 ? "-0.0" : "" + v);
  else writeRaw(`{"$":"float","v":"${v}"}`);
}
function write(v, depth) {
  switch (typeof v) {
    case "number":
      return writeNumber(v);
    case "string":
      return writeText(v);
    case "boolean":
      return writeConstant(v ? asConstant.true : asConstant.false);
    case "undefined":
      return writeConstant(asConstant.undefined);
    case "bigint":
      if (v > maxBigint || v < -maxBigint) return writeShape("bigint", "more than 4096 bits");
      return writeRaw(v.toString());
    case "symbol":
      return writeForm(asConstant.name, v.toString());
    case "function":
      return types.isProxy(v) ? writeShape("Proxy", "") : writeForm(asConstant.name, qualified(v) || nameOf(v) || "<anonymous>");
  }
  if (v === null) return writeConstant(asConstant.null);
  writeObject(v, depth);
}
function nameOf(f) {
  const d = descriptor(f, "name");
  return d !== void 0 && typeof d.value === "string" ? d.value : "";
}
var classes2 = /* @__PURE__ */ new WeakMap();
var builtins = /* @__PURE__ */ new Map([
  [Array.prototype, "array"],
  [Map.prototype, "map"],
  [Set.prototype, "set"],
  [Date.prototype, "date"],
  [RegExp.prototype, "regexp"],
  [Error.prototype, "error"],
  [Promise.prototype, "promise"],
  [ArrayBuffer.prototype, "buffer"],
  [prototypeOf(Uint8Array.prototype), "view"],
  [DataView.prototype, "view"],
  [WeakMap.prototype, "opaque"],
  [WeakSet.prototype, "opaque"],
  [WeakRef.prototype, "opaque"],
  [SharedArrayBuffer.prototype, "opaque"],
  [URL.prototype, "url"],
  [URLSearchParams.prototype, "url"],
  [Number.prototype, "boxed"],
  [String.prototype, "boxed"],
  [Boolean.prototype, "boxed"]
]);
var plain = { name: "Object", kind: "plain" };
classes2.set(Object.prototype, plain);
function classOf(v) {
  const prototype = prototypeOf(v);
  if (prototype === null) return plain;
  let c = classes2.get(prototype);
  if (c !== void 0) return c;
  if (types.isProxy(prototype)) return { name: "Proxy", kind: "instance" };
  let name = "", kind = "";
  for (let p = prototype; p !== null && !types.isProxy(p); p = prototypeOf(p)) {
    kind ||= builtins.get(p) || "";
    name ||= constructorName(p);
  }
  if (kind === "") kind = foreignKind(v, prototype, name);
  if (kind === "instance") kind = fetchKind(prototype) || kind;
  if (kind === "instance" && (name === "Timeout" || name === "Immediate")) kind = "opaque";
  c = { name: name || "Object", kind };
  classes2.set(prototype, c);
  return c;
}
function constructorName(prototype) {
  const constructor = descriptor(prototype, "constructor");
  return constructor !== void 0 && typeof constructor.value === "function" && !types.isProxy(constructor.value) ? nameOf(constructor.value) : "";
}
function foreignKind(v, prototype, name) {
  if (isArray(v)) return "array";
  if (types.isMap(v)) return "map";
  if (types.isSet(v)) return "set";
  if (types.isDate(v)) return "date";
  if (types.isRegExp(v)) return "regexp";
  if (types.isNativeError(v)) return "error";
  if (types.isPromise(v)) return "promise";
  if (isView(v)) return "view";
  if (types.isAnyArrayBuffer(v)) return "opaque";
  return name === "Object" && prototypeOf(prototype) === null ? "plain" : "instance";
}
function writeObject(v, depth) {
  if (types.isProxy(v)) return writeShape("Proxy", "");
  if (v === globalThis) return writeForm(asConstant.name, "globalThis");
  const c = classOf(v);
  const from = at2;
  try {
    switch (c.kind) {
      case "date":
        return writeForm(asConstant.repr, isNaN(apply(dateTime, v, [])) ? "Invalid Date" : apply(dateISO, v, []));
      case "regexp":
        return writeForm(asConstant.repr, regexpText(v));
      case "promise":
      case "opaque":
        return writeShape(c.name, "");
      case "buffer":
        return writeBytes(new Uint8Array(v), apply(bufferBytes, v, []));
      case "view":
        return writeView(v);
      case "url":
        return writeForm(asConstant.repr, urlText(v));
      case "boxed":
        return write(unboxed(v), depth);
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
      bytes[at2++] = 125;
      return;
    }
    enclosing.push(v);
    switch (c.kind) {
      case "array":
        writeArray(v, depth - 1);
        break;
      case "map":
        writeMap(v, depth - 1);
        break;
      case "set":
        writeSet(v, depth - 1);
        break;
      case "plain":
        writePlain(v, depth - 1);
        break;
      default:
        writeInstance(v, c, depth - 1);
    }
    enclosing.pop();
  } catch {
    enclosing.length = Math.max(0, enclosing.indexOf(v));
    bytes.fill(0, from, at2);
    at2 = from;
    writeConstant(asConstant.unreadable);
  }
}
function unboxed(v) {
  if (types.isNumberObject(v)) return apply(Number.prototype.valueOf, v, []);
  if (types.isStringObject(v)) return apply(String.prototype.valueOf, v, []);
  if (types.isBooleanObject(v)) return apply(Boolean.prototype.valueOf, v, []);
  return void 0;
}
function writeProperty(owner, key, depth) {
  const d = descriptor(owner, key);
  if (d === void 0) return writeConstant(asConstant.undefined);
  if ("value" in d) return write(d.value, depth);
  writeConstant(asConstant.unreadable);
}
function counted(from, head, items2, shown) {
  if (shown === items2) return;
  bytes.copyWithin(from + head.length, from + 1, at2);
  bytes.set(head, from);
  at2 += head.length - 1;
  writeMore(items2 - shown);
}
function writeArray(v, depth) {
  const size = descriptor(v, "length").value, from = at2;
  bytes[at2++] = 91;
  let i = 0;
  for (; i < size && i < items && at2 < limit; i++) {
    if (i > 0) bytes[at2++] = 44;
    writeProperty(v, i, depth);
  }
  bytes[at2++] = 93;
  counted(from, asConstant.list, size, i);
}
function writeView(v) {
  if (v instanceof Buffer || types.isUint8Array(v) || apply(typedTag, v, []) === void 0) {
    const size2 = viewBytes(v);
    return writeBytes(new Uint8Array(viewBuffer(v), viewOffset(v), Math.min(size2, maxText)), size2);
  }
  const size = apply(typedLength, v, []), from = at2;
  bytes[at2++] = 91;
  let i = 0;
  for (; i < size && i < items && at2 < limit; i++) {
    if (i > 0) bytes[at2++] = 44;
    write(v[i], 0);
  }
  bytes[at2++] = 93;
  counted(from, asConstant.list, size, i);
}
function writeBytes(view, size) {
  const shown = Math.max(0, Math.min(size, maxText, Math.floor((limit - at2) / 4) * 3));
  writeConstant(asConstant.base64);
  writeRaw(Buffer.from(view.buffer, view.byteOffset, shown).base64Slice(0, shown));
  bytes[at2++] = 34;
  writeMore(size - shown);
}
function writeSet(v, depth) {
  const size = apply(setSize, v, []), from = at2, values = apply(setValues, v, []);
  bytes[at2++] = 91;
  let i = 0;
  for (; i < size && i < items && at2 < limit; i++) {
    const step = apply(setNext, values, []);
    if (step.done) break;
    if (i > 0) bytes[at2++] = 44;
    write(step.value, depth);
  }
  bytes[at2++] = 93;
  counted(from, asConstant.list, size, i);
}
function writeMap(v, depth) {
  const size = apply(mapSize, v, []), entries = apply(mapEntries, v, []);
  writeConstant(asConstant.dict);
  let i = 0;
  for (; i < size && i < items && at2 < limit; i++) {
    const step = apply(mapNext, entries, []);
    if (step.done) break;
    if (i > 0) bytes[at2++] = 44;
    bytes[at2++] = 91;
    write(step.value[0], depth);
    bytes[at2++] = 44;
    write(step.value[1], depth);
    bytes[at2++] = 93;
  }
  bytes[at2++] = 93;
  writeMore(size - i);
}
function writePlain(v, depth) {
  const keys = keysOf(v);
  for (let i2 = 0; i2 < keys.length && i2 < items; i2++) if (keys[i2].charCodeAt(0) === 36) return writeDict(v, keys, depth);
  const from = at2;
  bytes[at2++] = 123;
  const i = writeFields(v, keys, depth, 0);
  bytes[at2++] = 125;
  counted(from, asConstant.plain, keys.length, i);
}
function writeDict(v, keys, depth) {
  writeConstant(asConstant.dict);
  let i = 0;
  for (; i < keys.length && i < items && at2 < limit; i++) {
    if (i > 0) bytes[at2++] = 44;
    bytes[at2++] = 91;
    writeText(keys[i]);
    bytes[at2++] = 44;
    writeProperty(v, keys[i], depth);
    bytes[at2++] = 93;
  }
  bytes[at2++] = 93;
  writeMore(keys.length - i);
}
function writeFields(v, keys, depth, written) {
  let i = 0;
  for (; i < keys.length && i < items && at2 < limit; i++) {
    if (i + written > 0) bytes[at2++] = 44;
    writeString(keys[i].length > maxName ? keys[i].slice(0, maxName) : keys[i]);
    bytes[at2++] = 58;
    writeProperty(v, keys[i], depth);
  }
  return i;
}
function writeInstance(v, c, depth) {
  writeConstant(asConstant.object);
  writeString(c.name.slice(0, maxName));
  writeConstant(asConstant.fields);
  let written = 0;
  if (c.kind === "error") {
    for (const key of ["message", "cause", "errors", "issues"]) {
      const d = descriptor(v, key);
      if (d === void 0 || d.enumerable || !("value" in d)) continue;
      writeRaw(`${written++ > 0 ? "," : ""}"${key}":`);
      write(d.value, depth);
    }
  }
  const read = typeof c.kind === "object" ? c.kind : [];
  for (const [name, get] of read) {
    writeRaw(`${written++ > 0 ? "," : ""}"${name}":`);
    write(apply(get, v, []), depth);
  }
  const keys = inOrder(keysOf(v));
  const i = writeFields(v, keys, depth, written);
  bytes[at2++] = 125;
  writeMore(keys.length - i);
}

// src/files.js
var { readFileSync: readFileSync2, writeFileSync, renameSync, mkdirSync } = import_node_fs2.default;
var pointsWithinMs = 5e3;
var Function2 = class {
  constructor(file, id, all2) {
    const f = file.meta.functions[id];
    this.file = file;
    this.all = all2;
    this.id = id;
    this.number = 0;
    this.plain = f.kind === "function";
    this.asynchronous = f.kind === "coroutine" || f.kind === "async_generator";
    this.lastDepth = 3;
    this.spent = 0;
    this.brief = 0;
    this.since = 0;
    this.wasCut = false;
    this.names = f.params.map((p, i) => constant(`${i === 0 ? "{" : ","}${JSON.stringify(p)}:`));
  }
  // depth is how deep its values are wanted. A call that began before its rule went is told to its end.
  depth() {
    const depth = this.file.view[this.id];
    if (depth !== 0) this.lastDepth = depth;
    return this.lastDepth & ~asked;
  }
  isAsked() {
    return (this.lastDepth & asked) !== 0;
  }
  describe() {
    const f = this.file.meta.functions[this.id], { module: module2 } = this.all.matchedOf(this.file, f);
    return { name: `${module2}.${f.name}`, file: f.file || this.file.path, line: f.line, module: module2, language: "javascript", params: f.params, kind: f.kind };
  }
};
var ProgramFile = class {
  constructor(file, code, meta) {
    this.path = file;
    this.code = code;
    this.meta = meta;
    this.names = null;
    this.view = null;
  }
  // text is the user's own: the insertions taken out.
  text() {
    if (this.original === void 0) {
      const { edits, codeLength } = this.meta;
      let text = "", at3 = 0, from = 0;
      for (let i = 0; i < edits.length; i += 2) {
        text += this.code.slice(from, from + edits[i] - at3);
        from += edits[i] - at3 + edits[i + 1];
        at3 = edits[i];
      }
      this.original = text + this.code.slice(from, codeLength);
    }
    return this.original;
  }
  // offset is the place in the user's text of a place in the instrumented one; placed the other way.
  offset(at3) {
    const { edits } = this.meta;
    let shift = 0;
    for (let i = 0; i < edits.length; i += 2) {
      const start = edits[i] + shift;
      if (at3 < start) break;
      if (at3 < start + edits[i + 1]) return edits[i];
      shift += edits[i + 1];
    }
    return at3 - shift;
  }
};
var Files = class {
  // set is the message of start.json; shared the process's memory; tell sends to the control thread.
  constructor(folder, set, shared, tell2, options) {
    this.folder = folder;
    this.rules = new Rules(set);
    this.shared = shared;
    this.tell = tell2;
    this.options = options;
    this.byKey = /* @__PURE__ */ new Map();
    this.byPath = /* @__PURE__ */ new Map();
    this.refused = [];
    this.engine = null;
    this.own = import_node_path3.default.dirname(__filename) + "/";
  }
  // refresh takes the rules that came while the program ran.
  refresh() {
    if (this.shared.gen() === this.rules.gen) return;
    const set = readSet(this.folder);
    if (set) this.rules = new Rules(set);
  }
  // wants says whether a file is instrumented.
  wants(file) {
    if (typeof file !== "string" || !import_node_path3.default.isAbsolute(file) || file.startsWith(this.own) || this.shared.gone()) return false;
    return isUserFile(file, this.rules.root) || isMadeOfUserFiles(file) || this.rules.reaches(file);
  }
  // instrumented is what a file's text becomes, or null where it stays as it is. How: file, language, sourceType, caught
  // (a test runner catches what it throws),
  // wrapped.
  instrumented(text, how) {
    if (text.includes("$strobe")) return null;
    how.finallyMode = this.options.finallyMode && !how.caught;
    how.maps = this.options.maps();
    how.key = keyOf(`${how.file} ${how.language} ${how.sourceType} ${how.finallyMode} ${!!how.wrapped} ${how.maps}
`, text);
    let file = this.byKey.get(how.key) || this.read(how.key);
    if (!file) {
      let made;
      try {
        made = this.loadEngine().instrument(text, how);
      } catch (e) {
        this.refuse(how.file, e);
        return null;
      }
      file = made === null ? new ProgramFile(how.file, null, null) : new ProgramFile(how.file, made.code, made.meta);
      this.write(how.key, file);
    }
    this.byKey.set(how.key, file);
    if (file.code !== null) this.byPath.set(file.path, file);
    return file.code;
  }
  // loaded is a file whose text runs as it is, since it was loaded before the agent: nothing is inserted into it.
  loaded(file, text, sourceType) {
    const key = keyOf(`${file} ${sourceType} loaded
`, text);
    let found = this.byKey.get(key) || this.read(key);
    if (!found) {
      const made = this.loadEngine().instrument(text, { file, language: compiled(file), sourceType, key, finallyMode: true });
      found = made === null ? new ProgramFile(file, null, null) : new ProgramFile(file, text, { ...made.meta, edits: [], codeLength: text.length, loaded: true });
      this.write(key, found);
    }
    found.key = key;
    this.byKey.set(key, found);
    return found.code === null ? null : found;
  }
  loadEngine() {
    return this.engine || (this.engine = (this.options.load || require)(this.own + "transform.cjs"));
  }
  parse(text, file) {
    return this.loadEngine().parse(text, { file, sourceType: "unambiguous" });
  }
  refuse(file, error) {
    const reason = `its text could not be read: ${error && error.message}`;
    this.tell({ m: "refused", file, reason });
  }
  // file gives an instrumented text the memory of its flags, when it runs.
  file(key, loaded) {
    let file = this.byKey.get(key);
    if (file === void 0) {
      file = this.read(key);
      if (!file || file.code === null) return noFlags;
      this.byKey.set(key, file);
      if (!loaded) this.byPath.set(file.path, file);
    }
    if (file.view !== null) return file.view;
    const { functions } = file.meta, n = functions.length;
    const base = this.shared.takeFlags(n);
    if (base < 0) return noFlags;
    file.names = matched(file.path, this.rules.root, file.path === process.argv[1]);
    const view = this.shared.flags.subarray(base, base + n);
    view.functions = functions.map((f, id) => new Function2(file, id, this));
    file.view = view;
    file.base = base;
    this.refresh();
    for (let id = 0; id < n; id++) view[id] = this.rules.depthOf(this.matchedOf(file, functions[id]), functions[id].name);
    if (this.shared.hasPoints() && !loaded) this.shared.awaitPlaced(() => this.tellOf(key, file), pointsWithinMs);
    else this.tellOf(key, file);
    return view;
  }
  // tellOf tells of a file that runs.
  tellOf(key, { base, path: path4, names, meta: { functions, unhookable, bundled } }) {
    this.tell({
      m: "file",
      key,
      base,
      thread: this.shared.thread,
      file: path4,
      main: names.main,
      unhookable,
      bundled,
      functions: functions.map((f) => f.name),
      files: functions.some((f) => f.file) ? functions.map((f) => f.file) : void 0
    });
  }
  // again: another session is told of what the one before it had. Its flags are all off.
  again(folder, set, shared) {
    this.folder = folder;
    this.shared = shared;
    this.rules = new Rules(set);
    for (const [key, file] of this.byKey) {
      if (file.view === null) continue;
      file.view.functions.forEach((f, id) => {
        f.number = 0;
        file.view[id] = this.rules.depthOf(this.matchedOf(file, file.meta.functions[id]), file.meta.functions[id].name);
      });
      this.tellOf(key, file);
    }
  }
  matchedOf(file, fn) {
    return matchedFrom(file.names, fn.file, file.meta.bundled, this.rules.root);
  }
  read(key) {
    for (const folder of this.folders()) {
      try {
        const text = readFileSync2(`${folder}/${key}`, "utf8"), line = text.indexOf("\n"), head = JSON.parse(text.slice(0, line));
        return new ProgramFile(head.file, head.meta === null ? null : text.slice(line + 1), head.meta);
      } catch {
      }
    }
    return null;
  }
  write(key, file) {
    for (const folder of this.folders()) {
      try {
        mkdirSync(folder, { recursive: true, mode: 448 });
        const temporary = `${folder}/.${key}-${process.pid}-${this.shared.thread}`;
        writeFileSync(temporary, JSON.stringify({ file: file.path, meta: file.meta }) + "\n" + (file.code || ""), { mode: 384 });
        renameSync(temporary, `${folder}/${key}`);
        return;
      } catch {
      }
    }
  }
  // folders are where instrumented texts are kept: beside the agent, where that lies in a folder named by its contents,
  // else with the session.
  folders() {
    const own = import_node_path3.default.dirname(this.own + "x");
    return /^[0-9a-f]{16}$/.test(import_node_path3.default.basename(own)) ? [own + "/texts", this.folder + "/js"] : [this.folder + "/js"];
  }
};
var noFlags = new Uint8Array(0);
function keyOf(head, text) {
  let a = 3735928559, b = 1103547991, c = 2654435769, d = 2135587861;
  for (const s of [head, text]) {
    for (let i = 0; i < s.length; i++) {
      const k = s.charCodeAt(i);
      a = Math.imul(a ^ k, 2654435761);
      b = Math.imul(b ^ k, 1597334677);
      c = Math.imul(c ^ k, 3266489917);
      d = Math.imul(d ^ k, 668265263);
      a ^= b >>> 15;
      c ^= d >>> 13;
    }
  }
  a = Math.imul(a ^ a >>> 16, 2246822507) ^ Math.imul(b ^ b >>> 13, 3266489909);
  b = Math.imul(b ^ b >>> 16, 2246822507) ^ Math.imul(a ^ a >>> 13, 3266489909);
  c = Math.imul(c ^ c >>> 16, 2246822507) ^ Math.imul(d ^ d >>> 13, 3266489909);
  d = Math.imul(d ^ d >>> 16, 2246822507) ^ Math.imul(c ^ c >>> 13, 3266489909);
  return [a, b, c, d].map((n) => (n >>> 6).toString(36).padStart(6, "0")).join("");
}

// src/link.js
var maxNear = 2e3;
var maxUnhookable = 1e3;
var applyPauseMs = 100;
var Link = class {
  constructor(shared, set, send) {
    this.shared = shared;
    this.rules = new Rules(set);
    this.send = send;
    this.files = [];
    this.unhookable = [];
    this.telling = null;
    this.points = null;
    this.entered = false;
    this.setting = Promise.resolve();
  }
  // hear takes what the program's threads tell.
  hear(m) {
    if (m.m === "end") {
      const last = this.applied(void 0);
      if (this.points) this.points.end();
      return this.send(last, () => this.shared.setTold());
    }
    if (m.m === "hot") return this.points && this.points.loaded.hot(m);
    this.learn(m);
    if (m.m === "file" && this.points) this.points.fileLoaded(m);
    else if (m.m === "file") this.shared.setPlaced(m.thread);
    if (!this.telling) this.telling = setTimeout(() => this.tellApplied(), applyPauseMs);
  }
  learn(m) {
    if (m.m === "refused") {
      if (this.unhookable.length < maxUnhookable) this.unhookable.push({ function: m.file, reason: m.reason });
    } else if (m.m === "file") {
      const names = matched(m.file, this.rules.root, m.main);
      const file = { key: m.key, base: m.base, names, functions: m.functions.map((name, i) => ({ name, on: matchedFrom(names, m.files && m.files[i], m.bundled, this.rules.root) })) };
      for (const name of m.unhookable) this.unhookable.push({ function: `${names.module}.${name}`, reason: "a constructor that a compiler of TypeScript would not find its super() in" });
      this.files.push(file);
      this.apply(file);
    }
  }
  // What is hooked grows as files are loaded: strobe hears of it, but not with each.
  tellApplied() {
    this.telling = null;
    if (!this.shared.gone()) this.send(this.applied(void 0));
  }
  apply(file) {
    if (this.shared.gone()) return;
    file.functions.forEach((f, id) => Atomics.store(this.shared.flags, file.base + id, this.rules.depthOf(f.on, f.name)));
  }
  receive(m) {
    switch (m.m) {
      case "set":
        this.rules = new Rules(m);
        this.shared.setGen(this.rules.gen);
        for (const file of this.files) this.apply(file);
        if (this.needsPoints(m)) return this.setPoints(m.points || [], m.q);
        return this.send(this.applied(m.q));
      case "status":
        return this.send(this.applied(m.q));
      // Every event is in its file before the call that it tells of goes on.
      case "sync":
        return this.send({ m: "synced", q: m.q });
      case "threads":
        if (this.points) break;
        return this.send({ m: "threads", q: m.q, threads: [] });
      case "bye":
        return this.bye();
    }
    if (this.loadPoints && this.neededPoints().receive(m)) return;
    if (m.q) this.send({ m: "error", q: m.q, code: "cannot", message: `this agent does not know ${m.m}` });
  }
  needsPoints(set) {
    return !!this.points || (set.points || []).length > 0 || this.entered && (set.rules || []).length > 0;
  }
  neededPoints() {
    return this.points || (this.points = this.loadPoints(this));
  }
  // setPoints answers when they are in force.
  setPoints(points, q) {
    if (!this.loadPoints) return this.send(this.applied(q));
    this.setting = this.setting.then(() => this.neededPoints().set(points)).catch((e) => {
      this.points.problem = e.message;
    }).then(() => this.send(this.applied(q)));
  }
  applied(q) {
    const counts = new Map(this.rules.list.map((r) => [r.id, 0]));
    let functions = 0;
    const seen = /* @__PURE__ */ new Set(), names = [];
    for (const file of this.files) {
      if (seen.has(file.key)) continue;
      seen.add(file.key);
      for (const f of file.functions) {
        if (this.rules.depthOf(f.on, f.name, (id) => counts.set(id, counts.get(id) + 1)) > 0) functions++;
        if (names.length < maxNear) names.push(`${f.on.module}.${f.name}`);
      }
    }
    const empty = this.rules.list.some((r) => r.on === "name" && counts.get(r.id) === 0);
    return {
      m: "applied",
      q,
      gen: this.rules.gen,
      rules: this.rules.list.map((r) => ({ id: r.id, matched: counts.get(r.id) })),
      functions,
      unhookable: this.points ? this.unhookable.concat(this.points.loaded.left()) : this.unhookable,
      near: empty ? names : void 0,
      cut: this.shared.cut(),
      points: this.points ? this.points.states() : void 0
    };
  }
};

// src/recorder.js
var import_node_util2 = __toESM(require("node:util"), 1);

// src/brief.js
var spend = 256 << 10;
var all = 2 << 20;
var each = 8 << 10;
var near = { depth: 2, bytes: 1e3, items: 8 };
var hot = { depth: 1, bytes: 400, items: 6 };
var often = 500;
var again = 1e9;
var turnsAtOnce = 32;
var Brief = class {
  // shared counts for all threads.
  constructor(shared) {
    this.shared = shared;
    this.spent = 0;
    this.turns = 0;
    this.turnsFrom = 0;
    this.now = null;
  }
  // begin is called before the values of a record, and gives their depth.
  begin(fn, time) {
    const depth = fn.depth();
    this.now = null;
    if (fn.spent <= each || this.spent <= all && fn.spent <= spend || fn.isAsked() || this.turn(fn, time)) return depth;
    this.now = ++fn.brief > often ? hot : near;
    beginBrief(this.now.bytes, this.now.items);
    return Math.min(depth, this.now.depth);
  }
  // end is called behind them, with their bytes.
  end(fn, bytes2) {
    if (this.now === null) {
      fn.spent += bytes2;
      this.spent += bytes2;
      return;
    }
    if (!endBrief()) return;
    this.shared.addCut(1, fn.wasCut ? 0 : 1);
    fn.wasCut = true;
  }
  turn(fn, time) {
    if (time - fn.since < again) return false;
    if (time - this.turnsFrom >= again) {
      this.turns = 0;
      this.turnsFrom = time;
    }
    if (this.turns >= turnsAtOnce) return false;
    this.turns++;
    fn.since = time;
    return true;
  }
};

// src/segments.js
var import_node_fs3 = __toESM(require("node:fs"), 1);
var kinds = { function: 1, lane: 2, enter: 3, exit: 4, yield: 5, lost: 6, crash: 7, log: 8, end: 9, switch: 10, next: 255 };
var flags = { thrown: 1, closed: 2, unknown: 4 };
var headerSize = 16;
var recordSize = 32;
var firstSize = 1 << 20;
var laterSize = 4 << 20;
var segmentsAhead = 16;
var patienceMs = 2e4;
var room = recordSize + payloadRoom + recordSize;
var { existsSync, openSync, closeSync, writeSync, renameSync: renameSync2, ftruncateSync } = import_node_fs3.default;
var sleeper = new Int32Array(new SharedArrayBuffer(4));
var header = Buffer.from("strobe1\n\0\0\0\0\0\0\0\0", "latin1");
var clockBase = 0;
function setClock(now) {
  let best = Infinity;
  for (let i = 0; i < 5; i++) {
    const before = performanceNow(), at3 = now(), after = performanceNow();
    if (after - before < best) [best, clockBase] = [after - before, at3 - (before + after) / 2 * 1e6];
  }
}
function systemClock() {
  const [seconds, nanoseconds] = process.hrtime();
  if (!process.versions.bun && !process.versions.deno) return seconds * 1e9 + nanoseconds;
  return parseFloat(import_node_fs3.default.readFileSync("/proc/uptime", "utf8")) * 1e9;
}
function clock() {
  return clockBase + performanceNow() * 1e6;
}
var Stream = class {
  // folder/prefix names the segments; native is the addon or null: then records are written by a system call each.
  constructor(folder, prefix, native, onFull) {
    this.folder = folder;
    this.prefix = prefix;
    this.native = native;
    this.onFull = onFull;
    this.sequence = -1;
    this.size = 0;
    this.start = 0;
    this.offset = 0;
    this.descriptor = -1;
    this.failed = false;
    this.giveUpAt = 0;
    this.triedAt = 0;
    if (clockBase === 0) setClock(native ? native.now : systemClock);
    const memory = native ? native.window(laterSize) : new ArrayBuffer(room + 8);
    if (native && !(memory instanceof ArrayBuffer)) throw new Error(`map memory: error ${memory}`);
    this.memory = memory;
    this.bytes = new Uint8Array(memory);
    this.words = new Uint32Array(memory);
    this.lengths = new Int32Array(memory);
    use(this.bytes, Buffer.from(memory));
  }
  path(sequence) {
    return `${this.folder}/${this.prefix}-${sequence}.ev`;
  }
  // begin makes room for one record and gives where its payload goes, or 0 where there is none.
  begin(force) {
    if (this.offset + this.start + room > this.size && !this.next(force)) return 0;
    const p = this.start + recordSize;
    begin(p);
    return p;
  }
  // end publishes the record that begin gave room for.
  end(kind, flagBits, fn, lane, under, aux, time) {
    const start = this.start, w = start >> 2, words = this.words, bytes2 = this.bytes;
    const length = position() - start, padded = length + 7 & ~7;
    words[w] = time;
    words[w + 1] = time / 4294967296;
    words[w + 2] = fn;
    words[w + 3] = lane;
    words[w + 4] = under;
    words[w + 5] = aux;
    bytes2[start + 24] = kind;
    bytes2[start + 25] = flagBits;
    bytes2[start + 26] = padded - length;
    publish(this.lengths, w + 7, padded);
    if (this.native !== null) {
      this.start = start + padded;
      return;
    }
    writeSync(this.descriptor, bytes2, 0, padded, this.offset);
    this.offset += padded;
    bytes2.fill(0, 0, padded);
  }
  // drop takes back what was written of a record.
  drop() {
    this.bytes.fill(0, this.start, this.start + room);
  }
  // next goes on in a new segment.
  next(force) {
    if (this.failed || !this.mayOpen(force)) return false;
    const sequence = this.sequence + 1, size = sequence === 0 ? firstSize : laterSize;
    const temporary = `${this.folder}/.${this.prefix}-${sequence}`, path4 = this.path(sequence);
    let descriptor2 = -1;
    if (this.native !== null) {
      descriptor2 = this.native.create(temporary, path4, size);
    } else {
      try {
        descriptor2 = openSync(temporary, "wx+", 384);
        ftruncateSync(descriptor2, size);
        header.writeUInt32LE(size, 8);
        writeSync(descriptor2, header, 0, headerSize, 0);
        renameSync2(temporary, path4);
      } catch {
        descriptor2 = -1;
      }
    }
    if (descriptor2 < 0) return false;
    if (this.sequence >= 0) {
      begin(this.start + recordSize);
      this.end(kinds.next, 0, 0, 0, 0, 0, clock());
    }
    if (this.native !== null) {
      if (this.native.map(this.memory.address, descriptor2, size) !== 0) {
        this.failed = true;
        return false;
      }
      this.start = headerSize;
    } else {
      if (this.descriptor >= 0) closeSync(this.descriptor);
      this.descriptor = descriptor2;
      this.offset = headerSize;
      this.start = 0;
    }
    this.size = size;
    this.sequence = sequence;
    return true;
  }
  // mayOpen waits, as onFull says, until the reader has taken the segment 16 before the next one. force: for what must
  // not be lost, a little more is allowed.
  mayOpen(force) {
    const before = this.sequence + 1 - segmentsAhead;
    if (before < 0 || force === true) return true;
    const path4 = this.path(before), now = performanceNow();
    if (this.onFull === "drop" || this.giveUpAt !== 0) {
      if (now < this.triedAt + 1) return false;
      this.triedAt = now;
      if (existsSync(path4)) return false;
      this.giveUpAt = 0;
      return true;
    }
    while (existsSync(path4)) {
      if (this.onFull !== "block" && performanceNow() - now > patienceMs) {
        this.giveUpAt = now;
        return false;
      }
      wait(sleeper, 0, 0, 1);
    }
    return true;
  }
};

// src/recorder.js
var { isPromise } = import_node_util2.default.types;
var Call = class {
  constructor(fn, lane, before) {
    this.fn = fn;
    this.lane = lane;
    this.before = before;
    this.running = true;
    this.open = true;
    this.watched = false;
    this.since = 0;
    this.awaited = 0;
  }
};
var Recorder = class {
  // thread is {tid, name}; numbers gives the process's next number of a function or lane; fileOf(key) the file that an
  // instrumented text belongs to.
  constructor(stream, thread, numbers, fileOf2) {
    this.stream = stream;
    this.numbers = numbers;
    this.brief = new Brief(numbers);
    this.file = fileOf2;
    this.thread = thread;
    this.own = 0;
    this.lane = 0;
    this.rested = [];
    this.depth = 0;
    this.stackFunctions = [null];
    this.stackLanes = [0];
    this.busy = false;
    this.lost = null;
    this.owed = [];
    this.pending = [];
    this.thrown = void 0;
    this.throwing = false;
    this.viewer = null;
    this.watched = 0;
    this.outcome = null;
    this.stackHeights = [0];
    this.counting = { since: 0, calls: null };
  }
  // begin makes room for a record behind what is owed.
  begin() {
    if (this.own === 0) this.declareThread();
    if (this.pending.length > 0) this.settle(void 0, false);
    if ((this.owed.length > 0 || this.lost !== null) && !this.pay()) return 0;
    return this.stream.begin();
  }
  declareThread() {
    this.own = -1;
    const number = this.numbers.lane();
    if (this.stream.begin(true) === 0) {
      this.own = 0;
      throw new Error("no segment could be made");
    }
    writeRaw(`{"tid":${this.thread.tid},"name":`);
    writeString(this.thread.name);
    writeRaw("}");
    this.stream.end(kinds.lane, 0, 0, number, 0, 0, clock());
    if (this.lane === 0) this.lane = number;
    this.stackLanes[0] = this.own = number;
  }
  pay() {
    while (this.owed.length > 0) {
      const e = this.owed[0];
      if (this.stream.begin() === 0) return false;
      this.stream.end(kinds.exit, e.flags | flags.unknown, e.number, e.lane, 0, e.awaited, e.time);
      this.owed.shift();
    }
    if (this.lost === null) return true;
    const calls = {};
    let n = 0;
    for (const [number, counts] of this.lost) {
      calls[number] = counts;
      this.lost.delete(number);
      if (++n === 500) break;
    }
    if (this.stream.begin() === 0) {
      for (const number in calls) this.lost.set(+number, calls[number]);
      return false;
    }
    writeRaw(stringify({ calls }));
    this.stream.end(kinds.lost, 0, 0, 0, 0, 0, clock());
    if (this.lost.size === 0) this.lost = null;
    return true;
  }
  countLost(number, enters, exits) {
    if (this.lost === null) this.lost = /* @__PURE__ */ new Map();
    const counts = this.lost.get(number);
    if (counts === void 0) this.lost.set(number, [enters, exits]);
    else {
      counts[0] += enters;
      counts[1] += exits;
    }
  }
  // declare tells of a function before its first use in the process's streams.
  declare(fn) {
    const number = this.numbers.function();
    if (this.stream.begin(true) === 0) throw new Error("no segment could be made");
    writeRaw(stringify(fn.describe()).replace(/[^\x20-\x7e]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0")));
    this.stream.end(kinds.function, 0, number, 0, 0, 0, clock());
    fn.number = number;
  }
  // enter writes an enter; false where it is not recorded.
  enter(fn, lane, under, args) {
    const stream = this.stream;
    let begun = false;
    try {
      if (fn.number === 0) {
        if (this.own === 0) this.declareThread();
        this.declare(fn);
      }
      if (this.begin() === 0) {
        this.countLost(fn.number, 1, 1);
        return false;
      }
      begun = true;
      const time = clock(), names = fn.names, depth = this.brief.begin(fn, time), from = position();
      for (let i = 0; i < args.length; i++) {
        writeConstant(names[i]);
        write(args[i], depth);
      }
      writeConstant(args.length === 0 ? noArguments : lastArgument);
      this.brief.end(fn, position() - from);
      stream.end(kinds.enter, 0, fn.number, lane === 0 ? this.own : lane, under, 0, time);
      return true;
    } catch {
      if (begun) stream.drop();
      if (fn.number !== 0) this.countLost(fn.number, 1, 1);
      return false;
    }
  }
  value(fn, value, time) {
    const depth = this.brief.begin(fn, time), from = position();
    write(value, depth);
    this.brief.end(fn, position() - from);
  }
  // exit writes an exit, now or before the next record.
  exit(fn, lane, kind, value, awaited, at3) {
    const stream = this.stream;
    let begun = false;
    const time = at3 || clock();
    try {
      if (this.begin() !== 0) {
        begun = true;
        if (value === unseen && (kind & flags.unknown) === 0) writeRaw('{"$":"unreadable"}');
        else if ((kind & flags.unknown) === 0) this.value(fn, value, time);
        stream.end(kinds.exit, kind, fn.number, lane, 0, awaited, time);
        return;
      }
    } catch {
      if (begun) stream.drop();
    }
    this.owed.push({ number: fn.number, lane, flags: kind, awaited, time });
  }
  // unwind ends the calls above level c whose own exits did not come.
  unwind(c) {
    while (this.depth > c) {
      this.stackHeights[this.depth] = 0;
      this.exit(this.stackFunctions[this.depth], this.stackLanes[this.depth], flags.unknown, void 0, 0);
      this.depth--;
    }
  }
  e(file, id, args) {
    if (this.busy) return 0;
    try {
      this.busy = true;
      const fn = file.functions[id];
      if (this.throwing) this.settled();
      if (!this.enter(fn, this.lane, 0, args)) return 0;
      const c = ++this.depth;
      this.stackFunctions[c] = fn;
      this.stackLanes[c] = this.lane;
      return c;
    } catch {
      return 0;
    } finally {
      this.busy = false;
    }
  }
  // loaded makes a file known that was loaded before the agent.
  loaded(key) {
    this.file(key, true);
  }
  // le, lx: the debugger met the beginning, or a return, of a function in such a file. Nothing of ours stands in it: by
  // how high the stack is it shows which calls have ended. once: of a beginning that a loop can come back to.
  le(key, id, args, once) {
    if (this.busy) return 0;
    const height = heightOfStack(), file = this.file(key, true), fn = file.functions[id];
    this.endAbove(height + 1);
    if (once && this.isAt(fn, height)) return 0;
    this.endAbove(height);
    if (file[id] === 0 || this.isHot(key, id, fn)) return 0;
    const c = this.e(file, id, args);
    if (c !== 0) this.stackHeights[c] = height;
    return 0;
  }
  lx(key, id, value) {
    if (this.busy) return 0;
    const height = heightOfStack();
    this.endAbove(height + 1);
    if (!this.isAt(this.file(key, true).functions[id], height)) return 0;
    this.stackHeights[this.depth] = 0;
    let seen = unseen;
    try {
      if (value !== 0) seen = value();
    } catch {
    }
    this.left(this.depth, 0, seen, false);
    return 0;
  }
  isAt(fn, height) {
    return this.depth > 0 && this.stackHeights[this.depth] === height && this.stackFunctions[this.depth] === fn;
  }
  endAbove(height) {
    while (this.depth > 0 && this.stackHeights[this.depth] >= height) {
      this.stackHeights[this.depth] = 0;
      const { plain: plain2 } = this.stackFunctions[this.depth];
      this.left(this.depth, plain2 ? flags.thrown : flags.unknown, unseen, false);
    }
  }
  // isHot: the debugger would slow the program down with this function. It is told, and its calls are told no more.
  isHot(key, id, fn) {
    const { counting } = this, now = performanceNow();
    if (counting.calls === null || now - counting.since > 1e3) {
      counting.since = now;
      counting.calls = /* @__PURE__ */ new Map();
    }
    const calls = (counting.calls.get(fn) || 0) + 1;
    counting.calls.set(fn, calls);
    if (calls === hotCalls) this.tell({ m: "hot", key, id, calls });
    return calls >= hotCalls;
  }
  // left ends call c of the stack. Where the stack ends in here, the next exit below notices.
  left(c, kind, value, later) {
    if (c > this.depth) return;
    try {
      this.busy = true;
      if (c < this.depth) this.unwind(c);
      this.lane = this.stackLanes[c];
      if (later) this.pending.push({ fn: this.stackFunctions[c], lane: this.lane, time: clock() });
      else this.exit(this.stackFunctions[c], this.lane, kind, value, 0);
      this.depth = c - 1;
    } catch {
    } finally {
      this.busy = false;
    }
  }
  r(c, value) {
    if (this.throwing) this.settled();
    if (c === this.watched && this.watchedLeft(value, true)) return;
    this.left(c, 0, value, false);
  }
  x(c, error) {
    if (c === this.watched && this.watchedLeft(void 0, false)) return;
    this.left(c, flags.thrown, error, false);
  }
  // xf: left by an exception that nobody has told. It is the one that was last thrown, or is known where it is caught.
  xf(c) {
    if (c === this.watched && this.watchedLeft(void 0, false)) return;
    if (this.throwing) this.left(c, flags.thrown, this.thrown, false);
    else this.left(c, 0, void 0, true);
  }
  // What a step out of a call returned: watch stands for a call that nests, watchCall for another one.
  watch(c) {
    this.outcome = null;
    return this.watched = c || -1;
  }
  watchCall(call) {
    this.outcome = null;
    if (!call) {
      call = new Call(null, 0, 0);
      call.running = call.open = false;
    }
    call.watched = true;
    return call;
  }
  // watchedLeft is true where the call was not recorded.
  watchedLeft(value, returned) {
    const unrecorded = this.watched < 0;
    this.watched = 0;
    if (returned) this.outcome = { value };
    return unrecorded;
  }
  // log writes what a logpoint says, on the lane that the thread is on.
  log(payload) {
    if (this.begin() === 0) return;
    writeRaw(payload);
    this.stream.end(kinds.log, 0, 0, this.lane, 0, 0, clock());
  }
  // views is what a paused thread is looked into with.
  views() {
    return this.viewer || (this.viewer = this.loadViews(this));
  }
  settled() {
    this.throwing = false;
    this.thrown = void 0;
  }
  settle(error, known) {
    const pending = this.pending;
    this.pending = [];
    for (const p of pending) this.exit(p.fn, p.lane, known ? flags.thrown : flags.thrown | flags.unknown, error, 0, p.time);
  }
  // t: how is absent where error is thrown, 1 where it was caught, 2 where something was caught that has no name.
  t(error, how) {
    if (how === void 0) {
      this.throwing = true;
      this.thrown = error;
    } else {
      this.settled();
      if (this.pending.length > 0) {
        this.busy = true;
        this.settle(error, how === 1);
        this.busy = false;
      }
    }
    return error;
  }
  // under is the lane of whoever runs now, 0 where that is nobody traced.
  under() {
    return this.lane !== this.own || this.stackLanes[this.depth] === this.own && this.depth > 0 ? this.lane : 0;
  }
  newLane() {
    if (this.rested.length > 0) return this.rested.pop();
    if (this.own === 0) this.declareThread();
    const lane = this.numbers.lane();
    if (this.stream.begin(true) === 0) throw new Error("no segment could be made");
    writeRaw(`{"of":${this.own},"name":""}`);
    this.stream.end(kinds.lane, 0, 0, lane, 0, 0, clock());
    return lane;
  }
  // ea, eg: the call of a coroutine, the first step of a generator.
  ea(file, id, args) {
    if (this.busy) return 0;
    this.busy = true;
    let call = 0;
    try {
      const fn = file.functions[id], lane = this.newLane();
      if (this.enter(fn, lane, this.under(), args)) {
        call = new Call(fn, lane, this.lane);
        this.lane = lane;
      } else this.rested.push(lane);
    } catch {
      call = 0;
    }
    this.busy = false;
    return call;
  }
  eg(file, id, args) {
    return this.ea(file, id, args);
  }
  leave(call) {
    if (!call.running) return;
    call.running = false;
    this.lane = call.before;
  }
  // u: left at an await.
  u(call) {
    if (!call.running) return;
    this.leave(call);
    this.on(this.lane);
    call.since = performanceNow();
  }
  // on tells which lane the thread is on now, for what others than its calls say of it.
  on(lane) {
    if (this.own <= 0) return;
    this.busy = true;
    try {
      if (this.begin() !== 0) this.stream.end(kinds.switch, 0, 0, lane === 0 ? this.own : lane, 0, 0, clock());
    } catch {
      this.stream.drop();
    }
    this.busy = false;
  }
  // w: back from an await. The thread came from its event loop, or from one that a call below runs.
  w(call) {
    if (call.running || !call.open) return;
    call.before = this.depth > 0 ? this.stackLanes[this.depth] : this.own;
    call.running = true;
    this.lane = call.lane;
    this.on(call.lane);
    if (call.since !== 0) call.awaited += (performanceNow() - call.since) * 1e3;
    call.since = 0;
  }
  // y: left at a yield; wy: the next step.
  y(call, value) {
    this.busy = true;
    try {
      if (call.open && this.begin() !== 0) {
        const time = clock();
        this.value(call.fn, value, time);
        this.stream.end(kinds.yield, 0, call.fn.number, call.lane, 0, 0, time);
      }
    } catch {
      this.stream.drop();
    }
    this.busy = false;
    this.leave(call);
    this.on(this.lane);
  }
  wy(call) {
    if (call.running || !call.open) return;
    call.before = this.lane;
    call.running = true;
    this.lane = call.lane;
    this.on(call.lane);
    call.since = 0;
  }
  close(call, kind, value) {
    if (!call.open) return;
    this.leave(call);
    call.open = false;
    this.busy = true;
    if (call.since !== 0) call.awaited += (performanceNow() - call.since) * 1e3;
    this.exit(call.fn, call.lane, kind, value, Math.min(call.awaited, 4294967295));
    this.rested.push(call.lane);
    this.busy = false;
  }
  // ra: a coroutine's return. Of a promise the call ends when that is settled, as for who awaits it.
  ra(call, value) {
    if (call.watched) this.outcome = { value };
    try {
      if (isPromise(value) && isPlainPromise(value)) {
        this.u(call);
        apply(promiseThen, value, [(v) => this.close(call, 0, v), (e) => this.close(call, flags.thrown, e)]);
        return;
      }
    } catch {
    }
    this.close(call, 0, value);
  }
  xa(call, error) {
    if (this.pending.length > 0) {
      this.busy = true;
      this.settle(error, true);
      this.busy = false;
    }
    this.settled();
    this.close(call, flags.thrown, error);
  }
  // rg: a generator came to its end, or was closed before it.
  rg(call, value, done) {
    if (call.watched && done !== 0) this.outcome = { value };
    if (done === 0) this.close(call, flags.closed | flags.unknown, void 0);
    else if (call.fn.asynchronous) this.ra(call, value);
    else this.close(call, 0, value);
  }
  // d stands for the iterable of a yield*: its steps run on the call's lane, and in between the call is left.
  d(call, iterable) {
    const recorder = this, symbol = call.fn.asynchronous ? Symbol.asyncIterator : Symbol.iterator;
    const iterator = iterable == null ? void 0 : iterable[symbol];
    if (typeof iterator !== "function") {
      this.u(call);
      return iterable;
    }
    return { [symbol]: () => around(apply(iterator, iterable, []), (step) => (v) => {
      recorder.wy(call);
      try {
        return step(v);
      } finally {
        recorder.leave(call);
      }
    }) };
  }
  // i stands for the iterable of a for await: the call is left behind each step's promise.
  i(call, iterable) {
    const recorder = this;
    const iterator = iterable == null ? void 0 : iterable[Symbol.asyncIterator];
    if (typeof iterator !== "function") {
      this.u(call);
      return iterable;
    }
    return { [Symbol.asyncIterator]: () => around(apply(iterator, iterable, []), (step) => (v) => {
      try {
        return step(v);
      } finally {
        recorder.u(call);
      }
    }) };
  }
};
var hotCalls = 1e3;
var highest = 2e3;
function heightOfStack() {
  const { stackTraceLimit } = Error, had = descriptor(Error, "prepareStackTrace"), at3 = {};
  try {
    Error.stackTraceLimit = highest;
    Object.defineProperty(Error, "prepareStackTrace", { value: (_, frames) => {
      let n = frames.length;
      while (n > 0 && frames[n - 1].isAsync()) n--;
      return n;
    }, configurable: true, writable: true });
    Error.captureStackTrace(at3);
    return at3.stack;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    if (had) Object.defineProperty(Error, "prepareStackTrace", had);
    else delete Error.prepareStackTrace;
  }
}
var unseen = /* @__PURE__ */ Symbol("unseen");
var noArguments = constant("{}");
var lastArgument = constant("}");
function around(iterator, wrap) {
  const next = iterator.next;
  const method = (name) => {
    const m = iterator[name];
    return m == null ? m : wrap((v) => apply(m, iterator, [v]));
  };
  return {
    next: wrap((v) => apply(next, iterator, [v])),
    get return() {
      return method("return");
    },
    get throw() {
      return method("throw");
    }
  };
}
function isPlainPromise(value) {
  if (descriptor(value, "constructor") !== void 0) return false;
  const c = descriptor(prototypeOf(value), "constructor");
  return c !== void 0 && typeof c.value === "function" && c.value.name === "Promise";
}

// src/crash.js
var import_node_module = __toESM(require("node:module"), 1);
var import_node_url2 = require("node:url");
var import_node_util3 = __toESM(require("node:util"), 1);
var maxFrames = 50;
var maxChain = 10;
function watchCrashes(agent) {
  process.on("uncaughtExceptionMonitor", (error) => {
    try {
      const { recorder } = agent;
      recorder.t(error, 1);
      if (process.listenerCount("uncaughtException") > 0 || process.hasUncaughtExceptionCaptureCallback()) return;
      tell(agent, error);
      if (!agent.bun && !agent.deno) keepExcerpt(agent);
    } catch {
    }
  });
}
function tell(agent, error) {
  const { recorder } = agent;
  recorder.busy = true;
  if (recorder.begin() === 0) return;
  const stack = import_node_util3.default.types.isNativeError(error) || error instanceof Error ? String(error.stack) : "";
  let crash = { ...describe(error), language: "javascript", chain: chainOf(error), frames: framesOf(agent, stack), thread: "main" };
  let text = stringify(crash);
  if (text.length > payloadRoom >> 1) text = stringify({ ...crash, message: crash.message.slice(0, 1e3), chain: crash.chain.slice(0, 3), frames: crash.frames.slice(0, 20) });
  writeRaw(text.replace(/[^\x20-\x7e]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0")));
  recorder.stream.end(kinds.crash, 0, 0, recorder.lane, 0, 0, clock());
  recorder.busy = false;
}
function describe(error) {
  if (error === null || typeof error !== "object") return { type: typeof error, message: String(error).slice(0, 4e3) };
  if (import_node_util3.default.types.isProxy(error)) return { type: "Proxy", message: "" };
  const message = descriptor(error, "message"), prototype = prototypeOf(error);
  const constructor = prototype && descriptor(prototype, "constructor");
  const type = constructor && typeof constructor.value === "function" ? constructor.value.name : "Object";
  return { type, message: message && typeof message.value === "string" ? message.value.slice(0, 4e3) : "" };
}
function chainOf(error) {
  const chain = [];
  for (let e = error; chain.length < maxChain; ) {
    if (e === null || typeof e !== "object" || import_node_util3.default.types.isProxy(e)) break;
    const cause = descriptor(e, "cause");
    if (!cause || !("value" in cause)) break;
    e = cause.value;
    chain.push({ ...describe(e), relation: "cause" });
  }
  return chain;
}
function framesOf(agent, stack) {
  const frames = [];
  for (const line of stack.split("\n")) {
    const m = /^ {4}at (?:(.*) \()?(.*?):(\d+):(\d+)\)?$/.exec(line);
    if (!m || frames.length === maxFrames) continue;
    const file = fileOf(m[2]) || m[2], known = agent.files.byPath.get(file);
    const fn = known && known.names ? functionAt(known, +m[3], +m[4]) : null;
    const name = fn ? `${known.names.module}.${fn.name}` : (m[1] || "<anonymous>").replace(/^async /, "");
    frames.push({ function: name, file, line: +m[3], user: isUserFile(file, agent.root) });
  }
  return frames;
}
function functionAt(file, line, column) {
  const text = file.text();
  let start = 0;
  for (let l = 1; l < line; l++) {
    start = text.indexOf("\n", start) + 1;
    if (start === 0) return null;
  }
  const at3 = start + column - 1;
  let best = null;
  for (const f of file.meta.functions) if (!f.file && f.start <= at3 && at3 < f.end && (!best || f.start >= best.start)) best = f;
  return best;
}
function keepExcerpt(agent) {
  if (agent.options.maps() || !agent.options.setSourceMapsEnabled) return;
  Reflect.apply(agent.options.setSourceMapsEnabled, process, [true]);
  const engine = agent.files.loadEngine();
  nameModules();
  for (const file of agent.files.byPath.values()) {
    if (file.view === null) continue;
    const edits = [];
    for (let i = 0; i < file.meta.edits.length; i += 2) edits.push([file.meta.edits[i], file.meta.edits[i + 1]]);
    const map = engine.identity(file.text(), edits, file.path);
    if (file.meta.module) modules.set(file.path, { toString: scriptName(file.path), text: file.text() });
    const data = Buffer.from(JSON.stringify(map)).toString("base64");
    agent.compile(new import_node_module.default(file.path), `//# sourceMappingURL=data:application/json;base64,${data}`, file.path);
  }
}
var modules = /* @__PURE__ */ new Map();
function scriptName(file) {
  let asked2 = 0;
  return () => asked2++ === 0 ? "" : (0, import_node_url2.pathToFileURL)(file).href;
}
function nameModules() {
  const { SourceMap } = import_node_module.default;
  if (!SourceMap) return;
  const { findEntry } = SourceMap.prototype;
  SourceMap.prototype.findEntry = function(line, column) {
    const entry = Reflect.apply(findEntry, this, [line, column]);
    if (!this.payload || this.payload.file !== "$strobe") return entry;
    const source = modules.get(fileOf(entry.originalSource));
    if (source) {
      Object.defineProperty(this, "payload", { value: { file: "$strobe", sources: [source], sourcesContent: [source.text], mappings: "" } });
      entry.originalSource = source;
    }
    return entry;
  };
}

// src/disguise.js
var { toString } = Function.prototype;
var textOf = (f) => Reflect.apply(toString, f, []);
var marker = /\$strobe_(\w{24})[^\[\n]{0,40}\[(\d+)\]/;
function startOf(file, text, found) {
  const first2 = file.meta.functions[+found[2]], inserted = text.lastIndexOf("let $strobeC=", found.index);
  return first2.at - inserted + (file.text()[first2.at - 1] === "{" ? 0 : 1);
}
function keepText(agent) {
  const original = (f) => {
    const text = textOf(f), found = marker.exec(text);
    const file = found && agent.files && agent.files.byKey.get(found[1]);
    if (!file) return text;
    if (agent.bun) return printed(file, text, +found[2]);
    const at3 = startOf(file, text, found);
    const own = file.meta.functions.find((g) => g.start === at3);
    if (own) return file.text().slice(own.start, own.end);
    const type = file.meta.classes.find((c) => c[0] === at3);
    return type ? file.text().slice(type[0], type[1]) : text;
  };
  const disguised = new Proxy(toString, { apply(target, f, args) {
    if (f === disguised) return textOf(target);
    const text = Reflect.apply(target, f, args);
    return text.includes("$strobe_") ? original(f) : text;
  } });
  Object.defineProperty(Function.prototype, "toString", { value: disguised, writable: true, configurable: true });
}
function namer(agent) {
  const names = /* @__PURE__ */ new WeakMap(), most = 4096;
  const find = (f) => {
    const text = textOf(f).slice(0, most), found = marker.exec(text);
    const file = found && agent.files && agent.files.byKey.get(found[1]);
    if (!file || !file.names || /^class\b/.test(text)) return "";
    const at3 = agent.bun ? file.meta.functions[+found[2]].start : startOf(file, text, found);
    const own = file.meta.functions.find((g) => g.start === at3);
    return own ? `${file.names.module}.${own.name}` : "";
  };
  return (f) => {
    let name = names.get(f);
    if (name === void 0) names.set(f, name = find(f));
    return name;
  };
}
function printed(file, text, id) {
  const f = file.meta.functions[id];
  if (!/^class\b/.test(text)) return file.text().slice(f.start, f.end);
  const around2 = file.meta.classes.filter((c) => c[0] < f.start && f.end <= c[1]).sort((a, b) => b[0] - a[0])[0];
  return around2 ? file.text().slice(around2[0], around2[1]) : text;
}
function placeOf(file, line, column) {
  if (!file.starts) {
    file.starts = [0];
    for (let i = file.code.indexOf("\n"); i >= 0; i = file.code.indexOf("\n", i + 1)) file.starts.push(i + 1);
  }
  const start = file.starts[line - 1];
  if (start === void 0) return [line, column];
  return [line, file.offset(start + column - 1) - file.offset(start) + 1];
}
function keepStacks(agent) {
  const before = Error.prepareStackTrace;
  if (agent.options.maps() || before && before.name !== "ErrorPrepareStackTrace") return;
  const prepare = function ErrorPrepareStackTrace(error, frames) {
    let head;
    try {
      head = Error.prototype.toString.call(error);
    } catch {
      head = "<error>";
    }
    const { raised } = agent, limit2 = Error.stackTraceLimit;
    let text = head, most = limit2 > 0 ? limit2 - (raised && raised.to === limit2 ? raised.by : 0) : Infinity;
    for (const frame of frames) {
      let line = String(frame);
      const name = frame.getFileName();
      if (typeof name === "string" && name.startsWith(agent.own)) {
        text = text.replace(/ Module\.<anonymous> (\([^\n]*)$/, " Module._compile $1");
        continue;
      }
      if (--most < 0) break;
      const file = agent.files.byPath.get(fileOf(name));
      if (file && file.code !== null) {
        const at3 = `${frame.getLineNumber()}:${frame.getColumnNumber()}`, i = line.lastIndexOf(at3);
        if (i >= 0) line = line.slice(0, i) + placeOf(file, frame.getLineNumber(), frame.getColumnNumber()).join(":") + line.slice(i + at3.length);
      }
      text += `
    at ${line}`;
    }
    return text;
  };
  Object.defineProperty(Error, "prepareStackTrace", { value: prepare, writable: true, configurable: true, enumerable: !!before });
  agent.options.onMaps = () => {
    if (Error.prepareStackTrace === prepare) Error.prepareStackTrace = before;
  };
}
// Annotate the CommonJS export names for ESM import in node:
0 && (module.exports = {
  Files,
  Link,
  Recorder,
  Stream,
  clock,
  keepStacks,
  keepText,
  kinds,
  namer,
  useNames,
  watchCrashes
});
