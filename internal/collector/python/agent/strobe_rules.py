"""What is to be recorded: rules on names, files and the user's own code, and what of it is loaded."""
import os
import sys
from time import monotonic

from strobe_names import plain_module
from strobe_values import Asked

AGENT = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Where Python's own library and installed packages are: never the user's own code, even below their root.
LIBRARY = os.path.dirname(os.__file__) + os.sep
PACKAGES = ("site-packages", "dist-packages", "node_modules", ".tox", ".nox", ".venv", "venv")
NEAR = 2000

_started_in = os.getcwd()  # what a relative file name of the script is relative to


def late(name):
    """Imports a module of the agent after the start, when our folder is not on the path any more."""
    module = sys.modules.get(name)
    if module is None:
        import _frozen_importlib as importlib
        from _frozen_importlib_external import SourceFileLoader
        wanted, sys.dont_write_bytecode = sys.dont_write_bytecode, False
        try:
            loader = SourceFileLoader(name, AGENT + name + ".py")
            spec = importlib.spec_from_loader(name, loader, origin=AGENT + name + ".py")
            spec.has_location = True
            module = importlib._load(spec)
        finally:
            sys.dont_write_bytecode = wanted
    return module


def ours(e):
    """Whether an exception began in the agent: a signal's handler of the user may raise while the agent runs."""
    tb = e.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    return tb is None or tb.tb_frame.f_code.co_filename.startswith(AGENT)


class Glob:
    """* for characters without the separator, ** for any, ? for one; ** between separators, and before the first of a
    path, also for nothing."""
    __slots__ = ("text", "separator", "plain", "head", "tail", "parts")

    def __init__(self, text, separator):
        self.text, self.separator = text, separator
        self.parts = []
        i = 0
        literal = ""
        while i < len(text):
            if text[i] not in "*?":
                literal += text[i]
                i += 1
                continue
            if literal:
                self.parts.append(literal)
            literal = ""
            if text.startswith("**", i):
                # At the beginning, too, of a path: **/x takes x.
                between = text[i + 2:i + 3] == separator and (text[i - 1:i] == separator if i else separator == "/")
                self.parts.append((2, between))
                i += 2
                if between:
                    i += 1  # the separator behind it is its own: it goes with it where it stands for nothing
            else:
                self.parts.append((1 if text[i] == "*" else 0, False))
                i += 1
        if literal:
            self.parts.append(literal)
        self.plain = len(self.parts) <= 1 and (not self.parts or type(self.parts[0]) is str)
        self.head = self.parts[0] if self.parts and type(self.parts[0]) is str else ""
        self.tail = self.parts[-1] if self.parts and type(self.parts[-1]) is str else ""

    def match(self, s):
        if self.plain:
            return s == self.text
        # Most names fall here, in C.
        return s.startswith(self.head) and s.endswith(self.tail) and self._match(s)

    def _match(self, s):
        """All places that each part may end at, one part after the other: no pattern takes longer than its length times
        the name's."""
        at = {0}
        for part in self.parts:
            if type(part) is str:
                at = {i + len(part) for i in at if s.startswith(part, i)}
            elif part[0] == 0:
                at = {i + 1 for i in at if i < len(s) and s[i] != self.separator}
            elif part[1]:
                at |= {i + 1 for i in range(min(at), len(s)) if s[i] == self.separator}
            elif part[0] == 2:
                at = set(range(min(at), len(s) + 1))
            else:
                ends = set()
                for i in sorted(at):
                    while i not in ends:
                        ends.add(i)
                        if i == len(s) or s[i] == self.separator:
                            break
                        i += 1
                at = ends
            if not at:
                return False
        return len(s) in at


class File:
    """What is known of a source file by its name."""
    __slots__ = ("path", "below", "user", "may")

    def __init__(self, name, root):
        self.path = name
        self.below = None
        self.user = False
        self.may = None  # whether any function of it can be taken
        if name[:1] in ("<", ""):
            return  # no file
        if name[0] != "/":
            self.path = name = os.path.normpath(os.path.join(_started_in, name))
        if not root:
            return
        if "/ipykernel_" in name and sys.version_info >= (3, 12):  # a cell of a notebook, whose text is in no file
            self.user = True
            return
        for path in (name, None):
            if path is None:
                path = os.path.realpath(name)
            if path.startswith(root):
                self.below = path[len(root):]
                library = LIBRARY if LIBRARY != root else "\0"
                self.user = not path.startswith(library) and not any(
                    p in PACKAGES for p in self.below.split("/"))
                return


