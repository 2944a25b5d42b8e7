"""What a thread came to, by whichever events: points, the ends of steps, and threads that are to stand where they are.

A step stays with a frame, not with a thread: a coroutine that awaits comes back to it. Over and out end where the frame
goes on or where it returned to; what returns or raises to code that is not the user's makes the step free: it ends at
the next line of the user's on its thread.
"""
import _thread
import sys

from strobe_rules import File, late, plain_module

source = late("strobe_source")
points = late("strobe_points")

OVER, INTO, OUT, FREE, LINE = "over", "into", "out", "free", "line"

steps = []  # under way
wanted = {}  # ident of a thread that is to stand -> its tid
_files = {}


class _Guard:
    """Goes with its thread, and takes its steps along."""
    __slots__ = ("ident",)

    def __init__(self):
        self.ident = _thread.get_ident()

    def __del__(self):
        try:
            for st in list(steps):
                if st.ident == self.ident and (st.frame is None or not rests(st.frame)):
                    steps.remove(st)
        except Exception:
            pass  # the interpreter ends


def rests(frame):
    return frame.f_code.co_flags & 0x2A0


class _Local(_thread._local):
    guard = None


local = _Local()


def user(frame):
    """Whether a frame is the user's own code."""
    code = frame.f_code
    name = code.co_filename
    if name[:1] == "<":
        return name[:8] != "<frozen " and frame.f_globals.get("__name__") == "__main__"
    rules = points.agent.engine.rules
    if rules.root:
        return rules.file(name).user and not source.ours(code)
    f = _files.get(name)
    if f is None:
        f = _files[name] = File(name, "/")
    return f.user and not source.ours(code)


def caller(frame):
    """The frame that called one, without ours."""
    frame = frame.f_back
    while frame is not None and source.ours(frame.f_code):
        frame = frame.f_back
    return frame


def source_of(frame):
    return source.source(points.file_of(frame.f_code.co_filename).path)


class Step:
    __slots__ = ("id", "how", "ident", "system", "frame", "first", "last", "landing", "codes", "point")

    def __init__(self, frame, how, name, system):
        self.id, self.how, self.system = name, how, system or not user(frame)
        self.ident = _thread.get_ident()
        self.landing = None  # a frame that was entered: its first line ends the step
        self.codes = []  # further ones whose lines matter
        self.point = None  # of a step to a line
        self._from(frame)
        if local.guard is None:
            local.guard = _Guard()

    def _from(self, frame):
        self.frame, self.last = frame, frame.f_lasti
        self.first = source_of(frame).statement(frame.f_lineno or 0)

    def needs(self):
        """[(code, whether its lines, whether its ends)]."""
        if self.how == LINE:
            return []
        found = [(c, True, False) for c in self.codes]
        if self.frame is not None:
            found.append((self.frame.f_code, self.how != OUT, True))
        return found

    def starts(self):
        """Whether frames that begin matter."""
        return self.how in (INTO, FREE)

    def at_line(self, frame, line, me):
        if self.how in (OUT, LINE):
            return False
        if frame is self.landing:
            return True
        if frame is self.frame and self.how != FREE:
            of, at = source_of(frame), frame.f_lasti
            again = line == self.first and at <= self.last and at not in source.within(frame.f_code, line, of)
            self.last = at
            return again or of.statement(line) != self.first
        return self.how == FREE and me == self.ident and (self.system or user(frame)) and frame.f_code in self.codes

    def at_start(self, frame, me):
        """A frame begins or goes on. Whether its lines matter now."""
        if me != self.ident or not self.starts() or frame is self.frame:
            return False
        if frame.f_code.co_filename[:8] == "<frozen " or not (self.system or user(frame)):
            return False
        if self.how == INTO:
            below = frame
            while below is not None and below is not self.frame:
                below = below.f_back
            if below is None:
                return False
        self.landing = frame
        self.codes = self.codes + [frame.f_code]
        return True

    def at_return(self, frame):
        """Its frame returns: False where the step ends with that, for nobody is there to return to."""
        back = caller(frame)
        if back is None:
            return False
        if self.how == INTO or self.how == OVER:
            if self.system or user(back):
                self._from(back)
            else:
                self.free(frame)
        return True

    def free(self, frame):
        """From here on the next line of the user's on this thread ends it, be it of a frame that is there."""
        self.how, self.frame, self.ident = FREE, None, _thread.get_ident()
        back = caller(frame)
        while back is not None:
            if (self.system or user(back)) and back.f_code not in self.codes:
                self.codes = self.codes + [back.f_code]
            back = caller(back)


