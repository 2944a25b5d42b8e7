// How one thread pauses, goes on and steps. The debugger stands at places of the agent's, too, and at each expression:
// the thread goes on by itself from those that are not what was asked for.
import { cannot } from './faults.js';
import { fileOf, isEngines } from './scripts.js';
import { escaped } from './thread.js';

const pauseWithinMs = 250, maxSteps = 2000, maxSameLine = 200, maxInside = 100, maxStops = 200, maxHeads = 1000, maxFrames = 20;
// nextCall: to the first function that is called.
const resume = 'Debugger.resume', nextCall = 'nextCall';
const hiddenOfModule = ['exports', 'require', 'module', '__filename', '__dirname'];

export class Pausing {
  constructor(all, thread) {
    this.all = all;
    this.thread = thread;
    this.frames = null;     // while the thread stands, the debugger's
    this.shown = null;      // what strobe was told of that
    this.step = null;
    this.wanted = false;    // somebody asked for a pause
    this.until = null;
    this.waiters = [];
  }

  heard(params) {
    const own = params.callFrames.length === 0 || this.all.isOwn(this.urlOf(params.callFrames[0]));
    this.frames = params.callFrames = params.callFrames.filter(f => !this.all.isOwn(this.urlOf(f)));
    if (own) return void this.next(this.wanted || this.step ? nextCall : resume);
    this.paused(params).catch(() => this.next(resume));
  }

  // wentOn: without our having asked for it, as another debugger does.
  wentOn() {
    this.frames = null;
    this.forget();
  }

  next(method, params) {
    this.frames = null;
    const going = this.thread.post(method === nextCall ? resume : method, params || {}).catch(() => {});
    if (method === nextCall) this.thread.post('Debugger.pause', {}).catch(() => {});
    return going;
  }

  async paused(params) {
    const top = params.callFrames[0], place = await this.thread.placeOf(top);
    if (params.reason === 'exception' || params.reason === 'promiseRejection') return this.raised(params, place);
    const hit = (params.hitBreakpoints || []).some(id => this.thread.byCDP.has(id));
    if (hit || this.until && (params.hitBreakpoints || []).includes(this.until.cdp)) {
      const state = await this.state(params.callFrames, place);
      if (state.hits.length > 0) {
        const [point, n] = state.hits[0];
        return this.show(params, place, state, { reason: 'breakpoint', point, hit: n, note: this.noteOf(point) });
      }
      if (this.until) return this.show(params, place, state, { reason: 'until', point: this.until.id });
    }
    if (this.step !== null && this.step.ends) {
      if (!(params.hitBreakpoints || []).some(id => this.step.ends.includes(id))) return this.next(resume);
      await this.dropEnds(this.step);
      return this.next(await this.throughEnd(params.callFrames, place));
    }
    if (this.step !== null && this.step.stops) {
      // Deeper calls of the same function are passed.
      if (this.depthOf(params.callFrames) > this.step.stops.depth) return this.next(resume);
      if (!this.step.stops.turn) await this.dropEnds(this.step);
    }
    if (this.step !== null) {
      const how = await this.stepped(params.callFrames, place);
      if (how !== '') return this.next(how);
      const { step } = this, state = await this.state(params.callFrames, place);
      return this.show(params, place, state, { reason: 'step', point: step.id, resultOf: state.result === undefined ? undefined : step.resultOf, note: step.note });
    }
    if (this.wanted) {
      if (place.inserted) return this.next('Debugger.stepInto');
      // Node's own code, which cannot be passed over, soon calls the user's.
      if (place.node && this.inNode(params.callFrames) && ++this.inside < maxInside) return this.next(nextCall);
      return this.show(params, place, await this.state(params.callFrames, place), { reason: 'pause' });
    }
    return this.next(resume);
  }

  noteOf(id) {
    const point = this.all.list.find(p => p.id === id);
    return point && point.note;
  }

  // stepped says how to go on where a step has not come to its end.
  async stepped(frames, place) {
    const { step } = this, depth = this.depthOf(frames);
    const on = step.how === 'into' && step.inside < maxInside || step.left ? 'Debugger.stepInto' : 'Debugger.stepOver';
    if (++step.steps > maxSteps) {
      step.note = `the step ended after ${maxSteps} places`;
      return '';
    }
    if (step.how === 'over' && depth > step.depth) return step.user ? this.toUser(frames) : 'Debugger.stepOut';
    if (place.fn && (place.inserted || 'returnValue' in frames[0]) && place.at >= place.fn.end - 1) return this.throughEnd(frames, place);
    if (!place.user && step.user && !step.system) {
      // Node's own code may call a function of the user's.
      if (step.how === 'into' && place.node && !this.inNode(frames) && ++step.inside < maxInside) return 'Debugger.stepInto';
      return this.toUser(frames);
    }
    if (place.inserted) return on;
    if (step.left) return '';
    if (step.how === 'out') return depth < step.depth ? '' : step.user ? this.toUser(frames) : 'Debugger.stepOut';
    if (place.fn === step.fn && place.file === step.file && place.line === step.line && (depth === step.depth || place.fn && place.fn.kind !== 'function' && depth < step.depth)) {
      return ++step.same > maxSameLine ? '' : on;
    }
    return '';
  }

