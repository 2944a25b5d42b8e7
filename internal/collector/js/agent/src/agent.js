// The agent's beginning, in every thread of a program that Node, Deno or Bun runs: it is loaded before the program,
// and does next to nothing until a file of the user's is. docs/agentlink.md says what it speaks.
import fs from 'node:fs';
import path from 'node:path';
import { isMainThread, threads } from './threads.js';
import { Shared, readSet, threadNameKey } from './shared.js';
import { isMadeOfUserFiles, isUserFile, ofPackage } from './rules.js';
import { inspectorIsOpen } from './faults.js';

const { writeSync } = fs;
const name = '$strobe', lastWordsMs = 500;
const addon = `segment_${process.platform}_${process.arch === 'x64' ? 'amd64' : process.arch}.node`;

class Agent {
  constructor(folder, set) {
    this.folder = folder;
    this.set = set;
    this.root = set.root || '/';
    this.bun = !!process.versions.bun;
    this.deno = !!process.versions.deno;
    this.files = null;
    this.control = null;
    this.channel = null;
    this.descriptor = -1;
    this.untold = [];       // of the files that the control thread, which is not up yet, will hear of
    this.own = path.dirname(__filename) + '/';
    this.options = options(this);
    this.refusal = coverage();
    if (isMainThread && !this.bun) {
      this.Thread = threads().Worker;
      process.on('worker', () => this.startControl());
    }
  }

  // shared is made at once where workers may be: they find it in their environment. Bun's processes may be short.
  get shared() { return this.memory || (this.memory = Shared.ofThread(this.folder)); }

  wants(file) {
    if (this.refusal || this.memory && this.shared.gone()) return this.refuse(file);
    if (this.files !== null) return this.files.wants(file);
    if (typeof file !== 'string' || !path.isAbsolute(file) || file.startsWith(this.own)) return false;
    if (!isUserFile(file, this.root) && !isMadeOfUserFiles(file) && !this.mayReach(file)) return false;
    return this.ready().wants(file);
  }

  // mayReach is Rules.reaches, or nearly: what has the rules is loaded with the first file that they may take.
  mayReach(file) {
    return (this.set.rules || []).some(r => r.on === 'contains' || r.on === 'path' || r.on === 'name' && ofPackage(r.glob || '', file));
  }

  // By no hook that the program has put around require meanwhile.
  core() { return this.loaded || (this.loaded = (this.load || require)(this.own + 'core.cjs')); }

  ready() {
    if (this.files === null) this.files = new (this.core().Files)(this.folder, this.set, this.shared, m => this.tell(m), this.options);
    return this.files;
  }

  // refuse says hello all the same, where a file would have been instrumented: hello says why it is not.
  refuse(file) {
    if (this.refusal && typeof file === 'string' && isUserFile(file, this.root)) this.startControl();
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
    const stream = new Stream(this.folder, `${process.pid}-${shared.nonce}-${number}`, native, this.set.onFull || 'wait');
    const thread = { tid: native ? native.tid() : kernelThread(), name: isMainThread ? 'main' : threadName() };
    const recorder = this.recorder = new Recorder(stream, thread, shared, (key, loaded) => this.ready().file(key, loaded));
    recorder.tell = m => this.tell(m);
    recorder.loadViews = r => require(this.own + 'views.cjs').views(r);
    this.thrown = (error, how) => recorder.t(error, how);
    this.shareWith(globalThis);
    if (this.began) return this.startControl();
    this.began = true;
    keepText(this);
    useNames(namer(this));
    if (!this.bun && !this.deno) keepStacks(this);
    if (isMainThread) watchCrashes(this);
    if (!isMainThread) process.on('exit', () => this.end());
    this.startControl();
  }

  // reenter: another session comes behind one that has gone. What stands in the program stays, and does what this says.
  reenter(folder, set) {
    this.folder = folder;
    this.set = set;
    this.root = set.root || '/';
    this.memory = this.shared.again(folder);
    this.recorder = this.control = null;
    this.descriptor = -1;
    this.untold.length = 0;
    if (this.files) this.files.again(folder, set, this.memory);
  }

  loadNative() {
    if (this.native !== undefined) return this.native;
    try {
      const module = { exports: {} };
      process.dlopen(module, this.own + addon);
      return this.native = module.exports;
    } catch {
      return this.native = null;   // addons are refused, or there is none for this machine: records go by system calls
    }
  }

