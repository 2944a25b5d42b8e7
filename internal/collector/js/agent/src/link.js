// What an agent answers: the rules in force, on the files that the program's threads tell of.
import { Rules, matched, matchedFrom } from './rules.js';

const maxNear = 2000, maxUnhookable = 1000, applyPauseMs = 100;

export class Link {
  constructor(shared, set, send) {
    this.shared = shared;
    this.rules = new Rules(set);
    this.send = send;
    this.files = [];       // {key, base, names, functions}: a file of each thread that has loaded it
    this.unhookable = [];
    this.telling = null;
    this.points = null;     // points.js, once there are some
    this.entered = false;   // the program ran before the agent came, and the debugger sees what it has loaded
    this.setting = Promise.resolve();
  }

  // hear takes what the program's threads tell.
  hear(m) {
    if (m.m === 'end') {
      const last = this.applied(undefined);
      if (this.points) this.points.end();
      return this.send(last, () => this.shared.setTold());
    }
    if (m.m === 'hot') return this.points && this.points.loaded.hot(m);
    this.learn(m);
    if (m.m === 'file' && this.points) this.points.fileLoaded(m);
    else if (m.m === 'file') this.shared.setPlaced(m.thread);
    if (!this.telling) this.telling = setTimeout(() => this.tellApplied(), applyPauseMs);
  }

  learn(m) {
    if (m.m === 'refused') {
      if (this.unhookable.length < maxUnhookable) this.unhookable.push({ function: m.file, reason: m.reason });
    } else if (m.m === 'file') {
      const names = matched(m.file, this.rules.root, m.main);
      const file = { key: m.key, base: m.base, names, functions: m.functions.map((name, i) => ({ name, on: matchedFrom(names, m.files && m.files[i], m.bundled, this.rules.root) })) };
      for (const name of m.unhookable) this.unhookable.push({ function: `${names.module}.${name}`, reason: 'a constructor that a compiler of TypeScript would not find its super() in' });
      this.files.push(file);
      this.apply(file);
    }
  }

  // What is hooked grows as files are loaded: strobe hears of it, but not with each.
  tellApplied() {
    this.telling = null;
    if (!this.shared.gone()) this.send(this.applied(undefined));
  }

  apply(file) {
    if (this.shared.gone()) return;
    file.functions.forEach((f, id) => Atomics.store(this.shared.flags, file.base + id, this.rules.depthOf(f.on, f.name)));
  }

  receive(m) {
    switch (m.m) {
      case 'set':
        this.rules = new Rules(m);
        this.shared.setGen(this.rules.gen);
        for (const file of this.files) this.apply(file);
        if (this.needsPoints(m)) return this.setPoints(m.points || [], m.q);
        return this.send(this.applied(m.q));
      case 'status': return this.send(this.applied(m.q));
      // Every event is in its file before the call that it tells of goes on.
      case 'sync': return this.send({ m: 'synced', q: m.q });
      case 'threads':
        if (this.points) break;
        return this.send({ m: 'threads', q: m.q, threads: [] });
      case 'bye': return this.bye();
    }
    if (this.loadPoints && this.neededPoints().receive(m)) return;
    if (m.q) this.send({ m: 'error', q: m.q, code: 'cannot', message: `this agent does not know ${m.m}` });
  }

  needsPoints(set) { return !!this.points || (set.points || []).length > 0 || this.entered && (set.rules || []).length > 0; }

  neededPoints() { return this.points || (this.points = this.loadPoints(this)); }

  // setPoints answers when they are in force.
  setPoints(points, q) {
    if (!this.loadPoints) return this.send(this.applied(q));
    this.setting = this.setting.then(() => this.neededPoints().set(points)).catch(e => { this.points.problem = e.message; })
      .then(() => this.send(this.applied(q)));
  }

  applied(q) {
    const counts = new Map(this.rules.list.map(r => [r.id, 0]));
    let functions = 0;
    const seen = new Set(), names = [];
    for (const file of this.files) {
      if (seen.has(file.key)) continue;
      seen.add(file.key);
      for (const f of file.functions) {
        if (this.rules.depthOf(f.on, f.name, id => counts.set(id, counts.get(id) + 1)) > 0) functions++;
        if (names.length < maxNear) names.push(`${f.on.module}.${f.name}`);
      }
    }
    const empty = this.rules.list.some(r => r.on === 'name' && counts.get(r.id) === 0);
    return { m: 'applied', q, gen: this.rules.gen, rules: this.rules.list.map(r => ({ id: r.id, matched: counts.get(r.id) })), functions,
      unhookable: this.points ? this.unhookable.concat(this.points.loaded.left()) : this.unhookable, near: empty ? names : undefined, cut: this.shared.cut(), points: this.points ? this.points.states() : undefined };
  }
}
