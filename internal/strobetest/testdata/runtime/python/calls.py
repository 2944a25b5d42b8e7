"""Calls of every kind, each once: calls.c and calls.js are the same."""
import os
import time


def add(a, b):
    return a + b


def nothing():
    pass


def leaf(n):
    return n + 1


def mid(n):
    return leaf(n + 1)


def outer(n):
    return mid(n + 1)


def fact(n):
    return 1 if n < 2 else n * fact(n - 1)


def even(n):
    return 1 if n == 0 else odd(n - 1)


def odd(n):
    return 0 if n == 0 else even(n - 1)


def thrower(n):
    raise TypeError("no %d" % n)


def catcher(n):
    try:
        thrower(n)
    except TypeError:
        return -1


def deep(n):
    thrower(n)


def deeper(n):
    deep(n)


def through(n):
    try:
        deeper(n)
    except TypeError:
        return -2


def says():
    os.write(1, b"mine\n")


def warns():
    os.write(2, b"warned\n")


def step(i):
    pass


def slow():
    time.sleep(0.03)


def apply(f, n):
    return f(n, n)


class Order:
    def __init__(self, id):
        self.id = id

    def total(self, n):
        return self.id + n

    @staticmethod
    def make(id):
        return Order(id)

    @property
    def size(self):
        return 3


def counter(start):
    def count(by):
        nonlocal start
        start += by
        return start
    return count


def rest(first, *more):
    return len(more)


def defaulted(a, b=4):
    return a + b


def lambdas():
    return (lambda x: x * 3)(14)


def run():
    add(1, 2)
    nothing()
    outer(1)
    fact(5)
    even(4)
    catcher(7)
    through(8)
    says()
    warns()
    for i in range(3):
        step(i)
        os.write(1, b"%d\n" % i)
    slow()
    apply(add, 21)
    Order.make(5).total(3)
    Order(6).size
    count = counter(10)
    count(1)
    count(2)
    rest(1, 2, 3)
    defaulted(1)
    lambdas()


run()
