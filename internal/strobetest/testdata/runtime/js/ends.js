// Ends in the way that its argument names: ends.c and ends.py are the same.
function last(n) { return n; }
function dies(n) {
  last(n);
  throw new RangeError('uncaught ' + n);
}
function main() {
  last(1);
  const how = process.argv[2];
  if (how === 'code') process.exit(3);
  if (how === 'quick') process.reallyExit(4);
  if (how === 'uncaught') dies(2);
  if (how === 'term') {
    console.log('waits');
    setInterval(() => {}, 1000);
  }
}
main();
