"""The back end of Python 3.8 to 3.11, which have no cheap events: functions are replaced by ones that tell.

The source of a file is read again, the bodies of the functions that are taken are wrapped, and all of it is compiled:

    def f(a, b):
        __strobe_enter__(7, (a, b))
        try:
            ... return __strobe_exit__(7, X)
        except:
            __strobe_throw__(7)
            raise

The new code goes to where the old one is used: to every living function (f.__code__), and into the constants of the
code around it, from which functions yet to be made come, even if that code runs at this moment. All else costs nothing,
for nothing hooks the interpreter's loop. Taking away puts the old code back everywhere.

New names end in __, or a class would mangle them; none is a local variable, or locals() would show it.
"""
import _thread
import builtins
import gc
import sys

import strobe_files as files
from strobe_rules import AGENT, Rules, late, ours
from strobe_values import LIMIT, WIDE, encode, quote

NAME = "swap"

rules = Rules()
known = [None]  # Function by number
replaced = {}  # id of a code that tells, which is never let go -> Function
numbers = {}  # (module, name, file, line) -> Function
sources = {}  # path -> Source, of files that were looked at closely
refused = {}  # name of a function that should be recorded and cannot be -> reason
begun = False  # the user's code runs
watching = False  # the audit hook leads to us
# The agent whose audit hook is in, for it cannot be taken out: the others that come into the process later have it call
# them.
root = globals()
hooked = False
audit = None


class _Gone:
    """A function of an agent that was here before."""
    depth = 0
    generator = False

_CODE = type(ours.__code__)
_FUNCTION = type(ours)


def begin():
    global root
    before = getattr(builtins, "__strobe_enter__", None)
    if before is not None:  # an agent was here: code of its own that runs still ends by us, and its numbers are nobody's
        known.extend([_Gone] * (len(before.__globals__["known"]) - 1))
        root = before.__globals__.get("root") or root
    builtins.__strobe_enter__, builtins.__strobe_exit__ = enter, exit
    builtins.__strobe_throw__, builtins.__strobe_yield__ = throw, give
    builtins.__strobe_keep__, builtins.__strobe_end__ = keep, end_kept
    return True


def end(last=False):
    """Takes everything out. The names stay among the builtins: code that runs at this moment ends with them. last: the
    program ends, and what tells is told to say nothing; to put all back would take as long as its start."""
    global rules
    if not last:
        return apply(Rules())
    rules = Rules()
    for f in list(numbers.values()):
        f.depth = 0


def apply(new):
    global rules, watching
    rules = new
    for f in list(numbers.values()):
        f.depth = new.depth(f.module, f.name[len(f.module) + 1:], f.file)
    refused.clear()
    if new.active and not watching:
        watching = True
        if not root["hooked"]:
            sys.addaudithook(root["_on_audit"])
        root["hooked"], root["audit"] = True, _module_runs
    if sources or new.active and (begun or _takes_library(new)):
        late("strobe_compile").replace(new)


def _takes_library(new):
    """Whether the rules take anything before the user's code: that is not looked for closely, for every start pays."""
    for f in gc.get_objects():
        if type(f) is _FUNCTION:
            path = f.__code__.co_filename
            if path[:8] != "<frozen " and not path.startswith(AGENT) and new.may_take(path) and new.may_name(
                    f.__module__, f.__qualname__) and new.depth(f.__module__, f.__qualname__, path):
                return True
    return False


_looking = set()  # threads within the hook: what it imports comes to it too


def _on_audit(event, args):
    if event == "exec":
        audit(args)


def _module_runs(args):
    if not rules.active:
        return
    code, me = args[0], _thread.get_ident()
    if me in _looking or code.co_filename.startswith(AGENT):
        return
    _looking.add(me)
    try:
        # Every module's own code comes here before it runs, that of the script that was started too.
        if type(code) is _CODE and code.co_name == "<module>" and code.co_filename[:1] != "<":
            late("strobe_compile").replace_in_module(rules, code)
    except Exception:
        pass  # the module runs as it is
    finally:
        _looking.discard(me)


def recorded():
    for source in list(sources.values()):
        for key in list(source.wanted):
            f = source.wanted[key]
            code = source.old.get(key)
            if code is not None:
                yield f.module, f.name[len(f.module) + 1:], code


def unhookable():
    return list(refused.items())


def in_child():
    resting.clear()
    noted.clear()


