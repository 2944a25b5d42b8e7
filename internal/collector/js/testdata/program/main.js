const { Cart } = require('./cart.js');
function add(a, b) { return a + b; }
const c = new Cart('bob');
c.addItem({ sku: 'x', price: 2.5, tags: ['a', 'b'] });
console.log(add(1, 2), c.total, add.toString(), String(Cart).length);
try { c.bad(); } catch (e) { console.log(e.message); }
function* gen(n) { for (let i = 0; i < n; i++) { const x = yield i * 2; } return 'done'; }
console.log([...gen(3)]);
for (const x of gen(10)) if (x > 1) break;
const sleep = ms => new Promise(r => setTimeout(r, ms));
async function task(name, n) { for (let i = 0; i < n; i++) { await sleep(5); step(name, i); } return name; }
function step(name, i) { return name + i; }
async function* ag() { yield 1; await sleep(1); yield 2; }
async function main() {
  const r = await Promise.all([task('a', 2), task('b', 2)]);
  for await (const x of ag()) step('ag', x);
  try { await fails(); } catch (e) { step(e.message, 0); }
  return r;
}
async function fails() { await null; throw new RangeError('nope'); }
main().then(r => console.log(r));
