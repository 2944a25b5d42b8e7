"""What there is in a frame: its scopes, variables and their parts, read without running the user's code; and the user's
expressions, which are it."""
import sys
from itertools import islice
from keyword import iskeyword

import strobe_values as values_of
from strobe_rules import late, module_name
from strobe_values import message_of, type_name

if sys.version_info < (3, 13):
    import ctypes

points = late("strobe_points")

ITEMS = 100
ROOM = 200  # characters of a value in one line
_LISTS = (list, tuple)

# --- frames


def place(frame):
    """(function, file, line) of a frame."""
    return points.steps.name_of(frame), points.file_of(
        frame.f_code.co_filename).path, frame.f_lineno or 0


def module_of(frame):
    return module_name(frame.f_globals)


def tid_of(ident):
    """The kernel's number of a thread, 0 where nobody knows it."""
    thread = getattr(sys.modules.get("threading"), "_active", {}).get(ident)
    return getattr(thread, "native_id", None) or late("strobe_stacks")._main_tid(ident)


def parameters(code):
    """In the order in which they are written."""
    n, flags, names = code.co_argcount + code.co_kwonlyargcount, code.co_flags, code.co_varnames
    many = names[n:n + bool(flags & 4)]
    return names[:code.co_argcount] + many + names[code.co_argcount:n] + names[n + len(many):][:bool(flags & 8)]


def _hidden(name):
    return name[:1] == "." or name[:9] == "__strobe_"


def scopes(frame):
    """[(kind, [(name, value)])], the nearest first."""
    code = frame.f_code
    known = frame.f_locals
    found = []
    if code.co_flags & 1:
        pairs = [(k, v) for k, v in list(known.items()) if not _hidden(k)]
        arguments, free = parameters(code), code.co_freevars
        order = {n: i for i, n in enumerate(arguments)}
        if arguments:
            found.append(("arguments", sorted([p for p in pairs if p[0] in order], key=lambda p: order[p[0]])))
        found.append(("locals", [p for p in pairs if p[0] not in order and p[0] not in free]))
        if free:
            found.append(("closure", [p for p in pairs if p[0] in free]))
    elif known is not frame.f_globals:  # the body of a class
        found.append(("locals", list(known.items())))
    found.append(("globals", [p for p in list(frame.f_globals.items()) if p[0] != "__builtins__"]))
    return found


def values(frame):
    """What a pause tells: (arguments, locals), each [(name, value)]; of a module's no functions, classes, modules."""
    found = dict(scopes(frame))
    if frame.f_code.co_flags & 1:
        return found.get("arguments", []), found["locals"] + found.get("closure", [])
    pairs = found.get("locals", found["globals"])
    return [], [(k, v) for k, v in pairs if k[:2] != "__" and plan(v)[0] is not values_of._name]


def of_scope(frame, kind, begin, n):
    pairs = dict(scopes(frame)).get(kind, [])
    return [(k, v, k if k.isidentifier() else "") for k, v in pairs[begin:begin + n]]


# --- values

def plan(v):
    """(how its text is made, data of that) of a value, as traces have it."""
    t = type(v)
    known = values_of._plans.get(id(t))
    if known is None or known[0]() is not t:
        known = values_of._make_plan(t)
    return known[1], known[2]


def fields(v):
    """[(name, value)] of an instance."""
    read, data = plan(v)
    if read is values_of._named_tuple:
        return list(zip(data, tuple.__iter__(v)))
    if read is not values_of._instance:
        return []
    get_dict, slots, extra, _ = data
    found = extra(v) if extra is not None else []
    if get_dict is not None:
        d = get_dict(v)
        if type(d) is dict:
            found.extend([(k, x) for k, x in list(d.items()) if type(k) is str])
    for name, get in slots:
        try:
            found.append((name, get(v)))
        except AttributeError:
            pass  # not set yet
    return found


def _names(v):
    """The mapping of a module or class, else None."""
    if type(v) is type(sys):
        return type(sys).__dict__["__dict__"].__get__(v)
    if issubclass(type(v), type):
        return dict(type.__dict__["__dict__"].__get__(v))
    return None


def count_of(v):
    """(how many parts, whether they are numbered)."""
    read, data = plan(v)
    if read is values_of._sequence:
        return data.__len__(v), True
    if read is values_of._mapping:
        return dict.__len__(v), False
    names = _names(v)
    return (len(names), False) if names is not None else (len(fields(v)), False)


