// One thread of the program under the debugger: its scripts, and the points in them.
import { Text } from './places.js';
import { fileOf, isEngines } from './scripts.js';

const chunks = [1, 40, 400], maxSites = 1000;

export class Thread {
  // all: the process's Points. channel: cdp.js. id: the thread's number in its process.
  constructor(all, channel, id) {
    this.all = all;
    this.channel = channel;
    this.id = id;
    this.tid = 0;
    this.name = '';
    this.scripts = new Map();
    this.sites = new Map();   // place → {script, location, entries: point's id → {point, at}, cdp}
    this.byCDP = new Map();
    this.placing = Promise.resolve();
    this.thrown = 'none';
  }

  post(method, params) { return this.channel.post(method, params); }

  async start() {
    await this.identify();
    await this.post('Debugger.enable', {});
    await this.blackbox([]);
  }

  // identify asks which thread it is: the agent knows that in a thread with a file of the user's.
  async identify() {
    if (this.tid > 0 && this.name) return;
    const thread = await this.post('Runtime.evaluate', { expression: 'typeof $strobe=="object"?$strobe.views().thread():null', returnByValue: true, silent: true });
    const about = thread.result && thread.result.value || { tid: this.id === 0 ? process.pid : 0, name: this.id === 0 ? 'main' : `worker ${this.id}` };
    this.tid = about.tid;
    this.name = about.name;
  }

  // blackbox: the agent's own scripts are never stepped into.
  blackbox(patterns) {
    return this.post('Debugger.setBlackboxPatterns', { patterns: [`^(file://)?${escaped(this.all.own)}`, ...patterns] });
  }

  hear(method, params) {
    switch (method) {
      case 'Debugger.scriptParsed': return this.parsed(params);
      case 'Debugger.paused': return void this.pausing.heard(params);
      case 'Debugger.resumed': return this.pausing.wentOn();
    }
  }

  parsed({ scriptId, url, startLine, startColumn, isModule }) {
    const script = { scriptId, url, path: fileOf(url), startLine, startColumn, isModule, text: undefined };
    this.scripts.set(scriptId, script);
    if (script.path && this.id === 0 && this.all.link.entered) this.all.loaded.later(this);
    if (script.path && !this.all.started(script.path)) this.queue(() => this.placeAll(script, p => p.file !== undefined));
  }

  // queue runs what sets points, one after the other.
  queue(what) {
    this.placing = this.placing.then(what).catch(() => {});
    return this.placing;
  }

  async textOf(script) {
    if (script.text === undefined) script.text = this.load(script);
    return script.text;
  }

  async load(script) {
    const { scriptSource } = await this.post('Debugger.getScriptSource', { scriptId: script.scriptId });
    const key = /\$strobe_(\w{24})/.exec(scriptSource), file = key ? this.all.fileOf(key[1]) : null;
    if (!key && this.id === 0 && this.all.link.entered) return this.all.loaded.text(script, scriptSource);
    let before = 0;
    if (file) before = Math.max(0, scriptSource.indexOf(file.code.slice(0, 200)));
    return new Text(script.path, before > 0 ? scriptSource.slice(before) : scriptSource, file, script.startLine, script.startColumn + before);
  }

  // placeOf is where a location is, for the user: {file, line, fn, function, inserted, user}.
  async placeOf({ location, functionLocation }) {
    const script = this.scripts.get(location.scriptId), line = location.lineNumber + 1;
    if (!script || !script.path) return { file: script ? script.url : '', line, fn: null, at: 0, user: false, inserted: false, node: !!script && isEngines(script.url) };
    if (script.text === undefined && !this.all.started(script.path)) {
      return { file: script.path, line, fn: null, at: 0, user: this.all.isUser(script.path), inserted: false };
    }
    const text = await this.textOf(script), place = text.place(location, functionLocation);
    return { ...place, user: this.all.isUser(place.file) && !place.unmapped, text, module: this.all.moduleOf(script.path) };
  }

  // fileLoaded: a file begins to run in this thread: its functions' points are set before.
  fileLoaded(path) {
    return this.queue(async () => {
      await this.identify();
      await this.post('Runtime.getIsolateId', {}).catch(() => {});   // what was parsed before is told before its answer
      for (const script of this.scripts.values()) if (script.path === path) await this.placeAll(script, () => true);
    });
  }

  async placeAll(script, which) {
    for (const point of this.all.list) if (which(point)) await this.place(point, script);
  }

  // place sets a point in a script, where that has a place for it.
  async place(point, script) {
    if (point.exception || point.broken || point.tid && point.tid !== this.tid || point.gone) return;
    try {
      if (point.function !== undefined) {
        const functions = this.all.functionsOf(script.path, point);
        if (functions.size > 0) await this.placeFunctions(point, script, functions);
      } else if (this.all.mayHold(script.path, point.file)) {
        await this.placeLine(point, script);
      }
    } catch (e) {
      point.problem = e.message;
    }
  }

