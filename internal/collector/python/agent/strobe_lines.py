"""How the program tells of its lines from Python 3.12 on: sys.monitoring, by a tool of its own beside that of traces.

A code with points gets its lines told; a line without one answers DISABLE and costs nothing from then on. Codes are
found when they first start or go on, as traces find theirs.
"""
import _thread
import sys
from _weakref import ref

from strobe_rules import late

source = late("strobe_source")
points = late("strobe_points")

M = sys.monitoring
E = M.events
DISABLE = M.DISABLE
WHY = "all of Python's tools for monitoring are taken, by a profiler, coverage or a debugger of the program's"

tool = None
_lock = _thread.allocate_lock()
_in_force = {}  # id of a code -> (weak reference, events)
_everywhere = 0
_seeking = {}  # id of a code -> code, of threads that are to stand
_at_once = False  # a thread that is to stand may begin any function meanwhile


def why():
    return ""


def begin():
    global tool
    if tool is not None:
        return True
    for free in (4, 3, 0, 2):
        if M.get_tool(free) is None:
            tool = free
            break
    else:
        return False
    M.use_tool_id(tool, "strobe points")
    for event, f in ((E.LINE, on_line), (E.PY_START, on_start), (E.PY_RESUME, on_resume), (E.PY_THROW, on_throw),
                     (E.PY_RETURN, on_return), (E.PY_UNWIND, on_unwind), (E.RAISE, on_raise), (E.JUMP, on_jump)):
        M.register_callback(tool, event, f)
    return True


def end():
    global tool
    if tool is None:
        return
    refresh(False)
    M.set_events(tool, 0)
    try:
        M.free_tool_id(tool)
    except ValueError:
        pass
    tool = None


def in_child():
    global _lock
    _lock = _thread.allocate_lock()
    _seeking.clear()
    refresh(True)


def own_thread():
    """Nothing: what it runs is ours, and tells of nothing."""


def follow(step, frame):
    """Nothing: refresh does."""


def refresh(again):
    """Makes the events of all codes those that points, steps and threads that are to stand want; again: also where
    DISABLE was answered."""
    global _everywhere
    if tool is None:
        return
    steps = points.steps.steps
    with _lock:
        want = {}
        for key, w in list(points.watches.items()):
            code = w.code()
            if code is not None:
                want[key] = (code, E.LINE | (E.PY_START if w.entry else 0))
        for st in list(steps):
            for code, lines, ends in st.needs():
                old = want.get(id(code), (code, 0))[1]
                want[id(code)] = (code, old | (E.LINE if lines else 0) | (E.PY_RETURN if ends else 0))
        for key, code in list(_seeking.items()):
            want[key] = (code, want.get(key, (code, 0))[1] | E.LINE | E.JUMP)
        for key, (weak, _) in list(_in_force.items()):
            if key not in want:
                code = weak()
                if code is not None:
                    M.set_local_events(tool, code, 0)
                _in_force.pop(key, None)
        for key, (code, mask) in want.items():
            old = _in_force.get(key)
            if old is None or old[0]() is not code or old[1] != mask:
                _in_force[key] = (ref(code, lambda _, key=key: _in_force.pop(key, None)), mask)
                M.set_local_events(tool, code, mask)
        mask = 0
        if points.by_file or points.by_function or _at_once or any(st.starts() for st in steps):
            mask |= E.PY_START | E.PY_RESUME
        if steps:
            mask |= E.PY_UNWIND
        if any(st.starts() for st in steps):
            mask |= E.PY_THROW
        if points.by_exception:
            mask |= E.RAISE
        if mask != _everywhere:
            _everywhere = mask
            M.set_events(tool, mask)
        if again:
            M.restart_events()


def seek(frames):
    """Threads are to stand: whatever runs on their stacks tells of its lines and loops, and all of what begins."""
    global _at_once
    _at_once = True
    _chain(frames)
    refresh(True)


def settle(frames):
    """What waits outside of the interpreter stands when it is back: what begins meanwhile need not tell any more."""
    global _at_once
    _at_once = False
    _seeking.clear()
    _chain(frames)
    refresh(True)


def _chain(frames):
    for frame in frames:
        while frame is not None:
            if not source.ours(frame.f_code):
                _seeking[id(frame.f_code)] = frame.f_code
            frame = frame.f_back


# --- events, within the program's threads

def on_line(code, line, frame_of=sys._getframe):
    try:
        watch = points.watches.get(id(code))
        steps = points.steps
        if watch is None or not (watch.begun or line in watch.lines):
            if not steps.steps and not steps.wanted:
                return None if watch is not None and line == watch.first else DISABLE
            here = None
        else:
            here = points.at(watch, frame_of(1), line)
            if not here and not steps.steps and not steps.wanted:
                return None if watch.entry else DISABLE
        steps.at_line(frame_of(1), line, here)
    except Exception as e:
        points.mishap(e)


def on_start(code, offset, frame_of=sys._getframe):
    try:
        watch = points.watches.get(id(code))
        frame = frame_of(1)
        if watch is None or watch.code() is not code:
            watch = _find(code, frame)
        steps = points.steps
        entry = watch is not None and watch.entry
        if entry:
            watch.begun.add(id(frame))
        if steps.wanted or steps.steps:
            steps.at_start(frame)
        elif not entry:
            return DISABLE
    except Exception as e:
        points.mishap(e)


def on_resume(code, offset, frame_of=sys._getframe):
    try:
        frame = frame_of(1)
        if id(code) not in points.watches:
            _find(code, frame)
        steps = points.steps
        if steps.wanted or steps.steps:
            steps.at_start(frame)
        else:
            return DISABLE
    except Exception as e:
        points.mishap(e)


def _find(code, frame):
    watch = points.bind(code, frame.f_globals)
    if watch is not None:
        refresh(False)
    return watch


def on_throw(code, offset, error, frame_of=sys._getframe):
    try:
        points.steps.at_start(frame_of(1))
    except Exception as e:
        points.mishap(e)


def on_return(code, offset, value, frame_of=sys._getframe):
    try:
        if points.steps.steps:
            points.steps.at_return(frame_of(1), value)
    except Exception as e:
        points.mishap(e)


def on_unwind(code, offset, error, frame_of=sys._getframe):
    try:
        if points.steps.steps:
            points.steps.at_unwind(frame_of(1))
    except Exception as e:
        points.mishap(e)


def on_raise(code, offset, error, frame_of=sys._getframe):
    try:
        points.steps.at_raise(frame_of(1), error, error.__traceback__)
    except Exception as e:
        points.mishap(e)


def on_jump(code, offset, to, frame_of=sys._getframe):
    try:
        steps = points.steps
        if steps.wanted:
            if _thread.get_ident() in steps.wanted:
                steps.stand(frame_of(1), "pause")
        else:
            return DISABLE
    except Exception as e:
        points.mishap(e)
