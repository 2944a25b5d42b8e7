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
  let map, folder = path.dirname(file);
  try {
    if (url.startsWith('data:')) {
      const data = url.slice(url.indexOf(',') + 1);
      map = JSON.parse(/^[^,]*;base64,/.test(url) ? Buffer.from(data, 'base64').toString() : decodeURIComponent(data));
    } else {
      const own = path.resolve(folder, decodeURIComponent(url));
      map = JSON.parse(fs.readFileSync(own, 'utf8'));
      folder = path.dirname(own);
    }
  } catch {
    return null;
  }
  if (typeof map.mappings !== 'string' && !Array.isArray(map.sections)) return null;
  const lines = map.sections ? [] : decode(map.mappings);
  return new SourceMap(map.sections ? joined(map, lines) : map, lines, folder, at + 1);
}

// joined makes one map of one in sections, as bundlers write (Turbopack): its lines go into lines.
function joined({ file, sections }, lines) {
  const whole = { version: 3, file, sources: [], sourcesContent: [], names: [] };
  for (const { offset, map } of sections) {
    const source = whole.sources.length, name = whole.names.length, root = map.sourceRoot || '';
    decode(map.mappings).forEach((segments, i) => {
      const line = offset.line + i, shift = i === 0 ? offset.column : 0;
      while (lines.length <= line) lines.push([]);
      for (const [column, ...s] of segments) lines[line].push(s.length ? [column + shift, s[0] + source, s[1], s[2], ...s.slice(3).map(n => n + name)] : [column + shift]);
    });
    map.sources.forEach((s, i) => {
      whole.sources.push(s === null ? s : root + s);
      whole.sourcesContent.push(map.sourcesContent && map.sourcesContent[i] || null);
    });
    whole.names.push(...map.names || []);
  }
  return whole;
}

// A bundler's own code has names that are no paths.
function pathOf(source, folder, root) {
  if (source === null) return '';
  if (source.startsWith('turbopack:')) return source;
  return source.startsWith('file:') ? fileURLToPath(source) : path.resolve(folder, root || '', source);
}

class SourceMap {
  constructor(map, lines, folder, at) {
    this.map = map;
    this.lines = lines;
    this.at = at;         // of the comment in the text
    this.sources = map.sources.map(s => pathOf(s, folder, map.sourceRoot));
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

// names says whether a text names its map.
export function names(text) { return text.includes('\n' + comment); }

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
