"""The back end of Python 3.12 and newer: sys.monitoring (PEP 669).

While any rule is in force, every function tells its first start; one that no rule takes answers DISABLE and costs
nothing from then on, one that is taken gets events of its own. So code that comes into being later (imports, exec,
closures, what pytest rewrites) is found when it first runs, and nothing has to be searched.

The interpreter runs no events of a thread while one of ours runs, so nothing here is entered twice by one thread.
"""
import gc
import sys
from _weakref import ref

import strobe_files as files
from strobe_rules import Rules, module_name, ours, recordable
from strobe_values import LIMIT, WIDE, encode, quote

M = sys.monitoring
E = M.events
DISABLE = M.DISABLE
PLAIN = E.PY_START | E.PY_RETURN
COMING_BACK = PLAIN | E.PY_YIELD | E.PY_RESUME
GLOBAL = E.PY_START | E.PY_UNWIND | E.PY_THROW

NAME = "monitoring"

begun = False  # the user's code runs
tool = None
rules = Rules()
hooked = {}  # id of a code -> Function, of codes that are recorded now; a code's death takes it out
leaving = {}  # the same of codes that are not any more, but may have open calls, whose ends are still told
kept = {}  # id of a code -> weak reference
numbers = {}  # (name, file, line) -> Function: code that is made again and again keeps its number


def begin():
    global tool
    for free in (3, 4, 0, 2):  # 1 is coverage's, 5 and 0 have well known users too
        if M.get_tool(free) is None:
            tool = free
            break
    if tool is None:
        return False
    M.use_tool_id(tool, "strobe")
    for event, f in ((E.PY_START, on_start), (E.PY_RETURN, on_return), (E.PY_UNWIND, on_unwind),
                     (E.PY_YIELD, on_yield), (E.PY_RESUME, on_resume), (E.PY_THROW, on_throw)):
        M.register_callback(tool, event, f)
    return True


def end(last=False):
    """Takes everything out."""
    global tool, rules
    if tool is None:
        return
    rules = Rules()
    M.set_events(tool, 0)
    if dead and files.local.stream is not None:
        _bury(files.local.stream)
    for key in list(kept):
        code = kept[key]()
        if code is not None:
            M.set_local_events(tool, code, 0)
        _forget(key)
    try:
        M.free_tool_id(tool)
    except ValueError:
        pass
    tool = None


def apply(new):
    """Puts rules in force, in whatever the program runs at this moment."""
    global rules
    rules = new
    if tool is None:
        return
    for key, f in list(hooked.items()):
        f.depth = new.depth(f.module, f.name[len(f.module) + 1:], f.file)
        if not f.depth:
            _unhook(key)
    M.set_events(tool, (M.get_events(tool) & ~GLOBAL) | (GLOBAL if new.active else 0))
    M.restart_events()


def _unhook(key):
    f = hooked.pop(key, None)
    code = kept[key]() if key in kept else None
    if f is not None and code is not None:
        leaving[key] = f
        M.set_local_events(tool, code, (COMING_BACK if f.generator else PLAIN) & ~E.PY_START)


def _forget(key):
    hooked.pop(key, None)
    leaving.pop(key, None)
    kept.pop(key, None)


def recorded():
    for key, f in list(hooked.items()):
        code = kept[key]() if key in kept else None
        if code is not None:
            yield f.module, f.name[len(f.module) + 1:], code


def unhookable():
    return []


def _find(code, frame):
    """Decides about a code that starts for the first time: its Function where it is to be recorded."""
    if not recordable(code):
        return None
    names = frame.f_globals
    module = module_name(names)
    name = code.co_qualname.replace(".<locals>", "")
    depth = rules.depth(module, name, code.co_filename)
    if not depth:
        return None
    f = function(module, name, code, rules.file(code.co_filename).path)
    f.depth = depth
    key = id(code)
    hooked[key] = f
    leaving.pop(key, None)
    if key not in kept:
        kept[key] = ref(code, lambda _, key=key: _forget(key))
    M.set_local_events(tool, code, COMING_BACK if f.generator else PLAIN)
    return f


