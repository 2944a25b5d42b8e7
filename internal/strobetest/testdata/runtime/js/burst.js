// N calls as fast as can be; with "kill", it kills itself behind them: burst.c and burst.py are the same.
function tick(n) { return n + 1; }
function main() {
  const n = Number(process.argv[2]);
  for (let i = 0; i < n; i++) tick(i);
  if (process.argv.length > 3) process.kill(process.pid, 'SIGKILL');
  console.log('called ' + n);
}
main();
