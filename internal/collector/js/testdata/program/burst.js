// Argument: return, or kill, which is how it ends.
function step(i) { return i; }
for (let i = 0; i < 200000; i++) step(i);
if (process.argv[2] === 'kill') process.kill(process.pid, 'SIGKILL');
