// Objects as web frameworks make them: what tells most is not what was set first, or is behind getters of the runtime.
import http from 'node:http';
class Incoming {
  constructor(app) { this._events = {}; this.app = app; this.method = 'GET'; this.url = '/items/7'; this.body = null; }
}
class Hidden extends Request {}
const made = Object.create(Incoming.prototype);
function show(x) { return 1; }
show(new Incoming('shop'));
show(Object.assign(Object.create(made), { _a: 1, id: 2 }));
show(Object.create(Object.create(http.IncomingMessage.prototype)));
show(new URL('http://a.example/b?c=1'));
show(new URLSearchParams({ c: 1 }));
show(new Hidden('http://a.example/b', { method: 'POST' }));
show(new Response('x', { status: 404 }));
show({ _own: 1, method: 2 });
class Fake { get url() { process.exit(9); } get bodyUsed() { process.exit(9); } }
show(new Fake());
show(new AggregateError([new RangeError('far')], 'two'));