def function(module, name, code, file):
    key = (module, name, code.co_filename, code.co_firstlineno)
    f = numbers.get(key)
    if f is not None:
        return f
    f = files.Function()
    flags = code.co_flags
    n = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames
    many = names[n:n + bool(flags & 4)]
    f.params = names[:code.co_argcount] + many + names[code.co_argcount:n] + names[n + len(many):][:bool(flags & 8)]
    f.name, f.module, f.file, f.line = module + "." + name, module, file, code.co_firstlineno
    f.generator = bool(flags & 0x2A0)
    f.coroutine = bool(flags & 0x80)
    f.asynchronous = bool(flags & 0x200)
    f.kind = "coroutine" if flags & 0x80 else "async_generator" if flags & 0x200 else (
        "generator" if flags & 0x20 else "function")
    f.format = "{%s}" % ",".join([quote(p).replace("%", "%%") + ":%s" for p in f.params])
    f.told = False
    f.depth = 3
    with files.lock:
        f.number = len(known)
        known.append(f)
        numbers[key] = files.functions[f.number] = f
    return f


# --- what the wrapped functions call
#
# A signal's handler or a __del__ may run amid any of these and call a recorded function itself: busy is set then, and
# the call is counted as lost.

def enter(number, values, known=known, local=files.local, str=str, int=int, type=type, low=-WIDE, high=WIDE,
          encode=encode, write=files.write):
    f = known[number]
    depth = f.depth
    if not depth:
        return
    s = local.stream
    if s is None:
        if files.closed:
            return
        s = files.attach()
    if s.busy:
        files.lose(s, f, 0)
        return
    s.busy = True
    try:
        under = 0
        if resting or f.generator:
            lane, under = _lane_for(s, f, sys._getframe(1))
        else:
            lane = s.own
        payload = (f.format % tuple([str(v) if type(v) is int and low < v < high else encode(v, depth, LIMIT, f)
                                     for v in values])).encode("utf-8", "backslashreplace")
        if len(payload) > LIMIT:
            payload = _shorter(f, values, depth)
        if (f.told and lane.told or files.tell(s, f, lane)) and write(s, 3, 0, number, lane.number, under, 0, payload):
            lane.calls.append(f)
        else:
            files.lose(s, f, 0)
            lane.calls.append(files.Unwritten(f))
    except Exception as e:
        if not ours(e):
            raise
    finally:
        s.busy = False


