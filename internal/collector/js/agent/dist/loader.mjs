import { createRequire as $createRequire } from 'node:module';
import { fileURLToPath as $pathOf } from 'node:url';
const require = $createRequire(import.meta.url), __filename = $pathOf(import.meta.url);
var __require = /* @__PURE__ */ ((x) => typeof require !== "undefined" ? require : typeof Proxy !== "undefined" ? new Proxy(x, {
  get: (a, b) => (typeof require !== "undefined" ? require : a)[b]
}) : x)(function(x) {
  if (typeof require !== "undefined") return require.apply(this, arguments);
  throw Error('Dynamic require of "' + x + '" is not supported');
});

// src/files.js
import fs2 from "node:fs";
import path3 from "node:path";

// src/rules.js
import path from "node:path";
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
  let at2 = /* @__PURE__ */ new Set([0]);
  for (const part of parts) {
    const next = /* @__PURE__ */ new Set();
    if (part === any || part === between) {
      if (part === between) for (const i of at2) next.add(i);
      for (let i = Math.min(...at2); i <= name.length; i++) {
        if (part === any) next.add(i);
        else if (name[i] === separator) next.add(i + 1);
      }
    } else {
      for (let i of at2) {
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
    at2 = next;
  }
  return at2.has(name.length);
}
function isUserFile(file, root) {
  return file.startsWith(root.endsWith("/") ? root : root + "/") && !file.includes("/node_modules/", root.length);
}
function isMadeOfUserFiles(file) {
  return file.includes("/node_modules/.vite-temp/");
}
function moduleOf(file, root) {
  const packages = file.lastIndexOf("/node_modules/");
  const below = packages >= 0 ? file.slice(packages + 14) : isUserFile(file, root) ? path.relative(root, file) : path.basename(file);
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
  const at2 = file.lastIndexOf("/node_modules/"), begins = /^[^*?]*/.exec(glob)[0];
  const name = at2 < 0 ? "" : /^(?:@[^/]*\/)?[^/]*/.exec(file.slice(at2 + 14))[0].replace("/", ".") + ".";
  if (!name || !begins.startsWith(name)) return false;
  const module = moduleOf(file, "/") + ".";
  return begins.startsWith(module) || begins !== glob && module.startsWith(begins);
}
function matchedFrom(names, from, bundled, root) {
  if (!from || from === names.path) return names;
  return bundled || isMadeOfUserFiles(names.path) ? matched(from, root, names.main) : { ...names, path: from };
}
function matched(file, root, main) {
  return { path: file, module: moduleOf(file, root), base: path.basename(file).replace(/\.[cm]?[jt]sx?$/, ""), main };
}

// src/scripts.js
import path2 from "node:path";
import { fileURLToPath } from "node:url";
function fileOf(name) {
  if (typeof name !== "string") return "";
  try {
    if (name.startsWith("file:")) return fileURLToPath(name.split(/[?#]/)[0]);
  } catch {
    return "";
  }
  return path2.isAbsolute(name) ? name.split("?")[0] : "";
}
function compiled(file) {
  return file.replace(/\.([cm]?)ts(x?)$/, ".$1js$2");
}
function textOf(source) {
  if (typeof source === "string") return source;
  return Buffer.from(source.buffer || source, source.byteOffset, source.byteLength).toString("utf8");
}

// src/shared.js
import fs from "node:fs";

// src/threads.js
var threads = () => __require("node:worker_threads");
var isMainThread = process.versions.bun ? Bun.isMainThread : threads().isMainThread;

// src/shared.js
var { readFileSync } = fs;
var maxFunctions = 1 << 20;
var maxPoints = 1e3;
var maxWaiting = 64;
var at = { functions: 0, flags: 1, streams: 2, lanes: 3, gen: 4, control: 5, told: 6, points: 7, refs: 8, cut: 9, cutFunctions: 10, placed: 16, hits: 16 + maxWaiting };
var controlStates = { none: 0, asked: 1, ready: 2, gone: 3 };
var environmentKey = "$strobe";
var Shared = class _Shared {
  // The first thread makes it; the others find it in their environment data.
  static ofThread(folder) {
    let parts = isMainThread ? void 0 : threads().getEnvironmentData(environmentKey);
    if (!parts) {
      parts = { folder, flags: new SharedArrayBuffer(maxFunctions), counters: new SharedArrayBuffer(4 * (at.hits + 2 * maxPoints)), nonce: nonce() };
      threads().setEnvironmentData(environmentKey, parts);
    }
    return new _Shared(parts, threads().threadId);
  }
  // again is for another session: what the flags belong to stays.
  again(folder) {
    const parts = { folder, flags: this.parts.flags, counters: new SharedArrayBuffer(4 * (at.hits + 2 * maxPoints)), nonce: nonce() }, shared = new _Shared(parts, this.thread);
    Atomics.store(shared.counters, at.flags, Atomics.load(this.counters, at.flags));
    threads().setEnvironmentData(environmentKey, parts);
    return shared;
  }
  // folderOfThread is the folder that the first thread's environment named: a program can give others another one.
  static folderOfThread() {
    const parts = isMainThread ? void 0 : threads().getEnvironmentData(environmentKey);
    return parts && parts.folder;
  }
  constructor(parts, thread) {
    this.parts = parts;
    this.flags = new Uint8Array(parts.flags);
    this.counters = new Int32Array(parts.counters);
    this.nonce = parts.nonce;
    this.thread = thread;
  }
  channel() {
    return `$strobe-${this.nonce}`;
  }
  function() {
    return Atomics.add(this.counters, at.functions, 1) + 1;
  }
  lane() {
    return Atomics.add(this.counters, at.lanes, 1) + 1;
  }
  stream() {
    return Atomics.add(this.counters, at.streams, 1) + 1;
  }
  gen() {
    return Atomics.load(this.counters, at.gen);
  }
  setGen(gen) {
    Atomics.store(this.counters, at.gen, gen);
  }
  // Calls whose values were told briefly, and the functions that had such.
  addCut(calls, functions) {
    Atomics.add(this.counters, at.cut, calls);
    if (functions > 0) Atomics.add(this.counters, at.cutFunctions, functions);
  }
  cut() {
    const calls = Atomics.load(this.counters, at.cut);
    return calls === 0 ? void 0 : { calls, functions: Atomics.load(this.counters, at.cutFunctions), most: [] };
  }
  ref() {
    return Atomics.add(this.counters, at.refs, 1) + 1;
  }
  // There are points: a file's functions do not run before those in it are set.
  hasPoints() {
    return Atomics.load(this.counters, at.points) !== 0;
  }
  setHasPoints(on) {
    Atomics.store(this.counters, at.points, on ? 1 : 0);
  }
  // A thread waits, in which the debugger is served all the same, until the control thread has set the points in a file.
  awaitPlaced(tell, ms) {
    const slot = at.placed + (this.thread & maxWaiting - 1);
    Atomics.store(this.counters, slot, 1);
    tell();
    if (!this.gone()) Atomics.wait(this.counters, slot, 1, ms);
  }
  setPlaced(thread) {
    const slot = at.placed + (thread & maxWaiting - 1);
    Atomics.store(this.counters, slot, 0);
    Atomics.notify(this.counters, slot);
  }
  // What points count, over all threads: slots are theirs in turn. firstFailure is true once.
  slotOf(n) {
    return n % maxPoints;
  }
  hit(slot) {
    return Atomics.add(this.counters, at.hits + 2 * slot, 1) + 1;
  }
  hits(slot) {
    return Atomics.load(this.counters, at.hits + 2 * slot);
  }
  firstFailure(slot) {
    return Atomics.exchange(this.counters, at.hits + 2 * slot + 1, 1) === 0;
  }
  clearSlot(slot) {
    Atomics.store(this.counters, at.hits + 2 * slot, 0);
    Atomics.store(this.counters, at.hits + 2 * slot + 1, 0);
  }
  takeFlags(n) {
    const base = Atomics.add(this.counters, at.flags, n);
    return base + n > maxFunctions ? -1 : base;
  }
  gone() {
    return Atomics.load(this.counters, at.control) === controlStates.gone;
  }
  // askControl is true for the one that asks first.
  askControl() {
    return Atomics.compareExchange(this.counters, at.control, controlStates.none, controlStates.asked) === controlStates.none;
  }
  setReady() {
    Atomics.compareExchange(this.counters, at.control, controlStates.asked, controlStates.ready);
    Atomics.notify(this.counters, at.control);
  }
  ready() {
    return Atomics.load(this.counters, at.control) === controlStates.ready;
  }
  // waitReady waits until the control thread hears what is sent to it.
  waitReady(ms) {
    const before = Atomics.load(this.counters, at.control);
    if (before === controlStates.asked || before === controlStates.none) Atomics.wait(this.counters, at.control, before, ms);
    return Atomics.load(this.counters, at.control) === controlStates.ready;
  }
  // setTold: strobe has all that the control thread had to tell. waitTold waits for it.
  setTold() {
    Atomics.store(this.counters, at.told, 1);
    Atomics.notify(this.counters, at.told);
  }
  waitTold(ms) {
    Atomics.wait(this.counters, at.told, 0, ms);
  }
  // end takes everything out: strobe is gone, or has said bye.
  end() {
    Atomics.store(this.counters, at.control, controlStates.gone);
    Atomics.notify(this.counters, at.control);
    this.setTold();
    this.setHasPoints(false);
    for (let i = 0; i < maxWaiting; i++) this.setPlaced(i);
    this.flags.fill(0);
  }
};
function nonce() {
  const words = [process.pid ^ Date.now() << 10, process.hrtime()[1] ^ Date.now() / 4194304];
  return words.map((w) => (w >>> 0).toString(16).padStart(8, "0")).join("");
}
function readSet(folder) {
  try {
    return JSON.parse(readFileSync(folder + "/start.json", "utf8"));
  } catch {
    return null;
  }
}

// src/values.js
import util from "node:util";

// src/intrinsics.js
var apply = Reflect.apply;
var descriptor = Object.getOwnPropertyDescriptor;
var prototypeOf = Object.getPrototypeOf;
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
  const source = getter(RegExp.prototype, "source"), flags = getter(RegExp.prototype, "flags");
  return (v) => `/${apply(source, v, [])}/${apply(flags, v, [])}`;
})();
var typedLength = getter(typedArray, "length");
var typedTag = getter(typedArray, Symbol.toStringTag);
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
var classes = { Request: ["method", "url"], Response: ["status", "url"] };
var globals = {};
for (const name in classes) globals[name] = descriptor(globalThis, name);

// src/values.js
var types = util.types;
var maxPayload = 16 << 10;
var maxText = 1024;
var maxBigint = 1n << 4096n;
var payloadRoom = maxPayload + 2 * maxText;
var bytes = new Uint8Array(0);
var buffer = Buffer.alloc(0);
var scratch = new Uint8Array(maxText);
var encoder = new TextEncoder();
function constant(text) {
  return encoder.encode(text);
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

// src/files.js
var { readFileSync: readFileSync2, writeFileSync, renameSync, mkdirSync } = fs2;
var pointsWithinMs = 5e3;
var Function = class {
  constructor(file, id, all) {
    const f = file.meta.functions[id];
    this.file = file;
    this.all = all;
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
    const f = this.file.meta.functions[this.id], { module } = this.all.matchedOf(this.file, f);
    return { name: `${module}.${f.name}`, file: f.file || this.file.path, line: f.line, module, language: "javascript", params: f.params, kind: f.kind };
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
      let text = "", at2 = 0, from = 0;
      for (let i = 0; i < edits.length; i += 2) {
        text += this.code.slice(from, from + edits[i] - at2);
        from += edits[i] - at2 + edits[i + 1];
        at2 = edits[i];
      }
      this.original = text + this.code.slice(from, codeLength);
    }
    return this.original;
  }
  // offset is the place in the user's text of a place in the instrumented one; placed the other way.
  offset(at2) {
    const { edits } = this.meta;
    let shift = 0;
    for (let i = 0; i < edits.length; i += 2) {
      const start = edits[i] + shift;
      if (at2 < start) break;
      if (at2 < start + edits[i + 1]) return edits[i];
      shift += edits[i + 1];
    }
    return at2 - shift;
  }
};
var Files = class {
  // set is the message of start.json; shared the process's memory; tell sends to the control thread.
  constructor(folder, set, shared, tell, options) {
    this.folder = folder;
    this.rules = new Rules(set);
    this.shared = shared;
    this.tell = tell;
    this.options = options;
    this.byKey = /* @__PURE__ */ new Map();
    this.byPath = /* @__PURE__ */ new Map();
    this.refused = [];
    this.engine = null;
    this.own = path3.dirname(__filename) + "/";
  }
  // refresh takes the rules that came while the program ran.
  refresh() {
    if (this.shared.gen() === this.rules.gen) return;
    const set = readSet(this.folder);
    if (set) this.rules = new Rules(set);
  }
  // wants says whether a file is instrumented.
  wants(file) {
    if (typeof file !== "string" || !path3.isAbsolute(file) || file.startsWith(this.own) || this.shared.gone()) return false;
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
    return this.engine || (this.engine = (this.options.load || __require)(this.own + "transform.cjs"));
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
    view.functions = functions.map((f, id) => new Function(file, id, this));
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
    const own = path3.dirname(this.own + "x");
    return /^[0-9a-f]{16}$/.test(path3.basename(own)) ? [own + "/texts", this.folder + "/js"] : [this.folder + "/js"];
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

// src/loader.js
var files = null;
var turn = 0;
var latest = /* @__PURE__ */ Symbol.for("$strobe.turn");
async function initialize({ folder, parts, options, turn: mine }) {
  globalThis[latest] = turn = mine;
  const set = readSet(folder);
  if (set) files = new Files(folder, set, new Shared(parts, -1), () => {
  }, { finallyMode: options.finallyMode, maps: () => options.maps });
}
async function load(url, context, next) {
  const loaded = await next(url, context);
  try {
    const file = turn === globalThis[latest] && loaded.format === "module" && loaded.source && fileOf(url);
    if (!file || !files || !files.wants(file)) return loaded;
    const code = files.instrumented(textOf(loaded.source), { file, language: compiled(file), sourceType: "module" });
    return code === null ? loaded : { ...loaded, source: code };
  } catch {
    return loaded;
  }
}
export {
  initialize,
  load
};
