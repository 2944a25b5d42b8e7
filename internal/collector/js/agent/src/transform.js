// Text in, text out: every function of a file gets a guard by which it can be recorded. The change is insertions only
// and moves no line, so that stacks, breakpoints and coverage by line stay right, and the user's text comes back by
// taking the insertions out (original.js). What a function becomes:
//
//   function f(a,b){let $strobeC=$strobe_KEY[7]?$strobe.e($strobe_KEY,7,[a,b]):0,$strobeR;try{
//     … return $strobeR=(0,X) …
//   }catch($strobeE){if($strobeC){$strobe.x($strobeC,$strobeE);$strobeC=0}throw $strobeE}finally{if($strobeC)$strobe.r($strobeC,$strobeR)}}
//
// `(0,X)` keeps an anonymous function from being named after our variable. The exit is told in `finally`, so what the
// function's own finally blocks call is still below it.
//
// JavaScriptCore's runners report where an exception was last thrown, and a rethrow moves that: there (`finally`
// mode) synchronous functions have no catch, and the exception is known from throw statements and catch clauses.
import { parse as babelParse } from '@babel/parser';

const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression', 'ObjectMethod',
  'ClassMethod', 'ClassPrivateMethod']);
// TypeScript's nodes that hold expressions or statements that run; the others are types, and nothing in them runs.
const runningTS = new Set(['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression', 'TSTypeAssertion',
  'TSInstantiationExpression', 'TSModuleDeclaration', 'TSModuleBlock', 'TSExportAssignment', 'TSParameterProperty']);
// Nodes that stand around an expression and leave its name to it: `const f = (() => 1) as F`.
const transparent = new Set(['ParenthesizedExpression', 'TSAsExpression', 'TSSatisfiesExpression',
  'TSNonNullExpression', 'TSTypeAssertion', 'TSInstantiationExpression']);
const skippedKeys = new Set(['loc', 'start', 'end', 'type', 'extra', 'typeAnnotation', 'returnType', 'typeParameters',
  'typeArguments', 'errors']);
// Insertions at one place stand in this order: what closes an expression, what opens one, what ends a body.
const closing = 0, opening = 1, ending = 2;

export class SyntaxProblem extends Error {}

export function parse(text, { file, sourceType }) {
  const plugins = ['decorators', 'explicitResourceManagement', 'sourcePhaseImports', 'deferredImportEvaluation'];
  if (/\.[cm]?tsx?$/.test(file)) plugins.push('typescript');
  if (/\.([jt]sx|[cm]?js)$/.test(file) || !/\.[a-z]+$/.test(file)) plugins.push('jsx');
  return babelParse(text, {
    sourceType, plugins, errorRecovery: true, attachComment: false, createParenthesizedExpressions: true,
    allowReturnOutsideFunction: true, allowAwaitOutsideFunction: true, allowSuperOutsideMethod: true,
    allowUndeclaredExports: true, allowNewTargetOutsideFunction: true,
  });
}

// transform instruments text. Options: file (its ending says which language), sourceType (babel's), key (word
// characters; the file's variable is $strobe_KEY), finallyMode, wrapped (the text is one function that a test runner
// has put around a file: the file's variable goes into it, and it is not recorded), original(line, column) → place in
// the user's source, or null for a function that a compiler made up.
export function transform(text, options) {
  if (text.includes('$strobe')) throw new SyntaxProblem('its text has the word $strobe, which the agent uses');
  const ast = parse(text, options);
  if (ast.errors.length > 0) throw new SyntaxProblem(String(ast.errors[0].message));
  const t = new Transformer(text, options);
  return t.run(ast.program);
}

class Transformer {
  constructor(text, options) {
    this.text = text;
    this.options = options;
    this.file = `$strobe_${options.key}`;
    this.rawTS = /\.[cm]?tsx?$/.test(options.file);
    this.functions = [];
    this.classes = [];
    this.unhookable = [];
    this.constants = [];   // of the function around what is visited
    this.edits = [];
    this.receiver = { used: false };   // what this means here: whose it is tells its calls' this if it is used
  }

