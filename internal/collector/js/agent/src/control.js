// The control thread: it owns the socket, and sets the functions' flags, which the program's threads read at each call,
// even in the middle of a loop.
import net from 'node:net';
import path from 'node:path';
import worker from 'node:worker_threads';
import { Link } from './link.js';
import { Shared } from './shared.js';

// descriptor: of the connection on which the first thread has said hello, or -1.
function control({ folder, parts, set, hello, descriptor, inspector }) {
  const shared = new Shared(parts, worker.threadId);
  const socket = descriptor >= 0 ? new net.Socket({ fd: descriptor, readable: true, writable: true }) : net.connect(folder + '/control');
  const link = new Link(shared, set, (message, sent) => socket.write((typeof message === 'string' ? message : JSON.stringify(message)) + '\n', sent));
  // opened asks the first thread, which answers when it comes to its event loop, unless it has opened it before.
  let answer = () => {};
  const opened = () => inspector ? Promise.resolve(inspector) : new Promise(resolve => {
    answer = given => resolve(inspector = given);
    worker.parentPort.postMessage({ m: 'inspect' });
  });
  link.entered = !!hello.entered && !hello.inspected;
  if (hello.runtime !== 'bun') link.loadPoints = l => new (require(path.dirname(__filename) + '/points.cjs').Points)(l, { folder, set, inspected: hello.inspected, inspector: hello.runtime === 'deno' ? opened : undefined });
  if (descriptor < 0) {
    socket.write(JSON.stringify(hello) + '\n');
    if (!link.needsPoints(set)) link.send(link.applied(undefined));
  }
  const end = () => {
    shared.end();
    if (link.points) link.points.end();
    if (inspector && inspector.url) worker.parentPort.postMessage({ m: 'close' });
    socket.destroy();
    channel.close();
    if (worker.parentPort.close) worker.parentPort.close();
    else close();   // Deno's thread
  };
  link.bye = end;
  socket.on('error', end);
  socket.on('close', end);
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', data => {
    text += data;
    for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n')) {
      const line = text.slice(0, i);
      text = text.slice(i + 1);
      try {
        link.receive(JSON.parse(line));
      } catch {
        // What is no message of ours is passed over.
      }
    }
  });
  worker.parentPort.on('message', m => m.m === 'inspector' ? answer(m.inspector) : link.hear(m));
  const channel = new worker.BroadcastChannel(shared.channel());
  channel.onmessage = e => link.hear(e.data);
  if (link.needsPoints(set)) link.setPoints(set.points || [], undefined);
  shared.setReady();
}

control(worker.workerData);
