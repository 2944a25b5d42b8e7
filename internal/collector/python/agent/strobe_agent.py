"""Strobe's agent in CPython 3.8 and newer: speaks docs/agentlink.md, with nothing but the standard library.

It never prints, never keeps the process alive, and no exception of its own reaches the program. This file is the
agent's life: start, the control socket and its thread, fork, the end. Its start is paid by every Python process below
a session, so that whatever is not needed for it is imported when it is.
"""
import _thread
import os
import select
import sys
from _json import encode_basestring as quote, make_scanner

import strobe_files as files
from strobe_rules import Rules, applied, late

if sys.version_info >= (3, 12):
    import strobe_monitoring as engine
else:
    import strobe_swap as engine

VERSION = 1

folder = ""
nonce = ""
generation = 0
counted = False  # functions were told
socket = None
socket_file = None  # device and inode: a program that closes all descriptors may own the number by now
waker = (-1, -1)  # a pipe that ends the thread's waiting
output = b""  # what waits to be sent
output_lock = _thread.allocate_lock()
running = False  # the thread is to run
task = ""  # what the system knows it by
gone = _thread.allocate_lock()  # held while it does
over = False  # the link ended, which is for good


class _Context:
    """What the standard library's reader of JSON in C wants: without json, which imports re."""
    strict = False
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int, parse_constant = float, int, float
    memo = {}


def loads(text):
    return make_scanner(_Context())(text, 0)[0]


def start(where, amid=False):
    """Called before the user's code, or amid it. Does nothing where there is no session."""
    if sys.implementation.name != "cpython":
        return
    try:
        with open(where + "/start.json", encoding="utf-8") as f:
            message = loads(f.read().strip())
    except OSError:
        return
    global folder, generation
    folder = where
    if not _connect():
        return
    _begin_process()
    if amid:
        files.local.stream = files.Mute()  # this thread is ours
    generation = message.get("gen") or 0
    files.on_full = message.get("onFull") or "wait"
    if message.get("lines") and not amid:
        _by_lines()
    if not engine.begin():
        _send_hello()
        _spin()
        return
    rules = Rules(message)
    engine.rules = rules
    engine.begun = amid
    if rules.rules:
        engine.apply(rules)
    engine.begun = True
    _points(message)
    _send_hello(0 if amid else None)  # of a program that runs it counts what is loaded
    import strobe_crash
    strobe_crash.watch(_alive)
    _spin()
    import atexit
    atexit.register(_at_exit)
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
    strobe_crash.wrap_exits(files)


def _by_lines():
    """What is printed goes out line by line, so that it stands on the timeline where it was printed."""
    try:
        sys.stdout.reconfigure(line_buffering=True)
    except Exception:
        pass  # there is none, or it is none of the interpreter's


def _begin_process():
    global nonce
    nonce = os.urandom(8).hex()
    files.open_process(folder, nonce)


# --- the socket

def _connect():
    global socket, socket_file, waker
    import _socket
    try:
        s = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)  # closed by exec, as all that Python opens
        s.settimeout(1)
        s.connect(folder + "/control")
        fd = files.high(s.detach())
        socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fd)
        socket.setblocking(False)
        status = os.fstat(fd)
        socket_file = (status.st_dev, status.st_ino)
        waker = tuple(map(files.high, os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)))
        return True
    except OSError:
        return False


def _ours():
    try:
        status = os.fstat(socket.fileno())
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == socket_file


def send(text):
    """Sends a line, from any thread. It goes out by ours."""
    global output
    with output_lock:
        output += text.encode("utf-8", "backslashreplace") + b"\n"
    _wake()


def _wake():
    try:
        os.write(waker[1], b".")
    except OSError:
        pass  # full, which wakes too


def _send_hello(question=None):
    try:
        with open("/proc/self/cmdline", "rb") as f:
            argv = [os.fsdecode(a) for a in f.read().split(b"\0")[:-1]]
    except OSError:
        argv = list(getattr(sys, "orig_argv", ()))
    can = ["trace", "threads", "points"]
    send('{"m":"hello","v":%d,"runtime":"python","version":"%d.%d.%d","pid":%d,"ppid":%d,"nonce":"%s","exe":%s,'
         '"argv":[%s],"backend":"%s","can":[%s]}' % (
             (VERSION,) + tuple(sys.version_info[:3]) + (
                 os.getpid(), os.getppid(), nonce, quote(sys.executable or ""), ",".join(map(quote, argv[:100])),
                 engine.NAME, ",".join(map(quote, can)))))
    # What start.json asked for is in force; what it takes of the user's code is not known, where none is loaded yet.
    send(_applied(question))
    flush(0)


