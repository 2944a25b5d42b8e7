// What a program could see of the agent: the text of its functions and the columns in its stacks.
import { fileOf } from './scripts.js';

// keepText gives functions the text that the user wrote.
export function keepText(agent) {
  const { toString } = Function.prototype;
  const textOf = f => Reflect.apply(toString, f, []);
  const original = f => {
    const text = textOf(f), m = /\$strobe_(\w{24})[^\[\n]{0,40}\[(\d+)\]/.exec(text);
    const file = m && agent.files && agent.files.byKey.get(m[1]);
    if (!file) return text;
    if (agent.bun) return printed(file, text, +m[2]);
    // The first insertion in the text is that of one of its functions, maybe an inner one: from its place to the start.
    const first = file.meta.functions[+m[2]], inserted = text.lastIndexOf('let $strobeC=', m.index);
    // A semicolon or a brace of ours can stand before it.
    const at = first.at - inserted + (file.text()[first.at - 1] === '{' ? 0 : 1);
    const all = file.meta.functions;
    const own = all.find(g => g.start === at);
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
    let text = head;
    for (const frame of frames) {
      let line = String(frame);
      const file = agent.files.byPath.get(fileOf(frame.getFileName()));
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
