var __create = Object.create;
var __defProp = Object.defineProperty;
var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __getProtoOf = Object.getPrototypeOf;
var __hasOwnProp = Object.prototype.hasOwnProperty;
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};
var __copyProps = (to, from, except, desc) => {
  if (from && typeof from === "object" || typeof from === "function") {
    for (let key of __getOwnPropNames(from))
      if (!__hasOwnProp.call(to, key) && key !== except)
        __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
  }
  return to;
};
var __toESM = (mod, isNodeMode, target) => (target = mod != null ? __create(__getProtoOf(mod)) : {}, __copyProps(
  // If the importer is in node compatibility mode or this is not an ESM
  // file that has been converted to a CommonJS file using a Babel-
  // compatible transform (i.e. "__esModule" has not been set), then set
  // "default" to the CommonJS "module.exports" for node compatibility.
  isNodeMode || !mod || !mod.__esModule ? __defProp(target, "default", { value: mod, enumerable: true }) : target,
  mod
));
var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

// src/hooks.js
var hooks_exports = {};
__export(hooks_exports, {
  install: () => install
});
module.exports = __toCommonJS(hooks_exports);
var import_node_fs2 = __toESM(require("node:fs"), 1);
var import_node_module = __toESM(require("node:module"), 1);
var import_node_path2 = __toESM(require("node:path"), 1);
var import_node_vm = __toESM(require("node:vm"), 1);
var import_node_worker_threads = __toESM(require("node:worker_threads"), 1);
var import_node_url2 = require("node:url");

