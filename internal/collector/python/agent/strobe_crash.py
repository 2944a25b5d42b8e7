"""What the interpreter does when nobody catches an exception, and how processes end with no other notice: that is told
before the program's own report of it."""
import _thread
import os
import sys

from strobe_agent import engine, late  # which imported us

alive = None  # whether the link is
changed = []  # (object, name, ours, what was there): what stands in the place of the program's own


def _change(on, name, new):
    changed.append((on, name, new, getattr(on, name)))
    setattr(on, name, new)


def unwatch():
    """Puts everything back that nobody has replaced since."""
    while changed:
        on, name, new, was = changed.pop()
        if getattr(on, name, None) is new:
            setattr(on, name, was)


def watch(alive_now):
    """An uncaught exception is told before the program's own report of it.

    Both names of each hook become ours: libraries ask whether sys.excepthook is sys.__excepthook__ before they put in
    theirs, and some warn where it is not.
    """
    global alive
    alive = alive_now
    own = sys.excepthook

    def excepthook(kind, value, traceback):
        crash(value, traceback)
        own(kind, value, traceback)
    _change(sys, "excepthook", excepthook)
    if sys.__excepthook__ is own:
        _change(sys, "__excepthook__", excepthook)
    # threading takes its hook from here when it is imported.
    own_thread = _thread._excepthook

    def thread_excepthook(args):
        try:
            if alive() and args.exc_type is not SystemExit:
                late("strobe_stacks").crash(args.exc_value, args.exc_traceback, "thread", engine.rules)
        except Exception:
            pass
        own_thread(args)
    _change(_thread, "_excepthook", thread_excepthook)
    threading = sys.modules.get("threading")
    if threading is not None:
        for name in ("excepthook", "__excepthook__"):
            if getattr(threading, name, None) is own_thread:
                _change(threading, name, thread_excepthook)


told = None  # the exception that was told


def crash(value, traceback):
    global told
    try:
        # Some libraries call the hook of exceptions that end nothing: then the program's own frames are below it.
        frame = sys._getframe(1)
        while frame.f_back is not None:
            frame = frame.f_back
        ends = frame.f_code.co_name != "<module>" and not sys.flags.interactive and not hasattr(sys, "ps1")
        if not alive() or not ends or value is None or value is told:
            return
        told = value
        late("strobe_stacks").crash(value, traceback, "process", engine.rules)
    except Exception:
        pass


def wrap_exits(files):
    """os._exit and exec end the process with no other notice: multiprocessing's children end so."""
    def wrapper(f, end):
        def wrapped(*args, **kwargs):
            try:
                if alive():
                    files.close_process(end)
            except Exception:
                pass
            return f(*args, **kwargs)
        wrapped.__name__, wrapped.__qualname__, wrapped.__doc__ = f.__name__, f.__qualname__, f.__doc__
        wrapped.__module__, wrapped.__wrapped__ = f.__module__, f
        return wrapped
    for name, end in (("_exit", True), ("execv", False), ("execve", False)):
        _change(os, name, wrapper(getattr(os, name), end))
