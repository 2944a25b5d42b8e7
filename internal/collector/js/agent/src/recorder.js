// What the instrumented functions call (transform.js). Calls that nest are kept on a stack, which is the program's own
// stack less what is not traced; a call that can be left and come back is an object with a lane of its own. Nothing
// here throws: a program's stack may end in any of these functions.
import util from 'node:util';
import * as js from './intrinsics.js';
import * as values from './values.js';
import { Brief } from './brief.js';
import { clock, flags, kinds } from './segments.js';

const { isPromise } = util.types;

// A call of a coroutine or a generator.
class Call {
  constructor(fn, lane, before) {
    this.fn = fn;
    this.lane = lane;
    this.before = before;   // the lane that the thread was on before it ran this one
    this.running = true;
    this.open = true;
    this.watched = false;   // its result is wanted
    this.since = 0;         // when it was left at an await
    this.awaited = 0;
  }
}

export class Recorder {
  // thread is {tid, name}; numbers gives the process's next number of a function or lane; fileOf(key) the file that an
  // instrumented text belongs to.
  constructor(stream, thread, numbers, fileOf) {
    this.stream = stream;
    this.numbers = numbers;
    this.brief = new Brief(numbers);
    this.file = fileOf;
    this.thread = thread;
    this.own = 0;
    this.lane = 0;          // on which the thread is
    this.rested = [];       // lanes that are free
    this.depth = 0;
    this.stackFunctions = [null];
    this.stackLanes = [0];
    this.busy = false;
    this.lost = null;       // function → [enters, exits] that were not written
    this.owed = [];         // exits that found no room: they come before anything else
    this.pending = [];      // exits by an exception that is not known yet (finally mode)
    this.thrown = undefined;
    this.throwing = false;
    this.viewer = null;
    this.watched = 0;       // the level of a call whose result is wanted, -1 where it is not recorded
    this.outcome = null;    // its {value}
    this.stackHeights = [0];   // of calls that the debugger has told, how high the program's stack was; 0 of others
    this.counting = { since: 0, calls: null };
  }

  // begin makes room for a record behind what is owed.
  begin() {
    if (this.own === 0) this.declareThread();
    if (this.pending.length > 0) this.settle(undefined, false);
    if ((this.owed.length > 0 || this.lost !== null) && !this.pay()) return 0;
    return this.stream.begin();
  }

  declareThread() {
    this.own = -1;
    const number = this.numbers.lane();
    if (this.stream.begin(true) === 0) {
      this.own = 0;
      throw new Error('no segment could be made');
    }
    values.writeRaw(`{"tid":${this.thread.tid},"name":`);
    values.writeString(this.thread.name);
    values.writeRaw('}');
    this.stream.end(kinds.lane, 0, 0, number, 0, 0, clock());
    if (this.lane === 0) this.lane = number;
    this.stackLanes[0] = this.own = number;
  }

  pay() {
    while (this.owed.length > 0) {
      const e = this.owed[0];
      if (this.stream.begin() === 0) return false;
      this.stream.end(kinds.exit, e.flags | flags.unknown, e.number, e.lane, 0, e.awaited, e.time);
      this.owed.shift();
    }
    if (this.lost === null) return true;
    const calls = {};
    let n = 0;
    for (const [number, counts] of this.lost) {
      calls[number] = counts;
      this.lost.delete(number);
      if (++n === 500) break;   // a payload's size; the rest comes in the next record
    }
    if (this.stream.begin() === 0) {
      for (const number in calls) this.lost.set(+number, calls[number]);
      return false;
    }
    values.writeRaw(js.stringify({ calls }));
    this.stream.end(kinds.lost, 0, 0, 0, 0, 0, clock());
    if (this.lost.size === 0) this.lost = null;
    return true;
  }

  countLost(number, enters, exits) {
    if (this.lost === null) this.lost = new Map();
    const counts = this.lost.get(number);
    if (counts === undefined) this.lost.set(number, [enters, exits]);
    else {
      counts[0] += enters;
      counts[1] += exits;
    }
  }

