// What strobe asks of threads that stand: frames, scopes, variables, expressions.
import { cannot, fault, notPaused } from './faults.js';
import { argument, scopesOf } from './pausing.js';

const evaluateWithinMs = 5000, defaultDepth = 2;

export class Looking {
  constructor(all) {
    this.all = all;
    this.refs = new Map();    // ref → {thread, index of the frame, whether it is the frame's}
  }

  drop(thread) { for (const [ref, of] of this.refs) if (of.thread === thread) this.refs.delete(ref); }

  of(ref) {
    const of = this.refs.get(ref);
    if (!of) throw notPaused(`nothing has the ref ${ref} any more: its thread went on`);
    return of;
  }

  // keep remembers which frame the refs of an answer belong to.
  keep(of, variables) {
    for (const v of variables) if (v.ref) this.refs.set(v.ref, { thread: of.thread, index: of.index });
    return variables;
  }

  async frames(thread, m) {
    const { pausing } = thread, all = pausing.frames, from = m.from || 0, frames = [];
    for (let i = from; i < all.length && (!m.n || i < from + m.n); i++) {
      const frame = await pausing.frameOf(all[i]);
      const ref = this.all.shared.ref();
      this.refs.set(ref, { thread, index: i, frame: true });
      frames.push({ ref, ...frame, module: frame.file ? frame.file.slice(frame.file.lastIndexOf('/') + 1) : '' });
    }
    return { m: 'frames', frames, total: all.length };
  }

  async scopes(m) {
    const of = this.of(m.ref), { pausing } = of.thread, frame = pausing.frames[of.index];
    const place = await of.thread.placeOf(frame), { own, around, globals } = scopesOf(frame);
    const scopes = await pausing.call(of.index, 'function(n,h,t,a,b,...s){return $strobe.views().scopes(n,h,t,a,b,s)}', [{ value: place.fn ? place.fn.params : [] },
      { value: pausing.hiddenOf(place) }, argument(frame.this), { value: own.length }, { value: around.length }, ...own, ...around, ...globals]);
    return { m: 'scopes', scopes: this.keep(of, scopes) };
  }

  async variables(m) {
    const of = this.of(m.ref);
    const variables = await of.thread.pausing.call(of.index, 'function(r,f,n){return $strobe.views().variables(r,f,n)}', [{ value: m.ref }, { value: m.from || 0 }, { value: m.n || 0 }]);
    if (variables === null) throw fault('bad', `${m.ref} is of no variables`);
    return { m: 'variables', variables: this.keep(of, variables) };
  }

  // result is what the user's expression gives in a frame.
  async result(of, text) {
    const frame = of.thread.pausing.frames[of.index];
    const expression = /^\s*\{/.test(text) ? `(${text}\n)` : text;
    const { result, exceptionDetails } = await of.thread.post('Debugger.evaluateOnCallFrame', { callFrameId: frame.callFrameId, expression, objectGroup: 'strobe', silent: true, timeout: evaluateWithinMs });
    if (!exceptionDetails) return result;
    const { exception, text: said } = exceptionDetails;
    throw fault('raised', exception && exception.description ? exception.description.split('\n')[0] : exception ? String(exception.value) : said);
  }

  async shown(of, result, text, depth) {
    const shown = await of.thread.pausing.call(of.index, 'function(v,e,d){return $strobe.views().evaluated(v,e,d)}', [argument(result), { value: text }, { value: depth }]);
    this.keep(of, [shown.variable]);
    return { m: 'value', variable: shown.variable, raw: { value: shown.value } };
  }

  async evaluate(m) {
    const of = this.of(m.ref);
    return this.shown(of, await this.result(of, m.text), m.text, m.depth || defaultDepth);
  }

  async assign(m) {
    const of = this.of(m.ref);
    if (m.expression !== undefined) return this.assignTo(of, m.expression, m.text);
    if (m.name === 'this' && !of.frame) throw cannot('this cannot be set');
    const isScope = await of.thread.pausing.call(of.index, 'function(r){return $strobe.views().isScope(r)}', [{ value: m.ref }]);
    if (isScope) {
      const answer = await this.assignTo(of, m.name, m.text);
      await of.thread.pausing.call(of.index, 'function(r,n,v){$strobe.views().assigned(r,n,v)}', [{ value: m.ref }, { value: m.name }, argument(await this.result(of, m.name))]);
      return answer;
    }
    const value = await this.result(of, m.text);
    const done = await of.thread.pausing.call(of.index, 'function(r,n,v){return $strobe.views().assign(r,n,v)}', [{ value: m.ref }, { value: m.name }, argument(value)]);
    if (done.code) throw fault(done.code, done.message);
    this.keep(of, [done.variable]);
    return { m: 'value', variable: done.variable, raw: { value: done.value } };
  }

  async assignTo(of, expression, text) {
    const place = await of.thread.placeOf(of.thread.pausing.frames[of.index]), owner = place.fn || place.text && place.text.file && place.text.file.meta;
    if (owner && owner.constants && owner.constants.includes(expression.trim())) throw cannot(`${expression} is a constant`);
    try {
      await this.result(of, `${expression} = (${text}\n)`);
    } catch (e) {
      if (/Assignment to constant|read.only|Invalid left-hand side/.test(e.message)) throw cannot(e.message);
      throw e;
    }
    return this.shown(of, await this.result(of, expression), expression, defaultDepth);
  }
}
