"""Strobe's way into a Python that runs already: a thread that was started from outside calls enter.

The program sees nothing of it: no path, no environment, no name in a module of its own changes.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
PATIENCE = 2  # seconds for an agent that was here before to take itself out: its session was killed just now


class _Finder:
    """Finds the agent's own modules while it starts. It stands last: a list that another thread walks along at this
    moment does not move."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("strobe_") or not os.path.exists(HERE + name + ".py"):
            return None
        import _frozen_importlib
        from _frozen_importlib_external import SourceFileLoader
        spec = _frozen_importlib.spec_from_loader(
            name, SourceFileLoader(name, HERE + name + ".py"), origin=HERE + name + ".py")
        spec.has_location = True
        return spec


def enter(where):
    try:
        why = _refuses()
        if not why:
            return _start(where)
    except BaseException as e:  # of a thread of ours, where nobody else would hear of it
        why = "its agent failed with %s: %s" % (type(e).__name__, e)
        _forget()
    try:
        with open(where + "/refused.tmp", "w", encoding="utf-8", errors="backslashreplace") as f:
            f.write(why)
        os.rename(where + "/refused.tmp", where + "/refused")
    except OSError:
        pass  # nobody waits for it any more


def _refuses():
    if sys.implementation.name != "cpython":
        return "it is %s, and the agent is of CPython" % sys.implementation.name
    for name, replaced in (("gevent.monkey", "is_module_patched"), ("eventlet.patcher", "is_monkey_patched")):
        ask = getattr(sys.modules.get(name), replaced, None)
        if ask is not None and (ask("thread") or ask("threading")):
            return "%s has replaced its threads, and the agent needs one of the system's" % name.partition(".")[0]
    return ""


def _start(where):
    before = sys.modules.get("strobe_agent")
    if before is not None:
        import time
        end = time.monotonic() + PATIENCE
        while not getattr(before, "over", True) and time.monotonic() < end:
            time.sleep(0.01)
    _forget()
    # Our own folder may keep compiled files even where the user wants none in theirs.
    wanted, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    finder = _Finder()
    sys.meta_path.append(finder)
    try:
        import strobe_agent
        strobe_agent.start(where, True)
    finally:
        sys.meta_path.remove(finder)
        sys.dont_write_bytecode = wanted
        sys.modules.pop("strobe_enter", None)


def _forget():
    """An agent that was here before has hooks and state of its own."""
    for name in list(sys.modules):
        if name.startswith("strobe_") and name != "strobe_enter":
            where = os.path.dirname(str(getattr(sys.modules[name], "__file__", "")))
            if os.path.exists(where + "/strobe_agent.py"):
                del sys.modules[name]
