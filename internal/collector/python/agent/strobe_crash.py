"""What the interpreter does when nobody catches an exception: it is told before the program's own report of it."""
import _thread
import sys

from strobe_agent import engine, late  # which imported us

alive = None  # whether the link is


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
    sys.excepthook = excepthook
    if sys.__excepthook__ is own:
        sys.__excepthook__ = excepthook
    # threading takes its hook from here when it is imported.
    own_thread = _thread._excepthook

    def thread_excepthook(args):
        try:
            if alive() and args.exc_type is not SystemExit:
                late("strobe_stacks").crash(args.exc_value, args.exc_traceback, "thread", engine.rules)
        except Exception:
            pass
        own_thread(args)
    _thread._excepthook = thread_excepthook
    threading = sys.modules.get("threading")
    if threading is not None:
        for name in ("excepthook", "__excepthook__"):
            if getattr(threading, name, None) is own_thread:
                setattr(threading, name, thread_excepthook)


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