  // shareWith makes the recorder known in a realm: the instrumented texts look for it there.
  shareWith(realm) {
    try {
      if (this.recorder) {
        Object.defineProperty(realm, name, { value: this.recorder, configurable: true });
        Object.defineProperty(realm, name + '_t', { value: this.thrown, configurable: true });
        if (this.commonJS) Object.defineProperty(realm, name + 'CommonJS', { value: this.commonJS, configurable: true });
        return;
      }
      const agent = this;
      const lazily = (property, of) => Object.defineProperty(realm, property, { configurable: true, get() {
        agent.begin();
        agent.shareWith(realm);
        return of(agent);
      } });
      lazily(name, a => a.recorder);
      lazily(name + '_t', a => a.thrown);
    } catch {
      // A realm that takes nothing is not traced.
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
      this.control.postMessage({ m: 'end' });
      this.shared.waitTold(lastWordsMs);
    } catch {
      // Whoever reads sees that the process is gone.
    }
  }

  // startControl says hello, and leaves the connection to a thread of its own.
  startControl() {
    if (!isMainThread || !this.shared.askControl()) return;
    const points = !this.bun && (this.set.points || []).length > 0;
    if (points) this.shared.setHasPoints(true);
    this.connect();
    const env = this.deno ? {} : { ...process.env, NODE_OPTIONS: '', BUN_OPTIONS: '' };
    if (!this.deno) delete env.NODE_V8_COVERAGE;
    const data = { $strobe: true, folder: this.folder, parts: this.shared.parts, set: this.set, hello: this.hello, descriptor: this.descriptor,
      inspector: this.deno && points ? this.openInspector() : undefined };
    const thread = new (this.Thread || threads().Worker)(this.own + 'control.cjs', { workerData: data, env, execArgv: [], argv: [], name: 'strobe',
      resourceLimits: this.bun ? undefined : { maxYoungGenerationSizeMb: 8 } });
    const { shared } = this;
    thread.on('error', () => shared.end());
    // Deno's debugger can be spoken with from outside only: its first thread has to open it.
    if (this.deno) thread.on('message', m => m.m === 'close' ? this.inspector.close() : thread.postMessage({ m: 'inspector', inspector: this.openInspector() }));
    thread.unref();   // behind that: it keeps nobody alive
    this.control = thread;
    if (!this.ends) process.on('exit', () => this.end());
    this.ends = true;
  }

  // openInspector gives {url}, or {problem}.
  openInspector() {
    try {
      const inspector = this.inspector = require('node:inspector');
      if (inspector.url()) return { problem: inspectorIsOpen };
      inspector.open(0, '127.0.0.1');
      return { url: inspector.url() };
    } catch (e) {
      return { problem: `Deno opens no inspector: ${e.message}` };
    }
  }

  connect() {
    const runtime = this.bun ? 'bun' : this.deno ? 'deno' : 'node';
    this.hello = { m: 'hello', v: 1, runtime, version: process.versions[runtime], pid: process.pid, ppid: process.ppid, nonce: this.shared.nonce,
      exe: process.execPath, argv: process.argv, backend: 'source', can: this.refusal ? [] : runtime === 'bun' ? ['trace'] : ['trace', 'points'], cannot: this.refusal || undefined,
      entered: this.entered, inspected: this.inspected };
    const native = this.loadNative();
    // Bun and Deno make no socket of a descriptor: there the control thread connects.
    this.descriptor = native && runtime === 'node' && !this.entered ? native.connect(this.folder + '/control') : -1;
    if (this.descriptor < 0) return;
    writeSync(this.descriptor, JSON.stringify(this.hello) + '\n');
    this.applied();
  }

  // applied tells what there is so far, in the control thread's place.
  applied() {
    const link = new (this.core().Link)(this.shared, this.set, message => writeSync(this.descriptor, JSON.stringify(message) + '\n'));
    for (const m of this.untold) link.learn(m);
    link.send(link.applied(undefined));
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
      if (!this.shared.waitReady(3000)) return;
      this.channel = new (threads().BroadcastChannel)(this.shared.channel());
      if (this.channel.unref) this.channel.unref();
    }
    this.channel.postMessage(message);
  }
}

