"""Spins in a function that was called before anything was traced, until its input ends."""
import sys
import threading

ended = []


def step(n):
    return n + 1


def spin():
    n = 0
    while not ended:
        n = step(n)


threading.Thread(target=lambda: ended.append(sys.stdin.read()), daemon=True).start()
print("spins", flush=True)
spin()
