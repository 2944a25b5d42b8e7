// Big packages instrumented with every flag on, and a recorder that only counts: what they make must be the same.
// Arguments: a node_modules folder, catch or finally.
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { instrument } = require('../agent/dist/transform.cjs');

const [modules, mode] = process.argv.slice(2);
let calls = 0;
const enter = () => { calls++; return 1; }, nothing = () => {}, second = (c, v) => v;
const on = new Uint8Array(1 << 20).fill(1);
globalThis.$strobe = { file: () => on, e: enter, ea: enter, eg: enter, r: nothing, ra: nothing, rg: nothing, x: nothing, xa: nothing, xf: nothing,
  u: nothing, w: nothing, wy: nothing, y: nothing, i: second, d: second };
globalThis.$strobe_t = v => v;

function load(file, instrumented) {
  let text = fs.readFileSync(file, 'utf8');
  if (instrumented) {
    const how = { file, language: file, sourceType: 'script', key: 'k'.repeat(24), finallyMode: mode === 'finally' };
    text = instrument(text, how).code;
  }
  const module = { exports: {} }, require2 = id => require(id.startsWith('.') ? path.resolve(path.dirname(file), id) : id);
  const run = vm.compileFunction(text, ['exports', 'require', 'module', '__filename', '__dirname'], { filename: file });
  Reflect.apply(run, module.exports, [module.exports, require2, module, file, path.dirname(file)]);
  return module.exports;
}

const text = fs.readFileSync(path.join(modules, 'acorn/dist/acorn.js'), 'utf8');
const json = v => JSON.stringify(v, (k, x) => typeof x === 'bigint' ? String(x) : x);
const types = 'interface A<T> { x: T; f(this: A<T>): Promise<T> } enum E { A = 1, B = A << 2 } class C { #p = 1; async *g() { yield this.#p } }\nexport const y: number = "a"';
const programs = {
  'acorn/dist/acorn.js': m => json(m.parse(text, { ecmaVersion: 2022, sourceType: 'script' })),
  '@babel/parser/lib/index.js': m => json(m.parse(text, { sourceType: 'unambiguous', plugins: ['typescript'] })),
  'meriyah/dist/meriyah.cjs': m => json(m.parseScript(text)),
  'typescript/lib/typescript.js': m => [1, 5, 99].map(target => m.transpileModule(types.repeat(20).replaceAll(/export/g, ';'),
    { compilerOptions: { target }, reportDiagnostics: true }).outputText).join() + m.transpileModule(text, { compilerOptions: { target: 1 } }).outputText,
};
for (const [name, run] of Object.entries(programs)) {
  const file = path.join(modules, name);
  console.log(name, run(load(file, false)) === run(load(file, true)) ? 'equal' : 'different');
}
if (calls < 1e6) throw new Error(`only ${calls} calls`);
