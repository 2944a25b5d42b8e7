// What the threads of a process have in common: the functions' flags, counters, and whether strobe still listens.
import fs from 'node:fs';
import { isMainThread, threads } from './threads.js';

const { readFileSync } = fs;

const maxFunctions = 1 << 20, maxPoints = 1000, maxWaiting = 64;
const at = { functions: 0, flags: 1, streams: 2, lanes: 3, gen: 4, control: 5, told: 6, points: 7, refs: 8, cut: 9, cutFunctions: 10, placed: 16, hits: 16 + maxWaiting };
const controlStates = { none: 0, asked: 1, ready: 2, gone: 3 };
const environmentKey = '$strobe';
// Before Node 22 a thread cannot ask for the name that it was given.
export const threadNameKey = '$strobeName';

export class Shared {
  // The first thread makes it; the others find it in their environment data.
  static ofThread(folder) {
    let parts = isMainThread ? undefined : threads().getEnvironmentData(environmentKey);
    if (!parts) {
      parts = { folder, flags: new SharedArrayBuffer(maxFunctions), counters: new SharedArrayBuffer(4 * (at.hits + 2 * maxPoints)), nonce: nonce() };
      threads().setEnvironmentData(environmentKey, parts);
    }
    return new Shared(parts, threads().threadId);
  }

  // again is for another session: what the flags belong to stays.
  again(folder) {
    const parts = { folder, flags: this.parts.flags, counters: new SharedArrayBuffer(4 * (at.hits + 2 * maxPoints)), nonce: nonce() }, shared = new Shared(parts, this.thread);
    Atomics.store(shared.counters, at.flags, Atomics.load(this.counters, at.flags));
    threads().setEnvironmentData(environmentKey, parts);
    return shared;
  }

  // folderOfThread is the folder that the first thread's environment named: a program can give others another one.
  static folderOfThread() {
    const parts = isMainThread ? undefined : threads().getEnvironmentData(environmentKey);
    return parts && parts.folder;
  }

  constructor(parts, thread) {
    this.parts = parts;
    this.flags = new Uint8Array(parts.flags);
    this.counters = new Int32Array(parts.counters);
    this.nonce = parts.nonce;
    this.thread = thread;
  }

  channel() { return `$strobe-${this.nonce}`; }
  function() { return Atomics.add(this.counters, at.functions, 1) + 1; }
  lane() { return Atomics.add(this.counters, at.lanes, 1) + 1; }
  stream() { return Atomics.add(this.counters, at.streams, 1) + 1; }
  gen() { return Atomics.load(this.counters, at.gen); }
  setGen(gen) { Atomics.store(this.counters, at.gen, gen); }

  // Calls whose values were told briefly, and the functions that had such.
  addCut(calls, functions) {
    Atomics.add(this.counters, at.cut, calls);
    if (functions > 0) Atomics.add(this.counters, at.cutFunctions, functions);
  }
  cut() {
    const calls = Atomics.load(this.counters, at.cut);
    return calls === 0 ? undefined : { calls, functions: Atomics.load(this.counters, at.cutFunctions), most: [] };
  }

  ref() { return Atomics.add(this.counters, at.refs, 1) + 1; }

  // There are points: a file's functions do not run before those in it are set.
  hasPoints() { return Atomics.load(this.counters, at.points) !== 0; }
  setHasPoints(on) { Atomics.store(this.counters, at.points, on ? 1 : 0); }

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
  slotOf(n) { return n % maxPoints; }
  hit(slot) { return Atomics.add(this.counters, at.hits + 2 * slot, 1) + 1; }
  hits(slot) { return Atomics.load(this.counters, at.hits + 2 * slot); }
  firstFailure(slot) { return Atomics.exchange(this.counters, at.hits + 2 * slot + 1, 1) === 0; }
  clearSlot(slot) {
    Atomics.store(this.counters, at.hits + 2 * slot, 0);
    Atomics.store(this.counters, at.hits + 2 * slot + 1, 0);
  }

  takeFlags(n) {
    const base = Atomics.add(this.counters, at.flags, n);
    return base + n > maxFunctions ? -1 : base;
  }

  gone() { return Atomics.load(this.counters, at.control) === controlStates.gone; }

  // askControl is true for the one that asks first.
  askControl() { return Atomics.compareExchange(this.counters, at.control, controlStates.none, controlStates.asked) === controlStates.none; }
  setReady() {
    Atomics.compareExchange(this.counters, at.control, controlStates.asked, controlStates.ready);
    Atomics.notify(this.counters, at.control);
  }

  ready() { return Atomics.load(this.counters, at.control) === controlStates.ready; }

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
  waitTold(ms) { Atomics.wait(this.counters, at.told, 0, ms); }

  // end takes everything out: strobe is gone, or has said bye.
  end() {
    Atomics.store(this.counters, at.control, controlStates.gone);
    Atomics.notify(this.counters, at.control);
    this.setTold();
    this.setHasPoints(false);
    for (let i = 0; i < maxWaiting; i++) this.setPlaced(i);
    this.flags.fill(0);
  }
}

// nonce names the start of this process, with what differs between any two: no random source is loaded for it.
function nonce() {
  const words = [process.pid ^ Date.now() << 10, process.hrtime()[1] ^ Date.now() / 4194304];
  return words.map(w => (w >>> 0).toString(16).padStart(8, '0')).join('');
}

// readSet is what is in force when it is read, or null where strobe is gone.
export function readSet(folder) {
  try {
    return JSON.parse(readFileSync(folder + '/start.json', 'utf8'));
  } catch {
    return null;
  }
}
