// Places in a script's text, as the debugger has them, and the user's: the text that runs is the instrumented one, and
// maybe one that a compiler made.
import * as sourcemap from './sourcemap.js';

// A Text is one script. file: a ProgramFile, or null where the text is the user's own; starts: lines and columns before
// the text that are not of it.
export class Text {
  constructor(path, code, file, startLine, startColumn) {
    this.path = path;
    this.code = code;
    this.file = file;
    this.startLine = startLine;
    this.startColumn = startColumn;
    this.starts = sourcemap.lineStarts(code);
    const kind = file && file.meta.map;
    this.moved = kind === 'moved';
    this.map = kind ? sourcemap.read(this.moved ? code : file.text(), path) : null;
    if (this.map) for (const line of this.map.lines) line.sort((a, b) => a[0] - b[0]);
    this.userStarts = file ? sourcemap.lineStarts(file.text()) : this.starts;
  }

  // files are those of the user's that the text is of.
  files() { return this.map ? this.map.sources.filter(s => s !== '') : [this.path]; }

  offsetOf({ lineNumber, columnNumber }) {
    const line = lineNumber - this.startLine;
    if (line < 0 || line >= this.starts.length) return 0;
    return this.starts[line] + (columnNumber || 0) - (line === 0 ? this.startColumn : 0);
  }

  locationOf(scriptId, offset) {
    const line = lineOf(this.starts, offset);
    return { scriptId, lineNumber: line + this.startLine, columnNumber: offset - this.starts[line] + (line === 0 ? this.startColumn : 0) };
  }

  // place is where a location is: {file, line, at (in the text before it was instrumented), fn, inserted}. start: the
  // location at which the function begins, where that is known.
  place(location, start) {
    const offset = this.offsetOf(location);
    if (!this.file) return { file: this.path, line: location.lineNumber + 1, at: offset, fn: null, inserted: false };
    const { at, inserted } = this.before(offset);
    // What the file itself does begins with what was inserted there.
    const begins = start ? this.before(this.offsetOf(start)) : { at, inserted: false };
    const fn = begins.inserted ? null : functionAt(this.file.meta.functions, begins.at);
    let place = null;
    if (this.map) {
      const starts = this.moved ? this.starts : this.userStarts, from = this.moved ? offset : at, line = lineOf(starts, from);
      place = this.mapped(line, from - starts[line]);
    }
    // The return of an arrow function without a block is ours, and where it begins.
    const ours = inserted && !this.code.startsWith('return ', offset);
    if (place) return { ...place, at, fn, inserted: ours };
    return { file: this.path, line: lineOf(this.userStarts, at) + 1, at, fn, inserted: ours, unmapped: !!this.map };
  }

  // before is the place in the text before it was instrumented.
  before(offset) {
    const { edits } = this.file.meta;
    let shift = 0;
    for (let i = 0; i < edits.length; i += 2) {
      const start = edits[i] + shift;
      if (offset < start) break;
      if (offset < start + edits[i + 1]) return { at: edits[i], inserted: true };
      shift += edits[i + 1];
    }
    return { at: offset - shift, inserted: false };
  }

  // after is the place in the text that runs of one before it was instrumented, behind what was inserted there.
  after(at) {
    const { edits } = this.file.meta;
    let shift = 0;
    for (let i = 0; i < edits.length && edits[i] <= at; i += 2) shift += edits[i + 1];
    return at + shift;
  }

  // bodyOf is where a function's body begins, behind what was inserted there to record it.
  bodyOf(fn) { return this.headAndBody(fn)[1]; }

  // headOf is where that begins.
  headOf(fn) { return this.headAndBody(fn)[0]; }

  headAndBody(fn) {
    const { edits } = this.file.meta;
    let shift = 0, head = fn.at;
    for (let i = 0; i < edits.length && edits[i] <= fn.at; i += 2) {
      head = edits[i] + shift;
      shift += edits[i + 1];
      if (edits[i] === fn.at && this.code.slice(head, head + 20).includes('let $strobeC=')) break;
    }
    return [head, fn.at + shift];
  }

  mapped(line, column) {
    const segments = this.map.lines[line] || [];
    let low = 0, high = segments.length - 1, best = null;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (segments[middle][0] <= column) {
        best = segments[middle];
        low = middle + 1;
      } else high = middle - 1;
    }
    return best && best.length > 1 ? { file: this.map.sources[best[1]], line: best[2] + 1 } : null;
  }

  // ranges are the parts of the text that hold a line of a file of the user's, or the next one with text: [{line, from, to}],
  // by line. Only those from the line on, at most n lines.
  ranges(file, line, n) {
    const ranges = [];
    if (!this.map) {
      const last = Math.min(this.userStarts.length, line - 1 + n);
      for (let l = line - 1; l < last; l++) ranges.push({ line: l + 1, from: this.starts[l], to: this.starts[l + 1] === undefined ? this.code.length : this.starts[l + 1] - 1 });
      return ranges;
    }
    const source = this.map.sources.indexOf(file), found = new Map();
    this.map.lines.forEach((segments, l) => {
      for (const s of segments) {
        if (s.length === 1 || s[1] !== source || s[2] + 1 < line || s[2] + 1 >= line + n) continue;
        const of = found.get(s[2] + 1) || found.set(s[2] + 1, new Set()).get(s[2] + 1);
        of.add(l);
      }
    });
    for (const l of [...found.keys()].sort((a, b) => a - b)) {
      for (const g of found.get(l)) ranges.push({ line: l, from: this.starts[g], to: this.starts[g + 1] === undefined ? this.code.length : this.starts[g + 1] - 1 });
    }
    return ranges;
  }
}

function lineOf(starts, offset) {
  let low = 0, high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

// functionAt is the innermost function around a place.
function functionAt(functions, at) {
  let best = null;
  for (const f of functions) if (f.start <= at && at < f.end && (!best || f.start >= best.start)) best = f;
  return best;
}