def function(module, name, code, file):
    key = (module, name, code.co_filename, code.co_firstlineno)
    f = numbers.get(key)
    if f is not None:
        return f
    f = files.Function()
    flags = code.co_flags
    n = code.co_argcount + code.co_kwonlyargcount
    f.name, f.module, f.file, f.line = module + "." + name, module, file, code.co_firstlineno
    names = code.co_varnames
    many = names[n:n + bool(flags & 4)]  # *args stands behind the others there, not where it is written
    f.params = names[:code.co_argcount] + many + names[code.co_argcount:n] + names[n + len(many):][:bool(flags & 8)]
    f.generator = bool(flags & 0x2A0)
    f.coroutine = bool(flags & 0x80)
    f.asynchronous = bool(flags & 0x200)
    f.kind = "coroutine" if flags & 0x80 else "async_generator" if flags & 0x200 else (
        "generator" if flags & 0x20 else "function")
    f.format = "{%s}" % ",".join([quote(p).replace("%", "%%") + ":%s" for p in f.params])
    f.told = False
    f.depth = 3
    with files.lock:
        f.number = len(numbers) + 1
        numbers[key] = files.functions[f.number] = f
    return f


def mishap(e):
    """What goes wrong here is nobody's concern, but for what a signal's handler raised while this ran."""
    if not ours(e):
        raise e


