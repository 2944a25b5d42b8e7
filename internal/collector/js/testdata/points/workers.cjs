const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');

function job(n) {
  let sum = 0;
  for (let i = 1; i <= n; i++) sum += i;
  return sum;
}

if (isMainThread) {
  const worker = new Worker(__filename, { workerData: 10 });
  worker.on('message', m => console.log('sum', m));
} else {
  parentPort.postMessage(job(workerData));
}
