class Cart {
  #items = []; static count = 0;
  constructor(owner) { this.owner = owner; Cart.count++; }
  addItem(item) { this.#items.push(item); return this; }
  get total() { return this.#items.reduce((s, i) => s + i.price, 0); }
  bad() { return this.nothing.here; }
  #secret() { return 1; }
}
exports.Cart = Cart;
