"""Whether anybody will catch an exception, as far as the source of the functions on the stack tells."""
import ast
import builtins
import sys

from strobe_rules import late

source = late("strobe_source")
points = late("strobe_points")
steps = late("strobe_steps")

_trees = {}
# Functions that catch everything only to tell of it: nobody caught it for the program.
_TELL = {("threading", "_bootstrap_inner"), ("threading", "_bootstrap"), ("asyncio.events", "_run"),
         ("runpy", "run_path")}


def uncaught(frame, error):
    """Whether no frame from this one on has an except clause, or suppress, that takes it."""
    if isinstance(error, AttributeError) and frame.f_code.co_name in ("__getattr__", "__getattribute__", "__get__"):
        return False  # the interpreter asks, for hasattr and imports
    task = _task()
    while frame is not None:
        code = frame.f_code
        if not source.ours(code):
            name = (frame.f_globals.get("__name__"), code.co_name)
            if name == ("asyncio.events", "_run") and task is not None:
                if _awaited(task):
                    return False  # whoever awaits the task may catch it
            elif name not in _TELL and _catches(frame, frame.f_lineno or 0, error):
                return False
        frame = frame.f_back
    return True


def _task():
    tasks = sys.modules.get("_asyncio")
    try:
        return None if tasks is None or tasks._get_running_loop() is None else sys.modules["asyncio"].current_task()
    except Exception:
        return None


def _awaited(task):
    """Whether anybody but the loop that runs until it is done waits for a task."""
    for callback in getattr(task, "_callbacks", None) or ():
        f = callback[0] if type(callback) is tuple else callback
        if getattr(f, "__name__", "") not in ("_run_until_complete_cb", "discard"):
            return True
    return False


def _catches(frame, line, error):
    for handler_types in _handlers(points.file_of(frame.f_code.co_filename).path, line):
        for node in handler_types:
            if node is None:
                return True
            kind = _resolved(frame, node)
            kinds = kind if type(kind) is tuple else (kind,)
            for k in kinds:
                if isinstance(k, type) and issubclass(type(error), k):
                    return True
    return False


def _handlers(path, line):
    """Of each statement around a line that may catch, the types that it does: None is all."""
    tree = _trees.get(path)
    if tree is None:
        found = []
        try:
            with open(path, "rb") as f:
                for node in ast.walk(ast.parse(f.read(), path)):
                    if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
                        if node.handlers:
                            types = [h.type for h in node.handlers]
                            found.append((node.body[0].lineno, node.body[-1].end_lineno, types))
                    elif isinstance(node, (ast.With, ast.AsyncWith)):
                        for item in node.items:
                            call = item.context_expr
                            if isinstance(call, ast.Call) and ast.dump(call.func).rpartition("'suppress'")[1]:
                                found.append((node.body[0].lineno, node.body[-1].end_lineno, call.args))
        except Exception:
            pass  # no source: nobody is known to catch
        tree = _trees[path] = found
    return [types for begin, end, types in tree if begin <= line <= end]


def _resolved(frame, node):
    """What the name of a type means in a frame: no code of the user runs for it."""
    if isinstance(node, ast.Tuple):
        return tuple([_resolved(frame, n) for n in node.elts])
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals, builtins.__dict__):
            if node.id in names:
                return names[node.id]
    if isinstance(node, ast.Attribute):
        of = _resolved(frame, node.value)
        if type(of) is type(sys) or isinstance(of, type):
            return of.__dict__.get(node.attr)
    return None