def _shorter(f, values, depth):
    each = max(64, LIMIT // max(1, len(values)) - 64)
    return (f.format % tuple([encode(v, depth, each, f) for v in values])).encode("utf-8", "backslashreplace")


def exit(number, value, known=known, local=files.local, str=str, int=int, type=type, low=-WIDE, high=WIDE,
         encode=encode, write=files.write):
    f = known[number]
    s = local.stream
    if s is None:
        return value
    if s.busy:
        files.lose(s, f, 1)
        return value
    s.busy = True
    try:
        lane = s.own if not resting else _lane_at(s, f, sys._getframe(1))
        calls = lane.calls
        if not calls or calls[-1] is not f:
            if not _settle(s, lane, f):
                return value
        if type(value) is int and low < value < high:
            payload = str(value).encode()
        else:
            payload = encode(value, f.depth or 1, LIMIT, f).encode("utf-8", "backslashreplace")
        calls.pop()
        if not write(s, 4, 0, number, lane.number, 0, 0, payload):
            files.lose(s, f, 1)
        if lane.frames:
            noted.pop(lane.frames.pop(), None)
        if f.generator:
            _finish_lane(s, lane)
    except Exception as e:
        if not ours(e):
            raise
    finally:
        s.busy = False
    return value


def keep(number, value):
    """A return amid with or finally, which still have to run: the exit comes behind them."""
    s = files.local.stream
    if s is not None and not s.busy:
        s.kept.append((number, value))
    return value


def end_kept(number, frame_of=sys._getframe):
    s = files.local.stream
    if s is None:
        return
    value = None
    for i in range(len(s.kept) - 1, -1, -1):
        if s.kept[i][0] == number:
            value = s.kept[i][1]
            del s.kept[i:]
            break
    f = known[number]
    if s.busy:
        files.lose(s, f, 1)
        return
    lane = s.own if not resting else _lane_at(s, f, frame_of(1))
    if f in lane.calls or any(type(c) is files.Unwritten and c.code is f for c in lane.calls):
        _end(s, lane, f, 0, value, False)


def throw(number, frame_of=sys._getframe):
    f = known[number]
    s = files.local.stream
    if s is None:
        return
    if s.busy:
        files.lose(s, f, 1)
        return
    error = sys.exc_info()[1]
    lane = s.own if not resting else _lane_at(s, f, frame_of(1))
    closed = f.generator and type(error) is GeneratorExit
    _end(s, lane, f, files.CLOSED if closed else files.THROWN, error, closed)


def _end(s, lane, f, flags, value, bare):
    s.busy = True
    try:
        if not lane.calls or lane.calls[-1] is not f:
            if not _settle(s, lane, f):
                return
        lane.calls.pop()
        payload = b"" if bare else encode(value, f.depth or 1, LIMIT, f).encode("utf-8", "backslashreplace")
        if not files.write(s, files.EXIT, flags, f.number, lane.number, 0, 0, payload):
            files.lose(s, f, 1)
        if lane.frames:
            noted.pop(lane.frames.pop(), None)
        if f.generator:
            _finish_lane(s, lane)
    except Exception as e:
        if not ours(e):
            raise
    finally:
        s.busy = False


def give(number, value, frame_of=sys._getframe):
    """A generator yields."""
    f = known[number]
    s = files.local.stream
    if s is None or s.busy or not f.depth:
        return value
    lane = resting.get(id(frame_of(1)))
    if lane is None or not lane.calls or type(lane.calls[-1]) is files.Unwritten:
        return value
    s.busy = True
    try:
        payload = encode(value, f.depth, LIMIT, f).encode("utf-8", "backslashreplace")
        if not files.write(s, files.YIELD, 0, number, lane.number, 0, 0, payload):
            files.lose(s, f, 2)
        files.switch(s, s.own)
    except Exception as e:
        if not ours(e):
            raise
    finally:
        s.busy = False
    return value


def _settle(s, lane, f):
    """Whether the exit of f is to be written where it is not the innermost call on its lane. Calls above it whose exits
    were missed end here, with no value known."""
    calls = lane.calls
    for i in range(len(calls) - 1, -1, -1):
        c = calls[i]
        if c is f:
            break
        if type(c) is files.Unwritten and c.code is f:
            del calls[i:]
            _forget(lane, i)
            files.lose(s, f, 1)
            if f.generator:
                _finish_lane(s, lane)
            return False
    else:
        return False
    for c in calls[:i:-1]:
        if type(c) is not files.Unwritten:
            if not files.write(s, files.EXIT, files.UNKNOWN, c.number, lane.number, 0, 0, b""):
                files.lose(s, c, 1)
    del calls[i + 1:]
    _forget(lane, i + 1)
    return True


# --- lanes
#
# No event tells here that a generator or coroutine rests or goes on. But it is known which frames have lanes, and a call
# belongs to the innermost of these that is on its thread's stack at that moment.

resting = {}  # id of a frame -> its lane, from its first start to its end
noted = {}  # the same of frames of other calls, of those that began while any rested: no search goes beyond them
pool = []


def _lane_for(s, f, frame):
    """The lane of a call that begins, and the one that it is under."""
    lane = _running(s, frame.f_back)
    if not f.generator:
        _note(lane, frame)
        return lane, 0
    under = lane.number if lane.calls else 0
    old = resting.pop(id(frame), None)
    if old is not None:
        _finish_lane(s, old)
    of = s.own.number
    try:
        new = pool.pop()
    except IndexError:
        new = files.Lane(of, "")
    name = _task_name() if f.coroutine or f.asynchronous else ""
    if new.name != name or new.of != of:
        new.name, new.of, new.told = name, of, False
    new.frame = id(frame)
    resting[id(frame)] = new
    s.lane = new
    return new, under


def _note(lane, frame):
    while len(lane.frames) < len(lane.calls):
        lane.frames.append(0)
    lane.frames.append(id(frame))
    noted[id(frame)] = lane


def _forget(lane, i):
    for key in lane.frames[i:]:
        noted.pop(key, None)
    del lane.frames[i:]


def _running(s, start):
    frame = start
    while frame is not None:
        i = id(frame)
        lane = noted.get(i) or resting.get(i)
        if lane is not None:
            s.lane = lane
            return lane
        frame = frame.f_back
    s.lane = s.own
    if s.own.calls:
        _recall(s.own, start)
    return s.own


def _recall(own, frame):
    """Notes the innermost call, which began while nothing rested: the stack below it is gone through only once."""
    while frame is not None:
        f = replaced.get(id(frame.f_code))
        if f is not None:
            last = own.calls[-1]
            if f is getattr(last, "code", last):
                own.frames.extend([0] * (len(own.calls) - len(own.frames)))
                own.frames[-1] = id(frame)
                noted[id(frame)] = own
            return
        frame = frame.f_back


def _lane_at(s, f, frame):
    """The lane of a call that ends."""
    if f.generator:
        return resting.get(id(frame)) or s.own
    return _running(s, frame)


def _task_name():
    tasks = sys.modules.get("_asyncio")
    try:
        if tasks is None or tasks._get_running_loop() is None:
            return ""
        return sys.modules["asyncio"].current_task().get_name()
    except Exception:
        return ""


def _finish_lane(s, lane):
    if not lane.of:
        return
    resting.pop(lane.frame, None)
    del lane.calls[:]
    _forget(lane, 0)
    lane.frame = 0
    s.lane = s.own
    pool.append(lane)
