// Generators and coroutines: lazy.py is the same.
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));
function* numbers(n) {
  for (let i = 0; i < n; i++) {
    square(i);
    yield i * i;
  }
}
function square(i) { return i * i; }
function consume() { return [...numbers(3)]; }
function early() {
  const g = endless(5);
  g.next();
  g.return();
}
function* endless(n) { while (true) yield n; }
function interleaved() {
  const a = left(2), b = right(2);
  return [a.next().value, b.next().value, a.next().value, b.next().value];
}
function* left(n) {
  for (let i = 0; i <= n; i++) {
    inLeft(i);
    yield i;
  }
}
function* right(n) {
  for (let i = 0; i <= n; i++) {
    inRight(i);
    yield -i;
  }
}
function inLeft(i) { return i; }
function inRight(i) { return i; }
async function fetch(n) {
  await sleep(20);
  return double(n);
}
function double(n) { return n * 2; }
async function slow(n) {
  before(n);
  await sleep(20 * n);
  after(n);
  return n;
}
function before(n) { return n; }
function after(n) { return n; }
async function both() { return await Promise.all([slow(1), slow(2)]); }
async function fails(n) {
  await null;
  throw new RangeError('fails ' + n);
}
async function* ticks(n) {
  for (let i = 0; i < n; i++) {
    await null;
    yield i;
  }
}
async function asynchronous() {
  await fetch(4);
  await both();
  try { await fails(6); } catch (e) {}
  const got = [];
  for await (const i of ticks(2)) got.push(i);
  return got;
}
consume();
early();
interleaved();
asynchronous();