class Rule:
    __slots__ = ("id", "on", "glob", "text", "out", "depth")

    def __init__(self, m):
        self.id, self.on, self.out = m.get("id"), m.get("on"), bool(m.get("not"))
        self.text = m.get("glob") or ""
        self.depth = m.get("depth") or 3
        if m.get("given"):
            self.depth = Asked(self.depth)
        self.glob = Glob(self.text, "/" if self.on == "path" else ".") if self.on in ("name", "path") else None

    def takes(self, names, file):
        if self.on == "name":
            match = self.glob.match
            for n in names:
                if match(n):
                    return True
            return False
        if self.on == "path":
            return file.below is not None and self.glob.match(file.below)
        if self.on == "contains":
            return self.text in file.path
        return self.on == "user" and file.user


class Rules:
    """The rules in force. An empty one takes nothing."""

    def __init__(self, message=None):
        message = message or {}
        root = message.get("root") or ""
        self.root = os.path.realpath(root).rstrip("/") + "/" if root else ""
        self.rules = [Rule(m) for m in message.get("rules") or ()]
        self.active = any(not r.out for r in self.rules)
        self.files = {}
        self.by_file = any(r.on != "name" and not r.out for r in self.rules)
        self.globs = [r.glob for r in self.rules if r.on == "name" and not r.out]
        # Where every rule is on files, a file that none takes needs no look at its functions.
        self.by_name = any(r.on == "name" and not r.out for r in self.rules)

    def file(self, name):
        f = self.files.get(name)
        if f is None:
            f = self.files[name] = File(name, self.root)
        return f

    def depth(self, module, qualname, filename):
        """How deep the values of a function are followed: 0 where it is not to be recorded."""
        file = self.file(filename)
        names = names_of(module, qualname)
        depth = 0
        for r in self.rules:
            if (r.out or r.depth > depth) and r.takes(names, file):
                if r.out:
                    return 0
                depth = r.depth
        return depth

    def may_name(self, module, qualname):
        """False where no rule on names can take a function, told by what is cheap to see. True says nothing."""
        if self.by_file:
            return True
        whole = "%s.%s" % (module, qualname)
        part = whole[whole.rfind(".", 0, len(whole) - len(qualname) - 1) + 1:]
        for g in self.globs:
            if whole.endswith(g.tail) and (whole.startswith(g.head) or part.startswith(g.head) or
                                           qualname.startswith(g.head)):
                return True
        return False

    def may_take(self, filename):
        """Whether any function of a file can be taken."""
        if self.by_name:
            return True
        file = self.file(filename)
        if file.may is None:
            file.may = any([not r.out and r.takes((), file) for r in self.rules])
        return file.may


def names_of(module, qualname):
    """What a name rule is tried on. module is what the module is called, of a script by its file."""
    last = module.rpartition(".")[2]
    names = [module + "." + qualname, qualname]
    if last != module:
        names.append(last + "." + qualname)
    if module == plain_module("__main__"):
        names.append("__main__." + qualname)
    return names


def recordable(code):
    """Whether a code object is a function that somebody wrote, and not one of ours."""
    return (code.co_flags & 1 and not code.co_filename.startswith(AGENT)
            and code.co_name not in ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "<module>")
            and code.co_filename[:8] != "<frozen ")


def module_name(names):
    """The module that a function's globals belong to."""
    name = names.get("__name__")
    return plain_module(name) if type(name) is str else "?"


def loaded():
    """Yields (module, qualified name, code) of every function of the loaded modules, each once."""
    seen = set()
    for m in list(sys.modules.values()):
        if not issubclass(type(m), type(sys)):
            continue
        names = type(sys).__dict__["__dict__"].__get__(m)
        if type(names) is dict and not str(names.get("__name__")).startswith("strobe_"):
            yield from _of_names(names, seen, 0)


_FUNCTION = type(ours)


