// Source maps: which of the user's lines a function stands on, and maps that are right for instrumented text.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { decode, encode } from '@jridgewell/sourcemap-codec';

const comment = '//# sourceMappingURL=';

// read finds the map that a text names, or null.
export function read(text, file) {
  const at = text.lastIndexOf('\n' + comment);
  if (at < 0) return null;
  const stop = text.indexOf('\n', at + 1), url = text.slice(at + 1 + comment.length, stop < 0 ? undefined : stop).trim();
  let map;
  try {
    if (url.startsWith('data:')) {
      const data = url.slice(url.indexOf(',') + 1);
      map = JSON.parse(/^[^,]*;base64,/.test(url) ? Buffer.from(data, 'base64').toString() : decodeURIComponent(data));
    } else {
      map = JSON.parse(fs.readFileSync(path.resolve(path.dirname(file), url), 'utf8'));
    }
  } catch {
    return null;
  }
  if (!map.mappings || map.sections) return null;
  const folder = url.startsWith('data:') ? path.dirname(file) : path.dirname(path.resolve(path.dirname(file), url));
  return new SourceMap(map, decode(map.mappings), folder, at + 1);
}

class SourceMap {
  constructor(map, lines, folder, at) {
    this.map = map;
    this.lines = lines;
    this.at = at;         // of the comment in the text
    this.sources = map.sources.map(s => s === null ? '' : s.startsWith('file:') ? fileURLToPath(s) : path.resolve(folder, map.sourceRoot || '', s));
  }

  // original finds where a function is in the user's source. One at which no mapping starts was made by the compiler.
  original(line, column) {
    const segments = this.lines[line - 1] || [];
    let low = 0, high = segments.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (segments[middle][0] === column) {
        const s = segments[middle];
        return s.length === 1 ? null : { line: s[2] + 1, file: this.sources[s[1]] };
      }
      if (segments[middle][0] < column) low = middle + 1;
      else high = middle - 1;
    }
    return null;
  }

  // shifted is the instrumented text with the map moved by the insertions.
  shifted(text, code, edits) {
    const starts = lineStarts(text);
    let line = 0;
    for (let i = 0; i < edits.length;) {
      while (line + 1 < starts.length && starts[line + 1] <= edits[i][0]) line++;
      const end = line + 1 < starts.length ? starts[line + 1] : Infinity;
      let k = i, shift = 0;
      for (const s of this.lines[line] || []) {
        while (k < edits.length && edits[k][0] < end && edits[k][0] - starts[line] <= s[0]) shift += edits[k++][1];
        s[0] += shift;
      }
      while (i < edits.length && edits[i][0] < end) i++;
    }
    const map = { ...this.map, sources: this.sources, sourceRoot: undefined, mappings: encode(this.lines) };
    return withoutMap(code) + withMap(map);
  }
}

export function lineStarts(text) {
  const starts = [0];
  for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) starts.push(i + 1);
  return starts;
}

function withMap(map) {
  return `\n${comment}data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
}

// withoutMap takes the comment out that names a text's map: the text is no longer what the map is of.
export function withoutMap(code) {
  const at = code.lastIndexOf('\n' + comment);
  if (at < 0) return code;
  const stop = code.indexOf('\n', at + 1);
  return code.slice(0, at) + (stop < 0 ? '' : code.slice(stop));
}

// identity maps instrumented text to the user's own, word by word: engines take a position for the mapping before it,
// without the columns in between.
export function identity(text, edits, file) {
  const starts = lineStarts(text), lines = [];
  let k = 0;
  for (let l = 0; l < starts.length; l++) {
    const segments = [[0, 0, l, 0]];
    let shift = 0;
    for (const word of text.slice(starts[l], starts[l + 1]).matchAll(/[\w$]+|[^\s\w$]/g)) {
      while (k < edits.length && edits[k][0] <= starts[l] + word.index) shift += edits[k++][1];
      if (word.index + shift > 0) segments.push([word.index + shift, 0, l, word.index]);
    }
    while (k < edits.length && edits[k][0] < starts[l + 1]) k++;
    lines.push(segments);
  }
  return { version: 3, file: '$strobe', sources: [file], names: [], mappings: encode(lines) };
}

export function withIdentity(text, code, edits, file) { return code + withMap(identity(text, edits, file)); }