  insert(position, rank, text) { this.edits.push({ position, rank, order: this.edits.length, text }); }

  run(program) {
    const wrapper = this.options.wrapped ? wrapperOf(program) : null;
    if (this.options.wrapped && !wrapper) throw new SyntaxProblem('it is no function around a module');
    const module = program.sourceType === 'module';
    // A module's functions can be called before its first statement has run (circular imports): a hoisted function
    // makes the file's variable then.
    const get = `typeof $strobe=="object"?$strobe.file("${this.options.key}"):[]`;
    this.flag = module ? `(${this.file}||${this.file}g())` : this.file;
    const prologue = module ? `var ${this.file};function ${this.file}g(){return ${this.file}=${get}}${this.file}g();`
      : `var ${this.file}=${get};`;
    if (wrapper) {
      this.prologue(wrapper.body, wrapper.body.start + 1, prologue);
      for (const s of wrapper.body.body) this.visit(s, '', null);
    } else {
      this.prologue(program, program.interpreter ? program.interpreter.end : 0, prologue);
      for (const s of program.body) this.visit(s, '', null);
    }
    if (this.functions.length === 0) return null;
    this.edits.sort((a, b) => a.position - b.position || a.rank - b.rank || a.order - b.order);
    let code = '', at = 0;
    for (const e of this.edits) {
      code += this.text.slice(at, e.position) + e.text;
      at = e.position;
    }
    return {
      code: code + this.text.slice(at), functions: this.functions, classes: this.classes, unhookable: this.unhookable, constants: this.constants,
      edits: this.edits.map(e => [e.position, e.text.length]), sourceType: program.sourceType,
    };
  }

  prologue(block, position, text) {
    const last = block.directives && block.directives[block.directives.length - 1];
    if (last) this.insert(last.end, opening, ';' + text);
    else if (this.text[position] === '\n' || this.text[position] === '\r') this.insert(this.text.indexOf('\n', position) + 1, opening, text);
    else this.insert(position, opening, text);
  }

  // visit walks everything that runs. path is the name of what encloses node, context what an enclosing function's
  // return, await and yield become, name what an anonymous function here would be called.
  visit(node, path, context, name) {
    if (!node || typeof node.type !== 'string') return;
    const type = node.type;
    if (functionTypes.has(type)) return this.visitFunction(node, path, context, name);
    if (transparent.has(type)) return this.visit(node.expression, path, context, name);
    if (type.startsWith('TS') && !runningTS.has(type)) return;
    const special = this[type];
    if (special !== undefined) return special.call(this, node, path, context, name);
    this.children(node, path, context);
  }

  children(node, path, context) {
    for (const key in node) {
      if (skippedKeys.has(key)) continue;
      const child = node[key];
      if (Array.isArray(child)) for (const c of child) this.visit(c, path, context);
      else if (child && typeof child.type === 'string') this.visit(child, path, context);
    }
  }

  visitFunction(node, path, context, hint) {
    const outer = this.receiver;
    if (node.type !== 'ArrowFunctionExpression') this.receiver = { used: isMethod(node) };
    this.instrument(node, path, context, hint);
    this.receiver = outer;
  }

