"""Where events go: segments mapped into memory, one stream of them for each thread (docs/agentlink.md, Segments).

A record is in the file as soon as its length is written: nothing is buffered, so that neither a kill nor a crash of the
process loses any. A function that another thread may enter never leaves a stream half changed: the position moves last.
"""
import _thread
import os
import sys
from _json import encode_basestring as quote
from _struct import Struct
from mmap import mmap
from time import monotonic, monotonic_ns, sleep

FUNCTION, LANE, ENTER, EXIT, YIELD, LOST, CRASH, LOG, END, SWITCH, NEXT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255
THROWN, CLOSED, UNKNOWN = 1, 2, 4

HEADER = Struct("@QIIIIBBHI")  # of a record; native, so that the length is stored whole, and last
START = Struct("@8sII")  # of a segment
SIZES = (128 << 10, 1 << 20, 4 << 20)  # most threads write little, and there may be thousands
AHEAD = 16  # segments that the reader may be behind
PATIENCE = 20  # seconds that a writer waits for a reader that takes nothing
HIGH = 700  # our descriptors stand above this where they can: low numbers are the program's

folder = ""
prefix = ""  # P-N of the files' names
on_full = "wait"
closed = True  # nothing is written: before the start, and after the link's end
lock = _thread.allocate_lock()
streams = []  # all of the process, also those that wait in free
free = []  # of threads that ended
made = 0  # streams, ever
lanes = 0
functions = {}  # number -> Function
pinned = []  # maps whose descriptor is not ours any more: closing them would close the program's


class Function:
    """What is told of a function once, and how its arguments are written."""
    __slots__ = ("number", "name", "file", "line", "module", "params", "kind", "depth", "format", "told", "generator",
                 "coroutine", "asynchronous", "spent", "cut", "tried", "since")

    def __init__(self):
        self.spent = 0  # values looked at for its calls
        self.cut = 0  # calls of which less was written for it
        self.tried = 0  # see strobe_values
        self.since = 0.0

    def record(self):
        return ('{"name":%s,"file":%s,"line":%d,"module":%s,"language":"python","params":[%s],"kind":"%s"}' % (
            quote(self.name), quote(self.file), self.line, quote(self.module), ",".join(map(quote, self.params)),
            self.kind)).encode("utf-8", "backslashreplace")


def cut():
    """What applied says of calls of which less was written, for their time."""
    all_cut = [f for f in list(functions.values()) if f.cut]
    if not all_cut:
        return ""
    most = sorted(all_cut, key=lambda f: -f.cut)[:3]
    return ',"cut":{"calls":%d,"functions":%d,"most":[%s]}' % (
        sum([f.cut for f in all_cut]), len(all_cut), ",".join([quote(f.name) for f in most]))


class Lane:
    """Calls nest within a lane: a thread's own, or that of a call that can be left and come back."""
    __slots__ = ("number", "calls", "of", "name", "told", "back", "frame", "rested", "rest",
                 "offset", "guard", "frames")

    def __init__(self, of, name):
        global lanes
        with lock:
            lanes += 1
            self.number = lanes
        self.calls = []  # codes or functions, innermost last; Unwritten where the enter was not written
        self.of = of  # the lane of the thread that began it, 0 for a thread's own
        self.name = name
        self.told = False
        self.back = None  # the lane that was there before, while this one runs
        self.frame = 0  # id of the frame that it belongs to
        self.rested = 0  # nanoseconds awaited
        self.rest = 0  # since when it rests
        self.offset = 0  # of the instruction at which it does
        self.frames = []  # ids of the calls' frames, as far as they are known
        self.guard = None  # a weak reference to its generator


class Unwritten:
    """An open call of which there is no record: its exit is not written either."""
    __slots__ = ("code",)

    def __init__(self, code):
        self.code = code


