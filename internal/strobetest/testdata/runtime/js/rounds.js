// Does one round of calls for each line of its input: rounds.c and rounds.py are the same. "child" starts one of its own kind.
const fs = require('fs');
const { spawnSync } = require('child_process');
function alpha(n) { return n; }
function alphabet(n) { return n; }
function beta(n) { return alpha(n); }
class Shop {
  open() { return 1; }
  close() { return -1; }
}
function main() {
  const shop = new Shop(), chunk = Buffer.alloc(4096);
  let n = 0, rest = '';
  for (let size = fs.readSync(0, chunk); size > 0; size = fs.readSync(0, chunk)) {
    const lines = (rest + chunk.toString('utf8', 0, size)).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      n++;
      if (line === 'child') {
        const ended = spawnSync(process.execPath, [...process.execArgv, __filename], { input: 'go\n', encoding: 'utf8' });
        fs.writeSync(1, 'child ' + ended.status + " '" + JSON.stringify(ended.stdout).slice(1, -1) + "'\n");
      }
      alphabet(n);
      beta(n);
      shop.open();
      shop.close();
      fs.writeSync(1, 'round ' + n + '\n');
    }
  }
  fs.writeSync(1, 'bye\n');
  process.exit(5);
}
main();
