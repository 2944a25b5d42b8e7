// What ends the program: told as it is, and reported by Node as if the agent were not there.
import Module from 'node:module';
import { pathToFileURL } from 'node:url';
import util from 'node:util';
import { clock, kinds } from './segments.js';
import { isUserFile } from './rules.js';
import { fileOf } from './scripts.js';
import * as js from './intrinsics.js';
import * as values from './values.js';

const maxFrames = 50, maxChain = 10;

export function watchCrashes(agent) {
  process.on('uncaughtExceptionMonitor', error => {
    try {
      const { recorder } = agent;
      recorder.t(error, 1);
      // Where the program has a handler the process goes on.
      if (process.listenerCount('uncaughtException') > 0 || process.hasUncaughtExceptionCaptureCallback()) return;
      tell(agent, error);
      if (!agent.bun && !agent.deno) keepExcerpt(agent);
    } catch {
      // The program's own report comes in any case.
    }
  });
}

function tell(agent, error) {
  const { recorder } = agent;
  recorder.busy = true;
  if (recorder.begin() === 0) return;
  const stack = util.types.isNativeError(error) || error instanceof Error ? String(error.stack) : '';
  let crash = { ...describe(error), language: 'javascript', chain: chainOf(error), frames: framesOf(agent, stack), thread: 'main' };
  let text = js.stringify(crash);
  if (text.length > values.payloadRoom >> 1) text = js.stringify({ ...crash, message: crash.message.slice(0, 1000), chain: crash.chain.slice(0, 3), frames: crash.frames.slice(0, 20) });
  values.writeRaw(text.replace(/[^\x20-\x7e]/g, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')));
  recorder.stream.end(kinds.crash, 0, 0, recorder.lane, 0, 0, clock());
  recorder.busy = false;
}

function describe(error) {
  if (error === null || typeof error !== 'object') return { type: typeof error, message: String(error).slice(0, 4000) };
  if (util.types.isProxy(error)) return { type: 'Proxy', message: '' };
  const message = js.descriptor(error, 'message'), prototype = js.prototypeOf(error);
  const constructor = prototype && js.descriptor(prototype, 'constructor');
  const type = constructor && typeof constructor.value === 'function' ? constructor.value.name : 'Object';
  return { type, message: message && typeof message.value === 'string' ? message.value.slice(0, 4000) : '' };
}

function chainOf(error) {
  const chain = [];
  for (let e = error; chain.length < maxChain; ) {
    if (e === null || typeof e !== 'object' || util.types.isProxy(e)) break;
    const cause = js.descriptor(e, 'cause');
    if (!cause || !('value' in cause)) break;
    e = cause.value;
    chain.push({ ...describe(e), relation: 'cause' });
  }
  return chain;
}

// framesOf reads a stack's text, in which positions are the user's.
function framesOf(agent, stack) {
  const frames = [];
  for (const line of stack.split('\n')) {
    const m = /^ {4}at (?:(.*) \()?(.*?):(\d+):(\d+)\)?$/.exec(line);
    if (!m || frames.length === maxFrames) continue;
    const file = fileOf(m[2]) || m[2], known = agent.files.byPath.get(file);
    const fn = known && known.names ? functionAt(known, +m[3], +m[4]) : null;
    const name = fn ? `${known.names.module}.${fn.name}` : (m[1] || '<anonymous>').replace(/^async /, '');
    frames.push({ function: name, file, line: +m[3], user: isUserFile(file, agent.root) });
  }
  return frames;
}

// functionAt is the innermost function around a place in the user's text.
function functionAt(file, line, column) {
  const text = file.text();
  let start = 0;
  for (let l = 1; l < line; l++) {
    start = text.indexOf('\n', start) + 1;
    if (start === 0) return null;
  }
  const at = start + column - 1;
  let best = null;
  for (const f of file.meta.functions) if (!f.file && f.start <= at && at < f.end && (!best || f.start >= best.start)) best = f;
  return best;
}

// keepExcerpt: the report begins with the line that threw, which Node takes from the text that ran unless there is a
// source map. The process dies in any case: only now maps are switched on, with one for each of our files.
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
    // Node keeps the map of each file that it compiles: an empty one of the same name brings ours.
    const data = Buffer.from(JSON.stringify(map)).toString('base64');
    agent.compile(new Module(file.path), `//# sourceMappingURL=data:application/json;base64,${data}`, file.path);
  }
}

// The report names a module by its URL, but what comes from a map by its path, if it begins as a URL does: whoever asks
// first for a module's name is Node, which looks at the beginning.
const modules = new Map();
function scriptName(file) {
  let asked = 0;
  return () => asked++ === 0 ? '' : pathToFileURL(file).href;
}

function nameModules() {
  const { SourceMap } = Module;
  if (!SourceMap) return;
  const { findEntry } = SourceMap.prototype;
  SourceMap.prototype.findEntry = function (line, column) {
    const entry = Reflect.apply(findEntry, this, [line, column]);
    if (!this.payload || this.payload.file !== '$strobe') return entry;
    const source = modules.get(fileOf(entry.originalSource));
    if (source) {
      Object.defineProperty(this, 'payload', { value: { file: '$strobe', sources: [source], sourcesContent: [source.text], mappings: '' } });
      entry.originalSource = source;
    }
    return entry;
  };
}
