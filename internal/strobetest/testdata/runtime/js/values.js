// One function for each kind of value, which gives it back: values.c and values.py are the same.
class Item {
  constructor(id, name) { this.id = id; this.name = name; }
}
class Box {
  constructor(id, inner) { this.id = id; this.inner = inner; }
}
class Hostile {
  get value() { process.exit(9); }
  toString() { process.exit(9); }
  toJSON() { process.exit(9); }
  [Symbol.for('nodejs.util.inspect.custom')]() { process.exit(9); }
}
function small(x) { return x; }
function negative(x) { return x; }
function large(x) { return x; }
function huge(x) { return x; }
function fraction(x) { return x; }
function notNumber(x) { return x; }
function infinite(x) { return x; }
function text(x) { return x; }
function nulText(x) { return x; }
function surrogate(x) { return x; }
function longText(x) { return x; }
function hugeText(x) { return x; }
function binary(x) { return x; }
function truth(x) { return x; }
function missing(x) { return x; }
function listed(x) { return x; }
function mapped(x) { return x; }
function mixed(x) { return x; }
function instance(x) { return x; }
function cycle(x) { return x; }
function nested(x) { return x; }
function many(x) { return x; }
function big(x) { return x; }
function func(x) { return x; }
function hostile(x) { return x; }
function changed(x) { x.id = 99; return x; }

small(42);
negative(-7);
large(9223372036854775807n);
huge(10n ** 30n);
fraction(0.5);
notNumber(NaN);
infinite(Infinity);
text('na\xefve \u{1f600}');
nulText('a\0b');
surrogate('a\ud800b');
longText('a'.repeat(1025));
hugeText('a'.repeat(1 << 20));
binary(Buffer.from([0, 255]));
truth(true);
missing(null);
listed([1, 'two', null]);
mapped({ a: 1, b: [2] });
mixed({ a: [{ b: { c: 1 } }] });
const item = new Item(7, 'pear');
instance(item);
const ring = [];
ring.push(ring);
cycle(ring);
let box = null;
for (let i = 7; i >= 0; i--) box = new Box(i, box);
nested(box);
many(Array.from({ length: 101 }, (_, i) => i));
const rows = [];
for (let i = 0; i < 90; i++) {
  const row = {};
  for (let k = 0; k < 50; k++) row['key' + k] = 'v'.repeat(50);
  rows.push(row);
}
big(rows);
func(small);
hostile(new Hostile());
hostile(new Proxy({}, { get() { process.exit(9); }, ownKeys() { process.exit(9); }, getPrototypeOf() { process.exit(9); } }));
changed(item);
