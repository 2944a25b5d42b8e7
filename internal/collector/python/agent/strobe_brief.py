"""For strobe_values: the values of a function that would slow its program down are told by what is near. Loaded with
the first one of these. Most of them are objects that have but a dictionary, or lists: these have a way of their own,
which takes a third of the time that the readers of all kinds of values take."""
from _operator import is_, itemgetter

import strobe_values as values
from strobe_known import order_of
from strobe_rules import ours
from strobe_values import LIMIT, WIDE, quote

NEAR = (2, 24, 10)  # depth, values looked at, and items of each
HOT = (1, 12, 6)  # and after OFTEN of them
OFTEN = 500
ALL = 20000  # for all functions, before each has only SELDOM
SELDOM = 50
_ITEMS = HOT[2]

_plans, _flat, _instance = values._plans, values._flat, values._instance
_STR = {str}
tried = 0
_shapes = {}  # id of a type -> _Shape of the instance that was told last
_all_shapes = {}  # (id of a type, keys) -> _Shape


class _Shape:
    """How an object is told whose dictionary has these keys."""
    __slots__ = ("plan", "keys", "pick", "form", "cut")

    def __init__(self, plan, keys):
        self.plan, self.keys = plan, keys
        order = order_of(keys)
        told = keys[:_ITEMS] if order is None else [keys[i] for i in order[:_ITEMS]]
        self.cut = len(keys) > _ITEMS
        self.pick = itemgetter(*told) if len(told) > 1 else lambda d: [d[k] for k in told]
        fields = ",".join([quote(k).replace("%", "%%") + ":%s" for k in told])
        more = ',"more":%d' % (len(keys) - _ITEMS) if self.cut else ""
        self.form = '{"$":"obj","t":%s,"v":{%s}%s}' % (plan[2][3].replace("%", "%%"), fields, more)


def near(v, depth, limit, f):
    """encode of a function whose values take too much time: in one go, what does not fit by its type's name."""
    global tried
    f.tried += 1
    hot = f.tried > (OFTEN if tried < ALL else SELDOM)
    if not hot:
        tried += 1
    deep, nodes, items = HOT if hot else NEAR
    room = [nodes, limit, items, 0]
    try:
        s = _quick(v, room) if hot and depth > 0 else None
        if s is None:
            s = values._value(v, min(deep, depth), (), room)
    except (values._Full, RuntimeError):
        s, room[3] = values._beyond(type(v)), 1
    except Exception as e:
        if not ours(e):
            raise
        return '{"$":"unreadable"}'
    f.cut += room[3] > 0
    return s


def _quick(v, room):
    """_value at depth 1 of the most common kinds of values: else None."""
    t = type(v)
    if t is tuple or t is list:
        n = len(v)
        if n > _ITEMS:
            room[3] += 1
            return '{"$":"list","v":[%s],"more":%d}' % (",".join(_texts(v[:_ITEMS], room)), n - _ITEMS)
        return "[%s]" % ",".join(_texts(v, room))
    plan = _plans.get(id(t))
    if plan is None or plan[1] is not _instance or plan[0]() is not t:
        return None
    get_dict, slots, extra, _ = plan[2]
    if get_dict is None or slots or extra is not None:
        return None
    d = get_dict(v)
    if type(d) is not dict:
        return None
    shape = _shapes.get(id(t))
    # By identity: to compare keys could run code of theirs.
    if shape is None or shape.plan is not plan or len(d) != len(shape.keys) or not all(map(is_, d, shape.keys)):
        shape = _shape_of(plan, id(t), d)
        if shape is None:
            return None
    try:
        fields = shape.pick(d)
    except KeyError:
        return None  # another thread has changed it
    if shape.cut:
        room[3] += 1
    return shape.form % tuple(_texts(fields, room))


def _shape_of(plan, key, d):
    keys = tuple(d)
    if len(keys) > 256 or keys and {*map(type, keys)} != _STR:
        return None
    shape = _all_shapes.get((key, keys))
    if shape is None or shape.plan is not plan:
        if len(_all_shapes) > 2048:
            _all_shapes.clear()
            _shapes.clear()
        shape = _all_shapes[key, keys] = _Shape(plan, keys)
    _shapes[key] = shape
    return shape


def _texts(parts, room, str=str, int=int, type=type, low=-WIDE, high=WIDE, quote=quote, plans=_plans, flat=_flat):
    """Values, containers among them by their types."""
    out = []
    for x in parts:
        t = type(x)
        if t is str and len(x) <= 256:
            out.append(quote(x))
        elif x is None:
            out.append("null")
        elif t is int and low < x < high:
            out.append(str(x))
        elif t is bool:
            out.append("true" if x else "false")
        else:
            p = plans.get(id(t))
            if p is not None and p[2] is not flat and p[0]() is t:
                out.append(p[3])
                room[3] += 1
            else:
                out.append(values._value(x, 0, (), room))
    return out