  instrument(node, path, context, hint) {
    if (node.decorators) for (const d of node.decorators) this.visit(d, path, context);
    if (node.computed) this.visit(node.key, path, context);
    if (!node.body) return;   // an overload or an abstract method
    const name = node.key ? keyName(node.key, node.computed) : node.id ? node.id.name : hint || '<anonymous>';
    const full = join(path, name);
    const place = this.placeOf(node);
    if (place === null || this.unsafeConstructor(node)) {
      if (place !== null) this.unhookable.push(full);
      const inside = place === null ? path : full;
      for (const p of node.params) this.visit(p, inside, null);
      return this.visit(node.body, inside, null);
    }
    const id = this.functions.length, params = [];
    for (const p of node.params) boundNames(p, params);
    const kind = node.async ? node.generator ? 'async_generator' : 'coroutine' : node.generator ? 'generator' : 'function';
    const block = node.body.type === 'BlockStatement';
    const last = block && node.body.directives.length > 0 ? node.body.directives[node.body.directives.length - 1] : null;
    const at = !block ? node.body.start : last ? last.end : node.body.start + 1;
    this.functions.push({ name: full, kind, params, start: node.start, end: node.end, at, line: place.line, file: place.file });
    // marks: the finally block cannot tell by itself whether the body came to a result.
    const bare = this.options.finallyMode && kind === 'function', generator = node.generator;
    const inner = { kind, marks: bare || generator, statement: -1, temporary: false };

    const around = this.constants;
    this.constants = this.functions[id].constants = [];
    const head = { position: at, rank: opening, order: this.edits.length, text: '' };
    this.edits.push(head);
    for (const p of node.params) this.visit(p, full, null);
    if (block) {
      for (const s of node.body.body) this.visit(s, full, inner);
    } else {
      this.insert(at, opening, 'return ' + openResult(inner));
      this.visit(node.body, full, inner);
      this.insert(node.body.end, closing, closeResult(inner));
    }
    // A constructor's object is not there yet.
    if (node.type !== 'ArrowFunctionExpression' && node.kind !== 'constructor' && this.receiver.used) params.unshift('this');
    head.text = (last ? ';' : block ? '' : '{') + this.bodyStart(id, kind, params, inner);
    const tail = (block ? this.fallOff(node, inner) : '') + this.bodyEnd(kind, bare);
    this.insert(node.body.end - (block ? 1 : 0), block ? ending : closing, tail + (block ? '' : '}'));
    this.constants = around;
  }

  // The recorder's methods: e, r, x of calls that nest on their thread's lane; ea, ra, xa of coroutines and eg, rg, xa of
  // generators, which have their own.
  bodyStart(id, kind, params, context) {
    const enter = kind === 'function' ? 'e' : kind === 'coroutine' ? 'ea' : 'eg';
    return `let $strobeC=${this.flag}[${id}]?$strobe.${enter}(${this.file},${id},[${params.join(',')}]):0,$strobeR`
      + (context.marks ? ',$strobeO=0' : '') + (context.temporary ? ',$strobeT' : '') + ';try{';
  }

  bodyEnd(kind, bare) {
    if (bare) return '}finally{if($strobeC)$strobeO?$strobe.r($strobeC,$strobeR):$strobe.xf($strobeC)}';
    const thrown = kind === 'function' ? 'x' : 'xa', exit = kind === 'function' ? 'r' : kind === 'coroutine' ? 'ra' : 'rg';
    return `}catch($strobeE){if($strobeC){$strobe.${thrown}($strobeC,$strobeE);$strobeC=0}throw $strobeE}`
      + `finally{if($strobeC)$strobe.${exit}($strobeC,$strobeR${exit === 'rg' ? ',$strobeO' : ''})}`;
  }

  // fallOff is what stands where a body ends without a return. A return before it can have been taken back (`try {
  // return 1 } finally { break }`), so the result is set again.
  fallOff(node, context) {
    const last = node.body.body[node.body.body.length - 1];
    if (last && (last.type === 'ReturnStatement' || last.type === 'ThrowStatement')) return '';
    const result = node.kind === 'constructor' && node.type === 'ClassMethod' ? 'this' : 'void 0';
    return `;$strobeR=${result}` + (context.marks ? ',$strobeO=1' : '');
  }

  // unsafeConstructor: a compiler that lowers fields and parameter properties looks for super() as a statement of the
  // constructor's own body, where ours would not leave it.
  unsafeConstructor(node) {
    return this.rawTS && node.kind === 'constructor' && node.$derived === true
      && (node.$fields || node.params.some(p => p.type === 'TSParameterProperty'));
  }

