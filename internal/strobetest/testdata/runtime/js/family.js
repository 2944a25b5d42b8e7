// Starts children in every way: family.c and family.py are the same. The argument is a program of machine code, "leaf N" or "end N".
const { execFileSync, execSync } = require('child_process');
function own(n) { return n; }
function leaf(n) { return n; }
function main() {
  if (process.argv.length > 3) {
    leaf(Number(process.argv[3]));
    process.exit(process.argv[2] === 'end' ? 6 : 0);
  }
  own(1);
  execFileSync(process.execPath, [__filename, 'leaf', '3']);
  execSync(`true; '${process.execPath}' '${__filename}' leaf 4; true`);
  if (process.argv.length > 2) execFileSync(process.argv[2], ['leaf', '5']);
  own(7);
  if (process.execve) process.execve(process.execPath, [process.execPath, __filename, 'end', '8'], process.env);
  process.exitCode = 6;
}
main();