def begin(frame, how, name, system, file="", line=0):
    st = Step(frame, how, name, system)
    if how == LINE:
        st.point = points.Point({"id": name, "file": file, "line": line, "tid": _thread.get_native_id()})
        st.point.step = st
        st.frame = None
        steps.append(st)
        points.renew()
        return
    steps.append(st)
    points.events.follow(st, frame)
    points.events.refresh(True)


def drop(ident):
    """A thread stands: steps that it was on are over."""
    mine = [st for st in steps if st.ident == ident]
    for st in mine:
        steps.remove(st)
    if any(st.point for st in mine):
        points.renew()
    elif mine:
        points.events.refresh(False)


def stand(frame, reason, **more):
    caller = frame.f_back
    while caller is not None:
        if source.ours(caller.f_code):
            return  # what we call ourselves: nobody might let it go
        caller = caller.f_back
    points.pause.stand(frame, reason, **more)


# --- what events say, within the program's threads

def at_line(frame, line, here):
    """A frame comes to a line. here are the points that it reaches by it."""
    me = _thread.get_ident()
    if here:
        pauses = points.reached(frame, here)
        if pauses is not None:
            p, n = pauses
            if p.step is not None:
                return stand(frame, "until", point=p.id)
            return stand(frame, "breakpoint", point=p.id, hit=n)
    for st in steps:
        if st.at_line(frame, line, me):
            st.ident = me
            return stand(frame, "step", point=st.id)
    if me in wanted:
        stand(frame, "pause")


def at_start(frame):
    """A frame begins or goes on. Returns whether its lines matter."""
    me = _thread.get_ident()
    matters = False
    for st in list(steps):
        if st.at_start(frame, me):
            matters = True
    if matters:
        points.events.follow(None, frame)
        points.events.refresh(False)
    elif me in wanted:
        stand(frame, "pause")
    return matters


def at_return(frame, value):
    for st in list(steps):
        if st.frame is not frame or st.how == FREE:
            continue
        if not st.at_return(frame):
            if st in steps:
                steps.remove(st)
        elif st.how == OUT:
            st.ident = _thread.get_ident()
            stand(frame, "step", point=st.id, top=caller(frame), result=(value,), result_of=frame)
            return
        else:
            points.events.follow(st, frame)
        points.events.refresh(True)


def at_unwind(frame):
    for st in list(steps):
        if st.frame is frame and st.how != FREE:
            st.free(frame)
            points.events.follow(st, frame)
            points.events.refresh(True)


def at_raise(frame, error, tb):
    """An exception is raised or comes through a frame."""
    if not points.by_exception or isinstance(error, (StopIteration, StopAsyncIteration, GeneratorExit)):
        return
    if tb is not None and (tb.tb_next is not None or tb.tb_frame is not frame):
        return  # it comes from further in, where it was told of, or is raised again
    code = frame.f_code
    if code.co_filename[:8] == "<frozen " or source.ours(code):
        return
    here = []
    for p in points.by_exception:
        if p.function == points.EXCEPTIONS or points.uncaught.uncaught(frame, error):
            here.append(p)
    pauses = points.reached(frame, here, error)
    if pauses is not None:
        look = points.look
        stand(frame, "exception", point=pauses[0].id, hit=pauses[1],
               note="%s: %s" % (look.type_name(type(error)), look.error_message(error)))


def name_of(frame):
    code = frame.f_code
    module = frame.f_globals.get("__name__")
    module = plain_module(module) if type(module) is str else "?"
    if code.co_name == "<module>":
        return module + ".<module>"
    return module + "." + source.qualname(code, points.file_of(code.co_filename).path)


def stacks():
    """{ident: innermost frame} of the program's threads."""
    return {i: f for i, f in sys._current_frames().items() if not _agents(f)}


def _agents(frame):
    while frame.f_back is not None:
        frame = frame.f_back
    return source.ours(frame.f_code)
