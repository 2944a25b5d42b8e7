# Generators within generators, with plain calls between and below them, some of which began before any of them did.


def leaf(x): return x


def between(n):
    leaf("before")
    got = [leaf(x) for x in inner(n)]
    leaf("after")
    return sum(got)


def inner(n):
    for i in range(n):
        leaf(-i)
        yield between(n - 1) if n > 1 else i


def outer(n):
    for x in inner(n):
        yield leaf(x) + deep(3)


def deep(n):
    if n == 0:
        return sum(inner(2))
    leaf(n)
    return deep(n - 1)


def paired(n):
    a, b = outer(n), inner(n)
    for x, y in zip(a, b):
        leaf(x + y)
    list(b)
    rest = inner(3)
    next(rest)
    leaf("one rests")
    deep(2)
    list(rest)
    return leaf("end")


def within(n):
    return paired(3) if n == 0 else leaf(within(n - 1))


within(4)
