// Files that a program had loaded before the agent came into it: their texts run as they are, and the debugger tells of
// their functions' calls, by breakpoints that never pause.
import { Text } from './places.js';

const maxFiles = 2000, maxFunctions = 2000, toldWithinMs = 3000;

// What a return gives that can be looked at once more without anything happening.
const returned = /(?:\breturn\s+|=>\s*)([A-Za-z_$][\w$]*|-?\d+(?:\.\d+)?|'[^'\\\n]*'|"[^"\\\n]*")\s*;?$/;
const words = /^(?:await|yield|new|typeof|void|delete|function|class|async|super|import)$/;

export class Loaded {
  constructor(all) {
    this.all = all;
    this.scripts = new Map();   // file's key → its scripts: what is imported twice runs twice
    this.files = 0;
    this.waiting = new Map();   // key → who waits until the program's thread has told of it
    this.traced = new Map();    // "script id" → name of what stands in the thread for it
    this.tooHot = new Map();    // "key id" → {name, calls}
    this.refused = [];          // {function, reason}
    this.taking = Promise.resolve();
  }

  // text is a script's, whose functions are found in it.
  text(script, source) {
    let file = null;
    try {
      if (this.wants(script.path)) file = this.all.files.loaded(script.path, source, script.isModule ? 'module' : 'unambiguous');
    } catch (e) {
      this.refuse(script.path, `its text could not be read: ${e.message}`);
    }
    return new Text(script.path, source, file, script.startLine, script.startColumn);
  }

  wants(path) { return this.all.isUser(path) || this.all.link.rules.reaches(path); }

  // later: a script was loaded that may not have been instrumented.
  later(thread) {
    if (this.late) return;
    this.late = setImmediate(async () => {
      this.late = null;
      await this.take(thread);
      thread.queue(() => this.follow(thread));
    });
  }

  // take makes the program's thread tell of all files that are loaded.
  take(thread) { return this.taking = this.taking.then(() => this.takeAll(thread)).catch(() => {}); }

  async takeAll(thread) {
    for (const script of [...thread.scripts.values()]) {
      if (!script.path || script.taken || !this.wants(script.path) || this.all.isOwn(script.url)) continue;
      script.taken = true;
      if (++this.files > maxFiles) {
        this.refuse(script.path, `only the functions of the first ${maxFiles} files are looked for`);
        continue;
      }
      const { file } = await thread.textOf(script);
      if (!file || !file.meta.loaded) continue;
      const { key } = file, known = this.scripts.get(key);
      if (known) {
        known.push(script);
        continue;
      }
      this.scripts.set(key, [script]);
      await new Promise(resolve => {
        this.waiting.set(key, resolve);
        setTimeout(resolve, toldWithinMs);
        thread.post('Runtime.evaluate', { expression: `$strobe.loaded(${JSON.stringify(key)})`, silent: true }).catch(resolve);
      });
    }
  }

  told(key) {
    const resolve = this.waiting.get(key);
    this.waiting.delete(key);
    if (resolve) resolve();
  }

  // follow has the debugger stand where functions are traced, and nowhere else.
  async follow(thread) {
    if (thread.id !== 0 || !this.all.link.entered) return;
    for (const { key, base, functions } of this.all.link.files) {
      for (const script of this.scripts.get(key) || []) {
        for (let id = 0; id < functions.length; id++) {
          const wanted = Atomics.load(this.all.shared.flags, base + id) !== 0 && !this.tooHot.has(`${key} ${id}`);
          await this.stand(thread, script, key, id, functions[id].name, wanted);
        }
      }
    }
  }

  async stand(thread, script, key, id, name, wanted) {
    const of = `${script.scriptId} ${id}`, refuse = reason => this.refuse(`${this.all.moduleOf(script.path)}.${name}`, reason);
    if (wanted === this.traced.has(of)) return;
    if (!wanted) {
      this.traced.delete(of);
      await thread.remove(of);
    } else if (this.traced.size < maxFunctions) await this.put(thread, script, key, id, of).catch(e => refuse(e.message));
    else refuse(`the debugger tells of ${maxFunctions} functions at once, of those that were loaded before the attach`);
  }

