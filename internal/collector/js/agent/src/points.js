// Points, pauses and steps (docs/agentlink.md, Points): loaded into the control thread when the first of them is asked
// for. It speaks the debugger's protocol with the program's threads.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { bySocket, firstThread, otherThread } from './cdp.js';
import { cannot, inspectorIsOpen, notPaused } from './faults.js';
import { Files } from './files.js';
import { Loaded } from './loaded.js';
import { Looking } from './looking.js';
import { Pausing } from './pausing.js';
import { Rules, isMadeOfUserFiles, isUserFile, moduleOf } from './rules.js';
import { isEngines } from './scripts.js';
import { Thread, endsWith } from './thread.js';

const attachWithinMs = 2000;

export class Points {
  // link: what the agent answers by.
  constructor(link, { folder, set, inspected, inspector }) {
    this.link = link;
    this.shared = link.shared;
    this.root = set.root || '/';
    this.own = path.dirname(__filename) + '/';
    this.ownURL = pathToFileURL(this.own).href;
    this.files = new Files(folder, set, link.shared, () => {}, {});
    this.threads = new Map();
    this.list = [];
    this.slots = 0;
    this.pauses = 0;
    this.problem = '';
    this.ended = false;
    this.looking = new Looking(this);
    this.loaded = new Loaded(this);
    this.inspected = inspected;
    this.inspector = inspector;   // Deno's: gives {url} or {problem}
  }

  // connect begins the debugging of the program's threads.
  connect() { return this.connected || (this.connected = this.connectAll().catch(e => this.refuse(e.message))); }

  refuse(problem) {
    this.problem = problem;
    this.threads.clear();
    this.shared.setHasPoints(false);
    if (this.main) this.main.close();
  }

  async connectAll() {
    const main = this.main = this.inspector ? await bySocket(await this.inspector()) : firstThread(), first = this.threadOf(main, 0);
    main.on((method, params) => {
      if (!method.startsWith('NodeWorker.')) return first.hear(method, params);
      const of = params.sessionId && this.bySession.get(params.sessionId);
      if (method === 'NodeWorker.attachedToWorker') this.attached(params);
      else if (of && method === 'NodeWorker.receivedMessageFromWorker') of.channel.receive(params.message);
      else if (of && method === 'NodeWorker.detachedFromWorker') this.detached(of, params.sessionId);
    });
    this.bySession = new Map();
    const { result } = await main.post('Runtime.evaluate', { expression: 'process.execArgv.some(a=>a.startsWith("--inspect"))', returnByValue: true, silent: true });
    if (result.value === true || this.inspected) throw new Error(inspectorIsOpen);
    await first.start();
    await main.post('NodeWorker.enable', { waitForDebuggerOnStart: false }).catch(() => {});   // then there are no workers
    await Promise.all(this.attaching);
  }

  // attachedWithin waits for a thread of which the debugger has not told yet.
  attachedWithin(id, ms) {
    return new Promise(resolve => {
      setTimeout(resolve, ms);
      this.expected.set(id, resolve);
    });
  }

  threadOf(channel, id) {
    const thread = new Thread(this, channel, id);
    thread.pausing = new Pausing(this, thread);
    this.threads.set(id, thread);
    if (this.expected.has(id)) this.expected.get(id)();
    return thread;
  }

  attaching = [];
  expected = new Map();

  attached({ sessionId, workerInfo }) {
    // Its number stands in the title only. The agent's own thread, and the one that Node loads modules in, are nobody's.
    const number = /worker (\d+)/i.exec(workerInfo.title);
    if (!number || this.isOwn(workerInfo.url) || isEngines(workerInfo.url)) return;
    const id = +number[1], channel = otherThread(this.main, sessionId), thread = this.threadOf(channel, id);
    channel.on((method, p) => thread.hear(method, p));
    this.bySession.set(sessionId, thread);
    this.attaching.push(thread.queue(async () => {
      await thread.start();
      await thread.exceptions(this.thrown());
      if (this.list.length > 0) for (const script of thread.scripts.values()) if (script.path) await thread.placeAll(script, () => true);
    }));
  }

  detached(thread, sessionId) {
    this.bySession.delete(sessionId);
    this.threads.delete(thread.id);
    thread.end();
  }

