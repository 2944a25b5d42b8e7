"""Starts children in every way: family.c and family.js are the same. The argument is a program of machine code, "leaf N" or "end N"."""
import os
import subprocess
import sys


def own(n):
    return n


def leaf(n):
    return n


def main():
    me = [sys.executable, os.path.abspath(__file__)]
    if len(sys.argv) > 2:
        leaf(int(sys.argv[2]))
        sys.exit(6 if sys.argv[1] == "end" else 0)
    own(1)
    pid = os.fork()
    if pid == 0:
        leaf(2)
        os._exit(0)
    os.waitpid(pid, 0)
    subprocess.check_call(me + ["leaf", "3"])
    subprocess.check_call("true; '%s' '%s' leaf 4; true" % tuple(me), shell=True)
    if len(sys.argv) > 1:
        subprocess.check_call([sys.argv[1], "leaf", "5"])
    own(7)
    os.execv(me[0], me + ["end", "8"])


main()