  refuse(name, reason) {
    if (!this.refused.some(r => r.function === name)) this.refused.push({ function: name, reason });
  }

  async put(thread, script, key, id, of) {
    const text = await thread.textOf(script), fn = text.file.meta.functions[id], about = `${JSON.stringify(key)},${id}`;
    this.traced.set(of, fn.name);
    const first = await thread.firstOf(script, text, fn);
    if (!first) return;
    const begins = text.offsetOf(first), again = /^(?:while|for|do)\b/.test(text.code.slice(begins, begins + 6)) || /\b(?:while|for)\s*\([^)]*$/.test(text.code.slice(fn.at, begins));
    await thread.enter(thread.siteAt(first), of, { code: `$strobe.le(${about},[${fn.params.join(',')}],${again})` });
    const start = text.locationOf(script.scriptId, text.bodyOf(fn)), end = text.locationOf(script.scriptId, fn.end + 1);
    const { locations } = await thread.post('Debugger.getPossibleBreakpoints', { start, end, restrictToFunction: true });
    for (const location of locations) {
      if (location.type !== 'return') continue;
      const value = valueAt(text.code, text.offsetOf(location), fn), site = thread.siteAt(location), before = site.entries.get(of);
      const leaves = `$strobe.lx(${about},${value === null ? '0' : `()=>${value}`})`;
      // Where a function does nothing it begins and returns at one place.
      await thread.enter(site, of, { code: before ? `(${before.code},${leaves})` : leaves });
    }
  }

  // hot: the program's thread has told that a function is called too often.
  hot({ key, id, calls }) {
    const of = `${key} ${id}`, thread = this.all.threads.get(0), [script] = this.scripts.get(key) || [];
    if (this.tooHot.has(of) || !thread || !script) return;
    this.tooHot.set(of, { name: `${this.all.moduleOf(script.path)}.${this.traced.get(`${script.scriptId} ${id}`)}`, calls });
    thread.queue(() => this.follow(thread));
    this.all.link.tellApplied();
  }

  // left are the functions that are not told of.
  left() {
    const hot = [...this.tooHot.values()].map(({ name, calls }) => ({ function: name, reason: `it was called ${calls} times in a second, and the debugger, which tells of what was loaded before the attach, would slow the program down: from there on its calls are not told` }));
    return this.refused.concat(hot);
  }
}

// valueAt is the expression that a return at a place has the value of, null where that would run something.
function valueAt(code, at, fn) {
  if (fn.kind !== 'function' || /(?:^|\.)constructor$/.test(fn.name)) return null;
  const before = code.slice(Math.max(0, at - 200), at), found = returned.exec(before);
  if (found && !words.test(found[1])) return isSeen(code.slice(fn.at, fn.end), found[1], fn.params) ? found[1] : null;
  if (/\breturn\s*;?$/.test(before) || at === fn.end - 1 && code[at] === '}') return 'undefined';
  return null;
}

// isSeen: at a return the engine shows the variables of the function, but not those of a block in it, for which it would
// show what they hide.
function isSeen(body, name, params) {
  if (!/^[A-Za-z_$]/.test(name)) return true;
  const text = name.replace(/\$/g, '\\$&'), declared = [...body.matchAll(new RegExp(`(?:\\b(?:let|const|class|function)\\b[^;=]*|\\bcatch\\s*\\([^)]*|,\\s*)(?<![\\w$])${text}(?![\\w$])(?=\\s*[=;,})({:]|\\s+(?:of|in|extends)\\b)`, 'g'))];
  if (declared.length === 0) return true;
  if (declared.length > 1 || params.includes(name) || declared[0][0][0] === ',') return false;
  let depth = 0;
  for (const c of body.slice(0, declared[0].index)) depth += c === '{' ? 1 : c === '}' ? -1 : 0;
  return depth === 0 && !/\b(?:for|while|switch)\s*\(?[^)]*$/.test(body.slice(0, declared[0].index));
}