  // started: a file's text is instrumented, and has begun to run.
  started(file) { return this.link.files.some(f => f.names.path === file); }
  fileOf(key) {
    return this.files.byKey.get(key) || this.keep(key, this.files.read(key));
  }
  keep(key, file) {
    if (file) this.files.byKey.set(key, file);
    return file;
  }
  isOwn(url) { return url.startsWith(this.own) || url.startsWith(this.ownURL); }
  isUser(file) { return isUserFile(file, this.root); }
  moduleOf(file) { return moduleOf(file, this.root); }
  // nameOf is a function's name as its calls have it (matchedFrom). text: the Text that it is in, where that is known.
  nameOf(fn, file, text) {
    const bundled = text && text.file && text.file.meta.bundled || isMadeOfUserFiles(file);
    return `${this.moduleOf(fn && fn.file && bundled ? fn.file : file)}.${fn ? fn.name : '<module>'}`;
  }

  // mayHold: a script's text may have lines of the file that a point names.
  mayHold(script, file) {
    if (endsWith(script, file)) return true;
    return this.link.files.some(f => f.names.path === script && f.functions.some(fn => fn.on.path !== script && endsWith(fn.on.path, file)));
  }

  functionsOf(script, point) {
    const names = new Set();
    for (const file of this.link.files) {
      if (file.names.path !== script) continue;
      for (const f of file.functions) if (point.test(f.on, f.name)) names.add(f.name);
    }
    return names;
  }

  matches(point, script, fn) {
    const { functions, names } = this.link.files.find(f => f.names.path === script), found = functions.find(f => f.name === fn.name && f.on.path === (fn.file || script));
    return point.test(found ? found.on : names, fn.name) || !!fn.file;
  }

  // set makes exactly these points be in force.
  async set(points) {
    const wanted = new Map(points.map(p => [p.id, p]));
    const gone = this.list.filter(p => p.text !== JSON.stringify(wanted.get(p.id)));
    this.list = this.list.filter(p => !gone.includes(p));
    for (const p of gone) p.gone = true;
    const kept = new Set(this.list.map(p => p.id)), fresh = points.filter(p => !kept.has(p.id)).map(p => this.made(p));
    this.list.push(...fresh);
    this.shared.setHasPoints(this.list.length > 0);
    if (this.list.length === 0 && !this.connected && !this.link.entered) return;
    await this.connect();
    if (this.problem) return;
    if (this.link.entered) await this.loaded.take(this.threads.get(0));
    await Promise.all([...this.threads.values()].map(thread => thread.queue(async () => {
      for (const p of gone) await thread.remove(p.id);
      await thread.exceptions(this.thrown());
      for (const script of fresh.length > 0 ? [...thread.scripts.values()] : []) {
        if (script.path) for (const p of fresh) await thread.place(p, script);
      }
      await this.loaded.follow(thread);
    })));
  }

  thrown() {
    const wanted = this.list.map(p => p.exception);
    return wanted.includes('@exceptions') ? 'all' : wanted.includes('@uncaught') ? 'uncaught' : 'none';
  }

  made(point) {
    const p = { ...point, text: JSON.stringify(point), slot: this.shared.slotOf(this.slots++) };
    this.shared.clearSlot(p.slot);
    if (p.function === '@uncaught' || p.function === '@exceptions') p.exception = p.function;
    else if (p.function !== undefined) p.test = new Rules({ root: this.root }).testOf({ on: 'name', glob: p.function });
    try {
      if (p.condition) checked(p.condition);
      if (p.message) p.said = said(p.message);
    } catch (e) {
      p.broken = `${p.condition ? 'condition' : 'message'}: ${e.message}`;
    }
    return p;
  }

  states() {
    return this.list.map(p => {
      const seen = new Set(), locations = [];
      for (const thread of this.threads.values()) {
        for (const at of thread.locationsOf(p)) {
          const key = `${at.function} ${at.file} ${at.line}`;
          if (!seen.has(key)) locations.push(at);
          seen.add(key);
        }
      }
      let why = this.problem || undefined;
      if (!why && !p.broken && locations.length === 0 && !p.exception) {
        why = p.problem || (p.function !== undefined ? 'no function of this name is loaded yet' : `no file ${p.file} is loaded yet`);
      }
      return { id: p.id, locations, hits: this.shared.hits(p.slot), error: p.broken, why, note: locations.length > 0 ? p.note || p.problem : undefined };
    });
  }

