var __create = Object.create;
var __defProp = Object.defineProperty;
var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __getProtoOf = Object.getPrototypeOf;
var __hasOwnProp = Object.prototype.hasOwnProperty;
var __export = (target, all) => {
  for (var name2 in all)
    __defProp(target, name2, { get: all[name2], enumerable: true });
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

// src/agent.js
var agent_exports = {};
__export(agent_exports, {
  enter: () => enter
});
module.exports = __toCommonJS(agent_exports);
var import_node_fs2 = __toESM(require("node:fs"), 1);
var import_node_path2 = __toESM(require("node:path"), 1);

// src/threads.js
var threads = () => require("node:worker_threads");
var isMainThread = process.versions.bun ? Bun.isMainThread : threads().isMainThread;

// src/shared.js
var import_node_fs = __toESM(require("node:fs"), 1);
var { readFileSync } = import_node_fs.default;
var maxFunctions = 1 << 20;
var maxPoints = 1e3;
var maxWaiting = 64;
var at = { functions: 0, flags: 1, streams: 2, lanes: 3, gen: 4, control: 5, told: 6, points: 7, refs: 8, cut: 9, cutFunctions: 10, placed: 16, hits: 16 + maxWaiting };
var controlStates = { none: 0, asked: 1, ready: 2, gone: 3 };
var environmentKey = "$strobe";
var threadNameKey = "$strobeName";
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

// src/rules.js
var import_node_path = __toESM(require("node:path"), 1);
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
function ofPackage(glob, file) {
  const at2 = file.lastIndexOf("/node_modules/"), begins = /^[^*?]*/.exec(glob)[0];
  const name2 = at2 < 0 ? "" : /^(?:@[^/]*\/)?[^/]*/.exec(file.slice(at2 + 14))[0].replace("/", ".") + ".";
  if (!name2 || !begins.startsWith(name2)) return false;
  const module2 = moduleOf(file, "/") + ".";
  return begins.startsWith(module2) || begins !== glob && module2.startsWith(begins);
}

// src/faults.js
var inspectorIsOpen = "the program's inspector is open (--inspect), and two debuggers would let go on what the other one has paused: run it without";

// src/agent.js
var { writeSync } = import_node_fs2.default;
var name = "$strobe";
var lastWordsMs = 500;
var addon = `segment_${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}.node`;
var Agent = class {
  constructor(folder, set) {
    this.folder = folder;
    this.set = set;
    this.root = set.root || "/";
    this.bun = !!process.versions.bun;
    this.deno = !!process.versions.deno;
    this.files = null;
    this.control = null;
    this.channel = null;
    this.descriptor = -1;
    this.untold = [];
    this.own = import_node_path2.default.dirname(__filename) + "/";
    this.options = options(this);
    this.refusal = coverage();
    if (isMainThread && !this.bun) {
      this.Thread = threads().Worker;
      process.on("worker", () => this.startControl());
    }
  }
  // shared is made at once where workers may be: they find it in their environment. Bun's processes may be short.
  get shared() {
    return this.memory || (this.memory = Shared.ofThread(this.folder));
  }
  wants(file) {
    if (this.refusal || this.memory && this.shared.gone()) return this.refuse(file);
    if (this.files !== null) return this.files.wants(file);
    if (typeof file !== "string" || !import_node_path2.default.isAbsolute(file) || file.startsWith(this.own)) return false;
    if (!isUserFile(file, this.root) && !isMadeOfUserFiles(file) && !this.mayReach(file)) return false;
    return this.ready().wants(file);
  }
  // mayReach is Rules.reaches, or nearly: what has the rules is loaded with the first file that they may take.
  mayReach(file) {
    return (this.set.rules || []).some((r) => r.on === "contains" || r.on === "path" || r.on === "name" && ofPackage(r.glob || "", file));
  }
  // By no hook that the program has put around require meanwhile.
  core() {
    return this.loaded || (this.loaded = (this.load || require)(this.own + "core.cjs"));
  }
  ready() {
    if (this.files === null) this.files = new (this.core()).Files(this.folder, this.set, this.shared, (m) => this.tell(m), this.options);
    return this.files;
  }
  // refuse says hello all the same, where a file would have been instrumented: hello says why it is not.
  refuse(file) {
    if (this.refusal && typeof file === "string" && isUserFile(file, this.root)) this.startControl();
    return false;
  }
  instrumented(text, how) {
    try {
      this.begin();
      return this.files.instrumented(text, how);
    } catch {
      return null;
    }
  }
  // begin starts what the first instrumented file needs.
  begin() {
    if (this.recorder) return;
    const { Recorder, Stream, keepStacks, keepText, namer, useNames, watchCrashes } = this.core();
    const shared = this.shared, number = shared.stream();
    const native = this.loadNative();
    const stream = new Stream(this.folder, `${process.pid}-${shared.nonce}-${number}`, native, this.set.onFull || "wait");
    const thread = { tid: native ? native.tid() : kernelThread(), name: isMainThread ? "main" : threadName() };
    const recorder = this.recorder = new Recorder(stream, thread, shared, (key, loaded) => this.ready().file(key, loaded));
    recorder.tell = (m) => this.tell(m);
    recorder.loadViews = (r) => require(this.own + "views.cjs").views(r);
    this.thrown = (error, how) => recorder.t(error, how);
    this.shareWith(globalThis);
    if (this.began) return this.startControl();
    this.began = true;
    keepText(this);
    useNames(namer(this));
    if (!this.bun && !this.deno) keepStacks(this);
    if (isMainThread) watchCrashes(this);
    if (!isMainThread) process.on("exit", () => this.end());
    this.startControl();
  }
  // reenter: another session comes behind one that has gone. What stands in the program stays, and does what this says.
  reenter(folder, set) {
    this.folder = folder;
    this.set = set;
    this.root = set.root || "/";
    this.memory = this.shared.again(folder);
    this.recorder = this.control = null;
    this.descriptor = -1;
    this.untold.length = 0;
    if (this.files) this.files.again(folder, set, this.memory);
  }
  loadNative() {
    if (this.native !== void 0) return this.native;
    try {
      const module2 = { exports: {} };
      process.dlopen(module2, this.own + addon);
      return this.native = module2.exports;
    } catch {
      return this.native = null;
    }
  }
  // shareWith makes the recorder known in a realm: the instrumented texts look for it there.
  shareWith(realm) {
    try {
      if (this.recorder) {
        Object.defineProperty(realm, name, { value: this.recorder, configurable: true });
        Object.defineProperty(realm, name + "_t", { value: this.thrown, configurable: true });
        if (this.commonJS) Object.defineProperty(realm, name + "CommonJS", { value: this.commonJS, configurable: true });
        return;
      }
      const agent = this;
      const lazily = (property, of) => Object.defineProperty(realm, property, { configurable: true, get() {
        agent.begin();
        agent.shareWith(realm);
        return of(agent);
      } });
      lazily(name, (a) => a.recorder);
      lazily(name + "_t", (a) => a.thrown);
    } catch {
    }
  }
  // end is the thread's: its stream ends, and where it is the process's strobe hears what there was, even if the control
  // thread has hardly begun.
  end() {
    const { recorder } = this;
    try {
      if (recorder && recorder.own !== 0) {
        const { clock, kinds } = this.core();
        recorder.busy = false;
        if (recorder.begin() !== 0) recorder.stream.end(kinds.end, 0, 0, 0, 0, 0, clock());
      }
      if (this.control === null || this.shared.gone()) return;
      if (this.descriptor >= 0 && !this.shared.ready()) return this.applied();
      this.control.postMessage({ m: "end" });
      this.shared.waitTold(lastWordsMs);
    } catch {
    }
  }
  // startControl says hello, and leaves the connection to a thread of its own.
  startControl() {
    if (!isMainThread || !this.shared.askControl()) return;
    const points = !this.bun && (this.set.points || []).length > 0;
    if (points) this.shared.setHasPoints(true);
    this.connect();
    const env = this.deno ? {} : { ...process.env, NODE_OPTIONS: "", BUN_OPTIONS: "" };
    if (!this.deno) delete env.NODE_V8_COVERAGE;
    const data = {
      $strobe: true,
      folder: this.folder,
      parts: this.shared.parts,
      set: this.set,
      hello: this.hello,
      descriptor: this.descriptor,
      inspector: this.deno && points ? this.openInspector() : void 0
    };
    const thread = new (this.Thread || threads().Worker)(this.own + "control.cjs", {
      workerData: data,
      env,
      execArgv: [],
      argv: [],
      name: "strobe",
      resourceLimits: this.bun ? void 0 : { maxYoungGenerationSizeMb: 8 }
    });
    const { shared } = this;
    thread.on("error", () => shared.end());
    if (this.deno) thread.on("message", (m) => m.m === "close" ? this.inspector.close() : thread.postMessage({ m: "inspector", inspector: this.openInspector() }));
    thread.unref();
    this.control = thread;
    if (!this.ends) process.on("exit", () => this.end());
    this.ends = true;
  }
  // openInspector gives {url}, or {problem}.
  openInspector() {
    try {
      const inspector = this.inspector = require("node:inspector");
      if (inspector.url()) return { problem: inspectorIsOpen };
      inspector.open(0, "127.0.0.1");
      return { url: inspector.url() };
    } catch (e) {
      return { problem: `Deno opens no inspector: ${e.message}` };
    }
  }
  connect() {
    const runtime = this.bun ? "bun" : this.deno ? "deno" : "node";
    this.hello = {
      m: "hello",
      v: 1,
      runtime,
      version: process.versions[runtime],
      pid: process.pid,
      ppid: process.ppid,
      nonce: this.shared.nonce,
      exe: process.execPath,
      argv: process.argv,
      backend: "source",
      can: this.refusal ? [] : runtime === "bun" ? ["trace"] : ["trace", "points"],
      cannot: this.refusal || void 0,
      entered: this.entered,
      inspected: this.inspected
    };
    const native = this.loadNative();
    this.descriptor = native && runtime === "node" && !this.entered ? native.connect(this.folder + "/control") : -1;
    if (this.descriptor < 0) return;
    writeSync(this.descriptor, JSON.stringify(this.hello) + "\n");
    this.applied();
  }
  // applied tells what there is so far, in the control thread's place.
  applied() {
    const link = new (this.core()).Link(this.shared, this.set, (message) => writeSync(this.descriptor, JSON.stringify(message) + "\n"));
    for (const m of this.untold) link.learn(m);
    link.send(link.applied(void 0));
  }
  // tell sends to the control thread: from the first thread straight, from others once it listens.
  tell(message) {
    if (isMainThread) {
      this.startControl();
      this.untold.push(message);
      if (this.shared.ready()) this.untold.length = 0;
      if (this.control) this.control.postMessage(message);
      return;
    }
    if (this.channel === null) {
      if (!this.shared.waitReady(3e3)) return;
      this.channel = new (threads()).BroadcastChannel(this.shared.channel());
      if (this.channel.unref) this.channel.unref();
    }
    this.channel.postMessage(message);
  }
};
function options(agent) {
  let mapsByProgram = /--enable-source-maps/.test(`${process.execArgv} ${process.env.NODE_OPTIONS}`);
  const { setSourceMapsEnabled } = process;
  const options2 = {
    finallyMode: !agent.deno && !underRunner(),
    load: (file) => (agent.load || require)(file),
    maps: () => mapsByProgram || agent.deno,
    setSourceMapsEnabled,
    onMaps: () => {
    },
    plain: () => ({ finallyMode: options2.finallyMode, maps: options2.maps() })
  };
  if (setSourceMapsEnabled) {
    process.setSourceMapsEnabled = function(on) {
      mapsByProgram = !!on;
      if (on) options2.onMaps();
      return Reflect.apply(setSourceMapsEnabled, this, [on]);
    };
  }
  return options2;
}
function underRunner() {
  if (process.versions.bun) return false;
  return !!process.env.NODE_TEST_CONTEXT || !!process.env.JEST_WORKER_ID || !!process.env.VITEST || process.execArgv.some((a) => a.startsWith("--test")) || /\/node_modules\/(?:\.bin\/)?(?:mocha|jest|vitest|ava|tap|jasmine|uvu|@japa)\b/.test(process.argv[1] || "");
}
function coverage() {
  if (process.env.NODE_V8_COVERAGE) return "NODE_V8_COVERAGE is set: instrumented functions would count as other code in the coverage. Run without it to trace";
  if (process.execArgv.some((a) => a.startsWith("--experimental-test-coverage"))) return "--experimental-test-coverage is set: instrumented functions would count as other code in the coverage. Run without it to trace";
  return "";
}
function threadName() {
  const { threadName: threadName2, threadId, getEnvironmentData } = threads();
  const name2 = threadName2 || getEnvironmentData(threadNameKey);
  return name2 && name2 !== "WorkerThread" ? name2 : `worker ${threadId}`;
}
function kernelThread() {
  try {
    return +require("node:fs").readlinkSync("/proc/thread-self").split("/").pop();
  } catch {
    return 0;
  }
}
function restore(bun) {
  const was = process.env.STROBE_AGENT_WAS;
  if (was === void 0) return;
  const variable = bun ? "BUN_INSPECT_PRELOAD" : "NODE_OPTIONS";
  delete process.env.STROBE_AGENT_WAS;
  delete process.env.STROBE_AGENT;
  if (was === "") delete process.env[variable];
  else process.env[variable] = was.slice(was.indexOf("=") + 1);
}
function enter(folder, inspected) {
  const { writeFileSync } = import_node_fs2.default, set = readSet(folder), before = globalThis[name + "Agent"];
  writeFileSync(folder + "/inside", "");
  if (!set) return;
  const agent = before && before.reenter ? before : new Agent(folder, set);
  agent.entered = true;
  agent.inspected = !!inspected;
  if (agent === before) agent.reenter(folder, set);
  else {
    Object.defineProperty(globalThis, name + "Agent", { value: agent, configurable: true });
    void agent.shared;
    require(agent.own + "hooks.cjs").install(agent);
  }
  agent.ready();
  agent.begin();
}
function start() {
  if (globalThis[name + "Agent"] || !isMainThread && threads().workerData && threads().workerData.$strobe) return;
  const folder = Shared.folderOfThread() || process.env.STROBE_AGENT;
  const set = folder && readSet(folder);
  if (isMainThread) restore(!!process.versions.bun);
  if (!set) return;
  const agent = new Agent(folder, set);
  Object.defineProperty(globalThis, name + "Agent", { value: agent, configurable: true });
  if (agent.bun) return require(agent.own + "bun.cjs").installBun(agent);
  void agent.shared;
  require(agent.own + "hooks.cjs").install(agent);
}
try {
  start();
} catch {
}
// Annotate the CommonJS export names for ESM import in node:
0 && (module.exports = {
  enter
});
