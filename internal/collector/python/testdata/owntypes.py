# What is kept of the user's types, and which of their members are told. It prints what is not as without us.
import gc
import weakref


class Span:
    __slots__ = ("start", "end", "text")

    def __init__(self, start, end):
        self.start, self.end, self.text = start, end, "t"


class Key(str):
    """A name of a field whose comparing is the user's code."""
    ready = False

    def __hash__(self):
        if Key.ready:
            print("hashed")
        return str.__hash__(self)

    def __eq__(self, other):
        if Key.ready:
            print("compared")
        return str.__eq__(self, other)


def show(x): return x


def often(x): pass


def dies():
    class Short:
        def __init__(self):
            self.one = 1

    class Slotted:
        __slots__ = "one", "__dict__"

        def __init__(self):
            self.one = 1
    for c in Short, Slotted:
        show(c())
    return weakref.ref(Short), weakref.ref(Slotted)


show(Span(3, 5))
show(slice(1, 2))
refs = dies()
gc.collect()
if any(r() is not None for r in refs):
    print("a type stays alive")


class Wide:
    pass


wide = Wide()
wide.__dict__.update({"f%d" % i: [[j] * 50 for j in range(50)] for i in range(8)})
keyed = Wide()
keyed.__dict__.update(wide.__dict__)
del keyed.__dict__["f3"]
keyed.__dict__[Key("f3")] = 1
Key.ready = True
for _ in range(1500):
    often(wide)
    often(keyed)
