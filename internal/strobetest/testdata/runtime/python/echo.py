"""Shows what it was given: echo.c and echo.js are the same."""
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
    sys.stderr.write("on stderr\n")
    sys.exit(9)


main()