  placeOf(node) {
    const { original } = this.options;
    if (!original) return { line: node.loc.start.line };
    // Compilers do not all map a function's first character: some the first of its parameters, or its body's.
    for (const n of [node, node.key, node.id, ...(node.params || []), node.body]) {
      const place = n && original(n.loc.start.line, n.loc.start.column);
      if (place) return place;
    }
    return null;
  }

  ClassDeclaration(node, path, context, hint) {
    const name = join(path, node.id ? node.id.name : hint || '<class>');
    this.classes.push([node.start, node.end]);
    this.visit(node.superClass, path, context);
    if (node.decorators) for (const d of node.decorators) this.visit(d, path, context);
    const fields = node.body.body.some(m => m.type === 'ClassProperty' || m.type === 'ClassPrivateProperty' || m.type === 'ClassAccessorProperty');
    const outer = this.receiver;
    this.receiver = { used: false };
    for (const member of node.body.body) {
      switch (member.type) {
        case 'ClassProperty': case 'ClassPrivateProperty': case 'ClassAccessorProperty':
          if (member.decorators) for (const d of member.decorators) this.visit(d, name, null);
          if (member.computed) this.visit(member.key, path, context);
          if (!member.declare) this.visit(member.value, name, null, keyName(member.key, member.computed));
          break;
        case 'StaticBlock':
          for (const s of member.body) this.visit(s, name, null);
          break;
        default:
          if (member.kind === 'constructor') Object.assign(member, { $derived: !!node.superClass, $fields: fields });
          // A computed key is evaluated where the class stands: it may await.
          if (functionTypes.has(member.type)) this.visitFunction(member, name, context);
      }
    }
    this.receiver = outer;
  }

  ThisExpression() { this.receiver.used = true; }

  Super() { this.receiver.used = true; }

  ClassExpression(node, path, context, hint) { this.ClassDeclaration(node, path, context, hint); }

  ReturnStatement(node, path, context) {
    if (!context) return this.children(node, path, context);
    if (!node.argument) {
      const text = context.marks ? ' ($strobeR=void 0,$strobeO=1,void 0)' : ' $strobeR=void 0';
      return this.insert(node.start + 'return'.length, closing, text);
    }
    const glued = node.argument.start === node.start + 'return'.length;   // return"text"
    this.insert(node.argument.start, opening, (glued ? ' ' : '') + openResult(context));
    this.visit(node.argument, path, context);
    this.insert(node.argument.end, closing, closeResult(context));
  }

  ExpressionStatement(node, path, context) {
    if (context) context.statement = node.start;
    this.visit(node.expression, path, context);
  }

  // open starts an expression of ours in place of one of the user's. At the start of a statement a parenthesis would
  // become a call of the line before, where that has no semicolon.
  open(node, context, text) {
    context.temporary = true;
    this.insert(node.start, opening, (context.statement === node.start ? 'void 0,' : '') + text);
  }

  AwaitExpression(node, path, context) {
    if (!context || !(context.kind === 'coroutine' || context.kind === 'async_generator')) return this.children(node, path, context);
    this.open(node, context, '($strobeT=');
    this.insert(node.argument.start, opening, '($strobeT=(0,');
    this.visit(node.argument, path, context);
    this.insert(node.argument.end, closing, '),$strobeC&&$strobe.u($strobeC),$strobeT)');
    this.insert(node.end, closing, ',$strobeC&&$strobe.w($strobeC),$strobeT)');
  }

