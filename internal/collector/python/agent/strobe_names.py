"""What types, functions and modules are called where calls and values are told."""
import sys

_qualname = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__
_method = type(type("", (), {"one": lambda self: None})().one)


def type_name(t):
    module, name = _module(t), _qualname(t)
    if type(module) is not str or module == "builtins":
        return name
    return plain_module(module) + "." + name


def plain_module(name):
    """The name of a module; of the script that was started, by its file, or by the module that -m ran."""
    if name == "__main__" or name == "__mp_main__":  # the latter in children of multiprocessing
        return _main_names.get(name) or _main_name(name)
    return name


_main_names = {}


def _main_name(main):
    d = getattr(sys.modules.get(main), "__dict__", {})
    spec = getattr(d.get("__spec__"), "name", None)
    file = d.get("__file__")
    if type(file) is not str:
        return main
    name = file.rpartition("/")[2]
    name = name[:-3] if name.endswith(".py") else name
    if type(spec) is str and spec not in ("__main__", "__mp_main__"):
        name = spec
    _main_names[main] = name
    return name


def name_of(v):
    """The name of a function, class or module."""
    t = type(v)
    if t is type(sys):
        name = t.__dict__["__dict__"].__get__(v).get("__name__")
        return name if type(name) is str else "?"
    if issubclass(t, type):
        return type_name(v)
    if t is _method:
        return name_of(v.__func__)
    name = getattr(v, "__qualname__", None) or getattr(v, "__name__", None)
    module = getattr(v, "__module__", None)
    if type(name) is not str:
        return t.__name__
    if type(module) is str and module != "builtins":
        return plain_module(module) + "." + name
    return name
