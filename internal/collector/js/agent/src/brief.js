// Which calls are told with less of their values. A function whose values lead to much would slow its program down many
// times over: its first calls have all of them, later ones what is near, which is counted, and once in a while all again,
// so that one that is called rarely always has all. One whose depth was asked for has all in every call.
import * as values from './values.js';

const spend = 256 << 10;   // bytes of one function before that
const all = 2 << 20;       // of all functions, before each has only
const each = 8 << 10;
const near = { depth: 2, bytes: 1000, items: 8 }, hot = { depth: 1, bytes: 400, items: 6 };
const often = 500;         // calls told as near before they are told as hot
const again = 1000e6;      // nanoseconds after which a function may have all again
const turnsAtOnce = 32;    // of all functions within such a time

// Brief is one thread's.
export class Brief {
  // shared counts for all threads.
  constructor(shared) {
    this.shared = shared;
    this.spent = 0;
    this.turns = 0;
    this.turnsFrom = 0;
    this.now = null;   // how the record that is being written is told
  }

  // begin is called before the values of a record, and gives their depth.
  begin(fn, time) {
    const depth = fn.depth();
    this.now = null;
    if (fn.spent <= each || this.spent <= all && fn.spent <= spend || fn.isAsked() || this.turn(fn, time)) return depth;
    this.now = ++fn.brief > often ? hot : near;
    values.beginBrief(this.now.bytes, this.now.items);
    return Math.min(depth, this.now.depth);
  }

  // end is called behind them, with their bytes.
  end(fn, bytes) {
    if (this.now === null) {
      fn.spent += bytes;
      this.spent += bytes;
      return;
    }
    if (!values.endBrief()) return;
    this.shared.addCut(1, fn.wasCut ? 0 : 1);
    fn.wasCut = true;
  }

  turn(fn, time) {
    if (time - fn.since < again) return false;
    if (time - this.turnsFrom >= again) {
      this.turns = 0;
      this.turnsFrom = time;
    }
    if (this.turns >= turnsAtOnce) return false;
    this.turns++;
    fn.since = time;
    return true;
  }
}
