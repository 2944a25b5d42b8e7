const n: number = 'no number';

Deno.test('never seen', () => console.log(n));
