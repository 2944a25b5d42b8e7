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

// bySocket is of a process whose inspector is at an address of this machine.
export async function bySocket({ url, problem }) {
  if (problem) throw new Error(problem);
  const socket = new WebSocket(url), channel = sent(text => socket.send(text), 'the debugger is gone');
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = e => reject(new Error(`the inspector at ${url} does not answer: ${e.message}`));
  });
  const { close, on } = channel;
  let context = 0;
  // Deno ends only when nobody debugs it any more, and then says so.
  channel.on = handler => on((method, params) => {
    if (method === 'Runtime.executionContextCreated') context = context || params.context.id;
    else if (method === 'Runtime.executionContextDestroyed' && params.executionContextId === context) channel.close();
    else handler(method, params);
  });
  socket.onmessage = e => channel.receive(e.data);
  socket.onclose = close;
  channel.close = () => {
    close();
    socket.close();
  };
  channel.post('Runtime.enable', {}).catch(() => {});
  return channel;
}

export function otherThread(main, sessionId) {
  return sent(message => main.post('NodeWorker.sendMessageToWorker', { sessionId, message }), 'the thread has ended');
}

// sent is a channel of texts that go by send and come by receive.
function sent(send, over) {
  const waiting = new Map();
  let last = 0, handler = () => {}, closed = false;
  return {
    post: (method, params) => new Promise((resolve, reject) => {
      if (closed) return reject(new Error(over));
      const id = ++last;
      waiting.set(id, { resolve, reject, method });
      Promise.resolve(send(JSON.stringify({ id, method, params }))).catch(e => {
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
      for (const w of waiting.values()) w.reject(new Error(over));
      waiting.clear();
    },
  };
}

function problem(error, method) { return new Error(`${method}: ${error.message || JSON.stringify(error)}`); }
