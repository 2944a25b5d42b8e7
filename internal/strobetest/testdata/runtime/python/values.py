"""One function for each kind of value, which gives it back: values.c and values.js are the same."""


class Item:
    def __init__(self, id, name):
        self.id = id
        self.name = name


class Box:
    def __init__(self, id, inner):
        self.id = id
        self.inner = inner


class Hostile:
    def __repr__(self):
        raise SystemExit("repr was called")

    def __getattr__(self, name):
        raise SystemExit("getattr was called")

    @property
    def value(self):
        raise SystemExit("a property was read")


def small(x): return x
def negative(x): return x
def large(x): return x
def huge(x): return x
def fraction(x): return x
def notNumber(x): return x
def infinite(x): return x
def text(x): return x
def nulText(x): return x
def surrogate(x): return x
def longText(x): return x
def hugeText(x): return x
def binary(x): return x
def truth(x): return x
def missing(x): return x
def listed(x): return x
def mapped(x): return x
def mixed(x): return x
def instance(x): return x
def cycle(x): return x
def nested(x): return x
def many(x): return x
def big(x): return x
def func(x): return x
def hostile(x): return x


def changed(x):
    x.id = 99
    return x


small(42)
negative(-7)
large(9223372036854775807)
huge(10 ** 30)
fraction(0.5)
notNumber(float("nan"))
infinite(float("inf"))
text("na\xefve \U0001f600")
nulText("a\0b")
surrogate("a\ud800b")
longText("a" * 1025)
hugeText("a" * (1 << 20))
binary(b"\x00\xff")
truth(True)
missing(None)
listed([1, "two", None])
mapped({"a": 1, "b": [2]})
mixed({"a": [{"b": {"c": 1}}]})
item = Item(7, "pear")
instance(item)
ring = []
ring.append(ring)
cycle(ring)
box = None
for i in range(7, -1, -1):
    box = Box(i, box)
nested(box)
many(list(range(101)))
big([{"key%d" % k: "v" * 50 for k in range(50)} for _ in range(90)])
func(small)
hostile(Hostile())
changed(item)
