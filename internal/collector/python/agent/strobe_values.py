"""Values as JSON (docs/agentlink.md, Values). No code of the user runs for it: no __repr__, no property, no __getattr__,
no __eq__ of theirs. What a type's own C code or the standard library tells is asked of these, by their own functions."""
import sys
from _json import encode_basestring as quote
from _weakref import ref
from itertools import islice
from time import monotonic

from strobe_known import INNER, SHAPED, TEXTS, in_order, parts_of, scope_of
from strobe_names import name_of, type_name

LIMIT = 16384  # bytes of a payload
ITEMS = 100
NODES = 4096  # values looked at for one payload: bounds the time, not only the text
# A function whose values lead to very many others would slow its program down tenfold. Its first calls have all that
# fits; later ones what is near (strobe_brief), which is counted (Function.cut), and once in a while all again: one that
# is called rarely always has all. One whose depth was asked for has all in every call.
SPEND = 20000  # values looked at for one function before that
ALL = 200000  # for all functions, before each has only EACH
EACH = 1024
MANY = 800000  # for all functions, before each has only FEW
FEW = 256
AGAIN = 1.0  # seconds after which a function may have all again
TURNS = 32  # of all functions within such a time
TURN = 512  # NODES of those
spent = 0
turns, turns_from = 0, 0.0
WIDE = 1 << 63

