# Runs a program under gdb and prints, for the first calls of some functions, what gdb reads of arguments and results: what Strobe's
# values are compared with. JOB is a file with {program, args, cwd, stdin, functions, calls, most, entry, aslr, lang, early}.
import gdb, json, os

job = json.load(open(JOB))
for s in ["pagination off", "confirm off", "width 0", "debuginfod enabled off", "startup-with-shell on", "print thread-events off",
          "unwindonsignal on", "print inferior-events off", "detach-on-fork on", "follow-fork-mode parent", "breakpoint pending off",
          "disable-randomization " + ("off" if job["aslr"] else "on")]:
    gdb.execute("set " + s)
# Exactly the environment that Strobe gives it, in that order: a shell and gdb have their own.
gdb.execute("set exec-wrapper env -i " + " ".join("'" + v.replace("'", "'\\''") + "'" for v in job["env"]))
for s in ["SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGPIPE", "SIGALRM"]:
    gdb.execute("handle %s nostop noprint pass" % s, to_string=True)

TEXT = 200 # bytes of a text that are compared
out = open(job["out"], "w")

def text(v, t):
    """A char pointer's text, or None where it is none."""
    try:
        raw = bytearray()
        at = int(v)
        memory = gdb.selected_inferior()
        while len(raw) < TEXT:
            b = bytes(memory.read_memory(at + len(raw), 1))
            if b == b"\0":
                break
            raw += b
        return raw.decode("utf-8")
    except (gdb.error, gdb.MemoryError, UnicodeDecodeError, ValueError, OverflowError):
        return None

def is_char(t):
    return t.code == gdb.TYPE_CODE_INT and t.sizeof == 1 and t.name in ("char",) or t.code == gdb.TYPE_CODE_CHAR

def dump(v, depth):
    """A value as JSON: {k: kind, …}. Kinds that are not compared are {k: other}."""
    try:
        t = v.type.strip_typedefs()
        if v.is_optimized_out:
            return {"k": "gone"}
        if t.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            return {"k": "ref", "to": dump(v.referenced_value(), depth)} if depth > 0 else {"k": "other"}
        name = t.name or ""
        if job["lang"] == "rust" and name in ("&str", "alloc::string::String", "alloc::boxed::Box<str>"):
            return {"k": "other"} if name != "&str" else rust_text(v)
        if t.code == gdb.TYPE_CODE_BOOL:
            return {"k": "bool", "v": bool(v)}
        if is_char(t):
            return {"k": "char", "v": int(v)}
        if t.code == gdb.TYPE_CODE_INT:
            return {"k": "int", "v": str(int(v))}
        if t.code == gdb.TYPE_CODE_FLT:
            return {"k": "float", "v": repr(float(v))} if t.sizeof <= 8 else {"k": "other"}
        if t.code == gdb.TYPE_CODE_ENUM:
            return {"k": "enum", "v": str(v), "n": str(int(v))}
        if t.code == gdb.TYPE_CODE_PTR:
            if int(v) == 0:
                return {"k": "null"}
            to = t.target().strip_typedefs()
            if is_char(to):
                s = text(v, t)
                return {"k": "text", "v": s} if s is not None else {"k": "other"}
            if to.code == gdb.TYPE_CODE_STRUCT and depth > 0 and to.sizeof > 0:
                return {"k": "ptr", "to": dump(v.dereference(), depth - 1)}
            return {"k": "other"}
        if t.code == gdb.TYPE_CODE_STRUCT:
            p = gdb.default_visualizer(v)
            if p is not None:
                s = p.to_string() if not hasattr(p, "children") or name.startswith("std::") and "basic_string" in name else None
                if s is not None and hasattr(s, "string"):
                    s = s.string()
                if isinstance(s, str) and "basic_string" in name and len(s) < TEXT:
                    return {"k": "text", "v": s}
                return {"k": "other"}
            fields = {}
            for f in t.fields():
                if f.is_base_class or not f.name or f.name.startswith("__") or f.artificial or not hasattr(f, "bitpos"):
                    continue
                fields[f.name] = dump(v[f], depth)
            return {"k": "struct", "f": fields, "t": name}
        if t.code == gdb.TYPE_CODE_ARRAY:
            low, high = t.range()
            if is_char(t.target().strip_typedefs()) or high - low > 200:
                return {"k": "other"}
            return {"k": "array", "v": [dump(v[i], depth) for i in range(low, min(high, low + 19) + 1)]}
        return {"k": "other"}
    except (gdb.error, gdb.MemoryError, RuntimeError, UnicodeDecodeError, TypeError, ValueError, OverflowError) as e:
        return {"k": "other", "e": str(e)}

def rust_text(v):
    try:
        n, at = int(v["length"]), int(v["data_ptr"])
        if n > TEXT:
            return {"k": "other"}
        return {"k": "text", "v": bytes(gdb.selected_inferior().read_memory(at, n)).decode("utf-8") if n else ""}
    except (gdb.error, gdb.MemoryError, UnicodeDecodeError):
        return {"k": "other"}

def arguments(f):
    got = {}
    for s in f.block():
        if s.is_argument and s.name:
            try:
                got[s.name] = dump(s.value(f), 2)
            except gdb.error as e:
                got[s.name] = {"k": "other", "e": str(e)}
    return got

def say(**row):
    out.write(json.dumps(row) + "\n")
    out.flush()

