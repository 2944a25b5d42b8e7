"""For strobe_swap: makes code that tells of the code of a file, and puts it in the place of that and back."""
import ast
import gc
import os
import sys
import warnings
from _ctypes import Py_DECREF, Py_INCREF, _SimpleCData

import strobe_swap as swap
from strobe_rules import AGENT, module_name, plain_module, recordable

_CODE = type(ast.parse.__code__)
_FILES = type(ast.__loader__)
_FUNCTION = type(ast.parse)


class _Word(_SimpleCData):
    _type_ = "P"


class Source:
    """A file of which functions are replaced."""
    __slots__ = ("path", "module", "loader", "wanted", "old", "new", "back", "slots")

    def __init__(self, path, module, loader):
        self.path, self.module, self.loader = path, module, loader
        self.wanted = {}  # (first line, name) -> Function
        self.old = {}  # key -> code as it was loaded
        self.new = {}  # key -> code that tells
        self.back = {}  # id of a new code -> the old one; new ones are never let go while a function may have them
        self.slots = {}  # (id of a tuple of constants, index) -> (tuple, old code, code that is there)


def key_of(code):
    return code.co_firstlineno, code.co_name


def codes_in(code, prefix=""):
    """Yields (qualified name, code) of all code within a code."""
    for c in code.co_consts:
        if type(c) is _CODE:
            name = prefix + "." + c.co_name if prefix else c.co_name
            yield name, c
            yield from codes_in(c, name)


# --- what is to be replaced

def replace(rules):
    """Makes what is replaced the same as what the rules take, in all that is loaded and runs."""
    by_file = {}
    for f in gc.get_objects():
        if type(f) is _FUNCTION:
            by_file.setdefault(f.__code__.co_filename, ([], []))[0].append(f)
    for frame in sys._current_frames().values():
        while frame is not None:
            by_file.setdefault(frame.f_code.co_filename, ([], []))[1].append(frame)
            frame = frame.f_back
    modules = {}
    for m in list(sys.modules.values()):
        names = getattr(m, "__dict__", None)
        if type(names) is dict and type(names.get("__file__")) is str:
            modules.setdefault(names["__file__"], (module_name(names), names.get("__loader__")))
    for path, (functions, frames) in by_file.items():
        if path.startswith(AGENT) or path[:1] in ("<", ""):
            continue
        source = swap.sources.get(path)
        if source is None:
            if not rules.active or not rules.may_take(path):
                continue
            if path in modules:
                module, loader = modules[path]
            else:
                module, loader = _module_of(functions, frames), None
            if not _takes_any(rules, module, path, functions, frames):
                continue
            source = Source(path, module, loader)
        try:
            _renew(rules, source, [], functions, [f.f_code for f in frames])
        except Exception as e:
            refuse(source, "%s: %s" % (type(e).__name__, e))


def replace_in_module(rules, code):
    """The same for a module whose code is about to run for the first time."""
    path = code.co_filename
    if path.startswith(AGENT) or not rules.may_take(path):
        return
    module, loader = _being_loaded(path)
    for name, c in codes_in(code):
        if recordable(c) and rules.depth(module, name.replace(".<locals>", ""), path):
            break
    else:
        return
    source = swap.sources.get(path)
    if source is None:
        source = Source(path, module, loader)
    else:
        source.module, source.loader = module, loader
        source.wanted = {}  # loaded again, perhaps from a source that changed
    try:
        _renew(rules, source, [code], (), ())
    except Exception as e:
        refuse(source, "%s: %s" % (type(e).__name__, e))


def _module_of(functions, frames):
    for f in functions:
        return module_name(f.__globals__)
    for f in frames:
        return module_name(f.f_globals)


def _being_loaded(path):
    """The name and loader of the module that is being loaded, which the frames of the import system know."""
    frame = sys._getframe()
    for _ in range(10):
        if frame is None:
            break
        if frame.f_code.co_name == "exec_module":
            names = frame.f_locals
            module = names.get("module")
            name = getattr(getattr(module, "__spec__", None), "name", None)
            if type(name) is str:
                return name, names.get("self")
        frame = frame.f_back
    main = plain_module("__main__")
    if main == "__main__":
        main = os.path.splitext(os.path.basename(path))[0]
    return main, None


def _takes_any(rules, module, path, functions, frames):
    seen = set()
    for code, name in [(f.__code__, f.__qualname__) for f in functions] + [(f.f_code, "") for f in frames]:
        if id(code) in seen:
            continue
        seen.add(id(code))
        name = name.replace(".<locals>", "")
        if name and rules.depth(module, name, path):
            return True
        for inner, c in codes_in(code, name if code.co_name != "<module>" else ""):
            if recordable(c) and rules.depth(module, inner, path):
                return True
    return False


