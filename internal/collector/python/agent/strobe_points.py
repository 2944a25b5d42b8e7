"""Breakpoints and logpoints: which there are, where they are, and what happens when one is reached (docs/agentlink.md,
Points). How the program comes to be told of its lines is strobe_lines's or, before 3.12, strobe_settrace's."""
import _thread
import os
import sys
from _weakref import ref
from itertools import count

import strobe_agent as agent
import strobe_files as files
from strobe_rules import AGENT, LIBRARY, Glob, late, loaded, module_name, names_of, recordable
from strobe_values import encode, quote

source = late("strobe_source")

UNCAUGHT, EXCEPTIONS = "@uncaught", "@exceptions"
LOCATIONS = 20  # of a point that are told

points = []  # in force
ended = []  # those that were in force when all was taken out
by_function = []
by_file = []
by_exception = []
watches = {}  # id of a code -> Watch, of codes with points
bound = {}  # name of a file -> {line: [Point]}
_logs = []  # records that a thread could not write when they came


class Point:
    __slots__ = ("key", "id", "function", "last", "file", "line", "condition", "text", "hit_count", "message", "parts",
                 "tid", "counter", "hits", "locations", "error", "why", "note", "failed", "lost", "step")

    def __init__(self, m):
        self.key = key_of(m)
        self.id = m.get("id") or ""
        self.function, self.last = m.get("function") or "", None
        self.file, self.line = m.get("file") or "", m.get("line") or 0
        self.text, self.message = m.get("condition") or "", m.get("message") or ""
        self.hit_count, self.tid = m.get("hitCount") or 0, m.get("tid") or 0
        self.condition = self.parts = self.step = None
        self.counter = count(1).__next__
        self.hits = self.lost = 0
        self.locations = {}  # (file, line, function) -> None
        self.error = self.why = self.note = ""
        self.failed = False  # a condition or message that raised was told
        try:
            if self.text:
                self.condition = look.Expression(self.text)
            if self.message:
                self.parts = look.template(self.message)
        except Exception as e:
            self.error = "its %s is no Python: %s" % ("message" if self.condition or not self.text else "condition",
                                                   getattr(e, "msg", None) or e)
        if self.function and self.function[0] != "@":
            last = self.function.rpartition(".")[2]
            self.function, self.last = Glob(self.function, "."), Glob(last, ".") if "**" not in last else None


def key_of(m):
    return tuple([m.get(k) for k in ("id", "function", "file", "line", "condition", "hitCount", "message", "tid")])


class Watch:
    """The points of one code."""
    __slots__ = ("code", "lines", "entry", "begun", "first")

    def __init__(self, code):
        self.code = ref(code, lambda _, key=id(code): watches.pop(key, None))
        self.lines = {}  # line -> (offsets that do not count, [Point])
        self.entry = []  # Points of its beginning
        self.begun = set()  # ids of frames that began and have not come to a line
        self.first = 0  # the first line



def apply(messages):
    """Makes exactly these points be in force. Those that were keep their hits."""
    global points
    if type(files.local.stream) is files.Mute:
        events.own_thread()
    old = {p.key: p for p in points}
    points = [old.get(key_of(m)) or Point(m) for m in messages]
    renew()


def renew():
    """Puts the points and what steps want of lines where the program comes to them."""
    able = [p for p in points if not p.error] + [st.point for st in steps.steps if st.point]
    source.forget()
    by_function[:] = [p for p in able if type(p.function) is Glob]
    by_file[:] = [p for p in able if p.file]
    by_exception[:] = [p for p in able if type(p.function) is str and p.function]
    known = [(w.code(), None) for w in list(watches.values())]
    bound.clear()
    watches.clear()
    if able and not events.begin():
        for p in able:
            p.why = events.WHY
        return
    for p in able:
        p.locations.clear()
        p.why = p.note = ""
    if by_file or by_function:
        _find_loaded(known)
    events.refresh(True)


