export interface Item { name: string; price: number }
export class Basket<T> {
  items: T[] = [];
  add(item: T): this { this.items.push(item); return this; }
}
