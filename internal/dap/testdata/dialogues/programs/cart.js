class Item {
  constructor(name, price) { this.name = name; this.price = price; }
}
function price(item, n) {
  const größe = '世界 🌍'; const p = item.price * n;  // @product
  return p;  // @priced
}
function check(n) {
  if (n > 3) throw new RangeError('too many');  // @raise
  return n;
}
const many = Array.from({ length: 10000 }, (_, i) => i * 2);
const text = 'ab'.repeat(100000);
let total = 0;
for (const item of [new Item('pear', 3), new Item('fig', 5)]) {
  total += price(item, 2);  // @each
}
console.log('total', total);
try { check(4); } catch (e) { console.log('caught', e.message); }
if (process.argv.length > 2) check(5);
console.log('end', many.length, text.length);  // @end
