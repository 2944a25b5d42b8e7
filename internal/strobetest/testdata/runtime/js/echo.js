// Shows what it was given: echo.c and echo.py are the same.
const fs = require('fs');
function show(what, s) { fs.writeSync(1, what + ' ' + s + '\n'); }
function main() {
  for (const name of Object.keys(process.env).sort()) show('env', name + '=' + process.env[name]);
  for (const arg of process.argv.slice(2)) show('arg', arg);
  show('cwd', process.cwd());
  show('in', fs.readFileSync(0, 'utf8'));
  show('flags', JSON.stringify(process.execArgv));
  show('source', main.toString().length + ' ' + show.length + ' ' + show.name);
  fs.writeSync(2, 'on stderr\n');
  process.exitCode = 9;
}
main();
