// A program whose own hooks compile what it imports: before them that is no JavaScript.
import Module from 'node:module';
const compile = text => text.replaceAll(': number', '').replaceAll('const enum', 'const');
if (Module.registerHooks) {
  Module.registerHooks({ load(url, context, next) {
    const loaded = next(url, context);
    return url.endsWith('/typed.mjs') ? { ...loaded, source: compile(String(loaded.source)) } : loaded;
  } });
} else {
  const hooks = `const compile = ${compile}; export async function load(url, context, next) {
    const loaded = await next(url, context);
    return url.endsWith('/typed.mjs') ? { ...loaded, source: compile(String(loaded.source)) } : loaded;
  }`;
  Module.register('data:text/javascript,' + encodeURIComponent(hooks));
}
const { add } = await import('./typed.mjs');
console.log(add(2, 3));