  YieldExpression(node, path, context) {
    if (!context) return this.children(node, path, context);
    this.open(node, context, '($strobeT=');
    if (!node.argument) {
      this.insert(node.end, closing, '($strobeC&&$strobe.y($strobeC),void 0)');
    } else if (node.delegate) {
      this.insert(node.argument.start, opening, '($strobeT=(0,');
      this.visit(node.argument, path, context);
      this.insert(node.argument.end, closing, `),$strobeC?$strobe.d($strobeC,$strobeT):$strobeT)`);
    } else {
      this.insert(node.argument.start, opening, '($strobeT=(0,');
      this.visit(node.argument, path, context);
      this.insert(node.argument.end, closing, '),$strobeC&&$strobe.y($strobeC,$strobeT),$strobeT)');
    }
    this.insert(node.end, closing, ',$strobeC&&$strobe.wy($strobeC),$strobeT)');
  }

  // for await leaves the function at its head and comes back in its body, or behind it.
  ForOfStatement(node, path, context, label) {
    if (!node.await || !context) return this.children(node, path, context);
    const outer = typeof label === 'number' ? label : node.start;
    context.temporary = true;
    this.insert(outer, opening, '{');
    this.visit(node.left, path, context);
    this.insert(node.right.start, opening, '($strobeT=(0,');
    this.visit(node.right, path, context);
    this.insert(node.right.end, closing, '),$strobeC?$strobe.i($strobeC,$strobeT):$strobeT)');
    const block = node.body.type === 'BlockStatement';
    this.insert(block ? node.body.start + 1 : node.body.start, opening, (block ? '' : '{') + '$strobeC&&$strobe.w($strobeC);');
    this.visit(node.body, path, context);
    this.insert(node.end, closing, (block ? '' : '}') + ';$strobeC&&$strobe.w($strobeC);}');
  }

  LabeledStatement(node, path, context, label) {
    const outer = typeof label === 'number' ? label : node.start;
    if (node.body.type === 'LabeledStatement' || node.body.type === 'ForOfStatement') this[node.body.type](node.body, path, context, outer);
    else this.visit(node.body, path, context);
  }

  ThrowStatement(node, path, context) {
    if (!this.options.finallyMode) return this.children(node, path, context);
    this.insert(node.argument.start, opening, '(0,$strobe_t(');
    this.visit(node.argument, path, context);
    this.insert(node.argument.end, closing, '))');
  }

  CatchClause(node, path, context) {
    this.visit(node.param, path, context);
    let text = '';
    if (this.options.finallyMode) text = node.param && node.param.type === 'Identifier' ? `$strobe_t(${node.param.name},1);` : '$strobe_t(void 0,2);';
    if (context && context.kind !== 'function') text += '$strobeC&&$strobe.w($strobeC);';
    if (text !== '') this.insert(node.body.start + 1, opening, text);
    this.visit(node.body, path, context);
  }

  TryStatement(node, path, context) {
    if (node.finalizer && context && context.kind !== 'function') {
      this.insert(node.finalizer.start + 1, opening, '$strobeC&&$strobe.w($strobeC);');
    }
    this.children(node, path, context);
  }

  VariableDeclaration(node, path, context) {
    if (node.kind === 'const') for (const d of node.declarations) boundNames(d.id, this.constants);
    this.children(node, path, context);
  }

  VariableDeclarator(node, path, context) {
    this.visit(node.id, path, context);
    this.visit(node.init, path, context, node.id.type === 'Identifier' ? node.id.name : undefined);
  }

  AssignmentExpression(node, path, context) {
    this.visit(node.left, path, context);
    this.visit(node.right, path, context, targetName(node.left));
  }

  // esbuild keeps names by a helper: __name(() => …, "f").
  CallExpression(node, path, context) {
    const [value, name] = node.arguments;
    const named = node.callee.type === 'Identifier' && node.callee.name === '__name' && name && name.type === 'StringLiteral';
    if (named) this.visit(value, path, context, name.value);
    else this.children(node, path, context);
  }

  AssignmentPattern(node, path, context) {
    this.visit(node.left, path, context);
    this.visit(node.right, path, context, node.left.type === 'Identifier' ? node.left.name : undefined);
  }

