'use strict';
const f = (a, b = () => 1) => a + b();
class A extends Object { constructor(x) { super(); this.x = x; } #p() { return 1; } m(q = function () { return 2; }) { return q; } static s = () => 3; async am() { await 1; } *g() { yield 1 } }
function d() { 'use strict'; return () => { return 5 } }
const o = { m() { return 1 }, get x() { return 2 }, async *['k' + 1]() { yield 1 } };
const k = async x => await x;
for (const fn of [f, A, A.prototype.m, A.s, A.prototype.am, A.prototype.g, d, d(), o.m, Object.getOwnPropertyDescriptor(o, 'x').get, o.k1, k, A.prototype.m(), Function.prototype.toString, Math.max, class B { x = 1 }, class { y = () => 1 }]) console.log(String(fn), '|', fn.name, fn.length);
console.log(eval('(' + f + ')')(1));