_attribute = object.__getattribute__
_HEAP = 1 << 9  # in the flags of types that can die
_flags = type.__dict__["__flags__"].__get__
_mro = type.__dict__["__mro__"].__get__
_dict_of = type.__dict__["__dict__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__
_args = BaseException.__dict__["args"].__get__
_getset = type(BaseException.__dict__["args"])


class _Slots:
    __slots__ = ("one",)

    def method(self):
        pass


_member = type(_Slots.__dict__["one"])
_method = type(_Slots().method)
# Types whose values are told by their names.
_named = {type(_Slots.method), _method, type(quote), type(sys), type(object.__init__), type(_Slots().__init__),
          type(str.join), type(dict.__dict__["fromkeys"]), _getset, _member}

_plans = {}  # id of a type -> (weak reference to it, what reads its instances); weak: a type must die as without us


class _Full(Exception):
    """The value does not fit: it is read again, less deep."""


class Asked(int):
    """A depth that somebody asked for."""


def encode(v, depth, limit=LIMIT, f=None):
    """Returns v as JSON, of at most limit bytes or so. f is the Function that it is of, if it may be cut for its time."""
    global spent
    t = type(v)
    if t is int and -WIDE < v < WIDE:
        return str(v)
    if v is None:
        return "null"
    if t is str and len(v) <= 256:
        return quote(v)
    if t is bool:
        return "true" if v else "false"
    if t is float:
        return _float(v)
    nodes = NODES
    if f is not None and f.spent > (EACH if spent < MANY else FEW) and (
            spent > ALL or f.spent > SPEND) and type(depth) is int:
        if not _turn(f):
            return near(v, depth, limit, f)
        nodes = TURN
    for deep, items in _ladder(depth):
        room = [nodes, limit, items, None]
        try:
            s = _value(v, deep, (), room)
            if f is not None:
                f.spent += nodes - room[0]
                spent += nodes - room[0]
            if len(s) <= limit:
                return s
        except _Full:
            if f is not None:
                f.spent += nodes
                spent += nodes
        except (RuntimeError, RecursionError):
            pass  # it changed while it was read, or the stack is near its end
        except Exception as e:
            from strobe_rules import ours
            if not ours(e):
                raise  # of a signal's handler, that happened to run here: the program's
            return '{"$":"unreadable"}'
    return '{"$":"unreadable"}' if depth <= 0 else _beyond(t)


def near(v, depth, limit, f):
    """Stands here until it is first called."""
    global near
    from strobe_rules import late
    try:
        near = late("strobe_brief").near
    except (ImportError, OSError):
        return _beyond(type(v))  # the program has no descriptors left
    return near(v, depth, limit, f)


def _turn(f):
    """Whether a function whose values are told briefly may have all again."""
    global turns, turns_from
    now = monotonic()
    if now - f.since < AGAIN:
        return False
    if now - turns_from >= AGAIN:
        turns, turns_from = 0, now
    if turns >= TURNS:
        return False
    turns += 1
    f.since = now
    return True


def _beyond(t):
    return '{"$":"depth","t":%s}' % quote(type_name(t))


_ladders = {}


def _ladder(depth):
    steps = _ladders.get(depth)
    if steps is None:
        steps = _ladders[depth] = [(d, ITEMS) for d in range(depth, 0, -1)] + [(1, 25), (1, 5), (0, 1)]
    return steps


def _value(v, depth, inside, room):
    t = type(v)
    if t is int:
        return _integer(v)
    if t is str:
        return quote(v) if len(v) <= 256 else _text(v)
    if v is None:
        return "null"
    if t is bool:
        return "true" if v else "false"
    if t is float:
        return _float(v)
    room[0] -= 1
    if room[0] < 0 and room[3] is None:
        raise _Full
    plan = _plans.get(id(t))
    if plan is None or plan[0]() is not t:
        plan = _make_plan(t)
    _, read, data, beyond = plan
    if data is _flat:
        return read(v)
    if depth <= 0 or room[0] < 0:
        if room[3] is not None:
            room[3] += 1
        return beyond
    if id(v) in inside:
        return '{"$":"cycle","a":"0x%x"}' % id(v)
    s = read(v, depth - 1, inside + (id(v),), room, data)
    if len(s) > room[1]:
        raise _Full
    return s


_flat = object()  # of a plan whose values have no parts: they are read whatever the depth


# --- scalars

def _integer(v):
    if -WIDE < v < WIDE:
        return str(v)
    bits = int.bit_length(v)
    if bits > 13000:  # its digits cost the square of their number, and Python itself may refuse
        return '{"$":"shape","t":"int","v":"%d bits"}' % bits
    return int.__repr__(v)


def _float(v):
    if v - v == 0:
        return float.__repr__(v)
    return '{"$":"float","v":"%s"}' % ("NaN" if v != v else "Infinity" if v > 0 else "-Infinity")


_TEXT = slice(1024)


def _text(v):
    if str.isascii(v) and len(v) > 1024:
        return '{"$":"text","v":%s,"more":%d}' % (quote(str.__getitem__(v, _TEXT)), len(v) - 1024)
    b = str.encode(v, "utf-8", "surrogatepass")
    if len(b) <= 1024:
        return quote(v)
    cut = 1024
    while b[cut] & 0xC0 == 0x80:
        cut -= 1
    return '{"$":"text","v":%s,"more":%d}' % (quote(b[:cut].decode("utf-8", "surrogatepass")), len(b) - cut)


def _bytes(v):
    n = len(v)
    import binascii
    text = binascii.b2a_base64(bytes(memoryview(v)[:1024]), newline=False).decode()
    return '{"$":"bytes","v":"%s"%s}' % (text, ',"more":%d' % (n - 1024) if n > 1024 else "")


def _repr(text):
    return '{"$":"repr","v":%s}' % (quote(text) if len(text) <= 256 else quote(text[:256] + "…"))


# --- containers

def _more(n, room):
    if n <= room[2]:
        return ""
    if room[3] is not None:
        room[3] += 1
    return ',"more":%d' % (n - room[2])


def _items(values, depth, inside, room):
    out = []
    for x in values:
        t = type(x)
        if t is int and -WIDE < x < WIDE:
            out.append(str(x))
        else:
            out.append(_value(x, depth, inside, room))
    room[0] -= len(out)
    return ",".join(out)


def _sequence(v, depth, inside, room, base):
    n = base.__len__(v)
    values = list(islice(base.__iter__(v), room[2]))  # in one step of the interpreter: no other thread changes it
    if n > room[2]:
        return '{"$":"list","v":[%s]%s}' % (_items(values, depth, inside, room), _more(n, room))
    return "[%s]" % _items(values, depth, inside, room)


def _mapping(v, depth, inside, room, base):
    n = base.__len__(v)
    pairs = list(islice(base.items(v), room[2]))
    plain = n <= room[2]
    if plain:
        for k, _ in pairs:
            if type(k) is not str or k[:1] == "$" or len(k) > 256:
                plain = False
                break
    room[0] -= len(pairs)
    if plain:
        return "{%s}" % ",".join([quote(k) + ":" + _value(x, depth, inside, room) for k, x in pairs])
    body = ",".join(["[%s,%s]" % (_value(k, depth, inside, room), _value(x, depth, inside, room)) for k, x in pairs])
    return '{"$":"dict","v":[%s]%s}' % (body, _more(n, room))


def _named_tuple(v, depth, inside, room, fields):
    values = list(tuple.__iter__(v))
    body = ",".join([quote(k) + ":" + _value(x, depth, inside, room) for k, x in zip(fields, values)])
    return '{"$":"obj","t":%s,"v":{%s}}' % (quote(type_name(type(v))), body)


def _inner(v, depth, inside, room, data):
    """What a library keeps beside its objects' own fields: a graph without end, told where somebody asked for depth."""
    return _beyond(type(v)) if len(inside) > 1 and depth < 2 else _instance(v, depth, inside, room, data)


def _instance(v, depth, inside, room, data, str=str, int=int, low=-WIDE, high=WIDE):
    get_dict, slots, extra, name = data
    fields = extra(v) if extra is not None else []
    n = len(fields)
    if get_dict is not None:
        d = get_dict(v)
        if type(d) is dict:
            n += len(d)
            fields.extend([(k, x) for k, x in in_order(d, room[2]) if type(k) is str])
    for slot, get in slots:
        try:
            fields.append((slot, get(v)))
            n += 1
        except AttributeError:
            pass  # not set yet
    fields = fields[:room[2]]
    room[0] -= len(fields)
    out = []
    for k, x in fields:
        t = type(x)
        if t is str and len(x) <= 256:
            x = quote(x)
        elif x is None:
            x = "null"
        elif t is int and low < x < high:
            x = str(x)
        else:
            x = _value(x, depth, inside, room)
        out.append(quote(k) + ":" + x)
    more = _more(n, room)
    return '{"$":"obj","t":%s,"v":{%s}%s}' % (name, ",".join(out), more)


def _exception(e):
    args = _args(e)
    message = message_of(e)
    if message is None:
        return [("args", args)]
    return [("message", message)] if len(args) <= 1 else [("message", message), ("args", args)]


def message_of(e):
    """The text of an exception, where making it runs no code of the user: else None."""
    for c in _mro(type(e)):
        own = _dict_of(c).get("__str__")
        if own is not None:
            break
    if type(own) is not type(object.__init__):
        return None  # their own __str__
    for a in _args(e):
        if type(a) not in (str, int, float, bool, bytes, type(None)):
            return None
    try:
        text = own(e)
    except Exception:
        return None
    return text if type(text) is str else None


# --- what a type is

def _name(v):
    return '{"$":"name","v":%s}' % quote(name_of(v).replace(".<locals>", ""))


def _enumerator(v):
    name = object.__getattribute__(v, "__dict__").get("_name_")
    if type(name) is not str:
        name = "%s" % (object.__getattribute__(v, "__dict__").get("_value_"),)
    return '{"$":"name","v":%s}' % quote(type_name(type(v)) + "." + name)


def _shape(v):
    parts = []
    for name in ("shape", "dtype"):
        try:
            x = getattr(v, name)
            parts.append(str(tuple(x)) if name == "shape" else str(x))
        except Exception:
            pass  # a data frame has no dtype
    parts.extend(parts_of(v))
    return '{"$":"shape","t":%s,"v":%s}' % (quote(type_name(type(v))), quote(" ".join(parts)))


def _numpy_scalar(v):
    x = v.item()
    return _value(x, 0, (), [NODES, LIMIT, ITEMS, None]) if type(x) in (int, float, bool, str, bytes) else _repr(str(x))


def _safe_zone(v):
    zone = v.tzinfo
    return zone is None or type(zone).__module__ in ("datetime", "zoneinfo", "_zoneinfo")


def _moment(v):
    base = next(c for c in _mro(type(v)) if _module(c) == "datetime")
    if not _safe_zone(v):  # its offset would be asked of the user's code
        return _repr(base.isoformat(base.replace(v, tzinfo=None)) + "+?")
    return _repr(base.isoformat(v))


def _make_plan(t):
    if len(_plans) > 512:
        _plans.clear()
    read, data = _plan(t)
    plan = _plans[id(t)] = (ref(t), read, data, _beyond(t))
    return plan


def _plan(t):
    bases = _mro(t)
    if t in _named or type in bases:
        return _name, _flat
    module, name = _module(t), _qualname(t)
    text = TEXTS.get(module, {}).get(name) if type(module) is str else None
    if text is not None:
        return (lambda v: _repr(text(v))), _flat
    enum = sys.modules.get("enum")
    if enum is not None and enum.EnumMeta in _mro(type(t)):
        return _enumerator, _flat
    for base in bases:
        if _module(base) == "datetime" and _qualname(base) in ("datetime", "date", "time"):
            return (_moment if _qualname(base) != "date" else (lambda v, base=base: _repr(base.isoformat(v)))), _flat
        top = _module(base)
        top = top.partition(".")[0] if type(top) is str else ""
        if top in SHAPED:
            if top == "numpy" and "item" in _dict_of(base) and _qualname(base) == "generic":
                return _numpy_scalar, _flat
            if "shape" in _dict_of(base):
                return _shape, _flat
    return _plan_of_base(t, bases)


def _plan_of_base(t, bases):
    told = quote(type_name(t))
    for base in bases:
        if base is tuple and t is not tuple:
            fields = next((f for f in (_dict_of(c).get("_fields") for c in bases) if f is not None), None)
            if type(fields) is tuple and all(type(f) is str for f in fields):
                return _named_tuple, fields
        if base in (list, tuple, set, frozenset):
            return _sequence, base
        if base is dict:
            return _mapping, dict
        if base is int:
            return (lambda v: _integer(int.__pos__(v))), _flat
        if base is float:
            return (lambda v: _float(float.__pos__(v))), _flat
        if base is str:
            return (lambda v: _text(str.__str__(v))), _flat
        if base in (bytes, bytearray):
            return _bytes, _flat
        if base is memoryview:
            return (lambda v: '{"$":"shape","t":"memoryview","v":"%d bytes"}' % v.nbytes), _flat
        if _module(base) == "collections" and _qualname(base) == "deque":
            return _sequence, base
        if _module(base) == "builtins" and _qualname(base) in ("dict_keys", "dict_values", "dict_items"):
            return _sequence, base
        if _qualname(base) == "mappingproxy" and base is type(_dict_of(type)):
            return _instance, (None, [], None, told)  # its mapping may be the user's
    get_dict, slots = None, []
    for c in reversed(bases):
        own = _dict_of(c)
        # A type in C tells of its insides by members too: those of exceptions and slices are of use to somebody.
        open_ = "__slots__" in own or c is slice or issubclass(c, BaseException)
        hidden = _OWN_MEMBERS if "__slots__" not in own and c is not slice else ()
        for key, d in list(own.items()):
            kind = type(d)
            if key == "__dict__" and (kind is _getset or kind is _member):
                get_dict = _getter(bases, c, key, d)
            elif open_ and kind is _member and key[:2] != "__" and key not in hidden:
                slots.append((key, _getter(bases, c, key, d)))
    extra = _exception if BaseException in bases else None
    for base in bases:
        name = "%s.%s" % (_module(base), _qualname(base))
        if name in INNER:
            return _inner, (get_dict, slots, extra, told)
        if name == "starlette.requests.HTTPConnection" and get_dict is not None:
            extra = lambda v: scope_of(get_dict(v))
    return _instance, (get_dict, slots, extra, told)


def _getter(bases, c, key, d):
    """What reads a member of a class's instances. A descriptor would keep the class alive."""
    if not _flags(c) & _HEAP:
        return d.__get__
    if next(b for b in bases if key in _dict_of(b)) is c:
        return _own_dict if key == "__dict__" else lambda v: _attribute(v, key)
    weak = ref(c)  # a subclass has something else by that name
    return lambda v: _dict_of(weak())[key].__get__(v)


def _own_dict(v):
    return _attribute(v, "__dict__")


# Of exceptions in C: told by the message, or of no use.
_OWN_MEMBERS = {"print_file_and_line", "text", "characters_written", "object", "start", "end", "encoding", "exceptions"}
