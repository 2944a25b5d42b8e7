// The program's files: what they become when they are loaded, and what is known of their functions.
import fs from 'node:fs';
import path from 'node:path';
import { Rules, asked, matched, matchedFrom, isMadeOfUserFiles, isUserFile } from './rules.js';
import { compiled } from './scripts.js';
import { readSet } from './shared.js';
import { constant } from './values.js';

const { readFileSync, writeFileSync, renameSync, mkdirSync } = fs;

// pointsWithinMs bounds how long a file waits for the points in it.
const pointsWithinMs = 5000;

// A function of a file, as the recorder needs it.
class Function {
  constructor(file, id, all) {
    const f = file.meta.functions[id];
    this.file = file;
    this.all = all;
    this.id = id;
    this.number = 0;
    this.plain = f.kind === 'function';
    this.asynchronous = f.kind === 'coroutine' || f.kind === 'async_generator';
    this.lastDepth = 3;
    this.spent = 0;   // bytes of its values, and how often they were told briefly (Brief)
    this.brief = 0;
    this.since = 0;
    this.wasCut = false;
    this.names = f.params.map((p, i) => constant(`${i === 0 ? '{' : ','}${JSON.stringify(p)}:`));
  }

  // depth is how deep its values are wanted. A call that began before its rule went is told to its end.
  depth() {
    const depth = this.file.view[this.id];
    if (depth !== 0) this.lastDepth = depth;
    return this.lastDepth & ~asked;
  }

  isAsked() { return (this.lastDepth & asked) !== 0; }

  describe() {
    const f = this.file.meta.functions[this.id], { module } = this.all.matchedOf(this.file, f);
    return { name: `${module}.${f.name}`, file: f.file || this.file.path, line: f.line, module, language: 'javascript', params: f.params, kind: f.kind };
  }
}

// A file whose text was instrumented.
export class ProgramFile {
  constructor(file, code, meta) {
    this.path = file;
    this.code = code;
    this.meta = meta;
    this.names = null;
    this.view = null;
  }

  // text is the user's own: the insertions taken out.
  text() {
    if (this.original === undefined) {
      const { edits, codeLength } = this.meta;
      let text = '', at = 0, from = 0;
      for (let i = 0; i < edits.length; i += 2) {
        text += this.code.slice(from, from + edits[i] - at);
        from += edits[i] - at + edits[i + 1];
        at = edits[i];
      }
      this.original = text + this.code.slice(from, codeLength);
    }
    return this.original;
  }

  // offset is the place in the user's text of a place in the instrumented one; placed the other way.
  offset(at) {
    const { edits } = this.meta;
    let shift = 0;
    for (let i = 0; i < edits.length; i += 2) {
      const start = edits[i] + shift;
      if (at < start) break;
      if (at < start + edits[i + 1]) return edits[i];
      shift += edits[i + 1];
    }
    return at - shift;
  }
}

export class Files {
  // set is the message of start.json; shared the process's memory; tell sends to the control thread.
  constructor(folder, set, shared, tell, options) {
    this.folder = folder;
    this.rules = new Rules(set);
    this.shared = shared;
    this.tell = tell;
    this.options = options;   // {finallyMode, maps()}
    this.byKey = new Map();
    this.byPath = new Map();
    this.refused = [];
    this.engine = null;
    this.own = path.dirname(__filename) + '/';
  }

  // refresh takes the rules that came while the program ran.
  refresh() {
    if (this.shared.gen() === this.rules.gen) return;
    const set = readSet(this.folder);
    if (set) this.rules = new Rules(set);
  }

  // wants says whether a file is instrumented.
  wants(file) {
    if (typeof file !== 'string' || !path.isAbsolute(file) || file.startsWith(this.own) || this.shared.gone()) return false;
    return isUserFile(file, this.rules.root) || isMadeOfUserFiles(file) || this.rules.reaches(file);
  }

  // instrumented is what a file's text becomes, or null where it stays as it is. How: file, language, sourceType, caught
  // (a test runner catches what it throws),
  // wrapped.
  instrumented(text, how) {
    if (text.includes('$strobe')) return null;   // a loader before us has done it
    how.finallyMode = this.options.finallyMode && !how.caught;
    how.maps = this.options.maps();
    how.key = keyOf(`${how.file} ${how.language} ${how.sourceType} ${how.finallyMode} ${!!how.wrapped} ${how.maps}\n`, text);
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
    const key = keyOf(`${file} ${sourceType} loaded\n`, text);
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

  loadEngine() { return this.engine || (this.engine = (this.options.load || require)(this.own + 'transform.cjs')); }

  parse(text, file) { return this.loadEngine().parse(text, { file, sourceType: 'unambiguous' }); }

  refuse(file, error) {
    const reason = `its text could not be read: ${error && error.message}`;
    this.tell({ m: 'refused', file, reason });
  }

  // file gives an instrumented text the memory of its flags, when it runs.
  file(key, loaded) {
    let file = this.byKey.get(key);
    if (file === undefined) {   // instrumented by a loader's thread, or another process
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
  tellOf(key, { base, path, names, meta: { functions, unhookable, bundled } }) {
    this.tell({ m: 'file', key, base, thread: this.shared.thread, file: path, main: names.main, unhookable, bundled,
      functions: functions.map(f => f.name), files: functions.some(f => f.file) ? functions.map(f => f.file) : undefined });
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

  matchedOf(file, fn) { return matchedFrom(file.names, fn.file, file.meta.bundled, this.rules.root); }

  read(key) {
    for (const folder of this.folders()) {
      try {
        const text = readFileSync(`${folder}/${key}`, 'utf8'), line = text.indexOf('\n'), head = JSON.parse(text.slice(0, line));
        return new ProgramFile(head.file, head.meta === null ? null : text.slice(line + 1), head.meta);
      } catch {
        // Not there, or not whole: it is made again.
      }
    }
    return null;
  }

  write(key, file) {
    for (const folder of this.folders()) {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        const temporary = `${folder}/.${key}-${process.pid}-${this.shared.thread}`;
        writeFileSync(temporary, JSON.stringify({ file: file.path, meta: file.meta }) + '\n' + (file.code || ''), { mode: 0o600 });
        renameSync(temporary, `${folder}/${key}`);
        return;
      } catch {
        // Read only or full: the next one, or none.
      }
    }
  }

  // folders are where instrumented texts are kept: beside the agent, where that lies in a folder named by its contents,
  // else with the session.
  folders() {
    const own = path.dirname(this.own + 'x');
    return /^[0-9a-f]{16}$/.test(path.basename(own)) ? [own + '/texts', this.folder + '/js'] : [this.folder + '/js'];
  }
}

const noFlags = new Uint8Array(0);

// keyOf is 104 bits of a text as word characters: node:crypto costs milliseconds to load.
function keyOf(head, text) {
  let a = 0xdeadbeef, b = 0x41c6ce57, c = 0x9e3779b9, d = 0x7f4a7c15;
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
  return [a, b, c, d].map(n => (n >>> 6).toString(36).padStart(6, '0')).join('');
}