def _of_names(names, seen, depth):
    for v in list(names.values()):
        t = type(v)
        if t is _FUNCTION:
            yield from _of_function(v, seen)
        elif issubclass(t, type):
            if id(v) not in seen and depth < 5:
                seen.add(id(v))
                yield from _of_names(dict(type.__dict__["__dict__"].__get__(v)), seen, depth + 1)
        elif t is staticmethod or t is classmethod:
            if type(v.__func__) is _FUNCTION:
                yield from _of_function(v.__func__, seen)
        elif t is property:
            for f in (v.fget, v.fset, v.fdel):
                if type(f) is _FUNCTION:
                    yield from _of_function(f, seen)


def _of_function(f, seen):
    code = f.__code__
    if id(f) in seen:
        return
    seen.add(id(f))
    if id(code) not in seen:
        seen.add(id(code))
        module = module_name(f.__globals__)
        name = f.__qualname__.replace(".<locals>", "")
        if not (name == code.co_name or name.endswith("." + code.co_name)):  # a decorator gave it another's name
            name = getattr(code, "co_qualname", code.co_name).replace(".<locals>", "")
        yield module, name, code
        yield from _inner(module, name, code, seen)
    # What a decorator wrapped is reached by its cells.
    for cell in f.__closure__ or ():
        try:
            inside = cell.cell_contents
        except ValueError:
            continue  # not filled yet
        if type(inside) is _FUNCTION:
            yield from _of_function(inside, seen)


def _inner(module, name, code, seen):
    for c in code.co_consts:
        if type(c) is type(code) and id(c) not in seen:
            seen.add(id(c))
            if c.co_flags & 1:
                yield module, name + "." + c.co_name, c
            yield from _inner(module, name + "." + c.co_name, c, seen)


RARELY = 20  # times as long as counting took is not counted again
_last = None  # what was counted of which rules, and until when that stands


def applied(rules, hooked, all_loaded=True, again=True):
    """_applied, or what it said lately: a walk through all that is loaded may take a tenth of a second of the program's
    time, and who waits for a program asks several times a second."""
    global _last
    now = monotonic()
    if again or _last is None or _last[0] is not rules or now >= _last[1]:
        answer = _applied(rules, hooked, all_loaded)
        end = monotonic()
        _last = rules, end + RARELY * (end - now), answer
    return _last[2]


def _applied(rules, hooked, all_loaded):
    """What the rules take of what is loaded, or of what is recorded alone: (matched by rule, functions, functions in C
    that a rule names, names that come near). hooked are (module, qualified name, code) of functions that are recorded,
    of which some may not be found by their modules."""
    matched = dict.fromkeys((r.id for r in rules.rules), 0)
    functions = 0
    names, packages = [], []
    seen = set()
    if not rules.rules:
        return matched, 0, [], []
    for source in (loaded() if all_loaded else (), hooked):
        for module, name, code in source:
            key = (code.co_filename, code.co_firstlineno, name)
            if key in seen or not rules.may_take(code.co_filename) or not recordable(code):
                continue
            seen.add(key)
            file = rules.file(code.co_filename)
            if rules.by_file or rules.may_name(module, name):
                all_names = names_of(module, name)
                for r in rules.rules:
                    if r.takes(all_names, file):
                        matched[r.id] += 1
                if rules.depth(module, name, code.co_filename):
                    functions += 1
            (names if file.user else packages).append((module, name))
    named = [r for r in rules.rules if r.on == "name" and not r.out]
    unmatched = [r for r in named if not matched[r.id]]
    in_c = _in_c([r for r in named if r.glob.head or not matched[r.id]], matched)
    near = names + packages if unmatched and all_loaded else []
    return matched, functions, in_c, [module + "." + name for module, name in near[:NEAR]]


_BUILTIN = type(len)


def _in_c(rules, matched):
    """Names of functions in C, which have no events of ours, that rules take which take more of these than of Python's:
    packages are compiled (mypyc, Cython)."""
    found = {r.id: [] for r in rules}
    for m in list(sys.modules.values()) if rules else ():
        if type(m) is not type(sys):
            continue
        module = module_name(m.__dict__)
        for name, v in list(m.__dict__.items()):
            if type(v) is _BUILTIN and type(name) is str:
                for r in rules:
                    if r.glob.match(module + "." + name):
                        found[r.id].append(module + "." + name)
    return [name for i, names in found.items() if len(names) > matched[i] for name in names][:20]
