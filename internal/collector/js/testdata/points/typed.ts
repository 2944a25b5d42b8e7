interface Line {
  price: number;
  count: number;
}

type Total = { sum: number };

export function total(lines: Line[]): Total {
  let sum: number = 0;
  for (const line of lines) {
    sum += line.price * line.count;
  }
  return { sum };
}

console.log(total([{ price: 2, count: 3 }]));