def parts(v, path, begin, n):
    """[(name, value, expression, whether it cannot be set)]."""
    read, data = plan(v)
    if path and not _atomic(path):
        path = "(" + path + ")"
    if read is values_of._sequence:
        found = list(islice(data.__iter__(v), begin, begin + n))
        indexed = path and (data in _LISTS or data.__name__ == "deque")
        fixed = not (data is list or data.__name__ == "deque")
        return [(str(i), x, "%s[%d]" % (path, i) if indexed else "", fixed) for i, x in enumerate(found, begin)]
    if read is values_of._mapping:
        return [(line(k), x, path and _keyed(path, k), False) for k, x in list(islice(dict.items(v), begin, begin + n))]
    names = _names(v)
    pairs = list(names.items()) if names is not None else fields(v)
    fixed = read is values_of._named_tuple
    return [(k, x, "%s.%s" % (path, k) if path and k.isidentifier() and not iskeyword(k) else "", fixed)
            for k, x in pairs[begin:begin + n] if type(k) is str]


def _atomic(path):
    return path.replace("_", "a").isalnum() or path[-1:] in "])" and path[:1].isidentifier() or all(
        p.isidentifier() for p in path.split("."))


def _keyed(path, key):
    text = _literal(key)
    return "%s[%s]" % (path, text) if text else ""


def _literal(v):
    t = type(v)
    if t in (int, bool, type(None)) or t in (str, bytes) and len(v) <= 200 or t is float and v - v == 0:
        return repr(v)
    if t is tuple and len(v) <= 10:
        inner = [_literal(x) for x in v]
        return "(%s,)" % ", ".join(inner) if all(inner) and inner else ""
    return ""


def line(v, room=ROOM, depth=2):
    """A value in one line, as Python would write it."""
    t = type(v)
    if t is str:
        return repr(v) if len(v) <= room else repr(v[:room]) + "…"
    if t is bytes or t is bytearray:
        return repr(v) if len(v) <= room // 2 else repr(v[:room // 2]) + "…"
    if t is int and -values_of.WIDE < v < values_of.WIDE or t is bool or v is None or t is float:
        return repr(v)
    read, data = plan(v)
    if data is values_of._flat:
        return _flat(read(v))
    name = type_name(t)
    name = name.rpartition(".")[2]
    if read is values_of._sequence:
        n = data.__len__(v)
        head, tail = {list: "[]", tuple: "()", set: "{}"}.get(t) or (name + "([", "])")
        if t is set and not n:
            return "set()"
        inner = _joined(islice(data.__iter__(v), ITEMS), n, room - len(head), depth, lambda x, r: line(x, r, depth - 1))
        return head + inner + ("," if t is tuple and n == 1 else "") + tail
    if read is values_of._mapping:
        head, tail = "{}" if t is dict else (name + "({", "})")
        pairs = islice(dict.items(v), ITEMS)
        return head + _joined(pairs, dict.__len__(v), room - len(head), depth, lambda p, r: "%s: %s" % (
            line(p[0], r, 0), line(p[1], r, depth - 1))) + tail
    if isinstance(v, BaseException):
        message = message_of(v)
        return "%s(%s)" % (name, line(message, room, 0) if message else line(values_of._args(v), room, 1)[1:-1])
    found = fields(v)
    if not found:
        return "<%s>" % name
    return "%s(%s)" % (name, _joined(found, len(found), room - len(name), depth, lambda p, r: "%s=%s" % (
        p[0], line(p[1], r, depth - 1))))


def _joined(items, n, room, depth, one):
    if depth <= 0:
        return "… %d" % n if n else ""
    told = []
    try:
        for x in items:
            text = one(x, max(16, min(80, room)))
            room -= len(text) + 2
            if room < 0 and told:
                break
            told.append(text)
    except RuntimeError:
        pass  # it changes meanwhile
    if len(told) < n:
        told.append("… %d more" % (n - len(told)))
    return ", ".join(told)


def _flat(text):
    """The one line of a value whose JSON is text."""
    v = points.agent.loads(text)
    if type(v) is not dict:
        return line(v)
    kind, own = v.get("$"), v.get("v")
    if kind == "name":
        return "<%s>" % own
    if kind == "shape":
        return "<%s %s>" % (v.get("t"), own)
    return str(own) if kind in ("repr", "float") else line(own)


def error_message(e):
    text = message_of(e)
    if text is None:
        try:
            text = str(e)
        except Exception:
            text = ""
    return text[:1000]


def error_text(e):
    message = error_message(e)
    return type_name(type(e)) + (": " + message if message else "")


# --- expressions

class Expression:
    """An expression of the user's, or with statements also what is none."""
    __slots__ = ("code", "nested", "statements")

    def __init__(self, text, statements=False):
        text = text.strip()
        self.statements = False
        try:
            self.code = compile(text, "<strobe>", "eval", 0, True)
        except SyntaxError:
            if not statements:
                raise
            self.code = compile(text, "<strobe>", "exec", 0, True)
            self.statements = True
        self.nested = any(type(c) is type(self.code) for c in self.code.co_consts)

    def value(self, frame, error=None):
        known = frame.f_locals
        names = frame.f_globals
        if error is not None or self.nested:  # what is within it sees globals only
            names = dict(names)
            names.update(known)
            if error is not None:
                names["__exception__"] = error
            return eval(self.code, names)
        return eval(self.code, names, known)


