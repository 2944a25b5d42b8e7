import { Worker, isMainThread, parentPort } from 'node:worker_threads';
function square(n) { return n * n; }
if (isMainThread) {
  const ws = [1, 2].map(() => new Worker(new URL(import.meta.url), { env: { A: 1 } }));
  for (const w of ws) { w.on('message', m => { console.log(m, square(m)); }); w.postMessage(3); }
} else parentPort.once('message', m => { parentPort.postMessage(square(m)); });