class Stream:
    __slots__ = ("number", "sequence", "map", "position", "limit", "lane", "lost", "told_lost", "dropping", "looked",
                 "descriptor", "inode", "busy", "moving", "own", "kept")

    def __init__(self):
        global made
        with lock:
            streams.append(self)
            made += 1
            self.number = made
        self.sequence = -1
        self.map = None
        self.position = self.limit = 0
        self.lane = None  # that runs now
        self.lost = {}  # number of function -> [enters, exits, yields], all that were ever lost here
        self.told_lost = {}
        self.dropping = False  # the reader took nothing for too long
        self.looked = 0.0
        self.descriptor = self.inode = -1
        self.busy = False  # in one of our functions
        self.moving = False
        self.own = None  # the thread's own lane
        self.kept = []  # values on their way out of functions

    def turn(self, need, force=False):
        """Opens the next segment, with room for need bytes: False where the reader is too far behind."""
        if closed or self.moving:
            return False
        self.moving = True  # what a signal's handler writes in between is lost, and counted
        try:
            return self._turn(need, force)
        finally:
            self.moving = False

    def _turn(self, need, force):
        q = self.sequence + 1
        if not force and not self._may_open(q):
            return False
        size = SIZES[min(q, len(SIZES) - 1)]
        while size < need + 64:
            size *= 2
        try:
            m, descriptor, inode = _map(path_of(self.number, q), size)
        except OSError:
            return False  # no memory left for files, or the folder is gone
        START.pack_into(m, 0, b"strobe1\n", size, 0)
        old, at, old_descriptor, old_inode = self.map, self.position, self.descriptor, self.inode
        self.map, self.position, self.limit, self.sequence = m, 16, size - 32, q
        self.descriptor, self.inode = descriptor, inode
        if old is not None:
            HEADER.pack_into(old, at, monotonic_ns(), 0, 0, 0, 0, NEXT, 0, 0, 32)
            _close(old, old_descriptor, old_inode)
        if self.lost:
            tell_lost(self, self)
        return True

    def _may_open(self, q):
        if q < AHEAD:
            return True
        old = path_of(self.number, q - AHEAD)
        if self.dropping:  # looked at now and then only: each call asks
            now = monotonic()
            if now - self.looked < 0.02:
                return False
            self.looked = now
        if not os.path.exists(old):
            self.dropping = False
            return True
        if self.dropping or on_full == "drop":
            self.dropping = True
            return False
        end = monotonic() + PATIENCE
        while not closed:
            sleep(0.001)
            if not os.path.exists(old):
                return True
            if on_full != "block" and monotonic() > end:
                self.dropping = True
                return False
        return False


def path_of(stream, sequence):
    return "%s/%s-%d-%d.ev" % (folder, prefix, stream, sequence)


def _map(path, size):
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(fd, 0, size)  # a hole that cannot be filled later would kill the process
        if sys.version_info >= (3, 13):
            return mmap(fd, size, trackfd=False), -1, -1
        # Before, a map keeps a descriptor of its own, which a program that closes all of them takes from it: we look
        # whether it is still ours before the map closes it. It is the lowest one free.
        inode = os.fstat(fd).st_ino
        lowest = os.dup(fd)
        os.close(lowest)
        return mmap(fd, size), lowest, inode
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(fd)


def _close(m, descriptor, inode):
    if descriptor >= 0:
        try:
            ours = os.fstat(descriptor).st_ino == inode
        except OSError:
            ours = False
        if not ours:
            pinned.append(m)
            return
    m.close()


def write(s, kind, flags, function, lane, under, aux, payload, now=monotonic_ns, pack=HEADER.pack_into, len=len):
    """Appends a record to the stream of the running thread: False where there is no room for it."""
    n = len(payload)
    pad = -n & 7
    length = 32 + n + pad
    at = s.position
    if at + length > s.limit:
        if not s.turn(length):
            return False
        at = s.position
    m = s.map
    at += 32
    m[at:at + n] = payload
    at -= 32
    pack(m, at, now(), function, lane, under, aux, kind, flags, pad, length)
    s.position = at + length
    return True


def tell(s, function, lane):
    """Writes what must be known before a call can be: False where there is no room."""
    if not function.told:
        if not write(s, FUNCTION, 0, function.number, 0, 0, 0, function.record()):
            return False
        function.told = True
    if not lane.told:
        if lane.of:
            if s.own is not None and not s.own.told and s.own.number == lane.of and not tell(s, function, s.own):
                return False
            text = '{"of":%d,"name":%s}' % (lane.of, quote(lane.name))
        else:
            text = '{"tid":%d,"name":%s}' % (_thread.get_native_id(), quote(lane.name))
        if not write(s, LANE, 0, 0, lane.number, 0, 0, text.encode("utf-8", "backslashreplace")):
            return False
        lane.told = True
    return True


