// What a program could see of the agent: the text of its functions and the columns in its stacks.
import { fileOf } from './scripts.js';

const { toString } = Function.prototype;
const textOf = f => Reflect.apply(toString, f, []);
const marker = /\$strobe_(\w{24})[^\[\n]{0,40}\[(\d+)\]/;

// startOf is where in the user's text a text begins in which the engine has our insertions: the first one is that of one
// of its functions, maybe an inner one.
function startOf(file, text, found) {
  const first = file.meta.functions[+found[2]], inserted = text.lastIndexOf('let $strobeC=', found.index);
  // A semicolon or a brace of ours can stand before it.
  return first.at - inserted + (file.text()[first.at - 1] === '{' ? 0 : 1);
}

// keepText gives functions the text that the user wrote.
export function keepText(agent) {
  const original = f => {
    const text = textOf(f), found = marker.exec(text);
    const file = found && agent.files && agent.files.byKey.get(found[1]);
    if (!file) return text;
    if (agent.bun) return printed(file, text, +found[2]);
    const at = startOf(file, text, found);
    const own = file.meta.functions.find(g => g.start === at);
    if (own) return file.text().slice(own.start, own.end);
    const type = file.meta.classes.find(c => c[0] === at);
    return type ? file.text().slice(type[0], type[1]) : text;
  };
  const disguised = new Proxy(toString, { apply(target, f, args) {
    if (f === disguised) return textOf(target);
    const text = Reflect.apply(target, f, args);
    return text.includes('$strobe_') ? original(f) : text;
  } });
  Object.defineProperty(Function.prototype, 'toString', { value: disguised, writable: true, configurable: true });
}

// namer gives a function the name that its calls have, '' where it has none: by its text, each function once.
export function namer(agent) {
  const names = new WeakMap(), most = 4096;
  const find = f => {
    const text = textOf(f).slice(0, most), found = marker.exec(text);
    const file = found && agent.files && agent.files.byKey.get(found[1]);
    if (!file || !file.names || /^class\b/.test(text)) return '';
    const at = agent.bun ? file.meta.functions[+found[2]].start : startOf(file, text, found);
    const own = file.meta.functions.find(g => g.start === at);
    return own ? `${file.names.module}.${own.name}` : '';
  };
  return f => {
    let name = names.get(f);
    if (name === undefined) names.set(f, name = find(f));
    return name;
  };
}

// printed finds a function's text where the engine got a text that was printed anew.
function printed(file, text, id) {
  const f = file.meta.functions[id];
  if (!/^class\b/.test(text)) return file.text().slice(f.start, f.end);
  const around = file.meta.classes.filter(c => c[0] < f.start && f.end <= c[1]).sort((a, b) => b[0] - a[0])[0];
  return around ? file.text().slice(around[0], around[1]) : text;
}

// placeOf is the place in the user's text of one in the instrumented text: [line, column], from 1.
export function placeOf(file, line, column) {
  if (!file.starts) {
    file.starts = [0];
    for (let i = file.code.indexOf('\n'); i >= 0; i = file.code.indexOf('\n', i + 1)) file.starts.push(i + 1);
  }
  const start = file.starts[line - 1];
  if (start === undefined) return [line, column];
  return [line, file.offset(start + column - 1) - file.offset(start) + 1];
}

// keepStacks gives stacks the columns that the user's text has. A program that formats stacks itself puts its own
// function in this one's place.
export function keepStacks(agent) {
  const before = Error.prepareStackTrace;   // Node's own, from version 20 on
  if (agent.options.maps() || before && before.name !== 'ErrorPrepareStackTrace') return;
  const prepare = function ErrorPrepareStackTrace(error, frames) {
    let head;
    try {
      head = Error.prototype.toString.call(error);
    } catch {
      head = '<error>';
    }
    const { raised } = agent, limit = Error.stackTraceLimit;
    let text = head, most = limit > 0 ? limit - (raised && raised.to === limit ? raised.by : 0) : Infinity;
    for (const frame of frames) {
      let line = String(frame);
      const name = frame.getFileName();
      if (typeof name === 'string' && name.startsWith(agent.own)) { // our _compile, and Node's own has its name again
        text = text.replace(/ Module\.<anonymous> (\([^\n]*)$/, ' Module._compile $1');
        continue;
      }
      if (--most < 0) break;
      const file = agent.files.byPath.get(fileOf(name));
      if (file && file.code !== null) {
        const at = `${frame.getLineNumber()}:${frame.getColumnNumber()}`, i = line.lastIndexOf(at);
        if (i >= 0) line = line.slice(0, i) + placeOf(file, frame.getLineNumber(), frame.getColumnNumber()).join(':') + line.slice(i + at.length);
      }
      text += `\n    at ${line}`;
    }
    return text;
  };
  Object.defineProperty(Error, 'prepareStackTrace', { value: prepare, writable: true, configurable: true, enumerable: !!before });
  // Source maps are switched on later: they are Node's own to show.
  agent.options.onMaps = () => {
    if (Error.prepareStackTrace === prepare) Error.prepareStackTrace = before;
  };
}