def poison(size):
    """Fills the dead stack below the red zone: what a function reads there it has not written. Strobe's own code leaves bytes there."""
    if not job["poison"]:
        return
    rsp = int(gdb.newest_frame().read_register("rsp")) - 128
    try:
        gdb.selected_inferior().write_memory(rsp - size, b"\xa3" * size)
    except (gdb.error, gdb.MemoryError):
        pass # the stack does not reach that far yet

class Result(gdb.FinishBreakpoint):
    """The end of a call whose result is wanted."""
    def __init__(self, frame, function, call):
        super().__init__(frame, internal=True)
        self.silent = True
        self.function, self.call = function, call
    def stop(self):
        if self.return_value is not None:
            say(function=self.function, call=self.call, result=dump(self.return_value, 2))
        return True

class Returned(gdb.Breakpoint):
    """Where a call leads back to. A finish breakpoint does not see it where the caller's next instruction begins an inlined call."""
    def __init__(self, at):
        super().__init__("*0x%x" % at, internal=True)
        self.silent = True
        self.functions = set()
    def stop(self):
        ended(int(gdb.newest_frame().read_register("rsp")))
        return False

def ended(rsp):
    """Forgets the calls whose frames are gone: they lie below the stack pointer."""
    thread = gdb.selected_thread().num
    for c in [c for c in active if c[1] == thread and c[2] < rsp]:
        active.discard(c)

def watch(frame, name, key):
    """Holds on to a call until it returns."""
    active.add(key)
    caller = frame.older()
    while caller is not None and caller.type() == gdb.TAILCALL_FRAME: # it has jumped here: nothing returns to it
        caller = caller.older()
    if caller is None:
        return
    at = caller.pc()
    if at not in returns:
        returns[at] = Returned(at)
    returns[at].functions.add(name)
    returns[at].enabled = True

def rest():
    """Disables the places of return that nothing waits at."""
    waiting = {c[0] for c in active} | {name for name, p in points.values() if p.enabled}
    for r in returns.values():
        if r.enabled and not r.functions & waiting:
            r.enabled = False

def first(name, inside):
    """The address of a function's first instruction. Around a place there may be an inlined call, and around that a function
    within another one: the linker's symbol is asked before the outermost block is taken."""
    try:
        return int(gdb.parse_and_eval("(unsigned long)&'%s'" % name))
    except gdb.error:
        pass
    block = gdb.block_for_pc(inside)
    while block.superblock is not None and not block.superblock.is_static and not block.superblock.is_global:
        block = block.superblock
    return int(block.function.value().address)

returns = {}
active = set() # calls that have not ended: a loop may lead back to where the prologue ends
points, calls, total = {}, {}, 0
gdb.execute("file " + job["program"])
gdb.execute("cd " + job["cwd"])
quoted = " ".join("'" + a.replace("'", "'\\''") + "'" for a in job["args"] or [])
closed = " ".join("%d<&-" % fd for fd in range(3, 10)) # gdb leaves files of its own open, and programs tell what number they get
# Addresses are those of the running program only once it is loaded.
gdb.execute("starti %s <%s >/dev/null 2>/dev/null %s" % (quoted, job["stdin"], closed), to_string=True)
try:
    if not job["early"]:
        gdb.Breakpoint("main", internal=True, temporary=True).silent = True
        gdb.execute("continue", to_string=True)
        poison(64 << 10)
except gdb.error:
    pass
for name in job["functions"] or []:
    try:
        b = gdb.Breakpoint(name, internal=True)
        b.silent = True
        places = b.locations
        if len(places) != 1:
            b.delete()
            continue
        start = first(name, places[0].address)
        if not job["entry"] and places[0].address == start:
            b.delete() # gdb sees no end of the prologue, and would read parameters before they are stored
            continue
        if job["entry"]:
            # The first instruction itself, where what DWARF says of optimised code holds; a place inside an inlined call is none.
            b.delete()
            b = gdb.Breakpoint("*0x%x" % start, internal=True)
            b.silent = True
        points[b.number] = (name, b)
    except (gdb.error, RuntimeError, AttributeError) as e:
        say(function=name, error=str(e))
say(points=len(points))

hit = []
gdb.events.stop.connect(lambda e: hit.extend(e.breakpoints if isinstance(e, gdb.BreakpointEvent) else [None]))
try:
    gdb.execute("continue", to_string=True)
    while True:
        for b in hit:
            if b is None or isinstance(b, Result) or b.number not in points:
                continue
            name, point = points[b.number]
            f = gdb.newest_frame()
            if f.type() != gdb.NORMAL_FRAME:
                continue
            key = (name, gdb.selected_thread().num, int(f.read_register("rsp")))
            ended(key[2])
            if key in active:
                continue
            n = calls.get(name, 0)
            calls[name] = n + 1
            say(function=name, call=n, arguments=arguments(f))
            total += 1
            watch(f, name, key)
            poison(8 << 10)
            try:
                Result(f, name, n)
            except (ValueError, gdb.error):
                pass # the outermost frame, or one that nothing returns to
            if n + 1 >= job["calls"]:
                point.enabled = False
        if all(not p.enabled for _, p in points.values()) or total >= job["most"]:
            break
        crashed = [b for b in hit if b is None]
        hit.clear()
        rest()
        if crashed:
            say(signal=True)
            break
        gdb.execute("continue", to_string=True)
except gdb.error as e:
    say(end=str(e))
say(total=total)
try:
    gdb.execute("kill", to_string=True)
except gdb.error:
    pass