// src/scripts.js
var import_node_path = __toESM(require("node:path"), 1);
var import_node_url = require("node:url");
function fileOf(name) {
  if (typeof name !== "string") return "";
  try {
    if (name.startsWith("file:")) return (0, import_node_url.fileURLToPath)(name.split(/[?#]/)[0]);
  } catch {
    return "";
  }
  return import_node_path.default.isAbsolute(name) ? name.split("?")[0] : "";
}
function compiled(file) {
  return file.replace(/\.([cm]?)ts(x?)$/, ".$1js$2");
}
function textOf(source) {
  if (typeof source === "string") return source;
  return Buffer.from(source.buffer || source, source.byteOffset, source.byteLength).toString("utf8");
}

// src/shared.js
var import_node_fs = __toESM(require("node:fs"), 1);

// src/threads.js
var threads = () => require("node:worker_threads");
var isMainThread = process.versions.bun ? Bun.isMainThread : threads().isMainThread;

// src/shared.js
var { readFileSync } = import_node_fs.default;
var maxFunctions = 1 << 20;
var maxWaiting = 64;
var at = { functions: 0, flags: 1, streams: 2, lanes: 3, gen: 4, control: 5, told: 6, points: 7, refs: 8, cut: 9, cutFunctions: 10, placed: 16, hits: 16 + maxWaiting };
var threadNameKey = "$strobeName";

// src/hooks.js
var { readFileSync: readFileSync2 } = import_node_fs2.default;
function install(agent) {
  hookCommonJS(agent);
  hookModules(agent);
  hookVM(agent);
  if (!agent.deno) hookWorkers(agent);
  import_node_module.default.syncBuiltinESMExports();
}
function hookCommonJS(agent) {
  const compile = import_node_module.default.prototype._compile;
  agent.compile = (module2, text, file) => Reflect.apply(compile, module2, [text, file]);
  agent.load = (file) => {
    const module2 = new import_node_module.default(file);
    module2.filename = file;
    agent.compile(module2, readFileSync2(file, "utf8"), file);
    return module2.exports;
  };
  import_node_module.default.prototype._compile = function _compile(content, filename, ...rest) {
    if (typeof content === "string" && agent.wants(filename)) {
      const raw = typeof rest[0] === "string" && rest[0].includes("typescript");
      const sourceType = typeof rest[0] === "string" && rest[0].startsWith("module") ? "module" : "unambiguous";
      content = agent.instrumented(content, { file: filename, language: raw ? filename : compiled(filename), sourceType }) || content;
    }
    const limit = Error.stackTraceLimit, before = agent.raised;
    const more = limit > 0 && Reflect.set(Error, "stackTraceLimit", limit + 1);
    if (more) agent.raised = { to: limit + 1, by: before && before.to === limit ? before.by + 1 : 1 };
    try {
      return Reflect.apply(compile, this, [content, filename, ...rest]);
    } finally {
      agent.raised = before;
      if (more && Error.stackTraceLimit === limit + 1) Reflect.set(Error, "stackTraceLimit", limit);
    }
  };
}
function hookModules(agent) {
  if (import_node_module.default.registerHooks) {
    outermost(agent, "registerHooks", () => import_node_module.default.registerHooks({ load(url, context, next) {
      const loaded = next(url, context);
      if (agent.deno && hasLoader(url, context)) return void 0;
      if (!loaded || !loaded.source || !isModule(agent, url, loaded)) return loaded;
      const file = fileOf(url);
      if (!file || !agent.wants(file) || agent.deno && isCommonJS(file, textOf(loaded.source), context)) return loaded;
      const language = loaded.format === "module-typescript" ? file : compiled(file);
      const code = agent.instrumented(textOf(loaded.source), { file, language, sourceType: "module" });
      return code === null ? loaded : { ...loaded, source: code };
    } }));
  } else if (import_node_module.default.register && !agent.entered && mayLoadModules(agent)) {
    agent.shareWith(globalThis);
    let turn = 0;
    outermost(agent, "register", () => import_node_module.default.register(`./loader.mjs?${++turn}`, { parentURL: (0, import_node_url2.pathToFileURL)(__filename), data: { folder: agent.folder, parts: agent.shared.parts, options: agent.options.plain(), turn } }));
  }
}
function outermost(agent, name, register) {
  let ours = register();
  if (agent.deno) return;
  const original = import_node_module.default[name];
  const around = { [name](...args) {
    const theirs = Reflect.apply(original, this, args);
    import_node_module.default[name] = original;
    try {
      if (ours) ours.deregister();
      ours = register();
    } catch {
    } finally {
      import_node_module.default[name] = around;
    }
    return theirs;
  } }[name];
  import_node_module.default[name] = around;
}
var loaders = { ...import_node_module.default._extensions };
function hasLoader(url, context) {
  const extension = import_node_path2.default.extname(fileOf(url));
  return import_node_module.default._extensions[extension] !== loaders[extension] && isRequired(context);
}
function isCommonJS(file, text, context) {
  return !/\.m[jt]s$/.test(file) && isRequired(context) && !/\b(?:import|export)\b/.test(text);
}
function isRequired(context) {
  return !!context && Array.isArray(context.conditions) && context.conditions.includes("require");
}
function isModule(agent, url, loaded) {
  return loaded.format === "module" || loaded.format === "module-typescript" || agent.deno && !loaded.format && typeof loaded.source === "string" && !/\.c[jt]s$/.test(url);
}
function mayLoadModules(agent) {
  const { parts } = agent.shared;
  if (isMainThread) {
    const script = process.argv[1] || "", packages = script.indexOf("/node_modules/");
    parts.modules = script.startsWith(agent.root + "/") || packages > 0 && agent.root.startsWith(script.slice(0, packages) + "/");
  }
  return parts.modules === true && (isMainThread || import_node_worker_threads.default.parentPort !== null);
}
function hookWorkers(agent) {
  const { Worker, setEnvironmentData } = import_node_worker_threads.default;
  import_node_worker_threads.default.Worker = new Proxy(Worker, { construct(target, args, newTarget) {
    const made = newTarget === import_node_worker_threads.default.Worker ? target : newTarget, options = args[1];
    setEnvironmentData(threadNameKey, options && typeof options.name === "string" ? options.name : void 0);
    if (options && (options.env || options.execArgv)) {
      const execArgv = ["--require", agent.own + "agent.cjs", ...options.execArgv || process.execArgv];
      try {
        return Reflect.construct(target, [args[0], { ...options, execArgv }, ...args.slice(2)], made);
      } catch {
      }
    }
    return Reflect.construct(target, args, made);
  } });
}
function hookVM(agent) {
  const changed = (code, options, wrapped, sourceType) => {
    const file = fileOf(typeof options === "string" ? options : options && options.filename);
    if (typeof code !== "string" || !file || !agent.wants(file)) return code;
    return agent.instrumented(code, { file, language: compiled(file), sourceType, wrapped, caught: true }) || code;
  };
  const constructing = (name, change) => {
    const original = import_node_vm.default[name];
    if (!original) return;
    import_node_vm.default[name] = new Proxy(original, { construct(target, args, newTarget) {
      return Reflect.construct(target, change(args), newTarget === import_node_vm.default[name] ? target : newTarget);
    } });
  };
  constructing("Script", (args) => [changed(args[0], args[1], true, "script"), ...args.slice(1)]);
  constructing("SourceTextModule", (args) => {
    const file = fileOf(args[1] && args[1].identifier);
    return [changed(args[0], file, false, "module"), ...args.slice(1)];
  });
  for (const [name, at2] of [["runInThisContext", 1], ["runInContext", 2], ["runInNewContext", 2]]) {
    const original = import_node_vm.default[name];
    import_node_vm.default[name] = { [name](...args) {
      return Reflect.apply(original, this, [changed(args[0], args[at2], true, "script"), ...args.slice(1)]);
    } }[name];
  }
  const { compileFunction, createContext } = import_node_vm.default;
  import_node_vm.default.compileFunction = function(code, ...rest) {
    return Reflect.apply(compileFunction, this, [changed(code, rest[1], false, "script"), ...rest]);
  };
  import_node_vm.default.createContext = function(...args) {
    const context = Reflect.apply(createContext, this, args);
    agent.shareWith(context);
    return context;
  };
}
// Annotate the CommonJS export names for ESM import in node:
0 && (module.exports = {
  install
});
