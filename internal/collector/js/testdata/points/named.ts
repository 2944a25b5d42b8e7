// What esbuild makes of this with names kept and all on a line is named.mjs.
function double(n: number): number { return n * 2; }
const tripled = (n: number): number => n * 3;
console.log(double(4), tripled(5));