# --- making it

def refuse(source, reason, name="*"):
    swap.refused[source.module + "." + name] = reason


def _renew(rules, source, modules, functions, running):
    """Brings a source up to the rules. modules are codes of modules that have not run, running ones that do."""
    tree = _parse(source)
    # What Python's own loader is about to run is what the file says: that need not be compiled to be compared.
    loaded = len(modules) == 1 and not functions and not running and type(source.loader) is _FILES
    plain = modules[0] if loaded else compile(tree, source.path, "exec", dont_inherit=True)
    wanted = {}
    for name, c in codes_in(plain):
        depth = recordable(c) and rules.depth(source.module, name, source.path)
        if not depth:
            continue
        if c.co_name == "<lambda>":
            refuse(source, "lambdas are recorded from Python 3.12 on", name)
            continue
        f = swap.function(source.module, name, c, rules.file(source.path).path)
        f.depth = depth
        wanted[key_of(c)] = f
    if set(wanted) == set(source.wanted) and not modules:
        return
    if not wanted and not source.slots and not source.back:
        return
    expected = {key_of(c): c for _, c in codes_in(plain)}
    if wanted:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the user's source: they were given once
            _wrap(tree.body, wanted, expected)
            made = compile(tree, source.path, "exec", dont_inherit=True)
        source.new = {key_of(c): c for _, c in codes_in(made)}
    else:
        source.new = {}
    source.wanted = wanted
    swap.sources[source.path] = source
    with_wanted = _containing(plain, wanted)
    for code in modules:
        _fill(source, code, expected, with_wanted)
    for code in running:
        _fill(source, source.back.get(id(code), code), expected, with_wanted)
        if id(code) in source.back:
            _fill(source, code, expected, with_wanted)
    for f in functions:
        code = f.__code__
        old = source.back.get(id(code), code)
        new = _instead(source, old, expected)
        if new is not code:
            try:
                f.__code__ = new
            except ValueError:
                refuse(source, "its closure differs", f.__qualname__)
        _fill(source, old, expected, with_wanted)


def _parse(source):
    with open(source.path, "rb") as f:
        text = f.read()
    tree = ast.parse(text, source.path)
    if type(source.loader).__name__ == "AssertionRewritingHook":  # of pytest: failing asserts must still be explained
        from _pytest.assertion.rewrite import rewrite_asserts
        rewrite_asserts(tree, text, source.path, getattr(source.loader, "config", None))
    return tree


def _containing(code, wanted):
    """The keys of all code that is wanted or has such code within."""
    keys = set()

    def look(c):
        found = key_of(c) in wanted
        for inner in c.co_consts:
            if type(inner) is _CODE:
                found = look(inner) or found
        if found:
            keys.add(key_of(c))
        return found
    look(code)
    return keys


def _instead(source, old, expected):
    """The code to stand in the place of an old one: itself, unless it is wanted and still what the source says."""
    key = key_of(old)
    if key not in source.wanted:
        return old
    new, same = source.new.get(key), expected.get(key)
    if (new is None or same is None or same.co_code != old.co_code or same.co_names != old.co_names or
            new.co_varnames != old.co_varnames or not set(old.co_names) <= set(new.co_names)):
        refuse(source, "the source is not what was loaded", source.wanted[key].name[len(source.module) + 1:])
        return old
    if new.co_freevars != old.co_freevars:
        refuse(source, "its closure differs", source.wanted[key].name[len(source.module) + 1:])
        return old
    source.old[key] = old
    source.back[id(new)] = old
    swap.replaced[id(new)] = source.wanted[key]
    _kept.append(new)
    return new


_kept = []  # code that was given out: its id stands for it


def _fill(source, code, expected, with_wanted):
    """Puts into the constants of a code what functions made by it shall have."""
    constants = code.co_consts
    for i, c in enumerate(constants):
        if type(c) is not _CODE:
            continue
        slot = source.slots.get((id(constants), i))
        old = slot[1] if slot is not None else source.back.get(id(c), c)
        new = _instead(source, old, expected)
        if new is not c:
            _put(constants, i, new)
            if new is old:
                source.slots.pop((id(constants), i), None)
            else:
                source.slots[id(constants), i] = (constants, old, new)
        if new is old and (key_of(old) in with_wanted or old.co_name != "<lambda>"):
            _fill(source, old, expected, with_wanted)


