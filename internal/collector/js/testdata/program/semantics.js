// sloppy on purpose: no semicolons in places
var out = []
const log = (...a) => out.push(a.map(String).join(' '))
function named() { return function () {} }
log(JSON.stringify(named().name), (() => class {})().name === '', (() => (() => {}))().name)
function fin() { try { return 1 } finally { log('finally') } }
function over() { try { return 1 } finally { return 2 } }
function brk() { l: try { return 1 } finally { break l } }
function thr() { try { throw 1 } catch { return 'c' } finally { log('f') } }
log(fin(), over(), brk(), thr(), (function () { return"x" })(), (() => ((1, 2)))(), (function () { return ((3)) })())
async function asi(x) {
  let r = 0
  const q = [1]
  await x
  await(x)
  q.push(await x, await x)
  ;[r] = [await x]
  label: for await (const y of [1, Promise.resolve(2)]) { if (y === 1) continue label; r += y }
  if (r) for await (const z of (async function* () { try { yield 1; yield* inner(); return 9 } finally { log('ag fin') } })()) if (z > 2) break; else r += z
  else r = -1
  return r + (await x ? 1 : 0)
}
async function* inner() { const got = yield 2; log('got', got); yield 3 }
function* deleg() { try { const r = yield* sub(); log('sub returned', r); yield r } finally { log('deleg fin') } }
function* sub() { try { const x = yield 'a'; log('x', x); const y = yield x; return y } catch (e) { log('caught', e); return 'E' } finally { log('sub fin') } }
{ const g = deleg(); log(JSON.stringify([g.next(), g.next(1), g.next(2), g.next(3), g.next()])) }
{ const g = deleg(); log(JSON.stringify([g.next(), g.throw('T'), g.return(7), g.next()])) }
{ const g = deleg(); log(JSON.stringify([g.next(), g.return(8)])) }
class P { constructor() { this.n = new.target.name } get v() { return super.toString === Object.prototype.toString } static #z = 4; static z() { return P.#z } }
class Q extends P { constructor(ok) { if (ok) super(); else return { alt: 1 } } f = () => this.n; async g() { return super.v } }
log(new Q(1).f(), new Q(0).alt, new Q(1).v, P.z())
function args(a) { arguments[0] = 9; return [a, arguments.length, arguments.callee === args].join() }
log(args(1, 2), args.length, args.toString.name)
const order = []
async function o1() { order.push(1); await null; order.push(4); return Promise.resolve(6).then(x => { order.push(x); return x }) }
async function o2() { order.push(2); await null; order.push(5); return 7 }
async function thrower() { try { return await Promise.reject(new Error('r')) } catch (e) { return e.message } finally { await null; order.push('fin') } }
const p1 = o1(), p2 = o2(); order.push(3)
const rec = n => n === 0 ? 0 : 1 + rec(n - 1)
let depth = 0; (function inf() { depth++; inf() }.bind)
try { (function inf() { inf() })() } catch (e) { log(e instanceof RangeError) }
const t = { get [Symbol.toStringTag]() { return 'T' }, *[Symbol.iterator]() { yield 1; yield 2 } }
log(String(t), [...t])
const { a = (() => 5)(), ...rest } = { b: 1 }
log(a, JSON.stringify(rest))
switch (1) { case (() => 1)(): log('sw') }
var getter = { get a() { throw new Error('getter ran') } }
log((function (x) { return typeof x })(getter), (function (x) { return typeof x })(new Proxy({}, { get() { log('TRAP') }, ownKeys() { log('TRAP') }, getPrototypeOf() { log('TRAP'); return null }, getOwnPropertyDescriptor() { log('TRAP') } })))
Promise.all([p1, p2, asi(1), thrower(), new Q(1).g()]).then(r => { log(r.join(), order.join()); console.log(out.join('\n')) })
