"""Two threads with names work at once: threads.c and threads.js are the same."""
import threading


def part(n):
    return n + 1


def work(n):
    return part(n)


def worker():
    for i in range(200):
        work(i)


both = [threading.Thread(target=worker, name=name) for name in ("reader-one", "reader-two")]
for t in both:
    t.start()
for t in both:
    t.join()
