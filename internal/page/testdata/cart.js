'use strict';
class Item {
  constructor(name, price) { this.name = name; this.price = price; }
}
function price(item, n) {
  return item.price * n;
}
function total(items, n) {
  return items.reduce((sum, item) => sum + price(item, n), 0);
}
async function round(n) {
  await new Promise((done) => setTimeout(done, 1));
  return total([new Item('pear', 3), new Item('fig', 5)], n);
}
(async () => {
  for (let n = 0; n < 60; n++) {
    const sum = await round(n);
    if (n % 20 === 0) console.log('total', sum);
  }
})();
