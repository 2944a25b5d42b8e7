// The rules that are in force (docs/agentlink.md, Control and Globs): which functions they take, and how deep values go.
import path from 'node:path';

const defaultDepth = 3, maxDepth = 100;

// globOf makes a test of a glob whose separator is given: all places that each part may end at, one part after the
// other, so that no pattern takes longer than its length times the name's.
export function globOf(glob, separator) {
  const parts = [];
  let literal = '';
  const part = kind => {
    if (literal) parts.push(literal);
    literal = '';
    parts.push(kind);
  };
  for (let i = 0; i < glob.length; i++) {
    const c = glob[i], two = glob.startsWith('**', i);
    const begins = i === 0 ? separator === '/' : glob[i - 1] === separator;
    if (two && begins && glob[i + 2] === separator) {
      part(between);
      i += 2;
    } else if (two) {
      part(any);
      i++;
    } else if (c === '*') part(many);
    else if (c === '?') part(one);
    else literal += c;
  }
  if (literal) parts.push(literal);
  return name => matches(parts, name, separator);
}

const one = 1, many = 2, any = 3, between = 4;   // between separators: nothing, or whole components

function matches(parts, name, separator) {
  let at = new Set([0]);
  for (const part of parts) {
    const next = new Set();
    if (part === any || part === between) {
      if (part === between) for (const i of at) next.add(i);
      for (let i = Math.min(...at); i <= name.length; i++) {
        if (part === any) next.add(i);
        else if (name[i] === separator) next.add(i + 1);
      }
    } else {
      for (let i of at) {
        if (part === one) {
          if (i < name.length && name[i] !== separator) next.add(i + 1);
        } else if (part === many) {
          for (; !next.has(i); i++) {
            next.add(i);
            if (i === name.length || name[i] === separator) break;
          }
        } else if (name.startsWith(part, i)) next.add(i + part.length);
      }
    }
    if (next.size === 0) return false;
    at = next;
  }
  return at.has(name.length);
}

// isUserFile: below root and in no folder of packages.
export function isUserFile(file, root) {
  return file.startsWith(root.endsWith('/') ? root : root + '/') && !file.includes('/node_modules/', root.length);
}

// isMadeOfUserFiles: Vite bundles its configuration into a file in a folder of packages, which says by its map of whose
// text it is.
export function isMadeOfUserFiles(file) { return file.includes('/node_modules/.vite-temp/'); }

// moduleOf is a file's path below root (of a package: below its folder of packages) without its ending, with dots.
export function moduleOf(file, root) {
  const packages = file.lastIndexOf('/node_modules/');
  const below = packages >= 0 ? file.slice(packages + 14) : isUserFile(file, root) ? path.relative(root, file) : path.basename(file);
  return below.replace(/\.[cm]?[jt]sx?$/, '').replaceAll('/', '.');
}

export const asked = 16;   // over the greatest depth

export class Rules {
  constructor(set) {
    this.gen = set.gen || 0;
    this.root = set.root || '/';
    this.list = (set.rules || []).map(r => ({ ...r, depth: Math.min(maxDepth, r.depth || defaultDepth), test: this.testOf(r) }));
  }

  testOf(rule) {
    switch (rule.on) {
      case 'name': {
        const glob = globOf(rule.glob, '.');
        // Whole, from the file's own name, without the module; a program's first script is __main__, too.
        return (f, name) => glob(`${f.module}.${name}`) || glob(`${f.base}.${name}`) || glob(name) || f.main && glob(`__main__.${name}`);
      }
      case 'path': {
        const glob = globOf(rule.glob, '/');
        return f => f.path.startsWith(this.root + '/') && glob(f.path.slice(this.root.length + 1));
      }
      case 'contains': return f => f.path.includes(rule.glob);
      case 'user': return f => isUserFile(f.path, this.root);
      default: return () => false;
    }
  }

  // depthOf is the depth of a function's values, with asked where somebody asked for it, 0 where no rule takes it. counts(id) is told each rule that does.
  depthOf(file, name, counts) {
    let depth = 0, out = false;
    for (const rule of this.list) {
      if (!rule.test(file, name)) continue;
      if (counts) counts(rule.id);
      if (rule.not) out = true;
      else if (rule.depth >= (depth & ~asked)) depth = rule.depth | (rule.given ? asked : 0);
    }
    return out ? 0 : depth;
  }

  // reaches says whether rules name files that are not the user's own: by their paths, or a package's by what its functions
  // are called.
  reaches(file) {
    return this.list.some(r => !r.not && (r.on === 'contains' || r.on === 'path' && r.glob.includes('node_modules')
      ? r.test({ path: file }, '') : r.on === 'name' && ofPackage(r.glob, file)));
  }
}

// ofPackage says whether a glob that begins with a package's name may be of functions of one of its files.
export function ofPackage(glob, file) {
  const at = file.lastIndexOf('/node_modules/'), begins = /^[^*?]*/.exec(glob)[0];
  const name = at < 0 ? '' : /^(?:@[^/]*\/)?[^/]*/.exec(file.slice(at + 14))[0].replace('/', '.') + '.';
  if (!name || !begins.startsWith(name)) return false;
  const module = moduleOf(file, '/') + '.';
  return begins.startsWith(module) || begins !== glob && module.startsWith(begins);
}

// matchedFrom is that of a function that a compiler has moved: it answers to its own file. In a bundle it has the name that
// it has there.
export function matchedFrom(names, from, bundled, root) {
  if (!from || from === names.path) return names;
  return bundled || isMadeOfUserFiles(names.path) ? matched(from, root, names.main) : { ...names, path: from };
}

// matched is what rules are tried on: a file of the program.
export function matched(file, root, main) {
  return { path: file, module: moduleOf(file, root), base: path.basename(file).replace(/\.[cm]?[jt]sx?$/, ''), main };
}
