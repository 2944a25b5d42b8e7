export interface Item {
  name: string;
  price: number;
}

export class Cart {
  items: Item[] = [];

  add(name: string, price: number): this {
    if (price < 0) {
      throw new RangeError(`negative price: ${price}`);
    }
    this.items.push({ name, price });
    return this;
  }

  total(): number {
    return this.items.reduce((sum, item) => sum + item.price, 0);
  }
}