def arguments(f, values, depth):
    """The payload of an enter where the quick way gave too much."""
    each = max(64, LIMIT // max(1, len(values)) - 64)
    return (f.format % tuple([encode(v, depth, each, f) for v in values])).encode("utf-8", "backslashreplace")


dead = []  # lanes whose generators were closed or dropped without an event

# --- events, from here on within the program's threads

def on_start(code, offset, hooked=hooked, id=id, local=files.local, frame_of=sys._getframe, int=int, type=type, str=str,
             low=-WIDE, high=WIDE, encode=encode, write=files.write, tuple=tuple,
             dead=dead):
    try:
        frame = frame_of(1)
        f = hooked.get(id(code))
        if f is None:
            f = _find(code, frame)
            if f is None:
                return DISABLE
        s = local.stream
        if s is None:
            if files.closed:
                return
            s = files.attach()
        if dead:
            _bury(s)
        under = 0
        lane = s.lane
        if f.generator:
            if lane.calls:
                under = lane.number
            lane = _take_lane(s, f, frame)
        depth = f.depth
        known = frame.f_locals
        try:
            values = [known[p] for p in f.params]
        except KeyError:
            return _enter_without(s, f, lane, under, code)
        payload = (f.format % tuple([str(v) if type(v) is int and low < v < high else encode(v, depth, LIMIT, f)
                                     for v in values])).encode("utf-8", "backslashreplace")
        if len(payload) > LIMIT:
            payload = arguments(f, values, depth)
        if (f.told and lane.told or files.tell(s, f, lane)) and write(s, 3, 0, f.number, lane.number, under, 0, payload):
            lane.calls.append(code)
        else:
            files.lose(s, f, 0)
            lane.calls.append(files.Unwritten(code))
    except Exception as e:
        mishap(e)


def _enter_without(s, f, lane, under, code):
    """A call of which not all arguments can be read."""
    if files.tell(s, f, lane) and files.write(s, files.ENTER, 0, f.number, lane.number, under, 0, b"{}"):
        lane.calls.append(code)
    else:
        files.lose(s, f, 0)
        lane.calls.append(files.Unwritten(code))


def on_return(code, offset, value, hooked=hooked, id=id, local=files.local, int=int, type=type, str=str,
              low=-WIDE, high=WIDE, encode=encode, write=files.write):
    try:
        s = local.stream
        if s is None:
            return
        lane = s.lane
        calls = lane.calls
        f = hooked.get(id(code))
        if f is None:
            f = leaving.get(id(code))
            if f is None or code not in calls:
                return DISABLE
        if not calls or calls[-1] is not code:
            if not _settle(s, lane, code, f):
                return
        if f.generator:
            _leave(s, f, 0, encode(value, f.depth, LIMIT, f).encode("utf-8", "backslashreplace"))
            return
        if type(value) is int and low < value < high:
            payload = str(value).encode()
        else:
            payload = encode(value, f.depth, LIMIT, f).encode("utf-8", "backslashreplace")
        calls.pop()
        if not write(s, 4, 0, f.number, lane.number, 0, 0, payload):
            files.lose(s, f, 1)
    except Exception as e:
        mishap(e)


def _settle(s, lane, code, f):
    """Whether the exit of code is to be written where it is not the innermost call on its lane. Calls above it whose
    exits were missed (their rule was taken away while they ran) end here, with no value known."""
    calls = lane.calls
    for i in range(len(calls) - 1, -1, -1):
        c = calls[i]
        if c is code:
            break
        if type(c) is files.Unwritten and c.code is code:
            del calls[i:]
            files.lose(s, f, 1)
            if f.generator:
                _finish_lane(s, lane)
            return False
    else:
        return False  # it began before it was recorded
    for c in calls[:i:-1]:
        if type(c) is not files.Unwritten:
            g = hooked.get(id(c)) or leaving.get(id(c))
            if g is not None and not files.write(s, files.EXIT, files.UNKNOWN, g.number, lane.number, 0, 0, b""):
                files.lose(s, g, 1)
    del calls[i + 1:]
    return True


def on_unwind(code, offset, error, hooked=hooked, id=id, local=files.local):
    try:
        s = local.stream
        if s is None:
            return
        f = hooked.get(id(code)) or leaving.get(id(code))
        if f is None:
            return  # of any function: this event has no per-function form before 3.15
        lane = s.lane
        calls = lane.calls
        if not calls or calls[-1] is not code:
            if not _settle(s, lane, code, f):
                return
        if f.generator:
            closed = type(error) is GeneratorExit
            _leave(s, f, 2 if closed else 1,
                   b"" if closed else encode(error, f.depth, LIMIT, f).encode("utf-8", "backslashreplace"))
            return
        payload = encode(error, f.depth, LIMIT, f).encode("utf-8", "backslashreplace")
        calls.pop()
        if not files.write(s, 4, 1, f.number, lane.number, 0, 0, payload):
            files.lose(s, f, 1)
    except Exception as e:
        mishap(e)


# --- calls that can be left and come back: each on a lane of its own

def _take_lane(s, f, frame):
    key = id(frame)
    old = resting.pop(key, None)
    if old is not None:
        _gone(s, old)  # its frame was thrown away without an event
    try:
        lane = pool.pop()
    except IndexError:
        lane = files.Lane(s.lane.of or s.lane.number, "")
    name = _task_name() if f.coroutine or f.asynchronous else ""
    of = s.lane.of or s.lane.number
    if lane.name != name or lane.of != of:
        lane.name, lane.of, lane.told = name, of, False
    lane.frame = key
    lane.rested = 0
    lane.back = s.lane
    resting[key] = lane
    if QUIET_CLOSE:
        _watch(frame, lane)
    s.lane = lane
    return lane


pool = []  # lanes that nobody runs on
resting = {}  # id of a frame -> its lane, from its first start to its end


# From 3.13 on, a generator that rests where no handler is around it is closed without running, hence without an event.
# Its object's death tells of it. 3.14 knows the object of a frame; in 3.13 the frame lies within the object, at a place
# that one of our own generators shows.
QUIET_CLOSE = sys.version_info >= (3, 13)
_RESUME_DEPTH1 = 4  # in the argument of RESUME: no handler is around the yield before it
_place = None


def _watch(frame, lane):
    try:
        generator = _generator_of(frame)
        if generator is not None:
            lane.guard = ref(generator, lambda _, lane=lane, key=lane.frame: _died(lane, key))
    except Exception:
        pass  # the lane ends when its frame's place is taken again


def _generator_of(frame):
    if sys.version_info >= (3, 14):
        return frame.f_generator
    global _place
    if _place is None:
        _place = _find_place()
    word, within, object_at, at = _place
    generator = object_at(word(id(frame) + at) - within)
    own = getattr(generator, "gi_frame", None) or getattr(generator, "cr_frame", None) or getattr(
        generator, "ag_frame", None)
    return generator if own is frame else None


def _find_place():
    import _ctypes

    class Word(_ctypes._SimpleCData):
        _type_ = "P"

    def word(address):
        return Word.from_address(address).value or 0

    def one():
        yield sys._getframe()
    generator = one()
    frame = next(generator)
    for at in range(16, object.__sizeof__(frame), 8):
        within = word(id(frame) + at) - id(generator)
        if 0 < within < object.__sizeof__(generator):
            return word, within, _ctypes.PyObj_FromPtr, at
    raise LookupError


def _died(lane, key):
    """May run amid anything, a write of ours included: so it only notes what died."""
    if lane.frame != key or not lane.calls:
        return
    code = lane.calls[0]
    code = getattr(code, "code", code)
    if code.co_code[lane.offset + 3] & _RESUME_DEPTH1:  # else it runs to its end now, and its events come
        dead.append((lane, key))


def _bury(s):
    while dead:
        lane, key = dead.pop()
        if lane.frame == key:
            _gone(s, lane)


def _task_name():
    tasks = sys.modules.get("_asyncio")
    try:
        return tasks.current_task().get_name() if tasks is not None else ""
    except RuntimeError:
        return ""  # no loop runs


def _finish_lane(s, lane):
    if not lane.of:
        return
    resting.pop(lane.frame, None)
    del lane.calls[:]
    if s.lane is lane:
        s.lane = lane.back
    lane.back = lane.guard = None
    lane.frame = 0
    pool.append(lane)


def _leave(s, f, flags, payload):
    """The end of a generator or coroutine."""
    lane = s.lane
    lane.calls.pop()
    awaited = min(lane.rested // 1000, 0xFFFFFFFF)
    if not files.write(s, files.EXIT, flags, f.number, lane.number, 0, awaited, payload):
        files.lose(s, f, 1)
    _finish_lane(s, lane)


def _gone(s, lane):
    """A call that can never come back, of which no event told."""
    for code in reversed(lane.calls):
        if type(code) is not files.Unwritten:
            f = hooked.get(id(code)) or leaving.get(id(code))
            if f is not None and not files.write(s, files.EXIT, files.CLOSED, f.number, lane.number, 0,
                                                 min(lane.rested // 1000, 0xFFFFFFFF), b""):
                files.lose(s, f, 1)
    del lane.calls[:]
    _finish_lane(s, lane)


def on_yield(code, offset, value, hooked=hooked, local=files.local, frame_of=sys._getframe, now=files.monotonic_ns):
    try:
        f = hooked.get(id(code)) or leaving.get(id(code))
        if f is None:
            return DISABLE
        s = local.stream
        if s is None:
            return
        lane = s.lane
        if lane.frame != id(frame_of(1)):
            return  # it began before it was recorded
        if not f.coroutine:
            wrapped = type(value).__name__ == "async_generator_wrapped_value"
            if wrapped:
                value = gc.get_referents(value)[0]
            if (wrapped or not f.asynchronous) and type(lane.calls[-1]) is not files.Unwritten:
                payload = encode(value, f.depth, LIMIT, f).encode("utf-8", "backslashreplace")
                if not files.write(s, files.YIELD, 0, f.number, lane.number, 0, 0, payload):
                    files.lose(s, f, 2)
        s.lane = lane.back
        files.switch(s, s.lane)
        lane.back = None
        lane.offset = offset
        lane.rest = now()
    except Exception as e:
        mishap(e)


def on_resume(code, offset, frame_of=sys._getframe):
    try:
        if id(code) not in hooked and id(code) not in leaving:
            return DISABLE
        _resume(frame_of(1))
    except Exception as e:
        mishap(e)


def on_throw(code, offset, error, frame_of=sys._getframe):
    try:
        if id(code) in hooked or id(code) in leaving:  # of any function before 3.15, so no DISABLE
            _resume(frame_of(1))
    except Exception as e:
        mishap(e)


def _resume(frame, now=files.monotonic_ns):
    lane = resting.get(id(frame))
    if lane is None:
        return
    s = files.local.stream
    if s is None:
        s = files.attach()
    lane.rested += now() - lane.rest
    lane.back = s.lane
    s.lane = lane
    files.switch(s, lane)