  async placeFunctions(point, script, names) {
    const text = await this.textOf(script);
    if (!text.file) return;
    const { functions } = text.file.meta;
    for (let id = 0; id < functions.length; id++) {
      if (!names.has(functions[id].name) || !this.all.matches(point, script.path, functions[id])) continue;
      if (this.sites.size >= maxSites) {
        point.problem = `more than ${maxSites} places: set in the first ones only`;
        return;
      }
      const location = await this.firstOf(script, text, functions[id]);
      if (location) await this.setAt(point, script, text, location, functions[id]);
    }
  }

  async firstOf(script, text, fn) {
    const start = text.locationOf(script.scriptId, text.bodyOf(fn)), end = text.locationOf(script.scriptId, text.after(fn.end));
    const { locations } = await this.post('Debugger.getPossibleBreakpoints', { start, end, restrictToFunction: true });
    const begins = text.locationOf(script.scriptId, text.after(fn.start)), inBody = locations.filter(l => {
      const place = text.place(l, begins);
      return !place.inserted && place.fn === fn && l.type !== 'return';
    });
    return inBody[0] || locations[0];
  }

  async placeLine(point, script) {
    const text = await this.textOf(script);
    for (const file of text.files()) {
      if (!endsWith(file, point.file)) continue;
      const found = await this.lineIn(script, text, file, point.line);
      if (!found) {
        point.problem = `${file} has no code at or behind line ${point.line}`;
        continue;
      }
      if (found.line !== point.line) point.note = `line ${point.line} has no code: the next one with code is ${found.line}`;
      await this.setAt(point, script, text, found.location);
    }
  }

  // lineIn is the first location of the user's at a line, or behind it.
  async lineIn(script, text, file, line) {
    let from = line;
    for (const n of chunks) {
      const ranges = text.ranges(file, from, n);
      const parts = text.map || ranges.length < 2 ? ranges : [{ line: 0, from: ranges[0].from, to: ranges[ranges.length - 1].to }];
      for (const r of parts) {
        const { locations } = await this.post('Debugger.getPossibleBreakpoints', { start: text.locationOf(script.scriptId, r.from), end: text.locationOf(script.scriptId, r.to) });
        for (const location of locations) {
          const place = text.place(location);
          // What a compiler put before the user's text has its own line, in a file that may be called the same.
          if (place.inserted || place.unmapped || location.type === 'return' || place.file !== file || place.line < from) continue;
          if (r.line === 0 || place.line === r.line) return { location, line: place.line };
        }
      }
      from += n;
    }
    return null;
  }

  async setAt(point, script, text, location, fn) {
    const place = text.place(location), site = this.siteAt(location);
    const at = { function: this.all.nameOf(fn || place.fn, script.path, text), file: place.file, line: place.line };
    if (site.entries.has(point.id)) return;
    await this.enter(site, point.id, { point, at });
  }

  // enter adds what is to be done at a place.
  async enter(site, id, entry) {
    site.entries.set(id, entry);
    await this.update(site);
  }

  siteAt({ scriptId, lineNumber, columnNumber }) {
    const key = `${scriptId}:${lineNumber}:${columnNumber}`;
    let site = this.sites.get(key);
    if (!site) this.sites.set(key, site = { key, location: { scriptId, lineNumber, columnNumber }, entries: new Map(), cdp: '' });
    return site;
  }

  // update makes the debugger's breakpoint at a place that of the points there.
  async update(site) {
    if (site.cdp) {
      this.byCDP.delete(site.cdp);
      await this.post('Debugger.removeBreakpoint', { breakpointId: site.cdp });
      site.cdp = '';
    }
    if (site.entries.size === 0) {
      this.sites.delete(site.key);
      return;
    }
    const condition = [...site.entries.values()].map(({ point, at, code }) => {
      if (code) return code;
      const about = JSON.stringify([point.slot, point.id, point.hitCount || 0, at.function, at.file, at.line]);
      return `$strobe.views().hit(${about},${point.condition ? `()=>(${point.condition}\n)` : 0},${point.said || 0})`;
    }).join('|');
    const set = await this.post('Debugger.setBreakpoint', { location: site.location, condition: `typeof $strobe=="object"&&!!(${condition})` });
    site.cdp = set.breakpointId;
    this.byCDP.set(site.cdp, site);
  }

  // remove takes out what was entered by this name.
  async remove(id) {
    for (const site of [...this.sites.values()]) if (site.entries.delete(id)) await this.update(site);
  }

  async exceptions(wanted) {
    if (this.thrown === wanted) return;
    this.thrown = wanted;
    await this.post('Debugger.setPauseOnExceptions', { state: wanted });
  }

  locationsOf(point) {
    const all = [];
    for (const site of this.sites.values()) if (site.entries.has(point.id)) all.push(site.entries.get(point.id).at);
    return all;
  }

  end() {
    this.pausing.end();
    this.channel.close();
  }
}

export function endsWith(file, end) {
  end = end.replace(/^\.\//, '');
  return file === end || file.endsWith(end.startsWith('/') ? end : '/' + end);
}

export function escaped(text) { return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'); }

