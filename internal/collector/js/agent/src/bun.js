// Where Bun takes a file's text on its way to the engine: a plugin's onLoad. It cannot fall through, and takes CommonJS
// for a module (oven-sh/bun#39786): a CommonJS file of the user's becomes a module that hands on what our own loader
// below has run.
import fs from 'node:fs';
import path from 'node:path';
import { threads } from './threads.js';

// What only programs with files of the user's need.
const Module = () => require('node:module');

const { readFileSync } = fs;

export function installBun(agent) {
  const root = agent.root.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\/$/, '');
  const modules = new CommonJS(agent);
  agent.commonJS = file => modules.load(file);
  Bun.plugin({ name: 'strobe', setup(build) {
    build.onLoad({ filter: new RegExp(`^${root}/(?!.*/?node_modules/).*\\.[cm]?[jt]sx?$`) }, ({ path: file }) => {
      const text = readFileSync(file, 'utf8');
      const extension = /\.([cm]?[jt]sx?)$/.exec(file)[1];
      const loader = extension.endsWith('tsx') ? 'tsx' : extension.endsWith('ts') ? 'ts' : 'jsx';
      const wanted = agent.wants(file);
      if (wanted && !agent.recorder) hookWorkers(agent);
      if (wanted) agent.begin();
      // Also what is not wanted, as when strobe is gone: nothing can be left to Bun here.
      if (isCommonJS(agent, text, file, extension)) return { contents: modules.stub(file, text), loader: 'js' };
      if (!wanted) return { contents: text, loader };
      return { contents: agent.instrumented(text, { file, language: file, sourceType: 'module' }) || text, loader };
    });
  } });
  flushAfterTests(agent);
}

// isCommonJS decides as Bun does: by the ending, else by what the text says.
function isCommonJS(agent, text, file, extension) {
  if (extension[0] === 'c') return true;
  if (extension[0] === 'm' || !/\b(?:require|exports|module|__filename|__dirname)\b|['"]use strict['"]/.test(text)) return false;
  if (!/\b(?:import|export)\b/.test(text)) return true;
  try {
    return agent.ready().parse(text, file).program.sourceType === 'script';
  } catch {
    return false;
  }
}

// CommonJS runs the user's CommonJS files, each once.
class CommonJS {
  constructor(agent) {
    this.agent = agent;
    this.cache = new Map();
    this.main = null;
  }

  // stub is the module that an import of the file gets. Its names are those that the text is seen to export.
  stub(file, text) {
    const names = new Set();
    for (const m of text.matchAll(/\bexports\.([A-Za-z_$][\w$]*)\s*=/g)) names.add(m[1]);
    for (const m of text.matchAll(/module\.exports\s*=\s*\{([^}]*)\}/g)) {
      for (const part of m[1].split(',')) {
        const name = /^\s*([A-Za-z_$][\w$]*)/.exec(part);
        if (name) names.add(name[1]);
      }
    }
    names.delete('default');
    const exported = [...names].map((n, i) => `const $${i}=e.${n};export{$${i} as ${n}};`).join('');
    return `const e=globalThis.$strobeCommonJS(${JSON.stringify(file)}).exports;export{e as default,e as "module.exports"};${exported}`;
  }

  load(file) {
    const known = this.cache.get(file);
    if (known) return known;
    const module = new (Module())(file);
    this.cache.set(file, module);
    module.filename = file;
    module.paths = Module()._nodeModulePaths ? Module()._nodeModulePaths(path.dirname(file)) : [];
    let text = readFileSync(file, 'utf8').replace(/^#!.*/, '');
    // Types go first: the compiler of functions takes none. They leave no line behind, and the map says where it was.
    if (/\.[cm]?tsx?$/.test(file)) text = new Bun.Transpiler({ loader: file.endsWith('x') ? 'tsx' : 'ts' }).transformSync(text);
    const language = file.replace(/\.([cm]?)ts(x?)$/, '.$1js$2');
    text = this.agent.wants(file) && this.agent.instrumented(text, { file, language, sourceType: 'script' }) || text;
    const require = this.requireOf(file, module);
    // By its URL: what has the file's path is the stub, whose map would be laid over these positions. vm.compileFunction
    // counts a line too much.
    const vm = require('node:vm');
    const script = new vm.Script(`(function (exports, require, module, __filename, __dirname) {${text}\n})`, {
      filename: require('node:url').pathToFileURL(file).href, importModuleDynamically: vm.constants && vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER });
    Reflect.apply(script.runInThisContext(), module.exports, [module.exports, require, module, file, path.dirname(file)]);
    module.loaded = true;
    return module;
  }

  requireOf(file, module) {
    const real = Module().createRequire(file), { cache } = this;
    const require = id => {
      let found;
      try {
        found = real.resolve(id);
      } catch {
        return real(id);
      }
      if (cache.has(found)) return cache.get(found).exports;
      const exported = real(id), loaded = cache.get(found);
      return loaded ? loaded.exports : exported;
    };
    if (file === Bun.main) this.main = module;
    module.require = require;
    return Object.assign(require, { resolve: real.resolve, cache: real.cache, extensions: Module()._extensions, main: this.main || process.mainModule });
  }
}

// hookWorkers: a worker does not load what its process was told to load first.
function hookWorkers(agent) {
  agent.Thread = threads().Worker;
  for (const owner of [globalThis, threads()]) {
    const { Worker } = owner;
    if (!Worker) continue;
    owner.Worker = new Proxy(Worker, { construct(target, [script, options, ...rest], newTarget) {
      const more = { ...options, preload: [agent.own + 'agent.cjs'].concat(options && options.preload || []) };
      return Reflect.construct(target, [script, more, ...rest], newTarget === owner.Worker ? target : newTarget);
    } });
  }
}

// flushAfterTests: a run of tests ends without an exit event.
function flushAfterTests(agent) {
  try {
    require('bun:test').afterAll(() => agent.end());
  } catch {
    // No run of tests.
  }
}
