"""Ends in the way that its argument names: ends.c and ends.js are the same."""
import os
import signal
import sys


def last(n):
    return n


def dies(n):
    last(n)
    raise KeyError("uncaught %d" % n)


def main():
    last(1)
    how = sys.argv[1] if len(sys.argv) > 1 else ""
    if how == "code":
        sys.exit(3)
    if how == "quick":
        os._exit(4)
    if how == "uncaught":
        dies(2)
    if how == "term":
        print("waits", flush=True)
        signal.pause()


main()
