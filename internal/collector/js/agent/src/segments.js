// A stream of events in segment files (docs/agentlink.md, Segments): one for each thread of the program.
import fs from 'node:fs';
import * as js from './intrinsics.js';
import * as values from './values.js';

export const kinds = { function: 1, lane: 2, enter: 3, exit: 4, yield: 5, lost: 6, crash: 7, log: 8, end: 9, switch: 10, next: 255 };
export const flags = { thrown: 1, closed: 2, unknown: 4 };
const headerSize = 16, recordSize = 32, firstSize = 1 << 20, laterSize = 4 << 20, segmentsAhead = 16, patienceMs = 20e3;
// Room that a record may need at its beginning, and a segment's last record.
const room = recordSize + values.payloadRoom + recordSize;

const { existsSync, openSync, closeSync, writeSync, renameSync, ftruncateSync } = fs;
const sleeper = new Int32Array(new SharedArrayBuffer(4));
const header = Buffer.from('strobe1\n\0\0\0\0\0\0\0\0', 'latin1');

// clock gives CLOCK_MONOTONIC in nanoseconds. The runtime's own is quick, but begins anywhere.
let clockBase = 0;
function setClock(now) {
  let best = Infinity;
  for (let i = 0; i < 5; i++) {
    const before = js.performanceNow(), at = now(), after = js.performanceNow();
    if (after - before < best) [best, clockBase] = [after - before, at - (before + after) / 2 * 1e6];
  }
}

// systemClock is for where there is no addon. Only Node's begins with the system; of the others it is right to 10 ms.
function systemClock() {
  const [seconds, nanoseconds] = process.hrtime();
  if (!process.versions.bun && !process.versions.deno) return seconds * 1e9 + nanoseconds;
  return parseFloat(fs.readFileSync('/proc/uptime', 'utf8')) * 1e9;
}

export function clock() { return clockBase + js.performanceNow() * 1e6; }

export class Stream {
  // folder/prefix names the segments; native is the addon or null: then records are written by a system call each.
  constructor(folder, prefix, native, onFull) {
    this.folder = folder;
    this.prefix = prefix;
    this.native = native;
    this.onFull = onFull;
    this.sequence = -1;
    this.size = 0;      // of the segment
    this.start = 0;     // of the record that is being written, in the memory
    this.offset = 0;    // of the memory in the segment: 0 where it is mapped
    this.descriptor = -1;
    this.failed = false;
    this.giveUpAt = 0;  // a wait ended for nothing: until something is free, none is begun
    this.triedAt = 0;
    if (clockBase === 0) setClock(native ? native.now : systemClock);
    const memory = native ? native.window(laterSize) : new ArrayBuffer(room + 8);
    if (native && !(memory instanceof ArrayBuffer)) throw new Error(`map memory: error ${memory}`);
    this.memory = memory;
    this.bytes = new Uint8Array(memory);
    this.words = new Uint32Array(memory);
    this.lengths = new Int32Array(memory);
    values.use(this.bytes, Buffer.from(memory));
  }

  path(sequence) { return `${this.folder}/${this.prefix}-${sequence}.ev`; }

  // begin makes room for one record and gives where its payload goes, or 0 where there is none.
  begin(force) {
    if (this.offset + this.start + room > this.size && !this.next(force)) return 0;
    const p = this.start + recordSize;
    values.begin(p);
    return p;
  }

  // end publishes the record that begin gave room for.
  end(kind, flagBits, fn, lane, under, aux, time) {
    const start = this.start, w = start >> 2, words = this.words, bytes = this.bytes;
    const length = values.position() - start, padded = (length + 7) & ~7;
    // A number stored into a Uint32Array is taken modulo 2^32.
    words[w] = time;
    words[w + 1] = time / 4294967296;
    words[w + 2] = fn;
    words[w + 3] = lane;
    words[w + 4] = under;
    words[w + 5] = aux;
    bytes[start + 24] = kind;
    bytes[start + 25] = flagBits;
    bytes[start + 26] = padded - length;
    js.publish(this.lengths, w + 7, padded);
    if (this.native !== null) {
      this.start = start + padded;
      return;
    }
    writeSync(this.descriptor, bytes, 0, padded, this.offset);
    this.offset += padded;
    bytes.fill(0, 0, padded);
  }

  // drop takes back what was written of a record.
  drop() { this.bytes.fill(0, this.start, this.start + room); }

  // next goes on in a new segment.
  next(force) {
    if (this.failed || !this.mayOpen(force)) return false;
    const sequence = this.sequence + 1, size = sequence === 0 ? firstSize : laterSize;
    const temporary = `${this.folder}/.${this.prefix}-${sequence}`, path = this.path(sequence);
    let descriptor = -1;
    if (this.native !== null) {
      descriptor = this.native.create(temporary, path, size);
    } else {
      try {
        descriptor = openSync(temporary, 'wx+', 0o600);
        ftruncateSync(descriptor, size);
        header.writeUInt32LE(size, 8);
        writeSync(descriptor, header, 0, headerSize, 0);
        renameSync(temporary, path);
      } catch {
        descriptor = -1;
      }
    }
    if (descriptor < 0) return false;
    if (this.sequence >= 0) {
      values.begin(this.start + recordSize);
      this.end(kinds.next, 0, 0, 0, 0, 0, clock());
    }
    if (this.native !== null) {
      if (this.native.map(this.memory.address, descriptor, size) !== 0) {
        this.failed = true;
        return false;
      }
      this.start = headerSize;
    } else {
      if (this.descriptor >= 0) closeSync(this.descriptor);
      this.descriptor = descriptor;
      this.offset = headerSize;
      this.start = 0;
    }
    this.size = size;
    this.sequence = sequence;
    return true;
  }

  // mayOpen waits, as onFull says, until the reader has taken the segment 16 before the next one. force: for what must
  // not be lost, a little more is allowed.
  mayOpen(force) {
    const before = this.sequence + 1 - segmentsAhead;
    if (before < 0 || force === true) return true;
    const path = this.path(before), now = js.performanceNow();
    if (this.onFull === 'drop' || this.giveUpAt !== 0) {
      if (now < this.triedAt + 1) return false;
      this.triedAt = now;
      if (existsSync(path)) return false;
      this.giveUpAt = 0;
      return true;
    }
    while (existsSync(path)) {
      if (this.onFull !== 'block' && js.performanceNow() - now > patienceMs) {
        this.giveUpAt = now;
        return false;
      }
      js.wait(sleeper, 0, 0, 1);
    }
    return true;
  }
}
