"""How the program tells of its lines before Python 3.12: sys.settrace, on all threads while there is a point, a step or
a thread that is to stand, and on none else. A trace function of the program's own (coverage, pdb) stays, and points say
so.

Another thread's trace function can be set in no way but through the interpreter's C API, by ctypes: a first function
in C's terms is put into the thread, and that installs ours by sys.settrace when the thread comes to it.
"""
import _thread
import ctypes
import opcode
import sys
from _weakref import ref

from strobe_rules import late

source = late("strobe_source")
points = late("strobe_points")

WHY = "this Python lets nobody in for points"
TAKEN = ("the program has a trace function of its own (coverage, pdb, …), and before Python 3.12 there is one only: "
         "points are not reached on its threads")

_agents = 0  # the state in C of our own thread
active = False  # ours is wanted on all threads
_lock = _thread.allocate_lock()
_seen = {}  # id of a code -> (weak reference, Watch or None)
_at = 0  # where a thread's state in C has the object of its trace function
_taken = False
_seeking = False


def why():
    return TAKEN if _taken and active else ""


def begin():
    if not _at:
        _find_place()
    return _at > 0


def end():
    refresh(False)


def in_child():
    global _lock
    _lock = _thread.allocate_lock()
    refresh(False)


def own_thread():
    """Called in our own thread, which is not traced."""
    global _agents
    _agents = _c().PyThreadState_Get()


def follow(step, frame):
    """A step needs a frame's lines and end."""
    back = frame
    while back is not None:
        if not source.ours(back.f_code) and (step is None or step.how == "free" or back is step.frame):
            back.f_trace = on_event
            back.f_trace_lines = True
        back = back.f_back
        if step is None:
            break


def refresh(again):
    global active
    steps = points.steps
    if again:
        _seen.clear()
    wanted = bool(points.by_file or points.by_function or points.by_exception or steps.steps or steps.wanted)
    with _lock:
        if wanted:
            active = True
            _install()
            if again:
                _put_on_frames()
        elif active:
            active = False
            _uninstall()


def seek(frames):
    global _seeking
    _seeking = True
    for frame in frames:
        while frame is not None:
            if not source.ours(frame.f_code):
                frame.f_trace = on_event
                frame.f_trace_lines = True
            frame = frame.f_back
    refresh(False)


def settle(frames):
    global _seeking
    _seeking = bool(frames)
    refresh(False)


# --- the interpreter's insides

_api = None


def _c():
    global _api
    if _api is None:
        api = ctypes.PyDLL(None)
        api.PyInterpreterState_Head.restype = api.PyInterpreterState_ThreadHead.restype = ctypes.c_void_p
        api.PyInterpreterState_ThreadHead.argtypes = api.PyThreadState_Next.argtypes = [ctypes.c_void_p]
        api.PyThreadState_Next.restype = api.PyThreadState_Get.restype = ctypes.c_void_p
        if hasattr(api, "_PyEval_SetTrace"):
            api._PyEval_SetTrace.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        kind = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.py_object, ctypes.c_int, ctypes.c_void_p)
        api.strobe_first = kind(_first)
        api.strobe_address = ctypes.cast(api.strobe_first, ctypes.c_void_p).value
        api.strobe_word = ctypes.c_void_p.from_address
        api.strobe_int = ctypes.c_int.from_address
        _api = api
    return _api


def _find_place():
    """Our own thread's state shows where the object stands: there where a marker appears and goes."""
    global _at
    api = _c()
    state = api.PyThreadState_Get()

    def marker(frame, event, argument):
        return None
    if sys.gettrace() is not None:
        _at = -1
        return
    sys.settrace(marker)
    try:
        found = [i for i in range(40, 400, 8) if api.strobe_word(state + i).value == id(marker)]
    finally:
        sys.settrace(None)
    found = [i for i in found if not api.strobe_word(state + i).value]
    _at = found[0] if len(found) == 1 else -1


def _states():
    api = _c()
    state = api.PyInterpreterState_ThreadHead(api.PyInterpreterState_Head())
    own = api.PyThreadState_Get()
    while state:
        yield state, state == own
        state = api.PyThreadState_Next(state)


def _install():
    global _taken
    api = _c()
    _taken = False
    for state, own in _states():
        if state == _agents:
            continue
        there = api.strobe_word(state + _at).value
        if not there:
            if own:
                sys.settrace(on_call)
            else:
                _put(api, state)
        elif there not in (id(on_call), id(None)):
            _taken = True
    threading = sys.modules.get("threading")
    if threading is not None and threading._trace_hook is None:
        threading._trace_hook = on_call


def _put(api, state):
    if hasattr(api, "_PyEval_SetTrace"):
        api._PyEval_SetTrace(state, api.strobe_address, id(None))
        return
    # 3.8: the object, the two functions and the switch stand one behind the other; _first takes it out as it came.
    if api.PyThreadState_Get() == _agents:
        _keep_possible()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(None))
    api.strobe_word(state + _at).value = id(None)
    api.strobe_word(state + _at - 16).value = api.strobe_address
    api.strobe_int(state + _at - 32).value = 1


_possible = False


def _keep_possible():
    """3.8 looks at threads' functions only while it counts one that was set in order: ours is, which sees nothing."""
    global _possible
    if not _possible:
        _possible = True
        sys.settrace(_nothing)


def _nothing(frame, event, argument):
    return None


