"""A child of fork, and one of its own: each calls, and parents do before and behind them."""
import os


def work(n):
    return n


def child(n, last):
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    for i in range(100):
        work(n + i)
    if not last:
        child(n + 100, True)
    os._exit(0)


for i in range(50):
    work(i)
child(1000, False)
for i in range(50, 100):
    work(i)