  // toUser goes on to the nearest of the user's functions on the stack, and where there is none to what runs next.
  async toUser(frames) {
    const at = frames.findIndex((f, i) => i > 0 && this.isUserFrame(f));
    if (at > 0) {
      await this.stopIn(frames[at], this.depthOf(frames.slice(at)));
      return resume;
    }
    await this.turn();
    this.step.note = 'its function returned to the event loop: this is what ran next';
    return resume;
  }

  // turn: the step ends with what the event loop runs next of the user's.
  async turn() {
    const { thread, step } = this;
    if (step.left) return;
    step.left = true;
    await this.passOver(true);
    const heads = [];
    for (const script of thread.scripts.values()) {
      if (!script.path || !this.all.started(script.path)) continue;
      const text = await thread.textOf(script);
      if (text.file) for (const fn of text.file.meta.functions) heads.push(text.locationOf(script.scriptId, text.headOf(fn)));
    }
    const set = await Promise.all(heads.slice(0, maxHeads).map(location => thread.post('Debugger.setBreakpoint', { location }).catch(() => null)));
    await this.dropEnds(step);
    step.stops = { depth: Infinity, turn: true, ids: set.filter(s => s !== null).map(s => s.breakpointId) };
  }

  isUserFrame(frame) { return this.all.isUser(fileOf(this.urlOf(frame))); }

  inNode(frames) { return frames.every(f => isEngines(this.urlOf(f))); }

  // throughEnd: behind a function's last line. A coroutine that returns to the event loop goes on with who waits for it.
  async throughEnd(frames, place) {
    if (place.fn.kind === 'function' || frames.some((f, i) => i > 0 && this.isUserFrame(f))) return this.toUser(frames);
    await this.turn();
    return 'Debugger.stepInto';
  }

  // stopIn sets breakpoints wherever a function can stand that is returned to: the debugger does not see where a function
  // returns that has a finally block, as all that are recorded have.
  async stopIn(frame, depth) {
    const { thread, step } = this, { scriptId } = frame.location, script = thread.scripts.get(scriptId), start = frame.functionLocation || { scriptId, lineNumber: 0, columnNumber: 0 };
    const { locations } = await thread.post('Debugger.getPossibleBreakpoints', { start, restrictToFunction: true });
    const from = locations.findIndex(l => l.lineNumber >= frame.location.lineNumber), near = locations.slice(Math.max(0, from - maxStops / 2), from + maxStops);
    const set = await Promise.all(near.map(location => thread.post('Debugger.setBreakpoint', { location }).catch(() => null)));
    step.stops = { depth, ids: set.filter(s => s !== null).map(s => s.breakpointId), script };
  }

  urlOf(frame) {
    const script = this.thread.scripts.get(frame.location.scriptId);
    return script ? script.url : '';
  }

  depthOf(frames) { return frames.filter(f => !isEngines(this.urlOf(f))).length; }

  // passOver: whether functions that are not the user's are passed over. The engine can die of a step through the frames of
  // such functions, so it is only told of them where it steps into, or goes on to what is called next.
  passOver(on) {
    const root = escaped(this.all.root.replace(/\/$/, ''));
    return this.thread.blackbox(on ? [`^(?!(file://)?${root}/)`, '/node_modules/'] : []).catch(() => {});
  }

  // begin begins a step of a thread that stands.
  async begin(m) {
    const { thread, shown } = this, frames = this.frames, top = frames[0], { place } = shown;
    if (m.how === 'line') return this.goTo(m);
    const step = { how: m.how, id: m.id, depth: this.depthOf(frames), fn: place.fn, file: place.file, line: place.line, steps: 0, same: 0, inside: 0, system: m.system, user: place.user, resultOf: this.all.nameOf(place.fn, place.path || place.file, place.text) };
    if (!['over', 'into', 'out'].includes(m.how)) throw cannot(`there is no step ${m.how}`);
    await this.passOver(m.how === 'into' && place.user && !m.system);
    await this.clear();
    this.step = step;
    if (m.how === 'out' && place.fn) {
      const plain = place.fn.kind === 'function', at = frames.findIndex((f, i) => i > 0 && this.isUserFrame(f));
      await thread.post('Debugger.evaluateOnCallFrame', { callFrameId: top.callFrameId, expression: `void($strobeC=$strobe.${plain ? 'watch' : 'watchCall'}($strobeC))`, silent: true }).catch(() => {});
      if (place.fn.kind === 'coroutine' || at < 0) step.ends = await this.endsOf(place, plain ? '$strobeC&&$strobeC===$strobe.watched' : '!!$strobeC&&$strobeC.watched');
      else await this.stopIn(frames[at], this.depthOf(frames.slice(at)));
      this.forget();
      return void this.next(resume);
    }
    this.forget();
    this.next(m.how === 'out' ? 'Debugger.stepOut' : m.how === 'into' ? 'Debugger.stepInto' : 'Debugger.stepOver');
  }

