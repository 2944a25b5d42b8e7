"""Busy until the file "stop" is there, with a file "seen" that grows: loop.c and loop.js are the same."""
import os
import sys


def spin(n):
    return n + 1


def main():
    seen = os.open("seen", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    i = 0
    while True:
        spin(i)
        if i % 20000 == 0:
            os.write(seen, b".")
            if os.path.exists("stop"):
                import loop_more
                os.write(seen, loop_more.more(6))
                sys.exit(7)
        i += 1


main()
