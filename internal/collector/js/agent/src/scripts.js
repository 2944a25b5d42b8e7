// Names and texts of scripts, as the engines have them.
import path from 'node:path';
import { fileURLToPath } from 'node:url';

// fileOf is the path that a script's name stands for, '' where it is none.
export function fileOf(name) {
  if (typeof name !== 'string') return '';
  try {
    if (name.startsWith('file:')) return fileURLToPath(name.split(/[?#]/)[0]);
  } catch {
    return '';
  }
  return path.isAbsolute(name) ? name.split('?')[0] : '';
}

// isEngines: of scripts that Node or Deno itself is made of.
export function isEngines(url) { return /^(?:node|ext):/.test(url); }

// compiled is a path whose ending says what a TypeScript file's text is once a loader has compiled it.
export function compiled(file) { return file.replace(/\.([cm]?)ts(x?)$/, '.$1js$2'); }

export function textOf(source) {
  if (typeof source === 'string') return source;
  return Buffer.from(source.buffer || source, source.byteOffset, source.byteLength).toString('utf8');
}
