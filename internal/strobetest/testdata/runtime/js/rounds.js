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
  const shop = new Shop();
  let n = 0, rest = '';
  process.stdin.on('data', data => {
    const lines = (rest + data).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      n++;
      if (line === 'child') {
        const ended = spawnSync(process.execPath, [__filename], { input: 'go\n', encoding: 'utf8' });
        fs.writeSync(1, 'child ' + ended.status + " '" + JSON.stringify(ended.stdout).slice(1, -1) + "'\n");
      }
      alphabet(n);
      beta(n);
      shop.open();
      shop.close();
      fs.writeSync(1, 'round ' + n + '\n');
    }
  });
  process.stdin.on('end', () => {
    fs.writeSync(1, 'bye\n');
    process.exitCode = 5;
  });
}
main();