  // endsOf sets breakpoints where a coroutine's call ends, and gives what they are called: the debugger itself does not
  // step out to who awaits it.
  async endsOf(place, condition) {
    const { thread } = this, { text, fn } = place, id = this.frames[0].location.scriptId, last = text.after(fn.end - 1), block = text.file.text()[fn.end - 1] === '}';
    const tail = block ? text.code.lastIndexOf('}finally{if($strobeC)', last) : text.code.indexOf('}finally{if($strobeC)', last);
    const { locations } = await thread.post('Debugger.getPossibleBreakpoints', { start: text.locationOf(id, tail), end: text.locationOf(id, block ? last : tail + 120), restrictToFunction: false });
    const ends = [];
    for (const location of locations) {
      const set = await thread.post('Debugger.setBreakpoint', { location, condition }).catch(() => null);
      if (set) ends.push(set.breakpointId);
    }
    return ends;
  }

  async dropEnds(step) {
    const all = [...step.ends || [], ...step.stops ? step.stops.ids : []];
    step.ends = step.stops = null;
    await Promise.all(all.map(breakpointId => this.thread.post('Debugger.removeBreakpoint', { breakpointId }).catch(() => {})));
  }

  async goTo(m) {
    const { thread } = this;
    let found = null;
    for (const script of thread.scripts.values()) {
      if (!script.path || !this.all.mayHold(script.path, m.file)) continue;
      const text = await thread.textOf(script);
      for (const file of text.files()) {
        if (found || !(file === m.file || file.endsWith('/' + m.file))) continue;
        found = await thread.lineIn(script, text, file, m.line);
      }
    }
    if (!found) throw cannot(`no loaded file ${m.file} has code at line ${m.line}`);
    const { scriptId, lineNumber, columnNumber } = found.location, there = thread.sites.get(`${scriptId}:${lineNumber}:${columnNumber}`);
    this.until = { id: m.id, cdp: there ? there.cdp : '' };
    if (!there) this.until.cdp = (await thread.post('Debugger.setBreakpoint', { location: { scriptId, lineNumber, columnNumber } })).breakpointId;
    this.until.own = !there;
    const until = this.until;
    await this.clear(true);
    this.until = until;
    this.forget();
    this.next(resume);
  }

