"""An exception ends a thread, and one with two that led to it the program."""
import threading


def lookup(key):
    return {}[key]


def price(item):
    try:
        return lookup(item)
    except KeyError as e:
        raise ValueError("no price for " + item) from e


def bill(items):
    total = 0
    try:
        for item in items:
            total += price(item)
    except ValueError:
        raise RuntimeError("no bill of %d" % len(items))


def failing(n):
    raise OSError("thread %d" % n)


t = threading.Thread(target=failing, args=(7,), name="worker")
t.start()
t.join()
bill(["pear", "plum"])