def switch(s, lane):
    """Tells which lane the thread is on now, for what others than its calls say of it."""
    if not lane.told:
        if lane.of:
            return
        text = '{"tid":%d,"name":%s}' % (_thread.get_native_id(), quote(lane.name))
        if not write(s, LANE, 0, 0, lane.number, 0, 0, text.encode("utf-8", "backslashreplace")):
            return
        lane.told = True
    write(s, SWITCH, 0, 0, lane.number, 0, 0, b"")


def lose(s, function, which):
    """Counts an enter (0), exit (1) or yield (2) that could not be written."""
    s.lost.setdefault(function.number, [0, 0, 0])[which] += 1


def tell_lost(of, into):
    """Writes into a stream what another (or the same one) has lost since this was told."""
    with lock:
        fresh = {}
        for number, counts in list(of.lost.items()):
            counts = tuple(counts)
            told = of.told_lost.get(number, (0, 0, 0))
            if counts != told:
                fresh[number] = tuple([a - b for a, b in zip(counts, told)])
                of.told_lost[number] = counts
    if not fresh:
        return
    for number in fresh:
        f = functions.get(number)
        if f is not None and not f.told:
            f.told = force(into, FUNCTION, 0, number, 0, 0, 0, f.record())
    text = ",".join(['"%d":[%d,%d,%d]' % ((n,) + c) for n, c in fresh.items()])
    force(into, LOST, 0, 0, 0, 0, 0, ('{"calls":{%s}}' % text).encode())


def force(s, kind, flags, function, lane, under, aux, payload):
    """Appends a record that may not be lost, however far behind the reader is."""
    if s.position + len(payload) + 40 > s.limit:
        moving, s.moving = s.moving, False
        done = s.turn(len(payload) + 40, True)
        s.moving = moving
        if not done:
            return False
    return write(s, kind, flags, function, lane, under, aux, payload)


class Mute(Stream):
    """The stream of our own thread, which records nothing."""
    __slots__ = ()

    def __init__(self):
        Stream.__init__(self)
        streams.remove(self)
        self.lane = Lane(0, "")

    def turn(self, need, force=False):
        self.lost.clear()
        return False


class _Local(_thread._local):
    stream = None
    end = None


local = _Local()


class _End:
    """Goes with its thread, and leaves the stream to the next one."""
    __slots__ = ("stream",)

    def __init__(self, stream):
        self.stream = stream

    def __del__(self, free=free):
        s = self.stream
        if s.number:  # 0 in a child of fork, where it was the parent's
            free.append(s)


def attach():
    """Gives the running thread a stream and a lane."""
    try:
        s = free.pop()
    except IndexError:
        s = Stream()
    s.lane = s.own = Lane(0, thread_name(_thread.get_ident(), _thread.get_native_id()))
    s.busy = False
    local.end = _End(s)
    local.stream = s
    return s


def thread_name(ident, tid):
    threading = sys.modules.get("threading")  # never imported for this: it costs, and runs code
    try:
        return str.__str__(threading._active[ident]._name)
    except Exception:
        return "MainThread" if tid == os.getpid() else ""


def open_process(where, nonce):
    """Begins the streams of this process: at the start, and again in a child of fork."""
    global folder, prefix, closed, lanes, lock, made
    lock = _thread.allocate_lock()
    for s in streams:
        s.number = 0
        if s.map is not None:
            pinned.append(s.map)  # the parent's: the child lets it be
    del streams[:]
    del free[:]
    for f in functions.values():
        f.told = False
    folder, prefix, lanes, made = where, "%d-%s" % (os.getpid(), nonce), 0, 0
    local.stream = None
    closed = False


def close_process(end):
    """Tells what was lost, and with end that the process ends in order. Nothing is written any more after that."""
    global closed
    if closed:
        return
    wrote = [s for s in streams if s.sequence >= 0]
    if wrote or end:
        own = local.stream or attach()
        for s in wrote:
            if s.lost:
                tell_lost(s, own)
        if end:
            force(own, END, 0, 0, 0, 0, 0, b"")
            closed = True


def let_go():
    """Unmaps all that was written to: nothing is any more. A thread that is amid a record meets an error of ours."""
    for s in list(streams):
        m, s.limit = s.map, 0
        if m is not None:
            _close(m, s.descriptor, s.inode)


def high(fd):
    """Moves a descriptor of ours out of the way of the program's."""
    for number in range(HIGH, HIGH + 64):
        try:
            os.fstat(number)
        except OSError:
            try:
                os.dup2(fd, number, False)
            except OSError:
                return fd  # fewer are allowed
            os.close(fd)
            return number
    return fd
