"""A module that loop.py imports at its end."""


def more(n):
    return b"%d" % (n + 1)