// options says how texts are instrumented in this process.
function options(agent) {
  let mapsByProgram = /--enable-source-maps/.test(`${process.execArgv} ${process.env.NODE_OPTIONS}`);
  const { setSourceMapsEnabled } = process;
  const options = { finallyMode: !agent.deno && !underRunner(), load: file => (agent.load || require)(file), maps: () => mapsByProgram || agent.deno, setSourceMapsEnabled, onMaps: () => {},
    plain: () => ({ finallyMode: options.finallyMode, maps: options.maps() }) };
  if (setSourceMapsEnabled) {
    process.setSourceMapsEnabled = function (on) {
      mapsByProgram = !!on;
      if (on) options.onMaps();
      return Reflect.apply(setSourceMapsEnabled, this, [on]);
    };
  }
  return options;
}

// underRunner: what tests throw is caught by their runner, so a rethrow of ours shows in no report, and what every
// exception is can be recorded.
function underRunner() {
  if (process.versions.bun) return false;
  return !!process.env.NODE_TEST_CONTEXT || !!process.env.JEST_WORKER_ID || !!process.env.VITEST || process.execArgv.some(a => a.startsWith('--test'))
    || /\/node_modules\/(?:\.bin\/)?(?:mocha|jest|vitest|ava|tap|jasmine|uvu|@japa)\b/.test(process.argv[1] || '');
}

// coverage is the reason why nothing is instrumented where V8 counts what ran: our text would be counted, too.
function coverage() {
  if (process.env.NODE_V8_COVERAGE) return 'NODE_V8_COVERAGE is set: instrumented functions would count as other code in the coverage. Run without it to trace';
  if (process.execArgv.some(a => a.startsWith('--experimental-test-coverage'))) return '--experimental-test-coverage is set: instrumented functions would count as other code in the coverage. Run without it to trace';
  return '';
}

function threadName() {
  const { threadName, threadId, getEnvironmentData } = threads();
  const name = threadName || getEnvironmentData(threadNameKey);
  return name && name !== 'WorkerThread' ? name : `worker ${threadId}`;
}

function kernelThread() {
  try {
    return +require('node:fs').readlinkSync('/proc/thread-self').split('/').pop();
  } catch {
    return 0;
  }
}

// restore gives the program the environment that it would have had: whoever started it gives its children ours.
function restore(bun) {
  const was = process.env.STROBE_AGENT_WAS;
  if (was === undefined) return;
  const variable = bun ? 'BUN_INSPECT_PRELOAD' : 'NODE_OPTIONS';
  delete process.env.STROBE_AGENT_WAS;
  delete process.env.STROBE_AGENT;
  if (was === '') delete process.env[variable];
  else process.env[variable] = was.slice(was.indexOf('=') + 1);
}

// enter brings the agent into a program that runs: what it has loaded is seen by the debugger alone (loaded.js).
// inspected: that is another's.
export function enter(folder, inspected) {
  const { writeFileSync } = fs, set = readSet(folder), before = globalThis[name + 'Agent'];
  writeFileSync(folder + '/inside', '');
  if (!set) return;
  const agent = before && before.reenter ? before : new Agent(folder, set);
  agent.entered = true;
  agent.inspected = !!inspected;
  if (agent === before) agent.reenter(folder, set);
  else {
    Object.defineProperty(globalThis, name + 'Agent', { value: agent, configurable: true });
    void agent.shared;
    require(agent.own + 'hooks.cjs').install(agent);
  }
  agent.ready();
  agent.begin();
}

function start() {
  if (globalThis[name + 'Agent'] || !isMainThread && threads().workerData && threads().workerData.$strobe) return;
  const folder = Shared.folderOfThread() || process.env.STROBE_AGENT;
  const set = folder && readSet(folder);
  if (isMainThread) restore(!!process.versions.bun);
  if (!set) return;
  const agent = new Agent(folder, set);
  Object.defineProperty(globalThis, name + 'Agent', { value: agent, configurable: true });
  if (agent.bun) return require(agent.own + 'bun.cjs').installBun(agent);
  void agent.shared;
  require(agent.own + 'hooks.cjs').install(agent);
}

try {
  start();
} catch {
  // Nothing of ours reaches the program.
}
