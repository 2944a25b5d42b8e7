# The program of points_test.go: a part of it runs by its name. Lines are known by the marks at their ends.
import os
import sys
import threading

KEPT = []
level = 1


class Order:
    def __init__(self, name, prices):
        self.name = name  # init
        self.prices = prices

    def __repr__(self):
        raise AssertionError("nobody asked for this")

    @property
    def secret(self):
        raise AssertionError("nobody asked for this")

    def total(self, rate=1):
        """Adds up."""
        result = 0  # total
        for p in self.prices:  # each
            result += p * rate  # add
        return result  # sum


def shop():
    a = Order("a", [1, 2])  # shop
    first = a.total()  # first
    both = max(  # call
        a.total(2),  # argument
        first)  # last
    return both  # back


def main_steps():
    r = shop()  # steps
    KEPT.append(r)  # after
    print(r)  # print


def fact(n):
    if n < 2:  # fact
        return 1  # one
    rest = fact(n - 1)  # deeper
    return n * rest  # times


def main_recursion():
    print(fact(4))  # recursion


def numbers(n):
    for i in range(n):  # numbers
        yield i * 10  # yield
    KEPT.append("end")  # exhausted


def main_generator():
    out = 0  # generator
    for x in numbers(2):  # for
        out += x  # took
    squares = [  # squares
        x * x  # square
        for x in range(3)]
    print(out, squares)  # gave


def main_async():
    import asyncio

    async def fetch(name):
        before = name + "?"  # fetch
        await asyncio.sleep(0.01)  # sleep
        return before + "!"  # fetched

    async def other():
        for _ in range(3):
            await asyncio.sleep(0.002)  # other

    async def run():
        task = asyncio.ensure_future(other())  # run
        got = await fetch("x")  # await
        await task  # task
        return got  # got

    loop = asyncio.new_event_loop()
    print(loop.run_until_complete(run()))


def fails(kind):
    raise kind("bad")  # fails


def guarded():
    try:
        fails(KeyError)  # try
    except KeyError:  # except
        KEPT.append(1)  # handler
    return 5  # guarded


def main_errors():
    print(guarded())  # errors
    try:
        fails(ValueError)
    except (KeyError, ValueError):
        pass
    fails(OSError)  # uncaught


def main_loop():
    total = 0
    for i in range(20):
        total += i  # loop
    print(total)


def main_values():
    number, text, flag = 7, "seven", True
    many = list(range(250))
    mapping = {"one": 1, 2: [3]}
    order = Order("o", [5])
    nested = 3

    def inner(argument, *rest, key=1):
        nonlocal nested
        local = argument + nested  # inner
        nested += 1
        return local + nested + number + key  # answer
    print(inner(1, 2, key=3), text, flag, len(many), mapping, order.name, nested, level)


def main_busy():
    open(sys.argv[2], "w").close()
    go = True
    n = 0
    while go: n += 1
    print("done")


def main_threads():
    lock, ready, done = threading.Lock(), threading.Event(), threading.Event()

    def waits():
        ready.set()
        done.wait()

    def works():
        with lock:
            held = 1  # held
        return held
    t = threading.Thread(target=waits, name="waits")
    t.start()
    ready.wait()
    w = threading.Thread(target=works, name="works")
    w.start()
    w.join()
    with lock:
        done.set()
    t.join()
    print("over")


def main_signal():
    import signal
    seen = []
    signal.signal(signal.SIGUSR1, lambda *_: (seen.append(1), open(sys.argv[2], "w").close()))
    here = 1  # here
    print("seen", len(seen), here)


def main_fork():
    import warnings
    warnings.simplefilter("ignore")  # of a fork amid threads

    def child_work(n):
        return n + 1  # child

    def stands():
        return 1  # stands
    t = threading.Thread(target=stands)
    t.start()
    pid = os.fork()
    if pid == 0:
        child_work(1)
        os._exit(0)
    print(os.waitpid(pid, 0)[1])
    t.join()


def main_own():
    seen = []

    def trace(frame, event, argument):
        seen.append(event)
        return trace
    sys.settrace(trace)
    shop()
    same = sys.gettrace() is trace
    sys.settrace(None)
    print(same, "line" in seen)
    never = threading.Event()
    for _ in range(3000):  # until the agent was seen
        if os.path.exists(sys.argv[2]):
            break
        never.wait(0.01)


globals()["main_" + sys.argv[1]]()