def _first(_, frame, what, argument):
    """Runs in a thread that was given it: the thread's own way of setting a trace function follows."""
    try:
        if not hasattr(_api, "_PyEval_SetTrace"):
            state = _api.PyThreadState_Get()
            _api.strobe_word(state + _at - 16).value = None
            _api.strobe_word(state + _at).value = None
        if not active:
            sys.settrace(None)
            return 0
        sys.settrace(on_call)
        if what == 0:
            frame.f_trace = on_call(frame, "call", None)
        elif what == 2 and frame.f_trace is not None:
            on_event(frame, "line", None)
    except Exception as e:
        points.mishap(e)
    return 0


def _uninstall():
    api = _c()
    for state, own in _states():
        if api.strobe_word(state + _at).value in (id(on_call), id(None)):
            if own:
                sys.settrace(None)
            elif hasattr(api, "_PyEval_SetTrace"):
                api._PyEval_SetTrace(state, None, None)
            # 3.8: on_call and on_event take themselves out
    threading = sys.modules.get("threading")
    if threading is not None and threading._trace_hook is on_call:
        threading._trace_hook = None
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            if frame.f_trace is on_event:
                frame.f_trace = None
            frame = frame.f_back


def _put_on_frames():
    """Frames that run get their lines told where they have points."""
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            if not source.ours(frame.f_code):
                if _watch(frame) is not None or points.by_exception:
                    frame.f_trace = on_event
                    frame.f_trace_lines = _watch(frame) is not None
            frame = frame.f_back


def _watch(frame):
    code = frame.f_code
    known = _seen.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    watch = points.watches.get(id(code))
    if watch is None or watch.code() is not code:
        watch = points.bind(code, frame.f_globals)
    _seen[id(code)] = (ref(code), watch)
    if code.co_name == "<module>" or code.co_filename[-13:] == "/threading.py":
        threading = sys.modules.get("threading")
        if threading is not None and getattr(threading, "_trace_hook", 0) is None:
            threading._trace_hook = on_call
    return watch


# --- events, within the program's threads

_under_way, _wanted, _by_exception = points.steps.steps, points.steps.wanted, points.by_exception

def on_call(frame, event, argument):
    """A frame begins, or a generator goes on."""
    known = _seen.get(id(frame.f_code))
    if known is not None and known[1] is None and known[0]() is frame.f_code and active and not (
            _under_way or _wanted or _by_exception):
        return None  # most calls
    try:
        if not active:
            if sys.gettrace() is on_call:
                sys.settrace(None)
            return None
        watch = _watch(frame)
        if source.ours(frame.f_code):
            return None
        steps = points.steps
        if watch is not None and watch.entry and (frame.f_lasti < 0 or _begins(frame)):
            watch.begun.add(id(frame))
        matters = False
        if steps.steps or steps.wanted:
            matters = steps.at_start(frame) or any(
                st.frame is frame or frame.f_code in st.codes for st in steps.steps)
        if watch is None and not matters:
            if not points.by_exception:
                return None
            frame.f_trace_lines = False
        else:
            frame.f_trace_lines = True
        return on_event
    except Exception as e:
        points.mishap(e)


_RESUME = source._RESUME


def _begins(frame):
    """Whether a call is a frame's first. From 3.11 on the place is that of its RESUME, which says so."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return _RESUME >= 0 and code[at] == _RESUME and code[at + 1] == 0


def on_event(frame, event, argument):
    if event == "line" and active and not (_under_way or _wanted):
        known = _seen.get(id(frame.f_code))
        if known is not None and known[1] is not None and known[0]() is frame.f_code and not known[1].begun and (
                frame.f_lineno not in known[1].lines):
            return on_event  # most lines
    try:
        if not active:
            frame.f_trace = None
            if sys.gettrace() is on_call:
                sys.settrace(None)
            return None
        steps = points.steps
        if event == "line":
            line = frame.f_lineno
            if line == source.added_line(frame.f_code):
                return on_event
            watch = _watch(frame)
            here = points.at(watch, frame, line) if watch is not None else None
            if here or steps.steps or steps.wanted:
                steps.at_line(frame, line, here)
        elif event == "return":
            if steps.steps and not _rests(frame):
                if _returns(frame):
                    steps.at_return(frame, argument)
                else:
                    steps.at_unwind(frame)
        elif event == "exception" and points.by_exception:
            steps.at_raise(frame, argument[1], argument[2])
        return on_event
    except Exception as e:
        points.mishap(e)
        return on_event
    finally:
        # The interpreter writes the names that it read before this back into the frame: those of now.
        if frame.f_code.co_cellvars or frame.f_code.co_freevars:
            frame.f_locals


def _op(name):
    return opcode.opmap.get(name, -1)


_YIELDS = (_op("YIELD_VALUE"), _op("YIELD_FROM"), _op("SEND"))
_RETURNS = (_op("RETURN_VALUE"), _op("RETURN_GENERATOR"))


def _rests(frame):
    code = frame.f_code
    if not code.co_flags & 0x2A0:
        return False
    at, text = frame.f_lasti, code.co_code
    if at < 0:
        return False
    # Before 3.11 a frame that rests in YIELD_FROM stands at the instruction before it.
    return text[at] in _YIELDS or text[at + 2:at + 3] != b"" and text[at + 2] == _op("YIELD_FROM")


def _returns(frame):
    at = frame.f_lasti
    return at >= 0 and frame.f_code.co_code[at] in _RETURNS
