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

// src/bun.js
var bun_exports = {};
__export(bun_exports, {
  installBun: () => installBun
});
module.exports = __toCommonJS(bun_exports);
var import_node_fs = __toESM(require("node:fs"), 1);
var import_node_path = __toESM(require("node:path"), 1);

// src/threads.js
var threads = () => require("node:worker_threads");
var isMainThread = process.versions.bun ? Bun.isMainThread : threads().isMainThread;

// src/bun.js
var Module = () => require("node:module");
var { readFileSync } = import_node_fs.default;
function installBun(agent) {
  const root = agent.root.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\/$/, "");
  const modules = new CommonJS(agent);
  agent.commonJS = (file) => modules.load(file);
  Bun.plugin({ name: "strobe", setup(build) {
    build.onLoad({ filter: new RegExp(`^${root}/(?!.*/?node_modules/).*\\.[cm]?[jt]sx?$`) }, ({ path: file }) => {
      const text = readFileSync(file, "utf8");
      const extension = /\.([cm]?[jt]sx?)$/.exec(file)[1];
      const loader = extension.endsWith("tsx") ? "tsx" : extension.endsWith("ts") ? "ts" : "jsx";
      const wanted = agent.wants(file);
      if (wanted && !agent.recorder) hookWorkers(agent);
      if (wanted) agent.begin();
      if (isCommonJS(agent, text, file, extension)) return { contents: modules.stub(file, text), loader: "js" };
      if (!wanted) return { contents: text, loader };
      return { contents: agent.instrumented(text, { file, language: file, sourceType: "module" }) || text, loader };
    });
  } });
  flushAfterTests(agent);
}
function isCommonJS(agent, text, file, extension) {
  if (extension[0] === "c") return true;
  if (extension[0] === "m" || !/\b(?:require|exports|module|__filename|__dirname)\b|['"]use strict['"]/.test(text)) return false;
  if (!/\b(?:import|export)\b/.test(text)) return true;
  try {
    return agent.ready().parse(text, file).program.sourceType === "script";
  } catch {
    return false;
  }
}
var CommonJS = class {
  constructor(agent) {
    this.agent = agent;
    this.cache = /* @__PURE__ */ new Map();
    this.main = null;
  }
  // stub is the module that an import of the file gets. Its names are those that the text is seen to export.
  stub(file, text) {
    const names = /* @__PURE__ */ new Set();
    for (const m of text.matchAll(/\bexports\.([A-Za-z_$][\w$]*)\s*=/g)) names.add(m[1]);
    for (const m of text.matchAll(/module\.exports\s*=\s*\{([^}]*)\}/g)) {
      for (const part of m[1].split(",")) {
        const name = /^\s*([A-Za-z_$][\w$]*)/.exec(part);
        if (name) names.add(name[1]);
      }
    }
    names.delete("default");
    const exported = [...names].map((n, i) => `const $${i}=e.${n};export{$${i} as ${n}};`).join("");
    return `const e=globalThis.$strobeCommonJS(${JSON.stringify(file)}).exports;export{e as default,e as "module.exports"};${exported}`;
  }
  load(file) {
    const known = this.cache.get(file);
    if (known) return known;
    const module2 = new (Module())(file);
    this.cache.set(file, module2);
    module2.filename = file;
    module2.paths = Module()._nodeModulePaths ? Module()._nodeModulePaths(import_node_path.default.dirname(file)) : [];
    let text = readFileSync(file, "utf8").replace(/^#!.*/, "");
    if (/\.[cm]?tsx?$/.test(file)) text = new Bun.Transpiler({ loader: file.endsWith("x") ? "tsx" : "ts" }).transformSync(text);
    const language = file.replace(/\.([cm]?)ts(x?)$/, ".$1js$2");
    text = this.agent.wants(file) && this.agent.instrumented(text, { file, language, sourceType: "script" }) || text;
    const require2 = this.requireOf(file, module2);
    const vm = require2("node:vm");
    const script = new vm.Script(`(function (exports, require, module, __filename, __dirname) {${text}
})`, {
      filename: require2("node:url").pathToFileURL(file).href,
      importModuleDynamically: vm.constants && vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
    });
    Reflect.apply(script.runInThisContext(), module2.exports, [module2.exports, require2, module2, file, import_node_path.default.dirname(file)]);
    module2.loaded = true;
    return module2;
  }
  requireOf(file, module2) {
    const real = Module().createRequire(file), { cache } = this;
    const require2 = (id) => {
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
    if (file === Bun.main) this.main = module2;
    module2.require = require2;
    return Object.assign(require2, { resolve: real.resolve, cache: real.cache, extensions: Module()._extensions, main: this.main || process.mainModule });
  }
};
function hookWorkers(agent) {
  agent.Thread = threads().Worker;
  for (const owner of [globalThis, threads()]) {
    const { Worker } = owner;
    if (!Worker) continue;
    owner.Worker = new Proxy(Worker, { construct(target, [script, options, ...rest], newTarget) {
      const more = { ...options, preload: [agent.own + "agent.cjs"].concat(options && options.preload || []) };
      return Reflect.construct(target, [script, more, ...rest], newTarget === owner.Worker ? target : newTarget);
    } });
  }
}
function flushAfterTests(agent) {
  try {
    require("bun:test").afterAll(() => agent.end());
  } catch {
  }
}
// Annotate the CommonJS export names for ESM import in node:
0 && (module.exports = {
  installBun
});
