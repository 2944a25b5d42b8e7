"""Generators and coroutines: lazy.js is the same."""
import asyncio


def numbers(n):
    for i in range(n):
        square(i)
        yield i * i


def square(i):
    return i * i


def consume():
    return list(numbers(3))


def early():
    g = endless(5)
    next(g)
    g.close()


def endless(n):
    while True:
        yield n


def interleaved():
    a, b = left(2), right(2)
    return [next(a), next(b), next(a), next(b)]


def left(n):
    for i in range(n + 1):
        inLeft(i)
        yield i


def right(n):
    for i in range(n + 1):
        inRight(i)
        yield -i


def inLeft(i):
    return i


def inRight(i):
    return i


async def fetch(n):
    await asyncio.sleep(0.02)
    return double(n)


def double(n):
    return n * 2


async def slow(n):
    before(n)
    await asyncio.sleep(0.02 * n)
    after(n)
    return n


def before(n):
    return n


def after(n):
    return n


async def both():
    return await asyncio.gather(slow(1), slow(2))


async def fails(n):
    await asyncio.sleep(0)
    raise ValueError("fails %d" % n)


async def ticks(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def asynchronous():
    await fetch(4)
    await both()
    try:
        await fails(6)
    except ValueError:
        pass
    got = []
    async for i in ticks(2):
        got.append(i)
    return got


consume()
early()
interleaved()
asyncio.run(asynchronous())