  // pause asks the thread to stand, and gives null, or {tid, why} where it will do so later.
  async pause() {
    if (this.shown) return null;
    const { thread } = this;
    this.wanted = true;
    this.inside = 0;
    let taken = false;
    // The engine forgets it where the thread is in code of the agent's, or evaluates something.
    const ask = () => {
      if (!this.wanted || this.shown || this.all.ended) return;
      thread.post('Debugger.pause', {}).then(() => { taken = true; }, () => {});
      setTimeout(ask, taken ? pauseWithinMs : pauseWithinMs / 4);
    };
    ask();
    const stands = await new Promise(resolve => {
      const timer = setTimeout(() => resolve(false), pauseWithinMs);
      this.waiters.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
    return stands ? null : { tid: thread.tid, why: taken ? 'waits in the event loop' : 'is in code that is not JavaScript' };
  }

  async go() {
    this.wanted = false;
    if (!this.shown) return;
    await this.clear();
    this.forget();
    this.next(resume);
  }

  // clear is before a thread goes on that stands: what was shown of it is let go.
  async clear(keep) {
    await this.call(0, 'function(){$strobe.views().clear()}', []).catch(() => {});
    this.thread.post('Runtime.releaseObjectGroup', { objectGroup: 'strobe' }).catch(() => {});
    await this.drop(keep);
  }

  async drop(keep) {
    const { until } = this;
    if (this.step) await this.dropEnds(this.step);
    this.step = null;
    if (keep || !until) return;
    this.until = null;
    if (until.own) await this.thread.post('Debugger.removeBreakpoint', { breakpointId: until.cdp }).catch(() => {});
  }

  forget() {
    if (!this.shown) return;
    const { n } = this.shown;
    this.shown = null;
    this.all.looking.drop(this.thread);
    setImmediate(() => this.all.link.send({ m: 'resumed', tid: this.thread.tid, n }));   // behind the answer to who let it go
  }

  end() {
    this.frames = null;
    this.forget();
  }

  // call runs a function of the agent's in the thread that stands, with this as the frame's innermost scope.
  async call(index, declaration, args) {
    const frame = this.frames[index];
    const { result, exceptionDetails } = await this.thread.post('Runtime.callFunctionOn', { functionDeclaration: declaration, objectId: frame.scopeChain[0].object.objectId, arguments: args, returnByValue: true, silent: true });
    if (exceptionDetails) throw cannot(`look into the frame: ${exceptionDetails.exception && exceptionDetails.exception.description || exceptionDetails.text}`);
    return result.value;
  }

  // state is the innermost frame's arguments and variables, and which points pause here.
  async state(frames, place) {
    const { own } = scopesOf(frames[0]);
    try {
      return await this.call(0, 'function(n,h,t,...s){return $strobe.views().paused(n,h,t,s)}', [{ value: place.fn ? place.fn.params : [] }, { value: this.hiddenOf(place) }, argument(frames[0].this), ...own]);
    } catch {
      return { hits: [], arguments: '{}', locals: '{}' };
    }
  }

  hiddenOf(place) { return place.fn ? [] : hiddenOfModule; }

  async frameOf(frame) {
    const place = await this.thread.placeOf(frame);
    const name = place.fn || place.text && place.text.file ? this.all.nameOf(place.fn, place.text.path, place.text) : frame.functionName || '<anonymous>';
    return { function: name, file: place.file, line: place.line, user: place.user };
  }

  async show(params, place, state, why) {
    const { thread } = this, frames = [];
    for (const frame of params.callFrames.slice(0, maxFrames)) frames.push(await this.frameOf(frame));
    this.wanted = false;
    await this.drop();
    thread.blackbox([]).catch(() => {});
    place.path = place.text ? place.text.path : place.file;
    const n = ++this.all.pauses;
    this.shown = { n, place, frames };
    const message = { m: 'paused', tid: thread.tid, n, name: thread.name, ...why, frames, more: Math.max(0, params.callFrames.length - maxFrames) || undefined };
    let text = JSON.stringify(message).slice(0, -1);
    for (const name of ['arguments', 'locals', 'result']) if (state[name] !== undefined) text += `,"${name}":${state[name]}`;
    this.all.link.send(text + '}');
    for (const waiter of this.waiters.splice(0)) waiter();
  }

  // raised: something was thrown. The agent's own catch clauses throw it again, which is not told.
  async raised(params, place) {
    const on = this.step ? this.step.how === 'into' ? 'Debugger.stepInto' : 'Debugger.stepOver' : resume;
    const point = await this.pointOf(params, place);
    if (!point) return this.next(on);
    const state = await this.state(params.callFrames, place);
    return this.show(params, place, state, { reason: 'exception', point: point.id, hit: this.all.shared.hit(point.slot), note: noteOf(params.data, place) });
  }

  // pointOf: an exception that leaves a coroutine is known to be caught by nobody only where it does.
  async pointOf(params, place) {
    for (const point of this.all.list) {
      if (!point.exception || point.tid && point.tid !== this.thread.tid) continue;
      if (point.exception === '@uncaught' ? !(params.data && params.data.uncaught) : place.inserted) continue;
      return point;
    }
    return null;
  }
}

// noteOf says what was thrown, and where, if the thread stands elsewhere.
function noteOf(thrown, place) {
  const [text, ...stack] = String(thrown && (thrown.description || thrown.value)).split('\n'), first = stack.find(l => /^ +at /.test(l));
  return place.inserted && first ? `${text}, raised ${first.trim()}` : text;
}

// scopesOf are a frame's scopes: its own, those around it, and what all code sees.
export function scopesOf(frame) {
  const own = [], around = [], globals = [];
  let inside = true;
  for (const scope of frame.scopeChain) {
    const object = { objectId: scope.object.objectId };
    if (scope.type === 'global' || scope.type === 'script') globals.push(object);
    else if (inside) own.push(object);
    else if (scope.type === 'module') globals.push(object);
    else around.push(object);
    if (scope.type === 'local' || scope.type === 'module') inside = false;
  }
  return { own, around, globals };
}

// argument passes a value that the debugger has shown.
export function argument(remote) {
  if (!remote) return {};
  if (remote.objectId) return { objectId: remote.objectId };
  if (remote.unserializableValue) return { unserializableValue: remote.unserializableValue };
  return { value: remote.value };
}
