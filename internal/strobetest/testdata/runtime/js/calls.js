// Calls of every kind, each once: calls.c and calls.py are the same.
const fs = require('fs');
function add(a, b) { return a + b; }
function nothing() {}
function leaf(n) { return n + 1; }
function mid(n) { return leaf(n + 1); }
function outer(n) { return mid(n + 1); }
function fact(n) { return n < 2 ? 1 : n * fact(n - 1); }
function even(n) { return n === 0 ? 1 : odd(n - 1); }
function odd(n) { return n === 0 ? 0 : even(n - 1); }
function thrower(n) { throw new TypeError('no ' + n); }
function catcher(n) {
  try { thrower(n); } catch (e) { return -1; }
}
function deep(n) { thrower(n); }
function deeper(n) { deep(n); }
function through(n) {
  try { deeper(n); } catch (e) { return -2; }
}
function says() { fs.writeSync(1, 'mine\n'); }
function warns() { fs.writeSync(2, 'warned\n'); }
function step(i) {}
function slow() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30); }
function apply(f, n) { return f(n, n); }
class Order {
  constructor(id) { this.id = id; }
  total(n) { return this.id + n; }
  static make(id) { return new Order(id); }
  get size() { return 3; }
}
function counter(start) {
  function count(by) { start += by; return start; }
  return count;
}
function rest(first, ...more) { return more.length; }
function defaulted(a, b = 4) { return a + b; }
function lambdas() { return (x => x * 3)(14); }
function run() {
  add(1, 2);
  nothing();
  outer(1);
  fact(5);
  even(4);
  catcher(7);
  through(8);
  says();
  warns();
  for (let i = 0; i < 3; i++) {
    step(i);
    fs.writeSync(1, i + '\n');
  }
  slow();
  apply(add, 21);
  Order.make(5).total(3);
  new Order(6).size;
  const count = counter(10);
  count(1);
  count(2);
  rest(1, 2, 3);
  defaulted(1);
  lambdas();
}
run();