def _find_loaded(known):
    """Binds the points to what is loaded and to what runs, and notes where that is."""
    if by_function:
        for module, name, code in loaded():
            if recordable(code):
                for p in by_function:
                    if takes(p, module, name):
                        locate(p, module + "." + name, file_of(code.co_filename).path, first_line(code))
    if by_file:
        for m in list(sys.modules.values()):
            names = getattr(m, "__dict__", None)
            path = names.get("__file__") if type(names) is dict else None
            if type(path) is str:
                lines_of(path, module_name(names))
    seen = set()
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            code = frame.f_code
            if id(code) not in seen and not source.ours(code):
                seen.add(id(code))
                bind(code, frame.f_globals)
            frame = frame.f_back
    for code, _ in known:
        if code is not None and id(code) not in seen:
            bind(code, None)


def file_of(name):
    return agent.engine.rules.file(name)


def first_line(code):
    found = source.runs(code)
    return found[0][2] if found else code.co_firstlineno


def locate(p, function, file, line):
    p.why = ""
    p.locations.setdefault((file, line, function))


def takes(p, module, name):
    last = name.rpartition(".")[2]
    if p.last is not None and not p.last.match(last):
        return False
    return any(p.function.match(n) for n in names_of(module, name))


def lines_of(name, module, code=None):
    """The lines of a file that have points: {line: [Point]}, None where it has none."""
    if name in bound:
        return bound[name]
    path = file_of(name).path
    found = {}
    for p in by_file:
        if not matches(p.file, path):
            continue
        s = source.source(path)
        line = s.next_line(p.line) if s.lines else p.line
        if not line:
            p.why = p.why or "%s has no code from line %d on" % (path, p.line)
            continue
        if line != p.line:
            p.note = "line %d has no code; line %d is the next that has" % (p.line, line)
        elif line in s.definitions and not s.function_at(line):
            p.note = "line %d makes the function and runs once; for its calls take the function or a line in it" % line
        name_at = s.function_at(line)
        locate(p, module + "." + name_at if name_at else module, path, line)
        found.setdefault(line, []).append(p)
    bound[name] = found or None
    return bound[name]


def matches(wanted, path):
    if path == wanted:
        return True
    root = agent.engine.rules.root
    own = wanted if wanted[:1] == "/" else root + wanted
    if wanted[:1] == "/" or root and os.path.isfile(own):  # the project's, and not one of a package that ends so too
        return os.path.basename(path) == os.path.basename(own) and os.path.realpath(path) == os.path.realpath(own)
    return path.endswith("/" + wanted[2:] if wanted[:2] == "./" else "/" + wanted)


def bind(code, names):
    """Decides about a code that is seen for the first time: its Watch, where it has points."""
    if source.ours(code):
        return None
    watch = None
    module = "?" if names is None else module_name(names)
    if by_file:
        lines = lines_of(code.co_filename, module)
        if lines:
            s = source.source(file_of(code.co_filename).path)
            for line in {line for _, _, line in source.runs(code)} & set(lines):
                if code.co_name in source.COMPREHENSIONS and line in s.plain:
                    continue  # the statement around it has the line
                watch = watch or Watch(code)
                watch.lines[line] = (source.within(code, line, s), lines[line])
    if by_function and recordable(code):
        for p in by_function:
            if p.last is not None and not p.last.match(code.co_name):
                continue
            path = file_of(code.co_filename).path
            name = source.qualname(code, path)
            if names is None:
                found = any(n.endswith("." + name) and f == path for f, _, n in p.locations)
            else:
                found = takes(p, module, name)
            if found:
                watch = watch or Watch(code)
                watch.entry.append(p)
                watch.first = first_line(code)
                if names is not None:
                    locate(p, module + "." + name, path, watch.first)
    if watch is not None:
        watches[id(code)] = watch
    return watch


def at(watch, frame, line):
    """The points that a frame has come to with a line."""
    found = watch.lines.get(line)
    here = found[1] if found is not None and frame.f_lasti not in found[0] else None
    if watch.begun and id(frame) in watch.begun:
        watch.begun.discard(id(frame))
        here = watch.entry + (here or [])
    return here


# --- in the program's threads

