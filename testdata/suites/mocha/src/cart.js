'use strict';

class Cart {
  constructor() {
    this.items = [];
  }

  add(name, price) {
    if (price < 0) {
      throw new RangeError(`negative price: ${price}`);
    }
    this.items.push({ name, price });
    return this;
  }

  total() {
    return this.items.reduce((sum, item) => sum + item.price, 0);
  }
}

module.exports = { Cart };
