import { type Item, Basket } from './basket.ts';
function total<T extends Item>(items: T[]): number { return items.reduce((s, i) => s + i.price, 0); }

interface Opts { deep?: boolean }
export class Shop {
  private basket: Basket<Item>;
  constructor(basket: Basket<Item>, opts: Opts = {}) { this.basket = basket; }
  pay(this: Shop, by: string): string {
    const n = total(this.basket.items) as number;
    return `${by} pays ${n!}`;
  }
}
const b = new Basket<Item>();
b.add({ name: 'x', price: 2 }).add({ name: 'y', price: 3 });
console.log(new Shop(b).pay('bob'));
