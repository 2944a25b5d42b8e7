'use strict';
class Cart {
  #owner = 'ann';
  constructor() {
    this.lines = [];
    this.total = 0;
    Object.defineProperty(this, 'trap', { enumerable: true, get() { console.log('a getter ran'); return 1; } });
  }

  add(price, count = 1) {
    const sum = price * count;
    debugger;
    let tax = sum / 10;
    tax = Math.round(tax);
    this.total += sum + tax;
    this.lines.push({ price, count });
    return this.total;
  }
}

const half = n => n / 2;

async function load(id) {
  await null;
  const found = id * 100;
  return found;
}

function fails(n) {
  if (n > 1) throw new RangeError(`bad ${n}`);
  return n;
}

async function main() {
  const cart = new Cart(), prices = new Map([['tea', 3], ['milk', 2]]);
  for (let i = 1; i <= 3; i++) {
    cart.add(i * 10, 2);
  }
  let loaded = await load(4);
  loaded += half(8);
  try {
    fails(2);
  } catch (e) {
    console.log('caught', e.message);
  }
  console.log(cart.total, loaded, prices.size);
  process.exitCode = 3;
}

main();