def _applied(question, all_loaded=True, again=True):
    global counted
    refused, in_c = engine.unhookable(), []
    if question is None:
        counts, functions, names = {r.id: 0 for r in engine.rules.rules}, 0, []
    else:
        counts, functions, in_c, names = applied(engine.rules, engine.recorded(), all_loaded, again)
        counted = functions > 0
        refused += [(name, "it is written in C: only Python's own functions are recorded") for name in in_c]
    points = sys.modules.get("strobe_points")
    return '{"m":"applied",%s"gen":%d,"rules":[%s],"functions":%d%s%s%s%s%s}' % (
        _question(question), generation,
        ",".join(['{"id":%s,"matched":%d}' % (_plain(i), n) for i, n in counts.items()]), functions,
        ',"unhookable":[%s]' % ",".join(['{"function":%s,"reason":%s}' % (quote(f), quote(r)) for f, r in refused])
        if refused else "", ',"near":[%s]' % ",".join(map(quote, names)) if names else "",
        ',"warnings":[%s]' % quote("most that the patterns name are written in C, as " + in_c[0]) if in_c else "",
        ',"points":[%s]' % points.statuses() if points is not None else "", files.cut())


def _plain(v):
    return quote(v) if type(v) is str else str(v) if type(v) is int else "null"


def _question(q):
    return '"q":%d,' % q if type(q) is int else ""


def flush(patience):
    """Sends what waits, as long as the other end takes it."""
    global output
    while output:
        try:
            with output_lock:
                output = output[socket.send(output):]
        except BlockingIOError:
            if not patience:
                return
            waits = select.poll()
            waits.register(socket.fileno(), select.POLLOUT)
            if not waits.poll(patience * 1000):
                return
        except OSError:
            return


# --- the thread that answers

def _spin():
    global running
    if running or over:
        return
    running = True
    gone.acquire(False)
    try:
        _thread.start_new_thread(_serve, ())
    except RuntimeError:  # the interpreter ends, or the system has no more
        running = False
        gone.release()


def _halt():
    """Ends the thread, and waits until it has: not for ever. One that leaves by itself is waited for, too."""
    global running, task
    if running:
        running = False
        _wake()
    elif not over or not task:
        return
    gone.acquire(True, 2)
    looks = 20000  # it is out of the interpreter: the system still has it for a moment
    while os.path.exists(task) and (looks := looks - 1):
        files.sleep(0.0001)
    task = ""


_input = b""


def _serve():
    files.local.stream = files.Mute()
    global task
    task = "/proc/self/task/%d" % _thread.get_native_id()
    try:
        with open(task + "/comm", "w") as name:
            name.write("strobe-agent")  # lists of threads leave it out
    except OSError:
        pass
    try:
        while running:
            poll = select.poll()
            poll.register(waker[0], select.POLLIN)
            poll.register(socket.fileno(), select.POLLIN | (select.POLLOUT if output else 0))
            pauses = sys.modules.get("strobe_pause")
            events = dict(poll.poll(pauses and pauses.patience()))
            if not running:
                return
            if pauses:
                pauses.overdue()
            if not _ours():
                return _leave()
            if waker[0] in events:
                try:
                    os.read(waker[0], 4096)
                except BlockingIOError:
                    pass
            if socket.fileno() in events and events[socket.fileno()] & ~select.POLLOUT and not _receive():
                return _leave()
            flush(0)
    except Exception:
        _leave()
    finally:
        try:
            gone.release()
        except RuntimeError:
            pass


def _receive():
    global _input
    try:
        data = socket.recv(1 << 16)
    except BlockingIOError:
        return True
    except OSError:
        return False
    if not data:
        return False
    _input += data
    while b"\n" in _input:
        line, _, _input = _input.partition(b"\n")
        if line and not _handle(line):
            return False
    return True


def _handle(line):
    try:
        message = loads(line.decode("utf-8", "replace").strip())
        what, q = message.get("m"), message.get("q")
        if what == "bye":
            return False
        if what == "set":
            _set(message)
            send(_applied(0 if q is None else q))
        elif what == "status":
            send(_applied(0 if q is None else q, True, False))
        elif what == "sync":
            for s in list(files.streams):
                if s.lost:
                    _tell_lost(s)
            send('{"m":"synced",%s"gen":%d}' % (_question(q), generation))
        elif what == "threads":
            send('{"m":"threads",%s"threads":[%s]}' % (_question(q), late("strobe_stacks").threads(engine.rules)))
        else:
            late("strobe_points").handle(message)
    except Exception as e:
        send('{"m":"error","about":%s,"text":%s}' % (quote(line[:200].decode("utf-8", "replace")), quote(repr(e))))
    return True


