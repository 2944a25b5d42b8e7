"""What the source and the code objects of a file tell about its lines: which have code, which belong to one statement,
and in which function they are."""
import ast
import opcode
import sys
import warnings

from strobe_rules import AGENT

_CODE = type(sys._getframe().f_code)
COMPREHENSIONS = ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")
_RESUME = opcode.opmap.get("RESUME", -1)
_WITH = {opcode.opmap[n] for n in ("BEFORE_WITH", "BEFORE_ASYNC_WITH", "SETUP_WITH", "SETUP_ASYNC_WITH", "LOAD_SPECIAL")
         if n in opcode.opmap}


def runs(code):
    """[(first offset, offset behind, line)] of a code, without what stands before its body and what traces put in."""
    found = _runs(code)
    added = added_line(code, found)
    return [r for r in found if r[2] != added] if added else found


def added_line(code, found=None):
    """The line at which strobe_compile's own statements stand in a code that tells of itself, 0 in others."""
    if "__strobe_enter__" not in code.co_names:
        return 0
    found = found or _runs(code)
    line = found[0][2]
    return line if any(r[2] != line for r in found) else 0


def _runs(code):
    begin = 0
    if _RESUME >= 0:
        instructions = code.co_code
        for i in range(0, len(instructions), 2):
            if instructions[i] == _RESUME:
                begin = i + 2
                break
    if hasattr(code, "co_lines"):
        found = [(start, end, line) for start, end, line in code.co_lines() if line is not None and end > begin]
        if found and found[0][0] < begin:
            found[0] = (begin,) + found[0][1:]
        if code.co_flags & 0x2A0 and _RESUME < 0 and len(found) > 1 and found[0][1] == 2 and (
                found[0][2] == code.co_firstlineno):
            del found[0]  # 3.10's GEN_START
        return found
    found, offset, start, line = [], 0, 0, code.co_firstlineno
    table = code.co_lnotab
    for i in range(0, len(table), 2):
        step, more = table[i], table[i + 1]
        offset += step
        if more:
            if offset > start:
                found.append((start, offset, line))
                start = offset
            line += more - 256 if more > 127 else more
    found.append((start, len(code.co_code), line))
    return found


def codes_in(code, prefix=""):
    """Yields (qualified name, code) of a code and all within it; a module's name is empty."""
    yield prefix, code
    for c in code.co_consts:
        if type(c) is _CODE:
            yield from codes_in(c, prefix + "." + c.co_name if prefix else c.co_name)


class Source:
    """A file's source. One that cannot be read or is no Python knows nothing, and each line is a statement."""
    __slots__ = ("lines", "plain", "first", "withs", "long", "definitions", "codes", "names")

    def __init__(self, path):
        self.lines = []  # that have code, in order
        self.plain = set()  # those outside of comprehensions
        self.first = {}  # line -> first line of its statement
        self.withs = set()  # first lines of with statements
        self.long = set()  # first lines of statements over several lines that have none within
        self.definitions = set()  # lines of def statements
        self.codes = []  # (qualified name, code, its lines)
        self.names = {}  # (first line, name) -> qualified name
        try:
            with open(path, "rb") as f:
                text = f.read()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text, path)
                module = compile(tree, path, "exec", dont_inherit=True)
        except Exception:
            return
        self._read_statements(tree)
        found = set()
        for name, code in codes_in(module):
            lines = {line for _, _, line in runs(code)}
            found |= lines
            if code.co_name not in COMPREHENSIONS:
                self.plain |= lines
            self.codes.append((name, code, lines))
            self.names[code.co_firstlineno, code.co_name] = name
        self.lines = sorted(found)

    def _read_statements(self, tree):
        for node in ast.walk(tree):
            if not isinstance(node, (ast.stmt, ast.ExceptHandler)):
                continue
            begin = min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", ())])
            end = node.end_lineno
            body = getattr(node, "body", None) or getattr(node, "cases", None)
            if isinstance(body, list) and body:
                inner = body[0]
                at = getattr(inner, "lineno", None) or inner.pattern.lineno
                at = min([at] + [d.lineno for d in getattr(inner, "decorator_list", ())])
                end = max(begin, at - 1)
            elif end > begin:
                self.long.add(begin)
            for line in range(begin, end + 1):
                if self.first.get(line, 0) < begin:
                    self.first[line] = begin
            if isinstance(node, (ast.With, ast.AsyncWith)):
                self.withs.add(begin)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.definitions.update(range(begin, end + 1))

    def statement(self, line):
        return self.first.get(line, line)

    def next_line(self, line):
        """The first line with code from there on, 0 where there is none."""
        for known in self.lines:
            if known >= line:
                return known
        return 0

    def function_at(self, line):
        """The qualified name of the function that has a line, "" for the module."""
        best = ""
        for name, code, lines in self.codes:
            if line in lines and code.co_flags & 1 and code.co_name not in COMPREHENSIONS:
                best = name
        return best


_sources = {}


def source(path):
    s = _sources.get(path)
    if s is None:
        s = _sources[path] = Source(path)
    return s


def forget():
    """Files may have changed since they were read, as when a test rewrites them."""
    _sources.clear()


def within(code, line, of):
    """Offsets at which a line of a code is gone on with, having begun before: the end of a call over several lines, a
    comprehension's next round, the exit of a with statement. Reaching them is not reaching the line."""
    found = set()
    group, seen, parts = None, set(), []

    def close():
        if group in of.withs and not any(code.co_code[i] in _WITH for a, b, _ in parts for i in range(a, b, 2)):
            found.update(a for a, _, at in parts if at == line)
    for start, end, at in runs(code):
        first = of.statement(at)
        if first != group:
            close()
            group, seen, parts = first, set(), []
        if at == line and at in seen:
            found.add(start)
        if at == line and first in of.long:
            found.update(range(start + 2, end, 2))  # where a comprehension's loop comes back to
        seen.add(at)
        parts.append((start, end, at))
    close()
    return found


def qualname(code, path):
    """The name of a function within its module, without <locals>."""
    name = getattr(code, "co_qualname", None)
    if name is None:  # before 3.11
        name = source(path).names.get((code.co_firstlineno, code.co_name)) or code.co_name
    return name.replace(".<locals>", "")


def ours(code):
    return code.co_filename.startswith(AGENT)
