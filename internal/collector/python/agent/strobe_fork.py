"""Starts the agent's thread again behind a fork. From 3.12 on, os.fork looks for threads before it returns, and warns of
them."""
import ctypes
import sys

waits = None  # the frame that forks, and what is to be called behind that


def soon(start, forks):
    global waits
    waits = (forks, start)
    ctypes.pythonapi.Py_AddPendingCall(_call, None)


def _pending(_):
    """Called by the interpreter at its next look, which may still be within a hook of the fork: then at one later."""
    global waits
    if waits is None:
        return 0
    forks, start = waits
    frame = at = sys._getframe().f_back
    while at is not None and at is not forks:
        at = at.f_back
    if at is not None and frame is not forks:
        ctypes.pythonapi.Py_AddPendingCall(_call, None)
        return 0
    waits = None
    start()
    return 0


_call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_pending)