  // The methods of `const api = {…}` are api.NAME; those of module.exports and of a nameless object have their own.
  ObjectExpression(node, path, context, name) { this.children(node, name ? join(path, name) : path, context); }

  ObjectProperty(node, path, context) {
    if (node.computed) this.visit(node.key, path, context);
    this.visit(node.value, path, context, keyName(node.key, node.computed));
  }

  ExportDefaultDeclaration(node, path, context) { this.visit(node.declaration, path, context, 'default'); }

  TSModuleDeclaration(node, path, context) {
    if (!node.declare) this.visit(node.body, join(path, node.id.name || node.id.value), context);
  }
}

// The result of a return. An async generator awaits what it returns.
function openResult(context) { return context.marks ? '($strobeR=(0,' : '$strobeR=(0,'; }
function closeResult(context) {
  if (!context.marks) return ')';
  return '),$strobeO=1,' + (context.kind === 'async_generator' ? '$strobeC&&$strobe.u($strobeC),' : '') + '$strobeR)';
}

// isMethod: the object that a call is for is one of its values, whether it looks at that or not.
function isMethod(node) { return (node.type === 'ClassMethod' || node.type === 'ClassPrivateMethod') && !node.static; }

function join(path, name) { return path ? `${path}.${name}` : name; }

// wrapperOf finds the function that a runner puts around a module's text: `({"Object.<anonymous>":function(…){…}})`,
// `(function(…){…})`, `async (…)=>{{…}}`.
function wrapperOf(program) {
  if (program.body.length !== 1) return null;
  let e = program.body[0];
  if (e.type === 'ExpressionStatement') e = e.expression;
  for (;;) {
    if (e.type === 'ParenthesizedExpression') e = e.expression;
    else if (e.type === 'ObjectExpression' && e.properties.length === 1 && e.properties[0].value) e = e.properties[0].value;
    else break;
  }
  return functionTypes.has(e.type) && e.body.type === 'BlockStatement' ? e : null;
}

function keyName(key, computed) {
  switch (key.type) {
    case 'PrivateName': return '#' + key.id.name;
    case 'StringLiteral': case 'NumericLiteral': return String(key.value);
    case 'Identifier': return computed ? `[${key.name}]` : key.name;
    // As the specification writes them: Cart.@@iterator. A dot would look like one more level.
    case 'MemberExpression':
      if (key.object.type === 'Identifier' && key.object.name === 'Symbol' && !key.computed) return '@@' + key.property.name;
  }
  return '[computed]';
}

// targetName is the name that an assignment gives: exports.f and module.exports are nameless objects, A.prototype.f
// is A.f.
function targetName(left) {
  if (left.type === 'Identifier') return left.name;
  if (left.type !== 'MemberExpression') return undefined;
  const names = [];
  for (let e = left; ; e = e.object) {
    if (e.type === 'MemberExpression') {
      names.unshift(e.computed ? keyName(e.property, true) : e.property.type === 'PrivateName' ? '#' + e.property.id.name : e.property.name);
    } else {
      if (e.type === 'Identifier') names.unshift(e.name);
      break;
    }
  }
  if (names[0] === 'module' && names[1] === 'exports') names.splice(0, 2);
  else if (names[0] === 'exports') names.shift();
  return names.filter(n => n !== 'prototype').join('.') || undefined;
}

function boundNames(pattern, out) {
  switch (pattern && pattern.type) {
    case 'Identifier': if (pattern.name !== 'this') out.push(pattern.name); break;
    case 'AssignmentPattern': boundNames(pattern.left, out); break;
    case 'RestElement': boundNames(pattern.argument, out); break;
    case 'TSParameterProperty': boundNames(pattern.parameter, out); break;
    case 'ObjectPattern': for (const p of pattern.properties) boundNames(p.type === 'RestElement' ? p : p.value, out); break;
    case 'ArrayPattern': for (const p of pattern.elements) boundNames(p, out); break;
  }
}
