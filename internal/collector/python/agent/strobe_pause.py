"""Threads that stand, and what is asked of them (docs/agentlink.md, Points).

A thread stands within the event that told of it, on a queue of ours: the interpreter's lock is free, and signals of the
main thread are handled meanwhile. What runs the user's code is done by the thread itself; all else by ours.
"""
import _thread
import os
import sys
from _queue import SimpleQueue
from itertools import count
from time import monotonic, sleep

import strobe_files as files
from strobe_rules import late
from strobe_values import encode, quote

points = late("strobe_points")
steps = late("strobe_steps")
look = late("strobe_look")
agent = points.agent

FRAMES = 20  # that a pause tells
STAND = 0.25  # seconds that threads have to stand, before they are told as later
EVALUATE = 5.0  # seconds that an expression may take
LIMIT = 16384  # bytes of arguments and locals

paused = {}  # tid -> Paused
ended = False
_number = count(1).__next__
_refs = count(1).__next__
_of_ref = {}  # ref -> (Paused, thing)
_asked = {}  # q of what a thread was asked -> (when it is over, tid)


class Wrong(Exception):
    """An answer that is an error: its code and text."""


class Paused:
    __slots__ = ("ident", "tid", "pid", "n", "frames", "queue", "refs", "busy", "going")

    def __init__(self, top):
        self.ident, self.tid, self.pid = _thread.get_ident(), _thread.get_native_id(), os.getpid()
        self.frames = []
        while top is not None:
            if not points.source.ours(top.f_code):
                self.frames.append(top)
            top = top.f_back
        self.queue = SimpleQueue()
        self.refs = {}  # (kind, id) -> ref
        self.busy = False  # it runs what it was asked
        self.going = False  # it was let go, and has perhaps not woken yet

    def go(self, work):
        self.going = True
        self.queue.put(work)

    def ref(self, kind, about, thing):
        key = (kind, about)
        r = self.refs.get(key)
        if r is None:
            r = self.refs[key] = _refs()
            _of_ref[r] = (self, kind, thing)
        return r

    def forget(self):
        for r in self.refs.values():
            _of_ref.pop(r, None)
        self.refs = {}
        self.frames = []


def stand(frame, reason, point="", hit=0, top=None, result=None, result_of=None, note=""):
    """Keeps the running thread where it is until somebody lets it go on."""
    me = _thread.get_ident()
    steps.wanted.pop(me, None)
    steps.drop(me)
    s = files.local.stream
    if ended or files.closed or type(s) is files.Mute or s is not None and s.busy:
        return
    p = Paused(top or frame)
    if not p.frames:
        return
    p.n = _number()
    text = _told(p, reason, point, hit, result, result_of, note)
    paused[p.tid] = p
    if ended:
        paused.pop(p.tid, None)
        return
    agent.send(text)
    after = None
    try:
        while True:
            work = p.queue.get()
            if work is None or type(work) is tuple:
                after = work
                break
            p.busy = True
            try:
                work()
            finally:
                p.busy = False
            if p.pid != os.getpid():
                return  # what it was asked forked: this is the child
    finally:
        here = p.frames[0] if p.frames else frame
        if paused.get(p.tid) is p:
            del paused[p.tid]
        p.forget()
        if not ended:
            agent.send('{"m":"resumed","tid":%d,"n":%d}' % (p.tid, p.n))
    if after is not None and not ended:
        steps.begin(here, *after)


