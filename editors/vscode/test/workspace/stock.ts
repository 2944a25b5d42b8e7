interface Item { name: string; left: number }

function take(item: Item, count: number): number {
  let left = item.left - count;
  if (left < 0) throw new Error(`no ${item.name} left`);
  item.left = left;
  return left;
}

const tea: Item = { name: "tea", left: 5 };
for (let day = 0; day < 4; day++) {
  try {
    console.log(`day ${day}: ${take(tea, 2)} left`);
  } catch (e) {
    console.log(`day ${day}: ${(e as Error).message}`);
  }
}
