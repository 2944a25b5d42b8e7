// Node 18.19 to 22.14: the hook on modules, in the thread that Node loads them in. It instruments; the program's
// thread finds what it made by its key.
import { Files } from './files.js';
import { Shared, readSet } from './shared.js';
import { compiled, fileOf, textOf } from './scripts.js';

let files = null, turn = 0;
// The program registered hooks, and ours were again: the new ones are around all others, and we who were first rest.
const latest = Symbol.for('$strobe.turn');

export async function initialize({ folder, parts, options, turn: mine }) {
  globalThis[latest] = turn = mine;
  const set = readSet(folder);
  if (set) files = new Files(folder, set, new Shared(parts, -1), () => {}, { finallyMode: options.finallyMode, maps: () => options.maps });
}

export async function load(url, context, next) {
  const loaded = await next(url, context);
  try {
    const file = turn === globalThis[latest] && loaded.format === 'module' && loaded.source && fileOf(url);
    if (!file || !files || !files.wants(file)) return loaded;
    const code = files.instrumented(textOf(loaded.source), { file, language: compiled(file), sourceType: 'module' });
    return code === null ? loaded : { ...loaded, source: code };
  } catch {
    return loaded;
  }
}
