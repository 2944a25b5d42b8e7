// Where Node and Deno take a file's text on its way to the engine.
import fs from 'node:fs';
import Module from 'node:module';
import path from 'node:path';
import vm from 'node:vm';
import worker from 'node:worker_threads';
import { pathToFileURL } from 'node:url';
import { compiled, fileOf, textOf } from './scripts.js';
import { threadNameKey } from './shared.js';
import { isMainThread } from './threads.js';

const { readFileSync } = fs;

// install puts the hooks in. files() makes the agent ready at the first file that it wants.
export function install(agent) {
  hookCommonJS(agent);
  hookModules(agent);
  hookVM(agent);
  if (!agent.deno) hookWorkers(agent);
  Module.syncBuiltinESMExports();
}

// Every transpiler of CommonJS (ts-node, tsx, babel-register) ends in _compile.
function hookCommonJS(agent) {
  const compile = Module.prototype._compile;
  agent.compile = (module, text, file) => Reflect.apply(compile, module, [text, file]);
  agent.load = file => {
    const module = new Module(file);
    module.filename = file;
    agent.compile(module, readFileSync(file, 'utf8'), file);
    return module.exports;
  };
  Module.prototype._compile = function _compile(content, filename, ...rest) {
    if (typeof content === 'string' && agent.wants(filename)) {
      const raw = typeof rest[0] === 'string' && rest[0].includes('typescript');
      const sourceType = typeof rest[0] === 'string' && rest[0].startsWith('module') ? 'module' : 'unambiguous';
      content = agent.instrumented(content, { file: filename, language: raw ? filename : compiled(filename), sourceType }) || content;
    }
    // Stacks are shown without this frame: one more is taken for it, while it stands.
    const limit = Error.stackTraceLimit, before = agent.raised;
    const more = limit > 0 && Reflect.set(Error, 'stackTraceLimit', limit + 1);
    if (more) agent.raised = { to: limit + 1, by: before && before.to === limit ? before.by + 1 : 1 };
    try {
      return Reflect.apply(compile, this, [content, filename, ...rest]);
    } finally {
      agent.raised = before;
      if (more && Error.stackTraceLimit === limit + 1) Reflect.set(Error, 'stackTraceLimit', limit);
    }
  };
}

function hookModules(agent) {
  if (Module.registerHooks) {
    outermost(agent, 'registerHooks', () => Module.registerHooks({ load(url, context, next) {
      const loaded = next(url, context);
      if (agent.deno && hasLoader(url, context)) return undefined;
      if (!loaded || !loaded.source || !isModule(agent, url, loaded)) return loaded;
      const file = fileOf(url);
      if (!file || !agent.wants(file) || agent.deno && isCommonJS(file, textOf(loaded.source), context)) return loaded;
      const language = loaded.format === 'module-typescript' ? file : compiled(file);
      const code = agent.instrumented(textOf(loaded.source), { file, language, sourceType: 'module' });
      return code === null ? loaded : { ...loaded, source: code };
    } }));
  } else if (Module.register && !agent.entered && mayLoadModules(agent)) {
    // Node 18.19 to 22.14: a thread of Node's own loads modules, and hooks run there.
    agent.shareWith(globalThis);
    let turn = 0;
    outermost(agent, 'register', () => Module.register(`./loader.mjs?${++turn}`, { parentURL: pathToFileURL(__filename), data: { folder: agent.folder, parts: agent.shared.parts, options: agent.options.plain(), turn } }));
  }
}

// outermost keeps our hook around those that the program registers (tsx, ts-node): hooks that come last are called first,
// and what they make of TypeScript is to come to us.
function outermost(agent, name, register) {
  let ours = register();
  if (agent.deno) return;
  const original = Module[name];
  const around = { [name](...args) {
    const theirs = Reflect.apply(original, this, args);
    Module[name] = original;
    try {
      if (ours) ours.deregister();
      ours = register();
    } catch {
      // Ours stay where they were, or there are none: the program goes on as it is.
    } finally {
      Module[name] = around;
    }
    return theirs;
  } }[name];
  Module[name] = around;
}

