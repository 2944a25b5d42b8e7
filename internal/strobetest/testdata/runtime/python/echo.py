"""Shows what it was given: echo.c and echo.js are the same."""
import inspect
import os
import sys


def show(what, s):
    print(what, s)


def main():
    for name in sorted(os.environ):
        show("env", name + "=" + os.environ[name])
    for arg in sys.argv[1:]:
        show("arg", arg)
    show("cwd", os.getcwd())
    for line in sys.stdin:
        show("in", line)
    show("path", sys.path)
    show("flags", sys.flags)
    show("hooks", [sys.gettrace(), sys.getprofile(), sys.excepthook is sys.__excepthook__])
    show("source", [inspect.getsource(show), show.__name__, show.__code__.co_argcount, show.__code__.co_varnames, show.__code__.co_code.hex()])
    sys.stderr.write("on stderr\n")
    sys.exit(9)


main()