def evaluated(expression, frame):
    if not expression.statements:
        return expression.value(frame)
    _run(expression.code, frame, {})
    return None


def _run(code, frame, more):
    """Runs statements in a frame, which sees what they assign."""
    if frame.f_locals is frame.f_globals:
        frame.f_globals.update(more)
        try:
            exec(code, frame.f_globals)
        finally:
            for k in more:
                frame.f_globals.pop(k, None)
        return
    known = dict(frame.f_locals)
    before = dict(known)
    known.update(more)
    try:
        exec(code, frame.f_globals, known)
    finally:
        for k, v in known.items():
            if k not in more and (k not in before or before[k] is not v):
                if has(frame, k) or k not in frame.f_globals:
                    set_local(frame, k, v)
                else:
                    frame.f_globals[k] = v


def has(frame, name):
    """Whether a frame has a variable of its own by that name."""
    code = frame.f_code
    return name in code.co_varnames or name in code.co_cellvars or name in code.co_freevars or (
        not code.co_flags & 1 and name in frame.f_locals)


def set_local(frame, name, value):
    for _ in range(3):  # whoever reads the names of the frame meanwhile undoes it, before 3.13
        known = frame.f_locals
        known[name] = value
        if sys.version_info >= (3, 13) or not frame.f_code.co_flags & 1:
            return
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
        if frame.f_locals.get(name) is value:
            return


def scope_assignment(frame, kind, name, expression):
    """What is to be run for it. LookupError where that cannot be."""
    if kind != "globals" and not has(frame, name):
        raise LookupError("the frame has no variable %s" % name)

    def job():
        v = expression.value(frame)
        if kind == "globals":
            frame.f_globals[name] = v
        else:
            set_local(frame, name, v)
        return v
    return job


def assignment(frame, text, expression):
    text = text.strip()
    if text.isidentifier():
        return scope_assignment(frame, "locals" if has(frame, text) else "globals", text, expression)
    code = compile(text + " = __strobe_value__", "<strobe>", "exec", 0, True)
    again = Expression(text)

    def job():
        _run(code, frame, {"__strobe_value__": expression.value(frame)})
        return again.value(frame)
    return job


def part_assignment(frame, v, path, name, expression):
    read, data = plan(v)
    if read is values_of._sequence and (data is list or data.__name__ == "deque"):
        i = int(name)

        def job():
            v[i] = expression.value(frame)
            return v[i]
    elif read is values_of._mapping:
        keys = [k for k in list(dict.keys(v)) if line(k) == name]
        if not keys:
            raise LookupError("it has no key %s" % name)

        def job():
            v[keys[0]] = expression.value(frame)
            return dict.get(v, keys[0])
    elif read in (values_of._instance, values_of._name):
        def job():
            x = expression.value(frame)
            setattr(v, name, x)
            return dict(fields(v)).get(name, x)
    else:
        raise LookupError("parts of a %s cannot be set" % type_name(type(v)))
    return job


def template(text):
    """The pieces of a message: texts, and (Expression, conversion, format) of what stands in braces."""
    pieces, plain, i = [], "", 0
    while i < len(text):
        c = text[i]
        if c in "{}" and text[i + 1:i + 2] == c:
            plain, i = plain + c, i + 2
        elif c == "{":
            end, cut = _braced(text, i + 1)
            inner, conversion, form = text[i + 1:cut], "", ""
            rest = text[cut:end]
            if rest[:1] == "!":
                conversion, rest = rest[1:2], rest[2:]
            if rest[:1] == ":":
                form = rest[1:]
            if plain:
                pieces.append(plain)
            pieces.append((Expression(inner), conversion, form))
            plain, i = "", end + 1
        else:
            plain, i = plain + c, i + 1
    return pieces + [plain] if plain else pieces


def _braced(text, i):
    """Where an expression in braces ends, and where its conversion or format begins."""
    open_, quote, cut = 0, "", 0
    while i < len(text):
        c = text[i]
        if quote:
            if c == "\\":
                i += 1
            elif c == quote:
                quote = ""
        elif c in "'\"" and not cut:
            quote = c
        elif c in "([{":
            open_ += 1
        elif c in ")]":
            open_ -= 1
        elif c == "}" and open_:
            open_ -= 1
        elif c == "}":
            return i, cut or i
        elif not open_ and not cut and (c == ":" or c == "!" and text[i + 1:i + 2] != "="):
            cut = i
        i += 1
    raise SyntaxError("a { has no }")


def filled(pieces, frame, error=None):
    out = []
    for piece in pieces:
        if type(piece) is str:
            out.append(piece)
            continue
        expression, conversion, form = piece
        v = expression.value(frame, error)
        if conversion:
            v = repr(v) if conversion == "r" else ascii(v) if conversion == "a" else str(v)
        if form:
            out.append(format(v, form))
        else:
            out.append(str.__str__(v) if isinstance(v, str) else line(v, 400, 3))
    return "".join(out)
