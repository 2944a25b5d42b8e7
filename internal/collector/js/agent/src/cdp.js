// The debugger's protocol in this process: of its first thread, and through that one of its other threads. There is no
// port, and nobody outside can see it.
import inspector from 'node:inspector';

// A Channel is {post(method, params) → Promise, on(handler(method, params)), close()}.
export function firstThread() {
  const session = new inspector.Session();
  session.connectToMainThread();
  let closed = false;
  return {
    post: (method, params) => new Promise((resolve, reject) => {
      if (closed) return reject(new Error('the debugger is gone'));
      session.post(method, params, (error, result) => error ? reject(problem(error, method)) : resolve(result));
    }),
    on: handler => session.on('inspectorNotification', m => handler(m.method, m.params)),
    close() {
      if (closed) return;
      closed = true;
      session.disconnect();
    },
  };
}

export function otherThread(main, sessionId) {
  const waiting = new Map();
  let last = 0, handler = () => {}, closed = false;
  return {
    post: (method, params) => new Promise((resolve, reject) => {
      if (closed) return reject(new Error('the thread has ended'));
      const id = ++last;
      waiting.set(id, { resolve, reject, method });
      main.post('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify({ id, method, params }) }).catch(e => {
        waiting.delete(id);
        reject(e);
      });
    }),
    on(h) { handler = h; },
    receive(text) {
      const m = JSON.parse(text);
      if (m.id === undefined) return handler(m.method, m.params);
      const w = waiting.get(m.id);
      waiting.delete(m.id);
      if (!w) return;
      if (m.error) w.reject(problem(m.error, w.method));
      else w.resolve(m.result);
    },
    close() {
      closed = true;
      for (const w of waiting.values()) w.reject(new Error('the thread has ended'));
      waiting.clear();
    },
  };
}

function problem(error, method) { return new Error(`${method}: ${error.message || JSON.stringify(error)}`); }