  // declare tells of a function before its first use in the process's streams.
  declare(fn) {
    const number = this.numbers.function();
    if (this.stream.begin(true) === 0) throw new Error('no segment could be made');
    values.writeRaw(js.stringify(fn.describe()).replace(/[^\x20-\x7e]/g, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')));
    this.stream.end(kinds.function, 0, number, 0, 0, 0, clock());
    fn.number = number;
  }

  // enter writes an enter; false where it is not recorded.
  enter(fn, lane, under, args) {
    const stream = this.stream;
    let begun = false;
    try {
      if (fn.number === 0) {
        if (this.own === 0) this.declareThread();
        this.declare(fn);
      }
      if (this.begin() === 0) {
        this.countLost(fn.number, 1, 1);
        return false;
      }
      begun = true;
      const time = clock(), names = fn.names, depth = this.brief.begin(fn, time), from = values.position();
      for (let i = 0; i < args.length; i++) {
        values.writeConstant(names[i]);
        values.write(args[i], depth);
      }
      values.writeConstant(args.length === 0 ? noArguments : lastArgument);
      this.brief.end(fn, values.position() - from);
      stream.end(kinds.enter, 0, fn.number, lane === 0 ? this.own : lane, under, 0, time);
      return true;
    } catch {
      if (begun) stream.drop();
      if (fn.number !== 0) this.countLost(fn.number, 1, 1);
      return false;
    }
  }

  value(fn, value, time) {
    const depth = this.brief.begin(fn, time), from = values.position();
    values.write(value, depth);
    this.brief.end(fn, values.position() - from);
  }

  // exit writes an exit, now or before the next record.
  exit(fn, lane, kind, value, awaited, at) {
    const stream = this.stream;
    let begun = false;
    const time = at || clock();
    try {
      if (this.begin() !== 0) {
        begun = true;
        if (value === unseen && (kind & flags.unknown) === 0) values.writeRaw('{"$":"unreadable"}');
        else if ((kind & flags.unknown) === 0) this.value(fn, value, time);
        stream.end(kinds.exit, kind, fn.number, lane, 0, awaited, time);
        return;
      }
    } catch {
      if (begun) stream.drop();
    }
    this.owed.push({ number: fn.number, lane, flags: kind, awaited, time });
  }

  // unwind ends the calls above level c whose own exits did not come.
  unwind(c) {
    while (this.depth > c) {
      this.stackHeights[this.depth] = 0;
      this.exit(this.stackFunctions[this.depth], this.stackLanes[this.depth], flags.unknown, undefined, 0);
      this.depth--;
    }
  }

  e(file, id, args) {
    if (this.busy) return 0;
    try {
      this.busy = true;
      const fn = file.functions[id];
      if (this.throwing) this.settled();
      if (!this.enter(fn, this.lane, 0, args)) return 0;
      const c = ++this.depth;
      this.stackFunctions[c] = fn;
      this.stackLanes[c] = this.lane;
      return c;
    } catch {
      return 0;
    } finally {
      this.busy = false;
    }
  }

  // loaded makes a file known that was loaded before the agent.
  loaded(key) { this.file(key, true); }

  // le, lx: the debugger met the beginning, or a return, of a function in such a file. Nothing of ours stands in it: by
  // how high the stack is it shows which calls have ended. once: of a beginning that a loop can come back to.
  le(key, id, args, once) {
    if (this.busy) return 0;
    const height = heightOfStack(), file = this.file(key, true), fn = file.functions[id];
    this.endAbove(height + 1);
    if (once && this.isAt(fn, height)) return 0;
    this.endAbove(height);
    if (file[id] === 0 || this.isHot(key, id, fn)) return 0;
    const c = this.e(file, id, args);
    if (c !== 0) this.stackHeights[c] = height;
    return 0;
  }

  lx(key, id, value) {
    if (this.busy) return 0;
    const height = heightOfStack();
    this.endAbove(height + 1);
    if (!this.isAt(this.file(key, true).functions[id], height)) return 0;
    this.stackHeights[this.depth] = 0;
    let seen = unseen;
    try {
      if (value !== 0) seen = value();
    } catch {
      // A variable that the engine does not show there.
    }
    this.left(this.depth, 0, seen, false);
    return 0;
  }

  isAt(fn, height) { return this.depth > 0 && this.stackHeights[this.depth] === height && this.stackFunctions[this.depth] === fn; }

  endAbove(height) {
    while (this.depth > 0 && this.stackHeights[this.depth] >= height) {
      this.stackHeights[this.depth] = 0;
      const { plain } = this.stackFunctions[this.depth];   // met no return: it threw, or is left at an await
      this.left(this.depth, plain ? flags.thrown : flags.unknown, unseen, false);
    }
  }

  // isHot: the debugger would slow the program down with this function. It is told, and its calls are told no more.
  isHot(key, id, fn) {
    const { counting } = this, now = js.performanceNow();
    if (counting.calls === null || now - counting.since > 1000) {
      counting.since = now;
      counting.calls = new Map();
    }
    const calls = (counting.calls.get(fn) || 0) + 1;
    counting.calls.set(fn, calls);
    if (calls === hotCalls) this.tell({ m: 'hot', key, id, calls });
    return calls >= hotCalls;
  }

  // left ends call c of the stack. Where the stack ends in here, the next exit below notices.
  left(c, kind, value, later) {
    if (c > this.depth) return;
    try {
      this.busy = true;
      if (c < this.depth) this.unwind(c);
      this.lane = this.stackLanes[c];
      if (later) this.pending.push({ fn: this.stackFunctions[c], lane: this.lane, time: clock() });
      else this.exit(this.stackFunctions[c], this.lane, kind, value, 0);
      this.depth = c - 1;
    } catch {
      // Nothing of ours reaches the program.
    } finally {
      this.busy = false;
    }
  }

  r(c, value) {
    if (this.throwing) this.settled();
    if (c === this.watched && this.watchedLeft(value, true)) return;
    this.left(c, 0, value, false);
  }

  x(c, error) {
    if (c === this.watched && this.watchedLeft(undefined, false)) return;
    this.left(c, flags.thrown, error, false);
  }

  // xf: left by an exception that nobody has told. It is the one that was last thrown, or is known where it is caught.
  xf(c) {
    if (c === this.watched && this.watchedLeft(undefined, false)) return;
    if (this.throwing) this.left(c, flags.thrown, this.thrown, false);
    else this.left(c, 0, undefined, true);
  }

  // What a step out of a call returned: watch stands for a call that nests, watchCall for another one.
  watch(c) {
    this.outcome = null;
    return this.watched = c || -1;
  }

  watchCall(call) {
    this.outcome = null;
    if (!call) {
      call = new Call(null, 0, 0);
      call.running = call.open = false;
    }
    call.watched = true;
    return call;
  }

  // watchedLeft is true where the call was not recorded.
  watchedLeft(value, returned) {
    const unrecorded = this.watched < 0;
    this.watched = 0;
    if (returned) this.outcome = { value };
    return unrecorded;
  }

  // log writes what a logpoint says, on the lane that the thread is on.
  log(payload) {
    if (this.begin() === 0) return;
    values.writeRaw(payload);
    this.stream.end(kinds.log, 0, 0, this.lane, 0, 0, clock());
  }

  // views is what a paused thread is looked into with.
  views() { return this.viewer || (this.viewer = this.loadViews(this)); }

  settled() {
    this.throwing = false;
    this.thrown = undefined;
  }

  settle(error, known) {
    const pending = this.pending;
    this.pending = [];
    for (const p of pending) this.exit(p.fn, p.lane, known ? flags.thrown : flags.thrown | flags.unknown, error, 0, p.time);
  }

  // t: how is absent where error is thrown, 1 where it was caught, 2 where something was caught that has no name.
  t(error, how) {
    if (how === undefined) {
      this.throwing = true;
      this.thrown = error;
    } else {
      this.settled();
      if (this.pending.length > 0) {
        this.busy = true;
        this.settle(error, how === 1);
        this.busy = false;
      }
    }
    return error;
  }

  // under is the lane of whoever runs now, 0 where that is nobody traced.
  under() { return this.lane !== this.own || this.stackLanes[this.depth] === this.own && this.depth > 0 ? this.lane : 0; }

  newLane() {
    if (this.rested.length > 0) return this.rested.pop();
    if (this.own === 0) this.declareThread();
    const lane = this.numbers.lane();
    if (this.stream.begin(true) === 0) throw new Error('no segment could be made');
    values.writeRaw(`{"of":${this.own},"name":""}`);
    this.stream.end(kinds.lane, 0, 0, lane, 0, 0, clock());
    return lane;
  }

  // ea, eg: the call of a coroutine, the first step of a generator.
  ea(file, id, args) {
    if (this.busy) return 0;
    this.busy = true;
    let call = 0;
    try {
      const fn = file.functions[id], lane = this.newLane();
      if (this.enter(fn, lane, this.under(), args)) {
        call = new Call(fn, lane, this.lane);
        this.lane = lane;
      } else this.rested.push(lane);
    } catch {
      call = 0;
    }
    this.busy = false;
    return call;
  }

  eg(file, id, args) { return this.ea(file, id, args); }

  leave(call) {
    if (!call.running) return;
    call.running = false;
    this.lane = call.before;
  }

  // u: left at an await.
  u(call) {
    if (!call.running) return;
    this.leave(call);
    this.on(this.lane);
    call.since = js.performanceNow();
  }

  // on tells which lane the thread is on now, for what others than its calls say of it.
  on(lane) {
    if (this.own <= 0) return;
    this.busy = true;
    try {
      if (this.begin() !== 0) this.stream.end(kinds.switch, 0, 0, lane === 0 ? this.own : lane, 0, 0, clock());
    } catch {
      this.stream.drop();
    }
    this.busy = false;
  }

  // w: back from an await. The thread came from its event loop, or from one that a call below runs.
  w(call) {
    if (call.running || !call.open) return;
    call.before = this.depth > 0 ? this.stackLanes[this.depth] : this.own;
    call.running = true;
    this.lane = call.lane;
    this.on(call.lane);
    if (call.since !== 0) call.awaited += (js.performanceNow() - call.since) * 1e3;
    call.since = 0;
  }

  // y: left at a yield; wy: the next step.
  y(call, value) {
    this.busy = true;
    try {
      if (call.open && this.begin() !== 0) {
        const time = clock();
        this.value(call.fn, value, time);
        this.stream.end(kinds.yield, 0, call.fn.number, call.lane, 0, 0, time);
      }
    } catch {
      this.stream.drop();
    }
    this.busy = false;
    this.leave(call);
    this.on(this.lane);
  }

  wy(call) {
    if (call.running || !call.open) return;
    call.before = this.lane;
    call.running = true;
    this.lane = call.lane;
    this.on(call.lane);
    call.since = 0;
  }

  close(call, kind, value) {
    if (!call.open) return;
    this.leave(call);
    call.open = false;
    this.busy = true;
    if (call.since !== 0) call.awaited += (js.performanceNow() - call.since) * 1e3;
    this.exit(call.fn, call.lane, kind, value, Math.min(call.awaited, 4294967295));
    this.rested.push(call.lane);
    this.busy = false;
  }

  // ra: a coroutine's return. Of a promise the call ends when that is settled, as for who awaits it.
  ra(call, value) {
    if (call.watched) this.outcome = { value };
    try {
      if (isPromise(value) && isPlainPromise(value)) {
        this.u(call);
        js.apply(js.promiseThen, value, [v => this.close(call, 0, v), e => this.close(call, flags.thrown, e)]);
        return;
      }
    } catch {
      // The stack ends here.
    }
    this.close(call, 0, value);
  }

  xa(call, error) {
    if (this.pending.length > 0) {
      this.busy = true;
      this.settle(error, true);
      this.busy = false;
    }
    this.settled();
    this.close(call, flags.thrown, error);
  }

  // rg: a generator came to its end, or was closed before it.
  rg(call, value, done) {
    if (call.watched && done !== 0) this.outcome = { value };
    if (done === 0) this.close(call, flags.closed | flags.unknown, undefined);
    else if (call.fn.asynchronous) this.ra(call, value);
    else this.close(call, 0, value);
  }

  // d stands for the iterable of a yield*: its steps run on the call's lane, and in between the call is left.
  d(call, iterable) {
    const recorder = this, symbol = call.fn.asynchronous ? Symbol.asyncIterator : Symbol.iterator;
    const iterator = iterable == null ? undefined : iterable[symbol];
    if (typeof iterator !== 'function') {
      this.u(call);
      return iterable;
    }
    return { [symbol]: () => around(js.apply(iterator, iterable, []), step => v => {
      recorder.wy(call);
      try {
        return step(v);
      } finally {
        recorder.leave(call);
      }
    }) };
  }

  // i stands for the iterable of a for await: the call is left behind each step's promise.
  i(call, iterable) {
    const recorder = this;
    const iterator = iterable == null ? undefined : iterable[Symbol.asyncIterator];
    if (typeof iterator !== 'function') {
      this.u(call);
      return iterable;
    }
    return { [Symbol.asyncIterator]: () => around(js.apply(iterator, iterable, []), step => v => {
      try {
        return step(v);
      } finally {
        recorder.u(call);
      }
    }) };
  }
}

// hotCalls in a second, at 0.1 ms for each beginning and each return, are a fifth of the program's time.
const hotCalls = 1000, highest = 2000;

// heightOfStack counts the frames of the program's stack, those of this module included.
function heightOfStack() {
  const { stackTraceLimit } = Error, had = js.descriptor(Error, 'prepareStackTrace'), at = {};
  try {
    Error.stackTraceLimit = highest;
    Object.defineProperty(Error, 'prepareStackTrace', { value: (_, frames) => {
      let n = frames.length;
      while (n > 0 && frames[n - 1].isAsync()) n--;   // who awaits is on no stack
      return n;
    }, configurable: true, writable: true });
    Error.captureStackTrace(at);
    return at.stack;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    if (had) Object.defineProperty(Error, 'prepareStackTrace', had);
    else delete Error.prepareStackTrace;
  }
}

// unseen is the result that the debugger does not see.
const unseen = Symbol('unseen');

const noArguments = values.constant('{}'), lastArgument = values.constant('}');

// around is an iterator whose methods are those of another one, within wrap. It has those that the other has.
function around(iterator, wrap) {
  const next = iterator.next;
  const method = name => {
    const m = iterator[name];
    return m == null ? m : wrap(v => js.apply(m, iterator, [v]));
  };
  return {
    next: wrap(v => js.apply(next, iterator, [v])),
    get return() { return method('return'); },
    get throw() { return method('throw'); },
  };
}

function isPlainPromise(value) {
  if (js.descriptor(value, 'constructor') !== undefined) return false;
  const c = js.descriptor(js.prototypeOf(value), 'constructor');
  return c !== undefined && typeof c.value === 'function' && c.value.name === 'Promise';
}