def reached(frame, here, extra=None):
    """Counts the hits of points and writes messages. Returns the point that pauses, and which hit of it that is."""
    pauses = None
    for p in here:
        if p.tid and p.tid != _thread.get_native_id():
            continue
        if p.condition is not None and not _holds(p, frame, extra):
            continue
        n = p.counter()
        if p.hit_count and n != p.hit_count:
            continue
        p.hits += 1
        if p.parts is not None:
            _log(p, frame, extra)
        elif pauses is None:
            pauses = p, n
    return pauses


def _holds(p, frame, extra):
    try:
        return True if p.condition.value(frame, extra) else False
    except Exception as e:
        if not p.failed:
            p.failed = True
            _tell(p, frame, '"condition":%s,"error":%s' % (quote(p.text), quote(look.error_text(e))))
        return False


def _log(p, frame, extra):
    try:
        text = look.filled(p.parts, frame, extra)
    except Exception as e:
        if not p.failed:
            p.failed = True
            _tell(p, frame, '"condition":%s,"error":%s' % (quote(p.message), quote(look.error_text(e))))
        return
    _tell(p, frame, '"message":%s' % encode(text, 1) if len(text) <= 256 else '"message":%s' % quote(text[:4096]))


def _tell(p, frame, members):
    name, path, line = look.place(frame)
    payload = '{"breakpointId":%s,%s,"function":%s,"file":%s,"line":%d}' % (
        quote(p.id), members, quote(name), quote(path), line)
    s = files.local.stream
    if s is None:
        if files.closed:
            return
        s = files.attach()
    if s.busy:  # a signal's handler, amid a record of ours
        _logs.append((p, payload))
        return
    s.busy = True
    try:
        while _logs:
            _write(s, *_logs.pop())
        _write(s, p, payload)
    finally:
        s.busy = False


def _write(s, p, payload):
    lane = s.lane
    if not lane.told:
        text = '{"of":%d,"name":%s}' % (lane.of, quote(lane.name)) if lane.of else '{"tid":%d,"name":%s}' % (
            _thread.get_native_id(), quote(lane.name))
        lane.told = files.write(s, files.LANE, 0, 0, lane.number, 0, 0, text.encode("utf-8", "backslashreplace"))
    if not files.write(s, files.LOG, 0, 0, lane.number, 0, 0, payload.encode("utf-8", "backslashreplace")):
        p.lost += 1


# --- what is told of them

def statuses():
    return ",".join([_status(p) for p in points or ended])


def _status(p):
    why, note = p.why, p.note
    if not why and not p.locations and p not in by_exception and not p.error:
        why = "nothing that is loaded has it yet: it takes effect when that comes"
    if p in by_exception:
        note = "wherever one is raised"
    if events.why():
        note = events.why()
    if p.lost:
        note = (note + "; " if note else "") + "%d messages are lost: nobody read them in time" % p.lost
    places = ",".join(['{"function":%s,"file":%s,"line":%d}' % (quote(f), quote(file), line)
                       for file, line, f in list(p.locations)[:LOCATIONS]])
    return '{"id":%s,"locations":[%s],"hits":%d%s%s%s}' % (
        quote(p.id), places, p.hits, ',"error":%s' % quote(p.error) if p.error else "",
        ',"why":%s' % quote(why) if why else "", ',"note":%s' % quote(note) if note else "")


def handle(message):
    return pause.handle(message)


def mishap(e):
    """What goes wrong in the agent is nobody's concern, but for what a signal's handler raised while it ran."""
    tb = e.__traceback__
    while tb is not None:
        name = tb.tb_frame.f_code.co_filename
        if not name.startswith(AGENT):
            if not name.startswith(LIBRARY) or "-packages" in name:
                raise e
            return  # what we asked the library for
        tb = tb.tb_next


def end():
    """Everything out: no point, no step, and whoever stands goes on."""
    pause.end()
    ended[:] = points
    points[:] = []
    renew()
    events.end()


def in_child():
    """Only the thread that forked is there."""
    for p in points:
        p.counter, p.hits, p.lost = count(1).__next__, 0, 0
    pause.in_child()
    events.in_child()


# All of it is there before the first event comes: a thread must not find a module that another one imports.
look = late("strobe_look")
steps = late("strobe_steps")
events = late("strobe_lines" if sys.version_info >= (3, 12) else "strobe_settrace")
pause = late("strobe_pause")
uncaught = late("strobe_uncaught")
