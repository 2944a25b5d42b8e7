// What a call is for: this of methods and of functions that use it, and functions as values.
class Base {
  #secret = 1;
  field = 2;
  bound = () => this.field;
  static made(id) { return new this(id); }
  constructor(id) { this.id = id; }
  plain() { return 'no this'; }
  get double() { return this.id * 2; }
  #hidden(n) { return this.#secret + n; }
  shown(n) { return [1].map(i => this.#hidden(i + n)); }
  *each(n) { for (let i = 0; i < n; i++) yield this.id + i; }
}
class Derived extends Base {
  constructor(id) { super(id + 1); }
  plain() { return super.plain(); }
}
const account = { owner: 'ann', greet(word) { return word + ' ' + this.owner; }, quiet(word) { return word; }, late: n => n };
function Old(id) { this.id = id; }
Old.prototype.name = function (n) { return this.id + n; };
function loose() { return typeof this; }
function strict() {
  'use strict';
  return this === undefined;
}
function apply(f, n) { return f(n); }
function outer() {
  function inner(n) { return n; }
  return apply(inner, 1);
}
const base = Base.made(3), derived = new Derived(4);
base.plain();
base.double;
base.shown(5);
[...base.each(2)];
derived.plain();
base.bound();
account.greet('hello');
account.quiet('hush');
new Old(6).name(7);
loose();
strict();
strict.call(null);
apply(account.late, 8);
apply(Old, 9);
apply(String, 10);
apply(n => n + 1, 11);
outer();
