"""What all threads and tasks do at this moment, and what was so when an exception ended the process."""
import _thread
import gc
import sys

import strobe_files as files
from strobe_rules import AGENT, File, plain_module
from strobe_values import LIMIT, encode, message_of, quote, type_name

FRAMES = 50  # of a stack that are told
FRAMES_AT_CRASH = 30
CHAIN = 10
# Functions of the standard library that wait for others: what a thread does in them is told as what it waits for.
WAITERS = ("threading", "queue", "selectors", "select", "socket", "ssl", "subprocess", "multiprocessing", "concurrent",
           "asyncio")


def _name(frame):
    code = frame.f_code
    module = frame.f_globals.get("__name__")
    module = plain_module(module) if type(module) is str else "?"
    return module + "." + getattr(code, "co_qualname", code.co_name).replace(".<locals>", "")


def _frame(frame, rules):
    return '{"function":%s,"file":%s,"line":%d}' % (
        quote(_name(frame)), quote(rules.file(frame.f_code.co_filename).path), frame.f_lineno or 0)


# --- threads and tasks

def threads(rules):
    out = []
    me = _thread.get_ident()
    names = getattr(sys.modules.get("threading"), "_active", {})
    for ident, frame in sys._current_frames().items():
        if ident == me:
            continue
        thread = names.get(ident)
        tid = getattr(thread, "native_id", None) or _main_tid(ident)
        waits = ""
        module = frame.f_globals.get("__name__")
        if type(module) is str and module.partition(".")[0] in WAITERS:
            waits = ',"waits":%s' % quote(_name(frame))
        stack = []
        while frame is not None and len(stack) < FRAMES:
            if not frame.f_code.co_filename.startswith(AGENT):
                stack.append(_frame(frame, rules))
            frame = frame.f_back
        out.append('{"tid":%d,"name":%s,"frames":[%s]%s}' % (
            tid, quote(str(getattr(thread, "_name", ""))), ",".join(stack), waits))
    out.extend(_tasks(rules))
    return ",".join(out)


def _main_tid(ident):
    import os
    main = getattr(sys.modules.get("threading"), "_main_thread", None)
    return os.getpid() if main is None or getattr(main, "_ident", None) == ident else 0


def _tasks(rules):
    """All tasks of asyncio that have not ended. Every version keeps its own lists of them: the collector knows all."""
    tasks = sys.modules.get("asyncio.tasks")
    if tasks is None:
        return
    kinds = (tasks.Task, tasks._PyTask)
    for o in gc.get_objects():
        t = type(o)
        if t in kinds or any(k in t.__mro__ for k in kinds):
            try:
                if not tasks.Task.done(o):
                    yield _task(o, rules, kinds)
            except Exception:
                pass  # it is being made or ends


def _task(task, rules, kinds):
    stack = []
    coroutine = task.get_coro()
    last = None
    while coroutine is not None and len(stack) < FRAMES:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None) or getattr(
            coroutine, "ag_frame", None)
        if frame is not None:
            stack.append(_frame(frame, rules))
            last = _name(frame)
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None) or getattr(
            coroutine, "ag_await", None)
    waits = ""
    on = getattr(task, "_fut_waiter", None)
    if type(on) in kinds:
        waits = "task " + on.get_name()
    elif on is not None:
        waits = last if last is not None and last.startswith("asyncio.") else type_name(type(on))
    return '{"tid":0,"name":"","task":%s,"frames":[%s]%s}' % (
        quote(task.get_name()), ",".join(reversed(stack)), ',"waits":%s' % quote(waits) if waits else "")


# --- crashes

def crash(error, traceback, what, rules):
    """Writes a crash: of the process, or of a thread of it, which the rest survives."""
    if files.closed:
        return
    s = files.local.stream or files.attach()
    lane = s.own
    frames = []
    tb = traceback if traceback is not None else error.__traceback__
    while tb is not None:
        frames.append((tb.tb_frame, tb.tb_lineno))
        tb = tb.tb_next
    frames.reverse()
    more = len(frames) - FRAMES_AT_CRASH
    if more > 0:
        frames = frames[:FRAMES_AT_CRASH - 5] + frames[-5:]
    thread = lane.name or files.thread_name(_thread.get_ident(), _thread.get_native_id())
    head = '{"type":%s,"message":%s,"language":"python","ends":"%s","chain":[%s],"thread":%s%s,"frames":[' % (
        quote(type_name(type(error))), _text(error), what, ",".join(_chain(error)), quote(thread),
        ',"more":%d' % more if more > 0 else "")
    # Locals as deep as there is room for, of the user's frames.
    for depth in (3, 2, 1, 0):
        room = LIMIT - len(head) - 64
        told = []
        for frame, line in frames:
            text = _crash_frame(frame, line, rules, depth, room // 3)
            if len(text) > room:
                break
            room -= len(text) + 1
            told.append(text)
        if len(told) == len(frames):
            break
    payload = head + ",".join(told) + "]}"
    if not lane.told:
        lane.told = files.force(s, files.LANE, 0, 0, lane.number, 0, 0, (
            '{"tid":%d,"name":%s}' % (_thread.get_native_id(), quote(lane.name))).encode("utf-8", "backslashreplace"))
    files.force(s, files.CRASH, 0, 0, lane.number, 0, 0, payload.encode("utf-8", "backslashreplace"))


def _crash_frame(frame, line, rules, depth, room):
    code = frame.f_code
    file = rules.file(code.co_filename)
    user = file.user if rules.root else File(code.co_filename, "/").user
    values = ""
    if depth and user and code.co_flags & 1:  # a module's or class's body has everything in it
        parts = []
        for name, value in list(frame.f_locals.items()):
            if not name.startswith("__strobe"):
                text = quote(name) + ":" + encode(value, depth, min(2048, room))
                room -= len(text)
                if room < 0:
                    break
                parts.append(text)
        values = ',"locals":{%s}' % ",".join(parts)
    return '{"function":%s,"file":%s,"line":%d,"user":%s%s}' % (
        quote(_name(frame)), quote(file.path), line or 0, "true" if user else "false", values)


def _text(error):
    text = message_of(error)
    if text is None:
        try:
            text = str(error)  # their own __str__, which the interpreter is about to run too
        except Exception:
            text = ""
    return encode(str.__str__(text), 1) if len(text) <= 256 else quote(text[:1024])


def _chain(error):
    """What came before it, as the traceback would tell."""
    seen = {id(error)}
    for _ in range(CHAIN):
        if error.__cause__ is not None:
            error, relation = error.__cause__, "cause"
        elif error.__context__ is not None and not error.__suppress_context__:
            error, relation = error.__context__, "context"
        else:
            return
        if id(error) in seen:
            return
        seen.add(id(error))
        yield '{"type":%s,"message":%s,"relation":"%s"}' % (quote(type_name(type(error))), _text(error), relation)