// hasLoader: where there is a load hook, Deno passes over the loaders of the program's own (require.extensions) unless the
// hook gives nothing.
const loaders = { ...Module._extensions };
function hasLoader(url, context) {
  const extension = path.extname(fileOf(url));
  return Module._extensions[extension] !== loaders[extension] && isRequired(context);
}

// isCommonJS: what is required and has nothing of a module comes to _compile, as in Node.
function isCommonJS(file, text, context) {
  return !/\.m[jt]s$/.test(file) && isRequired(context) && !/\b(?:import|export)\b/.test(text);
}

function isRequired(context) { return !!context && Array.isArray(context.conditions) && context.conditions.includes('require'); }

// Deno gives no format, and the text as it has compiled it.
function isModule(agent, url, loaded) {
  return loaded.format === 'module' || loaded.format === 'module-typescript'
    || agent.deno && !loaded.format && typeof loaded.source === 'string' && !/\.c[jt]s$/.test(url);
}

// mayLoadModules keeps the loader's thread, which costs 20 ms, from programs that are none of the user's: npm, say. A
// worker does not know its script yet: what holds for the program holds for it. The loader's thread has no parent to
// speak with.
function mayLoadModules(agent) {
  const { parts } = agent.shared;
  if (isMainThread) {
    const script = process.argv[1] || '', packages = script.indexOf('/node_modules/');
    // A workspace's tools are in a folder above its packages.
    parts.modules = script.startsWith(agent.root + '/')
      || packages > 0 && agent.root.startsWith(script.slice(0, packages) + '/');
  }
  return parts.modules === true && (isMainThread || worker.parentPort !== null);
}

// A worker that is given an environment or options of its own would not load what this thread was told to. Its name it
// finds in the environment data, which is copied when it is made.
function hookWorkers(agent) {
  const { Worker, setEnvironmentData } = worker;
  worker.Worker = new Proxy(Worker, { construct(target, args, newTarget) {
    const made = newTarget === worker.Worker ? target : newTarget, options = args[1];
    setEnvironmentData(threadNameKey, options && typeof options.name === 'string' ? options.name : undefined);
    if (options && (options.env || options.execArgv)) {
      const execArgv = ['--require', agent.own + 'agent.cjs', ...(options.execArgv || process.execArgv)];
      try {
        return Reflect.construct(target, [args[0], { ...options, execArgv }, ...args.slice(2)], made);
      } catch {
        // Options that only a process takes: then as the program says.
      }
    }
    return Reflect.construct(target, args, made);
  } });
}

// Jest and Vitest compile files themselves.
function hookVM(agent) {
  const changed = (code, options, wrapped, sourceType) => {
    const file = fileOf(typeof options === 'string' ? options : options && options.filename);
    if (typeof code !== 'string' || !file || !agent.wants(file)) return code;
    return agent.instrumented(code, { file, language: compiled(file), sourceType, wrapped, caught: true }) || code;
  };
  const constructing = (name, change) => {
    const original = vm[name];
    if (!original) return;
    vm[name] = new Proxy(original, { construct(target, args, newTarget) {
      return Reflect.construct(target, change(args), newTarget === vm[name] ? target : newTarget);
    } });
  };
  constructing('Script', args => [changed(args[0], args[1], true, 'script'), ...args.slice(1)]);
  constructing('SourceTextModule', args => {
    const file = fileOf(args[1] && args[1].identifier);
    return [changed(args[0], file, false, 'module'), ...args.slice(1)];
  });
  for (const [name, at] of [['runInThisContext', 1], ['runInContext', 2], ['runInNewContext', 2]]) {
    const original = vm[name];
    vm[name] = { [name](...args) {
      return Reflect.apply(original, this, [changed(args[0], args[at], true, 'script'), ...args.slice(1)]);
    } }[name];
  }
  const { compileFunction, createContext } = vm;
  vm.compileFunction = function (code, ...rest) {
    return Reflect.apply(compileFunction, this, [changed(code, rest[1], false, 'script'), ...rest]);
  };
  vm.createContext = function (...args) {
    const context = Reflect.apply(createContext, this, args);
    agent.shareWith(context);
    return context;
  };
}
