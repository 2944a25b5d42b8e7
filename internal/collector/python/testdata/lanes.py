import asyncio
import contextlib


def helper(x): return x


def numbers(n):
    for i in range(n):
        helper(i)
        yield i


def half():
    for x in numbers(5):
        if x == 1:
            break
    helper("after")


@contextlib.contextmanager
def guarded():
    try:
        yield "v"
    except ValueError:
        helper("caught")


def thrown():
    with guarded():
        raise ValueError("x")


async def wait(n):
    await asyncio.sleep(0.01 * n)
    return helper(n)


async def main():
    await asyncio.gather(wait(1), wait(9))
    raise KeyError("end")


half()
thrown()
try:
    asyncio.run(main())
except KeyError:
    pass
