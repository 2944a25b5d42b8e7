"""For strobe_values: what is known of the types of libraries, and in which order an object's fields are told."""
from itertools import islice

# How values of the standard library become text, by the class that does it. Only these exact classes, but for dates.
TEXTS = {
    "datetime": {"timedelta": str, "timezone": str},
    "decimal": {"Decimal": str}, "_decimal": {"Decimal": str}, "_pydecimal": {"Decimal": str},
    "fractions": {"Fraction": str}, "uuid": {"UUID": str},
    "pathlib": dict.fromkeys(("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath"), str),
    "pathlib._local": dict.fromkeys(("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath"), str),
    "ipaddress": dict.fromkeys(("IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network"), str),
    "re": {"Pattern": repr, "Match": repr}, "zoneinfo": {"ZoneInfo": str},
    "builtins": {"complex": repr, "range": repr, "ellipsis": repr, "NotImplementedType": repr},
}
SHAPED = {"numpy", "pandas", "torch", "jax", "jaxlib", "polars", "tensorflow", "cupy", "xarray"}

# What libraries keep beside an object's own fields.
INNER = {"django.db.models.base.ModelState", "sqlalchemy.orm.state.InstanceState"}

# Of what little is shown or kept of an object these come first: they tell what a request, an answer or a query is. Names
# that are no one else's business (_state) come last.
FIRST = ("method", "path", "url", "status_code", "model", "_result_cache", "_container", "body")
_STR = {str}
_orders = {}  # names as they come -> places in the order in which they are told, None where it is the same


def in_order(d, most):
    """The first most items of an object's dictionary."""
    if len(d) > 256:
        return list(islice(d.items(), most))
    items = list(d.items())
    keys = tuple(d)
    if len(keys) != len(items) or {*map(type, keys)} != _STR:
        return items[:most]  # another thread has changed it, or a key could be the user's code
    order = _orders.get(keys, 0)
    if order == 0:
        order = order_of(keys)
    return items[:most] if order is None else [items[i] for i in order[:most]]


def order_of(keys):
    """The places of names in the order in which they are told, None where it is that in which they come."""
    rank = [FIRST.index(k) if k in FIRST else len(FIRST) + (k[:1] == "_") for k in keys]
    order = sorted(range(len(keys)), key=rank.__getitem__)
    if order == list(range(len(keys))):
        order = None
    if len(_orders) > 2048:
        _orders.clear()
    _orders[keys] = order
    return order


def scope_of(d):
    """What a request of an ASGI server is."""
    scope = d.get("scope")
    if type(scope) is not dict:
        return []
    return [(k, dict.get(scope, k)) for k in ("method", "path") if type(dict.get(scope, k)) is str]


def parts_of(v):
    """What a frame's columns are called, and the numbers of a small array: a list of at most one text."""
    t = type(v)
    library, name = t.__module__.partition(".")[0], t.__qualname__
    try:
        if name == "DataFrame":
            names = list(islice(iter(v.columns), 12))
            if {*map(type, names)} == _STR:
                return [", ".join([n[:40] for n in names]) + (", …" if len(v.columns) > 12 else "")]
        elif (library, name) in (("numpy", "ndarray"), ("pandas", "Series")) and v.size <= 6 and v.dtype.kind in "iufb":
            return [str(v.tolist())]
    except Exception:
        pass  # it is changed meanwhile, or made in another way
    return []