  // fileLoaded lets a thread go on that waits with a file for the points in it.
  async fileLoaded(m) {
    try {
      if (this.list.length > 0 || this.link.entered) {
        await this.connect();
        if (this.problem) return;
        if (!this.threads.has(m.thread)) await this.attachedWithin(m.thread, attachWithinMs);
        const thread = this.threads.get(m.thread);
        if (thread) await thread.fileLoaded(m.file);
        this.loaded.told(m.key);
      }
    } finally {
      this.shared.setPlaced(m.thread);
    }
  }

  byTID(tid) { return [...this.threads.values()].find(t => t.tid === tid); }

  // receive answers what is asked of points, pauses and frames; false: it is none of these.
  receive(m) {
    const answer = this.answers[m.m];
    if (!answer) return false;
    Promise.resolve().then(() => answer.call(this, m)).then(a => this.link.send(answered(a, m.q)), e => {
      this.link.send({ m: 'error', q: m.q, code: e.code || 'cannot', message: e.message });
    });
    return true;
  }

  answers = {
    async pause(m) {
      await this.connect();
      if (this.problem) throw cannot(this.problem);
      const threads = [...this.threads.values()].filter(t => !m.tid || t.tid === m.tid);
      if (threads.length === 0) throw cannot(`there is no thread ${m.tid}`);
      const later = await Promise.all(threads.map(t => t.pausing.pause()));
      return { m: 'pausing', later: later.filter(l => l !== null) };
    },
    async go(m) {
      for (const tid of m.tids || []) {
        const thread = this.byTID(tid);
        if (thread) await thread.pausing.go();
      }
      return { m: 'going' };
    },
    async step(m) {
      await this.pausedThread(m.tid).pausing.begin(m);
      return { m: 'going' };
    },
    threads() {
      const stand = [...this.threads.values()].filter(t => t.pausing.shown);
      return { m: 'threads', threads: stand.map(t => ({ tid: t.tid, name: t.name, frames: t.pausing.shown.frames, waits: 'is paused' })) };
    },
    frames(m) { return this.looking.frames(this.pausedThread(m.tid), m); },
    scopes(m) { return this.looking.scopes(m); },
    variables(m) { return this.looking.variables(m); },
    evaluate(m) { return this.looking.evaluate(m); },
    assign(m) { return this.looking.assign(m); },
  };

  pausedThread(tid) {
    const thread = this.byTID(tid);
    if (!thread || !thread.pausing.shown) throw notPaused(`thread ${tid} is not paused`);
    return thread;
  }

  // end lets everything go on as if nobody had been there.
  end() {
    if (this.ended) return;
    this.ended = true;
    this.shared.setHasPoints(false);
    if (this.main) this.main.close();
  }
}

// answered is a message, whose raw members are JSON already.
function answered({ raw, ...message }, q) {
  let text = JSON.stringify({ m: message.m, q, ...message });
  for (const name in raw || {}) if (raw[name] !== undefined) text = `${text.slice(0, -1)},${JSON.stringify(name)}:${raw[name]}}`;
  return text;
}

// checked throws where a text is no expression. What only some places allow (#private) is tried there.
function checked(text) {
  if (!text.includes('#') && !/\b(?:super|await|yield|new\.target)\b/.test(text)) void new Function(`return (${text}\n)`);
  return text;
}

// said is the code that gives a message's parts: texts, and [value] of each {expression}.
function said(message) {
  const parts = [];
  for (let at = 0; at < message.length;) {
    const open = message.indexOf('{', at);
    if (open < 0) {
      parts.push(JSON.stringify(message.slice(at)));
      break;
    }
    if (open > at) parts.push(JSON.stringify(message.slice(at, open)));
    let problem = new SyntaxError(`a { has no }: ${message.slice(open)}`);
    for (let close = message.indexOf('}', open); ; close = message.indexOf('}', close + 1)) {
      if (close < 0) throw problem;
      try {
        const text = message.slice(open + 1, close);
        if (text.trim() === '') throw new SyntaxError('{} has no expression');
        parts.push(`[(${checked(text)}\n)]`);
        at = close + 1;
        break;
      } catch (e) {
        problem = e;
      }
    }
  }
  return `()=>[${parts.join(',')}]`;
}

