// Uses the language's and the runtime's own hooks, and says what they saw.
const Module = require('module');
const { AsyncLocalStorage, createHook } = require('async_hooks');
const inspector = require('inspector');
const path = require('path');
const seen = {};
function watched(n) {
  const m = n + 1;
  return m;
}
async function waits(n) {
  await null;
  return watched(n);
}
function count(what) { seen[what] = (seen[what] || 0) + 1; }
function places(error, frames) {
  return frames.slice(0, 2).map(f => f.getFunctionName() + ':' + f.getLineNumber()).join(' ');
}
function profile() {
  const session = new inspector.Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  watched(2);
  watched(3);
  session.post('Profiler.takePreciseCoverage', (error, taken) => {
    if (!taken) return;   // Deno has none
    for (const script of taken.result) for (const f of script.functions) {
      if (f.functionName === 'watched') seen.coverage = f.ranges[0].count;
    }
  });
  session.disconnect();
}
async function main() {
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = places;
  seen.stack = new Error('here').stack;
  Error.prepareStackTrace = prepareStackTrace;
  const { _compile } = Module.prototype;
  Module.prototype._compile = function (text, file, ...rest) {
    count('compile ' + text.length);
    return _compile.call(this, text, file, ...rest);
  };
  seen.loaded = require('./hooks_more.js').more(1);
  Module._extensions['.py'] = (module, file) => { module.exports = path.basename(file); };
  seen.extension = require('../python/hooks.py');
  Module.prototype._compile = _compile;
  watched(1);
  profile();
  const promises = new Set();
  const hook = createHook({
    init(id, type) { if (type === 'PROMISE') promises.add(id); },
    before(id) { if (promises.has(id)) count('async before'); },
  }).enable();
  await waits(4);
  hook.disable();
  const storage = new AsyncLocalStorage();
  seen.stored = await storage.run('kept', async () => {
    await waits(5);
    return storage.getStore();
  });
  process.on('exit', () => {
    watched(6);
    console.log(JSON.stringify(seen));
  });
}
main();