def _put(constants, i, new):
    """Replaces an item of a tuple in place. The layout of tuples is the same in all versions this runs in."""
    place = _Word.from_address(id(constants) + tuple.__basicsize__ + 8 * i)
    old = constants[i]
    Py_INCREF(new)
    place.value = id(new)
    Py_DECREF(old)


_STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")  # of statements, handlers and cases
# What holds statements, and where.
_HOLDERS = {t: [f for f in t._fields if f in _STATEMENTS] for t in vars(ast).values()
            if type(t) is type and issubclass(t, ast.AST) and not issubclass(t, (ast.expr, ast.mod))}
_HOLDERS = {t: fields for t, fields in _HOLDERS.items() if fields}


def _held(node):
    """The lists of statements in one that holds some, a handler or a case."""
    return [part for part in [getattr(node, f) for f in _HOLDERS[type(node)]] if part]


def _wrap(statements, wanted, codes):
    """Functions stand among statements: expressions, which are most of a tree, are not looked at."""
    for node in statements:
        if type(node) not in _HOLDERS:
            continue
        for inner in _held(node):
            _wrap(inner, wanted, codes)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            f = wanted.get((first, node.name))
            if f is not None:
                _wrap_function(node, f, codes[first, node.name].co_flags & _GENERATORS)


_GENERATORS = 0x20 | 0x200  # CO_GENERATOR, CO_ASYNC_GENERATOR


def _call(at, name, *args):
    """A call whose own nodes stand where at does. Arguments without a place are new."""
    call = ast.copy_location(ast.Call(ast.copy_location(ast.Name(name, ast.Load()), at), list(args), []), at)
    for node in args:
        if not hasattr(node, "lineno"):
            ast.copy_location(node, at)
            for inner in getattr(node, "elts", ()):
                ast.copy_location(inner, at)
    return call


def _number(f):
    return ast.Constant(f.number)


_WITHIN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)  # what has returns of its own


def _wrap_returns(statements, f, leaving):
    for s in statements:
        if isinstance(s, ast.Return):
            value = s.value or ast.copy_location(ast.Constant(None), s)
            s.value = _call(value, leaving, _number(f), value)
        elif type(s) in _HOLDERS and not isinstance(s, _WITHIN):
            for part in _held(s):
                _wrap_returns(part, f, leaving)


class _Yields(ast.NodeTransformer):
    """The yields of one generator, which stand in expressions."""

    def __init__(self, f):
        self.f = f

    def skip(self, node):
        return node
    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = skip

    def visit_Yield(self, node):
        self.generic_visit(node)
        value = node.value or ast.copy_location(ast.Constant(None), node)
        node.value = _call(value, "__strobe_yield__", _number(self.f), value)
        return node


def _returns_amid(statements, within=False):
    """Whether a return leaves a with or a finally, whose code runs after it."""
    for s in statements:
        if isinstance(s, ast.Return) and within:
            return True
        if type(s) not in _HOLDERS or isinstance(s, _WITHIN):
            continue
        inside = within or isinstance(s, (ast.With, ast.AsyncWith)) or bool(getattr(s, "finalbody", None))
        if any([_returns_amid(part, inside) for part in _held(s)]):
            return True
    return False


def _wrap_function(node, f, generator):
    body = node.body
    doc = []
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
        doc, body = body[:1], body[1:]
    amid = _returns_amid(body)
    if generator:
        body = [_Yields(f).visit(s) for s in body]
    _wrap_returns(body, f, "__strobe_keep__" if amid else "__strobe_exit__")
    a = node.args
    names = [p.arg for p in a.posonlyargs + a.args] + ([a.vararg.arg] if a.vararg else []) + [
        p.arg for p in a.kwonlyargs] + ([a.kwarg.arg] if a.kwarg else [])
    values = ast.Tuple([ast.Name(n, ast.Load()) for n in names], ast.Load())
    enter = ast.Expr(_call(node, "__strobe_enter__", _number(f), values))
    handler = ast.ExceptHandler(None, None, [ast.Expr(_call(node, "__strobe_throw__", _number(f))), ast.Raise(None, None)])
    last = body[-1] if body else node
    leave, behind = [], []
    if amid:
        behind = [ast.Expr(_call(last, "__strobe_end__", _number(f)))]
    elif not body or not isinstance(last, (ast.Return, ast.Raise)):
        leave = [ast.Expr(_call(last, "__strobe_exit__", _number(f), ast.Constant(None)))]
    guarded = ast.Try(body=body + leave, handlers=[handler], orelse=[], finalbody=behind)
    for new in (enter, guarded, handler, *handler.body, *leave, *behind):
        ast.copy_location(new, node if new not in leave and new not in behind else last)
    node.body = doc + [enter, guarded]