def _tell_lost(s):
    own = files.local.stream
    if type(own) is files.Mute:
        files.tell_lost(s, _ours_to_write())


_writer = None


def _ours_to_write():
    """A stream for what our thread has to tell."""
    global _writer
    if _writer is None or _writer.number == 0:
        _writer = files.Stream()
        _writer.lane = files.local.stream.lane
    return _writer


def _set(message):
    global generation
    generation = message.get("gen") or 0
    files.on_full = message.get("onFull") or "wait"
    engine.apply(Rules(message))
    _quiet()
    _points(message)


OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
DEEP = 20  # functions of ours that call each other


def _quiet():
    """Waits until no thread records what was decided before the rules changed: the answer stands behind that."""
    import time
    me = _thread.get_ident()
    for _ in range(100):
        recording = False
        for ident, frame in sys._current_frames().items():
            for _ in range(DEEP):
                if frame is None or ident == me or recording:
                    break
                recording = frame.f_code.co_filename.startswith(OWN)
                frame = frame.f_back
        if not recording:
            return
        time.sleep(0.0005)


def _points(message):
    points = sys.modules.get("strobe_points")
    if message.get("points") or points is not None:
        late("strobe_points").apply(message.get("points") or [])


def _leave():
    """The link ended: everything goes out, for good."""
    global over, running
    over, running = True, False
    files.closed = True
    try:
        _take_out()
        files.let_go()
        late("strobe_crash").unwatch()
        import atexit
        atexit.unregister(_at_exit)
    except Exception:
        pass
    _close()
    for name in list(sys.modules):  # who comes in later brings its own
        if name.startswith("strobe_") and str(getattr(sys.modules[name], "__file__", "")).startswith(OWN):
            del sys.modules[name]


def _take_out():
    points = sys.modules.get("strobe_points")
    if points is not None:
        points.end()
    engine.end()


def _close():
    global socket
    s, socket = socket, None
    if s is not None:
        try:
            status = os.fstat(s.fileno())
            if (status.st_dev, status.st_ino) == socket_file:
                s.close()
                for fd in waker:
                    os.close(fd)
            else:
                s.detach()
        except OSError:
            s.detach()


def _alive():
    return not over


# --- fork and the end

def _before_fork():
    # A thread of ours over a fork would make Python warn of it, and its locks could be held in the child.
    try:
        _halt()
    except Exception:
        pass


def _after_fork():
    if over:
        return
    try:
        if sys.version_info >= (3, 12) and len(os.listdir("/proc/self/task")) == 1:
            late("strobe_fork").soon(_spin, sys._getframe(1))
        else:
            _spin()
    except Exception:
        pass


def _in_child():
    global output, output_lock, gone, running, _input, socket
    if over:
        return
    try:
        output, _input, running = b"", b"", False
        output_lock, gone = _thread.allocate_lock(), _thread.allocate_lock()
        if socket is not None:
            _close()
        if hasattr(engine, "in_child"):
            engine.in_child()
        points = sys.modules.get("strobe_points")
        if points is not None:
            points.in_child()
        try:
            with open(folder + "/start.json", encoding="utf-8") as f:
                message = loads(f.read().strip())
        except OSError:
            message = None
        if message is None or not _connect():
            _leave()
            return
        _begin_process()
        if message.get("gen") != generation:
            _set(message)
        _send_hello()
        _spin()
    except Exception:
        _leave()


def _at_exit():
    try:
        if over:
            return
        import strobe_crash
        value = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        if value is not None and value is not strobe_crash.told and not isinstance(value, SystemExit):
            strobe_crash.crash(value, getattr(sys, "last_traceback", None))  # a hook of the user's came before ours
        _end()
    except Exception:
        pass


def _end():
    _halt()
    points = sys.modules.get("strobe_points")
    if points is not None:
        points.end()  # first: nobody would let go who stands now
    if points is not None or files.cut() or engine.rules.rules and not counted:
        send(_applied(0, counted))  # to walk through all that is loaded takes tens of milliseconds
    engine.end(True)
    files.close_process(True)
    flush(0.2)
