// Two threads with names work at once: threads.c and threads.py are the same.
const { Worker, isMainThread } = require('worker_threads');
function part(n) { return n + 1; }
function work(n) { return part(n); }
if (isMainThread) {
  for (const name of ['reader-one', 'reader-two']) new Worker(__filename, { name });
} else {
  for (let i = 0; i < 200; i++) work(i);
}
