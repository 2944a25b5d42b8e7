var __create = Object.create;
var __defProp = Object.defineProperty;
var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __getProtoOf = Object.getPrototypeOf;
var __hasOwnProp = Object.prototype.hasOwnProperty;
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

// src/control.js
var import_node_net = __toESM(require("node:net"), 1);
var import_node_path2 = __toESM(require("node:path"), 1);
var import_node_worker_threads = __toESM(require("node:worker_threads"), 1);

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
  const at2 = file.lastIndexOf("/node_modules/"), begins = /^[^*?]*/.exec(glob)[0];
  const name = at2 < 0 ? "" : /^(?:@[^/]*\/)?[^/]*/.exec(file.slice(at2 + 14))[0].replace("/", ".") + ".";
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

// src/shared.js
var import_node_fs = __toESM(require("node:fs"), 1);

// src/threads.js
var threads = () => require("node:worker_threads");
var isMainThread = process.versions.bun ? Bun.isMainThread : threads().isMainThread;

// src/shared.js
var { readFileSync } = import_node_fs.default;
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

// src/control.js
function control({ folder, parts, set, hello, descriptor, inspector }) {
  const shared = new Shared(parts, import_node_worker_threads.default.threadId);
  const socket = descriptor >= 0 ? new import_node_net.default.Socket({ fd: descriptor, readable: true, writable: true }) : import_node_net.default.connect(folder + "/control");
  const link = new Link(shared, set, (message, sent) => socket.write((typeof message === "string" ? message : JSON.stringify(message)) + "\n", sent));
  let answer = () => {
  };
  const opened = () => inspector ? Promise.resolve(inspector) : new Promise((resolve) => {
    answer = (given) => resolve(inspector = given);
    import_node_worker_threads.default.parentPort.postMessage({ m: "inspect" });
  });
  link.entered = !!hello.entered && !hello.inspected;
  if (hello.runtime !== "bun") link.loadPoints = (l) => new (require(import_node_path2.default.dirname(__filename) + "/points.cjs")).Points(l, { folder, set, inspected: hello.inspected, inspector: hello.runtime === "deno" ? opened : void 0 });
  if (descriptor < 0) {
    socket.write(JSON.stringify(hello) + "\n");
    if (!link.needsPoints(set)) link.send(link.applied(void 0));
  }
  const end = () => {
    shared.end();
    if (link.points) link.points.end();
    if (inspector && inspector.url) import_node_worker_threads.default.parentPort.postMessage({ m: "close" });
    socket.destroy();
    channel.close();
    if (import_node_worker_threads.default.parentPort.close) import_node_worker_threads.default.parentPort.close();
    else close();
  };
  link.bye = end;
  socket.on("error", end);
  socket.on("close", end);
  let text = "";
  socket.setEncoding("utf8");
  socket.on("data", (data) => {
    text += data;
    for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n")) {
      const line = text.slice(0, i);
      text = text.slice(i + 1);
      try {
        link.receive(JSON.parse(line));
      } catch {
      }
    }
  });
  import_node_worker_threads.default.parentPort.on("message", (m) => m.m === "inspector" ? answer(m.inspector) : link.hear(m));
  const channel = new import_node_worker_threads.default.BroadcastChannel(shared.channel());
  channel.onmessage = (e) => link.hear(e.data);
  if (link.needsPoints(set)) link.setPoints(set.points || [], void 0);
  shared.setReady();
}
control(import_node_worker_threads.default.workerData);
