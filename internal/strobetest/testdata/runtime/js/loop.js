// Busy until the file "stop" is there, with a file "seen" that grows: loop.c and loop.py are the same.
const fs = require('fs');
function spin(n) { return n + 1; }
function main() {
  const seen = fs.openSync('seen', 'a', 0o600);
  for (let i = 0; ; i++) {
    spin(i);
    if (i % 20000) continue;
    fs.writeSync(seen, '.');
    if (!fs.existsSync('stop')) continue;
    fs.writeSync(seen, require('./loop_more.js').more(6));
    process.exit(7);
  }
}
main();