def _told(p, reason, point, hit, result, result_of, note):
    frame = p.frames[0]
    members = ['"m":"paused","tid":%d,"n":%d,"name":%s,"reason":"%s"' % (
        p.tid, p.n, quote(files.thread_name(p.ident, p.tid)), reason)]
    if point:
        members.append('"point":%s' % quote(point))
    if hit:
        members.append('"hit":%d' % hit)
    members.append('"frames":[%s]' % ",".join([_frame(f) for f in p.frames[:FRAMES]]))
    if len(p.frames) > FRAMES:
        members.append('"more":%d' % (len(p.frames) - FRAMES))
    arguments, local = look.values(frame)
    # A library's objects lead to all there is, and nobody asked for them.
    room, depth = ([LIMIT], 2) if steps.user(frame) else ([LIMIT // 8], 1)
    members.append('"arguments":{%s}' % _values(arguments, room, depth))
    members.append('"locals":{%s}' % _values(local, room, depth))
    if result is not None:
        members.append('"result":%s,"resultOf":%s' % (encode(result[0], 2), quote(steps.name_of(result_of))))
    if note:
        members.append('"note":%s' % quote(note[:1000]))
    return "{%s}" % ",".join(members)


def _frame(frame):
    name, path, line = look.place(frame)
    return '{"function":%s,"file":%s,"line":%d,"user":%s}' % (
        quote(name), quote(path), line, "true" if steps.user(frame) else "false")


def _values(pairs, room, depth):
    told = []
    for name, value in pairs:
        text = quote(name) + ":" + encode(value, depth, max(64, min(LIMIT // 4, room[0])))
        room[0] -= len(text)
        if room[0] < 0:
            break
        told.append(text)
    return ",".join(told)


# --- what is asked, on our own thread

def handle(message):
    q = message.get("q")
    q = q if type(q) is int else 0
    points.events.own_thread()
    try:
        ask = _asks.get(message.get("m"))
        if ask is not None:
            ask(q, message)
    except Wrong as e:
        agent.send(error(q, *e.args))
    except Exception as e:
        agent.send(error(q, "cannot", look.error_text(e)))


def error(q, code, text):
    return '{"m":"error","q":%d,"code":"%s","message":%s}' % (q, code, quote(text))


def _standing(tid):
    p = paused.get(tid)
    return None if p is None or p.going else p


def _paused(tid):
    p = _standing(tid)
    if p is None:
        raise Wrong("not-paused", "thread %s is not paused" % tid)
    return p


def _thing(ref):
    found = _of_ref.get(ref)
    if found is None or _standing(found[0].tid) is not found[0]:
        raise Wrong("not-paused", "the thread that %s was told of has gone on; ask when it is paused again" % ref)
    return found


def _pause(q, m):
    tid = m.get("tid") or 0
    stacks = steps.stacks()
    standing = {p.ident for p in list(paused.values()) if not p.going}
    tids = {i: look.tid_of(i) for i in stacks}
    if tid:
        if _standing(tid):
            agent.send('{"m":"pausing","q":%d,"later":[]}' % q)
            return
        stacks = {i: f for i, f in stacks.items() if tids[i] == tid}
        if not stacks:
            raise Wrong("bad", "no thread %d runs Python" % tid)
    if not points.events.begin():
        raise Wrong("cannot", points.events.WHY)
    for i in stacks:
        if i not in standing:
            steps.wanted[i] = tids[i]
    points.events.seek([stacks.pop(i) for i in list(stacks) if i in steps.wanted])
    end = monotonic() + STAND
    while steps.wanted and monotonic() < end:
        sleep(0.001)
    now = steps.stacks()
    for i in list(steps.wanted):
        if i not in now:
            steps.wanted.pop(i, None)
    points.events.settle([now[i] for i in list(steps.wanted) if i in now])
    later = ['{"tid":%d,"why":%s}' % (t, quote("it is in %s, and stands when it is back" % steps.name_of(now[i])))
             for i, t in list(steps.wanted.items()) if t and i in now]
    now = None
    agent.send('{"m":"pausing","q":%d,"later":[%s]}' % (q, ",".join(later)))


def _go(q, m):
    tids = m.get("tids") or []
    found = [p for p in map(_standing, tids) if p]
    waiting = [i for i, t in list(steps.wanted.items()) if t in tids]
    if tids and not found and not waiting:
        raise Wrong("not-paused", "none of these threads is paused")
    for i in waiting:
        steps.wanted.pop(i, None)
    if waiting and not steps.wanted:
        points.events.settle([])
    agent.send('{"m":"going","q":%d}' % q)
    agent.flush(0)  # the process may end with what goes on
    for p in found:
        p.go(None)


def _step(q, m):
    p = _paused(m.get("tid"))
    how = m.get("how")
    if how not in (steps.OVER, steps.INTO, steps.OUT, steps.LINE):
        raise Wrong("bad", "there is no step %s" % how)
    if how == steps.LINE and not (m.get("file") and m.get("line")):
        raise Wrong("bad", "a step to a line wants its file and line")
    agent.send('{"m":"going","q":%d}' % q)
    agent.flush(0)  # the process may end with what goes on
    p.go((how, m.get("id") or "", bool(m.get("system")), m.get("file") or "", m.get("line") or 0))


def _frames(q, m):
    p = _paused(m.get("tid"))
    begin, n = m.get("from") or 0, m.get("n") or len(p.frames)
    told = []
    for f in p.frames[begin:begin + n]:
        module = look.module_of(f)
        told.append('{"ref":%d,"module":%s,%s' % (p.ref("frame", id(f), f), quote(module), _frame(f)[1:]))
    agent.send('{"m":"frames","q":%d,"frames":[%s],"total":%d}' % (q, ",".join(told), len(p.frames)))


def _frame_of(ref):
    p, kind, thing = _thing(ref)
    if kind != "frame":
        raise Wrong("bad", "%s is no frame" % ref)
    return p, thing


def _scopes(q, m):
    p, frame = _frame_of(m.get("ref"))
    told = []
    for kind, pairs in look.scopes(frame):
        ref = p.ref(kind, id(frame), (frame, kind))
        told.append('{"kind":"%s","ref":%d,"count":%d%s}' % (
            kind, ref, len(pairs), ',"slow":true' if kind == "globals" and frame.f_code.co_flags & 1 else ""))
    agent.send('{"m":"scopes","q":%d,"scopes":[%s]}' % (q, ",".join(told)))


def _variables(q, m):
    p, kind, thing = _thing(m.get("ref"))
    begin, n = m.get("from") or 0, m.get("n") or look.ITEMS
    if kind == "frame":
        raise Wrong("bad", "a frame has scopes, which have variables")
    if kind == "value":
        frame, value, path = thing
        found = look.parts(value, path, begin, n)
    else:
        frame = thing[0]
        found = look.of_scope(frame, kind, begin, n)
    agent.send('{"m":"variables","q":%d,"variables":[%s]}' % (q, ",".join([variable(p, frame, *v) for v in found])))


def variable(p, frame, name, value, path, fixed=False):
    n, is_list = look.count_of(value)
    ref = p.ref("value", (id(value), path), (frame, value, path)) if n else 0
    return '{"name":%s,"type":%s,"value":%s,"ref":%d%s%s%s%s}' % (
        quote(name), quote(look.type_name(type(value))), quote(look.line(value)), ref,
        ',"count":%d' % n if n else "", ',"list":true' if is_list else "",
        ',"eval":%s' % quote(path) if path else "", ',"fixed":true' if fixed else "")


# --- what the thread itself does, for it runs the user's code

def _evaluate(q, m):
    p, frame = _frame_of(m.get("ref"))
    text, depth = m.get("text") or "", m.get("depth") or 3
    try:
        expression = look.Expression(text, True)
    except SyntaxError as e:
        raise Wrong("raised", "SyntaxError: %s" % e.msg)
    _put(q, p, lambda: _value(q, p, frame, text, look.evaluated(expression, frame), depth))


def _assign(q, m):
    p, kind, thing = _thing(m.get("ref"))
    name, text, place = m.get("name"), m.get("text") or "", m.get("expression")
    try:
        expression = look.Expression(text)
        if kind == "frame":
            if not place:
                raise Wrong("bad", "an assignment by a frame wants the expression of what is assigned to")
            job = look.assignment(thing, place, expression)
        elif kind == "value":
            job = look.part_assignment(*thing, name=name, expression=expression)
        else:
            job = look.scope_assignment(thing[0], kind, name, expression)
    except SyntaxError as e:
        raise Wrong("raised", "SyntaxError: %s" % e.msg)
    except LookupError as e:
        raise Wrong("cannot", str(e.args[0]))
    frame = thing if kind == "frame" else thing[0]
    _put(q, p, lambda: _value(q, p, frame, name or place, job(), 3))


def _value(q, p, frame, name, value, depth):
    path = name if "\n" not in name and "=" not in name else ""
    _answer(q, '{"m":"value","q":%d,"variable":%s,"value":%s}' % (
        q, variable(p, frame, name, value, path), encode(value, depth)))


def _put(q, p, work):
    def job():
        if q not in _asked:
            return  # it was answered that it cannot
        try:
            work()
        except Exception as e:
            _answer(q, error(q, "raised", look.error_text(e)))
        except SystemExit as e:
            _answer(q, error(q, "raised", look.error_text(e)))
    _asked[q] = (monotonic() + EVALUATE, p.tid, p.busy)
    p.queue.put(job)


def _answer(q, text):
    if _asked.pop(q, None) is not None:
        agent.send(text)


def patience():
    """Milliseconds until somebody's time is over, None where nobody is asked."""
    if not _asked:
        return None
    return max(0, int((min([v[0] for v in list(_asked.values())]) - monotonic()) * 1000) + 1)


def overdue():
    now = monotonic()
    for q, (end, tid, busy) in list(_asked.items()):
        if now >= end and _asked.pop(q, None) is not None:
            agent.send(error(q, "cannot", (
                "thread %d still evaluates what it was asked before" if busy else
                "thread %d has not come to an end with it in 5 s: it goes on with it, perhaps it waits for a lock that "
                "another paused thread holds") % tid))


_asks = {"pause": _pause, "go": _go, "step": _step, "frames": _frames, "scopes": _scopes, "variables": _variables,
         "evaluate": _evaluate, "assign": _assign}


def end():
    global ended
    ended = True
    steps.wanted.clear()
    del steps.steps[:]
    _asked.clear()
    for p in list(paused.values()):
        p.queue.put(None)


def in_child():
    global _number, _refs
    _number, _refs = count(1).__next__, count(1).__next__
    for p in list(paused.values()):
        if p.ident != _thread.get_ident():
            p.refs = {}
    paused.clear()
    _of_ref.clear()
    _asked.clear()
    steps.wanted.clear()
    me = _thread.get_ident()
    steps.steps[:] = [st for st in steps.steps if st.ident == me]
